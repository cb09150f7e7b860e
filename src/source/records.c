/* SPDX-License-Identifier: Apache-2.0 */
/* Uncompressed TFRecord shards as one source with random access.
 *
 * An index of offsets is built once by hopping from header to header and kept as a side file. It is a list of
 * borders: entry i is what lies between border i and border i + 1. In a whole file each entry is one record. Where a
 * length is damaged, the entry reaches to the next place where a record begins for certain, and where the file is
 * cut off, to its end: so damage costs exactly one entry, indexing never fails because of it, and reading such an
 * entry says what is wrong with it. Both checksums are checked at every read. */
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"
#include "format/kept/sidefile.h"
#include "format/tfrecord.h"
#include "source/side.h"
#include "source/source.h"

enum { KEEP_OPEN_MAX = 256, READER_FILES = 32, INDEX_VERSION = 1 };
enum {
    CHUNK = 1 << 16,
    RESYNC_CHUNK = 4 << 20,
    SMALL_RECORD = 1 << 14,
    LARGE_RECORD = 1 << 20,
    WINDOW = 1 << 17
};

typedef struct shard {
    char *path;
    leat__file file; /* open as long as the source when there are few shards */
    uint64_t size;
    int64_t mtime_ns;
    leat__buf border; /* of uint64_t, n_records + 1 */
    uint64_t n;
    uint64_t first; /* number of its first record in the source */
    bool kept;      /* the side file could be written, or was there */
} shard;

typedef struct records {
    leat__source base;
    size_t n_shards;
    shard *shard;
    bool keep_open;
    const leat__open_options *open; /* while opening */
} records;

typedef struct reader_state {
    /* What reader->bytes holds: small records that are read one after the other share a read. */
    const shard *window_shard;
    size_t window_place; /* where in those bytes it begins */
    uint64_t window_begin;
    size_t window_n;
    uint64_t last_sample;
    struct { /* when there are too many shards to keep all open */
        size_t shard;
        leat__file file;
    } slot[READER_FILES];
} reader_state;

static uint64_t border_at(const shard *s, uint64_t i) {
    return ((const uint64_t *)s->border.data)[i];
}

/* ------------------------------------------------------------------------------------------- index */

typedef struct hopper { /* reads headers through a window, so that small records share one read */
    const shard *s;
    uint8_t *bytes;
    uint64_t begin;
    size_t n, cap;
    uint64_t tried; /* bytes of payloads that were read to find out whether they are any */
} hopper;

/* n bytes at offset, which must lie in the file; NULL with a message if they cannot be read. */
static const uint8_t *look(hopper *h, uint64_t offset, size_t n, size_t ahead, leat_error *err) {
    if (offset < h->begin || offset + n > h->begin + h->n) {
        const uint64_t left = h->s->size - offset;
        size_t want = LEAT_MIN(LEAT_MAX(ahead, n), h->cap);
        if (want > left) want = (size_t)left;
        h->n = 0;
        if (leat__file_read_at(&h->s->file, h->bytes, want, offset, h->s->path, err) < 0) return NULL;
        h->begin = offset;
        h->n = want;
    }
    return h->bytes + (offset - h->begin);
}

/* Whether a whole record with right checksums begins at offset. */
static int is_record(hopper *h, uint64_t offset, leat__buf *payload, leat_error *err) {
    uint64_t length;
    const uint8_t *header = look(h, offset, LEAT_TFRECORD_HEADER, RESYNC_CHUNK, err);
    if (!header) return LEAT_ERR_IO;
    if (!leat__tfrecord_length(header, &length) || length > LEAT_RECORD_BYTES_MAX) return 0;
    if (length + LEAT_TFRECORD_OVERHEAD > h->s->size - offset) return 0;
    /* Real damage has few headers that look right. A file in which every other place claims to be a long record was made
     * to keep us busy: what is left of it is lost. */
    if (h->tried > 4 * h->s->size + RESYNC_CHUNK) return 0;
    h->tried += length;
    const size_t n = (size_t)length + LEAT_TFRECORD_FOOTER;
    if (!leat__buf_reserve(payload, n)) return leat__fail_memory(err, n, "a record");
    LEAT_TRY(
        leat__file_read_at(&h->s->file, payload->data, n, offset + LEAT_TFRECORD_HEADER, h->s->path, err));
    return leat__tfrecord_intact(payload->data, (size_t)length, payload->data + length);
}

