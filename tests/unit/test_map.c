/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* map with fields whose sizes, types and names the function of the program chooses. */
#include "unit/testing_choices.h"

static const leat_tensor *tensor_of(const leat_tensor *t, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0) return &t[i];
    fail_msg("no field %s", name);
    return NULL;
}

static void *make(const leat_sample_info *info, const char *name, int dtype, int ndim, int64_t a, int64_t b,
                  int64_t c, leat_error *err) {
    leat_field field = {.dtype = dtype, .ndim = ndim, .shape = {a, b, c}};
    snprintf(field.name, sizeof field.name, "%s", name);
    return leat_map_make(info, &field, err);
}

enum what {
    GROWN,    /* image: 8 + sample % 5 rows and one column more                        */
    BOTH,     /* the same, and score                                                   */
    TOKENS,   /* sample % 4 numbers                                                    */
    OTHER,    /* another type for sample 5                                             */
    FLAT,     /* two axes for sample 5                                                 */
    LACKS,    /* nothing for sample 5                                                  */
    SURPRISE, /* a field more for sample 5                                             */
    HUGE_,    /* more than there may be, for sample 5                                  */
    WRONG,    /* what leat_map_make must refuse                                        */
    FAILS,    /* it fails for sample 5                                                 */
    TWICE,    /* image is made small, then large                                       */
    EMPTY,    /* makes nothing                                                         */
};

typedef struct seen {
    enum what what;
    int calls, n_out_first;
    uint64_t seed, operation;
} seen;

static int grow(const leat_sample_info *info, const leat_tensor *in, int n_in, leat_error *err) {
    const int h = 8 + (int)(info->sample % 5), w = h + 1;
    const leat_tensor *image = tensor_of(in, n_in, "image");
    uint8_t *out = make(info, "image", LEAT_DTYPE_U8, 3, h, w, 3, err);
    if (!out) return err->code;
    for (int i = 0; i < h * w * 3; i++)
        out[i] = (uint8_t)(((const uint8_t *)image->data)[i % 48] + i + (int)info->epoch);
    return 0;
}

static int refuse_wrong(const leat_sample_info *info, leat_error *err) {
    leat_field field = {.name = "x", .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {3}};
    leat_sample_info no_call = *info;
    no_call.call = NULL;
    assert_null(leat_map_make(&no_call, &field, err));
    assert_null(leat_map_make(NULL, &field, NULL));
    assert_null(leat_map_make(info, NULL, err));
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_TYPE);
    field.dtype = 99;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_TYPE);
    field.dtype = LEAT_DTYPE_F32;
    field.shape[0] = -1;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_LIMIT);
    field.ndim = 2;
    field.shape[0] = field.shape[1] = INT64_MAX;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_LIMIT);
    field.ndim = 6;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_SHAPE);
    field.ndim = 1;
    field.shape[0] = 1;
    field.name[0] = 0;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_ARGUMENT);
    memset(field.name, 'x', sizeof field.name);
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_ARGUMENT);
    field.name[1] = 0;
    field.reserved[0] = 1;
    assert_true(!leat_map_make(info, &field, err) && err->code == LEAT_ERR_ARGUMENT);
    field.reserved[0] = 0;
    assert_non_null(leat_map_make(info, &field, err));
    return 0;
}

static int function(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                    const leat_tensor *out, int n_out, leat_error *err) {
    seen *s = user;
    (void)out;
    if (__atomic_fetch_add(&s->calls, 1, __ATOMIC_SEQ_CST) == 0) s->n_out_first = n_out;
    __atomic_store_n(&s->seed, info->seed, __ATOMIC_RELAXED);
    __atomic_store_n(&s->operation, info->operation, __ATOMIC_RELAXED);
    const bool fifth = info->sample == 5;
    void *made = NULL;
    switch (s->what) {
    case GROWN: return grow(info, in, n_in, err);
    case BOTH:
        made = make(info, "score", LEAT_DTYPE_F64, 0, 0, 0, 0, err);
        if (!made) return err->code;
        *(double *)made = 2.0 * (double)info->sample;
        return grow(info, in, n_in, err);
    case TOKENS:
        made = make(info, "tokens", LEAT_DTYPE_I64, 1, (int64_t)info->sample % 4, 0, 0, err);
        for (uint64_t i = 0; made && i < info->sample % 4; i++) ((int64_t *)made)[i] = (int64_t)info->sample;
        break;
    case OTHER: made = make(info, "x", fifth ? LEAT_DTYPE_F64 : LEAT_DTYPE_F32, 1, 1, 0, 0, err); break;
    case FLAT: made = make(info, "x", LEAT_DTYPE_F32, fifth ? 2 : 1, 1, 1, 0, err); break;
    case LACKS:
        if (fifth) return 0;
        made = make(info, "x", LEAT_DTYPE_F32, 1, 1, 0, 0, err);
        break;
    case SURPRISE: made = make(info, fifth ? "y" : "x", LEAT_DTYPE_F32, 1, 1, 0, 0, err); break;
    case HUGE_: made = make(info, "x", LEAT_DTYPE_F32, 1, fifth ? INT64_MAX / 8 : 1, 0, 0, err); break;
    case WRONG: return refuse_wrong(info, err);
    case FAILS:
        made = make(info, "x", LEAT_DTYPE_F32, 1, 1, 0, 0, err);
        if (!fifth) break;
        snprintf(err->message, sizeof err->message, "no fifth");
        return LEAT_ERR_FORMAT;
    case TWICE: make(info, "image", LEAT_DTYPE_U8, 3, 1, 1, 3, err); return grow(info, in, n_in, err);
    case EMPTY: return 0;
    }
    if (made && s->what != TOKENS) memset(made, 0, 4);
    return made ? 0 : err->code;
}

