/* SPDX-License-Identifier: Apache-2.0 */
/* A running pipeline tells about itself, for `leat top`: once a second a thread writes one small record to the runtime
 * folder of the user (base/runtime/runtime.h, format/kept/top_record.h).
 *
 * The thread starts when the pipeline is a second old, so that short runs do not pay for it. It looks at the pipeline while
 * it holds its mutex, and writes without any lock. What cannot be written is not told to anyone: training goes on. A thread
 * that is stuck in the runtime folder is left behind when the pipeline is closed, and frees what it has by itself. */
#ifndef LEAT_RUN_PUBLISH_H
#define LEAT_RUN_PUBLISH_H

#include "base/runtime/runtime.h"
#include "format/kept/top_record.h"

typedef struct leat__publisher leat__publisher;

/* Fills verdict and remedy of a report, whose counters are there already. cores: that this process may use. Allocates
 * nothing, reads no file. */
typedef void leat__judge_fn(const leat_pipeline *pipeline, int cores, leat_running *report);

/* NULL if nothing is to be published: the configuration or the environment says so, there are no threads, or no memory. */
leat__publisher *leat__publisher_new(leat_pipeline *pipeline);
void leat__publisher_judge(leat__publisher *publisher, leat__judge_fn *judge);
/* Whether it is time to start the thread. Cheap; NULL is fine. */
bool leat__publisher_due(const leat__publisher *publisher, uint64_t now_ns);
/* Starts it, once. If it does not start, nothing is published. The caller of next, without any lock. */
void leat__publisher_start(leat__publisher *publisher);
/* The thread lets go of the pipeline, removes the record and ends; waits a moment for that. Nulls; NULL is fine. */
void leat__publisher_stop(leat__publisher **publisher);

typedef enum leat__published {
    LEAT_PUBLISHED_RUNS,
    LEAT_PUBLISHED_ENDED,
    LEAT_PUBLISHED_DAMAGED
} leat__published;
/* What a report in the runtime folder is: of a pipeline that runs, which is in *record then; of one that has ended; or
 * damaged. Returns LEAT_RUNTIME_*: what to do about the file. */
int leat__published_check(const leat__runtime_entry *entry, leat__top_record *record, leat__published *is);

#endif
