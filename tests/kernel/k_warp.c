/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a warp and the pixels at them. The argument of place_* is the fill, that of blend_* the
 * channels. */
#include "kernel/harness.h"

#include <stdlib.h>

enum { ROWS_MAX = 6, COLUMNS_MAX = 70 };

static double random_between(double low, double high) {
    return low + (high - low) * (double)(k_random() >> 11) * 0x1p-53;
}

/* Mostly what augmentation draws; now and then positions that are whole, halves, far away, or no numbers. */
static leat__grid random_grid(int fill) {
    leat__grid grid = {.fill = (leat__warp_fill)fill,
                       .height = 1 + (int)k_below(k_below(8) ? 60 : 5000),
                       .width = 1 + (int)k_below(k_below(8) ? 60 : 5000),
                       .columns = 1 + (int)k_below(COLUMNS_MAX),
                       .mirrored = k_below(2),
                       .pixel = 1 + (int)k_below(16),
                       .bits = 24,
                       .m = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    while (((uint64_t)LEAT_MAX(grid.height, grid.width) << grid.bits) > (uint64_t)1 << 32) grid.bits--;
    grid.stride = grid.width * grid.pixel + (int)k_below(9);
    const size_t kind = k_below(8);
    if (kind == 0) {
        for (int i = 0; i < 6; i++) grid.m[i] = (double)(int)k_below(9) / 2 - 2;
    } else if (kind == 1) {
        for (int i = 0; i < 6; i++) grid.m[i] = random_between(-1e12, 1e12);
    } else {
        const double turn = random_between(-1.5, 1.5);
        grid.m[0] = random_between(0.5, 1.5);
        grid.m[4] = random_between(0.5, 1.5);
        grid.m[1] = turn;
        grid.m[3] = -turn;
        grid.m[2] = random_between(-3.0 * grid.width, 3.0 * grid.width);
        grid.m[5] = random_between(-3.0 * grid.height, 3.0 * grid.height);
    }
    grid.perspective = k_below(2);
    if (grid.perspective) {
        grid.m[6] = kind == 0 ? (double)(int)k_below(5) / 4 - 0.5 : random_between(-0.01, 0.01);
        grid.m[7] = kind == 0 ? (double)(int)k_below(5) / 4 - 0.5 : random_between(-0.01, 0.01);
    }
    for (int i = 0; i < 8; i++) grid.f[i] = (float)grid.m[i];
    return grid;
}

static void check_place(const leat__image_dsp *c, const leat__image_dsp *isa, int fill, int rule) {
    for (int round = 0; round < K_ROUNDS; round++) {
        const leat__grid grid = random_grid(fill);
        const int n_rows = 1 + (int)k_below(ROWS_MAX), step = k_below(2) ? 1 : -1, y = (int)k_below(300);
        const size_t n = (size_t)n_rows * (size_t)grid.columns, room = n + LEAT_PLACES_PAD;
        /* The three arrays are compared one after the other. */
        static int32_t at[2][ROWS_MAX * COLUMNS_MAX + LEAT_PLACES_PAD];
        static float x[2][ROWS_MAX * COLUMNS_MAX + LEAT_PLACES_PAD],
            y_share[2][ROWS_MAX * COLUMNS_MAX + LEAT_PLACES_PAD];
        for (int which = 0; which < 3; which++) {
            void *a, *b;
            k_outputs(n * sizeof(float), 4 * k_below(16), &a, &b);
            leat__places to_c = {at[0], x[0], y_share[0]}, to_isa = {at[1], x[1], y_share[1]};
            if (which == 0) to_c.at = a, to_isa.at = b;
            if (which == 1) to_c.x = a, to_isa.x = b;
            if (which == 2) to_c.y = a, to_isa.y = b;
            c->warp_place[rule](&to_c, &grid, y, step, n_rows);
            isa->warp_place[rule](&to_isa, &grid, y, step, n_rows);
            k_compare(n * sizeof(float), (room - n) * sizeof(float),
                      "array %d, %d rows from %d of %d columns, source %dx%d, perspective %d, mirrored %d",
                      which, n_rows, y, grid.columns, grid.height, grid.width, grid.perspective,
                      grid.mirrored);
        }
    }
}

static void check_place_scipy(const leat__image_dsp *c, const leat__image_dsp *isa, int fill) {
    check_place(c, isa, fill, LEAT_WARP_SCIPY);
}

static void check_place_tf(const leat__image_dsp *c, const leat__image_dsp *isa, int fill) {
    check_place(c, isa, fill, LEAT_WARP_TF);
}

/* A picture that ends where memory ends, and places in it. */
typedef struct blend_case {
    uint8_t *src;
    leat__places places;
    size_t n;
    ptrdiff_t right, below;
} blend_case;

static blend_case random_blend(int channels, bool floats, size_t n, int height, int width) {
    static int32_t at[4096];
    static float x[4096], y[4096];
    const size_t value = floats ? sizeof(float) : 1, pixel = (size_t)channels * value;
    const size_t stride = (size_t)width * pixel + value * k_below(5);
    const size_t bytes = (size_t)(height - 1) * stride + (size_t)width * pixel;
    blend_case b = {.src = k_input(0, bytes), .places = {at, x, y}, .n = n};
    if (floats) {
        float *values =
            (float *)(void *)b.src; /* no NaN: which of two is kept differs from compiler to compiler */
        for (size_t i = 0; i < bytes / sizeof(float); i++) values[i] = (float)random_between(-300, 300);
    } else {
        k_fill(b.src, bytes);
    }
    b.right = width > 1 ? (ptrdiff_t)pixel : 0;
    b.below = height > 1 ? (ptrdiff_t)stride : 0;
    for (size_t i = 0; i < n; i++) {
        at[i] = (int32_t)(k_below((size_t)LEAT_MAX(height - 1, 1)) * stride +
                          k_below((size_t)LEAT_MAX(width - 1, 1)) * pixel);
        x[i] = width == 1 || k_below(8) == 0 ? (width > 1 && k_below(2)) : (float)random_between(0, 1);
        y[i] = height == 1 || k_below(8) == 0 ? (height > 1 && k_below(2)) : (float)random_between(0, 1);
    }
    return b;
}

static void check_blend(const leat__image_dsp *c, const leat__image_dsp *isa, int channels, bool floats) {
    const int k = leat__image_dsp_index(channels);
    LEAT_FN_WARP_BLEND((*of_c)) = floats ? c->warp_blend_f32[k] : c->warp_blend_u8[k];
    LEAT_FN_WARP_BLEND((*of_isa)) = floats ? isa->warp_blend_f32[k] : isa->warp_blend_u8[k];
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const int height = 1 + (int)k_below(20), width = 1 + (int)k_below(20);
        const blend_case in = random_blend(channels, floats, k_below(80), height, width);
        const size_t bytes = in.n * (size_t)channels * sizeof(float);
        k_outputs(bytes, 4 * k_below(16), &a, &b);
        of_c(a, in.src, &in.places, in.n, in.right, in.below, channels);
        of_isa(b, in.src, &in.places, in.n, in.right, in.below, channels);
        k_compare(bytes, 0, "%zu pixels of %d channels of %dx%d", in.n, channels, height, width);
    }
}