static leat_spec *mapped(seen *s, enum what what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static leat_spec *mapped(seen *s, enum what what, const char *fmt, ...) {
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *s = (seen){.what = what};
    leat_spec *spec = leat_spec_new(text);
    leat_spec_map(spec, "f", function, s, 1);
    return spec;
}

static void test_pictures_of_any_size(void **state) {
    (void)state;
    static const char *const texts[] = {
        "synth 40 4 4 | map %s callback=f | resize 6 6 | batch 8",
        "synth 40 4 4 | random_flip_left_right | map %s callback=f | random_crop 5 5 | random_flip_up_down | "
        "normalize mean=1 std=2 | batch 8",
        "synth 40 4 4 | map %s callback=f | random_brightness 0.2 | resize 5 5 | random_rotation 0.1 | "
        "cast f32 layout=nchw | batch 8",
        "synth 40 4 4 | map %s callback=f | cache | random_resized_crop 4 | batch 8",
        "synth 40 4 4 | map %s callback=f | padded_batch 8 max=image:12x13",
    };
    for (size_t k = 0; k < LEAT_COUNT(texts); k++) {
        tape want = {0};
        for (int way = 0; way < 6; way++) { /* declared or found, threads, without fusion */
            char text[500];
            seen s;
            snprintf(text, sizeof text, texts[k], way % 2 ? "*" : "image:u8[*,*,3]");
            if (way > 3) strcat(text, " | options fuse=off");
            tape t = record_spec(mapped(&s, way == 3 ? TWICE : GROWN, "%s", text),
                                 &(leat_config){.n_threads = way + 1, .n_epochs = 2});
            if (t.rc != LEAT_END) fail_msg("%s: %s", text, t.message);
            assert_int_equal(t.n_samples, 80);
            assert_int_equal(s.n_out_first, way % 2 ? 0 : 1);
            if (way == 0) want = t;
            else {
                same_tape(&t, &want, text);
                tape_free(&t);
            }
        }
        tape_free(&want);
    }
}

static void test_found_fields(void **state) {
    (void)state;
    seen s;
    leat_spec *spec =
        mapped(&s, BOTH, "%s | decode | map image:u8[*,*,3] * callback=f | resize 3 3 | batch 4", folder);
    leat_pipeline *pipeline = open_spec(spec, &(leat_config){.seed = 77});
    leat_field fields[4];
    assert_int_equal(s.n_out_first, 1);
    assert_int_equal(leat_pipeline_fields(pipeline, fields, 4), 3);
    assert_string_equal(fields[2].name, "score");
    assert_true(fields[2].dtype == LEAT_DTYPE_F64 && fields[2].ndim == 0);
    leat_batch b;
    for (int k = 0; leat_pipeline_next(pipeline, &b, NULL) == 0; leat_batch_release(&b))
        for (int i = 0; i < b.n; i++, k++)
            assert_true(((const double *)tensor_of(b.tensor, 3, "score")->data)[i] == 2.0 * k);
    leat_pipeline_close(&pipeline);
    assert_true(s.seed == 77 && s.operation > 1);
    /* A stream, behind a filter: the first record that is kept shows what there is. */
    spec = mapped(&s, TOKENS, "%s | filter 'label > 2' | map * callback=f | padded_batch 4 max=tokens:3",
                  stream);
    tape t = record_spec(spec, NULL);
    assert_true(t.rc == LEAT_END && t.n_samples == 24);
    tape_free(&t);
}

static void test_ragged(void **state) {
    (void)state;
    seen s;
    leat_pipeline *pipeline = open_spec(
        mapped(&s, TOKENS, "synth 10 4 4 | map tokens:i64[*3] callback=f | select tokens | batch 5"), NULL);
    leat_batch b;
    for (int step = 0; leat_pipeline_next(pipeline, &b, NULL) == 0; step++, leat_batch_release(&b))
        for (int i = 0; i < b.n; i++) {
            const int64_t *at = b.tensor[0].offsets, n = at[i + 1] - at[i];
            assert_int_equal(n, (step * 5 + i) % 4);
            if (n) assert_int_equal(((const int64_t *)b.tensor[0].data)[at[i]], step * 5 + i);
        }
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(
        mapped(&s, TOKENS, "synth 10 4 4 | map tokens:i64[*] callback=f | padded_batch 5 max=tokens:3"),
        NULL);
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    const leat_tensor *tokens = tensor_of(b.tensor, b.n_tensors, "tokens");
    assert_true(tokens->shape[1] == 3 && ((const int64_t *)tokens->data)[3 * 3 + 2] == 3 &&
                ((const int64_t *)tokens->data)[1] == 0);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
    tape t = record_spec(mapped(&s, TOKENS, "synth 10 4 4 | map tokens:i64[*2] callback=f | batch 5"), NULL);
    assert_true(t.rc == LEAT_ERR_SHAPE && strstr(t.message, "tokens has 3 values, not at most 2"));
    tape_free(&t);
}

/* What belongs to a picture still moves with it behind a map. */
static void test_masks_stay(void **state) {
    (void)state;
    seen s;
    make_dir(in_dir("masks"));
    leat_spec *spec = mapped(&s, FAILS,
                             "zip image='%s' mask='%s' | decode image | decode mask | mask mask | "
                             "map x:f32[1] image:u8[4,4,3] callback=f | random_flip_left_right | batch 4",
                             folder, folder);
    leat_error err;
    leat_pipeline *pipeline = NULL;
    leat_pipeline_open(&pipeline, spec, NULL, &err);
    if (!pipeline) fail_msg("%s", err.message);
    char plan[4000];
    leat_pipeline_plan(pipeline, plan, sizeof plan);
    const char *first = strstr(plan, "random_flip_left_right");
    assert_true(first && strstr(first + 1, "random_flip_left_right"));
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
}

static void test_wrong(void **state) {
    (void)state;
    static const struct {
        enum what what;
        const char *fields;
        int code;
        const char *part;
    } cases[] = {
        {OTHER, "*", LEAT_ERR_TYPE,
         "x is f64[1], but it was declared, or made for the first sample, as f32[*]"},
        {OTHER, "x:f32[1]", LEAT_ERR_TYPE, "as f32[1]"},
        {FLAT, "*", LEAT_ERR_SHAPE, "x is f32[1,1], but"},
        {LACKS, "*", LEAT_ERR_NOT_FOUND, "it has not made x"},
        {LACKS, "x:f32[*]", LEAT_ERR_NOT_FOUND, "it has not made x"},
        {SURPRISE, "*", LEAT_ERR_NOT_FOUND, "y was neither declared nor made for the first sample"},
        {HUGE_, "*", LEAT_ERR_LIMIT, "x has"},
        {FAILS, "*", LEAT_ERR_FORMAT, "no fifth"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        seen s;
        tape t = record_spec(
            mapped(&s, cases[i].what, "synth 12 4 4 | map %s callback=f | batch 4", cases[i].fields), NULL);
        if (t.rc != cases[i].code || t.n_batches != 1 || !strstr(t.message, cases[i].part))
            fail_msg("%d: %d %d %s", (int)i, t.rc, t.n_batches, t.message);
        tape_free(&t);
    }
    seen s;
    tape t = record_spec(mapped(&s, WRONG, "synth 12 4 4 | map * callback=f | batch 4"), NULL);
    /* One call shows the fields, one the size for the batch. */
    if (t.rc != LEAT_END || s.calls != 14) fail_msg("%d: %s", s.calls, t.message);
    tape_free(&t);
    refuse_spec(mapped(&s, GROWN, "synth 12 4 4 | map image:f32[*,*,3] callback=f"), NULL, LEAT_ERR_TYPE,
                "image is u8[8,9,3], but");
    refuse_spec(mapped(&s, EMPTY, "synth 12 4 4 | map * callback=f"), NULL, LEAT_ERR_SYNTAX, "made no field");
    refuse_spec(mapped(&s, GROWN, "synth 12 4 4 | take 0 | map * callback=f"), NULL, LEAT_ERR_NOT_FOUND,
                "no sample is left");
    t = record_spec(mapped(&s, GROWN, "synth 12 4 4 | map * callback=f | batch 4"), NULL);
    assert_true(t.rc == LEAT_ERR_SHAPE && strstr(t.message, "image is 9x10x3"));
    tape_free(&t);
    static const char *const wrong[] = {"x:f32[*3,*]", "x:f32[3,*3]", "x:f32[*0]", "x:f32[*-1]", "x:f32[**]",
                                        "x:f32[*a]",   "x:f32[*",     "*x",        "x:*",        "x:f32[1]]"};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++)
        refuse_spec(mapped(&s, GROWN, "synth 12 4 4 | map %s callback=f", wrong[i]), NULL, LEAT_ERR_SYNTAX,
                    "map");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_of_any_size),
        cmocka_unit_test(test_found_fields),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_masks_stay),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests_name("map", tests, begin, end_files);
}
