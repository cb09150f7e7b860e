/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain timeout=120 */
/* What the doctor says of pipelines whose source sleeps: its cost is fixed, whatever else the machine does. */
#include "unit/testing.h"

#include "base/clock.h"
#include "leat/leat_tools.h"

enum { N = 48, SIZE = 64 };

static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)err;
    leat__sleep_ns((uint64_t) * (const int *)user * 1000);
    memset(out[0].room, (int)i, SIZE);
    return 0;
}

static leat_spec *sleeping(int *delay_us, const char *text) {
    static const leat_field field = {.name = "x", .dtype = LEAT_DTYPE_U8, .ndim = 1, .shape = {SIZE}};
    const leat_source_callbacks callbacks = {.n = N,
                                             .n_fields = 1,
                                             .field = &field,
                                             .read_at = read_at,
                                             .thread_safe = 1,
                                             .no_read_ahead = 1,
                                             .user = delay_us};
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, &callbacks);
    leat_spec_add(spec, text);
    return spec;
}

static const leat_remedy *remedy(const leat_doctor_report *report, const char *name, int *which) {
    for (int i = 0; i < report->n_remedies; i++)
        if (strcmp(report->remedies[i].name, name) == 0) return *which = i, &report->remedies[i];
    return NULL;
}

static void check_report(const leat_doctor_report *r) {
    uint64_t batches = 0;
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) batches += r->latency.count[i];
    assert_true(batches >= 3 && r->n_moments > 0 && r->seconds > 0 && r->wait >= 0 && r->wait <= 1);
    assert_true(r->binding >= -1 && r->binding < r->n_ceilings && *r->verdict.sentence);
    for (int i = 0; i < r->n_ceilings; i++) assert_true(r->ceiling[i].rate > 0 && *r->ceiling[i].how);
    for (int i = 0; i < r->n_remedies; i++) {
        assert_true(*r->remedies[i].title && *r->remedies[i].command);
        assert_true(i == 0 || r->remedies[i - 1].gain >= r->remedies[i].gain);
    }
    for (size_t i = 0; i < LEAT_COUNT(r->reserved); i++) assert_true(r->reserved[i] == 0);
}

static void test_a_slow_function(void **state) {
    (void)state;
    int delay = 3000, which = -1;
    leat_spec *spec = sleeping(&delay, "batch 4");
    const leat_config config = {.n_threads = 2};
    const leat_doctor_config doctor = {.seconds = 0.3, .step_ms = 1, .folder = test_dir};
    leat_doctor_report report;
    leat_doctor_applied applied;
    leat_error err;
    assert_int_equal(leat_doctor(&report, spec, &config, &doctor, &err), 0);
    check_report(&report);
    assert_string_equal(leat_bottleneck_name(report.verdict.bottleneck), "function");
    assert_true(report.input_binds && report.epoch_samples == N);
    const leat_remedy *cache = remedy(&report, "cache", &which);
    if (!cache) fail_msg("no cache: %s", report.verdict.sentence);
    assert_true(cache->gain > 1.3 && strstr(cache->command, "cache | batch 4"));
    assert_int_equal(leat_doctor_apply(&applied, &report, which, spec, &config, &doctor, &err), 0);
    assert_true(applied.gain > 1.3 && applied.rate_after > applied.rate_before);
    assert_true(applied.text && strstr(applied.text, "cache | batch 4"));
    assert_true(applied.written_bytes == 0 && applied.folder[0] == 0);
    assert_true(remedy(&report, "function", &which) && report.remedies[which].kind == LEAT_REMEDY_ADVICE);
    assert_int_equal(leat_doctor_apply(&applied, &report, which, spec, &config, &doctor, &err),
                     LEAT_ERR_UNSUPPORTED);
    assert_int_equal(leat_doctor_apply(&applied, &report, 99, spec, &config, &doctor, &err),
                     LEAT_ERR_ARGUMENT);
    leat_doctor_free(&report);
    leat_doctor_free(&report);
    leat_doctor_free(NULL);
    leat_spec_free(&spec);
}

