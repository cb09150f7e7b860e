# SPDX-License-Identifier: Apache-2.0
"""Slow things of a fixed cost, for the tests of the doctor: a library that is loaded in front of the others.

    OPEN_US      microseconds that opening a file below SLOW takes
    READ_BPS     bytes a second that all reads below SLOW together give
    PNG_US       microseconds that libpng takes in front of the first row of a picture
    FAKE         a folder that stands in front of /proc and /sys/fs/cgroup for files that it has
"""
import os
import subprocess
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 4096 };
static unsigned char slow[FILES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double free_at;

static double number(const char *name) { const char *text = getenv(name); return text ? atof(text) : 0; }
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void wait_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    if (seconds > 0) nanosleep(&t, NULL);
}

static int opened(int fd, const char *path) {
    const char *prefix = getenv("SLOW");
    if (fd < 0 || fd >= FILES) return fd;
    slow[fd] = prefix && strncmp(path, prefix, strlen(prefix)) == 0;
    if (slow[fd]) wait_for(number("OPEN_US") * 1e-6);
    return fd;
}
int open64(const char *path, int flags, ...) {
    va_list args; va_start(args, flags); int mode = va_arg(args, int); va_end(args);
    return opened(((int (*)(const char *, int, ...))next("open64"))(path, flags, mode), path);
}
int openat64(int at, const char *path, int flags, ...) {
    va_list args; va_start(args, flags); int mode = va_arg(args, int); va_end(args);
    return opened(((int (*)(int, const char *, int, ...))next("openat64"))(at, path, flags, mode), path);
}
/* All readers share the bytes: each waits until its own have come. */
static ssize_t arrived(int fd, ssize_t n) {
    double rate = number("READ_BPS");
    if (n <= 0 || fd < 0 || fd >= FILES || !slow[fd] || rate <= 0) return n;
    pthread_mutex_lock(&mutex);
    double t = now();
    free_at = (free_at > t ? free_at : t) + n / rate;
    double until = free_at;
    pthread_mutex_unlock(&mutex);
    wait_for(until - t);
    return n;
}
ssize_t pread64(int fd, void *to, size_t n, off64_t at) {
    return arrived(fd, ((ssize_t (*)(int, void *, size_t, off64_t))next("pread64"))(fd, to, n, at));
}
ssize_t preadv64(int fd, const struct iovec *to, int n, off64_t at) {
    return arrived(fd, ((ssize_t (*)(int, const struct iovec *, int, off64_t))next("preadv64"))(fd, to, n, at));
}
FILE *fopen64(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = (FILE *(*)(const char *, const char *))next("fopen64");
    const char *fake = getenv("FAKE");
    char other[4096];
    if (!fake || (strncmp(path, "/proc/", 6) && strncmp(path, "/sys/", 5))) return real(path, mode);
    snprintf(other, sizeof other, "%s%s", fake, path);
    return real(access(other, R_OK) == 0 ? other : path, mode);
}
void png_read_info(void *png, void *info) {
    wait_for(number("PNG_US") * 1e-6);
    ((void (*)(void *, void *))next("png_read_info"))(png, info);
}
"""


def build(folder: Path) -> Path:
    """The library, compiled into a folder."""
    source, library = folder / "faults.c", folder / "faults.so"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library: Path, **faults: object) -> dict[str, str]:
    return {"LD_PRELOAD": str(library), **{key: str(value) for key, value in faults.items()}}


def quota_group(name: str, cores: float) -> Path | None:
    """A cgroup with a processor quota, of version 1 or 2; None where this process may not make one."""
    for top in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        group = top / name
        try:
            group.mkdir()
            if (group / "cpu.cfs_quota_us").exists():
                (group / "cpu.cfs_quota_us").write_text(str(int(cores * 100000)))
            else:
                (group / "cpu.max").write_text(f"{int(cores * 100000)} 100000")
            return group
        except OSError:
            if group.exists():
                group.rmdir()
    return None


def begin(group: Path | None = None) -> None:
    """For subprocess's preexec_fn: the child runs in front of other programs where that is allowed, and under a quota."""
    if group:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        os.nice(-15)
    except PermissionError:
        pass
