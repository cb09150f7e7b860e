/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the PNG decoder. They have a table of their own; a row is input and output at once. */
#include "kernel/harness.h"

#include "decode/png/png_dsp.h"

static void init_table(void *table, unsigned flags) {
    leat__png_dsp_init(table, flags);
}
const k_table k_png_table = {"png", sizeof(leat__png_dsp), init_table};

/* A case is a filter and the bytes of a pixel. */
#define WHAT(filter, pixel) ((filter)*16 + (pixel))

/* Differences as photos have them, or bytes of every kind. */
static void fill_raw(uint8_t *raw, size_t n) {
    k_fill(raw, n);
    if (k_below(2))
        for (size_t i = 0; i < n; i++) raw[i] = (uint8_t)(raw[i] % 9 - 4);
}

static void check_unfilter(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int what) {
    (void)unused, (void)unused_too;
    const int filter = what / 16;
    const size_t pixel = (size_t)(what % 16);
    leat__png_dsp c, isa;
    leat__png_dsp_init(&c, 0);
    leat__png_dsp_init(&isa, k_isa_flags());
    k_replace(&isa, sizeof isa);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *out[2];
        const size_t n = pixel * (1 + k_below(k_below(4) ? 40 : 500));
        uint8_t *raw = k_input(0, n + LEAT_PNG_PAD), *above = k_input(1, n);
        fill_raw(raw, n + LEAT_PNG_PAD);
        k_fill(above, n);
        k_outputs(n + LEAT_PNG_PAD, k_below(64), &out[0], &out[1]);
        memcpy(out[0], above, n);
        memcpy(out[1], above, n);
        c.unfilter[filter][leat__png_pixel(pixel)](out[0], raw, n);
        isa.unfilter[filter][leat__png_pixel(pixel)](out[1], raw, n);
        memcpy((uint8_t *)out[1] + n, (uint8_t *)out[0] + n, LEAT_PNG_PAD); /* may be written */
        k_compare(n + LEAT_PNG_PAD, 0, "%zu bytes in pixels of %zu", n, pixel);
    }
}

static void bench_unfilter(const leat__image_dsp *unused, int what, k_bench *bench) {
    enum { N = 500 };
    (void)unused;
    const size_t pixel = (size_t)(what % 16), n = N * pixel;
    static uint8_t row[N * 8 + LEAT_PNG_PAD];
    leat__png_dsp isa;
    leat__png_dsp_init(&isa, k_isa_flags());
    uint8_t *raw = k_input(0, n + LEAT_PNG_PAD);
    fill_raw(raw, n + LEAT_PNG_PAD);
    for (k_bench_begin(bench, 3 * n); k_bench_go(bench);)
        isa.unfilter[what / 16][leat__png_pixel(pixel)](row, raw, n);
}

static void check_pair(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int what) {
    (void)unused, (void)unused_too;
    const size_t pixel = (size_t)what;
    leat__png_dsp c, isa;
    leat__png_dsp_init(&c, 0);
    leat__png_dsp_init(&isa, k_isa_flags());
    k_replace(&isa, sizeof isa);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *out[2];
        const size_t n = pixel * (1 + k_below(k_below(4) ? 40 : 500)), padded = n + LEAT_PNG_PAD;
        uint8_t *raw = k_input(0, padded), *raw_below = k_input(1, padded), *above = k_input(2, n);
        fill_raw(raw, padded);
        fill_raw(raw_below, padded);
        k_fill(above, n);
        k_outputs(2 * padded, k_below(64), &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            uint8_t *row = out[i], *below = row + padded;
            memcpy(row, above, n);
            (i ? isa : c).paeth_pair[leat__png_pixel(pixel)](row, below, raw, raw_below, n);
            memset(row + n, 0, LEAT_PNG_PAD); /* may be written */
            memset(below + n, 0, LEAT_PNG_PAD);
        }
        k_compare(2 * padded, 0, "%zu bytes in pixels of %zu", n, pixel);
    }
}

static void bench_pair(const leat__image_dsp *unused, int what, k_bench *bench) {
    enum { N = 500 };
    (void)unused;
    const size_t pixel = (size_t)what, n = N * pixel;
    static uint8_t row[N * 8 + LEAT_PNG_PAD], below[N * 8 + LEAT_PNG_PAD];
    leat__png_dsp isa;
    leat__png_dsp_init(&isa, k_isa_flags());
    uint8_t *raw = k_input(0, n + LEAT_PNG_PAD);
    fill_raw(raw, n + LEAT_PNG_PAD);
    for (k_bench_begin(bench, 6 * n); k_bench_go(bench);)
        isa.paeth_pair[leat__png_pixel(pixel)](row, below, raw, raw, n);
}

#define CASE(name, filter, pixel) \
    { "png_" name "_" #pixel, WHAT(filter, pixel), check_unfilter, bench_unfilter }
#define CASES(name, filter)                                                                     \
    CASE(name, filter, 1), CASE(name, filter, 2), CASE(name, filter, 3), CASE(name, filter, 4), \
        CASE(name, filter, 6), CASE(name, filter, 8)

const k_case k_png_cases[] = {
    CASES("sub", LEAT_PNG_SUB),
    CASE("up", LEAT_PNG_UP, 3),
    CASES("average", LEAT_PNG_AVERAGE),
    CASES("paeth", LEAT_PNG_PAETH),
    {"png_paeth_pair_1", 1, check_pair, bench_pair},
    {"png_paeth_pair_2", 2, check_pair, bench_pair},
    {"png_paeth_pair_3", 3, check_pair, bench_pair},
    {"png_paeth_pair_4", 4, check_pair, bench_pair},
    {0},
};
