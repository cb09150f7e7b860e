/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "engine/lanes.h"
#include "engine/select.h"

/* Records that the window may be ahead of what is needed, at the most; bytes of a block. */
enum { AHEAD_MAX = 65536, BLOCK_BYTES = 1 << 18, BLOCK_BYTES_MIN = 1 << 14 };

/* ---------------------------------------------------------------------------------------------- new */

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

static bool filters_count(const leat__plan *plan) {
    for (int i = 0; i < plan->n_filters; i++)
        if (leat__question_counts(plan, plan->filter[i])) return true;
    return false;
}

static void size_memory(leat__feed *feed, int n_readers) {
    feed->cycle = LEAT_CLAMP(feed->plan->cycle, UINT64_C(1), feed->n_shards);
    feed->in_order = feed->cycle == 1;
    feed->block = feed->in_order ? UINT64_MAX : feed->plan->cycle_block;
    feed->bytes_max = feed->plan->budget / 4;
    /* A place may keep a block that is not dealt out yet: all of them a quarter of the window at the most. */
    feed->block_bytes = LEAT_CLAMP(feed->bytes_max / LEAT_MAX((size_t)16, 8 * (size_t)feed->cycle),
                                   (size_t)BLOCK_BYTES_MIN, (size_t)BLOCK_BYTES);
    uint64_t lanes = LEAT_MIN((uint64_t)LEAT_CLAMP(n_readers, 1, LEAT_INFLATERS_MAX), feed->n_shards);
    /* Half is for the window, half for what is read before its turn. */
    lanes = LEAT_MIN(lanes, feed->bytes_max / 2 / feed->block_bytes);
    if (filters_count(feed->plan)) lanes = 1;
    feed->n_readers = (int)LEAT_MAX(lanes, (uint64_t)1);
    feed->n_lanes = (int)LEAT_MAX((uint64_t)feed->n_readers, feed->cycle);
    feed->used_max = feed->n_lanes > 1 ? feed->bytes_max / 2 : feed->bytes_max;
    feed->ahead_max = feed->n_lanes > 1 ? feed->bytes_max / 2 / ((size_t)feed->n_lanes - 1) : 0;
}

static int allocate(leat__feed *feed, leat_error *err) {
    LEAT_TRY(leat__cond_init(&feed->idle, err));
    feed->idle_made = true;
    feed->window = leat__alloc(LEAT_MEM_WINDOW, feed->window_max * sizeof *feed->window);
    if (!feed->window) return leat__fail_memory(err, feed->window_max * sizeof *feed->window, "a window");
    LEAT_TRY(leat__deal_new(feed, err));
    for (int i = 0; i < feed->n_lanes; i++) {
        leat__lane *lane = &feed->lane[i];
        lane->reader = leat__shard_reader_new(feed->plan->stream, err);
        if (!lane->reader) return LEAT_ERR_MEMORY;
        if (!feed->plan->n_filters) continue;
        lane->tools = leat__alloc(LEAT_MEM_WINDOW, sizeof *lane->tools);
        if (!lane->tools) return leat__fail_memory(err, sizeof *lane->tools, "a filter");
        LEAT_TRY(leat__tools_init(lane->tools, feed->plan, NULL, err));
    }
    return 0;
}

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, int n_readers,
                   leat_error *err) {
    *out = NULL;
    leat__feed *feed = leat__alloc(LEAT_MEM_WINDOW, sizeof *feed);
    if (!feed) return leat__fail_memory(err, sizeof *feed, "a stream");
    feed->plan = plan;
    feed->n_shards = leat__stream_shards(plan->stream);
    feed->runs_total = count_runs(plan, config);
    feed->needs = leat__order_needs(&plan->order);
    size_memory(feed, n_readers);
    /* What one position may need must fit at any time; what the next batches need should. */
    const uint64_t need = leat__order_reach(&plan->order, 1),
                   ahead = leat__order_reach(&plan->order, 2 * (uint64_t)plan->batch);
    int rc = 0;
    if (need >= feed->used_max / (sizeof(leat__block_record) + sizeof(leat__window_record)))
        rc = leat__fail(err, LEAT_ERR_MEMORY,
                        "a window of %" PRIu64
                        " records does not fit into the budget: use a smaller shuffle window",
                        need);
    feed->window_max = need + LEAT_MIN(ahead, (uint64_t)AHEAD_MAX) + 64;
    if (rc == 0) rc = allocate(feed, err);
    if (rc < 0) leat__feed_free(&feed);
    else leat__feed_reset(feed, &(leat__cursor){0});
    *out = feed;
    return rc;
}

