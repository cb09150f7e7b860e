/* SPDX-License-Identifier: Apache-2.0 */
/* Both filters are weighted sums of rows, for which there is a kernel: a row that is filtered along x is the
 * sum of the same row, moved by one pixel for each tap.
 *
 * Rows that are needed again are kept in a ring of as many rows as there are taps. A reflected row lies
 * within the taps on the other side, so it is always there. */
#include "image/colour/filter2d.h"

#include "base/maths.h"
#include "image/pass/pass_job.h"

typedef struct job {
    const leat__image_dsp *dsp;
    const uint8_t *src;
    bool bytes;    /* u8, otherwise f32                     */
    size_t step;   /* values of a pixel                     */
    size_t n;      /* of a row                              */
    size_t margin; /* of values before and after a row      */
} job;

/* count rows of n floats in the first buffer, which begin *stride floats apart, and n_taps addresses in the
 * second. */
static int make_room(leat__buf *scratch, size_t count, size_t n, size_t *stride, size_t n_taps,
                     leat_error *err) {
    *stride = LEAT_ALIGN_UP(n, (size_t)(LEAT_CACHE_LINE / sizeof(float)));
    size_t bytes;
    if (*stride < n || !leat__mul_size(*stride, count, &bytes) ||
        !leat__mul_size(bytes, sizeof(float), &bytes))
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %zu values a row is too large to be filtered",
                          n);
    if (!leat__buf_reserve(&scratch[0], bytes) || !leat__buf_reserve(&scratch[1], n_taps * sizeof(void *)))
        return leat__fail_memory(err, bytes, "the rows of a filter");
    return 0;
}

/* Row y as floats at dst + margin; what lies outside is the edge. */
static void load_row(const job *j, float *dst, int y, leat__edge edge) {
    float *row = dst + j->margin;
    const size_t n = j->n, step = j->step;
    if (j->bytes) {
        j->dsp->from_u8(row, j->src + (size_t)y * n, n, &leat__no_chain, false);
    } else {
        memcpy(row, j->src + (size_t)y * n * sizeof(float), n * sizeof(float));
    }
    if (edge == LEAT_EDGE_ZERO) {
        memset(dst, 0, j->margin * sizeof(float));
        memset(row + n, 0, j->margin * sizeof(float));
        return;
    }
    for (size_t at = step; at <= j->margin; at += step) /* pixels before and after */
        for (size_t k = 0; k < step; k++) {
            *(row + k - at) = row[at + k];
            row[n - step + at + k] = row[n - step - at + k];
        }
}

/* ----------------------------------------------------------------------------------------------- blur */

void leat__blur_weights(float *weight, int taps, double sigma) {
    double value[LEAT_BLUR_TAPS], sum = 0;
    for (int i = 0; i < taps; i++) {
        const double x = (i - (taps - 1) / 2) / sigma;
        sum += value[i] = leat__exp(-0.5 * x * x);
    }
    for (int i = 0; i < taps; i++) weight[i] = (float)(value[i] / sum);
}

static int reflected(int y, int height) {
    return y < 0 ? -y : y >= height ? 2 * (height - 1) - y : y;
}

