/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic deformation as keras.ops.image.elastic_transform of the TensorFlow backend does it: noise, blurred,
 * moves the place that each pixel is read from; map_coordinates reads there.
 *
 * Two things of the original are kept: both axes get the same noise (its seed is used twice) unless the warp
 * says otherwise, and what lies beyond the edge is decided for each neighbour by itself. The noise is leat's
 * own. */
#include "base/maths.h"
#include "image/warp/warp_job.h"
#include "image/warp/warp_value.h"

#define PI 3.14159265358979323846

/* ------------------------------------------------------------------------------------------ the field */

/* Normal numbers, two of each draw. */
static void fill_noise(float *to, size_t n, leat__rng *rng, double sigma) {
    for (size_t i = 0; i < n; i += 2) {
        uint32_t c[4] = {(uint32_t)rng->position, (uint32_t)(rng->position >> 32), rng->op, rng->draw++};
        leat__philox(c, rng->key);
        const double u = ((double)(c[0] | (uint64_t)c[1] << 32) + 0.5) * 0x1p-64;
        const double turn = (double)(c[2] | (uint64_t)c[3] << 32) * 0x1p-64;
        const double far = leat__sqrt(-2 * leat__log(u));
        to[i] = (float)((float)(far * leat__cos(2 * PI * turn)) * (float)sigma);
        if (i + 1 < n) to[i + 1] = (float)((float)(far * leat__sin(2 * PI * turn)) * (float)sigma);
    }
}

/* The sum of n values around one, `step` apart, weighed; those beyond the ends are zero. */
static void blur_line(float *to, const float *from, int n, size_t step, const double *weight, int radius) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        const int first = LEAT_MAX(-radius, -i), last = LEAT_MIN(radius, n - 1 - i);
        for (int k = first; k <= last; k++)
            sum += weight[k + radius] * (double)from[(ptrdiff_t)(i + k) * (ptrdiff_t)step];
        to[(size_t)i * step] = (float)sum;
    }
}

/* The values are needed afterwards, `between` is not. */
static void blur(float *values, float *between, int height, int width, const double *weight, int radius) {
    for (int y = 0; y < height; y++)
        blur_line(between + (size_t)y * (size_t)width, values + (size_t)y * (size_t)width, width, 1, weight,
                  radius);
    for (int x = 0; x < width; x++) blur_line(values + x, between + x, height, (size_t)width, weight, radius);
}

static void fill_weights(double *weight, int radius, double sigma) {
    double sum = 0;
    for (int k = -radius; k <= radius; k++)
        sum += weight[k + radius] = leat__exp(-0.5 * (k / sigma) * (k / sigma));
    for (int k = 0; k <= 2 * radius; k++) weight[k] /= sum;
}

typedef struct field {
    const float *dx, *dy;
} field;

static int make_field(const leat__warp_job *w, field *f) {
    const leat__job *j = w->job;
    const leat__warp *warp = j->pass->warp;
    const int height = j->pass->height, width = j->pass->width;
    if (!(warp->sigma > 0 && warp->sigma < LEAT_WARP_SIDE_MAX))
        return leat__fail(j->err, LEAT_ERR_ARGUMENT, "an elastic deformation of deviation %g pixels",
                          warp->sigma);
    const int radius = 3 * (int)warp->sigma;
    /* Room for as many weights as a side has pixels: the next sample may draw a larger sigma. */
    const size_t n_weights = LEAT_MAX(2 * (size_t)radius + 1, (size_t)LEAT_MIN(height, width));
    const size_t pixels = (size_t)height * (size_t)width;
    const size_t head = LEAT_ALIGN_UP(n_weights * sizeof(double), LEAT_CACHE_LINE);
    LEAT_TRY(leat__job_reserve(j, &j->scratch->field, pixels + head / sizeof(float), 3 * sizeof(float)));
    double *weight = (double *)(void *)j->scratch->field.data;
    float *dx = (float *)(void *)(j->scratch->field.data + head), *dy = dx + pixels, *between = dy + pixels;
    leat__rng rng = warp->rng;
    fill_weights(weight, radius, warp->sigma);
    fill_noise(dx, pixels, &rng, warp->sigma);
    blur(dx, between, height, width, weight, radius);
    if (warp->apart) {
        fill_noise(dy, pixels, &rng, warp->sigma);
        blur(dy, between, height, width, weight, radius);
    }
    *f = (field){dx, warp->apart ? dy : dx};
    return 0;
}

