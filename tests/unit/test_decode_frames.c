/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* WebP and GIF: the formats with frames on a canvas. */
#include "test_decode_inputs.h"

#include <gif_lib.h>
#include <webp/decode.h>

/* ----------------------------------------------------------------------------------------------- WebP */

static void webp_pixels(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    for (int lossless = 0; lossless < 2; lossless++)
        for (int channels = 3; channels <= 4; channels++) {
            blob pixels = pattern(45, 31, channels);
            if (channels == 4) /* lossless coding forgets the colour of transparent pixels */
                for (size_t i = 3; i < pixels.n; i += 4) pixels.data[i] |= 1;
            blob file = make_webp(&pixels, 45, 31, channels, lossless);
            int w, h;
            uint8_t *rgb = WebPDecodeRGB(file.data, file.n, &w, &h);
            uint8_t *rgba = WebPDecodeRGBA(file.data, file.n, &w, &h);
            const size_t n = 45 * 31;
            blob gray = {0};
            for (size_t i = 0; i < n; i++)
                put8(&gray,
                     (19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2] + 32768) >> 16);
            expect_pixels(d, &file, (leat__decode_options){.channels = 1}, gray.data, n);
            expect_pixels(d, &file, (leat__decode_options){.channels = 3}, rgb, 3 * n);
            expect_pixels(d, &file, (leat__decode_options){.channels = 4}, rgba, 4 * n);
            expect_pixels(d, &file, (leat__decode_options){0}, channels == 3 ? rgb : rgba,
                          (size_t)channels * n);
            if (lossless) assert_memory_equal(channels == 3 ? rgb : rgba, pixels.data, pixels.n);
            check_end(d, &file);
            WebPFree(rgb), WebPFree(rgba);
            free(gray.data), free(file.data), free(pixels.data);
        }
    leat__decoder_free(&d);
}

static void put24(blob *b, unsigned v) {
    put16(b, v), put8(b, v >> 16);
}

/* Transparency is read only where it is asked for: damage in it is then no concern of a picture of three channels. */
static void webp_alpha_left_alone(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob pixels = pattern(60, 40, 4), file = make_webp(&pixels, 60, 40, 4, false);
    shot whole = decode_all(d, &file, (leat__decode_options){.channels = 3});
    assert_int_equal(whole.rc, 0);
    uint8_t *alpha = memmem(file.data, file.n, "ALPH", 4);
    assert_non_null(alpha);
    memset(alpha + 9, 0xff, leat__load_u32(alpha + 4) - 1);
    expect_failure(d, &file, (leat__decode_options){.channels = 4}, LEAT_ERR_DECODE, "webp: ");
    expect_pixels(d, &file, (leat__decode_options){.channels = 3}, whole.pixels.data, whole.pixels.n);
    free(whole.pixels.data), free(pixels.data), free(file.data);
    leat__decoder_free(&d);
}

/* A canvas of cw x ch with one frame at (left, top), which must be even. */
static blob animate(const blob *still, int w, int h, int left, int top, int cw, int ch) {
    blob b = {0};
    put(&b, "RIFF\0\0\0\0WEBPVP8X\12\0\0\0", 20);
    put32(&b, 0x12); /* animation, alpha */
    put24(&b, (unsigned)cw - 1), put24(&b, (unsigned)ch - 1);
    put(&b, "ANIM\6\0\0\0\xff\xff\xff\xff\0\0", 14);
    const size_t stream = still->n - 12;
    put(&b, "ANMF", 4), put32(&b, (uint32_t)(16 + stream));
    put24(&b, (unsigned)left / 2), put24(&b, (unsigned)top / 2);
    put24(&b, (unsigned)w - 1), put24(&b, (unsigned)h - 1), put24(&b, 100), put8(&b, 0);
    put(&b, still->data + 12, stream);
    leat__store_u32(b.data + 4, (uint32_t)b.n - 8);
    return b;
}

