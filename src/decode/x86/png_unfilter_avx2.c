/* SPDX-License-Identifier: Apache-2.0 */
/* PNG's filters with 128-bit vectors, encoded as AVX2 does. A pixel depends on the one before it, so that the time of a row is
 * that of a chain of dependent instructions: they are arranged such that as few of them as possible wait for the pixel
 * before. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

LEAT_INLINE __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
LEAT_INLINE void store16(uint8_t *p, __m128i v) {
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

/* One pixel in the low bytes, and perhaps some of what follows it. */
LEAT_INLINE __m128i load_pixel(const uint8_t *p, size_t pixel) {
    if (pixel <= 4) {
        uint32_t v = 0;
        memcpy(&v, p, pixel == 3 ? 4 : pixel);
        return _mm_cvtsi32_si128((int)v);
    }
    uint64_t v;
    memcpy(&v, p, 8);
    return _mm_cvtsi64_si128((long long)v);
}

/* May write behind the pixel, up to a multiple of four bytes. */
LEAT_INLINE void store_pixel(uint8_t *p, __m128i v, size_t pixel) {
    const uint64_t bytes = (uint64_t)_mm_cvtsi128_si64(v);
    memcpy(p, &bytes, pixel == 3 ? 4 : pixel == 6 ? 8 : pixel);
}

/* ------------------------------------------------------------------------------------------ sub and up */

/* Sums over the pixels of one vector, then the last pixel of the vector before is added to all. Vectors have 16 bytes, or the
 * 12 that are whole pixels of 3 or 6. */
LEAT_INLINE void undo_sub(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    const size_t step = pixel == 3 || pixel == 6 ? 12 : 16;
    LEAT_ALIGNED(16) uint8_t order[16];
    for (size_t i = 0; i < 16; i++) order[i] = (uint8_t)(step - pixel + i % pixel);
    const __m128i last = _mm_load_si128((const __m128i *)(const void *)order);
    __m128i before = _mm_setzero_si128();
    for (size_t i = 0; i < n; i += step) {
        __m128i v = load16(raw + i);
        if (pixel == 1) v = _mm_add_epi8(v, _mm_slli_si128(v, 1));
        if (pixel <= 2) v = _mm_add_epi8(v, _mm_slli_si128(v, 2));
        if (pixel == 3) v = _mm_add_epi8(v, _mm_slli_si128(v, 3));
        if (pixel <= 2 || pixel == 4) v = _mm_add_epi8(v, _mm_slli_si128(v, 4));
        if (pixel == 3 || pixel == 6) v = _mm_add_epi8(v, _mm_slli_si128(v, 6));
        if (step == 16) v = _mm_add_epi8(v, _mm_slli_si128(v, 8));
        v = _mm_add_epi8(v, before);
        before = _mm_shuffle_epi8(v, last);
        store16(row + i, v);
    }
}

static LEAT_FN_PNG_UNFILTER(up_avx2) {
    for (size_t i = 0; i < n; i += 32) {
        __m256i *at = (__m256i *)(void *)(row + i);
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(raw + i));
        _mm256_storeu_si256(at, _mm256_add_epi8(v, _mm256_loadu_si256(at)));
    }
}

/* --------------------------------------------------------------------------------------------- average */

/* Averages of complements: the instruction rounds up, and so the complement of its result is rounded down. With a' = ~a,
 * ~(raw + ~average(a', ~b)) is average(a', ~b) - raw: two instructions from one pixel to the next. */
LEAT_INLINE void undo_average(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    const __m128i ones = _mm_set1_epi8(-1);
    __m128i a = ones, b = load_pixel(row, pixel);
    for (size_t i = 0; i < n; i += pixel) {
        const __m128i next = load_pixel(row + i + pixel, pixel); /* before a store that overlaps it */
        a = _mm_sub_epi8(_mm_avg_epu8(a, _mm_xor_si128(b, ones)), load_pixel(raw + i, pixel));
        store_pixel(row + i, _mm_xor_si128(a, ones), pixel);
        b = next;
    }
}

/* ----------------------------------------------------------------------------------------------- Paeth */

LEAT_INLINE __m128i either(__m128i no, __m128i yes, __m128i mask) {
    return _mm_blendv_epi8(no, yes, mask);
}

/* Values of 16 bits. What the byte becomes is computed for all three neighbours, and then one of the three is chosen: the
 * sums with b and c do not wait for a. */
LEAT_INLINE __m128i paeth(__m128i a, __m128i b, __m128i c, __m128i raw) {
    const __m128i bytes = _mm_set1_epi16(255);
    const __m128i with_b = _mm_and_si128(_mm_add_epi16(raw, b), bytes);
    const __m128i with_c = _mm_and_si128(_mm_add_epi16(raw, c), bytes);
    const __m128i bc = _mm_sub_epi16(b, c), to_a = _mm_abs_epi16(bc);
    const __m128i with_a = _mm_and_si128(_mm_add_epi16(raw, a), bytes);
    const __m128i ac = _mm_sub_epi16(a, c), to_b = _mm_abs_epi16(ac);
    const __m128i to_c = _mm_abs_epi16(_mm_add_epi16(ac, bc));
    const __m128i first = either(with_a, with_b, _mm_cmpgt_epi16(to_a, to_b));
    return either(first, with_c, _mm_cmpgt_epi16(_mm_min_epi16(to_a, to_b), to_c));
}

