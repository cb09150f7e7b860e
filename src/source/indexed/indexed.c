/* SPDX-License-Identifier: Apache-2.0 */
#include "source/indexed/indexed.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"
#include "source/side.h"

enum { KEEP_OPEN_MAX = 256, READER_FILES = 32, SMALL_ENTRY = 1 << 14, WINDOW = 1 << 17 };

typedef leat__indexed_shard shard;

typedef struct reader_state {
    /* What reader->bytes holds: small entries that are read one after the other share a read. */
    const shard *window_shard;
    size_t window_place; /* where in those bytes it begins */
    uint64_t window_begin;
    size_t window_n;
    uint64_t last_sample;
    /* What will be read next of a remote shard: all of it comes with the first read. */
    const shard *soon_shard;
    leat__extent soon;
    struct { /* when there are too many shards to keep all open */
        size_t shard;
        leat__file file;
    } slot[READER_FILES];
} reader_state;

/* ------------------------------------------------------------------------------------------- index */

const uint8_t *leat__hopper_look(leat__hopper *h, uint64_t offset, size_t n, leat_error *err) {
    if (offset < h->begin || offset + n > h->begin + h->n) {
        const uint64_t left = h->s->size - offset;
        size_t want = LEAT_MIN(LEAT_MAX(h->ahead, n), h->cap);
        if (want > left) want = (size_t)left;
        h->n = 0;
        if (leat__file_read_at(&h->s->file, h->bytes, want, offset, h->s->path, err) < 0) return NULL;
        h->begin = offset;
        h->n = want;
    }
    return h->bytes + (offset - h->begin);
}

static bool add_border(shard *s, uint64_t offset) {
    return leat__buf_append(&s->border, &offset, sizeof offset);
}

static int show_progress(const leat__open_options *open, uint64_t at, uint64_t size, leat_error *err) {
    if (!open->progress(open->user, "indexing records", at, size)) return 0;
    return leat__fail(err, LEAT_ERR_CANCELLED, "indexing was cancelled");
}

static int build_index(const leat__indexed_format *format, shard *s, int worker,
                       const leat__open_options *open, leat_error *err) {
    leat__hopper h = {
        .s = s, .cap = (size_t)LEAT_MIN((uint64_t)LEAT_HOP_MAX, s->size), .ahead = LEAT_HOP_CHUNK};
    h.bytes = leat__alloc(LEAT_MEM_INDEX, h.cap);
    uint64_t at = 0, last_shown = 0;
    int rc = h.bytes ? 0 : leat__fail_memory(err, h.cap, "an index");
    while (rc == 0 && at < s->size) {
        const uint64_t begin = at;
        rc = format->step(&h, &at, err);
        if (rc == 0 && !add_border(s, begin)) rc = leat__fail_memory(err, s->border.cap, "an index");
        if (rc == 0 && worker == 0 && open->progress && at - last_shown > ((uint64_t)64 << 20)) {
            last_shown = at;
            rc = show_progress(open, at, s->size, err);
        }
    }
    leat__free(h.bytes);
    if (rc < 0) return rc;
    return add_border(s, s->size) ? 0 : leat__fail_memory(err, s->border.cap, "an index");
}

/* ---------------------------------------------------------------------------------------- side file
 * Payload: version; size, times and inode of the shard; its digest, if it lies beside the data; the borders. */

enum { FACTS = 6, DIGEST_PIECES = 8, DIGEST_PIECE = 4096 };

/* Of pieces that are spread evenly over the shard, the first at its beginning and the last at its end. */
static int take_digest(const shard *s, uint64_t *out, leat_error *err) {
    uint8_t piece[DIGEST_PIECE];
    const size_t n = (size_t)LEAT_MIN((uint64_t)DIGEST_PIECE, s->size);
    *out = s->size;
    for (uint64_t i = 0; i < DIGEST_PIECES; i++) {
        const uint64_t room = s->size - n, at = room / (DIGEST_PIECES - 1) * i +
                                                room % (DIGEST_PIECES - 1) * i / (DIGEST_PIECES - 1);
        LEAT_TRY(leat__file_read_at(&s->file, piece, n, at, s->path, err));
        *out = leat__hash(piece, n, *out);
    }
    return 0;
}

