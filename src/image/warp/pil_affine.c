/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow has one way for matrices that only scale, one in fixed point for other matrices, one in doubles for
 * pictures that are too large for it, and one for filters. They round differently, so all four are here.
 *
 * The ways of the nearest pixel test every pixel for being inside. Here the part of a row that is inside is
 * found first, by solving the inequalities in whole numbers, and the loop over it is free of tests. */
#include "image/warp/pil_affine.h"

#include "base/maths.h"

typedef struct canvas {
    uint8_t *dst;
    const uint8_t *src;
    int height, width, channels;
    const uint8_t *fill;
} canvas;

static size_t row_bytes(const canvas *c) {
    return (size_t)c->width * (size_t)c->channels;
}

/* Pixels [from, to) of row y. */
static void fill_run(const canvas *c, int y, int from, int to) {
    uint8_t *p = c->dst + (size_t)y * row_bytes(c) + (size_t)from * (size_t)c->channels;
    if (from >= to) return;
    if (c->channels == 1) {
        memset(p, c->fill[0], (size_t)(to - from));
        return;
    }
    for (int x = from; x < to; x++, p += c->channels)
        for (int k = 0; k < c->channels; k++) p[k] = c->fill[k];
}

static void copy_pixel(uint8_t *dst, const uint8_t *src, int channels) {
    for (int k = 0; k < channels; k++) dst[k] = src[k];
}

/* -------------------------------------------------------------------------------------------- nearest */

static int64_t floor_div(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Narrows [*from, *to) to those x with 0 <= start + step * x < limit. */
static void narrow(int64_t start, int64_t step, int64_t limit, int *from, int *to) {
    int64_t lo = *from, hi = *to;
    if (step == 0) {
        if (start < 0 || start >= limit) hi = lo;
    } else if (step > 0) {
        lo = LEAT_MAX(lo, -floor_div(start, step));
        hi = LEAT_MIN(hi, floor_div(limit - 1 - start, step) + 1);
    } else {
        lo = LEAT_MAX(lo, -floor_div(limit - 1 - start, -step));
        hi = LEAT_MIN(hi, floor_div(start, -step) + 1);
    }
    *from = (int)LEAT_MIN(lo, hi);
    *to = (int)hi;
    if (*from >= *to) *from = *to = 0;
}

static int64_t fixed(double v) {
    v = v * 65536.0 + 0.5;
    const int64_t whole = (int64_t)v;
    return whole - (v < (double)whole);
}

typedef struct walk { /* along a row of dst: where its next pixel comes from, in 16.16 */
    int32_t x, y, step_x, step_y;
} walk;

/* The last step may leave the range. */
static inline void step(walk *w) {
    w->x = (int32_t)((uint32_t)w->x + (uint32_t)w->step_x);
    w->y = (int32_t)((uint32_t)w->y + (uint32_t)w->step_y);
}

static inline const uint8_t *source_of(const canvas *c, const walk *w, size_t stride, int channels) {
    return c->src + (size_t)(w->y >> 16) * stride + (size_t)(w->x >> 16) * (size_t)channels;
}

static inline void take(const canvas *c, uint8_t *out, int n, walk w, int channels) {
    const size_t stride = row_bytes(c);
    for (int i = 0; i < n; i++, out += channels, step(&w))
        copy_pixel(out, source_of(c, &w, stride, channels), channels);
}

/* Three bytes go as four, of which the next pixel overwrites the last; not at the picture's end, and not the
 * last one of a row. */
static void take_rgb(const canvas *c, uint8_t *out, int n, walk w) {
    const size_t stride = row_bytes(c);
    const uint8_t *end = c->src + (size_t)c->height * stride;
    for (int i = 0; i + 1 < n; i++, out += 3, step(&w)) {
        const uint8_t *p = source_of(c, &w, stride, 3);
        if (LEAT_LIKELY(end - p >= 4)) memcpy(out, p, 4);
        else memcpy(out, p, 3);
    }
    take(c, out, 1, w, 3);
}

static void nearest_fixed(const canvas *c, const double m[6]) {
    const int64_t a0 = fixed(m[0]), a1 = fixed(m[1]), a3 = fixed(m[3]), a4 = fixed(m[4]);
    int64_t x0 = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5), y0 = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    const size_t channels = (size_t)c->channels;
    for (int y = 0; y < c->height; y++, x0 += a1, y0 += a4) {
        int from = 0, to = c->width;
        narrow(x0, a0, (int64_t)c->width << 16, &from, &to);
        narrow(y0, a3, (int64_t)c->height << 16, &from, &to);
        fill_run(c, y, 0, from);
        uint8_t *out = c->dst + (size_t)y * row_bytes(c) + (size_t)from * channels;
        const walk w = {(int32_t)(x0 + a0 * from), (int32_t)(y0 + a3 * from), (int32_t)a0, (int32_t)a3};
        const int n = to - from;
        if (n > 0 && a0 == 65536 && a3 == 0) /* a row in one piece, as shears along x have it */
            memcpy(out, source_of(c, &w, row_bytes(c), c->channels), (size_t)n * channels);
        else if (n > 0 && channels == 3) take_rgb(c, out, n, w);
        else if (channels == 1) take(c, out, n, w, 1);
        else take(c, out, n, w, c->channels);
        fill_run(c, y, to, c->width);
    }
}

