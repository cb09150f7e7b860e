/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved pixels to planes with AVX2. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

LEAT_INLINE __m256i load_u8x16(const uint8_t *p) {
    return _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Channel c of eight pixels. RGB reads 28 bytes for its 24, RGBA exactly 32. */
LEAT_INLINE __m256 pick_u8(const uint8_t *src, int channels, int c) {
    if (channels == 3) {
        const __m256i v = _mm256_inserti128_si256(
            load_u8x16(src), _mm_loadu_si128((const __m128i *)(const void *)(src + 12)), 1);
        const __m256i pick =
            _mm256_broadcastsi128_si256(_mm_setr_epi8((char)c, -1, -1, -1, (char)(c + 3), -1, -1, -1,
                                                      (char)(c + 6), -1, -1, -1, (char)(c + 9), -1, -1, -1));
        return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(v, pick));
    }
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)src);
    return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8 * c), _mm256_set1_epi32(0xff)));
}

LEAT_INLINE __m256 pick_f32(const float *src, int channels, int c) {
    const __m256 u = _mm256_loadu_ps(src), v = _mm256_loadu_ps(src + 8), w = _mm256_loadu_ps(src + 16);
    if (channels == 3) {
        /* Channel 0 is at 0 3 6, 1 4 7 and 2 5 of the three vectors; the others are one further each. */
        if (c == 0)
            return _mm256_permutevar8x32_ps(_mm256_blend_ps(_mm256_blend_ps(u, v, 0x92), w, 0x24),
                                            _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
        if (c == 1)
            return _mm256_permutevar8x32_ps(_mm256_blend_ps(_mm256_blend_ps(u, v, 0x24), w, 0x49),
                                            _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6));
        return _mm256_permutevar8x32_ps(_mm256_blend_ps(_mm256_blend_ps(u, v, 0x49), w, 0x92),
                                        _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
    }
    const __m256 x = _mm256_loadu_ps(src + 24);
    const __m256 p = _mm256_permute2f128_ps(u, w, 0x20), q = _mm256_permute2f128_ps(u, w, 0x31); /* 0|4 1|5 */
    const __m256 r = _mm256_permute2f128_ps(v, x, 0x20), t = _mm256_permute2f128_ps(v, x, 0x31); /* 2|6 3|7 */
    const __m256 pq = c < 2 ? _mm256_unpacklo_ps(p, q) : _mm256_unpackhi_ps(p, q);
    const __m256 rt = c < 2 ? _mm256_unpacklo_ps(r, t) : _mm256_unpackhi_ps(r, t);
    return c % 2 == 0 ? _mm256_shuffle_ps(pq, rt, 0x44) : _mm256_shuffle_ps(pq, rt, 0xee);
}

typedef struct pixels { /* one of the two */
    const uint8_t *u8;
    const float *f32;
} pixels;

LEAT_INLINE void put_one(float *dst, pixels src, size_t i, int channels, int c, const leat__chain *chain) {
    const size_t at = i * (size_t)channels + (size_t)c;
    dst[i] = leat__chain_apply(chain, src.u8 ? (float)src.u8[at] : src.f32[at], (size_t)c);
}

/* Pixels [from, to) of channel c; to - from is a multiple of 16, a whole line of the plane. */
LEAT_INLINE void put_lines(float *dst, pixels src, size_t from, size_t to, int channels, int c,
                           const leat__chain *chain, int stages, bool stream) {
    __m256 mul[LEAT_CHAIN_STAGES], add[LEAT_CHAIN_STAGES];
    LEAT_UNROLL
    for (int s = 0; s < stages; s++) {
        mul[s] = _mm256_set1_ps(chain->mul[s][c]);
        add[s] = _mm256_set1_ps(chain->add[s][c]);
    }
    for (size_t i = from; i < to; i += 16) {
        const size_t at = i * (size_t)channels, next = at + 8 * (size_t)channels;
        __m256 x = src.u8 ? pick_u8(src.u8 + at, channels, c) : pick_f32(src.f32 + at, channels, c);
        __m256 y = src.u8 ? pick_u8(src.u8 + next, channels, c) : pick_f32(src.f32 + next, channels, c);
        LEAT_UNROLL
        for (int s = 0; s < stages; s++) {
            x = _mm256_add_ps(_mm256_mul_ps(x, mul[s]), add[s]);
            y = _mm256_add_ps(_mm256_mul_ps(y, mul[s]), add[s]);
        }
        if (stream) {
            _mm256_stream_ps(dst + i, x);
            _mm256_stream_ps(dst + i + 8, y);
        } else {
            _mm256_storeu_ps(dst + i, x);
            _mm256_storeu_ps(dst + i + 8, y);
        }
    }
}

/* Plane after plane in runs of a few KiB: memory likes long runs better than several places at once, and the
 * source's second and third reading comes from the first cache. */
#define RUN 1024

LEAT_INLINE void planar(float *dst, size_t plane, pixels src, size_t n, int channels,
                        const leat__chain *chain, int stages, bool stream) {
    const size_t slack = src.u8 && channels == 3 ? 2 : 0; /* pixels that a load reads too far */
    const size_t align = (0 - (uintptr_t)dst) % LEAT_CACHE_LINE / sizeof(float);
    const size_t head = stream ? LEAT_MIN(align, n) : 0;
    const size_t end = n - head < slack ? head : head + (n - head - slack) / 16 * 16;
    for (size_t from = head; from < end; from += RUN) {
        const size_t to = LEAT_MIN(from + RUN, end);
        LEAT_UNROLL
        for (int c = 0; c < channels; c++)
            put_lines(dst + (size_t)c * plane, src, from, to, channels, c, chain, stages, stream);
    }
    for (int c = 0; c < channels; c++) {
        for (size_t i = 0; i < head; i++) put_one(dst + (size_t)c * plane, src, i, channels, c, chain);
        for (size_t i = end; i < n; i++) put_one(dst + (size_t)c * plane, src, i, channels, c, chain);
    }
}

LEAT_INLINE void planar_any(float *dst, size_t plane, pixels src, size_t n, int channels,
                            const leat__chain *chain, bool stream) {
    const bool lines = stream && plane % 16 == 0 && n >= 32; /* the planes' lines begin at the same pixels */
#define CASE(k)                                                          \
    case k:                                                              \
        if (lines) planar(dst, plane, src, n, channels, chain, k, true); \
        else planar(dst, plane, src, n, channels, chain, k, false);      \
        break
    switch (chain->n) {
        CASE(0);
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
    }
#undef CASE
}

static LEAT_FN_PLANAR_FROM_U8(planar_from_rgb8_avx2) {
    (void)channels;
    planar_any(dst, plane, (pixels){.u8 = src}, n, 3, chain, stream);
}

static LEAT_FN_PLANAR_FROM_U8(planar_from_rgba8_avx2) {
    (void)channels;
    planar_any(dst, plane, (pixels){.u8 = src}, n, 4, chain, stream);
}

static LEAT_FN_PLANAR_FROM_F32(planar_from_rgb32_avx2) {
    (void)channels;
    planar_any(dst, plane, (pixels){.f32 = src}, n, 3, chain, stream);
}

static LEAT_FN_PLANAR_FROM_F32(planar_from_rgba32_avx2) {
    (void)channels;
    planar_any(dst, plane, (pixels){.f32 = src}, n, 4, chain, stream);
}

/* Where the bytes of channel c stand in each third of 48 bytes. */
static const int8_t third_pick[3][3][16] = {
    {{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13}},
    {{1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14}},
    {{2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15}},
};

LEAT_INLINE __m128i load_pick(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static LEAT_FN_PLANAR_U8(planar_rgb8_avx2) {
    (void)channels;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8_t *in = src + i * 3;
        const __m128i u = load_pick(in), v = load_pick(in + 16), w = load_pick(in + 32);
        LEAT_UNROLL
        for (size_t c = 0; c < 3; c++) {
            const __m128i x = _mm_shuffle_epi8(u, load_pick(third_pick[c][0]));
            const __m128i y = _mm_shuffle_epi8(v, load_pick(third_pick[c][1]));
            const __m128i z = _mm_shuffle_epi8(w, load_pick(third_pick[c][2]));
            _mm_storeu_si128((__m128i *)(void *)(dst + c * plane + i), _mm_or_si128(x, _mm_or_si128(y, z)));
        }
    }
    for (; i < n; i++)
        for (size_t c = 0; c < 3; c++) dst[c * plane + i] = src[i * 3 + c];
}

static LEAT_FN_PLANAR_U8(planar_rgba8_avx2) {
    (void)channels;
    const __m128i group = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i v[4];
        LEAT_UNROLL
        for (size_t k = 0; k < 4; k++) v[k] = _mm_shuffle_epi8(load_pick(src + i * 4 + 16 * k), group);
        const __m128i rg_lo = _mm_unpacklo_epi32(v[0], v[1]), rg_hi = _mm_unpacklo_epi32(v[2], v[3]);
        const __m128i ba_lo = _mm_unpackhi_epi32(v[0], v[1]), ba_hi = _mm_unpackhi_epi32(v[2], v[3]);
        uint8_t *out = dst + i;
        _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi64(rg_lo, rg_hi));
        _mm_storeu_si128((__m128i *)(void *)(out + plane), _mm_unpackhi_epi64(rg_lo, rg_hi));
        _mm_storeu_si128((__m128i *)(void *)(out + 2 * plane), _mm_unpacklo_epi64(ba_lo, ba_hi));
        _mm_storeu_si128((__m128i *)(void *)(out + 3 * plane), _mm_unpackhi_epi64(ba_lo, ba_hi));
    }
    for (; i < n; i++)
        for (size_t c = 0; c < 4; c++) dst[c * plane + i] = src[i * 4 + c];
}

void leat__image_dsp_init_planar_avx2(leat__image_dsp *dsp) {
    dsp->planar_from_u8[3] = planar_from_rgb8_avx2;
    dsp->planar_from_u8[4] = planar_from_rgba8_avx2;
    dsp->planar_from_f32[3] = planar_from_rgb32_avx2;
    dsp->planar_from_f32[4] = planar_from_rgba32_avx2;
    dsp->planar_u8[3] = planar_rgb8_avx2;
    dsp->planar_u8[4] = planar_rgba8_avx2;
}
