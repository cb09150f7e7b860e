/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over consecutive samples against naive code: arrays as they lie in memory, strided ones, .npy files that are
 * read, samples that are made one by one, parts of a series, and what is refused. */
#include "unit/testing.h"

#include "unit/testing_npy.h"

enum { N = 83, WIDTH = 3 };

static float series[N][WIDTH];
static int64_t label[N];

static void fill_series(void) {
    for (int i = 0; i < N; i++) {
        label[i] = 1000 + i;
        for (int k = 0; k < WIDTH; k++) series[i][k] = (float)(i * 10 + k);
    }
}

/* Opens with the series in memory; x lies `apart` floats from row to row, which is not WIDTH if it is a part of a table. */
static leat_pipeline *open_arrays(const float *x, int64_t apart, bool turned, const char *text) {
    leat_tensor arrays[] = {{.name = "x",
                             .data = (void *)(uintptr_t)x,
                             .dtype = LEAT_DTYPE_F32,
                             .ndim = 2,
                             .shape = {N, WIDTH},
                             .stride = {apart * 4, 4}},
                            {.name = "y", .data = label, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {N}}};
    if (turned) { /* columns lie one after the other */
        arrays[0].stride[0] = 4;
        arrays[0].stride[1] = 4 * N;
    }
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_arrays(spec, arrays, 2);
    leat_spec_add(spec, text);
    return open_spec(spec, NULL);
}

/* Every window comes once, in order, with what naive code says: rows first + k * shift + j * stride. */
static void check(leat_pipeline *pipeline, int first, int n, int size, int shift, int stride, int target) {
    leat_batch b;
    leat_error err = {0};
    int window = 0, rc;
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        const leat_tensor *x = &b.tensor[0], *y = &b.tensor[1];
        assert_true(x->ndim == 3 && x->shape[1] == size && x->shape[2] == WIDTH && y->ndim == 1);
        for (int i = 0; i < b.n; i++, window++) {
            const float *rows = (const float *)x->data + (size_t)i * (size_t)(size * WIDTH);
            const int from = first + window * shift;
            for (int j = 0; j < size; j++)
                assert_memory_equal(rows + j * WIDTH, series[from + j * stride], sizeof series[0]);
            assert_int_equal(((const int64_t *)y->data)[i], label[from + target]);
        }
        leat_batch_release(&b);
    }
    if (rc < 0) fail_msg("%s", err.message);
    const int reach = LEAT_MAX((size - 1) * stride, target);
    assert_int_equal(window, (n - reach + shift - 1) / shift);
    leat_pipeline_close(&pipeline);
}

static void test_windows(void **state) {
    (void)state;
    static const struct {
        int size, shift, stride, at;
    } cases[] = {{10, 1, 1, 0}, {1, 1, 1, 0},  {4, 3, 2, 1}, {5, 9, 1, -4},
                 {7, 2, 5, 6},  {83, 1, 1, 0}, {2, 1, 81, 1}};
    static float table[N][2 * WIDTH], turned[WIDTH][N], backwards[N][WIDTH];
    fill_series();
    for (int i = 0; i < N; i++)
        for (int k = 0; k < WIDTH; k++) table[i][k] = turned[k][i] = backwards[N - 1 - i][k] = series[i][k];
    char text[300];
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const int size = cases[i].size, shift = cases[i].shift, stride = cases[i].stride;
        const int target = (size - 1) * stride + cases[i].at;
        for (int skip = 0; skip < 3; skip += 2) {
            if (N - skip - 4 <= LEAT_MAX((size - 1) * stride, target)) skip = 3;
            const int first = skip == 3 ? 0 : skip, n = skip == 2 ? N - skip - 3 : N - first;
            snprintf(text, sizeof text, "%swindow %d shift=%d stride=%d targets=y at=%d | batch 8",
                     skip == 2 ? "skip 2 | take 78 | " : "", size, shift, stride, cases[i].at);
            check(open_arrays(series[0], WIDTH, false, text), first, n, size, shift, stride, target);
            check(open_arrays(table[0], 2 * (int64_t)WIDTH, false, text), first, n, size, shift, stride,
                  target);
            check(open_arrays(turned[0], 0, true, text), first, n, size, shift, stride, target);
            check(open_arrays(backwards[N - 1], -(int64_t)WIDTH, false, text), first, n, size, shift, stride,
                  target);
        }
    }
}

/* A file of more than what is held in memory: each window is one read of it. */
static void test_file(void **state) {
    (void)state;
    enum { ROWS = 17000, WIDE = 2000 };
    uint8_t *values = malloc(ROWS * WIDE);
    for (size_t i = 0; i < ROWS * WIDE; i++) values[i] = (uint8_t)(i / WIDE * 7 + i % WIDE);
    leat__buf npy = make_npy(values, 2, (const int64_t[]){ROWS, WIDE});
    write_buf(in_dir("large.npy"), &npy);
    leat_pipeline *pipeline =
        open_spec(spec_of("npy x=%s | window 3 shift=100 stride=4 | batch 4", in_dir("large.npy")), NULL);
    leat_batch b;
    int window = 0;
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
        for (int i = 0; i < b.n; i++, window++)
            for (int j = 0; j < 3; j++)
                assert_memory_equal((const uint8_t *)b.tensor[0].data + (size_t)(i * 3 + j) * WIDE,
                                    values + (size_t)(window * 100 + j * 4) * WIDE, WIDE);
        leat_batch_release(&b);
    }
    assert_int_equal(window, (ROWS - 8 + 99) / 100);
    leat_pipeline_close(&pipeline);
    free(values);
}

