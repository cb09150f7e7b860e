/* SPDX-License-Identifier: Apache-2.0 */
/* Files: the only place where the library opens, reads, writes or lists anything. Nothing is mapped: a file that
 * shrinks under a mapping kills the process that reads it. */
#ifndef LEAT_BASE_FILE_H
#define LEAT_BASE_FILE_H

#include "base/mem.h"

typedef struct leat__stat {
    bool is_dir, is_file;
    uint64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns; /* of the last change of any kind, which no program can set */
    uint64_t device, inode;
    uint32_t owner; /* number of the user */
} leat__stat;

typedef struct leat__remote leat__remote;

typedef struct leat__file { /* fd -1 or 0-initialised and never opened: closed is fine */
    int fd;
    leat__remote *remote; /* not NULL: a remote file, and fd is -1; see base/remote/remote.h */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t inode;
} leat__file;

static inline bool leat__file_is_open(const leat__file *file) {
    return file->fd > 0 || file->remote;
}
/* Whether a path is an address, http://, https:// or s3://, that is read through a network. Such files are opened, read, looked at
 * and matched by the functions below as others are; they are not written. */
bool leat__is_remote(const char *path);
/* The part of a path behind its last slash, without the query that an address may have; its length. */
size_t leat__path_name(const char *path, const char **name);

/* 0, or LEAT_ERR_NOT_FOUND / LEAT_ERR_IO. Follows links. */
int leat__file_stat(const char *path, leat__stat *out, leat_error *err);
#define LEAT_NO_OWNER UINT32_MAX
/* Regular files only: a FIFO or a device named like an image is an error, never a wait. */
int leat__file_open(leat__file *file, const char *path, leat_error *err);
/* Exactly n bytes at offset, or an error that says where the file ended. path is for the message. */
int leat__file_read_at(const leat__file *file, void *dst, size_t n, uint64_t offset, const char *path,
                       leat_error *err);
/* Whether the bytes of a file can only come from this user, from root or from `owner`: it belongs to one of them, and neither its
 * group nor others may write to it. */
bool leat__file_trusted(const leat__file *file, uint32_t owner);
#define LEAT_NOT_TRUSTED                                                                                  \
    "belongs to another user, or others may write to it: it is not used unless asked for by trust_cache " \
    "(--trust-cache)"
/* Tells the kernel that [offset, offset + n) will be read soon; n 0 = to the end. */
void leat__file_will_read(const leat__file *file, uint64_t offset, uint64_t n);
void leat__file_close(leat__file *file);
/* Closes a file that was written to. Some file systems tell only now that there was no room for it. */
int leat__file_finish(leat__file *file, const char *path, leat_error *err);
/* The whole file into buf; more than bytes_max is LEAT_ERR_LIMIT. */
int leat__file_read_all(const char *path, leat__buf *buf, size_t bytes_max, leat_error *err);

/* Whether writing up to that offset would pass RLIMIT_FSIZE. The kernel kills a process that does so unless SIGXFSZ is blocked
 * or ignored, and a library must not change what signals do. So whatever writes asks before, and fails with EFBIG. */
bool leat__file_limited(uint64_t end);

/* A file that appears whole or not at all: written beside its place, synced, renamed on commit. Opening it removes what
 * processes that have ended left in that folder, see leat__temporaries_remove. */
typedef struct leat__out leat__out;
int leat__out_open(leat__out **out, const char *path, leat_error *err);
int leat__out_write(leat__out *out, const void *bytes, size_t n, leat_error *err);
uint64_t leat__out_size(const leat__out *out);
/* Only the owner may write to the file, whatever the umask says, so that the next run trusts it. */
void leat__out_guard(leat__out *out);
/* Writes what is left, syncs, renames. The handle is freed whatever happens. */
int leat__out_commit(leat__out **out, leat_error *err);
/* Removes what was written. NULL is fine. */
void leat__out_abort(leat__out **out);

/* Writes a whole file, by rename too, but without fsync: for data that can be made again. */
int leat__file_write(const char *path, const void *bytes, size_t n, leat_error *err);
/* The same of a file that several processes may want to write: the first one's stays. 0 = it is this one's, synced; 1 = there is
 * one already. */
int leat__file_write_new(const char *path, const void *bytes, size_t n, leat_error *err);

/* grow.c: a file that is written in place, by several threads at once if they like, and read meanwhile. fresh: it must
 * not exist; otherwise it must. Only its owner may write to it. A link is not followed. Closed as other files are. */
