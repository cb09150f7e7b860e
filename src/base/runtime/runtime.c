/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runtime/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define SUFFIX ".leattop"
enum { ENTRIES_MAX = 4096, TRIES = 4 };
static const uint64_t retry_ns = 2000000;

bool leat__runtime_off(void) {
    const char *word = getenv("LEAT_TOP");
    return word && strcmp(word, "0") == 0;
}

/* $XDG_RUNTIME_DIR; NULL if it is another user's, as behind sudo: a folder of ours would be in that user's way. */
static const char *users_folder(void) {
    const char *path = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    return path && path[0] == '/' && stat(path, &st) == 0 && st.st_uid == geteuid() ? path : NULL;
}

bool leat__runtime_path(int i, char *out, size_t cap) {
    const char *own = getenv("LEAT_TOP");
    if (own && own[0] == '/') {
        const int n = snprintf(out, cap, "%s", own);
        return i == 0 && n > 0 && (size_t)n < cap;
    }
    const char *users = users_folder();
    if (!users) i++;
    const int n = i == 0   ? snprintf(out, cap, "%s/leat", users)
                  : i == 1 ? snprintf(out, cap, "/tmp/leat-%ld", (long)geteuid())
                           : -1;
    return n > 0 && (size_t)n < cap;
}

/* ------------------------------------------------------------------------------------------ writing */

/* The folder, which is this user's alone afterwards; -1: it cannot be. */
static int make_folder(const char *path) {
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && ((st.st_mode & 077) == 0 || fchmod(fd, 0700) == 0))
        return fd;
    close(fd);
    return -1;
}

bool leat__runtime_create(leat__runtime_file *file, int64_t pid, uint64_t id) {
    char path[PATH_MAX];
    *file = (leat__runtime_file){.folder = -1, .fd = -1};
    snprintf(file->name, sizeof file->name, "%" PRId64 "-%" PRIx64 SUFFIX, pid, id);
    for (int i = 0; file->fd < 0 && leat__runtime_path(i, path, sizeof path); i++) {
        file->folder = make_folder(path);
        if (file->folder < 0) continue;
        file->fd =
            openat(file->folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file->fd >= 0) break;
        close(file->folder);
        file->folder = -1;
    }
    return file->fd >= 0;
}

static void close_file(leat__runtime_file *file) {
    if (file->fd >= 0) close(file->fd);
    if (file->folder >= 0) close(file->folder);
    file->fd = file->folder = -1;
}

bool leat__runtime_write(leat__runtime_file *file, const void *bytes, size_t n) {
    struct stat st;
    if (file->fd < 0) return false;
    if (fstat(file->fd, &st) == 0 && st.st_nlink > 0 && pwrite(file->fd, bytes, n, 0) == (ssize_t)n)
        return true;
    leat__runtime_remove(file);
    return false;
}

void leat__runtime_remove(leat__runtime_file *file) {
    if (file->fd >= 0) unlinkat(file->folder, file->name, 0);
    close_file(file);
}

/* ------------------------------------------------------------------------------------------ reading */

/* The number in "PID-ID.leattop"; 0: the name is no such. */
static int64_t pid_of(const char *name) {
    char *end;
    if (name[0] < '1' || name[0] > '9') return 0;
    errno = 0;
    const long long pid = strtoll(name, &end, 10);
    if (errno || pid > INT_MAX || *end != '-') return 0;
    const char *id = end + 1;
    const size_t digits = strspn(id, "0123456789abcdef");
    return digits >= 1 && digits <= 16 && strcmp(id + digits, SUFFIX) == 0 ? pid : 0;
}

/* A regular file of this user with one name: its bytes, or -1. Anything else may be a trap. */
static ssize_t read_report(int folder, const char *name, uint8_t *bytes, double *age_s) {
    struct stat st;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
        n = pread(fd, bytes, LEAT_RUNTIME_BYTES_MAX, 0);
    if (n >= 0)
        *age_s =
            (double)leat__wall_ns() * 1e-9 - (double)st.st_mtim.tv_sec - (double)st.st_mtim.tv_nsec * 1e-9;
    close(fd);
    return n;
}

typedef struct listing {
    int folder;
    int (*see)(void *user, const leat__runtime_entry *entry);
    void *user;
    uint64_t *n_foreign, *n_removed;
} listing;

static int see_name(const listing *l, const char *name) {
    uint8_t bytes[LEAT_RUNTIME_BYTES_MAX];
    const int64_t pid = pid_of(name);
    int what = LEAT_RUNTIME_AGAIN;
    for (int try = 1; what == LEAT_RUNTIME_AGAIN; try++) {
        double age_s = 0;
        const ssize_t n = pid > 0 ? read_report(l->folder, name, bytes, &age_s) : -1;
        if (n < 0) {
            if (pid == 0 || faccessat(l->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) ++*l->n_foreign;
            return 0; /* or it was removed meanwhile */
        }
        const leat__runtime_entry entry = {pid, bytes, (size_t)n, age_s, try < TRIES};
        what = l->see(l->user, &entry);
        if (what == LEAT_RUNTIME_AGAIN) leat__sleep_ns(retry_ns);
    }
    if (what == LEAT_RUNTIME_REMOVE && unlinkat(l->folder, name, 0) == 0) ++*l->n_removed;
    return LEAT_MIN(what, 0);
}

int leat__runtime_list(const char *path, int (*see)(void *user, const leat__runtime_entry *entry), void *user,
                       uint64_t *n_foreign, uint64_t *n_removed, leat_error *err) {
    struct stat st;
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return 0;
    if (fd < 0)
        return leat__fail_sys(err, LEAT_ERR_IO, errno, "cannot list the running pipelines in %s", shown);
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        close(fd);
        return leat__fail(err, LEAT_ERR_IO,
                          "%s belongs to another user, or others may write to it: nothing in it is trusted",
                          shown);
    }
    DIR *dir = fdopendir(fd);
    if (!dir) {
        const int sys = errno;
        close(fd);
        return leat__fail_sys(err, LEAT_ERR_IO, sys, "cannot list the running pipelines in %s", shown);
    }
    const listing l = {dirfd(dir), see, user, n_foreign, n_removed};
    int rc = 0;
    const struct dirent *entry;
    for (int i = 0; i < ENTRIES_MAX && rc == 0 && (entry = readdir(dir)); i++)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = see_name(&l, entry->d_name);
    closedir(dir);
    return 0;
}
