/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over the blocks of a progressive scan, written and compiled as those of jpeg_blocks.h.
 *
 * Beside its coefficients every block has a set: which of them are not zero, the one at zigzag position k as bit 63 - k. A
 * scan that refines has a bit for each coefficient of the set that it passes, and its runs count the others. With the
 * set, that is arithmetic on one register: the next place is found, the bits for all coefficients up to there are taken at
 * once, and only those coefficients are touched whose bit is 1. */
#ifndef LEAT_DECODE_JPEG_JPEG_PASSES_H
#define LEAT_DECODE_JPEG_JPEG_PASSES_H

#include "decode/jpeg/jpeg_blocks.h"

#define TOP ((uint64_t)1 << 63)

/* ------------------------------------------------------------------------------------------------ DC */

/* All bits of an MCU, 6 x 27 of them at most, are fewer than a block's. */
ALWAYS_INLINE int dc_first_run(leat__jpeg_scan *scan, const leat__jpeg_strip *strip, int from, int to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    bool bad = false;
    int i = from;
    if (r.next <= limit) refill(&r);
    for (; i < to && r.next <= limit; i++)
        for (int u = 0; u < scan->n_units; u++) {
            const leat__jpeg_unit *unit = &scan->unit[u];
            int16_t *block = strip->blocks[u] + i * strip->step[u];
            const int dc = scan->prediction[unit->component] + read_difference(unit->dc, &r, &bad);
            const int value = (int)((unsigned)dc << strip->low);
            scan->prediction[unit->component] = dc;
            bad |= dc != (int16_t)dc || value != (int16_t)value;
            memset(block, 0, 64 * sizeof *block);
            block[0] = (int16_t)value;
        }
    scan->reader = r;
    scan->bad |= bad;
    return i;
}

ALWAYS_INLINE int dc_refine_run(leat__jpeg_scan *scan, const leat__jpeg_strip *strip, int from, int to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    int i = from;
    for (; i < to && r.next <= limit; i++) {
        refill(&r);
        for (int u = 0; u < scan->n_units; u++) {
            strip->blocks[u][i * strip->step[u]] |= (int16_t)((unsigned)(r.bits >> 63) << strip->low);
            take(&r, 1);
        }
    }
    scan->reader = r;
    return i;
}

/* ------------------------------------------------------------------------------------------ AC, first */

typedef struct band { /* of a block, while it is read                                    */
    const leat__jpeg_strip *strip;
    int16_t *block;
    uint64_t set;
    size_t k;     /* the position that was read last                                      */
    unsigned end; /* the code for the end of the block says: so many bits of a run, and 1 */
    bool bad;
} band;

/* So many blocks end here, from this one on: a number of `n` bits, and 2^n. */
ALWAYS_INLINE unsigned read_end_run(leat__jpeg_bits *r, unsigned n) {
    refill(r);
    const unsigned more = n ? (unsigned)(r->bits >> (64 - n)) : 0;
    take(r, n);
    return (1u << n) + more;
}

ALWAYS_INLINE void put_value(band *b, size_t at, int value) {
    b->block[b->strip->slots[at]] = (int16_t)(value * (1 << b->strip->low));
    b->set |= (uint64_t)(value != 0) << 63 >> (at & 63);
}

/* Steps return false when the band is complete. */
ALWAYS_INLINE bool band_end(band *b, size_t at) {
    b->bad |= at > (size_t)b->strip->last;
    return false;
}

ALWAYS_INLINE bool long_band_step(band *b, leat__jpeg_bits *r) {
    const int symbol = long_symbol(&b->strip->ac->code, r, &b->bad), size = symbol & 15, run = symbol >> 4;
    if (size == 0 && run != 15) {
        b->end = (unsigned)run + 1;
        return false;
    }
    b->k += (size_t)run + 1;
    put_value(b, b->k, next_value(r, size));
    take(r, (unsigned)size);
    return b->k < (size_t)b->strip->last ? true : band_end(b, b->k);
}