int leat__blur_run(const leat__blur *blur, const leat__image_dsp *dsp, void *dst, int to, const void *src,
                   int from, int height, int width, int channels, leat__buf *scratch, leat_error *err) {
    const int rx = blur->taps_x / 2, ry = blur->taps_y / 2;
    if (blur->edge == LEAT_EDGE_REFLECT && (rx >= width || ry >= height))
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "a blur over %dx%d pixels needs more than half of them on each side, the picture has %dx%d "
            "(height x width): write a smaller kernel, or resize before it",
            blur->taps_y, blur->taps_x, height, width);
    const job j = {.dsp = dsp,
                   .src = src,
                   .bytes = from == LEAT_DTYPE_U8,
                   .step = (size_t)channels,
                   .n = (size_t)width * (size_t)channels,
                   .margin = (size_t)rx * (size_t)channels};
    size_t stride;
    const int taps = LEAT_MAX(blur->taps_x, blur->taps_y);
    LEAT_TRY(make_room(scratch, (size_t)blur->taps_y + 2, j.n + 2 * j.margin, &stride, (size_t)taps, err));
    float *row = (float *)(void *)scratch[0].data, *zeros = row + stride, *ring = zeros + stride;
    const void **rows = (const void **)(void *)scratch[1].data;
    memset(zeros, 0, j.n * sizeof(float));
    int loaded = 0;
    for (int y = 0; y < height; y++) {
        for (; loaded < height && loaded <= y + ry; loaded++) {
            load_row(&j, row, loaded, blur->edge);
            for (int t = 0; t < blur->taps_x; t++) rows[t] = row + (size_t)t * j.step;
            dsp->sum_v_f32(ring + (size_t)(loaded % blur->taps_y) * stride, rows, blur->weight_x,
                           blur->taps_x, 1.0f, j.n);
        }
        for (int t = 0; t < blur->taps_y; t++) {
            const int v = y + t - ry;
            rows[t] = blur->edge == LEAT_EDGE_ZERO && (v < 0 || v >= height)
                          ? zeros
                          : ring + (size_t)(reflected(v, height) % blur->taps_y) * stride;
        }
        const size_t at = (size_t)y * j.n;
        if (to == LEAT_DTYPE_U8)
            dsp->sum_v_round((uint8_t *)dst + at, rows, blur->weight_y, blur->taps_y, j.n);
        else dsp->sum_v_f32((float *)dst + at, rows, blur->weight_y, blur->taps_y, 1.0f, j.n);
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------- sharpen */

/* x + (smooth - x) * share, clipped. */
static void sharpen_row(float *restrict smooth, const float *restrict row, size_t n, float share, float low,
                        float high) {
    for (size_t i = 0; i < n; i++) {
        float x = row[i] + share * (smooth[i] - row[i]);
        x = x > low ? x : low;
        smooth[i] = x < high ? x : high;
    }
}

int leat__sharpen_run(double factor, float low, float high, const leat__image_dsp *dsp, void *dst, int to,
                      const void *src, int from, int height, int width, int channels, leat__buf *scratch,
                      leat_error *err) {
    static const float weight[9] = {1 / 13.0f, 1 / 13.0f, 1 / 13.0f, 1 / 13.0f, 5 / 13.0f,
                                    1 / 13.0f, 1 / 13.0f, 1 / 13.0f, 1 / 13.0f};
    const job j = {.dsp = dsp,
                   .src = src,
                   .bytes = from == LEAT_DTYPE_U8,
                   .step = (size_t)channels,
                   .n = (size_t)width * (size_t)channels,
                   .margin = (size_t)channels};
    size_t stride;
    LEAT_TRY(make_room(scratch, 5, j.n + 2 * j.margin, &stride, LEAT_COUNT(weight), err));
    float *sum = (float *)(void *)scratch[0].data, *zeros = sum + stride, *ring = zeros + stride;
    const void **rows = (const void **)(void *)scratch[1].data;
    memset(zeros, 0, stride * sizeof(float));
    const float share = 1.0f - (float)(factor * 2);

    load_row(&j, ring, 0, LEAT_EDGE_ZERO);
    for (int y = 0; y < height; y++) {
        if (y + 1 < height) load_row(&j, ring + (size_t)((y + 1) % 3) * stride, y + 1, LEAT_EDGE_ZERO);
        for (int t = 0; t < 9; t++) {
            const int v = y + t / 3 - 1;
            const float *line = v < 0 || v >= height ? zeros : ring + (size_t)(v % 3) * stride;
            rows[t] = line + (size_t)(t % 3) * j.step;
        }
        float *out = to == LEAT_DTYPE_U8 ? sum : (float *)dst + (size_t)y * j.n;
        dsp->sum_v_f32(out, rows, weight, 9, 1.0f, j.n);
        sharpen_row(out, ring + (size_t)(y % 3) * stride + j.margin, j.n, share, low, high);
        if (to == LEAT_DTYPE_U8) dsp->u8_from_f32((uint8_t *)dst + (size_t)y * j.n, sum, j.n);
    }
    return 0;
}
