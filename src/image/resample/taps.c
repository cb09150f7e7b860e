/* SPDX-License-Identifier: Apache-2.0 */
#include "image/resample/taps.h"

#include "base/maths.h"
#include "image/resample/filters.h"

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

/* Pillow adds up the step in double precision from pixel to pixel. */
static void fill_pil_nearest(leat__taps *taps) {
    const double step = (double)taps->n_in / taps->n_out;
    double pos = step * 0.5;
    for (int i = 0; i < taps->n_out; i++, pos += step)
        taps->lower[at(taps, i)] = LEAT_MIN((int)pos, taps->n_in - 1);
}

/* ------------------------------------------------------------------------------------------- Pillow */

/* How much the filter widens when the picture shrinks. */
static double pil_widening(int n_in, int n_out) {
    const double scale = (double)n_in / n_out;
    return scale < 1.0 ? 1.0 : scale;
}

static int pil_taps_max(leat__resample method, int n_in, int n_out) {
    const double support = leat__filter_pil_support(method) * pil_widening(n_in, n_out);
    const int whole = (int)support;
    return LEAT_MIN(2 * (whole + (support > whole)) + 1, n_in);
}

/* Every operation is Pillow's, in its order and in double precision: a weight that differs in its last bit
 * would round to another integer now and then. */
static void fill_pil(leat__taps *taps, double *weight) {
    const double scale = (double)taps->n_in / taps->n_out;
    const double widening = pil_widening(taps->n_in, taps->n_out);
    const double support = leat__filter_pil_support(taps->method) * widening;
    const double shrink = 1.0 / widening;
    const bool bilinear = taps->method == LEAT_RESAMPLE_PIL_BILINEAR; /* of every crop */
    taps->max_taps = 1;
    for (int i = 0; i < taps->n_out; i++) {
        const int o = at(taps, i);
        const double centre = (i + 0.5) * scale;
        const int first = LEAT_MAX((int)(centre - support + 0.5), 0);
        const int end = LEAT_MIN((int)(centre + support + 0.5), taps->n_in);
        const int n = LEAT_CLAMP(end - first, 0, taps->coef_step);
        double sum = 0.0;
        for (int t = 0; t < n; t++) {
            const double x = (t + first - centre + 0.5) * shrink;
            weight[t] = bilinear ? leat__filter_pil_bilinear(x) : leat__filter_pil(taps->method, x);
            sum += weight[t];
        }
        int32_t *coef = taps->coef + (size_t)o * (size_t)taps->coef_step;
        for (int t = 0; t < n; t++) {
            const double w = sum != 0.0 ? weight[t] / sum : weight[t];
            coef[t] = (int32_t)((w < 0 ? -0.5 : 0.5) + w * (1 << LEAT_PIL_BITS));
        }
        for (int t = n; t < taps->coef_step; t++) coef[t] = 0;
        taps->lower[o] = first;
        taps->count[o] = n;
        taps->max_taps = LEAT_MAX(taps->max_taps, n);
    }
    taps->n_pairs = (taps->max_taps + 1) / 2;
}

/* Where vector code has output o begin, so that all n_pairs pairs of pixels lie in the row. */
static int first_pixel(const leat__taps *taps, int o) {
    return LEAT_MIN(taps->lower[o], taps->n_in - 2 * taps->n_pairs);
}

/* False where pixels lie too far apart, or the row is shorter than a load. */
static bool fill_pick(leat__taps *taps) {
    enum { LOAD = 16 };
    const int last = taps->n_in - LOAD - 2 * (taps->n_pairs - 1); /* where a load may begin */
    if (last < 0) return false;
    for (int q = 0; q < (taps->n_out + 7) / 8 * 2; q++) {
        const int from = LEAT_MIN(4 * q, taps->n_out), n = LEAT_MIN(4, taps->n_out - from);
        int begin = last;
        for (int k = 0; k < n; k++) begin = LEAT_MIN(begin, first_pixel(taps, from + k));
        taps->begin[q] = begin;
        for (int k = 0; k < 4; k++) {
            const int at = k < n ? first_pixel(taps, from + k) - begin : 0;
            if (at > LOAD - 2) return false;
            memcpy(taps->pick + LOAD * q + 4 * k, (const int8_t[4]){(int8_t)at, -1, (int8_t)(at + 1), -1}, 4);
        }
    }
    return true;
}

