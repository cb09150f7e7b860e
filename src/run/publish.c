/* SPDX-License-Identifier: Apache-2.0 */
#include "run/publish.h"

#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/runtime/process.h"
#include "run/pipeline.h"

enum { WINDOW = 5, RETRY = 30 }; /* periods: what `recent` covers; between attempts to make a file */
static const uint64_t period_ns = 1000000000, close_ns = 200000000;
static const double fresh_s = 5, stale_s = 60;

typedef struct snapshot {
    uint64_t at_ns;
    leat_stats stats;
} snapshot;

struct leat__publisher {
    pthread_t thread;
    leat__mutex mutex; /* guards what follows */
    leat__cond wake, news;
    leat_pipeline *pipeline; /* NULL: closed; what is left is the thread's own */
    bool stop, done;
    /* Only the caller's of next: */
    uint64_t start_ns; /* when the thread is to be started, UINT64_MAX: it was */
    bool started;
    /* Only the thread's: */
    leat__judge_fn *judge;
    leat__runtime_file file;
    uint64_t id, tick;
    int cores;             /* that this process may use */
    uint64_t retry;        /* number of the report that tries again to make a file */
    snapshot past[WINDOW]; /* a ring, by number of the report */
    leat__top_record record;
    uint8_t bytes[LEAT_TOP_RECORD_BYTES];
};

static void free_publisher(leat__publisher *p) {
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->news);
    leat__mutex_destroy(&p->mutex);
    leat__free(p);
}

leat__publisher *leat__publisher_new(leat_pipeline *pipeline) {
    if (pipeline->config.top < 0 || pipeline->config.synchronous || leat__runtime_off()) return NULL;
    leat__publisher *p = leat__alloc(LEAT_MEM_PLAN, sizeof *p);
    if (!p) return NULL;
    if (leat__mutex_init(&p->mutex, LEAT_LOCK_PUBLISH, NULL) < 0 || leat__cond_init(&p->wake, NULL) < 0 ||
        leat__cond_init(&p->news, NULL) < 0) {
        leat__free(p);
        return NULL;
    }
    p->pipeline = pipeline;
    p->id = pipeline->opened_ns;
    p->start_ns = pipeline->opened_ns + period_ns;
    p->file = (leat__runtime_file){.folder = -1, .fd = -1};
    return p;
}

void leat__publisher_judge(leat__publisher *p, leat__judge_fn *judge) {
    if (p) p->judge = judge;
}

bool leat__publisher_due(const leat__publisher *p, uint64_t now_ns) {
    return p && now_ns >= p->start_ns;
}

/* ------------------------------------------------------------------------------------------- content */

/* "folder train": the class of a source, and the last part of its path. Other parts of the path stay private. */
static size_t name_source(const leat__source *source, char *out, size_t cap) {
    const char *home = source->home ? source->home : "", *slash = strrchr(home, '/');
    const char *base = slash ? slash + 1 : home;
    char shown[48];
    leat__printable(shown, sizeof shown, base, strlen(base));
    const int n = snprintf(out, cap, "%s%s%s", source->class->name, *shown ? " " : "", shown);
    return LEAT_MIN((size_t)LEAT_MAX(n, 0), cap - 1);
}

static void name_data(const leat__source *source, char *out, size_t cap) {
    size_t n = 0;
    if (source->n_parts == 0) {
        name_source(source, out, cap);
        return;
    }
    for (int i = 0; i < source->n_parts && n + 4 < cap; i++) {
        if (i > 0) n += (size_t)snprintf(out + n, cap - n, " + ");
        const leat__source *leaf = source->part[i];
        while (leaf->n_parts > 0) leaf = leaf->part[0];
        n += name_source(leaf, out + n, cap - n);
    }
}

/* What never changes. The path is in front of the last colon of a title, if it is there at all. */
static void describe(leat__publisher *p) {
    const leat__source *source = p->pipeline->plan.source;
    leat_running *r = &p->record.running;
    const char *colon = strrchr(source->title, ':');
    const char *what = colon                        ? colon + 1 + strspn(colon + 1, " ")
                       : strchr(source->title, '/') ? ""
                                                    : source->title;
    name_data(source, r->name, sizeof r->name);
    if (source->n_parts == 0) leat__printable(r->what, sizeof r->what, what, strlen(what));
    r->pid = p->pipeline->owner;
    r->id = p->id;
    p->record.start = leat__process_start(r->pid);
    p->record.place = leat__process_place();
    leat__process_name(r->pid, r->program, sizeof r->program);
    p->cores = leat__cpu_count();
}

