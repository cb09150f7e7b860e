/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* JPEGs at 1/2, 1/4 and 1/8: our own decoder and libjpeg-turbo give the same rows, of wholes and of parts, and say the same of
 * damaged files. Which scale a sample takes is tested here too. */
#include "test_jpeg_twice.h"
#include "unit/testing_stride.h"

#include "sample/draw.h"

static const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0} /* gray */};

static blob make_file(size_t i, jpeg_how how) {
    how.in = samplings[i][0] ? JCS_RGB : JCS_GRAYSCALE;
    how.h_samp = samplings[i][0];
    how.v_samp = samplings[i][1];
    return make_jpeg(how);
}

static int scales[] = {2, 4, 8};

static int take_scale(void *user, const leat__picture_info *info, leat_error *err) {
    (void)err;
    assert_int_equal(info->scale, 1);
    return *(const int *)user;
}

static leat__decode_options at_scale(int which, leat__decode_options o) {
    o.scale = take_scale;
    o.scale_user = &scales[which];
    return o;
}

static int divided(int n, int which) {
    return (n + scales[which] - 1) / scales[which];
}

/* By libjpeg-turbo's own functions, without anything of ours. */
static blob decode_plainly(const blob *file, int which, bool fast) {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, file->data, (unsigned long)file->n);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.scale_num = 1;
    jpeg.scale_denom = (unsigned)scales[which];
    jpeg.out_color_space = JCS_RGB;
    jpeg.dct_method = fast ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_start_decompress(&jpeg);
    const size_t row = (size_t)jpeg.output_width * 3;
    blob out = {.n = row * jpeg.output_height, .data = malloc(row * jpeg.output_height)};
    assert_non_null(out.data);
    while (jpeg.output_scanline < jpeg.output_height)
        jpeg_read_scanlines(&jpeg, &(JSAMPROW){out.data + row * jpeg.output_scanline}, 1);
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return out;
}

static void check_file(const blob *file, int w, int h) {
    for (int which = 0; which < 3; which++)
        for (int fast = 0; fast < 2; fast++) {
            const leat__decode_options o =
                at_scale(which, (leat__decode_options){.channels = 3, .fast = fast});
            shot own = decode_all(twice_decoder(), file, o);
            if (own.rc) fail_msg("%s", own.err.message);
            assert_int_equal(own.info.scale, scales[which]);
            assert_int_equal(own.info.width, divided(w, which));
            assert_int_equal(own.info.height, divided(h, which));
            blob plain = decode_plainly(file, which, fast);
            assert_int_equal(own.pixels.n, plain.n);
            if (memcmp(own.pixels.data, plain.data, plain.n) != 0)
                fail_msg("1/%d of %d x %d differs, fast %d", scales[which], w, h, fast);
            free(plain.data);
            free(own.pixels.data);
            for (int channels = 0; channels <= 4; channels++)
                if (channels != 2)
                    decode_twice(file,
                                 at_scale(which, (leat__decode_options){.channels = channels, .fast = fast}),
                                 NULL);
        }
}

static void every_size(void **state) {
    (void)state;
    static const int heights[] = {1, 2, 7, 8, 9, 16, 17, 31, 33, 50, 67};
    int n = 0;
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++)
        for (int w = 1; w <= 67; w += 1 + w / 20)
            for (size_t k = 0; k < LEAT_COUNT(heights); k++, n++) {
                const int x = n % 2 ? w : heights[k], y = n % 2 ? heights[k] : w;
                blob file = make_file(i, (jpeg_how){.w = x,
                                                    .h = y,
                                                    .quality = 1 + n * 7 % 100,
                                                    .restart = n % 3 == 0 ? 1 + n % 5 : 0,
                                                    .optimised = n % 4 == 0,
                                                    .wild = n % 5 == 0});
                check_file(&file, x, y);
                free(file.data);
            }
}

static void large_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++)
        for (int kind = 0; kind < 4; kind++) {
            const int w = 701 + 13 * kind, h = 333 - 7 * kind;
            blob file = make_file(i, (jpeg_how){.w = w,
                                                .h = h,
                                                .quality = 60 + 13 * kind,
                                                .optimised = kind & 1,
                                                .restart = kind == 3 ? 29 : 0,
                                                .wild = kind & 2});
            check_file(&file, w, h);
            free(file.data);
        }
}

/* More than a MiB: blocks are skipped by larger tables. */
static void long_scans(void **state) {
    (void)state;
    enum { W = 1200, H = 1000 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file =
            make_file(i, (jpeg_how){.w = W, .h = H, .quality = 100, .optimised = i % 2, .wild = true});
        assert_true(file.n > (1 << 20) + 1000);
        leat__rng rng = leat__rng_at(i, 0, 8, 0);
        decode_twice(&file, at_scale(2, (leat__decode_options){.channels = 3}), NULL);
        decode_twice(&file, (leat__decode_options){.channels = 1}, NULL);
        for (int n = 0; n < 3; n++) {
            const leat__box box = random_box(&rng, W, H);
            assert_true(decode_twice(&file, (leat__decode_options){.channels = 3}, &box));
        }
        free(file.data);
    }
}

