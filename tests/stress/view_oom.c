/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* Every allocation of leat_view and of leat_compare fails once: an error with a message and no file, or the same result
 * as ever; never a crash, never a leak. */
#include "unit/testing.h"

#include "base/error.h"
#include "base/file.h"
#include "format/npy.h"
#include "leat/leat_tools.h"

static char texts[4][500];

static void write_array(const char *name, int dtype, int ndim, const int64_t *shape, uint8_t value) {
    char npy[LEAT_NPY_HEADER_MAX + 1000];
    const size_t head = leat__npy_header(npy, sizeof npy, dtype, ndim, shape);
    size_t bytes = leat_dtype_size(dtype);
    for (int i = 0; i < ndim; i++) bytes *= (size_t)shape[i];
    assert_true(head + bytes <= sizeof npy);
    memset(npy + head, value, bytes);
    write_file(in_dir("%s", name), npy, head + bytes);
}

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    for (int i = 0; i < 6; i++) write_jpeg(in_dir("photos/%d.jpg", i), 20, 10 + i, (unsigned)i);
    leat__buf shard = {0};
    for (int i = 0; i < 12; i++) add_sample(&shard, i, 48);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    snprintf(texts[0], sizeof texts[0],
             "synth 9 8 8 | shuffle | one_hot label 10 | cast f32 | batch 4 | mixup group=4");
    snprintf(texts[1], sizeof texts[1],
             "folder %s labels=none | decode | resize 8 8 | normalize imagenet | batch 4", in_dir("photos"));
    snprintf(
        texts[2], sizeof texts[2],
        "tfrecord %s | shuffle 5 | parse image:bytes label:int64 | decode_raw u8 | reshape 4 4 3 | batch 4",
        in_dir("a.gz"));
    write_array("image.npy", LEAT_DTYPE_U8, 4, (int64_t[]){4, 8, 8, 3}, 100);
    write_array("mask.npy", LEAT_DTYPE_U8, 4, (int64_t[]){4, 8, 8, 1}, 3);
    write_array("box.npy", LEAT_DTYPE_U8, 3, (int64_t[]){4, 2, 4}, 5);
    snprintf(
        texts[3], sizeof texts[3],
        "npy image=%s mask=%s box=%s | mask mask | boxes box format=xywh | random_flip_left_right | batch 2",
        in_dir("image.npy"), in_dir("mask.npy"), in_dir("box.npy"));
    return 0;
}

static const leat_config pipeline = {.no_side_files = 1, .n_slots = 2};

static int view(const char *text, int strip, leat_error *err) {
    const leat_view_config config = {.n_samples = 3, .n_versions = 2, .size = 40, .strip = strip};
    leat_spec *spec = leat_spec_new(text);
    if (!spec) return leat__fail_memory(err, 0, "a spec");
    const int rc = leat_view(spec, in_dir("sheet.png"), &config, &pipeline, NULL, err);
    leat_spec_free(&spec);
    return rc;
}

static void test_view(void **state) {
    (void)state;
    leat_error err;
    for (size_t i = 0; i < LEAT_COUNT(texts) + 1; i++) {
        const int strip = i == LEAT_COUNT(texts);
        const char *text = texts[strip ? i - 1 : i];
        leat__buf want = {.kind = LEAT_MEM_TOOL}, got = {.kind = LEAT_MEM_TOOL};
        if (view(text, strip, &err) != 0) fail_msg("%s", err.message);
        assert_int_equal(leat__file_read_all(in_dir("sheet.png"), &want, 1 << 24, &err), 0);
        const uint64_t held = memory_held();
        for (uint64_t n = 1;; n++) {
            unlink(in_dir("sheet.png"));
            leat__mem_fail_at(n);
            const int rc = view(text, strip, &err);
            const uint64_t made = leat__mem_fail_at(0);
            if (memory_held() != held) fail_msg("%s, allocation %d: bytes stay", text, (int)n);
            if (rc < 0 && strlen(err.message) < 5) fail_msg("%s, allocation %d: no message", text, (int)n);
            assert_int_equal(access(in_dir("sheet.png"), F_OK), rc == 0 ? 0 : -1);
            if (made < n) break;
        }
        assert_int_equal(leat__file_read_all(in_dir("sheet.png"), &got, 1 << 24, &err), 0);
        assert_int_equal(got.size, want.size);
        assert_memory_equal(got.data, want.data, want.size);
        leat__buf_free(&want);
        leat__buf_free(&got);
    }
}

static void test_compare(void **state) {
    (void)state;
    leat_error err;
    static leat_compare_report report;
    make_dir(in_dir("arrays"));
    char npy[LEAT_NPY_HEADER_MAX + 4] = {0};
    const size_t head = leat__npy_header(npy, sizeof npy, LEAT_DTYPE_U8, 1, (int64_t[]){4});
    write_file(in_dir("arrays/0_x.npy"), npy, head + 4);
    const char *const pairs[][2] = {
        {texts[0], texts[0]}, {texts[2], texts[2]}, {in_dir("arrays"), in_dir("arrays")}};
    for (size_t i = 0; i < LEAT_COUNT(pairs); i++) {
        if (leat_compare(pairs[i][0], pairs[i][1], NULL, &pipeline, &report, &err) != 0)
            fail_msg("%s", err.message);
        assert_true(report.n_fields > 0 && report.max == 0);
        const uint64_t held = memory_held();
        for (uint64_t n = 1;; n++) {
            leat__mem_fail_at(n);
            const int rc = leat_compare(pairs[i][0], pairs[i][1], NULL, &pipeline, &report, &err);
            const uint64_t made = leat__mem_fail_at(0);
            if (memory_held() != held) fail_msg("%s, allocation %d: bytes stay", pairs[i][0], (int)n);
            if (rc < 0 && strlen(err.message) < 5)
                fail_msg("%s, allocation %d: no message", pairs[i][0], (int)n);
            if (made < n) break;
        }
        assert_true(report.max == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_view), cmocka_unit_test(test_compare)};
    return cmocka_run_group_tests_name("view_oom", tests, begin, end_files);
}
