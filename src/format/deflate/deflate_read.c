/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream is made of, one element after the other. An element (a header, the length of a code, a literal, a match) is
 * decoded as a whole or not at all: if its bits are not all there, what is there waits in the bit buffer, which every element
 * fits into. So the state says which element comes next and nothing finer. The loop of deflate_loop.h takes over where it
 * can. */
#include "format/deflate_read.h"

#include "format/deflate/deflate_loop.h"
#include "format/deflate/deflate_table.h"

enum {
    AT_BLOCK,
    AT_STORED_LENGTH,
    AT_STORED,
    AT_COUNTS,
    AT_PRECODE,
    AT_LENGTHS,
    AT_SYMBOLS,
    AT_MATCH,
    AT_END,
    AT_ERROR
};
/* What the functions below return, or an error. */
enum { ENDED = 1, ON, NEED_INPUT, NEED_ROOM };

void leat__deflate_begin(leat__deflate_state *z) {
    z->at = AT_BLOCK;
    z->bits = 0;
    z->buffer = 0;
    z->fixed = false;
    z->why = NULL;
}

static int bad(leat__deflate_state *z, const char *why) {
    z->at = AT_ERROR;
    z->why = why;
    return LEAT_ERR_FORMAT;
}

/* -------------------------------------------------------------------------------------------- bits */

/* As many bytes as fit: an element has up to 48 bits. */
static void refill(leat__deflate_state *z, leat__deflate_io *io) {
    while (z->bits < 56 && io->in < io->in_end) {
        z->buffer |= (uint64_t)*io->in++ << z->bits;
        z->bits += 8;
    }
}

static void drop(leat__deflate_state *z, unsigned n) {
    z->buffer >>= n;
    z->bits -= n;
}

static unsigned take(leat__deflate_state *z, unsigned n) {
    const unsigned value = (unsigned)(z->buffer & (((uint64_t)1 << n) - 1));
    drop(z, n);
    return value;
}

/* Whether the buffer has n bits, after filling it if need be. */
static bool have(leat__deflate_state *z, leat__deflate_io *io, unsigned n) {
    if (z->bits < n) refill(z, io);
    return z->bits >= n;
}

/* Bytes that were read ahead are the caller's again. Those of earlier calls stay: they are the beginning of an element. */
static void give_back(leat__deflate_state *z, leat__deflate_io *io, const uint8_t *begin) {
    while (z->bits >= 8 && io->in > begin) {
        io->in--;
        z->bits -= 8;
    }
    z->buffer &= ((uint64_t)1 << z->bits) - 1;
}

/* ------------------------------------------------------------------------------------ begin of a block */

static void fixed_tables(leat__deflate_state *z) {
    if (z->fixed) return;
    memset(z->lengths, 8, 144);
    memset(z->lengths + 144, 9, 112);
    memset(z->lengths + 256, 7, 24);
    memset(z->lengths + 280, 8, 8);
    memset(z->lengths + 288, 5, 32);
    leat__deflate_literal_table(z->literal, z->lengths, 288);
    leat__deflate_distance_table(z->distances, z->lengths + 288, 32);
    z->fixed = true;
}

static int block(leat__deflate_state *z, leat__deflate_io *io) {
    if (!have(z, io, 3)) return NEED_INPUT;
    z->last = take(z, 1);
    switch (take(z, 2)) {
    case 0:
        drop(z, z->bits & 7);
        z->at = AT_STORED_LENGTH;
        return ON;
    case 1:
        fixed_tables(z);
        z->at = AT_SYMBOLS;
        return ON;
    case 2: z->at = AT_COUNTS; return ON;
    default: return bad(z, "invalid block type");
    }
}

static int end_block(leat__deflate_state *z) {
    z->at = z->last ? AT_END : AT_BLOCK;
    return ON;
}

static int stored_length(leat__deflate_state *z, leat__deflate_io *io) {
    if (!have(z, io, 32)) return NEED_INPUT;
    z->length = take(z, 16);
    if ((take(z, 16) ^ z->length) != 0xffff) return bad(z, "invalid stored block lengths");
    z->at = AT_STORED;
    return ON;
}

