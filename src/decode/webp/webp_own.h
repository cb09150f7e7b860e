/* SPDX-License-Identifier: Apache-2.0 */
/* Our own decoder of lossy WebP without transparency: VP8 key frames. Its rows are libwebp's, byte for byte.
 *
 * It never reports damage. When anything in the file is irregular, a call gives nothing, and libwebp decodes the file from then
 * on (webp.c). Rows that were given out before are right all the same. */
#ifndef LEAT_DECODE_WEBP_WEBP_OWN_H
#define LEAT_DECODE_WEBP_WEBP_OWN_H

#include "decode/codec.h"

typedef struct leat__webp_own leat__webp_own;

leat__webp_own *leat__webp_own_new(void);
void leat__webp_own_free(leat__webp_own *own);

/* frame: the n bytes of the chunk "VP8 ". Takes memory from the job's arena. False: this file is libwebp's. */
bool leat__webp_own_begin(leat__webp_own *own, leat__decode_job *job, const uint8_t *frame, size_t n);
/* Before the first row: only this part, which begins in an even column. Rows are then exactly those of the box. */
void leat__webp_own_region(leat__webp_own *own, const leat__box *box);
/* The next row in RGB, to dst. False: this row and what follows is libwebp's. */
bool leat__webp_own_row(leat__webp_own *own, uint8_t *dst);

#endif
