/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling with AVX2. A pixel's load may be longer than the pixel, so outputs whose load would leave the
 * row are done one by one; they stand at one end of the table, because positions are monotone.
 *
 * Pillow's weights have 22 fractional bits and do not fit the 16-bit multiplier. They come as two halves,
 * weight = hi * 2^11 + lo; both sums are exact, and so is hi * 2^11 + lo of the sums. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

typedef struct span {
    int from, to;
} span;

/* Outputs that may read `reach` bytes from their first pixel on. */
LEAT_INLINE span safe_span(const leat__taps *taps, int channels, int64_t reach) {
    const int64_t last = ((int64_t)taps->n_in * channels - reach) / channels;
    span s = {0, taps->n_out};
    if ((int64_t)taps->n_in * channels < reach) return (span){0, 0};
    while (s.to > 0 && taps->lower[s.to - 1] > last) s.to--;
    while (s.from < s.to && taps->lower[s.from] > last) s.from++;
    return s;
}

/* 16 bytes from a in the low lane and from b in the high lane. */
LEAT_INLINE __m256i load_two(const uint8_t *a, const uint8_t *b) {
    const __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)a));
    return _mm256_inserti128_si256(low, _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}

LEAT_INLINE __m256i both_lanes(__m128i x) {
    return _mm256_broadcastsi128_si256(x);
}

/* --------------------------------------------------------------------------------------- tf.image */

/* Eight bytes from a in the low half, from b in the high half. */
LEAT_INLINE __m128i load_halves(const uint8_t *a, const uint8_t *b) {
    int64_t high;
    memcpy(&high, b, sizeof high);
    return _mm_insert_epi64(_mm_loadl_epi64((const __m128i *)(const void *)a), high, 1);
}

/* The same in both lanes. */
LEAT_INLINE __m256i load_four(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_halves(a, b)), load_halves(c, d), 1);
}

/* Bytes as 32-bit values: those of a lane that stand at these places. */
#define PICK(a, b, c, d) a, -1, -1, -1, b, -1, -1, -1, c, -1, -1, -1, d, -1, -1, -1

/* Values a + (b - a) * t, of which a stands at `pick` and b three bytes behind it. */
LEAT_INLINE __m256 lerp_bytes(__m256i v, __m256i pick, __m256 t) {
    const __m256i three = _mm256_set1_epi32(3), a = _mm256_shuffle_epi8(v, pick);
    const __m256i step = _mm256_sub_epi32(_mm256_shuffle_epi8(v, _mm256_add_epi32(pick, three)), a);
    return _mm256_add_ps(_mm256_cvtepi32_ps(a), _mm256_mul_ps(_mm256_cvtepi32_ps(step), t));
}

/* Eight pixels are 24 values, three registers of eight. A lane holds four values of two neighbouring outputs, which it loads
 * for itself. */
static LEAT_FN_TF_H_U8(tf_h_rgb_avx2) {
    enum { N = 8 };
    (void)channels;
    const __m256i pick0 = _mm256_setr_epi8(PICK(0, 1, 2, 8), PICK(1, 2, 8, 9));
    const __m256i pick1 = _mm256_setr_epi8(PICK(2, 8, 9, 10), PICK(0, 1, 2, 8));
    const __m256i pick2 = _mm256_setr_epi8(PICK(1, 2, 8, 9), PICK(2, 8, 9, 10));
    const __m256i of0 = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2),
                  of1 = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5),
                  of2 = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
    const span s = safe_span(taps, 3, 8);
    const bool wide = s.to - s.from >= N;
    for (int i = s.from; wide && i < s.to; i += N) {
        const int at = LEAT_MIN(i, s.to - N); /* the last eight may be done twice */
        const uint8_t *p[N];
        for (int k = 0; k < N; k++) p[k] = src + 3 * (ptrdiff_t)taps->lower[at + k];
        const __m256 t = _mm256_loadu_ps(taps->lerp + at);
        float *out = dst + 3 * (ptrdiff_t)at;
        _mm256_storeu_ps(
            out, lerp_bytes(load_four(p[0], p[1], p[1], p[2]), pick0, _mm256_permutevar8x32_ps(t, of0)));
        _mm256_storeu_ps(
            out + 8, lerp_bytes(load_four(p[2], p[3], p[4], p[5]), pick1, _mm256_permutevar8x32_ps(t, of1)));
        _mm256_storeu_ps(
            out + 16, lerp_bytes(load_four(p[5], p[6], p[6], p[7]), pick2, _mm256_permutevar8x32_ps(t, of2)));
    }
    const int from = wide ? s.from : 0, to = wide ? s.to : 0;
    for (int i = 0; i < from; i++) leat__tf_pixel_u8(dst + 3 * (ptrdiff_t)i, src, taps, i, 3);
    for (int i = to; i < taps->n_out; i++) leat__tf_pixel_u8(dst + 3 * (ptrdiff_t)i, src, taps, i, 3);
}
#undef PICK