static int stored(leat__deflate_state *z, leat__deflate_io *io) {
    while (z->length > 0 && z->bits > 0 && io->out < io->out_end) {
        *io->out++ = (uint8_t)take(z, 8);
        z->length--;
    }
    if (z->length > 0 && z->bits == 0) {
        const size_t most = LEAT_MIN(io->in_end - io->in, io->out_end - io->out);
        const size_t n = LEAT_MIN((size_t)z->length, most);
        if (n) memcpy(io->out, io->in, n);
        io->in += n;
        io->out += n;
        z->length -= (unsigned)n;
    }
    if (z->length > 0) return io->out == io->out_end ? NEED_ROOM : NEED_INPUT;
    return end_block(z);
}

static int counts(leat__deflate_state *z, leat__deflate_io *io) {
    if (!have(z, io, 14)) return NEED_INPUT;
    z->n_literal = 257 + take(z, 5);
    z->n_distance = 1 + take(z, 5);
    z->n_precode = 4 + take(z, 4);
    if (z->n_literal > 286 || z->n_distance > 30) return bad(z, "too many length or distance symbols");
    memset(z->lengths, 0, 19);
    z->n = 0;
    z->at = AT_PRECODE;
    return ON;
}

static int precode(leat__deflate_state *z, leat__deflate_io *io) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    for (; z->n < z->n_precode; z->n++) {
        if (!have(z, io, 3)) return NEED_INPUT;
        z->lengths[order[z->n]] = (uint8_t)take(z, 3);
    }
    if (!leat__deflate_precode_table(z->precode, z->lengths)) return bad(z, "invalid code lengths set");
    z->n = 0;
    z->at = AT_LENGTHS;
    return ON;
}

static int tables(leat__deflate_state *z) {
    z->fixed = false;
    if (z->lengths[256] == 0) return bad(z, "invalid code -- missing end-of-block");
    if (!leat__deflate_literal_table(z->literal, z->lengths, z->n_literal))
        return bad(z, "invalid literal/lengths set");
    if (!leat__deflate_distance_table(z->distances, z->lengths + z->n_literal, z->n_distance))
        return bad(z, "invalid distances set");
    z->at = AT_SYMBOLS;
    return ON;
}

/* Lengths of codes, run-length encoded. */
static int lengths(leat__deflate_state *z, leat__deflate_io *io) {
    static const struct { uint8_t extra, least; } repeat[3] = {{2, 3}, {3, 3}, {7, 11}};
    const unsigned all = z->n_literal + z->n_distance;
    while (z->n < all) {
        if (z->bits < 14) refill(z, io);
        const uint32_t entry = z->precode[z->buffer & 127];
        const unsigned bits = leat__entry_bits(entry), symbol = leat__entry_literal(entry);
        if (bits > z->bits) return NEED_INPUT;
        if (symbol < 16) {
            drop(z, bits);
            z->lengths[z->n++] = (uint8_t)symbol;
            continue;
        }
        const unsigned extra = repeat[symbol - 16].extra;
        if (bits + extra > z->bits) return NEED_INPUT;
        drop(z, bits);
        const unsigned times = repeat[symbol - 16].least + take(z, extra);
        if ((symbol == 16 && z->n == 0) || times > all - z->n) return bad(z, "invalid bit length repeat");
        memset(z->lengths + z->n, symbol == 16 ? z->lengths[z->n - 1] : 0, times);
        z->n += times;
    }
    return tables(z);
}

/* ------------------------------------------------------------------------------------------ symbols */

/* The entry of the next code, whose bits begin at bit `from` of the buffer, and where its own bits begin. */
static uint32_t look_up(const leat__deflate_state *z, const uint32_t *table, unsigned first_level,
                        unsigned *from) {
    const uint64_t next = z->buffer >> *from;
    const uint32_t entry = table[next & ((1u << first_level) - 1)];
    if ((entry & LEAT_ENTRY_WHICH) != LEAT_ENTRY_SECOND) return entry;
    *from += first_level;
    return leat__entry_second(table, entry, next >> first_level);
}

