/* SPDX-License-Identifier: Apache-2.0 */
/* Warps of order 1 with AVX2: eight places at a time, then two pixels at a time.
 *
 * Positions are never tested one by one: they are bounded, which is free beside the rest. Only fills that
 * reflect or wrap look whether any of the eight is outside, since folding divides. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/warp/warp_value.h"

/* ---------------------------------------------------------------------------------------- SciPy's places */

typedef struct axis {
    __m256d step, base, last, magic;
    int n;
} axis;

LEAT_INLINE __m256d pick(__m256d no, __m256d yes, __m256d mask) {
    return _mm256_blendv_pd(no, yes, mask);
}

LEAT_INLINE __m256d whole(__m256d x) {
    return _mm256_round_pd(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

LEAT_INLINE __m256d less(__m256d a, __m256d b) {
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}

/* leat__scipy_fold of REFLECT and WRAP, without its last step. */
LEAT_INLINE __m256d fold(__m256d c, const axis *a, leat__warp_fill fill) {
    const __m256d zero = _mm256_setzero_pd(), one = _mm256_set1_pd(1);
    const __m256d low = less(c, zero), high = less(a->last, c);
    if (!_mm256_movemask_pd(_mm256_or_pd(low, high))) return c;
    const __m256d minus = _mm256_sub_pd(zero, c);
    if (fill == LEAT_WARP_REFLECT) {
        const __m256d size = _mm256_set1_pd(a->n), twice = _mm256_set1_pd(2.0 * a->n);
        __m256d d = _mm256_add_pd(_mm256_mul_pd(twice, whole(_mm256_div_pd(minus, twice))), c);
        d = pick(c, d, less(c, _mm256_sub_pd(zero, twice)));
        const __m256d tiny = _mm256_set1_pd(1e-15);
        __m256d back = pick(_mm256_sub_pd(zero, d), tiny, less(_mm256_sub_pd(zero, tiny), d));
        back = _mm256_sub_pd(back, one);
        d = pick(back, _mm256_add_pd(d, twice), less(d, _mm256_sub_pd(zero, size)));
        __m256d u = _mm256_sub_pd(c, _mm256_mul_pd(twice, whole(_mm256_div_pd(c, twice))));
        u = pick(_mm256_sub_pd(_mm256_sub_pd(twice, u), one), u, less(u, size));
        return pick(pick(c, u, high), d, low);
    }
    const __m256d d =
        _mm256_add_pd(c, _mm256_mul_pd(a->last, _mm256_add_pd(whole(_mm256_div_pd(minus, a->last)), one)));
    const __m256d u = _mm256_sub_pd(c, _mm256_mul_pd(a->last, whole(_mm256_div_pd(c, a->last))));
    return pick(pick(c, u, high), d, low);
}

/* Four positions, in the picture, as fixed-point numbers in the lower halves. */
LEAT_INLINE __m256 settle(__m256d c, const axis *a, leat__warp_fill fill) {
    if (fill == LEAT_WARP_REFLECT || fill == LEAT_WARP_WRAP) {
        const __m256d far = _mm256_set1_pd(LEAT_WARP_FAR), near = _mm256_set1_pd(-LEAT_WARP_FAR);
        c = _mm256_min_pd(_mm256_max_pd(c, near), far);
        if (a->n > 1) c = fold(c, a, fill);
    }
    c = _mm256_min_pd(_mm256_max_pd(c, _mm256_setzero_pd()), a->last);
    return _mm256_castpd_ps(_mm256_add_pd(c, a->magic));
}

LEAT_INLINE __m256d outside(__m256d c, const axis *a) {
    const __m256d low = _mm256_cmp_pd(c, _mm256_setzero_pd(), _CMP_NGE_UQ);
    return _mm256_or_pd(low, _mm256_cmp_pd(c, a->last, _CMP_NLE_UQ));
}

/* Of two vectors of four doubles each, the lower halves: the order of places below makes them eight in a
 * row. */
LEAT_INLINE __m256i join(__m256 a, __m256 b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
}

LEAT_INLINE void place_scipy(const leat__places *to, const leat__grid *grid, int y, int step, int n_rows,
                             leat__warp_fill fill, bool perspective) {
    const double *m = grid->m;
    const __m256d magic = _mm256_set1_pd(leat__grid_magic(grid));
    axis ax = {.step = _mm256_set1_pd(m[0]), .last = _mm256_set1_pd(grid->width - 1), .n = grid->width};
    axis ay = {.step = _mm256_set1_pd(m[3]), .last = _mm256_set1_pd(grid->height - 1), .n = grid->height};
    ax.magic = ay.magic = magic;
    const __m256d w_step = _mm256_set1_pd(m[6]);
    const __m256i end_x = _mm256_set1_epi32(LEAT_MAX(grid->width - 2, 0));
    const __m256i end_y = _mm256_set1_epi32(LEAT_MAX(grid->height - 2, 0));
    const __m256i stride = _mm256_set1_epi32(grid->stride), pixel = _mm256_set1_epi32(grid->pixel);
    const __m128i bits = _mm_cvtsi32_si128(grid->bits);
    const __m256 unit = _mm256_set1_ps(1.0f / (float)((uint32_t)1 << grid->bits));
    const double first = grid->mirrored ? grid->columns - 1 : 0, way = grid->mirrored ? -1 : 1;
    const __m256d eight = _mm256_set1_pd(8 * way);
    for (int r = 0; r < n_rows; r++, y += step) {
        const size_t row = (size_t)r * (size_t)grid->columns;
        __m256d x[2] = {_mm256_setr_pd(first, first + way, first + 4 * way, first + 5 * way),
                        _mm256_setr_pd(first + 2 * way, first + 3 * way, first + 6 * way, first + 7 * way)};
        ax.base = _mm256_set1_pd(m[2] + y * m[1]);
        ay.base = _mm256_set1_pd(m[5] + y * m[4]);
        const __m256d w_base = _mm256_set1_pd(m[8] + y * m[7]);
        for (int i = 0; i < grid->columns; i += 8) {
            __m256 fx[2], fy[2];
            __m256d out[2];
            LEAT_UNROLL
            for (int k = 0; k < 2; k++) {
                __m256d cx = _mm256_add_pd(ax.base, _mm256_mul_pd(x[k], ax.step));
                __m256d cy = _mm256_add_pd(ay.base, _mm256_mul_pd(x[k], ay.step));
                if (perspective) {
                    const __m256d w = _mm256_add_pd(w_base, _mm256_mul_pd(x[k], w_step));
                    cx = _mm256_div_pd(cx, w);
                    cy = _mm256_div_pd(cy, w);
                }
                if (fill == LEAT_WARP_CONSTANT) out[k] = _mm256_or_pd(outside(cx, &ax), outside(cy, &ay));
                fx[k] = settle(cx, &ax, fill);
                fy[k] = settle(cy, &ay, fill);
                x[k] = _mm256_add_pd(x[k], eight);
            }
            const __m256i jx = join(fx[0], fx[1]), jy = join(fy[0], fy[1]);
            const __m256i ix = _mm256_min_epu32(_mm256_srl_epi32(jx, bits), end_x);
            const __m256i iy = _mm256_min_epu32(_mm256_srl_epi32(jy, bits), end_y);
            const __m256i rx = _mm256_sub_epi32(jx, _mm256_sll_epi32(ix, bits));
            const __m256i ry = _mm256_sub_epi32(jy, _mm256_sll_epi32(iy, bits));
            __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(iy, stride), _mm256_mullo_epi32(ix, pixel));
            if (fill == LEAT_WARP_CONSTANT)
                at = _mm256_or_si256(at, join(_mm256_castpd_ps(out[0]), _mm256_castpd_ps(out[1])));
            _mm256_storeu_si256((__m256i *)(void *)(to->at + row + i), at);
            _mm256_storeu_ps(to->x + row + i, _mm256_mul_ps(_mm256_cvtepi32_ps(rx), unit));
            _mm256_storeu_ps(to->y + row + i, _mm256_mul_ps(_mm256_cvtepi32_ps(ry), unit));
        }
    }
}

static LEAT_FN_WARP_PLACE(place_scipy_avx2) {
#define CASE(fill_)                                                                 \
    case fill_:                                                                     \
        if (grid->perspective) place_scipy(to, grid, y, step, n_rows, fill_, true); \
        else place_scipy(to, grid, y, step, n_rows, fill_, false);                  \
        return
    switch (grid->fill) {
        CASE(LEAT_WARP_CONSTANT);
        CASE(LEAT_WARP_NEAREST);
        CASE(LEAT_WARP_REFLECT);
        CASE(LEAT_WARP_WRAP);
    }
#undef CASE
}

/* ----------------------------------------------------------------------------------- TensorFlow's places */

LEAT_INLINE __m256 pick_f32(__m256 no, __m256 yes, __m256 mask) {
    return _mm256_blendv_ps(no, yes, mask);
}

LEAT_INLINE __m256 whole_f32(__m256 x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

LEAT_INLINE __m256 less_f32(__m256 a, __m256 b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

/* leat__tf_fold. */
LEAT_INLINE __m256 settle_f32(__m256 c, int n, leat__warp_fill fill) {
    const __m256 zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1), last = _mm256_set1_ps((float)(n - 1));
    if (n > 1 && (fill == LEAT_WARP_REFLECT || fill == LEAT_WARP_WRAP)) {
        const __m256 far = _mm256_set1_ps((float)LEAT_WARP_FAR), near = _mm256_set1_ps((float)-LEAT_WARP_FAR);
        c = _mm256_min_ps(_mm256_max_ps(c, near), far);
        const __m256 low = less_f32(c, zero), high = less_f32(last, c);
        if (_mm256_movemask_ps(_mm256_or_ps(low, high))) {
            const __m256 size = _mm256_set1_ps((float)n), twice = _mm256_set1_ps((float)(2 * n));
            const __m256 minus = _mm256_sub_ps(zero, c);
            __m256 d, u;
            if (fill == LEAT_WARP_REFLECT) {
                d = _mm256_add_ps(_mm256_mul_ps(twice, whole_f32(_mm256_div_ps(minus, twice))), c);
                const __m256 back = _mm256_sub_ps(_mm256_sub_ps(zero, d), one);
                d = pick_f32(back, _mm256_add_ps(d, twice), less_f32(d, _mm256_sub_ps(zero, size)));
                u = _mm256_sub_ps(c, _mm256_mul_ps(twice, whole_f32(_mm256_div_ps(c, twice))));
                u = pick_f32(_mm256_sub_ps(_mm256_sub_ps(twice, u), one), u, less_f32(u, size));
            } else {
                const __m256 turns = _mm256_add_ps(whole_f32(_mm256_div_ps(minus, last)), one);
                d = _mm256_add_ps(c, _mm256_mul_ps(size, turns));
                u = _mm256_sub_ps(c, _mm256_mul_ps(size, whole_f32(_mm256_div_ps(c, last))));
            }
            c = pick_f32(pick_f32(c, u, high), d, low);
        }
    }
    return _mm256_min_ps(_mm256_max_ps(c, zero), last);
}

LEAT_INLINE __m256 outside_f32(__m256 c, int n) {
    const __m256 low = _mm256_cmp_ps(c, _mm256_setzero_ps(), _CMP_NGE_UQ);
    return _mm256_or_ps(low, _mm256_cmp_ps(c, _mm256_set1_ps((float)(n - 1)), _CMP_NLE_UQ));
}

LEAT_INLINE void place_tf(const leat__places *to, const leat__grid *grid, int y, int step, int n_rows,
                          leat__warp_fill fill, bool perspective) {
    const float *f = grid->f;
    const __m256i end_x = _mm256_set1_epi32(LEAT_MAX(grid->width - 2, 0));
    const __m256i end_y = _mm256_set1_epi32(LEAT_MAX(grid->height - 2, 0));
    const __m256i stride = _mm256_set1_epi32(grid->stride), pixel = _mm256_set1_epi32(grid->pixel);
    const float first = grid->mirrored ? (float)(grid->columns - 1) : 0, way = grid->mirrored ? -1 : 1;
    const __m256 eight = _mm256_set1_ps(8 * way), one = _mm256_set1_ps(1);
    const __m256 lanes = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 begin = _mm256_add_ps(_mm256_set1_ps(first), _mm256_mul_ps(lanes, _mm256_set1_ps(way)));
    for (int r = 0; r < n_rows; r++, y += step) {
        const size_t row = (size_t)r * (size_t)grid->columns;
        const __m256 yx = _mm256_set1_ps(f[1] * (float)y), yy = _mm256_set1_ps(f[4] * (float)y);
        const __m256 yw = _mm256_set1_ps(f[7] * (float)y);
        __m256 x = begin;
        for (int i = 0; i < grid->columns; i += 8, x = _mm256_add_ps(x, eight)) {
            __m256 cx = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(f[0]), x), yx);
            __m256 cy = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(f[3]), x), yy);
            cx = _mm256_add_ps(cx, _mm256_set1_ps(f[2]));
            cy = _mm256_add_ps(cy, _mm256_set1_ps(f[5]));
            if (perspective) {
                const __m256 w = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(f[6]), x), yw);
                cx = _mm256_div_ps(cx, _mm256_add_ps(w, one));
                cy = _mm256_div_ps(cy, _mm256_add_ps(w, one));
            }
            const __m256 out = _mm256_or_ps(outside_f32(cx, grid->width), outside_f32(cy, grid->height));
            cx = settle_f32(cx, grid->width, fill);
            cy = settle_f32(cy, grid->height, fill);
            const __m256i ix = _mm256_min_epi32(_mm256_cvttps_epi32(cx), end_x);
            const __m256i iy = _mm256_min_epi32(_mm256_cvttps_epi32(cy), end_y);
            __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(iy, stride), _mm256_mullo_epi32(ix, pixel));
            if (fill == LEAT_WARP_CONSTANT) at = _mm256_or_si256(at, _mm256_castps_si256(out));
            _mm256_storeu_si256((__m256i *)(void *)(to->at + row + i), at);
            _mm256_storeu_ps(to->x + row + i, _mm256_sub_ps(cx, _mm256_cvtepi32_ps(ix)));
            _mm256_storeu_ps(to->y + row + i, _mm256_sub_ps(cy, _mm256_cvtepi32_ps(iy)));
        }
    }
}

