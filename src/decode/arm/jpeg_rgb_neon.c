/* SPDX-License-Identifier: Apache-2.0 */
/* Colour with NEON, which stores three registers of 16 values as 16 pixels by one instruction. */
#include "decode/arm/decode_arm.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

/* Eight values of each channel. A rounded high product has 15 bits of the factor where libjpeg has 16; for chroma of 8 bits
 * the results are the same, because 1.402 is written as 1 + 13173/32768 and 1.772 as 2 - 7471/32768: the kernel test tries
 * all values. Green needs two products under one rounding. */
INLINE uint8x8x3_t to_rgb8(uint8x8_t y, int8x8_t cb, int8x8_t cr) {
    const int16x8_t l = vreinterpretq_s16_u16(vmovl_u8(y)), b = vmovl_s8(cb), r = vmovl_s8(cr);
    const int16x8_t red = vaddq_s16(vaddq_s16(l, r), vqrdmulhq_n_s16(r, 13173));
    const int16x8_t blue = vaddq_s16(vaddq_s16(l, vaddq_s16(b, b)), vqrdmulhq_n_s16(b, -7471));
    const int32x4_t low = vmlal_n_s16(vmull_n_s16(vget_low_s16(b), -22554), vget_low_s16(r), 18734);
    const int32x4_t high = vmlal_high_n_s16(vmull_high_n_s16(b, -22554), r, 18734);
    const int16x8_t green = vaddq_s16(vsubq_s16(l, r), vrshrn_high_n_s32(vrshrn_n_s32(low, 16), high, 16));
    return (uint8x8x3_t){{vqmovun_s16(red), vqmovun_s16(green), vqmovun_s16(blue)}};
}

/* Chroma is stored 128 too large. */
INLINE uint8x16x3_t to_rgb16(const uint8_t *y, const uint8_t *cb, const uint8_t *cr) {
    const uint8x16_t half = vdupq_n_u8(128), l = vld1q_u8(y);
    const int8x16_t b = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(cb), half));
    const int8x16_t r = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(cr), half));
    const uint8x8x3_t low = to_rgb8(vget_low_u8(l), vget_low_s8(b), vget_low_s8(r));
    const uint8x8x3_t high = to_rgb8(vget_high_u8(l), vget_high_s8(b), vget_high_s8(r));
    return (uint8x16x3_t){{vcombine_u8(low.val[0], high.val[0]), vcombine_u8(low.val[1], high.val[1]),
                           vcombine_u8(low.val[2], high.val[2])}};
}

static LEAT_FN_JPEG_RGB(rgb_neon) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) vst3q_u8(dst + 3 * i, to_rgb16(y + i, cb + i, cr + i));
    if (i == n) return;
    uint8_t tail[48];
    vst3q_u8(tail, to_rgb16(y + i, cb + i, cr + i));
    memcpy(dst + 3 * i, tail, 3 * (n - i));
}

static LEAT_FN_JPEG_RGB_PLANES(rgb_planes_neon) {
    for (size_t i = 0; i < n; i += 16) {
        const uint8x16x3_t p = to_rgb16(y + i, cb + i, cr + i);
        vst1q_u8(dst + i, p.val[0]);
        vst1q_u8(dst + apart + i, p.val[1]);
        vst1q_u8(dst + 2 * apart + i, p.val[2]);
    }
}

void leat__jpeg_dsp_init_rgb_neon(leat__jpeg_dsp *dsp) {
    dsp->rgb = rgb_neon;
    dsp->rgb_planes = rgb_planes_neon;
}
