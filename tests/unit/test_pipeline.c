/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* A running pipeline: what batches hold, bad samples under each policy, leases, cancelling, closing. */
#include "run/pipeline.h"
#include "unit/testing.h"

#include <pthread.h>

#include "base/clock.h"

/* ----------------------------------------------------------------------------------------- batches */

/* Sizes of the batches of one run, as text: "4 4 2". */
static void check_sizes(const char *text, int n_epochs, const char *want, const char *ids) {
    char got[2000] = "", seen[4000] = "";
    tape t = record_spec(spec_of("%s", text), &(leat_config){.n_epochs = n_epochs, .n_threads = 2});
    assert_int_equal(t.rc, LEAT_END);
    for (int i = 0; i < t.n_batches; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), i ? " %d" : "%d", t.size[i]);
    for (int i = 0; i < t.n_samples; i++)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), i ? " %d" : "%d", (int)t.sample[i]);
    if (strcmp(got, want) != 0) fail_msg("%s: batches of %s, not %s", text, got, want);
    if (ids && strcmp(seen, ids) != 0) fail_msg("%s: samples %s, not %s", text, seen, ids);
    tape_free(&t);
}

static void test_batches(void **state) {
    (void)state;
    check_sizes("synth 10 4 4 | batch 4", 1, "4 4 2", "0 1 2 3 4 5 6 7 8 9");
    check_sizes("synth 10 4 4 | batch 4", 2, "4 4 2 4 4 2", NULL);
    check_sizes("synth 10 4 4 | batch 4 drop_remainder=true", 2, "4 4 4 4",
                "0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7");
    check_sizes("synth 10 4 4 | repeat 2 | batch 4", 1, "4 4 4 4 4",
                "0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9");
    check_sizes("synth 10 4 4 | batch 4 | repeat 2", 1, "4 4 2 4 4 2", NULL);
    check_sizes("synth 10 4 4 | batch 4 | repeat 2", 2, "4 4 2 4 4 2 4 4 2 4 4 2", NULL);
    check_sizes("synth 10 4 4 | batch 4 drop_remainder=true | repeat 3", 1, "4 4 4 4 4 4", NULL);
    check_sizes("synth 10 4 4 | batch 4 | take 2", 1, "4 4", "0 1 2 3 4 5 6 7");
    check_sizes("synth 10 4 4 | batch 4 | take 3", 1, "4 4 2", NULL);
    check_sizes("synth 10 4 4 | batch 4 | skip 1", 1, "4 2", "4 5 6 7 8 9");
    check_sizes("synth 10 4 4 | batch 4 | skip 1 | take 1 | repeat 2", 1, "4 4", "4 5 6 7 4 5 6 7");
    check_sizes("synth 10 4 4 | batch 4 | take -1", 1, "4 4 2", NULL);
    check_sizes("synth 10 4 4 | batch 100", 1, "10", NULL);
    check_sizes("synth 3 4 4", 1, "1 1 1", NULL); /* without batch: one by one */
    check_sizes("synth 10 4 4 | shard 1/3 | batch 2 | prefetch 1", 1, "2 1", "1 4 7");
    check_sizes("synth 10 4 4 | batch 100 drop_remainder=true", 1, "", NULL);
    check_sizes("synth 10 4 4 | batch 100 drop_remainder=true", -1, "",
                NULL); /* without end, but there is nothing */
    check_sizes("synth 10 4 4 | batch 4 | repeat 0", 1, "", NULL);
}

static void test_endless(void **state) {
    (void)state;
    static const char *const texts[] = {"synth 3 4 4 | repeat | batch 2", "synth 3 4 4 | batch 2 | repeat",
                                        "synth 3 4 4 | repeat -1 | repeat 4 | batch 2"};
    for (int i = 0; i < 4; i++) {
        leat_pipeline *pipeline = open_spec(spec_of("%s", i < 3 ? texts[i] : "synth 3 4 4 | batch 2"),
                                            &(leat_config){.n_epochs = i == 3 ? -1 : 0});
        tape t = record(pipeline, 500);
        assert_int_equal(t.n_batches, 500);
        leat_pipeline_close(&pipeline);
        tape_free(&t);
    }
}

