/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 entries of the image kernel table. */
#ifndef LEAT_IMAGE_X86_IMAGE_X86_H
#define LEAT_IMAGE_X86_IMAGE_X86_H

#include "image/dsp.h"
#include "image/eval/eval.h"

void leat__image_dsp_init_resample_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_point_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_planar_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_line_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_stats_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_sum_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_tables_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_mix_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_colour_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_gray_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_half_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_warp_avx2(leat__image_dsp *dsp);
void leat__image_dsp_init_pil_affine_avx2(leat__image_dsp *dsp);
const leat__eval_kernels *leat__eval_kernels_avx2(void);

#define LEAT_INLINE static inline __attribute__((always_inline))
/* In front of short loops over registers, which must not become loops over memory. Clang unrolls unasked. */
#if defined(__clang__)
#define LEAT_UNROLL
#else
#define LEAT_UNROLL _Pragma("GCC unroll 8")
#endif

#endif
