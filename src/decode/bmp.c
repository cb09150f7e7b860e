/* SPDX-License-Identifier: Apache-2.0 */
/* BMP, our own: 1, 2, 4, 8, 16, 24 and 32 bits, bit fields, RLE4 and RLE8, bottom-up and top-down, with the
 * headers of Windows (40 to 124 bytes) and OS/2 (12, 16, 64).
 *
 *     "BM" file header | info header | masks | palette | ... pixels at the offset that the file header tells
 *
 * Where files lie, what is there counts: the palette ends at the end of the file or where the pixels
 * begin, an index past its end is black, and pixels that would begin where the palette does begin after
 * it. Alpha exists only where a bit field says so; the fourth byte of plain 32-bit pixels means nothing.
 * Fields of fewer than 8 bits are stretched as v * 255 / max, as Pillow does. Pixels that an RLE picture
 * skips have colour 0. Uncompressed pixels must all be there, except the padding of the last row. */
#include "decode/codec.h"

#include <limits.h>

enum { PLAIN = 0, RLE8 = 1, RLE4 = 2, FIELDS = 3, JPEG_INSIDE = 4, PNG_INSIDE = 5, ALPHA_FIELDS = 6 };
enum { RED, GREEN, BLUE, ALPHA };

typedef struct bmp_field { /* a channel of a 16 or 32-bit pixel                              */
    uint32_t mask;         /* 0 = the channel does not exist                                 */
    int shift;             /* to the lowest of its (at most 8) upper bits                    */
    uint8_t scale[256];    /* from those bits to 0..255                                      */
} bmp_field;

typedef struct bmp_state {
    uint32_t header_bytes;
    int bits;
    uint32_t compression;
    bool top_down;
    size_t offset; /* of the pixels                  */
    size_t stride; /* of a row in the file           */
    int next_row;
    bmp_field field[4];
    uint8_t palette[4 * 256]; /* RGBA                           */
    uint8_t table[4 * 256];   /* the same in the channels wanted */
    int n_colours;            /* in the file                    */
} bmp_state;

/* --------------------------------------------------------------------------------------------- header */

static int truncated(leat_error *err) {
    return leat__fail(err, LEAT_ERR_DECODE, "bmp: " LEAT_TRUNCATED);
}

/* Width and height, bits and compression from any of the headers. */
static int read_sizes(bmp_state *s, leat__decode_job *job, leat_error *err) {
    const uint8_t *b = job->bytes;
    if (job->n < 18) return truncated(err);
    s->header_bytes = leat__load_u32(b + 14);
    switch (s->header_bytes) {
    case 12:
    case 16:
    case 40:
    case 52:
    case 56:
    case 64:
    case 108:
    case 124: break;
    default: return leat__fail(err, LEAT_ERR_DECODE, "bmp: no header has %" PRIu32 " bytes", s->header_bytes);
    }
    if (job->n - 14 < s->header_bytes) return truncated(err);
    s->offset = leat__load_u32(b + 10);
    if (s->header_bytes == 12) {
        job->info.width = leat__load_u16(b + 18);
        job->info.height = leat__load_u16(b + 20);
        s->bits = leat__load_u16(b + 24);
        return 0;
    }
    const int32_t width = (int32_t)leat__load_u32(b + 18), height = (int32_t)leat__load_u32(b + 22);
    if (width < 1 || height == 0 || height == INT32_MIN)
        return leat__fail(err, LEAT_ERR_DECODE, "bmp: the picture is %" PRId32 " x %" PRId32 " pixels", width,
                          height);
    job->info.width = width;
    job->info.height = height < 0 ? -height : height;
    s->top_down = height < 0;
    s->bits = leat__load_u16(b + 28);
    if (s->header_bytes >= 40) s->compression = leat__load_u32(b + 30);
    /* OS/2 gives other meanings to these numbers. */
    if (s->header_bytes == 64 && s->compression >= FIELDS)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "bmp: OS/2 compression %" PRIu32 " cannot be decoded",
                          s->compression);
    return 0;
}