/* Fixed point holds what lies within 15 bits of the corner. */
static bool is_near(const double m[6], double x, double y) {
    const double u = x * m[0] + y * m[1] + m[2], v = x * m[3] + y * m[4] + m[5];
    return u > -32768.0 && u < 32768.0 && v > -32768.0 && v < 32768.0;
}

/* Whole pixels to the right and down: rows in one piece. */
static void move(const canvas *c, int right, int down) {
    const int from = LEAT_CLAMP(right, 0, c->width), to = LEAT_CLAMP(c->width + right, from, c->width);
    for (int y = 0; y < c->height; y++) {
        const int64_t v = (int64_t)y - down;
        if (v < 0 || v >= c->height || from == to) {
            fill_run(c, y, 0, c->width);
            continue;
        }
        const size_t bytes = (size_t)(to - from) * (size_t)c->channels;
        fill_run(c, y, 0, from);
        memcpy(c->dst + (size_t)y * row_bytes(c) + (size_t)from * (size_t)c->channels,
               c->src + (size_t)v * row_bytes(c) + (size_t)(from - right) * (size_t)c->channels, bytes);
        fill_run(c, y, to, c->width);
    }
}

static int coordinate(double v, int limit) {
    return v < 0 || v >= limit ? -1 : (int)v;
}

/* A position that goes on by the same step sums up its rounding errors: so does Pillow's. Scaling takes each
 * axis by itself. */
static void nearest_stepped(const canvas *c, const double m[6]) {
    double row_x = m[2] + m[1] * 0.5 + m[0] * 0.5, row_y = m[5] + m[4] * 0.5 + m[3] * 0.5;
    if (m[1] == 0 && m[3] == 0) row_x = m[2] + m[0] * 0.5, row_y = m[5] + m[4] * 0.5;
    uint8_t *out = c->dst;
    for (int y = 0; y < c->height; y++, row_x += m[1], row_y += m[4]) {
        double u = row_x, v = row_y;
        for (int x = 0; x < c->width; x++, out += c->channels, u += m[0], v += m[3]) {
            const int i = coordinate(u, c->width), j = coordinate(v, c->height);
            copy_pixel(out,
                       i < 0 || j < 0 ? c->fill
                                      : c->src + (size_t)j * row_bytes(c) + (size_t)i * (size_t)c->channels,
                       c->channels);
        }
    }
}

static bool is_whole(double x) {
    return x > -1e9 && x < 1e9 && x == (double)(int)x;
}

static void nearest(const canvas *c, const double m[6]) {
    if (m[1] == 0 && m[3] == 0) {
        if (m[0] == 1 && m[4] == 1 && is_whole(m[2]) && is_whole(m[5])) move(c, -(int)m[2], -(int)m[5]);
        else nearest_stepped(c, m);
    } else if (is_near(m, 0, 0) && is_near(m, c->width, c->height) && is_near(m, 0, c->height) &&
               is_near(m, c->width, 0)) {
        nearest_fixed(c, m);
    } else {
        nearest_stepped(c, m);
    }
}

/* ------------------------------------------------------------------------------------------- bilinear */

/* Pixels always have four values, so that compilers use vectors; those beyond `channels` are 0. */
static inline void load_pixel(int32_t value[4], const uint8_t *p, int channels) {
    for (int k = 0; k < 4; k++) value[k] = k < channels ? p[k] : 0;
}

