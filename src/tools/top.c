/* SPDX-License-Identifier: Apache-2.0 */
/* The running pipelines of this user: what they have published, and the sentence that each publishes. */
#include "tools/top.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/runtime/process.h"
#include "run/publish.h"
#include "tools/tools.h"

/* ------------------------------------------------------------------------------------------- verdict */

static const double keeps_up = 0.02; /* of the time that the program waits: the input does not limit it */

void leat__top_judge(const leat_pipeline *pipeline, int cores, leat_running *r) {
    const double waited = r->recent_s > 0 ? r->recent.wait_s / r->recent_s : 0;
    leat_diagnosis found;
    r->verdict[0] = r->remedy[0] = 0;
    if (waited < keeps_up && r->recent.batches == 0)
        snprintf(r->verdict, sizeof r->verdict, "The program takes no batches now.");
    else if (waited < keeps_up)
        snprintf(r->verdict, sizeof r->verdict, "The input keeps up: the program waited %.1f %% of the time.",
                 LEAT_MAX(waited, 0.0) * 100);
    else {
        leat__diagnose(&found, pipeline, &r->recent, r->recent_s, cores);
        snprintf(r->verdict, sizeof r->verdict, "%s", found.sentence);
        snprintf(r->remedy, sizeof r->remedy, "%s", found.remedy);
    }
}

/* ---------------------------------------------------------------------------------------------- list */

typedef struct listed {
    int (*running)(void *user, const leat_running *one);
    void *user;
    leat_top_report *report;
    bool stopped;
} listed;

static int see(void *user, const leat__runtime_entry *entry) {
    listed *l = user;
    leat__top_record record;
    leat__published is;
    const int what = leat__published_check(entry, &record, &is);
    if (what == LEAT_RUNTIME_AGAIN) return what;
    if (is == LEAT_PUBLISHED_DAMAGED && what == LEAT_RUNTIME_KEEP) l->report->n_damaged++;
    if (is != LEAT_PUBLISHED_RUNS) return what;
    l->report->n_running++;
    record.running.age_s = LEAT_MAX((double)(leat__wall_ns() - record.written_ns) * 1e-9, 0.0);
    l->stopped = l->running && l->running(l->user, &record.running) != 0;
    return l->stopped ? -1 : what;
}

int leat_top_list(int (*running)(void *user, const leat_running *one), void *user, leat_top_report *report,
                  leat_error *err) {
    leat_top_report own = {0};
    char path[sizeof own.path];
    leat__error_clear(err);
    listed l = {running, user, &own, false};
    leat_error first = {0};
    bool listed_one = false;
    for (int i = 0; !l.stopped && leat__runtime_path(i, path, sizeof path); i++) {
        leat_error why;
        if (i == 0) memcpy(own.path, path, sizeof path);
        if (leat__runtime_list(path, see, &l, &own.n_foreign, &own.n_removed, &why) == 0) listed_one = true;
        else if (!first.code) first = why;
    }
    if (report) *report = own;
    if (listed_one) return 0; /* pipelines report to the first folder that can be used */
    if (err) *err = first;
    return first.code;
}
