/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Sources, decoders and kernels do not read them: the code that calls a stage times it. */
#ifndef LEAT_BASE_CLOCK_H
#define LEAT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t leat__clock_read(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
/* Nanoseconds that never go back. */
static inline uint64_t leat__now_ns(void) {
    return leat__clock_read(CLOCK_MONOTONIC);
}
/* What reading it takes, about. */
static inline uint64_t leat__clock_cost_ns(void) {
    enum { READS = 32 };
    const uint64_t began = leat__now_ns();
    for (int i = 1; i < READS; i++) leat__now_ns();
    return (leat__now_ns() - began) / READS;
}
/* Processor time of the calling thread. */
static inline uint64_t leat__thread_cpu_ns(void) {
    return leat__clock_read(CLOCK_THREAD_CPUTIME_ID);
}
/* Wall-clock time since 1970, to compare with the times of files. */
static inline int64_t leat__wall_ns(void) {
    return (int64_t)leat__clock_read(CLOCK_REALTIME);
}

static inline void leat__sleep_ns(uint64_t ns) {
    const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

#endif
