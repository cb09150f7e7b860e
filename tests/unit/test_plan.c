/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Plans: what is refused and with which words, what a batch will hold, and that fusing changes no byte. */
#include "unit/testing.h"

/* ---------------------------------------------------------------------------------------- refusals */

static void test_refusals(void **state) {
    (void)state;
    static const refusal cases[] = {
        {"batch 4", LEAT_ERR_SYNTAX, "begins with a source"},
        {"resize 4 | synth", LEAT_ERR_SYNTAX, "begins with a source"},
        {"synth | synth", LEAT_ERR_SYNTAX, "one source"},
        {"arrays", LEAT_ERR_ARGUMENT, "leat_spec_arrays"},
        {"synth | batch 2 | batch 2", LEAT_ERR_SYNTAX, "write rebatch"},
        {"synth | batch 2 | resize 3", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | batch 2 | select label", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | batch 2 | repeat | shuffle", LEAT_ERR_SYNTAX, "before repeat"},
        {"synth | batch 2 | shuffle block=4k", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | repeat | batch 2 | shuffle", LEAT_ERR_SYNTAX, "give it a window"},
        {"synth | batch 2 | shard 0/2", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | repeat | shuffle", LEAT_ERR_SYNTAX, "shuffle before repeat"},
        {"synth | shard 2/2", LEAT_ERR_ARGUMENT, "0 <= i < n"},
        {"synth | shard -1/2", LEAT_ERR_ARGUMENT, "0 <= i < n"},
        {"synth | shard 1", LEAT_ERR_ARGUMENT, "i/n"},
        {"synth | shard 1/2/3", LEAT_ERR_ARGUMENT, "i/n"},
        {"synth | shard 0/99999999999999999999", LEAT_ERR_ARGUMENT, "i/n"},
        {"synth | prefetch 0", LEAT_ERR_ARGUMENT, "auto"},
        {"synth | prefetch -2", LEAT_ERR_ARGUMENT, "auto"},
        {"synth | prefetch many", LEAT_ERR_ARGUMENT, "auto"},
        {"synth | take 0", LEAT_ERR_NOT_FOUND, "no sample is left"},
        {"synth 10 | skip 10", LEAT_ERR_NOT_FOUND, "no sample is left"},
        {"synth 10 | skip -1", LEAT_ERR_NOT_FOUND, "no sample is left"},
        {"synth 10 | repeat 0", LEAT_ERR_NOT_FOUND, "no sample is left"},
        {"synth 2 | shard 3/4", LEAT_ERR_NOT_FOUND, "no sample is left"},
        {"synth | batch 2 | repeat 2 | take 3", LEAT_ERR_SYNTAX, "before repeat"},
        {"synth | batch 2 | repeat 2 | skip 3", LEAT_ERR_SYNTAX, "before repeat"},
        {"synth | decode", LEAT_ERR_TYPE, "holds u8, not an image file"},
        {"synth | decode lable", LEAT_ERR_NOT_FOUND, "did you mean 'label'?"},
        {"synth | resize 3 field=picture", LEAT_ERR_NOT_FOUND, "there are image, label"},
        {"synth | resize 3 field=label", LEAT_ERR_SHAPE, "axes"},
        {"synth | cast i32 | resize 3", LEAT_ERR_TYPE, "cast image f32 before"},
        {"synth | cast bytes", LEAT_ERR_TYPE, "bytes"},
        {"synth | decode_raw u8", LEAT_ERR_TYPE, "not bytes"},
        {"synth | parse image:bytes", LEAT_ERR_NOT_FOUND, "record"},
        {"synth | parse a:bytes from=image", LEAT_ERR_TYPE, "not the bytes of an Example"},
        {"synth | resize 3 method=area flavour=pil", LEAT_ERR_UNSUPPORTED, "no method of flavour=pil"},
        {"synth | cast f32 | resize 3 flavour=pil", LEAT_ERR_TYPE, "works on u8"},
        {"synth | normalize mean=1,2 std=1,2,3", LEAT_ERR_ARGUMENT, "mean has 2 numbers and std 3"},
        {"synth | normalize mean=1,2", LEAT_ERR_SHAPE, "3 channels"},
        {"synth | normalize mean=1,2,3,4,5", LEAT_ERR_ARGUMENT, "more than 4"},
        {"synth | normalize mean=a", LEAT_ERR_SYNTAX, "separated by commas"},
        {"synth | normalize mean=", LEAT_ERR_ARGUMENT, "mean has 0 numbers"},
        {"synth | normalize std=0", LEAT_ERR_ARGUMENT, "must not be 0"},
        {"synth | normalize imagenet std=2", LEAT_ERR_ARGUMENT, "its own"},
        {"synth | select nothing", LEAT_ERR_NOT_FOUND, "nothing"},
        {"synth | select image image", LEAT_ERR_SYNTAX, "twice"},
        {"synth | reshape -1 -1", LEAT_ERR_SHAPE, "only one"},
        {"synth | reshape 1 2 3 4 5 6", LEAT_ERR_SHAPE, "too many"},
        {"synth | reshape 1000000000 1000000000 1000000000", LEAT_ERR_SHAPE, "too large"},
        {"synth | cast label i64 layout=nchw", LEAT_ERR_SHAPE, "nchw"},
        {"synth | cast f32 layout=nchw | reshape -1", LEAT_ERR_SHAPE, "channels first"},
        {"synth 10 60000 60000 | batch 100000", LEAT_ERR_LIMIT, "60000x60000x3"},
        {"synth 10 6000 6000 | batch 1000000", LEAT_ERR_MEMORY, "smaller batch"},
        {"synth | resize 65535 | batch 16000000", LEAT_ERR_MEMORY, "smaller batch"},
        {"synth | reshape 3 | batch 2", LEAT_ERR_SHAPE, "field image has 12288 values"},
        {"synth | reshape 5 -1 | batch 2", LEAT_ERR_SHAPE, "a multiple of 5"},
        {"folder /nowhere/at/all | decode", LEAT_ERR_NOT_FOUND, "/nowhere/at/all"},
        {"tfrecord /nowhere/*.tfrecord", LEAT_ERR_NOT_FOUND, "no file matches"},
    };
    refuse_all(cases, LEAT_COUNT(cases));
    refuse_spec(spec_of("synth | batch 2"), &(leat_config){.on_error = 7}, LEAT_ERR_ARGUMENT, "on_error");
    refuse_spec(spec_of("synth | batch 2"), &(leat_config){.memory_max_bytes = 1000}, LEAT_ERR_MEMORY,
                "budget");
    refuse_spec(spec_of("synth | batch 2"), &(leat_config){.n_slots = 5000}, LEAT_ERR_LIMIT, "more than");
}

/* As many operations, steps, fields as a text can name: refused, not overrun. */
static void test_many(void **state) {
    (void)state;
    static const char *const ops[] = {" | random_flip_left_right",
                                      " | random_brightness 0.1",
                                      " | cast f32",
                                      " | cast i32",
                                      " | reshape 64 64 3",
                                      " | resize 64",
                                      " | take 10",
                                      " | normalize",
                                      " | select image",
                                      " | prefetch 2"};
    for (size_t i = 0; i < LEAT_COUNT(ops); i++)
        for (int n = 1; n < 200; n += 9) {
            char text[16000] = "options fuse=on | synth 4";
            for (int k = 0; k < n; k++) strcat(text, ops[i]);
            leat_spec *spec = leat_spec_new(text);
            leat_pipeline *pipeline = NULL;
            leat_error err;
            const int rc = leat_pipeline_open(&pipeline, spec, &(leat_config){.synchronous = 1}, &err);
            leat_batch batch;
            if (rc == 0) assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
            else assert_true(rc == LEAT_ERR_LIMIT && strstr(err.message, "more than"));
            leat_batch_release(rc == 0 ? &batch : NULL);
            leat_pipeline_close(&pipeline);
            leat_spec_free(&spec);
        }
}

static void test_fields(void **state) {
    (void)state;
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 10 20 30 | resize 7 8 | normalize imagenet layout=nchw | batch 4"), NULL);
    leat_field field[4];
    assert_int_equal(leat_pipeline_fields(pipeline, NULL, 0), 2);
    assert_int_equal(leat_pipeline_fields(pipeline, field, 4), 2);
    assert_string_equal(field[0].name, "image");
    assert_int_equal(field[0].dtype, LEAT_DTYPE_F32);
    assert_true(field[0].ndim == 3 && field[0].shape[0] == 3 && field[0].shape[1] == 7 &&
                field[0].shape[2] == 8);
    assert_true(field[1].ndim == 0 && field[1].dtype == LEAT_DTYPE_I64);
    assert_int_equal(leat_pipeline_length(pipeline, 0), 3);
    assert_int_equal(leat_pipeline_samples(pipeline), 10);
    assert_null(leat_pipeline_class(pipeline, 0));
    assert_null(leat_pipeline_class(pipeline, -1));
    char text[4000];
    const size_t n = leat_pipeline_plan(pipeline, text, sizeof text);
    assert_true(n == strlen(text) && strstr(text, "one pass: resize, normalize") &&
                strstr(text, "channels first"));
    assert_int_equal(leat_pipeline_plan(pipeline, text, 20), n);
    assert_int_equal(leat_pipeline_plan(pipeline, NULL, 0), n);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("synth 10 | select label image | batch 4 drop_remainder=true"), NULL);
    leat_pipeline_fields(pipeline, field, 1);
    assert_string_equal(field[0].name, "label");
    assert_int_equal(leat_pipeline_length(pipeline, 0), 2);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("synth 10 | repeat | batch 4"), NULL);
    assert_int_equal(leat_pipeline_length(pipeline, 0), -1);
    leat_pipeline_close(&pipeline);
    assert_int_equal(leat_pipeline_fields(NULL, field, 4), 0);
    assert_int_equal(leat_pipeline_length(NULL, 0), -1);
}

