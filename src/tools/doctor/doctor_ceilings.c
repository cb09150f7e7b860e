/* SPDX-License-Identifier: Apache-2.0 */
/* What each part could give if it were all there is to do. Stages are told by the counters of the run. Storage is read by
 * itself, cold as far as the kernel drops the pages of these files, and then again. Memory is copied. */
#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/thread.h"
#include "tools/doctor/doctor.h"

enum { FILES_MAX = 400, THREADS_MAX = 64, CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20 };
static const uint64_t storage_bytes = (uint64_t)256 << 20; /* at most so many are read */

typedef struct piece { /* of a file: what is read for one sample, or a part of a shard */
    const char *path;
    uint64_t offset, bytes;
} piece;

typedef struct storage {
    leat__paths paths;
    piece *pieces;
    size_t n, n_used; /* pieces, and paths that they are of */
    bool whole;       /* a piece is a sample: its own file */
    uint64_t until_ns;
    leat__buf *room; /* of each thread */
    atomic_uint_least64_t done, bytes;
} storage;

static void add(leat__doctor *d, const char *name, double rate, const char *how) {
    leat_doctor_report *report = d->report;
    if (!(rate > 0) || report->n_ceilings == LEAT_DOCTOR_CEILINGS) return;
    leat_ceiling *c = &report->ceiling[report->n_ceilings++];
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->how, sizeof c->how, "%s", how);
    c->rate = rate;
}

/* ------------------------------------------------------------------------------------------- storage */

static int read_piece(void *user, uint64_t item, int worker, leat_error *err) {
    storage *s = user;
    const piece *p = &s->pieces[item];
    leat__file file;
    (void)err; /* bad files are the pipeline's to report */
    if (leat__now_ns() > s->until_ns || leat__file_open(&file, p->path, NULL) < 0) return 0;
    const uint64_t left = file.size > p->offset ? file.size - p->offset : 0;
    const uint64_t n = LEAT_MIN(LEAT_MIN(p->bytes, left), storage_bytes);
    if (leat__buf_reserve(&s->room[worker], (size_t)n) &&
        leat__file_read_at(&file, s->room[worker].data, (size_t)n, p->offset, p->path, NULL) == 0) {
        atomic_fetch_add(&s->done, 1);
        atomic_fetch_add(&s->bytes, n);
    }
    leat__file_close(&file);
    return 0;
}

/* Samples a second. */
static int read_all(leat__doctor *d, storage *s, int threads, double seconds, double *rate, leat_error *err) {
    atomic_store(&s->done, 0);
    atomic_store(&s->bytes, 0);
    const uint64_t begin = leat__now_ns();
    s->until_ns = begin + (uint64_t)(seconds * 1e9);
    LEAT_TRY(leat__parallel(threads, s->n, read_piece, s, err));
    const double took = (double)(leat__now_ns() - begin) * 1e-9;
    const double n = s->whole ? (double)atomic_load(&s->done)
                              : (double)atomic_load(&s->bytes) / LEAT_MAX(d->bytes_each, 1);
    *rate = took > 0 ? n / took : 0;
    return 0;
}

static void forget_all(const storage *s) {
    for (size_t i = 0; i < s->n_used; i++) leat__file_forget(s->paths.path[i]);
}

/* Sources with a file for each sample: files spread evenly over the epoch. */
static int pick_files(leat__doctor *d, storage *s, leat_error *err) {
    leat__plan *plan = &d->base.pipeline->plan;
    const uint64_t n = LEAT_MIN(plan->source->n_samples, (uint64_t)FILES_MAX);
    char path[PATH_MAX];
    s->whole = true;
    s->paths.path = leat__alloc(LEAT_MEM_TOOL, (size_t)n * sizeof *s->paths.path);
    s->pieces = leat__alloc(LEAT_MEM_TOOL, (size_t)n * sizeof *s->pieces);
    if (!s->paths.path || !s->pieces) return leat__fail_memory(err, (size_t)n * sizeof *s->pieces, "names");
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t sample = (uint64_t)((__uint128_t)i * plan->source->n_samples / n);
        if (!plan->source->class->opens(plan->source, sample, path, sizeof path)) continue;
        char *copy = leat__strdup(LEAT_MEM_TOOL, path);
        if (!copy) return leat__fail_memory(err, strlen(path), "names");
        s->paths.path[s->paths.n++] = copy;
        s->n_used++;
        s->pieces[s->n++] = (piece){.path = copy, .bytes = UINT64_MAX};
    }
    return 0;
}

