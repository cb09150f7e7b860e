/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* random_apply and random_choice: what was drawn against the same chain with a sure draw, sample by sample; fusion, threads,
 * restarts, cached samples, choices inside of choices, and what is refused. */
#include "unit/testing.h"

enum { N = 24 };

/* Batches of one sample, with what was drawn for each. */
typedef struct shots {
    tape t;
    char params[N][1024];
} shots;

static shots shoot(const char *head, const char *chain, const char *tail) {
    shots out = {0};
    leat_batch b;
    leat_error err = {0};
    leat_pipeline *pipeline = open_spec(spec_of("%s%s%s%s | batch 1", head, *chain ? " | " : "", chain, tail),
                                        &(leat_config){.seed = 3, .params = 1, .n_threads = 2});
    int n = 0;
    while ((out.t.rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        assert_true(n < N);
        snprintf(out.params[n++], sizeof out.params[0], "%s", leat_batch_params(&b, 0));
        tape_add(&out.t, &b);
        leat_batch_release(&b);
    }
    if (out.t.rc < 0) fail_msg("%s: %s", chain, err.message);
    leat_pipeline_close(&pipeline);
    assert_int_equal(n, N);
    return out;
}

static int number_in(const char *params, const char *key) {
    const char *at = strstr(params, key);
    if (!at) fail_msg("'%s' is not in: %s", key, params);
    return atoi(at + strlen(key));
}

/* Each sample of `some` is the one of `all` if it was applied, and otherwise the one of `none`. */
static void check_applied(const char *head, const char *text, const char *tail) {
    char chain[600];
    /* It counts as an operation, so that those behind draw the same, and does nothing. */
    shots none = shoot(head, strstr(head, "f32") ? "cast f32" : "cast u8", tail);
    snprintf(chain, sizeof chain, "random_apply 1 '%s'", text);
    shots all = shoot(head, chain, tail);
    snprintf(chain, sizeof chain, "random_apply 0.5 '%s'", text);
    shots some = shoot(head, chain, tail);
    char unfused[200];
    snprintf(unfused, sizeof unfused, "%s | options fuse=off", tail);
    shots apart = shoot(head, chain, unfused);
    int applied = 0, changed = 0;
    for (int i = 0; i < N; i++) {
        const int on = number_in(some.params[i], "random_apply applied=");
        applied += on;
        changed += all.t.digest[i] != none.t.digest[i];
        if (some.t.digest[i] != (on ? all.t.digest[i] : none.t.digest[i]))
            fail_msg("%s: sample %d, which was %sapplied, differs", text, i, on ? "" : "not ");
        if (on && !strstr(strstr(all.params[i], "applied=1"), strstr(some.params[i], "applied=1")))
            fail_msg("%s: '%s' is not in '%s'", text, some.params[i], all.params[i]);
    }
    assert_in_range(applied, 5, N - 5);
    if (changed == 0) fail_msg("%s changes no sample", text);
    same_tape(&some.t, &apart.t, "fuse=off");
    tape_free(&none.t), tape_free(&all.t), tape_free(&some.t), tape_free(&apart.t);
}

/* Operations on pictures that keep size and type, from all families. */
static const char *const on_u8[] = {
    "random_flip_left_right",
    "random_flip_up_down",
    "random_flip",
    "rot90 2",
    "rot90",
    "transpose",
    "pad 3 | random_crop 16",
    "adjust_brightness 0.2",
    "random_brightness 0.4",
    "adjust_contrast 2",
    "random_contrast 0.4 2",
    "autocontrast",
    "random_autocontrast",
    "equalize",
    "random_equalize",
    "adjust_saturation 3",
    "random_saturation 0.2 3",
    "adjust_hue 0.2",
    "random_hue 0.3",
    "random_grayscale 0.5",
    "random_affine 20",
    "color_jitter 0.4 0.4 0.4 0.2",
    "color_jitter 0.4 0.4 flavour=pil",
    "adjust_gamma 2",
    "random_gamma 0.5 2",
    "invert",
    "random_invert",
    "posterize 3",
    "random_posterize 3",
    "solarize 100",
    "random_solarize 100",
    "gaussian_blur 3",
    "gaussian_blur 5 sigma=0.5,2",
    "adjust_sharpness 3",
    "random_sharpness 1 3",
    "random_erasing p=1",
    "cutout 5",
    "adjust_jpeg_quality 30",
    "random_jpeg_quality 20 60",
    "rand_augment",
    "trivial_augment_wide",
    "auto_augment",
    "augmix",
    "random_rotation 0.1 | cast u8",
    "resize 9 9 method=nearest | resize 16 16 method=nearest",
};
static const char *const on_f32[] = {
    "random_rotation 0.1",
    "random_zoom 0.3",
    "random_translation 0.2 0.2",
    "random_shear 0.3",
    "random_perspective",
    "random_elastic_transform",
    "affine rotate=-30,30 shift_x=-3,3",
    "random_color_degeneration 0.7",
    "channel_shift 20",
    "gaussian_noise 4",
    "random_brightness 0.4",
    "per_image_standardization",
    "normalize mean=1,2,3 std=4",
    "rescale 0.5",
    "samplewise",
    "random_flip_left_right | random_rotation 0.1 | random_contrast 0.5 2 | random_flip_up_down",
    "image_data_generator rotation=20 horizontal_flip=true",
    "cutout 5 | random_rotation 0.1",
};

static void test_operations(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(on_u8); i++)
        check_applied("synth 24 16 16 | random_flip_left_right", on_u8[i],
                      i % 2 ? " | random_flip_up_down" : "");
    for (size_t i = 0; i < LEAT_COUNT(on_f32); i++)
        check_applied("synth 24 16 16 | cast f32", on_f32[i], i % 2 ? " | random_brightness 0.1" : "");
    check_applied("synth 24 16 16", "random_flip_up_down", " | cast f32 layout=nchw");
    check_applied("synth 24 16 16 | cast f32", "random_flip_up_down", " | cast f16 layout=nchw");
}

