/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that see the neighbours of a pixel, over whole pictures in memory, u8 or f32, any number of
 * channels.
 *
 * Blur is separable: rows first, then columns, both in f32 with the taps summed from left to right and from
 * top to bottom; u8 is rounded to the nearest, halves to even. Sharpen is what Keras does; Pillow's is in
 * enhance.h. */
#ifndef LEAT_IMAGE_COLOUR_FILTER2D_H
#define LEAT_IMAGE_COLOUR_FILTER2D_H

#include "image/dsp.h"

#define LEAT_BLUR_TAPS 255

typedef enum leat__edge {
    LEAT_EDGE_REFLECT, /* d c b | a b c d | c b a: torch.nn.functional.pad "reflect" */
    LEAT_EDGE_ZERO,    /* as convolutions with padding "same" have it                */
} leat__edge;

typedef struct leat__blur {
    int taps_x, taps_y; /* odd                       */
    float weight_x[LEAT_BLUR_TAPS], weight_y[LEAT_BLUR_TAPS];
    leat__edge edge;
} leat__blur;

/* Scratch of the caller: buffers that grow. */
#define LEAT_FILTER_BUFS 2

/* Weights of a Gaussian, taps odd, sigma > 0; their sum is 1. */
void leat__blur_weights(float *weight, int taps, double sigma);
/* From a picture of the type from to one of the type to, u8 or f32; they must not overlap. Reflection needs
 * sides of more than half the taps. */
int leat__blur_run(const leat__blur *blur, const leat__image_dsp *dsp, void *dst, int to, const void *src,
                   int from, int height, int width, int channels, leat__buf *scratch, leat_error *err);

/* keras.layers.RandomSharpness with this factor, 0 to 1 (a half changes nothing), clipped to [low, high]; to
 * u8 it goes toward zero. The rest as above. */
int leat__sharpen_run(double factor, float low, float high, const leat__image_dsp *dsp, void *dst, int to,
                      const void *src, int from, int height, int width, int channels, leat__buf *scratch,
                      leat_error *err);

#endif
