/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that RandAugment, TrivialAugment, AutoAugment and AugMix choose from, on u8 pictures of one
 * or three channels, as torchvision applies them to pictures of Pillow: ImageEnhance, ImageOps,
 * Image.transform and Image.rotate, bit for bit. */
#ifndef LEAT_IMAGE_COLOUR_ENHANCE_H
#define LEAT_IMAGE_COLOUR_ENHANCE_H

#include "image/dsp.h"

typedef enum leat__enhance_op {
    LEAT_ENHANCE_IDENTITY,
    LEAT_ENHANCE_SHEAR_X,     /* magnitude: pixels to the left for each one down */
    LEAT_ENHANCE_SHEAR_Y,     /* pixels up for each one to the right             */
    LEAT_ENHANCE_TRANSLATE_X, /* pixels to the right, the fraction is dropped    */
    LEAT_ENHANCE_TRANSLATE_Y, /* pixels down                                     */
    LEAT_ENHANCE_ROTATE,      /* degrees counter-clockwise                       */
    LEAT_ENHANCE_BRIGHTNESS,  /* 0 changes nothing, -1 is black                  */
    LEAT_ENHANCE_COLOR,       /* -1 is gray                                      */
    LEAT_ENHANCE_CONTRAST,    /* -1 is one even gray                             */
    LEAT_ENHANCE_SHARPNESS,   /* -1 is smooth                                    */
    LEAT_ENHANCE_POSTERIZE,   /* bits that are kept, 0 to 8                      */
    LEAT_ENHANCE_SOLARIZE,    /* values from here on are inverted                */
    LEAT_ENHANCE_AUTOCONTRAST,
    LEAT_ENHANCE_EQUALIZE,
    LEAT_ENHANCE_INVERT,
    LEAT_ENHANCE_OPS
} leat__enhance_op;

/* "shear_x" and so on. */
const char *leat__enhance_name(leat__enhance_op op);

typedef struct leat__enhance { /* what all operations of a composite share */
    const leat__image_dsp *dsp;
    int height, width, channels;
    bool bilinear;   /* how the first five sample        */
    uint8_t fill[4]; /* what they show outside           */
} leat__enhance;

/* dst and src must not overlap. */
void leat__enhance_run(const leat__enhance *how, uint8_t *dst, const uint8_t *src, leat__enhance_op op,
                       double magnitude);

/* ImageEnhance.Sharpness. Of 2 and 4 channels the last is alpha and stays. */
void leat__enhance_sharpness(uint8_t *dst, const uint8_t *src, int height, int width, int channels,
                             float factor);

#endif
