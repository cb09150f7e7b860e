/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 */
/* Data sets combined to one: what comes is what the texts give by themselves, put together by a loop; everything behind
 * (choosing, caches, ranks, states) works on it or says why not. */
#include "unit/testing.h"

enum { SAMPLES_MAX = 400, FIELDS_MAX = 6 };

typedef struct list { /* what a text gives, sample by sample */
    int n, n_fields;
    char name[FIELDS_MAX][64];
    uint64_t hash[SAMPLES_MAX][FIELDS_MAX];
    int64_t label[SAMPLES_MAX]; /* the field label, -1 if there is none */
    uint64_t sample[SAMPLES_MAX];
} list;

static list *gather_with(const leat_config *config, leat_spec *spec) {
    list *out = calloc(1, sizeof *out);
    leat_pipeline *pipeline = open_spec(spec, config);
    leat_batch b;
    leat_error err;
    int rc;
    while (out->n < SAMPLES_MAX && (rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        assert_int_equal(b.n, 1);
        out->n_fields = b.n_tensors;
        out->sample[out->n] = b.sample[0];
        out->label[out->n] = -1;
        for (int i = 0; i < b.n_tensors; i++) {
            const leat_tensor *t = &b.tensor[i];
            snprintf(out->name[i], sizeof out->name[i], "%s", t->name);
            const size_t bytes = (size_t)t->shape[0] * (size_t)t->stride[0];
            out->hash[out->n][i] = leat__hash(t->data, bytes, 0);
            if (strcmp(t->name, "label") == 0 && t->dtype == LEAT_DTYPE_I64)
                out->label[out->n] = *(int64_t *)t->data;
        }
        leat_batch_release(&b);
        out->n++;
    }
    if (out->n < SAMPLES_MAX && rc < 0) fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    return out;
}

static list *gather(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static list *gather(const char *fmt, ...) {
    char text[4000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return gather_with(&(leat_config){.n_threads = 2, .no_side_files = 1}, spec_of("%s", text));
}

static int field(const list *l, const char *name) {
    for (int i = 0; i < l->n_fields; i++)
        if (strcmp(l->name[i], name) == 0) return i;
    fail_msg("there is no field %s", name);
    return -1;
}

/* Sample i of a is sample k of b, in all fields of b. */
static void same_sample(const list *a, int i, const list *b, int k) {
    for (int f = 0; f < b->n_fields; f++)
        if (a->hash[i][field(a, b->name[f])] != b->hash[k][f])
            fail_msg("sample %d: %s is not that of sample %d", i, b->name[f], k);
}

static char texts[4][700]; /* folder a, folder b, records, made up: fields image and label */
static const int sizes[4] = {12, 9, 20, 15};

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("a"));
    make_dir(in_dir("b"));
    make_dir(in_dir("shards"));
    for (int i = 0; i < 12; i++) {
        make_dir(in_dir("a/%d", i / 5));
        write_png(in_dir("a/%d/%02d.png", i / 5, i), 6, 7, (unsigned)i);
    }
    for (int i = 0; i < 9; i++) {
        make_dir(in_dir("b/%d", i / 3));
        write_png(in_dir("b/%d/%02d.png", i / 3, i), 6, 7, (unsigned)i + 100);
    }
    make_dir(in_dir("jpegs"));
    write_jpeg(in_dir("jpegs/0.jpg"), 24, 40, 1);
    write_samples(in_dir("r.tfrecord"), 50, 20, 30);
    for (int i = 0; i < 5; i++) write_samples(in_dir("shards/%d.tfrecord", i), i * 100, 3 + i * i, 12);
    snprintf(texts[0], sizeof texts[0], "folder %s", in_dir("a"));
    snprintf(texts[1], sizeof texts[1], "folder %s", in_dir("b"));
    snprintf(texts[2], sizeof texts[2], "tfrecord %s | parse image:bytes label:int64", in_dir("r.tfrecord"));
    snprintf(texts[3], sizeof texts[3], "synth 15 6 7");
    return 0;
}

/* ---------------------------------------------------------------------------------------- concatenate */

/* Texts that decode by themselves do it as the options around them say, wherever these stand. */
static void test_accuracy(void **state) {
    (void)state;
    char jpegs[700];
    snprintf(jpegs, sizeof jpegs, "folder %s | decode", in_dir("jpegs"));
    list *exact = gather("%s", jpegs), *fast = gather("%s | options accuracy=fast", jpegs);
    assert_true(exact->hash[0][0] != fast->hash[0][0]);
    list *found[] = {
        gather("concatenate '%s' '%s' | options accuracy=fast", jpegs, jpegs),
        gather("options accuracy=fast | concatenate '%s' '%s'", jpegs, jpegs),
        gather("concatenate \"sample_from '%s' '%s'\" '%s' | options accuracy=fast", jpegs, jpegs, jpegs),
        gather("zip image='%s' mask='%s' | options accuracy=fast", jpegs, jpegs),
    };
    for (size_t i = 0; i < LEAT_COUNT(found); i++) {
        assert_true(found[i]->hash[0][field(found[i], "image")] == fast->hash[0][field(fast, "image")]);
        free(found[i]);
    }
    free(exact), free(fast);
}

static void test_concatenate(void **state) {
    (void)state;
    static const char *const verbs[][3] = {
        {"", "", ""},
        {" | take 5", " | skip 2", ""},
        {" | shuffle seed=3", " | shard 1/2 | repeat 3", " | shuffle seed=8 | take 7"},
        {" | take 0", " | filter label!=1", " | split train seed=2"},
        {" | balance n=20 seed=4", " | oversample", " | shuffle 4 seed=1 | repeat 2"},
    };
    for (size_t i = 0; i < LEAT_COUNT(verbs); i++) {
        list *all = gather("concatenate '%s%s' '%s%s' \"%s%s\"", texts[0], verbs[i][0], texts[1], verbs[i][1],
                           texts[2], verbs[i][2]);
        int at = 0;
        uint64_t first = 0;
        for (int k = 0; k < 3; k++) {
            if (strcmp(verbs[i][k], " | take 0") != 0) {
                list *one = gather("%s%s", texts[k], verbs[i][k]);
                for (int s = 0; s < one->n; s++, at++) {
                    assert_true(at < all->n);
                    same_sample(all, at, one, s);
                    assert_true(all->sample[at] == first + one->sample[s]);
                }
                free(one);
            }
            first += (uint64_t)sizes[k];
        }
        assert_int_equal(at, all->n);
        free(all);
    }
}

/* Each epoch is shuffled anew inside, and differently in each text unless both name a seed. */
static void test_inner_shuffles(void **state) {
    (void)state;
    const leat_config config = {.n_epochs = 3};
    list *l = gather_with(&config, spec_of("concatenate 'synth 30 4 4 | shuffle' 'synth 30 4 4 | shuffle' | "
                                           "select label"));
    assert_int_equal(l->n, 180);
    for (int e = 0; e < 3; e++) {
        bool same = true, before = e > 0;
        uint64_t seen = 0;
        for (int i = 0; i < 30; i++) {
            same = same && l->sample[e * 60 + i] + 30 == l->sample[e * 60 + 30 + i];
            before = before && l->sample[e * 60 + i] == l->sample[i];
            seen |= UINT64_C(1) << l->sample[e * 60 + i] | UINT64_C(1) << l->sample[e * 60 + 30 + i];
        }
        assert_true(!same && !before && seen == (UINT64_C(1) << 60) - 1);
    }
    free(l);
    l = gather("concatenate 'synth 30 4 4 | shuffle seed=2' 'synth 30 4 4 | shuffle seed=2' | select label");
    for (int i = 0; i < 30; i++) assert_true(l->sample[i] + 30 == l->sample[i + 30]);
    free(l);
}

/* Types are made equal inside; what only one text has is left out there. */
static void test_fields(void **state) {
    (void)state;
    const char *r = in_dir("r.tfrecord");
    list *l = gather(
        "concatenate 'tfrecord %s | parse row:float[4] label:int64 | cast label i32' "
        "'tfrecord %s | parse label:int64 row:float[4] image:bytes | cast label i32 | select row label' "
        "| cast label i64",
        r, r);
    assert_int_equal(l->n, 40);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(l->label[i], 50 + i);
        assert_true(l->label[i + 20] == l->label[i] && l->hash[i][0] == l->hash[i + 20][0]);
    }
    free(l);
}

