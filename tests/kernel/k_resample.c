/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/harness.h"

/* Sizes of an axis: mostly small, up and down, sometimes extreme. */
static void random_axis(int *n_in, int *n_out) {
    *n_in = 1 + (int)k_below(k_below(8) ? 100 : 3000);
    *n_out = 1 + (int)k_below(k_below(8) ? 100 : 700);
}

static void must_build(leat__taps *taps, leat__resample method, int n_in, int n_out, bool flip, int lanes) {
    leat_error err;
    if (leat__taps_build(taps, method, n_in, n_out, flip, lanes, &err) < 0) assert(!"no memory");
}

static void check_tf_h(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    leat__taps taps = {0};
    const size_t ch = (size_t)channels;
    for (int round = 0; round < K_ROUNDS; round++) {
        int n_in, n_out;
        void *a, *b;
        random_axis(&n_in, &n_out);
        must_build(&taps, LEAT_RESAMPLE_TF_BILINEAR, n_in, n_out, k_below(2), 0);
        uint8_t *src = k_input(0, (size_t)n_in * ch);
        k_fill(src, (size_t)n_in * ch);
        const size_t bytes = (size_t)n_out * ch * sizeof(float);
        k_outputs(bytes, 4 * k_below(16), &a, &b);
        c->tf_h_u8[leat__image_dsp_index(channels)](a, src, &taps, channels);
        isa->tf_h_u8[leat__image_dsp_index(channels)](b, src, &taps, channels);
        k_compare(bytes, LEAT_ROW_PAD, "%d to %d, flip %d", n_in, n_out, taps.flip);
    }
    leat__taps_free(&taps);
}

static void bench_tf_h(const leat__image_dsp *isa, int channels, k_bench *bench) {
    leat__taps taps = {0};
    const size_t ch = (size_t)channels;
    void *a, *b;
    must_build(&taps, LEAT_RESAMPLE_TF_BILINEAR, 500, 224, false, 0);
    uint8_t *src = k_input(0, 500 * ch);
    k_fill(src, 500 * ch);
    k_outputs(224 * ch * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, 500 * ch + 224 * ch * sizeof(float)); k_bench_go(bench);)
        isa->tf_h_u8[leat__image_dsp_index(channels)](a, src, &taps, channels);
    leat__taps_free(&taps);
}

static leat__resample any_pil(void) {
    return (leat__resample)(LEAT_RESAMPLE_PIL_BOX + (int)k_below(5));
}

static leat__resample any_weighted(void) {
    return (leat__resample)(LEAT_RESAMPLE_TF_BICUBIC + (int)k_below(12));
}

static void check_pil_h(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    leat__taps plain = {0}, taps = {0};
    const size_t ch = (size_t)channels;
    const int k = leat__image_dsp_index(channels);
    for (int round = 0; round < K_ROUNDS; round++) {
        int n_in, n_out;
        void *a, *b;
        random_axis(&n_in, &n_out);
        const bool flip = k_below(2);
        const leat__resample method = any_pil();
        must_build(&plain, method, n_in, n_out, flip, c->lanes[k]);
        must_build(&taps, method, n_in, n_out, flip, isa->lanes[k]);
        uint8_t *src = k_input(0, (size_t)n_in * ch);
        k_fill(src, (size_t)n_in * ch);
        k_outputs((size_t)n_out * ch, k_below(64), &a, &b);
        c->pil_h[k](a, src, &plain, channels);
        isa->pil_h[k](b, src, &taps, channels);
        k_compare((size_t)n_out * ch, LEAT_ROW_PAD, "method %d, %d to %d, flip %d", method, n_in, n_out,
                  flip);
    }
    leat__taps_free(&plain);
    leat__taps_free(&taps);
}