static LEAT_FN_TF_H_U8(tf_h_rgba_avx2) {
    (void)channels;
    const __m256i pick_a =
        both_lanes(_mm_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1));
    const __m256i pick_b =
        both_lanes(_mm_setr_epi8(4, -1, -1, -1, 5, -1, -1, -1, 6, -1, -1, -1, 7, -1, -1, -1));
    const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    const int32_t *lower = taps->lower;
    const span s = safe_span(taps, 4, 16);
    int i = 0;
    for (; i < s.from; i++) leat__tf_pixel_u8(dst + 4 * (ptrdiff_t)i, src, taps, i, 4);
    for (; i + 2 <= s.to; i += 2) {
        const __m256i v = load_two(src + 4 * (ptrdiff_t)lower[i], src + 4 * (ptrdiff_t)lower[i + 1]);
        const __m256i a = _mm256_shuffle_epi8(v, pick_a);
        const __m256i step = _mm256_sub_epi32(_mm256_shuffle_epi8(v, pick_b), a);
        double two; /* two floats, taken together */
        memcpy(&two, taps->lerp + i, sizeof two);
        const __m256 t = _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(two)), spread);
        const __m256 r = _mm256_add_ps(_mm256_cvtepi32_ps(a), _mm256_mul_ps(_mm256_cvtepi32_ps(step), t));
        _mm256_storeu_ps(dst + 4 * (ptrdiff_t)i, r);
    }
    for (; i < taps->n_out; i++) leat__tf_pixel_u8(dst + 4 * (ptrdiff_t)i, src, taps, i, 4);
}

static LEAT_FN_TF_H_U8(tf_h_gray_avx2) {
    (void)channels;
    const __m256i byte = _mm256_set1_epi32(0xff);
    const span s = safe_span(taps, 1, 4);
    int i = 0;
    for (; i < s.from; i++) leat__tf_pixel_u8(dst + i, src, taps, i, 1);
    for (; i + 8 <= s.to; i += 8) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(taps->lower + i));
        const __m256i v = _mm256_i32gather_epi32((const int *)(const void *)src, at, 1);
        const __m256i a = _mm256_and_si256(v, byte);
        const __m256i step = _mm256_sub_epi32(_mm256_and_si256(_mm256_srli_epi32(v, 8), byte), a);
        const __m256 t = _mm256_loadu_ps(taps->lerp + i);
        _mm256_storeu_ps(dst + i,
                         _mm256_add_ps(_mm256_cvtepi32_ps(a), _mm256_mul_ps(_mm256_cvtepi32_ps(step), t)));
    }
    for (; i < taps->n_out; i++) leat__tf_pixel_u8(dst + i, src, taps, i, 1);
}

/* ------------------------------------------------------------------------------------------ Pillow */

/* hi * 2^11 + lo, rounded and shifted to whole numbers. */
LEAT_INLINE __m256i pil_join(__m256i hi, __m256i lo) {
    const __m256i half = _mm256_set1_epi32(1 << (LEAT_PIL_BITS - 1));
    const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(hi, LEAT_PIL_SPLIT), _mm256_add_epi32(lo, half));
    return _mm256_srai_epi32(sum, LEAT_PIL_BITS);
}

