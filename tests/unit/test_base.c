/* SPDX-License-Identifier: Apache-2.0 */
/* base/: memory that is counted, messages, files, the parallel loop, random numbers. */
#include "unit/testing.h"

#include <errno.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"

/* ------------------------------------------------------------------------------------------ memory */

static void test_alloc(void **state) {
    (void)state;
    const uint64_t before = leat__mem_held(LEAT_MEM_TOOL);
    for (size_t n = 0; n < 300000; n += n < 300 ? 7 : 8001) { /* large ones are pages of the system */
        uint8_t *block = leat__alloc(LEAT_MEM_TOOL, n);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        size_t set = 0;
        for (size_t i = 0; i < n + LEAT_MEM_PAD; i++) set += block[i] != 0;
        assert_int_equal(set, 0);
        assert_int_equal(leat__mem_held(LEAT_MEM_TOOL), before + n);
        memset(block, 1, n + LEAT_MEM_PAD);
        leat__free(block);
    }
    assert_int_equal(leat__mem_held(LEAT_MEM_TOOL), before);
    assert_null(leat__alloc(LEAT_MEM_TOOL, SIZE_MAX));
    assert_null(leat__alloc(LEAT_MEM_TOOL, SIZE_MAX - 100));
    leat__free(NULL);
}

