/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: which worker does what, and when. The life of a sample:
 *
 *   1. A worker without work finds no place left to deal out, takes a free slot and opens it: the order maps the next
 *      positions to samples, so what belongs where is fixed before any work starts.
 *   2. Workers take tasks, runs of consecutive places of that slot, each at least 100 us of work.
 *   3. For every place the worker reads, decodes, transforms and writes the result at its own place (run.c).
 *   4. The worker that finishes the slot's last place packs it and marks it ready.
 *   5. The consumer takes slots in the order in which they were opened, uses them and gives them back.
 *
 * There is no queue: a full ring means no free slot, so workers park by themselves. The scheduler's lock
 * guards all of this (base/locks.h) and is not held while working. A failed sample is data: it is noted in its slot, and the policy decides. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "run/pipeline.h"

/* ---------------------------------------------------------------------------------------- open slots */

bool leat__sched_finished(const leat_pipeline *pipeline) {
    return pipeline->cursor.epoch >= pipeline->n_epochs;
}

/* A program that wants one batch and goes does not wait for, or pay for, many: batches are made ahead of those that were handed
 * over by as many as keep the workers busy, and two more for each one that the program has taken. Functions of the program may
 * take long, and those of Python take the interpreter from the thread that waits: there the ring fills four times as slowly. A
 * text that says prefetch means that many. */
static bool is_far_ahead(const leat_pipeline *pipeline) {
    const leat__plan *plan = &pipeline->plan;
    const uint64_t busy = (uint64_t)pipeline->n_workers * (uint64_t)plan->grain / (uint64_t)plan->batch;
    const uint64_t more = plan->calls ? pipeline->due / 2 : 1 + 2 * pipeline->due;
    return plan->prefetch == 0 && pipeline->opened - pipeline->due > busy + more;
}

static int begin_slot(leat_pipeline *pipeline) {
    leat__slot *slot = is_far_ahead(pipeline) ? NULL : leat__ring_free_slot(pipeline->ring);
    leat__counters_slot(pipeline, slot != NULL);
    if (!slot) return 0;
    slot->n = slot->n_valid = slot->next_place = slot->n_done = slot->n_bad = 0;
    slot->n_global = slot->n_taken = 0;
    slot->bucket = 0;
    slot->holes = false;
    slot->fill = leat__plan_pads(&pipeline->plan);
    slot->error_place = -1;
    slot->begin = pipeline->cursor;
    slot->state = LEAT_SLOT_FILLING;
    pipeline->opening = slot;
    return 1;
}

/* An epoch in which nothing is left ends the whole run: a stream without records, or a remainder that is dropped. */
static void end_early(leat_pipeline *pipeline) {
    pipeline->opening->state = LEAT_SLOT_FREE;
    pipeline->opening = NULL;
    if (pipeline->cursor.step == 0) pipeline->cursor = (leat__cursor){.epoch = pipeline->n_epochs};
    else pipeline->cursor = leat__steps_own(pipeline, (leat__cursor){.epoch = pipeline->cursor.epoch + 1});
}

/* The next place of the slot that is being opened is what position holds. */
static void map_place(leat_pipeline *pipeline, uint64_t position, uint64_t sample) {
    leat__slot *slot = pipeline->opening;
    slot->sample[slot->n] = sample;
    slot->position[slot->n] = position;
    slot->dropped[slot->n] = 0;
    slot->n++;
}

/* A stream is walked through from the first to the last place of the global batch, so that every rank knows whether it is
 * full. Records of other ranks go by; those of the first rank are kept if they may be needed to fill places up. False: the
 * stream is not so far. */
static bool walk_places(leat_pipeline *pipeline) {
    leat__slot *slot = pipeline->opening;
    const leat__share own = leat__plan_share(&pipeline->plan);
    leat__stream_batch want = {.epoch = slot->begin.epoch,
                               .position = slot->begin.position,
                               .n = leat__plan_global_batch(&pipeline->plan),
                               .first = own.first,
                               .n_own = own.n,
                               .n_spare = (uint64_t)pipeline->ring->n_records - own.n,
                               .records = slot->records,
                               .walked = slot->n_global,
                               .taken = slot->n_taken};
    const int rc = leat__stream_take(pipeline->stream, &want, &pipeline->stream_failed);
    slot->n_global = want.walked;
    slot->n_taken = want.taken;
    for (uint64_t i = (uint64_t)slot->n; i < own.n && own.first + i < want.walked; i++)
        map_place(pipeline, slot->begin.position + own.first + i,
                  leat__records_number(slot->records, (int)i));
    return rc == 1;
}