static void webp_animation(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob pixels = pattern(10, 6, 3);
    blob still = make_webp(&pixels, 10, 6, 3, true);
    blob file = animate(&still, 10, 6, 4, 2, 20, 12), want = {0};
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 20; x++) {
            const bool in = x >= 4 && x < 14 && y >= 2 && y < 8;
            put(&want, in ? pixels.data + 3 * ((y - 2) * 10 + x - 4) : (const uint8_t *)"\0\0", 3);
            put8(&want, in ? 255 : 0);
        }
    expect_pixels(d, &file, (leat__decode_options){.channels = 4}, want.data, want.n);
    check_end(d, &file);
    put(&file, "XMP \4\0\0\0abcd", 12); /* behind the frame */
    leat__store_u32(file.data + 4, (uint32_t)file.n - 8);
    check_end(d, &file);
    free(file.data);
    file = animate(&still, 10, 6, 0, 0, 10, 6);
    expect_pixels(d, &file, (leat__decode_options){.channels = 3}, pixels.data, pixels.n);
    free(file.data);
    file = animate(&still, 10, 6, 12, 2, 20, 12); /* reaches past the canvas */
    expect_failure(d, &file, (leat__decode_options){0}, LEAT_ERR_DECODE, "fit");
    free(file.data);
    file = animate(&still, 10, 6, 0, 0, 32768, 32768);
    expect_failure(d, &file, (leat__decode_options){0}, LEAT_ERR_LIMIT, "32768 x 32768");
    free(file.data), free(pixels.data), free(still.data), free(want.data);
    leat__decoder_free(&d);
}

/* ------------------------------------------------------------------------------------------------ GIF */

typedef struct gif_how {
    int screen_w, screen_h, left, top, w, h;
    int transparent; /* index + 1; 0 = none   */
    bool interlaced, local, two_frames;
} gif_how;

static int write_bytes(GifFileType *gif, const GifByteType *bytes, int n) {
    put(gif->UserData, bytes, (size_t)n);
    return n;
}

static uint8_t index_at(int x, int y) {
    return (uint8_t)((x * 3 + y * 5) % 16);
}

static blob make_gif(gif_how how) {
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    blob file = {0};
    int status;
    GifColorType colours[16];
    for (int i = 0; i < 16; i++)
        colours[i] = (GifColorType){(GifByteType)(i * 16 + 1), (GifByteType)(255 - i), (GifByteType)(i * 5)};
    ColorMapObject *map = GifMakeMapObject(16, colours);
    GifFileType *gif = EGifOpen(&file, write_bytes, &status);
    assert_non_null(gif);
    EGifSetGifVersion(gif, true);
    assert_int_equal(EGifPutScreenDesc(gif, how.screen_w, how.screen_h, 8, 0, how.local ? NULL : map),
                     GIF_OK);
    EGifPutComment(gif, "a comment");
    for (int frame = 0; frame < (how.two_frames ? 2 : 1); frame++) {
        if (how.transparent && frame == 0) {
            const uint8_t control[4] = {1, 0, 0, (uint8_t)(how.transparent - 1)};
            EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, control);
        }
        assert_int_equal(
            EGifPutImageDesc(gif, how.left, how.top, how.w, how.h, how.interlaced, how.local ? map : NULL),
            GIF_OK);
        for (int pass = how.interlaced ? 0 : 3; pass < 4; pass++)
            for (int y = how.interlaced ? starts[pass] : 0; y < how.h;
                 y += how.interlaced ? steps[pass] : 1) {
                uint8_t line[256];
                for (int x = 0; x < how.w; x++) line[x] = (uint8_t)(index_at(x, y) ^ frame);
                assert_int_equal(EGifPutLine(gif, line, how.w), GIF_OK);
            }
    }
    EGifCloseFile(gif, &status);
    GifFreeMapObject(map);
    return file;
}

static blob gif_expected(gif_how how) {
    blob want = {0};
    for (int y = 0; y < how.screen_h; y++)
        for (int x = 0; x < how.screen_w; x++) {
            const int fx = x - how.left, fy = y - how.top;
            const int i = fx >= 0 && fy >= 0 && fx < how.w && fy < how.h ? index_at(fx, fy) : -1;
            if (i < 0 || i == how.transparent - 1) put32(&want, 0);
            else
                put8(&want, (unsigned)(i * 16 + 1)), put8(&want, 255u - (unsigned)i),
                    put8(&want, (unsigned)i * 5), put8(&want, 255);
        }
    return want;
}

