/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* The index of a folder: trusted exactly as long as it is right, wherever it lies, whoever wrote it; small. */
#include "unit/testing_folder.h"

#include <pthread.h>
#include <stdatomic.h>

#include "format/kept/sidefile.h"

/* ------------------------------------------------------------------------------------------- index */

static bool scanned; /* whether the last open walked the tree */
static int note_scan(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user, (void)done, (void)total;
    scanned |= strstr(what, "scan") != NULL;
    return 0;
}

/* Opens with a cache; tells how many images there are, and sets `scanned`. */
static int open_cached(const char *cache) {
    leat__open_options open = options_now(cache);
    open.progress = note_scan;
    open.n_threads = 1;
    const leat__folder_options options = {.path = in_dir("index")};
    leat__source *source = NULL;
    leat_error err;
    scanned = false;
    if (leat__folder_open(&source, &options, &open, &err) != 0) fail_msg("%s", err.message);
    const int n = (int)source->n_samples;
    leat__source_free(&source);
    return n;
}

static void settle(void) {
    make_old(in_dir("index/a"), 100);
    make_old(in_dir("index/b"), 100);
    make_old(in_dir("index"), 100);
}

static void test_index(void **state) {
    (void)state;
    char cache[400];
    snprintf(cache, sizeof cache, "%s", in_dir("cache"));
    make_dir(in_dir("index"));
    make_dir(in_dir("index/a"));
    make_dir(in_dir("index/b"));
    for (int i = 0; i < 5; i++) touch(in_dir("index/a/%d.png", i));
    touch(in_dir("index/b/x.png"));
    settle();
    assert_int_equal(open_cached(cache), 6);
    assert_true(scanned && find_side_files(cache, NULL, 0) == 1);
    assert_int_equal(open_cached(cache), 6);
    assert_false(scanned); /* used */
    touch(in_dir("index/b/y.png"));
    assert_int_equal(open_cached(cache), 7); /* added */
    assert_true(scanned);
    assert_int_equal(open_cached(cache), 7); /* the folder changed just now, and might again */
    assert_true(scanned);
    settle();
    assert_int_equal(open_cached(cache), 7);
    assert_int_equal(open_cached(cache), 7);
    assert_false(scanned);
    unlink(in_dir("index/a/3.png"));
    assert_int_equal(open_cached(cache), 6); /* removed */
    settle();
    open_cached(cache);
    make_dir(in_dir("index/c"));
    touch(in_dir("index/c/z.png"));
    assert_int_equal(open_cached(cache), 7); /* a new folder */
    make_old(in_dir("index/c"), 100);
    settle();
    open_cached(cache);
    remove_tree(in_dir("index/c"));
    assert_int_equal(open_cached(cache), 6); /* a folder less */
    assert_int_equal(find_side_files(cache, NULL, 0), 1);
    /* Damaged in any way, it is made again. */
    settle();
    open_cached(cache);
    char path[4300];
    assert_int_equal(find_side_files(cache, path, sizeof path), 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += 1 + st.st_size / 40) {
        FILE *file = fopen(path, "r+b");
        fseek(file, at, SEEK_SET);
        const int c = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(c ^ 0x40, file);
        fclose(file);
        assert_int_equal(open_cached(cache), 6);
        assert_true(scanned);
    }
    for (off_t n = 0; n < st.st_size; n += 1 + st.st_size / 10) {
        open_cached(cache);
        assert_int_equal(truncate(path, n), 0);
        assert_int_equal(open_cached(cache), 6);
        assert_true(scanned);
    }
}

/* Files that were added, and the time of their folder set back: no program can set back the time of change. */
static void test_times_set_back(void **state) {
    (void)state;
    struct stat st;
    char cache[400];
    snprintf(cache, sizeof cache, "%s", in_dir("back-cache"));
    remove_tree(in_dir("index"));
    make_dir(in_dir("index")), make_dir(in_dir("index/a")), make_dir(in_dir("index/b"));
    touch(in_dir("index/a/1.png"));
    settle();
    assert_int_equal(open_cached(cache), 1);
    assert_int_equal(open_cached(cache), 1);
    assert_false(scanned);
    assert_int_equal(stat(in_dir("index/a"), &st), 0);
    touch(in_dir("index/a/2.png"));
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, in_dir("index/a"), times, 0), 0);
    assert_int_equal(open_cached(cache), 2);
    assert_true(scanned);
    /* Another folder in its place, with the same time. */
    settle();
    open_cached(cache);
    assert_int_equal(rename(in_dir("index/b"), in_dir("away")), 0);
    make_dir(in_dir("index/b"));
    touch(in_dir("index/b/3.png"));
    settle();
    assert_int_equal(open_cached(cache), 3);
}

