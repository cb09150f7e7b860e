/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly all of a decoder's time is spent in the two loops below, so they are written for the processor: values are made by
 * an addition and never by a branch, a look into a table gives two coefficients, and the reader lives in registers for a run of
 * blocks. What can go wrong is gathered in a flag that is looked at once a run; memory stays safe whatever the bits say, because
 * positions go through a table that has a harmless place for each wrong one.
 *
 * They are plain C and stand in a header because they are compiled twice: as they are, and for processors that shift by
 * any register. */
#ifndef LEAT_DECODE_JPEG_JPEG_BLOCKS_H
#define LEAT_DECODE_JPEG_JPEG_BLOCKS_H

#include "decode/jpeg/jpeg_scan.h"

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

ALWAYS_INLINE uint64_t load_le64(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* At least 56 bits afterwards. Bits behind the counted ones are those that will be loaded there again. */
ALWAYS_INLINE void refill(leat__jpeg_bits *r) {
    r->bits |= leat__load_be64(r->next) >> (r->count & 63);
    r->next += ~r->count >> 3 & 7;
    r->count |= 56;
}

ALWAYS_INLINE void take(leat__jpeg_bits *r, unsigned n) {
    r->bits <<= n & 63;
    r->count -= n;
}

/* As many as the lowest byte of an entry says. This shift is the chain that a block's time hangs on: it waits for nothing but
 * the entry, and the compiler puts it in front of everything else that does. The entry's other bytes only come to stand
 * above the lowest six bits of the count. */
ALWAYS_INLINE void take_entry(leat__jpeg_bits *r, uint64_t entry) {
    r->bits <<= entry & 63;
    __asm__ volatile("" : "+r"(r->bits));
    r->count -= (unsigned)entry;
}

ALWAYS_INLINE unsigned look(const leat__jpeg_bits *r) {
    return (unsigned)(r->bits >> (64 - LEAT_JPEG_LOOK));
}

/* The same before a refill, which then happens while the processor waits for the entry. */
ALWAYS_INLINE unsigned look_and_refill(leat__jpeg_bits *r, bool fill) {
    const unsigned at = look(r);
    if (fill) refill(r);
    return at;
}

/* The value of `size` bits that comes next: numbers whose first bit is 0 are negative. */
ALWAYS_INLINE int next_value(const leat__jpeg_bits *r, int size) {
    if (size == 0) return 0;
    const int x = (int)(r->bits >> (64 - size)), mask = (1 << size) - 1;
    return x > mask / 2 ? x : x - mask;
}

/* A reader at the end of a run, with nothing above its count. */
ALWAYS_INLINE leat__jpeg_bits whole(leat__jpeg_bits r) {
    r.count &= 63;
    return r;
}

/* A symbol whose code, or the sign behind it, is too long for a look. What is called out of line gets no address of the
 * reader or the flag: they would have to live in memory then. */
static __attribute__((noinline)) unsigned find_long(const leat__jpeg_code *code, uint64_t bits) {
    const unsigned found = code->look[bits >> (64 - LEAT_JPEG_LOOK)]; /* its value begins behind the look */
    if (found) return found;
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

/* Ten bits must be there; 36 are afterwards. */
ALWAYS_INLINE int read_difference(const leat__jpeg_dc_table *dc, leat__jpeg_bits *r, bool *bad) {
    const leat__jpeg_dc_entry *entry = &dc->look[look_and_refill(r, true)];
    if (LEAT_UNLIKELY(!entry->length)) {
        const int size = long_symbol(&dc->code, r, bad), value = next_value(r, size);
        take(r, (unsigned)size);
        refill(r);
        return value;
    }
    const uint64_t bits = r->bits;
    take(r, entry->length);
    return (int16_t)((bits >> (entry->rest & 63)) + entry->add);
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
    refill(r);
    *k = at;
    return at > 62 ? finish(k, at, bad) : true;
}

ALWAYS_INLINE int16_t second_value(const leat__jpeg_pair *entry, uint64_t bits) {
    return (int16_t)((bits >> (entry->rest & 63)) + entry->add);
}

/* Everything is done before the one question whether the block ends, and taken back in the rare case that the entry goes
 * past its end: nothing that only the end needs is computed on the way. */
ALWAYS_INLINE bool read_step(const leat__jpeg_ac_table *ac, leat__jpeg_bits *r, size_t *k, int16_t *block,
                             bool fill, bool *bad) {
    const leat__jpeg_pair *entry = &ac->pair[look_and_refill(r, fill)];
    const uint64_t word = load_le64(entry), bits = r->bits;
    take_entry(r, word);
    const uint8_t *const from = slots + *k, *const second = from + entry->second;
    const int16_t value = second_value(entry, bits);
    block[from[(uint8_t)(word >> 8)]] = entry->value;
    block[*second] = value;
    if (LEAT_LIKELY(second <= slots + 62)) {
        *k = (size_t)(second - slots);
        return true;
    }
    if (LEAT_UNLIKELY(!entry->length)) return long_step(&ac->code, r, k, block, bad);
    const size_t first = *k + entry->first;
    if (LEAT_UNLIKELY(first > 62 && first < LEAT_JPEG_BLOCK_END && entry->first != entry->second)) {
        r->bits = bits; /* the second one is of the next block, and its value went nowhere */
        r->count += entry->length;
        const unsigned code = ac->code.look[look(r)];
        take(r, (code >> 8) + (code & 15));
        return finish(k, first, bad);
    }
    return finish(k, (size_t)(second - slots), bad);
}

/* A refill gives 56 bits. A step takes at most a look and ten bits of a value: 20 here, 22 where blocks are skipped. After two
 * steps at least 12 are left, which is enough for the next look, so every second step refills behind its look. */
ALWAYS_INLINE size_t read_block(const leat__jpeg_unit *unit, leat__jpeg_bits *r, int *prediction,
                                int16_t *block, bool *bad) {
    size_t k = 0;
    const int dc = *prediction + read_difference(unit->dc, r, bad);
    *prediction = dc;
    block[0] = (int16_t)dc;
    *bad |= dc != (int16_t)dc;
    while (read_step(unit->ac, r, &k, block, false, bad) && read_step(unit->ac, r, &k, block, true, bad))
        continue;
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

ALWAYS_INLINE bool skip_step(const leat__jpeg_ac_table *ac, leat__jpeg_bits *r, size_t *k, bool fill,
                             bool *bad) {
    const uint64_t x = r->bits >> (64 - LEAT_JPEG_SKIP_LOOK);
    if (fill) refill(r);
    const unsigned entry = ac->skip[x];
    const size_t at = *k + (entry >> 8);
    if (LEAT_UNLIKELY(!entry)) return long_step(&ac->code, r, k, NULL, bad);
    if (LEAT_UNLIKELY(at > 62)) {
        if (at == 63 || (at >= LEAT_JPEG_BLOCK_END && at < LEAT_JPEG_BLOCK_END + 63)) {
            take_entry(r, entry);
            return false;
        }
        const skipped rest = skip_singly(&ac->code, *r, *k);
        *r = rest.reader;
        *bad |= rest.bad;
        return false;
    }
    take_entry(r, entry);
    *k = at;
    return true;
}

ALWAYS_INLINE void skip_block(const leat__jpeg_unit *unit, leat__jpeg_bits *r, int *prediction, bool *bad) {
    size_t k = 0;
    const int dc = *prediction + read_difference(unit->dc, r, bad);
    *prediction = dc;
    *bad |= dc != (int16_t)dc;
    while (skip_step(unit->ac, r, &k, false, bad) && skip_step(unit->ac, r, &k, true, bad)) continue;
}

/* ---------------------------------------------------------------------------------------------- runs */

ALWAYS_INLINE int read_run(leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int from, int to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    bool bad = false;
    int i = from, u = from % scan->n_units;
    if (r.next <= limit) refill(&r);
    for (; i < to && r.next <= limit; i++) {
        const leat__jpeg_unit *unit = &scan->unit[u];
        int *prediction = &scan->prediction[unit->component];
        if (unit->wanted)
            last[i] = (uint8_t)read_block(unit, &r, prediction, blocks + 64 * (ptrdiff_t)i, &bad);
        else {
            skip_block(unit, &r, prediction, &bad);
            blocks[64 * (ptrdiff_t)i] = (int16_t)*prediction;
        }
        if (++u == scan->n_units) u = 0;
    }
    scan->reader = whole(r);
    scan->bad |= bad;
    return i;
}

typedef struct cursor { /* a run of blocks, whose steps take turns with those of another run */
    leat__jpeg_bits reader;
    const leat__jpeg_ac_table *ac;
    size_t k;
    int16_t *block;
    uint8_t *last;
    int *prediction;
    int unit, left;
} cursor;

ALWAYS_INLINE void begin_block(cursor *of, const leat__jpeg_scan *scan, bool *bad) {
    const leat__jpeg_unit *unit = &scan->unit[of->unit];
    int *prediction = &of->prediction[unit->component];
    const int dc = *prediction + read_difference(unit->dc, &of->reader, bad);
    *prediction = dc;
    of->block[0] = (int16_t)dc;
    *bad |= dc != (int16_t)dc;
    of->ac = unit->ac;
    of->k = 0;
    if (++of->unit == scan->n_units) of->unit = 0;
}

/* False when the run is complete, or the window ended. */
ALWAYS_INLINE bool run_step(cursor *of, const leat__jpeg_scan *scan, bool fill, bool *bad) {
    if (LEAT_LIKELY(read_step(of->ac, &of->reader, &of->k, of->block, fill, bad))) return true;
    *of->last++ = (uint8_t)of->k;
    of->block += 64;
    if (--of->left == 0 || of->reader.next > scan->limit) return false;
    begin_block(of, scan, bad);
    return true;
}

ALWAYS_INLINE bool finish_run(cursor *of, const leat__jpeg_scan *scan, bool *bad) {
    while (run_step(of, scan, true, bad)) continue;
    return of->left == 0;
}

/* A step waits for the one before it, and the two readers do not wait for each other. */
ALWAYS_INLINE bool read_two_runs(leat__jpeg_scan *scan, int16_t *const blocks[2], uint8_t *const last[2],
                                 int n) {
    bool bad = false, on;
    cursor a = {.reader = scan->reader,
                .block = blocks[0],
                .last = last[0],
                .prediction = scan->prediction,
                .left = n};
    cursor b = {.reader = scan->second,
                .block = blocks[1],
                .last = last[1],
                .prediction = scan->second_prediction,
                .left = n};
    if (n == 0 || a.reader.next > scan->limit || b.reader.next > scan->limit) return n == 0;
    refill(&a.reader);
    refill(&b.reader);
    begin_block(&a, scan, &bad);
    begin_block(&b, scan, &bad);
    while ((on = run_step(&a, scan, false, &bad)) && run_step(&b, scan, false, &bad) &&
           (on = run_step(&a, scan, true, &bad)) && run_step(&b, scan, true, &bad))
        continue;
    const bool done =
        on ? b.left == 0 && finish_run(&a, scan, &bad) : a.left == 0 && finish_run(&b, scan, &bad);
    scan->reader = whole(a.reader);
    scan->second = whole(b.reader);
    scan->bad |= bad;
    return done;
}

ALWAYS_INLINE int64_t skip_run(leat__jpeg_scan *scan, int64_t from, int64_t to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    bool bad = false;
    int64_t i = from;
    int u = (int)(from % scan->n_units);
    if (r.next <= limit) refill(&r);
    for (; i < to && r.next <= limit; i++) {
        const leat__jpeg_unit *unit = &scan->unit[u];
        skip_block(unit, &r, &scan->prediction[unit->component], &bad);
        if (++u == scan->n_units) u = 0;
    }
    scan->reader = whole(r);
    scan->bad |= bad;
    return i;
}

#endif
