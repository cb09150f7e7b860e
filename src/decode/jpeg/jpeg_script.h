/* SPDX-License-Identifier: Apache-2.0 */
/* The scans of a JPEG that has several: a progressive one, or a sequential one with a scan for each component. All of them are
 * found before the first one is decoded, so that it is known then whether every coefficient becomes exact. libjpeg-turbo
 * smooths pictures where some do not, and accepts orders of scans that no encoder writes. Such files are its own. */
#ifndef LEAT_DECODE_JPEG_JPEG_SCRIPT_H
#define LEAT_DECODE_JPEG_JPEG_SCRIPT_H

#include "base/macros.h"

#define LEAT_JPEG_PASSES_MAX 32
/* Bits of a coefficient that come later. Larger ones could leave 16 bits, and encoders use 1 to 3. */
#define LEAT_JPEG_LOW_MAX 5

typedef struct leat__jpeg_code_bytes { /* a Huffman code as the file has it; counts[0] does not count */
    const uint8_t *counts, *symbols;   /* NULL: none                                                  */
} leat__jpeg_code_bytes;

typedef struct leat__jpeg_pass { /* one scan                                                     */
    int n_components, component[3];
    int first, last;      /* coefficients, in zigzag order                               */
    int high, low;        /* bits that are not there: before this scan (0: all), and after it */
    int restart_interval; /* in MCUs, 0 = none                                           */
    leat__jpeg_code_bytes dc[3], ac;
    const uint8_t *src, *end; /* its entropy-coded bytes; a marker follows                   */
} leat__jpeg_pass;

struct jpeg_decompress_struct;
/* After jpeg_read_header of a file whose first scan does not hold all of it. NULL: all scans are regular, *n of them, and
 * all coefficients of all components are exact in the end; otherwise why not, in a few words. */
const char *leat__jpeg_script_read(leat__jpeg_pass passes[LEAT_JPEG_PASSES_MAX], int *n,
                                   const struct jpeg_decompress_struct *jpeg);

#endif
