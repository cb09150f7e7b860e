/* SPDX-License-Identifier: Apache-2.0 */
#include "image/taps.h"

/* The C library's floor and ceil are avoided: the same bits everywhere. */
static int floor_int(float x) {
    const int i = (int)x;
    return (float)i > x ? i - 1 : i;
}

static int ceil_int(float x) {
    const int i = (int)x;
    return (float)i < x ? i + 1 : i;
}

static int at(const leat__taps *taps, int i) {
    return taps->flip ? taps->n_out - 1 - i : i;
}

static void fill_nearest(leat__taps *taps) {
    const float scale = (float)taps->n_in / (float)taps->n_out;
    for (int i = 0; i < taps->n_out; i++) {
        const float pos = ((float)i + 0.5f) * scale;
        taps->lower[at(taps, i)] = LEAT_MIN(floor_int(pos), taps->n_in - 1);
    }
}

static void fill_linear(leat__taps *taps) {
    const float scale = (float)taps->n_in / (float)taps->n_out;
    const int last = taps->n_in - 1;
    for (int i = 0; i < taps->n_out; i++) {
        const float pos = ((float)i + 0.5f) * scale - 0.5f;
        const int floor_pos = floor_int(pos), o = at(taps, i);
        const int lower = LEAT_CLAMP(floor_pos, 0, last);
        const int upper = LEAT_CLAMP(ceil_int(pos), lower, last);
        taps->lower[o] = lower;
        taps->upper[o] = upper;
        /* Equal neighbours: the factor meets a difference of 0 and may as well be 0, and then vector code
         * may take any pixel for the upper one. */
        taps->lerp[o] = upper == lower ? 0.0f : pos - (float)floor_pos;
    }
}

