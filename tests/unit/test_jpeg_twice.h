/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests that put our own decoders beside libjpeg-turbo and libpng. */
#ifndef LEAT_TEST_JPEG_TWICE_H
#define LEAT_TEST_JPEG_TWICE_H

#include "test_decode_inputs.h"

#include "base/rng.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* not every test needs everything */

/* Whether libjpeg-turbo's fast transform has leat's pixels: on other processors it has pixels of its own. */
#if defined(__x86_64__)
enum { FAST_IS_ALIKE = 1 };
#else
enum { FAST_IS_ALIKE = 0 };
#endif

static leat__decoder *twice_kept; /* one for all files, as in a worker */

static leat__decoder *twice_decoder(void) {
    if (!twice_kept) twice_kept = new_decoder();
    return twice_kept;
}

static void twice_end(void) {
    leat__decoder_free(&twice_kept);
}

static const int jpeg_samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0} /* gray */};

static jpeg_how of_sampling(size_t i, jpeg_how how) {
    how.in = jpeg_samplings[i][0] ? JCS_RGB : JCS_GRAYSCALE;
    how.h_samp = jpeg_samplings[i][0];
    how.v_samp = jpeg_samplings[i][1];
    return how;
}

static const char *detour_of(const blob *file) {
    leat__picture_info info;
    assert_int_equal(leat__decode_info(twice_decoder(), file->data, file->n, NULL, &info, NULL), 0);
    return info.detour;
}

static leat__box random_box(leat__rng *rng, int w, int h) {
    leat__box box = {.width = 1 + (int)leat__rng_below(rng, (uint64_t)w),
                     .height = 1 + (int)leat__rng_below(rng, (uint64_t)h)};
    box.x = (int)leat__rng_below(rng, (uint64_t)(w - box.width + 1));
    box.y = (int)leat__rng_below(rng, (uint64_t)(h - box.height + 1));
    return box;
}

/* n rows as planes, put together as pixels. */
static int read_planes(leat__decoder *d, uint8_t *dst, size_t apart, int width, int n, leat_error *err) {
    uint8_t *rows = malloc(3 * apart * (size_t)n);
    assert_non_null(rows);
    const int rc = leat__decode_rows(d, rows, (ptrdiff_t)(3 * apart), n, err);
    for (size_t i = 0; rc == 0 && i < (size_t)n * (size_t)width; i++)
        for (size_t c = 0; c < 3; c++)
            dst[3 * i + c] = rows[(3 * (i / (size_t)width) + c) * apart + i % (size_t)width];
    free(rows);
    return rc;
}

/* Runs of rows of these lengths, over and over, as planes if that is wanted and the decoder can; the file is copied to a
 * block of its size. */
static shot decode_runs(const blob *file, leat__decode_options o, const leat__box *box, int step,
                        bool planes) {
    leat__decoder *d = twice_decoder();
    shot s = {0};
    uint8_t *bytes = malloc(file->n + 1);
    assert_non_null(bytes);
    uint8_t *at = bytes + 1; /* at an odd address */
    memcpy(at, file->data, file->n);
    s.rc = leat__decode_begin(d, at, file->n, &o, &s.info, &s.err);
    if (s.rc == 0) {
        if (box) {
            s.rc = leat__decode_region(d, box, &s.err);
            s.info.width = box->width, s.info.height = box->height;
        }
        const size_t row = ((size_t)s.info.width * (size_t)s.info.channels)
                           << (s.info.dtype == LEAT_DTYPE_U16);
        s.pixels.n = row * (size_t)s.info.height;
        s.pixels.data = calloc(s.pixels.n, 1); /* rows that did not come stay equal */
        assert_non_null(s.pixels.data);
        const size_t apart = LEAT_ALIGN_UP((size_t)s.info.width, (size_t)32);
        if (planes) planes = s.rc == 0 && leat__decode_planes(d, apart);
        for (int y = 0; s.rc == 0 && y < s.info.height; y += step) {
            uint8_t *dst = s.pixels.data + row * (size_t)y;
            const int n = LEAT_MIN(step, s.info.height - y);
            if (planes) s.rc = read_planes(d, dst, apart, s.info.width, n, &s.err);
            else s.rc = leat__decode_rows(d, dst, (ptrdiff_t)row, n, &s.err);
        }
        const int rc = leat__decode_end(d, s.rc ? NULL : &s.err);
        if (s.rc == 0) s.rc = rc;
    }
    free(bytes);
    return s;
}

static shot decode_part(const blob *file, leat__decode_options o, const leat__box *box, int step) {
    return decode_runs(file, o, box, step, false);
}

