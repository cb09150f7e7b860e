/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline and a consumer, measured. The consumer holds a batch while it works on it, as training does; its work is
 * waiting, so that it takes no time from the workers. */
#include "base/clock.h"
#include "tools/doctor/doctor.h"

enum { ROUNDS_MAX = 9, BATCHES_MIN = 3 };
static const double fill_s = 10, drain_s = 0.5;

static double seconds_of(uint64_t ns) {
    return (double)ns * 1e-9;
}

int leat__runner_open(leat__runner *r, const leat_spec *origin, const char *text, const leat_config *config,
                      const leat__consumer *consumer, leat_error *err) {
    *r = (leat__runner){.config = *config, .consumer = *consumer};
    r->config.n_epochs = -1;
    r->config.top = -1; /* a trial is no training */
    r->spec = leat_spec_new(NULL);
    if (!r->spec) return leat__fail_memory(err, sizeof *r->spec, "a pipeline");
    leat__spec_borrow(r->spec, origin);
    leat_spec_add(r->spec, text);
    const int rc = leat_pipeline_open(&r->pipeline, r->spec, &r->config, err);
    if (rc < 0) leat__runner_close(r);
    return rc;
}

void leat__runner_close(leat__runner *r) {
    leat_pipeline_close(&r->pipeline);
    leat_spec_free(&r->spec);
}

static int tell_progress(leat__runner *r, double done, leat_error *err) {
    if (!r->what || !r->config.progress) return 0;
    const uint64_t of = (uint64_t)(r->progress_of * 1000);
    const uint64_t ms = LEAT_MIN((uint64_t)(LEAT_MAX(r->progress_s + done, 0) * 1000), of);
    return r->config.progress(r->config.user, r->what, ms, of)
               ? leat__fail(err, LEAT_ERR_CANCELLED, "stopped before the measurement was over")
               : 0;
}

/* One round of the consumer: takes its batches, then works on them. */
static int consume(leat__runner *r, bool works, uint64_t *samples, leat_error *err) {
    const int n = LEAT_MAX(r->consumer.at_once, 1);
    leat_batch batch;
    for (int i = 0; i < n; i++) {
        const int rc = leat_pipeline_next(r->pipeline, &batch, err);
        if (rc == LEAT_END) return leat__fail(err, LEAT_ERR_ARGUMENT, "the data set has no samples");
        if (rc < 0) return rc;
        *samples += (uint64_t)batch.n;
        /* The last batch is held while the consumer works, as the others were when several are taken. */
        if (works && i == n - 1 && r->consumer.step_ns > 0) leat__sleep_ns(r->consumer.step_ns * (uint64_t)n);
        leat_batch_release(&batch);
    }
    return 0;
}

static int ready_slots(const leat_pipeline *pipeline) {
    int n = 0;
    const bool locked = leat__pipeline_lock(pipeline);
    for (int i = 0; i < pipeline->ring->n_slots; i++) n += pipeline->ring->slot[i]->state == LEAT_SLOT_READY;
    leat__pipeline_unlock(pipeline, locked);
    return n;
}

/* Samples that were made or read before the clock started would raise the rate: drops them. Those of a stream, which reads on
 * during a pause, are taken: going back in it would take longer. Then as many batches as the samples fill that the threads
 * have in hand at one time, so that they are in their rhythm, and a round of the consumer for its own. */
static int begin_anew(leat__runner *r, leat_error *err) {
    leat_pipeline *pipeline = r->pipeline;
    const uint64_t begin = leat__now_ns();
    uint64_t samples = 0;
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    const uint64_t in_hand = (uint64_t)(stats.n_threads + stats.n_readers);
    if (!pipeline->stream) {
        const bool locked = leat__pipeline_lock(pipeline);
        leat__sched_move(pipeline, pipeline->handed, NULL);
        leat__pipeline_unlock(pipeline, locked);
    }
    while (pipeline->stream && ready_slots(pipeline) > 0 && seconds_of(leat__now_ns() - begin) < drain_s)
        LEAT_TRY(consume(r, false, &samples, err));
    for (samples = 0; samples < in_hand;) LEAT_TRY(consume(r, false, &samples, err));
    return consume(r, true, &samples, err);
}

