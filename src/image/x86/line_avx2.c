/* SPDX-License-Identifier: Apache-2.0 */
/* Moving rows about with AVX2: copy, mirror, look up; and alpha for Pillow. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

LEAT_INLINE __m128i load16(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

LEAT_INLINE void store16(uint8_t *p, __m128i x) {
    _mm_storeu_si128((__m128i *)(void *)p, x);
}

LEAT_INLINE __m256i load32(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

LEAT_INLINE void store32(uint8_t *p, __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

static LEAT_FN_COPY(copy_avx2) {
    uint8_t *out = dst;
    const uint8_t *in = src;
    const size_t head = (0 - (uintptr_t)out) % LEAT_CACHE_LINE;
    if (!stream || bytes < head + LEAT_CACHE_LINE) {
        memcpy(out, in, bytes);
        return;
    }
    memcpy(out, in, head);
    size_t i = head;
    for (; i + LEAT_CACHE_LINE <= bytes; i += LEAT_CACHE_LINE) {
        const __m256i a = load32(in + i), b = load32(in + i + 32);
        _mm256_stream_si256((__m256i *)(void *)(out + i), a);
        _mm256_stream_si256((__m256i *)(void *)(out + i + 32), b);
    }
    memcpy(out + i, in + i, bytes - i);
}

/* Whole pixels at the end of the output that the vector loop left. */
LEAT_INLINE void reverse_rest(uint8_t *out, const uint8_t *in, size_t i, size_t n, size_t pixel_bytes) {
    for (; i < n; i++) memcpy(out + i * pixel_bytes, in + (n - 1 - i) * pixel_bytes, pixel_bytes);
}

static void reverse_1(uint8_t *out, const uint8_t *in, size_t n) {
    const __m256i turn =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i v = _mm256_shuffle_epi8(load32(in + n - i - 32), turn);
        store32(out + i, _mm256_permute4x64_epi64(v, 0x4e));
    }
    reverse_rest(out, in, i, n, 1);
}

/* Ten pixels before `end` become the next ten of out. Five fill 16 bytes but one: the load takes one byte before them, the store
 * writes one byte of the next pixel, which comes right after. */
LEAT_INLINE void reverse_ten(uint8_t *out, const uint8_t *end) {
    const __m256i turn =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0));
    const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(end - 16)), load16(end - 31), 1);
    const __m256i turned = _mm256_shuffle_epi8(v, turn);
    store16(out, _mm256_castsi256_si128(turned));
    store16(out + 15, _mm256_extracti128_si256(turned, 1));
}

static void reverse_3(uint8_t *out, const uint8_t *in, size_t n) {
    const uint8_t *end = in + 3 * n;
    for (; n > 40; n -= 40, out += 120, end -= 120) { /* one pixel more: for the byte before and behind */
        reverse_ten(out, end);
        reverse_ten(out + 30, end - 30);
        reverse_ten(out + 60, end - 60);
        reverse_ten(out + 90, end - 90);
    }
    for (; n > 10; n -= 10, out += 30, end -= 30) reverse_ten(out, end);
    reverse_rest(out, in, 0, n, 3);
}

/* 16 bytes that begin in the first, the second or the third byte of a pixel come from the 16 at p, and one or two before them. */
LEAT_INLINE __m256i turned_two(const uint8_t *p, const uint8_t *q, __m256i after, __m256i before) {
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(p)), load16(q), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(p - 2)), load16(q - 2), 1);
    return _mm256_or_si256(_mm256_shuffle_epi8(a, after), _mm256_shuffle_epi8(b, before));
}

#define FIRST 13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1
#define SECOND 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1, -1
#define THIRD 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1, -1, 0
#define NONE_13 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
static LEAT_FN_RGB8_TURNED(rgb8_turned_avx2) {
    if (!stream) {
        reverse_3(dst, src, n);
        return;
    }
    const __m256i after[3] = {_mm256_setr_epi8(FIRST, SECOND), _mm256_setr_epi8(THIRD, FIRST),
                              _mm256_setr_epi8(SECOND, THIRD)};
    const __m256i before[3] = {_mm256_setr_epi8(NONE_13, -1, -1, 0, NONE_13, -1, 0, 1),
                               _mm256_setr_epi8(NONE_13, 0, 1, -1, NONE_13, -1, -1, 0),
                               _mm256_setr_epi8(NONE_13, -1, 0, 1, NONE_13, 0, 1, -1)};
    for (const uint8_t *p = src + 3 * n; p > src; dst += 96) {
        p -= 96;
        _mm256_stream_si256((__m256i *)(void *)dst, turned_two(p + 80, p + 65, after[0], before[0]));
        _mm256_stream_si256((__m256i *)(void *)(dst + 32), turned_two(p + 50, p + 32, after[1], before[1]));
        _mm256_stream_si256((__m256i *)(void *)(dst + 64), turned_two(p + 17, p + 2, after[2], before[2]));
    }
}

