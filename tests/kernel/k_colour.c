/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that mix channels, gamma and noise. The argument is the kernel's number, u8 ones have 100 added. */
#include "kernel/harness.h"

enum { U8 = 100 };

/* Numbers as the operations give them, and beyond. */
static leat__pixel_args random_args(int kind) {
    leat__pixel_args args = {.key = k_random(), .first = k_below(3) ? k_below(100000) : k_random() >> 20};
    const float unit = (float)k_below(4097) / 4096.0f;
    switch (kind) {
    case LEAT_PIXELS_HUE: args.p[0] = k_below(4) ? 2.0f * unit - 1.0f : (float)k_below(3) - 1.0f; break;
    case LEAT_PIXELS_SATURATION_HUE:
        args.p[0] = 3.0f * unit;
        args.p[1] = (float)k_below(2001) / 1000.0f - 1.0f;
        break;
    case LEAT_PIXELS_KERAS_SATURATION:
    case LEAT_PIXELS_DEGENERATE:
        args.p[0] = 4.0f * unit - 1.0f;
        args.p[2] = k_below(2) ? 255.0f : 1.0f;
        break;
    case LEAT_PIXELS_KERAS_HUE:
        args.p[0] = unit - 0.5f;
        args.p[1] = k_below(2) ? 0.0f : -1.0f;
        args.p[2] = k_below(2) ? 255.0f : 1.0f;
        break;
    case LEAT_PIXELS_GAMMA:
        args.p[0] = k_below(2) ? 3.0f * unit : (float)k_below(5);
        args.p[1] = 0.5f + unit;
        break;
    case LEAT_PIXELS_NOISE:
        args.p[0] = unit - 0.5f;
        args.p[1] = k_below(8) ? 50.0f * unit : 1e30f;
        args.p[2] = k_below(2) ? 0.0f : -__builtin_inff();
        args.p[3] = k_below(2) ? 1.0f : __builtin_inff();
        break;
    case LEAT_PIXELS_PIL_HUE: args.p[0] = (float)k_below(256); break;
    default: args.p[0] = 3.0f * unit; break;
    }
    return args;
}

/* Pixels with equal channels, which are where branches meet. */
static size_t another(size_t i, size_t channels) {
    return i - i % channels + k_below(channels);
}

static void fill_pixels(float *values, size_t n, size_t channels) {
    const float scale = k_below(2) ? 1.0f / 255.0f : k_below(2) ? 1.0f : 0.0f;
    k_fill_f32(values, n);
    for (size_t i = 0; scale > 0.0f && i < n; i++) values[i] = (float)k_below(256) * scale;
    for (size_t i = 0; i < n; i++)
        if (k_below(6) == 0) values[i] = values[another(i, channels)];
}

/* Which NaN comes out is left open. */
static void settle(float *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (values[i] != values[i]) values[i] = __builtin_nanf("");
}

static size_t random_count(void) {
    return k_below(k_below(4) ? 60 : 1500);
}

static int random_channels(int kind) {
    if (k_below(8)) return 3;
    return kind == LEAT_PIXELS_GAMMA || kind == LEAT_PIXELS_NOISE ? 1 + (int)k_below(5) : 3 + (int)k_below(3);
}

static void check_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int kind) {
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const leat__pixel_args args = random_args(kind);
        const int channels = random_channels(kind);
        const size_t n = random_count(), values = n * (size_t)channels;
        k_outputs(values * sizeof(float), 4 * k_below(16), &a, &b);
        fill_pixels(a, values, (size_t)channels);
        memcpy(b, a, values * sizeof(float));
        c->pixels[kind](a, n, channels, &args);
        isa->pixels[kind](b, n, channels, &args);
        settle(a, values);
        settle(b, values);
        k_compare(values * sizeof(float), 0, "%zu pixels of %d channels, %.9g %.9g %.9g", n, channels,
                  (double)args.p[0], (double)args.p[1], (double)args.p[2]);
    }
}