/* As read_step of jpeg_blocks.h. */
ALWAYS_INLINE bool band_step(band *b, leat__jpeg_bits *r) {
    const leat__jpeg_ac_table *ac = b->strip->ac;
    const leat__jpeg_pair *entry = &ac->pair[look(r)];
    const uint64_t bits = r->bits, set = b->set;
    if (LEAT_UNLIKELY(!entry->length)) return long_band_step(b, r);
    const size_t first = b->k + entry->first, second = b->k + entry->second;
    take(r, entry->length);
    put_value(b, first, entry->value);
    const uint64_t with_first = b->set;
    put_value(b, second, second_value(entry, bits));
    b->k = second;
    if (LEAT_LIKELY(second < (size_t)b->strip->last)) return true;
    if (LEAT_UNLIKELY(first >= (size_t)b->strip->last && first < LEAT_JPEG_BLOCK_END && second > first)) {
        r->bits = bits; /* the second one is of the next block, and its value went nowhere */
        r->count += entry->length;
        const unsigned code = ac->code.look[look(r)];
        take(r, (code >> 8) + (code & 15));
        b->set = set;
        put_value(b, first, entry->value);
        return band_end(b, first);
    }
    if (second < LEAT_JPEG_BLOCK_END) return band_end(b, second);
    b->set = with_first;
    b->end = entry->add + 1u;
    return false;
}

/* Returns how many blocks after this one are empty. The place behind a block is the first of the next one, which may be
 * written on the way. */
ALWAYS_INLINE unsigned read_band(const leat__jpeg_strip *strip, leat__jpeg_bits *r, int16_t *block,
                                 uint64_t *set, bool *bad) {
    const int16_t behind = block[NOWHERE];
    band b = {.strip = strip, .block = block, .set = *set, .k = (size_t)strip->first - 1};
    do {
        refill(r);
    } while (band_step(&b, r) && band_step(&b, r));
    block[NOWHERE] = behind;
    *set = b.set;
    *bad |= b.bad;
    return b.end ? read_end_run(r, b.end - 1) - 1 : 0;
}

ALWAYS_INLINE int ac_first_run(leat__jpeg_scan *scan, const leat__jpeg_strip *strip, int from, int to) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    unsigned empty = scan->empty;
    bool bad = false;
    int i = from;
    while (i < to) {
        if (empty) {
            const unsigned n = LEAT_MIN(empty, (unsigned)(to - i));
            empty -= n;
            i += (int)n;
            continue;
        }
        if (r.next > limit) break;
        empty = read_band(strip, &r, strip->blocks[0] + 64 * (ptrdiff_t)i, strip->sets + i, &bad);
        i++;
    }
    scan->reader = r;
    scan->empty = empty;
    scan->bad |= bad;
    return i;
}

/* ----------------------------------------------------------------------------------------- AC, refine */

/* A bit for each of these coefficients. Returns those whose bit is 1. */
ALWAYS_INLINE uint64_t take_singly(leat__jpeg_bits *r, uint64_t these) {
    uint64_t more = 0;
    while (these) {
        const int k = __builtin_clzll(these);
        if (LEAT_UNLIKELY(r->count == 0)) refill(r);
        more |= (r->bits & TOP) >> k;
        take(r, 1);
        these &= ~(TOP >> k);
    }
    return more;
}

/* From the first place of `left` past `run` zeros, and past what is set between them, which has its bits here. Returns the
 * place where that ends, 0 if it is not there. */
ALWAYS_INLINE uint64_t pass_singly(leat__jpeg_bits *r, uint64_t left, uint64_t set, unsigned run,
                                   uint64_t *more) {
    unsigned at = (unsigned)__builtin_clzll(left) + run;
    for (uint64_t these = left & set; these; at++) {
        const unsigned k = (unsigned)__builtin_clzll(these);
        if (k > at) break;
        if (LEAT_UNLIKELY(r->count == 0)) refill(r);
        *more |= (r->bits & TOP) >> k;
        take(r, 1);
        these &= ~(TOP >> k);
    }
    return at < 64 ? TOP >> at & left : 0;
}

/* The same two for processors that spread the bits of a number to the places of a mask. */
#ifdef LEAT_JPEG_DEPOSIT
typedef struct taken {
    leat__jpeg_bits reader;
    uint64_t more;
} taken;

