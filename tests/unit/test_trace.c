/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of a pipeline: every sample once, events of a thread one after the other, the newest if there is no room for all, and
 * none unless the config asks for them. */
#include "unit/testing.h"

#include "base/clock.h"
#include "leat/leat_tools.h"
#include "run/pipeline.h"

enum { N = 60, EVENTS = 4096 };

static leat_event events[4 * EVENTS];

static uint64_t run_traced(leat_spec *spec, leat_config config, uint64_t n_events) {
    config.trace_events = n_events;
    config.no_side_files = 1;
    leat_pipeline *pipeline = open_spec(spec, &config);
    tape t = record(pipeline, -1);
    assert_int_equal(t.rc, LEAT_END);
    tape_free(&t);
    const uint64_t n = leat_trace_events(pipeline, events, LEAT_COUNT(events));
    assert_true(n > 0 && n <= LEAT_COUNT(events));
    leat_pipeline_close(&pipeline);
    return n;
}

static bool same_thread(const leat_event *a, const leat_event *b) {
    const bool consumer = a->kind >= LEAT_EVENT_WAIT, reader = a->kind == LEAT_EVENT_READ;
    return consumer == (b->kind >= LEAT_EVENT_WAIT) && reader == (b->kind == LEAT_EVENT_READ) &&
           a->thread == b->thread;
}

/* Events of one thread follow each other and do not overlap; stages fit into their sample. */
static void check_order(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const leat_event *e = &events[i];
        uint64_t sum = 0;
        assert_true(e->begin_ns <= e->end_ns && e->end_ns < UINT64_C(600000000000));
        for (int k = 0; k < LEAT_STAGE_COUNT; k++) sum += e->stage_ns[k];
        assert_true(sum <= e->end_ns - e->begin_ns);
        assert_true(e->kind == LEAT_EVENT_SAMPLE || sum == 0);
        for (size_t k = 0; k < LEAT_COUNT(e->reserved); k++) assert_true(e->reserved[k] == 0);
        for (uint64_t k = i; k-- > 0;) {
            if (!same_thread(&events[k], e)) continue;
            assert_true(events[k].end_ns <= e->begin_ns);
            break;
        }
    }
}

static int count(uint64_t n, int kind) {
    int found = 0;
    for (uint64_t i = 0; i < n; i++) found += events[i].kind == kind;
    return found;
}

/* Every sample of every epoch once, in the batch that it belongs to. */
static void check_samples(uint64_t n, int batch, int epochs) {
    bool seen[2][N] = {{false}};
    for (uint64_t i = 0; i < n; i++) {
        const leat_event *e = &events[i];
        if (e->kind != LEAT_EVENT_SAMPLE) continue;
        assert_true(e->sample < N && e->epoch < (uint64_t)epochs && !seen[e->epoch][e->sample]);
        seen[e->epoch][e->sample] = true;
        assert_true(e->batch == e->sample / (uint64_t)batch); /* the order is that of the source */
    }
    assert_int_equal(count(n, LEAT_EVENT_SAMPLE), N * epochs);
    assert_int_equal(count(n, LEAT_EVENT_FINISH), N / batch * epochs);
    assert_int_equal(count(n, LEAT_EVENT_WAIT), N / batch * epochs);
    assert_int_equal(count(n, LEAT_EVENT_STEP), N / batch * epochs - 1);
}

static void test_every_sample(void **state) {
    (void)state;
    for (int threads = 0; threads <= 3; threads++) {
        const leat_config config = {.n_threads = threads, .synchronous = threads == 0, .n_epochs = 2};
        const uint64_t n = run_traced(spec_of("synth %d 40 40 | resize 16 16 | batch 5", N), config, EVENTS);
        check_order(n);
        check_samples(n, 5, 2);
        uint64_t transform = 0;
        for (uint64_t i = 0; i < n; i++) transform += events[i].stage_ns[LEAT_STAGE_TRANSFORM];
        assert_true(transform > 0);
        assert_int_equal(events[0].kind, LEAT_EVENT_WAIT); /* the consumer comes first */
    }
}

