/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Functions of the program that filter and make fields, labels that are renumbered, and what else depends on which
 * samples there are. */
#include "unit/testing_choices.h"

typedef struct counted {
    int calls, within, together;
} counted;

static void enter(counted *c) {
    const int within = __atomic_add_fetch(&c->within, 1, __ATOMIC_SEQ_CST);
    if (within > 1) __atomic_store_n(&c->together, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&c->calls, 1, __ATOMIC_SEQ_CST);
}

static void leave(counted *c) {
    __atomic_sub_fetch(&c->within, 1, __ATOMIC_SEQ_CST);
}

static const leat_tensor *tensor_of(const leat_tensor *t, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0) return &t[i];
    fail_msg("no field %s", name);
    return NULL;
}

static int every_third(void *user, const leat_sample_info *info, const leat_tensor *fields, int n,
                       leat_error *err) {
    counted *c = user;
    enter(c);
    const int64_t width = *(const int64_t *)tensor_of(fields, n, "image/width")->data;
    leave(c);
    if (width == 131) {
        snprintf(err->message, sizeof err->message, "I do not like\nit");
        return LEAT_ERR_DECODE;
    }
    assert_int_equal(width, 100 + (int64_t)info->sample);
    assert_true(info->epoch == 0 && info->position == info->sample);
    return width % 3 == 0;
}

static void test_filter_callback(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        counted c = {0};
        leat_spec *spec = spec_of("%s | filter 'image/width != 131' | filter callback=third | batch 4",
                                  k % 2 ? stream : records);
        leat_spec_filter(spec, "third", every_third, &c, k / 2);
        tape t = record_spec(spec, &(leat_config){.n_threads = 3});
        assert_int_equal(t.n_samples, 20);
        for (int i = 0; i < 20; i++) assert_int_equal(t.sample[i], 2 + 3 * i);
        assert_true(c.calls >= 59 && (k / 2 || !c.together));
        tape_free(&t);
    }
    counted c = {0};
    leat_spec *spec = spec_of("%s | filter callback=third", records);
    leat_spec_filter(spec, "third", every_third, &c, 1);
    refuse_spec(spec, NULL, LEAT_ERR_DECODE, "record 31 at byte");
    spec = spec_of("%s | filter callback=third", records);
    leat_spec_filter(spec, "", every_third, &c, 1);
    refuse_spec(spec, NULL, LEAT_ERR_ARGUMENT, "leat_spec_filter");
}

/* score: the width times two; image: its pixels and where they came from. */
static int make_fields(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                       const leat_tensor *out, int n_out, leat_error *err) {
    counted *c = user;
    const uint64_t sample = info->sample;
    (void)err;
    enter(c);
    const leat_tensor *image = tensor_of(in, n_in, "image"), *pixels = tensor_of(out, n_out, "image");
    assert_true(image->ndim == 3 && image->shape[0] == 4 && image->stride[0] == 12 &&
                image->dtype == LEAT_DTYPE_U8);
    assert_true(pixels->ndim == 3 && pixels->shape[2] == 2 && pixels->dtype == LEAT_DTYPE_U8);
    for (int i = 0; i < 16; i++) {
        ((uint8_t *)pixels->data)[i * 2] = ((const uint8_t *)image->data)[i * 3];
        ((uint8_t *)pixels->data)[i * 2 + 1] = (uint8_t)sample;
    }
    *(double *)tensor_of(out, n_out, "score")->data = (double)sample * 2;
    leave(c);
    return sample == 70 ? LEAT_ERR_FORMAT : 0;
}

static void test_map_callback(void **state) {
    (void)state;
    for (int safe = 0; safe < 2; safe++)
        for (int threads = 1; threads < 4; threads += 2) {
            counted c = {0};
            leat_spec *spec =
                spec_of("synth 64 4 4 | random_flip_left_right | map score:f64 image:u8[4,4,2] callback=f | "
                        "cast layout=nchw u8 | batch 4");
            leat_spec_map(spec, "f", make_fields, &c, safe);
            leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = threads});
            leat_batch b;
            for (int step = 0; leat_pipeline_next(pipeline, &b, NULL) == 0; step++) {
                assert_int_equal(b.n_tensors, 3);
                const leat_tensor *image = tensor_of(b.tensor, 3, "image"),
                                  *score = tensor_of(b.tensor, 3, "score");
                assert_true(image->ndim == 4 && image->shape[1] == 2 && image->shape[2] == 4);
                for (int i = 0; i < b.n; i++) {
                    assert_true(((const double *)score->data)[i] == 2.0 * (step * 4 + i));
                    assert_int_equal(((const uint8_t *)image->data)[i * 32 + 16], step * 4 + i);
                }
                leat_batch_release(&b);
            }
            leat_pipeline_close(&pipeline);
            assert_true(c.calls >= 64 && (safe || !c.together));
        }
    counted c = {0};
    leat_spec *spec = spec_of("synth 80 4 4 | map score:f64 image:u8[4,4,2] callback=f | batch 8");
    leat_spec_map(spec, "f", make_fields, &c, 1);
    tape t = record_spec(spec, NULL);
    assert_true(t.rc == LEAT_ERR_FORMAT && t.n_batches == 8 && strstr(t.message, "map callback=f"));
    tape_free(&t);
    static const char *const wrong[] = {"x",
                                        "x:q",
                                        "x:bytes",
                                        "x:f32[",
                                        "x:f32[]",
                                        "x:f32[1",
                                        "x:f32[1,]",
                                        "x:f32[-1]",
                                        "x:f32[1]2",
                                        ":f32",
                                        "x:f32[1,1,1,1,1,1]",
                                        "x:f32[2000000000,2000000000]",
                                        "x:f32 x:f32"};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        spec = spec_of("synth 9 4 4 | map %s callback=f", wrong[i]);
        leat_spec_map(spec, "f", make_fields, &c, 1);
        leat_pipeline *pipeline;
        leat_error err;
        if (leat_pipeline_open(&pipeline, spec, NULL, &err) >= 0) fail_msg("%s", wrong[i]);
        leat_spec_free(&spec);
    }
}

