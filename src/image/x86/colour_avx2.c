/* SPDX-License-Identifier: Apache-2.0 */
/* Colour of RGB pixels with AVX2: eight pixels at a time, a register a channel. Each function does what
 * its twin in colour.h does, in the same order; choices become masks. Other numbers of channels take the
 * way of plain C. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/colour/colour.h"
#include "image/colour/colour_value.h"

typedef struct rgb { /* eight pixels, in an order of their own */
    __m256 r, g, b;
} rgb;

typedef struct hsv { /* on the way: hue and what belongs to it */
    __m256 h, s, v;
} hsv;

LEAT_INLINE __m256 all(float x) {
    return _mm256_set1_ps(x);
}

LEAT_INLINE __m256 when(__m256 mask, __m256 yes, __m256 no) {
    return _mm256_blendv_ps(no, yes, mask);
}

LEAT_INLINE __m256 size_of(__m256 x) {
    return _mm256_andnot_ps(all(-0.0f), x);
}

/* ------------------------------------------------------------------------------------- load and store */

LEAT_INLINE __m256 load_halves(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}

LEAT_INLINE rgb load_f32(const float *p) {
    const __m256 u = load_halves(p, p + 12), v = load_halves(p + 4, p + 16), w = load_halves(p + 8, p + 20);
    const __m256 rg = _mm256_shuffle_ps(v, w, _MM_SHUFFLE(2, 1, 3, 2));
    const __m256 gb = _mm256_shuffle_ps(u, v, _MM_SHUFFLE(1, 0, 2, 1));
    return (rgb){.r = _mm256_shuffle_ps(u, rg, _MM_SHUFFLE(2, 0, 3, 0)),
                 .g = _mm256_shuffle_ps(gb, rg, _MM_SHUFFLE(3, 1, 2, 0)),
                 .b = _mm256_shuffle_ps(gb, w, _MM_SHUFFLE(3, 0, 3, 1))};
}

LEAT_INLINE void store_halves(float *low, float *high, __m256 x) {
    _mm_storeu_ps(low, _mm256_castps256_ps128(x));
    _mm_storeu_ps(high, _mm256_extractf128_ps(x, 1));
}

LEAT_INLINE void store_f32(float *p, rgb x) {
    const __m256 rg = _mm256_shuffle_ps(x.r, x.g, _MM_SHUFFLE(2, 0, 2, 0));
    const __m256 gb = _mm256_shuffle_ps(x.g, x.b, _MM_SHUFFLE(3, 1, 3, 1));
    const __m256 br = _mm256_shuffle_ps(x.b, x.r, _MM_SHUFFLE(3, 1, 2, 0));
    store_halves(p, p + 12, _mm256_shuffle_ps(rg, br, _MM_SHUFFLE(2, 0, 2, 0)));
    store_halves(p + 4, p + 16, _mm256_shuffle_ps(gb, rg, _MM_SHUFFLE(3, 1, 2, 0)));
    store_halves(p + 8, p + 20, _mm256_shuffle_ps(br, gb, _MM_SHUFFLE(3, 1, 3, 1)));
}

typedef struct rgb_whole {
    __m256i r, g, b;
} rgb_whole;

/* Exactly 24 bytes: the second half is taken from 16 that end with it. */
LEAT_INLINE rgb_whole load_u8(const uint8_t *p) {
    const __m256i v =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)),
                                _mm_loadu_si128((const __m128i *)(const void *)(p + 8)), 1);
#define PICK(c)                                                                                             \
    _mm256_shuffle_epi8(v, _mm256_setr_epi8(c, -1, -1, -1, c + 3, -1, -1, -1, c + 6, -1, -1, -1, c + 9, -1, \
                                            -1, -1, c + 4, -1, -1, -1, c + 7, -1, -1, -1, c + 10, -1, -1,   \
                                            -1, c + 13, -1, -1, -1))
    return (rgb_whole){.r = PICK(0), .g = PICK(1), .b = PICK(2)};
#undef PICK
}

