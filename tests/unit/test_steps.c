/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=180 */
/* Several pipelines make the batches of one: each every so many-th (step_first, step_stride). Merged by step number they are
 * the batches of one pipeline, byte for byte, from any place on. */
#include "unit/testing.h"

enum { FEEDERS_MAX = 9, BATCHES_MAX = 200, EPOCHS = 3 };

static char photos_text[600];

static int begin_photos(void **state) {
    begin_files(state);
    make_dir(in_dir("photos"));
    make_dir(in_dir("photos/a"));
    for (int i = 0; i < 23; i++) write_png(in_dir("photos/a/%02d.png", i), 6, 5, (unsigned)i);
    snprintf(photos_text, sizeof photos_text,
             "folder %s | shuffle seed=3 | decode | random_brightness 0.3 | random_flip_left_right",
             in_dir("photos"));
    return 0;
}

typedef struct run { /* one way to make batches */
    const char *text;
    int rank, world, n_epochs;
    bool resize;
} run;

static leat_pipeline *open_run(const run *r, uint64_t first, uint64_t stride) {
    const leat_config config = {.n_threads = 1 + (int)(first % 3),
                                .synchronous = first % 4 == 3,
                                .n_slots = 2 + (int)(stride % 3),
                                .n_epochs = r->n_epochs,
                                .rank = r->rank,
                                .world_size = r->world,
                                .resize_batch = r->resize,
                                .step_first = first,
                                .step_stride = stride};
    return open_spec(spec_of("%s", r->text), &config);
}

typedef struct merged { /* the batches of one pipeline, or of several */
    int n;
    uint64_t digest[BATCHES_MAX], epoch[BATCHES_MAX], step[BATCHES_MAX];
    char state[BATCHES_MAX][1024]; /* behind each */
} merged;

static void take(merged *out, int i, leat_pipeline *pipeline, const char *what) {
    leat_batch batch;
    leat_error err;
    if (leat_pipeline_next(pipeline, &batch, &err) != 0)
        fail_msg("%s: no batch %d: %s", what, i, err.message);
    out->digest[i] = batch_digest(&batch);
    out->epoch[i] = batch.epoch;
    out->step[i] = batch.step;
    leat_batch_release(&batch);
    assert_int_equal(leat_pipeline_state(pipeline, out->state[i], sizeof out->state[i], &err), 0);
}

/* At most so many batches of one pipeline that makes all. */
static void run_alone(const run *r, int most, merged *out) {
    leat_pipeline *pipeline = open_run(r, 0, 0);
    leat_batch batch;
    out->n = 0;
    for (; out->n < most; out->n++) {
        if (leat_pipeline_next(pipeline, &batch, NULL) != 0) break;
        out->digest[out->n] = batch_digest(&batch);
        out->epoch[out->n] = batch.epoch;
        out->step[out->n] = batch.step;
        leat_batch_release(&batch);
        assert_int_equal(leat_pipeline_state(pipeline, out->state[out->n], sizeof out->state[out->n], NULL),
                         0);
    }
    leat_pipeline_close(&pipeline);
}

/* So many pipelines make what comes behind batch `from` of all, and no one makes anything else. */
static void check_merged(const run *r, const merged *all, int from, int stride, bool ends) {
    leat_pipeline *feeder[FEEDERS_MAX];
    static merged got;
    char what[900];
    snprintf(what, sizeof what, "%s: rank %d of %d, %d feeders from batch %d", r->text, r->rank, r->world,
             stride, from);
    for (int f = 0; f < stride; f++) {
        leat_error err;
        feeder[f] = open_run(r, (uint64_t)f, (uint64_t)stride);
        if (from > 0 && leat_pipeline_restore(feeder[f], all->state[from - 1], &err) != 0)
            fail_msg("%s: %s", what, err.message);
        char here[1024];
        assert_int_equal(leat_pipeline_state(feeder[f], here, sizeof here, NULL), 0);
        if (from > 0) assert_string_equal(here, all->state[from - 1]);
        assert_int_equal(leat_pipeline_length(feeder[f], 0), leat_pipeline_length(feeder[0], 0));
    }
    for (int i = from; i < all->n; i++) {
        take(&got, i, feeder[all->step[i] % (uint64_t)stride], what);
        if (got.epoch[i] != all->epoch[i] || got.step[i] != all->step[i])
            fail_msg("%s: epoch %" PRIu64 " step %" PRIu64 " instead of epoch %" PRIu64 " step %" PRIu64,
                     what, got.epoch[i], got.step[i], all->epoch[i], all->step[i]);
        if (got.digest[i] != all->digest[i]) fail_msg("%s: batch %d differs", what, i);
        assert_string_equal(got.state[i], all->state[i]);
    }
    for (int f = 0; f < stride; f++) {
        leat_batch batch;
        if (ends && leat_pipeline_next(feeder[f], &batch, NULL) != LEAT_END)
            fail_msg("%s: feeder %d makes more", what, f);
        leat_pipeline_close(&feeder[f]);
    }
}