/* ------------------------------------------------------------------------------------------ fusing */

static const char *const image_ops[] = {
    "resize 9 7",
    "resize 9 7 method=nearest",
    "resize 9 7 flavour=pil",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_brightness 0.3",
    "cast f32 scale=1/255",
    "cast u8",
    "normalize imagenet",
    "normalize mean=3 std=2 layout=nchw",
    "cast f32 layout=nchw",
    "cast f32 offset=-7",
    "random_crop 6 5",
    "center_crop 7 6",
    "central_crop 0.7",
    "random_resized_crop 5 5",
};

/* Chains of three, every pair of operations among them: equal bytes, or the same refusal. */
static void test_fuse_changes_nothing(void **state) {
    (void)state;
    enum { N = (int)LEAT_COUNT(image_ops) };
    int ran = 0, tried = 0;
    make_dir(in_dir("fuse"));
    for (unsigned i = 0; i < 2; i++) write_png(in_dir("fuse/%u.png", i), 11, 13, i);
    for (unsigned i = 2; i < 4; i++) write_jpeg(in_dir("fuse/%u.jpg", i), 27, 29, i);
    for (int i = 0; i < N * N * N; i += 3) {
        const char *ops[3] = {image_ops[i % N], image_ops[i / N % N], image_ops[i / N / N]};
        char chain[500], source[600];
        snprintf(chain, sizeof chain, " | %s | %s | %s", ops[0], ops[1], ops[2]);
        if (i % 2) snprintf(source, sizeof source, "synth 4 11 13 3");
        else snprintf(source, sizeof source, "folder %s labels=none | decode", in_dir("fuse"));
        tape t[2] = {{0}};
        int rc[2];
        leat_error err[2];
        for (int f = 0; f < 2; f++) {
            leat_spec *spec = spec_of("%s%s | batch 1%s", source, chain, f ? " | options fuse=off" : "");
            leat_pipeline *pipeline = NULL;
            const leat_config config = {
                .synchronous = 1, .seed = (uint64_t)i, .no_side_files = 1, .on_error = LEAT_ON_ERROR_SKIP};
            rc[f] = leat_pipeline_open(&pipeline, spec, &config, &err[f]);
            if (rc[f] == 0) t[f] = record(pipeline, -1);
            leat_pipeline_close(&pipeline);
            leat_spec_free(&spec);
        }
        if (rc[0] != rc[1])
            fail_msg("%s: %s, without fusing %s", chain, leat_error_name(rc[0]), leat_error_name(rc[1]));
        if (rc[0] == 0) same_tape(&t[0], &t[1], chain);
        else assert_string_equal(err[0].message, err[1].message);
        ran += rc[0] == 0;
        tried++;
        tape_free(&t[0]);
        tape_free(&t[1]);
    }
    assert_true(ran > tried / 3);
}

