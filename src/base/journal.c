/* SPDX-License-Identifier: Apache-2.0 */
/* Journals: the part of base/file.h that lets long work be interrupted and continued. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int fail_journal(leat_error *err, int sys, const char *verb, const char *path) {
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int code = sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO;
    return leat__fail_sys(err, code, sys, "cannot %s %s", verb, shown);
}

/* Opens and locks; 1 when the file was removed by its last holder in between, so that the lock is worth
 * nothing. */
static int open_locked(leat__journal *journal, const char *path, leat_error *err) {
    struct stat held, named;
    journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (journal->fd < 0) return fail_journal(err, errno, "create", path);
    /* A file system without locks is not a reason to refuse: the lock guards against a mistake only. */
    if (flock(journal->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        leat__journal_close(journal);
        return leat__fail(err, LEAT_ERR_STATE, "another process is working here");
    }
    if (fstat(journal->fd, &held) != 0 || !S_ISREG(held.st_mode)) {
        leat__journal_close(journal);
        return fail_journal(err, EINVAL, "use as a regular file", path);
    }
    journal->size = (uint64_t)held.st_size;
    const bool same = stat(path, &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev;
    if (!same) leat__journal_close(journal);
    return !same;
}

int leat__journal_open(leat__journal *journal, const char *path, leat__buf *content, leat_error *err) {
    *journal = (leat__journal){.fd = -1};
    int rc = 1;
    for (int i = 0; i < 100 && rc > 0; i++) LEAT_TRY(rc = open_locked(journal, path, err));
    if (rc > 0) return fail_journal(err, EBUSY, "keep hold of", path);
    content->size = 0;
    if (!leat__buf_reserve(content, (size_t)journal->size))
        rc = leat__fail_memory(err, (size_t)journal->size, path);
    const leat__file file = {.fd = journal->fd};
    if (rc == 0) rc = leat__file_read_at(&file, content->data, (size_t)journal->size, 0, path, err);
    if (rc == 0) content->size = (size_t)journal->size;
    else leat__journal_close(journal);
    return rc;
}

int leat__journal_append(leat__journal *journal, const char *text, const char *path, leat_error *err) {
    if (leat__file_limited(journal->size + strlen(text))) return fail_journal(err, EFBIG, "write", path);
    for (size_t n = strlen(text); n > 0;) {
        const ssize_t put = write(journal->fd, text, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_journal(err, errno, "write", path);
        text += put;
        n -= (size_t)put;
        journal->size += (size_t)put;
    }
    return fdatasync(journal->fd) != 0 ? fail_journal(err, errno, "sync", path) : 0;
}

int leat__journal_clear(leat__journal *journal, const char *path, leat_error *err) {
    if (ftruncate(journal->fd, 0) != 0) return fail_journal(err, errno, "empty", path);
    journal->size = 0;
    return 0;
}

void leat__journal_close(leat__journal *journal) {
    if (journal->fd > 0) close(journal->fd);
    journal->fd = -1;
}
