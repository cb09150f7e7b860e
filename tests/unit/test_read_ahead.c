/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-plain timeout=120 */
/* Read-ahead: whatever the threads that read do, a pipeline hands over what it hands over without them; they run when
 * storage is slow, and do not when it is not. Storage is slow here because a program's own source sleeps. */
#include "unit/testing.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"

enum { N = 90, SIZE = 600 };

typedef struct storage {
    atomic_int delay_us;
    atomic_int calls, now, most; /* of read_at; those going on, and the most at once */
    int bad;                     /* every so many-th sample cannot be read; 0 = none  */
    atomic_bool stuck;           /* reads wait for as long                            */
    bool alone;                  /* only workers may read                             */
    int readers;                 /* threads that the source asks for                  */
} storage;

static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    storage *s = user;
    const int now = atomic_fetch_add(&s->now, 1) + 1;
    atomic_fetch_add(&s->calls, 1);
    for (int most = atomic_load(&s->most);
         now > most && !atomic_compare_exchange_weak(&s->most, &most, now);) {}
    const int delay_us = atomic_load(&s->delay_us);
    if (delay_us) leat__sleep_ns((uint64_t)delay_us * 1000 * (1 + i % 3));
    while (atomic_load(&s->stuck)) leat__sleep_ns(1000000);
    atomic_fetch_sub(&s->now, 1);
    if (s->bad && i % (uint64_t)s->bad == 3) {
        snprintf(err->message, sizeof err->message, "sample %d is lost", (int)i);
        return LEAT_ERR_IO;
    }
    for (size_t k = 0; k < SIZE; k++) ((uint8_t *)out[0].room)[k] = (uint8_t)(i * 31 + k);
    *(int64_t *)out[1].room = (int64_t)i;
    out[2].bytes = (size_t)(i % 50);
    memset(out[2].room, (int)i, out[2].bytes);
    return 0;
}

