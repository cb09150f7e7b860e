/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 */
/* Many pipelines at once, opened and closed all the time, their batches given back by other threads, their
 * numbers looked at by yet others: for the thread sanitizer, and to see that none knows of another. */
#include "unit/testing.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FEEDERS = 3, ROUNDS = 150, KINDS = 7, BOX = 8 };

static char text[KINDS][900];
static uint64_t want[KINDS]; /* digest of the whole run */
static atomic_int failures;

/* Batches on their way to a thread that gives them back. */
typedef struct box {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    leat_batch batch[BOX];
    int n;
    bool closed;
} box;

static void *give_back(void *argument) {
    box *b = argument;
    pthread_mutex_lock(&b->mutex);
    for (;;) {
        while (b->n == 0 && !b->closed) pthread_cond_wait(&b->changed, &b->mutex);
        if (b->n == 0) break;
        leat_batch batch = b->batch[--b->n];
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->mutex);
        leat_batch_release(&batch);
        pthread_mutex_lock(&b->mutex);
    }
    pthread_mutex_unlock(&b->mutex);
    return NULL;
}

static void put(box *b, leat_batch batch) {
    pthread_mutex_lock(&b->mutex);
    while (b->n == BOX) pthread_cond_wait(&b->changed, &b->mutex);
    b->batch[b->n++] = batch;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

typedef struct watcher {
    leat_pipeline *pipeline;
    atomic_bool stop;
} watcher;

/* Everything that may be asked at any time from any thread. */
static void *watch(void *argument) {
    watcher *w = argument;
    leat_stats stats;
    leat_bad bad;
    leat_field fields[4];
    char plan[3000];
    while (!w->stop) {
        leat_pipeline_stats(w->pipeline, &stats);
        leat_pipeline_bad(w->pipeline, 0, &bad);
        leat_pipeline_samples(w->pipeline);
        leat_pipeline_length(w->pipeline, 0);
        leat_pipeline_fields(w->pipeline, fields, 4);
        leat_pipeline_plan(w->pipeline, plan, sizeof plan);
        leat_pipeline_class(w->pipeline, 0);
        usleep(100);
    }
    return NULL;
}

static bool feed_once(int kind, int round, uint64_t *digest, box *b) {
    leat_spec *spec = leat_spec_new(text[kind]);
    leat_pipeline *pipeline = NULL;
    const leat_config config = {.n_threads = 1 + round % 4,
                                .n_slots = round % 3 ? 2 + round % 4 : 0,
                                .on_error = LEAT_ON_ERROR_SKIP,
                                .seed = 3};
    if (leat_pipeline_open(&pipeline, spec, &config, NULL) != 0) return false;
    leat_spec_free(&spec);
    watcher w = {.pipeline = pipeline};
    pthread_t thread;
    pthread_create(&thread, NULL, watch, &w);
    const int stop_after = round % 5 == 4 ? round % 7 : 1000000;
    char state[1024];
    leat_batch batch;
    int rc = 0, n = 0;
    *digest = 0;
    while (n < stop_after && (rc = leat_pipeline_next(pipeline, &batch, NULL)) == 0) {
        *digest = leat__hash(&(uint64_t){batch_digest(&batch)}, 8, *digest);
        put(b, batch);
        if (++n == 3 && leat_pipeline_state(pipeline, state, sizeof state, NULL) == 0 &&
            leat_pipeline_restore(pipeline, state, NULL) != 0)
            return false;
    }
    w.stop = true;
    pthread_join(thread, NULL);
    if (round % 6 == 1) leat_pipeline_cancel(pipeline);
    leat_pipeline_close(&pipeline);
    if (stop_after < 1000000) *digest = want[kind];
    return rc >= 0;
}

static void *feeder(void *argument) {
    const int number = (int)(intptr_t)argument;
    box b = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    pthread_create(&thread, NULL, give_back, &b);
    for (int round = 0; round < ROUNDS; round++) {
        const int kind = (round + number * 2) % KINDS;
        uint64_t digest;
        if (!feed_once(kind, round + number, &digest, &b) || digest != want[kind])
            atomic_fetch_add(&failures, 1);
    }
    pthread_mutex_lock(&b.mutex);
    b.closed = true;
    pthread_cond_broadcast(&b.changed);
    pthread_mutex_unlock(&b.mutex);
    pthread_join(thread, NULL);
    return NULL;
}

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0};
    for (int i = 0; i < 40; i++) {
        make_dir(in_dir("photos/%d", i / 20));
        if (i % 9 == 5) write_file(in_dir("photos/%d/%d.png", i / 20, i), "bad", 3);
        else if (i % 2) write_png(in_dir("photos/%d/%d.png", i / 20, i), 10 + i, 20, (unsigned)i);
        else write_jpeg(in_dir("photos/%d/%d.jpg", i / 20, i), 10 + i, 20, (unsigned)i);
        const size_t at = shard.size;
        add_sample(&shard, i, 48);
        if (i % 11 == 3) shard.data[at + 40] ^= 1;
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    static const char parse[] =
        "parse image:bytes label:int64 row:float[*9] | decode_raw u8 | reshape 4 4 3 | cast f32";
    snprintf(text[0], sizeof text[0],
             "synth 60 12 12 | shuffle | random_flip_left_right | resize 8 8 | batch 4");
    snprintf(text[1], sizeof text[1], "folder %s | shuffle | decode | resize 8 8 | batch 4",
             in_dir("photos"));
    snprintf(text[2], sizeof text[2], "tfrecord %s | shuffle | %s | repeat 2 | batch 4", in_dir("a.tfrecord"),
             parse);
    snprintf(text[3], sizeof text[3], "tfrecord %s | shuffle 7 | %s | repeat 2 | batch 4", in_dir("a.gz"),
             parse);
    snprintf(text[4], sizeof text[4], "tfrecord %s | %s | batch 4 | repeat 2 | options on_error=replace",
             in_dir("a.tfrecord"), parse);
    snprintf(text[5], sizeof text[5], "tfrecord %s | %s | batch 4 | repeat 2 | options on_error=replace",
             in_dir("a.gz"), parse);
    snprintf(
        text[6], sizeof text[6],
        "sample_from 'tfrecord %s | shuffle 5' 'tfrecord %s' 'tfrecord %s | repeat 2' | shuffle 7 | %s | "
        "repeat 2 | batch 4",
        in_dir("a.gz"), in_dir("a.tfrecord"), in_dir("a.gz"), parse);
    for (int i = 0; i < KINDS; i++) {
        leat_pipeline *pipeline =
            open_spec(spec_of("%s", text[i]),
                      &(leat_config){.synchronous = 1, .on_error = LEAT_ON_ERROR_SKIP, .seed = 3});
        tape t = record(pipeline, -1);
        for (int k = 0; k < t.n_batches; k++) want[i] = leat__hash(&t.digest[k], 8, want[i]);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
    return 0;
}

static void test_many(void **state) {
    (void)state;
    const uint64_t held = memory_held();
    pthread_t thread[FEEDERS];
    for (int i = 0; i < FEEDERS; i++) pthread_create(&thread[i], NULL, feeder, (void *)(intptr_t)i);
    for (int i = 0; i < FEEDERS; i++) pthread_join(thread[i], NULL);
    assert_int_equal(failures, 0);
    assert_int_equal(memory_held(), held);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests_name("threads", tests, begin, end_files);
}
