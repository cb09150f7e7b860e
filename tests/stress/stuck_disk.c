/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* A disk that does not answer, or refuses, while positions inside JPEG files are written: closing is finite, batches are the
 * same, it is said once, and a thread that was left behind frees what it has when the disk comes back. The same for the reports
 * of a running pipeline, of which nothing is said. */
#include "unit/testing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>

/* How the disk of the cache directory behaves. Everything else goes its usual way. */
enum { WELL, STUCK_IN_LOCK, STUCK_IN_WRITE, STUCK_IN_LATER_WRITE, STUCK_IN_CLOSE, FULL, REPORT_STUCK };
static atomic_int mood, n_writes, n_stuck;
static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate = PTHREAD_COND_INITIALIZER;

static bool is_named(int fd, const char *part) {
    char link[64], path[600];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[LEAT_MAX(n, (ssize_t)0)] = 0;
    return strstr(path, part) != NULL;
}

static bool is_positions(int fd) {
    return is_named(fd, "positions.leatseg");
}

static void stick(void) {
    pthread_mutex_lock(&gate_mutex);
    atomic_fetch_add(&n_stuck, 1);
    while (mood != WELL) pthread_cond_wait(&gate, &gate_mutex);
    atomic_fetch_sub(&n_stuck, 1);
    pthread_mutex_unlock(&gate_mutex);
}

static void set_mood(int next) {
    pthread_mutex_lock(&gate_mutex);
    mood = next;
    n_writes = 0;
    pthread_cond_broadcast(&gate);
    pthread_mutex_unlock(&gate_mutex);
}

static ssize_t moody_write(int fd, const void *src, size_t n, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    if (mood == REPORT_STUCK && is_named(fd, ".leattop")) stick();
    if (mood != WELL && is_positions(fd)) {
        const int number = atomic_fetch_add(&n_writes, 1);
        if (mood == STUCK_IN_WRITE || (mood == STUCK_IN_LATER_WRITE && number > 0)) stick();
        if (mood == FULL && number > 0) return errno = ENOSPC, -1;
    }
    return real(fd, src, n, at);
}
/* Under both names by which a program may know it, whatever the compiler's idea of off_t is. */
ssize_t write_by_one_name(int fd, const void *src, size_t n, off64_t at) __asm__("pwrite");
ssize_t write_by_other_name(int fd, const void *src, size_t n, off64_t at) __asm__("pwrite64");
ssize_t write_by_one_name(int fd, const void *src, size_t n, off64_t at) {
    return moody_write(fd, src, n, at);
}
ssize_t write_by_other_name(int fd, const void *src, size_t n, off64_t at) {
    return moody_write(fd, src, n, at);
}

int flock(int fd, int how) {
    static int (*real)(int, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "flock");
    if (mood == STUCK_IN_LOCK && is_positions(fd)) stick();
    return real(fd, how);
}

int close(int fd) {
    static int (*real)(int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "close");
    if (mood == STUCK_IN_CLOSE && is_positions(fd)) stick();
    return real(fd);
}

static int n_said;
static char said[1100];

static void on_log(void *user, int level, const char *message) {
    (void)user;
    if (level != LEAT_LOG_WARNING) return;
    snprintf(said, sizeof said, "%s", message);
    n_said++;
}

/* A disk that is stuck stays so: what waits for it takes longer, on a busy machine too. */
static const double LONG_S = 20;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { FILES = 24 };

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    make_dir(in_dir("photos/a"));
    for (int i = 0; i < FILES; i++) {
        leat__buf bytes = make_jpeg(150, 190, 3, (unsigned)i);
        write_buf(in_dir("photos/a/%02d.jpg", i), &bytes);
    }
    return 0;
}

/* A whole run; the seconds that closing took. */
static double run(tape *t, int epochs, bool linger) {
    leat_spec *spec =
        spec_of("folder %s | shuffle | decode | random_resized_crop 24 | batch 8", in_dir("photos"));
    const leat_config config = {
        .n_threads = 2, .n_epochs = epochs, .cache_dir = in_dir("cache"), .log = on_log};
    leat_pipeline *pipeline;
    leat_error err;
    if (leat_pipeline_open(&pipeline, spec, &config, &err) != 0) fail_msg("%s", err.message);
    *t = record(pipeline, -1);
    if (linger) usleep(600000); /* the writer comes to it */
    const double began = now();
    leat_pipeline_close(&pipeline);
    const double took = now() - began;
    leat_spec_free(&spec);
    return took;
}

