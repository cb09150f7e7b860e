/* SPDX-License-Identifier: Apache-2.0 */
/* Where a pass takes its pixels: a picture in memory, or rows as a decoder delivers them. */
#ifndef LEAT_IMAGE_IMAGE_H
#define LEAT_IMAGE_IMAGE_H

#include "base/error.h"
#include "base/foresee.h"

typedef struct leat__rows {
    int height, width, channels;
    int dtype; /* LEAT_DTYPE_U8 or LEAT_DTYPE_F32; channels of a pixel are neighbours */
    /* Streams: rows are asked in ascending order, each at most once; rows in between may be left out. The
     * row stays valid until the next call. */
    int (*row)(struct leat__rows *rows, int y, const void **out, leat_error *err);
    /* NULL, or before the first row: may rows of bytes come as planes, one channel after the other? Then it says how many
     * bytes one begins after the other. */
    bool (*planes)(struct leat__rows *rows, size_t *apart);
    void *user;
    /* A whole picture in memory: data is not NULL, row may be NULL, and y comes in any order. Bytes up to
     * 64 past a row's end may be read. */
    const uint8_t *data;
    ptrdiff_t stride;
    leat__foreseen *next; /* what will be read after this picture; may be NULL */
} leat__rows;

/* After non-temporal stores, before another thread is told that the memory is ready. */
void leat__image_fence(void);

#endif