static bool is_current(const leat__indexed_format *format, const shard *s, leat__side_place place,
                       const uint64_t facts[FACTS]) {
    uint64_t digest;
    if (facts[0] != format->version || facts[1] != s->size) return false;
    if ((int64_t)facts[2] == s->mtime_ns && (int64_t)facts[3] == s->ctime_ns && facts[4] == s->inode)
        return true;
    /* To take it of a remote shard costs a request for each piece. Every record is compared with its borders when it is read. */
    if (leat__is_remote(s->path)) return true;
    return place == LEAT_SIDE_BESIDE && take_digest(s, &digest, NULL) == 0 && facts[5] == digest;
}

static const uint64_t *borders(const leat__buf *buf) {
    return (const uint64_t *)(const void *)buf->data;
}

static bool load_from(const leat__indexed_format *format, shard *s, leat__side_place place,
                      const leat__open_options *open, leat__buf *buf) {
    leat__side side;
    uint64_t facts[FACTS];
    if (!leat__side_load(&side, place, NULL, s->path, format->side_kind, open, buf)) {
        s->refused |= side.refused;
        return false;
    }
    if (side.n < sizeof facts + 8 || side.n % 8 != 0) return false;
    memcpy(facts, side.data, sizeof facts);
    bool good = is_current(format, s, place, facts) &&
                leat__buf_append(&s->border, side.data + sizeof facts, side.n - sizeof facts);
    const size_t n = s->border.size / sizeof(uint64_t);
    const uint64_t *border = borders(&s->border);
    good = good && border[0] == 0; /* an index without samples is not believed */
    for (size_t i = 0; i + 1 < n && good; i++) good = border[i + 1] > border[i];
    good = good && border[n - 1] == s->size && (s->side = leat__strdup(LEAT_MEM_INDEX, side.file)) != NULL;
    if (!good) s->border.size = 0;
    return good;
}

static bool load_index(const leat__indexed_format *format, shard *s, const leat__open_options *open) {
    leat__buf buf = {.kind = LEAT_MEM_INDEX};
    bool good = false;
    for (int place = 0; place < LEAT_SIDE_PLACES && !good; place++)
        good = load_from(format, s, place, open, &buf);
    leat__buf_free(&buf);
    return good;
}

/* The payload of a side file; digest: with the digest of the shard. */
static bool write_payload(leat__buf *out, const leat__indexed_format *format, const shard *s, bool digest) {
    uint64_t facts[FACTS] = {format->version,       s->size,  (uint64_t)s->mtime_ns,
                             (uint64_t)s->ctime_ns, s->inode, 0};
    return (!digest || take_digest(s, &facts[5], NULL) == 0) && leat__buf_append(out, facts, sizeof facts) &&
           leat__buf_append(out, s->border.data, s->border.size);
}

static bool store_index(const leat__indexed_format *format, shard *s, const leat__open_options *open) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    leat_error why;
    leat__error_clear(&why);
    const bool kept =
        write_payload(&payload, format, s, open->beside) &&
        leat__side_store(NULL, s->path, format->side_kind, open, payload.data, payload.size, &why);
    leat__buf_free(&payload);
    s->sys = kept ? 0 : why.sys;
    return kept;
}

/* To make the index of a remote shard would read all of it. */
static int fail_remote(const shard *s, leat_error *err) {
    char shown[400];
    leat__fail(err, LEAT_ERR_STATE,
               "%s has no index beside it, or one of another file: run `leat index --beside` where the file "
               "lies, and "
               "upload its .leatidx file into the same folder",
               leat__printable(shown, sizeof shown, s->path, strlen(s->path)));
    return LEAT_ERR_STATE;
}

static int open_shard(void *user, uint64_t item, int worker, leat_error *err) {
    leat__indexed *self = user;
    shard *s = &self->shard[item];
    LEAT_TRY(leat__file_open(&s->file, s->path, err));
    s->size = s->file.size;
    s->mtime_ns = s->file.mtime_ns;
    s->ctime_ns = s->file.ctime_ns;
    s->inode = s->file.inode;
    s->border.kind = s->renewed.kind = LEAT_MEM_INDEX;
    int rc = 0;
    s->kept = load_index(self->format, s, self->open);
    if (!s->kept && leat__is_remote(s->path)) {
        rc = fail_remote(s, err);
    } else if (!s->kept) {
        rc = build_index(self->format, s, worker, self->open, err);
        /* A shard that is still being written must not leave an index behind. */
        const bool settled = LEAT_MAX(s->mtime_ns, s->ctime_ns) < self->open->now_ns - LEAT_SIDE_GRAIN_NS;
        s->kept = rc == 0 && (!settled || store_index(self->format, s, self->open));
    }
    leat__buf_trim(&s->border); /* what is left over counts with many thousand shards */
    s->n = s->border.size / sizeof(uint64_t) - (s->border.size > 0);
    if (!self->keep_open || rc < 0) leat__file_close(&s->file);
    if (worker == 0 && rc == 0 && self->open->progress &&
        self->open->progress(self->open->user, "opening shards", item + 1, self->n_shards))
        rc = leat__fail(err, LEAT_ERR_CANCELLED, "opening shards was cancelled");
    return rc;
}

