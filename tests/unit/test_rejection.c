/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 no-tsan */
/* rejection_resample of streams: every record is kept or left out by a draw of its own. How many are kept is compared with
 * the mathematics, which ones with the draws themselves; and neither threads nor restarts change them. */
#include <math.h>

#include "unit/testing.h"

#include "plan/select.h"

static const int sizes[] = {9000, 1, 0, 6000, 4999};
static const double shares[] = {0.7, 0.2, 0.1};
enum { SHARDS = 5, CLASSES = 3, N = 20000, EPOCHS_MAX = 2 };
#define INITIAL "initial=0.7,0.2,0.1"

static int shard_of[N], record_of[N], class_of[N], n_of[CLASSES];
static char records[400];

static void add_labelled(leat__buf *shard, int64_t id, int64_t label) {
    const leat__feature_value values[] = {
        {.key = "id", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &id},
        {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &label},
    };
    add_example(shard, values, 2);
}

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    int id = 0;
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    make_dir(in_dir("g"));
    for (int i = 0; i < SHARDS; i++) {
        leat__buf shard = {.kind = LEAT_MEM_TOOL};
        assert_true(leat__buf_reserve(&shard, 1));
        for (int k = 0; k < sizes[i]; k++, id++) {
            const double x = leat__rng_unit(&rng);
            shard_of[id] = i;
            record_of[id] = k;
            class_of[id] = x < shares[0] ? 0 : x < shares[0] + shares[1] ? 1 : 2;
            n_of[class_of[id]]++;
            add_labelled(&shard, id, class_of[id]);
        }
        write_deflated(in_dir("g/%d", i), &shard, i % 2 ? ZLIB_BITS : GZIP_BITS);
    }
    assert_int_equal(id, N);
    snprintf(records, sizeof records, "tfrecord %s", in_dir("g/*"));
    return 0;
}

/* How often each record comes in an epoch, 0 or 1; all epochs must be alike. How many it are. */
static int kept_of(leat_spec *spec, const leat_config *config, bool *kept) {
    leat_config whole = config ? *config : (leat_config){0};
    whole.n_epochs = EPOCHS_MAX;
    leat_pipeline *pipeline = open_spec(spec, &whole);
    static int count[EPOCHS_MAX][N];
    memset(count, 0, sizeof count);
    leat_batch b;
    leat_error err;
    int rc, n = 0;
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        const int64_t *id = b.tensor[0].data, *label = b.tensor[1].data;
        assert_string_equal(b.tensor[1].name, "label");
        assert_int_equal(b.tensor[1].ndim, 1);
        for (int i = 0; i < b.n; i++) {
            assert_true(IN(0, id[i], N - 1));
            assert_int_equal(label[i], class_of[id[i]]);
            count[b.epoch][id[i]]++;
        }
        leat_batch_release(&b);
    }
    if (rc != LEAT_END) fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    for (int i = 0; i < N; i++) {
        assert_true(count[0][i] <= 1 && count[0][i] == count[1][i]);
        kept[i] = count[0][i] != 0;
        n += kept[i];
    }
    return n;
}

#define PARSE "parse id:int64 label:int64"

/* Five standard deviations of n draws with probability p. */
static double bound(double n, double p) {
    return 5 * sqrt(n * p * (1 - p));
}

static void test_proportions(void **state) {
    (void)state;
    static const struct {
        const char *target;
        double share[CLASSES];
    } cases[] = {
        {"", {1, 1, 1}},
        {"target=0.5,0.25,0.25", {0.5, 0.25, 0.25}},
        {"target=7,2,1", {0.7, 0.2, 0.1}},
        {"target=0,1,3", {0, 0.25, 0.75}},
        {"target=1e3,1e3,1", {1e3, 1e3, 1}},
    };
    static bool kept[N];
    for (size_t k = 0; k < LEAT_COUNT(cases); k++) {
        const int total = kept_of(spec_of("%s | " PARSE " | rejection_resample " INITIAL " %s | batch 64",
                                          records, cases[k].target),
                                  NULL, kept);
        double most = 0, want_total = 0, variance = 0, sum = 0;
        int n[CLASSES] = {0};
        for (int c = 0; c < CLASSES; c++) {
            most = LEAT_MAX(most, cases[k].share[c] / shares[c]);
            sum += cases[k].share[c];
        }
        for (int i = 0; i < N; i++) n[class_of[i]] += kept[i];
        for (int c = 0; c < CLASSES; c++) {
            const double p = cases[k].share[c] / shares[c] / most, want = p * n_of[c];
            if (fabs(n[c] - want) > bound(n_of[c], p))
                fail_msg("%s: %d of class %d, expected %.0f +- %.0f", cases[k].target, n[c], c, want,
                         bound(n_of[c], p));
            if (p > 1 - 1e-12) assert_int_equal(n[c], n_of[c]); /* of one class none is left out */
            want_total += want;
            variance += n_of[c] * p * (1 - p);
        }
        if (fabs(total - want_total) > 5 * sqrt(variance))
            fail_msg("%s: %d are kept, expected %.0f", cases[k].target, total, want_total);
        /* And so the proportions are those of the target; those of the data are drawn themselves. */
        for (int c = 0; c < CLASSES; c++) {
            const double share = cases[k].share[c] / sum;
            if (fabs((double)n[c] / total - share) > 0.04)
                fail_msg("%s: class %d has %.3f of all, expected %.3f", cases[k].target, c,
                         (double)n[c] / total, share);
        }
    }
}

