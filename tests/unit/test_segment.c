/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Segments and bundles: written and read again, and nothing that differs by one bit is taken for good. */
#include "format/kept/bundle.h"
#include "format/kept/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint8_t key[LEAT_SEGMENT_KEY] = "0123456789abcdef", other[LEAT_SEGMENT_KEY] = "0123456789abcdeg";

static void test_header(void **state) {
    (void)state;
    uint8_t header[LEAT_SEGMENT_HEADER];
    leat__segment_write_header(header, key);
    assert_memory_equal(header, "LEATSEG1", 8);
    assert_true(leat__segment_check_header(header, key));
    assert_false(leat__segment_check_header(header, other));
    for (size_t i = 0; i < sizeof header * 8; i++) {
        header[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_false(leat__segment_check_header(header, key));
        header[i / 8] ^= (uint8_t)(1u << i % 8);
    }
}

static void test_head(void **state) {
    (void)state;
    uint8_t head[LEAT_SEGMENT_HEAD];
    const leat__segment_entry entry = {.sample = 77, .length = 1000, .checksum = 0x123456789abcdef0};
    leat__segment_entry read;
    leat__segment_write_head(head, &entry);
    assert_int_equal(leat__segment_stride(1000), 1056);
    assert_int_equal(leat__segment_stride(0), 32);
    assert_true(leat__segment_read_head(head, 1056, &read));
    assert_memory_equal(&read, &entry, sizeof entry);
    assert_false(leat__segment_read_head(head, 1055, &read)); /* it would reach past the end */
    for (size_t i = 0; i < sizeof head * 8; i++) {
        head[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_false(leat__segment_read_head(head, UINT64_MAX, &read));
        head[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    const leat__segment_entry huge[] = {{.sample = 1, .length = UINT32_MAX + UINT64_C(1)},
                                        {.sample = 1, .length = UINT64_MAX - 3}};
    for (size_t i = 0; i < LEAT_COUNT(huge); i++) {
        leat__segment_write_head(head, &huge[i]);
        assert_false(leat__segment_read_head(head, UINT64_MAX, &read));
    }
    assert_int_not_equal(leat__segment_checksum(1, "abc", 3), leat__segment_checksum(2, "abc", 3));
}

static void test_table(void **state) {
    (void)state;
    uint8_t table[3 * LEAT_SEGMENT_PLACE], trailer[LEAT_SEGMENT_TRAILER];
    const leat__segment_place places[3] = {{5, 2, 100}, {0, 7, 0}, {UINT32_MAX, 8, 32}};
    for (int i = 0; i < 3; i++) leat__segment_write_place(table + i * LEAT_SEGMENT_PLACE, &places[i]);
    for (uint64_t i = 0; i < 3; i++) {
        const leat__segment_place place = leat__segment_read_place(table, i);
        assert_memory_equal(&place, &places[i], sizeof place);
    }
    leat__segment_write_trailer(trailer, table, 3);
    const uint64_t end = 8 * 32 + 64, size = end + sizeof table + sizeof trailer;
    uint64_t begin, n;
    assert_true(leat__segment_read_trailer(trailer, size, &begin, &n));
    assert_int_equal(begin, end);
    assert_int_equal(n, 3);
    assert_true(leat__segment_check_table(trailer, table, begin, n));
    /* An entry that reaches into the table, and one that begins in the header. */
    assert_false(leat__segment_check_table(trailer, table, begin - 1, n));
    leat__segment_write_place(table, &(leat__segment_place){5, 1, 100});
    leat__segment_write_trailer(trailer, table, 3);
    assert_false(leat__segment_check_table(trailer, table, begin, n));
    /* Too many for the file. */
    assert_false(leat__segment_read_trailer(trailer, 64 + sizeof table + sizeof trailer - 1, &begin, &n));
    assert_false(leat__segment_read_trailer(trailer, 0, &begin, &n));
    for (size_t i = 0; i < sizeof trailer * 8; i++) {
        trailer[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_false(leat__segment_read_trailer(trailer, size, &begin, &n));
        trailer[i / 8] ^= (uint8_t)(1u << i % 8);
    }
}

static void test_bundle(void **state) {
    (void)state;
    const leat__bundle_field fields[] = {{.dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {-1, -1, 3}},
                                         {.dtype = LEAT_DTYPE_I64},
                                         {.dtype = LEAT_DTYPE_F32, .ndim = 1, .shape = {4}},
                                         {.dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {-1}}};
    leat__bundle_part part[4] = {{.shape = {5, 7, 3}}, {.shape = {0}}, {.shape = {4}}, {.shape = {2}}},
                      read[4];
    size_t bytes;
    assert_false(leat__bundle_fixed(&fields[0]));
    assert_true(leat__bundle_fixed(&fields[1]) && leat__bundle_fixed(&fields[2]));
    assert_true(leat__bundle_lay_out(fields, 4, part, &bytes));
    /* Axes of two fields, then 105 bytes at 64, 8 at 176, 16 at 184, 2 at 200. */
    assert_int_equal(part[0].offset, 64);
    assert_int_equal(part[0].bytes, 105);
    assert_int_equal(part[1].offset, 176);
    assert_int_equal(part[2].offset, 184);
    assert_int_equal(part[3].offset, 200);
    assert_int_equal(bytes, 202);
    uint8_t *bundle = malloc(bytes);
    memset(bundle, 0xaa, bytes);
    leat__bundle_begin(fields, 4, part, bundle);
    for (int i = 0; i < 4; i++) memset(bundle + part[i].offset, 1, part[i].bytes);
    for (size_t i = 0; i < bytes; i++) assert_int_not_equal(bundle[i], 0xaa);
    assert_true(leat__bundle_open(fields, 4, bundle, bytes, read));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(read[i].offset, part[i].offset);
        assert_int_equal(read[i].bytes, part[i].bytes);
    }
    assert_int_equal(read[0].shape[1], 7);
    assert_false(leat__bundle_open(fields, 4, bundle, bytes - 1, read));
    assert_false(leat__bundle_open(fields, 4, bundle, 31, read));
    /* What the fields cannot have: another number of channels, less than nothing, more than there is. */
    const int64_t wrong[][3] = {
        {5, 7, 4}, {-1, 7, 3}, {INT64_MAX, 7, 3}, {INT64_MAX, INT64_MAX, 3}, {5, 8, 3}};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++) {
        memcpy(bundle, wrong[i], sizeof wrong[i]);
        assert_false(leat__bundle_open(fields, 4, bundle, bytes, read));
    }
    free(bundle);
    part[0].shape[0] = INT64_MAX / 32; /* with alignment it would pass the end of all numbers */
    part[0].shape[1] = 64;
    assert_false(leat__bundle_lay_out(fields, 4, part, &bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header), cmocka_unit_test(test_head),
                                       cmocka_unit_test(test_table), cmocka_unit_test(test_bundle)};
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
