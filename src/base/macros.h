/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros and inline functions used everywhere. */
#ifndef LEAT_BASE_MACROS_H
#define LEAT_BASE_MACROS_H

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEAT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LEAT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LEAT_MAX(a, b) ((a) > (b) ? (a) : (b))
#define LEAT_CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define LEAT_ALIGN_UP(x, to) (((x) + (to)-1) / (to) * (to))

#define LEAT_CACHE_LINE 64
#define LEAT_ALIGNED(n) __attribute__((aligned(n)))
#define LEAT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define LEAT_UNUSED __attribute__((unused))
#define LEAT_LIKELY(x) __builtin_expect(!!(x), 1)
#define LEAT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Products and sums of sizes that came from a file or a caller; false when they do not fit. */
static inline bool leat__mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool leat__add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Little-endian loads and stores at any alignment: file formats are little-endian, hosts need not be. */
static inline uint16_t leat__load_u16(const void *p) {
    const uint8_t *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t leat__load_u32(const void *p) {
    const uint8_t *b = p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t leat__load_u64(const void *p) {
    const uint8_t *b = p;
    return leat__load_u32(b) | (uint64_t)leat__load_u32(b + 4) << 32;
}
/* Big-endian, as bit readers load their streams, by one load. */
static inline __attribute__((always_inline)) uint64_t leat__load_be64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}
static inline void leat__store_u16(void *p, uint16_t v) {
    uint8_t *b = p;
    b[0] = (uint8_t)v, b[1] = (uint8_t)(v >> 8);
}
static inline void leat__store_u32(void *p, uint32_t v) {
    uint8_t *b = p;
    for (int i = 0; i < 4; i++) b[i] = (uint8_t)(v >> 8 * i);
}
static inline void leat__store_u64(void *p, uint64_t v) {
    uint8_t *b = p;
    for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> 8 * i);
}

#endif
