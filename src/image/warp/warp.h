/* SPDX-License-Identifier: Apache-2.0 */
/* A warp: for every pixel of the output its position in the input is computed, and the input is interpolated
 * there.
 *
 * Where: an inverse matrix (output to input), or a field of displacements. How positions outside of the
 * picture are brought back into it, how they are rounded, and how neighbours are weighed differs between
 * libraries, so that is the rule of a warp:
 *
 *   SCIPY     scipy.ndimage.affine_transform, which Keras' ImageDataGenerator calls for each channel:
 *             positions in double. Orders 0, 1 and 3 (a cubic B-spline, with its prefilter).
 *   TF        TensorFlow's ImageProjectiveTransformV3, which the layers of Keras 3 call: positions in float,
 *             bit for bit. Orders 0 and 1.
 *   KERAS_MAP keras.ops.image.map_coordinates of the TensorFlow backend, for elastic deformation. Orders 0
 *             and 1.
 *
 * Order 1 of the first two is two kernels (dsp.h) that work on blocks of rows: one finds the places, the
 * other weighs the four pixels around each of them. Everything else is plain C. */
#ifndef LEAT_IMAGE_WARP_WARP_H
#define LEAT_IMAGE_WARP_WARP_H

#include "base/rng.h"

typedef enum leat__warp_rule { LEAT_WARP_SCIPY, LEAT_WARP_TF, LEAT_WARP_KERAS_MAP } leat__warp_rule;

/* What lies beyond the edge. The rules differ in the details: SciPy's wrap has a period of n - 1 pixels,
 * TensorFlow's jumps, and the reflection of map_coordinates does not repeat the first pixel. Kept as they
 * are. */
typedef enum leat__warp_fill {
    LEAT_WARP_CONSTANT, /* k k | a b c | k k                                          */
    LEAT_WARP_NEAREST,  /* a a | a b c | c c                                          */
    LEAT_WARP_REFLECT,  /* b a | a b c | c b                                          */
    LEAT_WARP_WRAP,     /* b c | a b c | a b                                          */
} leat__warp_fill;

typedef struct leat__warp {
    leat__warp_rule rule;
    int order; /* 0 keeps the type of the values, 1 and 3 give f32                    */
    leat__warp_fill fill;
    float value[4]; /* CONSTANT: a channel; with more than four channels the first serves all */
    /* The output's (x, y) comes from ((m0 x + m1 y + m2) / w, (m3 x + m4 y + m5) / w), w = m6 x + m7 y + m8.
     * Pixels have whole coordinates. TF takes the first eight as floats and 1 for the last. */
    double m[9];
    /* KERAS_MAP: instead of the matrix, normal noise of deviation sigma, blurred with sigma, times alpha. */
    double alpha, sigma;
    bool apart;    /* each axis has noise of its own; Keras gives both the same */
    leat__rng rng; /* of the noise                                              */
} leat__warp;

static inline bool leat__warp_gives_f32(const leat__warp *warp) {
    return warp && warp->order > 0;
}

/* ------------------------------------------------------------------------------- what the kernels share */

typedef struct leat__grid { /* one warp of one picture, for the kernels that find places */
    double m[9];
    float f[8]; /* TF */
    leat__warp_fill fill;
    bool perspective;      /* there is something to divide by                        */
    int height, width;     /* of the source                                         */
    int columns;           /* of the output                                         */
    bool mirrored;         /* the output's columns come from the right              */
    int32_t stride, pixel; /* bytes from row to row and from pixel to pixel      */
    int bits;              /* SCIPY: positions are rounded to 2^-bits pixels     */
} leat__grid;

/* Where pixels come from: byte offsets of the upper left one of four, and the shares of the right and the
 * lower ones. Offset -1: not inside, and the fill is constant. */
typedef struct leat__places {
    int32_t *at;
    float *x, *y;
} leat__places;

#define LEAT_PLACES_PAD 8 /* kernels may write so many places more */

/* ----------------------------------------------------------------------------------------- matrices */

void leat__matrix_unit(double m[9]);
/* out = a b; out may be one of them. */
void leat__matrix_multiply(double out[9], const double a[9], const double b[9]);
/* m between shifts, so that it turns about (x, y). */
void leat__matrix_centre(double m[9], double x, double y);
/* out = the inverse of a, which may be out itself; false when there is none. */
bool leat__matrix_invert(double out[9], const double a[9]);
/* The matrix that takes the four points `from` to `to`, as (x, y) pairs; false when there is none. single: in the float
 * arithmetic of TensorFlow, with its bits. */
bool leat__matrix_from_points(double m[9], const double from[8], const double to[8], bool single);

#endif
