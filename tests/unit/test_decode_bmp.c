/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* BMP: files built byte by byte. */
#include "test_decode_inputs.h"

typedef struct bmp_how {
    int w, h; /* h < 0: top-down                                   */
    int bits;
    unsigned compression;
    unsigned header;  /* 0 = 40                                            */
    unsigned n_used;  /* colours that the header tells                     */
    int n_palette;    /* colours that are there; 0 = 1 << bits, -1 = none  */
    uint32_t mask[4]; /* for bit fields                                    */
    int offset;       /* 0 = the right one, else added to it               */
} bmp_how;

static void palette_entry(int i, uint8_t rgb[3]) {
    rgb[0] = (uint8_t)(i * 7 + 3), rgb[1] = (uint8_t)(255 - i * 5), rgb[2] = (uint8_t)(i * 11 + 90);
}

/* Headers, masks and palette; the pixels are to follow. */
static blob make_header(bmp_how how) {
    blob b = {0};
    const unsigned header = how.header ? how.header : 40;
    put(&b, "BM", 2), put32(&b, 0), put32(&b, 0), put32(&b, 0), put32(&b, header);
    if (header == 12) {
        put16(&b, (unsigned)how.w), put16(&b, (unsigned)how.h), put16(&b, 1), put16(&b, (unsigned)how.bits);
    } else {
        put32(&b, (uint32_t)how.w), put32(&b, (uint32_t)how.h), put16(&b, 1), put16(&b, (unsigned)how.bits);
        if (header >= 40) {
            put32(&b, how.compression);
            for (int i = 0; i < 3; i++) put32(&b, 0);
            put32(&b, how.n_used), put32(&b, 0);
        }
        if (how.compression == 3 || how.compression == 6)
            for (int i = 0; i < (header >= 56 || how.compression == 6 ? 4 : 3); i++) put32(&b, how.mask[i]);
        while (b.n < 14 + header) put8(&b, 0);
    }
    if (how.bits <= 8 && how.n_palette >= 0)
        for (int i = 0; i < (how.n_palette ? how.n_palette : 1 << how.bits); i++) {
            uint8_t rgb[3];
            palette_entry(i, rgb);
            put8(&b, rgb[2]), put8(&b, rgb[1]), put8(&b, rgb[0]);
            if (header != 12) put8(&b, 0);
        }
    leat__store_u32(b.data + 10, (uint32_t)((int)b.n + how.offset));
    return b;
}

static uint32_t pixel_at(bmp_how how, int x, int y) {
    const uint32_t v = (uint32_t)(y * 131 + x * 17 + 5) * 2654435761u;
    return how.bits == 32 ? v : v >> 5 & ((1u << how.bits) - 1);
}

/* The whole file; rows are written in the order of the file. */
static blob make_bmp(bmp_how how) {
    blob b = make_header(how);
    const int h = abs(how.h);
    for (int i = 0; i < h; i++) {
        const int y = how.h < 0 ? i : h - 1 - i;
        const size_t start = b.n, stride = ((size_t)(how.w * how.bits) + 31) / 32 * 4;
        for (size_t k = 0; k < stride; k++) put8(&b, 0);
        for (int x = 0; x < how.w; x++) {
            const uint32_t v = pixel_at(how, x, y);
            const size_t bit = (size_t)x * (size_t)how.bits;
            if (how.bits < 8) b.data[start + bit / 8] |= (uint8_t)(v << (8 - how.bits - (int)(bit % 8)));
            else
                for (int k = 0; k < how.bits / 8; k++)
                    b.data[start + bit / 8 + (size_t)k] = (uint8_t)(v >> 8 * k);
        }
    }
    return b;
}

static unsigned field_of(uint32_t v, uint32_t mask) {
    if (!mask) return 0;
    while (!(mask & 1)) v >>= 1, mask >>= 1;
    v &= mask;
    while (mask > 255) v >>= 1, mask >>= 1;
    return v * 255 / mask;
}

static blob expected(bmp_how how, int channels) {
    blob want = {0};
    const int n_colours = how.n_palette < 0 ? 0 : how.n_palette ? how.n_palette : 256;
    for (int y = 0; y < abs(how.h); y++)
        for (int x = 0; x < how.w; x++) {
            const uint32_t v = pixel_at(how, x, y);
            unsigned rgba[4] = {v >> 16 & 255, v >> 8 & 255, v & 255, 255};
            if (how.bits <= 8) {
                uint8_t rgb[3] = {0};
                if ((int)v < n_colours) palette_entry((int)v, rgb);
                for (int c = 0; c < 3; c++) rgba[c] = rgb[c];
            } else if (how.compression) {
                for (int c = 0; c < 3; c++) rgba[c] = field_of(v, how.mask[c]);
                if (how.mask[3]) rgba[3] = field_of(v, how.mask[3]);
            } else if (how.bits == 16) {
                for (int c = 0; c < 3; c++) rgba[c] = (v >> (10 - 5 * c) & 31) * 255 / 31;
            }
            if (channels == 1)
                put8(&want, (19595 * rgba[0] + 38470 * rgba[1] + 7471 * rgba[2] + 32768) >> 16);
            else
                for (int c = 0; c < channels; c++) put8(&want, rgba[c]);
        }
    return want;
}

