/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that mix the channels of one pixel, written once: for the C kernels, which are the
 * specification, and the ends of vector loops. Each function takes the first three values of a pixel as
 * red, green and blue, and does the operations of the library that it is named for in the same order, so
 * the results are the same bits (tests/golden/make/colour.py compares). Of pixels that are not finite the
 * library's result is not promised, only that all instruction sets give the same one; which NaN it is, is
 * left open.
 *
 * The numbers that a kernel is given in leat__pixel_args:
 *
 *   SATURATION        p[0] factor
 *   HUE               p[0] part of a turn, -1 to 1
 *   SATURATION_HUE    p[0] factor, p[1] part of a turn
 *   KERAS_SATURATION  p[0] factor, p[1] and p[2] bounds of the saturation
 *   KERAS_HUE         p[0] part of a turn, p[1] least value, p[2] largest value less the least
 *   GRAY              none
 *   DEGENERATE        p[0] share of gray, p[1] and p[2] bounds of the result
 *   GAMMA             p[0] exponent, p[1] factor
 *   NOISE             p[0] mean, p[1] deviation, in units of the values; f32: p[2] and p[3] bounds; key
 *   PIL_COLOR         p[0] factor
 *   PIL_GRAY          none
 *   PIL_HUE           p[0] steps of 1/256 of a turn, 0 to 255
 *
 * On u8 the kernels named for tf.image take a value as x * (1/255) and give x * 255.5 toward zero. */
#ifndef LEAT_IMAGE_COLOUR_COLOUR_H
#define LEAT_IMAGE_COLOUR_COLOUR_H

#include "image/colour/stats.h"
#include "image/pass/point.h"

/* As the vector instructions choose: the second one if either is NaN. */
static inline float leat__most(float a, float b) {
    return a > b ? a : b;
}

static inline float leat__least(float a, float b) {
    return a < b ? a : b;
}

static inline float leat__unit(float x) {
    return leat__least(leat__most(x, 0.0f), 1.0f);
}

static inline float leat__size(float x) {
    return x < 0.0f ? -x : x;
}

/* Which sixth of the circle, from 0; 7 for what is no hue. */
static inline int leat__sector(float h) {
    return h >= 0.0f && h < 7.0f ? (int)h : 7;
}

/* Colours by sector: the largest, the middle and the smallest of the three. */
static inline void leat__sector_rgb(float *rgb, int sector, float most, float middle, float least) {
    rgb[0] = sector == 0 || sector == 5 ? most : sector == 1 || sector == 4 ? middle : least;
    rgb[1] = sector == 1 || sector == 2 ? most : sector == 0 || sector == 3 ? middle : least;
    rgb[2] = sector == 3 || sector == 4 ? most : sector == 2 || sector == 5 ? middle : least;
}

/* The factor is not negative. Where a pixel is gray there is no hue, and no chroma to place by it. */
static inline void leat__saturation_pixel(float *rgb, float factor) {
    const float r = rgb[0], g = rgb[1], b = rgb[2];
    const float value = leat__most(leat__most(b, g), r);
    const float range = value - leat__least(leat__least(b, g), r);
    const float norm = 1.0f / (6.0f * range);
    const float part = norm * (r == value ? g - b : g == value ? b - r : r - g);
    /* Plus no, one or two thirds. There a third is a double; here it is a float and what that lacks, which
     * gives the same float for all but three values of part, of about 1e-8. */
    const float third = r == value ? 0.0f : g == value ? 0x1.555556p-2f : 0x1.555556p-1f;
    const float sum = part + third;
    float h = sum + ((part - (sum - third)) - third * 0x1p-25f);
    h = (h + (h < 0.0f ? 1.0f : 0.0f)) * 6.0f;
    const float s = leat__unit(range / value * factor), chroma = s * value, base = value - chroma;
    /* Each channel has a share of the chroma; none if the hue came out as a whole turn, as there. A share
     * of 0 or 1 changes no bit of it, so the six sectors need no case of their own. */
    const float given = h < 6.0f ? chroma : 0.0f;
    const float up = 1.0f - (1.0f - h), down = 4.0f - h;
    rgb[0] = given * leat__unit(leat__size(h - 3.0f) - 1.0f) + base;
    rgb[1] = given * leat__unit(leat__least(up, down)) + base;
    rgb[2] = given * leat__unit(2.0f - leat__size(down)) + base;
}

static inline void leat__hue_pixel(float *rgb, float turn) {
    const float r = rgb[0], g = rgb[1], b = rgb[2];
    const float low = leat__least(r, g), high = leat__most(r, g);
    const float least = leat__least(low, b), most = leat__most(high, b);
    const float middle = leat__most(low, leat__least(high, b)), range = most - least;
    const int from = r < g ? (b < low ? 1 : b > high ? 3 : 2) : b < low ? 0 : b > high ? 4 : 5;
    const float ratio = (middle - least) / range;
    float h = (float)from + (from & 1 ? 1.0f - ratio : ratio);
    h = h + turn * 6.0f;
    if (turn < 0.0f ? h < 0.0f : h >= 6.0f) h = h + (turn < 0.0f ? 6.0f : -6.0f);
    const int to = leat__sector(h); /* 6 is 0 again, with nothing left over; gray has none */
    const float rest = h - (float)to;
    leat__sector_rgb(rgb, to == 6 ? 0 : to, most, least + (to & 1 ? 1.0f - rest : rest) * range, least);
}

typedef struct leat__hsv {
    float h, s, v;
} leat__hsv;

