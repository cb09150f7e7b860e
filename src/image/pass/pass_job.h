/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a pass share: one run of it, its source rows and its store. */
#ifndef LEAT_IMAGE_PASS_PASS_JOB_H
#define LEAT_IMAGE_PASS_PASS_JOB_H

#include "image/pass/pass.h"

typedef struct leat__sweep { /* once over a run of pixels                     */
    const leat__point *point;
    const leat__chain *chain; /* not NULL: affine points that stand together */
} leat__sweep;

typedef struct leat__job {
    leat__pass *pass;
    const leat__image_dsp *dsp;
    leat__rows *src;
    leat__pass_scratch *scratch;
    leat_error *err;
    uint8_t *dst;
    int channels, k; /* k: index into the tables of kernels       */
    int n_sweeps;
    leat__sweep sweep[LEAT_PASS_POINTS];
    bool chunked;    /* values need a buffer between two sweeps   */
    size_t chunk;    /* values in that buffer                    */
    int in;          /* type of the rows that are fetched         */
    size_t pixel_in; /* bytes of their pixels                     */
    size_t odd;      /* bits that no address of a source row may have */
    size_t plane;    /* pixels of the output                      */
} leat__job;

extern const leat__chain leat__no_chain;

/* Room for n items of the given size, and the pad of a row. */
int leat__job_reserve(const leat__job *j, leat__buf *buf, size_t n, size_t bytes);
/* Source row y. It stays until the next one is asked for; of a picture in memory it stays as long as the
 * picture, unless it had to be moved to an even address or widened to floats (then it is in scratch). */
int leat__job_fetch(const leat__job *j, int y, const void **row);
/* Whether a row that was fetched stays as long as the picture. */
static inline bool leat__job_keeps(const leat__job *j, const void *row) {
    return j->src->data && row != j->scratch->moved.data && row != j->scratch->widened.data;
}
/* Stores row y of the output, flipped as the pass says. */
void leat__job_store_row(const leat__job *j, int y, const void *src, int dtype);
/* The same for n rows from row y of the output on, which are flipped already. */
void leat__job_store_rows(const leat__job *j, int y, int n, const void *src, int dtype);
/* The chain of the last sweep, which the store does, or an empty one. */
const leat__chain *leat__job_last_chain(const leat__job *j);

/* Makes sweeps of the first points. */
void leat__job_plan_sweeps(leat__job *j, int n_points);
/* n pixels of the type *dtype, at most as many as fit into the chunk, through the first sweeps; *dtype becomes the type
 * of the result. first is the number of the first pixel in the picture. */
const void *leat__job_sweep(const leat__job *j, int n_sweeps, const void *src, int *dtype, size_t n,
                            size_t first);
/* n values in the chunk as floats. */
const void *leat__job_floats(const leat__job *j, const void *src, int *dtype, size_t n);
/* Makes room for j->chunk floats, and as many values of two bytes. */
int leat__job_reserve_chunk(const leat__job *j);
/* Measures the statistics that measured points need and solves the points, one after the other. */
int leat__job_measure(leat__job *j);
/* After that: tables that follow one another become one. */
void leat__job_merge_tables(leat__job *j);

/* Ways to make the rows: tf.image's bilinear, its other methods, Pillow's. */
int leat__job_run_linear(const leat__job *j);
int leat__job_run_weighted(const leat__job *j);
int leat__job_run_pil(const leat__job *j);
/* Of a picture in memory. In warp.c. */
int leat__job_run_warp(const leat__job *j);

#endif
