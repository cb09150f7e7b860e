/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files that are there for a while, and files without what the page cache holds of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/runtime/process.h"

int leat__dir_temporary(char *out, size_t cap, const char *parent, leat_error *err) {
    const char *set = getenv("TMPDIR");
    const char *folder = parent ? parent : set && *set ? set : "/tmp";
    if ((size_t)snprintf(out, cap, "%s/leat-XXXXXX", folder) >= cap)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the name of the temporary folder is too long");
    if (mkdtemp(out)) return 0;
    const int sys = errno;
    out[0] = 0;
    return leat__fail_sys(err, sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO, sys,
                          "cannot make a temporary folder in %s", folder);
}

typedef struct removal {
    const char *folder;
    int depth;
} removal;

static int remove_tree(const char *path, int depth);

static int remove_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)err, (void)kind;
    const removal *r = user;
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", r->folder, name) >= sizeof path) return 0;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) remove_tree(path, r->depth + 1);
    else unlink(path);
    return 0;
}

static int remove_tree(const char *path, int depth) {
    enum { DEPTH_MAX = 16 };
    removal r = {.folder = path, .depth = depth};
    if (depth < DEPTH_MAX) leat__dir_list(path, remove_entry, &r, NULL);
    return rmdir(path);
}

void leat__dir_remove(const char *path) {
    if (*path) remove_tree(path, 0);
}

void leat__dir_remove_empty(const char *path) {
    rmdir(path);
}

uint64_t leat__dir_free(const char *path) {
    struct statvfs disk;
    return statvfs(path, &disk) == 0 ? (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize : 0;
}

/* ------------------------------------------------------------------------------- files being written */

static const int64_t day_ns = INT64_C(86400) * 1000000000;

static uint32_t this_place(void) {
    return (uint32_t)leat__process_place();
}

bool leat__temporary_name(char *out, size_t cap, const char *path) {
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    const int64_t pid = getpid();
    const int used =
        snprintf(out, cap, "%.*s.%s.tmp-%08" PRIx32 "-%" PRId64 "-%" PRIu64 "-%u", folder, path,
                 path + folder, this_place(), pid, leat__process_start(pid), atomic_fetch_add(&counter, 1));
    return used > 0 && (size_t)used < cap;
}

typedef struct left_by { /* a process that has written a temporary file */
    size_t n;            /* of NAME                                     */
    uint32_t place;
    uint64_t pid, start; /* start 0: not known                          */
} left_by;

static bool read_name(const char *name, left_by *out) {
    const char *mark = NULL;
    for (const char *at = name; (at = strstr(at, ".tmp-")) != NULL; at++) mark = at;
    *out = (left_by){0};
    if (name[0] != '.' || !mark || mark - name < 2) return false;
    out->n = (size_t)(mark - name - 1);
    const char *at = mark + 5;
    char *end;
    uint64_t number[4] = {0};
    int n = 0;
    if (strspn(at, "0123456789abcdef") == 8 && at[8] == '-') {
        out->place = (uint32_t)strtoul(at, NULL, 16);
        at += 9;
    }
    const bool placed = at > mark + 5;
    for (; n < 4 && *at >= '0' && *at <= '9'; n++) {
        number[n] = strtoull(at, &end, 10);
        at = *end == '-' ? end + 1 : end;
        if (!*end) {
            out->pid = number[0];
            out->start = placed ? number[1] : 0;
            return n + 1 == (placed ? 3 : 2);
        }
    }
    return false;
}

size_t leat__temporary_of(const char *name) {
    left_by by;
    return read_name(name, &by) ? by.n : 0;
}

typedef struct sweep {
    const char *folder;
    uint32_t place; /* 0: nothing is known of processes here */
} sweep;

static int sweep_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)err;
    const sweep *s = user;
    left_by by;
    char path[PATH_MAX];
    struct stat st;
    if (name[0] != '.' || kind == 'd' || !read_name(name, &by)) return 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", s->folder, name) >= sizeof path) return 0;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
    /* Processes of other users may be hidden: that they are not found says nothing. */
    const bool known = by.start != 0 && s->place != 0 && by.place == s->place && st.st_uid == geteuid();
    const int64_t written = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    const uint64_t start = known ? leat__process_start((int64_t)by.pid) : 0;
    if (known && start == 0 && leat__process_start(getpid()) == 0) return 0; /* no descriptor to ask with */
    if (known ? start != by.start : leat__wall_ns() - written > day_ns) unlink(path);
    return 0;
}

void leat__temporaries_remove(const char *folder) {
    const bool told = leat__process_start(getpid()) != 0; /* /proc is there */
    sweep s = {.folder = folder, .place = told ? this_place() : 0};
    leat__dir_list(folder, sweep_entry, &s, NULL);
}

bool leat__file_forget(const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool done = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    close(fd);
    return done;
}
