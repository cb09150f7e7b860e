/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* The shapes of batches: divided anew, taken apart, filled up at the end, and with fields that differ in size. */
#include "unit/testing.h"

static char photos[400], records[400], stream[400];

enum { PHOTOS = 23 };

static int photo_height(int i) {
    return 3 + i * 7 % 11;
}
static int photo_width(int i) {
    return 4 + i * 5 % 9;
}

static int begin_batching(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0};
    for (int i = 0; i < PHOTOS; i++) {
        write_png(in_dir("photos/%02d.png", i), photo_height(i), photo_width(i), (unsigned)i);
        const int64_t id = i, ids[6] = {i, -i, 5, 6, 7, 8};
        const leat__feature_value values[] = {
            {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &id},
            {.key = "ids", .kind = LEAT_FEATURE_INT64, .n = (size_t)(i % 7), .values = ids}};
        add_example(&shard, values, 2);
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    snprintf(photos, sizeof photos, "folder %s | decode", in_dir("photos"));
    snprintf(records, sizeof records, "tfrecord %s | parse label:int64 ids:int64[*]", in_dir("a.tfrecord"));
    snprintf(stream, sizeof stream, "tfrecord %s | parse label:int64 ids:int64[*6]", in_dir("a.gz"));
    return 0;
}

/* ------------------------------------------------------------------------------------ divided anew */

static void same(const char *a, const char *b) {
    char what[1000];
    snprintf(what, sizeof what, "%s = %s", a, b);
    for (int epochs = 1; epochs <= 2; epochs++) {
        const leat_config config = {.n_epochs = epochs, .no_side_files = 1};
        tape one = record_spec(spec_of("%s", a), &config), other = record_spec(spec_of("%s", b), &config);
        same_tape(&one, &other, what);
        tape_free(&one);
        tape_free(&other);
    }
}

static void test_rebatch(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"batch 4 | rebatch 3", "batch 3"},
        {"batch 4 | rebatch 9 drop_remainder=true", "batch 9 drop_remainder=true"},
        {"batch 4 drop_remainder=true | rebatch 3", "take 20 | batch 3"},
        {"batch 4 drop_remainder=true | take 3 | rebatch 5", "take 12 | batch 5"},
        {"batch 4 drop_remainder=true | skip 1 | rebatch 5", "skip 4 | take 16 | batch 5"},
        {"batch 4 | unbatch | batch 7", "batch 7"},
        {"batch 4 | unbatch", "batch 1"},
        {"batch 4 | unbatch | shuffle 5 | batch 6", "shuffle 5 | batch 6"}, /* the draws keep their number */
        {"shuffle seed=2 | batch 4 | repeat 2 | unbatch | batch 6", "shuffle seed=2 | repeat 2 | batch 6"},
        {"batch 4 drop_remainder=true | repeat 3 | rebatch 6", "take 20 | repeat 3 | batch 6"},
        {"batch 5 | rebatch 4 | rebatch 3 | prefetch 2 | rebatch 2", "batch 2"},
        {"batch 4 | take 2 | unbatch | skip 1 | batch 2", "take 8 | skip 1 | batch 2"},
        {"batch 4 | cache freeze=true", "cache freeze=true | batch 4"},
        {"batch 1 | shuffle seed=2", "shuffle seed=2 | batch 1"},
        {"batch 1 | repeat 2 | unbatch | shuffle 5 | batch 4", "repeat 2 | shuffle 5 | batch 4"},
        {"repeat | shuffle buffer_size=7 | take 60 | batch 4", "repeat | shuffle 7 | take 60 | batch 4"},
    };
    for (size_t i = 0; i < LEAT_COUNT(pairs); i++) {
        char a[600], b[600];
        snprintf(a, sizeof a, "synth 23 4 5 | random_brightness 0.3 | %s", pairs[i][0]);
        snprintf(b, sizeof b, "synth 23 4 5 | random_brightness 0.3 | %s", pairs[i][1]);
        same(a, b);
    }
    char a[700], b[700];
    snprintf(a, sizeof a, "%s | batch 4 | rebatch 3", stream);
    snprintf(b, sizeof b, "%s | batch 3", stream);
    same(a, b);
    same("synth 64 6 6 | one_hot label 10 | batch 16 | mixup group=4 | rebatch 8",
         "synth 64 6 6 | one_hot label 10 | batch 8 | mixup group=4");
}

