/* SPDX-License-Identifier: Apache-2.0 */
/* leat_index: makes indexes anew and keeps them. Opening a source does all of the work but that for positions. */
#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "plan/limit.h"
#include "tools/tools.h"

/* What is the use of an index that is not kept: here it is a failure, elsewhere a warning. */
static int must_be_kept(const leat__source *source, leat_error *err) {
    return source->warning[0] ? leat__fail(err, LEAT_ERR_IO, "%s", source->warning) : 0;
}

typedef struct indexing {
    leat_index_config how;
    leat__open_options options;
    const leat_tool_config *config;
    leat_index_report report;
} indexing;

/* A source that was opened just now, and so has an index. */
static int finish_source(indexing *job, const leat__source *source, bool records, leat_error *err) {
    job->report.n_samples += source->n_samples;
    LEAT_TRY(must_be_kept(source, err));
    if (!job->how.positions) return 0;
    return leat__tool_checkpoints(source, records, &job->options, job->config, &job->report.n_positions, err);
}

/* All files of one kind: TFRecord files or tar archives. */
static int index_files(indexing *job, const leat__targets *targets, leat__target_kind kind, leat_error *err) {
    const char **paths = leat__alloc(LEAT_MEM_TOOL, targets->n * sizeof *paths);
    if (!paths) return leat__fail_memory(err, targets->n * sizeof *paths, "file names");
    int n = 0;
    for (size_t i = 0; i < targets->n; i++)
        if (targets->at[i].kind == kind) paths[n++] = targets->at[i].path;
    leat__source *source = NULL;
    const bool records = kind == LEAT_TARGET_RECORDS;
    const leat__webdataset_options tar = {.patterns = paths, .n = n};
    int rc = 0;
    if (n > 0 && records) rc = leat__records_open(&source, paths, n, &job->options, err);
    else if (n > 0) rc = leat__webdataset_open(&source, &tar, &job->options, err);
    if (rc == 0 && source) rc = finish_source(job, source, records, err);
    leat__source_free(&source);
    leat__free(paths);
    return rc;
}

static void tell_place(const leat_tool_config *config, const leat__open_options *options) {
    char folder[PATH_MAX], text[PATH_MAX + 64];
    if (!config || !config->log) return;
    if (options->beside)
        snprintf(text, sizeof text, "kept beside the data, in hidden files that end in .leatidx");
    else if (options->cache_dir) snprintf(text, sizeof text, "kept in %s/sets", options->cache_dir);
    else if (leat__cache_dir(folder, sizeof folder)) snprintf(text, sizeof text, "kept in %s/sets", folder);
    else return;
    config->log(config->user, LEAT_LOG_INFO, text);
}

static int index_all(indexing *job, const char *const *paths, int n, leat_error *err) {
    leat__targets
        targets; /* without labels: the index holds every image, and warnings are about keeping it */
    LEAT_TRY(leat__targets_open(&targets, paths, n, LEAT_LABELS_NONE, &job->options, err));
    int rc = 0;
    for (size_t i = 0; i < targets.n && rc == 0; i++) {
        const leat__target *target = &targets.at[i];
        if (target->kind == LEAT_TARGET_FOLDER) {
            rc = finish_source(job, target->source, false, err);
        } else if (target->kind != LEAT_TARGET_RECORDS && target->kind != LEAT_TARGET_TAR) {
            rc = leat__target_refuse(target, "an index is of a folder, of TFRecord files or of tar archives",
                                     err);
        } else if (target->compression != LEAT_COMPRESSION_NONE) {
            rc = leat__target_refuse(target, "it is read as a stream and needs no index", err);
        }
    }
    if (rc == 0) rc = index_files(job, &targets, LEAT_TARGET_RECORDS, err);
    if (rc == 0) rc = index_files(job, &targets, LEAT_TARGET_TAR, err);
    if (rc == 0) tell_place(job->config, &job->options);
    leat__targets_free(&targets);
    return rc;
}

int leat_index(const char *const *paths, int n, const leat_index_config *how, leat_index_report *report,
               const leat_tool_config *config, leat_error *err) {
    leat__error_clear(err);
    if (report) *report = (leat_index_report){0};
    if (!paths || n < 1) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_index: there is no path");
    LEAT_TRY(leat__tool_config_check(config, err));
    if (how) LEAT_TRY(LEAT_CHECK_RESERVED(leat_index_config, how, err));
    /* Opening keeps no index of what changed just now, within the grain of the file system's clock: here it is worth
     * waiting for. */
    leat__sleep_ns(25000000);
    indexing job = {.options = leat__tool_open_options(config), .config = config};
    if (how) job.how = *how;
    if (job.options.no_side_files)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "leat_index: an index is a side file, and there may be none");
    job.options.refresh = true;
    job.options.beside = job.how.beside != 0;
    uint64_t cache_bytes_max;
    LEAT_TRY(leat__cache_limit(job.options.cache_dir, &cache_bytes_max, err));
    if (!job.how.beside) LEAT_TRY(leat__sets_open(&job.options.sets, job.options.cache_dir, err));
    const int rc = index_all(&job, paths, n, err);
    /* The sets that were indexed are in use here, and stay. */
    if (rc == 0 && job.options.sets) leat__sets_prune(job.options.cache_dir, cache_bytes_max, NULL, NULL);
    leat__sets_close(&job.options.sets);
    if (report) *report = job.report;
    return rc;
}
