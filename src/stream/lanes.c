/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/lanes.h"

#include "plan/select.h"

typedef leat__feed_block block;
typedef leat__lane lane;

void leat__lane_set(leat__feed *feed, lane *l, uint64_t turn, uint64_t skip) {
    for (block *b = l->first, *next; b; b = next) {
        next = b->next;
        leat__block_close(feed, b); /* some of its records may be in the window */
    }
    l->first = l->last = NULL;
    l->bytes = l->next = 0;
    l->turn = turn;
    l->skip = l->dealt = skip;
    l->end = 0;
    l->version++;
    l->begun = l->ended = false;
}

lane *leat__lane_of(leat__feed *feed, uint64_t turn) {
    lane *l = feed->lane;
    while (l->turn != turn) l++;
    return l;
}

/* Whether a shard should be read before its turn. After the first run only into memory that is there: how far readers get
 * ahead is a matter of time, and what was enough once is enough again. */
static bool worth_it(const leat__feed *feed, const lane *l) {
    if (leat__feed_counting(feed) || l->bytes + feed->block_bytes > feed->ahead_max) return false;
    if (feed->at_run > 0 && feed->n_spare <= LEAT_SPARE_BLOCKS) return false;
    if (feed->needs == LEAT_ENDLESS) return true;
    if (feed->in_order) return feed->begin[l->turn % feed->n_shards].first < feed->needs;
    return l->turn < feed->next_turn && (feed->dealing != feed->run || feed->next_record < feed->needs);
}

/* The lane that should be read now: that of the place whose turn it is, then those of the others in turn, then those
 * that have no place yet. */
static lane *choose_lane(const leat__feed *feed) {
    const uint64_t runs = LEAT_MAX(feed->runs_total, feed->at_run + 1);
    const lane *chosen = NULL;
    if (feed->broken.code || feed->dealing >= runs) return NULL;
    for (uint64_t i = 0; i < feed->cycle; i++) {
        lane *l = feed->place[(feed->at + i) % feed->cycle];
        if (!l || l->busy || l->ended) continue;
        if (i == 0 ? leat__feed_counting(feed) || !leat__window_full(feed) : worth_it(feed, l)) return l;
    }
    for (int i = 0; i < feed->n_lanes; i++) {
        const lane *l = &feed->lane[i];
        if (l->turn < feed->next_turn || l->busy || l->ended || l->turn / feed->n_shards >= runs) continue;
        if ((!chosen || l->turn < chosen->turn) && worth_it(feed, l)) chosen = l;
    }
    return (lane *)chosen;
}

bool leat__feed_hungry(const leat__feed *feed) {
    return feed->n_parts ? leat__join_hungry(feed) : choose_lane(feed) != NULL;
}

/* Takes out what was dealt before a restore. */
static void skip_dealt(leat__block *content, uint64_t skip) {
    size_t n = 0;
    while (n < content->n && leat__block_at(content, n)->record < skip) n++;
    if (n == 0) return;
    content->n -= n;
    memmove(leat__block_at(content, 0), leat__block_at(content, n), content->n * sizeof(leat__block_record));
}

/* Takes out what the filters do not want; base is the number of the block's first record. */
static int filter(lane *l, leat__block *content, uint64_t base, leat_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < content->n; i++) {
        const leat__block_record record = *leat__block_at(content, i);
        const leat__piece piece = {.number = record.record,
                                   .shard = record.shard,
                                   .data = content->bytes.data + record.offset,
                                   .bytes = record.size};
        const leat__where at = {.piece = &piece, .n_pieces = 1, .sample = base + i};
        const int keeps = record.bad ? 1 : leat__stream_keeps(l->tools, &at, err);
        if (keeps < 0) return keeps; /* nobody knows whether it counts */
        if (keeps) *leat__block_at(content, kept++) = record;
    }
    content->n = kept;
    return 0;
}

static int read_block(leat__feed *feed, lane *l, block *b, bool begin, uint64_t turn, uint64_t skip,
                      uint64_t base, leat_error *err) {
    const size_t room = leat__block_room(feed);
    leat__block *content = &b->content;
    if (!leat__buf_reserve(&content->records, room)) return leat__fail_memory(err, room, "records");
    if (begin) leat__shard_begin(l->reader, (size_t)(turn % feed->n_shards));
    const int rc = leat__shard_read(l->reader, content, feed->block_bytes, err);
    if (rc < 0) return rc;
    b->begin = content->n ? leat__block_at(content, 0)->record : 0;
    b->end = b->begin + content->n;
    skip_dealt(content, skip);
    if (l->tools) LEAT_TRY(filter(l, content, base, err));
    return rc;
}

void leat__feed_read(leat__feed *feed, leat__mutex *mutex) {
    if (feed->n_parts) {
        leat__join_read(feed, mutex);
        return;
    }
    lane *l = choose_lane(feed);
    block *b = leat__block_new(feed);
    leat_error err;
    if (!b) {
        leat__fail_memory(&feed->broken, sizeof *b, "records");
        return;
    }
    const bool begin = !l->begun;
    const uint64_t version = l->version, turn = l->turn, skip = l->skip,
                   read_before = leat__shard_bytes_read(l->reader);
    /* Right for a feed with one lane only; with more nobody asks. */
    const uint64_t base = turn / feed->n_shards == feed->run && !feed->run_ended ? feed->origin : 0;
    l->begun = l->busy = true;
    leat__unlock(mutex);
    const int rc = read_block(feed, l, b, begin, turn, skip, base, &err);
    leat__lock(mutex);
    l->busy = false;
    feed->bytes_read += leat__shard_bytes_read(l->reader) - read_before;
    leat__block_count(feed, b);
    if (l->version != version || rc < 0) {
        leat__block_recycle(feed, b);
        if (l->version == version && !feed->broken.code) feed->broken = err;
        leat__feed_wake(feed);
        return;
    }
    l->ended = rc == 1;
    l->end = LEAT_MAX(l->end, b->end);
    b->next = NULL;
    if (l->first) l->last->next = b;
    else l->first = b;
    l->last = b;
    l->bytes += b->held;
    if (l == feed->place[feed->at]) leat__deal(feed);
}
