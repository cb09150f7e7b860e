/* SPDX-License-Identifier: Apache-2.0 */
/* A table for each channel of RGB with AVX2. Three vectors of interleaved bytes become three of one
 * channel each by blending: which byte belongs to which pixel does not matter as long as it returns to its
 * place. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

LEAT_INLINE __m256i load32(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

LEAT_INLINE void store32(uint8_t *p, __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

/* The shuffle looks up 16 bytes by their low four bits and gives 0 when the top bit is set; see lut_avx2. */
static void set_steps(__m256i step[16], const uint8_t lut[256]) {
    for (size_t k = 0; k < 16; k++) {
        __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(lut + 16 * k));
        if (k % 8) t = _mm_xor_si128(t, _mm_loadu_si128((const __m128i *)(const void *)(lut + 16 * (k - 1))));
        step[k] = _mm256_broadcastsi128_si256(t);
    }
}

LEAT_INLINE __m256i look_up(const __m256i step[16], __m256i x) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i y = _mm256_xor_si256(x, _mm256_set1_epi8(-128)), a = _mm256_setzero_si256(), b = a;
    LEAT_UNROLL
    for (int k = 0; k < 8; k++) {
        a = _mm256_xor_si256(a, _mm256_shuffle_epi8(step[k], x));
        b = _mm256_xor_si256(b, _mm256_shuffle_epi8(step[8 + k], y));
        x = _mm256_subs_epi8(x, sixteen);
        y = _mm256_subs_epi8(y, sixteen);
    }
    return _mm256_xor_si256(a, b);
}

/* a where the byte's number leaves 0 when divided by three, b where it leaves 1, c where it leaves 2. */
LEAT_INLINE __m256i weave(__m256i a, __m256i b, __m256i c) {
    const __m256i one = _mm256_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0,
                                         0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1);
    const __m256i two = _mm256_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1,
                                         0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, one), c, two);
}

static size_t look_up_rgb(uint8_t *dst, const uint8_t *src, const uint8_t (*lut)[256], size_t n) {
    __m256i step[3][16];
    for (int c = 0; c < 3; c++) set_steps(step[c], lut[c]);
    size_t i = 0;
    for (; i + 96 <= n; i += 96) {
        /* Red is at numbers 0, 1 and 2 of the three vectors, because 32 leaves 2; the others are one
         * further. */
        const __m256i u = load32(src + i), v = load32(src + i + 32), w = load32(src + i + 64);
        const __m256i red = look_up(step[0], weave(u, v, w));
        const __m256i green = look_up(step[1], weave(w, u, v));
        const __m256i blue = look_up(step[2], weave(v, w, u));
        store32(dst + i, weave(red, green, blue));
        store32(dst + i + 32, weave(blue, red, green));
        store32(dst + i + 64, weave(green, blue, red));
    }
    return i;
}

static LEAT_FN_LUT_EACH(lut_each_avx2) {
    size_t i = 0;
    if (channels == 3 && n >= 128)
        i = look_up_rgb(dst, src, lut, 3 * n) / 3; /* below that the steps cost more */
    for (; i < n; i++)
        for (int c = 0; c < channels; c++) {
            const size_t at = i * (size_t)channels + (size_t)c;
            dst[at] = lut[c][src[at]];
        }
}

void leat__image_dsp_init_tables_avx2(leat__image_dsp *dsp) {
    dsp->lut_each = lut_each_avx2;
}
