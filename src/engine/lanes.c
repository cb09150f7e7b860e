/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lanes.h"

#include "engine/select.h"

enum { BLOCK_RECORDS = 1024 };

typedef leat__feed_block block;
typedef leat__lane lane;

/* ------------------------------------------------------------------------------------------- blocks */

static block *new_block(leat__feed *feed) {
    block *b = feed->spare;
    if (b) {
        feed->spare = b->next;
        return b;
    }
    b = leat__alloc(LEAT_MEM_WINDOW, sizeof *b);
    if (!b) return NULL;
    b->content.bytes.kind = b->content.records.kind = b->content.errors.kind = LEAT_MEM_WINDOW;
    b->all = feed->all;
    feed->all = b;
    return b;
}

static void count_bytes(leat__feed *feed, block *b) {
    const size_t held = b->content.bytes.cap + b->content.records.cap + b->content.errors.cap;
    feed->bytes += held - b->held;
    b->held = held;
}

static void recycle(leat__feed *feed, block *b) {
    /* One that had to grow for a large record is not kept at the expense of others. */
    if (feed->bytes > feed->bytes_max && b->held > 2 * feed->block_bytes) {
        leat__block_free(&b->content);
        count_bytes(feed, b);
    }
    b->content.n = 0;
    b->next = feed->spare;
    feed->spare = b;
}

void leat__feed_release(leat__feed *feed, block *b) {
    if (b->refs || b->in_window) return;
    feed->used -= b->held;
    recycle(feed, b);
    leat__feed_wake(feed);
}

block *leat__window_at(const leat__feed *feed, uint64_t i) {
    return feed->block[i % feed->cap];
}

static void drop_tail(leat__feed *feed) {
    block *b = leat__window_at(feed, feed->tail++);
    b->in_window = false;
    feed->n_window -= b->content.n;
    leat__feed_release(feed, b);
}

void leat__window_free_tail(leat__feed *feed) {
    while (feed->tail < feed->head) {
        const block *b = leat__window_at(feed, feed->tail);
        if (b->run > feed->at_run || (b->run == feed->at_run && b->first + b->content.n > feed->floor))
            return;
        drop_tail(feed);
    }
}

/* -------------------------------------------------------------------------------------------- lanes */

static void set_turn(leat__feed *feed, lane *l, uint64_t turn) {
    for (block *b = l->first, *next; b; b = next) {
        next = b->next;
        recycle(feed, b);
    }
    l->first = l->last = NULL;
    l->bytes = 0;
    l->turn = turn;
    l->version++;
    l->begun = l->ended = false;
}

void leat__lanes_move(leat__feed *feed, uint64_t front) {
    const uint64_t n = (uint64_t)feed->n_lanes, from = feed->front;
    feed->front = front;
    for (uint64_t turn = from; turn < from + n; turn++)
        if (turn < front) set_turn(feed, &feed->lane[turn % n], front + (turn % n + n - front % n) % n);
    leat__feed_wake(feed);
}

void leat__lanes_begin(leat__feed *feed, uint64_t run, leat__mark from) {
    const uint64_t n = (uint64_t)feed->n_lanes;
    while (feed->tail < feed->head) drop_tail(feed);
    feed->front = run * feed->n_shards + from.shard;
    for (uint64_t turn = feed->front; turn < feed->front + n; turn++)
        set_turn(feed, &feed->lane[turn % n], turn);
    feed->run = run;
    feed->run_ended = false;
    feed->next_record = from.first;
    feed->origin = from.origin;
    feed->begin[from.shard] = (leat__lane_begin){from.first, from.origin};
    leat__feed_wake(feed);
}

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

bool leat__window_full(const leat__feed *feed) {
    uint64_t ahead = feed->n_window;
    if (feed->tail < feed->head) {
        const block *b = leat__window_at(feed, feed->tail);
        if (b->run == feed->at_run && feed->floor > b->first)
            ahead -= LEAT_MIN(feed->floor - b->first, (uint64_t)b->content.n);
    }
    return ahead >= feed->window_max || feed->used >= feed->used_max || feed->head - feed->tail == feed->cap;
}

/* Whether a shard should be read before its turn. */
static bool worth_it(const leat__feed *feed, const lane *l) {
    if (leat__feed_counting(feed) || l->bytes + feed->block_bytes > feed->ahead_max) return false;
    const uint64_t first = feed->begin[l->turn % feed->n_shards].first;
    return feed->needs == LEAT_ENDLESS || (first != UINT64_MAX && first < feed->needs);
}

static lane *choose_lane(const leat__feed *feed) {
    const uint64_t runs = LEAT_MAX(feed->runs_total, feed->at_run + 1);
    if (feed->broken.code) return NULL;
    for (uint64_t turn = feed->front; turn < feed->front + (uint64_t)feed->n_lanes; turn++) {
        const lane *l = &feed->lane[turn % (uint64_t)feed->n_lanes];
        if (turn / feed->n_shards >= runs) break;
        if (l->busy || l->ended) continue;
        if (turn == feed->front ? leat__feed_counting(feed) || !leat__window_full(feed) : worth_it(feed, l))
            return (lane *)l;
    }
    return NULL;
}

bool leat__feed_hungry(const leat__feed *feed) {
    return choose_lane(feed) != NULL;
}

/* ------------------------------------------------------------------------------------------- window */

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
    else if (!leat__feed_length_known(feed)) leat__feed_learn_length(feed, feed->next_record);
    else if (feed->plan->order.length[0] != feed->next_record)
        leat__fail(&feed->broken, LEAT_ERR_IO,
                   "%s: it had %" PRIu64 " records before and has %" PRIu64
                   " now: files changed while they were read",
                   source->title, feed->plan->order.length[0], feed->next_record);
}