/* Of each row what lies behind it up to a multiple of 8 is anybody's. */
static void check_pil_h_planes(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    leat__taps plain = {0}, taps = {0};
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        int n_in, n_out;
        void *a, *b;
        random_axis(&n_in, &n_out);
        const bool flip = k_below(2);
        const leat__resample method = any_pil();
        must_build(&plain, method, n_in, n_out, flip, c->lanes[1]);
        must_build(&taps, method, n_in, n_out, flip, isa->lanes[1]);
        const size_t out = (size_t)n_out, rest = LEAT_ALIGN_UP(out, (size_t)8) - out;
        const size_t src_apart = (size_t)n_in + k_below(40), dst_apart = out + rest + k_below(20);
        uint8_t *src = k_input(0, 2 * src_apart + (size_t)n_in);
        k_fill(src, 2 * src_apart + (size_t)n_in);
        k_outputs(2 * dst_apart + out, k_below(64), &a, &b);
        c->pil_h_planes(a, dst_apart, src, src_apart, &plain);
        isa->pil_h_planes(b, dst_apart, src, src_apart, &taps);
        for (size_t k = 0; k < 2; k++)
            memcpy((uint8_t *)b + k * dst_apart + out, (uint8_t *)a + k * dst_apart + out, rest);
        k_compare(2 * dst_apart + out, rest, "method %d, %d to %d, flip %d", method, n_in, n_out, flip);
    }
    leat__taps_free(&plain);
    leat__taps_free(&taps);
}

static void bench_pil_h_planes(const leat__image_dsp *isa, int arg, k_bench *bench) {
    leat__taps taps = {0};
    void *a, *b;
    (void)arg;
    must_build(&taps, LEAT_RESAMPLE_PIL_BILINEAR, 500, 224, false, isa->lanes[1]);
    uint8_t *src = k_input(0, 1500);
    k_fill(src, 1500);
    k_outputs(672, 0, &a, &b);
    for (k_bench_begin(bench, 1500 + 672); k_bench_go(bench);) isa->pil_h_planes(a, 224, src, 500, &taps);
    leat__taps_free(&taps);
}

static void bench_pil_h(const leat__image_dsp *isa, int channels, k_bench *bench) {
    leat__taps taps = {0};
    const size_t ch = (size_t)channels;
    const int k = leat__image_dsp_index(channels);
    void *a, *b;
    must_build(&taps, LEAT_RESAMPLE_PIL_BILINEAR, 500, 224, false, isa->lanes[k]);
    uint8_t *src = k_input(0, 500 * ch);
    k_fill(src, 500 * ch);
    k_outputs(224 * ch, 0, &a, &b);
    for (k_bench_begin(bench, (500 + 224) * ch); k_bench_go(bench);) isa->pil_h[k](a, src, &taps, channels);
    leat__taps_free(&taps);
}

static void check_pil_v(const leat__image_dsp *c, const leat__image_dsp *isa, int arg) {
    leat__taps taps = {0};
    const uint8_t *rows[12];
    (void)arg;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const int n_in = 1 + (int)k_below(40), n_out = n_in / 5 + 1 + (int)k_below(60);
        const size_t n = 1 + k_below(k_below(4) ? 150 : 2000);
        must_build(&taps, any_pil(), n_in, n_out, false, 0);
        const int at = (int)k_below((size_t)n_out), count = taps.count[at];
        for (int t = 0; t < count && t < 12; t++) {
            uint8_t *row = k_input(t, n);
            k_fill(row, n);
            rows[t] = row;
        }
        const int32_t *coef = taps.coef + (size_t)at * (size_t)taps.coef_step;
        k_outputs(n, k_below(64), &a, &b);
        c->pil_v(a, rows, coef, LEAT_MIN(count, 12), n);
        isa->pil_v(b, rows, coef, LEAT_MIN(count, 12), n);
        k_compare(n, 0, "%d taps, %zu bytes", count, n);
    }
    leat__taps_free(&taps);
}

