/* SPDX-License-Identifier: Apache-2.0 */
/* The bit buffer is filled by one load of eight bytes, of which as many count as fit. Bits above the count are those of the
 * stream as well: the next load puts the same ones there. At least 56 bits count after it. They serve for an entry of literals
 * (21 bits) and a length (20 bits with its extra bits), or for two entries of literals. Then 14 bits are left, so that the next
 * entry is looked up before the buffer is filled again: what comes next is known some cycles earlier. A distance has up to 28
 * bits. */
#include "format/deflate/deflate_loop.h"

#include "format/deflate/deflate_table.h"

static inline void copy_16(uint8_t *to, const uint8_t *from) {
    uint8_t piece[16];
    memcpy(piece, from, 16);
    memcpy(to, piece, 16);
}

/* Copies a match; both may overlap, and up to 47 bytes behind it are written. */
static inline void copy_match(uint8_t *out, size_t distance, size_t n) {
    const uint8_t *from = out - distance;
    uint8_t *const end = out + n;
    if (LEAT_UNLIKELY(distance < 16)) {
        /* The bytes repeat: once there are twice as many of them, the distance may be twice as large. */
        for (; distance < 16; distance *= 2) {
            copy_16(out, from);
            out += distance;
        }
    }
    /* Most matches are short, and to ask how short costs more than to copy. */
    copy_16(out, from);
    copy_16(out + 16, from + 16);
    for (out += 32, from += 32; out < end; out += 16, from += 16) copy_16(out, from);
}

/* A match that begins before base. false: before the stream. Rare, and kept out of the registers of the loop. */
__attribute__((noinline)) static bool copy_before(const leat__deflate_io *io, uint8_t *out, size_t distance,
                                                  size_t n) {
    const size_t missing = distance - (size_t)(out - io->base);
    if (missing > io->before_n) return false;
    const size_t first = LEAT_MIN(missing, n);
    memcpy(out, io->before + io->before_n - missing, first);
    for (size_t i = first; i < n; i++) out[i] = *(out + i - distance);
    return true;
}

/* The lowest six bits of `bits` are the count, the others are of no use: so an entry is subtracted as it is. */
#define REFILL()                                     \
    do {                                             \
        buffer |= leat__load_u64(in) << (bits & 63); \
        in += 7 - (bits >> 3 & 7);                   \
        bits |= 56;                                  \
    } while (0)
#define DROP()                              \
    do {                                    \
        buffer >>= leat__entry_bits(entry); \
        bits -= entry;                      \
    } while (0)
#define LOOK() entry = literal[buffer & literal_mask]
/* Takes the entry and writes its literals. Two bytes are written in any case, which is cheaper than to ask. */
#define TAKE()                                                                                           \
    do {                                                                                                 \
        from = buffer;                                                                                   \
        DROP();                                                                                          \
        out[0] = (uint8_t)leat__entry_literal(entry);                                                    \
        out[1] = (uint8_t)leat__entry_literal(literal[from >> leat__entry_front(entry) & literal_mask]); \
        out += leat__entry_literals(entry);                                                              \
    } while (0)

leat__deflate_loop_end leat__deflate_loop(leat__deflate_state *z, leat__deflate_io *io) {
    const uint32_t *const literal = z->literal, *const distances = z->distances;
    const uint64_t literal_mask = (1u << LEAT_DEFLATE_LITERAL_BITS) - 1,
                   distance_mask = (1u << LEAT_DEFLATE_DISTANCE_BITS) - 1;
    const uint8_t *in = io->in, *const in_stop = io->in_end - LEAT_DEFLATE_IN_SLACK;
    uint8_t *out = io->out, *const out_stop = io->out_end - LEAT_DEFLATE_OUT_SLACK, *const base = io->base;
    uint64_t buffer = z->buffer;
    unsigned bits = z->bits;
    leat__deflate_loop_end end = LEAT_DEFLATE_LOOP_SHORT;
    uint32_t entry;
    REFILL();
    LOOK();
    do {
        uint64_t from;
        REFILL();
        TAKE();
        if (entry & LEAT_ENTRY_LITERALS) {
            LOOK();
            TAKE();
            if (entry & LEAT_ENTRY_LITERALS) {
                LOOK();
                continue;
            }
        }
        if (LEAT_UNLIKELY(entry & LEAT_ENTRY_OTHER)) {
            if ((entry & LEAT_ENTRY_WHICH) == LEAT_ENTRY_SECOND) {
                entry = leat__entry_second(literal, entry, buffer);
                from = buffer;
                DROP();
                if (entry & LEAT_ENTRY_LITERALS) {
                    *out++ = (uint8_t)leat__entry_literal(entry);
                    REFILL();
                    LOOK();
                    continue;
                }
            }
            if (LEAT_UNLIKELY(entry & LEAT_ENTRY_OTHER)) {
                end = (entry & LEAT_ENTRY_WHICH) == LEAT_ENTRY_END ? LEAT_DEFLATE_LOOP_END
                                                                   : LEAT_DEFLATE_LOOP_LITERAL;
                break;
            }
        }
        const size_t n = leat__entry_length(entry, from);
        if ((bits & 63) < 28 + LEAT_DEFLATE_LITERAL_BITS) REFILL();
        entry = distances[buffer & distance_mask];
        if (LEAT_UNLIKELY(entry & LEAT_ENTRY_OTHER)) {
            if ((entry & LEAT_ENTRY_WHICH) == LEAT_ENTRY_SECOND) {
                const uint32_t first = entry;
                DROP();
                entry = leat__entry_second(distances, first, buffer);
            }
            if (LEAT_UNLIKELY(entry & LEAT_ENTRY_OTHER)) {
                end = LEAT_DEFLATE_LOOP_DISTANCE;
                break;
            }
        }
        const size_t distance = leat__entry_distance(entry, buffer);
        DROP();
        LOOK();
        if (LEAT_UNLIKELY(distance > (size_t)(out - base))) {
            if (!copy_before(io, out, distance, n)) {
                end = LEAT_DEFLATE_LOOP_FAR;
                break;
            }
        } else {
            copy_match(out, distance, n);
        }
        out += n;
    } while (in <= in_stop && out <= out_stop);
    z->bits = bits & 63;
    z->buffer = buffer & (((uint64_t)1 << z->bits) - 1);
    io->in = in;
    io->out = out;
    return end;
}
