/* SPDX-License-Identifier: Apache-2.0 */
/* on_device: pictures go out untouched, and beside them the numbers that the same text draws without it. What a device
 * makes of them is compared with the kernels in tests/python/test_device.py. */
#include "unit/testing.h"

#define CHAIN                                                                                           \
    "random_flip_left_right | random_translation 0.3 0.2 | random_contrast 0.5 1.5 | random_hue 0.3 | " \
    "normalize mean=1,2,3 std=2 | batch 8"
enum { FLIP = 0, MATRIX = 2, CONTRAST = 10, HUE = 11, AFFINE = 12, NUMBERS = 20, SAMPLES = 24 };

static const char drawn_text[] = "random_flip_left_right flip=%lf; random_translation y=%lf x=%lf; "
                                 "random_contrast factor=%lf; random_hue delta=%lf";

static void read_drawn(const char *text, double out[5]) {
    if (sscanf(text, drawn_text, &out[0], &out[1], &out[2], &out[3], &out[4]) != 5) fail_msg("%s", text);
}

/* The draws of a text are the same with on_device and without it, wherever it stands among operations that draw nothing. */
static void test_same_draws(void **state) {
    (void)state;
    const leat_config config = {.seed = 5, .params = 1, .n_threads = 2, .n_epochs = 2};
    leat_pipeline *plain = open_spec(spec_of("synth 24 6 8 | shuffle | " CHAIN), &config);
    leat_pipeline *sent = open_spec(spec_of("synth 24 6 8 | shuffle | on_device | " CHAIN), &config);
    leat_pipeline *bare = open_spec(spec_of("synth 24 6 8 | shuffle | batch 8"), &config);
    for (int step = 0; step < 2 * SAMPLES / 8; step++) {
        leat_batch a, b, c;
        assert_int_equal(leat_pipeline_next(plain, &a, NULL), 0);
        assert_int_equal(leat_pipeline_next(sent, &b, NULL), 0);
        assert_int_equal(leat_pipeline_next(bare, &c, NULL), 0);
        const leat_tensor *image = &b.tensor[0], *drawn = &b.tensor[2];
        assert_int_equal(b.n_tensors, 3);
        assert_string_equal(drawn->name, "drawn");
        assert_int_equal(image->dtype, LEAT_DTYPE_U8);
        assert_memory_equal(image->data, c.tensor[0].data, 8 * 6 * 8 * 3);
        assert_int_equal(drawn->shape[1], NUMBERS);
        for (int i = 0; i < 8; i++) {
            const float *x = (const float *)drawn->data + (size_t)i * NUMBERS;
            double want[5];
            assert_string_equal(leat_batch_params(&a, i), leat_batch_params(&b, i));
            read_drawn(leat_batch_params(&a, i), want);
            const float matrix[8] = {1, 0, (float)-want[2], 0, 1, (float)-want[1], 0, 0};
            assert_true(x[FLIP] == (float)want[0] && x[FLIP + 1] == 0);
            for (int k = 0; k < 8; k++) assert_float_equal(x[MATRIX + k], matrix[k], 1e-5);
            assert_float_equal(x[CONTRAST], want[3], 1e-6);
            assert_float_equal(x[HUE], want[4], 1e-6);
            for (int k = 0; k < 3; k++)
                assert_true(x[AFFINE + k] == 0.5f && x[AFFINE + 4 + k] == -0.5f * (float)(k + 1));
        }
        leat_batch_release(&a);
        leat_batch_release(&b);
        leat_batch_release(&c);
    }
    leat_pipeline_close(&plain);
    leat_pipeline_close(&sent);
    leat_pipeline_close(&bare);
}

/* Four amounts in the order in which they are done, then that order. */
static void test_jitter(void **state) {
    (void)state;
    static const char names[] = "bcsh";
    const leat_config config = {.seed = 2, .params = 1, .synchronous = 1};
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 64 4 4 | on_device | color_jitter 0.4 0.4 0.4 0.3 | batch 64"), &config);
    leat_batch batch;
    assert_int_equal(leat_pipeline_next(pipeline, &batch, NULL), 0);
    int first[4] = {0};
    for (int i = 0; i < 64; i++) {
        const float *x = (const float *)batch.tensor[2].data + (size_t)i * 5;
        double amount[4];
        char order[8];
        assert_int_equal(sscanf(leat_batch_params(&batch, i),
                                "color_jitter brightness=%lf contrast=%lf saturation=%lf hue=%lf order=%4s",
                                &amount[0], &amount[1], &amount[2], &amount[3], order),
                         5);
        amount[3] = (int)(amount[3] * 255) & 255; /* as Pillow's hue is turned */
        int digits = 0;
        for (int k = 0; k < 4; k++) {
            const int part = (int)(strchr(names, order[k]) - names);
            first[part] += k == 0;
            digits = 10 * digits + part + 1;
            assert_float_equal(x[k], amount[part], 1e-6);
        }
        assert_true(x[4] == (float)digits);
    }
    for (int k = 0; k < 4; k++) assert_true(first[k] > 4);
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);
}

static void test_refused(void **state) {
    (void)state;
    const struct {
        const char *text;
        int code;
        const char *part;
    } cases[] = {
        {"synth | on_device | resize 8 8 | batch 2", LEAT_ERR_UNSUPPORTED, "write it before on_device"},
        {"synth | on_device | rand_augment | batch 2", LEAT_ERR_UNSUPPORTED, "write it before on_device"},
        {"synth | on_device | on_device | batch 2", LEAT_ERR_UNSUPPORTED, "write it before on_device"},
        {"synth | on_device | affine rotate=9 order=3 | batch 2", LEAT_ERR_UNSUPPORTED, "splines"},
        {"synth | on_device | normalize dtype=f16 | batch 2", LEAT_ERR_UNSUPPORTED, "f32"},
        {"synth | on_device | cast f16 | batch 2", LEAT_ERR_UNSUPPORTED, "f32"},
        {"synth | on_device | normalize layout=nchw | batch 2", LEAT_ERR_UNSUPPORTED, "channels last"},
        {"synth | on_device | random_rotation 0.1 | color_jitter 0.1 | batch 2", LEAT_ERR_TYPE, "u8"},
        {"synth | on_device | cache | batch 2", LEAT_ERR_SYNTAX, "cache before on_device"},
        {"synth | batch 2 | on_device", LEAT_ERR_SYNTAX, "before batch"},
        {"synth | cast f32 | on_device | batch 2", LEAT_ERR_TYPE, "u8"},
        {"synth | enumerate drawn | on_device | batch 2", LEAT_ERR_SYNTAX, "drawn already"},
        {"synth | on_device | one_hot label 10 | batch 4 | mixup", LEAT_ERR_UNSUPPORTED, "on the device"},
        {"synth | on_device | random_hue 0.1 | filter \"drawn > 0\" | batch 2", LEAT_ERR_UNSUPPORTED,
         "drawn"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_spec(spec_of("%s", cases[i].text), NULL, cases[i].code, cases[i].part);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_draws),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