static leat_spec *slow_spec(storage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static leat_spec *slow_spec(storage *s, const char *fmt, ...) {
    static const leat_field fields[] = {
        {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {10, 20, 3}},
        {.name = "label", .dtype = LEAT_DTYPE_I64},
        {.name = "name", .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {-1}}};
    const leat_source_callbacks callbacks = {.n = N,
                                             .n_fields = 3,
                                             .field = fields,
                                             .max_bytes = 64,
                                             .read_at = read_at,
                                             .thread_safe = 1,
                                             .no_read_ahead = s->alone,
                                             .n_readers = (uint64_t)s->readers,
                                             .user = s};
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    leat_spec *spec = leat_spec_new(NULL);
    assert_int_equal(leat_spec_source(spec, &callbacks), 0);
    leat_spec_add(spec, text);
    return spec;
}

static const char *const chains[] = {
    "batch 7",
    "shuffle | random_brightness 0.3 | batch 8",
    "shuffle 20 | batch 7 drop_remainder=true | repeat 2",
    "take 31 | repeat 3 | batch 10",
    "shuffle block=10 group=2 | batch 64 pad_remainder=true",
    "cache | shuffle | batch 9",
    "batch 1",
    "one_hot label 90 | cast image f32 | batch 16 | mixup group=4",
};

static void test_same_bytes(void **state) {
    (void)state;
    static const char *const modes[] = {"auto", "1", "3", "17"};
    for (size_t c = 0; c < LEAT_COUNT(chains); c++) {
        storage s = {0};
        const leat_config plain = {.n_epochs = 2, .n_threads = 1};
        tape want = record_spec(slow_spec(&s, "%s | options read_ahead=off", chains[c]), &plain);
        assert_int_equal(want.rc, LEAT_END);
        for (size_t m = 0; m < LEAT_COUNT(modes); m++)
            for (int threads = 1; threads <= 4; threads += 3) {
                storage slow = {.delay_us = m % 2 ? 0 : 300};
                const leat_config config = {.n_epochs = 2, .n_threads = threads, .n_slots = 2 + (int)m};
                leat_pipeline *pipeline =
                    open_spec(slow_spec(&slow, "%s | options read_ahead=%s", chains[c], modes[m]), &config);
                tape got = record(pipeline, -1);
                leat_stats stats;
                leat_pipeline_stats(pipeline, &stats);
                leat_pipeline_close(&pipeline);
                same_tape(&want, &got, chains[c]);
                if (m > 0) assert_int_equal(stats.n_readers, atoi(modes[m]));
                /* Without a delay they may never be first, and what is kept is not read. */
                if (m == 2 && c != 5) assert_true(stats.read_ahead > 0);
                assert_true(stats.bytes_read > 0);
                tape_free(&got);
            }
        tape_free(&want);
    }
}

static void test_bad_samples(void **state) {
    (void)state;
    for (int policy = LEAT_ON_ERROR_RAISE; policy <= LEAT_ON_ERROR_REPLACE; policy++) {
        tape want = {0};
        for (int ahead = 0; ahead <= 4; ahead += 2) {
            storage s = {.bad = 11, .delay_us = ahead ? 50 : 0};
            const leat_config config = {.on_error = policy, .n_threads = 2, .n_epochs = 2};
            leat_pipeline *pipeline =
                open_spec(slow_spec(&s, "shuffle | batch 6 | options read_ahead=%d", ahead), &config);
            tape got = record(pipeline, -1);
            leat_stats stats;
            leat_pipeline_stats(pipeline, &stats);
            leat_pipeline_close(&pipeline);
            assert_int_equal(got.rc, policy == LEAT_ON_ERROR_RAISE ? LEAT_ERR_IO : LEAT_END);
            if (policy) assert_int_equal(stats.bad_samples, 2 * 8);
            if (ahead) same_tape(&want, &got, "bad"), tape_free(&got);
            else want = got;
        }
        tape_free(&want);
    }
}

/* Going elsewhere at any time, with reads under way. */
static void test_restore(void **state) {
    (void)state;
    storage s = {.delay_us = 200};
    const leat_config config = {.n_threads = 2, .n_epochs = 2, .n_slots = 3};
    leat_pipeline *pipeline = open_spec(slow_spec(&s, "shuffle | batch 5 | options read_ahead=6"), &config);
    static char saved[40][1024];
    tape all = {0};
    leat_batch b;
    for (;;) {
        assert_true(all.n_batches < 40 &&
                    leat_pipeline_state(pipeline, saved[all.n_batches], 1024, NULL) == 0);
        if ((all.rc = leat_pipeline_next(pipeline, &b, NULL)) != 0) break;
        tape_add(&all, &b);
        leat_batch_release(&b);
    }
    assert_int_equal(all.n_batches, 36);
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    for (int i = 0; i < 60; i++) {
        const int from = (int)leat__rng_below(&rng, 37), n = (int)leat__rng_below(&rng, 4);
        assert_int_equal(leat_pipeline_restore(pipeline, saved[from], NULL), 0);
        if (i % 4 == 0) { /* one by itself takes nothing away */
            assert_int_equal(leat_pipeline_sample(pipeline, 0, 7, &b, NULL), 0);
            leat_batch_release(&b);
        }
        tape t = record(pipeline, n);
        for (int k = 0; k < t.n_batches; k++) assert_true(t.digest[k] == all.digest[from + k]);
        tape_free(&t);
    }
    leat_pipeline_close(&pipeline);
    tape_free(&all);
}

static void test_ranks(void **state) {
    (void)state;
    storage s = {0};
    for (int rank = 0; rank < 3; rank++) {
        tape want = {0};
        for (int ahead = 0; ahead < 8; ahead += 7) {
            const leat_config config = {.n_threads = 2, .rank = rank, .world_size = 3, .n_epochs = 3};
            tape got =
                record_spec(slow_spec(&s, "shuffle | batch 8 | options read_ahead=%d", ahead), &config);
            if (ahead) same_tape(&want, &got, "rank"), tape_free(&got);
            else want = got;
        }
        tape_free(&want);
    }
}

/* Files and records: what a folder, shards and a table of files give is the same too. */
static void test_files(void **state) {
    (void)state;
    make_dir(in_dir("photos"));
    FILE *table = fopen(in_dir("list.csv"), "w");
    assert_non_null(table);
    for (int i = 0; i < 40; i++) {
        write_jpeg(in_dir("photos/%02d.jpg", i), 20 + i, 30, (unsigned)i);
        fprintf(table, "photos/%02d.jpg,%d\n", i == 13 ? 99 : i, i);
    }
    fclose(table);
    make_dir(in_dir("records"));
    for (int i = 0; i < 3; i++) write_samples(in_dir("records/%d", i), i * 50, 50, 300);
    char text[5][700];
    snprintf(text[0], sizeof text[0], "folder %s | shuffle | decode | resize 16 16 | batch 6",
             in_dir("photos"));
    snprintf(text[1], sizeof text[1],
             "tfrecord %s | shuffle block=2k group=3 | parse image:bytes label:int64 | batch 8",
             in_dir("records/*"));
    snprintf(text[2], sizeof text[2], "options on_error=replace | list %s | decode | resize 16 16 | batch 5",
             in_dir("list.csv"));
    snprintf(text[3], sizeof text[3],
             "tfrecord %s | parse label:int64 | filter label>20 | shuffle block=1k | repeat 2 | batch 8",
             in_dir("records/*"));
    snprintf(text[4], sizeof text[4],
             "folder %s | shuffle | bucket_by_aspect_ratio 0.8,1.2 sizes=6x4,5x5,4x6 | decode | "
             "resize_to_bucket | batch 4",
             in_dir("photos"));
    for (size_t i = 0; i < LEAT_COUNT(text); i++) {
        const leat_config config = {.n_threads = 2, .n_epochs = 3};
        tape want = record_spec(spec_of("%s | options read_ahead=off", text[i]), &config);
        assert_int_equal(want.rc, LEAT_END);
        for (int n = 1; n < 9; n += 3) {
            tape got = record_spec(spec_of("%s | options read_ahead=%d", text[i], n), &config);
            same_tape(&want, &got, text[i]);
            tape_free(&got);
        }
        tape_free(&want);
    }
}

/* Few bytes: what does not fit is read by the workers. */
static void test_small_budget(void **state) {
    (void)state;
    storage s = {0}, slow = {.delay_us = 100};
    tape want = record_spec(slow_spec(&s, "shuffle | batch 4 | options read_ahead=off"), NULL);
    for (size_t budget = 100000; budget <= 1600000; budget *= 2) {
        const leat_config config = {.n_threads = 3, .memory_max_bytes = budget, .n_slots = 2};
        tape got = record_spec(slow_spec(&slow, "shuffle | batch 4 | options read_ahead=8"), &config);
        same_tape(&want, &got, "budget");
        tape_free(&got);
    }
    tape_free(&want);
}

/* By itself: none where reading takes no time, many where it takes most of it. */
static void test_auto(void **state) {
    (void)state;
    leat_stats stats;
    storage fast = {0};
    leat_pipeline *pipeline =
        open_spec(slow_spec(&fast, "shuffle | repeat 60 | batch 8"), &(leat_config){.n_threads = 2});
    tape t = record(pipeline, -1);
    leat_pipeline_stats(pipeline, &stats);
    assert_true(stats.n_readers == 0 && stats.read_ahead == 0);
    assert_true(atomic_load(&fast.most) <= 2);
    leat_pipeline_close(&pipeline);
    tape_free(&t);

    storage slow = {.delay_us = 2000};
    pipeline = open_spec(slow_spec(&slow, "shuffle | repeat 6 | batch 8"), &(leat_config){.n_threads = 2});
    t = record(pipeline, -1);
    leat_pipeline_stats(pipeline, &stats);
    if (stats.n_readers < 4 || stats.read_ahead < 100 || atomic_load(&slow.most) < 5)
        fail_msg("%d readers, %d samples read ahead, %d at once", stats.n_readers, (int)stats.read_ahead,
                 atomic_load(&slow.most));
    /* No sample is read much more often than it is needed. */
    assert_true(atomic_load(&slow.calls) < 6 * N + 64);
    leat_pipeline_close(&pipeline);
    tape_free(&t);
}

/* Takes batches until that many threads read ahead, at least or at the most; fails after 20 s. Returns the changes so far. */
static uint64_t run_until(leat_pipeline *pipeline, int least, int most) {
    const uint64_t until = leat__now_ns() + UINT64_C(20000000000);
    leat_stats stats;
    leat_batch b;
    do {
        if (leat__now_ns() > until) fail_msg("%d readers after 20 s", stats.n_readers);
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        leat_batch_release(&b);
        leat_pipeline_stats(pipeline, &stats);
    } while (stats.n_readers < least || stats.n_readers > most);
    return stats.tuned;
}

/* Storage that becomes slow, and fast again. */
static void test_starts_and_stops(void **state) {
    (void)state;
    storage s = {0};
    leat_pipeline *pipeline =
        open_spec(slow_spec(&s, "shuffle | batch 8"), &(leat_config){.n_threads = 2, .n_epochs = -1});
    run_until(pipeline, 0, 0);
    atomic_store(&s.delay_us, 3000);
    const uint64_t up = run_until(pipeline, 3, 64);
    assert_true(up >= 1);
    atomic_store(&s.delay_us, 0);
    const uint64_t down = run_until(pipeline, 0, 0);
    assert_true(down >= up + 1 && down < up + 8);
    leat_pipeline_close(&pipeline);
}

static atomic_bool stop_burning;
static void *burn(void *unused) {
    (void)unused;
    for (volatile unsigned n = 0; !atomic_load(&stop_burning); n = n + 1) {}
    return NULL;
}

/* Warm files on a machine whose cores are busy: reading takes long because others have the core, and no thread can help. */
static void test_none_on_a_busy_machine(void **state) {
    (void)state;
    enum { BURNERS = 12, PHOTOS = 40 };
    pthread_t burner[BURNERS];
    make_dir(in_dir("warm"));
    for (int i = 0; i < PHOTOS; i++) write_jpeg(in_dir("warm/%02d.jpg", i), 100, 120, (unsigned)i);
    atomic_store(&stop_burning, false);
    for (int i = 0; i < BURNERS; i++)
        assert_int_equal(leat__thread_start(&burner[i], burn, NULL, "burn", NULL), 0);
    leat_pipeline *pipeline =
        open_spec(spec_of("folder %s | shuffle | decode | resize 32 32 | batch 8", in_dir("warm")),
                  &(leat_config){.n_threads = 2, .n_epochs = -1, .no_side_files = 1});
    const uint64_t until = leat__now_ns() + UINT64_C(2000000000);
    leat_stats stats = {0};
    leat_batch b;
    int most = 0;
    while (leat__now_ns() < until) {
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        leat_batch_release(&b);
        leat_pipeline_stats(pipeline, &stats);
        most = LEAT_MAX(most, stats.n_readers);
    }
    atomic_store(&stop_burning, true);
    for (int i = 0; i < BURNERS; i++) pthread_join(burner[i], NULL);
    leat_pipeline_close(&pipeline);
    if (most > 0) fail_msg("%d readers for warm files, %.3f s blocked", most, stats.read_wait_s);
}

/* A source that wants none has none, whatever the text says. */
static void test_not_wanted(void **state) {
    (void)state;
    static const char *const modes[] = {"auto", "9", "9"};
    for (size_t m = 0; m < LEAT_COUNT(modes); m++) {
        storage s = {.delay_us = 2000, .alone = true}, other = {0};
        leat_spec *spec =
            m < 2
                ? slow_spec(&s, "shuffle | repeat 2 | batch 8 | options read_ahead=%s", modes[m])
                : spec_of("concatenate @other @alone | shuffle | batch 8 | options read_ahead=%s", modes[m]);
        if (m == 2) { /* one part that must not be read ahead is enough */
            leat_spec *alone = slow_spec(&s, "shuffle | repeat 2"), *plain = slow_spec(&other, "take 5");
            leat_spec_part(spec, "alone", alone);
            leat_spec_part(spec, "other", plain);
            leat_spec_free(&alone);
            leat_spec_free(&plain);
        }
        leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = 3});
        tape t = record(pipeline, -1);
        leat_stats stats;
        leat_pipeline_stats(pipeline, &stats);
        assert_int_equal(t.rc, LEAT_END);
        assert_true(stats.n_readers == 0 && stats.read_ahead == 0 && atomic_load(&s.most) <= 3);
        leat_pipeline_close(&pipeline);
        tape_free(&t);
    }
}