/* Samples that are made one by one are the same in their windows; several series do not run into one another. */
static void test_sources(void **state) {
    (void)state;
    tape plain = record_spec(spec_of("synth 24 4 4 | select image | batch 4"), NULL);
    tape windows = record_spec(spec_of("synth 24 4 4 | window 4 | select image | batch 1"), NULL);
    assert_int_equal(plain.n_batches, windows.n_batches);
    leat_pipeline *a = open_spec(spec_of("synth 24 4 4 | batch 4"), NULL);
    leat_pipeline *b = open_spec(spec_of("synth 24 4 4 | window 4 | batch 1"), NULL);
    leat_batch of_a, of_b;
    while (leat_pipeline_next(a, &of_a, NULL) == 0 && leat_pipeline_next(b, &of_b, NULL) == 0) {
        assert_memory_equal(of_a.tensor[0].data, of_b.tensor[0].data, 4 * 48);
        assert_memory_equal(of_a.tensor[1].data, of_b.tensor[1].data, 4 * 8);
        leat_batch_release(&of_a);
        leat_batch_release(&of_b);
    }
    leat_pipeline_close(&a);
    leat_pipeline_close(&b);
    tape_free(&plain), tape_free(&windows);
    tape both = record_spec(
        spec_of("concatenate 'synth 24 4 4 | window 5 shift=1' 'synth 9 4 4 | window 5 shift=1' | batch 1"),
        NULL);
    assert_int_equal(both.n_batches, 20 + 5);
    tape_free(&both);
}

static void test_again(void **state) {
    (void)state;
    static const char text[] = "synth 90 4 4 | window 5 shift=1 targets=label | shuffle | cast f32 | batch 4";
    tape one = record_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2, .synchronous = 1});
    tape many = record_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2, .n_threads = 4});
    same_tape(&one, &many, "threads");
    char saved[2048];
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2});
    tape first = record(pipeline, 30);
    assert_int_equal(leat_pipeline_state(pipeline, saved, sizeof saved, NULL), 0);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2});
    assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
    tape rest = record(pipeline, -1);
    same_tail(&one, 30, &rest, "restart");
    leat_pipeline_close(&pipeline);
    tape_free(&one), tape_free(&many), tape_free(&first), tape_free(&rest);
    leat_error err;
    pipeline = open_spec(
        spec_of("synth 90 4 4 | window 6 shift=1 targets=label | shuffle | cast f32 | batch 4"), NULL);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
    leat_pipeline_close(&pipeline);
}

static void test_refusals(void **state) {
    (void)state;
    write_samples(in_dir("a.tfrecord"), 0, 9, 12);
    static const refusal wrong[] = {
        {"synth | shuffle | window 4 | batch 2", LEAT_ERR_SYNTAX, "write shuffle and repeat behind it"},
        {"synth | repeat | window 4 | batch 2", LEAT_ERR_SYNTAX, "write shuffle and repeat behind it"},
        {"synth | shard 0/2 | window 4 | batch 2", LEAT_ERR_SYNTAX, "some are left out before it"},
        {"synth | repeat 2 | window 4 | batch 2", LEAT_ERR_SYNTAX, "some are left out before it"},
        {"synth | cast f32 | window 4 | batch 2", LEAT_ERR_SYNTAX, "right behind the source"},
        {"synth | select image | window 4 | batch 2", LEAT_ERR_SYNTAX, "right behind the source"},
        {"synth | batch 2 | window 4", LEAT_ERR_SYNTAX, "before batch"},
        {"synth 9 | window 10 | batch 2", LEAT_ERR_NOT_FOUND, "there are 9 samples"},
        {"synth 9 | window 9 targets=label at=1 | batch 2", LEAT_ERR_NOT_FOUND, "no whole window fits"},
        {"synth | window 0 | batch 2", LEAT_ERR_ARGUMENT, "size"},
        {"synth | window 4 targets=lebel | batch 2", LEAT_ERR_NOT_FOUND, "did you mean 'label'?"},
        {"synth | window 4 targets=label at=-4 | batch 2", LEAT_ERR_ARGUMENT, "-3 or more"},
        {"synth | window 4 targets=label at=x | batch 2", LEAT_ERR_ARGUMENT, "last, first"},
        {"synth | window 4 at=1 | batch 2", LEAT_ERR_ARGUMENT, "targets names"},
        {"synth 100 512 512 | window 1000000 | batch 2", LEAT_ERR_LIMIT, "256 MiB"},
        {"synth | window 2 | window 2 | window 2 | window 2 | batch 2", LEAT_ERR_SHAPE, "axes already"},
        {"synth | window 4 | random_flip | batch 2", LEAT_ERR_SHAPE, "4 axes"},
    };
    refuse_all(wrong, LEAT_COUNT(wrong));
    refuse_spec(spec_of("tfrecord %s | parse row:float[4] | window 4 | batch 2", in_dir("a.tfrecord")), NULL,
                LEAT_ERR_UNSUPPORTED, "leat.from_generator");
    refuse_spec(spec_of("tfrecord %s | window 4 | batch 2", in_dir("a.tfrecord")), NULL, LEAT_ERR_TYPE,
                "npy");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows), cmocka_unit_test(test_file),     cmocka_unit_test(test_sources),
        cmocka_unit_test(test_again),   cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