LEAT_INLINE void store_u8(uint8_t *p, rgb_whole x) { /* all from 0 to 255 */
    const __m256i pixels =
        _mm256_or_si256(x.r, _mm256_or_si256(_mm256_slli_epi32(x.g, 8), _mm256_slli_epi32(x.b, 16)));
    const __m256i close =
        _mm256_shuffle_epi8(pixels, _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
                                                     0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m256i bytes = _mm256_permutevar8x32_epi32(close, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((__m128i *)(void *)(p + 16), _mm256_extracti128_si256(bytes, 1));
}

LEAT_INLINE __m256i whole(__m256 x) { /* the second operand wins when the first is NaN */
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), all(255.0f)));
}

LEAT_INLINE rgb load_tf(const uint8_t *p) {
    const rgb_whole x = load_u8(p);
    const __m256 scale = all(1.0f / 255.0f);
    return (rgb){.r = _mm256_mul_ps(_mm256_cvtepi32_ps(x.r), scale),
                 .g = _mm256_mul_ps(_mm256_cvtepi32_ps(x.g), scale),
                 .b = _mm256_mul_ps(_mm256_cvtepi32_ps(x.b), scale)};
}

LEAT_INLINE void store_tf(uint8_t *p, rgb x) {
    const __m256 scale = all(255.5f);
    store_u8(p, (rgb_whole){.r = whole(_mm256_mul_ps(x.r, scale)),
                            .g = whole(_mm256_mul_ps(x.g, scale)),
                            .b = whole(_mm256_mul_ps(x.b, scale))});
}

/* ---------------------------------------------------------------------------------- tf.image and Keras */

LEAT_INLINE __m256 unit(__m256 x) {
    return _mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), all(1.0f));
}

/* A lane's mask is the bit of its sector, moved to where blends look for it; none for what is no sector.
 * The seventh is the first again. */
#define OF(a, b, c) (1 << (a) | 1 << (b) | 1 << (c))
LEAT_INLINE __m256 among(__m256i turned, int sectors) {
    return _mm256_castsi256_ps(_mm256_sllv_epi32(_mm256_set1_epi32(sectors), turned));
}

LEAT_INLINE rgb sector_rgb(__m256i sector, __m256 most, __m256 middle, __m256 least) {
    const __m256i turned = _mm256_sub_epi32(_mm256_set1_epi32(31), sector);
    return (rgb){.r = when(among(turned, OF(0, 5, 6)), most, when(among(turned, OF(1, 4, 4)), middle, least)),
                 .g = when(among(turned, OF(1, 2, 2)), most, when(among(turned, OF(0, 3, 6)), middle, least)),
                 .b =
                     when(among(turned, OF(3, 4, 4)), most, when(among(turned, OF(2, 5, 5)), middle, least))};
}

LEAT_INLINE __m256 number(int sector) {
    return _mm256_castsi256_ps(_mm256_set1_epi32(sector));
}

LEAT_INLINE __m256 odd(__m256i sector) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(sector, 31));
}

/* Where the hue lies on the sixth of the largest channel, before it is divided: red and green are masks. */
LEAT_INLINE __m256 difference(rgb x, __m256 red, __m256 green) {
    return when(red, _mm256_sub_ps(x.g, x.b), when(green, _mm256_sub_ps(x.b, x.r), _mm256_sub_ps(x.r, x.g)));
}

typedef struct parts {
    __m256 value, range; /* the largest of the three, and less the smallest                  */
    __m256 side, third;  /* where on the sixth of the largest the hue lies, and where that is */
} parts;

LEAT_INLINE parts parted(rgb x) {
    const __m256 value = _mm256_max_ps(_mm256_max_ps(x.b, x.g), x.r);
    const __m256 red = _mm256_cmp_ps(x.r, value, _CMP_EQ_OQ), green = _mm256_cmp_ps(x.g, value, _CMP_EQ_OQ);
    return (parts){.value = value,
                   .range = _mm256_sub_ps(value, _mm256_min_ps(_mm256_min_ps(x.b, x.g), x.r)),
                   .side = difference(x, red, green),
                   .third = _mm256_andnot_ps(red, when(green, all(0x1.555556p-2f), all(0x1.555556p-1f)))};
}

