/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the table of a list in two passes. The first finds the columns and what they hold, since a single
 * word in the last row makes words of a whole column; the second takes the values, into memory that has
 * exactly the right size. A file that changes in between is noticed. */
#include <stdio.h>

#include "format/csv.h"
#include "source/list.h"

enum { CHUNK = 2 * LEAT_CSV_ROW_MAX }; /* so that a row that is begun fits whole, or is too long */

typedef struct scan {
    leat__list_table *table;
    const leat__list_options *options;
    const leat__open_options *open;
    leat__file file;
    leat__csv csv;
    char *bytes; /* (CHUNK) */
    bool named;  /* the message names the file already */
    leat_error *err;
} scan;

typedef int (*row_fn)(scan *s);

static int fail_row(const scan *s, int code, const char *what) {
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
            if (s->open->progress(s->open->user, "reading the list", read, s->file.size))
                return leat__fail(s->err, LEAT_ERR_CANCELLED, "reading the list was cancelled");
        }
    }
}

/* -------------------------------------------------------------------------------------- the first row */

static bool is_number(const char *text) {
    return *text && text[strspn(text, "0123456789")] == 0;
}

/* Whether one of the columns of a list, separated by commas, is given by its name. */
static bool any_name(const char *list) {
    if (strcmp(list, "none") == 0) return false;
    while (*list) {
        const size_t n = strcspn(list, ",");
        if (strspn(list, "0123456789") < n) return true;
        list += n + (list[n] == ',');
    }
    return false;
}

/* Whether a cell ends as names of files do: a point and up to five letters or digits. */
static bool file_like(const leat__csv_cell *cell) {
    for (size_t i = 1; i <= 6 && i < cell->n; i++) {
        const char c = cell->text[cell->n - i];
        if (c == '.') return i > 1;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    }
    return false;
}

static int find_name(const leat__csv *csv, const char *name) {
    for (int i = 0; i < csv->n_cells; i++)
        if (leat__csv_is(&csv->cell[i], name)) return i;
    return -1;
}

/* The texts of the first row, zero-terminated, one after the other. */
static const char *name_at(const void *user, size_t i) {
    const leat__buf *all = user;
    const char *at = (const char *)all->data, *end = at + all->size;
    for (; at < end && i > 0; i--) at += strlen(at) + 1;
    return at < end ? at : NULL;
}