/* With notes, and without; those of one scale serve the others. */
static void every_part(void **state) {
    (void)state;
    enum { W = 150, H = 83 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file = make_file(i, (jpeg_how){.w = W, .h = H, .wild = i % 2, .quality = 80});
        leat__buf block = {0};
        leat__decode_positions positions = {
            .key = leat__jpeg_store_key(file.data, file.n), .block = &block, .bytes_max = SIZE_MAX};
        for (int which = 0; which < 3; which++) {
            leat__decode_options o = at_scale(which, (leat__decode_options){.channels = 3, .fast = i % 2});
            shot whole = decode_all(twice_decoder(), &file, o);
            leat__rng rng = leat__rng_at(i, (uint64_t)which, 9, 0);
            for (int n = 0; n < 200 / STRIDE; n++) {
                const leat__box box = random_box(&rng, divided(W, which), divided(H, which));
                check_part(&file, o, &whole, box);
                o.positions = &positions;
                check_part(&file, o, &whole, box);
                o.positions = NULL;
                decode_twice(&file, o, &box);
            }
            free(whole.pixels.data);
        }
        assert_true(block.size > 0);
        leat__buf_free(&block);
        free(file.data);
    }
}

/* What libjpeg-turbo decodes alone. */
static void other_jpegs(void **state) {
    (void)state;
    static const jpeg_how files[] = {
        {.w = 90, .h = 71, .in = JCS_RGB, .progressive = true, .h_samp = 2, .v_samp = 2},
        {.w = 90, .h = 71, .in = JCS_RGB, .arithmetic = true, .h_samp = 2, .v_samp = 1},
        {.w = 90, .h = 71, .in = JCS_RGB, .stored = JCS_RGB},
        {.w = 90, .h = 71, .in = JCS_RGB, .h_samp = 4},
        {.w = 90, .h = 71, .in = JCS_CMYK},
    };
    for (size_t i = 0; i < LEAT_COUNT(files); i++) {
        blob file = make_jpeg(files[i]);
        if (files[i].in == JCS_RGB) check_file(&file, 90, 71);
        for (int which = 0; which < 3; which++) {
            const leat__decode_options o = at_scale(which, (leat__decode_options){.channels = 3});
            shot whole = decode_all(twice_decoder(), &file, o);
            assert_int_equal(whole.rc, 0);
            leat__rng rng = leat__rng_at(i, (uint64_t)which, 3, 0);
            for (int n = 0; n < 50 / STRIDE; n++)
                check_part(&file, o, &whole, random_box(&rng, divided(90, which), divided(71, which)));
            free(whole.pixels.data);
        }
        free(file.data);
    }
}

/* Values that leave 16 bits, and files that end or go wrong in the middle: libjpeg-turbo goes on with the rows that follow. */
static void damaged_files(void **state) {
    (void)state;
    int n_good = 0;
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob base = make_file(i, (jpeg_how){.w = 99, .h = 75, .quality = 30 + 15 * (int)i, .wild = i % 2});
        leat__rng rng = leat__rng_at(i, 0, 4, 0);
        for (int n = 0; n < 600 / STRIDE; n++) {
            blob file = copy_of(&base);
            const size_t at = file.n / 2 + (size_t)leat__rng_below(&rng, file.n / 2);
            if (n % 4 == 0) file.n = at;
            else file.data[n % 4 == 1 ? at / 2 : at] ^= (uint8_t)(1u << leat__rng_below(&rng, 8));
            const leat__decode_options o =
                at_scale(n % 3, (leat__decode_options){.channels = n % 5 ? 3 : 1, .fast = n % 2});
            n_good += decode_twice(&file, o, NULL);
            const leat__box box = random_box(&rng, divided(99, n % 3), divided(75, n % 3));
            leat__picture_info info;
            if (leat__decode_info(twice_decoder(), file.data, file.n, NULL, &info, NULL) == 0 &&
                info.width == 99 && info.height == 75)
                decode_twice(&file, o, &box);
            free(file.data);
        }
        free(base.data);
    }
    assert_true(n_good > 100);
}

