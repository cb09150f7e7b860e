/* SPDX-License-Identifier: Apache-2.0 */
/* leat_doctor in parts: doctor_run.c runs a pipeline with a consumer and measures, doctor_ceilings.c measures what storage
 * and memory could give, doctor_verdict.c names the cause, doctor_text.c changes texts, remedies.c has the table of remedies
 * with a row for each, remedies_data.c the ones that write data, and doctor.c calls all of them. */
#ifndef LEAT_TOOLS_DOCTOR_H
#define LEAT_TOOLS_DOCTOR_H

#include "leat/leat_tools.h"
#include "plan/planner.h"
#include "plan/stream_plan.h"
#include "run/pipeline.h"

/* --------------------------------------------------------------------------------------- doctor_run.c */

typedef struct leat__consumer { /* what takes the batches */
    uint64_t step_ns;           /* its work on one batch  */
    int at_once;                /* batches that it takes one after the other before it works on them */
} leat__consumer;

typedef struct leat__measured { /* some seconds of a pipeline */
    double seconds, rate;
    double wait;      /* share of the time that the consumer waited */
    leat_stats stats; /* as leat_doctor_report has them             */
    leat_latency latency;
} leat__measured;

typedef struct leat__series { /* what the report draws */
    leat_moment *moments;
    int n, cap;
    double every_s;
} leat__series;

typedef struct leat__runner { /* a pipeline that is measured; zeroed = none */
    leat_spec *spec;
    leat_pipeline *pipeline;
    leat_config config;
    leat__consumer consumer;
    const char *what; /* for the progress: static text */
    double progress_s, progress_of;
} leat__runner;

/* origin: what the program gave to it is used for this text too. config: epochs do not count, it runs without end. */
int leat__runner_open(leat__runner *r, const leat_spec *origin, const char *text, const leat_config *config,
                      const leat__consumer *consumer, leat_error *err);
void leat__runner_close(leat__runner *r);
/* Runs for about so long without measuring, until a cache is filled if that does not take ten seconds. */
int leat__runner_warm(leat__runner *r, double seconds, leat_error *err);
/* Measures for about so long, at least three batches. series may be NULL. Behind it the pipeline pauses, as it is, until
 * the next call: what else is measured has storage and cores for itself. */
int leat__runner_measure(leat__runner *r, double seconds, leat__measured *out, leat__series *series,
                         leat_error *err);

typedef struct leat__versus { /* two pipelines, measured in turns */
    double rate_a, rate_b;    /* medians                                           */
    double gain;              /* median of b over a                                */
    double spread;            /* of the gain: largest less smallest, over the gain */
    leat__measured last;      /* of b                                              */
} leat__versus;
int leat__runners_compare(leat__runner *a, leat__runner *b, double seconds, int rounds, leat__versus *out,
                          leat_error *err);

/* -------------------------------------------------------------------------------------- doctor_text.c */

typedef struct leat__edit { /* the text of a pipeline, operation by operation; zeroed = none */
    int n;
    char *op[LEAT_USES_MAX];
    leat__arena memory;
} leat__edit;

int leat__edit_begin(leat__edit *edit, const leat_spec *spec, leat_error *err);
/* Puts an operation in place of number `at`, or in front of it. False without memory or room; all later calls fail too. */
bool leat__edit_set(leat__edit *edit, int at, const char *fmt, ...) LEAT_PRINTF(3, 4);
bool leat__edit_insert(leat__edit *edit, int at, const char *fmt, ...) LEAT_PRINTF(3, 4);
void leat__edit_remove(leat__edit *edit, int at);
void leat__edit_move(leat__edit *edit, int from, int to);
/* The whole text, zero-terminated, in the edit's memory; NULL without memory. */
const char *leat__edit_text(leat__edit *edit);
void leat__edit_free(leat__edit *edit);
/* A path as a text needs it: in quotes if it has blanks and such. */
void leat__edit_quote(char *out, size_t cap, const char *path);

/* ----------------------------------------------------------------------------------------- the doctor */

typedef struct leat__doctor { /* what is known when remedies are looked for */
    const leat_spec *spec;
    leat_config config;
    leat_doctor_config doctor;
    leat_doctor_report *report;
    leat__runner base;
    leat__consumer consumer;
    leat__measured now;
    int cores;
    double quota_cores;                       /* 0 = none                                   */
    double throttled;                         /* share of the workers' time under the quota */
    double pressure;                          /* percent of the last ten seconds            */
    double cores_used, queued;                /* by all threads; cores that they wanted and did not get */
    bool no_folder;                           /* remedies that write cannot be tried        */
    double cold, cold_sequential, bytes_each; /* storage: samples/s, and bytes of a sample  */
    double consumer_rate;                     /* samples/s that it takes, 0 = as many as there are */
    double work_s[LEAT_STAGE_COUNT];          /* of one sample, by stage                    */
    uint64_t trace_events;                    /* that the config asks for                   */
    int64_t window_asked, window;             /* records; 0 = it fits as it is                  */
    char *window_text;                        /* the pipeline with the window that fits         */
} leat__doctor;

