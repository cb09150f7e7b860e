/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of a cache directory as a whole: listing and evicting them. Files are reached by descriptors of their folders, and
 * links are never followed: whatever lies in the directory, nothing outside of it is opened or removed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/sets.h"

enum { NAME = 32 };
static const char first_line[] = "leat data set 1\n";

static int fail_cache(leat_error *err, int sys, const char *verb, const char *dir, const char *name) {
    char shown[600], path[PATH_MAX + NAME + 8];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    leat__printable(shown, sizeof shown, path, strlen(path));
    return leat__fail_sys(err, LEAT_ERR_IO, sys, "cannot %s %s", verb, shown);
}

/* -------------------------------------------------------------------------------------------- names */

static bool is_hash(const char *name) {
    return strspn(name, "0123456789abcdef") == NAME;
}

static bool is_index(const char *name) {
    return is_hash(name) && strcmp(name + NAME, ".leatidx") == 0;
}

/* A file that leat makes in the folder of a set; also what leat__out leaves when its process is killed */
static bool is_ours(const char *name) {
    char inner[NAME_MAX + 1];
    const size_t n = leat__temporary_of(name);
    if (n) {
        snprintf(inner, sizeof inner, "%.*s", (int)n, name + 1);
        name = inner;
    }
    return is_index(name) || strcmp(name, "about.txt") == 0 || strcmp(name, LEAT_SETS_POSITIONS) == 0;
}

static bool is_gone(const char *name) {
    return strncmp(name, ".gone-", 6) == 0 && is_hash(name + 6) && name[6 + NAME] == '-';
}

/* ---------------------------------------------------------------------------------------------- look */

