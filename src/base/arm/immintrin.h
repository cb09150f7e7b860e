/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2's names in NEON. The files under x86 whose names end in _avx2 are compiled for ARM as they are and find this header
 * where a compiler for x86 has its own. A register of 256 bits is two of 128, and AVX2 does nearly everything in these
 * halves, so most functions are those of sse.h, twice. All results are AVX2's, bit for bit, also for NaN and numbers that
 * are too large. What the kernels use is here and nothing else. */
#ifndef LEAT_BASE_ARM_IMMINTRIN_H
#define LEAT_BASE_ARM_IMMINTRIN_H

#include "base/arm/sse.h"

typedef struct __attribute__((may_alias)) leat_m256i {
    __m128i lo, hi;
} __m256i;
typedef struct __attribute__((may_alias)) leat_m256 {
    __m128 lo, hi;
} __m256;
typedef struct __attribute__((may_alias)) leat_m256d {
    __m128d lo, hi;
} __m256d;

/* Functions of one, two or three registers that do the same in both halves; a and b are a half each. */
#define LEAT_NEON_HALVES_1(type, name, expression) \
    LEAT_NEON type _mm256_##name(type x) {         \
        type r;                                    \
        {                                          \
            const typeof(x.lo) a = x.lo;           \
            r.lo = (expression);                   \
        }                                          \
        {                                          \
            const typeof(x.lo) a = x.hi;           \
            r.hi = (expression);                   \
        }                                          \
        return r;                                  \
    }
#define LEAT_NEON_HALVES_2(type, name, expression) \
    LEAT_NEON type _mm256_##name(type x, type y) { \
        type r;                                    \
        {                                          \
            const typeof(x.lo) a = x.lo, b = y.lo; \
            r.lo = (typeof(x.lo))(expression);     \
        }                                          \
        {                                          \
            const typeof(x.lo) a = x.hi, b = y.hi; \
            r.hi = (typeof(x.lo))(expression);     \
        }                                          \
        return r;                                  \
    }
#define LEAT_NEON_TWICE(name, half) LEAT_NEON_HALVES_2(__m256i, name, _mm_##half(a, b))
#define LEAT_NEON_SAME(name) LEAT_NEON_TWICE(name, name)

/* ----------------------------------------------------------------------------------- whole numbers */

LEAT_NEON_TWICE(and_si256, and_si128)
LEAT_NEON_TWICE(or_si256, or_si128)
LEAT_NEON_TWICE(xor_si256, xor_si128)
LEAT_NEON_TWICE(andnot_si256, andnot_si128)
LEAT_NEON_SAME(add_epi8)
LEAT_NEON_SAME(add_epi16)
LEAT_NEON_SAME(add_epi32)
LEAT_NEON_SAME(add_epi64)
LEAT_NEON_SAME(sub_epi16)
LEAT_NEON_SAME(sub_epi32)
LEAT_NEON_SAME(mullo_epi16)
LEAT_NEON_SAME(mullo_epi32)
LEAT_NEON_SAME(mulhi_epi16)
LEAT_NEON_SAME(mulhi_epu16)
LEAT_NEON_SAME(mulhrs_epi16)
LEAT_NEON_SAME(madd_epi16)
LEAT_NEON_SAME(maddubs_epi16)
LEAT_NEON_SAME(sad_epu8)
LEAT_NEON_SAME(hadd_epi32)
LEAT_NEON_SAME(min_epu8)
LEAT_NEON_SAME(max_epu8)
LEAT_NEON_SAME(max_epu16)
LEAT_NEON_SAME(min_epi32)
LEAT_NEON_SAME(min_epu32)
LEAT_NEON_SAME(adds_epi8)
LEAT_NEON_SAME(adds_epu8)
LEAT_NEON_SAME(subs_epi8)
LEAT_NEON_SAME(subs_epu8)
LEAT_NEON_SAME(subs_epu16)
LEAT_NEON_SAME(avg_epu8)
LEAT_NEON_SAME(cmpeq_epi8)
LEAT_NEON_SAME(cmpeq_epi32)
LEAT_NEON_SAME(cmpgt_epi8)
LEAT_NEON_SAME(sllv_epi32)
LEAT_NEON_SAME(packs_epi16)
LEAT_NEON_SAME(packs_epi32)
LEAT_NEON_SAME(packus_epi16)
LEAT_NEON_SAME(packus_epi32)
LEAT_NEON_SAME(unpacklo_epi8)
LEAT_NEON_SAME(unpackhi_epi8)
LEAT_NEON_SAME(unpacklo_epi16)
LEAT_NEON_SAME(unpackhi_epi16)
LEAT_NEON_SAME(unpacklo_epi32)
LEAT_NEON_SAME(unpackhi_epi32)
LEAT_NEON_SAME(unpacklo_epi64)
LEAT_NEON_SAME(unpackhi_epi64)
LEAT_NEON_SAME(shuffle_epi8)
LEAT_NEON_HALVES_1(__m256i, abs_epi16, _mm_abs_epi16(a))
LEAT_NEON_HALVES_2(__m256i, mul_epu32, vmull_u32(vmovn_u64(U64(a)), vmovn_u64(U64(b))))