/* Of n weights the t-th, or 0. */
static int32_t weight_at(const int32_t *coef, int n, int t) {
    return t >= 0 && t < n ? coef[t] : 0;
}

static void fill_split(leat__taps *taps) {
    const int per_group = 8 / taps->lanes, lanes = taps->lanes, mask = (1 << LEAT_PIL_SPLIT) - 1;
    const int n_all = (taps->n_out + per_group - 1) / per_group * per_group;
    for (int o = 0; o < n_all; o++) {
        const bool there = o < taps->n_out;
        const int32_t *coef = taps->coef + (there ? (size_t)o * (size_t)taps->coef_step : 0);
        const int late = there && taps->pick ? taps->lower[o] - first_pixel(taps, o) : 0;
        const int n = there ? taps->count[o] : 0;
        uint32_t *out = (uint32_t *)(void *)taps->split +
                        (size_t)(o / per_group) * (size_t)taps->n_pairs * 16 +
                        (size_t)(o % per_group * lanes);
        for (int p = 0; p < taps->n_pairs; p++, out += 16) {
            const int32_t a = weight_at(coef, n, 2 * p - late), b = weight_at(coef, n, 2 * p + 1 - late);
            /* The high halves have the sign. */
            const uint32_t hi = (uint16_t)(a >> LEAT_PIL_SPLIT) | (uint32_t)(b >> LEAT_PIL_SPLIT) << 16;
            const uint32_t lo = (uint32_t)(a & mask) | (uint32_t)(b & mask) << 16;
            for (int j = 0; j < lanes; j++) {
                out[j] = hi;
                out[8 + j] = lo;
            }
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
    const size_t step = (size_t)pil_taps_max(taps->method, taps->n_in, taps->n_out);
    const size_t groups = lanes ? n_out * (size_t)lanes / 8 + 1 : 0;
    const size_t n_begin = lanes == 1 ? 2 * groups : 0;
    size_t used = 0, n_coef, n_split, lower, count, coef, split, weight, begin, pick;
    const bool fits =
        leat__mul_size(n_out, step, &n_coef) && leat__mul_size(groups, (step + 1) / 2 * 64, &n_split) &&
        take(&used, n_out, 4, &lower) && take(&used, n_out, 4, &count) && take(&used, n_coef, 4, &coef) &&
        take(&used, step, 8, &weight) && take(&used, n_split, 1, &split) && take(&used, n_begin, 4, &begin) &&
        take(&used, n_begin, 16, &pick);
    if (!fits || !leat__buf_reserve(&taps->buf, used)) return leat__fail_memory(err, used, "a resize table");
    uint8_t *base = taps->buf.data;
    taps->coef_step = (int)step;
    taps->lower = (int32_t *)(void *)(base + lower);
    taps->count = (int32_t *)(void *)(base + count);
    taps->coef = (int32_t *)(void *)(base + coef);
    taps->lanes = lanes;
    fill_pil(taps, (double *)(void *)(base + weight));
    if (lanes == 1) {
        taps->begin = (int32_t *)(void *)(base + begin);
        taps->pick = (int8_t *)(base + pick);
        if (!fill_pick(taps)) taps->pick = NULL;
    }
    if (lanes) {
        taps->split = (int16_t *)(void *)(base + split);
        fill_split(taps);
    }
    return 0;
}

/* ------------------------------------------------------------------------------- weights of tf.image */

static float *begin_weights(leat__taps *taps, int i, int first, int n) {
    const int o = at(taps, i);
    taps->lower[o] = first;
    taps->count[o] = n;
    taps->max_taps = LEAT_MAX(taps->max_taps, n);
    float *weight = taps->weight + (size_t)o * (size_t)taps->coef_step;
    memset(weight, 0, (size_t)taps->coef_step * sizeof(float));
    return weight;
}

/* Weights add up to 1, unless there is next to nothing to add up. */
static void normalise(float *weight, int n, float sum, float otherwise) {
    const bool enough = sum >= 1000 * 0x1p-126f || sum <= -1000 * 0x1p-126f;
    const float factor = enough ? 1.0f / sum : otherwise;
    for (int t = 0; t < n; t++) weight[t] *= factor;
}

/* Four taps; the curve is read at multiples of 1/1024, and pixels outside do not count. */
static void fill_cubic(leat__taps *taps) {
    const float scale = (float)taps->n_in / (float)taps->n_out;
    for (int i = 0; i < taps->n_out; i++) {
        const float pos = ((float)i + 0.5f) * scale - 0.5f;
        const int floor_pos = floor_int(pos);
        const int part = (int)leat__round_even((double)((pos - (float)floor_pos) * 1024.0f));
        const float all[4] = {leat__filter_tf_far(part), leat__filter_tf_near(part),
                              leat__filter_tf_near(1024 - part), leat__filter_tf_far(1024 - part)};
        const int first = LEAT_CLAMP(floor_pos - 1, 0, taps->n_in - 1);
        const int end = LEAT_CLAMP(floor_pos + 3, first + 1, taps->n_in);
        float *weight = begin_weights(taps, i, first, end - first);
        float sum = 0.0f;
        for (int t = 0; t < end - first; t++) {
            weight[t] = all[LEAT_MIN(first + t - (floor_pos - 1), 3)];
            sum += weight[t];
        }
        normalise(weight, end - first, sum, 1.0f);
    }
}

static int area_taps_max(int n_in, int n_out) {
    return ceil_int((float)n_in / (float)n_out) + 2;
}

/* How much of each source pixel an output pixel covers; the sums are divided by the area at the very end. */
static void fill_area(leat__taps *taps) {
    const float scale = (float)taps->n_in / (float)taps->n_out;
    taps->scale = scale;
    for (int i = 0; i < taps->n_out; i++) {
        const float begin = (float)i * scale, end = (float)(i + 1) * scale;
        const int first = LEAT_MIN(floor_int(begin), taps->n_in - 1);
        const int n = LEAT_CLAMP(ceil_int(end) - first, 1, taps->coef_step);
        float *weight = begin_weights(taps, i, first, n);
        for (int t = 0; t < n; t++) {
            const float left = (float)(first + t), right = (float)(first + t + 1);
            if (left < begin) weight[t] = right > end ? scale : right - begin;
            else weight[t] = right > end ? end - left : 1.0f;
        }
    }
}

static float tf_widening(leat__resample method, float inverse) {
    return leat__filter_tf_widens(method) && inverse > 1.0f ? inverse : 1.0f;
}

/* Source pixels for an output pixel, as tf.image takes it: by way of the reciprocal. */
static float tf_inverse(int n_in, int n_out) {
    return (float)(1.0 / (double)((float)n_out / (float)n_in));
}

static int span_taps_max(leat__resample method, int n_in, int n_out) {
    const float widening = tf_widening(method, tf_inverse(n_in, n_out));
    return LEAT_MIN(2 * ceil_int(leat__filter_tf_radius(method) * widening) + 2, n_in);
}

static void fill_spans(leat__taps *taps) {
    const float inverse = tf_inverse(taps->n_in, taps->n_out);
    const float widening = tf_widening(taps->method, inverse), shrink = 1.0f / widening;
    const float reach = leat__filter_tf_radius(taps->method) * widening;
    const int last = taps->n_in - 1;
    for (int i = 0; i < taps->n_out; i++) {
        const float centre = ((float)i + 0.5f) * inverse;
        const int first = LEAT_CLAMP(ceil_int(centre - reach - 0.5f), 0, last);
        const int end = LEAT_CLAMP(floor_int(centre + reach - 0.5f), first, last) + 1;
        const int n = LEAT_MIN(end - first, taps->coef_step);
        float *weight = begin_weights(taps, i, first, n);
        float sum = 0.0f;
        if (centre > (float)taps->n_in) continue; /* rounded off the picture: nothing is taken */
        for (int t = 0; t < n; t++) {
            const float x = ((float)(first + t) + 0.5f - centre) * shrink;
            weight[t] = leat__filter_tf(taps->method, x < 0.0f ? -x : x);
            sum += weight[t];
        }
        normalise(weight, n, sum, 0.0f);
    }
}

static void fill_spread(leat__taps *taps) {
    const int per_group = 8 / taps->lanes;
    const int n_groups = (taps->n_out + per_group - 1) / per_group;
    float *out = taps->spread;
    for (int g = 0; g < n_groups; g++)
        for (int t = 0; t < taps->max_taps; t++, out += 8)
            for (int k = 0; k < 8; k++) {
                const int o = g * per_group + k / taps->lanes;
                out[k] =
                    o < taps->n_out ? taps->weight[(size_t)o * (size_t)taps->coef_step + (size_t)t] : 0.0f;
            }
}

static int build_weights(leat__taps *taps, int lanes, leat_error *err) {
    const leat__resample method = taps->method;
    const size_t n_out = (size_t)taps->n_out;
    const size_t step =
        (size_t)(method == LEAT_RESAMPLE_TF_BICUBIC ? LEAT_MIN(4, taps->n_in)
                 : method == LEAT_RESAMPLE_TF_AREA  ? area_taps_max(taps->n_in, taps->n_out)
                                                    : span_taps_max(method, taps->n_in, taps->n_out));
    const size_t groups = lanes ? n_out * (size_t)lanes / 8 + 1 : 0;
    size_t used = 0, n_weight, n_spread, lower, count, weight, spread;
    const bool fits = leat__mul_size(n_out, step, &n_weight) && leat__mul_size(groups, step * 8, &n_spread) &&
                      take(&used, n_out, 4, &lower) && take(&used, n_out, 4, &count) &&
                      take(&used, n_weight, 4, &weight) && take(&used, n_spread, 4, &spread);
    if (!fits || !leat__buf_reserve(&taps->buf, used)) return leat__fail_memory(err, used, "a resize table");
    uint8_t *base = taps->buf.data;
    taps->coef_step = (int)step;
    taps->lower = (int32_t *)(void *)(base + lower);
    taps->count = (int32_t *)(void *)(base + count);
    taps->weight = (float *)(void *)(base + weight);
    taps->lanes = lanes;
    taps->max_taps = 1;
    if (method == LEAT_RESAMPLE_TF_BICUBIC) fill_cubic(taps);
    else if (method == LEAT_RESAMPLE_TF_AREA) fill_area(taps);
    else fill_spans(taps);
    if (lanes) {
        taps->spread = (float *)(void *)(base + spread);
        fill_spread(taps);
    }
    return 0;
}

/* Nearest and tf.image's bilinear. */
static int build_points(leat__taps *taps, int lanes, leat_error *err) {
    const size_t bytes = LEAT_ALIGN_UP((size_t)taps->n_out * 4, LEAT_CACHE_LINE);
    if (!leat__buf_reserve(&taps->buf, 3 * bytes)) return leat__fail_memory(err, 3 * bytes, "a resize table");
    taps->lower = (int32_t *)(void *)taps->buf.data;
    taps->upper = (int32_t *)(void *)(taps->buf.data + bytes);
    taps->lerp = (float *)(void *)(taps->buf.data + 2 * bytes);
    taps->lanes = lanes;
    if (taps->method == LEAT_RESAMPLE_TF_NEAREST) fill_nearest(taps);
    else if (taps->method == LEAT_RESAMPLE_PIL_NEAREST) fill_pil_nearest(taps);
    else fill_linear(taps);
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
    int rc;
    if (leat__resample_is_nearest(method) || method == LEAT_RESAMPLE_TF_BILINEAR)
        rc = build_points(taps, lanes, err);
    else if (leat__resample_is_pil(method)) rc = build_pil(taps, lanes, err);
    else rc = build_weights(taps, lanes, err);
    if (rc < 0) taps->n_out = 0; /* not a table: the next call builds anew */
    return rc;
}

void leat__taps_free(leat__taps *taps) {
    leat__buf_free(&taps->buf);
    *taps = (leat__taps){0};
}
