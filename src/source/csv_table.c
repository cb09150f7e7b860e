/* SPDX-License-Identifier: Apache-2.0 */
/* A table of numbers and words in a CSV file: one row a sample. The whole table is read when it is opened, 4 or 8 bytes a
 * value. Columns become fields, or the values of one field; words become numbers. */
#include <stdio.h>

#include "base/dtype.h"
#include "base/hash.h"
#include "source/rows.h"

typedef struct csv_table {
    leat__source base;
    leat__rows rows;
    char *path;
} csv_table;

static int read_row(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                    leat_error *err) {
    const leat__rows *rows = &((const csv_table *)source)->rows;
    (void)reader, (void)err;
    for (int i = 0; i < rows->n_fields; i++) leat__rows_value(rows, i, sample, &values[i]);
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const csv_table *self = (const csv_table *)source;
    char shown[400];
    snprintf(text, cap, "%s row %" PRIu64,
             leat__printable(shown, sizeof shown, self->path, strlen(self->path)),
             sample + 1 + self->rows.header);
}

static void close_table(leat__source *source) {
    csv_table *self = (csv_table *)source;
    leat__rows_free(&self->rows);
    leat__free(self->path);
}

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const leat__rows *rows = &((const csv_table *)source)->rows;
    (void)room;
    if (rows->field[field].dtype == LEAT_DTYPE_BYTES || rows->field[field].ndim) return false;
    leat__rows_value(rows, field, sample, value);
    return true;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    const csv_table *self = (const csv_table *)source;
    leat__stat st;
    (void)n_threads;
    *out = 0;
    LEAT_TRY(leat__file_stat(self->path, &st, err));
    return leat__source_date(self->path, st.size, st.mtime_ns, exact, out, err);
}

static const leat__source_class csv_class = {.name = "csv",
                                             .version = version,
                                             .read = read_row,
                                             .describe = describe,
                                             .close = close_table,
                                             .known = known};

/* ------------------------------------------------------------------------------------------- columns */

typedef struct wanted { /* a field of the text, NAME:TYPE=COLUMNS, taken apart */
    char name[64];
    int dtype;           /* -1 = by what the columns hold                      */
    const char *columns; /* separated by commas, or "*" for those that no other field names */
    bool rest, vector;
} wanted;

static int read_wanted(const char *text, wanted *out, leat_error *err) {
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    *out = (wanted){.dtype = -1, .columns = equals ? equals + 1 : NULL};
    for (size_t i = n; i-- > 1;) {
        if (text[i] != ':') continue;
        const int dtype = leat__dtype_find(text + i + 1, n - i - 1);
        if (dtype < 0) break;
        if (dtype != LEAT_DTYPE_F32 && dtype != LEAT_DTYPE_F64 && dtype != LEAT_DTYPE_I64 &&
            dtype != LEAT_DTYPE_BYTES)
            return leat__fail(err, LEAT_ERR_TYPE,
                              "'%.80s': a column is f32, f64, i64 or bytes: write cast behind", text);
        out->dtype = dtype;
        n = i;
        break;
    }
    if (n == 0 || n >= sizeof out->name || (equals && !equals[1]))
        return leat__fail(
            err, LEAT_ERR_SYNTAX,
            "'%.80s' is no field: write NAME, NAME:TYPE or NAME=COLUMN,COLUMN with a name of 1 to 63 bytes",
            text);
    memcpy(out->name, text, n);
    out->rest = strcmp(out->columns ? out->columns : out->name, "*") == 0;
    out->vector = out->columns && (out->rest || strchr(out->columns, ',') != NULL);
    if (out->vector && out->dtype == LEAT_DTYPE_BYTES)
        return leat__fail(err, LEAT_ERR_TYPE, "'%.80s': a vector holds numbers, a text is a field of its own",
                          text);
    return 0;
}

/* The next of the columns that a field names, NULL at their end. */
static const char *next_column(const leat__rows_scan *s, const char *list, char name[256], leat_error *err) {
    const bool whole = s->rows->header && leat__rows_find_name(s, list) >= 0; /* a name that has a comma */
    const size_t n = whole ? strlen(list) : strcspn(list, ",");
    if (n == 0 || n >= 256) {
        leat__fail(err, LEAT_ERR_SYNTAX, "'%.80s' is no list of columns", list);
        return NULL;
    }
    snprintf(name, 256, "%.*s", (int)n, list);
    return list + n + (list[n] == ',');
}

