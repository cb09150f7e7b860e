/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* Our own JPEG decoder and libjpeg-turbo, side by side: the same rows, the same errors, whatever the file. Everything goes
 * through the door of decode.h twice, once with options.reference. */
#include "test_jpeg_twice.h"

#include "unit/testing_stride.h"

static void check_file(jpeg_how how) {
    blob file = make_jpeg(how);
    assert_null(detour_of(&file)); /* or nothing would be compared */
    for (int channels = 0; channels <= 4; channels++)
        if (channels != 2)
            for (int fast = 0; fast < 2; fast++)
                decode_twice(&file, (leat__decode_options){.channels = channels, .fast = fast}, NULL);
    free(file.data);
}

static void who_decodes_what(void **state) {
    (void)state;
    static const struct {
        jpeg_how how;
        const char *detour;
    } files[] = {
        {{.w = 20, .h = 20, .in = JCS_RGB}, NULL},
        {{.w = 20, .h = 20, .in = JCS_GRAYSCALE, .h_samp = 2, .v_samp = 2}, NULL},
        {{.w = 20, .h = 20, .in = JCS_RGB, .arithmetic = true}, "arithmetic coding"},
        {{.w = 20, .h = 20, .in = JCS_CMYK}, "CMYK"},
        {{.w = 20, .h = 20, .in = JCS_RGB, .stored = JCS_RGB}, "neither gray nor YCbCr"},
        {{.w = 20, .h = 20, .in = JCS_RGB, .h_samp = 4}, "unusual sampling"},
    };
    for (size_t i = 0; i < LEAT_COUNT(files); i++) {
        blob file = make_jpeg(files[i].how);
        const char *detour = detour_of(&file);
        if (files[i].detour) assert_string_equal(detour ? detour : "none", files[i].detour);
        else assert_null(detour);
        for (int fast = 0; fast < 2; fast++)
            decode_twice(&file, (leat__decode_options){.channels = 3, .fast = fast}, NULL);
        free(file.data);
    }
}

/* Our own decoder for colours, and nobody else; nobody either when the part that was asked for could not be reached. */
static void who_gives_planes(void **state) {
    (void)state;
    static const leat__decode_options options[] = {
        {.channels = 3},
        {.channels = 3, .fast = true},
        {.channels = 1},
        {.channels = 4},
        {.channels = 3, .deep = true},
        {.channels = 3, .reference = true},
        {.channels = 3, .fast = true, .reference = true},
    };
    blob file = make_jpeg((jpeg_how){.w = 60, .h = 300, .in = JCS_RGB, .h_samp = 2, .v_samp = 2});
    leat__decoder *d = new_decoder();
    leat__picture_info info;
    leat_error err;
    for (size_t i = 0; i < LEAT_COUNT(options); i++) {
        assert_int_equal(leat__decode_begin(d, file.data, file.n, &options[i], &info, &err), 0);
        assert_int_equal(leat__decode_planes(d, 64), i < 2);
        leat__decode_end(d, NULL);
    }
    memcpy(file.data + file.n / 2, "\xff\xfe", 2); /* a marker in the middle of the scan */
    assert_int_equal(leat__decode_begin(d, file.data, file.n, &options[5], &info, &err), 0);
    assert_int_equal(leat__decode_region(d, &(leat__box){3, 290, 7, 8}, &err), LEAT_ERR_DECODE);
    assert_false(leat__decode_planes(d, 32));
    assert_int_equal(leat__decode_end(d, &err), LEAT_ERR_DECODE);
    leat__decoder_free(&d);
    free(file.data);
}

static void every_size(void **state) {
    (void)state;
    static const int heights[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 50, 64, 67};
    int n = 0;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int w = 1; w <= 67; w += STRIDE)
            for (size_t k = 0; k < LEAT_COUNT(heights); k++, n++)
                check_file(of_sampling(i, (jpeg_how){.w = n % 2 ? w : heights[k],
                                                     .h = n % 2 ? heights[k] : w,
                                                     .quality = 1 + n * 7 % 100,
                                                     .restart = n % 3 == 0 ? 1 + n % 5 : 0,
                                                     .optimised = n % 4 == 0,
                                                     .wild = n % 5 == 0}));
}

static void every_quality(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int quality = 1; quality <= 100; quality += STRIDE)
            for (int kind = 0; kind < 4; kind++)
                check_file(of_sampling(
                    i, (jpeg_how){
                           .w = 67, .h = 43, .quality = quality, .optimised = kind & 1, .wild = kind & 2}));
}

static void every_restart_interval(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int restart = 1; restart <= 40; restart++)
            check_file(of_sampling(i, (jpeg_how){.w = 61, .h = 66, .restart = restart, .wild = restart % 2}));
}

/* More than a window of entropy-coded bytes, several runs of blocks in a row. */
static void large_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int kind = 0; kind < 4; kind++)
            check_file(of_sampling(i, (jpeg_how){.w = 701 + 13 * kind,
                                                 .h = 333 - 7 * kind,
                                                 .quality = 60 + 13 * kind,
                                                 .optimised = kind & 1,
                                                 .restart = kind == 3 ? 29 : 0,
                                                 .wild = kind & 2}));
    check_file(of_sampling(0, (jpeg_how){.w = 65500, .h = 3}));
    check_file(of_sampling(3, (jpeg_how){.w = 3, .h = 65500}));
}

