/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly all of a decoder's time is spent in the two loops below, so they are written for the processor: values are taken
 * out of the stream by masks instead of branches, two coefficients for each look into a table, and the reader lives in
 * registers for a run of blocks. What can go wrong is gathered in a flag that is looked at once a run; memory stays safe
 * whatever the bits say, because positions go through a table that has a harmless place for each wrong one. */
#include "decode/jpeg_scan.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { NOWHERE = 64 }; /* the slot behind a block: the next one's first, which is written anew */

#define SLOT(row, column) \
    ((((row)&1) + ((row)&4) / 2) * 16 + (((column)&1) * 4 + (column) / 2) * 2 + ((row) >> 1 & 1))
#define S(n) SLOT((n) / 8, (n) % 8)
/* Zigzag position to slot. The largest position is 62 + 16 + 16 + LEAT_JPEG_BLOCK_END. */
static const uint8_t slots[256] = {
    S(0),  S(1),  S(8),  S(16), S(9),
    S(2),  S(3),  S(10), S(17), S(24),
    S(32), S(25), S(18), S(11), S(4),
    S(5),  S(12), S(19), S(26), S(33),
    S(40), S(48), S(41), S(34), S(27),
    S(20), S(13), S(6),  S(7),  S(14),
    S(21), S(28), S(35), S(42), S(49),
    S(56), S(57), S(50), S(43), S(36),
    S(29), S(22), S(15), S(23), S(30),
    S(37), S(44), S(51), S(58), S(59),
    S(52), S(45), S(38), S(31), S(39),
    S(46), S(53), S(60), S(61), S(54),
    S(47), S(55), S(62), S(63), [64 ... 255] = NOWHERE,
};
#undef S
#undef SLOT

/* ----------------------------------------------------------------------------------------- bit reader */

ALWAYS_INLINE uint64_t load_be64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* At least 56 bits afterwards. Bits behind the counted ones are those that will be loaded there again. */
ALWAYS_INLINE void refill(leat__jpeg_bits *r) {
    r->bits |= load_be64(r->next) >> r->count;
    r->next += (63 - r->count) >> 3;
    r->count |= 56;
}

ALWAYS_INLINE void take(leat__jpeg_bits *r, unsigned n) {
    r->bits <<= n;
    r->count -= n;
}

ALWAYS_INLINE unsigned look(const leat__jpeg_bits *r) {
    return (unsigned)(r->bits >> (64 - LEAT_JPEG_LOOK));
}

/* The last of `length` bits as a value under its mask: numbers whose first bit is 0 are negative. */
ALWAYS_INLINE int masked_value(const leat__jpeg_bits *r, unsigned length, unsigned mask) {
    const unsigned x = (unsigned)(r->bits >> (-length & 63)) & mask;
    const unsigned negative = (unsigned)((int)(2 * x - mask - 1) >> 31);
    return (int)(x - (mask & negative));
}

/* The same for a value of `size` bits that comes next. */
ALWAYS_INLINE int next_value(const leat__jpeg_bits *r, int size) {
    return size ? masked_value(r, (unsigned)size, (1u << size) - 1) : 0;
}

/* A symbol whose code is too long for a look. What is called out of line gets no address of the reader or the flag: they
 * would have to live in memory then. */
static __attribute__((noinline)) unsigned find_long(const leat__jpeg_code *code, uint64_t bits) {
    int length;
    const int symbol = leat__jpeg_code_long(code, (uint32_t)(bits >> 48), &length);
    return (unsigned)(length << 8 | symbol);
}

ALWAYS_INLINE int long_symbol(const leat__jpeg_code *code, leat__jpeg_bits *r, bool *bad) {
    const unsigned found = find_long(code, r->bits);
    *bad |= found >> 8 == 0;
    take(r, found >> 8);
    return (int)(found & 255);
}

/* -------------------------------------------------------------------------------------------- blocks */

