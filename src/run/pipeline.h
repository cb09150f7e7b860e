/* SPDX-License-Identifier: Apache-2.0 */
/* A running pipeline: the plan, its workers, the ring, and where in the order it is. */
#ifndef LEAT_RUN_PIPELINE_H
#define LEAT_RUN_PIPELINE_H

#include <sys/types.h>

#include "run/read_ahead.h"
#include "run/ring.h"
#include "run/tune.h"

#define LEAT_BAD_MAX 1000
#define LEAT_WORKERS_MAX 256
#define LEAT_READING_MAX 64

typedef struct leat__worker {
    struct leat_pipeline *pipeline;
    int number;
    pthread_t thread;
    leat__tools tools;
    uint64_t high_version; /* of the high-water mark it has adopted             */
    uint32_t grown;        /* at its last task                                  */
    uint64_t n_tasks;
    uint64_t slow_now_ns, task_now_ns; /* what follows as it grows                          */
    /* Under the mutex, for statistics: */
    uint64_t samples, timed_samples;
    uint64_t stage_ns[LEAT_STAGE_COUNT]; /* of the timed samples                            */
    uint64_t bytes_read, cpu_ns, full_ns;
    uint64_t task_ns; /* of tasks that were judged                                          */
    uint64_t slow_ns; /* of it, waiting for storage                                         */
    uint64_t cache_hits, cache_misses, cache_bad;
} LEAT_ALIGNED(LEAT_CACHE_LINE) leat__worker;

typedef struct leat__task { /* a run of places in one slot */
    leat__slot *slot;
    int first, n;
    bool read_ahead; /* its samples may have been read ahead */
} leat__task;

struct leat_pipeline {
    leat_config config;
    leat__account *account; /* of all its memory */
    leat__plan plan;
    leat__ring *ring;                   /* its mutex guards what follows                     */
    leat__stream *stream;               /* NULL for indexed sources                          */
    leat__read_ahead *read_ahead;       /* NULL: workers read for themselves                 */
    leat__mutex large;                  /* the token for large pictures                      */
    pthread_t reader[LEAT_READING_MAX]; /* those that read ahead                             */
    int n_readers;
    int n_workers;
    int n_running; /* threads that have not left yet, readers too       */
    leat__worker *worker;
    leat__worker *single; /* of the caller of leat_pipeline_sample, NULL before  */
    bool stop;
    bool pause;              /* no new tasks: the cursor is being moved           */
    int n_busy;              /* tasks being worked on                             */
    uint64_t n_epochs;       /* LEAT_ENDLESS if so                                */
    leat__cursor cursor;     /* of the next batch to open                         */
    leat__cursor handed;     /* after the last batch handed over                  */
    leat__mark *handed_mark; /* streams only: where to go on there               */
    uint64_t opened, due;    /* sequence numbers: next to open, next to hand over */
    leat__slot *opening;     /* a slot that waits for the stream                  */
    leat__slot *dealing;     /* the slot whose places are being given to tasks    */
    leat_error failed;       /* sticky                                            */
    leat_error stream_failed;
    uint64_t stall_us;   /* LEAT_STALL: tasks are held up by chance for up to so long, to shake their order */
    uint64_t timed_mask; /* one task in timed_mask + 1 is timed               */
    uint64_t judged_mask; /* and of those, whether storage is slow             */
    leat__high_water high;
    uint64_t high_version;
    leat__tuner tuner;
    /* statistics */
    uint64_t opened_ns, first_ns, wait_ns;
    uint64_t samples, batches, bytes_out, bad_samples, slots_added, grown;
    bool warned_slots;
    uint64_t bad_epoch, bad_of_epoch; /* for max_bad: which epoch, and how many of it  */
    uint64_t n_bad;
    leat_bad *bad; /* (LEAT_BAD_MAX)                                    */
    atomic_int cancelled;
    pid_t owner;
};

/* Takes the next task and runs it: true, or false when there is none now. With the mutex held, which is released
 * while working. */
bool leat__sched_step(leat_pipeline *pipeline, leat__worker *worker);
/* Runs a task: reads, transforms and stores its samples, and mixes its groups. Without the mutex. */
void leat__sched_run_task(leat_pipeline *pipeline, leat__worker *worker, const leat__task *task);
/* Samples, on all ranks together, of the batch that begins there, and their bucket. Not for streams; with the mutex held. */
uint64_t leat__sched_batch(leat_pipeline *pipeline, leat__cursor at, int *bucket);
/* Where the batch behind one of n samples on all ranks begins, as far as is known. */
leat__cursor leat__sched_behind(const leat_pipeline *pipeline, leat__cursor at, uint64_t n);
/* Whether every batch of every epoch has been opened. With the mutex held. */
bool leat__sched_finished(const leat_pipeline *pipeline);
/* The high-water mark of buffers rose: idle threads adopt it now, others at their next task. With the mutex held. */
void leat__sched_mark_rose(leat_pipeline *pipeline);
/* Whether no thread works and all have adopted the mark: from here on, samples that were met before allocate nothing.
 * With the mutex held. */
bool leat__sched_settled(const leat_pipeline *pipeline);
int leat__sched_start(leat_pipeline *pipeline, leat_error *err);
/* Stops and joins all threads; false if one does not come back (a stuck disk) within ten seconds. */
bool leat__sched_stop(leat_pipeline *pipeline);
/* Empties the ring of what is not leased and goes on from the cursor. With the mutex held. */
void leat__sched_move(leat_pipeline *pipeline, leat__cursor cursor, const leat__mark *mark);

/* The mutex, unless this is a forked child: there a worker may have held it for ever, and nothing moves any more, so
 * that looking without it is safe. Whether it was locked. */
bool leat__pipeline_lock(const leat_pipeline *pipeline);
void leat__pipeline_unlock(const leat_pipeline *pipeline, bool locked);
int leat__pipeline_fail_forked(leat_error *err);

/* pipeline.c: what leat.h promises, arguments checked */
int leat__pipeline_open(leat_pipeline **out, const leat_spec *spec, const leat_config *config,
                        leat_error *err);
int leat__pipeline_next(leat_pipeline *pipeline, leat_batch *batch, leat_error *err);
/* single.c: one sample by itself */
int leat__pipeline_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position, leat_batch *batch,
                          leat_error *err);
void leat__single_free(leat_pipeline *pipeline);
void leat__pipeline_stats(leat_pipeline *pipeline, leat_stats *out);
void leat__pipeline_cancel(leat_pipeline *pipeline);
void leat__pipeline_close(leat_pipeline **pipeline);

/* state.c */
int leat__state_write(const leat_pipeline *pipeline, char *text, size_t cap, leat_error *err);
/* mark: of a stream, else NULL. With the mutex held. */
int leat__state_read(const leat_pipeline *pipeline, const char *text, leat__cursor *out, leat__mark *mark,
                     leat_error *err);

#endif
