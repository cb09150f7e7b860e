/* SPDX-License-Identifier: Apache-2.0 */
/* What binds: leat_diagnose tells it from counters. The doctor knows more: how fast the consumer wants its batches, what was
 * asked for by options, what the machine withholds. These causes come first, because each of them looks like slow work. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/doctor/doctor.h"

/* As TensorFlow's analyzer counts: a consumer that waits less than this share of its time is served. */
static const double served = 0.05;
static const double much = 0.3;
/* A quota or a lack of memory that takes a tenth of the time is the news. */
static const double withheld = 0.1;
enum { SMALL_FILE = 64 << 10 };

const char *leat_bottleneck_name(int bottleneck) {
    static const char *const names[] = {
        [LEAT_BOTTLENECK_NONE] = "none",           [LEAT_BOTTLENECK_CONSUMER] = "consumer",
        [LEAT_BOTTLENECK_STREAM] = "gzip",         [LEAT_BOTTLENECK_STORAGE] = "storage",
        [LEAT_BOTTLENECK_CORES] = "cores",         [LEAT_BOTTLENECK_READ] = "read",
        [LEAT_BOTTLENECK_PARSE] = "parse",         [LEAT_BOTTLENECK_DECODE] = "decode",
        [LEAT_BOTTLENECK_TRANSFORM] = "transform", [LEAT_BOTTLENECK_STORE] = "store",
        [LEAT_BOTTLENECK_CALL] = "function",       [LEAT_BOTTLENECK_THREADS] = "threads",
        [LEAT_BOTTLENECK_FILES] = "files",         [LEAT_BOTTLENECK_SLOTS] = "prefetch",
        [LEAT_BOTTLENECK_BUDGET] = "budget",       [LEAT_BOTTLENECK_QUOTA] = "quota",
        [LEAT_BOTTLENECK_PRESSURE] = "pressure",   [LEAT_BOTTLENECK_OTHERS] = "others"};
    return bottleneck >= 0 && (size_t)bottleneck < LEAT_COUNT(names) ? names[bottleneck] : "none";
}

bool leat__op_has(const leat__op *op, const char *arg) {
    for (int i = 0; leat__op_arg(op, i); i++)
        if (strcmp(leat__op_arg(op, i)->name, arg) == 0) return true;
    return false;
}

static int percent_of(double share) {
    return (int)(LEAT_CLAMP(share, 0.0, 1.0) * 100 + 0.5);
}

static bool tell(leat__doctor *d, int bottleneck, double share, const char *fmt, ...) LEAT_PRINTF(4, 5);
static bool tell(leat__doctor *d, int bottleneck, double share, const char *fmt, ...) {
    leat_diagnosis *v = &d->report->verdict;
    va_list args;
    v->bottleneck = bottleneck;
    v->percent = percent_of(share);
    va_start(args, fmt);
    vsnprintf(v->sentence, sizeof v->sentence, fmt, args);
    va_end(args);
    v->remedy[0] = 0;
    return true;
}

/* ----------------------------------------------------------------------------------- what is withheld */

static bool find_machine(leat__doctor *d) {
    if (d->throttled > withheld)
        return tell(
            d, LEAT_BOTTLENECK_QUOTA, d->throttled,
            "The processor quota binds: the cgroup allows %.2g cores and stopped the threads %d %% of the "
            "time.",
            d->quota_cores, percent_of(d->throttled));
    if (d->pressure > withheld * 100)
        return tell(d, LEAT_BOTTLENECK_PRESSURE, d->pressure / 100,
                    "The machine is short of memory: threads waited for it %.0f %% of the last ten seconds.",
                    d->pressure);
    return false;
}

/* A cache in memory that has no room for more while samples are made anew. */
static bool cache_is_small(const leat__doctor *d) {
    const leat_stats *s = &d->now.stats;
    const leat__plan *plan = leat__doctor_plan(d);
    return plan->caching.wanted && !plan->caching.path &&
           (double)s->cache_misses > 0.2 * (double)(s->cache_hits + s->cache_misses);
}

static bool find_settings(leat__doctor *d, double idle) {
    const leat_stats *s = &d->now.stats;
    const leat__plan *plan = leat__doctor_plan(d);
    const bool paced = d->consumer.step_ns > 0;
    if (paced && d->now.wait < served)
        return tell(d, LEAT_BOTTLENECK_CONSUMER, 1 - d->now.wait,
                    "The input is not the problem: the consumer waited %.1f %% of the time.",
                    d->now.wait * 100);
    if (cache_is_small(d)) {
        const double part = (double)s->cache_misses / (double)(s->cache_hits + s->cache_misses);
        return tell(d, LEAT_BOTTLENECK_BUDGET, part,
                    "The byte budget is too small: the cache has no room for %d %% of the samples.",
                    percent_of(part));
    }
    /* A consumer that takes more at once than may wait for it must wait: then less idling tells as much. */
    const bool bursts = d->consumer.at_once > (int)s->slots;
    if (paced && idle > (bursts ? withheld : much) && !plan->stream) {
        const bool asked = d->config.n_slots > 0 || plan->prefetch > 0;
        return tell(
            d, asked ? LEAT_BOTTLENECK_SLOTS : LEAT_BOTTLENECK_BUDGET, idle,
            "%s: %" PRIu64 " batches wait at most, the workers idled %d %%, the consumer waited %d %%.",
            asked ? "Too few batches are made ahead" : "The byte budget is too small for more batches",
            s->slots, percent_of(idle), percent_of(d->now.wait));
    }
    return false;
}

