/* SPDX-License-Identifier: Apache-2.0 */
#include "order/permute.h"

void leat__permute_table(uint16_t *table, uint32_t n, leat__rng rng) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)leat__rng_below(&rng, i + 1);
        table[i] = table[j];
        table[j] = (uint16_t)i;
    }
}

/* Six half-rounds; each mixes one half of the bits into the other, so each is its own inverse and the whole is a
 * bijection of [0, 2^bits). */
static uint64_t encipher(uint64_t x, int bits, uint64_t key) {
    const int low_bits = bits / 2;
    const uint64_t low_mask = (UINT64_C(1) << low_bits) - 1;
    const uint64_t high_mask = (UINT64_C(1) << (bits - low_bits)) - 1;
    uint64_t low = x & low_mask, high = x >> low_bits;
    for (int round = 0; round < 3; round++) {
        high ^= leat__mix64(low + key) & high_mask;
        key = key * UINT64_C(0x9fb21c651e98df25) + 1;
        low ^= leat__mix64(high + key) & low_mask;
        key = key * UINT64_C(0x9fb21c651e98df25) + 1;
    }
    return high << low_bits | low;
}

uint64_t leat__permute_cipher(uint64_t position, uint64_t n, uint64_t key) {
    if (n <= 1) return 0;
    int bits = 64 - __builtin_clzll(n - 1);
    if (bits < 2) bits = 2; /* both halves need a bit */
    /* Less than half of the numbers lie outside of [0, n): two steps on average at the most. The walk ends because
     * it follows the cycle that position itself lies on. */
    do position = encipher(position, bits, key);
    while (position >= n);
    return position;
}
