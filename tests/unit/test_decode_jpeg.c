/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* JPEG: the pixels of the plain libjpeg loop, and a clear no to everything damaged. */
#include "test_decode_inputs.h"

/* What libjpeg gives without us. */
static blob plain_decode(const blob *file, J_COLOR_SPACE out, J_DCT_METHOD method) {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    blob b = {0};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, file->data, file->n);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = out;
    jpeg.dct_method = method;
    jpeg_start_decompress(&jpeg);
    const size_t row = jpeg.output_width * (size_t)jpeg.output_components;
    uint8_t *line = malloc(row);
    assert_non_null(line);
    while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW rows[1] = {line};
        jpeg_read_scanlines(&jpeg, rows, 1);
        put(&b, line, row);
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    free(line);
    return b;
}

static void check_equal(leat__decoder *d, const blob *file, bool fast) {
    static const J_COLOR_SPACE spaces[] = {[1] = JCS_GRAYSCALE, [3] = JCS_RGB, [4] = JCS_EXT_RGBA};
    for (int channels = 1; channels <= 4; channels++) {
        if (channels == 2) continue;
        blob want = plain_decode(file, spaces[channels], fast ? JDCT_IFAST : JDCT_ISLOW);
        expect_pixels(d, file, (leat__decode_options){.channels = channels, .fast = fast}, want.data, want.n);
        free(want.data);
    }
}

static void every_sampling(void **unused) {
    (void)unused;
    static const int sampling[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}};
    static const int sizes[][2] = {{1, 1}, {7, 3}, {16, 16}, {67, 45}, {130, 33}};
    leat__decoder *d = new_decoder();
    for (size_t i = 0; i < LEAT_COUNT(sampling); i++)
        for (size_t k = 0; k < LEAT_COUNT(sizes); k++)
            for (int kind = 0; kind < 4; kind++) {
                blob file = make_jpeg((jpeg_how){.w = sizes[k][0],
                                                 .h = sizes[k][1],
                                                 .in = JCS_RGB,
                                                 .h_samp = sampling[i][0],
                                                 .v_samp = sampling[i][1],
                                                 .progressive = kind & 1,
                                                 .restart = kind & 2 ? 2 : 0});
                check_equal(d, &file, false);
                free(file.data);
            }
    leat__decoder_free(&d);
}

static void gray_rgb_and_fast(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob gray = make_jpeg((jpeg_how){.w = 50, .h = 41, .in = JCS_GRAYSCALE});
    check_equal(d, &gray, false);
    shot s = decode_all(d, &gray, (leat__decode_options){0});
    assert_int_equal(s.info.channels, 1);
    assert_int_equal(s.info.stored_channels, 1);
    free(s.pixels.data);
    blob rgb = make_jpeg((jpeg_how){.w = 50, .h = 41, .in = JCS_RGB, .stored = JCS_RGB});
    check_equal(d, &rgb, false);
    blob colour =
        make_jpeg((jpeg_how){.w = 50, .h = 41, .in = JCS_RGB, .h_samp = 2, .v_samp = 2, .quality = 70});
    check_equal(d, &colour, true);
    s = decode_all(d, &colour, (leat__decode_options){0});
    assert_int_equal(s.info.channels, 3);
    assert_int_equal(s.info.width, 50);
    assert_int_equal(s.info.height, 41);
    assert_int_equal(s.info.orientation, 1);
    assert_false(s.info.progressive);
    free(s.pixels.data);
    free(gray.data), free(rgb.data), free(colour.data);
    leat__decoder_free(&d);
}

static void inks(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    for (int kind = 0; kind < 3; kind++) {
        const bool adobe = kind != 1;
        blob file = make_jpeg((jpeg_how){
            .w = 33, .h = 20, .in = JCS_CMYK, .stored = kind == 2 ? JCS_YCCK : JCS_CMYK, .no_adobe = !adobe});
        blob cmyk = plain_decode(&file, JCS_CMYK, JDCT_ISLOW), want = {0};
        for (size_t i = 0; i < cmyk.n; i += 4)
            for (size_t c = 0; c < 3; c++) {
                const int ink = cmyk.data[i + c], k = cmyk.data[i + 3];
                put8(&want, (unsigned)(adobe ? k * ink / 255 : (255 - k) * (255 - ink) / 255));
            }
        expect_pixels(d, &file, (leat__decode_options){.channels = 3}, want.data, want.n);
        expect_pixels(d, &file, (leat__decode_options){.channels = 0}, want.data, want.n);
        shot s = decode_all(d, &file, (leat__decode_options){.channels = 4});
        assert_int_equal(s.info.stored_channels, 4);
        for (size_t i = 0; i < s.pixels.n / 4; i++) {
            assert_memory_equal(s.pixels.data + 4 * i, want.data + 3 * i, 3);
            assert_int_equal(s.pixels.data[4 * i + 3], 255);
        }
        free(s.pixels.data), free(file.data), free(cmyk.data), free(want.data);
    }
    leat__decoder_free(&d);
}