static void check_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int kind) {
    kind -= U8;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const leat__pixel_args args = random_args(kind);
        const int channels = random_channels(kind);
        const size_t n = random_count(), values = n * (size_t)channels;
        const bool in_place = k_below(4) == 0;
        uint8_t *bytes = k_input(0, values);
        k_fill(bytes, values);
        for (size_t i = 0; i < values; i++)
            if (k_below(6) == 0) bytes[i] = bytes[another(i, (size_t)channels)];
        k_outputs(values, k_below(64), &a, &b);
        if (in_place) memcpy(a, bytes, values), memcpy(b, bytes, values);
        c->pixels_u8[kind](a, in_place ? a : bytes, n, channels, &args);
        isa->pixels_u8[kind](b, in_place ? b : bytes, n, channels, &args);
        k_compare(values, 0, "%zu pixels of %d channels, %.9g %.9g", n, channels, (double)args.p[0],
                  (double)args.p[1]);
    }
}

enum { BENCH_N = 1024 }; /* pixels: a run of a pass */

static const leat__pixel_args bench_args[LEAT_N_PIXELS] = {
    [LEAT_PIXELS_SATURATION] = {.p = {1.1f}},
    [LEAT_PIXELS_HUE] = {.p = {0.01f}},
    [LEAT_PIXELS_SATURATION_HUE] = {.p = {1.1f, 0.01f}},
    [LEAT_PIXELS_KERAS_SATURATION] = {.p = {1.1f, 0.0f, 1.0f}},
    [LEAT_PIXELS_KERAS_HUE] = {.p = {0.01f, 0.0f, 1.0f}},
    [LEAT_PIXELS_DEGENERATE] = {.p = {0.1f, 0.0f, 1.0f}},
    [LEAT_PIXELS_GAMMA] = {.p = {1.01f, 1.0f}},
    [LEAT_PIXELS_NOISE] = {.p = {0.0f, 0.1f, 0.0f, 1.0f}},
    [LEAT_PIXELS_PIL_COLOR] = {.p = {0.9f}},
    [LEAT_PIXELS_PIL_HUE] = {.p = {7.0f}},
};

static void bench_f32(const leat__image_dsp *isa, int kind, k_bench *bench) {
    void *a, *b;
    k_outputs(BENCH_N * 3 * sizeof(float), 0, &a, &b);
    for (size_t i = 0; i < BENCH_N * 3; i++) ((float *)b)[i] = (float)k_below(256) / 255.0f;
    for (k_bench_begin(bench, BENCH_N * 24); k_bench_go(bench);) {
        memcpy(a, b, BENCH_N * 3 * sizeof(float));
        isa->pixels[kind](a, BENCH_N, 3, &bench_args[kind]);
    }
}

static void bench_u8(const leat__image_dsp *isa, int kind, k_bench *bench) {
    void *a, *b;
    kind -= U8;
    k_outputs(BENCH_N * 3, 0, &a, &b);
    k_fill(b, BENCH_N * 3);
    for (k_bench_begin(bench, BENCH_N * 6); k_bench_go(bench);)
        isa->pixels_u8[kind](a, b, BENCH_N, 3, &bench_args[kind]);
}

const k_case k_colour_cases[] = {
    {"saturation", LEAT_PIXELS_SATURATION, check_f32, bench_f32},
    {"hue", LEAT_PIXELS_HUE, check_f32, bench_f32},
    {"saturation_hue", LEAT_PIXELS_SATURATION_HUE, check_f32, bench_f32},
    {"keras_saturation", LEAT_PIXELS_KERAS_SATURATION, check_f32, bench_f32},
    {"keras_hue", LEAT_PIXELS_KERAS_HUE, check_f32, bench_f32},
    {"gray", LEAT_PIXELS_GRAY, check_f32, bench_f32},
    {"degenerate", LEAT_PIXELS_DEGENERATE, check_f32, bench_f32},
    {"gamma", LEAT_PIXELS_GAMMA, check_f32, bench_f32},
    {"noise", LEAT_PIXELS_NOISE, check_f32, bench_f32},
    {"saturation_u8", U8 + LEAT_PIXELS_SATURATION, check_u8, bench_u8},
    {"hue_u8", U8 + LEAT_PIXELS_HUE, check_u8, bench_u8},
    {"gray_u8", U8 + LEAT_PIXELS_GRAY, check_u8, bench_u8},
    {"noise_u8", U8 + LEAT_PIXELS_NOISE, check_u8, bench_u8},
    {"pil_color", U8 + LEAT_PIXELS_PIL_COLOR, check_u8, bench_u8},
    {"pil_gray", U8 + LEAT_PIXELS_PIL_GRAY, check_u8, bench_u8},
    {"pil_hue", U8 + LEAT_PIXELS_PIL_HUE, check_u8, bench_u8},
    {0},
};
