/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of checksums that are remainders of polynomials over GF(2), spelled by the powers of x that their entries are sums
 * of: crc32.c and crc32c.c say which. */
#ifndef LEAT_FORMAT_CRC_TABLE_H
#define LEAT_FORMAT_CRC_TABLE_H

#include "base/macros.h"

#define LEAT_CRC_BIT(b, i, power) ((b) >> (i)&1 ? (power) : 0u)
#define LEAT_CRC_E1(b, p0, p1, p2, p3, p4, p5, p6, p7)                                                  \
    LEAT_CRC_BIT(b, 0, p0) ^ LEAT_CRC_BIT(b, 1, p1) ^ LEAT_CRC_BIT(b, 2, p2) ^ LEAT_CRC_BIT(b, 3, p3) ^ \
        LEAT_CRC_BIT(b, 4, p4) ^ LEAT_CRC_BIT(b, 5, p5) ^ LEAT_CRC_BIT(b, 6, p6) ^ LEAT_CRC_BIT(b, 7, p7)
#define LEAT_CRC_E2(b, ...) LEAT_CRC_E1(b, __VA_ARGS__), LEAT_CRC_E1(b + 1, __VA_ARGS__)
#define LEAT_CRC_E8(b, ...)                                                                        \
    LEAT_CRC_E2(b, __VA_ARGS__), LEAT_CRC_E2(b + 2, __VA_ARGS__), LEAT_CRC_E2(b + 4, __VA_ARGS__), \
        LEAT_CRC_E2(b + 6, __VA_ARGS__)
#define LEAT_CRC_E16(b, ...) LEAT_CRC_E8(b, __VA_ARGS__), LEAT_CRC_E8(b + 8, __VA_ARGS__)
#define LEAT_CRC_E64(b, ...)                                                                            \
    LEAT_CRC_E16(b, __VA_ARGS__), LEAT_CRC_E16(b + 16, __VA_ARGS__), LEAT_CRC_E16(b + 32, __VA_ARGS__), \
        LEAT_CRC_E16(b + 48, __VA_ARGS__)
#define LEAT_CRC_TABLE(...)                                                                          \
    {                                                                                                \
        LEAT_CRC_E64(0, __VA_ARGS__), LEAT_CRC_E64(64, __VA_ARGS__), LEAT_CRC_E64(128, __VA_ARGS__), \
            LEAT_CRC_E64(192, __VA_ARGS__)                                                           \
    }

/* The checksum of bytes with the checksum crc, followed by bytes[0, n). */
static inline uint32_t leat__crc_by_table(const uint32_t table[8][256], uint32_t crc, const void *bytes,
                                          size_t n) {
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        const uint32_t lo = leat__load_u32(p) ^ crc, hi = leat__load_u32(p + 4);
        crc = table[7][lo & 255] ^ table[6][lo >> 8 & 255] ^ table[5][lo >> 16 & 255] ^ table[4][lo >> 24] ^
              table[3][hi & 255] ^ table[2][hi >> 8 & 255] ^ table[1][hi >> 16 & 255] ^ table[0][hi >> 24];
    }
    while (n--) crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
    return ~crc;
}

#endif
