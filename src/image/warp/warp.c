/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a warp over the rows of the output, which are made from the top down whatever the flips: a flip only
 * changes which coordinates a row or a column asks for, so its bits are those of the picture that is flipped
 * afterwards.
 *
 * Order 1 works on blocks of rows, some hundred pixels at a time, so that small pictures do not pay for
 * calls. */
#include "image/warp/warp.h"

#include "image/pass/pass_job.h"
#include "image/warp/warp_job.h"
#include "image/warp/warp_value.h"

#define TOUCH_BYTES ((size_t)4 << 20) /* larger pictures leave the caches before they are sampled */
#define BLOCK_PIXELS 1024             /* places and values of so many stay in the first cache */
#define PIECE_PIXELS 256              /* between two pieces of the next picture */

/* ------------------------------------------------------------------------------------- the whole picture */

static int check(const leat__job *j) {
    const leat__rows *src = j->src;
    const leat__warp *warp = j->pass->warp;
    size_t row, bytes;
    if (src->dtype != LEAT_DTYPE_U8 && src->dtype != LEAT_DTYPE_F32)
        return leat__fail(j->err, LEAT_ERR_TYPE,
                          "a warp takes u8 or f32 pictures, not %s: write cast image f32 before",
                          leat_dtype_name(src->dtype));
    const bool known =
        warp->order == 0 || warp->order == 1 || (warp->order == 3 && warp->rule == LEAT_WARP_SCIPY);
    if (!known) return leat__fail(j->err, LEAT_ERR_ARGUMENT, "a warp of order %d", warp->order);
    const size_t stride = src->stride < 0 ? (size_t)-src->stride : (size_t)src->stride;
    if (LEAT_MAX(LEAT_MAX(src->height, src->width), LEAT_MAX(j->pass->height, j->pass->width)) >
            LEAT_WARP_SIDE_MAX ||
        !leat__mul_size((size_t)src->width, j->pixel_in, &row) ||
        !leat__mul_size((size_t)src->height, LEAT_MAX(row, stride), &bytes) ||
        bytes > INT32_MAX - LEAT_ROW_PAD)
        return leat__fail(
            j->err, LEAT_ERR_LIMIT,
            "a picture of %dx%dx%d is too large for a warp, which takes less than 2 GiB and no side "
            "above %d: crop or resize it before",
            src->height, src->width, src->channels, LEAT_WARP_SIDE_MAX);
    return 0;
}

/* Floats that came at an odd address, the raw bytes of a record, are moved as a whole. */
static int bring(const leat__job *j, leat__warp_job *w) {
    const leat__rows *src = j->src;
    w->data = src->data;
    w->stride = src->stride;
    if (src->dtype != LEAT_DTYPE_F32 || ((uintptr_t)src->data | (uintptr_t)src->stride) % sizeof(float) == 0)
        return 0;
    const size_t row = (size_t)src->width * j->pixel_in;
    LEAT_TRY(leat__job_reserve(j, &j->scratch->moved, (size_t)src->height, row));
    for (int y = 0; y < src->height; y++)
        memcpy(j->scratch->moved.data + (size_t)y * row, src->data + (ptrdiff_t)y * src->stride, row);
    w->data = j->scratch->moved.data;
    w->stride = (ptrdiff_t)row;
    return 0;
}

static leat__grid make_grid(const leat__job *j, const leat__warp_job *w) {
    const leat__warp *warp = j->pass->warp;
    leat__grid grid = {.fill = warp->fill,
                       .height = j->src->height,
                       .width = j->src->width,
                       .columns = j->pass->width,
                       .mirrored = j->pass->flip_x,
                       .stride = (int32_t)w->stride,
                       .pixel = (int32_t)j->pixel_in,
                       .bits = 24};
    memcpy(grid.m, warp->m, sizeof grid.m);
    for (int i = 0; i < 8; i++) grid.f[i] = (float)warp->m[i];
    grid.perspective = warp->m[6] != 0 || warp->m[7] != 0 || warp->m[8] != 1;
    const uint32_t longest = (uint32_t)LEAT_MAX(grid.height, grid.width);
    while (grid.bits > 16 && ((uint64_t)longest << grid.bits) > (uint64_t)1 << 32) grid.bits--;
    return grid;
}

static float fill_value(const leat__warp *warp, int channels, int c) {
    return warp->value[channels <= 4 ? c : 0];
}

/* A slanted line crosses many rows of the picture, which the processor does not foresee: it would wait for memory at each
 * row. Read from its first byte to its last, the picture comes several times faster, and what fits the second cache stays
 * there. */
static void touch(const leat__job *j, const leat__warp_job *w) {
    const size_t row = (size_t)j->src->width * j->pixel_in;
    if ((size_t)j->src->height * row > TOUCH_BYTES) return;
    for (int y = 0; y < j->src->height; y++) {
        const volatile uint8_t *line = w->data + (ptrdiff_t)y * w->stride;
        for (size_t at = 0; at < row; at += 64) (void)line[at];
    }
}

