/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), the checksum of TFRecord and of our own files. */
#ifndef LEAT_FORMAT_CRC32C_H
#define LEAT_FORMAT_CRC32C_H

#include "base/macros.h"

/* The checksum of bytes with the checksum crc, followed by bytes[0, n). Start with 0. */
typedef uint32_t leat__crc32c_fn(uint32_t crc, const void *bytes, size_t n);

leat__crc32c_fn leat__crc32c_extend;
leat__crc32c_fn leat__crc32c_extend_c;       /* the specification */
leat__crc32c_fn leat__crc32c_extend_sse42;   /* only where leat__cpu_flags() has LEAT_CPU_SSE42 */
leat__crc32c_fn leat__crc32c_extend_vpclmul; /* only where it has that and LEAT_CPU_VPCLMUL */
leat__crc32c_fn leat__crc32c_extend_arm;     /* only where it has LEAT_CPU_ARM_CRC */
/* Constants of the second, here for the test that computes them. */
extern const uint32_t leat__crc32c_fold_power[3][2], leat__crc32c_lane_power[192];

/* The checksum as TFRecord stores it: rotated and shifted, so that a checksum may itself be checksummed. */
static inline uint32_t leat__crc32c_mask(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
uint32_t leat__crc32c_masked(const void *bytes, size_t n);

/* What a front part with this checksum adds to the checksum of the whole, when n bytes follow it:
 * crc(A B) == leat__crc32c_shift(crc(A), size of B) ^ crc(B). So crc(B) can be had from crc(A B) and crc(A)
 * without looking at B. Takes time in the number of bits of n. */
uint32_t leat__crc32c_shift(uint32_t crc, uint64_t n);

#endif
