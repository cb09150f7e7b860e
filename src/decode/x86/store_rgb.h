/* SPDX-License-Identifier: Apache-2.0 */
/* 32 pixels from three registers of red, green and blue to bytes in turns. */
#ifndef LEAT_DECODE_X86_STORE_RGB_H
#define LEAT_DECODE_X86_STORE_RGB_H

#include "decode/x86/decode_x86.h"

#include <immintrin.h>

LEAT_INLINE void store(void *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

typedef struct rgb32 { /* 32 pixels */
    __m256i r, g, b;
} rgb32;

/* Where the k-th third of 16 pixels' 48 bytes takes its bytes from, for the channel that begins at byte c; -1: from
 * another channel. */
static const int8_t spread[3][3][16] = {
    {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
     {-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
     {-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1}},
    {{-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
     {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
     {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1}},
    {{-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1},
     {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1},
     {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}},
};

LEAT_INLINE __m256i third(rgb32 p, int k) {
    __m256i pick[3];
    for (int c = 0; c < 3; c++)
        pick[c] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)spread[c][k]));
    return _mm256_or_si256(
        _mm256_or_si256(_mm256_shuffle_epi8(p.r, pick[0]), _mm256_shuffle_epi8(p.g, pick[1])),
        _mm256_shuffle_epi8(p.b, pick[2]));
}

LEAT_INLINE void store_rgb32(uint8_t *dst, rgb32 p) {
    const __m256i a = third(p, 0), b = third(p, 1), c = third(p, 2);
    store(dst, _mm256_permute2x128_si256(a, b, 0x20));
    store(dst + 32, _mm256_permute2x128_si256(c, a, 0x30));
    store(dst + 64, _mm256_permute2x128_si256(b, c, 0x31));
}

#endif
