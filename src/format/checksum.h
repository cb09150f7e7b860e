/* SPDX-License-Identifier: Apache-2.0 */
/* The checksums of GZIP, zip and PNG (CRC-32) and of ZLIB (Adler-32). CRC-32C is in crc32c.h. */
#ifndef LEAT_FORMAT_CHECKSUM_H
#define LEAT_FORMAT_CHECKSUM_H

#include "base/macros.h"

/* The checksum of bytes with the checksum sum, followed by bytes[0, n). CRC-32 starts with 0, Adler-32 with 1. */
typedef uint32_t leat__checksum_fn(uint32_t sum, const void *bytes, size_t n);

leat__checksum_fn leat__crc32, leat__adler32;
leat__checksum_fn leat__crc32_c, leat__adler32_c; /* the specification */
/* Each only where leat__cpu_flags() has the flag of its name; leat__crc32_vpclmul where it has that of leat__crc32_sse42 too. */
leat__checksum_fn leat__crc32_sse42, leat__crc32_vpclmul, leat__crc32_arm, leat__adler32_avx2;
/* Constants of the first two, here for the test that computes them. */
extern const uint32_t leat__crc32_fold_power[2][2], leat__crc32_wide_power[3][2];

#endif