/* Shuffles that put two neighbouring taps side by side as words, channel after channel: the taps at the
 * first bytes of a load, the two after them, and the last two of 16 bytes. */
typedef struct pil_picks {
    __m256i first, second, last;
} pil_picks;

LEAT_INLINE pil_picks pil_picks_for(int channels) {
    if (channels == 3)
        return (pil_picks){
            both_lanes(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)),
            both_lanes(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1)),
            both_lanes(_mm_setr_epi8(10, -1, 13, -1, 11, -1, 14, -1, 12, -1, 15, -1, -1, -1, -1, -1)),
        };
    const __m256i second =
        both_lanes(_mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1));
    return (pil_picks){both_lanes(_mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1)),
                       second, second};
}

/* Two output pixels, one in each lane, a dword a channel. */
LEAT_INLINE __m256i pil_two(const uint8_t *a, const uint8_t *b, const __m256i *split, int n_pairs,
                            int channels, const pil_picks *pick) {
    __m256i hi = _mm256_setzero_si256(), lo = hi;
    int p = 0;
    LEAT_UNROLL
    for (; p + 2 <= n_pairs; p += 2, split += 4) {
        const __m256i v = load_two(a + 2 * p * channels, b + 2 * p * channels);
        const __m256i x = _mm256_shuffle_epi8(v, pick->first), y = _mm256_shuffle_epi8(v, pick->second);
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(x, split[0]));
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(x, split[1]));
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(y, split[2]));
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(y, split[3]));
    }
    if (p < n_pairs) {
        const int offset = n_pairs == 1 ? 0 : 2 * n_pairs * channels - 16;
        const __m256i v = load_two(a + offset, b + offset);
        const __m256i x = _mm256_shuffle_epi8(v, n_pairs == 1 ? pick->first : pick->last);
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(x, split[0]));
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(x, split[1]));
    }
    return pil_join(hi, lo);
}

LEAT_INLINE void pil_h_pairs(uint8_t *dst, const uint8_t *src, const leat__taps *taps, int channels,
                             int n_pairs) {
    const pil_picks pick = pil_picks_for(channels);
    const __m128i close_up = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const int32_t *lower = taps->lower;
    const size_t step = (size_t)n_pairs * 2;
    /* The last load ends with the last tap, or for an even number of RGB pairs 4 bytes later. */
    const int64_t reach = (int64_t)n_pairs * 2 * channels + (channels == 3 && n_pairs % 2 == 0 ? 4 : 0);
    span s = safe_span(taps, channels, LEAT_MAX(16, reach));
    s.from = LEAT_ALIGN_UP(s.from, 2); /* weights stand in groups of two outputs */
    int i = 0;
    for (; i < LEAT_MIN(s.from, taps->n_out); i++)
        leat__pil_pixel(dst + (size_t)i * (size_t)channels, src, taps, i, channels);
    const __m256i *split = (const __m256i *)(const void *)taps->split + (size_t)(i / 2) * step;
#define TWO(k)                                                                                          \
    pil_two(src + (ptrdiff_t)lower[i + (k)] * channels, src + (ptrdiff_t)lower[i + (k) + 1] * channels, \
            split + (size_t)((k) / 2) * step, n_pairs, channels, &pick)
    for (; i + 8 <= s.to; i += 8, split += 4 * step) {
        const __m256i ab = _mm256_packs_epi32(TWO(0), TWO(2)), cd = _mm256_packs_epi32(TWO(4), TWO(6));
        const __m256i bytes = _mm256_packus_epi16(ab, cd); /* 0 2 4 6 | 1 3 5 7 */
        const __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
        __m128i low = _mm_unpacklo_epi32(even, odd), high = _mm_unpackhi_epi32(even, odd);
        if (channels == 3) low = _mm_shuffle_epi8(low, close_up), high = _mm_shuffle_epi8(high, close_up);
        uint8_t *out = dst + (size_t)i * (size_t)channels;
        _mm_storeu_si128((__m128i *)(void *)out, low);
        _mm_storeu_si128((__m128i *)(void *)(out + 4 * channels), high);
    }
    for (; i + 2 <= s.to; i += 2, split += step) {
        const __m256i words = _mm256_packs_epi32(TWO(0), _mm256_setzero_si256());
        const __m256i bytes = _mm256_packus_epi16(words, words);
        const int a = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
        const int b = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
        uint8_t *out = dst + (size_t)i * (size_t)channels;
        memcpy(out, &a, 4);
        memcpy(out + channels, &b, 4);
    }
#undef TWO
    for (; i < taps->n_out; i++) leat__pil_pixel(dst + (size_t)i * (size_t)channels, src, taps, i, channels);
}

