/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: several shards at once, each by one thread at a time, in blocks of records. */
#include "stream/node.h"

typedef leat__stream_block block;

void leat__open_shard_set(leat__node *node, leat__open_shard *s, uint64_t visit, uint64_t skip) {
    for (block *b = s->first, *next; b; b = next) {
        next = b->next;
        leat__block_close(node, b); /* some of its records may be in the window */
    }
    /* With one open shard the next one begins where this one has ended. */
    s->base = visit % node->n_shards == 0 ? 0 : s->base + s->end;
    s->first = s->last = NULL;
    s->bytes = s->next = 0;
    s->visit = visit;
    s->skip = s->emitted = skip;
    s->end = 0;
    s->version++;
    s->begun = s->ended = false;
}

leat__open_shard *leat__open_shard_of(leat__node *node, uint64_t visit) {
    leat__open_shard *s = node->shard;
    while (s->visit != visit) s++;
    return s;
}

/* Whether a shard should be read before its turn. After the first run only into memory that is allocated already: how far
 * readers get ahead depends on timing, and the memory of the first run is enough for the next ones. */
static bool is_worth_it(const leat__node *node, const leat__open_shard *s) {
    if (leat__node_counting(node) || s->bytes + node->block_bytes > node->ahead_max) return false;
    if (node->at_run > 0 && node->n_spare <= LEAT_SPARE_BLOCKS) return false;
    if (node->needs == LEAT_ENDLESS) return true;
    if (node->in_order) return node->begin[s->visit % node->n_shards].first < node->needs;
    return s->visit < node->next_visit && (node->emit_run != node->run || node->next_record < node->needs);
}

/* The shard to read now: the one that is emitted now, then those of the next turns, then those that have no place yet. */
static leat__open_shard *choose_shard(const leat__node *node) {
    const uint64_t runs = LEAT_MAX(node->runs_total, node->at_run + 1);
    const leat__open_shard *chosen = NULL;
    if (node->broken.code || node->emit_run >= runs) return NULL;
    for (uint64_t i = 0; i < node->cycle; i++) {
        leat__open_shard *s = node->turn[(node->at + i) % node->cycle];
        if (!s || s->busy || s->ended) continue;
        if (i == 0 ? leat__node_counting(node) || !leat__window_full(node) : is_worth_it(node, s)) return s;
    }
    for (int i = 0; i < node->n_open; i++) {
        const leat__open_shard *s = &node->shard[i];
        if (s->visit < node->next_visit || s->busy || s->ended || s->visit / node->n_shards >= runs) continue;
        if ((!chosen || s->visit < chosen->visit) && is_worth_it(node, s)) chosen = s;
    }
    return (leat__open_shard *)chosen;
}

bool leat__node_hungry(const leat__node *node) {
    return node->n_parts ? leat__combined_hungry(node) != NULL : choose_shard(node) != NULL;
}

/* Takes out what was emitted before a restore. */
static void skip_emitted(leat__block *content, uint64_t skip) {
    size_t n = 0;
    while (n < content->n && leat__block_at(content, n)->record < skip) n++;
    if (n == 0) return;
    content->n -= n;
    memmove(leat__block_at(content, 0), leat__block_at(content, n), content->n * sizeof(leat__block_record));
}

/* Takes out what the filters do not want; base is the number of the shard's first record. */
static int filter(leat__open_shard *s, leat__block *content, uint64_t base, leat_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < content->n; i++) {
        const leat__block_record record = *leat__block_at(content, i);
        const leat__piece piece = {.number = record.record,
                                   .shard = record.shard,
                                   .data = content->bytes.data + record.offset,
                                   .bytes = record.size};
        const leat__where at = {.piece = &piece, .n_pieces = 1, .sample = base + record.record};
        const int keeps = record.bad ? 1 : leat__filters_keep(s->tools, &at, err);
        if (keeps < 0) return keeps; /* whether it counts is not known */
        if (keeps) *leat__block_at(content, kept++) = record;
    }
    content->n = kept;
    return 0;
}

typedef struct order { /* what a reader thread is to read, as it was when the lock was released */
    bool begin;
    uint64_t version, visit, skip, base;
} order;

static int read_block(leat__node *node, leat__open_shard *s, block *b, const order *o, leat_error *err) {
    const size_t room = leat__block_room(node);
    leat__block *content = &b->content;
    if (!leat__buf_reserve(&content->records, room)) return leat__fail_memory(err, room, "records");
    if (o->begin) leat__shard_begin(s->reader, (size_t)(o->visit % node->n_shards));
    const int rc = leat__shard_read(s->reader, content, node->block_bytes, err);
    if (rc < 0) return rc;
    b->begin = content->n ? leat__block_at(content, 0)->record : 0;
    b->end = b->begin + content->n;
    skip_emitted(content, o->skip);
    if (s->tools) LEAT_TRY(filter(s, content, o->base, err));
    b->payload = 0;
    for (size_t i = 0; i < content->n; i++) b->payload += leat__block_at(content, i)->size;
    return rc;
}

static void add_block(leat__open_shard *s, block *b, bool last) {
    s->ended = last;
    s->end = LEAT_MAX(s->end, b->end);
    b->next = NULL;
    if (s->first) s->last->next = b;
    else s->first = b;
    s->last = b;
    s->bytes += b->held;
}

void leat__node_read(leat__node *node) {
    if (node->n_parts) {
        leat__node_read(leat__combined_hungry(node));
        return;
    }
    leat__mutex *mutex = &node->stream->mutex;
    leat__open_shard *s = choose_shard(node);
    block *taken = leat__block_take(node), *made = NULL, *b;
    leat_error err;
    const order o = {!s->begun, s->version, s->visit, s->skip, s->base};
    const uint64_t read_before = leat__shard_bytes_read(s->reader);
    s->begun = s->busy = true;
    const bool spare = node->spare != NULL;
    leat__unlock(mutex);
    b = taken ? taken : (made = leat__block_new(node));
    const int rc =
        b ? read_block(node, s, b, &o, &err) : leat__fail_memory(&err, node->block_bytes, "records");
    /* Records of a small block are copied into one that is spare. */
    if (rc >= 0 && !made && !spare && leat__block_is_small(node, b)) made = leat__block_new(node);
    leat__lock(mutex);
    s->busy = false;
    if (s->tools) {
        node->call_ns += s->tools->stage_ns[LEAT_STAGE_CALL];
        s->tools->stage_ns[LEAT_STAGE_CALL] = 0;
    }
    node->bytes_read += leat__shard_bytes_read(s->reader) - read_before;
    if (made) leat__block_own(node, made);
    if (made && made != b) leat__block_recycle(node, made);
    if (b) leat__block_count(node, b);
    if (s->version == o.version && rc >= 0) {
        add_block(s, b, rc == 1);
        if (s == node->turn[node->at]) leat__shard_order_emit(node);
        return;
    }
    if (b) leat__block_recycle(node, b);
    if (s->version == o.version && !node->broken.code) node->broken = err;
    leat__stream_wake_readers(node->stream);
}
