/* SPDX-License-Identifier: Apache-2.0 */
/* Moving rows about in plain C: copy, mirror, look up; and alpha for Pillow. */
#include "image/pass/point.h"

static LEAT_FN_COPY(copy_c) {
    (void)stream;
    memcpy(dst, src, bytes);
}

static LEAT_FN_REVERSE(reverse_c) {
    uint8_t *out = dst;
    const uint8_t *in = src;
    for (size_t i = 0; i < n; i++) memcpy(out + i * pixel_bytes, in + (n - 1 - i) * pixel_bytes, pixel_bytes);
}

static LEAT_FN_RGB8_TURNED(rgb8_turned_c) {
    (void)stream;
    reverse_c(dst, src, n, 3);
}

static LEAT_FN_LUT(lut_c) {
    for (size_t i = 0; i < n; i++) dst[i] = lut[src[i]];
}

static LEAT_FN_LUT_EACH(lut_each_c) {
    if (channels == 3) { /* the common one, without a division in sight */
        for (size_t i = 0; i < 3 * n; i += 3) {
            dst[i] = lut[0][src[i]];
            dst[i + 1] = lut[1][src[i + 1]];
            dst[i + 2] = lut[2][src[i + 2]];
        }
        return;
    }
    for (size_t i = 0; i < n; i++, src += channels, dst += channels)
        for (int c = 0; c < channels; c++) dst[c] = lut[c][src[c]];
}

static LEAT_FN_ALPHA(alpha_multiply_c) {
    for (size_t i = 0; i < n; i++, src += channels, dst += channels)
        leat__alpha_multiply_pixel(dst, src, channels);
}

static LEAT_FN_ALPHA(alpha_divide_c) {
    for (size_t i = 0; i < n; i++, src += channels, dst += channels)
        leat__alpha_divide_pixel(dst, src, channels);
}

void leat__image_dsp_init_line_c(leat__image_dsp *dsp) {
    dsp->copy = copy_c;
    dsp->reverse = reverse_c;
    dsp->rgb8_turned = rgb8_turned_c;
    dsp->lut = lut_c;
    dsp->lut_each = lut_each_c;
    dsp->alpha_multiply = alpha_multiply_c;
    dsp->alpha_divide = alpha_divide_c;
}
