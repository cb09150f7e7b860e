/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Blur and sharpen against naive code that sums a window in double precision; every instruction set must give
 * the same bits. torchvision and Keras themselves are in tests/golden/make/filter.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/colour/filter2d.h"

enum { SIDE = 30, VALUES = SIDE * SIDE * 5, GUARD = 16 };

static uint32_t random_state = 1;
static uint8_t bytes[VALUES], made_bytes[GUARD + VALUES + GUARD], other_bytes[VALUES];
static float floats[VALUES], made_floats[GUARD + VALUES + GUARD], other_floats[VALUES];
static leat__image_dsp plain, here;

static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static int set_up(void **state) {
    (void)state;
    leat__image_dsp_init(&plain, 0);
    leat__image_dsp_init(&here, leat__cpu_flags());
    return 0;
}

static void fill_pictures(void) {
    for (int i = 0; i < VALUES; i++) {
        bytes[i] = (uint8_t)random_below(256);
        floats[i] = (float)random_below(100000) / 400.0f;
    }
    memset(made_bytes, 0xa5, sizeof made_bytes);
    memset(made_floats, 0xa5, sizeof made_floats);
}

static void check_guards(size_t n) {
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(made_bytes[i], 0xa5);
        assert_int_equal(made_bytes[GUARD + n + i], 0xa5);
        assert_memory_equal(&made_floats[i], "\xa5\xa5\xa5\xa5", 4);
        assert_memory_equal(&made_floats[GUARD + n + i], "\xa5\xa5\xa5\xa5", 4);
    }
}

static int fold(int i, int n, leat__edge edge) {
    if (i >= 0 && i < n) return i;
    if (edge == LEAT_EDGE_ZERO) return -1;
    return i < 0 ? -i : 2 * (n - 1) - i;
}

/* Gives the value of a window around (y, x); weights are the squares of those of one axis. */
static double naive(const leat__blur *blur, bool is_u8, int height, int width, int channels, int y, int x,
                    int c) {
    double sum = 0;
    for (int j = 0; j < blur->taps_y; j++)
        for (int i = 0; i < blur->taps_x; i++) {
            const int v = fold(y + j - blur->taps_y / 2, height, blur->edge);
            const int u = fold(x + i - blur->taps_x / 2, width, blur->edge);
            if (v < 0 || u < 0) continue;
            const int at = (v * width + u) * channels + c;
            sum += (double)blur->weight_y[j] * (double)blur->weight_x[i] *
                   (is_u8 ? (double)bytes[at] : (double)floats[at]);
        }
    return sum;
}

static void test_weights(void **state) {
    (void)state;
    for (int taps = 1; taps <= LEAT_BLUR_TAPS; taps += 2)
        for (int s = 0; s < 4; s++) {
            const double sigma = (const double[]){1e-3, 0.1, 1.7, 500}[s];
            float weight[LEAT_BLUR_TAPS];
            double sum = 0;
            leat__blur_weights(weight, taps, sigma);
            for (int i = 0; i < taps; i++) {
                sum += (double)weight[i];
                assert_true(weight[i] == weight[taps - 1 - i] && weight[i] <= weight[taps / 2]);
            }
            assert_true(fabs(sum - 1) < 1e-6);
        }
    float weight[3];
    leat__blur_weights(weight, 3, 1.0);
    assert_true(fabs((double)weight[0] - 0.27406862) < 1e-7 && fabs((double)weight[1] - 0.45186276) < 1e-7);
}

static void test_blur(void **state) {
    (void)state;
    leat__buf scratch[LEAT_FILTER_BUFS] = {0}, other[LEAT_FILTER_BUFS] = {0};
    for (int round = 0; round < 150; round++) {
        leat__blur blur = {.taps_x = 1 + 2 * (int)random_below(6),
                           .taps_y = 1 + 2 * (int)random_below(6),
                           .edge = random_below(2) ? LEAT_EDGE_ZERO : LEAT_EDGE_REFLECT};
        const int least = blur.edge == LEAT_EDGE_ZERO ? 1 : 6;
        const int height = least + (int)random_below(SIDE - 5), width = least + (int)random_below(SIDE - 5);
        const int channels = 1 + (int)random_below(5);
        const size_t n = (size_t)(height * width * channels);
        leat__blur_weights(blur.weight_x, blur.taps_x, 0.2 + random_below(40) / 10.0);
        leat__blur_weights(blur.weight_y, blur.taps_y, 0.2 + random_below(40) / 10.0);
        fill_pictures();
        assert_int_equal(leat__blur_run(&blur, &here, made_bytes + GUARD, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8,
                                        height, width, channels, scratch, NULL),
                         0);
        assert_int_equal(leat__blur_run(&blur, &here, made_floats + GUARD, LEAT_DTYPE_F32, floats,
                                        LEAT_DTYPE_F32, height, width, channels, scratch, NULL),
                         0);
        assert_int_equal(leat__blur_run(&blur, &here, other_floats, LEAT_DTYPE_F32, bytes, LEAT_DTYPE_U8,
                                        height, width, channels, scratch, NULL),
                         0);
        check_guards(n);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                for (int c = 0; c < channels; c++) {
                    const int at = GUARD + (y * width + x) * channels + c;
                    const double u8 = naive(&blur, true, height, width, channels, y, x, c);
                    const double f32 = naive(&blur, false, height, width, channels, y, x, c);
                    assert_true(fabs((double)other_floats[at - GUARD] - u8) < 2e-4); /* not rounded */
                    if (fabs(made_bytes[at] - u8) > 0.5001 || fabs((double)made_floats[at] - f32) > 2e-4)
                        fail_msg("%dx%d taps, (%d, %d, %d) of %dx%d: %d for %g, %g for %g", blur.taps_y,
                                 blur.taps_x, y, x, c, height, width, made_bytes[at], u8,
                                 (double)made_floats[at], f32);
                }
        leat__blur_run(&blur, &plain, other_bytes, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8, height, width,
                       channels, other, NULL);
        leat__blur_run(&blur, &plain, other_floats, LEAT_DTYPE_F32, floats, LEAT_DTYPE_F32, height, width,
                       channels, other, NULL);
        assert_memory_equal(other_bytes, made_bytes + GUARD, n);
        assert_memory_equal(other_floats, made_floats + GUARD, n * sizeof(float));
    }
    for (int i = 0; i < LEAT_FILTER_BUFS; i++) leat__buf_free(&scratch[i]), leat__buf_free(&other[i]);
}

