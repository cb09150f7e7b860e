/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/feed.h"

#include "engine/select.h"

#include <stdio.h>

/* Records that the reader may be ahead of what is needed, at the most. */
enum { AHEAD_MAX = 65536 };

typedef struct entry {
    uint64_t run; /* how often the stream was begun before, counted by this feed */
    leat__record record;
} entry;

struct leat__feed {
    leat__plan *plan;
    entry *entry; /* a ring: entry[i % cap] for tail <= i < head */
    size_t cap;
    uint64_t tail, head;
    leat__buf *spare; /* memory of records that were given back */
    size_t n_spare, spare_cap;
    /* The reader's side. */
    uint64_t run, next_record;
    uint64_t origin;    /* records of the run so far, those that a filter dropped too */
    leat__tools *tools; /* for filters; NULL without them                             */
    bool run_ended, begin_again;
    uint64_t runs_total; /* LEAT_ENDLESS if so */
    uint64_t seen;       /* most records that a run has shown so far */
    uint64_t to_see;     /* the order wants to know whether there are so many; 0 = it does not */
    leat__record scrap;  /* what is read for that alone */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    uint64_t awaited;             /* the reader wakes the workers at this record */
    uint64_t n_taken;             /* records that were not given back yet */
    size_t bytes_max, bytes_held; /* of all records, wherever they are    */
    uint64_t bytes_read;
    leat_error broken; /* why nothing more can come */
};

static uint64_t count_runs(const leat__plan *plan, const leat_config *config) {
    uint64_t runs = config->n_epochs < 0 || plan->turns < 0
                        ? LEAT_ENDLESS
                        : (uint64_t)LEAT_MAX(config->n_epochs, 1) * (uint64_t)plan->turns;
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
    feed->plan = plan;
    if (plan->n_filters) {
        feed->tools = leat__alloc(LEAT_MEM_WINDOW, sizeof *feed->tools);
        const int rc = feed->tools ? leat__tools_init(feed->tools, plan, NULL, err)
                                   : leat__fail_memory(err, sizeof *feed->tools, "a filter");
        if (rc < 0) {
            leat__feed_free(&feed);
            return rc;
        }
    }
    feed->bytes_max = plan->budget / 4;
    feed->runs_total = count_runs(plan, config);
    /* What one position may need must fit at any time; what the next batches need should. */
    const uint64_t need = leat__order_reach(&plan->order, 1),
                   ahead = leat__order_reach(&plan->order, 2 * (uint64_t)plan->batch);
    const uint64_t most = feed->bytes_max / sizeof(entry);
    if (need < most) {
        feed->cap = (size_t)LEAT_MIN(need + LEAT_MIN(ahead, (uint64_t)AHEAD_MAX) + 64, most);
        feed->spare_cap = feed->cap + (size_t)plan->batch * 4;
        feed->entry = leat__alloc(LEAT_MEM_WINDOW, feed->cap * sizeof *feed->entry);
        feed->spare = leat__alloc(LEAT_MEM_WINDOW, feed->spare_cap * sizeof *feed->spare);
    }
    if (!feed->entry || !feed->spare) {
        leat__feed_free(&feed);
        return leat__fail(err, LEAT_ERR_MEMORY,
                          "a window of %" PRIu64
                          " records does not fit into the budget: use a smaller shuffle window",
                          need);
    }
    *out = feed;
    return 0;
}

static void recycle(leat__feed *feed, leat__record *record) {
    leat__free(record->bad);
    if (record->bytes.cap && feed->n_spare < feed->spare_cap) {
        feed->spare[feed->n_spare++] = record->bytes;
    } else {
        feed->bytes_held -= record->bytes.cap;
        leat__buf_free(&record->bytes);
    }
    *record = (leat__record){0};
}

void leat__feed_give(leat__feed *feed, leat__record *record) {
    feed->n_taken -= record->taken;
    recycle(feed, record);
}

static void give_all(leat__feed *feed) {
    for (; feed->tail < feed->head; feed->tail++) recycle(feed, &feed->entry[feed->tail % feed->cap].record);
}

