/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Pillow's operations against naive code that does what Pillow does, one pixel at a time; the real Pillow is
 * in tests/golden/make/augment.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/colour/enhance.h"
#include "image/warp/pil_affine.h"

enum { SIDE = 40, BYTES = SIDE * SIDE * 3, GUARD = 64 };

static uint32_t random_state = 1;
static uint8_t in[BYTES], made[GUARD + BYTES + GUARD], expected[BYTES];

static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void fill_picture(void) {
    for (int i = 0; i < BYTES; i++) in[i] = (uint8_t)random_below(256);
    memset(made, 0xa5, sizeof made);
}

static void check_made(size_t n, const char *what, double number) {
    for (size_t i = 0; i < GUARD; i++)
        if (made[i] != 0xa5 || made[GUARD + n + i] != 0xa5) fail_msg("%s %g: written outside", what, number);
    for (size_t i = 0; i < n; i++)
        if (made[GUARD + i] != expected[i])
            fail_msg("%s %g: value %zu is %d, not %d", what, number, i, made[GUARD + i], expected[i]);
}

/* ---------------------------------------------------------------------------------------------- affine */

static void naive_pixel(uint8_t *out, int height, int width, int channels, double u, double v,
                        const uint8_t *fill) {
    const int x = u < 0 ? -1 : (int)u, y = v < 0 ? -1 : (int)v;
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    memcpy(out, inside ? in + (y * width + x) * channels : fill, (size_t)channels);
}

static void naive_fixed(int height, int width, int channels, const double m[6], const uint8_t *fill) {
    int64_t a[6];
    for (int i = 0; i < 6; i++) {
        double v = m[i];
        if (i == 2) v = m[2] + m[0] * 0.5 + m[1] * 0.5;
        if (i == 5) v = m[5] + m[3] * 0.5 + m[4] * 0.5;
        a[i] = (int64_t)floor(v * 65536.0 + 0.5);
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            naive_pixel(expected + (y * width + x) * channels, height, width, channels,
                        (double)((a[2] + a[0] * x + a[1] * y) >> 16),
                        (double)((a[5] + a[3] * x + a[4] * y) >> 16), fill);
}

static void naive_bilinear(int height, int width, int channels, const double m[6], const uint8_t *fill) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint8_t *out = expected + (y * width + x) * channels;
            double u = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2],
                   v = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
            if (u < 0 || u >= width || v < 0 || v >= height) {
                memcpy(out, fill, (size_t)channels);
                continue;
            }
            u -= 0.5, v -= 0.5;
            const int i = (int)floor(u), j = (int)floor(v);
            const int left = LEAT_MAX(i, 0), right = LEAT_MIN(i + 1, width - 1);
            const int top = LEAT_MAX(j, 0), bottom = j + 1 < height ? j + 1 : top;
            for (int c = 0; c < channels; c++) {
                double row[2];
                for (int k = 0; k < 2; k++) {
                    const uint8_t *line = in + (k ? bottom : top) * width * channels + c;
                    row[k] =
                        line[left * channels] + (line[right * channels] - line[left * channels]) * (u - i);
                }
                out[c] = (uint8_t)(row[0] + (row[1] - row[0]) * (v - j));
            }
        }
}

static void test_affine(void **state) {
    (void)state;
    const uint8_t fill[3] = {7, 200, 90};
    for (int round = 0; round < 1200; round++) {
        leat__image_dsp dsp;
        leat__image_dsp_init(&dsp, round % 2 ? leat__cpu_flags() : 0);
        const int height = 1 + (int)random_below(SIDE), width = 1 + (int)random_below(SIDE);
        const int channels = random_below(2) ? 3 : 1;
        double m[6];
        for (int i = 0; i < 6; i++) m[i] = ((int)random_below(4001) - 2000) / 1000.0 * (i % 3 == 2 ? 20 : 1);
        if (random_below(4) == 0) m[0] = m[3] = 0;
        if (random_below(3) == 0) { /* a small turn, as augmentation draws them */
            m[0] = m[4] = 0.9, m[1] = 0.3, m[3] = -0.3, m[2] = random_below(90) / 10.0 - 4;
            m[5] = random_below(90) / 10.0 - 4;
        }
        fill_picture();
        naive_fixed(height, width, channels, m, fill);
        if (m[1] == 0 && m[3] == 0) continue;
        leat__pil_affine(&dsp, made + GUARD, in, height, width, channels, m, false, fill);
        check_made((size_t)(height * width * channels), "nearest", round);
        naive_bilinear(height, width, channels, m, fill);
        leat__pil_affine(&dsp, made + GUARD, in, height, width, channels, m, true, fill);
        check_made((size_t)(height * width * channels), "bilinear", round);
    }
}

/* Moves are exact, also beyond the picture; and what is far outside of 16 bits is fill. */
static void test_moves(void **state) {
    (void)state;
    leat__image_dsp dsp;
    leat__image_dsp_init(&dsp, leat__cpu_flags());
    const uint8_t fill[3] = {1, 2, 3};
    for (int round = 0; round < 200; round++) {
        const int height = 1 + (int)random_below(SIDE), width = 1 + (int)random_below(SIDE);
        const int right = (int)random_below(2 * SIDE) - SIDE, down = (int)random_below(2 * SIDE) - SIDE;
        const double m[6] = {1, 0, -right, 0, 1, -down};
        fill_picture();
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                naive_pixel(expected + (y * width + x) * 3, height, width, 3, x - right, y - down, fill);
        leat__pil_affine(&dsp, made + GUARD, in, height, width, 3, m, false, fill);
        check_made((size_t)(height * width * 3), "move", round);
    }
    const double far[2][6] = {{1, 0.5, 1e6, 0.25, 1, -1e6}, {0.5, 0, 1e18, 0, 0.5, 0}};
    for (int i = 0; i < 2; i++) {
        fill_picture();
        for (int k = 0; k < BYTES; k++) expected[k] = fill[k % 3];
        leat__pil_affine(&dsp, made + GUARD, in, SIDE, SIDE, 3, far[i], false, fill);
        check_made(BYTES, "far", i);
    }
}

