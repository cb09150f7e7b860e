/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one length, one after the other, between a header and a footer that mean nothing here:
 * tf.data's FixedLengthRecordDataset, and what CIFAR's files are. Where a record lies is arithmetic, so
 * nothing is indexed. */
#include "source/fixed.h"

#include <stdio.h>

#include "base/hash.h"

enum { KEEP_OPEN_MAX = 256, READER_FILES = 16, SMALL_RECORD = 1 << 14, WINDOW = 1 << 17 };

typedef struct part { /* one file */
    char *path;
    leat__file file; /* open as long as the source when there are few files */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t first; /* number of its first record */
} part;

typedef struct fixed {
    leat__source base;
    size_t bytes;
    uint64_t header, footer;
    size_t n_parts;
    part *part;
    bool keep_open;
} fixed;

typedef struct reader_state {
    const part *window_part; /* what reader->bytes holds: small records in sequence share a read */
    uint64_t window_begin;
    size_t window_n;
    uint64_t last_sample;
    struct { /* when there are too many files to keep all open */
        const part *part;
        leat__file file;
    } slot[READER_FILES];
} reader_state;

static const part *part_of(const fixed *self, uint64_t sample) {
    size_t low = 0, high = self->n_parts;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (self->part[mid].first <= sample) low = mid;
        else high = mid;
    }
    return &self->part[low];
}

static int file_of(const fixed *self, const part *p, reader_state *state, const leat__file **out,
                   leat_error *err) {
    *out = &p->file;
    if (self->keep_open) return 0;
    const size_t i = (size_t)(p - self->part) % READER_FILES;
    leat__file *file = &state->slot[i].file;
    if (state->slot[i].part != p) {
        leat__file_close(file);
        state->slot[i].part = NULL;
        LEAT_TRY(leat__file_open(file, p->path, err));
        if (file->size != p->size || file->mtime_ns != p->mtime_ns) {
            leat__file_close(file);
            char shown[400];
            return leat__fail(err, LEAT_ERR_IO, "%s has changed since it was opened",
                              leat__printable(shown, sizeof shown, p->path, strlen(p->path)));
        }
        state->slot[i].part = p;
    }
    *out = file;
    return 0;
}

static int read_record(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const fixed *self = (const fixed *)source;
    const part *p = part_of(self, sample);
    const uint64_t at = self->header + (sample - p->first) * self->bytes;
    reader_state *state = reader->state;
    if (!state) {
        state = reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof *state);
        if (!state) return leat__fail_memory(err, sizeof *state, "a reader");
    }
    if (state->window_part != p || at < state->window_begin ||
        at + self->bytes > state->window_begin + state->window_n) {
        const leat__file *file;
        LEAT_TRY(file_of(self, p, state, &file, err));
        const bool in_sequence = state->window_part && sample == state->last_sample + 1;
        size_t want = self->bytes;
        if (in_sequence && want <= SMALL_RECORD)
            want = (size_t)LEAT_MIN((uint64_t)WINDOW, p->size - self->footer - at);
        state->window_part = NULL;
        reader->bytes.size = 0;
        if (!leat__buf_reserve(&reader->bytes, want)) return leat__fail_memory(err, want, "a record");
        LEAT_TRY(leat__file_read_at(file, reader->bytes.data, want, at, p->path, err));
        reader->bytes.size = want; /* so that the window moves along when the buffer grows */
        state->window_part = p;
        state->window_begin = at;
        state->window_n = want;
        reader->bytes_read += want;
    }
    state->last_sample = sample;
    values[0] = (leat__value){.data = reader->bytes.data + (at - state->window_begin),
                              .bytes = self->bytes,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)self->bytes}};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const fixed *self = (const fixed *)source;
    const part *p = part_of(self, sample);
    char name[400];
    snprintf(text, cap, "%s: record %" PRIu64 " at byte %" PRIu64,
             leat__printable(name, sizeof name, p->path, strlen(p->path)), sample - p->first,
             self->header + (sample - p->first) * self->bytes);
}

void leat__fixed_prepare(const leat__source *source, leat__reader *reader) {
    const fixed *self = (const fixed *)source;
    if (!reader->state) reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof(reader_state));
    leat__buf_reserve_exactly(&reader->bytes,
                              LEAT_CLAMP(self->bytes, (size_t)WINDOW, LEAT_PREPARE_BYTES_MAX));
}

void leat__fixed_close_reader(leat__reader *reader) {
    reader_state *state = reader->state;
    for (int i = 0; state && i < READER_FILES; i++) leat__file_close(&state->slot[i].file);
    leat__free(state);
    reader->state = NULL;
}

