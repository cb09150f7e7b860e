/* SPDX-License-Identifier: Apache-2.0 */
/* Read-ahead, for storage that keeps workers waiting: a few threads read the samples that come next, in the order in
 * which they will come, into a ring of bytes; a worker whose sample is there takes it, and reads it itself if it is not.
 * Nothing but time depends on it.
 *
 * The tuner (tune.h) starts threads when workers are blocked in reading for a good part of their time, and stops them when
 * storage is fast. `options read_ahead=N` has N of them from the beginning, `off` none.
 *
 * All functions want the scheduler's mutex; those that read or copy release it meanwhile. */
#ifndef LEAT_RUN_READ_AHEAD_H
#define LEAT_RUN_READ_AHEAD_H

#include "run/ring.h"

typedef struct leat__read_ahead leat__read_ahead;
typedef struct leat__read_ahead_cell leat__read_ahead_cell;

/* Not NULL if the plan wants it; no thread runs yet. */
int leat__read_ahead_new(leat__read_ahead **out, struct leat_pipeline *pipeline, leat_error *err);
void leat__read_ahead_free(leat__read_ahead **ahead);
/* Forgets everything: the next sample to read is the next to come. No reader thread reads meanwhile. */
void leat__read_ahead_clear(leat__read_ahead *ahead);
void leat__read_ahead_wake(leat__read_ahead *ahead);
/* Whether every thread has adopted the high-water mark of buffers. */
bool leat__read_ahead_settled(const leat__read_ahead *ahead);
/* From now on so many threads read, or as many as there can be: fewer are slower, not wrong. Returns how many. */
int leat__read_ahead_set(leat__read_ahead *ahead, int n);
/* Whether some of the places that are dealt out now may have been read: only they need to ask. */
bool leat__read_ahead_in_use(const leat__read_ahead *ahead);
/* The values of a position if they are there, or will be in a moment: NULL, or to be given back. */
const leat__value *leat__read_ahead_take(leat__read_ahead *ahead, uint64_t epoch, uint64_t position,
                                         leat__read_ahead_cell **cell);
void leat__read_ahead_give(leat__read_ahead *ahead, leat__read_ahead_cell *cell);

typedef struct leat__read_ahead_facts {
    int n_active;        /* threads that read now                    */
    uint64_t taken;      /* samples that workers did not have to read */
    uint64_t bytes_read; /* from storage                             */
    uint64_t reads;      /* that threads did                         */
    uint64_t read_ns;    /* that reading took, summed over threads   */
    uint64_t blocked_ns; /* of it, threads were blocked              */
} leat__read_ahead_facts;
leat__read_ahead_facts leat__read_ahead_facts_of(const leat__read_ahead *ahead);

#endif
