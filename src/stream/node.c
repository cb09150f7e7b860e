/* SPDX-License-Identifier: Apache-2.0 */
/* A node: its memory, the samples that its order may choose from, and its resume marks. */
#include <stdio.h>

#include "stream/node.h"

#define INPUT_MIN ((size_t)4096)

/* Records that the window may be ahead of what is needed, at the most; bytes of a block. The record at the end of a block is
 * copied twice, so a block should have several: photos as JPEG files have 100 KB. */
enum { AHEAD_MAX = 65536, BLOCK_BYTES = 1 << 19, BLOCK_BYTES_MIN = 1 << 14 };

/* ---------------------------------------------------------------------------------------------- new */

/* Runs of the node, if its order as a whole is run so often. */
static uint64_t count_runs(const leat__order *order, uint64_t runs) {
    for (int i = 0; i < order->n_verbs; i++) {
        if (order->verb[i].kind != LEAT_ORDER_REPEAT || runs == LEAT_ENDLESS) continue;
        if (__builtin_mul_overflow(runs, order->verb[i].count, &runs)) runs = LEAT_ENDLESS;
    }
    return runs;
}

static bool filters_count(const leat__node *node) {
    for (int i = 0; i < node->what->n_filters; i++)
        if (leat__question_counts(node->plan, node->what->filter[i])) return true;
    return false;
}

static void size_shards(leat__node *node, int n_readers) {
    node->cycle = leat__stream_plan_cycle(node->what);
    node->in_order = node->cycle == 1;
    node->block_length = node->in_order ? UINT64_MAX : node->what->cycle_block;
    /* Each interleaved shard may keep a block that is not emitted yet: all of them a quarter of the window at the most. */
    node->block_bytes = LEAT_CLAMP(node->bytes_max / LEAT_MAX((size_t)16, 8 * (size_t)node->cycle),
                                   (size_t)BLOCK_BYTES_MIN, (size_t)BLOCK_BYTES);
    uint64_t readers = LEAT_MIN((uint64_t)LEAT_CLAMP(n_readers, 1, LEAT_INFLATERS_MAX), node->n_shards);
    /* Half is for the window, half for blocks that are read before their turn. */
    readers = LEAT_MIN(readers, node->bytes_max / 2 / node->block_bytes);
    if (filters_count(node)) readers = 1;
    node->n_readers = (int)LEAT_MAX(readers, (uint64_t)1);
    node->n_open = (int)LEAT_MAX((uint64_t)node->n_readers, node->cycle);
    /* Blocks have what the input of the readers leaves. */
    node->input_bytes = LEAT_CLAMP(node->bytes_max / 16 / (size_t)node->n_open, INPUT_MIN,
                                   leat__shards_input(node->what->shards));
    node->bytes_max -= LEAT_MIN((size_t)node->n_open * node->input_bytes, node->bytes_max / 2);
    node->used_max = node->n_open > 1 ? node->bytes_max / 2 : node->bytes_max;
    node->ahead_max = node->n_open > 1 ? node->bytes_max / 2 / ((size_t)node->n_open - 1) : 0;
}

static bool filters_call(const leat__node *node) {
    for (int i = 0; i < node->what->n_filters; i++)
        if (node->what->filter[i]->called || node->what->filter[i]->called_before) return true;
    return false;
}

static int make_shards(leat__node *node, leat_error *err) {
    LEAT_TRY(leat__shard_order_new(node, err));
    /* Two of the window, one of each open shard, one for small ones to be copied into, and what is left over. */
    LEAT_TRY(leat__blocks_prepare(node, node->n_open + LEAT_SPARE_BLOCKS + 4, err));
    for (int i = 0; i < node->n_open; i++) {
        leat__open_shard *shard = &node->shard[i];
        shard->reader = leat__shard_reader_new(node->what->shards, node->input_bytes, err);
        if (!shard->reader) return LEAT_ERR_MEMORY;
        if (node->what->n_filters && !(shard->tools = leat__tools_new(node->plan, err)))
            return LEAT_ERR_MEMORY;
        if (shard->tools) shard->tools->timed = filters_call(node);
    }
    return 0;
}

