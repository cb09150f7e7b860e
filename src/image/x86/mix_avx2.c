/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing two samples with AVX2. Both are read and one is written, so memory is the limit and stores go through the
 * caches: the first of the next pair is the second of this one. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/mix.h"

static LEAT_FN_MIX_F32(mix_f32_avx2) {
    const __m256 a = _mm256_set1_ps(own), b = _mm256_set1_ps(others);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 x0 = _mm256_mul_ps(_mm256_loadu_ps(dst + i), a);
        const __m256 x1 = _mm256_mul_ps(_mm256_loadu_ps(dst + i + 8), a);
        const __m256 y0 = _mm256_mul_ps(_mm256_loadu_ps(other + i), b);
        const __m256 y1 = _mm256_mul_ps(_mm256_loadu_ps(other + i + 8), b);
        _mm256_storeu_ps(dst + i, _mm256_add_ps(x0, y0));
        _mm256_storeu_ps(dst + i + 8, _mm256_add_ps(x1, y1));
    }
    for (; i < n; i++) dst[i] = leat__mix_f32(dst[i], other[i], own, others);
}

LEAT_INLINE __m256i eight(const uint8_t *dst, const uint8_t *other, __m256 a, __m256 b) {
    const __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)dst);
    const __m128i y = _mm_loadl_epi64((const __m128i *)(const void *)other);
    const __m256 own = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x)), a);
    const __m256 others = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(y)), b);
    return _mm256_cvttps_epi32(_mm256_add_ps(_mm256_add_ps(own, others), _mm256_set1_ps(0.5f)));
}

static LEAT_FN_MIX_U8(mix_u8_avx2) {
    const __m256 a = _mm256_set1_ps(own), b = _mm256_set1_ps(others);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i p =
            _mm256_packs_epi32(eight(dst + i, other + i, a, b), eight(dst + i + 8, other + i + 8, a, b));
        const __m256i q = _mm256_packs_epi32(eight(dst + i + 16, other + i + 16, a, b),
                                             eight(dst + i + 24, other + i + 24, a, b));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(p, q), order);
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), bytes);
    }
    for (; i < n; i++) dst[i] = leat__mix_u8(dst[i], other[i], own, others);
}

void leat__image_dsp_init_mix_avx2(leat__image_dsp *dsp) {
    dsp->mix_f32 = mix_f32_avx2;
    dsp->mix_u8 = mix_u8_avx2;
}
