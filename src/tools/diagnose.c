/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of the work binds a pipeline, from its counters, and what to try. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cpu.h"
#include "leat/leat_tools.h"
#include "plan/stream_plan.h"
#include "run/pipeline.h"
#include "tools/tools.h"

/* Workers that rest or wait for more than this share of their time are the news; below, work is. */
static const double much = 0.3;

typedef struct view { /* the counters as shares */
    const leat_pipeline *pipeline;
    int threads, cores;
    double idle;    /* of the workers' time, without work                     */
    double blocked; /* of their busy time, not on a core                      */
    double reading; /* of it, waiting for storage                             */
    double queued;  /* of all their time, waiting for a core                  */
    int top, part;  /* the stage with the most work, and its share in percent */
} view;

static double share(double part, double whole) {
    const double x = whole > 0 ? part / whole : 0;
    return LEAT_CLAMP(x, 0.0, 1.0);
}

static view look(const leat_pipeline *pipeline, const leat_stats *stats, double seconds, int cores) {
    view v = {.pipeline = pipeline,
              .threads = LEAT_MAX(stats->n_threads, 1),
              .cores = cores,
              .top = LEAT_STAGE_READ};
    const double time = seconds * v.threads, busy = time - stats->full_s;
    v.idle = share(stats->full_s, time);
    v.blocked = share(busy - stats->cpu_s, busy);
    v.reading = share(stats->read_wait_s, busy);
    v.queued = share(stats->queue_s, time);
    double total = 0;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        total += stats->stage_s[i];
        if (stats->stage_s[i] > stats->stage_s[v.top]) v.top = i;
    }
    v.part = (int)(share(stats->stage_s[v.top], total) * 100 + 0.5);
    return v;
}

static bool source_is(const view *v, const char *name) {
    return strncmp((const char *)v->pipeline->plan.text.data, name, strlen(name)) == 0;
}

static void tell(leat_diagnosis *out, int bottleneck, int percent, const char *fmt, ...) LEAT_PRINTF(4, 5);
static void tell(leat_diagnosis *out, int bottleneck, int percent, const char *fmt, ...) {
    va_list args;
    out->bottleneck = bottleneck;
    out->percent = percent;
    va_start(args, fmt);
    vsnprintf(out->sentence, sizeof out->sentence, fmt, args);
    va_end(args);
}

static void advise(leat_diagnosis *out, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void advise(leat_diagnosis *out, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->remedy, sizeof out->remedy, fmt, args);
    va_end(args);
}

static int percent_of(double x) {
    return (int)(x * 100 + 0.5);
}

/* Whose threads these are is not known here. */
static void tell_others(const view *v, leat_diagnosis *out) {
    tell(out, LEAT_BOTTLENECK_OTHERS, percent_of(v->queued),
         "Other work has the cores: the workers waited for one %d %% of the time.", percent_of(v->queued));
    advise(out,
           "Try fewer threads beside it (top -H lists them); leat doctor tells whether a quota stops it.");
}

/* What is no stage's work: false if nothing of the kind binds. */
static bool find_waiting(const view *v, leat_diagnosis *out) {
    if (v->idle > much && v->queued > v->idle && v->threads <= v->cores) {
        tell_others(v, out); /* who hands the work out has no core either */
    } else if (v->idle > much && leat__stream_plan_streams(&v->pipeline->plan) > 0 &&
               source_is(v, "tfrecord")) {
        tell(out, LEAT_BOTTLENECK_STREAM, percent_of(v->idle),
             "Inflating the stream is the bottleneck: one thread does it and the workers wait.");
        advise(out, "Try files without compression: they are read in parallel and shuffled as a whole.");
    } else if (v->idle > much) {
        tell(out, LEAT_BOTTLENECK_CONSUMER, percent_of(v->idle),
             "Handing over batches is the bottleneck: the workers had nothing to do %d %% of the time.",
             percent_of(v->idle));
        advise(out, "Try a larger batch, or more slots (--slots).");
    } else if (v->top == LEAT_STAGE_READ && source_is(v, "synth")) {
        tell(out, LEAT_BOTTLENECK_READ, v->part,
             "Making up the pictures is the bottleneck: %d %% of the work.", v->part);
        advise(out, "Try your own data, or pictures made once: leat synth DIR writes them.");
    } else if (v->top == LEAT_STAGE_READ && v->reading > much) {
        tell(out, LEAT_BOTTLENECK_STORAGE, percent_of(v->reading),
             "Storage is the bottleneck: the workers waited for it %d %% of the time.",
             percent_of(v->reading));
        advise(out,
               "Try packing small files into TFRecords (leat pack), more threads (-t %d), or a faster disk.",
               v->threads * 2);
    } else if (v->threads > v->cores && v->blocked > much) {
        tell(out, LEAT_BOTTLENECK_CORES, percent_of(v->blocked),
             "The cores are the bottleneck: %d threads share %d of them.", v->threads, v->cores);
        advise(out, "Try -t %d.", v->cores);
    } else if (v->queued > much) {
        tell_others(v, out);
    } else return false;
    return true;
}

