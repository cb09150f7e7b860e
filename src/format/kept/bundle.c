/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kept/bundle.h"

enum { AXIS = 8, SMALL = 64 };

bool leat__bundle_fixed(const leat__bundle_field *field) {
    for (int i = 0; i < field->ndim; i++)
        if (field->shape[i] < 0) return false;
    return true;
}

static size_t axes_bytes(const leat__bundle_field *field, int n) {
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (!leat__bundle_fixed(&field[i])) bytes += (size_t)field[i].ndim * AXIS;
    return bytes;
}

bool leat__bundle_lay_out(const leat__bundle_field *field, int n, leat__bundle_part *part, size_t *bytes) {
    size_t at = axes_bytes(field, n);
    for (int i = 0; i < n; i++) {
        size_t size = leat_dtype_size(field[i].dtype);
        for (int k = 0; k < field[i].ndim; k++) {
            const int64_t axis = part[i].shape[k];
            if (axis < 0 || (field[i].shape[k] >= 0 && field[i].shape[k] != axis) ||
                !leat__mul_size(size, (size_t)axis, &size))
                return false;
        }
        if (at > SIZE_MAX - SMALL) return false;
        at = LEAT_ALIGN_UP(at, size < SMALL ? (size_t)AXIS : (size_t)SMALL);
        part[i].offset = at;
        part[i].bytes = size;
        if (!leat__add_size(at, size, &at)) return false;
    }
    *bytes = at;
    return true;
}

void leat__bundle_begin(const leat__bundle_field *field, int n, const leat__bundle_part *part,
                        uint8_t *bytes) {
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (leat__bundle_fixed(&field[i])) continue;
        memcpy(bytes + at, part[i].shape, (size_t)field[i].ndim * AXIS);
        at += (size_t)field[i].ndim * AXIS;
    }
    for (int i = 0; i < n; i++) {
        memset(bytes + at, 0, part[i].offset - at);
        at = part[i].offset + part[i].bytes;
    }
}

bool leat__bundle_open(const leat__bundle_field *field, int n, const uint8_t *bytes, size_t n_bytes,
                       leat__bundle_part *part) {
    size_t at = 0, whole;
    if (axes_bytes(field, n) > n_bytes) return false;
    for (int i = 0; i < n; i++) {
        const size_t axes = (size_t)field[i].ndim * AXIS;
        if (leat__bundle_fixed(&field[i])) {
            memcpy(part[i].shape, field[i].shape, axes);
        } else {
            memcpy(part[i].shape, bytes + at, axes);
            at += axes;
        }
    }
    return leat__bundle_lay_out(field, n, part, &whole) && whole == n_bytes;
}
