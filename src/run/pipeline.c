/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, handing over, closing. */
#include "run/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "plan/planner.h"

static const uint64_t held_patience_ns = UINT64_C(5000000000);
static const uint64_t waiting_ns = UINT64_C(50000000);

static void say(const leat_pipeline *feed, int level, const char *message) {
    if (feed->config.log && *message) feed->config.log(feed->config.user, level, message);
}

bool leat__pipeline_lock(const leat_pipeline *feed) {
    if (feed->owner != getpid()) return false;
    leat__lock(&feed->ring->mutex);
    return true;
}

void leat__pipeline_unlock(const leat_pipeline *feed, bool locked) {
    if (locked) leat__unlock(&feed->ring->mutex);
}

int leat__pipeline_fail_forked(leat_error *err) {
    return leat__fail(err, LEAT_ERR_FORKED,
                      "this pipeline was opened before fork(): open it in the process that uses it");
}

static int count_workers(const leat_config *config, int local) {
    if (config->synchronous) return 1;
    return LEAT_CLAMP(config->n_threads > 0 ? config->n_threads : leat__cpu_share(local), 1,
                      LEAT_WORKERS_MAX);
}

static void free_pipeline(leat_pipeline *feed) {
    for (int i = 0; i < LEAT_MAX(feed->n_workers, 0) && feed->worker; i++)
        leat__tools_free(&feed->worker[i].tools);
    leat__single_free(feed);
    leat__ring_close(&feed->ring);
    leat__stream_close(&feed->stream);
    leat__free(feed->handed_mark);
    leat__ahead_free(&feed->ahead);
    leat__plan_free(&feed->plan);
    leat__free(feed->worker);
    leat__free(feed->bad);
    leat__mutex_destroy(&feed->large);
    leat__account_close(&feed->account);
    leat__free(feed);
}

/* A reader thread has what a batch waits for. */
static void wake_workers(void *user) {
    leat__ring *ring = user;
    leat__lock(&ring->mutex);
    pthread_cond_broadcast(&ring->work);
    leat__unlock(&ring->mutex);
}

static int open_stream(leat_pipeline *feed, leat_error *err) {
    const leat__stream_options options = {.n_epochs = feed->n_epochs,
                                          .n_readers = feed->n_workers,
                                          .synchronous = feed->config.synchronous != 0,
                                          .wake = wake_workers,
                                          .user = feed->ring};
    feed->handed_mark = leat__mark_new();
    if (!feed->handed_mark) return leat__fail_memory(err, sizeof(uint64_t), "a stream");
    return leat__stream_open(&feed->stream, &feed->plan, &options, err);
}

/* A pipeline without threads keeps its positions in memory. */
static void start_notes(leat_pipeline *feed) {
    leat_error why;
    if (feed->plan.notes && !feed->config.synchronous && leat__notes_start(feed->plan.notes, &why) < 0)
        say(feed, LEAT_LOG_WARNING, why.message);
}

static int open_parts(leat_pipeline *feed, const leat_spec *spec, leat_error *err) {
    const leat_config *config = &feed->config;
    LEAT_TRY(leat__plan_build(&feed->plan, spec, config, err));
    say(feed, LEAT_LOG_INFO, feed->plan.source->title);
    say(feed, LEAT_LOG_WARNING, feed->plan.source->warning);
    feed->n_workers = count_workers(config, feed->plan.local);
    const uint64_t epochs = config->n_epochs < 0 ? LEAT_ENDLESS : (uint64_t)LEAT_MAX(config->n_epochs, 1);
    if (epochs == LEAT_ENDLESS || feed->plan.turns < 0 ||
        __builtin_mul_overflow(epochs, (uint64_t)feed->plan.turns, &feed->n_epochs))
        feed->n_epochs = LEAT_ENDLESS;
    /* Reading the clock must stay below half a per cent: short tasks are timed rarely. */
    const char *stall = getenv("LEAT_STALL");
    feed->stall_us = stall ? strtoull(stall, NULL, 10) : 0;
    feed->timed_mask = feed->plan.grain == 1 ? 0 : 15;
    feed->judged_mask = LEAT_MAX(feed->timed_mask, (uint64_t)3);
    feed->worker = leat__alloc(LEAT_MEM_WORKER, (size_t)feed->n_workers * sizeof *feed->worker);
    feed->bad = leat__alloc(LEAT_MEM_PLAN, LEAT_BAD_MAX * sizeof *feed->bad);
    if (!feed->worker || !feed->bad)
        return leat__fail_memory(err, (size_t)feed->n_workers * sizeof *feed->worker, "workers");
    LEAT_TRY(leat__ring_new(&feed->ring, &feed->plan, config, err));
    if (feed->plan.stream) LEAT_TRY(open_stream(feed, err));
    LEAT_TRY(leat__ahead_new(&feed->ahead, feed, err));
    start_notes(feed);
    return leat__sched_start(feed, err);
}

