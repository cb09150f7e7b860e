/* SPDX-License-Identifier: Apache-2.0 */
/* A shuffle for storage that is fast only when it is read in order. Consecutive samples form blocks of about `want` bytes.
 * The blocks come in a drawn order, `group` blocks form a group, and the samples of a group are shuffled among themselves:
 *
 *     on disk      [ a a a ][ b b ][ c c c ][ d d d ][ e e ][ f f f ]
 *     an epoch     [ c e c e c ][ f a f a a f ][ b d b d d ]            groups of two blocks
 *
 * So a group is read as a few long runs, each from its beginning to its end. Every sample comes once, any position is
 * computed directly, and the only table kept for an epoch is the order of blocks. */
#ifndef LEAT_ORDER_BLOCK_H
#define LEAT_ORDER_BLOCK_H

#include "base/mem.h"
#include "base/rng.h"

typedef struct leat__blocks_order { /* of one iteration */
    bool made;
    uint64_t iteration;
    uint32_t *block; /* (n) numbers of blocks as they come           */
    uint64_t *first; /* (n + 1) positions at which they begin         */
} leat__blocks_order;

typedef struct leat__blocks {
    uint64_t want;    /* bytes of a block; samples of a block if their sizes are not known  */
    uint64_t group;   /* blocks in a group                                                  */
    uint64_t n;       /* blocks; 0 = not cut yet                                            */
    uint64_t *border; /* (n + 1) samples at which they begin                                */
    uint64_t largest; /* samples of the largest                                             */
    leat__blocks_order order[2];
} leat__blocks;

typedef struct leat__blocks_group { /* where a position lies */
    const leat__blocks_order *order;
    uint64_t number;   /* of the group                  */
    uint64_t first, n; /* its positions                 */
    uint64_t block;    /* the first of its blocks, by place in the iteration */
} leat__blocks_group;

int leat__blocks_new(leat__blocks **out, uint64_t want, uint64_t group, leat_error *err);
void leat__blocks_free(leat__blocks **blocks);
/* Cuts n samples into blocks; bytes(user, i) tells how large sample i is; NULL: a block is `want` samples. */
int leat__blocks_cut(leat__blocks *blocks, uint64_t n, uint64_t (*bytes)(void *user, uint64_t i), void *user,
                     leat_error *err);
/* Forgets the blocks, because the source has other samples now. */
void leat__blocks_uncut(leat__blocks *blocks);
/* The group of a position. Not for two threads at once: it may make the order of an iteration. */
leat__blocks_group leat__blocks_find(leat__blocks *blocks, uint64_t seed, uint64_t iteration, uint32_t op,
                                     uint64_t position);
/* The sample at place `place` of the group's blocks, one after the other. */
uint64_t leat__blocks_sample(const leat__blocks *blocks, const leat__blocks_group *group, uint64_t place);

#endif
