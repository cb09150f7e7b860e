/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain timeout=120 */
/* Compressed shards that take turns come in the order in which the same shards come when they are not compressed, where
 * it is calculated from their lengths; whoever reads faster, and wherever a run is taken up again. */
#include "unit/testing_labels.h"

static const int sizes[] = {5, 0, 1, 37, 300, 2, 64, 64, 11, 1, 1, 90, 150, 3};

static int write_shards(void) {
    int n = 0;
    make_dir(in_dir("p"));
    make_dir(in_dir("g"));
    for (int i = 0; i < (int)LEAT_COUNT(sizes); i++) {
        leat__buf shard = {.kind = LEAT_MEM_TOOL}, copy = {.kind = LEAT_MEM_TOOL};
        leat__buf_reserve(&shard, 1);
        for (int k = 0; k < sizes[i]; k++, n++) add_sample(&shard, n, (size_t)(n % 7) * 900);
        leat__buf_append(&copy, shard.data, shard.size);
        write_deflated(in_dir("g/%02d", i), &shard, i % 3 ? GZIP_BITS : ZLIB_BITS);
        if (copy.size) write_buf(in_dir("p/%02d", i), &copy);
        else leat__buf_free(&copy);
    }
    write_file(in_dir("p/01"), "", 0);
    return n;
}

static const char *text_of(const char *folder, const char *chain) {
    static char text[2][2000];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "tfrecord %s | %s", in_dir("%s/*", folder), chain);
    return text[turn];
}

static const char *const chains[] = {
    "interleave 4 | parse label:int64 | batch 7",
    "interleave 3 7 | parse label:int64 | batch 8",
    "interleave 2 100 | parse label:int64 row:float[4] | batch 32",
    "interleave 32 2 | parse label:int64 | batch 8",
    "interleave 5 | parse label:int64 | shuffle 50 | repeat 2 | batch 5",
    "interleave 4 2 | parse label:int64 | take 60 | repeat 5 | batch 8",
    "interleave 4 3 | parse label:int64 | skip 17 | shard 1/3 | batch 4",
    "interleave 6 2 | parse label:int64 | filter \"label not in 1,5,7,300\" | shuffle 30 | batch 6",
    "interleave 3 | parse label:int64 | filter \"label > 400\" | batch 6",
    "flat_map | parse label:int64 | batch 6",
};

static void test_same_order(void **state) {
    (void)state;
    const int n = write_shards();
    for (size_t i = 0; i < LEAT_COUNT(chains); i += STRIDE) {
        const int got = check_like_plain(text_of("p", chains[i]), text_of("g", chains[i]));
        if (i == 0) assert_int_equal(got, 2 * n);
    }
}

static void test_restore_everywhere(void **state) {
    (void)state;
    write_shards();
    for (size_t i = 0; i < LEAT_COUNT(chains); i += STRIDE) check_restore_everywhere(text_of("g", chains[i]));
}

/* Only shards that have their turns at a state are inflated again, up to where they were. */
static void test_restore_reads_what_is_open(void **state) {
    (void)state;
    enum { SHARDS = 24, EACH = 60, BYTES = 20000, BATCHES = 250 };
    make_dir(in_dir("rest"));
    for (int i = 0; i < SHARDS; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < EACH; k++) add_sample(&shard, i * EACH + k, BYTES);
        write_deflated(in_dir("rest/%02d", i), &shard, GZIP_BITS);
    }
    char text[1000];
    snprintf(text, sizeof text, "tfrecord %s | interleave 3 | parse label:int64 | batch 5", in_dir("rest/*"));
    /* The samples are random bytes, which do not become smaller. Between two marks are 256 records: 4.3 shards. */
    const uint64_t bytes = read_again(text, BATCHES);
    if (bytes > (3 + 6) * EACH * BYTES) fail_msg("%.1f MB were read again", (double)bytes / 1e6);
}

