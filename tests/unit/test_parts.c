/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Specs as parts of another: arrays, callbacks, records and folders, with functions and pictures worked on inside of a part.
 * What comes is what the parts give by themselves, put together by a loop. */
#include <stdatomic.h>

#include "unit/testing.h"

enum { H = 6, W = 7, PIXELS = H * W * 3, N_ARRAYS = 12, N_FOLDER = 9, N_CALLED = 10, N_STREAM = 14 };

typedef struct list { /* what a spec gives, sample by sample */
    int n;
    uint64_t image[300];
    int64_t label[300];
} list;

static const leat_tensor *tensor_of(const leat_tensor *t, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0) return &t[i];
    return NULL;
}

static list gather_with(leat_spec *spec, const leat_config *config) {
    list out = {0};
    leat_pipeline *pipeline = open_spec(spec, config);
    leat_batch b;
    leat_error err;
    int rc;
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        const leat_tensor *image = tensor_of(b.tensor, b.n_tensors, "image"),
                          *label = tensor_of(b.tensor, b.n_tensors, "label");
        for (int i = 0; i < b.n; i++, out.n++) {
            assert_true(out.n < 300);
            out.image[out.n] =
                leat__hash((const uint8_t *)image->data + i * image->stride[0], (size_t)image->stride[0], 0);
            out.label[out.n] = label ? ((const int64_t *)label->data)[i] : -1;
        }
        leat_batch_release(&b);
    }
    if (rc < 0) fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    return out;
}

static list gather(leat_spec *spec) {
    return gather_with(spec, &(leat_config){.n_threads = 2, .no_side_files = 1});
}

static void same_sample(const list *a, int i, const list *b, int k) {
    if (a->image[i] != b->image[k] || a->label[i] != b->label[k])
        fail_msg("sample %d (label %d) is not sample %d (label %d)", i, (int)a->label[i], k,
                 (int)b->label[k]);
}

/* --------------------------------------------------------------------------------------- four sources */

static uint8_t pixels[N_ARRAYS][PIXELS];
static int64_t labels[N_ARRAYS];

static int begin_all(void **state) {
    if (begin_files(state) != 0) return -1;
    for (int i = 0; i < N_ARRAYS; i++) {
        paint(pixels[i], H, W, 3, (unsigned)i + 50);
        labels[i] = 100 + i;
    }
    make_dir(in_dir("a"));
    for (int i = 0; i < N_FOLDER; i++) {
        make_dir(in_dir("a/%d", i / 3));
        write_png(in_dir("a/%d/%02d.png", i / 3, i), H, W, (unsigned)i);
    }
    return 0;
}

static leat_spec *with_chain(leat_spec *spec, const char *chain) {
    if (*chain) leat_spec_add(spec, chain);
    return spec;
}

static leat_spec *arrays(const char *chain) {
    leat_spec *spec = leat_spec_new(NULL);
    char first[] = "image", second[] = "label"; /* names are copied */
    const leat_tensor given[] = {
        {.name = first, .data = pixels, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {N_ARRAYS, H, W, 3}},
        {.name = second, .data = labels, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {N_ARRAYS}}};
    leat_spec_arrays(spec, given, 2);
    memset(first, '?', 3);
    memset(second, '?', 3);
    return with_chain(spec, chain);
}

static leat_spec *folder(const char *chain) {
    return with_chain(spec_of("folder %s | decode", in_dir("a")), chain);
}

static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)user, (void)err;
    paint(out[0].room, H, W, 3, (unsigned)i + 200);
    *(int64_t *)out[1].room = 200 + (int64_t)i;
    return 0;
}