ALWAYS_INLINE int read_difference(const leat__jpeg_dc_table *dc, leat__jpeg_bits *r, bool *bad) {
    const uint32_t entry = dc->look[look(r)];
    if (LEAT_UNLIKELY(!entry)) {
        const int size = long_symbol(&dc->code, r, bad), value = next_value(r, size);
        take(r, (unsigned)size);
        return value;
    }
    const int value = masked_value(r, entry & 63, entry >> 16);
    take(r, entry & 63);
    return value;
}

/* Steps return false when the block is complete. */
ALWAYS_INLINE bool finish(size_t *k, size_t at, bool *bad) {
    *bad |= at > 63 && at < LEAT_JPEG_BLOCK_END;
    *k = at % LEAT_JPEG_BLOCK_END;
    return false;
}

ALWAYS_INLINE bool long_step(const leat__jpeg_code *code, leat__jpeg_bits *r, size_t *k, int16_t *block,
                             bool *bad) {
    const int symbol = long_symbol(code, r, bad), size = symbol & 15, run = symbol >> 4;
    if (size == 0 && run != 15) return finish(k, *k + LEAT_JPEG_BLOCK_END, bad);
    const size_t at = *k + (size_t)run + 1;
    if (block) block[slots[at]] = (int16_t)next_value(r, size);
    take(r, (unsigned)size);
    *k = at;
    return at > 62 ? finish(k, at, bad) : true;
}

ALWAYS_INLINE bool read_step(const leat__jpeg_ac_table *ac, leat__jpeg_bits *r, size_t *k, int16_t *block,
                             bool *bad) {
    const uint64_t entry = ac->pair[look(r)];
    if (LEAT_UNLIKELY(!entry)) return long_step(&ac->code, r, k, block, bad);
    const size_t first = *k + (uint8_t)(entry >> 8), second = *k + (uint8_t)(entry >> 16);
    const int value = masked_value(r, (unsigned)entry & 63, (unsigned)(entry >> 48));
    if (LEAT_UNLIKELY(second > 62)) {
        if (first > 62 && first < LEAT_JPEG_BLOCK_END &&
            first != second) { /* the second is of the next block */
            const unsigned code = ac->code.look[look(r)];
            take(r, (code >> 8) + (code & 15));
            block[slots[first]] = (int16_t)(entry >> 32);
            return finish(k, first, bad);
        }
        take(r, (unsigned)entry & 63);
        block[slots[first]] = (int16_t)(entry >> 32);
        block[slots[second]] = (int16_t)value;
        return finish(k, second, bad);
    }
    take(r, (unsigned)entry & 63);
    block[slots[first]] = (int16_t)(entry >> 32);
    block[slots[second]] = (int16_t)value;
    *k = second;
    return true;
}

/* A difference and one step take at most 27 + 26 bits, two steps 52: a refill gives 56. */
ALWAYS_INLINE size_t read_block(const leat__jpeg_unit *unit, leat__jpeg_bits *r, int *prediction,
                                int16_t *block, bool *bad) {
    size_t k = 0;
    refill(r);
    const int dc = *prediction + read_difference(unit->dc, r, bad);
    *prediction = dc;
    block[0] = (int16_t)dc;
    *bad |= dc != (int16_t)dc;
    if (read_step(unit->ac, r, &k, block, bad)) {
        do {
            refill(r);
        } while (read_step(unit->ac, r, &k, block, bad) && read_step(unit->ac, r, &k, block, bad));
    }
    return k;
}

typedef struct skipped {
    leat__jpeg_bits reader;
    bool bad;
} skipped;

/* One symbol after the other, where an entry of several would go past the block's end. */
static __attribute__((noinline)) skipped skip_singly(const leat__jpeg_code *code, leat__jpeg_bits r,
                                                     unsigned k) {
    bool bad = false;
    for (;;) {
        refill(&r);
        const unsigned entry = code->look[look(&r)];
        unsigned symbol = entry & 255;
        if (entry) take(&r, entry >> 8);
        else symbol = (unsigned)long_symbol(code, &r, &bad);
        take(&r, symbol & 15);
        if ((symbol & 15) == 0 && symbol >> 4 != 15) break;
        k += (symbol >> 4) + 1;
        if (k > 62) {
            bad |= k > 63;
            break;
        }
    }
    return (skipped){r, bad};
}

