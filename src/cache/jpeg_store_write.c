/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: one thread that brings new positions to the disk while the pipeline runs.
 *
 *     workers -> list of entries -> [ mutex: gather copies blocks into the piece ] -> write, without any lock -> file
 *
 * The thread touches the table only while it holds the mutex of the writer and the table has not let go of it. It reads from
 * and writes to the disk only while it holds no lock. So closing needs the mutex for a moment only, and after `store` was set
 * to NULL everything that the thread still uses is its own.
 *
 * Nothing is synced: each entry has its checksum and each block its seal, so what a power failure spoils is not used. A
 * process that is killed loses what it has not written.
 *
 * Several processes write one file, such as the ranks of a training. Each locks it (flock) for one piece at a time:
 *
 *     lock -> learn what others have appended -> gather -> append, or write over entries that know less -> unlock
 *
 * So places are right, no entry is there twice, and nothing that another process has noted is lost. A file that was replaced is
 * noticed by its inode: then all places are forgotten, and learned anew. */
#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "cache/jpeg_store_table.h"

enum { PIECE = 256 << 10, RUNS_MAX = 512 };
static const uint64_t period_ns = 250000000, close_ns = 1000000000;
/* How long to wait for a process that has the lock: before the next try, in all, and in all when the pipeline closes. */
static const uint64_t busy_ns = 5000000, patience_ns = 10000000000, close_patience_ns = 500000000;
static const uint64_t room_step = (uint64_t)64
                                  << 20; /* what the writer asks the cache directory for, at most */

typedef struct run { /* of bytes that lie one after the other in the piece and in the file */
    uint64_t offset;
    size_t begin, n;
    bool over; /* one entry, over the one that is there if that knows less */
} run;

struct leat__jpeg_store_writer {
    pthread_t thread;
    leat__mutex mutex; /* guards what follows */
    leat__cond wake, news;
    leat__jpeg_store *store; /* NULL: closed before the thread was done; the writer is the thread's own */
    bool stop, done;
    bool idle;                                /* everything that was on the list is written */
    leat_error failed;                        /* code 0: no                                 */
    leat__jpeg_store_entry *todo, *todo_last; /* taken from the list; entries of the table */
    /* Only the thread's: */
    char *path, *cache_dir;
    bool beside, trust;
    bool replace;        /* the file that is there is not wanted            */
    uint64_t end;        /* of what is known of the file                    */
    uint64_t inode;      /* of the file that places are of; 0: none is known */
    bool forget;         /* places in the table are of another file         */
    uint64_t blocked_ns; /* since when another process has the lock; 0: none */
    uint64_t cache_bytes_max;
    leat__file file;
    uint64_t room;          /* bytes that the file may grow by      */
    uint64_t wanted;        /* an entry needs so much more of it    */
    uint8_t *piece, *found; /* what is written; what was read */
    size_t n;
    int n_runs;
    run run[RUNS_MAX];
};

static void free_writer(leat__jpeg_store_writer *w) {
    leat__free(w->path);
    leat__free(w->cache_dir);
    leat__free(w->piece);
    leat__free(w->found);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->news);
    leat__mutex_destroy(&w->mutex);
    leat__free(w);
}

/* ------------------------------------------------------------------------------------------- gather */

static void append(leat__jpeg_store_writer *w, leat__jpeg_store_entry *e) {
    e->next = NULL;
    if (w->todo) w->todo_last->next = e;
    else w->todo = e;
    w->todo_last = e;
}

/* Moves the list to the end of todo, oldest first. */
static void take_list(leat__jpeg_store_writer *w) {
    leat__jpeg_store_entry *e = atomic_exchange_explicit(&w->store->dirty, NULL, memory_order_acquire);
    leat__jpeg_store_entry *oldest = NULL;
    while (e) {
        leat__jpeg_store_entry *next = e->next;
        e->next = oldest;
        oldest = e;
        e = next;
    }
    while (oldest) {
        e = oldest;
        oldest = e->next;
        append(w, e);
    }
}

/* Copies the block into the piece. False: a worker has the entry just now. */
static bool copy_entry(leat__jpeg_store_writer *w, leat__jpeg_store_entry *e, size_t stride) {
    if (!leat__jpeg_store_hold(e)) return false;
    /* From here on a change puts it on the list again. */
    const bool anyway = atomic_exchange(&e->dirty, 0) & LEAT_DIRTY_ANYWAY, fresh = e->at == 0;
    const leat__positions_entry entry = {
        .key = e->key, .cap = e->cap, .size = e->size, .block = leat__jpeg_store_block(e)};
    leat__positions_write(w->piece + w->n, &entry);
    leat__jpeg_store_let_go(e);
    if (fresh) {
        e->at = w->end;
        w->end += stride;
        w->room -= stride;
    }
    run *last = w->n_runs ? &w->run[w->n_runs - 1] : NULL;
    if (fresh && last && !last->over && last->offset + last->n == e->at) last->n += stride;
    else w->run[w->n_runs++] = (run){.offset = e->at, .begin = w->n, .n = stride, .over = !fresh && !anyway};
    w->n += stride;
    return true;
}

