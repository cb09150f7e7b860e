/* SPDX-License-Identifier: Apache-2.0 */
/* Any type to any other by way of a wide one: i64, u64 or f64 hold every value of every type exactly. Blocks
 * keep the wide values in the first cache; the usual pairs have loops of their own. */
#include "image/pass/convert.h"

#define BLOCK 256

typedef enum wide_kind { WIDE_I64, WIDE_U64, WIDE_F64 } wide_kind;

typedef struct wide {
    wide_kind kind;
    union {
        int64_t i[BLOCK];
        uint64_t u[BLOCK];
        double f[BLOCK];
    };
} wide;

static double double_from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double f64_from_bf16(uint16_t h) {
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double f64_from_f16(uint16_t h) {
    const uint64_t sign = (uint64_t)(h >> 15) << 63;
    const unsigned exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return double_from_bits(sign | (uint64_t)0x7ff << 52 | (uint64_t)fraction << 42);
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24 */
        const double x = (double)fraction * 0x1p-24;
        return sign ? -x : x;
    }
    return double_from_bits(sign | (uint64_t)(exponent + 1023 - 15) << 52 | (uint64_t)fraction << 42);
}

/* Nearest even, in a format with the given bits of fraction and of exponent; at most 16 bits in all. */
static uint16_t narrow(double x, unsigned fraction_bits, unsigned exponent_bits) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const unsigned sign = (unsigned)(bits >> 63) << (fraction_bits + exponent_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 1024) { /* a NaN keeps its top bits and is quiet */
        const unsigned top = (unsigned)(fraction >> (52 - fraction_bits));
        return (uint16_t)(sign | infinity | (fraction ? top | 1u << (fraction_bits - 1) : 0));
    }
    unsigned shift = 52 - fraction_bits, base = 0;
    if (exponent > bias) return (uint16_t)(sign | infinity);
    fraction |= (uint64_t)1 << 52;
    if (exponent >= 1 - bias) {
        base = (unsigned)(exponent + bias - 1) << fraction_bits; /* the leading one adds the last step */
    } else { /* subnormal; an f64 subnormal lies far below and may be taken for one more small number */
        shift += (unsigned)(1 - bias - exponent);
        if (shift > 63) return (uint16_t)sign;
    }
    const uint64_t half = (uint64_t)1 << (shift - 1), rest = fraction & ((half << 1) - 1);
    uint64_t kept = fraction >> shift;
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return (uint16_t)(sign | LEAT_MIN(base + (unsigned)kept, infinity));
}

/* A double that rounds to a narrower type as x does: the lost bits stay visible in the last one. */
static double sticky(uint64_t x) {
    if (x >> 53) x = (x >> 11 | ((x & 2047) != 0)) << 11;
    return (double)x;
}

static double wide_sticky(const wide *w, size_t k) {
    if (w->kind == WIDE_F64) return w->f[k];
    if (w->kind == WIDE_U64) return sticky(w->u[k]);
    return w->i[k] < 0 ? -sticky(0 - (uint64_t)w->i[k]) : sticky((uint64_t)w->i[k]);
}

static double wide_f64(const wide *w, size_t k) {
    return w->kind == WIDE_F64 ? w->f[k] : w->kind == WIDE_U64 ? (double)w->u[k] : (double)w->i[k];
}

static float wide_f32(const wide *w, size_t k) {
    return w->kind == WIDE_F64 ? (float)w->f[k] : w->kind == WIDE_U64 ? (float)w->u[k] : (float)w->i[k];
}

static bool wide_true(const wide *w, size_t k) {
    return w->kind == WIDE_F64 ? w->f[k] != 0.0 : w->u[k] != 0;
}

static int64_t wide_clamped(const wide *w, size_t k, int64_t min, int64_t max) {
    if (w->kind == WIDE_I64) return LEAT_CLAMP(w->i[k], min, max);
    if (w->kind == WIDE_U64) return w->u[k] > (uint64_t)max ? max : (int64_t)w->u[k];
    const double x = w->f[k];
    if (x != x) return 0;
    if (x <= (double)min) return min;
    return x >= (double)max ? max : (int64_t)x;
}

