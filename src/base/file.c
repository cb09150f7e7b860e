/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/locks.h"
#include "base/remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_path(leat_error *err, int sys, const char *verb, const char *path) {
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int code = sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO;
    return leat__fail_sys(err, code, sys, "cannot %s %s", verb, shown);
}

static int64_t nanoseconds(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int stat_remote(const char *path, leat__stat *out, leat_error *err) {
    leat__file file;
    LEAT_TRY(leat__remote_open(&file, path, err));
    *out = (leat__stat){.is_file = true,
                        .size = file.size,
                        .mtime_ns = file.mtime_ns,
                        .inode = file.inode,
                        .owner = LEAT_NO_OWNER};
    leat__remote_close(&file);
    return 0;
}

int leat__file_stat(const char *path, leat__stat *out, leat_error *err) {
    struct stat st;
    if (leat__is_remote(path)) return stat_remote(path, out, err);
    if (stat(path, &st) != 0) return fail_path(err, errno, "find", path);
    *out = (leat__stat){
        .is_dir = S_ISDIR(st.st_mode),
        .is_file = S_ISREG(st.st_mode),
        .size = (uint64_t)st.st_size,
        .mtime_ns = nanoseconds(st.st_mtim),
        .ctime_ns = nanoseconds(st.st_ctim),
        .device = (uint64_t)st.st_dev,
        .inode = (uint64_t)st.st_ino,
        .owner = (uint32_t)st.st_uid,
    };
    return 0;
}

/* Other threads hold descriptors for the time of a read. So when there are none left, waiting helps, unless the limit is too
 * low for this machine's threads. */
static int open_patiently(const char *path) {
    enum { TRIES = 10 }; /* a second in all */
    for (int i = 0;;) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0 || (errno != EINTR && errno != EMFILE && errno != ENFILE && errno != ENOMEM)) return fd;
        if (errno == EINTR) continue;
        if (i++ == TRIES) return fd;
        const int sys = errno;
        leat__sleep_ns((uint64_t)1000000 << i);
        errno = sys;
    }
}

int leat__file_open(leat__file *file, const char *path, leat_error *err) {
    leat__lock_check_work();
    struct stat st;
    if (leat__is_remote(path)) return leat__remote_open(file, path, err);
    *file = (leat__file){.fd = -1};
    int fd = open_patiently(path);
    if (fd < 0) return fail_path(err, errno, "open", path);
    if (fd == 0) { /* the program closed its standard input; 0 means "never opened" here */
        fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
        const int sys = errno;
        close(0);
        if (fd < 0) return fail_path(err, sys, "open", path);
    }
    const bool known = fstat(fd, &st) == 0;
    if (!known || !S_ISREG(st.st_mode)) {
        const int sys = !known ? errno : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        close(fd);
        return fail_path(err, sys, "read as a regular file", path);
    }
    *file = (leat__file){.fd = fd,
                         .size = (uint64_t)st.st_size,
                         .mtime_ns = nanoseconds(st.st_mtim),
                         .ctime_ns = nanoseconds(st.st_ctim),
                         .inode = (uint64_t)st.st_ino};
    return 0;
}

bool leat__file_trusted(const leat__file *file, uint32_t owner) {
    struct stat st;
    if (file->remote) return true; /* it comes from where the data comes from */
    if (fstat(file->fd, &st) != 0 || (st.st_mode & (S_IWGRP | S_IWOTH))) return false;
    enum { UNMAPPED = 65534 }; /* the number that a container or a network gives to every user without one */
    return st.st_uid == geteuid() || st.st_uid == 0 || (owner != UNMAPPED && (uint32_t)st.st_uid == owner);
}

int leat__file_read_at(const leat__file *file, void *dst, size_t n, uint64_t offset, const char *path,
                       leat_error *err) {
    leat__lock_check_work();
    if (file->remote) return leat__remote_read_at(file, dst, n, offset, err);
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(file->fd, (uint8_t *)dst + done, n - done, (off_t)(offset + done));
        if (got > 0) done += (size_t)got;
        else if (got == 0) {
            char shown[600];
            leat__printable(shown, sizeof shown, path, strlen(path));
            return leat__fail(err, LEAT_ERR_IO,
                              "%s: ends at byte %" PRIu64 ", %zu bytes short: it shrank while open", shown,
                              offset + done, n - done);
        } else if (errno != EINTR && errno != EAGAIN) {
            return fail_path(err, errno, "read", path);
        }
    }
    return 0;
}

