/* SPDX-License-Identifier: Apache-2.0 */
/* The fast inverse DCT with AVX2. All of its arithmetic has 16 bits, so a row of a block fills half of a register: two
 * blocks are transformed side by side, one in each lane. They need not be neighbours. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

#include "decode/jpeg/jpeg_idct.h"

typedef struct two {
    int16_t *block[2];
    const leat__jpeg_place *place[2];
} two;

LEAT_INLINE __m256i add(__m256i a, __m256i b) {
    return _mm256_add_epi16(a, b);
}
LEAT_INLINE __m256i sub(__m256i a, __m256i b) {
    return _mm256_sub_epi16(a, b);
}
LEAT_INLINE __m256i times(__m256i v, int factor) {
    return _mm256_mulhi_epi16(_mm256_slli_epi16(v, 2), _mm256_set1_epi16((short)(factor * 64)));
}

/* One eight-point transform in each column of both lanes, in place. With half, inputs 4 to 7 are zero. */
LEAT_INLINE void transform(__m256i v[8], bool half) {
    __m256i even = v[0], odd = v[0], e3 = v[2], e2 = times(v[2], F1_414);
    __m256i z10 = sub(_mm256_setzero_si256(), v[3]), z11 = v[1], z12 = v[1], z13 = v[3];
    if (!half) {
        even = add(v[0], v[4]), odd = sub(v[0], v[4]), e3 = add(v[2], v[6]);
        e2 = times(sub(v[2], v[6]), F1_414);
        z10 = sub(v[5], v[3]), z11 = add(v[1], v[7]), z12 = sub(v[1], v[7]), z13 = add(v[5], v[3]);
    }
    e2 = sub(e2, e3);
    const __m256i t0 = add(even, e3), t1 = add(odd, e2), t2 = sub(odd, e2), t3 = sub(even, e3);
    const __m256i z5 = times(add(z10, z12), F1_847);
    const __m256i u0 = add(z11, z13);
    const __m256i u1 = sub(add(sub(times(z10, -F1_613), z10), z5), u0);
    const __m256i u2 = sub(times(sub(z11, z13), F1_414), u1);
    const __m256i u3 = add(sub(times(z12, F1_082), z5), u2);
    v[0] = add(t0, u0), v[7] = sub(t0, u0);
    v[1] = add(t1, u1), v[6] = sub(t1, u1);
    v[2] = add(t2, u2), v[5] = sub(t2, u2);
    v[4] = add(t3, u3), v[3] = sub(t3, u3);
}

LEAT_INLINE __m256i dequantise(const two *t, int lane, int group) {
    const __m256i *steps = (const __m256i *)(const void *)(t->place[lane]->quant->step + 16 * group);
    const __m256i *values = (const __m256i *)(const void *)(t->block[lane] + 16 * group);
    return _mm256_mullo_epi16(_mm256_load_si256(values), _mm256_load_si256(steps));
}

/* Two rows, in the order of their columns. A group has columns 0 2 4 6 in its low lane and 1 3 5 7 in the high one, of each
 * the values of both rows. */
LEAT_INLINE void load_rows(__m256i *first, __m256i *second, const two *t, int group) {
    const __m256i a = dequantise(t, 0, group), b = dequantise(t, 1, group);
    const __m256i even = _mm256_permute2x128_si256(a, b, 0x20), odd = _mm256_permute2x128_si256(a, b, 0x31);
    *first = _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
    *second = _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
}

