/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring, and a table for each channel. The argument is the number of channels, 0 for any, plus what
 * the bench measures, in hundreds. */
#include "kernel/harness.h"

enum {
    ALL = LEAT_STATS_SUM | LEAT_STATS_SQUARES | LEAT_STATS_RANGE | LEAT_STATS_HISTOGRAM | LEAT_STATS_GRAY
};

/* What a measured picture tells, in a form that can be compared: not a number is not a number. */
typedef struct told {
    uint64_t count;
    double sum[4], sum2[4], gray, mean, deviation;
    float min[4], max[4], least, most;
    uint32_t histogram[4][256];
} told;

static void plain_nan(void *value, size_t bytes) {
    double x;
    float y;
    if (bytes == sizeof x && (memcpy(&x, value, bytes), x != x)) memset(value, 255, bytes);
    if (bytes == sizeof y && (memcpy(&y, value, bytes), y != y)) memset(value, 255, bytes);
}

static void tell(void *out, leat__stats *stats) {
    told t;
    memset(&t, 0, sizeof t);
    leat__stats_end(stats);
    t.count = stats->count;
    for (int c = 0; c < 4; c++) {
        t.sum[c] = stats->sum[c], t.sum2[c] = stats->sum2[c];
        t.min[c] = stats->min[c], t.max[c] = stats->max[c];
        plain_nan(&t.sum[c], sizeof t.sum[c]), plain_nan(&t.sum2[c], sizeof t.sum2[c]);
    }
    t.gray = stats->gray;
    if (stats->flags & (LEAT_STATS_SUM | LEAT_STATS_SQUARES)) t.mean = leat__stats_mean(stats, -1);
    if (stats->flags & LEAT_STATS_SQUARES) t.deviation = leat__stats_deviation(stats, -1);
    plain_nan(&t.mean, sizeof t.mean), plain_nan(&t.deviation, sizeof t.deviation);
    leat__stats_range(stats, &t.least, &t.most);
    if (stats->flags & LEAT_STATS_HISTOGRAM) memcpy(t.histogram, stats->histogram, sizeof t.histogram);
    memcpy(out, &t, sizeof t);
}

static void check(const leat__image_dsp *c, const leat__image_dsp *isa, int arg, bool floats) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__stats a, b;
        void *told_a, *told_b;
        const int channels = arg % 100 ? arg % 100 : 1 + (int)k_below(6);
        const size_t width = 1 + k_below(round == 0 ? 200000 : k_below(4) ? 90 : 1000);
        const unsigned flags = (unsigned)k_below(ALL + 1);
        leat__stats_begin(&a, flags);
        leat__stats_begin(&b, flags);
        const int height = round == 0 ? 1 : (int)k_below(4);
        for (int y = 0; y < height; y++) {
            const size_t n = width * (size_t)channels;
            if (floats) {
                float *row = k_input(0, n * sizeof *row);
                k_fill_f32(row, n);
                c->stats_f32(&a, row, width, channels);
                isa->stats_f32(&b, row, width, channels);
            } else {
                uint8_t *row = k_input(0, n);
                k_fill(row, n);
                c->stats_u8(&a, row, width, channels);
                isa->stats_u8(&b, row, width, channels);
            }
        }
        k_outputs(sizeof(told), 0, &told_a, &told_b);
        tell(told_a, &a);
        tell(told_b, &b);
        k_compare(sizeof(told), 0, "%d rows of %zu pixels, %d channels, flags %u", height, width, channels,
                  flags);
    }
}

static void check_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    check(c, isa, arg, false);
}

static void check_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    check(c, isa, arg, true);
}

enum { BENCH_N = 224 };

static void bench_u8(const leat__image_dsp *isa, int arg, k_bench *bench) {
    leat__stats stats;
    const int channels = arg % 100;
    const size_t n = BENCH_N * (size_t)channels;
    uint8_t *row = k_input(0, n);
    for (size_t i = 0; i < n; i++) row[i] = (uint8_t)k_random();
    leat__stats_begin(&stats, (unsigned)arg / 100);
    for (k_bench_begin(bench, n); k_bench_go(bench);) isa->stats_u8(&stats, row, BENCH_N, channels);
}