static uint64_t n_known(void) {
    leat_spec *spec = spec_of("folder %s | decode | random_resized_crop 24 | batch 8", in_dir("photos"));
    const leat_config config = {.cache_dir = in_dir("cache")};
    leat_pipeline *pipeline;
    leat_error err;
    char text[8000];
    if (leat_pipeline_open(&pipeline, spec, &config, &err) != 0) fail_msg("%s", err.message);
    assert_in_range(leat_pipeline_plan(pipeline, text, sizeof text), 1, sizeof text - 1);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    const char *at = strstr(text, "positions of ");
    assert_non_null(at);
    return strtoull(at + strlen("positions of "), NULL, 10);
}

/* The thread that was left behind ends when the disk answers again, and all memory comes back. */
static void come_back(uint64_t held) {
    set_mood(WELL);
    for (int i = 0; i < 1000 && (n_stuck > 0 || memory_held() > held); i++) usleep(10000);
    assert_int_equal(n_stuck, 0);
    assert_int_equal(memory_held(), held);
}

static void test_stuck(void **state) {
    (void)state;
    tape want, got;
    const uint64_t held = memory_held();
    run(&want, 3, false);
    assert_int_equal(n_said, 0);
    assert_int_equal(n_known(), FILES); /* a short run is written when it is closed */
    for (int how = STUCK_IN_LOCK; how <= STUCK_IN_CLOSE; how++) {
        for (int linger = 0; linger <= (how == STUCK_IN_WRITE); linger++) {
            remove_tree(in_dir("cache"));
            n_said = 0;
            set_mood(how);
            const double took = run(&got, 3, linger);
            same_tape(&want, &got, "with a disk that is stuck");
            tape_free(&got);
            if (took > LONG_S) fail_msg("closing took %.1f s", took);
            assert_int_equal(n_stuck, 1);
            assert_int_equal(n_said, 1);
            assert_non_null(strstr(said, "not kept for later runs: the disk takes too long"));
            come_back(held);
        }
    }
    remove_tree(in_dir("cache"));
    run(&got, 1, false); /* and nothing is the worse for it */
    assert_int_equal(n_known(), FILES);
    tape_free(&got);
    tape_free(&want);
}

/* A write that fails is said once; what was written before it counts. */
static void test_full(void **state) {
    (void)state;
    tape got;
    const uint64_t held = memory_held();
    for (int linger = 0; linger < 2; linger++) {
        remove_tree(in_dir("cache"));
        n_said = 0;
        set_mood(FULL);
        run(&got, 3, linger);
        tape_free(&got);
        set_mood(WELL);
        assert_int_equal(n_said, 1);
        assert_non_null(strstr(said, "No space left"));
        assert_int_equal(n_known(), 0);
        assert_int_equal(memory_held(), held);
    }
    run(&got, 1, false);
    tape_free(&got);
    assert_int_equal(n_known(), FILES);
}

/* The log function and its user may be gone when a thread that was left behind comes back. */
static void test_silence_after_close(void **state) {
    (void)state;
    tape got;
    const uint64_t held = memory_held();
    remove_tree(in_dir("cache"));
    n_said = 0;
    set_mood(STUCK_IN_LATER_WRITE);
    run(&got, 2, false);
    tape_free(&got);
    assert_int_equal(n_said, 1);
    set_mood(FULL);
    come_back(held);
    assert_int_equal(n_said, 1);
}

static void test_stuck_report(void **state) {
    (void)state;
    const uint64_t held = memory_held();
    leat_batch b;
    leat_error err;
    n_said = 0;
    setenv("LEAT_TOP", in_dir("top"), 1);
    set_mood(REPORT_STUCK);
    const leat_config config = {.n_threads = 1, .n_epochs = -1, .log = on_log};
    leat_pipeline *pipeline = open_spec(spec_of("synth 40 24 24 | batch 4"), &config);
    for (int i = 0; i < 500 && n_stuck == 0; i++) {
        if (leat_pipeline_next(pipeline, &b, &err) != 0) fail_msg("%s", err.message);
        usleep(10000);
        leat_batch_release(&b);
    }
    assert_int_equal(n_stuck, 1);
    const double began = now();
    leat_pipeline_close(&pipeline);
    if (now() - began > LONG_S) fail_msg("closing took %.1f s", now() - began);
    assert_int_equal(n_said, 0);
    come_back(held);
    glob_t found = {0};
    assert_int_equal(glob(in_dir("top/*.leattop"), 0, NULL, &found), GLOB_NOMATCH); /* removed after all */
    setenv("LEAT_TOP", "0", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stuck_report),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_silence_after_close),
    };
    return cmocka_run_group_tests(tests, begin, end_files);
}