/* Hue before it is wrapped, chroma, and what is left of the value without it. */
LEAT_INLINE hsv saturated(parts x, float factor) {
    const __m256 one = all(1.0f),
                 part = _mm256_mul_ps(_mm256_div_ps(one, _mm256_mul_ps(all(6.0f), x.range)), x.side);
    const __m256 sum = _mm256_add_ps(part, x.third);
    const __m256 rest = _mm256_sub_ps(_mm256_sub_ps(part, _mm256_sub_ps(sum, x.third)),
                                      _mm256_mul_ps(x.third, all(0x1p-25f)));
    const __m256 s = unit(_mm256_mul_ps(_mm256_div_ps(x.range, x.value), all(factor)));
    const __m256 chroma = _mm256_mul_ps(s, x.value);
    return (hsv){.h = _mm256_add_ps(sum, rest), .s = chroma, .v = _mm256_sub_ps(x.value, chroma)};
}

/* Each channel is a share of the chroma, and the base. The shares are those of the C version: 1 and 0
 * times a number change nothing, and where sectors meet both of them give the same. */
LEAT_INLINE __m256 shared(hsv x, __m256 share) {
    return _mm256_add_ps(_mm256_mul_ps(x.s, unit(share)), x.v);
}

LEAT_INLINE __m256 sixths(__m256 h) {
    const __m256 below = _mm256_cmp_ps(h, _mm256_setzero_ps(), _CMP_LT_OQ);
    return _mm256_mul_ps(_mm256_add_ps(h, _mm256_and_ps(below, all(1.0f))), all(6.0f));
}

LEAT_INLINE rgb from_chroma(hsv x) {
    const __m256 one = all(1.0f), four = all(4.0f), six = all(6.0f);
    const __m256 h = sixths(x.h);
    x.s = _mm256_and_ps(x.s, _mm256_cmp_ps(h, six, _CMP_LT_OQ));
    const __m256 up = _mm256_sub_ps(one, _mm256_sub_ps(one, h)), down = _mm256_sub_ps(four, h);
    return (rgb){.r = shared(x, _mm256_sub_ps(size_of(_mm256_sub_ps(h, all(3.0f))), one)),
                 .g = shared(x, _mm256_min_ps(up, down)),
                 .b = shared(x, _mm256_sub_ps(all(2.0f), size_of(down)))};
}

typedef struct turn {
    __m256 by;   /* in sixths                                         */
    __m256 end;  /* below it, when turned back, or else not below it, */
    __m256 over; /* hues wrap                                         */
    __m256 back; /* by this much                                      */
} turn;

LEAT_INLINE turn turn_by(float part) {
    const bool back = part < 0.0f;
    return (turn){.by = all(part * 6.0f),
                  .end = all(back ? 0.0f : 6.0f),
                  .over = _mm256_castsi256_ps(_mm256_set1_epi32(back ? 0 : -1)),
                  .back = all(back ? 6.0f : -6.0f)};
}

typedef struct order { /* the three by size, and the sector that says which is which */
    __m256 least, middle, most;
    __m256i sector;
} order;

LEAT_INLINE order ordered(rgb x) {
    const __m256 low = _mm256_min_ps(x.r, x.g), high = _mm256_max_ps(x.r, x.g);
    const __m256 rising = _mm256_cmp_ps(x.r, x.g, _CMP_LT_OQ);
    const __m256 below = _mm256_cmp_ps(x.b, low, _CMP_LT_OQ), above = _mm256_cmp_ps(x.b, high, _CMP_GT_OQ);
    const __m256 within = when(rising, number(2), number(5)), outside = when(rising, number(3), number(4));
    return (order){.least = _mm256_min_ps(low, x.b),
                   .middle = _mm256_max_ps(low, _mm256_min_ps(high, x.b)),
                   .most = _mm256_max_ps(high, x.b),
                   .sector = _mm256_castps_si256(
                       when(below, _mm256_and_ps(rising, number(1)), when(above, outside, within)))};
}

