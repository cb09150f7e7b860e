/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain timeout=240 */
/* Combined streams give the samples that the same files give when they are not compressed, where everything is calculated
 * from lengths: in the same order, whoever reads faster, and wherever a run is taken up again. */
#include "unit/testing_labels.h"

typedef struct data_set {
    const char *name;
    int first, n_shards, size[6];
} data_set;
static const data_set sets[] = {
    {"a", 0, 6, {5, 0, 1, 37, 300, 2}}, {"b", 1000, 3, {64, 64, 11}}, {"c", 2000, 4, {1, 90, 3, 150}}};

/* p/NAME/ holds what g/NAME/ holds compressed. */
static void write_sets(void) {
    make_dir(in_dir("p"));
    make_dir(in_dir("g"));
    for (size_t s = 0; s < LEAT_COUNT(sets); s++) {
        int n = sets[s].first;
        make_dir(in_dir("p/%s", sets[s].name));
        make_dir(in_dir("g/%s", sets[s].name));
        for (int i = 0; i < sets[s].n_shards; i++) {
            leat__buf shard = {.kind = LEAT_MEM_TOOL}, copy = {.kind = LEAT_MEM_TOOL};
            leat__buf_reserve(&shard, 1);
            for (int k = 0; k < sets[s].size[i]; k++, n++) add_sample(&shard, n, (size_t)(n % 5) * 700);
            leat__buf_append(&copy, shard.data, shard.size);
            write_deflated(in_dir("g/%s/%02d", sets[s].name, i), &shard, i % 2 ? GZIP_BITS : ZLIB_BITS);
            if (copy.size) write_buf(in_dir("p/%s/%02d", sets[s].name, i), &copy);
            else {
                leat__buf_free(&copy);
                write_file(in_dir("p/%s/%02d", sets[s].name, i), "", 0);
            }
        }
    }
}

/* @a stands for the data set a of the folder, parsed; =a for its files that are not compressed. */
static const char *text_of(const char *folder, const char *pattern) {
    static char text[4][3000];
    static int turn;
    char *out = text[turn = (turn + 1) % 4];
    size_t n = 0;
    for (const char *at = pattern; *at; at++) {
        const bool set =
            (*at == '@' || *at == '=') && at[1] >= 'a' && at[1] <= 'c' && (at[2] < 'a' || at[2] > 'z');
        if (!set) out[n++] = *at;
        else
            n += (size_t)snprintf(out + n, 3000 - n, "tfrecord %s | parse label:int64",
                                  in_dir("%s/%c/*", *at == '@' ? folder : "p", at[1]));
        at += set;
    }
    out[n] = 0;
    return out;
}

static const char *const texts[] = {
    "concatenate '@a' '@b' '@c' | batch 7",
    "concatenate '@c | take 3' '=a | skip 300' '@b | repeat 2' | shuffle 40 | batch 8",
    "concatenate '@a | shuffle 30' '@b | shuffle 64' | repeat 2 | shard 1/2 | batch 5",
    "sample_from '@a' '@b' '@c' | batch 6",
    "sample_from '@a' '=b' weights=3,1 | shuffle 25 | batch 6",
    "sample_from '@c | take 3' '=b | take 4' '@a' '@b' weights=1,1,1,0 | batch 8",
    "sample_from '@a | repeat' '@b | repeat' '@c | shuffle 20 | repeat' weights=0.5,0.3,0.2 | take 700 | "
    "batch 9",
    "sample_from '@a | shuffle 16' '@b' rerandomize=true | batch 8",
    "sample_from '@a' '@b' stop_on_empty=true | repeat 3 | batch 8",
    "choose_from '@a' '@b' '@c' pattern=0,0,1,2 | batch 8",
    "choose_from '@c' '@b' pattern=0,1 stop_on_empty=false | take 100 | repeat 3 | batch 8",
    "concatenate '@a | filter \"label not in 1,5,20\"' '@b | filter label!=1003' | skip 17 | batch 8",
    "choose_from '@a | filter \"label > 40\"' '@b | filter \"label < 1100\"' pattern=1,0 | batch 4",
    "sample_from 'concatenate \"@a | interleave 3 2\" \"@c\"' '@b | interleave 2' weights=3,1 | batch 8",
    "sample_from 'concatenate \"=a\" \"=c\"' '@b' | shuffle 10 | batch 8",
    "concatenate '@a | repeat 2 | take 400' '@b' | take 410 | repeat | skip 300 | take 300 | batch 10",
    /* Filters behind verbs that count every record: */
    "@a | skip 4 | filter \"label not in 5,6,50\" | shuffle 30 | batch 8",
    "@c | take 100 | filter \"label != 2007\" | filter \"label != 2009\" | shuffle 40 | repeat 2 | batch 8",
    "@c | interleave 3 2 | skip 3 | shard 1/2 | take 90 | filter \"label != 2009\" | shuffle 40 | repeat 3 | "
    "batch 8",
    "@a | shard 1/3 | filter \"label > 12\" | skip 2 | take 70 | repeat | take 200 | batch 8",
    "concatenate '@a | take 20 | filter label!=3' '@b | shard 0/2 | filter label!=1000' '@c' | shard 1/2 | "
    "batch 8",
    "zip x='@a' y='@c' stop=shortest | select x | batch 6",
    "zip x='@a' y='@c' stop=shortest | shuffle 20 | select y | batch 6",
    "zip x='@b | repeat 2' y='=c' stop=shortest | select y | batch 6",
    "zip x='@a | shuffle 30' y='@b | shuffle 50' stop=shortest | select y | repeat 2 | batch 6",
    "zip x='@b' y='@b' | select x | batch 6",
    "sample_from 'zip x=\"@b\" y=\"@c\" stop=shortest' 'zip x=\"=c\" y=\"@b\" stop=shortest' | select y | "
    "batch 6",
};

