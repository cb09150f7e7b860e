/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Compressed shards that take turns come in the order in which the same shards come when they are not compressed, where
 * it is calculated from their lengths; whoever reads faster, and wherever a run is taken up again. */
#include "unit/testing.h"

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

typedef struct labels {
    int n, rc;
    int64_t label[8192];
    char message[1000];
} labels;

static labels *read_labels(leat_pipeline *feed, int most) {
    labels *l = calloc(1, sizeof *l);
    leat_error err;
    leat_batch batch;
    for (int i = 0; i != most && (l->rc = leat_pipeline_next(feed, &batch, &err)) == 0; i++) {
        const leat_tensor *tensor = &batch.tensor[0];
        for (int k = 0; k < batch.n && l->n < (int)LEAT_COUNT(l->label); k++)
            l->label[l->n++] = ((const int64_t *)tensor->data)[k];
        leat_batch_release(&batch);
    }
    if (l->rc < 0) snprintf(l->message, sizeof l->message, "%s", err.message);
    return l;
}

static labels *run_labels(const char *folder, const char *chain, const leat_config *config) {
    leat_pipeline *feed = open_spec(spec_of("tfrecord %s | %s", in_dir("%s/*", folder), chain), config);
    labels *l = read_labels(feed, -1);
    leat_pipeline_close(&feed);
    return l;
}

static void same_labels(const labels *want, const labels *got, const char *what) {
    if (want->n != got->n || want->rc != got->rc)
        fail_msg("%s: %d samples then %s (%s), expected %d then %s", what, got->n, leat_error_name(got->rc),
                 got->message, want->n, leat_error_name(want->rc));
    for (int i = 0; i < want->n; i++)
        if (want->label[i] != got->label[i])
            fail_msg("%s: sample %d is %d, expected %d", what, i, (int)got->label[i], (int)want->label[i]);
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
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        labels *want = run_labels("p", chains[i], &(leat_config){.n_epochs = 2});
        assert_int_equal(want->rc, LEAT_END);
        if (i == 0) assert_int_equal(want->n, 2 * n);
        for (int threads = 0; threads <= 16; threads = threads ? threads * 2 : 1)
            for (int small = 0; small < 2; small++) {
                const leat_config config = {.n_epochs = 2,
                                            .n_threads = threads,
                                            .synchronous = !threads,
                                            .n_slots = 3,
                                            .memory_max_bytes = small ? 6 << 20 : 0};
                labels *got = run_labels("g", chains[i], &config);
                same_labels(want, got, chains[i]);
                free(got);
            }
        free(want);
    }
}

/* Saved behind every batch; the state is the same text for any number of threads, and any of them goes on from it. */
static void test_restore_everywhere(void **state) {
    (void)state;
    write_shards();
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        const leat_config one = {.n_epochs = 2, .synchronous = 1, .n_slots = 2},
                          many = {.n_epochs = 2, .n_threads = 4, .n_slots = 4};
        leat_spec *spec = spec_of("tfrecord %s | %s", in_dir("g/*"), chains[i]);
        leat_pipeline *a = NULL, *b = NULL, *c = NULL;
        assert_int_equal(leat_pipeline_open(&a, spec, &one, NULL), 0);
        assert_int_equal(leat_pipeline_open(&b, spec, &many, NULL), 0);
        assert_int_equal(leat_pipeline_open(&c, spec, &many, NULL), 0);
        labels *all = run_labels("g", chains[i], &one);
        int done = 0;
        for (int step = 0;; step++) {
            char of_a[1024], of_b[1024];
            assert_true(leat_pipeline_state(a, of_a, sizeof of_a, NULL) > 0);
            assert_true(leat_pipeline_state(b, of_b, sizeof of_b, NULL) > 0);
            assert_string_equal(of_a, of_b);
            if (step % (STRIDE * (step < 40 ? 1 : 11)) == 0) {
                assert_int_equal(leat_pipeline_restore(c, of_a, NULL), 0);
                labels *rest = read_labels(c, -1), *want = calloc(1, sizeof *want);
                want->rc = all->rc;
                want->n = all->n - done;
                memcpy(want->label, all->label + done, (size_t)want->n * sizeof *want->label);
                same_labels(want, rest, of_a);
                free(want);
                free(rest);
            }
            labels *next = read_labels(a, 1), *other = read_labels(b, 1);
            same_labels(next, other, chains[i]);
            const int rc = next->rc;
            done += next->n;
            free(next);
            free(other);
            if (rc != 0) break;
        }
        assert_int_equal(done, all->n);
        free(all);
        leat_pipeline_close(&a);
        leat_pipeline_close(&b);
        leat_pipeline_close(&c);
        leat_spec_free(&spec);
    }
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
    const leat_config config = {.synchronous = 1, .n_slots = 2};
    leat_spec *spec = spec_of("tfrecord %s | interleave 3 | parse label:int64 | batch 5", in_dir("rest/*"));
    leat_pipeline *feed = NULL;
    char saved[1024];
    assert_int_equal(leat_pipeline_open(&feed, spec, &config, NULL), 0);
    free(read_labels(feed, BATCHES));
    assert_true(leat_pipeline_state(feed, saved, sizeof saved, NULL) > 0);
    labels *want = read_labels(feed, 3);
    leat_pipeline_close(&feed);
    assert_int_equal(leat_pipeline_open(&feed, spec, &config, NULL), 0);
    assert_int_equal(leat_pipeline_restore(feed, saved, NULL), 0);
    labels *got = read_labels(feed, 3);
    same_labels(want, got, saved);
    leat_stats stats;
    leat_pipeline_stats(feed, &stats);
    /* The samples are random bytes, which do not become smaller. Between two marks are 256 records: 4.3 shards. */
    if (stats.bytes_read > (3 + 6) * EACH * BYTES)
        fail_msg("%.1f MB were read again", (double)stats.bytes_read / 1e6);
    leat_pipeline_close(&feed);
    leat_spec_free(&spec);
    free(want);
    free(got);
}

