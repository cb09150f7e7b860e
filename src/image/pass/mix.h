/* SPDX-License-Identifier: Apache-2.0 */
/* Two samples to one, as mixup and cutmix have it, in place: the first becomes the mixture, the second stays as it is.
 * The share of the first is called lambda everywhere. */
#ifndef LEAT_IMAGE_PASS_MIX_H
#define LEAT_IMAGE_PASS_MIX_H

#include "base/rng.h"
#include "image/dsp.h"

typedef struct leat__mix_shape { /* of a picture; channels of a pixel are neighbours unless nchw */
    int dtype;                   /* U8, F16, BF16 or F32                                         */
    int height, width, channels;
    bool nchw;
} leat__mix_shape;

typedef struct leat__mix_box { /* left and top belong to it, right and bottom do not; may be empty */
    int left, top, right, bottom;
} leat__mix_box;

/* Whether pictures of this type can be mixed. */
bool leat__mix_knows(int dtype);

/* The logarithm of a draw from Gamma(shape), shape > 0. */
double leat__mix_draw_log_gamma(leat__rng *rng, double shape);
/* Draws lambda from Beta(alpha, alpha), alpha > 0, as a value that a float holds. */
double leat__mix_draw_lambda(leat__rng *rng, double alpha);
/* Draws the place of a box whose sides are sqrt(1 - lambda) of the picture's, the middle anywhere in it, cut at its
 * edges, as torchvision does. */
leat__mix_box leat__mix_draw_box(leat__rng *rng, double lambda, int height, int width);
/* The same around a given pixel. */
leat__mix_box leat__mix_box_around(int x, int y, double lambda, int height, int width);
/* The share of the picture that a box leaves. */
double leat__mix_box_lambda(const leat__mix_box *box, int height, int width);

/* n values: dst * lambda + other * (1 - lambda), products and sum rounded to f32 each; the result is rounded to the type,
 * u8 to the nearest. */
void leat__mix_blend(const leat__image_dsp *dsp, void *dst, const void *other, int dtype, size_t n,
                     double lambda);
/* The pixels of the box. */
void leat__mix_paste(void *dst, const void *other, const leat__mix_shape *shape, const leat__mix_box *box);

static inline float leat__mix_f32(float x, float y, float own, float others) {
    return x * own + y * others;
}
/* Rounding can lift the sum a little above 255, never to 255.5: no clamp is needed. */
static inline uint8_t leat__mix_u8(uint8_t x, uint8_t y, float own, float others) {
    return (uint8_t)(leat__mix_f32(x, y, own, others) + 0.5f);
}

#endif
