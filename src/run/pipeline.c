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
static const uint64_t tune_every_ns =
    UINT64_C(20000000); /* adding up the counters of all workers takes time too */

static void say(const leat_pipeline *pipeline, int level, const char *message) {
    if (pipeline->config.log && *message) pipeline->config.log(pipeline->config.user, level, message);
}

bool leat__pipeline_lock(const leat_pipeline *pipeline) {
    if (pipeline->owner != getpid()) return false;
    leat__lock(&pipeline->ring->mutex);
    return true;
}

void leat__pipeline_unlock(const leat_pipeline *pipeline, bool locked) {
    if (locked) leat__unlock(&pipeline->ring->mutex);
}

int leat__pipeline_fail_forked(leat_error *err) {
    return leat__fail(err, LEAT_ERR_FORKED,
                      "this pipeline was opened before fork(): open it in the process that uses it");
}

static void free_pipeline(leat_pipeline *pipeline) {
    for (int i = 0; i < LEAT_MAX(pipeline->n_workers, 0) && pipeline->worker; i++)
        leat__tools_free(&pipeline->worker[i].tools);
    leat__single_free(pipeline);
    leat__ring_close(&pipeline->ring);
    leat__stream_close(&pipeline->stream);
    leat__free(pipeline->handed_mark);
    leat__read_ahead_free(&pipeline->read_ahead);
    leat__trace_free(&pipeline->trace);
    leat__plan_free(&pipeline->plan);
    leat__free(pipeline->worker);
    leat__free(pipeline->bad);
    leat__mutex_destroy(&pipeline->large);
    leat__account_close(&pipeline->account);
    leat__free(pipeline);
}

/* A reader thread has what a batch waits for. */
static void wake_workers(void *user) {
    leat__ring *ring = ((leat_pipeline *)user)->ring;
    leat__lock(&ring->mutex);
    pthread_cond_broadcast(&ring->work);
    leat__unlock(&ring->mutex);
}

static void on_reading(void *user, int reader, bool begins) {
    leat__trace *trace = ((leat_pipeline *)user)->trace;
    if (begins) leat__trace_reading(trace, reader);
    else leat__trace_read(trace, reader, LEAT_NO_SAMPLE);
}

static int open_stream(leat_pipeline *pipeline, leat_error *err) {
    const leat__stream_options options = {.n_epochs = pipeline->n_epochs,
                                          .n_readers = pipeline->plan.shards ? pipeline->plan.shards
                                                                             : pipeline->n_workers,
                                          .synchronous = pipeline->config.synchronous != 0,
                                          .wake = wake_workers,
                                          .reading = pipeline->trace ? on_reading : NULL,
                                          .user = pipeline};
    pipeline->handed_mark = leat__mark_new();
    if (!pipeline->handed_mark) return leat__fail_memory(err, sizeof(uint64_t), "a stream");
    return leat__stream_open(&pipeline->stream, &pipeline->plan, &options, err);
}

/* A pipeline without threads keeps its positions in memory. */
static void start_notes(leat_pipeline *pipeline) {
    leat_error why;
    if (pipeline->plan.jpeg_store && !pipeline->config.synchronous &&
        leat__jpeg_store_start(pipeline->plan.jpeg_store, &why) < 0)
        say(pipeline, LEAT_LOG_WARNING, why.message);
}