void leat__file_will_read(const leat__file *file, uint64_t offset, uint64_t n) {
    if (!file->remote) posix_fadvise(file->fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
}

void leat__file_close(leat__file *file) {
    if (file->fd > 0) close(file->fd);
    if (file->remote) leat__remote_close(file);
    file->fd = -1;
}

int leat__file_finish(leat__file *file, const char *path, leat_error *err) {
    const int fd = file->fd;
    file->fd = -1;
    return fd > 0 && close(fd) != 0 && errno != EINTR ? fail_path(err, errno, "close", path) : 0;
}

int leat__file_read_all(const char *path, leat__buf *buf, size_t bytes_max, leat_error *err) {
    leat__file file;
    if (leat__is_remote(path)) return leat__remote_read_all(path, buf, bytes_max, err);
    LEAT_TRY(leat__file_open(&file, path, err));
    int rc = 0;
    buf->size = 0;
    if (file.size > bytes_max) {
        char shown[600];
        leat__printable(shown, sizeof shown, path, strlen(path));
        rc = leat__fail(err, LEAT_ERR_LIMIT, "%s has %" PRIu64 " bytes, the limit is %zu", shown, file.size,
                        bytes_max);
    } else if (!leat__buf_reserve(buf, file.size)) {
        rc = leat__fail_memory(err, file.size, path);
    } else if ((rc = leat__file_read_at(&file, buf->data, file.size, 0, path, err)) == 0) {
        buf->size = file.size;
    }
    leat__file_close(&file);
    return rc;
}

/* -------------------------------------------------------------------------------------- whole files */

enum { OUT_BUFFER = 1 << 20 };

struct leat__out {
    int fd;
    uint64_t size, written;
    char *path;
    char *temporary;
    leat__buf pending; /* not zeroed: most files are small */
};

static void out_free(leat__out *out) {
    if (out->fd >= 0) close(out->fd);
    leat__free(out->path);
    leat__free(out->temporary);
    leat__buf_free(&out->pending);
    leat__free(out);
}

/* Looks for what others left in the folder, unless this process has just looked there. */
static void clean_folder(const char *path) {
    static atomic_uint_least64_t last;
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int n = slash ? LEAT_MAX((int)(slash - path), 1) : 1;
    if ((size_t)snprintf(folder, sizeof folder, "%.*s", n, slash ? path : ".") >= sizeof folder) return;
    const uint64_t hash = leat__hash(folder, strlen(folder), 0);
    if (atomic_exchange(&last, hash) != hash) leat__temporaries_remove(folder);
}

int leat__out_open(leat__out **result, const char *path, leat_error *err) {
    *result = NULL;
    leat__out *out = leat__alloc(LEAT_MEM_TOOL, sizeof *out);
    if (!out) return leat__fail_memory(err, sizeof *out, "a file to write");
    out->fd = -1;
    const size_t cap = strlen(path) + LEAT_TEMPORARY_MORE;
    out->path = leat__strdup(LEAT_MEM_TOOL, path);
    out->temporary = leat__alloc(LEAT_MEM_TOOL, cap);
    out->pending.kind = LEAT_MEM_TOOL;
    if (!out->path || !out->temporary || !leat__buf_reserve_exactly(&out->pending, OUT_BUFFER)) {
        out_free(out);
        return leat__fail_memory(err, OUT_BUFFER, "a file to write");
    }
    /* Renaming over a device such as /dev/null would remove it. */
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        out_free(out);
        return fail_path(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "write a regular file in place of",
                         path);
    }
    clean_folder(path);
    leat__temporary_name(out->temporary, cap, path);
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (out->fd < 0) {
        const int rc = fail_path(err, errno, "create", out->temporary);
        out_free(out);
        return rc;
    }
    *result = out;
    return 0;
}

