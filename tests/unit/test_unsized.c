/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Batches of one: samples that keep their own size. */
#include "run/pipeline.h"
#include "unit/testing.h"

enum { N = 24 };

static int height_of(int i) {
    return 3 + (int)(leat__mix64((uint64_t)i) % 60);
}
static int width_of(int i) {
    return 3 + (int)(leat__mix64((uint64_t)i + 1000) % 60);
}

static int make_pictures(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("p"));
    for (int i = 0; i < N; i++) write_png(in_dir("p/%02d.png", i), height_of(i), width_of(i), (unsigned)i);
    make_dir(in_dir("j"));
    for (int i = 0; i < N; i++) write_jpeg(in_dir("j/%02d.jpg", i), height_of(i), width_of(i), (unsigned)i);
    return 0;
}

static const leat_config quiet = {.no_side_files = 1, .n_threads = 2};

static void check_shape(const leat_tensor *t, int64_t a, int64_t b, int64_t c) {
    const int64_t want[4] = {1, a, b, c};
    int64_t stride = (int64_t)leat_dtype_size(t->dtype);
    assert_int_equal(t->ndim, 4);
    for (int k = 3; k >= 0; k--) {
        assert_int_equal(t->shape[k], want[k]);
        assert_int_equal(t->stride[k], stride);
        stride *= want[k];
    }
}

/* ----------------------------------------------------------------------------------- shapes and bytes */

static void check_pictures(const char *rest, const leat_config *config) {
    leat_pipeline *pipeline = open_spec(spec_of("folder %s | decode%s", in_dir("p"), rest), config);
    leat_field fields[2];
    assert_int_equal(leat_pipeline_fields(pipeline, fields, 2), 1);
    assert_int_equal(fields[0].ndim, 3);
    assert_true(fields[0].shape[0] == -1 && fields[0].shape[1] == -1 && fields[0].shape[2] == 3);
    leat_batch b;
    leat_error err;
    int n = 0, rc;
    for (; (rc = leat_pipeline_next(pipeline, &b, &err)) == 0; n++) {
        const int i = (int)b.sample[0];
        uint8_t pixels[64 * 64 * 3];
        paint(pixels, height_of(i), width_of(i), 3, (unsigned)i);
        assert_int_equal(b.n, 1);
        check_shape(&b.tensor[0], height_of(i), width_of(i), 3);
        assert_memory_equal(b.tensor[0].data, pixels, (size_t)(height_of(i) * width_of(i) * 3));
        leat_batch_release(&b);
    }
    if (rc < 0) fail_msg("%s: %s", rest, err.message);
    assert_int_equal(n, N);
    leat_pipeline_close(&pipeline);
}

static void test_shapes_and_bytes(void **state) {
    (void)state;
    static const char *const rest[] = {"",
                                       " | batch 1",
                                       " | options fuse=off",
                                       " | batch 1 | prefetch 3",
                                       " | cache",
                                       " | padded_batch 1 max=64x64"};
    for (size_t i = 0; i + 1 < LEAT_COUNT(rest); i++)
        for (int threads = 0; threads <= 4; threads += 2)
            check_pictures(rest[i], &(leat_config){.no_side_files = 1,
                                                   .n_threads = threads,
                                                   .synchronous = threads == 0,
                                                   .n_slots = i == 1 ? 1 : 0});
    check_pictures(rest[LEAT_COUNT(rest) - 1], &quiet); /* as before */
}