static void test_same_order(void **state) {
    (void)state;
    write_sets();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += STRIDE)
        assert_true(check_like_plain(text_of("p", texts[i]), text_of("g", texts[i])) > 60);
}

static void test_restore_everywhere(void **state) {
    (void)state;
    write_sets();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += STRIDE) check_restore_everywhere(text_of("g", texts[i]));
}

/* What a state says of the parts may be anything. */
static void test_forged_parts(void **state) {
    (void)state;
    write_sets();
    static const char *const patterns[] = {
        "sample_from '@a | shuffle 50 | repeat 3' '@b' '=c' | repeat 2 | batch 8",
        "concatenate '@b | interleave 2' 'concatenate \"@b\" \"@c\"' '@a | take 200' | batch 8",
        "zip x='@a' y='@c' z='=b | repeat 2' stop=shortest | select y | batch 8",
    };
    for (size_t i = 0; i < LEAT_COUNT(patterns); i++) {
        leat_pipeline *pipeline = open_spec(spec_of("%s", text_of("g", patterns[i])),
                                            &(leat_config){.n_threads = 2, .n_epochs = 2});
        char saved[1024];
        labels *before = read_labels(pipeline, 35);
        assert_int_equal(before->rc, 0);
        assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
        assert_non_null(strstr(saved, " stream="));
        labels *want = read_labels(pipeline, 4);
        check_forged(pipeline, saved, "0123456789abc:.-/@! x");
        labels *got = read_labels(pipeline, 4);
        same_labels(want, got, saved);
        free(before);
        free(want);
        free(got);
        leat_pipeline_close(&pipeline);
    }
}

/* Only what the parts have open is inflated again. */
static void test_restore_reads_what_is_open(void **state) {
    (void)state;
    enum { SHARDS = 20, EACH = 60, BYTES = 20000, BATCHES = 420 };
    for (int part = 0; part < 2; part++) {
        make_dir(in_dir("rest%d", part));
        for (int i = 0; i < SHARDS; i++) {
            leat__buf shard = {0};
            for (int k = 0; k < EACH; k++) add_sample(&shard, i * EACH + k, BYTES);
            write_deflated(in_dir("rest%d/%02d", part, i), &shard, GZIP_BITS);
        }
    }
    char text[1000];
    snprintf(text, sizeof text,
             "sample_from 'tfrecord %s | parse label:int64' 'tfrecord %s | parse label:int64' | batch 5",
             in_dir("rest0/*"), in_dir("rest1/*"));
    /* Of 40 shards: those with the 128 records of each behind the last mark, and what is read before its turn. */
    const uint64_t bytes = read_again(text, BATCHES);
    if (bytes > 14 * EACH * BYTES) fail_msg("%.1f MB were read again", (double)bytes / 1e6);
}