/* One symbol, where the loop cannot run. */
static int symbol(leat__deflate_state *z, leat__deflate_io *io) {
    unsigned at = 0;
    refill(z, io);
    uint32_t entry = look_up(z, z->literal, LEAT_DEFLATE_LITERAL_BITS, &at);
    if (leat__entry_literals(
            entry)) { /* what follows it in the entry may not be there yet: one after the other */
        const uint8_t value = (uint8_t)leat__entry_literal(entry);
        if (z->lengths[value] > z->bits) return NEED_INPUT;
        if (io->out == io->out_end) return NEED_ROOM;
        *io->out++ = value;
        drop(z, z->lengths[value]);
        return ON;
    }
    if (at + leat__entry_bits(entry) > z->bits) return NEED_INPUT;
    if (entry & LEAT_ENTRY_OTHER) {
        if ((entry & LEAT_ENTRY_WHICH) != LEAT_ENTRY_END) return bad(z, "invalid literal/length code");
        drop(z, at + leat__entry_bits(entry));
        return end_block(z);
    }
    const size_t n = leat__entry_length(entry, z->buffer >> at);
    at += leat__entry_bits(entry);
    entry = look_up(z, z->distances, LEAT_DEFLATE_DISTANCE_BITS, &at);
    if (at + leat__entry_bits(entry) > z->bits) return NEED_INPUT;
    if (entry & LEAT_ENTRY_OTHER) return bad(z, "invalid distance code");
    const size_t distance = leat__entry_distance(entry, z->buffer >> at);
    if (distance > (size_t)(io->out - io->base) + io->before_n)
        return bad(z, "invalid distance too far back");
    drop(z, at + leat__entry_bits(entry));
    z->length = (unsigned)n;
    z->distance = (unsigned)distance;
    z->at = AT_MATCH;
    return ON;
}

static int match(leat__deflate_state *z, leat__deflate_io *io) {
    const size_t n = LEAT_MIN((size_t)z->length, (size_t)(io->out_end - io->out));
    for (size_t i = 0; i < n; i++) {
        const size_t here = (size_t)(io->out - io->base);
        if (z->distance > here && z->distance - here > io->before_n)
            return bad(z, "invalid distance too far back");
        *io->out =
            z->distance <= here ? *(io->out - z->distance) : io->before[io->before_n - (z->distance - here)];
        io->out++;
    }
    z->length -= (unsigned)n;
    if (z->length > 0) return NEED_ROOM;
    z->at = AT_SYMBOLS;
    return ON;
}

static int symbols(leat__deflate_state *z, leat__deflate_io *io) {
    if (io->in_end - io->in < LEAT_DEFLATE_IN_SLACK || io->out_end - io->out < LEAT_DEFLATE_OUT_SLACK)
        return symbol(z, io);
    switch (leat__deflate_loop(z, io)) {
    case LEAT_DEFLATE_LOOP_SHORT: return ON;
    case LEAT_DEFLATE_LOOP_END: return end_block(z);
    case LEAT_DEFLATE_LOOP_LITERAL: return bad(z, "invalid literal/length code");
    case LEAT_DEFLATE_LOOP_DISTANCE: return bad(z, "invalid distance code");
    default: return bad(z, "invalid distance too far back");
    }
}

/* -------------------------------------------------------------------------------------------- read */

static int element(leat__deflate_state *z, leat__deflate_io *io) {
    switch (z->at) {
    case AT_BLOCK: return block(z, io);
    case AT_STORED_LENGTH: return stored_length(z, io);
    case AT_STORED: return stored(z, io);
    case AT_COUNTS: return counts(z, io);
    case AT_PRECODE: return precode(z, io);
    case AT_LENGTHS: return lengths(z, io);
    case AT_SYMBOLS: return symbols(z, io);
    case AT_MATCH: return match(z, io);
    case AT_END: return ENDED;
    default: return LEAT_ERR_FORMAT;
    }
}

int leat__deflate_read(leat__deflate_state *z, leat__deflate_io *io, const char **why) {
    const uint8_t *const begin = io->in;
    int rc;
    do rc = element(z, io);
    while (rc == ON);
    if (rc == NEED_INPUT) return 0;
    give_back(z, io, begin);
    if (rc == NEED_ROOM) return 0;
    if (rc < 0) *why = z->why;
    return rc;
}
