/* SPDX-License-Identifier: Apache-2.0 */
/* Values of one type to another, for fields that are not pictures. */
#ifndef LEAT_IMAGE_PASS_CONVERT_H
#define LEAT_IMAGE_PASS_CONVERT_H

#include "base/error.h"

/* n values of src, then *scale and +offset if affine. Pointers need no alignment; dst and src do not overlap.
 *
 * Without affine: float to integer goes toward zero and saturates (NaN is 0), integers saturate, anything to
 * bool is "not 0", and what a float type cannot hold is rounded to nearest even, once.
 * With affine: x*scale, rounded, then +offset, rounded, in f32, and so bit-equal to a stage of a pass; in f64
 * when either side is f64 or the source is an integer of 32 bits or more.
 *
 * Returns 0, or LEAT_ERR_TYPE for what is no number. */
int leat__convert(void *dst, int dst_dtype, const void *src, int src_dtype, size_t n, bool affine,
                  double scale, double offset);

#endif
