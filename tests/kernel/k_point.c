/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of from_u8, from_f32 and lerp is the number of stages, -1 for any. */
#include "kernel/harness.h"

static size_t random_count(void) {
    return k_below(k_below(4) ? 120 : 3000);
}

static size_t random_align(void) {
    return 4 * k_below(16);
}

static int random_chain(leat__chain *chain, int n) {
    const int channels = 1 + (int)k_below(4);
    k_fill_chain(chain, n < 0 ? (int)k_below(LEAT_CHAIN_STAGES + 1) : n, channels);
    return channels;
}

static void check_from_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int stages) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        const int channels = random_chain(&chain, stages);
        const size_t n = random_count(), align = random_align();
        const bool stream = k_below(2);
        uint8_t *src = k_input(0, n);
        k_fill(src, n);
        k_outputs(n * sizeof(float), align, &a, &b);
        c->from_u8(a, src, n, &chain, stream);
        isa->from_u8(b, src, n, &chain, stream);
        k_compare(n * sizeof(float), 0, "%zu values, %d stages, %d channels, stream %d", n, chain.n, channels,
                  stream);
    }
}

static void check_from_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int stages) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        const int channels = random_chain(&chain, stages);
        const size_t n = random_count(), align = random_align();
        const bool stream = k_below(2), in_place = k_below(4) == 0;
        float *src = k_input(0, n * sizeof(float));
        k_fill_f32(src, n);
        k_outputs(n * sizeof(float), align, &a, &b);
        if (in_place) memcpy(a, src, n * sizeof(float)), memcpy(b, src, n * sizeof(float));
        c->from_f32(a, in_place ? a : src, n, &chain, stream);
        isa->from_f32(b, in_place ? b : src, n, &chain, stream);
        k_compare(n * sizeof(float), 0, "%zu values, %d stages, %d channels, stream %d", n, chain.n, channels,
                  stream);
    }
}

static void check_lerp(const leat__image_dsp *c, const leat__image_dsp *isa, int stages) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        const int channels = random_chain(&chain, stages);
        const size_t n = random_count(), align = random_align();
        const bool stream = k_below(2);
        float *top = k_input(0, n * sizeof(float)), *bottom = k_input(1, n * sizeof(float));
        k_fill_f32(top, n);
        for (size_t i = 0; i < n; i++) bottom[i] = (float)k_below(256);
        k_outputs(n * sizeof(float), align, &a, &b);
        const float t = (float)k_below(1000) / 1000.0f;
        c->lerp(a, top, bottom, t, n, &chain, stream);
        isa->lerp(b, top, bottom, t, n, &chain, stream);
        k_compare(n * sizeof(float), 0, "%zu values, %d stages, %d channels, stream %d", n, chain.n, channels,
                  stream);
    }
}

static void check_u8_from_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        float *src = k_input(0, n * sizeof(float));
        k_fill_f32(src, n);
        k_outputs(n, k_below(64), &a, &b);
        c->u8_from_f32(a, src, n);
        isa->u8_from_f32(b, src, n);
        k_compare(n, 0, "%zu values", n);
    }
}

enum { BENCH_N = 672 };

static void bench_from_u8(const leat__image_dsp *isa, int stages, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    k_fill_chain(&chain, stages, 3);
    uint8_t *src = k_input(0, BENCH_N);
    k_fill(src, BENCH_N);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 5); k_bench_go(bench);) isa->from_u8(a, src, BENCH_N, &chain, false);
}

static void bench_from_f32(const leat__image_dsp *isa, int stages, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    k_fill_chain(&chain, stages, 3);
    float *src = k_input(0, BENCH_N * sizeof(float));
    for (size_t i = 0; i < BENCH_N; i++) src[i] = (float)k_below(256);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 8); k_bench_go(bench);) isa->from_f32(a, src, BENCH_N, &chain, false);
}

