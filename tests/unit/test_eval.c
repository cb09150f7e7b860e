/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of `eval`: the way through memory does not matter, plans name expressions, and mistakes have a column.
 * tests/python/test_eval.py compares every function with NumPy, tests/kernel the kernels with one another. */
#include "unit/testing.h"

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

/* Division by zero shows what is computed: the label of a sample is 0, that of another is not. */
static void test_only_the_side_that_is_taken_is_computed(void **state) {
    (void)state;
    static const char *const fine[] = {
        "select(label == 0, 7, x // label)",
        "select(label != 0, reduce_max(x // label, 0, keep=true), x)",
        "select(label == 0, x, select(label > 0, concat(0, x[:2] % label, x[2:] // label), x * 0))",
        "select(label > 0, gather(x, [0, 1, 2, 3]) // label + select(label > 1, 9 // label, 0), x * 0)",
    };
    static const char *const wrong[] = {
        "select(x > 300, x // label, 7)",                         /* of each value        */
        "select(label == 0, 7, x // label) + (x // label)[::-1]", /* needed in any case   */
        "select(label == 0, 9 // label, 7) * x",                  /* the side that is taken */
    };
    for (size_t i = 0; i < LEAT_COUNT(fine) + LEAT_COUNT(wrong); i++) {
        const bool fails = i >= LEAT_COUNT(fine);
        leat_error err;
        leat_batch b;
        char text[400];
        snprintf(text, sizeof text,
                 "synth 16 4 5 classes=3 | eval x='cast(image, i64)' | eval a='%s' | batch 16",
                 fails ? wrong[i - LEAT_COUNT(fine)] : fine[i]);
        leat_pipeline *pipeline = open_with(text, &err);
        if (!pipeline) fail_msg("%s: %s", text, err.message);
        const int rc = leat_pipeline_next(pipeline, &b, &err);
        if ((rc < 0) != fails) fail_msg("%s: %s", text, rc < 0 ? err.message : "no error");
        if (rc < 0) assert_non_null(strstr(err.message, "divided by zero"));
        else leat_batch_release(&b);
        leat_pipeline_close(&pipeline);
    }
}

/* A condition of each value takes both sides, one of a single value the same values of one. */
static void test_a_single_condition_gives_the_same_bits(void **state) {
    (void)state;
    static const char *const one =
        "select(%s, exp(image / 90) - mean(image / 7) * 3, select(%s, image[::-1] / 3, "
        "sqrt(image / 2) + uniform(0, 1, like=image)))";
    static const char *const single[] = {"label == 0", "label == 1"};
    static const char *const each[] = {"(image >= 0) & (label == 0)", "(image >= 0) & (label == 1)"};
    leat_error err;
    leat_batch b[2];
    leat_pipeline *pipeline[2];
    for (int i = 0; i < 2; i++) {
        const char *const *conditions = i ? each : single;
        char expression[500], text[600];
        snprintf(expression, sizeof expression, one, conditions[0], conditions[1]);
        snprintf(text, sizeof text, "synth 12 37 41 classes=3 | eval a='%s' | batch 12", expression);
        pipeline[i] = open_with(text, &err);
        if (!pipeline[i]) fail_msg("%s: %s", text, err.message);
        assert_int_equal(leat_pipeline_next(pipeline[i], &b[i], &err), 0);
    }
    for (int i = 0; i < b[0].n_tensors; i++)
        if (strcmp(b[0].tensor[i].name, "a") == 0)
            assert_memory_equal(b[0].tensor[i].data, b[1].tensor[i].data, 12 * 37 * 41 * 3 * sizeof(float));
    for (int i = 0; i < 2; i++) leat_batch_release(&b[i]), leat_pipeline_close(&pipeline[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways_through_memory_are_equal),
        cmocka_unit_test(test_mistakes_have_a_column),
        cmocka_unit_test(test_the_plan_names_it),
        cmocka_unit_test(test_only_the_side_that_is_taken_is_computed),
        cmocka_unit_test(test_a_single_condition_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
