/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

static unsigned flags;
static pthread_once_t flags_once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
/* Whether the system keeps the registers of AVX when it switches threads. */
static bool keeps_avx(unsigned features) {
    if (!(features & bit_OSXSAVE)) return false;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const unsigned sse_and_avx = 6;
    return (low & sse_and_avx) == sse_and_avx;
}

/* AMD's processors before Zen 3, and Hygon's, have PDEP in microcode: hundreds of cycles where others take three. */
static bool has_quick_pdep(void) {
    unsigned a, b = 0, c, d, model = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d) || !__get_cpuid(1, &model, &a, &c, &d)) return false;
    const unsigned family = (model >> 8 & 15) + (model >> 20 & 255);
    const bool amd = b == signature_AMD_ebx, hygon = b == 0x6f677948; /* "Hygo" */
    return !hygon && !(amd && family < 0x19);
}

/* By the processor's own words: __builtin_cpu_supports needs a run-time library that not every linker brings. */
static unsigned detect_x86(void) {
    unsigned a, b = 0, c = 0, d, more_b = 0, more_c = 0, found = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &more_b, &more_c, &d)) more_b = more_c = 0;
    if (c & bit_SSE4_2 && c & bit_PCLMUL) found |= LEAT_CPU_SSE42;
    if (!(more_b & bit_AVX2) || !keeps_avx(c)) return found;
    /* Every processor with AVX2 has F16C, BMI and LZCNT; a virtual one may hide them. */
    unsigned extended = 0, ignored;
    if (!__get_cpuid(0x80000001, &a, &ignored, &extended, &d)) extended = 0;
    if (c & bit_F16C && more_b & bit_BMI && more_b & bit_BMI2 && extended & bit_LZCNT) found |= LEAT_CPU_AVX2;
    if (found & LEAT_CPU_AVX2 && has_quick_pdep()) found |= LEAT_CPU_PDEP;
    if (more_c & bit_VPCLMULQDQ) found |= LEAT_CPU_VPCLMUL;
    return found;
}
#elif defined(__aarch64__)
/* The kernel tells what the processor has; the numbers are part of its interface. */
static unsigned detect_arm(void) {
    const unsigned long neon = 1ul << 1, crc32 = 1ul << 7, have = getauxval(AT_HWCAP);
    unsigned found = have & crc32 ? LEAT_CPU_ARM_CRC : 0;
#ifdef LEAT_CPU_WIDE
    if (have & neon) found |= LEAT_CPU_NEON;
#endif
    return found;
}
#endif

static void detect(void) {
#if defined(__x86_64__)
    flags = detect_x86();
#elif defined(__aarch64__)
    flags = detect_arm();
#endif
    const char *mask = getenv("LEAT_CPU_MASK");
    if (mask && *mask) flags &= (unsigned)strtoul(mask, NULL, 0);
}

unsigned leat__cpu_flags(void) {
    pthread_once(&flags_once, detect);
    return flags;
}

/* Reads up to two numbers from a small system file; returns how many. "max" counts as none. */
static int read_numbers(const char *path, long long out[2]) {
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    const int n = fscanf(file, "%lld %lld", &out[0], &out[1]);
    fclose(file);
    return n < 0 ? 0 : n;
}

static int within_quota(int n) {
    const double quota = leat__limits_cores("");
    return LEAT_MAX(quota > 0 && quota < n ? (int)quota : n, 1);
}

int leat__cpu_count(void) {
    cpu_set_t set;
    return within_quota(sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                                    : (int)sysconf(_SC_NPROCESSORS_ONLN));
}

/* Cores in a list such as "0-3,8,10-11", as a container's cgroup has it; 0 if it cannot be read. */
static int listed_cores(const char *path) {
    FILE *file = fopen(path, "re");
    int n = 0, first, last, separator = ',';
    while (file && separator == ',' && fscanf(file, "%d", &first) == 1) {
        last = first;
        separator = fgetc(file);
        if (separator == '-' && fscanf(file, "%d", &last) == 1) separator = fgetc(file);
        if (last >= first) n += last - first + 1;
    }
    if (file) fclose(file);
    return n;
}

int leat__cpu_share(int local) {
    const int own = leat__cpu_count();
    if (local <= 1) return own;
    const int listed = listed_cores("/sys/fs/cgroup/cpuset.cpus.effective");
    const int machine = within_quota(listed > 0 ? listed : (int)sysconf(_SC_NPROCESSORS_ONLN));
    /* A launcher may have bound each process to cores of its own: then those are its share. */
    return LEAT_MAX(LEAT_MIN(own, machine / local), 1);
}

/* The kernel tells the size of the last-level cache that a group of cores shares. The C library, asked next, tells the sum
 * over the whole chip on some processors: eight times as much where there are eight groups. */
size_t leat__cpu_cache_bytes(void) {
    for (int level = 3; level >= 2; level--) {
        char path[64];
        long long kib[2] = {0, 0};
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
        if (read_numbers(path, kib) >= 1 && kib[0] > 0) return (size_t)kib[0] * 1024; /* "32768K" */
    }
    static const int levels[] = {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE};
    for (size_t i = 0; i < LEAT_COUNT(levels); i++) {
        const long bytes = sysconf(levels[i]);
        if (bytes > 0) return (size_t)bytes;
    }
    return 0;
}

static uint64_t meminfo_available(void) {
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu", &kib) != 1) {}
    if (file) fclose(file);
    return (uint64_t)kib * 1024;
}

uint64_t leat__memory_available(void) {
    uint64_t available = meminfo_available();
    if (available == 0) {
        const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        available = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : (uint64_t)1 << 30;
    }
    const uint64_t limit = leat__limits_memory("");
    return LEAT_MIN(limit, available);
}
