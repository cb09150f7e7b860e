/* SPDX-License-Identifier: Apache-2.0 */
/* A list of files in a CSV table, or in arrays of the program: one row a sample, with its labels and its weight. A row costs
 * its path and about 20 bytes more. The table is the data set: files are not looked at before they are read, unless
 * the text asks for it, and the fingerprint is of the table alone. */
#include "source/rows.h"

#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"

enum { CHECK_BLOCK = 64, CHECK_THREADS = 64 };

typedef struct list {
    leat__source base;
    leat__rows rows; /* field 0 is the path                            */
    char *name;      /* of the table, for messages; NULL: in memory    */
    char *root;      /* what relative paths begin with                 */
} list;

static const char *path_at(const list *self, uint64_t row) {
    return leat__rows_text(&self->rows, 0, row);
}

/* As a person counts: rows of a file from 1, its header too, places of an array from 0. */
static const char *place_of(const list *self, uint64_t sample, char *text, size_t cap) {
    if (self->name) snprintf(text, cap, "%s row %" PRIu64, self->name, sample + 1 + self->rows.header);
    else snprintf(text, cap, "%s[%" PRIu64 "]", self->rows.field[0].name, sample);
    return text;
}

bool leat__list_path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const list *self = (const list *)source;
    const char *path = path_at(self, sample);
    const bool whole = *path == '/' || leat__is_remote(path);
    const int n = snprintf(text, cap, "%s%s", whole ? "" : self->root, path);
    return (size_t)n < cap;
}

int64_t leat__list_class(const leat__source *source, uint64_t sample) {
    const leat__rows *rows = &((const list *)source)->rows;
    const leat__rows_field *f = &rows->field[LEAT_MAX(rows->class_field, 0)];
    return rows->class_field > 0 && f->dtype == LEAT_DTYPE_I64
               ? ((const int64_t *)(const void *)f->values.data)[sample]
               : -1;
}

static int read_bytes(const leat__source *source, leat__reader *reader, uint64_t sample, size_t *bytes,
                      leat_error *err) {
    char path[PATH_MAX];
    if (!leat__list_path(source, sample, path, sizeof path))
        return leat__fail(err, LEAT_ERR_LIMIT, "a path longer than %d bytes", PATH_MAX);
    LEAT_TRY(leat__file_read_all(path, &reader->bytes, LEAT_RECORD_BYTES_MAX, err));
    *bytes = reader->bytes.size;
    reader->bytes_read += *bytes;
    return 0;
}

static int read_row(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                    leat_error *err) {
    const list *self = (const list *)source;
    size_t bytes = 0;
    const int rc = read_bytes(source, reader, sample, &bytes, err);
    if (rc < 0) {
        char where[450];
        leat__error_prefix(err, "%s: ", place_of(self, sample, where, sizeof where));
        return rc;
    }
    values[0] = (leat__value){.data = reader->bytes.data,
                              .bytes = bytes,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)bytes}};
    for (int i = 1; i < self->rows.n_fields; i++) leat__rows_value(&self->rows, i, sample, &values[i]);
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const list *self = (const list *)source;
    char shown[400], where[450];
    const char *path = path_at(self, sample);
    snprintf(text, cap, "%s: %s", place_of(self, sample, where, sizeof where),
             leat__printable(shown, sizeof shown, path, strlen(path)));
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__buf_reserve_exactly(&reader->bytes, LEAT_MIN(source->bytes_max, LEAT_PREPARE_BYTES_MAX));
}

static void close_list(leat__source *source) {
    list *self = (list *)source;
    leat__rows_free(&self->rows);
    leat__free(self->name);
    leat__free(self->root);
}

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const leat__rows *rows = &((const list *)source)->rows;
    (void)room;
    if (field < 1 || field >= rows->n_fields || rows->field[field].ndim || rows->field[field].ragged)
        return false;
    leat__rows_value(rows, field, sample, value);
    return true;
}

static bool row_path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    return (size_t)snprintf(text, cap, "%s", path_at((const list *)source, sample)) < cap;
}