/* The first offset from `from` on where a record begins, or the end of the file; *found says which. */
static int resync(hopper *h, uint64_t *offset, uint64_t end, leat_error *err) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    int rc = 0;
    for (; *offset + LEAT_TFRECORD_OVERHEAD <= end; ++*offset) {
        rc = is_record(h, *offset, &payload, err);
        if (rc != 0) break;
    }
    leat__buf_free(&payload);
    if (rc == 0) *offset = end;
    return rc;
}

static bool add_border(shard *s, uint64_t offset) {
    return leat__buf_append(&s->border, &offset, sizeof offset);
}

static int build_index(shard *s, int worker, const leat__open_options *open, leat_error *err) {
    hopper h = {.s = s, .cap = (size_t)LEAT_MIN((uint64_t)RESYNC_CHUNK, s->size)};
    h.bytes = leat__alloc(LEAT_MEM_INDEX, h.cap);
    uint64_t at = 0, last_shown = 0;
    size_t ahead = CHUNK;
    int rc = h.bytes ? 0 : leat__fail_memory(err, h.cap, "an index");
    while (rc == 0 && at < s->size) {
        if (!add_border(s, at)) {
            rc = leat__fail_memory(err, s->border.cap, "an index");
            break;
        }
        const uint64_t left = s->size - at;
        uint64_t length = 0;
        const uint8_t *header = NULL;
        if (left >= LEAT_TFRECORD_HEADER && !(header = look(&h, at, LEAT_TFRECORD_HEADER, ahead, err))) {
            rc = LEAT_ERR_IO;
        } else if (!header) {
            at = s->size; /* a tail too short for a header */
        } else if (leat__tfrecord_length(header, &length)) {
            /* A record that reaches past the end is a truncated one: it takes the rest. */
            at = length > left || left - length < LEAT_TFRECORD_OVERHEAD
                     ? s->size
                     : at + length + LEAT_TFRECORD_OVERHEAD;
            /* Large records: the bytes in between are not worth reading. */
            ahead = length < 16384 ? CHUNK : LEAT_TFRECORD_HEADER;
        } else {
            const bool first = at == 0;
            uint64_t next = at + 1;
            const uint64_t end = first ? LEAT_MIN(s->size, (uint64_t)1 << 20) : s->size;
            rc = resync(&h, &next, end, err);
            if (rc > 0) rc = 0, at = next;
            else if (rc == 0 && first) {
                char shown[500];
                rc = leat__fail(err, LEAT_ERR_FORMAT,
                                "%s is not a TFRecord file: no record begins in its first %" PRIu64 " bytes",
                                leat__printable(shown, sizeof shown, s->path, strlen(s->path)), end);
            } else at = s->size;
        }
        if (worker == 0 && open->progress && at - last_shown > ((uint64_t)64 << 20)) {
            last_shown = at;
            if (open->progress(open->user, "indexing records", at, s->size))
                rc = leat__fail(err, LEAT_ERR_CANCELLED, "indexing was cancelled");
        }
    }
    leat__free(h.bytes);
    if (rc == 0 && !add_border(s, s->size)) rc = leat__fail_memory(err, s->border.cap, "an index");
    return rc;
}

static bool load_index(shard *s, const leat__open_options *open) {
    leat__buf side = {.kind = LEAT_MEM_INDEX};
    const uint8_t *data;
    size_t n;
    uint64_t facts[3]; /* version, size and time of the shard */
    bool good = leat__side_load(NULL, s->path, LEAT_SIDEFILE_RECORDS, open, &side, &data, &n) &&
                n >= sizeof facts + 8 && n % 8 == 0;
    if (good) {
        memcpy(facts, data, sizeof facts);
        good = facts[0] == INDEX_VERSION && facts[1] == s->size && (int64_t)facts[2] == s->mtime_ns &&
               leat__buf_append(&s->border, data + sizeof facts, n - sizeof facts);
    }
    const size_t borders = s->border.size / sizeof(uint64_t);
    for (size_t i = 0; i < borders && good; i++)
        good = i == 0 ? border_at(s, 0) == 0
                      : border_at(s, i) > border_at(s, i - 1) || (s->size == 0 && borders == 1);
    good = good && border_at(s, borders - 1) == s->size;
    if (!good) s->border.size = 0;
    leat__buf_free(&side);
    return good;
}

static bool store_index(shard *s, const leat__open_options *open) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    const uint64_t facts[3] = {INDEX_VERSION, s->size, (uint64_t)s->mtime_ns};
    const bool kept =
        leat__buf_append(&payload, facts, sizeof facts) &&
        leat__buf_append(&payload, s->border.data, s->border.size) &&
        leat__side_store(NULL, s->path, LEAT_SIDEFILE_RECORDS, open, payload.data, payload.size, NULL);
    leat__buf_free(&payload);
    return kept;
}

