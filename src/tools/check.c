/* SPDX-License-Identifier: Apache-2.0 */
/* leat_check: reads everything, checks every checksum, decodes every image, and names what is bad.
 *
 * Samples go in chunks: the workers of a chunk share nothing but a list of findings, and when the chunk is done the
 * findings are told in order, on the caller's thread. A compressed file can only be read from its beginning: the
 * caller's thread inflates a chunk, then all workers look into its records. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "tools/tools.h"

enum { CHUNK = 4096, BLOCK = 64, ROWS = 16, VALUES_MAX = 1 << 24 };
#define STREAM_BYTES ((size_t)32 << 20) /* of records that wait to be looked into              */
#define KEEP_BYTES ((size_t)64 << 20)   /* what a worker keeps after a large picture           */

typedef struct finding {
    uint64_t sample;
    int stage, code;
    char reason[400];
} finding;

typedef struct piece { /* a record of a stream, in check.bytes */
    size_t at, n;
    uint64_t record;
} piece;

typedef struct check {
    const leat_tool_config *config;
    leat__open_options options;
    int (*bad)(void *user, const leat_check_bad *bad);
    void *user;
    leat_check_report *report;
    leat__tool_worker *workers;
    int n_threads;
    uint64_t bytes_before, bytes_total; /* bytes_before: of the targets that are done    */

    const leat__target *target; /* the one at work                                      */
    const leat__source *source; /* of a folder or of records                            */
    char *root;                 /* of a folder, as its source names it in messages      */
    uint64_t begin, end, block; /* of the chunk; samples that a worker takes at once    */
    leat__buf bytes, pieces;    /* of the chunk of a stream                             */
    atomic_uint_least64_t bytes_done;

    leat__mutex mutex; /* guards found */
    leat__buf found;
} check;

/* ------------------------------------------------------------------------------------- one sample */

static int check_image(leat__tool_worker *worker, const uint8_t *bytes, size_t n, leat_error *err) {
    leat__picture_info info;
    LEAT_TRY(leat__decode_begin(worker->decoder, bytes, n, NULL, &info, err));
    const size_t stride = (size_t)info.width * (size_t)info.channels;
    int rc = leat__buf_reserve(&worker->pixels, stride * ROWS)
                 ? 0
                 : leat__fail_memory(err, stride * ROWS, "pixels");
    for (int y = 0; y < info.height && rc >= 0; y += ROWS)
        rc = leat__decode_rows(worker->decoder, worker->pixels.data, (ptrdiff_t)stride,
                               LEAT_MIN(ROWS, info.height - y), err);
    const int end = leat__decode_end(worker->decoder, rc < 0 ? NULL : err);
    leat__decoder_trim(worker->decoder, KEEP_BYTES);
    return rc < 0 ? rc : end;
}

static int check_feature(leat__tool_worker *worker, const leat__feature *f, int *stage, leat_error *err) {
    const int64_t count = leat__feature_count(f);
    char key[64];
    leat__printable(key, sizeof key, f->key, f->key_n);
    *stage = LEAT_STAGE_PARSE;
    if (count < 0) return leat__fail(err, LEAT_ERR_FORMAT, "feature '%s' is malformed", key);
    if (f->kind != LEAT_FEATURE_BYTES) return 0;
    if (count > VALUES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "feature '%s' has %" PRId64 " values, the limit is %d", key,
                          count, VALUES_MAX);
    const size_t bytes = (size_t)count * sizeof(leat__span);
    if (!leat__buf_reserve(&worker->spans, bytes)) return leat__fail_memory(err, bytes, "values");
    const leat__span *span = (const leat__span *)worker->spans.data;
    const int64_t got = leat__feature_spans(f, (leat__span *)worker->spans.data, (size_t)count);
    if (got != count) return leat__fail(err, LEAT_ERR_FORMAT, "feature '%s' is malformed", key);
    *stage = LEAT_STAGE_DECODE;
    for (int64_t i = 0; i < count; i++) {
        if (!leat__image_like(span[i].data, span[i].n)) continue;
        const int rc = check_image(worker, span[i].data, span[i].n, err);
        if (rc >= 0) continue;
        if (count > 1) leat__error_prefix(err, "feature '%s' value %" PRId64 ": ", key, i);
        else leat__error_prefix(err, "feature '%s': ", key);
        return rc;
    }
    return 0;
}