static void check(leat__decoder *d, bmp_how how) {
    blob file = make_bmp(how);
    for (int channels = 1; channels <= 4; channels++) {
        if (channels == 2) continue;
        blob want = expected(how, channels);
        expect_pixels(d, &file, (leat__decode_options){.channels = channels}, want.data, want.n);
        free(want.data);
    }
    free(file.data);
}

static void every_depth(void **unused) {
    (void)unused;
    static const int bits[] = {1, 2, 4, 8, 16, 24, 32}, widths[] = {1, 3, 8, 31, 64};
    leat__decoder *d = new_decoder();
    for (size_t i = 0; i < LEAT_COUNT(bits); i++)
        for (size_t k = 0; k < LEAT_COUNT(widths); k++) {
            check(d, (bmp_how){.w = widths[k], .h = 11, .bits = bits[i]});
            check(d, (bmp_how){.w = widths[k], .h = -11, .bits = bits[i]});
            check(d, (bmp_how){.w = widths[k], .h = 5, .bits = bits[i], .header = 124});
            check(d, (bmp_how){.w = widths[k], .h = 5, .bits = bits[i], .header = 64});
            check(d, (bmp_how){.w = widths[k], .h = 5, .bits = bits[i], .header = 16});
            check(d, (bmp_how){.w = widths[k], .h = 5, .bits = bits[i], .header = 12});
        }
    for (size_t i = 0; i < LEAT_COUNT(bits); i++) { /* rows without padding, which the last one may lack */
        blob file = make_bmp((bmp_how){.w = 32, .h = 5, .bits = bits[i]});
        check_end(d, &file);
        free(file.data);
    }
    leat__decoder_free(&d);
}

static void fields(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 16, .compression = 3, .mask = {0xf800, 0x7e0, 0x1f}});
    check(d,
          (bmp_how){.w = 9, .h = 7, .bits = 16, .compression = 3, .mask = {0x3, 0xe0, 0x100}, .header = 52});
    check(
        d,
        (bmp_how){
            .w = 9, .h = 7, .bits = 16, .compression = 3, .mask = {0xf00, 0xf0, 0xf, 0xf000}, .header = 56});
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 32, .compression = 3, .mask = {0xff, 0xff00, 0xff0000}});
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 32, .compression = 3, .mask = {0x7ff00000, 0xffc00, 0x3ff}});
    check(d, (bmp_how){
                 .w = 9, .h = 7, .bits = 32, .compression = 6, .mask = {0xff0000, 0xff00, 0xff, 0xff000000}});
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 32, .compression = 3, .mask = {0xffffffff, 0, 0}});

    const leat__decode_options o = {0};
    bmp_how how = {
        .w = 9, .h = 7, .bits = 32, .compression = 6, .mask = {0xff0000, 0xff00, 0xff, 0xff000000}};
    blob file = make_bmp(how);
    shot s = decode_all(d, &file, o);
    assert_int_equal(s.info.channels, 4);
    free(s.pixels.data), free(file.data);
    how.mask[1] = 0xf0f0;
    file = make_bmp(how);
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "holes");
    free(file.data);
    memset(how.mask, 0, sizeof how.mask);
    file = make_bmp(how);
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "bmp: ");
    free(file.data);
    leat__decoder_free(&d);
}

static void lying_palettes(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 8, .n_palette = 100}); /* the header tells 256 */
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 8, .n_palette = 100, .n_used = 0xffffffff});
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 8, .n_palette = 10, .n_used = 10});
    check(d, (bmp_how){.w = 9, .h = 7, .bits = 4, .n_palette = 16, .n_used = 300});
    /* Pixels that would begin where the palette does. */
    bmp_how how = {.w = 9, .h = 7, .bits = 8};
    blob file = make_bmp(how), want = expected(how, 3);
    leat__store_u32(file.data + 10, 54);
    expect_pixels(d, &file, (leat__decode_options){0}, want.data, want.n);
    leat__store_u32(file.data + 10, 0);
    expect_pixels(d, &file, (leat__decode_options){0}, want.data, want.n);
    file.n -= 3; /* the padding of the last row */
    expect_pixels(d, &file, (leat__decode_options){0}, want.data, want.n);
    file.n -= 1;
    expect_failure(d, &file, (leat__decode_options){0}, LEAT_ERR_DECODE, "truncated");
    free(file.data), free(want.data);
    leat__decoder_free(&d);
}

