/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed TFRecords have no index, and a pack is laid out before it is written. So they are inflated first, to files in
 * a hidden folder of the output, which is removed when the run ends, however it ends. Every run inflates anew: files that a
 * killed one has left are not trusted. */
#include <limits.h>
#include <stdio.h>

#include "format/tfrecord.h"
#include "tools/pack/pack.h"

typedef struct inflating {
    leat__packing *packing;
    leat__shards *stream;
    leat__source *source;
    leat__paths paths;
    leat__out *out;
    size_t shard; /* that out is of */
    uint64_t n_records, n_bad;
} inflating;

/* Names of their own, since files of two folders may have the same one. */
static int open_file(inflating *job, size_t shard, leat_error *err) {
    char path[PATH_MAX + 300];
    const char *whole = job->paths.path[shard], *base = strrchr(whole, '/');
    snprintf(path, sizeof path, "%s/%05zu-%.200s", job->packing->inflated, shard, base ? base + 1 : whole);
    job->shard = shard;
    return leat__out_open(&job->out, path, err);
}

static int put(inflating *job, const leat__buf *record, leat_error *err) {
    uint8_t header[LEAT_TFRECORD_HEADER], footer[LEAT_TFRECORD_FOOTER];
    size_t shard;
    uint64_t number;
    leat__shards_where(job->stream, &shard, &number);
    while (!job->out || job->shard != shard) { /* files without records are files all the same */
        const size_t next = job->out ? job->shard + 1 : 0;
        if (job->out) LEAT_TRY(leat__out_commit(&job->out, err));
        LEAT_TRY(open_file(job, next, err));
    }
    leat__tfrecord_write_header(header, record->size);
    leat__tfrecord_write_footer(footer, record->data, record->size);
    LEAT_TRY(leat__out_write(job->out, header, sizeof header, err));
    LEAT_TRY(leat__out_write(job->out, record->data, record->size, err));
    return leat__out_write(job->out, footer, sizeof footer, err);
}

static int leave_out(inflating *job, const leat_error *why, leat_error *err) {
    const leat_tool_config *config = job->packing->config;
    char line[450];
    if (leat__error_is_fault(why) || job->packing->pack.on_error != LEAT_ON_ERROR_SKIP) {
        *err = *why;
        return why->code;
    }
    snprintf(line, sizeof line, "left out: %.430s", why->message);
    if (job->n_bad++ < 10 && config && config->log) config->log(config->user, LEAT_LOG_WARNING, line);
    return 0;
}

static int inflate(inflating *job, leat_error *err) {
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    leat_error why;
    int rc = 0, got;
    while (rc == 0 && (got = leat__shards_next(job->stream, &record, &why)) != 1) {
        rc = got < 0 ? leave_out(job, &why, err) : put(job, &record, err);
        if (rc == 0 && job->n_records++ % 64 == 0)
            rc = leat__tool_progress(job->packing->config, "inflating", job->n_records, 0, err);
    }
    leat__buf_free(&record);
    if (rc == 0 && job->out) rc = leat__out_commit(&job->out, err);
    leat__out_abort(&job->out);
    return rc;
}

int leat__pack_inflate(leat__packing *self, const char *pattern, leat_error *err) {
    char folder[PATH_MAX];
    leat__stat there;
    inflating job = {.packing = self};
    snprintf(folder, sizeof folder, "%s/.%s.inflated-%d", self->out, self->pack.prefix, self->pack.part);
    self->made = leat__file_stat(self->out, &there, NULL) < 0;
    self->inflated = leat__strdup(LEAT_MEM_TOOL, folder);
    if (!self->inflated) return leat__fail_memory(err, strlen(folder), "a path");
    leat__dir_remove(folder);
    int rc = leat__dir_make(folder, err);
    if (rc == 0) rc = leat__glob(&job.paths, &pattern, 1, err);
    if (rc == 0) rc = leat__shards_open(&job.stream, &job.source, &pattern, 1, err);
    if (rc == 0) rc = inflate(&job, err);
    leat__shards_free(&job.stream);
    leat__source_free(&job.source);
    leat__paths_free(&job.paths);
    return rc;
}

void leat__pack_inflate_end(leat__packing *self) {
    if (!self->inflated) return;
    leat__dir_remove(self->inflated);
    leat__free(self->inflated);
    self->inflated = NULL;
    if (self->made) leat__dir_remove_empty(self->out);
}