#define LEAT_NEON_SHIFT_TWICE(name)                                 \
    LEAT_NEON __m256i _mm256_##name(__m256i x, int n) {             \
        return (__m256i){_mm_##name(x.lo, n), _mm_##name(x.hi, n)}; \
    }
LEAT_NEON_SHIFT_TWICE(slli_epi16)
LEAT_NEON_SHIFT_TWICE(slli_epi32)
LEAT_NEON_SHIFT_TWICE(srli_epi16)
LEAT_NEON_SHIFT_TWICE(srli_epi32)
LEAT_NEON_SHIFT_TWICE(srli_epi64)
LEAT_NEON_SHIFT_TWICE(srai_epi16)
LEAT_NEON_SHIFT_TWICE(srai_epi32)
LEAT_NEON __m256i _mm256_sll_epi32(__m256i x, __m128i n) {
    return (__m256i){_mm_sll_epi32(x.lo, n), _mm_sll_epi32(x.hi, n)};
}
LEAT_NEON __m256i _mm256_srl_epi32(__m256i x, __m128i n) {
    return (__m256i){_mm_srl_epi32(x.lo, n), _mm_srl_epi32(x.hi, n)};
}

LEAT_NEON __m256i _mm256_blendv_epi8(__m256i x, __m256i y, __m256i mask) {
    return (__m256i){_mm_blendv_epi8(x.lo, y.lo, mask.lo), _mm_blendv_epi8(x.hi, y.hi, mask.hi)};
}
LEAT_NEON __m256i _mm256_blend_epi16(__m256i x, __m256i y, int n) {
    return (__m256i){_mm_blend_epi16(x.lo, y.lo, n), _mm_blend_epi16(x.hi, y.hi, n)};
}
LEAT_NEON int _mm256_testz_si256(__m256i x, __m256i y) {
    return vmaxvq_u32(U32((x.lo & y.lo) | (x.hi & y.hi))) == 0;
}
LEAT_NEON int _mm256_movemask_epi8(__m256i x) {
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t sum = vpaddq_u8(U8(S8(x.lo) >> 7) & bit, U8(S8(x.hi) >> 7) & bit);
    sum = vpaddq_u8(sum, sum);
    return vgetq_lane_s32(S32(vpaddq_u8(sum, sum)), 0);
}
LEAT_NEON __m256i _mm256_cvtepu8_epi16(__m128i a) {
    return (__m256i){(__m128i)vmovl_u8(vget_low_u8(U8(a))), (__m128i)vmovl_high_u8(U8(a))};
}
LEAT_NEON __m256i _mm256_cvtepu16_epi32(__m128i a) {
    return (__m256i){(__m128i)vmovl_u16(vget_low_u16(U16(a))), (__m128i)vmovl_high_u16(U16(a))};
}
LEAT_NEON __m256i _mm256_cvtepu8_epi32(__m128i a) {
    return _mm256_cvtepu16_epi32((__m128i)vmovl_u8(vget_low_u8(U8(a))));
}

LEAT_NEON __m256i _mm256_cvtepi32_epi64(__m128i a) {
    return (__m256i){(__m128i)vmovl_s32(vget_low_s32(S32(a))), (__m128i)vmovl_high_s32(S32(a))};
}

/* --------------------------------------------------------------------------------- values, memory */

