/* SPDX-License-Identifier: Apache-2.0 */
/* Each expression has the operations of the library that it follows, in its order: a weight that differs in
 * its last bit would give other pixels now and then. */
#include "image/resample/filters.h"

#include "base/maths.h"

/* ------------------------------------------------------------------------------------------- Pillow */

static const double pi = 3.14159265358979323846;

static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x = x * pi;
    return leat__sin(x) / x;
}

static double hamming(double x) {
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x = x * pi;
    return leat__sin(x) / x * ((double)0.54f + (double)0.46f * leat__cos(x));
}

static double cubic(double x) {
    const double a = -0.5;
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

double leat__filter_pil(leat__resample method, double x) {
    const double distance = x < 0.0 ? -x : x;
    switch (method) {
    case LEAT_RESAMPLE_PIL_BOX: return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case LEAT_RESAMPLE_PIL_HAMMING: return hamming(distance);
    case LEAT_RESAMPLE_PIL_BICUBIC: return cubic(distance);
    case LEAT_RESAMPLE_PIL_LANCZOS: return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    default: return leat__filter_pil_bilinear(x);
    }
}

double leat__filter_pil_support(leat__resample method) {
    switch (method) {
    case LEAT_RESAMPLE_PIL_BOX: return 0.5;
    case LEAT_RESAMPLE_PIL_BICUBIC: return 2.0;
    case LEAT_RESAMPLE_PIL_LANCZOS: return 3.0;
    default: return 1.0;
    }
}

/* ----------------------------------------------------------------------------------------- tf.image */

/* tf.image takes the C library's float sine, which is off by one bit now and then; here it is rounded
 * correctly. All the rest is exact, so that this is the only difference. */
static float lanczos_f32(float x, float radius) {
    const float pi_f32 = 3.14159265359f;
    if (x > radius) return 0.0f;
    if (x <= 1e-3) return 1.0f;
    const float turn = pi_f32 * x;
    const float a = (float)leat__sin((double)turn), b = (float)leat__sin((double)(turn / radius));
    return radius * a * b / (pi_f32 * pi_f32 * x * x);
}

static float gaussian_f32(float x) {
    const float radius = 1.5f, sigma = radius / 3.0f;
    if (x >= radius) return 0.0f;
    return (float)leat__exp((double)(-x * x) / (2.0 * (double)sigma * (double)sigma));
}

static float keys_f32(float x) {
    if (x >= 2.0f) return 0.0f;
    if (x >= 1.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
    return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

static float mitchell_f32(float x) {
    if (x >= 2.0f) return 0.0f;
    if (x >= 1.0f) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
    return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

float leat__filter_tf(leat__resample method, float x) {
    switch (method) {
    case LEAT_RESAMPLE_TF_LANCZOS3:
    case LEAT_RESAMPLE_TF_LANCZOS3_AA: return lanczos_f32(x, 3.0f);
    case LEAT_RESAMPLE_TF_LANCZOS5:
    case LEAT_RESAMPLE_TF_LANCZOS5_AA: return lanczos_f32(x, 5.0f);
    case LEAT_RESAMPLE_TF_GAUSSIAN:
    case LEAT_RESAMPLE_TF_GAUSSIAN_AA: return gaussian_f32(x);
    case LEAT_RESAMPLE_TF_MITCHELL:
    case LEAT_RESAMPLE_TF_MITCHELL_AA: return mitchell_f32(x);
    case LEAT_RESAMPLE_TF_BICUBIC_AA: return keys_f32(x);
    default: return x < 1.0f ? 1.0f - x : 0.0f;
    }
}

float leat__filter_tf_radius(leat__resample method) {
    switch (method) {
    case LEAT_RESAMPLE_TF_LANCZOS3:
    case LEAT_RESAMPLE_TF_LANCZOS3_AA: return 3.0f;
    case LEAT_RESAMPLE_TF_LANCZOS5:
    case LEAT_RESAMPLE_TF_LANCZOS5_AA: return 5.0f;
    case LEAT_RESAMPLE_TF_GAUSSIAN:
    case LEAT_RESAMPLE_TF_GAUSSIAN_AA: return 1.5f;
    case LEAT_RESAMPLE_TF_BICUBIC_AA:
    case LEAT_RESAMPLE_TF_MITCHELL:
    case LEAT_RESAMPLE_TF_MITCHELL_AA: return 2.0f;
    default: return 1.0f;
    }
}

bool leat__filter_tf_widens(leat__resample method) {
    switch (method) {
    case LEAT_RESAMPLE_TF_LANCZOS3:
    case LEAT_RESAMPLE_TF_LANCZOS5:
    case LEAT_RESAMPLE_TF_GAUSSIAN:
    case LEAT_RESAMPLE_TF_MITCHELL: return false;
    default: return true;
    }
}

/* Evaluated in double at a float32 position, then rounded. */
float leat__filter_tf_near(int part) {
    const double a = -0.5, x = part / 1024.0;
    return (float)(((a + 2) * x - (a + 3)) * x * x + 1);
}

float leat__filter_tf_far(int part) {
    const double a = -0.5, x = part / 1024.0 + 1.0;
    return (float)(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}
