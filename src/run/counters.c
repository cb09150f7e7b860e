/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, which are always on, and how they are taken without slowing the work down.
 *
 * The clock is read at every change of stage, in some tasks only: a photo is half a millisecond of work, a record of 32x32
 * pixels a microsecond. How many tasks are timed follows from what the timed ones took. Which ones is a matter of chance, so
 * that it cannot keep step with the tasks of a batch. In one sample in 10 ms the worker also looks at how long it was blocked
 * in reading, which takes calls of the operating system. A task that was timed stands for all since the one before, so that
 * an estimate only grows: the difference of two is what was spent between them. */
#include <stdio.h>

#include "base/clock.h"
#include "run/pipeline.h"

enum {
    COST = 512,
    EVERY_MAX = 256
}; /* timing may take a 512th of the time; one task in 256 is timed at least */
static const uint64_t watch_every_ns = 10000000;

static double seconds(uint64_t ns) {
    return (double)ns * 1e-9;
}

/* -------------------------------------------------------------------------------------------- timing */

/* One task in so many may be timed, by what the timed ones took and how often the clock was read in them. */
static uint64_t timed_every(const leat_pipeline *pipeline, const leat__worker *worker) {
    const leat__timing *t = &worker->timing;
    const uint64_t cost = (worker->tools.n_marks + 2 * t->tasks) * pipeline->clock_ns;
    uint64_t every = 1;
    while (every < EVERY_MAX && cost * COST > t->tasks_ns * every) every *= 2;
    return every;
}

void leat__timing_begin(leat__worker *worker, int n) {
    leat__timing *t = &worker->timing;
    leat__tools *tools = &worker->tools;
    tools->timed = worker->trace || t->n_tasks == t->next;
    t->sample = -1;
    if (!tools->timed) return;
    t->began_ns = tools->mark_ns = leat__now_ns();
    tools->stage = LEAT_STAGE_NONE;
    if (t->began_ns - t->watched_ns < watch_every_ns) return;
    t->watched_ns = t->began_ns;
    t->cpu_ns = leat__thread_cpu_ns();
    t->sample = (int)(leat__mix64(t->n_tasks) % (uint64_t)n);
}

void leat__timing_end(leat_pipeline *pipeline, leat__worker *worker, int n) {
    leat__timing *t = &worker->timing;
    const uint64_t number = t->n_tasks++;
    if (!worker->tools.timed) return;
    const uint64_t ns = leat__now_ns() - t->began_ns;
    t->tasks++;
    t->tasks_ns += ns;
    if (t->sample >= 0) {
        const uint64_t cpu = leat__thread_cpu_ns();
        t->seen.n++;
        t->seen.whole_ns += ns / (uint64_t)n;
        t->seen.busy_ns += (cpu - t->cpu_ns) / (uint64_t)n;
        t->seen.blocked_ns = worker->tools.blocked_ns;
        t->cpu_ns = cpu;
        t->queue_ns = leat__waits_delay(&worker->tools.waits);
    }
    const uint64_t every = timed_every(pipeline, worker);
    t->next = number + 1 + (every > 1 ? leat__mix64(number) % (2 * every - 1) : 0);
}

bool leat__timing_publish(leat__worker *worker, int n) {
    const leat__tools *tools = &worker->tools;
    if (!tools->timed) return false;
    const double stands_for = (double)(worker->samples - worker->timed_at) / n;
    for (int k = 0; k < LEAT_STAGE_COUNT; k++) {
        worker->stage_s[k] += seconds(tools->stage_ns[k] - worker->stage_ns[k]) * stands_for;
        worker->stage_ns[k] = tools->stage_ns[k];
    }
    worker->timed_at = worker->samples;
    if (worker->timing.sample < 0) return false;
    const leat__watched *seen = &worker->timing.seen;
    worker->blocked_s +=
        seconds(seen->blocked_ns - worker->seen.blocked_ns) * (double)(worker->samples - worker->watched_at);
    worker->watched_at = worker->samples;
    worker->cpu_ns = worker->timing.cpu_ns;
    worker->queue_ns = worker->timing.queue_ns;
    worker->seen = *seen;
    return true;
}

/* ----------------------------------------------------------------------------------- consumer and slots */

