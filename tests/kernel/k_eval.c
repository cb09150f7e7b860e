/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of `eval`, which have a table of their own. The argument of most cases is the operation: all types, and either
 * operand as a single value. */
#include "kernel/harness.h"

#include "base/cpu.h"
#include "image/eval/eval.h"
#ifdef LEAT_CPU_WIDE
#include "image/x86/image_x86.h"
#endif

static const int dtypes[LEAT_EVAL_TYPES] = {LEAT_DTYPE_F32, LEAT_DTYPE_F64, LEAT_DTYPE_U8, LEAT_DTYPE_I32,
                                            LEAT_DTYPE_I64};

static void init_table(void *table, unsigned flags) {
    const leat__eval_kernels *kernels = leat__eval_kernels_c();
#ifdef LEAT_CPU_WIDE
    if (flags & LEAT_CPU_WIDE) kernels = leat__eval_kernels_avx2();
#else
    (void)flags;
#endif
    memcpy(table, kernels, sizeof *kernels);
}
const k_table k_eval_table = {"eval", sizeof(leat__eval_kernels), init_table};

static const leat__eval_kernels *both(leat__eval_kernels *isa) {
    init_table(isa, k_isa_flags());
    k_replace(isa, sizeof *isa);
    return leat__eval_kernels_c();
}

/* Numbers as fields have them, and now and then any bits. */
static void fill(void *data, int dtype, size_t n) {
    if (dtype == LEAT_DTYPE_F32) k_fill_f32(data, n);
    else if (dtype == LEAT_DTYPE_F64)
        for (size_t k = 0; k < n; k++) ((double *)data)[k] = (double)k_below(4000) / 64 - 20;
    else k_fill(data, n * leat_dtype_size(dtype));
    for (size_t k = 0; dtype == LEAT_DTYPE_I64 && k < n; k++) ((int64_t *)data)[k] >>= k_below(64);
}

static void check_operation(const leat__image_dsp *c, const leat__image_dsp *isa, int op) {
    (void)c, (void)isa;
    leat__eval_kernels best;
    const leat__eval_kernels *plain = both(&best);
    for (int round = 0; round < K_ROUNDS; round++) {
        const int type = round % LEAT_EVAL_TYPES;
        if (!plain->fn[op][type]) continue;
        const size_t n = k_below(k_below(4) ? 80 : 1100) + 1, item = leat_dtype_size(dtypes[type]);
        const unsigned scalars = op <= LEAT_EVAL_LE ? (unsigned)k_below(4) : 0;
        const bool compares = op >= LEAT_EVAL_EQ && op <= LEAT_EVAL_LE;
        const size_t out = n * (compares ? 1 : item);
        const void *src[3] = {k_input(0, n * item), k_input(1, n * item), NULL};
        void *a, *b;
        fill((void *)(uintptr_t)src[0], dtypes[type], n);
        fill((void *)(uintptr_t)src[1], dtypes[type], n);
        k_outputs(out, (compares ? 1 : item) * k_below(8), &a, &b);
        const int first = plain->fn[op][type](a, src, n, scalars),
                  second = best.fn[op][type](b, src, n, scalars);
        if (first != second) memset(b, ~*(uint8_t *)a, 1);
        k_compare(out, 0, "%s, %zu values, scalars %u", leat_dtype_name(dtypes[type]), n, scalars);
    }
}

static void check_cast(const leat__image_dsp *c, const leat__image_dsp *isa, int unused) {
    (void)c, (void)isa, (void)unused;
    leat__eval_kernels best;
    both(&best);
    for (int from = 0; from < LEAT_DTYPE_BYTES; from++)
        for (int to = 0; to < LEAT_DTYPE_BYTES; to++) {
            const size_t n = k_below(300) + 1;
            void *src = k_input(0, n * leat_dtype_size(from)), *a, *b;
            if (leat__eval_type_of(from) >= 0) fill(src, from, n);
            else k_fill(src, n * leat_dtype_size(from));
            k_outputs(n * leat_dtype_size(to), leat_dtype_size(to) * k_below(8), &a, &b);
            leat__eval_cast_any(a, to, src, from, n);
            best.cast(b, to, src, from, n);
            k_compare(n * leat_dtype_size(to), 0, "%s to %s, %zu values", leat_dtype_name(from),
                      leat_dtype_name(to), n);
        }
}