static void bench_lerp(const leat__image_dsp *isa, int stages, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    k_fill_chain(&chain, stages, 3);
    float *src = k_input(0, 2 * BENCH_N * sizeof(float));
    for (size_t i = 0; i < 2 * BENCH_N; i++) src[i] = (float)k_below(256);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 12); k_bench_go(bench);)
        isa->lerp(a, src, src + BENCH_N, 0.3f, BENCH_N, &chain, false);
}

static void bench_u8_from_f32(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    (void)arg;
    float *src = k_input(0, BENCH_N * sizeof(float));
    for (size_t i = 0; i < BENCH_N; i++) src[i] = (float)k_below(300);
    k_outputs(BENCH_N, 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 5); k_bench_go(bench);) isa->u8_from_f32(a, src, BENCH_N);
}

static void check_turned(const leat__image_dsp *c, const leat__image_dsp *isa, int stages) {
    for (int round = 0; round < K_ROUNDS; round++) {
        leat__chain chain;
        void *a, *b;
        const bool stream = k_below(2);
        const size_t n = stream ? 16 * k_below(40) : k_below(300), align = stream ? 0 : random_align();
        k_fill_chain(&chain, stages, k_below(2) ? 3 : 1);
        uint8_t *src = k_input(0, 3 * n);
        k_fill(src, 3 * n);
        k_outputs(3 * n * sizeof(float), align, &a, &b);
        c->from_rgb8_turned(a, src, n, &chain, stream);
        isa->from_rgb8_turned(b, src, n, &chain, stream);
        k_compare(3 * n * sizeof(float), 0, "%zu pixels, %d stages, stream %d", n, stages, stream);
    }
}

static void bench_turned(const leat__image_dsp *isa, int stages, k_bench *bench) {
    leat__chain chain;
    void *a, *b;
    k_fill_chain(&chain, stages, 3);
    uint8_t *src = k_input(0, 3 * 224);
    k_fill(src, 3 * 224);
    k_outputs(3 * 224 * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, 3 * 224 * 5); k_bench_go(bench);)
        isa->from_rgb8_turned(a, src, 224, &chain, false);
}

static void check_clamp(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        float *src = k_input(0, n * sizeof(float));
        k_fill_f32(src, n);
        k_outputs(n * sizeof(float), random_align(), &a, &b);
        memcpy(a, src, n * sizeof(float));
        memcpy(b, src, n * sizeof(float));
        const float low = (float)k_below(100);
        c->clamp(a, n, low, low + 80.0f);
        isa->clamp(b, n, low, low + 80.0f);
        k_compare(n * sizeof(float), 0, "%zu values", n);
    }
}

static void bench_clamp(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    (void)arg;
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (size_t i = 0; i < BENCH_N; i++) ((float *)a)[i] = (float)k_below(300);
    for (k_bench_begin(bench, BENCH_N * 8); k_bench_go(bench);) isa->clamp(a, BENCH_N, 10.0f, 200.0f);
}

const k_case k_point_cases[] = {
    {"from_u8", -1, check_from_u8, NULL},
    {"from_u8_0", 0, check_from_u8, bench_from_u8},
    {"from_u8_2", 2, check_from_u8, bench_from_u8},
    {"from_u8_4", 4, check_from_u8, bench_from_u8},
    {"from_f32", -1, check_from_f32, NULL},
    {"from_f32_2", 2, check_from_f32, bench_from_f32},
    {"lerp", -1, check_lerp, NULL},
    {"lerp_0", 0, check_lerp, bench_lerp},
    {"lerp_2", 2, check_lerp, bench_lerp},
    {"u8_from_f32", 0, check_u8_from_f32, bench_u8_from_f32},
    {"clamp", 0, check_clamp, bench_clamp},
    {"from_rgb8_turned_0", 0, check_turned, bench_turned},
    {"from_rgb8_turned_2", 2, check_turned, bench_turned},
    {"from_rgb8_turned_4", 4, check_turned, NULL},
    {0},
};