static void check_blend_u8(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    check_blend(c, isa, channels, false);
}

static void check_blend_f32(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    check_blend(c, isa, channels, true);
}

/* A row of which all pixels lie inside of src. */
static leat__pil_row random_pil_row(double m[6], size_t n, int height, int width) {
    const bool whole = k_below(4) == 0; /* of four pixels the others have no share */
    const double across = whole ? 0 : random_between(0, 9), down = whole ? 0 : random_between(0, 9);
    for (int axis = 0; axis < 2; axis++) {
        const int limit = axis ? height - 1 : width - 2;
        const double edge = 0x1p-20,
                     from = random_between(edge, limit - edge); /* farther than rounding errors */
        const double to = k_below(8) ? random_between(edge, limit - edge) : from;
        m[3 * axis] = whole || n == 1 ? 0 : (to - from) / (double)(n - 1);
        m[3 * axis + 2] = (whole ? (double)k_below((size_t)limit) : from) + 0.5 - (axis ? down : across);
    }
    leat__pil_row row = {m, across, down, 3 * (size_t)width + k_below(5), -(int)k_below(2)};
    /* The first pixel is row.x: it moves as far as the others do. */
    for (int axis = 0; axis < 2; axis++) m[3 * axis + 2] -= m[3 * axis] * (row.x + 0.5);
    return row;
}

static bool all_inside(const leat__pil_row *row, size_t n, int height, int width) {
    for (size_t i = 0; i < n; i++) {
        const double x = row->x + (int)i + 0.5;
        const double u = row->m[0] * x + row->across + row->m[2] - 0.5;
        const double v = row->m[3] * x + row->down + row->m[5] - 0.5;
        if (!(u >= 0 && u < width - 2 && v >= 0 && v < height - 1)) return false;
    }
    return true;
}

static void check_pil_blend(const leat__image_dsp *c, const leat__image_dsp *isa, int unused) {
    (void)unused;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        double m[6] = {0};
        const int height = 2 + (int)k_below(20), width = 3 + (int)k_below(20);
        const size_t n = 1 + k_below(60);
        const leat__pil_row row = random_pil_row(m, n, height, width);
        const size_t bytes = (size_t)(height - 1) * row.stride + 3 * (size_t)width;
        uint8_t *src = k_input(0, bytes);
        if (!all_inside(&row, n, height, width)) abort(); /* such a row is not for the kernel */
        k_fill(src, bytes);
        k_outputs(3 * n, k_below(64), &a, &b);
        c->pil_blend(a, src, &row, n);
        isa->pil_blend(b, src, &row, n);
        k_compare(3 * n, 0, "%zu pixels of %dx%d", n, height, width);
    }
}

enum { BENCH_SIDE = 32 };

