/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of `eval`: vectors give the bits of plain C, casts agree for all pairs of types. And programs: what is read once is
 * the same for any size of tiles, plans name expressions, and mistakes have a column. tests/python/test_eval.py compares every
 * function with NumPy. */
#include "unit/testing.h"

#include "base/cpu.h"
#include "image/eval/eval.h"

enum { N = 1003, CASES = 40 };

static const int dtypes[LEAT_EVAL_TYPES] = {LEAT_DTYPE_F32, LEAT_DTYPE_F64, LEAT_DTYPE_U8, LEAT_DTYPE_I32,
                                            LEAT_DTYPE_I64};

/* Usual numbers, large ones, and those that have no usual arithmetic. */
static void fill(void *data, int dtype, size_t n, leat__rng *rng) {
    static const double odd[] = {0, -0.0, 1, -1, 0.5, 2.5, 1e30, -1e30, 8388608.5, 3e9};
    for (size_t k = 0; k < n; k++) {
        const uint64_t pick = leat__rng_below(rng, 20);
        double x = leat__rng_unit(rng) * 20 - 10;
        if (pick < LEAT_COUNT(odd)) x = odd[pick];
        if (pick == 18) x = __builtin_inf();
        if (pick == 19) x = __builtin_nan("");
        const int64_t i = pick < 3 ? (int64_t)leat__rng_u64(rng) : (int64_t)leat__rng_below(rng, 100) - 40;
        if (dtype == LEAT_DTYPE_F32) ((float *)data)[k] = (float)x;
        else if (dtype == LEAT_DTYPE_F64) ((double *)data)[k] = x;
        else leat__eval_cast_any((uint8_t *)data + k * leat_dtype_size(dtype), dtype, &i, LEAT_DTYPE_I64, 1);
    }
}

static void test_vectors_give_the_bits_of_plain_c(void **state) {
    (void)state;
    const leat__eval_kernels *plain = leat__eval_kernels_c(),
                             *best = leat__eval_kernels_for(leat__cpu_flags());
    static LEAT_ALIGNED(64) uint64_t a[N], b[N], one[N], two[N];
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    int compared = 0;
    for (int op = LEAT_EVAL_ADD; op < LEAT_EVAL_OPS; op++)
        for (int type = 0; type < LEAT_EVAL_TYPES; type++) {
            if (!plain->fn[op][type]) continue;
            for (int turn = 0; turn < CASES; turn++) {
                const size_t n = turn < 20 ? (size_t)turn : N - (size_t)turn % 3;
                const unsigned scalars = op <= LEAT_EVAL_LE ? (unsigned)turn % 4 : 0;
                const void *src[3] = {a, b, NULL};
                fill(a, dtypes[type], N, &rng);
                fill(b, dtypes[type], N, &rng);
                memset(one, 7, sizeof one);
                memset(two, 7, sizeof two);
                const int first = plain->fn[op][type](one, src, n, scalars);
                assert_int_equal(best->fn[op][type](two, src, n, scalars), first);
                if (first == LEAT_EVAL_FINE && memcmp(one, two, sizeof one) != 0)
                    fail_msg("operation %d of %s, %zu values, scalars %u", op, leat_dtype_name(dtypes[type]),
                             n, scalars);
                compared++;
            }
        }
    assert_true(compared > 90 * CASES);
}

static void test_casts_agree(void **state) {
    (void)state;
    const leat__eval_kernels *plain = leat__eval_kernels_c(),
                             *best = leat__eval_kernels_for(leat__cpu_flags());
    static LEAT_ALIGNED(64) uint64_t from[N], one[N], two[N], three[N];
    static double x[N];
    leat__rng rng = leat__rng_at(4, 0, 0, 0);
    for (int a = 0; a < LEAT_DTYPE_BYTES; a++)
        for (int b = 0; b < LEAT_DTYPE_BYTES; b++) {
            fill(x, LEAT_DTYPE_F64, N, &rng);
            leat__eval_cast_any(from, a, x, LEAT_DTYPE_F64, N);
            memset(one, 0, sizeof one), memset(two, 0, sizeof two), memset(three, 0, sizeof three);
            plain->cast(one, b, from, a, N);
            best->cast(two, b, from, a, N);
            leat__eval_cast_any(three, b, from, a, N);
            if (memcmp(one, two, sizeof one) != 0 || memcmp(one, three, sizeof one) != 0)
                fail_msg("%s to %s", leat_dtype_name(a), leat_dtype_name(b));
        }
}

