/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Counters of a run: that they add up, that functions of the program and time blocked in reading are told from other work, and
 * that what the tuner chose can be given back. */
#include "unit/testing.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/runtime/waits.h"
#include "base/thread.h"
#include "leat/leat_tools.h"

enum { N = 40, DELAY_US = 2000 };

static void burn(uint64_t us) {
    const uint64_t until = leat__thread_cpu_ns() + us * 1000;
    while (leat__thread_cpu_ns() < until) {}
}

/* ---------------------------------------------------------------------------------------- blocked time */

static atomic_bool stop_burning;

static void *burn_on(void *unused) {
    (void)unused;
    while (!atomic_load(&stop_burning)) burn(1000);
    return NULL;
}

/* Work is not waiting, also when others have the cores; sleeping is. */
static void test_blocked_time(void **state) {
    (void)state;
    enum { BURNERS = 8 };
    pthread_t burner[BURNERS];
    leat__waits waits;
    leat__waits_open(&waits);
    atomic_store(&stop_burning, false);
    for (int i = 0; i < BURNERS; i++) leat__thread_start(&burner[i], burn_on, NULL, "burn", NULL);
    const leat__moment a = leat__waits_now(&waits);
    burn(60000);
    const leat__moment b = leat__waits_now(&waits);
    leat__sleep_ns(50000000);
    const leat__moment c = leat__waits_now(&waits);
    atomic_store(&stop_burning, true);
    for (int i = 0; i < BURNERS; i++) pthread_join(burner[i], NULL);
    const uint64_t working = leat__waits_between(&a, &b), sleeping = leat__waits_between(&b, &c);
    /* Without the kernel's word, time in which the thread lost its core does not count at all. */
    if (working > 5000000) fail_msg("%d us of work counted as waiting", (int)(working / 1000));
    if (waits.open && (sleeping < 45000000 || sleeping > c.now_ns - b.now_ns))
        fail_msg("%d us of 50,000 counted as waiting", (int)(sleeping / 1000));
    leat__waits_close(&waits);
}

/* --------------------------------------------------------------------------------------------- stages */

typedef struct program {
    int read_us, map_us, burn_us;
} program;

static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    const program *p = user;
    (void)err;
    if (p->read_us) leat__sleep_ns((uint64_t)p->read_us * 1000);
    memset(out[0].room, (int)i, 12);
    return 0;
}

static int map_it(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                  const leat_tensor *out, int n_out, leat_error *err) {
    const program *p = user;
    (void)info, (void)in, (void)n_in, (void)n_out, (void)err;
    if (p->map_us) leat__sleep_ns((uint64_t)p->map_us * 1000);
    if (p->burn_us) burn((uint64_t)p->burn_us);
    *(float *)out[0].data = 1;
    return 0;
}

static leat_pipeline *open_program(program *p, const char *text, const leat_config *config) {
    static const leat_field field = {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {2, 2, 3}};
    const leat_source_callbacks callbacks = {
        .n = N, .n_fields = 1, .field = &field, .read_at = read_at, .thread_safe = 1, .user = p};
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, &callbacks);
    leat_spec_map(spec, "f", map_it, p, 1);
    leat_spec_add(spec, text);
    return open_spec(spec, config);
}

static leat_stats run_through(leat_pipeline *pipeline) {
    leat_stats stats;
    leat_batch b;
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) leat_batch_release(&b);
    leat_pipeline_stats(pipeline, &stats);
    return stats;
}

