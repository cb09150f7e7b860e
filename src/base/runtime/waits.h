/* SPDX-License-Identifier: Apache-2.0 */
/* How long a thread was blocked: neither on a core nor waiting for one. On a busy machine the time that a read takes says
 * nothing about storage, since other programs may have had the core meanwhile. The kernel counts that time for every thread
 * (/proc/thread-self/schedstat), so it can be taken off. */
#ifndef LEAT_BASE_WAITS_H
#define LEAT_BASE_WAITS_H

#include "base/macros.h"

typedef struct leat__waits { /* of one thread; zeroed, then leat__waits_open */
    bool open;
    int fd;
} leat__waits;

typedef struct leat__moment {
    uint64_t now_ns;
    uint64_t cpu_ns;    /* processor time of the thread so far                   */
    uint64_t delay_ns;  /* it could have run so long and had no core             */
    uint64_t gave_way;  /* how often it has stopped by itself, to wait for something */
    uint64_t preempted; /* if the kernel does not tell that: how often another thread took its core */
} leat__moment;

/* On the thread that is to be watched. Keeps one file open, unless the process may have few files: then time in which the
 * thread lost its core is not counted as blocked at all. */
void leat__waits_open(leat__waits *waits);
void leat__waits_close(leat__waits *waits);
/* About 1 us. On the same thread. */
leat__moment leat__waits_now(const leat__waits *waits);
/* Nanoseconds that the thread could have run and had no core, since it began; 0 if the kernel does not tell. About 1 us. */
uint64_t leat__waits_delay(const leat__waits *waits);
/* Time between two moments of a thread in which it was blocked. */
uint64_t leat__waits_between(const leat__moment *from, const leat__moment *to);
/* Nanoseconds that the threads of this process could have run and had no core, summed over those that live now. Opens a file
 * for each thread; 0 if the kernel does not tell. */
uint64_t leat__waits_queued(void);

#endif
