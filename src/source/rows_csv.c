/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the columns of a CSV file in two passes. The first finds out what the columns hold, since a single word in the last
 * row makes words of a whole column; the second takes the values, into memory that has exactly the right size. A file that
 * changes in between is noticed. */
#include <math.h>
#include <stdio.h>

#include "source/rows.h"

enum { CHUNK = 2 * LEAT_CSV_ROW_MAX }; /* so that a row that is begun fits whole, or is too long */

typedef leat__rows_scan scan;
typedef leat__rows_column column_of;
typedef int (*row_fn)(scan *s);

int leat__rows_fail(const scan *s, int code, const char *what) {
    return leat__fail(s->err, code, "row %" PRIu64 " (line %" PRIu64 ") %s", s->csv.row, s->csv.line, what);
}

static int each_row(scan *s, row_fn first, row_fn other) {
    uint64_t read = 0, shown = 0;
    size_t n = 0;
    s->csv = (leat__csv){.separator = s->options->separator, .cell = s->csv.cell};
    for (;;) {
        const size_t want = (size_t)LEAT_MIN(s->file.size - read, (uint64_t)(CHUNK - n));
        const int got = leat__file_read_at(&s->file, s->bytes + n, want, read, s->options->path, s->err);
        s->named = got < 0;
        LEAT_TRY(got);
        read += want;
        n += want;
        const bool last = read == s->file.size;
        size_t at = 0, used;
        int rc;
        while ((rc = leat__csv_next(&s->csv, s->bytes + at, n - at, last, &used, s->err)) > 0) {
            LEAT_TRY((s->csv.row == 1 ? first : other)(s));
            at += used;
        }
        if (rc < 0) return rc;
        at += used;
        if (last) return 0;
        n -= at;
        memmove(s->bytes, s->bytes + at, n);
        if (s->open->progress && read - shown > ((uint64_t)32 << 20)) {
            shown = read;
            if (s->open->progress(s->open->user, "reading the table", read, s->file.size))
                return leat__fail(s->err, LEAT_ERR_CANCELLED, "reading the table was cancelled");
        }
    }
}

/* -------------------------------------------------------------------------------------- the first row */

static bool is_number(const char *text) {
    return *text && text[strspn(text, "0123456789")] == 0;
}

int leat__rows_find_name(const scan *s, const char *name) {
    for (int i = 0; i < s->csv.n_cells; i++)
        if (leat__csv_is(&s->csv.cell[i], name)) return i;
    return -1;
}

/* The texts of the first row, zero-terminated, one after the other. */
static const char *name_at(const void *user, size_t i) {
    const leat__buf *all = user;
    const char *at = (const char *)all->data, *end = at + all->size;
    for (; at < end && i > 0; i--) at += strlen(at) + 1;
    return at < end ? at : NULL;
}

static int fail_column(const scan *s, const char *name, leat_error *err) {
    const leat__csv *csv = &s->csv;
    char wanted[70], shown[70], list[400] = "";
    leat__printable(wanted, sizeof wanted, name, strlen(name));
    if (!s->rows->header)
        return leat__fail(err, LEAT_ERR_NOT_FOUND,
                          "there is no column '%s': without a header columns are numbers, 0 to %d", wanted,
                          csv->n_cells - 1);
    leat__buf all = {.kind = LEAT_MEM_INDEX};
    for (int i = 0; i < csv->n_cells; i++)
        if (!leat__csv_append(&csv->cell[i], &all) || !leat__buf_append(&all, "", 1)) break;
    const char *near = s->options->nearest ? s->options->nearest(name, name_at, &all) : NULL, *known;
    for (size_t i = 0; (known = name_at(&all, i)) != NULL && strlen(list) < sizeof list - 80; i++) {
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "",
                 leat__printable(shown, sizeof shown, known, strlen(known)));
    }
    if (near)
        leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no column '%s'; did you mean '%s'?", wanted,
                   leat__printable(shown, sizeof shown, near, strlen(near)));
    else leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no column '%s': there are %s", wanted, list);
    leat__buf_free(&all);
    return LEAT_ERR_NOT_FOUND;
}

int leat__rows_find(const scan *s, const char *name, int *out, leat_error *err) {
    int at = s->rows->header ? leat__rows_find_name(s, name) : -1;
    if (at < 0 && is_number(name) && strlen(name) < 6) {
        at = 0;
        for (const char *c = name; *c; c++) at = at * 10 + (*c - '0');
        if (at >= s->csv.n_cells) at = -1;
    }
    if (at < 0) return fail_column(s, name, err);
    *out = at;
    return 0;
}