/* Without draws of its own, what is applied is the plain operation. */
static void test_plain(void **state) {
    (void)state;
    static const char *const plain[] = {"invert", "adjust_gamma 2", "rot90 3",
                                        "adjust_jpeg_quality 40 | posterize 3"};
    for (size_t i = 0; i < LEAT_COUNT(plain); i++) {
        char chain[200];
        snprintf(chain, sizeof chain, "random_apply 1 '%s'", plain[i]);
        shots a = shoot("synth 24 16 16", plain[i], ""), b = shoot("synth 24 16 16", chain, "");
        same_tape(&a.t, &b.t, plain[i]);
        tape_free(&a.t), tape_free(&b.t);
    }
}

/* One of several: equal to the same texts with all the weight on that one. */
static void test_choice(void **state) {
    (void)state;
    static const char texts[] = "'gaussian_blur 5 sigma=0.5,3 | invert' 'random_gamma 0.5 2' 'random_flip'";
    static const char *const weights[] = {"1,0,0", "0,1,0", "0,0,1", "2,1,1"};
    shots s[4];
    char chain[300];
    for (int i = 0; i < 4; i++) {
        snprintf(chain, sizeof chain, "random_choice %s weights=%s", texts, weights[i]);
        s[i] = shoot("synth 24 16 16 | shuffle", chain, " | random_flip_left_right");
    }
    int count[3] = {0};
    for (int i = 0; i < N; i++) {
        const int drawn = number_in(s[3].params[i], "random_choice choice=");
        assert_in_range(drawn, 0, 2);
        count[drawn]++;
        if (s[3].t.digest[i] != s[drawn].t.digest[i]) fail_msg("sample %d differs from text %d", i, drawn);
    }
    assert_true(count[0] > 0 && count[1] > 0 && count[2] > 0);
    /* Texts behind, and operations behind, change no draw of those before. */
    shots longer = shoot("synth 24 16 16 | shuffle",
                         "random_choice 'gaussian_blur 5 sigma=0.5,3 | invert' 'invert' weights=1,0",
                         " | random_flip_left_right");
    same_tape(&s[0].t, &longer.t, "another second text");
    tape_free(&longer.t);
    for (int i = 0; i < 4; i++) tape_free(&s[i].t);
}

