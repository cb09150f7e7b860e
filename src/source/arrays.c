/* SPDX-License-Identifier: Apache-2.0 */
/* Slices along axis 0 of memory that the caller owns: tf.data's from_tensor_slices. Contiguous slices are handed on
 * as they are; others are gathered. A ragged array (offsets) gives strings of bytes, or entries of differing number: tokens
 * (n), boxes (n, 4). They lie in a row or, with ends, anywhere. */
#include <stdio.h>

#include "base/hash.h"
#include "source/source.h"

typedef struct arrays {
    leat__source base;
    int n;
    leat_tensor array[LEAT_FIELDS_MAX];
    bool contiguous[LEAT_FIELDS_MAX]; /* within a slice */
    size_t slice_bytes[LEAT_FIELDS_MAX];
} arrays;

static int64_t end_of(const leat_tensor *a, int64_t slice) {
    return a->ends ? a->ends[slice] : a->offsets[slice + 1];
}

static int read_slice(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                      leat_error *err) {
    const arrays *self = (const arrays *)source;
    size_t extra = 0;
    for (int i = 0; i < self->n; i++)
        if (!self->contiguous[i]) extra += LEAT_ALIGN_UP(self->slice_bytes[i], (size_t)LEAT_MEM_PAD);
    if (!leat__buf_reserve(&reader->extra, extra)) return leat__fail_memory(err, extra, "a slice");
    uint8_t *room = reader->extra.data;
    for (int i = 0; i < self->n; i++) {
        const leat_tensor *a = &self->array[i];
        leat__value *v = &values[i];
        const size_t item = leat_dtype_size(a->dtype);
        if (a->offsets) {
            const int64_t begin = a->offsets[sample], count = end_of(a, (int64_t)sample) - begin;
            if (begin < 0 || count < 0)
                return leat__fail(err, LEAT_ERR_ARGUMENT, "array %s: offsets go back at slice %" PRIu64,
                                  a->name, sample);
            const size_t entry = self->slice_bytes[i];
            *v = (leat__value){.data = (const uint8_t *)a->data + (size_t)begin * entry,
                               .bytes = (size_t)count * entry,
                               .dtype = a->dtype,
                               .ndim = a->ndim,
                               .shape = {count}};
            for (int k = 1; k < a->ndim; k++) v->shape[k] = a->shape[k];
            continue;
        }
        *v = (leat__value){.bytes = self->slice_bytes[i], .dtype = a->dtype, .ndim = a->ndim - 1};
        for (int k = 1; k < a->ndim; k++) v->shape[k - 1] = a->shape[k];
        const uint8_t *slice = (const uint8_t *)a->data + (int64_t)sample * a->stride[0];
        if (self->contiguous[i]) {
            v->data = slice;
        } else {
            v->data = room;
            leat__gather(room, slice, a->shape + 1, a->stride + 1, a->ndim - 1, item);
            room += LEAT_ALIGN_UP(self->slice_bytes[i], (size_t)LEAT_MEM_PAD);
        }
    }
    return 0;
}

enum { FORESEE_MIN = 256, FORESEE_MAX = 16384 }; /* bytes; what follows, the processor foresees by itself */

static void foresee(const leat__source *source, uint64_t sample, leat__foreseen *out) {
    const arrays *self = (const arrays *)source;
    size_t most = FORESEE_MIN;
    for (int i = 0; sample < source->n_samples && i < self->n; i++) {
        const leat_tensor *a = &self->array[i];
        if (a->offsets || !self->contiguous[i] || self->slice_bytes[i] < most) continue;
        most = self->slice_bytes[i];
        out->data = (const uint8_t *)a->data + (int64_t)sample * a->stride[0];
        out->bytes = LEAT_MIN(most, (size_t)FORESEE_MAX);
    }
}

static int find_run(const leat__source *source, leat__reader *reader, uint64_t first, uint64_t n,
                    leat__run *run, leat_error *err) {
    (void)reader, (void)n, (void)err;
    const arrays *self = (const arrays *)source;
    for (int i = 0; i < self->n; i++) {
        if (!self->contiguous[i] || self->array[i].offsets) return LEAT_RUN_NONE;
        run->apart[i] = (ptrdiff_t)self->array[i].stride[0];
        run->data[i] = (const uint8_t *)self->array[i].data + (int64_t)first * self->array[i].stride[0];
    }
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    (void)source;
    snprintf(text, cap, "array slice %" PRIu64, sample);
}

static void close_arrays(leat__source *source) {
    arrays *self = (arrays *)source;
    for (int i = 0; i < self->n; i++) leat__free((char *)self->array[i].name);
}

static const leat__source_class arrays_class = {.name = "arrays",
                                                .read = read_slice,
                                                .foresee = foresee,
                                                .run = find_run,
                                                .describe = describe,
                                                .close = close_arrays};

