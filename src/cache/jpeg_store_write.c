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
 * process that is killed loses what it has not written. Of several processes one writes at a time (flock); the others keep
 * their positions in memory. The file must be as it was when it was loaded, or places in it would be wrong: if it is not,
 * another process has written meanwhile, and this run leaves it alone. */
#include <limits.h>

#include "base/clock.h"
#include "cache/jpeg_store_table.h"

enum { PIECE = 256 << 10, RUNS_MAX = 512 };
static const uint64_t period_ns = 250000000, close_ns = 1000000000;
static const uint64_t room_step = (uint64_t)64
                                  << 20; /* what the writer asks the cache directory for, at most */

typedef struct run { /* of bytes that lie one after the other in the piece and in the file */
    uint64_t offset;
    size_t begin, n;
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
    bool beside, replace;
    uint64_t size, inode; /* of the file as it was loaded; 0: there was none */
    uint64_t cache_bytes_max;
    leat__file file;
    uint64_t end;    /* of the file                          */
    uint64_t room;   /* bytes that the file may grow by      */
    uint64_t wanted; /* an entry needs so much more of it    */
    uint8_t *piece;
    size_t n;
    int n_runs;
    run run[RUNS_MAX];
};

static void free_writer(leat__jpeg_store_writer *w) {
    leat__free(w->path);
    leat__free(w->cache_dir);
    leat__free(w->piece);
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
    atomic_store(&e->dirty, 0); /* from here on a change puts it on the list again */
    const leat__positions_entry entry = {
        .key = e->key, .cap = e->cap, .size = e->size, .block = leat__jpeg_store_block(e)};
    leat__positions_write(w->piece + w->n, &entry);
    leat__jpeg_store_let_go(e);
    if (e->at == 0) {
        e->at = w->end;
        w->end += stride;
        w->room -= stride;
    }
    run *last = w->n_runs ? &w->run[w->n_runs - 1] : NULL;
    if (last && last->offset + last->n == e->at) last->n += stride;
    else w->run[w->n_runs++] = (run){.offset = e->at, .begin = w->n, .n = stride};
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

/* Opens, locks and checks the file, or makes it. LEAT_ERR_STATE: another process writes there, or has. */
static int open_file(leat__jpeg_store_writer *w, leat_error *err) {
    uint8_t header[LEAT_SEGMENT_HEADER];
    int rc = leat__file_grow(&w->file, w->path, false, err);
    if (rc == LEAT_ERR_NOT_FOUND) rc = leat__file_grow(&w->file, w->path, true, err);
    LEAT_TRY(rc);
    if (!leat__file_lock(&w->file))
        return leat__fail(err, LEAT_ERR_STATE, "another process writes the positions of this data set");
    leat__positions_write_header(header);
    const bool empty = w->file.size == 0;
    if (!empty && !w->replace && (w->file.inode != w->inode || w->file.size != w->size)) {
        uint8_t found[LEAT_SEGMENT_HEADER] = {0};
        if (w->file.size >= sizeof found) leat__file_read_at(&w->file, found, sizeof found, 0, w->path, NULL);
        if (leat__positions_check_header(found))
            return leat__fail(err, LEAT_ERR_STATE, "another process has written the positions meanwhile");
        w->inode = 0; /* no file of positions, or one without a good header: written anew */
    }
    w->end = LEAT_ALIGN_UP(w->file.size, (uint64_t)LEAT_SEGMENT_UNIT);
    if (!empty && !w->replace && w->inode) return 0;
    LEAT_TRY(leat__file_cut(&w->file, 0, w->path, err));
    w->end = sizeof header;
    return leat__file_write_at(&w->file, header, sizeof header, 0, w->path, err);
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

static int write_piece(leat__jpeg_store_writer *w, leat_error *err) {
    if (w->file.fd < 0) return open_file(w, err);
    for (int i = 0; i < w->n_runs; i++)
        LEAT_TRY(leat__file_write_at(&w->file, w->piece + w->run[i].begin, w->run[i].n, w->run[i].offset,
                                     w->path, err));
    return w->wanted ? find_room(w, err) : 0;
}

/* --------------------------------------------------------------------------------------- the thread */

static void *writer_main(void *argument) {
    leat__jpeg_store_writer *w = argument;
    leat_error err;
    leat__lock(&w->mutex);
    while (w->store) {
        take_list(w);
        const bool opened = w->file.fd >= 0;
        w->idle = !w->todo;
        if (w->todo && opened) gather(w);
        if (w->idle && w->stop) break;
        if (w->idle || (opened && w->n == 0 && w->wanted == 0)) { /* or workers have all entries just now */
            pthread_cond_broadcast(&w->news);
            leat__cond_wait_for(&w->wake, &w->mutex, w->idle ? period_ns : period_ns / 250);
            continue;
        }
        leat__unlock(&w->mutex);
        const int rc = write_piece(w, &err);
        leat__lock(&w->mutex);
        if (rc == 0) continue;
        w->failed = err;
        if (w->store) atomic_store(&w->store->failed, true);
        break;
    }
    leat__unlock(&w->mutex);
    leat__file_close(&w->file); /* on a network this may wait too */
    leat__lock(&w->mutex);
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
    w->size = store->file_size;
    w->inode = store->file_inode;
    w->cache_bytes_max = store->options.cache_bytes_max;
    w->path = leat__strdup(LEAT_MEM_INDEX, path);
    if (store->cache_dir) w->cache_dir = leat__strdup(LEAT_MEM_INDEX, store->cache_dir);
    w->piece = leat__alloc(LEAT_MEM_INDEX, PIECE);
    rc = w->path && w->piece && (w->cache_dir || !store->cache_dir)
             ? leat__thread_start(&w->thread, writer_main, w, "leat-positions", err)
             : leat__fail_memory(err, PIECE, "positions in JPEG files");
    if (rc < 0) free_writer(w);
    return rc;
}

static const char not_kept[] = "positions in JPEG files are not kept for later runs: ";

static void say(leat__jpeg_store *store, leat_error *why) {
    /* That another process writes them is as it should be. */
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