static int check_lists(leat__tool_worker *worker, const uint8_t *bytes, size_t n, int *stage,
                       leat_error *err) {
    leat__sequence lists = leat__sequence_over(bytes, n);
    leat__span key;
    leat__wire steps;
    while (leat__sequence_next(&lists, &key, &steps) > 0) {
        leat__feature feature = {.key = key.data, .key_n = key.n};
        for (uint64_t step = 0; leat__sequence_step(&steps, &feature) > 0; step++) {
            const int rc = check_feature(worker, &feature, stage, err);
            if (rc >= 0) continue;
            leat__error_prefix(err, "step %" PRIu64 " of ", step);
            return rc;
        }
    }
    return 0;
}

/* A record need not hold an Example; then it is its own business, or an image. */
static int check_record(leat__tool_worker *worker, const uint8_t *bytes, size_t n, int *stage,
                        leat_error *err) {
    leat__example_iter iter;
    leat__feature feature;
    leat_error ignored;
    int rc;
    leat__example_iter_init(&iter, bytes, n);
    while ((rc = leat__example_iter_next(&iter, &feature, &ignored)) > 0) continue;
    if (rc < 0) {
        *stage = LEAT_STAGE_DECODE;
        return leat__image_like(bytes, n) ? check_image(worker, bytes, n, err) : 0;
    }
    leat__example_iter_init(&iter, bytes, n);
    while (leat__example_iter_next(&iter, &feature, &ignored) > 0)
        LEAT_TRY(check_feature(worker, &feature, stage, err));
    return check_lists(worker, bytes, n, stage, err);
}

/* --------------------------------------------------------------------------------------- findings */

static int add_finding(check *c, uint64_t sample, int stage, int code, const char *reason, leat_error *err) {
    finding one = {.sample = sample, .stage = stage, .code = code};
    leat__printable(one.reason, sizeof one.reason, reason, strlen(reason));
    leat__lock(&c->mutex);
    const bool kept = leat__buf_append(&c->found, &one, sizeof one);
    leat__unlock(&c->mutex);
    return kept ? 0 : leat__fail_memory(err, c->found.size, "findings");
}

static int by_sample(const void *a, const void *b) {
    const uint64_t x = ((const finding *)a)->sample, y = ((const finding *)b)->sample;
    return x < y ? -1 : x > y;
}

static void path_of(const check *c, uint64_t sample, char path[PATH_MAX]) {
    const char *base = c->target->path;
    if (c->target->kind == LEAT_TARGET_LIST && sample != LEAT_NO_SAMPLE) {
        leat__list_path(c->source, sample, path, PATH_MAX);
        return;
    }
    if (c->target->kind != LEAT_TARGET_FOLDER || sample == LEAT_NO_SAMPLE) {
        snprintf(path, PATH_MAX, "%s", base);
        return;
    }
    char relative[PATH_MAX];
    size_t n = strlen(base);
    while (n > 1 && base[n - 1] == '/') n--;
    leat__folder_path(c->source, sample, relative, sizeof relative, NULL);
    const int used = snprintf(path, PATH_MAX, "%.*s%s", (int)n, base, n == 1 && base[0] == '/' ? "" : "/");
    if (used < PATH_MAX) snprintf(path + used, PATH_MAX - (size_t)used, "%s", relative);
}