static void test_alloc_fails_on_demand(void **state) {
    (void)state;
    leat__mem_fail_at(2);
    void *a = leat__alloc(LEAT_MEM_TOOL, 1), *b = leat__alloc(LEAT_MEM_TOOL, 1),
         *c = leat__alloc(LEAT_MEM_TOOL, 1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(leat__mem_fail_at(0), 3);
    leat__free(a);
    leat__free(c);
}

static void test_buf(void **state) {
    (void)state;
    leat__buf buf = {.kind = LEAT_MEM_TOOL};
    for (unsigned i = 0; i < 20000; i++) assert_true(leat__buf_append(&buf, &(uint8_t){(uint8_t)i}, 1));
    for (unsigned i = 0; i < 20000; i++) assert_int_equal(buf.data[i], (uint8_t)i);
    assert_true(IN(2, buf.grown, 20));
    leat__mem_fail_at(1);
    assert_false(leat__buf_reserve(&buf, 1 << 20));
    leat__mem_fail_at(0);
    assert_int_equal(buf.size, 20000);
    assert_int_equal(buf.data[19999], (uint8_t)19999);
    const size_t cap = buf.cap;
    assert_true(leat__buf_reserve_exactly(&buf, cap + 1));
    assert_int_equal(buf.cap, cap + 1);
    assert_false(leat__buf_append(&buf, "", SIZE_MAX - 10));
    leat__buf_free(&buf);
    assert_int_equal(buf.cap, 0);
}

static void test_arena(void **state) {
    (void)state;
    leat__arena arena = {.kind = LEAT_MEM_TOOL};
    for (int round = 0; round < 3; round++) {
        uint8_t *piece[200];
        for (int i = 0; i < 200; i++) {
            piece[i] = leat__arena_alloc(&arena, (size_t)i * 37);
            assert_non_null(piece[i]);
            assert_int_equal((uintptr_t)piece[i] % 64, 0);
            memset(piece[i], i, (size_t)i * 37);
        }
        for (int i = 0; i < 200; i++)
            for (int k = 0; k < i * 37; k++) assert_int_equal(piece[i][k], i);
        leat__arena_reset(&arena);
        assert_int_equal(arena.used, 0);
    }
    const uint32_t grown = arena.grown; /* one chunk now holds all of it */
    for (int i = 0; i < 200; i++) leat__arena_alloc(&arena, (size_t)i * 37);
    assert_int_equal(arena.grown, grown);
    leat__arena_reset(&arena);
    arena.limit = 1000;
    assert_null(leat__arena_alloc(&arena, 2000));
    assert_non_null(leat__arena_alloc(&arena, 500));
    assert_null(leat__arena_alloc(&arena, 900));
    assert_null(leat__arena_alloc(&arena, SIZE_MAX));
    leat__arena_reset(&arena);
    arena.limit = 0;
    assert_true(leat__arena_adopt(&arena, 1 << 20));
    const uint32_t adopted = arena.grown;
    assert_non_null(leat__arena_alloc(&arena, (1 << 20) - 256));
    assert_int_equal(arena.grown, adopted);
    leat__arena_free(&arena);
}

/* Without memory for one large chunk an arena starts over and still works. */
static void test_arena_without_memory(void **state) {
    (void)state;
    leat__arena arena = {.kind = LEAT_MEM_TOOL};
    for (int i = 0; i < 100; i++) assert_non_null(leat__arena_alloc(&arena, 4000));
    leat__mem_fail_at(1);
    leat__arena_reset(&arena);
    leat__mem_fail_at(0);
    for (int i = 0; i < 100; i++) assert_non_null(leat__arena_alloc(&arena, 4000));
    leat__arena_free(&arena);
}

/* ---------------------------------------------------------------------------------------- messages */

static void test_errors(void **state) {
    (void)state;
    leat_error err;
    assert_int_equal(leat__fail(&err, LEAT_ERR_SHAPE, "%d axes", 7), LEAT_ERR_SHAPE);
    assert_string_equal(err.message, "7 axes");
    assert_true(err.sample == LEAT_NO_SAMPLE);
    leat__error_prefix(&err, "%s: ", "here");
    assert_string_equal(err.message, "here: 7 axes");
    assert_int_equal(leat__fail(NULL, LEAT_ERR_IO, "x"), LEAT_ERR_IO);
    leat__error_prefix(NULL, "x");
    leat__fail_sys(&err, LEAT_ERR_IO, ENOENT, "cannot");
    assert_string_equal(err.message, "cannot: No such file or directory");
    assert_int_equal(err.sys, ENOENT);
    char large[3000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    leat__fail_sys(&err, LEAT_ERR_IO, ENOENT, "%s", large);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    leat__error_prefix(&err, "%s", large);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    for (int code = -30; code < 3; code++) {
        assert_true(strlen(leat_error_name(code)) > 1);
        assert_true(strlen(leat_error_text(code)) > 4);
    }
    assert_string_equal(leat_error_name(LEAT_ERR_SLOTS_HELD), "SLOTS_HELD");
    assert_string_equal(leat_stage_name(-1), "?");
    assert_string_equal(leat_dtype_name(99), "?");
}

static void test_printable(void **state) {
    (void)state;
    char out[12];
    assert_string_equal(leat__printable(out, sizeof out, "a\nb\x7f\x1b", 5), "a?b??");
    assert_string_equal(leat__printable(out, sizeof out, "12345678901", 11), "12345678901");
    assert_string_equal(leat__printable(out, sizeof out, "123456789012", 12), "1234...9012");
    for (size_t n = 0; n < 60; n++)
        for (size_t cap = 4; cap < 30; cap++) {
            char small[30], text[60];
            memset(text, 'y', n);
            leat__printable(small, cap, text, n);
            assert_true(strlen(small) == LEAT_MIN(n, cap - 1) || (n >= cap && strlen(small) < cap));
        }
}

/* ------------------------------------------------------------------------------------------- files */

static void test_open(void **state) {
    (void)state;
    leat__file file;
    leat_error err;
    assert_int_equal(leat__file_open(&file, in_dir("nothing"), &err), LEAT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "nothing"));
    make_dir(in_dir("open"));
    assert_int_equal(leat__file_open(&file, in_dir("open"), &err), LEAT_ERR_IO);
    assert_int_equal(mkfifo(in_dir("open/fifo"), 0666), 0);
    const uint64_t began = leat__now_ns();
    assert_int_equal(leat__file_open(&file, in_dir("open/fifo"), &err), LEAT_ERR_IO);
    assert_true(leat__now_ns() - began < UINT64_C(1000000000));
    assert_int_equal(leat__file_open(&file, "/dev/null", &err), LEAT_ERR_IO);
    write_file(in_dir("open/five"), "12345", 5);
    assert_int_equal(leat__file_open(&file, in_dir("open/five"), &err), 0);
    char bytes[8] = "";
    assert_int_equal(leat__file_read_at(&file, bytes, 3, 2, "five", &err), 0);
    assert_string_equal(bytes, "345");
    assert_int_equal(leat__file_read_at(&file, bytes, 4, 2, "five", &err), LEAT_ERR_IO);
    assert_non_null(strstr(err.message, "five: ends at byte 5, 1 bytes short"));
    assert_int_equal(leat__file_read_at(&file, bytes, 0, 99, "five", &err), 0);
    leat__file_close(&file);
    leat__file_close(&file);
    leat__buf buf = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(leat__file_read_all(in_dir("open/five"), &buf, 4, &err), LEAT_ERR_LIMIT);
    assert_int_equal(leat__file_read_all(in_dir("open/five"), &buf, 5, &err), 0);
    assert_int_equal(buf.size, 5);
    leat__buf_free(&buf);
}

/* A program that closed its standard input gets descriptor 0 for its first file. */
static void test_descriptor_zero(void **state) {
    (void)state;
    write_file(in_dir("zero"), "12345", 5);
    const int kept = dup(0);
    close(0);
    leat__file file;
    leat_error err;
    char bytes[6] = "";
    assert_int_equal(leat__file_open(&file, in_dir("zero"), &err), 0);
    assert_int_equal(leat__file_read_at(&file, bytes, 5, 0, "zero", &err), 0);
    assert_string_equal(bytes, "12345");
    leat__file_close(&file);
    assert_int_equal(fcntl(0, F_GETFD), -1); /* nothing was left behind */
    if (kept >= 0) dup2(kept, 0), close(kept);
}

static int count_entries(const char *path) {
    char command[5000];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
    FILE *p = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void test_out(void **state) {
    (void)state;
    leat__out *out;
    leat_error err;
    make_dir(in_dir("out"));
    assert_true(leat__out_open(&out, in_dir("out/missing/file"), &err) < 0);
    assert_null(out);
    assert_int_equal(leat__out_open(&out, in_dir("out/file"), &err), 0);
    char *block = calloc(1, 3 << 20);
    for (int i = 0; i < 5; i++)
        assert_int_equal(leat__out_write(out, block, (size_t)i * 700000 + 1, &err), 0);
    assert_int_equal(leat__out_size(out), 10 * 700000 + 5);
    assert_int_equal(access(in_dir("out/file"), F_OK), -1); /* not there before it is whole */
    assert_int_equal(leat__out_commit(&out, &err), 0);
    leat__stat st;
    assert_int_equal(leat__file_stat(in_dir("out/file"), &st, &err), 0);
    assert_int_equal(st.size, 10 * 700000 + 5);
    assert_int_equal(leat__out_open(&out, in_dir("out/other"), &err), 0);
    assert_int_equal(leat__out_write(out, block, 10, &err), 0);
    leat__out_abort(&out);
    leat__out_abort(&out);
    assert_int_equal(leat__out_open(&out, in_dir("out/dir"), &err), 0);
    make_dir(in_dir("out/dir"));
    write_file(in_dir("out/dir/x"), "", 0);
    assert_true(leat__out_commit(&out, &err) < 0); /* a folder stands in the way */
    assert_null(out);
    assert_int_equal(count_entries(in_dir("out")), 2);
    free(block);
}

static bool trusted(const char *path, uint32_t owner) {
    leat__file file;
    assert_int_equal(leat__file_open(&file, path, NULL), 0);
    const bool yes = leat__file_trusted(&file, owner);
    leat__file_close(&file);
    return yes;
}

static void test_trusted(void **state) {
    (void)state;
    char path[400];
    snprintf(path, sizeof path, "%s", in_dir("whose"));
    write_file(path, "x", 1);
    static const struct {
        mode_t mode;
        bool trusted;
    } modes[] = {{0644, true}, {0600, true}, {0664, false}, {0646, false}, {0666, false}, {0755, true}};
    for (size_t i = 0; i < LEAT_COUNT(modes); i++) {
        assert_int_equal(chmod(path, modes[i].mode), 0);
        assert_int_equal(trusted(path, LEAT_NO_OWNER), modes[i].trusted);
    }
    if (geteuid() != 0) return; /* only root can give files away and be other users */
    enum { SELF = 12345, OTHER = 12346 };
    chmod(path, 0644);
    chmod(test_dir, 0755);
    assert_int_equal(seteuid(SELF), 0);
    assert_true(trusted(path, LEAT_NO_OWNER)); /* root's */
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(path, OTHER, OTHER), 0);
    assert_false(trusted(path, LEAT_NO_OWNER)); /* root does not trust users */
    assert_int_equal(seteuid(SELF), 0);
    assert_false(trusted(path, LEAT_NO_OWNER));
    assert_true(trusted(path, OTHER)); /* it is beside data of the same owner */
    assert_int_equal(seteuid(0), 0);
    chmod(path, 0664);
    assert_false(trusted(path, OTHER));
}

static void test_glob(void **state) {
    (void)state;
    leat__paths paths;
    leat_error err;
    make_dir(in_dir("glob"));
    static const char *const names[] = {"b-1", "a-2", "a-1", "a[1]", "c*"};
    for (size_t i = 0; i < LEAT_COUNT(names); i++) write_file(in_dir("glob/%s", names[i]), "", 0);
    const char *const all[] = {in_dir("glob/a-*"), in_dir("glob/{a,b}-1"), in_dir("glob/a[1]"),
                               in_dir("glob/c*")};
    assert_int_equal(leat__glob(&paths, all, 4, &err), 0);
    assert_int_equal(paths.n, 5); /* sorted, each once, and odd names taken as they are */
    static const char *const sorted[] = {"a-1", "a-2", "a[1]", "b-1", "c*"};
    for (size_t i = 0; i < 5; i++) assert_string_equal(strrchr(paths.path[i], '/') + 1, sorted[i]);
    leat__paths_free(&paths);
    const char *const missing[] = {in_dir("glob/a-1"), in_dir("glob/z*")};
    assert_int_equal(leat__glob(&paths, missing, 2, &err), LEAT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "z*"));
    for (uint64_t n = 1;; n++) {
        leat__mem_fail_at(n);
        const int rc = leat__glob(&paths, all, 4, &err);
        leat__mem_fail_at(0);
        if (rc == 0) break;
        assert_int_equal(rc, LEAT_ERR_MEMORY);
    }
    leat__paths_free(&paths);
}

