/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain no-tsan timeout=180 */
/* State: saved at every step of a run, restored into the same and into another pipeline, and everything
 * after it comes out byte for byte; and the state of something else is refused with the difference. */
#include "unit/testing.h"

#include "unit/testing_npy.h"

enum { STATES = 200 };

typedef struct source { /* text of a source with its sample operations, and memory for arrays */
    const char *name, *text;
    bool arrays;
} source;

static uint8_t pixels[23][4][5][3];
static int64_t labels[23];

static leat_spec *make_spec(const source *s, const char *order) {
    leat_spec *spec;
    if (s->arrays) {
        const leat_tensor arrays[] = {
            {.name = "image", .data = pixels, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {23, 4, 5, 3}},
            {.name = "label", .data = labels, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {23}}};
        spec = leat_spec_new(NULL);
        leat_spec_arrays(spec, arrays, 2);
        leat_spec_add(spec, s->text);
    } else spec = spec_of("%s", s->text);
    leat_spec_add(spec, order);
    return spec;
}

static void assert_one_line(const char *text) {
    assert_true(*text);
    for (; *text; text++) assert_true(IN(' ', *text, '~'));
}

/* Runs to the end (at most 40 batches) and saves the state before every batch. */
static tape run_and_save(leat_pipeline *pipeline, char (*states)[1024]) {
    tape t = {0};
    leat_batch b;
    leat_error err;
    for (;;) {
        assert_int_equal(leat_pipeline_state(pipeline, states[t.n_batches], 1024, &err), 0);
        assert_one_line(states[t.n_batches]);
        if (t.n_batches == 40 || (t.rc = leat_pipeline_next(pipeline, &b, &err)) != 0) break;
        tape_add(&t, &b);
        leat_batch_release(&b);
    }
    if (t.rc < 0) fail_msg("%s", err.message);
    return t;
}