static leat_spec *called(uint64_t identity, const char *chain) {
    leat_spec *spec = leat_spec_new(NULL);
    leat_field fields[] = {
        {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {H, W, 3}},
        {.name = "label", .dtype = LEAT_DTYPE_I64},
    };
    const leat_source_callbacks callbacks = {
        .n = N_CALLED, .n_fields = 2, .field = fields, .read_at = read_at, .identity = identity};
    leat_spec_source(spec, &callbacks);
    memset(fields, 0, sizeof fields);
    return with_chain(spec, chain);
}

typedef struct shard_reader {
    int next, end;
    leat__buf record;
} shard_reader;

static int begin_shard(void *user, uint64_t shard, void **reader, leat_error *err) {
    (void)user, (void)err;
    shard_reader *r = calloc(1, sizeof *r);
    r->next = shard ? 5 : 0;
    r->end = shard ? N_STREAM : 5;
    *reader = r;
    return 0;
}

static int next_record(void *reader, const void **data, size_t *bytes, leat_error *err) {
    shard_reader *r = reader;
    (void)err;
    if (r->next == r->end) return LEAT_END;
    leat__buf_free(&r->record);
    add_sample(&r->record, 300 + r->next++, PIXELS);
    *data = r->record.data + 12; /* without what a TFRecord has around it */
    *bytes = r->record.size - 16;
    return 0;
}

static void end_shard(void *reader) {
    shard_reader *r = reader;
    leat__buf_free(&r->record);
    free(r);
}

static leat_spec *streamed(const char *chain) {
    leat_spec *spec = leat_spec_new(NULL);
    const leat_stream_callbacks callbacks = {
        .n_shards = 2, .begin = begin_shard, .next = next_record, .end = end_shard};
    leat_spec_stream(spec, &callbacks);
    leat_spec_add(spec, "parse image:bytes label:int64 | decode_raw u8 | reshape 6 7 3");
    return with_chain(spec, chain);
}

/* Adds the part and frees it: the spec has a copy. */
static void add_part(leat_spec *spec, const char *name, leat_spec *part) {
    if (leat_spec_part(spec, name, part) < 0) {
        leat_error err;
        leat_spec_error(spec, &err);
        fail_msg("%s", err.message);
    }
    leat_spec_free(&part);
}

/* A spec of the four sources, each with a chain of its own. Without a stream if its chain is NULL. */
static leat_spec *combined(const char *text, const char *const chain[4]) {
    leat_spec *spec = leat_spec_new(text);
    add_part(spec, "arrays", arrays(chain[0]));
    add_part(spec, "folder", folder(chain[1]));
    add_part(spec, "called", called(7, chain[2]));
    if (chain[3]) add_part(spec, "streamed", streamed(chain[3]));
    return spec;
}

/* ------------------------------------------------------------------------------------------ functions */

static atomic_int within, together;

/* Inverts the picture, and doubles the label. */
static int invert(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                  const leat_tensor *out, int n_out, leat_error *err) {
    (void)info, (void)err;
    const leat_tensor *image = tensor_of(in, n_in, "image"), *label = tensor_of(in, n_in, "label");
    if (within++) together = 1;
    uint8_t *to = tensor_of(out, n_out, "image")->data;
    for (int i = 0; i < PIXELS; i++) to[i] = (uint8_t)(255 - ((const uint8_t *)image->data)[i]);
    *(int64_t *)tensor_of(out, n_out, "label")->data = *(int64_t *)label->data * *(int64_t *)user;
    within--;
    return 0;
}

static int is_even(void *user, const leat_sample_info *info, const leat_tensor *fields, int n,
                   leat_error *err) {
    (void)user, (void)info, (void)err;
    return *(const int64_t *)tensor_of(fields, n, "label")->data % 2 == 0;
}

#define INVERT "map image:u8[6,7,3] label:i64 callback=f"

static leat_spec *with_functions(leat_spec *spec, int64_t *times, int thread_safe) {
    leat_spec_map(spec, "f", invert, times, thread_safe);
    leat_spec_filter(spec, "even", is_even, NULL, thread_safe);
    return spec;
}

/* -------------------------------------------------------------------------------------------- combining */

