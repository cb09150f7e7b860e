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

#include "image/colour/stats.h"
#include "image/image.h"
#include "image/resample/taps.h"
#include "image/warp/warp.h"

#define LEAT_ROW_PAD 64

/* Up to six affine point operations, x*mul then +add, each rounded. The channels' factors are repeated so
 * that a vector of eight can be loaded at any channel: 24 is the first multiple of 8 that 1, 2, 3 and 4
 * divide, and 4 more allow a start at any channel. */
#define LEAT_CHAIN_STAGES 6
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
/* Three rows of one channel, which begin so many bytes after one another; taps have the lanes of one channel. Each row of
 * dst is written up to the next multiple of 8. */
#define LEAT_FN_PIL_H_PLANES(name) \
    void name(uint8_t *dst, size_t dst_apart, const uint8_t *src, size_t src_apart, const leat__taps *taps)
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
/* Of floats, rounded to the nearest whole number (halves to even) and kept within a byte; NaN is 0. */
#define LEAT_FN_SUM_V_ROUND(name) \
    void name(uint8_t *dst, const void *const *rows, const float *weight, int n_taps, size_t n)

/* n values, the first of channel 0, through the chain. stream asks for non-temporal stores. from_f32 works
 * in place. lerp first takes top + (bottom - top) * t. */
#define LEAT_FN_FROM_U8(name) \
    void name(float *dst, const uint8_t *src, size_t n, const leat__chain *chain, bool stream)
#define LEAT_FN_FROM_F32(name) \
    void name(float *dst, const float *src, size_t n, const leat__chain *chain, bool stream)
#define LEAT_FN_LERP(name)                                                          \
    void name(float *dst, const float *top, const float *bottom, float t, size_t n, \
              const leat__chain *chain, bool stream)

/* n RGB pixels, the last one first. With stream, dst begins a cache line and n is a multiple of 16. */
#define LEAT_FN_FROM_RGB8_TURNED(name) \
    void name(float *dst, const uint8_t *src, size_t n, const leat__chain *chain, bool stream)

/* The same as bytes. With stream, dst is aligned to 32 bytes and n is a multiple of 32. */
#define LEAT_FN_RGB8_TURNED(name) void name(uint8_t *dst, const uint8_t *src, size_t n, bool stream)

/* n pixels into planes that begin plane values apart. */
#define LEAT_FN_PLANAR_FROM_U8(name)                                                \
    void name(float *dst, size_t plane, const uint8_t *src, size_t n, int channels, \
              const leat__chain *chain, bool stream)
#define LEAT_FN_PLANAR_FROM_F32(name)                                                                       \
    void name(float *dst, size_t plane, const float *src, size_t n, int channels, const leat__chain *chain, \
              bool stream)
#define LEAT_FN_PLANAR_U8(name) \
    void name(uint8_t *dst, size_t plane, const uint8_t *src, size_t n, int channels)
#define LEAT_FN_PLANAR_U16(name) \
    void name(uint16_t *dst, size_t plane, const uint16_t *src, size_t n, int channels)

/* Toward zero, saturating, NaN is 0. */
#define LEAT_FN_U8_FROM_F32(name) void name(uint8_t *dst, const float *src, size_t n)
/* f16 or bf16, nearest even; what is too large is infinite, a NaN stays one. dst is aligned to 2 bytes. */
#define LEAT_FN_HALF_FROM_F32(name) void name(uint16_t *dst, const float *src, size_t n, bool stream)
#define LEAT_FN_FROM_U16(name) \
    void name(float *dst, const uint16_t *src, size_t n, const leat__chain *chain, bool stream)
#define LEAT_FN_COPY(name) void name(void *dst, const void *src, size_t bytes, bool stream)
/* The last pixel becomes the first. */
#define LEAT_FN_REVERSE(name) void name(void *dst, const void *src, size_t n, size_t pixel_bytes)
/* dst may be src. */
#define LEAT_FN_LUT(name) void name(uint8_t *dst, const uint8_t *src, const uint8_t lut[256], size_t n)
/* n pixels of up to four channels, each with its own table. dst may be src. */
#define LEAT_FN_LUT_EACH(name) \
    void name(uint8_t *dst, const uint8_t *src, const uint8_t(*lut)[256], size_t n, int channels)