static LEAT_FN_WARP_PLACE(place_tf_avx2) {
#define CASE(fill_)                                                              \
    case fill_:                                                                  \
        if (grid->perspective) place_tf(to, grid, y, step, n_rows, fill_, true); \
        else place_tf(to, grid, y, step, n_rows, fill_, false);                  \
        return
    switch (grid->fill) {
        CASE(LEAT_WARP_CONSTANT);
        CASE(LEAT_WARP_NEAREST);
        CASE(LEAT_WARP_REFLECT);
        CASE(LEAT_WARP_WRAP);
    }
#undef CASE
}

/* ------------------------------------------------------------------------------------------- the pixels */

/* Shares of two neighbouring places, each four times. */
LEAT_INLINE __m256 shares(const float *share) {
    double pair;
    memcpy(&pair, share, sizeof pair);
    const __m256i each = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    return _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(pair)), each);
}

LEAT_INLINE __m256 mix(__m256 a, __m256 b, __m256 share, __m256 rest) {
    return _mm256_add_ps(_mm256_mul_ps(rest, a), _mm256_mul_ps(share, b));
}

LEAT_INLINE __m256i two_pixels(const uint8_t *a, const uint8_t *b) {
    const __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)a);
    const __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)b);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

LEAT_INLINE __m256 floats(__m256i bytes, __m256i order) {
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, order));
}