static int make_parts(leat__node *node, const leat__node_options *options, leat__node_numbers *next,
                      leat_error *err) {
    const size_t n = (size_t)node->what->n_parts;
    leat__node_options its = *options;
    its.runs = node->runs_total;
    node->part = leat__alloc(LEAT_MEM_WINDOW, n * sizeof *node->part);
    node->held = leat__records_make(node->n_pieces, node->window_max, LEAT_MEM_WINDOW);
    if (!node->part || !node->held)
        return leat__fail_memory(err, node->window_max * (size_t)node->n_pieces * sizeof(leat__piece),
                                 "a window");
    LEAT_TRY(leat__marks_new(node, err));
    for (size_t k = 0; k < n; k++) {
        leat__plan *plan = &node->what->part[k];
        leat__node_part *part = &node->part[node->n_parts++];
        *part = (leat__node_part){.order = &plan->order, .leaf = next->leaf, .entry = next->entry};
        LEAT_TRY(leat__order_allocate(&plan->order, err));
        if (plan->stream) {
            LEAT_TRY(leat__node_new(&part->node, plan, &its, next, err));
            node->n_readers = LEAT_MIN(node->n_readers + part->node->n_readers, options->n_readers);
            continue;
        }
        next->leaf += leat__source_leaves(plan->source);
        next->entry++;
    }
    return 0;
}

/* The window must hold the records that one position needs. A window of shards should also hold those of two batches. */
static int size_window(leat__node *node, uint64_t batch, leat_error *err) {
    const leat__order *order = &node->plan->order;
    const bool combined = !node->what->shards;
    const uint64_t need = leat__order_reach(order, 1), ahead = leat__order_reach(order, 2 * batch);
    const size_t each = sizeof(leat__window_entry) + (combined ? (size_t)node->n_pieces * sizeof(leat__record)
                                                               : sizeof(leat__block_record));
    if (need >= LEAT_MIN((combined ? node->bytes_max : node->used_max) / each, (size_t)INT32_MAX / 2))
        return leat__fail(err, LEAT_ERR_MEMORY,
                          "a window of %" PRIu64
                          " records does not fit into the budget: use a smaller shuffle window",
                          need);
    node->window_max = need + (combined ? 0 : LEAT_MIN(ahead, (uint64_t)AHEAD_MAX)) + 64;
    node->window = leat__alloc(LEAT_MEM_WINDOW, node->window_max * sizeof *node->window);
    return node->window ? 0 : leat__fail_memory(err, node->window_max * sizeof *node->window, "a window");
}

static int fill(leat__node *node, const leat__node_options *options, leat__node_numbers *next,
                leat_error *err) {
    node->leaf = next->leaf;
    node->entry = next->entry++;
    node->cycled = next->cycled;
    node->runs_total = count_runs(&node->plan->order, options->runs);
    node->needs = leat__order_needs(&node->plan->order);
    node->wants = leat__stream_plan_wants(node->what);
    node->n_pieces = node->what->n_pieces;
    node->bytes_max = options->bytes_max;
    node->length = node->plan->order.length[0];
    if (!node->what->shards) {
        LEAT_TRY(size_window(node, options->batch, err));
        node->used_max = node->bytes_max;
        return make_parts(node, options, next, err);
    }
    node->n_shards = leat__shards_count(node->what->shards);
    size_shards(node, options->n_readers);
    next->leaf++;
    if (!node->in_order) next->cycled += (int)node->cycle;
    LEAT_TRY(size_window(node, options->batch, err));
    return make_shards(node, err);
}

int leat__node_new(leat__node **out, leat__plan *plan, const leat__node_options *options,
                   leat__node_numbers *next, leat_error *err) {
    leat__node *node = *out = leat__alloc(LEAT_MEM_WINDOW, sizeof *node);
    if (!node) return leat__fail_memory(err, sizeof *node, "a stream");
    node->stream = options->stream;
    node->plan = plan;
    node->what = plan->stream;
    const int rc = fill(node, options, next, err);
    if (rc < 0) leat__node_free(out);
    return rc;
}

void leat__node_free(leat__node **handle) {
    leat__node *node = *handle;
    if (!node) return;
    for (leat__stream_block *b = node->all, *next; b; b = next) {
        next = b->all;
        leat__block_free(&b->content);
        leat__free(b);
    }
    for (int i = 0; i < node->n_open; i++) {
        leat__shard_reader_free(&node->shard[i].reader);
        leat__tools_delete(&node->shard[i].tools);
    }
    for (int k = 0; k < node->n_parts; k++) leat__node_free(&node->part[k].node);
    leat__records_free(&node->held);
    leat__free(node->part);
    leat__free(node->begin);
    leat__free(node->kept);
    leat__free(node->window);
    leat__free(node);
    *handle = NULL;
}

/* ------------------------------------------------------------------------------------------- lengths */

bool leat__node_length_known(const leat__node *node) {
    return node->length != LEAT_ENDLESS;
}