static bool is_number(const leat__csv_cell *cell) {
    int64_t whole;
    double number;
    const leat__csv_kind kind = leat__csv_number(cell, &whole, &number);
    return kind == LEAT_CSV_WHOLE || kind == LEAT_CSV_NUMBER || kind == LEAT_CSV_HUGE;
}

/* A header is a row without numbers, or one that has a column which the text names. */
static bool has_header(const leat__rows_scan *s, const leat__csv_options *o) {
    bool numbers = false;
    if (o->header != LEAT_HEADER_AUTO) return o->header == LEAT_HEADER_TRUE;
    for (int i = 0; i < s->csv.n_cells; i++) numbers |= is_number(&s->csv.cell[i]);
    return !numbers;
}

/* What the lists `missing`, `categories` and `classes` say of a column. */
static const char *entry_for(leat__rows_scan *s, const char *list, const char *field, int at) {
    const char *found = NULL;
    size_t found_n = 0;
    for (const char *next = list; *next;) {
        const size_t length = strcspn(next, ";");
        const char *equals = memchr(next, '=', length), *value = equals ? equals + 1 : next;
        bool meant = !equals && !found;
        if (equals) {
            const size_t n = (size_t)(equals - next);
            const leat__csv_cell *cell = &s->csv.cell[at];
            meant = (strlen(field) == n && memcmp(field, next, n) == 0) ||
                    (s->rows->header && cell->n == n && memcmp(cell->text, next, n) == 0);
        }
        if (meant) found = value, found_n = length - (size_t)(value - next);
        next += length + (next[length] == ';');
    }
    return found ? leat__rows_keep(s, found, found_n) : NULL;
}

static int add_column(leat__rows_scan *s, const leat__csv_options *o, int field, size_t place, int at,
                      leat_error *err) {
    leat__rows_column *column = leat__rows_add_column(s, field, place, at, err);
    if (!column) return LEAT_ERR_LIMIT;
    const char *name = s->rows->field[field].name;
    column->no_gaps = strcmp(o->missing, "error") == 0;
    if (!column->no_gaps) column->fallback = entry_for(s, o->missing, name, at);
    column->order = entry_for(s, o->categories, name, at);
    if (*o->classes && strcmp(name, "label") == 0) column->order = o->classes;
    return 0;
}

/* All columns that no field names: a field each, or one field. */
static int add_rest(leat__rows_scan *s, const leat__csv_options *o, const wanted *w, const bool *taken,
                    leat_error *err) {
    size_t n = 0, place = 0;
    int field = -1;
    for (int i = 0; i < s->csv.n_cells; i++) n += !taken[i];
    if (n == 0) return leat__fail(err, LEAT_ERR_NOT_FOUND, "'%s=*': no column is left for it", w->name);
    if (w->vector && (field = leat__rows_add_field(s, w->name, w->dtype, 1, n, err)) < 0) return field;
    for (int i = 0; i < s->csv.n_cells; i++) {
        char name[64];
        if (taken[i]) continue;
        if (s->rows->header) leat__rows_show(s, i, name, sizeof name);
        else snprintf(name, sizeof name, "column%d", i);
        if (!w->vector && (field = leat__rows_add_field(s, name, w->dtype, 0, 1, err)) < 0) return field;
        LEAT_TRY(add_column(s, o, field, w->vector ? place++ : 0, i, err));
    }
    return 0;
}

static int add_wanted(leat__rows_scan *s, const leat__csv_options *o, const wanted *w, leat_error *err) {
    size_t n = 0;
    char name[256];
    int at;
    const char *columns = w->columns ? w->columns : w->name;
    for (const char *next = columns; *next; n++)
        if (!(next = next_column(s, next, name, err))) return LEAT_ERR_SYNTAX;
    const int field = leat__rows_add_field(s, w->name, w->dtype, w->vector, n, err);
    if (field < 0) return field;
    for (size_t place = 0; place < n; place++) {
        columns = next_column(s, columns, name, err);
        LEAT_TRY(leat__rows_find(s, name, &at, err));
        LEAT_TRY(add_column(s, o, field, place, at, err));
    }
    return 0;
}

