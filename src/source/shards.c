/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord shards of which at least one is compressed, in the order of their names, or shards of records that the program
 * gives: read from the beginning, one record after the other. shard.c reads a shard. */
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"
#include "format/inflate.h"
#include "source/shard.h"
#include "source/side.h"

enum { BLOCK_BYTES = 1 << 18, INPUT_BYTES = 1 << 16, INPUT_BYTES_REMOTE = 1 << 18 };

typedef struct shard_facts { /* as they were when the stream was opened */
    uint64_t size;
    int64_t mtime_ns;
} shard_facts;

struct leat__shards {
    size_t n_shards;
    leat_stream_callbacks program; /* begin is NULL: files              */
    leat__paths paths;
    shard_facts *facts; /* (paths.n) */
    bool remote;
    /* For leat__shards_next, which gives one record at a time: */
    leat__shard_reader *reader;
    leat__block block;
    size_t next;      /* record of the block                     */
    size_t shard;     /* the one that the reader is at           */
    bool begun, last; /* the shard; no other block of it follows */
};

int leat__shards_detect(const char *path, int *out, leat__file *file, leat_error *err) {
    uint8_t head[32] = {0};
    LEAT_TRY(leat__file_open(file, path, err));
    const size_t n = (size_t)LEAT_MIN(file->size, (uint64_t)sizeof head);
    const int rc = leat__file_read_at(file, head, n, 0, path, err);
    if (rc < 0) leat__file_close(file);
    else *out = leat__compression_detect(head, n);
    return rc;
}

typedef struct looking {
    const leat__paths *paths;
    const leat__open_options *open;
    uint8_t *streamed; /* (paths->n) 1: the shard can only be read from its beginning */
} looking;

/* Only uncompressed records have an index. To make one through a network would read all of them. */
static int look_at_shard(void *user, uint64_t item, int worker, leat_error *err) {
    (void)worker;
    const looking *l = user;
    const char *path = l->paths->path[item];
    leat__file file;
    if (leat__is_remote(path)) {
        const int rc = l->open->no_side_files ? 0 : leat__side_remote(path, err);
        LEAT_TRY(rc);
        l->streamed[item] = rc == 0;
        return 0;
    }
    int compression;
    LEAT_TRY(leat__shards_detect(path, &compression, &file, err));
    leat__file_close(&file);
    l->streamed[item] = compression != LEAT_COMPRESSION_NONE;
    return 0;
}

int leat__shards_wanted(const char *const *patterns, int n, const leat__open_options *open, leat_error *err) {
    leat__paths paths;
    LEAT_TRY(leat__glob(&paths, patterns, n, err));
    looking l = {
        .paths = &paths, .open = open, .streamed = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(paths.n, (size_t)1))};
    int rc = l.streamed ? 0 : leat__fail_memory(err, paths.n, "shards");
    if (rc == 0 && paths.n > 0 && leat__is_remote(paths.path[0])) {
        rc = leat__parallel(LEAT_SIDE_REMOTE_THREADS, paths.n, look_at_shard, &l, err);
        for (size_t i = 0; i < paths.n && rc == 0; i++) rc = l.streamed[i];
    } else
        for (size_t i = 0; i < paths.n && rc == 0; i++) {
            rc = look_at_shard(&l, i, 0, err);
            if (rc == 0) rc = l.streamed[i];
        }
    leat__free(l.streamed);
    leat__paths_free(&paths);
    return rc;
}

size_t leat__shards_input(const leat__shards *s) {
    return s->remote ? INPUT_BYTES_REMOTE : INPUT_BYTES;
}

size_t leat__shards_count(const leat__shards *s) {
    return s->n_shards;
}

const leat_stream_callbacks *leat__shards_program(const leat__shards *s) {
    return s->program.begin ? &s->program : NULL;
}

const char *leat__shards_path(const leat__shards *s, size_t shard) {
    return s->paths.path[shard];
}

int leat__shards_check(const leat__shards *s, size_t shard, const leat__file *file, leat_error *err) {
    const shard_facts *facts = &s->facts[shard];
    char name[400];
    if (file->size == facts->size && file->mtime_ns == facts->mtime_ns) return 0;
    return leat__fail(err, LEAT_ERR_IO, "%s has changed since it was opened",
                      leat__printable(name, sizeof name, s->paths.path[shard], strlen(s->paths.path[shard])));
}

