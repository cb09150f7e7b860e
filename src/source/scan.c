/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory tree level by level; the directories of a level are listed in parallel, each into a list of its
 * own, and then sorted into the index. Hidden entries are left out; links to directories are followed only when asked
 * for, and never into an ancestor, so the walk ends. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/thread.h"
#include "source/folder.h"

typedef struct scan_dir {
    char *path;    /* relative to the root */
    size_t parent; /* SIZE_MAX for the root */
    uint64_t device, inode;
    int64_t mtime_ns, ctime_ns;
    uint64_t digest;   /* of its names */
    leat__buf files;   /* of found */
    leat__buf folders; /* of char *, names */
    leat__buf names;   /* texts of both */
    uint64_t ignored;
} scan_dir;

typedef struct found { /* a file while its directory is being listed */
    uint64_t name, size;
} found;

typedef struct scan {
    const char *root;
    bool follow;
    const leat__open_options *open;
    scan_dir *dir;
    size_t n, cap;
    size_t level_begin;
} scan;

static bool is_image_name(const char *name) {
    static const char *const endings[] = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp"};
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name) return false;
    for (size_t i = 0; i < LEAT_COUNT(endings); i++) {
        const char *a = dot, *b = endings[i];
        while (*a && (*a | 32) == *b) a++, b++; /* '.' | 32 is '.', letters become small */
        if (*a == 0 && *b == 0) return true;
    }
    return false;
}

typedef struct listing {
    const scan *walk;
    scan_dir *dir;
} listing;

static int full_path(char *out, const scan *walk, const char *dir, const char *name, leat_error *err) {
    const int n = snprintf(out, PATH_MAX, "%s/%s%s%s", walk->root, dir, *dir ? "/" : "", name);
    return n < PATH_MAX ? 0
                        : leat__fail(err, LEAT_ERR_LIMIT, "a path below %s is longer than %d bytes",
                                     walk->root, PATH_MAX);
}

static bool is_ancestor(const scan *walk, const scan_dir *dir, const leat__stat *st) {
    for (;;) {
        if (dir->device == st->device && dir->inode == st->inode) return true;
        if (dir->parent == SIZE_MAX) return false;
        dir = &walk->dir[dir->parent];
    }
}

/* A sum, since the order in which a directory is listed means nothing. */
static void add_name(uint64_t *digest, const char *name) {
    *digest += leat__hash(name, strlen(name), 0);
}

static int count_name(void *user, const char *name, char kind, leat_error *err) {
    (void)kind, (void)err;
    if (name[0] != '.') add_name(user, name);
    return 0;
}

int leat__folder_names(const char *path, uint64_t *out, leat_error *err) {
    *out = 0;
    return leat__dir_list(path, count_name, out, err);
}

static int take_entry(void *user, const char *name, char kind, leat_error *err) {
    const listing *list = user;
    scan_dir *dir = list->dir;
    if (name[0] == '.') return 0;
    add_name(&dir->digest, name);
    const bool image = is_image_name(name);
    if (kind == 'f' && !image) return dir->ignored++, 0;
    char path[PATH_MAX];
    leat__stat st = {.is_dir = kind == 'd'};
    /* The size is part of the dataset's fingerprint; a link or an unknown kind says nothing by itself. A link to
     * nowhere is no image. A disk that fails stops the walk: without this file it would be another data set. */
    if (kind != 'd') {
        LEAT_TRY(full_path(path, list->walk, dir->path, name, err));
        leat_error why;
        const int rc = leat__file_stat(path, &st, &why);
        if (rc < 0 && leat__error_is_fault(&why)) return *err = why, rc;
        if (rc < 0) return dir->ignored++, 0;
        if (kind == 'l' && st.is_dir && (!list->walk->follow || is_ancestor(list->walk, dir, &st))) return 0;
    }
    if (!st.is_dir && (!st.is_file || !image)) return dir->ignored++, 0;
    const uint64_t at = dir->names.size;
    const found file = {.name = at, .size = st.size};
    const bool kept = leat__buf_append(&dir->names, name, strlen(name) + 1) &&
                      (st.is_dir ? leat__buf_append(&dir->folders, &at, sizeof at)
                                 : leat__buf_append(&dir->files, &file, sizeof file));
    return kept ? 0 : leat__fail_memory(err, dir->names.size, "file names");
}

static int list_dir(void *user, uint64_t item, int worker, leat_error *err) {
    scan *walk = user;
    scan_dir *dir = &walk->dir[walk->level_begin + item];
    const leat__open_options *open = walk->open;
    if (worker == 0 && open->progress &&
        open->progress(open->user, "scanning folders", walk->level_begin + item, walk->n))
        return leat__fail(err, LEAT_ERR_CANCELLED, "scanning %s was cancelled", walk->root);
    char path[PATH_MAX];
    leat__stat st;
    LEAT_TRY(full_path(path, walk, dir->path, "", err));
    LEAT_TRY(leat__file_stat(path, &st, err));
    dir->device = st.device, dir->inode = st.inode, dir->mtime_ns = st.mtime_ns, dir->ctime_ns = st.ctime_ns;
    listing list = {.walk = walk, .dir = dir};
    return leat__dir_list(path, take_entry, &list, err);
}

