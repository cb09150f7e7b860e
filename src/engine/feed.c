/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/feed.h"

#include <stdio.h>

struct leat__feed {
    leat__plan *plan;
    leat__entry *entry; /* a ring: entry[i % cap] for tail <= i < head */
    size_t cap;
    uint64_t tail, head;
    /* The reader's side: the run it reads, and where that run begins in the ring. */
    uint64_t run, next_record;
    bool run_ended;
    uint64_t runs_total; /* LEAT_ENDLESS if so */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    uint64_t awaited; /* the reader wakes the workers at this record */
    size_t bytes_max, bytes_held;
    uint64_t bytes_read; /* by the stream, as of the last record: the stream itself is the reader's */
};

/* How many records one position of the order steps over: shards multiply. */
static uint64_t records_per_position(const leat__order *order) {
    uint64_t n = 1;
    for (int i = 0; i < order->n_verbs; i++)
        if (order->verb[i].kind == LEAT_ORDER_SHARD) n *= order->verb[i].count;
    return n;
}

static uint64_t count_runs(const leat__plan *plan, const leat_config *config) {
    uint64_t runs = config->n_epochs < 0 || plan->turns < 0 ? LEAT_ENDLESS : (uint64_t)LEAT_MAX(config->n_epochs, 1) * (uint64_t)plan->turns;
    for (int i = 0; i < plan->order.n_verbs; i++) {
        if (plan->order.verb[i].kind != LEAT_ORDER_REPEAT || runs == LEAT_ENDLESS) continue;
        if (__builtin_mul_overflow(runs, plan->order.verb[i].count, &runs)) runs = LEAT_ENDLESS;
    }
    return runs;
}

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, leat_error *err) {
    *out = NULL;
    leat__feed *feed = leat__alloc(LEAT_MEM_WINDOW, sizeof *feed);
    if (!feed) return leat__fail_memory(err, sizeof *feed, "a stream");
    const leat__span_of_order span = leat__order_span(&plan->order, 0, 0);
    const uint64_t each = records_per_position(&plan->order);
    uint64_t cap = 2 * (span.ceil - span.floor) + 64;
    /* Slots hold the records of their places; every position may leave records between unused. */
    cap += (uint64_t)(plan->n_slots + 2) * (uint64_t)plan->batch * each;
    feed->plan = plan;
    feed->bytes_max = plan->budget / 4;
    feed->runs_total = count_runs(plan, config);
    size_t bytes;
    if (cap > SIZE_MAX / 2 || !leat__mul_size((size_t)cap, sizeof *feed->entry, &bytes) || bytes > feed->bytes_max ||
        !(feed->entry = leat__alloc(LEAT_MEM_WINDOW, bytes))) {
        leat__free(feed);
        return leat__fail(err, LEAT_ERR_MEMORY, "a window of %" PRIu64 " records does not fit into the budget: use a smaller shuffle window", cap);
    }
    feed->cap = (size_t)cap;
    for (size_t i = 0; i < feed->cap; i++) feed->entry[i].bytes.kind = LEAT_MEM_WINDOW;
    *out = feed;
    return 0;
}

void leat__feed_free(leat__feed **handle) {
    leat__feed *feed = *handle;
    if (!feed) return;
    for (size_t i = 0; i < feed->cap; i++) {
        leat__buf_free(&feed->entry[i].bytes);
        leat__free(feed->entry[i].bad);
    }
    leat__free(feed->entry);
    leat__free(feed);
    *handle = NULL;
}

int leat__feed_reset(leat__feed *feed, leat_error *err) {
    feed->tail = feed->head = 0;
    feed->run = feed->next_record = feed->at_run = feed->floor = feed->iteration = 0;
    feed->run_ended = feed->began = false;
    return leat__stream_rewind(feed->plan->stream, err);
}

static void free_tail(leat__feed *feed) {
    while (feed->tail < feed->head) {
        leat__entry *e = &feed->entry[feed->tail % feed->cap];
        const bool past = e->run < feed->at_run || (e->run == feed->at_run && e->record < feed->floor);
        if (!past || e->refs > 0) return;
        leat__free(e->bad);
        e->bad = NULL;
        feed->tail++;
    }
}