static int check_combination(const bmp_state *s, leat_error *err) {
    const int bits = s->bits;
    bool ok = false;
    switch (s->compression) {
    case PLAIN:
        ok = bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
        break;
    case RLE8: ok = bits == 8; break;
    case RLE4: ok = bits == 4; break;
    case FIELDS:
    case ALPHA_FIELDS: ok = bits == 16 || bits == 32; break;
    case JPEG_INSIDE:
    case PNG_INSIDE:
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "bmp: a JPEG or PNG inside a BMP cannot be decoded");
    default: break;
    }
    if (ok) return 0;
    return leat__fail(err, LEAT_ERR_DECODE, "bmp: %d bits with compression %" PRIu32 " cannot be", bits,
                      s->compression);
}

static int set_field(bmp_field *field, uint32_t mask, leat_error *err) {
    *field = (bmp_field){.mask = mask};
    if (!mask) return 0;
    const int low = __builtin_ctz(mask), n_bits = __builtin_popcount(mask);
    if ((mask >> low) != (n_bits == 32 ? UINT32_MAX : (1u << n_bits) - 1))
        return leat__fail(err, LEAT_ERR_DECODE, "bmp: the bit field 0x%08" PRIx32 " has holes", mask);
    const int kept = LEAT_MIN(n_bits, 8);
    const unsigned max = (1u << kept) - 1;
    field->shift = low + n_bits - kept;
    for (unsigned v = 0; v <= max; v++) field->scale[v] = (uint8_t)(v * 255 / max);
    return 0;
}

/* The masks of 16 and 32 bits; *end is where the palette would begin. */
static int read_fields(bmp_state *s, const leat__decode_job *job, size_t *end, leat_error *err) {
    uint32_t mask[4] = {0xff0000, 0xff00, 0xff, 0};
    if (s->bits == 16) mask[RED] = 0x7c00, mask[GREEN] = 0x3e0, mask[BLUE] = 0x1f;
    if (s->compression == FIELDS || s->compression == ALPHA_FIELDS) {
        /* They follow a header of 40 bytes and are part of longer ones: the same place. */
        const bool alpha = s->compression == ALPHA_FIELDS || s->header_bytes >= 56;
        const size_t n = alpha ? 16 : 12;
        if (job->n < 54 + n) return truncated(err);
        mask[ALPHA] = 0;
        for (size_t i = 0; i < n / 4; i++) mask[i] = leat__load_u32(job->bytes + 54 + 4 * i);
        *end = LEAT_MAX(*end, 54 + n);
        if (s->bits == 16)
            for (int i = 0; i < 4; i++) mask[i] &= 0xffff;
        if (!(mask[RED] | mask[GREEN] | mask[BLUE]))
            return leat__fail(err, LEAT_ERR_DECODE, "bmp: all bit fields are empty");
    }
    for (int i = 0; i < 4; i++) LEAT_TRY(set_field(&s->field[i], mask[i], err));
    return 0;
}

/* The palette begins at at. */
static void read_palette(bmp_state *s, const leat__decode_job *job, size_t at) {
    const size_t entry = s->header_bytes == 12 ? 3 : 4;
    size_t n = (size_t)1 << s->bits;
    if (s->header_bytes >= 40) {
        const uint32_t used = leat__load_u32(job->bytes + 46);
        if (used) n = LEAT_MIN(used, 256);
    }
    const size_t end = s->offset > at ? LEAT_MIN(s->offset, job->n) : job->n;
    if (at >= end) n = 0;
    else n = LEAT_MIN(n, (end - at) / entry);
    for (size_t i = 0; i < 256; i++) {
        uint8_t *rgba = s->palette + 4 * i;
        rgba[3] = 255;
        if (i >= n) continue;
        const uint8_t *bgr = job->bytes + at + entry * i;
        rgba[0] = bgr[2], rgba[1] = bgr[1], rgba[2] = bgr[0];
    }
    s->n_colours = (int)n;
}

