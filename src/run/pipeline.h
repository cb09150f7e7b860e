/* SPDX-License-Identifier: Apache-2.0 */
/* A running pipeline: the plan, its workers, the ring, and where in the order it is. */
#ifndef LEAT_RUN_PIPELINE_H
#define LEAT_RUN_PIPELINE_H

#include <sys/types.h>

#include "leat/leat_tools.h"
#include "run/publish.h"
#include "run/read_ahead.h"
#include "run/ring.h"
#include "run/trace.h"
#include "run/tune.h"

#define LEAT_BAD_MAX 1000
#define LEAT_WORKERS_MAX 256

typedef struct leat__watched { /* samples that a worker was watched at */
    uint64_t n;
    uint64_t whole_ns;   /* that they took                           */
    uint64_t blocked_ns; /* of it, reading was blocked               */
    uint64_t busy_ns;    /* of it, the worker had a core             */
} leat__watched;

/* Which tasks of a worker are timed, so that reading the clock costs less than half a per cent of its time (counters.c). */
typedef struct leat__timing {
    uint64_t n_tasks, next;        /* tasks so far, and which of them is timed next               */
    uint64_t began_ns, watched_ns; /* when the task began; when a sample was watched last         */
    int sample;                    /* the sample of the task that is watched, -1 = none           */
    uint64_t tasks, tasks_ns;      /* that were timed, and their time                             */
    uint64_t cpu_ns;               /* of the thread, when a task with a watched sample began      */
    uint64_t queue_ns;             /* so long it could have run and had no core, by then          */
    leat__watched seen;            /* so far                                                      */
} leat__timing;

typedef struct leat__worker {
    struct leat_pipeline *pipeline;
    int number;
    pthread_t thread;
    leat__tools tools;
    leat__trace_ring *trace; /* NULL = no trace                                   */
    uint64_t high_version;   /* of the high-water mark it has adopted             */
    uint32_t grown;          /* at its last task                                  */
    leat__timing timing;
    /* Under the mutex, for statistics: */
    uint64_t samples, timed_at, watched_at; /* so far; when a task was timed and a sample watched last */
    uint64_t stage_ns[LEAT_STAGE_COUNT];    /* of the timed samples                              */
    double stage_s[LEAT_STAGE_COUNT];       /* of all, estimated from them                       */
    double blocked_s;                       /* in reading, likewise                              */
    uint64_t bytes_read, cpu_ns, queue_ns;
    uint64_t idle_ns, idle_since; /* without work; 0 = it works                        */
    leat__watched seen;
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
    leat__trace *trace;                 /* NULL unless the config asks for it                */
    leat__publisher *publisher;         /* NULL: `leat top` does not show it                 */
    leat__mutex large;                  /* the token for large pictures                      */
    pthread_t reader[LEAT_READING_MAX]; /* those that read ahead                             */
    int n_readers;
    int n_workers;
    int n_running; /* threads that have not left yet, readers too       */
    leat__worker *worker;
    leat__worker *single; /* of the caller of leat_pipeline_sample, NULL before  */
    bool stop;
    bool pause;          /* no new tasks: the cursor is being moved           */
    int n_busy;          /* tasks being worked on                             */
    uint64_t n_epochs;   /* LEAT_ENDLESS if so                                */
    leat__cursor cursor; /* of the next batch to open                         */
    leat__cursor handed; /* after the last batch handed over                  */
    leat__cursor
        sized; /* where a restore changed the size of batches: it counts in that epoch; zeros = nowhere */
    leat__mark *handed_mark; /* streams only: where to go on there               */
    uint64_t opened, due;    /* sequence numbers: next to open, next to hand over */
    leat__slot *opening;     /* a slot that waits for the stream                  */
    leat__slot *dealing;     /* the slot whose places are being given to tasks    */
    leat_error failed;       /* sticky                                            */
    leat_error stream_failed;
    uint64_t stall_us; /* LEAT_STALL: tasks are held up by chance for up to so long, to shake their order */
    uint64_t clock_ns; /* what reading the clock takes                            */
    leat__high_water high;
    uint64_t high_version;
    leat__tuner tuner;
    uint64_t tune_ns; /* when it looks next */
    /* statistics */
    uint64_t opened_ns, first_ns;
    uint64_t wait_ns, waits_since; /* of the consumer; 0 = it does not wait now              */
    uint64_t full_ns, full_since;  /* every slot was full; 0 = there is one that is not       */
    uint64_t tuned, tuned_ns;      /* changes of the tuner, and when the last one was         */
    leat_latency latency;
    uint64_t samples, batches, bytes_out, bad_samples, slots_added, grown;
    bool warned_slots;
    uint64_t bad_epoch, bad_of_epoch; /* for max_bad: which epoch, and how many of it  */
    uint64_t used_epoch,
        bad_in_a_row; /* epoch of the last batch with samples, or where the run began; bad ones since */
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
/* No thread takes another task or reads ahead until the pause is over; those at work have finished when it returns. For
 * measuring something else meanwhile. Without the mutex. */
void leat__sched_pause(leat_pipeline *pipeline, bool pause);
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
/* Lets the tuner look at the counters, and does what it says. With the mutex held. */
void leat__pipeline_tune(leat_pipeline *pipeline);
/* single.c: one sample by itself */
int leat__pipeline_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position, leat_batch *batch,
                          leat_error *err);
