/* SPDX-License-Identifier: Apache-2.0 */
#include "format/deflate/deflate_table.h"

#include "format/deflate_read.h"

enum { CODE_BITS_MAX = 15, PRECODE_BITS = 7 };

#define PER_BIT 0x101u    /* an entry grows by this for each bit of its code */
#define ONE_LITERAL 0x40u /* ... and for each literal */

/* ------------------------------------------------------------------------------------------- entries */

#define L(base, extra) ((uint32_t)((base)-3) << 24 | (extra))
#define D(base, extra) ((uint32_t)(base) << 16 | (extra))
#define NO LEAT_ENTRY_INVALID

/* Of symbols 256 to 287, without the bits of the code. The last two exist in fixed codes only, and mean nothing. */
static const uint32_t length_entry[32] = {
    LEAT_ENTRY_END, L(3, 0),   L(4, 0),   L(5, 0),   L(6, 0),   L(7, 0),   L(8, 0),  L(9, 0),
    L(10, 0),       L(11, 1),  L(13, 1),  L(15, 1),  L(17, 1),  L(19, 2),  L(23, 2), L(27, 2),
    L(31, 2),       L(35, 3),  L(43, 3),  L(51, 3),  L(59, 3),  L(67, 4),  L(83, 4), L(99, 4),
    L(115, 4),      L(131, 5), L(163, 5), L(195, 5), L(227, 5), L(258, 0), NO,       NO,
};

static const uint32_t distance_entry[32] = {
    D(1, 0),     D(2, 0),     D(3, 0),     D(4, 0),      D(5, 1),      D(7, 1),      D(9, 2),     D(13, 2),
    D(17, 3),    D(25, 3),    D(33, 4),    D(49, 4),     D(65, 5),     D(97, 5),     D(129, 6),   D(193, 6),
    D(257, 7),   D(385, 7),   D(513, 8),   D(769, 8),    D(1025, 9),   D(1537, 9),   D(2049, 10), D(3073, 10),
    D(4097, 11), D(6145, 11), D(8193, 12), D(12289, 12), D(16385, 13), D(24577, 13), NO,          NO,
};

static uint32_t precode_entry(unsigned symbol) {
    return symbol << 16;
}

static uint32_t literal_entry(unsigned symbol) {
    return symbol < 256 ? LEAT_ENTRY_LITERALS | ONE_LITERAL | symbol << 16 : length_entry[symbol - 256];
}

static uint32_t distance_of(unsigned symbol) {
    return distance_entry[symbol];
}

/* -------------------------------------------------------------------------------------------- tables */

typedef struct code {
    unsigned count[CODE_BITS_MAX + 1]; /* symbols with codes of so many bits           */
    unsigned bits_max;
    uint16_t sorted[288]; /* symbols, those with short codes first, else in order */
} code;

/* false: more codes than there are. *spare: whether some are not used. */
static bool sort_symbols(code *c, const uint8_t *lengths, unsigned n, bool *spare) {
    unsigned begin[CODE_BITS_MAX + 2];
    memset(c->count, 0, sizeof c->count);
    for (unsigned i = 0; i < n; i++) c->count[lengths[i]]++;
    int left = 1;
    begin[1] = 0;
    c->bits_max = 0;
    for (unsigned bits = 1; bits <= CODE_BITS_MAX; bits++) {
        left = 2 * left - (int)c->count[bits];
        if (left < 0) return false;
        if (c->count[bits]) c->bits_max = bits;
        begin[bits + 1] = begin[bits] + c->count[bits];
    }
    for (unsigned i = 0; i < n; i++)
        if (lengths[i]) c->sorted[begin[lengths[i]]++] = (uint16_t)i;
    *spare = left > 0;
    return true;
}

/* The code behind this one, both with their first bit lowest: a sum whose carries go down. Behind the last comes the last. */
static unsigned next_code(unsigned at, unsigned bits) {
    const unsigned zeros = at ^ ((1u << bits) - 1);
    if (!zeros) return at;
    const unsigned top = 1u << (31 - __builtin_clz(zeros));
    return (at & (top - 1)) | top;
}

/* Bits for the index of a second-level table whose first code has `bits` bits: as many as the longest code in it needs. */
static unsigned second_bits(const code *c, unsigned bits, unsigned first_level) {
    unsigned index = bits - first_level;
    int left = (1 << index) - (int)c->count[bits];
    while (left > 0 && index + first_level < c->bits_max) {
        index++;
        left = 2 * left - (int)c->count[index + first_level];
    }
    return index;
}

