/* SPDX-License-Identifier: Apache-2.0 */
/* What GZIP (RFC 1952) and ZLIB (RFC 1950) put around a deflate stream. Headers are read byte by byte, since a piece of input
 * may end anywhere; deflate_read.h does the rest. */
#include "format/inflate.h"

#include "base/mem.h"
#include "format/checksum.h"
#include "format/deflate_read.h"
#include "format/tfrecord.h"

/* ------------------------------------------------------------------------------------------ detect */

/* A zlib stream begins with two bytes that are a multiple of 31, which one file in 500 does by chance, and
 * then a TFRecord with a damaged first header would be taken for one. So the first deflate block must make
 * sense too: there is no type 3, and a stored block says its size twice. */
static bool looks_like_zlib(const uint8_t *bytes, size_t n) {
    if (n < 2) return false;
    const unsigned cmf = bytes[0], flg = bytes[1];
    if ((cmf & 15) != 8 || cmf >> 4 > 7 || (cmf << 8 | flg) % 31 != 0 || flg & 0x20) return false;
    if (n < 3) return true;
    const unsigned type = bytes[2] >> 1 & 3;
    if (type == 0 && n >= 7) return (leat__load_u16(bytes + 3) ^ leat__load_u16(bytes + 5)) == 0xffff;
    return type != 3;
}

leat__compression leat__compression_detect(const uint8_t *bytes, size_t n) {
    uint64_t length;
    if (n >= LEAT_TFRECORD_HEADER && leat__tfrecord_length(bytes, &length)) return LEAT_COMPRESSION_NONE;
    if (n >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8) return LEAT_COMPRESSION_GZIP;
    if (looks_like_zlib(bytes, n)) return LEAT_COMPRESSION_ZLIB;
    return LEAT_COMPRESSION_NONE;
}

/* ----------------------------------------------------------------------------------------- inflate */

typedef enum {
    AT_BETWEEN, /* streams: padding, the next one, or the end */
    AT_GZIP,
    AT_GZIP_FLAGS,
    AT_GZIP_TIME, /* and other things of no use here */
    AT_GZIP_EXTRA_SIZE,
    AT_GZIP_EXTRA,
    AT_GZIP_NAME,
    AT_GZIP_COMMENT,
    AT_GZIP_CRC,
    AT_ZLIB,
    AT_ZLIB_DICTIONARY,
    AT_DATA,
    AT_SUM,
    AT_SIZE,
} place;

enum { HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, FLAGS_UNKNOWN = 0xe0 };
enum { CHECK_BYTES = 128 << 10 }; /* bytes are checked while they are in the cache */

struct leat__inflate {
    leat__compression compression;
    place at;
    unsigned flags;    /* of the gzip header                             */
    uint8_t field[6];  /* of a header or behind the data ...             */
    unsigned field_n;  /* ... and how many of its bytes are there        */
    unsigned extra;    /* bytes of the gzip header to pass over          */
    uint32_t sum;      /* checksum of the header, then of the data       */
    uint64_t size;     /* of the data                                    */
    uint64_t position; /* in the compressed bytes, for messages          */
    uint64_t streams;  /* that have begun                                */
    int failed;        /* what the last run returned, if it was an error */
    size_t window_n;
    leat__deflate_state data;
    uint8_t window[2 * LEAT_DEFLATE_WINDOW]; /* the last bytes of the stream that earlier runs made */
};

/* What is left of the pieces of one run. */
typedef struct cursor {
    const uint8_t *in, *in_end;
    uint8_t *base; /* where the output of this run begins, or that of the stream within it */
    uint8_t *out, *out_end;
} cursor;

enum {
    ON = 2,
    SHORT = 3
}; /* what the functions below return, or an error: go on; input or room is missing */

leat__inflate *leat__inflate_new(leat__compression compression, leat_error *err) {
    if (compression != LEAT_COMPRESSION_GZIP && compression != LEAT_COMPRESSION_ZLIB) {
        leat__fail(err, LEAT_ERR_ARGUMENT, "nothing to inflate: the compression is none");
        return NULL;
    }
    leat__inflate *z = leat__alloc(LEAT_MEM_WINDOW, sizeof *z);
    if (!z) {
        leat__fail_memory(err, sizeof *z, "an inflater");
        return NULL;
    }
    z->compression = compression;
    return z;
}

void leat__inflate_free(leat__inflate **z) {
    if (!z || !*z) return;
    leat__free(*z);
    *z = NULL;
}

int leat__inflate_reset(leat__inflate *z) {
    z->at = AT_BETWEEN;
    z->position = z->streams = 0;
    z->failed = 0;
    return 0;
}