/* Marks the columns that a field names. */
static int mark(leat__rows_scan *s, const wanted *w, bool *taken, leat_error *err) {
    char name[256];
    int at;
    for (const char *next = w->columns ? w->columns : w->name; *next && !w->rest;) {
        if (!(next = next_column(s, next, name, err))) return LEAT_ERR_SYNTAX;
        LEAT_TRY(leat__rows_find(s, name, &at, err));
        taken[at] = true;
    }
    return 0;
}

/* Every name in a list must be that of a column. */
static int check_names(const leat__rows_scan *s, const char *list, const char *what, leat_error *err) {
    for (const char *next = list; *next;) {
        const size_t length = strcspn(next, ";");
        const char *equals = memchr(next, '=', length);
        bool there = !equals;
        for (int i = 0; i < s->n_columns && !there; i++) {
            const size_t n = (size_t)(equals - next);
            const leat__csv_cell *cell = &s->csv.cell[s->column[i].at];
            const char *field = s->rows->field[s->column[i].field].name;
            there = (strlen(field) == n && memcmp(field, next, n) == 0) ||
                    (s->rows->header && cell->n == n && memcmp(cell->text, next, n) == 0);
        }
        if (!there)
            return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s: no field has a column '%.*s'", what,
                              (int)LEAT_MIN((size_t)(equals - next), (size_t)80), next);
        next += length + (next[length] == ';');
    }
    return 0;
}

static int choose(leat__rows_scan *s, const void *user, leat_error *err) {
    const leat__csv_options *o = user;
    bool taken[LEAT_CSV_CELLS_MAX] = {false};
    wanted w;
    static const char *const every = "*";
    const char *const *fields = o->n_fields ? o->fields : &every;
    const int n = LEAT_MAX(o->n_fields, 1);
    s->rows->header = has_header(s, o);
    for (int i = 0; i < n; i++) {
        LEAT_TRY(read_wanted(fields[i], &w, err));
        LEAT_TRY(mark(s, &w, taken, err));
    }
    for (int i = 0; i < n; i++) {
        LEAT_TRY(read_wanted(fields[i], &w, err));
        LEAT_TRY(w.rest ? add_rest(s, o, &w, taken, err) : add_wanted(s, o, &w, err));
    }
    LEAT_TRY(check_names(s, o->categories, "categories", err));
    return strcmp(o->missing, "error") == 0 ? 0 : check_names(s, o->missing, "missing", err);
}

int leat__csv_open(leat__source **out, const leat__csv_options *options, const leat__open_options *open,
                   leat_error *err) {
    *out = NULL;
    csv_table *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a table");
    leat__source *base = &self->base;
    base->class = &csv_class;
    self->path = leat__strdup(LEAT_MEM_PLAN, options->path);
    const leat__rows_options rows = {.path = options->path,
                                     .separator = options->separator,
                                     .gaps = true,
                                     .label_names = true,
                                     .choose = choose,
                                     .user = options,
                                     .nearest = options->nearest};
    const int rc = self->path ? leat__rows_read(&self->rows, base, &rows, open, err)
                              : leat__fail_memory(err, strlen(options->path), "a path");
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    leat__rows_describe(&self->rows, 0, base);
    base->n_samples = self->rows.n;
    for (int i = 0; i < self->rows.n_fields; i++) {
        const leat__rows_field *f = &self->rows.field[i];
        if (f->dtype != LEAT_DTYPE_BYTES)
            base->bytes_max = LEAT_MAX(base->bytes_max, f->n * leat_dtype_size(f->dtype));
    }
    base->fingerprint = leat__rows_hash(&self->rows, base);
    base->home = leat__real_path(options->path);
    char shown[120];
    snprintf(base->title, sizeof base->title, "csv %s: %" PRIu64 " rows",
             leat__printable(shown, sizeof shown, options->path, strlen(options->path)), base->n_samples);
    *out = base;
    return 0;
}