void leat__node_sync(leat__node *node) {
    if (node->plan->order.length[0] == node->length) return;
    node->plan->source->n_samples = node->length;
    leat__order_set_source(&node->plan->order, node->length);
}

bool leat__node_counting(const leat__node *node) {
    return node->to_see > node->seen && !leat__node_length_known(node);
}

void leat__node_reset(leat__node *node, uint64_t epoch, uint64_t position, const leat__mark *from) {
    const leat__mark_node *mark = &from->node[node->entry];
    node->from = *from;
    node->at_run = node->to_see = 0;
    node->floor = mark->first;
    node->iteration = mark->iteration;
    node->began = mark->set;
    node->anew = false;
    node->broken = (leat_error){0};
    node->seen = 0; /* it may have been counted from a mark that lies */
    if (node->told) node->length = LEAT_ENDLESS;
    node->told = leat__node_length_known(node) ? 0 : mark->records;
    if (node->told) node->length = node->told;
    leat__node_sync(node);
    /* The batch before the position needed so many records to be read first: they were. */
    if (mark->set && position > 0)
        node->seen = LEAT_MAX(node->seen, leat__order_span(&node->plan->order, epoch, position - 1).seen);
    if (node->n_parts) leat__combined_begin(node, from);
    else leat__shard_order_begin(node, 0, from);
}

void leat__node_end_run(leat__node *node) {
    const leat__source *source = node->plan->source;
    const bool is_part = node != node->stream->root;
    /* What was counted from a mark is doubtful, since a state may lie: a run from the first record confirms it. */
    const bool certain = node->run > 0 || node->from.node[node->entry].first == 0;
    node->run_ended = true;
    if (node->next_record == 0 && node->n_parts && is_part) {
        node->length = 0; /* a part may be empty if another part is not */
        return;
    }
    if (node->next_record == 0 && node->origin > 0)
        leat__fail(&node->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and filter keeps none of %" PRIu64 " records", source->title,
                   node->origin);
    else if (node->next_record == 0 && (node->n_parts || node->what->n_before))
        leat__fail(&node->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and take, skip and shard leave none of them", source->title);
    else if (node->next_record == 0)
        leat__fail(&node->broken, LEAT_ERR_NOT_FOUND, "%s holds no record", source->title);
    else if (!leat__node_length_known(node)) {
        node->length = node->next_record;
        if (!certain) node->told = node->length;
    } else if (node->told && node->told != node->next_record)
        leat__fail(&node->broken, LEAT_ERR_STATE,
                   "the state is damaged: it says that %s has %" PRIu64 " records, and it has %" PRIu64,
                   source->title, node->told, node->next_record);
    else if (node->length != node->next_record)
        leat__fail(&node->broken, LEAT_ERR_IO,
                   "%s: it had %" PRIu64 " records before and has %" PRIu64
                   " now: files changed while they were read",
                   source->title, node->length, node->next_record);
    else if (certain) node->told = 0;
}

/* -------------------------------------------------------------------------------------------- look */

/* The order has left the run that it was in. */
static void leave_run(leat__node *node) {
    node->at_run++;
    node->floor = 0;
    if (node->n_parts) leat__combined_next_run(node);
    else if (node->emit_run < node->at_run) leat__shard_order_jump(node, node->at_run);
}

static int look(leat__node *node, uint64_t epoch, uint64_t position, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&node->plan->order, epoch, position);
    const uint64_t first = node->from.node[node->entry].first;
    const bool leaves = node->began && (node->anew || span.iteration != node->iteration);
    node->anew = false;
    node->began = true;
    node->iteration = span.iteration;
    if (leaves) leave_run(node);
    node->floor = LEAT_MAX(node->floor, span.floor);
    node->to_see = span.seen;
    if (node->at_run == 0 && span.floor < first)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it goes on with record %" PRIu64
                          " of a stream, and from a shard that begins with %" PRIu64,
                          span.floor, first);
    leat__window_free_tail(node);
    if (node->n_parts) leat__combined_emit(node, span.ceil);
    else leat__shard_order_emit(node);
    if (node->broken.code) {
        *err = node->broken;
        return err->code;
    }
    if (leat__node_counting(node)) return 0;
    if (node->run > node->at_run ||
        (node->run == node->at_run && (node->run_ended || node->next_record >= span.ceil)))
        return 1;
    if (node->n_parts) return node->waits_full ? LEAT_NODE_FULL : 0;
    return leat__window_full(node) ? LEAT_NODE_FULL : 0;
}