/* A reflected blur of a picture that is too small is refused, with numbers. */
static void test_small(void **state) {
    (void)state;
    leat__buf scratch[LEAT_FILTER_BUFS] = {0};
    leat__blur blur = {.taps_x = 5, .taps_y = 5};
    leat_error err;
    leat__blur_weights(blur.weight_x, 5, 1);
    leat__blur_weights(blur.weight_y, 5, 1);
    fill_pictures();
    assert_int_equal(
        leat__blur_run(&blur, &here, made_bytes, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8, 2, 9, 1, scratch, &err),
        LEAT_ERR_SHAPE);
    assert_non_null(strstr(err.message, "2x9"));
    assert_int_equal(
        leat__blur_run(&blur, &here, made_bytes, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8, 3, 3, 1, scratch, &err),
        0);
    blur.edge = LEAT_EDGE_ZERO;
    assert_int_equal(
        leat__blur_run(&blur, &here, made_bytes, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8, 1, 1, 1, scratch, &err),
        0);
    for (int i = 0; i < LEAT_FILTER_BUFS; i++) leat__buf_free(&scratch[i]);
}

static void test_sharpen(void **state) {
    (void)state;
    leat__buf scratch[LEAT_FILTER_BUFS] = {0};
    leat__blur smooth = {.taps_x = 3, .taps_y = 3, .edge = LEAT_EDGE_ZERO};
    for (int i = 0; i < 3; i++) smooth.weight_x[i] = smooth.weight_y[i] = 1;
    for (int round = 0; round < 60; round++) {
        const int height = 1 + (int)random_below(SIDE), width = 1 + (int)random_below(SIDE);
        const int channels = 1 + (int)random_below(4);
        const double factor = random_below(101) / 100.0;
        const size_t n = (size_t)(height * width * channels);
        fill_pictures();
        leat__sharpen_run(factor, 0, 255, &here, made_bytes + GUARD, LEAT_DTYPE_U8, bytes, LEAT_DTYPE_U8,
                          height, width, channels, scratch, NULL);
        leat__sharpen_run(factor, 10, 200, &here, made_floats + GUARD, LEAT_DTYPE_F32, floats, LEAT_DTYPE_F32,
                          height, width, channels, scratch, NULL);
        check_guards(n);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                for (int c = 0; c < channels; c++) {
                    const int at = (y * width + x) * channels + c;
                    const double a = bytes[at], b = (double)floats[at];
                    const double u8 = (naive(&smooth, true, height, width, channels, y, x, c) + 4 * a) / 13;
                    const double f32 = (naive(&smooth, false, height, width, channels, y, x, c) + 4 * b) / 13;
                    const double wish = a + (1 - 2 * factor) * (u8 - a),
                                 wish_f32 = b + (1 - 2 * factor) * (f32 - b);
                    assert_true(fabs(made_bytes[GUARD + at] - LEAT_CLAMP(wish, 0.0, 255.0) + 0.5) < 0.5002);
                    assert_true(fabs((double)made_floats[GUARD + at] - LEAT_CLAMP(wish_f32, 10.0, 200.0)) <
                                2e-4);
                }
        leat__sharpen_run(factor, 10, 200, &plain, other_floats, LEAT_DTYPE_F32, floats, LEAT_DTYPE_F32,
                          height, width, channels, scratch, NULL);
        assert_memory_equal(other_floats, made_floats + GUARD, n * sizeof(float));
    }
    for (int i = 0; i < LEAT_FILTER_BUFS; i++) leat__buf_free(&scratch[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_blur),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_sharpen),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