/* Where a pixel of dst lies between those of src, or nowhere. */
typedef struct place {
    int x, y; /* of the first of the two along each axis: -1 before the edge */
    double tx, ty;
} place;

static inline bool find_place(const canvas *c, double u, double v, place *at) {
    if (!(u >= 0 && u < c->width && v >= 0 && v < c->height)) return false;
    u -= 0.5, v -= 0.5;
    at->x = u < 0 ? -1 : (int)u;
    at->y = v < 0 ? -1 : (int)v;
    at->tx = u - at->x;
    at->ty = v - at->y;
    return true;
}

static inline void sample(const canvas *c, uint8_t *out, const place *at, int channels) {
    const size_t stride = row_bytes(c);
    const uint8_t *top = c->src + (size_t)LEAT_MAX(at->y, 0) * stride;
    const size_t left = (size_t)LEAT_MAX(at->x, 0) * (size_t)channels;
    const size_t right = (size_t)LEAT_MIN(at->x + 1, c->width - 1) * (size_t)channels;
    int32_t corner[4][4], value[4];
    load_pixel(corner[0], top + left, channels);
    load_pixel(corner[1], top + right, channels);
    if (at->ty == 0) { /* the row itself: the one below has no share */
        for (int k = 0; k < 4; k++)
            value[k] = (int32_t)(corner[0][k] + (corner[1][k] - corner[0][k]) * at->tx);
    } else {
        const uint8_t *bottom = at->y + 1 < c->height ? c->src + (size_t)(at->y + 1) * stride : top;
        load_pixel(corner[2], bottom + left, channels);
        load_pixel(corner[3], bottom + right, channels);
        for (int k = 0; k < 4; k++) {
            const double a = corner[0][k] + (corner[1][k] - corner[0][k]) * at->tx;
            const double b = corner[2][k] + (corner[3][k] - corner[2][k]) * at->tx;
            value[k] = (int32_t)(a + (b - a) * at->ty);
        }
    }
    for (int k = 0; k < channels; k++) out[k] = (uint8_t)value[k];
}

static inline void bilinear_run(const canvas *c, const leat__pil_row *row, uint8_t *out, int from, int to,
                                int channels) {
    place at;
    for (int x = from; x < to; x++) {
        uint8_t *pixel = out + (size_t)x * (size_t)channels;
        if (find_place(c, leat__pil_along(row, x), leat__pil_down(row, x), &at))
            sample(c, pixel, &at, channels);
        else copy_pixel(pixel, c->fill, channels);
    }
}

static LEAT_FN_PIL_BLEND(pil_blend_c) {
    for (size_t i = 0; i < n; i++) leat__pil_blend_pixel(dst + 3 * i, src, row, row->x + (int)i);
}

void leat__image_dsp_init_pil_affine_c(leat__image_dsp *dsp) {
    dsp->pil_blend = pil_blend_c;
}

/* Whether the kernel may take the pixel x. */
static bool is_inner(const canvas *c, const leat__pil_row *row, int x) {
    const double u = leat__pil_along(row, x) - 0.5, v = leat__pil_down(row, x) - 0.5;
    return u >= 0 && u < c->width - 2 && v >= 0 && v < c->height - 1;
}

/* Narrows [*from, *to) to those x with 0 <= start + step * x < limit, but for rounding. */
static void narrow_nearly(double start, double step, double limit, double *from, double *to) {
    const double low = step > 0 ? -start / step : (limit - start) / step;
    const double high = step > 0 ? (limit - start) / step : -start / step;
    if (step == 0) return;
    if (low > *from) *from = low;
    if (high < *to) *to = high;
}

/* Pixels [*from, *to) of a row are inner ones. Along a row positions only grow or only shrink, rounding included: what lies
 * between two inner pixels is inner. */
static void find_inner(const canvas *c, const leat__pil_row *row, int *from, int *to) {
    double low = 0, high = c->width;
    narrow_nearly(leat__pil_along(row, 0) - 0.5, row->m[0], c->width - 2, &low, &high);
    narrow_nearly(leat__pil_down(row, 0) - 0.5, row->m[3], c->height - 1, &low, &high);
    *from = *to = 0;
    if (!(low < high)) return;
    *from = (int)low;
    *to = LEAT_MIN((int)high + 1, c->width);
    while (*from < *to && !is_inner(c, row, *from)) ++*from;
    while (*from < *to && !is_inner(c, row, *to - 1)) --*to;
}