static bool palette_is_gray(const bmp_state *s) {
    for (int i = 0; i < s->n_colours; i++) {
        const uint8_t *rgba = s->palette + 4 * i;
        if (rgba[0] != rgba[1] || rgba[1] != rgba[2]) return false;
    }
    return true;
}

static int header(void *state, leat__decode_job *job, leat_error *err) {
    bmp_state *s = state;
    *s = (bmp_state){.header_bytes = 0};
    LEAT_TRY(read_sizes(s, job, err));
    LEAT_TRY(check_combination(s, err));
    const size_t header_end = 14 + (size_t)s->header_bytes;
    size_t after = header_end;
    job->info.channels = 3;
    if (s->bits == 16 || s->bits == 32) {
        LEAT_TRY(read_fields(s, job, &after, err));
        if (s->field[ALPHA].mask) job->info.channels = 4;
    }
    if (s->bits <= 8) {
        read_palette(s, job, after);
        if (palette_is_gray(s)) job->info.channels = 1;
        after += (size_t)s->n_colours * (s->header_bytes == 12 ? 3 : 4);
    }
    if (s->offset == 0 || (s->bits <= 8 && s->offset == header_end)) s->offset = after;
    if (s->offset < header_end)
        return leat__fail(err, LEAT_ERR_DECODE, "bmp: the pixels begin inside the header");
    job->info.stored_channels = job->info.channels;
    job->info.bits = s->bits <= 8 ? s->bits : s->bits == 16 ? 5 : 8;
    job->whole = s->compression == RLE8 || s->compression == RLE4;
    return 0;
}

/* ----------------------------------------------------------------------------------------------- rows */

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    bmp_state *s = state;
    if (s->bits <= 8)
        for (int i = 0; i < 256; i++)
            leat__channels_pixel(s->table + 4 * i, job->info.channels, s->palette + 4 * i);
    if (s->offset > job->n) return truncated(err);
    if (job->whole) return 0;
    /* Sides are at most INT_MAX: nothing here can overflow 64 bits. */
    const uint64_t row_bits = (uint64_t)job->info.width * (uint64_t)s->bits;
    s->stride = (size_t)((row_bits + 31) / 32 * 4);
    const uint64_t need = (uint64_t)s->stride * (uint64_t)(job->info.height - 1) + (row_bits + 7) / 8;
    return need > job->n - s->offset ? truncated(err) : 0;
}

/* Indices of fewer than 8 bits, the leftmost pixel in the highest bits. */
static void packed_row(const bmp_state *s, uint8_t *dst, int channels, const uint8_t *src, int width) {
    const unsigned mask = (1u << s->bits) - 1;
    for (int x = 0; x < width; x++, dst += channels) {
        const size_t at = (size_t)x * (size_t)s->bits;
        const unsigned index = src[at / 8] >> (8 - s->bits - (int)(at % 8)) & mask;
        for (int c = 0; c < channels; c++) dst[c] = s->table[4 * index + (unsigned)c];
    }
}

static void bgr_row(uint8_t *dst, int channels, const uint8_t *src, size_t src_step, int width) {
    for (int x = 0; x < width; x++, src += src_step, dst += channels) {
        if (channels == 1) {
            dst[0] = leat__gray_of(src[2], src[1], src[0]);
            continue;
        }
        dst[0] = src[2], dst[1] = src[1], dst[2] = src[0];
        if (channels == 4) dst[3] = 255;
    }
}

static uint8_t channel_of(const bmp_field *field, uint32_t pixel) {
    return field->scale[(pixel & field->mask) >> field->shift & 255];
}

static void field_row(const bmp_state *s, uint8_t *dst, int channels, const uint8_t *src, int width) {
    const size_t step = (size_t)s->bits / 8;
    for (int x = 0; x < width; x++, src += step, dst += channels) {
        const uint32_t pixel = step == 2 ? leat__load_u16(src) : leat__load_u32(src);
        uint8_t rgba[4] = {0, 0, 0, 255};
        for (int c = 0; c < 3; c++) rgba[c] = channel_of(&s->field[c], pixel);
        if (s->field[ALPHA].mask) rgba[3] = channel_of(&s->field[ALPHA], pixel);
        leat__channels_pixel(dst, channels, rgba);
    }
}

