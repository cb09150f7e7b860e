/* SPDX-License-Identifier: Apache-2.0 */
/* Shards one after the other are one place whose turn never ends. When a shard has no more, its place has lost the rest
 * of the turn, and the next shard that nobody has is its next one: as tf.data deals, and as order/interleave.c
 * calculates it where lengths are known. Nothing here depends on who reads faster. */
#include "stream/lanes.h"

int leat__deal_new(leat__feed *feed, leat_error *err) {
    if (feed->in_order) {
        feed->begin = leat__alloc(LEAT_MEM_WINDOW, feed->n_shards * sizeof *feed->begin);
        if (!feed->begin) return leat__fail_memory(err, feed->n_shards * sizeof *feed->begin, "a stream");
        for (uint64_t i = 0; i < feed->n_shards; i++)
            feed->begin[i] = (leat__lane_begin){UINT64_MAX, UINT64_MAX};
        return 0;
    }
    return leat__marks_new(feed, err);
}

typedef leat__feed_block block;
typedef leat__lane lane;

bool leat__feed_length_known(const leat__feed *feed) {
    return feed->plan->order.length[0] != LEAT_ENDLESS;
}

void leat__feed_learn_length(leat__feed *feed, uint64_t n) {
    feed->plan->source->n_samples = n;
    leat__order_set_source(&feed->plan->order, n);
}

bool leat__feed_counting(const leat__feed *feed) {
    return feed->to_see > feed->seen && !leat__feed_length_known(feed);
}

/* ------------------------------------------------------------------------------------------- places */

/* A run begins: every place has its first shard. */
static void open_places(leat__feed *feed, uint64_t run) {
    feed->dealing = run;
    feed->at = feed->in_turn = 0;
    feed->next_turn = run * feed->n_shards + feed->cycle;
    for (uint64_t i = 0; i < feed->cycle; i++) feed->place[i] = leat__lane_of(feed, run * feed->n_shards + i);
}

/* The places as they were at a mark; lanes without a place read what comes next. */
static void open_marked(leat__feed *feed, uint64_t run, const leat__mark *mark) {
    const uint64_t base = run * feed->n_shards;
    const leat__mark_node *from = &mark->node[feed->node];
    const leat__mark_open one = {.shard = from->shard},
                          *open = feed->in_order ? &one : mark->open + feed->open;
    feed->dealing = run;
    feed->at = from->at;
    feed->in_turn = from->in_turn;
    feed->next_turn = feed->ahead = base + from->shard + feed->in_order;
    int used = 0;
    for (uint64_t i = 0; i < feed->cycle; i++) {
        feed->place[i] = NULL;
        if (open[i].shard == UINT64_MAX) continue;
        feed->place[i] = &feed->lane[used++];
        leat__lane_set(feed, feed->place[i], base + open[i].shard, open[i].dealt);
    }
    for (int i = used; i < feed->n_lanes; i++) leat__lane_set(feed, &feed->lane[i], feed->ahead++, 0);
}

void leat__deal_begin(leat__feed *feed, uint64_t run, const leat__mark *mark) {
    const leat__mark_node *from = &mark->node[feed->node];
    leat__window_empty(feed);
    feed->noted_tail = feed->noted_head = 0;
    if (feed->in_order || from->turns) {
        open_marked(feed, run, mark);
    } else {
        feed->ahead = run * feed->n_shards;
        for (int i = 0; i < feed->n_lanes; i++) leat__lane_set(feed, &feed->lane[i], feed->ahead++, 0);
        open_places(feed, run);
    }
    feed->run = run;
    feed->run_ended = false;
    feed->next_record = from->first;
    feed->origin = from->origin;
    if (feed->in_order) feed->begin[from->shard] = (leat__lane_begin){from->first, from->origin};
    leat__feed_wake(feed);
}

void leat__deal_jump(leat__feed *feed, uint64_t run) {
    const uint64_t first = run * feed->n_shards;
    feed->ahead = LEAT_MAX(feed->ahead, first);
    for (int i = 0; i < feed->n_lanes; i++)
        if (feed->lane[i].turn < first) leat__lane_set(feed, &feed->lane[i], feed->ahead++, 0);
    open_places(feed, run);
    leat__feed_wake(feed);
}

/* Whose turn is next. There is a place with a shard. */
static void next_place(leat__feed *feed) {
    feed->in_turn = 0;
    do feed->at = (feed->at + 1) % feed->cycle;
    while (!feed->place[feed->at]);
}

