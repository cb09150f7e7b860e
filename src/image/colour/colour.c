/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that mix channels, gamma and noise, in plain C: the specification. */
#include "image/colour/colour.h"

#include "image/colour/colour_value.h"

#define EACH_PIXEL(pixel, ...)                                                 \
    do {                                                                       \
        for (size_t i = 0; i < n; i++, values += channels) pixel(__VA_ARGS__); \
    } while (0)

static LEAT_FN_PIXELS(saturation_c) {
    EACH_PIXEL(leat__saturation_pixel, values, args->p[0]);
}

static LEAT_FN_PIXELS(hue_c) {
    EACH_PIXEL(leat__hue_pixel, values, args->p[0]);
}

static LEAT_FN_PIXELS(saturation_hue_c) {
    for (size_t i = 0; i < n; i++, values += channels) {
        leat__saturation_pixel(values, args->p[0]);
        leat__hue_pixel(values, args->p[1]);
    }
}

static LEAT_FN_PIXELS(keras_saturation_c) {
    EACH_PIXEL(leat__keras_saturation_pixel, values, args->p);
}

static LEAT_FN_PIXELS(keras_hue_c) {
    EACH_PIXEL(leat__keras_hue_pixel, values, args->p);
}

static LEAT_FN_PIXELS(gray_c) {
    (void)args;
    EACH_PIXEL(leat__gray_pixel, values);
}

static LEAT_FN_PIXELS(degenerate_c) {
    EACH_PIXEL(leat__degenerate_pixel, values, args->p);
}

static LEAT_FN_PIXELS(gamma_c) {
    leat__gamma_values(values, n * (size_t)channels, args->p[0], args->p[1]);
}

static LEAT_FN_PIXELS(noise_c) {
    leat__noise_values(values, n * (size_t)channels, args->first * (uint64_t)channels, args);
}

/* Kernels of bytes work in dst. */
static uint8_t *taken(uint8_t *dst, const uint8_t *src, size_t n, int channels) {
    if (dst != src) memcpy(dst, src, n * (size_t)channels);
    return dst;
}

/* tf.image on bytes. */
#define AS_FLOATS(pixel, ...)                                \
    do {                                                     \
        uint8_t *values = taken(dst, src, n, channels);      \
        for (size_t i = 0; i < n; i++, values += channels) { \
            float rgb[3];                                    \
            leat__rgb_load(rgb, values);                     \
            pixel(__VA_ARGS__);                              \
            leat__rgb_store(values, rgb);                    \
        }                                                    \
    } while (0)

static LEAT_FN_PIXELS_U8(noise_u8_c) {
    leat__noise_bytes(taken(dst, src, n, channels), n * (size_t)channels, args->first * (uint64_t)channels,
                      args);
}

static LEAT_FN_PIXELS_U8(saturation_u8_c) {
    AS_FLOATS(leat__saturation_pixel, rgb, args->p[0]);
}

static LEAT_FN_PIXELS_U8(hue_u8_c) {
    AS_FLOATS(leat__hue_pixel, rgb, args->p[0]);
}

static LEAT_FN_PIXELS_U8(gray_u8_c) {
    (void)args;
    AS_FLOATS(leat__gray_pixel, rgb);
}

static LEAT_FN_PIXELS_U8(pil_color_c) {
    uint8_t *values = taken(dst, src, n, channels);
    EACH_PIXEL(leat__pil_color_pixel, values, args->p[0]);
}

static LEAT_FN_PIXELS_U8(pil_gray_c) {
    uint8_t *values = taken(dst, src, n, channels);
    (void)args;
    EACH_PIXEL(leat__pil_gray_pixel, values);
}

static LEAT_FN_PIXELS_U8(pil_hue_c) {
    uint8_t *values = taken(dst, src, n, channels);
    EACH_PIXEL(leat__pil_hue_pixel, values, (int)args->p[0]);
}

void leat__image_dsp_init_colour_c(leat__image_dsp *dsp) {
    dsp->pixels[LEAT_PIXELS_SATURATION] = saturation_c;
    dsp->pixels[LEAT_PIXELS_HUE] = hue_c;
    dsp->pixels[LEAT_PIXELS_SATURATION_HUE] = saturation_hue_c;
    dsp->pixels[LEAT_PIXELS_KERAS_SATURATION] = keras_saturation_c;
    dsp->pixels[LEAT_PIXELS_KERAS_HUE] = keras_hue_c;
    dsp->pixels[LEAT_PIXELS_GRAY] = gray_c;
    dsp->pixels[LEAT_PIXELS_DEGENERATE] = degenerate_c;
    dsp->pixels[LEAT_PIXELS_GAMMA] = gamma_c;
    dsp->pixels[LEAT_PIXELS_NOISE] = noise_c;
    dsp->pixels_u8[LEAT_PIXELS_SATURATION] = saturation_u8_c;
    dsp->pixels_u8[LEAT_PIXELS_HUE] = hue_u8_c;
    dsp->pixels_u8[LEAT_PIXELS_GRAY] = gray_u8_c;
    dsp->pixels_u8[LEAT_PIXELS_NOISE] = noise_u8_c;
    dsp->pixels_u8[LEAT_PIXELS_PIL_COLOR] = pil_color_c;
    dsp->pixels_u8[LEAT_PIXELS_PIL_GRAY] = pil_gray_c;
    dsp->pixels_u8[LEAT_PIXELS_PIL_HUE] = pil_hue_c;
}
