/* SPDX-License-Identifier: Apache-2.0 */
/* leat_cache_list, leat_cache_prune: the cache directory. */
#include <limits.h>
#include <stdio.h>

#include "plan/limit.h"
#include "tools/tools.h"

static int begin(leat_cache_report *report, const leat_tool_config *config, leat_error *err) {
    char path[PATH_MAX];
    const char *cache_dir = config ? config->cache_dir : NULL;
    *report = (leat_cache_report){0};
    LEAT_TRY(leat__sets_path(cache_dir, path, sizeof path, err));
    leat__printable(report->path, sizeof report->path, path, strlen(path));
    return leat__cache_limit(cache_dir, &report->bytes_max, err);
}

static int tell_set(int (*set)(void *user, const leat_cache_set *set), void *user, const leat__set *from,
                    const char *dir, leat_error *err) {
    char folder[PATH_MAX + 64];
    snprintf(folder, sizeof folder, "%s/sets/%s", dir, from->name);
    const leat_cache_set told = {.path = from->home,
                                 .folder = folder,
                                 .bytes = from->bytes,
                                 .n_files = from->n_files,
                                 .used_s = from->used_ns / 1000000000,
                                 .in_use = from->in_use,
                                 .foreign = from->foreign};
    return set(user, &told) ? leat__fail(err, LEAT_ERR_CANCELLED, "listing data sets was cancelled") : 0;
}

int leat_cache_list(int (*set)(void *user, const leat_cache_set *set), void *user, leat_cache_report *report,
                    const leat_tool_config *config, leat_error *err) {
    leat_cache_report found;
    leat__set_list list;
    char dir[PATH_MAX];
    const char *cache_dir = config ? config->cache_dir : NULL;
    leat__error_clear(err);
    LEAT_TRY(leat__tool_config_check(config, err));
    LEAT_TRY(begin(&found, config, err));
    LEAT_TRY(leat__sets_path(cache_dir, dir, sizeof dir, err));
    LEAT_TRY(leat__sets_list(&list, cache_dir, err));
    found.n_sets = list.n;
    found.bytes = list.bytes;
    int rc = 0;
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        found.n_in_use += list.at[i].in_use;
        found.n_foreign += list.at[i].foreign != NULL;
        if (set) rc = tell_set(set, user, &list.at[i], dir, err);
    }
    leat__set_list_free(&list);
    if (report) *report = found;
    return rc;
}

int leat_cache_prune(uint64_t bytes_max, leat_cache_report *report, const leat_tool_config *config,
                     leat_error *err) {
    leat_cache_report done;
    leat__sets_report left = {0};
    leat__error_clear(err);
    LEAT_TRY(leat__tool_config_check(config, err));
    LEAT_TRY(begin(&done, config, err));
    const uint64_t limit = bytes_max == LEAT_CACHE_LIMIT ? done.bytes_max : bytes_max;
    const int rc = leat__sets_prune(config ? config->cache_dir : NULL, limit, &left, err);
    done.n_sets = left.n;
    done.bytes = left.bytes;
    done.n_removed = left.n_removed;
    done.bytes_removed = left.bytes_removed;
    done.n_in_use = left.n_in_use;
    done.n_foreign = left.n_foreign;
    if (report) *report = done;
    return rc;
}
