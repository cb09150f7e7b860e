/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of any kind through a pipeline: the caller's arrays, every type, tables of floats, features that
 * are missing, of another kind or number, and lists of any length. */
#include "unit/testing.h"

static const leat_config alone = {.synchronous = 1};

static leat_pipeline *open_arrays(const leat_tensor *arrays, int n, const char *rest) {
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_arrays(spec, arrays, n);
    if (rest) leat_spec_add(spec, rest);
    return open_spec(spec, &alone);
}

static void refuse_arrays(const leat_tensor *arrays, int n, int code, const char *part) {
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_arrays(spec, arrays, n);
    refuse_spec(spec, &alone, code, part);
}

static leat_batch next_ok(leat_pipeline *pipeline) {
    leat_batch batch;
    leat_error err;
    if (leat_pipeline_next(pipeline, &batch, &err) != 0) fail_msg("%s", err.message);
    return batch;
}

static void next_fails(leat_pipeline *pipeline, int code, const char *part) {
    leat_batch batch;
    leat_error err;
    const int rc = leat_pipeline_next(pipeline, &batch, &err);
    if (rc != code || !strstr(err.message, part))
        fail_msg("got %s: %s", leat_error_name(rc), rc < 0 ? err.message : "");
}

/* ------------------------------------------------------------------------------------------ arrays */

static void test_arrays(void **state) {
    (void)state;
    /* Exactly as large as they are, on the heap: reading past an end is seen by the sanitizers. */
    const size_t bytes = 5 * 7 * 9 * 3;
    uint8_t *pixels = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) pixels[i] = (uint8_t)(i * 7);
    int64_t *label = malloc(5 * sizeof *label);
    for (int i = 0; i < 5; i++) label[i] = 100 + i;
    const leat_tensor arrays[] = {
        {.name = "image", .data = pixels, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {5, 7, 9, 3}},
        {.name = "label", .data = label, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {5}},
    };
    leat_pipeline *pipeline = open_arrays(arrays, 2, "batch 2");
    for (int i = 0; i < 5; i += 2) {
        leat_batch b = next_ok(pipeline);
        assert_int_equal(b.n, LEAT_MIN(2, 5 - i));
        assert_memory_equal(b.tensor[0].data, pixels + (size_t)i * 189, (size_t)b.n * 189);
        assert_int_equal(((int64_t *)b.tensor[1].data)[b.n - 1], label[i + b.n - 1]);
        assert_true(b.tensor[0].ndim == 4 && b.tensor[0].shape[0] == b.n && b.tensor[0].stride[0] == 189 &&
                    b.tensor[0].stride[3] == 1);
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
    static const char *const chains[] = {"resize 5 5",
                                         "resize 20 20",
                                         "resize 5 5 flavour=pil",
                                         "normalize imagenet layout=nchw",
                                         "cast f32 scale=1/255",
                                         "random_brightness 0.5",
                                         "random_flip_left_right 1 | random_flip_up_down 1",
                                         "cast f16",
                                         "cast i32 | cast f64",
                                         "resize 3 4 method=nearest",
                                         "reshape -1",
                                         "cast u8 layout=nchw"};
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        pipeline = open_arrays(arrays, 2, chains[i]);
        tape t = record(pipeline, -1);
        assert_int_equal(t.n_samples, 5);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
    free(pixels);
    free(label);
}

