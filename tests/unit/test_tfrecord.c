/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
#include "format/crc32c.h"
#include "format/tfrecord.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Appends a record to file at *at. */
static void put(uint8_t *file, size_t *at, const void *payload, size_t n) {
    leat__tfrecord_write_header(file + *at, n);
    if (n) memcpy(file + *at + LEAT_TFRECORD_HEADER, payload, n);
    leat__tfrecord_write_footer(file + *at + LEAT_TFRECORD_HEADER + n, payload, n);
    *at += n + LEAT_TFRECORD_OVERHEAD;
}

/* The same with an allocation of exactly n bytes, so that ASan sees a look past the end. */
static size_t resync(const uint8_t *bytes, size_t n, size_t from) {
    uint8_t *exact = malloc(n ? n : 1);
    if (n) memcpy(exact, bytes, n);
    const size_t found = leat__tfrecord_resync(exact, n, from);
    free(exact);
    return found;
}

static void known_bytes(void **state) {
    (void)state;
    /* The record "hello", its checksums computed bit by bit elsewhere. */
    static const uint8_t want[] = {5,    0,   0,   0,   0,   0,   0,    0,    0xea, 0xb2, 0x04,
                                   0x3e, 'h', 'e', 'l', 'l', 'o', 0xbb, 0x1f, 0x1c, 0x19};
    uint8_t file[64];
    size_t at = 0;
    put(file, &at, "hello", 5);
    assert_int_equal(at, sizeof want);
    assert_memory_equal(file, want, sizeof want);
}

