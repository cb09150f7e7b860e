/* SPDX-License-Identifier: Apache-2.0 */
/* A list of files in a CSV table: one row a sample, with its labels and its weight. A row costs its path
 * and about 20 bytes more. The table is the data set: files are not looked at before they are read, unless
 * the text asks for it, and the fingerprint is of the table alone. */
#include "source/list.h"

#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"

enum { CHECK_BLOCK = 64, CHECK_THREADS = 64 };

typedef struct list {
    leat__source base;
    leat__list_table table;
    char *name; /* of the table, for messages     */
    char *root; /* what relative paths begin with */
} list;

static const char *path_at(const list *self, uint64_t row) {
    return (const char *)self->table.path.data + ((const uint64_t *)self->table.begin.data)[row];
}

/* As a person counts the rows of the file, its header too. */
static uint64_t row_number(const list *self, uint64_t sample) {
    return sample + 1 + self->table.header;
}

bool leat__list_path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const list *self = (const list *)source;
    const char *path = path_at(self, sample);
    const int n =
        *path == '/' ? snprintf(text, cap, "%s", path) : snprintf(text, cap, "%s%s", self->root, path);
    return (size_t)n < cap;
}

int64_t leat__list_class(const leat__source *source, uint64_t sample) {
    const leat__list_table *table = &((const list *)source)->table;
    for (int i = 0; i < table->n_columns && source->n_classes; i++)
        if (table->column[i].n_word) return ((const int64_t *)table->column[i].values.data)[sample];
    return -1;
}

static int read_bytes(const leat__source *source, leat__reader *reader, uint64_t sample, size_t *bytes,
                      leat_error *err) {
    char path[PATH_MAX], shown[400];
    leat__file file;
    if (!leat__list_path(source, sample, path, sizeof path))
        return leat__fail(err, LEAT_ERR_LIMIT, "a path longer than %d bytes", PATH_MAX);
    LEAT_TRY(leat__file_open(&file, path, err));
    int rc = 0;
    if (file.size > LEAT_RECORD_BYTES_MAX) {
        rc = leat__fail(err, LEAT_ERR_LIMIT, "%s has %" PRIu64 " bytes, the limit is %zu",
                        leat__printable(shown, sizeof shown, path, strlen(path)), file.size,
                        LEAT_RECORD_BYTES_MAX);
    } else if (!leat__buf_reserve(&reader->bytes, file.size)) {
        rc = leat__fail_memory(err, file.size, path);
    } else {
        rc = leat__file_read_at(&file, reader->bytes.data, file.size, 0, path, err);
        reader->bytes_read += file.size;
        *bytes = file.size;
    }
    leat__file_close(&file);
    return rc;
}

static int read_row(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                    leat_error *err) {
    const list *self = (const list *)source;
    size_t bytes = 0;
    const int rc = read_bytes(source, reader, sample, &bytes, err);
    if (rc < 0) {
        leat__error_prefix(err, "%s row %" PRIu64 ": ", self->name, row_number(self, sample));
        return rc;
    }
    values[0] = (leat__value){.data = reader->bytes.data,
                              .bytes = bytes,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)bytes}};
    for (int i = 0; i < self->table.n_columns; i++) {
        const leat__list_column *column = &self->table.column[i];
        const size_t item = leat_dtype_size(column->dtype);
        values[1 + i] =
            (leat__value){.data = column->values.data + sample * item, .bytes = item, .dtype = column->dtype};
    }
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const list *self = (const list *)source;
    char shown[400];
    const char *path = path_at(self, sample);
    snprintf(text, cap, "%s row %" PRIu64 ": %s", self->name, row_number(self, sample),
             leat__printable(shown, sizeof shown, path, strlen(path)));
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__buf_reserve_exactly(&reader->bytes, LEAT_MIN(source->bytes_max, LEAT_PREPARE_BYTES_MAX));
}

static void close_list(leat__source *source) {
    list *self = (list *)source;
    leat__list_table_free(&self->table);
    leat__free(self->name);
    leat__free(self->root);
}

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const leat__list_table *table = &((const list *)source)->table;
    (void)room;
    if (field < 1 || field > table->n_columns) return false;
    const leat__list_column *column = &table->column[field - 1];
    const size_t item = leat_dtype_size(column->dtype);
    *value =
        (leat__value){.data = column->values.data + sample * item, .bytes = item, .dtype = column->dtype};
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

static int version(const leat__source *source, int n_threads, uint64_t *out, leat_error *err) {
    const list *self = (const list *)source;
    return leat__source_date_all(source, leat__list_path, n_threads, *self->root ? self->root : ".", out,
                                 err);
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
                                              .file = real_file};

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
    const uint64_t n = c->self->table.n_rows, end = LEAT_MIN((item + 1) * CHECK_BLOCK, n);
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
    const uint64_t n = self->table.n_rows;
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
    if (rc == 0 && first)
        rc = leat__fail(err, first->why.code,
                        "list %s: %" PRIu64 " of %" PRIu64
                        " files cannot be used, the first one in row %" PRIu64 ": %.500s",
                        self->name, n_bad, n, row_number(self, first->first_bad), first->why.message);
    leat__free(c.worker);
    return rc;
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

static void take_fingerprint(list *self) {
    const leat__list_table *t = &self->table;
    leat__source *base = &self->base;
    uint64_t h = leat__hash(t->path.data, t->path.size, t->n_rows);
    for (int i = 0; i < t->n_columns; i++) {
        const leat__list_column *column = &t->column[i];
        h = leat__hash(column->name, strlen(column->name), h + (uint64_t)column->dtype);
        h = leat__hash(column->values.data, column->values.size, h);
    }
    for (size_t i = 0; i < base->n_classes; i++)
        h = leat__hash(base->class_name[i], strlen(base->class_name[i]), h);
    base->fingerprint = h;
}

static void describe_table(list *self, const leat__list_options *options) {
    const leat__list_table *t = &self->table;
    leat__source *base = &self->base;
    const int64_t any = -1;
    leat__source_field(base, "image", LEAT_DTYPE_BYTES, 1, &any);
    for (int i = 0; i < t->n_columns; i++)
        leat__source_field(base, t->column[i].name, t->column[i].dtype, 0, NULL);
    base->n_samples = t->n_rows;
    base->bytes_max = LEAT_MAX(base->bytes_max, options->max_bytes);
    take_fingerprint(self);
    const int n =
        snprintf(base->title, sizeof base->title, "list %.100s: %" PRIu64 " files", self->name, t->n_rows);
    if (base->n_classes)
        snprintf(base->title + n, sizeof base->title - (size_t)n, " in %zu classes", base->n_classes);
}

int leat__list_open(leat__source **out, const leat__list_options *options, const leat__open_options *open,
                    leat_error *err) {
    *out = NULL;
    list *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a list");
    leat__source *base = &self->base;
    base->class = &list_class;
    char shown[400];
    self->name = leat__strdup(LEAT_MEM_PLAN,
                              leat__printable(shown, sizeof shown, options->path, strlen(options->path)));
    self->root = make_root(options);
    int rc = self->name && self->root ? leat__list_table_read(&self->table, base, options, open, err)
                                      : leat__fail_memory(err, PATH_MAX, "a path");
    if (rc == 0) describe_table(self, options);
    if (rc == 0 && options->check) rc = look_at_files(self, open, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    base->home = leat__real_path(options->path);
    *out = base;
    return 0;
}