/* Bytes that become numbers, numbers that come so, and labels that are renumbered in one of them. */
static void test_fields_of_parts(void **state) {
    (void)state;
    const char *r = in_dir("r.tfrecord");
    list *l =
        gather("concatenate 'tfrecord %s | parse image:bytes label:int64 | decode_raw u8 | reshape 5 2 3 | "
               "label_map 50=1,51=2 default=0' 'synth 6 5 2' 'synth 4 5 2 | label_map 0=7 default=8'",
               r);
    assert_int_equal(l->n, 30);
    list *synth = gather("synth 6 5 2"), *raw = gather("tfrecord %s | parse image:bytes", r);
    for (int i = 0; i < 30; i++) {
        const int want = i == 0 ? 1 : i == 1 ? 2 : i < 20 ? 0 : i < 26 ? (int)synth->label[i - 20] : -1;
        if (want >= 0) assert_int_equal(l->label[i], want);
        else assert_true(l->label[i] == (synth->label[i - 26] == 0 ? 7 : 8));
        if (i < 20) assert_true(l->hash[i][0] == raw->hash[i][0]);
        else assert_true(l->hash[i][0] == synth->hash[(i - 20) % 6][0]);
    }
    free(l);
    free(synth);
    free(raw);
    /* How many classes there are is known, though they have no names in common. */
    l = gather("concatenate 'synth 6 5 2 | label_map 0=1 default=0' 'synth 4 5 2 | label_map 0=3 default=2' "
               "| one_hot");
    free(l);
    l = gather("concatenate '%s' '%s' | one_hot | select label", texts[0], texts[1]); /* 0, 1, 2 in both */
    free(l);
}