static int open_parts(leat_pipeline *pipeline, const leat_spec *spec, leat_error *err) {
    const leat_config *config = &pipeline->config;
    LEAT_TRY(leat__plan_build(&pipeline->plan, spec, config, err));
    say(pipeline, LEAT_LOG_INFO, pipeline->plan.source->title);
    say(pipeline, LEAT_LOG_WARNING, pipeline->plan.source->warning);
    pipeline->n_workers = config->synchronous ? 1 : LEAT_MIN(pipeline->plan.n_threads, LEAT_WORKERS_MAX);
    const uint64_t epochs = config->n_epochs < 0 ? LEAT_ENDLESS : (uint64_t)LEAT_MAX(config->n_epochs, 1);
    if (epochs == LEAT_ENDLESS || pipeline->plan.repeats < 0 ||
        __builtin_mul_overflow(epochs, (uint64_t)pipeline->plan.repeats, &pipeline->n_epochs))
        pipeline->n_epochs = LEAT_ENDLESS;
    LEAT_TRY(leat__steps_open(pipeline, err));
    const char *stall = getenv("LEAT_STALL");
    pipeline->stall_us = stall ? strtoull(stall, NULL, 10) : 0;
    pipeline->clock_ns = leat__clock_cost_ns();
    pipeline->worker = leat__alloc(LEAT_MEM_WORKER, (size_t)pipeline->n_workers * sizeof *pipeline->worker);
    pipeline->bad = leat__alloc(LEAT_MEM_PLAN, LEAT_BAD_MAX * sizeof *pipeline->bad);
    if (!pipeline->worker || !pipeline->bad)
        return leat__fail_memory(err, (size_t)pipeline->n_workers * sizeof *pipeline->worker, "workers");
    if (config->trace_events)
        LEAT_TRY(leat__trace_new(&pipeline->trace, pipeline->n_workers, config->trace_events, err));
    LEAT_TRY(leat__ring_new(&pipeline->ring, &pipeline->plan, config, err));
    if (pipeline->plan.stream) LEAT_TRY(open_stream(pipeline, err));
    LEAT_TRY(leat__read_ahead_new(&pipeline->read_ahead, pipeline, err));
    start_notes(pipeline);
    return leat__sched_start(pipeline, err);
}

int leat__pipeline_open(leat_pipeline **out, const leat_spec *spec, const leat_config *config,
                        leat_error *err) {
    *out = NULL;
    leat__account *account = leat__account_new(), *before = leat__account_use(account);
    leat_pipeline *pipeline = account ? leat__alloc(LEAT_MEM_PLAN, sizeof *pipeline) : NULL;
    if (!pipeline) {
        leat__account_use(before);
        leat__account_close(&account);
        return leat__fail_memory(err, sizeof *pipeline, "a pipeline");
    }
    pipeline->account = account;
    pipeline->opened_ns = leat__now_ns();
    pipeline->owner = getpid();
    if (config) pipeline->config = *config;
    int rc = leat__mutex_init(&pipeline->large, LEAT_LOCK_LARGE, err);
    if (rc == 0) rc = open_parts(pipeline, spec, err);
    leat__account_use(before);
    if (rc < 0) {
        if (!pipeline->ring || leat__sched_stop(pipeline)) free_pipeline(pipeline);
        return rc;
    }
    before = leat__account_use(account);
    pipeline->publisher = leat__publisher_new(pipeline);
    leat__account_use(before);
    *out = pipeline;
    return 0;
}

void leat__pipeline_close(leat_pipeline **handle) {
    leat_pipeline *pipeline = *handle;
    *handle = NULL;
    if (!pipeline) return;
    /* In a forked child there are no workers to stop, and the locks may be held for ever: leave everything. */
    if (pipeline->owner != getpid()) return;
    leat__publisher_stop(&pipeline->publisher);
    /* A worker that is stuck in the operating system still uses this memory: it stays. */
    if (leat__sched_stop(pipeline)) free_pipeline(pipeline);
    else if (pipeline->plan.jpeg_store) leat__jpeg_store_leave(pipeline->plan.jpeg_store);
}

/* --------------------------------------------------------------------------------------------- next */

static leat__slot *due_slot(const leat_pipeline *pipeline) {
    for (int i = 0; i < pipeline->ring->n_used; i++) {
        leat__slot *slot = pipeline->ring->slot[i];
        if (slot->state == LEAT_SLOT_READY && slot->sequence == pipeline->due) return slot;
    }
    return NULL;
}

static void keep_bad(leat_pipeline *pipeline, leat__slot *slot) {
    pipeline->bad_samples += (uint64_t)slot->n_bad;
    const int n = LEAT_MIN(slot->n_bad, LEAT_SLOT_BAD_MAX);
    for (int k = 0, last = -1; k < n && pipeline->n_bad < LEAT_BAD_MAX; k++) { /* in the order of places */
        int best = -1;
        for (int i = 0; i < n; i++)
            if (slot->bad[i].place > last && (best < 0 || slot->bad[i].place < slot->bad[best].place))
                best = i;
        last = slot->bad[best].place;
        pipeline->bad[pipeline->n_bad++] = slot->bad[best].bad;
    }
}

/* Adds the bad samples of the slot to those of its epoch; fails when there are more than max_bad allows, and names the
 * first ones. */