/* Fills in the samples of the slot that is being opened: 1 = complete, 0 = the stream is not so far. Every rank has its share of
 * the places of the global batch. Where that has come to its end, a place that must be filled holds one of the first samples
 * of the global batch. */
static int map_places(leat_pipeline *pipeline) {
    leat__slot *slot = pipeline->opening;
    leat__plan *plan = &pipeline->plan;
    const leat__share own = leat__plan_share(plan);
    const uint64_t first = slot->begin.position + own.first;
    if (pipeline->stream) {
        if (!walk_places(pipeline)) return 0;
    } else {
        slot->n_global = leat__steps_batch(pipeline, slot->begin, &slot->bucket);
        for (uint64_t i = 0; i < own.n && own.first + i < slot->n_global; i++)
            map_place(pipeline, first + i,
                      leat__order_map(&plan->order, slot->begin.epoch, first + i).sample);
    }
    slot->n_valid = slot->n;
    const uint64_t real = LEAT_MIN(slot->n_global, (uint64_t)plan->batch);
    while (leat__plan_pads(plan) && real > 0 && slot->n < plan->batch) {
        const uint64_t position = slot->begin.position + (uint64_t)slot->n % real;
        map_place(pipeline, position,
                  pipeline->stream ? leat__records_number(slot->records, leat__slot_record(slot, slot->n))
                                   : leat__order_map(&plan->order, slot->begin.epoch, position).sample);
    }
    return 1;
}

enum { REPLACING = 0xffffffff, BORROWING = 0xfffffffe }; /* numbers of operations, for draws */

/* A small batch has few records that could take the place of a bad one: it gets others from the window. */
static void borrow_records(leat_pipeline *pipeline, leat__slot *slot) {
    const uint64_t last = slot->begin.position + slot->n_global - 1;
    leat__rng rng = leat__rng_at(pipeline->plan.seed, slot->begin.epoch, last, (uint32_t)BORROWING);
    slot->n_others =
        leat__stream_take_others(pipeline->stream, slot->begin.epoch, last, leat__rng_u64(&rng),
                                 slot->records, pipeline->ring->n_records, pipeline->ring->n_others);
}

static void drop_records(leat_pipeline *pipeline, leat__slot *slot) {
    if (pipeline->stream) leat__stream_give(pipeline->stream, slot->records);
}

/* Opens the next slot as far as possible; true if there is something to deal out now. */
static bool open_slot(leat_pipeline *pipeline) {
    while (!leat__sched_finished(pipeline) && pipeline->stream_failed.code == 0) {
        if (!pipeline->opening && !begin_slot(pipeline)) return false;
        leat__slot *slot = pipeline->opening;
        if (!map_places(pipeline)) return false;
        if (slot->n_global == 0 ||
            (pipeline->plan.drop_remainder && slot->n_global < leat__plan_global_batch(&pipeline->plan))) {
            drop_records(pipeline, slot);
            end_early(pipeline);
            continue;
        }
        slot->end = leat__steps_behind(slot->begin, slot->n_global);
        if (pipeline->stream)
            leat__stream_mark(pipeline->stream, slot->begin.epoch, slot->end.position - 1, slot->mark);
        if (pipeline->stream) borrow_records(pipeline, slot);
        const leat__cursor next = leat__steps_next(pipeline, slot->end);
        pipeline->cursor = leat__steps_own(pipeline, next);
        /* When a stream shows its end is a matter of time, which a state must not tell. */
        if (!pipeline->stream) slot->end = next;
        slot->sequence = pipeline->opened++;
        pipeline->opening = NULL;
        pipeline->dealing = slot;
        return true;
    }
    return false;
}

