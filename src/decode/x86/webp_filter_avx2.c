/* SPDX-License-Identifier: Apache-2.0 */
/* The loop filter of lossy WebP with AVX2. A register holds 32 samples along an edge: 16 of luma in its lower half, eight of U and
 * eight of V in its upper one. Registers are numbered across the edge, which lies between 3 and 4. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

LEAT_INLINE __m256i bytes_of(int v) {
    return _mm256_set1_epi8((char)v);
}
LEAT_INLINE __m256i distance(__m256i a, __m256i b) {
    return _mm256_or_si256(_mm256_subs_epu8(a, b), _mm256_subs_epu8(b, a));
}
LEAT_INLINE __m256i at_most(__m256i v, __m256i most) {
    return _mm256_cmpeq_epi8(_mm256_subs_epu8(v, most), _mm256_setzero_si256());
}
LEAT_INLINE __m256i flip(__m256i v) { /* between signed and unsigned */
    return _mm256_xor_si256(v, bytes_of(-128));
}

/* Signed bytes divided by 8, rounded down. */
LEAT_INLINE __m256i eighth(__m256i v) {
    const __m256i shifted = _mm256_and_si256(_mm256_srli_epi16(flip(v), 3), bytes_of(31));
    return _mm256_add_epi8(shifted, bytes_of(-16));
}

/* Whether samples at the edge differ little enough. Half of an odd distance does not matter. */
LEAT_INLINE __m256i is_near(const __m256i v[8], int limit) {
    const __m256i inner = distance(v[3], v[4]), outer = distance(v[2], v[5]);
    const __m256i half = _mm256_srli_epi16(_mm256_and_si256(outer, bytes_of(254)), 1);
    return at_most(_mm256_adds_epu8(_mm256_adds_epu8(inner, inner), half), bytes_of(limit));
}

LEAT_INLINE __m256i is_flat(const __m256i v[8], int inner_limit) {
    const __m256i a = _mm256_max_epu8(distance(v[0], v[1]), distance(v[1], v[2]));
    const __m256i b = _mm256_max_epu8(distance(v[5], v[6]), distance(v[6], v[7]));
    const __m256i c = _mm256_max_epu8(distance(v[2], v[3]), distance(v[4], v[5]));
    return at_most(_mm256_max_epu8(_mm256_max_epu8(a, b), c), bytes_of(inner_limit));
}

LEAT_INLINE __m256i is_smooth(const __m256i v[8], int sharp) {
    return at_most(_mm256_max_epu8(distance(v[2], v[3]), distance(v[5], v[4])), bytes_of(sharp));
}

/* The step between the samples at the edge, three times, and perhaps that between the outer ones. */
LEAT_INLINE __m256i estimate(const __m256i s[4], __m256i outer) {
    const __m256i step = _mm256_subs_epi8(s[2], s[1]);
    return _mm256_adds_epi8(step, _mm256_adds_epi8(step, _mm256_adds_epi8(step, outer)));
}

/* The two samples at the edge; returns what the second one was changed by. s: four signed ones. */
LEAT_INLINE __m256i move_two(__m256i s[4], __m256i by) {
    const __m256i a = eighth(_mm256_adds_epi8(by, bytes_of(4))),
                  b = eighth(_mm256_adds_epi8(by, bytes_of(3)));
    s[1] = _mm256_adds_epi8(s[1], b);
    s[2] = _mm256_subs_epi8(s[2], a);
    return a;
}

LEAT_INLINE void simple_edge(__m256i v[8], int limit) {
    __m256i s[4];
    for (int i = 0; i < 4; i++) s[i] = flip(v[2 + i]);
    const __m256i by = estimate(s, _mm256_subs_epi8(s[0], s[3]));
    move_two(s, _mm256_and_si256(by, is_near(v, limit)));
    v[3] = flip(s[1]), v[4] = flip(s[2]);
}

LEAT_INLINE void inner_edge(__m256i v[8], int limit, int inner_limit, int sharp) {
    const __m256i wanted = _mm256_and_si256(is_near(v, limit), is_flat(v, inner_limit));
    const __m256i smooth = is_smooth(v, sharp);
    __m256i s[4];
    for (int i = 0; i < 4; i++) s[i] = flip(v[2 + i]);
    const __m256i outer = _mm256_andnot_si256(smooth, _mm256_subs_epi8(s[0], s[3]));
    const __m256i by = move_two(s, _mm256_and_si256(estimate(s, outer), wanted));
    /* Half of it, rounded up: an average with 0, of unsigned values. */
    const __m256i half = _mm256_add_epi8(_mm256_avg_epu8(flip(by), bytes_of(-128)), bytes_of(-128));
    const __m256i more = _mm256_and_si256(half, smooth);
    v[2] = flip(_mm256_adds_epi8(s[0], more));
    v[3] = flip(s[1]), v[4] = flip(s[2]);
    v[5] = flip(_mm256_subs_epi8(s[3], more));
}

