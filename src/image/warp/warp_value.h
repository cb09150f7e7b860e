/* SPDX-License-Identifier: Apache-2.0 */
/* Positions and pixels of a warp one by one, written once: for the C kernels, the ends of vector loops, and
 * the rare ways to sample. Positions that are not near a picture are bounded first, so that they fit whole
 * numbers. */
#ifndef LEAT_IMAGE_WARP_WARP_VALUE_H
#define LEAT_IMAGE_WARP_WARP_VALUE_H

#include "image/warp/warp.h"

#define LEAT_WARP_FAR 1073741824.0 /* pixels; beyond lies nothing else than at the same place */

/* As the vector instructions choose: the bound when x is NaN. */
static inline double leat__bound(double x, double low, double high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}

static inline float leat__bound_f32(float x, float low, float high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}

static inline bool leat__warp_is_inside(double c, int n) {
    return c >= 0 && c <= n - 1;
}

/* Toward zero, of |x| < 2^31. */
static inline double leat__whole(double x) {
    return (double)(int32_t)x;
}

static inline float leat__whole_f32(float x) {
    return (float)(int32_t)x;
}

static inline float leat__floor_f32(float x) {
    const float toward = leat__whole_f32(x);
    return toward > x ? toward - 1.0f : toward;
}

/* --------------------------------------------------------------------------------------------- SciPy */

/* Adding this number to a position leaves the position in the last 32 bits of the sum, in fixed point. */
static inline double leat__grid_magic(const leat__grid *grid) {
    return (double)((uint64_t)1 << (52 - grid->bits));
}

static inline uint32_t leat__fixed(double c, double magic) {
    uint64_t bits;
    const double sum = c + magic;
    memcpy(&bits, &sum, sizeof bits);
    return (uint32_t)bits;
}

/* Of column i in row y of the output. Sums are in SciPy's order. */
static inline void leat__grid_position(const leat__grid *grid, int i, int y, double *cx, double *cy) {
    const double x = grid->mirrored ? grid->columns - 1 - i : i, *m = grid->m;
    *cx = (m[2] + y * m[1]) + x * m[0];
    *cy = (m[5] + y * m[4]) + x * m[3];
    if (grid->perspective) {
        const double w = (m[8] + y * m[7]) + x * m[6];
        *cx = *cx / w;
        *cy = *cy / w;
    }
}

/* As SciPy maps a position; reflections reach to half a pixel beyond the edge and further, up to one
 * pixel. */
static inline double leat__scipy_map(double c, int n, leat__warp_fill fill) {
    c = leat__bound(c, -LEAT_WARP_FAR, LEAT_WARP_FAR);
    const double size = n, twice = 2 * size, period = size - 1;
    if (fill == LEAT_WARP_REFLECT) {
        if (c < 0) {
            if (c < -twice) c = twice * leat__whole(-c / twice) + c;
            c = c < -size ? c + twice : (c > -1e-15 ? 1e-15 : -c) - 1;
        } else if (c > period) {
            c = c - twice * leat__whole(c / twice);
            if (c >= size) c = (twice - c) - 1;
        }
    } else if (fill == LEAT_WARP_WRAP && n > 1) {
        if (c < 0) c = c + period * (leat__whole(-c / period) + 1);
        else if (c > period) c = c - period * leat__whole(c / period);
    }
    return n > 1 ? c : leat__bound(c, 0, 0);
}

/* Back into [0, n - 1]: between the last pixel and its reflection there is nothing to interpolate. */
static inline double leat__scipy_fold(double c, int n, leat__warp_fill fill) {
    return leat__bound(leat__scipy_map(c, n, fill), 0, n - 1);
}

/* ---------------------------------------------------------------------------------------- TensorFlow */

static inline float leat__tf_divisor(const leat__grid *grid, int i, int y) {
    const float x = (float)(grid->mirrored ? grid->columns - 1 - i : i);
    return (grid->f[6] * x + grid->f[7] * (float)y) + 1.0f;
}

static inline void leat__tf_position(const leat__grid *grid, int i, int y, float *cx, float *cy) {
    const float x = (float)(grid->mirrored ? grid->columns - 1 - i : i), row = (float)y, *f = grid->f;
    *cx = (f[0] * x + f[1] * row) + f[2];
    *cy = (f[3] * x + f[4] * row) + f[5];
    if (grid->perspective) {
        const float w = leat__tf_divisor(grid, i, y);
        *cx = *cx / w;
        *cy = *cy / w;
    }
}

static inline float leat__tf_fold(float c, int n, leat__warp_fill fill) {
    c = leat__bound_f32(c, (float)-LEAT_WARP_FAR, (float)LEAT_WARP_FAR);
    const float size = (float)n, twice = (float)(2 * n), period = (float)(n - 1);
    if (n > 1 && fill == LEAT_WARP_REFLECT) {
        if (c < 0) {
            c = twice * leat__whole_f32(-c / twice) + c;
            c = c < -size ? c + twice : -c - 1.0f;
        } else if (c > period) {
            c = c - twice * leat__whole_f32(c / twice);
            if (c >= size) c = (twice - c) - 1.0f;
        }
    } else if (n > 1 && fill == LEAT_WARP_WRAP) {
        if (c < 0) c = c + size * (leat__whole_f32(-c / period) + 1.0f);
        else if (c > period) c = c - size * leat__whole_f32(c / period);
    }
    return leat__bound_f32(c, 0.0f, period);
}

/* ----------------------------------------------------------------------------------------- the pixel */

static inline float leat__blend(float a, float b, float c, float d, float x, float y) {
    const float top = (1.0f - x) * a + x * b, bottom = (1.0f - x) * c + x * d;
    return (1.0f - y) * top + y * bottom;
}

static inline void leat__blend_pixel_u8(float *dst, const uint8_t *p, float x, float y, ptrdiff_t right,
                                        ptrdiff_t below, int channels) {
    const uint8_t *q = p + below;
    for (int c = 0; c < channels; c++) dst[c] = leat__blend(p[c], p[right + c], q[c], q[right + c], x, y);
}

/* right and below are bytes, and whole floats. */
static inline void leat__blend_pixel_f32(float *dst, const uint8_t *bytes, float x, float y, ptrdiff_t right,
                                         ptrdiff_t below, int channels) {
    const float *p = (const float *)(const void *)bytes, *q = (const float *)(const void *)(bytes + below);
    right /= (ptrdiff_t)sizeof(float);
    for (int c = 0; c < channels; c++) dst[c] = leat__blend(p[c], p[right + c], q[c], q[right + c], x, y);
}

#endif
