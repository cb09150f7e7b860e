/* SPDX-License-Identifier: Apache-2.0 */
/* One worker's tools, and what it does with them: run a sample through the plan. */
#ifndef LEAT_ENGINE_RUN_H
#define LEAT_ENGINE_RUN_H

#include "base/thread.h"
#include "engine/plan.h"

/* Pictures that need more than this take turns, so that memory is bounded by one of them. */
#define LEAT_LARGE_PICTURE ((size_t)64 << 20)

typedef struct leat__tools { /* of one worker; zeroed, then leat__tools_init                */
    const leat__plan *plan;
    leat__mutex *large; /* the token for large pictures; NULL = alone                   */
    leat__reader reader;
    leat__decoder *decoder;
    leat__image_dsp dsp;
    leat__pass_scratch scratch;
    leat__buf band;                     /* rows on their way from the decoder                       */
    leat__buf made[LEAT_STEPS_MAX];     /* what a step makes when it does not write into the batch  */
    leat__buf numbers[LEAT_VALUES_MAX]; /* what parse unpacks                                       */
    leat__value value[LEAT_VALUES_MAX];
    int met_height, met_width; /* the largest picture that was cropped so far                */
    int stage;                 /* where the sample is now                                  */
    bool timed;                /* the clock is read at each change of stage                */
    uint64_t mark_ns;
    uint64_t stage_ns[LEAT_STAGE_COUNT];
} leat__tools;

typedef struct leat__where { /* which sample, and where its results go                   */
    uint64_t epoch, position, sample;
    const leat__value *record; /* of a stream: read already                                */
    uint8_t *slot;             /* memory of the batch, NULL = nowhere: the values are wanted */
    int place;                 /* in the batch                                             */
    int64_t **count;           /* [output][place]: values of ragged fields                 */
} leat__where;

int leat__tools_init(leat__tools *tools, const leat__plan *plan, leat__mutex *large, leat_error *err);
void leat__tools_free(leat__tools *tools);
/* How often a buffer had to grow. */
uint32_t leat__tools_grown(const leat__tools *tools);
/* The largest buffers that any worker has needed so far, so that none has to find out by itself. */
#define LEAT_TOOLS_BUFS (3 + LEAT_STEPS_MAX + LEAT_VALUES_MAX)
typedef struct leat__high_water {
    size_t buf[LEAT_TOOLS_BUFS];
    size_t pass[LEAT_PASS_BUFS];
    size_t arena;
} leat__high_water;
/* Raises the marks to what this worker has; true if one rose. */
bool leat__tools_raise(const leat__tools *tools, leat__high_water *high);
void leat__tools_adopt(leat__tools *tools, const leat__high_water *high);

/* Reads, parses, decodes, transforms and stores one sample. On failure the message names the sample and err->stage the
 * stage; its place in the batch holds anything. */
int leat__run_sample(leat__tools *tools, const leat__where *at, leat_error *err);
/* Ends the timing of the current stage and begins that of another. */
void leat__run_stage(leat__tools *tools, int stage);

#endif
