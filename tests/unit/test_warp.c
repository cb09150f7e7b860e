/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Warps against naive code that finds one value at a time from the definition, and the promises that all of
 * them keep: flips, types and instruction sets change no bit, and no matrix is too wild. What the real
 * libraries make of pictures is in tests/golden/warp.npz. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/pass/pass.h"

enum { SIDE = 40, CHANNELS = 6, VALUES = SIDE * SIDE * CHANNELS, GUARD = 16 };

static uint64_t random_state = 1;
static leat__image_dsp dsp[2];
static leat__pass_scratch scratch;
static leat__pass pass;

static double between(double low, double high) {
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return low + (high - low) * (double)(leat__mix64(random_state) >> 11) * 0x1p-53;
}

static int below(int n) {
    return (int)between(0, n);
}

typedef struct canvas {
    int height, width, channels, dtype;
    LEAT_ALIGNED(64) uint8_t bytes[VALUES * 4 + 64];
} canvas;

static float value_of(const canvas *p, int y, int x, int c) {
    const int i = (y * p->width + x) * p->channels + c;
    float value;
    if (p->dtype == LEAT_DTYPE_U8) return p->bytes[i];
    memcpy(&value, p->bytes + 4 * i, 4);
    return value;
}

static void paint(canvas *p, int height, int width, int channels, int dtype) {
    *p = (canvas){.height = height, .width = width, .channels = channels, .dtype = dtype};
    for (int i = 0; i < height * width * channels; i++) {
        const float value = (float)between(-50, 300);
        if (dtype == LEAT_DTYPE_U8) p->bytes[i] = (uint8_t)below(256);
        else memcpy(p->bytes + 4 * i, &value, 4);
    }
}

static void paint_any(canvas *p) {
    const int longest = below(4) ? SIDE : 3;
    paint(p, 1 + below(longest), 1 + below(longest), 1 + below(CHANNELS),
          below(2) ? LEAT_DTYPE_U8 : LEAT_DTYPE_F32);
}

/* ------------------------------------------------------------------------------------------- running */

static LEAT_ALIGNED(64) uint8_t made[2][VALUES * 4 + 64 + GUARD];

static leat__rows rows_of(const canvas *in) {
    const ptrdiff_t pixel = in->channels * (in->dtype == LEAT_DTYPE_U8 ? 1 : 4);
    return (leat__rows){.height = in->height,
                        .width = in->width,
                        .channels = in->channels,
                        .dtype = in->dtype,
                        .data = in->bytes,
                        .stride = pixel * in->width};
}

static int run(int isa, const canvas *in, const leat__warp *warp, void *dst, leat_error *err) {
    leat__rows rows = rows_of(in);
    pass.warp = warp;
    return leat__pass_run(&pass, &dsp[isa], &rows, dst, &scratch, err);
}

/* With both instruction sets, which must agree, and write nothing behind the result. Returns its bytes. */
static size_t run_both(const canvas *in, const leat__warp *warp) {
    leat_error err;
    const size_t bytes =
        (size_t)pass.height * (size_t)pass.width * (size_t)in->channels * leat_dtype_size(pass.dtype);
    assert_true(bytes <= VALUES * 4);
    for (int isa = 0; isa < 2; isa++) {
        memset(made[isa], 0xa5, sizeof made[isa]);
        if (run(isa, in, warp, made[isa], &err) != 0) fail_msg("%s", err.message);
        for (size_t i = bytes; i < bytes + GUARD; i++) assert_int_equal(made[isa][i], 0xa5);
    }
    assert_memory_equal(made[0], made[1], bytes);
    return bytes;
}

static void set_pass(const canvas *in, int height, int width, int dtype) {
    pass.resample = LEAT_RESAMPLE_NONE;
    pass.n_points = pass.n_tables = 0;
    pass.flip_x = pass.flip_y = pass.nchw = pass.stream = false;
    pass.height = height ? height : in->height;
    pass.width = width ? width : in->width;
    pass.dtype = dtype;
}

