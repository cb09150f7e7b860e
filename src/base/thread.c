/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/mem.h"

#ifdef LEAT_CHECK_LOCKS
static _Thread_local unsigned held; /* bit i: the lock of rank i */

void leat__lock_taken(leat__lock_rank rank) {
    assert(held >> rank == 0); /* it comes before one that this thread has */
    held |= 1u << rank;
}

void leat__lock_given(leat__lock_rank rank) {
    assert(held >> rank & 1);
    held &= ~(1u << rank);
}

void leat__lock_check_work(void) {
    assert(!(held >> LEAT_LOCK_SCHED & 1));
}
#endif

int leat__mutex_init(leat__mutex *mutex, leat__lock_rank rank, leat_error *err) {
    mutex->rank = rank;
    const int rc = pthread_mutex_init(&mutex->mutex, NULL);
    return rc ? leat__fail_sys(err, LEAT_ERR_THREAD, rc, "cannot make a mutex") : 0;
}

void leat__mutex_destroy(leat__mutex *mutex) {
    pthread_mutex_destroy(&mutex->mutex);
}

int leat__cond_init(leat__cond *cond, leat_error *err) {
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    if (rc == 0) {
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        rc = pthread_cond_init(cond, &attr);
        pthread_condattr_destroy(&attr);
    }
    return rc ? leat__fail_sys(err, LEAT_ERR_THREAD, rc, "cannot make a condition variable") : 0;
}

bool leat__cond_wait_for(leat__cond *cond, leat__mutex *mutex, uint64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    return pthread_cond_timedwait(cond, &mutex->mutex, &until) != ETIMEDOUT;
}

int leat__once_init(leat__once *once, leat_error *err) {
    atomic_init(&once->result, 0);
    return leat__mutex_init(&once->mutex, LEAT_LOCK_ONCE, err);
}

void leat__once_destroy(leat__once *once) {
    leat__mutex_destroy(&once->mutex);
}

int leat__once_do(leat__once *once, int (*fn)(void *user, leat_error *err), void *user, leat_error *err) {
    leat__lock(&once->mutex);
    int rc = leat__once_result(once);
    if (rc == 0) {
        rc = fn(user, err);
        if (rc > 0) atomic_store_explicit(&once->result, rc, memory_order_release);
    }
    leat__unlock(&once->mutex);
    return rc;
}

int leat__thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name,
                       leat_error *err) {
    return leat__thread_start_sized(thread, 0, run, argument, name, err);
}

int leat__thread_start_sized(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument,
                             const char *name, leat_error *err) {
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc) return leat__fail_sys(err, LEAT_ERR_THREAD, rc, "cannot start thread %s", name);
    if (stack_bytes) pthread_attr_setstacksize(&attr, stack_bytes);
    /* Signals belong to the program: its handlers must never run on one of our threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(thread, &attr, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc) return leat__fail_sys(err, LEAT_ERR_THREAD, rc, "cannot start thread %s", name);
    pthread_setname_np(*thread, name);
    return 0;
}

typedef struct parallel_job {
    leat__parallel_fn fn;
    void *user;
    uint64_t n;
    atomic_uint_least64_t next;
    leat__mutex mutex; /* guards what follows */
    uint64_t failed;   /* lowest item that failed, n if none */
    int rc;
    leat_error *err;
    leat__account *account; /* of the caller */
} parallel_job;

typedef struct parallel_worker {
    parallel_job *job;
    int number;
    pthread_t thread;
} parallel_worker;

static void *run_items(void *argument) {
    parallel_worker *self = argument;
    parallel_job *job = self->job;
    leat_error err;
    leat__account_use(job->account);
    for (;;) {
        const uint64_t item = atomic_fetch_add(&job->next, 1);
        if (item >= job->n) return NULL;
        leat__error_clear(&err);
        const int rc = job->fn(job->user, item, self->number, &err);
        if (rc >= 0) continue;
        leat__lock(&job->mutex);
        if (item < job->failed) {
            job->failed = item;
            job->rc = rc;
            if (job->err) *job->err = err;
        }
        leat__unlock(&job->mutex);
        atomic_store(&job->next, job->n);
    }
}

int leat__parallel(int n_threads, uint64_t n, leat__parallel_fn fn, void *user, leat_error *err) {
    parallel_worker workers[64];
    parallel_job job = {
        .fn = fn, .user = user, .n = n, .failed = UINT64_MAX, .err = err, .account = leat__account_now()};
    LEAT_TRY(leat__mutex_init(&job.mutex, LEAT_LOCK_PARALLEL, err));
    n_threads = LEAT_CLAMP(n_threads, 1, (int)LEAT_COUNT(workers));
    if ((uint64_t)n_threads > n) n_threads = (int)LEAT_MAX(n, (uint64_t)1);
    int started = 1;
    for (int i = 0; i < n_threads; i++) workers[i] = (parallel_worker){.job = &job, .number = i};
    /* Fewer threads than asked for is slower, not wrong. */
    while (started < n_threads && leat__thread_start(&workers[started].thread, run_items, &workers[started],
                                                     "leat-parallel", NULL) == 0)
        started++;
    run_items(&workers[0]);
    for (int i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
    leat__mutex_destroy(&job.mutex);
    return job.rc;
}
