/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a stream's records. Reading shards one after the other is a cycle of one place. When an interleaved shard has
 * no more records, its place loses the rest of the turn and gets the next shard that is not open: as in tf.data's interleave,
 * and as order/interleave.c computes it where lengths are known. */
#include "stream/node.h"

typedef leat__stream_block block;

int leat__shard_order_new(leat__node *node, leat_error *err) {
    if (!node->in_order) return leat__marks_new(node, err);
    node->begin = leat__alloc(LEAT_MEM_WINDOW, node->n_shards * sizeof *node->begin);
    if (!node->begin) return leat__fail_memory(err, node->n_shards * sizeof *node->begin, "a stream");
    for (uint64_t i = 0; i < node->n_shards; i++)
        node->begin[i] = (leat__shard_start){UINT64_MAX, UINT64_MAX};
    return 0;
}

/* -------------------------------------------------------------------------------------------- runs */

/* A run begins: every place has its first shard. */
static void open_run(leat__node *node, uint64_t run) {
    node->emit_run = run;
    node->at = node->in_block = 0;
    node->next_visit = run * node->n_shards + node->cycle;
    for (uint64_t i = 0; i < node->cycle; i++)
        node->turn[i] = leat__open_shard_of(node, run * node->n_shards + i);
}

/* The shards as they were at a mark; those without a turn read what comes next. */
static void open_marked(leat__node *node, uint64_t run, const leat__mark *mark) {
    const uint64_t base = run * node->n_shards;
    const leat__mark_node *from = &mark->node[node->entry];
    const leat__mark_shard one = {.shard = from->shard},
                           *shard = node->in_order ? &one : mark->shard + node->cycled;
    node->emit_run = run;
    node->at = from->at;
    node->in_block = from->in_block;
    node->next_visit = node->unopened = base + from->shard + node->in_order;
    int used = 0;
    for (uint64_t i = 0; i < node->cycle; i++) {
        node->turn[i] = NULL;
        if (shard[i].shard == UINT64_MAX) continue;
        node->turn[i] = &node->shard[used++];
        leat__open_shard_set(node, node->turn[i], base + shard[i].shard, shard[i].emitted);
    }
    if (node->in_order) node->turn[0]->base = from->origin;
    for (int i = used; i < node->n_open; i++)
        leat__open_shard_set(node, &node->shard[i], node->unopened++, 0);
}

void leat__shard_order_begin(leat__node *node, uint64_t run, const leat__mark *mark) {
    const leat__mark_node *from = &mark->node[node->entry];
    leat__window_empty(node);
    node->kept_tail = node->kept_head = 0;
    if (node->in_order || from->cycled) {
        open_marked(node, run, mark);
    } else {
        node->unopened = run * node->n_shards;
        for (int i = 0; i < node->n_open; i++)
            leat__open_shard_set(node, &node->shard[i], node->unopened++, 0);
        open_run(node, run);
    }
    node->run = run;
    node->run_ended = false;
    node->next_record = from->first;
    node->origin = from->origin;
    if (node->in_order) node->begin[from->shard] = (leat__shard_start){from->first, from->origin};
    leat__stream_wake_readers(node->stream);
}

void leat__shard_order_jump(leat__node *node, uint64_t run) {
    const uint64_t first = run * node->n_shards;
    node->unopened = LEAT_MAX(node->unopened, first);
    for (int i = 0; i < node->n_open; i++)
        if (node->shard[i].visit < first) leat__open_shard_set(node, &node->shard[i], node->unopened++, 0);
    open_run(node, run);
    leat__stream_wake_readers(node->stream);
}

/* Moves on to the next place that has a shard. There is one. */
static void next_turn(leat__node *node) {
    node->in_block = 0;
    do node->at = (node->at + 1) % node->cycle;
    while (!node->turn[node->at]);
}

/* The shard that has its turn has no more records. */
static void end_shard(leat__node *node) {
    leat__open_shard *s = node->turn[node->at];
    if (s->end < s->skip) {
        leat__fail(&node->broken, LEAT_ERR_STATE,
                   "the state is damaged: it goes on behind record %" PRIu64 " of a shard that has %" PRIu64,
                   s->skip, s->end);
        return;
    }
    leat__open_shard_set(node, s, node->unopened++, 0);
    node->turn[node->at] = NULL;
    const uint64_t end = (node->emit_run + 1) * node->n_shards;
    if (node->next_visit < end) {
        node->turn[node->at] = leat__open_shard_of(node, node->next_visit);
        if (node->in_order)
            node->begin[node->next_visit % node->n_shards] =
                (leat__shard_start){node->next_record, node->origin};
        node->next_visit++;
    }
    leat__stream_wake_readers(node->stream);
    for (uint64_t i = 0; i < node->cycle; i++) {
        if (!node->turn[i]) continue;
        next_turn(node);
        return;
    }
    leat__node_end_run(node);
    open_run(node, node->emit_run + 1);
}

