/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "plan/select.h"
#include "stream/lanes.h"

/* Records that the window may be ahead of what is needed, at the most; bytes of a block. */
enum { AHEAD_MAX = 65536, BLOCK_BYTES = 1 << 18, BLOCK_BYTES_MIN = 1 << 14 };

/* ---------------------------------------------------------------------------------------------- new */

/* How often the stream is begun, if its order as a whole is gone through so often. */
static uint64_t count_runs(const leat__order *order, uint64_t runs) {
    for (int i = 0; i < order->n_verbs; i++) {
        if (order->verb[i].kind != LEAT_ORDER_REPEAT || runs == LEAT_ENDLESS) continue;
        if (__builtin_mul_overflow(runs, order->verb[i].count, &runs)) runs = LEAT_ENDLESS;
    }
    return runs;
}

static bool filters_count(const leat__plan *plan) {
    for (int i = 0; i < plan->n_filters; i++)
        if (leat__question_counts(plan, plan->filter[i])) return true;
    return false;
}

static void size_lanes(leat__feed *feed, int n_readers) {
    feed->cycle = leat__plan_places(feed->plan);
    feed->in_order = feed->cycle == 1;
    feed->block = feed->in_order ? UINT64_MAX : feed->plan->cycle_block;
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

static int make_lanes(leat__feed *feed, leat_error *err) {
    LEAT_TRY(leat__deal_new(feed, err));
    /* Two of the window, one in each lane, one for small ones to be copied into, and what is left over. */
    LEAT_TRY(leat__blocks_prepare(feed, feed->n_lanes + LEAT_SPARE_BLOCKS + 4, err));
    for (int i = 0; i < feed->n_lanes; i++) {
        leat__lane *lane = &feed->lane[i];
        lane->reader = leat__shard_reader_new(feed->plan->stream, err);
        if (!lane->reader) return LEAT_ERR_MEMORY;
        if (feed->plan->n_filters && !(lane->tools = leat__tools_new(feed->plan, err)))
            return LEAT_ERR_MEMORY;
    }
    return 0;
}

typedef struct numbering { /* what the next feed begins with */
    int leaf, node, open;
} numbering;

static int new_feed(leat__feed **out, leat__plan *plan, leat__feed *root, uint64_t runs, size_t bytes_max,
                    int n_readers, numbering *next, leat_error *err);

static int make_parts(leat__feed *feed, size_t bytes_max, int n_readers, numbering *next, leat_error *err) {
    const size_t n = (size_t)feed->plan->n_parts, pieces = (size_t)feed->n_pieces;
    feed->part = leat__alloc(LEAT_MEM_WINDOW, n * sizeof *feed->part);
    feed->held = leat__alloc(LEAT_MEM_WINDOW, feed->window_max * pieces * sizeof *feed->held);
    if (!feed->part || !feed->held)
        return leat__fail_memory(err, feed->window_max * pieces * sizeof *feed->held, "a window");
    LEAT_TRY(leat__marks_new(feed, err));
    for (size_t k = 0; k < n; k++) {
        leat__plan *plan = &feed->plan->part[k];
        leat__feed_part *part = &feed->part[feed->n_parts++];
        *part = (leat__feed_part){.order = &plan->order, .leaf = next->leaf, .node = next->node};
        LEAT_TRY(leat__order_allocate(&plan->order, err));
        if (leat__plan_streams(plan)) {
            LEAT_TRY(
                new_feed(&part->feed, plan, feed->root, feed->runs_total, bytes_max, n_readers, next, err));
            feed->n_readers = LEAT_MIN(feed->n_readers + leat__feed_readers(part->feed), n_readers);
            continue;
        }
        next->leaf += leat__source_leaves(plan->source);
        next->node++;
    }
    if (feed->plan->n_filters && !(feed->tools = leat__tools_new(feed->plan, err))) return LEAT_ERR_MEMORY;
    return feed->plan->joining.size ? leat__sort_new(feed, err) : 0;
}

/* What one position may need must fit at any time; what the next batches need should, of shards. */
static int size_window(leat__feed *feed, leat_error *err) {
    const leat__order *order = &feed->plan->order;
    const uint64_t need = leat__order_reach(order, 1),
                   ahead = leat__order_reach(order, 2 * (uint64_t)feed->root->plan->batch);
    const size_t each =
        sizeof(leat__window_record) +
        (feed->plan->n_parts ? (size_t)feed->n_pieces * sizeof(leat__record) : sizeof(leat__block_record));
    if (need >= (feed->plan->n_parts ? feed->bytes_max : feed->used_max) / each)
        return leat__fail(err, LEAT_ERR_MEMORY,
                          "a window of %" PRIu64
                          " records does not fit into the budget: use a smaller shuffle window",
                          need);
    feed->window_max = need + (feed->plan->n_parts ? 0 : LEAT_MIN(ahead, (uint64_t)AHEAD_MAX)) + 64;
    if (feed->plan->joining.size) feed->window_max += 2 * leat__plan_global_batch(feed->plan);
    feed->window = leat__alloc(LEAT_MEM_WINDOW, feed->window_max * sizeof *feed->window);
    return feed->window ? 0 : leat__fail_memory(err, feed->window_max * sizeof *feed->window, "a window");
}

static int fill_feed(leat__feed *feed, uint64_t runs, int n_readers, numbering *next, leat_error *err) {
    leat__plan *plan = feed->plan;
    feed->leaf = next->leaf;
    feed->node = next->node++;
    feed->open = next->open;
    feed->runs_total = count_runs(&plan->order, runs);
    feed->needs = leat__order_needs(&plan->order);
    feed->n_pieces = plan->n_pieces;
    if (plan->n_parts) {
        LEAT_TRY(size_window(feed, err));
        /* Half is for samples that wait in buckets. */
        feed->used_max = feed->bytes_max = plan->joining.size ? feed->bytes_max / 2 : feed->bytes_max;
        feed->block_bytes = LEAT_CLAMP(feed->used_max / 64, (size_t)BLOCK_BYTES_MIN, (size_t)BLOCK_BYTES);
        return make_parts(feed, feed->bytes_max, n_readers, next, err);
    }
    feed->n_shards = leat__stream_shards(plan->stream);
    size_lanes(feed, n_readers);
    next->leaf++;
    if (!feed->in_order) next->open += (int)feed->cycle;
    LEAT_TRY(size_window(feed, err));
    return make_lanes(feed, err);
}

static int new_feed(leat__feed **out, leat__plan *plan, leat__feed *root, uint64_t runs, size_t bytes_max,
                    int n_readers, numbering *next, leat_error *err) {
    leat__feed *feed = *out = leat__alloc(LEAT_MEM_WINDOW, sizeof *feed);
    if (!feed) return leat__fail_memory(err, sizeof *feed, "a stream");
    feed->plan = plan;
    feed->root = root ? root : feed;
    feed->bytes_max = bytes_max;
    int rc = root ? 0 : leat__cond_init(&feed->idle, err);
    feed->idle_made = !root && rc == 0;
    if (rc == 0) rc = fill_feed(feed, runs, n_readers, next, err);
    if (rc < 0) leat__feed_free(out);
    return rc;
}

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, int n_readers,
                   leat_error *err) {
    uint64_t runs = LEAT_ENDLESS;
    if (config->n_epochs >= 0 && plan->turns >= 0)
        runs = (uint64_t)LEAT_MAX(config->n_epochs, 1) * (uint64_t)plan->turns;
    LEAT_TRY(new_feed(out, plan, NULL, runs, plan->budget / 4 / (size_t)leat__plan_count_streams(plan),
                      n_readers, &(numbering){0}, err));
    leat__feed_reset(*out, 0, 0, &(leat__mark){0});
    return 0;
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
        leat__tools_delete(&feed->lane[i].tools);
    }
    leat__sort_free(feed);
    for (int k = 0; k < feed->n_parts; k++) leat__feed_free(&feed->part[k].feed);
    leat__tools_delete(&feed->tools);
    if (feed->idle_made) pthread_cond_destroy(&feed->idle);
    leat__free(feed->part);
    leat__free(feed->held);
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
    if (feed->root->n_idle) pthread_cond_broadcast(&feed->root->idle);
}