static void bench_pil_v(const leat__image_dsp *isa, int n_taps, k_bench *bench) {
    const uint8_t *rows[12];
    int32_t coef[12];
    const size_t n = 672;
    void *a, *b;
    for (int t = 0; t < n_taps; t++) {
        uint8_t *row = k_input(t, n);
        k_fill(row, n);
        rows[t] = row;
        coef[t] = (1 << LEAT_PIL_BITS) / n_taps;
    }
    k_outputs(n, 0, &a, &b);
    for (k_bench_begin(bench, n * (size_t)(n_taps + 1)); k_bench_go(bench);)
        isa->pil_v(a, rows, coef, n_taps, n);
}

/* Which of several NaNs comes out of a sum is the compiler's choice; that there is one is not. */
static void level_nans(float *a, float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != a[i] && b[i] != b[i]) a[i] = b[i] = 0.0f;
}

static void check_sum_h(const leat__image_dsp *c, const leat__image_dsp *isa, int channels) {
    leat__taps plain = {0}, taps = {0};
    const size_t ch = (size_t)channels;
    const int k = leat__image_dsp_index(channels);
    for (int round = 0; round < K_ROUNDS; round++) {
        int n_in, n_out;
        void *a, *b;
        random_axis(&n_in, &n_out);
        const bool flip = k_below(2);
        const leat__resample method = any_weighted();
        must_build(&plain, method, n_in, n_out, flip, c->lanes[k]);
        must_build(&taps, method, n_in, n_out, flip, isa->lanes[k]);
        float *src = k_input(0, (size_t)n_in * ch * sizeof(float));
        k_fill_f32(src, (size_t)n_in * ch);
        const size_t bytes = (size_t)n_out * ch * sizeof(float);
        k_outputs(bytes, 4 * k_below(16), &a, &b);
        c->sum_h[k](a, src, &plain, channels);
        isa->sum_h[k](b, src, &taps, channels);
        level_nans(a, b, (size_t)n_out * ch);
        k_compare(bytes, LEAT_ROW_PAD, "method %d, %d to %d, flip %d", method, n_in, n_out, flip);
    }
    leat__taps_free(&plain);
    leat__taps_free(&taps);
}

static void bench_sum_h(const leat__image_dsp *isa, int channels, k_bench *bench) {
    leat__taps taps = {0};
    const size_t ch = (size_t)channels;
    const int k = leat__image_dsp_index(channels);
    void *a, *b;
    must_build(&taps, LEAT_RESAMPLE_TF_BILINEAR_AA, 500, 224, false, isa->lanes[k]);
    float *src = k_input(0, 500 * ch * sizeof(float));
    k_fill_f32(src, 500 * ch);
    k_outputs(224 * ch * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, (500 + 224) * ch * sizeof(float)); k_bench_go(bench);)
        isa->sum_h[k](a, src, &taps, channels);
    leat__taps_free(&taps);
}

/* item: bytes of a value, 1 or 4. */
static void fill_row(void *row, size_t n, int item) {
    if (item == 1) k_fill(row, n);
    else k_fill_f32(row, n);
}

static void check_sum_v(const leat__image_dsp *c, const leat__image_dsp *isa, int item) {
    const void *rows[12];
    float weight[12];
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const int count = 1 + (int)k_below(12);
        const size_t n = 1 + k_below(k_below(4) ? 150 : 2000);
        for (int t = 0; t < count; t++) {
            void *row = k_input(t, n * (size_t)item);
            fill_row(row, n, item);
            rows[t] = row;
            weight[t] = (float)(int)k_below(2000) / 1000.0f - 0.5f;
        }
        const float scale = k_below(2) ? 1.0f : 0.3f;
        k_outputs(n * sizeof(float), 4 * k_below(16), &a, &b);
        (item == 1 ? c->sum_v_u8 : c->sum_v_f32)(a, rows, weight, count, scale, n);
        (item == 1 ? isa->sum_v_u8 : isa->sum_v_f32)(b, rows, weight, count, scale, n);
        level_nans(a, b, n);
        k_compare(n * sizeof(float), 0, "%d taps, %zu values", count, n);
    }
}

