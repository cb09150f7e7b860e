/* SPDX-License-Identifier: Apache-2.0 */
/* Bare deflate streams (RFC 1951), without the header and the checksum that GZIP, ZLIB and PNG put around them: a stream of
 * bytes in, a stream of bytes out. What zlib's inflate refuses is refused, and what it takes gives the same bytes. */
#ifndef LEAT_FORMAT_DEFLATE_READ_H
#define LEAT_FORMAT_DEFLATE_READ_H

#include "base/error.h"
#include "format/checksum.h" /* for what is around such streams */

enum {
    LEAT_DEFLATE_WINDOW = 32768, /* the farthest that a stream may refer back, in bytes */
    LEAT_DEFLATE_LITERAL_BITS = 11,
    LEAT_DEFLATE_DISTANCE_BITS = 8,
    /* Entries that the largest table may have, with these bits for its first level: what zlib's example program "enough"
     * computes for 288 and 32 symbols. The code that fills tables checks it. */
    LEAT_DEFLATE_LITERAL_ENTRIES = 2342,
    LEAT_DEFLATE_DISTANCE_ENTRIES = 402,
    LEAT_DEFLATE_SYMBOLS = 288 + 32,
};

typedef struct leat__deflate_io {
    const uint8_t *in,
        *in_end;            /* what is left to read; advanced                                               */
    uint8_t *base;          /* bytes from base up to out may be referred to: at least the last 32 KiB of    */
                            /* the stream, or all of it                                                     */
    uint8_t *out, *out_end; /* where the next byte goes; advanced                                           */
    const uint8_t *before;  /* more of it, if base is less: these bytes come before base                    */
    size_t before_n;
} leat__deflate_io;

typedef struct leat__deflate_state {
    int at;             /* what comes next, see deflate_read.c                             */
    bool last;          /* the block is the last one                                       */
    bool fixed;         /* the tables are those of fixed codes                             */
    unsigned bits;      /* in buffer; above them there are zeros                           */
    uint64_t buffer;    /* bits that were read and not used, the next one lowest           */
    unsigned length;    /* of a match or of stored bytes, what is left to copy             */
    unsigned distance;  /* of a match                                                      */
    unsigned n_literal; /* of a dynamic block: symbols with a length ...                   */
    unsigned n_distance;
    unsigned n_precode;
    unsigned n; /* ... and how many lengths were read                              */
    const char *why;
    uint8_t lengths[LEAT_DEFLATE_SYMBOLS];
    uint32_t precode[128];
    uint32_t literal[LEAT_DEFLATE_LITERAL_ENTRIES];
    uint32_t distances[LEAT_DEFLATE_DISTANCE_ENTRIES];
} leat__deflate_state;

/* To begin a stream. The state belongs to the caller and needs no other care. */
void leat__deflate_begin(leat__deflate_state *z);

/* 0: needs more input (in == in_end, all of it is in the state) or more room (out == out_end); if both, either. 1: the final
 * block has ended, and in is right behind its last byte. <0: LEAT_ERR_FORMAT, *why is a constant text; stays until begin.
 * Never reads outside [in, in_end), never writes outside [out, out_end). May stop in the middle of a match. With in == in_end
 * or out == out_end it does what can be done. */
int leat__deflate_read(leat__deflate_state *z, leat__deflate_io *io, const char **why);

#endif