const char *leat__rows_show(const scan *s, int at, char *text, size_t cap) {
    const leat__csv_cell *cell = &s->csv.cell[at];
    return leat__printable(text, cap, cell->text, cell->n);
}

const char *leat__rows_keep(scan *s, const char *text, size_t n) {
    char *kept = leat__arena_alloc(&s->texts, n + 1);
    if (!kept) return NULL;
    memcpy(kept, text, n);
    kept[n] = 0;
    return kept;
}

int leat__rows_add_field(scan *s, const char *name, int dtype, int ndim, size_t n, leat_error *err) {
    leat__rows *rows = s->rows;
    char shown[70];
    if (rows->n_fields == LEAT_FIELDS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "more than %d fields: make a vector of columns, as in x=a,b,c or x=*",
                          LEAT_FIELDS_MAX);
    leat__rows_field *f = &rows->field[rows->n_fields];
    *f = (leat__rows_field){.dtype = dtype, .ndim = ndim, .n = n};
    f->values.kind = f->begin.kind = LEAT_MEM_INDEX;
    leat__printable(shown, sizeof shown, name, strlen(name));
    if (strlen(name) >= sizeof f->name || !*name)
        return leat__fail(err, LEAT_ERR_LIMIT, "the name '%s' of a field must have 1 to 63 bytes", shown);
    snprintf(f->name, sizeof f->name, "%s", name);
    for (int i = 0; i < rows->n_fields; i++)
        if (strcmp(rows->field[i].name, name) == 0)
            return leat__fail(err, LEAT_ERR_ARGUMENT,
                              "two fields would have the name '%s': name each column once", shown);
    return rows->n_fields++;
}

column_of *leat__rows_add_column(scan *s, int field, size_t place, int at, leat_error *err) {
    if (s->n_columns == LEAT_CSV_CELLS_MAX) {
        leat__fail(err, LEAT_ERR_LIMIT, "more than %d columns", LEAT_CSV_CELLS_MAX);
        return NULL;
    }
    column_of *column = &s->column[s->n_columns++];
    *column = (column_of){.at = at, .field = field, .place = place, .words.text.kind = LEAT_MEM_INDEX};
    const leat__rows_field *f = &s->rows->field[field];
    if (f->ndim == 0) snprintf(column->name, sizeof column->name, "%s", f->name);
    else if (s->rows->header) leat__rows_show(s, at, column->name, sizeof column->name);
    else snprintf(column->name, sizeof column->name, "column%d", at);
    return column;
}

/* ------------------------------------------------------------------------------------ the first pass */

/* What pandas takes for a missing value, as far as it is common. */
static bool is_gap(const leat__csv_cell *cell) {
    static const char *const words[] = {"NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"};
    if (cell->n > 4) return false;
    for (size_t i = 0; i < LEAT_COUNT(words); i++)
        if (leat__csv_is(cell, words[i])) return true;
    return false;
}

/* A cell, or what a missing one counts as. missing: it is missing, and nothing stands for it. */
static leat__csv_kind kind_of(const scan *s, const column_of *column, leat__csv_cell *cell, int64_t *whole,
                              double *number, bool *missing) {
    *cell = s->csv.cell[column->at];
    leat__csv_kind kind = leat__csv_number(cell, whole, number);
    *missing = kind == LEAT_CSV_EMPTY || (kind == LEAT_CSV_WORD && s->options->gaps && is_gap(cell));
    if (!*missing || !column->fallback) return kind;
    *missing = false;
    *cell = (leat__csv_cell){.text = column->fallback, .n = strlen(column->fallback)};
    kind = leat__csv_number(cell, whole, number);
    *missing = kind == LEAT_CSV_EMPTY || (kind == LEAT_CSV_WORD && is_gap(cell)); /* missing=nan */
    return kind;
}

