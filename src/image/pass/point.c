/* SPDX-License-Identifier: Apache-2.0 */
/* Point operations and stores in plain C: the specification. */
#include "image/pass/point.h"

/* Blocks of one period keep the phase a plain loop index. */
#define SWEEP(value)                                                        \
    do {                                                                    \
        (void)stream;                                                       \
        for (size_t base = 0; base < n; base += LEAT_CHAIN_PERIOD) {        \
            const size_t m = LEAT_MIN(n - base, (size_t)LEAT_CHAIN_PERIOD); \
            for (size_t k = 0; k < m; k++) {                                \
                const size_t i = base + k;                                  \
                dst[i] = leat__chain_apply(chain, (value), k);              \
            }                                                               \
        }                                                                   \
    } while (0)

static LEAT_FN_FROM_U8(from_u8_c) {
    SWEEP(src[i]);
}

static LEAT_FN_FROM_F32(from_f32_c) {
    SWEEP(src[i]);
}

static LEAT_FN_LERP(lerp_c) {
    SWEEP(leat__lerp(top[i], bottom[i], t));
}

/* Beyond four channels all have the same factors. */
#define PLANAR                                                                                   \
    do {                                                                                         \
        (void)stream;                                                                            \
        for (int c = 0; c < channels; c++) {                                                     \
            float *out = dst + (size_t)c * plane;                                                \
            const size_t phase = channels <= 4 ? (size_t)c : 0;                                  \
            for (size_t i = 0; i < n; i++)                                                       \
                out[i] = leat__chain_apply(chain, src[i * (size_t)channels + (size_t)c], phase); \
        }                                                                                        \
    } while (0)

static LEAT_FN_PLANAR_FROM_U8(planar_from_u8_c) {
    PLANAR;
}

static LEAT_FN_PLANAR_FROM_F32(planar_from_f32_c) {
    PLANAR;
}

static LEAT_FN_PLANAR_U8(planar_u8_c) {
    for (int c = 0; c < channels; c++) {
        uint8_t *out = dst + (size_t)c * plane;
        for (size_t i = 0; i < n; i++) out[i] = src[i * (size_t)channels + (size_t)c];
    }
}

static LEAT_FN_U8_FROM_F32(u8_from_f32_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__u8_from_f32(src[i]);
}

static LEAT_FN_FROM_RGB8_TURNED(from_rgb8_turned_c) {
    (void)stream;
    for (size_t i = 0; i < n; i++) leat__rgb8_turned(dst, src, i, n, chain);
}

static LEAT_FN_CLAMP(clamp_c) {
    for (size_t i = 0; i < n; i++) values[i] = leat__clamp_f32(values[i], low, high);
}

void leat__image_dsp_init_point_c(leat__image_dsp *dsp) {
    dsp->from_u8 = from_u8_c;
    dsp->from_f32 = from_f32_c;
    dsp->lerp = lerp_c;
    for (int k = 0; k < 5; k++) {
        dsp->planar_from_u8[k] = planar_from_u8_c;
        dsp->planar_from_f32[k] = planar_from_f32_c;
        dsp->planar_u8[k] = planar_u8_c;
    }
    dsp->u8_from_f32 = u8_from_f32_c;
    dsp->clamp = clamp_c;
    dsp->from_rgb8_turned = from_rgb8_turned_c;
}
