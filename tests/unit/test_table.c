/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Tables against their definitions, against checksums of whole tables that the real libraries made
 * (tests/golden/make/tables.py), and the statistics and the matrix that standardising needs against naive
 * sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "image/colour/table.h"
#include "image/colour/zca.h"
#include "image/dsp.h"

#define CHECKSUM UINT64_C(0xcbf29ce484222325)

static uint64_t add(uint64_t sum, const uint8_t *bytes, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static bool is_identity(const uint8_t table[256]) {
    for (int i = 0; i < 256; i++)
        if (table[i] != i) return false;
    return true;
}

static void simple_ones_follow_their_definition(void **state) {
    (void)state;
    uint8_t table[256], twice[256];
    leat__table_identity(table);
    assert_true(is_identity(table));
    leat__table_invert(table);
    for (int i = 0; i < 256; i++) twice[i] = table[table[i]];
    assert_true(is_identity(twice) && table[0] == 255);
    for (int bits = 0; bits <= 8; bits++) {
        leat__table_posterize(table, bits);
        for (int i = 0; i < 256; i++) assert_int_equal(table[i], i >> (8 - bits) << (8 - bits));
    }
    leat__table_solarize(table, 100.5, 0);
    assert_true(table[100] == 100 && table[101] == 154 && table[255] == 0);
    leat__table_solarize(table, 256, 30);
    assert_true(table[0] == 30 && table[225] == 255 && table[255] == 255);
    leat__table_solarize(table, 0, -1000000);
    assert_true(table[0] == 255 && table[255] == 255);
}

static void factor_one_changes_nothing(void **state) {
    (void)state;
    uint8_t table[256];
    for (int mean = 0; mean < 256; mean++) {
        leat__table_tf_contrast(table, mean + 0.37, 1.0f);
        assert_true(is_identity(table));
        leat__table_pil_contrast(table, mean, 1.0f);
        assert_true(is_identity(table));
        leat__table_pil_contrast(table, mean, 0.0f);
        for (int i = 0; i < 256; i++) assert_int_equal(table[i], mean);
    }
    leat__table_pil_brightness(table, 1.0f);
    assert_true(is_identity(table));
    leat__table_tf_gamma(table, 1, 1);
    assert_true(is_identity(table));
    leat__table_tf_gamma(table, 0, 1);
    assert_true(table[0] == 255 && table[128] == 255);
}

static void extremes_saturate(void **state) {
    (void)state;
    uint8_t table[256];
    leat__table_tf_contrast(table, 127, 1e30f);
    assert_true(table[0] == 0 && table[255] == 255);
    leat__table_tf_contrast(table, NAN, INFINITY);
    assert_int_equal(table[77], 0);
    leat__table_pil_contrast(table, 127, -1e30f);
    assert_true(table[0] == 255 && table[255] == 0);
    leat__table_tf_gamma(table, 1e6, 1e30);
    assert_true(table[0] == 0 && table[255] == 255);
    assert_int_equal(leat__table_pil_mean(0, 0), 0);
    assert_int_equal(leat__table_pil_mean(255.0 * 10, 10), 255);
}

static uint64_t sum_of_stretches(void (*make)(uint8_t table[256], int low, int high)) {
    uint64_t sum = CHECKSUM;
    uint8_t table[256];
    for (int low = 0; low < 256; low += 5)
        for (int high = low; high < 256; high += 3) {
            make(table, low, high);
            if (low == high) assert_true(is_identity(table));
            sum = add(sum, table + low, (size_t)(high - low + 1));
        }
    return sum;
}

static uint64_t sum_of_equalized(void (*make)(uint8_t table[256], const uint32_t histogram[256])) {
    uint64_t sum = CHECKSUM;
    for (uint32_t k = 0; k < 60; k++) {
        uint32_t random = k * 2654435761u, histogram[256];
        uint8_t table[256];
        for (int i = 0; i < 256; i++) {
            random = random * 1664525u + 1013904223u;
            const uint32_t many = random >> 24;
            histogram[i] = k % 7 == 0 ? (i == 10 || i == 200) * 9u : (many > 60 ? many : 0) * (k % 5);
        }
        make(table, histogram);
        for (int i = 0; i < 256; i++)
            if (histogram[i]) sum = add(sum, table + i, 1);
    }
    return sum;
}

static void tables_are_those_of_the_libraries(void **state) {
    (void)state;
    uint8_t table[256];
    uint64_t brightness = CHECKSUM, contrast = CHECKSUM, tf_contrast = CHECKSUM, gamma = CHECKSUM;
    for (int k = -8; k < 33; k++) {
        leat__table_pil_brightness(table, (float)(k / 10.0));
        brightness = add(brightness, table, 256);
        leat__table_pil_contrast(table, leat__table_pil_mean(255 * 128, 256), (float)(k / 10.0));
        contrast = add(contrast, table, 256);
    }
    for (int k = 0; k < 31; k++) {
        leat__table_tf_contrast(table, 127.5, (float)(k / 10.0));
        tf_contrast = add(tf_contrast, table, 256);
        leat__table_tf_gamma(table, k / 10.0, k % 3 == 0 ? 1.25 : 1);
        gamma = add(gamma, table, 256);
    }
    assert_int_equal(brightness, UINT64_C(0x9e47a712acc1a899));
    assert_int_equal(contrast, UINT64_C(0xd80f0406e1cf7e1c));
    assert_int_equal(tf_contrast, UINT64_C(0x988b5caa86e68cfa));
    assert_int_equal(gamma, UINT64_C(0xecfa46472f0b4770));
    assert_int_equal(sum_of_stretches(leat__table_autocontrast), UINT64_C(0x3c5bab942f395788));
    assert_int_equal(sum_of_stretches(leat__table_torch_autocontrast), UINT64_C(0xeba39185ec9f71a2));
    assert_int_equal(sum_of_equalized(leat__table_equalize), UINT64_C(0x25faf8c62e98d7de));
    assert_int_equal(sum_of_equalized(leat__table_keras_equalize), UINT64_C(0x0f342151d2298110));
}

/* ------------------------------------------------------------------------------------------ statistics */

enum { ROWS = 5, WIDTH = 37 };

static void check_stats(const leat__stats *stats, const double *values, int channels) {
    const int apart = channels <= 4 ? channels : 1;
    double all = 0, all2 = 0, least = INFINITY, most = -INFINITY;
    for (int c = 0; c < apart; c++) {
        double sum = 0, sum2 = 0, low = INFINITY, high = -INFINITY;
        for (int i = c; i < ROWS * WIDTH * channels; i += apart) {
            sum += values[i], sum2 += values[i] * values[i];
            low = fmin(low, values[i]), high = fmax(high, values[i]);
        }
        const double n = ROWS * WIDTH * channels / apart;
        assert_true(fabs(leat__stats_mean(stats, c) - sum / n) < 1e-9);
        assert_true(fabs(leat__stats_deviation(stats, c) - sqrt(sum2 / n - sum / n * (sum / n))) < 1e-7);
        assert_true((double)stats->min[c] == low && (double)stats->max[c] == high);
        all += sum, all2 += sum2, least = fmin(least, low), most = fmax(most, high);
    }
    float low, high;
    const double n = ROWS * WIDTH * channels;
    leat__stats_range(stats, &low, &high);
    assert_true((double)low == least && (double)high == most);
    assert_true(fabs(leat__stats_mean(stats, -1) - all / n) < 1e-9);
    assert_true(fabs(leat__stats_deviation(stats, -1) - sqrt(all2 / n - all / n * (all / n))) < 1e-7);
}

static void statistics_are_those_of_the_values(void **state) {
    (void)state;
    const unsigned flags[2] = {0, leat__cpu_flags()};
    for (int isa = 0; isa < 2; isa++)
        for (int channels = 1; channels <= 6; channels++) {
            static uint8_t u8[ROWS * WIDTH * 6];
            static float f32[ROWS * WIDTH * 6];
            static double values[ROWS * WIDTH * 6];
            leat__image_dsp dsp;
            leat__stats a, b;
            leat__rng rng = leat__rng_at(7, 0, (uint64_t)channels, 0);
            const int n = WIDTH * channels;
            leat__image_dsp_init(&dsp, flags[isa]);
            leat__stats_begin(&a,
                              LEAT_STATS_SQUARES | LEAT_STATS_RANGE | LEAT_STATS_HISTOGRAM | LEAT_STATS_GRAY);
            leat__stats_begin(&b, LEAT_STATS_SQUARES | LEAT_STATS_RANGE);
            for (int i = 0; i < ROWS * n; i++) {
                u8[i] = (uint8_t)(10 + leat__rng_below(&rng, 200));
                values[i] = u8[i];
                f32[i] = (float)u8[i];
            }
            for (int y = 0; y < ROWS; y++) {
                dsp.stats_u8(&a, u8 + y * n, WIDTH, channels);
                dsp.stats_f32(&b, f32 + y * n, WIDTH, channels);
            }
            leat__stats_end(&a);
            leat__stats_end(&b);
            check_stats(&a, values, channels);
            check_stats(&b, values, channels);
            uint32_t histogram[4][256] = {{0}};
            uint64_t gray = 0;
            for (int i = 0; i < ROWS * n; i++) histogram[channels <= 4 ? i % channels : 0][u8[i]]++;
            for (int i = 0; i < ROWS * WIDTH; i++)
                gray += channels < 3 ? u8[i * channels] : leat__pil_gray(u8 + i * channels);
            for (int c = 0; c < (channels <= 4 ? channels : 1); c++)
                assert_memory_equal(a.histogram[c], histogram[c], sizeof histogram[c]);
            assert_true(a.gray == (double)gray);
        }
}

static void nothing_measured_is_no_number(void **state) {
    (void)state;
    leat__stats stats;
    float low, high;
    leat__stats_begin(&stats, LEAT_STATS_SQUARES | LEAT_STATS_RANGE | LEAT_STATS_HISTOGRAM);
    leat__stats_end(&stats);
    leat__stats_range(&stats, &low, &high);
    assert_true(stats.count == 0 && isinf(low) && isinf(high) && low > high);
}

/* -------------------------------------------------------------------------------------------------- zca */

static void matrix_times_row(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 31, 32, 33, 511, 512, 513, 700};
    for (size_t k = 0; k < LEAT_COUNT(sizes); k++) {
        const size_t n = sizes[k];
        leat__rng rng = leat__rng_at(3, 0, k, 0);
        float *matrix = leat__alloc(LEAT_MEM_TOOL, (n * n + 2 * n) * sizeof(float));
        float *values = matrix + n * n, *out = values + n;
        for (size_t i = 0; i < n * n + n; i++) matrix[i] = (float)(leat__rng_unit(&rng) - 0.5);
        leat__zca_apply(out, values, matrix, n);
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) sum += (double)values[i] * (double)matrix[i * n + j];
            assert_true(fabs((double)out[j] - sum) < 1e-5);
        }
        leat__free(matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_ones_follow_their_definition),
        cmocka_unit_test(factor_one_changes_nothing),
        cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(tables_are_those_of_the_libraries),
        cmocka_unit_test(statistics_are_those_of_the_values),
        cmocka_unit_test(nothing_measured_is_no_number),
        cmocka_unit_test(matrix_times_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
