/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 no-arm (the emulator tells another start of the process than the kernel) */
/* Files that are being written: what processes leave that were killed goes, what others still write stays; and a limit on the
 * size of files is an error of the write, not the end of the process. */
#include "unit/testing.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/runtime/process.h"
#include "base/sets.h"

static int count_files(const char *folder) {
    char pattern[4300];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/.*.tmp-*", folder);
    const int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static void test_names(void **state) {
    (void)state;
    char name[4200];
    assert_true(leat__temporary_name(name, sizeof name, "some/where/a.tmp-x"));
    assert_int_equal(strncmp(name, "some/where/.a.tmp-x.tmp-", 24), 0);
    assert_int_equal(leat__temporary_of(name + 11), 7);
    assert_true(leat__temporary_name(name, sizeof name, "plain"));
    assert_int_equal(leat__temporary_of(name), 5);
    assert_false(leat__temporary_name(name, 20, "plain"));
    assert_int_equal(leat__temporary_of(".a.leatidx.tmp-123-4"), 9); /* of an earlier version */
    static const char *const others[] = {"a.tmp-1-2",
                                         ".a.tmp-",
                                         ".a.tmp-1",
                                         ".a.tmp-1-",
                                         ".a.tmp-1-2-3",
                                         ".a.tmp-1-2x",
                                         ".tmp-1-2",
                                         ".a.tmp-0123abcd-1-2",
                                         ".a.tmp-0123abcd-1-2-3-4",
                                         ".a.tmp-0123abcd-1-2-3.txt",
                                         ".a.tmp-0123abcde-1-2-3",
                                         ".a.txt"};
    for (size_t i = 0; i < LEAT_COUNT(others); i++)
        if (leat__temporary_of(others[i])) fail_msg("%s", others[i]);
}

/* A process that begins a file, and is killed or goes on until it is told to end. */
static pid_t begin_elsewhere(const char *path, int *tell) {
    int ready[2], end[2];
    assert_true(pipe(ready) == 0 && pipe(end) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        leat__out *out;
        char byte = 0;
        const bool good = leat__out_open(&out, path, NULL) == 0 && leat__out_write(out, "half", 4, NULL) == 0;
        close(end[1]);
        if (good && write(ready[1], "x", 1) == 1 && read(end[0], &byte, 1) == 0) _exit(0);
        _exit(1);
    }
    char byte;
    close(ready[1]), close(end[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *tell = end[1];
    return pid;
}

static void test_of_dead_processes(void **state) {
    (void)state;
    int tell;
    make_dir(in_dir("dead"));
    const pid_t pid = begin_elsewhere(in_dir("dead/a"), &tell);
    leat__temporaries_remove(in_dir("dead"));
    assert_int_equal(count_files(in_dir("dead")), 1); /* it is still being written */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(tell);
    assert_int_equal(count_files(in_dir("dead")), 1);
    /* The next one that writes there removes it. */
    leat__out *out;
    assert_int_equal(leat__out_open(&out, in_dir("dead/other"), NULL), 0);
    assert_int_equal(count_files(in_dir("dead")), 1); /* its own */
    leat__out_abort(&out);
    assert_int_equal(count_files(in_dir("dead")), 0);
}

static void test_whose(void **state) {
    (void)state;
    char own[4200], text[4300];
    make_dir(in_dir("whose"));
    const uint64_t start = leat__process_start(getpid());
    const uint32_t here = (uint32_t)leat__process_place();
    snprintf(own, sizeof own, "%s/whose", test_dir);
    const struct {
        uint32_t place;
        uint64_t start;
        int days;
        bool stays;
    } cases[] = {
        {here, start, 0, true},      {here, start, 9, true},      /* this process, however long it takes */
        {here, start + 1, 0, false},                              /* its number was used before */
        {here + 1, start, 0, true},  {here + 1, start, 2, false}, /* another machine: by age */
        {here, 0, 0, true}};                                      /* without /proc: by age */
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        snprintf(text, sizeof text, "%s/.a.tmp-%08x-%ld-%lu-7", own, cases[i].place, (long)getpid(),
                 (unsigned long)cases[i].start);
        write_file(text, "x", 1);
        if (cases[i].days) make_old(text, cases[i].days * 86400);
        leat__temporaries_remove(own);
        assert_int_equal(access(text, F_OK) == 0, cases[i].stays);
        unlink(text);
    }
    /* What leat has not made, and links, stay. */
    static const char *const others[] = {".a.tmp", "a.tmp-1-2", ".note.tmp-old"};
    for (size_t i = 0; i < LEAT_COUNT(others); i++) {
        write_file(in_dir("whose/%s", others[i]), "x", 1);
        make_old(in_dir("whose/%s", others[i]), 30 * 86400);
    }
    assert_int_equal(symlink("/nowhere", in_dir("whose/.a.tmp-00000001-1-1-1")), 0);
    leat__temporaries_remove(own);
    for (size_t i = 0; i < LEAT_COUNT(others); i++)
        assert_int_equal(access(in_dir("whose/%s", others[i]), F_OK), 0);
    struct stat st;
    assert_int_equal(lstat(in_dir("whose/.a.tmp-00000001-1-1-1"), &st), 0);
}

/* A set of the cache directory: whoever uses it next cleans it, also without writing. */
static void test_in_the_cache_directory(void **state) {
    (void)state;
    leat__sets *sets;
    char folder[4200], file[4300];
    int tell;
    assert_int_equal(leat__sets_open(&sets, in_dir("cache"), NULL), 0);
    assert_int_equal(leat__sets_folder(sets, "/data", true, folder, sizeof folder, NULL), 0);
    leat__sets_close(&sets);
    snprintf(file, sizeof file, "%s/0123456789abcdef0123456789abcdef.leatidx", folder);
    const pid_t pid = begin_elsewhere(file, &tell);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(tell);
    assert_int_equal(count_files(folder), 1);
    assert_int_equal(leat__sets_open(&sets, in_dir("cache"), NULL), 0);
    assert_int_equal(leat__sets_folder(sets, "/data", false, folder, sizeof folder, NULL), 0);
    leat__sets_close(&sets);
    assert_int_equal(count_files(folder), 0);
}

/* -------------------------------------------------------------------------------------------- limit */

enum { LIMIT = 8192 };

static int try_all(void) {
    static uint8_t bytes[3 << 20];
    leat_error err;
    leat__out *out;
    leat__file file;
    leat__journal journal;
    leat__buf content = {0};
    if (leat__out_open(&out, in_dir("limit/out"), &err) < 0) return 1;
    if (leat__out_write(out, bytes, sizeof bytes, &err) == 0 || err.sys != EFBIG) return 2;
    leat__out_abort(&out);
    if (leat__out_open(&out, in_dir("limit/out"), &err) < 0) return 3;
    if (leat__out_write(out, bytes, LIMIT + 1, &err) < 0) return 4;
    if (leat__out_commit(&out, &err) == 0 || err.sys != EFBIG) return 5;
    if (leat__file_write(in_dir("limit/whole"), bytes, LIMIT + 1, &err) == 0 || err.sys != EFBIG) return 6;
    if (leat__file_grow(&file, in_dir("limit/grown"), true, &err) < 0) return 7;
    if (leat__file_write_at(&file, bytes, 1, LIMIT, "grown", &err) == 0 || err.sys != EFBIG) return 8;
    if (leat__file_write_at(&file, bytes, LIMIT, 0, "grown", &err) < 0) return 9;
    if (leat__file_cut(&file, LIMIT + 1, "grown", &err) == 0 || err.sys != EFBIG) return 10;
    if (leat__file_finish(&file, "grown", &err) < 0) return 11;
    if (leat__journal_open(&journal, in_dir("limit/journal"), &content, &err) < 0) return 12;
    memset(bytes, 'x', LIMIT + 1);
    bytes[LIMIT + 1] = 0;
    if (leat__journal_append(&journal, (const char *)bytes, "journal", &err) == 0 || err.sys != EFBIG)
        return 13;
    return 0;
}

/* With the disposition that a signal has by default, in a thread that does not block it. */
static void test_limit_on_the_size_of_files(void **state) {
    (void)state;
    make_dir(in_dir("limit"));
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {LIMIT, LIMIT};
        signal(SIGXFSZ, SIG_DFL);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 ? try_all() : 100);
    }
    int status;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s %d", WIFEXITED(status) ? "failed at" : "killed by signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    assert_int_equal(access(in_dir("limit/out"), F_OK), -1); /* half a file is none */
    assert_int_equal(access(in_dir("limit/whole"), F_OK), -1);
    assert_int_equal(count_files(in_dir("limit")), 0);
}