static bool next_task(leat_pipeline *pipeline, leat__task *task) {
    if (pipeline->pause || pipeline->stop) return false;
    if (!pipeline->dealing && !open_slot(pipeline)) return false;
    leat__slot *slot = pipeline->dealing;
    /* Where storage is slow one sample is work enough, and what is not dealt out yet can be read ahead. */
    const bool ahead = pipeline->read_ahead && leat__read_ahead_in_use(pipeline->read_ahead);
    const int grain = ahead ? LEAT_MAX(pipeline->plan.group, 1) : pipeline->plan.grain;
    *task = (leat__task){.slot = slot,
                         .first = slot->next_place,
                         .n = LEAT_MIN(grain, slot->n - slot->next_place),
                         .read_ahead = ahead};
    slot->next_place += task->n;
    if (slot->next_place == slot->n) pipeline->dealing = NULL;
    return true;
}

/* ----------------------------------------------------------------------------------------- run tasks */

/* record: of a stream, which of those that the slot keeps; -1 = the sample is to be read. */
static int run_record(leat__worker *worker, const leat__slot *slot, int record, leat__where *at,
                      leat_error *err) {
    at->record = NULL;
    at->piece = NULL;
    if (record >= 0) LEAT_TRY(leat__records_find(slot->records, record, at, err));
    return leat__run_sample(&worker->tools, at, err);
}

static int run_place(leat__worker *worker, leat__slot *slot, int place, leat__where *at, leat_error *err) {
    return run_record(worker, slot, slot->records ? leat__slot_record(slot, place) : -1, at, err);
}

/* A place whose sample may have been read ahead. Those that repeat others are not. */
static int run_ahead(leat_pipeline *pipeline, leat__worker *worker, leat__slot *slot, int place,
                     leat__where *at, leat_error *err) {
    leat__read_ahead_cell *cell;
    leat__run_stage(&worker->tools, LEAT_STAGE_READ); /* it may have to wait */
    leat__lock(&pipeline->ring->mutex);
    at->record = leat__read_ahead_take(pipeline->read_ahead, at->epoch, at->position, &cell);
    leat__unlock(&pipeline->ring->mutex);
    if (!cell) return run_place(worker, slot, place, at, err);
    const int rc = leat__run_sample(&worker->tools, at, err);
    leat__lock(&pipeline->ring->mutex);
    leat__read_ahead_give(pipeline->read_ahead, cell);
    leat__unlock(&pipeline->ring->mutex);
    return rc;
}

/* Any position of the epoch, or of the same bucket, as long as one is found: batches of a bucket have its size. */
static uint64_t draw_position(leat_pipeline *pipeline, leat__rng *rng, const leat__where *at,
                              uint64_t length) {
    enum { TRIES = 256 };
    leat__order *order = &pipeline->plan.order;
    uint64_t position = leat__rng_below(rng, length == LEAT_ENDLESS ? at->position + 1 : length);
    for (int i = 0; i < TRIES && leat__order_bucket(order) &&
                    leat__order_batch(order, at->epoch, position).bucket != at->bucket;
         i++)
        position = leat__rng_below(rng, length);
    return position;
}

/* on_error=replace: other samples of the same epoch, chosen by the key of the place; of a stream, of the same batch, or of
 * what a small batch borrowed. False if no usable one was found. */
static bool replace_sample(leat_pipeline *pipeline, leat__worker *worker, leat__slot *slot, int place,
                           leat__where *at, leat_error *err) {
    enum { TRIES = 32 };
    leat__rng rng = leat__rng_at(pipeline->plan.seed, at->epoch, at->position, (uint32_t)REPLACING);
    leat_error other;
    for (int i = 0; i < TRIES; i++) {
        int record = -1;
        if (slot->records) {
            const int k = (int)leat__rng_below(&rng, (uint64_t)(slot->n + slot->n_others));
            record = k < slot->n ? leat__slot_record(slot, k) : pipeline->ring->n_records + k - slot->n;
            at->sample = leat__records_number(slot->records, record);
        } else {
            leat__lock(&pipeline->ring->mutex); /* mapping may make a table */
            const uint64_t length = leat__order_length(&pipeline->plan.order);
            const uint64_t position = draw_position(pipeline, &rng, at, length);
            at->sample = leat__order_map(&pipeline->plan.order, at->epoch, position).sample;
            leat__unlock(&pipeline->ring->mutex);
        }
        if (run_record(worker, slot, record, at, &other) == 0) {
            slot->sample[place] = at->sample;
            return true;
        }
        if (leat__error_is_fault(&other)) {
            *err = other;
            return false;
        }
    }
    leat__error_prefix(err, "no usable sample was found to take its place: ");
    return false;
}