/* A file of any coefficients and steps that can be coded, most of them 0 in some blocks. */
static blob make_coefficients(leat__rng *rng, size_t sampling, int step_max, bool progressive) {
    enum { BLOCKS = 8 }; /* in either direction, of luma */
    const jpeg_how how = of_sampling(sampling, (jpeg_how){0});
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jvirt_barray_ptr arrays[3];
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = jpeg.image_height = 8 * BLOCKS;
    jpeg.input_components = how.in == JCS_GRAYSCALE ? 1 : 3;
    jpeg.in_color_space = how.in;
    jpeg_set_defaults(&jpeg);
    jpeg.optimize_coding = TRUE;
    if (progressive) jpeg_simple_progression(&jpeg);
    for (int table = 0; table < 2; table++) {
        unsigned steps[64];
        for (int i = 0; i < 64; i++) steps[i] = 1 + (unsigned)leat__rng_below(rng, (uint64_t)step_max);
        jpeg_add_quant_table(&jpeg, table, steps, 100, FALSE);
    }
    for (int i = 0; i < jpeg.num_components; i++) {
        jpeg.comp_info[i].h_samp_factor = i == 0 && how.h_samp ? how.h_samp : 1;
        jpeg.comp_info[i].v_samp_factor = i == 0 && how.v_samp ? how.v_samp : 1;
        arrays[i] = jpeg.mem->request_virt_barray((j_common_ptr)&jpeg, JPOOL_IMAGE, TRUE, BLOCKS, BLOCKS, 2);
    }
    jpeg_write_coefficients(&jpeg, arrays);
    for (int i = 0; i < jpeg.num_components; i++)
        for (JDIMENSION y = 0; y < BLOCKS; y++) {
            JBLOCK *row = jpeg.mem->access_virt_barray((j_common_ptr)&jpeg, arrays[i], y, 1, TRUE)[0];
            for (int k = 0; k < 64 * BLOCKS; k++) {
                const int most = 1 << leat__rng_below(rng, 10), often = 1 << (k / 64 % 4);
                const int v = (int)leat__rng_below(rng, (uint64_t)(2 * most)) - most;
                row[k / 64][k % 64] = (JCOEF)(leat__rng_below(rng, (uint64_t)often) ? 0 : v);
            }
        }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    blob b = {0};
    put(&b, bytes, n);
    free(bytes);
    return b;
}

/* Planes are the same rows, also where libjpeg-turbo goes on in the middle of a picture, and the same words of a damaged
 * one. */
static void check_planes(const blob *file, leat__decode_options o, const leat__box *box, const shot *own) {
    shot planes = decode_runs(file, o, box, 5, true);
    assert_int_equal(planes.rc, own->rc);
    if (own->rc) assert_string_equal(planes.err.message, own->err.message);
    assert_int_equal(planes.pixels.n, own->pixels.n);
    if (own->rc == 0 && memcmp(planes.pixels.data, own->pixels.data, own->pixels.n) != 0)
        fail_msg("planes of a %d x %d picture differ", own->info.width, own->info.height);
    free(planes.pixels.data);
}

/* The same file by both decoders: the same word on it, and the same rows. Of a damaged file's part only the pixels must
 * agree where both have them: libjpeg-turbo reads somewhat further than it must. Returns whether it is a good one. */
static bool decode_twice(const blob *file, leat__decode_options o, const leat__box *box) {
    o.fast = FAST_IS_ALIKE && o.fast;
    shot own = decode_part(file, o, box, 5);
    if (own.info.channels == 3 && !o.deep) check_planes(file, o, box, &own);
    o.reference = true;
    shot other = decode_part(file, o, box, 5);
    const bool good = own.rc == 0;
    if (!box || own.rc != 0) {
        if (own.rc != other.rc || (own.rc && strcmp(own.err.message, other.err.message) != 0))
            fail_msg("%d (%s) is not %d (%s)", own.rc, own.rc ? own.err.message : "good", other.rc,
                     other.rc ? other.err.message : "good");
    }
    if (own.rc == 0 && other.rc == 0) {
        assert_int_equal(own.info.width, other.info.width);
        assert_int_equal(own.info.height, other.info.height);
        assert_int_equal(own.pixels.n, other.pixels.n);
        if (memcmp(own.pixels.data, other.pixels.data, own.pixels.n) != 0)
            fail_msg("pixels of a %d x %d picture differ", own.info.width, own.info.height);
    }
    free(own.pixels.data);
    free(other.pixels.data);
    return good;
}

/* A part is what cutting it out of the whole gives. */
static void check_part(const blob *file, leat__decode_options o, const shot *whole, leat__box box) {
    shot part = decode_part(file, o, &box, 4);
    if (part.rc) fail_msg("%s", part.err.message);
    const size_t pixel = (size_t)whole->info.channels << (whole->info.dtype == LEAT_DTYPE_U16);
    const size_t row = (size_t)box.width * pixel;
    for (int y = 0; y < box.height; y++) {
        const size_t at = ((size_t)(box.y + y) * (size_t)whole->info.width + (size_t)box.x) * pixel;
        if (memcmp(part.pixels.data + row * (size_t)y, whole->pixels.data + at, row) != 0)
            fail_msg("row %d of %d x %d at %d, %d of a %d x %d picture differs", y, box.width, box.height,
                     box.x, box.y, whole->info.width, whole->info.height);
    }
    free(part.pixels.data);
}

#endif
