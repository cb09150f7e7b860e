/* SPDX-License-Identifier: Apache-2.0 */
/* Our own decoder for the PNGs that training sets are made of: all but interlaced ones. Its rows are libpng's, byte for byte,
 * and it takes less than half of the time.
 *
 * It never reports damage. When anything in the file is irregular, a call gives nothing, and libpng decodes the file from then
 * on (png.c). Rows that were given out before are right all the same. */
#ifndef LEAT_DECODE_PNG_PNG_OWN_H
#define LEAT_DECODE_PNG_PNG_OWN_H

#include "decode/codec.h"
#include "decode/png/png_chunks.h"

typedef struct leat__png_own leat__png_own;

leat__png_own *leat__png_own_new(void);
void leat__png_own_free(leat__png_own *own);

/* Takes memory from the job's arena. False: this file is libpng's. */
bool leat__png_own_begin(leat__png_own *own, leat__decode_job *job, const leat__png_chunks *chunks);
/* Channels of the rows: 1 gray or an index, 2 gray and alpha, 3 or 4. */
int leat__png_own_channels(const leat__png_own *own);
/* Before the first row: only this part. Rows are then exactly those of the box. */
void leat__png_own_region(leat__png_own *own, const leat__box *box);
/* The next row as libpng would give it after its transformations: one byte a channel, or a u16 of the host if the job is
 * deep. Valid until the next call. NULL: this row and what follows is libpng's. */
const uint8_t *leat__png_own_row(leat__png_own *own);

#endif
