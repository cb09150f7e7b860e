/* SPDX-License-Identifier: Apache-2.0 */
/* Texts inside of texts: concatenate 'folder a' 'folder b | take 100', and parts of the program that a text names:
 * concatenate @a @b. Each of them is planned by itself. Its source, order and steps become a part of the pipeline around it. */
#ifndef LEAT_PLAN_SUBTEXT_H
#define LEAT_PLAN_SUBTEXT_H

#include "plan/planner.h"

typedef struct leat__subtext {
    char key[64];     /* what zip calls it, "" = nothing                                 */
    const char *text; /* as written; @NAME for a part of the program                      */
    bool part;        /* it is one                                                        */
    int column;       /* of its first character                                           */
    leat_spec *spec;
    leat__plan plan;
    leat__planner planner;
    int n_fields;
    int value
        [LEAT_VALUES_MAX]; /* (n_fields) numbers of its fields, in the order in which a batch would have them */
    bool selected;         /* they were named by select                             */
} leat__subtext;

/* Plans the texts that the argument `texts` holds, for the operation `use` of the planner. zip: it makes one sample of
 * several. The array is to be freed with leat__subtext_free, also on failure. */
int leat__subtext_plan(leat__planner *planner, const leat__use *use, bool zip, leat__subtext **out, int *n,
                       leat_error *err);
void leat__subtext_free(leat__subtext **subtext, int n);
/* What identifies the texts, with the arguments of the operation: no places of data, every default spelled out. In the
 * plan's memory. */
const char *leat__subtext_text(leat__planner *planner, const leat__use *use, leat__subtext *subtext, int n,
                               leat_error *err);
/* Moves the steps of a text into the plan; a stream keeps its own for its filters. slot: which value of the plan each of
 * its values is; parts: for which samples they are, 0 = for all. */
int leat__subtext_move_steps(leat__planner *planner, const leat__use *use, leat__subtext *subtext,
                             const int *slot, uint64_t parts, int shift, leat_error *err);

#endif