static void written_is_read(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 255, 4096};
    uint8_t payload[4096], file[4096 + LEAT_TFRECORD_OVERHEAD];
    for (size_t i = 0; i < sizeof payload; i++) payload[i] = (uint8_t)(i * 31 >> 3);
    for (size_t i = 0; i < LEAT_COUNT(sizes); i++) {
        const size_t n = sizes[i];
        size_t at = 0;
        uint64_t length = 77;
        put(file, &at, payload, n);
        assert_true(leat__tfrecord_length(file, &length));
        assert_int_equal(length, n);
        assert_true(leat__tfrecord_intact(file + 12, n, file + 12 + n));
        assert_int_equal(resync(file, at, 0), 0);
        /* Any single bit of it changed is noticed. */
        const size_t step = n > 100 ? 37 : 1;
        for (size_t bit = 0; bit < 8 * at; bit += step) {
            file[bit / 8] ^= (uint8_t)(1 << bit % 8);
            const bool good = leat__tfrecord_length(file, &length) && length == n &&
                              leat__tfrecord_intact(file + 12, n, file + 12 + n);
            assert_false(good);
            assert_int_not_equal(resync(file, at, 0), 0);
            file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void forged_lengths(void **state) {
    (void)state;
    const uint64_t most = UINT64_MAX, two32 = (uint64_t)1 << 32, two63 = (uint64_t)1 << 63;
    const uint64_t lengths[] = {two63,     most,      most - 1,  most - 3, most - 11, most - 15, most - 16,
                                two32 + 1, two32 - 1, two63 - 1, 1000,     17,        16,        9};
    for (size_t i = 0; i < LEAT_COUNT(lengths); i++) {
        uint8_t file[64] = {0};
        uint64_t length = 0;
        leat__tfrecord_write_header(file, lengths[i]);
        assert_true(leat__tfrecord_length(file, &length));
        assert_true(length == lengths[i]);
        assert_int_equal(resync(file, 24, 0), 24);
        /* The good record behind it is found. */
        size_t at = 24;
        put(file, &at, "abc", 3);
        assert_int_equal(resync(file, at, 0), 24);
    }
}

static void wrong_length_checksum_leaves_length(void **state) {
    (void)state;
    uint8_t header[12];
    uint64_t length = 42;
    leat__tfrecord_write_header(header, 7);
    header[8] ^= 1;
    assert_false(leat__tfrecord_length(header, &length));
    assert_int_equal(length, 42);
    memset(header, 0, sizeof header);
    assert_false(leat__tfrecord_length(header, &length)); /* zeros are no empty record */
}

static void tails(void **state) {
    (void)state;
    uint8_t file[256];
    size_t at = 0;
    put(file, &at, "a whole record", 14);
    const size_t second = at;
    put(file, &at, "another", 7);
    for (size_t n = 0; n < at; n++) {
        assert_int_equal(resync(file, n, 0), n >= second ? 0 : n);
        assert_int_equal(resync(file, n, 1), n);
    }
    assert_int_equal(resync(file, at, 1), second);
    assert_int_equal(resync(file, at, second), second);
    assert_int_equal(resync(file, at, second + 1), at);
    assert_int_equal(resync(file, at, at), at);
    assert_int_equal(resync(file, at, at + 100), at);
    assert_int_equal(resync(file, at, SIZE_MAX), at);
    assert_int_equal(leat__tfrecord_resync(NULL, 0, 0), 0);
}

static void goes_on_after_damage(void **state) {
    (void)state;
    enum { RECORDS = 40, MOST = 3000 };
    uint8_t *file = malloc(RECORDS * (MOST + 16)), *payload = malloc(MOST);
    size_t start[RECORDS + 1], at = 0;
    uint32_t seed = 9;
    for (int i = 0; i < RECORDS; i++) {
        const size_t n = (size_t)i * 71 % MOST;
        for (size_t k = 0; k < n; k++) payload[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        start[i] = at;
        put(file, &at, payload, n);
    }
    start[RECORDS] = at;
    for (int i = 0; i < RECORDS; i++) {
        file[start[i] + 3] ^= 0x10;
        assert_int_equal(resync(file, at, start[i]), start[i + 1]);
        file[start[i] + 3] ^= 0x10;
        assert_int_equal(resync(file, at, start[i] + 1), start[i + 1]);
        file[start[i] + 5] ^= 0x80;
        assert_int_equal(resync(file + 1, at - 1, start[i]) + 1, start[i + 1]);
        file[start[i] + 5] ^= 0x80;
    }
    free(payload);
    free(file);
}

/* A header with a right checksum every 12 bytes, each claiming all the rest: quadratic if done simply. Good
 * records, small and large, hide behind and among them. */
static void forged_headers_take_linear_time(void **state) {
    (void)state;
    const size_t n = (size_t)6 << 20, large = n / 2;
    uint8_t *file = calloc(1, n);
    size_t at = 0;
    while (at + 12 <= n - 64) {
        leat__tfrecord_write_header(file + at, n - at - 16 - at / 12 % 5);
        at += 12;
    }
    assert_int_equal(resync(file, n, 0), n);

    size_t end = n - 40;
    put(file, &end, "small", 5);
    assert_int_equal(resync(file, n, 1), n - 40);

    /* A large record whose payload is forged headers: found by its marks. */
    const size_t begin = 12 * 20001;
    leat__tfrecord_write_header(file + begin, large);
    leat__tfrecord_write_footer(file + begin + 12 + large, file + begin + 12, large);
    assert_int_equal(resync(file, n, 5), begin);
    file[begin + 12 + large / 3] ^= 1; /* not a header any more, and not intact */
    assert_int_equal(resync(file, n, 5), n - 40);
    free(file);
}

static void other_files_hold_no_record(void **state) {
    (void)state;
    uint8_t file[4096];
    memset(file, 0, sizeof file);
    assert_int_equal(resync(file, sizeof file, 0), sizeof file);
    memset(file, 0xff, sizeof file);
    assert_int_equal(resync(file, sizeof file, 0), sizeof file);
    for (size_t i = 0; i < sizeof file; i++) file[i] = (uint8_t)('a' + i * i % 26);
    assert_int_equal(resync(file, sizeof file, 0), sizeof file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(written_is_read),
        cmocka_unit_test(forged_lengths),
        cmocka_unit_test(wrong_length_checksum_leaves_length),
        cmocka_unit_test(tails),
        cmocka_unit_test(goes_on_after_damage),
        cmocka_unit_test(forged_headers_take_linear_time),
        cmocka_unit_test(other_files_hold_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