static void test_numbers_of_batches(void **state) {
    (void)state;
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 10 4 4 | batch 4 | repeat 2"), &(leat_config){.n_epochs = 2});
    leat_batch b;
    for (uint64_t i = 0; leat_pipeline_next(pipeline, &b, NULL) == 0; i++) {
        assert_int_equal(b.epoch, i / 3);
        assert_int_equal(b.step, i % 3);
        leat_batch_release(&b);
        assert_null(b.lease);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), LEAT_END); /* and stays so */
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.batches, 12);
    assert_int_equal(stats.samples, 40);
    assert_int_equal(stats.bytes_out, 40 * (48 + 8));
    leat_pipeline_close(&pipeline);
    leat_pipeline_close(&pipeline);
    leat_pipeline_stats(NULL, &stats);
    assert_int_equal(stats.batches, 0);
    assert_int_equal(leat_pipeline_next(NULL, &b, NULL), LEAT_ERR_ARGUMENT);
    leat_batch_release(NULL);
    leat_batch_release(&(leat_batch){0});
}

/* ------------------------------------------------------------------------------------- bad samples */

enum { N_FILES = 60 };

static bool is_bad(int i) {
    return i % 7 == 3 || i == 20 || i == 21 || (i >= 40 && i < 48); /* one whole batch of 8 */
}

/* Photos of which some are cut, no image at all, or of another size. */
static void make_photos(void) {
    make_dir(in_dir("bad"));
    for (int i = 0; i < N_FILES; i++) {
        make_dir(in_dir("bad/%d", i % 2));
        char path[400];
        snprintf(path, sizeof path, "%s", in_dir("bad/%d/%03d.png", i * 2 / N_FILES, i));
        make_dir(in_dir("bad/%d", i * 2 / N_FILES));
        leat__buf bytes = make_png(8, 8, 3, (unsigned)i);
        if (is_bad(i) && i % 3 == 0) bytes.size /= 2;
        if (is_bad(i) && i % 3 == 1) bytes.size = 0;
        if (is_bad(i) && i % 3 == 2) memset(bytes.data, 'x', bytes.size);
        write_buf(path, &bytes);
    }
}

static void test_raise(void **state) {
    (void)state;
    make_photos();
    for (int threads = 0; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
        const leat_config config = {.n_threads = threads, .synchronous = !threads, .no_side_files = 1};
        for (int size = 1; size < 10; size += 4) {
            leat_pipeline *pipeline =
                open_spec(spec_of("folder %s | decode | batch %d", in_dir("bad"), size), &config);
            tape t = record(pipeline, -1);
            assert_int_equal(t.rc, LEAT_ERR_DECODE);
            assert_int_equal(t.n_batches,
                             3 / size); /* all batches before it, then the first bad one of its batch */
            assert_non_null(strstr(t.message, "0/003.png: decode: "));
            leat_error err;
            leat_batch b;
            for (int i = 0; i < 3; i++) { /* it stays */
                assert_int_equal(leat_pipeline_next(pipeline, &b, &err), LEAT_ERR_DECODE);
                assert_string_equal(err.message, t.message);
                assert_int_equal(err.sample, 3);
                assert_int_equal(err.stage, LEAT_STAGE_DECODE);
            }
            leat_bad bad;
            assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
            assert_int_equal(bad.sample, 3);
            tape_free(&t);
            leat_pipeline_close(&pipeline);
        }
    }
}