static int count_bad(leat_pipeline *pipeline, const leat__slot *slot) {
    if (pipeline->bad_epoch != slot->begin.epoch) {
        pipeline->bad_epoch = slot->begin.epoch;
        pipeline->bad_of_epoch = 0;
    }
    pipeline->bad_of_epoch += (uint64_t)slot->n_bad;
    if (pipeline->plan.max_bad == 0 || pipeline->bad_of_epoch <= (uint64_t)pipeline->plan.max_bad) return 0;
    char named[700] = "";
    size_t n = 0;
    for (uint64_t i = 0; i < pipeline->n_bad && n < sizeof named - 220; i++)
        if (pipeline->bad[i].epoch == slot->begin.epoch)
            n += (size_t)snprintf(named + n, sizeof named - n, "%s%.200s", n ? "; " : "",
                                  pipeline->bad[i].message);
    return leat__fail(&pipeline->failed, LEAT_ERR_LIMIT,
                      "%" PRIu64 " samples of epoch %" PRIu64 " were bad, max_bad allows %" PRId64 ": %s",
                      pipeline->bad_of_epoch, slot->begin.epoch, pipeline->plan.max_bad, named);
}

/* A data set of which every sample is bad would keep the caller of an endless pipeline waiting for ever. */
static int check_some_used(leat_pipeline *pipeline, const leat__slot *empty) {
    const uint64_t n = pipeline->plan.source->n_samples;
    pipeline->bad_in_a_row += (uint64_t)empty->n_bad;
    if (n == UINT64_MAX ? empty->begin.epoch < pipeline->used_epoch + 2 : pipeline->bad_in_a_row / 2 <= n)
        return 0;
    return leat__fail(
        &pipeline->failed, LEAT_ERR_LIMIT,
        "%" PRIu64
        " samples in a row were bad, more than the data set has: %s; 'leat check' finds all of them",
        pipeline->bad_in_a_row, pipeline->n_bad ? pipeline->bad[0].message : "no reason is known");
}

static leat__tune_facts facts_of(const leat_pipeline *pipeline, uint64_t now) {
    leat__tune_facts facts = {.now_ns = now,
                              .batches = pipeline->batches,
                              .wait_ns = leat__counters_wait(pipeline, now),
                              .full_ns = leat__counters_full(pipeline, now)};
    for (int i = 0; i < pipeline->n_workers; i++) {
        const leat__worker *worker = &pipeline->worker[i];
        facts.samples += worker->samples;
        facts.watched += worker->seen.n;
        facts.whole_ns += worker->seen.whole_ns;
        facts.blocked_ns += worker->seen.blocked_ns;
        facts.busy_ns += worker->seen.busy_ns;
    }
    if (!pipeline->read_ahead) return facts;
    const leat__read_ahead_facts ahead = leat__read_ahead_facts_of(pipeline->read_ahead);
    facts.reads = ahead.reads;
    facts.reads_blocked_ns = ahead.blocked_ns;
    return facts;
}

void leat__pipeline_tune(leat_pipeline *pipeline) {
    leat__ring *ring = pipeline->ring;
    leat__tuner *tuner = &pipeline->tuner;
    if (pipeline->plan.fixed || pipeline->config.synchronous) return;
    const uint64_t now = leat__now_ns();
    if (now < pipeline->tune_ns) return;
    pipeline->tune_ns = now + tune_every_ns;
    const bool asked = pipeline->plan.prefetch || pipeline->config.n_slots;
    tuner->n_workers = pipeline->n_workers;
    tuner->most.slots = asked ? ring->n_used : ring->n_slots;
    const int most = pipeline->plan.source->waits ? LEAT_READING_MAX : LEAT_READING_DISK_MAX;
    tuner->most.readers = pipeline->read_ahead && pipeline->plan.read_ahead < 0 ? most : 0;
    tuner->choice.slots = ring->n_used; /* those that the caller held all of were added meanwhile */
    const leat__tune_facts facts = facts_of(pipeline, now);
    const int readers = tuner->choice.readers;
    if (!leat__tune(tuner, &facts)) return;
    pipeline->tuned++;
    pipeline->tuned_ns = facts.now_ns;
    if (tuner->choice.slots != ring->n_used) {
        ring->n_used = tuner->choice.slots;
        pthread_cond_broadcast(&ring->work);
    }
    if (tuner->choice.readers != readers)
        tuner->choice.readers = leat__read_ahead_set(pipeline->read_ahead, tuner->choice.readers);
}

