/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers are a function of what they are drawn for: seed, epoch, position, operation and number of the draw. So no
 * state is kept, and the result does not depend on which thread draws, or when.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * 2011): a keyed bijection of a 128-bit counter. Key: seed and epoch. Counter: position, operation, draw. */
#ifndef LEAT_BASE_RNG_H
#define LEAT_BASE_RNG_H

#include "base/macros.h"

typedef struct leat__rng { /* the draws of one operation for one sample */
    uint64_t key;          /* of seed and epoch, stirred by the seed of the operation if it has one */
    uint64_t position;     /* of the sample in its epoch                */
    uint32_t op;           /* number of the operation in the text; 0 if it has a seed               */
    uint32_t draw;         /* number of the next draw                   */
} leat__rng;

/* A bijection of 64 bits that spreads every input bit over all output bits. */
static inline uint64_t leat__mix64(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static inline uint64_t leat__rng_key(uint64_t seed, uint64_t epoch) {
    return leat__mix64(leat__mix64(seed + UINT64_C(0x9e3779b97f4a7c15)) ^
                       (epoch * UINT64_C(0xa0761d6478bd642f) + 1));
}

static inline leat__rng leat__rng_at(uint64_t seed, uint64_t epoch, uint64_t position, uint32_t op) {
    return (leat__rng){.key = leat__rng_key(seed, epoch), .position = position, .op = op};
}

static inline void leat__philox(uint32_t c[4], uint64_t key) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t c1 = c[1], c3 = c[3];
        c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static inline uint64_t leat__rng_u64(leat__rng *rng) {
    uint32_t c[4] = {(uint32_t)rng->position, (uint32_t)(rng->position >> 32), rng->op, rng->draw++};
    leat__philox(c, rng->key);
    return c[0] | (uint64_t)c[1] << 32;
}

/* In [0, 1), 53 bits. */
static inline double leat__rng_unit(leat__rng *rng) {
    return (double)(leat__rng_u64(rng) >> 11) * 0x1p-53;
}

/* In [0, n), every value equally likely: the few draws that would favour some values are drawn again. */
static inline uint64_t leat__rng_below(leat__rng *rng, uint64_t n) {
    assert(n > 0);
    const uint64_t unfair = (0 - n) % n;
    for (;;) {
        const __uint128_t product = (__uint128_t)leat__rng_u64(rng) * n;
        if ((uint64_t)product >= unfair) return (uint64_t)(product >> 64);
    }
}

#endif