static void test_skip_and_replace(void **state) {
    (void)state;
    make_photos();
    int n_bad = 0;
    for (int i = 0; i < N_FILES; i++) n_bad += is_bad(i);
    for (int policy = LEAT_ON_ERROR_SKIP; policy <= LEAT_ON_ERROR_REPLACE; policy++) {
        static const char *const chains[] = {"batch 8", "shuffle seed=3 | batch 8",
                                             "shuffle 5 | repeat 2 | batch 7", "batch 8 drop_remainder=true"};
        for (size_t c = 0; c < LEAT_COUNT(chains); c++) {
            tape first = {0};
            for (int threads = 0; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
                const leat_config config = {.n_threads = threads,
                                            .synchronous = !threads,
                                            .n_epochs = 2,
                                            .on_error = policy,
                                            .no_side_files = 1};
                leat_pipeline *pipeline = open_spec(
                    spec_of("folder %s | decode | random_brightness 0.3 | %s", in_dir("bad"), chains[c]),
                    &config);
                tape t = record(pipeline, -1);
                leat_stats stats;
                leat_pipeline_stats(pipeline, &stats);
                assert_int_equal(t.rc, LEAT_END);
                const int turns = c == 2 ? 4 : 2, dropped = c == 3 ? 4 : 0;
                if (c < 3) assert_int_equal(stats.bad_samples, turns * n_bad);
                if (policy == LEAT_ON_ERROR_REPLACE)
                    assert_int_equal(t.n_samples, turns * (N_FILES - dropped));
                else if (c < 3) assert_int_equal(t.n_samples, turns * (N_FILES - n_bad));
                for (int i = 0; i < t.n_samples; i++) assert_false(is_bad((int)t.sample[i]));
                for (int i = 0; i < t.n_batches; i++)
                    assert_true(t.size[i] > 0); /* a batch without samples is none */
                leat_bad bad = {0};
                uint64_t n = 0;
                while (leat_pipeline_bad(pipeline, n, &bad) == 0) {
                    assert_true(is_bad((int)bad.sample) && strstr(bad.message, ".png"));
                    n++;
                }
                assert_int_equal(n, stats.bad_samples);
                leat_pipeline_close(&pipeline);
                if (threads == 0) first = t;
                else same_tape(&first, &t, chains[c]), tape_free(&t);
            }
            tape_free(&first);
        }
    }
    /* The text may say it too. */
    tape t = record_spec(spec_of("folder %s | decode | batch 8 | options on_error=skip", in_dir("bad")),
                         &(leat_config){.no_side_files = 1});
    assert_int_equal(t.rc, LEAT_END);
    tape_free(&t);
}

/* Nothing good at all: skipping ends, replacing says so. */
static void test_nothing_good(void **state) {
    (void)state;
    make_dir(in_dir("none"));
    for (int i = 0; i < 20; i++) write_file(in_dir("none/%d.jpg", i), "no image", 8);
    leat_config config = {.on_error = LEAT_ON_ERROR_SKIP, .n_threads = 2, .no_side_files = 1};
    leat_pipeline *pipeline =
        open_spec(spec_of("folder %s | decode | resize 4 | batch 3", in_dir("none")), &config);
    tape t = record(pipeline, -1);
    assert_true(t.rc == LEAT_END && t.n_batches == 0);
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.bad_samples, 20);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    config.on_error = LEAT_ON_ERROR_REPLACE;
    t = record_spec(spec_of("folder %s | decode | resize 4 | batch 3", in_dir("none")), &config);
    assert_int_equal(t.rc, LEAT_ERR_DECODE);
    assert_non_null(strstr(t.message, "no usable sample was found"));
    tape_free(&t);
    refuse_spec(spec_of("folder %s | decode | batch 3", in_dir("none")), &config, LEAT_ERR_DECODE, "0.jpg");
}

static void test_sizes_differ(void **state) {
    (void)state;
    make_dir(in_dir("sizes"));
    for (unsigned i = 0; i < 6; i++) write_png(in_dir("sizes/%u.png", i), 5 + (int)i / 3, 6, i);
    tape t = record_spec(spec_of("folder %s | decode | batch 2", in_dir("sizes")),
                         &(leat_config){.no_side_files = 1});
    assert_int_equal(t.rc, LEAT_ERR_SHAPE);
    assert_int_equal(t.n_batches, 1);
    assert_non_null(strstr(t.message, "3.png"));
    assert_non_null(strstr(t.message, "image is 6x6x3, in 0.png it is 5x6x3"));
    tape_free(&t);
}

/* ------------------------------------------------------------------------------------------ leases */

static void test_leases_outlive(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        leat_pipeline *pipeline = open_spec(spec_of("synth 100 8 8 | batch 10"),
                                            &(leat_config){.synchronous = synchronous, .n_slots = 3});
        leat_batch b[3];
        uint64_t digest[3];
        for (int i = 0; i < 3; i++) {
            assert_int_equal(leat_pipeline_next(pipeline, &b[i], NULL), 0);
            digest[i] = batch_digest(&b[i]);
        }
        leat_pipeline_close(&pipeline);
        for (int i = 0; i < 3; i++) assert_true(batch_digest(&b[i]) == digest[i]);
        leat_batch_release(&b[1]);
        assert_true(batch_digest(&b[2]) == digest[2]);
        leat_batch_release(&b[0]);
        assert_true(memory_held() > before);
        leat_batch_release(&b[2]);
        assert_int_equal(memory_held(), before);
    }
}

static void count_warnings(void *user, int level, const char *message) {
    if (level == LEAT_LOG_WARNING && strstr(message, "held by the program")) ++*(int *)user;
}