static int tell_findings(check *c, leat_error *err) {
    finding *found = (finding *)c->found.data;
    const size_t n = c->found.size / sizeof *found;
    if (n) qsort(found, n, sizeof *found, by_sample);
    c->found.size = 0;
    c->report->n_bad += n;
    for (size_t i = 0; i < n && c->bad; i++) {
        char path[PATH_MAX];
        path_of(c, found[i].sample, path);
        const bool record = c->target->kind == LEAT_TARGET_RECORDS || c->target->kind == LEAT_TARGET_TAR;
        const leat_check_bad bad = {.path = path,
                                    .record = record ? found[i].sample : LEAT_NO_SAMPLE,
                                    .stage = found[i].stage,
                                    .code = found[i].code,
                                    .reason = found[i].reason};
        if (c->bad(c->user, &bad)) return leat__fail(err, LEAT_ERR_CANCELLED, "checking was cancelled");
    }
    return 0;
}

static int show_progress(check *c, leat_error *err) {
    const uint64_t done = c->bytes_before + atomic_load(&c->bytes_done);
    return leat__tool_progress(c->config, "checking", LEAT_MIN(done, c->bytes_total), c->bytes_total, err);
}

/* ------------------------------------------------------------------- folders and plain record files */

static int check_sample(check *c, leat__tool_worker *worker, uint64_t sample, leat_error *err) {
    const bool folder = c->target->kind == LEAT_TARGET_FOLDER,
               images = c->target->kind != LEAT_TARGET_RECORDS;
    leat_error cause;
    leat__value values[LEAT_FIELDS_MAX];
    int stage = LEAT_STAGE_READ;
    leat__error_clear(&cause);
    int rc = c->source->class->read(c->source, &worker->reader, sample, values, &cause);
    if (rc == 0) {
        stage = LEAT_STAGE_DECODE;
        atomic_fetch_add(&c->bytes_done, values[0].bytes);
        rc = images ? check_image(worker, values[0].data, values[0].bytes, &cause)
                    : check_record(worker, values[0].data, values[0].bytes, &stage, &cause);
        if (rc < 0 && c->source->class->sharded) {
            char where[1000];
            c->source->class->describe(c->source, sample, where, sizeof where);
            leat__error_prefix(&cause, "%s: ", where);
        }
    }
    if (rc >= 0) return 0;
    char path[PATH_MAX], reason[sizeof cause.message], relative[PATH_MAX];
    path_of(c, sample, path);
    if (folder) {
        leat__folder_path(c->source, sample, relative, sizeof relative, NULL);
        const int used = snprintf(path, sizeof path, "%s/", c->root);
        if (used < (int)sizeof path) snprintf(path + used, sizeof path - (size_t)used, "%s", relative);
    }
    leat__tool_reason(reason, sizeof reason, cause.message, path);
    return add_finding(c, sample, stage, rc, reason, err);
}

static int check_block(void *user, uint64_t item, int worker, leat_error *err) {
    check *c = user;
    const uint64_t begin = c->begin + item * c->block, end = LEAT_MIN(begin + c->block, c->end);
    for (uint64_t sample = begin; sample < end; sample++)
        LEAT_TRY(check_sample(c, &c->workers[worker], sample, err));
    return worker == 0 ? show_progress(c, err) : 0;
}

static int check_source(check *c, leat_error *err) {
    c->block = c->target->kind == LEAT_TARGET_RECORDS ? BLOCK : 1;
    int rc = 0;
    for (uint64_t at = 0; at < c->source->n_samples && rc >= 0; at += CHUNK) {
        c->begin = at;
        c->end = LEAT_MIN(at + CHUNK, c->source->n_samples);
        const uint64_t blocks = (c->end - c->begin + c->block - 1) / c->block;
        rc = leat__parallel(c->n_threads, blocks, check_block, c, err);
        if (rc < 0) break;
        c->report->n_samples += c->end - c->begin;
        rc = tell_findings(c, err);
    }
    leat__tool_readers_free(c->workers, c->n_threads, c->source);
    return rc;
}