void leat__feed_free(leat__feed **handle) {
    leat__feed *feed = *handle;
    if (!feed) return;
    for (leat__feed_block *b = feed->all, *next; b; b = next) {
        next = b->all;
        leat__block_free(&b->content);
        leat__free(b);
    }
    for (int i = 0; i < feed->n_lanes; i++) {
        leat__shard_reader_free(&feed->lane[i].reader);
        if (feed->lane[i].tools) leat__tools_free(feed->lane[i].tools);
        leat__free(feed->lane[i].tools);
    }
    if (feed->idle_made) pthread_cond_destroy(&feed->idle);
    leat__free(feed->begin);
    leat__free(feed->noted);
    leat__free(feed->window);
    leat__free(feed);
    *handle = NULL;
}

int leat__feed_readers(const leat__feed *feed) {
    return feed->n_readers;
}

void leat__feed_wait(leat__feed *feed, leat__mutex *mutex) {
    feed->n_idle++;
    leat__cond_wait(&feed->idle, mutex);
    feed->n_idle--;
}

void leat__feed_wake(leat__feed *feed) {
    if (feed->n_idle) pthread_cond_broadcast(&feed->idle);
}

void leat__feed_reset(leat__feed *feed, const leat__cursor *cursor) {
    const leat__mark *mark = &cursor->mark;
    feed->from = *mark;
    feed->at_run = feed->to_see = 0;
    feed->floor = mark->first;
    feed->iteration = mark->iteration;
    feed->began = mark->set;
    feed->broken = (leat_error){0};
    if (mark->records && !leat__feed_length_known(feed)) leat__feed_learn_length(feed, mark->records);
    /* The batch before could be made only because so much had been seen. */
    if (mark->set && cursor->position > 0)
        feed->seen = LEAT_MAX(feed->seen,
                              leat__order_span(&feed->plan->order, cursor->epoch, cursor->position - 1).seen);
    leat__deal_begin(feed, 0, mark);
}

/* -------------------------------------------------------------------------------------------- take */

static int look(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    if (feed->began && span.iteration != feed->iteration) {
        feed->at_run++;
        feed->floor = 0;
        if (feed->dealing < feed->at_run) leat__deal_jump(feed, feed->at_run);
    }
    feed->began = true;
    feed->iteration = span.iteration;
    feed->floor = LEAT_MAX(feed->floor, span.floor);
    feed->to_see = span.seen;
    if (feed->at_run == 0 && span.floor < feed->from.first)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it goes on with record %" PRIu64
                          " of a stream, and from a shard that begins with %" PRIu64,
                          span.floor, feed->from.first);
    leat__window_free_tail(feed);
    leat__deal(feed);
    if (feed->broken.code) {
        *err = feed->broken;
        return err->code;
    }
    if (leat__feed_counting(feed)) return 0;
    if (feed->run > feed->at_run ||
        (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= span.ceil)))
        return 1;
    /* Batches that are being worked on will give memory back. */
    if (!leat__window_full(feed) || feed->run < feed->at_run || feed->n_taken > (uint64_t)n_own) return 0;
    return leat__fail(err, LEAT_ERR_MEMORY,
                      "the records of a batch and its shuffle window take more than %.0f MB, the budget for "
                      "them: use a smaller window or raise memory_max_bytes (--memory)",
                      (double)feed->used_max / 1e6);
}

