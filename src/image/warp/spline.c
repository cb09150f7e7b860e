/* SPDX-License-Identifier: Apache-2.0 */
/* Cubic B-splines as scipy.ndimage has them: the picture becomes coefficients whose spline goes through its
 * values, by a recursive filter along each axis, and a pixel is the sum of sixteen of them. All in double.
 *
 * What lies beyond the edge counts for the filter too. SciPy extends by reflection where the fill reflects,
 * or repeats the edge (then with a margin of twelve pixels), and by a mirror without the edge pixel
 * otherwise. */
#include "image/warp/warp_job.h"
#include "image/warp/warp_value.h"

#define MARGIN 12
#define POLE (-0.267949192431122706472553658494127633) /* sqrt(3) - 2, the root of the filter */
#define TERMS 64                                       /* POLE to this power is nothing */

typedef struct spline {
    double *c;         /* height x width x channels */
    int height, width; /* with the margin           */
    int margin;
    bool reflects; /* else mirrors */
} spline;

/* -------------------------------------------------------------------------------------- the coefficients */

static double power(double x, int n) {
    double product = 1;
    for (int i = 0; i < n && product != 0; i++) product *= x;
    return product;
}

/* The first coefficient of the way there: a sum over the endless line that the extension makes. `step` values
 * from one pixel to the next, n of them. */
static double begin(const double *c, int n, size_t step, bool reflects) {
    const double z = POLE;
    const int terms = LEAT_MIN(n, TERMS);
    double share = z;
    if (reflects) {
        const double all = power(z, n);
        double sum = c[0] + all * c[(size_t)(n - 1) * step];
        for (int i = 1; i < terms; i++) {
            sum += share * (c[(size_t)i * step] + all * c[(size_t)(n - 1 - i) * step]);
            share *= z;
        }
        return c[0] + sum * z / (1 - all * all);
    }
    const double all = power(z, n - 1);
    double sum = c[0] + all * c[(size_t)(n - 1) * step];
    for (int i = 1; i < LEAT_MIN(terms, n - 1); i++) {
        sum += share * (c[(size_t)i * step] + all * c[(size_t)(n - 1 - i) * step]);
        share *= z;
    }
    return sum / (1 - all * all);
}

/* n_lines lines of n pixels; neighbours on a line are `step` values apart, neighbouring lines one value, in
 * runs of `run` lines that begin `next` values apart. Lines go together, so that memory is read in its own
 * order. */
static void filter(double *first, int n, size_t step, size_t n_runs, size_t run, size_t next, bool reflects) {
    const double z = POLE, gain = (1 - z) * (1 - 1 / z);
    if (n < 2) return;
    for (size_t r = 0; r < n_runs; r++) {
        double *c = first + r * next;
        const size_t last = (size_t)(n - 1) * step;
        for (int i = 0; i < n; i++)
            for (size_t k = 0; k < run; k++) c[(size_t)i * step + k] *= gain;
        for (size_t k = 0; k < run; k++) c[k] = begin(c + k, n, step, reflects);
        for (int i = 1; i < n; i++) {
            double *to = c + (size_t)i * step;
            for (size_t k = 0; k < run; k++) to[k] += z * *(to + k - step);
        }
        for (size_t k = 0; k < run; k++)
            c[last + k] = reflects ? c[last + k] * (z / (z - 1))
                                   : (z * c[last - step + k] + c[last + k]) * z / (z * z - 1);
        for (int i = n - 2; i >= 0; i--) {
            double *to = c + (size_t)i * step;
            for (size_t k = 0; k < run; k++) to[k] = z * (to[k + step] - to[k]);
        }
    }
}

