/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* The fused pass against naive code that computes one output value at a time from the definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/pass/pass.h"
#include "unit/naive_resize.h"

#define GUARD 96
static uint32_t random_state = 1;

static uint32_t random_u32(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void fill(picture *p, int height, int width, int channels, int dtype) {
    *p = (picture){.height = height, .width = width, .channels = channels, .dtype = dtype};
    for (int i = 0; i < height * width * channels; i++) {
        if (dtype == LEAT_DTYPE_U8) p->u8[i] = (uint8_t)random_u32();
        else p->f32[i] = (float)(int)(random_u32() % 100000) / 300.0f - 40.0f;
    }
}

/* --------------------------------------------------------------------------------------- naive pass */

static uint8_t to_u8(float x) {
    return !(x > 0) ? 0 : x >= 255 ? 255 : (uint8_t)x;
}

/* One value through the points; bytes tells whether it is a byte before and after. */
static float naive_points(const leat__pass *pass, float value, bool bytes, int channel, int channels) {
    const int k = channels > 4 ? 0 : channel;
    for (int i = 0; i < pass->n_points; i++) {
        const leat__point *point = &pass->point[i];
        const bool wants_bytes = point->kind == LEAT_POINT_TABLE || point->kind == LEAT_POINT_TO_U8;
        if (wants_bytes && !bytes) value = to_u8(value);
        bytes = wants_bytes;
        if (point->kind == LEAT_POINT_AFFINE) {
            value = value * point->as.affine.mul[k];
            value = value + point->as.affine.add[k];
        } else if (point->kind == LEAT_POINT_CLAMP) {
            if (!(value > point->as.clamp.low)) value = point->as.clamp.low;
            if (!(value < point->as.clamp.high)) value = point->as.clamp.high;
        } else if (point->kind == LEAT_POINT_TABLE) {
            value = pass->table[point->as.table.number][point->as.table.each ? k : 0][(int)value];
        }
    }
    return value;
}

static void naive_pass(const leat__pass *pass, const picture *in, void *dst) {
    static picture mid;
    const bool same = in->height == pass->height && in->width == pass->width;
    const leat__resample method = pass->resample;
    const bool linear = method >= LEAT_RESAMPLE_TF_BILINEAR && method <= LEAT_RESAMPLE_TF_MITCHELL_AA;
    const bool blurs = method >= LEAT_RESAMPLE_TF_LANCZOS3 && method <= LEAT_RESAMPLE_TF_MITCHELL_AA;
    if ((same && !blurs) || method == LEAT_RESAMPLE_NONE) {
        mid = *in;
    } else {
        mid.height = pass->height, mid.width = pass->width, mid.channels = in->channels;
        mid.dtype = linear ? LEAT_DTYPE_F32 : in->dtype;
        if (method == LEAT_RESAMPLE_TF_BILINEAR) naive_linear(&mid, in);
        else if (linear) naive_weighted(method, &mid, in);
        else if (method == LEAT_RESAMPLE_TF_NEAREST || method == LEAT_RESAMPLE_PIL_NEAREST)
            naive_nearest(method == LEAT_RESAMPLE_PIL_NEAREST, &mid, in);
        else naive_pil(method, &mid, in);
    }
    const int h = pass->height, w = pass->width, ch = in->channels;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < ch; c++) {
                const int v = pass->flip_y ? h - 1 - y : y, u = pass->flip_x ? w - 1 - x : x;
                float value = value_at(&mid, v, u, c);
                value = naive_points(pass, value, mid.dtype == LEAT_DTYPE_U8, c, ch);
                const int at = pass->nchw ? (c * h + y) * w + x : (y * w + x) * ch + c;
                if (pass->dtype == LEAT_DTYPE_U8) ((uint8_t *)dst)[at] = to_u8(value);
                else memcpy((uint8_t *)dst + 4 * at, &value, 4);
            }
}

/* --------------------------------------------------------------------------------------- comparing */