static blob indices_to_rgb(const char *indices) {
    blob want = {0};
    for (; *indices; indices++) {
        uint8_t rgb[3];
        palette_entry(*indices <= '9' ? *indices - '0' : *indices - 'a' + 10, rgb);
        put(&want, rgb, 3);
    }
    return want;
}

static void run_lengths(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {.channels = 3};
    static const uint8_t rle8[] = {3, 1, 0, 3, 2, 3, 4, 0, 0, 0, /* 111234, end of line  */
                                   0, 2, 2, 0, 9, 5, 0, 0,       /* two to the right, a run that is clipped */
                                   2, 7, 0, 1};                  /* 77, end              */
    blob file = make_header((bmp_how){.w = 6, .h = 4, .bits = 8, .compression = 1});
    put(&file, rle8, sizeof rle8);
    blob want = indices_to_rgb("000000"
                               "770000"
                               "005555"
                               "111234");
    expect_pixels(d, &file, o, want.data, want.n);
    leat__store_u32(file.data + 22, (uint32_t)-4); /* top-down */
    blob upside = indices_to_rgb("111234"
                                 "005555"
                                 "770000"
                                 "000000");
    expect_pixels(d, &file, o, upside.data, upside.n);
    for (size_t cut = 1; cut <= sizeof rle8; cut++) {
        file.n--;
        expect_failure(d, &file, o, LEAT_ERR_DECODE, "truncated");
    }
    free(file.data), free(want.data), free(upside.data);

    static const uint8_t rle4[] = {5, 0x1f, 0, 0, 0, 5, 0x23, 0x45, 0x60, 0, 0, 0, 0, 1};
    file = make_header((bmp_how){.w = 5, .h = 2, .bits = 4, .compression = 2});
    put(&file, rle4, sizeof rle4);
    want = indices_to_rgb("23456"
                          "1f1f1");
    expect_pixels(d, &file, o, want.data, want.n);
    free(file.data), free(want.data);
    leat__decoder_free(&d);
}

static void what_cannot_be(void **unused) {
    (void)unused;
    static const struct {
        bmp_how how;
        int code;
        const char *words;
    } cases[] = {
        {{.w = 4, .h = 4, .bits = 24, .compression = 4}, LEAT_ERR_UNSUPPORTED, "JPEG"},
        {{.w = 4, .h = 4, .bits = 24, .compression = 1}, LEAT_ERR_DECODE, "compression"},
        {{.w = 4, .h = 4, .bits = 24, .compression = 99}, LEAT_ERR_DECODE, "compression"},
        {{.w = 4, .h = 4, .bits = 24, .compression = 4, .header = 64}, LEAT_ERR_UNSUPPORTED, "OS/2"},
        {{.w = 4, .h = 4, .bits = 24, .header = 41}, LEAT_ERR_DECODE, "41"},
        {{.w = -4, .h = 4, .bits = 24}, LEAT_ERR_DECODE, "-4"},
        {{.w = 4, .h = 0, .bits = 24}, LEAT_ERR_DECODE, "4 x 0"},
        {{.w = 4, .h = INT32_MIN, .bits = 24}, LEAT_ERR_DECODE, "bmp: "},
        {{.w = INT32_MAX, .h = INT32_MAX, .bits = 24}, LEAT_ERR_LIMIT, "2147483647"},
        {{.w = 65535, .h = 2000, .bits = 1}, LEAT_ERR_DECODE, "truncated"},
        {{.w = 4, .h = 4, .bits = 24, .offset = -20}, LEAT_ERR_DECODE, "header"},
        {{.w = 4, .h = 4, .bits = 24, .offset = 20000}, LEAT_ERR_DECODE, "truncated"},
        {{.w = 4, .h = 4, .bits = 8, .compression = 1, .offset = 20000}, LEAT_ERR_DECODE, "truncated"},
    };
    leat__decoder *d = new_decoder();
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        blob file = make_header(cases[i].how);
        for (int k = 0; k < 100; k++) put8(&file, 0);
        expect_failure(d, &file, (leat__decode_options){0}, cases[i].code, cases[i].words);
        free(file.data);
    }
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_depth), cmocka_unit_test(fields),         cmocka_unit_test(lying_palettes),
        cmocka_unit_test(run_lengths), cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