/* Whoever closes waits for reads that have begun, and for nothing else. */
static void test_close_meanwhile(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        storage s = {.delay_us = 500};
        leat_pipeline *pipeline =
            open_spec(slow_spec(&s, "shuffle | repeat | batch 8 | options read_ahead=9"),
                      &(leat_config){.n_threads = 2});
        tape t = record(pipeline, i % 5);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
        assert_int_equal(atomic_load(&s.now), 0);
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const wrong[] = {"on", "-2", "513", "x", "1.5"};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++)
        refuse_spec(spec_of("synth | batch 2 | options read_ahead=%s", wrong[i]), NULL, LEAT_ERR_ARGUMENT,
                    "read_ahead must be auto, off or a number");
    /* Made-up pictures, compressed files and a caller that works by himself need none: no error. */
    tape t =
        record_spec(spec_of("synth 20 | batch 2 | options read_ahead=4"), &(leat_config){.synchronous = 1});
    assert_int_equal(t.n_samples, 20);
    tape_free(&t);
}

/* ---------------------------------------------------------------------------------------------- bench */

typedef struct disk { /* pictures in files that take long to open */
    uint64_t delay_ns;
    leat__buf jpeg[16];
} disk;

static int open_slowly(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    disk *d = user;
    (void)err;
    if (d->delay_ns) leat__sleep_ns(d->delay_ns);
    out[0].data = d->jpeg[i % 16].data;
    out[0].bytes = d->jpeg[i % 16].size;
    *(int64_t *)out[1].room = (int64_t)i;
    return 0;
}

