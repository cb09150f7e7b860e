/* SPDX-License-Identifier: Apache-2.0 */
/* Combined data sets: one after the other, mixed, or side by side. A part is a node with the order of its text, or an indexed
 * source. Samples of the parts are emitted into the window of the combination one by one. The end of a part is noticed when
 * its next sample is needed. All that follows (shuffle, take, ranks, states) sees one stream.
 *
 * Which part comes next is the same arithmetic as where lengths are known (order/blend.c): a part counts as endless until
 * it has ended. */
#include "stream/node.h"

typedef leat__node_part part;

/* -------------------------------------------------------------------------------------------- runs */

static void reset_part(const leat__node *node, const part *p, const leat__mark *mark) {
    const leat__mark beginning = {0};
    const bool goes_on = !p->ended && mark->node[p->entry].set;
    leat__node_reset(p->node, mark->node[node->entry].iteration, goes_on ? p->emitted : 0,
                     goes_on ? mark : &beginning);
}

void leat__combined_begin(leat__node *node, const leat__mark *mark) {
    const leat__mark_node *own = &mark->node[node->entry];
    leat__window_empty(node);
    node->kept_tail = node->kept_head = 0;
    node->run = node->at_run;
    node->run_ended = false;
    node->next_record = own->first;
    node->origin = own->origin;
    node->waits_full = false;
    for (int k = 0; k < node->n_parts; k++) {
        part *p = &node->part[k];
        const leat__mark_node *its = &mark->node[p->entry];
        p->emitted = its->position;
        p->ended = its->ended;
        if (p->node) reset_part(node, p, mark);
        if (node->what->blend)
            leat__blend_set_length(node->what->blend, k,
                                   p->ended ? p->emitted : leat__order_length(p->order));
    }
    leat__stream_wake_readers(node->stream);
}

void leat__combined_next_run(leat__node *node) {
    node->run = node->at_run;
    node->run_ended = false;
    node->next_record = node->origin = 0;
    for (int k = 0; k < node->n_parts; k++) {
        part *p = &node->part[k];
        p->emitted = 0;
        p->ended = false;
        if (p->node) p->node->anew = p->node->began; /* the rest of its run is skipped */
    }
}

/* -------------------------------------------------------------------------------------------- marks */

static void keep_mark(leat__node *node) {
    leat__mark *mark = leat__marks_add(node);
    leat__blend *blend = node->what->blend;
    for (int k = 0; k < node->n_parts; k++) {
        const part *p = &node->part[k];
        leat__mark_node *its = &mark->node[p->entry];
        /* The blend may know from an earlier run where the part ends, without asking the part. */
        const bool ended = blend ? !leat__blend_lives(blend, node->iteration, node->origin, k) : p->ended;
        const bool goes_on = p->node && !ended && p->emitted > 0;
        if (goes_on) leat__node_mark(p->node, node->iteration, p->emitted - 1, mark);
        else *its = (leat__mark_node){0};
        its->position = p->emitted;
        its->ended = ended;
    }
}

void leat__combined_mark(const leat__node *node, uint64_t floor, leat__mark *mark) {
    const leat__mark *found = leat__marks_find(node, floor);
    const size_t n = (size_t)leat__stream_plan_nodes(node->plan);
    leat__mark_node *own = mark->node + node->entry;
    if (!found && node->at_run == 0) found = &node->from;
    if (found) {
        memcpy(own, found->node + node->entry, n * sizeof *own);
        memcpy(mark->shard + node->cycled, found->shard + node->cycled,
               (size_t)leat__stream_plan_cycles(node->plan) * sizeof *mark->shard);
    } else {
        memset(own, 0, n * sizeof *own);
    }
    own->set = true;
}

/* ---------------------------------------------------------------------------------------------- emit */

static void fail_lengths(leat__node *node, int ended, int goes_on) {
    const leat__plan *text = node->what->part;
    leat__fail(&node->broken, LEAT_ERR_SHAPE,
               "zip: part %d (%.120s) ends after %" PRIu64
               " samples, and part %d (%.120s) goes on: what belongs together must be equally long; "
               "stop=shortest leaves out the rest",
               ended + 1, text[ended].source->title, node->part[ended].emitted, goes_on + 1,
               text[goes_on].source->title);
}

/* Whether the next sample of part k is there, or the part has ended. wanted: samples of the whole that a batch waits for. */
static bool look_at(leat__node *node, int k, uint64_t wanted) {
    part *p = &node->part[k];
    if (p->ended) return true; /* a restored state may say so before the part has ended */
    if (p->node) leat__node_sync(p->node);
    if (p->node && p->emitted < leat__order_length(p->order)) {
        const int rc = leat__node_look(p->node, node->iteration, p->emitted, &node->broken);
        if (rc == 0 || rc == LEAT_NODE_FULL) {
            node->waits_for = k;
            node->waits_full = rc == LEAT_NODE_FULL;
            leat__node_await(p->node, node->iteration, p->emitted + wanted / (uint64_t)node->n_parts);
        }
        if (rc != 1) return false;
    }
    p->ended = p->emitted >= leat__order_length(p->order);
    return true;
}