#define _mm256_setr_epi8(...) leat_neon_bytes((int8_t[32]){__VA_ARGS__})
LEAT_NEON __m256i leat_neon_bytes(const int8_t x[32]) {
    return (__m256i){(__m128i)vld1q_s8(x), (__m128i)vld1q_s8(x + 16)};
}
LEAT_NEON __m256i _mm256_setr_epi16(short a, short b, short c, short d, short e, short f, short g, short h,
                                    short i, short j, short k, short l, short m, short n, short o, short p) {
    return (__m256i){(__m128i)(int16x8_t){a, b, c, d, e, f, g, h},
                     (__m128i)(int16x8_t){i, j, k, l, m, n, o, p}};
}
LEAT_NEON __m256i _mm256_setr_epi32(int a, int b, int c, int d, int e, int f, int g, int h) {
    return (__m256i){(__m128i)(int32x4_t){a, b, c, d}, (__m128i)(int32x4_t){e, f, g, h}};
}
LEAT_NEON __m256 _mm256_setr_ps(float a, float b, float c, float d, float e, float f, float g, float h) {
    return (__m256){{a, b, c, d}, {e, f, g, h}};
}
LEAT_NEON __m256d _mm256_setr_pd(double a, double b, double c, double d) {
    return (__m256d){{a, b}, {c, d}};
}
#define LEAT_NEON_BOTH(to, name, from, expression) \
    LEAT_NEON to _mm256_##name(from x) {           \
        return (to){(expression), (expression)};   \
    }
LEAT_NEON_BOTH(__m256i, set1_epi8, char, _mm_set1_epi8(x))
LEAT_NEON_BOTH(__m256i, set1_epi16, short, _mm_set1_epi16(x))
LEAT_NEON_BOTH(__m256i, set1_epi32, int, _mm_set1_epi32(x))
LEAT_NEON_BOTH(__m256i, set1_epi64x, int64_t, vdupq_n_s64(x))
LEAT_NEON_BOTH(__m256, set1_ps, float, vdupq_n_f32(x))
LEAT_NEON_BOTH(__m256d, set1_pd, double, vdupq_n_f64(x))
LEAT_NEON_BOTH(__m256, broadcast_ss, const float *, vdupq_n_f32(*x))
LEAT_NEON_BOTH(__m256i, broadcastsi128_si256, __m128i, x)
LEAT_NEON __m256i _mm256_setzero_si256(void) {
    return _mm256_set1_epi32(0);
}
LEAT_NEON __m256 _mm256_setzero_ps(void) {
    return _mm256_set1_ps(0);
}
LEAT_NEON __m256d _mm256_setzero_pd(void) {
    return _mm256_set1_pd(0);
}

LEAT_NEON __m256i _mm256_loadu_si256(const __m256i *p) {
    return (__m256i){(__m128i)vld1q_u8((const uint8_t *)p), (__m128i)vld1q_u8((const uint8_t *)p + 16)};
}
LEAT_NEON void _mm256_storeu_si256(__m256i *p, __m256i x) {
    vst1q_u8((uint8_t *)p, U8(x.lo));
    vst1q_u8((uint8_t *)p + 16, U8(x.hi));
}
LEAT_NEON __m256 _mm256_loadu_ps(const float *p) {
    return (__m256){vld1q_f32(p), vld1q_f32(p + 4)};
}
LEAT_NEON void _mm256_storeu_ps(float *p, __m256 x) {
    vst1q_f32(p, x.lo);
    vst1q_f32(p + 4, x.hi);
}
LEAT_NEON __m256d _mm256_load_pd(const double *p) {
    return (__m256d){vld1q_f64(p), vld1q_f64(p + 2)};
}
LEAT_NEON void _mm256_store_pd(double *p, __m256d x) {
    vst1q_f64(p, x.lo);
    vst1q_f64(p + 2, x.hi);
}
/* Aligned memory is read as any other, and stores that pass the caches by are left to the processor. */
#define _mm256_load_si256 _mm256_loadu_si256
#define _mm256_store_si256 _mm256_storeu_si256
#define _mm256_stream_si256 _mm256_storeu_si256
#define _mm256_load_ps _mm256_loadu_ps
#define _mm256_store_ps _mm256_storeu_ps
#define _mm256_stream_ps _mm256_storeu_ps

LEAT_NEON int32_t leat_neon_load(const void *p, int at, int scale) {
    int32_t v;
    memcpy(&v, (const char *)p + (ptrdiff_t)at * scale, sizeof v);
    return v;
}
LEAT_NEON __m128i leat_neon_gather(const void *p, int32x4_t at, int scale) {
    const int32x4_t v = {leat_neon_load(p, at[0], scale), leat_neon_load(p, at[1], scale),
                         leat_neon_load(p, at[2], scale), leat_neon_load(p, at[3], scale)};
    return (__m128i)v;
}
LEAT_NEON __m256i _mm256_i32gather_epi32(const int *p, __m256i at, int scale) {
    return (__m256i){leat_neon_gather(p, S32(at.lo), scale), leat_neon_gather(p, S32(at.hi), scale)};
}
LEAT_NEON __m256 _mm256_i32gather_ps(const float *p, __m256i at, int scale) {
    return (__m256){(__m128)leat_neon_gather(p, S32(at.lo), scale),
                    (__m128)leat_neon_gather(p, S32(at.hi), scale)};
}

