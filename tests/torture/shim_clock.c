/* SPDX-License-Identifier: Apache-2.0 */
/* A wall clock that jumps: a library that is loaded in front of the C library's. Every look at the time of day is off by up to
 * CLOCK_JUMP seconds, in any direction, each time by another amount. Clocks that never go back are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long jump(void) {
    static atomic_ulong calls;
    const char *text = getenv("CLOCK_JUMP");
    const long most = text ? atol(text) : 0;
    if (most <= 0) return 0;
    uint64_t x = (uint64_t)atomic_fetch_add(&calls, 1) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (long)(x >> 33) % (2 * most + 1) - most;
}

int clock_gettime(clockid_t which, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    const int rc = real(which, t);
    if (rc == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE || which == CLOCK_TAI))
        t->tv_sec += jump();
    return rc;
}

time_t time(time_t *out) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}
