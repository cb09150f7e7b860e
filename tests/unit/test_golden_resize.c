/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing against what Pillow itself and an independent tf.image.resize made of the same pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/pass.h"

#include "golden/resize_golden.h"

/* The same formula as in tests/golden/make/pil_resize.py. */
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

static void check(leat__resample method, int dtype, unsigned flags) {
    leat__image_dsp dsp;
    leat__pass_scratch scratch = {0};
    leat__image_dsp_init(&dsp, flags);
    for (size_t i = 0; i < LEAT_COUNT(resize_golden); i++) {
        const int h = resize_golden[i].height, w = resize_golden[i].width, c = resize_golden[i].channels;
        const size_t bytes = (size_t)h * (size_t)w * (size_t)c;
        leat__pass pass = {.resample = method,
                           .height = resize_golden[i].to_height,
                           .width = resize_golden[i].to_width,
                           .dtype = dtype};
        const size_t n = (size_t)pass.height * (size_t)pass.width * (size_t)c;
        const size_t out_bytes = n * (dtype == LEAT_DTYPE_F32 ? sizeof(float) : 1);
        uint8_t *src = leat__alloc(LEAT_MEM_TOOL, bytes), *dst = leat__alloc(LEAT_MEM_TOOL, out_bytes);
        assert_non_null(src);
        assert_non_null(dst);
        fill(src, bytes, (uint32_t)i);
        leat__rows rows = {.height = h,
                           .width = w,
                           .channels = c,
                           .dtype = LEAT_DTYPE_U8,
                           .data = src,
                           .stride = (ptrdiff_t)w * c};
        leat_error err;
        assert_int_equal(leat__pass_run(&pass, &dsp, &rows, dst, &scratch, &err), 0);
        const uint64_t want = method == LEAT_RESAMPLE_PIL_BILINEAR  ? resize_golden[i].pil
                              : method == LEAT_RESAMPLE_TF_BILINEAR ? resize_golden[i].tf_bilinear
                                                                    : resize_golden[i].tf_nearest;
        if (digest(dst, out_bytes) != want)
            fail_msg("entry %zu: %dx%dx%d to %dx%d", i, h, w, c, pass.height, pass.width);
        leat__free(src);
        leat__free(dst);
    }
    leat__pass_scratch_free(&scratch);
}

static void test_pil(void **state) {
    (void)state;
    check(LEAT_RESAMPLE_PIL_BILINEAR, LEAT_DTYPE_U8, 0);
    check(LEAT_RESAMPLE_PIL_BILINEAR, LEAT_DTYPE_U8, leat__cpu_flags());
}

static void test_tf_bilinear(void **state) {
    (void)state;
    check(LEAT_RESAMPLE_TF_BILINEAR, LEAT_DTYPE_F32, 0);
    check(LEAT_RESAMPLE_TF_BILINEAR, LEAT_DTYPE_F32, leat__cpu_flags());
}

static void test_tf_nearest(void **state) {
    (void)state;
    check(LEAT_RESAMPLE_TF_NEAREST, LEAT_DTYPE_U8, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pil),
        cmocka_unit_test(test_tf_bilinear),
        cmocka_unit_test(test_tf_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