/* Small samples are timed rarely without a trace, and all of them with one. Groups are mixed in between. */
static void test_small_samples(void **state) {
    (void)state;
    const uint64_t n = run_traced(spec_of("synth %d 4 4 | one_hot label 10 | batch 20 | mixup", N),
                                  (leat_config){.n_threads = 2}, EVENTS);
    check_order(n);
    check_samples(n, 20, 1);
    for (uint64_t i = 0; i < n; i++)
        if (events[i].kind == LEAT_EVENT_SAMPLE) assert_true(events[i].stage_ns[LEAT_STAGE_READ] > 0);
}

/* Rings forget the oldest; what the other threads did before that is left out. */
static void test_the_newest(void **state) {
    (void)state;
    const leat_config config = {.n_threads = 2, .n_epochs = 50};
    const uint64_t n = run_traced(spec_of("synth %d 4 4 | batch 5", N), config, 1);
    check_order(n);
    assert_in_range(count(n, LEAT_EVENT_SAMPLE), 100, 512);
    uint64_t first = UINT64_MAX, first_step = UINT64_MAX, last_epoch = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (events[i].kind >= LEAT_EVENT_WAIT) first_step = LEAT_MIN(first_step, events[i].begin_ns);
        else first = LEAT_MIN(first, events[i].begin_ns);
        last_epoch = LEAT_MAX(last_epoch, events[i].epoch);
    }
    assert_int_equal(last_epoch, 49);
    assert_true(first > 0 && first_step >= first);
}

static void test_idle_workers(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth %d 4 4 | batch 5", N),
                                        &(leat_config){.n_threads = 2, .n_slots = 2, .trace_events = EVENTS});
    leat_batch batch;
    while (leat_pipeline_next(pipeline, &batch, NULL) == 0) {
        leat__sleep_ns(2000000);
        leat_batch_release(&batch);
    }
    const uint64_t n = leat_trace_events(pipeline, events, LEAT_COUNT(events));
    check_order(n);
    uint64_t idle = 0, step = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t ns = events[i].end_ns - events[i].begin_ns;
        idle += events[i].kind == LEAT_EVENT_IDLE ? ns : 0;
        step += events[i].kind == LEAT_EVENT_STEP ? ns : 0;
        /* Wake-ups for nothing do not cut the time in pieces. */
        if (i > 0 && events[i].kind == LEAT_EVENT_IDLE && events[i - 1].kind == LEAT_EVENT_IDLE)
            assert_int_not_equal(events[i].thread, events[i - 1].thread);
    }
    assert_true(step > UINT64_C(11) * 2000000 && idle > 10000000);
    leat_pipeline_close(&pipeline);
}

static int read_slowly(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)user, (void)err;
    leat__sleep_ns(300000);
    *(int64_t *)out[0].room = (int64_t)i;
    return 0;
}

static void test_readers(void **state) {
    (void)state;
    const leat_field field = {.name = "label", .dtype = LEAT_DTYPE_I64};
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec,
                     &(leat_source_callbacks){
                         .n = N, .n_fields = 1, .field = &field, .read_at = read_slowly, .thread_safe = 1});
    leat_spec_add(spec, "options read_ahead=3 | batch 5");
    uint64_t n = run_traced(spec, (leat_config){.n_threads = 1}, EVENTS);
    check_order(n);
    check_samples(n, 5, 1);
    assert_in_range(count(n, LEAT_EVENT_READ), N / 2, N);
    leat__buf shard = {0};
    for (int i = 0; i < N; i++) add_sample(&shard, i, 10);
    write_deflated(in_dir("a.tfrecord.gz"), &shard, GZIP_BITS);
    n = run_traced(spec_of("tfrecord %s | parse label:int64 | batch 5", in_dir("a.tfrecord.gz")),
                   (leat_config){.n_threads = 2}, EVENTS);
    check_order(n);
    check_samples(n, 5, 1);
    assert_true(count(n, LEAT_EVENT_READ) > 0);
}

