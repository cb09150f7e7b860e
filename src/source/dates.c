/* SPDX-License-Identifier: Apache-2.0 */
/* Modification times of files: with them a cache on disk notices that its data set has changed. */
#include <limits.h>

#include "base/hash.h"
#include "base/thread.h"
#include "source/source.h"

enum { BLOCK = 1024 };

int leat__source_date(const char *path, uint64_t size, int64_t mtime_ns, bool exact, uint64_t *hash,
                      leat_error *err) {
    leat__stat st = {0};
    if (exact) LEAT_TRY(leat__file_stat(path, &st, err));
    const uint64_t facts[] = {size, (uint64_t)mtime_ns, (uint64_t)st.ctime_ns, st.inode};
    char *real = leat__real_path(path);
    if (!real) return leat__fail_memory(err, strlen(path), "a path");
    *hash = leat__hash(facts, exact ? sizeof facts : sizeof facts / 2, leat__hash(real, strlen(real), *hash));
    leat__free(real);
    return 0;
}

typedef struct dating {
    const leat__source *source;
    leat__source_path_fn *path;
    bool exact;
    uint64_t *hash; /* of each block of samples */
} dating;

static int date_block(void *user, uint64_t item, int worker, leat_error *err) {
    (void)worker, (void)err;
    const dating *all = user;
    char path[PATH_MAX];
    const uint64_t end = LEAT_MIN((item + 1) * BLOCK, all->source->n_samples);
    for (uint64_t i = item * BLOCK; i < end; i++) {
        leat__stat st = {0}; /* one that is gone is noticed when it is read */
        if (all->path(all->source, i, path, sizeof path)) leat__file_stat(path, &st, NULL);
        const uint64_t facts[] = {st.size, (uint64_t)st.mtime_ns, (uint64_t)st.ctime_ns, st.inode};
        all->hash[item] = leat__hash(facts, all->exact ? sizeof facts : sizeof facts / 2, all->hash[item]);
    }
    return 0;
}

int leat__source_date_all(const leat__source *source, leat__source_path_fn *path, int n_threads, bool exact,
                          const char *root, uint64_t *out, leat_error *err) {
    const uint64_t n = (source->n_samples + BLOCK - 1) / BLOCK;
    dating all = {.source = source,
                  .path = path,
                  .exact = exact,
                  .hash = leat__alloc(LEAT_MEM_INDEX, n * sizeof *all.hash)};
    if (!all.hash) return leat__fail_memory(err, n * sizeof *all.hash, "the times of files");
    *out = 0;
    int rc = leat__source_date(root, 0, 0, false, out, err);
    if (rc == 0) rc = leat__parallel(n_threads, n, date_block, &all, err);
    *out = leat__hash(all.hash, n * sizeof *all.hash, *out);
    leat__free(all.hash);
    return rc;
}
