/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C with the processor's own instruction. It takes eight bytes in three cycles but can start one every
 * cycle, so three stretches of `lane` bytes run side by side:
 *
 *     | lane 0, crc so far | lane 1, from 0 | lane 2, from 0 |
 *
 * and are put together at the end: the checksum of lane 0 has to move on by two lanes and that of lane 1 by
 * one. To move on by n bits is to multiply by x^n. A carry-less product of two reflected values comes out
 * shifted by one (a factor x), and feeding it to the instruction multiplies by x^32 and reduces, hence the
 * constants x^(n - 33). Both products are added to the last eight bytes of lane 2, which saves a step. */
#if defined(__x86_64__)

#include "format/crc32c.h"

#include <nmmintrin.h>
#include <wmmintrin.h>

typedef struct lane_size {
    size_t bytes;
    uint32_t by_two, by_one; /* x^(16 bytes - 33), x^(8 bytes - 33) modulo P */
} lane_size;

static inline uint64_t load(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t product(uint64_t crc, uint32_t power) {
    const __m128i a = _mm_cvtsi64_si128((long long)crc), b = _mm_cvtsi64_si128((long long)power);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0));
}

/* As many three-lane blocks of this size as there are; p and n move on. */
static inline uint64_t blocks(uint64_t crc, const uint8_t **p, size_t *n, const lane_size lane) {
    while (*n >= 3 * lane.bytes) {
        const uint8_t *q0 = *p, *q1 = q0 + lane.bytes, *q2 = q1 + lane.bytes, *const stop = q1 - 8;
        uint64_t crc1 = 0, crc2 = 0;
        for (; q0 < stop; q0 += 8, q1 += 8, q2 += 8) {
            crc = _mm_crc32_u64(crc, load(q0));
            crc1 = _mm_crc32_u64(crc1, load(q1));
            crc2 = _mm_crc32_u64(crc2, load(q2));
        }
        crc = _mm_crc32_u64(crc, load(q0));
        crc1 = _mm_crc32_u64(crc1, load(q1));
        crc = _mm_crc32_u64(crc2, load(q2) ^ product(crc, lane.by_two) ^ product(crc1, lane.by_one));
        *p += 3 * lane.bytes;
        *n -= 3 * lane.bytes;
    }
    return crc;
}

uint32_t leat__crc32c_extend_sse42(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint64_t c = (uint32_t)~crc;
    if (n >= 3 * 64) {
        c = blocks(c, &p, &n, (lane_size){4096, 0x54a86326, 0x82f89c77});
        c = blocks(c, &p, &n, (lane_size){512, 0x170076fa, 0xdd7e3b0c});
        c = blocks(c, &p, &n, (lane_size){64, 0x0d3b6092, 0x9e4addf8});
    }
    for (; n >= 8; n -= 8, p += 8) c = _mm_crc32_u64(c, load(p));
    uint32_t tail = (uint32_t)c;
    while (n--) tail = _mm_crc32_u8(tail, *p++);
    return ~tail;
}

#else
typedef int leat__no_x86; /* an empty file is not C */
#endif