void leat__feed_free(leat__feed **handle) {
    leat__feed *feed = *handle;
    if (!feed) return;
    give_all(feed);
    recycle(feed, &feed->scrap);
    for (size_t i = 0; i < feed->n_spare; i++) leat__buf_free(&feed->spare[i]);
    if (feed->tools) leat__tools_free(feed->tools);
    leat__free(feed->tools);
    leat__free(feed->spare);
    leat__free(feed->entry);
    leat__free(feed);
    *handle = NULL;
}

int leat__feed_reset(leat__feed *feed, leat_error *err) {
    give_all(feed);
    feed->run = feed->next_record = feed->origin = feed->at_run = feed->floor = feed->iteration =
        feed->to_see = 0;
    feed->run_ended = feed->begin_again = feed->began = false;
    feed->broken = (leat_error){0};
    return leat__stream_rewind(feed->plan->stream, err);
}

/* -------------------------------------------------------------------------------------------- read */

static void free_tail(leat__feed *feed) {
    for (; feed->tail < feed->head; feed->tail++) {
        entry *e = &feed->entry[feed->tail % feed->cap];
        if (e->run > feed->at_run || (e->run == feed->at_run && e->record.number >= feed->floor)) return;
        recycle(feed, &e->record);
    }
}

static bool length_known(const leat__feed *feed) {
    return feed->plan->order.length[0] != LEAT_ENDLESS;
}

/* The order asks how much there is, and only reading tells. */
static bool counting(const leat__feed *feed) {
    return feed->to_see > feed->seen && !length_known(feed);
}

/* There is no room for another record. */
static bool full(const leat__feed *feed) {
    return feed->head - feed->tail == feed->cap || (feed->bytes_held > feed->bytes_max && feed->n_spare == 0);
}

bool leat__feed_hungry(const leat__feed *feed) {
    if (feed->broken.code) return false;
    if (counting(feed)) return true;
    if (full(feed)) return false;
    return !feed->run_ended || feed->begin_again || feed->run < feed->at_run ||
           feed->run + 1 < feed->runs_total;
}

/* A run has ended: from the first time on the order knows how long the stream is. */
static void end_run(leat__feed *feed) {
    const leat__source *source = feed->plan->source;
    feed->run_ended = true;
    if (feed->next_record == 0 && feed->origin > 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and filter keeps none of %" PRIu64 " records", source->title,
                   feed->origin);
    else if (feed->next_record == 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND, "%s holds no record", source->title);
    else if (!length_known(feed)) {
        feed->plan->source->n_samples = feed->next_record;
        leat__order_set_source(&feed->plan->order, feed->next_record);
    } else if (feed->plan->order.length[0] != feed->next_record)
        leat__fail(&feed->broken, LEAT_ERR_IO,
                   "%s: it had %" PRIu64 " records before and has %" PRIu64
                   " now: files changed while they were read",
                   source->title, feed->plan->order.length[0], feed->next_record);
}

static int keeps(leat__feed *feed, const leat__record *record, leat_error *err) {
    const leat__value value = {.data = record->bytes.data,
                               .bytes = record->bytes.size,
                               .dtype = LEAT_DTYPE_BYTES,
                               .ndim = 1,
                               .shape = {(int64_t)record->bytes.size}};
    return leat__stream_keeps(feed->tools, &(leat__where){.record = &value, .sample = feed->origin}, err);
}

