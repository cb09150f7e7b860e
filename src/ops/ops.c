/* SPDX-License-Identifier: Apache-2.0 */
/* The families of operations, in the order in which a pipeline usually has them. */
#include "plan/op.h"

static const leat__op *const families[] = {
    leat__ops_sources,  leat__ops_combine,   leat__ops_order,   leat__ops_interleave, leat__ops_select,
    leat__ops_split,    leat__ops_fields,    leat__ops_labels,  leat__ops_image,      leat__ops_crop,
    leat__ops_sizes,    leat__ops_distorted, leat__ops_colour,  leat__ops_jitter,     leat__ops_tone,
    leat__ops_standard, leat__ops_filter,    leat__ops_augment, leat__ops_warp,       leat__ops_affine,
    leat__ops_idg,      leat__ops_batching,  leat__ops_batch,   leat__ops_cache,      leat__ops_mix,
    leat__ops_follow,   leat__ops_bucket,    leat__ops_device,
};

const leat__op *leat__op_at(size_t i) {
    for (size_t f = 0; f < LEAT_COUNT(families); f++)
        for (const leat__op *op = families[f]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}
