/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing works in place: both versions begin with the same values in their output. */
#include "kernel/harness.h"

static size_t random_count(void) {
    return k_below(k_below(4) ? 120 : 3000);
}

static float random_weight(void) {
    const size_t kind = k_below(8);
    return kind == 0 ? 0.0f : kind == 1 ? 1.0f : (float)k_below(1 << 24) * 0x1p-24f;
}

static void check_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count(), bytes = n * sizeof(float);
        float *own = k_input(0, bytes), *other = k_input(1, bytes);
        k_fill_f32(own, n);
        /* Of two NaNs in one sum either may come out, so only one of the two is strange. */
        for (size_t i = 0; i < n; i++) other[i] = (float)k_below(256) / 255.0f;
        k_outputs(bytes, 4 * k_below(16), &a, &b);
        memcpy(a, own, bytes);
        memcpy(b, own, bytes);
        const float weight = random_weight();
        c->mix_f32(a, other, n, weight, 1 - weight);
        isa->mix_f32(b, other, n, weight, 1 - weight);
        k_compare(bytes, 0, "%zu values, weight %g", n, (double)weight);
    }
}

static void check_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        uint8_t *own = k_input(0, n), *other = k_input(1, n);
        k_fill(own, n);
        k_fill(other, n);
        k_outputs(n, k_below(64), &a, &b);
        memcpy(a, own, n);
        memcpy(b, own, n);
        const float weight = random_weight();
        c->mix_u8(a, other, n, weight, 1 - weight);
        isa->mix_u8(b, other, n, weight, 1 - weight);
        k_compare(n, 0, "%zu values, weight %g", n, (double)weight);
    }
}

enum { BENCH_N = 32 * 32 * 3 };

static void bench_f32(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    (void)arg;
    float *other = k_input(0, BENCH_N * sizeof(float));
    for (size_t i = 0; i < BENCH_N; i++) other[i] = (float)k_below(256);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    memset(a, 0, BENCH_N * sizeof(float));
    for (k_bench_begin(bench, BENCH_N * 12); k_bench_go(bench);) isa->mix_f32(a, other, BENCH_N, 0.3f, 0.7f);
}

static void bench_u8(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    (void)arg;
    uint8_t *other = k_input(0, BENCH_N);
    k_fill(other, BENCH_N);
    k_outputs(BENCH_N, 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 3); k_bench_go(bench);) isa->mix_u8(a, other, BENCH_N, 0.3f, 0.7f);
}

const k_case k_mix_cases[] = {
    {"mix_f32", 0, check_f32, bench_f32},
    {"mix_u8", 0, check_u8, bench_u8},
    {0},
};
