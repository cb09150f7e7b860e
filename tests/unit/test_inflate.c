/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
#include "base/mem.h"
#include "format/inflate.h"
#include "format/tfrecord.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

enum { PLAIN = 100000 };

static uint8_t plain[PLAIN]; /* compressible, but not too much */

static int fill_plain(void **state) {
    (void)state;
    uint32_t seed = 3;
    for (size_t i = 0; i < PLAIN; i++) {
        seed = seed * 1664525u + 1013904223u;
        plain[i] = (uint8_t)(seed >> 28 | (i / 1000 % 7) << 4);
    }
    return 0;
}

/* Appends plain[from, from + n) as a stream to out. */
static void compress_to(leat__buf *out, leat__compression how, const uint8_t *bytes, size_t n) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, how == LEAT_COMPRESSION_GZIP ? 31 : 15, 8, 0), Z_OK);
    const size_t bound = deflateBound(&z, n) + 64;
    assert_true(leat__buf_reserve(out, out->size + bound));
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    z.next_out = out->data + out->size;
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->size += z.total_out;
    deflateEnd(&z);
}

/* Everything that comes out when input arrives in pieces of in_step and leaves in pieces of out_step. Returns
 * what run returned at last; fails if it goes on for ever. */
static int inflate_all(leat__inflate *z, const uint8_t *in, size_t n, size_t in_step, size_t out_step,
                       leat__buf *out, leat_error *err) {
    size_t at = 0;
    out->size = 0;
    for (size_t turns = 0;; turns++) {
        assert_true(turns < 4 * (n + PLAIN * 4 + 100));
        const size_t give = LEAT_MIN(in_step, n - at);
        const bool last = at + give == n;
        uint8_t *const exact_in = malloc(give ? give : 1), *const exact_out = malloc(out_step);
        if (give) memcpy(exact_in, in + at, give);
        size_t used = 99, made = 99;
        const int rc =
            leat__inflate_run(z, give ? exact_in : NULL, give, &used, exact_out, out_step, &made, last, err);
        assert_true(used <= give && made <= out_step);
        assert_true(leat__buf_append(out, exact_out, made));
        free(exact_in);
        free(exact_out);
        at += used;
        if (rc != 0) {
            if (rc == 1) assert_int_equal(at, n);
            return rc;
        }
        if (last) assert_true(used + made > 0);
    }
}

static void any_pieces(void **state) {
    (void)state;
    static const size_t steps[] = {1, 2, 7, 1000, 30000};
    for (leat__compression how = LEAT_COMPRESSION_GZIP; how <= LEAT_COMPRESSION_ZLIB; how++) {
        leat__buf packed = {0}, out = {0};
        leat_error err;
        compress_to(&packed, how, plain, 20000);
        leat__inflate *z = leat__inflate_new(how, &err);
        assert_non_null(z);
        for (size_t i = 0; i < LEAT_COUNT(steps); i++)
            for (size_t k = 0; k < LEAT_COUNT(steps); k++) {
                assert_int_equal(leat__inflate_reset(z), 0);
                assert_int_equal(inflate_all(z, packed.data, packed.size, steps[i], steps[k], &out, &err), 1);
                assert_int_equal(out.size, 20000);
                assert_memory_equal(out.data, plain, 20000);
            }
        leat__inflate_free(&z);
        assert_null(z);
        leat__buf_free(&packed);
        leat__buf_free(&out);
    }
}

static void members_and_padding(void **state) {
    (void)state;
    for (leat__compression how = LEAT_COMPRESSION_GZIP; how <= LEAT_COMPRESSION_ZLIB; how++) {
        leat__buf packed = {0}, out = {0};
        leat_error err;
        static const uint8_t zeros[600];
        compress_to(&packed, how, plain, 5000);
        compress_to(&packed, how, plain, 0); /* an empty member */
        compress_to(&packed, how, plain + 5000, 5000);
        leat__buf_append(&packed, zeros, 300);
        compress_to(&packed, how, plain + 10000, 10);
        const size_t whole = packed.size;
        leat__buf_append(&packed, zeros, sizeof zeros);
        leat__inflate *z = leat__inflate_new(how, &err);
        for (size_t step = 1; step < 5000; step = step * 3 + 1)
            for (size_t n = whole; n <= packed.size; n += 100) {
                leat__inflate_reset(z);
                assert_int_equal(inflate_all(z, packed.data, n, step, 700, &out, &err), 1);
                assert_int_equal(out.size, 10010);
                assert_memory_equal(out.data, plain, 10010);
            }
        /* Something else behind it is damage, but what came before is delivered. */
        leat__buf_append(&packed, "junk that is no stream", 22);
        leat__inflate_reset(z);
        assert_int_equal(inflate_all(z, packed.data, packed.size, 100, 700, &out, &err), LEAT_ERR_FORMAT);
        assert_int_equal(out.size, 10010);
        assert_non_null(strstr(err.message, "stream 5"));
        leat__inflate_free(&z);
        leat__buf_free(&packed);
        leat__buf_free(&out);
    }
}

