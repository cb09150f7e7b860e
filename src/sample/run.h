/* SPDX-License-Identifier: Apache-2.0 */
/* Running a sample through the plan, and the memory that one worker needs for it. */
#ifndef LEAT_SAMPLE_RUN_H
#define LEAT_SAMPLE_RUN_H

#include "base/runtime/waits.h"
#include "base/thread.h"
#include "format/example.h"
#include "sample/draw.h"
#include "sample/plan.h"

/* One picture may take so much even if the budget is small. */
#define LEAT_LARGE_PICTURE ((size_t)64 << 20)

struct leat__tools { /* of one worker; zeroed, then leat__tools_init                */
    const leat__plan *plan;
    leat__mutex *large; /* the token for large pictures; NULL = alone                   */
    leat__reader reader;
    leat__decoder *decoder;
    leat__image_dsp dsp;
    leat__pass_scratch scratch;
    leat__buf band;     /* rows on their way from the decoder                       */
    leat__buf bordered; /* a row with its border                                    */
    leat__buf picture[LEAT_STEPS_MAX][LEAT_PICTURE_BUFS]; /* scratch of picture steps               */
    leat__buf made[LEAT_STEPS_MAX];     /* what a step makes when it does not write into the batch  */
    leat__buf numbers[LEAT_VALUES_MAX]; /* what parse unpacks                                       */
    leat__value value[LEAT_VALUES_MAX];
    leat__example_form form; /* of the record that parse has met last                                 */
    const bool *only;        /* the steps that are run, for questions (select.h); NULL = all     */
    uint32_t known;          /* with it: bit i = value i comes from the index; 0 = samples are read */
    uint64_t told[LEAT_VALUES_MAX];     /* what the index said                                      */
    leat__met met[LEAT_MEETINGS_MAX];   /* of the sample: sizes of pictures that move together         */
    leat__trail trail[LEAT_TRAILS_MAX]; /* (plan->n_trails) of the sample: how pictures have moved     */
    leat__buf positions;                /* of the JPEG that is being decoded                           */
    leat__buf kept;                     /* what was left when boxes or keypoints were moved last       */
    size_t followed;                    /* of so many                                               */
    leat__chosen chosen;                /* of the sample                                               */
    leat__cache_hand cached;
    leat__foreseen next;     /* what is read after this sample                           */
    uint64_t key_epoch, key; /* leat__rng_key of the seed and that epoch                 */
    leat__group_state group[LEAT_GROUP_OPS_MAX];
    int met_height, met_width; /* the largest picture that was cropped so far                */
    int stage;                 /* the stage that works on the sample now                   */
    bool timed;                /* the clock is read at each change of stage                */
    bool watched;              /* with it: how long the thread is blocked in reading is measured */
    uint64_t mark_ns, n_marks; /* when the clock was read last, and how often              */
    uint64_t stage_ns[LEAT_STAGE_COUNT];
    leat__waits waits;
    leat__moment reading; /* where reading began                                          */
    uint64_t blocked_ns;  /* in reading, of watched samples                               */
};

struct leat__where { /* which sample, and where its results go                   */
    uint64_t epoch, position, sample;
    const leat__value *record; /* what the source gives, if it was read already: a value for each field */
    const leat__piece *piece;  /* (n_pieces) of a stream: what it is made of                  */
    int n_pieces;
    uint8_t *slot;        /* memory of the batch; NULL: results stay in tools->value    */
    int place;            /* in the batch                                             */
    int bucket;           /* of the batch; 0 if there are none                        */
    leat__params *params; /* NULL: drawn values are not recorded                      */
    int64_t **count; /* [output][place]: values of ragged fields; [output][place][axis]: of padded ones */
};

int leat__tools_init(leat__tools *tools, const leat__plan *plan, leat__mutex *large, leat_error *err);
void leat__tools_free(leat__tools *tools);
/* Allocated, for code that is no worker (the planner, filters of streams); NULL without memory. */
leat__tools *leat__tools_new(const leat__plan *plan, leat_error *err);
void leat__tools_delete(leat__tools **tools);
/* How often a buffer had to grow. */
uint32_t leat__tools_grown(const leat__tools *tools);
/* The largest buffers that any worker has needed so far: all workers grow theirs to these sizes. */
#define LEAT_TOOLS_BUFS \
    (5 + (1 + LEAT_PICTURE_BUFS) * LEAT_STEPS_MAX + LEAT_VALUES_MAX + 2 * LEAT_READERS_MAX)
typedef struct leat__high_water {
    size_t buf[LEAT_TOOLS_BUFS];
    size_t pass[LEAT_PASS_BUFS];
    size_t arena;
} leat__high_water;
/* Raises the marks to what this worker has; true if one rose. */
bool leat__tools_raise(const leat__tools *tools, leat__high_water *high);
void leat__tools_adopt(leat__tools *tools, const leat__high_water *high);
/* The same for a thread that only reads. */
bool leat__reader_raise(const leat__source *source, leat__reader *reader, leat__high_water *high);
void leat__reader_adopt(const leat__source *source, leat__reader *reader, const leat__high_water *high);
/* Bytes that its buffers then have. */
size_t leat__reader_high(const leat__source *source, leat__reader *reader, const leat__high_water *high);

/* Reads, parses, decodes, transforms and stores one sample. On failure the message names the sample and err->stage the
 * stage; its place in the batch holds anything. */
int leat__run_sample(leat__tools *tools, const leat__where *at, leat_error *err);
/* Where a sample comes from, for messages. */
void leat__run_describe(const leat__plan *plan, const leat__where *at, char *text, size_t cap);
/* For the steps, which are in run.c, chance.c and run_pass.c: */
int leat__run_range(leat__tools *tools, const leat__where *at, int from, int to, leat_error *err);
int leat__run_pass(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
int leat__run_picture(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
/* What randomness is a function of, for this sample. */
leat__draw_key leat__run_draw_key(leat__tools *tools, const leat__where *at);
/* In run_device.c: */
int leat__run_draw(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
/* In run_eval.c: */
int leat__run_eval(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
/* In run_map.c: */
int leat__run_map(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
/* And in run_labels.c: */
int leat__run_stack(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
int leat__run_path(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
int leat__run_enumerate(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
int leat__run_relabel(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
/* Compares what a step made with what the batch has room for. */
int leat__run_check_shape(const leat__output *out, const leat__where *at, const leat__value *value,
                          leat_error *err);
/* Where a step writes: its place in the batch, or its own buffer. NULL without memory. */
uint8_t *leat__run_destination(leat__tools *tools, const leat__step *step, const leat__where *at,
                               size_t bytes, leat_error *err);
/* Ends the timing of the current stage and begins that of another. Small records pass here a million times a second, and most
 * of them are not timed. */
void leat__run_time(leat__tools *tools, int stage);
static inline void leat__run_stage(leat__tools *tools, int stage) {
    if (tools->timed) leat__run_time(tools, stage);
    tools->stage = stage;
}

#endif