static void check_message(const char *pattern, int code, const char *says) {
    leat_spec *spec = spec_of("%s", text_of("g", pattern));
    leat_pipeline *pipeline = NULL;
    leat_error err;
    int rc = leat_pipeline_open(&pipeline, spec, &(leat_config){.n_threads = 2}, &err);
    labels *l = rc == 0 ? read_labels(pipeline, -1) : NULL;
    if (l) rc = l->rc;
    const char *message = l ? l->message : err.message;
    if (rc != code || !strstr(message, says)) fail_msg("%s: %s: %s", pattern, leat_error_name(rc), message);
    free(l);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
}

static void check_same(const char *pattern) {
    check_like_plain(text_of("p", pattern), text_of("g", pattern));
    check_restore_everywhere(text_of("g", pattern));
}

/* Few samples, none at all, and filters in parts that are not the first. */
static void test_small_parts(void **state) {
    (void)state;
    write_sets();
    static const char *const small[] = {
        "concatenate '@b | skip 500 | repeat 2' '@c | take 4' | batch 3",
        "concatenate 'concatenate \"@b | skip 500\"' '@c | take 4' | batch 3",
        "concatenate '@b | skip 500 | shuffle 3 | repeat 2' '@c | take 4' | repeat 3 | batch 3",
        "sample_from 'concatenate \"@b | skip 500\"' '@c | take 9' | batch 3",
        "concatenate '@b | take 3' 'concatenate \"@b\" \"@c | take 12 | filter label!=2003\"' | batch 8",
        "concatenate '@b' 'choose_from \"@c\" \"@b | take 1 | filter label!=1\" pattern=1,0 "
        "stop_on_empty=false | take 9' | batch 8",
    };
    for (size_t i = 0; i < LEAT_COUNT(small); i += STRIDE) check_same(small[i]);
    labels *none = run_text_labels(text_of("g", "concatenate '@b' | skip 500 | repeat 2 | batch 1"), NULL);
    assert_true(none->rc == LEAT_END && none->n == 0);
    free(none);
    check_message("concatenate '@b | skip 500' '@c | skip 500' | batch 1", LEAT_ERR_NOT_FOUND,
                  "no sample is left");
}

/* What is drawn anew, however deep inside, is not taken for something that stays. */
static void test_drawn_inside(void **state) {
    (void)state;
    write_sets();
    check_message("concatenate 'concatenate \"@a | shuffle 300 | take 40\" | repeat 2' | cache | batch 8",
                  LEAT_ERR_SYNTAX, "different in every epoch");
}

/* A batch whose records lie in more memory than there is: an error, and nobody waits for ever. */
static void test_little_memory(void **state) {
    (void)state;
    write_sets();
    static const char *const patterns[] = {
        "@a | take 1 | repeat | take 3000 | batch 64",
        "sample_from '@a | take 1 | repeat' '@b | take 1 | repeat' | take 3000 | batch 64"};
    for (size_t i = 0; i < LEAT_COUNT(patterns); i++) {
        const leat_config config = {.n_threads = 3, .n_slots = 4, .memory_max_bytes = 6 << 20};
        labels *l = run_text_labels(text_of("g", patterns[i]), &config);
        if (l->rc != LEAT_END && (l->rc != LEAT_ERR_MEMORY || !strstr(l->message, "raise memory_max_bytes")))
            fail_msg("%s: %s", patterns[i], l->message);
        free(l);
    }
}

/* As many parts, and shards in turn, as there can be: a state of them stays below 1 KiB. */
static void test_largest_state(void **state) {
    (void)state;
    write_sets();
    char pattern[3000] = "sample_from";
    for (int i = 0; i < 15; i++) strcat(pattern, i < 5 ? " '@a | interleave 6 | repeat'" : " '@b | repeat'");
    strcat(pattern, " | take 300000 | batch 500");
    char text[9000];
    size_t n = 0;
    for (const char *at = pattern; *at; at++) { /* longer than text_of has room for */
        if (*at != '@') text[n++] = *at;
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "tfrecord %s | parse label:int64",
                                  in_dir("g/%c/*", *++at));
    }
    text[n] = 0;
    leat_spec *spec = spec_of("%s", text);
    leat_pipeline *a = NULL, *b = NULL;
    char saved[1024];
    assert_int_equal(leat_pipeline_open(&a, spec, &(leat_config){.n_threads = 2}, NULL), 0);
    for (int i = 0; i < 400 / STRIDE; i++) {
        leat_batch batch;
        assert_int_equal(leat_pipeline_next(a, &batch, NULL), 0);
        leat_batch_release(&batch);
    }
    assert_true(leat_pipeline_state(a, saved, sizeof saved, NULL) == 0);
    assert_int_equal(leat_pipeline_open(&b, spec, &(leat_config){.n_threads = 2}, NULL), 0);
    assert_int_equal(leat_pipeline_restore(b, saved, NULL), 0);
    labels *want = read_labels(a, 3), *got = read_labels(b, 3);
    same_labels(want, got, saved);
    free(want);
    free(got);
    leat_pipeline_close(&a);
    leat_pipeline_close(&b);
    leat_spec_free(&spec);
}

