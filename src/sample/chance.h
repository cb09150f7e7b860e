/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of steps of which a sample gets one, or none, by chance: random_apply and random_choice.
 *
 * A step LEAT_STEP_CHOOSE draws once for the sample. The steps behind it, up to `end`, belong to one branch each and are left
 * out if another branch was drawn. A branch keeps the type and the size of what it works on, so the steps behind do not
 * depend on what was drawn. Branches begin and end their own passes. */
#ifndef LEAT_SAMPLE_CHANCE_H
#define LEAT_SAMPLE_CHANCE_H

#include "sample/coordinates.h"

#define LEAT_CHANCES_MAX 16  /* of a pipeline */
#define LEAT_BRANCHES_MAX 63 /* of a choice   */

typedef struct leat__chance_branch {
    double until; /* it is taken if the draw lies below, and not below that of the one before */
    int n_moves[LEAT_TRAILS_MAX]; /* that it adds to the trails of pictures                             */
} leat__chance_branch;

typedef struct leat__chance {
    leat__image_op op; /* name and number, for the draw                       */
    bool applies;      /* random_apply: there is one branch, or none is taken */
    int number;        /* where the worker notes what was drawn               */
    int end;           /* the first step behind the branches                  */
    int n;
    leat__chance_branch *branch;  /* (n)                                            */
    int picture[LEAT_TRAILS_MAX]; /* the value that the trail belongs to            */
    int n_trails;
} leat__chance;

/* What a worker knows of the choices of its sample. */
typedef struct leat__chosen {
    int branch[LEAT_CHANCES_MAX]; /* -1 = none                                     */
    uint32_t rehearsed;           /* bit i: all branches of choice i were run once */
} leat__chosen;

int leat__run_chance(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);

#endif
