/* SPDX-License-Identifier: Apache-2.0 */
/* Adler-32: the sum of all bytes, from 1, and the sum of these sums, both modulo 65521. */
#include "format/checksum.h"

#include "base/cpu.h"

enum { MODULUS = 65521, RUN = 5552 }; /* so many bytes cannot overflow 32 bits */

uint32_t leat__adler32_c(uint32_t sum, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint32_t low = sum & 0xffff, high = sum >> 16;
    while (n > 0) {
        size_t run = LEAT_MIN(n, (size_t)RUN);
        n -= run;
        for (; run > 0; run--) {
            low += *p++;
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    return high << 16 | low;
}

uint32_t leat__adler32(uint32_t sum, const void *bytes, size_t n) {
#ifdef LEAT_CPU_WIDE
    if (LEAT_LIKELY(leat__cpu_flags() & LEAT_CPU_WIDE)) return leat__adler32_avx2(sum, bytes, n);
#endif
    return leat__adler32_c(sum, bytes, n);
}
