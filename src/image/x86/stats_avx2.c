/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring with AVX2.
 *
 * Bytes: 96 at a time, which is a whole number of pixels of up to four channels. Masks single out a
 * channel, and the instruction that adds up eight bytes does the rest. Floats: the 24 lanes of the C
 * version stay in registers. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

/* ----------------------------------------------------------------------------------------------- bytes */

/* 255 where the channel is that of the first byte, by channels; a load further on begins with another
 * channel. */
#define FOUR(a) a a a a
#define TIMES_36(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a) FOUR(a)
static const char mask_2[] = TIMES_36("\xff\0"), mask_3[] = TIMES_36("\xff\0\0"),
                  mask_4[] = TIMES_36("\xff\0\0\0");

LEAT_INLINE __m256i mask_of(int channels, int channel, int vector) {
    if (channels == 1) return _mm256_set1_epi8(-1);
    const char *mask = channels == 2 ? mask_2 : channels == 3 ? mask_3 : mask_4;
    const int first = 32 * vector % channels; /* channel of the vector's first byte */
    return _mm256_loadu_si256(
        (const __m256i *)(const void *)(mask + (first - channel + channels) % channels));
}

LEAT_INLINE uint64_t total_of_quads(__m256i x) {
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

/* Doublewords without sign. */
LEAT_INLINE uint64_t total_of_doubles(__m256i x) {
    const __m256i low = _mm256_and_si256(x, _mm256_set1_epi64x(0xffffffff));
    return total_of_quads(_mm256_add_epi64(low, _mm256_srli_epi64(x, 32)));
}

/* Two squares of bytes in each doubleword. */
LEAT_INLINE __m256i squares(__m256i bytes) {
    const __m256i even = _mm256_and_si256(bytes, _mm256_set1_epi16(255)), odd = _mm256_srli_epi16(bytes, 8);
    return _mm256_add_epi32(_mm256_madd_epi16(even, even), _mm256_madd_epi16(odd, odd));
}

LEAT_INLINE void add_sums(uint64_t sum[4], uint64_t sum2[4], const uint8_t *row, size_t n_blocks,
                          int channels, bool square) {
    __m256i total[4], total2[4];
    LEAT_UNROLL
    for (int c = 0; c < channels; c++) total[c] = total2[c] = _mm256_setzero_si256();
    for (size_t i = 0; i < n_blocks; i++, row += LEAT_STATS_BYTE_LANES) {
        LEAT_UNROLL
        for (int v = 0; v < 3; v++) {
            const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(row + 32 * v));
            LEAT_UNROLL
            for (int c = 0; c < channels; c++) {
                const __m256i one = channels == 1 ? x : _mm256_and_si256(x, mask_of(channels, c, v));
                total[c] = _mm256_add_epi64(total[c], _mm256_sad_epu8(one, _mm256_setzero_si256()));
                if (square) total2[c] = _mm256_add_epi32(total2[c], squares(one));
            }
        }
    }
    for (int c = 0; c < channels; c++) {
        sum[c] += total_of_quads(total[c]);
        if (square) sum2[c] += total_of_doubles(total2[c]);
    }
}

LEAT_INLINE void range(leat__stats *stats, const uint8_t *row, size_t n) {
    __m256i low[3], high[3];
    LEAT_UNROLL
    for (int v = 0; v < 3; v++) {
        low[v] = _mm256_loadu_si256((const __m256i *)(const void *)(stats->low8 + 32 * v));
        high[v] = _mm256_loadu_si256((const __m256i *)(const void *)(stats->high8 + 32 * v));
    }
    size_t i = 0;
    while (n >= LEAT_STATS_BYTE_LANES) {
        LEAT_UNROLL
        for (int v = 0; v < 3; v++) {
            const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(row + i + 32 * v));
            low[v] = _mm256_min_epu8(low[v], x);
            high[v] = _mm256_max_epu8(high[v], x);
        }
        i += LEAT_STATS_BYTE_LANES;
        if (i == n) break;
        if (i + LEAT_STATS_BYTE_LANES > n) i = n - LEAT_STATS_BYTE_LANES; /* some of it twice */
    }
    LEAT_UNROLL
    for (int v = 0; v < 3; v++) {
        _mm256_storeu_si256((__m256i *)(void *)(stats->low8 + 32 * v), low[v]);
        _mm256_storeu_si256((__m256i *)(void *)(stats->high8 + 32 * v), high[v]);
    }
    for (; i < n && n < LEAT_STATS_BYTE_LANES; i++) {
        stats->low8[i] = LEAT_MIN(stats->low8[i], row[i]);
        stats->high8[i] = LEAT_MAX(stats->high8[i], row[i]);
    }
}