int leat__pipeline_open(leat_pipeline **out, const leat_spec *spec, const leat_config *config,
                        leat_error *err) {
    *out = NULL;
    leat__account *account = leat__account_new(), *before = leat__account_use(account);
    leat_pipeline *feed = account ? leat__alloc(LEAT_MEM_PLAN, sizeof *feed) : NULL;
    if (!feed) {
        leat__account_use(before);
        leat__account_close(&account);
        return leat__fail_memory(err, sizeof *feed, "a pipeline");
    }
    feed->account = account;
    feed->opened_ns = leat__now_ns();
    feed->owner = getpid();
    if (config) feed->config = *config;
    int rc = leat__mutex_init(&feed->large, LEAT_LOCK_LARGE, err);
    if (rc == 0) rc = open_parts(feed, spec, err);
    leat__account_use(before);
    if (rc < 0) {
        if (!feed->ring || leat__sched_stop(feed)) free_pipeline(feed);
        return rc;
    }
    *out = feed;
    return 0;
}

void leat__pipeline_close(leat_pipeline **handle) {
    leat_pipeline *feed = *handle;
    *handle = NULL;
    if (!feed) return;
    /* In a forked child there are no workers to stop, and the locks may be held for ever: leave everything. */
    if (feed->owner != getpid()) return;
    /* A worker that is stuck in the operating system still uses this memory: it stays. */
    if (leat__sched_stop(feed)) free_pipeline(feed);
    else if (feed->plan.notes) leat__notes_leave(feed->plan.notes);
}

/* --------------------------------------------------------------------------------------------- next */

static leat__slot *due_slot(const leat_pipeline *feed) {
    for (int i = 0; i < feed->ring->n_used; i++) {
        leat__slot *slot = feed->ring->slot[i];
        if (slot->state == LEAT_SLOT_READY && slot->sequence == feed->due) return slot;
    }
    return NULL;
}

static void keep_bad(leat_pipeline *feed, leat__slot *slot) {
    feed->bad_samples += (uint64_t)slot->n_bad;
    const int n = LEAT_MIN(slot->n_bad, LEAT_SLOT_BAD_MAX);
    for (int k = 0, last = -1; k < n && feed->n_bad < LEAT_BAD_MAX; k++) { /* in the order of places */
        int best = -1;
        for (int i = 0; i < n; i++)
            if (slot->bad[i].place > last && (best < 0 || slot->bad[i].place < slot->bad[best].place))
                best = i;
        last = slot->bad[best].place;
        feed->bad[feed->n_bad++] = slot->bad[best].bad;
    }
}

/* Adds the bad samples of the slot to those of its epoch; fails when there are more than max_bad allows, and names the
 * first ones. */
static int count_bad(leat_pipeline *feed, const leat__slot *slot) {
    if (feed->bad_epoch != slot->begin.epoch) {
        feed->bad_epoch = slot->begin.epoch;
        feed->bad_of_epoch = 0;
    }
    feed->bad_of_epoch += (uint64_t)slot->n_bad;
    if (feed->plan.max_bad == 0 || feed->bad_of_epoch <= (uint64_t)feed->plan.max_bad) return 0;
    char named[700] = "";
    size_t n = 0;
    for (uint64_t i = 0; i < feed->n_bad && n < sizeof named - 220; i++)
        if (feed->bad[i].epoch == slot->begin.epoch)
            n += (size_t)snprintf(named + n, sizeof named - n, "%s%.200s", n ? "; " : "",
                                  feed->bad[i].message);
    return leat__fail(&feed->failed, LEAT_ERR_LIMIT,
                      "%" PRIu64 " samples of epoch %" PRIu64 " were bad, max_bad allows %" PRId64 ": %s",
                      feed->bad_of_epoch, slot->begin.epoch, feed->plan.max_bad, named);
}

static void use_more_slots(leat_pipeline *feed) {
    if (feed->plan.prefetch || feed->config.n_slots || feed->config.tune < 0) return;
    uint64_t full_ns = 0;
    for (int i = 0; i < feed->n_workers; i++) full_ns += feed->worker[i].full_ns;
    const int used = leat__tune_slots(&feed->tuner, leat__now_ns(), feed->wait_ns, full_ns, feed->batches,
                                      feed->ring->n_used, feed->ring->n_slots);
    if (used == feed->ring->n_used) return;
    feed->ring->n_used = used;
    pthread_cond_broadcast(&feed->ring->work);
}

