/* SPDX-License-Identifier: Apache-2.0 */
/* Some samples of a stream, for those who want to know what they are like before anything runs: one after the other, as far
 * as filters let them through. Of data sets that are combined one after the other, or mixed, they are those of the first. */
#ifndef LEAT_PLAN_TASTE_H
#define LEAT_PLAN_TASTE_H

#include "sample/run.h"

typedef struct leat__taste leat__taste;

/* Plans whose samples come one after the other (leat__plan_streams). Nobody else reads their streams meanwhile. */
int leat__taste_new(leat__taste **out, leat__plan *plan, leat_error *err);
/* The next sample, in pieces that stay until the next call: 0; 1 at the end; < 0: it is lost, and others may follow. */
int leat__taste_next(leat__taste *taste, const leat__piece **piece, int *n, leat_error *err);
void leat__taste_free(leat__taste **taste);

#endif