static bool real_file(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    char path[PATH_MAX];
    if (!leat__list_path(source, sample, path, sizeof path)) return false;
    char *real = leat__real_path(path);
    const bool fits = (size_t)snprintf(text, cap, "%s", real ? real : path) < cap;
    leat__free(real);
    return fits;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    const list *self = (const list *)source;
    return leat__source_date_all(source, leat__list_path, n_threads, exact, *self->root ? self->root : ".",
                                 out, err);
}

static const leat__source_class list_class = {.name = "list",
                                              .read_us = 30,
                                              .version = version,
                                              .read = read_row,
                                              .describe = describe,
                                              .prepare = prepare,
                                              .close = close_list,
                                              .known = known,
                                              .path = row_path,
                                              .file = real_file,
                                              .opens = leat__list_path};

/* --------------------------------------------------------------------------------- check=true, at open */

typedef struct looked { /* by one worker */
    uint64_t n_bad, first_bad;
    uint64_t bytes_max;
    leat_error why; /* of the first */
} looked;

typedef struct check {
    const list *self;
    const leat__open_options *open;
    looked *worker; /* (CHECK_THREADS) */
} check;

static int look_at_rows(void *user, uint64_t item, int worker, leat_error *err) {
    const check *c = user;
    looked *mine = &c->worker[worker];
    const uint64_t n = c->self->rows.n, end = LEAT_MIN((item + 1) * CHECK_BLOCK, n);
    for (uint64_t row = item * CHECK_BLOCK; row < end; row++) {
        char path[PATH_MAX], shown[400];
        leat__stat st = {0};
        leat_error why;
        int rc = leat__list_path(&c->self->base, row, path, sizeof path)
                     ? leat__file_stat(path, &st, &why)
                     : leat__fail(&why, LEAT_ERR_LIMIT, "a path longer than %d bytes", PATH_MAX);
        if (rc == 0 && !st.is_file)
            rc = leat__fail(&why, LEAT_ERR_IO, "%s is no regular file",
                            leat__printable(shown, sizeof shown, path, strlen(path)));
        mine->bytes_max = LEAT_MAX(mine->bytes_max, st.size);
        if (rc == 0) continue;
        if (mine->n_bad++ == 0 || row < mine->first_bad) mine->first_bad = row, mine->why = why;
    }
    if (worker == 0 && c->open->progress && c->open->progress(c->open->user, "looking for files", end, n))
        return leat__fail(err, LEAT_ERR_CANCELLED, "looking for files was cancelled");
    return 0;
}

static int look_at_files(list *self, const leat__open_options *open, leat_error *err) {
    const uint64_t n = self->rows.n;
    check c = {.self = self, .open = open};
    c.worker = leat__alloc(LEAT_MEM_INDEX, CHECK_THREADS * sizeof *c.worker);
    if (!c.worker) return leat__fail_memory(err, CHECK_THREADS * sizeof *c.worker, "a check");
    int rc = leat__parallel(LEAT_MIN(open->n_threads, CHECK_THREADS), (n + CHECK_BLOCK - 1) / CHECK_BLOCK,
                            look_at_rows, &c, err);
    uint64_t n_bad = 0;
    const looked *first = NULL;
    for (int i = 0; i < CHECK_THREADS; i++) {
        const looked *one = &c.worker[i];
        n_bad += one->n_bad;
        if (one->n_bad && (!first || one->first_bad < first->first_bad)) first = one;
        if (one->bytes_max <= LEAT_RECORD_BYTES_MAX) /* more is not read */
            self->base.bytes_max = LEAT_MAX(self->base.bytes_max, (size_t)one->bytes_max);
    }
    char where[450];
    if (rc == 0 && first)
        rc = leat__fail(err, first->why.code,
                        "list: %" PRIu64 " of %" PRIu64 " files cannot be used, the first one is %s: %.500s",
                        n_bad, n, place_of(self, first->first_bad, where, sizeof where), first->why.message);
    leat__free(c.worker);
    return rc;
}

/* ------------------------------------------------- which columns are paths, labels and weights */

static const char *const usual_paths[] = {"path", "file", "filename", "file_name", "filepath", "image", NULL};