/* Batches that the caller could hold beside those it holds now: slots that exist or that the budget still allows. */
static int slots_left(const leat_pipeline *feed) {
    const leat__ring *ring = feed->ring;
    const size_t allowed = LEAT_MIN(feed->plan.slots_budget / ring->slot_bytes, (size_t)LEAT_SLOTS_MAX);
    return LEAT_MAX(LEAT_MAX((int)allowed, ring->n_slots) - ring->n_leased, 0);
}

static void hand_over(leat_pipeline *feed, leat__slot *slot, leat_batch *batch) {
    const leat__ring *ring = feed->ring;
    leat__slot_lease(slot, batch);
    batch->n_left = slots_left(feed);
    feed->samples += (uint64_t)slot->n_valid;
    feed->batches++;
    for (int i = 0; i < ring->n_outputs; i++)
        feed->bytes_out += (uint64_t)slot->tensor[i].shape[0] * (uint64_t)slot->tensor[i].stride[0];
    if (feed->first_ns == 0) feed->first_ns = leat__now_ns();
    use_more_slots(feed);
    if (feed->ahead) leat__ahead_tune(feed->ahead);
}

/* Takes the batch that is due off the ring: 1 = handed over, 0 = it was empty, < 0 = it failed. */
static int take_due(leat_pipeline *feed, leat__slot *slot, leat_batch *batch) {
    if (slot->error_place >= 0) {
        feed->failed = slot->error;
        keep_bad(feed, slot);
        return slot->error.code;
    }
    keep_bad(feed, slot);
    LEAT_TRY(count_bad(feed, slot));
    feed->due++;
    feed->handed = slot->end;
    if (feed->stream) leat__mark_copy(feed->handed_mark, slot->mark);
    if (slot->n > 0) {
        hand_over(feed, slot, batch);
        return 1;
    }
    slot->state = LEAT_SLOT_FREE; /* every sample of it was skipped */
    pthread_cond_broadcast(&feed->ring->work);
    return 0;
}

static bool all_held(const leat_pipeline *feed) {
    for (int i = 0; i < feed->ring->n_used; i++)
        if (feed->ring->slot[i]->state != LEAT_SLOT_LEASED) return false;
    return true;
}

/* The consumer holds every batch: one more if the budget allows; otherwise it has some seconds to give one back. */
static int add_held_slot(leat_pipeline *feed, uint64_t held_since, leat_error *err) {
    leat__ring *ring = feed->ring;
    if (ring->n_used == ring->n_slots &&
        (size_t)(ring->n_slots + 1) <= feed->plan.slots_budget / ring->slot_bytes) {
        leat__unlock(&ring->mutex);
        leat__ring_add(ring, NULL);
        leat__lock(&ring->mutex);
        if (!all_held(feed)) return 0; /* one has been released meanwhile */
    }
    if (ring->n_used < ring->n_slots) {
        ring->n_used++;
        feed->slots_added++;
        if (!feed->warned_slots) {
            feed->warned_slots = true;
            char text[200];
            snprintf(
                text, sizeof text,
                "all %d batches are held by the program: another one was added; release batches after use",
                ring->n_used - 1);
            leat__unlock(&ring->mutex);
            say(feed, LEAT_LOG_WARNING, text);
            leat__lock(&ring->mutex);
        }
        pthread_cond_broadcast(&ring->work);
        return 0;
    }
    if (leat__now_ns() - held_since < held_patience_ns) return 0;
    return leat__fail(
        err, LEAT_ERR_SLOTS_HELD,
        "all %d batches are held by the program: release one, or raise memory_max_bytes (%zu MB each)",
        ring->n_used, ring->slot_bytes >> 20);
}

/* Waits until something may have changed; the caller of a synchronous pipeline does the work itself. */
static void wait_or_work(leat_pipeline *feed) {
    leat__ring *ring = feed->ring;
    if (!feed->config.synchronous) {
        /* In slices: a signal handler that cancels cannot wake us. */
        leat__cond_wait_for(&ring->progress, &ring->mutex, 50000000);
    } else if (!leat__sched_step(feed, &feed->worker[0])) {
        leat__unlock(&ring->mutex);
        const bool read = feed->stream && leat__stream_read(feed->stream);
        leat__lock(&ring->mutex);
        if (!read) leat__cond_wait_for(&ring->progress, &ring->mutex, 1000000); /* all batches are held */
    }
}