/* Nothing is read that is not the picture's, which may end where memory ends. A pixel of three or four
 * channels and the one to its right are in eight bytes: above, they come first in them, and the row below
 * follows; below, they come last, and the row above is in front. A picture of one row or one column has no
 * such rows and is no vector's work. */
LEAT_INLINE void blend_u8(float *dst, const uint8_t *src, const leat__places *from, size_t n, ptrdiff_t step,
                          ptrdiff_t below, int channels) {
    const int c = channels, shift = 8 - 2 * c;
#define SPREAD(k)                                                                                 \
    _mm256_broadcastsi128_si256(_mm_setr_epi8((char)(k), -1, -1, -1, (char)((k) + 1), -1, -1, -1, \
                                              (char)((k) + 2), -1, -1, -1, (char)((k) + 3), -1, -1, -1))
    const __m256i left = SPREAD(0), right = SPREAD(c), left_below = SPREAD(shift),
                  right_below = SPREAD(shift + c);
#undef SPREAD
    const __m256 one = _mm256_set1_ps(1);
    const uint8_t *under = src + below - shift;
    const int32_t *at = from->at;
    const float *share_x = from->x, *share_y = from->y;
    size_t i = 0;
    /* Four floats are stored for three: the next pixel writes over the fourth, and the last ones have their
     * own way. */
#define PAIR(k)                                                                                       \
    do {                                                                                              \
        const ptrdiff_t a = at[i + (k)], b = at[i + (k) + 1];                                         \
        const __m256i upper = two_pixels(src + a, src + b), lower = two_pixels(under + a, under + b); \
        const __m256 x = shares(share_x + i + (k)), y = shares(share_y + i + (k));                    \
        const __m256 rest_x = _mm256_sub_ps(one, x), rest_y = _mm256_sub_ps(one, y);                  \
        const __m256 top = mix(floats(upper, left), floats(upper, right), x, rest_x);                 \
        const __m256 bottom = mix(floats(lower, left_below), floats(lower, right_below), x, rest_x);  \
        const __m256 made = mix(top, bottom, y, rest_y);                                              \
        _mm_storeu_ps(dst + (i + (k)) * (size_t)c, _mm256_castps256_ps128(made));                     \
        _mm_storeu_ps(dst + (i + (k) + 1) * (size_t)c, _mm256_extractf128_ps(made, 1));               \
    } while (0)
    for (; step && below > 0 && i + 4 < n; i += 4) {
        PAIR(0);
        PAIR(2);
    }
#undef PAIR
    for (; i < n; i++)
        leat__blend_pixel_u8(dst + i * (size_t)c, src + at[i], share_x[i], share_y[i], step, below, c);
}

