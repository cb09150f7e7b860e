/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make numbers of a sample: label_map, and functions of the program. */
#ifndef LEAT_SAMPLE_LABELS_H
#define LEAT_SAMPLE_LABELS_H

#include "sample/called.h"
#include "sample/plan.h"

typedef struct leat__relabel { /* a table of whole numbers, in the plan's memory */
    size_t n;
    const int64_t *from, *to; /* (n) by rising from; NULL: 0 to n - 1 stay as they are, others are errors */
    bool has_fallback;        /* what `fallback` is for numbers that are not in it */
    int64_t fallback;
} leat__relabel;

typedef struct leat__map_plan {
    const leat__called *called;
    leat__inputs inputs;
    int n;
    int value[LEAT_VALUES_MAX]; /* (n) what it makes            */
    leat_field field[LEAT_VALUES_MAX];
    size_t offset[LEAT_VALUES_MAX]; /* in the memory of the step    */
    size_t bytes[LEAT_VALUES_MAX];
    size_t total;
} leat__map_plan;

#endif
