/* SPDX-License-Identifier: Apache-2.0 */
/* PNGs for tests, made by libpng: every kind, filter and way to compress. */
#ifndef LEAT_TEST_PNG_INPUTS_H
#define LEAT_TEST_PNG_INPUTS_H

#include "fuzz/png_sums.h"
#include "test_decode_inputs.h"

#include <png.h>
#include <zlib.h>

typedef struct png_how {
    int w, h, colour, bits;
    bool interlaced;
    int n_palette; /* 0 = 1 << bits                                */
    int n_alpha;   /* tRNS of a palette: entries                   */
    bool key;      /* tRNS of gray or RGB: the colour of pixel 0,0 */
    int filters;   /* PNG_FILTER_*, 0 = what libpng chooses        */
    bool smooth;   /* as photos are; otherwise noise               */
    int level;     /* of zlib, and 1; 0 = zlib's default           */
    int strategy;  /* of zlib                                      */
    int piece;     /* bytes of an IDAT; 0 = libpng's choice        */
} png_how;

static inline void write_bytes(png_structp png, png_bytep bytes, size_t n) {
    put(png_get_io_ptr(png), bytes, n);
}

static inline void flush_nothing(png_structp png) {
    (void)png;
}

static inline int samples_of(int colour) {
    switch (colour) {
    case PNG_COLOR_TYPE_GRAY_ALPHA: return 2;
    case PNG_COLOR_TYPE_RGB: return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA: return 4;
    default: return 1;
    }
}

/* Sample i of the test picture, in its full depth. */
static inline unsigned sample(png_how how, size_t i) {
    unsigned v = (unsigned)(i * 2654435761u >> 7);
    if (how.smooth) {
        const size_t n = (size_t)(how.w * samples_of(how.colour)), x = i % n, y = i / n;
        v = (unsigned)((x * 3 + y * 5 + (v & 7)) << (how.bits > 8 ? how.bits - 9 : 0)) >>
            (how.bits < 8 ? 3 : 0);
    }
    return v & (how.bits == 16 ? 65535u : (1u << how.bits) - 1);
}

static inline void palette_entry(int i, uint8_t rgb[3]) {
    rgb[0] = (uint8_t)(i * 7 + 3), rgb[1] = (uint8_t)(255 - i * 5), rgb[2] = (uint8_t)(i * 11 + 90);
}

static inline blob make_png(png_how how) {
    blob file = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &file, write_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)how.w, (png_uint_32)how.h, how.bits, how.colour,
                 how.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    png_set_check_for_invalid_index(png, 0);
    if (how.filters) png_set_filter(png, 0, how.filters);
    if (how.level) png_set_compression_level(png, how.level - 1);
    png_set_compression_strategy(png, how.strategy);
    if (how.piece) png_set_compression_buffer_size(png, (size_t)how.piece);
    if (how.colour == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[256];
        png_byte alpha[256];
        const int n = how.n_palette ? how.n_palette : LEAT_MIN(1 << how.bits, 256);
        for (int i = 0; i < n; i++) {
            uint8_t rgb[3];
            palette_entry(i, rgb);
            palette[i] = (png_color){rgb[0], rgb[1], rgb[2]};
            alpha[i] = (png_byte)(i * 40);
        }
        png_set_PLTE(png, info, palette, n);
        if (how.n_alpha) png_set_tRNS(png, info, alpha, how.n_alpha, NULL);
    } else if (how.key) {
        png_color_16 key = {0};
        key.gray = key.red = (png_uint_16)sample(how, 0);
        key.green = (png_uint_16)sample(how, 1), key.blue = (png_uint_16)sample(how, 2);
        png_set_tRNS(png, info, NULL, 0, &key);
    }
    png_write_info(png, info);
    const size_t n = (size_t)(how.w * samples_of(how.colour));
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < how.h; y++) {
            uint8_t row[4096] = {0};
            for (size_t i = 0; i < n; i++) {
                const unsigned v = sample(how, (size_t)y * n + i);
                if (how.bits == 16) row[2 * i] = (uint8_t)(v >> 8), row[2 * i + 1] = (uint8_t)v;
                else
                    row[i * (size_t)how.bits / 8] |=
                        (uint8_t)(v << (8 - how.bits - (int)(i * (size_t)how.bits % 8)));
            }
            png_write_row(png, row);
        }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return file;
}

/* A chunk with its length and checksum. */
static inline void put_chunk(blob *b, const char *type, const void *bytes, size_t n) {
    const uint8_t length[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    uLong crc = crc32(crc32(0, (const Bytef *)type, 4), bytes, (uInt)n);
    const uint8_t sum[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc};
    put(b, length, 4), put(b, type, 4), put(b, bytes, n), put(b, sum, 4);
}

/* Offset of the n-th chunk (from 0) of a type; fails if there is none. */
static inline size_t find_chunk(const blob *b, const char *type, int n) {
    for (size_t at = 8; at + 12 <= b->n;) {
        const uint8_t *p = b->data + at;
        if (memcmp(p + 4, type, 4) == 0 && n-- == 0) return at;
        at += 12 + ((size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]);
    }
    fail_msg("no %s", type);
    return 0;
}

static inline size_t chunk_bytes(const blob *b, size_t at) {
    const uint8_t *p = b->data + at;
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

#endif
