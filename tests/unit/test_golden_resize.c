/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Resizing against what Pillow and TensorFlow themselves made of the same pictures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/pass/pass.h"

#include "golden/resize_golden.h"
#include "golden/tf_resize_golden.h"

/* tf.image's lanczos takes sines from the C library, in float32; they differ in the last bit now and then. Of
 * values from 0 to 255, over many sizes, 1.4e-4 was the most that came of it. */
#define LANCZOS_BOUND 2.5e-4f

static leat__image_dsp dsp[2]; /* plain C, and all that this machine has */
static leat__pass_scratch scratch;

/* The same formula as in tests/golden/make/resize_cases.py. */
static void fill(uint8_t *out, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u + 12345u;
        x ^= x >> 15;
        x *= 2246822519u;
        x ^= x >> 13;
        out[i] = seed % 3 == 0 ? (x & 1 ? 255 : 0) : (uint8_t)x;
    }
}

static uint64_t digest(const uint8_t *bytes, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* size: height, width, to height, to width, channels. The result is the caller's. */
static uint8_t *resized(leat__resample method, int isa, const int size[5], uint32_t seed, size_t *bytes) {
    const size_t n_in = (size_t)size[0] * (size_t)size[1] * (size_t)size[4];
    const bool f32 = leat__resample_gives_f32(method);
    *bytes = (size_t)size[2] * (size_t)size[3] * (size_t)size[4] * (f32 ? sizeof(float) : 1);
    uint8_t *src = leat__alloc(LEAT_MEM_TOOL, n_in), *dst = leat__alloc(LEAT_MEM_TOOL, *bytes);
    assert_non_null(src);
    assert_non_null(dst);
    fill(src, n_in, seed);
    leat__pass pass = {.resample = method,
                       .height = size[2],
                       .width = size[3],
                       .dtype = f32 ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8};
    leat__rows rows = {.height = size[0],
                       .width = size[1],
                       .channels = size[4],
                       .dtype = LEAT_DTYPE_U8,
                       .data = src,
                       .stride = (ptrdiff_t)size[1] * size[4]};
    leat_error err;
    assert_int_equal(leat__pass_run(&pass, &dsp[isa], &rows, dst, &scratch, &err), 0);
    leat__free(src);
    return dst;
}

static void check_digest(leat__resample method, size_t i, uint64_t want) {
    const int size[5] = {resize_golden[i].height, resize_golden[i].width, resize_golden[i].to_height,
                         resize_golden[i].to_width, resize_golden[i].channels};
    for (int isa = 0; isa < 2; isa++) {
        size_t bytes;
        uint8_t *got = resized(method, isa, size, (uint32_t)i, &bytes);
        if (digest(got, bytes) != want)
            fail_msg("method %d, entry %zu: %dx%dx%d to %dx%d", (int)method, i, size[0], size[1], size[4],
                     size[2], size[3]);
        leat__free(got);
    }
}

static void test_pil(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(resize_golden); i++)
        for (int m = 0; m < (int)LEAT_COUNT(resize_golden[i].pil); m++)
            check_digest((leat__resample)(LEAT_RESAMPLE_PIL_NEAREST + m), i, resize_golden[i].pil[m]);
}

static void test_tf(void **state) {
    static const leat__resample methods[] = {
        LEAT_RESAMPLE_TF_NEAREST,     LEAT_RESAMPLE_TF_BILINEAR,    LEAT_RESAMPLE_TF_BICUBIC,
        LEAT_RESAMPLE_TF_AREA,        LEAT_RESAMPLE_TF_BILINEAR_AA, LEAT_RESAMPLE_TF_BICUBIC_AA,
        LEAT_RESAMPLE_TF_GAUSSIAN,    LEAT_RESAMPLE_TF_GAUSSIAN_AA, LEAT_RESAMPLE_TF_MITCHELL,
        LEAT_RESAMPLE_TF_MITCHELL_AA,
    };
    (void)state;
    assert_int_equal(LEAT_COUNT(resize_golden), LEAT_COUNT(tf_resize_golden));
    for (size_t i = 0; i < LEAT_COUNT(tf_resize_golden); i++)
        for (size_t m = 0; m < LEAT_COUNT(methods); m++)
            check_digest(methods[m], i, tf_resize_golden[i].tf[m]);
}

static void test_tf_lanczos(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(tf_lanczos_golden); i++) {
        const int size[5] = {tf_lanczos_golden[i].height, tf_lanczos_golden[i].width,
                             tf_lanczos_golden[i].to_height, tf_lanczos_golden[i].to_width,
                             tf_lanczos_golden[i].channels};
        const float *want = tf_lanczos_values + tf_lanczos_golden[i].first;
        for (int r = LEAT_RESAMPLE_TF_LANCZOS3; r <= LEAT_RESAMPLE_TF_LANCZOS5_AA; r++) {
            size_t bytes;
            float *got = (float *)(void *)resized((leat__resample)r, 1, size, 1000 + (uint32_t)i, &bytes);
            for (size_t k = 0; k < bytes / sizeof(float); k++)
                if (!(fabsf(got[k] - want[k]) <= LANCZOS_BOUND))
                    fail_msg("method %d, entry %zu, value %zu: %.9g, not %.9g", r, i, k, (double)got[k],
                             (double)want[k]);
            want += bytes / sizeof(float);
            leat__free(got);
        }
    }
}

int main(void) {
    leat__image_dsp_init(&dsp[0], 0);
    leat__image_dsp_init(&dsp[1], leat__cpu_flags());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pil),
        cmocka_unit_test(test_tf),
        cmocka_unit_test(test_tf_lanczos),
    };
    const int rc = cmocka_run_group_tests(tests, NULL, NULL);
    leat__pass_scratch_free(&scratch);
    return rc;
}
