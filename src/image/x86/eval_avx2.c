/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of `eval` once more, compiled for AVX2. */
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

static const leat__eval_kernels vectors = EVAL_TABLE;

const leat__eval_kernels *leat__eval_kernels_avx2(void) {
    return &vectors;
}
