/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* A part of a picture is byte for byte what cutting it out of the whole gives: every place of small pictures, many of
 * larger ones, for every kind of JPEG that libjpeg treats in its own way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "test_decode_inputs.h"

static void check_box(leat__decoder *d, const blob *file, leat__decode_options o, const shot *whole,
                      leat__box box) {
    leat__picture_info info;
    leat_error err;
    assert_int_equal(leat__decode_begin(d, file->data, file->n, &o, &info, &err), 0);
    assert_int_equal(leat__decode_region(d, &box, &err), 0);
    const size_t pixel = (size_t)info.channels << (info.dtype == LEAT_DTYPE_U16);
    const size_t row = (size_t)box.width * pixel;
    uint8_t *got = malloc(row * (size_t)box.height);
    assert_non_null(got);
    const int first = box.height / 3;
    assert_int_equal(leat__decode_rows(d, got, (ptrdiff_t)row, first, &err), 0);
    assert_int_equal(
        leat__decode_rows(d, got + row * (size_t)first, (ptrdiff_t)row, box.height - first, &err), 0);
    assert_int_equal(leat__decode_end(d, &err), 0);
    for (int y = 0; y < box.height; y++) {
        const size_t at = ((size_t)(box.y + y) * (size_t)whole->info.width + (size_t)box.x) * pixel;
        if (memcmp(got + row * (size_t)y, whole->pixels.data + at, row) != 0)
            fail_msg("row %d of %dx%d at %d,%d of a %dx%d picture differs", y, box.width, box.height, box.x,
                     box.y, whole->info.width, whole->info.height);
    }
    free(got);
}

static void check_random_boxes(leat__decoder *d, const blob *file, leat__decode_options o, int n) {
    shot whole = decode_all(d, file, o);
    assert_int_equal(whole.rc, 0);
    leat__rng rng = leat__rng_at(file->n, 0, 0, 0);
    const int w = whole.info.width, h = whole.info.height;
    for (int i = 0; i < n; i++) {
        leat__box box = {.width = 1 + (int)leat__rng_below(&rng, (uint64_t)w),
                         .height = 1 + (int)leat__rng_below(&rng, (uint64_t)h)};
        box.x = (int)leat__rng_below(&rng, (uint64_t)(w - box.width + 1));
        box.y = (int)leat__rng_below(&rng, (uint64_t)(h - box.height + 1));
        check_box(d, file, o, &whole, box);
    }
    free(whole.pixels.data);
}

static void jpeg_of_every_kind(void **state) {
    (void)state;
    static const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}};
    leat__decoder *d = new_decoder();
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++)
        for (int kind = 0; kind < 4; kind++) {
            blob file = make_jpeg((jpeg_how){.w = 131,
                                             .h = 97,
                                             .in = JCS_RGB,
                                             .h_samp = samplings[i][0],
                                             .v_samp = samplings[i][1],
                                             .progressive = kind == 1,
                                             .restart = kind == 2 ? 3 : 0,
                                             .arithmetic = kind == 3});
            for (int channels = 1; channels <= 4; channels++)
                if (channels != 2)
                    check_random_boxes(d, &file, (leat__decode_options){.channels = channels}, 40);
            free(file.data);
        }
    leat__decoder_free(&d);
}

static void every_place_of_a_small_picture(void **state) {
    (void)state;
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 19, .h = 21, .in = JCS_RGB, .h_samp = 2, .v_samp = 2});
    const leat__decode_options o = {.channels = 3};
    shot whole = decode_all(d, &file, o);
    for (int size = 1; size <= 19; size += 3)
        for (int y = 0; y + size <= 21; y++)
            for (int x = 0; x + size <= 19; x++)
                check_box(d, &file, o, &whole, (leat__box){x, y, size, size});
    free(whole.pixels.data);
    free(file.data);
    leat__decoder_free(&d);
}

static void gray_cmyk_and_turned(void **state) {
    (void)state;
    leat__decoder *d = new_decoder();
    blob gray = make_jpeg((jpeg_how){.w = 75, .h = 50, .in = JCS_GRAYSCALE});
    blob cmyk = make_jpeg((jpeg_how){.w = 75, .h = 50, .in = JCS_CMYK});
    check_random_boxes(d, &gray, (leat__decode_options){0}, 100);
    check_random_boxes(d, &cmyk, (leat__decode_options){.channels = 3}, 50);
    check_random_boxes(d, &gray, (leat__decode_options){.deep = true}, 50);
    for (unsigned orientation = 1; orientation <= 8; orientation++)
        for (int progressive = 0; progressive < 2; progressive++) {
            blob turned = make_jpeg((jpeg_how){
                .w = 75, .h = 50, .in = JCS_RGB, .h_samp = 2, .v_samp = 2, .progressive = progressive});
            blob exif = make_exif(false, orientation);
            add_jpeg_exif(&turned, &exif);
            check_random_boxes(d, &turned, (leat__decode_options){.orient = true}, 50);
            check_random_boxes(d, &turned, (leat__decode_options){.orient = true, .deep = true}, 50);
            free(turned.data), free(exif.data);
        }
    free(gray.data), free(cmyk.data);
    leat__decoder_free(&d);
}

/* libwebp makes colours up at the edges of what it is asked for; those must not be seen. */
static void webp(void **state) {
    (void)state;
    leat__decoder *d = new_decoder();
    for (int kind = 0; kind < 8; kind++) {
        const int channels = kind & 1 ? 4 : 3, w = kind & 4 ? 130 : 75, h = kind & 4 ? 98 : 51;
        blob pixels = pattern(w, h, channels);
        blob file = make_webp(&pixels, w, h, channels, kind & 2);
        for (int wanted = 0; wanted <= 4; wanted++)
            if (wanted != 2) check_random_boxes(d, &file, (leat__decode_options){.channels = wanted}, 60);
        check_random_boxes(d, &file, (leat__decode_options){.channels = 3, .deep = true}, 20);
        free(pixels.data), free(file.data);
    }
    leat__decoder_free(&d);
}

static void parts_outside_are_refused(void **state) {
    (void)state;
    static const leat__box boxes[] = {
        {-1, 0, 5, 5}, {0, 0, 0, 5}, {70, 0, 6, 5}, {0, 46, 5, 5}, {0, 0, 5, INT32_MAX}};
    leat__decoder *d = new_decoder();
    blob file = make_jpeg((jpeg_how){.w = 75, .h = 50, .in = JCS_RGB});
    for (size_t i = 0; i < LEAT_COUNT(boxes); i++) {
        leat__picture_info info;
        leat_error err;
        assert_int_equal(leat__decode_begin(d, file.data, file.n, NULL, &info, &err), 0);
        assert_int_equal(leat__decode_region(d, &boxes[i], &err), LEAT_ERR_ARGUMENT);
        leat__decode_end(d, NULL);
    }
    free(file.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpeg_of_every_kind),        cmocka_unit_test(every_place_of_a_small_picture),
        cmocka_unit_test(gray_cmyk_and_turned),      cmocka_unit_test(webp),
        cmocka_unit_test(parts_outside_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