/* ---------------------------------------------------------------------------- compressed record files */

static int check_piece(void *user, uint64_t item, int worker, leat_error *err) {
    check *c = user;
    const piece *p = (const piece *)c->pieces.data + item;
    leat_error cause;
    int stage = LEAT_STAGE_PARSE;
    leat__error_clear(&cause);
    const int rc = check_record(&c->workers[worker], c->bytes.data + p->at, p->n, &stage, &cause);
    if (rc < 0) {
        leat__error_prefix(&cause, "record %" PRIu64 ": ", p->record);
        LEAT_TRY(add_finding(c, p->record, stage, rc, cause.message, err));
    }
    return worker == 0 ? show_progress(c, err) : 0;
}

static int check_stream(check *c, leat_error *err) {
    leat__shards *stream;
    leat__source *source;
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    const char *path = c->target->path;
    LEAT_TRY(leat__shards_open(&stream, &source, &path, 1, err));
    uint64_t n = 0;
    int rc = 0;
    for (bool more = true; more && rc >= 0;) {
        c->bytes.size = c->pieces.size = 0;
        while (c->bytes.size < STREAM_BYTES && c->pieces.size < CHUNK * sizeof(piece) && more && rc >= 0) {
            leat_error cause;
            leat__error_clear(&cause);
            const int got = leat__shards_next(stream, &record, &cause);
            more = got <= 0;
            if (got < 0) {
                char reason[sizeof cause.message];
                leat__tool_reason(reason, sizeof reason, cause.message, path);
                rc = add_finding(c, n++, LEAT_STAGE_READ, got, reason, err);
                if (c->found.size >= CHUNK * sizeof(finding)) break;
            } else if (got == 0) {
                const piece p = {.at = c->bytes.size, .n = record.size, .record = n++};
                if (!leat__buf_append(&c->bytes, record.data, record.size) ||
                    !leat__buf_append(&c->pieces, &p, sizeof p))
                    rc = leat__fail_memory(err, record.size, "records");
            }
        }
        atomic_store(&c->bytes_done, leat__shards_bytes_read(stream));
        if (rc >= 0) rc = leat__parallel(c->n_threads, c->pieces.size / sizeof(piece), check_piece, c, err);
        if (rc >= 0) rc = tell_findings(c, err);
    }
    c->report->n_samples += n;
    leat__buf_free(&record);
    leat__shards_free(&stream);
    leat__source_free(&source);
    return rc;
}

/* ---------------------------------------------------------------------------------------- targets */

/* The whole file is one bad thing. */
static int refuse_file(check *c, int stage, int code, const char *message, leat_error *err) {
    char reason[1000];
    leat__tool_reason(reason, sizeof reason, message, c->target->path);
    c->report->n_samples++;
    LEAT_TRY(add_finding(c, LEAT_NO_SAMPLE, stage, code, reason, err));
    return tell_findings(c, err);
}

static int check_shard(check *c, leat_error *err) {
    if (c->target->bytes == 0) return 0; /* a shard that got no records: TensorFlow writes them too */
    if (c->target->compression != LEAT_COMPRESSION_NONE) return check_stream(c, err);
    const char *const *path = (const char *const *)&c->target->path;
    const leat__webdataset_options tar = {.patterns = path, .n = 1};
    leat__source *source;
    leat_error cause;
    leat__error_clear(&cause);
    int rc = c->target->kind == LEAT_TARGET_TAR ? leat__webdataset_open(&source, &tar, &c->options, &cause)
                                                : leat__records_open(&source, path, 1, &c->options, &cause);
    if (rc == LEAT_ERR_CANCELLED || rc == LEAT_ERR_MEMORY) {
        if (err) *err = cause;
        return rc;
    }
    if (rc < 0) return refuse_file(c, LEAT_STAGE_READ, rc, cause.message, err);
    c->source = source;
    rc = check_source(c, err);
    c->source = NULL;
    leat__source_free(&source);
    return rc;
}