static int open_shard(void *user, uint64_t item, int worker, leat_error *err) {
    records *self = user;
    shard *s = &self->shard[item];
    LEAT_TRY(leat__file_open(&s->file, s->path, err));
    s->size = s->file.size;
    s->mtime_ns = s->file.mtime_ns;
    s->border.kind = LEAT_MEM_INDEX;
    int rc = 0;
    s->kept = load_index(s, self->open);
    if (!s->kept) {
        rc = build_index(s, worker, self->open, err);
        /* A shard that is still being written must not leave an index behind. */
        const bool settled = s->mtime_ns < self->open->now_ns - 20000000;
        s->kept = rc == 0 && (!settled || store_index(s, self->open));
    }
    s->n = s->border.size / sizeof(uint64_t) - (s->border.size > 0);
    if (!self->keep_open || rc < 0) leat__file_close(&s->file);
    if (worker == 0 && rc == 0 && self->open->progress &&
        self->open->progress(self->open->user, "opening shards", item + 1, self->n_shards))
        rc = leat__fail(err, LEAT_ERR_CANCELLED, "opening shards was cancelled");
    return rc;
}

/* -------------------------------------------------------------------------------------------- read */

static const shard *shard_of(const records *self, uint64_t sample) {
    size_t low = 0, high = self->n_shards;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (self->shard[mid].first <= sample) low = mid;
        else high = mid;
    }
    return &self->shard[low];
}

/* Says what is wrong with entry i of a shard, of which n bytes were read. */
static int fail_record(const shard *s, uint64_t i, const uint8_t *bytes, size_t n, leat_error *err) {
    const uint64_t at = border_at(s, i), span = border_at(s, i + 1) - at;
    char where[500], name[400];
    snprintf(where, sizeof where, "%s: record %" PRIu64 " at byte %" PRIu64,
             leat__printable(name, sizeof name, s->path, strlen(s->path)), i, at);
    uint64_t length;
    if (n < LEAT_TFRECORD_HEADER)
        return leat__fail(err, LEAT_ERR_CORRUPT, "%s is cut off: the file ends after %zu bytes of it", where,
                          n);
    if (!leat__tfrecord_length(bytes, &length))
        return leat__fail(err, LEAT_ERR_CORRUPT,
                          "%s: the checksum of its length is wrong, %" PRIu64 " bytes are lost", where, span);
    if (length > LEAT_RECORD_BYTES_MAX && length <= span)
        return leat__fail(err, LEAT_ERR_LIMIT, "%s has %" PRIu64 " bytes, the limit is %zu", where, length,
                          LEAT_RECORD_BYTES_MAX);
    if (length > span || span - length != LEAT_TFRECORD_OVERHEAD)
        return leat__fail(err, LEAT_ERR_CORRUPT,
                          "%s is cut off: %" PRIu64 " bytes promised, the file ends after %" PRIu64, where,
                          length, span - LEAT_TFRECORD_HEADER);
    return leat__fail(err, LEAT_ERR_CORRUPT, "%s: the checksum of its %" PRIu64 " bytes is wrong", where,
                      length);
}

static void close_reader(leat__reader *reader) {
    reader_state *state = reader->state;
    for (int i = 0; state && i < READER_FILES; i++) leat__file_close(&state->slot[i].file);
    leat__free(state);
    reader->state = NULL;
}

static int shard_file(const records *self, const shard *s, reader_state *state, const leat__file **out,
                      leat_error *err) {
    *out = &s->file;
    if (self->keep_open) return 0;
    const size_t number = (size_t)(s - self->shard), i = number % READER_FILES;
    leat__file *file = &state->slot[i].file;
    if (file->fd <= 0 || state->slot[i].shard != number) {
        leat__file_close(file);
        LEAT_TRY(leat__file_open(file, s->path, err));
        if (file->size != s->size || file->mtime_ns != s->mtime_ns) {
            leat__file_close(file);
            return leat__fail(err, LEAT_ERR_IO, "%s has changed since it was opened", s->path);
        }
        state->slot[i].shard = number;
    }
    *out = file;
    return 0;
}

