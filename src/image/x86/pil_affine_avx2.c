/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's bilinear affine transform with AVX2, eight pixels at a time, a register for each channel of each neighbour.
 *
 * Pillow computes with doubles and cuts to whole numbers. Places are doubles here too. Values between the neighbours are floats,
 * which are wrong by less than a few parts of 2^17: the whole number is the same unless the value is that close to one. Pixels with
 * such a value are done again with doubles, about one of a thousand. Where all four neighbours are alike floats are exact. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/warp/pil_affine.h"

/* A pixel's way is one long chain of operations that wait for each other, and the processor cannot look far enough ahead to find the
 * next pixels. So the places of a block are found first. */
enum { AT_ONCE = 8, BLOCK = 64 };

#define CLOSE 0x1p-13f

/* What is the same for all pixels of a row. */
typedef struct frame {
    __m256d m[2], line[2],
        origin[2]; /* along each axis of src: what is multiplied by x, and added one after the other */
    __m256i stride;
} frame;

typedef struct places {
    int64_t at[BLOCK]; /* bytes from the beginning of src to the upper left neighbour */
    float tx[BLOCK], ty[BLOCK];
} LEAT_ALIGNED(32) places;

LEAT_INLINE frame frame_of(const leat__pil_row *row) {
    return (frame){.m = {_mm256_set1_pd(row->m[0]), _mm256_set1_pd(row->m[3])},
                   .line = {_mm256_set1_pd(row->across), _mm256_set1_pd(row->down)},
                   .origin = {_mm256_set1_pd(row->m[2]), _mm256_set1_pd(row->m[5])},
                   .stride = _mm256_set1_epi64x((int64_t)row->stride)};
}

/* Along one axis of src, counted from the middle of the first pixel; x is the middle of a pixel. */
LEAT_INLINE __m256d place(const frame *f, int axis, __m256d x) {
    const __m256d line = _mm256_add_pd(_mm256_mul_pd(f->m[axis], x), f->line[axis]);
    return _mm256_sub_pd(_mm256_add_pd(line, f->origin[axis]), _mm256_set1_pd(0.5));
}

/* Those of the four pixels from x on become the four from number k on. */
LEAT_INLINE void find(places *to, size_t k, const frame *f, int x) {
    const __m256d at = _mm256_add_pd(_mm256_set1_pd(x), _mm256_setr_pd(0.5, 1.5, 2.5, 3.5));
    const __m256d u = place(f, 0, at), v = place(f, 1, at);
    const __m128i i = _mm256_cvttpd_epi32(u), j = _mm256_cvttpd_epi32(v);
    const __m256i column = _mm256_cvtepi32_epi64(i),
                  above = _mm256_mul_epu32(_mm256_cvtepi32_epi64(j), f->stride);
    const __m256i bytes = _mm256_add_epi64(_mm256_add_epi64(above, column), _mm256_add_epi64(column, column));
    _mm256_store_si256((__m256i *)(void *)(to->at + k), bytes);
    _mm_storeu_ps(to->tx + k, _mm256_cvtpd_ps(_mm256_sub_pd(u, _mm256_cvtepi32_pd(i))));
    _mm_storeu_ps(to->ty + k, _mm256_cvtpd_ps(_mm256_sub_pd(v, _mm256_cvtepi32_pd(j))));
}

/* Eight bytes at p + a in the low half, at p + b in the high half. */
LEAT_INLINE __m128i load_two(const uint8_t *p, int64_t a, int64_t b) {
    int64_t high;
    memcpy(&high, p + b, sizeof high);
    return _mm_insert_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p + a)), high, 1);
}

LEAT_INLINE __m256i load_four(const uint8_t *p, int64_t a, int64_t b, int64_t c, int64_t d) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_two(p, a, b)), load_two(p, c, d), 1);
}

typedef struct colours {
    __m256i r, g, b;
} colours;

typedef struct row_of_two { /* a pixel and the next one to the right */
    colours left, right;
} row_of_two;

/* Of each four bytes this one. */
LEAT_INLINE __m256i pick(__m256i v, char k) {
    const __m128i four = _mm_setr_epi8(k, -1, -1, -1, (char)(k + 4), -1, -1, -1, (char)(k + 8), -1, -1, -1,
                                       (char)(k + 12), -1, -1, -1);
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(four));
}

/* Eight times six bytes, a pixel of dst in each lane of the results. */
LEAT_INLINE row_of_two load_row(const uint8_t *p, const int64_t at[AT_ONCE]) {
    const __m256 x = _mm256_castsi256_ps(load_four(p, at[0], at[1], at[4], at[5]));
    const __m256 y = _mm256_castsi256_ps(load_four(p, at[2], at[3], at[6], at[7]));
    const __m256i first = _mm256_castps_si256(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)));
    const __m256i last = _mm256_castps_si256(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(3, 1, 3, 1)));
    return (row_of_two){.left = {pick(first, 0), pick(first, 1), pick(first, 2)},
                        .right = {pick(first, 3), pick(last, 0), pick(last, 1)}};
}

