/* SPDX-License-Identifier: Apache-2.0 */
/* Our own decoder for the JPEGs that training sets are made of: Huffman coding, sequential or progressive, 8 bits, gray or YCbCr
 * with chroma of full size or halved in either direction. Its rows are libjpeg-turbo's, byte for byte (accurate integer
 * IDCT, or the fast one with options.fast; fancy upsampling), and it takes about half the time.
 *
 * It never reports damage. When anything in the file is irregular, a call returns false, and libjpeg-turbo decodes the file
 * from then on (jpeg.c). Rows that were given out before are right all the same. */
#ifndef LEAT_DECODE_JPEG_JPEG_OWN_H
#define LEAT_DECODE_JPEG_JPEG_OWN_H

#include "decode/codec.h"

typedef struct leat__jpeg_own leat__jpeg_own;
struct jpeg_decompress_struct;

leat__jpeg_own *leat__jpeg_own_new(void);
void leat__jpeg_own_free(leat__jpeg_own *own);

/* After jpeg_read_header: takes tables and sizes from libjpeg-turbo's struct, so that both decoders agree on them. NULL: the
 * file is one for us; otherwise why not, in a few words. */
const char *leat__jpeg_own_look(leat__jpeg_own *own, const struct jpeg_decompress_struct *jpeg);
/* After a look that found nothing. Takes memory from the job's arena. Rows will have `channels` channels: 1, 3 or 4. */
bool leat__jpeg_own_begin(leat__jpeg_own *own, leat__decode_job *job, int channels);
/* The coefficients of a picture that it began and cannot go on with: memory that libjpeg-turbo can have. NULL: none. */
void *leat__jpeg_own_memory(leat__jpeg_own *own, size_t *bytes);
/* Before the first row: only this part. Rows are then exactly those of the box. */
void leat__jpeg_own_region(leat__jpeg_own *own, const leat__box *box);
/* Before the first row, with 3 channels: rows are planes, see leat__decode_planes. */
void leat__jpeg_own_planes(leat__jpeg_own *own, size_t apart);
/* The next rows. *done tells how many were written, also when the rest could not be. */
bool leat__jpeg_own_rows(leat__jpeg_own *own, uint8_t *dst, ptrdiff_t stride, int n_rows, int *done);
/* After the last row of a part: goes to the end of the last row of MCUs that was read, so that damage counts in whatever column
 * it lies. Where a position behind it is known this has been done before. Restart markers lead past it instead. */
bool leat__jpeg_own_finish(leat__jpeg_own *own);
/* After the last row that was wanted: keeps the positions that were taken. */
void leat__jpeg_own_seal(leat__jpeg_own *own);
/* After all rows of the whole picture: does the file end as it should? */
bool leat__jpeg_own_ends(const leat__jpeg_own *own);

#endif
