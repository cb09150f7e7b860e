/* SPDX-License-Identifier: Apache-2.0 */
/* Our own decoder for the JPEGs that training sets are made of: sequential Huffman coding, 8 bits, one scan, gray or YCbCr
 * with chroma of full size or halved in either direction. Its rows are libjpeg-turbo's, byte for byte (accurate integer
 * IDCT, fancy upsampling), and it takes about half the time.
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

/* After jpeg_read_header: takes tables and sizes from libjpeg-turbo's struct, so that both decoders agree on them, and memory
 * from the job's arena. Rows will have `channels` channels: 1, 3 or 4. */
bool leat__jpeg_own_begin(leat__jpeg_own *own, const struct jpeg_decompress_struct *jpeg,
                          leat__decode_job *job, int channels);
/* Before the first row: only this part. Rows are then exactly those of the box. */
void leat__jpeg_own_region(leat__jpeg_own *own, const leat__box *box);
/* Before the first row, with 3 channels: rows are planes, see leat__decode_planes. */
void leat__jpeg_own_planes(leat__jpeg_own *own, size_t apart);
/* The next rows. *done tells how many were written, also when the rest could not be. */
bool leat__jpeg_own_rows(leat__jpeg_own *own, uint8_t *dst, ptrdiff_t stride, int n_rows, int *done);
/* After the last row that was wanted: keeps the positions that were taken. */
void leat__jpeg_own_seal(leat__jpeg_own *own);
/* After all rows of the whole picture: does the file end as it should? */
bool leat__jpeg_own_ends(const leat__jpeg_own *own);

#endif