void leat__feed_doubt(leat__feed *feed, bool doubt) {
    if (feed->told) leat__feed_learn_length(feed, doubt ? LEAT_ENDLESS : feed->told);
    for (int k = 0; k < feed->n_parts; k++)
        if (feed->part[k].feed) leat__feed_doubt(feed->part[k].feed, doubt);
}

void leat__feed_reset(leat__feed *feed, uint64_t epoch, uint64_t position, const leat__mark *from) {
    const leat__mark_node *mark = &from->node[feed->node];
    feed->from = *from;
    feed->at_run = feed->to_see = 0;
    feed->floor = mark->first;
    feed->iteration = mark->iteration;
    feed->began = mark->set;
    feed->anew = false;
    feed->broken = (leat_error){0};
    if (feed->told) leat__feed_learn_length(feed, LEAT_ENDLESS);
    feed->told = leat__feed_length_known(feed) ? 0 : mark->records;
    if (feed->told) leat__feed_learn_length(feed, feed->told);
    /* The batch before could be made only because so much had been seen. */
    if (mark->set && position > 0)
        feed->seen = LEAT_MAX(feed->seen, leat__order_span(&feed->plan->order, epoch, position - 1).seen);
    if (feed->n_parts) leat__join_begin(feed, from);
    else leat__deal_begin(feed, 0, from);
}