static leat__warp random_warp(const canvas *in, leat__warp_rule rule, int order) {
    leat__warp warp = {.rule = rule,
                       .order = order,
                       .fill = (leat__warp_fill)below(4),
                       .value = {(float)below(256), (float)below(256), (float)below(256), (float)below(256)}};
    const double turn = between(-3, 3), zoom = between(0.3, 2);
    const double m[9] = {
        cos(turn) * zoom, -sin(turn) * zoom, 0, sin(turn), cos(turn) * zoom + 0.1, 0, 0, 0, 1};
    memcpy(warp.m, m, sizeof m);
    warp.m[2] = between(-1.5, 1.5) * in->width;
    warp.m[5] = between(-1.5, 1.5) * in->height;
    if (below(3) == 0) warp.m[6] = between(-0.01, 0.01), warp.m[7] = between(-0.01, 0.01);
    warp.alpha = between(0, 3);
    warp.sigma = between(0.2, 4);
    warp.apart = below(2);
    warp.rng = leat__rng_at((uint64_t)below(99), 0, 0, 1);
    return warp;
}

/* --------------------------------------------------------------------------------------------- naive */

static double fold(double c, int n, leat__warp_rule rule, leat__warp_fill fill) {
    if (n == 1) return 0;
    if (rule == LEAT_WARP_TF && fill == LEAT_WARP_WRAP) { /* jumps by n, once for every n - 1 */
        if (c < 0) c += n * (floor(-c / (n - 1)) + 1);
        else if (c > n - 1) c -= n * floor(c / (n - 1));
    } else if (fill == LEAT_WARP_WRAP) {
        while (c < 0) c += n - 1;
        while (c > n - 1) c -= n - 1;
    } else if (fill == LEAT_WARP_REFLECT) {
        while (c < -1 || c > n) c = c < 0 ? -1 - c : 2 * n - 1 - c;
    }
    return fmin(fmax(c, 0), n - 1);
}

static double pixel_or_fill(const canvas *in, const leat__warp *warp, int y, int x, int c) {
    if (y < 0 || x < 0 || y >= in->height || x >= in->width) return warp->value[in->channels <= 4 ? c : 0];
    return value_of(in, y, x, c);
}

static double naive(const canvas *in, const leat__warp *warp, int row, int column, int c) {
    const double *m = warp->m, w = m[6] * column + m[7] * row + 1;
    double x = (m[0] * column + m[1] * row + m[2]) / w, y = (m[3] * column + m[4] * row + m[5]) / w;
    const bool outside = x < 0 || y < 0 || x > in->width - 1 || y > in->height - 1;
    if (warp->fill == LEAT_WARP_CONSTANT && outside && warp->rule == LEAT_WARP_SCIPY)
        return warp->value[in->channels <= 4 ? c : 0];
    if (warp->fill != LEAT_WARP_CONSTANT) {
        x = fold(x, in->width, warp->rule, warp->fill);
        y = fold(y, in->height, warp->rule, warp->fill);
    }
    const double u = floor(x), v = floor(y), a = x - u, b = y - v;
    const int ix = (int)fmin(fmax(u, -9), 99999), iy = (int)fmin(fmax(v, -9), 99999);
    const double top =
        a > 0 ? (1 - a) * pixel_or_fill(in, warp, iy, ix, c) + a * pixel_or_fill(in, warp, iy, ix + 1, c)
              : pixel_or_fill(in, warp, iy, ix, c);
    if (b <= 0) return top;
    const double bottom = (1 - a) * pixel_or_fill(in, warp, iy + 1, ix, c) +
                          (a > 0 ? a * pixel_or_fill(in, warp, iy + 1, ix + 1, c) : 0);
    return (1 - b) * top + b * bottom;
}

/* Wrapped pictures have a seam, where the last bit of a position decides; a constant begins at the edge
 * likewise. */