static void test_messages(void **state) {
    (void)state;
    write_sets();
    check_message("zip x='@a' y='@b' | batch 4", LEAT_ERR_SHAPE,
                  "ends after 139 samples, and part 1 (tfrecord: a stream of 6 compressed shards) goes on");
    check_message("zip x='=b' y='@a' | batch 4", LEAT_ERR_SHAPE, "part 1 (tfrecord");
    check_message("concatenate '@a | repeat' '@b' | batch 4", LEAT_ERR_SYNTAX, "has no end");
    check_message("sample_from '@a | shuffle 5' '@b' | cache | batch 4", LEAT_ERR_SYNTAX,
                  "is different in every epoch");
    check_message("sample_from '@a' '@b' | balance | batch 4", LEAT_ERR_UNSUPPORTED, "must know all samples");
    static const char *const refused[] = {
        "concatenate '@a' '@b' | filter label==3 | batch 4",
        "sample_from '@a' '=b' | filter label==3 | batch 4",
        "concatenate '@a' '@b' | rejection_resample initial=1,1 | batch 4",
        "zip x='@a' y='@b' stop=shortest | filter x==3 | batch 4",
        "@a | filter label>3 | take 9 | filter label>4 | batch 4",
        "@a | shuffle 9 | repeat 2 | take 30 | shuffle 9 | batch 4",
        "@a | bucket_by_aspect_ratio edges=0.75,1.33 | batch 4",
    };
    for (size_t i = 0; i < LEAT_COUNT(refused); i++)
        check_message(refused[i], LEAT_ERR_UNSUPPORTED, "give the records an index once with `leat pack`");
    check_message(
        "concatenate '@a | interleave 6' '@b | interleave 3' '@a | interleave 6' '@a | interleave 6' "
        "'@a | interleave 6' '@a | interleave 6' | batch 2",
        LEAT_ERR_LIMIT, "more than 32 shards of streams take turns");
    check_message(
        "concatenate '@a' '@a' '@a' '@a' '@a' '@a' '@a' '@a' '=a' '=a' '=a' '=a' '=a' '=a' '=a' '=a' "
        "| batch 2",
        LEAT_ERR_LIMIT, "more than 15 data sets with streams");
    check_message("concatenate '@a | filter label<0' '@b' | batch 4", LEAT_ERR_NOT_FOUND,
                  "no sample is left");
    check_message("concatenate '@c' '@b' | shuffle 100000000 | batch 4", LEAT_ERR_MEMORY,
                  "use a smaller shuffle window");
}

/* A sample that cannot be used is named by its part and file; of a pair, by both. */
static void test_bad_samples(void **state) {
    (void)state;
    write_sets();
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"concatenate '@b | select label' 'tfrecord %s/c/* | parse label:int64 row:float[9] | select label' "
         "| "
         "batch 4",
         "part 2: "},
        {"zip x='@b' y='tfrecord %s/b/* | parse row:float[9]' | batch 4", " with "},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        char pattern[1000];
        snprintf(pattern, sizeof pattern, cases[i].text, in_dir("g"));
        const leat_config config = {.n_threads = 2, .on_error = LEAT_ON_ERROR_SKIP};
        leat_pipeline *pipeline = open_spec(spec_of("%s", text_of("g", pattern)), &config);
        labels *l = read_labels(pipeline, -1);
        leat_bad bad;
        assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
        if (!strstr(bad.message, cases[i].says) || !strstr(bad.message, "feature row has"))
            fail_msg("%s", bad.message);
        leat_pipeline_close(&pipeline);
        free(l);
    }
}