/* The files that the first operation names: pieces of the size of a sample, mixed as a shuffle would, or in their order. */
static int pick_shards(leat__doctor *d, storage *s, bool shuffled, leat_error *err) {
    const leat__use *use = &d->spec->use[0];
    const leat__arg_value *files = NULL;
    for (int i = 0; leat__op_arg(use->op, i); i++)
        if (strcmp(leat__op_arg(use->op, i)->name, "files") == 0) files = &use->arg[i];
    if (!files || files->n == 0) return LEAT_END;
    LEAT_TRY(leat__glob(&s->paths, files->texts, files->n, err));
    const size_t chunk =
        shuffled ? (size_t)LEAT_CLAMP(d->bytes_each, (double)CHUNK_MIN, (double)CHUNK_MAX) : CHUNK_MAX;
    const size_t cap = (size_t)(storage_bytes / chunk);
    s->pieces = leat__alloc(LEAT_MEM_TOOL, cap * sizeof *s->pieces);
    if (!s->pieces) return leat__fail_memory(err, cap * sizeof *s->pieces, "pieces of files");
    for (size_t k = 0; k < s->paths.n && s->n < cap; k++) {
        leat__stat st;
        s->n_used = k + 1;
        if (leat__file_stat(s->paths.path[k], &st, NULL) < 0) continue;
        for (uint64_t at = 0; at < st.size && s->n < cap; at += chunk)
            s->pieces[s->n++] = (piece){.path = s->paths.path[k], .offset = at, .bytes = chunk};
    }
    leat__rng rng = leat__rng_at(1, 0, 0, 0);
    for (size_t i = s->n; shuffled && i > 1; i--) {
        const size_t k = (size_t)leat__rng_below(&rng, i);
        const piece swap = s->pieces[i - 1];
        s->pieces[i - 1] = s->pieces[k];
        s->pieces[k] = swap;
    }
    return 0;
}

static void storage_free(storage *s, int threads) {
    for (int i = 0; s->room && i < threads; i++) leat__buf_free(&s->room[i]);
    leat__free(s->room);
    leat__free(s->pieces);
    leat__paths_free(&s->paths);
}

/* Cold, then warm: LEAT_END if the source has no files. */
static int read_storage(leat__doctor *d, bool shuffled, double seconds, double *cold, double *warm, size_t *n,
                        leat_error *err) {
    storage s = {0};
    const int threads = LEAT_CLAMP(d->now.stats.n_threads + d->now.stats.n_readers, 1, THREADS_MAX);
    const leat__source *source = leat__doctor_plan(d)->source;
    const bool own = source->class->opens && source->n_samples != UINT64_MAX;
    int rc = own ? pick_files(d, &s, err) : pick_shards(d, &s, shuffled, err);
    s.room = leat__alloc(LEAT_MEM_TOOL, (size_t)threads * sizeof *s.room);
    if (rc == 0 && !s.room) rc = leat__fail_memory(err, (size_t)threads * sizeof *s.room, "buffers");
    for (int i = 0; s.room && i < threads; i++) s.room[i].kind = LEAT_MEM_TOOL;
    if (rc == 0 && s.n == 0) rc = LEAT_END;
    if (rc == 0) forget_all(&s);
    if (rc == 0) rc = read_all(d, &s, threads, seconds, cold, err);
    if (rc == 0) rc = read_all(d, &s, threads, seconds, warm, err);
    *n = s.n;
    storage_free(&s, threads);
    return rc;
}

static int add_storage(leat__doctor *d, double seconds, leat_error *err) {
    const leat__plan *plan = leat__doctor_plan(d);
    bool shuffled = false;
    for (int i = 0; i < plan->order.n_verbs; i++)
        shuffled |= plan->order.verb[i].kind == LEAT_ORDER_SHUFFLE && !plan->order.verb[i].blocks;
    double cold = 0, warm = 0, ignored;
    size_t n = 0;
    char how[120];
    shuffled &= !plan->stream;
    const int rc = read_storage(d, shuffled, seconds, &cold, &warm, &n, err);
    if (rc == LEAT_END) return 0;
    LEAT_TRY(rc);
    const bool own = plan->source->class->opens != NULL;
    snprintf(how, sizeof how, "%s%zu %s read after asking the kernel to drop them",
             n == FILES_MAX ? "the first " : "", n,
             own        ? "files"
             : shuffled ? "pieces of a sample's size"
                        : "pieces of 1 MiB");
    add(d, "storage, cold", cold, how);
    snprintf(how, sizeof how, "the same again");
    /* A pipeline that has just read faster has shown what storage gives. */
    add(d, "storage, warm", LEAT_MAX(warm, d->work_s[LEAT_STAGE_READ] > 0 ? d->now.rate : 0), how);
    d->cold = d->cold_sequential = cold;
    if (!own && shuffled && cold < d->now.rate)
        return read_storage(d, false, seconds, &d->cold_sequential, &ignored, &n, err);
    return 0;
}