/* Whether the place holds a sample now: another one. The policy is for damage in the data. A fault of the machine stops the run
 * whatever the policy: otherwise the run would go on with less data, depending on what else the machine does. */
static bool handle_bad(leat_pipeline *pipeline, leat__worker *worker, leat__slot *slot, int place,
                       leat__where *at, leat_error *err) {
    int policy = leat__error_is_fault(err) ? LEAT_ON_ERROR_RAISE : pipeline->plan.on_error;
    if (policy == LEAT_ON_ERROR_REPLACE && !replace_sample(pipeline, worker, slot, place, at, err))
        policy = LEAT_ON_ERROR_RAISE;
    const bool repeated =
        place >= slot->n_valid && !leat__error_is_fault(err); /* whose own place tells of it */
    leat__lock(&pipeline->ring->mutex);
    if (!repeated) leat__slot_note_bad(slot, place, err);
    if (policy == LEAT_ON_ERROR_SKIP || (repeated && policy == LEAT_ON_ERROR_RAISE))
        slot->dropped[place] = slot->holes = true;
    if (!repeated && policy == LEAT_ON_ERROR_RAISE && (slot->error_place < 0 || place < slot->error_place)) {
        slot->error_place = place;
        slot->error = *err;
    }
    leat__unlock(&pipeline->ring->mutex);
    return policy == LEAT_ON_ERROR_REPLACE;
}

/* After each place, in order: groups are mixed as they fill. Places that repeat a sample are no members of any. */
static void mix_place(leat__tools *tools, const leat__where *at, bool good, bool last, int n_valid) {
    const bool ends = at->place + 1 == n_valid;
    const int group = tools->plan->group;
    leat__run_stage(tools, LEAT_STAGE_TRANSFORM);
    if (good && at->place < n_valid)
        leat__group_add(tools, &(leat__group_member){.epoch = at->epoch,
                                                     .position = at->position,
                                                     .sample = at->sample,
                                                     .slot = at->slot,
                                                     .place = at->place,
                                                     .params = at->params});
    if (last || (at->place + 1) % group == 0 || ends) leat__group_end(tools);
    leat__run_stage(tools, LEAT_STAGE_NONE);
}

static void stall(const leat_pipeline *pipeline, const leat__worker *worker) {
    const uint64_t us = leat__mix64(leat__now_ns() + (uint64_t)worker->number) % (pipeline->stall_us + 1);
    leat__sleep_ns(us * 1000);
}

static leat_event event_of(const leat__worker *worker, const leat__slot *slot, int kind, uint64_t sample) {
    return (leat_event){.kind = kind,
                        .thread = worker->number,
                        .sample = sample,
                        .epoch = slot->begin.epoch,
                        .batch = slot->begin.step};
}

/* All places of the slot are done. Without the mutex. */
static void finish_slot(const leat__worker *worker, leat__slot *slot) {
    leat_event event = event_of(worker, slot, LEAT_EVENT_FINISH, LEAT_NO_SAMPLE);
    if (worker->trace) event.begin_ns = leat__now_ns();
    leat__slot_finish(slot);
    if (worker->trace) leat__trace_add(worker->trace, event);
}

/* The first piece comes now, others when steps of this sample ask for them. */
static void foresee_next(leat__tools *tools, const leat__source *source, const leat__slot *slot, int place,
                         int end) {
    tools->next = (leat__foreseen){0};
    if (place < end) source->class->foresee(source, slot->sample[place], &tools->next);
    leat__foresee(&tools->next);
}