/* Of every picture, the same whether operations are fused or not, for any number of threads, and alone. */
static void test_operations(void **state) {
    (void)state;
    static const char *const rest[] = {
        "random_flip_left_right | random_flip_up_down",
        "random_brightness 0.2 | random_contrast 0.5 1.5",
        "cast f32 scale=1/255",
        "normalize imagenet layout=nchw",
        "cast f16",
        "central_crop 0.5",
        "resize_shorter 20 | random_flip_left_right",
        "random_saturation 0.5 1.5",
        "random_crop 3 3 | rot90",
        "gaussian_blur 3 | autocontrast",
        "rot90 | random_flip_left_right | normalize imagenet",
        "per_image_standardization",
        "rand_augment",
        "affine rotate=30 | random_erasing p=1",
        "pad 2 2 2 2 | random_jpeg_quality 30 90",
    };
    static const char *const folders[] = {"p", "j"};
    for (size_t i = 0; i < LEAT_COUNT(rest); i++) {
        const char *folder = in_dir("%s", folders[i % 2]);
        tape want = record_spec(spec_of("folder %s | shuffle | decode | %s", folder, rest[i]),
                                &(leat_config){.no_side_files = 1, .synchronous = 1, .n_epochs = 2});
        if (want.rc != LEAT_END) fail_msg("%s: %s", rest[i], want.message);
        assert_int_equal(want.n_batches, 2 * N);
        for (int off = 0; off < 2; off++) {
            leat_pipeline *pipeline =
                open_spec(spec_of("folder %s | shuffle | decode | %s%s", folder, rest[i],
                                  off ? " | options fuse=off" : " | batch 1"),
                          &(leat_config){.no_side_files = 1, .n_threads = 3, .n_epochs = 2});
            tape got = record(pipeline, -1);
            same_tape(&want, &got, rest[i]);
            tape_free(&got);
            for (int k = 0; k < 2 * N; k += 5) {
                leat_batch b;
                leat_error err;
                if (leat_pipeline_sample(pipeline, (uint64_t)k / N, (uint64_t)k % N, &b, &err) != 0)
                    fail_msg("%s: %s", rest[i], err.message);
                assert_int_equal(batch_digest(&b), want.digest[k]);
                leat_batch_release(&b);
            }
            leat_pipeline_close(&pipeline);
        }
        tape_free(&want);
    }
}

static void check_first(const char *rest, int64_t a, int64_t b, int64_t c) {
    leat_pipeline *pipeline = open_spec(spec_of("folder %s | decode | %s", in_dir("p"), rest), &quiet);
    leat_batch batch;
    assert_int_equal(leat_pipeline_next(pipeline, &batch, NULL), 0);
    check_shape(&batch.tensor[0], a, b, c);
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);
}

static void test_results_of_differing_size(void **state) {
    (void)state;
    const int h = height_of(0), w = width_of(0);
    check_first("cast f32 layout=nchw", 3, h, w);
    check_first("rot90", w, h, 3);
    check_first("resize_shorter 20", h < w ? 20 : h * 20 / w, h < w ? w * 20 / h : 20, 3);
    check_first("pad 2 2 2 2", h + 4, w + 4, 3);
}

/* A mask moves with its picture. */
static void test_mask(void **state) {
    (void)state;
    const char *p = in_dir("p");
    tape want = {0};
    for (int off = 0; off < 2; off++) {
        tape got = record_spec(
            spec_of("zip image='folder %s' mask='folder %s' | decode | decode mask channels=1 | mask mask | "
                    "random_flip_left_right | random_crop 3 3 | resize_shorter 8%s",
                    p, p, off ? " | options fuse=off" : ""),
            &quiet);
        if (got.rc != LEAT_END) fail_msg("%s", got.message);
        assert_int_equal(got.n_batches, N);
        if (off) same_tape(&want, &got, "fuse=off");
        tape_free(&want);
        want = got;
    }
    tape_free(&want);
}

/* ---------------------------------------------------------------------------------- other fields */