/* ------------------------------------------------------------------------------------------- renewal */

typedef struct renewal {
    const leat__indexed_format *format;
    shard *s;
} renewal;

static int fail_changed(const shard *s, leat_error *err) {
    char shown[400];
    return leat__fail(err, LEAT_ERR_IO, "%s has changed since it was opened",
                      leat__printable(shown, sizeof shown, s->path, strlen(s->path)));
}

/* One of LEAT_RENEWAL_*. The side file is written over, so that the next run has the right one at once. */
static int renew(void *user, leat_error *err) {
    const renewal *job = user;
    shard *s = job->s, fresh = {.path = s->path, .border.kind = LEAT_MEM_INDEX};
    LEAT_TRY(leat__file_open(&fresh.file, s->path, err));
    fresh.size = fresh.file.size;
    fresh.mtime_ns = fresh.file.mtime_ns;
    fresh.ctime_ns = fresh.file.ctime_ns;
    fresh.inode = fresh.file.inode;
    /* Records are read from the file that was opened: borders of another one do not fit it. */
    const bool same = fresh.size == s->size && fresh.mtime_ns == s->mtime_ns && fresh.inode == s->inode;
    int rc = same ? build_index(job->format, &fresh, 1, &(leat__open_options){0}, err) : fail_changed(s, err);
    if (rc == 0 && fresh.border.size == s->border.size &&
        memcmp(fresh.border.data, s->border.data, s->border.size) == 0)
        rc = LEAT_RENEWAL_SAME;
    if (rc == 0) {
        leat__buf payload = {.kind = LEAT_MEM_INDEX};
        if (write_payload(&payload, job->format, &fresh, true))
            leat__side_write(s->side, job->format->side_kind, payload.data, payload.size, NULL);
        leat__buf_free(&payload);
        rc = fresh.border.size == s->border.size ? LEAT_RENEWAL_OTHER : LEAT_RENEWAL_OTHER_NUMBER;
        s->renewed = fresh.border;
        fresh.border = (leat__buf){0};
    }
    leat__buf_free(&fresh.border);
    leat__file_close(&fresh.file);
    return rc;
}

int leat__indexed_doubt(const leat__indexed *self, const shard *s, leat_error *err) {
    char shown[400];
    renewal job = {.format = self->format,
                   .s = (shard *)s}; /* of a source this alone changes, and only once */
    if (!s->side) return 0;
    if (leat__is_remote(s->path)) return fail_remote(s, err);
    const int rc = leat__once_do(&job.s->renewal, renew, &job, err);
    if (rc != LEAT_RENEWAL_OTHER_NUMBER)
        return rc == LEAT_RENEWAL_SAME ? 0 : rc == LEAT_RENEWAL_OTHER ? 1 : rc;
    return leat__fail(err, LEAT_ERR_STATE,
                      "%s has %zu %s, its index had %" PRIu64
                      " and did not fit: it was made anew, and the run must begin again",
                      leat__printable(shown, sizeof shown, s->path, strlen(s->path)),
                      s->renewed.size / sizeof(uint64_t) - 1, self->format->entries, s->n);
}

/* -------------------------------------------------------------------------------------------- read */

static const shard *shard_of(const leat__indexed *self, uint64_t sample) {
    size_t low = 0, high = self->n_shards;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (self->shard[mid].first <= sample) low = mid;
        else high = mid;
    }
    return &self->shard[low];
}

const shard *leat__indexed_find(const leat__indexed *self, const leat__reader *reader, uint64_t sample) {
    const reader_state *state = reader->state;
    const shard *s = state ? state->window_shard : NULL; /* what comes next is mostly there too */
    return s && sample >= s->first && sample - s->first < s->n ? s : shard_of(self, sample);
}

