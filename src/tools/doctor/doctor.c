/* SPDX-License-Identifier: Apache-2.0 */
/* leat_doctor: runs the pipeline, measures ceilings, names the cause, tries remedies. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/runtime/waits.h"
#include "tools/doctor/doctor.h"

enum { MOMENTS = 100, TRIAL_ROUNDS = 3, APPLY_ROUNDS = 5 };
static const double worth = 1.05; /* smaller gains are not told: machines vary by as much */
static const double warm_least_s =
    0.5; /* in which the tuner finds how many slots a trial needs, and touches them */
static const double taken = 0.15; /* of the cores by other programs: less is usual */

int leat__doctor_progress(const leat__doctor *d, const char *what, uint64_t done, uint64_t total,
                          leat_error *err) {
    return d->config.progress && d->config.progress(d->config.user, what, done, total)
               ? leat__fail(err, LEAT_ERR_CANCELLED, "stopped before the measurement was over")
               : 0;
}

static void *keep(leat_doctor_report *report, size_t bytes) {
    void *memory = leat__arena_alloc(report->memory, bytes);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

static const char *keep_text(leat_doctor_report *report, const void *text, size_t n) {
    char *copy = keep(report, n + 1);
    if (copy) memcpy(copy, text, n);
    return copy;
}

void leat_doctor_free(leat_doctor_report *report) {
    if (!report) return;
    if (report->memory) leat__arena_free(report->memory);
    leat__free(report->memory);
    *report = (leat_doctor_report){0};
}

/* ------------------------------------------------------------------------------------------ opening */

static int check(const leat_spec *spec, const leat_config *pipeline, const leat_doctor_config *doctor,
                 leat__doctor *d, leat_error *err) {
    if (pipeline) LEAT_TRY(LEAT_CHECK_RESERVED(leat_config, pipeline, err));
    if (doctor) LEAT_TRY(LEAT_CHECK_RESERVED(leat_doctor_config, doctor, err));
    LEAT_TRY(leat_spec_error(spec, err));
    d->spec = spec;
    if (pipeline) d->config = *pipeline;
    d->trace_events = d->config.trace_events; /* leat__doctor_trace: nothing else is traced */
    d->config.trace_events = 0;
    if (doctor) d->doctor = *doctor;
    if (d->doctor.seconds == 0) d->doctor.seconds = 3;
    if (!(d->doctor.seconds > 0) || d->doctor.seconds > 3600 || !(d->doctor.step_ms >= 0) ||
        d->doctor.step_ms > 1e6 || d->doctor.at_once < 0 || d->doctor.at_once > 1000)
        return leat__fail(
            err, LEAT_ERR_ARGUMENT,
            "leat_doctor: seconds must lie in (0, 3600], step_ms in [0, 1e6], at_once in [0, 1000]");
    d->consumer =
        (leat__consumer){.step_ns = (uint64_t)(d->doctor.step_ms * 1e6), .at_once = d->doctor.at_once};
    d->cores = leat__cpu_count();
    d->quota_cores = leat__limits_cores("");
    return 0;
}

static int open_base(leat__doctor *d, leat_error *err) {
    const char *text = (const char *)d->spec->text.data;
    LEAT_TRY(leat__runner_open(&d->base, d->spec, text ? text : "", &d->config, &d->consumer, err));
    d->base.what = "measuring";
    d->base.progress_of = d->doctor.seconds * 4 / 3;
    LEAT_TRY(leat__runner_warm(&d->base, d->doctor.seconds / 3, err));
    d->base.progress_s = d->doctor.seconds / 3;
    return 0;
}

static bool has_pictures(const leat_pipeline *pipeline) {
    leat_field first;
    return leat_pipeline_fields(pipeline, &first, 1) > 0 &&
           (strcmp(first.name, "image") == 0 || first.layout != LEAT_LAYOUT_NONE);
}

static void add_note(leat__doctor *d, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void add_note(leat__doctor *d, const char *fmt, ...) {
    char *note = d->report->note;
    const size_t cap = sizeof d->report->note, n = strlen(note);
    va_list args;
    if (n + 1 < cap && n > 0) snprintf(note + n, cap - n, " ");
    va_start(args, fmt);
    vsnprintf(note + strlen(note), cap - strlen(note), fmt, args);
    va_end(args);
}

/* Threads wait for a core while this process does not have all of them: other programs do. */
static void tell_others(leat__doctor *d) {
    const double wanted = d->cores_used + d->queued;
    if (d->queued > taken * d->cores && d->cores_used < (1 - taken) * d->cores && d->throttled < taken)
        add_note(d,
                 "Other programs had cores that this one wanted: its threads waited for a core in %.0f %% of "
                 "their "
                 "time. Rates and gains will differ when those programs have ended.",
                 100 * d->queued / wanted);
}

static int measure_base(leat__doctor *d, leat_error *err) {
    leat_doctor_report *report = d->report;
    leat__series series = {.moments = keep(report, MOMENTS * sizeof *report->moments),
                           .cap = MOMENTS,
                           .every_s = d->doctor.seconds / (MOMENTS / 2)};
    if (!series.moments) return leat__fail_memory(err, MOMENTS * sizeof *report->moments, "a report");
    const uint64_t throttled = leat__limits_throttled(""), queued = leat__waits_queued();
    const uint64_t used = leat__clock_read(CLOCK_PROCESS_CPUTIME_ID), began = leat__now_ns();
    LEAT_TRY(leat__runner_measure(&d->base, d->doctor.seconds, &d->now, &series, err));
    const double took = (double)(leat__now_ns() - began);
    d->queued = (double)(leat__waits_queued() - queued) / took;
    d->cores_used = (double)(leat__clock_read(CLOCK_PROCESS_CPUTIME_ID) - used) / took;
    const double stopped = (double)(leat__limits_throttled("") - throttled) * 1e-9;
    const leat_stats *s = &d->now.stats;
    d->throttled = LEAT_MIN(stopped / (d->now.seconds * LEAT_CLAMP(s->n_threads, 1, 1024)), 1.0);
    d->pressure = leat__limits_pressure("");
    d->bytes_each = (double)s->bytes_read / (double)LEAT_MAX(s->samples, 1);
    for (int i = 0; i < LEAT_STAGE_COUNT; i++) d->work_s[i] = s->stage_s[i] / (double)LEAT_MAX(s->samples, 1);
    d->base.what = NULL;
    report->images = has_pictures(d->base.pipeline);
    report->epoch_samples = leat_pipeline_samples(d->base.pipeline);
    report->rate = d->now.rate;
    report->latency = d->now.latency;
    report->seconds = d->now.seconds;
    report->wait = d->now.wait;
    report->stats = *s;
    report->moments = series.moments;
    report->n_moments = series.n;
    tell_others(d);
    return 0;
}

/* ----------------------------------------------------------------------------------------- remedies */

int leat__doctor_try(leat__doctor *d, const leat__remedy_row *row, leat__change *change, const char *folder,
                     double seconds, leat__versus *out, leat_error *err) {
    change->config = d->config;
    change->folder = folder;
    change->command.kind = LEAT_MEM_TOOL;
    LEAT_TRY(leat__edit_begin(&change->edit, d->spec, err));
    int rc = row->change(d, change, err);
    if (rc != 0 || row->predict) return rc;
    const char *text = leat__edit_text(&change->edit);
    if (!text) return leat__fail_memory(err, 1000, "a pipeline text");
    leat__runner trial = {0};
    change->config.log = NULL; /* the pipeline itself has said it all */
    LEAT_TRY(leat__runner_open(&trial, d->spec, text, &change->config, &d->consumer, err));
    rc = row->accepts && !row->accepts(trial.pipeline) ? LEAT_END : 0;
    if (rc == 0) rc = leat__runner_warm(&trial, LEAT_MAX(seconds / 3, warm_least_s), err);
    const int rounds = change->limit == UINT64_MAX ? APPLY_ROUNDS : TRIAL_ROUNDS;
    if (rc == 0) rc = leat__runners_compare(&d->base, &trial, seconds, rounds, out, err);
    if (rc == 0 && row->cost) row->cost(d, change, &out->last);
    leat__runner_close(&trial);
    return rc;
}

static int add_remedy(leat__doctor *d, const leat__remedy_row *row, leat__change *change,
                      const leat__versus *versus, leat_error *err) {
    leat_doctor_report *report = d->report;
    leat_remedy *r = &report->remedies[report->n_remedies];
    *r = (leat_remedy){.kind = row->kind, .write_bytes = change->write_bytes};
    snprintf(r->name, sizeof r->name, "%s", row->name);
    snprintf(r->title, sizeof r->title, "%s", change->title);
    snprintf(r->cost, sizeof r->cost, "%s", change->cost);
    snprintf(r->how, sizeof r->how, "%s", *change->how ? change->how : "the same samples, in turns");
    r->rate = row->predict ? row->predict(d, change) : report->rate * versus->gain;
    /* No prediction is above what the consumer takes; a trial had the consumer. */
    if (row->predict && d->consumer_rate > 0) r->rate = LEAT_MIN(r->rate, d->consumer_rate);
    r->gain = report->rate > 0 ? r->rate / report->rate : 0;
    r->spread = versus->spread;
    if (r->gain < worth && row->kind != LEAT_REMEDY_ADVICE) return 0;
    r->command = keep_text(report, change->command.data, change->command.size);
    if (!r->command) return leat__fail_memory(err, change->command.size, "a report");
    report->n_remedies++;
    return 0;
}

/* How many samples a trial writes or keeps: enough for some batches, few enough for a second of work. */
static uint64_t trial_samples(const leat__doctor *d) {
    const double some = d->now.rate * d->doctor.seconds / 3;
    const uint64_t least = 4 * (uint64_t)LEAT_MAX(leat__doctor_plan(d)->batch, 8);
    return LEAT_CLAMP((uint64_t)some, least, LEAT_MAX((uint64_t)2048, least));
}

/* A folder for one trial, empty: false when there can be none, and the report says so. */
static bool make_folder(leat__doctor *d, char *folder, size_t cap) {
    leat_error err;
    if (d->no_folder) return false;
    if (leat__dir_temporary(folder, cap, d->doctor.folder, &err) == 0) return true;
    d->no_folder = true;
    add_note(d, "Remedies that write files were not tried: %.180s. --folder names another place.",
             err.message);
    return false;
}

static int try_row(leat__doctor *d, const leat__remedy_row *row, leat_error *err) {
    char folder[PATH_MAX] = "";
    if (!row->applies(d) || (row->writes && !make_folder(d, folder, sizeof folder))) return 0;
    leat__change change = {.limit = trial_samples(d)};
    leat__versus versus = {0};
    leat_error failed;
    int rc = leat__doctor_try(d, row, &change, folder, d->doctor.seconds * 2 / 3, &versus, &failed);
    if (rc == 0) rc = add_remedy(d, row, &change, &versus, err);
    else if (rc == LEAT_ERR_CANCELLED && err) *err = failed;
    leat__change_free(&change);
    leat__dir_remove(folder);
    /* A remedy that cannot be made here is none: other failures are no news. */
    return rc == LEAT_ERR_CANCELLED || rc == LEAT_ERR_MEMORY ? rc : 0;
}

static void sort_remedies(leat_doctor_report *report) {
    for (int i = 1; i < report->n_remedies; i++) {
        const leat_remedy r = report->remedies[i];
        int k = i;
        for (; k > 0 && report->remedies[k - 1].gain < r.gain; k--)
            report->remedies[k] = report->remedies[k - 1];
        report->remedies[k] = r;
    }
}

int leat__doctor_remedies(leat__doctor *d, leat_error *err) {
    d->report->remedies = keep(d->report, LEAT_DOCTOR_REMEDIES * sizeof *d->report->remedies);
    if (!d->report->remedies) return leat__fail_memory(err, sizeof *d->report->remedies, "a report");
    int n = 0;
    while (leat__remedy_at(n)) n++;
    for (int i = 0; i < n && d->report->n_remedies < LEAT_DOCTOR_REMEDIES; i++) {
        LEAT_TRY(leat__doctor_progress(d, "trying remedies", (uint64_t)i, (uint64_t)n, err));
        LEAT_TRY(try_row(d, leat__remedy_at(i), err));
    }
    sort_remedies(d->report);
    return 0;
}

/* -------------------------------------------------------------------------------------------- doors */

static int report_window(leat__doctor *d, leat_error *err) {
    leat_doctor_report *report = d->report;
    LEAT_TRY(leat__doctor_ceilings(d, err));
    report->remedies = keep(report, sizeof *report->remedies);
    if (!report->remedies) return leat__fail_memory(err, sizeof *report->remedies, "a report");
    leat__doctor_tell_window(d, report->remedies);
    report->remedies->command = keep_text(report, d->window_text, strlen(d->window_text));
    if (!report->remedies->command) return leat__fail_memory(err, strlen(d->window_text), "a report");
    report->n_remedies = 1;
    return 0;
}

static int examine(leat__doctor *d, leat_error *err) {
    leat_doctor_report *report = d->report;
    report->memory = leat__alloc(LEAT_MEM_TOOL, sizeof(leat__arena));
    if (!report->memory) return leat__fail_memory(err, sizeof(leat__arena), "a report");
    ((leat__arena *)report->memory)->kind = LEAT_MEM_TOOL;
    report->text = keep_text(report, d->spec->text.data ? (const char *)d->spec->text.data : "",
                             d->spec->text.data ? strlen((const char *)d->spec->text.data) : 0);
    if (!report->text) return leat__fail_memory(err, d->spec->text.size, "a report");
    leat_error failed;
    if (open_base(d, &failed) < 0) {
        leat__runner_close(&d->base);
        const int rc = leat__doctor_fit_window(d, &failed);
        if (rc < 0 && err) *err = failed;
        LEAT_TRY(rc);
    }
    LEAT_TRY(measure_base(d, err));
    LEAT_TRY(leat__doctor_trace(d, err));
    if (d->window) return report_window(d, err);
    LEAT_TRY(leat__doctor_ceilings(d, err));
    leat__doctor_verdict(d);
    return d->doctor.no_trials ? 0 : leat__doctor_remedies(d, err);
}

int leat_doctor(leat_doctor_report *report, const leat_spec *spec, const leat_config *pipeline,
                const leat_doctor_config *doctor, leat_error *err) {
    leat__error_clear(err);
    if (!report) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_doctor: report is NULL");
    *report = (leat_doctor_report){.binding = -1};
    leat__doctor *d = leat__alloc(LEAT_MEM_TOOL, sizeof *d);
    if (!d) return leat__fail_memory(err, sizeof *d, "a report");
    d->report = report;
    int rc = check(spec, pipeline, doctor, d, err);
    if (rc == 0) rc = examine(d, err);
    leat__runner_close(&d->base);
    leat__free(d->window_text);
    leat__free(d);
    if (rc < 0) leat_doctor_free(report);
    return rc;
}

static const leat__remedy_row *row_named(const char *name) {
    for (int i = 0; leat__remedy_at(i); i++)
        if (strcmp(leat__remedy_at(i)->name, name) == 0) return leat__remedy_at(i);
    return NULL;
}

static int apply(leat__doctor *d, const leat__remedy_row *row, leat_doctor_applied *out, leat_error *err) {
    leat__change change = {.limit = UINT64_MAX};
    leat__versus versus = {0};
    LEAT_TRY(open_base(d, err));
    d->base.what = NULL;
    LEAT_TRY(leat__runner_measure(&d->base, d->doctor.seconds / 3, &d->now, NULL, err));
    d->bytes_each = (double)d->now.stats.bytes_read / (double)LEAT_MAX(d->now.stats.samples, 1);
    if (row->writes) LEAT_TRY(leat__dir_temporary(out->folder, sizeof out->folder, d->doctor.folder, err));
    leat__remedy_row measured = *row;
    measured.predict = NULL;
    const int rc = leat__doctor_try(d, &measured, &change, out->folder, d->doctor.seconds, &versus, err);
    out->rate_before = versus.rate_a;
    out->rate_after = versus.rate_b;
    out->gain = versus.gain;
    out->spread = versus.spread;
    out->written_bytes = change.written ? change.written : change.write_bytes;
    const char *text = rc == 0 ? leat__edit_text(&change.edit) : NULL;
    out->text = text ? keep_text(d->report, text, strlen(text)) : NULL;
    leat__change_free(&change);
    if (rc == LEAT_END) return leat__fail(err, LEAT_ERR_UNSUPPORTED, "%s does not apply here", row->name);
    return rc == 0 && !out->text ? leat__fail_memory(err, 1000, "a pipeline text") : rc;
}

int leat_doctor_apply(leat_doctor_applied *out, const leat_doctor_report *report, int which,
                      const leat_spec *spec, const leat_config *pipeline, const leat_doctor_config *doctor,
                      leat_error *err) {
    leat__error_clear(err);
    if (!out || !report || which < 0 || which >= report->n_remedies)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_doctor_apply: the report has no such remedy");
    *out = (leat_doctor_applied){0};
    const leat__remedy_row *row = row_named(report->remedies[which].name);
    if (!row || row->kind == LEAT_REMEDY_ADVICE)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "'%s' is advice: leat cannot carry it out",
                          report->remedies[which].title);
    leat_doctor_report copy = *report;
    leat__doctor *d = leat__alloc(LEAT_MEM_TOOL, sizeof *d);
    if (!d) return leat__fail_memory(err, sizeof *d, "a report");
    d->report = &copy;
    int rc = check(spec, pipeline, doctor, d, err);
    if (rc == 0) rc = apply(d, row, out, err);
    leat__runner_close(&d->base);
    leat__free(d);
    if (rc < 0 || out->written_bytes == 0) { /* a cache in memory writes nothing */
        leat__dir_remove(out->folder);
        out->folder[0] = 0;
    }
    return rc;
}
