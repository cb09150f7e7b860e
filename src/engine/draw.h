/* SPDX-License-Identifier: Apache-2.0 */
/* From planned parts to those of one sample: hands every draw function its random numbers. */
#ifndef LEAT_ENGINE_DRAW_H
#define LEAT_ENGINE_DRAW_H

#include "engine/plan_image.h"

typedef struct leat__draw_key { /* what randomness is a function of, besides the operation */
    uint64_t seed, epoch, position;
    leat__params *params; /* NULL: nobody asks what was drawn */
} leat__draw_key;

leat__drawing leat__drawing_at(const leat__draw_key *key, const leat__image_op *op, int height, int width,
                               int channels, int dtype);
/* The part of a picture of height x width pixels that the sample takes. */
int leat__draw_crop(leat__box *box, const leat__pass_plan *plan, const leat__draw_key *key, int height,
                    int width, leat_error *err);
/* Fills pass for a sample whose pixels come from rows. warp is for pass->warp to point to. */
int leat__draw_pass(leat__pass *pass, leat__warp *warp, const leat__pass_plan *plan,
                    const leat__draw_key *key, const leat__rows *rows, leat_error *err);

#endif