void leat__indexed_close_reader(leat__reader *reader) {
    reader_state *state = reader->state;
    for (int i = 0; state && i < READER_FILES; i++) leat__file_close(&state->slot[i].file);
    leat__free(state);
    reader->state = NULL;
}

static int shard_file(const leat__indexed *self, const shard *s, reader_state *state, const leat__file **out,
                      leat_error *err) {
    *out = &s->file;
    if (self->keep_open) return 0;
    const size_t number = (size_t)(s - self->shard), i = number % READER_FILES;
    leat__file *file = &state->slot[i].file;
    if (!leat__file_is_open(file) || state->slot[i].shard != number) {
        leat__file_close(file);
        LEAT_TRY(leat__file_open(file, s->path, err));
        if (file->size != s->size || file->mtime_ns != s->mtime_ns || file->inode != s->inode) {
            leat__file_close(file);
            return fail_changed(s, err);
        }
        state->slot[i].shard = number;
    }
    *out = file;
    return 0;
}

int leat__indexed_read(const leat__indexed *self, const shard *s, leat__reader *reader, uint64_t sample,
                       uint64_t at, size_t n, const uint8_t **out, leat_error *err) {
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
        if (in_sequence && n <= SMALL_ENTRY) want = (size_t)LEAT_MIN((uint64_t)WINDOW, s->size - at);
        if (state->soon_shard == s && at >= state->soon.at && at + n <= state->soon.at + state->soon.n)
            want = (size_t)(state->soon.at + state->soon.n - at);
        state->soon_shard = NULL;
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
void leat__indexed_will_read(const leat__source *source, leat__reader *reader, uint64_t first,
                             uint64_t last) {
    const leat__indexed *self = (const leat__indexed *)source;
    if (!reader->state) reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof(reader_state));
    while (reader->state && first <= last) {
        const shard *s = shard_of(self, first);
        const uint64_t end = LEAT_MIN(last, s->first + s->n - 1);
        const leat__extent begin = leat__indexed_span(s, first - s->first),
                           tail = leat__indexed_span(s, end - s->first);
        const leat__file *file;
        if (shard_file(self, s, reader->state, &file, NULL) < 0) return;
        const leat__extent all = {.at = begin.at, .n = tail.at + tail.n - begin.at};
        if (file->remote) {
            reader_state *state = reader->state;
            state->soon_shard = s;
            state->soon = all;
            return;
        }
        if (all.n > 0) leat__file_will_read(file, all.at, all.n);
        first = end + 1;
    }
}

void leat__indexed_prepare(const leat__source *source, leat__reader *reader) {
    if (!reader->state) reader->state = leat__alloc(LEAT_MEM_WORKER, sizeof(reader_state));
    leat__buf_reserve_exactly(&reader->bytes,
                              LEAT_CLAMP(source->bytes_max, (size_t)WINDOW, LEAT_PREPARE_BYTES_MAX) +
                                  LEAT_CACHE_LINE);
}

void leat__indexed_where(const leat__indexed *self, const char *entry, uint64_t sample, char *text,
                         size_t cap) {
    const shard *s = shard_of(self, sample);
    char name[400];
    snprintf(text, cap, "%s: %s %" PRIu64 " at byte %" PRIu64,
             leat__printable(name, sizeof name, s->path, strlen(s->path)), entry, sample - s->first,
             leat__indexed_span(s, sample - s->first).at);
}

void leat__indexed_close(leat__source *source) {
    leat__indexed *self = (leat__indexed *)source;
    for (size_t i = 0; i < self->n_shards; i++) {
        leat__file_close(&self->shard[i].file);
        leat__buf_free(&self->shard[i].border);
        leat__buf_free(&self->shard[i].renewed);
        leat__once_destroy(&self->shard[i].renewal);
        leat__free(self->shard[i].side);
        leat__free(self->shard[i].path);
    }
    leat__free(self->shard);
}

int leat__indexed_version(const leat__source *source, int n_threads, bool exact, uint64_t *out,
                          leat_error *err) {
    (void)n_threads;
    const leat__indexed *self = (const leat__indexed *)source;
    *out = 0;
    for (size_t i = 0; i < self->n_shards; i++) {
        const shard *s = &self->shard[i];
        LEAT_TRY(leat__source_date(s->path, s->size, s->mtime_ns, exact, out, err));
    }
    return 0;
}

