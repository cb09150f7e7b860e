/* SPDX-License-Identifier: Apache-2.0 */
/* Point operations and stores of interleaved values with AVX2.
 *
 * One template makes all: what is loaded, how many stages and whether stores are non-temporal are constants
 * of each instance. Non-temporal stores begin and end on cache lines, so that no line gets both kinds. */
#include "image/x86/image_x86.h"

#include <immintrin.h>

#include "image/pass/point.h"

typedef enum take { TAKE_U8, TAKE_U16, TAKE_F32, TAKE_LERP } take;

typedef struct input {
    const uint8_t *u8;
    const uint16_t *u16;
    const float *a, *b;
    float t;
} input;

LEAT_INLINE float load_one(take kind, const input *in, size_t i) {
    if (kind == TAKE_U8) return in->u8[i];
    if (kind == TAKE_U16) return in->u16[i];
    if (kind == TAKE_F32) return in->a[i];
    return leat__lerp(in->a[i], in->b[i], in->t);
}

LEAT_INLINE __m256 load_eight(take kind, const input *in, size_t i) {
    if (kind == TAKE_U8) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(in->u8 + i));
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    }
    if (kind == TAKE_U16) {
        const __m128i words = _mm_loadu_si128((const __m128i *)(const void *)(in->u16 + i));
        return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(words));
    }
    const __m256 a = _mm256_loadu_ps(in->a + i);
    if (kind == TAKE_F32) return a;
    const __m256 b = _mm256_loadu_ps(in->b + i);
    return _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), _mm256_set1_ps(in->t)));
}

LEAT_INLINE void sweep(float *dst, const input *in, size_t n, const leat__chain *chain, take kind, int stages,
                       bool stream) {
    const size_t channels = (size_t)chain->channels;
    size_t i = 0, end = n;
    if (stream) {
        const size_t head = (0 - (uintptr_t)dst) % LEAT_CACHE_LINE / sizeof(float);
        for (; i < LEAT_MIN(head, n); i++)
            dst[i] = leat__chain_apply(chain, load_one(kind, in, i), i % LEAT_CHAIN_PERIOD);
        end = i + (n - i) / 16 * 16;
    }
    __m256 mul[LEAT_CHAIN_STAGES][3], add[LEAT_CHAIN_STAGES][3];
    const size_t phase = stages && i ? i % channels : 0; /* a division is much for a short row */
    LEAT_UNROLL
    for (int s = 0; s < stages; s++) {
        LEAT_UNROLL
        for (size_t j = 0; j < 3; j++) {
            mul[s][j] = _mm256_loadu_ps(&chain->mul[s][phase + 8 * j]);
            add[s][j] = _mm256_loadu_ps(&chain->add[s][phase + 8 * j]);
        }
    }
#define EIGHT(j)                                                                                    \
    do {                                                                                            \
        __m256 x = load_eight(kind, in, i + 8 * (j));                                               \
        LEAT_UNROLL                                                                                 \
        for (int s = 0; s < stages; s++) x = _mm256_add_ps(_mm256_mul_ps(x, mul[s][j]), add[s][j]); \
        if (stream) _mm256_stream_ps(dst + i + 8 * (j), x);                                         \
        else _mm256_storeu_ps(dst + i + 8 * (j), x);                                                \
    } while (0)
    for (; i + 24 <= end; i += 24) {
        EIGHT(0);
        EIGHT(1);
        EIGHT(2);
    }
    if (i + 16 <= end) {
        EIGHT(0);
        EIGHT(1);
        i += 16;
    } else if (i + 8 <= end) {
        EIGHT(0);
        i += 8;
    }
#undef EIGHT
    for (; i < n; i++) dst[i] = leat__chain_apply(chain, load_one(kind, in, i), i % LEAT_CHAIN_PERIOD);
}

#define STAGES(kind, n_stages, non_temporal)                     \
    case n_stages:                                               \
        sweep(dst, &in, n, chain, kind, n_stages, non_temporal); \
        return
#define SWITCH(kind, non_temporal)     \
    switch (chain->n) {                \
        STAGES(kind, 0, non_temporal); \
        STAGES(kind, 1, non_temporal); \
        STAGES(kind, 2, non_temporal); \
        STAGES(kind, 3, non_temporal); \
        STAGES(kind, 4, non_temporal); \
        STAGES(kind, 5, non_temporal); \
        STAGES(kind, 6, non_temporal); \
    }
/* Short rows do not fill lines. */
#define BODY(kind)               \
    do {                         \
        if (stream && n >= 32) { \
            SWITCH(kind, true)   \
        } else {                 \
            SWITCH(kind, false)  \
        }                        \
    } while (0)