static void plain_row(const bmp_state *s, const leat__decode_job *job, uint8_t *dst, const uint8_t *src) {
    const int channels = job->info.channels, width = job->info.width;
    if (s->bits == 8) leat__channels_lookup(dst, channels, src, s->table, (size_t)width);
    else if (s->bits < 8) packed_row(s, dst, channels, src, width);
    else if (s->bits == 24) bgr_row(dst, channels, src, 3, width);
    else if (s->bits == 32 && s->compression == PLAIN) bgr_row(dst, channels, src, 4, width);
    else field_row(s, dst, channels, src, width);
}

/* Where the pen of an RLE picture stands; y counts in the order of the file. */
typedef struct rle_pen {
    uint8_t *dst;
    ptrdiff_t stride;
    int x, y;
} rle_pen;

/* One pixel, and a step to the right; what lies outside of the picture is lost. */
static void rle_put(const bmp_state *s, const leat__decode_job *job, rle_pen *pen, unsigned index) {
    const int channels = job->info.channels, height = job->info.height;
    if (pen->x >= job->info.width) return;
    const int y = s->top_down ? pen->y : height - 1 - pen->y;
    memcpy(pen->dst + y * pen->stride + pen->x * channels, s->table + 4 * index, (size_t)channels);
    pen->x++;
}

/* Pairs of bytes: (count, value), or 0 and an escape: 0 end of line, 1 end, 2 move, n literal pixels. */
static int rle_rows(const bmp_state *s, const leat__decode_job *job, rle_pen *pen, leat_error *err) {
    const uint8_t *b = job->bytes;
    const size_t n = job->n;
    const bool nibbles = s->compression == RLE4;
    size_t at = s->offset;
    while (pen->y < job->info.height) {
        if (n - at < 2) return truncated(err);
        const unsigned count = b[at], value = b[at + 1];
        at += 2;
        if (count > 0) {
            for (unsigned i = 0; i < count; i++)
                rle_put(s, job, pen, !nibbles ? value : i & 1 ? value & 15 : value >> 4);
        } else if (value == 0) {
            pen->x = 0, pen->y++;
        } else if (value == 1) {
            return 0;
        } else if (value == 2) {
            if (n - at < 2) return truncated(err);
            pen->x = LEAT_MIN(pen->x + b[at], job->info.width), pen->y += b[at + 1];
            at += 2;
        } else {
            const size_t used = nibbles ? (value + 1) / 2 : value;
            if (n - at < used) return truncated(err);
            for (unsigned i = 0; i < value; i++)
                rle_put(s, job, pen, !nibbles ? b[at + i] : i & 1 ? b[at + i / 2] & 15 : b[at + i / 2] >> 4);
            at += LEAT_MIN(used + (used & 1), n - at); /* literals are padded to two bytes */
        }
    }
    return 0;
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    bmp_state *s = state;
    const int channels = job->info.channels, width = job->info.width;
    if (job->whole) {
        for (int y = 0; y < n_rows; y++)
            for (int x = 0; x < width; x++)
                memcpy(dst + y * stride + x * channels, s->table, (size_t)channels);
        rle_pen pen = {.dst = dst, .stride = stride};
        return rle_rows(s, job, &pen, err);
    }
    for (int i = 0; i < n_rows; i++, s->next_row++) {
        const int y = s->top_down ? s->next_row : job->info.height - 1 - s->next_row;
        plain_row(s, job, dst + i * stride, job->bytes + s->offset + (size_t)y * s->stride);
    }
    return 0;
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    (void)state, (void)job, (void)complete, (void)err;
    return 0;
}

const leat__codec_ops leat__codec_bmp = {.name = "bmp",
                                         .state_bytes = sizeof(bmp_state),
                                         .header = header,
                                         .begin = begin,
                                         .rows = rows,
                                         .end = end};
