/* SPDX-License-Identifier: Apache-2.0 */
/* leat_writer: TFRecord files, record by record.
 *
 * A file appears whole or not at all. A failure stays: a file in which a record is missing must not look like a
 * whole one, so closing after a failure removes what was written and tells that failure again. */
#include "tools/write.h"

#include "base/file.h"
#include "format/deflate.h"
#include "format/tfrecord.h"
#include "source/source.h"

#include <stdio.h>

enum { PIECE = 1 << 16 };

typedef struct shard_out {
    leat__out *out;
    leat__deflate *z; /* NULL = not compressed */
} shard_out;

struct leat_writer {
    int n_shards;
    shard_out *shard;
    uint8_t *piece; /* (PIECE) compressed bytes on their way to a file */
    leat__example_maker maker;
    uint64_t n; /* records so far */
    leat_error failed;
};

/* ------------------------------------------------------------------------------------------- opening */

/* train.tfrecord is train-00000-of-00004.tfrecord; a name without that ending gets the number at its end. */
static int shard_path(char *out, size_t cap, const char *path, int i, int n, leat_error *err) {
    const char *base = strrchr(path, '/'), *at = path + strlen(path);
    base = base ? base + 1 : path;
    for (const char *found = base; (found = strstr(found, ".tfrec")) != NULL; found++) at = found;
    const int length = snprintf(out, cap, "%.*s-%05d-of-%05d%s", (int)(at - path), path, i, n, at);
    if (length < 0 || (size_t)length >= cap)
        return leat__fail(err, LEAT_ERR_LIMIT, "%.200s...: the path is too long", path);
    return 0;
}

static int check_config(const leat_writer_config *config, leat_error *err) {
    LEAT_TRY(LEAT_CHECK_RESERVED(leat_writer_config, config, err));
    if (config->n_shards < 0 || config->n_shards > LEAT_WRITE_SHARDS_MAX)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: n_shards is %d; 1 to %d are possible",
                          config->n_shards, LEAT_WRITE_SHARDS_MAX);
    if (config->compression < LEAT_WRITE_PLAIN || config->compression > LEAT_WRITE_ZLIB)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "leat_writer_open: compression is %d, not one of LEAT_WRITE_*",
                          config->compression);
    if (config->level < 0 || config->level > 9)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: level is %d; 1 to 9 are possible",
                          config->level);
    return 0;
}

static int open_shard(leat_writer *writer, int i, const char *path, const leat_writer_config *config,
                      leat_error *err) {
    char own[4200];
    if (writer->n_shards > 1) LEAT_TRY(shard_path(own, sizeof own, path, i, writer->n_shards, err));
    LEAT_TRY(leat__out_open(&writer->shard[i].out, writer->n_shards > 1 ? own : path, err));
    if (config->compression == LEAT_WRITE_PLAIN) return 0;
    const leat__compression kind =
        config->compression == LEAT_WRITE_GZIP ? LEAT_COMPRESSION_GZIP : LEAT_COMPRESSION_ZLIB;
    writer->shard[i].z = leat__deflate_new(kind, config->level, err);
    return writer->shard[i].z ? 0 : LEAT_ERR_MEMORY;
}

static void writer_free(leat_writer *writer) {
    for (int i = 0; writer->shard && i < writer->n_shards; i++) {
        leat__out_abort(&writer->shard[i].out);
        leat__deflate_free(&writer->shard[i].z);
    }
    leat__example_maker_free(&writer->maker);
    leat__free(writer->shard);
    leat__free(writer->piece);
    leat__free(writer);
}

int leat_writer_open(leat_writer **out, const char *path, const leat_writer_config *config, leat_error *err) {
    leat__error_clear(err);
    if (!out) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: out is NULL");
    *out = NULL;
    if (!path || !*path) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: the path is empty");
    const leat_writer_config plain = {0};
    if (!config) config = &plain;
    LEAT_TRY(check_config(config, err));
    leat_writer *writer = leat__alloc(LEAT_MEM_TOOL, sizeof *writer);
    if (!writer) return leat__fail_memory(err, sizeof *writer, "a writer");
    leat__example_maker_init(&writer->maker);
    writer->n_shards = config->n_shards > 1 ? config->n_shards : 1;
    writer->shard = leat__alloc(LEAT_MEM_TOOL, (size_t)writer->n_shards * sizeof *writer->shard);
    writer->piece = leat__alloc(LEAT_MEM_TOOL, PIECE);
    int rc = writer->shard && writer->piece ? 0 : leat__fail_memory(err, PIECE, "a writer");
    for (int i = 0; i < writer->n_shards && rc == 0; i++) rc = open_shard(writer, i, path, config, err);
    if (rc < 0) writer_free(writer);
    else *out = writer;
    return rc;
}

