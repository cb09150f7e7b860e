/* SPDX-License-Identifier: Apache-2.0 */
/* From a planned pass to the pass of one sample: every random number is drawn here. */
#ifndef LEAT_ENGINE_DRAW_H
#define LEAT_ENGINE_DRAW_H

#include "engine/plan.h"

/* Fills pass for the sample at (epoch, position), whose pixels come from rows. */
int leat__draw_pass(leat__pass *pass, const leat__pass_plan *plan, uint64_t seed, uint64_t epoch, uint64_t position,
                    const leat__rows *rows, leat_error *err);

#endif
