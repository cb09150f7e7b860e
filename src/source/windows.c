/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over consecutive samples of another source, stacked along a new first axis. A window is a function of its number
 * alone, so it can be shuffled, divided and resumed like any sample. Where the source can give a run of samples as they lie
 * in memory, a window is an address there or one read. */
#include <stdio.h>

#include "base/hash.h"
#include "source/source.h"

typedef struct windows {
    leat__source base;
    leat__source_class class;
    leat__source *inner; /* also base.part[0] */
    leat__windowing how;
    size_t bytes[LEAT_FIELDS_MAX]; /* of one sample of the field                    */
    size_t room;                   /* that a window takes if everything is copied   */
    uint64_t end;                  /* samples that a window needs, from its first on */
} windows;

typedef struct reader_state {
    const leat__source *inner;
    leat__reader reader;
} reader_state;

static reader_state *state_of(const windows *self, leat__reader *reader, leat_error *err) {
    if (reader->state) return reader->state;
    reader_state *state = leat__alloc(LEAT_MEM_WORKER, sizeof *state);
    if (!state) {
        leat__fail_memory(err, sizeof *state, "a reader");
        return NULL;
    }
    state->inner = self->inner;
    state->reader.bytes.kind = state->reader.extra.kind = LEAT_MEM_WORKER;
    return reader->state = state;
}

static uint64_t first_of(const windows *self, uint64_t window) {
    return self->how.first + window * self->how.shift;
}

static bool is_target(const windows *self, int field) {
    return self->how.targets >> field & 1;
}

