/* SPDX-License-Identifier: Apache-2.0 */
/* ZCA whitening: a picture as one long row, times a square matrix that was fitted elsewhere. It costs the
 * square of the number of values, so it is for small pictures. */
#ifndef LEAT_IMAGE_COLOUR_ZCA_H
#define LEAT_IMAGE_COLOUR_ZCA_H

#include "base/macros.h"

#define LEAT_ZCA_MAX 4096 /* values of a picture; the matrix then has 64 MiB */

/* out[j] = sum over i of values[i] * matrix[i * n + j]. out must not overlap values. */
void leat__zca_apply(float *out, const float *values, const float *matrix, size_t n);

#endif
