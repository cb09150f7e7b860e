/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a sample as one run of bytes, the same in memory and on disk:
 *
 *     for each field whose shape differs from sample to sample: its axes, 8 bytes each
 *     for each field: its values as they are in memory; 64 bytes or more begin at a multiple of 64, fewer at one of 8
 *
 * Gaps are zero. Types and fixed shapes, which all samples have in common, are not stored: the reader must know them. Numbers
 * have the byte order of the machine. */
#ifndef LEAT_FORMAT_BUNDLE_H
#define LEAT_FORMAT_BUNDLE_H

#include "base/error.h"

typedef struct leat__bundle_field { /* what all samples have in common */
    int dtype, ndim;
    int64_t shape[LEAT_NDIM_MAX]; /* -1 = differs; without any -1 the shape is not written */
} leat__bundle_field;

typedef struct leat__bundle_part { /* a field of one sample */
    int64_t shape[LEAT_NDIM_MAX];
    size_t offset, bytes;
} leat__bundle_part;

/* Whether all samples have this shape. */
bool leat__bundle_fixed(const leat__bundle_field *field);
/* From the shapes of the parts: their offsets and bytes, and the bytes of the whole. False if a shape does not fit its field
 * or is too large. */
bool leat__bundle_lay_out(const leat__bundle_field *field, int n, leat__bundle_part *part, size_t *bytes);
/* Writes the axes and clears the gaps: bytes has room for the whole. The caller copies the values. */
void leat__bundle_begin(const leat__bundle_field *field, int n, const leat__bundle_part *part,
                        uint8_t *bytes);
/* The parts of a bundle of n_bytes bytes; false if the bytes are no bundle of these fields. */
bool leat__bundle_open(const leat__bundle_field *field, int n, const uint8_t *bytes, size_t n_bytes,
                       leat__bundle_part *part);

#endif
