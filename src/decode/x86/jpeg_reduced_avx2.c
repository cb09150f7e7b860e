/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse DCTs with fewer outputs, with AVX2. As in the full one each pass is a small matrix product. Between the passes
 * even columns stand in the low lane and odd ones in the high lane, so the second pass multiplies rows as they lie, with other
 * factors in each lane, and adds neighbours. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

#include "decode/jpeg/jpeg_reduced.h"

LEAT_INLINE __m256i weigh(__m256i pairs, int first, int second) {
    return _mm256_madd_epi16(pairs,
                             _mm256_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16)));
}

/* Weights of columns 0 2 4 6 and 1 3 5 7, for two rows in each lane. */
LEAT_INLINE __m256i weights(int c0, int c2, int c6, int c1, int c3, int c5, int c7) {
    return _mm256_setr_epi16((int16_t)c0, (int16_t)c2, 0, (int16_t)c6, (int16_t)c0, (int16_t)c2, 0,
                             (int16_t)c6, (int16_t)c1, (int16_t)c3, (int16_t)c5, (int16_t)c7, (int16_t)c1,
                             (int16_t)c3, (int16_t)c5, (int16_t)c7);
}

/* Coefficients times their steps, and zero in their place; what is too large stays behind in *over. */
LEAT_INLINE __m256i dequantise(int16_t *block, const leat__jpeg_quant *quant, int group, __m256i *over) {
    __m256i *at = (__m256i *)(void *)(block + 16 * group);
    const __m256i v = _mm256_load_si256(at),
                  most = _mm256_load_si256((const __m256i *)(const void *)(quant->most + 16 * group)),
                  step = _mm256_load_si256((const __m256i *)(const void *)(quant->step + 16 * group));
    _mm256_store_si256(at, _mm256_setzero_si256());
    *over = _mm256_or_si256(*over, _mm256_subs_epu16(_mm256_abs_epi16(v), most));
    return _mm256_mullo_epi16(v, step);
}

LEAT_INLINE __m256i descale(__m256i v, int bits) {
    return _mm256_srai_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(1 << (bits - 1))), bits);
}

/* Rounding, and the shift by 128 that samples have. */
LEAT_INLINE __m128i samples_of(__m128i v, int bits) {
    return _mm_srai_epi32(_mm_add_epi32(v, _mm_set1_epi32((1 << (bits - 1)) + (128 << bits))), bits);
}

LEAT_INLINE void gather(__m256i *middle, __m256i rows) {
    *middle = _mm256_max_epu16(*middle, _mm256_abs_epi16(rows));
}