static void test_inside(void **state) {
    (void)state;
    check_applied("synth 24 16 16", "random_choice \"random_flip\" \"random_gamma 0.5 2 | invert\"", "");
    check_applied("synth 24 16 16", "invert | random_apply 0.7 \"random_posterize 3 p=1\" | random_flip",
                  " | random_apply 0.5 'rot90 2'");
}

/* Inside of data sets that are combined, each part has its own. */
static void test_parts(void **state) {
    (void)state;
    static const char form[] =
        "concatenate 'synth 12 8 8 | random_apply %s random_invert' "
        "'synth 12 8 8 seed=3 | cast f32 | random_apply %s \"random_gamma 0.5 2 | random_flip\" | cast u8'";
    char head[400];
    shots s[3];
    for (int i = 0; i < 3; i++) {
        static const char *const p[] = {"0", "1", "0.5"};
        snprintf(head, sizeof head, form, p[i], p[i]);
        s[i] = shoot(head, "random_apply 0.5 'random_posterize 3 p=1'", " | random_flip_up_down");
    }
    int applied[2] = {0};
    for (int i = 0; i < N; i++) {
        /* The part's own stands behind the one of the whole, which has the same number there. */
        const int on = number_in(strstr(s[2].params[i], "applied=") + 1, "random_apply applied=");
        applied[i / 12] += on;
        if (s[2].t.digest[i] != s[on].t.digest[i]) fail_msg("sample %d differs: %s", i, s[2].params[i]);
        assert_true(s[0].t.digest[i] != s[1].t.digest[i] || i < 12); /* some are not inverted */
    }
    assert_true(applied[0] > 1 && applied[0] < 11 && applied[1] > 1 && applied[1] < 11);
    for (int i = 0; i < 3; i++) tape_free(&s[i].t);
    refuse_spec(spec_of("zip image='synth 4 8 8 | random_apply 0.5 invert' mask='synth 4 8 8' | batch 2"),
                NULL, LEAT_ERR_SYNTAX, "behind zip");
}

/* Threads, restarts and a cache with frozen draws. */
static void test_again(void **state) {
    (void)state;
    static const char text[] =
        "synth 40 16 16 | shuffle | random_apply 0.4 'gaussian_blur 3 sigma=0.2,3 | random_flip' | "
        "random_choice 'invert' 'random_gamma 0.5 2' | cast f32";
    tape one = record_spec(spec_of("%s | batch 4", text), &(leat_config){.n_epochs = 2, .synchronous = 1});
    tape many = record_spec(spec_of("%s | batch 4", text), &(leat_config){.n_epochs = 2, .n_threads = 4});
    same_tape(&one, &many, "threads");
    char saved[2048];
    leat_pipeline *pipeline = open_spec(spec_of("%s | batch 4", text), &(leat_config){.n_epochs = 2});
    tape first = record(pipeline, 7);
    assert_int_equal(leat_pipeline_state(pipeline, saved, sizeof saved, NULL), 0);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("%s | batch 4", text), &(leat_config){.n_epochs = 2});
    assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
    tape rest = record(pipeline, -1);
    same_tail(&one, 7, &rest, "restart");
    leat_pipeline_close(&pipeline);
    tape_free(&one), tape_free(&many), tape_free(&first), tape_free(&rest);
    tape kept = record_spec(
        spec_of("synth 12 8 8 | random_apply 0.5 'random_flip | invert' | cache freeze=true | batch 12"),
        &(leat_config){.n_epochs = 3});
    assert_int_equal(kept.n_batches, 3);
    tape_free(&kept);
    refuse_spec(spec_of("synth 12 8 8 | random_apply 0.5 'invert' | cache | batch 12"), NULL, LEAT_ERR_SYNTAX,
                "random_apply");
}