static void test_folders(void **state) {
    (void)state;
    leat_error err;
    assert_int_equal(leat__dir_make(in_dir("deep/er/still"), &err), 0);
    assert_int_equal(leat__dir_make(in_dir("deep/er/still"), &err), 0);
    write_file(in_dir("deep/file"), "", 0);
    assert_true(leat__dir_make(in_dir("deep/file/x"), &err) < 0);
    assert_true(leat__dir_make("", &err) < 0);
    assert_int_equal(leat__file_remove(in_dir("deep/nothing"), &err), 0);
    char cache[200];
    assert_true(leat__cache_dir(cache, sizeof cache));
    assert_false(leat__cache_dir(cache, 5));
}

/* ----------------------------------------------------------------------------------------- threads */

typedef struct counted {
    atomic_int seen[1000];
    uint64_t fails_from;
} counted;

static int count_item(void *user, uint64_t item, int worker, leat_error *err) {
    counted *c = user;
    assert(worker >= 0 && worker < 8);
    atomic_fetch_add(&c->seen[item], 1);
    if (item >= c->fails_from) return leat__fail(err, LEAT_ERR_IO, "item %" PRIu64, item);
    return 0;
}

static void test_parallel(void **state) {
    (void)state;
    leat_error err;
    for (int threads = 0; threads <= 8; threads++) {
        counted c = {.fails_from = 5000};
        assert_int_equal(leat__parallel(threads, 1000, count_item, &c, &err), 0);
        for (int i = 0; i < 1000; i++) assert_int_equal(c.seen[i], 1);
        assert_int_equal(leat__parallel(threads, 0, count_item, &c, &err), 0);
        memset(&c, 0, sizeof c);
        c.fails_from = 700;
        assert_int_equal(leat__parallel(threads, 1000, count_item, &c, &err), LEAT_ERR_IO);
        assert_string_equal(err.message, "item 700"); /* the lowest, whoever failed first */
        assert_int_equal(leat__parallel(threads, 1000, count_item, &c, NULL), LEAT_ERR_IO);
    }
}