/* One after the other, with orders, pictures and labels worked on inside; a stream among them or not. */
static void test_one_after_the_other(void **state) {
    (void)state;
    static const char *const chains[][4] = {
        {"", "", "", NULL},
        {"", "", "", ""},
        {"shuffle seed=3 | take 7", "filter label==1", "skip 3 | repeat 2", ""},
        {"crop_to_bounding_box 1 0 4 5 | resize 6 7 | cast u8", "shard 1/2", "adjust_jpeg_quality 40",
         "take 9"},
        {"cast image f32 | cast image u8", "resize 9 9 | resize 6 7 | cast u8", "invert",
         "label_map 300=1 default=2"},
    };
    for (size_t c = 0; c < LEAT_COUNT(chains); c++) {
        const char *const *chain = chains[c];
        leat_spec *part[4] = {arrays(chain[0]), folder(chain[1]), called(0, chain[2]),
                              chain[3] ? streamed(chain[3]) : NULL};
        const list all = gather(combined(chain[3] ? "concatenate @arrays @folder @called @streamed | batch 4"
                                                  : "concatenate @arrays @folder @called | batch 4",
                                         chain));
        int at = 0;
        for (int k = 0; k < 4 && part[k]; k++) {
            const list one = gather(part[k]);
            for (int i = 0; i < one.n; i++) same_sample(&all, at++, &one, i);
        }
        assert_int_equal(at, all.n);
    }
}

/* The functions of a part are its own, though others have the same names. */
static void test_functions(void **state) {
    (void)state;
    for (int safe = 0; safe < 2; safe++)
        for (int stream = 0; stream < 2; stream++) {
            int64_t twice = 2, thrice = 3, ten = 10;
            leat_spec *spec = leat_spec_new("concatenate @a @b @c | " INVERT " | batch 4");
            with_functions(spec, &ten, safe);
            add_part(spec, "a", with_functions(arrays(INVERT), &twice, safe));
            add_part(spec, "b",
                     with_functions(stream ? streamed("filter callback=even | " INVERT)
                                           : called(0, "filter callback=even | " INVERT),
                                    &thrice, safe));
            add_part(spec, "c", folder(""));
            within = together = 0;
            const list all = gather_with(spec, &(leat_config){.n_threads = 3, .no_side_files = 1});
            assert_true(safe ||
                        !together); /* before c below, whose function may be called by several threads */
            const list a = gather(arrays("")), b = gather(stream ? streamed("") : called(0, "")),
                       c = gather(with_functions(folder(INVERT), &ten, 1));
            assert_int_equal(all.n, a.n + b.n / 2 + c.n);
            for (int i = 0; i < a.n; i++) {
                assert_true(all.image[i] == a.image[i]); /* inverted twice */
                assert_int_equal(all.label[i], a.label[i] * 20);
            }
            for (int i = 0; i < b.n / 2; i++) {
                assert_true(all.image[a.n + i] == b.image[2 * i]);
                assert_int_equal(all.label[a.n + i], b.label[2 * i] * 30);
            }
            for (int i = 0; i < c.n; i++) same_sample(&all, a.n + b.n / 2 + i, &c, i);
        }
}

/* Side by side: the masks are made by a function, from other arrays. */
static void test_zip(void **state) {
    (void)state;
    int64_t one = 1;
    for (int stream = 0; stream < 2; stream++) {
        leat_spec *spec = leat_spec_new("zip image=@x mask=@y stop=shortest | batch 1");
        add_part(spec, "x", stream ? streamed("") : called(0, ""));
        add_part(spec, "y", with_functions(arrays("shuffle seed=5 | take 10 | " INVERT), &one, 0));
        leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = 2});
        const list x = gather(stream ? streamed("") : called(0, "")),
                   y = gather(with_functions(arrays("shuffle seed=5 | take 10 | " INVERT), &one, 1));
        leat_batch b;
        int i = 0;
        for (; leat_pipeline_next(pipeline, &b, NULL) == 0; i++) {
            assert_int_equal(b.n_tensors, 3);
            assert_true(leat__hash(b.tensor[0].data, PIXELS, 0) == x.image[i]);
            assert_true(*(int64_t *)b.tensor[1].data == x.label[i]);
            assert_string_equal(b.tensor[2].name, "mask");
            assert_true(leat__hash(b.tensor[2].data, PIXELS, 0) == y.image[i]);
            leat_batch_release(&b);
        }
        assert_int_equal(i, 10);
        leat_pipeline_close(&pipeline);
    }
}

