/* SPDX-License-Identifier: Apache-2.0 */
/* leat_writer: what it writes is what leat reads, and a file appears whole or not at all. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "leat/leat_tools.h"

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int entries(void) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/leat-test-writer-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(in_folder("a.tfrecord"));
    return rmdir(folder);
}

/* Opens "tfrecord a.tfrecord | REST" without threads and without side files. */
static int open_feed(leat_pipeline **pipeline, const char *rest, leat_error *err) {
    char text[400];
    snprintf(text, sizeof text, "tfrecord %s | %s", in_folder("a.tfrecord"), rest);
    leat_spec *spec = leat_spec_new(text);
    const leat_config config = {.synchronous = 1, .no_side_files = 1};
    const int rc = leat_pipeline_open(pipeline, spec, &config, err);
    leat_spec_free(&spec);
    return rc;
}

static void written_is_read(void **state) {
    (void)state;
    leat_writer *writer;
    leat_error err;
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, &err), 0);
    for (int i = 0; i < 5; i++) {
        const float box[4] = {0.5f, (float)i, -1.25f, 3e-30f};
        const int64_t label = i == 0 ? INT64_MIN : i * 1000, ids[4] = {7, -7, i, 1};
        const uint8_t name[3] = {(uint8_t)i, 0, 255};
        const leat_feature features[] = {
            {.name = "box", .dtype = LEAT_DTYPE_F32, .n = 4, .values = box},
            {.name = "ids", .dtype = LEAT_DTYPE_I64, .n = (size_t)i % 5, .values = i ? ids : NULL},
            {.name = "label", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &label},
            {.name = "name", .dtype = LEAT_DTYPE_BYTES, .n = (size_t)i % 4, .values = i ? name : NULL}};
        assert_int_equal(leat_writer_add(writer, features, 4, &err), 0);
        assert_int_not_equal(access(in_folder("a.tfrecord"), F_OK), 0);
    }
    assert_int_equal(leat_writer_close(&writer, &err), 0);
    assert_null(writer);
    assert_int_equal(entries(), 1);

    leat_pipeline *pipeline;
    leat_batch batch;
    assert_int_equal(
        open_feed(&pipeline, "parse label:int64 box:float[4] ids:int64[*4] name:bytes | batch 5", &err), 0);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
    assert_int_equal(batch.n, 5);
    const int64_t *label = batch.tensor[0].data, *ids = batch.tensor[2].data;
    const float *box = batch.tensor[1].data;
    const uint8_t *name = batch.tensor[3].data;
    assert_true(label[0] == INT64_MIN && label[4] == 4000);
    assert_true(box[0] == 0.5f && box[4 * 3 + 1] == 3.0f && box[4 * 4 + 3] == 3e-30f);
    assert_true(batch.tensor[2].offsets[1] == 0 && batch.tensor[2].offsets[5] == 10 && ids[9] == 1);
    assert_true(batch.tensor[3].offsets[4] == 6 && batch.tensor[3].offsets[5] == 6 && name[3] == 3 &&
                name[5] == 255);
    leat_batch_release(&batch);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), LEAT_END);
    leat_pipeline_close(&pipeline);
}

static void known_bytes(void **state) {
    (void)state;
    /* What TensorFlow writes for {"a": int64 [1]}; checksums as in test_tfrecord. */
    static const uint8_t payload[] = {0x0a, 0x0c, 0x0a, 0x0a, 0x0a, 0x01, 'a',
                                      0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x01};
    leat_writer *writer;
    const int64_t one = 1;
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, NULL), 0);
    assert_int_equal(
        leat_writer_add(writer, &(leat_feature){.name = "a", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one},
                        1, NULL),
        0);
    assert_int_equal(leat_writer_close(&writer, NULL), 0);
    leat__buf file = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(leat__file_read_all(in_folder("a.tfrecord"), &file, 1000, NULL), 0);
    assert_int_equal(file.size, sizeof payload + 16);
    assert_int_equal(file.data[0], sizeof payload);
    assert_memory_equal(file.data + 12, payload, sizeof payload);
    leat__buf_free(&file);
}