/* n bytes at offset of the shard, from the reader's window if they are in it. */
static int read_span(const records *self, const shard *s, leat__reader *reader, uint64_t sample, uint64_t at,
                     size_t n, const uint8_t **out, leat_error *err) {
    reader_state *state = reader->state;
    if (!state) {
        state = reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof *state);
        if (!state) return leat__fail_memory(err, sizeof *state, "a reader");
    }
    const bool in_window = state->window_shard == s && at >= state->window_begin &&
                           at + n <= state->window_begin + state->window_n;
    if (!in_window) {
        const leat__file *file;
        LEAT_TRY(shard_file(self, s, state, &file, err));
        const bool in_sequence = state->window_shard && sample == state->last_sample + 1;
        size_t want = n;
        if (in_sequence && n <= SMALL_RECORD) want = (size_t)LEAT_MIN((uint64_t)WINDOW, s->size - at);
        state->window_shard = NULL;
        reader->bytes.size = 0;
        if (!leat__buf_reserve(&reader->bytes, want + LEAT_CACHE_LINE))
            return leat__fail_memory(err, want, "a record");
        /* As far into a cache line of memory as into one of the file: the system copies that faster. */
        const size_t place = (size_t)(at % LEAT_CACHE_LINE);
        LEAT_TRY(leat__file_read_at(file, reader->bytes.data + place, want, at, s->path, err));
        reader->bytes.size = place + want; /* so that the window moves along when the buffer grows */
        state->window_place = place;
        state->window_shard = s;
        state->window_begin = at;
        state->window_n = want;
        reader->bytes_read += want;
    }
    state->last_sample = sample;
    *out = reader->bytes.data + state->window_place + (at - state->window_begin);
    return 0;
}

/* A hint only: what cannot be opened is met when it is read. */
static void will_read(const leat__source *source, leat__reader *reader, uint64_t first, uint64_t last) {
    const records *self = (const records *)source;
    if (!reader->state) reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof(reader_state));
    while (reader->state && first <= last) {
        const shard *s = shard_of(self, first);
        const uint64_t end = LEAT_MIN(last, s->first + s->n - 1), at = border_at(s, first - s->first);
        const leat__file *file;
        if (shard_file(self, s, reader->state, &file, NULL) < 0) return;
        leat__file_will_read(file, at, border_at(s, end - s->first + 1) - at);
        first = end + 1;
    }
}

static void prepare(const leat__source *source, leat__reader *reader) {
    if (!reader->state) reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof(reader_state));
    leat__buf_reserve_exactly(&reader->bytes,
                              LEAT_CLAMP(source->bytes_max, (size_t)WINDOW, LEAT_PREPARE_BYTES_MAX) +
                                  LEAT_CACHE_LINE);
}

static int read_record(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const records *self = (const records *)source;
    const reader_state *state = reader->state;
    const shard *s = state ? state->window_shard : NULL; /* what comes next is mostly there too */
    if (!s || sample < s->first || sample - s->first >= s->n) s = shard_of(self, sample);
    const uint64_t i = sample - s->first, at = border_at(s, i), span = border_at(s, i + 1) - at;
    const size_t n = (size_t)LEAT_MIN(span, (uint64_t)LEAT_RECORD_BYTES_MAX + LEAT_TFRECORD_OVERHEAD);
    const uint8_t *bytes = NULL;
    uint64_t length = 0;
    if (n > LARGE_RECORD) { /* a hole of any size must not cost memory: is it a record at all? */
        LEAT_TRY(read_span(self, s, reader, sample, at, LEAT_TFRECORD_HEADER, &bytes, err));
        if (!leat__tfrecord_length(bytes, &length) || length > LEAT_RECORD_BYTES_MAX ||
            length + LEAT_TFRECORD_OVERHEAD != span)
            return fail_record(s, i, bytes, LEAT_TFRECORD_HEADER, err);
    }
    LEAT_TRY(read_span(self, s, reader, sample, at, n, &bytes, err));
    const bool headed = n >= LEAT_TFRECORD_HEADER && leat__tfrecord_length(bytes, &length);
    if (!headed || length > span || span - length != LEAT_TFRECORD_OVERHEAD || length > LEAT_RECORD_BYTES_MAX)
        return fail_record(s, i, bytes, n, err);
    const uint8_t *payload = bytes + LEAT_TFRECORD_HEADER;
    if (!leat__tfrecord_intact(payload, (size_t)length, payload + length))
        return fail_record(s, i, bytes, n, err);
    values[0] = (leat__value){.data = payload,
                              .bytes = (size_t)length,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)length}};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const shard *s = shard_of((const records *)source, sample);
    char name[400];
    snprintf(text, cap, "%s: record %" PRIu64 " at byte %" PRIu64,
             leat__printable(name, sizeof name, s->path, strlen(s->path)), sample - s->first,
             border_at(s, sample - s->first));
}