/* ----------------------------------------------------------------------------------- types, halves */

#define LEAT_NEON_CAST(to, name, from)                                         \
    LEAT_NEON to _mm256_##name(from x) {                                       \
        return (to){(typeof(((to *)0)->lo))x.lo, (typeof(((to *)0)->lo))x.hi}; \
    }
LEAT_NEON_CAST(__m256, castsi256_ps, __m256i)
LEAT_NEON_CAST(__m256i, castps_si256, __m256)
LEAT_NEON_CAST(__m256, castpd_ps, __m256d)
LEAT_NEON __m128i _mm256_castsi256_si128(__m256i x) {
    return x.lo;
}
LEAT_NEON __m128 _mm256_castps256_ps128(__m256 x) {
    return x.lo;
}
LEAT_NEON __m256i _mm256_castsi128_si256(__m128i a) {
    return (__m256i){a, a};
}
LEAT_NEON __m256 _mm256_castps128_ps256(__m128 a) {
    return (__m256){a, a};
}
#define _mm256_extracti128_si256(x, n) ((n) ? (x).hi : (x).lo)
#define _mm256_extractf128_ps(x, n) ((n) ? (x).hi : (x).lo)
LEAT_NEON __m256i _mm256_inserti128_si256(__m256i x, __m128i half, int n) {
    return n ? (__m256i){x.lo, half} : (__m256i){half, x.hi};
}
LEAT_NEON __m256 _mm256_insertf128_ps(__m256 x, __m128 half, int n) {
    return n ? (__m256){x.lo, half} : (__m256){half, x.hi};
}
#define LEAT_NEON_HALF(n) (((n)&2) ? ((n)&1 ? y.hi : y.lo) : ((n)&1 ? x.hi : x.lo))
LEAT_NEON __m256i _mm256_permute2x128_si256(__m256i x, __m256i y, int n) {
    return (__m256i){LEAT_NEON_HALF(n), LEAT_NEON_HALF(n >> 4)};
}
LEAT_NEON __m256 _mm256_permute2f128_ps(__m256 x, __m256 y, int n) {
    return (__m256){LEAT_NEON_HALF(n), LEAT_NEON_HALF(n >> 4)};
}
#define LEAT_NEON_QUARTER(n) (((n)&2 ? x.hi : x.lo)[(n)&1])
LEAT_NEON __m256i _mm256_permute4x64_epi64(__m256i x, int n) {
    return (__m256i){{LEAT_NEON_QUARTER(n), LEAT_NEON_QUARTER(n >> 2)},
                     {LEAT_NEON_QUARTER(n >> 4), LEAT_NEON_QUARTER(n >> 6)}};
}
/* Places of values as places of their bytes. */
LEAT_NEON uint8x16_t leat_neon_bytes_of(__m128i at, uint32_t most) {
    return U8((U32(at) & most) * 0x04040404u + 0x03020100u);
}
LEAT_NEON __m256i _mm256_permutevar8x32_epi32(__m256i x, __m256i at) {
    const uint8x16x2_t all = {{U8(x.lo), U8(x.hi)}};
    return (__m256i){(__m128i)vqtbl2q_u8(all, leat_neon_bytes_of(at.lo, 7)),
                     (__m128i)vqtbl2q_u8(all, leat_neon_bytes_of(at.hi, 7))};
}
LEAT_NEON __m256 _mm256_permutevar8x32_ps(__m256 x, __m256i at) {
    return _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(_mm256_castps_si256(x), at));
}
LEAT_NEON __m256 _mm256_permutevar_ps(__m256 x, __m256i at) {
    return (__m256){(__m128)vqtbl1q_u8(U8(x.lo), leat_neon_bytes_of(at.lo, 3)),
                    (__m128)vqtbl1q_u8(U8(x.hi), leat_neon_bytes_of(at.hi, 3))};
}
#define _mm256_permute_ps(x, n) _mm256_shuffle_ps(x, x, n)
#define _mm256_shuffle_ps(x, y, n) \
    ((__m256){_mm_shuffle_ps((x).lo, (y).lo, n), _mm_shuffle_ps((x).hi, (y).hi, n)})

#include "base/arm/floats.h"

#endif