static void reverse_4(uint8_t *out, const uint8_t *in, size_t n) {
    const __m256i turn = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        store32(out + 4 * i, _mm256_permutevar8x32_epi32(load32(in + 4 * (n - i - 8)), turn));
    reverse_rest(out, in, i, n, 4);
}

static void reverse_12(uint8_t *out, const uint8_t *in, size_t n) {
    if (n == 0) return;
    memcpy(out, in + 12 * (n - 1), 12);
    for (size_t i = 1; i + 1 < n; i++) store16(out + 12 * i, load16(in + 12 * (n - 1 - i)));
    memcpy(out + 12 * (n - 1), in, 12);
}

static void reverse_16(uint8_t *out, const uint8_t *in, size_t n) {
    for (size_t i = 0; i < n; i++) store16(out + 16 * i, load16(in + 16 * (n - 1 - i)));
}

static LEAT_FN_REVERSE(reverse_avx2) {
    switch (pixel_bytes) {
    case 1: reverse_1(dst, src, n); break;
    case 3: reverse_3(dst, src, n); break;
    case 4: reverse_4(dst, src, n); break;
    case 12: reverse_12(dst, src, n); break;
    case 16: reverse_16(dst, src, n); break;
    default: reverse_rest(dst, src, 0, n, pixel_bytes);
    }
}

/* The shuffle looks up 16 bytes by their low four bits and gives 0 when the top bit is set. Tables that hold
 * the difference to the one before, taken one after the other while 16 is subtracted with saturation, add up
 * to the right one: a byte stops taking part when it becomes negative. One run for 0-127, one for 128-255. */
/* A table that keeps some bits of each value, and inverts those from some value on: posterize, solarize, invert. */
typedef struct simple {
    __m256i from, flip, keep;
} simple;

LEAT_INLINE __m256i apply(const simple *s, __m256i x) {
    const __m256i high = _mm256_cmpeq_epi8(_mm256_max_epu8(x, s->from), x);
    return _mm256_and_si256(_mm256_xor_si256(x, _mm256_and_si256(high, s->flip)), s->keep);
}

static bool is_simple(simple *s, const uint8_t lut[256]) {
    const bool inverts = lut[255] == 0;
    int from = 0;
    while (inverts && from < 255 && lut[from] == from) from++;
    s->from = _mm256_set1_epi8((char)from);
    s->flip = _mm256_set1_epi8((char)(inverts ? 255 : 0));
    s->keep = _mm256_set1_epi8((char)(inverts ? 255 : lut[255]));
    uint8_t each[32];
    for (int k = 0; k < 32; k++) each[k] = (uint8_t)k;
    __m256i x = load32(each), same = _mm256_set1_epi8(-1);
    for (int k = 0; k < 8; k++, x = _mm256_add_epi8(x, _mm256_set1_epi8(32)))
        same = _mm256_and_si256(same, _mm256_cmpeq_epi8(apply(s, x), load32(lut + 32 * k)));
    return _mm256_movemask_epi8(same) == -1;
}

