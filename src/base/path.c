/* SPDX-License-Identifier: Apache-2.0 */
/* Folders, shell patterns and paths: the part of base/file.h that does not read bytes. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/remote/remote.h"

static int fail_folder(leat_error *err, int sys, const char *verb, const char *path) {
    char shown[600];
    leat__printable(shown, sizeof shown, path, strlen(path));
    const int code = sys == ENOENT || sys == ENOTDIR ? LEAT_ERR_NOT_FOUND : LEAT_ERR_IO;
    return leat__fail_sys(err, code, sys, "cannot %s folder %s", verb, shown);
}

int leat__dir_list(const char *path, leat__dir_fn fn, void *user, leat_error *err) {
    DIR *dir = opendir(path);
    if (!dir) return fail_folder(err, errno, "open", path);
    int rc = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno) rc = fail_folder(err, errno, "list", path);
            break;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        const char kind = entry->d_type == DT_REG   ? 'f'
                          : entry->d_type == DT_DIR ? 'd'
                          : entry->d_type == DT_LNK ? 'l'
                                                    : '?';
        rc = fn(user, name, kind, err);
        if (rc < 0) break;
    }
    closedir(dir);
    return rc;
}

int leat__dir_make(const char *path, leat_error *err) {
    char part[PATH_MAX];
    const size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the folder name has %zu bytes", n);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != 0) continue;
        const char end = part[i];
        part[i] = 0;
        struct stat st;
        if (mkdir(part, 0777) != 0 && (errno != EEXIST || stat(part, &st) != 0 || !S_ISDIR(st.st_mode)))
            return fail_folder(err, errno == EEXIST ? ENOTDIR : errno, "make", part);
        part[i] = end;
    }
    return 0;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct growing {
    leat__paths *out;
    size_t cap;
} growing;

/* Adds a copy of path; leat__paths_free frees what is there. */
static int add_path(void *user, const char *path, leat_error *err) {
    growing *all = user;
    leat__paths *out = all->out;
    if (out->n == all->cap) {
        all->cap = all->cap ? all->cap * 2 : 64;
        char **grown = leat__alloc(LEAT_MEM_INDEX, all->cap * sizeof *grown);
        if (!grown) return leat__fail_memory(err, all->cap * sizeof *grown, "file names");
        if (out->n) memcpy(grown, out->path, out->n * sizeof *grown);
        leat__free(out->path);
        out->path = grown;
    }
    out->path[out->n] = leat__strdup(LEAT_MEM_INDEX, path);
    if (!out->path[out->n]) return leat__fail_memory(err, 0, "file names");
    out->n++;
    return 0;
}

static int match_local(growing *all, const char *pattern, leat_error *err) {
    glob_t found = {0};
    /* A name that exists is taken as it is, even with brackets or stars in it. */
    struct stat st;
    if (stat(pattern, &st) == 0) return add_path(all, pattern, err);
    int rc = 0;
    if (glob(pattern, GLOB_NOSORT | GLOB_BRACE | GLOB_TILDE, NULL, &found) == GLOB_NOSPACE)
        rc = leat__fail_memory(err, 0, "file names");
    for (size_t k = 0; k < found.gl_pathc && rc == 0; k++) rc = add_path(all, found.gl_pathv[k], err);
    globfree(&found);
    return rc;
}

static int match_remote(growing *all, const char *pattern, leat_error *err) {
    if (strncasecmp(pattern, "s3://", 5) == 0) return leat__remote_glob(pattern, add_path, all, err);
    char shown[600];
    if (strcspn(pattern, "*") < strcspn(pattern, "?"))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "%s: a web server does not tell what files it has: name each of them, or use s3://",
                          leat__printable(shown, sizeof shown, pattern, strlen(pattern)));
    return add_path(all, pattern, err);
}

int leat__glob(leat__paths *out, const char *const *patterns, int n, leat_error *err) {
    *out = (leat__paths){0};
    growing all = {.out = out};
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        const size_t before = out->n;
        rc = leat__is_remote(patterns[i]) ? match_remote(&all, patterns[i], err)
                                          : match_local(&all, patterns[i], err);
        char shown[600];
        if (rc == 0 && out->n == before)
            rc = leat__fail(err, LEAT_ERR_NOT_FOUND, "no file matches %s: check the path and the pattern",
                            leat__printable(shown, sizeof shown, patterns[i], strlen(patterns[i])));
    }
    if (rc < 0) {
        leat__paths_free(out);
        return rc;
    }
    if (out->n) qsort(out->path, out->n, sizeof *out->path, compare_paths);
    size_t kept = 0; /* two patterns may name the same file */
    for (size_t i = 0; i < out->n; i++) {
        if (kept > 0 && strcmp(out->path[kept - 1], out->path[i]) == 0) leat__free(out->path[i]);
        else out->path[kept++] = out->path[i];
    }
    out->n = kept;
    return 0;
}

size_t leat__path_name(const char *path, const char **name) {
    const size_t n =
        strncasecmp(path, "http", 4) == 0 && leat__is_remote(path) ? strcspn(path, "?#") : strlen(path);
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    *name = path + begin;
    return n - begin;
}

void leat__paths_free(leat__paths *paths) {
    for (size_t i = 0; i < paths->n; i++) leat__free(paths->path[i]);
    leat__free(paths->path);
    *paths = (leat__paths){0};
}

char *leat__real_path(const char *path) {
    char resolved[PATH_MAX];
    if (leat__is_remote(path))
        return leat__strdup(LEAT_MEM_PLAN, leat__printable(resolved, sizeof resolved, path, strlen(path)));
    return leat__strdup(LEAT_MEM_PLAN, realpath(path, resolved) ? resolved : path);
}

bool leat__cache_dir(char *out, size_t cap) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (xdg && xdg[0] == '/') n = snprintf(out, cap, "%s/leat", xdg);
    else if (home && home[0] == '/') n = snprintf(out, cap, "%s/.cache/leat", home);
    return n > 0 && (size_t)n < cap;
}