/* Codes longer than the first level, from the code `at` on. */
static bool fill_second(uint32_t *table, unsigned capacity, unsigned first_level, code *c, unsigned symbol,
                        unsigned at, uint32_t (*entry)(unsigned)) {
    unsigned end = 1u << first_level, begin = 0, index = 0, prefix = ~0u;
    for (unsigned bits = first_level + 1; bits <= c->bits_max; bits++)
        for (; c->count[bits] > 0; c->count[bits]--, symbol++) {
            if ((at & ((1u << first_level) - 1)) != prefix) {
                prefix = at & ((1u << first_level) - 1);
                index = second_bits(c, bits, first_level);
                begin = end;
                end += 1u << index;
                if (end > capacity) return false;
                table[prefix] = LEAT_ENTRY_SECOND | first_level | index << 8 | begin << 16;
            }
            const uint32_t value = entry(c->sorted[symbol]) + (bits - first_level) * PER_BIT;
            for (unsigned i = at >> first_level; i < 1u << index; i += 1u << (bits - first_level))
                table[begin + i] = value;
            at = next_code(at, bits);
        }
    return true;
}

/* The first level grows with the codes: once all codes of so many bits are in, it is doubled. Entries that no code has
 * reached yet are overwritten later, because all codes are used. */
static bool fill(uint32_t *table, unsigned capacity, unsigned first_level, code *c, bool spare,
                 uint32_t (*entry)(unsigned)) {
    unsigned symbol = 0, at = 0, size = 2;
    table[0] = table[1] =
        LEAT_ENTRY_INVALID | PER_BIT; /* stays where there are spare codes: see the header */
    for (unsigned bits = 1; bits <= first_level; bits++) {
        for (unsigned i = 0; i < c->count[bits]; i++) {
            table[at] = entry(c->sorted[symbol++]) + bits * PER_BIT;
            at = next_code(at, bits);
        }
        if (bits == first_level) break;
        memcpy(table + size, table, size * sizeof *table);
        size *= 2;
    }
    return spare || c->bits_max <= first_level ||
           fill_second(table, capacity, first_level, c, symbol, at, entry);
}

bool leat__deflate_precode_table(uint32_t table[128], const uint8_t *lengths) {
    code c;
    bool spare;
    if (!sort_symbols(&c, lengths, 19, &spare)) return false;
    if (c.bits_max ==
        0) { /* to zlib any bit is a length of 0 then, and the block fails later: no end-of-block */
        for (int i = 0; i < 1 << PRECODE_BITS; i++) table[i] = precode_entry(0) + PER_BIT;
        return true;
    }
    if (spare) return false;
    return fill(table, 1u << PRECODE_BITS, PRECODE_BITS, &c, false, precode_entry);
}

bool leat__deflate_distance_table(uint32_t *table, const uint8_t *lengths, unsigned n) {
    code c;
    bool spare;
    if (!sort_symbols(&c, lengths, n, &spare) || (spare && c.bits_max > 1)) return false;
    return fill(table, LEAT_DEFLATE_DISTANCE_ENTRIES, LEAT_DEFLATE_DISTANCE_BITS, &c, spare, distance_of);
}

enum { LITERAL_ENTRIES = 1 << LEAT_DEFLATE_LITERAL_BITS };

/* alike[(1 << n) + i]: what the code that begins with the n bits i adds to an entry, its bits and a literal, if all codes that
 * begin so are literals of the same size; else 0. */
static void find_alike(uint8_t alike[2 * LITERAL_ENTRIES], const uint32_t *table) {
    for (unsigned i = 0; i < LITERAL_ENTRIES; i++)
        alike[LITERAL_ENTRIES + i] = table[i] & LEAT_ENTRY_LITERALS ? table[i] & 0xff : 0;
    for (unsigned n = LITERAL_ENTRIES / 2; n > 0; n /= 2)
        for (unsigned i = 0; i < n; i++) {
            const uint8_t zero = alike[2 * n + i], one = alike[3 * n + i];
            alike[n + i] = zero == one ? zero : 0;
        }
}

/* A literal and what follows it in one entry: a literal, or a length if all of its code is there. From the end: the entry of
 * the second code lies before. */
static void join_literals(uint32_t *table) {
    uint8_t alike[2 * LITERAL_ENTRIES];
    find_alike(alike, table);
    for (unsigned i = LITERAL_ENTRIES; i-- > 0;) {
        const uint32_t first = table[i];
        if (!(first & LEAT_ENTRY_LITERALS)) continue;
        const unsigned bits = leat__entry_bits(first);
        const uint32_t second = table[i >> bits];
        if (!(second & (LEAT_ENTRY_LITERALS | LEAT_ENTRY_OTHER)) &&
            bits + leat__entry_front(second) <= LEAT_DEFLATE_LITERAL_BITS)
            table[i] = (first & ~LEAT_ENTRY_LITERALS) + second;
        else /* if there is one, which is not asked: no processor guesses it */
            table[i] = first + alike[(LITERAL_ENTRIES + i) >> bits];
    }
}

bool leat__deflate_literal_table(uint32_t *table, const uint8_t *lengths, unsigned n) {
    code c;
    bool spare;
    if (!sort_symbols(&c, lengths, n, &spare) || (spare && c.bits_max > 1)) return false;
    if (!fill(table, LEAT_DEFLATE_LITERAL_ENTRIES, LEAT_DEFLATE_LITERAL_BITS, &c, spare, literal_entry))
        return false;
    join_literals(table);
    return true;
}
