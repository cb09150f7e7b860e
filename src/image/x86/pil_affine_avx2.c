/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's bilinear affine transform with AVX2: the places of four pixels at a time, then the channels of a pixel. Doubles are
 * what Pillow computes with. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

enum { AT_ONCE = 4 };

typedef struct places {
    double tx[AT_ONCE], ty[AT_ONCE];
    int32_t x[AT_ONCE], y[AT_ONCE]; /* of the upper left pixel of four */
} LEAT_ALIGNED(32) places;

LEAT_INLINE void find(const leat__pil_row *row, int x, places *to) {
    const __m256d half = _mm256_set1_pd(0.5), across = _mm256_set1_pd(row->across),
                  down = _mm256_set1_pd(row->down);
    const __m256d at = _mm256_setr_pd(x + 0.5, x + 1.5, x + 2.5, x + 3.5);
    __m256d u = _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(row->m[0]), at), across);
    __m256d v = _mm256_add_pd(_mm256_mul_pd(_mm256_set1_pd(row->m[3]), at), down);
    u = _mm256_sub_pd(_mm256_add_pd(u, _mm256_set1_pd(row->m[2])), half);
    v = _mm256_sub_pd(_mm256_add_pd(v, _mm256_set1_pd(row->m[5])), half);
    const __m128i i = _mm256_cvttpd_epi32(u), j = _mm256_cvttpd_epi32(v);
    _mm_storeu_si128((__m128i *)(void *)to->x, i);
    _mm_storeu_si128((__m128i *)(void *)to->y, j);
    _mm256_store_pd(to->tx, _mm256_sub_pd(u, _mm256_cvtepi32_pd(i)));
    _mm256_store_pd(to->ty, _mm256_sub_pd(v, _mm256_cvtepi32_pd(j)));
}

/* The channels of a pixel, and one value of the next pixel. */
LEAT_INLINE __m256d load(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
}

LEAT_INLINE __m256d between(__m256d a, __m256d b, __m256d t) {
    return _mm256_add_pd(a, _mm256_mul_pd(_mm256_sub_pd(b, a), t));
}

LEAT_INLINE int32_t blend(const uint8_t *p, size_t stride, double tx, double ty) {
    const __m256d x = _mm256_set1_pd(tx), y = _mm256_set1_pd(ty);
    const __m256d top = between(load(p), load(p + 3), x);
    const __m256d bottom = between(load(p + stride), load(p + stride + 3), x);
    const __m128i low = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm_cvtsi128_si32(_mm_shuffle_epi8(_mm256_cvttpd_epi32(between(top, bottom, y)), low));
}

/* Three bytes go as four, of which the next pixel overwrites the last; the last pixel goes as three. */
static LEAT_FN_PIL_BLEND(pil_blend_avx2) {
    places at;
    for (size_t i = 0; i < n; i++, dst += 3) {
        const size_t k = i % AT_ONCE;
        if (k == 0) find(row, row->x + (int)i, &at);
        const uint8_t *p = src + (size_t)at.y[k] * row->stride + 3 * (size_t)at.x[k];
        const int32_t pixel = blend(p, row->stride, at.tx[k], at.ty[k]);
        memcpy(dst, &pixel, LEAT_LIKELY(i + 1 < n) ? 4 : 3);
    }
}

void leat__image_dsp_init_pil_affine_avx2(leat__image_dsp *dsp) {
    dsp->pil_blend = pil_blend_avx2;
}
