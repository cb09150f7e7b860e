/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that another device (a GPU) does. Operations behind `on_device` are planned and drawn as always, but not
 * applied. The batch holds the picture as it is, and beside it the drawn numbers, one list a sample:
 *
 *     flips    left and right, top and bottom: 1 where they change places
 *     warps    the first eight numbers of the matrix from the output to the input, the ninth being 1
 *     colour   the number that the kernel takes (colour.h): one; color_jitter: four in the order in which they are done,
 *              then that order as digits: brightness 1, contrast 2, saturation 3, hue 4
 *     affine   four factors and four summands, one a channel, for each point: normalize, rescale, cast
 *
 * python/leat/device.py reads these lists. */
#ifndef LEAT_SAMPLE_DEVICE_H
#define LEAT_SAMPLE_DEVICE_H

#include "sample/image_op.h"

#define LEAT_DEVICE_PARTS 16
#define LEAT_DEVICE_FLIP 2
#define LEAT_DEVICE_WARP 8
#define LEAT_DEVICE_AFFINE 8

typedef enum leat__device_kind {
    LEAT_DEVICE_IS_FLIP,
    LEAT_DEVICE_IS_WARP,
    LEAT_DEVICE_IS_COLOUR,
    LEAT_DEVICE_IS_AFFINE
} leat__device_kind;

typedef struct leat__device_part {
    leat__device_kind kind;
    int dtype;   /* of the values that reach it */
    int numbers; /* that it takes               */
    union {
        leat__flip flip;
        leat__warp_plan warp;
        leat__point_plan point;
    } as;
} leat__device_part;

typedef struct leat__device_plan {
    int picture, numbers; /* the two values                                            */
    leat_field sent;      /* the picture as it goes out; planning goes on with its field */
    int n_parts, n_numbers;
    leat__device_part part[LEAT_DEVICE_PARTS];
} leat__device_plan;

#endif
