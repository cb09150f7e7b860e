/* SPDX-License-Identifier: Apache-2.0 */
/* What every thread of a pipeline did, and when; only if leat_config.trace_events asks for it.
 *
 * Each worker has a ring of events, the reader threads share one, and the consumer has one. All memory is allocated when the
 * pipeline is opened. A full ring forgets its oldest events. A sample is one event: when it began and ended, and the time that
 * each stage took in between, because decoding and transforming take turns row by row. */
#ifndef LEAT_RUN_TRACE_H
#define LEAT_RUN_TRACE_H

#include "base/mem.h"
#include "base/thread.h"
#include "leat/leat_tools.h"

#define LEAT_TRACE_EVENTS_MAX ((uint64_t)1 << 24)

typedef struct leat__trace leat__trace;
typedef struct leat__trace_ring leat__trace_ring;

typedef struct leat__trace_mark { /* the beginning of a sample */
    uint64_t begin_ns;
    uint64_t stage_ns[LEAT_STAGE_COUNT];
} leat__trace_mark;

/* n_events: of all workers together, and of the readers. */
int leat__trace_new(leat__trace **out, int n_workers, uint64_t n_events, leat_error *err);
void leat__trace_free(leat__trace **trace);
leat__trace_ring *leat__trace_worker(leat__trace *trace, int worker);

/* Adds an event that begins then and ends now. Any thread. */
void leat__trace_add(leat__trace_ring *ring, leat_event event);
/* stage_ns: what the worker has counted so far, at the beginning and at the end of a sample. */
void leat__trace_begin(leat__trace_mark *mark, const uint64_t *stage_ns);
void leat__trace_sample(leat__trace_ring *ring, const leat__trace_mark *mark, const uint64_t *stage_ns,
                        leat_event event);
/* A reader thread begins to read, and has read. LEAT_NO_SAMPLE: a block of records. */
void leat__trace_reading(leat__trace *trace, int reader);
void leat__trace_read(leat__trace *trace, int reader, uint64_t sample);
/* The consumer asked for a batch at that time, and has it now; what it did since it got the last one is an event too. */
void leat__trace_handed(leat__trace *trace, uint64_t asked_ns, uint64_t epoch, uint64_t batch, int n_ready);

/* Events that are there, thread by thread and in the order of time, with times since zero_ns; those that fit are copied. If
 * a worker's ring has forgotten events, those of the other threads from before that time are left out too. */
uint64_t leat__trace_events(leat__trace *trace, uint64_t zero_ns, leat_event *events, uint64_t cap);

#endif
