/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of `eval`: plain loops, which a compiler turns into whatever vectors the file that includes this is compiled for.
 * Sums, products, quotients and square roots are rounded by themselves, so all of them give the same bits. Whole numbers wrap
 * as TensorFlow's do; quotients and remainders of whole numbers are rounded down. */
#ifndef LEAT_IMAGE_EVAL_EVAL_KERNELS_H
#define LEAT_IMAGE_EVAL_EVAL_KERNELS_H

#include "base/maths.h"
#include "image/eval/eval.h"

#define EVAL_UNUSED __attribute__((unused))

/* ------------------------------------------------------------------------------------------ one value */

/* NaN stays, whichever operand it is. */
#define EVAL_LESS(type, x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
#define EVAL_MORE(type, x, y) ((x) > (y) || (x) != (x) ? (x) : (y))

/* Halves to even; beyond 2^23 there are no fractions. */
static inline float one_round_f32(float x) {
    const float size = __builtin_fabsf(x), whole = (size + 0x1p23f) - 0x1p23f;
    return __builtin_copysignf(size < 0x1p23f ? whole : size, x);
}
static inline double one_round_f64(double x) {
    const double size = __builtin_fabs(x), whole = (size + 0x1p52) - 0x1p52;
    return __builtin_copysign(size < 0x1p52 ? whole : size, x);
}
static inline float one_floor_f32(float x) {
    const float near = one_round_f32(x);
    return near > x ? near - 1.0f : near;
}
static inline double one_floor_f64(double x) {
    const double near = one_round_f64(x);
    return near > x ? near - 1.0 : near;
}
static inline double one_mod_f64(double x, double y) {
    const double r = leat__fmod(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}
static inline int64_t one_floordiv_i64(int64_t x, int64_t y) {
    if (y == -1) return (int64_t)(0 - (uint64_t)x);
    const int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
static inline int64_t one_mod_i64(int64_t x, int64_t y) {
    if (y == -1) return 0;
    const int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline int64_t one_pow_i64(int64_t x, int64_t y) {
    uint64_t power = 1, base = (uint64_t)x;
    for (; y > 0; y >>= 1, base *= base)
        if (y & 1) power *= base;
    return (int64_t)power;
}
/* As the processor converts it: what does not fit is the smallest number. */
static inline int32_t i32_of(float x) {
    return (int32_t)(x >= -0x1p31f && x < 0x1p31f ? x : -0x1p31f);
}

/* ---------------------------------------------------------------------------------------------- loops */

/* An expression of x and y for n values; either may be a single one. */
#define EVAL_BINARY(name, type, out, expr)               \
    static EVAL_UNUSED LEAT_FN_EVAL(name) {              \
        out *restrict d = dst;                           \
        const type *a = src[0], *b = src[1];             \
        if (scalars == 0) {                              \
            for (size_t k = 0; k < n; k++) {             \
                const type x = a[k], y = b[k];           \
                d[k] = (out)(expr);                      \
            }                                            \
        } else if (scalars == 2) {                       \
            const type y = *b;                           \
            for (size_t k = 0; k < n; k++) {             \
                const type x = a[k];                     \
                d[k] = (out)(expr);                      \
            }                                            \
        } else {                                         \
            const type x = *a;                           \
            for (size_t k = 0; k < n; k++) {             \
                const type y = scalars == 3 ? *b : b[k]; \
                d[k] = (out)(expr);                      \
            }                                            \
        }                                                \
        return LEAT_EVAL_FINE;                           \
    }

#define EVAL_UNARY(name, type, expr)        \
    static EVAL_UNUSED LEAT_FN_EVAL(name) { \
        (void)scalars;                      \
        type *restrict d = dst;             \
        const type *a = src[0];             \
        for (size_t k = 0; k < n; k++) {    \
            const type x = a[k];            \
            d[k] = (type)(expr);            \
        }                                   \
        return LEAT_EVAL_FINE;              \
    }

/* Whole numbers that some divisors or exponents have no result for. */
#define EVAL_CHECKED(name, type, bad, why, expr)                               \
    static EVAL_UNUSED LEAT_FN_EVAL(name) {                                    \
        type *restrict d = dst;                                                \
        const type *a = src[0], *b = src[1];                                   \
        for (size_t k = 0; k < n; k++) {                                       \
            const type x = a[scalars & 1 ? 0 : k], y = b[scalars & 2 ? 0 : k]; \
            if (bad) return why;                                               \
            d[k] = (type)(expr);                                               \
        }                                                                      \
        return LEAT_EVAL_FINE;                                                 \
    }

/* wide: where sums and products of two values do not overflow, or wrap. */
#define EVAL_ANY_TYPE(t, type, wide)                            \
    EVAL_BINARY(add_##t, type, type, (type)((wide)x + (wide)y)) \
    EVAL_BINARY(sub_##t, type, type, (type)((wide)x - (wide)y)) \
    EVAL_BINARY(mul_##t, type, type, (type)((wide)x * (wide)y)) \
    EVAL_BINARY(min_##t, type, type, EVAL_LESS(type, x, y))     \
    EVAL_BINARY(max_##t, type, type, EVAL_MORE(type, x, y))     \
    EVAL_BINARY(eq_##t, type, uint8_t, x == y)                  \
    EVAL_BINARY(ne_##t, type, uint8_t, x != y)                  \
    EVAL_BINARY(lt_##t, type, uint8_t, x < y)                   \
    EVAL_BINARY(le_##t, type, uint8_t, x <= y)

#define EVAL_SIGNED(t, type, wide)                             \
    EVAL_UNARY(abs_##t, type, x < 0 ? (type)(0 - (wide)x) : x) \
    EVAL_UNARY(sign_##t, type, x > 0 ? 1 : x < 0 ? -1 : x)

#define EVAL_WHOLE(t, type)                                                                               \
    EVAL_BINARY(and_##t, type, type, x &y)                                                                \
    EVAL_BINARY(or_##t, type, type, x | y)                                                                \
    EVAL_BINARY(xor_##t, type, type, x ^ y)                                                               \
    EVAL_CHECKED(floordiv_##t, type, y == 0, LEAT_EVAL_BY_ZERO, one_floordiv_i64((int64_t)x, (int64_t)y)) \
    EVAL_CHECKED(mod_##t, type, y == 0, LEAT_EVAL_BY_ZERO, one_mod_i64((int64_t)x, (int64_t)y))

/* Functions of base/maths.h work on doubles; a float is rounded once. */
#define EVAL_FLOAT(t, type)                                     \
    EVAL_BINARY(div_##t, type, type, x / y)                     \
    EVAL_BINARY(floordiv_##t, type, type, one_floor_##t(x / y)) \
    EVAL_BINARY(mod_##t, type, type, one_mod_f64(x, y))         \
    EVAL_BINARY(pow_##t, type, type, leat__pow(x, y))           \
    EVAL_UNARY(floor_##t, type, one_floor_##t(x))               \
    EVAL_UNARY(round_##t, type, one_round_##t(x))               \
    EVAL_UNARY(sqrt_##t, type, leat__sqrt(x))                   \
    EVAL_UNARY(exp_##t, type, leat__exp(x))                     \
    EVAL_UNARY(log_##t, type, leat__log_any(x))                 \
    EVAL_UNARY(sin_##t, type, leat__sin(x))                     \
    EVAL_UNARY(cos_##t, type, leat__cos(x))

EVAL_ANY_TYPE(f32, float, float)
EVAL_ANY_TYPE(f64, double, double)
EVAL_ANY_TYPE(u8, uint8_t, int)
EVAL_ANY_TYPE(i32, int32_t, uint32_t)
EVAL_ANY_TYPE(i64, int64_t, uint64_t)
EVAL_WHOLE(u8, uint8_t)
EVAL_WHOLE(i32, int32_t)
EVAL_WHOLE(i64, int64_t)
EVAL_SIGNED(f32, float, float)
EVAL_SIGNED(f64, double, double)
EVAL_SIGNED(i32, int32_t, uint32_t)
EVAL_SIGNED(i64, int64_t, uint64_t)
EVAL_CHECKED(pow_i32, int32_t, y < 0, LEAT_EVAL_NEGATIVE_POWER, one_pow_i64(x, y))
EVAL_CHECKED(pow_i64, int64_t, y < 0, LEAT_EVAL_NEGATIVE_POWER, one_pow_i64(x, y))
EVAL_FLOAT(f32, float)
EVAL_FLOAT(f64, double)

/* ------------------------------------------------------------------------------------- casts and sums */

#define EVAL_CAST(to_type, from_type, expr) \
    do {                                    \
        to_type *restrict d = dst;          \
        const from_type *a = src;           \
        for (size_t k = 0; k < n; k++) {    \
            const from_type x = a[k];       \
            d[k] = (to_type)(expr);         \
        }                                   \
    } while (0)

/* The pairs that pictures and labels have; the others go by way of a wide type. */
static EVAL_UNUSED LEAT_FN_EVAL_CAST(cast_pairs) {
    const int pair = from << 8 | to;
    if (pair == (LEAT_DTYPE_U8 << 8 | LEAT_DTYPE_F32)) EVAL_CAST(float, uint8_t, x);
    else if (pair == (LEAT_DTYPE_BOOL << 8 | LEAT_DTYPE_F32)) EVAL_CAST(float, uint8_t, x != 0);
    else if (pair == (LEAT_DTYPE_F32 << 8 | LEAT_DTYPE_U8)) EVAL_CAST(uint8_t, float, i32_of(x));
    else if (pair == (LEAT_DTYPE_F32 << 8 | LEAT_DTYPE_I32)) EVAL_CAST(int32_t, float, i32_of(x));
    else if (pair == (LEAT_DTYPE_I32 << 8 | LEAT_DTYPE_F32)) EVAL_CAST(float, int32_t, x);
    else if (pair == (LEAT_DTYPE_U8 << 8 | LEAT_DTYPE_I32)) EVAL_CAST(int32_t, uint8_t, x);
    else if (pair == (LEAT_DTYPE_F32 << 8 | LEAT_DTYPE_F64)) EVAL_CAST(double, float, x);
    else if (pair == (LEAT_DTYPE_F64 << 8 | LEAT_DTYPE_F32)) EVAL_CAST(float, double, x);
    else leat__eval_cast_any(dst, to, src, from, n);
}

static EVAL_UNUSED LEAT_FN_EVAL_SUM(sum_lanes) {
    size_t k = 0;
    for (; k + lanes <= n; k += lanes)
        for (size_t l = 0; l < lanes; l++) lane[l] += (double)src[k + l];
    for (size_t l = 0; k + l < n; l++) lane[l] += (double)src[k + l];
}

/* --------------------------------------------------------------------------------------------- chains */

enum { EVAL_BLOCK = 64 }; /* values that pass through a chain together */

#define EVAL_LINK(expr)                                                       \
    for (size_t k = 0; k < n; k++) {                                          \
        const float z = link->single ? *link->with : link->with[k];           \
        const float x = link->turned ? z : v[k], y = link->turned ? v[k] : z; \
        v[k] = (expr);                                                        \
    }                                                                         \
    break

static inline void link_block(float *v, const leat__eval_link *link, size_t n) {
    switch (link->op) {
    case LEAT_EVAL_ADD: EVAL_LINK(x + y);
    case LEAT_EVAL_SUB: EVAL_LINK(x - y);
    case LEAT_EVAL_MUL: EVAL_LINK(x * y);
    case LEAT_EVAL_DIV: EVAL_LINK(x / y);
    case LEAT_EVAL_MIN: EVAL_LINK(EVAL_LESS(float, x, y));
    default: EVAL_LINK(EVAL_MORE(float, x, y));
    }
}

static EVAL_UNUSED LEAT_FN_EVAL_CHAIN(chain_blocks) {
    (void)stream;
    for (size_t at = 0; at < n; at += EVAL_BLOCK) {
        const size_t m = LEAT_MIN(n - at, (size_t)EVAL_BLOCK);
        float v[EVAL_BLOCK];
        for (size_t k = 0; k < m; k++)
            v[k] = from == LEAT_DTYPE_U8 ? ((const uint8_t *)src)[at + k] : ((const float *)src)[at + k];
        for (int i = 0; i < n_links; i++) {
            leat__eval_link here = link[i];
            if (!here.single) here.with += at;
            link_block(v, &here, m);
        }
        memcpy(dst + at, v, m * sizeof *v);
    }
}

#define EVAL_ROW_ANY(name) \
    { name##_f32, name##_f64, name##_u8, name##_i32, name##_i64 }
#define EVAL_ROW_WHOLE(name) \
    { NULL, NULL, name##_u8, name##_i32, name##_i64 }
#define EVAL_ROW_SIGNED(name) \
    { name##_f32, name##_f64, NULL, name##_i32, name##_i64 }
#define EVAL_ROW_FLOAT(name) \
    { name##_f32, name##_f64 }
/* The table of the file that includes this. */
#define EVAL_TABLE                                                                          \
    {                                                                                       \
        .fn = {[LEAT_EVAL_ADD] = EVAL_ROW_ANY(add),                                         \
               [LEAT_EVAL_SUB] = EVAL_ROW_ANY(sub),                                         \
               [LEAT_EVAL_MUL] = EVAL_ROW_ANY(mul),                                         \
               [LEAT_EVAL_DIV] = EVAL_ROW_FLOAT(div),                                       \
               [LEAT_EVAL_FLOORDIV] = EVAL_ROW_ANY(floordiv),                               \
               [LEAT_EVAL_MOD] = EVAL_ROW_ANY(mod),                                         \
               [LEAT_EVAL_POW] = EVAL_ROW_SIGNED(pow),                                      \
               [LEAT_EVAL_MIN] = EVAL_ROW_ANY(min),                                         \
               [LEAT_EVAL_MAX] = EVAL_ROW_ANY(max),                                         \
               [LEAT_EVAL_AND] = EVAL_ROW_WHOLE(and),                                       \
               [LEAT_EVAL_OR] = EVAL_ROW_WHOLE(or),                                         \
               [LEAT_EVAL_XOR] = EVAL_ROW_WHOLE(xor),                                       \
               [LEAT_EVAL_EQ] = EVAL_ROW_ANY(eq),                                           \
               [LEAT_EVAL_NE] = EVAL_ROW_ANY(ne),                                           \
               [LEAT_EVAL_LT] = EVAL_ROW_ANY(lt),                                           \
               [LEAT_EVAL_LE] = EVAL_ROW_ANY(le),                                           \
               [LEAT_EVAL_ABS] = EVAL_ROW_SIGNED(abs),                                      \
               [LEAT_EVAL_SIGN] = EVAL_ROW_SIGNED(sign),                                    \
               [LEAT_EVAL_FLOOR] = EVAL_ROW_FLOAT(floor),                                   \
               [LEAT_EVAL_ROUND] = EVAL_ROW_FLOAT(round),                                   \
               [LEAT_EVAL_SQRT] = EVAL_ROW_FLOAT(sqrt),                                     \
               [LEAT_EVAL_EXP] = EVAL_ROW_FLOAT(exp),                                       \
               [LEAT_EVAL_LOG] = EVAL_ROW_FLOAT(log),                                       \
               [LEAT_EVAL_SIN] = EVAL_ROW_FLOAT(sin),                                       \
               [LEAT_EVAL_COS] = EVAL_ROW_FLOAT(cos)},                                      \
        .cast = cast_pairs, .sum = sum_lanes, .stream = stream_bytes, .chain = chain_values \
    }

#endif
