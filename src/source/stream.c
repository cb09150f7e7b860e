/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord shards of which at least one is compressed: read from the beginning, one record after the other, shard by
 * shard in the order of their names. A damaged record costs that record; damage of the compressed bytes costs the rest
 * of the shard, because nothing behind it can be inflated. Either is told, and reading goes on. */
#include <stdio.h>

#include "base/hash.h"
#include "format/inflate.h"
#include "format/tfrecord.h"
#include "source/source.h"

enum { IN_BYTES = 1 << 18, OUT_BYTES = 1 << 20, RESYNC_BYTES = 16 << 20 };

typedef struct shard_facts { /* as they were when the stream was opened */
    uint64_t size;
    int64_t mtime_ns;
} shard_facts;

struct leat__stream {
    leat__paths paths;
    shard_facts *facts; /* (paths.n) */
    size_t shard;       /* the one being read */
    bool shard_open;
    leat__file file;
    leat__compression compression;
    leat__inflate *inflate[2]; /* GZIP and ZLIB, kept for the next shard */
    uint64_t in_offset;        /* file position of what was read last */
    leat__buf in;              /* compressed bytes; [in_at, in.size) are not used yet */
    size_t in_at;
    leat__buf out; /* inflated bytes; [out_at, out.size) are not used yet */
    size_t out_at;
    uint64_t out_offset; /* position of out.data[0] in the inflated shard */
    uint64_t record;     /* number of the next record in its shard */
    bool inflated_all;
    uint64_t bytes_read;
};

static int detect(const char *path, leat__compression *out, leat__file *file, leat_error *err) {
    uint8_t head[32] = {0};
    LEAT_TRY(leat__file_open(file, path, err));
    const size_t n = (size_t)LEAT_MIN(file->size, (uint64_t)sizeof head);
    const int rc = leat__file_read_at(file, head, n, 0, path, err);
    if (rc < 0) leat__file_close(file);
    else *out = leat__compression_detect(head, n);
    return rc;
}

int leat__stream_wanted(const char *const *patterns, int n, leat_error *err) {
    leat__paths paths;
    LEAT_TRY(leat__glob(&paths, patterns, n, err));
    int rc = 0;
    for (size_t i = 0; i < paths.n && rc == 0; i++) {
        leat__file file;
        leat__compression compression;
        rc = detect(paths.path[i], &compression, &file, err);
        if (rc < 0) break;
        leat__file_close(&file);
        rc = compression != LEAT_COMPRESSION_NONE;
    }
    leat__paths_free(&paths);
    return rc;
}

static void close_shard(leat__stream *s) {
    if (s->shard_open) leat__file_close(&s->file);
    s->shard_open = false;
    s->in.size = s->in_at = s->out.size = s->out_at = 0;
    s->in_offset = s->out_offset = s->record = 0;
    s->inflated_all = false;
}

static int open_shard(leat__stream *s, leat_error *err) {
    close_shard(s);
    const char *path = s->paths.path[s->shard];
    LEAT_TRY(detect(path, &s->compression, &s->file, err));
    s->shard_open = true;
    if (s->file.size != s->facts[s->shard].size || s->file.mtime_ns != s->facts[s->shard].mtime_ns) {
        char name[400];
        close_shard(s);
        return leat__fail(err, LEAT_ERR_IO, "%s has changed since it was opened",
                          leat__printable(name, sizeof name, path, strlen(path)));
    }
    if (s->compression == LEAT_COMPRESSION_NONE) return 0;
    leat__inflate **z = &s->inflate[s->compression == LEAT_COMPRESSION_ZLIB];
    if (*z) return leat__inflate_reset(*z);
    *z = leat__inflate_new(s->compression, err);
    return *z ? 0 : LEAT_ERR_MEMORY;
}

static int refill_input(leat__stream *s, leat_error *err) {
    const size_t n = (size_t)LEAT_MIN((uint64_t)IN_BYTES, s->file.size - s->in_offset);
    LEAT_TRY(leat__file_read_at(&s->file, s->in.data, n, s->in_offset, s->paths.path[s->shard], err));
    s->in.size = n;
    s->in_at = 0;
    s->in_offset += n;
    s->bytes_read += n;
    return 0;
}

