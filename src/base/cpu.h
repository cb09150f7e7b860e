/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets of the processor, and the cores and the memory that this process may use. */
#ifndef LEAT_BASE_CPU_H
#define LEAT_BASE_CPU_H

#include "base/macros.h"

enum {
    LEAT_CPU_SSE42 = 1,   /* SSE 4.2 and PCLMUL: checksums                           */
    LEAT_CPU_AVX2 = 2,    /* AVX2, F16C, LZCNT, BMI1 and BMI2: image kernels, codecs */
    LEAT_CPU_VPCLMUL = 4, /* VPCLMULQDQ on AVX2's registers: checksums, beside SSE42 */
    LEAT_CPU_PDEP = 8,    /* PDEP of BMI2 is quick: progressive JPEG, beside AVX2    */
    LEAT_CPU_NEON = 16,   /* NEON of 64-bit ARM: the kernels of AVX2                 */
    LEAT_CPU_ARM_CRC = 32 /* the CRC instructions of 64-bit ARM                      */
};

/* Kernels whose names end in _avx2 are compiled for both: with AVX2, and through base/arm/immintrin.h with NEON. */
#if defined(__x86_64__)
#define LEAT_CPU_WIDE LEAT_CPU_AVX2
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LEAT_CPU_WIDE LEAT_CPU_NEON
#endif

/* Flags of this machine, and-ed with the environment's LEAT_CPU_MASK (a number; 0 = plain C only).
 * The environment is read once. */
unsigned leat__cpu_flags(void);
/* Cores this process may use: its affinity mask and the quotas of its cgroups; at least 1. */
int leat__cpu_count(void);
/* Cores for each of `local` such processes on this machine: an equal share. If the launcher has bound each process to cores
 * of its own, all of those. */
int leat__cpu_share(int local);
/* Bytes of the last-level cache that a core has a share in, 0 if unknown. */
size_t leat__cpu_cache_bytes(void);
/* Bytes of memory this process may still take: MemAvailable, or less if its cgroups or limits leave less. */
uint64_t leat__memory_available(void);

#endif
