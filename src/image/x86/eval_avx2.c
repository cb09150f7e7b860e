/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of `eval` once more, compiled for AVX2; and chains, whose values stay in registers from the load to the store. */
#include <immintrin.h>

#include "image/eval/eval_kernels.h"
#include "image/x86/image_x86.h"

static LEAT_FN_EVAL_STREAM(stream_bytes) {
    uint8_t *d = dst;
    const uint8_t *s = src;
    const size_t head = LEAT_MIN((size_t)(-(uintptr_t)d & 31), bytes);
    memcpy(d, s, head);
    size_t at = head;
    for (; at + 32 <= bytes; at += 32)
        _mm256_stream_si256((__m256i *)(d + at), _mm256_loadu_si256((const __m256i *)(s + at)));
    memcpy(d + at, s + at, bytes - at);
}

LEAT_INLINE __m256 load_eight(const void *src, int from, size_t at) {
    if (from != LEAT_DTYPE_U8) return _mm256_loadu_ps((const float *)src + at);
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)((const uint8_t *)src + at));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

/* The instruction gives the second operand if the first is NaN: NaN must stay. */
LEAT_INLINE __m256 less(__m256 x, __m256 y) {
    return _mm256_blendv_ps(_mm256_min_ps(x, y), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
LEAT_INLINE __m256 more(__m256 x, __m256 y) {
    return _mm256_blendv_ps(_mm256_max_ps(x, y), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* An operation on all vectors of a group: with one value, with values of their own, and either as the first operand. */
#define EACH(expr)                             \
    do {                                       \
        LEAT_UNROLL                            \
        for (size_t j = 0; j < vectors; j++) { \
            expr;                              \
        }                                      \
    } while (0)
#define WITH(z, op)                                                     \
    do {                                                                \
        if (link->turned) EACH(const __m256 y = v[j]; v[j] = op(z, y)); \
        else EACH(v[j] = op(v[j], z));                                  \
    } while (0)
#define LINK(op)                                                   \
    do {                                                           \
        if (link->single) {                                        \
            const __m256 one = _mm256_broadcast_ss(link->with);    \
            WITH(one, op);                                         \
        } else WITH(_mm256_loadu_ps(link->with + at + 8 * j), op); \
    } while (0);                                                   \
    break

LEAT_INLINE void chain_group(float *dst, const void *src, int from, size_t at, const leat__eval_link *link,
                             int n_links, bool stream, size_t vectors) {
    __m256 v[8];
    EACH(v[j] = load_eight(src, from, at + 8 * j));
    for (const leat__eval_link *end = link + n_links; link < end; link++) {
        switch (link->op) {
        case LEAT_EVAL_ADD: LINK(_mm256_add_ps);
        case LEAT_EVAL_SUB: LINK(_mm256_sub_ps);
        case LEAT_EVAL_MUL: LINK(_mm256_mul_ps);
        case LEAT_EVAL_DIV: LINK(_mm256_div_ps);
        case LEAT_EVAL_MIN: LINK(less);
        default: LINK(more);
        }
    }
    if (stream) EACH(_mm256_stream_ps(dst + at + 8 * j, v[j]));
    else EACH(_mm256_storeu_ps(dst + at + 8 * j, v[j]));
}

LEAT_INLINE size_t chain_groups(float *dst, const void *src, int from, size_t n, const leat__eval_link *link,
                                int n_links, bool stream) {
    size_t at = 0;
    for (; at + EVAL_BLOCK <= n; at += EVAL_BLOCK)
        chain_group(dst, src, from, at, link, n_links, stream, EVAL_BLOCK / 8);
    for (; at + 8 <= n; at += 8) chain_group(dst, src, from, at, link, n_links, false, 1);
    return at;
}

static LEAT_FN_EVAL_CHAIN(chain_values) {
    const bool past = stream && (uintptr_t)dst % LEAT_CACHE_LINE == 0;
    size_t at;
    if (from == LEAT_DTYPE_U8)
        at = past ? chain_groups(dst, src, LEAT_DTYPE_U8, n, link, n_links, true)
                  : chain_groups(dst, src, LEAT_DTYPE_U8, n, link, n_links, false);
    else
        at = past ? chain_groups(dst, src, LEAT_DTYPE_F32, n, link, n_links, true)
                  : chain_groups(dst, src, LEAT_DTYPE_F32, n, link, n_links, false);
    if (at == n) return;
    leat__eval_link rest[LEAT_EVAL_LINKS];
    for (int i = 0; i < n_links; i++) {
        rest[i] = link[i];
        if (!rest[i].single) rest[i].with += at;
    }
    chain_blocks(dst + at, (const uint8_t *)src + at * leat_dtype_size(from), from, n - at, rest, n_links,
                 false);
}

static const leat__eval_kernels vectors = EVAL_TABLE;

const leat__eval_kernels *leat__eval_kernels_avx2(void) {
    return &vectors;
}