LEAT_INLINE void undo_paeth(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    __m128i a = _mm_setzero_si128(), c = a, b = _mm_cvtepu8_epi16(load_pixel(row, pixel));
    for (size_t i = 0; i < n; i += pixel) {
        const __m128i next = _mm_cvtepu8_epi16(load_pixel(row + i + pixel, pixel));
        a = paeth(a, b, c, _mm_cvtepu8_epi16(load_pixel(raw + i, pixel)));
        store_pixel(row + i, _mm_packus_epi16(a, a), pixel);
        c = b;
        b = next;
    }
}

/* Two rows side by side in one vector, for pixels of up to 4 bytes: the upper row is one pixel ahead, so that what the lower
 * row has above it is what the upper row had to its left. */
LEAT_INLINE __m128i side_by_side(__m128i upper, __m128i lower) {
    return _mm_cvtepu8_epi16(_mm_unpacklo_epi32(upper, lower));
}

LEAT_INLINE void undo_pair(uint8_t *row, uint8_t *below, const uint8_t *raw, const uint8_t *raw_below,
                           size_t n, size_t pixel) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i first = _mm_add_epi8(load_pixel(row, pixel), load_pixel(raw, pixel));
    __m128i a = side_by_side(first, zero), c = side_by_side(load_pixel(row, pixel), zero);
    __m128i above = _mm_cvtepu8_epi16(load_pixel(row + pixel, pixel));
    store_pixel(row, first, pixel);
    for (size_t i = pixel; i <= n; i += pixel) { /* the upper row's last one is behind its end */
        const __m128i next = _mm_cvtepu8_epi16(load_pixel(row + i + pixel, pixel));
        const __m128i b = _mm_unpacklo_epi64(above, a);
        a = paeth(a, b, c,
                  side_by_side(load_pixel(raw + i, pixel), load_pixel(raw_below + i - pixel, pixel)));
        const __m128i bytes = _mm_packus_epi16(a, a);
        store_pixel(row + i, bytes, pixel);
        store_pixel(below + i - pixel, _mm_srli_epi64(bytes, 32), pixel);
        c = b;
        above = next;
    }
}

#define SUB(pixel)                                    \
    static LEAT_FN_PNG_UNFILTER(sub_##pixel##_avx2) { \
        undo_sub(row, raw, n, pixel);                 \
    }
#define AVERAGE(pixel)                                    \
    static LEAT_FN_PNG_UNFILTER(average_##pixel##_avx2) { \
        undo_average(row, raw, n, pixel);                 \
    }
#define PAETH(pixel)                                    \
    static LEAT_FN_PNG_UNFILTER(paeth_##pixel##_avx2) { \
        undo_paeth(row, raw, n, pixel);                 \
    }
#define PAIR(pixel)                                      \
    static LEAT_FN_PNG_PAIR(paeth_pair_##pixel##_avx2) { \
        undo_pair(row, below, raw, raw_below, n, pixel); \
    }
#define USE(name, pixel, filter) dsp->unfilter[filter][leat__png_pixel(pixel)] = name##_##pixel##_avx2

SUB(1)
SUB(2)
SUB(3)
SUB(4)
SUB(6)
AVERAGE(3)
AVERAGE(4)
AVERAGE(6)
AVERAGE(8)
PAETH(2)
PAETH(3)
PAETH(4)
PAETH(6)
PAETH(8)
PAIR(1)
PAIR(2)
PAIR(3)
PAIR(4)

/* Where plain C is as fast, it stays. */
void leat__png_dsp_init_avx2(leat__png_dsp *dsp) {
    USE(sub, 1, LEAT_PNG_SUB), USE(sub, 2, LEAT_PNG_SUB), USE(sub, 3, LEAT_PNG_SUB);
    USE(sub, 4, LEAT_PNG_SUB), USE(sub, 6, LEAT_PNG_SUB);
    for (int i = 0; i < LEAT_PNG_PIXELS; i++) dsp->unfilter[LEAT_PNG_UP][i] = up_avx2;
    USE(average, 3, LEAT_PNG_AVERAGE), USE(average, 4, LEAT_PNG_AVERAGE);
    USE(average, 6, LEAT_PNG_AVERAGE), USE(average, 8, LEAT_PNG_AVERAGE);
    USE(paeth, 2, LEAT_PNG_PAETH), USE(paeth, 3, LEAT_PNG_PAETH), USE(paeth, 4, LEAT_PNG_PAETH);
    USE(paeth, 6, LEAT_PNG_PAETH), USE(paeth, 8, LEAT_PNG_PAETH);
    dsp->paeth_pair[leat__png_pixel(1)] = paeth_pair_1_avx2;
    dsp->paeth_pair[leat__png_pixel(2)] = paeth_pair_2_avx2;
    dsp->paeth_pair[leat__png_pixel(3)] = paeth_pair_3_avx2;
    dsp->paeth_pair[leat__png_pixel(4)] = paeth_pair_4_avx2;
}