/* Long chains too: more stages, flips and tables than one pass holds. */
static void test_fuse_long_chains(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(4, 0, 0, 0);
    for (int round = 0; round < 150; round++) {
        char chain[3000] = "";
        const int n = 4 + (int)leat__rng_below(&rng, 26);
        for (int k = 0; k < n; k++) {
            const char *op = image_ops[leat__rng_below(&rng, LEAT_COUNT(image_ops))];
            if (strstr(op, "pil") || strstr(op, "crop") || (strstr(op, "resize") && leat__rng_below(&rng, 3)))
                op = "random_brightness 0.2";
            snprintf(chain + strlen(chain), sizeof chain - strlen(chain), " | %s", op);
        }
        tape t[2];
        for (int f = 0; f < 2; f++)
            t[f] = record_spec(spec_of("synth 3 8 9%s | batch 3%s", chain, f ? " | options fuse=off" : ""),
                               &(leat_config){.synchronous = 1});
        same_tape(&t[0], &t[1], chain);
        tape_free(&t[0]);
        tape_free(&t[1]);
    }
}

/* The same bytes whatever the threads, the slots and the place in a batch. */
static void test_same_bytes(void **state) {
    (void)state;
    static const char text[] = "synth 100 24 20 | shuffle seed=3 | random_flip_left_right | resize 10 11 | "
                               "random_brightness 0.2 | normalize imagenet";
    tape first = {0};
    static const leat_config configs[] = {
        {.synchronous = 1, .n_epochs = 2},
        {.n_threads = 1, .n_epochs = 2},
        {.n_threads = 2, .n_epochs = 2},
        {.n_threads = 3, .n_slots = 2, .n_epochs = 2},
        {.n_threads = 8, .n_slots = 9, .n_epochs = 2},
        {.n_threads = 2, .tune = -1, .n_epochs = 2},
    };
    for (size_t i = 0; i < LEAT_COUNT(configs); i++) {
        tape t = record_spec(spec_of("%s | batch 8", text), &configs[i]);
        if (i == 0) first = t;
        else same_tape(&first, &t, "configuration"), tape_free(&t);
    }
    for (int prefetch = 1; prefetch < 20; prefetch += 6) {
        tape t = record_spec(spec_of("%s | batch 8 | prefetch %d", text, prefetch), &configs[2]);
        same_tape(&first, &t, "prefetch");
        tape_free(&t);
    }
    tape_free(&first);
    /* Another batch size cuts the same samples differently. */
    uint64_t whole[2] = {0};
    for (int k = 0; k < 2; k++) {
        leat_pipeline *pipeline = open_spec(spec_of("%s | batch %d", text, k ? 7 : 100), NULL);
        leat_batch b;
        while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
            for (int i = 0; i < b.n; i++)
                whole[k] = leat__hash((uint8_t *)b.tensor[0].data + i * b.tensor[0].stride[0],
                                      (size_t)b.tensor[0].stride[0], whole[k]);
            leat_batch_release(&b);
        }
        leat_pipeline_close(&pipeline);
    }
    assert_true(whole[0] == whole[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_many),
        cmocka_unit_test(test_fields),           cmocka_unit_test(test_fuse_changes_nothing),
        cmocka_unit_test(test_fuse_long_chains), cmocka_unit_test(test_same_bytes),
    };
    return cmocka_run_group_tests_name("plan", tests, begin_files, end_files);
}