static void check_resume(const source *s, const char *order, int n_epochs) {
    static char states[STATES][1024];
    char what[300];
    snprintf(what, sizeof what, "%s | %s", s->name, order);
    leat_pipeline *pipeline =
        open_spec(make_spec(s, order), &(leat_config){.n_threads = 2, .n_epochs = n_epochs, .n_slots = 3});
    tape all = run_and_save(pipeline, states);
    /* In the same pipeline, wherever it is, in any order of places. */
    for (int i = all.n_batches; i >= 0; i -= 3) {
        leat_error err;
        if (leat_pipeline_restore(pipeline, states[i], &err) != 0) fail_msg("%s: %s", what, err.message);
        tape t = record(pipeline, i % 2 ? 2 : all.n_batches - i + (all.rc == LEAT_END));
        if (i % 2 == 0) same_tail(&all, i, &t, what);
        tape_free(&t);
    }
    leat_pipeline_close(&pipeline);
    /* In a new one, with other threads and slots. */
    for (int i = 0; i <= all.n_batches; i++) {
        const leat_config config = {
            .n_threads = 1 + i % 3, .synchronous = i % 4 == 3, .n_epochs = n_epochs, .n_slots = 2 + i % 5};
        leat_error err;
        pipeline = open_spec(make_spec(s, order), &config);
        if (i % 3 == 1) { /* it may have begun already */
            tape begun = record(pipeline, i % 5);
            tape_free(&begun);
        }
        if (leat_pipeline_restore(pipeline, states[i], &err) != 0) fail_msg("%s: %s", what, err.message);
        char again[1024];
        assert_true(leat_pipeline_state(pipeline, again, sizeof again, &err) == 0);
        assert_string_equal(again, states[i]);
        tape t = record(pipeline, all.n_batches - i + (all.rc == LEAT_END));
        same_tail(&all, i, &t, what);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
    tape_free(&all);
}

static char cached_text[700];
static char folder_text[600], record_text[600], stream_text[600], damaged_text[600], shards_text[600];
static char list_text[600], cifar_text[600], fixed_text[600], npy_text[600];

static char concatenated_text[2000], sampled_text[2000], chosen_text[2000], zip_text[2000],
    unpaired_text[2000], interleaved_text[700];

/* Data sets that were combined: the pictures in two folders, the records of two files, and some of each. */
static void write_combined(void) {
    const char *photos = in_dir("photos"), *records = in_dir("a.tfrecord");
    for (int i = 0; i < 4; i++) write_samples(in_dir("shard-%d", i), 10 * i, 2 + 3 * i, 12);
    snprintf(
        concatenated_text, sizeof concatenated_text,
        "concatenate 'folder %s | shuffle | take 9' 'folder %s | skip 9' | decode | random_brightness 0.3",
        photos, photos);
    snprintf(sampled_text, sizeof sampled_text,
             "sample_from 'tfrecord %s | parse image:bytes label:int64 | shuffle' 'folder %s | repeat 2 | "
             "take 15' "
             "'folder %s | shuffle 3' weights=2,1,1 rerandomize=true | select label",
             records, photos, photos);
    snprintf(chosen_text, sizeof chosen_text,
             "choose_from 'folder %s | shuffle' 'folder %s | shuffle | repeat' pattern=0,1,1 | decode | "
             "random_flip_left_right",
             photos, photos);
    snprintf(
        zip_text, sizeof zip_text,
        "zip image='folder %s' mask='folder %s | skip 3 | repeat 2' stop=shortest | decode | decode mask "
        "channels=1 | random_brightness 0.2",
        photos, photos);
    snprintf(unpaired_text, sizeof unpaired_text,
             "zip image='folder %s | shuffle' other='folder %s | shuffle' | decode | decode other", photos,
             photos);
    snprintf(interleaved_text, sizeof interleaved_text,
             "tfrecord %s | interleave cycle=3 block=2 | parse image:bytes label:int64 | decode_raw u8",
             in_dir("shard-*"));
}

/* The same 23 samples as a table of files with one that is missing, as a file of CIFAR, as records, and as arrays. */
static void write_more_sources(void) {
    leat__buf table = {.kind = LEAT_MEM_TOOL}, cifar = {.kind = LEAT_MEM_TOOL};
    char row[100];
    for (int i = 0; i < 23; i++) {
        const int n = snprintf(row, sizeof row, "photos/%d/%s%02d.png,%s\n", i / 10, i == 9 ? "no" : "", i,
                               i % 3 ? "a" : "b");
        assert_true(leat__buf_append(&table, row, (size_t)n));
        uint8_t picture[3073] = {(uint8_t)(i % 10)};
        for (int k = 1; k < 3073; k++) picture[k] = (uint8_t)(i * 7 + k);
        assert_true(leat__buf_append(&cifar, picture, sizeof picture));
    }
    leat__buf npy = make_npy(pixels, 4, (int64_t[]){23, 4, 5, 3}), npz = make_npz("image.npy", &npy);
    write_buf(in_dir("list.csv"), &table);
    write_buf(in_dir("cifar.bin"), &cifar);
    write_buf(in_dir("image.npz"), &npz);
    snprintf(list_text, sizeof list_text, "options on_error=skip | list %s | decode | random_brightness 0.3",
             in_dir("list.csv"));
    snprintf(cifar_text, sizeof cifar_text, "cifar %s | random_flip_left_right", in_dir("cifar.bin"));
    snprintf(fixed_text, sizeof fixed_text, "fixed %s bytes=3073", in_dir("cifar.bin"));
    snprintf(npy_text, sizeof npy_text, "npy %s | random_flip_up_down", in_dir("image.npz"));
}

static int begin_state(void **state) {
    if (begin_files(state) != 0) return -1;
    for (int i = 0; i < 23 * 60; i++) (&pixels[0][0][0][0])[i] = (uint8_t)(i * 13);
    for (int i = 0; i < 23; i++) labels[i] = i;
    make_dir(in_dir("photos"));
    leat__buf shard = {0}, bad = {0};
    for (int i = 0; i < 23; i++) {
        make_dir(in_dir("photos/%d", i / 10));
        write_png(in_dir("photos/%d/%02d.png", i / 10, i), 6, 7, (unsigned)i);
        add_sample(&shard, i, 12);
        const size_t at = bad.size;
        add_sample(&bad, i, 12);
        if (i % 5 == 2) bad.data[at + 40] ^= 1;
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    write_deflated(in_dir("bad.gz"), &bad, GZIP_BITS);
    make_dir(in_dir("shards"));
    static const int sizes[] = {5, 1, 9, 0, 1, 7};
    for (int i = 0, id = 0; i < (int)LEAT_COUNT(sizes); i++) {
        leat__buf part = {.kind = LEAT_MEM_TOOL};
        leat__buf_reserve(&part, 1);
        for (int k = 0; k < sizes[i]; k++) add_sample(&part, id++, 12);
        write_deflated(in_dir("shards/%d", i), &part, i % 2 ? GZIP_BITS : ZLIB_BITS);
    }
    write_more_sources();
    write_combined();
    static const char parse[] =
        "parse image:bytes label:int64 row:float[4] | decode_raw u8 | reshape 2 2 3 | random_brightness 0.4";
    snprintf(folder_text, sizeof folder_text,
             "folder %s | decode | random_flip_left_right | random_brightness 0.3", in_dir("photos"));
    snprintf(cached_text, sizeof cached_text, "folder %s | decode | cache %s | random_flip_left_right",
             in_dir("photos"), in_dir("kept"));
    snprintf(record_text, sizeof record_text, "tfrecord %s | %s", in_dir("a.tfrecord"), parse);
    snprintf(stream_text, sizeof stream_text, "tfrecord %s | %s", in_dir("a.gz"), parse);
    snprintf(shards_text, sizeof shards_text, "tfrecord %s | %s", in_dir("shards/*"), parse);
    snprintf(damaged_text, sizeof damaged_text, "options on_error=skip | tfrecord %s | %s", in_dir("bad.gz"),
             parse);
    return 0;
}

static const source sources[] = {
    {"arrays", "random_flip_up_down | random_brightness 0.4", true},
    {"synth", "synth 23 6 7 | random_flip_left_right | cast f32 scale=1/255 | random_brightness 0.2", false},
    {"folder", folder_text, false},
    {"cached on disk", cached_text, false},
    {"cached, frozen, in part",
     "synth 23 6 7 | random_brightness 0.4 | cache freeze=true max=2k | random_flip_left_right", false},
    {"tfrecord", record_text, false},
    {"stream", stream_text, false},
    {"stream of shards", shards_text, false},
    {"damaged stream", damaged_text, false},
    {"list", list_text, false},
    {"cifar", cifar_text, false},
    {"fixed", fixed_text, false},
    {"npy", npy_text, false},
    {"concatenated", concatenated_text, false},
    {"mixed by drawing", sampled_text, false},
    {"mixed by a pattern", chosen_text, false},
    {"pairs", zip_text, false},
    {"pairs of shuffled ones", unpaired_text, false},
    {"shards in turn", interleaved_text, false},
};

static void test_resume(void **state) {
    (void)state;
    static const char *const orders[] = {
        "batch 4",
        "shuffle 6 seed=4 | batch 4",
        "shuffle 8 | repeat 2 | batch 5 drop_remainder=true",
        "skip 3 | take 11 | shuffle 4 | repeat | batch 4",
        "shard 1/2 | shuffle 5 | batch 3 | repeat 2",
        "take 40 | repeat 3 | skip 25 | batch 4 | prefetch 2",
        "shuffle 5 | batch 4 | skip 1 | take 3",
        "shuffle 7 | batch 4 pad_remainder=true",
        "batch 5 | repeat 2 | rebatch 4 drop_remainder=true",
    };
    for (size_t i = 0; i < LEAT_COUNT(sources); i++)
        for (size_t k = i % STRIDE; k < LEAT_COUNT(orders); k += STRIDE)
            check_resume(&sources[i], orders[k], k % 2 ? 2 : 1);
    check_resume(&sources[1], "shuffle | batch 4", 3);
    for (size_t i = 0; i < LEAT_COUNT(sources); i++)
        if (!strstr(sources[i].name, "stream") && !strstr(sources[i].text, "shuffle"))
            check_resume(&sources[i], "skip 1 | shuffle block=300 group=2 | shuffle 7 | batch 4", 2);
    check_resume(&sources[2], "shuffle | repeat | batch 4", -1);
}

/* Verbs that choose samples, on all sources whose samples have one label. */
static void test_resume_choices(void **state) {
    (void)state;
    static const char *const names[] = {
        "stream", "damaged stream", "stream of shards", "arrays", "synth",          "folder",
        "list",   "cached on disk", "tfrecord",         "cifar",  "shards in turn", "pairs"};
    enum { STREAMS = 3, FOR_STREAMS = 3 }; /* how many of each, from the first */
    static const char *const choices[] = {
        "filter \"label not in 1,4\" | shuffle 6 seed=4 | batch 4",
        "shuffle 5 | repeat 2 | filter label!=2 | enumerate | batch 5",
        "split validation by=hash seed=11 fractions=0.4,0.6 | shuffle 4 | batch 3 | repeat 2",
        "split train by=random seed=2 | shuffle | batch 4",
        "balance n=30 | batch 4",
        "oversample | shuffle 9 | take 50 | batch 5",
        "filter label!=3 | shuffle block=70 group=3 | repeat 2 | batch 4",
        "filter label!=3 | rejection_resample | repeat 2 | batch 4 drop_remainder=true",
        "label_map 0=1 default=0 | balance weights=1,3 | skip 3 | batch 4",
    };
    for (size_t n = 0; n < LEAT_COUNT(names); n++)
        for (size_t i = 0; i < LEAT_COUNT(sources); i++)
            for (size_t k = n % STRIDE; k < (n < STREAMS ? FOR_STREAMS : LEAT_COUNT(choices)); k += STRIDE)
                if (strcmp(sources[i].name, names[n]) == 0) check_resume(&sources[i], choices[k], 2);
}

/* ---------------------------------------------------------------------------------------- refusals */

static void save(const char *text, char state[1024]) {
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    tape t = record(pipeline, 2);
    tape_free(&t);
    assert_true(leat_pipeline_state(pipeline, state, 1024, NULL) == 0);
    leat_pipeline_close(&pipeline);
}

static void refuse_state(const char *text, const char *state, const char *part) {
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    tape before = record(pipeline, 1), after;
    leat_error err;
    const int rc = leat_pipeline_restore(pipeline, state, &err);
    if (rc != LEAT_ERR_STATE || !strstr(err.message, part))
        fail_msg("%s: %s: %s", text, leat_error_name(rc), err.message);
    after = record(pipeline, 1); /* and the pipeline goes on as if nothing had been asked */
    assert_int_equal(after.rc, 0);
    assert_true(after.digest[0] != before.digest[0]);
    tape_free(&before);
    tape_free(&after);
    leat_pipeline_close(&pipeline);
}

static void test_refusals(void **state) {
    (void)state;
    char s[1024];
    save("synth 100 8 6 | shuffle seed=3 | batch 4", s);
    refuse_state("synth 100 8 6 | shuffle seed=3 | batch 5", s, "batch size=4");
    refuse_state("synth 100 8 6 | shuffle seed=4 | batch 4", s, "seed=3");
    refuse_state("synth 100 8 6 | batch 4", s, "shuffle");
    refuse_state("synth 100 8 6 | shuffle seed=3 | batch 4 | options seed=9", s,
                 "seed 0, this pipeline has seed 9");
    refuse_state("synth 101 8 6 | shuffle seed=3 | batch 4", s, "other data");
    refuse_state("synth 100 6 8 | shuffle seed=3 | batch 4", s, "other data");
    refuse_state("synth 100 8 6 | shuffle seed=3 | batch 4 | options accuracy=fast", s, "accuracy");
    /* What changes no byte of a good sample changes nothing here. */
    leat_pipeline *pipeline = open_spec(
        spec_of("synth 100 8 6|shuffle 0 seed=3|batch size=4|prefetch 7|options fuse=off on_error=skip"),
        NULL);
    assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
    leat_pipeline_close(&pipeline);

    char text[700];
    snprintf(text, sizeof text, "%s | batch 4", folder_text);
    save(text, s);
    write_png(in_dir("photos/0/zzz.png"), 6, 7, 99);
    refuse_state(text, s, "files were added, removed or changed");
    unlink(in_dir("photos/0/zzz.png"));
    pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
    leat_pipeline_close(&pipeline);
    /* The same data at another place is the same data. */
    assert_int_equal(rename(in_dir("photos"), in_dir("moved")), 0);
    pipeline =
        open_spec(spec_of("folder %s | decode | random_flip_left_right | random_brightness 0.3 | batch 4",
                          in_dir("moved")),
                  NULL);
    assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
    leat_pipeline_close(&pipeline);
    assert_int_equal(rename(in_dir("moved"), in_dir("photos")), 0);
}

/* The checksum anew, of a state that a test has changed. */
static void seal(char *text) {
    char *check = strstr(text, " check=") + 7, digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, leat__hash(check + 17, strlen(check + 17), 0));
    memcpy(check, digits, 16);
}

static void test_damaged_states(void **state) {
    (void)state;
    static const char text[] = "synth 100 4 4 | shuffle | batch 4";
    char s[1024], cut[1024];
    save(text, s);
    refuse_state(text, "", "not the state");
    refuse_state(text, "leat-state 1 epoch=0", "an older leat");
    refuse_state(text, "leat-state 2", "not the state");
    refuse_state(text, "leat-state 2 check=0", "cut or changed");
    for (size_t n = 0; n < strlen(s); n++) { /* cut anywhere */
        snprintf(cut, sizeof cut, "%.*s", (int)n, s);
        refuse_state(text, cut, "");
    }
    static const char *const numbers[] = {
        "-1", "101", "18446744073709551615", "99999999999999999999999", "x", "0x10", ""};
    for (size_t i = 0; i < LEAT_COUNT(numbers); i++) {
        const char *at = strstr(s, " position="), *end = strchr(at + 1, ' ');
        snprintf(cut, sizeof cut, "%.*s position=%s%s", (int)(at - s), s, numbers[i], end);
        refuse_state(text, cut, "cut or changed");
        seal(cut);
        refuse_state(text, cut, "");
    }
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), NULL);
    /* White space behind it is fine: programs write a line. */
    snprintf(cut, sizeof cut, "%s \r\n", s);
    assert_int_equal(leat_pipeline_restore(pipeline, cut, NULL), 0);
    /* Any epoch is fine: one past the end is the end. */
    const char *rest = strstr(s, " position=");
    snprintf(cut, sizeof cut, "%.*s epoch=18446744073709551615%s", (int)(strstr(s, " epoch=") - s), s, rest);
    seal(cut);
    assert_int_equal(leat_pipeline_restore(pipeline, cut, NULL), 0);
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), LEAT_END);
    leat_error err;
    assert_int_equal(leat_pipeline_state(pipeline, cut, 10, &err), LEAT_ERR_LIMIT);
    assert_int_equal(leat_pipeline_restore(pipeline, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_pipeline_state(NULL, cut, 10, &err), LEAT_ERR_ARGUMENT);
    leat_pipeline_close(&pipeline);
}