static char warned[1000];

static void hear(void *user, int level, const char *message) {
    (void)user;
    if (level == LEAT_LOG_WARNING) snprintf(warned, sizeof warned, "%s", message);
}

/* Labels that mean different things are left as they are, but not in silence; unless somebody has seen to it. */
static void test_class_names(void **state) {
    (void)state;
    make_dir(in_dir("c"));
    for (int i = 0; i < 4; i++) {
        make_dir(in_dir("c/%s", i % 2 ? "cat" : "0"));
        write_png(in_dir("c/%s/%d.png", i % 2 ? "cat" : "0", i), 6, 7, (unsigned)i);
    }
    static const struct {
        const char *text, *warning;
    } cases[] = {
        {"concatenate 'folder %s' 'folder %s' | select label", "label 1 is 1 in part 1 and cat in part 2"},
        {"sample_from 'folder %s | select image' 'folder %s | select image' | decode | select image", ""},
        {"concatenate 'folder %s' 'folder %s | label_map 0=0,1=3' | one_hot | select label", ""},
        {"zip image='folder %s | take 4' mask='folder %s' | filter \"label == '0'\" | select label", ""},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        char text[2000];
        warned[0] = 0;
        snprintf(text, sizeof text, cases[i].text, in_dir("a"), in_dir("c"));
        leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.log = hear});
        leat_pipeline_close(&pipeline);
        if (*cases[i].warning ? !strstr(warned, cases[i].warning) : *warned) fail_msg("%s: %s", text, warned);
    }
}

/* ------------------------------------------------------------------------------------------------ zip */

static void test_zip(void **state) {
    (void)state;
    list *a = gather("%s | take 9", texts[0]), *b = gather("%s", texts[1]);
    list *l = gather("zip image='%s | take 9' mask='%s'", texts[0], texts[1]);
    assert_true(l->n == 9 && l->n_fields == 3);
    assert_string_equal(l->name[0], "image");
    assert_string_equal(l->name[1], "label");
    assert_string_equal(l->name[2], "mask");
    for (int i = 0; i < 9; i++) {
        same_sample(l, i, a, i);
        assert_true(l->hash[i][2] == b->hash[i][0] && l->sample[i] == (uint64_t)i);
    }
    free(l);
    /* Each text in its own order; what others have more is left out; labels of the second if they are named. */
    l = gather(
        "zip image='%s | skip 4 | repeat 2' mask='%s | shard 1/2 | select image label' stop=shortest | "
        "shuffle seed=3",
        texts[0], texts[1]);
    assert_true(l->n == 4 && l->n_fields == 4);
    assert_string_equal(l->name[3], "mask_label");
    list *c = gather("%s | skip 4 | repeat 2", texts[0]), *d = gather("%s | shard 1/2", texts[1]);
    for (int i = 0; i < 4; i++) {
        same_sample(l, i, c, (int)l->sample[i]);
        assert_true(l->hash[i][2] == d->hash[l->sample[i]][0] && l->hash[i][3] == d->hash[l->sample[i]][1]);
    }
    free(l);
    free(c);
    free(d);
    /* Without names fields keep theirs. */
    l = gather("zip '%s | take 9' 'tfrecord %s | take 9 | parse row:float[4]'", texts[0],
               in_dir("r.tfrecord"));
    assert_true(l->n == 9 && l->n_fields == 3 && strcmp(l->name[2], "row") == 0);
    free(l);
    free(a);
    free(b);
}