static double process_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs for so many seconds and prints a line of JSON; the first second does not count. */
static void bench_one(disk *d, const char *mode, int threads, double seconds) {
    static const leat_field fields[] = {
        {.name = "image", .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {-1}},
        {.name = "label", .dtype = LEAT_DTYPE_I64}};
    const leat_source_callbacks callbacks = {
        .n = 100000, .n_fields = 2, .field = fields, .read_at = open_slowly, .thread_safe = 1, .user = d};
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, &callbacks);
    leat_spec_add(spec, "shuffle | decode | random_resized_crop 224 | random_flip_left_right | normalize "
                        "imagenet | batch 32");
    char option[60];
    snprintf(option, sizeof option, "options read_ahead=%s", mode);
    leat_spec_add(spec, option);
    leat_pipeline *pipeline = open_spec(spec, &(leat_config){.n_threads = threads, .n_epochs = -1});
    leat_stats a = {0}, b;
    leat_batch batch;
    uint64_t began = 0;
    double before = 0;
    const uint64_t open_ns = leat__now_ns();
    do {
        if (leat_pipeline_next(pipeline, &batch, NULL) != 0) break;
        leat_batch_release(&batch);
        leat_pipeline_stats(pipeline, &b);
        if (!began && leat__now_ns() - open_ns > 1000000000) {
            began = leat__now_ns();
            before = process_seconds();
            a = b;
        }
    } while (!began || (double)(leat__now_ns() - began) < seconds * 1e9);
    const double wall = (double)(leat__now_ns() - began) * 1e-9, used = process_seconds() - before;
    double stages = 0;
    for (int i = 0; i < LEAT_STAGE_COUNT; i++) stages += b.stage_s[i] - a.stage_s[i];
    printf("{\"read_ahead\": \"%s\", \"delay_ms\": %.1f, \"threads\": %d, \"samples_per_s\": %.1f, "
           "\"busy\": %.3f, \"workers\": %.3f, \"reading\": %.3f, \"readers\": %d}\n",
           mode, (double)d->delay_ns * 1e-6, b.n_threads, (double)(b.samples - a.samples) / wall,
           used / (wall * b.n_threads), (b.cpu_s - a.cpu_s) / (wall * b.n_threads),
           (b.stage_s[LEAT_STAGE_CALL] - a.stage_s[LEAT_STAGE_CALL]) / stages, b.n_readers);
    fflush(stdout);
    leat_pipeline_close(&pipeline);
}