/* A caller that keeps batches gets more as long as memory lasts; then it is told, and can go on. */
static void test_all_held(void **state) {
    (void)state;
    int warnings = 0;
    const leat_config config = {
        .n_threads = 2, .n_slots = 2, .memory_max_bytes = 1200000, .log = count_warnings, .user = &warnings};
    leat_pipeline *pipeline = open_spec(spec_of("synth 1000 64 64 | batch 10"), &config);
    leat_batch b[50];
    leat_error err;
    int n = 0, rc = 0;
    const uint64_t began = leat__now_ns();
    while (n < 50 && (rc = leat_pipeline_next(pipeline, &b[n], &err)) == 0) n++;
    assert_int_equal(rc, LEAT_ERR_SLOTS_HELD);
    assert_true(IN(3, n, 8));
    const uint64_t waited = leat__now_ns() - began;
    assert_true(waited > UINT64_C(4900000000) && waited < UINT64_C(15000000000));
    assert_non_null(strstr(err.message, "held"));
    for (int i = 0; i < n; i++) assert_int_equal(b[i].n_left, n - 1 - i); /* it was told before */
    assert_int_equal(warnings, 1);
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.slots_added, n - 2);
    for (int i = 0; i < n; i++) assert_int_equal(b[i].sample[0], i * 10); /* none was used again */
    leat_batch_release(&b[0]);
    assert_int_equal(leat_pipeline_next(pipeline, &b[0], &err), 0); /* no failure that stays */
    assert_int_equal(b[0].sample[0], n * 10);
    leat_pipeline_close(&pipeline);
    for (int i = 0; i < n; i++) leat_batch_release(&b[i]);
}

/* Who holds all batches waits; asked whether to go on, it can say no, and lose nothing. */
static int stop_waiting(void *user) {
    return ++*(int *)user >= 3;
}
static void test_waiting_stops(void **state) {
    (void)state;
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        int asked = 0;
        const leat_config config = {.synchronous = synchronous,
                                    .n_slots = 2,
                                    .memory_max_bytes = 400000,
                                    .waiting = stop_waiting,
                                    .user = &asked};
        leat_pipeline *pipeline = open_spec(spec_of("synth 1000 64 64 | batch 10 | repeat 3"), &config);
        assert_int_equal(leat_pipeline_repeats(pipeline), 3);
        leat_batch b[8];
        leat_error err;
        int n = 0, rc = 0;
        const uint64_t began = leat__now_ns();
        while (n < 8 && (rc = leat_pipeline_next(pipeline, &b[n], &err)) == 0) n++;
        assert_int_equal(rc, LEAT_ERR_CANCELLED);
        assert_int_equal(asked, 3);
        assert_true(leat__now_ns() - began < UINT64_C(4000000000));
        leat_batch_release(&b[0]);
        asked = -100000; /* now it waits as long as it takes */
        assert_int_equal(leat_pipeline_next(pipeline, &b[0], &err), 0);
        assert_int_equal(b[0].sample[0], n * 10);
        leat_pipeline_close(&pipeline);
        for (int i = 0; i < n; i++) leat_batch_release(&b[i]);
    }
    assert_int_equal(leat_pipeline_repeats(NULL), 1);
}

typedef struct pool {
    int n_given, n_back, fail_at;
    uint64_t bytes;
    void *last[32];
} pool;

static void *pool_alloc(void *user, size_t bytes, size_t alignment) {
    pool *p = user;
    void *memory = NULL;
    if (p->fail_at && p->n_given + 1 == p->fail_at) return NULL;
    if (posix_memalign(&memory, alignment, bytes)) return NULL;
    memset(memory, 0xaa, bytes); /* nothing may rely on zeroes */
    p->last[p->n_given++ % 32] = memory;
    p->bytes += bytes;
    return memory;
}
static void pool_free(void *user, void *memory, size_t bytes) {
    pool *p = user;
    p->n_back++;
    p->bytes -= bytes;
    free(memory);
}

