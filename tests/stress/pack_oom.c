/* SPDX-License-Identifier: Apache-2.0 */
/* Packing with every single allocation failing once: it says so or does without, leaves nothing half-done,
 * and a later run completes the same shards. Also: a cancelled run, and callbacks on the calling thread
 * only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "leat/leat_tools.h"
#include "unit/testing_stride.h"

static char root[200], in[300], out[300], cache[300];

typedef struct seen {
    uint64_t digest;
    int n_shards, n_temporary;
} seen;

static int look_at(void *user, const char *name, char kind, leat_error *err) {
    (void)kind, (void)err;
    seen *s = user;
    leat__buf bytes = {.kind = LEAT_MEM_TOOL};
    char path[600];
    if (strstr(name, ".tmp-")) s->n_temporary++;
    if (name[0] == '.') return 0;
    s->n_shards += strstr(name, ".tfrecord") != NULL;
    snprintf(path, sizeof path, "%s/%s", out, name);
    assert_int_equal(leat__file_read_all(path, &bytes, 1 << 30, NULL), 0);
    s->digest += leat__hash(bytes.data, bytes.size, leat__hash(name, strlen(name), 0)); /* any order */
    leat__buf_free(&bytes);
    return 0;
}

static seen look(void) {
    seen s = {0};
    assert_int_equal(leat__dir_list(out, look_at, &s, NULL), 0);
    return s;
}

static int remove_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)user, (void)kind;
    char path[600];
    snprintf(path, sizeof path, "%s/%s", out, name);
    return leat__file_remove(path, err);
}

static void empty_out(void) {
    leat__dir_make(out, NULL);
    assert_int_equal(leat__dir_list(out, remove_entry, NULL, NULL), 0);
}

static const leat_pack_config packs[] = {
    {.n_shards = 3, .shuffle = 1},
    {.n_shards = 2, .width = 20, .height = 10},
    {.n_shards = 2, .width = 9, .height = 9, .raw = 1},
    {.n_shards = 4,
     .split = "0.5,0.5 by=order",
     .features = "tfds",
     .augment = "random_flip_left_right",
     .copies = 1},
};

static void every_allocation_may_fail(void **state) {
    (void)state;
    leat_error err;
    for (size_t k = 0; k < LEAT_COUNT(packs); k++) {
        for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
            const leat_tool_config tool = {.n_threads = n_threads, .cache_dir = cache};
            leat_pack_report report;
            empty_out();
            leat__mem_fail_at(0);
            assert_int_equal(leat_pack(in, out, &packs[k], &report, &tool, &err), 0);
            const uint64_t n_allocs = leat__mem_fail_at(0);
            const seen whole = look();
            assert_int_equal(whole.n_shards, packs[k].n_shards);
            const uint64_t held = leat__mem_held(LEAT_MEM_TOOL);
            /* With several threads the order of allocations differs from run to run: fewer will do. */
            const uint64_t step = (n_threads == 1 ? 1 : 7) * STRIDE;
            for (uint64_t n = 1; n <= n_allocs + 5; n += step) {
                empty_out();
                leat__mem_fail_at(n);
                const int rc = leat_pack(in, out, &packs[k], &report, &tool, &err);
                leat__mem_fail_at(0);
                if (rc != 0) assert_int_equal(rc, LEAT_ERR_MEMORY);
                if (rc != 0) assert_true(err.message[0] != 0);
                assert_int_equal(look().n_temporary, 0);
                assert_int_equal(leat_pack(in, out, &packs[k], &report, &tool, &err), 0);
                assert_int_equal(report.n_samples, packs[k].copies ? 18 : 12);
                const seen now = look();
                assert_true(now.digest == whole.digest && now.n_temporary == 0);
                assert_int_equal(leat__mem_held(LEAT_MEM_TOOL), held);
            }
        }
    }
}

typedef struct watching {
    pthread_t caller;
    int n, stop_at;
    bool strange; /* called on another thread */
} watching;

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    watching *w = user;
    (void)what;
    if (!pthread_equal(w->caller, pthread_self())) w->strange = true;
    if (total && done > total) w->strange = true;
    return ++w->n >= w->stop_at;
}

static void cancelling_is_clean(void **state) {
    (void)state;
    leat_error err;
    int n_cancelled = 0;
    for (size_t k = 0; k < LEAT_COUNT(packs); k++) {
        for (int stop_at = 1; stop_at < 16; stop_at++) {
            watching w = {.caller = pthread_self(), .stop_at = stop_at};
            leat_tool_config tool = {.n_threads = 2, .cache_dir = cache, .progress = on_progress, .user = &w};
            empty_out();
            const int rc = leat_pack(in, out, &packs[k], NULL, &tool, &err);
            assert_true(rc == 0 || rc == LEAT_ERR_CANCELLED);
            assert_false(w.strange);
            n_cancelled += rc != 0;
            assert_int_equal(look().n_temporary, 0);
            tool.progress = NULL;
            assert_int_equal(leat_pack(in, out, &packs[k], NULL, &tool, &err), 0);
            assert_int_equal(look().n_shards, packs[k].n_shards);
        }
    }
    assert_true(n_cancelled > 3);
}

static int make_root(void **state) {
    (void)state;
    leat_error err;
    /* Syncing is what takes the time: memory has none of it. */
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(root, sizeof root, "%.150s/leat-pack-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root)) return -1;
    snprintf(in, sizeof in, "%s/in", root);
    snprintf(out, sizeof out, "%s/out", root);
    snprintf(cache, sizeof cache, "%s/cache", root);
    const leat_synth_config synth = {.n_images = 12, .n_classes = 3, .width = 40, .height = 30};
    if (leat_synth(in, &synth, NULL, &err) < 0) return -1;
    /* An index made at once would not be trusted and be made again each time: settle first. */
    usleep(50000);
    return 0;
}

static int remove_root(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(cancelling_is_clean),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