static LEAT_FN_FROM_U8(from_u8_avx2) {
    const input in = {.u8 = src};
    BODY(TAKE_U8);
}

static LEAT_FN_FROM_U16(from_u16_avx2) {
    const input in = {.u16 = src};
    BODY(TAKE_U16);
}

static LEAT_FN_FROM_F32(from_f32_avx2) {
    const input in = {.a = src};
    BODY(TAKE_F32);
}

static LEAT_FN_LERP(lerp_avx2) {
    const input in = {.a = top, .b = bottom, .t = t};
    BODY(TAKE_LERP);
}

/* Eight floats as dwords 0 to 255; the second operand of max wins when the first is NaN. */
LEAT_INLINE __m256i whole(const float *src) {
    const __m256 x = _mm256_max_ps(_mm256_loadu_ps(src), _mm256_setzero_ps());
    return _mm256_cvttps_epi32(_mm256_min_ps(x, _mm256_set1_ps(255.0f)));
}

static LEAT_FN_U8_FROM_F32(u8_from_f32_avx2) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i ab = _mm256_packs_epi32(whole(src + i), whole(src + i + 8));
        const __m256i cd = _mm256_packs_epi32(whole(src + i + 16), whole(src + i + 24));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
        _mm256_storeu_si256((__m256i *)(void *)(dst + i), bytes);
    }
    for (; i < n; i++) dst[i] = leat__u8_from_f32(src[i]);
}

/* Eight pixels at a time: 24 values are three vectors, each of whose bytes lie within 16 of the source. */
LEAT_INLINE void turn_rgb8(float *dst, const uint8_t *src, size_t n, const leat__chain *chain, int stages,
                           bool stream) {
    static const uint8_t from[3] = {8, 4, 0};
    const __m128i order[3] = {
        _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, -1, -1, -1, -1, -1, -1, -1, -1),
        _mm_setr_epi8(13, 8, 9, 10, 5, 6, 7, 2, -1, -1, -1, -1, -1, -1, -1, -1),
        _mm_setr_epi8(7, 8, 3, 4, 5, 0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1),
    };
    __m256 mul[LEAT_CHAIN_STAGES][3], add[LEAT_CHAIN_STAGES][3];
    LEAT_UNROLL
    for (int s = 0; s < stages; s++) {
        LEAT_UNROLL
        for (size_t j = 0; j < 3; j++) {
            mul[s][j] = _mm256_loadu_ps(&chain->mul[s][8 * j]);
            add[s][j] = _mm256_loadu_ps(&chain->add[s][8 * j]);
        }
    }
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint8_t *group = src + 3 * (n - 8 - i);
        LEAT_UNROLL
        for (size_t j = 0; j < 3; j++) {
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(group + from[j]));
            __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_shuffle_epi8(bytes, order[j])));
            LEAT_UNROLL
            for (int s = 0; s < stages; s++) x = _mm256_add_ps(_mm256_mul_ps(x, mul[s][j]), add[s][j]);
            if (stream) _mm256_stream_ps(dst + 3 * i + 8 * j, x);
            else _mm256_storeu_ps(dst + 3 * i + 8 * j, x);
        }
    }
    for (; i < n; i++) leat__rgb8_turned(dst, src, i, n, chain);
}

#define TURNED(n_stages)                                           \
    case n_stages:                                                 \
        if (stream) turn_rgb8(dst, src, n, chain, n_stages, true); \
        else turn_rgb8(dst, src, n, chain, n_stages, false);       \
        return
static LEAT_FN_FROM_RGB8_TURNED(from_rgb8_turned_avx2) {
    switch (chain->n) {
        TURNED(0);
        TURNED(1);
        TURNED(2);
        TURNED(3);
        TURNED(4);
        TURNED(5);
        TURNED(6);
    }
}

static LEAT_FN_CLAMP(clamp_avx2) {
    const __m256 least = _mm256_set1_ps(low), most = _mm256_set1_ps(high);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(values + i, _mm256_min_ps(_mm256_max_ps(_mm256_loadu_ps(values + i), least), most));
    for (; i < n; i++) values[i] = leat__clamp_f32(values[i], low, high);
}

void leat__image_dsp_init_point_avx2(leat__image_dsp *dsp) {
    dsp->from_u8 = from_u8_avx2;
    dsp->from_u16 = from_u16_avx2;
    dsp->from_f32 = from_f32_avx2;
    dsp->lerp = lerp_avx2;
    dsp->u8_from_f32 = u8_from_f32_avx2;
    dsp->clamp = clamp_avx2;
    dsp->from_rgb8_turned = from_rgb8_turned_avx2;
}
