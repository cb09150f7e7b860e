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

/* Whether so many bits tell a code and the sign of its value. */
static inline bool is_known(int length, int size, int n) {
    return length > 0 && length + (size > 0) <= n;
}

/* From the last bits of a code and its value as a number to the value. x are the bits of a look that begins with them. */
static inline uint16_t addend(int x, int length, int size) {
    const int code = x >> (LEAT_JPEG_LOOK - length), mask = (1 << size) - 1;
    const bool negative = size > 0 && !(x >> (LEAT_JPEG_LOOK - 1 - length) & 1);
    return (uint16_t)(-(code << size) - (negative ? mask : 0));
}

bool leat__jpeg_dc_build(leat__jpeg_dc_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if (symbols[i] > LEAT_JPEG_DC_SIZE_MAX) return false;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    for (int x = 0, run; x < LEAT_JPEG_LOOKS; x += run) { /* all that begin with the same code and sign */
        const int length = table->code.look[x] >> 8, size = table->code.look[x] & 15;
        const bool known = is_known(length, size, LEAT_JPEG_LOOK);
        leat__jpeg_dc_entry entry = {0};
        if (known)
            entry = (leat__jpeg_dc_entry){.length = (uint8_t)(length + size),
                                          .rest = (uint8_t)(64 - length - size),
                                          .add = addend(x, length, size)};
        run = known ? 1 << (LEAT_JPEG_LOOK - length - (size > 0)) : 1;
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

#define NO_STEP 192 /* leads behind a block from everywhere in it */

/* An entry of `pair` as one number: additions then work on all of its parts at once. */
static inline uint64_t pack(int length, int first, int second, int value, int add) {
    return (uint64_t)length | (uint64_t)first << 8 | (uint64_t)second << 16 | (uint64_t)(64 - length) << 24 |
           (uint64_t)(uint16_t)value << 32 | (uint64_t)(uint16_t)add << 48;
}

static inline leat__jpeg_pair unpack(uint64_t entry) {
    return (leat__jpeg_pair){.length = (uint8_t)entry,
                             .first = (uint8_t)(entry >> 8),
                             .second = (uint8_t)(entry >> 16),
                             .rest = (uint8_t)(entry >> 24),
                             .value = (int16_t)(entry >> 32),
                             .add = (uint16_t)(entry >> 48)};
}

typedef struct single { /* what a look says about its first symbol */
    uint64_t entry;
    int need;   /* bits that tell it; more than there are: it is not known     */
    int weight; /* of the bits in front of it in what is added for its value   */
} single;

/* For all ten bits that begin with the same code and sign. */
static void fill_single(single out[LEAT_JPEG_LOOKS], const leat__jpeg_code *code) {
    for (int x = 0, n; x < LEAT_JPEG_LOOKS; x += n) {
        const symbol s = symbol_of(code->look[x]);
        const int length = s.length + s.size, need = s.length + (s.size > 0);
        single one = {.entry = pack(0, NO_STEP, NO_STEP, 0, 0), .need = LEAT_JPEG_LOOK + 1};
        n = 1;
        if (is_known(s.length, s.size, LEAT_JPEG_LOOK)) {
            const bool end = s.step == LEAT_JPEG_BLOCK_END;
            const int add = end ? code->look[x] >> 4 & 15 : addend(x, s.length, s.size);
            one = (single){pack(length, s.step, s.step, 0, add), need, end ? 0 : 1 << length};
            n = 1 << (LEAT_JPEG_LOOK - need);
        }
        for (int i = 0; i < n; i++) out[x + i] = one;
    }
}

/* Ten bits that begin with this code and value: all of them, starting at x. Returns how many. A second code that lies there
 * too adds its length and its step, and its value is behind more bits that are known. */
static int fill_pairs(leat__jpeg_ac_table *table, const single singles[LEAT_JPEG_LOOKS], int x, symbol s) {
    const int length = s.length + s.size;
    if (s.step == LEAT_JPEG_BLOCK_END || length >= LEAT_JPEG_LOOK) {
        const int n = 1 << (LEAT_JPEG_LOOK - s.length);
        for (int i = 0; i < n; i++) table->pair[x + i] = unpack(singles[x + i].entry);
        return n;
    }
    const int left = LEAT_JPEG_LOOK - length, n = 1 << left, bits = x >> left;
    const int value = value_of(bits & ((1 << s.size) - 1), s.size);
    const uint64_t alone = singles[x].entry;
    const uint64_t first = pack(length, s.step, s.step, value, 0) - ((uint64_t)64 << 24);
    for (int i = 0; i < n; i++) {
        const single second = singles[i << length];
        const uint64_t both =
            first + (second.entry & ~(uint64_t)0xff00) - ((uint64_t)(unsigned)(bits * second.weight) << 48);
        table->pair[x + i] = unpack(second.need <= left ? both : alone);
    }
    return n;
}

bool leat__jpeg_ac_build(leat__jpeg_ac_table *table, const uint8_t counts[17], const uint8_t symbols[256]) {
    const int n = n_symbols(counts);
    if (n < 1 || n > 256) return false;
    if (same_code(&table->code, counts, symbols, n)) return true;
    for (int i = 0; i < n; i++)
        if ((symbols[i] & 15) > LEAT_JPEG_AC_SIZE_MAX) return false;
    table->skips = false;
    if (!build_code(&table->code, counts, symbols, n)) return false;
    single singles[LEAT_JPEG_LOOKS];
    fill_single(singles, &table->code);
    for (int x = 0; x < LEAT_JPEG_LOOKS;) {
        const symbol s = symbol_of(table->code.look[x]);
        if (s.length) x += fill_pairs(table, singles, x, s);
        else table->pair[x] = unpack(singles[x].entry), x++;
    }
    return true;
}

/* A symbol and what `rest` says about the bits behind it. Steps never add up to so many that they lead from inside of a block
 * to what looks like its end. */
static inline uint16_t join(uint16_t own, uint16_t rest) {
    enum { MOST = LEAT_JPEG_BLOCK_END - 63 };
    return (own >> 8) + (rest >> 8 & (LEAT_JPEG_BLOCK_END - 1)) > MOST ? own : (uint16_t)(own + rest);
}

/* What n bits say, if no more are known; shorter[1 << m] is the first of the 1 << m that m bits can say. */
static void fill_skip(uint16_t *out, const leat__jpeg_code *code, const uint16_t *shorter, int n) {
    int at = 0, k = 0;
    for (int length = 1; length <= n; length++)
        for (int i = 0; i < code->counts[length]; i++) {
            const symbol s = symbol_of((uint16_t)(length << 8 | code->symbols[k++]));
            const uint16_t own = (uint16_t)((length + s.size) | s.step << 8);
            const int left = n - length - s.size, end = at + (1 << (n - length));
            if (left <= 0 || s.step == LEAT_JPEG_BLOCK_END) {
                for (; at < end; at++) out[at] = own;
                continue;
            }
            const int period = 1 << left; /* whatever the value is, the same follows */
            for (int x = 0; x < period; x++) out[at + x] = join(own, shorter[period + x]);
            for (int x = at + period; x < end; x++) out[x] = out[x - period];
            at = end;
        }
    memset(out + at, 0, (size_t)((1 << n) - at) * sizeof *out);
}

void leat__jpeg_ac_build_skip(leat__jpeg_ac_table *table) {
    uint16_t shorter[1 << LEAT_JPEG_SKIP_LOOK];
    if (table->skips) return;
    for (int n = 1; n < LEAT_JPEG_SKIP_LOOK; n++) fill_skip(shorter + (1 << n), &table->code, shorter, n);
    fill_skip(table->skip, &table->code, shorter, LEAT_JPEG_SKIP_LOOK);
    table->skips = true;
}
