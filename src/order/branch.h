/* SPDX-License-Identifier: Apache-2.0 */
/* Several orders as one: one after the other, side by side, or mixed. Each order is mapped by itself, in the iteration of
 * the whole. Its result becomes a part of one sample number, which the combined source (source/combine.c) takes apart
 * again. */
#ifndef LEAT_ORDER_BRANCH_H
#define LEAT_ORDER_BRANCH_H

#include "order/blend.h"
#include "order/order.h"

typedef enum leat__branch_kind {
    LEAT_BRANCH_CONCAT,
    LEAT_BRANCH_ZIP, /* number = sum of the numbers, each times its stride */
    LEAT_BRANCH_BLEND
} leat__branch_kind;

struct leat__branch {
    leat__branch_kind kind;
    int n;
    leat__order *order; /* (n) */
    uint64_t *end;      /* (n) concat: the position behind its last                                */
    uint64_t *first;    /* (n) number of the first sample of each in the whole; zip: its stride    */
    leat__blend *blend;
    uint64_t length; /* of an iteration */
};

/* Takes over the orders, which are empty afterwards, and the blend (NULL unless of that kind), also on failure. Lengths
 * are those of the orders; side by side, the shortest. */
int leat__branch_new(leat__branch **out, leat__branch_kind kind, int n, leat__order *const *orders,
                     const uint64_t *first, leat__blend *blend, leat_error *err);
void leat__branch_free(leat__branch **branch);
int leat__branch_allocate(leat__branch *branch, leat_error *err);
/* Whether every iteration gives the same. */
bool leat__branch_fixed(const leat__branch *branch);
uint64_t leat__branch_map(leat__branch *branch, uint64_t iteration, uint64_t position);

#endif