/* Makes n bytes available at out_at: 1, or 0 if the shard ends before. */
static int want(leat__stream *s, size_t n, leat_error *err) {
    while (s->out.size - s->out_at < n) {
        if (s->inflated_all) return 0;
        if (s->out_at > 0) { /* what was used makes room */
            memmove(s->out.data, s->out.data + s->out_at, s->out.size - s->out_at);
            s->out_offset += s->out_at;
            s->out.size -= s->out_at;
            s->out_at = 0;
        }
        /* A forged length must not reserve memory: the buffer grows as bytes arrive. */
        if (s->out.cap - s->out.size < OUT_BYTES / 4 && !leat__buf_reserve(&s->out, s->out.size + OUT_BYTES))
            return leat__fail_memory(err, s->out.size + OUT_BYTES, "a record");
        const size_t room = s->out.cap - s->out.size;
        if (s->in_at == s->in.size && s->in_offset < s->file.size) LEAT_TRY(refill_input(s, err));
        const bool last = s->in_offset == s->file.size;
        size_t used = LEAT_MIN(s->in.size - s->in_at, room), made = used;
        if (s->compression == LEAT_COMPRESSION_NONE) {
            memcpy(s->out.data + s->out.size, s->in.data + s->in_at, used);
            s->inflated_all = last && s->in_at + used == s->in.size;
        } else {
            leat__inflate *z = s->inflate[s->compression == LEAT_COMPRESSION_ZLIB];
            const int rc = leat__inflate_run(z, s->in.data + s->in_at, s->in.size - s->in_at, &used,
                                             s->out.data + s->out.size, room, &made, last, err);
            if (rc < 0) return rc;
            s->inflated_all = rc == 1;
        }
        s->in_at += used;
        s->out.size += made;
    }
    return 1;
}

/* Which bytes a position counts. */
static const char *inflated(const leat__stream *s) {
    return s->compression == LEAT_COMPRESSION_NONE ? "" : "inflated ";
}

static int lost_rest(leat__stream *s, const char *what, leat_error *err) {
    char name[400];
    const char *path = s->paths.path[s->shard];
    const uint64_t record = s->record, at = s->out_offset + s->out_at;
    close_shard(s);
    s->shard++;
    return leat__fail(err, LEAT_ERR_CORRUPT,
                      "%s: record %" PRIu64 " at %sbyte %" PRIu64 ": %s; the rest of this shard is lost",
                      leat__printable(name, sizeof name, path, strlen(path)), record, inflated(s), at, what);
}

/* The length of a record is damaged: on to the next place where a record begins for certain. */
static int skip_damage(leat__stream *s, leat_error *err) {
    char name[400];
    const char *path = s->paths.path[s->shard];
    leat__printable(name, sizeof name, path, strlen(path));
    const uint64_t record = s->record, at = s->out_offset + s->out_at;
    size_t look = OUT_BYTES, from = 1;
    for (;;) {
        const int rc = want(s, look, err);
        if (rc < 0)
            return lost_rest(s, "its length is damaged, and so are the compressed bytes behind it", err);
        const size_t n = s->out.size - s->out_at;
        const size_t found = leat__tfrecord_resync(s->out.data + s->out_at, n, from);
        if (found < n) {
            s->out_at += found;
            s->record++;
            return leat__fail(err, LEAT_ERR_CORRUPT,
                              "%s: record %" PRIu64 " at %sbyte %" PRIu64
                              ": the checksum of its length is wrong, %zu bytes are lost",
                              name, record, inflated(s), at, found);
        }
        if (rc == 0 || n > RESYNC_BYTES)
            return lost_rest(s, "the checksum of its length is wrong and no later record is whole", err);
        look = n * 2;
    }
}