static int prepare(const leat__warp_job *w, spline *s) {
    const leat__job *j = w->job;
    const leat__warp_fill fill = j->pass->warp->fill;
    s->margin = fill == LEAT_WARP_NEAREST ? MARGIN : 0;
    s->reflects = fill == LEAT_WARP_NEAREST || fill == LEAT_WARP_REFLECT;
    s->height = w->grid.height + 2 * s->margin;
    s->width = w->grid.width + 2 * s->margin;
    const size_t channels = (size_t)j->channels, row = (size_t)s->width * channels;
    size_t values;
    if (!leat__mul_size((size_t)s->height, row, &values))
        return leat__fail(j->err, LEAT_ERR_LIMIT, "a picture of %dx%d is too large for order 3",
                          w->grid.height, w->grid.width);
    LEAT_TRY(leat__job_reserve(j, &j->scratch->field, values, sizeof(double)));
    s->c = (double *)(void *)j->scratch->field.data;
    for (int y = 0; y < s->height; y++) {
        const int from_y = LEAT_CLAMP(y - s->margin, 0, w->grid.height - 1);
        double *to = s->c + (size_t)y * row;
        for (int x = 0; x < s->width; x++) {
            const int from_x = LEAT_CLAMP(x - s->margin, 0, w->grid.width - 1);
            for (int c = 0; c < j->channels; c++) *to++ = leat__warp_value(w, from_x, from_y, c);
        }
    }
    filter(s->c, s->height, row, 1, row, 0, s->reflects);
    filter(s->c, s->width, channels, (size_t)s->height, channels, row, s->reflects);
    return 0;
}

/* -------------------------------------------------------------------------------------------- the sum */

static int map_index(int i, int n, const spline *s) {
    if (n == 1) return 0;
    if (s->margin) return LEAT_CLAMP(i, 0, n - 1);
    const int period = s->reflects ? 2 * n : 2 * n - 2, edge = s->reflects ? 1 : 0;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - edge - i;
}

/* The four pixels that a position rests on, and their shares. */
static void find(double c, int n, const spline *s, int index[4], double share[4]) {
    const double toward = leat__whole(c), below = toward > c ? toward - 1 : toward;
    const double x = c - below, z = 1 - x;
    share[1] = (x * x * (x - 2) * 3 + 4) / 6;
    share[2] = (z * z * (z - 2) * 3 + 4) / 6;
    share[0] = z * z * z / 6;
    share[3] = ((1 - share[0]) - share[1]) - share[2];
    for (int k = 0; k < 4; k++) index[k] = map_index((int)below - 1 + k, n, s);
}

static void sum(const spline *s, float *dst, const int ix[4], const int iy[4], const double wx[4],
                const double wy[4], int channels) {
    const size_t row = (size_t)s->width * (size_t)channels;
    for (int c = 0; c < channels; c++) {
        double total = 0;
        for (int r = 0; r < 4; r++) {
            const double *line = s->c + (size_t)iy[r] * row + (size_t)c;
            for (int k = 0; k < 4; k++) total += line[(size_t)ix[k] * (size_t)channels] * wy[r] * wx[k];
        }
        dst[c] = (float)total;
    }
}

int leat__warp_run_spline(const leat__warp_job *w) {
    const leat__job *j = w->job;
    const leat__grid *grid = &w->grid;
    const leat__warp_fill fill = grid->fill;
    spline s;
    LEAT_TRY(prepare(w, &s));
    LEAT_TRY(
        leat__job_reserve(j, &j->scratch->row, (size_t)grid->columns * (size_t)j->channels, sizeof(float)));
    float *out = (float *)(void *)j->scratch->row.data;
    for (int row = 0; row < j->pass->height; row++) {
        const int y = leat__warp_source_row(w, row);
        for (int i = 0; i < grid->columns; i++) {
            float *pixel = out + (size_t)i * (size_t)j->channels;
            double cx, cy, wx[4], wy[4];
            int ix[4], iy[4];
            leat__grid_position(grid, i, y, &cx, &cy);
            if (fill == LEAT_WARP_CONSTANT &&
                !(leat__warp_is_inside(cx, grid->width) && leat__warp_is_inside(cy, grid->height))) {
                for (int c = 0; c < j->channels; c++)
                    pixel[c] = j->pass->warp->value[j->channels <= 4 ? c : 0];
                continue;
            }
            find(leat__scipy_map(cx, grid->width, fill) + s.margin, s.width, &s, ix, wx);
            find(leat__scipy_map(cy, grid->height, fill) + s.margin, s.height, &s, iy, wy);
            sum(&s, pixel, ix, iy, wx, wy, j->channels);
        }
        leat__job_store_rows(j, row, 1, out, LEAT_DTYPE_F32);
    }
    return 0;
}
