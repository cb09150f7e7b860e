/* SPDX-License-Identifier: Apache-2.0 */
/* The 128-bit half of immintrin.h: what SSE's names mean, in NEON. */
#ifndef LEAT_BASE_ARM_SSE_H
#define LEAT_BASE_ARM_SSE_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEAT_NEON static inline __attribute__((always_inline))

typedef int64x2_t __m128i __attribute__((may_alias));
typedef float32x4_t __m128 __attribute__((may_alias));
typedef float64x2_t __m128d __attribute__((may_alias));

/* Sums and products are written with C's operators on unsigned numbers: they wrap around, and compilers compute those of
 * constants. */
#define U8(x) ((uint8x16_t)(x))
#define U16(x) ((uint16x8_t)(x))
#define U32(x) ((uint32x4_t)(x))
#define U64(x) ((uint64x2_t)(x))
#define S8(x) ((int8x16_t)(x))
#define S16(x) ((int16x8_t)(x))
#define S32(x) ((int32x4_t)(x))

/* A function of one or two registers, by its expression. */
#define LEAT_NEON_1(name, expression)         \
    LEAT_NEON __m128i _mm_##name(__m128i a) { \
        return (__m128i)(expression);         \
    }
#define LEAT_NEON_2(name, expression)                    \
    LEAT_NEON __m128i _mm_##name(__m128i a, __m128i b) { \
        return (__m128i)(expression);                    \
    }

/* ------------------------------------------------------------------------------------------ memory */

LEAT_NEON __m128i _mm_loadu_si128(const __m128i *p) {
    return (__m128i)vld1q_u8((const uint8_t *)p);
}
LEAT_NEON __m128i _mm_load_si128(const __m128i *p) {
    return *p;
}
LEAT_NEON __m128i _mm_loadl_epi64(const __m128i *p) {
    return (__m128i)vcombine_u8(vld1_u8((const uint8_t *)p), vdup_n_u8(0));
}
LEAT_NEON __m128 _mm_loadu_ps(const float *p) {
    return vld1q_f32(p);
}
LEAT_NEON void _mm_storeu_si128(__m128i *p, __m128i a) {
    vst1q_u8((uint8_t *)p, U8(a));
}
LEAT_NEON void _mm_storel_epi64(__m128i *p, __m128i a) {
    vst1_u8((uint8_t *)p, vget_low_u8(U8(a)));
}
LEAT_NEON void _mm_storeh_pd(double *p, __m128d a) {
    vst1_u8((uint8_t *)p, vget_high_u8(U8(a)));
}
LEAT_NEON void _mm_storeu_ps(float *p, __m128 a) {
    vst1q_f32(p, a);
}

/* ------------------------------------------------------------------------------------------ values */

LEAT_NEON __m128i _mm_setzero_si128(void) {
    return (__m128i){0, 0};
}
LEAT_NEON __m128i _mm_set1_epi8(char x) {
    return (__m128i)vdupq_n_s8((int8_t)x);
}
LEAT_NEON __m128i _mm_set1_epi16(short x) {
    return (__m128i)vdupq_n_s16(x);
}
LEAT_NEON __m128i _mm_set1_epi32(int x) {
    return (__m128i)vdupq_n_s32(x);
}
#define _mm_setr_epi8(...) ((__m128i)(int8x16_t){__VA_ARGS__})
#define _mm_insert_epi16(a, x, i) ((__m128i)vsetq_lane_s16((int16_t)(x), S16(a), i))
#define _mm_insert_epi64(a, x, i) ((__m128i)vsetq_lane_s64(x, a, i))
#define _mm_extract_epi64(a, i) vgetq_lane_s64(a, i)
LEAT_NEON int _mm_cvtsi128_si32(__m128i a) {
    return vgetq_lane_s32(S32(a), 0);
}
LEAT_NEON int64_t _mm_cvtsi128_si64(__m128i a) {
    return vgetq_lane_s64(a, 0);
}
LEAT_NEON __m128i _mm_cvtsi32_si128(int x) {
    return (__m128i)(int32x4_t){x, 0, 0, 0};
}
LEAT_NEON __m128i _mm_cvtsi64_si128(int64_t x) {
    return (__m128i){x, 0};
}
LEAT_NEON __m128d _mm_castsi128_pd(__m128i a) {
    return (__m128d)a;
}

/* -------------------------------------------------------------------------------------- arithmetic */

