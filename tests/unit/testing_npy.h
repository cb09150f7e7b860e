/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of u8 in files, for tests: .npy, and .npz with one deflated member of the same bytes. After testing.h. */
#ifndef LEAT_TESTS_TESTING_NPY_H
#define LEAT_TESTS_TESTING_NPY_H

#include "format/npy.h"

static leat__buf make_npy(const void *values, int ndim, const int64_t *shape) {
    char header[LEAT_NPY_HEADER_MAX];
    leat__buf out = {.kind = LEAT_MEM_TOOL};
    size_t bytes = 1;
    for (int i = 0; i < ndim; i++) bytes *= (size_t)shape[i];
    const size_t n = leat__npy_header(header, sizeof header, LEAT_DTYPE_U8, ndim, shape);
    assert_true(n > 0 && leat__buf_append(&out, header, n) && leat__buf_append(&out, values, bytes));
    return out;
}

static void put_number(leat__buf *out, uint64_t value, int bytes) {
    uint8_t raw[8];
    leat__store_u64(raw, value);
    assert_true(leat__buf_append(out, raw, (size_t)bytes));
}

/* What a local header and an entry of the directory share: from the version on to the length of the extra field. */
static void put_member(leat__buf *out, const leat__buf *plain, const leat__buf *packed, size_t name_n) {
    put_number(out, 20, 2), put_number(out, 0, 2), put_number(out, 8, 2), put_number(out, 0, 4);
    put_number(out, crc32(0, plain->data, (uInt)plain->size), 4);
    put_number(out, packed->size, 4), put_number(out, plain->size, 4);
    put_number(out, name_n, 2), put_number(out, 0, 2);
}

/* Frees plain. */
static leat__buf make_npz(const char *member, leat__buf *plain) {
    const size_t n = strlen(member);
    leat__buf packed = deflated(plain->data, plain->size, -15), out = {.kind = LEAT_MEM_TOOL};
    put_number(&out, 0x04034b50, 4);
    put_member(&out, plain, &packed, n);
    assert_true(leat__buf_append(&out, member, n) && leat__buf_append(&out, packed.data, packed.size));
    const size_t directory = out.size;
    put_number(&out, 0x02014b50, 4), put_number(&out, 20, 2);
    put_member(&out, plain, &packed, n);
    for (int i = 0; i < 3; i++) put_number(&out, 0, 2);
    put_number(&out, 0, 4), put_number(&out, 0, 4);
    assert_true(leat__buf_append(&out, member, n));
    const size_t end = out.size;
    put_number(&out, 0x06054b50, 4), put_number(&out, 0, 4), put_number(&out, 1, 2), put_number(&out, 1, 2);
    put_number(&out, end - directory, 4), put_number(&out, directory, 4), put_number(&out, 0, 2);
    leat__buf_free(&packed);
    leat__buf_free(plain);
    return out;
}

#endif