/* Which ones: the draws are those of the seed, the operation, the shard and the record in it. */
static void test_draws(void **state) {
    (void)state;
    static const struct {
        const char *before, *seed;
        uint64_t want_seed;
        uint32_t op;
    } cases[] = {{"", "", 11, 3}, {"", "seed=12", 12, 3}, {"filter label>=0 | ", "", 11, 4}};
    static bool kept[N];
    for (size_t k = 0; k < LEAT_COUNT(cases); k++) {
        kept_of(spec_of("%s | " PARSE " | %srejection_resample " INITIAL " target=0.5,0.3,0.2 %s | batch 50",
                        records, cases[k].before, cases[k].seed),
                &(leat_config){.seed = 11}, kept);
        static const double chance[] = {0.5 / 0.7 / 2, 0.3 / 0.2 / 2, 1};
        for (int i = 0; i < N; i++) {
            leat__rng rng =
                leat__rng_at(cases[k].want_seed, (uint64_t)shard_of[i], (uint64_t)record_of[i], cases[k].op);
            const double x = leat__rng_unit(&rng);
            if (fabs(x - chance[class_of[i]]) < 1e-9) continue;
            if (kept[i] != (x < chance[class_of[i]]))
                fail_msg("case %zu: record %d of shard %d is %s", k, record_of[i], shard_of[i],
                         kept[i] ? "kept" : "left out");
        }
    }
}

/* Draws of like places in other shards, of other seeds and of other operations have nothing to do with one another. */
static void test_independence(void **state) {
    (void)state;
    enum { EACH = 6000 };
    static bool kept[4][N];
    static const char *const texts[] = {"", "seed=1", "", ""};
    for (int k = 0; k < 4; k++)
        kept_of(spec_of("%s | " PARSE " | %srejection_resample initial=1,1,1 target=1,1,2 %s | batch 64",
                        records, k == 2 ? "filter label>=0 | " : "", texts[k]),
                &(leat_config){.n_threads = 1 + k}, kept[k]);
    int seeds = 0, operations = 0, shards = 0, n = 0, n_shards = 0;
    for (int i = 0; i < N; i++) {
        if (class_of[i] == 2) continue;
        n++;
        seeds += kept[0][i] == kept[1][i];
        operations += kept[0][i] == kept[2][i];
        assert_int_equal(kept[0][i], kept[3][i]);
        if (i >= EACH || class_of[9001 + i] == 2) continue; /* shards 0 and 3 */
        n_shards++;
        shards += kept[0][i] == kept[0][9001 + i];
    }
    assert_true(fabs(seeds - n * 0.5) < bound(n, 0.5));
    assert_true(fabs(operations - n * 0.5) < bound(n, 0.5));
    assert_true(fabs(shards - n_shards * 0.5) < bound(n_shards, 0.5));
}

static const char *const chains[] = {
    PARSE " | rejection_resample " INITIAL " | batch 60",
    PARSE " | shuffle 100 | rejection_resample " INITIAL " target=1,2,3 | repeat 2 | batch 70",
    "interleave 3 2 | " PARSE " | filter label!=1 | rejection_resample initial=7,1,1 target=1,0,1 | batch 40",
    "interleave 4 7 | " PARSE " | rejection_resample " INITIAL " seed=5 | shuffle 64 | skip 3 | batch 50",
};