/* ----------------------------------------------------------------------------------------- the pixels */

/* Pixel i of n, or the one that stands for it; -1 for none. */
static int map_index(int i, int n, leat__warp_fill fill) {
    switch (fill) {
    case LEAT_WARP_CONSTANT: return i >= 0 && i < n ? i : -1;
    case LEAT_WARP_NEAREST: return LEAT_CLAMP(i, 0, n - 1);
    case LEAT_WARP_REFLECT: i = (i < 0 ? -i : i) % (2 * n); return i < n ? i : 2 * n - i - 1;
    default: break;
    }
    i %= n;
    return i < 0 ? i + n : i;
}

static void put_linear(const leat__warp_job *w, float *dst, float cx, float cy) {
    const leat__job *j = w->job;
    const leat__warp *warp = j->pass->warp;
    const float fx = leat__floor_f32(cx), fy = leat__floor_f32(cy);
    const float upper_x = cx - fx, upper_y = cy - fy;
    const float share_x[2] = {1.0f - upper_x, upper_x}, share_y[2] = {1.0f - upper_y, upper_y};
    int ix[2], iy[2];
    for (int k = 0; k < 2; k++) {
        ix[k] = map_index((int)fx + k, w->grid.width, warp->fill);
        iy[k] = map_index((int)fy + k, w->grid.height, warp->fill);
    }
    for (int c = 0; c < j->channels; c++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) {
            const int x = ix[k & 1], y = iy[k >> 1];
            const float value =
                x >= 0 && y >= 0 ? leat__warp_value(w, x, y, c) : warp->value[j->channels <= 4 ? c : 0];
            const float part = (share_y[k >> 1] * share_x[k & 1]) * value;
            sum = k ? sum + part : part;
        }
        dst[c] = sum;
    }
}

static void put_nearest(const leat__warp_job *w, uint8_t *dst, float cx, float cy) {
    const leat__warp_fill fill = w->job->pass->warp->fill;
    const int x = map_index((int)leat__round_even((double)cx), w->grid.width, fill);
    const int y = map_index((int)leat__round_even((double)cy), w->grid.height, fill);
    leat__warp_put(w, dst, x >= 0 && y >= 0 ? x : -1, y);
}

int leat__warp_run_elastic(const leat__warp_job *w) {
    const leat__job *j = w->job;
    const leat__warp *warp = j->pass->warp;
    const int columns = j->pass->width;
    const float far = (float)LEAT_WARP_FAR, alpha = (float)warp->alpha;
    const size_t pixel = warp->order ? (size_t)j->channels * sizeof(float) : j->pixel_in;
    field f = {0};
    LEAT_TRY(make_field(w, &f));
    LEAT_TRY(leat__job_reserve(j, &j->scratch->row, (size_t)columns, pixel));
    uint8_t *out = j->scratch->row.data;
    for (int row = 0; row < j->pass->height; row++) {
        const int y = leat__warp_source_row(w, row);
        for (int i = 0; i < columns; i++) {
            const int x = j->pass->flip_x ? columns - 1 - i : i;
            const size_t k = (size_t)y * (size_t)columns + (size_t)x;
            const float cx = leat__bound_f32((float)x + alpha * f.dx[k], -far, far);
            const float cy = leat__bound_f32((float)y + alpha * f.dy[k], -far, far);
            uint8_t *to = out + (size_t)i * pixel;
            if (warp->order) put_linear(w, (float *)(void *)to, cx, cy);
            else put_nearest(w, to, cx, cy);
        }
        leat__job_store_rows(j, row, 1, out, warp->order ? LEAT_DTYPE_F32 : j->src->dtype);
    }
    return 0;
}