LEAT_INLINE __m256i scaled(__m256i low, __m256i high) {
    return _mm256_packs_epi16(_mm256_srai_epi16(low, 7), _mm256_srai_epi16(high, 7));
}

LEAT_INLINE void outer_edge(__m256i v[8], int limit, int inner_limit, int sharp) {
    const __m256i wanted = _mm256_and_si256(is_near(v, limit), is_flat(v, inner_limit));
    const __m256i smooth = is_smooth(v, sharp);
    __m256i s[4];
    for (int i = 0; i < 4; i++) s[i] = flip(v[2 + i]);
    const __m256i by = _mm256_and_si256(estimate(s, _mm256_subs_epi8(s[0], s[3])), wanted);
    move_two(s, _mm256_andnot_si256(smooth, by));
    const __m256i wide = _mm256_and_si256(by, smooth), sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), wide);
    const __m256i nine = _mm256_set1_epi16(9), round = _mm256_set1_epi16(63);
    const __m256i low = _mm256_mullo_epi16(_mm256_unpacklo_epi8(wide, sign), nine);
    const __m256i high = _mm256_mullo_epi16(_mm256_unpackhi_epi8(wide, sign), nine);
    const __m256i low_1 = _mm256_add_epi16(low, round), high_1 = _mm256_add_epi16(high, round);
    const __m256i low_2 = _mm256_add_epi16(low, low_1), high_2 = _mm256_add_epi16(high, high_1);
    const __m256i by_1 = scaled(low_1, high_1), by_2 = scaled(low_2, high_2),
                  by_3 = scaled(_mm256_add_epi16(low, low_2), _mm256_add_epi16(high, high_2));
    v[1] = flip(_mm256_adds_epi8(flip(v[1]), by_1));
    v[2] = flip(_mm256_adds_epi8(s[0], by_2));
    v[3] = flip(_mm256_adds_epi8(s[1], by_3));
    v[4] = flip(_mm256_subs_epi8(s[2], by_3));
    v[5] = flip(_mm256_subs_epi8(s[3], by_2));
    v[6] = flip(_mm256_subs_epi8(flip(v[6]), by_1));
}

/* --------------------------------------------------------------------------------------- memory, rows */

LEAT_INLINE __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
LEAT_INLINE __m128i load8(const uint8_t *p) {
    return _mm_loadl_epi64((const __m128i *)(const void *)p);
}
LEAT_INLINE __m256i load_samples(const uint8_t *y, const uint8_t *u, const uint8_t *v) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(y)), _mm_unpacklo_epi64(load8(u), load8(v)),
                                   1);
}
LEAT_INLINE void store_luma(uint8_t *y, __m256i s) {
    _mm_storeu_si128((__m128i *)(void *)y, _mm256_castsi256_si128(s));
}
LEAT_INLINE void store_chroma(uint8_t *u, uint8_t *v, __m256i s) {
    const __m128i both = _mm256_extracti128_si256(s, 1);
    _mm_storel_epi64((__m128i *)(void *)u, both);
    _mm_storel_epi64((__m128i *)(void *)v, _mm_unpackhi_epi64(both, both));
}

static LEAT_FN_WEBP_FILTER(top_avx2) {
    __m256i s[8];
    for (int i = 0; i < 8; i++)
        s[i] = load_samples(y + (i - 4) * y_stride, u + (i - 4) * uv_stride, v + (i - 4) * uv_stride);
    outer_edge(s, limit, inner_limit, sharp);
    for (int i = 1; i < 7; i++) {
        store_luma(y + (i - 4) * y_stride, s[i]);
        store_chroma(u + (i - 4) * uv_stride, v + (i - 4) * uv_stride, s[i]);
    }
}

static LEAT_FN_WEBP_FILTER(rows_avx2) {
    __m256i s[8];
    for (int i = 0; i < 8; i++) s[i] = load_samples(y + i * y_stride, u + i * uv_stride, v + i * uv_stride);
    inner_edge(s, limit, inner_limit, sharp);
    for (int i = 2; i < 6; i++) {
        store_luma(y + i * y_stride, s[i]);
        store_chroma(u + i * uv_stride, v + i * uv_stride, s[i]);
    }
    for (int edge = 8; edge < 16; edge += 4) {
        for (int i = 0; i < 4; i++) {
            s[i] = s[4 + i];
            s[4 + i] = _mm256_castsi128_si256(load16(y + (edge + i) * y_stride));
        }
        inner_edge(s, limit, inner_limit, sharp);
        for (int i = 2; i < 6; i++) store_luma(y + (edge - 4 + i) * y_stride, s[i]);
    }
}

static LEAT_FN_WEBP_FILTER(simple_top_avx2) {
    (void)u, (void)v, (void)uv_stride, (void)inner_limit, (void)sharp;
    __m256i s[8];
    for (int i = 2; i < 6; i++) s[i] = _mm256_castsi128_si256(load16(y + (i - 4) * y_stride));
    simple_edge(s, limit);
    for (int i = 3; i < 5; i++) store_luma(y + (i - 4) * y_stride, s[i]);
}

