/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on one value, written once: for the C kernels and the scalar heads and tails of vector code. */
#ifndef LEAT_IMAGE_PASS_POINT_H
#define LEAT_IMAGE_PASS_POINT_H

#include "image/dsp.h"

static inline float leat__chain_apply(const leat__chain *chain, float x, size_t phase) {
    for (int s = 0; s < chain->n; s++) {
        x = x * chain->mul[s][phase];
        x = x + chain->add[s][phase];
    }
    return x;
}

/* Pixel i of n RGB pixels, counted from the end. */
static inline void leat__rgb8_turned(float *dst, const uint8_t *src, size_t i, size_t n,
                                     const leat__chain *chain) {
    for (size_t c = 0; c < 3; c++) dst[3 * i + c] = leat__chain_apply(chain, src[3 * (n - 1 - i) + c], c);
}

static inline float leat__lerp(float a, float b, float t) {
    return a + (b - a) * t;
}

static inline uint8_t leat__u8_from_f32(float x) {
    if (!(x > 0.0f)) return 0; /* also NaN */
    return x >= 255.0f ? 255 : (uint8_t)x;
}

/* As the vector instructions choose: the bound when x is NaN. */
static inline float leat__clamp_f32(float x, float low, float high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* A NaN keeps its top bits and is quiet, as processors convert it. */
static inline uint16_t leat__half_from_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff));
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 is nearer to 65536 */
    if (size >= 0x38800000) return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
    /* Steps of 2^-24, as floats from 0.5 on have them: the sum is rounded as it must be. */
    uint32_t sum_bits;
    const float sum = (x < 0 ? -x : x) + 0.5f;
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    return (uint16_t)(sign | (sum_bits - 0x3f000000));
}

static inline uint16_t leat__bf16_from_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline void leat__tf_pixel_u8(float *dst, const uint8_t *src, const leat__taps *taps, int i,
                                     int channels) {
    const uint8_t *a = src + (size_t)taps->lower[i] * (size_t)channels;
    const uint8_t *b = src + (size_t)taps->upper[i] * (size_t)channels;
    for (int c = 0; c < channels; c++) dst[c] = leat__lerp(a[c], b[c], taps->lerp[i]);
}

static inline uint8_t leat__pil_clip(int32_t sum) {
    const int32_t x = sum >> LEAT_PIL_BITS;
    return (uint8_t)LEAT_CLAMP(x, 0, 255);
}

static inline void leat__pil_pixel(uint8_t *dst, const uint8_t *src, const leat__taps *taps, int i,
                                   int channels) {
    const int32_t *coef = taps->coef + (size_t)i * (size_t)taps->coef_step;
    const uint8_t *first = src + (size_t)taps->lower[i] * (size_t)channels;
    const int count = taps->count[i];
    for (int c = 0; c < channels; c++) {
        int32_t sum = 1 << (LEAT_PIL_BITS - 1);
        for (int t = 0; t < count; t++) sum += first[(size_t)t * (size_t)channels + (size_t)c] * coef[t];
        dst[c] = leat__pil_clip(sum);
    }
}

static inline void leat__sum_pixel(float *dst, const float *src, const leat__taps *taps, int i,
                                   int channels) {
    const float *weight = taps->weight + (size_t)i * (size_t)taps->coef_step;
    for (int c = 0; c < channels; c++) {
        float sum = 0.0f;
        for (int t = 0; t < taps->max_taps; t++) {
            const int x = LEAT_MIN(taps->lower[i] + t, taps->n_in - 1);
            sum = sum + src[(size_t)x * (size_t)channels + (size_t)c] * weight[t];
        }
        dst[c] = sum;
    }
}

static inline void leat__alpha_multiply_pixel(uint8_t *dst, const uint8_t *src, int channels) {
    const unsigned alpha = src[channels - 1];
    for (int c = 0; c + 1 < channels; c++) {
        const unsigned x = src[c] * alpha + 128;
        dst[c] = (uint8_t)((x + (x >> 8)) >> 8);
    }
    dst[channels - 1] = (uint8_t)alpha;
}

static inline void leat__alpha_divide_pixel(uint8_t *dst, const uint8_t *src, int channels) {
    const unsigned alpha = src[channels - 1];
    for (int c = 0; c + 1 < channels; c++) {
        const unsigned x = alpha == 0 || alpha == 255 ? src[c] : 255u * src[c] / alpha;
        dst[c] = (uint8_t)LEAT_MIN(x, 255u);
    }
    dst[channels - 1] = (uint8_t)alpha;
}

static inline uint8_t leat__pil_column(const uint8_t *const *rows, const int32_t *coef, int n_taps,
                                       size_t i) {
    int32_t sum = 1 << (LEAT_PIL_BITS - 1);
    for (int t = 0; t < n_taps; t++) sum += rows[t][i] * coef[t];
    return leat__pil_clip(sum);
}

static inline float leat__sum_column_u8(const void *const *rows, const float *weight, int n_taps, float scale,
                                        size_t i) {
    float sum = 0.0f;
    for (int t = 0; t < n_taps; t++) sum = sum + (float)((const uint8_t *)rows[t])[i] * weight[t];
    return sum * scale;
}

static inline float leat__sum_column_f32(const void *const *rows, const float *weight, int n_taps,
                                         float scale, size_t i) {
    float sum = 0.0f;
    for (int t = 0; t < n_taps; t++) sum = sum + ((const float *)rows[t])[i] * weight[t];
    return sum * scale;
}

/* The first sum pushes the fraction out of the mantissa. What is too large for that is too large for a byte. */
static inline uint8_t leat__sum_column_round(const void *const *rows, const float *weight, int n_taps,
                                             size_t i) {
    const float sum = leat__sum_column_f32(rows, weight, n_taps, 1.0f, i);
    return leat__u8_from_f32((sum + 0x1.8p23f) - 0x1.8p23f);
}

#endif