int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const bool known = leat__feed_length_known(feed);
    int rc = look(feed, epoch, position, n_own, err);
    /* It has just become known how long the stream is: the position may lead elsewhere. */
    if (rc >= 0 && leat__feed_length_known(feed) != known) rc = look(feed, epoch, position, n_own, err);
    if (feed->n_idle && leat__feed_hungry(feed)) leat__feed_wake(feed);
    return rc;
}

void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    feed->awaited = span.iteration == feed->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__feed_awaited(const leat__feed *feed) {
    if (feed->broken.code) return true;
    if (leat__feed_counting(feed)) return false;
    return feed->run > feed->at_run ||
           (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= feed->awaited)) ||
           leat__window_full(feed);
}

int leat__feed_take(leat__feed *feed, leat__place place, leat__record *out, leat_error *err) {
    /* What comes before at_run and its floor has left the window, and numbers of a run follow one another. */
    const leat__window_record *tail = &feed->window[feed->tail % feed->window_max];
    const uint64_t n = feed->head - feed->tail, ahead = n ? place.sample - tail->number : 0;
    const leat__window_record *found = &feed->window[(feed->tail + ahead) % feed->window_max];
    if (ahead >= n || found->run != feed->at_run || found->number != place.sample)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it leads to record %" PRIu64
                          " of a stream, which is not where it says",
                          place.sample);
    leat__feed_block *b = found->block;
    const leat__block_record *record = leat__block_at(&b->content, found->index);
    *out = (leat__record){.data = b->content.bytes.data + record->offset,
                          .bytes = record->size,
                          .origin = record->origin,
                          .from = {.shard = record->shard, .record = record->record},
                          .bad = leat__block_error(&b->content, found->index),
                          .block = b};
    b->refs++;
    feed->n_taken++;
    return 0;
}

int leat__feed_take_others(leat__feed *feed, uint64_t epoch, uint64_t position, uint64_t draw,
                           leat__record *out, int n) {
    enum { LOOKS = 64 };
    const leat__order *order = &feed->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    /* Where the stream has ended is known for certain here, or it does not end before the window. */
    const uint64_t ceil = LEAT_MIN(span.ceil, order->length[0]);
    if (ceil < span.floor + 2) return 0;
    const uint64_t size = ceil - span.floor;
    int taken = 0;
    for (uint64_t i = 0; i < LEAT_MIN(size, (uint64_t)LOOKS) && taken < n; i++) {
        const leat__place place = {.sample = span.floor + (draw % size + i) % size};
        if (leat__feed_take(feed, place, &out[taken], NULL) < 0) break;
        if (out[taken].bad) leat__feed_give(feed, &out[taken]);
        else taken++;
    }
    return taken;
}

void leat__feed_give(leat__feed *feed, leat__record *record) {
    leat__feed_block *b = record->block;
    *record = (leat__record){0};
    if (!b) return;
    feed->n_taken--;
    leat__block_drop_ref(feed, b);
}

/* ------------------------------------------------------------------------------------------ where */

leat__mark leat__feed_mark(const leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__order *order = &feed->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    leat__mark mark = leat__deal_mark(feed, span.floor);
    mark.iteration = span.iteration;
    mark.records = leat__order_needs_length(order, epoch, position) ? order->length[0] : 0;
    return mark;
}

uint64_t leat__feed_bytes_read(const leat__feed *feed) {
    return feed->bytes_read;
}

void leat__feed_describe(const leat__feed *feed, uint64_t origin, char *text, size_t cap) {
    uint64_t low = 0, high = feed->n_shards;
    while (feed->in_order && low < high && feed->begin[low].origin > origin) low++; /* what was never read */
    if (low == high || !feed->in_order) {
        feed->plan->source->class->describe(feed->plan->source, origin, text, cap);
        return;
    }
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (feed->begin[mid].origin <= origin) low = mid;
        else high = mid;
    }
    leat__stream_describe(feed->plan->stream, (size_t)low, origin - feed->begin[low].origin, text, cap);
}