/* Mixed, with draws in one part: the same bytes for any number of threads, whole or in passes, and other draws than the
 * same text has in another part. */
static void test_draws(void **state) {
    (void)state;
    static const char *const flipped[4] = {"random_flip_left_right | random_brightness 0.3", "",
                                           "random_flip_left_right | random_brightness 0.3", NULL};
    const char *text =
        "sample_from @arrays @folder @called weights=3,1,2 seed=4 | cast layout=nchw u8 | batch 4";
    const list first =
        gather_with(combined(text, flipped), &(leat_config){.n_epochs = 3, .no_side_files = 1});
    for (int threads = 1; threads < 4; threads++) {
        leat_spec *spec = combined(text, flipped);
        if (threads == 3) leat_spec_add(spec, "options fuse=off");
        const list l =
            gather_with(spec, &(leat_config){.n_threads = threads, .n_epochs = 3, .no_side_files = 1});
        assert_int_equal(l.n, first.n);
        for (int i = 0; i < l.n; i++) same_sample(&l, i, &first, i);
    }
    static const char *const two[4] = {"random_flip_left_right", "", "random_flip_left_right", NULL};
    int differ = 0;
    leat_spec *spec = combined("choose_from @arrays @again pattern=0,1 | batch 2", two);
    add_part(spec, "again", arrays("random_flip_left_right"));
    const list pairs = gather(spec);
    for (int i = 0; i < pairs.n; i += 2) {
        assert_int_equal(pairs.label[i], pairs.label[i + 1]);
        differ += pairs.image[i] != pairs.image[i + 1];
    }
    assert_true(differ > 1 && differ < N_ARRAYS);
}

/* A layout with channels first holds for samples of all parts, whatever the last pass of each is. */
static void test_layout(void **state) {
    (void)state;
    static const char *const resized[4] = {"", "resize 6 7 | cast u8", "resize 6 7 | cast u8", NULL},
                             *const plain[4] = {"", "", "", NULL};
    const list a = gather(combined("concatenate @arrays @folder @called | cast layout=nchw u8", resized)),
               b = gather(combined("concatenate @arrays @folder @called | cast layout=nchw u8", plain)),
               c = gather(combined("concatenate @arrays @folder @called", plain));
    assert_int_equal(a.n, b.n);
    for (int i = 0; i < a.n; i++) {
        same_sample(&a, i, &b, i);
        assert_true(a.image[i] != c.image[i]);
    }
}

/* Parts of parts, and texts in quotes that name parts. */
static void test_nested(void **state) {
    (void)state;
    leat_spec *inner = leat_spec_new("choose_from @x @y pattern=0,1");
    add_part(inner, "x", arrays("take 3"));
    add_part(inner, "y", called(0, "skip 2 | take 3"));
    leat_spec *spec = leat_spec_new("concatenate \"concatenate @x @inner | take 5\" @x | batch 3");
    add_part(spec, "inner", inner);
    add_part(spec, "x", folder("take 2"));
    const list all = gather(spec), a = gather(arrays("")), c = gather(called(0, "")), f = gather(folder(""));
    assert_int_equal(all.n, 7);
    same_sample(&all, 0, &f, 0);
    same_sample(&all, 1, &f, 1);
    same_sample(&all, 2, &a, 0);
    same_sample(&all, 3, &c, 2);
    same_sample(&all, 4, &a, 1);
    same_sample(&all, 5, &f, 0);
    same_sample(&all, 6, &f, 1);
}

