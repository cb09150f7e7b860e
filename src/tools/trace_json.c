/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of a pipeline in Chrome's JSON format: "X" events with a beginning and a duration in microseconds, which nest if
 * one lies inside of another; "C" events for a number over time; "M" events for the names of threads. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "run/pipeline.h"

static_assert(LEAT_STAGE_COUNT <= 8, "leat_event.stage_ns has room for all stages");

enum { TID_CONSUMER = 1, TID_WORKER = 2, TID_READER = 1000 };

typedef struct writing {
    leat__out *out;
    leat_error *err;
    int rc;
    long pid;
    uint64_t n; /* events so far */
} writing;

uint64_t leat_trace_events(const leat_pipeline *pipeline, leat_event *events, uint64_t cap) {
    if (!pipeline || !pipeline->trace || pipeline->owner != getpid()) return 0;
    return leat__trace_events(pipeline->trace, pipeline->opened_ns, events, events ? cap : 0);
}

static LEAT_PRINTF(2, 3) void put(writing *w, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (w->rc == 0) w->rc = leat__out_write(w->out, text, (size_t)n, w->err);
}

static void begin(writing *w, const char *kind, const char *name, int tid) {
    put(w, "%s\n{\"ph\":\"%s\",\"name\":\"%s\",\"pid\":%ld,\"tid\":%d", w->n++ ? "," : "", kind, name, w->pid,
        tid);
}

/* Digits by hand: the decimal point of printf depends on the locale of the program. */
static void put_time(writing *w, const char *key, uint64_t ns) {
    put(w, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_slice(writing *w, const char *name, int tid, uint64_t begin_ns, uint64_t end_ns) {
    begin(w, "X", name, tid);
    put_time(w, "ts", begin_ns);
    put_time(w, "dur", end_ns - begin_ns);
}

/* ---------------------------------------------------------------------------------------------- threads */

static int tid_of(const leat_event *event) {
    switch (event->kind) {
    case LEAT_EVENT_WAIT:
    case LEAT_EVENT_STEP: return TID_CONSUMER;
    case LEAT_EVENT_READ: return TID_READER + event->thread;
    default: return TID_WORKER + event->thread;
    }
}

static void put_thread(writing *w, int tid) {
    char name[40];
    if (tid == TID_CONSUMER) snprintf(name, sizeof name, "consumer");
    else if (tid < TID_READER) snprintf(name, sizeof name, "worker %d", tid - TID_WORKER);
    else snprintf(name, sizeof name, "reader %d", tid - TID_READER);
    begin(w, "M", "thread_name", tid);
    put(w, ",\"args\":{\"name\":\"%s\"}}", name);
    begin(w, "M", "thread_sort_index", tid);
    put(w, ",\"args\":{\"sort_index\":%d}}", tid);
}

/* Events of a worker come one after the other; those of readers are mixed. */
static void put_threads(writing *w, const leat_event *events, uint64_t n) {
    bool seen[TID_READER + LEAT_READING_MAX] = {false};
    for (uint64_t i = 0; i < n; i++) {
        const int tid = tid_of(&events[i]);
        if (tid < 0 || (size_t)tid >= LEAT_COUNT(seen) || seen[tid]) continue;
        seen[tid] = true;
        put_thread(w, tid);
    }
}

/* ----------------------------------------------------------------------------------------------- events */

/* The stages one behind the other, in the order in which a sample lives. */
static void put_stages(writing *w, const leat_event *event, int tid) {
    uint64_t at = event->begin_ns;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        const uint64_t ns = LEAT_MIN(event->stage_ns[i], event->end_ns - at);
        if (ns == 0) continue;
        put_slice(w, leat_stage_name(i), tid, at, at + ns);
        put(w, "}");
        at += ns;
    }
}

static void put_event(writing *w, const leat_event *event) {
    static const char *const names[] = {
        [LEAT_EVENT_SAMPLE] = "sample", [LEAT_EVENT_FINISH] = "finish batch",   [LEAT_EVENT_IDLE] = "idle",
        [LEAT_EVENT_READ] = "read",     [LEAT_EVENT_WAIT] = "wait for a batch", [LEAT_EVENT_STEP] = "step"};
    if (event->kind < 0 || (size_t)event->kind >= LEAT_COUNT(names) || event->end_ns < event->begin_ns)
        return;
    const int tid = tid_of(event);
    put_slice(w, names[event->kind], tid, event->begin_ns, event->end_ns);
    put(w, ",\"args\":{");
    if (event->sample != LEAT_NO_SAMPLE)
        put(w, "\"sample\":%" PRIu64 "%s", event->sample, event->kind == LEAT_EVENT_READ ? "" : ",");
    if (event->kind != LEAT_EVENT_READ && event->kind != LEAT_EVENT_IDLE)
        put(w, "\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64, event->epoch, event->batch);
    put(w, "}}");
    if (event->kind == LEAT_EVENT_SAMPLE) put_stages(w, event, tid);
    if (event->kind != LEAT_EVENT_WAIT) return;
    begin(w, "C", "batches ready", tid);
    put_time(w, "ts", event->end_ns);
    put(w, ",\"args\":{\"ready\":%" PRIu64 "}}", event->n_ready);
}

int leat_trace_write(const leat_event *events, uint64_t n, const char *path, leat_error *err) {
    leat__error_clear(err);
    if ((!events && n) || !path)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_trace_write: an argument is NULL");
    writing w = {.err = err, .pid = (long)getpid()};
    LEAT_TRY(leat__out_open(&w.out, path, err));
    put(&w, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"version\":\"leat %s\"},\"traceEvents\":[",
        LEAT_VERSION);
    begin(&w, "M", "process_name", TID_CONSUMER);
    put(&w, ",\"args\":{\"name\":\"leat\"}}");
    put_threads(&w, events, n);
    for (uint64_t i = 0; i < n && w.rc == 0; i++) put_event(&w, &events[i]);
    put(&w, "\n]}\n");
    if (w.rc == 0) return leat__out_commit(&w.out, err);
    leat__out_abort(&w.out);
    return w.rc;
}
