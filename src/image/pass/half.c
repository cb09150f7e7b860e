/* SPDX-License-Identifier: Apache-2.0 */
/* Values of two bytes in plain C, the specification: f32 to f16 and bf16, u16 to f32, and pixels of two-byte values
 * to planes. A tensor of halves moves half the bytes of one of floats, and 16-bit scans keep all their levels. */
#include "image/pass/point.h"

static LEAT_FN_HALF_FROM_F32(half_from_f32_c) {
    (void)stream;
    for (size_t i = 0; i < n; i++) dst[i] = leat__half_from_f32(src[i]);
}

static LEAT_FN_HALF_FROM_F32(bf16_from_f32_c) {
    (void)stream;
    for (size_t i = 0; i < n; i++) dst[i] = leat__bf16_from_f32(src[i]);
}

/* Blocks of one period keep the phase a plain loop index. */
static LEAT_FN_FROM_U16(from_u16_c) {
    (void)stream;
    for (size_t base = 0; base < n; base += LEAT_CHAIN_PERIOD) {
        const size_t m = LEAT_MIN(n - base, (size_t)LEAT_CHAIN_PERIOD);
        for (size_t k = 0; k < m; k++) dst[base + k] = leat__chain_apply(chain, src[base + k], k);
    }
}

static LEAT_FN_PLANAR_U16(planar_u16_c) {
    for (int c = 0; c < channels; c++) {
        uint16_t *out = dst + (size_t)c * plane;
        for (size_t i = 0; i < n; i++) out[i] = src[i * (size_t)channels + (size_t)c];
    }
}

void leat__image_dsp_init_half_c(leat__image_dsp *dsp) {
    dsp->half_from_f32 = half_from_f32_c;
    dsp->bf16_from_f32 = bf16_from_f32_c;
    dsp->from_u16 = from_u16_c;
    for (int k = 0; k < 5; k++) dsp->planar_u16[k] = planar_u16_c;
}
