/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_huffman.h"

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
    memset(code->counts, 0, sizeof code->counts); /* if this fails, the table must not match a later code */
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

bool leat__jpeg_refine_build(leat__jpeg_code *code, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if ((symbols[i] & 15) > 1) return false;
    return build_code(code, counts, symbols, n);
}

bool leat__jpeg_dc_build(leat__jpeg_dc_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if (symbols[i] > LEAT_JPEG_DC_SIZE_MAX) return false;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    for (int x = 0, run; x < LEAT_JPEG_LOOKS; x += run) { /* all that begin with the same code */
        const unsigned length = table->code.look[x] >> 8, size = table->code.look[x] & 15;
        const uint32_t entry = length ? (length + size) | ((1u << size) - 1) << 16 : 0;
        run = length ? 1 << (LEAT_JPEG_LOOK - length) : 1;
        for (int i = 0; i < run; i++) table->look[x + i] = entry;
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

/* What a code says by itself, for all ten bits that begin with it. */
static void fill_single(uint64_t single[LEAT_JPEG_LOOKS], const leat__jpeg_code *code) {
    for (int x = 0, n; x < LEAT_JPEG_LOOKS; x += n) {
        const symbol s = symbol_of(code->look[x]);
        const uint64_t step = (uint64_t)s.step;
        const uint64_t run = s.step == LEAT_JPEG_BLOCK_END ? code->look[x] >> 4 & 15 : 0;
        n = s.length ? 1 << (LEAT_JPEG_LOOK - s.length) : 1;
        const uint64_t entry = s.length ? (uint64_t)(s.length + s.size) | step << 8 | step << 16 | run << 25 |
                                              ((1ull << s.size) - 1) << 48
                                        : 0;
        for (int i = 0; i < n; i++) single[x + i] = entry;
    }
}

/* Ten bits that begin with this code and value: all of them, starting at x. Returns how many. A second code that lies there
 * too adds its length, its step and its mask. */
static int fill_pairs(leat__jpeg_ac_table *table, const uint64_t single[LEAT_JPEG_LOOKS], int x, symbol s) {
    enum { MASK = LEAT_JPEG_LOOKS - 1 };
    const int length = s.length + s.size;
    if (s.step == LEAT_JPEG_BLOCK_END || length >= LEAT_JPEG_LOOK) {
        const int n = 1 << (LEAT_JPEG_LOOK - s.length);
        memcpy(table->pair + x, single + x, (size_t)n * sizeof *single);
        return n;
    }
    const int left = LEAT_JPEG_LOOK - length, n = 1 << left;
    const int value = value_of(x >> left & ((1 << s.size) - 1), s.size);
    const uint64_t alone = single[x], own_mask = ((1ull << 16) - 1) << 48, first_step = 0xff00;
    const uint64_t first = (alone & ~own_mask) | (uint64_t)(uint16_t)value << 32 | LEAT_JPEG_TWO;
    for (int i = 0; i < n; i++) {
        const int next = i << length & MASK, next_length = table->code.look[next] >> 8;
        const bool fits = next_length > 0 && next_length <= left;
        table->pair[x + i] = fits ? first + (single[next] & ~first_step) : alone;
    }
    return n;
}

bool leat__jpeg_ac_build(leat__jpeg_ac_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if ((symbols[i] & 15) > LEAT_JPEG_AC_SIZE_MAX) return false;
    table->skip_look = 0;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    uint64_t single[LEAT_JPEG_LOOKS];
    fill_single(single, &table->code);
    for (int x = 0; x < LEAT_JPEG_LOOKS;) {
        const symbol s = symbol_of(table->code.look[x]);
        if (s.length) x += fill_pairs(table, single, x, s);
        else table->pair[x++] = 0;
    }
    return true;
}

/* The code that some bits begin with, of which `n` are known; length 0: they are not enough. */
static inline symbol symbol_at(const leat__jpeg_code *code, uint32_t bits, int n) {
    const uint16_t look = code->look[bits >> (16 - LEAT_JPEG_LOOK)];
    symbol s = symbol_of(look);
    if (!look && n > LEAT_JPEG_LOOK) {
        const int found = leat__jpeg_code_long(code, bits, &s.length);
        s = symbol_of((uint16_t)(s.length << 8 | found));
    }
    if (s.length > n) s.length = 0;
    return s;
}

void leat__jpeg_ac_build_skip(leat__jpeg_ac_table *table, int look) {
    if (table->skip_look == look) return;
    for (uint32_t x = 0; x < 1u << look; x++) {
        const uint32_t bits = x << (16 - look);
        int length = 0, step = 0;
        while (length < look && step < 60) { /* with one more it still fits into seven bits */
            const symbol s = symbol_at(&table->code, bits << length & 0xffff, look - length);
            if (!s.length) break;
            length += s.length + s.size;
            step += s.step;
            if (s.step == LEAT_JPEG_BLOCK_END) break;
        }
        table->skip[x] = (uint16_t)(length | step << 8);
    }
    table->skip_look = look;
}