static int check_folder(check *c, leat_error *err) {
    c->root = leat__real_path(c->target->path);
    if (!c->root) return leat__fail_memory(err, PATH_MAX, "a path");
    c->source = c->target->source;
    const int rc = check_source(c, err);
    c->source = NULL;
    leat__free(c->root);
    c->root = NULL;
    return rc;
}

static int check_list(check *c, leat_error *err) {
    c->source = c->target->source;
    const int rc = check_source(c, err);
    c->source = NULL;
    return rc;
}

static int check_file(check *c, leat_error *err) {
    leat_error cause;
    leat__buf *bytes = &c->bytes;
    int stage = LEAT_STAGE_READ;
    leat__error_clear(&cause);
    int rc = leat__file_read_all(c->target->path, bytes, (size_t)1 << 40, &cause);
    if (rc == 0) {
        stage = LEAT_STAGE_DECODE;
        rc = check_image(&c->workers[0], bytes->data, bytes->size, &cause);
    }
    if (rc < 0) return refuse_file(c, stage, rc, cause.message, err);
    c->report->n_samples++;
    return 0;
}

static int check_target(check *c, leat_error *err) {
    const leat__target *target = c->target;
    c->report->n_files += target->source ? target->source->n_samples : 1;
    c->report->bytes += target->bytes;
    switch (target->kind) {
    case LEAT_TARGET_FOLDER: return check_folder(c, err);
    case LEAT_TARGET_RECORDS:
    case LEAT_TARGET_TAR: return check_shard(c, err);
    case LEAT_TARGET_IMAGE: return check_file(c, err);
    case LEAT_TARGET_LIST: return check_list(c, err);
    case LEAT_TARGET_OTHER: break;
    }
    return refuse_file(c, LEAT_STAGE_READ, target->code, target->why, err);
}

int leat_check(const char *const *paths, int n, int (*bad)(void *user, const leat_check_bad *bad), void *user,
               leat_check_report *report, const leat_tool_config *config, leat_error *err) {
    leat_check_report local;
    leat__error_clear(err);
    if (!report) report = &local;
    *report = (leat_check_report){0};
    if (!paths || n < 1) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_check: there is no path");
    LEAT_TRY(leat__tool_config_check(config, err));
    check c = {.config = config, .bad = bad, .user = user, .report = report};
    c.bytes.kind = c.pieces.kind = c.found.kind = LEAT_MEM_TOOL;
    c.options = leat__tool_open_options(config);
    c.n_threads = leat__tool_threads(config);
    leat__targets targets;
    LEAT_TRY(leat__targets_open(&targets, paths, n, LEAT_LABELS_NONE, &c.options, err));
    int rc = leat__mutex_init(&c.mutex, LEAT_LOCK_TOOL, err);
    if (rc == 0) {
        c.workers = leat__tool_workers_new(c.n_threads, err);
        if (!c.workers) rc = LEAT_ERR_MEMORY;
        c.bytes_total = targets.bytes;
        for (size_t i = 0; i < targets.n && rc >= 0; i++) {
            c.target = &targets.at[i];
            atomic_store(&c.bytes_done, 0);
            rc = check_target(&c, err);
            c.bytes_before += c.target->bytes;
            if (rc >= 0) rc = leat__tool_progress(config, "checking", c.bytes_before, c.bytes_total, err);
        }
        leat__tool_workers_free(&c.workers, c.n_threads);
        leat__mutex_destroy(&c.mutex);
    }
    if (rc >= 0 && report->n_samples == 0)
        rc = leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record: is it still being written?", paths[0]);
    leat__buf_free(&c.bytes);
    leat__buf_free(&c.pieces);
    leat__buf_free(&c.found);
    leat__targets_free(&targets);
    return LEAT_MIN(rc, 0);
}
