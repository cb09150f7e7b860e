/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* CRC-32 and Adler-32 against zlib's. */
#include "base/cpu.h"
#include "format/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

static void fill(uint8_t *bytes, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void compare(const uint8_t *bytes, size_t n) {
    const uint32_t crc = (uint32_t)crc32(0x12345678, bytes, (uInt)n);
    const uint32_t adler = (uint32_t)adler32(0xfff0fff0, bytes, (uInt)n); /* the largest sums */
    assert_int_equal(leat__crc32(0x12345678, bytes, n), crc);
    assert_int_equal(leat__crc32_c(0x12345678, bytes, n), crc);
    assert_int_equal(leat__adler32(0xfff0fff0, bytes, n), adler);
    assert_int_equal(leat__adler32_c(0xfff0fff0, bytes, n), adler);
#if defined(__x86_64__)
    const unsigned both = LEAT_CPU_SSE42 | LEAT_CPU_VPCLMUL;
    if ((leat__cpu_flags() & both) == both) assert_int_equal(leat__crc32_vpclmul(0x12345678, bytes, n), crc);
    if (leat__cpu_flags() & LEAT_CPU_SSE42) assert_int_equal(leat__crc32_sse42(0x12345678, bytes, n), crc);
#elif defined(__aarch64__)
    if (leat__cpu_flags() & LEAT_CPU_ARM_CRC) assert_int_equal(leat__crc32_arm(0x12345678, bytes, n), crc);
#endif
#ifdef LEAT_CPU_WIDE
    if (leat__cpu_flags() & LEAT_CPU_WIDE) assert_int_equal(leat__adler32_avx2(0xfff0fff0, bytes, n), adler);
#endif
}

/* Every length up to a few blocks, at every alignment, in exact allocations: ASan sees an over-read. */
static void lengths_and_alignments(void **state) {
    (void)state;
    static const size_t large[] = {5535, 5536, 5537, 5551, 5552, 5553, 11072, 11104, 65536, 200001};
    for (size_t k = 0; k < 600 + LEAT_COUNT(large); k++) {
        const size_t n = k < 600 ? k : large[k - 600], shift = k % 16;
        uint8_t *const exact = malloc(n + shift ? n + shift : 1);
        fill(exact, n + shift, (uint32_t)k);
        compare(exact + shift, n);
        memset(exact, 0xff, n + shift); /* overflows first */
        compare(exact + shift, n);
        free(exact);
    }
}

static void known_values(void **state) {
    (void)state;
    assert_int_equal(leat__crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(leat__adler32(1, "Wikipedia", 9), 0x11e60398);
    assert_int_equal(leat__crc32(0, NULL, 0), 0);
    assert_int_equal(leat__adler32(1, NULL, 0), 1);
}

/* x^(n - 33) modulo P, one factor x at a time. */
static uint32_t power(unsigned n) {
    uint32_t v = 0x80000000; /* x^0 */
    for (unsigned i = 33; i < n; i++) v = v >> 1 ^ (v & 1 ? 0xedb88320u : 0);
    return v;
}

static void constants_of_the_multiplications(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const unsigned bytes[2] = {64, 16}, wide[3] = {128, 32, 16};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(leat__crc32_fold_power[i][0], power(8 * bytes[i] + 64));
        assert_int_equal(leat__crc32_fold_power[i][1], power(8 * bytes[i]));
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(leat__crc32_wide_power[i][0], power(8 * wide[i] + 64));
        assert_int_equal(leat__crc32_wide_power[i][1], power(8 * wide[i]));
    }
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_and_alignments),
        cmocka_unit_test(known_values),
        cmocka_unit_test(constants_of_the_multiplications),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