/* The shard of the place whose turn it is has no more. */
static void end_shard(leat__feed *feed) {
    lane *l = feed->place[feed->at];
    if (l->end < l->skip) {
        leat__fail(&feed->broken, LEAT_ERR_STATE,
                   "the state is damaged: it goes on behind record %" PRIu64 " of a shard that has %" PRIu64,
                   l->skip, l->end);
        return;
    }
    leat__lane_set(feed, l, feed->ahead++, 0);
    feed->place[feed->at] = NULL;
    const uint64_t end = (feed->dealing + 1) * feed->n_shards;
    if (feed->next_turn < end) {
        feed->place[feed->at] = leat__lane_of(feed, feed->next_turn);
        if (feed->in_order)
            feed->begin[feed->next_turn % feed->n_shards] =
                (leat__lane_begin){feed->next_record, feed->origin};
        feed->next_turn++;
    }
    leat__feed_wake(feed);
    for (uint64_t i = 0; i < feed->cycle; i++) {
        if (!feed->place[i]) continue;
        next_place(feed);
        return;
    }
    leat__feed_end_run(feed);
    open_places(feed, feed->dealing + 1);
}

static void begin_run(leat__feed *feed) {
    feed->run = feed->dealing;
    feed->run_ended = false;
    feed->next_record = feed->origin = 0;
    if (feed->in_order) feed->begin[0] = (leat__lane_begin){0, 0};
}

/* -------------------------------------------------------------------------------------------- marks */

/* Where everybody is. */
static void note(leat__feed *feed) {
    leat__mark *mark = leat__marks_add(feed);
    leat__mark_node *node = &mark->node[feed->node];
    node->shard = feed->next_turn - feed->dealing * feed->n_shards;
    node->turns = true;
    node->at = feed->at;
    node->in_turn = feed->in_turn;
    for (uint64_t i = 0; i < feed->cycle; i++) {
        const lane *l = feed->place[i];
        leat__mark_open *open = &mark->open[(uint64_t)feed->open + i];
        open->shard = l ? l->turn - feed->dealing * feed->n_shards : UINT64_MAX;
        open->dealt = l ? l->dealt : 0;
    }
}

/* The last shard of the run that begins at or before a record. */
static void mark_shard(const leat__feed *feed, uint64_t record, leat__mark_node *node) {
    /* Shards that were not come to yet begin at UINT64_MAX, or where they did in an earlier run. */
    uint64_t low = feed->at_run == 0 ? feed->from.node[feed->node].shard : 0, high = feed->n_shards;
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (feed->begin[mid].first <= record) low = mid;
        else high = mid;
    }
    *node = (leat__mark_node){
        .set = true, .shard = low, .first = feed->begin[low].first, .origin = feed->begin[low].origin};
}

void leat__deal_mark(const leat__feed *feed, uint64_t floor, leat__mark *mark) {
    leat__mark_node *node = &mark->node[feed->node];
    if (feed->in_order) {
        mark_shard(feed, floor, node);
        return;
    }
    const leat__mark *found = leat__marks_find(feed, floor);
    if (!found && feed->at_run == 0) found = &feed->from;
    *node = found ? found->node[feed->node] : (leat__mark_node){0};
    node->set = true;
    if (found) memcpy(mark->open + feed->open, found->open + feed->open, feed->cycle * sizeof *mark->open);
}

/* --------------------------------------------------------------------------------------------- deal */

/* Deals from a block until the turn or the block is over or the window is full. */
static void deal_block(leat__feed *feed, lane *l, block *b, bool only_count) {
    if (!b->open) l->bytes -= b->held;
    b->open = true;
    for (bool turn_ends = false; l->dealt < b->end && !turn_ends;) {
        if (!only_count && leat__window_full(feed)) return;
        const bool kept = l->next < b->content.n && leat__block_at(&b->content, l->next)->record == l->dealt;
        if (kept && !only_count) leat__window_add(feed, b, l->next);
        l->next += kept;
        feed->next_record += kept;
        feed->origin++;
        l->dealt++;
        turn_ends = ++feed->in_turn == feed->block;
        if (turn_ends) next_place(feed);
        if (kept && !only_count && !feed->in_order && leat__marks_due(feed->next_record)) note(feed);
    }
    if (l->dealt < b->end) return;
    l->first = b->next;
    l->next = 0;
    leat__block_close(feed, b);
}

void leat__deal(leat__feed *feed) {
    while (!feed->broken.code) {
        lane *l = feed->place[feed->at];
        block *b = l->first;
        if (!b && !l->ended) return;
        const bool only_count = leat__feed_counting(feed);
        if (b && !only_count && leat__window_full(feed)) return;
        if (feed->dealing != feed->run) begin_run(feed);
        if (b) deal_block(feed, l, b, only_count);
        else end_shard(feed);
        feed->seen = LEAT_MAX(feed->seen, feed->next_record);
        if (only_count && !leat__feed_counting(feed)) { /* that was it: now for the records themselves */
            const leat__mark beginning = {0};
            leat__deal_begin(feed, feed->run, feed->run == 0 ? &feed->from : &beginning);
            return;
        }
    }
}