/* Sizes as they are shown, and pixels turned after they were made smaller. */
static void turned_pictures(void **state) {
    (void)state;
    blob file = make_file(3, (jpeg_how){.w = 50, .h = 83}), turned = copy_of(&file),
         exif = make_exif(true, 6);
    add_jpeg_exif(&turned, &exif);
    for (int which = 0; which < 3; which++) {
        const leat__decode_options o = at_scale(which, (leat__decode_options){.channels = 3, .orient = true});
        shot plain = decode_all(twice_decoder(), &file, o), shown = decode_all(twice_decoder(), &turned, o);
        const int w = divided(50, which), h = divided(83, which);
        assert_int_equal(shown.info.width, h);
        assert_int_equal(shown.info.height, w);
        for (int y = 0; y < w; y++)
            for (int x = 0; x < h; x++)
                assert_memory_equal(shown.pixels.data + 3 * (y * h + x),
                                    plain.pixels.data + 3 * ((h - 1 - x) * w + y), 3);
        check_part(&turned, o, &shown, (leat__box){1, 2, h - 2, w - 3});
        free(plain.pixels.data);
        free(shown.pixels.data);
    }
    free(exif.data);
    free(turned.data);
    free(file.data);
}

static int refuse(void *user, const leat__picture_info *info, leat_error *err) {
    (void)user, (void)info;
    return leat__fail(err, LEAT_ERR_SHAPE, "not this one");
}

static blob make_bmp(void) { /* 40 x 30, 24 bits */
    static const uint8_t head[54] = {
        'B', 'M', 0x46, 0x0e, [10] = 54, [14] = 40, [18] = 40, [22] = 30, [26] = 1, [28] = 24};
    blob file = {0};
    put(&file, head, sizeof head);
    for (int i = 0; i < 40 * 30 * 3; i++) put8(&file, (unsigned)i & 255);
    return file;
}

static void the_answer_counts(void **state) {
    (void)state;
    leat__decoder *d = twice_decoder();
    leat__picture_info info;
    leat_error err;
    blob file = make_file(0, (jpeg_how){.w = 40, .h = 30}), bmp = make_bmp();
    const leat__decode_options no = {.scale = refuse}, yes = at_scale(1, (leat__decode_options){0});
    assert_int_equal(leat__decode_begin(d, file.data, file.n, &no, &info, &err), LEAT_ERR_SHAPE);
    assert_string_equal(err.message, "not this one");
    assert_int_equal(leat__decode_info(d, file.data, file.n, &yes, &info, &err), 0);
    assert_int_equal(info.width, 40); /* only begin asks */
    const leat__decode_options rgb = at_scale(1, (leat__decode_options){.channels = 3});
    assert_int_equal(leat__decode_begin(d, file.data, file.n, &rgb, &info, &err), 0);
    assert_true(leat__decode_planes(d, 32)); /* our own decoder has taken it */
    leat__decode_end(d, NULL);
    assert_int_equal(leat__decode_begin(d, bmp.data, bmp.n, &yes, &info, &err), 0);
    assert_int_equal(info.scale, 1);
    assert_int_equal(info.width, 40);
    assert_int_equal(leat__decode_end(d, &err), 0);
    free(bmp.data);
    free(file.data);
}

static void the_largest_scale_that_leaves_enough(void **state) {
    (void)state;
    static const struct {
        int part[2], output[2], scale;
    } cases[] = {
        {{1792, 1792}, {224, 224}, 8}, {{1791, 1792}, {224, 224}, 4}, {{1792, 895}, {224, 224}, 2},
        {{448, 448}, {224, 224}, 2},   {{447, 9999}, {224, 224}, 1},  {{100, 100}, {224, 224}, 1},
        {{640, 480}, {80, 30}, 8},     {{640, 480}, {80, 61}, 4},     {{8, 8}, {1, 1}, 8},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const leat__box part = {3, 5, cases[i].part[0], cases[i].part[1]};
        assert_int_equal(leat__scale_for(&part, cases[i].output[1], cases[i].output[0]), cases[i].scale);
    }
    leat__rng rng = leat__rng_at(1, 2, 3, 0);
    for (int n = 0; n < 100000; n++) {
        const int w = 1 + (int)leat__rng_below(&rng, 3000), h = 1 + (int)leat__rng_below(&rng, 3000);
        const leat__box part = random_box(&rng, w, h);
        const int out_w = 1 + (int)leat__rng_below(&rng, 200), out_h = 1 + (int)leat__rng_below(&rng, 200);
        const int s = leat__scale_for(&part, out_h, out_w), width = (w + s - 1) / s, height = (h + s - 1) / s;
        const leat__box box = leat__box_scaled(&part, s, height, width);
        assert_true(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height);
        if (s > 1) assert_true(box.width >= out_w && box.height >= out_h);
        assert_true(abs(box.x * s - part.x) <= s / 2 && abs(box.y * s - part.y) <= s / 2);
        assert_true(abs((box.x + box.width) * s - part.x - part.width) <= s / 2);
        assert_true(abs((box.y + box.height) * s - part.y - part.height) <= s / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),
        cmocka_unit_test(large_pictures),
        cmocka_unit_test(long_scans),
        cmocka_unit_test(every_part),
        cmocka_unit_test(other_jpegs),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(turned_pictures),
        cmocka_unit_test(the_answer_counts),
        cmocka_unit_test(the_largest_scale_that_leaves_enough),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
