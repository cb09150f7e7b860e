/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse DCT with NEON, which multiplies 16-bit values by one factor and adds to 32-bit sums: half the instructions of
 * AVX2's form, which multiplies pairs. Lanes are columns in the first pass, 0 2 4 6 1 3 5 7 as a block has them, and rows in
 * the second. A block whose last four rows and columns are empty takes the first pass with four lanes only. */
#include "decode/arm/decode_arm.h"

#include <arm_neon.h>

#include "decode/jpeg/jpeg_idct.h"

#define INLINE static inline __attribute__((always_inline))

/* Factors of the odd inputs 1 3 5 7 for outputs 0 to 3, then those of the inputs 2 and 6. */
static const int16_t factors[24] = {
    C1_501 - C0_899 - C0_390 + C1_175,
    C1_175,
    C1_175 - C0_390,
    C1_175 - C0_899, /* output 0 */
    C1_175,
    C3_072 - C2_562 - C1_961 + C1_175,
    C1_175 - C2_562,
    C1_175 - C1_961, /* 1 */
    C1_175 - C0_390,
    C1_175 - C2_562,
    C2_053 - C2_562 - C0_390 + C1_175,
    C1_175, /* 2 */
    C1_175 - C0_899,
    C1_175 - C1_961,
    C1_175,
    C0_298 - C0_899 - C1_961 + C1_175, /* 3 */
    C0_541 + C0_765,
    C0_541,
    C0_541,
    C0_541 - C1_847,
};

typedef struct weights {
    int16x8_t odd01, odd23, even;
} weights;

typedef struct
    checks { /* what is too large: coefficients leave a rest, values between the passes a maximum */
    uint16x8_t over, middle;
} checks;

/* One eight-point transform in each of four lanes. With half, inputs 4 to 7 are zero. */
INLINE void transform(int32x4_t out[8], const int16x4_t in[8], bool half, const weights *w) {
    int32x4_t sum = vshll_n_s16(in[0], 13), difference = sum;
    int32x4_t outer = vmull_laneq_s16(in[2], w->even, 0), inner = vmull_laneq_s16(in[2], w->even, 2);
    int32x4_t odd[4] = {vmull_laneq_s16(in[1], w->odd01, 0), vmull_laneq_s16(in[1], w->odd01, 4),
                        vmull_laneq_s16(in[1], w->odd23, 0), vmull_laneq_s16(in[1], w->odd23, 4)};
    odd[0] = vmlal_laneq_s16(odd[0], in[3], w->odd01, 1);
    odd[1] = vmlal_laneq_s16(odd[1], in[3], w->odd01, 5);
    odd[2] = vmlal_laneq_s16(odd[2], in[3], w->odd23, 1);
    odd[3] = vmlal_laneq_s16(odd[3], in[3], w->odd23, 5);
    if (!half) {
        sum = vshlq_n_s32(vaddl_s16(in[0], in[4]), 13);
        difference = vshlq_n_s32(vsubl_s16(in[0], in[4]), 13);
        outer = vmlal_laneq_s16(outer, in[6], w->even, 1);
        inner = vmlal_laneq_s16(inner, in[6], w->even, 3);
        odd[0] = vmlal_laneq_s16(vmlal_laneq_s16(odd[0], in[5], w->odd01, 2), in[7], w->odd01, 3);
        odd[1] = vmlal_laneq_s16(vmlal_laneq_s16(odd[1], in[5], w->odd01, 6), in[7], w->odd01, 7);
        odd[2] = vmlal_laneq_s16(vmlal_laneq_s16(odd[2], in[5], w->odd23, 2), in[7], w->odd23, 3);
        odd[3] = vmlal_laneq_s16(vmlal_laneq_s16(odd[3], in[5], w->odd23, 6), in[7], w->odd23, 7);
    }
    const int32x4_t even[4] = {vaddq_s32(sum, outer), vaddq_s32(difference, inner),
                               vsubq_s32(difference, inner), vsubq_s32(sum, outer)};
    for (int i = 0; i < 4; i++) {
        out[i] = vaddq_s32(even[i], odd[i]);
        out[7 - i] = vsubq_s32(even[i], odd[i]);
    }
}