/* Squares are added up in doublewords: 12 squares to each of them in a block, so this many blocks fit. */
enum { BLOCKS_MAX = 4096 };

LEAT_INLINE void sums(leat__stats *stats, const uint8_t *row, size_t n, int channels, bool square) {
    uint64_t sum[4] = {0}, sum2[4] = {0};
    size_t n_blocks = n / LEAT_STATS_BYTE_LANES;
    const size_t rest = n % LEAT_STATS_BYTE_LANES;
    while (n_blocks) {
        const size_t m = LEAT_MIN(n_blocks, (size_t)BLOCKS_MAX);
        add_sums(sum, sum2, row, m, channels, square);
        row += m * LEAT_STATS_BYTE_LANES;
        n_blocks -= m;
    }
    if (rest) {
        uint8_t last[LEAT_STATS_BYTE_LANES] = {0};
        memcpy(last, row, rest);
        add_sums(sum, sum2, last, 1, channels, square);
    }
    for (int c = 0; c < channels; c++) {
        stats->sum[c] += (double)sum[c];
        stats->sum2[c] += (double)sum2[c];
    }
}

/* Eight pixels at a time: words red and green, words green and blue, and green's weight is split in two
 * equal parts, because it does not fit into a word. */
static uint64_t gray_3(const uint8_t *row, size_t n) {
    const __m256i red_green = _mm256_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1, 0, -1,
                                               1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    const __m256i green_blue = _mm256_setr_epi8(1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, 1,
                                                -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1);
    const __m256i left = _mm256_set1_epi32(19235 << 16 | 19595),
                  right = _mm256_set1_epi32(7471 << 16 | 19235);
    const __m256i half = _mm256_set1_epi32(0x8000);
    uint64_t gray = 0;
    size_t i = 0;
    while (i + 10 <= n) { /* the second load takes four bytes more */
        __m256i total = _mm256_setzero_si256();
        const size_t end = LEAT_MIN(n, i + ((size_t)1 << 20)); /* doublewords would hold 2^24 */
        for (; i + 10 <= end; i += 8) {
            const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(row + 3 * i));
            const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(row + 3 * i + 12));
            const __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
            const __m256i sum =
                _mm256_add_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(x, red_green), left),
                                 _mm256_madd_epi16(_mm256_shuffle_epi8(x, green_blue), right));
            total = _mm256_add_epi32(total, _mm256_srli_epi32(_mm256_add_epi32(sum, half), 16));
        }
        gray += total_of_doubles(total);
    }
    return gray + leat__stats_gray(row + 3 * i, n - i, 3);
}

static LEAT_FN_STATS_U8(stats_u8_avx2) {
    const int apart = leat__stats_apart(channels);
    const size_t n = n_pixels * (size_t)channels;
    stats->bytes = true;
    stats->channels = channels;
    stats->count += n / (size_t)apart;
    const bool square = stats->flags & LEAT_STATS_SQUARES;
    if (square || (stats->flags & LEAT_STATS_SUM)) {
        if (apart == 3) square ? sums(stats, row, n, 3, true) : sums(stats, row, n, 3, false);
        else if (apart == 1) square ? sums(stats, row, n, 1, true) : sums(stats, row, n, 1, false);
        else if (apart == 4) square ? sums(stats, row, n, 4, true) : sums(stats, row, n, 4, false);
        else sums(stats, row, n, 2, square);
    }
    if (stats->flags & LEAT_STATS_RANGE) range(stats, row, n);
    if (stats->flags & LEAT_STATS_HISTOGRAM) leat__stats_histogram(stats, row, n_pixels, channels);
    if (stats->flags & LEAT_STATS_GRAY)
        stats->gray +=
            (double)(channels == 3 ? gray_3(row, n_pixels) : leat__stats_gray(row, n_pixels, channels));
}

