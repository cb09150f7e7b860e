/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing in plain C: the draws, the specification of the two kernels, and types and layouts around them. */
#include "image/pass/mix.h"

#include "base/maths.h"
#include "image/pass/convert.h"

bool leat__mix_knows(int dtype) {
    return dtype == LEAT_DTYPE_U8 || dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16 ||
           dtype == LEAT_DTYPE_F32;
}

/* --------------------------------------------------------------------------------------------- draws */

static const double two_pi = 6.283185307179586477;

/* Box and Muller: one of the two numbers, so that a draw needs no memory of the one before. */
static double draw_normal(leat__rng *rng) {
    const double radius = leat__sqrt(-2 * leat__log(1 - leat__rng_unit(rng)));
    return radius * leat__cos(two_pi * leat__rng_unit(rng));
}

/* The logarithm of a draw from Gamma(shape): Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
 * Below 1 the shape is raised by one and the draw multiplied by a power of a uniform one, which may be far too small for
 * a double itself. */
double leat__mix_draw_log_gamma(leat__rng *rng, double shape) {
    enum { TRIES = 64 }; /* one in twenty fails at the most */
    double extra = 0;
    if (shape < 1) {
        extra = leat__log(1 - leat__rng_unit(rng)) / shape;
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / leat__sqrt(9 * d);
    for (int i = 0; i < TRIES; i++) {
        const double x = draw_normal(rng), root = 1 + c * x, v = root * root * root;
        const double u = 1 - leat__rng_unit(rng);
        if (v <= 0) continue;
        if (leat__log(u) < 0.5 * x * x + d * (1 - v + leat__log(v))) return leat__log(d * v) + extra;
    }
    return leat__log(d) + extra;
}

double leat__mix_draw_lambda(leat__rng *rng, double alpha) {
    const double a = leat__mix_draw_log_gamma(rng, alpha), b = leat__mix_draw_log_gamma(rng, alpha);
    return (float)(1 / (1 + leat__exp(b - a)));
}

leat__mix_box leat__mix_box_around(int x, int y, double lambda, int height, int width) {
    const double half = 0.5 * leat__sqrt(1 - lambda);
    const int half_width = (int)(half * width), half_height = (int)(half * height);
    return (leat__mix_box){.left = LEAT_MAX(x - half_width, 0),
                           .top = LEAT_MAX(y - half_height, 0),
                           .right = LEAT_MIN(x + half_width, width),
                           .bottom = LEAT_MIN(y + half_height, height)};
}

leat__mix_box leat__mix_draw_box(leat__rng *rng, double lambda, int height, int width) {
    const int x = (int)leat__rng_below(rng, (uint64_t)width), y = (int)leat__rng_below(rng, (uint64_t)height);
    return leat__mix_box_around(x, y, lambda, height, width);
}

double leat__mix_box_lambda(const leat__mix_box *box, int height, int width) {
    const int64_t area = (int64_t)(box->right - box->left) * (box->bottom - box->top);
    return 1 - (double)area / (double)((int64_t)width * height);
}

/* ------------------------------------------------------------------------------------------- kernels */

static LEAT_FN_MIX_F32(mix_f32_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__mix_f32(dst[i], other[i], own, others);
}

static LEAT_FN_MIX_U8(mix_u8_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__mix_u8(dst[i], other[i], own, others);
}

void leat__image_dsp_init_mix_c(leat__image_dsp *dsp) {
    dsp->mix_f32 = mix_f32_c;
    dsp->mix_u8 = mix_u8_c;
}

/* ----------------------------------------------------------------------------------- types and layouts */

static void mix_half(const leat__image_dsp *dsp, uint16_t *dst, const uint16_t *other, int dtype, size_t n,
                     float own, float others) {
    enum { BLOCK = 512 };
    float a[BLOCK], b[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t m = LEAT_MIN(n - done, (size_t)BLOCK);
        leat__convert(a, LEAT_DTYPE_F32, dst + done, dtype, m, false, 1, 0);
        leat__convert(b, LEAT_DTYPE_F32, other + done, dtype, m, false, 1, 0);
        dsp->mix_f32(a, b, m, own, others);
        leat__convert(dst + done, dtype, a, LEAT_DTYPE_F32, m, false, 1, 0);
    }
}

void leat__mix_blend(const leat__image_dsp *dsp, void *dst, const void *other, int dtype, size_t n,
                     double lambda) {
    const float own = (float)lambda, others = (float)(1 - lambda);
    if (dtype == LEAT_DTYPE_F32) dsp->mix_f32(dst, other, n, own, others);
    else if (dtype == LEAT_DTYPE_U8) dsp->mix_u8(dst, other, n, own, others);
    else mix_half(dsp, dst, other, dtype, n, own, others);
}

void leat__mix_paste(void *dst, const void *other, const leat__mix_shape *shape, const leat__mix_box *box) {
    if (box->left >= box->right) return;
    const size_t item = shape->dtype == LEAT_DTYPE_U8 ? 1 : shape->dtype == LEAT_DTYPE_F32 ? 4 : 2;
    const size_t pixel = item * (shape->nchw ? 1 : (size_t)shape->channels);
    const size_t row = pixel * (size_t)shape->width, plane = row * (size_t)shape->height;
    const size_t bytes = pixel * (size_t)(box->right - box->left);
    for (int c = 0; c < (shape->nchw ? shape->channels : 1); c++)
        for (int y = box->top; y < box->bottom; y++) {
            const size_t at = (size_t)c * plane + (size_t)y * row + (size_t)box->left * pixel;
            memcpy((uint8_t *)dst + at, (const uint8_t *)other + at, bytes);
        }
}
