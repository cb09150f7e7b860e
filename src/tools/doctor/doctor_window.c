/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose shuffle window does not fit into the byte budget cannot run at all. The doctor looks for the largest window
 * that can, by halves, and reports on the pipeline with that. */
#include <stdio.h>

#include "tools/doctor/doctor.h"

enum { WINDOW_MIN = 2 };

/* The operation with a window of records, and its size; -1 = there is none. */
static int find_window(const leat_spec *spec, int64_t *size) {
    for (int i = 1; i < spec->n_uses; i++) {
        const leat__use *use = &spec->use[i];
        if (!leat__op_has(use->op, "window") || !leat__op_has(use->op, "buffer_size")) continue;
        const int64_t window = leat__use_arg(use, "window")->i, buffer = leat__use_arg(use, "buffer_size")->i;
        *size = window ? window : buffer;
        if (*size > WINDOW_MIN) return i;
    }
    return -1;
}

/* Opens and warms up the pipeline with that window. */
static int try_window(leat__doctor *d, leat__edit *edit, int at, int64_t window, leat_error *err) {
    if (!leat__edit_set(edit, at, "shuffle window=%" PRId64, window))
        return leat__fail_memory(err, 100, "a pipeline text");
    const char *text = leat__edit_text(edit);
    if (!text) return leat__fail_memory(err, 1000, "a pipeline text");
    LEAT_TRY(leat__runner_open(&d->base, d->spec, text, &d->config, &d->consumer, err));
    d->base.what = "measuring";
    d->base.progress_of = d->doctor.seconds * 4 / 3;
    const int rc = leat__runner_warm(&d->base, d->doctor.seconds / 3, err);
    if (rc < 0) leat__runner_close(&d->base);
    return rc;
}

int leat__doctor_fit_window(leat__doctor *d, leat_error *err) {
    leat__edit edit;
    leat_error other;
    int64_t asked = 0;
    const int at = find_window(d->spec, &asked);
    const bool full = err && (err->code == LEAT_ERR_MEMORY || err->code == LEAT_ERR_LIMIT);
    if (at < 0 || !full) return err ? err->code : LEAT_ERR_MEMORY;
    int rc = leat__edit_begin(&edit, d->spec, &other);
    if (rc == 0) rc = LEAT_ERR_MEMORY;
    while (rc != 0 && rc != LEAT_ERR_CANCELLED &&
           (d->window = d->window ? d->window / 2 : asked / 2) >= WINDOW_MIN)
        rc = try_window(d, &edit, at, d->window, &other);
    d->window_asked = asked;
    const char *text = rc == 0 ? leat__edit_text(&edit) : NULL;
    if (text) d->window_text = leat__strdup(LEAT_MEM_TOOL, text);
    leat__edit_free(&edit);
    if (rc == LEAT_ERR_CANCELLED) *err = other;
    return rc == 0 && d->window_text ? 0 : err->code; /* nothing fits: the first message stands */
}

void leat__doctor_tell_window(leat__doctor *d, leat_remedy *r) {
    leat_doctor_report *report = d->report;
    leat_diagnosis *v = &report->verdict;
    *v = (leat_diagnosis){.bottleneck = LEAT_BOTTLENECK_BUDGET, .percent = 100};
    snprintf(v->sentence, sizeof v->sentence,
             "It cannot run: a shuffle window of %" PRId64
             " records does not fit into the budget of %.0f MB.",
             d->window_asked, (double)d->now.stats.memory_max_bytes / 1e6);
    *r = (leat_remedy){.kind = LEAT_REMEDY_TEXT, .rate = d->now.rate};
    snprintf(r->name, sizeof r->name, "window");
    snprintf(r->title, sizeof r->title, "a shuffle window of %" PRId64 " records", d->window);
    snprintf(r->cost, sizeof r->cost,
             "records mix less far; leat pack makes records that are shuffled as a whole");
    snprintf(r->how, sizeof r->how, "the pipeline with this window");
    report->rate = 0;
    report->input_binds = 1;
    report->binding = -1;
}