static int add_dir(scan *walk, size_t parent, const char *name, leat_error *err) {
    if (walk->n == (1u << 24) - 1)
        return leat__fail(err, LEAT_ERR_LIMIT, "folder %s has more than 16 million sub-folders", walk->root);
    if (walk->n == walk->cap) {
        const size_t cap = walk->cap ? walk->cap * 2 : 256;
        scan_dir *grown = leat__alloc(LEAT_MEM_INDEX, cap * sizeof *grown);
        if (!grown) return leat__fail_memory(err, cap * sizeof *grown, "folders");
        if (walk->n) memcpy(grown, walk->dir, walk->n * sizeof *grown);
        leat__free(walk->dir);
        walk->dir = grown;
        walk->cap = cap;
    }
    char path[PATH_MAX];
    const char *above = parent == SIZE_MAX ? "" : walk->dir[parent].path;
    snprintf(path, sizeof path, "%s%s%s", above, *above ? "/" : "", name);
    scan_dir *dir = &walk->dir[walk->n];
    *dir = (scan_dir){.parent = parent, .path = leat__strdup(LEAT_MEM_INDEX, path)};
    dir->files.kind = dir->folders.kind = dir->names.kind = LEAT_MEM_INDEX;
    if (!dir->path) return leat__fail_memory(err, strlen(path), "folders");
    walk->n++;
    return 0;
}

static int walk_tree(scan *walk, leat_error *err) {
    LEAT_TRY(add_dir(walk, SIZE_MAX, "", err));
    while (walk->level_begin < walk->n) {
        const size_t end = walk->n;
        LEAT_TRY(leat__parallel(walk->open->n_threads, end - walk->level_begin, list_dir, walk, err));
        for (size_t i = walk->level_begin; i < end; i++) {
            const size_t n = walk->dir[i].folders.size / sizeof(uint64_t);
            for (size_t k = 0; k < n; k++) {
                const uint64_t at = ((const uint64_t *)walk->dir[i].folders.data)[k];
                LEAT_TRY(add_dir(walk, i, (const char *)walk->dir[i].names.data + at, err));
            }
            leat__buf_free(&walk->dir[i].folders);
        }
        walk->level_begin = end;
    }
    return 0;
}

/* "a-b" sorts before "a/b", which would tear a class apart: here '/' is below every other byte. */
static int by_path(const void *a, const void *b) {
    const uint8_t *x = (const uint8_t *)((const scan_dir *)a)->path,
                  *y = (const uint8_t *)((const scan_dir *)b)->path;
    while (*x && *x == *y) x++, y++;
    const int left = *x == '/' ? 1 : *x ? *x + 1 : 0, right = *y == '/' ? 1 : *y ? *y + 1 : 0;
    return left - right;
}
static int by_name(const void *a, const void *b, void *names) {
    return strcmp((const char *)names + ((const found *)a)->name,
                  (const char *)names + ((const found *)b)->name);
}

/* Top-level directories get their labels in the order of their names, which is the order of their paths. */
static int64_t label_of(const char *path, char *top, size_t cap, uint64_t *n_classes) {
    if (!*path) return -1;
    const size_t n = strcspn(path, "/");
    if (*n_classes == 0 || strlen(top) != n || memcmp(top, path, n) != 0) {
        snprintf(top, cap, "%.*s", (int)n, path);
        ++*n_classes;
    }
    return (int64_t)*n_classes - 1;
}

static int build_index(leat__folder_index *index, scan *walk, leat_error *err) {
    qsort(walk->dir, walk->n, sizeof *walk->dir, by_path);
    char top[NAME_MAX + 1] = "";
    for (size_t i = 0; i < walk->n; i++) {
        scan_dir *dir = &walk->dir[i];
        const leat__folder_dir kept = {.path = index->pool.size,
                                       .mtime_ns = dir->mtime_ns,
                                       .ctime_ns = dir->ctime_ns,
                                       .inode = dir->inode,
                                       .names = dir->digest,
                                       .label = label_of(dir->path, top, sizeof top, &index->n_classes)};
        index->n_ignored += dir->ignored;
        const size_t n = dir->files.size / sizeof(found);
        found *file = (found *)dir->files.data;
        if (n) qsort_r(file, n, sizeof *file, by_name, dir->names.data);
        bool fits = leat__buf_append(&index->pool, dir->path, strlen(dir->path) + 1) &&
                    leat__buf_append(&index->dirs, &kept, sizeof kept);
        for (size_t k = 0; k < n && fits; k++) {
            const char *name = (const char *)dir->names.data + file[k].name;
            if (file[k].size >> 40) { /* a terabyte is no image */
                index->n_ignored++;
                continue;
            }
            const leat__folder_file entry = {
                .name = index->pool.size, .size = file[k].size, .dir = i & 0xffffff};
            fits = leat__buf_append(&index->pool, name, strlen(name) + 1) &&
                   leat__buf_append(&index->files, &entry, sizeof entry);
        }
        if (!fits) return leat__fail_memory(err, index->files.size, "the index of a folder");
        leat__buf_free(&dir->files);
        leat__buf_free(&dir->names);
    }
    leat__buf_trim(&index->pool);
    leat__buf_trim(&index->dirs);
    leat__buf_trim(&index->files);
    return 0;
}

int leat__folder_scan(leat__folder_index *index, const leat__folder_options *options,
                      const leat__open_options *open, leat_error *err) {
    *index = (leat__folder_index){
        .pool.kind = LEAT_MEM_INDEX, .dirs.kind = LEAT_MEM_INDEX, .files.kind = LEAT_MEM_INDEX};
    index->scanned_ns = open->now_ns;
    scan walk = {.root = options->path, .follow = options->follow_links, .open = open};
    int rc = walk_tree(&walk, err);
    if (rc == 0) rc = build_index(index, &walk, err);
    for (size_t i = 0; i < walk.n; i++) {
        leat__free(walk.dir[i].path);
        leat__buf_free(&walk.dir[i].files);
        leat__buf_free(&walk.dir[i].folders);
        leat__buf_free(&walk.dir[i].names);
    }
    leat__free(walk.dir);
    if (rc < 0) leat__folder_index_free(index);
    return rc;
}