void leat__sched_run_task(leat_pipeline *pipeline, leat__worker *worker, const leat__task *task) {
    leat__slot *slot = task->slot;
    leat__tools *tools = &worker->tools;
    const leat__source *source = pipeline->plan.source;
    if (pipeline->stall_us) stall(pipeline, worker);
    leat__timing_begin(worker, task->n);
    for (int i = 0; i < task->n; i++) {
        const int place = task->first + i;
        tools->watched = i == worker->timing.sample;
        leat__where at = {.epoch = slot->begin.epoch,
                          .position = slot->position[place],
                          .sample = slot->sample[place],
                          .slot = slot->memory,
                          .place = place,
                          .bucket = slot->bucket,
                          .params = slot->params ? &slot->params[place] : NULL,
                          .count = slot->count};
        leat_error err;
        if (source->class->foresee) foresee_next(tools, source, slot, place + 1, task->first + task->n);
        leat__trace_mark mark;
        if (worker->trace) leat__trace_begin(&mark, tools->stage_ns);
        const bool look = task->read_ahead && place < slot->n_valid;
        const int rc = look ? run_ahead(pipeline, worker, slot, place, &at, &err)
                            : run_place(worker, slot, place, &at, &err);
        const bool good = rc == 0 || handle_bad(pipeline, worker, slot, place, &at, &err);
        if (pipeline->plan.group) mix_place(tools, &at, good, i + 1 == task->n, slot->n_valid);
        if (worker->trace)
            leat__trace_sample(worker->trace, &mark, tools->stage_ns,
                               event_of(worker, slot, LEAT_EVENT_SAMPLE, at.sample));
    }
    if (pipeline->plan.non_temporal) leat__image_fence();
    leat__timing_end(pipeline, worker, task->n);
}

/* After a task, with the mutex held: what the worker has done, and the largest buffers it needed. */
static void account(leat_pipeline *pipeline, leat__worker *worker, int n) {
    leat__tools *tools = &worker->tools;
    worker->samples += (uint64_t)n;
    if (leat__timing_publish(worker, n)) leat__pipeline_tune(pipeline);
    worker->bytes_read = tools->reader.bytes_read;
    worker->cache_hits = tools->cached.hits;
    worker->cache_misses = tools->cached.misses;
    worker->cache_bad = tools->cached.bad;
    const uint32_t grown = leat__tools_grown(tools);
    /* An arena can need more than ever before and still have had room for it. */
    if (grown == worker->grown && leat__decoder_high(tools->decoder) <= pipeline->high.arena) return;
    pipeline->grown += grown - worker->grown;
    worker->grown = grown;
    if (!leat__tools_raise(tools, &pipeline->high)) return;
    leat__sched_mark_rose(pipeline);
}

void leat__sched_mark_rose(leat_pipeline *pipeline) {
    pipeline->high_version++;
    pthread_cond_broadcast(&pipeline->ring->work); /* idle workers adopt it now */
    if (pipeline->read_ahead) leat__read_ahead_wake(pipeline->read_ahead);
}

/* Makes a worker's buffers as large as the largest that any other has needed: false if they are. With the mutex held,
 * which is released meanwhile. */
static bool adopt(leat_pipeline *pipeline, leat__worker *worker) {
    if (worker->high_version == pipeline->high_version) return false;
    const leat__high_water high = pipeline->high;
    const uint64_t version = pipeline->high_version;
    leat__unlock(&pipeline->ring->mutex);
    leat__tools_adopt(&worker->tools, &high);
    leat__lock(&pipeline->ring->mutex);
    worker->high_version = version; /* not before the memory is there: leat__sched_settled relies on it */
    return true;
}

bool leat__sched_settled(const leat_pipeline *pipeline) {
    if (pipeline->n_busy > 0) return false;
    for (int i = 0; i < pipeline->n_workers; i++)
        if (pipeline->worker[i].high_version != pipeline->high_version) return false;
    return !pipeline->read_ahead || leat__read_ahead_settled(pipeline->read_ahead);
}