static int write_fully(leat__out *out, const uint8_t *bytes, size_t n, leat_error *err) {
    if (leat__file_limited(out->written + n)) return fail_path(err, EFBIG, "write", out->path);
    while (n > 0) {
        const ssize_t put = write(out->fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_path(err, errno, "write", out->path);
        bytes += put;
        n -= (size_t)put;
        out->written += (uint64_t)put;
    }
    return 0;
}

static int flush(leat__out *out, leat_error *err) {
    const size_t n = out->pending.size;
    out->pending.size = 0;
    return write_fully(out, out->pending.data, n, err);
}

/* Always whole buffers, at multiples of their size: what is written so lies in large pieces in the system's cache of
 * pages, and is read from there faster. */
int leat__out_write(leat__out *out, const void *bytes, size_t n, leat_error *err) {
    const uint8_t *from = bytes;
    out->size += n;
    while (n > 0) {
        const size_t part = LEAT_MIN(n, OUT_BUFFER - out->pending.size);
        memcpy(out->pending.data + out->pending.size, from, part);
        out->pending.size += part;
        from += part;
        n -= part;
        if (out->pending.size == OUT_BUFFER) LEAT_TRY(flush(out, err));
    }
    return 0;
}

uint64_t leat__out_size(const leat__out *out) {
    return out->size;
}

void leat__out_guard(leat__out *out) {
    struct stat st;
    if (fstat(out->fd, &st) == 0) fchmod(out->fd, st.st_mode & 0755);
}

int leat__out_commit(leat__out **handle, leat_error *err) {
    leat__out *out = *handle;
    int rc = flush(out, err);
    if (rc == 0 && fsync(out->fd) != 0) rc = fail_path(err, errno, "sync", out->path);
    if (rc == 0) {
        const int fd = out->fd;
        out->fd = -1; /* also if closing fails: the number may be another thread's by then */
        if (close(fd) != 0 && errno != EINTR) rc = fail_path(err, errno, "close", out->path);
    }
    if (rc == 0 && rename(out->temporary, out->path) != 0)
        rc = fail_path(err, errno, "rename into place", out->path);
    if (rc < 0) {
        leat__out_abort(handle);
        return rc;
    }
    out_free(out);
    *handle = NULL;
    return 0;
}

void leat__out_abort(leat__out **handle) {
    if (!*handle) return;
    unlink((*handle)->temporary);
    out_free(*handle);
    *handle = NULL;
}

/* From its temporary name to its own: 0, or 1 if it must be new and there is one. File systems without links cannot tell. */
static int settle(const char *temporary, const char *path, bool fresh, leat_error *err) {
    const int linked = fresh ? link(temporary, path) : -1, sys = errno;
    if (linked == 0 || (fresh && sys == EEXIST)) {
        unlink(temporary);
        return linked == 0 ? 0 : 1;
    }
    return rename(temporary, path) == 0 ? 0 : fail_path(err, errno, "rename into place", path);
}

static int write_whole(const char *path, const void *bytes, size_t n, bool fresh, leat_error *err) {
    char temporary[PATH_MAX];
    if (!leat__temporary_name(temporary, sizeof temporary, path))
        return fail_path(err, ENAMETOOLONG, "create", path);
    clean_folder(path);
    leat__out out = {.path = (char *)path, .temporary = temporary};
    out.fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (out.fd < 0) return fail_path(err, errno, "create", temporary);
    int rc = write_fully(&out, bytes, n, err);
    if (rc == 0 && fresh && fsync(out.fd) != 0) rc = fail_path(err, errno, "sync", path);
    if (close(out.fd) != 0 && rc == 0) rc = fail_path(err, errno, "close", path);
    if (rc == 0) rc = settle(temporary, path, fresh, err);
    if (rc < 0) unlink(temporary);
    return rc;
}

int leat__file_write(const char *path, const void *bytes, size_t n, leat_error *err) {
    return write_whole(path, bytes, n, false, err);
}

int leat__file_write_new(const char *path, const void *bytes, size_t n, leat_error *err) {
    return write_whole(path, bytes, n, true, err);
}

int leat__file_remove(const char *path, leat_error *err) {
    if (unlink(path) != 0 && errno != ENOENT) return fail_path(err, errno, "remove", path);
    return 0;
}
