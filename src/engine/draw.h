/* SPDX-License-Identifier: Apache-2.0 */
/* From a planned pass to the pass of one sample: every random number is drawn here. */
#ifndef LEAT_ENGINE_DRAW_H
#define LEAT_ENGINE_DRAW_H

#include "engine/plan.h"

/* The part of a picture of height x width pixels that the sample at (epoch, position) takes. */
int leat__draw_crop(leat__box *box, const leat__crop_plan *plan, uint64_t seed, uint64_t epoch,
                    uint64_t position, int height, int width, leat_error *err);
/* Fills pass for the sample at (epoch, position), whose pixels come from rows. */
int leat__draw_pass(leat__pass *pass, const leat__pass_plan *plan, uint64_t seed, uint64_t epoch,
                    uint64_t position, const leat__rows *rows, leat_error *err);

#endif
