/* SPDX-License-Identifier: Apache-2.0 */
/* Which sample comes next. An order is a source of n samples and a chain of verbs, each of which is arithmetic on
 * positions; mapping a position runs the chain from its end to the source:
 *
 *     position in the epoch -> [repeat] -> [take] -> [shuffle] -> [shard] -> number of the sample
 *
 * No buffer of samples exists, so any position of any epoch is computed directly, and the position is the whole state.
 *
 * A stream is a source whose n is not known before it was read once. Until leat__order_set_source tells n, its order is
 * mapped as if the stream were endless. The caller maps a position only when the stream was read up to the ceil that
 * leat__order_span gives for it, so the assumption is never wrong for a mapped position. */
#ifndef LEAT_ORDER_ORDER_H
#define LEAT_ORDER_ORDER_H

#include "base/mem.h"
#include "order/block.h"
#include "order/bucket.h"
#include "order/interleave.h"
#include "order/permute.h"
#include "order/pick.h"

#define LEAT_ENDLESS UINT64_MAX
#define LEAT_ORDER_VERBS 32

typedef enum leat__order_kind {
    LEAT_ORDER_SHUFFLE,
    LEAT_ORDER_TAKE,
    LEAT_ORDER_SKIP,
    LEAT_ORDER_SHARD,
    LEAT_ORDER_REPEAT,
    LEAT_ORDER_PICK,       /* a table of positions                                  */
    LEAT_ORDER_BALANCE,    /* classes in fixed proportions, see pick.h              */
    LEAT_ORDER_INTERLEAVE, /* shards in turn, see interleave.h; the first verb      */
    LEAT_ORDER_BRANCH,     /* several orders as one, see branch.h; the first verb   */
    LEAT_ORDER_BUCKET      /* batches of samples that are alike, see bucket.h; the last verb */
} leat__order_kind;

typedef struct leat__branch leat__branch;

typedef struct leat__order_verb {
    leat__order_kind kind;
    uint64_t count;       /* take, skip, repeat (LEAT_ENDLESS = without end); shard: number of shards      */
    uint64_t index;       /* shard: which one                                                              */
    uint64_t window;      /* shuffle: 0 = all samples, else windows of so many consecutive ones            */
    uint64_t unit;        /* shuffle: so many consecutive samples stay together and count as one; 0 = 1    */
    uint64_t seed;        /* shuffle                                                                       */
    uint32_t op;          /* shuffle: number of the operation in the text                                  */
    bool reshuffle;       /* shuffle: another order in each iteration                                      */
    leat__blocks *blocks; /* shuffle: by blocks, see block.h; NULL = not; owned by the order           */
    uint32_t *pick;       /* pick: (count) positions before it; owned by the order                         */
    leat__balance *balance; /* balance: owned by the order; its length is count                          */
    leat__interleave *interleave; /* likewise                                                            */
    leat__branch *branch;         /* likewise; its length is count                                       */
    leat__bucket *bucket;         /* likewise                                                            */
} leat__order_verb;

typedef struct leat__order_table { /* a permutation that was used lately          */
    uint64_t iteration, window;
    uint64_t n;   /* 0 = empty                                 */
    uint64_t key; /* of the cipher, if n is too large for slot */
    size_t cap;   /* elements that slot has room for           */
    uint16_t *slot;
} leat__order_table;

typedef struct leat__order {
    int n_verbs;
    leat__order_verb verb[LEAT_ORDER_VERBS];
    uint64_t length[LEAT_ORDER_VERBS + 1]; /* length[i]: samples before verb i; LEAT_ENDLESS if so         */
    leat__order_table table[LEAT_ORDER_VERBS][2]; /* the one used last is the second             */
    /* How many bytes a sample of the source has, for blocks; NULL = not known. */
    uint64_t (*bytes)(const void *user, uint64_t sample);
    const void *bytes_user;
} leat__order;

typedef struct leat__place { /* where a position leads */
    uint64_t iteration;      /* how often the source was begun before, in the order of use */
    uint64_t sample;
} leat__place;

/* Adds a verb; LEAT_ERR_LIMIT when there are too many. */
int leat__order_add(leat__order *order, leat__order_verb verb, leat_error *err);
/* Adds it in front of verb number at; the order owns its tables whatever happens. */
int leat__order_insert(leat__order *order, int at, leat__order_verb verb, leat_error *err);
/* Whether what the verb gives is the same in every iteration, in the same order. */
bool leat__order_fixed(const leat__order_verb *verb);
/* Sets the number of samples of the source (LEAT_ENDLESS = not known yet) and all lengths that follow. */
void leat__order_set_source(leat__order *order, uint64_t n);
/* Allocates the tables of shuffles that have none yet, and the borders of blocks. After set_source with the largest n (or
 * windows) that will be mapped. */
int leat__order_allocate(leat__order *order, leat_error *err);
void leat__order_free(leat__order *order);
/* Samples in one epoch. */
uint64_t leat__order_length(const leat__order *order);
/* Whether the text makes the order endless, however many samples a stream turns out to have. */
bool leat__order_endless(const leat__order *order);
/* Maps a position < length of the given epoch. Not for two threads at once: it may make a table. */
leat__place leat__order_map(leat__order *order, uint64_t epoch, uint64_t position);
/* Maps a position of what the first n_verbs verbs give, in the first epoch. */
uint64_t leat__order_map_part(leat__order *order, int n_verbs, uint64_t position);
/* Of an order with a shuffle by blocks: which group a position lies in, and the runs of samples that the group is made of.
 * False if there is no such shuffle. */
typedef struct leat__order_group {
    uint64_t iteration, number; /* which it is                       */
    uint64_t n_runs;
    leat__blocks_group at;
    int verb;
} leat__order_group;
bool leat__order_group_of(leat__order *order, uint64_t epoch, uint64_t position, leat__order_group *out);
/* The first and the last sample of run i < n_runs; false if samples between them are missing. Before the next position is
 * mapped. */
bool leat__order_group_run(leat__order *order, const leat__order_group *group, uint64_t i, uint64_t *first,
                           uint64_t *last);
/* The batch that a position of an epoch belongs to, if the order has buckets: their verb is its last. */
leat__bucket *leat__order_bucket(const leat__order *order); /* NULL: none */
leat__bucket_batch leat__order_batch(leat__order *order, uint64_t epoch, uint64_t position);
/* For streams: [floor, ceil) is the part of the source that a position depends on. No later position of the same iteration
 * maps below floor. Mapping is right once the source was read up to ceil or to its end. If seen is not 0, so many samples of
 * the source, or its end, must also have been read before, in this iteration or an earlier one. */
typedef struct leat__span_of_order {
    uint64_t iteration, floor, ceil, seen;
} leat__span_of_order;
leat__span_of_order leat__order_span(const leat__order *order, uint64_t epoch, uint64_t position);
/* Whether the sample at a position depends on how many samples the source has, and not on the text alone. Then the position
 * can be mapped only after the stream was read to its end once. */
bool leat__order_needs_length(const leat__order *order, uint64_t epoch, uint64_t position);
/* How many samples of the source an iteration can need at the most, by the text alone; LEAT_ENDLESS if all. */
uint64_t leat__order_needs(const leat__order *order);
/* Samples from the lowest floor to the highest ceil of any n consecutive positions of one iteration, at the most. */
uint64_t leat__order_reach(const leat__order *order, uint64_t n);

#endif
