/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* What all codecs share: detection, limits, orientation, the life of a decoder, and any bytes at all. */
#include "test_decode_inputs.h"

#include <webp/encode.h>

/* Small files of each kind. */
static blob small_bmp(void) {
    blob b = {0};
    put(&b, "BM", 2), put32(&b, 0), put32(&b, 0), put32(&b, 54), put32(&b, 40);
    put32(&b, 3), put32(&b, 2), put16(&b, 1), put16(&b, 24);
    for (int i = 0; i < 6; i++) put32(&b, 0);
    for (int i = 0; i < 24; i++) put8(&b, (unsigned)i * 9);
    return b;
}

static blob small_gif(void) { /* 2 x 2: colours 0 1 1 0 */
    static const uint8_t bytes[] = {0x47, 0x49, 0x46, 0x38, 0x37, 0x61, 0x02, 0x00, 0x02, 0x00, 0x81, 0x00,
                                    0x00, 0x0a, 0x14, 0x1e, 0xc8, 0x64, 0x32, 0x00, 0x00, 0x00, 0x00, 0x00,
                                    0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x00, 0x08,
                                    0x07, 0x00, 0x01, 0x04, 0x08, 0x00, 0x20, 0x20, 0x00, 0x3b};
    blob b = {0};
    put(&b, bytes, sizeof bytes);
    return b;
}

static blob small_png(void) { /* 2 x 2, RGB: 0, 20, 40, ... */
    static const uint8_t bytes[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
        0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
        0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x64, 0x10, 0xd1, 0xb0,
        0xb1, 0xb1, 0x61, 0xa8, 0xe8, 0x59, 0xb0, 0xe5, 0xc4, 0x1d, 0x00, 0x15, 0xac, 0x04, 0xee, 0xbb,
        0xa8, 0xf9, 0xce, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
    blob b = {0};
    put(&b, bytes, sizeof bytes);
    return b;
}

static blob small_webp(void) {
    blob pixels = pattern(9, 7, 3), b = {0};
    uint8_t *bytes = NULL;
    const size_t n = WebPEncodeLosslessRGB(pixels.data, 9, 7, 27, &bytes);
    put(&b, bytes, n);
    WebPFree(bytes);
    free(pixels.data);
    return b;
}

static void detection(void **unused) {
    (void)unused;
    static const struct {
        leat__codec codec;
        const char *name;
    } names[] = {{LEAT_CODEC_JPEG, "jpeg"}, {LEAT_CODEC_PNG, "png"}, {LEAT_CODEC_WEBP, "webp"},
                 {LEAT_CODEC_GIF, "gif"},   {LEAT_CODEC_BMP, "bmp"}, {LEAT_CODEC_UNKNOWN, "unknown"}};
    for (size_t i = 0; i < LEAT_COUNT(names); i++)
        assert_string_equal(leat__codec_name(names[i].codec), names[i].name);
    assert_string_equal(leat__codec_name(LEAT_CODEC_COUNT), "unknown");
    assert_int_equal(leat__codec_detect((const uint8_t *)"\xff\xd8\xff\xe0", 4), LEAT_CODEC_JPEG);
    assert_int_equal(leat__codec_detect((const uint8_t *)"\xff\xd8\xff\xe0", 2), LEAT_CODEC_UNKNOWN);
    assert_int_equal(leat__codec_detect((const uint8_t *)"\x89PNG\r\n\x1a\n", 8), LEAT_CODEC_PNG);
    assert_int_equal(leat__codec_detect((const uint8_t *)"\x89PNG\r\n\x1a\n", 7), LEAT_CODEC_UNKNOWN);
    assert_int_equal(leat__codec_detect((const uint8_t *)"RIFF....WEBP", 12), LEAT_CODEC_WEBP);
    assert_int_equal(leat__codec_detect((const uint8_t *)"RIFF....WAVE", 12), LEAT_CODEC_UNKNOWN);
    assert_int_equal(leat__codec_detect((const uint8_t *)"GIF87a", 6), LEAT_CODEC_GIF);
    assert_int_equal(leat__codec_detect((const uint8_t *)"GIF88a", 6), LEAT_CODEC_UNKNOWN);
    assert_int_equal(leat__codec_detect((const uint8_t *)"BM", 2), LEAT_CODEC_BMP);
    assert_int_equal(leat__codec_detect(NULL, 0), LEAT_CODEC_UNKNOWN);

    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    blob empty = {0}, text = {0}, tiff = {0};
    expect_failure(d, &empty, o, LEAT_ERR_DECODE, "empty");
    put(&text, "hello, I am a text\n", 19);
    expect_failure(d, &text, o, LEAT_ERR_DECODE, "68 65 6c 6c");
    put(&tiff, "II*\0\10\0\0\0", 8);
    expect_failure(d, &tiff, o, LEAT_ERR_UNSUPPORTED, "TIFF");
    free(text.data), free(tiff.data);
    leat__decoder_free(&d);
}

static void limits(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 100, .h = 80, .in = JCS_RGB});
    leat__picture_info info;
    leat_error err;
    const leat__decode_options small = {.pixels_max = 7999}, narrow = {.side_max = 99},
                               fits = {.pixels_max = 8000};
    expect_failure(d, &file, small, LEAT_ERR_LIMIT, "jpeg: 100 x 80 = 8000 pixels; the limit is 7999");
    expect_failure(d, &file, narrow, LEAT_ERR_LIMIT, "100 x 80 pixels; the limit is 99 a side");
    assert_false(leat__decoder_wants_more(d)); /* more memory would not help */
    assert_int_equal(leat__decode_info(d, file.data, file.n, &small, &info, &err), LEAT_ERR_LIMIT);
    assert_int_equal(leat__decode_info(d, file.data, file.n, &fits, &info, &err), 0);
    assert_int_equal(info.width, 100);
    assert_int_equal(info.height, 80);
    assert_int_equal(info.codec, LEAT_CODEC_JPEG);
    assert_int_equal(info.bits, 8);
    expect_failure(d, &file, (leat__decode_options){.memory_max = 5000}, LEAT_ERR_LIMIT, "the limit is 5000");
    assert_true(leat__decoder_wants_more(d));
    assert_int_equal(leat__decode_info(d, file.data, file.n, &fits, &info, &err), 0);
    assert_false(leat__decoder_wants_more(d));
    expect_failure(d, &file, (leat__decode_options){.channels = 2}, LEAT_ERR_ARGUMENT, "channels");
    expect_failure(d, &file, (leat__decode_options){.side_max = -1}, LEAT_ERR_ARGUMENT, "negative");
    blob gif = small_gif();
    memset(gif.data + 6, 0xff, 4);
    expect_failure(d, &gif, (leat__decode_options){0}, LEAT_ERR_LIMIT, "4294836225");
    free(file.data), free(gif.data);
    leat__decoder_free(&d);
}