/* All shares of the budget come from it and add up to it, whatever the plan has. */
static void test_shares_of_the_budget(void **state) {
    (void)state;
    static const char *const texts[] = {"synth 64 16 16 | batch 4", "synth 64 16 16 | cache | batch 4",
                                        "synth 64 16 16 | cache max=1MiB | batch 4 | prefetch 3",
                                        "synth 64 16 16 | batch 4 | options read_ahead=off"};
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        for (size_t whole = (size_t)1 << 20; whole <= (size_t)1 << 34; whole *= 4) {
            const leat_config config = {.memory_max_bytes = whole, .n_threads = 2};
            leat_pipeline *pipeline = open_spec(spec_of("%s", texts[i]), &config);
            const leat__budget *b = &pipeline->plan.budget;
            assert_int_equal(b->whole, whole);
            assert_int_equal(b->slots + b->cache + b->window + b->positions + b->read_ahead + b->scratch,
                             whole);
            assert_true((size_t)pipeline->plan.n_slots * pipeline->plan.slot_bytes <= b->slots);
            assert_true(b->read_ahead <= LEAT_READ_AHEAD_BYTES_MAX && b->picture <= LEAT_LARGE_PICTURE);
            leat_pipeline_close(&pipeline);
        }
    }
}

static void read_to_end(leat_pipeline *pipeline) {
    leat_batch batch;
    while (leat_pipeline_next(pipeline, &batch, NULL) == 0) leat_batch_release(&batch);
}

/* memory_bytes is one pipeline's, whatever else the process holds; what its threads take is counted too. */
static void test_memory_is_its_own(void **state) {
    (void)state;
    leat_pipeline *small = open_spec(spec_of("synth 64 16 16 | batch 4"), &(leat_config){.synchronous = 1});
    leat_stats before, after, large_stats;
    read_to_end(small);
    leat_pipeline_stats(small, &before);
    assert_true(before.memory_bytes > 0);
    leat_pipeline *large = open_spec(spec_of("synth 64 256 256 | batch 16"), &(leat_config){.n_threads = 2});
    read_to_end(large);
    leat_pipeline_stats(small, &after);
    leat_pipeline_stats(large, &large_stats);
    assert_int_equal(after.memory_bytes, before.memory_bytes);
    assert_true(large_stats.memory_bytes > before.memory_bytes + (3u << 20));
    leat_pipeline_close(&large);
    leat_pipeline_stats(small, &after);
    assert_int_equal(after.memory_bytes, before.memory_bytes);
    leat_pipeline_close(&small);
}

static void test_memory_of_the_caller(void **state) {
    (void)state;
    pool p = {0};
    leat_config config = {.slot_alloc = pool_alloc, .slot_free = pool_free, .user = &p, .n_slots = 4};
    leat_pipeline *pipeline = open_spec(spec_of("synth 100 8 8 | batch 7"), &config);
    assert_int_equal(p.n_given, 4);
    leat_batch kept[6];
    for (int i = 0; i < 6; i++) {
        assert_int_equal(leat_pipeline_next(pipeline, &kept[i], NULL), 0);
        assert_int_equal((uintptr_t)kept[i].tensor[0].data % 4096, 0);
    }
    assert_int_equal(p.n_given, 6);
    leat_pipeline_close(&pipeline);
    assert_int_equal(p.n_back, 0);
    for (int i = 0; i < 6; i++) leat_batch_release(&kept[i]);
    assert_int_equal(p.n_back, 6);
    assert_int_equal(p.bytes, 0);
    tape plain = record_spec(spec_of("synth 100 8 8 | batch 7"), NULL);
    tape t = record_spec(spec_of("synth 100 8 8 | batch 7"), &config);
    same_tape(&plain, &t, "memory of the caller");
    tape_free(&plain);
    tape_free(&t);
    for (int i = 1; i <= 4; i++) { /* it may fail, and what was given comes back */
        p = (pool){.fail_at = i};
        refuse_spec(spec_of("synth 100 8 8 | batch 7"), &config, LEAT_ERR_MEMORY, "batch");
        assert_int_equal(p.n_back, i - 1);
    }
    /* Without a function to free it stays the caller's. */
    p = (pool){0};
    config.slot_free = NULL;
    t = record_spec(spec_of("synth 20 8 8 | batch 7"), &config);
    assert_int_equal(t.n_samples, 20);
    assert_int_equal(p.n_back, 0);
    tape_free(&t);
    for (int i = 0; i < p.n_given; i++) free(p.last[i]);
    /* Without a function to allocate, the other is not called. */
    config = (leat_config){.slot_free = pool_free, .user = &p};
    t = record_spec(spec_of("synth 20 8 8 | batch 7"), &config);
    assert_int_equal(p.n_back, 0);
    tape_free(&t);
}

