/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner in a world of numbers: workers, storage, slots and a consumer as arithmetic, a clock that a loop moves. So it can be
 * shown that the tuner settles, that it does not go to and fro, and that no fixed setting would have been much better. */
#include "unit/testing.h"

#include "run/tune.h"

enum { SLOTS_BEGIN = 4, SLOTS_MOST = 12, READERS_MOST = 64, WORKERS = 2, BATCH = 16, CHANGES_MAX = 200 };

typedef struct world {  /* at one instant                                                 */
    double work_ms;     /* of a worker on a sample                                        */
    double read_ms;     /* of storage                                                     */
    double reads_per_s; /* that storage can do at the most; 0 = any number                */
    double step_ms;     /* of the consumer with a batch                                   */
    double core;        /* the part of it that a worker has a core          */
    double noise;       /* what all of these differ by, as a part of them                 */
} world;
typedef world scene(double at_s);

typedef struct run {
    /* what the tuner did */
    int n_changes;
    double change_s[CHANGES_MAX];
    leat__tune_choice change[CHANGES_MAX], last;
    /* what came out, after the first `from` seconds */
    double batches, waited_s, s;
} run;

typedef struct machine {
    leat__rng rng;
    leat__tuner tuner;
    leat__tune_facts f;
    double samples, ready, reads, watched; /* with fractions */
    double busy_until_ms;
    bool waits;
} machine;

static double shaken(machine *m, double x, double noise) {
    return x * (1 + noise * (2 * leat__rng_unit(&m->rng) - 1));
}

/* One millisecond of the workers and of storage. */
static void produce(machine *m, const world *w, leat__tune_choice c) {
    if (m->ready + 1 >= c.slots) {
        m->f.full_ns += 1000000;
        return;
    }
    const int at_once = c.readers ? c.readers : WORKERS;
    double read = shaken(m, w->read_ms, w->noise);
    if (w->reads_per_s > 0) read = LEAT_MAX(read, at_once / w->reads_per_s * 1000);
    const double work = shaken(m, w->work_ms, w->noise);
    const double sample =
        c.readers ? LEAT_MAX(work, WORKERS * read / c.readers) : work + read; /* for one worker */
    const double made = WORKERS / sample;
    m->samples += made;
    if (c.readers) {
        m->reads += made;
        m->f.reads = (uint64_t)m->reads;
        m->f.reads_blocked_ns += (uint64_t)(made * read * 1e6);
    }
    m->watched += WORKERS * LEAT_MIN(0.1, 1 / sample); /* one in 10 ms at the most */
    while (m->watched >= (double)(m->f.watched + 1)) {
        m->f.watched++;
        m->f.whole_ns += (uint64_t)(sample * 1e6);
        m->f.blocked_ns += (uint64_t)((sample - work) * 1e6);
        m->f.busy_ns += (uint64_t)(work * w->core * 1e6);
    }
    m->f.samples = (uint64_t)m->samples;
    m->ready = LEAT_MIN((double)((uint64_t)m->samples / BATCH - m->f.batches), c.slots - 1.0);
}

/* fixed: not NULL: nothing is tuned. */
static run simulate(scene *at, double seconds, double from_s, const leat__tune_choice *fixed) {
    machine m = {.rng = leat__rng_at(7, 0, 0, 0),
                 .tuner = {.n_workers = WORKERS,
                           .most = {.slots = SLOTS_MOST, .readers = READERS_MOST},
                           .choice = {.slots = SLOTS_BEGIN}}};
    run out = {.s = seconds - from_s};
    for (double ms = 0; ms < seconds * 1000; ms++) {
        const world w = at(ms / 1000);
        const leat__tune_choice c = fixed ? *fixed : m.tuner.choice;
        m.f.now_ns = (uint64_t)ms * 1000000 + 1;
        produce(&m, &w, c);
        double waited_ms = 0;
        for (double now = ms; now < ms + 1;) {
            if (m.busy_until_ms >= ms + 1) break;
            now = LEAT_MAX(now, m.busy_until_ms);
            if (m.ready < 1) {
                waited_ms = ms + 1 - now;
                break;
            }
            m.ready--;
            m.f.batches++;
            if (ms >= from_s * 1000) out.batches++;
            m.busy_until_ms = now + shaken(&m, w.step_ms, w.noise) + 0.01;
        }
        m.f.wait_ns += (uint64_t)(waited_ms * 1e6);
        if (ms >= from_s * 1000) out.waited_s += waited_ms / 1000;
        if (fixed || !leat__tune(&m.tuner, &m.f)) continue;
        assert_true(out.n_changes < CHANGES_MAX);
        out.change_s[out.n_changes] = ms / 1000;
        out.change[out.n_changes++] = m.tuner.choice;
    }
    out.last = m.tuner.choice;
    return out;
}

static double last_change(const run *r) {
    return r->n_changes ? r->change_s[r->n_changes - 1] : 0;
}

