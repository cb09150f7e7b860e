/* SPDX-License-Identifier: Apache-2.0 */
/* From IDAT chunks to rows: bytes are inflated into a window, and each row is unfiltered out of it when it is asked for.
 *
 *     IDAT, IDAT, ... -> [inflate] -> window: filtered rows -> [unfilter] -> line: one row -> [expand] -> row
 *
 * The window holds the 32 KiB that deflate may refer to and some rows more. It stays as it is inflated, because later bytes may
 * repeat earlier ones: a row is unfiltered into a line of its own, which held the row above before.
 *
 * Below the part that is wanted nothing is inflated, and right of it nothing is unfiltered, since no pixel depends on what lies
 * to its right. If the part has the last row of the picture, the stream must end behind it with a right Adler-32. */
#include "decode/png/png_own.h"

#include "base/cpu.h"
#include "decode/png/png_dsp.h"
#include "format/checksum.h"
#include "format/deflate_read.h"

enum { HISTORY = 1 << 15, ROOM = 1 << 16 }; /* what deflate may refer to; inflated at once, about */
enum { GRAY = 0, PALETTE = 3 };

struct leat__png_own {
    leat__png_dsp dsp;
    leat__deflate_state inflate;
    leat__deflate_io io;
    /* the file */
    const uint8_t *bytes;
    size_t piece, pieces_end; /* the next IDAT that is to be read, and the end of all                   */
    int bits, samples;        /* of a sample; of a pixel                                                */
    bool deep;
    bool keyed;      /* one colour is transparent, and alpha is wanted                         */
    unsigned key[3]; /* that colour                                                            */
    int scale;       /* from samples of less than 8 bits to bytes                              */
    /* inflating */
    uint8_t *window, *window_end;
    const uint8_t *raw; /* the next row, with its filter in front                                 */
    size_t row_bytes;   /* with the filter                                                        */
    size_t left;        /* bytes of the part and above it that are not inflated yet               */
    bool last;          /* the part has the picture's last row                                    */
    bool ended;         /* the stream has                                                         */
    uint32_t adler;
    /* rows */
    int width, height;
    leat__box box;
    int next_row;
    size_t unfiltered; /* bytes of a row that are                                                */
    int pixel;         /* its bytes, as the table of kernels has them                            */
    uint8_t *line;     /* the row, or the one above it                                           */
    uint8_t *below;    /* the next row, if it was unfiltered together with this one              */
    bool has_below;
    uint8_t *row; /* what is given out, if that is not part of the line                     */
};

leat__png_own *leat__png_own_new(void) {
    leat__png_own *own = leat__alloc(LEAT_MEM_WORKER, sizeof *own);
    if (own) leat__png_dsp_init(&own->dsp, leat__cpu_flags());
    return own;
}

void leat__png_own_free(leat__png_own *own) {
    leat__free(own);
}

int leat__png_own_channels(const leat__png_own *own) {
    return own->samples + own->keyed;
}

/* ------------------------------------------------------------------------------------------- inflating */

/* The next IDAT that has bytes. */
static bool next_piece(leat__png_own *own) {
    while (own->io.in == own->io.in_end) {
        if (own->piece == own->pieces_end) return false;
        const uint8_t *chunk = own->bytes + own->piece;
        const size_t n = leat__load_be32(chunk);
        own->io.in = chunk + 8;
        own->io.in_end = own->io.in + n;
        own->piece += 12 + n;
    }
    return true;
}

static int next_byte(leat__png_own *own) {
    return next_piece(own) ? *own->io.in++ : -1;
}

/* zlib's header: deflate, a window that exists, no dictionary. */
static bool begin_stream(leat__png_own *own) {
    const int method = next_byte(own), flags = next_byte(own);
    if (method < 0 || flags < 0) return false;
    return (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && !(flags & 32);
}

/* The stream's end and its sum: the bytes of all rows, and not one more. */
static bool end_stream(leat__png_own *own) {
    leat__deflate_io *io = &own->io;
    const uint8_t *const all = io->out;
    while (!own->ended) {
        const char *why;
        io->out_end = io->out + 1;
        const int rc = next_piece(own) ? leat__deflate_read(&own->inflate, io, &why) : -1;
        if (rc < 0 || io->out != all) return false;
        own->ended = rc > 0;
    }
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        const int byte = next_byte(own);
        if (byte < 0) return false;
        sum = sum << 8 | (uint32_t)byte;
    }
    return sum == own->adler;
}

/* Moves the rows that are still to come, and what deflate may refer to, to the front of the window. */
static void slide(leat__png_own *own) {
    leat__deflate_io *io = &own->io;
    const uint8_t *keep = io->out - io->base > HISTORY ? io->out - HISTORY : io->base;
    if (own->raw < keep) keep = own->raw;
    const size_t by = (size_t)(keep - own->window);
    memmove(own->window, keep, (size_t)(io->out - keep));
    io->out -= by;
    own->raw -= by;
}

