/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C, and casts between any two types. */
#include "image/eval/eval_kernels.h"

#include "base/cpu.h"
#include "image/pass/convert.h"
#ifdef LEAT_CPU_WIDE
#include "image/x86/image_x86.h"
#endif

static LEAT_FN_EVAL_STREAM(stream_bytes) {
    memcpy(dst, src, bytes);
}

static LEAT_FN_EVAL_CHAIN(chain_values) {
    chain_blocks(dst, src, from, n, link, n_links, stream);
}

static const leat__eval_kernels plain = EVAL_TABLE;

const leat__eval_kernels *leat__eval_kernels_c(void) {
    return &plain;
}

const leat__eval_kernels *leat__eval_kernels_for(unsigned cpu_flags) {
#ifdef LEAT_CPU_WIDE
    if (cpu_flags & LEAT_CPU_WIDE) return leat__eval_kernels_avx2();
#else
    (void)cpu_flags;
#endif
    return &plain;
}

/* ---------------------------------------------------------------------------------------------- casts */

enum { BLOCK = 256 };

static bool is_float(int dtype) {
    return dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16 || dtype == LEAT_DTYPE_F32 ||
           dtype == LEAT_DTYPE_F64;
}

#define LOAD(type)                                                            \
    for (size_t k = 0; k < n; k++) wide[k] = (int64_t)((const type *)src)[k]; \
    break

static void load_whole(int64_t *wide, const void *src, int from, size_t n) {
    switch (from) {
    case LEAT_DTYPE_BOOL: /* any byte but 0 is true */
        for (size_t k = 0; k < n; k++) wide[k] = ((const uint8_t *)src)[k] != 0;
        break;
    case LEAT_DTYPE_U8: LOAD(uint8_t);
    case LEAT_DTYPE_I8: LOAD(int8_t);
    case LEAT_DTYPE_U16: LOAD(uint16_t);
    case LEAT_DTYPE_I16: LOAD(int16_t);
    case LEAT_DTYPE_U32: LOAD(uint32_t);
    case LEAT_DTYPE_I32: LOAD(int32_t);
    default: LOAD(int64_t); /* u64 keeps its bits */
    }
}

#define STORE(type)                                                            \
    for (size_t k = 0; k < n; k++) ((type *)dst)[k] = (type)(uint64_t)wide[k]; \
    break

static void store_whole(void *dst, int to, const int64_t *wide, size_t n) {
    switch (to) {
    case LEAT_DTYPE_U8: STORE(uint8_t);
    case LEAT_DTYPE_I8: STORE(int8_t);
    case LEAT_DTYPE_U16: STORE(uint16_t);
    case LEAT_DTYPE_I16: STORE(int16_t);
    case LEAT_DTYPE_U32: STORE(uint32_t);
    case LEAT_DTYPE_I32: STORE(int32_t);
    default: STORE(int64_t);
    }
}

/* Toward zero. Types of up to 32 bits get the last bits of an i32, larger ones those of an i64. */
static int64_t whole_of(double x, int to) {
    const bool large = to == LEAT_DTYPE_I64 || to == LEAT_DTYPE_U64 || to == LEAT_DTYPE_U32;
    if (to == LEAT_DTYPE_U64 && x >= 0x1p63 && x < 0x1p64) return (int64_t)(uint64_t)x;
    if (large) return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
    return x >= -0x1p31 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}

static void cast_block(void *dst, int to, const void *src, int from, size_t n) {
    if (is_float(to) || to == LEAT_DTYPE_BOOL) { /* rounded once; bool is "not 0" */
        leat__convert(dst, to, src, from, n, false, 1, 0);
        return;
    }
    int64_t wide[BLOCK];
    if (is_float(from)) {
        double x[BLOCK];
        leat__convert(x, LEAT_DTYPE_F64, src, from, n, false, 1, 0);
        for (size_t k = 0; k < n; k++) wide[k] = whole_of(x[k], to);
    } else load_whole(wide, src, from, n);
    store_whole(dst, to, wide, n);
}

LEAT_FN_EVAL_CAST(leat__eval_cast_any) {
    const size_t out = leat_dtype_size(to), in = leat_dtype_size(from);
    for (size_t at = 0; at < n; at += BLOCK)
        cast_block((uint8_t *)dst + at * out, to, (const uint8_t *)src + at * in, from,
                   LEAT_MIN(n - at, (size_t)BLOCK));
}
