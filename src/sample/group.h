/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on groups: mixup and cutmix. A group is an aligned run of positions inside a batch; the partner of a sample
 * is the next one of its group, the last one's is the first. What a sample becomes is therefore a function of the text,
 * the seed, the epoch and its group alone, whatever the batch or the number of threads.
 *
 * A task covers whole groups, so one worker has all of a group. It mixes each sample as soon as the next one is complete,
 * while both are still in the processor's cache, and keeps a copy of the first sample for the last one. Samples that
 * were left out (on_error=skip) are no members. */
#ifndef LEAT_SAMPLE_GROUP_H
#define LEAT_SAMPLE_GROUP_H

#include "image/pass/mix.h"
#include "sample/image_op.h"

#define LEAT_GROUP_OPS_MAX 4

typedef struct leat__plan leat__plan;
typedef struct leat__tools leat__tools;

typedef struct leat__group_op {
    leat__image_op op; /* name and number, for the draws                       */
    const leat__use *use;
    bool cutmix;
    double alpha, probability;
    int image, labels; /* fields, then outputs; labels -1 = none                */
    leat__mix_shape shape;
    size_t n_values, n_labels; /* of one sample                                  */
} leat__group_op;

typedef struct leat__group_member {
    uint64_t epoch, position, sample;
    uint8_t *slot;
    int place;
    leat__params *params;
} leat__group_member;

typedef struct leat__group_state { /* of one worker and one operation, while it fills a group */
    int n;                         /* members so far                                          */
    uint64_t first;                /* its sample                                              */
    leat__group_member last;
    leat__buf image, labels; /* of the first, before it was mixed                               */
} leat__group_state;

/* Memory for one worker. */
int leat__group_init(leat__group_state *state, const leat__plan *plan, leat_error *err);
void leat__group_free(leat__group_state *state);
/* The sample is complete: mixes the one before it. One worker adds all samples of a group, in order. */
void leat__group_add(leat__tools *tools, const leat__group_member *member);
/* All samples of the group are complete: mixes the last one. */
void leat__group_end(leat__tools *tools);

#endif