void leat__shards_describe(const leat__shards *s, size_t shard, uint64_t record, char *text, size_t cap) {
    char name[400];
    if (s->program.begin && s->n_shards == 1) snprintf(text, cap, "stream: record %" PRIu64, record);
    else if (s->program.begin) snprintf(text, cap, "stream: shard %zu: record %" PRIu64, shard, record);
    if (s->program.begin) return;
    snprintf(text, cap, "%s: record %" PRIu64,
             leat__printable(name, sizeof name, s->paths.path[shard], strlen(s->paths.path[shard])), record);
}

/* ------------------------------------------------------------------------------------ record by record */

/* Makes the next block: 0; 1 if there is none. */
static int next_block(leat__shards *s, leat_error *err) {
    for (;;) {
        if (s->last) s->shard++, s->begun = s->last = false;
        if (s->shard >= s->n_shards) return 1;
        if (!s->reader) s->reader = leat__shard_reader_new(s, leat__shards_input(s), err);
        if (!s->reader) return LEAT_ERR_MEMORY;
        if (!s->begun) leat__shard_begin(s->reader, s->shard);
        s->begun = true;
        s->next = 0;
        const int rc = leat__shard_read(s->reader, &s->block, BLOCK_BYTES, err);
        if (rc < 0) s->block.n = 0;
        s->last = rc != 0;
        LEAT_TRY(rc);
        if (s->block.n > 0) return 0;
    }
}

int leat__shards_next(leat__shards *s, leat__buf *buf, leat_error *err) {
    if (s->next >= s->block.n) {
        const int rc = next_block(s, err);
        if (rc != 0) return rc;
    }
    const size_t i = s->next++;
    const leat__block_record *record = leat__block_at(&s->block, i);
    const leat_error *bad = leat__block_error(&s->block, i);
    if (bad) {
        if (err) *err = *bad;
        return bad->code;
    }
    buf->size = 0;
    if (!leat__buf_append(buf, s->block.bytes.data + record->offset, record->size))
        return leat__fail_memory(err, record->size, "a record");
    return 0;
}

void leat__shards_where(const leat__shards *s, size_t *shard, uint64_t *record) {
    const leat__block_record *last = leat__block_at(&s->block, s->next - 1);
    *shard = last->shard;
    *record = last->record;
}

void leat__shards_rewind(leat__shards *s) {
    s->shard = s->next = s->block.n = 0;
    s->begun = s->last = false;
}

uint64_t leat__shards_bytes_read(const leat__shards *s) {
    return s->reader ? leat__shard_bytes_read(s->reader) : 0;
}

void leat__shards_free(leat__shards **handle) {
    leat__shards *s = *handle;
    if (!s) return;
    leat__shard_reader_free(&s->reader);
    leat__block_free(&s->block);
    leat__paths_free(&s->paths);
    leat__free(s->facts);
    leat__free(s);
    *handle = NULL;
}

/* ------------------------------------------------------------------------------------ as a source
 * Records come through the stream's window, never by number. Only describe is called with a number, for messages when
 * nothing else of a sample is known. */

typedef struct stream_source {
    leat__source base;
    const leat__shards *stream;
} stream_source;

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    (void)source;
    snprintf(text, cap, "record %" PRIu64 " of the stream", sample);
}

static int gather(const leat__source *source, leat__reader *reader, int leaf, const leat__piece *piece, int n,
                  leat__value *values, leat_error *err) {
    (void)source, (void)reader, (void)leaf, (void)n, (void)err;
    values[0] = (leat__value){.data = piece->data,
                              .bytes = piece->bytes,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)piece->bytes}};
    return 0;
}

static void describe_pieces(const leat__source *source, int leaf, const leat__piece *piece, int n, char *text,
                            size_t cap) {
    (void)leaf, (void)n;
    leat__shards_describe(((const stream_source *)source)->stream, piece->shard, piece->number, text, cap);
}

static uint64_t parts_of_pieces(const leat__source *source, int leaf, const leat__piece *piece, int n) {
    (void)source, (void)piece, (void)n;
    return UINT64_C(1) << leaf;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    const leat__shards *s = ((const stream_source *)source)->stream;
    (void)n_threads;
    *out = s->program.identity;
    if (s->program.begin && !*out) return leat__fail_no_identity("stream", err);
    for (size_t i = 0; i < s->paths.n; i++)
        LEAT_TRY(
            leat__source_date(s->paths.path[i], s->facts[i].size, s->facts[i].mtime_ns, exact, out, err));
    return 0;
}