/* One channel of eight pixels: a b above c d. */
LEAT_INLINE __m256 blend(__m256i a, __m256i b, __m256i c, __m256i d, __m256 tx, __m256 ty) {
    const __m256 above = _mm256_cvtepi32_ps(_mm256_sub_epi32(b, a)),
                 below = _mm256_cvtepi32_ps(_mm256_sub_epi32(d, c));
    const __m256 top = _mm256_add_ps(_mm256_cvtepi32_ps(a), _mm256_mul_ps(above, tx));
    const __m256 bottom = _mm256_add_ps(_mm256_cvtepi32_ps(c), _mm256_mul_ps(below, tx));
    const __m256 value = _mm256_add_ps(top, _mm256_mul_ps(_mm256_sub_ps(bottom, top), ty));
    return _mm256_add_ps(value, _mm256_set1_ps(CLOSE));
}

LEAT_INLINE void store(uint8_t *dst, __m256i r, __m256i g, __m256i b) {
    const __m256i pixels =
        _mm256_or_si256(r, _mm256_or_si256(_mm256_slli_epi32(g, 8), _mm256_slli_epi32(b, 16)));
    const __m256i close = _mm256_shuffle_epi8(
        pixels,
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)));
    const __m256i bytes = _mm256_permutevar8x32_epi32(close, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((__m128i *)(void *)(dst + 16), _mm256_extracti128_si256(bytes, 1));
}

LEAT_INLINE __m256 rest(__m256 x, __m256i whole) {
    return _mm256_sub_ps(x, _mm256_cvtepi32_ps(whole));
}

/* The lanes in which a value of one channel is too close to a whole number, and its neighbours a b above c d are not all alike. */
LEAT_INLINE __m256 unsure_of(__m256 x, __m256i whole, __m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i differ = _mm256_or_si256(_mm256_or_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d)),
                                           _mm256_xor_si256(a, c));
    const __m256 alike = _mm256_castsi256_ps(_mm256_cmpeq_epi32(differ, _mm256_setzero_si256()));
    return _mm256_andnot_ps(alike, _mm256_cmp_ps(rest(x, whole), _mm256_set1_ps(2 * CLOSE), _CMP_LT_OQ));
}

/* The eight pixels from x on, whose places are those from number k on. */
LEAT_INLINE void blend_eight(uint8_t *dst, const uint8_t *src, const leat__pil_row *row, const places *from,
                             size_t k, int x) {
    const __m256 tx = _mm256_loadu_ps(from->tx + k), ty = _mm256_loadu_ps(from->ty + k);
    const int64_t *at = from->at + k;
    const row_of_two top = load_row(src, at), bottom = load_row(src + row->stride, at);
    const __m256 r = blend(top.left.r, top.right.r, bottom.left.r, bottom.right.r, tx, ty);
    const __m256 g = blend(top.left.g, top.right.g, bottom.left.g, bottom.right.g, tx, ty);
    const __m256 b = blend(top.left.b, top.right.b, bottom.left.b, bottom.right.b, tx, ty);
    const __m256i red = _mm256_cvttps_epi32(r), green = _mm256_cvttps_epi32(g), blue = _mm256_cvttps_epi32(b);
    store(dst, red, green, blue);
    const __m256 least = _mm256_min_ps(rest(r, red), _mm256_min_ps(rest(g, green), rest(b, blue)));
    if (LEAT_LIKELY(!_mm256_movemask_ps(_mm256_cmp_ps(least, _mm256_set1_ps(2 * CLOSE), _CMP_LT_OQ)))) return;
    const __m256 of_r = unsure_of(r, red, top.left.r, top.right.r, bottom.left.r, bottom.right.r);
    const __m256 of_g = unsure_of(g, green, top.left.g, top.right.g, bottom.left.g, bottom.right.g);
    const __m256 of_b = unsure_of(b, blue, top.left.b, top.right.b, bottom.left.b, bottom.right.b);
    const int unsure = _mm256_movemask_ps(_mm256_or_ps(of_r, _mm256_or_ps(of_g, of_b)));
    for (int i = 0; unsure >> i; i++)
        if (unsure >> i & 1) leat__pil_blend_pixel(dst + 3 * i, src, row, x + i);
}

static LEAT_FN_PIL_BLEND(pil_blend_avx2) {
    if (n < AT_ONCE) {
        for (size_t i = 0; i < n; i++) leat__pil_blend_pixel(dst + 3 * i, src, row, row->x + (int)i);
        return;
    }
    const frame f = frame_of(row);
    places found;
    for (size_t done = 0; done < n; done += BLOCK) {
        size_t first[BLOCK / AT_ONCE], groups = 0;
        for (size_t i = done; i < LEAT_MIN(n, done + BLOCK); i += AT_ONCE, groups++) {
            first[groups] = LEAT_MIN(i, n - AT_ONCE); /* the last pixels may be done twice */
            find(&found, AT_ONCE * groups, &f, row->x + (int)first[groups]);
            find(&found, AT_ONCE * groups + 4, &f, row->x + (int)first[groups] + 4);
        }
        for (size_t g = 0; g < groups; g++)
            blend_eight(dst + 3 * first[g], src, row, &found, AT_ONCE * g, row->x + (int)first[g]);
    }
}

void leat__image_dsp_init_pil_affine_avx2(leat__image_dsp *dsp) {
    dsp->pil_blend = pil_blend_avx2;
}
