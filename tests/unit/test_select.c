/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Choosing samples: choices against lists that are really cut, classes in the proportions asked for, splits that are
 * complements, and answers that are kept. */
#include "unit/testing_choices.h"

#include "order/order.h"

/* --------------------------------------------------------------------------------------------- filter */

static void test_filter(void **state) {
    (void)state;
    const leat_config config = {.n_threads = 3};
    for (int k = 0; k < 2; k++) {
        const char *source = k ? stream : records;
        assert_string_equal(samples_of(spec_of("%s | filter label==3 | batch 7", source), &config),
                            "3 8 13 18 23 28 33 38 43 48 53 58");
        assert_string_equal(
            samples_of(
                spec_of("%s | filter \"image/width >= 150 and weight < 5.55 and label not in 0,1\" | batch 2",
                        source),
                &config),
            "52 53 54");
        assert_string_equal(
            samples_of(spec_of("%s | filter label == 3 | filter weight > 4 | skip 1 | batch 2", source),
                       &config),
            "48 53 58");
        assert_string_equal(
            samples_of(spec_of("%s | repeat 2 | filter group == 1 | batch 2", source), &config),
            "4 5 6 7 4 5 6 7");
    }
    assert_string_equal(
        samples_of(spec_of("%s | skip 3 | shard 1/2 | filter label == 3 | take 3 | batch 2", records),
                   &config),
        "8 18 28");
    assert_string_equal(samples_of(spec_of("%s | filter \"label == 'big cat'\" | batch 4", folder), &config),
                        "54 55 56 57 58 59");
    /* What is moved in front of a shuffle is the same as if it had been written there. */
    const char *const orders[] = {"shuffle seed=2 | filter label == 1", "filter label == 1 | shuffle seed=2"};
    char texts[2][4000];
    for (int k = 0; k < 2; k++) {
        /* The number of an operation is part of its key: something that does nothing makes it equal. */
        strcpy(texts[k], samples_of(spec_of("%s | %s%s | batch 4", records, k ? "" : "take -1 | ", orders[k]),
                                    &config));
    }
    assert_string_equal(texts[0], texts[1]);
    assert_string_equal(
        samples_of(spec_of("%s | shuffle reshuffle=false | take 20 | filter label >= 0 | batch 4", records),
                   &config),
        samples_of(spec_of("%s | shuffle reshuffle=false | take 20 | batch 4", records), &config));
}

