/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a comparison: batches from a pipeline, or from a folder of .npy files. */
#ifndef LEAT_TOOLS_COMPARE_H
#define LEAT_TOOLS_COMPARE_H

#include "base/mem.h"
#include "leat/leat_tools.h"

/* A ragged field is two arrays: its values, and NAME_offsets. */
#define LEAT_SIDE_ARRAYS 64

typedef struct leat__side_array {
    char name[80]; /* as the names of files have it */
    int dtype, ndim;
    int64_t shape[LEAT_NDIM_MAX];
    const uint8_t *data;
    size_t row; /* bytes from one entry of the first axis to the next; the rest lies without gaps */
} leat__side_array;

typedef struct leat__side leat__side;

/* text: a folder that exists, or else the text of a pipeline. */
int leat__side_open(leat__side **out, const char *text, const leat_config *config, leat_error *err);
/* The next batch: 0, LEAT_END or an error. What the batch before had is gone. */
int leat__side_next(leat__side *side, leat_error *err);
/* Of the batch that next gave. */
int leat__side_count(const leat__side *side);
const leat__side_array *leat__side_at(const leat__side *side, int i);
/* Frees and nulls; NULL is fine. */
void leat__side_close(leat__side **side);

#endif
