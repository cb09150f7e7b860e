/* SPDX-License-Identifier: Apache-2.0 */
/* From component samples to RGB rows as libjpeg does it: "fancy" upsampling of chroma, then YCbCr by 16-bit fixed point. */
#include "decode/jpeg/jpeg_dsp.h"

static LEAT_FN_JPEG_UP_H2V1(up_h2v1_c) {
    for (size_t i = 1; i < n; i++) { /* between two samples: the second half of one, the first of the next */
        dst[2 * i - 1] = (uint8_t)((3 * src[i - 1] + src[i] + 2) >> 2);
        dst[2 * i] = (uint8_t)((3 * src[i] + src[i - 1] + 1) >> 2);
    }
    dst[0] = src[0];
    dst[2 * n - 1] = src[n - 1];
}

static LEAT_FN_JPEG_UP_H2V2(up_h2v2_c) {
    for (size_t i = 0; i < n; i++) scratch[i] = (uint16_t)(3 * near[i] + far[i]);
    for (size_t i = 1; i < n; i++) {
        dst[2 * i - 1] = (uint8_t)((3 * scratch[i - 1] + scratch[i] + 7) >> 4);
        dst[2 * i] = (uint8_t)((3 * scratch[i] + scratch[i - 1] + 8) >> 4);
    }
    dst[0] = (uint8_t)((4 * scratch[0] + 8) >> 4);
    dst[2 * n - 1] = (uint8_t)((4 * scratch[n - 1] + 7) >> 4);
}

static LEAT_FN_JPEG_UP_H1V2(up_h1v2_c) {
    for (size_t i = 0; i < n; i++) dst[i] = (uint8_t)((3 * near[i] + far[i] + bias) >> 2);
}

static inline uint8_t clamp(int16_t v) {
    return (uint8_t)LEAT_CLAMP(v, 0, 255);
}

/* 1.402, 0.34414, 0.71414 and 1.772 times 65536, less what is a multiple of 65536, so that factors have 16 bits; shifting a
 * negative sum rounds down, as libjpeg's tables do. Channel by channel first, because compilers find vectors there. */
static inline void convert(uint8_t *red, uint8_t *green, uint8_t *blue, const uint8_t *y, const uint8_t *cb,
                           const uint8_t *cr, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const int16_t l = y[i], b = (int16_t)(cb[i] - 128), r = (int16_t)(cr[i] - 128);
        red[i] = clamp((int16_t)(l + r + (int16_t)((26345 * r + 32768) >> 16)));
        green[i] = clamp((int16_t)(l - r + (int16_t)((-22554 * b + 18734 * r + 32768) >> 16)));
        blue[i] = clamp((int16_t)(l + 2 * b + (int16_t)((-14942 * b + 32768) >> 16)));
    }
}

static LEAT_FN_JPEG_RGB_PLANES(rgb_planes_c) {
    convert(dst, dst + apart, dst + 2 * apart, y, cb, cr, n);
}

static LEAT_FN_JPEG_RGB(rgb_c) {
    enum { RUN = 64 };
    uint8_t red[RUN], green[RUN], blue[RUN];
    for (size_t at = 0; at < n; at += RUN) {
        const size_t run = LEAT_MIN(n - at, (size_t)RUN);
        convert(red, green, blue, y + at, cb + at, cr + at, run);
        for (size_t i = 0; i + 1 < run;
             i++, dst += 3) /* one store each: the next one overwrites the fourth byte */
            memcpy(dst, (const uint8_t[4]){red[i], green[i], blue[i], 0}, 4);
        memcpy(dst, (const uint8_t[3]){red[run - 1], green[run - 1], blue[run - 1]}, 3);
        dst += 3;
    }
}

void leat__jpeg_dsp_init_colour_c(leat__jpeg_dsp *dsp) {
    dsp->up_h2v1 = up_h2v1_c;
    dsp->up_h2v2 = up_h2v2_c;
    dsp->up_h1v2 = up_h1v2_c;
    dsp->rgb = rgb_c;
    dsp->rgb_planes = rgb_planes_c;
}
