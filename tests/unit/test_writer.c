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
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), &err), 0);
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
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL), 0);
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
        assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), &err), 0);
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
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), &err), 0);
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
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL), 0);
    assert_int_equal(leat_writer_add(writer, &good, 1, NULL), 0);
    assert_int_equal(leat_writer_close(&writer, NULL), 0);
    assert_int_equal(leat_writer_open(&writer, in_folder("a.tfrecord"), NULL), 0);
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
    assert_int_equal(leat_writer_open(NULL, "x", &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, "", &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_open(&writer, in_folder("no/such/place"), &err), LEAT_ERR_NOT_FOUND);
    assert_null(writer);
    assert_int_equal(leat_writer_add(NULL, NULL, 0, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_writer_close(&writer, &err), 0);
    assert_int_equal(leat_writer_close(NULL, &err), 0);
    leat_writer_abort(&writer);
    leat_writer_abort(NULL);
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
        int rc = leat_writer_open(&writer, in_folder("a.tfrecord"), &err);
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
        cmocka_unit_test_setup_teardown(without_memory, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