/* Two threads make a batch in 6 ms, the consumer wants eight at once every 80. */
static void test_prefetch(void **state) {
    (void)state;
    int delay = 3000, which = -1;
    leat_spec *spec = sleeping(&delay, "batch 4 | prefetch 1");
    const leat_config config = {.n_threads = 2};
    const leat_doctor_config doctor = {.seconds = 0.4, .step_ms = 10, .at_once = 8};
    leat_doctor_report report;
    leat_error err;
    assert_int_equal(leat_doctor(&report, spec, &config, &doctor, &err), 0);
    check_report(&report);
    assert_string_equal(leat_bottleneck_name(report.verdict.bottleneck), "prefetch");
    assert_true(remedy(&report, "prefetch", &which) && strstr(report.remedies[which].command, "prefetch 16"));
    leat_doctor_free(&report);
    leat_spec_free(&spec);
}

static void test_the_consumer(void **state) {
    (void)state;
    int delay = 0;
    leat_spec *spec = sleeping(&delay, "batch 4");
    const leat_doctor_config doctor = {.seconds = 0.2, .step_ms = 30};
    leat_doctor_report report;
    assert_int_equal(leat_doctor(&report, spec, NULL, &doctor, NULL), 0);
    check_report(&report);
    assert_string_equal(leat_bottleneck_name(report.verdict.bottleneck), "consumer");
    assert_true(!report.input_binds && report.binding >= 0);
    assert_string_equal(report.ceiling[report.binding].name, "consumer");
    leat_doctor_free(&report);
    leat_spec_free(&spec);
}

static void test_a_window_that_does_not_fit(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) add_sample(&shard, i, 30000);
    write_deflated(in_dir("packed.tfrecord"), &shard, GZIP_BITS);
    leat_spec *spec = spec_of("tfrecord %s | shuffle window=3000000 | parse label:int64 | batch 4",
                              in_dir("packed.tfrecord"));
    const leat_config config = {.memory_max_bytes = 16 << 20};
    const leat_doctor_config doctor = {.seconds = 0.2};
    leat_doctor_report report;
    leat_error err;
    if (leat_doctor(&report, spec, &config, &doctor, &err) < 0) fail_msg("%s", err.message);
    assert_int_equal(report.verdict.bottleneck, LEAT_BOTTLENECK_BUDGET);
    assert_non_null(strstr(report.verdict.sentence, "window of 3000000 records does not fit"));
    assert_true(report.rate == 0 && report.n_remedies == 1 && report.remedies[0].rate > 0);
    assert_non_null(strstr(report.remedies[0].command, "shuffle window="));
    leat_doctor_free(&report);
    leat_spec_free(&spec);
}

static int cancel(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)what, (void)done, (void)total;
    return --*(int *)user < 0;
}

static void test_cancelling(void **state) {
    (void)state;
    int delay = 100;
    leat_spec *spec = sleeping(&delay, "batch 4");
    const leat_doctor_config doctor = {.seconds = 0.1, .folder = test_dir};
    for (int n = 0; n < 40; n += 7) {
        int left = n;
        const leat_config config = {.progress = cancel, .user = &left};
        leat_doctor_report report;
        leat_error err;
        const int rc = leat_doctor(&report, spec, &config, &doctor, &err);
        assert_true(rc == LEAT_ERR_CANCELLED || (rc == 0 && left >= 0));
        leat_doctor_free(&report);
    }
    leat_spec_free(&spec);
}

static void test_arguments(void **state) {
    (void)state;
    leat_doctor_report report;
    leat_error err;
    leat_spec *spec = spec_of("synth 3 8 8 | batch 1"), *wrong = spec_of("synth 3 8 8 | no_such");
    assert_int_equal(leat_doctor(NULL, spec, NULL, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_doctor(&report, wrong, NULL, NULL, &err), LEAT_ERR_SYNTAX);
    const leat_doctor_config bad[] = {{.seconds = -1}, {.seconds = 1e9}, {.step_ms = -1}, {.at_once = -1}};
    for (size_t i = 0; i < LEAT_COUNT(bad); i++)
        assert_int_equal(leat_doctor(&report, spec, NULL, &bad[i], &err), LEAT_ERR_ARGUMENT);
    leat_doctor_config reserved = {.seconds = 1};
    reserved.reserved[3] = 1;
    assert_int_equal(leat_doctor(&report, spec, NULL, &reserved, &err), LEAT_ERR_ARGUMENT);
    assert_string_equal(leat_bottleneck_name(LEAT_BOTTLENECK_STREAM), "gzip");
    assert_string_equal(leat_bottleneck_name(999), "none");
    leat_spec_free(&spec);
    leat_spec_free(&wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_function), cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_the_consumer),    cmocka_unit_test(test_a_window_that_does_not_fit),
        cmocka_unit_test(test_cancelling),      cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
