/* SPDX-License-Identifier: Apache-2.0 */
/* Resume marks: places from which a stream can be read again. A mark is kept at every MARK_RECORDS-th record, so that a state
 * does not depend on which reader thread was faster.
 *
 * As text, a stream is `RUN:SHARD:FIRST:ORIGIN:RECORDS`: from which shard to read on, and what was counted before it. So only
 * shards that are still needed are inflated again. Of interleaved shards, SHARD is the next to begin, and behind RECORDS
 * follow `:AT:IN_BLOCK:SHARD.EMITTED:SHARD.EMITTED:-`, a word for each place. Of a combination there is
 * `RUN:FIRST:ORIGIN:RECORDS` and for each part `/POSITION`, the number of its samples before, with `!` if it has no more, or
 * else with `@` and what there is of a stream. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "stream/node.h"

enum { MARK_RECORDS = 256 };

leat__mark *leat__mark_new(void) {
    return leat__alloc(LEAT_MEM_SLOT, sizeof(leat__mark));
}

void leat__mark_copy(leat__mark *to, const leat__mark *from) {
    *to = from ? *from : (leat__mark){0};
}

/* --------------------------------------------------------------------------------------------- kept */

int leat__marks_new(leat__node *node, leat_error *err) {
    const size_t n = (size_t)(node->window_max / MARK_RECORDS + 4);
    node->n_kept = n;
    node->kept = leat__alloc(LEAT_MEM_WINDOW, n * sizeof *node->kept);
    return node->kept ? 0 : leat__fail_memory(err, n * sizeof *node->kept, "a stream");
}

static leat__kept_mark *kept_at(const leat__node *node, uint64_t i) {
    return &node->kept[i % node->n_kept];
}

static uint64_t first_of(const leat__node *node, const leat__kept_mark *kept) {
    return kept->mark.node[node->entry].first;
}

bool leat__marks_due(uint64_t records) {
    return records % MARK_RECORDS == 0;
}

leat__mark *leat__marks_add(leat__node *node) {
    /* Of the marks before all records that are still needed, only the last one is kept. */
    while (node->kept_head - node->kept_tail > 1) {
        const leat__kept_mark *second = kept_at(node, node->kept_tail + 1);
        if (second->run > node->at_run ||
            (second->run == node->at_run && first_of(node, second) > node->floor))
            break;
        node->kept_tail++;
    }
    leat__kept_mark *kept = kept_at(node, node->kept_head++);
    kept->run = node->run;
    kept->mark.node[node->entry] =
        (leat__mark_node){.set = true, .first = node->next_record, .origin = node->origin};
    return &kept->mark;
}

