/* SPDX-License-Identifier: Apache-2.0 */
/* The argument is the number of channels. */
#include "kernel/harness.h"

static size_t random_count(void) {
    return k_below(k_below(4) ? 120 : 3000);
}

/* Planes are as long as a row or longer, and often a whole number of cache lines. */
static size_t random_plane(size_t n) {
    return k_below(2) ? n + k_below(40) : LEAT_ALIGN_UP(n, 64);
}

static void check_from(const leat__image_dsp *c, const leat__image_dsp *isa, int channels, bool u8) {
    const int k = leat__image_dsp_index(channels);
    const size_t ch = (size_t)channels;
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        k_fill_chain(&chain, (int)k_below(LEAT_CHAIN_STAGES + 1), channels <= 4 ? channels : 1);
        const size_t n = random_count(), plane = random_plane(n), total = plane * ch * sizeof(float);
        const bool stream = k_below(2);
        void *src = k_input(0, n * ch * (u8 ? 1 : sizeof(float)));
        if (u8) k_fill(src, n * ch);
        else k_fill_f32(src, n * ch);
        k_outputs(total, 4 * k_below(16), &a, &b);
        if (u8) {
            c->planar_from_u8[k](a, plane, src, n, channels, &chain, stream);
            isa->planar_from_u8[k](b, plane, src, n, channels, &chain, stream);
        } else {
            c->planar_from_f32[k](a, plane, src, n, channels, &chain, stream);
            isa->planar_from_f32[k](b, plane, src, n, channels, &chain, stream);
        }
        k_compare(total, 0, "%zu pixels, planes of %zu, %d stages, stream %d", n, plane, chain.n, stream);
    }
}

static void check_from_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    check_from(c, isa, channels, true);
}

static void check_from_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    check_from(c, isa, channels, false);
}

static void check_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    const int k = leat__image_dsp_index(channels);
    const size_t ch = (size_t)channels;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count(), plane = random_plane(n);
        uint8_t *src = k_input(0, n * ch);
        k_fill(src, n * ch);
        k_outputs(plane * ch, k_below(64), &a, &b);
        c->planar_u8[k](a, plane, src, n, channels);
        isa->planar_u8[k](b, plane, src, n, channels);
        k_compare(plane * ch, 0, "%zu pixels, planes of %zu", n, plane);
    }
}

enum { BENCH_N = 1024 };

static void bench_from_u8(const leat__image_dsp *isa, int channels, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    const size_t values = (size_t)channels * BENCH_N;
    k_fill_chain(&chain, 2, channels);
    uint8_t *src = k_input(0, values);
    k_fill(src, values);
    k_outputs(values * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, values * 5); k_bench_go(bench);)
        isa->planar_from_u8[channels](a, BENCH_N, src, BENCH_N, channels, &chain, false);
}

static void bench_from_f32(const leat__image_dsp *isa, int channels, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    const size_t values = (size_t)channels * BENCH_N;
    k_fill_chain(&chain, 2, channels);
    float *src = k_input(0, values * sizeof(float));
    for (size_t i = 0; i < values; i++) src[i] = (float)k_below(256);
    k_outputs(values * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, values * 8); k_bench_go(bench);)
        isa->planar_from_f32[channels](a, BENCH_N, src, BENCH_N, channels, &chain, false);
}

static void bench_u8(const leat__image_dsp *isa, int channels, k_bench *bench) {
    void *a, *b;
    const size_t values = (size_t)channels * BENCH_N;
    uint8_t *src = k_input(0, values);
    k_fill(src, values);
    k_outputs(values, 0, &a, &b);
    for (k_bench_begin(bench, values * 2); k_bench_go(bench);)
        isa->planar_u8[channels](a, BENCH_N, src, BENCH_N, channels);
}

const k_case k_planar_cases[] = {
    {"planar_from_rgb8", 3, check_from_u8, bench_from_u8},
    {"planar_from_rgba8", 4, check_from_u8, bench_from_u8},
    {"planar_from_any8", 5, check_from_u8, NULL},
    {"planar_from_rgb32", 3, check_from_f32, bench_from_f32},
    {"planar_from_rgba32", 4, check_from_f32, bench_from_f32},
    {"planar_rgb8", 3, check_u8, bench_u8},
    {"planar_rgba8", 4, check_u8, bench_u8},
    {0},
};