/* What a state says of the places may be anything: it is refused, or something else comes, never worse. */
static void test_forged_places(void **state) {
    (void)state;
    write_shards();
    leat_pipeline *feed = open_spec(
        spec_of("tfrecord %s | interleave 4 3 | parse label:int64 | repeat 2 | batch 8", in_dir("g/*")),
        &(leat_config){.n_threads = 2, .n_epochs = 2});
    char saved[1024], forged[1300];
    free(read_labels(feed, 60));
    assert_true(leat_pipeline_state(feed, saved, sizeof saved, NULL) > 0);
    const char *at = strstr(saved, " stream="), *text = strstr(saved, " text=");
    assert_true(at && text && memchr(at, '.', (size_t)(text - at)));
    leat__rng rng = leat__rng_at(77, 0, 0, 0);
    int taken = 0, refused = 0;
    for (int i = 0; i < 600 / STRIDE; i++) {
        static const char letters[] = "0123456789abcdef:.- x";
        snprintf(forged, sizeof forged, "%s", saved);
        char *mark = strstr(forged, " stream=") + 8;
        const size_t n = strcspn(mark, " ");
        for (uint64_t k = 1 + leat__rng_below(&rng, 3); k-- > 0;)
            mark[leat__rng_below(&rng, n)] = letters[leat__rng_below(&rng, sizeof letters - 1)];
        leat_error err;
        if (leat_pipeline_restore(feed, forged, &err) != 0) {
            assert_int_equal(err.code, LEAT_ERR_STATE);
            refused++;
            continue;
        }
        taken++;
        labels *l = read_labels(feed, 5);
        if (l->rc < 0) assert_true(l->rc == LEAT_ERR_STATE || l->rc == LEAT_ERR_IO);
        free(l);
    }
    assert_true(taken > 0 && refused > 0);
    /* Nothing of it stays. */
    assert_int_equal(leat_pipeline_restore(feed, saved, NULL), 0);
    leat_pipeline_close(&feed);
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
    leat_pipeline *feed = open_spec(
        spec_of("tfrecord %s | interleave 2 | parse label:int64 | batch 4", in_dir("damaged/*")), &config);
    labels *l = read_labels(feed, -1);
    assert_int_equal(l->rc, LEAT_END);
    if (l->n <= 40 || l->n >= 60) fail_msg("%d samples", l->n);
    for (int i = 0; i < 10; i++) assert_int_equal(l->label[i], i % 2 * 20 + i / 2);
    leat_bad bad;
    assert_int_equal(leat_pipeline_bad(feed, 0, &bad), 0);
    assert_non_null(strstr(bad.message, "damaged/1.gz: record "));
    assert_non_null(strstr(bad.message, "the rest of this shard is lost"));
    leat_pipeline_close(&feed);
    free(l);
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
        {"interleave 2 | enumerate of=sample | filter \"index < 9\"", "get the number of the record"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat_spec *spec = spec_of("tfrecord %s | %s | batch 2", in_dir("g/*"), cases[i].chain);
        leat_pipeline *feed = NULL;
        leat_error err;
        assert_true(leat_pipeline_open(&feed, spec, NULL, &err) < 0);
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
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("deal", tests, begin_files, end_files);
}