/* Which part the next sample comes from: *k; n_parts: the run has ended. False: it is not known yet. */
static bool choose(leat__node *node, int *k, uint64_t wanted) {
    leat__blend *blend = node->what->blend;
    for (*k = 0; !blend && *k < node->n_parts; ++*k) { /* one after the other */
        if (!node->part[*k].ended && !look_at(node, *k, wanted)) return false;
        if (!node->part[*k].ended) return true;
    }
    while (blend) {
        if (node->origin >= leat__blend_length(blend)) {
            *k = node->n_parts;
            return true;
        }
        const uint64_t number = leat__blend_map(blend, node->iteration, node->origin, k);
        part *p = &node->part[*k];
        if (number != p->emitted) {
            leat__fail(&node->broken, LEAT_ERR_STATE,
                       "the state is damaged: what it says of part %d of %s cannot be", *k + 1,
                       node->plan->source->class->name);
            return false;
        }
        if (!look_at(node, *k, wanted)) return false;
        if (!p->ended) return true;
        leat__blend_set_length(blend, *k, p->emitted);
    }
    return true;
}

/* Side by side: whether all have a sample; *k = n_parts: the run has ended. */
static bool choose_all(leat__node *node, int *k, uint64_t wanted) {
    int ended = -1, goes_on = -1;
    *k = 0;
    for (int i = 0; i < node->n_parts; i++) {
        if (!look_at(node, i, wanted)) return false;
        if (node->part[i].ended) ended = i;
        else goes_on = i;
    }
    if (ended < 0) return true;
    *k = node->n_parts;
    if (goes_on < 0 || !node->what->equal) return true;
    fail_lengths(node, ended, goes_on);
    return false;
}

/* The next sample of part k becomes a piece, or several, of sample i. */
static int take(leat__node *node, int k, int i) {
    part *p = &node->part[k];
    const leat__place place = leat__order_map(p->order, node->iteration, p->emitted++);
    if (p->node) return leat__node_keep(p->node, place, node->held, i, &node->broken);
    leat__records_add(node->held, i,
                      &(leat__record){.piece = {.leaf = p->leaf, .numbered = true, .number = place.sample}});
    return 0;
}

/* Emits one sample, or ends the run; false if that has to wait. */
static bool emit_one(leat__node *node, uint64_t wanted) {
    const int i = (int)(node->head % node->window_max);
    const bool zip = node->what->kind == LEAT_BRANCH_ZIP;
    int k, rc = 0;
    if (!(zip ? choose_all(node, &k, wanted) : choose(node, &k, wanted))) return false;
    if (k == node->n_parts) {
        leat__node_end_run(node);
        return true;
    }
    for (int n = zip ? 0 : k; n < (zip ? node->n_parts : k + 1) && rc == 0; n++) rc = take(node, n, i);
    leat__records_set_number(node->held, i, node->origin);
    /* Samples that are only counted, or that lie below the floor of the order, are not kept. */
    const bool counts = leat__node_counting(node),
               stays = rc == 0 && !counts && node->next_record >= node->floor;
    if (stays) leat__window_add_held(node);
    else leat__records_drop(node->held, i);
    if (rc < 0) return false;
    node->origin++;
    node->next_record++;
    node->seen = LEAT_MAX(node->seen, node->next_record);
    if (!leat__node_counting(node) && leat__marks_due(node->next_record)) keep_mark(node);
    return true;
}

void leat__combined_emit(leat__node *node, uint64_t until) {
    while (!node->broken.code && !node->run_ended) {
        const bool counts = leat__node_counting(node);
        if (!counts && node->next_record >= until) return;
        node->waits_full = false;
        if (!emit_one(node, counts ? 1 : until - node->next_record)) return;
        if (!counts || leat__node_counting(node)) continue;
        /* Counting is done: begin the run again, to emit its samples. */
        const leat__mark beginning = {0};
        leat__combined_begin(node, node->at_run == 0 ? &node->from : &beginning);
    }
}

/* -------------------------------------------------------------------------------------------- reading */

leat__node *leat__combined_hungry(const leat__node *node) {
    for (int i = 0; i < node->n_parts; i++) { /* the part that the node waits for, or the next after it */
        const part *p = &node->part[(node->waits_for + i) % node->n_parts];
        if (p->node && leat__node_hungry(p->node)) return p->node;
    }
    return NULL;
}
