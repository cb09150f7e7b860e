/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of immintrin.h on floats and doubles. */
#ifndef LEAT_BASE_ARM_FLOATS_H
#define LEAT_BASE_ARM_FLOATS_H

#include "base/arm/immintrin.h"

#define LEAT_NEON_FLOATS(type, of, unsigned_of, suffix)                            \
    LEAT_NEON_HALVES_2(type, add_##of, a + b)                                      \
    LEAT_NEON_HALVES_2(type, sub_##of, a - b)                                      \
    LEAT_NEON_HALVES_2(type, mul_##of, a *b)                                       \
    LEAT_NEON_HALVES_2(type, div_##of, a / b)                                      \
    LEAT_NEON_HALVES_2(type, or_##of, U64(a) | U64(b))                             \
    /* The second one where either is NaN, and of two zeros. */                    \
    LEAT_NEON_HALVES_2(type, max_##of, vbslq_##suffix((unsigned_of)(a > b), a, b)) \
    LEAT_NEON_HALVES_2(type, min_##of, vbslq_##suffix((unsigned_of)(a < b), a, b))
LEAT_NEON_FLOATS(__m256, ps, uint32x4_t, f32)
LEAT_NEON_FLOATS(__m256d, pd, uint64x2_t, f64)
LEAT_NEON_HALVES_2(__m256, and_ps, U64(a) & U64(b))
LEAT_NEON_HALVES_2(__m256, andnot_ps, ~U64(a) & U64(b))
LEAT_NEON_HALVES_2(__m256, xor_ps, U64(a) ^ U64(b))
LEAT_NEON_HALVES_2(__m256, unpacklo_ps, vzip1q_f32(a, b))
LEAT_NEON_HALVES_2(__m256, unpackhi_ps, vzip2q_f32(a, b))

enum {
    _CMP_EQ_OQ = 0,
    _CMP_UNORD_Q = 3,
    _CMP_NGE_UQ = 25,
    _CMP_NLE_UQ = 22,
    _CMP_LT_OQ = 17,
    _CMP_GT_OQ = 30,
};
/* Which of the comparisons above is a constant wherever they are used. */
#define LEAT_NEON_COMPARE(how)             \
    ((how) == _CMP_EQ_OQ    ? U64(a == b)  \
     : (how) == _CMP_LT_OQ  ? U64(a < b)   \
     : (how) == _CMP_GT_OQ  ? U64(a > b)   \
     : (how) == _CMP_NGE_UQ ? ~U64(a >= b) \
     : (how) == _CMP_NLE_UQ ? ~U64(a <= b) \
                            : ~(U64(a == a) & U64(b == b)))
#define LEAT_NEON_COMPARES(type, of)                          \
    LEAT_NEON type _mm256_cmp_##of(type x, type y, int how) { \
        type r;                                               \
        {                                                     \
            const typeof(x.lo) a = x.lo, b = y.lo;            \
            r.lo = (typeof(x.lo))LEAT_NEON_COMPARE(how);      \
        }                                                     \
        {                                                     \
            const typeof(x.lo) a = x.hi, b = y.hi;            \
            r.hi = (typeof(x.lo))LEAT_NEON_COMPARE(how);      \
        }                                                     \
        return r;                                             \
    }
LEAT_NEON_COMPARES(__m256, ps)
LEAT_NEON_COMPARES(__m256d, pd)

/* The values of y where the first bit of the mask is set. */
LEAT_NEON __m256 _mm256_blendv_ps(__m256 x, __m256 y, __m256 mask) {
    return (__m256){vbslq_f32(U32(S32(mask.lo) >> 31), y.lo, x.lo),
                    vbslq_f32(U32(S32(mask.hi) >> 31), y.hi, x.hi)};
}
LEAT_NEON __m256d _mm256_blendv_pd(__m256d x, __m256d y, __m256d mask) {
    return (__m256d){vbslq_f64(U64((int64x2_t)mask.lo >> 63), y.lo, x.lo),
                     vbslq_f64(U64((int64x2_t)mask.hi >> 63), y.hi, x.hi)};
}
LEAT_NEON __m256 _mm256_blend_ps(__m256 x, __m256 y, int n) {
    const uint32x4_t low = {1, 2, 4, 8}, high = low << 4;
    return (__m256){vbslq_f32((uint32x4_t)((low & (uint32_t)n) != 0), y.lo, x.lo),
                    vbslq_f32((uint32x4_t)((high & (uint32_t)n) != 0), y.hi, x.hi)};
}
LEAT_NEON int _mm256_movemask_ps(__m256 x) {
    const uint32x4_t low = {1, 2, 4, 8}, high = low << 4;
    return (int)vaddvq_u32((U32(S32(x.lo) >> 31) & low) | (U32(S32(x.hi) >> 31) & high));
}
LEAT_NEON int _mm256_movemask_pd(__m256d x) {
    const uint64x2_t low = {1, 2}, high = {4, 8};
    return (int)vaddvq_u64((U64((int64x2_t)x.lo >> 63) & low) | (U64((int64x2_t)x.hi >> 63) & high));
}

/* ----------------------------------------------------------------------------------- conversions */

enum { _MM_FROUND_TO_NEAREST_INT = 0, _MM_FROUND_TO_ZERO = 3, _MM_FROUND_NO_EXC = 8 };

/* Toward zero and to nothing else. */
#define _mm256_round_ps(x, how) leat_neon_round_ps(x)
#define _mm256_round_pd(x, how) leat_neon_round_pd(x)
LEAT_NEON __m256 leat_neon_round_ps(__m256 x) {
    return (__m256){vrndq_f32(x.lo), vrndq_f32(x.hi)};
}
LEAT_NEON __m256d leat_neon_round_pd(__m256d x) {
    return (__m256d){vrndq_f64(x.lo), vrndq_f64(x.hi)};
}
LEAT_NEON __m256 _mm256_cvtepi32_ps(__m256i x) {
    return (__m256){vcvtq_f32_s32(S32(x.lo)), vcvtq_f32_s32(S32(x.hi))};
}
/* NEON holds what is too large at the largest number; AVX2 gives the least one, also for NaN. */
LEAT_NEON __m128i leat_neon_whole(__m128 a) {
    return (__m128i)vbslq_s32((uint32x4_t)(a < 0x1p31f), vcvtq_s32_f32(a), vdupq_n_s32(INT32_MIN));
}
LEAT_NEON __m256i _mm256_cvttps_epi32(__m256 x) {
    return (__m256i){leat_neon_whole(x.lo), leat_neon_whole(x.hi)};
}
/* To the nearest, halves to even. */
LEAT_NEON __m128i leat_neon_nearest(__m128 a) {
    return (__m128i)vbslq_s32((uint32x4_t)(a < 0x1p31f), vcvtnq_s32_f32(a), vdupq_n_s32(INT32_MIN));
}
LEAT_NEON __m256i _mm256_cvtps_epi32(__m256 x) {
    return (__m256i){leat_neon_nearest(x.lo), leat_neon_nearest(x.hi)};
}
LEAT_NEON __m128 _mm256_cvtpd_ps(__m256d x) {
    return vcvt_high_f32_f64(vcvt_f32_f64(x.lo), x.hi);
}
LEAT_NEON __m256d _mm256_cvtps_pd(__m128 a) {
    return (__m256d){vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a)};
}
LEAT_NEON __m256d _mm256_cvtepi32_pd(__m128i a) {
    return (__m256d){vcvtq_f64_s64(vmovl_s32(vget_low_s32(S32(a)))), vcvtq_f64_s64(vmovl_high_s32(S32(a)))};
}
/* Of numbers that fit. */
LEAT_NEON __m128i _mm256_cvttpd_epi32(__m256d x) {
    return (__m128i)vmovn_high_s64(vmovn_s64(vcvtq_s64_f64(x.lo)), vcvtq_s64_f64(x.hi));
}
/* To the nearest half. */
LEAT_NEON __m128i _mm256_cvtps_ph(__m256 x, int how) {
    (void)how;
    return (__m128i)vcvt_high_f16_f32(vcvt_f16_f32(x.lo), x.hi);
}

#endif
