/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Through JPEG and back; TensorFlow's own pixels are in tests/golden/make/filter.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decode/jpeg/reencode.h"

enum { SIDE = 200, BYTES = SIDE * SIDE * 3, GUARD = 64 };

static leat__buf scratch;
static uint8_t in[BYTES], made[GUARD + BYTES + GUARD], again[BYTES];

static void paint(bool noisy) {
    uint32_t random = 1;
    for (int i = 0; i < BYTES; i++) {
        random = random * 1664525u + 1013904223u;
        const int x = i / 3 % SIDE, y = i / 3 / SIDE;
        in[i] = (uint8_t)(noisy ? random >> 24 : (unsigned)(x + y + 40 * (i % 3)) / 2);
    }
    memset(made, 0xa5, sizeof made);
}

static double distance(size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)made[GUARD + i] - in[i];
        sum += d * d;
    }
    return sum / (double)n;
}

static void test_quality(void **state) {
    (void)state;
    leat_error err = {0};
    leat__decoder *decoder = leat__decoder_new(&err);
    static const int sizes[][2] = {{1, 1}, {1, 37}, {16, 8}, {33, 61}, {SIDE, SIDE}};
    for (size_t s = 0; s < LEAT_COUNT(sizes); s++)
        for (int channels = 1; channels <= 3; channels += 2) {
            const int height = sizes[s][0], width = sizes[s][1];
            const size_t n = (size_t)(height * width * channels);
            paint(false);
            assert_int_equal(leat__reencode_jpeg(decoder, &scratch, made + GUARD, in, height, width, channels,
                                                 98, false, &err),
                             0);
            const double fine = distance(n);
            assert_true(fine < 20);
            assert_int_equal(leat__reencode_jpeg(decoder, &scratch, made + GUARD, in, height, width, channels,
                                                 5, false, &err),
                             0);
            assert_true(distance(n) >= fine);
            for (int i = 0; i < GUARD; i++)
                assert_true(made[i] == 0xa5 && made[GUARD + n + (size_t)i] == 0xa5);
            memcpy(again, in, n); /* in place */
            assert_int_equal(
                leat__reencode_jpeg(decoder, &scratch, again, again, height, width, channels, 5, false, &err),
                0);
            assert_memory_equal(again, made + GUARD, n);
        }
    leat__decoder_free(&decoder);
}

/* What a picture becomes does not depend on the one before it, and from the second on nothing is allocated.
 * */
static void test_memory(void **state) {
    (void)state;
    leat_error err = {0};
    leat__decoder *decoder = leat__decoder_new(&err);
    paint(true);
    assert_int_equal(
        leat__reencode_jpeg(decoder, &scratch, made + GUARD, in, SIDE, SIDE, 3, 100, false, &err), 0);
    assert_int_equal(leat__reencode_jpeg(decoder, &scratch, made + GUARD, in, 20, 20, 1, 10, true, &err), 0);
    leat__mem_fail_at(0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            leat__reencode_jpeg(decoder, &scratch, again, in, SIDE, SIDE, 3, 100 - 9 * i, i == 1, &err), 0);
        assert_int_equal(leat__reencode_jpeg(decoder, &scratch, again, in, 20, 20, 1, 10, true, &err), 0);
        assert_memory_equal(again, made + GUARD, 400);
    }
    assert_int_equal(leat__mem_fail_at(0), 0);
    leat__decoder_free(&decoder);
}

static void test_refusals(void **state) {
    (void)state;
    leat_error err = {0};
    leat__decoder *decoder = leat__decoder_new(&err);
    paint(true);
    assert_int_equal(leat__reencode_jpeg(decoder, &scratch, made, in, 8, 8, 2, 50, false, &err),
                     LEAT_ERR_SHAPE);
    assert_non_null(strstr(err.message, "2 channels"));
    assert_int_equal(leat__reencode_jpeg(decoder, &scratch, made, in, 8, 70000, 1, 50, false, &err),
                     LEAT_ERR_SHAPE);
    leat__decoder_free(&decoder);
    /* Any allocation may fail: a message, no leak, and a decoder that still can be freed. */
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        leat__buf_free(&scratch);
        decoder = leat__decoder_new(&err);
        leat__mem_fail_at(n);
        const int rc = leat__reencode_jpeg(decoder, &scratch, again, in, 90, 90, 3, 95, false, &err);
        done = rc == 0;
        leat__mem_fail_at(0);
        assert_true(rc == 0 || rc == LEAT_ERR_MEMORY);
        leat__decoder_free(&decoder);
    }
    leat__buf_free(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quality),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
