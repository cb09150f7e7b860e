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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