/* ------------------------------------------------------------------------------------------ random */

/* The known answers that come with the authors' own implementation. */
static void test_philox(void **state) {
    (void)state;
    static const struct {
        uint32_t c[4], k[2], want[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < LEAT_COUNT(known); i++) {
        uint32_t c[4];
        memcpy(c, known[i].c, sizeof c);
        leat__philox(c, known[i].k[0] | (uint64_t)known[i].k[1] << 32);
        assert_memory_equal(c, known[i].want, sizeof c);
    }
}

static void test_draws(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(1, 2, 3, 4);
    int count[10] = {0};
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        count[leat__rng_below(&rng, 10)]++;
        const double x = leat__rng_unit(&rng);
        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    for (int i = 0; i < 10; i++) assert_true(IN(9600, count[i], 10400));
    assert_true(sum > 49500 && sum < 50500);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(leat__rng_below(&rng, 1), 0);
        assert_true(leat__rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    }
    /* Every part of the key counts. */
    uint64_t first[5];
    for (int i = 0; i < 5; i++) {
        leat__rng other = leat__rng_at(1 + (i == 1), 2 + (i == 2), 3 + (i == 3), 4 + (i == 4));
        first[i] = leat__rng_u64(&other);
        for (int k = 0; k < i; k++) assert_true(first[i] != first[k]);
    }
}

static void test_machine(void **state) {
    (void)state;
    assert_true(leat__cpu_count() >= 1);
    assert_true(leat__memory_available() > 1 << 20);
    assert_true(leat__thread_cpu_ns() > 0);
    assert_int_equal(leat__cpu_flags(), leat__cpu_flags());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_alloc_fails_on_demand),
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_without_memory),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_descriptor_zero),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_trusted),
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests_name("base", tests, begin_files, end_files);
}