/* Whether one of the columns of a list, separated by commas, is given by its name. */
static bool any_name(const char *names) {
    if (strcmp(names, "none") == 0) return false;
    while (*names) {
        const size_t n = strcspn(names, ",");
        if (strspn(names, "0123456789") < n) return true;
        names += n + (names[n] == ',');
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

/* The first of some usual names, or -1. */
static int find_usual(const leat__rows_scan *s, const char *const *usual) {
    int at = -1;
    for (; *usual && at < 0; usual++) at = leat__rows_find_name(s, *usual);
    return at;
}

static int add_field(leat__rows_scan *s, const char *name, int at, const leat__list_options *o,
                     leat_error *err) {
    const bool weight = strcmp(name, "weight") == 0;
    const int field = leat__rows_add_field(s, name, weight ? LEAT_DTYPE_F32 : -1, 0, 1, err);
    if (field < 0) return field;
    leat__rows_column *column = leat__rows_add_column(s, field, 0, at, err);
    if (!column) return LEAT_ERR_LIMIT;
    column->numbers = weight;
    if (!weight && o->classes && *o->classes) column->order = o->classes;
    return 0;
}

static int count_columns(const char *names) {
    int n = 1;
    for (; *names; names++) n += *names == ',';
    return n;
}

/* The columns that `label` names: a field each, or one field for all of them. */
static int add_named_labels(leat__rows_scan *s, const leat__list_options *o, leat_error *err) {
    const char *text = o->label;
    const leat__rows *rows = s->rows;
    const bool several = strchr(text, ',') != NULL && !(rows->header && leat__rows_find_name(s, text) >= 0);
    const size_t count = several ? (size_t)count_columns(text) : 1;
    int vector = -1;
    if (several && o->classes && *o->classes)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "classes are of one column of labels, and label names several");
    if (o->vector && (vector = leat__rows_add_field(s, "label", -1, 1, count, err)) < 0) return vector;
    for (size_t place = 0; text; place++) {
        const char *comma = several ? strchr(text, ',') : NULL;
        const size_t n = comma ? (size_t)(comma - text) : strlen(text);
        char name[256], number[32];
        int at;
        if (n == 0 || n >= sizeof name)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "label='%.200s' is no list of columns", o->label);
        snprintf(name, sizeof name, "%.*s", (int)n, text);
        LEAT_TRY(leat__rows_find(s, name, &at, err));
        snprintf(number, sizeof number, "column%d", at);
        const bool named = rows->header && leat__rows_find_name(s, name) == at;
        if (vector < 0) LEAT_TRY(add_field(s, several ? named ? name : number : "label", at, o, err));
        else if (!leat__rows_add_column(s, vector, place, at, err)) return LEAT_ERR_LIMIT;
        text = comma ? comma + 1 : NULL;
    }
    return 0;
}

static int add_labels(leat__rows_scan *s, int path_at, const leat__list_options *o, leat_error *err) {
    static const char *const usual[] = {"label", "class", NULL};
    if (strcmp(o->label, "none") == 0) return 0;
    if (*o->label) return add_named_labels(s, o, err);
    const int at = s->rows->header ? find_usual(s, usual) : s->csv.n_cells > 1 ? path_at == 0 : -1;
    return at < 0 || at == path_at ? 0 : add_field(s, "label", at, o, err);
}

static int choose_columns(leat__rows_scan *s, const void *user, leat_error *err) {
    const leat__list_options *o = user;
    leat__rows *rows = s->rows;
    const bool named = any_name(o->column) || any_name(o->label) || any_name(o->weight);
    int at = 0;
    rows->header = o->header == LEAT_HEADER_TRUE || (o->header == LEAT_HEADER_AUTO && named);
    if (!rows->header && o->header == LEAT_HEADER_AUTO) {
        if (*o->column) LEAT_TRY(leat__rows_find(s, o->column, &at, err));
        rows->header = !file_like(&s->csv.cell[at]);
    }
    if (*o->column) LEAT_TRY(leat__rows_find(s, o->column, &at, err));
    else at = rows->header ? LEAT_MAX(find_usual(s, usual_paths), 0) : 0;
    /* The path is no field of a sample: `image`, the bytes of the file, takes its name. */
    LEAT_TRY(leat__rows_add_field(s, "image", LEAT_DTYPE_BYTES, 0, 1, err));
    if (!leat__rows_add_column(s, 0, 0, at, err)) return LEAT_ERR_LIMIT;
    LEAT_TRY(add_labels(s, at, o, err));
    if (!*o->weight) return 0;
    LEAT_TRY(leat__rows_find(s, o->weight, &at, err));
    return add_field(s, "weight", at, o, err);
}

