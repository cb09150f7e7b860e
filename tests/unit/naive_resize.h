/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing, one output value at a time from the definition: what the fused pass is compared with. */
#ifndef LEAT_TESTS_UNIT_NAIVE_RESIZE_H
#define LEAT_TESTS_UNIT_NAIVE_RESIZE_H

#include <math.h>
#include <stdlib.h>

#include "image/pass/pass.h"

#define SIDE_MAX 70
#define VALUES_MAX (SIDE_MAX * SIDE_MAX * 5)

typedef struct picture {
    int height, width, channels, dtype;
    union {
        uint8_t u8[VALUES_MAX + 64];
        float f32[VALUES_MAX + 16];
    };
} picture;

static float value_at(const picture *p, int y, int x, int c) {
    const int i = (y * p->width + x) * p->channels + c;
    return p->dtype == LEAT_DTYPE_U8 ? (float)p->u8[i] : p->f32[i];
}

/* Pillow adds the step up, tf.image multiplies it. */
static int nearest_at(bool pil, int n_in, int n_out, int o) {
    const double step = (double)n_in / n_out;
    double pos = step / 2;
    for (int i = 0; i < o; i++) pos += step;
    const float product = ((float)o + 0.5f) * ((float)n_in / (float)n_out);
    return LEAT_MIN(pil ? (int)pos : (int)floorf(product), n_in - 1);
}

static void naive_nearest(bool pil, picture *out, const picture *in) {
    for (int y = 0; y < out->height; y++)
        for (int x = 0; x < out->width; x++)
            for (int c = 0; c < out->channels; c++) {
                const int v = nearest_at(pil, in->height, out->height, y);
                const int u = nearest_at(pil, in->width, out->width, x);
                const int i = (y * out->width + x) * out->channels + c;
                if (in->dtype == LEAT_DTYPE_U8) out->u8[i] = (uint8_t)value_at(in, v, u, c);
                else out->f32[i] = value_at(in, v, u, c);
            }
}

static void naive_linear(picture *out, const picture *in) {
    const float sy = (float)in->height / (float)out->height, sx = (float)in->width / (float)out->width;
    for (int y = 0; y < out->height; y++)
        for (int x = 0; x < out->width; x++)
            for (int c = 0; c < out->channels; c++) {
                const float v = ((float)y + 0.5f) * sy - 0.5f, u = ((float)x + 0.5f) * sx - 0.5f;
                const int y0 = LEAT_MAX((int)floorf(v), 0), y1 = LEAT_MIN((int)ceilf(v), in->height - 1);
                const int x0 = LEAT_MAX((int)floorf(u), 0), x1 = LEAT_MIN((int)ceilf(u), in->width - 1);
                const float ty = v - floorf(v), tx = u - floorf(u);
                const float tl = value_at(in, y0, x0, c), tr = value_at(in, y0, x1, c);
                const float bl = value_at(in, y1, x0, c), br = value_at(in, y1, x1, c);
                const float top = tl + (tr - tl) * tx, bottom = bl + (br - bl) * tx;
                out->f32[(y * out->width + x) * out->channels + c] = top + (bottom - top) * ty;
            }
}