static void print_changes(const char *name, const run *r) {
    print_message("%s: %d slots, %d readers, %.0f batches, waited %.1f of %.1f s;", name, r->last.slots,
                  r->last.readers, r->batches, r->waited_s, r->s);
    for (int i = 0; i < r->n_changes; i++)
        print_message(" %.1f s: %d+%d", r->change_s[i], r->change[i].slots, r->change[i].readers);
    print_message("\n");
}

/* The best of all fixed settings makes hardly more batches. */
static void check_best(const char *name, scene *at, double seconds, double from_s, const run *tuned) {
    static const int readers[] = {0, 1, 2, 4, 8, 16, 24, 32, 48, 64};
    for (int slots = SLOTS_BEGIN; slots <= SLOTS_MOST; slots += 2)
        for (size_t i = 0; i < LEAT_COUNT(readers); i++) {
            const run r = simulate(at, seconds, from_s, &(leat__tune_choice){slots, readers[i]});
            if (tuned->batches < 0.95 * r.batches)
                fail_msg("%s: %.0f batches, with %d slots and %d readers %.0f", name, tuned->batches, slots,
                         readers[i], r.batches);
        }
}

/* --------------------------------------------------------------------------------------------- scenes */

static world warm(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 0.01, .noise = 0.3};
}
/* Others have the cores nine tenths of the time: everything takes long, and nothing is blocked. */
static world crowded(double s) {
    return (void)s, (world){.work_ms = 5, .core = 0.1, .read_ms = 0.05, .noise = 0.95};
}
static world slow(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 5, .noise = 0.3};
}
static world very_slow(double s) {
    return (void)s, (world){.work_ms = 2, .core = 1, .read_ms = 80, .noise = 0.5};
}
static world slow_and_patient(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 2, .step_ms = 60, .noise = 0.3};
}
static world narrow(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 5, .reads_per_s = 800, .noise = 0.3};
}
static world becomes_fast(double s) {
    return (world){.work_ms = 0.5, .core = 1, .read_ms = s < 10 ? 5 : 0.005, .noise = 0.3};
}
static world becomes_slow(double s) {
    return (world){.work_ms = 0.5, .core = 1, .read_ms = s < 10 ? 0.005 : 5, .noise = 0.3};
}
static world changes_all_the_time(double s) {
    return (world){.work_ms = 0.5, .core = 1, .read_ms = (int)s % 4 < 2 ? 5 : 0.005, .noise = 0.3};
}
static world at_the_edge(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 0.09, .noise = 0.6};
}
static world at_the_other_edge(double s) {
    return (void)s, (world){.work_ms = 0.5, .core = 1, .read_ms = 0.02, .noise = 0.4};
}
/* Large pictures come together now and then; on average the workers are fast enough. */
static world bursts(double s) {
    return (world){
        .work_ms = s - (int)s < 0.1 ? 3 : 0.4, .core = 1, .read_ms = 0.01, .step_ms = 10, .noise = 0.2};
}
static world nearly_at_capacity(double s) {
    return (void)s, (world){.work_ms = 0.5,
                            .core = 1,
                            .read_ms = 0.01,
                            .step_ms = BATCH * 0.51 / WORKERS / 0.9,
                            .noise = 0.3};
}
static world nearly_at_capacity_on_slow_storage(double s) {
    return (void)s, (world){.work_ms = 0.5,
                            .core = 1,
                            .read_ms = 5,
                            .step_ms = BATCH * 0.5 / WORKERS / 0.85,
                            .noise = 0.3};
}

/* Storage is slow, and the cores are busy with other things for the first seconds. */
static world slow_and_crowded(double s) {
    return (world){.work_ms = s < 5 ? 3 : 0.5, .core = s < 5 ? 0.17 : 1, .read_ms = 5, .noise = 0.3};
}

typedef struct expectation {
    const char *name;
    scene *scene;
    double seconds;   /* of the run                                    */
    double settled_s; /* no change after it                            */
    int changes_most;
    int readers_least, readers_most; /* at the end                        */
    double wait_most;                /* of the time after settled_s; 1 = any          */
    bool best;                       /* compare with all fixed settings               */
} expectation;

