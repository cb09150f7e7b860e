/* SPDX-License-Identifier: Apache-2.0 */
/* The binary files of CIFAR-10 and CIFAR-100: records of one label (10) or two (100: coarse, then fine)
 * and three planes of 32 x 32 bytes, red, green, blue. They are read by their places, so nothing is loaded
 * before it is wanted. */
#include <stdio.h>

#include "base/hash.h"
#include "source/fixed.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE };

typedef struct cifar {
    leat__source base;
    leat__source *records;
    int n_labels;
} cifar;

static const int label_limits[2][2] = {{10, 0}, {20, 100}};
static const char *const names_of_10[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};

static int read_picture(const leat__source *source, leat__reader *reader, uint64_t sample,
                        leat__value *values, leat_error *err) {
    const cifar *self = (const cifar *)source;
    leat__value record;
    LEAT_TRY(self->records->class->read(self->records, reader, sample, &record, err));
    const size_t room = PIXELS + LEAT_MEM_PAD;
    if (!leat__buf_reserve(&reader->extra, room + 2 * sizeof(int64_t)))
        return leat__fail_memory(err, room, "a picture");
    int64_t *label = (int64_t *)(void *)(reader->extra.data + room);
    for (int i = 0; i < self->n_labels; i++) {
        const int limit = label_limits[self->n_labels - 1][i];
        label[i] = record.data[i];
        if (label[i] < limit) {
            values[1 + i] = (leat__value){
                .data = (const uint8_t *)&label[i], .bytes = sizeof *label, .dtype = LEAT_DTYPE_I64};
            continue;
        }
        char where[600];
        self->records->class->describe(self->records, sample, where, sizeof where);
        return leat__fail(err, LEAT_ERR_FORMAT,
                          "%s: its label is %" PRId64 ", there are %d: is this a file of CIFAR-%d?", where,
                          label[i], limit, self->n_labels == 1 ? 10 : 100);
    }
    const uint8_t *red = record.data + self->n_labels, *green = red + PLANE, *blue = green + PLANE;
    uint8_t *pixel = reader->extra.data;
    for (int i = 0; i < PLANE; i++, pixel += 3) pixel[0] = red[i], pixel[1] = green[i], pixel[2] = blue[i];
    values[0] = (leat__value){.data = reader->extra.data,
                              .bytes = PIXELS,
                              .dtype = LEAT_DTYPE_U8,
                              .ndim = 3,
                              .shape = {SIDE, SIDE, 3}};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const leat__source *records = ((const cifar *)source)->records;
    records->class->describe(records, sample, text, cap);
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__fixed_prepare(((const cifar *)source)->records, reader);
    leat__buf_reserve_exactly(&reader->extra, PIXELS + LEAT_MEM_PAD + 2 * sizeof(int64_t));
}

static void close_cifar(leat__source *source) {
    leat__source_free(&((cifar *)source)->records);
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    const leat__source *records = ((const cifar *)source)->records;
    return records->class->version(records, n_threads, exact, out, err);
}

static const leat__source_class cifar_class = {.name = "cifar",
                                               .version = version,
                                               .read = read_picture,
                                               .describe = describe,
                                               .prepare = prepare,
                                               .close_reader = leat__fixed_close_reader,
                                               .close = close_cifar};

static int name_classes(leat__source *base, leat_error *err) {
    const size_t n = LEAT_COUNT(names_of_10);
    base->class_name = leat__alloc(LEAT_MEM_INDEX, n * sizeof *base->class_name);
    if (!base->class_name) return leat__fail_memory(err, n * sizeof *base->class_name, "class names");
    base->n_classes = n;
    for (size_t i = 0; i < n; i++) {
        base->class_name[i] = leat__strdup(LEAT_MEM_INDEX, names_of_10[i]);
        if (!base->class_name[i]) return leat__fail_memory(err, 64, "class names");
    }
    return 0;
}

int leat__cifar_open(leat__source **out, const char *const *patterns, int n, int kind, leat_error *err) {
    *out = NULL;
    cifar *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a source");
    leat__source *base = &self->base;
    base->class = &cifar_class;
    self->n_labels = kind == 100 ? 2 : 1;
    leat__fixed_options options = {.patterns = patterns, .n = n, .bytes = (size_t)self->n_labels + PIXELS};
    int rc = leat__fixed_open(&self->records, &options, err);
    if (rc == LEAT_ERR_FORMAT) { /* of the other kind perhaps */
        leat__source *other;
        options.bytes = kind == 100 ? 1 + PIXELS : 2 + PIXELS;
        if (leat__fixed_open(&other, &options, NULL) == 0) {
            leat__source_free(&other);
            leat__error_prefix(err, "by their size these are files of CIFAR-%d, write kind=%d: ",
                               kind == 100 ? 10 : 100, kind == 100 ? 10 : 100);
        } else {
            leat__error_prefix(err, "no file of CIFAR-%d: ", kind);
        }
    }
    if (rc == 0 && kind != 100) rc = name_classes(base, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    const int64_t shape[3] = {SIDE, SIDE, 3};
    leat__source_field(base, "image", LEAT_DTYPE_U8, 3, shape)->layout = LEAT_LAYOUT_NHWC;
    leat__source_field(base, kind == 100 ? "coarse" : "label", LEAT_DTYPE_I64, 0, NULL);
    if (kind == 100) leat__source_field(base, "fine", LEAT_DTYPE_I64, 0, NULL);
    base->n_samples = self->records->n_samples;
    base->bytes_max = PIXELS;
    base->fingerprint = leat__hash("cifar", 5, self->records->fingerprint);
    snprintf(base->title, sizeof base->title, "cifar: %" PRIu64 " pictures of CIFAR-%d", base->n_samples,
             kind);
    *out = base;
    return 0;
}