static void test_forged_places(void **state) {
    (void)state;
    write_shards();
    leat_pipeline *pipeline = open_spec(
        spec_of("tfrecord %s | interleave 4 3 | parse label:int64 | repeat 2 | batch 8", in_dir("g/*")),
        &(leat_config){.n_threads = 2, .n_epochs = 2});
    char saved[1024];
    free(read_labels(pipeline, 60));
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
    const char *at = strstr(saved, " stream="), *text = strstr(saved, " text=");
    assert_true(at && text && memchr(at, '.', (size_t)(text - at)));
    check_forged(pipeline, saved, "0123456789abcdef:.- x");
    leat_pipeline_close(&pipeline);
}

/* A shard that is damaged loses what is behind the damage, and the others go on in its turns. */
static void test_damage(void **state) {
    (void)state;
    make_dir(in_dir("damaged"));
    for (int i = 0; i < 3; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 20; k++) add_sample(&shard, i * 20 + k, 300);
        leat__buf packed = deflated(shard.data, shard.size, GZIP_BITS);
        leat__buf_free(&shard);
        if (i == 1) packed.size /= 2;
        write_buf(in_dir("damaged/%d.gz", i), &packed);
    }
    const leat_config config = {.n_threads = 2, .on_error = LEAT_ON_ERROR_SKIP};
    leat_pipeline *pipeline = open_spec(
        spec_of("tfrecord %s | interleave 2 | parse label:int64 | batch 4", in_dir("damaged/*")), &config);
    labels *l = read_labels(pipeline, -1);
    assert_int_equal(l->rc, LEAT_END);
    if (l->n <= 40 || l->n >= 60) fail_msg("%d samples", l->n);
    for (int i = 0; i < 10; i++) assert_int_equal(l->label[i], i % 2 * 20 + i / 2);
    leat_bad bad;
    assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
    assert_non_null(strstr(bad.message, "damaged/1.gz: record "));
    assert_non_null(strstr(bad.message, "the rest of this shard is lost"));
    leat_pipeline_close(&pipeline);
    free(l);
}

/* A record's number depends on the turns: what was kept by the numbers of others is not taken. */
static void test_kept_on_disk(void **state) {
    (void)state;
    write_shards();
    static const char *const turns[] = {"flat_map", "interleave 2", "interleave 3", "interleave 3 4"};
    for (size_t i = 0; i < 2 * LEAT_COUNT(turns); i++) {
        char plain[200], cached[2][600];
        const char *turn = turns[i % LEAT_COUNT(turns)], *kept = in_dir("kept");
        snprintf(plain, sizeof plain, "%s | parse label:int64 | batch 9", turn);
        snprintf(cached[0], sizeof cached[0], "%s | parse label:int64 | cache %s | batch 9", turn, kept);
        snprintf(cached[1], sizeof cached[1], "parse label:int64 | cache %s | %s | batch 9", kept, turn);
        labels *want = run_text_labels(text_of("g", plain), NULL);
        for (int k = 0; k < 2; k++) {
            labels *got = run_text_labels(text_of("g", cached[k]), &(leat_config){.n_threads = 2});
            same_labels(want, got, cached[k]);
            free(got);
        }
        free(want);
    }
}

static void test_refusals(void **state) {
    (void)state;
    write_shards();
    static const struct {
        const char *chain, *says;
    } cases[] = {
        {"interleave 33", "at most 32 shards of a stream can take turns"},
        {"shuffle 9 | interleave 2", "write it before other verbs of order"},
        {"interleave 2 | interleave 2", "write it before other verbs of order"},
        {"parse label:int64 | filter label>3 | interleave 2", "write it before other verbs of order"},
        {"interleave 2 | enumerate of=sample | filter \"index < 9\"", "the number of a record"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat_spec *spec = spec_of("tfrecord %s | %s | batch 2", in_dir("g/*"), cases[i].chain);
        leat_pipeline *pipeline = NULL;
        leat_error err;
        assert_true(leat_pipeline_open(&pipeline, spec, NULL, &err) < 0);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: %s", cases[i].chain, err.message);
        leat_spec_free(&spec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_order),
        cmocka_unit_test(test_restore_everywhere),
        cmocka_unit_test(test_restore_reads_what_is_open),
        cmocka_unit_test(test_forged_places),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_kept_on_disk),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("deal", tests, begin_files, end_files);
}