static void close_records(leat__source *source) {
    records *self = (records *)source;
    for (size_t i = 0; i < self->n_shards; i++) {
        leat__file_close(&self->shard[i].file);
        leat__buf_free(&self->shard[i].border);
        leat__free(self->shard[i].path);
    }
    leat__free(self->shard);
}

static int version(const leat__source *source, int n_threads, uint64_t *out, leat_error *err) {
    (void)n_threads;
    const records *self = (const records *)source;
    *out = 0;
    for (size_t i = 0; i < self->n_shards; i++) {
        const shard *s = &self->shard[i];
        LEAT_TRY(leat__source_date(s->path, s->size, s->mtime_ns, out, err));
    }
    return 0;
}

static uint64_t size(const leat__source *source, uint64_t sample) {
    const shard *s = shard_of((const records *)source, sample);
    return border_at(s, sample - s->first + 1) - border_at(s, sample - s->first);
}

static const leat__source_class records_class = {.name = "tfrecord",
                                                 .sharded = true,
                                                 .size = size,
                                                 .will_read = will_read,
                                                 .version = version,
                                                 .read = read_record,
                                                 .describe = describe,
                                                 .prepare = prepare,
                                                 .close_reader = close_reader,
                                                 .close = close_records};

size_t leat__records_shards(const leat__source *source) {
    return ((const records *)source)->n_shards;
}

const char *leat__records_shard(const leat__source *source, size_t i, uint64_t *n_records, uint64_t *bytes) {
    const shard *s = &((const records *)source)->shard[i];
    *n_records = s->n;
    *bytes = s->size;
    return s->path;
}

/* -------------------------------------------------------------------------------------------- open */

static void sum_up(records *self) {
    leat__source *base = &self->base;
    uint64_t not_kept = 0;
    for (size_t i = 0; i < self->n_shards; i++) {
        shard *s = &self->shard[i];
        s->first = base->n_samples;
        base->n_samples += s->n;
        not_kept += !s->kept;
        for (uint64_t k = 0; k < s->n; k++) {
            const uint64_t span = border_at(s, k + 1) - border_at(s, k);
            if (span > base->bytes_max)
                base->bytes_max = (size_t)LEAT_MIN(span, (uint64_t)LEAT_RECORD_BYTES_MAX);
        }
        const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
        const uint64_t facts[] = {s->size, s->n};
        base->fingerprint =
            leat__hash(facts, sizeof facts, leat__hash(name, strlen(name), base->fingerprint));
    }
    if (not_kept)
        snprintf(base->warning, sizeof base->warning,
                 "the index of %" PRIu64 " shards could not be kept: it will be made again at the next start",
                 not_kept);
    /* Shards of one folder share what is kept of their pictures. */
    base->home = self->n_shards ? leat__real_path(self->shard[0].path) : NULL;
    char *slash = base->home ? strrchr(base->home, '/') : NULL;
    if (slash) *slash = 0;
    snprintf(base->title, sizeof base->title, "tfrecord: %" PRIu64 " records in %zu shards", base->n_samples,
             self->n_shards);
}

int leat__records_open(leat__source **out, const char *const *patterns, int n, const leat__open_options *open,
                       leat_error *err) {
    *out = NULL;
    leat__paths paths;
    LEAT_TRY(leat__glob(&paths, patterns, n, err));
    records *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    shard *shards = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(paths.n, (size_t)1) * sizeof *shards);
    if (!self || !shards) {
        leat__paths_free(&paths);
        leat__free(self);
        leat__free(shards);
        return leat__fail_memory(err, paths.n * sizeof *shards, "shards");
    }
    leat__source *base = &self->base;
    base->class = &records_class;
    self->open = open;
    self->shard = shards;
    self->n_shards = paths.n;
    self->keep_open = paths.n <= KEEP_OPEN_MAX;
    for (size_t i = 0; i < paths.n; i++) shards[i] = (shard){.path = paths.path[i], .file.fd = -1};
    leat__free(paths.path); /* the names are the shards' now */
    int rc = leat__parallel(open->n_threads, self->n_shards, open_shard, self, err);
    self->open = NULL;
    if (rc == 0) sum_up(self);
    if (rc == 0 && base->n_samples == 0) {
        char name[400];
        rc = leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record: is it still being written?",
                        leat__printable(name, sizeof name, shards[0].path, strlen(shards[0].path)));
    }
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    const int64_t any = -1;
    leat__source_field(base, "record", LEAT_DTYPE_BYTES, 1, &any);
    *out = base;
    return 0;
}