static void test_raw_values(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 20; i++) add_sample(&shard, i, (size_t)(1 + i * 7 % 20));
    write_file(in_dir("raw.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("raw.gz"), &shard, GZIP_BITS);
    for (int packed = 0; packed < 2; packed++) {
        leat_pipeline *pipeline =
            open_spec(spec_of("tfrecord %s | parse image:bytes label:int64 | decode_raw u8 | cast i32",
                              in_dir(packed ? "raw.gz" : "raw.tfrecord")),
                      &quiet);
        leat_batch b;
        for (int i = 0; i < 20; i++) {
            assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
            assert_int_equal(b.tensor[0].ndim, 2);
            assert_int_equal(b.tensor[0].shape[1], 1 + i * 7 % 20);
            for (int k = 0; k < 1 + i * 7 % 20; k++)
                assert_int_equal(((const int32_t *)b.tensor[0].data)[k],
                                 (uint8_t)(leat__mix64((uint64_t)i * 1000 + (uint64_t)k) >> 8));
            assert_int_equal(*(const int64_t *)b.tensor[1].data, i);
            leat_batch_release(&b);
        }
        leat_pipeline_close(&pipeline);
    }
}

/* Bytes that are not decoded come as they are. */
static void test_bytes(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("folder %s", in_dir("j")), &quiet);
    leat_batch b;
    for (int i = 0; i < N; i++) {
        leat__buf bytes = make_jpeg(height_of(i), width_of(i), 3, (unsigned)i);
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        assert_true(b.tensor[0].dtype == LEAT_DTYPE_BYTES && b.tensor[0].offsets);
        assert_true(b.tensor[0].offsets[0] == 0 && b.tensor[0].offsets[1] == (int64_t)bytes.size);
        assert_memory_equal(b.tensor[0].data, bytes.data, bytes.size);
        leat_batch_release(&b);
        leat__buf_free(&bytes);
    }
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), LEAT_END);
    leat_pipeline_close(&pipeline);
}

static const float numbers[1000];

/* Sample i has i rows of 4, the first none at all, and i + 1 words. */
static int read_rows(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)user, (void)err;
    out[0].shape[0] = (int64_t)i;
    out[0].bytes = (size_t)i * 16;
    out[0].data = numbers;
    out[1].shape[0] = (int64_t)i + 1;
    out[1].bytes = ((size_t)i + 1) * 4;
    out[1].data = numbers;
    return 0;
}

static void test_program(void **state) {
    (void)state;
    const leat_field fields[] = {
        {.name = "box", .dtype = LEAT_DTYPE_F32, .ndim = 2, .shape = {-1, 4}},
        {.name = "word", .dtype = LEAT_DTYPE_F32, .ndim = 1, .shape = {-1}},
    };
    const leat_source_callbacks source = {.n = 50, .n_fields = 2, .field = fields, .read_at = read_rows};
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, &source);
    leat_spec_add(spec, "shuffle seed=3");
    leat_pipeline *pipeline = open_spec(spec, &quiet);
    leat_batch b;
    int n = 0;
    for (; leat_pipeline_next(pipeline, &b, NULL) == 0; n++) {
        const leat_tensor *box = &b.tensor[0], *word = &b.tensor[1];
        assert_true(box->ndim == 3 && box->shape[0] == 1 && box->shape[2] == 4);
        assert_int_equal(box->shape[1], b.sample[0]);
        assert_int_equal(box->stride[0], b.sample[0] * 16);
        assert_true(word->ndim == 2 && word->shape[1] == (int64_t)b.sample[0] + 1);
        leat_batch_release(&b);
    }
    assert_int_equal(n, 50);
    leat_pipeline_close(&pipeline);
}

/* -------------------------------------------------------------------------------- states, bad samples */

static void test_states(void **state) {
    (void)state;
    const leat_config config = {.no_side_files = 1, .n_threads = 2, .n_epochs = 2};
    const char *text = "folder %s | shuffle | decode | random_flip_left_right";
    tape want =
        record_spec(spec_of("folder %s | shuffle | decode | random_flip_left_right", in_dir("p")), &config);
    assert_int_equal(want.n_batches, 2 * N);
    for (int at = 0; at <= 2 * N; at += 7) {
        char saved[1024];
        leat_error err;
        leat_pipeline *pipeline =
            open_spec(spec_of("folder %s | shuffle | decode | random_flip_left_right", in_dir("p")), &config);
        tape head = record(pipeline, at);
        assert_int_equal(leat_pipeline_state(pipeline, saved, sizeof saved, &err), 0);
        leat_pipeline_close(&pipeline);
        pipeline =
            open_spec(spec_of("folder %s | shuffle | decode | random_flip_left_right", in_dir("p")), &config);
        if (leat_pipeline_restore(pipeline, saved, &err) != 0) fail_msg("%s", err.message);
        tape tail = record(pipeline, -1);
        same_tail(&want, at, &tail, text);
        leat_pipeline_close(&pipeline);
        tape_free(&head);
        tape_free(&tail);
    }
    tape_free(&want);
}