/* tf.image.rgb_to_hsv and hsv_to_rgb, which Keras goes through: not the arithmetic of the two above. */
static inline leat__hsv leat__hsv_from_rgb(const float *rgb) {
    const float r = rgb[0], g = rgb[1], b = rgb[2];
    const float value = leat__most(leat__most(b, g), r);
    const float range = value - leat__least(leat__least(b, g), r);
    const float norm = 1.0f / range * (1.0f / 6.0f);
    const float part = norm * (r == value ? g - b : g == value ? b - r : r - g);
    float h = part + (r == value ? 0.0f : g == value ? 2.0f / 6.0f : 4.0f / 6.0f);
    h = range > 0.0f ? h : 0.0f;
    h = h + (h < 0.0f ? 1.0f : 0.0f);
    return (leat__hsv){.h = h, .s = value > 0.0f ? range / value : 0.0f, .v = value};
}

static inline void leat__hsv_to_rgb(float *rgb, leat__hsv in) {
    const float h = in.h * 6.0f, white = 1.0f - in.s;
    rgb[0] = (white + in.s * leat__unit(leat__size(h - 3.0f) - 1.0f)) * in.v;
    rgb[1] = (white + in.s * leat__unit(2.0f - leat__size(h - 2.0f))) * in.v;
    rgb[2] = (white + in.s * leat__unit(2.0f - leat__size(h - 4.0f))) * in.v;
}

static inline void leat__keras_saturation_pixel(float *rgb, const float *p) {
    leat__hsv hsv = leat__hsv_from_rgb(rgb);
    hsv.s = leat__most(leat__least(hsv.s * p[0], p[2]), p[1]);
    leat__hsv_to_rgb(rgb, hsv);
}

static inline void leat__keras_hue_pixel(float *rgb, const float *p) {
    for (int c = 0; c < 3; c++) rgb[c] = (rgb[c] - p[1]) / p[2];
    leat__hsv hsv = leat__hsv_from_rgb(rgb);
    hsv.h = hsv.h + p[0];
    hsv.h = hsv.h - (hsv.h > 1.0f ? 1.0f : 0.0f);
    hsv.h = hsv.h + (hsv.h < 0.0f ? 1.0f : 0.0f);
    leat__hsv_to_rgb(rgb, hsv);
    for (int c = 0; c < 3; c++) rgb[c] = leat__unit(rgb[c]) * p[2] + p[1];
}

static inline float leat__gray(const float *rgb) {
    return rgb[0] * 0.2989f + rgb[1] * 0.5870f + rgb[2] * 0.1140f;
}

static inline void leat__gray_pixel(float *rgb) {
    rgb[0] = rgb[1] = rgb[2] = leat__gray(rgb);
}

static inline void leat__degenerate_pixel(float *rgb, const float *p) {
    const float gray = leat__gray(rgb);
    for (int c = 0; c < 3; c++) rgb[c] = leat__most(leat__least(rgb[c] + p[0] * (gray - rgb[c]), p[2]), p[1]);
}

/* tf.image's way from bytes to floats and back. */
static inline void leat__rgb_load(float *rgb, const uint8_t *bytes) {
    for (int c = 0; c < 3; c++) rgb[c] = (float)bytes[c] * (1.0f / 255.0f);
}

static inline void leat__rgb_store(uint8_t *bytes, const float *rgb) {
    for (int c = 0; c < 3; c++) bytes[c] = leat__u8_from_f32(rgb[c] * 255.5f);
}

/* ---------------------------------------------------------------------------------------------- Pillow */

static inline void leat__pil_gray_pixel(uint8_t *rgb) {
    rgb[0] = rgb[1] = rgb[2] = (uint8_t)leat__pil_gray(rgb);
}

static inline void leat__pil_color_pixel(uint8_t *rgb, float factor) {
    const int gray = (int)leat__pil_gray(rgb);
    for (int c = 0; c < 3; c++) {
        const float x = (float)gray + factor * (float)(rgb[c] - gray);
        rgb[c] = leat__u8_from_f32(x);
    }
}

/* Through Pillow's HSV of 8 bits and back. Pillow goes by way of doubles; these floats give the same whole
 * numbers, which was tried for every hue, saturation and value that there is. */
static inline void leat__pil_hue_pixel(uint8_t *rgb, int steps) {
    const int r = rgb[0], g = rgb[1], b = rgb[2];
    const int most = LEAT_MAX(LEAT_MAX(r, g), b), least = LEAT_MIN(LEAT_MIN(r, g), b);
    if (most == least) return;
    const float range = (float)(most - least), x = (float)(2 * most + least - r - g - b) / range;
    float h = r == most    ? (b == least ? 1.0f - x : -1.0f + x)
              : g == most  ? (b == least ? 1.0f + x : 3.0f - x)
              : r == least ? 3.0f + x
                           : 5.0f - x;
    h = h / 6.0f;
    h = h + (h < 0.0f ? 1.0f : 0.0f);
    const int hue = ((int)(h * 255.0f) + steps) & 255;
    const int saturation = (int)(range / (float)most * 255.0f);
    const int sector = (int)((float)(6 * hue) * (1.0f / 255.0f));
    const float f = (float)(6 * hue - 255 * sector) * (1.0f / 255.0f);
    const float v = (float)most, up = v + 0.5f, w = v * ((float)saturation * (1.0f / 255.0f));
    float made[3];
    leat__sector_rgb(made, sector == 6 ? 0 : sector, v, up - (sector & 1 ? w * f : w - w * f), up - w);
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)made[c];
}

#endif