ALWAYS_INLINE bool skip_step(const leat__jpeg_ac_table *ac, leat__jpeg_bits *r, size_t *k, bool *bad) {
    const unsigned entry = ac->skip[look(r)];
    const size_t at = *k + (entry >> 8);
    if (LEAT_UNLIKELY(!entry)) return long_step(&ac->code, r, k, NULL, bad);
    if (LEAT_UNLIKELY(at > 62)) {
        if (at == 63 || (at >= LEAT_JPEG_BLOCK_END && at < LEAT_JPEG_BLOCK_END + 63)) {
            take(r, entry & 63);
            return false;
        }
        const skipped rest = skip_singly(&ac->code, *r, *k);
        *r = rest.reader;
        *bad |= rest.bad;
        return false;
    }
    take(r, entry & 63);
    *k = at;
    return true;
}

ALWAYS_INLINE void skip_block(const leat__jpeg_unit *unit, leat__jpeg_bits *r, int *prediction, bool *bad) {
    size_t k = 0;
    refill(r);
    const int dc = *prediction + read_difference(unit->dc, r, bad);
    *prediction = dc;
    *bad |= dc != (int16_t)dc;
    if (skip_step(unit->ac, r, &k, bad)) {
        do {
            refill(r);
        } while (skip_step(unit->ac, r, &k, bad) && skip_step(unit->ac, r, &k, bad));
    }
}

/* ---------------------------------------------------------------------------------------------- runs */

/* Blocks [from, to), of which block 0 begins an MCU; stops early where the window ends. Returns how far it came. */
static __attribute__((noinline)) int read_run(leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int from,
                                              int to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    bool bad = false;
    int i = from, u = from % scan->n_units;
    for (; i < to && r.next <= limit; i++) {
        const leat__jpeg_unit *unit = &scan->unit[u];
        int *prediction = &scan->prediction[unit->component];
        if (unit->wanted)
            last[i] = (uint8_t)read_block(unit, &r, prediction, blocks + 64 * (ptrdiff_t)i, &bad);
        else skip_block(unit, &r, prediction, &bad);
        if (++u == scan->n_units) u = 0;
    }
    scan->reader = r;
    scan->bad |= bad;
    return i;
}

static __attribute__((noinline)) int64_t skip_run(leat__jpeg_scan *scan, int64_t from, int64_t to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    bool bad = false;
    int64_t i = from;
    int u = (int)(from % scan->n_units);
    for (; i < to && r.next <= limit; i++) {
        const leat__jpeg_unit *unit = &scan->unit[u];
        skip_block(unit, &r, &scan->prediction[unit->component], &bad);
        if (++u == scan->n_units) u = 0;
    }
    scan->reader = r;
    scan->bad |= bad;
    return i;
}

/* ------------------------------------------------------------------------------------------- window */

/* An empty window, to be filled from src on. */
static void begin_window(leat__jpeg_scan *scan) {
    scan->end = scan->window + LEAT_JPEG_HISTORY + 1;
    scan->reader = (leat__jpeg_bits){.next = scan->end};
    scan->limit = scan->end - 1; /* nothing is there yet: the first block asks for more */
    scan->final = false;
    scan->mark = scan->end;
    scan->mark_at = (uint64_t)(scan->src - scan->first);
}

static void begin_segment(leat__jpeg_scan *scan) {
    begin_window(scan);
    memset(scan->prediction, 0, sizeof scan->prediction);
    scan->to_restart = scan->restart_interval;
}

/* The mark to the byte that holds the next bit. Each 0xff in the window has lost a zero. */
static void move_mark(leat__jpeg_scan *scan) {
    const uint8_t *const to = scan->reader.next - (scan->reader.count + 7) / 8;
    size_t stuffed = 0;
    for (const uint8_t *p = scan->mark; p < to; p++) stuffed += *p == 0xff;
    scan->mark_at += (size_t)(to - scan->mark) + stuffed;
    scan->mark = to;
}

