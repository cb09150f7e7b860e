/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/pass/convert.h"
#include "image/pass/pass.h"

static const size_t size_of[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1};

static void one(void *dst, int to, const void *src, int from) {
    assert_int_equal(leat__convert(dst, to, src, from, 1, false, 0, 0), 0);
}

static double from_f32(int to, float x) {
    double wide;
    uint64_t raw = 0;
    one(&raw, to, &x, LEAT_DTYPE_F32);
    one(&wide, LEAT_DTYPE_F64, &raw, to);
    return wide;
}

static void test_float_to_int(void **state) {
    (void)state;
    assert_true(from_f32(LEAT_DTYPE_U8, 254.99f) == 254);
    assert_true(from_f32(LEAT_DTYPE_U8, 256) == 255);
    assert_true(from_f32(LEAT_DTYPE_U8, -0.5f) == 0);
    assert_true(from_f32(LEAT_DTYPE_U8, NAN) == 0);
    assert_true(from_f32(LEAT_DTYPE_I8, -129) == -128);
    assert_true(from_f32(LEAT_DTYPE_I8, -1.9f) == -1);
    assert_true(from_f32(LEAT_DTYPE_I16, 1e9f) == 32767);
    assert_true(from_f32(LEAT_DTYPE_U32, 4294967296.0f) == 4294967295.0);
    assert_true(from_f32(LEAT_DTYPE_I32, -INFINITY) == -2147483648.0);
    assert_true(from_f32(LEAT_DTYPE_I64, 1e30f) == 0x1p63);
    assert_true(from_f32(LEAT_DTYPE_I64, NAN) == 0);
    assert_true(from_f32(LEAT_DTYPE_U64, 1e30f) == 0x1p64);
    assert_true(from_f32(LEAT_DTYPE_U64, -3) == 0);
    assert_true(from_f32(LEAT_DTYPE_BOOL, 0.25f) == 1);
    assert_true(from_f32(LEAT_DTYPE_BOOL, NAN) == 1);
    assert_true(from_f32(LEAT_DTYPE_BOOL, -0.0f) == 0);
}

static void test_int_to_int(void **state) {
    int64_t i64;
    uint64_t u64;
    uint8_t u8;
    int8_t i8;
    int32_t i32;
    (void)state;
    i64 = -5, one(&u8, LEAT_DTYPE_U8, &i64, LEAT_DTYPE_I64), assert_int_equal(u8, 0);
    i64 = 300, one(&u8, LEAT_DTYPE_U8, &i64, LEAT_DTYPE_I64), assert_int_equal(u8, 255);
    i64 = -5, one(&u64, LEAT_DTYPE_U64, &i64, LEAT_DTYPE_I64), assert_true(u64 == 0);
    u64 = UINT64_MAX, one(&i64, LEAT_DTYPE_I64, &u64, LEAT_DTYPE_U64), assert_true(i64 == INT64_MAX);
    u64 = UINT64_MAX, one(&i8, LEAT_DTYPE_I8, &u64, LEAT_DTYPE_U64), assert_int_equal(i8, 127);
    u8 = 200, one(&i8, LEAT_DTYPE_I8, &u8, LEAT_DTYPE_U8), assert_int_equal(i8, 127);
    i64 = INT64_MIN, one(&i32, LEAT_DTYPE_I32, &i64, LEAT_DTYPE_I64), assert_int_equal(i32, INT32_MIN);
    i64 = 256, one(&u8, LEAT_DTYPE_BOOL, &i64, LEAT_DTYPE_I64), assert_int_equal(u8, 1);
    u8 = 7, one(&i32, LEAT_DTYPE_I32, &u8, LEAT_DTYPE_BOOL), assert_int_equal(i32, 1);
}

/* All 65,536 patterns come back from wider types; between two neighbours the nearer wins, ties go to even. */
static void check_narrow(int dtype, unsigned infinity) {
    for (unsigned bits = 0; bits < 65536; bits++) {
        const uint16_t h = (uint16_t)bits;
        uint16_t back;
        double x;
        float f;
        one(&x, LEAT_DTYPE_F64, &h, dtype);
        one(&f, LEAT_DTYPE_F32, &h, dtype);
        if ((bits & 0x7fff) > infinity) {
            assert_true(isnan(x) && isnan(f));
            one(&back, dtype, &x, LEAT_DTYPE_F64);
            assert_true((back & 0x7fff) > infinity);
            continue;
        }
        assert_true(x == (double)f);
        one(&back, dtype, &x, LEAT_DTYPE_F64);
        assert_int_equal(back, h);
        one(&back, dtype, &f, LEAT_DTYPE_F32);
        assert_int_equal(back, h);
        if ((bits & 0x7fff) >= infinity) continue;
        const uint16_t up = (uint16_t)(h + 1); /* away from zero */
        double y;
        one(&y, LEAT_DTYPE_F64, &up, dtype);
        if (isinf(y)) continue;
        const double middle = x + (y - x) / 2; /* exact */
        one(&back, dtype, &middle, LEAT_DTYPE_F64);
        assert_int_equal(back, h & 1 ? up : h);
        double near = nextafter(middle, x);
        one(&back, dtype, &near, LEAT_DTYPE_F64);
        assert_int_equal(back, h);
        near = nextafter(middle, y);
        one(&back, dtype, &near, LEAT_DTYPE_F64);
        assert_int_equal(back, up);
    }
}