static double triangle(double x) {
    if (x < 0.0) x = -x;
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Half the width of the filter in source pixels: it widens when the picture shrinks. */
static double pil_support(int n_in, int n_out) {
    const double scale = (double)n_in / n_out;
    return scale < 1.0 ? 1.0 : scale;
}

static int pil_taps_max(int n_in, int n_out) {
    const double support = pil_support(n_in, n_out);
    const int whole = (int)support;
    return 2 * (whole + (support > whole)) + 1;
}

/* Every operation is Pillow's, in its order and in double precision: a weight that differs in its last bit
 * would round to another integer now and then. */
static void fill_pil(leat__taps *taps, double *weight) {
    const double scale = (double)taps->n_in / taps->n_out;
    const double support = pil_support(taps->n_in, taps->n_out);
    const double shrink = 1.0 / support;
    taps->max_taps = 1;
    for (int i = 0; i < taps->n_out; i++) {
        const int o = at(taps, i);
        const double centre = (i + 0.5) * scale;
        const int first = LEAT_MAX((int)(centre - support + 0.5), 0);
        const int end = LEAT_MIN((int)(centre + support + 0.5), taps->n_in);
        const int n = LEAT_CLAMP(end - first, 0, taps->coef_step);
        double sum = 0.0;
        for (int t = 0; t < n; t++) {
            weight[t] = triangle((t + first - centre + 0.5) * shrink);
            sum += weight[t];
        }
        int32_t *coef = taps->coef + (size_t)o * (size_t)taps->coef_step;
        for (int t = 0; t < n; t++) {
            const double w = sum != 0.0 ? weight[t] / sum : weight[t];
            coef[t] = (int32_t)(0.5 + w * (1 << LEAT_PIL_BITS));
        }
        for (int t = n; t < taps->coef_step; t++) coef[t] = 0;
        taps->lower[o] = first;
        taps->count[o] = n;
        taps->max_taps = LEAT_MAX(taps->max_taps, n);
    }
    taps->n_pairs = (taps->max_taps + 1) / 2;
}

static void fill_split(leat__taps *taps) {
    const int per_group = 8 / taps->lanes;
    const int n_groups = (taps->n_out + per_group - 1) / per_group;
    uint32_t *out = (uint32_t *)(void *)taps->split;
    for (int g = 0; g < n_groups; g++)
        for (int p = 0; p < taps->n_pairs; p++, out += 16)
            for (int k = 0; k < per_group; k++) {
                const int o = g * per_group + k;
                const int32_t *coef = taps->coef + (size_t)o * (size_t)taps->coef_step;
                const int32_t a = o < taps->n_out ? coef[2 * p] : 0;
                const int32_t b = o < taps->n_out && 2 * p + 1 < taps->coef_step ? coef[2 * p + 1] : 0;
                const int32_t mask = (1 << LEAT_PIL_SPLIT) - 1;
                const uint32_t hi = (uint32_t)(a >> LEAT_PIL_SPLIT) | (uint32_t)(b >> LEAT_PIL_SPLIT) << 16;
                const uint32_t lo = (uint32_t)(a & mask) | (uint32_t)(b & mask) << 16;
                for (int j = 0; j < taps->lanes; j++) {
                    out[k * taps->lanes + j] = hi;
                    out[8 + k * taps->lanes + j] = lo;
                }
            }
}

/* Takes a piece of the table's memory; every piece begins on a cache line. */
static bool take(size_t *used, size_t n, size_t bytes, size_t *offset) {
    size_t size;
    *offset = *used;
    return leat__mul_size(n, bytes, &size) && leat__add_size(size, *used + LEAT_CACHE_LINE, used) &&
           (*used = *used / LEAT_CACHE_LINE * LEAT_CACHE_LINE, true);
}

static int build_pil(leat__taps *taps, int lanes, leat_error *err) {
    const size_t n_out = (size_t)taps->n_out;
    const size_t step = (size_t)pil_taps_max(taps->n_in, taps->n_out);
    const size_t groups = lanes ? n_out * (size_t)lanes / 8 + 1 : 0;
    size_t used = 0, n_coef, n_split, lower, count, coef, split, weight;
    const bool fits =
        leat__mul_size(n_out, step, &n_coef) && leat__mul_size(groups, (step + 1) / 2 * 64, &n_split) &&
        take(&used, n_out, 4, &lower) && take(&used, n_out, 4, &count) && take(&used, n_coef, 4, &coef) &&
        take(&used, step, 8, &weight) && take(&used, n_split, 1, &split);
    if (!fits || !leat__buf_reserve(&taps->buf, used)) return leat__fail_memory(err, used, "a resize table");
    uint8_t *base = taps->buf.data;
    taps->coef_step = (int)step;
    taps->lower = (int32_t *)(void *)(base + lower);
    taps->count = (int32_t *)(void *)(base + count);
    taps->coef = (int32_t *)(void *)(base + coef);
    taps->lanes = lanes;
    fill_pil(taps, (double *)(void *)(base + weight));
    if (lanes) {
        taps->split = (int16_t *)(void *)(base + split);
        fill_split(taps);
    }
    return 0;
}

int leat__taps_build(leat__taps *taps, leat__resample method, int n_in, int n_out, bool flip, int lanes,
                     leat_error *err) {
    assert(n_in >= 1 && n_out >= 1 && n_in <= LEAT_TAPS_SIZE_MAX && n_out <= LEAT_TAPS_SIZE_MAX);
    if (taps->n_out == n_out && taps->n_in == n_in && taps->method == method && taps->flip == flip &&
        taps->lanes == lanes)
        return 0;
    const leat__buf buf = taps->buf;
    *taps = (leat__taps){.buf = buf, .method = method, .n_in = n_in, .n_out = n_out, .flip = flip};
    taps->buf.kind = LEAT_MEM_WORKER;
    int rc = 0;
    if (method == LEAT_RESAMPLE_PIL_BILINEAR) {
        rc = build_pil(taps, lanes, err);
    } else {
        const size_t bytes = LEAT_ALIGN_UP((size_t)n_out * 4, LEAT_CACHE_LINE);
        if (leat__buf_reserve(&taps->buf, 3 * bytes)) {
            taps->lower = (int32_t *)(void *)taps->buf.data;
            taps->upper = (int32_t *)(void *)(taps->buf.data + bytes);
            taps->lerp = (float *)(void *)(taps->buf.data + 2 * bytes);
            taps->lanes = lanes;
            if (method == LEAT_RESAMPLE_TF_NEAREST) fill_nearest(taps);
            else fill_linear(taps);
        } else {
            rc = leat__fail_memory(err, 3 * bytes, "a resize table");
        }
    }
    if (rc < 0) taps->n_out = 0; /* not a table: the next call builds anew */
    return rc;
}

void leat__taps_free(leat__taps *taps) {
    leat__buf_free(&taps->buf);
    *taps = (leat__taps){0};
}
