/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of lossy WebP. They have a table of their own. */
#include "kernel/harness.h"

#include "decode/webp/webp_dsp.h"

enum { STRIDE = 96, ROWS = 32, AREA = STRIDE * ROWS }; /* planes in which a macroblock lies somewhere */

static void init_table(void *table, unsigned flags) {
    leat__webp_dsp_init(table, flags);
}
const k_table k_webp_table = {"webp", sizeof(leat__webp_dsp), init_table};

static void tables(leat__webp_dsp dsp[2]) {
    leat__webp_dsp_init(&dsp[0], 0);
    leat__webp_dsp_init(&dsp[1], k_isa_flags());
    k_replace(&dsp[1], sizeof dsp[1]);
}

/* Samples as photos have them near an edge, or of every kind. */
static void fill_samples(uint8_t *bytes, size_t n) {
    k_fill(bytes, n);
    const size_t kind = k_below(4), base = k_below(250);
    if (kind == 0) return;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(base + bytes[i] % (kind == 1 ? 4 : kind == 2 ? 20 : 60));
}

/* ------------------------------------------------------------------------------------------------ bits */

static leat__webp_bits noise(size_t n) {
    uint8_t *bytes = k_input(0, n + LEAT_WEBP_PAD);
    k_fill(bytes, n + LEAT_WEBP_PAD);
    bytes[0] &= 127; /* see leat__webp_bits_can_be */
    return leat__webp_bits_begin(bytes, n);
}

static void fill_probs(uint8_t *probs, size_t n) {
    k_fill(probs, n);
    if (k_below(2))
        for (size_t i = 0; i < n; i++) probs[i] = (uint8_t)(probs[i] / 3); /* more values */
}

static void keep_reader(uint8_t *out, const leat__webp_bits *bits) {
    const uint64_t at[2] = {bits->range, 8 * (uint64_t)(bits->next - bits->begin) - bits->count};
    memcpy(out, at, sizeof at);
}

static void check_values(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int single) {
    (void)unused, (void)unused_too;
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < K_ROUNDS; round++) {
        static leat__webp_probs probs[LEAT_WEBP_KINDS];
        static leat__webp_values values;
        leat__webp_known known[2];
        leat__webp_steps steps;
        void *out[2];
        const leat__webp_bits begin = noise(1 + k_below(2000));
        fill_probs(&probs[0][0][0][0], sizeof probs);
        for (size_t i = 0; i < sizeof steps / 2; i++) ((int16_t *)&steps)[i] = (int16_t)(4 + k_below(281));
        k_fill(known, sizeof known);
        for (size_t i = 0; i < sizeof known; i++) ((uint8_t *)known)[i] &= 1;
        const size_t bytes = sizeof values + sizeof known + 16;
        k_outputs(bytes, 0, &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            leat__webp_known now[2] = {known[0], known[1]};
            leat__webp_bits bits = begin;
            memset(&values, 0, sizeof values);
            dsp[i].read(&bits, &values, probs, &steps, single, &now[0], &now[1]);
            memcpy(out[i], &values, sizeof values);
            memcpy((uint8_t *)out[i] + sizeof values, now, sizeof now);
            keep_reader((uint8_t *)out[i] + sizeof values + sizeof now, &bits);
        }
        k_compare(bytes, 0, "single %d", single);
    }
}

static void bench_values(const leat__image_dsp *unused, int single, k_bench *bench) {
    (void)unused;
    static leat__webp_probs probs[LEAT_WEBP_KINDS];
    static leat__webp_values values;
    const leat__webp_steps steps = {.y = {8, 9}, .first = {16, 17}, .uv = {8, 9}};
    leat__webp_known known[2] = {0};
    leat__webp_dsp isa;
    leat__webp_dsp_init(&isa, k_isa_flags());
    const leat__webp_bits begin = noise(2000);
    memset(probs, 160, sizeof probs);
    for (k_bench_begin(bench, sizeof values.group); k_bench_go(bench);) {
        leat__webp_bits bits = begin;
        isa.read(&bits, &values, probs, &steps, single, &known[0], &known[1]);
    }
}