/* ----------------------------------------------------------------------------------------------- states */

/* From every batch on, what follows is the same; with draws, functions and a stream inside. */
static void test_resume(void **state) {
    (void)state;
    static const char *const texts[] = {
        "concatenate @arrays @folder @called | shuffle seed=2 | batch 4",
        "sample_from @arrays @called @streamed weights=1,2,1 seed=9 | random_flip_left_right | batch 3",
        "zip image=@arrays mask=@streamed stop=shortest | batch 5"};
    static const char *const chains[][4] = {
        {"shuffle", "random_flip_up_down", INVERT, NULL},
        {"shuffle | random_brightness 0.2", "", INVERT, "filter label!=303"},
        {"shuffle", "", "", "filter label!=303 | " INVERT},
    };
    for (size_t c = 0; c < LEAT_COUNT(texts); c++) {
        const leat_config config = {.n_threads = 2, .n_epochs = 2, .no_side_files = 1};
        int64_t times = 3;
        tape whole = {0};
        for (int at = 0; at <= whole.n_batches; at++) {
            leat_spec *spec = leat_spec_new(texts[c]);
            add_part(spec, "arrays", arrays(chains[c][0]));
            add_part(spec, "folder", folder(chains[c][1]));
            add_part(spec, "called", with_functions(called(7, chains[c][2]), &times, 0));
            if (chains[c][3]) add_part(spec, "streamed", with_functions(streamed(chains[c][3]), &times, 1));
            char saved[1024];
            leat_error err;
            leat_pipeline *first = NULL, *second = NULL;
            if (leat_pipeline_open(&first, spec, &config, &err) < 0) fail_msg("%s", err.message);
            assert_int_equal(leat_pipeline_open(&second, spec, &config, &err), 0);
            leat_spec_free(&spec);
            if (at == 0) {
                whole = record(first, -1);
                assert_int_equal(whole.rc, LEAT_END);
            } else {
                tape head = record(first, at);
                tape_free(&head);
                if (leat_pipeline_state(first, saved, sizeof saved, &err) < 0) fail_msg("%s", err.message);
                if (leat_pipeline_restore(second, saved, &err) < 0) fail_msg("%s", err.message);
                tape tail = record(second, -1);
                same_tail(&whole, at, &tail, texts[c]);
                tape_free(&tail);
            }
            leat_pipeline_close(&first);
            leat_pipeline_close(&second);
        }
        tape_free(&whole);
    }
}

static int restore_with(leat_spec *from, leat_spec *into, leat_error *err) {
    char saved[1024];
    const leat_config config = {.no_side_files = 1};
    leat_pipeline *a = open_spec(from, &config), *b = open_spec(into, &config);
    assert_int_equal(leat_pipeline_state(a, saved, sizeof saved, err), 0);
    const int rc = leat_pipeline_restore(b, saved, err);
    leat_pipeline_close(&a);
    leat_pipeline_close(&b);
    return rc;
}

static leat_spec *pair_of(leat_spec *a, leat_spec *b) {
    leat_spec *spec = leat_spec_new("concatenate @a @b");
    add_part(spec, "a", a);
    add_part(spec, "b", b);
    return spec;
}

