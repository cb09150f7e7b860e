/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* A file system that misbehaves: reads that come in pieces, are interrupted or fail, no descriptors left,
 * no space. What can be survived changes no byte; what cannot is one sample's error, or a clean one of
 * open. */
#include "unit/testing.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

static enum { WELL, IN_PIECES, INTERRUPTED, FAILS_ONCE, FAILS_FROM } mood;
static atomic_int reads_until_failure;

static ssize_t moody_read(int fd, void *dst, size_t n, off64_t at) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    static atomic_uint calls;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pread64");
    const unsigned call = atomic_fetch_add(&calls, 1);
    if (mood == IN_PIECES && n > 1) n = 1 + call % LEAT_MIN(n - 1, (size_t)97);
    if (mood == INTERRUPTED && call % 2) return errno = call % 4 == 1 ? EINTR : EAGAIN, -1;
    if (mood >= FAILS_ONCE) {
        const int left = atomic_fetch_sub(&reads_until_failure, 1);
        if (left == 0 || (left < 0 && mood == FAILS_FROM)) return errno = EIO, -1;
    }
    return real(fd, dst, n, at);
}
/* Under both names by which a program may know it, whatever the compiler's idea of off_t is. */
ssize_t read_by_one_name(int fd, void *dst, size_t n, off64_t at) __asm__("pread");
ssize_t read_by_other_name(int fd, void *dst, size_t n, off64_t at) __asm__("pread64");
ssize_t read_by_one_name(int fd, void *dst, size_t n, off64_t at) {
    return moody_read(fd, dst, n, at);
}
ssize_t read_by_other_name(int fd, void *dst, size_t n, off64_t at) {
    return moody_read(fd, dst, n, at);
}

enum { SCENES = 3 };
static char text[SCENES][700];

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) {
        make_dir(in_dir("photos/%d", i / 20));
        write_png(in_dir("photos/%d/%d.png", i / 20, i), 20, 20, (unsigned)i);
        add_sample(&shard, i, 3000);
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    static const char parse[] = "parse label:int64 row:float[4]";
    snprintf(text[0], sizeof text[0], "folder %s | shuffle | decode | batch 8", in_dir("photos"));
    snprintf(text[1], sizeof text[1], "tfrecord %s | shuffle 5 | %s | batch 8", in_dir("a.tfrecord"), parse);
    snprintf(text[2], sizeof text[2], "tfrecord %s | shuffle 5 | %s | batch 8", in_dir("a.gz"), parse);
    return 0;
}

static tape attempt(int scene, int on_error) {
    leat_spec *spec = spec_of("%s", text[scene]);
    leat_pipeline *pipeline = NULL;
    leat_error err;
    tape t = {0};
    const leat_config config = {.n_threads = 2, .on_error = on_error, .no_side_files = 1};
    t.rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    if (t.rc == 0) t = record(pipeline, -1);
    else snprintf(t.message, sizeof t.message, "%s", err.message);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    mood = WELL;
    return t;
}

static void test_pieces(void **state) {
    (void)state;
    for (int i = 0; i < SCENES; i++) {
        tape want = attempt(i, 0);
        assert_int_equal(want.n_samples, 40);
        for (int m = IN_PIECES; m <= INTERRUPTED; m++) {
            mood = m;
            tape t = attempt(i, 0);
            same_tape(&want, &t, text[i]);
            tape_free(&t);
        }
        tape_free(&want);
    }
}

static void test_failing_reads(void **state) {
    (void)state;
    const uint64_t held = memory_held();
    int met = 0;
    for (int i = 0; i < SCENES; i++)
        for (int policy = LEAT_ON_ERROR_RAISE; policy <= LEAT_ON_ERROR_REPLACE; policy++)
            for (int n = 0; n < 50; n++)
                for (int m = FAILS_ONCE; m <= FAILS_FROM; m++) {
                    reads_until_failure = n;
                    mood = m;
                    tape t = attempt(i, policy);
                    if (t.rc != LEAT_END && !strstr(t.message, "Input/output error"))
                        fail_msg("%s, read %d: %d %s", text[i], n, t.rc, t.message);
                    if (t.rc != LEAT_END) assert_true(t.message[0] && !strchr(t.message, '\n'));
                    /* One file or record is all that one failure may cost, unless it is compressed. */
                    if (t.rc == LEAT_END && m == FAILS_ONCE && i < 2) assert_true(t.n_samples >= 39);
                    met += t.rc < 0;
                    tape_free(&t);
                    assert_int_equal(memory_held(), held);
                }
    assert_true(met > 100);
}

static void test_no_descriptors(void **state) {
    (void)state;
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int first = dup(0);
    close(first);
    int good = 0;
    for (int i = 0; i < SCENES; i++)
        for (int spare = 0; spare < 12; spare++) {
            tight = before;
            tight.rlim_cur = (rlim_t)(first + spare);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
            tape t = attempt(i, 0);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
            if (t.rc == LEAT_END) good++;
            else if (!strstr(t.message, "Too many open files"))
                fail_msg("%s with %d: %s", text[i], spare, t.message);
            tape_free(&t);
        }
    assert_true(good > SCENES);
}

/* An index that cannot be written for want of space is not kept, and that is all. */
static void test_no_space(void **state) {
    (void)state;
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    tight = before;
    tight.rlim_cur = 50;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    leat_pipeline *pipeline = NULL;
    leat_spec *spec = leat_spec_new(text[0]);
    leat_error err;
    const int rc = leat_pipeline_open(&pipeline, spec, &(leat_config){.n_threads = 1}, &err);
    tape t = {0};
    if (rc == 0) t = record(pipeline, -1);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, 0);
    assert_int_equal(t.n_samples, 40);
    tape_free(&t);
    char command[600];
    snprintf(command, sizeof command, "ls -A '%s' 2>/dev/null | wc -l", in_dir("leat/index"));
    FILE *p = popen(command, "r");
    int left = -1;
    assert_int_equal(fscanf(p, "%d", &left), 1);
    pclose(p);
    assert_int_equal(left, 0); /* nothing half-written stays */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_failing_reads),
                                       cmocka_unit_test(test_no_descriptors),
                                       cmocka_unit_test(test_no_space)};
    return cmocka_run_group_tests_name("faults", tests, begin, end_files);
}
