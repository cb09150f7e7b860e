/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums by carry-less multiplications of 256 bits, for the two *_vpclmul.c. A sum stands for 32 bytes. What moves it on
 * are two powers of x: for its lower and its upper halves of 64 bits. */
#ifndef LEAT_FORMAT_X86_FOLD_256_H
#define LEAT_FORMAT_X86_FOLD_256_H

#include <immintrin.h>
#include <stdint.h>

static inline __m256i leat__fold_load(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline __m128i leat__fold_powers(const uint32_t power[2]) {
    return _mm_set_epi64x(power[1], power[0]);
}

/* The sum moved on, plus next. */
static inline __m256i leat__fold(__m256i sum, __m256i by, __m256i next) {
    const __m256i first = _mm256_clmulepi64_epi128(sum, by, 0x00);
    const __m256i last = _mm256_clmulepi64_epi128(sum, by, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(first, next), last);
}

/* The first half of a sum moved on by 16 bytes, plus the second. */
static inline __m128i leat__fold_halves(__m256i sum, __m128i by16) {
    const __m128i low = _mm256_castsi256_si128(sum), high = _mm256_extracti128_si256(sum, 1);
    const __m128i first = _mm_clmulepi64_si128(low, by16, 0x00), last = _mm_clmulepi64_si128(low, by16, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, last), high);
}

#endif
