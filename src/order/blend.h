/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several data sets comes next: by weights or by a pattern.
 *
 * The sequence of choices is cut into blocks. In a block each data set has a fixed number of places, in drawn order or in
 * that of the pattern. So how often a data set was chosen before a block is a product, and any position is found by
 * looking at one block only.
 *
 * A data set that is chosen and has no more samples is left out, as in tf.data: from there on the other data sets share the
 * places. Between two such points lies a phase, so there are at most as many phases as data sets. With `stop` the sequence
 * ends where a data set that has no more samples would be chosen. */
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
    bool stop;               /* at the first data set that has no more                           */
    bool redraw;             /* in every iteration; not with stop: lengths would differ          */
    uint64_t seed;
    uint32_t op;
} leat__blend_options;

int leat__blend_new(leat__blend **out, const leat__blend_options *options, leat_error *err);
void leat__blend_free(leat__blend **blend);
/* Choices in one iteration, UINT64_MAX = without end. */
uint64_t leat__blend_length(const leat__blend *blend);
bool leat__blend_redraws(const leat__blend *blend);
/* Whether a data set is not yet left out at a position. As leat__blend_map, not for two threads at once. */
bool leat__blend_lives(leat__blend *blend, uint64_t iteration, uint64_t position, int which);
/* A data set that was taken for endless (UINT64_MAX) has turned out to have n samples. All of its samples that were mapped
 * have numbers below n. */
void leat__blend_set_length(leat__blend *blend, int which, uint64_t n);
/* The data set at a position, and the number of its sample: how often it was chosen before. Not for two threads at once: the
 * call may make a table. */
uint64_t leat__blend_map(leat__blend *blend, uint64_t iteration, uint64_t position, int *which);

#endif