/* Its descriptor is that of the first. */
static size_t find_second_frame(const blob *file) {
    const uint8_t *first = NULL;
    for (size_t at = 13; at + 10 < file->n; at++) {
        const uint8_t *p = file->data + at;
        if (first ? memcmp(p, first, 10) == 0 : p[0] == 0x2c && p[-1] == 0 && p[9] % 64 == 0) {
            if (first) return at;
            first = p;
        }
    }
    return 0;
}

static void gif_pixels(void **unused) {
    (void)unused;
    static const gif_how cases[] = {
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21},
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21, .interlaced = true, .local = true},
        {.screen_w = 30, .screen_h = 21, .w = 11, .h = 9, .left = 3, .top = 7, .two_frames = true},
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21, .left = 13, .top = 7},          /* clipped     */
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21, .left = 40, .top = 7},          /* all outside */
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21, .top = 50, .interlaced = true}, /* all outside */
        {.screen_w = 30, .screen_h = 21, .w = 30, .h = 3, .top = 2, .transparent = 5},
        {.screen_w = 1, .screen_h = 1, .w = 1, .h = 1},
    };
    leat__decoder *d = new_decoder();
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        blob file = make_gif(cases[i]), want = gif_expected(cases[i]), rgb = {0};
        expect_pixels(d, &file, (leat__decode_options){.channels = 4}, want.data, want.n);
        for (size_t k = 0; k < want.n; k += 4) put(&rgb, want.data + k, 3);
        expect_pixels(d, &file, (leat__decode_options){0}, rgb.data, rgb.n);
        /* Some writers leave out the trailer: a file may end behind any whole frame. */
        const size_t whole[2] = {file.n - 1, find_second_frame(&file)};
        check_end_but(d, &file, whole, cases[i].two_frames ? 2 : 1);
        if (cases[i].two_frames) { /* of what follows the first frame only the end is looked at */
            memset(file.data + file.n - 6, 0x55, 4);
            expect_pixels(d, &file, (leat__decode_options){0}, rgb.data, rgb.n);
            file.data[file.n - 1] = 0; /* no block, and no trailer */
            expect_pixels(d, &file, (leat__decode_options){0}, rgb.data, rgb.n);
        }
        free(file.data), free(want.data), free(rgb.data);
    }
    leat__decoder_free(&d);
}

static void gif_damage(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    const gif_how how = {.screen_w = 30, .screen_h = 21, .w = 30, .h = 21};
    blob file = make_gif(how);
    for (size_t n = 6; n < file.n - 1; n++) {
        blob cut = {.data = file.data, .n = n};
        expect_failure(d, &cut, o, LEAT_ERR_DECODE, "gif: ");
    }
    /* A palette of 8 colours for indices up to 15. */
    blob bad = copy_of(&file);
    bad.data[10] = (uint8_t)((bad.data[10] & ~7) | 2);
    drop(&bad, 13 + 8 * 3, 8 * 3);
    expect_failure(d, &bad, o, LEAT_ERR_DECODE, "palette of 8");
    free(bad.data);
    bad = copy_of(&file);
    assert_non_null(bad.data);
    memset(bad.data + 6, 0, 4); /* a screen of 0 x 0 takes the frame's size */
    shot s = decode_all(d, &bad, o);
    assert_int_equal(s.rc, 0);
    assert_int_equal(s.info.width, 30);
    assert_int_equal(s.info.height, 21);
    free(s.pixels.data);
    memset(bad.data + 6, 0xff, 4);
    expect_failure(d, &bad, o, LEAT_ERR_LIMIT, "65535 x 65535");
    memset(bad.data + 6, 0, 4);
    bad.data[6] = bad.data[8] = 9;
    expect_failure(d, &bad, (leat__decode_options){.pixels_max = 100}, LEAT_ERR_LIMIT, "first frame");
    free(bad.data), free(file.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(webp_pixels),    cmocka_unit_test(webp_alpha_left_alone),
        cmocka_unit_test(webp_animation), cmocka_unit_test(gif_pixels),
        cmocka_unit_test(gif_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