bool leat__feed_hungry(const leat__feed *feed) {
    if (feed->head - feed->tail == feed->cap) return false;
    return !feed->run_ended || feed->run < feed->at_run || feed->run + 1 < feed->runs_total;
}

void leat__feed_read(leat__feed *feed, leat__mutex *mutex) {
    /* The next run begins when this one has ended, or when the order has left it behind. */
    const bool begin = feed->run_ended || feed->run < feed->at_run;
    if (begin) {
        feed->run++;
        feed->next_record = 0;
        feed->run_ended = false;
    }
    leat__entry *e = &feed->entry[feed->head % feed->cap];
    const size_t cap_before = e->bytes.cap;
    leat_error err = {0};
    leat__unlock(mutex);
    int rc = begin ? leat__stream_rewind(feed->plan->stream, &err) : 0;
    if (rc == 0) rc = leat__stream_next(feed->plan->stream, &e->bytes, &err);
    const uint64_t bytes_read = leat__stream_bytes_read(feed->plan->stream);
    leat__lock(mutex);
    feed->bytes_read = bytes_read;
    feed->bytes_held += e->bytes.cap - cap_before;
    if (rc == 1) {
        feed->run_ended = true;
        /* From now on the order knows how long the stream is. */
        if (feed->plan->order.length[0] == LEAT_ENDLESS) {
            feed->plan->source->n_samples = feed->next_record;
            leat__order_set_source(&feed->plan->order, feed->next_record);
        }
        return;
    }
    e->run = feed->run;
    e->record = feed->next_record++;
    e->refs = 0;
    if (rc < 0 && (e->bad = leat__alloc(LEAT_MEM_WINDOW, sizeof *e->bad)) != NULL) {
        *e->bad = err;
        e->bad->code = rc;
    }
    if (rc < 0) e->bytes.size = 0; /* without memory for the message it is a record that does not parse */
    feed->head++;
    free_tail(feed);
}

int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    if (!feed->began) {
        feed->began = true;
        feed->iteration = span.iteration;
        feed->floor = span.floor;
    } else if (span.iteration != feed->iteration) {
        feed->iteration = span.iteration;
        feed->at_run++;
        feed->floor = span.floor;
        free_tail(feed);
    }
    if (feed->run > feed->at_run || (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= span.ceil))) return 1;
    if (feed->bytes_held > feed->bytes_max)
        return leat__fail(err, LEAT_ERR_MEMORY, "the records of a shuffle window take %.0f MB, the budget for it is %.0f MB: use a smaller window or raise memory_max_bytes (--memory)",
                          (double)feed->bytes_held / 1e6, (double)feed->bytes_max / 1e6);
    return 0;
}

void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    feed->awaited = span.iteration == feed->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__feed_awaited(const leat__feed *feed) {
    return feed->run > feed->at_run || (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= feed->awaited)) ||
           feed->head - feed->tail == feed->cap || feed->bytes_held > feed->bytes_max;
}

leat__entry *leat__feed_take(leat__feed *feed, leat__place place) {
    /* Runs lie one after the other: look for the first record of the place's run by bisection on (run, record). */
    uint64_t low = feed->tail, high = feed->head;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const leat__entry *e = &feed->entry[mid % feed->cap];
        if (e->run < feed->at_run || (e->run == feed->at_run && e->record < place.sample)) low = mid + 1;
        else high = mid;
    }
    leat__entry *e = &feed->entry[low % feed->cap];
    assert(low < feed->head && e->run == feed->at_run && e->record == place.sample);
    e->refs++;
    return e;
}

void leat__feed_advance(leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    if (span.iteration == feed->iteration && span.floor > feed->floor) feed->floor = span.floor;
    free_tail(feed);
}

uint64_t leat__feed_bytes_read(const leat__feed *feed) {
    return feed->bytes_read;
}