const leat__mark *leat__marks_find(const leat__node *node, uint64_t floor) {
    for (uint64_t i = node->kept_head; i-- > node->kept_tail;) {
        const leat__kept_mark *kept = kept_at(node, i);
        if (kept->run == node->at_run && first_of(node, kept) <= floor) return &kept->mark;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------- writing */

typedef struct writer {
    char *text;
    size_t cap;
    int n; /* characters that it would have */
} writer;

static void put(writer *w, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void put(writer *w, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const bool fits = (size_t)w->n < w->cap;
    w->n += vsnprintf(fits ? w->text + w->n : NULL, fits ? w->cap - (size_t)w->n : 0, fmt, args);
    va_end(args);
}

typedef struct place { /* in a mark: the next entry, and the next interleaved shard */
    int entry, shard;
} place;

static uint64_t cycle_of(const leat__plan *plan) {
    return plan->stream->shards ? leat__stream_plan_cycle(plan->stream) : 0;
}

static void write_cycle(writer *w, const leat__mark_node *node, const leat__mark_shard *shard, uint64_t n) {
    put(w, ":%" PRIu64 ":%" PRIu64, node->at, node->in_block);
    for (uint64_t i = 0; i < n; i++) {
        if (shard[i].shard == UINT64_MAX) put(w, ":-");
        else put(w, ":%" PRIx64 ".%" PRIx64, shard[i].shard, shard[i].emitted);
    }
}

static void write_node(writer *w, const leat__plan *plan, const leat__mark *mark, place *at) {
    const leat__mark_node *own = &mark->node[at->entry++];
    const uint64_t cycle = cycle_of(plan);
    put(w, "%" PRIu64 ":", own->iteration);
    if (plan->stream->shards) put(w, "%" PRIu64 ":", own->shard);
    put(w, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, own->first, own->origin, own->records);
    if (own->cycled) write_cycle(w, own, mark->shard + at->shard, cycle);
    if (cycle > 1) at->shard += (int)cycle;
    for (int k = 0; k < plan->stream->n_parts; k++) {
        const leat__plan *part = &plan->stream->part[k];
        const leat__mark_node *its = &mark->node[at->entry];
        put(w, "/%" PRIu64 "%s", its->position, its->ended ? "!" : its->set ? "@" : "");
        if (!its->ended && its->set) write_node(w, part, mark, at);
        else at->entry += leat__stream_plan_nodes(part), at->shard += leat__stream_plan_cycles(part);
    }
}

int leat__mark_text(leat__stream *stream, const leat__mark *mark, char *text, size_t cap) {
    writer w = {.text = text, .cap = cap};
    if (cap) text[0] = 0;
    if (mark->node[0].set) write_node(&w, stream->root->plan, mark, &(place){0});
    return w.n;
}

/* -------------------------------------------------------------------------------------------- reading */

typedef struct parser {
    const char *at;
    char behind; /* the character behind the last number */
    leat__mark *mark;
} parser;

static bool take_number(parser *p, int base, uint64_t *out) {
    const bool digit = (*p->at >= '0' && *p->at <= '9') || (base == 16 && *p->at >= 'a' && *p->at <= 'f');
    char *end;
    if (!digit) return false;
    *out = strtoull(p->at, &end, base);
    p->behind = *end;
    p->at = end + (*end != 0);
    return true;
}

/* Interleaved shards; false if they cannot be so. */
static bool read_cycle(parser *p, const leat__stream_plan *stream, leat__mark_node *node,
                       leat__mark_shard *shard) {
    const uint64_t cycle = leat__stream_plan_cycle(stream);
    if (!take_number(p, 10, &node->at) || p->behind != ':' || !take_number(p, 10, &node->in_block) ||
        p->behind != ':')
        return false;
    for (uint64_t i = 0; i < cycle; i++) {
        if (*p->at == '-') {
            shard[i] = (leat__mark_shard){.shard = UINT64_MAX};
            p->behind = p->at[1];
            p->at += 1 + (p->behind != 0);
        } else if (!take_number(p, 16, &shard[i].shard) || p->behind != '.' ||
                   !take_number(p, 16, &shard[i].emitted) || shard[i].shard >= node->shard) {
            return false;
        }
        for (uint64_t k = 0; k < i && shard[i].shard != UINT64_MAX; k++)
            if (shard[k].shard == shard[i].shard) return false;
        if (i + 1 < cycle && p->behind != ':') return false;
    }
    node->cycled = true;
    return node->at < cycle && node->in_block < stream->cycle_block && shard[node->at].shard != UINT64_MAX;
}

static bool possible(const leat__plan *plan, const leat__mark_node *node) {
    const uint64_t known = plan->order.length[0];
    if (node->first > node->origin || node->origin == UINT64_MAX || node->records == LEAT_ENDLESS)
        return false;
    if (node->records && (node->first > node->records || (known != LEAT_ENDLESS && known != node->records)))
        return false;
    if (!plan->stream->shards) return true;
    const uint64_t n_shards = leat__shards_count(plan->stream->shards);
    const bool cycles = cycle_of(plan) > 1, none = node->shard == 0 && node->origin == 0;
    return node->shard < n_shards + node->cycled && (node->cycled || none || (!cycles && node->shard > 0));
}

static bool read_node(parser *p, const leat__plan *plan, place *at);

/* The parts of a combination: as many samples of them were emitted as of the whole. */
static bool read_parts(parser *p, const leat__plan *plan, uint64_t origin, place *at) {
    const bool zip = plan->stream->kind == LEAT_BRANCH_ZIP;
    uint64_t sum = 0;
    for (int k = 0; k < plan->stream->n_parts; k++) {
        const leat__plan *part = &plan->stream->part[k];
        leat__mark_node *its = &p->mark->node[at->entry];
        const uint64_t length = leat__order_length(&part->order);
        uint64_t position;
        if (p->behind != '/' || !take_number(p, 10, &position)) return false;
        const bool goes_on = p->behind == '@', ended = p->behind == '!';
        if (goes_on && (!part->stream || position == 0)) return false;
        if (!goes_on && !ended && part->stream && position > 0) return false;
        if (position > length || (zip && (position != origin || ended))) return false;
        if (!part->stream && ended && position != length) return false;
        if (goes_on) {
            if (!read_node(p, part, at)) return false;
        } else {
            at->entry += leat__stream_plan_nodes(part);
            at->shard += leat__stream_plan_cycles(part);
        }
        if (ended) {
            p->behind = *p->at;
            p->at += *p->at != 0;
        }
        its->position = position;
        its->ended = ended;
        sum += position;
    }
    return zip || sum == origin;
}

static bool read_node(parser *p, const leat__plan *plan, place *at) {
    const leat__stream_plan *stream = plan->stream;
    leat__mark_node *own = &p->mark->node[at->entry++];
    uint64_t *const numbers[] = {&own->iteration, &own->shard, &own->first, &own->origin, &own->records};
    const uint64_t cycle = cycle_of(plan);
    p->behind = ':';
    for (size_t i = 0; i < LEAT_COUNT(numbers); i++) {
        if (i == 1 && !stream->shards) continue;
        if (p->behind != ':' || !take_number(p, 10, numbers[i])) return false;
    }
    own->set = true;
    if (p->behind == ':' && (cycle < 2 || !read_cycle(p, stream, own, p->mark->shard + at->shard)))
        return false;
    if (cycle > 1) at->shard += (int)cycle;
    if (!possible(plan, own)) return false;
    return !stream->n_parts || read_parts(p, plan, own->origin, at);
}

/* Ignores lengths that only a restored state has told, while another state is parsed (on), or uses them again. */
static void doubt(leat__node *node, bool on) {
    if (node->told) node->length = on ? LEAT_ENDLESS : node->told;
    leat__node_sync(node);
    for (int k = 0; k < node->n_parts; k++)
        if (node->part[k].node) doubt(node->part[k].node, on);
}

bool leat__mark_parse(leat__stream *stream, const char *text, const char *end, uint64_t position,
                      leat__mark *out) {
    const leat__plan *plan = stream->root->plan;
    parser p = {.at = text, .mark = out};
    *out = (leat__mark){0};
    leat__lock(&stream->mutex);
    doubt(stream->root, true);
    /* Without a mark the stream is read from its beginning up to the position. */
    const bool good = (text == end || (read_node(&p, plan, &(place){0}) && p.behind == *end)) &&
                      position <= leat__order_length(&plan->order);
    doubt(stream->root, false);
    leat__unlock(&stream->mutex);
    return good;
}
