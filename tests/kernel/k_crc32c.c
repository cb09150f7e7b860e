/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum. It is not in the table of the image room: the flags say whose turn it is. The argument is the
 * number of bytes to measure. */
#include "base/cpu.h"
#include "format/crc32c.h"
#include "kernel/harness.h"

static void init_table(void *table, unsigned flags) {
    leat__crc32c_fn *fn = leat__crc32c_extend_c;
#if defined(__x86_64__)
    if (flags & LEAT_CPU_VPCLMUL) fn = leat__crc32c_extend_vpclmul;
    else if (flags & LEAT_CPU_SSE42) fn = leat__crc32c_extend_sse42;
#elif defined(__aarch64__)
    if (flags & LEAT_CPU_ARM_CRC) fn = leat__crc32c_extend_arm;
#else
    (void)flags;
#endif
    memcpy(table, &fn, sizeof fn);
}
const k_table k_crc32c_table = {"crc32c", sizeof(leat__crc32c_fn *), init_table};

static leat__crc32c_fn *version(void) {
    leat__crc32c_fn *fn;
    init_table(&fn, k_isa_flags());
    k_replace(&fn, sizeof fn);
    return fn;
}

/* n bytes, the last of them at the unmapped page or up to a cache line before it, in one to four parts. */
static void compare(size_t n) {
    void *a, *b;
    const size_t after = k_below(2) ? k_below(64) : 0;
    uint8_t *src = k_input(0, n + after);
    k_fill(src, n);
    uint32_t crc = (uint32_t)k_random();
    k_outputs(sizeof crc, 0, &a, &b);
    const uint32_t want = leat__crc32c_extend_c(crc, src, n);
    size_t at = 0;
    for (size_t parts = 1 + k_below(4); parts > 0; parts--) {
        const size_t size = parts == 1 ? n - at : k_below(n - at + 1);
        crc = version()(crc, src + at, size);
        at += size;
    }
    memcpy(a, &want, sizeof want);
    memcpy(b, &crc, sizeof crc);
    k_compare(sizeof crc, 0, "%zu bytes, %zu before the page", n, after);
}

/* Every size around the shortest blocks. */
static void check_small(const leat__image_dsp *c, const leat__image_dsp *isa, int bytes) {
    (void)c, (void)isa, (void)bytes;
    for (size_t n = 0; n <= 1024; n++) compare(n);
    for (int round = 0; round < K_ROUNDS; round++) compare(k_below(8192));
}

static void check_large(const leat__image_dsp *c, const leat__image_dsp *isa, int bytes) {
    (void)c, (void)isa;
    for (int round = 0; round < K_ROUNDS / 4; round++) compare(k_below(2 * (size_t)bytes));
}

static void bench_size(const leat__image_dsp *isa, int bytes, k_bench *bench) {
    (void)isa;
    const size_t n = (size_t)bytes;
    void *src = k_input(0, n);
    k_fill(src, n);
    volatile uint32_t crc = 0; /* read and written, so that no call can be left out */
    leat__crc32c_fn *const fn = version();
    for (k_bench_begin(bench, n); k_bench_go(bench);) crc = fn(crc, src, n);
}

const k_case k_crc32c_cases[] = {
    {"crc32c_4k", 4 << 10, check_small, bench_size},
    {"crc32c_64k", 64 << 10, check_large, bench_size},
    {"crc32c_200k", 200 << 10, check_large, bench_size},
    {0},
};
