/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner: how many slots are in use, and how many threads read ahead. It sees numbers only, so that a test can drive it
 * with a clock of its own (tests/unit/test_tune.c), and no byte of a batch depends on it.
 *
 * Nothing changes unless the consumer waits for more than 2 % of the time.
 *
 * Slots. A consumer that waits although every slot was full before has met a burst: then more slots help. A consumer that waits
 * while the workers are always busy needs more work done, not more slots. Slots are never taken away again: their memory is
 * reserved, and a slot more costs nothing.
 *
 * Readers. They start when workers are blocked in reading for more than 15 % of their time, twice in a row; for a network they
 * start with the first batch. By Little's law their number is that of the samples which the workers could make, if they never
 * waited, while one read takes. That time is the shortest that reads have taken so far, since more reads at once may only make
 * each of them longer. More readers follow while workers still wait and each step brings 5 % more samples; one step may bring
 * less. All stop when, without them, workers would be blocked for less than 4 % of the time, for a second; after every stop the
 * next one takes twice as long. Begin and end are so far apart that the same storage cannot cause both, and storage that changes
 * all the time has readers all the time. */
#ifndef LEAT_RUN_TUNE_H
#define LEAT_RUN_TUNE_H

#include "base/macros.h"

typedef struct leat__tune_facts { /* since the pipeline was opened                                  */
    uint64_t now_ns;
    uint64_t batches;                       /* handed over                                      */
    uint64_t wait_ns;                       /* the consumer waited                              */
    uint64_t full_ns;                       /* every slot was full                              */
    uint64_t samples;                       /* that workers made                                */
    uint64_t watched;                       /* of them, some that were watched:                 */
    uint64_t whole_ns, blocked_ns, busy_ns; /* how long they took, were blocked in reading, and had a core */
    uint64_t reads, reads_blocked_ns;       /* of reader threads                                */
} leat__tune_facts;

typedef struct leat__tune_choice {
    int slots, readers;
} leat__tune_choice;

typedef struct
    leat__tuner { /* zeroed, then workers, most and choice are set; they may be changed between two calls */
    int n_workers;
    leat__tune_choice most, choice;
    leat__tune_facts slots_from, readers_from; /* where what is looked at began             */
    int eager;                                 /* times in a row that readers were wanted   */
    bool settling;                             /* a change has not had its effect yet       */
    bool capped;                               /* more readers do not help                  */
    int weak;                                  /* times in a row that more brought little   */
    uint64_t least_ns;                         /* of a read, the shortest time so far, on average of a look */
    uint64_t rate, capped_ns;                  /* samples in 1000 s then; time of a read then */
    uint64_t calm_ns, patience_ns;             /* storage was fast so long; and must be     */
} leat__tuner;

/* Looks at what has happened since the last time, now and then: whether tuner->choice has changed. */
bool leat__tune(leat__tuner *tuner, const leat__tune_facts *facts);

#endif