/* The same of what saturation leaves, without making pixels of it: the largest has all of the chroma, the
 * smallest none. Where the middle one equals the smallest, the first sector is the end of the last. */
LEAT_INLINE order ordered_chroma(hsv x) {
    const __m256 one = all(1.0f), h = sixths(x.h);
    const __m256 chroma = _mm256_and_ps(x.s, _mm256_cmp_ps(h, all(6.0f), _CMP_LT_OQ));
    const __m256i sector = _mm256_cvttps_epi32(h);
    const __m256 down = _mm256_sub_ps(one, _mm256_sub_ps(h, _mm256_cvtepi32_ps(sector)));
    const __m256 share = when(odd(sector), down, _mm256_sub_ps(one, down));
    const __m256 middle = _mm256_add_ps(_mm256_mul_ps(chroma, share), x.v);
    const __m256i first = _mm256_cmpeq_epi32(sector, _mm256_setzero_si256());
    const __m256 last = _mm256_and_ps(_mm256_cmp_ps(middle, x.v, _CMP_EQ_OQ), _mm256_castsi256_ps(first));
    return (order){.least = x.v,
                   .middle = middle,
                   .most = _mm256_add_ps(chroma, x.v),
                   .sector = _mm256_or_si256(sector, _mm256_castps_si256(_mm256_and_ps(last, number(5))))};
}

/* Hue in sixths, turned, the smallest and the largest. */
LEAT_INLINE hsv turned(order x, turn t) {
    const __m256 range = _mm256_sub_ps(x.most, x.least);
    const __m256 ratio = _mm256_div_ps(_mm256_sub_ps(x.middle, x.least), range);
    const __m256 side = when(odd(x.sector), _mm256_sub_ps(all(1.0f), ratio), ratio);
    const __m256 h = _mm256_add_ps(_mm256_add_ps(_mm256_cvtepi32_ps(x.sector), side), t.by);
    const __m256 over = _mm256_xor_ps(_mm256_cmp_ps(h, t.end, _CMP_LT_OQ), t.over);
    return (hsv){.h = _mm256_add_ps(h, _mm256_and_ps(over, t.back)), .s = x.least, .v = x.most};
}

LEAT_INLINE rgb from_range(hsv x) {
    const __m256i sector = _mm256_cvttps_epi32(x.h);
    const __m256 rest = _mm256_sub_ps(x.h, _mm256_cvtepi32_ps(sector));
    const __m256 share = when(odd(sector), _mm256_sub_ps(all(1.0f), rest), rest);
    const __m256 middle = _mm256_add_ps(x.s, _mm256_mul_ps(share, _mm256_sub_ps(x.v, x.s)));
    return sector_rgb(sector, x.v, middle, x.s);
}

LEAT_INLINE hsv to_hsv(rgb x) {
    const __m256 zero = _mm256_setzero_ps();
    const __m256 value = _mm256_max_ps(_mm256_max_ps(x.b, x.g), x.r);
    const __m256 range = _mm256_sub_ps(value, _mm256_min_ps(_mm256_min_ps(x.b, x.g), x.r));
    const __m256 norm = _mm256_mul_ps(_mm256_div_ps(all(1.0f), range), all(1.0f / 6.0f));
    const __m256 red = _mm256_cmp_ps(x.r, value, _CMP_EQ_OQ), green = _mm256_cmp_ps(x.g, value, _CMP_EQ_OQ);
    __m256 h = _mm256_add_ps(_mm256_mul_ps(norm, difference(x, red, green)),
                             _mm256_andnot_ps(red, when(green, all(2.0f / 6.0f), all(4.0f / 6.0f))));
    h = _mm256_and_ps(_mm256_cmp_ps(range, zero, _CMP_GT_OQ), h);
    h = _mm256_add_ps(h, _mm256_and_ps(_mm256_cmp_ps(h, zero, _CMP_LT_OQ), all(1.0f)));
    return (hsv){.h = h,
                 .s = _mm256_and_ps(_mm256_cmp_ps(value, zero, _CMP_GT_OQ), _mm256_div_ps(range, value)),
                 .v = value};
}

