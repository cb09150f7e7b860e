/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse DCT with AVX2. Every output of the eight-point transform is a linear form of its inputs with integer
 * weights, so each pass is a small matrix product: a multiply and add takes two inputs at once, and the fast algorithm's
 * dependent additions disappear. Even inputs come as the pairs 0 2 and 4 6, odd ones as 1 3 and 5 7. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

#include "decode/jpeg/jpeg_idct.h"

LEAT_INLINE __m256i weigh(__m256i pairs, int first, int second) {
    return _mm256_madd_epi16(pairs,
                             _mm256_set1_epi32((int)((uint32_t)(uint16_t)first | (uint32_t)second << 16)));
}

LEAT_INLINE __m256i sum(__m256i a, __m256i b) {
    return _mm256_add_epi32(a, b);
}

/* One eight-point transform in each of eight columns. With half, inputs 4 to 7 are zero. */
LEAT_INLINE void transform(__m256i out[8], __m256i p02, __m256i p13, __m256i p46, __m256i p57, bool half,
                           __m256i round, int shift) {
    __m256i even[4] = {weigh(p02, 8192, C0_541 + C0_765), weigh(p02, 8192, C0_541), weigh(p02, 8192, -C0_541),
                       weigh(p02, 8192, -C0_541 - C0_765)};
    __m256i odd[4] = {weigh(p13, C1_501 - C0_899 - C0_390 + C1_175, C1_175),
                      weigh(p13, C1_175, C3_072 - C2_562 - C1_961 + C1_175),
                      weigh(p13, C1_175 - C0_390, C1_175 - C2_562),
                      weigh(p13, C1_175 - C0_899, C1_175 - C1_961)};
    if (!half) {
        even[0] = sum(even[0], weigh(p46, 8192, C0_541));
        even[1] = sum(even[1], weigh(p46, -8192, C0_541 - C1_847));
        even[2] = sum(even[2], weigh(p46, -8192, C1_847 - C0_541));
        even[3] = sum(even[3], weigh(p46, 8192, -C0_541));
        odd[0] = sum(odd[0], weigh(p57, C1_175 - C0_390, C1_175 - C0_899));
        odd[1] = sum(odd[1], weigh(p57, C1_175 - C2_562, C1_175 - C1_961));
        odd[2] = sum(odd[2], weigh(p57, C2_053 - C2_562 - C0_390 + C1_175, C1_175));
        odd[3] = sum(odd[3], weigh(p57, C1_175, C0_298 - C0_899 - C1_961 + C1_175));
    }
    for (int i = 0; i < 4; i++) {
        const __m256i e = sum(even[i], round);
        out[i] = _mm256_srai_epi32(sum(e, odd[i]), shift);
        out[7 - i] = _mm256_srai_epi32(_mm256_sub_epi32(e, odd[i]), shift);
    }
}

LEAT_INLINE __m256i load(const void *p) {
    return _mm256_load_si256((const __m256i *)p);
}

/* Coefficients times their steps; what is too large stays behind in *over, which is zero otherwise. */
LEAT_INLINE __m256i dequantise(const int16_t *block, const leat__jpeg_quant *quant, int group,
                               __m256i *over) {
    const __m256i v = load(block + 16 * group);
    *over = _mm256_or_si256(*over, _mm256_subs_epu16(_mm256_abs_epi16(v), load(quant->most + 16 * group)));
    return _mm256_mullo_epi16(v, load(quant->step + 16 * group));
}