static LEAT_FN_WEBP_FILTER(simple_rows_avx2) {
    for (int i = 4; i < 16; i += 4)
        simple_top_avx2(y + i * y_stride, u, v, y_stride, uv_stride, limit, inner_limit, sharp);
}

/* ------------------------------------------------------------------------------------ memory, columns */

/* n registers of rows become n of columns, or the other way, in each half: every step gives half of the registers the number of a
 * row and takes that of a column from them. */
LEAT_INLINE void turn(__m256i *s, int n) {
    for (int bit = n / 2; bit > 0; bit /= 2)
        for (int i = 0; i < n; i++) {
            if (i & bit) continue;
            const __m256i a = s[i], b = s[i | bit];
            s[i] = _mm256_unpacklo_epi8(a, b);
            s[i | bit] = _mm256_unpackhi_epi8(a, b);
        }
}

/* Eight columns. The first step is done on the way: rows i and i + 8 of luma in one register, and row i of U and V. */
LEAT_INLINE void load_columns(__m256i s[8], const uint8_t *y, const uint8_t *u, const uint8_t *v,
                              ptrdiff_t y_stride, ptrdiff_t uv_stride) {
    for (int i = 0; i < 8; i++) {
        const __m128i luma = _mm_unpacklo_epi8(load8(y + i * y_stride), load8(y + (i + 8) * y_stride));
        const __m128i chroma = _mm_unpacklo_epi8(load8(u + i * uv_stride), load8(v + i * uv_stride));
        s[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(luma), chroma, 1);
    }
    turn(s, 8);
}

/* A register has two rows that follow one another. */
LEAT_INLINE void store_pair(uint8_t *p, ptrdiff_t stride, __m128i rows) {
    _mm_storel_epi64((__m128i *)(void *)p, rows);
    _mm_storel_epi64((__m128i *)(void *)(p + stride), _mm_unpackhi_epi64(rows, rows));
}

static LEAT_FN_WEBP_FILTER(left_avx2) {
    __m256i s[8];
    load_columns(s, y - 4, u - 4, v - 4, y_stride, uv_stride);
    outer_edge(s, limit, inner_limit, sharp);
    turn(s, 8);
    for (int i = 0; i < 8; i++) {
        uint8_t *const chroma = (i < 4 ? u : v) - 4 + 2 * (i & 3) * uv_stride;
        store_pair(y - 4 + 2 * i * y_stride, y_stride, _mm256_castsi256_si128(s[i]));
        store_pair(chroma, uv_stride, _mm256_extracti128_si256(s[i], 1));
    }
}

/* Luma has 16 columns here. Chroma has eight, and the second and the third edge are not its own. */
static LEAT_FN_WEBP_FILTER(columns_avx2) {
    __m256i s[16];
    for (int i = 0; i < 16; i++) {
        const __m128i chroma = load8((i < 8 ? u : v) + (i & 7) * uv_stride);
        s[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(y + i * y_stride)), chroma, 1);
    }
    turn(s, 16);
    inner_edge(s, limit, inner_limit, sharp);
    const __m256i six = s[6], seven = s[7];
    inner_edge(s + 4, limit, inner_limit, sharp);
    inner_edge(s + 8, limit, inner_limit, sharp);
    s[6] = _mm256_permute2x128_si256(s[6], six, 0x30);
    s[7] = _mm256_permute2x128_si256(s[7], seven, 0x30);
    turn(s, 16);
    for (int i = 0; i < 16; i++) {
        store_luma(y + i * y_stride, s[i]);
        _mm_storel_epi64((__m128i *)(void *)((i < 8 ? u : v) + (i & 7) * uv_stride),
                         _mm256_extracti128_si256(s[i], 1));
    }
}

static LEAT_FN_WEBP_FILTER(simple_left_avx2) {
    (void)uv_stride, (void)inner_limit, (void)sharp, (void)u, (void)v;
    __m256i s[8];
    load_columns(s, y - 4, y - 4, y - 4, y_stride, y_stride);
    simple_edge(s, limit);
    turn(s, 8);
    for (int i = 0; i < 8; i++) store_pair(y - 4 + 2 * i * y_stride, y_stride, _mm256_castsi256_si128(s[i]));
}

static LEAT_FN_WEBP_FILTER(simple_columns_avx2) {
    for (int i = 4; i < 16; i += 4)
        simple_left_avx2(y + i, u, v, y_stride, uv_stride, limit, inner_limit, sharp);
}

void leat__webp_dsp_init_filter_avx2(leat__webp_dsp *dsp) {
    static const leat__webp_dsp wide = {
        .filter = {{simple_left_avx2, simple_columns_avx2, simple_top_avx2, simple_rows_avx2},
                   {left_avx2, columns_avx2, top_avx2, rows_avx2}},
    };
    memcpy(dsp->filter, wide.filter, sizeof wide.filter);
}
