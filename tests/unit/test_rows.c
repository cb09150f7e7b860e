/* SPDX-License-Identifier: Apache-2.0 */
/* A table of files in memory, as programs give it with leat_spec_table, and names of classes in a given order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "leat/leat.h"
#include "source/rows.h"
#include "testing.h"

static const char paths[] = "a.jpgb.jpgc.jpg";
static const int64_t path_offsets[] = {0, 5, 10, 15};
static const char words[] = "catdogcat";
static const int64_t word_offsets[] = {0, 3, 6, 9};

static leat_tensor texts(const char *name, const char *data, const int64_t *offsets) {
    return (leat_tensor){.name = name,
                         .data = (void *)(uintptr_t)data,
                         .dtype = LEAT_DTYPE_BYTES,
                         .ndim = 1,
                         .shape = {3},
                         .offsets = offsets};
}

static int open_rows(leat__rows *rows, leat__source *source, const leat_tensor *arrays, int n,
                     const char *classes, leat_error *err) {
    static const leat__source_class none = {.name = "test"};
    *rows = (leat__rows){0};
    *source = (leat__source){.class = &none};
    return leat__rows_from_arrays(rows, source, arrays, n, classes, err);
}

static void close_rows(leat__rows *rows, leat__source *source) {
    leat__rows_free(rows);
    for (size_t i = 0; i < source->n_classes; i++) leat__free(source->class_name[i]);
    leat__free(source->class_name);
}

static void arrays_become_rows(void **state) {
    (void)state;
    const float numbers[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
    const leat_tensor arrays[] = {texts("paths", paths, path_offsets),
                                  texts("label", words, word_offsets),
                                  {.name = "x",
                                   .data = (void *)(uintptr_t)numbers,
                                   .dtype = LEAT_DTYPE_F32,
                                   .ndim = 2,
                                   .shape = {3, 2},
                                   .stride = {16, 8}}};
    leat__rows rows;
    leat__source source;
    leat_error err;
    assert_int_equal(open_rows(&rows, &source, arrays, 3, "", &err), 0);
    assert_true(rows.n == 3 && rows.n_fields == 3 && rows.class_field == 1 && source.n_classes == 2);
    assert_string_equal(leat__rows_text(&rows, 0, 1), "b.jpg");
    leat__value value;
    leat__rows_value(&rows, 1, 1, &value);
    assert_true(value.dtype == LEAT_DTYPE_I64 && value.ndim == 0 &&
                *(const int64_t *)(const void *)value.data == 1);
    leat__rows_value(&rows, 2, 2, &value);
    const float *x = (const float *)(const void *)value.data;
    assert_true(value.ndim == 1 && value.shape[0] == 2 && x[0] == 9 && x[1] == 11);
    close_rows(&rows, &source);
    assert_int_equal(open_rows(&rows, &source, arrays, 2, ";dog;cat", &err), 0);
    leat__rows_value(&rows, 1, 1, &value);
    assert_int_equal(*(const int64_t *)(const void *)value.data, 0);
    assert_string_equal(source.class_name[0], "dog");
    close_rows(&rows, &source);
}

static void mistakes_are_told(void **state) {
    (void)state;
    static const int64_t back[] = {0, 5, 3, 15}, empty[] = {0, 0, 10, 15};
    static const int64_t labels[] = {0, 1, 7};
    const leat_tensor good = texts("paths", paths, path_offsets), label = {.name = "label",
                                                                           .data = (void *)(uintptr_t)labels,
                                                                           .dtype = LEAT_DTYPE_I64,
                                                                           .ndim = 1,
                                                                           .shape = {3}};
    leat_tensor other = label, cube = label;
    other.shape[0] = 2;
    cube.ndim = 3;
    const struct {
        leat_tensor first, second;
        const char *classes, *says;
    } cases[] = {
        {texts("paths", paths, back), label, "", "offsets that go back"},
        {texts("paths", paths, empty), label, "", "paths[0] is empty"},
        {label, good, "", "the first array must hold the paths"},
        {good, other, "", "a row for each path"},
        {good, cube, "", "the shape (n) or (n, k)"},
        {good, good, "", "is there twice"},
        {good, label, "a,b", "label[2] is 7, but the given classes are 0 to 1"},
        {good, texts("label", words, word_offsets), "cat", "label[1] is 'dog', which is none"},
        {good, texts("label", words, word_offsets), "cat,cat", "'cat' is there twice"},
        {good, texts("label", words, word_offsets), "cat,", "'' has no name"},
        {good, texts("image", words, word_offsets), "", "the name of the field"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const leat_tensor arrays[] = {cases[i].first, cases[i].second};
        leat__rows rows;
        leat__source source;
        leat_error err = {0};
        assert_true(open_rows(&rows, &source, arrays, 2, cases[i].classes, &err) < 0);
        if (!strstr(err.message, cases[i].says)) fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
        close_rows(&rows, &source);
    }
}

static void specs_take_a_table(void **state) {
    (void)state;
    const leat_tensor arrays[] = {texts("paths", paths, path_offsets), texts("label", words, word_offsets)};
    leat_spec *spec = leat_spec_new(NULL);
    leat_pipeline *pipeline = NULL;
    leat_error err;
    assert_int_equal(leat_spec_table(spec, arrays, 2), 0);
    assert_int_equal(leat_spec_add(spec, "list | with_path | select label path | batch 3"), 0);
    assert_int_equal(leat_pipeline_open(&pipeline, spec, NULL, &err), 0);
    leat_batch batch;
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err),
                     LEAT_ERR_NOT_FOUND); /* there are no such files */
    assert_non_null(strstr(err.message, "paths[0]: cannot open a.jpg"));
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    spec = leat_spec_new("list | decode | batch 3");
    assert_int_equal(leat_pipeline_open(&pipeline, spec, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "leat_spec_table"));
    leat_spec_free(&spec);
    spec = leat_spec_new(NULL);
    assert_int_equal(leat_spec_table(spec, NULL, 1), LEAT_ERR_ARGUMENT);
    leat_spec_free(&spec);
}

/* Every allocation that fails is told, and nothing is lost. */
static void memory_may_end(void **state) {
    (void)state;
    const leat_tensor arrays[] = {texts("paths", paths, path_offsets), texts("label", words, word_offsets)};
    int rc = -1;
    for (uint64_t n = 1; rc != 0; n++) {
        leat__rows rows;
        leat__source source;
        leat_error err;
        assert_true(n < 100);
        leat__mem_fail_at(n);
        rc = open_rows(&rows, &source, arrays, 2, "dog,cat", &err);
        leat__mem_fail_at(0);
        if (rc != 0) assert_int_equal(rc, LEAT_ERR_MEMORY);
        close_rows(&rows, &source);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_become_rows),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(specs_take_a_table),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
