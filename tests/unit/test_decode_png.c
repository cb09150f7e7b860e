/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* PNG: every colour type and depth, plain and interlaced, against values computed from the raw samples, as u8 and
 * as u16. */
#include "test_png_inputs.h"

/* What the picture must be in this many channels; wide values in the host's order. */
static blob expected(png_how how, int channels, bool deep) {
    blob want = {0};
    const size_t n = (size_t)samples_of(how.colour);
    for (size_t i = 0; i < (size_t)(how.w * how.h); i++) {
        const bool wide = deep && how.bits == 16;
        uint32_t v[4] = {0}, rgba[4] = {0, 0, 0, wide ? 65535 : 255};
        bool is_key = how.key;
        for (size_t c = 0; c < n; c++) {
            v[c] = sample(how, i * n + c);
            if (v[c] != sample(how, c)) is_key = false;
            if (how.colour != PNG_COLOR_TYPE_PALETTE)
                v[c] = wide ? v[c] : how.bits == 16 ? v[c] >> 8 : v[c] * 255 / ((1u << how.bits) - 1);
        }
        if (how.colour == PNG_COLOR_TYPE_PALETTE) {
            uint8_t rgb[3] = {0};
            if ((int)v[0] < (how.n_palette ? how.n_palette : 256)) palette_entry((int)v[0], rgb);
            rgba[0] = rgb[0], rgba[1] = rgb[1], rgba[2] = rgb[2];
            if ((int)v[0] < how.n_alpha) rgba[3] = v[0] * 40 & 255;
        } else if (n <= 2) {
            rgba[0] = rgba[1] = rgba[2] = v[0];
            if (n == 2) rgba[3] = v[1];
        } else {
            memcpy(rgba, v, n * sizeof *v);
        }
        if (is_key) rgba[3] = 0;
        if (channels == 1) rgba[0] = (19595 * rgba[0] + 38470 * rgba[1] + 7471 * rgba[2] + 32768) >> 16;
        for (int c = 0; c < channels; c++) {
            const uint16_t value = (uint16_t)(wide ? rgba[c] : rgba[c] * 257);
            if (deep) put(&want, &value, 2);
            else put8(&want, rgba[c]);
        }
    }
    return want;
}

static void check(leat__decoder *d, png_how how, int as_stored) {
    blob file = make_png(how);
    for (int channels = 0; channels <= 4; channels++) {
        if (channels == 2) continue;
        for (int deep = 0; deep < 2; deep++) {
            blob want = expected(how, channels ? channels : as_stored, deep);
            expect_pixels(d, &file, (leat__decode_options){.channels = channels, .deep = deep}, want.data,
                          want.n);
            free(want.data);
        }
    }
    free(file.data);
}

static void every_kind(void **unused) {
    (void)unused;
    static const int sizes[][2] = {{1, 1}, {5, 9}, {32, 17}, {67, 8}};
    static const struct {
        int colour, bits, as_stored;
    } kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1, 1},        {PNG_COLOR_TYPE_GRAY, 2, 1},
        {PNG_COLOR_TYPE_GRAY, 4, 1},        {PNG_COLOR_TYPE_GRAY, 8, 1},
        {PNG_COLOR_TYPE_GRAY, 16, 1},       {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 4},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16, 4}, {PNG_COLOR_TYPE_RGB, 8, 3},
        {PNG_COLOR_TYPE_RGB, 16, 3},        {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4},
        {PNG_COLOR_TYPE_RGB_ALPHA, 16, 4},  {PNG_COLOR_TYPE_PALETTE, 1, 3},
        {PNG_COLOR_TYPE_PALETTE, 2, 3},     {PNG_COLOR_TYPE_PALETTE, 4, 3},
        {PNG_COLOR_TYPE_PALETTE, 8, 3},
    };
    leat__decoder *d = new_decoder();
    for (size_t k = 0; k < LEAT_COUNT(kinds); k++)
        for (size_t i = 0; i < LEAT_COUNT(sizes); i++)
            for (int interlaced = 0; interlaced < 2; interlaced++) {
                png_how how = {.w = sizes[i][0],
                               .h = sizes[i][1],
                               .colour = kinds[k].colour,
                               .bits = kinds[k].bits,
                               .interlaced = interlaced};
                check(d, how, kinds[k].as_stored);
                if (how.colour == PNG_COLOR_TYPE_PALETTE) {
                    how.n_alpha = 2;
                    check(d, how, 4);
                } else if (how.colour == PNG_COLOR_TYPE_GRAY || how.colour == PNG_COLOR_TYPE_RGB) {
                    how.key = true;
                    check(d, how, kinds[k].as_stored);
                }
            }
    leat__decoder_free(&d);
}