/* tf.image's curves, in float32 as far as they go. */
static float naive_curve(leat__resample method, float x) {
    const float pi = 3.14159265359f;
    float r = 5.0f;
    x = fabsf(x);
    switch (method) {
    case LEAT_RESAMPLE_TF_LANCZOS3:
    case LEAT_RESAMPLE_TF_LANCZOS3_AA: r = 3.0f; /* fall through */
    case LEAT_RESAMPLE_TF_LANCZOS5:
    case LEAT_RESAMPLE_TF_LANCZOS5_AA:
        if (x > r) return 0;
        if (x <= 1e-3) return 1;
        return r * (float)sin(pi * x) * (float)sin(pi * x / r) / (pi * pi * x * x);
    case LEAT_RESAMPLE_TF_GAUSSIAN:
    case LEAT_RESAMPLE_TF_GAUSSIAN_AA: return x >= 1.5f ? 0 : (float)exp(-x * x / 0.5);
    case LEAT_RESAMPLE_TF_MITCHELL:
    case LEAT_RESAMPLE_TF_MITCHELL_AA:
        if (x >= 2) return 0;
        if (x >= 1) return ((-7.0f / 18.0f * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
        return ((7.0f / 6.0f * x - 2.0f) * x) * x + 8.0f / 9.0f;
    case LEAT_RESAMPLE_TF_BICUBIC_AA:
        if (x >= 2) return 0;
        if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
        return ((1.5f * x - 2.5f) * x) * x + 1.0f;
    default: return x < 1 ? 1 - x : 0;
    }
}

static float naive_radius(leat__resample method) {
    float r = 0; /* the curves end where they are 0 from then on */
    for (float x = 0.25f; x < 6; x += 0.5f)
        if (naive_curve(method, x) != 0) r = x + 0.25f;
    return r;
}

/* Weights of all source pixels for output o; those that do not take part are 0. */
static void naive_weights(leat__resample method, int n_in, int n_out, int o, float w[SIDE_MAX + 1]) {
    const float scale = (float)n_in / (float)n_out;
    memset(w, 0, (SIDE_MAX + 1) * sizeof(float));
    float sum = 0;
    if (method == LEAT_RESAMPLE_TF_AREA) { /* w[n_in] is a second share of the last pixel */
        const float from = (float)o * scale, to = (float)(o + 1) * scale;
        for (int i = (int)from; (float)i < to; i++) {
            w[i] = (float)i >= from ? 1.0f : (float)(i + 1) - from;
            if ((float)(i + 1) > to) w[i] = (float)i < from ? scale : to - (float)i;
        }
        return;
    }
    if (method == LEAT_RESAMPLE_TF_BICUBIC) {
        const float pos = ((float)o + 0.5f) * scale - 0.5f;
        for (int i = 0; i < n_in; i++) {
            const int part = (int)lrintf((pos - floorf(pos)) * 1024.0f);
            const double x = abs(i - (int)floorf(pos)) < 3 ? fabs(i - floorf(pos) - part / 1024.0) : 9;
            if (i < floorf(pos) - 1 || i > floorf(pos) + 2) continue;
            const bool near = i == floorf(pos) || i == floorf(pos) + 1;
            w[i] = near ? (float)((1.5 * x - 2.5) * x * x + 1) : (float)(((-0.5 * x + 2.5) * x - 4) * x + 2);
            sum += w[i];
        }
    } else {
        const bool widens = method != LEAT_RESAMPLE_TF_LANCZOS3 && method != LEAT_RESAMPLE_TF_LANCZOS5 &&
                            method != LEAT_RESAMPLE_TF_GAUSSIAN && method != LEAT_RESAMPLE_TF_MITCHELL;
        const float inverse = (float)(1.0 / ((float)n_out / (float)n_in));
        const float k = widens && inverse > 1 ? inverse : 1, reach = naive_radius(method) * k;
        const float s = ((float)o + 0.5f) * inverse;
        for (int i = 0; i < n_in; i++) {
            if ((float)i < ceilf(s - reach - 0.5f) || (float)i > floorf(s + reach - 0.5f)) continue;
            w[i] = naive_curve(method, ((float)i + 0.5f - s) * (1.0f / k));
            sum += w[i];
        }
    }
    for (int i = 0; i < n_in; i++) w[i] *= 1.0f / sum;
}

/* Columns first, then rows; area the other way round. */
static void naive_weighted(leat__resample method, picture *out, const picture *in) {
    static float mid[VALUES_MAX];
    const int ch = in->channels, h = in->height, w = in->width;
    float k[SIDE_MAX + 1];
    if (method == LEAT_RESAMPLE_TF_AREA) {
        const float sx = (float)w / (float)out->width, sy = (float)h / (float)out->height;
        for (int x = 0; x < out->width; x++) {
            naive_weights(method, w, out->width, x, k);
            for (int y = 0; y < h; y++)
                for (int c = 0; c < ch; c++) {
                    float sum = 0;
                    for (int i = 0; i <= w; i++) sum += value_at(in, y, LEAT_MIN(i, w - 1), c) * k[i];
                    mid[(y * out->width + x) * ch + c] = sum;
                }
        }
        for (int y = 0; y < out->height; y++) {
            naive_weights(method, h, out->height, y, k);
            for (int x = 0; x < out->width * ch; x++) {
                float sum = 0;
                for (int i = 0; i <= h; i++) sum += mid[LEAT_MIN(i, h - 1) * out->width * ch + x] * k[i];
                out->f32[y * out->width * ch + x] = sum * (1.0f / (sx * sy));
            }
        }
        return;
    }
    for (int y = 0; y < out->height; y++) {
        naive_weights(method, h, out->height, y, k);
        for (int x = 0; x < w * ch; x++) {
            float sum = 0;
            for (int i = 0; i < h; i++) sum += value_at(in, i, x / ch, x % ch) * k[i];
            mid[y * w * ch + x] = sum;
        }
    }
    for (int x = 0; x < out->width; x++) {
        naive_weights(method, w, out->width, x, k);
        for (int y = 0; y < out->height; y++)
            for (int c = 0; c < ch; c++) {
                float sum = 0;
                for (int i = 0; i < w; i++) sum += mid[(y * w + i) * ch + c] * k[i];
                out->f32[(y * out->width + x) * ch + c] = sum;
            }
    }
}

static double naive_sinc(double x) {
    return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI);
}

static double naive_pil_curve(leat__resample method, double x) {
    const double d = fabs(x);
    switch (method) {
    case LEAT_RESAMPLE_PIL_BOX: return x > -0.5 && x <= 0.5;
    case LEAT_RESAMPLE_PIL_HAMMING: return d < 1 ? naive_sinc(d) * (0.54f + 0.46f * cos(d * M_PI)) : 0;
    case LEAT_RESAMPLE_PIL_BICUBIC:
        return d < 1 ? (1.5 * d - 2.5) * d * d + 1 : d < 2 ? (((d - 5) * d + 8) * d - 4) * -0.5 : 0;
    case LEAT_RESAMPLE_PIL_LANCZOS: return x >= -3 && x < 3 ? naive_sinc(x) * naive_sinc(x / 3) : 0;
    default: return d < 1 ? 1 - d : 0;
    }
}

/* One axis of Pillow's resize; the other has `n` lines, `step` and `line` values apart. */
static void naive_pil_axis(leat__resample method, uint8_t *dst, const uint8_t *src, int n_in, int n_out,
                           int step, int n, int line_in, int line_out) {
    static const double reach[] = {0.5, 1, 1, 2, 3};
    const double scale = (double)n_in / n_out, widening = scale < 1.0 ? 1.0 : scale;
    const double support = reach[method - LEAT_RESAMPLE_PIL_BOX] * widening;
    for (int o = 0; o < n_out; o++) {
        double w[SIDE_MAX], sum = 0;
        const double centre = (o + 0.5) * scale;
        int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);
        if (first < 0) first = 0;
        if (end > n_in) end = n_in;
        for (int i = first; i < end; i++) {
            w[i - first] = naive_pil_curve(method, (i - centre + 0.5) * (1.0 / widening));
            sum += w[i - first];
        }
        for (int l = 0; l < n; l++) {
            int total = 1 << 21;
            for (int i = first; i < end; i++)
                total += src[l * line_in + i * step] * (int)round(w[i - first] / sum * (1 << 22));
            total >>= 22;
            dst[l * line_out + o * step] = (uint8_t)LEAT_CLAMP(total, 0, 255);
        }
    }
}