static int fail(leat__inflate *z, leat_error *err, const char *what) {
    z->failed = LEAT_ERR_FORMAT;
    const char *const name = z->compression == LEAT_COMPRESSION_GZIP ? "gzip" : "zlib";
    return leat__fail(err, LEAT_ERR_FORMAT, "%s stream %" PRIu64 ", compressed byte %" PRIu64 ": %s", name,
                      z->streams, z->position, what);
}

/* ---------------------------------------------------------------------------------- around the data */

/* Passes over padding, and begins the next stream if something else is there. */
static int between(leat__inflate *z, cursor *c) {
    const uint8_t *const from = c->in;
    if (z->streams > 0)
        while (c->in < c->in_end && *c->in == 0) c->in++;
    z->position += (uint64_t)(c->in - from);
    if (c->in == c->in_end) return SHORT;
    z->at = z->compression == LEAT_COMPRESSION_GZIP ? AT_GZIP : AT_ZLIB;
    z->sum = z->field_n = 0;
    z->streams++;
    return ON;
}

static void begin_data(leat__inflate *z, cursor *c) {
    leat__deflate_begin(&z->data);
    z->sum = z->compression == LEAT_COMPRESSION_GZIP ? 0 : 1;
    z->size = 0;
    z->window_n = 0;
    c->base = c->out;
    z->at = AT_DATA;
}

/* Collects a field of n bytes; false if the input ends within it. */
static bool field(leat__inflate *z, cursor *c, unsigned n) {
    const uint8_t *const from = c->in;
    while (z->field_n < n && c->in < c->in_end) z->field[z->field_n++] = *c->in++;
    z->position += (uint64_t)(c->in - from);
    if (z->field_n < n) return false;
    z->field_n = 0;
    return true;
}

/* A field of the gzip header, which has a checksum of its own. */
static bool header_field(leat__inflate *z, cursor *c, unsigned n) {
    if (!field(z, c, n)) return false;
    z->sum = leat__crc32(z->sum, z->field, n);
    return true;
}

/* The place of the next part of a gzip header that is there. */
static place gzip_part(const leat__inflate *z, place next) {
    if (next <= AT_GZIP_EXTRA_SIZE && z->flags & HAS_EXTRA) return AT_GZIP_EXTRA_SIZE;
    if (next <= AT_GZIP_NAME && z->flags & HAS_NAME) return AT_GZIP_NAME;
    if (next <= AT_GZIP_COMMENT && z->flags & HAS_COMMENT) return AT_GZIP_COMMENT;
    if (next <= AT_GZIP_CRC && z->flags & HAS_CRC) return AT_GZIP_CRC;
    return AT_DATA;
}

static int to_gzip_part(leat__inflate *z, cursor *c, place next) {
    z->at = gzip_part(z, next);
    if (z->at == AT_DATA) begin_data(z, c);
    return ON;
}

/* Text up to a zero byte. */
static int gzip_text(leat__inflate *z, cursor *c) {
    const size_t n = (size_t)(c->in_end - c->in);
    const uint8_t *const zero = n ? memchr(c->in, 0, n) : NULL;
    const size_t used = zero ? (size_t)(zero - c->in) + 1 : n;
    z->sum = leat__crc32(z->sum, c->in, used);
    z->position += used;
    c->in += used;
    return zero ? to_gzip_part(z, c, z->at + 1) : SHORT;
}

static int gzip_extra(leat__inflate *z, cursor *c) {
    const size_t used = LEAT_MIN((size_t)z->extra, (size_t)(c->in_end - c->in));
    z->sum = leat__crc32(z->sum, c->in, used);
    z->position += used;
    c->in += used;
    z->extra -= (unsigned)used;
    return z->extra ? SHORT : to_gzip_part(z, c, AT_GZIP_NAME);
}

static int gzip_header(leat__inflate *z, cursor *c, leat_error *err) {
    switch (z->at) {
    case AT_GZIP:
        if (!header_field(z, c, 2)) return SHORT;
        if (leat__load_u16(z->field) != 0x8b1f) return fail(z, err, "incorrect header check");
        z->at = AT_GZIP_FLAGS;
        return ON;
    case AT_GZIP_FLAGS:
        if (!header_field(z, c, 2)) return SHORT;
        if (z->field[0] != 8) return fail(z, err, "unknown compression method");
        z->flags = z->field[1];
        if (z->flags & FLAGS_UNKNOWN) return fail(z, err, "unknown header flags set");
        z->at = AT_GZIP_TIME;
        return ON;
    case AT_GZIP_TIME: return header_field(z, c, 6) ? to_gzip_part(z, c, AT_GZIP_EXTRA_SIZE) : SHORT;
    case AT_GZIP_EXTRA_SIZE:
        if (!header_field(z, c, 2)) return SHORT;
        z->extra = leat__load_u16(z->field);
        z->at = AT_GZIP_EXTRA;
        return ON;
    case AT_GZIP_EXTRA: return gzip_extra(z, c);
    case AT_GZIP_NAME:
    case AT_GZIP_COMMENT: return gzip_text(z, c);
    default:
        if (!field(z, c, 2)) return SHORT;
        if (leat__load_u16(z->field) != (z->sum & 0xffff)) return fail(z, err, "header crc mismatch");
        begin_data(z, c);
        return ON;
    }
}

