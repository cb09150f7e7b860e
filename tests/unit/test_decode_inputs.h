/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of decode/: pictures made in memory, and a decoder that returns them whole. */
#ifndef LEAT_TEST_DECODE_INPUTS_H
#define LEAT_TEST_DECODE_INPUTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <jpeglib.h>
#include <webp/encode.h>

#include "decode/decode.h"

/* A file or a picture; grows as bytes are put. */
typedef struct blob {
    uint8_t *data;
    size_t n, cap;
} blob;

static inline void put(blob *b, const void *bytes, size_t n) {
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n) + 64;
        b->data = realloc(b->data, b->cap);
        assert_non_null(b->data);
    }
    if (n) memcpy(b->data + b->n, bytes, n);
    b->n += n;
}
static inline void put8(blob *b, unsigned v) {
    put(b, &(uint8_t){(uint8_t)v}, 1);
}
static inline void put16(blob *b, unsigned v) {
    put8(b, v), put8(b, v >> 8);
}
static inline void put32(blob *b, uint32_t v) {
    put16(b, v), put16(b, v >> 16);
}
static inline void insert(blob *b, size_t at, const void *bytes, size_t n) {
    const size_t tail = b->n - at;
    put(b, bytes, n);
    memmove(b->data + at + n, b->data + at, tail);
    memcpy(b->data + at, bytes, n);
}
static inline void drop(blob *b, size_t at, size_t n) {
    memmove(b->data + at, b->data + at + n, b->n - at - n);
    b->n -= n;
}
static inline blob copy_of(const blob *b) {
    blob c = {0};
    put(&c, b->data, b->n);
    return c;
}

/* A smooth picture with some texture: w x h x channels. */
static inline blob pattern(int w, int h, int channels) {
    blob b = {0};
    uint32_t noise = 12345;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < channels; c++) {
                noise = noise * 1664525 + 1013904223;
                const int v = 40 + x * (3 + c) + y * (5 - c) + (int)(noise >> 28);
                put8(&b, (unsigned)v & 255);
            }
    return b;
}

/* ----------------------------------------------------------------------------------------------- JPEG */

typedef struct jpeg_how {
    int w, h;
    J_COLOR_SPACE in, stored; /* 0 = what libjpeg chooses for in         */
    int h_samp, v_samp;       /* of the first component; 0 = 1           */
    int quality;              /* 0 = 90                                  */
    bool progressive, arithmetic, no_adobe;
    bool optimised;              /* Huffman tables of its own               */
    bool wild;                   /* noise of full contrast, not the pattern */
    int restart;                 /* in MCUs                                 */
    int n_scans;                 /* 0 = one, or libjpeg's script if progressive */
    const jpeg_scan_info *scans; /* NULL = write_script's                   */
} jpeg_how;

enum { SCANS_OF_COMPONENT = 63, SCRIPT_MAX = 1 + 3 * SCANS_OF_COMPONENT };

/* The means of all components, then one coefficient of one component a scan. */
static inline void write_script(jpeg_scan_info *script, int n) {
    memset(script, 0, (size_t)n * sizeof *script);
    script[0] = (jpeg_scan_info){.comps_in_scan = 3, .component_index = {0, 1, 2}};
    for (int i = 1; i < n; i++) {
        const int k = (i - 1) % SCANS_OF_COMPONENT + 1;
        script[i] = (jpeg_scan_info){
            .comps_in_scan = 1, .component_index = {(i - 1) / SCANS_OF_COMPONENT}, .Ss = k, .Se = k};
    }
}

static inline blob make_jpeg(jpeg_how how) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    const int channels = how.in == JCS_GRAYSCALE ? 1 : how.in == JCS_CMYK ? 4 : 3;
    blob pixels = pattern(how.w, how.h, channels);
    uint32_t noise = (uint32_t)how.w * 65599 + (uint32_t)how.h;
    for (size_t i = 0; how.wild && i < pixels.n; i++) {
        noise = noise * 1664525 + 1013904223;
        pixels.data[i] = noise >> 24 < 64 ? 0 : noise >> 24 < 128 ? 255 : (uint8_t)(noise >> 16);
    }
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = (JDIMENSION)how.w;
    jpeg.image_height = (JDIMENSION)how.h;
    jpeg.input_components = channels;
    jpeg.in_color_space = how.in;
    jpeg_set_defaults(&jpeg);
    if (how.stored) jpeg_set_colorspace(&jpeg, how.stored);
    jpeg_set_quality(&jpeg, how.quality ? how.quality : 90, TRUE);
    for (int i = 0; i < jpeg.num_components; i++) {
        jpeg.comp_info[i].h_samp_factor = i == 0 && how.h_samp ? how.h_samp : 1;
        jpeg.comp_info[i].v_samp_factor = i == 0 && how.v_samp ? how.v_samp : 1;
    }
    if (how.progressive) jpeg_simple_progression(&jpeg);
    jpeg_scan_info script[SCRIPT_MAX];
    if (how.n_scans && !how.scans) {
        write_script(script, how.n_scans);
        how.scans = script;
    }
    if (how.scans) jpeg.scan_info = how.scans, jpeg.num_scans = how.n_scans;
    jpeg.arith_code = how.arithmetic;
    jpeg.optimize_coding = how.optimised;
    jpeg.restart_interval = (unsigned)how.restart;
    if (how.no_adobe) jpeg.write_Adobe_marker = FALSE;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = pixels.data + (size_t)jpeg.next_scanline * (size_t)(how.w * channels);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    blob b = {0};
    put(&b, bytes, n);
    free(bytes);
    free(pixels.data);
    return b;
}