/* The next row and as many more as the window holds. */
static bool inflate_rows(leat__png_own *own) {
    leat__deflate_io *io = &own->io;
    slide(own);
    while (io->out < own->window_end && own->left > 0) {
        const char *why;
        if (own->ended || !next_piece(own)) return false;
        uint8_t *const from = io->out;
        io->out_end = from + LEAT_MIN((size_t)(own->window_end - from), own->left);
        const int rc = leat__deflate_read(&own->inflate, io, &why);
        if (rc < 0) return false;
        own->ended = rc > 0;
        const size_t n = (size_t)(io->out - from);
        own->left -= n;
        if (own->last) own->adler = leat__adler32(own->adler, from, n);
        if (own->last && own->left == 0 && !end_stream(own)) return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ rows */

static unsigned sample_at(const leat__png_own *own, size_t i) {
    const uint8_t *line = own->line;
    const size_t bits = (size_t)own->bits;
    if (bits == 16) return (unsigned)line[2 * i] << 8 | line[2 * i + 1];
    return line[i * bits / 8] >> (8 - bits - i * bits % 8) & ((1u << bits) - 1);
}

/* n bytes of samples of less than 8 bits, the first one highest, to a byte each. */
static void unpack(uint8_t *dst, const uint8_t *src, size_t n, int bits, unsigned scale) {
    const uint64_t ones = 0x0101010101010101u;
    switch (bits) {
    case 1:
        for (size_t i = 0; i < n; i++, dst += 8) {
            const uint64_t spread = src[i] * ones & 0x0102040810204080u; /* one bit a byte, each another */
            leat__store_u64(dst, ((spread + 0x7f * ones) >> 7 & ones) * scale);
        }
        break;
    case 2:
        for (size_t i = 0; i < n; i++, dst += 4) {
            dst[0] = (uint8_t)((src[i] >> 6) * scale), dst[1] = (uint8_t)((src[i] >> 4 & 3) * scale);
            dst[2] = (uint8_t)((src[i] >> 2 & 3) * scale), dst[3] = (uint8_t)((src[i] & 3) * scale);
        }
        break;
    default:
        for (size_t i = 0; i < n; i++, dst += 2)
            dst[0] = (uint8_t)((src[i] >> 4) * scale), dst[1] = (uint8_t)((src[i] & 15) * scale);
    }
}

/* Samples [from, from + n) without alpha: bytes, scaled, or the high ones of two, or both in the host's order. */
static const uint8_t *expand(const leat__png_own *own, size_t from, size_t n) {
    uint8_t *dst = own->row;
    const uint8_t *src = own->line + 2 * from;
    if (own->bits < 8) { /* from a whole byte to a whole byte */
        const size_t per_byte = 8 / (size_t)own->bits, first = from / per_byte,
                     end = (from + n - 1) / per_byte + 1;
        unpack(dst, own->line + first, end - first, own->bits, (unsigned)own->scale);
        return dst + from % per_byte;
    }
    if (!own->deep) {
        for (size_t i = 0; i < n; i++) dst[i] = src[2 * i];
        return dst;
    }
    for (size_t i = 0; i < n; i++) {
        const uint16_t v = (uint16_t)(src[2 * i] << 8 | src[2 * i + 1]);
        memcpy(dst + 2 * i, &v, 2);
    }
    return dst;
}

/* The same with alpha: nothing of the one colour that is transparent is seen. */
static const uint8_t *expand_keyed(const leat__png_own *own, size_t from, size_t n) {
    uint8_t *dst = own->row;
    const size_t samples = (size_t)own->samples;
    for (size_t x = from; x < from + n; x++) {
        unsigned v[4];
        bool is_key = true;
        for (size_t k = 0; k < samples; k++) {
            v[k] = sample_at(own, x * samples + k);
            is_key = is_key && v[k] == own->key[k];
            if (own->bits == 16 && !own->deep) v[k] >>= 8;
            if (own->bits < 8) v[k] *= (unsigned)own->scale;
        }
        v[samples] = is_key ? 0 : own->deep ? 65535 : 255;
        for (size_t k = 0; k <= samples; k++) {
            const uint16_t wide = (uint16_t)v[k];
            if (own->deep) memcpy(dst, &wide, 2);
            else *dst = (uint8_t)wide;
            dst += own->deep ? 2 : 1;
        }
    }
    return own->row;
}

/* The next row of the picture, into the line. */
static bool unfilter_row(leat__png_own *own) {
    own->next_row++;
    if (own->has_below) {
        uint8_t *const above = own->line;
        own->line = own->below;
        own->below = above;
        own->has_below = false;
        return true;
    }
    if ((size_t)(own->io.out - own->raw) < own->row_bytes && !inflate_rows(own)) return false;
    const uint8_t *raw = own->raw, *raw_below = raw + own->row_bytes;
    own->raw += own->row_bytes;
    if (raw[0] > LEAT_PNG_FILTERS) return false;
    if (raw[0] == 0) {
        memcpy(own->line, raw + 1, own->unfiltered);
    } else if (raw[0] - 1 == LEAT_PNG_PAETH && own->io.out >= raw_below + own->row_bytes &&
               raw_below[0] == raw[0]) {
        own->dsp.paeth_pair[own->pixel](own->line, own->below, raw + 1, raw_below + 1, own->unfiltered);
        own->raw += own->row_bytes;
        own->has_below = true;
    } else {
        own->dsp.unfilter[raw[0] - 1][own->pixel](own->line, raw + 1, own->unfiltered);
    }
    return true;
}

const uint8_t *leat__png_own_row(leat__png_own *own) {
    do {
        if (!unfilter_row(own)) return NULL;
    } while (own->next_row <= own->box.y);
    const size_t x = (size_t)own->box.x, n = (size_t)own->box.width, samples = (size_t)own->samples;
    if (own->bits == 8 && !own->keyed) return own->line + x * samples;
    return own->keyed ? expand_keyed(own, x, n) : expand(own, x * samples, n * samples);
}

/* ----------------------------------------------------------------------------------------------- begin */

/* For the whole picture, whatever part of it will be asked for: a worker's memory then does not depend on the draw. */
static bool take_memory(leat__png_own *own, leat__arena *arena) {
    const size_t all = own->row_bytes * (size_t)own->height, two = 2 * own->row_bytes;
    const size_t window = LEAT_MIN(all, (size_t)HISTORY + LEAT_MAX((size_t)ROOM, two));
    const size_t row = (size_t)own->width * (size_t)(own->samples + own->keyed) << own->deep;
    own->window = leat__arena_alloc(arena, window + LEAT_PNG_PAD + 1); /* a byte more than the rows have */
    own->line = leat__arena_alloc(arena, own->row_bytes + LEAT_PNG_PAD);
    own->below = leat__arena_alloc(arena, own->row_bytes + LEAT_PNG_PAD);
    own->row = leat__arena_alloc(arena, row + 2 * 8); /* bits are unpacked by whole bytes */
    if (!own->window || !own->line || !own->below || !own->row) return false;
    own->window_end = own->window + window;
    return true;
}

bool leat__png_own_begin(leat__png_own *own, leat__decode_job *job, const leat__png_chunks *chunks) {
    static const int samples[] = {[0] = 1, [2] = 3, [3] = 1, [4] = 2, [6] = 4};
    own->bytes = job->bytes;
    own->piece = chunks->pixels;
    own->pieces_end = chunks->pixels_end;
    own->bits = chunks->bits;
    own->samples = samples[chunks->colour];
    own->deep = job->deep;
    own->keyed = chunks->alpha && chunks->colour != PALETTE && job->info.channels == 4;
    for (size_t i = 0; own->keyed && i < chunks->n_alpha; i += 2)
        own->key[i / 2] = (unsigned)job->bytes[chunks->alpha + i] << 8 | job->bytes[chunks->alpha + i + 1];
    own->scale = chunks->colour == GRAY && chunks->bits < 8 ? 255 / ((1 << chunks->bits) - 1) : 1;
    own->width = job->info.width;
    own->height = job->info.height;
    const size_t bits = (size_t)own->samples * (size_t)own->bits;
    own->row_bytes = 1 + ((size_t)own->width * bits + 7) / 8;
    own->pixel = leat__png_pixel((bits + 7) / 8);
    if (!take_memory(own, job->arena)) return false;
    memset(own->line, 0, own->row_bytes);
    own->next_row = 0;
    own->has_below = false;
    own->raw = own->window;
    own->ended = false;
    own->adler = 1;
    own->io = (leat__deflate_io){.base = own->window, .out = own->window};
    leat__png_own_region(own, &(leat__box){.width = own->width, .height = own->height});
    leat__deflate_begin(&own->inflate);
    return begin_stream(own);
}

void leat__png_own_region(leat__png_own *own, const leat__box *box) {
    own->box = *box;
    own->left = own->row_bytes * (size_t)(box->y + box->height);
    own->last = box->y + box->height == own->height;
    const size_t bits = (size_t)own->samples * (size_t)own->bits;
    own->unfiltered = ((size_t)(box->x + box->width) * bits + 7) / 8;
}