int leat__node_look(leat__node *node, uint64_t epoch, uint64_t position, leat_error *err) {
    leat__node_sync(node);
    const uint64_t length = node->length;
    /* A reader thread may just have found the end of the stream. */
    if (position >= leat__order_length(&node->plan->order)) return 1;
    const int rc = look(node, epoch, position, err);
    if (rc < 0 || node->length == length) return rc;
    /* The length of the stream has become known: the position may map to another sample, or lie behind the end. */
    leat__node_sync(node);
    return position < leat__order_length(&node->plan->order) ? look(node, epoch, position, err) : 1;
}

void leat__node_await(leat__node *node, uint64_t epoch, uint64_t position) {
    if (node->n_parts) return; /* what the parts wait for is known already */
    const leat__span_of_order span = leat__order_span(&node->plan->order, epoch, position);
    node->awaited = span.iteration == node->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__node_awaited(const leat__node *node) {
    if (node->broken.code) return true;
    if (node->n_parts) {
        const leat__node *part = node->part[node->waits_for].node;
        return !part || leat__node_awaited(part);
    }
    if (leat__node_counting(node)) return false;
    return node->run > node->at_run ||
           (node->run == node->at_run && (node->run_ended || node->next_record >= node->awaited)) ||
           leat__window_full(node);
}

/* -------------------------------------------------------------------------------------------- keep */

/* Which entry of the window has the sample of a place; false if none. */
static bool find(const leat__node *node, leat__place place, uint64_t *entry) {
    /* What comes before at_run and its floor has left the window, and numbers of a run follow one another. */
    const leat__window_entry *tail = &node->window[node->tail % node->window_max];
    const uint64_t n = node->head - node->tail, ahead = n ? place.sample - tail->number : 0;
    const leat__window_entry *found = &node->window[(node->tail + ahead) % node->window_max];
    *entry = node->tail + ahead;
    return ahead < n && found->run == node->at_run && found->number == place.sample;
}

int leat__node_keep(leat__node *node, leat__place place, leat__records *out, int i, leat_error *err) {
    uint64_t entry;
    if (!find(node, place, &entry))
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it leads to record %" PRIu64
                          " of a stream, which is not where it says",
                          place.sample);
    if (node->n_parts) {
        leat__records_copy(out, i, node->held, (int)(entry % node->window_max));
        return 0;
    }
    const leat__window_entry *found = &node->window[entry % node->window_max];
    const leat__block *content = &found->block->content;
    const leat__block_record *record = leat__block_at(content, found->index);
    leat__records_add(out, i,
                      &(leat__record){.piece = {.leaf = node->leaf,
                                                .number = record->record,
                                                .shard = record->shard,
                                                .data = content->bytes.data + record->offset,
                                                .bytes = record->size},
                                      .origin = record->origin,
                                      .bad = leat__block_error(content, found->index),
                                      .block = found->block});
    return 0;
}

/* ------------------------------------------------------------------------------------------ where */

void leat__node_mark(const leat__node *node, uint64_t epoch, uint64_t position, leat__mark *mark) {
    const leat__order *order = &node->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    leat__mark_node *own = &mark->node[node->entry];
    if (node->n_parts) leat__combined_mark(node, span.floor, mark);
    else leat__shard_order_mark(node, span.floor, mark);
    own->iteration = span.iteration;
    /* A part may be left before its end, so that later epochs do not show how long it is. */
    const bool is_root = node == node->stream->root;
    const bool needed = leat__order_needs_length(order, is_root ? epoch : 0, position);
    own->records = needed ? order->length[0] : 0;
}

void leat__node_stats(const leat__node *node, leat_stats *stats) {
    stats->bytes_read += node->bytes_read;
    stats->shards += node->n_open;
    stats->stage_s[LEAT_STAGE_CALL] += (double)node->call_ns * 1e-9;
    for (int k = 0; k < node->n_parts; k++)
        if (node->part[k].node) leat__node_stats(node->part[k].node, stats);
}

void leat__node_describe(const leat__node *node, uint64_t number, char *text, size_t cap) {
    uint64_t low = 0, high = node->n_shards;
    while (node->in_order && low < high && node->begin[low].origin > number) low++; /* what was never read */
    if (low == high || !node->in_order) {
        node->plan->source->class->describe(node->plan->source, number, text, cap);
        return;
    }
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (node->begin[mid].origin <= number) low = mid;
        else high = mid;
    }
    leat__shards_describe(node->what->shards, (size_t)low, number - node->begin[low].origin, text, cap);
}