static void test_threads(void **state) {
    (void)state;
    for (size_t k = 0; k < LEAT_COUNT(chains); k++) {
        tape want = {0};
        for (int threads = 0; threads <= 4; threads += STRIDE > 1 ? 4 : 1) {
            const leat_config config = {.n_threads = threads,
                                        .synchronous = !threads,
                                        .n_epochs = 2,
                                        .memory_max_bytes = threads % 2 ? 16 << 20 : 0};
            tape got = record_spec(spec_of("%s | %s", records, chains[k]), &config);
            if (got.rc != LEAT_END) fail_msg("%s: %s", chains[k], got.message);
            if (threads) same_tape(&want, &got, chains[k]), tape_free(&got);
            else want = got;
        }
        tape_free(&want);
    }
    /* The order of shards changes the order of what is kept, and nothing else. */
    static const char *const orders[] = {"flat_map", "interleave 3 5"};
    static bool kept[2][N];
    for (int k = 0; k < 2; k++)
        kept_of(
            spec_of("%s | %s | " PARSE " | rejection_resample " INITIAL " | batch 99", records, orders[k]),
            NULL, kept[k]);
    assert_memory_equal(kept[0], kept[1], sizeof kept[0]);
}

static void test_restores(void **state) {
    (void)state;
    for (size_t k = 0; k < LEAT_COUNT(chains); k++) {
        const leat_config config = {.n_threads = 1 + (int)k, .n_epochs = 2};
        tape all = record_spec(spec_of("%s | %s", records, chains[k]), &config);
        for (int step = 1; step < all.n_batches; step += all.n_batches / 5) {
            char saved[1024];
            leat_pipeline *pipeline = open_spec(spec_of("%s | %s", records, chains[k]), &config);
            tape before = record(pipeline, step);
            tape_free(&before);
            assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
            leat_pipeline_close(&pipeline);
            pipeline = open_spec(spec_of("%s | %s", records, chains[k]), &config);
            assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
            tape rest = record(pipeline, -1);
            same_tail(&all, step, &rest, saved);
            leat_pipeline_close(&pipeline);
            tape_free(&rest);
        }
        tape_free(&all);
    }
}

/* A label without a number in initial is an error of its sample, at the same batch for any number of threads. */
static void test_other_labels(void **state) {
    (void)state;
    make_dir(in_dir("other"));
    for (int i = 0; i < 2; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 300; k++)
            add_labelled(&shard, i * 300 + k, i && k == 50 ? 2 : i && k == 60 ? -1 : k % 2);
        write_deflated(in_dir("other/%d", i), &shard, GZIP_BITS);
    }
    for (int policy = LEAT_ON_ERROR_RAISE; policy <= LEAT_ON_ERROR_SKIP; policy++) {
        tape want = {0};
        for (int threads = 0; threads <= 4; threads += STRIDE > 1 ? 4 : 1) {
            const leat_config config = {.n_threads = threads, .synchronous = !threads, .on_error = policy};
            leat_pipeline *pipeline = open_spec(
                spec_of("tfrecord %s | " PARSE " | rejection_resample initial=1,1 target=1,3 | batch 20",
                        in_dir("other/*")),
                &config);
            tape got = record(pipeline, -1);
            leat_stats stats;
            leat_pipeline_stats(pipeline, &stats);
            if (policy == LEAT_ON_ERROR_RAISE) {
                assert_int_equal(got.rc, LEAT_ERR_NOT_FOUND);
                assert_non_null(strstr(got.message, "other/1: record 50"));
                assert_non_null(strstr(got.message, "label 2 has no number in initial"));
            } else {
                leat_bad bad;
                assert_int_equal(got.rc, LEAT_END);
                assert_int_equal(stats.bad_samples, 2);
                assert_int_equal(leat_pipeline_bad(pipeline, 1, &bad), 0);
                assert_non_null(strstr(bad.message, "label -1 has no number"));
            }
            leat_pipeline_close(&pipeline);
            if (threads) same_tape(&want, &got, "other labels"), tape_free(&got);
            else want = got;
        }
        tape_free(&want);
    }
}