static void check_sum(const leat__image_dsp *c, const leat__image_dsp *isa, int unused) {
    (void)c, (void)isa, (void)unused;
    leat__eval_kernels best;
    const leat__eval_kernels *plain = both(&best);
    for (int round = 0; round < K_ROUNDS; round++) {
        const size_t n = k_below(500) + 1, lanes = 8 * (1 + k_below(6));
        float *src = k_input(0, n * sizeof *src);
        void *a, *b;
        for (size_t k = 0; k < n; k++) src[k] = (float)k_below(100000) / 7 - 5000;
        k_outputs(lanes * sizeof(double), 0, &a, &b);
        memset(a, 0, lanes * sizeof(double)), memset(b, 0, lanes * sizeof(double));
        plain->sum(a, lanes, src, n);
        best.sum(b, lanes, src, n);
        k_compare(lanes * sizeof(double), 0, "%zu values, %zu lanes", n, lanes);
    }
}

static void check_stream(const leat__image_dsp *c, const leat__image_dsp *isa, int unused) {
    (void)c, (void)isa, (void)unused;
    leat__eval_kernels best;
    const leat__eval_kernels *plain = both(&best);
    for (int round = 0; round < K_ROUNDS; round++) {
        const size_t n = k_below(900);
        uint8_t *src = k_input(0, n);
        void *a, *b;
        k_fill(src, n);
        k_outputs(n, k_below(64), &a, &b);
        plain->stream(a, src, n);
        best.stream(b, src, n);
        k_compare(n, 0, "%zu bytes", n);
    }
}

static const int link_ops[] = {LEAT_EVAL_ADD, LEAT_EVAL_SUB, LEAT_EVAL_MUL,
                               LEAT_EVAL_DIV, LEAT_EVAL_MIN, LEAT_EVAL_MAX};

/* A chain is what its operations are one by one, with these kernels and with the plain ones. */
static void one_by_one(const leat__eval_kernels *kernels, float *dst, const void *src, int from, size_t n,
                       const leat__eval_link *link, int n_links) {
    float value[2][1100];
    kernels->cast(value[0], LEAT_DTYPE_F32, src, from, n);
    if (from == LEAT_DTYPE_F32) memcpy(value[0], src, n * sizeof(float));
    for (int i = 0; i < n_links; i++) {
        const void *both_of[3] = {value[i & 1], link[i].with, NULL},
                   *turned[3] = {link[i].with, value[i & 1], NULL};
        kernels->fn[link[i].op][LEAT_EVAL_F32](value[~i & 1], link[i].turned ? turned : both_of, n,
                                               (unsigned)link[i].single << !link[i].turned);
    }
    memcpy(dst, value[n_links & 1], n * sizeof(float));
}

/* Which of two NaNs comes out is the compiler's choice; that there is one is not. */
static void level_nans(float *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (values[i] != values[i]) values[i] = __builtin_nanf("");
}

static void check_chain(const leat__image_dsp *c, const leat__image_dsp *isa, int from) {
    (void)c, (void)isa;
    leat__eval_kernels best;
    const leat__eval_kernels *plain = both(&best);
    for (int round = 0; round < K_ROUNDS; round++) {
        const size_t n = k_below(k_below(4) ? 80 : 1100) + 1;
        const int n_links = 1 + (int)k_below(LEAT_EVAL_LINKS);
        const bool stream = k_below(2);
        void *src = k_input(0, n * leat_dtype_size(from)), *a, *b;
        float *with = k_input(1, (n + LEAT_EVAL_LINKS) * sizeof(float));
        leat__eval_link link[LEAT_EVAL_LINKS];
        fill(src, from, n);
        k_fill_f32(with, n + LEAT_EVAL_LINKS);
        if (k_below(4) == 0) with[k_below(n + LEAT_EVAL_LINKS)] = __builtin_nanf("");
        for (int i = 0; i < n_links; i++)
            link[i] = (leat__eval_link){.op = (uint8_t)link_ops[k_below(LEAT_COUNT(link_ops))],
                                        .turned = k_below(2),
                                        .single = k_below(2),
                                        .with = with + k_below(LEAT_EVAL_LINKS)};
        k_outputs(n * sizeof(float), sizeof(float) * k_below(2) * k_below(16), &a, &b);
        if (round % 2) plain->chain(a, src, from, n, link, n_links, stream);
        else one_by_one(plain, a, src, from, n, link, n_links);
        best.chain(b, src, from, n, link, n_links, stream);
        level_nans(a, n), level_nans(b, n);
        k_compare(n * sizeof(float), 0, "%zu values, %d links", n, n_links);
    }
}

