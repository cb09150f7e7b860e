/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 entries of the kernel tables of JPEG, PNG and WebP. */
#ifndef LEAT_DECODE_X86_DECODE_X86_H
#define LEAT_DECODE_X86_DECODE_X86_H

#include "decode/jpeg/jpeg_dsp.h"
#include "decode/png/png_dsp.h"
#include "decode/webp/webp_dsp.h"

void leat__jpeg_dsp_init_blocks_avx2(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_passes_avx2(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_passes_pdep(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_idct_avx2(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_idct_fast_avx2(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_reduced_avx2(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_colour_avx2(leat__jpeg_dsp *dsp);
void leat__png_dsp_init_avx2(leat__png_dsp *dsp);
void leat__webp_dsp_init_tokens_avx2(leat__webp_dsp *dsp);
void leat__webp_dsp_init_predict_avx2(leat__webp_dsp *dsp);
void leat__webp_dsp_init_filter_avx2(leat__webp_dsp *dsp);
void leat__webp_dsp_init_colour_avx2(leat__webp_dsp *dsp);

#define LEAT_INLINE static inline __attribute__((always_inline))

#endif
