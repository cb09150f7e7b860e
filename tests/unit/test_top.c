/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain timeout=60 no-arm (the emulator tells another start of the process than the kernel) */
/* What running pipelines publish for `leat top`: the record, the folder, the thread that writes, and what is swept. */
#include "unit/testing.h"

#include <dirent.h>
#include <math.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/runtime/process.h"
#include "base/runtime/runtime.h"
#include "format/kept/top_record.h"
#include "leat/leat_tools.h"
#include "run/pipeline.h"

/* ------------------------------------------------------------------------------------------- record */

static leat__top_record make_record(void) {
    leat__top_record record = {
        .place = leat__process_place(),
        .start = leat__process_start(getpid()),
        .written_ns = leat__wall_ns(),
        .running = {.pid = getpid(), .id = 7, .sequence = 3, .recent_s = 2, .n_samples = 40}};
    strcpy(record.running.name, "folder train");
    strcpy(record.running.verdict, "Decoding is the bottleneck: 81 % of the work.");
    record.running.recent.samples = 100;
    record.running.total.n_threads = 2;
    return record;
}

static void test_record(void **state) {
    (void)state;
    const leat__top_record record = make_record();
    uint8_t bytes[LEAT_TOP_RECORD_BYTES];
    leat__top_record got;
    leat__top_record_write(bytes, &record);
    assert_true(leat__top_record_read(bytes, sizeof bytes, &got));
    assert_memory_equal(&got.running, &record.running, sizeof got.running);
    assert_true(got.place == record.place && got.start == record.start &&
                got.written_ns == record.written_ns);
    for (size_t i = 0; i < sizeof bytes; i++) { /* a byte that is wrong anywhere */
        bytes[i] ^= 0x40;
        assert_false(leat__top_record_read(bytes, sizeof bytes, &got));
        bytes[i] ^= 0x40;
    }
    for (size_t n = 0; n < sizeof bytes; n += 13) assert_false(leat__top_record_read(bytes, n, &got));
}

/* The checksum is right, and what is in it is not to be trusted. */
static void test_forged_record(void **state) {
    (void)state;
    leat__top_record record = make_record(), got;
    uint8_t bytes[LEAT_TOP_RECORD_BYTES];
    leat_running *r = &record.running;
    memset(r->name, 'x', sizeof r->name);
    strcpy(r->verdict, "\033[2J\033]0;title\a");
    r->recent_s = (double)NAN;
    r->total.wait_s = -1;
    r->total.stage_s[LEAT_STAGE_DECODE] = (double)INFINITY;
    r->recent.n_threads = -5;
    r->n_samples = INT64_MIN;
    leat__top_record_write(bytes, &record);
    assert_true(leat__top_record_read(bytes, sizeof bytes, &got));
    assert_int_equal(strlen(got.running.name), sizeof got.running.name - 1);
    assert_string_equal(got.running.verdict, "?[2J?]0;title?");
    assert_true(got.running.recent_s == 0 && got.running.total.wait_s == 0 && got.running.n_samples == -1);
    assert_true(got.running.total.stage_s[LEAT_STAGE_DECODE] <= 1e15 && got.running.recent.n_threads == 0);
}

/* ------------------------------------------------------------------------------------------ process */

static int ended_child(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    assert_true(child > 0 && waitpid(child, NULL, 0) == child);
    return child;
}

static void test_process(void **state) {
    (void)state;
    char name[64];
    assert_true(leat__process_start(getpid()) > 0);
    assert_true(leat__process_start(getpid()) == leat__process_start(getpid()));
    assert_true(leat__process_start(ended_child()) == 0);
    assert_true(leat__process_start(0) == 0 && leat__process_start(-1) == 0);
    assert_true(leat__process_place() == leat__process_place());
    leat__process_name(getpid(), name, sizeof name);
    assert_string_equal(name, "test_top");
    const pid_t child = fork(); /* a zombie does not run */
    if (child == 0) _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(leat__process_start(child) == 0);
    waitpid(child, NULL, 0);
}

/* ------------------------------------------------------------------------------------------- folder */

static leat_running found[16];
static int n_found;

static int on_running(void *user, const leat_running *one) {
    (void)user;
    if (n_found < 16) found[n_found] = *one;
    n_found++;
    return 0;
}

static leat_top_report list(void) {
    leat_top_report report;
    leat_error err;
    n_found = 0;
    if (leat_top_list(on_running, NULL, &report, &err) != 0) fail_msg("%s", err.message);
    assert_int_equal(report.n_running, n_found);
    return report;
}

static int files_in(const char *path) {
    DIR *dir = opendir(path);
    int n = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) n += e->d_name[0] != '.';
    if (dir) closedir(dir);
    return n;
}

static int mode_of(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 ? (int)(st.st_mode & 0777) : -1;
}

