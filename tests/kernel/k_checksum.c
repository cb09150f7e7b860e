/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 and Adler-32, in a table of this file's own. The argument is which one: its place in the table. */
#include "base/cpu.h"
#include "format/checksum.h"
#include "kernel/harness.h"

enum { CRC32, ADLER32, N_CHECKSUMS, BENCH_BYTES = 64 << 10 };

static void init_table(void *table, unsigned flags) {
    leat__checksum_fn *fn[N_CHECKSUMS] = {leat__crc32_c, leat__adler32_c};
#if defined(__x86_64__)
    if (flags & LEAT_CPU_VPCLMUL) fn[CRC32] = leat__crc32_vpclmul;
    else if (flags & LEAT_CPU_SSE42) fn[CRC32] = leat__crc32_sse42;
#elif defined(__aarch64__)
    if (flags & LEAT_CPU_ARM_CRC) fn[CRC32] = leat__crc32_arm;
#endif
#ifdef LEAT_CPU_WIDE
    if (flags & LEAT_CPU_WIDE) fn[ADLER32] = leat__adler32_avx2;
#else
    (void)flags;
#endif
    memcpy(table, fn, sizeof fn);
}
const k_table k_checksum_table = {"checksum", N_CHECKSUMS * sizeof(leat__checksum_fn *), init_table};

static leat__checksum_fn *version(int which, unsigned flags) {
    leat__checksum_fn *fn[N_CHECKSUMS];
    init_table(fn, flags);
    if (flags) k_replace(fn, sizeof fn);
    return fn[which];
}

/* n bytes, the last of them at the unmapped page or up to a cache line before it. */
static void compare(int which, size_t n) {
    void *a, *b;
    const size_t after = k_below(2) ? k_below(64) : 0;
    uint8_t *src = k_input(0, n + after);
    k_fill(src, n);
    const uint32_t begin = (uint32_t)k_random();
    k_outputs(sizeof begin, 0, &a, &b);
    const uint32_t want = version(which, 0)(begin, src, n),
                   got = version(which, k_isa_flags())(begin, src, n);
    memcpy(a, &want, sizeof want);
    memcpy(b, &got, sizeof got);
    k_compare(sizeof want, 0, "%zu bytes, %zu before the page", n, after);
}

static void check(const leat__image_dsp *c, const leat__image_dsp *isa, int which) {
    (void)c, (void)isa;
    for (size_t n = 0; n <= 600; n++) compare(which, n);
    for (int round = 0; round < K_ROUNDS; round++) compare(which, k_below(30000));
}

static void bench(const leat__image_dsp *isa, int which, k_bench *bench) {
    (void)isa;
    void *src = k_input(0, BENCH_BYTES);
    k_fill(src, BENCH_BYTES);
    volatile uint32_t sum = 0; /* read and written, so that no call can be left out */
    leat__checksum_fn *const fn = version(which, k_isa_flags());
    for (k_bench_begin(bench, BENCH_BYTES); k_bench_go(bench);) sum = fn(sum, src, BENCH_BYTES);
}

const k_case k_checksum_cases[] = {
    {"crc32_64k", CRC32, check, bench},
    {"adler32_64k", ADLER32, check, bench},
    {0},
};