/* A state belongs to the data of every part, and to its operations. Names of parts do not matter. */
static void test_identity(void **state) {
    (void)state;
    leat_error err;
    assert_int_equal(
        restore_with(pair_of(arrays(""), called(1, "")), pair_of(arrays(""), called(1, "")), &err), 0);
    assert_int_equal(
        restore_with(pair_of(arrays(""), called(1, "")), pair_of(arrays(""), called(2, "")), &err),
        LEAT_ERR_STATE);
    assert_int_equal(restore_with(pair_of(arrays("take 4"), called(1, "")),
                                  pair_of(arrays("take 5"), called(1, "")), &err),
                     LEAT_ERR_STATE);
    leat_spec *named = leat_spec_new("concatenate @x @y");
    add_part(named, "x", spec_of("synth 5 4 4"));
    add_part(named, "y", spec_of("synth 9 4 4 | take 3"));
    assert_int_equal(restore_with(named, spec_of("concatenate 'synth 5 4 4' 'synth 9 4 4 | take 3'"), &err),
                     0);
}

/* ------------------------------------------------------------------------------------------ specs */

static void test_text(void **state) {
    (void)state;
    char text[4000];
    leat_spec *spec = leat_spec_new("zip image=@x mask=@y stop=shortest | batch 4");
    add_part(spec, "x", spec_of("folder 'my photos' | take 3"));
    add_part(spec, "y", arrays("shuffle seed=2"));
    assert_true(leat_spec_text(spec, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "\"image=folder path=\"'\"'\"my photos\"'\"'\""));
    assert_non_null(strstr(text, "mask=arrays | shuffle "));
    leat_spec_free(&spec);
    /* What text can say can be read again, and means the same. */
    spec = leat_spec_new("concatenate @x @y");
    add_part(spec, "x", spec_of("synth 5 4 4 | take 3"));
    add_part(spec, "y", spec_of("synth 7 4 4"));
    leat_spec_text(spec, text, sizeof text);
    tape parts = record_spec(spec, NULL), read = record_spec(spec_of("%s", text), NULL);
    same_tape(&parts, &read, text);
    tape_free(&parts);
    tape_free(&read);
}

/* What is done to a part, or to the spec, afterwards does not change what was added. */
static void test_copies(void **state) {
    (void)state;
    leat_spec *part = arrays("take 3"), *spec = leat_spec_new("concatenate @a @a");
    assert_int_equal(leat_spec_part(spec, "a", part), 0);
    leat_spec_add(part, "take 1");
    leat_spec *twice = leat_spec_new("concatenate @whole @a");
    assert_int_equal(leat_spec_part(twice, "whole", spec), 0);
    assert_int_equal(leat_spec_part(twice, "a", part), 0);
    leat_spec_free(&part);
    leat_spec_free(&spec);
    assert_int_equal(gather(twice).n, 7);
}

static void refuse_part(int code, const char *message, const char *text, const char *name, leat_spec *part) {
    const uint64_t before = memory_held();
    leat_spec *spec = leat_spec_new(text);
    leat_spec_part(spec, name, part);
    refuse_spec(spec, NULL, code, message);
    assert_true(memory_held() == before);
    leat_spec_free(&part);
}