static int add_array(arrays *self, const leat_tensor *given, uint64_t *fingerprint, leat_error *err) {
    const int i = self->n;
    leat_tensor *a = &self->array[i];
    *a = *given;
    char number[16];
    snprintf(number, sizeof number, "field%d", i);
    a->name = leat__strdup(LEAT_MEM_PLAN, given->name && *given->name ? given->name : number);
    if (!a->name) return leat__fail_memory(err, 0, "a name");
    self->n++;
    if (a->dtype < 0 || a->dtype >= LEAT_DTYPE_COUNT)
        return leat__fail(err, LEAT_ERR_TYPE, "array %s: no such dtype as %d", a->name, a->dtype);
    if (a->ndim < 1 || a->ndim > LEAT_NDIM_MAX || a->shape[0] < 0)
        return leat__fail(err, LEAT_ERR_SHAPE, "array %s: needs 1 to %d axes, has %d", a->name, LEAT_NDIM_MAX,
                          a->ndim);
    if (strlen(a->name) >= sizeof self->base.field[0].name)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "array name %.70s... is longer than 63 bytes", a->name);
    for (int k = 0; k < i; k++)
        if (strcmp(a->name, self->array[k].name) == 0)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "two arrays have the name %s", a->name);
    const int64_t n = a->shape[0];
    if (a->dtype == LEAT_DTYPE_BYTES && !a->offsets)
        return leat__fail(err, LEAT_ERR_TYPE, "array %s: bytes need offsets (n + 1 of them)", a->name);
    if (a->ends && !a->offsets)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "array %s: it has ends, but no offsets", a->name);
    if (!a->data && n > 0) return leat__fail(err, LEAT_ERR_ARGUMENT, "array %s: no data", a->name);
    if (i > 0 && n != (int64_t)self->base.n_samples)
        return leat__fail(err, LEAT_ERR_SHAPE, "array %s has %" PRId64 " slices, array %s has %" PRIu64,
                          a->name, n, self->array[0].name, self->base.n_samples);
    self->base.n_samples = (uint64_t)n;

    size_t bytes = leat_dtype_size(a->dtype);
    int64_t packed[LEAT_NDIM_MAX] = {0};
    for (int k = a->ndim - 1; k >= 0; k--) {
        packed[k] = (int64_t)bytes;
        if (k > 0 && (a->shape[k] < 0 || !leat__mul_size(bytes, (size_t)a->shape[k], &bytes)))
            return leat__fail(err, LEAT_ERR_SHAPE, "array %s: axis %d has %" PRId64 " elements", a->name, k,
                              a->shape[k]);
    }
    bool strided = false;
    for (int k = 0; k < a->ndim; k++) strided |= a->stride[k] != 0;
    if (!strided) memcpy(a->stride, packed, sizeof packed);
    LEAT_TRY(leat__source_layout("array", a->name, a->layout, err));
    if (a->layout == LEAT_LAYOUT_NCHW && a->ndim == 4) leat__channels_last(a->shape + 1, a->stride + 1);
    self->contiguous[i] = true;
    size_t step = leat_dtype_size(a->dtype);
    for (int k = a->ndim - 1; k > 0; step *= (size_t)a->shape[k--])
        self->contiguous[i] &= (a->stride[k] >= 0 && (size_t)a->stride[k] == step) || a->shape[k] == 1;
    self->slice_bytes[i] = bytes;
    if (a->offsets) {
        const size_t entry = bytes;
        if (!self->contiguous[i] || a->stride[0] != (int64_t)entry || entry == 0)
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "array %s: values with offsets must be contiguous, and there must be some",
                              a->name);
        for (int64_t k = bytes = 0; k < n; k++) {
            if (a->offsets[k] < 0 || end_of(a, k) < a->offsets[k])
                return leat__fail(err, LEAT_ERR_ARGUMENT, "array %s: offsets go back at slice %" PRId64,
                                  a->name, k);
            bytes = LEAT_MAX(bytes, (size_t)(end_of(a, k) - a->offsets[k]) * entry);
        }
        bytes = LEAT_MAX(bytes, entry); /* room for one where all are empty */
        self->base.field_max[i] = bytes;
        int64_t shape[LEAT_NDIM_MAX] = {-1};
        memcpy(shape + 1, a->shape + 1, (size_t)(a->ndim - 1) * sizeof *shape);
        leat__source_field(&self->base, a->name, a->dtype, a->ndim, shape)->ragged = 1;
    } else {
        leat_field *field = leat__source_field(&self->base, a->name, a->dtype, a->ndim - 1, a->shape + 1);
        if (a->ndim == 4 && a->layout) field->layout = LEAT_LAYOUT_NHWC;
    }
    self->base.bytes_max = LEAT_MAX(self->base.bytes_max, bytes);
    const int64_t facts[] = {a->dtype, a->ndim, n, (int64_t)bytes};
    *fingerprint = leat__hash(facts, sizeof facts, leat__hash(a->name, strlen(a->name), *fingerprint));
    *fingerprint = leat__hash(a->shape, (size_t)a->ndim * sizeof a->shape[0], *fingerprint);
    return 0;
}

int leat__arrays_open(leat__source **out, const leat_tensor *given, int n, leat_error *err) {
    *out = NULL;
    if (n < 1 || n > LEAT_FIELDS_MAX)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "arrays: 1 to %d of them, not %d", LEAT_FIELDS_MAX, n);
    arrays *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "arrays");
    self->base.class = &arrays_class;
    leat__source *base = &self->base;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++) rc = add_array(self, &given[i], &base->fingerprint, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    snprintf(base->title, sizeof base->title, "%d arrays of %" PRIu64 " slices", n, base->n_samples);
    *out = base;
    return 0;
}