/* A folder of its own for each test. */
static int begin_folder(void **state) {
    (void)state;
    remove_tree(in_dir("top"));
    return setenv("LEAT_TOP", in_dir("top"), 1);
}

/* A report as a file, made by a process of that number. */
static const char *put_report(const leat__top_record *record, int64_t pid) {
    static char path[600];
    uint8_t bytes[LEAT_TOP_RECORD_BYTES];
    leat__runtime_file file;
    leat__top_record_write(bytes, record);
    assert_true(leat__runtime_create(&file, pid, record->running.id));
    assert_true(leat__runtime_write(&file, bytes, sizeof bytes));
    snprintf(path, sizeof path, "%s/%s", in_dir("top"), file.name);
    close(file.fd);
    close(file.folder);
    return path;
}

static void test_folder_is_private(void **state) {
    (void)state;
    const leat__top_record record = make_record();
    umask(0);
    const char *path = put_report(&record, getpid());
    umask(022);
    assert_int_equal(mode_of(in_dir("top")), 0700);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(list().n_running, 1);
    assert_string_equal(found[0].name, "folder train");
    chmod(in_dir("top"), 0777); /* others may have put anything there */
    leat_error err;
    assert_int_equal(leat_top_list(NULL, NULL, NULL, &err), LEAT_ERR_IO);
    assert_non_null(strstr(err.message, "others may write to it"));
    leat__runtime_file file;
    assert_true(leat__runtime_create(&file, getpid(), 8)); /* the next pipeline puts it right */
    leat__runtime_remove(&file);
    assert_int_equal(mode_of(in_dir("top")), 0700);
}

static void test_links_are_not_followed(void **state) {
    (void)state;
    leat__runtime_file file;
    make_dir(in_dir("elsewhere"));
    assert_int_equal(symlink(in_dir("elsewhere"), in_dir("top")), 0);
    assert_false(leat__runtime_create(&file, getpid(), 1));
    assert_int_equal(leat_top_list(NULL, NULL, NULL, NULL), LEAT_ERR_IO);
    assert_int_equal(unlink(in_dir("top")), 0);
    const leat__top_record record = make_record();
    const char *path = put_report(&record, getpid());
    char name[700];
    snprintf(name, sizeof name, "%s/%d-99.leattop", in_dir("top"), getpid());
    assert_int_equal(symlink(path, name), 0);
    const leat_top_report report = list();
    assert_int_equal(report.n_running, 1);
    assert_int_equal(report.n_foreign, 1);
    assert_int_equal(files_in(in_dir("top")), 2);
    assert_false(leat__runtime_create(&file, getpid(), 0x99)); /* nor written through */
}

static void test_foreign_and_damaged(void **state) {
    (void)state;
    const leat__top_record record = make_record();
    const char *path = put_report(&record, getpid());
    write_file(in_dir("top/notes.txt"), "mine", 4);
    write_file(in_dir("top/12x-1.leattop"), "mine", 4);
    write_file(in_dir("top/%d-2.leattop", getpid()), "short", 5);
    write_file(in_dir("top/99999999999999999999-1.leattop"), "short", 5);
    assert_int_equal(mkfifo(in_dir("top/%d-3.leattop", getpid()), 0600), 0);
    make_dir(in_dir("top/%d-4.leattop", getpid()));
    int fd = open(path, O_WRONLY);
    assert_true(pwrite(fd, "?", 1, 200) == 1);
    close(fd);
    const leat_top_report report = list();
    assert_int_equal(report.n_running, 0);
    assert_int_equal(report.n_damaged, 2);
    assert_int_equal(report.n_foreign, 5);
    assert_int_equal(report.n_removed, 0);
    assert_int_equal(files_in(in_dir("top")), 7);
}

static void age(const char *path, int seconds) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_stale(void **state) {
    (void)state;
    leat__top_record record = make_record();
    const int gone = ended_child();
    record.running.pid = gone;
    put_report(&record, gone); /* the process is gone */
    record.running.pid = getpid();
    record.start--;
    put_report(&record, getpid()); /* its number belongs to another process now */
    assert_int_equal(list().n_removed, 2);
    assert_int_equal(n_found, 0);
    assert_int_equal(files_in(in_dir("top")), 0);
    /* A damaged report of a process that is gone: a while later. */
    write_file(in_dir("top/%d-2.leattop", gone), "short", 5);
    assert_int_equal(list().n_damaged, 1);
    age(in_dir("top/%d-2.leattop", gone), 100);
    assert_int_equal(list().n_removed, 1);
}