LEAT_INLINE __m256 mixed(hsv x, __m256 white, __m256 share) {
    return _mm256_mul_ps(_mm256_add_ps(white, _mm256_mul_ps(x.s, unit(share))), x.v);
}

LEAT_INLINE rgb from_hsv(hsv x) {
    const __m256 h = _mm256_mul_ps(x.h, all(6.0f)), white = _mm256_sub_ps(all(1.0f), x.s);
    const __m256 r = size_of(_mm256_sub_ps(h, all(3.0f))), g = size_of(_mm256_sub_ps(h, all(2.0f))),
                 b = size_of(_mm256_sub_ps(h, all(4.0f)));
    return (rgb){.r = mixed(x, white, _mm256_sub_ps(r, all(1.0f))),
                 .g = mixed(x, white, _mm256_sub_ps(all(2.0f), g)),
                 .b = mixed(x, white, _mm256_sub_ps(all(2.0f), b))};
}

LEAT_INLINE hsv keras_saturated(hsv x, const float *p) {
    x.s = _mm256_max_ps(_mm256_min_ps(_mm256_mul_ps(x.s, all(p[0])), all(p[2])), all(p[1]));
    return x;
}

LEAT_INLINE __m256 to_unit(__m256 x, const float *p) {
    return _mm256_div_ps(_mm256_sub_ps(x, all(p[1])), all(p[2]));
}

LEAT_INLINE hsv keras_rotated(rgb x, const float *p) {
    const __m256 one = all(1.0f);
    hsv y = to_hsv((rgb){.r = to_unit(x.r, p), .g = to_unit(x.g, p), .b = to_unit(x.b, p)});
    y.h = _mm256_add_ps(y.h, all(p[0]));
    y.h = _mm256_sub_ps(y.h, _mm256_and_ps(_mm256_cmp_ps(y.h, one, _CMP_GT_OQ), one));
    y.h = _mm256_add_ps(y.h, _mm256_and_ps(_mm256_cmp_ps(y.h, _mm256_setzero_ps(), _CMP_LT_OQ), one));
    return y;
}

LEAT_INLINE __m256 from_unit(__m256 x, const float *p) {
    return _mm256_add_ps(_mm256_mul_ps(unit(x), all(p[2])), all(p[1]));
}

LEAT_INLINE rgb keras_from_hsv(hsv y, const float *p) {
    const rgb x = from_hsv(y);
    return (rgb){.r = from_unit(x.r, p), .g = from_unit(x.g, p), .b = from_unit(x.b, p)};
}

LEAT_INLINE __m256 gray_of(rgb x) {
    return _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x.r, all(0.2989f)), _mm256_mul_ps(x.g, all(0.5870f))),
                         _mm256_mul_ps(x.b, all(0.1140f)));
}

LEAT_INLINE rgb to_gray(rgb x) {
    const __m256 gray = gray_of(x);
    return (rgb){.r = gray, .g = gray, .b = gray};
}

LEAT_INLINE __m256 toward(__m256 x, __m256 gray, const float *p) {
    const __m256 y = _mm256_add_ps(x, _mm256_mul_ps(all(p[0]), _mm256_sub_ps(gray, x)));
    return _mm256_max_ps(_mm256_min_ps(y, all(p[2])), all(p[1]));
}

LEAT_INLINE rgb degenerate(rgb x, const float *p) {
    const __m256 gray = gray_of(x);
    return (rgb){.r = toward(x.r, gray, p), .g = toward(x.g, gray, p), .b = toward(x.b, gray, p)};
}

/* ---------------------------------------------------------------------------------------------- Pillow */

LEAT_INLINE rgb load_whole(const uint8_t *p) {
    const rgb_whole x = load_u8(p);
    return (rgb){.r = _mm256_cvtepi32_ps(x.r), .g = _mm256_cvtepi32_ps(x.g), .b = _mm256_cvtepi32_ps(x.b)};
}

