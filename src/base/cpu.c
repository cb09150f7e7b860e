/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned flags;
static pthread_once_t flags_once = PTHREAD_ONCE_INIT;

static void detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) flags |= LEAT_CPU_SSE42;
    /* Every processor with AVX2 has F16C; a virtual one may hide it. Clang 14 does not know its name. */
    unsigned a, b, c = 0, d;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
    if (__builtin_cpu_supports("avx2") && f16c) flags |= LEAT_CPU_AVX2;
    /* AVX2 is only supported where the system keeps its registers, so asking for both asks for that too. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq")) flags |= LEAT_CPU_VPCLMUL;
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

int leat__cpu_count(void) {
    cpu_set_t set;
    int n =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    long long quota[2] = {0, 0}, period[2] = {0, 0};
    if (read_numbers("/sys/fs/cgroup/cpu.max", quota) == 2) { /* cgroup v2: both in one line */
        period[0] = quota[1];
    } else if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota) < 1 ||
               read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period) < 1) {
        quota[0] = 0;
    }
    if (quota[0] > 0 && period[0] > 0) {
        const int allowed = (int)LEAT_MAX(quota[0] / period[0], 1LL);
        if (allowed < n) n = allowed;
    }
    return LEAT_MAX(n, 1);
}

size_t leat__cpu_cache_bytes(void) {
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
    static const char *const limits[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
    };
    for (size_t i = 0; i < LEAT_COUNT(limits); i++) {
        long long limit[2] = {0, 0}, used[2] = {0, 0};
        if (read_numbers(limits[i][0], limit) < 1 || read_numbers(limits[i][1], used) < 1) continue;
        const uint64_t left = limit[0] > used[0] ? (uint64_t)(limit[0] - used[0]) : 0;
        if (left < available) available = left;
    }
    return available;
}