/* The usual place: a folder of leat in the runtime directory of the user. */
static void test_usual_folder(void **state) {
    (void)state;
    const leat__top_record record = make_record();
    setenv("XDG_RUNTIME_DIR", test_dir, 1);
    unsetenv("LEAT_TOP");
    leat__runtime_file file;
    uint8_t bytes[LEAT_TOP_RECORD_BYTES];
    leat__top_record_write(bytes, &record);
    assert_true(leat__runtime_create(&file, getpid(), 5));
    assert_true(leat__runtime_write(&file, bytes, sizeof bytes));
    list();
    bool mine = false;
    for (int i = 0; i < LEAT_MIN(n_found, 16); i++) mine |= found[i].id == 7 && found[i].pid == getpid();
    assert_true(mine);
    leat__runtime_remove(&file);
}

/* In a container numbers of processes mean others: the age of the report tells. */
static void test_another_container(void **state) {
    (void)state;
    leat__top_record record = make_record();
    record.place++;
    record.running.pid = ended_child();
    const char *path = put_report(&record, record.running.pid);
    assert_int_equal(list().n_running, 1);
    age(path, 20);
    assert_int_equal(list().n_running, 0);
    assert_int_equal(files_in(in_dir("top")), 1);
    age(path, 100);
    assert_int_equal(list().n_removed, 1);
}

static void test_places(void **state) {
    (void)state;
    char path[600];
    unsetenv("LEAT_TOP");
    setenv("XDG_RUNTIME_DIR", in_dir("none"), 1); /* it is not there */
    assert_true(leat__runtime_path(0, path, sizeof path));
    assert_non_null(strstr(path, "/tmp/leat-"));
    assert_false(leat__runtime_path(1, path, sizeof path));
    setenv("XDG_RUNTIME_DIR", test_dir, 1);
    assert_true(leat__runtime_path(0, path, sizeof path));
    assert_string_equal(path, in_dir("leat"));
    assert_true(leat__runtime_path(1, path, sizeof path));
    assert_false(leat__runtime_path(2, path, sizeof path));
    setenv("LEAT_TOP", "0", 1);
    assert_true(leat__runtime_off());
}

/* ---------------------------------------------------------------------------------------- publishing */

static void take_for(leat_pipeline *pipeline, double seconds) {
    const uint64_t until = leat__now_ns() + (uint64_t)(seconds * 1e9);
    leat_batch batch;
    leat_error err;
    while (leat__now_ns() < until) {
        if (leat_pipeline_next(pipeline, &batch, &err) != 0) fail_msg("%s", err.message);
        usleep(2000);
        leat_batch_release(&batch);
    }
}

/* Takes batches until so many pipelines have reported, for ten seconds at most. */
static void take_until(leat_pipeline *pipeline, int n) {
    for (int i = 0; i < 100; i++) {
        list();
        if (n_found >= n) return;
        take_for(pipeline, 0.1);
    }
    fail_msg("%d pipelines have reported, not %d", n_found, n);
}

static void test_publishes(void **state) {
    (void)state;
    make_dir(in_dir("secret"));
    make_dir(in_dir("secret/train"));
    for (int i = 0; i < 8; i++) {
        leat__buf png = make_png(8, 8, 3, (unsigned)i);
        make_dir(in_dir("secret/train/%d", i % 2));
        write_buf(in_dir("secret/train/%d/%d.png", i % 2, i), &png);
    }
    const leat_config config = {.n_threads = 2, .n_epochs = -1};
    const uint64_t opened = leat__now_ns();
    leat_pipeline *one =
        open_spec(spec_of("folder %s | shuffle | decode | batch 4", in_dir("secret/train")), &config);
    leat_pipeline *two = open_spec(spec_of("synth 40 8 8 | batch 4"), &config);
    take_for(one, 0.3);
    if (leat__now_ns() - opened < 900000000) assert_int_equal(list().n_running, 0); /* too young */
    take_until(one, 1);
    assert_string_equal(found[0].name, "folder train");
    assert_string_equal(found[0].what, "8 images in 2 classes");
    assert_string_equal(found[0].program, "test_top");
    assert_true(found[0].pid == getpid() && found[0].recent.samples > 0 && found[0].total.n_threads == 2);
    assert_true(found[0].n_samples == 8 && found[0].age_s < 5 && found[0].open_s >= 1);
    assert_string_not_equal(found[0].verdict, "");
    take_until(two, 2); /* two pipelines of one process */
    assert_true(found[0].id != found[1].id);
    const uint64_t sequence = found[0].sequence;
    take_for(one, 1.2);
    list();
    assert_true(found[0].sequence > sequence);
    char name[600];
    snprintf(name, sizeof name, "%s/%d-%" PRIx64 ".leattop", in_dir("top"), getpid(), one->opened_ns);
    leat__buf bytes = {0};
    assert_int_equal(leat__file_read_all(name, &bytes, 1 << 20, NULL), 0);
    assert_null(memmem(bytes.data, bytes.size, "secret", 6)); /* no part of a path but the last */
    leat__buf_free(&bytes);
    leat_pipeline_close(&one);
    assert_int_equal(list().n_running, 1);
    leat_pipeline_close(&two);
    assert_int_equal(files_in(in_dir("top")), 0);
}