static void naive_pil(leat__resample method, picture *out, const picture *in) {
    static uint8_t a[VALUES_MAX], b[VALUES_MAX];
    const int ch = in->channels, wide = in->width * ch, narrow = out->width * ch;
    const bool alpha = ch == 2 || ch == 4;
    memcpy(a, in->u8, (size_t)(in->height * wide));
    for (int i = 0; alpha && i < in->height * in->width; i++)
        for (int c = 0; c < ch - 1; c++) { /* round(x * alpha / 255) */
            const int x = a[i * ch + c] * a[i * ch + ch - 1] + 128;
            a[i * ch + c] = (uint8_t)((x + x / 256) / 256);
        }
    if (in->width == out->width) {
        memcpy(b, a, (size_t)(in->height * wide));
    } else {
        for (int y = 0; y < in->height; y++)
            for (int c = 0; c < ch; c++)
                naive_pil_axis(method, b + y * narrow + c, a + y * wide + c, in->width, out->width, ch, 1, 0,
                               0);
    }
    if (in->height == out->height) memcpy(out->u8, b, (size_t)(out->height * narrow));
    else naive_pil_axis(method, out->u8, b, in->height, out->height, narrow, narrow, 1, 1);
    for (int i = 0; alpha && i < out->height * out->width; i++) {
        const int factor = out->u8[i * ch + ch - 1];
        for (int c = 0; c < ch - 1 && factor > 0 && factor < 255; c++)
            out->u8[i * ch + c] = (uint8_t)LEAT_MIN(255 * out->u8[i * ch + c] / factor, 255);
    }
}

#endif
