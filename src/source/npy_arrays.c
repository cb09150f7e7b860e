/* SPDX-License-Identifier: Apache-2.0 */
/* Slices along the first axis of arrays in .npy and .npz files; each array is a field. */
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "source/npy_file.h"

typedef struct npy_arrays {
    leat__source base;
    int n;
    leat__npy_array array[LEAT_FIELDS_MAX];
    size_t room; /* bytes that the slices need that are read from files */
} npy_arrays;

/* Bytes that a reader needs for a slice: as it is read, and with channels last. */
static size_t room_of(const leat__npy_array *array) {
    const size_t one = LEAT_ALIGN_UP(array->slice, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
    return (array->held.data ? 0 : one) + (array->planes ? one : 0);
}

static void take_planes(const leat__npy_array *a, uint8_t *dst, const uint8_t *src) {
    const size_t item = leat_dtype_size(a->info.dtype);
    const int64_t *shape = a->info.shape + 1, height = shape[0], width = shape[1];
    const int64_t stride[3] = {width * (int64_t)item, (int64_t)item, height * width * (int64_t)item};
    leat__gather(dst, src, shape, stride, 3, item);
}

static int read_slices(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const npy_arrays *self = (const npy_arrays *)source;
    if (!leat__buf_reserve(&reader->bytes, self->room)) return leat__fail_memory(err, self->room, "slices");
    size_t used = 0;
    for (int i = 0; i < self->n; i++) {
        const leat__npy_array *a = &self->array[i];
        const uint64_t at = sample * a->slice;
        const uint8_t *data = a->held.data;
        if (data) {
            data += at;
        } else if (a->slice) {
            uint8_t *room = reader->bytes.data + used;
            data = room;
            LEAT_TRY(leat__file_read_at(&a->file, room, a->slice, a->begin + at, a->path, err));
            reader->bytes_read += a->slice;
        }
        used += room_of(a);
        if (a->planes && a->slice) {
            uint8_t *pixels = reader->bytes.data + used - room_of(a) / (a->held.data ? 1 : 2);
            take_planes(a, pixels, data);
            data = pixels;
        }
        values[i] =
            (leat__value){.data = data, .bytes = a->slice, .dtype = a->info.dtype, .ndim = a->info.ndim - 1};
        memcpy(values[i].shape, a->info.shape + 1, (size_t)values[i].ndim * sizeof values[i].shape[0]);
    }
    return 0;
}

static int read_run(const leat__source *source, leat__reader *reader, uint64_t first, uint64_t n,
                    leat__run *run, leat_error *err) {
    const npy_arrays *self = (const npy_arrays *)source;
    size_t room = 0, bytes;
    for (int i = 0; i < self->n; i++)
        if (!self->array[i].held.data) {
            if (!leat__mul_size(self->array[i].slice, (size_t)n, &bytes) || bytes > LEAT_RECORD_BYTES_MAX)
                return LEAT_RUN_NONE;
            room += LEAT_ALIGN_UP(bytes, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
        }
    if (!leat__buf_reserve(&reader->bytes, room)) return leat__fail_memory(err, room, "slices");
    uint8_t *at = reader->bytes.data;
    for (int i = 0; i < self->n; i++) {
        const leat__npy_array *a = &self->array[i];
        run->apart[i] = (ptrdiff_t)a->slice;
        run->data[i] = a->held.data ? a->held.data + first * a->slice : at;
        if (a->held.data || !a->slice) continue;
        bytes = a->slice * (size_t)n;
        LEAT_TRY(leat__file_read_at(&a->file, at, bytes, a->begin + first * a->slice, a->path, err));
        reader->bytes_read += bytes;
        at += LEAT_ALIGN_UP(bytes, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
    }
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const leat__npy_array *first = &((const npy_arrays *)source)->array[0];
    char name[400];
    snprintf(text, cap, "%s: slice %" PRIu64,
             leat__printable(name, sizeof name, first->path, strlen(first->path)), sample);
}

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const leat__npy_array *a = &((const npy_arrays *)source)->array[field];
    (void)room;
    if (!a->held.data || a->info.ndim != 1) return false;
    *value =
        (leat__value){.data = a->held.data + sample * a->slice, .bytes = a->slice, .dtype = a->info.dtype};
    return true;
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__buf_reserve_exactly(&reader->bytes,
                              LEAT_MIN(((const npy_arrays *)source)->room, LEAT_PREPARE_BYTES_MAX));
}

static void close_arrays(leat__source *source) {
    npy_arrays *self = (npy_arrays *)source;
    for (int i = 0; i < self->n; i++) leat__npy_array_free(&self->array[i]);
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    (void)n_threads;
    const npy_arrays *self = (const npy_arrays *)source;
    *out = 0;
    for (int i = 0; i < self->n; i++) {
        char file[PATH_MAX];
        leat__stat st;
        snprintf(file, sizeof file, "%s", self->array[i].path);
        char *colon = strrchr(file, ':');
        if (colon && leat__file_stat(file, &st, NULL) < 0) *colon = 0; /* a member of an archive */
        LEAT_TRY(leat__file_stat(file, &st, err));
        LEAT_TRY(leat__source_date(file, st.size, st.mtime_ns, exact, out, err));
    }
    return 0;
}

static const leat__source_class npy_class = {.name = "npy",
                                             .version = version,
                                             .read = read_slices,
                                             .run = read_run,
                                             .describe = describe,
                                             .prepare = prepare,
                                             .close = close_arrays,
                                             .known = known};

/* "name=path", or a path alone. */
static int open_text(npy_arrays *self, const char *text, leat_error *err) {
    char name[64];
    const size_t n = strcspn(text, "=");
    bool named = text[n] == '=' && n > 0 && n < sizeof name && !(text[0] >= '0' && text[0] <= '9');
    for (size_t i = 0; i < n && named; i++)
        named = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
                (text[i] >= '0' && text[i] <= '9') || text[i] == '_';
    if (!named) return leat__npy_file_open(self->array, &self->n, NULL, text, err);
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    return leat__npy_file_open(self->array, &self->n, name, text + n + 1, err);
}

static int add_fields(npy_arrays *self, int layout, leat_error *err) {
    leat__source *base = &self->base;
    const leat__npy_array *first = &self->array[0];
    base->n_samples = (uint64_t)first->info.shape[0];
    for (int i = 0; i < self->n; i++) {
        leat__npy_array *a = &self->array[i];
        const int64_t n = a->info.shape[0];
        if (n != first->info.shape[0]) {
            char shown[2][300];
            leat__printable(shown[0], sizeof shown[0], a->path, strlen(a->path));
            leat__printable(shown[1], sizeof shown[1], first->path, strlen(first->path));
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "%s has %" PRId64 " slices, %s has %" PRId64
                              ": choose arrays that belong together, as in npy image=a.npz:x label=a.npz:y",
                              shown[0], n, shown[1], first->info.shape[0]);
        }
        a->planes = layout == LEAT_LAYOUT_NCHW && a->info.ndim == 4;
        int64_t unused[3] = {0};
        if (a->planes) leat__channels_last(a->info.shape + 1, unused);
        leat_field *field =
            leat__source_field(base, a->name, a->info.dtype, a->info.ndim - 1, a->info.shape + 1);
        if (layout && a->info.ndim == 4) field->layout = LEAT_LAYOUT_NHWC;
        base->bytes_max = LEAT_MAX(base->bytes_max, a->slice);
        if (!leat__add_size(self->room, room_of(a), &self->room))
            return leat__fail(err, LEAT_ERR_LIMIT, "the slices have too many bytes");
        const int64_t facts[] = {a->info.dtype, a->info.ndim};
        base->fingerprint =
            leat__hash(facts, sizeof facts, leat__hash(a->name, strlen(a->name), base->fingerprint));
        base->fingerprint =
            leat__hash(a->info.shape, (size_t)a->info.ndim * sizeof a->info.shape[0], base->fingerprint);
    }
    return 0;
}

int leat__npy_arrays_open(leat__source **out, const char *const *texts, int n, int layout, leat_error *err) {
    *out = NULL;
    npy_arrays *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "arrays");
    leat__source *base = &self->base;
    base->class = &npy_class;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++) rc = open_text(self, texts[i], err);
    if (rc == 0) rc = add_fields(self, layout, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    for (int i = 0; i < self->n; i++) base->waits |= self->array[i].file.remote != NULL;
    snprintf(base->title, sizeof base->title, "npy: %" PRIu64 " slices of %d arrays", base->n_samples,
             self->n);
    *out = base;
    return 0;
}