/* Two texts that are shuffled by themselves: every epoch pairs them anew, each has all of its samples. */
static void test_unpaired(void **state) {
    (void)state;
    const leat_config config = {.n_epochs = 4};
    list *a = gather("synth 15 6 7"), *b = gather("synth 15 6 7 seed=5");
    list *l =
        gather_with(&config, spec_of("zip x='synth 15 6 7 | shuffle' y='synth 15 6 7 seed=5 | shuffle' | "
                                     "select x y"));
    assert_int_equal(l->n, 60);
    int again = 0;
    for (int e = 0; e < 4; e++) {
        unsigned seen[2] = {0};
        for (int i = 0; i < 15; i++) {
            const uint64_t s = l->sample[e * 15 + i], x = s % 15, y = s / 15;
            assert_true(l->hash[e * 15 + i][0] == a->hash[x][0] && l->hash[e * 15 + i][1] == b->hash[y][0]);
            seen[0] |= 1u << x;
            seen[1] |= 1u << y;
            for (int k = 0; k < e * 15; k++) again += l->sample[k] == s;
        }
        assert_true(seen[0] == 0x7fff && seen[1] == 0x7fff);
    }
    assert_true(again < 30);
    free(l);
    /* The same seed is the same order, so that pairs stay together. */
    l = gather_with(&config,
                    spec_of("zip x='synth 15 6 7 | shuffle seed=1' y='synth 15 6 7 | shuffle seed=1' | "
                            "select x y"));
    for (int i = 0; i < 60; i++) assert_true(l->hash[i][0] == l->hash[i][1]);
    free(l);
    free(a);
    free(b);
    leat_pipeline *pipeline =
        open_spec(spec_of("zip x='synth 5 4 4 | repeat' y='synth 7 4 4 | repeat' | batch 4"), NULL);
    tape t = record(pipeline, 20);
    assert_true(t.n_samples == 80 && t.sample[12] == 12 % 5 + 5 * (12 % 7));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* --------------------------------------------------------------------------------------------- mixing */

static void test_mixing(void **state) {
    (void)state;
    list *one[3];
    for (int k = 0; k < 3; k++) one[k] = gather("%s", texts[k]);
    static const char *const how[] = {"sample_from '%s' '%s' '%s'",
                                      "sample_from '%s' '%s' '%s' weights=3,1,2 seed=4 rerandomize=true",
                                      "choose_from '%s' '%s' '%s' pattern=0,2,1,2 stop_on_empty=false"};
    for (size_t i = 0; i < LEAT_COUNT(how); i++) {
        char text[3000];
        snprintf(text, sizeof text, how[i], texts[0], texts[1], texts[2]);
        list *l = gather_with(&(leat_config){.n_epochs = 2}, spec_of("%s", text));
        assert_int_equal(l->n, 2 * 41);
        bool same = true;
        for (int e = 0; e < 2; e++) {
            int used[3] = {0};
            for (int s = 0; s < 41; s++) {
                const uint64_t number = l->sample[e * 41 + s];
                const int k = number < 12 ? 0 : number < 21 ? 1 : 2;
                same_sample(l, e * 41 + s, one[k], used[k]++);
                same = same && number == l->sample[s];
            }
        }
        assert_int_equal(same, i != 1); /* other choices in every epoch only if the text says so */
        free(l);
    }
    for (int k = 0; k < 3; k++) free(one[k]);
    list *l = gather("choose_from '%s' '%s' pattern=0,0,1 | take 9 | select label", texts[0], texts[1]);
    for (int s = 0; s < 9; s++)
        assert_true(l->sample[s] == (uint64_t)(s % 3 == 2 ? 12 + s / 3 : s / 3 * 2 + s % 3));
    free(l);
    /* Stops where the second, which has two, would come a third time. */
    l = gather("choose_from 'synth 100 4 4' 'synth 2 4 4' pattern=0,0,1");
    assert_int_equal(l->n, 8);
    free(l);
    l = gather("sample_from 'synth 100 4 4' 'synth 2 4 4' weights=0,1 stop_on_empty=true");
    assert_int_equal(l->n, 2);
    free(l);
    leat_pipeline *pipeline = open_spec(
        spec_of("sample_from 'synth 10 4 4 | repeat' 'synth 7 4 4 | shuffle | repeat' weights=0.7,0.3 | "
                "batch 1000"),
        NULL);
    tape t = record(pipeline, 4);
    int second = 0;
    for (int i = 0; i < 4000; i++) second += t.sample[i] >= 10;
    assert_true(IN(1150, second, 1250));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* --------------------------------------------------------------------------------------------- nesting */

static void test_nested(void **state) {
    (void)state;
    list *l = gather("concatenate \"zip image='%s | take 9' mask='%s'\" \"zip image='%s | take 4' mask='%s | "
                     "skip 5 | take 4'\"",
                     texts[0], texts[1], texts[1], texts[0]);
    list *a = gather("%s", texts[0]), *b = gather("%s", texts[1]);
    assert_int_equal(l->n, 13);
    const int mask = field(l, "mask");
    for (int i = 0; i < 13; i++) {
        same_sample(l, i, i < 9 ? a : b, i < 9 ? i : i - 9);
        assert_true(l->hash[i][mask] == (i < 9 ? b->hash[i] : a->hash[i - 9 + 5])[0]);
    }
    free(l);
    /* Steps of one part of a part, beside another one. */
    l = gather(
        "zip image=\"concatenate '%s' '%s | label_map 50=5 default=6'\" other='synth 32 4 4 | label_map 0=9 "
        "default=8 | select image label' | skip 10",
        texts[0], texts[2]);
    list *r = gather("%s", texts[2]), *synth = gather("synth 32 4 4");
    assert_int_equal(l->n, 22);
    for (int i = 0; i < 22; i++) {
        const int at = i + 10;
        assert_true(l->hash[i][field(l, "other")] == synth->hash[at][0]);
        assert_int_equal(l->label[i], at < 12 ? a->label[at] : at == 12 ? 5 : 6);
        assert_true(l->hash[i][0] == (at < 12 ? a->hash[at] : r->hash[at - 12])[0]);
        const int64_t label = synth->label[at] == 0 ? 9 : 8;
        assert_true(l->hash[i][field(l, "other_label")] == leat__hash(&label, 8, 0));
    }
    free(l);
    free(a);
    free(b);
    free(r);
    free(synth);
}

/* ------------------------------------------------------------------------------------- what comes behind */

/* What every list holds: samples of which something is true, in their order. */
static void test_choosing(void **state) {
    (void)state;
    list *all = gather("concatenate '%s' '%s | take 7' '%s'", texts[0], texts[1], texts[2]);
    list *l = gather("concatenate '%s' '%s | take 7' '%s' | filter \"label in 1,55\"", texts[0], texts[1],
                     texts[2]);
    int at = 0;
    for (int i = 0; i < all->n; i++) {
        if (all->label[i] != 1 && all->label[i] != 55) continue;
        assert_true(at < l->n && l->sample[at] == all->sample[i]);
        same_sample(l, at++, all, i);
    }
    assert_int_equal(at, l->n);
    free(l);
    /* Nothing is read for what the index knows, wherever it was renumbered. */
    l = gather("concatenate '%s' '%s | label_map 0=5 default=6' | filter \"label == 5 or label == 0\"",
               texts[0], texts[1]);
    assert_int_equal(l->n, 5 + 3);
    for (int i = 0; i < 8; i++) assert_int_equal(l->label[i], i < 5 ? 0 : 5);
    free(l);
    free(all);
    /* The parts of a split are all of it. */
    for (int by = 0; by < 4; by++) {
        static const char *const how[] = {"by=random seed=3", "by=hash", "by=random stratify=true",
                                          "by=hash group=dir"};
        bool seen[41] = {false};
        for (int part = 0; part < 2; part++) {
            l = gather("concatenate '%s' '%s' '%s' | split %s %s", texts[0], texts[1], texts[by == 3 ? 0 : 2],
                       part ? "validation" : "train", how[by]);
            for (int i = 0; i < l->n; i++) {
                assert_false(seen[l->sample[i]]);
                seen[l->sample[i]] = true;
            }
            free(l);
        }
        for (int i = 0; i < (by == 3 ? 33 : 41); i++) assert_true(seen[i]);
    }
    l = gather("zip image='%s | take 9' mask='%s' | balance n=30 | shuffle", texts[0], texts[1]);
    int zeros = 0;
    for (int i = 0; i < 30; i++) zeros += l->label[i] == 0;
    assert_int_equal(zeros, 15);
    free(l);
}

static void test_ranks(void **state) {
    (void)state;
    char text[2500];
    snprintf(text, sizeof text, "sample_from '%s | shuffle' '%s' weights=2,1 | shuffle 7 | batch %%d",
             texts[0], texts[2]);
    char one[3000], four[3000];
    snprintf(one, sizeof one, text, 8);
    snprintf(four, sizeof four, text, 2);
    tape whole = record_spec(spec_of("%s", one), &(leat_config){.n_epochs = 2}), part[4];
    for (int r = 0; r < 4; r++)
        part[r] = record_spec(spec_of("%s", four), &(leat_config){.n_epochs = 2, .rank = r, .world_size = 4});
    for (int i = 0; i < 64; i++) {
        const int batch = i / 8, place = i % 8, epoch = batch / 4;
        assert_true(part[place / 2].sample[batch * 2 + place % 2] == whole.sample[i]);
        (void)epoch;
    }
    for (int r = 0; r < 4; r++) tape_free(&part[r]);
    tape_free(&whole);
}

static void test_caches(void **state) {
    (void)state;
    static const char *const combined[] = {"concatenate '%s | shuffle' '%s'",
                                           "sample_from '%s' '%s | shuffle'",
                                           "zip image='%s | take 9' mask='%s' | decode mask channels=1"};
    for (size_t i = 0; i < LEAT_COUNT(combined); i++) {
        char text[2500];
        snprintf(text, sizeof text, combined[i], texts[0], texts[1]);
        const leat_config config = {.n_epochs = 3, .n_threads = 3};
        tape want = record_spec(spec_of("%s | decode | random_flip_left_right | batch 4", text), &config);
        for (int disk = 0; disk < 3; disk++) { /* in memory, on disk, on disk again */
            tape t = record_spec(spec_of("%s | decode | cache %s | random_flip_left_right | batch 4", text,
                                         disk ? in_dir("kept%zu", i) : ""),
                                 &config);
            same_tape(&want, &t, text);
            tape_free(&t);
        }
        tape_free(&want);
    }
}

static void test_interleaved(void **state) {
    (void)state;
    const char *shards = in_dir("shards/*.tfrecord");
    list *l = gather("tfrecord %s | parse label:int64 | interleave cycle=2 block=2", shards);
    static const int want[] = {0,   1,   100, 101, 2,   102, 103, 200, 201, 202, 203,
                               300, 301, 204, 205, 302, 303, 206, 304, 305, 400, 401,
                               306, 307, 402, 403, 308, 309, 404, 405, 310, 311};
    assert_int_equal(l->n, 3 + 4 + 7 + 12 + 19);
    for (size_t i = 0; i < LEAT_COUNT(want); i++) assert_int_equal(l->label[i], want[i]);
    free(l);
    list *flat = gather("tfrecord %s | flat_map | parse label:int64", shards);
    l = gather("concatenate 'tfrecord %s | interleave 5 1 | parse label:int64 | take 5' 'tfrecord %s | parse "
               "label:int64 | interleave 1' | skip 2",
               shards, shards);
    assert_int_equal(l->n, 3 + flat->n);
    for (int i = 0; i < l->n; i++) assert_int_equal(l->label[i], i < 3 ? (i + 2) * 100 : flat->label[i - 3]);
    free(l);
    free(flat);
}

/* ------------------------------------------------------------------------------------------- refusals */

static void refuse(int code, const char *part, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void refuse(int code, const char *part, const char *fmt, ...) {
    char text[5000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const uint64_t before = memory_held();
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline;
    leat_error err;
    const int rc = leat_pipeline_open(&pipeline, spec, &(leat_config){.no_side_files = 1}, &err);
    if (rc != code || !strstr(err.message, part) || strchr(err.message, '\n'))
        fail_msg("%s: %s: %s", text, leat_error_name(rc), err.message);
    leat_spec_free(&spec);
    assert_true(memory_held() == before);
}

static void test_refusals(void **state) {
    (void)state;
    const char *s = "synth 9 4 4";
    refuse(LEAT_ERR_SYNTAX, "needs texts", "concatenate");
    refuse(LEAT_ERR_SYNTAX, "column 14: ", "concatenate 'shuffle' '%s'", s);
    refuse(LEAT_ERR_SYNTAX, "column 28: unknown operation 'shufle'", "concatenate 'synth 9 4 4 | shufle'");
    refuse(LEAT_ERR_SYNTAX, "column 31: unknown operation 'tak'", "zip image='%s' mask='tak 4'", s);
    refuse(LEAT_ERR_SYNTAX, "fields that move together", "zip a='%s | random_flip_left_right' b='%s'", s, s);
    refuse(LEAT_ERR_SYNTAX, "several fields or the whole batch",
           "zip a='%s' b=\"zip c='%s' d='%s' | center_crop 3 3 field=c,d\"", s, s, s);
    refuse(LEAT_ERR_SYNTAX, "write it behind", "concatenate '%s | bucket_by_aspect_ratio 1 sizes=5x3,3x5'",
           s);
    refuse(LEAT_ERR_SYNTAX, "write it behind sample_from", "sample_from '%s | batch 4'", s);
    refuse(LEAT_ERR_SYNTAX, "write it behind zip", "zip '%s | options seed=3'", s);
    refuse(LEAT_ERR_SYNTAX, "write it behind zip", "zip '%s | cache'", s);
    refuse(LEAT_ERR_SYNTAX, "write it behind zip", "zip '%s | enumerate'", s);
    refuse(LEAT_ERR_SYNTAX, "shard auto behind", "zip '%s | shard auto'", s);
    refuse(LEAT_ERR_UNSUPPORTED, "leat_spec_part", "concatenate arrays");
    refuse(LEAT_ERR_UNSUPPORTED, "leat_spec_part", "concatenate stream");
    refuse(LEAT_ERR_SYNTAX, "never comes", "concatenate '%s | repeat' '%s'", s, s);
    refuse(LEAT_ERR_SYNTAX, "one source", "%s | concatenate '%s'", s, s);
    refuse(LEAT_ERR_SYNTAX, "one source", "concatenate '%s' | %s", s, s);
    refuse(LEAT_ERR_NOT_FOUND, "no sample is left", "concatenate '%s | take 0' | batch 3", s);
    refuse(LEAT_ERR_TYPE, "field image is u8 (4, 4, 3) in 'synth 9 4 4' and u8 (4, 5, 3) in 'synth 9 4 5'",
           "concatenate '%s' 'synth 9 4 5'", s);
    refuse(LEAT_ERR_TYPE, "field label is i64 in 'synth 9 4 4' and i32 in",
           "sample_from '%s' '%s | cast label i32'", s, s);
    refuse(LEAT_ERR_TYPE, "field label is i64 in 'synth 9 4 4' and not there in",
           "sample_from '%s' '%s | select image'", s, s);
    refuse(LEAT_ERR_TYPE, "field label is not there in", "sample_from '%s | select image' '%s'", s, s);
    refuse(LEAT_ERR_ARGUMENT, "3 numbers for 2 texts", "sample_from '%s' '%s' weights=1,2,3", s, s);
    refuse(LEAT_ERR_ARGUMENT, "not '-1'", "sample_from '%s' '%s' weights=1,-1", s, s);
    refuse(LEAT_ERR_ARGUMENT, "all of them are 0", "sample_from '%s' '%s' weights=0,0", s, s);
    refuse(LEAT_ERR_LIMIT, "less than one in", "sample_from '%s' '%s' weights=1,0.000001", s, s);
    refuse(LEAT_ERR_SYNTAX, "another length", "sample_from '%s' '%s' rerandomize=true stop_on_empty=true", s,
           s);
    refuse(LEAT_ERR_SYNTAX, "needs pattern", "choose_from '%s' '%s'", s, s);
    refuse(LEAT_ERR_ARGUMENT, "not '2'", "choose_from '%s' '%s' pattern=0,2,1", s, s);
    refuse(LEAT_ERR_ARGUMENT, "not '0.5'", "choose_from '%s' '%s' pattern=0,0.5", s, s);
    refuse(LEAT_ERR_ARGUMENT, "not ''", "choose_from '%s' '%s' pattern=''", s, s);
    refuse(LEAT_ERR_SHAPE, "'synth 9 4 4' has 9 samples and 'synth 8 4 4' has 8 samples",
           "zip image='%s' mask='synth 8 4 4'", s);
    refuse(LEAT_ERR_SHAPE, "has no end", "zip image='%s | repeat' mask='%s'", s, s);
    refuse(LEAT_ERR_SYNTAX, "two data sets have a field image", "zip '%s' '%s'", s, s);
    refuse(LEAT_ERR_SYNTAX, "two data sets have a field x", "zip x='%s' x='%s'", s, s);
    refuse(LEAT_ERR_LIMIT, "too many pairs",
           "zip a='synth 10M 4 4 | shuffle' b='synth 1000M 4 4 | shuffle' c='synth 1000M 4 4' stop=shortest");
    refuse(LEAT_ERR_SYNTAX, "different in every epoch", "concatenate '%s | shuffle' '%s' | filter label==1",
           s, s);
    refuse(LEAT_ERR_SYNTAX, "different in every epoch", "zip a='%s | shuffle' b='%s' | split train", s, s);
    refuse(LEAT_ERR_SYNTAX, "keeping it is of no use", "zip a='%s | shuffle' b='%s' | cache", s, s);
    refuse(LEAT_ERR_SYNTAX, "it is about the shards of tfrecord", "%s | interleave", s);
    refuse(LEAT_ERR_SYNTAX, "before other verbs of order", "tfrecord %s | take 3 | interleave",
           in_dir("r.tfrecord"));
    refuse(LEAT_ERR_NOT_FOUND, "no field 'mask'", "zip image='%s' other='%s' | cast mask f32", s, s);
    char many[5000] = "concatenate";
    for (int i = 0; i < 70; i++) strcat(many, " synth");
    refuse(LEAT_ERR_LIMIT, "more than 63 texts", "%s", many);
    char deep[5000] = "concatenate \"";
    for (int i = 0; i < 2; i++) {
        if (i) strcat(deep, "' '");
        else strcat(deep, "concatenate '");
        strcat(deep,
               "concatenate synth synth synth synth synth synth synth synth synth synth synth synth synth "
               "synth synth synth synth synth synth synth synth synth synth synth synth synth synth synth "
               "synth synth synth synth synth synth");
    }
    refuse(LEAT_ERR_LIMIT, "more than 64 sources", "%s'\"", deep);
    /* Texts inside of texts end somewhere: quotes in pieces allow any depth. */
    char text[5000] = "synth", around[5000];
    for (int i = 0; i < 5; i++) {
        char *to = stpcpy(around, "concatenate ");
        for (const char *c = text; *c; c++)
            to += sprintf(to, *c == '"' ? "'%c'" : *c == ' ' || *c == '\'' ? "\"%c\"" : "%c", *c);
        strcpy(text, around);
    }
    refuse(LEAT_ERR_LIMIT, "more than 4 texts inside of one another", "%s", text);
}

static void test_states(void **state) {
    (void)state;
    char text[2500], saved[1024];
    snprintf(text, sizeof text, "concatenate '%s' '%s' '%s | shuffle' | batch 4", texts[0], texts[2],
             texts[1]);
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    assert_int_equal(leat_pipeline_state(pipeline, saved, sizeof saved, NULL), 0);
    assert_non_null(strstr(saved, " parts="));
    leat_pipeline_close(&pipeline);
    write_png(in_dir("b/0/zz.png"), 6, 7, 5);
    pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    leat_error err;
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
    if (!strstr(err.message, "files of part 3 were added") || !strstr(err.message, "10 images"))
        fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    unlink(in_dir("b/0/zz.png"));
    /* Another text inside is another pipeline. */
    snprintf(text, sizeof text, "concatenate '%s' '%s' '%s | shuffle | take 5' | batch 4", texts[0], texts[2],
             texts[1]);
    pipeline = open_spec(spec_of("%s", text), &(leat_config){.no_side_files = 1});
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
    if (!strstr(err.message, "another pipeline") || !strstr(err.message, "take count=5"))
        fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    /* The same data at another place is the same. */
    assert_int_equal(rename(in_dir("b"), in_dir("elsewhere")), 0);
    pipeline = open_spec(spec_of("concatenate '%s' '%s' 'folder %s | shuffle' | batch 4", texts[0], texts[2],
                                 in_dir("elsewhere")),
                         NULL);
    if (leat_pipeline_restore(pipeline, saved, &err) != 0) fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    assert_int_equal(rename(in_dir("elsewhere"), in_dir("b")), 0);
    char many[3000] = "concatenate";
    for (int i = 0; i < 63; i++) strcat(many, " 'synth 5 4 4 | shuffle'");
    pipeline = open_spec(spec_of("%s | batch 4", many), NULL);
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, &err) == 0);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), 0);
    leat_pipeline_close(&pipeline);
}

