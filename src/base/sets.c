/* SPDX-License-Identifier: Apache-2.0 */
/* The sets that a process uses: where they lie, and the locks that keep them from eviction. */
#include "base/sets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"

enum { HELD_MAX = 64, TRIES = 100, MAKE_TRIES = 10 };
static const uint64_t retry_ns = 10000000;

typedef struct held_set {
    char name[33];
    int fd;
} held_set;

struct leat__sets {
    char *dir;
    atomic_bool added;
    leat__mutex mutex; /* guards what follows */
    int n;
    held_set held[HELD_MAX];
};

static int fail_set(leat_error *err, int sys, const char *verb, const char *path) {
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int code = sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO;
    return leat__fail_sys(err, code, sys, "cannot %s %s", verb, shown);
}

int leat__sets_path(const char *cache_dir, char *out, size_t cap, leat_error *err) {
    if (!cache_dir && !leat__cache_dir(out, cap))
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no cache directory: set HOME or XDG_CACHE_HOME");
    if (cache_dir && snprintf(out, cap, "%s", cache_dir) >= (int)cap)
        return fail_set(err, ENAMETOOLONG, "use", cache_dir);
    return 0;
}

int leat__sets_open(leat__sets **out, const char *cache_dir, leat_error *err) {
    char path[PATH_MAX];
    *out = NULL;
    LEAT_TRY(leat__sets_path(cache_dir, path, sizeof path, err));
    leat__sets *sets = leat__alloc(LEAT_MEM_PLAN, sizeof *sets);
    if (!sets) return leat__fail_memory(err, sizeof *sets, "the cache directory");
    sets->dir = leat__strdup(LEAT_MEM_PLAN, path);
    const int rc = sets->dir ? leat__mutex_init(&sets->mutex, LEAT_LOCK_SETS, err)
                             : leat__fail_memory(err, sizeof path, "a path");
    if (rc < 0) {
        leat__free(sets->dir);
        leat__free(sets);
        return rc;
    }
    *out = sets;
    return 0;
}

void leat__sets_close(leat__sets **handle) {
    leat__sets *sets = *handle;
    *handle = NULL;
    if (!sets) return;
    for (int i = 0; i < sets->n; i++) close(sets->held[i].fd);
    leat__mutex_destroy(&sets->mutex);
    leat__free(sets->dir);
    leat__free(sets);
}

/* about.txt of a set that this process makes, or of one that a killed process began. */
static int write_about(int fd, uint64_t size, const char *home, const char *path, leat_error *err) {
    char text[PATH_MAX + 64];
    const int n = snprintf(text, sizeof text, "leat data set 1\n%s\n", home);
    if (n < 0 || (size_t)n >= sizeof text) return fail_set(err, ENAMETOOLONG, "name", path);
    if (size == (uint64_t)n) return 0;
    const leat__file file = {.fd = fd};
    LEAT_TRY(leat__file_cut(&file, 0, path, err));
    return leat__file_write_at(&file, text, (size_t)n, 0, path, err);
}

/* Opens and locks about.txt: 1 if another process removes this set at the moment, and it must be tried again. */
static int hold_set(int *fd, const char *path, const char *home, bool make, leat_error *err) {
    struct stat held, named;
    const int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | (make ? O_RDWR | O_CREAT : O_RDONLY);
    *fd = open(path, flags, 0666);
    /* Between making the folder and this call another process may have removed it. */
    if (*fd < 0) return make && errno == ENOENT ? 1 : fail_set(err, errno, "open", path);
    int rc = flock(*fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (rc == 0 && (fstat(*fd, &held) != 0 || !S_ISREG(held.st_mode)))
        rc = fail_set(err, EINVAL, "use as a regular file", path);
    if (rc == 0) rc = lstat(path, &named) != 0 || named.st_ino != held.st_ino || named.st_dev != held.st_dev;
    if (rc == 0 && make) rc = write_about(*fd, (uint64_t)held.st_size, home, path, err);
    if (rc == 0) futimens(*fd, NULL); /* the directory may be another user's: then it is not ours to mark */
    if (rc != 0) close(*fd);
    return rc;
}

/* Another process may remove it while it is looked at: then it is missing, and made again. */
static int make_folder(const char *folder, leat_error *err) {
    leat_error why;
    int rc = leat__dir_make(folder, &why);
    for (int i = 0; i < MAKE_TRIES && rc < 0 && why.sys == ENOENT; i++) rc = leat__dir_make(folder, &why);
    if (rc < 0 && err) *err = why;
    return rc;
}

static int add_set(leat__sets *sets, const char *name, const char *folder, const char *home, bool make,
                   leat_error *err) {
    char about[PATH_MAX + 16];
    int fd = -1, rc = 1;
    snprintf(about, sizeof about, "%s/about.txt", folder);
    for (int i = 0; i < TRIES && rc > 0; i++) {
        rc = make ? make_folder(folder, err) : 0;
        if (rc == 0) rc = hold_set(&fd, about, home, make, err);
        if (rc > 0) leat__sleep_ns(retry_ns);
    }
    if (rc > 0) return fail_set(err, EBUSY, "lock", about);
    LEAT_TRY(rc);
    leat__temporaries_remove(folder);
    if (sets->n == HELD_MAX) {
        close(fd);
        return 0;
    }
    held_set *held = &sets->held[sets->n++];
    snprintf(held->name, sizeof held->name, "%s", name);
    held->fd = fd;
    return 0;
}

int leat__sets_folder(leat__sets *sets, const char *home, bool make, char *out, size_t cap, leat_error *err) {
    const XXH128_hash_t h = XXH3_128bits(home, strlen(home));
    char name[33];
    snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
    const int used = snprintf(out, cap, "%s/sets/%s", sets->dir, name);
    if (used < 0 || (size_t)used >= cap) return fail_set(err, ENAMETOOLONG, "name", sets->dir);
    leat__lock(&sets->mutex);
    int i = 0, rc = 0;
    while (i < sets->n && strcmp(sets->held[i].name, name) != 0) i++;
    if (i == sets->n) rc = add_set(sets, name, out, home, make, err);
    leat__unlock(&sets->mutex);
    return rc;
}

void leat__sets_add(leat__sets *sets) {
    atomic_store(&sets->added, true);
}

bool leat__sets_added(const leat__sets *sets) {
    return atomic_load(&sets->added);
}
