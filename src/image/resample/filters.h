/* SPDX-License-Identifier: Apache-2.0 */
/* The curves that resampling weights are read from, with the arithmetic of the library that each belongs to:
 * double for Pillow, float32 for tf.image. */
#ifndef LEAT_IMAGE_RESAMPLE_FILTERS_H
#define LEAT_IMAGE_RESAMPLE_FILTERS_H

#include "image/resample/taps.h"

/* The weight at x output pixels from the centre, and how far the curve reaches. PIL methods but nearest. */
double leat__filter_pil(leat__resample method, double x);
static inline double leat__filter_pil_bilinear(double x) {
    const double distance = x < 0.0 ? -x : x;
    return distance < 1.0 ? 1.0 - distance : 0.0;
}
double leat__filter_pil_support(leat__resample method);

/* The same for the methods of tf.image that go through its scale-and-translate kernel. x >= 0. */
float leat__filter_tf(leat__resample method, float x);
float leat__filter_tf_radius(leat__resample method);
/* Whether the curve is widened when the picture shrinks. */
bool leat__filter_tf_widens(leat__resample method);

/* tf.image's bicubic without antialiasing: the weight of a pixel 0 to 1 away (near) or 1 to 2 away (far), for
 * a distance of part/1024, or 1 + part/1024. */
float leat__filter_tf_near(int part);
float leat__filter_tf_far(int part);

#endif