/* ---------------------------------------------------------------------------------------- orientation */

typedef struct plane {
    int w, h;
    blob rgb;
} plane;

static plane remap(plane p, bool transpose, bool flip_x, bool flip_y) {
    plane out = {.w = transpose ? p.h : p.w, .h = transpose ? p.w : p.h};
    for (int y = 0; y < out.h; y++)
        for (int x = 0; x < out.w; x++) {
            const int fx = flip_x ? out.w - 1 - x : x, fy = flip_y ? out.h - 1 - y : y;
            put(&out.rgb, p.rgb.data + 3 * (transpose ? fx * p.w + fy : fy * p.w + fx), 3);
        }
    return out;
}

static void orientations(void **unused) {
    (void)unused;
    /* transpose first, then flips */
    static const bool how[9][3] = {[2] = {0, 1, 0}, [3] = {0, 1, 1}, [4] = {0, 0, 1}, [5] = {1, 0, 0},
                                   [6] = {1, 1, 0}, [7] = {1, 1, 1}, [8] = {1, 0, 1}};
    leat__decoder *d = new_decoder();
    for (unsigned o = 1; o <= 8; o++) {
        blob file = make_jpeg((jpeg_how){.w = 37, .h = 22, .in = JCS_RGB});
        shot plain = decode_all(d, &file, (leat__decode_options){0});
        blob exif = make_exif(o & 1, o);
        add_jpeg_exif(&file, &exif);
        expect_pixels(d, &file, (leat__decode_options){0}, plain.pixels.data, plain.pixels.n);
        plane want = remap((plane){37, 22, plain.pixels}, how[o][0], how[o][1], how[o][2]);
        expect_pixels(d, &file, (leat__decode_options){.orient = true}, want.rgb.data, want.rgb.n);
        shot s = decode_all(d, &file, (leat__decode_options){.orient = true, .channels = 4});
        assert_int_equal(s.info.orientation, o);
        assert_int_equal(s.info.width, want.w);
        assert_int_equal(s.info.height, want.h);
        for (size_t i = 0; i < s.pixels.n / 4; i++)
            assert_memory_equal(s.pixels.data + 4 * i, want.rgb.data + 3 * i, 3);
        shot gray = decode_all(d, &file, (leat__decode_options){.orient = true, .channels = 1});
        assert_int_equal(gray.rc, 0);
        free(gray.pixels.data), free(s.pixels.data), free(want.rgb.data), free(exif.data),
            free(plain.pixels.data);
        free(file.data);
    }
    leat__decoder_free(&d);
}