static void what_cannot_be(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    blob file = make_jpeg((jpeg_how){.w = 40, .h = 30, .in = JCS_RGB});
    const size_t sof = find_marker(&file, 0xc0, 0);
    file.data[sof + 4] = 12;
    expect_failure(d, &file, o, LEAT_ERR_UNSUPPORTED, "12");
    file.data[sof + 4] = 8;
    file.data[sof + 1] = 0xc3; /* lossless */
    expect_failure(d, &file, o, LEAT_ERR_UNSUPPORTED, "jpeg: ");
    file.data[sof + 1] = 0xc0;
    file.data[sof + 5] = file.data[sof + 6] = 0; /* no height */
    expect_failure(d, &file, o, LEAT_ERR_DECODE, "jpeg: ");
    memset(file.data + sof + 5, 0xff, 4);
    expect_failure(d, &file, o, LEAT_ERR_LIMIT, "65");
    free(file.data);

#if defined(C_ARITH_CODING_SUPPORTED) && defined(D_ARITH_CODING_SUPPORTED)
    blob arithmetic = make_jpeg((jpeg_how){.w = 40, .h = 30, .in = JCS_RGB, .arithmetic = true});
    check_equal(d, &arithmetic, false);
    free(arithmetic.data);
#endif
    leat__decoder_free(&d);
}

static void scans_are_counted(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 64, .h = 64, .in = JCS_RGB, .progressive = true});
    shot s = decode_all(d, &file, (leat__decode_options){.scans_max = 10}); /* libjpeg's script has 10 */
    assert_int_equal(s.rc, 0);
    assert_true(s.info.progressive);
    free(s.pixels.data);
    expect_failure(d, &file, (leat__decode_options){.scans_max = 9}, LEAT_ERR_LIMIT, "more than 9 scans");
    expect_failure(d, &file, (leat__decode_options){.memory_max = 20000}, LEAT_ERR_LIMIT, "20000");
    free(file.data);
    leat__decoder_free(&d);
}

/* The limit is 100: the last one that is accepted and the first one that is not, both valid. */
static void a_hundred_scans(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob fits = make_jpeg((jpeg_how){.w = 67, .h = 45, .in = JCS_RGB, .n_scans = LEAT_DECODE_SCANS_MAX});
    check_equal(d, &fits, false);
    blob one_more =
        make_jpeg((jpeg_how){.w = 67, .h = 45, .in = JCS_RGB, .n_scans = LEAT_DECODE_SCANS_MAX + 1});
    blob pixels = plain_decode(&one_more, JCS_RGB, JDCT_ISLOW);
    assert_int_equal(pixels.n, 67 * 45 * 3);
    expect_failure(d, &one_more, (leat__decode_options){0}, LEAT_ERR_LIMIT, "more than 100 scans");
    free(pixels.data);
    free(fits.data);
    free(one_more.data);
    leat__decoder_free(&d);
}

static void harmless_oddities(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 40, .h = 30, .in = JCS_RGB});
    blob want = plain_decode(&file, JCS_RGB, JDCT_ISLOW);
    const leat__decode_options o = {0};
    blob odd = copy_of(&file);
    put(&odd, "and then some", 13); /* after the end mark */
    expect_pixels(d, &odd, o, want.data, want.n);
    insert(&odd, file.n - 2, "\1\2\3\4\5", 5); /* before the end mark */
    expect_pixels(d, &odd, o, want.data, want.n);
    const size_t jfif = find_marker(&odd, 0xe0, 0);
    odd.data[jfif + 9] = 9; /* JFIF version 9 */
    expect_pixels(d, &odd, o, want.data, want.n);
    insert(&odd, 2, "\xff\xff\xff", 3); /* fill bytes */
    expect_pixels(d, &odd, o, want.data, want.n);
    free(odd.data), free(file.data), free(want.data);
    leat__decoder_free(&d);
}

