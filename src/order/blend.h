/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several data sets comes next: by weights or by a pattern.
 *
 * The sequence of choices is cut into blocks in which each of them has a fixed number of places, in drawn order or as
 * the pattern has them. So how often one of them was chosen before a block is a product, and only one block has to be
 * looked at for any position, however far.
 *
 * When one of them is chosen and has no more, it is passed over, as in tf.data: from there on the others share the
 * places alone. Such a stretch is a phase, and there are at most as many as data sets. Or else (stop) everything ends where
 * one that has no more would come. */
#ifndef LEAT_ORDER_BLEND_H
#define LEAT_ORDER_BLEND_H

#include "base/mem.h"

#define LEAT_BLEND_MAX 64          /* data sets                */
#define LEAT_BLEND_BLOCK_MAX 65536 /* places of a block        */

typedef struct leat__blend leat__blend;

typedef struct leat__blend_options {
    int n;
    const uint64_t *length; /* (n) samples of each, UINT64_MAX = without end                   */
    /* (n) places of each in a block, 0 = it never comes; their sum is 1 to LEAT_BLEND_BLOCK_MAX. */
    const uint64_t *quota;
    const uint16_t *pattern; /* (sum of quotas) which one has each place; NULL = places are drawn */
    bool stop;               /* at the first that has no more                                    */
    bool redraw;             /* in every iteration; not with stop: lengths would differ          */
    uint64_t seed;
    uint32_t op;
} leat__blend_options;

int leat__blend_new(leat__blend **out, const leat__blend_options *options, leat_error *err);
void leat__blend_free(leat__blend **blend);
/* Choices in one iteration, UINT64_MAX = without end. */
uint64_t leat__blend_length(const leat__blend *blend);
bool leat__blend_redraws(const leat__blend *blend);
/* Whether one was not passed over before a position. As leat__blend_map, not for two threads at once. */
bool leat__blend_lives(leat__blend *blend, uint64_t iteration, uint64_t position, int which);
/* One that was taken for endless (UINT64_MAX) has turned out to have n samples. What was mapped of it lies before them. */
void leat__blend_set_length(leat__blend *blend, int which, uint64_t n);
/* Which one has a position, and which sample of it: how often it was chosen before. Not for two threads at once: it may
 * make a table. */
uint64_t leat__blend_map(leat__blend *blend, uint64_t iteration, uint64_t position, int *which);

#endif