static int open_folder(int parent, const char *name) {
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Calls fn for every name in a folder; takes over fd. fn returns < 0 to stop. */
static int each_name(int fd, int (*fn)(void *user, int fd, const char *name), void *user) {
    DIR *dir = fdopendir(fd);
    if (!dir) return close(fd), -1;
    int rc = 0;
    for (const struct dirent *entry; rc >= 0 && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = fn(user, dirfd(dir), entry->d_name);
    closedir(dir);
    return rc;
}

static int count_file(void *user, int fd, const char *name) {
    leat__set *set = user;
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return 0; /* it was removed just now */
    if (!S_ISREG(st.st_mode) || !is_ours(name)) {
        if (!set->foreign) set->foreign = leat__strdup(LEAT_MEM_TOOL, name);
        return set->foreign ? 0 : -1;
    }
    set->bytes += (uint64_t)st.st_size;
    set->n_files += strcmp(name, "about.txt") != 0;
    return 0;
}

static void read_about(leat__set *set, int about, char *text, size_t cap) {
    const ssize_t n = pread(about, text, cap - 1, 0);
    text[LEAT_MAX(n, (ssize_t)0)] = 0;
    if (n > 0 && strncmp(text, first_line, sizeof first_line - 1) != 0 && !set->foreign)
        set->foreign = leat__strdup(LEAT_MEM_TOOL, "about.txt");
    const size_t skip = LEAT_MIN(sizeof first_line - 1, strlen(text));
    const size_t end = strlen(text);
    if (end > skip && text[end - 1] == '\n') text[end - 1] = 0;
    set->home = leat__strdup(LEAT_MEM_TOOL, text + skip);
}

static void free_set(leat__set *set) {
    leat__free(set->home);
    leat__free(set->foreign);
}

/* 1, 0 if there is no such set, LEAT_ERR_MEMORY. */
static int look_at(int parent, const char *name, leat__set *set) {
    char text[PATH_MAX + 64];
    struct stat st;
    *set = (leat__set){0};
    memcpy(set->name, name, NAME);
    const int fd = open_folder(parent, name);
    if (fd < 0) return 0;
    const int about = openat(fd, "about.txt", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fstat(about >= 0 ? about : fd, &st) == 0)
        set->used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    int rc = each_name(fd, count_file, set) < 0 ? LEAT_ERR_MEMORY : 1;
    if (rc > 0 && about >= 0) read_about(set, about, text, sizeof text);
    else if (rc > 0) set->home = leat__strdup(LEAT_MEM_TOOL, "");
    if (about >= 0) set->in_use = flock(about, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (about >= 0) close(about);
    if (rc > 0 && !set->home) rc = LEAT_ERR_MEMORY;
    if (rc < 0) free_set(set);
    return rc;
}

static int gather(void *user, int fd, const char *name) {
    leat__buf *sets = user;
    leat__set set;
    if (!is_hash(name) || name[NAME]) return 0;
    const int rc = look_at(fd, name, &set);
    if (rc <= 0) return rc;
    if (leat__buf_append(sets, &set, sizeof set)) return 0;
    free_set(&set);
    return LEAT_ERR_MEMORY;
}

static int by_use(const void *a, const void *b) {
    const leat__set *x = a, *y = b;
    if (x->used_ns != y->used_ns) return x->used_ns < y->used_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The folder of all sets, and its path; *fd is -1 if there is none. */
static int open_sets(int *fd, const char *cache_dir, char *dir, size_t cap, leat_error *err) {
    char root[PATH_MAX];
    *fd = -1;
    LEAT_TRY(leat__sets_path(cache_dir, root, sizeof root, err));
    if (snprintf(dir, cap, "%s/sets", root) >= (int)cap)
        return fail_cache(err, ENAMETOOLONG, "use", root, "sets");
    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return *fd >= 0 || errno == ENOENT ? 0 : fail_cache(err, errno, "open the folder", root, "sets");
}

int leat__sets_list(leat__set_list *out, const char *cache_dir, leat_error *err) {
    char dir[PATH_MAX];
    *out = (leat__set_list){0};
    int fd;
    LEAT_TRY(open_sets(&fd, cache_dir, dir, sizeof dir, err));
    if (fd < 0) return 0;
    leat__buf sets = {.kind = LEAT_MEM_TOOL}; /* of leat__set */
    const int rc = each_name(fd, gather, &sets);
    *out = (leat__set_list){.at = (leat__set *)sets.data, .n = sets.size / sizeof(leat__set)};
    if (rc < 0) {
        leat__set_list_free(out);
        return leat__fail_memory(err, sets.size, "a list of data sets");
    }
    for (size_t i = 0; i < out->n; i++) out->bytes += out->at[i].bytes;
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_use);
    return 0;
}

void leat__set_list_free(leat__set_list *list) {
    for (size_t i = 0; i < list->n; i++) free_set(&list->at[i]);
    leat__free(list->at);
    *list = (leat__set_list){0};
}

/* -------------------------------------------------------------------------------------------- remove */

static int remove_file(void *user, int fd, const char *name) {
    int *sys = user;
    if (is_ours(name) && unlinkat(fd, name, 0) != 0 && errno != ENOENT) *sys = errno;
    return 0;
}

/* Removes a folder with the files in it that leat made; what else is in it keeps it. 0, or errno. */
static int remove_folder(int parent, const char *name) {
    int sys = 0;
    const int fd = open_folder(parent, name);
    if (fd < 0) return errno == ENOENT ? 0 : errno;
    each_name(fd, remove_file, &sys);
    if (sys == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) sys = errno;
    return sys;
}

/* Between opening about.txt and locking it, another process may have removed the set, and a third one made it anew: then
 * the lock is on a file that has no name any more, and says nothing of the set of that name. */
static bool still_named(int parent, const char *about, const struct stat *locked) {
    struct stat named;
    return fstatat(parent, about, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == locked->st_ino &&
           named.st_dev == locked->st_dev;
}

/* Under the exclusive lock no process begins to use the set: 0, EBUSY if it is in use or was used meanwhile, else errno. */
static int evict(int parent, const leat__set *set) {
    static atomic_uint counter; /* several threads may remove sets of one name, one after the other */
    char gone[NAME + 50], about[NAME + 16];
    struct stat st = {0};
    snprintf(about, sizeof about, "%s/about.txt", set->name);
    const int fd = openat(parent, about, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return errno == ENOENT ? 0 : errno; /* ENOENT: another process has removed the set */
    int sys = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EBUSY : 0;
    const bool dated = fstat(fd, &st) == 0 && st.st_size > 0;
    if (sys == 0 && dated && (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != set->used_ns)
        sys = EBUSY;
    if (sys == 0 && !still_named(parent, about, &st)) sys = EBUSY;
    snprintf(gone, sizeof gone, ".gone-%s-%ld-%u", set->name, (long)getpid(), atomic_fetch_add(&counter, 1));
    if (sys == 0 && renameat(parent, set->name, parent, gone) != 0) sys = errno == ENOENT ? 0 : errno;
    if (sys == 0) sys = remove_folder(parent, gone);
    close(fd);
    return sys;
}

static int remove_gone(void *user, int fd, const char *name) {
    (void)user;
    if (is_gone(name)) remove_folder(fd, name);
    return 0;
}

static int remove_old_file(void *user, int fd, const char *name) {
    (void)user;
    if (is_ours(name)) unlinkat(fd, name, 0);
    return 0;
}

/* What older versions kept: DIR/index/HASH.leatidx. */
static void remove_old_layout(const char *cache_dir) {
    char root[PATH_MAX];
    if (leat__sets_path(cache_dir, root, sizeof root, NULL) < 0) return;
    const int parent = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) return;
    const int fd = open_folder(parent, "index");
    if (fd >= 0) {
        each_name(fd, remove_old_file, NULL);
        unlinkat(parent, "index", AT_REMOVEDIR); /* fails if a file in it is not leat's */
    }
    close(parent);
}

/* --------------------------------------------------------------------------------------------- prune */

static void drop(leat__set_list *list, const leat__set *set, leat__sets_report *report) {
    list->bytes -= set->bytes;
    report->bytes_removed += set->bytes;
    report->n_removed++;
}

int leat__sets_prune(const char *cache_dir, uint64_t bytes_max, leat__sets_report *report, leat_error *err) {
    char dir[PATH_MAX];
    leat__set_list list;
    leat__sets_report done = {0};
    int parent, rc = 0;
    LEAT_TRY(leat__sets_list(&list, cache_dir, err));
    remove_old_layout(cache_dir);
    if (open_sets(&parent, cache_dir, dir, sizeof dir, NULL) == 0 && parent >= 0) {
        for (size_t i = 0; i < list.n && list.bytes > bytes_max; i++) {
            const leat__set *set = &list.at[i];
            if (set->in_use || set->foreign) continue;
            const int sys = evict(parent, set);
            if (sys == 0) drop(&list, set, &done);
            else if (sys != EBUSY && rc == 0) rc = fail_cache(err, sys, "remove", dir, set->name);
        }
        each_name(parent, remove_gone, NULL);
    }
    for (size_t i = 0; i < list.n; i++) {
        done.n_in_use += list.at[i].in_use;
        done.n_foreign += list.at[i].foreign != NULL;
    }
    done.n = list.n - done.n_removed;
    done.bytes = list.bytes;
    leat__set_list_free(&list);
    if (report) *report = done;
    return rc;
}

uint64_t leat__sets_room(const char *cache_dir, uint64_t bytes_max, uint64_t wanted) {
    leat__set_list list;
    leat__sets_report left = {0};
    wanted = LEAT_MIN(wanted, bytes_max);
    if (leat__sets_list(&list, cache_dir, NULL) < 0) return 0;
    left.bytes = list.bytes;
    leat__set_list_free(&list);
    if (left.bytes > bytes_max - wanted) leat__sets_prune(cache_dir, bytes_max - wanted, &left, NULL);
    return left.bytes >= bytes_max ? 0 : LEAT_MIN(wanted, bytes_max - left.bytes);
}

uint64_t leat__sets_default(const char *cache_dir) {
    char path[PATH_MAX];
    struct statvfs disk;
    if (leat__sets_path(cache_dir, path, sizeof path, NULL) < 0) return LEAT_SETS_BYTES_MAX;
    while (statvfs(path, &disk) !=
           0) { /* the directory may not be there yet: its parent is on the same disk */
        char *slash = strrchr(path, '/');
        if (strcmp(path, ".") == 0 || slash == path) return LEAT_SETS_BYTES_MAX;
        if (slash) *slash = 0;
        else strcpy(path, ".");
    }
    return LEAT_MIN(LEAT_SETS_BYTES_MAX, (uint64_t)disk.f_blocks * (uint64_t)disk.f_frsize / 20);
}