/* The field keeps its type and shape, whatever whole numbers it holds; what cannot be parsed is told by whoever runs it. */
static void test_fields(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 400; i++) add_record(&shard, &(uint8_t){(uint8_t)(i % 4 == 0)}, 1);
    add_record(&shard, "long", 4);
    write_deflated(in_dir("bytes.gz"), &shard, GZIP_BITS);
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | decode_raw record u8 | reshape record 1 | rejection_resample record "
                          "initial=3,1 | batch 1000",
                          in_dir("bytes.gz")),
                  &(leat_config){.on_error = LEAT_ON_ERROR_SKIP});
    leat_batch b;
    leat_stats stats;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    assert_int_equal(b.tensor[0].dtype, LEAT_DTYPE_U8);
    assert_true(b.tensor[0].ndim == 2 && b.tensor[0].shape[0] == b.n && b.tensor[0].shape[1] == 1);
    int n[2] = {0};
    for (int i = 0; i < b.n; i++) {
        assert_int_equal(((const uint8_t *)b.tensor[0].data)[i], b.sample[i] % 4 == 0);
        n[b.sample[i] % 4 == 0]++;
    }
    assert_int_equal(n[1], 100);
    assert_true(abs(n[0] - 100) < bound(300, 1.0 / 3));
    leat_batch_release(&b);
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.bad_samples, 1);
    leat_pipeline_close(&pipeline);
    /* Several shards can be read at once: nobody must count records. */
    const leat__plan plan = {0};
    assert_false(leat__question_counts(&plan, &(leat__question){.kind = LEAT_ASK_CHANCE}));
}

/* Of 32,000 records of 1 KB a filter keeps 128, about one of each block: what the window keeps of them is small. */
static void test_rare_records(void **state) {
    (void)state;
    enum { RECORDS = 32000, EVERY = 250 };
    leat__buf shard = {.kind = LEAT_MEM_TOOL};
    static const char filling[1000];
    const leat__span bytes = {(const uint8_t *)filling, sizeof filling};
    for (int64_t id = 0; id < RECORDS; id++) {
        const int64_t label = id % EVERY == 7;
        const leat__feature_value values[] = {
            {.key = "filling", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &bytes},
            {.key = "id", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &id},
            {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &label},
        };
        add_example(&shard, values, 3);
    }
    write_deflated(in_dir("rare"), &shard, GZIP_BITS);
    tape want = {0};
    for (int threads = 0; threads <= 3; threads++) {
        const leat_config config = {
            .n_threads = threads, .synchronous = !threads, .n_epochs = 2, .memory_max_bytes = 16 << 20};
        tape got = record_spec(
            spec_of("tfrecord %s | " PARSE " | filter label==1 | shuffle 60 | batch 10", in_dir("rare")),
            &config);
        if (got.rc != LEAT_END) fail_msg("%s", got.message);
        assert_int_equal(got.n_batches, 2 * 13);
        if (threads) same_tape(&want, &got, "rare records"), tape_free(&got);
        else want = got;
    }
    tape_free(&want);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *order, *part;
    } cases[] = {
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample", "such as initial="},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample target=1,1", "such as initial="},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=''", "such as initial="},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,x", "initial must be numbers"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,-1", "not below 0"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=0,0", "initial: all of them are 0"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,1 target=0,0",
         "target: all of them are 0"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,1 target=1", "1 numbers for the 2"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,1 target=1,1,1", "3 numbers for the 2"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,1 target=''", "0 numbers for the 2"},
        {LEAT_ERR_ARGUMENT, PARSE " | rejection_resample initial=1,0 target=1,1", "class 1 is wanted"},
        {LEAT_ERR_NOT_FOUND, "rejection_resample initial=1,1", "write parse before"},
        {LEAT_ERR_TYPE, "parse label:float | rejection_resample initial=1,1", "whole numbers"},
        {LEAT_ERR_SYNTAX, PARSE " | batch 2 | rejection_resample initial=1,1", "before batch"},
        {LEAT_ERR_UNSUPPORTED, PARSE " | balance", "rejection_resample initial="},
        {LEAT_ERR_UNSUPPORTED, PARSE " | oversample", "sample_from of a text for each class"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++)
        refuse_spec(spec_of("%s | %s", records, cases[i].order), NULL, cases[i].code, cases[i].part);
    refuse_spec(spec_of("synth | rejection_resample initial=1,1 | batch 2"), NULL, LEAT_ERR_ARGUMENT,
                "leave out initial");
    /* What is not there and not wanted needs no share. */
    tape t = record_spec(
        spec_of("%s | " PARSE " | rejection_resample initial=0,1,1 target=0,1,1 | batch 50", records), NULL);
    assert_true(t.rc == LEAT_END && t.n_samples == n_of[1] + n_of[2]);
    tape_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proportions),  cmocka_unit_test(test_draws),
        cmocka_unit_test(test_independence), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_restores),     cmocka_unit_test(test_other_labels),
        cmocka_unit_test(test_fields),       cmocka_unit_test(test_rare_records),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("rejection", tests, begin, end_files);
}