static void test_scenes(void **state) {
    (void)state;
    static const expectation all[] = {
        {"warm", warm, 20, 0, 0, 0, 0, 1, true},
        {"crowded", crowded, 60, 0, 0, 0, 0, 1, false},
        {"slow", slow, 30, 4, 6, 10, 64, 1, true},
        {"slow and crowded", slow_and_crowded, 30, 10, 6, 10, 64, 1, true},
        {"very slow", very_slow, 60, 8, 6, 40, 64, 1, true},
        {"slow and patient", slow_and_patient, 20, 0, 0, 0, 0, 0.02, true},
        {"narrow", narrow, 30, 8, 8, 2, 64, 1, true},
        {"becomes fast", becomes_fast, 30, 14, 6, 0, 0, 1, true},
        {"becomes slow", becomes_slow, 30, 14, 6, 10, 64, 1, true},
        {"changes all the time", changes_all_the_time, 300, 140, 40, 1, 64, 1, false},
        {"at the edge", at_the_edge, 60, 30, 3, 0, 64, 1, true},
        {"at the other edge", at_the_other_edge, 60, 0, 0, 0, 0, 1, true},
        {"bursts", bursts, 30, 8, 4, 0, 0, 0.02, true},
        {"nearly at capacity", nearly_at_capacity, 30, 3, 2, 0, 0, 0.02, true},
        {"nearly at capacity, slow", nearly_at_capacity_on_slow_storage, 30, 5, 6, 8, 64, 0.02, true},
    };
    for (size_t i = 0; i < LEAT_COUNT(all); i++) {
        const expectation *e = &all[i];
        const run r = simulate(e->scene, e->seconds, e->settled_s, NULL);
        print_changes(e->name, &r);
        if (r.n_changes > e->changes_most || last_change(&r) > e->settled_s)
            fail_msg("%s: %d changes, the last at %.1f s", e->name, r.n_changes, last_change(&r));
        if (r.last.readers < e->readers_least || r.last.readers > e->readers_most)
            fail_msg("%s: %d readers", e->name, r.last.readers);
        if (r.waited_s > e->wait_most * r.s) fail_msg("%s: waited %.2f of %.0f s", e->name, r.waited_s, r.s);
        if (e->best) check_best(e->name, e->scene, e->seconds, e->settled_s, &r);
    }
}

/* Readers run for storage alone: each start is a time in which workers were blocked, each stop one in which they would not be. */
static void test_follows_storage(void **state) {
    (void)state;
    const run r = simulate(becomes_fast, 30, 0, NULL);
    int most = 0;
    for (int i = 0; i < r.n_changes; i++) {
        assert_true(r.change_s[i] < 10 ? r.change[i].readers > 0 : r.change[i].readers == 0);
        most = LEAT_MAX(most, r.change[i].readers);
    }
    assert_true(r.n_changes > 1 && r.change_s[0] < 1 && last_change(&r) > 10 && last_change(&r) < 13);
    assert_true(most >= 20); /* ten reads for each that a worker can use */
}

/* The limits hold, and a tuner that may do nothing does nothing. */
static void test_limits(void **state) {
    (void)state;
    leat__tuner t = {.n_workers = 1, .most = {.slots = 4, .readers = 0}, .choice = {.slots = 4}};
    for (uint64_t i = 1; i < 2000; i++) {
        const leat__tune_facts f = {.now_ns = i * 10000000,
                                    .batches = i,
                                    .wait_ns = i * 9000000,
                                    .full_ns = i * 5000000,
                                    .samples = i,
                                    .watched = i,
                                    .whole_ns = i * 1000000,
                                    .blocked_ns = i * 900000};
        assert_false(leat__tune(&t, &f));
    }
    t = (leat__tuner){.n_workers = 200, .most = {.slots = 9, .readers = 64}, .choice = {.slots = 4}};
    for (uint64_t i = 1; i < 4000; i++) {
        const leat__tune_facts f = {.now_ns = i * 10000000,
                                    .batches = i,
                                    .wait_ns = i * 9000000,
                                    .full_ns = i * 5000000,
                                    .samples = i * i,
                                    .watched = i * 10,
                                    .whole_ns = i * 1000000,
                                    .blocked_ns = i * 1000000,
                                    .reads = i * i,
                                    .reads_blocked_ns = i * i * 1000000};
        leat__tune(&t, &f);
        assert_true(t.choice.slots <= 9 && t.choice.readers <= 64);
    }
    assert_true(t.choice.slots == 9 && t.choice.readers == 64);
}

/* Two workers that take 0.3 ms each, and a network of `read_ms`: the number of readers that one step leads to from 128 of them. */
static int readers_for_network(uint64_t read_ms) {
    leat__tuner t = {
        .n_workers = 2, .most = {.slots = 4, .readers = 512}, .choice = {.slots = 4, .readers = 128}};
    leat__tune_facts f = {.now_ns = 1};
    int n_changes = 0;
    for (int i = 0; i < 40 && n_changes == 0; i++, f.now_ns += 100000000) {
        const uint64_t samples = 128 * 100 / read_ms; /* in a tenth of a second */
        n_changes += leat__tune(&t, &f);
        f.batches += 4;
        f.wait_ns += 80000000;
        f.samples += samples;
        f.watched += 10;
        f.whole_ns += 10 * 200000000 / samples; /* the time of two workers */
        f.busy_ns += 10 * 300000;
        f.blocked_ns += 10 * (200000000 / samples - 300000);
        f.reads += samples;
        f.reads_blocked_ns += samples * read_ms * 1000000;
    }
    return t.choice.readers;
}

/* Each step goes to as many as are due while one read takes, and not to half as many more again and again. */
static void test_network(void **state) {
    (void)state;
    assert_int_equal(readers_for_network(30), 200 + 200 / 4 + 2);
    assert_int_equal(readers_for_network(50), 333 + 333 / 4 + 2);
    assert_int_equal(readers_for_network(200), 512);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes), cmocka_unit_test(test_follows_storage),
                                       cmocka_unit_test(test_network), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
