/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: thin wrappers of pthreads, and one parallel loop. Sources use threads only
 * through leat__parallel; its callbacks share no memory that they write. */
#ifndef LEAT_BASE_THREAD_H
#define LEAT_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/locks.h"

typedef struct leat__mutex {
    pthread_mutex_t mutex;
    leat__lock_rank rank;
} leat__mutex;
typedef pthread_cond_t leat__cond;

static inline void leat__lock(leat__mutex *mutex) {
    leat__lock_taken(mutex->rank);
    pthread_mutex_lock(&mutex->mutex);
}
static inline void leat__unlock(leat__mutex *mutex) {
    leat__lock_given(mutex->rank); /* before: another thread may free the mutex as soon as it can be had */
    pthread_mutex_unlock(&mutex->mutex);
}
int leat__mutex_init(leat__mutex *mutex, leat__lock_rank rank, leat_error *err);
void leat__mutex_destroy(leat__mutex *mutex);
/* Waits on the monotonic clock. */
int leat__cond_init(leat__cond *cond, leat_error *err);
static inline void leat__cond_wait(leat__cond *cond, leat__mutex *mutex) {
    pthread_cond_wait(cond, &mutex->mutex);
}
/* False when the time ran out. */
bool leat__cond_wait_for(leat__cond *cond, leat__mutex *mutex, uint64_t ns);

/* Work that is done when a thread first asks for it, and then never again: threads that ask meanwhile wait for it. */
typedef struct leat__once {
    leat__mutex mutex;
    atomic_int result; /* 0: not done yet */
} leat__once;
int leat__once_init(leat__once *once, leat_error *err);
void leat__once_destroy(leat__once *once);
/* fn returns > 0, which every caller gets from then on, or an error: then it is not done, and the next call tries again. */
int leat__once_do(leat__once *once, int (*fn)(void *user, leat_error *err), void *user, leat_error *err);
/* What fn has returned; 0: it is not done. What fn has written is visible. */
static inline int leat__once_result(const leat__once *once) {
    return atomic_load_explicit(&once->result, memory_order_acquire);
}

/* Starts a thread with all signals blocked, named name (at most 15 characters). */
int leat__thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name,
                       leat_error *err);

/* The same with a stack of so many bytes; 0: as the system has it. */
int leat__thread_start_sized(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument,
                             const char *name, leat_error *err);

/* Calls fn(user, item, worker, err) for every item in [0, n), items in any order, worker in [0, n_threads).
 * The first failure (the lowest item of those that failed) stops the rest and is returned. */
typedef int (*leat__parallel_fn)(void *user, uint64_t item, int worker, leat_error *err);
int leat__parallel(int n_threads, uint64_t n, leat__parallel_fn fn, void *user, leat_error *err);

#endif
