/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's Image.transform(AFFINE) and Image.rotate on u8 pictures without alpha, of one to four channels,
 * bit for bit: nearest in its 16.16 fixed point, bilinear in its doubles. The warp of tf.image and SciPy is
 * another matter, see warp.h. */
#ifndef LEAT_IMAGE_WARP_PIL_AFFINE_H
#define LEAT_IMAGE_WARP_PIL_AFFINE_H

#include "image/dsp.h"

/* The pixel (x, y) of dst shows what lies at (m0 x + m1 y + m2, m3 x + m4 y + m5) of src, both counted from
 * the corner of the picture with pixels centred at halves; outside lies fill, one value a channel. Both
 * pictures have the same size and must not overlap. */
void leat__pil_affine(const leat__image_dsp *dsp, uint8_t *dst, const uint8_t *src, int height, int width,
                      int channels, const double m[6], bool bilinear, const uint8_t *fill);
/* About the middle, counter-clockwise, for -360 < degrees < 360. Whole quarters of a turn are exact, as
 * there. */
void leat__pil_rotate(const leat__image_dsp *dsp, uint8_t *dst, const uint8_t *src, int height, int width,
                      int channels, double degrees, bool bilinear, const uint8_t *fill);

/* Where the pixel x of a row lies in src, from its corner. */
static inline double leat__pil_along(const leat__pil_row *row, int x) {
    return row->m[0] * (x + 0.5) + row->across + row->m[2];
}

static inline double leat__pil_down(const leat__pil_row *row, int x) {
    return row->m[3] * (x + 0.5) + row->down + row->m[5];
}

/* The pixel x of a row, for which the kernel pil_blend may be called. */
static inline void leat__pil_blend_pixel(uint8_t *dst, const uint8_t *src, const leat__pil_row *row, int x) {
    const double u = leat__pil_along(row, x) - 0.5, v = leat__pil_down(row, x) - 0.5;
    const double tx = u - (int)u, ty = v - (int)v;
    const uint8_t *top = src + (size_t)v * row->stride + 3 * (size_t)u, *bottom = top + row->stride;
    for (int k = 0; k < 3; k++) {
        const double a = top[k] + (top[3 + k] - top[k]) * tx;
        const double b = bottom[k] + (bottom[3 + k] - bottom[k]) * tx;
        dst[k] = (uint8_t)(int32_t)(a + (b - a) * ty);
    }
}

#endif