static void bench_f32(const leat__image_dsp *isa, int arg, k_bench *bench) {
    leat__stats stats;
    const int channels = arg % 100;
    const size_t n = BENCH_N * (size_t)channels;
    float *row = k_input(0, n * sizeof *row);
    for (size_t i = 0; i < n; i++) row[i] = (float)k_below(256);
    leat__stats_begin(&stats, (unsigned)arg / 100);
    for (k_bench_begin(bench, n * sizeof *row); k_bench_go(bench);)
        isa->stats_f32(&stats, row, BENCH_N, channels);
}

static void check_lut_each(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        uint8_t lut[4][256];
        const size_t n = k_below(700), bytes = n * (size_t)channels;
        const bool in_place = k_below(4) == 0;
        uint8_t *src = k_input(0, bytes);
        k_fill(src, bytes);
        for (size_t i = 0; i < sizeof lut; i++) lut[i / 256][i % 256] = (uint8_t)k_random();
        k_outputs(bytes, k_below(64), &a, &b);
        if (in_place) memcpy(a, src, bytes), memcpy(b, src, bytes);
        c->lut_each(a, in_place ? a : src, (const uint8_t(*)[256])lut, n, channels);
        isa->lut_each(b, in_place ? b : src, (const uint8_t(*)[256])lut, n, channels);
        k_compare(bytes, 0, "%zu pixels of %d channels", n, channels);
    }
}

static void bench_lut_each(const leat__image_dsp *isa, int channels, k_bench *bench) {
    void *a, *b;
    uint8_t lut[4][256];
    const size_t n = BENCH_N * (size_t)channels;
    uint8_t *src = k_input(0, n);
    for (size_t i = 0; i < n; i++) src[i] = (uint8_t)k_random();
    k_fill(lut, sizeof lut);
    k_outputs(n, 0, &a, &b);
    for (k_bench_begin(bench, 2 * n); k_bench_go(bench);)
        isa->lut_each(a, src, (const uint8_t(*)[256])lut, BENCH_N, channels);
}

#define BENCH(what, channels) (100 * (what) + (channels))

const k_case k_stats_cases[] = {
    {"stats_u8", 0, check_u8, NULL},
    {"stats_u8_2", 2, check_u8, NULL},
    {"stats_u8_4", 4, check_u8, NULL},
    {"stats_u8_sum_1", BENCH(LEAT_STATS_SUM, 1), check_u8, bench_u8},
    {"stats_u8_sum_3", BENCH(LEAT_STATS_SUM, 3), check_u8, bench_u8},
    {"stats_u8_squares_3", BENCH(LEAT_STATS_SQUARES, 3), check_u8, bench_u8},
    {"stats_u8_range_3", BENCH(LEAT_STATS_RANGE, 3), check_u8, bench_u8},
    {"stats_u8_histogram_3", BENCH(LEAT_STATS_HISTOGRAM, 3), check_u8, bench_u8},
    {"stats_u8_gray_3", BENCH(LEAT_STATS_GRAY, 3), check_u8, bench_u8},
    {"stats_f32", 0, check_f32, NULL},
    {"stats_f32_1", 1, check_f32, NULL},
    {"stats_f32_sum_3", BENCH(LEAT_STATS_SUM, 3), check_f32, bench_f32},
    {"stats_f32_squares_3", BENCH(LEAT_STATS_SQUARES, 3), check_f32, bench_f32},
    {"stats_f32_range_3", BENCH(LEAT_STATS_RANGE, 3), check_f32, bench_f32},
    {"tables_1", 1, check_lut_each, NULL},
    {"tables_3", 3, check_lut_each, bench_lut_each},
    {"tables_4", 4, check_lut_each, bench_lut_each},
    {0},
};