/* Constant counts for the usual ratios, so that the loops above unroll. */
LEAT_INLINE void pil_h_wide(uint8_t *dst, const uint8_t *src, const leat__taps *taps, int channels) {
    switch (taps->n_pairs) {
    case 1: pil_h_pairs(dst, src, taps, channels, 1); break;
    case 2: pil_h_pairs(dst, src, taps, channels, 2); break;
    case 3: pil_h_pairs(dst, src, taps, channels, 3); break;
    case 4: pil_h_pairs(dst, src, taps, channels, 4); break;
    case 5: pil_h_pairs(dst, src, taps, channels, 5); break;
    case 6: pil_h_pairs(dst, src, taps, channels, 6); break;
    case 7: pil_h_pairs(dst, src, taps, channels, 7); break;
    default: pil_h_pairs(dst, src, taps, channels, taps->n_pairs);
    }
}

static LEAT_FN_PIL_H(pil_h_rgb_avx2) {
    (void)channels;
    pil_h_wide(dst, src, taps, 3);
}

static LEAT_FN_PIL_H(pil_h_rgba_avx2) {
    (void)channels;
    pil_h_wide(dst, src, taps, 4);
}

LEAT_INLINE void store_eight(uint8_t *dst, __m256i sum) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storel_epi64((__m128i *)(void *)dst, _mm_packus_epi16(words, words));
}

/* The same of three rows. */
LEAT_INLINE void store_three(uint8_t *dst, size_t apart, __m256i x, __m256i y, __m256i z) {
    const __m256i halves = _mm256_packus_epi16(_mm256_packs_epi32(x, y), _mm256_packs_epi32(z, z));
    const __m256i rows = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const __m128i xy = _mm256_castsi256_si128(rows);
    _mm_storel_epi64((__m128i *)(void *)dst, xy);
    _mm_storel_epi64((__m128i *)(void *)(dst + apart), _mm_unpackhi_epi64(xy, xy));
    _mm_storel_epi64((__m128i *)(void *)(dst + 2 * apart), _mm256_extracti128_si256(rows, 1));
}

LEAT_INLINE __m256i pil_eight(const uint8_t *a, const uint8_t *b, __m256i pick, const __m256i *split,
                              int n_pairs) {
    __m256i hi = _mm256_setzero_si256(), lo = hi;
    LEAT_UNROLL
    for (int p = 0; p < n_pairs; p++, split += 2) {
        const __m256i x = _mm256_shuffle_epi8(load_two(a + 2 * p, b + 2 * p), pick);
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(x, split[0]));
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(x, split[1]));
    }
    return pil_join(hi, lo);
}

typedef struct byte_rows { /* one, or three that begin so many bytes after one another */
    uint8_t *dst;
    const uint8_t *src;
    size_t dst_apart, src_apart;
    bool three;
} byte_rows;

