/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* The decoder of bare deflate streams against zlib's: the same bytes, the same verdict, however input and output are cut. */
#include "base/macros.h"
#include "format/deflate_read.h"
#include "unit/testing_stride.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

enum { PLAIN = 200000, PACKED = 2 * PLAIN, OUT = 1 << 20 };

static uint8_t plain[PLAIN], packed[PACKED], want[OUT], got[OUT];
static leat__deflate_state z;

static uint32_t seed;
static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

/* Kinds of data: bytes of few values, of all values, runs, repetitions far back, near, bytes of all values of which some come
 * more often, all of these in turn. */
enum { KINDS = 7 };
static void make_plain(int kind, size_t n) {
    for (size_t i = 0; i < n;) {
        const int now = kind == KINDS - 1 ? (int)(i / 5000 % (KINDS - 1)) : kind;
        const size_t far = i ? 1 + draw((uint32_t)LEAT_MIN(i, (size_t)32768)) : 0;
        size_t run = now == 2 ? 1 + draw(600) : now == 3 ? 3 + draw(40) : 1;
        const uint32_t any = draw(256), often = now == 5 ? (any + draw(256)) / 2 : any;
        const uint8_t value = (uint8_t)(now == 0 ? 'a' + any / 16 : often);
        const size_t near = 1 + draw(20);
        for (; run > 0 && i < n; run--, i++) {
            if (now == 3 && far && far <= i) plain[i] = plain[i - far];
            else if (now == 4 && near <= i && draw(16)) plain[i] = plain[i - near];
            else plain[i] = value;
        }
    }
}

static size_t pack(size_t n, int level, int strategy, int memory) {
    z_stream d = {0};
    assert_int_equal(deflateInit2(&d, level, Z_DEFLATED, -15, memory, strategy), Z_OK);
    d.next_in = plain, d.avail_in = (uInt)n, d.next_out = packed, d.avail_out = sizeof packed;
    assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
    deflateEnd(&d);
    return d.total_out;
}

typedef struct verdict {
    int rc; /* 1: the end was reached; 0: input or room is missing; -1: damaged */
    size_t in, out;
    const char *why;
} verdict;

static verdict by_zlib(const uint8_t *in, size_t n, size_t room) {
    z_stream d = {0};
    assert_int_equal(inflateInit2(&d, -15), Z_OK);
    d.next_in = (Bytef *)(uintptr_t)in, d.avail_in = (uInt)n, d.next_out = want, d.avail_out = (uInt)room;
    const int rc = inflate(&d, Z_FINISH);
    const verdict v = {rc == Z_STREAM_END ? 1 : rc == Z_DATA_ERROR ? -1 : 0, d.total_in, d.total_out, d.msg};
    inflateEnd(&d);
    return v;
}

/* Input in pieces of in_step, each in memory of its size; output in steps of out_step. keep: how many of the last bytes are
 * told as `before`, as if they lay elsewhere; 0 = all are at base. */
static verdict by_leat(const uint8_t *in, size_t n, size_t room, size_t in_step, size_t out_step,
                       bool apart) {
    static uint8_t before[LEAT_DEFLATE_WINDOW];
    verdict v = {0};
    leat__deflate_io io = {.base = got, .out = got, .out_end = got};
    leat__deflate_begin(&z);
    for (;;) {
        const size_t give = LEAT_MIN(in_step, n - v.in);
        uint8_t *const piece = malloc(give ? give : 1);
        if (give) memcpy(piece, in + v.in, give);
        io.in = piece, io.in_end = piece + give;
        const size_t left = room - (size_t)(io.out - got);
        io.out_end = io.out + LEAT_MIN(out_step, left);
        if (apart) {
            const size_t made = (size_t)(io.out - got);
            io.before_n = LEAT_MIN(made, sizeof before);
            memcpy(before, io.out - io.before_n, io.before_n);
            io.before = before;
            io.base = io.out;
        }
        const uint8_t *const from = io.out;
        v.rc = leat__deflate_read(&z, &io, &v.why);
        assert_true(io.in >= piece && io.in <= io.in_end && io.out >= from && io.out <= io.out_end);
        if (v.rc == 0) assert_true(io.in == io.in_end || io.out == io.out_end);
        const size_t used = (size_t)(io.in - piece);
        v.in += used;
        v.out = (size_t)(io.out - got);
        free(piece);
        if (v.rc != 0) break;
        if (v.in == n && io.out < io.out_end) break;
        if (v.out == room && used == 0) break;
    }
    v.rc = v.rc < 0 ? -1 : v.rc;
    return v;
}