static __attribute__((noinline)) taken take_many(leat__jpeg_bits r, uint64_t these) {
    const uint64_t more = take_singly(&r, these);
    return (taken){r, more};
}

/* 39 bits are there, after the longest code and a sign. */
ALWAYS_INLINE uint64_t take_at_once(leat__jpeg_bits *r, uint64_t these) {
    const unsigned n = (unsigned)__builtin_popcountll(these);
    if (LEAT_UNLIKELY(n > 39)) {
        const taken many = take_many(*r, these);
        *r = many.reader;
        return many.more;
    }
    const uint64_t more = LEAT_JPEG_DEPOSIT(r->bits >> 1 >> (63 - n), these);
    take(r, n);
    return more;
}

ALWAYS_INLINE uint64_t pass_at_once(leat__jpeg_bits *r, uint64_t left, uint64_t set, unsigned run,
                                    uint64_t *more) {
    const uint64_t zeros = left & ~set;
    const unsigned n = (unsigned)__builtin_popcountll(zeros);
    const uint64_t at = LEAT_JPEG_DEPOSIT((uint64_t)(run < n) << ((n - 1 - run) & 63), zeros);
    *more |= take_at_once(r, left & set & -at << 1);
    return at;
}
#else
#define take_at_once take_singly
#define pass_at_once pass_singly
#endif

/* One bit more for each of these coefficients, away from zero. */
ALWAYS_INLINE void enlarge(int16_t *block, uint64_t these, int one) {
    while (these) {
        const int k = __builtin_clzll(these);
        int16_t *c = block + slots[k];
        *c = (int16_t)(*c + (*c < 0 ? -one : one));
        these &= ~(TOP >> k);
    }
}

/* `empty` is how many blocks, from this one on, get no new coefficients. Returns how many of them come after it. */
ALWAYS_INLINE unsigned refine_block(const leat__jpeg_strip *strip, leat__jpeg_bits *r, int16_t *block,
                                    uint64_t *set, unsigned empty, bool *bad, bool at_once) {
    const int one = 1 << strip->low;
    const uint64_t before = *set;
    uint64_t left = strip->band, more = 0, fresh = 0;
    while (!empty) {
        refill(r);
        unsigned code = strip->code->look[look(r)];
        if (LEAT_UNLIKELY(!code)) {
            code = find_long(strip->code, r->bits);
            *bad |= code >> 8 == 0;
        }
        take(r, code >> 8);
        const unsigned run = code >> 4 & 15, size = code & 15;
        if (size == 0 && run != 15) {
            empty = read_end_run(r, run);
            break;
        }
        const int value = r->bits >> 63 ? one : -one;
        take(r, size);
        const uint64_t at = (at_once ? pass_at_once : pass_singly)(r, left, before, run, &more);
        if (size) {
            block[slots[__builtin_clzll(at | 1)]] =
                (int16_t)value; /* any place, if there is none: that is bad */
            fresh |= at;
        }
        left &= at - (at != 0);
        if (!left) {
            *bad |= !at;
            break;
        }
    }
    if (empty) {
        refill(r);
        more |= (at_once ? take_at_once : take_singly)(r, left & before);
        empty--;
    }
    enlarge(block, more, one);
    *set = before | fresh;
    return empty;
}

ALWAYS_INLINE int ac_refine_run(leat__jpeg_scan *scan, const leat__jpeg_strip *strip, int from, int to,
                                bool at_once) {
    leat__jpeg_bits r = scan->reader;
    const uint8_t *const limit = scan->limit;
    unsigned empty = scan->empty;
    bool bad = false;
    int i = from;
    for (; i < to && r.next <= limit; i++) {
        int16_t *block = strip->blocks[0] + 64 * (ptrdiff_t)i;
        if (empty && !(strip->sets[i] & strip->band)) empty--;
        else empty = refine_block(strip, &r, block, strip->sets + i, empty, &bad, at_once);
    }
    scan->reader = r;
    scan->empty = empty;
    scan->bad |= bad;
    return i;
}

#endif