LEAT_INLINE void store_whole(uint8_t *p, rgb x) {
    store_u8(p, (rgb_whole){.r = whole(x.r), .g = whole(x.g), .b = whole(x.b)});
}

/* All sums are whole numbers below 2^24. */
LEAT_INLINE __m256 pil_gray_of(rgb x) {
    const __m256 sum =
        _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x.r, all(19595.0f)), _mm256_mul_ps(x.g, all(38470.0f))),
                      _mm256_add_ps(_mm256_mul_ps(x.b, all(7471.0f)), all(32768.0f)));
    return _mm256_round_ps(_mm256_mul_ps(sum, all(0x1p-16f)), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

LEAT_INLINE __m256 blended(__m256 gray, __m256 x, float factor) {
    return _mm256_add_ps(gray, _mm256_mul_ps(all(factor), _mm256_sub_ps(x, gray)));
}

LEAT_INLINE rgb pil_coloured(rgb x, float factor) {
    const __m256 gray = pil_gray_of(x);
    return (rgb){
        .r = blended(gray, x.r, factor), .g = blended(gray, x.g, factor), .b = blended(gray, x.b, factor)};
}

LEAT_INLINE __m256 truncated(__m256 x) {
    return _mm256_cvtepi32_ps(_mm256_cvttps_epi32(x));
}

/* Hue and saturation from 0 to 255; where there is none, the hue is anything and the saturation 0. */
LEAT_INLINE hsv pil_rotated(rgb x, int steps) {
    const __m256 low = _mm256_min_ps(x.r, x.g), high = _mm256_max_ps(x.r, x.g);
    const __m256 least = _mm256_min_ps(low, x.b), most = _mm256_max_ps(high, x.b);
    const __m256 middle = _mm256_max_ps(low, _mm256_min_ps(high, x.b)), range = _mm256_sub_ps(most, least);
    const __m256 red = _mm256_cmp_ps(x.r, most, _CMP_EQ_OQ), green = _mm256_cmp_ps(x.g, most, _CMP_EQ_OQ);
    const __m256 no_blue = _mm256_cmp_ps(x.b, least, _CMP_EQ_OQ),
                 no_red = _mm256_cmp_ps(x.r, least, _CMP_EQ_OQ);
    const __m256 from =
        when(red, when(no_blue, all(1.0f), all(-1.0f)),
             when(green, when(no_blue, all(1.0f), all(3.0f)), when(no_red, all(3.0f), all(5.0f))));
    const __m256 sign = all(-0.0f);
    const __m256 minus = when(red, _mm256_and_ps(no_blue, sign),
                              when(green, _mm256_andnot_ps(no_blue, sign), _mm256_andnot_ps(no_red, sign)));
    const __m256 part = _mm256_div_ps(_mm256_sub_ps(most, middle), range);
    __m256 h = _mm256_div_ps(_mm256_add_ps(from, _mm256_xor_ps(part, minus)), all(6.0f));
    h = _mm256_add_ps(h, _mm256_and_ps(_mm256_cmp_ps(h, _mm256_setzero_ps(), _CMP_LT_OQ), all(1.0f)));
    const __m256i hue =
        _mm256_add_epi32(_mm256_cvttps_epi32(_mm256_mul_ps(h, all(255.0f))), _mm256_set1_epi32(steps));
    const __m256 s =
        _mm256_max_ps(_mm256_mul_ps(_mm256_div_ps(range, most), all(255.0f)), _mm256_setzero_ps());
    return (hsv){
        .h = _mm256_cvtepi32_ps(_mm256_and_si256(hue, _mm256_set1_epi32(255))), .s = truncated(s), .v = most};
}

LEAT_INLINE rgb pil_from_hsv(hsv x) {
    const __m256 part = all(1.0f / 255.0f), h = _mm256_mul_ps(x.h, all(6.0f));
    const __m256i sector = _mm256_cvttps_epi32(_mm256_mul_ps(h, part));
    const __m256 f =
        _mm256_mul_ps(_mm256_sub_ps(h, _mm256_mul_ps(_mm256_cvtepi32_ps(sector), all(255.0f))), part);
    const __m256 up = _mm256_add_ps(x.v, all(0.5f)), w = _mm256_mul_ps(x.v, _mm256_mul_ps(x.s, part));
    const __m256 wf = _mm256_mul_ps(w, f), less = when(odd(sector), wf, _mm256_sub_ps(w, wf));
    return sector_rgb(sector, x.v, _mm256_sub_ps(up, less), _mm256_sub_ps(up, w));
}

/* --------------------------------------------------------------------------------------------- kernels */

/* A pixel's way through a kernel is one long chain of operations that wait for each other, and the
 * processor cannot look far enough ahead to find the next pixels. So it is cut into phases, each over a
 * block that lies in the first cache. The last few pixels go the way of the C kernel. */
#define GROUPS 8

#define PHASE(type, name, from, made)    \
    type name[GROUPS];                   \
    for (size_t k = 0; k < m; k++) {     \
        const __typeof__(from) x = from; \
        name[k] = made;                  \
    }
#define STORE(store, from, made)         \
    for (size_t k = 0; k < m; k++) {     \
        const __typeof__(from) x = from; \
        store(dst + 24 * k, made);       \
    }
#define LOAD(load) load(src + 24 * k)
#define BLOCKS(phases)                                                               \
    float p[8];                                                                      \
    memcpy(p, args->p, sizeof p); /* the compiler may think that values lie there */ \
    (void)p;                                                                         \
    while (channels == 3 && n >= 8) {                                                \
        const size_t m = LEAT_MIN(n / 8, (size_t)GROUPS);                            \
        phases;                                                                      \
        src += 24 * m;                                                               \
        dst += 24 * m;                                                               \
        n -= 8 * m;                                                                  \
    }
#define KERNEL(name, phases, pixel)                               \
    static LEAT_FN_PIXELS(name) {                                 \
        float *dst = values;                                      \
        const float *src = values;                                \
        BLOCKS(phases)                                            \
        for (values = dst; n > 0; n--, values += channels) pixel; \
    }
#define KERNEL_U8(name, phases, pixel)                                     \
    static LEAT_FN_PIXELS_U8(name) {                                       \
        BLOCKS(phases)                                                     \
        if (dst != src) memcpy(dst, src, n *(size_t)channels);             \
        for (uint8_t *values = dst; n > 0; n--, values += channels) pixel; \
    }
#define AS_FLOATS(pixel)               \
    do {                               \
        float last[3];                 \
        leat__rgb_load(last, values);  \
        pixel;                         \
        leat__rgb_store(values, last); \
    } while (0)

#define SATURATE(load, store)                     \
    PHASE(parts, part, LOAD(load), parted(x))     \
    PHASE(hsv, made, part[k], saturated(x, p[0])) \
    STORE(store, made[k], from_chroma(x))
#define ROTATE(load, store)                              \
    PHASE(order, found, LOAD(load), ordered(x))          \
    PHASE(hsv, made, found[k], turned(x, turn_by(p[0]))) \
    STORE(store, made[k], from_range(x))
#define SATURATE_ROTATE(load, store)                     \
    PHASE(parts, part, LOAD(load), parted(x))            \
    PHASE(hsv, between, part[k], saturated(x, p[0]))     \
    PHASE(order, found, between[k], ordered_chroma(x))   \
    PHASE(hsv, made, found[k], turned(x, turn_by(p[1]))) \
    STORE(store, made[k], from_range(x))
#define KERAS_SATURATE                                              \
    PHASE(hsv, made, LOAD(load_f32), keras_saturated(to_hsv(x), p)) \
    STORE(store_f32, made[k], from_hsv(x))
#define KERAS_ROTATE                                      \
    PHASE(hsv, made, LOAD(load_f32), keras_rotated(x, p)) \
    STORE(store_f32, made[k], keras_from_hsv(x, p))
#define PIL_ROTATE                                                \
    PHASE(hsv, made, LOAD(load_whole), pil_rotated(x, (int)p[0])) \
    STORE(store_whole, made[k], pil_from_hsv(x))

KERNEL(saturation_avx2, SATURATE(load_f32, store_f32), leat__saturation_pixel(values, p[0]))
KERNEL(hue_avx2, ROTATE(load_f32, store_f32), leat__hue_pixel(values, p[0]))
KERNEL(saturation_hue_avx2, SATURATE_ROTATE(load_f32, store_f32),
       (leat__saturation_pixel(values, p[0]), leat__hue_pixel(values, p[1])))
KERNEL(keras_saturation_avx2, KERAS_SATURATE, leat__keras_saturation_pixel(values, p))
KERNEL(keras_hue_avx2, KERAS_ROTATE, leat__keras_hue_pixel(values, p))
KERNEL(gray_avx2, STORE(store_f32, LOAD(load_f32), to_gray(x)), leat__gray_pixel(values))
KERNEL(degenerate_avx2, STORE(store_f32, LOAD(load_f32), degenerate(x, p)), leat__degenerate_pixel(values, p))
KERNEL_U8(saturation_u8_avx2, SATURATE(load_tf, store_tf), AS_FLOATS(leat__saturation_pixel(last, p[0])))
KERNEL_U8(hue_u8_avx2, ROTATE(load_tf, store_tf), AS_FLOATS(leat__hue_pixel(last, p[0])))
KERNEL_U8(gray_u8_avx2, STORE(store_tf, LOAD(load_tf), to_gray(x)), AS_FLOATS(leat__gray_pixel(last)))
KERNEL_U8(pil_color_avx2, STORE(store_whole, LOAD(load_whole), pil_coloured(x, p[0])),
          leat__pil_color_pixel(values, p[0]))
KERNEL_U8(pil_hue_avx2, PIL_ROTATE, leat__pil_hue_pixel(values, (int)p[0]))

static LEAT_FN_PIXELS(gamma_avx2) {
    leat__gamma_values(values, n * (size_t)channels, args->p[0], args->p[1]);
}

static LEAT_FN_PIXELS(noise_avx2) {
    leat__noise_values(values, n * (size_t)channels, args->first * (uint64_t)channels, args);
}

static LEAT_FN_PIXELS_U8(noise_u8_avx2) {
    if (dst != src) memcpy(dst, src, n * (size_t)channels);
    leat__noise_bytes(dst, n * (size_t)channels, args->first * (uint64_t)channels, args);
}

void leat__image_dsp_init_colour_avx2(leat__image_dsp *dsp) {
    dsp->pixels[LEAT_PIXELS_SATURATION] = saturation_avx2;
    dsp->pixels[LEAT_PIXELS_HUE] = hue_avx2;
    dsp->pixels[LEAT_PIXELS_SATURATION_HUE] = saturation_hue_avx2;
    dsp->pixels[LEAT_PIXELS_KERAS_SATURATION] = keras_saturation_avx2;
    dsp->pixels[LEAT_PIXELS_KERAS_HUE] = keras_hue_avx2;
    dsp->pixels[LEAT_PIXELS_GRAY] = gray_avx2;
    dsp->pixels[LEAT_PIXELS_DEGENERATE] = degenerate_avx2;
    dsp->pixels[LEAT_PIXELS_GAMMA] = gamma_avx2;
    dsp->pixels[LEAT_PIXELS_NOISE] = noise_avx2;
    dsp->pixels_u8[LEAT_PIXELS_SATURATION] = saturation_u8_avx2;
    dsp->pixels_u8[LEAT_PIXELS_HUE] = hue_u8_avx2;
    dsp->pixels_u8[LEAT_PIXELS_GRAY] = gray_u8_avx2;
    dsp->pixels_u8[LEAT_PIXELS_NOISE] = noise_u8_avx2;
    dsp->pixels_u8[LEAT_PIXELS_PIL_COLOR] = pil_color_avx2;
    dsp->pixels_u8[LEAT_PIXELS_PIL_HUE] = pil_hue_avx2;
}