static void test_refusals(void **state) {
    (void)state;
    static const refusal cases[] = {
        {"synth | unbatch", LEAT_ERR_SYNTAX, "no batch before"},
        {"synth | rebatch 3", LEAT_ERR_SYNTAX, "no batch before"},
        {"synth | batch 3 | batch 4", LEAT_ERR_SYNTAX, "write rebatch 4"},
        {"synth | batch 3 | unbatch | unbatch", LEAT_ERR_SYNTAX, "no batch before"},
        {"synth | batch 3 pad_remainder=true | unbatch", LEAT_ERR_SYNTAX, "pad_remainder at the last batch"},
        {"synth | batch 3 pad_remainder=true drop_remainder=true", LEAT_ERR_ARGUMENT, "not both"},
        {"synth | batch 3 | shard 0/2", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | one_hot label 10 | batch 16 | mixup | unbatch", LEAT_ERR_SYNTAX,
         "write mixup after the last batch"},
        {"synth | one_hot label 10 | batch 16 | mixup | rebatch 24", LEAT_ERR_ARGUMENT, "write rebatch 32"},
        {"synth | padded_batch 4 nothing=3x3x3", LEAT_ERR_NOT_FOUND, "no such field"},
        {"synth | padded_batch 4 padding=nothing:3", LEAT_ERR_NOT_FOUND, "no such field"},
        {"synth | padded_batch 4 image=3x3x3", LEAT_ERR_SHAPE, "more than 3"},
        {"synth | padded_batch 4 image=100", LEAT_ERR_SHAPE, "3 axes"},
        {"synth | padded_batch 4 image=100x0x3", LEAT_ERR_SHAPE, "100x0x3"},
        {"synth | padded_batch 4 image=100x100x3 padding=z", LEAT_ERR_SYNTAX, "padding must be a number"},
        {"synth | padded_batch 4 z", LEAT_ERR_SYNTAX, "image=640x640x3"},
        {"synth | padded_batch 4 | rebatch 2", LEAT_ERR_SYNTAX, "into padded_batch"},
        {"synth | padded_batch 4 image=70x70x3 | mixup labels=none group=4", LEAT_ERR_SHAPE,
         "cannot be mixed"},
        {"synth | padded_batch 4 image=1000000000x1000000000x1000000000", LEAT_ERR_SHAPE, "too many"},
    };
    refuse_all(cases, LEAT_COUNT(cases));
    refuse_spec(spec_of("%s | padded_batch 4", photos), NULL, LEAT_ERR_SHAPE, "write max=image:");
    refuse_spec(spec_of("folder %s | padded_batch 4 image=9", in_dir("photos")), NULL, LEAT_ERR_TYPE,
                "decode it first");
    refuse_spec(spec_of("%s | batch 4 drop_remainder=true | rebatch 3", stream), NULL, LEAT_ERR_UNSUPPORTED,
                "at the last batch");
    tape t = record_spec(spec_of("%s | padded_batch 4 max=9x9", photos), NULL);
    if (t.rc != LEAT_ERR_SHAPE || !strstr(t.message, "padded_batch has room for 9x9x3"))
        fail_msg("%s", t.message);
    tape_free(&t);
}

/* -------------------------------------------------------------------------------------- filled up */

static void test_pad_remainder(void **state) {
    (void)state;
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 23 4 5 | shuffle | random_brightness 0.3 | batch 9 pad_remainder=true"),
                  &(leat_config){.n_epochs = 2});
    leat_batch b;
    assert_int_equal(leat_pipeline_length(pipeline, 0), 3);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        assert_int_equal(b.n, 9);
        assert_int_equal(b.n_valid, i % 3 == 2 ? 5 : 9);
        assert_int_equal(b.tensor[0].shape[0], 9);
        const size_t bytes = (size_t)b.tensor[0].stride[0];
        for (int k = b.n_valid; k < 9; k++) {
            assert_true(b.sample[k] == b.sample[k % 5] && b.position[k] == b.position[k % 5]);
            assert_memory_equal((uint8_t *)b.tensor[0].data + (size_t)k * bytes,
                                (uint8_t *)b.tensor[0].data + (size_t)(k % 5) * bytes, bytes);
        }
        leat_batch_release(&b);
    }
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), LEAT_END);
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.samples, 46);
    leat_pipeline_close(&pipeline);
}