static void failure_stays(void **state) {
    (void)state;
    const int64_t one = 1;
    const leat_feature good = {.name = "a", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one};
    const leat_feature twice[] = {good, good};
    const struct {
        const leat_feature *features;
        int n, code;
    } bad[] = {
        {&(leat_feature){.name = "a", .dtype = LEAT_DTYPE_U8, .n = 1, .values = &one}, 1, LEAT_ERR_TYPE},
        {&(leat_feature){.name = "a", .dtype = 99, .n = 1, .values = &one}, 1, LEAT_ERR_TYPE},
        {&(leat_feature){.name = NULL, .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one}, 1,
         LEAT_ERR_ARGUMENT},
        {&(leat_feature){.name = "", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one}, 1, LEAT_ERR_ARGUMENT},
        {&(leat_feature){.name = "\xff", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one}, 1,
         LEAT_ERR_ARGUMENT},
        {&(leat_feature){.name = "a", .dtype = LEAT_DTYPE_I64, .n = 1, .values = NULL}, 1, LEAT_ERR_ARGUMENT},
        {twice, 2, LEAT_ERR_ARGUMENT},
        {NULL, 1, LEAT_ERR_ARGUMENT},
        {&good, 0, LEAT_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < LEAT_COUNT(bad); i++) {
        leat_writer *writer;
        leat_error err, again;
        assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, &err), 0);
        assert_int_equal(leat_writer_add(writer, &good, 1, &err), 0);
        assert_int_equal(leat_writer_add(writer, bad[i].features, bad[i].n, &err), bad[i].code);
        assert_int_equal(err.code, bad[i].code);
        assert_int_equal(leat_writer_add(writer, &good, 1, &again), bad[i].code);
        assert_string_equal(again.message, err.message);
        assert_int_equal(leat_writer_close(&writer, &again), bad[i].code);
        assert_string_equal(again.message, err.message);
        assert_null(writer);
        assert_int_equal(entries(), 0);
    }
}

static void too_large(void **state) {
    (void)state;
    /* Zero pages that are never touched: only their copy takes memory. */
    const size_t n = ((size_t)256 << 20) + 1;
    uint8_t *zeros = leat__alloc_pages(n);
    if (!zeros) {
        print_message("too_large: 256 MiB of address space cannot be had\n");
        skip();
    }
    leat_writer *writer;
    leat_error err;
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, &err), 0);
    const int rc = leat_writer_add(
        writer, &(leat_feature){.name = "a", .dtype = LEAT_DTYPE_BYTES, .n = n, .values = zeros}, 1, &err);
    assert_true(rc == LEAT_ERR_LIMIT || rc == LEAT_ERR_MEMORY);
    leat_writer_abort(&writer);
    leat__free_pages(zeros);
    assert_int_equal(entries(), 0);
}

static void abort_leaves_nothing(void **state) {
    (void)state;
    leat_writer *writer;
    const int64_t one = 1;
    const leat_feature good = {.name = "a", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one};
    /* What was there before stays. */
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, NULL), 0);
    assert_int_equal(leat_writer_add(writer, &good, 1, NULL), 0);
    assert_int_equal(leat_writer_close(&writer, NULL), 0);
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, NULL), 0);
    for (int i = 0; i < 100000; i++) assert_int_equal(leat_writer_add(writer, &good, 1, NULL), 0);
    leat_writer_abort(&writer);
    assert_null(writer);
    assert_int_equal(entries(), 1);
    leat__stat st;
    assert_int_equal(leat__file_stat(in_folder("a.tfrecord"), &st, NULL), 0);
    assert_int_equal(st.size, 30);
}

