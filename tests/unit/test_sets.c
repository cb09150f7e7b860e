/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 no-arm (the emulator tells another start of the process than the kernel) */
/* The cache directory: a folder for each data set, locks on those in use, eviction of those that were not used for longest. */
#include "unit/testing.h"

#include "base/clock.h"
#include "base/sets.h"
#include "base/thread.h"

#define INDEX "0123456789abcdef0123456789abcdef.leatidx"

static leat__sets *open_sets(void) {
    leat__sets *sets;
    leat_error err;
    if (leat__sets_open(&sets, in_dir("cache"), &err) != 0) fail_msg("%s", err.message);
    return sets;
}

static const char *folder_of(leat__sets *sets, const char *home) {
    static char path[600];
    leat_error err;
    if (leat__sets_folder(sets, home, true, path, sizeof path, &err) != 0) fail_msg("%s", err.message);
    return path;
}

/* A set of so many bytes besides about.txt, last used so many seconds ago. */
static void make_set(const char *home, size_t bytes, int age) {
    char path[700], zeros[4096] = {0};
    leat__sets *sets = open_sets();
    const char *folder = folder_of(sets, home);
    snprintf(path, sizeof path, "%s/" INDEX, folder);
    write_file(path, zeros, bytes);
    snprintf(path, sizeof path, "%s/about.txt", folder);
    leat__sets_close(&sets);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool there(const char *home) {
    leat__set_list list;
    leat_error err;
    bool found = false;
    if (leat__sets_list(&list, in_dir("cache"), &err) != 0) fail_msg("%s", err.message);
    for (size_t i = 0; i < list.n; i++) found |= strcmp(list.at[i].home, home) == 0;
    leat__set_list_free(&list);
    return found;
}

static leat__sets_report prune(uint64_t bytes_max) {
    leat__sets_report report;
    leat_error err;
    if (leat__sets_prune(in_dir("cache"), bytes_max, &report, &err) != 0) fail_msg("%s", err.message);
    return report;
}

static int clean(void **state) {
    (void)state;
    remove_tree(in_dir("cache"));
    return 0;
}

static void test_folders(void **state) {
    (void)state;
    char a[600], text[100] = "";
    leat_error err;
    leat__sets *sets = open_sets();
    assert_int_equal(leat__sets_folder(sets, "/data/a", false, a, sizeof a, &err), LEAT_ERR_NOT_FOUND);
    snprintf(a, sizeof a, "%s", folder_of(sets, "/data/a"));
    assert_string_equal(folder_of(sets, "/data/a"), a);
    assert_string_not_equal(folder_of(sets, "/data/b"), a);
    assert_false(leat__sets_added(sets));
    leat__sets_add(sets);
    assert_true(leat__sets_added(sets));
    strcat(a, "/about.txt");
    leat__file file;
    assert_int_equal(leat__file_open(&file, a, &err), 0);
    assert_int_equal(leat__file_read_at(&file, text, file.size, 0, a, &err), 0);
    leat__file_close(&file);
    assert_string_equal(text, "leat data set 1\n/data/a\n");
    for (int i = 0; i < 200; i++) { /* more than are locked at once */
        char home[30];
        snprintf(home, sizeof home, "/data/%d", i);
        folder_of(sets, home);
    }
    leat__sets_close(&sets);
    leat__sets_close(&sets);
    assert_int_equal(prune(0).n_removed, 202);
}

static void test_least_recently_used(void **state) {
    (void)state;
    make_set("/a", 1000, 40);
    make_set("/b", 1000, 10);
    make_set("/c", 1000, 30);
    make_set("/d", 1000, 20);
    assert_int_equal(prune(5000).n_removed, 0);
    leat__sets_report report = prune(3500);
    assert_int_equal(report.n_removed, 1);
    assert_int_equal(report.n, 3);
    assert_false(there("/a"));
    leat__sets *sets = open_sets();
    char path[600];
    leat_error err; /* using it makes it the most recently used one */
    assert_int_equal(leat__sets_folder(sets, "/c", false, path, sizeof path, &err), 0);
    leat__sets_close(&sets);
    report = prune(2500);
    assert_true(report.n_removed == 1 && !there("/d") && there("/b") && there("/c"));
    assert_int_equal(report.bytes, 2 * (1000 + 19));
    assert_int_equal(prune(0).n, 0);
    assert_int_equal(prune(0).n_removed, 0);
}

static void test_in_use(void **state) {
    (void)state;
    make_set("/a", 1000, 40);
    make_set("/b", 1000, 30);
    leat__sets *one = open_sets(), *two = open_sets();
    char path[600], file[700];
    leat_error err;
    assert_int_equal(leat__sets_folder(one, "/a", false, path, sizeof path, &err), 0);
    assert_int_equal(leat__sets_folder(two, "/a", false, path, sizeof path, &err), 0);
    leat__sets_report report = prune(0);
    assert_true(report.n_removed == 1 && report.n_in_use == 1 && report.n == 1 && there("/a"));
    leat__sets_close(&one);
    assert_int_equal(prune(0).n_removed, 0);
    snprintf(file, sizeof file, "%s/" INDEX, path);
    leat__file open;
    assert_int_equal(leat__file_open(&open, file, &err), 0);
    leat__sets_close(&two);
    assert_int_equal(prune(0).n_removed, 1);
    uint8_t byte = 1; /* what is open stays readable */
    assert_int_equal(leat__file_read_at(&open, &byte, 1, 999, file, &err), 0);
    assert_int_equal(byte, 0);
    leat__file_close(&open);
}

/* What leat did not make is neither removed nor followed. */
static void test_foreign(void **state) {
    (void)state;
    char folder[600], path[700], link[700];
    make_set("/a", 1000, 40);
    make_set("/b", 1000, 30);
    make_set("/c", 1000, 20);
    leat__sets *sets = open_sets();
    make_dir(in_dir("treasure"));
    write_file(in_dir("treasure/" INDEX), "gold", 4);
    write_file(in_dir("treasure/about.txt"), "leat data set 1\n/x\n", 19);
    snprintf(folder, sizeof folder, "%s", folder_of(sets, "/a")); /* a link to a file in it */
    snprintf(path, sizeof path, "%s/ffffffffffffffffffffffffffffffff.leatidx", folder);
    snprintf(link, sizeof link, "%s", in_dir("treasure/" INDEX));
    assert_int_equal(symlink(link, path), 0);
    snprintf(folder, sizeof folder, "%s", folder_of(sets, "/b")); /* a file of the user's */
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    write_file(path, "mine", 4);
    leat__sets_close(&sets);
    snprintf(path, sizeof path, "%s", in_dir("cache/sets/ffffffffffffffffffffffffffffffff"));
    snprintf(link, sizeof link, "%s", in_dir("treasure"));
    assert_int_equal(symlink(link, path), 0); /* a link to a folder */
    make_dir(in_dir("cache/sets/someone"));
    write_file(in_dir("cache/sets/someone/" INDEX), "mine", 4);
    const leat__sets_report report = prune(0);
    assert_int_equal(report.n_removed, 1);
    assert_int_equal(report.n_foreign, 2);
    assert_true(there("/a") && there("/b") && !there("/c"));
    assert_int_equal(access(in_dir("treasure/" INDEX), R_OK), 0);
    assert_int_equal(access(in_dir("treasure/about.txt"), R_OK), 0);
    assert_int_equal(access(in_dir("cache/sets/someone/" INDEX), R_OK), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s", in_dir("cache/sets")); /* the folder of all sets is a link */
    remove_tree(path);
    assert_int_equal(symlink(link, path), 0);
    leat__set_list list;
    leat_error err;
    assert_int_equal(leat__sets_list(&list, in_dir("cache"), &err), LEAT_ERR_IO);
    unlink(path);
    remove_tree(in_dir("treasure"));
}

/* What older versions and killed processes leave. */
static void test_leftovers(void **state) {
    (void)state;
    char path[700];
    make_set("/a", 10, 5);
    make_dir(in_dir("cache/index"));
    write_file(in_dir("cache/index/" INDEX), "old", 3);
    make_dir(in_dir("cache/sets/.gone-0123456789abcdef0123456789abcdef-77"));
    write_file(in_dir("cache/sets/.gone-0123456789abcdef0123456789abcdef-77/" INDEX), "old", 3);
    make_dir(in_dir("cache/sets/0123456789abcdef0123456789abcdef")); /* killed before about.txt was there */
    write_file(in_dir("cache/sets/0123456789abcdef0123456789abcdef/." INDEX ".tmp-12-0"), "old", 3);
    assert_int_equal(prune(1000000).n_removed, 0);
    assert_int_not_equal(access(in_dir("cache/index"), F_OK), 0);
    assert_int_not_equal(access(in_dir("cache/sets/.gone-0123456789abcdef0123456789abcdef-77"), F_OK), 0);
    assert_int_equal(prune(0).n_removed, 2);
    leat__sets *sets = open_sets(); /* killed before about.txt was written */
    snprintf(path, sizeof path, "%s/about.txt", folder_of(sets, "/b"));
    leat__sets_close(&sets);
    write_file(path, "", 0);
    assert_false(there("/b"));
    sets = open_sets();
    folder_of(sets, "/b");
    leat__sets_close(&sets);
    assert_true(there("/b"));
    assert_int_equal(prune(0).n_removed, 1);
}

static void test_room(void **state) {
    (void)state;
    make_set("/a", 1000, 40);
    make_set("/b", 1000, 30);
    assert_int_equal(leat__sets_room(in_dir("cache"), 10000, 500), 500);
    assert_int_equal(leat__sets_room(in_dir("cache"), 2500, 500), 500); /* one had to go */
    assert_true(!there("/a") && there("/b"));
    leat__sets *sets = open_sets();
    folder_of(sets, "/b");
    assert_int_equal(leat__sets_room(in_dir("cache"), 1100, 500), 1100 - 1019);
    assert_int_equal(leat__sets_room(in_dir("cache"), 1019, 500), 0);
    assert_int_equal(leat__sets_room(in_dir("cache"), 0, 500), 0);
    leat__sets_close(&sets);
    assert_int_equal(leat__sets_room(in_dir("nowhere"), 5000, 500), 500);
    assert_in_range(leat__sets_default(in_dir("no/such/folder")), 1, LEAT_SETS_BYTES_MAX);
    assert_int_equal(leat__sets_default(in_dir("no/such/folder")), leat__sets_default(in_dir("cache")));
}

/* Threads as so many processes: locks belong to open files, not to processes. Each holds a set, and what it wrote to it is
 * there as long as it does. */
static int use_and_prune(void *user, uint64_t item, int worker, leat_error *err) {
    const char *cache = user;
    char home[30], path[600], file[700], name[20];
    leat__sets *sets = NULL;
    leat__stat st;
    if (worker % 2) return leat__sets_prune(cache, 0, NULL, err);
    LEAT_TRY(leat__sets_open(&sets, cache, err));
    snprintf(home, sizeof home, "/%d", (int)(item % 3));
    int rc = leat__sets_folder(sets, home, true, path, sizeof path, err);
    for (int i = 0; i < 5 && rc == 0; i++) {
        snprintf(name, sizeof name, "%08x%08x", worker, (unsigned)item);
        snprintf(file, sizeof file, "%s/%s%s.leatidx", path, name, name);
        rc = leat__file_write(file, "abc", 3, err);
        if (rc == 0) rc = leat__file_stat(file, &st, err);
    }
    leat__sets_close(&sets);
    return rc;
}

static void test_many_at_once(void **state) {
    (void)state;
    leat_error err;
    char cache[600];
    snprintf(cache, sizeof cache, "%s", in_dir("cache"));
    if (leat__parallel(6, 3000 / STRIDE, use_and_prune, cache, &err) < 0) fail_msg("%s", err.message);
    prune(0);
    assert_int_equal(prune(0).n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_folders, clean),
        cmocka_unit_test_teardown(test_least_recently_used, clean),
        cmocka_unit_test_teardown(test_in_use, clean),
        cmocka_unit_test_teardown(test_foreign, clean),
        cmocka_unit_test_teardown(test_leftovers, clean),
        cmocka_unit_test_teardown(test_room, clean),
        cmocka_unit_test_teardown(test_many_at_once, clean),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