static int zlib_header(leat__inflate *z, cursor *c, leat_error *err) {
    if (z->at == AT_ZLIB_DICTIONARY)
        return field(z, c, 4) ? fail(z, err, "needs a dictionary that is not in the file") : SHORT;
    if (!field(z, c, 2)) return SHORT;
    const unsigned method = z->field[0], flags = z->field[1];
    if ((method << 8 | flags) % 31 != 0) return fail(z, err, "incorrect header check");
    if ((method & 15) != 8) return fail(z, err, "unknown compression method");
    if (method >> 4 > 7) return fail(z, err, "invalid window size");
    if (flags & 0x20) z->at = AT_ZLIB_DICTIONARY;
    else begin_data(z, c);
    return ON;
}

static int behind_data(leat__inflate *z, cursor *c, leat_error *err) {
    if (!field(z, c, 4)) return SHORT;
    uint32_t value = leat__load_u32(z->field);
    if (z->at == AT_SIZE) {
        if (value != (uint32_t)z->size) return fail(z, err, "incorrect length check");
        z->at = AT_BETWEEN;
        return ON;
    }
    if (z->compression == LEAT_COMPRESSION_ZLIB) value = __builtin_bswap32(value);
    if (value != z->sum) return fail(z, err, "incorrect data check");
    z->at = z->compression == LEAT_COMPRESSION_GZIP ? AT_SIZE : AT_BETWEEN;
    return ON;
}

/* -------------------------------------------------------------------------------------------- data */

static int data(leat__inflate *z, cursor *c, leat_error *err) {
    const size_t room = LEAT_MIN((size_t)(c->out_end - c->out), (size_t)CHECK_BYTES);
    leat__deflate_io io = {.in = c->in,
                           .in_end = c->in_end,
                           .base = c->base,
                           .out = c->out,
                           .out_end = c->out + room,
                           .before = z->window,
                           .before_n = z->window_n};
    const char *why = NULL;
    const int rc = leat__deflate_read(&z->data, &io, &why);
    const size_t made = (size_t)(io.out - c->out);
    z->sum = z->compression == LEAT_COMPRESSION_GZIP ? leat__crc32(z->sum, c->out, made)
                                                     : leat__adler32(z->sum, c->out, made);
    z->size += made;
    z->position += (uint64_t)(io.in - c->in);
    c->in = io.in;
    c->out = io.out;
    if (rc < 0) return fail(z, err, why);
    if (rc == 1) z->at = AT_SUM;
    return rc == 1 || (made == room && c->out < c->out_end) ? ON : SHORT;
}

/* Keeps what the next run may refer to: its output may lie elsewhere. */
static void remember(leat__inflate *z, const cursor *c) {
    const size_t made = (size_t)(c->out - c->base), n = LEAT_MIN(made, (size_t)LEAT_DEFLATE_WINDOW);
    if (n == 0) return;
    if (z->window_n + n > sizeof z->window) {
        const size_t keep = LEAT_DEFLATE_WINDOW - n;
        memmove(z->window, z->window + z->window_n - keep, keep);
        z->window_n = keep;
    }
    memcpy(z->window + z->window_n, c->out - n, n);
    z->window_n += n;
}

int leat__inflate_run(leat__inflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                      size_t out_cap, size_t *out_made, bool last_input, leat_error *err) {
    uint8_t nothing = 0; /* an address even for no bytes */
    if (in_n == 0) in = &nothing;
    if (out_cap == 0) out = &nothing;
    *in_used = *out_made = 0;
    if (z->failed) return fail(z, err, "failed before");
    cursor c = {in, in + in_n, out, out, out + out_cap};
    int rc;
    do {
        if (z->at == AT_BETWEEN) rc = between(z, &c);
        else if (z->at == AT_DATA) rc = data(z, &c, err);
        else if (z->at >= AT_SUM) rc = behind_data(z, &c, err);
        else if (z->at >= AT_ZLIB) rc = zlib_header(z, &c, err);
        else rc = gzip_header(z, &c, err);
    } while (rc == ON);
    *in_used = (size_t)(c.in - in);
    *out_made = (size_t)(c.out - out);
    if (rc < 0) return rc;
    if (z->at == AT_BETWEEN) return last_input ? 1 : 0;
    if (z->at == AT_DATA) remember(z, &c);
    if (z->at == AT_DATA && c.out == c.out_end) return 0;
    return last_input ? fail(z, err, "truncated, it ends here") : 0;
}
