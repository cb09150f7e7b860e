/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runtime/waits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

enum { FEW_FILES = 1024 };

void leat__waits_open(leat__waits *waits) {
    *waits = (leat__waits){.fd = -1};
    if (leat__limits_files() >= FEW_FILES)
        waits->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    waits->open = waits->fd >= 0;
}

void leat__waits_close(leat__waits *waits) {
    if (waits->open) close(waits->fd);
    *waits = (leat__waits){.fd = -1};
}

/* "run wait slices": the second number is the time in the queue of a core. */
static bool read_delay(int fd, uint64_t *ns) {
    char text[80], *end;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return false;
    text[n] = 0;
    strtoull(text, &end, 10);
    if (*end != ' ') return false;
    *ns = strtoull(end, NULL, 10);
    return true;
}

uint64_t leat__waits_queued(void) {
    uint64_t sum = 0, one;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[sizeof task->d_name + 40];
        if (task->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        if (read_delay(fd, &one)) sum += one;
        close(fd);
    }
    if (tasks) closedir(tasks);
    return sum;
}

uint64_t leat__waits_delay(const leat__waits *waits) {
    uint64_t ns = 0;
    return waits->open && read_delay(waits->fd, &ns) ? ns : 0;
}

leat__moment leat__waits_now(const leat__waits *waits) {
    leat__moment moment = {.now_ns = leat__now_ns(), .cpu_ns = leat__thread_cpu_ns()};
    struct rusage usage;
    const bool told = waits->open && read_delay(waits->fd, &moment.delay_ns);
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return moment;
    moment.gave_way = (uint64_t)usage.ru_nvcsw;
    if (!told) moment.preempted = (uint64_t)usage.ru_nivcsw;
    return moment;
}

uint64_t leat__waits_between(const leat__moment *from, const leat__moment *to) {
    const uint64_t wall = to->now_ns - from->now_ns;
    const uint64_t other = to->cpu_ns - from->cpu_ns + (to->delay_ns - from->delay_ns);
    /* A hypervisor that takes the core away is seen by no counter but the clock: the thread itself did not stop. */
    if (to->gave_way == from->gave_way || to->preempted != from->preempted) return 0;
    return other < wall ? wall - other : 0;
}
