/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* What is encoded decodes to what it was: exactly for PNG, nearly for JPEG. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decode/decode.h"
#include "source/source.h"
#include "tools/encode.h"

enum { SIDE_MAX = 300 };
static uint8_t picture[SIDE_MAX * SIDE_MAX * 4], back[SIDE_MAX * SIDE_MAX * 4];

static leat__picture_info decode(const leat__buf *file, int channels) {
    leat_error err;
    leat__decoder *decoder = leat__decoder_new(&err);
    const leat__decode_options options = {.channels = channels};
    leat__picture_info info;
    assert_non_null(decoder);
    assert_int_equal(leat__decode_begin(decoder, file->data, file->size, &options, &info, &err), 0);
    assert_true(info.width <= SIDE_MAX && info.height <= SIDE_MAX);
    assert_int_equal(
        leat__decode_rows(decoder, back, (ptrdiff_t)info.width * info.channels, info.height, &err), 0);
    assert_int_equal(leat__decode_end(decoder, &err), 0);
    leat__decoder_free(&decoder);
    return info;
}

static double difference(size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)(picture[i] > back[i] ? picture[i] - back[i] : back[i] - picture[i]);
    return (double)sum / (double)n;
}

static void png_is_exact(void **state) {
    (void)state;
    static const int sides[][2] = {{1, 1}, {1, 300}, {300, 1}, {7, 5}, {63, 300}};
    leat_error err;
    leat__encoder *encoder = leat__encoder_new(&err);
    leat__buf file = {0};
    assert_non_null(encoder);
    for (size_t i = 0; i < LEAT_COUNT(sides); i++) {
        for (int channels = 1; channels <= 4; channels++) {
            const leat__pixels p = {
                .data = picture, .height = sides[i][0], .width = sides[i][1], .channels = channels};
            const size_t n = (size_t)p.height * (size_t)p.width * (size_t)channels;
            for (size_t k = 0; k < n; k++) picture[k] = (uint8_t)(k * 37 + k / 11 + i);
            assert_int_equal(leat__encode_png(encoder, &file, &p, &err), 0);
            const leat__picture_info info = decode(&file, channels == 2 ? 4 : channels);
            assert_int_equal(info.codec, LEAT_CODEC_PNG);
            assert_int_equal(info.stored_channels, channels);
            if (channels != 2) assert_memory_equal(picture, back, n);
            else
                for (size_t k = 0; k < n / 2; k++)
                    assert_true(back[4 * k] == picture[2 * k] && back[4 * k + 3] == picture[2 * k + 1]);
        }
    }
    leat__buf_free(&file);
    leat__encoder_free(&encoder);
    assert_null(encoder);
}

static void jpeg_is_near(void **state) {
    (void)state;
    leat_error err;
    leat__encoder *encoder = leat__encoder_new(&err);
    leat__buf file = {0};
    leat__synth_paint(picture, 200, 300, 3, 3, 1);
    size_t sizes[2][2];
    for (int full = 0; full < 2; full++) {
        for (int fine = 0; fine < 2; fine++) {
            const leat__pixels p = {.data = picture, .height = 200, .width = 300, .channels = 3};
            assert_int_equal(leat__encode_jpeg(encoder, &file, &p, fine ? 98 : 60, full, &err), 0);
            const leat__picture_info info = decode(&file, 3);
            assert_int_equal(info.codec, LEAT_CODEC_JPEG);
            assert_int_equal(info.width, 300);
            assert_int_equal(info.height, 200);
            assert_false(info.progressive);
            if (fine && full) assert_true(difference(200 * 300 * 3) < 1.5);
            else assert_true(difference(200 * 300 * 3) < 12);
            sizes[full][fine] = file.size;
        }
    }
    assert_true(sizes[0][0] < sizes[0][1] && sizes[1][0] < sizes[1][1] && sizes[0][1] < sizes[1][1]);
    leat__synth_paint(picture, 33, 17, 1, 3, 1);
    const leat__pixels gray = {.data = picture, .height = 33, .width = 17, .channels = 1};
    assert_int_equal(leat__encode_jpeg(encoder, &file, &gray, 98, false, &err), 0);
    assert_int_equal(decode(&file, 0).channels, 1);
    assert_true(difference(33 * 17) < 1.5);
    leat__buf_free(&file);
    leat__encoder_free(&encoder);
}

