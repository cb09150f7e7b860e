/* SPDX-License-Identifier: Apache-2.0 */
/* What the system says about cgroups, as any bytes: a made-up tree of /proc and /sys/fs/cgroup. Zero bytes part the files.
 * tries: base/limits.* */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[100];
static const char *const folders[] = {"",        "/proc",          "/proc/self",      "/sys",
                                      "/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/a"};
static const char *const names[] = {"/proc/self/cgroup",
                                    "/proc/self/mountinfo",
                                    "/sys/fs/cgroup/a/memory.max",
                                    "/sys/fs/cgroup/a/memory.current",
                                    "/sys/fs/cgroup/a/memory.stat",
                                    "/sys/fs/cgroup/a/memory.high",
                                    "/sys/fs/cgroup/a/cpu.max",
                                    "/sys/fs/cgroup/a/cpu.stat",
                                    "/sys/fs/cgroup/a/memory.pressure",
                                    "/proc/meminfo",
                                    "/proc/pressure"};

static void require(bool truth) {
    if (!truth) abort();
}

static void clean_up(void) {
    char path[200];
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        unlink(path);
    }
    for (size_t i = LEAT_COUNT(folders); i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        rmdir(path);
    }
}

static void set_up(void) {
    char path[200];
    snprintf(root, sizeof root, "%s/leat-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    atexit(clean_up);
    for (size_t i = 1; i < LEAT_COUNT(folders); i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        require(mkdir(path, 0777) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!root[0]) set_up();
    const uint8_t *at = data, *end = data + size;
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        char path[200];
        const uint8_t *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : end;
        if (!stop) stop = end;
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        require(fd >= 0 && write(fd, at, (size_t)(stop - at)) == stop - at && close(fd) == 0);
        at = stop < end ? stop + 1 : end;
    }
    leat__limits_memory(root);
    const double cores = leat__limits_cores(root), pressure = leat__limits_pressure(root);
    require(cores >= 0 && pressure >= 0);
    leat__limits_throttled(root);
    return 0;
}
