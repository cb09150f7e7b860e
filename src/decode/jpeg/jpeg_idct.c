/* SPDX-License-Identifier: Apache-2.0 */
/* The accurate integer inverse DCT of libjpeg ("islow"): Loeffler, Ligtenberg and Moschytz with 13-bit constants, columns
 * first, two bits more kept between the passes. Sums are exact, rounding happens twice, so every order of the same
 * additions gives the same samples. Below it the fast one ("ifast").
 *
 * Plain C, but written so that compilers find vectors: eight transforms side by side in loops of eight, and factors of 16
 * bits, whose products every instruction set has. */
#include "decode/jpeg/jpeg_idct.h"
#include "decode/jpeg/jpeg_dsp.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Eight transforms: in[k][i] is value k of number i, out[k][i] its sum k, scaled by 8192. Values are at most
 * LEAT_JPEG_MIDDLE_MAX in size, so that sums of two fit into 16 bits. With half, values 4 to 7 are zero. */
ALWAYS_INLINE void transform(int32_t out[restrict 8][8], const int16_t in[restrict 8][8], bool half) {
    for (int i = 0; i < 8; i++) {
        const int16_t i0 = in[0][i], i1 = in[1][i], i2 = in[2][i], i3 = in[3][i];
        const int16_t i4 = half ? 0 : in[4][i], i5 = half ? 0 : in[5][i], i6 = half ? 0 : in[6][i],
                      i7 = half ? 0 : in[7][i];
        const int16_t even = (int16_t)(i0 + i4), odd = (int16_t)(i0 - i4);
        const int16_t z3 = (int16_t)(i7 + i3), z4 = (int16_t)(i5 + i1);
        const int32_t e2 = i2 * C0_541 + i6 * (C0_541 - C1_847), e3 = i2 * (C0_541 + C0_765) + i6 * C0_541;
        const int32_t t0 = even * 8192 + e3, t1 = odd * 8192 + e2, t2 = odd * 8192 - e2,
                      t3 = even * 8192 - e3;
        const int32_t s3 = z3 * (C1_175 - C1_961) + z4 * C1_175, s4 = z3 * C1_175 + z4 * (C1_175 - C0_390);
        const int32_t u0 = i1 * (C1_501 - C0_899) - i7 * C0_899 + s4;
        const int32_t u1 = i3 * (C3_072 - C2_562) - i5 * C2_562 + s3;
        const int32_t u2 = i5 * (C2_053 - C2_562) - i3 * C2_562 + s4;
        const int32_t u3 = i7 * (C0_298 - C0_899) - i1 * C0_899 + s3;
        out[0][i] = t0 + u0, out[7][i] = t0 - u0;
        out[1][i] = t1 + u1, out[6][i] = t1 - u1;
        out[2][i] = t2 + u2, out[5][i] = t2 - u2;
        out[3][i] = t3 + u3, out[4][i] = t3 - u3;
    }
}

typedef int16_t eight __attribute__((vector_size(16)));
typedef uint8_t eight_u8 __attribute__((vector_size(8)));

#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

