/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=60 */
/* fork() while workers run: the child is refused at once and never waits for a lock that nobody will
 * release; it can open pipelines of its own; the parent does not notice. (The thread sanitizer does not
 * follow forks of threads.) */
#include "unit/testing.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"

#define CHECK(truth) \
    if (!(truth)) _exit(__LINE__ % 250 + 1)

static void be_the_child(leat_pipeline *pipeline, leat_batch *held, uint64_t digest, const char *state,
                         const char *own) {
    leat_batch batch;
    leat_error err;
    leat_stats stats;
    leat_bad bad;
    char text[4096];
    CHECK(leat_pipeline_next(pipeline, &batch, &err) == LEAT_ERR_FORKED && strstr(err.message, "fork"));
    CHECK(leat_pipeline_restore(pipeline, state, &err) == LEAT_ERR_FORKED);
    CHECK(batch_digest(held) == digest); /* its copy of a batch is good */
    leat_batch_release(held);
    CHECK(held->lease == NULL);
    leat_pipeline_stats(pipeline, &stats);
    leat_pipeline_samples(pipeline);
    leat_pipeline_length(pipeline, 0);
    leat_pipeline_bad(pipeline, 0, &bad);
    leat_pipeline_plan(pipeline, text, sizeof text);
    leat_pipeline_cancel(pipeline);
    leat_pipeline_close(&pipeline);
    CHECK(pipeline == NULL);
#if defined(__SANITIZE_ADDRESS__) /* its allocator does not survive a fork of threads: nothing new in there */
    (void)own;
    _exit(0);
#endif
    leat_spec *spec = leat_spec_new(own);
    CHECK(leat_pipeline_open(&pipeline, spec, NULL, &err) == 0);
    int n = 0;
    while (leat_pipeline_next(pipeline, &batch, &err) == 0) n += batch.n, leat_batch_release(&batch);
    CHECK(n == 40);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    _exit(0);
}

/* The child's exit code, -1 if it had to be killed. */
static int wait_for(pid_t child) {
    const uint64_t until = leat__now_ns() + UINT64_C(20000000000);
    int status;
    while (leat__now_ns() < until) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
        usleep(2000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static void check_forks(const char *text, int n_forks) {
    leat_pipeline *pipeline =
        open_spec(spec_of("%s", text), &(leat_config){.n_threads = 3, .n_slots = 3, .n_epochs = -1});
    char state[1024];
    assert_true(leat_pipeline_state(pipeline, state, sizeof state, NULL) == 0);
    for (int i = 0; i < n_forks; i++) {
        leat_batch b;
        leat_error err;
        if (leat_pipeline_next(pipeline, &b, &err) != 0) fail_msg("%s", err.message);
        const uint64_t digest = batch_digest(&b);
        usleep((useconds_t)(i * 37 % 500));
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) be_the_child(pipeline, &b, digest, state, "synth 40 16 16 | batch 8");
        assert_int_equal(wait_for(child), 0);
        assert_true(batch_digest(&b) == digest);
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
}

static void test_synth(void **state) {
    (void)state;
    check_forks("synth 1000 24 24 | resize 12 12 | batch 4", 40);
}

static void test_records(void **state) {
    (void)state;
    write_samples(in_dir("a.tfrecord"), 0, 300, 50);
    char text[600];
    snprintf(text, sizeof text, "tfrecord %s | shuffle | parse label:int64 row:float[4] | batch 4",
             in_dir("a.tfrecord"));
    check_forks(text, 40);
}

static void test_stream(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 300; i++) add_sample(&shard, i, 50);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    char text[600];
    snprintf(text, sizeof text, "tfrecord %s | shuffle 20 | parse label:int64 row:float[4] | batch 4",
             in_dir("a.gz"));
    check_forks(text, 40);
}

static int n_reports(const char *pattern) {
    glob_t found = {0};
    const int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return n;
}

/* What the parent publishes for `leat top` is the parent's: a child writes no report of it, and does not remove the one that
 * is there. */
static void test_published(void **state) {
    (void)state;
    char mine[700];
    setenv("LEAT_TOP", in_dir("top"), 1);
    snprintf(mine, sizeof mine, "%s/%d-*.leattop", in_dir("top"), getpid());
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 1000 24 24 | batch 4"), &(leat_config){.n_threads = 2, .n_epochs = -1});
    leat_batch b;
    for (int i = 0; i < 1000 && n_reports(mine) == 0; i++) {
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        usleep(10000);
        leat_batch_release(&b);
    }
    assert_int_equal(n_reports(mine), 1);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char others[700];
        CHECK(leat_pipeline_next(pipeline, &b, NULL) == LEAT_ERR_FORKED);
        usleep(1200000);
        snprintf(others, sizeof others, "%s/*.leattop", in_dir("top"));
        CHECK(n_reports(others) == 1);
        leat_pipeline_close(&pipeline);
        _exit(n_reports(mine) == 1 ? 0 : 99);
    }
    assert_int_equal(wait_for(child), 0);
    assert_int_equal(n_reports(mine), 1);
    leat_pipeline_close(&pipeline);
    assert_int_equal(n_reports(mine), 0);
    setenv("LEAT_TOP", "0", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published), cmocka_unit_test(test_synth),
                                       cmocka_unit_test(test_records), cmocka_unit_test(test_stream)};
    return cmocka_run_group_tests_name("forked", tests, begin_files, end_files);
}