static void same(const uint8_t *in, size_t n, size_t room, size_t in_step, size_t out_step, bool apart) {
    const verdict a = by_zlib(in, n, room), b = by_leat(in, n, room, in_step, out_step, apart);
    if (a.rc != b.rc || a.out != b.out || (a.rc == 1 && a.in != b.in) || memcmp(want, got, a.out) != 0)
        fail_msg("%zu bytes in steps of %zu and %zu%s: zlib says %d after %zu of %zu (%s), leat %d after %zu "
                 "of %zu (%s)",
                 n, in_step, out_step, apart ? ", apart" : "", a.rc, a.out, a.in, a.why ? a.why : "", b.rc,
                 b.out, b.in, b.why ? b.why : "");
    if (a.rc < 0) assert_string_equal(a.why, b.why);
}

static void all_kinds(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        seed = 1 + (uint32_t)kind;
        make_plain(kind, PLAIN);
        for (int level = 0; level <= 9; level++)
            for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
                const size_t n = pack(level % 3 ? PLAIN : 70000, level, strategy, 1 + level % 9);
                same(packed, n, OUT, n, OUT, false);
                same(packed, n, OUT, 4096, 5000, true);
                same(packed, n, OUT, 100, 333, level % 2);
            }
    }
}

/* Small streams, cut at every byte of the input, and with room for any part of the output. */
static void every_cut(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int level = 0; level <= 9; level += 3) {
            seed = 7;
            make_plain(kind, 600);
            const size_t n = pack(600, level, level == 3 ? Z_FIXED : Z_DEFAULT_STRATEGY, 8);
            for (size_t step = 1; step <= n; step++) same(packed, n, OUT, step, OUT, false);
            for (size_t step = 1; step <= 400; step++) same(packed, n, OUT, 1 + step % 40, step, step % 2);
            for (size_t room = 0; room <= 600; room++) same(packed, n, room, n, OUT, false);
            for (size_t end = 0; end < n; end++) same(packed, end, OUT, end + 1, OUT, false);
        }
}

/* What follows the stream is not read. */
static void bytes_behind(void **state) {
    (void)state;
    for (int level = 0; level <= 9; level++) {
        seed = 9;
        make_plain(5, 40000);
        const size_t n = pack(40000, level, Z_DEFAULT_STRATEGY, 8);
        memset(packed + n, 0xa5, 100);
        for (size_t behind = 0; behind < 40; behind++)
            same(packed, n + behind, OUT, n + behind - 20, OUT, false);
        same(packed, n + 100, 40000, n + 100, OUT, false);
        same(packed, n + 100, OUT, 1, OUT, false);
    }
}

static void damaged(void **state) {
    (void)state;
    for (int round = 0; round < 6000 / STRIDE; round++) {
        const int kind = round % KINDS, level = round / KINDS % 10;
        if (round % 300 < 60) {
            seed = 100 + (uint32_t)round;
            make_plain(kind, 3000);
        }
        const size_t n = pack(round % 8 ? 1000 : 3000, level, round % 5 ? Z_DEFAULT_STRATEGY : Z_FIXED, 8);
        seed = 1000 + (uint32_t)round;
        /* Half of the damage is where the tables are. */
        for (uint32_t times = 1 + draw(3); times > 0; times--)
            packed[draw(draw(2) ? (uint32_t)n : (uint32_t)LEAT_MIN(n, (size_t)80))] ^=
                (uint8_t)(1u << draw(8));
        same(packed, n, 20000, n, OUT, false);
        same(packed, n, 20000, 1 + draw(50), 1 + draw(500), round % 2);
    }
}

static struct {
    uint8_t *to;
    unsigned bits;
} writer;

static void put(unsigned value, unsigned n) {
    for (unsigned i = 0; i < n; i++, writer.bits++) {
        if (writer.bits % 8 == 0) writer.to[writer.bits / 8] = 0;
        writer.to[writer.bits / 8] |= (uint8_t)((value >> i & 1) << writer.bits % 8);
    }
}

/* The code of one code length, where lengths 0 to 12 have codes of 4 bits and the others of 5: all codes are used. */
static void put_length(unsigned length) {
    const unsigned bits = length < 13 ? 4 : 5, value = length < 13 ? length : 26 + (length - 13);
    for (unsigned i = bits; i-- > 0;) put(value >> i & 1, 1);
}