/* -------------------------------------------------------------------------------------- interrupted */

static void *cancel_soon(void *pipeline) {
    usleep(100000);
    leat_pipeline_cancel(pipeline);
    return NULL;
}

static void test_cancel(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 100 8 8 | batch 10"),
                                        &(leat_config){.n_slots = 2, .memory_max_bytes = 60000});
    leat_batch b[50];
    leat_error err;
    pthread_t thread;
    int n = 0, rc = 0;
    pthread_create(&thread, NULL, cancel_soon, pipeline);
    const uint64_t began = leat__now_ns();
    while (n < 50 && (rc = leat_pipeline_next(pipeline, &b[n], &err)) == 0) {
        n++;
        if (n == 10) usleep(200000);
    }
    assert_int_equal(rc, LEAT_ERR_CANCELLED);
    assert_true(leat__now_ns() - began < UINT64_C(2000000000));
    assert_int_equal(leat_pipeline_next(pipeline, &b[n], &err), LEAT_ERR_CANCELLED);
    pthread_join(thread, NULL);
    leat_pipeline_close(&pipeline);
    for (int i = 0; i < n; i++) leat_batch_release(&b[i]);
    leat_pipeline_cancel(NULL);
}

static int stop_at_once(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    assert(strlen(what) > 3);
    return ++*(int *)user >= 0;
}

static void test_progress_cancels(void **state) {
    (void)state;
    int calls = 0;
    const leat_config config = {.progress = stop_at_once, .user = &calls, .no_side_files = 1};
    make_dir(in_dir("progress"));
    write_png(in_dir("progress/a.png"), 4, 4, 1);
    refuse_spec(spec_of("folder %s | decode | batch 2", in_dir("progress")), &config, LEAT_ERR_CANCELLED,
                "cancelled");
    write_samples(in_dir("progress/x.tfrecord"), 0, 3, 3);
    refuse_spec(spec_of("tfrecord %s | batch 2", in_dir("progress/x.tfrecord")), &config, LEAT_ERR_CANCELLED,
                "cancelled");
    assert_true(calls >= 2);
}

/* Closing after any number of batches, with any number of threads and batches held. */
static void test_close_any_time(void **state) {
    (void)state;
    make_photos();
    write_samples(in_dir("close.tfrecord"), 0, 40, 30);
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) add_sample(&shard, i, 30);
    write_deflated(in_dir("close.gz"), &shard, GZIP_BITS);
    const uint64_t before = memory_held();
    for (int i = 0; i < 200; i++) {
        leat_spec *spec =
            i % 4 == 0   ? spec_of("synth 50 16 16 | resize 8 8 | batch 4")
            : i % 4 == 1 ? spec_of("folder %s | decode | batch 4 | options on_error=skip", in_dir("bad"))
            : i % 4 == 2
                ? spec_of("tfrecord %s | parse image:bytes | batch 4", in_dir("close.tfrecord"))
                : spec_of("tfrecord %s | parse label:int64 | shuffle 7 | batch 4", in_dir("close.gz"));
        leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = i % 5,
                                                                 .synchronous = i % 5 == 0,
                                                                 .n_slots = 2 + i % 3,
                                                                 .no_side_files = 1});
        leat_batch b[8] = {{0}};
        for (int k = 0; k < i % 9; k++) {
            leat_batch_release(&b[k % 4]);
            if (leat_pipeline_next(pipeline, &b[k % 4], NULL) != 0) break;
        }
        if (i % 2) leat_batch_release(&b[0]);
        leat_pipeline_close(&pipeline);
        for (int k = 0; k < 8; k++) leat_batch_release(&b[k]);
    }
    assert_int_equal(memory_held(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_numbers_of_batches),
        cmocka_unit_test(test_raise),
        cmocka_unit_test(test_skip_and_replace),
        cmocka_unit_test(test_nothing_good),
        cmocka_unit_test(test_sizes_differ),
        cmocka_unit_test(test_leases_outlive),
        cmocka_unit_test(test_all_held),
        cmocka_unit_test(test_waiting_stops),
        cmocka_unit_test(test_shares_of_the_budget),
        cmocka_unit_test(test_memory_is_its_own),
        cmocka_unit_test(test_memory_of_the_caller),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_progress_cancels),
        cmocka_unit_test(test_close_any_time),
    };
    return cmocka_run_group_tests_name("pipeline", tests, begin_files, end_files);
}