/* --------------------------------------------------------------------------------------------- order 1 */

/* TensorFlow's constant fill: neighbours that are not there have the value, and their share of it. So far
 * away that there is nothing between two floats, it takes no share of anything. */
static void blend_with_fill(const leat__warp_job *w, float *dst, int i, int y) {
    const leat__job *j = w->job;
    const leat__grid *grid = &w->grid;
    float cx, cy;
    leat__tf_position(grid, i, y, &cx, &cy);
    const bool nowhere = grid->perspective && leat__tf_divisor(grid, i, y) == 0.0f;
    cx = leat__bound_f32(cx, (float)-LEAT_WARP_FAR, (float)LEAT_WARP_FAR);
    cy = leat__bound_f32(cy, (float)-LEAT_WARP_FAR, (float)LEAT_WARP_FAR);
    const float fx = leat__floor_f32(cx), fy = leat__floor_f32(cy);
    const float left = (fx + 1.0f) - cx, right = cx - fx, upper = (fy + 1.0f) - cy, lower = cy - fy;
    for (int c = 0; c < j->channels; c++) {
        const float value = fill_value(j->pass->warp, j->channels, c);
        float p[4];
        for (int k = 0; k < 4; k++) {
            const int32_t px = (int32_t)fx + (k & 1), py = (int32_t)fy + (k >> 1);
            const bool there = px >= 0 && px < grid->width && py >= 0 && py < grid->height;
            p[k] = there ? leat__warp_value(w, px, py, c) : value;
        }
        const float top = left * p[0] + right * p[1], bottom = left * p[2] + right * p[3];
        dst[c] = nowhere ? value : upper * top + lower * bottom;
    }
}

/* Pixels [first, end) of a block, which are outside. */
static void fill_outside(const leat__warp_job *w, float *dst, size_t first, size_t end, int row) {
    const leat__job *j = w->job;
    const size_t columns = (size_t)w->grid.columns, channels = (size_t)j->channels;
    for (size_t i = first; i < end; i++) {
        float *pixel = dst + i * channels;
        if (j->pass->warp->rule == LEAT_WARP_TF)
            blend_with_fill(w, pixel, (int)(i % columns), leat__warp_source_row(w, row + (int)(i / columns)));
        else
            for (int c = 0; c < j->channels; c++) pixel[c] = fill_value(j->pass->warp, j->channels, c);
    }
}

static void blend_block(const leat__warp_job *w, float *dst, const leat__places *places, size_t n, int row) {
    const leat__job *j = w->job;
    const ptrdiff_t right = w->grid.width > 1 ? (ptrdiff_t)j->pixel_in : 0;
    const ptrdiff_t below = w->grid.height > 1 ? w->stride : 0;
    LEAT_FN_WARP_BLEND((*blend)) =
        j->src->dtype == LEAT_DTYPE_U8 ? j->dsp->warp_blend_u8[j->k] : j->dsp->warp_blend_f32[j->k];
    if (j->pass->warp->fill != LEAT_WARP_CONSTANT) {
        for (size_t i = 0; i < n;) { /* in pieces while the next picture comes */
            const bool waits = j->src->next && j->src->next->bytes > 0;
            const size_t m = waits ? LEAT_MIN(n - i, (size_t)PIECE_PIXELS) : n - i;
            const leat__places run = {places->at + i, places->x + i, places->y + i};
            if (waits) leat__foresee(j->src->next);
            blend(dst + i * (size_t)j->channels, w->data, &run, m, right, below, j->channels);
            i += m;
        }
        return;
    }
    for (size_t i = 0; i < n;) { /* runs of pixels that are inside, and of those that are not */
        const bool inside = places->at[i] >= 0;
        size_t end = i + 1;
        while (end < n && (places->at[end] >= 0) == inside) end++;
        const leat__places run = {places->at + i, places->x + i, places->y + i};
        if (inside) blend(dst + i * (size_t)j->channels, w->data, &run, end - i, right, below, j->channels);
        else fill_outside(w, dst, i, end, row);
        i = end;
    }
}

/* Whether finished values can be written where they belong. */
static bool writes_straight(const leat__job *j) {
    return j->pass->dtype == LEAT_DTYPE_F32 && j->n_sweeps == 0 && !j->pass->stream &&
           (!j->pass->nchw || j->channels == 1);
}