static int fail_column(const scan *s, const char *name) {
    const leat__csv *csv = &s->csv;
    char wanted[70], shown[70], list[400] = "";
    leat__printable(wanted, sizeof wanted, name, strlen(name));
    if (!s->table->header)
        return leat__fail(s->err, LEAT_ERR_NOT_FOUND,
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
        leat__fail(s->err, LEAT_ERR_NOT_FOUND, "there is no column '%s'; did you mean '%s'?", wanted,
                   leat__printable(shown, sizeof shown, near, strlen(near)));
    else leat__fail(s->err, LEAT_ERR_NOT_FOUND, "there is no column '%s': there are %s", wanted, list);
    leat__buf_free(&all);
    return LEAT_ERR_NOT_FOUND;
}

/* A column by its name or its number, counted from 0. */
static int find_column(scan *s, const char *name, int *out) {
    int at = s->table->header ? find_name(&s->csv, name) : -1;
    if (at < 0 && is_number(name) && strlen(name) < 6) {
        at = 0;
        for (const char *c = name; *c; c++) at = at * 10 + (*c - '0');
        if (at >= s->csv.n_cells) at = -1;
    }
    if (at < 0) return fail_column(s, name);
    *out = at;
    return 0;
}

/* The first of some usual names, or -1. */
static int find_usual(const scan *s, const char *const *usual) {
    int at = -1;
    for (; *usual && at < 0; usual++) at = find_name(&s->csv, *usual);
    return at;
}

static int add_column(scan *s, int at, const char *name, bool weight) {
    leat__list_table *t = s->table;
    if (t->n_columns == LEAT_FIELDS_MAX - 1)
        return leat__fail(s->err, LEAT_ERR_LIMIT, "more than %d columns of labels", LEAT_FIELDS_MAX - 1);
    leat__list_column *column = &t->column[t->n_columns];
    *column = (leat__list_column){.at = at, .weight = weight, .values.kind = LEAT_MEM_INDEX};
    column->words.text.kind = LEAT_MEM_INDEX;
    if (strlen(name) >= sizeof column->name)
        return leat__fail(s->err, LEAT_ERR_LIMIT, "the name %.60s... of a column is longer than 63 bytes",
                          name);
    snprintf(column->name, sizeof column->name, "%s", name);
    bool taken = strcmp(name, "image") == 0;
    for (int i = 0; i < t->n_columns; i++) taken |= strcmp(t->column[i].name, name) == 0;
    if (taken)
        return leat__fail(s->err, LEAT_ERR_ARGUMENT,
                          "two fields would have the name '%s': name each column once", name);
    t->n_columns++;
    return 0;
}

static int add_labels(scan *s) {
    static const char *const usual[] = {"label", "class", NULL};
    const char *text = s->options->label;
    leat__list_table *t = s->table;
    int at;
    if (strcmp(text, "none") == 0) return 0;
    if (!*text) {
        at = t->header ? find_usual(s, usual) : s->csv.n_cells > 1 ? t->path_at == 0 : -1;
        return at < 0 || at == t->path_at ? 0 : add_column(s, at, "label", false);
    }
    const bool several = strchr(text, ',') != NULL && !(t->header && find_name(&s->csv, text) >= 0);
    while (text) {
        const char *comma = several ? strchr(text, ',') : NULL;
        const size_t n = comma ? (size_t)(comma - text) : strlen(text);
        char name[256], number[32];
        if (n == 0 || n >= sizeof name)
            return leat__fail(s->err, LEAT_ERR_ARGUMENT, "label='%.200s' is no list of columns",
                              s->options->label);
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        LEAT_TRY(find_column(s, name, &at));
        snprintf(number, sizeof number, "column%d", at);
        const bool named = t->header && find_name(&s->csv, name) == at;
        LEAT_TRY(add_column(s, at, several ? named ? name : number : "label", false));
        text = comma ? comma + 1 : NULL;
    }
    return 0;
}

static int choose_columns(scan *s) {
    static const char *const usual[] = {"path", "file", "filename", "file_name", "filepath", "image", NULL};
    const leat__list_options *o = s->options;
    leat__list_table *t = s->table;
    const bool named = any_name(o->column) || any_name(o->label) || any_name(o->weight);
    t->header = o->header == LEAT_HEADER_TRUE || (o->header == LEAT_HEADER_AUTO && named);
    if (!t->header && o->header == LEAT_HEADER_AUTO) {
        int at = 0;
        if (*o->column) LEAT_TRY(find_column(s, o->column, &at));
        t->header = !file_like(&s->csv.cell[at]);
    }
    t->n_cells = s->csv.n_cells;
    if (*o->column) LEAT_TRY(find_column(s, o->column, &t->path_at));
    else t->path_at = t->header ? LEAT_MAX(find_usual(s, usual), 0) : 0;
    LEAT_TRY(add_labels(s));
    if (!*o->weight) return 0;
    int at;
    LEAT_TRY(find_column(s, o->weight, &at));
    return add_column(s, at, "weight", true);
}

/* ------------------------------------------------------------------------------------ the first pass */

static int check_cell(const scan *s, const leat__list_column *column, leat__csv_kind kind) {
    char what[200];
    const char *word = kind == LEAT_CSV_EMPTY  ? "is empty"
                       : kind == LEAT_CSV_HUGE ? "is too large a number"
                                               : "is no number";
    if (kind != LEAT_CSV_EMPTY && kind != LEAT_CSV_HUGE && !(column->weight && kind == LEAT_CSV_WORD))
        return 0;
    snprintf(what, sizeof what, "has a %s that %s", column->name, word);
    return fail_row(s, kind == LEAT_CSV_HUGE ? LEAT_ERR_LIMIT : LEAT_ERR_FORMAT, what);
}

static int survey_row(scan *s) {
    leat__list_table *t = s->table;
    if (s->csv.n_cells != t->n_cells) {
        char what[200];
        snprintf(what, sizeof what, "has %d cells, the first one has %d: quote cells that hold a separator",
                 s->csv.n_cells, t->n_cells);
        return fail_row(s, LEAT_ERR_FORMAT, what);
    }
    const leat__csv_cell *path = &s->csv.cell[t->path_at];
    if (path->n == 0) return fail_row(s, LEAT_ERR_FORMAT, "has no path");
    t->n_rows++;
    t->path_bytes += path->n + 1;
    for (int i = 0; i < t->n_columns; i++) {
        leat__list_column *column = &t->column[i];
        int64_t whole;
        double number;
        const leat__csv_kind kind = leat__csv_number(&s->csv.cell[column->at], &whole, &number);
        LEAT_TRY(check_cell(s, column, kind));
        if (kind == LEAT_CSV_WHOLE) column->n_whole++;
        else if (kind == LEAT_CSV_NUMBER && column->n_number++ == 0) column->number_row = s->csv.row;
        else if (kind == LEAT_CSV_WORD && column->n_word++ == 0) column->word_row = s->csv.row;
    }
    return 0;
}

static int survey_first(scan *s) {
    LEAT_TRY(choose_columns(s));
    return s->table->header ? 0 : survey_row(s);
}

/* What each column is, and its memory. */
static int settle_columns(scan *s) {
    leat__list_table *t = s->table;
    if (t->n_rows == 0)
        return leat__fail(s->err, LEAT_ERR_NOT_FOUND, "%s: no file is listed",
                          t->header ? "there is nothing but a header" : "the file is empty");
    bool fits = leat__buf_reserve_exactly(&t->path, t->path_bytes) &&
                leat__buf_reserve_exactly(&t->begin, t->n_rows * sizeof(uint64_t));
    for (int i = 0; i < t->n_columns; i++) {
        leat__list_column *column = &t->column[i];
        if (column->n_word && column->n_number)
            return leat__fail(s->err, LEAT_ERR_TYPE,
                              "column %s holds words (row %" PRIu64
                              ") and numbers with a fraction (row %" PRIu64 "): labels are one or the other",
                              column->name, column->word_row, column->number_row);
        column->dtype = column->n_word                       ? LEAT_DTYPE_I64
                        : column->weight || column->n_number ? LEAT_DTYPE_F32
                                                             : LEAT_DTYPE_I64;
        fits = fits && leat__buf_reserve_exactly(&column->values, t->n_rows * leat_dtype_size(column->dtype));
    }
    return fits ? 0 : leat__fail_memory(s->err, t->path_bytes, "a list of files");
}

/* ----------------------------------------------------------------------------------- the second pass */

static int fail_changed(const scan *s) {
    return leat__fail(s->err, LEAT_ERR_IO, "the file changed while it was read");
}

static int take_value(scan *s, leat__list_column *column) {
    const leat__csv_cell *cell = &s->csv.cell[column->at];
    int64_t whole = 0;
    double number = 0;
    const leat__csv_kind kind = leat__csv_number(cell, &whole, &number);
    if (column->n_word) {
        const size_t begin = column->words.text.size;
        if (!leat__csv_append(cell, &column->words.text) || !leat__buf_append(&column->words.text, "", 1))
            return leat__fail_memory(s->err, begin, "class names");
        whole = leat__classes_number(&column->words, begin, s->err);
        if (whole < 0) return (int)whole;
    } else if (kind != LEAT_CSV_WHOLE && (kind != LEAT_CSV_NUMBER || column->dtype == LEAT_DTYPE_I64)) {
        return fail_changed(s);
    }
    /* A whole number to f32 directly: by way of a double it could be rounded twice. */
    const float f = kind == LEAT_CSV_WHOLE ? (float)whole : (float)number;
    const bool fits = column->dtype == LEAT_DTYPE_F32
                          ? leat__buf_append(&column->values, &f, sizeof f)
                          : leat__buf_append(&column->values, &whole, sizeof whole);
    return fits ? 0 : leat__fail_memory(s->err, column->values.size, "labels");
}

static int take_row(scan *s) {
    leat__list_table *t = s->table;
    if (s->csv.n_cells != t->n_cells || t->begin.size == t->n_rows * sizeof(uint64_t)) return fail_changed(s);
    const uint64_t begin = t->path.size;
    if (!leat__buf_append(&t->begin, &begin, sizeof begin) ||
        !leat__csv_append(&s->csv.cell[t->path_at], &t->path) || !leat__buf_append(&t->path, "", 1))
        return leat__fail_memory(s->err, t->path_bytes, "a list of files");
    for (int i = 0; i < t->n_columns; i++) LEAT_TRY(take_value(s, &t->column[i]));
    return 0;
}

static int take_first(scan *s) {
    return s->table->header ? 0 : take_row(s);
}

/* Words become the numbers of their places in sorted order. Only when one column has words do they name
 * classes: with several, a class name would not tell its column. */
static int number_words(scan *s, leat__source *source) {
    leat__list_table *t = s->table;
    int n_words = 0;
    for (int i = 0; i < t->n_columns; i++) n_words += t->column[i].n_word > 0;
    for (int i = 0; i < t->n_columns; i++) {
        leat__list_column *column = &t->column[i];
        if (!column->n_word) continue;
        uint32_t *rank = leat__alloc(LEAT_MEM_INDEX, (size_t)column->words.n * sizeof *rank);
        int rc = rank ? leat__classes_rank(&column->words, rank, s->err)
                      : leat__fail_memory(s->err, (size_t)column->words.n * sizeof *rank, "class names");
        int64_t *label = (int64_t *)column->values.data;
        for (uint64_t k = 0; k < t->n_rows && rc == 0; k++) label[k] = rank[label[k]];
        if (rc == 0 && n_words == 1) rc = leat__classes_give(&column->words, rank, source, s->err);
        leat__free(rank);
        leat__classes_free(&column->words);
        LEAT_TRY(rc);
    }
    return 0;
}

static int read_table(scan *s, leat__source *source) {
    LEAT_TRY(each_row(s, survey_first, survey_row));
    LEAT_TRY(settle_columns(s));
    LEAT_TRY(each_row(s, take_first, take_row));
    if (s->table->begin.size != s->table->n_rows * sizeof(uint64_t)) return fail_changed(s);
    return number_words(s, source);
}

int leat__list_table_read(leat__list_table *table, leat__source *source, const leat__list_options *options,
                          const leat__open_options *open, leat_error *err) {
    scan s = {.table = table, .options = options, .open = open, .err = err};
    table->path.kind = table->begin.kind = LEAT_MEM_INDEX;
    LEAT_TRY(leat__file_open(&s.file, options->path, err));
    s.bytes = leat__alloc(LEAT_MEM_INDEX, (size_t)LEAT_MIN(s.file.size + 1, (uint64_t)CHUNK));
    s.csv.cell = leat__alloc(LEAT_MEM_INDEX, LEAT_CSV_CELLS_MAX * sizeof *s.csv.cell);
    int rc =
        s.bytes && s.csv.cell ? read_table(&s, source) : leat__fail_memory(err, CHUNK, "a list of files");
    leat__free(s.bytes);
    leat__free(s.csv.cell);
    leat__file_close(&s.file);
    char shown[400];
    if (rc < 0 && rc != LEAT_ERR_CANCELLED && !s.named)
        leat__error_prefix(
            err, "list %s: ", leat__printable(shown, sizeof shown, options->path, strlen(options->path)));
    return rc;
}

void leat__list_table_free(leat__list_table *table) {
    leat__buf_free(&table->path);
    leat__buf_free(&table->begin);
    for (int i = 0; i < table->n_columns; i++) {
        leat__buf_free(&table->column[i].values);
        leat__classes_free(&table->column[i].words);
    }
}
