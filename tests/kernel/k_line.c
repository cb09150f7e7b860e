/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of reverse is the number of bytes of a pixel. */
#include "kernel/harness.h"

static size_t random_count(void) {
    return k_below(k_below(4) ? 120 : 3000);
}

static void check_copy(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        const bool stream = k_below(2);
        uint8_t *src = k_input(0, n);
        k_fill(src, n);
        k_outputs(n, k_below(64), &a, &b);
        c->copy(a, src, n, stream);
        isa->copy(b, src, n, stream);
        k_compare(n, 0, "%zu bytes, stream %d", n, stream);
    }
}

static void check_reverse(const leat__image_dsp *c, const leat__image_dsp *isa, int pixel_bytes) {
    const size_t size = (size_t)pixel_bytes;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count();
        uint8_t *src = k_input(0, n * size);
        k_fill(src, n * size);
        k_outputs(n * size, k_below(64), &a, &b);
        c->reverse(a, src, n, size);
        isa->reverse(b, src, n, size);
        k_compare(n * size, 0, "%zu pixels", n);
    }
}

/* Past the caches too, where the place and the number of pixels allow it. */
static void check_rgb8_turned(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const bool stream = k_below(2);
        const size_t n = stream ? random_count() / 32 * 32 : random_count();
        uint8_t *src = k_input(0, 3 * n);
        k_fill(src, 3 * n);
        k_outputs(3 * n, stream ? 32 * k_below(2) : k_below(64), &a, &b);
        c->rgb8_turned(a, src, n, stream);
        isa->rgb8_turned(b, src, n, stream);
        k_compare(3 * n, 0, "%zu pixels, stream %d", n, stream);
    }
}

static void check_lut(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        uint8_t lut[256];
        const size_t n = random_count();
        const bool in_place = k_below(4) == 0;
        uint8_t *src = k_input(0, n);
        k_fill(src, n);
        const size_t kind = k_below(4), from = k_below(257), keep = k_below(256);
        for (size_t i = 0; i < 256; i++)
            lut[i] = (uint8_t)(kind == 0 ? i & keep : kind == 1 ? (i < from ? i : 255 - i) : k_random());
        if (kind < 2 && k_below(4) == 0) lut[k_below(256)] = (uint8_t)k_random(); /* nearly */
        k_outputs(n, k_below(64), &a, &b);
        if (in_place) memcpy(a, src, n), memcpy(b, src, n);
        c->lut(a, in_place ? a : src, lut, n);
        isa->lut(b, in_place ? b : src, lut, n);
        k_compare(n, 0, "%zu bytes", n);
    }
}

static void check_lut_each(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        uint8_t lut[4][256];
        const size_t n = random_count(), bytes = n * (size_t)channels;
        const bool in_place = k_below(4) == 0;
        uint8_t *src = k_input(0, bytes);
        k_fill(src, bytes);
        k_fill(lut, sizeof lut);
        k_outputs(bytes, k_below(64), &a, &b);
        if (in_place) memcpy(a, src, bytes), memcpy(b, src, bytes);
        c->lut_each(a, in_place ? a : src, (const uint8_t(*)[256])lut, n, channels);
        isa->lut_each(b, in_place ? b : src, (const uint8_t(*)[256])lut, n, channels);
        k_compare(bytes, 0, "%zu pixels of %d channels", n, channels);
    }
}

/* The argument is 1 for the division. All of alpha's values come. */
static void check_alpha(const leat__image_dsp *c, const leat__image_dsp *isa, int divide) {
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const int channels = k_below(8) ? 4 : 2;
        const size_t n = random_count(), bytes = n * (size_t)channels;
        const bool in_place = k_below(4) == 0;
        uint8_t *src = k_input(0, bytes);
        k_fill(src, bytes);
        k_outputs(bytes, k_below(64), &a, &b);
        if (in_place) memcpy(a, src, bytes), memcpy(b, src, bytes);
        (divide ? c->alpha_divide : c->alpha_multiply)(a, in_place ? a : src, n, channels);
        (divide ? isa->alpha_divide : isa->alpha_multiply)(b, in_place ? b : src, n, channels);
        k_compare(bytes, 0, "%zu pixels of %d channels", n, channels);
    }
    void *a, *b; /* every colour with every alpha */
    uint8_t *src = k_input(0, 65536 * 4);
    for (size_t i = 0; i < 65536; i++) {
        for (size_t k = 0; k < 3; k++) src[4 * i + k] = (uint8_t)(i + 85 * k);
        src[4 * i + 3] = (uint8_t)(i >> 8);
    }
    k_outputs(65536 * 4, 0, &a, &b);
    (divide ? c->alpha_divide : c->alpha_multiply)(a, src, 65536, 4);
    (divide ? isa->alpha_divide : isa->alpha_multiply)(b, src, 65536, 4);
    k_compare(65536 * 4, 0, "all values");
}

enum { BENCH_N = 672 };

static void bench_alpha(const leat__image_dsp *isa, int divide, k_bench *bench) {
    void *a, *b;
    uint8_t *src = k_input(0, 224 * 4);
    k_fill(src, 224 * 4);
    k_outputs(224 * 4, 0, &a, &b);
    for (k_bench_begin(bench, 224 * 8); k_bench_go(bench);)
        (divide ? isa->alpha_divide : isa->alpha_multiply)(a, src, 224, 4);
}

static void bench_copy(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    (void)arg;
    uint8_t *src = k_input(0, BENCH_N);
    k_fill(src, BENCH_N);
    k_outputs(BENCH_N, 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 2); k_bench_go(bench);) isa->copy(a, src, BENCH_N, false);
}

static void bench_reverse(const leat__image_dsp *isa, int pixel_bytes, k_bench *bench) {
    void *a, *b;
    const size_t bytes = 224 * (size_t)pixel_bytes;
    uint8_t *src = k_input(0, bytes);
    k_fill(src, bytes);
    k_outputs(bytes, 0, &a, &b);
    for (k_bench_begin(bench, bytes * 2); k_bench_go(bench);) isa->reverse(a, src, 224, (size_t)pixel_bytes);
}

static void bench_lut(const leat__image_dsp *isa, int arg, k_bench *bench) {
    void *a, *b;
    uint8_t lut[256];
    (void)arg;
    uint8_t *src = k_input(0, BENCH_N);
    k_fill(src, BENCH_N);
    for (size_t i = 0; i < 256; i++) lut[i] = (uint8_t)k_random();
    k_outputs(BENCH_N, 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 2); k_bench_go(bench);) isa->lut(a, src, lut, BENCH_N);
}

const k_case k_line_cases[] = {
    {"copy", 0, check_copy, bench_copy},
    {"reverse_gray8", 1, check_reverse, bench_reverse},
    {"reverse_rgb8", 3, check_reverse, bench_reverse},
    {"reverse_rgba8", 4, check_reverse, bench_reverse},
    {"reverse_rgb32", 12, check_reverse, bench_reverse},
    {"reverse_rgba32", 16, check_reverse, bench_reverse},
    {"rgb8_turned", 3, check_rgb8_turned, NULL},
    {"reverse_any", 7, check_reverse, NULL},
    {"lut", 0, check_lut, bench_lut},
    {"lut_each_rgb", 3, check_lut_each, NULL},
    {"lut_each_rgba", 4, check_lut_each, NULL},
    {"alpha_multiply", 0, check_alpha, bench_alpha},
    {"alpha_divide", 1, check_alpha, bench_alpha},
    {0},
};