static void truncated_at_every_byte(void **state) {
    (void)state;
    for (leat__compression how = LEAT_COMPRESSION_GZIP; how <= LEAT_COMPRESSION_ZLIB; how++) {
        leat__buf packed = {0}, out = {0};
        leat_error err;
        compress_to(&packed, how, plain, 300);
        const size_t first = packed.size;
        compress_to(&packed, how, plain, 300);
        leat__inflate *z = leat__inflate_new(how, &err);
        for (size_t n = 0; n < packed.size; n++) {
            const bool ok = n == 0 || n == first;
            leat__inflate_reset(z);
            const int rc = inflate_all(z, packed.data, n, 1 + n % 50, 64, &out, &err);
            assert_int_equal(rc, ok ? 1 : LEAT_ERR_FORMAT);
            if (ok) continue;
            assert_non_null(strstr(err.message, "truncated"));
            /* The error stays, and reset takes it away. */
            size_t used, made;
            uint8_t byte;
            assert_int_equal(leat__inflate_run(z, packed.data, 5, &used, &byte, 1, &made, false, NULL),
                             LEAT_ERR_FORMAT);
            assert_int_equal(used + made, 0);
        }
        leat__inflate_free(&z);
        leat__buf_free(&packed);
        leat__buf_free(&out);
    }
}

static void damaged_anywhere(void **state) {
    (void)state;
    for (leat__compression how = LEAT_COMPRESSION_GZIP; how <= LEAT_COMPRESSION_ZLIB; how++) {
        leat__buf packed = {0}, out = {0};
        leat_error err;
        compress_to(&packed, how, plain, 400);
        leat__inflate *z = leat__inflate_new(how, &err);
        for (size_t bit = 0; bit < 8 * packed.size; bit++) {
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            leat__inflate_reset(z);
            const int rc = inflate_all(z, packed.data, packed.size, 100, 100, &out, &err);
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (rc != 1) {
                assert_int_equal(rc, LEAT_ERR_FORMAT);
                continue;
            }
            /* Some bits say nothing: in gzip's header, and behind the last code. All others are noticed, but
             * for short zlib streams, whose Adler-32 is weak: one bit of this one gives other bytes with the
             * same sum. (The checksums of a TFRecord inside would tell.) */
            assert_int_equal(out.size, 400);
            if (how == LEAT_COMPRESSION_GZIP) assert_memory_equal(out.data, plain, 400);
            else assert_int_equal(adler32(1, out.data, 400), adler32(1, plain, 400));
        }
        leat__inflate_free(&z);
        leat__buf_free(&packed);
        leat__buf_free(&out);
    }
}

/* 64 MiB of zeros in 64 KiB: they stream through, and memory stays what it was. */
static void bomb(void **state) {
    (void)state;
    const size_t n = (size_t)64 << 20;
    uint8_t *zeros = calloc(1, n), *out = malloc(65536);
    leat__buf packed = {0};
    compress_to(&packed, LEAT_COMPRESSION_GZIP, zeros, n);
    assert_true(packed.size < 100000);
    free(zeros);
    leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_GZIP, NULL);
    size_t at = 0, total = 0, used, made;
    int rc = 0;
    while (rc == 0) {
        rc = leat__inflate_run(z, packed.data + at, packed.size - at, &used, out, 65536, &made, true, NULL);
        at += used;
        total += made;
        assert_true(leat__mem_held(LEAT_MEM_WINDOW) < 100000);
    }
    assert_int_equal(rc, 1);
    assert_int_equal(total, n);
    leat__inflate_free(&z);
    leat__buf_free(&packed);
    free(out);
}