/* Of 14,500 changed states none is taken. */
static void test_changed_states(void **state) {
    (void)state;
    static const char *const texts[] = {
        "synth 100 4 4 | shuffle | batch 4", "synth 100 4 4 | repeat 3 | batch 7 drop_remainder=true",
        "tfrecord %s | parse label:int64 | take 9 | repeat 4 | batch 4 | options on_error=skip"};
    leat__rng rng = leat__rng_at(1, 0, 0, 0);
    for (size_t t = 0; t < LEAT_COUNT(texts); t++) {
        leat_pipeline *pipeline = open_spec(spec_of(texts[t], in_dir("bad.gz")), NULL);
        tape start = record(pipeline, 2);
        tape_free(&start);
        char s[1024], cut[1024];
        assert_true(leat_pipeline_state(pipeline, s, sizeof s, NULL) == 0);
        for (int i = 0; i < 14500 / (int)LEAT_COUNT(texts) + 1; i++) {
            memcpy(cut, s, sizeof cut);
            for (int k = 0; k < 1 + i % 3; k++) {
                char *c = &cut[leat__rng_below(&rng, strlen(s))];
                *c = *c >= '0' && *c <= '9' ? (char)('0' + leat__rng_below(&rng, 10))
                                            : (char)(*c ^ (1 << leat__rng_below(&rng, 7)));
            }
            leat_error err;
            if (strcmp(cut, s) == 0) continue;
            assert_int_equal(leat_pipeline_restore(pipeline, cut, &err), LEAT_ERR_STATE);
        }
        assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
        leat_pipeline_close(&pipeline);
    }
}

