/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what happens to the locks of a program: bench/scale.py compiles and preloads it. When the program ends, it writes a line of
 * JSON to the standard error for the lock that was taken most often:
 *
 *     locks {"taken": 1234, "waited": 56, "moved": 78, "held_ns": 90123, "p50_ns": 128, "p99_ns": 1024, "max_ns": 20000}
 *
 * waited: another thread had the lock; moved: the thread before was another one, so that the lock and what it guards came from another
 * core's cache if each thread has a core. Times are processor time of the thread that holds the lock: what it would be if each thread
 * had a core. Reading that clock adds about 200 ns to each. Percentiles are upper ends of powers of two. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { LOCKS_MAX = 1 << 16, POWERS = 40 };

typedef struct counted { /* guarded by the lock that it counts */
    _Atomic(pthread_mutex_t *) lock;
    uint64_t taken, waited, moved, held_ns, max_ns, since_ns;
    uint64_t power[POWERS]; /* [k] held for less than 2^k ns */
    pthread_t last;
} counted;

static counted all[LOCKS_MAX];
static int (*real_lock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_timed)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static void *find(const char *name) {
    void *f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return f ? f : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
    *(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    *(void **)&real_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    *(void **)&real_wait = find("pthread_cond_wait");
    *(void **)&real_timed = find("pthread_cond_timedwait");
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* NULL if there are too many. */
static counted *of(pthread_mutex_t *lock) {
    size_t at = ((uintptr_t)lock >> 4) * 2654435761u % LOCKS_MAX;
    for (int i = 0; i < 64; i++, at = (at + 1) % LOCKS_MAX) {
        pthread_mutex_t *found = atomic_load(&all[at].lock);
        if (!found && atomic_compare_exchange_strong(&all[at].lock, &found, lock)) return &all[at];
        if (found == lock) return &all[at];
    }
    return NULL;
}

static void taken(pthread_mutex_t *lock, int waited) {
    counted *c = of(lock);
    if (!c) return;
    const pthread_t self = pthread_self();
    c->taken++;
    c->waited += (uint64_t)waited;
    c->moved += c->taken > 1 && !pthread_equal(c->last, self);
    c->last = self;
    c->since_ns = now_ns();
}

static void given(pthread_mutex_t *lock) {
    counted *c = of(lock);
    if (!c) return;
    const uint64_t ns = now_ns() - c->since_ns;
    int k = 0;
    while (k < POWERS - 1 && ns >> k) k++;
    c->power[k]++;
    c->held_ns += ns;
    if (ns > c->max_ns) c->max_ns = ns;
}

int pthread_mutex_lock(pthread_mutex_t *lock) {
    if (!real_lock) begin();
    const int busy = pthread_mutex_trylock(lock) == EBUSY;
    const int rc = busy ? real_lock(lock) : 0;
    if (rc == 0) taken(lock, busy);
    return rc;
}

int pthread_mutex_unlock(pthread_mutex_t *lock) {
    if (!real_unlock) begin();
    given(lock);
    return real_unlock(lock);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock) {
    given(lock);
    const int rc = real_wait(cond, lock);
    taken(lock, 0);
    return rc;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until) {
    given(lock);
    const int rc = real_timed(cond, lock, until);
    taken(lock, 0);
    return rc;
}

static uint64_t percentile(const counted *c, uint64_t per_cent) {
    uint64_t n = 0, seen = 0;
    for (int k = 0; k < POWERS; k++) n += c->power[k];
    for (int k = 0; k < POWERS; k++) {
        seen += c->power[k];
        if (seen * 100 >= n * per_cent) return UINT64_C(1) << k;
    }
    return 0;
}

__attribute__((destructor)) static void end(void) {
    const counted *most = &all[0];
    for (int i = 1; i < LOCKS_MAX; i++)
        if (all[i].taken > most->taken) most = &all[i];
    fprintf(stderr,
            "locks {\"taken\": %llu, \"waited\": %llu, \"moved\": %llu, \"held_ns\": %llu, \"p50_ns\": %llu, "
            "\"p99_ns\": %llu, "
            "\"max_ns\": %llu}\n",
            (unsigned long long)most->taken, (unsigned long long)most->waited,
            (unsigned long long)most->moved, (unsigned long long)most->held_ns,
            (unsigned long long)percentile(most, 50), (unsigned long long)percentile(most, 99),
            (unsigned long long)most->max_ns);
}
