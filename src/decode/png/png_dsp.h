/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of our own PNG decoder: the four filters of the format undone, for pixels of 1 to 8 bytes. As in image/dsp.h
 * the plain C version of each is its specification, another instruction set replaces entries and gives the same bytes, and
 * each prototype is written once. */
#ifndef LEAT_DECODE_PNG_PNG_DSP_H
#define LEAT_DECODE_PNG_PNG_DSP_H

#include "base/macros.h"

/* So many bytes after a row may be read, and after an output be written too. */
#define LEAT_PNG_PAD 32

enum {
    LEAT_PNG_SUB,
    LEAT_PNG_UP,
    LEAT_PNG_AVERAGE,
    LEAT_PNG_PAETH,
    LEAT_PNG_FILTERS
};                            /* the file's numbers less 1 */
enum { LEAT_PNG_PIXELS = 6 }; /* sizes: 1, 2, 3, 4, 6, 8 */

/* Where kernels for pixels of so many bytes stand in the table. */
static inline int leat__png_pixel(size_t bytes) {
    return (int)(bytes < 5 ? bytes - 1 : bytes / 2 + 1);
}

/* raw: n bytes of a row as the file stores them, whole pixels. row: the row above, which becomes this row. */
#define LEAT_FN_PNG_UNFILTER(name) void name(uint8_t *row, const uint8_t *raw, size_t n)
/* Two rows with the filter of Paeth at once: row becomes the first of them, below the second. A pixel must wait for the one
 * before it, so that two rows take hardly longer than one. */
#define LEAT_FN_PNG_PAIR(name) \
    void name(uint8_t *row, uint8_t *below, const uint8_t *raw, const uint8_t *raw_below, size_t n)

typedef struct leat__png_dsp {
    LEAT_FN_PNG_UNFILTER((*unfilter[LEAT_PNG_FILTERS][LEAT_PNG_PIXELS]));
    LEAT_FN_PNG_PAIR((*paeth_pair[LEAT_PNG_PIXELS]));
} leat__png_dsp;

/* Fills in the best versions for these LEAT_CPU_* flags. */
void leat__png_dsp_init(leat__png_dsp *dsp, unsigned cpu_flags);

#endif
