/* SPDX-License-Identifier: Apache-2.0 */
/* From the values that a model gets back to a picture for the eye. */
#include <stdio.h>

#include "image/pass/convert.h"
#include "plan/plan_image.h"
#include "tools/view/view.h"

/* A picture has few channels and more rows and columns than that; both ends may look so, then the last axis counts. */
static bool channels_first(int ndim, const int64_t *shape) {
    return ndim == 3 && (shape[2] < 1 || shape[2] > 4) && shape[0] >= 1 && shape[0] <= 4;
}

bool leat__view_is_picture(const leat_field *field) {
    if (field->ragged || field->dtype == LEAT_DTYPE_BYTES) return false;
    if (field->ndim == 2) return true;
    return field->ndim == 3 &&
           ((field->shape[2] >= 1 && field->shape[2] <= 4) || channels_first(3, field->shape));
}

/* One row of the picture as f32 with three channels; gray is repeated, alpha is left out. */
static void take_row(float *out, const leat__view_array *from, size_t y, size_t width, float *row) {
    const int64_t *s = from->shape;
    const bool planes = channels_first(from->ndim, s);
    const size_t channels = from->ndim == 2 ? 1 : (size_t)(planes ? s[0] : s[2]);
    const size_t height = (size_t)(planes ? s[1] : s[0]), item = leat_dtype_size(from->dtype);
    const uint8_t *data = from->data;
    for (size_t c = 0; c < (planes ? channels : 1); c++) {
        const size_t n = planes ? width : width * channels;
        leat__convert(row + c * width, LEAT_DTYPE_F32, data + (c * height + y) * n * item, from->dtype, n,
                      false, 1, 0);
    }
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < 3; c++) {
            const size_t k = channels < 3 ? 0 : c;
            out[x * 3 + c] = planes ? row[k * width + x] : row[x * channels + k];
        }
}

/* Where cell i of n begins on an axis of `from` pixels. */
static double edge(int i, int n, int from) {
    return (double)i * from / n;
}

/* Adds to dst, of n cells, the share of a row of `from` cells that each covers. */
static void squeeze(float *dst, int n, const float *src, int from, float weight) {
    for (int i = 0; i < n; i++) {
        const double begin = edge(i, n, from), end = edge(i + 1, n, from);
        for (int k = (int)begin; k < from && k < end; k++) {
            const double covered = LEAT_MIN(end, k + 1.0) - LEAT_MAX(begin, (double)k);
            const float share = weight * (float)(covered / (end - begin));
            for (int c = 0; c < 3; c++) dst[i * 3 + c] += share * src[k * 3 + c];
        }
    }
}

static void repeat(float *dst, int n, const float *src, int from) {
    for (int i = 0; i < n; i++)
        memcpy(dst + (size_t)i * 3, src + (size_t)(int)edge(i, n, from) * 3, 3 * sizeof *dst);
}