static LEAT_FN_LUT(lut_avx2) {
    size_t i = 0;
    simple s;
    if (n >= 64 && is_simple(&s, lut)) {
        for (; i + 32 <= n; i += 32) store32(dst + i, apply(&s, load32(src + i)));
    } else if (n >= 64) {
        __m256i step[16];
        for (size_t k = 0; k < 16; k++) {
            __m128i t = load16(lut + 16 * k);
            if (k % 8) t = _mm_xor_si128(t, load16(lut + 16 * (k - 1)));
            step[k] = _mm256_broadcastsi128_si256(t);
        }
        const __m256i sixteen = _mm256_set1_epi8(16), top = _mm256_set1_epi8(-128);
        for (; i + 32 <= n; i += 32) {
            __m256i x = load32(src + i), y = _mm256_xor_si256(x, top);
            __m256i a = _mm256_setzero_si256(), b = a;
            LEAT_UNROLL
            for (int k = 0; k < 8; k++) {
                a = _mm256_xor_si256(a, _mm256_shuffle_epi8(step[k], x));
                b = _mm256_xor_si256(b, _mm256_shuffle_epi8(step[8 + k], y));
                x = _mm256_subs_epi8(x, sixteen);
                y = _mm256_subs_epi8(y, sixteen);
            }
            store32(dst + i, _mm256_xor_si256(a, b));
        }
    }
    for (; i < n; i++) dst[i] = lut[src[i]];
}

/* Four pixels as words, alpha as its own factor 255: (255 a + 128) * 257 >> 16 is a again. */
LEAT_INLINE __m256i multiply_words(__m256i x) {
    const __m256i spread =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(6, 7, 6, 7, 6, 7, 6, 7, 14, 15, 14, 15, 14, 15, 14, 15));
    const __m256i alpha = _mm256_blend_epi16(_mm256_shuffle_epi8(x, spread), _mm256_set1_epi16(255), 0x88);
    const __m256i y = _mm256_add_epi16(_mm256_mullo_epi16(x, alpha), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(y, _mm256_srli_epi16(y, 8)), 8);
}

static LEAT_FN_ALPHA(alpha_multiply_avx2) {
    const __m256i zero = _mm256_setzero_si256();
    size_t i = 0;
    if (channels == 4)
        for (; i + 8 <= n; i += 8) {
            const __m256i v = load32(src + 4 * i);
            const __m256i low = multiply_words(_mm256_unpacklo_epi8(v, zero));
            const __m256i high = multiply_words(_mm256_unpackhi_epi8(v, zero));
            store32(dst + 4 * i, _mm256_packus_epi16(low, high));
        }
    for (; i < n; i++)
        leat__alpha_multiply_pixel(dst + i * (size_t)channels, src + i * (size_t)channels, channels);
}

/* One channel of eight pixels. A quotient below 256 is at least 1/255 away from whole numbers that it is not,
 * so a float division, rounded, has the same whole part. 0/0 is NaN and converts to garbage that the caller
 * replaces. */
LEAT_INLINE __m256i divide_channel(__m256i v, int shift, __m256 alpha) {
    const __m256i x = _mm256_and_si256(_mm256_srli_epi32(v, shift), _mm256_set1_epi32(0xff));
    const __m256 y = _mm256_div_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), _mm256_set1_ps(255.0f)), alpha);
    return _mm256_slli_epi32(_mm256_cvttps_epi32(_mm256_min_ps(y, _mm256_set1_ps(255.0f))), shift);
}

static LEAT_FN_ALPHA(alpha_divide_avx2) {
    const __m256i top = _mm256_set1_epi32((int)0xff000000u);
    size_t i = 0;
    if (channels == 4)
        for (; i + 8 <= n; i += 8) {
            const __m256i v = load32(src + 4 * i), a = _mm256_and_si256(v, top);
            const __m256i plain =
                _mm256_or_si256(_mm256_cmpeq_epi32(a, top), _mm256_cmpeq_epi32(a, _mm256_setzero_si256()));
            const __m256 alpha = _mm256_cvtepi32_ps(_mm256_srli_epi32(v, 24));
            const __m256i rg = _mm256_or_si256(divide_channel(v, 0, alpha), divide_channel(v, 8, alpha));
            const __m256i ba = _mm256_or_si256(divide_channel(v, 16, alpha), a);
            store32(dst + 4 * i, _mm256_blendv_epi8(_mm256_or_si256(rg, ba), v, plain));
        }
    for (; i < n; i++)
        leat__alpha_divide_pixel(dst + i * (size_t)channels, src + i * (size_t)channels, channels);
}

void leat__image_dsp_init_line_avx2(leat__image_dsp *dsp) {
    dsp->copy = copy_avx2;
    dsp->reverse = reverse_avx2;
    dsp->rgb8_turned = rgb8_turned_avx2;
    dsp->lut = lut_avx2;
    dsp->alpha_multiply = alpha_multiply_avx2;
    dsp->alpha_divide = alpha_divide_avx2;
}