INLINE int16x8_t dequantise(int16x8_t v, int16x8_t step, uint16x8_t most, checks *c) {
    c->over = vorrq_u16(c->over, vqsubq_u16(vreinterpretq_u16_s16(vabsq_s16(v)), most));
    return vmulq_s16(v, step);
}

INLINE int16x8_t narrow(int32x4_t low, int32x4_t high, checks *c) {
    const int16x8_t v = vqrshrn_high_n_s32(vqrshrn_n_s32(low, 11), high, 11);
    c->middle = vmaxq_u16(c->middle, vreinterpretq_u16_s16(vabsq_s16(v)));
    return v;
}

#define TURN(a, b, v, w) a = vuzp1q_s16(v, w), b = vuzp2q_s16(v, w)

/* From the block, which becomes zero, to eight columns of eight rows. */
INLINE void first_pass(int16x8_t column[8], int16_t *block, const leat__jpeg_quant *quant, const weights *w,
                       checks *c) {
    const int16x8_t bias = {LEAT_JPEG_BIAS};
    int16x8_t row[8], t[8];
    for (int g = 0; g < 4; g++) { /* rows 0 2, 1 3, 4 6, 5 7 */
        const int16x8x2_t v = vld2q_s16(block + 16 * g), step = vld2q_s16(quant->step + 16 * g);
        const uint16x8x2_t most = vld2q_u16(quant->most + 16 * g);
        const int first = (g & 1) + (g & 2) * 2;
        row[first] = dequantise(v.val[0], step.val[0], most.val[0], c);
        row[first + 2] = dequantise(v.val[1], step.val[1], most.val[1], c);
        vst1q_s16(block + 16 * g, vdupq_n_s16(0));
        vst1q_s16(block + 16 * g + 8, vdupq_n_s16(0));
    }
    row[0] = vaddq_s16(row[0], bias);
    int16x4_t low[8], high[8];
    int32x4_t left[8], right[8];
    for (int i = 0; i < 8; i++) low[i] = vget_low_s16(row[i]), high[i] = vget_high_s16(row[i]);
    transform(left, low, false, w);
    transform(right, high, false, w);
    for (int i = 0; i < 8; i++) row[i] = narrow(left[i], right[i], c);
    for (int i = 0; i < 4; i++) TURN(t[i], t[4 + i], row[2 * i], row[2 * i + 1]);
    /* t[0..3] hold columns 0 4 1 5 of two rows each, t[4..7] columns 2 6 3 7. */
    for (int i = 0; i < 8; i += 4) {
        int16x8_t u[4];
        TURN(u[0], u[2], t[i], t[i + 1]);
        TURN(u[1], u[3], t[i + 2], t[i + 3]);
        TURN(column[i / 2], column[i / 2 + 1], u[0], u[1]);
        TURN(column[i / 2 + 4], column[i / 2 + 5], u[2], u[3]);
    }
}

/* The same where only columns and rows 0 to 3 have anything; and so only columns 0 to 3 get anything. */
INLINE void first_pass_half(int16x8_t column[8], int16_t *block, const leat__jpeg_quant *quant,
                            const weights *w, checks *c) {
    const int16x8_t bias = {LEAT_JPEG_BIAS};
    int16x8_t pair[2];
    for (int g = 0; g < 2; g++) {
        const int16x8_t v = vcombine_s16(vld1_s16(block + 16 * g), vld1_s16(block + 16 * g + 8));
        const int16x8_t step =
            vcombine_s16(vld1_s16(quant->step + 16 * g), vld1_s16(quant->step + 16 * g + 8));
        const uint16x8_t most =
            vcombine_u16(vld1_u16(quant->most + 16 * g), vld1_u16(quant->most + 16 * g + 8));
        pair[g] = dequantise(v, step, most, c);
        vst1q_s16(block + 16 * g, vdupq_n_s16(0));
        vst1q_s16(block + 16 * g + 8, vdupq_n_s16(0));
    }
    pair[0] = vaddq_s16(pair[0], bias);
    int16x8_t r01, r23, t[4];
    TURN(r01, r23, pair[0], pair[1]);
    const int16x4_t in[8] = {vget_low_s16(r01), vget_high_s16(r01), vget_low_s16(r23), vget_high_s16(r23)};
    int32x4_t out[8]; /* of columns 0 2 1 3 */
    transform(out, in, true, w);
    int16x8_t rows[4];
    for (int i = 0; i < 4; i++) rows[i] = narrow(out[2 * i], out[2 * i + 1], c);
    TURN(t[0], t[2], rows[0], rows[1]);
    TURN(t[1], t[3], rows[2], rows[3]);
    TURN(column[0], column[1], t[0], t[1]);
    TURN(column[2], column[3], t[2], t[3]);
}