/* The file is lost, and what a dead process left is swept by the next pipeline. */
static void test_comes_back(void **state) {
    (void)state;
    leat__top_record record = make_record();
    record.running.pid = ended_child();
    const char *stale = put_report(&record, record.running.pid);
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 40 8 8 | batch 4"), &(leat_config){.n_threads = 1, .n_epochs = -1});
    for (int i = 0; i < 100 && access(stale, F_OK) == 0; i++) take_for(pipeline, 0.1);
    assert_int_not_equal(access(stale, F_OK), 0);
    take_until(pipeline, 1);
    remove_tree(in_dir("top"));
    take_until(pipeline, 1);
    leat_pipeline_close(&pipeline);
    assert_int_equal(files_in(in_dir("top")), 0);
}

static void on_log(void *user, int level, const char *message) {
    (void)level;
    if (!strstr(message, "synthetic")) snprintf(user, 200, "%s", message);
}

/* Switched off, without threads, and where nothing can be written: no file, no message, and closing takes no time. */
static void test_does_not_publish(void **state) {
    (void)state;
    static char said[200];
    const leat_config configs[] = {
        {.n_threads = 1, .top = -1}, {.synchronous = 1}, {.n_threads = 1}, {.n_threads = 1}};
    leat_pipeline *pipeline[LEAT_COUNT(configs)];
    for (size_t i = 0; i < LEAT_COUNT(configs); i++) {
        leat_config config = configs[i];
        config.n_epochs = -1;
        config.log = on_log;
        config.user = said;
        if (i == 2) setenv("LEAT_TOP", "0", 1);
        if (i == 3) {
            write_file(in_dir("file"), "", 0);
            setenv("LEAT_TOP", in_dir("file/top"), 1);
        }
        pipeline[i] = open_spec(spec_of("synth 40 8 8 | batch 4"), &config);
        assert_int_equal(pipeline[i]->publisher != NULL, i == 3);
    }
    for (int k = 0; k < 13; k++)
        for (size_t i = 0; i < LEAT_COUNT(configs); i++) take_for(pipeline[i], 0.025);
    assert_int_equal(files_in(in_dir("top")), 0);
    for (size_t i = 0; i < LEAT_COUNT(configs); i++) leat_pipeline_close(&pipeline[i]);
    assert_string_equal(said, "");
}

/* next waits from the beginning: the pipeline is shown, and the wait counts while it goes on. */
static int slow_map(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                    const leat_tensor *out, int n_out, leat_error *err) {
    (void)n_in, (void)n_out, (void)info, (void)err;
    while (!atomic_load((atomic_bool *)user)) usleep(1000);
    memcpy(out->data, in->data, 1);
    return 0;
}

static void *wait_for_report(void *user) {
    for (int i = 0; i < 200; i++) {
        list();
        if (n_found == 1 && found[0].sequence >= 1) break;
        usleep(50000);
    }
    atomic_store((atomic_bool *)user, true);
    return NULL;
}

static void test_shows_a_wait(void **state) {
    (void)state;
    atomic_bool go_on = false;
    leat_spec *spec = spec_of("synth 4 8 8 | map first:u8[1] callback=f | batch 4");
    leat_spec_map(spec, "f", slow_map, &go_on, 1);
    atomic_store(&go_on, true); /* one sample is made when the pipeline is opened */
    leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = 1, .n_epochs = -1});
    atomic_store(&go_on, false);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_report, &go_on), 0);
    take_for(pipeline, 1.2); /* a few batches are ready, then next waits */
    pthread_join(thread, NULL);
    assert_int_equal(n_found, 1);
    assert_true(found[0].recent.wait_s > 0.5 * found[0].recent_s);
    assert_string_not_equal(found[0].verdict, "The program takes no batches now.");
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_forged_record),
        cmocka_unit_test(test_process),
        cmocka_unit_test_setup(test_folder_is_private, begin_folder),
        cmocka_unit_test_setup(test_links_are_not_followed, begin_folder),
        cmocka_unit_test_setup(test_foreign_and_damaged, begin_folder),
        cmocka_unit_test_setup(test_stale, begin_folder),
        cmocka_unit_test_setup(test_usual_folder, begin_folder),
        cmocka_unit_test_setup(test_another_container, begin_folder),
        cmocka_unit_test_setup(test_publishes, begin_folder),
        cmocka_unit_test_setup(test_comes_back, begin_folder),
        cmocka_unit_test_setup(test_does_not_publish, begin_folder),
        cmocka_unit_test_setup(test_shows_a_wait, begin_folder),
        cmocka_unit_test_setup(test_places, begin_folder),
    };
    return cmocka_run_group_tests_name("top", tests, begin_files, end_files);
}