static void check_modes(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too, (void)arg;
    enum { MOST = 40 };
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < K_ROUNDS; round++) {
        static leat__webp_head head;
        uint8_t above[4 * MOST];
        void *out[2];
        const int n = 1 + (int)k_below(MOST);
        const leat__webp_bits begin = noise(1 + k_below(600));
        head.segmented = k_below(2), head.skips = k_below(2);
        head.skip_prob = (uint8_t)k_below(256);
        k_fill(head.segment_probs, sizeof head.segment_probs);
        for (size_t i = 0; i < sizeof above; i++) above[i] = (uint8_t)k_below(LEAT_WEBP_MODES);
        const size_t bytes = (size_t)n * sizeof(leat__webp_modes) + sizeof above + 16;
        k_outputs(bytes, 0, &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            leat__webp_bits bits = begin;
            uint8_t *const after = (uint8_t *)out[i] + (size_t)n * sizeof(leat__webp_modes);
            memset(out[i], 0, bytes); /* where the bits end the rest stays */
            memcpy(after, above, sizeof above);
            dsp[i].read_modes(&bits, out[i], &head, after, n);
            keep_reader(after + sizeof above, &bits);
        }
        k_compare(bytes, 0, "%d macroblocks", n);
    }
}

/* --------------------------------------------------------------------------- prediction and transform */

typedef void predict_fn(uint8_t *dst, ptrdiff_t stride, const uint8_t *above);

static predict_fn *predictor(const leat__webp_dsp *dsp, int what) {
    const int side = what / 16, mode = what % 16;
    return side == 4 ? dsp->predict_4[mode] : side == 8 ? dsp->predict_8[mode] : dsp->predict_16[mode];
}

static void check_predict(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int what) {
    (void)unused, (void)unused_too;
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *out[2];
        uint8_t area[AREA], above[64];
        fill_samples(area, sizeof area);
        fill_samples(above, sizeof above);
        k_outputs(AREA, k_below(64), &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            memcpy(out[i], area, AREA);
            predictor(&dsp[i], what)((uint8_t *)out[i] + 5 * STRIDE + 20, STRIDE, above + 16);
        }
        k_compare(AREA, 0, "side %d, mode %d", what / 16, what % 16);
    }
}

static void bench_predict(const leat__image_dsp *unused, int what, k_bench *bench) {
    (void)unused;
    static uint8_t area[AREA];
    leat__webp_dsp isa;
    leat__webp_dsp_init(&isa, k_isa_flags());
    predict_fn *const kernel = predictor(&isa, what);
    for (k_bench_begin(bench, (size_t)(what / 16 * (what / 16))); k_bench_go(bench);)
        kernel(area + 5 * STRIDE + 20, STRIDE, area + 4 * STRIDE + 20);
}

enum { FIRST, BLOCK, GROUP };

/* Such that no sum leaves 16 bits: then the decoder does not take the picture. */
static void fill_values(int16_t values[64], int what) {
    const int most = 1 << k_below(11);
    for (int i = 0; i < 64; i++) {
        const bool has = what == GROUP || (i % 16 < 4 && (what == BLOCK || i == 0));
        values[i] = has && k_below(3) ? (int16_t)((int)k_below((size_t)(2 * most)) - most) : 0;
    }
}

static void run_add(const leat__webp_dsp *dsp, uint8_t *area, int16_t *values, int what) {
    uint8_t *const at = area + 5 * STRIDE + 20;
    if (what == GROUP) dsp->add_group(at, at + 9 * STRIDE + 11, STRIDE, values);
    else if (what == BLOCK) dsp->add(at, STRIDE, values);
    else dsp->add_first(at, STRIDE, values);
}

static void check_add(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int what) {
    (void)unused, (void)unused_too;
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *out[2];
        uint8_t area[AREA];
        LEAT_ALIGNED(32) int16_t values[64];
        fill_samples(area, sizeof area);
        fill_values(values, what);
        k_outputs(AREA + sizeof values, 0, &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            int16_t *const own = out[i]; /* they are cleared */
            memcpy(own, values, sizeof values);
            memcpy((uint8_t *)out[i] + sizeof values, area, AREA);
            run_add(&dsp[i], (uint8_t *)out[i] + sizeof values, own, what);
        }
        k_compare(AREA + sizeof values, 0, "what %d", what);
    }
}

static void bench_add(const leat__image_dsp *unused, int what, k_bench *bench) {
    (void)unused;
    static uint8_t area[AREA];
    LEAT_ALIGNED(32) static int16_t values[64];
    leat__webp_dsp isa;
    leat__webp_dsp_init(&isa, k_isa_flags());
    for (k_bench_begin(bench, what == GROUP ? 256 : 64); k_bench_go(bench);) {
        values[0] = 100;
        run_add(&isa, area, values, what);
    }
}

