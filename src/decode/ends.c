/* SPDX-License-Identifier: Apache-2.0 */
/* Does a file have its own end? Asked before the first row of every picture, so that a file that was cut off is refused
 * whatever part of it is wanted. Nothing is decoded. What lies behind the end does not matter: zeros, a second picture, the
 * video of a motion photo.
 *
 *     JPEG   the end marker, behind the header of the first scan: the one of a thumbnail in the header does not count
 *     PNG    the chunks lead to IEND: png_chunks.c has walked over them
 *     WebP   as many bytes as the RIFF header says
 *     GIF    the blocks are whole, down to the trailer, which some writers leave out. What is no block ends the search
 *     BMP    all rows of pixels are there: bmp.c knows how long they are. RLE has no length; it is always decoded whole
 *
 * A damaged length makes a file look cut off. */
#include "decode/codec.h"

enum { RST0 = 0xd0, RST7 = 0xd7, SOI = 0xd8, EOI = 0xd9, TEM = 0x01 };

/* In a scan 0xff is followed by 0 or by a marker, so the first EOI behind the header of a single scan ends it. It is nearly
 * always in the last bytes; searching all of a scan would take one percent of the time for decoding it. */
static bool one_scan_ends(const uint8_t *scan, const uint8_t *end) {
    enum { TAIL = 64 };
    const uint8_t *p;
    const uint8_t *const tail = end - scan > TAIL ? end - TAIL : scan;
    for (p = end - 1; p > tail; p--)
        if (p[-1] == 0xff && p[0] == EOI) return true;
    for (p = scan; end - p >= 2 && (p = memchr(p, 0xff, (size_t)(end - p) - 1)); p++)
        if (p[1] == EOI) return true;
    return false;
}

/* Between scans there are segments, which may hold anything: they are passed by their lengths. */
static bool scans_end(const uint8_t *scan, const uint8_t *end) {
    const uint8_t *p = scan;
    while (end - p >= 2 && (p = memchr(p, 0xff, (size_t)(end - p) - 1))) {
        const uint8_t marker = p[1];
        if (marker == EOI) return true;
        if (marker == 0xff) { /* fill */
            p++;
        } else if (marker <= TEM || (marker >= RST0 && marker <= SOI)) {
            p += 2;
        } else {
            if (end - p < 4) return false;
            const ptrdiff_t length = (ptrdiff_t)p[2] << 8 | p[3];
            if (length > end - p - 2) return false;
            p += 2 + length;
        }
    }
    return false;
}

/* Behind a colour table of so many bits, if there is one. */
static size_t gif_table(uint8_t flags) {
    return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

static bool gif_ends(const uint8_t *bytes, size_t n) {
    enum { HEADER = 13, DESCRIPTOR = 10 };
    if (n < HEADER) return false;
    size_t at = HEADER + gif_table(bytes[10]);
    while (at < n) {
        if (bytes[at] == 0x21) { /* extension, with its kind */
            at += 2;
        } else if (bytes[at] == 0x2c) { /* frame, with the size of its codes */
            if (n - at < DESCRIPTOR) return false;
            at += DESCRIPTOR + gif_table(bytes[at + 9]) + 1;
        } else {
            return true;
        }
        while (at < n && bytes[at] != 0) at += 1 + (size_t)bytes[at];
        at++;
    }
    return at == n;
}

bool leat__decode_has_end(const leat__decode_job *job) {
    const uint8_t *bytes = job->bytes, *end = bytes + job->n;
    switch (job->info.codec) {
    case LEAT_CODEC_JPEG:
        return job->several ? scans_end(bytes + job->scan, end) : one_scan_ends(bytes + job->scan, end);
    case LEAT_CODEC_PNG: return job->ends;
    case LEAT_CODEC_WEBP: return leat__load_u32(bytes + 4) <= job->n - 8;
    case LEAT_CODEC_GIF: return gif_ends(bytes, job->n);
    default: return true;
    }
}