/* A stream gives the batches that the same records give uncompressed. */
static void test_stream_is_the_same(void **state) {
    (void)state;
    static const char *const orders[] = {
        "filter \"label in 1,2\" | shuffle 8 seed=3 | batch 5",
        "filter \"label in 1,2\" | shuffle 8 seed=3 | repeat 3 | skip 4 | take 50 | batch 5",
        "split train by=hash | shuffle 16 | batch 5",
        "split validation by=hash group=group seed=4 | batch 5",
        "filter label!=0 | enumerate | shard 1/2 | batch 4",
    };
    for (size_t i = 0; i < LEAT_COUNT(orders); i++)
        for (int threads = 1; threads < 4; threads++) {
            const leat_config config = {.n_threads = threads, .n_epochs = 2, .synchronous = threads == 3};
            tape a = record_spec(spec_of("%s | %s", records, orders[i]), &config);
            tape b = record_spec(spec_of("%s | %s", stream, orders[i]), &config);
            same_tape(&a, &b, orders[i]);
            tape_free(&a);
            tape_free(&b);
        }
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *order, *part;
    } cases[] = {
        {LEAT_ERR_SYNTAX, "shuffle | take 9 | filter label == 1", "write filter before shuffle"},
        {LEAT_ERR_SYNTAX, "shuffle | shard 0/2 | split train", "write split before shuffle"},
        {LEAT_ERR_SYNTAX, "repeat 2 | split train", "write split before repeat"},
        {LEAT_ERR_SYNTAX, "repeat | balance", "write balance before repeat"},
        {LEAT_ERR_SYNTAX, "balance | filter label == 1", "write filter before balance"},
        {LEAT_ERR_SYNTAX, "shuffle | balance", "leave out the shuffle"},
        {LEAT_ERR_SYNTAX, "batch 2 | filter label == 1", "before batch"},
        {LEAT_ERR_SYNTAX, "filter", "needs a condition"},
        {LEAT_ERR_SYNTAX, "filter label == 3 callback=f", "needs a condition"},
        {LEAT_ERR_NOT_FOUND, "filter callback=f", "leat_spec_filter"},
        {LEAT_ERR_NOT_FOUND, "map x:f32 callback=f", "leat_spec_map"},
        {LEAT_ERR_NOT_FOUND, "filter label > 99", "no sample is left"},
        {LEAT_ERR_SYNTAX, "filter label == cats", "no names of classes"},
        {LEAT_ERR_NOT_FOUND, "filter lable == 1", "did you mean 'label'"},
        {LEAT_ERR_UNSUPPORTED, "enumerate | filter index < 3", "take, skip and shard"},
        {LEAT_ERR_NOT_FOUND, "balance color", "no field 'color'"},
        {LEAT_ERR_TYPE, "balance weight", "whole numbers"},
        {LEAT_ERR_ARGUMENT, "balance weights=1,2", "2 numbers for 5 classes"},
        {LEAT_ERR_ARGUMENT, "balance weights=1,2,3,4,-1", "not below 0"},
        {LEAT_ERR_ARGUMENT, "balance weights=0,0,0,0,0", "all of them are 0"},
        {LEAT_ERR_LIMIT, "balance weights=1,1,1,1,1e-9", "weight of class number 4"},
        {LEAT_ERR_ARGUMENT, "split train fractions=0.7,0.7", "more than 1"},
        {LEAT_ERR_ARGUMENT, "split train fractions=0.7", "two or three"},
        {LEAT_ERR_ARGUMENT, "split test", "there is no test part"},
        {LEAT_ERR_ARGUMENT, "split train stratify=true group=group", "group"},
        {LEAT_ERR_ARGUMENT, "split train stratify=true by=hash", "by=random"},
        {LEAT_ERR_ARGUMENT, "split train group=dir", "folder or list"},
        {LEAT_ERR_NOT_FOUND, "split train group=color", "no field 'color'"},
        {LEAT_ERR_NOT_FOUND, "split validation fractions=1,0", "no sample is left"},
        {LEAT_ERR_ARGUMENT, "split train by=keras_last fractions=0.8,0.1,0.1", "two parts"},
        {LEAT_ERR_SYNTAX, "label_map", "needs pairs"},
        {LEAT_ERR_SYNTAX, "label_map 1=x", "no pair"},
        {LEAT_ERR_SYNTAX, "label_map 1=2,1=3", "twice"},
        {LEAT_ERR_SYNTAX, "label_map 'cats=2'", "no names of classes"},
        {LEAT_ERR_TYPE, "label_map 1=2 field=weight", "whole number"},
        {LEAT_ERR_SYNTAX, "enumerate label", "already"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++)
        refuse_spec(spec_of("%s | %s", records, cases[i].order), NULL, cases[i].code, cases[i].part);
    refuse_spec(spec_of("%s | decode | filter image == 3", folder), NULL, LEAT_ERR_SHAPE,
                "more than one number");
    refuse_spec(spec_of("%s | balance", stream), NULL, LEAT_ERR_UNSUPPORTED, "unpack");
    refuse_spec(spec_of("%s | split train", stream), NULL, LEAT_ERR_ARGUMENT, "by=hash");
    refuse_spec(spec_of("synth 5000000000 1 1 | filter label == 1"), NULL, LEAT_ERR_LIMIT, "4294967295");
    leat_pipeline *pipeline = open_spec(spec_of("%s | filter label == 99 | batch 2", stream), NULL);
    tape t = record(pipeline, -1);
    assert_true(t.rc == LEAT_ERR_NOT_FOUND && strstr(t.message, "no sample is left"));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* Columns inside of the quotes. */
static void test_columns(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int column;
    } cases[] = {
        {"synth 9 4 4 | filter \"label == 3 and lable == 2\"", 38},
        {"synth 9 4 4 | filter label == 3 and lable == 2", 37},
        {"synth 9 4 4 | filter 'label === 3'", 31},
        {"synth 9 4 4 | filter where='label < cat'", 37},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat_spec *spec = leat_spec_new(cases[i].text);
        leat_pipeline *pipeline;
        leat_error err;
        assert_true(leat_pipeline_open(&pipeline, spec, NULL, &err) < 0);
        if (err.column != cases[i].column) fail_msg("%s: %s", cases[i].text, err.message);
        leat_spec_free(&spec);
    }
}