static void close_fixed(leat__source *source) {
    fixed *self = (fixed *)source;
    for (size_t i = 0; i < self->n_parts; i++) {
        leat__file_close(&self->part[i].file);
        leat__free(self->part[i].path);
    }
    leat__free(self->part);
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    (void)n_threads;
    const fixed *self = (const fixed *)source;
    *out = 0;
    for (size_t i = 0; i < self->n_parts; i++)
        LEAT_TRY(leat__source_date(self->part[i].path, self->part[i].size, self->part[i].mtime_ns, exact, out,
                                   err));
    return 0;
}

static uint64_t size(const leat__source *source, uint64_t sample) {
    (void)sample;
    return ((const fixed *)source)->bytes;
}

static const leat__source_class fixed_class = {.name = "fixed",
                                               .size = size,
                                               .version = version,
                                               .read = read_record,
                                               .describe = describe,
                                               .prepare = leat__fixed_prepare,
                                               .close_reader = leat__fixed_close_reader,
                                               .close = close_fixed};

/* --------------------------------------------------------------------------------------------- open */

static int fail_size(const fixed *self, const part *p, leat_error *err) {
    uint8_t head[3] = {0};
    char shown[400];
    leat__printable(shown, sizeof shown, p->path, strlen(p->path));
    if (p->size >= sizeof head && leat__file_read_at(&p->file, head, sizeof head, 0, p->path, NULL) == 0 &&
        head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        return leat__fail(err, LEAT_ERR_FORMAT, "%s is compressed: unpack it first (gunzip)", shown);
    if (p->size < self->header || p->size - self->header < self->footer)
        return leat__fail(err, LEAT_ERR_FORMAT,
                          "%s has %" PRIu64 " bytes, fewer than its header of %" PRIu64
                          " and its footer of %" PRIu64,
                          shown, p->size, self->header, self->footer);
    const uint64_t body = p->size - self->header - self->footer;
    return leat__fail(err, LEAT_ERR_FORMAT,
                      "%s: %" PRIu64
                      " bytes between header and footer are no whole number of records of %zu: %" PRIu64
                      " are left over",
                      shown, body, self->bytes, body % self->bytes);
}

static int open_part(fixed *self, part *p, leat_error *err) {
    LEAT_TRY(leat__file_open(&p->file, p->path, err));
    p->size = p->file.size;
    p->mtime_ns = p->file.mtime_ns;
    p->first = self->base.n_samples;
    uint64_t edges;
    if (__builtin_add_overflow(self->header, self->footer, &edges) || p->size < edges ||
        (p->size - edges) % self->bytes != 0)
        return fail_size(self, p, err);
    self->base.n_samples += (p->size - edges) / self->bytes;
    const char *slash = strrchr(p->path, '/'), *name = slash ? slash + 1 : p->path;
    self->base.fingerprint =
        leat__hash(&p->size, sizeof p->size, leat__hash(name, strlen(name), self->base.fingerprint));
    if (!self->keep_open) leat__file_close(&p->file);
    return 0;
}

int leat__fixed_open(leat__source **out, const leat__fixed_options *options, leat_error *err) {
    *out = NULL;
    leat__paths paths;
    LEAT_TRY(leat__glob(&paths, options->patterns, options->n, err));
    fixed *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    part *parts = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(paths.n, (size_t)1) * sizeof *parts);
    if (!self || !parts) {
        leat__paths_free(&paths);
        leat__free(self);
        leat__free(parts);
        return leat__fail_memory(err, paths.n * sizeof *parts, "files");
    }
    leat__source *base = &self->base;
    *self = (fixed){.base.class = &fixed_class,
                    .bytes = options->bytes,
                    .header = options->header,
                    .footer = options->footer,
                    .n_parts = paths.n,
                    .part = parts,
                    .keep_open = paths.n <= KEEP_OPEN_MAX};
    for (size_t i = 0; i < paths.n; i++) parts[i] = (part){.path = paths.path[i], .file.fd = -1};
    leat__free(paths.path); /* the names are the parts' now */
    const uint64_t facts[] = {self->bytes, self->header, self->footer};
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    int rc = 0;
    for (size_t i = 0; i < self->n_parts && rc == 0; i++) rc = open_part(self, &parts[i], err);
    if (rc == 0 && base->n_samples == 0) {
        char shown[400];
        rc = leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record: is it still being written?",
                        leat__printable(shown, sizeof shown, parts[0].path, strlen(parts[0].path)));
    }
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    const int64_t any = -1;
    leat__source_field(base, "record", LEAT_DTYPE_BYTES, 1, &any);
    base->bytes_max = self->bytes;
    snprintf(base->title, sizeof base->title, "fixed: %" PRIu64 " records of %zu bytes in %zu files",
             base->n_samples, self->bytes, self->n_parts);
    *out = base;
    return 0;
}