/* Batches that the caller could hold beside those it holds now: slots that exist or that the budget still allows. */
static int slots_left(const leat_pipeline *pipeline) {
    const leat__ring *ring = pipeline->ring;
    const size_t allowed = LEAT_MIN(pipeline->plan.budget.slots / ring->slot_bytes, (size_t)LEAT_SLOTS_MAX);
    return LEAT_MAX(LEAT_MAX((int)allowed, ring->n_slots) - ring->n_leased, 0);
}

static void hand_over(leat_pipeline *pipeline, leat__slot *slot, leat_batch *batch) {
    const leat__ring *ring = pipeline->ring;
    leat__slot_lease(slot, batch);
    batch->n_left = slots_left(pipeline);
    pipeline->samples += (uint64_t)slot->n_valid;
    pipeline->batches++;
    for (int i = 0; i < ring->n_outputs; i++)
        pipeline->bytes_out += (uint64_t)slot->tensor[i].shape[0] * (uint64_t)slot->tensor[i].stride[0];
    if (pipeline->first_ns == 0) pipeline->first_ns = leat__now_ns();
    leat__pipeline_tune(pipeline);
}

/* Takes the batch that is due off the ring: 1 = handed over, 0 = it was empty, < 0 = it failed. */
static int take_due(leat_pipeline *pipeline, leat__slot *slot, leat_batch *batch) {
    if (slot->error_place >= 0) {
        pipeline->failed = slot->error;
        keep_bad(pipeline, slot);
        return slot->error.code;
    }
    keep_bad(pipeline, slot);
    LEAT_TRY(count_bad(pipeline, slot));
    pipeline->due++;
    pipeline->handed = slot->end;
    if (pipeline->stream) leat__mark_copy(pipeline->handed_mark, slot->mark);
    if (slot->n > 0) {
        pipeline->used_epoch = slot->begin.epoch;
        pipeline->bad_in_a_row = 0;
        hand_over(pipeline, slot, batch);
        /* More may be made ahead now: is_far_ahead. */
        if (pipeline->plan.calls || pipeline->due <= (uint64_t)pipeline->ring->n_used)
            pthread_cond_broadcast(&pipeline->ring->work);
        return 1;
    }
    slot->state = LEAT_SLOT_FREE; /* every sample of it was skipped */
    pthread_cond_broadcast(&pipeline->ring->work);
    return check_some_used(pipeline, slot);
}

static bool all_held(const leat_pipeline *pipeline) {
    for (int i = 0; i < pipeline->ring->n_used; i++)
        if (pipeline->ring->slot[i]->state != LEAT_SLOT_LEASED) return false;
    return true;
}