/* ---------------------------------------------------------------------------------------- bad samples */

static void test_bad_samples(void **state) {
    (void)state;
    refuse_spec(spec_of("%s | filter label == 2 | batch 4", damaged), NULL, LEAT_ERR_CORRUPT,
                "on_error=skip");
    refuse_spec(spec_of("%s | balance | batch 4", damaged), NULL, LEAT_ERR_CORRUPT, "record 7");
    const leat_config skip = {.on_error = LEAT_ON_ERROR_SKIP};
    /* They are kept, counted and left to the policy; the second time the answers come from the side file. */
    for (int k = 0; k < 2; k++) {
        leat_pipeline *pipeline = open_spec(spec_of("%s | filter label == 2 | batch 4", damaged), &skip);
        assert_int_equal(leat_pipeline_samples(pipeline), 11 + 2);
        tape t = record(pipeline, -1);
        leat_stats stats;
        leat_pipeline_stats(pipeline, &stats);
        assert_true(t.n_samples == 11 && stats.bad_samples == 2);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
        refuse_spec(spec_of("%s | filter label == 2 | batch 4", damaged), NULL, LEAT_ERR_CORRUPT,
                    "on_error=skip");
    }
    /* Who has no class is in none. */
    leat_pipeline *pipeline = open_spec(spec_of("%s | oversample | batch 4", damaged), &skip);
    assert_int_equal(leat_pipeline_samples(pipeline), 60);
    tape t = record(pipeline, -1);
    assert_int_equal(t.n_samples, 60);
    for (int i = 0; i < 60; i++) assert_true(t.sample[i] != 7 && t.sample[i] != 30);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* ---------------------------------------------------------------------------------------- side files */

typedef struct looking {
    int calls;
} looking;

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    looking *l = user;
    assert_true(done <= total);
    l->calls += strcmp(what, "looking at samples") == 0;
    return 0;
}

static int stop_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    return strcmp(what, "looking at samples") == 0;
}

/* Whether samples had to be looked at. */
static bool looks(const char *text, const char *cache, int *n) {
    looking l = {0};
    const leat_config config = {.n_threads = 1, .progress = on_progress, .user = &l, .cache_dir = cache};
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &config);
    *n = (int)leat_pipeline_samples(pipeline);
    leat_pipeline_close(&pipeline);
    return l.calls > 0;
}

static int damage_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk;
    if (kind != FTW_F) return 0;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -3, SEEK_END);
    fputc(77, file);
    fclose(file);
    return 0;
}

static void test_answers_are_kept(void **state) {
    (void)state;
    char text[700], other[700], cache[300], path[300];
    snprintf(cache, sizeof cache, "%s", in_dir("kept"));
    snprintf(path, sizeof path, "%s", in_dir("keep.tfrecord"));
    write_samples(path, 0, 40, 12);
    make_old(path, 50);
    snprintf(text, sizeof text, "tfrecord %s | parse label:int64 | filter label < 10 | batch 4", path);
    snprintf(other, sizeof other, "tfrecord %s | parse label:int64 | filter label < 11 | batch 4", path);
    int n;
    assert_true(looks(text, cache, &n) && n == 10);
    assert_true(!looks(text, cache, &n) && n == 10);
    assert_true(looks(other, cache, &n) && n == 11);
    assert_true(!looks(other, cache, &n) && n == 11);
    /* Damaged: as if there were none. */
    nftw(cache, damage_one, 16, FTW_PHYS);
    assert_true(looks(text, cache, &n) && n == 10);
    assert_true(!looks(text, cache, &n) && n == 10);
    /* Written again, with the same size. */
    write_samples(path, 5, 40, 12);
    make_old(path, 40);
    assert_true(looks(text, cache, &n) && n == 5);
    assert_true(!looks(text, cache, &n) && n == 5);
    /* What the index knows is not kept, and nothing is read. */
    char photos[700];
    snprintf(photos, sizeof photos, "%s | filter label == ant | batch 4", folder);
    assert_true(looks(photos, cache, &n) && n == 36);
    assert_true(looks(photos, cache, &n) && n == 36);
    const leat_config cancel = {.progress = stop_progress, .cache_dir = cache};
    refuse_spec(spec_of("%s", photos), &cancel, LEAT_ERR_CANCELLED, "cancelled");
}