typedef struct pipeline {
    const picture *in;
    int last;
    int fail_at;
    size_t apart; /* of planes          */
    uint8_t *row; /* the only valid one */
} pipeline;

static int next_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    pipeline *f = rows->user;
    const size_t bytes = (size_t)(f->in->width * f->in->channels) * (f->in->dtype == LEAT_DTYPE_U8 ? 1 : 4);
    assert_true(y > f->last && y < f->in->height);
    f->last = y;
    if (y >= f->fail_at) return leat__fail(err, LEAT_ERR_DECODE, "row %d is damaged", y);
    leat__free(f->row); /* a new place each time, so that sanitizers see who keeps an old one */
    f->row = leat__alloc(LEAT_MEM_TOOL, bytes);
    memcpy(f->row, (const uint8_t *)f->in->u8 + (size_t)y * bytes, bytes);
    *out = f->row;
    return 0;
}

static leat__rows rows_in_memory(const picture *in) {
    const int size = in->dtype == LEAT_DTYPE_U8 ? 1 : 4;
    return (leat__rows){.height = in->height,
                        .width = in->width,
                        .channels = in->channels,
                        .dtype = in->dtype,
                        .data = in->u8,
                        .stride = (ptrdiff_t)in->width * in->channels * size};
}

static leat__image_dsp dsp[2]; /* plain C, and all that this machine has */
static leat__pass_scratch scratch;
static LEAT_ALIGNED(64) uint8_t want[VALUES_MAX * 4 + 3 * GUARD], got[VALUES_MAX * 4 + 3 * GUARD];

static void compare(const leat__pass *pass, const picture *in, int place, const char *what) {
    const size_t n =
        (size_t)(pass->height * pass->width * in->channels) * (pass->dtype == LEAT_DTYPE_U8 ? 1 : 4);
    const size_t at = GUARD + (size_t)place;
    for (size_t i = 0; i < at + n + GUARD; i++) {
        const bool inside = i >= at && i < at + n;
        if (got[i] == (inside ? want[i] : 0xa5)) continue;
        fail_msg("%s: byte %zd of %zu; %dx%dx%d type %d to %dx%d type %d; resample %d flips %d %d nchw %d "
                 "points %d "
                 "tables %d stream %d",
                 what, (ptrdiff_t)i - (ptrdiff_t)at, n, in->height, in->width, in->channels, in->dtype,
                 pass->height, pass->width, pass->dtype, (int)pass->resample, pass->flip_x, pass->flip_y,
                 pass->nchw, pass->n_points, pass->n_tables, pass->stream);
    }
}

/* The same row as planes, which no one else follows at once. */
static int next_planes(leat__rows *rows, int y, const void **out, leat_error *err) {
    pipeline *f = rows->user;
    const size_t width = (size_t)f->in->width, channels = (size_t)f->in->channels;
    LEAT_TRY(next_row(rows, y, out, err));
    uint8_t *apart = leat__alloc(LEAT_MEM_TOOL, f->apart * channels);
    memset(apart, 0xee, f->apart * channels);
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < channels; c++) apart[c * f->apart + x] = f->row[x * channels + c];
    leat__free(f->row);
    *out = f->row = apart;
    return 0;
}

static bool give_planes(leat__rows *rows, size_t *apart) {
    pipeline *f = rows->user;
    assert_true(f->last < 0 && rows->dtype == LEAT_DTYPE_U8);
    rows->row = next_planes;
    *apart = f->apart;
    return true;
}