LEAT_NEON_2(add_epi8, U8(a) + U8(b))
LEAT_NEON_2(add_epi16, U16(a) + U16(b))
LEAT_NEON_2(add_epi32, U32(a) + U32(b))
LEAT_NEON_2(add_epi64, U64(a) + U64(b))
LEAT_NEON_2(sub_epi8, U8(a) - U8(b))
LEAT_NEON_2(sub_epi16, U16(a) - U16(b))
LEAT_NEON_2(sub_epi32, U32(a) - U32(b))
LEAT_NEON_2(mullo_epi16, U16(a) * U16(b))
LEAT_NEON_2(mullo_epi32, U32(a) * U32(b))
LEAT_NEON_2(and_si128, U64(a) & U64(b))
LEAT_NEON_2(or_si128, U64(a) | U64(b))
LEAT_NEON_2(xor_si128, U64(a) ^ U64(b))
LEAT_NEON_2(andnot_si128, ~U64(a) & U64(b))
LEAT_NEON_2(min_epu8, vminq_u8(U8(a), U8(b)))
LEAT_NEON_2(max_epu8, vmaxq_u8(U8(a), U8(b)))
LEAT_NEON_2(min_epi16, vminq_s16(S16(a), S16(b)))
LEAT_NEON_2(max_epu16, vmaxq_u16(U16(a), U16(b)))
LEAT_NEON_2(min_epi32, vminq_s32(S32(a), S32(b)))
LEAT_NEON_2(min_epu32, vminq_u32(U32(a), U32(b)))
LEAT_NEON_2(adds_epi8, vqaddq_s8(S8(a), S8(b)))
LEAT_NEON_2(adds_epu8, vqaddq_u8(U8(a), U8(b)))
LEAT_NEON_2(subs_epi8, vqsubq_s8(S8(a), S8(b)))
LEAT_NEON_2(subs_epu8, vqsubq_u8(U8(a), U8(b)))
LEAT_NEON_2(subs_epu16, vqsubq_u16(U16(a), U16(b)))
LEAT_NEON_2(avg_epu8, vrhaddq_u8(U8(a), U8(b)))
LEAT_NEON_2(cmpeq_epi8, U8(a) == U8(b))
LEAT_NEON_2(cmpeq_epi32, U32(a) == U32(b))
LEAT_NEON_2(cmpgt_epi8, S8(a) > S8(b))
LEAT_NEON_2(cmpgt_epi16, S16(a) > S16(b))
LEAT_NEON_2(hadd_epi32, vpaddq_s32(S32(a), S32(b)))
LEAT_NEON_2(madd_epi16,
            vpaddq_s32(vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b))), vmull_high_s16(S16(a), S16(b))))
LEAT_NEON_2(mulhi_epi16, vuzp2q_s16(S16(vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b)))),
                                    S16(vmull_high_s16(S16(a), S16(b)))))
LEAT_NEON_2(mulhi_epu16, vuzp2q_u16(U16(vmull_u16(vget_low_u16(U16(a)), vget_low_u16(U16(b)))),
                                    U16(vmull_high_u16(U16(a), U16(b)))))
/* But for -32768 times -32768, which no kernel has. */
LEAT_NEON_2(mulhrs_epi16, vqrdmulhq_s16(S16(a), S16(b)))
LEAT_NEON_2(sad_epu8, vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vabdq_u8(U8(a), U8(b))))))
LEAT_NEON_1(abs_epi16, vabsq_s16(S16(a)))

/* Unsigned bytes times signed ones, and the sum of neighbours, held within 16 bits. */
LEAT_NEON __m128i _mm_maddubs_epi16(__m128i a, __m128i b) {
    const int16x8_t low = vmulq_s16(S16(vmovl_u8(vget_low_u8(U8(a)))), vmovl_s8(vget_low_s8(S8(b))));
    const int16x8_t high = vmulq_s16(S16(vmovl_high_u8(U8(a))), vmovl_high_s8(S8(b)));
    return (__m128i)vqaddq_s16(vuzp1q_s16(low, high), vuzp2q_s16(low, high));
}

/* Shifts by a number that is the same for all, mostly a constant. */
#define LEAT_NEON_SHIFT(name, expression)            \
    LEAT_NEON __m128i _mm_##name(__m128i a, int n) { \
        return (__m128i)(expression);                \
    }