/* Offset of the n-th marker (from 0) with this code; SIZE_MAX if there is none before the pixels. */
static inline size_t find_marker(const blob *b, uint8_t marker, int n) {
    for (size_t at = 2; at + 4 <= b->n && b->data[at] == 0xff;) {
        if (b->data[at + 1] == marker && n-- == 0) return at;
        if (b->data[at + 1] == 0xda) break;
        at += 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]);
    }
    return SIZE_MAX;
}

static inline size_t segment_bytes(const blob *b, size_t at) {
    return 2 + ((size_t)b->data[at + 2] << 8 | b->data[at + 3]);
}

/* A TIFF structure with one tag before and one after the orientation. */
static inline blob make_exif(bool big, unsigned orientation) {
    static const uint16_t tags[] = {0x0100, 0x0112, 0x0131};
    blob b = {0};
    put(&b, big ? "MM\0*\0\0\0\10" : "II*\0\10\0\0\0", 8);
    put(&b, big ? "\0\3" : "\3\0", 2);
    for (int i = 0; i < 3; i++) {
        const unsigned v = tags[i] == 0x0112 ? orientation : 7;
        if (big) {
            const uint8_t e[12] = {
                (uint8_t)(tags[i] >> 8), (uint8_t)tags[i], 0, 3, 0, 0, 0, 1, 0, (uint8_t)v};
            put(&b, e, 12);
        } else {
            const uint8_t e[12] = {(uint8_t)tags[i], (uint8_t)(tags[i] >> 8), 3, 0, 1, 0, 0, 0, (uint8_t)v};
            put(&b, e, 12);
        }
    }
    put32(&b, 0);
    return b;
}

static inline void add_jpeg_exif(blob *jpeg, const blob *exif) {
    blob s = {0};
    const unsigned length = (unsigned)exif->n + 8;
    put8(&s, 0xff), put8(&s, 0xe1), put8(&s, length >> 8), put8(&s, length);
    put(&s, "Exif\0\0", 6), put(&s, exif->data, exif->n);
    insert(jpeg, 2, s.data, s.n);
    free(s.data);
}

/* --------------------------------------------------------------------------------------------- decode */

typedef struct shot { /* a decoded picture                                */
    int rc;           /* of the first call that failed                    */
    leat__picture_info info;
    leat_error err;
    blob pixels;
} shot;

/* Rows in runs of step (0 = all at once), with a stride larger than the row and guards between. */
static inline shot decode_steps(leat__decoder *decoder, const blob *file, leat__decode_options options,
                                int step) {
    enum { GUARD = 5 };
    shot s = {0};
    uint8_t *bytes = malloc(file->n ? file->n : 1); /* exact, so that sanitizers see over-reads */
    assert_non_null(bytes);
    if (file->n) memcpy(bytes, file->data, file->n);
    s.rc = leat__decode_begin(decoder, bytes, file->n, &options, &s.info, &s.err);
    if (s.rc == 0) {
        const size_t row = ((size_t)s.info.width * (size_t)s.info.channels)
                           << (s.info.dtype == LEAT_DTYPE_U16);
        const size_t stride = row + GUARD; /* odd on purpose: rows may lie at any address */
        uint8_t *rows = malloc(stride * (size_t)s.info.height);
        assert_non_null(rows);
        memset(rows, 0xa5, stride * (size_t)s.info.height);
        if (step == 0) step = s.info.height;
        for (int y = 0; s.rc == 0 && y < s.info.height; y += step)
            s.rc = leat__decode_rows(decoder, rows + stride * (size_t)y, (ptrdiff_t)stride,
                                     LEAT_MIN(step, s.info.height - y), &s.err);
        leat_error last;
        const int rc = leat__decode_end(decoder, &last);
        if (s.rc < 0) {
            assert_int_equal(rc, s.rc);
            assert_string_equal(last.message, s.err.message);
        } else {
            s.rc = rc;
            if (rc < 0) s.err = last;
        }
        for (int y = 0; y < s.info.height; y++) {
            put(&s.pixels, rows + stride * (size_t)y, row);
            for (int g = 0; g < GUARD; g++)
                assert_int_equal(rows[stride * (size_t)y + row + (size_t)g], 0xa5);
        }
        free(rows);
    }
    free(bytes);
    return s;
}

