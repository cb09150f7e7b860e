/* SPDX-License-Identifier: Apache-2.0 */
/* Combined streams: one after the other, mixed, or side by side. Each part is a feed of its own, with the order that its
 * text says, or has samples with numbers. Their samples are dealt into the window of the whole one by one, so that where a
 * part ends shows when its next sample is wanted, and everything behind (shuffle, take, ranks, states) sees one stream.
 *
 * Which part comes next is the same arithmetic as where lengths are known (order/blend.c): a part counts as endless until
 * it has ended. */
#include "plan/select.h"
#include "stream/lanes.h"

typedef leat__feed_part part;

/* -------------------------------------------------------------------------------------------- runs */

static void reset_part(const leat__feed *feed, const part *p, const leat__mark *mark) {
    const leat__mark beginning = {0};
    const bool goes_on = !p->ended && mark->node[p->node].set;
    /* Of sorted samples the mark is that of the sample itself. */
    leat__feed_reset(p->feed, mark->node[feed->node].iteration,
                     goes_on ? p->dealt + (feed->sorting != NULL) : 0, goes_on ? mark : &beginning);
}

void leat__join_begin(leat__feed *feed, const leat__mark *mark) {
    const leat__mark_node *node = &mark->node[feed->node];
    leat__window_empty(feed);
    feed->noted_tail = feed->noted_head = 0;
    feed->run = feed->at_run;
    feed->run_ended = false;
    feed->next_record = node->first;
    feed->origin = node->origin;
    feed->waits_full = false;
    if (feed->sorting) leat__sort_begin(feed, mark);
    for (int k = 0; k < feed->n_parts; k++) {
        part *p = &feed->part[k];
        const leat__mark_node *its = &mark->node[p->node];
        p->dealt = its->position;
        p->ended = its->ended;
        if (p->feed) reset_part(feed, p, mark);
        if (feed->plan->joining.blend)
            leat__blend_set_length(feed->plan->joining.blend, k,
                                   p->ended ? p->dealt : leat__order_length(p->order));
    }
    leat__feed_wake(feed);
}

void leat__join_next_run(leat__feed *feed) {
    feed->run = feed->at_run;
    feed->run_ended = false;
    feed->next_record = feed->origin = 0;
    if (feed->sorting) leat__sort_begin(feed, NULL);
    for (int k = 0; k < feed->n_parts; k++) {
        part *p = &feed->part[k];
        p->dealt = 0;
        p->ended = false;
        if (p->feed) p->feed->anew = p->feed->began; /* whatever is left of its run does not come */
    }
}

/* -------------------------------------------------------------------------------------------- marks */

static void note(leat__feed *feed) {
    leat__mark *mark = leat__marks_add(feed);
    leat__blend *blend = feed->plan->joining.blend;
    for (int k = 0; k < feed->n_parts; k++) {
        const part *p = &feed->part[k];
        leat__mark_node *node = &mark->node[p->node];
        /* A mixture may have known since an earlier run where the part would end, and not have asked it. */
        const bool ended = blend ? !leat__blend_lives(blend, feed->iteration, feed->origin, k) : p->ended;
        const bool goes_on = p->feed && !ended && p->dealt > 0;
        if (goes_on) leat__feed_write_mark(p->feed, feed->iteration, p->dealt - 1, mark);
        else *node = (leat__mark_node){0};
        node->position = p->dealt;
        node->ended = ended;
    }
}

void leat__join_mark(const leat__feed *feed, uint64_t floor, leat__mark *mark) {
    const leat__mark *found = leat__marks_find(feed, floor);
    const size_t n = (size_t)leat__plan_nodes(feed->plan);
    leat__mark_node *nodes = mark->node + feed->node;
    if (!found && feed->at_run == 0) found = &feed->from;
    if (found) {
        memcpy(nodes, found->node + feed->node, n * sizeof *nodes);
        memcpy(mark->open + feed->open, found->open + feed->open,
               (size_t)leat__plan_turns(feed->plan) * sizeof *mark->open);
        if (feed->sorting) memcpy(mark->skip, found->skip, sizeof mark->skip);
    } else {
        memset(nodes, 0, n * sizeof *nodes);
    }
    nodes->set = true;
}

