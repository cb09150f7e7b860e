/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails once, or from some call on: a library that is loaded in front of the C library's.
 *
 *   DISK_BELOW  folders with colons between them: calls on files below them count
 *   DISK_KIND   eio, enospc, eintr, short or block
 *   DISK_AT     the number of the call that fails, from 1 on; 0 = none
 *   DISK_MORE   how many calls fail from there on; 0 = all
 *   DISK_MS     how long a blocked call takes
 *   DISK_LOG    a file that gets the number of calls that this kind applies to, at the end of the process
 *
 * A kind counts the calls that can fail so: no space for what writes, short for what transfers bytes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 4096, FOLDERS = 64 };
enum { READS = 1, WRITES = 2, TRANSFERS = 4, INTERRUPTIBLE = 8 }; /* what a call is */
static atomic_bool watched[FILES];
static _Atomic(DIR *) folders[FOLDERS];
static atomic_long counter;

#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

static bool below(const char *path) {
    const char *at = getenv("DISK_BELOW");
    while (path && at && *at) {
        const size_t n = strcspn(at, ":");
        if (strncmp(path, at, n) == 0 && (path[n] == '/' || path[n] == 0)) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static bool of_fd(int fd) {
    return fd >= 0 && fd < FILES && watched[fd];
}

/* Whether this call fails; then errno is set. A blocked call only comes later. */
static bool fails(int what) {
    const char *kind = getenv("DISK_KIND");
    if (!kind) return false;
    const bool full = !strcmp(kind, "enospc"), interrupted = !strcmp(kind, "eintr"),
               brief = !strcmp(kind, "short");
    if ((full && !(what & WRITES)) || (interrupted && !(what & INTERRUPTIBLE)) ||
        (brief && !(what & TRANSFERS)))
        return false;
    const long call = atomic_fetch_add(&counter, 1) + 1, from = number("DISK_AT", 0),
               more = number("DISK_MORE", 1);
    if (from == 0 || call < from || (more > 0 && call >= from + more)) return false;
    if (!strcmp(kind, "block")) {
        const long ms = number("DISK_MS", 50);
        const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
        syscall(SYS_nanosleep, &t, NULL);
        return false;
    }
    errno = full ? ENOSPC : interrupted ? EINTR : EIO;
    return true;
}

/* What is left of n bytes when a short transfer was chosen; -1 when the call fails. */
static ssize_t part(int what, size_t n) {
    const char *kind = getenv("DISK_KIND");
    if (!fails(what | TRANSFERS | INTERRUPTIBLE)) return (ssize_t)n;
    return !strcmp(kind, "short") ? (ssize_t)(n > 1 ? 1 : n) : -1;
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("DISK_LOG");
    if (!path) return;
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)counter);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (syscall(SYS_write, fd, text, n) != n) return;
    syscall(SYS_close, fd);
}

static int opened(int fd, bool is_watched) {
    if (fd >= 0 && fd < FILES) watched[fd] = is_watched;
    return fd;
}

static int what_of(int flags) {
    return INTERRUPTIBLE | (flags & (O_CREAT | O_TRUNC) ? WRITES : READS);
}

#define MODE                                                  \
    va_list args;                                             \
    va_start(args, flags);                                    \
    const int mode = flags & O_CREAT ? va_arg(args, int) : 0; \
    va_end(args)
#define OPEN(name)                                                                     \
    int name(const char *path, int flags, ...) {                                       \
        REAL(name);                                                                    \
        MODE;                                                                          \
        const bool in = below(path);                                                   \
        return in && fails(what_of(flags)) ? -1 : opened(real(path, flags, mode), in); \
    }