void leat__feed_read(leat__feed *feed, leat__mutex *mutex) {
    const bool only_count = counting(feed);
    /* The next run begins when this one has ended, or when the order has left it behind. */
    const bool begin = feed->begin_again || feed->run_ended || feed->run < feed->at_run;
    if (begin) {
        if (!feed->begin_again) feed->run++;
        feed->next_record = feed->origin = 0;
        feed->run_ended = feed->begin_again = false;
    }
    leat__record *record = only_count ? &feed->scrap : &feed->entry[feed->head % feed->cap].record;
    if (!record->bytes.cap && feed->n_spare) record->bytes = feed->spare[--feed->n_spare];
    record->bytes.kind = LEAT_MEM_WINDOW;
    const size_t cap_before = record->bytes.cap;
    leat_error err = {0};
    leat__unlock(mutex);
    int rc = begin ? leat__stream_rewind(feed->plan->stream, &err) : 0;
    if (rc == 0) rc = leat__stream_next(feed->plan->stream, &record->bytes, &err);
    const int kept = rc != 0 || !feed->tools ? 1 : keeps(feed, record, &err);
    leat__lock(mutex);
    feed->bytes_read = leat__stream_bytes_read(feed->plan->stream);
    feed->bytes_held += record->bytes.cap - cap_before;
    if (rc == 1) {
        recycle(feed, record);
        end_run(feed);
    } else if (kept < 0) { /* nobody knows whether it counts */
        recycle(feed, record);
        feed->broken = err;
    } else if (kept == 0) { /* as if it had never been there */
        feed->origin++;
        recycle(feed, record);
    } else {
        const uint64_t number = feed->next_record++, origin = feed->origin++;
        feed->seen = LEAT_MAX(feed->seen, feed->next_record);
        if (!only_count) {
            record->number = number;
            record->origin = origin;
            if (rc < 0 && (record->bad = leat__alloc(LEAT_MEM_WINDOW, sizeof *record->bad)) != NULL) {
                *record->bad = err;
                record->bad->code = rc;
            }
            if (rc < 0)
                record->bytes.size =
                    0; /* without memory for the message it is a record that does not parse */
            feed->entry[feed->head++ % feed->cap].run = feed->run;
            free_tail(feed);
        }
    }
    if (only_count && !counting(feed)) { /* that was it: now for the records themselves */
        give_all(feed);
        feed->begin_again = true;
    }
}

/* -------------------------------------------------------------------------------------------- take */

int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    if (feed->broken.code) {
        *err = feed->broken;
        return err->code;
    }
    if (feed->began && span.iteration != feed->iteration) {
        feed->at_run++;
        feed->floor = 0;
    }
    feed->began = true;
    feed->iteration = span.iteration;
    feed->floor = LEAT_MAX(feed->floor, span.floor);
    free_tail(feed);
    feed->to_see = span.seen;
    if (counting(feed) || feed->begin_again) return 0;
    if (feed->run > feed->at_run ||
        (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= span.ceil)))
        return 1;
    /* Batches that are being worked on will give memory back. */
    if (!full(feed) || feed->run < feed->at_run || feed->n_taken > (uint64_t)n_own) return 0;
    return leat__fail(err, LEAT_ERR_MEMORY,
                      "the records of a batch and its shuffle window take more than %.0f MB, the budget for "
                      "them: use a smaller window or raise memory_max_bytes (--memory)",
                      (double)feed->bytes_max / 1e6);
}

void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    feed->awaited = span.iteration == feed->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__feed_awaited(const leat__feed *feed) {
    if (feed->broken.code) return true;
    if (counting(feed) || feed->begin_again) return false;
    return feed->run > feed->at_run ||
           (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= feed->awaited)) ||
           full(feed);
}

void leat__feed_take(leat__feed *feed, leat__place place, leat__record *out) {
    /* Runs lie one after the other: look for the record of the place's run by bisection on (run, record). */
    uint64_t low = feed->tail, high = feed->head;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const entry *e = &feed->entry[mid % feed->cap];
        if (e->run < feed->at_run || (e->run == feed->at_run && e->record.number < place.sample))
            low = mid + 1;
        else high = mid;
    }
    entry *e = &feed->entry[low % feed->cap];
    assert(low < feed->head && e->run == feed->at_run && e->record.number == place.sample);
    *out = e->record;
    out->taken = true;
    feed->n_taken++;
    e->record = (leat__record){.number = place.sample}; /* its place stays until the window has passed */
}

uint64_t leat__feed_bytes_read(const leat__feed *feed) {
    return feed->bytes_read;
}
