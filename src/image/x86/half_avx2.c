/* SPDX-License-Identifier: Apache-2.0 */
/* Values of two bytes with AVX2, and F16C for halves: leat counts a processor as AVX2 only if it has both. from_u16
 * is in point_avx2.c, with the other sweeps. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

/* What the scalar version does with the bits; all NaNs but a few compare unordered only, so they are blended in. */
LEAT_INLINE __m256i bf16_eight(const float *src) {
    const __m256 x = _mm256_loadu_ps(src);
    const __m256i bits = _mm256_castps_si256(x), top = _mm256_srli_epi32(bits, 16);
    const __m256i even = _mm256_and_si256(top, _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    const __m256i odd = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
    return _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, odd);
}

LEAT_INLINE __m256i sixteen(const float *src, bool brain) {
    if (brain)
        return _mm256_permute4x64_epi64(_mm256_packus_epi32(bf16_eight(src), bf16_eight(src + 8)), 0xd8);
    const __m128i a = _mm256_cvtps_ph(_mm256_loadu_ps(src), _MM_FROUND_TO_NEAREST_INT);
    const __m128i b = _mm256_cvtps_ph(_mm256_loadu_ps(src + 8), _MM_FROUND_TO_NEAREST_INT);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

LEAT_INLINE uint16_t single(float x, bool brain) {
    return brain ? leat__bf16_from_f32(x) : leat__half_from_f32(x);
}

LEAT_INLINE void narrow(uint16_t *dst, const float *src, size_t n, bool brain, bool stream) {
    size_t i = 0;
    if (stream && n >= 64) { /* whole cache lines, so that no line gets both kinds of stores */
        const size_t head = (0 - (uintptr_t)dst) % LEAT_CACHE_LINE / sizeof *dst;
        for (; i < head; i++) dst[i] = single(src[i], brain);
        for (; i + 32 <= n; i += 32) {
            _mm256_stream_si256((__m256i *)(void *)(dst + i), sixteen(src + i, brain));
            _mm256_stream_si256((__m256i *)(void *)(dst + i + 16), sixteen(src + i + 16, brain));
        }
    } else {
        for (; i + 16 <= n; i += 16)
            _mm256_storeu_si256((__m256i *)(void *)(dst + i), sixteen(src + i, brain));
    }
    for (; i < n; i++) dst[i] = single(src[i], brain);
}

static LEAT_FN_HALF_FROM_F32(half_from_f32_avx2) {
    narrow(dst, src, n, false, stream);
}

static LEAT_FN_HALF_FROM_F32(bf16_from_f32_avx2) {
    narrow(dst, src, n, true, stream);
}

LEAT_INLINE __m128i load8(const uint16_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

LEAT_INLINE void store8(uint16_t *p, __m128i x) {
    _mm_storeu_si128((__m128i *)(void *)p, x);
}

/* Where the values of channel c stand in each third of 24: the first begins with channel 0, the next with 2, the last
 * with 1. */
#define AT(k) (2 * (k)), (2 * (k) + 1)
#define NO -1, -1
static const int8_t third_pick[3][3][16] = {
    {{AT(0), AT(3), AT(6), NO, NO, NO, NO, NO},
     {NO, NO, NO, AT(1), AT(4), AT(7), NO, NO},
     {NO, NO, NO, NO, NO, NO, AT(2), AT(5)}},
    {{AT(1), AT(4), AT(7), NO, NO, NO, NO, NO},
     {NO, NO, NO, AT(2), AT(5), NO, NO, NO},
     {NO, NO, NO, NO, NO, AT(0), AT(3), AT(6)}},
    {{AT(2), AT(5), NO, NO, NO, NO, NO, NO},
     {NO, NO, AT(0), AT(3), AT(6), NO, NO, NO},
     {NO, NO, NO, NO, NO, AT(1), AT(4), AT(7)}},
};

static LEAT_FN_PLANAR_U16(planar_rgb16_avx2) {
    (void)channels;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16_t *in = src + i * 3;
        const __m128i u = load8(in), v = load8(in + 8), w = load8(in + 16);
        LEAT_UNROLL
        for (size_t c = 0; c < 3; c++) {
            const __m128i *pick = (const __m128i *)(const void *)third_pick[c];
            const __m128i x = _mm_shuffle_epi8(u, _mm_loadu_si128(pick));
            const __m128i y = _mm_shuffle_epi8(v, _mm_loadu_si128(pick + 1));
            const __m128i z = _mm_shuffle_epi8(w, _mm_loadu_si128(pick + 2));
            store8(dst + c * plane + i, _mm_or_si128(x, _mm_or_si128(y, z)));
        }
    }
    for (; i < n; i++)
        for (size_t c = 0; c < 3; c++) dst[c * plane + i] = src[i * 3 + c];
}

static LEAT_FN_PLANAR_U16(planar_rgba16_avx2) {
    (void)channels;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16_t *in = src + i * 4;
        const __m128i a = load8(in), b = load8(in + 8), c = load8(in + 16), d = load8(in + 24);
        /* Pixels 0 1, 2 3, 4 5, 6 7; interleaving twice brings each channel together. */
        const __m128i ac = _mm_unpacklo_epi16(a, b), bd = _mm_unpackhi_epi16(a, b);
        const __m128i eg = _mm_unpacklo_epi16(c, d), fh = _mm_unpackhi_epi16(c, d);
        const __m128i rg_lo = _mm_unpacklo_epi16(ac, bd), ba_lo = _mm_unpackhi_epi16(ac, bd);
        const __m128i rg_hi = _mm_unpacklo_epi16(eg, fh), ba_hi = _mm_unpackhi_epi16(eg, fh);
        uint16_t *out = dst + i;
        store8(out, _mm_unpacklo_epi64(rg_lo, rg_hi));
        store8(out + plane, _mm_unpackhi_epi64(rg_lo, rg_hi));
        store8(out + 2 * plane, _mm_unpacklo_epi64(ba_lo, ba_hi));
        store8(out + 3 * plane, _mm_unpackhi_epi64(ba_lo, ba_hi));
    }
    for (; i < n; i++)
        for (size_t c = 0; c < 4; c++) dst[c * plane + i] = src[i * 4 + c];
}

void leat__image_dsp_init_half_avx2(leat__image_dsp *dsp) {
    dsp->half_from_f32 = half_from_f32_avx2;
    dsp->bf16_from_f32 = bf16_from_f32_avx2;
    dsp->planar_u16[3] = planar_rgb16_avx2;
    dsp->planar_u16[4] = planar_rgba16_avx2;
}