ALWAYS_INLINE void transpose(int16_t m[8][8]) {
    eight a[8], b[8];
    memcpy(a, m, sizeof a);
    for (int stage = 0; stage < 3; stage++) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = LOW(a[i], a[i + 4]);
            b[2 * i + 1] = HIGH(a[i], a[i + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    memcpy(m, a, sizeof a);
}

static inline uint8_t clamp(int32_t v) {
    return (uint8_t)LEAT_CLAMP(v, 0, 255);
}

static bool flat_block(const leat__jpeg_place *place, int dc) {
    const int level = dc * place->quant->step[0];
    const uint8_t v = clamp(((level + 4) >> 3) + 128);
    for (size_t y = 0; y < 8; y++) memset(place->dst + y * place->stride, v, 8);
    return (dc < 0 ? -dc : dc) <= place->quant->most[0];
}

/* From the order of a block to rows, each in the order of a group's columns. */
ALWAYS_INLINE void part_rows(int16_t out[restrict 8][8], const int16_t values[restrict 64], bool half) {
    static const uint8_t rows[4] = {0, 1, 4, 5}; /* the first of each group */
    for (int group = 0; group < (half ? 2 : 4); group++) {
        eight a, b;
        memcpy(&a, values + 16 * group, sizeof a);
        memcpy(&b, values + 16 * group + 8, sizeof b);
        const eight first = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        const eight second = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
        memcpy(out[rows[group]], &first, sizeof first);
        memcpy(out[rows[group] + 2], &second, sizeof second);
    }
}

/* Coefficients times their steps. False: one is too large. */
ALWAYS_INLINE bool dequantise(int16_t out[restrict 8][8], const int16_t *restrict block,
                              const leat__jpeg_quant *restrict quant, bool half) {
    int16_t values[64];
    uint16_t over = 0;
    for (int i = 0; i < (half ? 32 : 64); i++) {
        const int16_t v = block[i];
        const uint16_t size = (uint16_t)(v < 0 ? -v : v);
        over |= (uint16_t)(size > quant->most[i]);
        values[i] = (int16_t)(v * quant->step[i]);
    }
    part_rows(out, values, half);
    return over == 0;
}

/* Values between the passes as rows in the order of a group's columns; afterwards out[x] is column x of the block. */
ALWAYS_INLINE void turn(int16_t out[restrict 8][8], int16_t middle[restrict 8][8], bool half) {
    transpose(middle);
    for (int x = 0; x < (half ? 4 : 8); x++) memcpy(out[x], middle[(x & 1) * 4 + x / 2], sizeof out[x]);
}

/* Samples as columns. */
ALWAYS_INLINE void store(const leat__jpeg_place *place, int16_t samples[8][8]) {
    transpose(samples);
    for (int y = 0; y < 8; y++) {
        eight line;
        memcpy(&line, samples[y], sizeof line);
        const eight_u8 bytes = __builtin_convertvector(line, eight_u8);
        memcpy(place->dst + (size_t)y * place->stride, &bytes, sizeof bytes);
    }
}

/* With half only the first four rows and columns hold anything. */
ALWAYS_INLINE bool full_block(const int16_t *block, const leat__jpeg_place *place, bool half) {
    LEAT_ALIGNED(32) int16_t values[8][8], middle[8][8];
    LEAT_ALIGNED(32) int32_t sums[8][8];
    if (!dequantise(values, block, place->quant, half)) return false;
    values[0][0] = (int16_t)(values[0][0] + LEAT_JPEG_BIAS);
    transform(sums, values, half);
    int32_t size = 0;
    for (int y = 0; y < 8; y++)
        for (int i = 0; i < 8; i++) {
            const int32_t v = (sums[y][i] + 1024) >> 11;
            size |= v ^ v >> 31; /* the bits of all sizes together bound the largest */
            middle[y][i] = (int16_t)v;
        }
    if (size > LEAT_JPEG_MIDDLE_MAX)
        for (int y = 0; y < 8; y++)
            for (int i = 0; i < 8; i++) {
                const int32_t v = (sums[y][i] + 1024) >> 11;
                if (v > LEAT_JPEG_MIDDLE_MAX || v < -LEAT_JPEG_MIDDLE_MAX) return false;
            }
    turn(values, middle, half);
    transform(sums, values, half);
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) {
            const int16_t v = (int16_t)(sums[x][y] >> 18);
            middle[x][y] = LEAT_CLAMP(v, 0, 255);
        }
    store(place, middle);
    return true;
}

static LEAT_FN_JPEG_IDCT(idct_c) {
    bool good = true;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        if (place->dst) {
            if (place->last == 0) good &= flat_block(place, blocks[0]);
            else if (place->last <= LEAT_JPEG_HALF) good &= full_block(blocks, place, true);
            else good &= full_block(blocks, place, false);
        }
        if (place->last == 0 && place->dst) blocks[0] = 0;
        else memset(blocks, 0, 64 * sizeof *blocks);
    }
    return good;
}

/* ------------------------------------------------------------------------------------------- the fast one */

/* Arai, Agui and Nakajima with 8-bit constants. Nothing is rounded, and all values have 16 bits. Where they do not fit they
 * wrap, as in libjpeg-turbo's SSE2 form: with steps of 255 even values inside of the standard's limits do. The plain C
 * form of libjpeg has 32 bits there and gives other samples for such blocks. */

