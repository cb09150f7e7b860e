/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text: rows of cells as RFC 4180 has them. A cell may be quoted; inside of quotes a quote is
 * written twice, and separators and line ends are plain text. Lines end with LF, CRLF or CR; a byte order
 * mark in front and blank lines are passed over. Quotes inside of a cell that does not begin with one are
 * plain text. */
#ifndef LEAT_FORMAT_CSV_H
#define LEAT_FORMAT_CSV_H

#include "base/mem.h"

#define LEAT_CSV_CELLS_MAX 4096
#define LEAT_CSV_ROW_MAX ((size_t)1 << 20) /* bytes; a quote that is never closed must not swallow a file */

typedef struct leat__csv_cell {
    const char *text; /* as it stands in the file, without the outer quotes */
    size_t n;
    bool doubled; /* it holds quotes that are written twice */
} leat__csv_cell;

typedef struct leat__csv { /* of one file; zeroed, then the separator and the cells are set */
    char separator;        /* of cells                                                      */
    uint64_t line;         /* in which the last row began, from 1                           */
    uint64_t lines;        /* that were passed so far                                       */
    uint64_t row;          /* of the last row, from 1; blank lines are none                 */
    int n_cells;           /* of the last row                                               */
    leat__csv_cell *cell;  /* (LEAT_CSV_CELLS_MAX) the caller's                             */
    bool begun;            /* the byte order mark is behind us                              */
} leat__csv;

/* The next row of a file of which bytes[0, n) is what was not used yet; last: nothing follows.
 *   1  a row; its cells point into bytes
 *   0  more bytes are needed; with last: there is no further row
 *  <0  LEAT_ERR_FORMAT, LEAT_ERR_LIMIT: what is wrong, with the line
 * *used says how many bytes are done with, whatever is returned. */
int leat__csv_next(leat__csv *csv, const char *bytes, size_t n, bool last, size_t *used, leat_error *err);

/* Appends a cell's text, quotes taken away. False without memory. */
bool leat__csv_append(const leat__csv_cell *cell, leat__buf *out);
/* Whether a cell's text is this word. */
bool leat__csv_is(const leat__csv_cell *cell, const char *word);

typedef enum leat__csv_kind {
    LEAT_CSV_EMPTY,  /* nothing but spaces                  */
    LEAT_CSV_WHOLE,  /* a whole number that fits 64 bits    */
    LEAT_CSV_NUMBER, /* another number                      */
    LEAT_CSV_HUGE,   /* a number that is too large          */
    LEAT_CSV_WORD    /* anything else                       */
} leat__csv_kind;

/* What a cell holds. Numbers are read without a locale: digits, a point, an exponent; spaces around them
 * do not count. *whole is set for whole numbers, *number for all of them. */
leat__csv_kind leat__csv_number(const leat__csv_cell *cell, int64_t *whole, double *number);

#endif