LEAT_INLINE void reduce_4x4(int16_t *block, const leat__jpeg_place *place, bool half, __m256i *over,
                            __m256i *middle) {
    const __m256i p02 = dequantise(block, place->quant, 0, over),
                  p13 = dequantise(block, place->quant, 1, over);
    __m256i sum = weigh(p02, 16384, R1_847), difference = weigh(p02, 16384, -R1_847);
    __m256i outer = weigh(p13, R2_562, R0_899), inner = weigh(p13, R1_061, -R2_172);
    if (!half) {
        const __m256i p46 = dequantise(block, place->quant, 2, over),
                      p57 = dequantise(block, place->quant, 3, over);
        sum = _mm256_add_epi32(sum, weigh(p46, 0, -R0_765));
        difference = _mm256_add_epi32(difference, weigh(p46, 0, R0_765));
        outer = _mm256_add_epi32(outer, weigh(p57, -R0_601, -R0_509));
        inner = _mm256_add_epi32(inner, weigh(p57, R1_451, -R0_211));
    }
    const __m256i r01 = _mm256_packs_epi32(descale(_mm256_add_epi32(sum, outer), 12),
                                           descale(_mm256_add_epi32(difference, inner), 12));
    const __m256i r23 = _mm256_packs_epi32(descale(_mm256_sub_epi32(difference, inner), 12),
                                           descale(_mm256_sub_epi32(sum, outer), 12));
    gather(middle, r01);
    gather(middle, r23);
    const __m256i for_outer = weights(16384, R1_847, -R0_765, R2_562, R0_899, -R0_601, -R0_509);
    const __m256i for_inner = weights(16384, -R1_847, R0_765, R1_061, -R2_172, R1_451, -R0_211);
    const __m256i a = _mm256_hadd_epi32(_mm256_madd_epi16(r01, for_outer), _mm256_madd_epi16(r23, for_outer));
    const __m256i b = _mm256_hadd_epi32(_mm256_madd_epi16(r01, for_inner), _mm256_madd_epi16(r23, for_inner));
    const __m128i a0 = _mm256_castsi256_si128(a), a1 = _mm256_extracti128_si256(a, 1),
                  b0 = _mm256_castsi256_si128(b), b1 = _mm256_extracti128_si256(b, 1);
    /* Columns of four rows; bytes are then turned to rows of four columns. */
    const __m128i left =
        _mm_packs_epi32(samples_of(_mm_add_epi32(a0, a1), 19), samples_of(_mm_add_epi32(b0, b1), 19));
    const __m128i right =
        _mm_packs_epi32(samples_of(_mm_sub_epi32(b0, b1), 19), samples_of(_mm_sub_epi32(a0, a1), 19));
    const __m128i rows = _mm_shuffle_epi8(
        _mm_packus_epi16(left, right), _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    uint8_t *dst = place->dst;
    const size_t stride = place->stride;
    uint32_t row[4];
    memcpy(row, &rows, sizeof row);
    for (size_t y = 0; y < 4; y++) memcpy(dst + y * stride, &row[y], 4);
}

/* The lower half is computed even where it is zero: the processor cannot guess which blocks these are, and a wrong guess takes
 * longer. */
LEAT_INLINE void reduce_2x2(int16_t *block, const leat__jpeg_place *place, __m256i *over, __m256i *middle) {
    const __m256i p02 = dequantise(block, place->quant, 0, over),
                  p13 = dequantise(block, place->quant, 1, over);
    const __m256i dc = _mm256_slli_epi32(weigh(p02, 16384, 0), 1);
    dequantise(block, place->quant, 2, over);
    const __m256i p57 = dequantise(block, place->quant, 3, over);
    const __m256i odd = _mm256_add_epi32(weigh(p13, R3_624, -R1_272), weigh(p57, R0_850, -R0_720));
    const __m256i rows =
        _mm256_packs_epi32(descale(_mm256_add_epi32(dc, odd), 13), descale(_mm256_sub_epi32(dc, odd), 13));
    gather(middle, rows);
    const __m256i sums = _mm256_madd_epi16(rows, weights(16384, 0, 0, R3_624, -R1_272, R0_850, -R0_720));
    const __m256i both = _mm256_hadd_epi32(sums, sums);
    const __m128i even = _mm_slli_epi32(_mm256_castsi256_si128(both), 1),
                  other = _mm256_extracti128_si256(both, 1);
    const __m128i left = samples_of(_mm_add_epi32(even, other), 20),
                  right = samples_of(_mm_sub_epi32(even, other), 20);
    const __m128i words = _mm_packs_epi32(_mm_unpacklo_epi32(left, right), _mm_setzero_si128());
    const uint32_t samples = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    const uint16_t upper = (uint16_t)samples, lower = (uint16_t)(samples >> 16);
    memcpy(place->dst, &upper, 2);
    memcpy(place->dst + place->stride, &lower, 2);
}

LEAT_INLINE bool flat_block(int16_t *block, const leat__jpeg_place *place, size_t side) {
    const int dc = block[0], level = dc * place->quant->step[0], v = ((level + 4) >> 3) + 128;
    const uint32_t four = 0x01010101u * (uint32_t)LEAT_CLAMP(v, 0, 255);
    for (size_t y = 0; y < side; y++) memcpy(place->dst + y * place->stride, &four, side);
    block[0] = 0;
    return (dc < 0 ? -dc : dc) <= place->quant->most[0];
}

LEAT_INLINE bool reduce_all(int16_t *blocks, const leat__jpeg_place *places, int n, bool four) {
    bool good = true;
    __m256i over = _mm256_setzero_si256(), middle = over;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        const bool half = four && place->last <= LEAT_JPEG_HALF;
        if (!place->dst) memset(blocks, 0, 64 * sizeof *blocks);
        else if (place->last == 0) good &= flat_block(blocks, place, four ? 4 : 2);
        else if (half) reduce_4x4(blocks, place, true, &over, &middle);
        else if (four) reduce_4x4(blocks, place, false, &over, &middle);
        else reduce_2x2(blocks, place, &over, &middle);
    }
    over = _mm256_or_si256(over, _mm256_subs_epu16(middle, _mm256_set1_epi16(LEAT_JPEG_MIDDLE_MAX)));
    return good && _mm256_testz_si256(over, over);
}

static LEAT_FN_JPEG_IDCT(idct_4x4_avx2) {
    return reduce_all(blocks, places, n, true);
}

static LEAT_FN_JPEG_IDCT(idct_2x2_avx2) {
    return reduce_all(blocks, places, n, false);
}

void leat__jpeg_dsp_init_reduced_avx2(leat__jpeg_dsp *dsp) {
    dsp->idct_4x4 = idct_4x4_avx2;
    dsp->idct_2x2 = idct_2x2_avx2;
}