/* --------------------------------------------------------------------------------------------- classes */

static void test_pick(void **state) {
    (void)state;
    leat__order order = {0};
    uint32_t *pick = leat__alloc(LEAT_MEM_INDEX, 4 * sizeof *pick);
    memcpy(pick, (const uint32_t[]){9, 2, 2, 7}, 4 * sizeof *pick);
    assert_int_equal(leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_SKIP, .count = 1}, NULL),
                     0);
    assert_int_equal(leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 2}, NULL),
                     0);
    assert_int_equal(leat__order_insert(&order, 1,
                                        (leat__order_verb){.kind = LEAT_ORDER_PICK, .count = 4, .pick = pick},
                                        NULL),
                     0);
    leat__order_set_source(&order, 20);
    assert_int_equal(leat__order_length(&order), 8);
    static const uint64_t want[] = {10, 3, 3, 8, 10, 3, 3, 8};
    for (uint64_t i = 0; i < 8; i++) assert_int_equal(leat__order_map(&order, 0, i).sample, want[i]);
    assert_int_equal(leat__order_map_part(&order, 2, 3), 8);
    leat__order_free(&order);
}

/* Each class as often as its share of every block, and its members as evenly as can be. */
static void test_balance(void **state) {
    (void)state;
    enum { CLASSES = 4, MEMBERS = 2 + 5 + 30 + 70, LENGTH = 20 * 41 };
    static const uint32_t sizes[CLASSES] = {2, 5, 30, 70};
    static const uint64_t quota[CLASSES] = {4, 0, 6, 10};
    uint32_t class[MEMBERS + 3], n = 0;
    for (uint32_t c = 0; c < CLASSES; c++)
        for (uint32_t i = 0; i < sizes[c]; i++) class[n++] = c;
    for (int i = 0; i < 3; i++) class[n++] = LEAT_NO_CLASS;
    leat__order order = {0};
    leat__order_verb verb = {
        .kind = LEAT_ORDER_BALANCE, .count = LENGTH, .seed = 5, .op = 3, .reshuffle = true};
    assert_int_equal(leat__balance_new(&verb.balance, class, n, CLASSES, quota, true, NULL), 0);
    assert_int_equal(leat__order_insert(&order, 0, verb, NULL), 0);
    leat__order_set_source(&order, n);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    uint64_t first[20] = {0};
    int equal = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int used[MEMBERS] = {0};
        for (uint64_t block = 0; block < LENGTH / 20; block++) {
            uint64_t seen[CLASSES] = {0};
            for (uint64_t i = 0; i < 20; i++) {
                const uint64_t sample = leat__order_map(&order, epoch, block * 20 + i).sample;
                assert_true(sample < MEMBERS);
                used[sample]++;
                seen[class[sample]]++;
                if (block == 0) equal += epoch > 0 && first[i] == sample;
                if (block == 0 && epoch == 0) first[i] = sample;
            }
            assert_memory_equal(seen, quota, sizeof quota);
        }
        for (uint32_t i = 0; i < MEMBERS; i++) {
            const int turns = (int)(quota[class[i]] * (LENGTH / 20) / sizes[class[i]]);
            assert_true(used[i] == turns || used[i] == turns + 1);
        }
    }
    assert_true(equal < 20); /* epochs are drawn anew */
    leat__order_free(&order);
}

static void test_shares(void **state) {
    (void)state;
    uint64_t out[5];
    leat__shares((const double[]){0.8, 0.1, 0.1}, 3, 10, out);
    assert_true(out[0] == 8 && out[1] == 1 && out[2] == 1);
    leat__shares((const double[]){0.8, 0.2}, 2, 3, out);
    assert_true(out[0] == 2 && out[1] == 1);
    leat__shares((const double[]){0.29, 0.71}, 2, 100, out);
    assert_true(out[0] == 29 && out[1] == 71);
    leat__shares((const double[]){0.5, 0.25}, 2, 3, out);
    assert_true(out[0] + out[1] == 2);
    for (uint64_t n = 0; n < 300; n++) {
        leat__shares((const double[]){0.35, 0.25, 0.4}, 3, n, out);
        assert_int_equal(out[0] + out[1] + out[2], n);
    }
    assert_int_equal(leat__balance_quotas((const double[]){1, 1, 1}, 3, out, NULL), 0);
    assert_true(out[0] == 1 && out[1] == 1 && out[2] == 1);
    assert_int_equal(leat__balance_quotas((const double[]){0.5, 0.3, 0.2, 0}, 4, out, NULL), 0);
    assert_true(out[0] == 5 && out[1] == 3 && out[2] == 2 && out[3] == 0);
    assert_int_equal(leat__balance_quotas((const double[]){3.14159, 1, 0.001}, 3, out, NULL), 0);
    assert_true(out[0] + out[1] + out[2] == 4096 && out[2] >= 1);
    /* numpy.random.RandomState(7).shuffle(list(range(10))) */
    uint32_t items[10];
    for (uint32_t i = 0; i < 10; i++) items[i] = i;
    leat__numpy_shuffle(items, 10, 7);
    static const uint32_t want[10] = {8, 5, 0, 2, 1, 9, 7, 3, 6, 4};
    assert_memory_equal(items, want, sizeof want);
}