/* Lengths of n codes: all codes used, then often one more, one less, or another one. */
static void make_lengths(uint8_t *lengths, unsigned n, unsigned most) {
    memset(lengths, 0, n);
    unsigned used = 0;
    uint8_t leaf[300];
    unsigned n_leaves = 1;
    leaf[0] = 0;
    const unsigned wanted = 1 + draw(LEAT_MIN(most, n));
    for (int tries = 0; n_leaves < wanted && tries < 2000; tries++) { /* a leaf becomes two */
        const uint32_t i = draw(n_leaves);
        if (leaf[i] == 15) continue;
        leaf[n_leaves++] = ++leaf[i];
    }
    for (; used < n_leaves; used++) {
        uint32_t at = draw(n);
        while (lengths[at]) at = (at + 1) % n;
        lengths[at] = leaf[used];
    }
    const uint32_t spoil = draw(8), at = draw(n);
    if (spoil == 0) lengths[at] = (uint8_t)draw(16);
    if (spoil == 1) lengths[at] = 0;
    if (spoil == 2) lengths[at] = 1;
}

/* Blocks with codes of any kind: complete, incomplete, too many, a single one, none. */
static void any_codes(void **state) {
    (void)state;
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int ended = 0, refused = 0;
    writer.to = packed;
    for (int round = 0; round < 20000 / STRIDE; round++) {
        seed = 5000 + (uint32_t)round;
        uint8_t lengths[320] = {0};
        const unsigned n_literal = 257 + draw(30), n_distance = 1 + draw(30);
        make_lengths(lengths, n_literal, draw(4) ? 250 : 4);
        if (lengths[256] == 0 && draw(16)) { /* takes that of another */
            unsigned from = 0;
            while (from < 256 && (!lengths[from] || draw(3))) from++;
            lengths[256] = lengths[from];
            if (from < 256) lengths[from] = 0;
        }
        make_lengths(lengths + n_literal, n_distance, draw(4) ? n_distance : 2);
        writer.bits = 0;
        put(1, 1), put(2, 2), put(n_literal - 257, 5), put(n_distance - 1, 5), put(19 - 4, 4);
        for (int i = 0; i < 19; i++) put(order[i] < 13 ? 4 : 5, 3);
        for (unsigned i = 0; i < n_literal + n_distance; i++) put_length(lengths[i]);
        for (unsigned bits = draw(4000); bits > 0; bits--) put(draw(2), 1);
        const size_t n = (writer.bits + 7) / 8;
        same(packed, n, 20000, n, OUT, false);
        same(packed, n, 20000, 1 + draw(100), 1 + draw(700), round % 2);
        const verdict v = by_leat(packed, n, 20000, n, OUT, false);
        ended += v.rc == 1;
        refused += v.rc == -1;
    }
    assert_true(ended > 300 && refused > 3000); /* both are tested */
}

/* Bytes of no meaning. */
static void noise(void **state) {
    (void)state;
    for (int round = 0; round < 20000 / STRIDE; round++) {
        seed = (uint32_t)round;
        const size_t n = 1 + draw(300);
        for (size_t i = 0; i < n; i++) packed[i] = (uint8_t)draw(256);
        packed[0] = (uint8_t)(packed[0] & ~6u) | (uint8_t)(2 * draw(3));
        same(packed, n, 20000, n, OUT, false);
        same(packed, n, 20000, 1 + draw(30), 1 + draw(300), true);
    }
}

/* An error stays until a stream is begun. */
static void errors_stay(void **state) {
    (void)state;
    const uint8_t type_3[] = {7, 0, 0, 0};
    leat__deflate_io io = {.in = type_3, .in_end = type_3 + 4, .base = got, .out = got, .out_end = got + 100};
    const char *why = NULL;
    leat__deflate_begin(&z);
    assert_int_equal(leat__deflate_read(&z, &io, &why), LEAT_ERR_FORMAT);
    assert_string_equal(why, "invalid block type");
    why = NULL;
    assert_int_equal(leat__deflate_read(&z, &io, &why), LEAT_ERR_FORMAT);
    assert_string_equal(why, "invalid block type");
    seed = 1;
    make_plain(1, 1000);
    const size_t n = pack(1000, 6, Z_DEFAULT_STRATEGY, 8);
    same(packed, n, OUT, n, OUT, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds),   cmocka_unit_test(every_cut), cmocka_unit_test(bytes_behind),
        cmocka_unit_test(damaged),     cmocka_unit_test(any_codes), cmocka_unit_test(noise),
        cmocka_unit_test(errors_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