static void check_run(const run *r, int most, bool ends) {
    static merged all;
    run_alone(r, most, &all);
    assert_true(all.n > 0 && all.n < BATCHES_MAX);
    for (int stride = 1; stride <= FEEDERS_MAX; stride++)
        for (int from = 0; from < all.n; from += 1 + all.n / 3) check_merged(r, &all, from, stride, ends);
}

static void test_merged(void **state) {
    (void)state;
    static const char *const ends[] = {"batch 4", "batch 4 drop_remainder=true", "batch 5 valid=valid",
                                       "batch 30 drop_remainder=false", "repeat 2 | batch 6"};
    for (size_t i = 0; i < LEAT_COUNT(ends); i++) {
        char text[700];
        snprintf(text, sizeof text, "%s | %s", photos_text, ends[i]);
        check_run(&(run){.text = text, .n_epochs = EPOCHS}, BATCHES_MAX, true);
    }
}

static void test_ranks(void **state) {
    (void)state;
    static const char *const ends[] = {"batch 2 drop_remainder=true", "batch 2",
                                       "batch global_size=7 valid=valid"};
    for (size_t i = 0; i < LEAT_COUNT(ends); i++)
        for (int rank = 0; rank < 3; rank++) {
            char text[700];
            snprintf(text, sizeof text, "%s | %s", photos_text, ends[i]);
            check_run(&(run){.text = text, .n_epochs = EPOCHS, .rank = rank, .world = 3}, BATCHES_MAX, true);
        }
}

/* Without end, and with threads that read ahead. */
static void test_endless(void **state) {
    (void)state;
    char text[700];
    snprintf(text, sizeof text, "options read_ahead=2 | %s | batch 4", photos_text);
    check_run(&(run){.text = text, .n_epochs = -1}, 40, false);
    snprintf(text, sizeof text, "%s | repeat | batch 4", photos_text);
    check_run(&(run){.text = text}, 40, false);
}

/* In an epoch whose batches had another size before, steps count on. */
static void test_resized(void **state) {
    (void)state;
    static merged small, all;
    char before[700], text[700];
    snprintf(before, sizeof before, "%s | batch 2", photos_text);
    snprintf(text, sizeof text, "%s | batch 3", photos_text);
    run_alone(&(run){.text = before}, 5, &small);
    const run r = {.text = text, .n_epochs = EPOCHS, .resize = true};
    leat_pipeline *pipeline = open_run(&r, 0, 0);
    assert_int_equal(leat_pipeline_restore(pipeline, small.state[3], NULL), 0);
    memcpy(all.state[0], small.state[3], sizeof all.state[0]);
    int n = 1;
    leat_batch batch;
    while (leat_pipeline_next(pipeline, &batch, NULL) == 0) {
        all.digest[n] = batch_digest(&batch);
        all.epoch[n] = batch.epoch;
        all.step[n] = batch.step;
        leat_batch_release(&batch);
        assert_int_equal(leat_pipeline_state(pipeline, all.state[n++], sizeof all.state[0], NULL), 0);
    }
    all.n = n;
    assert_int_equal(all.step[1], 4);
    leat_pipeline_close(&pipeline);
    for (int stride = 2; stride <= FEEDERS_MAX; stride++)
        for (int from = 2; from < n; from += 3) check_merged(&r, &all, from, stride, true);
}

static void test_refusals(void **state) {
    (void)state;
    leat__buf shard = {.kind = LEAT_MEM_TOOL};
    for (int i = 0; i < 6; i++) add_sample(&shard, i, 12);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    leat__buf_free(&shard);
    const leat_config second = {.step_first = 1, .step_stride = 2};
    refuse_spec(spec_of("tfrecord %s | parse label:int64 | batch 2", in_dir("a.gz")), &second,
                LEAT_ERR_UNSUPPORTED, "`leat pack`");
    refuse_spec(spec_of("folder %s | bucket_by_aspect_ratio 1 | decode | batch 2", in_dir("photos")), &second,
                LEAT_ERR_UNSUPPORTED, "leave bucket_by_aspect_ratio out");
    refuse_spec(spec_of("%s | batch 2", photos_text), &(leat_config){.step_first = 2, .step_stride = 2},
                LEAT_ERR_ARGUMENT, "less than step_stride");
    refuse_spec(spec_of("%s | batch 2", photos_text), &(leat_config){.step_first = 1}, LEAT_ERR_ARGUMENT,
                "less than step_stride");
}

int main(void) {
    alarm(170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),  cmocka_unit_test(test_ranks),    cmocka_unit_test(test_endless),
        cmocka_unit_test(test_resized), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("steps", tests, begin_photos, end_files);
}