/* Fills the piece. With the mutex held. */
static void gather(leat__jpeg_store_writer *w) {
    leat__jpeg_store_entry *tried = NULL; /* the first one that a worker had: once around is enough */
    w->n = 0;
    w->n_runs = 0;
    w->wanted = 0;
    while (w->todo && w->todo != tried && w->n_runs < RUNS_MAX) {
        leat__jpeg_store_entry *e = w->todo;
        const size_t stride = leat__positions_stride(e->cap);
        if (w->n + stride > PIECE) return;
        if (e->at == 0 && stride > w->room) {
            w->wanted = stride;
            return;
        }
        w->todo = e->next;
        if (copy_entry(w, e, stride)) continue;
        append(w, e);
        if (!tried) tried = e;
    }
}

/* -------------------------------------------------------------------------------------------- write */

enum { BUSY = 1, AGAIN };

/* Whether the file that is open and locked is a file of positions that this run goes on with; *size: of it. */
static bool is_wanted(const leat__jpeg_store_writer *w, uint64_t size) {
    uint8_t header[LEAT_SEGMENT_HEADER];
    if (w->replace || size < sizeof header || (!w->trust && !leat__file_trusted(&w->file, LEAT_NO_OWNER)))
        return false;
    return leat__file_read_at(&w->file, header, sizeof header, 0, w->path, NULL) == 0 &&
           leat__positions_check_header(header);
}

/* A file of its own, under the lock, in place of one that is empty, damaged, not trusted or not wanted. */
static int begin_file(leat__jpeg_store_writer *w, uint64_t size, leat_error *err) {
    uint8_t header[LEAT_SEGMENT_HEADER];
    leat__positions_write_header(header);
    w->replace = false;
    if (size > 0) {
        LEAT_TRY(leat__file_remove(w->path, err));
        leat__file_close(&w->file);
        return AGAIN;
    }
    return leat__file_write_at(&w->file, header, sizeof header, 0, w->path, err);
}

/* Opens or makes the file and locks it. AGAIN: it was replaced meanwhile. BUSY: another process has the lock. */
static int lock_file(leat__jpeg_store_writer *w, leat_error *err) {
    leat__stat st;
    int rc = w->file.fd < 0 ? leat__file_grow(&w->file, w->path, false, err) : 0;
    if (rc == LEAT_ERR_NOT_FOUND) {
        leat_error why;
        rc = leat__file_grow(&w->file, w->path, true, &why);
        if (rc < 0 && why.sys == EEXIST) return AGAIN; /* another process was faster */
        if (rc < 0) *err = why;
    }
    LEAT_TRY(rc);
    if (!leat__file_lock(&w->file)) return BUSY;
    if (leat__file_stat(w->path, &st, NULL) < 0 || st.inode != w->file.inode) {
        leat__file_close(&w->file);
        return AGAIN;
    }
    if (!is_wanted(w, st.size)) LEAT_TRY(rc = begin_file(w, st.size, err));
    if (rc == AGAIN) return rc;
    st.size = LEAT_MAX(st.size, (uint64_t)LEAT_SEGMENT_HEADER);
    if (w->inode != w->file.inode || st.size < w->end) {
        w->inode = w->file.inode;
        w->end = LEAT_SEGMENT_HEADER;
        w->forget = true;
    }
    w->file.size = st.size;
    return 0;
}

static int begin_piece(leat__jpeg_store_writer *w, leat_error *err) {
    enum { TRIES = 100 };
    int rc = AGAIN;
    for (int i = 0; i < TRIES && rc == AGAIN; i++) rc = lock_file(w, err);
    if (rc == AGAIN) rc = BUSY;
    if (rc <= 0) {
        w->blocked_ns = 0;
        return rc;
    }
    const uint64_t now = leat__now_ns();
    if (!w->blocked_ns) w->blocked_ns = now;
    if (now - w->blocked_ns < patience_ns) return rc;
    return leat__fail(err, LEAT_ERR_STATE, "another process writes the positions of this data set");
}

/* What others have appended since this writer last looked. Called and returns with the mutex held, which it gives back while it
 * reads. */