static int survey_column(scan *s, column_of *column) {
    leat__csv_cell cell;
    int64_t whole;
    double number;
    bool missing;
    char what[200];
    if (s->rows->field[column->field].dtype == LEAT_DTYPE_BYTES) {
        s->rows->field[column->field].room += s->csv.cell[column->at].n + 1;
        return 0;
    }
    const leat__csv_kind kind = kind_of(s, column, &cell, &whole, &number, &missing);
    if (missing) {
        if (column->n_missing++ == 0) column->missing_row = s->csv.row;
        if (s->options->gaps && !column->no_gaps) return 0;
        snprintf(what, sizeof what, "has a %s that is %s", column->name,
                 s->options->gaps ? "missing" : "empty");
        return leat__rows_fail(s, LEAT_ERR_FORMAT, what);
    }
    if (kind == LEAT_CSV_HUGE) {
        snprintf(what, sizeof what, "has a %s that is too large a number%s", column->name,
                 s->options->gaps ? ": ask for texts (NAME:bytes)" : "");
        return leat__rows_fail(s, LEAT_ERR_LIMIT, what);
    }
    if (kind == LEAT_CSV_WHOLE) column->n_whole++;
    else if (kind == LEAT_CSV_NUMBER && column->n_number++ == 0) column->number_row = s->csv.row;
    else if (kind == LEAT_CSV_WORD && column->n_word++ == 0) column->word_row = s->csv.row;
    return 0;
}

static int survey_row(scan *s) {
    if (s->csv.n_cells != s->n_cells) {
        char what[200];
        snprintf(what, sizeof what, "has %d cells, the first one has %d: quote cells that hold a separator",
                 s->csv.n_cells, s->n_cells);
        return leat__rows_fail(s, LEAT_ERR_FORMAT, what);
    }
    s->rows->n++;
    for (int i = 0; i < s->n_columns; i++) LEAT_TRY(survey_column(s, &s->column[i]));
    return s->options->each ? s->options->each(s, s->options->user, s->err) : 0;
}

static int survey_first(scan *s) {
    s->n_cells = s->csv.n_cells;
    LEAT_TRY(s->options->choose(s, s->options->user, s->err));
    return s->rows->header ? 0 : survey_row(s);
}

/* ------------------------------------------------------------------------ between the passes: types */

static int fail_gap(const scan *s, const column_of *column, const char *why) {
    return leat__fail(s->err, LEAT_ERR_FORMAT,
                      "row %" PRIu64
                      ": %s is missing, %s: give a default, as in missing='%s=0', or fill the cell",
                      column->missing_row, column->name, why, column->name);
}

/* What a column holds must be one thing, and fit the type that was asked for. */
static int check_column(const scan *s, const column_of *column, int dtype) {
    const bool whole = dtype == LEAT_DTYPE_I64;
    if (column->numbers && column->n_word)
        return leat__fail(s->err, LEAT_ERR_FORMAT, "row %" PRIu64 " has a %s that is no number",
                          column->word_row, column->name);
    if (column->n_word && column->n_number)
        return leat__fail(s->err, LEAT_ERR_TYPE,
                          "column %s holds words (row %" PRIu64 ") and numbers with a fraction (row %" PRIu64
                          "): they must be one or the other%s",
                          column->name, column->word_row, column->number_row,
                          s->options->gaps ? ", or asked for as texts (NAME:bytes)" : "");
    if (whole && column->n_number)
        return leat__fail(s->err, LEAT_ERR_TYPE, "row %" PRIu64 ": %s has a fraction, and i64 was asked for",
                          column->number_row, column->name);
    if (column->n_missing && column->n_word) return fail_gap(s, column, "in a column of words");
    if (column->n_missing && whole) return fail_gap(s, column, "and a whole number has no NaN");
    return 0;
}

/* A field that was not declared is i64 if all of its values are whole or words, else f32. */
static void settle_dtype(const scan *s, int field) {
    leat__rows_field *f = &s->rows->field[field];
    bool whole = true;
    for (int i = 0; i < s->n_columns; i++)
        if (s->column[i].field == field) whole &= !s->column[i].n_number && !s->column[i].n_missing;
    if (f->dtype < 0) f->dtype = whole ? LEAT_DTYPE_I64 : LEAT_DTYPE_F32;
}