static void begin_run(leat__node *node) {
    node->run = node->emit_run;
    node->run_ended = false;
    node->next_record = node->origin = 0;
    if (node->in_order) node->begin[0] = (leat__shard_start){0, 0};
}

/* -------------------------------------------------------------------------------------------- marks */

/* Where each of the interleaved shards is. */
static void keep_mark(leat__node *node) {
    leat__mark *mark = leat__marks_add(node);
    leat__mark_node *own = &mark->node[node->entry];
    own->shard = node->next_visit - node->emit_run * node->n_shards;
    own->cycled = true;
    own->at = node->at;
    own->in_block = node->in_block;
    for (uint64_t i = 0; i < node->cycle; i++) {
        const leat__open_shard *s = node->turn[i];
        mark->shard[(uint64_t)node->cycled + i] =
            s ? (leat__mark_shard){.shard = s->visit - node->emit_run * node->n_shards, .emitted = s->emitted}
              : (leat__mark_shard){.shard = UINT64_MAX};
    }
}

/* The last shard of the run that begins at or before a record. */
static leat__mark_node mark_shard(const leat__node *node, uint64_t record) {
    /* Shards that were not come to yet begin at UINT64_MAX, or where they did in an earlier run. */
    uint64_t low = node->at_run == 0 ? node->from.node[node->entry].shard : 0, high = node->n_shards;
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (node->begin[mid].first <= record) low = mid;
        else high = mid;
    }
    return (leat__mark_node){
        .set = true, .shard = low, .first = node->begin[low].first, .origin = node->begin[low].origin};
}

void leat__shard_order_mark(const leat__node *node, uint64_t floor, leat__mark *mark) {
    leat__mark_node *own = &mark->node[node->entry];
    if (node->in_order) {
        *own = mark_shard(node, floor);
        return;
    }
    const leat__mark *found = leat__marks_find(node, floor);
    if (!found && node->at_run == 0) found = &node->from;
    *own = found ? found->node[node->entry] : (leat__mark_node){0};
    own->set = true;
    if (found)
        memcpy(mark->shard + node->cycled, found->shard + node->cycled, node->cycle * sizeof *mark->shard);
}

/* --------------------------------------------------------------------------------------------- emit */

/* Emits from a block until the turn, the block or what is wanted is over, or the window is full. */
static void emit_block(leat__node *node, leat__open_shard *s, block *b, bool only_count) {
    if (!b->open) s->bytes -= b->held;
    b->open = true;
    for (bool turn_ends = false; s->emitted < b->end && !turn_ends && node->origin < node->wants;) {
        if (!only_count && leat__window_full(node)) return;
        const bool there =
            s->next < b->content.n && leat__block_at(&b->content, s->next)->record == s->emitted;
        const bool passes = there && leat__stream_plan_passes(node->what, node->origin);
        if (passes && !only_count) leat__window_add(node, b, s->next);
        s->next += there;
        node->next_record += passes;
        node->origin++;
        s->emitted++;
        turn_ends = ++node->in_block == node->block_length;
        if (turn_ends) next_turn(node);
        if (passes && !only_count && !node->in_order && leat__marks_due(node->next_record)) keep_mark(node);
    }
    if (s->emitted < b->end) return;
    s->first = b->next;
    s->next = 0;
    leat__block_close(node, b);
}

void leat__shard_order_emit(leat__node *node) {
    while (!node->broken.code) {
        leat__open_shard *s = node->turn[node->at];
        block *b = s->first;
        const bool enough = node->emit_run == node->run && !node->run_ended && node->origin >= node->wants;
        if (!b && !s->ended && !enough) return;
        const bool only_count = leat__node_counting(node);
        if (b && !enough && !only_count && leat__window_full(node)) return;
        if (node->emit_run != node->run) begin_run(node);
        if (enough) {
            leat__node_end_run(node);
            leat__shard_order_jump(node, node->emit_run + 1);
        } else if (b) {
            emit_block(node, s, b, only_count);
        } else {
            end_shard(node);
        }
        node->seen = LEAT_MAX(node->seen, node->next_record);
        if (only_count && !leat__node_counting(node)) { /* counting is done: emit the run */
            const leat__mark beginning = {0};
            leat__shard_order_begin(node, node->run, node->run == 0 ? &node->from : &beginning);
            return;
        }
    }
}
