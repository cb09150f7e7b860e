/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of `eval` once more, compiled for AVX2. */
#include "image/eval/eval_kernels.h"
#include "image/x86/image_x86.h"

static const leat__eval_kernels vectors = EVAL_TABLE;

const leat__eval_kernels *leat__eval_kernels_avx2(void) {
    return &vectors;
}