/* Rows to columns, in both lanes. With half, only the first four columns hold anything. */
LEAT_INLINE void transpose(__m256i v[8], bool half) {
    __m256i a[4], b[4];
    for (int i = 0; i < 4; i++) a[i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    for (int i = 0; i < 4; i++) b[i] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    for (int side = 0; side < (half ? 1 : 2); side++) {
        const __m256i *p = side ? b : a;
        const __m256i low = _mm256_unpacklo_epi32(p[0], p[1]), high = _mm256_unpackhi_epi32(p[0], p[1]);
        const __m256i low2 = _mm256_unpacklo_epi32(p[2], p[3]), high2 = _mm256_unpackhi_epi32(p[2], p[3]);
        v[4 * side] = _mm256_unpacklo_epi64(low, low2);
        v[4 * side + 1] = _mm256_unpackhi_epi64(low, low2);
        v[4 * side + 2] = _mm256_unpacklo_epi64(high, high2);
        v[4 * side + 3] = _mm256_unpackhi_epi64(high, high2);
    }
}

LEAT_INLINE void store_rows(const leat__jpeg_place *place, int row, __m128i two_rows) {
    uint8_t *dst = place->dst + (size_t)row * place->stride;
    _mm_storel_epi64((__m128i *)(void *)dst, two_rows);
    _mm_storeh_pd((double *)(void *)(dst + place->stride), _mm_castsi128_pd(two_rows));
}

/* Columns of sums to rows of samples. */
LEAT_INLINE void store_samples(const two *t, const __m256i v[8]) {
    __m256i p[4]; /* columns i and i + 4 */
    for (int i = 0; i < 4; i++)
        p[i] =
            _mm256_xor_si256(_mm256_packs_epi16(_mm256_srai_epi16(v[i], 5), _mm256_srai_epi16(v[i + 4], 5)),
                             _mm256_set1_epi8(-128));
    const __m256i c01 = _mm256_unpacklo_epi8(p[0], p[1]), c45 = _mm256_unpackhi_epi8(p[0], p[1]);
    const __m256i c23 = _mm256_unpacklo_epi8(p[2], p[3]), c67 = _mm256_unpackhi_epi8(p[2], p[3]);
    const __m256i left[2] = {_mm256_unpacklo_epi16(c01, c23), _mm256_unpackhi_epi16(c01, c23)};
    const __m256i right[2] = {_mm256_unpacklo_epi16(c45, c67), _mm256_unpackhi_epi16(c45, c67)};
    for (int i = 0; i < 2; i++) {
        const __m256i low = _mm256_unpacklo_epi32(left[i], right[i]);
        const __m256i high = _mm256_unpackhi_epi32(left[i], right[i]);
        store_rows(t->place[0], 4 * i, _mm256_castsi256_si128(low));
        store_rows(t->place[0], 4 * i + 2, _mm256_castsi256_si128(high));
        store_rows(t->place[1], 4 * i, _mm256_extracti128_si256(low, 1));
        store_rows(t->place[1], 4 * i + 2, _mm256_extracti128_si256(high, 1));
    }
}

LEAT_INLINE void two_blocks(int16_t *blocks, const leat__jpeg_place *places, int i, int k, bool half) {
    const two t = {{blocks + 64 * i, blocks + 64 * k}, {places + i, places + k}};
    __m256i v[8];
    load_rows(&v[0], &v[2], &t, 0);
    load_rows(&v[1], &v[3], &t, 1);
    if (!half) {
        load_rows(&v[4], &v[6], &t, 2);
        load_rows(&v[5], &v[7], &t, 3);
    }
    for (int lane = 0; lane < 2; lane++)
        for (int at = 0; at < (half ? 32 : 64); at += 16)
            _mm256_store_si256((__m256i *)(void *)(t.block[lane] + at), _mm256_setzero_si256());
    transform(v, half);
    transpose(v, half);
    transform(v, half);
    store_samples(&t, v);
}

LEAT_INLINE void flat_block(int16_t *block, const leat__jpeg_place *place) {
    const int v = (int16_t)(block[0] * place->quant->step[0]) >> 5;
    const uint64_t eight = 0x0101010101010101u * (uint64_t)(LEAT_CLAMP(v, -128, 127) + 128);
    for (size_t y = 0; y < 8; y++) memcpy(place->dst + y * place->stride, &eight, 8);
    block[0] = 0;
}

static LEAT_FN_JPEG_IDCT(idct_fast_avx2) {
    int half = -1, full = -1; /* blocks that wait for a second one */
    for (int i = 0; i < n; i++) {
        const leat__jpeg_place *place = &places[i];
        if (!place->dst) memset(blocks + 64 * i, 0, 64 * sizeof *blocks);
        else if (place->last == 0) flat_block(blocks + 64 * i, place);
        else if (place->last <= LEAT_JPEG_HALF) {
            if (half >= 0) two_blocks(blocks, places, half, i, true);
            half = half >= 0 ? -1 : i;
        } else {
            if (full >= 0) two_blocks(blocks, places, full, i, false);
            full = full >= 0 ? -1 : i;
        }
    }
    /* The last one of a kind goes with the last of the other, or with itself. */
    if (full >= 0) two_blocks(blocks, places, full, half >= 0 ? half : full, false);
    else if (half >= 0) two_blocks(blocks, places, half, half, true);
    return true;
}

void leat__jpeg_dsp_init_idct_fast_avx2(leat__jpeg_dsp *dsp) {
    dsp->idct_fast = idct_fast_avx2;
}