static int settle_columns(scan *s) {
    leat__rows *rows = s->rows;
    if (rows->n == 0)
        return leat__fail(s->err, LEAT_ERR_NOT_FOUND, "%s",
                          rows->header ? "there is nothing but a header: no row follows"
                                       : "the file is empty: no row is there");
    for (int i = 0; i < rows->n_fields; i++) settle_dtype(s, i);
    for (int i = 0; i < s->n_columns; i++) {
        column_of *column = &s->column[i];
        const leat__rows_field *f = &rows->field[column->field];
        if (f->dtype == LEAT_DTYPE_BYTES) continue;
        LEAT_TRY(check_column(s, column, f->dtype));
        if (column->order) LEAT_TRY(leat__classes_order(&column->words, column->order, s->err));
    }
    for (int i = 0; i < rows->n_fields; i++) {
        leat__rows_field *f = &rows->field[i];
        size_t bytes = f->room, begins = 0;
        if (f->dtype == LEAT_DTYPE_BYTES) begins = (size_t)(rows->n + 1) * sizeof(uint64_t);
        else if (!leat__mul_size((size_t)rows->n, f->n * leat_dtype_size(f->dtype), &bytes))
            bytes = SIZE_MAX / 2;
        if (!leat__buf_reserve_exactly(&f->values, bytes) || !leat__buf_reserve_exactly(&f->begin, begins))
            return leat__fail_memory(s->err, bytes, "a table");
    }
    return 0;
}

/* ----------------------------------------------------------------------------------- the second pass */

static int fail_changed(const scan *s) {
    return leat__fail(s->err, LEAT_ERR_IO, "the file changed while it was read");
}

static int take_text(scan *s, leat__rows_field *f, const leat__csv_cell *cell) {
    const uint64_t begin = f->values.size;
    if (!leat__buf_append(&f->begin, &begin, sizeof begin) || !leat__csv_append(cell, &f->values) ||
        !leat__buf_append(&f->values, "", 1))
        return leat__fail_memory(s->err, f->values.size, "a table");
    f->longest = LEAT_MAX(f->longest, f->values.size - (size_t)begin - 1);
    return 0;
}

/* The number of a word; a given order must have it. */
static int64_t take_word(scan *s, column_of *column, const leat__csv_cell *cell) {
    leat__classes *words = &column->words;
    const size_t begin = words->text.size;
    char shown[100], what[300];
    if (!leat__csv_append(cell, &words->text) || !leat__buf_append(&words->text, "", 1))
        return leat__fail_memory(s->err, begin, "class names");
    const int64_t number = leat__classes_number(words, begin, s->err);
    if (number < 0 || !words->n_ordered || number < words->n_ordered) return number;
    const char *word = leat__classes_at(words, (uint32_t)number);
    snprintf(what, sizeof what, "has the %s '%s', which is none of the %" PRIu32 " given classes",
             column->name, leat__printable(shown, sizeof shown, word, strlen(word)), words->n_ordered);
    return leat__rows_fail(s, LEAT_ERR_NOT_FOUND, what);
}

static int take_value(scan *s, column_of *column) {
    leat__rows_field *f = &s->rows->field[column->field];
    leat__csv_cell cell;
    int64_t whole = 0;
    double number = 0;
    bool missing;
    if (f->dtype == LEAT_DTYPE_BYTES) return take_text(s, f, &s->csv.cell[column->at]);
    const leat__csv_kind kind = kind_of(s, column, &cell, &whole, &number, &missing);
    if (column->n_word) {
        whole = missing ? fail_changed(s) : take_word(s, column, &cell);
        if (whole < 0) return (int)whole;
    } else if (missing ? f->dtype == LEAT_DTYPE_I64 || !s->options->gaps
                       : kind != LEAT_CSV_WHOLE && (kind != LEAT_CSV_NUMBER || f->dtype == LEAT_DTYPE_I64)) {
        return fail_changed(s);
    } else if (column->order && (whole < 0 || whole >= column->words.n_ordered)) {
        char what[300];
        snprintf(what, sizeof what, "has the %s %" PRId64 ", but the given classes are 0 to %" PRIu32,
                 column->name, whole, column->words.n_ordered - 1);
        return leat__rows_fail(s, LEAT_ERR_NOT_FOUND, what);
    }
    const bool is_whole = column->n_word || kind == LEAT_CSV_WHOLE;
    const size_t at = (size_t)s->taken * f->n + column->place;
    /* A whole number to f32 directly: by way of a double it could be rounded twice. */
    if (f->dtype == LEAT_DTYPE_I64) ((int64_t *)(void *)f->values.data)[at] = whole;
    else if (f->dtype == LEAT_DTYPE_F32)
        ((float *)(void *)f->values.data)[at] = missing    ? (float)NAN
                                                : is_whole ? (float)whole
                                                           : (float)number;
    else ((double *)(void *)f->values.data)[at] = missing ? (double)NAN : is_whole ? (double)whole : number;
    return 0;
}