/* ---------------------------------------------------------------------------------------------- labels */

static int64_t number_at(const leat_batch *b, const char *name, int i) {
    return ((const int64_t *)tensor_of(b->tensor, b->n_tensors, name)->data)[i];
}

static void test_labels(void **state) {
    (void)state;
    static const char map[] = "# a comment\nant 7\n\nbig cat\t8\r\nbee=9";
    write_file(in_dir("map.txt"), map, strlen(map));
    leat_pipeline *pipeline =
        open_spec(spec_of("%s | label_map file=%s | enumerate | enumerate number of=sample "
                          "| shuffle seed=3 | select label index "
                          "number | batch 8",
                          folder, in_dir("map.txt")),
                  &(leat_config){.n_epochs = 2});
    leat_batch b;
    for (int k = 0; leat_pipeline_next(pipeline, &b, NULL) == 0;) {
        for (int i = 0; i < b.n; i++, k++) {
            const uint64_t s = b.sample[i];
            assert_int_equal(number_at(&b, "label", i), s < 36 ? 7 : s < 54 ? 9 : 8);
            assert_int_equal(number_at(&b, "index", i), k % N);
            assert_int_equal(number_at(&b, "number", i), s);
        }
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
    /* As many classes as the map has, and filters see the new numbers. */
    pipeline = open_spec(
        spec_of("%s | label_map 0=2,1=-1 default=5 | filter label > 0 | one_hot | batch 4", records), NULL);
    leat_field fields[8];
    assert_int_equal(leat_pipeline_fields(pipeline, fields, 8), 4);
    assert_true(fields[0].shape[0] == 6 && leat_pipeline_samples(pipeline) == 48);
    leat_pipeline_close(&pipeline);
    tape t = record_spec(spec_of("%s | label_map 0=1,1=0,2=0,3=0 | batch 4", records), NULL);
    assert_true(t.rc == LEAT_ERR_NOT_FOUND && strstr(t.message, "label 4 is not in the map"));
    tape_free(&t);
    refuse_spec(spec_of("%s | label_map 'ant=0' | filter label == ant", folder), NULL, LEAT_ERR_SYNTAX,
                "renumbered");
    refuse_spec(spec_of("%s | label_map 'ent=0'", folder), NULL, LEAT_ERR_NOT_FOUND, "did you mean 'ant'");
    refuse_spec(spec_of("%s | enumerate | cache | batch 2", records), NULL, LEAT_ERR_SYNTAX, "enumerate");
}

/* Shapes come from samples that are there. */
static void test_probe(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) add_sample(&shard, i, i < 20 ? 12 : 27);
    write_file(in_dir("sizes.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("sizes.gz"), &shard, GZIP_BITS);
    for (int k = 0; k < 2; k++) {
        leat_pipeline *pipeline = open_spec(
            spec_of(
                "tfrecord %s | parse image:bytes label:int64 | filter label>=20 | decode_raw u8 | batch 5",
                in_dir(k ? "sizes.gz" : "sizes.tfrecord")),
            NULL);
        leat_field fields[2];
        assert_int_equal(leat_pipeline_fields(pipeline, fields, 2), 2);
        assert_int_equal(fields[0].shape[0], 27);
        tape t = record(pipeline, -1);
        assert_true(t.rc == LEAT_END && t.n_samples == 20 && t.sample[0] == 20);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
}

/* A choice is part of what a state belongs to. */
static void test_state_knows_the_choice(void **state) {
    (void)state;
    counted c = {0};
    char saved[1024];
    leat_error err;
    leat_spec *spec = spec_of(
        "%s | filter 'label != 1' | filter callback=third | batch 4 | options on_error=skip", records);
    leat_spec_filter(spec, "third", every_third, &c, 1);
    leat_pipeline *pipeline = open_spec(spec, NULL);
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, &err) == 0);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), 0);
    leat_pipeline_close(&pipeline);
    pipeline =
        open_spec(spec_of("%s | filter 'label != 1' | batch 4 | options on_error=skip", records), NULL);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_callback),
        cmocka_unit_test(test_map_callback),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_state_knows_the_choice),
    };
    return cmocka_run_group_tests_name("callbacks", tests, begin, end_files);
}
