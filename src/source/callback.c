/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the program reads itself. What it hands over is compared with what it declared before
 * anything else sees it, and copied unless it was written into our own memory: kernels may read a little
 * past the end of a value, and only our own memory allows that. */
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "source/source.h"

typedef struct callback {
    leat__source base;
    leat_source_callbacks given;
    leat__guard guard;
    size_t room[LEAT_FIELDS_MAX];  /* bytes of a field's room, 0 = none       */
    size_t fixed[LEAT_FIELDS_MAX]; /* bytes of a fixed field, SIZE_MAX = differs */
    size_t room_all;
    bool differs; /* the size of some field */
} callback;

static size_t padded(size_t bytes) {
    return LEAT_ALIGN_UP(bytes, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
}

static int fail_value(const callback *self, uint64_t sample, int i, leat_error *err, const char *what) {
    return leat__fail(err, LEAT_ERR_SHAPE, "source: sample %" PRIu64 ": %s %s", sample,
                      self->base.field[i].name, what);
}

/* Compares a value with its declaration. */
static int check_value(const callback *self, uint64_t sample, int i, const leat_value_out *out,
                       leat__value *value, leat_error *err) {
    const leat_field *field = &self->base.field[i];
    const size_t item = leat_dtype_size(field->dtype);
    if (out->bytes > LEAT_RECORD_BYTES_MAX) return fail_value(self, sample, i, err, "has more than 256 MiB");
    LEAT_TRY(LEAT_CHECK_RESERVED(leat_value_out, out, err));
    if (!out->data && out->bytes > self->room[i])
        return fail_value(self, sample, i, err, "has more bytes than its room: point to memory of your own");
    *value = (leat__value){.bytes = out->bytes, .dtype = field->dtype, .ndim = field->ndim};
    if (field->ragged) {
        size_t entry = item;
        for (int k = 1; k < field->ndim; k++) entry *= (size_t)(value->shape[k] = field->shape[k]);
        if (out->bytes % entry) return fail_value(self, sample, i, err, "is no whole number of values");
        value->shape[0] = (int64_t)(out->bytes / entry);
        return 0;
    }
    size_t bytes = item;
    for (int k = 0; k < field->ndim; k++) {
        value->shape[k] = out->shape[k];
        if (field->shape[k] >= 0 ? out->shape[k] != field->shape[k] : out->shape[k] < 0)
            return fail_value(self, sample, i, err, "has another shape than was declared");
        if (!leat__mul_size(bytes, (size_t)out->shape[k], &bytes)) bytes = SIZE_MAX;
    }
    return bytes == out->bytes ? 0 : fail_value(self, sample, i, err, "has another size than its shape");
}

/* The program's memory into ours; while the guard holds, since the next call may change it. */
static int take_values(const callback *self, leat__reader *reader, uint64_t sample, const leat_value_out *out,
                       leat__value *values, leat_error *err) {
    size_t total = 0;
    for (int i = 0; i < self->base.n_fields; i++) {
        LEAT_TRY(check_value(self, sample, i, &out[i], &values[i], err));
        if (out[i].data && out[i].data != out[i].room) total += padded(out[i].bytes);
    }
    if (!leat__buf_reserve(&reader->bytes, total)) return leat__fail_memory(err, total, "a sample");
    uint8_t *copy = reader->bytes.data;
    const uint8_t *room = reader->extra.data;
    for (int i = 0; i < self->base.n_fields; i++) {
        const bool own = out[i].data && out[i].data != out[i].room;
        values[i].data = own ? copy : room;
        if (own && out[i].bytes) memcpy(copy, out[i].data, out[i].bytes);
        if (own) copy += padded(out[i].bytes);
        room += padded(self->room[i]);
    }
    return 0;
}

static int call(const callback *self, leat__reader *reader, uint64_t sample, leat__value *values,
                leat_error *err) {
    leat_value_out out[LEAT_FIELDS_MAX];
    uint8_t *room = reader->extra.data;
    for (int i = 0; i < self->base.n_fields; i++) {
        out[i] = (leat_value_out){.room = self->room[i] ? room : NULL, .room_bytes = self->room[i]};
        if (self->fixed[i] != SIZE_MAX) out[i].bytes = self->fixed[i];
        memcpy(out[i].shape, self->base.field[i].shape, sizeof out[i].shape);
        room += padded(self->room[i]);
    }
    leat_error why;
    leat__error_clear(&why);
    const int rc = self->given.read_at(self->given.user, sample, out, &why);
    if (rc == 0) return take_values(self, reader, sample, out, values, err);
    char text[sizeof why.message];
    const int code = rc >= LEAT_ERR_CANCELLED && rc < 0 ? rc : LEAT_ERR_IO;
    why.message[sizeof why.message - 1] = 0;
    leat__printable(text, sizeof text, why.message, strlen(why.message));
    return leat__fail(err, code, "source: sample %" PRIu64 ": %.900s", sample,
                      *text ? text : leat_error_text(code));
}

static int read_sample(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const callback *self = (const callback *)source;
    if (!leat__buf_reserve(&reader->extra, self->room_all))
        return leat__fail_memory(err, self->room_all, "a sample");
    if (self->guard.enter) self->guard.enter(self->guard.user);
    const int rc = call(self, reader, sample, values, err);
    if (self->guard.leave) self->guard.leave(self->guard.user);
    for (int i = 0; i < source->n_fields && rc == 0; i++) reader->bytes_read += values[i].bytes;
    return rc;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    (void)source;
    snprintf(text, cap, "source: sample %" PRIu64, sample);
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__buf_reserve_exactly(&reader->extra,
                              LEAT_MIN(((const callback *)source)->room_all, LEAT_PREPARE_BYTES_MAX));
}

static void close_callback(leat__source *source) {
    const leat__guard *guard = &((callback *)source)->guard;
    if (guard->free) guard->free(guard->user);
}

int leat__fail_no_identity(const char *source, leat_error *err) {
    return leat__fail(
        err, LEAT_ERR_UNSUPPORTED,
        "%s: a cache on disk must know when data changes: give an identity that changes with it, or "
        "write cache without a path",
        source);
}

/* Only the program can tell whether its data has changed. */
static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    (void)n_threads, (void)exact;
    *out = ((const callback *)source)->given.identity;
    return *out ? 0 : leat__fail_no_identity("source", err);
}

