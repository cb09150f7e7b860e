/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pass/border.h"

#include "base/error.h"
#include "image/dsp.h"

enum { SIDE_MAX = 65535 };

/* Where position i of an axis with n values lies inside of it. */
static int fold(int i, int n, leat__pad_mode mode) {
    if (mode == LEAT_PAD_EDGE || n == 1) return LEAT_CLAMP(i, 0, n - 1);
    const int period = mode == LEAT_PAD_REFLECT ? 2 * n - 2 : 2 * n;
    i = ((i % period) + period) % period;
    return i < n ? i : mode == LEAT_PAD_REFLECT ? period - i : period - 1 - i;
}

static int bordered_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    const leat__bordered *b = rows->user;
    leat__rows *inner = b->inner;
    const size_t pixel = b->pixel;
    const int from = y - b->border.top;
    const bool outside = from < 0 || from >= inner->height;
    if (outside && b->mode == LEAT_PAD_CONSTANT) {
        *out = b->blank;
        return 0;
    }
    const int taken = outside ? fold(from, inner->height, b->mode) : from;
    const void *row;
    if (inner->data) row = inner->data + (ptrdiff_t)taken * inner->stride;
    else LEAT_TRY(inner->row(inner, taken, &row, err));
    const int left = LEAT_MAX(b->border.left, 0), cut = LEAT_MAX(-b->border.left, 0);
    const int shown = LEAT_MIN(inner->width - cut, rows->width - left);
    if (shown > 0)
        memcpy(b->row + (size_t)left * pixel, (const uint8_t *)row + (size_t)cut * pixel,
               (size_t)shown * pixel);
    if (b->mode != LEAT_PAD_CONSTANT)
        for (int x = 0; x < rows->width; x++) {
            const int place = x - b->border.left;
            if (place >= 0 && place < inner->width) continue;
            memcpy(b->row + (size_t)x * pixel,
                   (const uint8_t *)row + (size_t)fold(place, inner->width, b->mode) * pixel, pixel);
        }
    *out = b->row;
    return 0;
}

/* One pixel, which is repeated: small pictures have a row of fill each. */
static void fill_row(uint8_t *row, const leat__rows *rows, size_t pixel, const float fill[4]) {
    for (int i = 0; i < rows->channels; i++) {
        const int c = rows->channels <= 4 ? i : 0;
        if (rows->dtype == LEAT_DTYPE_U8) row[i] = (uint8_t)LEAT_CLAMP(fill[c], 0.0f, 255.0f);
        else if (rows->dtype == LEAT_DTYPE_U16)
            ((uint16_t *)(void *)row)[i] = (uint16_t)LEAT_CLAMP(fill[c], 0.0f, 65535.0f);
        else ((float *)(void *)row)[i] = fill[c];
    }
    const size_t bytes = (size_t)rows->width * pixel;
    for (size_t done = pixel; done < bytes; done *= 2) memcpy(row + done, row, LEAT_MIN(done, bytes - done));
}

int leat__border_rows(leat__rows *outer, leat__bordered *b, leat__rows *inner, const leat__border *border,
                      leat__pad_mode mode, leat__buf *memory, leat_error *err) {
    *b = (leat__bordered){.inner = inner, .border = *border, .mode = mode};
    *outer = (leat__rows){.height = inner->height + border->top + border->bottom,
                          .width = inner->width + border->left + border->right,
                          .channels = inner->channels,
                          .dtype = inner->dtype,
                          .row = bordered_row,
                          .user = b};
    if (LEAT_MIN(outer->height, outer->width) < 1 || LEAT_MAX(outer->height, outer->width) > SIDE_MAX)
        return leat__fail(err, LEAT_ERR_SHAPE, "%dx%d pixels do not become %dx%d (height x width)",
                          inner->height, inner->width, outer->height, outer->width);
    b->pixel = (size_t)outer->channels * leat_dtype_size(outer->dtype);
    const size_t step =
        LEAT_ALIGN_UP((size_t)outer->width * b->pixel + LEAT_ROW_PAD, (size_t)LEAT_CACHE_LINE);
    if (!leat__buf_reserve(memory, 2 * step)) return leat__fail_memory(err, 2 * step, "rows of a picture");
    b->row = memory->data;
    b->blank = memory->data + step;
    fill_row(b->blank, outer, b->pixel, border->fill);
    memcpy(b->row, b->blank, (size_t)outer->width * b->pixel);
    return 0;
}
