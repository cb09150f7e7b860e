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

/* What the header of a file says of its array. */
typedef struct leat__npy {
    int dtype; /* LEAT_DTYPE_*; two opaque bytes are bf16 */
    int ndim;
    int64_t shape[LEAT_NDIM_MAX];
    int fortran;       /* 1 = the first axis is the fastest */
    size_t header;     /* bytes of the file before the values */
    size_t count;      /* values */
    size_t data_bytes; /* their bytes, which the file should have behind the header */
} leat__npy;

/* Reads the header of a file, versions 1 to 3; bytes must hold at least the header. The caller checks that the values are
 * there. LEAT_ERR_FORMAT: no such header; LEAT_ERR_TYPE: a type that leat does not have; LEAT_ERR_LIMIT: more axes or values
 * than an array can have here. */
int leat__npy_read_header(leat__npy *out, const void *bytes, size_t n, leat_error *err);

#endif