static void test_refusals(void **state) {
    (void)state;
    static const refusal wrong[] = {
        {"synth | random_apply 0.5 'resize 8 8 method=nearest' | batch 2", LEAT_ERR_SHAPE,
         "keep size and type"},
        {"synth | random_apply 0.5 'random_crop 8' | batch 2", LEAT_ERR_SHAPE,
         "u8 8x8x3 behind it, and u8 64x64x3"},
        {"synth | random_apply 0.5 'rgb_to_grayscale' | batch 2", LEAT_ERR_SHAPE, "64x64x1"},
        {"synth | random_apply 0.5 'random_rotation 0.1' | batch 2", LEAT_ERR_TYPE,
         "cast f32 in front of random_apply"},
        {"synth | cast f32 | random_apply 0.5 'cast u8' | batch 2", LEAT_ERR_SHAPE, "keep size and type"},
        {"synth | random_apply 0.5 'invert | shuffle' | batch 2", LEAT_ERR_SYNTAX,
         "column 36: shuffle: it is not an"},
        {"synth | random_apply 0.5 'decode' | batch 2", LEAT_ERR_SYNTAX, "in front of random_apply"},
        {"synth | random_apply 0.5 'batch 2'", LEAT_ERR_SYNTAX, "not an operation on pictures"},
        {"synth | random_apply 0.5 'select image' | batch 2", LEAT_ERR_SYNTAX,
         "not an operation on pictures"},
        {"synth | random_apply 0.5 'cast label f32' | batch 2", LEAT_ERR_SYNTAX, "works on pictures only"},
        {"synth | cast f32 | random_apply 0.5 'cast f32 layout=nchw' | batch 2", LEAT_ERR_SYNTAX,
         "write layout behind"},
        {"synth | random_apply 0.5 'invrt' | batch 2", LEAT_ERR_SYNTAX, "did you mean 'invert'"},
        {"synth | random_apply 0.5 '' | batch 2", LEAT_ERR_SYNTAX, "missing"},
        {"synth | random_apply 1.5 'invert' | batch 2", LEAT_ERR_ARGUMENT, "p must lie"},
        {"synth | random_choice 'invert' | batch 2", LEAT_ERR_ARGUMENT, "write two, or random_apply"},
        {"synth | random_choice 'invert' 'rot90' weights=1 | batch 2", LEAT_ERR_ARGUMENT,
         "2 texts and 1 weights"},
        {"synth | random_choice 'invert' 'rot90' weights=0,0 | batch 2", LEAT_ERR_ARGUMENT, "above 0"},
        {"synth | random_choice 'invert' 'rot90' weights=1,-1 | batch 2", LEAT_ERR_ARGUMENT, "from 0"},
        {"synth | on_device | random_apply 0.5 'random_flip' | batch 2", LEAT_ERR_UNSUPPORTED,
         "before on_device"},
        {"synth | batch 2 | random_apply 0.5 'random_flip'", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | random_apply 0.5 'invert' | split train by=hash group=image | batch 2",
         LEAT_ERR_UNSUPPORTED, "is decoded or has moved"},
    };
    refuse_all(wrong, LEAT_COUNT(wrong));
    /* Three levels, written with pieces of quotes. */
    refuse_spec(spec_of("synth | random_apply 0.5 'random_apply 0.5 \"random_apply 0.5 invert\"' | batch 2"),
                NULL, LEAT_ERR_LIMIT, "2 deep");
    char text[2000] = "synth 2 8 8";
    for (int i = 0; i < 17; i++) strcat(text, " | random_apply 0.5 invert");
    refuse_spec(spec_of("%s | batch 2", text), NULL, LEAT_ERR_LIMIT, "more than 16");
    tape t = record_spec(
        spec_of("synth 4 8 8 | random_apply 0.5 random_flip | on_device | random_flip | batch 2"), NULL);
    assert_int_equal(t.n_samples, 4);
    tape_free(&t);
    /* Pictures of differing sizes: what keeps their size works, what may change it does not. */
    make_dir(in_dir("sizes"));
    for (int i = 0; i < 3; i++) write_png(in_dir("sizes/%d.png", i), 10 + i, 14 - i, (unsigned)i);
    t = record_spec(
        spec_of("folder %s | decode | random_apply 0.5 'invert | random_flip' | resize 8 8 | batch 3",
                in_dir("sizes")),
        NULL);
    assert_int_equal(t.n_samples, 3);
    tape_free(&t);
    refuse_spec(
        spec_of("folder %s | decode | random_apply 0.5 rot90 | resize 8 8 | batch 3", in_dir("sizes")), NULL,
        LEAT_ERR_SHAPE, "resize it before");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_plain), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_inside),     cmocka_unit_test(test_parts), cmocka_unit_test(test_again),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