LEAT_NEON_SHIFT(slli_epi16, U16(a) << (uint16_t)n)
LEAT_NEON_SHIFT(slli_epi32, U32(a) << (uint32_t)n)
LEAT_NEON_SHIFT(srli_epi16, U16(a) >> (uint16_t)n)
LEAT_NEON_SHIFT(srli_epi32, U32(a) >> (uint32_t)n)
LEAT_NEON_SHIFT(srli_epi64, U64(a) >> (uint64_t)n)
LEAT_NEON_SHIFT(srai_epi16, S16(a) >> (int16_t)n)
LEAT_NEON_SHIFT(srai_epi32, S32(a) >> n)
LEAT_NEON_2(sll_epi32, vshlq_u32(U32(a), vdupq_n_s32(vgetq_lane_s32(S32(b), 0))))
LEAT_NEON_2(srl_epi32, vshlq_u32(U32(a), vdupq_n_s32(-vgetq_lane_s32(S32(b), 0))))
LEAT_NEON_2(sllv_epi32, vshlq_u32(U32(a), S32(b)) & U32(U32(b) < 32))

/* ------------------------------------------------------------------------------------------- order */

LEAT_NEON_2(packs_epi16, vqmovn_high_s16(vqmovn_s16(S16(a)), S16(b)))
LEAT_NEON_2(packs_epi32, vqmovn_high_s32(vqmovn_s32(S32(a)), S32(b)))
LEAT_NEON_2(packus_epi16, vqmovun_high_s16(vqmovun_s16(S16(a)), S16(b)))
LEAT_NEON_2(packus_epi32, vqmovun_high_s32(vqmovun_s32(S32(a)), S32(b)))
LEAT_NEON_2(unpacklo_epi8, vzip1q_u8(U8(a), U8(b)))
LEAT_NEON_2(unpackhi_epi8, vzip2q_u8(U8(a), U8(b)))
LEAT_NEON_2(unpacklo_epi16, vzip1q_u16(U16(a), U16(b)))
LEAT_NEON_2(unpackhi_epi16, vzip2q_u16(U16(a), U16(b)))
LEAT_NEON_2(unpacklo_epi32, vzip1q_u32(U32(a), U32(b)))
LEAT_NEON_2(unpackhi_epi32, vzip2q_u32(U32(a), U32(b)))
LEAT_NEON_2(unpacklo_epi64, vzip1q_u64(U64(a), U64(b)))
LEAT_NEON_2(unpackhi_epi64, vzip2q_u64(U64(a), U64(b)))
LEAT_NEON_1(cvtepu8_epi16, vmovl_u8(vget_low_u8(U8(a))))
LEAT_NEON_1(cvtepu8_epi32, vmovl_u16(vget_low_u16(vmovl_u8(vget_low_u8(U8(a))))))
/* A place from 16 to 127 means its last four bits, one from 128 on means zero. */
LEAT_NEON_2(shuffle_epi8, vqtbl1q_u8(U8(a), U8(b) & 0x8f))

#define _MM_SHUFFLE(d, c, b, a) ((d) << 6 | (c) << 4 | (b) << 2 | (a))
#if defined(__clang__)
#define LEAT_NEON_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define LEAT_NEON_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (uint32x4_t){i, j, k, l})
#endif
#define _mm_shuffle_ps(a, b, n)                                                                 \
    LEAT_NEON_PICK((float32x4_t)(a), (float32x4_t)(b), (n)&3, (n) >> 2 & 3, 4 + ((n) >> 4 & 3), \
                   4 + ((n) >> 6 & 3))
#define _mm_permute_ps(a, n) _mm_shuffle_ps(a, a, n)
#define _mm_shuffle_epi32(a, n) ((__m128i)_mm_shuffle_ps(a, a, n))
#define _mm_slli_si128(a, n) ((__m128i)vextq_u8(vdupq_n_u8(0), U8(a), 16 - (n)))

/* The bytes of b where the mask's first bit is set. */
LEAT_NEON __m128i _mm_blendv_epi8(__m128i a, __m128i b, __m128i mask) {
    return (__m128i)vbslq_u8(U8(S8(mask) >> 7), U8(b), U8(a));
}
LEAT_NEON __m128i _mm_blend_epi16(__m128i a, __m128i b, int n) {
    const uint16x8_t bits = {1, 2, 4, 8, 16, 32, 64, 128};
    return (__m128i)vbslq_u16((uint16x8_t)((bits & (uint16_t)n) != 0), U16(b), U16(a));
}

#endif