static size_t room_of(const windows *self, int field) {
    const size_t n = is_target(self, field) ? 1 : (size_t)self->how.size;
    return LEAT_ALIGN_UP(n * self->bytes[field], (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
}

/* The values without their data. */
static void shape_values(const windows *self, leat__value *values) {
    for (int i = 0; i < self->base.n_fields; i++) {
        const leat_field *field = &self->base.field[i];
        const size_t n = is_target(self, i) ? 1 : (size_t)self->how.size;
        values[i] = (leat__value){.bytes = n * self->bytes[i], .dtype = field->dtype, .ndim = field->ndim};
        memcpy(values[i].shape, field->shape, sizeof field->shape);
    }
}

/* From samples that lie in memory, `apart` bytes from one to the next. */
static void take_run(const windows *self, leat__reader *reader, const leat__run *run, leat__value *values) {
    uint8_t *room = reader->extra.data;
    for (int i = 0; i < self->base.n_fields; i++, room += room_of(self, i - 1)) {
        const uint8_t *data = run->data[i];
        const ptrdiff_t apart = run->apart[i], step = apart * (ptrdiff_t)self->how.stride;
        const size_t bytes = self->bytes[i];
        if (is_target(self, i)) {
            values[i].data = data + apart * (ptrdiff_t)self->how.target;
            continue;
        }
        values[i].data = step == (ptrdiff_t)bytes || self->how.size == 1 ? data : room;
        if (values[i].data == data) continue;
        for (uint64_t k = 0; k < self->how.size; k++)
            memcpy(room + k * bytes, data + (ptrdiff_t)k * step, bytes);
    }
}

/* One sample after the other, each of which may be read into the same memory. */
static int take_each(const windows *self, leat__reader *reader, leat__reader *its, uint64_t window,
                     leat__value *values, leat_error *err) {
    leat__value own[LEAT_FIELDS_MAX];
    const leat__source *inner = self->inner;
    for (uint64_t k = 0; k <= self->how.size; k++) {
        const bool targets = k == self->how.size;
        const uint64_t at = first_of(self, window) + (targets ? self->how.target : k * self->how.stride);
        if (targets && !self->how.targets) break;
        LEAT_TRY(inner->class->read(inner, its, at, own, err));
        uint8_t *room = reader->extra.data;
        for (int i = 0; i < self->base.n_fields; i++, room += room_of(self, i - 1)) {
            if (is_target(self, i) != targets) continue;
            memcpy(room + (targets ? 0 : k * self->bytes[i]), own[i].data, self->bytes[i]);
            values[i].data = room;
        }
    }
    return 0;
}

static int read_window(const leat__source *source, leat__reader *reader, uint64_t window, leat__value *values,
                       leat_error *err) {
    const windows *self = (const windows *)source;
    reader_state *state = state_of(self, reader, err);
    if (!state) return LEAT_ERR_MEMORY;
    if (!leat__buf_reserve(&reader->extra, self->room)) return leat__fail_memory(err, self->room, "a window");
    leat__reader *its = &state->reader;
    const uint64_t before = its->bytes_read;
    leat__run run;
    shape_values(self, values);
    int rc = self->inner->class->run
                 ? self->inner->class->run(self->inner, its, first_of(self, window), self->end, &run, err)
                 : LEAT_RUN_NONE;
    if (rc == 0) take_run(self, reader, &run, values);
    if (rc == LEAT_RUN_NONE) rc = take_each(self, reader, its, window, values, err);
    reader->bytes_read += its->bytes_read - before;
    return rc;
}

static void describe(const leat__source *source, uint64_t window, char *text, size_t cap) {
    const windows *self = (const windows *)source;
    const int n = snprintf(text, cap, "window %" PRIu64 ", which begins with ", window);
    if (n < 0 || (size_t)n >= cap) return;
    self->inner->class->describe(self->inner, first_of(self, window), text + n, cap - (size_t)n);
}

static void prepare(const leat__source *source, leat__reader *reader) {
    const windows *self = (const windows *)source;
    reader_state *state = state_of(self, reader, NULL);
    leat__buf_reserve_exactly(&reader->extra, LEAT_MIN(self->room, LEAT_PREPARE_BYTES_MAX));
    if (state && self->inner->class->prepare) self->inner->class->prepare(self->inner, &state->reader);
}

static leat__reader *reader_at(const leat__reader *reader, int i) {
    reader_state *state = reader->state;
    return state && i == 0 ? &state->reader : NULL;
}

static void close_reader(leat__reader *reader) {
    reader_state *state = reader->state;
    if (state) leat__reader_free(state->inner, &state->reader);
    leat__free(state);
    reader->state = NULL;
}

static uint64_t parts(const leat__source *source, uint64_t window) {
    const windows *self = (const windows *)source;
    return self->inner->class->parts ? self->inner->class->parts(self->inner, first_of(self, window)) : 1;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    const windows *self = (const windows *)source;
    return self->inner->class->version(self->inner, n_threads, exact, out, err);
}

static void will_read(const leat__source *source, leat__reader *reader, uint64_t first, uint64_t last) {
    const windows *self = (const windows *)source;
    reader_state *state = state_of(self, reader, NULL);
    if (state)
        self->inner->class->will_read(self->inner, &state->reader, first_of(self, first),
                                      first_of(self, last) + self->end - 1);
}

static void close_windows(leat__source *source) {
    windows *self = (windows *)source;
    leat__source_free(&self->inner);
    leat__free(source->part);
}

static const leat__source_class window_class = {.name = "window",
                                                .read = read_window,
                                                .describe = describe,
                                                .prepare = prepare,
                                                .close_reader = close_reader,
                                                .close = close_windows,
                                                .version = version,
                                                .part_reader = reader_at,
                                                .parts = parts,
                                                .will_read = will_read};

/* --------------------------------------------------------------------------------------------- opening */

static int add_field(windows *self, const leat_field *field, leat_error *err) {
    leat__source *base = &self->base;
    const int i = base->n_fields;
    const int lead = is_target(self, i) ? 0 : 1;
    int64_t shape[LEAT_NDIM_MAX] = {(int64_t)self->how.size};
    size_t bytes = leat_dtype_size(field->dtype), all;
    if (field->ndim + lead > LEAT_NDIM_MAX)
        return leat__fail(err, LEAT_ERR_SHAPE, "window: field %s has %d axes already", field->name,
                          field->ndim);
    for (int k = 0; k < field->ndim; k++) {
        shape[k + lead] = field->shape[k];
        if (!leat__mul_size(bytes, (size_t)field->shape[k], &bytes))
            return leat__fail(err, LEAT_ERR_SHAPE, "window: field %s has too many values", field->name);
    }
    if (!leat__mul_size(bytes, (size_t)self->how.size, &all) || all > LEAT_RECORD_BYTES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "window: a window of field %s is larger than %zu MiB",
                          field->name, LEAT_RECORD_BYTES_MAX >> 20);
    self->bytes[i] = bytes;
    leat__source_field(base, field->name, field->dtype, field->ndim + lead, shape);
    self->room += room_of(self, i);
    base->bytes_max += lead ? all : bytes;
    return 0;
}

/* Labels keep their names: the classes of the inner source become those of the windows. */
static void take_classes(leat__source *base, leat__source *inner) {
    base->n_classes = inner->n_classes;
    base->class_name = inner->class_name;
    inner->n_classes = 0;
    inner->class_name = NULL;
}

int leat__window_open(leat__source **source, const leat__windowing *how, leat_error *err) {
    leat__source *inner = *source;
    windows *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    leat__source *base = self ? &self->base : NULL;
    if (base) base->part = leat__alloc(LEAT_MEM_PLAN, sizeof *base->part);
    if (!base || !base->part) {
        leat__free(self);
        return leat__fail_memory(err, sizeof *self, "a source");
    }
    self->class = window_class;
    self->how = *how;
    base->class = &self->class;
    if (!inner->class->version) self->class.version = NULL;
    if (!inner->class->will_read) self->class.will_read = NULL;
    self->end = LEAT_MAX((how->size - 1) * how->stride, how->targets ? how->target : 0) + 1;
    int rc = 0;
    for (int i = 0; i < inner->n_fields && rc == 0; i++) rc = add_field(self, &inner->field[i], err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    base->n_samples = how->n < self->end ? 0 : (how->n - self->end) / how->shift + 1;
    const uint64_t facts[] = {how->first,  how->n,       how->size,   how->shift,
                              how->stride, how->targets, how->target, inner->fingerprint};
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    base->no_read_ahead = inner->no_read_ahead;
    base->waits = inner->waits;
    base->n_readers = inner->n_readers;
    base->n_parts = 1;
    base->part[0] = self->inner = inner;
    take_classes(base, inner);
    snprintf(base->title, sizeof base->title, "windows of %" PRIu64 " over %.200s", how->size, inner->title);
    snprintf(base->warning, sizeof base->warning, "%s", inner->warning);
    *source = base;
    return 0;
}