static void wrong_calls(void **state) {
    (void)state;
    leat_writer *writer = NULL;
    leat_error err;
    assert_int_equal(leat_writer_open(NULL, "x", NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, NULL, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, "", NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, in_folder("no/such/place"), NULL, &err), LEAT_ERR_NOT_FOUND);
    assert_null(writer);
    assert_int_equal(leat_writer_add(NULL, NULL, 0, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_close(&writer, &err), 0);
    assert_int_equal(leat_writer_close(NULL, &err), 0);
    leat_writer_abort(&writer);
    leat_writer_abort(NULL);
}

/* ------------------------------------------------------------------------------- shards, compression */

/* How many samples the files of a pattern hold, and the sum of their field `i`. */
static int read_back(const char *pattern, int64_t *sum) {
    char text[400];
    snprintf(text, sizeof text, "tfrecord %s | parse i:int64 | batch 1", in_folder(pattern));
    leat_spec *spec = leat_spec_new(text);
    const leat_config config = {.synchronous = 1, .no_side_files = 1};
    leat_pipeline *pipeline;
    leat_error err;
    leat_batch batch;
    int n = 0;
    assert_int_equal(leat_pipeline_open(&pipeline, spec, &config, &err), 0);
    for (*sum = 0; leat_pipeline_next(pipeline, &batch, &err) == 0; n++) {
        *sum = *sum * 3 + *(const int64_t *)batch.tensor[0].data;
        leat_batch_release(&batch);
    }
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return n;
}

static void remove_all(const char *const *names, int n) {
    for (int i = 0; i < n; i++) assert_int_equal(unlink(in_folder(names[i])), 0);
}

static void shards_and_compression(void **state) {
    (void)state;
    static const char *const one[] = {"b.tfrecord"};
    static const char *const three[] = {"b-00000-of-00003.tfrecord", "b-00001-of-00003.tfrecord",
                                        "b-00002-of-00003.tfrecord"};
    for (int compression = LEAT_WRITE_PLAIN; compression <= LEAT_WRITE_ZLIB; compression++) {
        for (int n_shards = 0; n_shards <= 3; n_shards += 3) {
            const leat_writer_config config = {
                .compression = compression, .n_shards = n_shards, .level = n_shards};
            leat_writer *writer;
            leat_error err;
            int64_t sum, expected = 0;
            assert_int_equal(leat_writer_open(&writer, in_folder("b.tfrecord"), &config, &err), 0);
            for (int64_t i = 0; i < 7; i++) {
                /* Large and hard to compress: the compressor fills its piece many times. */
                static uint8_t noise[300000];
                for (size_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)((k * k * 31 + (size_t)i) >> 3);
                const leat_feature features[] = {
                    {.name = "i", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &i},
                    {.name = "noise", .dtype = LEAT_DTYPE_BYTES, .n = sizeof noise, .values = noise}};
                assert_int_equal(leat_writer_add(writer, features, 2, &err), 0);
            }
            assert_int_equal(leat_writer_close(&writer, &err), 0);
            assert_int_equal(read_back(n_shards ? "b-*-of-00003.tfrecord" : "b.tfrecord", &sum), 7);
            for (int64_t shard = 0; shard < (n_shards ? n_shards : 1); shard++)
                for (int64_t i = shard; i < 7; i += n_shards ? n_shards : 1) expected = expected * 3 + i;
            assert_int_equal(sum, expected); /* record i is in file i mod n */
            remove_all(n_shards ? three : one, n_shards ? 3 : 1);
            assert_int_equal(entries(), 0);
        }
    }
}

static void the_number_of_a_shard(void **state) {
    (void)state;
    static const char *const names[][2] = {{"x.tfrecord.gz", "x-00001-of-00002.tfrecord.gz"},
                                           {"x.y.tfrecords", "x.y-00001-of-00002.tfrecords"},
                                           {"plain", "plain-00001-of-00002"}};
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        leat_writer *writer;
        leat_error err;
        const leat_writer_config config = {.n_shards = 2};
        assert_int_equal(leat_writer_open(&writer, in_folder(names[i][0]), &config, &err), 0);
        assert_int_equal(leat_writer_close(&writer, &err), 0);
        assert_int_equal(unlink(in_folder(names[i][1])), 0);
        char other[64];
        strcpy(other, names[i][1]);
        strstr(other, "00001")[4] = '0';
        assert_int_equal(unlink(in_folder(other)), 0);
    }
    assert_int_equal(entries(), 0);
}

static void batches_are_written(void **state) {
    (void)state;
    uint8_t picture[2 * 3 * 4];
    for (size_t i = 0; i < sizeof picture; i++) picture[i] = (uint8_t)(i * 9);
    int16_t small[2] = {-3, 1000};
    double wide[2] = {0.5, -2};
    char words[] = "antbumble";
    int64_t places[] = {0, 3, 9}, counts[] = {0, 2, 3};
    float boxes[] = {1, 2, 3};
    const leat_tensor fields[] = {
        {.name = "picture", .data = picture, .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {2, 3, 4}},
        {.name = "small", .data = small, .dtype = LEAT_DTYPE_I16, .ndim = 1, .shape = {2}},
        {.name = "wide", .data = wide, .dtype = LEAT_DTYPE_F64, .ndim = 1, .shape = {2}},
        {.name = "word",
         .data = words,
         .dtype = LEAT_DTYPE_BYTES,
         .ndim = 1,
         .shape = {9},
         .offsets = places},
        {.name = "boxes",
         .data = boxes,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 1,
         .shape = {3},
         .offsets = counts}};
    leat_batch batch = {.n = 2, .n_valid = 2, .n_tensors = 5, .tensor = fields};
    leat_writer *writer;
    leat_error err;
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, &err), 0);
    assert_int_equal(leat_writer_add_batch(writer, &batch, &err), 0);
    batch.n_valid = 1; /* the second fills up the batch */
    assert_int_equal(leat_writer_add_batch(writer, &batch, &err), 0);
    assert_int_equal(leat_writer_close(&writer, &err), 0);
    leat_pipeline *pipeline;
    assert_int_equal(
        open_feed(
            &pipeline,
            "parse picture:bytes small:int64 wide:float word:bytes boxes:float[*] | decode_raw picture u8 | "
            "reshape picture 3 4 | batch 3",
            &err),
        0);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), 0);
    assert_int_equal(batch.n, 3);
    for (int i = 0; i < batch.n_tensors; i++) {
        const leat_tensor *t = &batch.tensor[i];
        if (!strcmp(t->name, "picture")) {
            assert_memory_equal(t->data, picture, sizeof picture);
            assert_memory_equal((uint8_t *)t->data + sizeof picture, picture, 12);
        } else if (!strcmp(t->name, "small")) {
            assert_memory_equal(t->data, ((int64_t[]){-3, 1000, -3}), 24);
        } else if (!strcmp(t->name, "wide")) {
            assert_memory_equal(t->data, ((float[]){0.5f, -2, 0.5f}), 12);
        } else if (!strcmp(t->name, "word")) {
            assert_memory_equal(t->data, "antbumbleant", 12);
        } else {
            assert_memory_equal(t->offsets, ((int64_t[]){0, 2, 3, 5}), 32);
            assert_memory_equal(t->data, ((float[]){1, 2, 3, 1, 2}), 20);
        }
    }
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);
}