/* In place: no less than low, then no more than high; NaN becomes low. */
#define LEAT_FN_CLAMP(name) void name(float *values, size_t n, float low, float high)
/* n pixels whose last channel is alpha: colours times alpha, and back, as Pillow rounds. dst may be src. */
#define LEAT_FN_ALPHA(name) void name(uint8_t *dst, const uint8_t *src, size_t n, int channels)

/* What mixes the channels of a pixel, or depends on where it lies: see colour.h. */
typedef enum leat__pixels_kind {
    LEAT_PIXELS_SATURATION,       /* tf.image.adjust_saturation                               */
    LEAT_PIXELS_HUE,              /* tf.image.adjust_hue                                      */
    LEAT_PIXELS_SATURATION_HUE,   /* the first, then the second, in one sweep                 */
    LEAT_PIXELS_KERAS_SATURATION, /* keras.layers.RandomSaturation                            */
    LEAT_PIXELS_KERAS_HUE,        /* keras.layers.RandomHue                                   */
    LEAT_PIXELS_GRAY,             /* tf.image.rgb_to_grayscale, in all channels               */
    LEAT_PIXELS_DEGENERATE,       /* keras.layers.RandomColorDegeneration                     */
    LEAT_PIXELS_GAMMA,            /* tf.image.adjust_gamma                                    */
    LEAT_PIXELS_NOISE,            /* torchvision's GaussianNoise                              */
    LEAT_PIXELS_PIL_COLOR,        /* u8 only: Pillow's ImageEnhance.Color                     */
    LEAT_PIXELS_PIL_GRAY,         /* u8 only: Pillow's convert("L"), in all channels          */
    LEAT_PIXELS_PIL_HUE,          /* u8 only: torchvision's adjust_hue of a Pillow image      */
    LEAT_N_PIXELS
} leat__pixels_kind;
typedef struct leat__pixel_args {
    float p[8];
    uint64_t key;   /* of random numbers                       */
    uint64_t first; /* number of the first pixel in its picture */
} leat__pixel_args;
/* n pixels in place; the first three channels are red, green and blue. */
#define LEAT_FN_PIXELS(name) void name(float *values, size_t n, int channels, const leat__pixel_args *args)
/* The same on bytes from src to dst, which may be src. */
#define LEAT_FN_PIXELS_U8(name) \
    void name(uint8_t *dst, const uint8_t *src, size_t n, int channels, const leat__pixel_args *args)
/* In place: dst * own + other * others, in f32; u8 is rounded to the nearest. The shares add up to 1. */
#define LEAT_FN_MIX_F32(name) void name(float *dst, const float *other, size_t n, float own, float others)
#define LEAT_FN_MIX_U8(name) void name(uint8_t *dst, const uint8_t *other, size_t n, float own, float others)

/* Adds a row to what stats->flags ask for. */
#define LEAT_FN_STATS_U8(name) \
    void name(leat__stats *stats, const uint8_t *row, size_t n_pixels, int channels)
#define LEAT_FN_STATS_F32(name) void name(leat__stats *stats, const float *row, size_t n_pixels, int channels)

/* Warps, order 1. The places of n_rows rows of the output, y and then y + step and so on, one row behind the other;
 * LEAT_PLACES_PAD more may be written. Source rows and columns are at most 65536, a picture less than 2 GiB. */
#define LEAT_FN_WARP_PLACE(name) \
    void name(const leat__places *to, const leat__grid *grid, int y, int step, int n_rows)
/* The pixels at n places, none of which is -1: weighed with those `right` and `below` bytes further (0: there are none,
 * and their share is 0). Nothing is read but the picture. */
#define LEAT_FN_WARP_BLEND(name)                                                                \
    void name(float *dst, const void *src, const leat__places *from, size_t n, ptrdiff_t right, \
              ptrdiff_t below, int channels)

/* Pillow's bilinear affine transform (pil_affine.h): n RGB pixels of a row, from number x on. The pixel x shows what lies at
 * (m0 (x + 0.5) + across + m2, m3 (x + 0.5) + down + m5) of src. All lie between four pixels of src, and there is one more to
 * the right of these. A row of src has less than 4 GiB. */
