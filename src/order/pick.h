/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing among samples as arithmetic on positions: classes that come in given proportions, and totals cut into shares.
 *
 * A balance knows the members of every class and cuts the epoch into blocks. In each block a class has a fixed number of
 * places; which places these are is drawn for each block. A class goes through its members in a drawn order of its own,
 * again and again. Any position is computed directly, as everywhere in this room. */
#ifndef LEAT_ORDER_PICK_H
#define LEAT_ORDER_PICK_H

#include "base/mem.h"
#include "base/rng.h"

typedef struct leat__balance {
    uint32_t n_classes;
    uint64_t *begin;  /* (n_classes + 1) of each class in member                        */
    uint32_t *member; /* positions, class by class                                      */
    uint64_t *place;  /* (n_classes + 1) of each class in a block; the last is its size */
    bool drawn;       /* false: classes in turn, members as they stand                  */
} leat__balance;

/* class[i] < n_classes is the class of position i, or LEAT_NO_CLASS: in none. Every class has a member. quota: places of
 * each class in a block, not all 0; one of 0 never comes. */
#define LEAT_NO_CLASS UINT32_MAX
int leat__balance_new(leat__balance **out, const uint32_t *class, uint64_t n, uint32_t n_classes,
                      const uint64_t *quota, bool drawn, leat_error *err);
void leat__balance_free(leat__balance **balance);
/* The member that has place `place` of block number `block`. */
uint64_t leat__balance_member(const leat__balance *balance, uint64_t seed, uint64_t iteration, uint32_t op,
                              uint64_t block, uint64_t place);
static inline uint64_t leat__balance_block(const leat__balance *balance) {
    return balance->place[balance->n_classes];
}

/* Cuts total into n parts in proportion to share, which sum up to 1 or less, by largest remainders: every part is its
 * share rounded down or up, and their sum is total times the sum of shares, rounded. */
void leat__shares(const double *share, int n, uint64_t total, uint64_t *out);
/* Places of classes in a small block in which weights come out exactly, or else nearly: 0, or LEAT_ERR_LIMIT if a class
 * with a weight would get no place. Weights are finite, not below 0, and not all 0. */
int leat__balance_quotas(const double *weight, uint32_t n_classes, uint64_t *quota, leat_error *err);

/* The order that numpy.random.RandomState(seed).shuffle gives a list of n items: that of Keras's splits. */
void leat__numpy_shuffle(uint32_t *items, uint32_t n, uint32_t seed);

#endif