/* Of the 32-bit halves in each 128 bits of a and b the even ones (pairs of columns as the first pass left them). */
LEAT_INLINE __m256i even_halves(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
LEAT_INLINE __m256i odd_halves(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

LEAT_INLINE void store_low(uint8_t *dst, __m128i v) {
    _mm_storel_epi64((__m128i *)(void *)dst, v);
}
LEAT_INLINE void store_high(uint8_t *dst, __m128i v) {
    _mm_storeh_pd((double *)(void *)dst, _mm_castsi128_pd(v));
}

/* over gathers coefficients, middle the largest values between the passes: both are looked at once a call. */
LEAT_INLINE void block_idct(int16_t *block, const leat__jpeg_place *place, bool half, __m256i *over,
                            __m256i *middle) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i p02 = dequantise(block, place->quant, 0, over), p13 = dequantise(block, place->quant, 1, over);
    __m256i p46 = zero, p57 = zero, out[8];
    if (!half) {
        p46 = dequantise(block, place->quant, 2, over);
        p57 = dequantise(block, place->quant, 3, over);
    }
    for (int i = 0; i < (half ? 2 : 4); i++) _mm256_store_si256((__m256i *)(void *)(block + 16 * i), zero);
    p02 =
        _mm256_add_epi16(p02, _mm256_setr_epi16(LEAT_JPEG_BIAS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    transform(out, p02, p13, p46, p57, half, _mm256_set1_epi32(1024), 11);

    /* Columns stand as 0 2 4 6 in the low and 1 3 5 7 in the high lane, so after packing rows in pairs, picking halves
     * is all there is left of a transposition. */
    const __m256i k01 = _mm256_packs_epi32(out[0], out[1]), k23 = _mm256_packs_epi32(out[2], out[3]);
    const __m256i k45 = _mm256_packs_epi32(out[4], out[5]), k67 = _mm256_packs_epi32(out[6], out[7]);
    const __m256i top = _mm256_max_epu16(_mm256_abs_epi16(k01), _mm256_abs_epi16(k23));
    const __m256i bottom = _mm256_max_epu16(_mm256_abs_epi16(k45), _mm256_abs_epi16(k67));
    *middle = _mm256_max_epu16(*middle, _mm256_max_epu16(top, bottom));
    const __m256i s = even_halves(k01, k23), t = even_halves(k45, k67);
    p02 = _mm256_permute2x128_si256(s, t, 0x20);
    p13 = _mm256_permute2x128_si256(s, t, 0x31);
    if (!half) {
        const __m256i u = odd_halves(k01, k23), v = odd_halves(k45, k67);
        p46 = _mm256_permute2x128_si256(u, v, 0x20);
        p57 = _mm256_permute2x128_si256(u, v, 0x31);
    }
    transform(out, p02, p13, p46, p57, half, zero, 18);

    /* Four columns of four rows in each lane: bytes are turned inside a lane, then lanes are joined. */
    const __m256i turn =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i left =
        _mm256_packus_epi16(_mm256_packs_epi32(out[0], out[1]), _mm256_packs_epi32(out[2], out[3]));
    const __m256i right =
        _mm256_packus_epi16(_mm256_packs_epi32(out[4], out[5]), _mm256_packs_epi32(out[6], out[7]));
    const __m256i l = _mm256_shuffle_epi8(left, turn), r = _mm256_shuffle_epi8(right, turn);
    const __m256i a = _mm256_unpacklo_epi32(l, r), b = _mm256_unpackhi_epi32(l, r);
    const __m128i a0 = _mm256_castsi256_si128(a), a1 = _mm256_extracti128_si256(a, 1);
    const __m128i b0 = _mm256_castsi256_si128(b), b1 = _mm256_extracti128_si256(b, 1);
    uint8_t *dst = place->dst;
    const size_t stride = place->stride;
    store_low(dst, a0);
    store_high(dst + stride, a0);
    store_low(dst + 2 * stride, b0);
    store_high(dst + 3 * stride, b0);
    store_low(dst + 4 * stride, a1);
    store_high(dst + 5 * stride, a1);
    store_low(dst + 6 * stride, b1);
    store_high(dst + 7 * stride, b1);
}

LEAT_INLINE bool flat_block(int16_t *block, const leat__jpeg_place *place) {
    const int dc = block[0], level = dc * place->quant->step[0], v = ((level + 4) >> 3) + 128;
    const uint64_t eight = 0x0101010101010101u * (uint64_t)LEAT_CLAMP(v, 0, 255);
    for (size_t y = 0; y < 8; y++) memcpy(place->dst + y * place->stride, &eight, 8);
    block[0] = 0;
    return (dc < 0 ? -dc : dc) <= place->quant->most[0];
}

static LEAT_FN_JPEG_IDCT(idct_avx2) {
    bool good = true;
    __m256i over = _mm256_setzero_si256(), middle = over;
    for (int i = 0; i < n; i++, blocks += 64) {
        const leat__jpeg_place *place = &places[i];
        if (!place->dst) memset(blocks, 0, 64 * sizeof *blocks);
        else if (place->last == 0) good &= flat_block(blocks, place);
        else if (place->last <= LEAT_JPEG_HALF) block_idct(blocks, place, true, &over, &middle);
        else block_idct(blocks, place, false, &over, &middle);
    }
    over = _mm256_or_si256(over, _mm256_subs_epu16(middle, _mm256_set1_epi16(LEAT_JPEG_MIDDLE_MAX)));
    return good && _mm256_testz_si256(over, over);
}

void leat__jpeg_dsp_init_idct_avx2(leat__jpeg_dsp *dsp) {
    dsp->idct = idct_avx2;
}
