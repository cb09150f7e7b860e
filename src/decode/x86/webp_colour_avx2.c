/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling and colour of lossy WebP with AVX2. */
#include "decode/x86/store_rgb.h"

/* Three times the near row and once the far one, 16 values. */
LEAT_INLINE __m256i mix(const uint8_t *near, const uint8_t *far) {
    const __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)near));
    const __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)far));
    return _mm256_add_epi16(_mm256_add_epi16(a, _mm256_add_epi16(a, a)), b);
}

/* 32 samples of chroma from 16, and one on either side of them. */
LEAT_INLINE __m256i upsample(const uint8_t *near, const uint8_t *far) {
    const __m256i own = mix(near, far), round = _mm256_set1_epi16(8);
    const __m256i most = _mm256_add_epi16(_mm256_add_epi16(own, own), _mm256_add_epi16(own, round));
    const __m256i even = _mm256_srli_epi16(_mm256_add_epi16(most, mix(near - 1, far - 1)), 4);
    const __m256i odd = _mm256_srli_epi16(_mm256_add_epi16(most, mix(near + 1, far + 1)), 4);
    return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

LEAT_INLINE __m256i times(__m256i v, int factor) { /* of values in the high bytes */
    return _mm256_mulhi_epu16(v, _mm256_set1_epi16((short)factor));
}

LEAT_INLINE rgb32 to_rgb32(__m256i y, __m256i u, __m256i v) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i red[2], green[2], blue[2];
    for (int i = 0; i < 2; i++) {
        const __m256i l8 = i ? _mm256_unpackhi_epi8(zero, y) : _mm256_unpacklo_epi8(zero, y);
        const __m256i u8 = i ? _mm256_unpackhi_epi8(zero, u) : _mm256_unpacklo_epi8(zero, u);
        const __m256i v8 = i ? _mm256_unpackhi_epi8(zero, v) : _mm256_unpacklo_epi8(zero, v);
        const __m256i light = times(l8, 19077);
        red[i] = _mm256_add_epi16(_mm256_add_epi16(light, times(v8, 26149)), _mm256_set1_epi16(-14234));
        green[i] = _mm256_sub_epi16(_mm256_add_epi16(light, _mm256_set1_epi16(8708)),
                                    _mm256_add_epi16(times(u8, 6419), times(v8, 13320)));
        /* More than 15 bits, but never below 0 for long. */
        blue[i] = _mm256_subs_epu16(_mm256_add_epi16(light, times(u8, 33050)), _mm256_set1_epi16(17685));
        red[i] = _mm256_srai_epi16(red[i], 6);
        green[i] = _mm256_srai_epi16(green[i], 6);
        blue[i] = _mm256_srli_epi16(blue[i], 6);
    }
    return (rgb32){.r = _mm256_packus_epi16(red[0], red[1]),
                   .g = _mm256_packus_epi16(green[0], green[1]),
                   .b = _mm256_packus_epi16(blue[0], blue[1])};
}

static LEAT_FN_WEBP_RGB(rgb_avx2) {
    for (size_t i = 0; i < n; i += 32) {
        const size_t k = i / 2;
        const __m256i u = upsample(chroma->near_u + k, chroma->far_u + k);
        const __m256i v = upsample(chroma->near_v + k, chroma->far_v + k);
        const rgb32 pixels = to_rgb32(_mm256_loadu_si256((const __m256i *)(const void *)(y + i)), u, v);
        if (n - i >= 32) {
            store_rgb32(dst + 3 * i, pixels);
        } else {
            uint8_t tail[96];
            store_rgb32(tail, pixels);
            memcpy(dst + 3 * i, tail, 3 * (n - i));
        }
    }
}

void leat__webp_dsp_init_colour_avx2(leat__webp_dsp *dsp) {
    dsp->rgb = rgb_avx2;
}