/* A picture becomes the same bytes whatever the encoder did before, and however its rows lie in memory. */
static void encoders_remember_nothing(void **state) {
    (void)state;
    leat_error err;
    leat__encoder *used = leat__encoder_new(&err), *fresh = leat__encoder_new(&err);
    leat__buf a = {0}, b = {0};
    for (int y = 0; y < 50; y++) leat__synth_paint(picture + y * 400, 1, 100, 3, y, (uint64_t)y);
    static uint8_t tight[50 * 300];
    for (int y = 0; y < 50; y++) memcpy(tight + y * 300, picture + y * 400, 300);
    const leat__pixels wide = {.data = picture, .height = 50, .width = 100, .channels = 3, .stride = 400};
    const leat__pixels same = {.data = tight, .height = 50, .width = 100, .channels = 3};
    const leat__pixels other = {.data = picture, .height = 9, .width = 90, .channels = 1};
    assert_int_equal(leat__encode_jpeg(used, &a, &other, 30, true, &err), 0);
    assert_int_equal(leat__encode_png(used, &a, &other, &err), 0);
    for (int full = 0; full < 2; full++) {
        assert_int_equal(leat__encode_jpeg(used, &a, &wide, 90, full, &err), 0);
        assert_int_equal(leat__encode_jpeg(fresh, &b, &same, 90, full, &err), 0);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
    }
    assert_int_equal(leat__encode_png(used, &a, &wide, &err), 0);
    assert_int_equal(leat__encode_png(fresh, &b, &same, &err), 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    leat__buf_free(&a);
    leat__buf_free(&b);
    leat__encoder_free(&used);
    leat__encoder_free(&fresh);
}

static void impossible_pictures_are_refused(void **state) {
    (void)state;
    leat_error err;
    leat__encoder *encoder = leat__encoder_new(&err);
    leat__buf file = {0};
    static const leat__pixels bad[] = {{picture, 0, 10, 3, 0},  {picture, 10, 0, 3, 0},
                                       {picture, 10, -1, 3, 0}, {picture, 10, 10, 0, 0},
                                       {picture, 10, 10, 5, 0}, {picture, 1, 70000000, 1, 0}};
    for (size_t i = 0; i < LEAT_COUNT(bad); i++) {
        assert_int_equal(leat__encode_jpeg(encoder, &file, &bad[i], 90, false, &err), LEAT_ERR_LIMIT);
        assert_int_equal(leat__encode_png(encoder, &file, &bad[i], &err), LEAT_ERR_LIMIT);
        assert_non_null(strstr(err.message, "cannot be stored"));
    }
    const leat__pixels two = {picture, 10, 10, 2, 0};
    assert_int_equal(leat__encode_jpeg(encoder, &file, &two, 90, false, &err), LEAT_ERR_LIMIT);
    leat__buf_free(&file);
    leat__encoder_free(&encoder);
}

static void no_memory_is_told_and_survived(void **state) {
    (void)state;
    leat_error err;
    for (int kind = 0; kind < 2; kind++) {
        bool good = false;
        for (uint64_t n = 1; n < 200 && !good; n++) {
            leat__buf file = {0};
            leat__synth_paint(picture, 200, 300, 3, 3, 1);
            const leat__pixels p = {.data = picture, .height = 200, .width = 300, .channels = 3};
            leat__mem_fail_at(n);
            leat__encoder *encoder = leat__encoder_new(&err);
            const int rc = !encoder ? LEAT_ERR_MEMORY
                           : kind   ? leat__encode_png(encoder, &file, &p, &err)
                                    : leat__encode_jpeg(encoder, &file, &p, 100, true, &err);
            leat__mem_fail_at(0);
            good = rc == 0;
            if (!good) assert_int_equal(rc, LEAT_ERR_MEMORY);
            /* It works again afterwards. */
            if (encoder) assert_int_equal(leat__encode_jpeg(encoder, &file, &p, 80, false, &err), 0);
            if (encoder) assert_int_equal(leat__encode_png(encoder, &file, &p, &err), 0);
            leat__encoder_free(&encoder);
            leat__buf_free(&file);
        }
        assert_true(good);
    }
}

/* A picture of any size, of any class, and across the seam of two blocks of columns. */
static void practice_pictures_fit_their_memory(void **state) {
    (void)state;
    static const int sides[][2] = {{1, 1}, {2, 3}, {300, 1}, {1, 4096}, {33, 1025}, {17, 1024}, {5, 2050}};
    for (size_t i = 0; i < LEAT_COUNT(sides); i++) {
        for (int channels = 1; channels <= 4; channels++) {
            const size_t n = (size_t)sides[i][0] * (size_t)sides[i][1] * (size_t)channels;
            uint8_t *a = leat__alloc(LEAT_MEM_TOOL, n), *b = leat__alloc(LEAT_MEM_TOOL, n);
            for (int label = 0; label < 45; label += 11) {
                leat__synth_paint(a, sides[i][0], sides[i][1], channels, label, 5);
                memset(b, 1, n);
                leat__synth_paint(b, sides[i][0], sides[i][1], channels, label, 5);
                assert_memory_equal(a, b, n);
            }
            leat__free(a);
            leat__free(b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_is_exact),
        cmocka_unit_test(jpeg_is_near),
        cmocka_unit_test(encoders_remember_nothing),
        cmocka_unit_test(impossible_pictures_are_refused),
        cmocka_unit_test(no_memory_is_told_and_survived),
        cmocka_unit_test(practice_pictures_fit_their_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