static void test_strided_arrays(void **state) {
    (void)state;
    /* (4, 5, 6) f32 seen transposed, reversed, with gaps, and one row as many. */
    float values[4][5][6];
    for (int i = 0; i < 120; i++) (&values[0][0][0])[i] = (float)i;
    float three[3] = {7, 8, 9};
    const leat_tensor arrays[] = {
        {.name = "turned",
         .data = values,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 3,
         .shape = {4, 6, 5},
         .stride = {120, 4, 24}},
        {.name = "back",
         .data = &values[3][4][5],
         .dtype = LEAT_DTYPE_F32,
         .ndim = 3,
         .shape = {4, 5, 6},
         .stride = {-120, -24, -4}},
        {.name = "gaps",
         .data = values,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 2,
         .shape = {4, 3},
         .stride = {120, 8}},
        {.name = "same",
         .data = three,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 2,
         .shape = {4, 3},
         .stride = {0, 4}},
    };
    leat_pipeline *pipeline = open_arrays(arrays, 4, "batch 4");
    leat_batch b = next_ok(pipeline);
    const float *turned = b.tensor[0].data, *back = b.tensor[1].data, *gaps = b.tensor[2].data,
                *same = b.tensor[3].data;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 6; k++) {
                assert_true(turned[i * 30 + k * 5 + j] == values[i][j][k]);
                assert_true(back[i * 30 + j * 6 + k] == values[3 - i][4 - j][5 - k]);
                if (j == 0 && k < 3)
                    assert_true(gaps[i * 3 + k] == values[i][0][2 * k] && same[i * 3 + k] == three[k]);
            }
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

static void test_ragged_arrays(void **state) {
    (void)state;
    static const char text[] = "onetwothree";
    static const int64_t ends[] = {0, 3, 3, 6, 11};
    static const float numbers[] = {1, 2, 3, 4, 5};
    static const int64_t cuts[] = {0, 1, 1, 4, 5};
    const leat_tensor arrays[] = {
        {.name = "word",
         .data = (void *)text,
         .dtype = LEAT_DTYPE_BYTES,
         .ndim = 1,
         .shape = {4},
         .offsets = ends},
        {.name = "list",
         .data = (void *)numbers,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 1,
         .shape = {4},
         .offsets = cuts},
    };
    leat_pipeline *pipeline = open_arrays(arrays, 2, "cast list f64 scale=2 | batch 3");
    leat_batch b = next_ok(pipeline);
    assert_int_equal(b.tensor[0].shape[0], 6);
    assert_memory_equal(b.tensor[0].data, "onetwo", 6);
    assert_true(b.tensor[0].offsets[1] == 3 && b.tensor[0].offsets[2] == 3 && b.tensor[0].offsets[3] == 6);
    assert_int_equal(b.tensor[1].dtype, LEAT_DTYPE_F64);
    assert_int_equal(b.tensor[1].shape[0], 4);
    for (int i = 0; i < 4; i++) assert_true(((double *)b.tensor[1].data)[i] == 2 * numbers[i]);
    leat_batch_release(&b);
    b = next_ok(pipeline);
    assert_true(b.n == 1 && b.tensor[0].shape[0] == 5 && b.tensor[1].shape[0] == 1);
    assert_memory_equal(b.tensor[0].data, "three", 5);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
    static const int64_t bad[] = {0, 3, 1, 6, 11}, below[] = {-1, 3, 3, 6, 11};
    leat_tensor wrong = arrays[0];
    wrong.offsets = bad;
    refuse_arrays(&wrong, 1, LEAT_ERR_ARGUMENT, "go back");
    wrong.offsets = below;
    refuse_arrays(&wrong, 1, LEAT_ERR_ARGUMENT, "go back");
}

/* Slices with ends of their own lie anywhere: in another order, over one another, with gaps. */
static void test_scattered_arrays(void **state) {
    (void)state;
    static const char text[] = "onetwothree";
    static const int64_t begins[] = {6, 0, 11, 1, 3}, ends[] = {11, 3, 11, 11, 6},
                         back[] = {11, 3, 10, 11, 6};
    leat_tensor array = {.name = "word",
                         .data = (void *)text,
                         .dtype = LEAT_DTYPE_BYTES,
                         .ndim = 1,
                         .shape = {5},
                         .offsets = begins,
                         .ends = ends};
    leat_pipeline *pipeline = open_arrays(&array, 1, "batch 5");
    leat_batch b = next_ok(pipeline);
    assert_int_equal(b.tensor[0].shape[0], 21);
    assert_memory_equal(b.tensor[0].data, "threeonenetwothreetwo", 21);
    assert_true(b.tensor[0].offsets[2] == 8 && b.tensor[0].offsets[3] == 8 && !b.tensor[0].ends);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
    array.ends = back;
    refuse_arrays(&array, 1, LEAT_ERR_ARGUMENT, "go back at slice 2");
    array.ends = ends, array.offsets = NULL, array.dtype = LEAT_DTYPE_U8;
    refuse_arrays(&array, 1, LEAT_ERR_ARGUMENT, "it has ends, but no offsets");
}

