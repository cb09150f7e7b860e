/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hot kernels. The plain C version of each is its specification; another instruction set
 * replaces entries and gives the same bits, floats too: no fused multiply-add, one order of operations.
 *
 * Each prototype is written once, as a macro, and used by all versions, the table and the kernel test.
 * Kernels read nothing outside their input rows. They write nothing outside their output, except that rows
 * marked "padded" have LEAT_ROW_PAD bytes of room after their end. Floats are aligned as floats, to no more.
 * dst and src must not overlap unless a line says so. */
#ifndef LEAT_IMAGE_DSP_H
#define LEAT_IMAGE_DSP_H

#include "image/image.h"
#include "image/taps.h"

#define LEAT_ROW_PAD 64

/* Up to four affine point operations, x*mul then +add, each rounded. The channels' factors are repeated so
 * that a vector of eight can be loaded at any channel: 24 is the first multiple of 8 that 1, 2, 3 and 4
 * divide, and 4 more allow a start at any channel. */
#define LEAT_CHAIN_STAGES 4
#define LEAT_CHAIN_PERIOD 24
typedef struct leat__chain {
    int n;
    int channels; /* 1 to 4; 1 also when all channels are alike */
    float mul[LEAT_CHAIN_STAGES][LEAT_CHAIN_PERIOD + 4];
    float add[LEAT_CHAIN_STAGES][LEAT_CHAIN_PERIOD + 4];
} leat__chain;

/* One source row to one row of taps->n_out pixels; dst is padded. */
#define LEAT_FN_TF_H_U8(name) void name(float *dst, const uint8_t *src, const leat__taps *taps, int channels)
#define LEAT_FN_TF_H_F32(name) void name(float *dst, const float *src, const leat__taps *taps, int channels)
#define LEAT_FN_PIL_H(name) void name(uint8_t *dst, const uint8_t *src, const leat__taps *taps, int channels)
#define LEAT_FN_NEAREST(name) \
    void name(void *dst, const void *src, const leat__taps *taps, size_t pixel_bytes)
/* Weighted sums of pixels, tap after tap, all max_taps of them; dst is padded. */
#define LEAT_FN_SUM_H(name) void name(float *dst, const float *src, const leat__taps *taps, int channels)
/* Weighted sum of n_taps rows of n bytes. */
#define LEAT_FN_PIL_V(name) \
    void name(uint8_t *dst, const uint8_t *const *rows, const int32_t *coef, int n_taps, size_t n)
/* The same of floats or bytes, tap after tap; at last the sum is multiplied by scale. */
#define LEAT_FN_SUM_V(name) \
    void name(float *dst, const void *const *rows, const float *weight, int n_taps, float scale, size_t n)

/* n values, the first of channel 0, through the chain. stream asks for non-temporal stores. from_f32 works
 * in place. lerp first takes top + (bottom - top) * t. */
#define LEAT_FN_FROM_U8(name) \
    void name(float *dst, const uint8_t *src, size_t n, const leat__chain *chain, bool stream)
#define LEAT_FN_FROM_F32(name) \
    void name(float *dst, const float *src, size_t n, const leat__chain *chain, bool stream)
#define LEAT_FN_LERP(name)                                                          \
    void name(float *dst, const float *top, const float *bottom, float t, size_t n, \
              const leat__chain *chain, bool stream)

/* n pixels into planes that begin plane values apart. */
#define LEAT_FN_PLANAR_FROM_U8(name)                                                \
    void name(float *dst, size_t plane, const uint8_t *src, size_t n, int channels, \
              const leat__chain *chain, bool stream)
#define LEAT_FN_PLANAR_FROM_F32(name)                                                                       \
    void name(float *dst, size_t plane, const float *src, size_t n, int channels, const leat__chain *chain, \
              bool stream)
#define LEAT_FN_PLANAR_U8(name) \
    void name(uint8_t *dst, size_t plane, const uint8_t *src, size_t n, int channels)

/* Toward zero, saturating, NaN is 0. */
#define LEAT_FN_U8_FROM_F32(name) void name(uint8_t *dst, const float *src, size_t n)
#define LEAT_FN_COPY(name) void name(void *dst, const void *src, size_t bytes, bool stream)
/* The last pixel becomes the first. */
#define LEAT_FN_REVERSE(name) void name(void *dst, const void *src, size_t n, size_t pixel_bytes)
/* dst may be src. */
#define LEAT_FN_LUT(name) void name(uint8_t *dst, const uint8_t *src, const uint8_t lut[256], size_t n)
/* n pixels whose last channel is alpha: colours times alpha, and back, as Pillow rounds. dst may be src. */
#define LEAT_FN_ALPHA(name) void name(uint8_t *dst, const uint8_t *src, size_t n, int channels)

/* Arrays of five: 1 to 4 channels, and 0 for any number. */
typedef struct leat__image_dsp {
    LEAT_FN_TF_H_U8((*tf_h_u8[5]));
    LEAT_FN_TF_H_F32((*tf_h_f32));
    LEAT_FN_PIL_H((*pil_h[5]));
    LEAT_FN_SUM_H((*sum_h[5]));
    int lanes[5]; /* what leat__taps_build must lay out for pil_h and sum_h */
    LEAT_FN_PIL_V((*pil_v));
    LEAT_FN_SUM_V((*sum_v_u8));
    LEAT_FN_SUM_V((*sum_v_f32));
    LEAT_FN_NEAREST((*nearest));
    LEAT_FN_FROM_U8((*from_u8));
    LEAT_FN_FROM_F32((*from_f32));
    LEAT_FN_LERP((*lerp));
    LEAT_FN_PLANAR_FROM_U8((*planar_from_u8[5]));
    LEAT_FN_PLANAR_FROM_F32((*planar_from_f32[5]));
    LEAT_FN_PLANAR_U8((*planar_u8[5]));
    LEAT_FN_U8_FROM_F32((*u8_from_f32));
    LEAT_FN_COPY((*copy));
    LEAT_FN_REVERSE((*reverse));
    LEAT_FN_LUT((*lut));
    LEAT_FN_ALPHA((*alpha_multiply));
    LEAT_FN_ALPHA((*alpha_divide));
} leat__image_dsp;

/* cpu_flags as leat__cpu_flags gives them; 0 = plain C. */
void leat__image_dsp_init(leat__image_dsp *dsp, unsigned cpu_flags);

/* The parts of it, by file. */
void leat__image_dsp_init_resample_c(leat__image_dsp *dsp);
void leat__image_dsp_init_point_c(leat__image_dsp *dsp);
void leat__image_dsp_init_line_c(leat__image_dsp *dsp);

static inline int leat__image_dsp_index(int channels) {
    return channels <= 4 ? channels : 0;
}

#endif