void leat__single_free(leat_pipeline *pipeline);
void leat__pipeline_cancel(leat_pipeline *pipeline);
void leat__pipeline_close(leat_pipeline **pipeline);

/* counters.c: what leat.h and leat_tools.h tell of a run */
void leat__counters_stats(leat_pipeline *pipeline, leat_stats *out);
int leat__counters_workers(leat_pipeline *pipeline, leat_worker_stats *out, int cap);
void leat__counters_latency(leat_pipeline *pipeline, leat_latency *out);
size_t leat__counters_tuning(leat_pipeline *pipeline, char *text, size_t cap);
/* Counters and times since an earlier look; what is no counter stays as it is now. */
leat_stats leat__stats_since(const leat_stats *now, const leat_stats *then);
leat_latency leat__latency_since(const leat_latency *now, const leat_latency *then);
/* What the consumer has waited for so far, up to now. With the mutex held, and so are those below. */
uint64_t leat__counters_wait(const leat_pipeline *pipeline, uint64_t now_ns);
uint64_t leat__counters_full(const leat_pipeline *pipeline, uint64_t now_ns);
/* A slot is wanted: there is one, or every slot is full. */
void leat__counters_slot(leat_pipeline *pipeline, bool found);
/* The consumer has waited so long, and has got a batch or not. */
void leat__counters_waited(leat_pipeline *pipeline, uint64_t ns, bool handed);
/* Around a task, without the mutex: whether it is timed, and which sample of it is watched. And after it, with the mutex. */
void leat__timing_begin(leat__worker *worker, int n);
void leat__timing_end(leat_pipeline *pipeline, leat__worker *worker, int n);
/* True if it was watched: there is news for the tuner. */
bool leat__timing_publish(leat__worker *worker, int n);

/* steps.c: where batches begin. With the mutex held. */
/* Whether config and plan let it make every so many-th batch only, and the first of them. */
int leat__steps_open(leat_pipeline *pipeline, leat_error *err);
/* Samples, on all ranks together, of the batch that begins there, and their bucket. Not for streams. */
uint64_t leat__steps_batch(leat_pipeline *pipeline, leat__cursor at, int *bucket);
/* Batches of an epoch; LEAT_ENDLESS: not known, or without end. */
uint64_t leat__steps_batches(const leat_pipeline *pipeline);
/* Behind a batch of n samples on all ranks together. */
leat__cursor leat__steps_behind(leat__cursor at, uint64_t n);
/* Where the next batch begins, as far as is known: at the end of an epoch that is in the next one. */
leat__cursor leat__steps_next(const leat_pipeline *pipeline, leat__cursor at);
/* The first batch from there on that this pipeline makes: at->step modulo step_stride is step_first. */
leat__cursor leat__steps_own(const leat_pipeline *pipeline, leat__cursor at);

/* state.c */
/* mark: where to go on in a stream; NULL = it is read from its beginning. */
int leat__state_write(const leat_pipeline *pipeline, leat__cursor at, const leat__mark *mark, char *text,
                      size_t cap, leat_error *err);
/* Batches of that epoch; LEAT_ENDLESS: not known, or without end. With the mutex held. */
uint64_t leat__state_batches(const leat_pipeline *pipeline, uint64_t epoch);
/* The place behind that many batches of an epoch. With the mutex held. */
int leat__state_cursor(leat_pipeline *pipeline, uint64_t epoch, uint64_t step, leat__cursor *out,
                       leat_error *err);
typedef struct leat__state { /* what a text says */
    leat__cursor at, sized;
    leat__mark *mark; /* of a stream, else NULL */
} leat__state;
/* With the mutex held. */
int leat__state_read(leat_pipeline *pipeline, const char *text, leat__state *out, leat_error *err);

#endif