/* ---------------------------------------------------------------------------------------- what is work */

int leat__doctor_top(const leat__doctor *d, double *share) {
    int top = LEAT_STAGE_READ;
    double total = 0;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        total += d->work_s[i];
        if (d->work_s[i] > d->work_s[top]) top = i;
    }
    *share = total > 0 ? d->work_s[top] / total : 0;
    return top;
}

static bool find_work(leat__doctor *d, double idle) {
    const leat_stats *s = &d->now.stats;
    double share;
    const int top = leat__doctor_top(d, &share);
    if (idle < much && top == LEAT_STAGE_CALL)
        return tell(
            d, LEAT_BOTTLENECK_CALL, share,
            "A function of the program is the bottleneck: %d %% of the work, %.2f ms for each sample.",
            percent_of(share), d->work_s[top] * 1e3);
    if (idle < much && s->n_threads < d->cores)
        return tell(d, LEAT_BOTTLENECK_THREADS, 1 - (double)s->n_threads / d->cores,
                    "%d thread%s the work, and %d cores are there; %d %% of it is %s.", s->n_threads,
                    s->n_threads == 1 ? " does" : "s do", d->cores, percent_of(share), leat_stage_name(top));
    return false;
}

/* Reading binds, and each sample is a small file: it is opening that costs. */
static void refine_reading(leat__doctor *d) {
    const leat_diagnosis *v = &d->report->verdict;
    const bool reading = v->bottleneck == LEAT_BOTTLENECK_READ || v->bottleneck == LEAT_BOTTLENECK_STORAGE;
    if (!reading || !leat__doctor_plan(d)->source->class->opens || !(d->bytes_each < SMALL_FILE)) return;
    const double us = d->work_s[LEAT_STAGE_READ] * 1e6;
    tell(d, LEAT_BOTTLENECK_FILES, v->percent / 100.0,
         "Opening many small files is the bottleneck: %.1f KB each, %.1f %s to read one.",
         d->bytes_each / 1e3, us < 1000 ? us : us / 1000, us < 1000 ? "us" : "ms");
}

static int ceiling_of(const leat__doctor *d, const char *name) {
    for (int i = 0; i < d->report->n_ceilings; i++)
        if (strcmp(d->report->ceiling[i].name, name) == 0) return i;
    return -1;
}

static const char *binding_name(const leat__doctor *d) {
    double share;
    switch (d->report->verdict.bottleneck) {
    case LEAT_BOTTLENECK_CONSUMER: return d->consumer.step_ns ? "consumer" : "";
    case LEAT_BOTTLENECK_STORAGE:
    case LEAT_BOTTLENECK_FILES:
    case LEAT_BOTTLENECK_READ: return "storage, warm";
    case LEAT_BOTTLENECK_CALL: return "call";
    case LEAT_BOTTLENECK_STREAM: return "stream";
    case LEAT_BOTTLENECK_PARSE: return "parse";
    case LEAT_BOTTLENECK_DECODE: return "decode";
    case LEAT_BOTTLENECK_TRANSFORM: return "transform";
    case LEAT_BOTTLENECK_STORE: return "store";
    case LEAT_BOTTLENECK_THREADS: {
        const int top = leat__doctor_top(d, &share);
        return top == LEAT_STAGE_READ ? "storage, warm" : leat_stage_name(top);
    }
    default: return "";
    }
}

void leat__doctor_verdict(leat__doctor *d) {
    leat_doctor_report *report = d->report;
    const leat_stats *s = &d->now.stats;
    const double time = d->now.seconds * LEAT_MAX(s->n_threads, 1);
    const double idle = LEAT_CLAMP(s->full_s / time, 0.0, 1.0);
    if (!find_machine(d) && !find_settings(d, idle) && !find_work(d, idle)) {
        leat_stats alone = *s;
        alone.queue_s = 0; /* the part of other programs is a note: what is asked is the pipeline */
        leat_diagnose(&report->verdict, d->base.pipeline, &alone, d->now.seconds, NULL);
        if (!d->doctor.no_trials) report->verdict.remedy[0] = 0; /* trials tell which remedy is one here */
        refine_reading(d);
    }
    report->input_binds = !(d->consumer.step_ns > 0 && d->now.wait < served);
    report->binding = ceiling_of(d, binding_name(d));
}
