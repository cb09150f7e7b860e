/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 by carry-less multiplications of 256 bits: what crc32_sse42.c does, with four sums of 32 bytes that are moved on by
 * 128. */
#if defined(__x86_64__)

#include "format/checksum.h"
#include "format/x86/fold_256.h"

enum { TURN = 128, LEAST = 2 * TURN }; /* bytes; with fewer the other one is as fast */

/* For 128, 32 and 16 bytes: x^(8 bytes + 64 - 33), x^(8 bytes - 33). */
const uint32_t leat__crc32_wide_power[3][2] = {
    {0x33fff533, 0x910eeec1},
    {0xf1da05aa, 0x81256527},
    {0xae689191, 0xccaa009e},
};

uint32_t leat__crc32_vpclmul(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    if (n < LEAST) return leat__crc32_sse42(crc, p, n);
    const __m256i by128 = _mm256_broadcastsi128_si256(leat__fold_powers(leat__crc32_wide_power[0])),
                  by32 = _mm256_broadcastsi128_si256(leat__fold_powers(leat__crc32_wide_power[1]));
    const __m128i by16 = leat__fold_powers(leat__crc32_wide_power[2]);
    __m256i sum[4];
    for (int i = 0; i < 4; i++) sum[i] = leat__fold_load(p + 32 * i);
    sum[0] = _mm256_xor_si256(sum[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc)));
    for (p += TURN, n -= TURN; n >= TURN; p += TURN, n -= TURN)
        for (int i = 0; i < 4; i++) sum[i] = leat__fold(sum[i], by128, leat__fold_load(p + 32 * i));
    __m256i all = leat__fold(leat__fold(leat__fold(sum[0], by32, sum[1]), by32, sum[2]), by32, sum[3]);
    for (; n >= 32; p += 32, n -= 32) all = leat__fold(all, by32, leat__fold_load(p));
    uint8_t end[16];
    _mm_storeu_si128((__m128i *)end, leat__fold_halves(all, by16));
    return leat__crc32_c(leat__crc32_c(~0u, end, 16), p, n); /* the table begins with the complement of ~0 */
}

#else
typedef int leat__no_x86; /* an empty file is not C */
#endif
