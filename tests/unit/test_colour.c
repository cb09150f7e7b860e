/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* What golden pictures cannot show of colour: that noise is normal and knows its place, that gamma is
 * right to the last bit but one, and that no change is no change. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/dsp.h"

enum { N = 3 * 60000 };
static float values[N], more[N];

static leat__image_dsp kernels(void) {
    leat__image_dsp dsp;
    leat__image_dsp_init(&dsp, leat__cpu_flags());
    return dsp;
}

static void noise_is_normal(void **state) {
    (void)state;
    const leat__image_dsp dsp = kernels();
    const leat__pixel_args args = {.p = {0.0f, 1.0f, -INFINITY, INFINITY}, .key = 77};
    double power[5] = {0}, near[4] = {0};
    int below[7] = {0};
    memset(values, 0, sizeof values);
    dsp.pixels[LEAT_PIXELS_NOISE](values, N / 3, 3, &args);
    for (int i = 0; i < N; i++) {
        const double x = (double)values[i];
        for (int k = 1; k <= 4; k++) power[k] += pow(x, k) / N;
        for (int k = 0; k < 4; k++) near[k] += x * (double)values[(i + (1 << 2 * k)) % N] / N;
        for (int k = 0; k < 7; k++) below[k] += x < k - 3;
    }
    const double sure = 5 / sqrt(N); /* five standard errors of a mean of N */
    assert_true(fabs(power[1]) < sure);
    assert_true(fabs(power[2] - 1) < sure * sqrt(2));
    assert_true(fabs(power[3]) < sure * sqrt(15));
    assert_true(fabs(power[4] - 3) < sure * sqrt(96));
    for (int k = 0; k < 4; k++) assert_true(fabs(near[k]) < sure);
    for (int k = 0; k < 7; k++) {
        const double share = 0.5 * erfc((3 - k) / sqrt(2));
        assert_true(fabs((double)below[k] / N - share) < sure * sqrt(share * (1 - share)));
    }
}

/* A picture's noise does not depend on how it is cut into runs, and differs with the key. */
static void noise_knows_its_place(void **state) {
    (void)state;
    const leat__image_dsp dsp = kernels();
    leat__pixel_args args = {.p = {0.1f, 0.2f, 0.0f, 1.0f}, .key = 5, .first = 1000};
    for (int channels = 1; channels <= 5; channels++) {
        const size_t n = 5000;
        memset(values, 0, sizeof values);
        memset(more, 0, sizeof more);
        args.first = 1000;
        dsp.pixels[LEAT_PIXELS_NOISE](values, n, channels, &args);
        for (size_t done = 0; done < n; done += 137) {
            args.first = 1000 + done;
            dsp.pixels[LEAT_PIXELS_NOISE](more + done * (size_t)channels, LEAT_MIN(n - done, (size_t)137),
                                          channels, &args);
        }
        assert_memory_equal(values, more, sizeof values);
    }
    memset(more, 0, sizeof more);
    args.key = 6;
    args.first = 1000;
    dsp.pixels[LEAT_PIXELS_NOISE](more, 5000, 5, &args);
    assert_memory_not_equal(values, more, sizeof values);
}

static void gamma_is_the_power(void **state) {
    (void)state;
    const leat__image_dsp dsp = kernels();
    static const float exponent[] = {0.0f, 0.25f, 0.45f, 1.0f, 2.0f, 2.2f, 3.0f, 17.5f};
    for (size_t g = 0; g < LEAT_COUNT(exponent); g++) {
        const leat__pixel_args args = {.p = {exponent[g], 1.0f}};
        for (int i = 0; i < N; i++) values[i] = more[i] = ldexpf((float)(i % 4096) / 4096.0f, i / 4096 - 20);
        dsp.pixels[LEAT_PIXELS_GAMMA](values, N / 3, 3, &args);
        for (int i = 0; i < N; i++) {
            const float right = (float)pow((double)more[i], (double)exponent[g]);
            assert_true(values[i] == right || values[i] == nextafterf(right, 0) ||
                        values[i] == nextafterf(right, INFINITY));
        }
    }
    float odd[] = {-2.0f, -0.0f, 0.0f, INFINITY, NAN, -INFINITY};
    dsp.pixels[LEAT_PIXELS_GAMMA](odd, 2, 3, &(leat__pixel_args){.p = {3.0f, 0.5f}});
    assert_true(odd[0] == -4.0f && odd[1] == 0 && odd[2] == 0 && odd[3] == INFINITY && isnan(odd[4]) &&
                odd[5] == -INFINITY);
    float below[] = {-2.0f, -0.5f, 4.0f};
    dsp.pixels[LEAT_PIXELS_GAMMA](below, 1, 3, &(leat__pixel_args){.p = {0.5f, 1.0f}});
    assert_true(isnan(below[0]) && isnan(below[1]) && below[2] == 2.0f);
}

static void no_change_is_none(void **state) {
    (void)state;
    const leat__image_dsp dsp = kernels();
    static uint8_t bytes[3 * 4096], before[3 * 4096];
    for (size_t i = 0; i < sizeof bytes; i++) before[i] = (uint8_t)(i * 2654435761u >> 13);
    static const struct {
        leat__pixels_kind kind;
        float p;
    } none[] = {{LEAT_PIXELS_PIL_COLOR, 1.0f}, {LEAT_PIXELS_NOISE, 0.0f}, {LEAT_PIXELS_SATURATION, 1.0f}};
    for (size_t k = 0; k < LEAT_COUNT(none); k++) {
        memcpy(bytes, before, sizeof bytes);
        dsp.pixels_u8[none[k].kind](bytes, bytes, 4096, 3, &(leat__pixel_args){.p = {none[k].p}});
        assert_memory_equal(bytes, before, sizeof bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_normal),
        cmocka_unit_test(noise_knows_its_place),
        cmocka_unit_test(gamma_is_the_power),
        cmocka_unit_test(no_change_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
