/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that decode the codes of deflate.
 *
 * The next bits of the stream, as many as the first level has, are an index. Its entry tells what the code means and how many
 * bits it has. Where more than one code begins with these bits, the entry names a table of the second level, whose index is
 * the bits behind them. An entry:
 *
 *     bits 0-5    bits to drop: of all its codes, and the extra bits behind a length or a distance
 *     bits 6-7    how many literals it begins with, 0 to 2
 *     bits 8-13   literals: bits of the first code; length and distance: bits before the extra bits; second level: bits of
 *                 its index
 *     bit 14      other: neither literals nor a length or a distance
 *     bit 15      literals alone
 *     bits 16-23  the first literal
 *     bits 24-31  a length without its extra bits, less 3
 *     bits 16-31  distance: without its extra bits
 *     bits 16-27  second level: its first entry
 *     bits 28-29  other: which
 *
 * An entry of literals and lengths is one literal, two, a literal and a length, or a length. Which of these comes next is what
 * processors guess wrong, so the fewer entries the better. And each look into the table waits for the bits of the entry before
 * it, so the more bits an entry drops the better. Of a second literal the entry has the bits alone, and these can be told
 * although not all of them are in the index: if all codes that begin with those that are there are literals and equally long.
 * What the second literal is says the entry of its own code, and nothing waits for that.
 *
 * In a table of the second level bits are counted without those of the first. */
#ifndef LEAT_FORMAT_DEFLATE_TABLE_H
#define LEAT_FORMAT_DEFLATE_TABLE_H

#include "base/macros.h"

#define LEAT_ENTRY_LITERALS 0x8000u
#define LEAT_ENTRY_OTHER 0x4000u
#define LEAT_ENTRY_WHICH (LEAT_ENTRY_OTHER | 3u << 28)
#define LEAT_ENTRY_INVALID (LEAT_ENTRY_OTHER | 0u << 28)
#define LEAT_ENTRY_SECOND (LEAT_ENTRY_OTHER | 1u << 28)
#define LEAT_ENTRY_END (LEAT_ENTRY_OTHER | 2u << 28)

static inline unsigned leat__entry_bits(uint32_t entry) {
    return entry & 63;
}
static inline unsigned leat__entry_literals(uint32_t entry) {
    return entry >> 6 & 3;
}
static inline unsigned leat__entry_literal(uint32_t entry) {
    return entry >> 16 & 255;
}
/* The bits before the extra bits, or before the second literal. */
static inline unsigned leat__entry_front(uint32_t entry) {
    return entry >> 8 & 63;
}
/* The extra bits of an entry that begins with the lowest bit of the buffer. */
static inline unsigned leat__entry_extra(uint32_t entry, uint64_t buffer) {
    return (unsigned)((buffer & (((uint64_t)1 << leat__entry_bits(entry)) - 1)) >> leat__entry_front(entry));
}
static inline unsigned leat__entry_length(uint32_t entry, uint64_t buffer) {
    return 3 + (entry >> 24) + leat__entry_extra(entry, buffer);
}
static inline unsigned leat__entry_distance(uint32_t entry, uint64_t buffer) {
    return (entry >> 16) + leat__entry_extra(entry, buffer);
}
/* The entry of the second level; the buffer begins behind the bits of the first. */
static inline uint32_t leat__entry_second(const uint32_t *table, uint32_t entry, uint64_t buffer) {
    return table[(entry >> 16 & 0xfff) + (buffer & ((1u << leat__entry_front(entry)) - 1))];
}

/* Code lengths: 19 symbols, one level of 7 bits; the value is the symbol. */
bool leat__deflate_precode_table(uint32_t table[128], const uint8_t *lengths);
/* Literals and lengths, distances. lengths[i]: bits of the code of symbol i, 0 = it has none. false: the lengths make no
 * code. Sets of lengths that use not all of the codes are refused, but for a single code of one bit and, as distances, none at
 * all; unused codes are LEAT_ENTRY_INVALID then. zlib is the judge of it. */
bool leat__deflate_literal_table(uint32_t *table, const uint8_t *lengths, unsigned n);
bool leat__deflate_distance_table(uint32_t *table, const uint8_t *lengths, unsigned n);

#endif
