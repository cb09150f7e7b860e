/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 in plain C, eight bytes a step, and the choice of the fastest one. Polynomials are kept as in crc32c.c; P is
 * 0xedb88320. */
#include "format/checksum.h"

#include "base/cpu.h"
#include "format/checksum/crc_table.h"

/* table[k][b]: byte b followed by k zero bytes. Row k lists x^(39+8k) down to x^(32+8k). */
static const uint32_t table[8][256] = {
    LEAT_CRC_TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
                   0xedb88320),
    LEAT_CRC_TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
                   0x3b83984b),
    LEAT_CRC_TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
                   0xe1351b80),
    LEAT_CRC_TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
                   0xed59b63b),
    LEAT_CRC_TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
                   0xb1e6b092),
    LEAT_CRC_TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
                   0x1eb014d8),
    LEAT_CRC_TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
                   0x8816eaf2),
    LEAT_CRC_TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
                   0x533b85da),
};

uint32_t leat__crc32_c(uint32_t crc, const void *bytes, size_t n) {
    return leat__crc_by_table(table, crc, bytes, n);
}

uint32_t leat__crc32(uint32_t crc, const void *bytes, size_t n) {
#if defined(__x86_64__)
    const unsigned flags = leat__cpu_flags();
    if (LEAT_LIKELY(flags & LEAT_CPU_SSE42)) {
        if (flags & LEAT_CPU_VPCLMUL) return leat__crc32_vpclmul(crc, bytes, n);
        return leat__crc32_sse42(crc, bytes, n);
    }
#elif defined(__aarch64__)
    if (LEAT_LIKELY(leat__cpu_flags() & LEAT_CPU_ARM_CRC)) return leat__crc32_arm(crc, bytes, n);
#endif
    return leat__crc32_c(crc, bytes, n);
}