static int learn(leat__jpeg_store_writer *w, leat_error *err) {
    for (size_t i = 0; w->forget && i <= w->store->mask; i++) {
        leat__jpeg_store_entry *e = atomic_load_explicit(&w->store->slot[i], memory_order_acquire);
        if (e) e->at = 0;
    }
    w->forget = false;
    while (w->store && w->file.size > w->end) {
        const size_t n = (size_t)LEAT_MIN(w->file.size - w->end, (uint64_t)PIECE);
        const bool last = w->end + n == w->file.size;
        size_t at = 0;
        leat__positions_entry entry;
        leat__unlock(&w->mutex);
        const int rc = leat__file_read_at(&w->file, w->found, n, w->end, w->path, err);
        leat__lock(&w->mutex);
        LEAT_TRY(rc);
        while (w->store && leat__positions_next(w->found, n, last, &at, &entry)) {
            leat__jpeg_store_learn(w->store, &entry, w->end + at);
            at += leat__positions_stride(entry.cap);
        }
        if (last || at == 0) at = n;
        w->end += at;
    }
    w->end = LEAT_ALIGN_UP(w->end, (uint64_t)LEAT_SEGMENT_UNIT);
    return 0;
}

static int find_room(leat__jpeg_store_writer *w, leat_error *err) {
    if (w->beside) w->room = UINT64_MAX;
    else
        w->room = leat__sets_room(w->cache_dir, w->cache_bytes_max,
                                  LEAT_CLAMP(w->cache_bytes_max / 64, w->wanted, room_step));
    if (w->room >= w->wanted) return 0;
    return leat__fail(err, LEAT_ERR_LIMIT,
                      "the cache directory has its %" PRIu64
                      " MiB: raise LEAT_CACHE_BYTES, or remove data sets "
                      "with leat cache --prune",
                      w->cache_bytes_max >> 20);
}

/* Whether the file has at least as much of the entry as the piece has. */
static bool knows_as_much(leat__jpeg_store_writer *w, const run *r) {
    leat__positions_entry own, there;
    size_t at = 0, found = 0;
    return leat__positions_next(w->piece + r->begin, r->n, true, &at, &own) &&
           leat__file_read_at(&w->file, w->found, r->n, r->offset, w->path, NULL) == 0 &&
           leat__positions_next(w->found, r->n, true, &found, &there) && found == 0 && there.key == own.key &&
           there.cap == own.cap && there.size >= own.size;
}

static int write_piece(leat__jpeg_store_writer *w, leat_error *err) {
    for (int i = 0; i < w->n_runs; i++) {
        const run *r = &w->run[i];
        if (r->over && knows_as_much(w, r)) continue;
        LEAT_TRY(leat__file_write_at(&w->file, w->piece + r->begin, r->n, r->offset, w->path, err));
    }
    leat__file_unlock(&w->file);
    return w->wanted ? find_room(w, err) : 0;
}

/* --------------------------------------------------------------------------------------- the thread */

/* Writes some of what is to be written. With the mutex held, which it gives back meanwhile: 0, BUSY, or an error. */
static int write_some(leat__jpeg_store_writer *w, leat_error *err) {
    leat__unlock(&w->mutex);
    int rc = begin_piece(w, err);
    leat__lock(&w->mutex);
    if (rc == 0 && w->store) rc = learn(w, err);
    if (rc != 0 || !w->store) return rc;
    gather(w);
    const bool stuck = w->n == 0 && w->wanted == 0; /* workers have all entries just now */
    leat__unlock(&w->mutex);
    rc = write_piece(w, err);
    leat__lock(&w->mutex);
    return rc == 0 && stuck ? BUSY : rc;
}

static void *writer_main(void *argument) {
    leat__jpeg_store_writer *w = argument;
    leat_error err;
    uint64_t stopped_ns = 0;
    leat__lock(&w->mutex);
    while (w->store) {
        take_list(w);
        w->idle = !w->todo;
        if (w->idle && w->stop) break;
        if (w->idle) {
            pthread_cond_broadcast(&w->news);
            leat__cond_wait_for(&w->wake, &w->mutex, period_ns);
            continue;
        }
        int rc = write_some(w, &err);
        if (rc == BUSY && w->stop) {
            if (!stopped_ns) stopped_ns = leat__now_ns();
            if (leat__now_ns() - stopped_ns > close_patience_ns)
                rc =
                    leat__fail(&err, LEAT_ERR_STATE, "another process writes the positions of this data set");
        }
        if (rc == BUSY) leat__cond_wait_for(&w->wake, &w->mutex, busy_ns);
        if (rc >= 0) continue;
        w->failed = err;
        if (w->store) atomic_store(&w->store->failed, true);
        break;
    }
    leat__unlock(&w->mutex);
    const int closed = leat__file_finish(&w->file, w->path, &err); /* on a network this may wait too */
    leat__lock(&w->mutex);
    if (closed < 0 && !w->failed.code) w->failed = err;
    w->done = true;
    const bool left_behind = !w->store;
    pthread_cond_broadcast(&w->news);
    leat__unlock(&w->mutex);
    if (left_behind) free_writer(w);
    return NULL;
}