static void check_pass(leat__pass *pass, const picture *in) {
    leat_error err;
    const int place = (int)(random_u32() % 16) * 4;
    naive_pass(pass, in, want + GUARD + place);
    for (int isa = 0; isa < 2; isa++) {
        leat__rows rows = rows_in_memory(in);
        memset(got, 0xa5, sizeof got);
        assert_int_equal(leat__pass_run(pass, &dsp[isa], &rows, got + GUARD + place, &scratch, &err), 0);
        compare(pass, in, place, isa ? "vector code" : "plain C");
    }
    for (int planes = 0; planes < 2; planes++) {
        pipeline f = {
            .in = in, .last = -1, .fail_at = in->height, .apart = (size_t)in->width + random_u32() % 9};
        leat__rows rows = rows_in_memory(in);
        rows.data = NULL, rows.row = next_row, rows.user = &f;
        if (planes) rows.planes = give_planes;
        memset(got, 0xa5, sizeof got);
        assert_int_equal(
            leat__pass_run(pass, &dsp[random_u32() % 2], &rows, got + GUARD + place, &scratch, &err), 0);
        leat__free(f.row);
        compare(pass, in, place, planes ? "rows as planes" : "rows as a stream");
    }
}

static void no_solve(leat__pass *pass, int i, const leat__stats *stats) {
    (void)pass, (void)i, (void)stats;
}

static void random_points(leat__pass *pass) {
    static const int counts[] = {0, 0, 1, 2, 3, 4, 5, 9, 12};
    const int n = counts[random_u32() % LEAT_COUNT(counts)];
    const bool affine_only = random_u32() % 2;
    for (int i = 0; i < n; i++) {
        leat__affine affine;
        uint8_t table[256];
        for (int c = 0; c < 4; c++) {
            affine.mul[c] = (float)(random_u32() % 1000) / 400.0f - 0.5f;
            affine.add[c] = (float)(random_u32() % 1000) / 20.0f - 20.0f;
        }
        for (int k = 0; k < 256; k++) table[k] = (uint8_t)random_u32();
        switch (affine_only ? 0 : random_u32() % 6) {
        default: leat__pass_add_affine(pass, &affine); break;
        case 1: leat__pass_add_clamp(pass, affine.add[0], affine.add[0] + 60.0f); break;
        case 2:
            if (pass->n_tables < LEAT_PASS_TABLES) leat__pass_add_table(pass, table);
            break;
        case 3: leat__pass_add_to_u8(pass); break;
        case 4:
            if (pass->n_tables == LEAT_PASS_TABLES) break;
            leat__pass_add_measured(pass, 0, 1, true, no_solve, NULL);
            pass->point[pass->n_points - 1].solve = NULL; /* only the tables, one a channel, are wanted */
            for (int k = 0; k < 1024; k++)
                pass->table[pass->n_tables - 1][k / 256][k % 256] = (uint8_t)random_u32();
            break;
        }
    }
    pass->stream = random_u32() % 2;
}

static const int sizes[][4] = {
    {1, 1, 1, 1},     {1, 1, 5, 3},     {7, 9, 1, 1},     {1, 67, 1, 20},   {67, 1, 20, 1},
    {1, 20, 1, 67},   {33, 31, 33, 31}, {33, 31, 17, 31}, {33, 31, 33, 50}, {64, 48, 32, 24},
    {20, 19, 61, 53}, {70, 70, 3, 2},   {5, 66, 41, 13},  {50, 64, 27, 64},
};

static void check_all(leat__resample resample) {
    static picture in;
    static const int channels[] = {1, 3, 4, 2, 5};
    for (size_t s = 0; s < LEAT_COUNT(sizes); s++)
        for (size_t c = 0; c < LEAT_COUNT(channels); c++)
            for (int bits = 0; bits < 32; bits++) {
                /* Methods share code: of the many each takes a quarter of the cases, at random. */
                if (resample > LEAT_RESAMPLE_TF_BICUBIC && random_u32() % 4) continue;
                leat__pass pass = {.resample = resample, .height = sizes[s][2], .width = sizes[s][3]};
                const int src_dtype = bits & 16 ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8;
                if (resample >= LEAT_RESAMPLE_PIL_NEAREST && src_dtype == LEAT_DTYPE_F32) continue;
                if (resample == LEAT_RESAMPLE_NONE) pass.height = sizes[s][0], pass.width = sizes[s][1];
                fill(&in, sizes[s][0], sizes[s][1], channels[c], src_dtype);
                pass.flip_x = bits & 1, pass.flip_y = bits & 2, pass.nchw = bits & 4;
                pass.dtype = bits & 8 ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8;
                random_points(&pass);
                check_pass(&pass, &in);
            }
}