static void without_memory(void **state) {
    (void)state;
    leat__buf packed = {0}, out = {0};
    leat_error err;
    compress_to(&packed, LEAT_COMPRESSION_GZIP, plain, PLAIN);
    assert_true(leat__buf_reserve(&out, PLAIN));
    assert_null(leat__inflate_new(LEAT_COMPRESSION_NONE, &err));
    assert_int_equal(err.code, LEAT_ERR_ARGUMENT);
    bool succeeded = false;
    for (uint64_t fail_at = 1; !succeeded; fail_at++) {
        assert_true(fail_at < 10);
        leat__mem_fail_at(fail_at);
        leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_GZIP, &err);
        if (!z) {
            assert_int_equal(err.code, LEAT_ERR_MEMORY);
            continue;
        }
        succeeded = true;
        assert_int_equal(inflate_all(z, packed.data, packed.size, 1000, 1000, &out, &err), 1);
        assert_int_equal(out.size, PLAIN);
        /* Starting over allocates nothing. */
        leat__mem_fail_at(0);
        leat__inflate_reset(z);
        assert_int_equal(inflate_all(z, packed.data, packed.size, 1000, 1000, &out, &err), 1);
        assert_int_equal(leat__mem_fail_at(0), 0);
        leat__inflate_free(&z);
    }
    leat__mem_fail_at(0);
    leat__inflate_free(NULL);
    leat__buf_free(&packed);
    leat__buf_free(&out);
    assert_int_equal(leat__mem_held(LEAT_MEM_WINDOW), 0);
}

static void preset_dictionary(void **state) {
    (void)state;
    uint8_t packed[200], out[100];
    z_stream d = {0};
    deflateInit(&d, 9);
    deflateSetDictionary(&d, plain, 50);
    d.next_in = plain, d.avail_in = 50, d.next_out = packed, d.avail_out = sizeof packed;
    assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
    assert_int_equal(leat__compression_detect(packed, d.total_out), LEAT_COMPRESSION_NONE);
    leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_ZLIB, NULL);
    leat_error err;
    size_t used, made;
    assert_int_equal(leat__inflate_run(z, packed, d.total_out, &used, out, sizeof out, &made, true, &err),
                     LEAT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "dictionary"));
    leat__inflate_free(&z);
    deflateEnd(&d);
}