/* Eight outputs at a time, all of them: the table keeps loads inside the row, and dst is padded. */
LEAT_INLINE void pil_h_near(byte_rows rows, const leat__taps *taps, int n_pairs) {
    const __m256i *split = (const __m256i *)(const void *)taps->split;
    const __m256i *pick = (const __m256i *)(const void *)taps->pick;
    const int32_t *begin = taps->begin;
    for (int i = 0; i < taps->n_out; i += 8, begin += 2, pick++, split += 2 * (ptrdiff_t)n_pairs) {
        const uint8_t *a = rows.src + begin[0], *b = rows.src + begin[1];
        const __m256i x = pil_eight(a, b, *pick, split, n_pairs);
        if (rows.three) {
            a += rows.src_apart, b += rows.src_apart;
            const __m256i y = pil_eight(a, b, *pick, split, n_pairs);
            a += rows.src_apart, b += rows.src_apart;
            store_three(rows.dst + i, rows.dst_apart, x, y, pil_eight(a, b, *pick, split, n_pairs));
        } else {
            store_eight(rows.dst + i, x);
        }
    }
}

LEAT_INLINE void pil_h_near_any(byte_rows rows, const leat__taps *taps) {
    switch (taps->n_pairs) {
    case 1: pil_h_near(rows, taps, 1); break;
    case 2: pil_h_near(rows, taps, 2); break;
    case 3: pil_h_near(rows, taps, 3); break;
    default: pil_h_near(rows, taps, taps->n_pairs);
    }
}

/* Pixels that lie further apart are gathered. */
static void pil_h_far(uint8_t *dst, const uint8_t *src, const leat__taps *taps) {
    const __m256i pick_a =
        both_lanes(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
    const __m256i pick_b =
        both_lanes(_mm_setr_epi8(2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1));
    const int n_pairs = taps->n_pairs;
    span s = safe_span(taps, 1, (int64_t)(n_pairs + 1) / 2 * 4);
    s.from = LEAT_ALIGN_UP(s.from, 8); /* weights stand in groups of eight outputs */
    int i = 0;
    for (; i < LEAT_MIN(s.from, taps->n_out); i++) leat__pil_pixel(dst + i, src, taps, i, 1);
    const __m256i *split = (const __m256i *)(const void *)taps->split + (size_t)(i / 8) * (size_t)n_pairs * 2;
    for (; i + 8 <= s.to; i += 8) {
        __m256i hi = _mm256_setzero_si256(), lo = hi;
        __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(taps->lower + i));
        for (int p = 0; p < n_pairs; p += 2) {
            const __m256i v = _mm256_i32gather_epi32((const int *)(const void *)src, at, 1);
            const __m256i x = _mm256_shuffle_epi8(v, pick_a);
            hi = _mm256_add_epi32(hi, _mm256_madd_epi16(x, split[0]));
            lo = _mm256_add_epi32(lo, _mm256_madd_epi16(x, split[1]));
            split += 2;
            if (p + 1 < n_pairs) {
                const __m256i y = _mm256_shuffle_epi8(v, pick_b);
                hi = _mm256_add_epi32(hi, _mm256_madd_epi16(y, split[0]));
                lo = _mm256_add_epi32(lo, _mm256_madd_epi16(y, split[1]));
                split += 2;
            }
            at = _mm256_add_epi32(at, _mm256_set1_epi32(4));
        }
        store_eight(dst + i, pil_join(hi, lo));
    }
    for (; i < taps->n_out; i++) leat__pil_pixel(dst + i, src, taps, i, 1);
}

static LEAT_FN_PIL_H(pil_h_gray_avx2) {
    (void)channels;
    if (taps->pick) pil_h_near_any((byte_rows){.dst = dst, .src = src}, taps);
    else pil_h_far(dst, src, taps);
}

static LEAT_FN_PIL_H_PLANES(pil_h_planes_avx2) {
    const byte_rows rows = {
        .dst = dst, .src = src, .dst_apart = dst_apart, .src_apart = src_apart, .three = true};
    if (taps->pick) pil_h_near_any(rows, taps);
    else
        for (size_t c = 0; c < 3; c++) pil_h_far(dst + c * dst_apart, src + c * src_apart, taps);
}

/* The weights of two rows each, as halves: made once for all columns. */
enum { PIL_ROWS_MAX = 128 }; /* a picture of more than 60 times the height has more */
typedef struct pil_weights {
    int32_t hi[PIL_ROWS_MAX / 2], lo[PIL_ROWS_MAX / 2];
} pil_weights;