static int new_writer(leat__jpeg_store_writer **out, leat__jpeg_store *store, const char *path,
                      leat_error *err) {
    leat__jpeg_store_writer *w = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *w);
    if (!w) return leat__fail_memory(err, sizeof *w, "positions in JPEG files");
    int rc = leat__mutex_init(&w->mutex, LEAT_LOCK_WRITER, err);
    if (rc == 0) rc = leat__cond_init(&w->wake, err);
    if (rc == 0) rc = leat__cond_init(&w->news, err);
    if (rc < 0) {
        leat__free(w);
        return rc;
    }
    w->store = store;
    w->file.fd = -1;
    w->beside = store->open.beside;
    w->replace = store->open.refresh;
    w->trust = store->open.trust;
    w->end = store->file_size;
    w->inode = store->file_inode;
    w->cache_bytes_max = store->options.cache_bytes_max;
    w->path = leat__strdup(LEAT_MEM_INDEX, path);
    if (store->cache_dir) w->cache_dir = leat__strdup(LEAT_MEM_INDEX, store->cache_dir);
    w->piece = leat__alloc(LEAT_MEM_INDEX, PIECE);
    w->found = leat__alloc(LEAT_MEM_INDEX, PIECE);
    rc = w->path && w->piece && w->found && (w->cache_dir || !store->cache_dir)
             ? leat__thread_start(&w->thread, writer_main, w, "leat-positions", err)
             : leat__fail_memory(err, PIECE, "positions in JPEG files");
    if (rc < 0) free_writer(w);
    return rc;
}

static const char not_kept[] = "positions in JPEG files are not kept for later runs: ";

static void say(leat__jpeg_store *store, leat_error *why) {
    /* That another process writes them too is as it should be. */
    if (why->code == LEAT_ERR_STATE || atomic_exchange(&store->said, true) || !store->options.log) return;
    leat__error_prefix(why, not_kept);
    store->options.log(store->options.user, LEAT_LOG_WARNING, why->message);
}

void leat__jpeg_store_say(leat__jpeg_store *store) {
    leat_error why = {0};
    if (!store->writer || atomic_load(&store->said)) return;
    leat__lock(&store->writer->mutex);
    why = store->writer->failed;
    leat__unlock(&store->writer->mutex);
    say(store, &why);
}

int leat__jpeg_store_start(leat__jpeg_store *store, leat_error *err) {
    char path[PATH_MAX];
    leat__jpeg_store_writer *w = NULL;
    if (!store->home) return 0;
    int rc = leat__jpeg_store_path(store, true, path, sizeof path, err);
    if (rc == 0) rc = new_writer(&w, store, path, err);
    if (rc == 0) store->writer = w;
    else leat__error_prefix(err, not_kept);
    return rc;
}

int leat__jpeg_store_flush(leat__jpeg_store *store, uint64_t ns, leat_error *err) {
    leat__jpeg_store_writer *w = store->writer;
    const uint64_t until = leat__now_ns() + ns;
    if (!w) return 0;
    leat__lock(&w->mutex);
    pthread_cond_signal(&w->wake);
    bool all = false;
    for (uint64_t now; !w->done && (now = leat__now_ns()) < until;) {
        all = w->idle && !atomic_load(&store->dirty);
        if (all) break;
        leat__cond_wait_for(&w->news, &w->mutex, until - now);
    }
    const int rc = w->failed.code ? w->failed.code : all ? 0 : 1;
    if (w->failed.code && err) *err = w->failed;
    leat__unlock(&w->mutex);
    return rc;
}

void leat__jpeg_store_stop(leat__jpeg_store *store) {
    leat__jpeg_store_writer *w = store->writer;
    const uint64_t until = leat__now_ns() + close_ns;
    leat_error failed;
    if (!w) return;
    leat__lock(&w->mutex);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    for (uint64_t now; !w->done && (now = leat__now_ns()) < until;)
        leat__cond_wait_for(&w->news, &w->mutex, until - now);
    const bool done = w->done;
    failed = w->failed;
    w->store = NULL;
    if (!done) pthread_detach(w->thread);
    leat__unlock(&w->mutex); /* if it is not done, the writer is the thread's now */
    store->writer = NULL;
    if (done) {
        pthread_join(w->thread, NULL);
        free_writer(w);
    } else {
        leat__fail(&failed, LEAT_ERR_IO, "the disk takes too long");
    }
    if (failed.code) say(store, &failed);
}

void leat__jpeg_store_leave(leat__jpeg_store *store) {
    leat__jpeg_store_writer *w = store->writer;
    atomic_store(&store->said, true);
    if (!w) return;
    leat__lock(&w->mutex);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_detach(w->thread);
    leat__unlock(&w->mutex);
}
