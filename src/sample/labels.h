/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make other numbers of labels: label_map. */
#ifndef LEAT_SAMPLE_LABELS_H
#define LEAT_SAMPLE_LABELS_H

#include "sample/plan.h"

typedef struct leat__relabel { /* a table of whole numbers, in the plan's memory */
    size_t n;
    const int64_t *from, *to; /* (n) by rising from; NULL: 0 to n - 1 stay as they are, others are errors */
    bool has_fallback;        /* what `fallback` is for numbers that are not in it */
    int64_t fallback;
} leat__relabel;

#endif