static void test_bad_arrays(void **state) {
    (void)state;
    int32_t data[12] = {0};
    const leat_tensor good = {.name = "x", .data = data, .dtype = LEAT_DTYPE_I32, .ndim = 2, .shape = {4, 3}};
    leat_tensor t = good, two[2] = {good, good};
    refuse_arrays(NULL, 1, LEAT_ERR_ARGUMENT, "1 to 32");
    refuse_arrays(&good, 0, LEAT_ERR_ARGUMENT, "1 to 32");
    refuse_arrays(&good, 33, LEAT_ERR_ARGUMENT, "1 to 32");
    t.dtype = 99, refuse_arrays(&t, 1, LEAT_ERR_TYPE, "dtype"), t = good;
    t.dtype = LEAT_DTYPE_BYTES, refuse_arrays(&t, 1, LEAT_ERR_TYPE, "offsets"), t = good;
    t.ndim = 0, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "axes"), t = good;
    t.ndim = 7, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "axes"), t = good;
    t.shape[0] = -1, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "x"), t = good;
    t.shape[1] = -1, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "axis 1"), t = good;
    t.shape[1] = INT64_MAX, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "axis 1"), t = good;
    t.shape[1] = INT64_MAX / 2, refuse_arrays(&t, 1, LEAT_ERR_SHAPE, "too many"), t = good;
    t.data = NULL, refuse_arrays(&t, 1, LEAT_ERR_ARGUMENT, "no data"), t = good;
    t.shape[0] = 0, refuse_arrays(&t, 1, LEAT_ERR_NOT_FOUND, "no sample"), t = good;
    two[1].name = "y", two[1].shape[0] = 3, refuse_arrays(two, 2, LEAT_ERR_SHAPE, "y has 3 slices");
    two[1] = good, refuse_arrays(two, 2, LEAT_ERR_ARGUMENT, "x"); /* one name twice */
    char name[100];
    memset(name, 'n', 99), name[99] = 0;
    t.name = name, refuse_arrays(&t, 1, LEAT_ERR_ARGUMENT, "63"), t = good;
    t.name = NULL;
    leat_pipeline *pipeline = open_arrays(&t, 1, NULL);
    leat_field field;
    leat_pipeline_fields(pipeline, &field, 1);
    assert_string_equal(field.name, "field0");
    leat_pipeline_close(&pipeline);
}

/* ------------------------------------------------------------------------------------------- types */

