/* SPDX-License-Identifier: Apache-2.0 */
/* Files that grow in place and are read meanwhile, and reads into several buffers: the part of base/file.h that the cache
 * on disk uses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"

static int fail_file(leat_error *err, int sys, const char *verb, const char *path) {
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int code = sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO;
    return leat__fail_sys(err, code, sys, "cannot %s %s", verb, shown);
}

int leat__file_grow(leat__file *file, const char *path, bool fresh, leat_error *err) {
    struct stat st;
    *file = (leat__file){.fd = -1};
    const int flags =
        O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | (fresh ? O_CREAT | O_EXCL : 0);
    int fd = open(path, flags, 0644);
    if (fd < 0) return fail_file(err, errno, fresh ? "create" : "open", path);
    if (fd == 0) { /* the program closed its standard input; 0 means "never opened" here */
        fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
        const int sys = errno;
        close(0);
        if (fd < 0) return fail_file(err, sys, "open", path);
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return fail_file(err, EINVAL, "write to a regular file", path);
    }
    *file = (leat__file){.fd = fd, .size = (uint64_t)st.st_size, .inode = (uint64_t)st.st_ino};
    return 0;
}

bool leat__file_lock(const leat__file *file) {
    int rc;
    do rc = flock(file->fd, LOCK_EX | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    return rc == 0 || errno != EWOULDBLOCK;
}

bool leat__file_limited(uint64_t end) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

void leat__file_unlock(const leat__file *file) {
    flock(file->fd, LOCK_UN);
}

int leat__file_write_at(const leat__file *file, const void *bytes, size_t n, uint64_t offset,
                        const char *path, leat_error *err) {
    if (leat__file_limited(offset + n)) return fail_file(err, EFBIG, "write", path);
    for (size_t done = 0; done < n;) {
        const ssize_t put = pwrite(file->fd, (const uint8_t *)bytes + done, n - done, (off_t)(offset + done));
        if (put > 0) done += (size_t)put;
        else if (put == 0) return fail_file(err, ENOSPC, "write", path);
        else if (errno != EINTR) return fail_file(err, errno, "write", path);
    }
    return 0;
}

int leat__file_cut(const leat__file *file, uint64_t size, const char *path, leat_error *err) {
    if (leat__file_limited(size)) return fail_file(err, EFBIG, "shorten", path);
    return ftruncate(file->fd, (off_t)size) != 0 ? fail_file(err, errno, "shorten", path) : 0;
}

int leat__file_settle(const leat__file *file, const char *path, leat_error *err) {
    const int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
    return fd >= 0 && close(fd) != 0 && errno != EINTR ? fail_file(err, errno, "close", path) : 0;
}

int leat__file_rename(const char *from, const char *to, leat_error *err) {
    return rename(from, to) != 0 ? fail_file(err, errno, "rename", from) : 0;
}

int leat__file_read_parts(const leat__file *file, const leat__file_part *part, int n, uint64_t offset,
                          const char *path, leat_error *err) {
    struct iovec vec[LEAT_FILE_PARTS_MAX];
    size_t total = 0;
    for (int i = 0; i < n; i++) {
        vec[i] = (struct iovec){.iov_base = part[i].to, .iov_len = part[i].n};
        total += part[i].n;
    }
    ssize_t got;
    do got = preadv(file->fd, vec, n, (off_t)offset);
    while (got < 0 && errno == EINTR);
    if (got < 0) return fail_file(err, errno, "read", path);
    if ((size_t)got == total) return 0;
    /* A read that ended early goes on part by part. */
    size_t done = (size_t)got, begin = 0;
    for (int i = 0; i < n; begin += part[i++].n) {
        const size_t skip = LEAT_CLAMP(done, begin, begin + part[i].n) - begin;
        if (skip < part[i].n)
            LEAT_TRY(leat__file_read_at(file, (uint8_t *)part[i].to + skip, part[i].n - skip,
                                        offset + begin + skip, path, err));
    }
    return 0;
}
