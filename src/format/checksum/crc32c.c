/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C in plain C, eight bytes a step, and the choice of the fastest one.
 *
 * Polynomials over GF(2) are kept reflected, as the checksum is: bit 31 is x^0, bit 0 is x^31. A step by one
 * byte multiplies by x^8 modulo P = 0x82f63b78, and since that is linear, a table entry is the sum of the
 * entries of its bits. The tables are therefore spelled as eight powers of x each, and the compiler makes the
 * rest. */
#include "format/crc32c.h"

#include "base/cpu.h"
#include "format/checksum/crc_table.h"

/* table[k][b]: byte b followed by k zero bytes. Row k lists x^(39+8k) down to x^(32+8k). */
static const uint32_t table[8][256] = {
    LEAT_CRC_TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,
                   0x82f63b78),
    LEAT_CRC_TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,
                   0xfbc3faf9),
    LEAT_CRC_TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,
                   0x8b277743),
    LEAT_CRC_TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,
                   0x52a0c93f),
    LEAT_CRC_TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,
                   0x6ea2d55c),
    LEAT_CRC_TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,
                   0x1c08b7d6),
    LEAT_CRC_TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,
                   0xf56e0ef4),
    LEAT_CRC_TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,
                   0x34019664),
};

uint32_t leat__crc32c_extend_c(uint32_t crc, const void *bytes, size_t n) {
    return leat__crc_by_table(table, crc, bytes, n);
}

uint32_t leat__crc32c_extend(uint32_t crc, const void *bytes, size_t n) {
#if defined(__x86_64__)
    const unsigned flags = leat__cpu_flags();
    if (LEAT_LIKELY(flags & LEAT_CPU_SSE42)) {
        if (flags & LEAT_CPU_VPCLMUL) return leat__crc32c_extend_vpclmul(crc, bytes, n);
        return leat__crc32c_extend_sse42(crc, bytes, n);
    }
#elif defined(__aarch64__)
    if (LEAT_LIKELY(leat__cpu_flags() & LEAT_CPU_ARM_CRC)) return leat__crc32c_extend_arm(crc, bytes, n);
#endif
    return leat__crc32c_extend_c(crc, bytes, n);
}

uint32_t leat__crc32c_masked(const void *bytes, size_t n) {
    return leat__crc32c_mask(leat__crc32c_extend(0, bytes, n));
}

/* a * b modulo P. */
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (int i = 31; i >= 0; i--) {
        product ^= b & (0u - (a >> i & 1));
        b = b >> 1 ^ (0x82f63b78u & (0u - (b & 1)));
    }
    return product;
}

uint32_t leat__crc32c_shift(uint32_t crc, uint64_t n) {
    /* x^(2^k). The order of x modulo P is 2^31 - 1: x^(2^31) is x again, and 31 entries serve any n. */
    static const uint32_t power[31] = {
        0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c, 0x18b8ea18,
        0x510ac59a, 0xb82be955, 0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a, 0x35d73a62,
        0x28461564, 0xbf455269, 0xe2ea32dc, 0xfe7740e6, 0xf946610b, 0x3c204f8f, 0x538586e3, 0x59726915,
        0x734d5309, 0xbc1ac763, 0x7d0722cc, 0xd289cabe, 0xe94ca9bc, 0x05b74f3f, 0xa51e1f42,
    };
    for (int k = 3; n; n >>= 1, k = k == 30 ? 0 : k + 1) /* from 3: a byte is x^8 */
        if (n & 1) crc = multiply(crc, power[k]);
    return crc;
}
