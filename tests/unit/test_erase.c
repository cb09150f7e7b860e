/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Holes in pictures of every type and layout: what is inside, and that nothing else changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/pass/convert.h"
#include "image/pass/erase.h"
#include "image/pass/point.h"

enum { HEIGHT = 19, WIDTH = 23, CHANNELS = 3, N = HEIGHT * WIDTH * CHANNELS };

static const int types[] = {LEAT_DTYPE_U8, LEAT_DTYPE_F32, LEAT_DTYPE_F16, LEAT_DTYPE_BF16};
static uint8_t picture[N * 4], before[N * 4];

static size_t offset(bool nchw, int y, int x, int c) {
    return (size_t)(nchw ? (c * HEIGHT + y) * WIDTH + x : (y * WIDTH + x) * CHANNELS + c);
}

/* The value at a place, as the type stores x. */
static bool holds(int dtype, size_t at, float x) {
    switch (dtype) {
    case LEAT_DTYPE_U8: return picture[at] == leat__u8_from_f32(x);
    case LEAT_DTYPE_F16: return ((uint16_t *)(void *)picture)[at] == leat__half_from_f32(x);
    case LEAT_DTYPE_BF16: return ((uint16_t *)(void *)picture)[at] == leat__bf16_from_f32(x);
    default: return ((float *)(void *)picture)[at] == x;
    }
}

static void test_values(void **state) {
    (void)state;
    const leat__erasure hole = {.x = 5, .y = 2, .width = 11, .height = 17, .fill = {1.25f, 200, 77.5f}};
    for (size_t t = 0; t < LEAT_COUNT(types); t++)
        for (int nchw = 0; nchw < 2; nchw++) {
            const size_t item = leat_dtype_size(types[t]);
            for (size_t i = 0; i < sizeof picture; i++) picture[i] = before[i] = (uint8_t)(i * 7);
            leat__erase(picture, types[t], nchw, HEIGHT, WIDTH, CHANNELS, &hole);
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++)
                    for (int c = 0; c < CHANNELS; c++) {
                        const size_t at = offset(nchw, y, x, c);
                        const bool inside = x >= 5 && x < 16 && y >= 2 && y < 19;
                        if (inside) assert_true(holds(types[t], at, hole.fill[c]));
                        else assert_memory_equal(picture + at * item, before + at * item, item);
                    }
            assert_memory_equal(picture + N * item, before + N * item, sizeof picture - N * item);
        }
}

static void test_noise(void **state) {
    (void)state;
    leat__erasure hole = {.x = 0,
                          .y = 1,
                          .width = WIDTH,
                          .height = 18,
                          .noise = true,
                          .spread = 2,
                          .low = -5,
                          .high = 4,
                          .key = 99};
    static float first[N], second[N];
    leat__erase(first, LEAT_DTYPE_F32, false, HEIGHT, WIDTH, CHANNELS, &hole);
    leat__erase(second, LEAT_DTYPE_F32, true, HEIGHT, WIDTH, CHANNELS, &hole);
    double sum = 0, squares = 0;
    int n = 0, low = 0, high = 0;
    for (int y = 1; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < CHANNELS; c++, n++) {
                const float value = first[offset(false, y, x, c)];
                assert_true(value == second[offset(true, y, x, c)]); /* planes get the same */
                assert_true(value >= -5 && value <= 4);
                low += value == -5, high += value == 4;
                sum += (double)value, squares += (double)value * (double)value;
            }
    assert_true(fabs(sum / n) < 0.2 && fabs(sqrt(squares / n) - 1.95) < 0.15 && low > 0 && high > 0);
    hole.key = 100;
    leat__erase(second, LEAT_DTYPE_F32, false, HEIGHT, WIDTH, CHANNELS, &hole);
    assert_memory_not_equal(first, second, sizeof first);
}

/* Nothing at all, one pixel, and more channels than there are numbers. */
static void test_edges(void **state) {
    (void)state;
    leat__erasure hole = {.x = 3, .y = 3, .fill = {9}};
    memset(picture, 1, sizeof picture);
    memset(before, 1, sizeof before);
    leat__erase(picture, LEAT_DTYPE_U8, false, HEIGHT, WIDTH, CHANNELS, &hole);
    assert_memory_equal(picture, before, sizeof before);
    hole = (leat__erasure){.width = 1, .height = 1, .fill = {9, 1, 1, 1}};
    leat__erase(picture, LEAT_DTYPE_U8, false, 1, 1, 7, &hole);
    for (int i = 0; i < 8; i++) assert_int_equal(picture[i], i < 7 ? 9 : 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
