/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction and the inverse transform in plain C: RFC 6386, sections 12 and 14. */
#include "decode/webp/webp_dsp.h"

static uint8_t clip(int v) {
    return (uint8_t)LEAT_CLAMP(v, 0, 255);
}

/* --------------------------------------------------------------------------------------- whole blocks */

static void fill(uint8_t *dst, ptrdiff_t stride, int side, int v) {
    for (int y = 0; y < side; y++) memset(dst + y * stride, v, (size_t)side);
}

static int sum_above(const uint8_t *above, int side) {
    int sum = 0;
    for (int x = 0; x < side; x++) sum += above[x];
    return sum;
}

static int sum_left(const uint8_t *dst, ptrdiff_t stride, int side) {
    int sum = 0;
    for (int y = 0; y < side; y++) sum += dst[y * stride - 1];
    return sum;
}

static void predict_tm(uint8_t *dst, ptrdiff_t stride, const uint8_t *above, int side) {
    for (int y = 0; y < side; y++, dst += stride)
        for (int x = 0, by = dst[-1] - above[-1]; x < side; x++) dst[x] = clip(above[x] + by);
}

#define WHOLE(side)                                                                                          \
    static LEAT_FN_WEBP_PREDICT(dc_##side##_c) {                                                             \
        fill(dst, stride, side, (sum_above(above, side) + sum_left(dst, stride, side) + side) / (2 * side)); \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(tm_##side##_c) {                                                             \
        predict_tm(dst, stride, above, side);                                                                \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(v_##side##_c) {                                                              \
        for (int y = 0; y < side; y++) memcpy(dst + y * stride, above, side);                                \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(h_##side##_c) {                                                              \
        (void)above;                                                                                         \
        for (int y = 0; y < side; y++) memset(dst + y * stride, dst[y * stride - 1], side);                  \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(dc_left_##side##_c) {                                                        \
        (void)above;                                                                                         \
        fill(dst, stride, side, (sum_left(dst, stride, side) + side / 2) / side);                            \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(dc_above_##side##_c) {                                                       \
        fill(dst, stride, side, (sum_above(above, side) + side / 2) / side);                                 \
    }                                                                                                        \
    static LEAT_FN_WEBP_PREDICT(dc_none_##side##_c) {                                                        \
        (void)above;                                                                                         \
        fill(dst, stride, side, 128);                                                                        \
    }
WHOLE(16)
WHOLE(8)

/* ---------------------------------------------------------------------------------------- small blocks */

static uint8_t mean2(int a, int b) {
    return (uint8_t)((a + b + 1) >> 1);
}

static uint8_t mean3(int a, int b, int c) {
    return (uint8_t)((a + 2 * b + c + 2) >> 2);
}

static LEAT_FN_WEBP_PREDICT_4(dc_4_c) {
    fill(dst, stride, 4, (sum_above(above, 4) + sum_left(dst, stride, 4) + 4) / 8);
}

static LEAT_FN_WEBP_PREDICT_4(tm_4_c) {
    predict_tm(dst, stride, above, 4);
}

static LEAT_FN_WEBP_PREDICT_4(v_4_c) {
    uint8_t row[4];
    for (int x = 0; x < 4; x++) row[x] = mean3(above[x - 1], above[x], above[x + 1]);
    for (int y = 0; y < 4; y++) memcpy(dst + y * stride, row, 4);
}

static LEAT_FN_WEBP_PREDICT_4(h_4_c) {
    int before = above[-1];
    for (int y = 0; y < 4; y++, dst += stride) {
        const int own = dst[-1];
        memset(dst, mean3(before, own, y < 3 ? dst[stride - 1] : own), 4);
        before = own;
    }
}

/* The nine samples around the block's upper left corner, from the lowest one on the left to the last one above. */
static void load_corner(uint8_t e[9], const uint8_t *dst, ptrdiff_t stride, const uint8_t *above) {
    for (int y = 0; y < 4; y++) e[3 - y] = dst[y * stride - 1];
    memcpy(e + 4, above - 1, 5);
}

static LEAT_FN_WEBP_PREDICT_4(rd_4_c) {
    uint8_t e[9], d[7];
    load_corner(e, dst, stride, above);
    for (int i = 0; i < 7; i++) d[i] = mean3(e[i], e[i + 1], e[i + 2]);
    for (int y = 0; y < 4; y++) memcpy(dst + y * stride, d + 3 - y, 4);
}

static LEAT_FN_WEBP_PREDICT_4(vr_4_c) {
    uint8_t e[9];
    load_corner(e, dst, stride, above);
    const uint8_t even[5] = {mean3(e[2], e[3], e[4]), mean2(e[4], e[5]), mean2(e[5], e[6]), mean2(e[6], e[7]),
                             mean2(e[7], e[8])};
    const uint8_t odd[5] = {mean3(e[1], e[2], e[3]), mean3(e[3], e[4], e[5]), mean3(e[4], e[5], e[6]),
                            mean3(e[5], e[6], e[7]), mean3(e[6], e[7], e[8])};
    memcpy(dst, even + 1, 4);
    memcpy(dst + stride, odd + 1, 4);
    memcpy(dst + 2 * stride, even, 4);
    memcpy(dst + 3 * stride, odd, 4);
}

static LEAT_FN_WEBP_PREDICT_4(ld_4_c) {
    uint8_t d[7];
    for (int i = 0; i < 7; i++) d[i] = mean3(above[i], above[i + 1], above[LEAT_MIN(i + 2, 7)]);
    for (int y = 0; y < 4; y++) memcpy(dst + y * stride, d + y, 4);
}

/* The last samples of its last two rows break the pattern. */
static LEAT_FN_WEBP_PREDICT_4(vl_4_c) {
    uint8_t even[5], odd[6];
    for (int i = 0; i < 5; i++) even[i] = mean2(above[i], above[i + 1]);
    for (int i = 0; i < 6; i++) odd[i] = mean3(above[i], above[i + 1], above[i + 2]);
    even[4] = odd[4], odd[4] = odd[5];
    memcpy(dst, even, 4);
    memcpy(dst + stride, odd, 4);
    memcpy(dst + 2 * stride, even + 1, 4);
    memcpy(dst + 3 * stride, odd + 1, 4);
}

static LEAT_FN_WEBP_PREDICT_4(hd_4_c) {
    uint8_t e[9], d[10];
    load_corner(e, dst, stride, above);
    for (int y = 0; y < 4; y++) {
        d[2 * y] = mean2(e[y], e[y + 1]);
        d[2 * y + 1] = mean3(e[y], e[y + 1], e[y + 2]);
    }
    d[8] = mean3(e[4], e[5], e[6]);
    d[9] = mean3(e[5], e[6], e[7]);
    for (int y = 0; y < 4; y++) memcpy(dst + y * stride, d + 2 * (3 - y), 4);
}

static LEAT_FN_WEBP_PREDICT_4(hu_4_c) {
    (void)above;
    const int i = dst[-1], j = dst[stride - 1], k = dst[2 * stride - 1], l = dst[3 * stride - 1];
    const uint8_t last = (uint8_t)l;
    const uint8_t d[10] = {mean2(i, j),    mean3(i, j, k), mean2(j, k), mean3(j, k, l), mean2(k, l),
                           mean3(k, l, l), last,           last,        last,           last};
    for (int y = 0; y < 4; y++) memcpy(dst + y * stride, d + 2 * y, 4);
}

/* ----------------------------------------------------------------------------------- inverse transform */

/* Times the square root of 2 and the cosine, or the sine, of an eighth of pi. */
static int by_cosine(int v) {
    return v + (v * 20091 >> 16);
}

static int by_sine(int v) {
    return v * 35468 >> 16;
}

static LEAT_FN_WEBP_ADD(add_c) {
    int t[16];
    for (int x = 0; x < 4; x++) {
        const int16_t *v = values + x;
        const int a = v[0] + v[32], b = v[0] - v[32], c = by_sine(v[16]) - by_cosine(v[48]),
                  d = by_cosine(v[16]) + by_sine(v[48]);
        t[x] = a + d, t[4 + x] = b + c, t[8 + x] = b - c, t[12 + x] = a - d;
    }
    for (int y = 0; y < 4; y++, dst += stride) {
        const int *v = t + 4 * y;
        const int a = v[0] + v[2] + 4, b = v[0] - v[2] + 4, c = by_sine(v[1]) - by_cosine(v[3]),
                  d = by_cosine(v[1]) + by_sine(v[3]);
        dst[0] = clip(dst[0] + ((a + d) >> 3));
        dst[1] = clip(dst[1] + ((b + c) >> 3));
        dst[2] = clip(dst[2] + ((b - c) >> 3));
        dst[3] = clip(dst[3] + ((a - d) >> 3));
        memset(values + 16 * y, 0, 4 * sizeof *values);
    }
}

static LEAT_FN_WEBP_ADD(add_first_c) {
    const int by = (values[0] + 4) >> 3;
    for (int y = 0; y < 4; y++, dst += stride)
        for (int x = 0; x < 4; x++) dst[x] = clip(dst[x] + by);
    values[0] = 0;
}

static LEAT_FN_WEBP_ADD_GROUP(add_group_c) {
    add_c(a, stride, values);
    add_c(a + 4, stride, values + 4);
    add_c(b, stride, values + 8);
    add_c(b + 4, stride, values + 12);
}

void leat__webp_dsp_init_predict_c(leat__webp_dsp *dsp) {
    static const leat__webp_dsp plain = {
        .predict_4 = {[LEAT_WEBP_DC] = dc_4_c,
                      [LEAT_WEBP_TM] = tm_4_c,
                      [LEAT_WEBP_V] = v_4_c,
                      [LEAT_WEBP_H] = h_4_c,
                      [LEAT_WEBP_RD] = rd_4_c,
                      [LEAT_WEBP_VR] = vr_4_c,
                      [LEAT_WEBP_LD] = ld_4_c,
                      [LEAT_WEBP_VL] = vl_4_c,
                      [LEAT_WEBP_HD] = hd_4_c,
                      [LEAT_WEBP_HU] = hu_4_c},
        .predict_16 = {dc_16_c, tm_16_c, v_16_c, h_16_c, dc_left_16_c, dc_above_16_c, dc_none_16_c},
        .predict_8 = {dc_8_c, tm_8_c, v_8_c, h_8_c, dc_left_8_c, dc_above_8_c, dc_none_8_c},
    };
    memcpy(dsp->predict_4, plain.predict_4, sizeof plain.predict_4);
    memcpy(dsp->predict_16, plain.predict_16, sizeof plain.predict_16);
    memcpy(dsp->predict_8, plain.predict_8, sizeof plain.predict_8);
    dsp->add = add_c;
    dsp->add_first = add_first_c;
    dsp->add_group = add_group_c;
}
