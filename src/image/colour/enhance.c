/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, measuring and colours are those of the single operations; here are Pillow's smoothing and blending,
 * and which magnitude means what. */
#include "image/colour/enhance.h"

#include "image/colour/table.h"
#include "image/warp/pil_affine.h"

static const char *const names[LEAT_ENHANCE_OPS] = {
    [LEAT_ENHANCE_IDENTITY] = "identity",
    [LEAT_ENHANCE_SHEAR_X] = "shear_x",
    [LEAT_ENHANCE_SHEAR_Y] = "shear_y",
    [LEAT_ENHANCE_TRANSLATE_X] = "translate_x",
    [LEAT_ENHANCE_TRANSLATE_Y] = "translate_y",
    [LEAT_ENHANCE_ROTATE] = "rotate",
    [LEAT_ENHANCE_BRIGHTNESS] = "brightness",
    [LEAT_ENHANCE_COLOR] = "color",
    [LEAT_ENHANCE_CONTRAST] = "contrast",
    [LEAT_ENHANCE_SHARPNESS] = "sharpness",
    [LEAT_ENHANCE_POSTERIZE] = "posterize",
    [LEAT_ENHANCE_SOLARIZE] = "solarize",
    [LEAT_ENHANCE_AUTOCONTRAST] = "autocontrast",
    [LEAT_ENHANCE_EQUALIZE] = "equalize",
    [LEAT_ENHANCE_INVERT] = "invert",
};

const char *leat__enhance_name(leat__enhance_op op) {
    return names[op];
}

/* ---------------------------------------------------------------------------------------------- blend */

/* Between 0 and 1 the result cannot leave the range, so clipping is right for all factors. */
static inline uint8_t blend(int rest, int value, float factor) {
    const float x = (float)rest + factor * (float)(value - rest);
    return (uint8_t)(int)(x < 0.0f ? 0.0f : x > 255.0f ? 255.0f : x);
}

/* Image.blend of n values; dst may be one of the others. */
static void blend_values(uint8_t *dst, const uint8_t *rest, const uint8_t *src, size_t n, float factor) {
    for (size_t i = 0; i < n; i++) dst[i] = blend(rest[i], src[i], factor);
}

/* --------------------------------------------------------------------------------------------- smooth */

/* Five times the pixel and its eight neighbours, by 13, to the nearest. Pillow computes it in floats, but no
 * sum of thirteenths is near enough to a half for that to matter. A product with 5042 divides sums of up to
 * 6553. */
static void smooth_row(uint8_t *restrict dst, const uint8_t *restrict above, const uint8_t *restrict row,
                       const uint8_t *restrict below, size_t n, size_t step) {
    for (size_t i = step; i + step < n; i++) {
        const unsigned sum =
            (unsigned)(above[i - step] + above[i] + above[i + step] + row[i - step] + 5 * row[i] +
                       row[i + step] + below[i - step] + below[i] + below[i + step] + 6);
        dst[i] = (uint8_t)(((uint16_t)sum * 5042u) >> 16);
    }
}

/* ImageFilter.SMOOTH: the border stays as it is. */
static void smooth(uint8_t *dst, const uint8_t *src, int height, int width, int channels) {
    const size_t step = (size_t)channels, n = (size_t)width * step;
    for (int y = 0; y < height; y++, dst += n, src += n) {
        if (y == 0 || y == height - 1 || width < 3) {
            memcpy(dst, src, n);
            continue;
        }
        memcpy(dst, src, step);
        smooth_row(dst, src - n, src, src + n, n, step);
        memcpy(dst + n - step, src + n - step, step);
    }
}

void leat__enhance_sharpness(uint8_t *dst, const uint8_t *src, int height, int width, int channels,
                             float factor) {
    const size_t n = (size_t)height * (size_t)width, step = (size_t)channels;
    smooth(dst, src, height, width, channels);
    blend_values(dst, dst, src, n * step, factor);
    if (channels == 2 || channels == 4)
        for (size_t i = step - 1; i < n * step; i += step) dst[i] = src[i];
}

/* ----------------------------------------------------------------------------------------- operations */

static size_t count_pixels(const leat__enhance *how) {
    return (size_t)how->height * (size_t)how->width;
}

static void look_up(const leat__enhance *how, uint8_t *dst, const uint8_t *src, const uint8_t table[256]) {
    how->dsp->lut(dst, src, table, count_pixels(how) * (size_t)how->channels);
}