static void test_sums_and_streams_agree(void **state) {
    (void)state;
    const leat__eval_kernels *plain = leat__eval_kernels_c(),
                             *best = leat__eval_kernels_for(leat__cpu_flags());
    static LEAT_ALIGNED(64) float src[N];
    static uint8_t out[2][4 * N + 64];
    leat__rng rng = leat__rng_at(5, 0, 0, 0);
    for (size_t k = 0; k < N; k++) src[k] = (float)(leat__rng_unit(&rng) * 1e3 - 500);
    for (size_t lanes = 8; lanes <= 40; lanes += 8)
        for (size_t n = 0; n < 100; n += 7) {
            double one[40] = {0}, two[40] = {0};
            plain->sum(one, lanes, src, n);
            best->sum(two, lanes, src, n);
            assert_memory_equal(one, two, sizeof one);
        }
    for (size_t at = 0; at < 40; at += 3)
        for (size_t n = 0; n < 4 * N; n = n * 2 + 1) {
            memset(out, 0, sizeof out);
            memcpy(out[0] + at, src, n);
            best->stream(out[1] + at, src, n);
            assert_memory_equal(out[0], out[1], sizeof out[0]);
        }
}

/* ------------------------------------------------------------------------------------------- pipelines */

static leat_pipeline *open_with(const char *text, leat_error *err) {
    const leat_config config = {.synchronous = 1, .no_side_files = 1};
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_pipeline_open(&pipeline, spec, &config, err);
    leat_spec_free(&spec);
    return pipeline;
}

/* The same picture by rows, by columns, in one loop and in two: sizes of tiles and ways of reading change nothing. */
static void test_ways_through_memory_are_equal(void **state) {
    (void)state;
    leat_error err;
    leat_batch b;
    leat_pipeline *pipeline =
        open_with("synth 3 37 41 | eval a='image / 255 * [1, 2, 3] + exp(image / 100)' "
                  "b='transpose(transpose(image, 1, 0, 2) / 255, 1, 0, 2) * [1, 2, 3] + exp(image / 100)' "
                  "c='concat(0, image[:5], image[5:]) / 255 * [1, 2, 3] + exp(image[::-1][::-1] / 100)' "
                  "| eval d='image / 255 * [1, 2, 3]' e='exp(image / 100)' | eval d='d + e' | batch 3",
                  &err);
    assert_non_null(pipeline);
    assert_int_equal(leat_pipeline_next(pipeline, &b, &err), 0);
    const leat_tensor *first = NULL;
    int compared = 0;
    for (int i = 0; i < b.n_tensors; i++) {
        const char *name = b.tensor[i].name;
        if (strlen(name) != 1 || *name == 'e') continue;
        if (!first) first = &b.tensor[i];
        assert_memory_equal(first->data, b.tensor[i].data, 3 * 37 * 41 * 3 * sizeof(float));
        compared++;
    }
    assert_int_equal(compared, 4);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

static void test_mistakes_have_a_column(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *says;
    } wrong[] = {
        {"synth | eval x='1 + nope'", 21, "there is no field 'nope'"},
        {"synth | eval x='1' y='label +'", 30, "a value is missing at the end"},
        {"synth | eval 'label + 1'", 9, "must be a field and an expression"},
        {"synth | eval x='1' x='2'", 9, "field x is named twice"},
        {"synth | eval x='image + label'", 23, "the operands are u8 and i64"},
    };
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        leat_error err;
        assert_null(open_with(wrong[i].text, &err));
        if (!strstr(err.message, wrong[i].says)) fail_msg("%s: %s", wrong[i].text, err.message);
        if (err.column != wrong[i].column)
            fail_msg("%s: column %d, not %d", wrong[i].text, err.column, wrong[i].column);
    }
}

static void test_the_plan_names_it(void **state) {
    (void)state;
    leat_error err;
    char text[4000];
    leat_pipeline *pipeline = open_with("synth 3 4 4 | eval a='label * 2' b='label + 1' | batch 1", &err);
    assert_non_null(pipeline);
    assert_true(leat_pipeline_plan(pipeline, text, sizeof text) > 0);
    assert_non_null(strstr(text, "an expression\n"));
    assert_non_null(strstr(text, "an expression, in the same program\n"));
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_give_the_bits_of_plain_c),
        cmocka_unit_test(test_casts_agree),
        cmocka_unit_test(test_sums_and_streams_agree),
        cmocka_unit_test(test_ways_through_memory_are_equal),
        cmocka_unit_test(test_mistakes_have_a_column),
        cmocka_unit_test(test_the_plan_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