/* A state of any place is the one that is taken there. */
static void test_places(void **state) {
    (void)state;
    static const char *const texts[] = {
        "synth 50 4 4 | shuffle | batch 4", "synth 50 4 4 | shuffle | batch 4 drop_remainder=true",
        "synth 50 4 6 | shuffle | bucket_by_aspect_ratio 1 sizes=5x3,3x5 | resize_to_bucket | batch 7",
        "folder %s | shuffle | bucket_by_aspect_ratio 0.8,1.2 sizes=6x4,5x5,4x6 | decode | resize_to_bucket "
        "| "
        "batch 4"};
    make_dir(in_dir("shapes"));
    for (int i = 0; i < 23; i++) write_png(in_dir("shapes/%02d.png", i), 4 + i % 7, 4 + i % 5, (unsigned)i);
    for (size_t t = 0; t < LEAT_COUNT(texts); t++) {
        leat_pipeline *pipeline =
            open_spec(spec_of(texts[t], in_dir("shapes")), &(leat_config){.n_epochs = 2});
        const uint64_t batches = (uint64_t)leat_pipeline_length(pipeline, 0);
        char is[1024], at[1024];
        leat_error err;
        for (uint64_t k = 0; k <= 2 * batches; k++) {
            leat_batch b;
            assert_true(leat_pipeline_state(pipeline, is, sizeof is, NULL) == 0);
            assert_true(leat_pipeline_state_at(pipeline, k / batches, k % batches, at, sizeof at, &err) == 0);
            assert_string_equal(is, at);
            if (k > 0 && k % batches == 0) { /* the end of an epoch is the beginning of the next */
                assert_true(leat_pipeline_state_at(pipeline, k / batches - 1, batches, at, sizeof at, NULL) ==
                            0);
                assert_string_equal(is, at);
            }
            if (leat_pipeline_next(pipeline, &b, NULL) == 0) leat_batch_release(&b);
        }
        assert_int_equal(leat_pipeline_state_at(pipeline, 0, batches + 1, at, sizeof at, &err),
                         LEAT_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "an epoch has"));
        /* Positions inside of a batch, in a state that was made up: refused. */
        char *place = strstr(is, " position=");
        for (int position = 1; position < 4; position++) {
            snprintf(at, sizeof at, "%.*s position=%d step=1%s", (int)(place - is), is, position,
                     strstr(is, " seed="));
            seal(at);
            assert_int_equal(leat_pipeline_restore(pipeline, at, &err), LEAT_ERR_STATE);
            assert_non_null(strstr(err.message, "fit together"));
        }
        leat_pipeline_close(&pipeline);
    }
}

