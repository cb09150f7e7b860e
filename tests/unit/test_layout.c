/* SPDX-License-Identifier: Apache-2.0 */
/* Where the channels of pictures are: what the caller's arrays say, what is refused, how pictures leave; and which places of a
 * batch are real. */
#include "unit/testing.h"

enum { N = 5, H = 6, W = 7, C = 3 };

static uint8_t last[N][H][W][C], first[N][C][H][W];

static void fill(void) {
    for (int i = 0; i < N; i++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int c = 0; c < C; c++)
                    last[i][y][x][c] = first[i][c][y][x] = (uint8_t)(i * 50 + y * 7 + x * 3 + c);
}

static leat_tensor pictures(int layout) {
    fill();
    return (leat_tensor){.name = "image",
                         .data = first,
                         .dtype = LEAT_DTYPE_U8,
                         .ndim = 4,
                         .shape = {N, C, H, W},
                         .layout = layout};
}

static leat_pipeline *open_arrays(const leat_tensor *array, const char *text, const leat_config *config,
                                  leat_error *err) {
    leat_spec *spec = leat_spec_new(NULL);
    leat_pipeline *pipeline = NULL;
    leat_spec_arrays(spec, array, 1);
    leat_spec_add(spec, text);
    leat_pipeline_open(&pipeline, spec, config, err);
    leat_spec_free(&spec);
    return pipeline;
}

static void test_arrays_with_channels_first(void **state) {
    (void)state;
    leat_error err;
    leat_batch batch;
    const leat_tensor array = pictures(LEAT_LAYOUT_NCHW);
    leat_pipeline *pipeline = open_arrays(&array, "random_crop 6 7 | batch 5", NULL, &err);
    assert_non_null(pipeline);
    leat_field field;
    assert_int_equal(leat_pipeline_fields(pipeline, &field, 1), 1);
    assert_int_equal(field.layout, LEAT_LAYOUT_NHWC);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
    assert_memory_equal(batch.tensor[0].data, last, sizeof last);
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);
    pipeline = open_arrays(&array, "batch 5 | options layout=nchw", NULL, &err);
    assert_non_null(pipeline);
    assert_int_equal(leat_pipeline_fields(pipeline, &field, 1), 1);
    assert_true(field.layout == LEAT_LAYOUT_NCHW && field.shape[0] == C && field.shape[2] == W);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
    assert_memory_equal(batch.tensor[0].data, first, sizeof first);
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);
}

static void test_what_was_not_said(void **state) {
    (void)state;
    leat_error err;
    leat_tensor array = pictures(LEAT_LAYOUT_NONE);
    assert_null(open_arrays(&array, "random_flip_left_right | batch 2", NULL, &err));
    assert_int_equal(err.code, LEAT_ERR_SHAPE);
    assert_non_null(strstr(err.message, "(3, 6, 7): its channels are first"));
    assert_non_null(strstr(err.message, "layout=nchw"));
    leat_pipeline *pipeline = open_arrays(&array, "cast image f32 | batch 2", NULL, &err);
    assert_non_null(pipeline);
    leat_pipeline_close(&pipeline);
    array.layout = LEAT_LAYOUT_NHWC; /* three rows of six pixels */
    pipeline = open_arrays(&array, "random_flip_left_right | batch 2", NULL, &err);
    assert_non_null(pipeline);
    leat_pipeline_close(&pipeline);
    array.layout = 3;
    assert_null(open_arrays(&array, "batch 2", NULL, &err));
    assert_non_null(strstr(err.message, "LEAT_LAYOUT_NCHW, not 3"));
}

static void count_warnings(void *user, int level, const char *message) {
    if (level == LEAT_LOG_WARNING && strstr(message, "taken as (height, width, channels)")) ++*(int *)user;
}

static void test_a_doubtful_shape_is_told(void **state) {
    (void)state;
    leat_error err;
    int told = 0;
    leat_tensor array = pictures(LEAT_LAYOUT_NONE);
    const leat_config config = {.log = count_warnings, .user = &told};
    array.shape[2] = array.shape[3] = 3;
    leat_pipeline *pipeline =
        open_arrays(&array, "random_flip_left_right | random_flip_up_down | batch 2", &config, &err);
    assert_non_null(pipeline);
    leat_pipeline_close(&pipeline);
    assert_int_equal(told, 1);
}

static int read_nothing(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)user, (void)i, (void)out, (void)err;
    return 0;
}

static void test_callbacks_write_channels_last(void **state) {
    (void)state;
    leat_error err;
    leat_pipeline *pipeline = NULL;
    leat_field field = {.name = "image", .ndim = 3, .shape = {3, 8, 8}, .layout = LEAT_LAYOUT_NCHW};
    const leat_source_callbacks source = {.n = 4, .n_fields = 1, .field = &field, .read_at = read_nothing};
    for (int k = 0; k < 3; k++) {
        leat_spec *spec = leat_spec_new(NULL);
        field.layout = k == 0 ? LEAT_LAYOUT_NCHW : k == 1 ? LEAT_LAYOUT_NONE : LEAT_LAYOUT_NHWC;
        leat_spec_source(spec, &source);
        leat_spec_add(spec, "random_flip_left_right | batch 2");
        const int rc = leat_pipeline_open(&pipeline, spec, NULL, &err);
        assert_int_equal(rc, k == 0 ? LEAT_ERR_UNSUPPORTED : k == 1 ? LEAT_ERR_SHAPE : 0);
        leat_pipeline_close(&pipeline);
        leat_spec_free(&spec);
    }
}

/* Two ranks share batches of 4 out of 5 samples: the second batch has one real sample, of rank 0. */
static void test_which_places_are_real(void **state) {
    (void)state;
    static const uint8_t want[2][2][2] = {{{1, 1}, {1, 0}}, {{1, 1}, {0, 0}}};
    const leat_tensor array = pictures(LEAT_LAYOUT_NCHW);
    leat_error err;
    leat_batch batch;
    for (int rank = 0; rank < 2; rank++) {
        const leat_config config = {.rank = rank, .world_size = 2, .n_threads = 2};
        leat_pipeline *pipeline = open_arrays(&array, "batch 2 valid=real", &config, &err);
        assert_non_null(pipeline);
        for (int step = 0; step < 2; step++) {
            assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
            assert_true(batch.n == 2 && batch.n_tensors == 2 && !strcmp(batch.tensor[1].name, "real"));
            assert_int_equal(batch.tensor[1].dtype, LEAT_DTYPE_BOOL);
            assert_memory_equal(batch.tensor[1].data, want[rank][step], 2);
            leat_batch_release(&batch);
        }
        leat_pipeline_close(&pipeline);
    }
    leat_pipeline *pipeline =
        open_arrays(&array, "batch 4 valid=a | rebatch 3 pad_remainder=true valid=b", NULL, &err);
    assert_non_null(pipeline);
    leat_field field[4];
    assert_int_equal(leat_pipeline_fields(pipeline, field, 4), 2);
    assert_string_equal(field[1].name, "b");
    leat_pipeline_close(&pipeline);
    assert_null(open_arrays(&array, "batch 4 valid=image", NULL, &err));
    assert_non_null(strstr(err.message, "there is a field image already"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_with_channels_first),
        cmocka_unit_test(test_what_was_not_said),
        cmocka_unit_test(test_a_doubtful_shape_is_told),
        cmocka_unit_test(test_callbacks_write_channels_last),
        cmocka_unit_test(test_which_places_are_real),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
