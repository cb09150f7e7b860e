/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a folder: scan.c makes it, folder.c reads it. */
#ifndef LEAT_SOURCE_FOLDER_H
#define LEAT_SOURCE_FOLDER_H

#include "source/source.h"

typedef struct leat__folder_dir {
    uint64_t path; /* offset in the pool, relative to the root, "" for the root */
    int64_t mtime_ns, ctime_ns;
    uint64_t inode;
    uint64_t names; /* digest of the names in it, see leat__folder_names           */
    int64_t label;  /* number of its top-level directory, -1 in the root         */
} leat__folder_dir;

typedef struct leat__folder_file {
    uint64_t name; /* offset in the pool                                        */
    uint64_t size : 40;
    uint64_t dir : 24;
} leat__folder_file;

typedef struct leat__folder_index {
    leat__buf pool;  /* zero-terminated texts                                     */
    leat__buf dirs;  /* of leat__folder_dir, sorted by path                       */
    leat__buf files; /* of leat__folder_file, sorted by directory, then name      */
    uint64_t n_classes;
    uint64_t n_ignored; /* files that are no images                                  */
    int64_t scanned_ns;
} leat__folder_index;

/* Walks the tree, directories in parallel. */
int leat__folder_scan(leat__folder_index *index, const leat__folder_options *, const leat__open_options *,
                      leat_error *);
/* The digest of the names that are in a directory now, without hidden ones: a copy of the tree has the same. */
int leat__folder_names(const char *path, uint64_t *out, leat_error *err);
void leat__folder_index_free(leat__folder_index *index);

#endif