static void index_past_the_palette(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    check(d, (png_how){.w = 20, .h = 9, .colour = PNG_COLOR_TYPE_PALETTE, .bits = 8, .n_palette = 100}, 3);
    leat__decoder_free(&d);
}

/* Text, profiles and unknown chunks are not even looked at, so that none can inflate. */
static void chunks_that_do_not_matter(void **unused) {
    (void)unused;
    static const char *const types[] = {"iCCP", "zTXt", "iTXt", "tEXt", "gAMA", "sBIT", "eXIf", "abCd"};
    leat__decoder *d = new_decoder();
    const png_how how = {.w = 30, .h = 20, .colour = PNG_COLOR_TYPE_RGB, .bits = 8};
    blob file = make_png(how), want = expected(how, 3, false);
    const size_t bomb_bytes = 32 << 20;
    uint8_t *zeros = calloc(1, bomb_bytes);
    uLongf n = compressBound(bomb_bytes);
    uint8_t *bomb = malloc(n + 6);
    assert_true(zeros && bomb);
    memcpy(bomb, "name\0\0", 6);
    assert_int_equal(compress2(bomb + 6, &n, zeros, bomb_bytes, 9), Z_OK);
    blob chunks = {0};
    for (size_t i = 0; i < LEAT_COUNT(types); i++) put_chunk(&chunks, types[i], bomb, n + 6);
    insert(&file, 33, chunks.data, chunks.n);
    expect_pixels(d, &file, (leat__decode_options){.memory_max = 200000}, want.data, want.n);
    assert_true(leat__decoder_high(d) < 200000);

    blob critical = {0};
    put_chunk(&critical, "ABCD", "1234", 4);
    insert(&file, 33, critical.data, critical.n);
    expect_failure(d, &file, (leat__decode_options){0}, LEAT_ERR_DECODE, "png: ");
    free(file.data), free(want.data), free(chunks.data), free(critical.data), free(zeros), free(bomb);
    leat__decoder_free(&d);
}

static void damage(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    const png_how how = {.w = 30, .h = 20, .colour = PNG_COLOR_TYPE_RGB, .bits = 8};
    blob file = make_png(how);
    file.n -= 12;
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "png: premature end of data: the file is truncated");
    file.n += 12;
    file.data[file.n - 13] ^= 1; /* checksum of the pixels */
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "CRC");
    file.data[file.n - 13] ^= 1;
    memset(file.data + 16, 0xff, 8);
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "png: ");
    file.data[16] = file.data[20] = 0x7f;
    expect_failure(d, &file, o, LEAT_ERR_LIMIT, "2147483647");
    memset(file.data + 16, 0, 8);
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "0 x 0");
    free(file.data);
    leat__decoder_free(&d);
}

static void ends(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        blob file = make_png(
            (png_how){.w = 30, .h = 20, .colour = PNG_COLOR_TYPE_RGB, .bits = 8, .interlaced = interlaced});
        check_end(d, &file);
        blob chunk = {0}; /* the end chunk of a thumbnail is not the file's */
        put_chunk(&chunk, "thMb", "\0\0\0\0IEND\xae\x42\x60\x82", 12);
        insert(&file, 33, chunk.data, chunk.n);
        check_end(d, &file);
        free(chunk.data), free(file.data);
    }
    leat__decoder_free(&d);
}