/* ---------------------------------------------------------------------------------- sizes that differ */

/* Every batch of a pipeline on the photos is what a plain loop makes of them. */
static void check_photos(const char *text, int fixed_h, int fixed_w, bool nchw, float padding) {
    leat_pipeline *pipeline = open_spec(spec_of("%s | %s", photos, text), &(leat_config){.n_threads = 3});
    leat_batch b;
    leat_error err;
    int first = 0, rc;
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        const leat_tensor *t = &b.tensor[0];
        int h = fixed_h, w = fixed_w;
        for (int i = 0; i < b.n; i++) {
            if (!fixed_h) h = LEAT_MAX(h, photo_height(first + i));
            if (!fixed_w) w = LEAT_MAX(w, photo_width(first + i));
        }
        const int64_t shape[4] = {b.n, nchw ? 3 : h, nchw ? h : w, nchw ? w : 3};
        assert_int_equal(t->ndim, 4);
        int64_t stride = (int64_t)leat_dtype_size(t->dtype);
        for (int i = 3; i >= 0; i--) {
            assert_int_equal(t->shape[i], shape[i]);
            assert_int_equal(t->stride[i], stride);
            stride *= shape[i];
        }
        for (int i = 0; i < b.n; i++) {
            uint8_t pixels[20 * 20 * 3];
            const int ph = photo_height(first + i), pw = photo_width(first + i);
            paint(pixels, ph, pw, 3, (unsigned)(first + i));
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++)
                    for (int c = 0; c < 3; c++) {
                        const size_t at =
                            nchw ? (((size_t)i * 3 + (size_t)c) * (size_t)h + (size_t)y) * (size_t)w +
                                       (size_t)x
                                 : (((size_t)i * (size_t)h + (size_t)y) * (size_t)w + (size_t)x) * 3 +
                                       (size_t)c;
                        const float want = y < ph && x < pw ? pixels[(y * pw + x) * 3 + c] : padding;
                        const float got =
                            t->dtype == LEAT_DTYPE_U8 ? ((uint8_t *)t->data)[at] : ((float *)t->data)[at];
                        if (want != got) fail_msg("%s: sample %d (%d, %d, %d)", text, first + i, y, x, c);
                    }
        }
        first += b.n;
        leat_batch_release(&b);
    }
    if (rc < 0) fail_msg("%s: %s", text, err.message);
    assert_int_equal(first, PHOTOS);
    leat_pipeline_close(&pipeline);
}

static void test_padded_photos(void **state) {
    (void)state;
    check_photos("padded_batch 5 max=20x20x3", 0, 0, false, 0);
    check_photos("padded_batch 5 max=image:13x12 padding=200", 0, 0, false, 200);
    check_photos("padded_batch 4 image=20x20x3 padding=image:7", 20, 20, false, 7);
    check_photos("padded_batch 4 image=*x16x* max=20x20x3", 0, 16, false, 0);
    check_photos("cast f32 layout=nchw | padded_batch 6 max=20x20 padding=-1.5", 0, 0, true, -1.5f);
    check_photos("cast f32 layout=nchw | padded_batch 6 image=14x*x3 max=20x20", 14, 0, true, 0);
    leat_field field;
    leat_pipeline *pipeline = open_spec(spec_of("%s | padded_batch 4 image=*x16x3 max=20x20", photos), NULL);
    assert_int_equal(leat_pipeline_fields(pipeline, &field, 1), 1);
    assert_true(field.ndim == 3 && field.shape[0] == -1 && field.shape[1] == 16 && field.shape[2] == 3 &&
                !field.ragged);
    char plan[4000];
    leat_pipeline_plan(pipeline, plan, sizeof plan);
    assert_non_null(strstr(plan, "image u8 (up to 20, 16, 3)"));
    /* One by itself has its own size. */
    leat_batch b;
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 2, &b, NULL), 0);
    assert_true(b.tensor[0].shape[1] == photo_height(2) && b.tensor[0].shape[2] == 16);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