static void broken_exif(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const struct {
        size_t at;
        uint8_t value;
        int orientation;
    } patches
        [] =
            {
                {0, 'X', 1},    {3, 43, 1},     {4, 0xff, 1},   {7, 0xff, 1},
                {4, 45, 1},   /* offset at and past the end */
                {9, 0xff, 6}, /* a count that lies          */
                {8, 1, 1},      {22 + 2, 9, 1}, {22 + 4, 2, 1}, {22 + 8, 9, 1},
                {22 + 8, 0, 1}, {22 + 2, 1, 6}, {22 + 2, 4, 6},
            };
    for (size_t i = 0; i < LEAT_COUNT(patches); i++) {
        blob file = make_jpeg((jpeg_how){.w = 16, .h = 8, .in = JCS_GRAYSCALE});
        blob exif = make_exif(false, 6);
        exif.data[patches[i].at] = patches[i].value;
        add_jpeg_exif(&file, &exif);
        shot s = decode_all(d, &file, (leat__decode_options){.orient = true});
        assert_int_equal(s.rc, 0);
        assert_int_equal(s.info.orientation, patches[i].orientation);
        free(s.pixels.data), free(exif.data), free(file.data);
    }
    leat__decoder_free(&d);
}

/* ---------------------------------------------------------------------------------- life of a decoder */

static void rows_and_ends(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    leat__picture_info info;
    leat_error err;
    uint8_t rows[3 * 64 * 64];
    blob file = make_jpeg((jpeg_how){.w = 64, .h = 64, .in = JCS_RGB});
    assert_int_equal(leat__decode_begin(d, file.data, file.n, NULL, &info, &err), 0);
    assert_false(leat__decoder_adopt(d, 1 << 20));
    assert_int_equal(leat__decode_rows(d, rows, 192, 0, &err), 0);
    assert_int_equal(leat__decode_rows(d, rows, 192, 65, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat__decode_rows(d, rows, 192, -1, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat__decode_rows(d, rows + 192 * 63, -192, 64, &err), 0); /* bottom-up is fine */
    assert_int_equal(leat__decode_rows(d, rows, 192, 1, NULL), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat__decode_end(d, &err), 0);

    file.n -= 2; /* complete but for the end mark: there is nothing to end */
    assert_int_equal(leat__decode_begin(d, file.data, file.n, NULL, &info, NULL), LEAT_ERR_DECODE);
    file.n += 2;

    file.data[file.n / 2] = 0xff, file.data[file.n / 2 + 1] = 0xfe; /* a failure of rows is one of end too */
    assert_int_equal(leat__decode_begin(d, file.data, file.n, NULL, &info, NULL), 0);
    assert_int_equal(leat__decode_rows(d, rows, 192, 64, NULL), LEAT_ERR_DECODE);
    assert_int_equal(leat__decode_end(d, NULL), LEAT_ERR_DECODE);

    assert_int_equal(leat__decode_begin(d, file.data, file.n, NULL, &info, &err), 0);
    leat__decoder_free(&d); /* with an open picture */
    assert_null(d);
    leat__decoder_free(&d);
    free(file.data);
}

static void memory_marks(void **unused) {
    (void)unused;
    leat__decoder *first = new_decoder(), *second = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 300, .h = 200, .in = JCS_RGB, .progressive = true});
    shot s = decode_all(first, &file, (leat__decode_options){0});
    assert_int_equal(s.rc, 0);
    free(s.pixels.data);
    const uint32_t grown = leat__decoder_grown(first);
    assert_true(leat__decoder_high(first) > 300 * 200 * 3);
    assert_true(leat__decoder_adopt(second, leat__decoder_high(first)));
    const uint32_t adopted = leat__decoder_grown(second);
    leat__mem_fail_at(0);
    for (int i = 0; i < 3; i++) {
        s = decode_all(first, &file, (leat__decode_options){0});
        free(s.pixels.data);
        s = decode_all(second, &file, (leat__decode_options){0});
        free(s.pixels.data);
    }
    assert_int_equal(leat__mem_fail_at(0), 0); /* nothing was asked for */
    assert_int_equal(leat__decoder_grown(first), grown);
    assert_int_equal(leat__decoder_grown(second), adopted);
    free(file.data);
    leat__decoder_free(&first);
    leat__decoder_free(&second);
}