void leat__feed_end_run(leat__feed *feed) {
    const leat__source *source = feed->plan->source;
    feed->run_ended = true;
    if (feed->next_record == 0 && feed->n_parts && feed != feed->root) {
        leat__feed_learn_length(feed, 0); /* a part may be empty, as long as others are not */
        return;
    }
    if (feed->next_record == 0 && feed->n_parts && feed->origin == 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and take, skip and shard leave none of them", source->title);
    else if (feed->next_record == 0 && feed->origin > 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and filter keeps none of %" PRIu64 " records", source->title,
                   feed->origin);
    else if (feed->next_record == 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND, "%s holds no record", source->title);
    else if (!leat__feed_length_known(feed)) leat__feed_learn_length(feed, feed->next_record);
    else if (feed->told && feed->told != feed->next_record)
        leat__fail(&feed->broken, LEAT_ERR_STATE,
                   "the state is damaged: it says that %s has %" PRIu64 " records, and it has %" PRIu64,
                   source->title, feed->told, feed->next_record);
    else if (feed->plan->order.length[0] != feed->next_record)
        leat__fail(&feed->broken, LEAT_ERR_IO,
                   "%s: it had %" PRIu64 " records before and has %" PRIu64
                   " now: files changed while they were read",
                   source->title, feed->plan->order.length[0], feed->next_record);
    else feed->told = 0;
}

/* -------------------------------------------------------------------------------------------- take */

/* The order has left the run that it was in. */
static void leave_run(leat__feed *feed) {
    feed->at_run++;
    feed->floor = 0;
    if (feed->n_parts) leat__join_next_run(feed);
    else if (feed->dealing < feed->at_run) leat__deal_jump(feed, feed->at_run);
}

static int look(leat__feed *feed, uint64_t epoch, uint64_t position, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    const uint64_t first = feed->from.node[feed->node].first;
    const bool leaves = feed->began && (feed->anew || span.iteration != feed->iteration);
    feed->anew = false;
    feed->began = true;
    feed->iteration = span.iteration;
    if (leaves) leave_run(feed);
    feed->floor = LEAT_MAX(feed->floor, span.floor);
    feed->to_see = span.seen;
    if (feed->at_run == 0 && span.floor < first)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it goes on with record %" PRIu64
                          " of a stream, and from a shard that begins with %" PRIu64,
                          span.floor, first);
    leat__window_free_tail(feed);
    if (feed->n_parts) leat__join_deal(feed, span.ceil);
    else leat__deal(feed);
    if (feed->broken.code) {
        *err = feed->broken;
        return err->code;
    }
    if (leat__feed_counting(feed)) return 0;
    if (feed->run > feed->at_run ||
        (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= span.ceil)))
        return 1;
    if (feed->n_parts) return feed->waits_full ? LEAT_FEED_FULL : 0;
    return leat__window_full(feed) ? LEAT_FEED_FULL : 0;
}

int leat__feed_look(leat__feed *feed, uint64_t epoch, uint64_t position, leat_error *err) {
    const bool known = leat__feed_length_known(feed);
    int rc = look(feed, epoch, position, err);
    /* It has just become known how long the stream is: the position may lead elsewhere, or nowhere. */
    if (rc < 0 || leat__feed_length_known(feed) == known) return rc;
    return position < leat__order_length(&feed->plan->order) ? look(feed, epoch, position, err) : 1;
}

int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const int rc = leat__feed_look(feed, epoch, position, err);
    if (feed->n_idle && leat__feed_hungry(feed)) leat__feed_wake(feed);
    if (rc != LEAT_FEED_FULL) return rc;
    /* Batches that are being worked on will give memory back. */
    if (feed->n_taken > (uint64_t)n_own) return 0;
    if (feed->sorting && feed->used >= feed->used_max)
        return leat__fail(err, LEAT_ERR_MEMORY,
                          "the samples that wait in buckets take more than %.0f MB, the budget for them: use "
                          "smaller batches or fewer buckets, or raise memory_max_bytes (--memory)",
                          (double)feed->used_max / 1e6);
    return leat__fail(err, LEAT_ERR_MEMORY,
                      "the records of a batch and its shuffle window take more than %.0f MB, the budget for "
                      "them: use a smaller window or raise memory_max_bytes (--memory)",
                      (double)(feed->n_parts ? feed->bytes_max : feed->used_max) / 1e6);
}

void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position) {
    if (feed->n_parts) return; /* what the parts wait for is known already */
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    feed->awaited = span.iteration == feed->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__feed_awaited(const leat__feed *feed) {
    if (feed->broken.code) return true;
    if (feed->n_parts) {
        const leat__feed *part = feed->part[feed->waits_for].feed;
        return !part || leat__feed_awaited(part);
    }
    if (leat__feed_counting(feed)) return false;
    return feed->run > feed->at_run ||
           (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= feed->awaited)) ||
           leat__window_full(feed);
}