uint64_t leat__counters_wait(const leat_pipeline *pipeline, uint64_t now_ns) {
    return pipeline->wait_ns + (pipeline->waits_since ? now_ns - pipeline->waits_since : 0);
}

uint64_t leat__counters_full(const leat_pipeline *pipeline, uint64_t now_ns) {
    return pipeline->full_ns + (pipeline->full_since ? now_ns - pipeline->full_since : 0);
}

void leat__counters_slot(leat_pipeline *pipeline, bool found) {
    if (!found) { /* slots that are being filled are not full */
        if (!pipeline->full_since && pipeline->n_busy == 0) pipeline->full_since = leat__now_ns();
    } else if (pipeline->full_since) {
        pipeline->full_ns += leat__now_ns() - pipeline->full_since;
        pipeline->full_since = 0;
    }
}

void leat__counters_waited(leat_pipeline *pipeline, uint64_t ns, bool handed) {
    leat_latency *latency = &pipeline->latency;
    pipeline->wait_ns += ns;
    if (!handed) return;
    const uint64_t us = ns / 1000;
    const int power = us ? 63 - __builtin_clzll(us) : 0;
    latency->batches++;
    latency->sum_s += (double)ns * 1e-9;
    latency->max_s = LEAT_MAX(latency->max_s, (double)ns * 1e-9);
    latency->count[LEAT_MIN(power, LEAT_LATENCY_COUNT - 1)]++;
}

void leat__counters_latency(leat_pipeline *pipeline, leat_latency *out) {
    const bool locked = leat__pipeline_lock(pipeline);
    *out = pipeline->latency;
    leat__pipeline_unlock(pipeline, locked);
}

/* -------------------------------------------------------------------------------------------- workers */

static leat_worker_stats look(const leat_pipeline *pipeline, const leat__worker *worker, uint64_t now) {
    leat_worker_stats out = {.samples = worker->samples,
                             .bytes_read = worker->bytes_read,
                             .cpu_s = seconds(worker->cpu_ns),
                             .idle_s = seconds(worker->idle_ns),
                             .read_wait_s = worker->blocked_s,
                             .queue_s = seconds(worker->queue_ns)};
    if (worker->idle_since) out.idle_s += seconds(now - worker->idle_since);
    for (int k = 0; k < LEAT_STAGE_COUNT; k++) out.stage_s[k] = worker->stage_s[k];
    if (pipeline->plan.source->class->calls) {
        out.stage_s[LEAT_STAGE_CALL] += out.stage_s[LEAT_STAGE_READ];
        out.stage_s[LEAT_STAGE_READ] = 0;
    }
    return out;
}

int leat__counters_workers(leat_pipeline *pipeline, leat_worker_stats *out, int cap) {
    const bool locked = leat__pipeline_lock(pipeline);
    const uint64_t now = leat__now_ns();
    for (int i = 0; i < LEAT_MIN(pipeline->n_workers, cap); i++)
        out[i] = look(pipeline, &pipeline->worker[i], now);
    leat__pipeline_unlock(pipeline, locked);
    return pipeline->n_workers;
}

/* ---------------------------------------------------------------------------------------------- stats */

static void add_worker(const leat_pipeline *pipeline, const leat__worker *worker, uint64_t now,
                       leat_stats *out) {
    const leat_worker_stats one = look(pipeline, worker, now);
    out->samples_made += one.samples;
    out->bytes_read += one.bytes_read;
    out->cache_hits += worker->cache_hits;
    out->cache_misses += worker->cache_misses;
    out->cache_bad += worker->cache_bad;
    out->full_s += one.idle_s;
    out->cpu_s += one.cpu_s;
    out->read_wait_s += one.read_wait_s;
    out->queue_s += one.queue_s;
    for (int k = 0; k < LEAT_STAGE_COUNT; k++) out->stage_s[k] += one.stage_s[k];
}

static void add_readers(leat_pipeline *pipeline, leat_stats *out) {
    if (pipeline->stream) leat__stream_stats(pipeline->stream, out);
    if (!pipeline->read_ahead) return;
    const leat__read_ahead_facts facts = leat__read_ahead_facts_of(pipeline->read_ahead);
    out->bytes_read = facts.bytes_read;
    out->n_readers = facts.n_active;
    out->read_ahead = facts.taken;
    out->readers_s = seconds(facts.read_ns);
    out->readers_wait_s = seconds(facts.blocked_ns);
}

