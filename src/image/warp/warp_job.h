/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways to sample share: one warp of one picture in memory. */
#ifndef LEAT_IMAGE_WARP_WARP_JOB_H
#define LEAT_IMAGE_WARP_WARP_JOB_H

#include "image/pass/pass_job.h"
#include "image/pass/point.h"

#define LEAT_WARP_SIDE_MAX 65535

typedef struct leat__warp_job {
    const leat__job *job;
    const uint8_t *data; /* the picture; floats are where floats may be */
    ptrdiff_t stride;
    leat__grid grid;
} leat__warp_job;

/* The y that row `row` of the output asks for. */
static inline int leat__warp_source_row(const leat__warp_job *w, int row) {
    return w->job->pass->flip_y ? w->job->pass->height - 1 - row : row;
}

static inline const uint8_t *leat__warp_pixel(const leat__warp_job *w, int x, int y) {
    return w->data + (ptrdiff_t)y * w->stride + (ptrdiff_t)x * w->grid.pixel;
}

static inline float leat__warp_value(const leat__warp_job *w, int x, int y, int c) {
    const uint8_t *pixel = leat__warp_pixel(w, x, y);
    return w->job->src->dtype == LEAT_DTYPE_U8 ? pixel[c] : ((const float *)(const void *)pixel)[c];
}

/* Copies a pixel in the picture's own type; the fill where x is negative. */
static inline void leat__warp_put(const leat__warp_job *w, uint8_t *dst, int x, int y) {
    const leat__job *j = w->job;
    if (x >= 0) {
        memcpy(dst, leat__warp_pixel(w, x, y), j->pixel_in);
        return;
    }
    for (int c = 0; c < j->channels; c++) {
        const float value = j->pass->warp->value[j->channels <= 4 ? c : 0];
        if (j->src->dtype == LEAT_DTYPE_U8) dst[c] = leat__u8_from_f32(value);
        else ((float *)(void *)dst)[c] = value;
    }
}

int leat__warp_run_spline(const leat__warp_job *w);
int leat__warp_run_elastic(const leat__warp_job *w);

#endif