static LEAT_FN_WARP_BLEND(blend_u8_3_avx2) {
    (void)channels;
    blend_u8(dst, src, from, n, right, below, 3);
}

static LEAT_FN_WARP_BLEND(blend_u8_4_avx2) {
    (void)channels;
    blend_u8(dst, src, from, n, right, below, 4);
}

/* One channel: eight pixels, each with the one to its right in two bytes. */
LEAT_INLINE __m256i eight_pairs(const uint8_t *src, const int32_t *at) {
    __m128i pairs = _mm_setzero_si128();
    uint16_t pair;
#define TAKE(k) memcpy(&pair, src + at[k], sizeof pair), pairs = _mm_insert_epi16(pairs, pair, k)
    TAKE(0), TAKE(1), TAKE(2), TAKE(3), TAKE(4), TAKE(5), TAKE(6), TAKE(7);
#undef TAKE
    return _mm256_cvtepu16_epi32(pairs);
}

static LEAT_FN_WARP_BLEND(blend_u8_1_avx2) {
    const uint8_t *bytes = src, *under = bytes + below;
    const __m256i low = _mm256_set1_epi32(255);
    const __m256 one = _mm256_set1_ps(1);
    size_t i = 0;
    (void)channels;
    for (; right && i + 8 <= n; i += 8) {
        const __m256i upper = eight_pairs(bytes, from->at + i), lower = eight_pairs(under, from->at + i);
        const __m256 x = _mm256_loadu_ps(from->x + i), y = _mm256_loadu_ps(from->y + i);
        const __m256 rest_x = _mm256_sub_ps(one, x), rest_y = _mm256_sub_ps(one, y);
        const __m256 top = mix(_mm256_cvtepi32_ps(_mm256_and_si256(upper, low)),
                               _mm256_cvtepi32_ps(_mm256_srli_epi32(upper, 8)), x, rest_x);
        const __m256 bottom = mix(_mm256_cvtepi32_ps(_mm256_and_si256(lower, low)),
                                  _mm256_cvtepi32_ps(_mm256_srli_epi32(lower, 8)), x, rest_x);
        _mm256_storeu_ps(dst + i, mix(top, bottom, y, rest_y));
    }
    for (; i < n; i++)
        leat__blend_pixel_u8(dst + i, bytes + from->at[i], from->x[i], from->y[i], right, below, 1);
}