/* Asking while workers run: each answer is whole and in order. */
static void test_asking_meanwhile(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth %d 4 4 | batch 5", N),
                                        &(leat_config){.n_threads = 3, .n_epochs = 20, .trace_events = 600});
    leat_batch batch;
    for (int i = 0; leat_pipeline_next(pipeline, &batch, NULL) == 0; i++) {
        leat_batch_release(&batch);
        if (i % 8 == 0) check_order(LEAT_MIN(leat_trace_events(pipeline, events, 300), (uint64_t)300));
    }
    leat_pipeline_close(&pipeline);
}

static void test_no_trace(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 4 4 4 | batch 2"), NULL);
    assert_null(pipeline->trace);
    assert_int_equal(leat_trace_events(pipeline, events, 10), 0);
    assert_int_equal(leat_trace_events(NULL, events, 10), 0);
    leat_pipeline_close(&pipeline);
    refuse_spec(spec_of("synth 4 4 4 | batch 2"), &(leat_config){.trace_events = UINT64_MAX}, LEAT_ERR_LIMIT,
                "16777216 events at the most");
}

static void test_without_memory(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    leat__trace *trace = NULL;
    int rc = -1;
    for (uint64_t n = 1; n < 20 && rc < 0; n++) {
        leat__mem_fail_at(n);
        rc = leat__trace_new(&trace, 3, 100, NULL);
        leat__mem_fail_at(0);
        assert_true(rc == 0 || (rc == LEAT_ERR_MEMORY && !trace && memory_held() == before));
    }
    assert_int_equal(rc, 0);
    leat__trace_free(&trace);
    assert_int_equal(memory_held(), before);
}

/* Events are kept in memory that is there from the beginning. */
static void test_nothing_is_allocated(void **state) {
    (void)state;
    leat__trace *trace = NULL;
    assert_int_equal(leat__trace_new(&trace, 2, 100, NULL), 0);
    leat__mem_fail_at(0);
    for (int i = 0; i < 1000; i++) {
        leat__trace_add(leat__trace_worker(trace, i % 2), (leat_event){.begin_ns = leat__now_ns()});
        leat__trace_handed(trace, leat__now_ns(), 0, (uint64_t)i, 1);
    }
    assert_int_equal(leat__mem_fail_at(0), 0);
    assert_in_range(leat__trace_events(trace, 0, NULL, 0), 256, 2000);
    leat__trace_free(&trace);
}

static void test_files_that_cannot_be_written(void **state) {
    (void)state;
    leat_error err;
    assert_int_equal(leat_trace_write(NULL, 1, in_dir("a.json"), &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_trace_write(events, 0, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_trace_write(NULL, 0, in_dir("none/a.json"), &err), LEAT_ERR_NOT_FOUND);
    assert_int_equal(leat_trace_write(NULL, 0, test_dir, &err), LEAT_ERR_IO);
    assert_int_equal(leat_trace_write(NULL, 0, "/dev/null", &err), LEAT_ERR_IO);
    assert_non_null(strstr(err.message, "/dev/null"));
    /* What no pipeline gives is left out. */
    const leat_event odd[] = {{.kind = 77}, {.kind = -1}, {.begin_ns = 2, .end_ns = 1}, {.thread = -5}};
    assert_int_equal(leat_trace_write(odd, LEAT_COUNT(odd), in_dir("odd.json"), &err), 0);
    assert_int_equal(leat_trace_write(NULL, 0, in_dir("empty.json"), &err), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sample),
        cmocka_unit_test(test_small_samples),
        cmocka_unit_test(test_the_newest),
        cmocka_unit_test(test_idle_workers),
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_asking_meanwhile),
        cmocka_unit_test(test_no_trace),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_nothing_is_allocated),
        cmocka_unit_test(test_files_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