/* Keeps what was not read and unstuffs more behind it. False when there is no more, or the file ends without a marker:
 * where libjpeg-turbo notices that is its own affair. */
static bool slide_window(leat__jpeg_scan *scan) {
    if (scan->final) return false;
    if (scan->tracked) move_mark(scan);
    const uint8_t *const from = scan->reader.next - LEAT_JPEG_HISTORY;
    const size_t kept = (size_t)(scan->end - from); /* the reader is at most at the end */
    memmove(scan->window, from, kept);
    scan->reader.next = scan->window + LEAT_JPEG_HISTORY;
    if (scan->tracked) scan->mark = scan->window + (scan->mark - from);
    uint8_t *const at = scan->window + kept;
    uint8_t *const end =
        at + scan->dsp->unstuff(at, LEAT_JPEG_WINDOW - LEAT_JPEG_PAD - kept, &scan->src, scan->src_end);
    scan->end = end;
    if (scan->src_end - scan->src < 2) return false;
    if (scan->src[0] == 0xff && scan->src[1] != 0) {
        scan->final = true;
        memset(end, 0, LEAT_JPEG_BLOCK_BYTES);
        scan->limit = end + 8; /* as far as loading ahead can lead */
    } else {
        scan->limit = end - LEAT_JPEG_BLOCK_BYTES;
    }
    return true;
}

/* Bits of the window that were not used; negative when some were that are not there. */
static int64_t bits_left(const leat__jpeg_scan *scan) {
    return (scan->end - scan->reader.next) * 8 + (int64_t)scan->reader.count;
}

static bool is_good(const leat__jpeg_scan *scan) {
    return !scan->bad && (!scan->final || bits_left(scan) >= 0);
}

/* Between two intervals only padding and the right marker are allowed. */
static bool restart(leat__jpeg_scan *scan) {
    while (!scan->final)
        if (bits_left(scan) >= 8 * LEAT_JPEG_BLOCK_BYTES || !slide_window(scan)) return false;
    if (bits_left(scan) < 0 || bits_left(scan) >= 8) return false;
    if (scan->src[1] != 0xd0 + scan->next_restart) return false;
    scan->next_restart = (scan->next_restart + 1) & 7;
    scan->src += 2;
    begin_segment(scan);
    return true;
}

/* How many of the wanted MCUs come before the next restart, which is made if it is due; 0 if it went wrong. */
static int64_t before_restart(leat__jpeg_scan *scan, int64_t n_mcus) {
    if (scan->restart_interval == 0) return n_mcus;
    if (scan->to_restart == 0 && !restart(scan)) return 0;
    const int64_t n = LEAT_MIN(n_mcus, (int64_t)scan->to_restart);
    scan->to_restart -= (int)n;
    return n;
}

/* To behind the n-th restart marker from here, without a look at what lies between; they must come in their order. */
static bool jump(leat__jpeg_scan *scan, int64_t n) {
    const uint8_t *s = scan->src;
    while (n > 0) {
        s = memchr(s, 0xff, (size_t)(scan->src_end - s));
        if (!s || scan->src_end - s < 2) return false;
        if (s[1] != 0) {
            if (s[1] != 0xd0 + scan->next_restart) return false;
            scan->next_restart = (scan->next_restart + 1) & 7;
            n--;
        }
        s += 2;
    }
    scan->src = s;
    begin_segment(scan);
    return true;
}

/* ------------------------------------------------------------------------------------------- spots */

bool leat__jpeg_scan_spot(leat__jpeg_scan *scan, leat__jpeg_spot *out) {
    move_mark(scan);
    if (scan->mark_at > UINT32_MAX / 8) return false;
    *out = (leat__jpeg_spot){.bit = (uint32_t)scan->mark_at * 8 + (-scan->reader.count & 7)};
    for (int i = 0; i < 3; i++) out->prediction[i] = (int16_t)scan->prediction[i];
    return true;
}