static void test_plain(void **state) {
    (void)state;
    check_all(LEAT_RESAMPLE_NONE);
}

static void test_nearest(void **state) {
    (void)state;
    check_all(LEAT_RESAMPLE_TF_NEAREST);
}

static void test_linear(void **state) {
    (void)state;
    check_all(LEAT_RESAMPLE_TF_BILINEAR);
}

static void test_weighted(void **state) {
    (void)state;
    for (int r = LEAT_RESAMPLE_TF_BICUBIC; r <= LEAT_RESAMPLE_TF_MITCHELL_AA; r++)
        check_all((leat__resample)r);
}

static void test_pil(void **state) {
    (void)state;
    for (int r = LEAT_RESAMPLE_PIL_NEAREST; r < LEAT_N_RESAMPLES; r++) check_all((leat__resample)r);
}

/* A region of a larger picture: the rows are not neighbours. */
static void test_stride(void **state) {
    static picture whole, part;
    (void)state;
    for (int bits = 0; bits < 8; bits++) {
        leat_error err;
        leat__pass pass = {.height = 20,
                           .width = 30,
                           .flip_x = bits & 1,
                           .flip_y = bits & 2,
                           .nchw = bits & 4,
                           .dtype = LEAT_DTYPE_F32};
        fill(&whole, 40, 50, 3, LEAT_DTYPE_U8);
        part = (picture){.height = 20, .width = 30, .channels = 3, .dtype = LEAT_DTYPE_U8};
        for (int y = 0; y < 20; y++) memcpy(part.u8 + y * 90, whole.u8 + ((y + 7) * 50 + 9) * 3, 90);
        naive_pass(&pass, &part, want + GUARD);
        leat__rows rows = rows_in_memory(&part);
        rows.data = whole.u8 + (7 * 50 + 9) * 3;
        rows.stride = 150;
        memset(got, 0xa5, sizeof got);
        assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got + GUARD, &scratch, &err), 0);
        compare(&pass, &part, 0, "a region");
    }
}

/* Floats at an odd address, as they lie in the bytes of a record. */
static void test_odd_address(void **state) {
    static picture in;
    static uint8_t bytes[40 * 30 * 3 * 4 + 80];
    (void)state;
    fill(&in, 40, 30, 3, LEAT_DTYPE_F32);
    memcpy(bytes + 1, in.f32, 40 * 30 * 3 * 4);
    for (int bits = 0; bits < 4 * LEAT_RESAMPLE_PIL_NEAREST; bits++) {
        leat_error err;
        const bool none = bits < 4;
        leat__pass pass = {.resample = (leat__resample)(bits / 4),
                           .height = none ? 40 : 17,
                           .width = none ? 30 : 41,
                           .flip_x = bits & 1,
                           .flip_y = bits & 2,
                           .dtype = LEAT_DTYPE_F32};
        naive_pass(&pass, &in, want + GUARD);
        leat__rows rows = rows_in_memory(&in);
        rows.data = bytes + 1;
        memset(got, 0xa5, sizeof got);
        assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got + GUARD, &scratch, &err), 0);
        compare(&pass, &in, 0, "odd address");
        assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got + GUARD + 1, &scratch, &err),
                         LEAT_ERR_ARGUMENT);
    }
}