/* The pieces of entry i of the window. */
static void hold(leat__feed *feed, uint64_t i, leat__record *out) {
    if (feed->n_parts) {
        memcpy(out, leat__window_pieces(feed, i), (size_t)feed->n_pieces * sizeof *out);
        for (int k = 0; k < feed->n_pieces; k++)
            if (out[k].block) out[k].block->refs++;
        return;
    }
    const leat__window_record *found = &feed->window[i % feed->window_max];
    leat__feed_block *b = found->block;
    const leat__block_record *record = leat__block_at(&b->content, found->index);
    *out = (leat__record){.there = true,
                          .piece = {.leaf = feed->leaf,
                                    .number = record->record,
                                    .shard = record->shard,
                                    .data = b->content.bytes.data + record->offset,
                                    .bytes = record->size},
                          .origin = record->origin,
                          .bad = leat__block_error(&b->content, found->index),
                          .block = b};
    b->refs++;
}

/* Which entry of the window has the sample of a place; false if none. */
static bool find(const leat__feed *feed, leat__place place, uint64_t *entry) {
    /* What comes before at_run and its floor has left the window, and numbers of a run follow one another. */
    const leat__window_record *tail = &feed->window[feed->tail % feed->window_max];
    const uint64_t n = feed->head - feed->tail, ahead = n ? place.sample - tail->number : 0;
    const leat__window_record *found = &feed->window[(feed->tail + ahead) % feed->window_max];
    *entry = feed->tail + ahead;
    return ahead < n && found->run == feed->at_run && found->number == place.sample;
}

int leat__feed_hold(leat__feed *feed, leat__place place, leat__record *out, leat_error *err) {
    uint64_t entry;
    if (!find(feed, place, &entry))
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it leads to record %" PRIu64
                          " of a stream, which is not where it says",
                          place.sample);
    hold(feed, entry, out);
    return 0;
}

bool leat__feed_batch_ends(const leat__feed *feed, leat__place place, int *bucket) {
    uint64_t entry;
    if (!feed->sorting || !find(feed, place, &entry)) return false;
    const leat__window_record *found = &feed->window[entry % feed->window_max];
    *bucket = found->bucket;
    return found->last;
}

void leat__record_drop(leat__record *record) {
    leat__feed_block *b = record->block;
    *record = (leat__record){0};
    if (b) leat__block_drop_ref(b);
}

int leat__feed_take(leat__feed *feed, leat__place place, leat__record *out, leat_error *err) {
    LEAT_TRY(leat__feed_hold(feed, place, out, err));
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
        leat__record *record = out + (size_t)taken * (size_t)feed->n_pieces;
        bool bad = false;
        if (leat__feed_take(feed, place, record, NULL) < 0) break;
        for (int k = 0; k < feed->n_pieces; k++) bad |= record[k].bad != NULL;
        if (bad) leat__feed_give(feed, record);
        else taken++;
    }
    return taken;
}

void leat__feed_give(leat__feed *feed, leat__record *record) {
    if (!record->there) return;
    for (int k = 0; k < feed->n_pieces; k++) leat__record_drop(&record[k]);
    feed->n_taken--;
}

/* ------------------------------------------------------------------------------------------ where */

void leat__feed_write_mark(const leat__feed *feed, uint64_t epoch, uint64_t position, leat__mark *mark) {
    const leat__order *order = &feed->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    leat__mark_node *node = &mark->node[feed->node];
    if (feed->n_parts) leat__join_mark(feed, span.floor, mark);
    else leat__deal_mark(feed, span.floor, mark);
    node->iteration = span.iteration;
    /* A part of something may be left before its end, so that later epochs do not show how long it is. */
    const bool needed = leat__order_needs_length(order, feed == feed->root ? epoch : 0, position);
    node->records = needed ? order->length[0] : 0;
}

leat__mark leat__feed_mark(const leat__feed *feed, uint64_t epoch, uint64_t position) {
    leat__mark mark = {0};
    leat__feed_write_mark(feed, epoch, position, &mark);
    return mark;
}

uint64_t leat__feed_bytes_read(const leat__feed *feed) {
    uint64_t sum = feed->bytes_read;
    for (int k = 0; k < feed->n_parts; k++)
        if (feed->part[k].feed) sum += leat__feed_bytes_read(feed->part[k].feed);
    return sum;
}

void leat__feed_describe(const leat__feed *feed, uint64_t origin, char *text, size_t cap) {
    uint64_t low = 0, high = feed->n_shards;
    if (feed->n_parts && feed->plan->part[0].borrows) {
        leat__feed_describe(feed->part[0].feed, origin, text, cap);
        return;
    }
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