/* ---------------------------------------------------------------------------------------------- deal */

static int fail_lengths(leat__feed *feed, int ended, int goes_on) {
    const leat__plan *plan = feed->plan;
    return leat__fail(&feed->broken, LEAT_ERR_SHAPE,
                      "zip: part %d (%.120s) ends after %" PRIu64
                      " samples, and part %d (%.120s) goes on: what belongs together must be equally long; "
                      "stop=shortest leaves out the rest",
                      ended + 1, plan->part[ended].source->title, feed->part[ended].dealt, goes_on + 1,
                      plan->part[goes_on].source->title);
}

int leat__join_look_at(leat__feed *feed, int k, uint64_t wanted) {
    part *p = &feed->part[k];
    if (p->ended) return 1; /* a state may know it before the part does */
    if (p->feed && p->dealt < leat__order_length(p->order)) {
        const int rc = leat__feed_look(p->feed, feed->iteration, p->dealt, &feed->broken);
        if (rc == 0 || rc == LEAT_FEED_FULL) {
            feed->waits_for = k;
            feed->waits_full = rc == LEAT_FEED_FULL;
            leat__feed_await(p->feed, feed->iteration, p->dealt + wanted / (uint64_t)feed->n_parts);
        }
        if (rc != 1) return 0;
    }
    p->ended = p->dealt >= leat__order_length(p->order);
    return 1;
}

/* Which part the next sample comes from: *k; n_parts: the run has ended. 0 = not known yet. */
static int choose(leat__feed *feed, int *k, uint64_t wanted) {
    leat__blend *blend = feed->plan->joining.blend;
    for (*k = 0; !blend && *k < feed->n_parts; ++*k) { /* one after the other */
        if (!feed->part[*k].ended && !leat__join_look_at(feed, *k, wanted)) return 0;
        if (!feed->part[*k].ended) return 1;
    }
    while (blend) {
        if (feed->origin >= leat__blend_length(blend)) {
            *k = feed->n_parts;
            return 1;
        }
        const uint64_t number = leat__blend_map(blend, feed->iteration, feed->origin, k);
        part *p = &feed->part[*k];
        if (number != p->dealt) {
            leat__fail(&feed->broken, LEAT_ERR_STATE,
                       "the state is damaged: what it says of part %d of %s cannot be", *k + 1,
                       feed->plan->source->class->name);
            return 0;
        }
        if (!leat__join_look_at(feed, *k, wanted)) return 0;
        if (!p->ended) return 1;
        leat__blend_set_length(blend, *k, p->dealt);
    }
    return 1;
}

/* Side by side: whether all have a sample; *k = n_parts: the run has ended. */
static int choose_all(leat__feed *feed, int *k, uint64_t wanted) {
    int ended = -1, goes_on = -1;
    *k = 0;
    for (int i = 0; i < feed->n_parts; i++) {
        if (!leat__join_look_at(feed, i, wanted)) return 0;
        if (feed->part[i].ended) ended = i;
        else goes_on = i;
    }
    if (ended < 0) return 1;
    *k = feed->n_parts;
    if (goes_on >= 0 && feed->plan->joining.equal) {
        fail_lengths(feed, ended, goes_on);
        return 0;
    }
    return 1;
}

/* The next sample of part k, in pieces; how many, or < 0. */
static int take(leat__feed *feed, int k, leat__record *out) {
    part *p = &feed->part[k];
    const leat__place place = leat__order_map(p->order, feed->iteration, p->dealt++);
    if (!p->feed) {
        *out = (leat__record){.there = true,
                              .piece = {.leaf = p->leaf, .numbered = true, .number = place.sample}};
        return 1;
    }
    LEAT_TRY(leat__feed_hold(p->feed, place, out, &feed->broken));
    int n = 0;
    while (n < p->feed->n_pieces && out[n].there) n++;
    return n;
}