static void test_bad_samples(void **state) {
    (void)state;
    make_dir(in_dir("bad"));
    for (int i = 0; i < 12; i++) {
        leat__buf bytes = make_png(5 + i, 9 + i % 4, 3, (unsigned)i);
        if (i % 5 == 3) bytes.size /= 2;
        write_buf(in_dir("bad/%02d.png", i), &bytes);
    }
    leat_config config = {.no_side_files = 1, .n_threads = 3};
    tape t = record_spec(spec_of("folder %s | decode", in_dir("bad")), &config);
    assert_true(t.rc == LEAT_ERR_DECODE && t.n_batches == 3 && strstr(t.message, "03.png"));
    tape_free(&t);
    config.on_error = LEAT_ON_ERROR_SKIP;
    t = record_spec(spec_of("folder %s | decode", in_dir("bad")), &config);
    assert_true(t.rc == LEAT_END && t.n_batches == 10);
    tape_free(&t);
    config.on_error = LEAT_ON_ERROR_REPLACE;
    t = record_spec(spec_of("folder %s | decode", in_dir("bad")), &config);
    assert_true(t.rc == LEAT_END && t.n_batches == 12);
    config.synchronous = 1;
    tape alone = record_spec(spec_of("folder %s | decode", in_dir("bad")), &config);
    same_tape(&t, &alone, "replace");
    tape_free(&t);
    tape_free(&alone);
}

/* Both ranks have equally many batches: one without a sample holds zeros. */
static void test_ranks(void **state) {
    (void)state;
    make_dir(in_dir("half"));
    for (int i = 0; i < 3; i++) {
        leat__buf bytes = make_png(5 + i, 9, 3, (unsigned)i);
        if (i == 0) bytes.size /= 2;
        write_buf(in_dir("half/%d.png", i), &bytes);
    }
    const int64_t heights[2][2] = {{1, 7}, {6, 7}}; /* the last of the second rank repeats the first one's */
    for (int rank = 0; rank < 2; rank++) {
        const leat_config config = {.no_side_files = 1,
                                    .n_threads = 1,
                                    .rank = rank,
                                    .world_size = 2,
                                    .on_error = LEAT_ON_ERROR_SKIP};
        leat_pipeline *pipeline = open_spec(spec_of("folder %s | decode", in_dir("half")), &config);
        leat_batch b;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
            check_shape(&b.tensor[0], heights[rank][i], heights[rank][i] == 1 ? 1 : 9, 3);
            assert_int_equal(b.n_valid, rank != i);
            if (b.sample[0] == LEAT_NO_SAMPLE) assert_int_equal(*(const uint8_t *)b.tensor[0].data, 0);
            leat_batch_release(&b);
        }
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), LEAT_END);
        leat_pipeline_close(&pipeline);
    }
}

/* --------------------------------------------------------------------------------------------- memory */

static void test_limit(void **state) {
    (void)state;
    make_dir(in_dir("large"));
    write_png(in_dir("large/0.png"), 30, 30, 0);
    write_png(in_dir("large/1.png"), 1500, 1500, 1);
    write_png(in_dir("large/2.png"), 40, 30, 2);
    leat_config config = {.no_side_files = 1, .n_threads = 2, .memory_max_bytes = 20 << 20};
    tape t = record_spec(spec_of("folder %s | decode", in_dir("large")), &config);
    assert_true(t.rc == LEAT_ERR_LIMIT && t.n_batches == 1);
    assert_non_null(strstr(t.message, "1.png: transform: image is 1500x1500x3, 6.8 MB: there is room for"));
    assert_non_null(strstr(t.message, "--memory"));
    tape_free(&t);
    config.on_error = LEAT_ON_ERROR_SKIP;
    t = record_spec(spec_of("folder %s | decode", in_dir("large")), &config);
    assert_true(t.rc == LEAT_END && t.n_batches == 2);
    tape_free(&t);
    config.on_error = LEAT_ON_ERROR_RAISE;
    config.memory_max_bytes = 64 << 20;
    t = record_spec(spec_of("folder %s | decode", in_dir("large")), &config);
    assert_true(t.rc == LEAT_END && t.n_batches == 3);
    tape_free(&t);
    write_png(in_dir("large/0.png"), 1000, 1000, 0);
    config.memory_max_bytes = 8 << 20;
    refuse_spec(spec_of("folder %s | decode", in_dir("large")), &config, LEAT_ERR_MEMORY, "do not fit");
}