/* libjpeg has the products of the two factors as a table of 14 bits: these are precise enough to give that table. */
int16_t leat__jpeg_fast_step(int step, int row, int column) {
    /* sqrt(2) * cos(k * pi / 16), times 2^30; the first one is 1 */
    static const uint32_t scale[8] = {1073741824, 1489322693, 1402911301, 1262586814,
                                      1073741824, 843633538,  581104888,  296244703};
    const uint64_t product = (uint64_t)scale[row] * scale[column];
    const int32_t scaled = step * (int32_t)((product + (UINT64_C(1) << 45)) >> 46);
    return (int16_t)((scaled + 2048) >> 12);
}

/* Times a factor of 8 bits. The SSE2 form makes room for the high half of a product before it multiplies. */
static inline int16_t times(int16_t v, int factor) {
    return (int16_t)((int16_t)(v * 4) * (factor * 64) >> 16);
}

ALWAYS_INLINE void transform_fast(int16_t out[restrict 8][8], const int16_t in[restrict 8][8], bool half) {
    for (int i = 0; i < 8; i++) {
        const int16_t i0 = in[0][i], i1 = in[1][i], i2 = in[2][i], i3 = in[3][i];
        const int16_t i4 = half ? 0 : in[4][i], i5 = half ? 0 : in[5][i], i6 = half ? 0 : in[6][i],
                      i7 = half ? 0 : in[7][i];
        const int16_t even = (int16_t)(i0 + i4), odd = (int16_t)(i0 - i4), e3 = (int16_t)(i2 + i6);
        const int16_t e2 = (int16_t)(times((int16_t)(i2 - i6), F1_414) - e3);
        const int16_t t0 = (int16_t)(even + e3), t1 = (int16_t)(odd + e2), t2 = (int16_t)(odd - e2),
                      t3 = (int16_t)(even - e3);
        const int16_t z10 = (int16_t)(i5 - i3), z11 = (int16_t)(i1 + i7), z12 = (int16_t)(i1 - i7),
                      z13 = (int16_t)(i5 + i3);
        const int16_t z5 = times((int16_t)(z10 + z12), F1_847);
        const int16_t u0 = (int16_t)(z11 + z13);
        const int16_t u1 = (int16_t)(times(z10, -F1_613) - z10 + z5 - u0); /* -2.613 would not fit */
        const int16_t u2 = (int16_t)(times((int16_t)(z11 - z13), F1_414) - u1);
        const int16_t u3 = (int16_t)(times(z12, F1_082) - z5 + u2);
        out[0][i] = (int16_t)(t0 + u0), out[7][i] = (int16_t)(t0 - u0);
        out[1][i] = (int16_t)(t1 + u1), out[6][i] = (int16_t)(t1 - u1);
        out[2][i] = (int16_t)(t2 + u2), out[5][i] = (int16_t)(t2 - u2);
        out[4][i] = (int16_t)(t3 + u3), out[3][i] = (int16_t)(t3 - u3);
    }
}

static inline int16_t fast_sample(int16_t v) {
    return (int16_t)(LEAT_CLAMP(v >> 5, -128, 127) + 128);
}

static void flat_block_fast(const leat__jpeg_place *place, int dc) {
    const int16_t v = fast_sample((int16_t)(dc * place->quant->step[0]));
    for (size_t y = 0; y < 8; y++) memset(place->dst + y * place->stride, v, 8);
}

ALWAYS_INLINE void full_block_fast(const int16_t *block, const leat__jpeg_place *place, bool half) {
    LEAT_ALIGNED(32) int16_t values[8][8], middle[8][8], scaled[64];
    for (int i = 0; i < (half ? 32 : 64); i++) scaled[i] = (int16_t)(block[i] * place->quant->step[i]);
    part_rows(values, scaled, half);
    transform_fast(middle, values, half);
    turn(values, middle, half);
    transform_fast(middle, values, half);
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) middle[x][y] = fast_sample(middle[x][y]);
    store(place, middle);
}

static LEAT_FN_JPEG_IDCT(idct_fast_c) {
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        if (place->dst) {
            if (place->last == 0) flat_block_fast(place, blocks[0]);
            else if (place->last <= LEAT_JPEG_HALF) full_block_fast(blocks, place, true);
            else full_block_fast(blocks, place, false);
        }
        if (place->last == 0 && place->dst) blocks[0] = 0;
        else memset(blocks, 0, 64 * sizeof *blocks);
    }
    return true;
}

void leat__jpeg_dsp_init_idct_c(leat__jpeg_dsp *dsp) {
    dsp->idct = idct_c;
    dsp->idct_fast = idct_fast_c;
}