static void test_refusals(void **state) {
    (void)state;
    refuse_part(LEAT_ERR_ARGUMENT, "the part is NULL", "concatenate @a", "a", NULL);
    refuse_part(LEAT_ERR_ARGUMENT, "1 to 63 letters", "concatenate @a", NULL, arrays(""));
    refuse_part(LEAT_ERR_ARGUMENT, "1 to 63 letters", "concatenate @a", "", arrays(""));
    refuse_part(LEAT_ERR_ARGUMENT, "1 to 63 letters", "concatenate @a", "a b", arrays(""));
    refuse_part(LEAT_ERR_ARGUMENT, "part a is empty", "concatenate @a", "a", leat_spec_new(NULL));
    refuse_part(LEAT_ERR_SYNTAX, "part a: column 1: unknown operation 'fold'", "concatenate @a", "a",
                leat_spec_new("fold x"));
    refuse_part(LEAT_ERR_NOT_FOUND, "there is no part 'photo'; did you mean 'photos'?", "concatenate @photo",
                "photos", arrays(""));
    refuse_part(LEAT_ERR_NOT_FOUND, "call leat_spec_part", "concatenate @masks", "a", arrays(""));
    refuse_part(LEAT_ERR_SYNTAX, "@NAME stands alone", "concatenate '@a | take 3'", "a", arrays(""));
    refuse_part(LEAT_ERR_SYNTAX, "part a: column 10: batch: it holds for the whole pipeline: write it behind",
                "concatenate @a", "a", arrays("batch 4"));
    refuse_part(LEAT_ERR_SYNTAX, "write it behind concatenate", "concatenate @a", "a", arrays("cache"));
    refuse_part(LEAT_ERR_SYNTAX, "write it behind concatenate", "concatenate @a", "a",
                arrays("options seed=3"));
    refuse_part(LEAT_ERR_SYNTAX, "shard auto behind", "concatenate @a", "a", arrays("shard auto"));
    refuse_part(LEAT_ERR_SYNTAX, "the whole batch: write it behind concatenate", "concatenate @a", "a",
                arrays("cast layout=nchw f32"));
    refuse_part(LEAT_ERR_SYNTAX, "write it behind zip, for all fields that move together", "zip image=@a",
                "a", arrays("resize 9 9 | random_flip_left_right"));
    refuse_part(LEAT_ERR_NOT_FOUND, "part a: column 10: map: the program has no function 'f'",
                "concatenate @a", "a", arrays(INVERT));
    char text[500];
    snprintf(text, sizeof text, "concatenate @a 'folder %s'", in_dir("a"));
    refuse_part(LEAT_ERR_TYPE, "field image is u8 (6, 7, 3) in '@a' and bytes in 'folder", text, "a",
                arrays(""));
    refuse_part(LEAT_ERR_SYNTAX, "two data sets have a field image: name them", "zip @a @a", "a", arrays(""));
    leat_spec *spec = leat_spec_new("concatenate @a"), *part = arrays("");
    leat_spec_part(spec, "a", part);
    assert_int_equal(leat_spec_part(spec, "a", part), LEAT_ERR_ARGUMENT);
    leat_spec_free(&part);
    refuse_spec(spec, NULL, LEAT_ERR_ARGUMENT, "there is a part a already");
    /* The column is that of the name in the text that was opened. */
    spec = leat_spec_new("concatenate 'synth 4 6 7' @long_name");
    add_part(spec, "long_name", arrays("take 3 | batch 2"));
    leat_pipeline *pipeline;
    leat_error err;
    assert_int_equal(leat_pipeline_open(&pipeline, spec, NULL, &err), LEAT_ERR_SYNTAX);
    assert_int_equal(err.column, 27);
    leat_spec_free(&spec);
}

/* A sample that cannot be read says which part it is of. */
static void test_bad_samples(void **state) {
    (void)state;
    make_dir(in_dir("bad"));
    write_png(in_dir("bad/0.png"), H, W, 1);
    write_file(in_dir("bad/1.png"), "no picture", 10);
    leat_spec *spec = leat_spec_new("concatenate @good @bad | select image | batch 1");
    add_part(spec, "good", arrays("take 1"));
    add_part(spec, "bad", spec_of("folder %s labels=none | decode | resize 6 7 | cast u8", in_dir("bad")));
    refuse_spec(spec, NULL, LEAT_ERR_TYPE, "field label is i64 in '@good' and not there in '@bad'");
    spec = leat_spec_new("concatenate @good @bad | batch 1");
    add_part(spec, "good", arrays("take 1 | select image"));
    add_part(spec, "bad", spec_of("folder %s labels=none | decode | resize 6 7 | cast u8", in_dir("bad")));
    tape t = record_spec(spec, NULL);
    assert_true(t.rc < 0 && t.n_batches == 2);
    if (!strstr(t.message, "part 2: 1.png")) fail_msg("%s", t.message);
    tape_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_samples),
    };
    return cmocka_run_group_tests(tests, begin_all, end_files);
}
