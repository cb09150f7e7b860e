/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind a list of files: list_table.c reads it from a CSV file, list.c serves its samples. */
#ifndef LEAT_SOURCE_LIST_H
#define LEAT_SOURCE_LIST_H

#include "source/classes.h"

typedef struct leat__list_column { /* of labels or weights                              */
    int at;                        /* number of the cell in a row                       */
    char name[64];                 /* of the field                                      */
    bool weight;
    uint64_t n_whole, n_number, n_word; /* cells of each kind                            */
    uint64_t number_row, word_row;      /* of the first of them                          */
    int dtype;                          /* I64 or F32, known after all rows were seen     */
    leat__buf values;                   /* (n_rows)                                      */
    leat__classes words;                /* while the values of a column of words are read */
} leat__list_column;

typedef struct leat__list_table {
    uint64_t n_rows;
    bool header; /* the first row of the file holds names   */
    int path_at; /* number of the cell with the path        */
    int n_cells; /* that every row has                      */
    size_t path_bytes;
    leat__buf path;  /* zero-terminated texts                   */
    leat__buf begin; /* (n_rows) of uint64_t: where each begins */
    int n_columns;
    leat__list_column column[LEAT_FIELDS_MAX - 1];
} leat__list_table;

/* Reads the file; class names go to the source. */
int leat__list_table_read(leat__list_table *table, leat__source *source, const leat__list_options *options,
                          const leat__open_options *open, leat_error *err);
void leat__list_table_free(leat__list_table *table);

#endif