static const leat__source_class callback_class = {.version = version,
                                                  .name = "source",
                                                  .calls = true,
                                                  .read = read_sample,
                                                  .describe = describe,
                                                  .prepare = prepare,
                                                  .close = close_callback};

/* --------------------------------------------------------------------------------------------- open */

static int add_field(callback *self, const leat_field *given, leat_error *err) {
    leat__source *base = &self->base;
    const int n = base->n_fields;
    char name[sizeof given->name + 1];
    snprintf(name, sizeof name, "%.*s", (int)sizeof given->name, given->name);
    if (!*name || strlen(name) >= sizeof given->name)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "source: the name of field %d must have 1 to 63 bytes", n);
    for (int i = 0; i < n; i++)
        if (strcmp(base->field[i].name, name) == 0)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "source: two fields have the name %s", name);
    if (given->dtype < 0 || given->dtype >= LEAT_DTYPE_COUNT)
        return leat__fail(err, LEAT_ERR_TYPE, "source: field %s: there is no dtype %d", name, given->dtype);
    const bool ragged = given->ragged || given->dtype == LEAT_DTYPE_BYTES;
    if (!ragged && (given->ndim < 0 || given->ndim > LEAT_NDIM_MAX - 1))
        return leat__fail(err, LEAT_ERR_SHAPE, "source: field %s has %d axes, there can be 0 to %d", name,
                          given->ndim, LEAT_NDIM_MAX - 1);
    /* Of a ragged field the number of entries differs, their shape does not. */
    const bool entries =
        ragged && given->dtype != LEAT_DTYPE_BYTES && given->ndim > 1 && given->ndim < LEAT_NDIM_MAX;
    int64_t shape[LEAT_NDIM_MAX] = {-1};
    size_t entry = 1;
    for (int k = 1; entries && k < given->ndim; k++)
        if ((shape[k] = given->shape[k]) < 1 || !leat__mul_size(entry, (size_t)shape[k], &entry) ||
            entry > 65536)
            return leat__fail(
                err, LEAT_ERR_SHAPE,
                "source: field %s: the entries of a ragged field have one shape, of up to 65536 values",
                name);
    leat_field *field = leat__source_field(base, name, given->dtype,
                                           entries  ? given->ndim
                                           : ragged ? 1
                                                    : given->ndim,
                                           ragged ? shape : given->shape);
    field->ragged = ragged;
    LEAT_TRY(leat__source_layout("source: field", name, given->layout, err));
    if (given->layout == LEAT_LAYOUT_NCHW)
        return leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "source: field %s: read_at writes pictures as (height, width, channels), and layout "
            "can only be LEAT_LAYOUT_NHWC",
            name);
    field->layout = given->layout;
    size_t bytes = leat_dtype_size(given->dtype);
    for (int k = 0; k < field->ndim; k++) {
        if (field->shape[k] < 0) field->shape[k] = -1, bytes = SIZE_MAX;
        else if (bytes != SIZE_MAX &&
                 (!leat__mul_size(bytes, (size_t)field->shape[k], &bytes) || bytes > LEAT_RECORD_BYTES_MAX))
            return leat__fail(err, LEAT_ERR_LIMIT, "source: field %s has more than 256 MiB", name);
    }
    self->fixed[n] = bytes;
    self->room[n] = bytes == SIZE_MAX ? self->given.max_bytes : bytes;
    self->room_all += padded(self->room[n]);
    self->differs |= bytes == SIZE_MAX;
    base->bytes_max = LEAT_MAX(base->bytes_max, self->room[n]);
    const int64_t facts[] = {field->dtype, field->ndim, field->ragged};
    base->fingerprint = leat__hash(facts, sizeof facts, leat__hash(name, strlen(name), base->fingerprint));
    base->fingerprint =
        leat__hash(field->shape, (size_t)field->ndim * sizeof field->shape[0], base->fingerprint);
    return 0;
}