bool leat__sched_step(leat_pipeline *pipeline, leat__worker *worker) {
    leat__ring *ring = pipeline->ring;
    leat__task task;
    if (!next_task(pipeline, &task)) return false;
    pipeline->n_busy++;
    if (pipeline->dealing) pthread_cond_signal(&ring->work); /* there is more for another worker */
    adopt(pipeline, worker);
    leat__unlock(&ring->mutex);
    leat__sched_run_task(pipeline, worker, &task);
    leat__lock(&ring->mutex);
    account(pipeline, worker, task.n);
    leat__slot *slot = task.slot;
    slot->n_done += task.n;
    if (slot->n_done == slot->n) {
        leat__unlock(&ring->mutex);
        finish_slot(worker, slot);
        leat__lock(&ring->mutex);
        drop_records(pipeline, slot);
        leat__ring_count(ring, slot);
        slot->state = LEAT_SLOT_READY;
        if (slot->sequence == pipeline->due) pthread_cond_signal(&ring->progress);
    }
    pipeline->n_busy--;
    if (pipeline->pause && pipeline->n_busy == 0) pthread_cond_broadcast(&ring->progress);
    return true;
}

/* ------------------------------------------------------------------------------------------- threads */

static void *worker_main(void *argument) {
    leat__worker *worker = argument;
    leat_pipeline *pipeline = worker->pipeline;
    leat__ring *ring = pipeline->ring;
    leat__account_use(pipeline->account);
    leat__waits_open(&worker->tools.waits);
    leat__lock(&ring->mutex);
    while (!pipeline->stop) {
        if (leat__sched_step(pipeline, worker)) continue;
        if (pipeline->stop) break;
        if (adopt(pipeline, worker)) continue;
        /* A stream may have ended here: the consumer waits, and no batch will wake it. */
        if (pipeline->stream && pipeline->due == pipeline->opened) pthread_cond_signal(&ring->progress);
        worker->cpu_ns = leat__thread_cpu_ns();
        worker->idle_since = leat__now_ns();
        leat__cond_wait(&ring->work, &ring->mutex);
        const uint64_t now = leat__now_ns();
        if (worker->trace)
            leat__trace_add(worker->trace, (leat_event){.kind = LEAT_EVENT_IDLE,
                                                        .thread = worker->number,
                                                        .begin_ns = worker->idle_since,
                                                        .end_ns = now,
                                                        .sample = LEAT_NO_SAMPLE});
        worker->idle_ns += now - worker->idle_since;
        worker->idle_since = 0;
    }
    worker->cpu_ns = leat__thread_cpu_ns();
    leat__waits_close(&worker->tools.waits);
    pipeline->n_running--;
    pthread_cond_broadcast(&ring->progress);
    leat__unlock(&ring->mutex);
    return NULL;
}

int leat__sched_start(leat_pipeline *pipeline, leat_error *err) {
    for (int i = 0; i < pipeline->n_workers; i++) {
        leat__worker *worker = &pipeline->worker[i];
        worker->pipeline = pipeline;
        worker->number = i;
        worker->trace = leat__trace_worker(pipeline->trace, i);
        LEAT_TRY(leat__tools_init(&worker->tools, &pipeline->plan, &pipeline->large, err));
        LEAT_TRY(leat__group_init(worker->tools.group, &pipeline->plan, err));
    }
    if (pipeline->config.synchronous) return 0;
    if (pipeline->read_ahead) { /* those that were asked for are there before the first task */
        leat__lock(&pipeline->ring->mutex);
        if (pipeline->plan.read_ahead > 0)
            leat__read_ahead_set(pipeline->read_ahead, pipeline->plan.read_ahead);
        else if (pipeline->plan.source->waits)
            pipeline->tuner.choice.readers = leat__read_ahead_set(pipeline->read_ahead, LEAT_READING_FIRST);
        leat__unlock(&pipeline->ring->mutex);
    }
    for (int i = 0; i < pipeline->n_workers; i++) {
        char name[32];
        snprintf(name, sizeof name, "leat-worker-%d", i);
        leat__lock(&pipeline->ring->mutex);
        pipeline->n_running++;
        leat__unlock(&pipeline->ring->mutex);
        const int rc =
            leat__thread_start(&pipeline->worker[i].thread, worker_main, &pipeline->worker[i], name, err);
        if (rc == 0) continue;
        pipeline->worker[i].thread = 0; /* a failed start may have written something */
        leat__lock(&pipeline->ring->mutex);
        pipeline->n_running--;
        leat__unlock(&pipeline->ring->mutex);
        if (i == 0) return rc;
        /* Fewer threads than asked for is slower, not wrong. */
        for (int k = i; k < pipeline->n_workers; k++) leat__tools_free(&pipeline->worker[k].tools);
        pipeline->n_workers = i;
        break;
    }
    return 0;
}

