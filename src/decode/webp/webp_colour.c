/* SPDX-License-Identifier: Apache-2.0 */
/* Upsampling and colour in plain C, with libwebp's weights and its fixed point. */
#include "decode/webp/webp_dsp.h"

static uint8_t to_byte(int v) { /* of six bits of fraction */
    return (uint8_t)LEAT_CLAMP(v >> 6, 0, 255);
}

/* Of the four samples around a pixel the near ones count more: 9, 3, 3 and 1. */
static int mean(const uint8_t *near, const uint8_t *far, ptrdiff_t own, ptrdiff_t other) {
    return (9 * near[own] + 3 * near[other] + 3 * far[own] + far[other] + 8) >> 4;
}

static LEAT_FN_WEBP_RGB(rgb_c) {
    for (size_t i = 0; i < n; i++, dst += 3) {
        const ptrdiff_t own = (ptrdiff_t)(i / 2), other = i % 2 ? own + 1 : own - 1;
        const int u = mean(chroma->near_u, chroma->far_u, own, other);
        const int v = mean(chroma->near_v, chroma->far_v, own, other);
        const int light = y[i] * 19077 >> 8;
        dst[0] = to_byte(light + (v * 26149 >> 8) - 14234);
        dst[1] = to_byte(light - (u * 6419 >> 8) - (v * 13320 >> 8) + 8708);
        dst[2] = to_byte(light + (u * 33050 >> 8) - 17685);
    }
}

void leat__webp_dsp_init_colour_c(leat__webp_dsp *dsp) {
    dsp->rgb = rgb_c;
}