static uint64_t wide_u64(const wide *w, size_t k) {
    if (w->kind == WIDE_I64) return w->i[k] < 0 ? 0 : (uint64_t)w->i[k];
    if (w->kind == WIDE_U64) return w->u[k];
    const double x = w->f[k];
    return !(x > 0.0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

#define LOAD(type, member, expr)                  \
    for (size_t k = 0; k < n; k++) {              \
        type v;                                   \
        memcpy(&v, src + k * sizeof v, sizeof v); \
        w->member[k] = (expr);                    \
    }                                             \
    break

static void load(wide *w, int dtype, const uint8_t *src, size_t n) {
    w->kind = dtype == LEAT_DTYPE_U64 ? WIDE_U64
              : dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16 || dtype == LEAT_DTYPE_F32 ||
                      dtype == LEAT_DTYPE_F64
                  ? WIDE_F64
                  : WIDE_I64;
    switch (dtype) {
    case LEAT_DTYPE_U8: LOAD(uint8_t, i, v);
    case LEAT_DTYPE_I8: LOAD(int8_t, i, v);
    case LEAT_DTYPE_U16: LOAD(uint16_t, i, v);
    case LEAT_DTYPE_I16: LOAD(int16_t, i, v);
    case LEAT_DTYPE_U32: LOAD(uint32_t, i, v);
    case LEAT_DTYPE_I32: LOAD(int32_t, i, v);
    case LEAT_DTYPE_U64: LOAD(uint64_t, u, v);
    case LEAT_DTYPE_I64: LOAD(int64_t, i, v);
    case LEAT_DTYPE_F16: LOAD(uint16_t, f, f64_from_f16(v));
    case LEAT_DTYPE_BF16: LOAD(uint16_t, f, f64_from_bf16(v));
    case LEAT_DTYPE_F32: LOAD(float, f, v);
    case LEAT_DTYPE_F64: LOAD(double, f, v);
    default: LOAD(uint8_t, i, v != 0); /* bool */
    }
}

#define SAVE(type, expr)                          \
    for (size_t k = 0; k < n; k++) {              \
        const type v = (type)(expr);              \
        memcpy(dst + k * sizeof v, &v, sizeof v); \
    }                                             \
    break

static void save(uint8_t *dst, int dtype, const wide *w, size_t n) {
    switch (dtype) {
    case LEAT_DTYPE_U8: SAVE(uint8_t, wide_clamped(w, k, 0, UINT8_MAX));
    case LEAT_DTYPE_I8: SAVE(int8_t, wide_clamped(w, k, INT8_MIN, INT8_MAX));
    case LEAT_DTYPE_U16: SAVE(uint16_t, wide_clamped(w, k, 0, UINT16_MAX));
    case LEAT_DTYPE_I16: SAVE(int16_t, wide_clamped(w, k, INT16_MIN, INT16_MAX));
    case LEAT_DTYPE_U32: SAVE(uint32_t, wide_clamped(w, k, 0, UINT32_MAX));
    case LEAT_DTYPE_I32: SAVE(int32_t, wide_clamped(w, k, INT32_MIN, INT32_MAX));
    case LEAT_DTYPE_U64: SAVE(uint64_t, wide_u64(w, k));
    case LEAT_DTYPE_I64: SAVE(int64_t, wide_clamped(w, k, INT64_MIN, INT64_MAX));
    case LEAT_DTYPE_F16: SAVE(uint16_t, narrow(wide_sticky(w, k), 10, 5));
    case LEAT_DTYPE_BF16: SAVE(uint16_t, narrow(wide_sticky(w, k), 7, 8));
    case LEAT_DTYPE_F32: SAVE(float, wide_f32(w, k));
    case LEAT_DTYPE_F64: SAVE(double, wide_f64(w, k));
    default: SAVE(uint8_t, wide_true(w, k)); /* bool */
    }
}

static size_t size_of(int dtype) {
    static const uint8_t sizes[LEAT_DTYPE_BYTES] = {
        [LEAT_DTYPE_U8] = 1,   [LEAT_DTYPE_I8] = 1,   [LEAT_DTYPE_U16] = 2, [LEAT_DTYPE_I16] = 2,
        [LEAT_DTYPE_U32] = 4,  [LEAT_DTYPE_I32] = 4,  [LEAT_DTYPE_U64] = 8, [LEAT_DTYPE_I64] = 8,
        [LEAT_DTYPE_F16] = 2,  [LEAT_DTYPE_BF16] = 2, [LEAT_DTYPE_F32] = 4, [LEAT_DTYPE_F64] = 8,
        [LEAT_DTYPE_BOOL] = 1,
    };
    return dtype >= 0 && dtype < LEAT_DTYPE_BYTES ? sizes[dtype] : 0;
}

/* In f32: the values of narrow types are exact in it. */
static void affine_f32(wide *w, size_t n, float scale, float offset) {
    for (size_t k = 0; k < n; k++) {
        const float product = wide_f32(w, k) * scale;
        const float sum = product + offset;
        w->f[k] = sum;
    }
    w->kind = WIDE_F64;
}

static void affine_f64(wide *w, size_t n, double scale, double offset) {
    for (size_t k = 0; k < n; k++) {
        const double product = wide_f64(w, k) * scale;
        const double sum = product + offset;
        w->f[k] = sum;
    }
    w->kind = WIDE_F64;
}

static bool affine_in_f64(int dst_dtype, int src_dtype) {
    return dst_dtype == LEAT_DTYPE_F64 || src_dtype == LEAT_DTYPE_F64 ||
           (src_dtype >= LEAT_DTYPE_U32 && src_dtype <= LEAT_DTYPE_I64);
}

static void u8_to_f32(uint8_t *dst, const uint8_t *src, size_t n, float scale, float offset) {
    for (size_t k = 0; k < n; k++) {
        const float product = (float)src[k] * scale;
        const float sum = product + offset;
        memcpy(dst + k * sizeof sum, &sum, sizeof sum);
    }
}

int leat__convert(void *dst, int dst_dtype, const void *src, int src_dtype, size_t n, bool affine,
                  double scale, double offset) {
    const size_t to = size_of(dst_dtype), from = size_of(src_dtype);
    if (!to || !from) return LEAT_ERR_TYPE;
    uint8_t *out = dst;
    const uint8_t *in = src;
    if (!affine && dst_dtype == src_dtype && dst_dtype != LEAT_DTYPE_BOOL) {
        if (n) memcpy(out, in, n * to);
        return 0;
    }
    if (src_dtype == LEAT_DTYPE_U8 && dst_dtype == LEAT_DTYPE_F32) {
        u8_to_f32(out, in, n, affine ? (float)scale : 1.0f, affine ? (float)offset : -0.0f);
        return 0;
    }
    wide w;
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t m = LEAT_MIN(n - done, (size_t)BLOCK);
        load(&w, src_dtype, in + done * from, m);
        if (affine) {
            if (affine_in_f64(dst_dtype, src_dtype)) affine_f64(&w, m, scale, offset);
            else affine_f32(&w, m, (float)scale, (float)offset);
        }
        save(out + done * to, dst_dtype, &w, m);
    }
    return 0;
}
