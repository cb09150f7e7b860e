/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests that put our own JPEG decoder beside libjpeg-turbo. */
#ifndef LEAT_TEST_JPEG_TWICE_H
#define LEAT_TEST_JPEG_TWICE_H

#include "test_decode_inputs.h"

#include "base/rng.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* not every test needs everything */

static leat__decoder *twice_kept; /* one for all files, as in a worker */

static leat__decoder *twice_decoder(void) {
    if (!twice_kept) twice_kept = new_decoder();
    return twice_kept;
}

static void twice_end(void) {
    leat__decoder_free(&twice_kept);
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
        const size_t row = (size_t)s.info.width * (size_t)s.info.channels;
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
    shot own = decode_part(file, o, box, 5);
    if (own.info.channels == 3) check_planes(file, o, box, &own);
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
    const size_t pixel = (size_t)whole->info.channels, row = (size_t)box.width * pixel;
    for (int y = 0; y < box.height; y++) {
        const size_t at = ((size_t)(box.y + y) * (size_t)whole->info.width + (size_t)box.x) * pixel;
        if (memcmp(part.pixels.data + row * (size_t)y, whole->pixels.data + at, row) != 0)
            fail_msg("row %d of %d x %d at %d, %d of a %d x %d picture differs", y, box.width, box.height,
                     box.x, box.y, whole->info.width, whole->info.height);
    }
    free(part.pixels.data);
}

#endif
