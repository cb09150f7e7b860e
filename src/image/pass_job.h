/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a pass share: one run of it, its source rows and its store. */
#ifndef LEAT_IMAGE_PASS_JOB_H
#define LEAT_IMAGE_PASS_JOB_H

#include "image/pass.h"

typedef struct leat__job {
    const leat__pass *pass;
    const leat__image_dsp *dsp;
    leat__rows *src;
    leat__pass_scratch *scratch;
    leat_error *err;
    uint8_t *dst;
    int channels, k; /* k: index into the tables of kernels       */
    int n_chains;
    bool lut;
    bool chunked;    /* values need a buffer between two sweeps */
    size_t pixel_in; /* bytes of a source pixel                 */
    size_t plane;    /* pixels of the output                    */
} leat__job;

extern const leat__chain leat__no_chain;

/* Room for n items of so many bytes, and the pad of a row. */
int leat__job_reserve(const leat__job *j, leat__buf *buf, size_t n, size_t bytes);
/* Source row y. It stays until the next one is asked for; of a picture in memory it stays as long as the
 * picture, unless it lies at an odd address (then it is in scratch->moved). */
int leat__job_fetch(const leat__job *j, int y, const void **row);
/* Stores row y of the output, flipped as the pass says. */
void leat__job_store_row(const leat__job *j, int y, const void *src, int dtype);
/* The i-th chain of affine stages, or an empty one. */
const leat__chain *leat__job_chain(const leat__job *j, int i);

/* Ways to make the rows: tf.image's bilinear, its other methods, Pillow's. */
int leat__job_run_linear(const leat__job *j);
int leat__job_run_weighted(const leat__job *j);
int leat__job_run_pil(const leat__job *j);

#endif