static inline const leat__plan *leat__doctor_plan(const leat__doctor *d) {
    return &d->base.pipeline->plan;
}
/* 0, or LEAT_ERR_CANCELLED. */
int leat__doctor_progress(const leat__doctor *d, const char *what, uint64_t done, uint64_t total,
                          leat_error *err);

/* doctor_ceilings.c: fills in the ceilings of the report, and d->cold, ... */
int leat__doctor_ceilings(leat__doctor *d, leat_error *err);
/* doctor_trace.c: fills in the events of the report if they were asked for. */
int leat__doctor_trace(leat__doctor *d, leat_error *err);
/* doctor_verdict.c: the verdict, and the ceiling that binds. */
void leat__doctor_verdict(leat__doctor *d);
/* doctor_window.c: the pipeline could not be opened or run, for the reason in err. Opens it with a smaller shuffle window: 0, or
 * the code in err. */
int leat__doctor_fit_window(leat__doctor *d, leat_error *err);
/* The verdict, and the remedy without its command, when that was measured. */
void leat__doctor_tell_window(leat__doctor *d, leat_remedy *remedy);
/* The stage with the most work, and its share of all. */
int leat__doctor_top(const leat__doctor *d, double *share);
/* Whether the row of an operation has that argument. */
bool leat__op_has(const leat__op *op, const char *arg);

/* ---------------------------------------------------------------------------------------- remedies.c */

typedef struct leat__change { /* a pipeline as a remedy wants it */
    leat__edit edit;
    leat_config config;
    uint64_t limit;     /* samples to do it for: all, or some for a trial */
    const char *folder; /* an empty one, for remedies that write          */
    uint64_t written;   /* bytes                                          */
    uint64_t samples;   /* that were written                              */
    char title[80], cost[160], how[120];
    leat__buf command; /* lines of text                                  */
    uint64_t write_bytes;
} leat__change;

typedef struct leat__remedy_row {
    const char *name;
    int kind;    /* LEAT_REMEDY_*              */
    bool writes; /* it needs a folder          */
    /* Whether it may help at all: nothing is measured for this. */
    bool (*applies)(const leat__doctor *d);
    /* Makes the pipeline, with its title and command. LEAT_END: it does not apply after all. */
    int (*change)(const leat__doctor *d, leat__change *change, leat_error *err);
    /* What it costs, when it has been tried. May be NULL. */
    void (*cost)(const leat__doctor *d, leat__change *change, const leat__measured *after);
    /* samples/s, 0 = cannot be told. NULL = it is tried and measured. */
    double (*predict)(const leat__doctor *d, leat__change *change);
    /* Whether the changed pipeline is what was meant. NULL = it is. */
    bool (*accepts)(const leat_pipeline *pipeline);
} leat__remedy_row;

/* Bytes as people say them: 840 KB, 1.3 GB. Returns out. */
enum { LEAT_BYTES_TEXT = 24 };
const char *leat__bytes_text(char out[LEAT_BYTES_TEXT], double bytes);
/* A trial does it for no more samples than take about 256 MB; one at least. */
void leat__change_bound(leat__change *change, uint64_t bytes_each);
/* The table. NULL behind the last row. */
const leat__remedy_row *leat__remedy_at(int i);
void leat__change_free(leat__change *change);
/* Appends to the command. */
void leat__change_say(leat__change *change, const char *fmt, ...) LEAT_PRINTF(2, 3);
/* Tries all that apply, and sorts them by gain. */
int leat__doctor_remedies(leat__doctor *d, leat_error *err);
/* Makes one in a folder, and measures each side for so many seconds. */
int leat__doctor_try(leat__doctor *d, const leat__remedy_row *row, leat__change *change, const char *folder,
                     double seconds, leat__versus *out, leat_error *err);

/* remedies_scale.c */
bool leat__scale_applies(const leat__doctor *d);
int leat__scale_change(const leat__doctor *d, leat__change *change, leat_error *err);

/* remedies_data.c */
bool leat__pack_applies(const leat__doctor *d);
bool leat__pack_size_applies(const leat__doctor *d);
bool leat__pack_raw_applies(const leat__doctor *d);
int leat__pack_change(const leat__doctor *d, leat__change *change, leat_error *err);
int leat__pack_size_change(const leat__doctor *d, leat__change *change, leat_error *err);
int leat__pack_raw_change(const leat__doctor *d, leat__change *change, leat_error *err);
void leat__pack_cost(const leat__doctor *d, leat__change *change, const leat__measured *after);
void leat__pack_size_cost(const leat__doctor *d, leat__change *change, const leat__measured *after);
bool leat__plain_applies(const leat__doctor *d);
int leat__plain_change(const leat__doctor *d, leat__change *change, leat_error *err);

#endif