/* ----------------------------------------------------------------------------------------------- filter */

static void run_filter(const leat__webp_dsp *dsp, uint8_t *area, int what, int limit, int inner_limit,
                       int sharp) {
    dsp->filter[what / 4][what % 4](area + 5 * STRIDE + 4, area + 5 * STRIDE + 36, area + 5 * STRIDE + 60,
                                    STRIDE, STRIDE, limit, inner_limit, sharp);
}

static void check_filter(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int what) {
    (void)unused, (void)unused_too;
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < 4 * K_ROUNDS; round++) {
        void *out[2];
        uint8_t area[AREA];
        fill_samples(area, sizeof area);
        const int inner_limit = 1 + (int)k_below(63), limit = inner_limit + 2 + (int)k_below(130),
                  sharp = (int)k_below(3);
        k_outputs(AREA, k_below(64), &out[0], &out[1]);
        for (int i = 0; i < 2; i++) {
            memcpy(out[i], area, AREA);
            run_filter(&dsp[i], out[i], what, limit, inner_limit, sharp);
        }
        k_compare(AREA, 0, "filter %d, limits %d and %d, sharp %d", what, limit, inner_limit, sharp);
    }
}

static void bench_filter(const leat__image_dsp *unused, int what, k_bench *bench) {
    (void)unused;
    uint8_t area[AREA];
    leat__webp_dsp isa;
    leat__webp_dsp_init(&isa, k_isa_flags());
    fill_samples(area, sizeof area);
    for (k_bench_begin(bench, 384); k_bench_go(bench);) run_filter(&isa, area, what, 40, 12, 1);
}

/* ----------------------------------------------------------------------------------------------- colour */

static void check_rgb(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too, (void)arg;
    leat__webp_dsp dsp[2];
    tables(dsp);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *out[2];
        uint8_t *rows[5];
        const size_t n = 1 + k_below(k_below(4) ? 70 : 700), pad = LEAT_WEBP_BESIDE;
        for (int i = 0; i < 5; i++) {
            rows[i] = k_input(i, n + 2 * pad);
            k_fill(rows[i], n + 2 * pad);
            rows[i] += pad;
        }
        const leat__webp_chroma chroma = {rows[1], rows[2], rows[3], rows[4]};
        k_outputs(3 * n, k_below(64), &out[0], &out[1]);
        for (int i = 0; i < 2; i++) dsp[i].rgb(out[i], rows[0], &chroma, n);
        k_compare(3 * n, 0, "%zu pixels", n);
    }
}

static void bench_rgb(const leat__image_dsp *unused, int arg, k_bench *bench) {
    enum { N = 500 };
    (void)unused, (void)arg;
    static uint8_t out[3 * N], row[N + 2 * LEAT_WEBP_BESIDE];
    leat__webp_dsp isa;
    leat__webp_dsp_init(&isa, k_isa_flags());
    const uint8_t *at = row + LEAT_WEBP_BESIDE;
    const leat__webp_chroma chroma = {at, at, at, at};
    for (k_bench_begin(bench, 4 * N); k_bench_go(bench);) isa.rgb(out, at, &chroma, N);
}

#define PREDICT(name, side, mode) \
    { "webp_" name "_" #side, (side)*16 + (mode), check_predict, bench_predict }
#define FILTER(name, what) \
    { "webp_" name, what, check_filter, bench_filter }

const k_case k_webp_cases[] = {
    {"webp_values", 0, check_values, bench_values},
    {"webp_values_single", 1, check_values, bench_values},
    {"webp_modes", 0, check_modes, NULL},
    PREDICT("tm", 4, LEAT_WEBP_TM),
    PREDICT("tm", 8, LEAT_WEBP_TM),
    PREDICT("tm", 16, LEAT_WEBP_TM),
    {"webp_add_first", FIRST, check_add, bench_add},
    {"webp_add", BLOCK, check_add, bench_add},
    {"webp_add_group", GROUP, check_add, bench_add},
    FILTER("simple_left", 0),
    FILTER("simple_columns", 1),
    FILTER("simple_top", 2),
    FILTER("simple_rows", 3),
    FILTER("left", 4),
    FILTER("columns", 5),
    FILTER("top", 6),
    FILTER("rows", 7),
    {"webp_rgb", 0, check_rgb, bench_rgb},
    {0},
};