int leat__runner_warm(leat__runner *r, double seconds, leat_error *err) {
    const uint64_t begin = leat__now_ns();
    leat_stats stats = {0};
    uint64_t samples = 0, misses = 0, bytes = 0;
    double now = 0;
    bool fills = true;
    leat__sched_pause(r->pipeline, false);
    do {
        LEAT_TRY(consume(r, false, &samples, err));
        LEAT_TRY(tell_progress(r, now, err));
        leat_pipeline_stats(r->pipeline, &stats);
        now = seconds_of(leat__now_ns() - begin);
        if (stats.cache_misses == 0 && stats.cache_hits == 0) fills = false;
        else if (samples >= (uint64_t)LEAT_MAX(leat_pipeline_samples(r->pipeline), 1))
            fills = stats.cache_misses > misses && stats.cache_bytes > bytes;
        misses = stats.cache_misses;
        bytes = stats.cache_bytes;
    } while (now < seconds || (fills && now < fill_s));
    return 0;
}

/* ------------------------------------------------------------------------------------------- measure */

static void note_moment(leat__series *series, const leat_stats *from, const leat_stats *to, double at_s,
                        double span_s) {
    const leat_stats d = leat__stats_since(to, from);
    if (series->n == series->cap || !(span_s > 0)) return;
    const double idle = d.full_s / (span_s * LEAT_MAX(to->n_threads, 1)), wait = d.wait_s / span_s;
    series->moments[series->n++] = (leat_moment){.at_s = at_s,
                                                 .rate = (double)d.samples / span_s,
                                                 .wait = LEAT_CLAMP(wait, 0.0, 1.0),
                                                 .idle = LEAT_CLAMP(idle, 0.0, 1.0)};
}

static int measure(leat__runner *r, double seconds, leat__measured *out, leat__series *series,
                   leat_error *err) {
    leat_stats from, to, last;
    leat_latency before, after;
    uint64_t samples = 0;
    LEAT_TRY(begin_anew(r, err));
    leat_pipeline_stats(r->pipeline, &from);
    leat_pipeline_latency(r->pipeline, &before);
    last = from;
    const uint64_t begin = leat__now_ns();
    double now = 0, noted = 0;
    for (int n = 0; now < seconds || n < BATCHES_MIN; n++) {
        LEAT_TRY(consume(r, true, &samples, err));
        now = seconds_of(leat__now_ns() - begin);
        LEAT_TRY(tell_progress(r, now, err));
        if (!series || now - noted < series->every_s) continue;
        leat_pipeline_stats(r->pipeline, &to);
        note_moment(series, &last, &to, now, now - noted);
        last = to;
        noted = now;
    }
    leat_pipeline_stats(r->pipeline, &to);
    leat_pipeline_latency(r->pipeline, &after);
    if (series && now > noted) note_moment(series, &last, &to, now, now - noted);
    *out = (leat__measured){.seconds = now,
                            .rate = (double)samples / now,
                            .stats = leat__stats_since(&to, &from),
                            .latency = leat__latency_since(&after, &before)};
    out->wait = LEAT_CLAMP(out->stats.wait_s / now, 0.0, 1.0);
    return 0;
}

int leat__runner_measure(leat__runner *r, double seconds, leat__measured *out, leat__series *series,
                         leat_error *err) {
    leat__sched_pause(r->pipeline, false);
    const int rc = measure(r, seconds, out, series, err);
    leat__sched_pause(r->pipeline, true);
    return rc;
}

/* ------------------------------------------------------------------------------------------- in turns */

static double median(const double *x, int n) {
    double sorted[ROUNDS_MAX];
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > x[i]; k--) sorted[k] = sorted[k - 1];
        sorted[k] = x[i];
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

int leat__runners_compare(leat__runner *a, leat__runner *b, double seconds, int rounds, leat__versus *out,
                          leat_error *err) {
    double rate_a[ROUNDS_MAX], rate_b[ROUNDS_MAX], gain[ROUNDS_MAX], low = 0, high = 0;
    const int n = LEAT_CLAMP(rounds, 1, ROUNDS_MAX);
    leat__measured one = {0}, two = {0};
    for (int i = 0; i < n; i++) {
        LEAT_TRY(leat__runner_measure(a, seconds / n, &one, NULL, err));
        LEAT_TRY(leat__runner_measure(b, seconds / n, &two, NULL, err));
        rate_a[i] = one.rate;
        rate_b[i] = two.rate;
        gain[i] = one.rate > 0 ? two.rate / one.rate : 0;
        low = i == 0 ? gain[i] : LEAT_MIN(low, gain[i]);
        high = LEAT_MAX(high, gain[i]);
    }
    *out = (leat__versus){.rate_a = median(rate_a, n), .rate_b = median(rate_b, n), .gain = median(gain, n)};
    out->spread = out->gain > 0 ? (high - low) / out->gain : 0;
    out->last = two;
    return 0;
}
