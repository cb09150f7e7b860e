/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 and CRC-32C with the instructions of 64-bit ARM: eight bytes each, in two cycles, so one run after the other is as
 * fast as memory. */
#include "format/checksum.h"
#include "format/crc32c.h"

#include <arm_acle.h>

static inline uint64_t load(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

uint32_t leat__crc32_arm(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n >= 32; n -= 32, p += 32) {
        crc = __crc32d(crc, load(p));
        crc = __crc32d(crc, load(p + 8));
        crc = __crc32d(crc, load(p + 16));
        crc = __crc32d(crc, load(p + 24));
    }
    for (; n >= 8; n -= 8, p += 8) crc = __crc32d(crc, load(p));
    while (n--) crc = __crc32b(crc, *p++);
    return ~crc;
}

uint32_t leat__crc32c_extend_arm(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n >= 32; n -= 32, p += 32) {
        crc = __crc32cd(crc, load(p));
        crc = __crc32cd(crc, load(p + 8));
        crc = __crc32cd(crc, load(p + 16));
        crc = __crc32cd(crc, load(p + 24));
    }
    for (; n >= 8; n -= 8, p += 8) crc = __crc32cd(crc, load(p));
    while (n--) crc = __crc32cb(crc, *p++);
    return ~crc;
}
