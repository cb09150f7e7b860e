/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of VP8's arithmetic code: one yes or no after the other, each with a probability that both sides know. The reader has
 * no end: its caller puts LEAT_WEBP_PAD bytes behind the last one, and asks at least once a macroblock whether the reader went
 * too far. */
#ifndef LEAT_DECODE_WEBP_WEBP_BITS_H
#define LEAT_DECODE_WEBP_WEBP_BITS_H

#include "base/macros.h"

/* More than the bits of a macroblock, or of a frame's header, can take: 25 blocks of 16 values of 19 decisions of 7 bits. */
#define LEAT_WEBP_PAD 8192

typedef struct leat__webp_bits {
    uint64_t value;      /* what is left of the code, highest bit first                    */
    uint32_t range;      /* 128 to 255                                                     */
    uint32_t count;      /* bits of the value; those behind them are loaded again          */
    const uint8_t *next; /* what is loaded next                                            */
    const uint8_t *begin;
    size_t n;
} leat__webp_bits;

/* Whether an encoder can have made this beginning: with a first byte of 255 the code lies outside of the range, and the value would
 * grow past its 64 bits. */
static inline bool leat__webp_bits_can_be(const uint8_t *bytes, size_t n) {
    return n == 0 || bytes[0] < 255;
}

static inline leat__webp_bits leat__webp_bits_begin(const uint8_t *bytes, size_t n) {
    return (leat__webp_bits){.range = 255, .next = bytes, .begin = bytes, .n = n};
}

/* Whether a decision looked at bits behind the end. libwebp always has eight bits in sight. */
static inline bool leat__webp_bits_over(const leat__webp_bits *r) {
    return 8 * (size_t)(r->next - r->begin) - r->count + 8 > 8 * r->n;
}

#define LEAT_WEBP_INLINE static inline __attribute__((always_inline))

/* At least 56 bits afterwards, enough for six decisions: one takes up to seven and must see eight. */
LEAT_WEBP_INLINE void leat__webp_refill(leat__webp_bits *r) {
    r->value |= leat__load_be64(r->next) >> (r->count & 63);
    r->next += (63 - r->count) >> 3;
    r->count |= 56;
}

/* How much of the range means no, in the highest byte. From one range to the next there is a product and what follows here, so each
 * step that does not need the one before it is kept beside it; the compiler would put the subtraction in front of the product. */
LEAT_WEBP_INLINE uint32_t leat__webp_split(const leat__webp_bits *r, uint32_t p) {
    const uint32_t large = p << 16;
    uint32_t rest = (1u << 24) - large;
    __asm__("" : "+r"(rest));
    return r->range * large + rest;
}

LEAT_WEBP_INLINE void leat__webp_narrow(leat__webp_bits *r, uint32_t part, uint32_t shift) {
    r->value <<= shift;
    r->range = part << shift;
    r->count -= shift;
}

/* True with a probability of 1 - p / 256. */
LEAT_WEBP_INLINE bool leat__webp_get(leat__webp_bits *r, uint32_t p) {
    const uint32_t at = leat__webp_split(r, p), split = at >> 24;
    if (((uint32_t)(r->value >> 32) | 0xffffff) >= at) {
        const uint32_t high = (r->range << 24) - (at & 0xff000000);
        r->value -= (uint64_t)split << 56;
        leat__webp_narrow(r, r->range - split, (uint32_t)__builtin_clz(high));
        return true;
    }
    leat__webp_narrow(r, split, (uint32_t)__builtin_clz(at));
    return false;
}

/* The same without a branch, for decisions that a processor guesses wrong as often as right. */
LEAT_WEBP_INLINE uint32_t leat__webp_bit(leat__webp_bits *r, uint32_t p) {
    const uint32_t split = leat__webp_split(r, p) >> 24;
    const uint64_t least = (uint64_t)split << 56;
    const uint32_t bit = r->value >= least;
    const uint32_t part = split + ((r->range - 2 * split) & -bit);
    r->value -= least & -(uint64_t)bit;
    leat__webp_narrow(r, part, (uint32_t)__builtin_clz(part) - 24);
    return bit;
}

/* The same of a probability of a half, but not as the first one of all: the range is less than 255. */
LEAT_WEBP_INLINE uint32_t leat__webp_half(leat__webp_bits *r) {
    const uint64_t least = (uint64_t)((r->range + 1) >> 1) << 56;
    const uint32_t bit = r->value >= least;
    r->value = (r->value - (least & -(uint64_t)bit)) << 1;
    r->range = (r->range + 1 - bit) & ~1u;
    r->count--;
    return bit;
}

/* With a refill: for what is not in a hurry. */
static inline bool leat__webp_flag(leat__webp_bits *r, uint32_t p) {
    leat__webp_refill(r);
    return leat__webp_get(r, p);
}

/* A number of n bits, each as likely 0 as 1. */
static inline int leat__webp_number(leat__webp_bits *r, int n) {
    int v = 0;
    while (n-- > 0) v = 2 * v + leat__webp_flag(r, 128);
    return v;
}

#endif