/* A header that promises a gigantic picture. */
static void test_bomb(void **state) {
    (void)state;
    make_dir(in_dir("bomb"));
    for (int i = 0; i < 3; i++) {
        leat__buf bytes = make_png(20, 20, 3, (unsigned)i);
        if (i == 1) { /* width and height in IHDR, and its checksum */
            memcpy(bytes.data + 16, "\x00\x01\x00\x00\x00\x01\x00\x00", 8);
            const uint32_t crc = (uint32_t)crc32(0, bytes.data + 12, 17);
            for (int k = 0; k < 4; k++) bytes.data[29 + k] = (uint8_t)(crc >> (24 - 8 * k));
        }
        write_buf(in_dir("bomb/%d.png", i), &bytes);
    }
    leat_config config = {.no_side_files = 1, .n_threads = 2, .on_error = LEAT_ON_ERROR_SKIP};
    leat_pipeline *pipeline = open_spec(spec_of("folder %s | decode", in_dir("bomb")), &config);
    tape t = record(pipeline, -1);
    assert_true(t.rc == LEAT_END && t.n_batches == 2);
    leat_bad bad;
    assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
    assert_non_null(strstr(bad.message, "1.png"));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* What is counted is what pictures take, not the room for them; nothing is left behind. */
static void test_held_memory(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    leat_pipeline *pipeline = open_spec(
        spec_of("folder %s | decode", in_dir("p")),
        &(leat_config){
            .no_side_files = 1, .n_threads = 2, .memory_max_bytes = (size_t)1 << 30, .n_epochs = 2});
    leat_stats stats;
    leat_batch b, kept;
    assert_int_equal(leat_pipeline_next(pipeline, &kept, NULL), 0);
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) leat_batch_release(&b);
    leat_pipeline_stats(pipeline, &stats);
    assert_true(IN((uint64_t)1, stats.memory_bytes, (uint64_t)32 << 20));
    leat_pipeline_close(&pipeline);
    assert_int_equal(((const uint8_t *)kept.tensor[0].data)[0], 0); /* of picture 0 */
    leat_batch_release(&kept);
    assert_int_equal(memory_held(), before);
}

static void *give(void *user, size_t bytes, size_t alignment) {
    (void)user;
    return aligned_alloc(alignment, LEAT_ALIGN_UP(bytes, alignment));
}
static void take_back(void *user, void *memory, size_t bytes) {
    (void)user, (void)bytes;
    free(memory);
}

/* Memory of the caller has one size: that of the first sample. */
static void test_memory_of_the_caller(void **state) {
    (void)state;
    const leat_config config = {
        .no_side_files = 1, .n_threads = 1, .slot_alloc = give, .slot_free = take_back};
    tape t = record_spec(spec_of("folder %s | decode", in_dir("p")), &config);
    assert_true(t.rc == LEAT_ERR_SHAPE && t.n_batches == 1);
    assert_non_null(strstr(t.message, "slot_alloc, pinned memory) need one size: write resize 224 224"));
    tape_free(&t);
    t = record_spec(spec_of("folder %s | decode | resize 8 8", in_dir("p")), &config);
    assert_true(t.rc == LEAT_END && t.n_batches == N);
    tape_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_bytes),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_results_of_differing_size),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_raw_values),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_held_memory),
        cmocka_unit_test(test_memory_of_the_caller),
    };
    return cmocka_run_group_tests(tests, make_pictures, end_files);
}