static int take_pieces(leat__feed *feed, int k, leat__record *out) {
    const bool all = feed->plan->joining.kind == LEAT_BRANCH_ZIP;
    int n = 0;
    for (int i = 0; i < feed->n_pieces; i++) out[i] = (leat__record){0};
    for (int i = all ? 0 : k; i < (all ? feed->n_parts : k + 1); i++) {
        const int got = take(feed, i, out + n);
        if (got < 0) return got;
        n += got;
    }
    /* What is only wrapped keeps its numbers, which say what it is. */
    for (int i = 0; i < n && !feed->plan->part[0].borrows; i++) out[i].origin = feed->origin;
    return 0;
}

/* Whether the filters want it: 1, 0, < 0. */
static int keeps(leat__feed *feed, const leat__record *record) {
    leat__piece piece[LEAT_NODES_MAX];
    const leat_error *bad;
    if (!feed->tools) return 1;
    const int n = leat__record_pieces(record, feed->n_pieces, piece, &bad);
    if (bad) return 1;
    for (int i = 0; i < n; i++) piece[i].leaf -= feed->leaf; /* the plan counts its own */
    const leat__where at = {.piece = piece, .n_pieces = n, .sample = feed->origin};
    return leat__stream_keeps(feed->tools, &at, &feed->broken);
}

/* Deals one sample, or ends the run; false if that has to wait. */
static bool deal_one(leat__feed *feed, uint64_t wanted) {
    leat__record *out = leat__window_pieces(feed, feed->head);
    const bool zip = feed->plan->joining.kind == LEAT_BRANCH_ZIP;
    int k;
    if (!(zip ? choose_all(feed, &k, wanted) : choose(feed, &k, wanted))) return false;
    if (k == feed->n_parts) {
        leat__feed_end_run(feed);
        return true;
    }
    const int rc = take_pieces(feed, k, out);
    const int kept = rc < 0 ? rc : keeps(feed, out);
    /* Those that are only counted, or that the order has passed by already, are not kept. */
    const bool stays = kept > 0 && !leat__feed_counting(feed) && feed->next_record >= feed->floor;
    if (stays) leat__window_add_held(feed, 0, false);
    for (int i = 0; i < feed->n_pieces && !stays; i++) leat__record_drop(&out[i]);
    if (kept < 0) return false;
    feed->origin++;
    feed->next_record += kept > 0;
    feed->seen = LEAT_MAX(feed->seen, feed->next_record);
    if (kept > 0 && !leat__feed_counting(feed) && leat__marks_due(feed->next_record)) note(feed);
    return true;
}

void leat__join_deal(leat__feed *feed, uint64_t until) {
    while (!feed->broken.code && !feed->run_ended) {
        const bool counts = leat__feed_counting(feed);
        if (!counts && feed->next_record >= until) return;
        const uint64_t wanted = counts ? 1 : until - feed->next_record;
        feed->waits_full = false;
        if (!(feed->sorting ? leat__sort_deal_one(feed, wanted) : deal_one(feed, wanted))) return;
        if (!counts || leat__feed_counting(feed)) continue;
        /* That was it: now for the samples themselves. */
        const leat__mark beginning = {0};
        leat__join_begin(feed, feed->at_run == 0 ? &feed->from : &beginning);
    }
}

/* -------------------------------------------------------------------------------------------- reading */

/* The part that should be read now: the one that somebody waits for, or the next after it that can be. */
static const part *choose_part(const leat__feed *feed) {
    for (int i = 0; i < feed->n_parts; i++) {
        const part *p = &feed->part[(feed->waits_for + i) % feed->n_parts];
        if (p->feed && leat__feed_hungry(p->feed)) return p;
    }
    return NULL;
}

bool leat__join_hungry(const leat__feed *feed) {
    return choose_part(feed) != NULL;
}

void leat__join_read(leat__feed *feed, leat__mutex *mutex) {
    leat__feed_read(choose_part(feed)->feed, mutex);
}