enum { BENCH_N = 1024 };

static void bench_chain(const leat__image_dsp *isa, int from, k_bench *bench) {
    (void)isa;
    leat__eval_kernels best;
    both(&best);
    void *src = k_input(0, BENCH_N * leat_dtype_size(from)), *a, *b;
    float with[3] = {127.5f, 1.0f, 0.5f};
    const leat__eval_link link[3] = {{.op = LEAT_EVAL_DIV, .single = true, .with = with},
                                     {.op = LEAT_EVAL_SUB, .single = true, .with = with + 1},
                                     {.op = LEAT_EVAL_MUL, .single = true, .with = with + 2}};
    fill(src, from, BENCH_N);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * (leat_dtype_size(from) + sizeof(float))); k_bench_go(bench);)
        best.chain(a, src, from, BENCH_N, link, 3, false);
}

static void bench_operation(const leat__image_dsp *isa, int op, k_bench *bench) {
    (void)isa;
    leat__eval_kernels best;
    both(&best);
    const void *src[3] = {k_input(0, BENCH_N * sizeof(float)), k_input(1, BENCH_N * sizeof(float)), NULL};
    void *a, *b;
    k_fill_f32((float *)(uintptr_t)src[0], BENCH_N);
    k_fill_f32((float *)(uintptr_t)src[1], BENCH_N);
    k_outputs(BENCH_N * sizeof(float), 0, &a, &b);
    for (k_bench_begin(bench, BENCH_N * 12); k_bench_go(bench);)
        best.fn[op][LEAT_EVAL_F32](a, src, BENCH_N, 0);
}

#define CASE(name, op) \
    { "eval_" name, op, check_operation, NULL }
#define TIMED(name, op) \
    { "eval_" name, op, check_operation, bench_operation }
const k_case k_eval_cases[] = {
    TIMED("add", LEAT_EVAL_ADD),
    CASE("sub", LEAT_EVAL_SUB),
    TIMED("mul", LEAT_EVAL_MUL),
    TIMED("div", LEAT_EVAL_DIV),
    CASE("floordiv", LEAT_EVAL_FLOORDIV),
    CASE("mod", LEAT_EVAL_MOD),
    CASE("pow", LEAT_EVAL_POW),
    TIMED("min", LEAT_EVAL_MIN),
    CASE("max", LEAT_EVAL_MAX),
    CASE("and", LEAT_EVAL_AND),
    CASE("or", LEAT_EVAL_OR),
    CASE("xor", LEAT_EVAL_XOR),
    CASE("eq", LEAT_EVAL_EQ),
    CASE("ne", LEAT_EVAL_NE),
    TIMED("lt", LEAT_EVAL_LT),
    CASE("le", LEAT_EVAL_LE),
    CASE("abs", LEAT_EVAL_ABS),
    CASE("sign", LEAT_EVAL_SIGN),
    CASE("floor", LEAT_EVAL_FLOOR),
    CASE("round", LEAT_EVAL_ROUND),
    TIMED("sqrt", LEAT_EVAL_SQRT),
    CASE("exp", LEAT_EVAL_EXP),
    CASE("log", LEAT_EVAL_LOG),
    CASE("sin", LEAT_EVAL_SIN),
    CASE("cos", LEAT_EVAL_COS),
    {"eval_cast", 0, check_cast, NULL},
    {"eval_sum", 0, check_sum, NULL},
    {"eval_stream", 0, check_stream, NULL},
    {"eval_chain_u8", LEAT_DTYPE_U8, check_chain, bench_chain},
    {"eval_chain_f32", LEAT_DTYPE_F32, check_chain, bench_chain},
    {0},
};
