/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction and the inverse transform of lossy WebP with AVX2. Values keep to 16 bits: see stays_small in webp_own.c. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

LEAT_INLINE __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
LEAT_INLINE void store16(uint8_t *p, __m128i v) {
    _mm_storeu_si128((__m128i *)(void *)p, v);
}
LEAT_INLINE __m128i load8(const void *p) {
    return _mm_loadl_epi64((const __m128i *)p);
}
LEAT_INLINE void store8(uint8_t *p, __m128i v) {
    _mm_storel_epi64((__m128i *)(void *)p, v);
}

/* ----------------------------------------------------------------------------------- inverse transform */

/* v * 35468 / 65536: the factor is larger than a signed number of 16 bits, and so v is added. */
LEAT_INLINE __m256i by_sine(__m256i v) {
    return _mm256_add_epi16(_mm256_mulhi_epi16(v, _mm256_set1_epi16(35468 - 65536)), v);
}
LEAT_INLINE __m256i by_cosine(__m256i v) {
    return _mm256_add_epi16(_mm256_mulhi_epi16(v, _mm256_set1_epi16(20091)), v);
}

/* One direction of the transform, of all columns of four rows. */
LEAT_INLINE void transform(__m256i v[4]) {
    const __m256i a = _mm256_add_epi16(v[0], v[2]), b = _mm256_sub_epi16(v[0], v[2]);
    const __m256i c = _mm256_sub_epi16(by_sine(v[1]), by_cosine(v[3]));
    const __m256i d = _mm256_add_epi16(by_cosine(v[1]), by_sine(v[3]));
    v[0] = _mm256_add_epi16(a, d);
    v[1] = _mm256_add_epi16(b, c);
    v[2] = _mm256_sub_epi16(b, c);
    v[3] = _mm256_sub_epi16(a, d);
}

/* Rows and columns of each block change places. */
LEAT_INLINE void transpose(__m256i v[4]) {
    const __m256i a = _mm256_unpacklo_epi16(v[0], v[1]), b = _mm256_unpacklo_epi16(v[2], v[3]);
    const __m256i c = _mm256_unpackhi_epi16(v[0], v[1]), d = _mm256_unpackhi_epi16(v[2], v[3]);
    const __m256i e = _mm256_unpacklo_epi32(a, b), f = _mm256_unpackhi_epi32(a, b);
    const __m256i g = _mm256_unpacklo_epi32(c, d), h = _mm256_unpackhi_epi32(c, d);
    v[0] = _mm256_unpacklo_epi64(e, g);
    v[1] = _mm256_unpackhi_epi64(e, g);
    v[2] = _mm256_unpacklo_epi64(f, h);
    v[3] = _mm256_unpackhi_epi64(f, h);
}

LEAT_INLINE void inverse(__m256i v[4]) {
    transform(v);
    transpose(v);
    v[0] = _mm256_add_epi16(v[0], _mm256_set1_epi16(4));
    transform(v);
    transpose(v);
    for (int y = 0; y < 4; y++) v[y] = _mm256_srai_epi16(v[y], 3);
}

static LEAT_FN_WEBP_ADD_GROUP(add_group_avx2) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i v[4];
    for (int y = 0; y < 4; y++) {
        __m256i *const at = (__m256i *)(void *)(values + 16 * y);
        v[y] = _mm256_loadu_si256(at);
        _mm256_storeu_si256(at, zero);
    }
    inverse(v);
    for (int y = 0; y < 4; y++, a += stride, b += stride) {
        const __m256i old = _mm256_cvtepu8_epi16(_mm_unpacklo_epi64(load8(a), load8(b)));
        const __m256i sum = _mm256_add_epi16(old, v[y]), bytes = _mm256_packus_epi16(sum, sum);
        store8(a, _mm256_castsi256_si128(bytes));
        store8(b, _mm256_extracti128_si256(bytes, 1));
    }
}

LEAT_INLINE __m128i load_row(const uint8_t *p) { /* four samples */
    uint32_t v;
    memcpy(&v, p, 4);
    return _mm_cvtepu8_epi16(_mm_cvtsi32_si128((int)v));
}
LEAT_INLINE void store_row(uint8_t *p, __m128i v) {
    const uint32_t bytes = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(v, v));
    memcpy(p, &bytes, 4);
}

static LEAT_FN_WEBP_ADD(add_avx2) {
    __m256i v[4];
    for (int y = 0; y < 4; y++) {
        v[y] = _mm256_castsi128_si256(load8(values + 16 * y));
        memset(values + 16 * y, 0, 4 * sizeof *values);
    }
    inverse(v);
    for (int y = 0; y < 4; y++, dst += stride)
        store_row(dst, _mm_add_epi16(load_row(dst), _mm256_castsi256_si128(v[y])));
}

static LEAT_FN_WEBP_ADD(add_first_avx2) {
    const __m128i by = _mm_set1_epi16((short)((values[0] + 4) >> 3));
    for (int y = 0; y < 4; y++, dst += stride) store_row(dst, _mm_add_epi16(load_row(dst), by));
    values[0] = 0;
}

/* ------------------------------------------------------------------------------------------ prediction */

static LEAT_FN_WEBP_PREDICT(tm_16_avx2) {
    const __m256i row = _mm256_cvtepu8_epi16(load16(above));
    const int corner = above[-1];
    for (int y = 0; y < 16; y++, dst += stride) {
        const __m256i v = _mm256_add_epi16(row, _mm256_set1_epi16((short)(dst[-1] - corner)));
        const __m256i bytes = _mm256_packus_epi16(v, v);
        store16(dst, _mm_unpacklo_epi64(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
    }
}

static LEAT_FN_WEBP_PREDICT(tm_8_avx2) {
    const __m128i row = _mm_cvtepu8_epi16(load8(above));
    const int corner = above[-1];
    for (int y = 0; y < 8; y++, dst += stride) {
        const __m128i v = _mm_add_epi16(row, _mm_set1_epi16((short)(dst[-1] - corner)));
        store8(dst, _mm_packus_epi16(v, v));
    }
}

static LEAT_FN_WEBP_PREDICT_4(tm_4_avx2) {
    const __m128i row = load_row(above);
    const int corner = above[-1];
    for (int y = 0; y < 4; y++, dst += stride)
        store_row(dst, _mm_add_epi16(row, _mm_set1_epi16((short)(dst[-1] - corner))));
}

void leat__webp_dsp_init_predict_avx2(leat__webp_dsp *dsp) {
    dsp->add = add_avx2;
    dsp->add_first = add_first_avx2;
    dsp->add_group = add_group_avx2;
    dsp->predict_16[LEAT_WEBP_TM] = tm_16_avx2;
    dsp->predict_8[LEAT_WEBP_TM] = tm_8_avx2;
    dsp->predict_4[LEAT_WEBP_TM] = tm_4_avx2;
}