/* The n-th allocation fails, for every n. */
static void no_memory(void **unused) {
    (void)unused;
    blob files[] = {make_jpeg((jpeg_how){.w = 300, .h = 300, .in = JCS_RGB, .progressive = true}),
                    small_webp(), small_png(), small_bmp(), small_gif()};
    const uint64_t held = leat__mem_held(LEAT_MEM_WORKER);
    for (size_t i = 0; i < LEAT_COUNT(files); i++) {
        bool done = false;
        for (uint64_t n = 1; !done; n++) {
            assert_true(n < 100);
            leat_error err;
            leat__mem_fail_at(n);
            leat__decoder *d = leat__decoder_new(&err);
            if (!d) {
                assert_int_equal(err.code, LEAT_ERR_MEMORY);
                continue;
            }
            shot s = decode_steps(d, &files[i], (leat__decode_options){0}, 1);
            done = s.rc == 0 && leat__mem_fail_at(0) < n;
            if (s.rc != 0) assert_int_equal(s.rc, LEAT_ERR_MEMORY);
            leat__mem_fail_at(0);
            free(s.pixels.data);
            leat__decoder_free(&d);
        }
        free(files[i].data);
    }
    assert_int_equal(leat__mem_held(LEAT_MEM_WORKER), held);
}

/* -------------------------------------------------------------------------------------- any bytes at all */

static void cut_and_flipped(void **unused) {
    (void)unused;
    blob files[] = {
        make_jpeg((jpeg_how){.w = 33, .h = 18, .in = JCS_RGB, .h_samp = 2, .v_samp = 2, .restart = 2}),
        make_jpeg((jpeg_how){.w = 33, .h = 18, .in = JCS_RGB, .progressive = true}),
        small_webp(),
        small_png(),
        small_gif(),
        small_bmp()};
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {.orient = true, .pixels_max = 1 << 16, .memory_max = 8 << 20};
    uint32_t noise = 1;
    for (size_t i = 0; i < LEAT_COUNT(files); i++) {
        for (size_t n = 0; n < files[i].n; n++) { /* truncated at every byte */
            blob cut = {.data = files[i].data, .n = n};
            shot s = decode_all(d, &cut, o);
            const bool trailer = files[i].data[0] == 'G' && n == files[i].n - 1;
            const bool padding = files[i].data[0] == 'B' && n >= files[i].n - 3;
            if (s.rc == 0 && !trailer && !padding)
                fail_msg("file %zu cut at %zu of %zu passes", i, n, files[i].n);
            free(s.pixels.data);
        }
        for (int round = 0; round < 400; round++) {
            blob bad = copy_of(&files[i]);
            for (int k = 0; k <= round % 4; k++) {
                noise = noise * 1664525 + 1013904223;
                bad.data[(noise >> 8) % bad.n] ^= (uint8_t)(1 << (noise & 7));
            }
            shot s = decode_steps(d, &bad, o, 5);
            if (s.rc < 0) assert_true(s.err.message[0] != 0);
            free(s.pixels.data), free(bad.data);
        }
        free(files[i].data);
    }
    leat__decoder_free(&d);
}

/* What a picture decodes to does not depend on what came before. */
static void no_memory_of_the_past(void **unused) {
    (void)unused;
    blob files[] = {
        make_jpeg((jpeg_how){.w = 70, .h = 50, .in = JCS_RGB, .h_samp = 2, .v_samp = 2}),
        make_jpeg((jpeg_how){.w = 70, .h = 50, .in = JCS_RGB, .progressive = true, .quality = 30}),
        make_jpeg((jpeg_how){.w = 20, .h = 90, .in = JCS_CMYK}),
        small_webp(),
        small_png(),
        small_gif(),
        small_bmp()};
    enum { N = LEAT_COUNT(files) };
    shot alone[N];
    for (size_t i = 0; i < N; i++) {
        leat__decoder *d = new_decoder();
        alone[i] = decode_all(d, &files[i], (leat__decode_options){.channels = 3});
        assert_int_equal(alone[i].rc, 0);
        leat__decoder_free(&d);
    }
    leat__decoder *d = new_decoder();
    uint32_t noise = 7;
    for (int round = 0; round < 300; round++) {
        noise = noise * 1664525 + 1013904223;
        const size_t i = (noise >> 16) % N;
        if (noise >> 30 == 0) { /* something broken in between */
            blob cut = {.data = files[i].data, .n = files[i].n * 2 / 3};
            shot s = decode_steps(d, &cut, (leat__decode_options){0}, 2);
            free(s.pixels.data);
            continue;
        }
        shot s = decode_steps(d, &files[i], (leat__decode_options){.channels = 3}, 7);
        assert_int_equal(s.rc, 0);
        assert_memory_equal(s.pixels.data, alone[i].pixels.data, alone[i].pixels.n);
        free(s.pixels.data);
    }
    leat__decoder_free(&d);
    for (size_t i = 0; i < N; i++) free(alone[i].pixels.data), free(files[i].data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detection),
        cmocka_unit_test(limits),
        cmocka_unit_test(orientations),
        cmocka_unit_test(broken_exif),
        cmocka_unit_test(rows_and_ends),
        cmocka_unit_test(memory_marks),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(cut_and_flipped),
        cmocka_unit_test(no_memory_of_the_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