/* A map that sleeps, a source that sleeps, a map that works: all are calls, and only the second waits in reading. */
static void test_calls(void **state) {
    (void)state;
    static const program programs[] = {
        {.map_us = DELAY_US}, {.read_us = DELAY_US}, {.burn_us = DELAY_US}, {0}};
    for (size_t i = 0; i < LEAT_COUNT(programs); i++) {
        program p = programs[i];
        leat_pipeline *pipeline = open_program(&p, "map x:f32 callback=f | batch 4 | options read_ahead=off",
                                               &(leat_config){.n_threads = 2, .n_epochs = 4});
        const leat_stats s = run_through(pipeline);
        const double spent = 4 * N * DELAY_US * 1e-6, call = s.stage_s[LEAT_STAGE_CALL];
        assert_int_equal(s.samples, 4 * N);
        assert_int_equal(s.samples_made, 4 * N);
        assert_true(s.stage_s[LEAT_STAGE_READ] == 0);
        if (i < 3 && call < spent * 0.7) fail_msg("%d: %.3f s in calls, not %.3f", (int)i, call, spent);
        if (i == 1 && (s.read_wait_s < spent * 0.5 || s.read_wait_s > call))
            fail_msg("blocked in reading for %.3f s of %.3f", s.read_wait_s, spent);
        if (i != 1 && s.read_wait_s > spent * 0.1) fail_msg("%d: blocked for %.3f s", (int)i, s.read_wait_s);
        leat_pipeline_close(&pipeline);
    }
}

/* Three workers on one core: two of them wait for it. */
static void test_queue(void **state) {
    (void)state;
    leat__waits waits;
    leat__waits_open(&waits);
    const bool told = waits.open;
    leat__waits_close(&waits);
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    program p = {.burn_us = DELAY_US};
    leat_pipeline *pipeline = open_program(&p, "map x:f32 callback=f | batch 4 | prefetch 8",
                                           &(leat_config){.n_threads = 3, .n_epochs = 4});
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    const leat_stats s = run_through(pipeline);
    leat_worker_stats worker[3];
    assert_int_equal(leat_pipeline_workers(pipeline, worker, 3), 3);
    const double sum = worker[0].queue_s + worker[1].queue_s + worker[2].queue_s;
    leat_pipeline_close(&pipeline);
    if (!told) skip();
    assert_true(fabs(sum - s.queue_s) < 1e-9);
    if (s.queue_s < s.cpu_s) fail_msg("no core for %.3f s, and one for %.3f s", s.queue_s, s.cpu_s);
    assert_true(s.read_wait_s < 0.1 * s.queue_s);
}

/* ----------------------------------------------------------------------------------------------- sums */

static void test_sums(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 200 40 40 | resize 32 32 | batch 8"),
                                        &(leat_config){.n_threads = 3, .n_epochs = 3});
    const leat_stats s = run_through(pipeline);
    leat_worker_stats worker[4];
    leat_latency latency;
    leat_pipeline_latency(pipeline, &latency);
    assert_int_equal(leat_pipeline_workers(pipeline, NULL, 4), 3);
    assert_int_equal(leat_pipeline_workers(pipeline, worker, 2), 3);
    assert_int_equal(leat_pipeline_workers(pipeline, worker, 4), 3);
    uint64_t samples = 0, batches = 0;
    double stages = 0, cpu = 0;
    for (int i = 0; i < 3; i++) {
        samples += worker[i].samples;
        cpu += worker[i].cpu_s;
        stages += worker[i].stage_s[LEAT_STAGE_TRANSFORM];
    }
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) batches += latency.count[i];
    assert_int_equal(samples, s.samples_made);
    assert_int_equal(s.samples_made, 600);
    assert_int_equal(batches, 75);
    assert_int_equal(latency.batches, 75);
    assert_true(latency.sum_s <= s.wait_s + 1e-6 && latency.max_s <= latency.sum_s);
    assert_true(cpu > 0 && stages > 0 && fabs(stages - s.stage_s[LEAT_STAGE_TRANSFORM]) < 1e-9);
    assert_true(s.open_s >= s.first_batch_s && s.first_batch_s > 0);
    assert_true(s.read_wait_s < 0.2 * s.open_s);
    leat_pipeline_close(&pipeline);
    leat_pipeline_latency(NULL, &latency);
    assert_int_equal(latency.batches, 0);
    assert_int_equal(leat_pipeline_workers(NULL, worker, 4), 0);
}