typedef struct leat__pil_row {
    const double *m;
    double across, down;
    size_t stride;
    int x;
} leat__pil_row;
#define LEAT_FN_PIL_BLEND(name) \
    void name(uint8_t *dst, const uint8_t *src, const leat__pil_row *row, size_t n)

/* Arrays of five: 1 to 4 channels, and 0 for any number. */
typedef struct leat__image_dsp {
    LEAT_FN_TF_H_U8((*tf_h_u8[5]));
    LEAT_FN_TF_H_F32((*tf_h_f32));
    LEAT_FN_PIL_H((*pil_h[5]));
    LEAT_FN_PIL_H_PLANES((*pil_h_planes));
    LEAT_FN_SUM_H((*sum_h[5]));
    int lanes[5]; /* what leat__taps_build must lay out for pil_h and sum_h */
    LEAT_FN_PIL_V((*pil_v));
    LEAT_FN_SUM_V((*sum_v_u8));
    LEAT_FN_SUM_V((*sum_v_f32));
    LEAT_FN_SUM_V_ROUND((*sum_v_round));
    LEAT_FN_NEAREST((*nearest));
    LEAT_FN_FROM_U8((*from_u8));
    LEAT_FN_FROM_F32((*from_f32));
    LEAT_FN_FROM_RGB8_TURNED((*from_rgb8_turned));
    LEAT_FN_RGB8_TURNED((*rgb8_turned));
    LEAT_FN_LERP((*lerp));
    LEAT_FN_PLANAR_FROM_U8((*planar_from_u8[5]));
    LEAT_FN_PLANAR_FROM_F32((*planar_from_f32[5]));
    LEAT_FN_PLANAR_U8((*planar_u8[5]));
    LEAT_FN_U8_FROM_F32((*u8_from_f32));
    LEAT_FN_FROM_U16((*from_u16));
    LEAT_FN_PLANAR_U16((*planar_u16[5]));
    LEAT_FN_HALF_FROM_F32((*half_from_f32));
    LEAT_FN_HALF_FROM_F32((*bf16_from_f32));
    LEAT_FN_COPY((*copy));
    LEAT_FN_REVERSE((*reverse));
    LEAT_FN_LUT((*lut));
    LEAT_FN_LUT_EACH((*lut_each));
    LEAT_FN_CLAMP((*clamp));
    LEAT_FN_ALPHA((*alpha_multiply));
    LEAT_FN_ALPHA((*alpha_divide));
    LEAT_FN_MIX_F32((*mix_f32));
    LEAT_FN_MIX_U8((*mix_u8));
    LEAT_FN_PIXELS((*pixels[LEAT_N_PIXELS])); /* NULL where there is none for floats */
    LEAT_FN_PIXELS_U8((*pixels_u8[LEAT_N_PIXELS]));
    LEAT_FN_STATS_U8((*stats_u8));
    LEAT_FN_STATS_F32((*stats_f32));
    LEAT_FN_WARP_PLACE((*warp_place[2])); /* by leat__warp_rule */
    LEAT_FN_WARP_BLEND((*warp_blend_u8[5]));
    LEAT_FN_WARP_BLEND((*warp_blend_f32[5]));
    LEAT_FN_PIL_BLEND((*pil_blend));
} leat__image_dsp;

/* cpu_flags as leat__cpu_flags gives them; 0 = plain C. */
void leat__image_dsp_init(leat__image_dsp *dsp, unsigned cpu_flags);

/* The parts of it, by file. */
void leat__image_dsp_init_resample_c(leat__image_dsp *dsp);
void leat__image_dsp_init_point_c(leat__image_dsp *dsp);
void leat__image_dsp_init_line_c(leat__image_dsp *dsp);
void leat__image_dsp_init_stats_c(leat__image_dsp *dsp);
void leat__image_dsp_init_mix_c(leat__image_dsp *dsp);
void leat__image_dsp_init_half_c(leat__image_dsp *dsp);
void leat__image_dsp_init_colour_c(leat__image_dsp *dsp);
void leat__image_dsp_init_warp_c(leat__image_dsp *dsp);
void leat__image_dsp_init_pil_affine_c(leat__image_dsp *dsp);

static inline int leat__image_dsp_index(int channels) {
    return channels <= 4 ? channels : 0;
}

#endif