/* Sums about the range of bytes, many of them just between two, and now and then what no picture holds. */
static void check_sum_v_round(const leat__image_dsp *c, const leat__image_dsp *isa, int unused) {
    const void *rows[12];
    float weight[12];
    (void)unused;
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const int count = 1 + (int)k_below(12);
        const size_t n = 1 + k_below(k_below(4) ? 150 : 2000);
        const bool halves = k_below(2), wild = k_below(4) == 0;
        for (int t = 0; t < count; t++) {
            float *row = k_input(t, n * sizeof(float));
            if (wild) fill_row(row, n, 4);
            for (size_t i = 0; !wild && i < n; i++) row[i] = (float)(int)k_below(600) - 150.0f;
            rows[t] = row;
            weight[t] = halves ? (float)(int)k_below(3) * 0.5f - 0.25f * (count == 1)
                               : (float)(int)k_below(2000) / 3000.0f;
        }
        k_outputs(n, k_below(64), &a, &b);
        c->sum_v_round(a, rows, weight, count, n);
        isa->sum_v_round(b, rows, weight, count, n);
        k_compare(n, 0, "%d taps, %zu values", count, n);
    }
}

static void bench_sum_v_round(const leat__image_dsp *isa, int taps, k_bench *bench) {
    const void *rows[7];
    const float weight[7] = {0.1f, 0.1f, 0.2f, 0.2f, 0.2f, 0.1f, 0.1f};
    const size_t n = 768;
    void *a, *b;
    for (int t = 0; t < taps; t++) {
        void *row = k_input(t, n * sizeof(float));
        fill_row(row, n, 4);
        rows[t] = row;
    }
    k_outputs(n, 0, &a, &b);
    for (k_bench_begin(bench, n * (4 * (size_t)taps + 1)); k_bench_go(bench);)
        isa->sum_v_round(a, rows, weight, taps, n);
}

static void bench_sum_v(const leat__image_dsp *isa, int item, k_bench *bench) {
    const void *rows[4];
    const float weight[4] = {0.1f, 0.3f, 0.4f, 0.2f};
    const size_t n = 1500;
    void *a, *b;
    for (int t = 0; t < 4; t++) {
        void *row = k_input(t, n * (size_t)item);
        fill_row(row, n, item);
        rows[t] = row;
    }
    k_outputs(n * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, n * 4 * (size_t)item + n * sizeof(float)); k_bench_go(bench);)
        (item == 1 ? isa->sum_v_u8 : isa->sum_v_f32)(a, rows, weight, 4, 1.0f, n);
}

const k_case k_resample_cases[] = {
    {"tf_h_gray", 1, check_tf_h, bench_tf_h},
    {"tf_h_rgb", 3, check_tf_h, bench_tf_h},
    {"tf_h_rgba", 4, check_tf_h, bench_tf_h},
    {"tf_h_any", 5, check_tf_h, NULL},
    {"pil_h_gray", 1, check_pil_h, bench_pil_h},
    {"pil_h_rgb", 3, check_pil_h, bench_pil_h},
    {"pil_h_rgba", 4, check_pil_h, bench_pil_h},
    {"pil_h_any", 2, check_pil_h, NULL},
    {"pil_h_planes", 1, check_pil_h_planes, bench_pil_h_planes},
    {"pil_v", 4, check_pil_v, bench_pil_v},
    {"sum_h_gray", 1, check_sum_h, bench_sum_h},
    {"sum_h_rgb", 3, check_sum_h, bench_sum_h},
    {"sum_h_rgba", 4, check_sum_h, bench_sum_h},
    {"sum_h_any", 2, check_sum_h, NULL},
    {"sum_v_u8", 1, check_sum_v, bench_sum_v},
    {"sum_v_f32", 4, check_sum_v, bench_sum_v},
    {"sum_v_round", 5, check_sum_v_round, bench_sum_v_round},
    {0},
};