/* Bytes of every type, through a record, and back out as they were; then as f64. */
static void test_every_type(void **state) {
    (void)state;
    for (int dtype = 0; dtype < LEAT_DTYPE_BYTES; dtype++) {
        const size_t item = leat_dtype_size(dtype), n = 6;
        uint8_t raw[6 * 8];
        for (size_t i = 0; i < n * item; i++)
            raw[i] = (uint8_t)(i * 41 + 3) & 0x3f; /* no infinities, no NaN */
        for (size_t i = 0; dtype == LEAT_DTYPE_BOOL && i < n; i++) raw[i] &= 1;
        leat__buf shard = {0};
        for (int64_t id = 0; id < 5; id++) {
            const leat__span span = {raw, n * item};
            /* Keys of differing length put the bytes at every alignment. */
            char key[] = "aaaaaaaa";
            key[id + 1] = 0;
            const leat__feature_value v[] = {
                {.key = "x", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span},
                {.key = key, .kind = LEAT_FEATURE_INT64, .n = 1, .values = &id}};
            add_example(&shard, v, 2);
        }
        write_buf(in_dir("types"), &shard);
        const char *name = leat_dtype_name(dtype);
        leat_pipeline *pipeline =
            open_spec(spec_of("tfrecord %s | parse x:bytes | decode_raw x %s | reshape x 2 -1 | batch 5",
                              in_dir("types"), name),
                      &alone);
        leat_batch b = next_ok(pipeline);
        assert_true(b.tensor[0].dtype == dtype && b.tensor[0].ndim == 3 && b.tensor[0].shape[1] == 2 &&
                    b.tensor[0].shape[2] == 3);
        for (int i = 0; i < 5; i++)
            assert_memory_equal((uint8_t *)b.tensor[0].data + (size_t)i * n * item, raw, n * item);
        leat_batch_release(&b);
        leat_pipeline_close(&pipeline);
        for (int to = 0; to < LEAT_DTYPE_BYTES; to++) {
            pipeline =
                open_spec(spec_of("tfrecord %s | parse x:bytes | decode_raw x %s | cast x %s | cast x f64 "
                                  "scale=2 offset=1 | batch 5",
                                  in_dir("types"), name, leat_dtype_name(to)),
                          &alone);
            b = next_ok(pipeline);
            assert_int_equal(b.tensor[0].dtype, LEAT_DTYPE_F64);
            const double *got = b.tensor[0].data;
            for (int i = 0; i < 5 * (int)n; i++) assert_true(got[i] == got[i]);
            if (dtype == LEAT_DTYPE_I16 && to == LEAT_DTYPE_I32)
                for (int i = 0; i < 6; i++) assert_true(got[i] == 2.0 * leat__load_u16(raw + 2 * i) + 1);
            leat_batch_release(&b);
            leat_pipeline_close(&pipeline);
        }
        pipeline = open_spec(spec_of("tfrecord %s | parse x:bytes | decode_raw x %s | reshape x 7 | batch 5",
                                     in_dir("types"), name),
                             &alone);
        next_fails(pipeline, LEAT_ERR_SHAPE, "reshape");
        leat_pipeline_close(&pipeline);
    }
    refuse_spec(spec_of("tfrecord %s | parse x:bytes | decode_raw x bytes", in_dir("types")), &alone,
                LEAT_ERR_TYPE, "already");
    write_samples(in_dir("odd"), 0, 3, 7);
    refuse_spec(spec_of("tfrecord %s | parse image:bytes | decode_raw u16 | batch 2", in_dir("odd")), &alone,
                LEAT_ERR_SHAPE, "no whole number");
}

/* ------------------------------------------------------------------------------------------- parse */

static void test_float_table(void **state) {
    (void)state;
    write_samples(in_dir("table"), 0, 10, 0);
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | parse row:float[4] label:int64 | cast row f32 scale=0.5 | batch 4",
                          in_dir("table")),
                  NULL);
    for (int64_t i = 0; i < 10; i += 4) {
        leat_batch b = next_ok(pipeline);
        assert_true(b.tensor[0].ndim == 2 && b.tensor[0].shape[1] == 4);
        const float *row = b.tensor[0].data;
        for (int k = 0; k < b.n; k++) {
            assert_true(row[4 * k] == (float)(i + k) / 2 && row[4 * k + 3] == 0.75f);
            assert_int_equal(((int64_t *)b.tensor[1].data)[k], i + k);
        }
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
}

static void write_features(const char *path, const leat__feature_value *v, int n) {
    leat__buf shard = {0};
    add_example(&shard, v, n);
    write_buf(path, &shard);
}