static void test_quarters(void **state) {
    (void)state;
    leat__image_dsp dsp;
    leat__image_dsp_init(&dsp, leat__cpu_flags());
    const uint8_t fill[3] = {0};
    static const int turns[6][5] = {{90, 0, 1, 1, 0},   {-90, 0, 1, 0, 1}, {180, 1, 0, 1, 1},
                                    {-180, 1, 0, 1, 1}, {270, 0, 1, 0, 1}, {0, 1, 0, 0, 0}};
    for (int t = 0; t < 6; t++)
        for (int bilinear = 0; bilinear < 2; bilinear++) {
            const int n = SIDE;
            fill_picture();
            for (int y = 0; y < n; y++)
                for (int x = 0; x < n; x++) { /* where the pixel comes from: along x or y, from which end */
                    int u = turns[t][1] ? x : y, v = turns[t][1] ? y : x;
                    if (turns[t][3]) u = n - 1 - u;
                    if (turns[t][4]) v = n - 1 - v;
                    memcpy(expected + (y * n + x) * 3, in + (v * n + u) * 3, 3);
                }
            leat__pil_rotate(&dsp, made + GUARD, in, n, n, 3, turns[t][0], bilinear, fill);
            check_made(BYTES, "quarter", turns[t][0]);
        }
}

/* -------------------------------------------------------------------------------------------- sharpness */

static void test_sharpness(void **state) {
    (void)state;
    static const float factors[] = {0, 0.3f, 1, 1.9f, 7, -2};
    for (int round = 0; round < 120; round++) {
        const int height = 1 + (int)random_below(SIDE), width = 1 + (int)random_below(20);
        const int channels = 1 + (int)random_below(4);
        const float factor = factors[round % 6];
        const bool alpha = channels == 2 || channels == 4;
        fill_picture();
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                for (int c = 0; c < channels; c++) {
                    const int at = (y * width + x) * channels + c;
                    float smooth = in[at];
                    if (y > 0 && y < height - 1 && x > 0 && x < width - 1) {
                        float sum = 0.5f;
                        for (int k = 0; k < 9; k++)
                            sum += (float)in[at + ((k / 3 - 1) * width + k % 3 - 1) * channels] *
                                   (k == 4 ? 5.0f / 13 : 1.0f / 13);
                        smooth = (float)(int)sum;
                    }
                    const float x1 = smooth + factor * ((float)in[at] - smooth);
                    expected[at] = alpha && c == channels - 1 ? in[at]
                                                              : (uint8_t)(x1 <= 0     ? 0
                                                                          : x1 >= 255 ? 255
                                                                                      : (int)x1);
                }
        leat__enhance_sharpness(made + GUARD, in, height, width, channels, factor);
        check_made((size_t)(height * width * channels), "sharpness", (double)factor);
    }
}

/* Every operation writes all of its picture and nothing else, is the same for every instruction set, and
 * leaves the picture alone where its magnitude says so. */
static void test_operations(void **state) {
    (void)state;
    static const double rest[LEAT_ENHANCE_OPS] = {[LEAT_ENHANCE_POSTERIZE] = 8,
                                                  [LEAT_ENHANCE_SOLARIZE] = 256,
                                                  [LEAT_ENHANCE_AUTOCONTRAST] = -1,
                                                  [LEAT_ENHANCE_EQUALIZE] = -1,
                                                  [LEAT_ENHANCE_INVERT] = -1};
    leat__image_dsp plain, here;
    leat__image_dsp_init(&plain, 0);
    leat__image_dsp_init(&here, leat__cpu_flags());
    for (int round = 0; round < 400; round++) {
        const leat__enhance_op op = (leat__enhance_op)(round % LEAT_ENHANCE_OPS);
        leat__enhance how = {.dsp = &plain,
                             .height = 1 + (int)random_below(SIDE),
                             .width = 1 + (int)random_below(SIDE),
                             .channels = random_below(2) ? 3 : 1,
                             .bilinear = random_below(2),
                             .fill = {9, 99, 199}};
        const size_t n = (size_t)(how.height * how.width * how.channels);
        const double magnitude = (int)random_below(2000) / 1000.0 - 1;
        assert_true(strlen(leat__enhance_name(op)) > 3);
        fill_picture();
        if (rest[op] >= 0) {
            memcpy(expected, in, n);
            leat__enhance_run(&how, made + GUARD, in, op, rest[op]);
            check_made(n, leat__enhance_name(op), rest[op]);
        }
        leat__enhance_run(&how, expected, in, op, magnitude);
        how.dsp = &here;
        leat__enhance_run(&how, made + GUARD, in, op, magnitude);
        check_made(n, leat__enhance_name(op), magnitude);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine),    cmocka_unit_test(test_moves),      cmocka_unit_test(test_quarters),
        cmocka_unit_test(test_sharpness), cmocka_unit_test(test_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