int leat__callback_open(leat__source **out, const leat_source_callbacks *given, const leat__guard *guard,
                        leat_error *err) {
    *out = NULL;
    callback *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) {
        if (guard->free) guard->free(guard->user);
        return leat__fail_memory(err, sizeof *self, "a source");
    }
    leat__source *base = &self->base;
    base->class = &callback_class;
    self->given = *given;
    self->base.no_read_ahead = given->no_read_ahead != 0;
    self->base.n_readers = (int)LEAT_MIN(given->n_readers, (uint64_t)INT_MAX);
    self->given.field = NULL; /* the caller's, and copied below */
    self->guard = *guard;
    base->n_samples = given->n;
    const uint64_t facts[] = {given->identity, given->n};
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    int rc = 0;
    if (given->n == 0 || given->n >= UINT64_MAX / 2)
        rc = leat__fail(err, LEAT_ERR_ARGUMENT, "source: the number of samples is %" PRIu64, given->n);
    else if (!given->read_at) rc = leat__fail(err, LEAT_ERR_ARGUMENT, "source: read_at is NULL");
    else if (given->n_fields < 1 || given->n_fields > LEAT_FIELDS_MAX || !given->field)
        rc = leat__fail(err, LEAT_ERR_ARGUMENT, "source: 1 to %d fields, not %d", LEAT_FIELDS_MAX,
                        given->n_fields);
    else if (given->max_bytes > LEAT_RECORD_BYTES_MAX)
        rc = leat__fail(err, LEAT_ERR_LIMIT, "source: max_bytes is above 256 MiB");
    for (int i = 0; i < given->n_fields && rc == 0; i++) rc = add_field(self, &given->field[i], err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    /* What a ragged field gets in a batch: what was promised, and nothing if nothing was. */
    if (self->differs) base->bytes_max = given->max_bytes;
    snprintf(base->title, sizeof base->title, "source: %" PRIu64 " samples from the program",
             base->n_samples);
    *out = base;
    return 0;
}
