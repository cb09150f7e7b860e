/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of named values that are read once and kept in memory: columns of a CSV file (rows_csv.c) or arrays of the program
 * (rows.c). A field has one or several values for each row, or a text. The sources `list` and `csv` serve them. */
#ifndef LEAT_SOURCE_ROWS_H
#define LEAT_SOURCE_ROWS_H

#include "format/csv.h"
#include "source/classes.h"

typedef struct leat__rows_field {
    char name[64];
    int dtype;        /* LEAT_DTYPE_BYTES: texts                                           */
    int ndim;         /* of a row's values, or of an entry: 0, or 1 for several            */
    size_t n;         /* of a row's values, or of an entry                                 */
    bool ragged;      /* a row has any number of entries, as of boxes; not of texts        */
    leat__buf values; /* (rows, n); texts one after the other, each with a zero behind it  */
    leat__buf begin;  /* of texts and entries: (rows + 1) of uint64_t, where each begins   */
    size_t longest;   /* of texts, in bytes                                                */
    size_t room;      /* of texts: bytes that all of them need, counted before they are taken */
} leat__rows_field;

typedef struct leat__rows { /* zeroed = empty */
    uint64_t n;
    bool header;     /* the first row of the file holds names               */
    int class_field; /* the field whose classes have names; -1 = none       */
    int n_fields;
    leat__rows_field field[LEAT_FIELDS_MAX];
} leat__rows;

static inline const char *leat__rows_text(const leat__rows *rows, int field, uint64_t row) {
    const leat__rows_field *f = &rows->field[field];
    return (const char *)f->values.data + ((const uint64_t *)f->begin.data)[row];
}
void leat__rows_value(const leat__rows *rows, int field, uint64_t row, leat__value *out);
/* Appends the fields from number `first` on to those of the source. */
void leat__rows_describe(const leat__rows *rows, int first, leat__source *source);
/* Of all values and names, and of the source's class names. */
uint64_t leat__rows_hash(const leat__rows *rows, const leat__source *source);
void leat__rows_free(leat__rows *rows);

/* Rows from the program's arrays. Numbers are copied, those with offsets as entries; texts too, but those of fields other than the first are words that
 * become the numbers of their classes. classes: their names in order; "" = sorted. */
int leat__rows_from_arrays(leat__rows *rows, leat__source *source, const leat_tensor *arrays, int n,
                           const char *classes, leat_error *err);

/* Values that are numbers of words become the ranks of the words; the source gets the names, unless it is NULL. */
int leat__rows_settle_words(leat__rows *rows, leat__rows_field *field, size_t place,
                            const leat__classes *words, leat__source *source, leat_error *err);

/* Labels that are whole numbers already get the words as the names of their classes. */
int leat__rows_name_numbers(const leat__rows *rows, const leat__rows_field *field, const leat__classes *words,
                            leat__source *source, leat_error *err);

/* ------------------------------------------------------------------------------------------ CSV files */

typedef struct leat__rows_column { /* while the file is read */
    int at;                        /* number of the cell in a row                              */
    int field;
    size_t place;                       /* in the field's values                               */
    char name[64];                      /* for messages                                        */
    const char *fallback;               /* what a missing cell counts as; NULL = nothing        */
    const char *order;                  /* its words in the order of their numbers; NULL = sorted */
    bool numbers;                       /* words are a mistake                                 */
    bool no_gaps;                       /* so are missing cells, whatever they would be        */
    uint64_t n_whole, n_number, n_word; /* cells of each kind                                  */
    uint64_t n_missing;
    uint64_t number_row, word_row, missing_row; /* of the first of them                        */
    leat__classes words;                        /* while the values of a column of words are read */
} leat__rows_column;

typedef struct leat__rows_scan leat__rows_scan;

typedef struct leat__rows_options {
    const char *path;
    char separator;
    bool gaps;        /* cells may be missing: empty, NA, NaN, null, None; a missing number is NaN   */
    bool label_names; /* of several fields with words, `label` names the classes; otherwise none does */
    /* Called with the first row: says whether it is a header and adds the columns. */
    int (*choose)(leat__rows_scan *scan, const void *user, leat_error *err);
    const void *user;
    /* Called with every row behind the header while nothing is kept yet; may be NULL. */
    int (*each)(leat__rows_scan *scan, const void *user, leat_error *err);
    /* Guesses a name, as leat__nearest (plan/op.h) does; may be NULL. */
    const char *(*nearest)(const char *word, const char *(*next)(const void *user, size_t i),
                           const void *user);
} leat__rows_options;

struct leat__rows_scan {
    leat__rows *rows;
    leat__source *source;
    const leat__rows_options *options;
    const leat__open_options *open;
    leat__file file;
    leat__csv csv;
    int n_cells;    /* that every row has                 */
    uint64_t taken; /* rows whose values were taken so far */
    int n_columns;
    leat__rows_column *column; /* (LEAT_CSV_CELLS_MAX) */
    char *bytes;               /* a piece of the file  */
    leat__arena texts;         /* of leat__rows_keep   */
    bool named;                /* the message names the file already */
    leat_error *err;
};

/* Reads the file; class names go to the source. */
int leat__rows_read(leat__rows *rows, leat__source *source, const leat__rows_options *options,
                    const leat__open_options *open, leat_error *err);

/* For `choose`. A column of the first row by its name or its number, counted from 0: LEAT_ERR_NOT_FOUND. */
int leat__rows_find(const leat__rows_scan *scan, const char *name, int *out, leat_error *err);
/* The column with this name in the first row, or -1. */
int leat__rows_find_name(const leat__rows_scan *scan, const char *name);
/* A field of n values; dtype -1: by what its columns hold. Its columns are added next. Its number, or an error. */
int leat__rows_add_field(leat__rows_scan *scan, const char *name, int dtype, int ndim, size_t n,
                         leat_error *err);
leat__rows_column *leat__rows_add_column(leat__rows_scan *scan, int field, size_t place, int at,
                                         leat_error *err);
/* A text of so many bytes, zero-terminated, until the file is read. NULL without memory. */
const char *leat__rows_keep(leat__rows_scan *scan, const char *text, size_t n);
/* Fails with the row that was read last. */
int leat__rows_fail(const leat__rows_scan *scan, int code, const char *what);
/* The text of a cell of the last row, shortened; for messages. */
const char *leat__rows_show(const leat__rows_scan *scan, int at, char *text, size_t cap);

#endif