/* ------------------------------------------------------------------------------------------- writing */

static int put_bytes(leat_writer *writer, shard_out *shard, const void *bytes, size_t n, bool last,
                     leat_error *err) {
    if (!shard->z) return n ? leat__out_write(shard->out, bytes, n, err) : 0;
    const uint8_t *at = bytes;
    for (int ended = 0; !ended;) {
        size_t used, made;
        ended = leat__deflate_run(shard->z, at, n, &used, writer->piece, PIECE, &made, last);
        if (made) LEAT_TRY(leat__out_write(shard->out, writer->piece, made, err));
        at += used;
        n -= used;
        if (!last && n == 0 && made < PIECE) return 0;
    }
    return 0;
}

static int put_record(leat_writer *writer, const void *bytes, size_t n, leat_error *err) {
    if (n > LEAT_RECORD_BYTES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "record %" PRIu64 " has %zu bytes, the limit is %zu",
                          writer->n, n, LEAT_RECORD_BYTES_MAX);
    shard_out *shard = &writer->shard[writer->n % (uint64_t)writer->n_shards];
    uint8_t header[LEAT_TFRECORD_HEADER], footer[LEAT_TFRECORD_FOOTER];
    leat__tfrecord_write_header(header, n);
    leat__tfrecord_write_footer(footer, bytes, n);
    LEAT_TRY(put_bytes(writer, shard, header, sizeof header, false, err));
    LEAT_TRY(put_bytes(writer, shard, bytes, n, false, err));
    LEAT_TRY(put_bytes(writer, shard, footer, sizeof footer, false, err));
    writer->n++;
    return 0;
}

static int put_made(leat_writer *writer, leat_error *err) {
    return put_record(writer, writer->maker.record.data, writer->maker.record.size, err);
}

static int told(const leat_writer *writer, leat_error *err) {
    if (err && writer->failed.code) *err = writer->failed;
    return writer->failed.code;
}

int leat_writer_add(leat_writer *writer, const leat_feature *features, int n, leat_error *err) {
    leat__error_clear(err);
    if (!writer) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add: the writer is NULL");
    if (writer->failed.code == 0 && leat__example_make(&writer->maker, features, n, &writer->failed) == 0)
        put_made(writer, &writer->failed);
    return told(writer, err);
}

int leat_writer_add_record(leat_writer *writer, const void *bytes, size_t n, leat_error *err) {
    leat__error_clear(err);
    if (!writer) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add_record: the writer is NULL");
    if (!bytes && n) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add_record: the bytes are NULL");
    if (writer->failed.code == 0) put_record(writer, bytes ? bytes : "", n, &writer->failed);
    return told(writer, err);
}

int leat_writer_add_batch(leat_writer *writer, const leat_batch *batch, leat_error *err) {
    leat__error_clear(err);
    if (!writer || !batch)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add_batch: the %s is NULL",
                          writer ? "batch" : "writer");
    for (int i = 0; i < batch->n_valid && writer->failed.code == 0; i++)
        if (leat__example_of_sample(&writer->maker, batch, i, &writer->failed) == 0)
            put_made(writer, &writer->failed);
    return told(writer, err);
}

/* ------------------------------------------------------------------------------------------- closing */

static int finish(leat_writer *writer, leat_error *err) {
    for (int i = 0; i < writer->n_shards; i++) {
        shard_out *shard = &writer->shard[i];
        if (shard->z) LEAT_TRY(put_bytes(writer, shard, "", 0, true, err));
    }
    for (int i = 0; i < writer->n_shards; i++) LEAT_TRY(leat__out_commit(&writer->shard[i].out, err));
    return 0;
}

int leat_writer_close(leat_writer **handle, leat_error *err) {
    leat__error_clear(err);
    if (!handle || !*handle) return 0;
    leat_writer *writer = *handle;
    *handle = NULL;
    const int rc = writer->failed.code ? told(writer, err) : finish(writer, err);
    writer_free(writer);
    return rc;
}

void leat_writer_abort(leat_writer **handle) {
    if (!handle || !*handle) return;
    writer_free(*handle);
    *handle = NULL;
}
