/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
#include "base/macros.h"
#include "format/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void check(const char *dict, int dtype, int ndim, const int64_t *shape) {
    char out[LEAT_NPY_HEADER_MAX];
    memset(out, '#', sizeof out);
    const size_t n = leat__npy_header(out, sizeof out, dtype, ndim, shape);
    assert_int_not_equal(n, 0);
    assert_int_equal(n % 64, 0);
    assert_memory_equal(out, "\x93NUMPY\x01\x00", 8);
    assert_int_equal(leat__load_u16(out + 8), n - 10);
    assert_memory_equal(out + 10, dict, strlen(dict));
    for (size_t i = 10 + strlen(dict); i < n - 1; i++) assert_int_equal(out[i], ' ');
    assert_int_equal(out[n - 1], '\n');
    for (size_t i = n; i < sizeof out; i++) assert_int_equal(out[i], '#');
    /* Exactly enough is enough, and one byte less is not. */
    assert_int_equal(leat__npy_header(out, n, dtype, ndim, shape), n);
    assert_int_equal(leat__npy_header(out, n - 1, dtype, ndim, shape), 0);
}

static void headers(void **state) {
    (void)state;
    const int64_t image[] = {64, 224, 224, 3};
    const int64_t most[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    check("{'descr': '<f4', 'fortran_order': False, 'shape': (64, 224, 224, 3), }", LEAT_DTYPE_F32, 4, image);
    check("{'descr': '|u1', 'fortran_order': False, 'shape': (64,), }", LEAT_DTYPE_U8, 1, image);
    check("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", LEAT_DTYPE_I64, 0, NULL);
    check("{'descr': '<V2', 'fortran_order': False, 'shape': (64, 224), }", LEAT_DTYPE_BF16, 2, image);
    check("{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }", LEAT_DTYPE_BOOL, 1, (int64_t[]){0});
    check("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807, "
          "9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807), }",
          LEAT_DTYPE_F64, 6, most);
}

static void every_dtype(void **state) {
    (void)state;
    const int64_t shape[] = {7};
    for (int dtype = 0; dtype < LEAT_DTYPE_COUNT; dtype++) {
        char out[LEAT_NPY_HEADER_MAX];
        const size_t n = leat__npy_header(out, sizeof out, dtype, 1, shape);
        if (dtype == LEAT_DTYPE_BYTES) assert_int_equal(n, 0);
        else assert_int_equal(n, 128);
    }
}

static void refusals(void **state) {
    (void)state;
    char out[LEAT_NPY_HEADER_MAX];
    const int64_t shape[] = {1, -1, 1, 1, 1, 1, 1};
    assert_int_equal(leat__npy_header(out, sizeof out, LEAT_DTYPE_F32, 2, shape), 0);
    assert_int_equal(leat__npy_header(out, sizeof out, LEAT_DTYPE_F32, -1, shape), 0);
    assert_int_equal(leat__npy_header(out, sizeof out, LEAT_DTYPE_F32, LEAT_NDIM_MAX + 1, shape), 0);
    assert_int_equal(leat__npy_header(out, sizeof out, -1, 1, shape), 0);
    assert_int_equal(leat__npy_header(out, sizeof out, LEAT_DTYPE_COUNT, 1, shape), 0);
    assert_int_equal(leat__npy_header(NULL, 0, LEAT_DTYPE_F32, 1, shape), 0);
}

/* ------------------------------------------------------------------------------------------- reading */

static int read_text(leat__npy *out, const char *dict, int version) {
    uint8_t bytes[600] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version};
    const size_t n = strlen(dict), prefix = version == 1 ? 10 : 12;
    if (version == 1) leat__store_u16(bytes + 8, (uint16_t)n);
    else leat__store_u32(bytes + 8, (uint32_t)n);
    memcpy(bytes + prefix, dict, n);
    leat_error err;
    const int rc = leat__npy_read_header(out, bytes, prefix + n, &err);
    if (rc < 0) assert_true(strncmp(err.message, "npy: ", 5) == 0);
    else assert_int_equal(out->header, prefix + n);
    /* A file that ends inside of its header is none, wherever it ends. */
    for (size_t cut = 0; cut < prefix + n; cut++)
        assert_int_equal(leat__npy_read_header(&(leat__npy){0}, bytes, cut, &err), LEAT_ERR_FORMAT);
    return rc;
}

static void what_was_written_is_read(void **state) {
    (void)state;
    const int64_t shape[] = {3, 5, 7, 2, 4, 6};
    for (int dtype = 0; dtype < LEAT_DTYPE_BYTES; dtype++)
        for (int ndim = 0; ndim <= LEAT_NDIM_MAX; ndim++) {
            char text[LEAT_NPY_HEADER_MAX];
            leat__npy npy;
            const size_t n = leat__npy_header(text, sizeof text, dtype, ndim, shape);
            assert_int_equal(leat__npy_read_header(&npy, text, n, NULL), 0);
            assert_int_equal(npy.dtype, dtype);
            assert_int_equal(npy.ndim, ndim);
            assert_int_equal(npy.header, n);
            assert_int_equal(npy.fortran, 0);
            if (ndim) assert_memory_equal(npy.shape, shape, (size_t)ndim * sizeof *shape);
            size_t count = 1;
            for (int i = 0; i < ndim; i++) count *= (size_t)shape[i];
            assert_int_equal(npy.count, count);
            assert_int_equal(npy.data_bytes, count * leat_dtype_size(dtype));
        }
}

static void other_spellings(void **state) {
    (void)state;
    leat__npy npy;
    assert_int_equal(read_text(&npy, "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"|V2\"}   \n", 1),
                     0);
    assert_int_equal(npy.dtype, LEAT_DTYPE_BF16);
    assert_int_equal(npy.fortran, 1);
    assert_int_equal(npy.count, 6);
    assert_int_equal(read_text(&npy, "{'descr': '<u1', 'fortran_order': False, 'shape': (9L,), }\n", 2), 0);
    assert_int_equal(npy.dtype, LEAT_DTYPE_U8);
    assert_int_equal(npy.shape[0], 9);
    assert_int_equal(read_text(&npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4)}", 3), 0);
    assert_int_equal(npy.count, 0);
}

static void what_is_not_read(void **state) {
    (void)state;
    static const struct {
        const char *dict;
        int code;
    } wrong[] = {
        {"", LEAT_ERR_FORMAT},
        {"[]", LEAT_ERR_FORMAT},
        {"{}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'shape': (3,)}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,,)}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", LEAT_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4", LEAT_ERR_FORMAT},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (3, 4)}", LEAT_ERR_FORMAT},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", LEAT_ERR_TYPE},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", LEAT_ERR_TYPE},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", LEAT_ERR_TYPE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1)}", LEAT_ERR_LIMIT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", LEAT_ERR_LIMIT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", LEAT_ERR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693951,)}", LEAT_ERR_LIMIT},
    };
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        leat__npy npy;
        assert_int_equal(read_text(&npy, wrong[i].dict, 1), wrong[i].code);
        assert_int_equal(read_text(&npy, wrong[i].dict, 2), wrong[i].code);
    }
    assert_int_equal(leat__npy_read_header(&(leat__npy){0},
                                           "\x93NUMPY\x04\x00"
                                           "abcdefgh",
                                           16, NULL),
                     LEAT_ERR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),         cmocka_unit_test(every_dtype),
        cmocka_unit_test(refusals),        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(other_spellings), cmocka_unit_test(what_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