LEAT_INLINE void pil_weigh(pil_weights *w, const int32_t *coef, int n_taps) {
    const int32_t mask = (1 << LEAT_PIL_SPLIT) - 1;
    for (int t = 0; t < n_taps; t += 2) {
        const int32_t k = coef[t], l = t + 1 < n_taps ? coef[t + 1] : 0;
        w->hi[t / 2] = (int32_t)((uint16_t)(k >> LEAT_PIL_SPLIT) | (uint32_t)(l >> LEAT_PIL_SPLIT) << 16);
        w->lo[t / 2] = (k & mask) | (l & mask) << 16;
    }
}

/* 32 columns. Unpacking and packing both work inside lanes, so the order comes back by itself. */
LEAT_INLINE __m256i pil_columns(const uint8_t *const *rows, const pil_weights *w, int n_taps, size_t i) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i hi[4] = {zero, zero, zero, zero}, lo[4] = {zero, zero, zero, zero};
    for (int t = 0; t < n_taps; t += 2) {
        const bool two = t + 1 < n_taps;
        const __m256i khi = _mm256_set1_epi32(w->hi[t / 2]), klo = _mm256_set1_epi32(w->lo[t / 2]);
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(rows[t] + i));
        const __m256i b = two ? _mm256_loadu_si256((const __m256i *)(const void *)(rows[t + 1] + i)) : zero;
        const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpackhi_epi8(a, b);
        const __m256i x[4] = {_mm256_unpacklo_epi8(ab, zero), _mm256_unpackhi_epi8(ab, zero),
                              _mm256_unpacklo_epi8(cd, zero), _mm256_unpackhi_epi8(cd, zero)};
        LEAT_UNROLL
        for (int j = 0; j < 4; j++) {
            hi[j] = _mm256_add_epi32(hi[j], _mm256_madd_epi16(x[j], khi));
            lo[j] = _mm256_add_epi32(lo[j], _mm256_madd_epi16(x[j], klo));
        }
    }
    const __m256i low = _mm256_packs_epi32(pil_join(hi[0], lo[0]), pil_join(hi[1], lo[1]));
    const __m256i high = _mm256_packs_epi32(pil_join(hi[2], lo[2]), pil_join(hi[3], lo[3]));
    return _mm256_packus_epi16(low, high);
}

LEAT_INLINE void pil_rows(uint8_t *dst, const uint8_t *const *rows, const int32_t *coef, int n_taps,
                          size_t n) {
    pil_weights w;
    pil_weigh(&w, coef, n_taps);
    for (size_t i = 0; i + 32 <= n; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), pil_columns(rows, &w, n_taps, i));
    if (n % 32) /* the last columns once more, from the end */
        _mm256_storeu_si256((__m256i *)(void *)(dst + n - 32), pil_columns(rows, &w, n_taps, n - 32));
}

static LEAT_FN_PIL_V(pil_v_avx2) {
    if (n < 32 || n_taps > PIL_ROWS_MAX)
        for (size_t i = 0; i < n; i++) dst[i] = leat__pil_column(rows, coef, n_taps, i);
    else if (n_taps == 2) pil_rows(dst, rows, coef, 2, n);
    else pil_rows(dst, rows, coef, n_taps, n);
}

/* --------------------------------------------------------------------------- weighted sums of floats */

/* Four values from a in the low lane and from b in the high lane. */
LEAT_INLINE __m256 load_two_f32(const float *a, const float *b) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
}