static void test_refusals(void **state) {
    static picture in;
    leat_error err;
    (void)state;
    fill(&in, 10, 12, 3, LEAT_DTYPE_U8);
    leat__rows rows = rows_in_memory(&in);
    leat__pass pass = {.height = 10, .width = 11, .dtype = LEAT_DTYPE_U8};
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_SHAPE);
    assert_non_null(strstr(err.message, "10x12"));
    pass.height = 0;
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_SHAPE);
    pass = (leat__pass){.height = 10, .width = 12, .dtype = LEAT_DTYPE_I16};
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_TYPE);
    pass = (leat__pass){.height = 5, .width = 5, .resample = LEAT_RESAMPLE_PIL_BILINEAR};
    fill(&in, 10, 12, 3, LEAT_DTYPE_F32);
    rows = rows_in_memory(&in);
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_TYPE);
    pass.dtype = LEAT_DTYPE_U8;
    pass.n_points = LEAT_PASS_POINTS + 1;
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_ARGUMENT);
    pass = (leat__pass){.height = 5, .width = INT32_MAX, .resample = LEAT_RESAMPLE_TF_NEAREST};
    assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_LIMIT);
}

/* A row that cannot be had ends the pass with the source's own words. */
static void test_bad_row(void **state) {
    static picture in;
    (void)state;
    fill(&in, 30, 20, 3, LEAT_DTYPE_U8);
    for (int r = 0; r < LEAT_N_RESAMPLES; r++) {
        leat_error err;
        pipeline f = {.in = &in, .last = -1, .fail_at = 13};
        leat__rows rows = rows_in_memory(&in);
        rows.data = NULL, rows.row = next_row, rows.user = &f;
        const bool none = r == LEAT_RESAMPLE_NONE;
        leat__pass pass = {.resample = (leat__resample)r,
                           .height = none ? 30 : 15,
                           .width = none ? 20 : 11,
                           .dtype = LEAT_DTYPE_F32};
        assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &scratch, &err), LEAT_ERR_DECODE);
        assert_non_null(strstr(err.message, "damaged"));
        leat__free(f.row);
    }
}

/* Every allocation fails once; afterwards the same scratch works. A second run allocates nothing. */
static void test_memory(void **state) {
    static picture in;
    (void)state;
    fill(&in, 30, 20, 4, LEAT_DTYPE_U8);
    for (int r = 1; r < LEAT_N_RESAMPLES; r++) {
        leat_error err;
        leat__pass_scratch own = {0};
        leat__pass pass = {.resample = (leat__resample)r, .height = 12, .width = 50, .dtype = LEAT_DTYPE_U8};
        for (int i = 0; i < 5; i++) leat__pass_add_scale(&pass, 1.0f, 0.0f);
        int rc = -1;
        for (uint64_t n = 1; rc < 0; n++) {
            leat__rows rows = rows_in_memory(&in);
            leat__pass_scratch_free(&own);
            leat__mem_fail_at(n);
            rc = leat__pass_run(&pass, &dsp[1], &rows, got, &own, &err);
            leat__mem_fail_at(0);
            if (rc < 0) assert_int_equal(rc, LEAT_ERR_MEMORY);
            if (rc < 0) assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &own, &err), 0);
            assert_true(n < 50);
        }
        const uint32_t grown = leat__pass_scratch_grown(&own);
        assert_true(grown > 0);
        leat__rows rows = rows_in_memory(&in);
        leat__mem_fail_at(0);
        assert_int_equal(leat__pass_run(&pass, &dsp[1], &rows, got, &own, &err), 0);
        assert_int_equal(leat__mem_fail_at(0), 0);
        assert_int_equal(leat__pass_scratch_grown(&own), grown);
        leat__pass_scratch_free(&own);
    }
}

int main(void) {
    leat__image_dsp_init(&dsp[0], 0);
    leat__image_dsp_init(&dsp[1], leat__cpu_flags());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),       cmocka_unit_test(test_nearest),  cmocka_unit_test(test_linear),
        cmocka_unit_test(test_weighted),    cmocka_unit_test(test_pil),      cmocka_unit_test(test_stride),
        cmocka_unit_test(test_odd_address), cmocka_unit_test(test_refusals), cmocka_unit_test(test_bad_row),
        cmocka_unit_test(test_memory),
    };
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    leat__pass_scratch_free(&scratch);
    return rc;
}