#define OPENAT(name)                                                                       \
    int name(int at, const char *path, int flags, ...) {                                   \
        REAL(name);                                                                        \
        MODE;                                                                              \
        const bool in = of_fd(at) || below(path);                                          \
        return in && fails(what_of(flags)) ? -1 : opened(real(at, path, flags, mode), in); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

FILE *fopen64(const char *path, const char *mode) {
    REAL(fopen64);
    const bool in = below(path);
    if (in && fails(INTERRUPTIBLE | (mode[0] == 'r' ? READS : WRITES))) return NULL;
    FILE *file = real(path, mode);
    if (file) opened(fileno(file), in);
    return file;
}

/* Closed it is in any case: what an error of close tells is that bytes may be lost. */
int close(int fd) {
    REAL(close);
    const bool in = of_fd(fd);
    if (in) watched[fd] = false;
    if (in && fails(WRITES | INTERRUPTIBLE)) {
        const int sys = errno;
        real(fd);
        errno = sys;
        return -1;
    }
    return real(fd);
}

#define TRANSFER(name, what, pointer, offset)                              \
    ssize_t name(int fd, pointer bytes, size_t n offset(, off64_t at)) {   \
        REAL(name);                                                        \
        const ssize_t left = of_fd(fd) ? part(what, n) : (ssize_t)n;       \
        return left < 0 ? -1 : real(fd, bytes, (size_t)left offset(, at)); \
    }
#define WITH(...) __VA_ARGS__
#define WITHOUT(...)
TRANSFER(read, READS, void *, WITHOUT)
TRANSFER(write, WRITES, const void *, WITHOUT)
TRANSFER(pread64, READS, void *, WITH)
TRANSFER(pwrite64, WRITES, const void *, WITH)

ssize_t preadv64(int fd, const struct iovec *to, int n, off64_t at) {
    REAL(preadv64);
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += to[i].iov_len;
    const ssize_t left = of_fd(fd) ? part(READS, bytes) : (ssize_t)bytes;
    if (left < 0) return -1;
    if ((size_t)left == bytes) return real(fd, to, n, at);
    const struct iovec one = {to[0].iov_base, to[0].iov_len > 0};
    return real(fd, &one, 1, at);
}

#define ON_FD(name, what, head, call)                     \
    int name head {                                       \
        REAL(name);                                       \
        return of_fd(fd) && fails(what) ? -1 : real call; \
    }
ON_FD(fsync, WRITES | INTERRUPTIBLE, (int fd), (fd))
ON_FD(fdatasync, WRITES | INTERRUPTIBLE, (int fd), (fd))
ON_FD(ftruncate64, WRITES | INTERRUPTIBLE, (int fd, off64_t n), (fd, n))
ON_FD(fstat64, READS, (int fd, struct stat64 *st), (fd, st))
ON_FD(flock, INTERRUPTIBLE, (int fd, int how), (fd, how))

#define ON_PATH(name, what, head, call)                     \
    int name head {                                         \
        REAL(name);                                         \
        return below(path) && fails(what) ? -1 : real call; \
    }
ON_PATH(stat64, READS, (const char *path, struct stat64 *st), (path, st))
ON_PATH(lstat64, READS, (const char *path, struct stat64 *st), (path, st))
ON_PATH(mkdir, WRITES, (const char *path, mode_t mode), (path, mode))
ON_PATH(unlink, WRITES, (const char *path), (path))
ON_PATH(rename, WRITES, (const char *path, const char *to), (path, to))

int fstatat64(int at, const char *path, struct stat64 *st, int flags) {
    REAL(fstatat64);
    return (of_fd(at) || below(path)) && fails(READS) ? -1 : real(at, path, st, flags);
}

int renameat(int at, const char *path, int at_to, const char *to) {
    REAL(renameat);
    return (of_fd(at) || below(path)) && fails(WRITES) ? -1 : real(at, path, at_to, to);
}

int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    return (of_fd(at) || below(path)) && fails(WRITES) ? -1 : real(at, path, flags);
}

static DIR *listed(DIR *dir, bool in) {
    DIR *none = NULL;
    for (int i = 0; dir && in && i < FOLDERS && !atomic_compare_exchange_strong(&folders[i], &none, dir); i++)
        none = NULL;
    return dir;
}

DIR *fdopendir(int fd) {
    REAL(fdopendir);
    return of_fd(fd) && fails(READS) ? NULL : listed(real(fd), of_fd(fd));
}

DIR *opendir(const char *path) {
    REAL(opendir);
    const bool in = below(path);
    if (in && fails(READS | INTERRUPTIBLE)) return NULL;
    return listed(real(path), in);
}

struct dirent64 *readdir64(DIR *dir) {
    REAL(readdir64);
    for (int i = 0; i < FOLDERS; i++)
        if (folders[i] == dir && fails(READS)) return NULL;
    return real(dir);
}

int closedir(DIR *dir) {
    REAL(closedir);
    for (int i = 0; i < FOLDERS; i++) {
        DIR *held = dir;
        atomic_compare_exchange_strong(&folders[i], &held, NULL);
    }
    return real(dir);
}