LEAT_INLINE void sum_h_wide(float *dst, const float *src, const leat__taps *taps, int channels) {
    const int32_t *lower = taps->lower;
    const int n_taps = taps->max_taps;
    span s = safe_span(taps, channels, (int64_t)(n_taps - 1) * channels + 4);
    s.from = LEAT_ALIGN_UP(s.from, 2); /* weights stand in groups of two outputs */
    int i = 0;
    for (; i < LEAT_MIN(s.from, taps->n_out); i++)
        leat__sum_pixel(dst + (size_t)i * (size_t)channels, src, taps, i, channels);
    const float *weight = taps->spread + (size_t)(i / 2) * (size_t)n_taps * 8;
    const size_t next = (size_t)n_taps * 8;
    for (; i + 4 <= s.to; i += 4, weight += next) {
        const float *a = src + (ptrdiff_t)lower[i] * channels, *b = src + (ptrdiff_t)lower[i + 1] * channels;
        const float *c = src + (ptrdiff_t)lower[i + 2] * channels;
        const float *d = src + (ptrdiff_t)lower[i + 3] * channels;
        __m256 x = _mm256_setzero_ps(), y = x;
        for (int t = 0; t < n_taps; t++, weight += 8) {
            x = _mm256_add_ps(x, _mm256_mul_ps(load_two_f32(a, b), _mm256_load_ps(weight)));
            y = _mm256_add_ps(y, _mm256_mul_ps(load_two_f32(c, d), _mm256_load_ps(weight + next)));
            a += channels, b += channels, c += channels, d += channels;
        }
        float *out = dst + (size_t)i * (size_t)channels;
        _mm_storeu_ps(out, _mm256_castps256_ps128(x));
        _mm_storeu_ps(out + channels, _mm256_extractf128_ps(x, 1));
        _mm_storeu_ps(out + 2 * channels, _mm256_castps256_ps128(y));
        _mm_storeu_ps(out + 3 * channels, _mm256_extractf128_ps(y, 1));
    }
    /* After the vectors: an RGB store ends one value late. */
    for (; i < taps->n_out; i++) leat__sum_pixel(dst + (size_t)i * (size_t)channels, src, taps, i, channels);
}

static LEAT_FN_SUM_H(sum_h_rgb_avx2) {
    (void)channels;
    sum_h_wide(dst, src, taps, 3);
}

static LEAT_FN_SUM_H(sum_h_rgba_avx2) {
    (void)channels;
    sum_h_wide(dst, src, taps, 4);
}

static LEAT_FN_SUM_H(sum_h_gray_avx2) {
    (void)channels;
    const int n_taps = taps->max_taps;
    span s = safe_span(taps, 1, n_taps);
    s.from = LEAT_ALIGN_UP(s.from, 8); /* weights stand in groups of eight outputs */
    int i = 0;
    for (; i < LEAT_MIN(s.from, taps->n_out); i++) leat__sum_pixel(dst + i, src, taps, i, 1);
    const float *weight = taps->spread + (size_t)(i / 8) * (size_t)n_taps * 8;
    for (; i + 8 <= s.to; i += 8) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(taps->lower + i));
        __m256 sum = _mm256_setzero_ps();
        for (int t = 0; t < n_taps; t++, weight += 8)
            sum = _mm256_add_ps(sum,
                                _mm256_mul_ps(_mm256_i32gather_ps(src + t, at, 4), _mm256_load_ps(weight)));
        _mm256_storeu_ps(dst + i, sum);
    }
    for (; i < taps->n_out; i++) leat__sum_pixel(dst + i, src, taps, i, 1);
}

void leat__image_dsp_init_resample_avx2(leat__image_dsp *dsp) {
    dsp->tf_h_u8[1] = tf_h_gray_avx2;
    dsp->tf_h_u8[3] = tf_h_rgb_avx2;
    dsp->tf_h_u8[4] = tf_h_rgba_avx2;
    dsp->pil_h[1] = pil_h_gray_avx2;
    dsp->pil_h[3] = pil_h_rgb_avx2;
    dsp->pil_h[4] = pil_h_rgba_avx2;
    dsp->pil_h_planes = pil_h_planes_avx2;
    dsp->lanes[1] = 1;
    dsp->lanes[3] = 4;
    dsp->lanes[4] = 4;
    dsp->pil_v = pil_v_avx2;
    dsp->sum_h[1] = sum_h_gray_avx2;
    dsp->sum_h[3] = sum_h_rgb_avx2;
    dsp->sum_h[4] = sum_h_rgba_avx2;
}
