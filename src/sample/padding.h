/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of differing sizes in one batch (padded_batch). While a slot is filled, every sample keeps its own size, and its
 * place has room for the largest possible one. When the slot is complete, all samples are padded to the largest of the
 * batch, or to the size that the text names, and moved together. */
#ifndef LEAT_SAMPLE_PADDING_H
#define LEAT_SAMPLE_PADDING_H

#include "sample/plan.h"

/* The n samples of the field, whose sizes are shapes[i * ndim + axis], as one tensor, of which data, shape and strides are
 * set. base is where the field begins in the slot. */
void leat__padding_apply(const leat__output *out, uint8_t *base, const int64_t *shapes, int n,
                         leat_tensor *tensor);

#endif