/* ---------------------------------------------------------------------------------------------- floats */

LEAT_INLINE void sums_f32(leat__stats *stats, const float *row, size_t n, bool square) {
    __m256d lane[6], lane2[6];
    LEAT_UNROLL
    for (int k = 0; k < 6; k++) {
        lane[k] = _mm256_load_pd(stats->lane + 4 * k);
        lane2[k] = _mm256_load_pd(stats->lane2 + 4 * k);
    }
    size_t i = 0;
    for (; i + LEAT_STATS_LANES <= n; i += LEAT_STATS_LANES) {
        LEAT_UNROLL
        for (int k = 0; k < 6; k++) {
            const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(row + i + 4 * k));
            lane[k] = _mm256_add_pd(lane[k], x);
            if (square) lane2[k] = _mm256_add_pd(lane2[k], _mm256_mul_pd(x, x));
        }
    }
    LEAT_UNROLL
    for (int k = 0; k < 6; k++) {
        _mm256_store_pd(stats->lane + 4 * k, lane[k]);
        if (square) _mm256_store_pd(stats->lane2 + 4 * k, lane2[k]);
    }
    for (size_t k = 0; i < n; i++, k++) {
        const double x = row[i];
        stats->lane[k] += x;
        if (square) stats->lane2[k] += x * x;
    }
}

/* The second operand wins when one is NaN, as in the C version. */
LEAT_INLINE void range_f32(leat__stats *stats, const float *row, size_t n) {
    __m256 low[3], high[3];
    LEAT_UNROLL
    for (int k = 0; k < 3; k++) {
        low[k] = _mm256_load_ps(stats->low + 8 * k);
        high[k] = _mm256_load_ps(stats->high + 8 * k);
    }
    size_t i = 0;
    for (; i + LEAT_STATS_LANES <= n; i += LEAT_STATS_LANES) {
        LEAT_UNROLL
        for (int k = 0; k < 3; k++) {
            const __m256 x = _mm256_loadu_ps(row + i + 8 * k);
            low[k] = _mm256_min_ps(x, low[k]);
            high[k] = _mm256_max_ps(x, high[k]);
        }
    }
    LEAT_UNROLL
    for (int k = 0; k < 3; k++) {
        _mm256_store_ps(stats->low + 8 * k, low[k]);
        _mm256_store_ps(stats->high + 8 * k, high[k]);
    }
    for (size_t k = 0; i < n; i++, k++) {
        const float x = row[i];
        stats->low[k] = x < stats->low[k] ? x : stats->low[k];
        stats->high[k] = x > stats->high[k] ? x : stats->high[k];
    }
}

static LEAT_FN_STATS_F32(stats_f32_avx2) {
    const size_t n = n_pixels * (size_t)channels;
    stats->channels = channels;
    stats->count += n / (size_t)leat__stats_apart(channels);
    if (stats->flags & LEAT_STATS_SQUARES) sums_f32(stats, row, n, true);
    else if (stats->flags & LEAT_STATS_SUM) sums_f32(stats, row, n, false);
    if (stats->flags & LEAT_STATS_RANGE) range_f32(stats, row, n);
}

void leat__image_dsp_init_stats_avx2(leat__image_dsp *dsp) {
    dsp->stats_u8 = stats_u8_avx2;
    dsp->stats_f32 = stats_f32_avx2;
}