static void test_narrow(void **state) {
    (void)state;
    check_narrow(LEAT_DTYPE_F16, 0x7c00);
    check_narrow(LEAT_DTYPE_BF16, 0x7f80);
    uint16_t h;
    double x = 65519.999;
    one(&h, LEAT_DTYPE_F16, &x, LEAT_DTYPE_F64), assert_int_equal(h, 0x7bff);
    x = 65520;
    one(&h, LEAT_DTYPE_F16, &x, LEAT_DTYPE_F64), assert_int_equal(h, 0x7c00);
    x = -1e300;
    one(&h, LEAT_DTYPE_BF16, &x, LEAT_DTYPE_F64), assert_int_equal(h, 0xff80);
    /* Just above the middle of two bf16 values, by less than a double can show: one rounding, not two. */
    uint64_t u = ((uint64_t)0x101 << 55) + 1;
    one(&h, LEAT_DTYPE_BF16, &u, LEAT_DTYPE_U64), assert_int_equal(h, 0x5f01);
    u--;
    one(&h, LEAT_DTYPE_BF16, &u, LEAT_DTYPE_U64), assert_int_equal(h, 0x5f00);
    int64_t i = -(int64_t)(((uint64_t)0x101 << 54) + 1);
    one(&h, LEAT_DTYPE_BF16, &i, LEAT_DTYPE_I64), assert_int_equal(h, 0xde81);
}

static void test_affine(void **state) {
    uint8_t bytes[256];
    float got[256], stage[256];
    leat__image_dsp dsp;
    leat__pass_scratch scratch = {0};
    leat_error err;
    (void)state;
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    leat__pass pass = {.height = 1, .width = 256, .dtype = LEAT_DTYPE_F32};
    leat__rows rows = {
        .height = 1, .width = 256, .channels = 1, .dtype = LEAT_DTYPE_U8, .data = bytes, .stride = 256};
    leat__pass_add_scale(&pass, (float)(1 / 127.5), -1.0f);
    leat__image_dsp_init(&dsp, 0);
    assert_int_equal(leat__pass_run(&pass, &dsp, &rows, stage, &scratch, &err), 0);
    leat__pass_scratch_free(&scratch);
    assert_int_equal(leat__convert(got, LEAT_DTYPE_F32, bytes, LEAT_DTYPE_U8, 256, true, 1 / 127.5, -1), 0);
    assert_memory_equal(got, stage, sizeof got);

    const int32_t wide = 16777217; /* needs more than a float */
    double d;
    assert_int_equal(leat__convert(&d, LEAT_DTYPE_F64, &wide, LEAT_DTYPE_I32, 1, true, 2, 1), 0);
    assert_true(d == 33554435.0);
    int32_t i32;
    assert_int_equal(leat__convert(&i32, LEAT_DTYPE_I32, &wide, LEAT_DTYPE_I32, 1, true, 2, 1), 0);
    assert_int_equal(i32, 33554435);
    const float f = 3.75f;
    assert_int_equal(leat__convert(bytes, LEAT_DTYPE_U8, &f, LEAT_DTYPE_F32, 1, true, 100, 0.5), 0);
    assert_int_equal(bytes[0], 255);
}

/* Any pair of types, any number of values, odd addresses, nothing written past the end. */
static void test_pairs(void **state) {
    uint8_t src[8 * 600 + 1], dst[8 * 600 + 9], all[8 * 600 + 9];
    (void)state;
    for (int from = 0; from < LEAT_DTYPE_BYTES; from++)
        for (int to = 0; to < LEAT_DTYPE_BYTES; to++) {
            for (size_t i = 0; i < sizeof src; i++) src[i] = (uint8_t)(i * 131 + i / 7);
            const size_t n = 513, bytes = n * size_of[to];
            memset(dst, 0xa5, sizeof dst);
            assert_int_equal(leat__convert(dst + 1, to, src + 1, from, n, (from + to) & 1, 0.5, 3), 0);
            assert_int_equal(dst[0], 0xa5);
            assert_int_equal(dst[1 + bytes], 0xa5);
            for (size_t i = 0; i < n; i++) /* one by one is the same */
                assert_int_equal(leat__convert(all + 1 + i * size_of[to], to, src + 1 + i * size_of[from],
                                               from, 1, (from + to) & 1, 0.5, 3),
                                 0);
            assert_memory_equal(dst + 1, all + 1, bytes);
        }
    assert_int_equal(leat__convert(dst, LEAT_DTYPE_BYTES, src, 0, 1, false, 0, 0), LEAT_ERR_TYPE);
    assert_int_equal(leat__convert(dst, 0, src, LEAT_DTYPE_COUNT, 1, false, 0, 0), LEAT_ERR_TYPE);
    assert_int_equal(leat__convert(dst, -1, src, 0, 1, false, 0, 0), LEAT_ERR_TYPE);
    assert_int_equal(leat__convert(NULL, 0, NULL, 0, 0, false, 0, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_to_int), cmocka_unit_test(test_int_to_int), cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_affine),       cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
