/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations that combine data sets have in common.
 *
 * Every text is planned by itself (subtext.c). Then fields of the same name become one field, the sources become parts of
 * one source (source/combine.c), and the orders branches of one order (order/branch.c). The steps that parse samples of a
 * text are run for its samples only. Samples are numbered part after part, so that caches and messages identify a sample
 * by its number wherever it comes in the order. In a zip each pair has a number. */
#ifndef LEAT_PLAN_COMBINATION_H
#define LEAT_PLAN_COMBINATION_H

#include "order/branch.h"
#include "plan/combine/subtext.h"

typedef struct leat__combination {
    leat__planner *planner;
    const leat__use *use;
    bool zip;
    bool streams; /* at least one of them is a stream, so the number of samples is not known */
    int n;
    leat__subtext *subtext;       /* (n) */
    leat__part *part;             /* (n) */
    int (*slot)[LEAT_VALUES_MAX]; /* (n) of each value of each text, -1 = none yet */
    bool classes;                 /* labels are those of the sources, with the names that these have */
    int n_fields, n_slots;        /* slots behind the fields hold what only steps of the texts see */
    leat__plan_field field[LEAT_VALUES_MAX];
    leat__order **order; /* (n) those of the texts                                        */
    uint64_t *length;    /* (n) of their epochs                                           */
    uint64_t *first;     /* (n) number of the first sample of each in the whole           */
} leat__combination;

/* Plans the texts of the operation and compares their fields; side by side (zip), names them. */
int leat__combination_begin(leat__combination *combination, leat__planner *planner, const leat__use *use,
                            bool zip, leat_error *err);
/* The orders of the texts become one; takes over the blend, also on failure. */
int leat__combination_order(leat__combination *combination, leat__branch_kind kind, leat__blend *blend,
                            leat_error *err);
/* Instead of it where there are streams: each text keeps its order, and stream/combined.c takes samples from them. Takes
 * over the blend likewise. equal: the parts of a zip must have equal lengths. */
int leat__combination_stream(leat__combination *combination, leat__branch_kind kind, leat__blend *blend,
                             bool equal, leat_error *err);
/* Opens the source of the whole and takes over the steps. n: samples of a zip. */
int leat__combination_finish(leat__combination *combination, uint64_t n, leat_error *err);
/* After any of these, whatever it returned. */
void leat__combination_end(leat__combination *combination);

#endif
