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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways_through_memory_are_equal),
        cmocka_unit_test(test_mistakes_have_a_column),
        cmocka_unit_test(test_the_plan_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
