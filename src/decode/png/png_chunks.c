/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/png/png_chunks.h"

#include "decode/codec.h"
#include "format/checksum.h"

enum { HEAD = 8, FRAME = 12, FIRST = 8 }; /* length and type; these and the sum; the offset of IHDR */
enum { GRAY = 0, RGB = 2, PALETTE = 3, GRAY_ALPHA = 4, RGB_ALPHA = 6 };
enum { COLOURS_MAX = 256 };

static bool is(const uint8_t *chunk, const char *type) {
    return memcmp(chunk + 4, type, 4) == 0;
}

static bool is_critical(const uint8_t *chunk) {
    return !(chunk[4] & 32);
}

/* Four letters. */
static bool has_name(const uint8_t *chunk) {
    for (int i = 4; i < 8; i++) {
        const int letter = chunk[i] | 32;
        if (letter < 'a' || letter > 'z') return false;
    }
    return true;
}

static const char *check_header(const uint8_t *ihdr) {
    const int bits = ihdr[8], colour = ihdr[9];
    const bool deep = bits == 8 || bits == 16, shallow = bits == 1 || bits == 2 || bits == 4;
    bool known = false;
    switch (colour) {
    case GRAY: known = deep || shallow; break;
    case PALETTE: known = bits == 8 || shallow; break;
    case RGB:
    case GRAY_ALPHA:
    case RGB_ALPHA: known = deep; break;
    default: break;
    }
    if (!known || ihdr[10] != 0 || ihdr[11] != 0 || ihdr[12] > 1) return "odd header";
    return ihdr[12] ? "interlaced" : NULL;
}

/* A palette that libpng takes as it is. Gray pictures have no use for one. */
static const char *add_palette(leat__png_chunks *c, size_t at, size_t n) {
    if (c->palette || c->alpha || c->pixels) return "chunks out of order";
    if (c->colour == GRAY || c->colour == GRAY_ALPHA || n < 3 || n % 3 || n > 3 * COLOURS_MAX)
        return "odd palette";
    if (c->colour == PALETTE && n > (size_t)3 << c->bits) return "odd palette";
    c->palette = at, c->n_palette = n;
    return NULL;
}

static const char *add_alpha(leat__png_chunks *c, const uint8_t *bytes, size_t at, size_t n) {
    if (c->alpha) return "chunks out of order";
    c->alpha = at, c->n_alpha = n;
    if (c->colour == PALETTE)
        return !c->palette                     ? "chunks out of order"
               : n < 1 || n > c->n_palette / 3 ? "odd transparency"
                                               : NULL;
    if ((c->colour != GRAY && c->colour != RGB) || n != (c->colour == GRAY ? 2u : 6u))
        return "odd transparency";
    for (size_t i = 0; i < n; i += 2) /* a colour that no pixel can have */
        if ((bytes[at + i] << 8 | bytes[at + i + 1]) >> c->bits) return "odd transparency";
    return NULL;
}

static const char *add(leat__png_chunks *c, const uint8_t *bytes, size_t at, size_t n) {
    const uint8_t *chunk = bytes + at;
    if (is(chunk, "IDAT")) {
        const bool first = !c->pixels;
        if (!first && c->pixels_end != at) return "chunks out of order";
        if (first) c->pixels = at;
        c->pixels_end = at + FRAME + n;
        return first && c->colour == PALETTE && !c->palette ? "odd palette" : NULL;
    }
    if (is(chunk, "PLTE")) return add_palette(c, at + HEAD, n);
    if (is(chunk, "tRNS")) return c->pixels ? NULL : add_alpha(c, bytes, at + HEAD, n);
    if (is(chunk, "eXIf")) c->exif = at + HEAD, c->n_exif = n;
    return is_critical(chunk) ? "unknown critical chunk" : NULL;
}

void leat__png_chunks_walk(leat__png_chunks *c, const uint8_t *bytes, size_t n) {
    const uint8_t *ihdr = bytes + FIRST + HEAD;
    *c = (leat__png_chunks){.bits = LEAT_MIN(ihdr[8], 16), .colour = ihdr[9], .detour = check_header(ihdr)};
    for (size_t at = FIRST + FRAME + 13; n - at >= FRAME;) {
        const size_t length = leat__load_be32(bytes + at);
        if (length > INT32_MAX || length > n - at - FRAME || !has_name(bytes + at)) break;
        if (is(bytes + at, "IEND")) {
            c->end = at;
            break;
        }
        const char *why = add(c, bytes, at, length);
        if (!c->detour) c->detour = why;
        at += FRAME + length;
    }
    if (!c->detour && !c->end) c->detour = "no end";
    if (!c->detour && !c->pixels) c->detour = "no pixels";
}

/* Of the chunk at this offset. */
static bool has_sum(const uint8_t *bytes, size_t at) {
    const size_t n = leat__load_be32(bytes + at);
    return leat__crc32(0, bytes + at + 4, 4 + n) == leat__load_be32(bytes + at + HEAD + n);
}

size_t leat__png_chunks_check(const leat__png_chunks *c, const uint8_t *bytes) {
    for (size_t at = c->pixels; at && at <= c->end; at += FRAME + (size_t)leat__load_be32(bytes + at))
        if (is_critical(bytes + at) && !has_sum(bytes, at)) return at;
    return 0;
}

bool leat__png_chunks_check_head(const leat__png_chunks *c, const uint8_t *bytes) {
    return has_sum(bytes, FIRST) && (!c->palette || has_sum(bytes, c->palette - HEAD)) &&
           (!c->alpha || has_sum(bytes, c->alpha - HEAD));
}