static const leat__source_class stream_class = {.name = "tfrecord stream",
                                                .describe = describe,
                                                .version = version,
                                                .gather = gather,
                                                .describe_pieces = describe_pieces,
                                                .parts_of_pieces = parts_of_pieces};

/* An empty stream and its source. */
static int new_stream(leat__shards **out, leat__source **source, leat_error *err) {
    const int64_t any = -1;
    leat__shards *s = *out = leat__alloc(LEAT_MEM_WINDOW, sizeof *s);
    stream_source *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    leat__source *base = *source = self ? &self->base : NULL;
    if (!s || !base) {
        leat__free(s);
        leat__free(self);
        *out = NULL;
        *source = NULL;
        return leat__fail_memory(err, sizeof *s, "a stream");
    }
    self->stream = s;
    base->class = &stream_class;
    base->n_samples = UINT64_MAX;
    leat__source_field(base, "record", LEAT_DTYPE_BYTES, 1, &any);
    s->block.bytes.kind = s->block.records.kind = s->block.errors.kind = LEAT_MEM_WINDOW;
    return 0;
}

/* What the files are now. */
static int look_at_files(leat__shards *s, leat__source *base, leat_error *err) {
    s->facts = leat__alloc(LEAT_MEM_WINDOW, s->paths.n * sizeof *s->facts);
    if (!s->facts) return leat__fail_memory(err, s->paths.n * sizeof *s->facts, "a stream");
    for (size_t i = 0; i < s->paths.n; i++) {
        leat__stat st;
        LEAT_TRY(leat__file_stat(s->paths.path[i], &st, err));
        const char *name;
        const size_t n_name = leat__path_name(s->paths.path[i], &name);
        s->facts[i] = (shard_facts){st.size, st.mtime_ns};
        base->fingerprint = leat__hash(&st.size, sizeof st.size, leat__hash(name, n_name, base->fingerprint));
    }
    return 0;
}

int leat__shards_open(leat__shards **out, leat__source **source, const char *const *patterns, int n,
                      leat_error *err) {
    LEAT_TRY(new_stream(out, source, err));
    leat__shards *s = *out;
    leat__source *base = *source;
    int rc = leat__glob(&s->paths, patterns, n, err);
    if (rc == 0) rc = look_at_files(s, base, err);
    if (rc < 0) {
        leat__shards_free(out);
        leat__source_free(source);
        return rc;
    }
    s->n_shards = s->paths.n;
    s->remote = leat__is_remote(s->paths.path[0]);
    snprintf(base->title, sizeof base->title, "tfrecord: a stream of %zu %s shards", s->paths.n,
             s->remote ? "remote" : "compressed");
    if (s->remote) {
        char shown[400];
        snprintf(base->warning, sizeof base->warning,
                 "%s: the shards are compressed or have no index beside them, so they are read as a stream, "
                 "one record "
                 "after the other: make indexes where the files lie with `leat index --beside FILES` and "
                 "upload the "
                 ".leatidx files into the same folder",
                 leat__printable(shown, sizeof shown, s->paths.path[0], strlen(s->paths.path[0])));
    }
    return 0;
}

int leat__shards_open_program(leat__shards **out, leat__source **source, const leat_stream_callbacks *given,
                              leat_error *err) {
    const uint64_t facts[] = {given->identity, given->n_shards};
    *out = NULL;
    *source = NULL;
    if (given->n_shards > UINT32_MAX || given->max_bytes > LEAT_RECORD_BYTES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "stream: %s",
                          given->n_shards > UINT32_MAX ? "too many shards" : "max_bytes is above 256 MiB");
    LEAT_TRY(new_stream(out, source, err));
    leat__source *base = *source;
    (*out)->program = *given;
    (*out)->n_shards = (size_t)given->n_shards;
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    base->bytes_max = given->max_bytes;
    snprintf(base->title, sizeof base->title, "stream: %" PRIu64 " shard%s of records from the program",
             given->n_shards, given->n_shards == 1 ? "" : "s");
    return 0;
}