static void find_work(const view *v, leat_diagnosis *out) {
    const bool more = v->threads < v->cores, folder = source_is(v, "folder");
    switch (v->top) {
    case LEAT_STAGE_DECODE:
        tell(out, LEAT_BOTTLENECK_DECODE, v->part, "Decoding is the bottleneck: %d %% of the work.", v->part);
        advise(out, "Try %s%s", more ? "more threads, and " : "",
               folder
                   ? "smaller pictures: leat pack SRC OUT --size 256x256 shrinks them once."
                   : "raw pixels: leat pack SRC OUT --size 256x256 --raw leaves nothing to decode, for more "
                     "bytes.");
        break;
    case LEAT_STAGE_READ:
        tell(out, LEAT_BOTTLENECK_READ, v->part, "Reading is the bottleneck: %d %% of the work.", v->part);
        advise(out, "Try %s",
               folder ? "packing the files into TFRecords (leat pack): opening a file costs more than "
                        "reading a record."
               : more ? "more threads."
                      : "smaller samples; the bytes and their checksums are what it costs.");
        break;
    case LEAT_STAGE_PARSE:
        tell(out, LEAT_BOTTLENECK_PARSE, v->part, "Parsing records is the bottleneck: %d %% of the work.",
             v->part);
        advise(out, "Try %sfewer or larger features.", more ? "more threads, or " : "");
        break;
    case LEAT_STAGE_TRANSFORM:
        tell(out, LEAT_BOTTLENECK_TRANSFORM, v->part,
             "Transforming pixels is the bottleneck: %d %% of the work.", v->part);
        advise(out, "Try %sa smaller output, or u8 batches that the device turns into floats.",
               more ? "more threads, " : "");
        break;
    case LEAT_STAGE_CALL:
        tell(out, LEAT_BOTTLENECK_CALL, v->part,
             "The program's own functions are the bottleneck: %d %% of the work.", v->part);
        advise(out, "Try operations of leat in their place, or functions that several threads may call.");
        break;
    default:
        tell(out, LEAT_BOTTLENECK_STORE, v->part, "Writing the batches is the bottleneck: %d %% of the work.",
             v->part);
        advise(out, "Try a smaller type for the largest field.");
    }
}

void leat__diagnose(leat_diagnosis *out, const leat_pipeline *pipeline, const leat_stats *stats,
                    double seconds, int cores) {
    *out = (leat_diagnosis){0};
    const view v = look(pipeline, stats, seconds, cores);
    if (!find_waiting(&v, out)) find_work(&v, out);
}

int leat_diagnose(leat_diagnosis *out, const leat_pipeline *pipeline, const leat_stats *stats, double seconds,
                  leat_error *err) {
    leat__error_clear(err);
    if (!out || !pipeline) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_diagnose: an argument is NULL");
    *out = (leat_diagnosis){0};
    leat_stats own;
    if (!stats) leat_pipeline_stats(pipeline, &own);
    if (!(seconds > 0))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_diagnose: the time must be above 0 seconds");
    leat__diagnose(out, pipeline, stats ? stats : &own, seconds, leat__cpu_count());
    return 0;
}