int leat__view_take(leat__view_picture *out, const leat__view_array *from, int size, leat__buf *work,
                    leat_error *err) {
    const bool planes = channels_first(from->ndim, from->shape);
    const int64_t height = from->shape[planes ? 1 : 0], width = from->shape[planes ? 2 : 1];
    const int64_t channels = from->ndim == 2 ? 1 : from->shape[planes ? 0 : 2];
    if (height < 1 || width < 1 || height > INT32_MAX / 64 || width > INT32_MAX / 64)
        return leat__fail(err, LEAT_ERR_SHAPE, "a picture of %" PRId64 "x%" PRId64 " cannot be shown", width,
                          height);
    const double scale = (double)size / (double)LEAT_MAX(height, width);
    out->from_height = (int)height;
    out->from_width = (int)width;
    out->height = LEAT_MAX((int)((double)height * scale + 0.5), 1);
    out->width = LEAT_MAX((int)((double)width * scale + 0.5), 1);
    const size_t row = (size_t)width * (size_t)LEAT_MAX(channels, 3),
                 bytes = (size_t)out->height * (size_t)out->width * 12;
    out->values.kind = work->kind = LEAT_MEM_TOOL;
    if (!leat__buf_reserve(work, 2 * row * sizeof(float)) || !leat__buf_reserve(&out->values, bytes))
        return leat__fail_memory(err, bytes, "a picture");
    float *raw = (float *)(void *)work->data, *line = raw + row, *values = (float *)(void *)out->values.data;
    memset(values, 0, bytes);
    const bool shrinks = scale < 1;
    for (int y = 0, last = -1; y < out->height; y++) {
        float *dst = values + (size_t)y * (size_t)out->width * 3;
        const double begin = edge(y, out->height, (int)height), end = edge(y + 1, out->height, (int)height);
        for (int k = (int)begin; k < height && (shrinks ? k < end : k == (int)begin); k++) {
            if (k != last) take_row(line, from, (size_t)k, (size_t)width, raw);
            last = k;
            const double covered = LEAT_MIN(end, k + 1.0) - LEAT_MAX(begin, (double)k);
            if (shrinks) squeeze(dst, out->width, line, (int)width, (float)(covered / (end - begin)));
            else repeat(dst, out->width, line, (int)width);
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- undo */

static void affine(leat__view_picture *picture, const double mul[3], const double add[3]) {
    float *values = (float *)(void *)picture->values.data;
    const size_t n = (size_t)picture->height * (size_t)picture->width * 3;
    for (size_t i = 0; i < n; i++) values[i] = (float)((double)values[i] * mul[i % 3] + add[i % 3]);
}

static void note_undone(char *text, size_t cap, const char *name) {
    const size_t n = strlen(text);
    if (!strstr(text, name) && n < cap) snprintf(text + n, cap - n, "%s%s", n ? ", " : "", name);
}

static void undo_normalize(leat__view_picture *picture, const leat__use *use) {
    static const double imagenet_mean[] = {0.485, 0.456, 0.406}, imagenet_std[] = {0.229, 0.224, 0.225};
    double mean[4], std[4], scale = leat__use_arg(use, "scale")->x, mul[3], add[3];
    int n_mean, n_std;
    const bool imagenet = leat__use_arg(use, "name")->i == 1;
    if (imagenet) scale = 1.0 / 255;
    else if (leat__plan_read_numbers(use, "mean", mean, 4, &n_mean, NULL) < 0 || n_mean == 0 ||
             leat__plan_read_numbers(use, "std", std, 4, &n_std, NULL) < 0 || n_std == 0)
        return;
    for (int c = 0; c < 3; c++) {
        mul[c] = (imagenet ? imagenet_std[c] : std[c < n_std ? c : 0]) / scale;
        add[c] = (imagenet ? imagenet_mean[c] : mean[c < n_mean ? c : 0]) / scale;
    }
    affine(picture, mul, add);
}

void leat__view_undo(leat__view_picture *picture, const leat_spec *spec, const char *field, char *text,
                     size_t cap) {
    for (int i = spec->n_uses - 1; i >= 0; i--) {
        const leat__use *use = &spec->use[i];
        const bool scaled = use->op->flags & LEAT_OP_SCALES;
        if (!scaled && !(use->op->flags & LEAT_OP_NORMALIZES)) continue;
        if (strcmp(leat__use_arg(use, "field")->text, field) != 0 || leat__use_arg(use, "scale")->x == 0)
            continue;
        if (scaled) {
            const double mul = 1 / leat__use_arg(use, "scale")->x,
                         add = -leat__use_arg(use, "offset")->x * mul;
            if (mul == 1 && add == 0) continue;
            affine(picture, (double[3]){mul, mul, mul}, (double[3]){add, add, add});
        } else {
            undo_normalize(picture, use);
        }
        note_undone(text, cap, use->op->name);
    }
}

/* --------------------------------------------------------------------------------------------- range */

leat__view_range leat__view_find_range(const leat__view_picture *const *pictures, size_t n) {
    double low = 1e300, high = -1e300;
    for (size_t k = 0; k < n; k++) {
        const float *values = (const float *)(const void *)pictures[k]->values.data;
        const size_t count = (size_t)pictures[k]->height * (size_t)pictures[k]->width * 3;
        for (size_t i = 0; i < count; i++) {
            if (!(values[i] > -1e30f && values[i] < 1e30f)) continue;
            low = LEAT_MIN(low, (double)values[i]);
            high = LEAT_MAX(high, (double)values[i]);
        }
    }
    if (high < low) return (leat__view_range){0, 1};
    /* Brightness and sharp filters go beyond the range they began with. */
    if (low >= -0.6 && high <= 2 && high > 0) return (leat__view_range){0, 1};
    if (low >= -2 && high <= 2) return (leat__view_range){-1, 1};
    if (low >= -128 && high <= 400) return (leat__view_range){0, 255};
    if (low >= 0 && high <= 65535) return (leat__view_range){0, 65535};
    return (leat__view_range){low, high};
}

void leat__view_row(uint8_t *rgb, const leat__view_picture *picture, int y, leat__view_range range) {
    const size_t n = (size_t)picture->width * 3;
    const float *values = (const float *)(const void *)picture->values.data + (size_t)y * n;
    const double scale = range.high > range.low ? 255 / (range.high - range.low) : 1;
    for (size_t i = 0; i < n; i++) {
        const double x = ((double)values[i] - range.low) * scale + 0.5;
        rgb[i] = !(x > 0) ? 0 : x >= 255 ? 255 : (uint8_t)x;
    }
}
