/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling, colour and unstuffing with AVX2. */
#include "decode/x86/store_rgb.h"

LEAT_INLINE __m256i load_u8(const uint8_t *p) { /* 32 bytes */
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
LEAT_INLINE __m256i load_u8_wide(const uint8_t *p) { /* 16 bytes as 16-bit values */
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
LEAT_INLINE __m256i load_u16(const uint16_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
LEAT_INLINE __m256i add16(__m256i a, __m256i b) {
    return _mm256_add_epi16(a, b);
}
LEAT_INLINE __m256i thrice(__m256i a) {
    return add16(a, add16(a, a));
}

/* ----------------------------------------------------------------------------------------- upsampling */

/* What the neighbours outside of the row did to its ends is put right afterwards. */
static LEAT_FN_JPEG_UP_H2V1(up_h2v1_avx2) {
    for (size_t i = 0; i < n; i += 16) {
        const __m256i own = thrice(load_u8_wide(src + i));
        const __m256i left = add16(load_u8_wide(src + i - 1), _mm256_set1_epi16(1));
        const __m256i right = add16(load_u8_wide(src + i + 1), _mm256_set1_epi16(2));
        const __m256i even = _mm256_srli_epi16(add16(own, left), 2);
        const __m256i odd = _mm256_srli_epi16(add16(own, right), 2);
        store(dst + 2 * i, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
    }
    dst[0] = src[0];
    dst[2 * n - 1] = src[n - 1];
}

static LEAT_FN_JPEG_UP_H2V2(up_h2v2_avx2) {
    uint16_t *const sums = scratch + 1; /* one value of room before the first */
    for (size_t i = 0; i < n; i += 16)
        store(sums + i, add16(thrice(load_u8_wide(near + i)), load_u8_wide(far + i)));
    sums[-1] = sums[0];
    sums[n] = sums[n - 1];
    for (size_t i = 0; i < n; i += 16) {
        const __m256i own = thrice(load_u16(sums + i));
        const __m256i left = add16(load_u16(sums + i - 1), _mm256_set1_epi16(8));
        const __m256i right = add16(load_u16(sums + i + 1), _mm256_set1_epi16(7));
        const __m256i even = _mm256_srli_epi16(add16(own, left), 4);
        const __m256i odd = _mm256_srli_epi16(add16(own, right), 4);
        store(dst + 2 * i, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
    }
}

static LEAT_FN_JPEG_UP_H1V2(up_h1v2_avx2) {
    const __m256i round = _mm256_set1_epi16((short)bias);
    for (size_t i = 0; i < n; i += 16) {
        const __m256i own = thrice(load_u8_wide(near + i)), other = add16(load_u8_wide(far + i), round);
        const __m256i v = _mm256_srli_epi16(add16(own, other), 2);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(v, v), 0x08);
        _mm_storeu_si128((__m128i *)(void *)(dst + i), _mm256_castsi256_si128(packed));
    }
}

/* --------------------------------------------------------------------------------------------- colour */

/* A rounded high product has 15 bits of the factor where libjpeg has 16; for chroma of 8 bits the results are the same,
 * because 1.402 is written as 1 + 13173/32768 and 1.772 as 2 - 7471/32768: the kernel test tries all values. Green needs
 * two products under one rounding. */
LEAT_INLINE rgb32 to_rgb32(const uint8_t *y, const uint8_t *cb, const uint8_t *cr) {
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi8(-128);
    const __m256i l8 = load_u8(y), b8 = _mm256_xor_si256(load_u8(cb), half),
                  r8 = _mm256_xor_si256(load_u8(cr), half);
    const __m256i b_sign = _mm256_cmpgt_epi8(zero, b8), r_sign = _mm256_cmpgt_epi8(zero, r8);
    const __m256i green = _mm256_set1_epi32((int)((uint32_t)(uint16_t)-22554 | 18734u << 16));
    const __m256i round = _mm256_set1_epi32(32768);
    __m256i red[2], grn[2], blu[2];
    for (int i = 0; i < 2; i++) {
        const __m256i b = i ? _mm256_unpackhi_epi8(b8, b_sign) : _mm256_unpacklo_epi8(b8, b_sign);
        const __m256i r = i ? _mm256_unpackhi_epi8(r8, r_sign) : _mm256_unpacklo_epi8(r8, r_sign);
        const __m256i l = i ? _mm256_unpackhi_epi8(l8, zero) : _mm256_unpacklo_epi8(l8, zero);
        red[i] = add16(add16(l, r), _mm256_mulhrs_epi16(r, _mm256_set1_epi16(13173)));
        blu[i] = add16(add16(l, add16(b, b)), _mm256_mulhrs_epi16(b, _mm256_set1_epi16(-7471)));
        const __m256i g0 = _mm256_madd_epi16(_mm256_unpacklo_epi16(b, r), green);
        const __m256i g1 = _mm256_madd_epi16(_mm256_unpackhi_epi16(b, r), green);
        const __m256i g = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(g0, round), 16),
                                             _mm256_srai_epi32(_mm256_add_epi32(g1, round), 16));
        grn[i] = add16(_mm256_sub_epi16(l, r), g);
    }
    return (rgb32){.r = _mm256_packus_epi16(red[0], red[1]),
                   .g = _mm256_packus_epi16(grn[0], grn[1]),
                   .b = _mm256_packus_epi16(blu[0], blu[1])};
}

static LEAT_FN_JPEG_RGB(rgb_avx2) {
    size_t i = 0;
    for (; i + 32 <= n; i += 32) store_rgb32(dst + 3 * i, to_rgb32(y + i, cb + i, cr + i));
    if (i == n) return;
    uint8_t tail[96];
    store_rgb32(tail, to_rgb32(y + i, cb + i, cr + i));
    memcpy(dst + 3 * i, tail, 3 * (n - i));
}

static LEAT_FN_JPEG_RGB_PLANES(rgb_planes_avx2) {
    for (size_t i = 0; i < n; i += 32) {
        const rgb32 p = to_rgb32(y + i, cb + i, cr + i);
        store(dst + i, p.r);
        store(dst + apart + i, p.g);
        store(dst + 2 * apart + i, p.b);
    }
}

/* ----------------------------------------------------------------------------------------- unstuffing */

static LEAT_FN_JPEG_UNSTUFF(unstuff_avx2) {
    const uint8_t *s = *src;
    uint8_t *d = dst;
    const uint8_t *const full = dst + room;
    while (end - s > 32 && d < full) { /* the byte after the 32 is there too */
        const __m256i v = load_u8(s);
        store(d, v);
        const uint32_t found = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(-1)));
        if (!found) {
            s += 32;
            d += 32;
            continue;
        }
        const int k = __builtin_ctz(found);
        s += k;
        d += k;
        if (s[1] != 0) {
            *src = s;
            return (size_t)(d - dst);
        }
        s += 2; /* the 0xff itself is stored already */
        d += 1;
    }
    for (; d < full && s < end; d++) {
        if (*s == 0xff) {
            if (end - s < 2 || s[1] != 0) break;
            s++;
            *d = 0xff;
        } else {
            *d = *s;
        }
        s++;
    }
    *src = s;
    return (size_t)(d - dst);
}

void leat__jpeg_dsp_init_colour_avx2(leat__jpeg_dsp *dsp) {
    dsp->up_h2v1 = up_h2v1_avx2;
    dsp->up_h2v2 = up_h2v2_avx2;
    dsp->up_h1v2 = up_h1v2_avx2;
    dsp->rgb = rgb_avx2;
    dsp->rgb_planes = rgb_planes_avx2;
    dsp->unstuff = unstuff_avx2;
}