/* The byte that is n bytes of the file behind the mark, if it lies in the window with enough behind it to load bits. */
static const uint8_t *in_window(const leat__jpeg_scan *scan, uint64_t n) {
    const uint8_t *p = scan->mark, *const end = scan->final ? scan->end : scan->end - LEAT_JPEG_BLOCK_BYTES;
    while (p < end && n > 0) {
        const size_t look = (size_t)LEAT_MIN(n, (uint64_t)(end - p));
        const uint8_t *stuffed = memchr(p, 0xff, look);
        if (!stuffed) {
            p += look;
            n -= look;
        } else if (n < (uint64_t)(stuffed - p) + 2) {
            return NULL; /* no MCU begins with a stuffed zero */
        } else {
            n -= (uint64_t)(stuffed - p) + 2;
            p = stuffed + 1;
        }
    }
    return p < end ? p : NULL;
}

bool leat__jpeg_scan_go(leat__jpeg_scan *scan, const leat__jpeg_spot *spot) {
    const uint64_t at = spot->bit / 8;
    move_mark(scan);
    if (at < scan->mark_at || at >= (uint64_t)(scan->src_end - scan->first)) return false;
    const uint8_t *p = in_window(scan, at - scan->mark_at);
    if (!p) {
        scan->src = scan->first + at;
        begin_window(scan);
        if (!slide_window(scan)) return false;
        p = scan->reader.next;
    }
    scan->mark = p;
    scan->mark_at = at;
    scan->reader = (leat__jpeg_bits){.next = p};
    if (spot->bit & 7) {
        refill(&scan->reader);
        take(&scan->reader, spot->bit & 7);
    }
    for (int i = 0; i < 3; i++) scan->prediction[i] = spot->prediction[i];
    return true;
}

/* -------------------------------------------------------------------------------------------- doors */

void leat__jpeg_scan_begin(leat__jpeg_scan *scan, const uint8_t *src, const uint8_t *end) {
    scan->src = scan->first = src;
    scan->src_end = end;
    scan->next_restart = 0;
    scan->bad = false;
    begin_segment(scan);
}

bool leat__jpeg_scan_read(leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int n_mcus) {
    while (n_mcus > 0) {
        const int n = (int)before_restart(scan, n_mcus), n_blocks = n * scan->n_units;
        if (n == 0) return false;
        for (int i = 0; (i = read_run(scan, blocks, last, i, n_blocks)) < n_blocks;)
            if (!is_good(scan) || !slide_window(scan)) return false;
        if (!is_good(scan)) return false;
        blocks += 64 * (ptrdiff_t)n_blocks;
        last += n_blocks;
        n_mcus -= n;
    }
    return true;
}

bool leat__jpeg_scan_skip(leat__jpeg_scan *scan, int64_t n_mcus) {
    if (scan->restart_interval > 0 && n_mcus > 0 && n_mcus >= scan->to_restart) {
        const int64_t n_whole = (n_mcus - scan->to_restart) / scan->restart_interval;
        n_mcus -= scan->to_restart + n_whole * scan->restart_interval;
        if (!jump(scan, 1 + n_whole)) return false;
    }
    while (n_mcus > 0) {
        const int64_t n = before_restart(scan, n_mcus), n_blocks = n * scan->n_units;
        if (n == 0) return false;
        for (int64_t i = 0; (i = skip_run(scan, i, n_blocks)) < n_blocks;)
            if (!is_good(scan) || !slide_window(scan)) return false;
        if (!is_good(scan)) return false;
        n_mcus -= n;
    }
    return true;
}

bool leat__jpeg_scan_ends(const leat__jpeg_scan *scan) {
    const uint8_t *s = scan->src;
    while ((s = memchr(s, 0xff, (size_t)(scan->src_end - s)))) {
        while (s < scan->src_end && *s == 0xff) s++; /* fill bytes */
        if (s == scan->src_end) return false;
        if (*s != 0) return *s == 0xd9;
        s++;
    }
    return false;
}
