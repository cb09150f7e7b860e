/* SPDX-License-Identifier: Apache-2.0 */
#include "run/trace.h"

#include "base/clock.h"

enum { RING_MIN = 256, READERS_MAX = 64 };

struct leat__trace_ring {
    leat__mutex mutex;
    leat_event *event; /* [n % cap] is the next one */
    uint64_t cap, n;
} LEAT_ALIGNED(LEAT_CACHE_LINE);

struct leat__trace {
    int n_workers;
    leat__trace_ring consumer, readers;
    uint64_t handed_ns; /* when the consumer got its last batch; under the mutex of the scheduler */
    uint64_t
        reading_ns[READERS_MAX]; /* of each reader thread: when it began; its own                         */
    leat__trace_ring worker[];
};

/* ---------------------------------------------------------------------------------------- open, close */

static int open_ring(leat__trace_ring *ring, uint64_t cap, leat_error *err) {
    leat_event *event = leat__alloc(LEAT_MEM_WORKER, (size_t)cap * sizeof *event);
    if (!event) return leat__fail_memory(err, (size_t)cap * sizeof *event, "a trace");
    const int rc = leat__mutex_init(&ring->mutex, LEAT_LOCK_TRACE, err);
    if (rc < 0) {
        leat__free(event);
        return rc;
    }
    ring->event = event;
    ring->cap = cap;
    return 0;
}

static void close_ring(leat__trace_ring *ring) {
    if (!ring->event) return;
    leat__mutex_destroy(&ring->mutex);
    leat__free(ring->event);
}

int leat__trace_new(leat__trace **out, int n_workers, uint64_t n_events, leat_error *err) {
    *out = NULL;
    if (n_events > LEAT_TRACE_EVENTS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "trace_events is %" PRIu64 ": a trace has %" PRIu64 " events at the most", n_events,
                          LEAT_TRACE_EVENTS_MAX);
    const size_t bytes = sizeof(leat__trace) + (size_t)n_workers * sizeof(leat__trace_ring);
    leat__trace *trace = leat__alloc(LEAT_MEM_WORKER, bytes);
    if (!trace) return leat__fail_memory(err, bytes, "a trace");
    trace->n_workers = n_workers;
    const uint64_t each = LEAT_MAX(n_events / (uint64_t)n_workers, (uint64_t)RING_MIN);
    int rc = open_ring(&trace->consumer, each, err);
    if (rc == 0) rc = open_ring(&trace->readers, LEAT_MAX(n_events, (uint64_t)RING_MIN), err);
    for (int i = 0; i < n_workers && rc == 0; i++) rc = open_ring(&trace->worker[i], each, err);
    if (rc < 0) leat__trace_free(&trace);
    *out = trace;
    return rc;
}

void leat__trace_free(leat__trace **handle) {
    leat__trace *trace = *handle;
    if (!trace) return;
    close_ring(&trace->consumer);
    close_ring(&trace->readers);
    for (int i = 0; i < trace->n_workers; i++) close_ring(&trace->worker[i]);
    leat__free(trace);
    *handle = NULL;
}

leat__trace_ring *leat__trace_worker(leat__trace *trace, int worker) {
    return trace ? &trace->worker[worker] : NULL;
}

/* ------------------------------------------------------------------------------------------------ add */

static leat_event *last_of(leat__trace_ring *ring) {
    return ring->n ? &ring->event[(ring->n - 1) % ring->cap] : NULL;
}

void leat__trace_add(leat__trace_ring *ring, leat_event event) {
    if (event.end_ns == 0) event.end_ns = leat__now_ns();
    leat__lock(&ring->mutex);
    leat_event *last = last_of(ring);
    /* A worker that was woken for nothing has been idle all the time. */
    if (event.kind == LEAT_EVENT_IDLE && last && last->kind == LEAT_EVENT_IDLE) last->end_ns = event.end_ns;
    else ring->event[ring->n++ % ring->cap] = event;
    leat__unlock(&ring->mutex);
}

void leat__trace_begin(leat__trace_mark *mark, const uint64_t *stage_ns) {
    memcpy(mark->stage_ns, stage_ns, sizeof mark->stage_ns);
    mark->begin_ns = leat__now_ns();
}

void leat__trace_sample(leat__trace_ring *ring, const leat__trace_mark *mark, const uint64_t *stage_ns,
                        leat_event event) {
    event.kind = LEAT_EVENT_SAMPLE;
    event.begin_ns = mark->begin_ns;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++)
        event.stage_ns[i] = stage_ns[i] - mark->stage_ns[i];
    leat__trace_add(ring, event);
}

void leat__trace_reading(leat__trace *trace, int reader) {
    if (reader < READERS_MAX) trace->reading_ns[reader] = leat__now_ns();
}

void leat__trace_read(leat__trace *trace, int reader, uint64_t sample) {
    if (reader >= READERS_MAX) return;
    leat__trace_add(&trace->readers, (leat_event){.kind = LEAT_EVENT_READ,
                                                  .thread = reader,
                                                  .begin_ns = trace->reading_ns[reader],
                                                  .sample = sample});
}

void leat__trace_handed(leat__trace *trace, uint64_t asked_ns, uint64_t epoch, uint64_t batch, int n_ready) {
    const uint64_t now = leat__now_ns();
    leat_event event = {.kind = LEAT_EVENT_STEP,
                        .begin_ns = trace->handed_ns,
                        .end_ns = asked_ns,
                        .sample = LEAT_NO_SAMPLE,
                        .epoch = epoch,
                        .batch = batch};
    if (trace->handed_ns) leat__trace_add(&trace->consumer, event);
    event.kind = LEAT_EVENT_WAIT;
    event.begin_ns = asked_ns;
    event.end_ns = trace->handed_ns = now;
    event.n_ready = n_ready;
    leat__trace_add(&trace->consumer, event);
}

/* ----------------------------------------------------------------------------------------------- copy */

/* From when on the ring knows everything; 0 = it has forgotten nothing. */
static uint64_t knows_since(leat__trace_ring *ring) {
    leat__lock(&ring->mutex);
    const uint64_t since = ring->n > ring->cap ? ring->event[ring->n % ring->cap].begin_ns : 0;
    leat__unlock(&ring->mutex);
    return since;
}

static uint64_t copy_ring(leat__trace_ring *ring, uint64_t since, uint64_t zero_ns, leat_event *events,
                          uint64_t cap, uint64_t n) {
    leat__lock(&ring->mutex);
    for (uint64_t i = ring->n > ring->cap ? ring->n - ring->cap : 0; i < ring->n; i++) {
        const leat_event *event = &ring->event[i % ring->cap];
        if (event->begin_ns < since) continue;
        if (n < cap) {
            events[n] = *event;
            events[n].begin_ns -= zero_ns;
            events[n].end_ns -= zero_ns;
        }
        n++;
    }
    leat__unlock(&ring->mutex);
    return n;
}

uint64_t leat__trace_events(leat__trace *trace, uint64_t zero_ns, leat_event *events, uint64_t cap) {
    uint64_t since = LEAT_MAX(knows_since(&trace->consumer), knows_since(&trace->readers));
    for (int i = 0; i < trace->n_workers; i++) since = LEAT_MAX(since, knows_since(&trace->worker[i]));
    uint64_t n = copy_ring(&trace->consumer, since, zero_ns, events, cap, 0);
    for (int i = 0; i < trace->n_workers; i++)
        n = copy_ring(&trace->worker[i], since, zero_ns, events, cap, n);
    return copy_ring(&trace->readers, since, zero_ns, events, cap, n);
}