static inline shot decode_all(leat__decoder *decoder, const blob *file, leat__decode_options options) {
    return decode_steps(decoder, file, options, 0);
}

static inline leat__decoder *new_decoder(void) {
    leat_error err;
    leat__decoder *d = leat__decoder_new(&err);
    assert_non_null(d);
    return d;
}

/* Decodes with every run of rows that matters and wants exactly these pixels. */
static inline void expect_pixels(leat__decoder *d, const blob *file, leat__decode_options o,
                                 const uint8_t *want, size_t n) {
    static const int steps[] = {0, 1, 3, 16};
    for (size_t i = 0; i < LEAT_COUNT(steps); i++) {
        shot s = decode_steps(d, file, o, steps[i]);
        if (s.rc != 0) fail_msg("decode failed: %s", s.err.message);
        assert_int_equal(s.pixels.n, n);
        assert_memory_equal(s.pixels.data, want, n);
        free(s.pixels.data);
    }
}

/* Wants a failure with this code whose message holds these words. */
static inline void expect_failure(leat__decoder *d, const blob *file, leat__decode_options o, int code,
                                  const char *words) {
    shot s = decode_steps(d, file, o, 4);
    assert_int_equal(s.rc, code);
    assert_int_equal(s.err.code, code);
    if (!strstr(s.err.message, words)) fail_msg("\"%s\" does not say \"%s\"", s.err.message, words);
    assert_null(strchr(s.err.message, '\n'));
    free(s.pixels.data);
}

static inline blob make_webp(const blob *pixels, int w, int h, int channels, bool lossless) {
    uint8_t *bytes = NULL;
    size_t n;
    const uint8_t *p = pixels->data;
    if (channels == 4 && lossless) n = WebPEncodeLosslessRGBA(p, w, h, 4 * w, &bytes);
    else if (channels == 4) n = WebPEncodeRGBA(p, w, h, 4 * w, 80, &bytes);
    else if (lossless) n = WebPEncodeLosslessRGB(p, w, h, 3 * w, &bytes);
    else n = WebPEncodeRGB(p, w, h, 3 * w, 80, &bytes);
    assert_true(n > 0);
    blob b = {0};
    put(&b, bytes, n);
    WebPFree(bytes);
    return b;
}

/* Wants a file to be refused before its first row, at whatever byte it is cut off, but for n_whole lengths, and accepted
 * whatever lies behind it. */
static inline void check_end_but(leat__decoder *d, const blob *file, const size_t *whole, int n_whole) {
    static const size_t tails[] = {0, 1, 2, 62, 63, 64, 65, 5000};
    leat__picture_info info = {0};
    leat_error err;
    for (size_t n = 0; n < file->n; n++) {
        uint8_t *bytes = malloc(n + 1); /* exact, so that sanitizers see over-reads */
        assert_non_null(bytes);
        memcpy(bytes + 1, file->data, n);
        bool good = false;
        for (int i = 0; i < n_whole; i++) good |= n == whole[i];
        const int rc = leat__decode_begin(d, bytes + 1, n, NULL, &info, &err);
        if (rc != (good ? 0 : LEAT_ERR_DECODE))
            fail_msg("%s: %zu of %zu bytes give %d", leat__codec_name(info.codec), n, file->n, rc);
        if (rc == 0) leat__decode_end(d, NULL);
        free(bytes);
    }
    blob tailed = copy_of(file);
    for (size_t i = 0; i < LEAT_COUNT(tails); i++)
        for (int kind = 0; kind < 2; kind++) { /* zeros, noise */
            tailed.n = file->n;
            for (size_t k = 0; k < tails[i]; k++) put8(&tailed, kind ? (unsigned)(k * k + 37 * k) >> 3 : 0);
            shot s = decode_all(d, &tailed, (leat__decode_options){0});
            if (s.rc != 0) fail_msg("%zu bytes behind the end: %s", tails[i], s.err.message);
            free(s.pixels.data);
        }
    free(tailed.data);
}

static inline void check_end(leat__decoder *d, const blob *file) {
    check_end_but(d, file, NULL, 0);
}

#endif
