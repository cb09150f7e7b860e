/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg_huffman.h"

static int n_symbols(const uint8_t counts[17]) {
    int n = 0;
    for (int length = 1; length <= 16; length++) n += counts[length];
    return n;
}

static bool same_code(const leat__jpeg_code *code, const uint8_t counts[17], const uint8_t symbols[256],
                      int n) {
    return memcmp(code->counts + 1, counts + 1, 16) == 0 && memcmp(code->symbols, symbols, (size_t)n) == 0;
}

/* Codes of one length follow one another; those of the next begin where these end, with a bit more. */
static bool build_code(leat__jpeg_code *code, const uint8_t counts[17], const uint8_t symbols[256], int n) {
    memset(code->counts, 0, sizeof code->counts); /* nobody takes half a table for a whole one */
    memset(code->symbols, 0, sizeof code->symbols);
    memcpy(code->symbols, symbols, (size_t)n);
    uint32_t next = 0;
    int k = 0, filled = 0;
    for (int length = 1; length <= 16; length++, next <<= 1) {
        /* A code of ones alone is not allowed either, and libjpeg refuses it. */
        if (next + counts[length] >= 1u << length) return false;
        code->offset[length] = k - (int32_t)next;
        if (length <= LEAT_JPEG_LOOK) {
            const int run = 1 << (LEAT_JPEG_LOOK - length);
            for (int i = 0; i < counts[length]; i++, filled += run)
                for (int x = 0; x < run; x++)
                    code->look[filled + x] = (uint16_t)(length << 8 | symbols[k + i]);
        }
        k += counts[length];
        next += counts[length];
        if (next >= 1u << length)
            return false; /* a code of ones alone is not allowed, and libjpeg says so too */
        code->end[length] = next << (16 - length);
    }
    memset(code->look + filled, 0, (size_t)(LEAT_JPEG_LOOKS - filled) * sizeof *code->look);
    memcpy(code->counts, counts, sizeof code->counts);
    return true;
}

bool leat__jpeg_dc_build(leat__jpeg_dc_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if (symbols[i] > LEAT_JPEG_DC_SIZE_MAX) return false;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    for (int x = 0; x < LEAT_JPEG_LOOKS; x++) {
        const unsigned length = table->code.look[x] >> 8, size = table->code.look[x] & 15;
        table->look[x] = length ? (length + size) | ((1u << size) - 1) << 16 : 0;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------- AC */

typedef struct symbol {
    int length; /* of the code; 0: not known */
    int size;   /* of the value              */
    int step;   /* to its position           */
} symbol;

static inline symbol symbol_of(uint16_t look) {
    const int size = look & 15, run = look >> 4 & 15;
    /* A run without a value is sixteen zeros if it is 15; all others end the block, as in libjpeg. */
    return (symbol){look >> 8, size, size == 0 && run != 15 ? LEAT_JPEG_BLOCK_END : run + 1};
}

/* Small values are coded as they are, negative ones as value - 1 in so many bits. */
static inline int value_of(int bits, int size) {
    return size > 0 && bits < 1 << (size - 1) ? bits - (1 << size) + 1 : bits;
}

static inline uint64_t pair_entry(int length, int first, int second, int value, int second_size) {
    return (uint64_t)length | (uint64_t)first << 8 | (uint64_t)second << 16 |
           (uint64_t)(uint16_t)value << 32 | ((1ull << second_size) - 1) << 48;
}

/* Ten bits that begin with this code: all of them, starting at x. Returns how many. */
static int fill_pairs(leat__jpeg_ac_table *table, int x, symbol s) {
    enum { MASK = LEAT_JPEG_LOOKS - 1 };
    const int length = s.length + s.size;
    const uint64_t alone = pair_entry(length, s.step, s.step, 0, s.size);
    if (s.step == LEAT_JPEG_BLOCK_END || length >= LEAT_JPEG_LOOK) {
        const int n = 1 << (LEAT_JPEG_LOOK - s.length);
        for (int i = 0; i < n; i++) table->pair[x + i] = alone;
        return n;
    }
    const int left = LEAT_JPEG_LOOK - length, n = 1 << left;
    const int value = value_of(x >> left & ((1 << s.size) - 1), s.size);
    for (int i = 0; i < n; i++) {
        const symbol next = symbol_of(table->code.look[i << length & MASK]);
        table->pair[x + i] = next.length && next.length <= left
                                 ? LEAT_JPEG_TWO | pair_entry(length + next.length + next.size, s.step,
                                                              s.step + next.step, value, next.size)
                                 : alone;
    }
    return n;
}

bool leat__jpeg_ac_build(leat__jpeg_ac_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if ((symbols[i] & 15) > LEAT_JPEG_AC_SIZE_MAX) return false;
    table->has_skip = false;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    for (int x = 0; x < LEAT_JPEG_LOOKS;) {
        const symbol s = symbol_of(table->code.look[x]);
        if (s.length) x += fill_pairs(table, x, s);
        else table->pair[x++] = 0;
    }
    return true;
}

void leat__jpeg_ac_build_skip(leat__jpeg_ac_table *table) {
    if (table->has_skip) return;
    for (unsigned x = 0; x < LEAT_JPEG_LOOKS; x++) {
        int length = 0, step = 0;
        while (length < LEAT_JPEG_LOOK && step < 60) { /* with one more it still fits into seven bits */
            const symbol s = symbol_of(table->code.look[x << length & (LEAT_JPEG_LOOKS - 1)]);
            if (!s.length || length + s.length > LEAT_JPEG_LOOK) break;
            length += s.length + s.size;
            step += s.step;
            if (s.step == LEAT_JPEG_BLOCK_END) break;
        }
        table->skip[x] = (uint16_t)(length | step << 8);
    }
    table->has_skip = true;
}