/* Columns to rows, and those to bytes. The shift by 18 is done in two parts, as narrowing can. */
INLINE void second_pass(const leat__jpeg_place *place, const int16x8_t column[8], bool half,
                        const weights *w) {
    int16x4_t low[8], high[8];
    int32x4_t top[8], bottom[8];
    uint8x16_t b[8];
    for (int i = 0; i < (half ? 4 : 8); i++)
        low[i] = vget_low_s16(column[i]), high[i] = vget_high_s16(column[i]);
    transform(top, low, half, w);
    transform(bottom, high, half, w);
    for (int i = 0; i < 8; i++) {
        const int16x8_t v = vshrn_high_n_s32(vshrn_n_s32(top[i], 16), bottom[i], 16);
        const uint8x8_t bytes = vqshrun_n_s16(v, 2);
        b[i] = vcombine_u8(bytes, bytes);
    }
    const uint8x16_t c04 = vzip1q_u8(b[0], b[4]), c15 = vzip1q_u8(b[1], b[5]), c26 = vzip1q_u8(b[2], b[6]),
                     c37 = vzip1q_u8(b[3], b[7]);
    const uint8x16_t even[2] = {vzip1q_u8(c04, c26), vzip2q_u8(c04, c26)},
                     odd[2] = {vzip1q_u8(c15, c37), vzip2q_u8(c15, c37)};
    uint8_t *dst = place->dst;
    for (int i = 0; i < 2; i++) {
        const uint8x16_t rows[2] = {vzip1q_u8(even[i], odd[i]), vzip2q_u8(even[i], odd[i])};
        for (int k = 0; k < 2; k++, dst += 2 * place->stride) {
            vst1_u8(dst, vget_low_u8(rows[k]));
            vst1_u8(dst + place->stride, vget_high_u8(rows[k]));
        }
    }
}

INLINE bool flat_block(int16_t *block, const leat__jpeg_place *place) {
    const int dc = block[0], level = dc * place->quant->step[0], v = ((level + 4) >> 3) + 128;
    const uint8x8_t eight = vdup_n_u8((uint8_t)LEAT_CLAMP(v, 0, 255));
    for (size_t y = 0; y < 8; y++) vst1_u8(place->dst + y * place->stride, eight);
    block[0] = 0;
    return (dc < 0 ? -dc : dc) <= place->quant->most[0];
}

static LEAT_FN_JPEG_IDCT(idct_neon) {
    const weights w = {vld1q_s16(factors), vld1q_s16(factors + 8), vld1q_s16(factors + 16)};
    checks c = {vdupq_n_u16(0), vdupq_n_u16(0)};
    bool good = true;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        int16x8_t column[8];
        if (!place->dst) memset(blocks, 0, 64 * sizeof *blocks);
        else if (place->last == 0) good &= flat_block(blocks, place);
        else if (place->last <= LEAT_JPEG_HALF) {
            first_pass_half(column, blocks, place->quant, &w, &c);
            second_pass(place, column, true, &w);
        } else {
            first_pass(column, blocks, place->quant, &w, &c);
            second_pass(place, column, false, &w);
        }
    }
    return good && vmaxvq_u16(c.over) == 0 && vmaxvq_u16(c.middle) <= LEAT_JPEG_MIDDLE_MAX;
}

void leat__jpeg_dsp_init_idct_neon(leat__jpeg_dsp *dsp) {
    dsp->idct = idct_neon;
}