static int take_row(scan *s) {
    if (s->csv.n_cells != s->n_cells || s->taken == s->rows->n) return fail_changed(s);
    for (int i = 0; i < s->n_columns; i++) LEAT_TRY(take_value(s, &s->column[i]));
    s->taken++;
    return 0;
}

static int take_first(scan *s) {
    return s->rows->header ? 0 : take_row(s);
}

static int finish_fields(scan *s) {
    leat__rows *rows = s->rows;
    if (s->taken != rows->n) return fail_changed(s);
    for (int i = 0; i < rows->n_fields; i++) {
        leat__rows_field *f = &rows->field[i];
        const uint64_t end = f->values.size;
        if (f->dtype != LEAT_DTYPE_BYTES) f->values.size = (size_t)rows->n * f->n * leat_dtype_size(f->dtype);
        else if (!leat__buf_append(&f->begin, &end, sizeof end))
            return leat__fail_memory(s->err, 8, "a table");
    }
    return 0;
}

/* Words become the numbers of their places in sorted or given order. They name the classes of the source if no other
 * column has words: with several, a class name would not tell its column. */
static int number_words(scan *s) {
    leat__rows *rows = s->rows;
    int n_words = 0, label = -1;
    for (int i = 0; i < s->n_columns; i++) {
        const column_of *column = &s->column[i];
        const bool named = column->n_word || column->words.n_ordered;
        const leat__rows_field *f = &rows->field[column->field];
        n_words += named;
        if (named &&
            (label < 0 || (s->options->label_names && f->ndim == 0 && strcmp(f->name, "label") == 0)))
            label = i;
    }
    const bool names =
        label >= 0 && (n_words == 1 || (s->options->label_names &&
                                        strcmp(rows->field[s->column[label].field].name, "label") == 0));
    for (int i = 0; i < s->n_columns; i++) {
        column_of *column = &s->column[i];
        leat__rows_field *f = &rows->field[column->field];
        leat__source *source = names && i == label ? s->source : NULL;
        if (source) rows->class_field = column->field;
        if (column->n_word)
            LEAT_TRY(leat__rows_settle_words(rows, f, column->place, &column->words, source, s->err));
        else if (source) LEAT_TRY(leat__rows_name_numbers(rows, f, &column->words, source, s->err));
    }
    return 0;
}

static int read_rows(scan *s) {
    LEAT_TRY(each_row(s, survey_first, survey_row));
    LEAT_TRY(settle_columns(s));
    LEAT_TRY(each_row(s, take_first, take_row));
    LEAT_TRY(finish_fields(s));
    return number_words(s);
}

int leat__rows_read(leat__rows *rows, leat__source *source, const leat__rows_options *options,
                    const leat__open_options *open, leat_error *err) {
    scan s = {.rows = rows,
              .source = source,
              .options = options,
              .open = open,
              .texts.kind = LEAT_MEM_INDEX,
              .err = err};
    rows->class_field = -1;
    LEAT_TRY(leat__file_open(&s.file, options->path, err));
    s.bytes = leat__alloc(LEAT_MEM_INDEX, (size_t)LEAT_MIN(s.file.size + 1, (uint64_t)CHUNK));
    s.csv.cell = leat__alloc(LEAT_MEM_INDEX, LEAT_CSV_CELLS_MAX * sizeof *s.csv.cell);
    s.column = leat__alloc(LEAT_MEM_INDEX, LEAT_CSV_CELLS_MAX * sizeof *s.column);
    const int rc =
        s.bytes && s.csv.cell && s.column ? read_rows(&s) : leat__fail_memory(err, CHUNK, "a table");
    for (int i = 0; i < s.n_columns; i++) leat__classes_free(&s.column[i].words);
    leat__arena_free(&s.texts);
    leat__free(s.column);
    leat__free(s.bytes);
    leat__free(s.csv.cell);
    leat__file_close(&s.file);
    char shown[400];
    if (rc < 0 && rc != LEAT_ERR_CANCELLED && !s.named)
        leat__error_prefix(err, "%s %s: ", source->class->name,
                           leat__printable(shown, sizeof shown, options->path, strlen(options->path)));
    return rc;
}
