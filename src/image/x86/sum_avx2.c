/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted sums of rows with AVX2. The numbers of taps that blurs have are constants of a loop of their own, whose weights stay in
 * registers. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

/* Eight values of a row of either type. */
LEAT_INLINE __m256 load_eight(const void *row, size_t i, bool bytes) {
    if (!bytes) return _mm256_loadu_ps((const float *)row + i);
    const __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)((const uint8_t *)row + i));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v));
}

/* 8 * n columns, n a constant. */
LEAT_INLINE void sum_columns(float *dst, const void *const *rows, const float *weight, int n_taps,
                             float scale, size_t i, int n, bool bytes) {
    const __m256 zero = _mm256_setzero_ps(), last = _mm256_set1_ps(scale);
    __m256 sum[4] = {zero, zero, zero, zero};
    for (int t = 0; t < n_taps; t++) {
        const __m256 w = _mm256_broadcast_ss(weight + t);
        LEAT_UNROLL
        for (int j = 0; j < n; j++)
            sum[j] = _mm256_add_ps(sum[j], _mm256_mul_ps(load_eight(rows[t], i + 8 * (size_t)j, bytes), w));
    }
    LEAT_UNROLL
    for (int j = 0; j < n; j++) _mm256_storeu_ps(dst + i + 8 * (size_t)j, _mm256_mul_ps(sum[j], last));
}

LEAT_INLINE void sum_rows(float *dst, const void *const *rows, const float *weight, int n_taps, float scale,
                          size_t n, bool bytes) {
    size_t i = 0;
    for (; i + 32 <= n; i += 32) sum_columns(dst, rows, weight, n_taps, scale, i, 4, bytes);
    for (; i + 8 <= n; i += 8) sum_columns(dst, rows, weight, n_taps, scale, i, 1, bytes);
    for (; i < n; i++)
        dst[i] = bytes ? leat__sum_column_u8(rows, weight, n_taps, scale, i)
                       : leat__sum_column_f32(rows, weight, n_taps, scale, i);
}

static LEAT_FN_SUM_V(sum_v_u8_avx2) {
    sum_rows(dst, rows, weight, n_taps, scale, n, true);
}

typedef struct taps { /* a constant number of them, up to seven */
    const float *row[7];
    __m256 weight[7];
} taps;

LEAT_INLINE taps taps_of(const void *const *rows, const float *weight, int n_taps) {
    taps made;
    LEAT_UNROLL
    for (int t = 0; t < n_taps; t++) made.row[t] = rows[t], made.weight[t] = _mm256_broadcast_ss(weight + t);
    return made;
}

LEAT_INLINE __m256 sum_eight(const taps *from, int n_taps, size_t i) {
    __m256 sum = _mm256_setzero_ps();
    LEAT_UNROLL
    for (int t = 0; t < n_taps; t++)
        sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(from->row[t] + i), from->weight[t]));
    return sum;
}

/* The last columns may be summed twice. n is at least 32. */
LEAT_INLINE void sum_few(float *dst, const void *const *rows, const float *weight, int n_taps, float scale,
                         size_t n) {
    const taps from = taps_of(rows, weight, n_taps);
    const __m256 last = _mm256_set1_ps(scale);
    for (size_t done = 0; done < n; done += 32) {
        const size_t i = LEAT_MIN(done, n - 32);
        LEAT_UNROLL
        for (size_t j = 0; j < 32; j += 8)
            _mm256_storeu_ps(dst + i + j, _mm256_mul_ps(sum_eight(&from, n_taps, i + j), last));
    }
}

static LEAT_FN_SUM_V(sum_v_f32_avx2) {
    if (n_taps == 3 && n >= 32) sum_few(dst, rows, weight, 3, scale, n);
    else if (n_taps == 5 && n >= 32) sum_few(dst, rows, weight, 5, scale, n);
    else if (n_taps == 7 && n >= 32) sum_few(dst, rows, weight, 7, scale, n);
    else sum_rows(dst, rows, weight, n_taps, scale, n, false);
}

/* Eight whole numbers, none above 255; the second operand wins when it is NaN, which becomes the least number there is. */
LEAT_INLINE __m256i rounded(__m256 sum) {
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(255.0f), sum));
}

LEAT_INLINE void store_bytes(uint8_t *dst, const __m256 sum[4]) {
    const __m256i ab = _mm256_packs_epi32(rounded(sum[0]), rounded(sum[1]));
    const __m256i cd = _mm256_packs_epi32(rounded(sum[2]), rounded(sum[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)(void *)dst,
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order));
}

LEAT_INLINE void round_few(uint8_t *dst, const void *const *rows, const float *weight, int n_taps, size_t n) {
    const taps from = taps_of(rows, weight, n_taps);
    for (size_t done = 0; done < n; done += 32) {
        const size_t i = LEAT_MIN(done, n - 32);
        const __m256 sum[4] = {sum_eight(&from, n_taps, i), sum_eight(&from, n_taps, i + 8),
                               sum_eight(&from, n_taps, i + 16), sum_eight(&from, n_taps, i + 24)};
        store_bytes(dst + i, sum);
    }
}

LEAT_INLINE void round_rows(uint8_t *dst, const void *const *rows, const float *weight, int n_taps,
                            size_t n) {
    const __m256 zero = _mm256_setzero_ps();
    for (size_t done = 0; done < n; done += 32) {
        const size_t i = LEAT_MIN(done, n - 32);
        __m256 sum[4] = {zero, zero, zero, zero};
        for (int t = 0; t < n_taps; t++) {
            const __m256 w = _mm256_broadcast_ss(weight + t);
            const float *row = (const float *)rows[t] + i;
            LEAT_UNROLL
            for (size_t j = 0; j < 4; j++)
                sum[j] = _mm256_add_ps(sum[j], _mm256_mul_ps(_mm256_loadu_ps(row + 8 * j), w));
        }
        store_bytes(dst + i, sum);
    }
}

static LEAT_FN_SUM_V_ROUND(sum_v_round_avx2) {
    if (n < 32)
        for (size_t i = 0; i < n; i++) dst[i] = leat__sum_column_round(rows, weight, n_taps, i);
    else if (n_taps == 3) round_few(dst, rows, weight, 3, n);
    else if (n_taps == 5) round_few(dst, rows, weight, 5, n);
    else if (n_taps == 7) round_few(dst, rows, weight, 7, n);
    else round_rows(dst, rows, weight, n_taps, n);
}

void leat__image_dsp_init_sum_avx2(leat__image_dsp *dsp) {
    dsp->sum_v_u8 = sum_v_u8_avx2;
    dsp->sum_v_f32 = sum_v_f32_avx2;
    dsp->sum_v_round = sum_v_round_avx2;
}