static void every_part_of_a_small_picture(void **state) {
    (void)state;
    enum { W = 18, H = 19 };
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++) {
        blob file =
            make_jpeg(of_sampling(i, (jpeg_how){.w = W, .h = H, .wild = true, .restart = (int)i % 2}));
        const leat__decode_options o = {.channels = 3, .fast = i % 2};
        shot whole = decode_all(twice_decoder(), &file, o);
        assert_int_equal(whole.rc, 0);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int height = 1; height <= H - y; height += 1 + height / 5)
                    for (int width = 1; width <= W - x; width += 1 + width / 5)
                        check_part(&file, o, &whole, (leat__box){x, y, width, height});
        free(whole.pixels.data);
        free(file.data);
    }
}

static void parts_of_larger_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int kind = 0; kind < 3; kind++) {
            blob file = make_jpeg(of_sampling(i, (jpeg_how){.w = 301,
                                                            .h = 277,
                                                            .quality = 50 + 20 * kind,
                                                            .restart = kind == 1 ? 11 : 0,
                                                            .optimised = kind == 2,
                                                            .wild = kind == 1}));
            for (int channels = 1; channels <= 4; channels++) {
                if (channels == 2) continue;
                const leat__decode_options o = {.channels = channels, .fast = (channels + kind) % 2};
                shot whole = decode_all(twice_decoder(), &file, o);
                leat__rng rng = leat__rng_at(i, (uint64_t)kind, (uint64_t)channels, 0);
                for (int n = 0; n < 60 / STRIDE; n++)
                    check_part(&file, o, &whole, random_box(&rng, 301, 277));
                free(whole.pixels.data);
            }
            free(file.data);
        }
}

static void cut_at_every_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++) {
        blob file = make_jpeg(of_sampling(i, (jpeg_how){.w = 41, .h = 37, .restart = i == 3 ? 2 : 0}));
        const size_t n = file.n;
        for (file.n = 3; file.n < n; file.n++) {
            const leat__decode_options o = {.channels = 3, .fast = file.n % 2};
            decode_twice(&file, o, NULL);
            blob ended = copy_of(&file); /* a scan that ends early, in a file that has its end */
            put(&ended, "\xff\xd9", 2);
            decode_twice(&ended, o, NULL);
            free(ended.data);
        }
        free(file.data);
    }
}

/* What regular files need not have, and what no file should. */
static void irregular_files(void **state) {
    (void)state;
    leat__decode_options o = {.channels = 3};
    blob file =
        make_jpeg((jpeg_how){.w = 50, .h = 40, .in = JCS_RGB, .h_samp = 2, .v_samp = 2, .restart = 3});
    const size_t scan = find_marker(&file, 0xda, 0), body = scan + segment_bytes(&file, scan);
    static const struct {
        const char *bytes;
        size_t n;
    } extra[] = {{"\xff\xff", 2}, {"\1\2\3", 3},       {"\xff\xd0", 2},         {"\xff\xfe\0\4ab", 6},
                 {"\xff", 1},     {"\xff\0\xff\0", 4}, {"\xff\xdc\0\4\0\50", 6}};
    for (size_t i = 0; i < LEAT_COUNT(extra); i++)
        for (size_t at = body + i % STRIDE; at <= file.n;
             at += STRIDE) { /* at every place of the scan, and around the end mark */
            blob odd = copy_of(&file);
            insert(&odd, at, extra[i].bytes, extra[i].n);
            o.fast = at % 2;
            decode_twice(&odd, o, NULL);
            free(odd.data);
        }
    for (size_t at = 2; at < body; at++) /* every byte of the headers, with a few values */
        for (unsigned value = at % STRIDE; value < 256; value += value < 24 ? STRIDE : 13) {
            blob odd = copy_of(&file);
            odd.data[at] = (uint8_t)value;
            o.fast = value % 2;
            decode_twice(&odd, o, NULL);
            free(odd.data);
        }
    free(file.data);
}

/* Coefficients that no encoder makes: steps of up to 255 and more for values as large as they can be coded. The fast
 * transform wraps where they do not fit into 16 bits, and its samples are libjpeg-turbo's all the same. */
static void coefficients_out_of_range(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++) {
        blob file = make_jpeg(of_sampling(i, (jpeg_how){.w = 64, .h = 48, .quality = 95, .wild = true}));
        const size_t table = find_marker(&file, 0xdb, 0) + 5;
        for (int step = 0; step < 256; step++)
            for (int fast = 0; fast < 2; fast++) {
                memset(file.data + table, step, 64);
                decode_twice(&file, (leat__decode_options){.channels = 3, .fast = fast}, NULL);
                file.data[table] = 1;
                decode_twice(&file, (leat__decode_options){.channels = 1, .fast = fast}, NULL);
            }
        free(file.data);
    }
}

static void any_coefficients(void **state) {
    (void)state;
    static const int steps[] = {1, 16, 100, 255, 4000, 8191, 30000};
    for (uint64_t n = 0; n < 350; n++) {
        leat__rng rng = leat__rng_at(7, 0, n, 0);
        blob file =
            make_coefficients(&rng, n % LEAT_COUNT(jpeg_samplings), steps[n % LEAT_COUNT(steps)], false);
        for (int fast = 0; fast < 2; fast++)
            decode_twice(&file, (leat__decode_options){.channels = 3, .fast = fast}, NULL);
        free(file.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_decodes_what),
        cmocka_unit_test(who_gives_planes),
        cmocka_unit_test(every_size),
        cmocka_unit_test(every_quality),
        cmocka_unit_test(every_restart_interval),
        cmocka_unit_test(large_pictures),
        cmocka_unit_test(every_part_of_a_small_picture),
        cmocka_unit_test(parts_of_larger_pictures),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(irregular_files),
        cmocka_unit_test(coefficients_out_of_range),
        cmocka_unit_test(any_coefficients),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
