/* SPDX-License-Identifier: Apache-2.0 */
/* The first samples of a stream, before the pipeline runs: for sizes that only the data tells, and for measuring. They come
 * one after the other, without those that filters drop. Of data sets that are concatenated or mixed, they are those of the
 * first data set. */
#ifndef LEAT_PLAN_PREVIEW_H
#define LEAT_PLAN_PREVIEW_H

#include "sample/run.h"

typedef struct leat__preview leat__preview;

/* For plans with a stream, while no other code reads it. */
int leat__preview_new(leat__preview **out, leat__plan *plan, leat_error *err);
/* The next sample, in pieces that stay until the next call: 0; 1 at the end; < 0: it is lost, and more may follow. */
int leat__preview_next(leat__preview *preview, const leat__piece **piece, int *n, leat_error *err);
void leat__preview_free(leat__preview **preview);

#endif