int leat__file_grow(leat__file *file, const char *path, bool fresh, leat_error *err);
/* Until it is closed no other process gets the lock. False: another one has it. Where there are no locks: true. */
bool leat__file_lock(const leat__file *file);
void leat__file_unlock(const leat__file *file);
int leat__file_write_at(const leat__file *file, const void *bytes, size_t n, uint64_t offset,
                        const char *path, leat_error *err);
int leat__file_cut(const leat__file *file, uint64_t size, const char *path, leat_error *err);
/* Asks for what leat__file_finish would say, and leaves the file open. */
int leat__file_settle(const leat__file *file, const char *path, leat_error *err);
int leat__file_rename(const char *from, const char *to, leat_error *err);
/* Reads consecutive bytes from offset on into several buffers, usually with one system call. */
#define LEAT_FILE_PARTS_MAX 80
typedef struct leat__file_part {
    void *to;
    size_t n;
} leat__file_part;
int leat__file_read_parts(const leat__file *file, const leat__file_part *part, int n, uint64_t offset,
                          const char *path, leat_error *err);

/* journal.c: a small text file that one process locks and appends lines to, to record its progress. */
typedef struct leat__journal {
    int fd;
    uint64_t size;
} leat__journal;
/* Opens or makes it, locks it and reads it into content. LEAT_ERR_STATE: another process holds it. The system releases
 * the lock when the process ends, also after a crash. */
int leat__journal_open(leat__journal *journal, const char *path, leat__buf *content, leat_error *err);
/* Appends and syncs; a process that dies meanwhile leaves a line without its end at worst. */
int leat__journal_append(leat__journal *journal, const char *text, const char *path, leat_error *err);
int leat__journal_clear(leat__journal *journal, const char *path, leat_error *err);
void leat__journal_close(leat__journal *journal);

/* Calls fn for every entry but "." and ".."; order is the file system's. kind: 'f' file, 'd' directory, 'l' link,
 * '?' other or unknown. fn returns < 0 to stop with that code. */
typedef int (*leat__dir_fn)(void *user, const char *name, char kind, leat_error *err);
int leat__dir_list(const char *path, leat__dir_fn fn, void *user, leat_error *err);
int leat__dir_make(const char *path, leat_error *err);    /* with parents */
int leat__file_remove(const char *path, leat_error *err); /* missing is fine */

/* temporary.c: a new folder for this process alone below parent (NULL = $TMPDIR, else /tmp); its path goes to out, "" on
 * failure. leat__dir_remove removes a folder with all that is in it, and follows no links; "" is fine. */
int leat__dir_temporary(char *out, size_t cap, const char *parent, leat_error *err);
void leat__dir_remove(const char *path);
void leat__dir_remove_empty(const char *path); /* one with something in it stays */
uint64_t
leat__dir_free(const char *path); /* bytes that its file system has left for this user; 0 if unknown */
#define LEAT_TEMPORARY_MORE 64    /* bytes that the next name has more than the path */
/* The place beside path where it is written before it is renamed: .NAME.tmp-PLACE-PID-START-N, where PLACE stands for this boot
 * of this machine (or container) and START for when the process began. False: it is too long. */
bool leat__temporary_name(char *out, size_t cap, const char *path);
/* The number of bytes of NAME if this is such a name, or .NAME.tmp-PID-N as earlier versions wrote it; 0 if it is not. */
size_t leat__temporary_of(const char *name);
/* Removes files of such names in a folder whose process has ended. Whether a process of this user on this machine has is known
 * at once; of others a day must have passed since the file was last written to. */
void leat__temporaries_remove(const char *folder);

/* Asks the kernel to drop what the page cache holds of a file. False: there is no such file, or it cannot. */
bool leat__file_forget(const char *path);

/* Paths that match a shell pattern, sorted bytewise; a pattern without wild cards must exist. Of a bucket, s3://bucket/folder/ is
 * all that lies below it. Addresses of http have no patterns, and whether they exist is met when they are opened. */
typedef struct leat__paths {
    char **path;
    size_t n;
} leat__paths;
int leat__glob(leat__paths *out, const char *const *patterns, int n, leat_error *err);
void leat__paths_free(leat__paths *paths);
/* The absolute path without links, or a copy of path if there is none; of an address the part that may be shown and kept, without query,
 * name and password. NULL without memory. */
char *leat__real_path(const char *path);
/* The user's cache directory for leat ($XDG_CACHE_HOME/leat or ~/.cache/leat); false when there is no home. */
bool leat__cache_dir(char *out, size_t cap);

#endif