void leat__counters_stats(leat_pipeline *pipeline, leat_stats *out) {
    *out = (leat_stats){.n_threads = pipeline->n_workers, .memory_max_bytes = pipeline->plan.budget.whole};
    out->memory_bytes = leat__account_bytes(pipeline->account);
    if (pipeline->plan.cache) out->cache_bytes = leat__cache_bytes(pipeline->plan.cache);
    const bool locked = leat__pipeline_lock(pipeline);
    const uint64_t now = leat__now_ns();
    out->samples = pipeline->samples;
    out->batches = pipeline->batches;
    out->bytes_out = pipeline->bytes_out;
    out->bad_samples = pipeline->bad_samples;
    out->slots = (uint64_t)pipeline->ring->n_used;
    out->slots_max = pipeline->ring->n_slots;
    out->slots_added = pipeline->slots_added;
    out->grown = pipeline->grown;
    out->open_s = seconds(now - pipeline->opened_ns);
    out->wait_s = seconds(leat__counters_wait(pipeline, now));
    out->slots_full_s = seconds(leat__counters_full(pipeline, now));
    out->retries = leat__account_retries(pipeline->account);
    out->tuned = pipeline->tuned;
    out->tuned_s = pipeline->tuned ? seconds(pipeline->tuned_ns - pipeline->opened_ns) : 0;
    out->first_batch_s = pipeline->first_ns ? seconds(pipeline->first_ns - pipeline->opened_ns) : 0;
    if (locked) add_readers(pipeline, out); /* in a forked child their lock may be held for ever */
    for (int i = 0; i < pipeline->n_workers; i++) add_worker(pipeline, &pipeline->worker[i], now, out);
    leat__pipeline_unlock(pipeline, locked);
}

leat_stats leat__stats_since(const leat_stats *now, const leat_stats *then) {
    leat_stats d = *now;
    d.samples -= then->samples;
    d.samples_made -= then->samples_made;
    d.batches -= then->batches;
    d.bytes_read -= then->bytes_read;
    d.bytes_out -= then->bytes_out;
    d.bad_samples -= then->bad_samples;
    d.slots_added -= then->slots_added;
    d.grown -= then->grown;
    d.wait_s -= then->wait_s;
    d.full_s -= then->full_s;
    d.cpu_s -= then->cpu_s;
    d.read_wait_s -= then->read_wait_s;
    d.queue_s -= then->queue_s;
    d.slots_full_s -= then->slots_full_s;
    d.readers_s -= then->readers_s;
    d.readers_wait_s -= then->readers_wait_s;
    for (size_t i = 0; i < LEAT_COUNT(d.stage_s); i++) d.stage_s[i] -= then->stage_s[i];
    d.cache_hits -= then->cache_hits;
    d.cache_misses -= then->cache_misses;
    d.cache_bad -= then->cache_bad;
    d.read_ahead -= then->read_ahead;
    return d;
}

leat_latency leat__latency_since(const leat_latency *now, const leat_latency *then) {
    leat_latency d = *now;
    d.batches -= then->batches;
    d.sum_s -= then->sum_s;
    int last = 0;
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) {
        d.count[i] -= then->count[i];
        if (d.count[i]) last = i;
    }
    /* The longest of all may be an earlier one; then what is known is the class of the longest since. */
    const double below_s = last < LEAT_LATENCY_COUNT - 1 ? (double)(UINT64_C(2) << last) * 1e-6 : now->max_s;
    d.max_s = LEAT_MIN(now->max_s, below_s);
    return d;
}

size_t leat__counters_tuning(leat_pipeline *pipeline, char *text, size_t cap) {
    leat_stats s;
    leat__counters_stats(pipeline, &s);
    const char *what = pipeline->stream ? "shards" : "read_ahead";
    const int readers = pipeline->stream ? LEAT_MAX(s.n_readers, 1) : s.n_readers;
    return (size_t)snprintf(text, cap, "threads=%d slots=%d %s=%d", s.n_threads, (int)s.slots, what, readers);
}