static void test_missing_and_wrong(void **state) {
    (void)state;
    const int64_t ints[] = {1, 2, 3};
    const float floats[] = {0.5f};
    const leat__span strings[] = {{"ab", 2}, {"c", 1}};
    const leat__feature_value v[] = {
        {.key = "ints", .kind = LEAT_FEATURE_INT64, .n = 3, .values = ints},
        {.key = "float", .kind = LEAT_FEATURE_FLOAT, .n = 1, .values = floats},
        {.key = "strings", .kind = LEAT_FEATURE_BYTES, .n = 2, .values = strings},
        {.key = "empty", .kind = LEAT_FEATURE_INT64, .n = 0, .values = ints}};
    write_features(in_dir("features"), v, 4);
    static const struct {
        const char *parse;
        int code;
        const char *part;
    } cases[] = {
        {"no:int64", LEAT_ERR_NOT_FOUND, "feature no is required but is not there"},
        {"ints:int64", LEAT_ERR_SHAPE, "feature ints has 3 values, not 1"},
        {"ints:int64[4]", LEAT_ERR_SHAPE, "feature ints has 3 values, not 4"},
        {"ints:int64[2]", LEAT_ERR_SHAPE, "feature ints has 3 values, not 2"},
        {"ints:float[3]", LEAT_ERR_TYPE, "feature ints holds int64, not float"},
        {"float:bytes", LEAT_ERR_TYPE, "feature float holds float, not bytes"},
        {"strings:bytes", LEAT_ERR_SHAPE, "holds 2 strings, not one"},
        {"empty:int64", LEAT_ERR_SHAPE, "0 values, not 1"},
        {"empty:int64=5", LEAT_ERR_SHAPE, "0 values, not 1"}, /* there but empty is not missing */
        {"ints:int64[*2]", LEAT_ERR_SHAPE, "at most 2"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat_spec *spec = spec_of("tfrecord %s | parse '%s' | batch 2", in_dir("features"), cases[i].parse);
        leat_pipeline *pipeline = open_spec(spec, &alone);
        leat_batch b;
        leat_error err;
        const int rc = leat_pipeline_next(pipeline, &b, &err);
        if (rc != cases[i].code || !strstr(err.message, cases[i].part))
            fail_msg("%s: %s", cases[i].parse, err.message);
        assert_int_equal(err.stage, LEAT_STAGE_PARSE);
        assert_int_equal(err.sample, 0);
        assert_non_null(strstr(err.message, "features: record 0 at byte 0: parse: "));
        leat_pipeline_close(&pipeline);
    }
    static const struct {
        const char *parse;
        int code;
        const char *part;
    } texts[] = {
        {"image", LEAT_ERR_SYNTAX, "name:type"},
        {":int64", LEAT_ERR_SYNTAX, "name:type"},
        {"a:int32", LEAT_ERR_TYPE, "bytes, int64 or float"},
        {"a:int64[", LEAT_ERR_SYNTAX, "end with ]"},
        {"a:int64[2]x", LEAT_ERR_SYNTAX, "end with ]"},
        {"a:int64[x]", LEAT_ERR_SYNTAX, "no size"},
        {"a:int64[-2]", LEAT_ERR_SYNTAX, "no size"},
        {"a:int64[*0]", LEAT_ERR_SYNTAX, "above 0"},
        {"a:int64[*]=3", LEAT_ERR_SYNTAX, "no default"},
        {"a:int64=x", LEAT_ERR_SYNTAX, "no whole number"},
        {"a:float=x", LEAT_ERR_SYNTAX, "no number"},
        {"a:bytes[3]", LEAT_ERR_UNSUPPORTED, "one string"},
        {"a:int64[100000,100000]", LEAT_ERR_LIMIT, "too many"},
        {"a:int64[1,1,1,1,1,1]", LEAT_ERR_SYNTAX, "no size"},
        {"a:int64[2,]", LEAT_ERR_SYNTAX, "no size"},
    };
    for (size_t i = 0; i < LEAT_COUNT(texts); i++)
        refuse_spec(spec_of("tfrecord %s | parse '%s' | batch 2", in_dir("features"), texts[i].parse), &alone,
                    texts[i].code, texts[i].part);
    refuse_spec(spec_of("tfrecord %s | parse a:int64 a:int64 | batch 2", in_dir("features")), &alone,
                LEAT_ERR_SYNTAX, "already");
    refuse_spec(spec_of("tfrecord %s | decode | batch 2", in_dir("features")), &alone, LEAT_ERR_NOT_FOUND,
                "parse image:bytes");
}

static void test_defaults(void **state) {
    (void)state;
    write_samples(in_dir("defaults"), 5, 1, 3);
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | parse label:int64=9 'a:int64[2]=-3' "
                          "'b:float[]=1/4' 'c:bytes=xyz' d:float[*10] 'e:bytes=' | batch 2",
                          in_dir("defaults")),
                  &alone);
    leat_batch b = next_ok(pipeline);
    assert_int_equal(*(int64_t *)b.tensor[0].data, 5); /* what is there comes before any default */
    assert_true(((int64_t *)b.tensor[1].data)[0] == -3 && ((int64_t *)b.tensor[1].data)[1] == -3);
    assert_true(*(float *)b.tensor[2].data == 0.25f);
    assert_memory_equal(b.tensor[3].data, "xyz", 3);
    assert_true(b.tensor[4].shape[0] == 0 && b.tensor[5].shape[0] == 0);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

