/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's gray of RGB bytes with AVX2, in whole numbers: 32 pixels at a time. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/colour/colour.h"

enum { AT_ONCE = 32 };

/* The gray of eight pixels. The factor of green does not fit a multiplier of 16 bits: half of it goes with red and half with blue. */
LEAT_INLINE __m256i gray_of_eight(const uint8_t *p) {
    const __m256i red_green =
        _mm256_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1,     /* from p */
                         4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, 13, -1, 14, -1); /* p + 8 */
    const __m256i green_blue =
        _mm256_setr_epi8(1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1, /* */
                         5, -1, 6, -1, 8, -1, 9, -1, 11, -1, 12, -1, 14, -1, 15, -1);
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(p + 8));
    const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    const __m256i a =
        _mm256_madd_epi16(_mm256_shuffle_epi8(v, red_green), _mm256_set1_epi32(19235 << 16 | 19595));
    const __m256i b =
        _mm256_madd_epi16(_mm256_shuffle_epi8(v, green_blue), _mm256_set1_epi32(7471 << 16 | 19235));
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_set1_epi32(32768)), 16);
}

LEAT_INLINE void store(uint8_t *p, __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

LEAT_INLINE void gray_run(uint8_t *dst, const uint8_t *p) {
    const __m256i ab = _mm256_packs_epi32(gray_of_eight(p), gray_of_eight(p + 24));
    const __m256i cd = _mm256_packs_epi32(gray_of_eight(p + 48), gray_of_eight(p + 72));
    const __m256i gray =
        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const __m256i first = _mm256_permute2x128_si256(gray, gray, 0x00),
                  last = _mm256_permute2x128_si256(gray, gray, 0x11);
    const __m256i thrice[3] = {_mm256_setr_epi8(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6,
                                                7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10),
                               _mm256_setr_epi8(10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15,
                                                15, /* the next half has its own count */
                                                0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5),
                               _mm256_setr_epi8(5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11,
                                                11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15)};
    store(dst, _mm256_shuffle_epi8(first, thrice[0]));
    store(dst + 32, _mm256_shuffle_epi8(gray, thrice[1]));
    store(dst + 64, _mm256_shuffle_epi8(last, thrice[2]));
}

/* The last pixels may be done twice: the gray of gray is the same. */
static LEAT_FN_PIXELS_U8(pil_gray_avx2) {
    (void)args;
    const bool wide = channels == 3 && n >= AT_ONCE;
    for (size_t i = 0; wide && i < n; i += AT_ONCE) {
        const size_t at = 3 * LEAT_MIN(i, n - AT_ONCE);
        gray_run(dst + at, src + at);
    }
    if (wide) return;
    if (dst != src) memcpy(dst, src, n * (size_t)channels);
    for (; n > 0; n--, dst += channels) leat__pil_gray_pixel(dst);
}

void leat__image_dsp_init_gray_avx2(leat__image_dsp *dsp) {
    dsp->pixels_u8[LEAT_PIXELS_PIL_GRAY] = pil_gray_avx2;
}
