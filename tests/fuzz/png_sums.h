/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEAT_FUZZ_PNG_SUMS_H
#define LEAT_FUZZ_PNG_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

/* Makes the sums of all chunks right that lie in the file. */
static inline void repair_sums(uint8_t *bytes, size_t n) {
    for (size_t at = 8; n >= 12 && at <= n - 12;) {
        uint8_t *p = bytes + at;
        const size_t length = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        if (length > n - at - 12) return;
        const uLong crc = crc32(0, p + 4, (uInt)(length + 4));
        for (int i = 0; i < 4; i++) p[8 + length + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + length;
    }
}

#endif
