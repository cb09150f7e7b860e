/* SPDX-License-Identifier: Apache-2.0 */
/* Values of two bytes. The argument is the number of channels, of stages (from_u16), or nothing. */
#include "kernel/harness.h"

static size_t random_count(void) {
    return k_below(k_below(4) ? 120 : 3000);
}

/* Any bits: every exponent, NaNs of every kind, and often the halfway cases of both formats. */
static void fill_bits(float *values, size_t n) {
    static const uint32_t halfway[] = {0,          0x00001000, 0x00002000, 0x00003000,
                                       0x00008000, 0x00018000, 0x0001ffff};
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)k_random();
        const size_t how = k_below(4);
        if (how == 0) bits = (bits & 0xfffe0000) | halfway[k_below(LEAT_COUNT(halfway))];
        if (how == 1) bits = (bits & 0x87ffffff) | 0x38000000; /* near the ends of f16 */
        memcpy(values + i, &bits, sizeof bits);
    }
}

static void check_narrow(const leat__image_dsp *c, const leat__image_dsp *isa, int brain) {
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        const bool stream = k_below(2);
        float *src = k_input(0, n * sizeof(float));
        if (k_below(2)) fill_bits(src, n);
        else k_fill_f32(src, n);
        k_outputs(n * 2, 2 * k_below(32), &a, &b);
        (brain ? c->bf16_from_f32 : c->half_from_f32)(a, src, n, stream);
        (brain ? isa->bf16_from_f32 : isa->half_from_f32)(b, src, n, stream);
        k_compare(n * 2, 0, "%zu values, stream %d", n, stream);
    }
}

static void check_from_u16(const leat__image_dsp *c, const leat__image_dsp *isa, int stages) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        const int channels = 1 + (int)k_below(4);
        k_fill_chain(&chain, stages < 0 ? (int)k_below(LEAT_CHAIN_STAGES + 1) : stages, channels);
        const size_t n = random_count();
        const bool stream = k_below(2);
        uint16_t *src = k_input(0, n * 2);
        k_fill(src, n * 2);
        k_outputs(n * sizeof(float), 4 * k_below(16), &a, &b);
        c->from_u16(a, src, n, &chain, stream);
        isa->from_u16(b, src, n, &chain, stream);
        k_compare(n * sizeof(float), 0, "%zu values, %d stages, %d channels, stream %d", n, chain.n, channels,
                  stream);
    }
}

static void check_planar(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    const int k = leat__image_dsp_index(channels);
    const size_t ch = (size_t)channels;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count(), plane = k_below(2) ? n + k_below(40) : LEAT_ALIGN_UP(n, 64);
        uint16_t *src = k_input(0, 2 * n * ch);
        k_fill(src, 2 * n * ch);
        k_outputs(2 * plane * ch, 2 * k_below(32), &a, &b);
        c->planar_u16[k](a, plane, src, n, channels);
        isa->planar_u16[k](b, plane, src, n, channels);
        k_compare(2 * plane * ch, 0, "%zu pixels, planes of %zu", n, plane);
    }
}

enum { BENCH_N = 1024 };

static void bench_narrow(const leat__image_dsp *isa, int brain, k_bench *bench) {
    void *a, *b;
    float *src = k_input(0, BENCH_N * sizeof(float));
    for (size_t i = 0; i < BENCH_N; i++) src[i] = (float)k_below(2000) / 500.0f - 2.0f;
    k_outputs(BENCH_N * 2, 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 6); k_bench_go(bench);)
        (brain ? isa->bf16_from_f32 : isa->half_from_f32)(a, src, BENCH_N, false);
}

static void bench_from_u16(const leat__image_dsp *isa, int stages, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    k_fill_chain(&chain, stages, 1);
    uint16_t *src = k_input(0, BENCH_N * 2);
    k_fill(src, BENCH_N * 2);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 6); k_bench_go(bench);) isa->from_u16(a, src, BENCH_N, &chain, false);
}

static void bench_planar(const leat__image_dsp *isa, int channels, k_bench *bench) {
    void *a, *b;
    const size_t values = (size_t)channels * BENCH_N;
    uint16_t *src = k_input(0, 2 * values);
    k_fill(src, 2 * values);
    k_outputs(2 * values, 0, &a, &b);
    for (k_bench_begin(bench, values * 4); k_bench_go(bench);)
        isa->planar_u16[channels](a, BENCH_N, src, BENCH_N, channels);
}

const k_case k_half_cases[] = {
    {"half_from_f32", 0, check_narrow, bench_narrow}, {"bf16_from_f32", 1, check_narrow, bench_narrow},
    {"from_u16", -1, check_from_u16, NULL},           {"from_u16_1", 1, check_from_u16, bench_from_u16},
    {"planar_rgb16", 3, check_planar, bench_planar},  {"planar_rgba16", 4, check_planar, bench_planar},
    {"planar_any16", 5, check_planar, NULL},          {0},
};