static bool is_at_seam(const canvas *in, const leat__warp *warp, int row, int column) {
    if (warp->fill != LEAT_WARP_WRAP && warp->fill != LEAT_WARP_CONSTANT) return false;
    const double *m = warp->m, w = m[6] * column + m[7] * row + 1, near = 1e-3;
    const double x = (m[0] * column + m[1] * row + m[2]) / w, y = (m[3] * column + m[4] * row + m[5]) / w;
    const double px = fmax(in->width - 1, 1), py = fmax(in->height - 1, 1);
    return fabs(x / px - round(x / px)) * px < near || fabs(y / py - round(y / py)) * py < near;
}

static void test_linear(void **state) {
    (void)state;
    static canvas in;
    for (int round = 0; round < 400; round++) {
        paint_any(&in);
        const leat__warp warp = random_warp(&in, below(2) ? LEAT_WARP_TF : LEAT_WARP_SCIPY, 1);
        set_pass(&in, 1 + below(SIDE), 1 + below(SIDE), LEAT_DTYPE_F32);
        run_both(&in, &warp);
        for (int y = 0; y < pass.height; y++)
            for (int x = 0; x < pass.width; x++)
                for (int c = 0; c < in.channels; c++) {
                    float got;
                    memcpy(&got, made[0] + 4 * ((y * pass.width + x) * in.channels + c), 4);
                    const double wanted = naive(&in, &warp, y, x, c);
                    const double bound = warp.rule == LEAT_WARP_TF ? 0.5 : 1e-3; /* positions in float */
                    if (!(fabs((double)got - wanted) <= bound) && !is_at_seam(&in, &warp, y, x))
                        fail_msg("round %d, rule %d, fill %d, %dx%dx%d: (%d, %d) is %g and not %g", round,
                                 (int)warp.rule, (int)warp.fill, in.height, in.width, in.channels, y, x,
                                 (double)got, wanted);
                }
    }
}

/* ------------------------------------------------------------------------------------------ promises */

typedef struct way {
    leat__warp_rule rule;
    int order;
} way;

static const way ways[] = {{LEAT_WARP_SCIPY, 0},    {LEAT_WARP_SCIPY, 1}, {LEAT_WARP_SCIPY, 3},
                           {LEAT_WARP_TF, 0},       {LEAT_WARP_TF, 1},    {LEAT_WARP_KERAS_MAP, 0},
                           {LEAT_WARP_KERAS_MAP, 1}};

/* A flip gives the bits of the picture that is flipped afterwards; planes and streams the same values. */
static void test_flips(void **state) {
    (void)state;
    static canvas in;
    static uint8_t plain[VALUES * 4];
    for (int round = 0; round < 280; round++) {
        const way *w = &ways[round % (int)LEAT_COUNT(ways)];
        paint_any(&in);
        const leat__warp warp = random_warp(&in, w->rule, w->order);
        const int dtype = w->order ? LEAT_DTYPE_F32 : in.dtype;
        set_pass(&in, 0, 0, dtype);
        memcpy(plain, made[0], run_both(&in, &warp));
        pass.flip_x = below(2);
        pass.flip_y = below(2);
        pass.nchw = below(2);
        pass.stream = below(2);
        run_both(&in, &warp);
        const int size = (int)leat_dtype_size(dtype), n = in.channels;
        for (int y = 0; y < in.height; y++)
            for (int x = 0; x < in.width; x++)
                for (int c = 0; c < n; c++) {
                    const int u = pass.flip_x ? in.width - 1 - x : x, v = pass.flip_y ? in.height - 1 - y : y;
                    const int at =
                        pass.nchw ? (c * in.height + y) * in.width + x : (y * in.width + x) * n + c;
                    assert_memory_equal(made[0] + at * size, plain + ((v * in.width + u) * n + c) * size,
                                        (size_t)size);
                }
    }
}