static void test_padded_numbers(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const char *text = k % 2 ? stream : records;
        leat_pipeline *pipeline = open_spec(
            spec_of(k < 2 ? "%s | padded_batch 5 padding=ids:-1" : "%s | padded_batch 5 ids=8 padding=-1",
                    text),
            &(leat_config){.no_side_files = 1});
        leat_batch b;
        int first = 0;
        while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
            const leat_tensor *t = &b.tensor[1];
            int most = k < 2 ? 0 : 8;
            for (int i = 0; i < b.n && k < 2; i++) most = LEAT_MAX(most, (first + i) % 7);
            assert_true(t->ndim == 2 && t->shape[0] == b.n && t->shape[1] == most && !t->offsets);
            for (int i = 0; i < b.n; i++)
                for (int v = 0; v < most; v++) {
                    const int64_t got = ((int64_t *)t->data)[i * most + v], id = first + i;
                    assert_int_equal(got, v >= id % 7 ? -1 : v == 0 ? id : v == 1 ? -id : v + 3);
                }
            first += b.n;
            leat_batch_release(&b);
        }
        assert_int_equal(first, PHOTOS);
        leat_pipeline_close(&pipeline);
    }
}

/* Holes, threads and restarts change nothing; ranks only what is the largest of a batch. */
static void test_padded_anywhere(void **state) {
    (void)state;
    char text[700];
    snprintf(text, sizeof text,
             "%s | shuffle | random_flip_left_right | random_brightness 0.2 | padded_batch 5 image=16x16x3 "
             "pad_remainder=true",
             photos);
    write_file(in_dir("photos/05.png"), "bad", 3);
    static char states[16][1024];
    const leat_config base = {.n_epochs = 2, .on_error = LEAT_ON_ERROR_SKIP, .no_side_files = 1};
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &base);
    tape all = {0};
    leat_batch b;
    leat_error err;
    while (all.n_batches < 16) {
        leat_pipeline_state(pipeline, states[all.n_batches], sizeof states[0], NULL);
        if ((all.rc = leat_pipeline_next(pipeline, &b, &err)) != 0) break;
        assert_int_equal(b.n, 5);
        tape_add(&all, &b);
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
    assert_true(all.rc == LEAT_END && all.n_batches == 10);
    for (int i = 0; i <= all.n_batches; i++) {
        leat_config config = base;
        config.n_threads = 1 + i % 4;
        config.n_slots = 2 + i % 3;
        pipeline = open_spec(spec_of("%s", text), &config);
        assert_int_equal(leat_pipeline_restore(pipeline, states[i], &err), 0);
        tape tail = record(pipeline, -1);
        same_tail(&all, i, &tail, text);
        tape_free(&tail);
        leat_pipeline_close(&pipeline);
    }
    /* With ranks too: the union is the same. */
    char again[700];
    snprintf(again, sizeof again, "%.*s padded_batch 1 image=16x16x3",
             (int)(strstr(text, "padded_batch") - text - 1), text);
    uint64_t samples[5];
    leat_pipeline *rank[5];
    for (int r = 0; r < 5; r++) {
        leat_config config = base;
        config.rank = r;
        config.world_size = 5;
        rank[r] = open_spec(spec_of("%s", again), &config);
    }
    for (int i = 0, at = 0; i < all.n_batches; i++) {
        int n = 0;
        for (int r = 0; r < 5; r++) {
            assert_int_equal(leat_pipeline_next(rank[r], &b, &err), 0);
            assert_int_equal(b.n, 1);
            if (b.n_valid) samples[n++] = b.sample[0];
            leat_batch_release(&b);
        }
        assert_memory_equal(samples, all.sample + at, (size_t)n * sizeof *samples);
        at += all.size[i];
    }
    for (int r = 0; r < 5; r++) leat_pipeline_close(&rank[r]);
    tape_free(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rebatch),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_pad_remainder),  cmocka_unit_test(test_padded_photos),
        cmocka_unit_test(test_padded_numbers), cmocka_unit_test(test_padded_anywhere),
    };
    return cmocka_run_group_tests_name("batching", tests, begin_batching, end_files);
}