/* A whole pipeline whose side files all hit it: batches are the same, and it is said. */
static int n_said;
static void on_log(void *user, int level, const char *message) {
    (void)user;
    if (level == LEAT_LOG_WARNING && strstr(message, "File too large")) n_said++;
}

static int run_limited(const char *from, const char *to, uint64_t *digest) {
    const leat_config config = {.synchronous = 1, .cache_dir = in_dir("%s", to), .log = on_log};
    leat_pipeline *pipeline = open_spec(
        spec_of("folder %s | decode | cache %s/kept | random_crop 20 20 | batch 4", from, in_dir("%s", to)),
        &config);
    tape t = record(pipeline, -1);
    *digest = 0;
    for (int i = 0; i < t.n_batches; i++) *digest = leat__hash(&t.digest[i], 8, *digest);
    const int rc = t.rc;
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    return rc;
}

static void test_limited_pipeline(void **state) {
    (void)state;
    make_dir(in_dir("photos")), make_dir(in_dir("photos/a"));
    for (int i = 0; i < 12; i++) {
        leat__buf bytes = make_jpeg(60, 60, 3, (unsigned)i);
        write_buf(in_dir("photos/a/%02d.jpg", i), &bytes);
    }
    make_old(in_dir("photos"), 100), make_old(in_dir("photos/a"), 100);
    char photos[300];
    snprintf(photos, sizeof photos, "%s", in_dir("photos"));
    uint64_t wanted, found;
    assert_int_equal(run_limited(photos, "free", &wanted), LEAT_END);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {16, 16};
        signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(100);
        const int rc = run_limited(photos, "tight", &found);
        _exit(rc != LEAT_END ? 1 : found != wanted ? 2 : n_said < 1 || n_said > 3 ? 10 + n_said : 0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s %d", WIFEXITED(status) ? "failed at" : "killed by signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_of_dead_processes),
        cmocka_unit_test(test_whose),
        cmocka_unit_test(test_in_the_cache_directory),
        cmocka_unit_test(test_limit_on_the_size_of_files),
        cmocka_unit_test(test_limited_pipeline),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