/* A matrix that moves nothing changes nothing. */
static void test_unit(void **state) {
    (void)state;
    static canvas in;
    for (int round = 0; round < 200; round++) {
        const way *w = &ways[round % 5];
        paint_any(&in);
        leat__warp warp = random_warp(&in, w->rule, w->order);
        leat__matrix_unit(warp.m);
        set_pass(&in, 0, 0, LEAT_DTYPE_F32);
        run_both(&in, &warp);
        for (int i = 0; i < in.height * in.width * in.channels; i++) {
            float got;
            memcpy(&got, made[0] + 4 * i, 4);
            const float wanted = value_of(&in, 0, 0, i);
            if (!(fabsf(got - wanted) <= (w->order == 3 ? 1e-3f : 0)))
                fail_msg("rule %d, order %d, value %d is %g and not %g", (int)w->rule, w->order, i,
                         (double)got, (double)wanted);
        }
    }
}

/* Rows that are longer than their pixels, and floats where no float should be. */
static void test_rows(void **state) {
    (void)state;
    static canvas in;
    static uint8_t loose[VALUES * 8 + 64], plain[VALUES * 4];
    leat_error err;
    for (int round = 0; round < 100; round++) {
        const way *w = &ways[round % (int)LEAT_COUNT(ways)];
        paint_any(&in);
        const leat__warp warp = random_warp(&in, w->rule, w->order);
        set_pass(&in, 0, 0, w->order ? LEAT_DTYPE_F32 : in.dtype);
        const size_t bytes = run_both(&in, &warp);
        memcpy(plain, made[0], bytes);
        leat__rows rows = rows_of(&in);
        const size_t row = (size_t)rows.stride;
        const int odd = below(5);
        rows.stride += below(9);
        rows.data = loose + odd;
        for (int y = 0; y < in.height; y++)
            memcpy(loose + odd + y * rows.stride, in.bytes + (size_t)y * row, row);
        pass.warp = &warp;
        assert_int_equal(leat__pass_run(&pass, &dsp[below(2)], &rows, made[1], &scratch, &err), 0);
        assert_memory_equal(made[1], plain, bytes);
    }
}

/* Whatever the numbers are, something is read and it is in the picture. */
static void test_wild(void **state) {
    (void)state;
    static canvas in;
    static const double odd[] = {0,        1e300,     -1e300, 1e12,   0.5,         -1,
                                 INFINITY, -INFINITY, NAN,    1e-300, 4294967296.0};
    for (int round = 0; round < 2000; round++) {
        const way *w = &ways[round % (int)LEAT_COUNT(ways)];
        paint(&in, 1 + below(9), 1 + below(9), 1 + below(4), below(2) ? LEAT_DTYPE_U8 : LEAT_DTYPE_F32);
        leat__warp warp = random_warp(&in, w->rule, w->order);
        for (int i = 0; i < 9; i++)
            if (below(3) == 0) warp.m[i] = odd[below((int)LEAT_COUNT(odd))];
        if (w->rule == LEAT_WARP_KERAS_MAP) warp.alpha = odd[below((int)LEAT_COUNT(odd))];
        set_pass(&in, 0, 0, w->order ? LEAT_DTYPE_F32 : in.dtype);
        leat_error err;
        for (int isa = 0; isa < 2; isa++) assert_int_equal(run(isa, &in, &warp, made[isa], &err), 0);
    }
}

static void test_elastic(void **state) {
    (void)state;
    static canvas in;
    static uint8_t first[VALUES * 4];
    paint(&in, 30, 20, 3, LEAT_DTYPE_U8);
    leat__warp warp = {
        .rule = LEAT_WARP_KERAS_MAP, .order = 1, .fill = LEAT_WARP_NEAREST, .alpha = 2, .sigma = 1.5};
    set_pass(&in, 0, 0, LEAT_DTYPE_F32);
    const size_t bytes = run_both(&in, &warp);
    memcpy(first, made[0], bytes);
    run_both(&in, &warp);
    assert_memory_equal(made[0], first, bytes); /* the same numbers every time */
    warp.apart = true;
    run_both(&in, &warp);
    assert_memory_not_equal(made[0], first, bytes);
    warp = (leat__warp){.rule = LEAT_WARP_KERAS_MAP, .order = 1, .alpha = 0, .sigma = 1.5};
    run_both(&in, &warp); /* nothing moves */
    for (int i = 0; i < 30 * 20 * 3; i++) {
        float got;
        memcpy(&got, made[0] + 4 * i, 4);
        assert_true(got == in.bytes[i]);
    }
}