/* A damaged file is named, and costs what it always costs; of a pair both are. */
static void test_bad_samples(void **state) {
    (void)state;
    make_dir(in_dir("bad"));
    for (int i = 0; i < 9; i++) write_png(in_dir("bad/%d.png", i), 6, 7, (unsigned)i);
    write_file(in_dir("bad/4.png"), "no picture", 10);
    leat_pipeline *pipeline =
        open_spec(spec_of("zip image='%s | take 9' mask='folder %s' | decode | decode mask | batch 3",
                          texts[0], in_dir("bad")),
                  NULL);
    tape t = record(pipeline, -1);
    if (t.rc >= 0 || !strstr(t.message, "0/04.png with 4.png: decode")) fail_msg("%s", t.message);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    for (int policy = LEAT_ON_ERROR_SKIP; policy <= LEAT_ON_ERROR_REPLACE; policy++) {
        t = record_spec(spec_of("concatenate '%s | select image' 'folder %s' | shuffle | decode | batch 4",
                                texts[0], in_dir("bad")),
                        &(leat_config){.on_error = policy});
        assert_true(t.rc == LEAT_END && t.n_samples == (policy == LEAT_ON_ERROR_SKIP ? 20 : 21));
        tape_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_concatenate),
        cmocka_unit_test(test_inner_shuffles),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fields_of_parts),
        cmocka_unit_test(test_class_names),
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_unpaired),
        cmocka_unit_test(test_mixing),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_choosing),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_bad_samples),
    };
    return cmocka_run_group_tests_name("combine", tests, begin, end_files);
}
