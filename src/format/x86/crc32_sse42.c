/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 by carry-less multiplications. Four sums of 16 bytes are moved on by 64 bytes and get what lies there, as
 * crc32c_vpclmul.c explains; at the end the four become one, and the table does the last 16 bytes and what is left. */
#if defined(__x86_64__)

#include "format/checksum.h"

#include <nmmintrin.h>
#include <wmmintrin.h>

/* For 64 and 16 bytes: x^(8 bytes + 64 - 33), x^(8 bytes - 33). */
const uint32_t leat__crc32_fold_power[2][2] = {
    {0x8f352d95, 0x1d9513d7},
    {0xae689191, 0xccaa009e},
};

static inline __m128i load_128(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static inline __m128i powers(int i) {
    return _mm_set_epi64x(leat__crc32_fold_power[i][1], leat__crc32_fold_power[i][0]);
}

/* Both halves of sum moved on, plus next. */
static inline __m128i fold(__m128i sum, __m128i by, __m128i next) {
    const __m128i first = _mm_clmulepi64_si128(sum, by, 0x00), last = _mm_clmulepi64_si128(sum, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, next), last);
}

uint32_t leat__crc32_sse42(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    if (n < 64) return leat__crc32_c(crc, p, n);
    const __m128i by64 = powers(0), by16 = powers(1);
    __m128i sum[4];
    for (int i = 0; i < 4; i++) sum[i] = load_128(p + 16 * i);
    sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128((int)~crc));
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64)
        for (int i = 0; i < 4; i++) sum[i] = fold(sum[i], by64, load_128(p + 16 * i));
    __m128i all = fold(fold(fold(sum[0], by16, sum[1]), by16, sum[2]), by16, sum[3]);
    for (; n >= 16; p += 16, n -= 16) all = fold(all, by16, load_128(p));
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)last, all);
    return leat__crc32_c(leat__crc32_c(~0u, last, 16), p, n); /* the table begins with the complement of ~0 */
}

#else
typedef int leat__no_x86; /* an empty file is not C */
#endif
