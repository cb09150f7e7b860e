/* SPDX-License-Identifier: Apache-2.0 */
#include "format/npy.h"

#include "base/macros.h"

#include <stdio.h>

static const char *const descriptions[LEAT_DTYPE_COUNT] = {
    [LEAT_DTYPE_U8] = "|u1",   [LEAT_DTYPE_I8] = "|i1",   [LEAT_DTYPE_U16] = "<u2", [LEAT_DTYPE_I16] = "<i2",
    [LEAT_DTYPE_U32] = "<u4",  [LEAT_DTYPE_I32] = "<i4",  [LEAT_DTYPE_U64] = "<u8", [LEAT_DTYPE_I64] = "<i8",
    [LEAT_DTYPE_F16] = "<f2",  [LEAT_DTYPE_BF16] = "<V2", [LEAT_DTYPE_F32] = "<f4", [LEAT_DTYPE_F64] = "<f8",
    [LEAT_DTYPE_BOOL] = "|b1",
};

/* NumPy leaves so much room for the first dimension, so that a file can grow without moving its values. */
#define FIRST_DIMENSION_WIDTH 21

size_t leat__npy_header(char *out, size_t cap, int dtype, int ndim, const int64_t *shape) {
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    enum { PREFIX = sizeof magic + 2, ALIGN = 64 };
    if (dtype < 0 || dtype >= LEAT_DTYPE_COUNT || !descriptions[dtype]) return 0;
    if (ndim < 0 || ndim > LEAT_NDIM_MAX) return 0;

    char text[LEAT_NPY_HEADER_MAX];
    size_t n = (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descriptions[dtype]);
    size_t spare = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) return 0;
        const size_t digits = (size_t)snprintf(text + n, sizeof text - n, "%" PRId64, shape[i]);
        if (i == 0) spare = FIRST_DIMENSION_WIDTH - digits;
        n += digits;
        /* A tuple of one has its comma at the end, longer ones have theirs between. */
        const char *const comma = ndim == 1 ? "," : i < ndim - 1 ? ", " : "";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", comma);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "), }%*s", (int)spare, "");

    /* At least one space and always up to the next multiple: a whole line of spaces if it was one already. */
    const size_t total = ((size_t)PREFIX + n + 1) / ALIGN * ALIGN + ALIGN;
    assert(n < sizeof text && total <= LEAT_NPY_HEADER_MAX);
    if (cap < total) return 0;
    memcpy(out, magic, sizeof magic);
    leat__store_u16(out + sizeof magic, (uint16_t)(total - PREFIX));
    memcpy(out + PREFIX, text, n);
    memset(out + PREFIX + n, ' ', total - PREFIX - n - 1);
    out[total - 1] = '\n';
    return total;
}
