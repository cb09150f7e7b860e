/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a picture of a sheet and is drawn over it: a mask as a tint for each class, boxes as frames. */
#include <stdio.h>

#include "image/pass/convert.h"
#include "sample/coordinates.h"
#include "tools/view/view.h"

enum { BOXES_MAX = 100 }; /* of one picture */

/* Text of an argument that names fields: the first of them. */
static void first_name(char out[64], const char *text) {
    snprintf(out, 64, "%.*s", (int)LEAT_MIN(strcspn(text, ","), (size_t)63), text);
}

void leat__view_find_overlay(leat__view_overlay *out, const leat_spec *spec, const char *field) {
    *out = (leat__view_overlay){0};
    for (int i = 0; i < spec->n_uses; i++) {
        const leat__use *use = &spec->use[i];
        const bool mask = use->op->flags & LEAT_OP_MASKS, boxes = use->op->flags & LEAT_OP_BOXES;
        if ((!mask && !boxes) || strcmp(leat__use_arg(use, "image")->text, field) != 0) continue;
        if (mask && !*out->mask) first_name(out->mask, leat__use_arg(use, "field")->text);
        if (!boxes || *out->boxes) continue;
        first_name(out->boxes, leat__use_arg(use, "field")->text);
        first_name(out->labels, leat__use_arg(use, "labels")->text);
        out->format = (int)leat__use_arg(use, "format")->i;
        out->normalized = leat__use_arg(use, "normalized")->i != 0;
    }
}

int leat__view_take_mask(leat__view_cell *cell, const leat__view_array *mask, leat_error *err) {
    const leat__view_picture *p = &cell->picture;
    const int64_t height = mask->shape[0], width = mask->ndim > 1 ? mask->shape[1] : 0;
    const int64_t channels = mask->ndim == 3 ? mask->shape[2] : 1;
    /* Channels that come first have one plane only: of several nothing is shown. */
    const bool plane = mask->ndim == 3 && height == 1 && channels > 4;
    const int64_t rows = plane ? width : height, columns = plane ? channels : width;
    const int64_t step = plane ? 1 : channels;
    if (mask->ndim < 2 || mask->ndim > 3 || rows < 1 || columns < 1 || !p->height) return 0;
    const size_t n = (size_t)p->height * (size_t)p->width, item = leat_dtype_size(mask->dtype);
    cell->tint.kind = LEAT_MEM_TOOL;
    if (!leat__buf_reserve(&cell->tint, n)) return leat__fail_memory(err, n, "a mask");
    cell->tint.size = n;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            const int64_t from =
                ((int64_t)y * rows / p->height * columns + (int64_t)x * columns / p->width) * step;
            float value = 0;
            leat__convert(&value, LEAT_DTYPE_F32, (const uint8_t *)mask->data + (size_t)from * item,
                          mask->dtype, 1, false, 1, 0);
            /* Values from 0 to 1 are a class too. */
            const int number = !(value > 0)  ? 0
                               : value < 1   ? (value >= 0.5f)
                               : value < 255 ? (int)value
                                             : 255;
            cell->tint.data[(size_t)y * (size_t)p->width + (size_t)x] = (uint8_t)number;
        }
    return 0;
}

/* Four numbers of any format as corners, in parts of the picture. */
static leat__view_box corners(const leat__view_overlay *overlay, const float v[4], int height, int width) {
    float x0 = v[0], y0 = v[1], x1 = v[2], y1 = v[3];
    if (overlay->format == LEAT_COORDS_YXYX) x0 = v[1], y0 = v[0], x1 = v[3], y1 = v[2];
    if (overlay->format == LEAT_COORDS_XYWH) x1 += x0, y1 += y0;
    if (overlay->format == LEAT_COORDS_CXCYWH)
        x0 = v[0] - v[2] / 2, y0 = v[1] - v[3] / 2, x1 = x0 + v[2], y1 = y0 + v[3];
    const float w = overlay->normalized ? 1 : (float)width, h = overlay->normalized ? 1 : (float)height;
    return (leat__view_box){.x0 = x0 / w, .y0 = y0 / h, .x1 = x1 / w, .y1 = y1 / h};
}

int leat__view_take_boxes(leat__view_cell *cell, const leat__view_overlay *overlay, int dtype,
                          const void *values, size_t n, leat_error *err) {
    const size_t count = LEAT_MIN(n / 4, (size_t)BOXES_MAX), item = leat_dtype_size(dtype);
    const size_t bytes = count * sizeof(leat__view_box);
    cell->boxes.kind = LEAT_MEM_TOOL;
    if (count == 0 || !cell->picture.height) return 0;
    if (!leat__buf_reserve(&cell->boxes, bytes)) return leat__fail_memory(err, bytes, "boxes");
    leat__view_box *box = (leat__view_box *)(void *)cell->boxes.data;
    for (size_t i = 0; i < count; i++) {
        float v[4];
        leat__convert(v, LEAT_DTYPE_F32, (const uint8_t *)values + i * 4 * item, dtype, 4, false, 1, 0);
        box[i] = corners(overlay, v, cell->picture.from_height, cell->picture.from_width);
    }
    cell->boxes.size = bytes;
    return 0;
}

size_t leat__view_n_boxes(const leat__view_cell *cell) {
    return cell->boxes.size / sizeof(leat__view_box);
}

void leat__view_cell_free(leat__view_cell *cell) {
    leat__buf_free(&cell->picture.values);
    leat__buf_free(&cell->tint);
    leat__buf_free(&cell->boxes);
}