static void test_ragged_features(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int64_t i = 0; i < 20; i++) {
        int64_t values[20];
        float floats[20];
        for (int k = 0; k < i; k++) values[k] = i * 100 + k, floats[k] = (float)values[k];
        const leat__feature_value v[] = {
            {.key = "f", .kind = LEAT_FEATURE_FLOAT, .n = (size_t)i, .values = floats},
            {.key = "i", .kind = LEAT_FEATURE_INT64, .n = (size_t)i, .values = values}};
        add_example(&shard, v, 2);
    }
    write_buf(in_dir("ragged"), &shard);
    for (int threads = 1; threads < 4; threads++) {
        const leat_config config = {.n_threads = threads};
        leat_pipeline *pipeline = open_spec(
            spec_of("tfrecord %s | parse i:int64[*] f:float[*19] | batch 6", in_dir("ragged")), &config);
        leat_batch b;
        int64_t id = 0;
        while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
            for (int s = 0; s < b.n; s++, id++) {
                const int64_t *o = b.tensor[0].offsets, *p = b.tensor[1].offsets;
                assert_int_equal(o[s + 1] - o[s], id);
                assert_int_equal(p[s + 1] - p[s], id);
                for (int64_t k = 0; k < id; k++) {
                    assert_int_equal(((int64_t *)b.tensor[0].data)[o[s] + k], id * 100 + k);
                    assert_true(((float *)b.tensor[1].data)[p[s] + k] == (float)(id * 100 + k));
                }
            }
            assert_int_equal(b.tensor[0].shape[0], b.tensor[0].offsets[b.n]);
            leat_batch_release(&b);
        }
        assert_int_equal(id, 20);
        leat_pipeline_close(&pipeline);
    }
}

/* Whole records as they are. */
static void test_undecoded(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 10; i++) add_record(&shard, "0123456789", (size_t)i);
    write_buf(in_dir("whole"), &shard);
    leat_pipeline *pipeline = open_spec(spec_of("tfrecord %s | batch 10", in_dir("whole")), NULL);
    leat_batch b = next_ok(pipeline);
    assert_string_equal(b.tensor[0].name, "record");
    assert_int_equal(b.tensor[0].shape[0], 45);
    for (int i = 0; i < 10; i++)
        assert_memory_equal((char *)b.tensor[0].data + b.tensor[0].offsets[i], "0123456789", (size_t)i);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),        cmocka_unit_test(test_strided_arrays),
        cmocka_unit_test(test_ragged_arrays), cmocka_unit_test(test_scattered_arrays),
        cmocka_unit_test(test_bad_arrays),    cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_float_table),   cmocka_unit_test(test_missing_and_wrong),
        cmocka_unit_test(test_defaults),      cmocka_unit_test(test_ragged_features),
        cmocka_unit_test(test_undecoded),
    };
    return cmocka_run_group_tests_name("fields", tests, begin_files, end_files);
}