uint64_t leat__indexed_size(const leat__source *source, uint64_t sample) {
    const shard *s = shard_of((const leat__indexed *)source, sample);
    return leat__indexed_span(s, sample - s->first).n;
}

size_t leat__indexed_shards(const leat__source *source) {
    return ((const leat__indexed *)source)->n_shards;
}

uint64_t leat__indexed_length(const leat__source *source, size_t i) {
    return ((const leat__indexed *)source)->shard[i].n;
}

/* -------------------------------------------------------------------------------------------- open */

static void sum_up(leat__indexed *self) {
    leat__source *base = &self->base;
    uint64_t not_kept = 0, refused = 0;
    int sys = 0;
    for (size_t i = 0; i < self->n_shards; i++) {
        shard *s = &self->shard[i];
        s->first = base->n_samples;
        base->n_samples += s->n;
        not_kept += !s->kept;
        refused += s->refused && !s->side;
        if (!s->kept && !sys) sys = s->sys;
        for (uint64_t k = 0; k < s->n; k++) {
            const uint64_t span = leat__indexed_span(s, k).n;
            if (span > base->bytes_max)
                base->bytes_max = (size_t)LEAT_MIN(span, (uint64_t)LEAT_RECORD_BYTES_MAX);
        }
        const char *name;
        const size_t n_name = leat__path_name(s->path, &name);
        const uint64_t facts[] = {s->size, s->n};
        base->fingerprint = leat__hash(facts, sizeof facts, leat__hash(name, n_name, base->fingerprint));
    }
    if (refused)
        snprintf(base->warning, sizeof base->warning, "the index of %" PRIu64 " shards " LEAT_NOT_TRUSTED,
                 refused);
    else if (not_kept)
        snprintf(base->warning, sizeof base->warning,
                 "the index of %" PRIu64
                 " shards could not be kept%s%s: it will be made again at the next start",
                 not_kept, sys ? ": " : "", sys ? strerror(sys) : "");
    base->waits = self->n_shards && leat__is_remote(self->shard[0].path);
    /* Shards of one folder share what is kept of their pictures. */
    base->home = self->n_shards ? leat__real_path(self->shard[0].path) : NULL;
    char *slash = base->home ? strrchr(base->home, '/') : NULL;
    if (slash) *slash = 0;
    snprintf(base->title, sizeof base->title, "%s: %" PRIu64 " %s in %zu shards", base->class->name,
             base->n_samples, self->format->entries, self->n_shards);
}

int leat__indexed_open(leat__indexed *self, const leat__indexed_format *format, const char *const *patterns,
                       int n, const leat__open_options *open, leat_error *err) {
    self->base.class = format->class;
    self->format = format;
    leat__paths paths;
    LEAT_TRY(leat__glob(&paths, patterns, n, err));
    self->shard = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(paths.n, (size_t)1) * sizeof *self->shard);
    if (!self->shard) {
        leat__paths_free(&paths);
        return leat__fail_memory(err, paths.n * sizeof *self->shard, "shards");
    }
    self->n_shards = paths.n;
    size_t n_local = 0; /* remote ones need no descriptor */
    int rc = 0;
    for (size_t i = 0; i < paths.n; i++) {
        n_local += !leat__is_remote(paths.path[i]);
        self->shard[i] = (shard){.path = paths.path[i], .file.fd = -1};
        const int made = leat__once_init(&self->shard[i].renewal, err);
        if (rc == 0) rc = made;
    }
    leat__free(paths.path); /* the names are the shards' now */
    LEAT_TRY(rc);
    self->keep_open = n_local <= KEEP_OPEN_MAX;
    self->open = open;
    const int n_threads =
        n_local < self->n_shards ? LEAT_MAX(open->n_threads, LEAT_SIDE_REMOTE_THREADS) : open->n_threads;
    LEAT_TRY(leat__parallel(n_threads, self->n_shards, open_shard, self, err));
    self->open = NULL;
    sum_up(self);
    if (self->base.n_samples > 0) return 0;
    char name[400];
    const char *first = self->shard[0].path;
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no %.*s: is it still being written?",
                      leat__printable(name, sizeof name, first, strlen(first)),
                      (int)strlen(format->entries) - 1, format->entries);
}
