/* SPDX-License-Identifier: Apache-2.0 */
/* Most of a decoder's time is spent here: bits to the values of a macroblock's blocks. Plain C in a header, because it is compiled
 * twice: as it is, and for processors that count leading zeros and shift by any register. */
#ifndef LEAT_DECODE_WEBP_WEBP_TOKENS_H
#define LEAT_DECODE_WEBP_WEBP_TOKENS_H

#include "decode/webp/webp_dsp.h"

/* From the order of the file to the place in a group of four blocks. */
static const uint8_t places[16] = {0, 1, 16, 32, 17, 2, 3, 18, 33, 48, 49, 34, 19, 35, 50, 51};

/* Extra bits of the four largest kinds of values. */
static const uint8_t large_probs[4][12] = {{173, 148, 140},
                                           {176, 155, 140, 135},
                                           {180, 157, 141, 134, 130},
                                           {254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129}};

/* A value of 2 or more. */
LEAT_WEBP_INLINE uint32_t read_large(leat__webp_bits *r, const uint8_t *p) {
    leat__webp_refill(r);
    if (!leat__webp_get(r, p[3])) {
        if (!leat__webp_get(r, p[4])) return 2;
        return 3 + leat__webp_bit(r, p[5]);
    }
    if (!leat__webp_get(r, p[6])) {
        if (!leat__webp_get(r, p[7])) return 5 + leat__webp_bit(r, 159);
        const uint32_t high = leat__webp_bit(r, 165);
        return 7 + 2 * high + leat__webp_bit(r, 145);
    }
    const uint32_t high = leat__webp_bit(r, p[8]), kind = 2 * high + leat__webp_bit(r, p[9 + high]);
    uint32_t v = 0;
    for (const uint8_t *extra = large_probs[kind]; *extra; extra++) {
        leat__webp_refill(r);
        v = 2 * v + leat__webp_bit(r, *extra);
    }
    return v + 3 + (8u << kind);
}

/* One block, from a place on. Returns the place behind the last value, as libwebp counts it. */
LEAT_WEBP_INLINE int read_block(leat__webp_bits *bits, const uint8_t (*probs)[3][16], int known, int from,
                                const int16_t steps[2], int16_t *out, uint32_t *size) {
    leat__webp_bits r;
    r.value = bits->value, r.range = bits->range, r.count = bits->count, r.next = bits->next;
    uint32_t sizes = 0;
    int n = from;
    const uint8_t *p = probs[n][known];
    leat__webp_refill(&r);
    if (!leat__webp_get(&r, p[0])) goto end;
    for (;;) {
        while (!leat__webp_get(&r, p[1])) {
            if (++n == 16) goto end;
            p = probs[n][0];
            leat__webp_refill(&r);
        }
        uint32_t v = 1;
        const uint8_t *next = probs[n + 1][1];
        if (leat__webp_get(&r, p[2])) {
            v = read_large(&r, p);
            next += 16;
            leat__webp_refill(&r);
        }
        v *= (uint32_t)steps[n > 0];
        sizes |= v;
        const uint32_t sign = -leat__webp_half(&r);
        out[places[n]] = (int16_t)((v ^ sign) - sign);
        p = next;
        if (++n == 16) goto end;
        leat__webp_refill(&r);
        if (!leat__webp_get(&r, p[0])) goto end;
    }
end:
    *size |= sizes;
    bits->value = r.value, bits->range = r.range, bits->count = r.count, bits->next = r.next;
    return n;
}

/* The first values of all luma blocks from their own block: the inverse transform of Walsh and Hadamard. */
static inline void spread_first(const int16_t in[64], int16_t *out, uint32_t *size) {
    int t[16];
    for (int i = 0; i < 4; i++) {
        const int a = in[i] + in[48 + i], b = in[16 + i] + in[32 + i], c = in[16 + i] - in[32 + i],
                  d = in[i] - in[48 + i];
        t[i] = a + b, t[4 + i] = c + d, t[8 + i] = a - b, t[12 + i] = d - c;
    }
    for (int i = 0; i < 4; i++) {
        const int *s = t + 4 * i, a = s[0] + s[3] + 3, b = s[1] + s[2], c = s[1] - s[2], d = s[0] - s[3] + 3;
        const int v[4] = {(a + b) >> 3, (c + d) >> 3, (a - b) >> 3, (d - c) >> 3};
        for (int k = 0; k < 4; k++) {
            out[64 * i + 4 * k] = (int16_t)v[k];
            *size |= (uint32_t)(v[k] ^ v[k] >> 31);
        }
    }
}

/* 4 x 4 or 2 x 2 blocks with what is known of those above and to the left of them. */
static __attribute__((noinline)) uint32_t read_square(leat__webp_bits *bits, const uint8_t (*probs)[3][16],
                                                      uint8_t *above, uint8_t *before, int side, int from,
                                                      const int16_t steps[2], int16_t *out, uint32_t *size) {
    uint32_t full = 0;
    leat__webp_bits s = *bits, *r = &s;
    for (int y = 0; y < side; y++) {
        int left = before[y];
        for (int x = 0; x < side; x++) {
            const int n = read_block(r, probs, above[x] + left, from, steps, out + 64 * y + 4 * x, size);
            above[x] = (uint8_t)(left = n > from);
            full |= (uint32_t)(n > 1) << (side * y + x);
        }
        before[y] = (uint8_t)left;
    }
    *bits = s;
    return full;
}

