/* SPDX-License-Identifier: Apache-2.0 */
#include "order/permute.h"

void leat__permute_table(uint16_t *table, uint32_t n, leat__rng rng) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)leat__rng_below(&rng, i + 1);
        table[i] = table[j];
        table[j] = (uint16_t)i;
    }
}

enum { ROUNDS = 3 };

uint64_t leat__permute_cipher(uint64_t position, uint64_t n, uint64_t key) {
    if (n <= 1) return 0;
    /* A rectangle that is hardly larger than n: rows of a power of two, so many rows as are needed. */
    const int bits = LEAT_MAX(64 - __builtin_clzll(n - 1), 2), low_bits = bits / 2;
    const uint64_t mask = (UINT64_C(1) << low_bits) - 1, rows = ((n - 1) >> low_bits) + 1;
    /* Each half-round adds to the row what the column says, or to the column what the row says, so that it can be undone and
     * the whole is a bijection. Few numbers lie outside of [0, n); the walk ends because it follows the cycle that
     * position itself lies on. */
    do {
        uint64_t low = position & mask, high = position >> low_bits, k = key;
        for (int round = 0; round < ROUNDS; round++) {
            high += (uint64_t)((__uint128_t)leat__mix64(low + k) * rows >> 64);
            if (high >= rows) high -= rows;
            k = k * UINT64_C(0x9fb21c651e98df25) + 1;
            low ^= leat__mix64(high + k) & mask;
            k = k * UINT64_C(0x9fb21c651e98df25) + 1;
        }
        position = high << low_bits | low;
    } while (position >= n);
    return position;
}