/* Held batches stay valid while the pipeline moves elsewhere. */
static void test_restore_with_leases(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 100 8 8 | batch 5"), &(leat_config){.n_slots = 4});
    char s[1024];
    leat_batch held, b;
    assert_true(leat_pipeline_state(pipeline, s, sizeof s, NULL) == 0);
    assert_int_equal(leat_pipeline_next(pipeline, &held, NULL), 0);
    const uint64_t digest = batch_digest(&held);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        assert_true(batch_digest(&b) == digest && b.tensor[0].data != held.tensor[0].data);
        leat_batch_release(&b);
    }
    assert_true(batch_digest(&held) == digest);
    leat_batch_release(&held);
    leat_pipeline_close(&pipeline);
}

/* A failure that stays is left behind by going elsewhere, and met again. */
static void test_restore_after_failure(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) {
        const size_t at = shard.size;
        add_sample(&shard, i, 12);
        if (i == 22) shard.data[at + 40] ^= 1;
    }
    write_file(in_dir("one-bad.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("one-bad.gz"), &shard, GZIP_BITS);
    for (int k = 0; k < 2; k++) {
        leat_pipeline *pipeline = open_spec(spec_of("tfrecord %s | parse label:int64 | batch 5",
                                                    in_dir(k ? "one-bad.gz" : "one-bad.tfrecord")),
                                            NULL);
        char s[1024], failed[1024];
        assert_true(leat_pipeline_state(pipeline, s, sizeof s, NULL) == 0);
        tape first = record(pipeline, -1), t;
        assert_true(first.rc == LEAT_ERR_CORRUPT && first.n_batches == 4);
        assert_true(leat_pipeline_state(pipeline, failed, sizeof failed, NULL) == 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(leat_pipeline_restore(pipeline, s, NULL), 0);
            t = record(pipeline, -1);
            same_tape(&first, &t, "again");
            tape_free(&t);
            assert_int_equal(leat_pipeline_restore(pipeline, failed, NULL), 0);
            t = record(pipeline, -1);
            assert_true(t.n_batches == 0 && t.rc == LEAT_ERR_CORRUPT);
            tape_free(&t);
        }
        leat_pipeline_close(&pipeline);
        tape_free(&first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_choices),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damaged_states),
        cmocka_unit_test(test_changed_states),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_restore_with_leases),
        cmocka_unit_test(test_restore_after_failure),
    };
    return cmocka_run_group_tests_name("state", tests, begin_state, end_files);
}