static void count_labels(const char *order, int counts[5], int n_epochs) {
    tape t = record_spec(spec_of("%s | %s | batch 5", records, order), &(leat_config){.n_epochs = n_epochs});
    assert_int_equal(t.rc, LEAT_END);
    memset(counts, 0, 5 * sizeof *counts);
    for (int i = 0; i < t.n_samples; i++) counts[t.sample[i] % 5]++;
    tape_free(&t);
}

static void test_classes(void **state) {
    (void)state;
    int counts[5];
    /* 12 of each label; below 20 samples 4 of each; those of label 0 in full. */
    count_labels("filter 'label == 0 or weight < 2' | balance", counts, 1);
    for (int c = 0; c < 5; c++) assert_int_equal(counts[c], 12);
    count_labels("filter 'label == 0 or weight < 2' | balance n=31", counts, 2);
    for (int c = 0; c < 5; c++) assert_true(IN(12, counts[c], 14));
    count_labels("balance weights=4,3,2,1,0 n=100 seed=9", counts, 1);
    assert_true(counts[0] == 40 && counts[1] == 30 && counts[2] == 20 && counts[3] == 10 && counts[4] == 0);
    count_labels("filter 'label == 0 or weight < 2' | oversample", counts, 1);
    for (int c = 0; c < 5; c++) assert_int_equal(counts[c], 12);
    count_labels("filter 'label == 0 or weight < 2' | rejection_resample", counts, 1);
    for (int c = 0; c < 5; c++) assert_int_equal(counts[c], 4);
    count_labels("rejection_resample target=0.5,0.125,0.125,0.125,0.125", counts, 1);
    assert_true(counts[0] == 12 && counts[1] == 3 && counts[4] == 3);
    /* None twice, others in another epoch; all of every class in the end. */
    tape t = record_spec(spec_of("%s | rejection_resample target=1,1,1,1,6 | batch 4", records),
                         &(leat_config){.n_epochs = 40});
    const int n = t.n_samples / 40;
    int used[N] = {0};
    assert_int_equal(n, 12 + 4 * 2);
    for (int e = 0; e < 40; e++) {
        bool now[N] = {false};
        for (int i = 0; i < n; i++) {
            const uint64_t sample = t.sample[e * n + i];
            assert_false(now[sample]);
            now[sample] = true;
            used[sample]++;
        }
    }
    for (int i = 0; i < N; i++) assert_true(i % 5 == 4 ? used[i] == 40 : used[i] > 0);
    tape_free(&t);
    /* Every class once in each block, in its own turn. */
    assert_string_equal(samples_of(spec_of("%s | take 7 | oversample | batch 3", records), NULL),
                        "0 1 2 3 4 5 6 2 3 4");
}

/* ---------------------------------------------------------------------------------------------- splits */

/* Which part each of the N samples of a source is in; every one must be in exactly one. */
static void sides_of(const char *source, const char *how, int n_parts, int *side) {
    static const char *const parts[] = {"train", "validation", "test"};
    for (int i = 0; i < N; i++) side[i] = -1;
    for (int p = 0; p < n_parts; p++) {
        tape t = record_spec(spec_of("%s | split part=%s %s | batch 7", source, parts[p], how),
                             &(leat_config){.seed = (uint64_t)p}); /* the pipeline's seed does not count */
        assert_int_equal(t.rc, LEAT_END);
        for (int i = 0; i < t.n_samples; i++) {
            assert_int_equal(side[t.sample[i]], -1);
            side[t.sample[i]] = p;
            if (i > 0) assert_true(t.sample[i] > t.sample[i - 1]);
        }
        tape_free(&t);
    }
    for (int i = 0; i < N; i++) assert_true(side[i] >= 0);
}

