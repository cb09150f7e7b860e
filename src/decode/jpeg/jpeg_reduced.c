/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse DCTs of libjpeg that make 4x4, 2x2 or 1x1 samples from the 64 coefficients of a block: a picture at 1/2, 1/4 or
 * 1/8 of its size. Each is the accurate transform with neighbouring outputs averaged: sums of cosines become new factors, and
 * coefficients that average to nothing drop out (number 4 of four outputs, all even ones but the first of two).
 *
 * The limits are those of the accurate transform, see jpeg_dsp.h. Inside of them all forms of libjpeg-turbo agree. */
#include "decode/jpeg/jpeg_reduced.h"
#include "decode/jpeg/jpeg_dsp.h"

static inline uint8_t clamp(int32_t v) {
    return (uint8_t)LEAT_CLAMP(v, 0, 255);
}

/* False: one is too large. */
static bool dequantise(int32_t out[8][8], const int16_t *block, const leat__jpeg_quant *quant) {
    bool good = true;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            const int slot = leat__jpeg_slot(y, x), v = block[slot];
            good &= (v < 0 ? -v : v) <= quant->most[slot];
            out[y][x] = v * quant->step[slot];
        }
    return good;
}

static bool fits(int32_t v) {
    return v >= -LEAT_JPEG_MIDDLE_MAX && v <= LEAT_JPEG_MIDDLE_MAX;
}

/* Sums are scaled by 16384. Input k is in[k * step]. */
static void four_sums(int32_t out[4], const int32_t *in, int step) {
    const int32_t i1 = in[step], i2 = in[2 * step], i3 = in[3 * step], i5 = in[5 * step], i6 = in[6 * step],
                  i7 = in[7 * step];
    const int32_t dc = in[0] * 16384, even = i2 * R1_847 - i6 * R0_765;
    const int32_t outer = i1 * R2_562 + i3 * R0_899 - i5 * R0_601 - i7 * R0_509;
    const int32_t inner = i1 * R1_061 - i3 * R2_172 + i5 * R1_451 - i7 * R0_211;
    out[0] = dc + even + outer, out[3] = dc + even - outer;
    out[1] = dc - even + inner, out[2] = dc - even - inner;
}

/* Sums are scaled by 32768. */
static void two_sums(int32_t out[2], const int32_t *in, int step) {
    const int32_t dc = in[0] * 32768;
    const int32_t odd =
        in[step] * R3_624 - in[3 * step] * R1_272 + in[5 * step] * R0_850 - in[7 * step] * R0_720;
    out[0] = dc + odd, out[1] = dc - odd;
}

static inline int32_t descale(int32_t v, int bits) {
    return (v + (1 << (bits - 1))) >> bits;
}

/* side: 4 or 2. Two bits more are kept between the passes. */
static bool reduce(const int16_t *block, const leat__jpeg_place *place, int side) {
    int32_t values[8][8], middle[4][8], sums[4];
    const int bits = side == 4 ? 12 : 13;
    bool good = dequantise(values, block, place->quant);
    for (int x = 0; x < 8 && good; x++) {
        if (side == 4) four_sums(sums, &values[0][x], 8);
        else two_sums(sums, &values[0][x], 8);
        for (int y = 0; y < side; y++) {
            middle[y][x] = descale(sums[y], bits);
            good &= fits(middle[y][x]);
        }
    }
    for (int y = 0; y < side && good; y++) {
        uint8_t *dst = place->dst + (size_t)y * place->stride;
        if (side == 4) four_sums(sums, middle[y], 1);
        else two_sums(sums, middle[y], 1);
        for (int x = 0; x < side; x++) dst[x] = clamp(descale(sums[x], bits + 7) + 128);
    }
    return good;
}

static bool flat(const leat__jpeg_place *place, int dc, size_t side) {
    const uint8_t v = clamp(((dc * place->quant->step[0] + 4) >> 3) + 128);
    for (size_t y = 0; y < side; y++) memset(place->dst + y * place->stride, v, side);
    return (dc < 0 ? -dc : dc) <= place->quant->most[0];
}

static bool reduce_all(int16_t *blocks, const leat__jpeg_place *places, int n, int side) {
    bool good = true;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        if (place->dst && place->last == 0) good &= flat(place, blocks[0], (size_t)side);
        else if (place->dst) good &= reduce(blocks, place, side);
        memset(blocks, 0, 64 * sizeof *blocks);
    }
    return good;
}

static LEAT_FN_JPEG_IDCT(idct_4x4_c) {
    return reduce_all(blocks, places, n, 4);
}

static LEAT_FN_JPEG_IDCT(idct_2x2_c) {
    return reduce_all(blocks, places, n, 2);
}

/* libjpeg-turbo has plain C alone for this one, which takes ten bits of the level. */
static LEAT_FN_JPEG_IDCT(idct_1x1_c) {
    bool good = true;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        const int dc = blocks[0];
        blocks[0] = 0;
        if (!place->dst) continue;
        const int level = (dc * place->quant->step[0] + 4) >> 3;
        *place->dst = clamp(((level + 512) & 1023) - 512 + 128);
        good &= (dc < 0 ? -dc : dc) <= place->quant->most[0];
    }
    return good;
}

void leat__jpeg_dsp_init_reduced_c(leat__jpeg_dsp *dsp) {
    dsp->idct_4x4 = idct_4x4_c;
    dsp->idct_2x2 = idct_2x2_c;
    dsp->idct_1x1 = idct_1x1_c;
}
