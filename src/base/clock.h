/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Sources, decoders and kernels do not read them: the code that calls a stage times it. */
#ifndef LEAT_BASE_CLOCK_H
#define LEAT_BASE_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
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
/* Processor time of the calling thread. */
static inline uint64_t leat__thread_cpu_ns(void) {
    return leat__clock_read(CLOCK_THREAD_CPUTIME_ID);
}
/* How often the calling thread has blocked, for example on storage. Preemption by other threads does not count. */
static inline uint64_t leat__thread_waits(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
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