static void fields_that_no_example_holds(void **state) {
    (void)state;
    static const int wrong[] = {LEAT_DTYPE_U64, LEAT_DTYPE_F16, LEAT_DTYPE_BF16};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        uint64_t value = 1;
        const leat_tensor field = {.name = "x", .data = &value, .dtype = wrong[i], .ndim = 1, .shape = {1}};
        const leat_batch batch = {.n = 1, .n_valid = 1, .n_tensors = 1, .tensor = &field};
        leat_writer *writer;
        leat_error err;
        assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL, &err), 0);
        assert_int_equal(leat_writer_add_batch(writer, &batch, &err), LEAT_ERR_TYPE);
        assert_non_null(strstr(err.message, "cast x"));
        assert_int_equal(leat_writer_close(&writer, &err), LEAT_ERR_TYPE);
        assert_int_equal(entries(), 0);
    }
}

static void lists_of_strings(void **state) {
    (void)state;
    const int64_t offsets[] = {0, 3, 3, 6}, backwards[] = {0, 5, 3};
    leat_feature feature = {
        .name = "w", .dtype = LEAT_DTYPE_BYTES, .n = 3, .values = "antbee", .offsets = offsets};
    static const uint8_t expected[] = "\x0a\x15\x0a\x13\x0a\x01w\x12\x0e\x0a\x0c\x0a\x03"
                                      "ant\x0a\x00\x0a\x03"
                                      "bee";
    uint8_t bytes[64];
    leat_error err;
    assert_int_equal(leat_example(&feature, 1, bytes, sizeof bytes, &err), sizeof expected - 1);
    assert_memory_equal(bytes, expected, sizeof expected - 1);
    assert_int_equal(leat_example(&feature, 1, NULL, 0, &err), sizeof expected - 1);
    feature.offsets = backwards;
    feature.n = 2;
    assert_int_equal(leat_example(&feature, 1, bytes, sizeof bytes, &err), LEAT_ERR_ARGUMENT);
    feature.dtype = LEAT_DTYPE_I64;
    assert_int_equal(leat_example(&feature, 1, bytes, sizeof bytes, &err), LEAT_ERR_ARGUMENT);
}

static void wrong_configs(void **state) {
    (void)state;
    static const leat_writer_config wrong[] = {{.n_shards = -1},
                                               {.n_shards = LEAT_WRITE_SHARDS_MAX + 1},
                                               {.compression = 3},
                                               {.compression = -1},
                                               {.level = 10}};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        leat_writer *writer;
        leat_error err;
        assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), &wrong[i], &err),
                         LEAT_ERR_ARGUMENT);
        assert_null(writer);
    }
}

static void without_memory(void **state) {
    (void)state;
    const int64_t one = 1;
    leat_feature many[40]; /* more than fit on the stack of the encoder */
    char names[40][8];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        many[i] = (leat_feature){.name = names[i], .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one};
    }
    bool worked = false;
    for (uint64_t at = 1; at < 50 && !worked; at++) {
        leat_writer *writer = NULL;
        leat_error err;
        leat__mem_fail_at(at);
        const leat_writer_config config = {.compression = LEAT_WRITE_GZIP};
        int rc = leat_writer_open(&writer, in_folder("a.tfrecord"), &config, &err);
        if (rc == 0) rc = leat_writer_add(writer, many, 40, &err);
        if (rc == 0) rc = leat_writer_close(&writer, &err);
        else leat_writer_abort(&writer);
        leat__mem_fail_at(0);
        assert_true(rc == 0 || (rc == LEAT_ERR_MEMORY && err.code == rc && err.message[0]));
        worked = rc == 0;
        assert_int_equal(entries(), worked);
    }
    assert_true(worked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_is_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(known_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(failure_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(too_large, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(abort_leaves_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_calls, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(shards_and_compression, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_number_of_a_shard, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(batches_are_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(fields_that_no_example_holds, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(lists_of_strings, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_configs, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(without_memory, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
