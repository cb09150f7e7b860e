/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling tables of one axis: which source pixels make an output pixel, and with what weights.
 *
 * With flip the entries stand in reversed order, so that a mirrored row costs nothing.
 *
 * nearest      lower.
 * TF_BILINEAR  lower, upper, lerp. lerp is 0 where lower = upper; otherwise upper = lower + 1.
 * other TF     lower, count, weight: count weights from pixel lower on, then zeros up to max_taps. A tap past
 *              the last pixel (TF_AREA has them where positions round up) stands for the last pixel.
 *              spread holds the same weights for vector code: vectors of eight, max_taps for each group of
 *              outputs; value j of group g belongs to output g * (8 / lanes) + j / lanes.
 * other PIL    lower, count, coef: count weights of 22 fractional bits from pixel lower on.
 *              split holds the same weights as halves, weight = hi * 2^11 + lo, for vector code: vectors
 *              of eight dwords, a dword being the weights of two neighbouring taps, hi then lo for each of
 *              n_pairs; dwords belong to outputs as the values of spread do.
 *              pick is for rows of one channel where each four outputs take their pixels from 16 neighbours: 16 bytes
 *              for each four, which shuffle their first pairs out of the 16 bytes at begin; the second pairs lie two
 *              bytes further, and so on. No such load leaves the row: where weights would reach beyond its end they
 *              stand in split as if the output began earlier, with zeros in front. */
#ifndef LEAT_IMAGE_RESAMPLE_TAPS_H
#define LEAT_IMAGE_RESAMPLE_TAPS_H

#include "base/mem.h"

/* AA: antialiased, the filter widens when the picture shrinks. Pillow's always do. */
typedef enum leat__resample {
    LEAT_RESAMPLE_NONE,
    LEAT_RESAMPLE_TF_NEAREST,
    LEAT_RESAMPLE_TF_BILINEAR,
    LEAT_RESAMPLE_TF_BICUBIC,
    LEAT_RESAMPLE_TF_AREA,
    LEAT_RESAMPLE_TF_BILINEAR_AA,
    LEAT_RESAMPLE_TF_BICUBIC_AA,
    LEAT_RESAMPLE_TF_LANCZOS3,
    LEAT_RESAMPLE_TF_LANCZOS3_AA,
    LEAT_RESAMPLE_TF_LANCZOS5,
    LEAT_RESAMPLE_TF_LANCZOS5_AA,
    LEAT_RESAMPLE_TF_GAUSSIAN,
    LEAT_RESAMPLE_TF_GAUSSIAN_AA,
    LEAT_RESAMPLE_TF_MITCHELL,
    LEAT_RESAMPLE_TF_MITCHELL_AA,
    LEAT_RESAMPLE_PIL_NEAREST,
    LEAT_RESAMPLE_PIL_BOX,
    LEAT_RESAMPLE_PIL_BILINEAR,
    LEAT_RESAMPLE_PIL_HAMMING,
    LEAT_RESAMPLE_PIL_BICUBIC,
    LEAT_RESAMPLE_PIL_LANCZOS,
    LEAT_N_RESAMPLES
} leat__resample;

static inline bool leat__resample_is_pil(leat__resample method) {
    return method >= LEAT_RESAMPLE_PIL_NEAREST;
}
static inline bool leat__resample_is_nearest(leat__resample method) {
    return method == LEAT_RESAMPLE_TF_NEAREST || method == LEAT_RESAMPLE_PIL_NEAREST;
}
/* The other methods keep the type. */
static inline bool leat__resample_gives_f32(leat__resample method) {
    return method >= LEAT_RESAMPLE_TF_BILINEAR && method <= LEAT_RESAMPLE_TF_MITCHELL_AA;
}
/* tf.image's lanczos, gaussian and mitchellcubic change a picture also when its size stays. */
static inline bool leat__resample_keeps_same_size(leat__resample method) {
    return method < LEAT_RESAMPLE_TF_LANCZOS3 || method > LEAT_RESAMPLE_TF_MITCHELL_AA;
}

#define LEAT_PIL_BITS 22
#define LEAT_PIL_SPLIT 11
#define LEAT_TAPS_SIZE_MAX (1 << 24) /* pixels of an axis: positions are float32 */

typedef struct leat__taps { /* zeroed = empty                                    */
    leat__resample method;
    int n_in, n_out, lanes;
    bool flip;
    int max_taps;  /* most taps that any output has                     */
    int n_pairs;   /* PIL: (max_taps + 1) / 2                           */
    int coef_step; /* from the weights of one output to those of the next */
    int32_t *lower;
    int32_t *upper;
    int32_t *count;
    float *lerp;
    int32_t *coef;
    int16_t *split; /* 32-byte aligned; NULL if lanes is 0               */
    int32_t *begin;
    int8_t *pick; /* 32-byte aligned; NULL if lanes is not 1 or pixels lie too far apart */
    float scale;  /* TF_AREA: source pixels for an output pixel        */
    float *weight;
    float *spread; /* 32-byte aligned; NULL if lanes is 0               */
    leat__buf buf;
} leat__taps;

/* Does nothing when the table is already the one asked for. */
int leat__taps_build(leat__taps *taps, leat__resample method, int n_in, int n_out, bool flip, int lanes,
                     leat_error *err);
void leat__taps_free(leat__taps *taps);

#endif
