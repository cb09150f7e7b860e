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

#endif