static void turned(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const png_how how = {.w = 30, .h = 20, .colour = PNG_COLOR_TYPE_RGB, .bits = 8};
    blob file = make_png(how), plain = expected(how, 3, false), exif = make_exif(true, 3), chunk = {0};
    blob want = {0};
    put_chunk(&chunk, "eXIf", exif.data, exif.n);
    insert(&file, 33, chunk.data, chunk.n);
    expect_pixels(d, &file, (leat__decode_options){0}, plain.data, plain.n);
    for (size_t i = plain.n; i > 0; i -= 3) put(&want, plain.data + i - 3, 3);
    expect_pixels(d, &file, (leat__decode_options){.orient = true}, want.data, want.n);
    free(file.data), free(plain.data), free(exif.data), free(chunk.data), free(want.data);
    leat__decoder_free(&d);
}

/* 16 bits turned by EXIF, and parts of it: cut out of the plain picture by hand. */
static void deep_parts(void **unused) {
    (void)unused;
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const leat__box box = {.x = 3, .y = 5, .width = 11, .height = 9};
    leat__decoder *d = new_decoder();
    for (size_t k = 0; k < LEAT_COUNT(colours); k++)
        for (int kind = 0; kind < 4; kind++) { /* plain or interlaced, as stored or by half a turn */
            const bool turn = kind / 2;
            const png_how how = {.w = 30, .h = 20, .colour = colours[k], .bits = 16, .interlaced = kind % 2};
            const int channels = samples_of(how.colour);
            const leat__decode_options o = {.channels = channels, .orient = turn, .deep = true};
            blob file = make_png(how), whole = expected(how, channels, true), exif = make_exif(false, 3),
                 chunk = {0};
            put_chunk(&chunk, "eXIf", exif.data, exif.n);
            insert(&file, 33, chunk.data, chunk.n);
            leat__picture_info info;
            leat_error err;
            assert_int_equal(leat__decode_begin(d, file.data, file.n, &o, &info, &err), 0);
            assert_int_equal(info.dtype, LEAT_DTYPE_U16);
            assert_int_equal(info.bits, 16);
            assert_int_equal(leat__decode_region(d, &box, &err), 0);
            uint16_t rows[11 * 9 * 4], want[4];
            const size_t pixel = 2 * (size_t)channels, stride = (size_t)box.width * pixel;
            assert_int_equal(leat__decode_rows(d, (uint8_t *)rows, (ptrdiff_t)stride, box.height, &err), 0);
            assert_int_equal(leat__decode_end(d, &err), 0);
            for (int y = 0; y < box.height; y++)
                for (int x = 0; x < box.width; x++) {
                    const int from_x = turn ? how.w - 1 - box.x - x : box.x + x;
                    const int from_y = turn ? how.h - 1 - box.y - y : box.y + y;
                    memcpy(want, whole.data + (size_t)(from_y * how.w + from_x) * pixel, pixel);
                    assert_memory_equal(rows + (y * box.width + x) * channels, want, pixel);
                }
            free(file.data), free(whole.data), free(exif.data), free(chunk.data);
        }
    leat__decoder_free(&d);
}

/* 8 bits are widened, whatever the codec. */
static void deep_of_other_files(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 33, .h = 21, .in = JCS_RGB, .h_samp = 2, .v_samp = 2}), want = {0};
    for (int channels = 1; channels <= 4; channels++) {
        if (channels == 2) continue;
        shot plain = decode_all(d, &file, (leat__decode_options){.channels = channels});
        assert_int_equal(plain.rc, 0);
        want.n = 0;
        for (size_t i = 0; i < plain.pixels.n; i++)
            put8(&want, plain.pixels.data[i]), put8(&want, plain.pixels.data[i]);
        expect_pixels(d, &file, (leat__decode_options){.channels = channels, .deep = true}, want.data,
                      want.n);
        free(plain.pixels.data);
    }
    free(file.data), free(want.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind),
        cmocka_unit_test(deep_parts),
        cmocka_unit_test(deep_of_other_files),
        cmocka_unit_test(index_past_the_palette),
        cmocka_unit_test(chunks_that_do_not_matter),
        cmocka_unit_test(damage),
        cmocka_unit_test(ends),
        cmocka_unit_test(turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