static int run_linear(const leat__warp_job *w) {
    const leat__job *j = w->job;
    const int height = j->pass->height, columns = j->pass->width;
    const int block = LEAT_CLAMP(BLOCK_PIXELS / columns, 1, height);
    const size_t pixels = (size_t)block * (size_t)columns, row_values = (size_t)columns * (size_t)j->channels;
    const size_t room = LEAT_ALIGN_UP(pixels + LEAT_PLACES_PAD, 16);
    const bool straight = writes_straight(j);
    LEAT_TRY(leat__job_reserve(j, &j->scratch->taken, room, 3 * sizeof(float)));
    if (!straight)
        LEAT_TRY(leat__job_reserve(j, &j->scratch->row, (size_t)block * row_values, sizeof(float)));
    float *shares = (float *)(void *)(j->scratch->taken.data + room * sizeof(int32_t));
    const leat__places places = {(int32_t *)(void *)j->scratch->taken.data, shares, shares + room};
    for (int row = 0; row < height; row += block) {
        const int n = LEAT_MIN(block, height - row);
        float *out = straight ? (float *)(void *)j->dst + (size_t)row * row_values
                              : (float *)(void *)j->scratch->row.data;
        j->dsp->warp_place[j->pass->warp->rule](&places, &w->grid, leat__warp_source_row(w, row),
                                                j->pass->flip_y ? -1 : 1, n);
        blend_block(w, out, &places, (size_t)n * (size_t)columns, row);
        if (!straight) leat__job_store_rows(j, row, n, out, LEAT_DTYPE_F32);
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- order 0 */

/* The pixel nearest to a position on one axis, or -1. */
static inline int32_t nearest_scipy(double c, int n, leat__warp_fill fill) {
    if (leat__warp_is_inside(c, n)) return (int32_t)(c + 0.5);
    return fill == LEAT_WARP_CONSTANT ? -1 : LEAT_MIN((int32_t)(leat__scipy_fold(c, n, fill) + 0.5), n - 1);
}

/* Halves go away from zero. */
static inline int32_t nearest_tf(float c, int n, leat__warp_fill fill) {
    if (fill == LEAT_WARP_CONSTANT && !(c > -0.5f && c < (float)n - 0.5f)) return -1;
    if (!(c >= 0.0f && c <= (float)(n - 1))) c = leat__tf_fold(c, n, fill);
    const int32_t whole = (int32_t)c;
    return whole + (c - (float)whole >= 0.5f);
}

/* Offsets of the pixels of one row, -1 for those that are outside. */
static void find_nearest(const leat__grid *grid, leat__warp_rule rule, int32_t *at, int y) {
    for (int i = 0; i < grid->columns; i++) {
        int32_t ix, iy;
        if (rule == LEAT_WARP_TF) {
            float cx, cy;
            leat__tf_position(grid, i, y, &cx, &cy);
            ix = nearest_tf(cx, grid->width, grid->fill);
            iy = nearest_tf(cy, grid->height, grid->fill);
        } else {
            double cx, cy;
            leat__grid_position(grid, i, y, &cx, &cy);
            ix = nearest_scipy(cx, grid->width, grid->fill);
            iy = nearest_scipy(cy, grid->height, grid->fill);
        }
        at[i] = ix < 0 || iy < 0 ? -1 : iy * grid->stride + ix * grid->pixel;
    }
}

static inline void take(const leat__warp_job *w, uint8_t *dst, const int32_t *at, size_t pixel) {
    for (int i = 0; i < w->grid.columns; i++, dst += pixel) {
        if (at[i] >= 0) memcpy(dst, w->data + at[i], pixel);
        else leat__warp_put(w, dst, -1, 0);
    }
}

static int run_nearest(const leat__warp_job *w) {
    const leat__job *j = w->job;
    const size_t columns = (size_t)j->pass->width;
    LEAT_TRY(leat__job_reserve(j, &j->scratch->row, columns, j->pixel_in));
    LEAT_TRY(leat__job_reserve(j, &j->scratch->taken, columns, sizeof(int32_t)));
    uint8_t *out = j->scratch->row.data;
    int32_t *at = (int32_t *)(void *)j->scratch->taken.data;
    for (int row = 0; row < j->pass->height; row++) {
        find_nearest(&w->grid, j->pass->warp->rule, at, leat__warp_source_row(w, row));
        switch (j->pixel_in) { /* copies of a known size are single moves */
        case 1: take(w, out, at, 1); break;
        case 3: take(w, out, at, 3); break;
        case 12: take(w, out, at, 12); break;
        default: take(w, out, at, j->pixel_in);
        }
        leat__job_store_rows(j, row, 1, out, j->src->dtype);
    }
    return 0;
}

int leat__job_run_warp(const leat__job *j) {
    const leat__warp *warp = j->pass->warp;
    leat__warp_job w = {.job = j};
    LEAT_TRY(check(j));
    LEAT_TRY(bring(j, &w));
    w.grid = make_grid(j, &w);
    touch(j, &w);
    if (warp->rule == LEAT_WARP_KERAS_MAP) return leat__warp_run_elastic(&w);
    if (warp->order == 3) return leat__warp_run_spline(&w);
    return warp->order == 1 ? run_linear(&w) : run_nearest(&w);
}