/* Few of so small samples are timed. A later one may take less; what was counted before stays. */
static void test_estimates_only_grow(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 500 8 8 | random_flip_left_right | batch 4"),
                                        &(leat_config){.n_threads = 2, .n_epochs = 40});
    leat_stats before = {0}, now;
    leat_batch b;
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
        leat_batch_release(&b);
        leat_pipeline_stats(pipeline, &now);
        assert_true(now.read_wait_s >= before.read_wait_s);
        for (int i = 0; i < LEAT_STAGE_COUNT; i++) assert_true(now.stage_s[i] >= before.stage_s[i]);
        before = now;
    }
    assert_true(before.stage_s[LEAT_STAGE_TRANSFORM] > 0);
    leat_pipeline_close(&pipeline);
}

/* A consumer that rests: all slots are full meanwhile, and workers idle; both can be seen before it goes on. */
static void test_full(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 200 8 8 | batch 4 | prefetch 2"),
                                        &(leat_config){.n_threads = 2, .n_epochs = -1});
    leat_batch b;
    leat_stats a, s;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    leat_batch_release(&b);
    leat__sleep_ns(100000000);
    leat_pipeline_stats(pipeline, &a);
    leat__sleep_ns(200000000);
    leat_pipeline_stats(pipeline, &s);
    assert_true(s.slots_full_s - a.slots_full_s > 0.19);
    assert_true(s.full_s - a.full_s > 0.38);
    assert_true(s.wait_s == a.wait_s && s.open_s - a.open_s > 0.19);
    assert_int_equal(s.samples, 4);
    assert_int_equal(s.samples_made, 4 * 5);
    leat_pipeline_close(&pipeline);
}

/* -------------------------------------------------------------------------------------------- tuning */

static void test_replay(void **state) {
    (void)state;
    static const char *const texts[] = {"threads=3 slots=5 read_ahead=4", "threads=1 slots=2 read_ahead=0"};
    tape want = record_spec(spec_of("synth 60 8 8 | shuffle | batch 4"), NULL);
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        char said[200];
        program p = {0};
        leat_pipeline *pipeline =
            open_spec(spec_of("synth 60 8 8 | shuffle | batch 4 | options tune='%s'", texts[i]), NULL);
        tape got = record(pipeline, -1);
        same_tape(&want, &got, texts[i]);
        leat_pipeline_tuning(pipeline, said, sizeof said);
        assert_true(strncmp(said, texts[i], strlen("threads=3 slots=5")) == 0);
        tape_free(&got);
        leat_pipeline_close(&pipeline);
        char text[300];
        snprintf(text, sizeof text, "batch 4 | options tune='%s'", texts[i]);
        pipeline = open_program(&p, text, NULL);
        run_through(pipeline);
        assert_int_equal(leat_pipeline_tuning(pipeline, said, sizeof said), strlen(texts[i]));
        assert_string_equal(said, texts[i]);
        leat_stats s;
        leat_pipeline_stats(pipeline, &s);
        assert_int_equal(s.tuned, 0);
        leat_pipeline_close(&pipeline);
    }
    tape_free(&want);
    /* What the program says counts more. */
    leat_pipeline *pipeline = open_spec(spec_of("synth 60 8 8 | batch 4 | options tune='threads=3 slots=5'"),
                                        &(leat_config){.n_threads = 2, .n_slots = 4});
    char said[200];
    leat_pipeline_tuning(pipeline, said, sizeof said);
    assert_true(strncmp(said, "threads=2 slots=4", 17) == 0);
    leat_pipeline_close(&pipeline);
    assert_int_equal(leat_pipeline_tuning(NULL, said, sizeof said), 0);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "on",        "threads", "threads=0", "slots=1",   "slots=2x", "read_ahead=513",
        "shards=17", "cycle=2", "=3",        "slots=5 =", "slots=",   "slots=99999999999999999999",
        "threads= 2"};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++)
        refuse_spec(spec_of("synth | batch 2 | options tune='%s'", wrong[i]), NULL, LEAT_ERR_ARGUMENT,
                    "tune must be auto, off, or such as");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocked_time),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_estimates_only_grow),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