/* What zlib makes of one stream. Returns 1, 0 (something is missing) or -1. */
static int by_zlib(const uint8_t *in, size_t n, bool gzip, uint8_t *out, size_t room, size_t *made) {
    z_stream z = {0};
    assert_int_equal(inflateInit2(&z, gzip ? 31 : 15), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in, z.avail_in = (uInt)n, z.next_out = out, z.avail_out = (uInt)room;
    const int rc = inflate(&z, Z_FINISH);
    *made = z.total_out;
    const bool all = z.avail_in == 0;
    inflateEnd(&z);
    return rc == Z_STREAM_END ? all : rc == Z_DATA_ERROR || rc == Z_NEED_DICT ? -1 : 0;
}

static void same_as_zlib(leat__inflate *z, const uint8_t *in, size_t n, bool gzip, size_t step) {
    leat__buf out = {0};
    uint8_t want[2000];
    size_t made;
    leat_error err;
    const int rc = by_zlib(in, n, gzip, want, sizeof want, &made);
    leat__inflate_reset(z);
    const int got = inflate_all(z, in, n, step, 300, &out, &err);
    assert_int_equal(got == 1, rc == 1);
    assert_int_equal(out.size, made);
    if (made) assert_memory_equal(out.data, want, made);
    leat__buf_free(&out);
}

/* Every optional part of a header, whole, cut off at every byte, and with every bit changed. */
static void headers(void **state) {
    (void)state;
    leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_GZIP, NULL);
    for (int parts = 0; parts < 16; parts++) {
        uint8_t packed[400], extra[70];
        memset(extra, 'e', sizeof extra);
        gz_header head = {.text = 1, .time = 77, .os = 3};
        if (parts & 1) head.extra = extra, head.extra_len = parts & 2 ? 0 : sizeof extra;
        if (parts & 2) head.name = (Bytef *)"a name";
        if (parts & 4) head.comment = (Bytef *)"a comment";
        head.hcrc = parts >> 3;
        z_stream d = {0};
        assert_int_equal(deflateInit2(&d, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
        assert_int_equal(deflateSetHeader(&d, &head), Z_OK);
        d.next_in = plain, d.avail_in = 100, d.next_out = packed, d.avail_out = sizeof packed;
        assert_int_equal(deflate(&d, Z_FINISH), Z_STREAM_END);
        const size_t n = d.total_out;
        deflateEnd(&d);
        for (size_t step = 1; step <= n; step++) same_as_zlib(z, packed, n, true, step);
        for (size_t end = 1; end < n; end++) same_as_zlib(z, packed, end, true, n);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
            same_as_zlib(z, packed, n, true, 1 + bit % n);
            packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    leat__inflate_free(&z);
    z = leat__inflate_new(LEAT_COMPRESSION_ZLIB, NULL);
    leat__buf packed = {0};
    compress_to(&packed, LEAT_COMPRESSION_ZLIB, plain, 100);
    for (unsigned head = 0; head < 65536; head++) { /* all two bytes that a stream may begin with */
        if (head % 31 > 1) continue;
        packed.data[0] = (uint8_t)(head >> 8), packed.data[1] = (uint8_t)head;
        same_as_zlib(z, packed.data, packed.size, false, packed.size);
    }
    leat__buf_free(&packed);
    leat__inflate_free(&z);
}

/* Each stream has a window of its own: it cannot refer to the one before, though that lies right before it. */
static void window_of_a_stream(void **state) {
    (void)state;
    leat__buf packed = {0}, out = {0};
    leat_error err;
    compress_to(&packed, LEAT_COMPRESSION_GZIP, plain, 1000);
    /* A fixed block: a match of 3 bytes at distance 1, the end; checksum and size do not matter. */
    static const uint8_t far[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x03, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_true(leat__buf_append(&packed, far, sizeof far));
    leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_GZIP, NULL);
    for (size_t step = 1; step <= packed.size; step++) {
        leat__inflate_reset(z);
        assert_int_equal(inflate_all(z, packed.data, packed.size, step, 100, &out, &err), LEAT_ERR_FORMAT);
        assert_int_equal(out.size, 1000);
        assert_non_null(strstr(err.message, "too far back"));
    }
    leat__inflate_free(&z);
    leat__buf_free(&packed);
    leat__buf_free(&out);
}

static void detect(void **state) {
    (void)state;
    uint8_t header[12];
    for (unsigned length = 0; length < 70000; length++) { /* many of them look like gzip or zlib */
        leat__tfrecord_write_header(header, length);
        assert_int_equal(leat__compression_detect(header, 12), LEAT_COMPRESSION_NONE);
        header[9] ^= 4; /* also when the checksum is damaged */
        assert_int_equal(leat__compression_detect(header, 12), LEAT_COMPRESSION_NONE);
    }
    for (int level = 0; level <= 9; level++)
        for (size_t n = 0; n < 3000; n += 1 + n / 3)
            for (int bits = 9; bits <= 31; bits++) {
                if (bits > 15 && bits < 25) continue;
                uint8_t packed[4096];
                z_stream z = {0};
                assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, bits, 8, 0), Z_OK);
                z.next_in = plain, z.avail_in = (uInt)n, z.next_out = packed, z.avail_out = sizeof packed;
                assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
                const leat__compression want = bits > 15 ? LEAT_COMPRESSION_GZIP : LEAT_COMPRESSION_ZLIB;
                const size_t size = z.total_out;
                assert_int_equal(leat__compression_detect(packed, size), want);
                assert_int_equal(leat__compression_detect(packed, LEAT_MIN(size, (size_t)12)), want);
                deflateEnd(&z);
            }
    static const char *const others[] = {"\xff\xd8\xff\xe0\0\x10JFIF", "\x89PNG\r\n\x1a\n....",
                                         "a text file, long enough", "PK\3\4............",
                                         "photos/0001.jpg\0\0\0"};
    for (size_t i = 0; i < LEAT_COUNT(others); i++)
        assert_int_equal(leat__compression_detect((const uint8_t *)others[i], 10), LEAT_COMPRESSION_NONE);
    assert_int_equal(leat__compression_detect(NULL, 0), LEAT_COMPRESSION_NONE);
    assert_int_equal(leat__compression_detect((const uint8_t *)"\x1f", 1), LEAT_COMPRESSION_NONE);
    assert_int_equal(leat__compression_detect((const uint8_t *)"x", 1), LEAT_COMPRESSION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces),
        cmocka_unit_test(members_and_padding),
        cmocka_unit_test(damaged_anywhere),
        cmocka_unit_test(truncated_at_every_byte),
        cmocka_unit_test(bomb),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(detect),
        cmocka_unit_test(preset_dictionary),
        cmocka_unit_test(headers),
        cmocka_unit_test(window_of_a_stream),
    };
    return cmocka_run_group_tests(tests, fill_plain, NULL);
}
