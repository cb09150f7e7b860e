/* SPDX-License-Identifier: Apache-2.0 */
/* Points that need to know the whole picture, for the draw functions of operations that contain them. Each
 * is planned with measured = true and adds at most LEAT_TONE_POINTS points. */
#ifndef LEAT_OPS_TONE_H
#define LEAT_OPS_TONE_H

#include "plan/plan_image.h"

#define LEAT_TONE_POINTS 3

typedef enum leat__contrast {
    LEAT_CONTRAST_TF,    /* around the mean of each channel; keeps the type                      */
    LEAT_CONTRAST_KERAS, /* the same as f32, then clipped                                        */
    LEAT_CONTRAST_PIL,   /* u8: around the mean of the gray picture; alpha stays as it is        */
} leat__contrast;

/* d->dtype is the type of the values here. range: what KERAS clips to. */
int leat__tone_add_contrast(leat__drawing *d, leat__pass *pass, leat__contrast flavour, double factor,
                            const double range[2], leat_error *err);
/* f32: x + shift, clipped to what the picture had from its smallest to its largest value. */
void leat__tone_add_shift(leat__pass *pass, double shift);
/* f32: minus the mean of all values; with scale also divided by their standard deviation + 1e-6. */
void leat__tone_add_samplewise(leat__pass *pass, bool scale);

#endif
