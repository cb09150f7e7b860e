/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <stdio.h>

void leat__source_free(leat__source **handle) {
    leat__source *source = *handle;
    if (!source) return;
    if (source->class && source->class->close) source->class->close(source);
    for (size_t i = 0; i < source->n_classes; i++) leat__free(source->class_name[i]);
    leat__free(source->class_name);
    leat__free(source->home);
    leat__free(source);
    *handle = NULL;
}

int leat__source_leaves(const leat__source *source) {
    int n = source->n_parts == 0;
    for (int i = 0; i < source->n_parts; i++) n += leat__source_leaves(source->part[i]);
    return n;
}

void leat__reader_free(const leat__source *source, leat__reader *reader) {
    if (source && source->class->close_reader) source->class->close_reader(reader);
    leat__buf_free(&reader->bytes);
    leat__buf_free(&reader->extra);
}

uint64_t leat__source_size(const leat__source *source, uint64_t sample) {
    if (source->class->size) return source->class->size(source, sample);
    uint64_t sum = 0;
    for (int i = 0; i < source->n_fields; i++) {
        const leat_field *field = &source->field[i];
        uint64_t bytes = leat_dtype_size(field->dtype);
        for (int k = 0; k < field->ndim; k++) {
            if (field->shape[k] < 0) return 0;
            bytes *= (uint64_t)field->shape[k];
        }
        sum += bytes;
    }
    return sum;
}

leat_field *leat__source_field(leat__source *source, const char *name, int dtype, int ndim,
                               const int64_t *shape) {
    assert(source->n_fields < LEAT_FIELDS_MAX);
    leat_field *field = &source->field[source->n_fields++];
    *field = (leat_field){.dtype = dtype, .ndim = ndim, .ragged = dtype == LEAT_DTYPE_BYTES};
    snprintf(field->name, sizeof field->name, "%s", name);
    for (int i = 0; i < ndim; i++) field->shape[i] = shape[i];
    return field;
}

int leat__source_gather(const leat__source *source, leat__reader *reader, int leaf, const leat__piece *piece,
                        int n, leat__value *values, leat_error *err) {
    if (source->class->gather) return source->class->gather(source, reader, leaf, piece, n, values, err);
    return source->class->read(source, reader, piece->number, values, err);
}

void leat__source_describe_pieces(const leat__source *source, int leaf, const leat__piece *piece, int n,
                                  char *text, size_t cap) {
    if (source->class->gather) source->class->describe_pieces(source, leaf, piece, n, text, cap);
    else source->class->describe(source, piece->number, text, cap);
}

uint64_t leat__source_parts_of(const leat__source *source, int leaf, const leat__piece *piece, int n) {
    if (source->class->gather) return source->class->parts_of_pieces(source, leaf, piece, n);
    return (source->class->parts ? source->class->parts(source, piece->number) : 1) << leaf;
}

/* ------------------------------------------------------------------------------------- layouts of arrays */

/* The innermost axes are loops: a picture with channels first is read as three rows at once. */
#define GATHER(type)                                                                  \
    if (last == 3) {                                                                  \
        const uint8_t *second = src + step, *third = second + step;                   \
        for (int64_t i = 0, at = 0; i < n; i++, at += row, dst += 3 * sizeof(type)) { \
            memcpy(dst, src + at, sizeof(type));                                      \
            memcpy(dst + sizeof(type), second + at, sizeof(type));                    \
            memcpy(dst + 2 * sizeof(type), third + at, sizeof(type));                 \
        }                                                                             \
    } else                                                                            \
        for (int64_t i = 0; i < n; i++)                                               \
            for (int64_t k = 0; k < last; k++, dst += sizeof(type))                   \
        memcpy(dst, src + i * row + k * step, sizeof(type))

static uint8_t *gather_rows(uint8_t *dst, const uint8_t *src, const int64_t *shape, const int64_t *stride,
                            int ndim, size_t item) {
    const int64_t n = shape[ndim - 2], last = shape[ndim - 1];
    const int64_t row = stride[ndim - 2], step = stride[ndim - 1];
    switch (item) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    default: GATHER(uint64_t); break;
    }
    return dst;
}

static uint8_t *gather(uint8_t *dst, const uint8_t *src, const int64_t *shape, const int64_t *stride,
                       int ndim, size_t item) {
    if (ndim == 2) return gather_rows(dst, src, shape, stride, ndim, item);
    for (int64_t i = 0; i < shape[0]; i++)
        dst = gather(dst, src + i * stride[0], shape + 1, stride + 1, ndim - 1, item);
    return dst;
}

void leat__gather(uint8_t *dst, const uint8_t *src, const int64_t *shape, const int64_t *stride, int ndim,
                  size_t item) {
    int64_t all[LEAT_NDIM_MAX + 1] = {1, 1}, steps[LEAT_NDIM_MAX + 1] = {0};
    const int more = ndim < 2 ? 2 - ndim : 0;
    for (int i = 0; i < ndim && i < LEAT_NDIM_MAX - 1; i++)
        all[more + i] = shape[i], steps[more + i] = stride[i];
    gather(dst, src, all, steps, ndim + more, item);
}

void leat__channels_last(int64_t shape[3], int64_t stride[3]) {
    const int64_t channels = shape[0], step = stride[0];
    shape[0] = shape[1], shape[1] = shape[2], shape[2] = channels;
    stride[0] = stride[1], stride[1] = stride[2], stride[2] = step;
}

int leat__source_layout(const char *what, const char *name, int layout, leat_error *err) {
    if (layout >= LEAT_LAYOUT_NONE && layout <= LEAT_LAYOUT_NCHW) return 0;
    return leat__fail(err, LEAT_ERR_ARGUMENT, "%s %s: layout is LEAT_LAYOUT_NHWC or LEAT_LAYOUT_NCHW, not %d",
                      what, name, layout);
}
