/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/padding.h"

#include <stdio.h>

#include "image/pass/convert.h"

/* --------------------------------------------------------------------------------------------- plan */

static void fill(uint8_t *at, const leat__output *out, size_t count) {
    bool same = true;
    for (size_t i = 1; i < out->item; i++) same &= out->padding[i] == out->padding[0];
    if (same) memset(at, out->padding[0], count * out->item);
    else
        for (size_t i = 0; i < count; i++) memcpy(at + i * out->item, out->padding, out->item);
}

/* One sample of the given shape, packed at `at`, becomes one of the batch's shape at the same place. From the last row to
 * the first: no row moves toward the beginning, so that none is overwritten before it has moved. */
static void grow(uint8_t *at, const leat__output *out, const int64_t *from, const int64_t *to) {
    const int ndim = out->field.ndim;
    const size_t row_from = (size_t)from[ndim - 1], row_to = (size_t)to[ndim - 1];
    size_t rows = 1;
    for (int i = 0; i < ndim - 1; i++) rows *= (size_t)to[i];
    for (size_t row = rows; row-- > 0;) {
        /* The row's place in the sample: its indices, read from the last axis to the first. */
        size_t rest = row, source = 0, step = 1;
        bool inside = true;
        for (int i = ndim - 2; i >= 0; i--) {
            const size_t index = rest % (size_t)to[i];
            rest /= (size_t)to[i];
            inside &= index < (size_t)from[i];
            source += index * step;
            step *= (size_t)from[i];
        }
        uint8_t *dst = at + row * row_to * out->item;
        const size_t kept = inside ? row_from : 0;
        if (kept) memmove(dst, at + source * row_from * out->item, kept * out->item);
        fill(dst + kept * out->item, out, row_to - kept);
    }
}

void leat__padding_apply(const leat__output *out, uint8_t *base, const int64_t *shapes, int n,
                         leat_tensor *tensor) {
    const int ndim = out->field.ndim;
    int64_t to[LEAT_NDIM_MAX];
    size_t bytes = out->item;
    for (int i = 0; i < ndim; i++) {
        to[i] = LEAT_MAX(out->field.shape[i], (int64_t)0);
        for (int k = 0; k < n; k++) to[i] = LEAT_MAX(to[i], shapes[k * ndim + i]);
        bytes *= (size_t)to[i];
    }
    for (int k = 0; k < n; k++) {
        uint8_t *at = base + (size_t)k * out->stride;
        if (memcmp(&shapes[k * ndim], to, (size_t)ndim * sizeof *to) != 0)
            grow(at, out, &shapes[k * ndim], to);
        memmove(base + (size_t)k * bytes, at, bytes);
    }
    tensor->data = base;
    tensor->ndim = ndim + 1;
    tensor->shape[0] = n;
    tensor->stride[0] = (int64_t)bytes;
    int64_t stride = (int64_t)out->item;
    for (int i = ndim; i >= 1; i--) {
        tensor->shape[i] = to[i - 1];
        tensor->stride[i] = stride;
        stride *= to[i - 1];
    }
}