/* Asks the caller now and then whether it still wants to wait; without the mutex, since it may take long to answer. */
static int ask_caller(leat_pipeline *feed, uint64_t *asked, leat_error *err) {
    if (!feed->config.waiting || leat__now_ns() - *asked < waiting_ns) return 0;
    leat__unlock(&feed->ring->mutex);
    const int stop = feed->config.waiting(feed->config.user);
    leat__lock(&feed->ring->mutex);
    *asked = leat__now_ns();
    return stop ? leat__fail(err, LEAT_ERR_CANCELLED, "the caller stopped waiting for a batch") : 0;
}

static int next_locked(leat_pipeline *feed, leat_batch *batch, leat_error *err) {
    uint64_t held_since = 0, asked = leat__now_ns();
    for (;;) {
        if (atomic_load(&feed->cancelled))
            return leat__fail(err, LEAT_ERR_CANCELLED, "the pipeline was cancelled");
        if (feed->failed.code) {
            if (err) *err = feed->failed;
            return feed->failed.code;
        }
        leat__slot *slot = due_slot(feed);
        if (slot) {
            const int rc = take_due(feed, slot, batch);
            if (rc == 1) return 0;
            continue;
        }
        if (feed->stream_failed.code && feed->due == feed->opened) {
            feed->failed = feed->stream_failed;
            continue;
        }
        if (leat__sched_finished(feed) && feed->due == feed->opened) return LEAT_END;
        if (all_held(feed)) {
            if (held_since == 0) held_since = leat__now_ns();
            LEAT_TRY(add_held_slot(feed, held_since, err));
        }
        wait_or_work(feed);
        LEAT_TRY(ask_caller(feed, &asked, err));
    }
}

int leat__pipeline_next(leat_pipeline *feed, leat_batch *batch, leat_error *err) {
    *batch = (leat_batch){0};
    if (feed->owner != getpid()) return leat__pipeline_fail_forked(err);
    const uint64_t began = leat__now_ns();
    leat__account *before = leat__account_use(feed->account);
    leat__lock(&feed->ring->mutex);
    const int rc = next_locked(feed, batch, err);
    feed->wait_ns += leat__now_ns() - began;
    leat__unlock(&feed->ring->mutex);
    leat__account_use(before);
    return rc;
}

/* Also from a signal handler: no lock, no wake-up; a waiting next looks every 50 ms. */
void leat__pipeline_cancel(leat_pipeline *feed) {
    atomic_store(&feed->cancelled, 1);
}

/* -------------------------------------------------------------------------------------------- stats */

void leat__pipeline_stats(leat_pipeline *feed, leat_stats *out) {
    *out = (leat_stats){.n_threads = feed->n_workers, .memory_max_bytes = feed->plan.budget};
    out->memory_bytes = leat__account_bytes(feed->account);
    if (feed->plan.cache) out->cache_bytes = leat__cache_bytes(feed->plan.cache);
    const bool locked = leat__pipeline_lock(feed);
    out->samples = feed->samples;
    out->batches = feed->batches;
    out->bytes_out = feed->bytes_out;
    out->bad_samples = feed->bad_samples;
    out->slots = (uint64_t)feed->ring->n_used;
    out->slots_added = feed->slots_added;
    out->grown = feed->grown;
    out->wait_s = (double)feed->wait_ns * 1e-9;
    out->first_batch_s = feed->first_ns ? (double)(feed->first_ns - feed->opened_ns) * 1e-9 : 0;
    if (feed->stream && locked) leat__stream_stats(feed->stream, out);
    if (feed->ahead) {
        const leat__ahead_facts facts = leat__ahead_facts_of(feed->ahead);
        out->bytes_read = facts.bytes_read;
        out->n_readers = facts.n_active;
        out->read_ahead = facts.taken;
    }
    for (int i = 0; i < feed->n_workers; i++) {
        const leat__worker *worker = &feed->worker[i];
        out->bytes_read += worker->bytes_read;
        out->cache_hits += worker->cache_hits;
        out->cache_misses += worker->cache_misses;
        out->cache_bad += worker->cache_bad;
        out->full_s += (double)worker->full_ns * 1e-9;
        out->cpu_s += (double)worker->cpu_ns * 1e-9;
        /* Timed samples stand for all. */
        const double scale =
            worker->timed_samples ? (double)worker->samples / (double)worker->timed_samples : 0;
        for (int k = 0; k < LEAT_STAGE_COUNT; k++)
            out->stage_s[k] += (double)worker->stage_ns[k] * 1e-9 * scale;
    }
    leat__pipeline_unlock(feed, locked);
}