static void bilinear_row(const leat__image_dsp *dsp, const canvas *c, const double m[6], int y) {
    uint8_t *out = c->dst + (size_t)y * row_bytes(c);
    leat__pil_row row = {m, m[1] * (y + 0.5), m[4] * (y + 0.5), row_bytes(c), 0};
    int from, to;
    if (c->channels != 3 || row.stride > UINT32_MAX) {
        bilinear_run(c, &row, out, 0, c->width, c->channels);
        return;
    }
    find_inner(c, &row, &from, &to);
    bilinear_run(c, &row, out, 0, from, 3);
    row.x = from;
    if (from < to) dsp->pil_blend(out + 3 * (size_t)from, c->src, &row, (size_t)(to - from));
    bilinear_run(c, &row, out, to, c->width, 3);
}

void leat__pil_affine(const leat__image_dsp *dsp, uint8_t *dst, const uint8_t *src, int height, int width,
                      int channels, const double m[6], bool bilinear, const uint8_t *fill) {
    const canvas c = {dst, src, height, width, channels, fill};
    const bool moves = m[0] == 1 && m[1] == 0 && m[3] == 0 && m[4] == 1 && is_whole(m[2]) && is_whole(m[5]);
    if (!bilinear || moves) { /* whole pixels have nothing between them */
        nearest(&c, m);
        return;
    }
    for (int y = 0; y < height; y++) bilinear_row(dsp, &c, m, y);
}

/* --------------------------------------------------------------------------------------------- rotate */

/* Quarters of a turn counter-clockwise; odd ones of a square only. */
static void turn(const canvas *c, int quarters) {
    const int n = c->width;
    uint8_t *out = c->dst;
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < n; x++, out += c->channels) {
            const int v = quarters == 1 ? x : quarters == 2 ? c->height - 1 - y : n - 1 - x;
            const int u = quarters == 1 ? n - 1 - y : quarters == 2 ? n - 1 - x : y;
            copy_pixel(out, c->src + (size_t)v * row_bytes(c) + (size_t)u * (size_t)c->channels, c->channels);
        }
}

/* Pillow keeps 15 decimals, so that a quarter of a turn has a cosine of 0. The product is exact, since one
 * that is rounded can turn into a tie. |x| <= 1. */
static double decimals15(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int shift = 1075 - (int)(bits >> 52 & 2047);
    if (shift > 110) return 0;
    const uint64_t mantissa = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1) << 52;
    const __uint128_t product = (__uint128_t)mantissa * UINT64_C(1000000000000000);
    const __uint128_t half = (__uint128_t)1 << (shift - 1), rest = product & (half + (half - 1));
    uint64_t whole = (uint64_t)(product >> shift);
    if (rest > half || (rest == half && (whole & 1))) whole++;
    return (double)(x < 0 ? -(int64_t)whole : (int64_t)whole) / 1e15;
}

void leat__pil_rotate(const leat__image_dsp *dsp, uint8_t *dst, const uint8_t *src, int height, int width,
                      int channels, double degrees, bool bilinear, const uint8_t *fill) {
    const canvas c = {dst, src, height, width, channels, fill};
    if (degrees < 0) degrees += 360.0;
    if (degrees == 0 || degrees == 360.0) {
        memcpy(dst, src, row_bytes(&c) * (size_t)height);
        return;
    }
    if (degrees == 180.0 || ((degrees == 90.0 || degrees == 270.0) && height == width)) {
        turn(&c, (int)(degrees / 90.0));
        return;
    }
    const double angle = -(degrees * 0x1.1df46a2529d39p-6); /* pi / 180 */
    const double cosine = decimals15(leat__cos(angle)), sine = decimals15(leat__sin(angle));
    const double x = width / 2.0, y = height / 2.0;
    const double m[6] = {cosine, sine,   cosine * -x + sine * -y + 0.0 + x,
                         -sine,  cosine, -sine * -x + cosine * -y + 0.0 + y};
    leat__pil_affine(dsp, dst, src, height, width, channels, m, bilinear, fill);
}