static int count_side(const int *side, int part, int first, int step, int end) {
    int n = 0;
    for (int i = first; i < end; i += step) n += side[i] == part;
    return n;
}

static void test_split(void **state) {
    (void)state;
    int side[N], other[N];
    sides_of(records, "", 2, side);
    assert_int_equal(count_side(side, 0, 0, 1, N), 48);
    sides_of(records, "seed=1", 2, other);
    assert_true(memcmp(side, other, sizeof side) != 0);
    sides_of(folder, "fractions=0.5,0.3,0.2", 3, side);
    assert_true(count_side(side, 0, 0, 1, N) == 30 && count_side(side, 1, 0, 1, N) == 18);
    sides_of(records, "fractions=0.5,0.25,0.25 stratify=true seed=3", 3, side);
    for (int c = 0; c < 5; c++)
        assert_true(count_side(side, 0, c, 5, N) == 6 && count_side(side, 1, c, 5, N) == 3);
    sides_of(records, "by=order fractions=0.7,0.3", 2, side);
    for (int i = 0; i < N; i++) assert_int_equal(side[i], i >= 42);
    sides_of(records, "by=order stratify=true fractions=0.75,0.25", 2, side);
    for (int i = 0; i < N; i++) assert_int_equal(side[i], i >= 45);
    sides_of(folder, "by=keras_first fractions=0.75,0.25", 2, side);
    for (int i = 0; i < N; i++) assert_int_equal(side[i], i < 9 || (i >= 36 && i < 40) || i == 54);
    static const char *const grouped[] = {"group=group", "group=group by=hash seed=8",
                                          "group=group by=order"};
    for (int k = 0; k < 3; k++) {
        sides_of(records, grouped[k], 2, side);
        for (int i = 0; i < N; i++) assert_int_equal(side[i], side[i / 4 * 4]);
        if (k != 1) assert_true(IN(44, count_side(side, 0, 0, 1, N), 52));
    }
    sides_of(folder, "group=dir", 2, side);
    for (int i = 0; i < N; i++) /* group 13 lies in two folders of that name */
        if (i / 4 != 13) assert_int_equal(side[i], side[i / 4 * 4]);
    /* A shuffle before it changes what comes first, not what comes. */
    tape a = record_spec(spec_of("%s | shuffle | split train | batch 9", records), NULL);
    assert_int_equal(a.n_samples, 48);
    sides_of(records, "", 2, side);
    for (int i = 0; i < a.n_samples; i++) assert_int_equal(side[a.sample[i]], 0);
    tape_free(&a);
}

/* What is there stays where it is when files are added. */
static void test_hash_is_stable(void **state) {
    (void)state;
    leat__buf few = {0}, more = {0};
    for (int i = 0; i < 50; i++) {
        add_sample(&more, i, 8);
        if (i % 2) add_sample(&few, i, 8);
    }
    write_buf(in_dir("few.tfrecord"), &few);
    write_buf(in_dir("more.tfrecord"), &more);
    tape a =
        record_spec(spec_of("tfrecord %s | split train by=hash | batch 1", in_dir("few.tfrecord")), NULL);
    tape b =
        record_spec(spec_of("tfrecord %s | split train by=hash | batch 1", in_dir("more.tfrecord")), NULL);
    assert_true(a.n_samples > 12 && a.n_samples < 25);
    for (int i = 0, k = 0; i < a.n_samples; i++, k++) {
        while (k < b.n_samples && b.sample[k] != a.sample[i] * 2 + 1) {
            assert_int_equal(b.sample[k] % 2, 0);
            k++;
        }
        assert_true(k < b.n_samples);
    }
    tape_free(&a);
    tape_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),      cmocka_unit_test(test_stream_is_the_same),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_columns),
        cmocka_unit_test(test_bad_samples), cmocka_unit_test(test_answers_are_kept),
        cmocka_unit_test(test_pick),        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_shares),      cmocka_unit_test(test_classes),
        cmocka_unit_test(test_split),       cmocka_unit_test(test_hash_is_stable),
    };
    return cmocka_run_group_tests_name("select", tests, begin, end_files);
}
