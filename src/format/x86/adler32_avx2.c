/* SPDX-License-Identifier: Apache-2.0 */
/* Adler-32 of 32 bytes a step. A step adds to the sum of sums 32 times the sum before it, and its first byte 32 times, its
 * second byte 31 times and so on. */
#include "format/checksum.h"

#include <immintrin.h>

enum { MODULUS = 65521, STEP = 32, RUN = 5536 }; /* so many bytes cannot overflow 32 bits */

static inline uint32_t total(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(s);
}

uint32_t leat__adler32_avx2(uint32_t sum, const void *bytes, size_t n) {
    const __m256i weights = _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                             16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    const uint8_t *p = bytes;
    uint32_t low = sum & 0xffff, high = sum >> 16;
    while (n >= STEP) {
        const size_t run = LEAT_MIN(n, (size_t)RUN) / STEP * STEP;
        __m256i plain = zero, before = zero, weighted = zero;
        for (const uint8_t *const end = p + run; p < end; p += STEP) {
            const __m256i v = _mm256_loadu_si256((const __m256i *)p);
            before = _mm256_add_epi32(before, plain);
            plain = _mm256_add_epi32(plain, _mm256_sad_epu8(v, zero));
            weighted = _mm256_add_epi32(weighted, _mm256_madd_epi16(_mm256_maddubs_epi16(v, weights), one));
        }
        high = (high + low * (uint32_t)run + STEP * total(before) + total(weighted)) % MODULUS;
        low = (low + total(plain)) % MODULUS;
        n -= run;
    }
    return leat__adler32_c(high << 16 | low, p, n);
}
