/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
#include "base/cpu.h"
#include "format/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* One bit a step, straight from the definition. */
static uint32_t bitwise(uint32_t crc, const uint8_t *bytes, size_t n) {
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

typedef struct named_fn {
    const char *name;
    leat__crc32c_fn *fn;
} named_fn;

static size_t versions(named_fn out[4]) {
    size_t n = 0;
    out[n++] = (named_fn){"dispatch", leat__crc32c_extend};
    out[n++] = (named_fn){"c", leat__crc32c_extend_c};
#if defined(__x86_64__)
    if (leat__cpu_flags() & LEAT_CPU_SSE42) out[n++] = (named_fn){"sse42", leat__crc32c_extend_sse42};
    const unsigned both = LEAT_CPU_SSE42 | LEAT_CPU_VPCLMUL;
    if ((leat__cpu_flags() & both) == both) out[n++] = (named_fn){"vpclmul", leat__crc32c_extend_vpclmul};
#elif defined(__aarch64__)
    if (leat__cpu_flags() & LEAT_CPU_ARM_CRC) out[n++] = (named_fn){"arm", leat__crc32c_extend_arm};
#endif
    return n;
}

static void fill(uint8_t *bytes, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* RFC 3720, B.4, and the usual check word. */
static void known_values(void **state) {
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
    static const uint8_t iscsi_read[48] = {
        0x01, 0xc0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0,
        0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 2,    0, 0, 0, 0, 0, 0, 0,
    };
    memset(ones, 0xff, sizeof ones);
    for (uint8_t i = 0; i < 32; i++) up[i] = i, down[i] = 31 - i;
    named_fn fns[4];
    const size_t n_fns = versions(fns);
    for (size_t i = 0; i < n_fns; i++) {
        assert_int_equal(fns[i].fn(0, zeros, 32), 0x8a9136aa);
        assert_int_equal(fns[i].fn(0, ones, 32), 0x62a8ab43);
        assert_int_equal(fns[i].fn(0, up, 32), 0x46dd794e);
        assert_int_equal(fns[i].fn(0, down, 32), 0x113fdb5c);
        assert_int_equal(fns[i].fn(0, iscsi_read, 48), 0xd9963a56);
        assert_int_equal(fns[i].fn(0, "123456789", 9), 0xe3069283);
        assert_int_equal(fns[i].fn(0, NULL, 0), 0);
        assert_int_equal(fns[i].fn(0x12345678, NULL, 0), 0x12345678);
    }
    assert_int_equal(leat__crc32c_mask(0), 0xa282ead8);
    assert_int_equal(leat__crc32c_masked("123456789", 9), leat__crc32c_mask(0xe3069283));
}

/* Every length up to a few blocks, at every alignment, in exact allocations: ASan sees an over-read. */
static void lengths_and_alignments(void **state) {
    (void)state;
    static const size_t large[] = {1535,  1536,  1537,  3071,  4095,  12287, 12288, 12289, 13823,
                                   13824, 13825, 14016, 14255, 14256, 24577, 27648, 196608};
    named_fn fns[4];
    const size_t n_fns = versions(fns);
    for (size_t n = 0; n < 700 + LEAT_COUNT(large); n++) {
        const size_t size = n < 700 ? n : large[n - 700];
        const size_t shift = n % 8;
        uint8_t *bytes = malloc(size + shift);
        fill(bytes, size + shift, (uint32_t)n);
        const uint32_t want = bitwise(0x9e3779b9u * (uint32_t)n, bytes + shift, size);
        for (size_t i = 0; i < n_fns; i++)
            if (fns[i].fn(0x9e3779b9u * (uint32_t)n, bytes + shift, size) != want)
                fail_msg("%s differs at %zu bytes", fns[i].name, size);
        free(bytes);
    }
}

static void parts_make_the_whole(void **state) {
    (void)state;
    enum { SIZE = 40000 };
    uint8_t *bytes = malloc(SIZE);
    fill(bytes, SIZE, 5);
    const uint32_t whole = leat__crc32c_extend(0, bytes, SIZE);
    for (size_t cut = 0; cut <= SIZE; cut += 1 + cut / 7) {
        const uint32_t front = leat__crc32c_extend(0, bytes, cut);
        const uint32_t back = leat__crc32c_extend(0, bytes + cut, SIZE - cut);
        assert_int_equal(leat__crc32c_extend(front, bytes + cut, SIZE - cut), whole);
        assert_int_equal(leat__crc32c_shift(front, SIZE - cut) ^ back, whole);
    }
    free(bytes);
    /* Shifts add up, also where the exponents wrap around. */
    const uint64_t a = 0xfedcba9876543210u, b = 0x0123456789abcdefu;
    assert_int_equal(leat__crc32c_shift(leat__crc32c_shift(0xdeadbeef, a), b),
                     leat__crc32c_shift(0xdeadbeef, a + b));
    assert_int_equal(leat__crc32c_shift(0xdeadbeef, 0), 0xdeadbeef);
}

/* x^(n - 33) modulo P, one factor x at a time. */
static uint32_t power(unsigned n) {
    uint32_t v = 0x80000000; /* x^0 */
    for (unsigned i = 33; i < n; i++) v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
    return v;
}

static void constants_of_the_multiplications(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const unsigned bytes[3] = {96, 32, 16};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(leat__crc32c_fold_power[i][0], power(8 * bytes[i] + 64));
        assert_int_equal(leat__crc32c_fold_power[i][1], power(8 * bytes[i]));
    }
    for (unsigned i = 0; i < LEAT_COUNT(leat__crc32c_lane_power); i++)
        assert_int_equal(leat__crc32c_lane_power[i], power(8 * 40 * (i + 1)));
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(lengths_and_alignments),
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(constants_of_the_multiplications),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