int leat__stream_next(leat__stream *s, leat__buf *buf, leat_error *err) {
    for (;;) {
        if (s->shard == s->paths.n) return 1;
        if (!s->shard_open) {
            const int rc = open_shard(s, err);
            if (rc < 0) {
                s->shard++;
                return rc;
            }
        }
        leat_error cause;
        int rc = want(s, LEAT_TFRECORD_HEADER, &cause);
        if (rc < 0) return lost_rest(s, cause.message, err);
        if (rc == 0 && s->out.size > s->out_at) return lost_rest(s, "the shard ends within a header", err);
        if (rc == 0) {
            close_shard(s);
            s->shard++;
            continue;
        }
        uint64_t length;
        if (!leat__tfrecord_length(s->out.data + s->out_at, &length)) return skip_damage(s, err);
        if (length > LEAT_RECORD_BYTES_MAX) return lost_rest(s, "it claims more than 256 MiB", err);
        const size_t n = (size_t)length;
        rc = want(s, n + LEAT_TFRECORD_OVERHEAD, &cause);
        if (rc < 0) return lost_rest(s, cause.message, err);
        if (rc == 0) return lost_rest(s, "the shard ends within it", err);
        const uint8_t *payload = s->out.data + s->out_at + LEAT_TFRECORD_HEADER;
        const uint64_t at = s->out_offset + s->out_at, record = s->record++;
        s->out_at += n + LEAT_TFRECORD_OVERHEAD;
        if (!leat__tfrecord_intact(payload, n, payload + n)) {
            char name[400];
            const char *path = s->paths.path[s->shard];
            return leat__fail(
                err, LEAT_ERR_CORRUPT,
                "%s: record %" PRIu64 " at %sbyte %" PRIu64 ": the checksum of its %zu bytes is wrong",
                leat__printable(name, sizeof name, path, strlen(path)), record, inflated(s), at, n);
        }
        buf->size = 0;
        if (!leat__buf_append(buf, payload, n)) return leat__fail_memory(err, n, "a record");
        return 0;
    }
}

int leat__stream_rewind(leat__stream *s, leat_error *err) {
    (void)err;
    close_shard(s);
    s->shard = 0;
    return 0;
}

uint64_t leat__stream_bytes_read(const leat__stream *s) {
    return s->bytes_read;
}

void leat__stream_free(leat__stream **handle) {
    leat__stream *s = *handle;
    if (!s) return;
    close_shard(s);
    leat__inflate_free(&s->inflate[0]);
    leat__inflate_free(&s->inflate[1]);
    leat__buf_free(&s->in);
    leat__buf_free(&s->out);
    leat__paths_free(&s->paths);
    leat__free(s->facts);
    leat__free(s);
    *handle = NULL;
}

/* ------------------------------------------------------------------------------------ as a source
 * Records come through the engine's window, never by number: describe is all that is asked of it. */

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    (void)source;
    snprintf(text, cap, "record %" PRIu64 " of the stream", sample);
}

int leat__stream_version(const leat__stream *s, uint64_t *out, leat_error *err) {
    *out = 0;
    for (size_t i = 0; i < s->paths.n; i++)
        LEAT_TRY(leat__source_date(s->paths.path[i], s->facts[i].size, s->facts[i].mtime_ns, out, err));
    return 0;
}

static const leat__source_class stream_class = {.name = "tfrecord stream", .describe = describe};

int leat__stream_open(leat__stream **out, leat__source **source, const char *const *patterns, int n,
                      leat_error *err) {
    *out = NULL;
    *source = NULL;
    leat__stream *s = leat__alloc(LEAT_MEM_WINDOW, sizeof *s);
    leat__source *base = leat__alloc(LEAT_MEM_PLAN, sizeof *base);
    if (!s || !base) {
        leat__free(s);
        leat__free(base);
        return leat__fail_memory(err, sizeof *s, "a stream");
    }
    base->class = &stream_class;
    s->in.kind = s->out.kind = LEAT_MEM_WINDOW;
    int rc = leat__glob(&s->paths, patterns, n, err);
    if (rc == 0) s->facts = leat__alloc(LEAT_MEM_WINDOW, s->paths.n * sizeof *s->facts);
    if (rc == 0 && (!s->facts || !leat__buf_reserve(&s->in, IN_BYTES)))
        rc = leat__fail_memory(err, IN_BYTES, "a stream");
    for (size_t i = 0; i < s->paths.n && rc == 0; i++) {
        leat__stat st;
        rc = leat__file_stat(s->paths.path[i], &st, err);
        const char *slash = strrchr(s->paths.path[i], '/'), *name = slash ? slash + 1 : s->paths.path[i];
        if (rc == 0) s->facts[i] = (shard_facts){st.size, st.mtime_ns};
        if (rc == 0)
            base->fingerprint =
                leat__hash(&st.size, sizeof st.size, leat__hash(name, strlen(name), base->fingerprint));
    }
    if (rc < 0) {
        leat__stream_free(&s);
        leat__source_free(&base);
        return rc;
    }
    base->n_samples = UINT64_MAX;
    base->bytes_max = 0;
    const int64_t any = -1;
    leat__source_field(base, "record", LEAT_DTYPE_BYTES, 1, &any);
    snprintf(base->title, sizeof base->title, "tfrecord: a stream of %zu compressed shards", s->paths.n);
    *out = s;
    *source = base;
    return 0;
}