bool leat__sched_stop(leat_pipeline *pipeline) {
    leat__ring *ring = pipeline->ring;
    const uint64_t until = leat__now_ns() + UINT64_C(10000000000);
    leat__lock(&ring->mutex);
    pipeline->stop = true;
    leat__account_stop(pipeline->account);
    pthread_cond_broadcast(&ring->work);
    if (pipeline->read_ahead) leat__read_ahead_wake(pipeline->read_ahead);
    while (pipeline->n_running > 0) {
        const uint64_t now = leat__now_ns();
        if (now >= until) break;
        leat__cond_wait_for(&ring->progress, &ring->mutex, until - now);
    }
    bool all = pipeline->n_running == 0;
    leat__unlock(&ring->mutex);
    if (pipeline->stream) all = leat__stream_stop(pipeline->stream, until) && all;
    for (int i = 0; i < pipeline->n_workers && !pipeline->config.synchronous; i++) {
        if (!pipeline->worker[i].thread) continue;
        if (all) pthread_join(pipeline->worker[i].thread, NULL);
        else pthread_detach(pipeline->worker[i].thread);
    }
    for (int i = 0; i < pipeline->n_readers; i++) {
        if (all) pthread_join(pipeline->reader[i], NULL);
        else pthread_detach(pipeline->reader[i]);
    }
    return all;
}

void leat__sched_move(leat_pipeline *pipeline, leat__cursor cursor, const leat__mark *mark) {
    leat__ring *ring = pipeline->ring;
    pipeline->pause = true;
    while (pipeline->n_busy > 0) leat__cond_wait(&ring->progress, &ring->mutex);
    if (pipeline->opening) drop_records(pipeline, pipeline->opening);
    pipeline->opening = pipeline->dealing = NULL;
    for (int i = 0; i < ring->n_slots; i++) {
        leat__slot *slot = ring->slot[i];
        if (slot->state == LEAT_SLOT_FREE || slot->state == LEAT_SLOT_LEASED) continue;
        if (slot->state == LEAT_SLOT_FILLING) drop_records(pipeline, slot);
        slot->state = LEAT_SLOT_FREE;
    }
    if (pipeline->stream) {
        leat__stream_reset(pipeline->stream, cursor.epoch, cursor.position, mark);
        leat__mark_copy(pipeline->handed_mark, mark);
    }
    pipeline->handed = cursor;
    pipeline->used_epoch = cursor.epoch;
    pipeline->cursor = leat__steps_own(pipeline, cursor);
    pipeline->opened = pipeline->due = pipeline->bad_of_epoch = pipeline->bad_in_a_row = 0;
    pipeline->failed = pipeline->stream_failed = (leat_error){0};
    pipeline->pause = false;
    if (pipeline->read_ahead) leat__read_ahead_clear(pipeline->read_ahead);
    pthread_cond_broadcast(&ring->work);
}

void leat__sched_pause(leat_pipeline *pipeline, bool pause) {
    leat__ring *ring = pipeline->ring;
    leat__lock(&ring->mutex);
    pipeline->pause = pause;
    while (pause && pipeline->n_busy > 0) leat__cond_wait(&ring->progress, &ring->mutex);
    if (!pause && pipeline->read_ahead) leat__read_ahead_wake(pipeline->read_ahead);
    if (!pause) pthread_cond_broadcast(&ring->work);
    leat__unlock(&ring->mutex);
}