/* --bench SECONDS: for bench/slow.py. With a mode and a delay in ms behind it: that one, for bench/autotune.py. */
static int bench(int n, char **word) {
    const double seconds = n > 0 ? atof(word[0]) : 3;
    disk d = {.delay_ns = n > 2 ? (uint64_t)(atof(word[2]) * 1e6) : 0};
    for (int i = 0; i < 16; i++) d.jpeg[i] = make_jpeg(375, 500, 3, (unsigned)i);
    if (n > 2) bench_one(&d, word[1], 0, seconds);
    for (int k = 0; k < 2 && n < 3; k++) {
        bench_one(&d, "off", 0, seconds);
        bench_one(&d, "auto", 0, seconds);
        d.delay_ns = 5000000;
    }
    for (int i = 0; i < 16; i++) leat__buf_free(&d.jpeg[i]);
    return 0;
}

/* A source that knows how many calls at once it is good for has so many readers from the beginning, unless the text says
 * otherwise. All of them wait in a call at once. */
static void test_asked_for_by_the_source(void **state) {
    (void)state;
    storage s = {.readers = 11, .stuck = true};
    leat_pipeline *pipeline =
        open_spec(slow_spec(&s, "shuffle | batch 7"), &(leat_config){.n_threads = 1, .n_epochs = 2});
    while (atomic_load(&s.now) < 11) leat__sleep_ns(1000000);
    atomic_store(&s.stuck, false);
    tape got = record(pipeline, -1);
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    assert_int_equal(stats.n_readers, 11);
    assert_in_range(atomic_load(&s.most), 11, 12); /* and the worker, before they are ahead of it */
    leat_pipeline_close(&pipeline);
    tape want = record_spec(slow_spec(&s, "shuffle | batch 7 | options read_ahead=off"),
                            &(leat_config){.n_threads = 1, .n_epochs = 2});
    same_tape(&want, &got, "readers of the source");
    tape_free(&want);
    tape_free(&got);
}

int main(int n, char **word) {
    if (n > 1 && strcmp(word[1], "--bench") == 0) return bench(n - 2, word + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_small_budget),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_asked_for_by_the_source),
        cmocka_unit_test(test_starts_and_stops),
        cmocka_unit_test(test_none_on_a_busy_machine),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_close_meanwhile),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("ahead", tests, begin_files, end_files);
}