static void damage(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    blob file = make_jpeg((jpeg_how){.w = 96, .h = 96, .in = JCS_RGB, .restart = 6});
    blob bad = copy_of(&file);
    assert_true(bad.n > 2);
    bad.n -= 2;
    expect_failure(d, &bad, o, LEAT_ERR_DECODE, "jpeg: premature end of data: the file is truncated");
    bad.n = file.n / 2;
    expect_failure(d, &bad, o, LEAT_ERR_DECODE, "truncated");
    free(bad.data);

    bad = copy_of(&file);
    size_t restart = find_marker(&file, 0xda, 0);
    while (!(bad.data[restart] == 0xff && bad.data[restart + 1] == 0xd1)) restart++;
    drop(&bad, restart, 2);
    expect_failure(d, &bad, o, LEAT_ERR_DECODE, "jpeg: ");
    free(bad.data);
    bad = copy_of(&file);
    insert(&bad, restart, "\1\2\3\4\5\6\7\10", 8); /* before a restart marker it is not harmless */
    expect_failure(d, &bad, o, LEAT_ERR_DECODE, "extraneous");

    /* The rows above the damage can be had, and ending there is no error. */
    leat__picture_info info;
    leat_error err;
    uint8_t row[96 * 3 * 8];
    assert_int_equal(leat__decode_begin(d, bad.data, bad.n, NULL, &info, &err), 0);
    assert_int_equal(leat__decode_rows(d, row, 96 * 3, 4, &err), 0);
    assert_int_equal(leat__decode_end(d, &err), 0);
    free(bad.data), free(file.data);
    leat__decoder_free(&d);
}

/* Where the scan number n (from 0) begins, with the segments in front of it. */
static size_t find_scan(const blob *b, int n) {
    size_t at = find_marker(b, 0xda, 0) + segment_bytes(b, find_marker(b, 0xda, 0));
    for (; n > 0; n--) {
        while (!(b->data[at] == 0xff && b->data[at + 1] >= 0xc0)) at++;
        if (n == 1) break;
        while (b->data[at + 1] != 0xda) at += segment_bytes(b, at);
        at += segment_bytes(b, at);
    }
    return at;
}

/* End markers that are not the file's: in the thumbnail of its EXIF data, in a comment between two scans. */
static void ends(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    blob small = make_jpeg((jpeg_how){.w = 16, .h = 16, .in = JCS_RGB});
    for (int kind = 0; kind < 5; kind++) {
        blob file = make_jpeg((jpeg_how){.w = 61,
                                         .h = 45,
                                         .in = kind == 3 ? JCS_CMYK : JCS_RGB,
                                         .h_samp = 2,
                                         .v_samp = 2,
                                         .restart = kind == 1 ? 3 : 0,
                                         .arithmetic = kind == 4,
                                         .progressive = kind == 2});
        if (kind == 2) insert(&file, find_scan(&file, 1), "\xff\xfe\0\6\xff\xd9\xff\xd9", 8);
        add_jpeg_exif(&file, &small);
        check_end(d, &file);
        blob pair = copy_of(&file); /* a second picture behind the end, cut off */
        put(&pair, file.data, file.n / 2);
        shot s = decode_all(d, &pair, (leat__decode_options){0});
        assert_int_equal(s.rc, 0);
        free(s.pixels.data), free(file.data), free(pair.data);
    }
    free(small.data);
    leat__decoder_free(&d);
}

/* A file's tables are its own. */
static void tables_do_not_linger(void **unused) {
    (void)unused;
    leat__decoder *d = new_decoder();
    const leat__decode_options o = {0};
    blob good = make_jpeg((jpeg_how){.w = 40, .h = 30, .in = JCS_RGB});
    blob other = make_jpeg((jpeg_how){.w = 40, .h = 30, .in = JCS_RGB, .progressive = true});
    blob want = plain_decode(&good, JCS_RGB, JDCT_ISLOW);

    blob no_codes = copy_of(&good); /* as in Motion JPEG: the standard's tables, which libjpeg wrote */
    for (size_t at; (at = find_marker(&no_codes, 0xc4, 0)) != SIZE_MAX;)
        drop(&no_codes, at, segment_bytes(&no_codes, at));
    blob no_quant = copy_of(&good);
    for (size_t at; (at = find_marker(&no_quant, 0xdb, 0)) != SIZE_MAX;)
        drop(&no_quant, at, segment_bytes(&no_quant, at));

    for (int round = 0; round < 2; round++) {
        expect_pixels(d, &no_codes, o, want.data, want.n);
        expect_failure(d, &no_quant, o, LEAT_ERR_DECODE, "uantization");
        shot s = decode_all(d, &other, o); /* has tables of its own making */
        assert_int_equal(s.rc, 0);
        free(s.pixels.data);
    }
    free(good.data), free(other.data), free(want.data), free(no_codes.data), free(no_quant.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sampling),
        cmocka_unit_test(gray_rgb_and_fast),
        cmocka_unit_test(inks),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(scans_are_counted),
        cmocka_unit_test(a_hundred_scans),
        cmocka_unit_test(harmless_oddities),
        cmocka_unit_test(damage),
        cmocka_unit_test(ends),
        cmocka_unit_test(tables_do_not_linger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