LEAT_INLINE __m256 two_of_f32(const uint8_t *a, const uint8_t *b) {
    const __m128 low = _mm_loadu_ps((const float *)(const void *)a);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), _mm_loadu_ps((const float *)(const void *)b), 1);
}

static LEAT_FN_WARP_BLEND(blend_f32_3_avx2) {
    const uint8_t *bytes = src, *under = bytes + below;
    const int32_t *at = from->at;
    const float *share_x = from->x, *share_y = from->y;
    const __m256 one = _mm256_set1_ps(1);
    size_t i = 0;
    (void)channels;
    /* Four floats are read for three: above the fourth is there, below it is taken in front. */
    for (; right && below > 0 && i + 2 < n; i += 2) {
        const ptrdiff_t a = at[i], b = at[i + 1];
        const __m256 x = shares(share_x + i), y = shares(share_y + i);
        const __m256 rest_x = _mm256_sub_ps(one, x), rest_y = _mm256_sub_ps(one, y);
        const __m256 top = mix(two_of_f32(bytes + a, bytes + b),
                               two_of_f32(bytes + a + right, bytes + b + right), x, rest_x);
        const __m256 last = two_of_f32(under + a + right - 4, under + b + right - 4);
        const __m256 bottom = mix(two_of_f32(under + a, under + b), _mm256_permute_ps(last, 0x39), x, rest_x);
        const __m256 made = mix(top, bottom, y, rest_y);
        _mm_storeu_ps(dst + i * 3, _mm256_castps256_ps128(made));
        _mm_storeu_ps(dst + (i + 1) * 3, _mm256_extractf128_ps(made, 1));
    }
    for (; i < n; i++)
        leat__blend_pixel_f32(dst + i * 3, bytes + at[i], share_x[i], share_y[i], right, below, 3);
}

void leat__image_dsp_init_warp_avx2(leat__image_dsp *dsp) {
    dsp->warp_place[LEAT_WARP_SCIPY] = place_scipy_avx2;
    dsp->warp_place[LEAT_WARP_TF] = place_tf_avx2;
    dsp->warp_blend_u8[1] = blend_u8_1_avx2;
    dsp->warp_blend_u8[3] = blend_u8_3_avx2;
    dsp->warp_blend_u8[4] = blend_u8_4_avx2;
    dsp->warp_blend_f32[3] = blend_f32_3_avx2;
}
