/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads do, from a short run of its own: a trace costs time, which must not be in the rates. */
#include "base/clock.h"
#include "tools/doctor/doctor.h"

static const double warm_s = 0.2, traced_s = 0.6;

/* Events from a time on into the report's own memory. */
static int copy_events(leat_doctor_report *report, const leat_pipeline *pipeline, uint64_t since_ns,
                       leat_error *err) {
    const uint64_t n =
        leat_trace_events(pipeline, NULL, 0); /* workers may add some meanwhile: those are left out */
    const size_t bytes = (size_t)n * sizeof *report->events;
    report->events = leat__arena_alloc(report->memory, LEAT_MAX(bytes, (size_t)1));
    if (!report->events) return leat__fail_memory(err, bytes, "a trace");
    const uint64_t there = leat_trace_events(pipeline, report->events, n);
    for (uint64_t i = 0; i < LEAT_MIN(there, n); i++)
        if (report->events[i].begin_ns >= since_ns) report->events[report->n_events++] = report->events[i];
    return 0;
}

int leat__doctor_trace(leat__doctor *d, leat_error *err) {
    if (d->trace_events == 0) return 0;
    leat_config config = d->config;
    leat__runner traced = {0};
    leat__measured unused;
    config.trace_events = d->trace_events;
    config.log = NULL; /* the pipeline itself has said it all */
    const char *text = d->report->text;
    LEAT_TRY(leat__runner_open(&traced, d->spec, text, &config, &d->consumer, err));
    int rc = leat__runner_warm(&traced, warm_s, err);
    const uint64_t since_ns = leat__now_ns() - traced.pipeline->opened_ns;
    if (rc == 0) rc = leat__runner_measure(&traced, traced_s, &unused, NULL, err);
    if (rc == 0) rc = copy_events(d->report, traced.pipeline, since_ns, err);
    leat__runner_close(&traced);
    return rc;
}