static void bench_pil_blend(const leat__image_dsp *isa, int unused, k_bench *bench) {
    void *a, *b;
    static const double m[6] = {0.9, 0, 1.3, 0.3, 0, 2.2};
    const leat__pil_row row = {m, 0, 0, 3 * BENCH_SIDE, 0};
    uint8_t *src = k_input(0, 3 * BENCH_SIDE * BENCH_SIDE);
    (void)unused;
    k_fill(src, 3 * BENCH_SIDE * BENCH_SIDE);
    k_outputs(3 * BENCH_SIDE, 0, &a, &b);
    for (k_bench_begin(bench, 15 * BENCH_SIDE); k_bench_go(bench);) isa->pil_blend(a, src, &row, BENCH_SIDE);
}

static void bench_place(const leat__image_dsp *isa, int fill, int rule, k_bench *bench) {
    static int32_t at[BENCH_SIDE * BENCH_SIDE + LEAT_PLACES_PAD];
    static float x[BENCH_SIDE * BENCH_SIDE + LEAT_PLACES_PAD], y[BENCH_SIDE * BENCH_SIDE + LEAT_PLACES_PAD];
    const leat__places to = {at, x, y};
    leat__grid grid = {.fill = (leat__warp_fill)fill,
                       .height = BENCH_SIDE,
                       .width = BENCH_SIDE,
                       .columns = BENCH_SIDE,
                       .pixel = 3,
                       .stride = 3 * BENCH_SIDE,
                       .bits = 24,
                       .m = {0.95, -0.2, 4.1, 0.2, 1.05, -3.3, 0, 0, 1}};
    for (int i = 0; i < 8; i++) grid.f[i] = (float)grid.m[i];
    for (k_bench_begin(bench, sizeof at * 3); k_bench_go(bench);)
        isa->warp_place[rule](&to, &grid, 0, 1, BENCH_SIDE);
}

static void bench_place_scipy(const leat__image_dsp *isa, int fill, k_bench *bench) {
    bench_place(isa, fill, LEAT_WARP_SCIPY, bench);
}

static void bench_place_tf(const leat__image_dsp *isa, int fill, k_bench *bench) {
    bench_place(isa, fill, LEAT_WARP_TF, bench);
}

static void bench_blend(const leat__image_dsp *isa, int channels, bool floats, k_bench *bench) {
    void *a, *b;
    const int k = leat__image_dsp_index(channels);
    const size_t n = BENCH_SIDE * BENCH_SIDE;
    const blend_case in = random_blend(channels, floats, n, BENCH_SIDE, BENCH_SIDE);
    for (size_t i = 0; i < n; i++) in.places.at[i] = (int32_t)(i % 961) * (int32_t)in.right;
    LEAT_FN_WARP_BLEND((*blend)) = floats ? isa->warp_blend_f32[k] : isa->warp_blend_u8[k];
    k_outputs(n * (size_t)channels * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, n * (size_t)channels * 8); k_bench_go(bench);)
        blend(a, in.src, &in.places, n, in.right, in.below, channels);
}

static void bench_blend_u8(const leat__image_dsp *isa, int channels, k_bench *bench) {
    bench_blend(isa, channels, false, bench);
}

static void bench_blend_f32(const leat__image_dsp *isa, int channels, k_bench *bench) {
    bench_blend(isa, channels, true, bench);
}

const k_case k_warp_cases[] = {
    {"warp_place_scipy_constant", LEAT_WARP_CONSTANT, check_place_scipy, bench_place_scipy},
    {"warp_place_scipy_nearest", LEAT_WARP_NEAREST, check_place_scipy, bench_place_scipy},
    {"warp_place_scipy_reflect", LEAT_WARP_REFLECT, check_place_scipy, bench_place_scipy},
    {"warp_place_scipy_wrap", LEAT_WARP_WRAP, check_place_scipy, bench_place_scipy},
    {"warp_place_tf_constant", LEAT_WARP_CONSTANT, check_place_tf, bench_place_tf},
    {"warp_place_tf_nearest", LEAT_WARP_NEAREST, check_place_tf, bench_place_tf},
    {"warp_place_tf_reflect", LEAT_WARP_REFLECT, check_place_tf, bench_place_tf},
    {"warp_place_tf_wrap", LEAT_WARP_WRAP, check_place_tf, bench_place_tf},
    {"warp_blend_u8_1", 1, check_blend_u8, bench_blend_u8},
    {"warp_blend_u8_2", 2, check_blend_u8, NULL},
    {"warp_blend_u8_3", 3, check_blend_u8, bench_blend_u8},
    {"warp_blend_u8_4", 4, check_blend_u8, bench_blend_u8},
    {"warp_blend_u8_5", 5, check_blend_u8, NULL},
    {"warp_blend_f32_1", 1, check_blend_f32, bench_blend_f32},
    {"warp_blend_f32_3", 3, check_blend_f32, bench_blend_f32},
    {"warp_blend_f32_4", 4, check_blend_f32, NULL},
    {"warp_blend_f32_6", 6, check_blend_f32, NULL},
    {"pil_blend", 3, check_pil_blend, bench_pil_blend},
    {0},
};