/* -------------------------------------------------------------------------------------------- memory */

typedef struct copying {
    uint8_t *from, *to;
    size_t part;
    uint64_t until_ns;
    atomic_uint_least64_t bytes;
} copying;

static int copy_part(void *user, uint64_t item, int worker, leat_error *err) {
    (void)worker, (void)err;
    copying *c = user;
    while (leat__now_ns() < c->until_ns) {
        memcpy(c->to + item * c->part, c->from + item * c->part, c->part);
        atomic_fetch_add(&c->bytes, c->part);
    }
    return 0;
}

static int add_memory(leat__doctor *d, double seconds, leat_error *err) {
    const int threads = LEAT_CLAMP(d->now.stats.n_threads, 1, THREADS_MAX);
    copying c = {.part = (size_t)16 << 20};
    const size_t all = c.part * (size_t)threads;
    const double each = (double)d->now.stats.bytes_out / (double)LEAT_MAX(d->now.stats.samples, 1);
    c.from = leat__alloc_pages(all);
    c.to = leat__alloc_pages(all);
    int rc = 0;
    if (c.from && c.to) {
        memset(c.from, 1, all);
        memset(c.to, 2, all);
        const uint64_t begin = leat__now_ns();
        c.until_ns = begin + (uint64_t)(seconds * 1e9);
        rc = leat__parallel(threads, (uint64_t)threads, copy_part, &c, err);
        const double took = (double)(leat__now_ns() - begin) * 1e-9,
                     rate = (double)atomic_load(&c.bytes) / took;
        char how[120];
        snprintf(how, sizeof how, "memcpy at %.1f GB/s, %.0f KB for each sample of a batch", rate / 1e9,
                 each / 1e3);
        if (rc == 0 && each > 0) add(d, "memory", rate / each, how);
    }
    leat__free_pages(c.from);
    leat__free_pages(c.to);
    return rc;
}

/* ----------------------------------------------------------------------------------------------- all */

/* A stage has its share of the time that the workers were busy, whatever else kept them from the cores. */
static void add_stages(leat__doctor *d) {
    const leat_stats *s = &d->now.stats;
    const double time = d->now.seconds * LEAT_MAX(s->n_threads, 1);
    const double busy = LEAT_CLAMP(1 - s->full_s / time, 0.01, 1.0);
    double total = 0;
    char how[120];
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) total += d->work_s[i];
    for (int i = LEAT_STAGE_PARSE; i < LEAT_STAGE_COUNT; i++) {
        if (!(d->work_s[i] > 0.001 * total)) continue;
        const double part = d->work_s[i] / total, one = d->work_s[i] * 1e6;
        snprintf(how, sizeof how, "%.0f %% of the work of %d thread%s, %.*f us for each sample", part * 100,
                 s->n_threads, s->n_threads == 1 ? "" : "s", one < 10 ? 2 : 0, one);
        add(d, leat_stage_name(i), d->now.rate / busy / part, how);
    }
}

/* Reader threads of a stream, each with a shard of its own. */
static void add_stream(leat__doctor *d) {
    const leat_stats *s = &d->now.stats;
    if (!leat__doctor_plan(d)->stream || !(s->readers_s > 0)) return;
    const int threads = LEAT_CLAMP(s->shards, 1, LEAT_MAX(s->n_readers, 1));
    const double one = s->readers_s / (double)LEAT_MAX(s->samples, 1);
    char how[120];
    snprintf(how, sizeof how, "records are read, inflated and filtered by %d thread%s, %.1f us for each",
             threads, threads == 1 ? "" : "s", one * 1e6);
    /* A pipeline that has just read faster has shown what its stream gives. */
    add(d, "stream", LEAT_MAX(threads / one, d->now.rate), how);
}

int leat__doctor_ceilings(leat__doctor *d, leat_error *err) {
    const double seconds = LEAT_MAX(d->doctor.seconds / 6, 0.1);
    LEAT_TRY(leat__doctor_progress(d, "reading files", 0, 2, err));
    LEAT_TRY(add_storage(d, seconds, err));
    add_stream(d);
    add_stages(d);
    LEAT_TRY(leat__doctor_progress(d, "copying memory", 1, 2, err));
    LEAT_TRY(add_memory(d, 0.1, err));
    if (d->consumer.step_ns > 0) {
        char how[120];
        const double batch = (double)d->now.stats.samples / (double)LEAT_MAX(d->now.stats.batches, 1);
        snprintf(how, sizeof how, "a batch of %.0f takes %g ms", batch, d->doctor.step_ms);
        d->consumer_rate = batch / (d->doctor.step_ms / 1e3);
        add(d, "consumer", d->consumer_rate, how);
    }
    return 0;
}
