/* SPDX-License-Identifier: Apache-2.0 */
/* Records of several shards in turn, in the order of tf.data's interleave. `cycle` shards are open at a time, and each gives
 * up to `block` records when its turn comes. A shard that has no more records loses the rest of that turn; at the next turn
 * of its place the next shard is opened there.
 *
 * Between two points at which a shard begins or ends, all rounds are alike. So the whole order is a list of segments, made
 * once from the lengths of the shards. Any position is found directly: the segment, the round in it, the turn in the
 * round. */
#ifndef LEAT_ORDER_INTERLEAVE_H
#define LEAT_ORDER_INTERLEAVE_H

#include "base/mem.h"

#define LEAT_INTERLEAVE_CYCLE_MAX 65536
#define LEAT_INTERLEAVE_BLOCK_MAX 1000000000

typedef struct leat__interleave {
    uint64_t block;
    leat__buf segments, turns; /* of the structs in interleave.c */
} leat__interleave;

/* length: (n) records of each shard, in their order. cycle and block are at least 1. LEAT_ERR_LIMIT if shards of very
 * many different lengths are open at a time. */
int leat__interleave_new(leat__interleave **out, const uint64_t *length, size_t n, uint64_t cycle,
                         uint64_t block, leat_error *err);
void leat__interleave_free(leat__interleave **interleave);
/* The number that the record at a position has when shards come one after the other. */
uint64_t leat__interleave_map(const leat__interleave *interleave, uint64_t position);

#endif