static int open_beside(const char *path, bool write) {
    leat__open_options open = options_now(in_dir("beside-cache"));
    open.progress = note_scan;
    open.beside = write;
    const leat__folder_options options = {.path = path};
    leat__source *source = NULL;
    leat_error err;
    scanned = false;
    if (leat__folder_open(&source, &options, &open, &err) != 0) fail_msg("%s", err.message);
    const int n = (int)source->n_samples;
    leat__source_free(&source);
    return n;
}

/* An index beside a folder is copied with it, and used as long as the names are the same. */
static void test_index_travels(void **state) {
    (void)state;
    char command[1000];
    make_dir(in_dir("from")), make_dir(in_dir("from/stay")), make_dir(in_dir("from/stay/a"));
    for (int i = 0; i < 5; i++) touch(in_dir("from/stay/a/%d.png", i));
    assert_int_equal(open_beside(in_dir("from/stay"), true), 5);
    assert_true(scanned);
    snprintf(command, sizeof command, "cp -r '%s/from' '%s/to'", test_dir, test_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(open_beside(in_dir("to/stay"), false), 5);
    assert_false(scanned);
    touch(in_dir("to/stay/a/x.png"));
    assert_int_equal(open_beside(in_dir("to/stay"), false), 6);
    assert_true(scanned);
    unlink(in_dir("to/stay/a/1.png"));
    unlink(in_dir("to/stay/a/x.png"));
    touch(in_dir("to/stay/a/y.png"));
    assert_int_equal(open_beside(in_dir("to/stay"), false), 5);
    assert_true(scanned);
}

/* A file that was overwritten in place, which no folder tells: it is read as it is now, and the next run scans. */
static void test_file_of_another_size(void **state) {
    (void)state;
    char cache[400];
    snprintf(cache, sizeof cache, "%s", in_dir("grown-cache"));
    remove_tree(in_dir("index"));
    make_dir(in_dir("index")), make_dir(in_dir("index/a")), make_dir(in_dir("index/b"));
    touch(in_dir("index/a/1.png"));
    settle();
    open_cached(cache);
    write_file(in_dir("index/a/1.png"), "much longer than before, or shorter", 20);
    leat__source *source = open_folder(in_dir("index"), LEAT_LABELS_AUTO, false, cache);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    leat__value value[2];
    leat_error err;
    if (source->class->read(source, &reader, 0, value, &err) != 0) fail_msg("%s", err.message);
    assert_int_equal(value[0].bytes, 20);
    assert_memory_equal(value[0].data, "much longer than bef", 20);
    leat__reader_free(source, &reader);
    leat__source_free(&source);
    open_cached(cache);
    assert_true(scanned);
    open_cached(cache);
    assert_false(scanned);
}

/* An index that checks out but was made to lie. */
static void test_forged_index(void **state) {
    (void)state;
    make_dir(in_dir("forged"));
    make_dir(in_dir("forged/a"));
    touch(in_dir("forged/a/1.png"));
    make_old(in_dir("forged/a"), 100);
    make_old(in_dir("forged"), 100);
    struct stat root, sub;
    assert_true(stat(in_dir("forged"), &root) == 0 && stat(in_dir("forged/a"), &sub) == 0);
    for (int which = 0; which < 8; which++) {
        char pool[] = "\0a\0"
                      "1.png\0"
                      "../../x.png";
        leat__folder_dir dirs[2] = {{.path = 0,
                                     .mtime_ns = ns_of(root.st_mtim),
                                     .ctime_ns = ns_of(root.st_ctim),
                                     .inode = root.st_ino,
                                     .label = -1},
                                    {.path = 1,
                                     .mtime_ns = ns_of(sub.st_mtim),
                                     .ctime_ns = ns_of(sub.st_ctim),
                                     .inode = sub.st_ino,
                                     .label = 0}};
        leat__folder_file file = {.name = 3, .size = 1, .dir = 1};
        uint64_t facts[8] = {2, 0, INT64_MAX, 1, sizeof pool, sizeof dirs, sizeof file, 0};
        if (which == 1) facts[3] = UINT64_C(1) << 61, dirs[1].label = 0;
        if (which == 2) facts[3] = UINT64_MAX, dirs[0].label = 5;
        if (which == 3) file.name = 9; /* leaves the folder */
        if (which == 4) dirs[1].path = 9;
        if (which == 5) file.name = 1000;
        if (which == 6) file.dir = 2;
        if (which == 7) dirs[1].label = 1;
        leat__buf payload = {.kind = LEAT_MEM_TOOL};
        leat__buf_append(&payload, facts, sizeof facts);
        leat__buf_append(&payload, pool, sizeof pool);
        leat__buf_append(&payload, dirs, sizeof dirs);
        leat__buf_append(&payload, &file, sizeof file);
        uint8_t header[LEAT_SIDEFILE_HEADER];
        leat__sidefile_write_header(header, LEAT_SIDEFILE_FOLDER, payload.data, payload.size);
        leat__buf whole = {.kind = LEAT_MEM_TOOL};
        leat__buf_append(&whole, header, sizeof header);
        leat__buf_append(&whole, payload.data, payload.size);
        leat__buf_free(&payload);
        write_buf(in_dir(".forged.leatidx"), &whole);
        leat__source *source = open_folder(in_dir("forged"), LEAT_LABELS_AUTO, false, in_dir("forged-cache"));
        if (which == 0) assert_int_equal(leat__folder_size(source, 0), 1); /* it would have been used */
        else assert_string_equal(listing(source), "a/1.png:0");
        if (which == 0) leat__source_free(&source);
        unlink(in_dir(".forged.leatidx"));
        remove_tree(in_dir("forged-cache"));
    }
}

static void test_no_place_for_the_index(void **state) {
    (void)state;
    make_dir(in_dir("place"));
    make_dir(in_dir("place/a"));
    touch(in_dir("place/a/1.png"));
    write_file(in_dir("occupied"), "", 0);
    const char *const nowhere[] = {in_dir("occupied"), "/proc/leat", geteuid() ? "/root-only" : "/sys/leat"};
    for (size_t i = 0; i < LEAT_COUNT(nowhere); i++) {
        leat__source *source = open_folder(in_dir("place"), LEAT_LABELS_AUTO, false, nowhere[i]);
        assert_int_equal(source->n_samples, 1);
        assert_non_null(strstr(source->warning, "is not kept"));
        leat__source_free(&source);
    }
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL, *xdg = strdup(getenv("XDG_CACHE_HOME"));
    unsetenv("HOME"), unsetenv("XDG_CACHE_HOME");
    leat__open_options open = options_now(NULL);
    open.no_side_files = false;
    const leat__folder_options options = {.path = in_dir("place")};
    leat__source *source;
    assert_int_equal(leat__folder_open(&source, &options, &open, NULL), 0);
    assert_non_null(strstr(source->warning, "no cache directory"));
    leat__source_free(&source);
    if (home) setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    free(home), free(xdg);
    /* Asked for, it lies beside the data. */
    make_old(in_dir("place/a"), 100), make_old(in_dir("place"), 100);
    open = options_now(in_dir("place-cache"));
    open.beside = true;
    assert_int_equal(leat__folder_open(&source, &options, &open, NULL), 0);
    leat__source_free(&source);
    assert_int_equal(access(in_dir(".place.leatidx"), F_OK), 0);
    assert_int_equal(access(in_dir("place-cache"), F_OK), -1);
}

/* ------------------------------------------------------------------------------------------ memory */

static atomic_bool sampling;
static atomic_ullong peak;
static void *sample_memory(void *unused) {
    while (sampling) {
        const uint64_t held = memory_held();
        if (held > peak) peak = held;
    }
    return unused;
}

static void test_memory(void **state) {
    (void)state;
    enum { N = 100000 };
    make_dir(in_dir("large"));
    for (int i = 0; i < N; i++) {
        if (i % 1000 == 0) make_dir(in_dir("large/n%08d", i / 1000));
        char path[400];
        snprintf(path, sizeof path, "%s/large/n%08d/ILSVRC2012_val_%08d.JPEG", test_dir, i / 1000, i);
        const int fd = open(path, O_WRONLY | O_CREAT, 0666);
        assert_true(fd >= 0);
        close(fd);
    }
    pthread_t thread;
    const uint64_t before = memory_held();
    sampling = true;
    pthread_create(&thread, NULL, sample_memory, NULL);
    leat__source *source = open_folder(in_dir("large"), LEAT_LABELS_AUTO, false, in_dir("large-cache"));
    sampling = false;
    pthread_join(thread, NULL);
    const uint64_t kept = memory_held() - before;
    assert_int_equal(source->n_samples, N);
    assert_int_equal(source->n_classes, 100);
    if (kept > 100 * N || peak - before > 200 * N)
        fail_msg("%.0f bytes a file are kept, %.0f needed at most", (double)kept / N,
                 (double)(peak - before) / N);
    leat__source_free(&source);
    assert_int_equal(memory_held(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),         cmocka_unit_test(test_times_set_back),
        cmocka_unit_test(test_index_travels), cmocka_unit_test(test_file_of_another_size),
        cmocka_unit_test(test_forged_index),  cmocka_unit_test(test_no_place_for_the_index),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("folder index", tests, begin_files, end_files);
}
