/* SPDX-License-Identifier: Apache-2.0 */
/* A keyed permutation of [0, n): the whole of shuffling.
 *
 * Up to 65,536 elements it is a table made by Fisher and Yates's method, every order equally likely (as far as the
 * key has bits). Above, it is a cipher: a Feistel network on a rectangle that is hardly larger than n, walked until the
 * result is below n, so that a shuffle of any size costs no memory and any position is computed directly. */
#ifndef LEAT_ORDER_PERMUTE_H
#define LEAT_ORDER_PERMUTE_H

#include "base/rng.h"

#define LEAT_PERMUTE_TABLE_MAX 65536u

/* Fills table with a permutation of [0, n), n <= LEAT_PERMUTE_TABLE_MAX. */
void leat__permute_table(uint16_t *table, uint32_t n, leat__rng rng);
/* Where the cipher takes position; n > 0 of any size, position < n. */
uint64_t leat__permute_cipher(uint64_t position, uint64_t n, uint64_t key);

#endif