/* With the mutex held, and the pipeline there. */
static void look(leat__publisher *p) {
    leat_pipeline *pipeline = p->pipeline;
    leat_running *r = &p->record.running;
    if (p->tick == 0) describe(p);
    const uint64_t now = leat__now_ns();
    leat_pipeline_stats(pipeline, &r->total);
    const bool locked = leat__pipeline_lock(pipeline);
    const leat__cursor at = pipeline->handed;
    const uint64_t n = leat__order_length(&pipeline->plan.order);
    leat__pipeline_unlock(pipeline, locked);
    leat__counters_tuning(pipeline, r->tuning, sizeof r->tuning);
    r->epoch = at.epoch;
    r->position = at.position;
    r->n_samples = n > INT64_MAX ? -1 : (int64_t)n;
    r->open_s = (double)(now - pipeline->opened_ns) * 1e-9;
    /* The oldest look is replaced by this one. The first report covers everything since the pipeline was opened. */
    snapshot *oldest = &p->past[p->tick < WINDOW ? 0 : p->tick % WINDOW];
    if (p->tick == 0) *oldest = (snapshot){.at_ns = pipeline->opened_ns};
    r->recent = leat__stats_since(&r->total, &oldest->stats);
    r->recent_s = (double)(now - oldest->at_ns) * 1e-9;
    p->past[p->tick % WINDOW] = (snapshot){now, r->total};
    r->sequence = p->tick++;
    if (p->judge) p->judge(pipeline, p->cores, r);
}

/* -------------------------------------------------------------------------------------------- thread */

/* A process of this machine and container is known by its number and start time, since numbers are used again. Of others the
 * age of the report must tell. */
int leat__published_check(const leat__runtime_entry *entry, leat__top_record *record, leat__published *is) {
    *is = LEAT_PUBLISHED_DAMAGED;
    if (!leat__top_record_read(entry->bytes, entry->n, record) || record->running.pid != entry->pid) {
        if (entry->again && entry->age_s < fresh_s) return LEAT_RUNTIME_AGAIN;
        return entry->age_s > stale_s && leat__process_start(entry->pid) == 0 ? LEAT_RUNTIME_REMOVE
                                                                              : LEAT_RUNTIME_KEEP;
    }
    const bool here = record->place == leat__process_place();
    const bool runs = here ? leat__process_start(entry->pid) == record->start : entry->age_s < fresh_s;
    *is = runs ? LEAT_PUBLISHED_RUNS : LEAT_PUBLISHED_ENDED;
    return !runs && (here || entry->age_s > stale_s) ? LEAT_RUNTIME_REMOVE : LEAT_RUNTIME_KEEP;
}

static int sweep(void *user, const leat__runtime_entry *entry) {
    leat__top_record record;
    leat__published is;
    (void)user;
    return leat__published_check(entry, &record, &is);
}

/* Removes what processes that have ended left behind. */
static void sweep_folders(void) {
    char path[PATH_MAX];
    uint64_t foreign = 0, removed = 0;
    for (int i = 0; leat__runtime_path(i, path, sizeof path); i++)
        leat__runtime_list(path, sweep, NULL, &foreign, &removed, NULL);
}

/* Without any lock: the folder may be on a disk that does not answer. */
static void publish(leat__publisher *p) {
    const uint64_t number = p->record.running.sequence;
    if (number == 0) sweep_folders();
    if (p->file.fd < 0 && number >= p->retry && !leat__runtime_create(&p->file, p->record.running.pid, p->id))
        p->retry = number + RETRY;
    p->record.written_ns = leat__wall_ns();
    leat__top_record_write(p->bytes, &p->record);
    leat__runtime_write(&p->file, p->bytes, sizeof p->bytes);
}

static void *publisher_main(void *argument) {
    leat__publisher *p = argument;
    leat__lock(&p->mutex);
    while (!p->stop) {
        look(p);
        leat__unlock(&p->mutex);
        publish(p);
        leat__lock(&p->mutex);
        const uint64_t until = leat__now_ns() + period_ns;
        for (uint64_t now; !p->stop && (now = leat__now_ns()) < until;)
            leat__cond_wait_for(&p->wake, &p->mutex, until - now);
    }
    leat__unlock(&p->mutex);
    leat__runtime_remove(&p->file);
    leat__lock(&p->mutex);
    p->done = true;
    const bool left_behind = !p->pipeline;
    pthread_cond_broadcast(&p->news);
    leat__unlock(&p->mutex);
    if (left_behind) free_publisher(p);
    return NULL;
}

void leat__publisher_start(leat__publisher *p) {
    if (!p || p->start_ns == UINT64_MAX) return;
    p->start_ns = UINT64_MAX;
    p->started = leat__thread_start(&p->thread, publisher_main, p, "leat-top", NULL) == 0;
}

void leat__publisher_stop(leat__publisher **handle) {
    leat__publisher *p = *handle;
    *handle = NULL;
    if (!p) return;
    if (!p->started) {
        free_publisher(p);
        return;
    }
    const uint64_t until = leat__now_ns() + close_ns;
    leat__lock(&p->mutex);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    for (uint64_t now; !p->done && (now = leat__now_ns()) < until;)
        leat__cond_wait_for(&p->news, &p->mutex, until - now);
    const bool done = p->done;
    if (!done) {
        p->pipeline = NULL;
        pthread_detach(p->thread);
    }
    leat__unlock(&p->mutex); /* if it is not done, everything is the thread's now */
    if (!done) return;
    pthread_join(p->thread, NULL);
    free_publisher(p);
}
