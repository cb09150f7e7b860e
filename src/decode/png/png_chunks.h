/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in a PNG: a walk over its chunks from the signature to IEND, and their checksums.
 *
 * The walk reads the heads of chunks only, so that it costs next to nothing. It is the one place that tells whether a file
 * has an end, and whether our own decoder may take it: the rules are stricter than libpng's, which decodes all others. */
#ifndef LEAT_DECODE_PNG_PNG_CHUNKS_H
#define LEAT_DECODE_PNG_PNG_CHUNKS_H

#include "base/macros.h"

typedef struct leat__png_chunks { /* offsets count from the file's first byte                       */
    int colour, bits;             /* as IHDR gives them; bits at most 16                            */
    size_t palette, n_palette;    /* the bytes of PLTE; 0, 0 if there is none                       */
    size_t alpha, n_alpha;        /* the bytes of a tRNS before the pixels; 0, 0 if there is none   */
    size_t pixels, pixels_end;    /* the IDAT chunks that follow one another; 0, 0 if there are none */
    size_t exif, n_exif;          /* the bytes of the last eXIf; 0, 0 if there is none              */
    size_t end;                   /* the head of IEND; 0: the file is cut off, or not made of chunks */
    const char *detour;           /* why libpng decodes this file, in a few words; NULL: it need not */
} leat__png_chunks;

/* After a signature and an IHDR of 13 bytes, that is of at least 33 bytes. */
void leat__png_chunks_walk(leat__png_chunks *chunks, const uint8_t *bytes, size_t n);
/* After a walk that found the end. Checks the sums of the pixels, of IEND and of everything critical between them: damage that
 * libpng would report if all rows were read. 0, or the offset of the chunk whose sum is wrong. */
size_t leat__png_chunks_check(const leat__png_chunks *chunks, const uint8_t *bytes);
/* The same for what says how the pixels are stored, in a file without detour: IHDR, PLTE and tRNS. */
bool leat__png_chunks_check_head(const leat__png_chunks *chunks, const uint8_t *bytes);

#endif