/* Numbers the records of a block and makes it the window's last one. */
static void add_block(leat__feed *feed, block *b) {
    for (size_t i = 0; i < b->content.n; i++) leat__block_at(&b->content, i)->origin += feed->origin;
    feed->n_window += b->content.n;
    block *last = feed->tail < feed->head ? leat__window_at(feed, feed->head - 1) : NULL;
    /* Small shards share a block. */
    if (last && last->run == feed->run && leat__block_append(&last->content, &b->content)) {
        recycle(feed, b);
        return;
    }
    b->run = feed->run;
    b->first = feed->next_record;
    b->in_window = true;
    feed->used += b->held;
    feed->block[feed->head++ % feed->cap] = b;
}

/* The front lane's shard is done. */
static void end_shard(leat__feed *feed) {
    leat__lanes_move(feed, feed->front + 1);
    const uint64_t shard = feed->front % feed->n_shards;
    if (shard == 0) end_run(feed);
    else feed->begin[shard] = (leat__lane_begin){feed->next_record, feed->origin};
}

static void begin_run(leat__feed *feed) {
    feed->run = feed->front / feed->n_shards;
    feed->run_ended = false;
    feed->next_record = feed->origin = 0;
    feed->begin[0] = (leat__lane_begin){0, 0};
}

void leat__lanes_merge(leat__feed *feed) {
    while (!feed->broken.code) {
        lane *l = &feed->lane[feed->front % (uint64_t)feed->n_lanes];
        block *b = l->first;
        if (!b && !l->ended) return;
        const bool only_count = leat__feed_counting(feed);
        if (b && !only_count && leat__window_full(feed)) return;
        if (feed->front / feed->n_shards != feed->run) begin_run(feed);
        if (!b) {
            end_shard(feed);
        } else {
            l->first = b->next;
            l->bytes -= b->held;
            const uint64_t n = b->content.n, n_read = b->content.n_read;
            if (n == 0 || only_count) recycle(feed, b);
            else add_block(feed, b);
            feed->next_record += n;
            feed->origin += n_read;
            feed->seen = LEAT_MAX(feed->seen, feed->next_record);
            leat__window_free_tail(feed); /* the order may be farther already */
        }
        if (only_count && !leat__feed_counting(feed)) { /* that was it: now for the records themselves */
            leat__lanes_begin(feed, feed->run, feed->run == 0 ? feed->from : (leat__mark){0});
            return;
        }
    }
}

/* -------------------------------------------------------------------------------------------- read */

/* Takes out what the filters do not want; base is the number of the block's first record. */
static int filter(lane *l, leat__block *content, uint64_t base, leat_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < content->n; i++) {
        const leat__block_record record = *leat__block_at(content, i);
        const leat__value value = {.data = content->bytes.data + record.offset,
                                   .bytes = record.size,
                                   .dtype = LEAT_DTYPE_BYTES,
                                   .ndim = 1,
                                   .shape = {(int64_t)record.size}};
        const leat__stream_place from = {.shard = record.shard, .record = record.record};
        const leat__where at = {.record = &value, .from = &from, .sample = base + i};
        const int keeps = record.bad ? 1 : leat__stream_keeps(l->tools, &at, err);
        if (keeps < 0) return keeps; /* nobody knows whether it counts */
        if (keeps) *leat__block_at(content, kept++) = record;
    }
    content->n = kept;
    return 0;
}

static int read_block(leat__feed *feed, lane *l, block *b, bool begin, uint64_t turn, uint64_t base,
                      leat_error *err) {
    leat__block *content = &b->content;
    if (!leat__buf_reserve(&content->records, BLOCK_RECORDS * sizeof(leat__block_record)))
        return leat__fail_memory(err, BLOCK_RECORDS * sizeof(leat__block_record), "records");
    if (begin) leat__shard_begin(l->reader, (size_t)(turn % feed->n_shards));
    const int rc = leat__shard_read(l->reader, content, feed->block_bytes, err);
    if (rc < 0) return rc;
    for (size_t i = 0; i < content->n; i++) leat__block_at(content, i)->origin = i;
    if (l->tools) LEAT_TRY(filter(l, content, base, err));
    return rc;
}

void leat__feed_read(leat__feed *feed, leat__mutex *mutex) {
    lane *l = choose_lane(feed);
    block *b = new_block(feed);
    leat_error err;
    if (!b) {
        leat__fail_memory(&feed->broken, sizeof *b, "records");
        return;
    }
    const bool begin = !l->begun;
    const uint64_t version = l->version, turn = l->turn, read_before = leat__shard_bytes_read(l->reader);
    /* Right for a feed with one lane only; with more nobody asks. */
    const uint64_t base = turn / feed->n_shards == feed->run && !feed->run_ended ? feed->origin : 0;
    l->begun = l->busy = true;
    leat__unlock(mutex);
    const int rc = read_block(feed, l, b, begin, turn, base, &err);
    leat__lock(mutex);
    l->busy = false;
    feed->bytes_read += leat__shard_bytes_read(l->reader) - read_before;
    count_bytes(feed, b);
    if (l->version != version || rc < 0) {
        recycle(feed, b);
        if (l->version == version && !feed->broken.code) feed->broken = err;
        leat__feed_wake(feed);
        return;
    }
    l->ended = rc == 1;
    b->next = NULL;
    if (l->first) l->last->next = b;
    else l->first = b;
    l->last = b;
    l->bytes += b->held;
    if (turn == feed->front) leat__lanes_merge(feed);
}