/* The consumer holds every batch: one more if the budget allows; otherwise it has some seconds to give one back. */
static int add_held_slot(leat_pipeline *pipeline, uint64_t held_since, leat_error *err) {
    leat__ring *ring = pipeline->ring;
    if (ring->n_used == ring->n_slots &&
        (size_t)(ring->n_slots + 1) <= pipeline->plan.budget.slots / ring->slot_bytes) {
        leat__unlock(&ring->mutex);
        leat__ring_add(ring, NULL);
        leat__lock(&ring->mutex);
        if (!all_held(pipeline)) return 0; /* one has been released meanwhile */
    }
    if (ring->n_used < ring->n_slots) {
        ring->n_used++;
        pipeline->slots_added++;
        if (!pipeline->warned_slots) {
            pipeline->warned_slots = true;
            char text[200];
            snprintf(
                text, sizeof text,
                "all %d batches are held by the program: another one was added; release batches after use",
                ring->n_used - 1);
            leat__unlock(&ring->mutex);
            say(pipeline, LEAT_LOG_WARNING, text);
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
static void wait_or_work(leat_pipeline *pipeline) {
    leat__ring *ring = pipeline->ring;
    if (!pipeline->config.synchronous) {
        /* In slices: a signal handler that cancels cannot wake us. */
        leat__cond_wait_for(&ring->progress, &ring->mutex, 50000000);
    } else if (!leat__sched_step(pipeline, &pipeline->worker[0])) {
        leat__unlock(&ring->mutex);
        const bool read = pipeline->stream && leat__stream_read(pipeline->stream);
        leat__lock(&ring->mutex);
        if (!read) leat__cond_wait_for(&ring->progress, &ring->mutex, 1000000); /* all batches are held */
    }
}

/* Asks the caller now and then whether it still wants to wait; without the mutex, since it may take long to answer. */
static int ask_caller(leat_pipeline *pipeline, uint64_t *asked, leat_error *err) {
    if (!pipeline->config.waiting || leat__now_ns() - *asked < waiting_ns) return 0;
    leat__unlock(&pipeline->ring->mutex);
    const int stop = pipeline->config.waiting(pipeline->config.user);
    leat__lock(&pipeline->ring->mutex);
    *asked = leat__now_ns();
    return stop ? leat__fail(err, LEAT_ERR_CANCELLED, "the caller stopped waiting for a batch") : 0;
}

/* A pipeline that keeps its consumer waiting from the beginning is one to look at. */
static void publish(leat_pipeline *pipeline) {
    if (!leat__publisher_due(pipeline->publisher, leat__now_ns())) return;
    leat__unlock(&pipeline->ring->mutex);
    leat__publisher_start(pipeline->publisher);
    leat__lock(&pipeline->ring->mutex);
}

static int next_locked(leat_pipeline *pipeline, leat_batch *batch, leat_error *err) {
    uint64_t held_since = 0, asked = leat__now_ns();
    for (;;) {
        if (atomic_load(&pipeline->cancelled))
            return leat__fail(err, LEAT_ERR_CANCELLED, "the pipeline was cancelled");
        if (pipeline->failed.code) {
            if (err) *err = pipeline->failed;
            return pipeline->failed.code;
        }
        leat__slot *slot = due_slot(pipeline);
        if (slot) {
            const int rc = take_due(pipeline, slot, batch);
            if (rc == 1) return 0;
            LEAT_TRY(ask_caller(pipeline, &asked, err)); /* empty batches may follow each other for long */
            continue;
        }
        if (pipeline->stream_failed.code && pipeline->due == pipeline->opened) {
            pipeline->failed = pipeline->stream_failed;
            continue;
        }
        if (leat__sched_finished(pipeline) && pipeline->due == pipeline->opened) return LEAT_END;
        if (all_held(pipeline)) {
            if (held_since == 0) held_since = leat__now_ns();
            LEAT_TRY(add_held_slot(pipeline, held_since, err));
        }
        wait_or_work(pipeline);
        publish(pipeline);
        LEAT_TRY(ask_caller(pipeline, &asked, err));
    }
}

static int n_ready(const leat__ring *ring) {
    int n = 0;
    for (int i = 0; i < ring->n_used; i++) n += ring->slot[i]->state == LEAT_SLOT_READY;
    return n;
}

int leat__pipeline_next(leat_pipeline *pipeline, leat_batch *batch, leat_error *err) {
    *batch = (leat_batch){0};
    if (pipeline->owner != getpid()) return leat__pipeline_fail_forked(err);
    const uint64_t began = leat__now_ns();
    leat__account *before = leat__account_use(pipeline->account);
    if (leat__publisher_due(pipeline->publisher, began)) leat__publisher_start(pipeline->publisher);
    leat__lock(&pipeline->ring->mutex);
    pipeline->waits_since = began;
    const int rc = next_locked(pipeline, batch, err);
    pipeline->waits_since = 0;
    leat__counters_waited(pipeline, leat__now_ns() - began, rc == 0);
    if (pipeline->trace && rc == 0)
        leat__trace_handed(pipeline->trace, began, batch->epoch, batch->step, n_ready(pipeline->ring));
    const bool epoch_ends = rc == 0 && pipeline->handed.epoch != batch->epoch;
    leat__unlock(&pipeline->ring->mutex);
    if (epoch_ends && pipeline->plan.cache) leat__cache_flush(pipeline->plan.cache);
    leat__account_use(before);
    return rc;
}

/* Also from a signal handler: no lock, no wake-up; a waiting next looks every 50 ms. */
void leat__pipeline_cancel(leat_pipeline *pipeline) {
    atomic_store(&pipeline->cancelled, 1);
}
