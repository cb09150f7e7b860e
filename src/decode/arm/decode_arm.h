/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of JPEG for which NEON has a shorter way than AVX2's files compiled for it. */
#ifndef LEAT_DECODE_ARM_DECODE_ARM_H
#define LEAT_DECODE_ARM_DECODE_ARM_H

#include "decode/jpeg/jpeg_dsp.h"

void leat__jpeg_dsp_init_idct_neon(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_rgb_neon(leat__jpeg_dsp *dsp);

#endif