static int check_row(leat__rows_scan *s, const void *user, leat_error *err) {
    const leat__list_options *o = user;
    const leat__csv_cell *path = &s->csv.cell[s->column[0].at];
    int64_t whole;
    double number;
    char shown[100], what[400];
    if (path->n == 0) return leat__rows_fail(s, LEAT_ERR_FORMAT, "has no path");
    const leat__csv_kind kind = leat__csv_number(path, &whole, &number);
    if (*o->column || s->rows->n > 1 || (kind != LEAT_CSV_WHOLE && kind != LEAT_CSV_NUMBER)) return 0;
    snprintf(what, sizeof what,
             "has %s where a path is expected: this table has no column of paths; name it (path=NAME), or "
             "read a table "
             "of numbers and words with csv (leat.from_csv with columns or features)",
             leat__rows_show(s, s->column[0].at, shown, sizeof shown));
    (void)err; /* leat__rows_fail writes to that of the scan, which is the same */
    return leat__rows_fail(s, LEAT_ERR_FORMAT, what);
}

/* --------------------------------------------------------------------------------------------- open */

/* "dir/" for paths relative to dir; "" for those relative to where we are. */
static char *make_root(const leat__list_options *options) {
    const char *slash = strrchr(options->path, '/');
    const bool given = *options->root != 0;
    const size_t n = given ? strlen(options->root) : slash ? (size_t)(slash - options->path) : 0;
    char *root = leat__alloc(LEAT_MEM_INDEX, n + 2);
    if (!root) return NULL;
    memcpy(root, given ? options->root : options->path, n);
    if (given ? options->root[n - 1] != '/' : slash != NULL) root[n] = '/';
    return root;
}

static void describe_table(list *self, const leat__list_options *options) {
    const leat__rows *rows = &self->rows;
    leat__source *base = &self->base;
    const int64_t any = -1;
    leat__source_field(base, "image", LEAT_DTYPE_BYTES, 1, &any);
    leat__rows_describe(rows, 1, base);
    base->n_samples = rows->n;
    base->bytes_max = LEAT_MAX(base->bytes_max, options->max_bytes);
    base->fingerprint = leat__rows_hash(rows, base);
    const int n = snprintf(base->title, sizeof base->title, "list%s%.100s: %" PRIu64 " files",
                           self->name ? " " : "", self->name ? self->name : "", rows->n);
    if (base->n_classes)
        snprintf(base->title + n, sizeof base->title - (size_t)n, " in %zu classes", base->n_classes);
}

static int read_table(list *self, const leat__list_options *options, const leat__open_options *open,
                      leat_error *err) {
    if (options->arrays)
        return leat__rows_from_arrays(&self->rows, &self->base, options->arrays, options->n_arrays,
                                      options->classes ? options->classes : "", err);
    char shown[400];
    self->name = leat__strdup(LEAT_MEM_PLAN,
                              leat__printable(shown, sizeof shown, options->path, strlen(options->path)));
    if (!self->name) return leat__fail_memory(err, sizeof shown, "a path");
    const leat__rows_options rows = {.path = options->path,
                                     .separator = options->separator,
                                     .choose = choose_columns,
                                     .each = check_row,
                                     .user = options,
                                     .nearest = options->nearest};
    return leat__rows_read(&self->rows, &self->base, &rows, open, err);
}

int leat__list_open(leat__source **out, const leat__list_options *options, const leat__open_options *open,
                    leat_error *err) {
    *out = NULL;
    list *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a list");
    leat__source *base = &self->base;
    base->class = &list_class;
    self->root = make_root(options);
    int rc = self->root ? read_table(self, options, open, err) : leat__fail_memory(err, PATH_MAX, "a path");
    if (rc == 0) describe_table(self, options);
    if (rc == 0 && options->check) rc = look_at_files(self, open, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    if (self->name) base->home = leat__real_path(options->path);
    char first[PATH_MAX];
    base->waits = leat__list_path(base, 0, first, sizeof first) && leat__is_remote(first);
    *out = base;
    return 0;
}
