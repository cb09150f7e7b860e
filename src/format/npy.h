/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's file format: a header, then the values as they lie in memory. */
#ifndef LEAT_FORMAT_NPY_H
#define LEAT_FORMAT_NPY_H

#include "leat/leat.h"

#define LEAT_NPY_HEADER_MAX 256 /* bytes; enough for any dtype and shape */

/* Writes the header of an array: version 1.0, C order, little-endian, byte for byte as numpy.save does. bf16,
 * which NumPy does not know, is '<V2', as ml_dtypes saves it. Returns its size, a multiple of 64; 0 when cap
 * is too small or there is no such array: LEAT_DTYPE_BYTES, more than LEAT_NDIM_MAX dimensions, a negative
 * one. */
size_t leat__npy_header(char *out, size_t cap, int dtype, int ndim, const int64_t *shape);

#endif