static void test_matrices(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        double from[8], to[8], m[9];
        const double corner[8] = {0, 0, 100, 0, 0, 80, 100, 80};
        for (int i = 0; i < 8; i++)
            from[i] = corner[i] + between(-20, 20), to[i] = corner[i] + between(-20, 20);
        assert_true(leat__matrix_from_points(m, from, to, false));
        for (int k = 0; k < 4; k++) {
            const double x = from[2 * k], y = from[2 * k + 1], w = m[6] * x + m[7] * y + m[8];
            assert_true(fabs((m[0] * x + m[1] * y + m[2]) / w - to[2 * k]) < 1e-9);
            assert_true(fabs((m[3] * x + m[4] * y + m[5]) / w - to[2 * k + 1]) < 1e-9);
        }
    }
    const double line[8] = {0, 0, 1, 1, 2, 2, 3, 3}, square[8] = {0, 0, 1, 0, 0, 1, 1, 1};
    double m[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    assert_false(leat__matrix_from_points((double[9]){0}, line, square, false));
    leat__matrix_centre(m, 5, 3); /* a quarter of a turn: the middle stays */
    assert_true(m[0] * 5 + m[1] * 3 + m[2] == 5 && m[3] * 5 + m[4] * 3 + m[5] == 3);
}

static void test_refused(void **state) {
    (void)state;
    static canvas in;
    leat_error err;
    paint(&in, 4, 4, 1, LEAT_DTYPE_U8);
    set_pass(&in, 0, 0, LEAT_DTYPE_F32);
    leat__warp warp = {.order = 2, .m = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    assert_int_equal(run(0, &in, &warp, made[0], &err), LEAT_ERR_ARGUMENT);
    warp.order = 3;
    warp.rule = LEAT_WARP_TF;
    assert_int_equal(run(0, &in, &warp, made[0], &err), LEAT_ERR_ARGUMENT);
    warp = (leat__warp){.rule = LEAT_WARP_KERAS_MAP, .order = 1, .sigma = 0};
    assert_int_equal(run(0, &in, &warp, made[0], &err), LEAT_ERR_ARGUMENT);
    warp = (leat__warp){.order = 1, .m = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    pass.warp = &warp;
    leat__rows rows = rows_of(&in);
    rows.dtype = LEAT_DTYPE_U16;
    assert_int_equal(leat__pass_run(&pass, &dsp[0], &rows, made[0], &scratch, &err), LEAT_ERR_TYPE);
    rows = rows_of(&in);
    rows.width = 70000;
    assert_int_equal(leat__pass_run(&pass, &dsp[0], &rows, made[0], &scratch, &err), LEAT_ERR_LIMIT);
    rows.width = rows.height = 60000;
    rows.stride = 60000;
    assert_int_equal(leat__pass_run(&pass, &dsp[0], &rows, made[0], &scratch, &err), LEAT_ERR_LIMIT);
    assert_non_null(strstr(err.message, "2 GiB"));
}

static int begin(void **state) {
    (void)state;
    leat__image_dsp_init(&dsp[0], 0);
    leat__image_dsp_init(&dsp[1], leat__cpu_flags());
    return 0;
}

static int end(void **state) {
    (void)state;
    leat__pass_scratch_free(&scratch);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),   cmocka_unit_test(test_flips),   cmocka_unit_test(test_unit),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_wild),    cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_matrices), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