LEAT_WEBP_INLINE void read_values(leat__webp_bits *bits, leat__webp_values *values,
                                  const leat__webp_probs *probs, const leat__webp_steps *steps, bool single,
                                  leat__webp_known *above, leat__webp_known *before) {
    leat__webp_bits r = *bits;
    uint32_t size = 0, first_size = 0;
    int16_t *const out = values->group[0];
    if (!single) {
        LEAT_ALIGNED(32) int16_t first[64] = {0};
        const int n = read_block(&r, probs[LEAT_WEBP_Y_FIRST], above->first + before->first, 0, steps->first,
                                 first, &first_size);
        above->first = before->first = n > 0;
        if (n > 0) spread_first(first, out, &size);
    }
    uint32_t full = read_square(&r, probs[single ? LEAT_WEBP_Y_ALL : LEAT_WEBP_Y_REST], above->y, before->y,
                                4, !single, steps->y, out, &size);
    for (int c = 0; c < 2; c++)
        full |= read_square(&r, probs[LEAT_WEBP_UV], above->uv[c], before->uv[c], 2, 0, steps->uv,
                            values->group[4] + 8 * c, &size)
                << (16 + 4 * c);
    values->full = full;
    values->size = size | (first_size & ~32767u);
    *bits = r;
}

/* ----------------------------------------------------------------------------------------------- modes */

LEAT_WEBP_INLINE int read_block_mode(leat__webp_bits *r, const uint8_t *p) {
    leat__webp_refill(r);
    if (!leat__webp_get(r, p[0])) return LEAT_WEBP_DC;
    if (!leat__webp_get(r, p[1])) return LEAT_WEBP_TM;
    if (!leat__webp_get(r, p[2])) return LEAT_WEBP_V;
    if (!leat__webp_get(r, p[3])) {
        if (!leat__webp_get(r, p[4])) return LEAT_WEBP_H;
        return leat__webp_get(r, p[5]) ? LEAT_WEBP_VR : LEAT_WEBP_RD;
    }
    if (!leat__webp_get(r, p[6])) return LEAT_WEBP_LD;
    leat__webp_refill(r);
    if (!leat__webp_get(r, p[7])) return LEAT_WEBP_VL;
    return leat__webp_get(r, p[8]) ? LEAT_WEBP_HU : LEAT_WEBP_HD;
}

LEAT_WEBP_INLINE int read_luma_mode(leat__webp_bits *r) {
    if (leat__webp_get(r, 156)) return leat__webp_get(r, 128) ? LEAT_WEBP_TM : LEAT_WEBP_H;
    return leat__webp_get(r, 163) ? LEAT_WEBP_V : LEAT_WEBP_DC;
}

LEAT_WEBP_INLINE int read_chroma_mode(leat__webp_bits *r) {
    if (!leat__webp_get(r, 142)) return LEAT_WEBP_DC;
    if (!leat__webp_get(r, 114)) return LEAT_WEBP_V;
    return leat__webp_get(r, 183) ? LEAT_WEBP_TM : LEAT_WEBP_H;
}

LEAT_WEBP_INLINE void read_modes(leat__webp_bits *bits, leat__webp_modes *modes, const leat__webp_head *head,
                                 uint8_t *above, int n) {
    leat__webp_bits r = *bits;
    uint8_t left[4] = {LEAT_WEBP_DC, LEAT_WEBP_DC, LEAT_WEBP_DC, LEAT_WEBP_DC};
    for (int i = 0; i < n && !leat__webp_bits_over(&r); i++, modes++, above += 4) {
        leat__webp_refill(&r);
        modes->segment = 0;
        if (head->segmented) {
            const int high = leat__webp_get(&r, head->segment_probs[0]);
            modes->segment = (uint8_t)(2 * high + leat__webp_get(&r, head->segment_probs[1 + high]));
        }
        modes->empty = head->skips && leat__webp_get(&r, head->skip_prob);
        modes->single = !leat__webp_get(&r, 145);
        if (modes->single) {
            for (int y = 0; y < 4; y++) {
                int mode = left[y];
                for (int x = 0; x < 4; x++) {
                    mode = read_block_mode(&r, leat__webp_mode_probs[above[x]][mode]);
                    above[x] = modes->y[4 * y + x] = (uint8_t)mode;
                }
                left[y] = (uint8_t)mode;
            }
        } else {
            leat__webp_refill(&r);
            const int mode = read_luma_mode(&r);
            memset(modes->y, mode, sizeof modes->y);
            memset(above, mode, 4);
            memset(left, mode, 4);
        }
        leat__webp_refill(&r);
        modes->uv = (uint8_t)read_chroma_mode(&r);
    }
    *bits = r;
}

#endif