static void measure(const leat__enhance *how, leat__stats *stats, unsigned flags, const uint8_t *src) {
    const size_t stride = (size_t)how->width * (size_t)how->channels;
    leat__stats_begin(stats, flags);
    for (int y = 0; y < how->height; y++)
        how->dsp->stats_u8(stats, src + (size_t)y * stride, (size_t)how->width, how->channels);
    leat__stats_end(stats);
}

static void run_contrast(const leat__enhance *how, uint8_t *dst, const uint8_t *src, float factor) {
    leat__stats stats;
    uint8_t table[256];
    measure(how, &stats, LEAT_STATS_GRAY, src);
    leat__table_pil_contrast(table, leat__table_pil_mean(stats.gray, count_pixels(how)), factor);
    look_up(how, dst, src, table);
}

static void run_color(const leat__enhance *how, uint8_t *dst, const uint8_t *src, float factor) {
    const leat__pixel_args args = {.p = {factor}};
    const size_t n = count_pixels(how);
    if (how->channels == 3) how->dsp->pixels_u8[LEAT_PIXELS_PIL_COLOR](dst, src, n, how->channels, &args);
    else memcpy(dst, src, n * (size_t)how->channels); /* gray is its own gray */
}

/* Each channel by itself. */
static void run_histogram(const leat__enhance *how, uint8_t *dst, const uint8_t *src, bool equalize) {
    leat__stats stats;
    uint8_t table[4][256];
    measure(how, &stats, equalize ? LEAT_STATS_HISTOGRAM : LEAT_STATS_RANGE, src);
    for (int c = 0; c < LEAT_MIN(how->channels, 4); c++) {
        if (equalize) leat__table_equalize(table[c], stats.histogram[c]);
        else leat__table_autocontrast(table[c], (int)stats.min[c], (int)stats.max[c]);
    }
    how->dsp->lut_each(dst, src, (const uint8_t(*)[256])table, count_pixels(how), how->channels);
}

/* What F.affine of torchvision makes of a shear about the corner, or of a move. */
static void run_affine(const leat__enhance *how, uint8_t *dst, const uint8_t *src, double along, double up,
                       double right, double down) {
    const double m[6] = {1, along, -right, up, 1, -down};
    leat__pil_affine(how->dsp, dst, src, how->height, how->width, how->channels, m, how->bilinear, how->fill);
}

void leat__enhance_run(const leat__enhance *how, uint8_t *dst, const uint8_t *src, leat__enhance_op op,
                       double magnitude) {
    const float factor = (float)(1.0 + magnitude);
    const int whole = (int)magnitude;
    uint8_t table[256];
    assert(how->channels == 1 || how->channels == 3);
    switch (op) {
    case LEAT_ENHANCE_SHEAR_X: run_affine(how, dst, src, magnitude, 0, 0, 0); break;
    case LEAT_ENHANCE_SHEAR_Y: run_affine(how, dst, src, 0, magnitude, 0, 0); break;
    case LEAT_ENHANCE_TRANSLATE_X: run_affine(how, dst, src, 0, 0, whole, 0); break;
    case LEAT_ENHANCE_TRANSLATE_Y: run_affine(how, dst, src, 0, 0, 0, whole); break;
    case LEAT_ENHANCE_ROTATE:
        leat__pil_rotate(how->dsp, dst, src, how->height, how->width, how->channels, magnitude, how->bilinear,
                         how->fill);
        break;
    case LEAT_ENHANCE_BRIGHTNESS:
        leat__table_pil_brightness(table, factor);
        look_up(how, dst, src, table);
        break;
    case LEAT_ENHANCE_COLOR: run_color(how, dst, src, factor); break;
    case LEAT_ENHANCE_CONTRAST: run_contrast(how, dst, src, factor); break;
    case LEAT_ENHANCE_SHARPNESS:
        leat__enhance_sharpness(dst, src, how->height, how->width, how->channels, factor);
        break;
    case LEAT_ENHANCE_POSTERIZE:
        leat__table_posterize(table, whole);
        look_up(how, dst, src, table);
        break;
    case LEAT_ENHANCE_SOLARIZE:
        leat__table_solarize(table, magnitude, 0);
        look_up(how, dst, src, table);
        break;
    case LEAT_ENHANCE_AUTOCONTRAST: run_histogram(how, dst, src, false); break;
    case LEAT_ENHANCE_EQUALIZE: run_histogram(how, dst, src, true); break;
    case LEAT_ENHANCE_INVERT:
        leat__table_invert(table);
        look_up(how, dst, src, table);
        break;
    default: memcpy(dst, src, count_pixels(how) * (size_t)how->channels);
    }
}
