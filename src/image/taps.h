/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling tables of one axis: which source pixels make an output pixel, and with what weights.
 *
 * With flip the entries stand in reversed order, so that a mirrored row costs nothing.
 *
 * TF_BILINEAR  lower, upper, lerp. lerp is 0 where lower = upper; otherwise upper = lower + 1.
 * TF_NEAREST   lower.
 * PIL_BILINEAR lower, count, coef: count weights of 22 fractional bits from pixel lower on.
 *              split holds the same weights as halves, weight = hi * 2^11 + lo, for vector code: vectors
 *              of eight dwords, a dword being the weights of two neighbouring taps, hi then lo for each of
 *              n_pairs; dword j of group g belongs to output g * (8 / lanes) + j / lanes. */
#ifndef LEAT_IMAGE_TAPS_H
#define LEAT_IMAGE_TAPS_H

#include "base/mem.h"

typedef enum leat__resample {
    LEAT_RESAMPLE_NONE,
    LEAT_RESAMPLE_TF_NEAREST,
    LEAT_RESAMPLE_TF_BILINEAR,
    LEAT_RESAMPLE_PIL_BILINEAR
} leat__resample;

#define LEAT_PIL_BITS 22
#define LEAT_PIL_SPLIT 11
#define LEAT_TAPS_SIZE_MAX (1 << 24) /* pixels of an axis: positions are float32 */

typedef struct leat__taps { /* zeroed = empty                                    */
    leat__resample method;
    int n_in, n_out, lanes;
    bool flip;
    int max_taps;  /* PIL: most taps that any output has                */
    int n_pairs;   /* (max_taps + 1) / 2                                */
    int coef_step; /* from the weights of one output to those of the next */
    int32_t *lower;
    int32_t *upper;
    int32_t *count;
    float *lerp;
    int32_t *coef;
    int16_t *split; /* 32-byte aligned; NULL if lanes is 0               */
    leat__buf buf;
} leat__taps;

/* Does nothing when the table is already the one asked for. */
int leat__taps_build(leat__taps *taps, leat__resample method, int n_in, int n_out, bool flip, int lanes,
                     leat_error *err);
void leat__taps_free(leat__taps *taps);

#endif
