/* SPDX-License-Identifier: Apache-2.0 */
#include "run/tune.h"

enum {
    WAIT_PERCENT = 2,
    BEGIN_PERCENT = 15,
    MORE_PERCENT = 4,
    CALM_PERCENT = 4,
    GAIN_PERCENT = 5,
    BATCHES_MIN = 4,
    WATCHED_MIN = 8,
    READS_MIN = 8,
};
#define MS ((uint64_t)1000000)
static const uint64_t look_slots_ns = 250 * MS, look_ns = 100 * MS, look_reading_ns = 500 * MS,
                      look_long_ns = 2000 * MS, patience_ns = 1000 * MS, patience_max_ns = 64000 * MS;

/* How far all totals have come since then. */
static leat__tune_facts since(const leat__tune_facts *then, const leat__tune_facts *now) {
    return (leat__tune_facts){.now_ns = now->now_ns - then->now_ns,
                              .batches = now->batches - then->batches,
                              .wait_ns = now->wait_ns - then->wait_ns,
                              .full_ns = now->full_ns - then->full_ns,
                              .samples = now->samples - then->samples,
                              .watched = now->watched - then->watched,
                              .whole_ns = now->whole_ns - then->whole_ns,
                              .blocked_ns = now->blocked_ns - then->blocked_ns,
                              .busy_ns = now->busy_ns - then->busy_ns,
                              .reads = now->reads - then->reads,
                              .reads_blocked_ns = now->reads_blocked_ns - then->reads_blocked_ns};
}

static bool above(uint64_t part, uint64_t whole, uint64_t percent) {
    return part * 100 > whole * percent;
}

/* ---------------------------------------------------------------------------------------------- slots */

static bool look_at_slots(leat__tuner *t, const leat__tune_facts *now) {
    const leat__tune_facts d = since(&t->slots_from, now);
    /* A run begins with few batches made ahead, which is no burst. */
    const bool begins = now->batches < (uint64_t)t->choice.slots;
    if (!begins && (d.now_ns < look_slots_ns || d.batches < BATCHES_MIN)) return false;
    t->slots_from = *now;
    if (begins || t->choice.slots >= t->most.slots || !above(d.wait_ns, d.now_ns, WAIT_PERCENT) ||
        !above(d.full_ns, d.now_ns, WAIT_PERCENT))
        return false;
    t->choice.slots = LEAT_MIN(t->choice.slots + LEAT_MAX(t->choice.slots / 2, 1), t->most.slots);
    return true;
}

/* -------------------------------------------------------------------------------------------- readers */

static void set_readers(leat__tuner *t, uint64_t n) {
    t->choice.readers = (int)LEAT_MIN(n, (uint64_t)t->most.readers);
    t->settling = true;
    t->calm_ns = 0;
}

/* While one sample is being read, the workers can make so many others: that many reads at once keep them busy, also when other
 * programs leave them the cores again. */
static uint64_t enough_readers(const leat__tuner *t, const leat__tune_facts *d) {
    const uint64_t work_ns = LEAT_MAX(d->busy_ns / d->watched, (uint64_t)1);
    const uint64_t at_once = LEAT_MIN(t->least_ns * (uint64_t)t->n_workers / work_ns, (uint64_t)1000);
    return at_once + at_once / 4 + 2;
}

static void begin_reading(leat__tuner *t, const leat__tune_facts *d) {
    t->eager = t->weak = 0;
    t->capped = false;
    t->rate = t->capped_ns = 0;
    t->least_ns = d->blocked_ns / d->watched;
    set_readers(t, enough_readers(t, d));
}

/* Whether workers that read for themselves would hardly be blocked. */
static bool is_calm(const leat__tune_facts *d) {
    if (d->reads < READS_MIN) return d->reads == 0 && !above(d->blocked_ns, d->whole_ns, CALM_PERCENT);
    const uint64_t read = d->reads_blocked_ns / d->reads, work = (d->whole_ns - d->blocked_ns) / d->watched;
    return !above(read, work + read, CALM_PERCENT);
}

static bool read_more(leat__tuner *t, const leat__tune_facts *d) {
    const uint64_t rate = d->samples * 1000000 / (d->now_ns / MS),
                   read_ns = d->reads_blocked_ns / LEAT_MAX(d->reads, (uint64_t)1);
    if (t->capped && read_ns > 4 * t->capped_ns) { /* other storage than then */
        t->capped = false;
        t->weak = 0;
        t->rate = t->least_ns = 0;
    }
    if (read_ns && (t->least_ns == 0 || read_ns < t->least_ns)) t->least_ns = read_ns;
    if (t->capped || t->choice.readers >= t->most.readers) return false;
    t->weak = t->rate && rate * 100 < t->rate * (100 + GAIN_PERCENT) ? t->weak + 1 : 0;
    if (t->weak == 2) { /* one may be an accident, on a machine that others use too */
        t->capped = true;
        t->capped_ns = read_ns;
        return false;
    }
    t->rate = LEAT_MAX(rate, t->rate);
    const uint64_t more = (uint64_t)(t->choice.readers + t->choice.readers / 2 + 1);
    set_readers(t, LEAT_MAX(more, enough_readers(t, d)));
    return true;
}

static bool look_at_readers(leat__tuner *t, const leat__tune_facts *now) {
    const leat__tune_facts d = since(&t->readers_from, now);
    const bool reading = t->choice.readers > 0;
    if (d.now_ns < (reading ? look_reading_ns : look_ns) || d.watched == 0) return false;
    if (d.watched < WATCHED_MIN && d.now_ns < look_long_ns) return false;
    t->readers_from = *now;
    if (t->settling) return t->settling = false;
    const bool waits = above(d.wait_ns, d.now_ns, WAIT_PERCENT);
    if (!reading) {
        t->eager = waits && above(d.blocked_ns, d.whole_ns, BEGIN_PERCENT) ? t->eager + 1 : 0;
        if (t->eager < 2) return false;
        begin_reading(t, &d);
        return true;
    }
    if (!is_calm(&d)) {
        t->calm_ns = 0;
        return waits && above(d.blocked_ns, d.whole_ns, MORE_PERCENT) && read_more(t, &d);
    }
    if (t->patience_ns == 0) t->patience_ns = patience_ns;
    t->calm_ns += d.now_ns;
    if (t->calm_ns < t->patience_ns) return false;
    t->patience_ns = LEAT_MIN(2 * t->patience_ns, patience_max_ns);
    set_readers(t, 0);
    return true;
}

bool leat__tune(leat__tuner *t, const leat__tune_facts *facts) {
    bool changed = t->slots_from.now_ns && look_at_slots(t, facts);
    changed |= t->readers_from.now_ns && t->most.readers > 0 && look_at_readers(t, facts);
    if (t->slots_from.now_ns == 0) t->slots_from = t->readers_from = *facts;
    return changed;
}