/* Damaged bytes cost the rest of their shard; the parts go on. */
static void test_damage(void **state) {
    (void)state;
    write_sets();
    leat__buf shard = {0};
    for (int k = 0; k < 40; k++) add_sample(&shard, 3000 + k, 300);
    leat__buf packed = deflated(shard.data, shard.size, GZIP_BITS);
    leat__buf_free(&shard);
    packed.size /= 2;
    make_dir(in_dir("g/d"));
    write_buf(in_dir("g/d/00"), &packed);
    char pattern[1000];
    snprintf(pattern, sizeof pattern,
             "choose_from 'tfrecord %s | parse label:int64' '@b' pattern=0,1 "
             "stop_on_empty=false | batch 4",
             in_dir("g/d/*"));
    for (int replace = 0; replace < 2; replace++) {
        const leat_config config = {.n_threads = 2,
                                    .on_error = replace ? LEAT_ON_ERROR_REPLACE : LEAT_ON_ERROR_SKIP};
        leat_pipeline *pipeline = open_spec(spec_of("%s", text_of("g", pattern)), &config);
        labels *l = read_labels(pipeline, -1);
        assert_int_equal(l->rc, LEAT_END);
        for (int i = 0; i < 10; i++) assert_int_equal(l->label[i], (i % 2 ? 1000 : 3000) + i / 2);
        assert_true(l->n > 139 + 5 && l->n < 139 + 40);
        leat_bad bad;
        assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
        assert_non_null(strstr(bad.message, "g/d/00: record "));
        leat_pipeline_close(&pipeline);
        free(l);
    }
}

/* Ranks have their places of every batch, and together they have what one has. */
static void test_ranks(void **state) {
    (void)state;
    write_sets();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += 3 * STRIDE) {
        char text[3000], whole[3000];
        snprintf(text, sizeof text, "%s", text_of("g", texts[i]));
        snprintf(whole, sizeof whole, "%s", text);
        *strstr(text, "| batch ") = 0;
        *strstr(whole, "| batch ") = 0;
        strcat(text, "| batch 3");
        strcat(whole, "| batch 6");
        labels *all = run_text_labels(whole, &(leat_config){.n_threads = 1}), *part[2];
        for (int rank = 0; rank < 2; rank++)
            part[rank] = run_text_labels(text, &(leat_config){.n_threads = 2, .rank = rank, .world_size = 2});
        for (int k = 0; k < all->n / 6 * 6; k++)
            assert_int_equal(part[k % 6 / 3]->label[k / 6 * 3 + k % 3], all->label[k]);
        free(all);
        free(part[0]);
        free(part[1]);
    }
}

/* What is the same in every epoch can be kept. */
static void test_cache(void **state) {
    (void)state;
    write_sets();
    labels *want =
        run_text_labels(text_of("p", "concatenate '@a' '@b' | batch 5"), &(leat_config){.n_epochs = 3});
    labels *got = run_text_labels(text_of("g", "concatenate '@a' '@b' | cache | batch 5"),
                                  &(leat_config){.n_epochs = 3});
    same_labels(want, got, "cache");
    free(want);
    free(got);
    /* On disk, what was kept by the numbers of other samples is not taken. */
    static const char *const parts[] = {"'@a' '@b'", "'@a | take 7' '@b'", "'@b' '@a'"};
    for (int i = 0; i < 2 * (int)LEAT_COUNT(parts); i++) {
        char plain[200], cached[600];
        snprintf(plain, sizeof plain, "concatenate %s | batch 5", parts[i % 3]);
        snprintf(cached, sizeof cached, "concatenate %s | cache %s | batch 5", parts[i % 3], in_dir("kept"));
        want = run_text_labels(text_of("p", plain), NULL);
        got = run_text_labels(text_of("g", cached), &(leat_config){.n_threads = 2});
        same_labels(want, got, cached);
        free(want);
        free(got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_order),    cmocka_unit_test(test_restore_everywhere),
        cmocka_unit_test(test_forged_parts),  cmocka_unit_test(test_restore_reads_what_is_open),
        cmocka_unit_test(test_small_parts),   cmocka_unit_test(test_drawn_inside),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_largest_state),
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests_name("join", tests, begin_files, end_files);
}
