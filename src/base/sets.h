/* SPDX-License-Identifier: Apache-2.0 */
/* The cache directory: what is kept of data sets from run to run, in a folder for each data set.
 *
 *     DIR/sets/HASH/about.txt   "leat data set 1", then the path of the data set; HASH is XXH3-128 of that path
 *     DIR/sets/HASH/...         its side files and the positions inside its JPEG files
 *     DIR/sets/.gone-...        a set that is being removed
 *
 * The time of about.txt is the last use of the set. A process that uses a set holds a shared lock (flock) on about.txt. To
 * evict a set a process needs the exclusive lock, so a set in use stays. Then it renames the folder and removes the files:
 * other processes see the whole set or none. A file system may have no locks. There a set may be evicted while a process
 * uses it. That process keeps what it has opened or loaded, and its next run makes the files again.
 *
 * DIR/index is the layout of older versions. Nothing reads it, and pruning removes it. */
#ifndef LEAT_BASE_SETS_H
#define LEAT_BASE_SETS_H

#include "base/file.h"

#define LEAT_SETS_BYTES_MAX (UINT64_C(4) << 30) /* of the directory, unless 5 % of the disk is less */
#define LEAT_SETS_POSITIONS "positions.leatseg"

/* DIR: cache_dir, or if it is NULL the user's cache directory. */
int leat__sets_path(const char *cache_dir, char *out, size_t cap, leat_error *err);

/* The sets that one pipeline or tool uses. Several threads may share it. */
typedef struct leat__sets leat__sets;
int leat__sets_open(leat__sets **out, const char *cache_dir, leat_error *err);
/* The folder of the data set at `home`, a real path. Locks the set until leat__sets_close and marks it as used now. Without
 * make a missing folder is LEAT_ERR_NOT_FOUND. Of more than 64 sets the later ones are not locked: each lock takes a file
 * descriptor. */
int leat__sets_folder(leat__sets *sets, const char *home, bool make, char *out, size_t cap, leat_error *err);
/* A file was added: leat__sets_added tells it to the code that prunes. */
void leat__sets_add(leat__sets *sets);
bool leat__sets_added(const leat__sets *sets);
/* Frees and nulls; NULL is fine. Waits for no disk. */
void leat__sets_close(leat__sets **sets);

/* sets_prune.c: all sets of a directory, whichever process made them. */
typedef struct leat__set {
    char name[33]; /* of the folder                                        */
    bool in_use;
    char *home; /* the path of the data set; "" if about.txt does not say */
    uint64_t bytes, n_files;
    int64_t used_ns; /* last use, since 1970                                 */
    char *foreign;   /* a file in it that leat did not make; NULL: none      */
} leat__set;
typedef struct leat__set_list { /* least recently used first */
    leat__set *at;
    size_t n;
    uint64_t bytes;
} leat__set_list;
/* A missing directory is an empty list. Links are not followed. */
int leat__sets_list(leat__set_list *out, const char *cache_dir, leat_error *err);
void leat__set_list_free(leat__set_list *list);

typedef struct leat__sets_report {
    uint64_t n, bytes; /* that are left */
    uint64_t n_removed, bytes_removed;
    uint64_t n_in_use, n_foreign; /* of those left: not removable */
} leat__sets_report;
/* Removes sets, least recently used first, until they have bytes_max together. Leaves sets in use and folders that hold
 * anything leat did not make. Removes what older versions and killed processes left. report may be NULL. On an error it goes
 * on with the next set and returns the first error. */
int leat__sets_prune(const char *cache_dir, uint64_t bytes_max, leat__sets_report *report, leat_error *err);
/* Bytes that may be added now, at most `wanted`: prunes if they would not fit into bytes_max. */
uint64_t leat__sets_room(const char *cache_dir, uint64_t bytes_max, uint64_t wanted);
/* LEAT_SETS_BYTES_MAX, or 5 % of the disk if that is less. */
uint64_t leat__sets_default(const char *cache_dir);

#endif
