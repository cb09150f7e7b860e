/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of samples that are alike: the order against the rule done plainly, for many numbers of buckets and sizes of
 * batches, and whole pipelines. tests/cli/test_bucket.py has pixels, ranks and refusals. */
#include "unit/testing.h"

#include "order/order.h"

/* What positions [0, n) of an epoch are, done as tf.data does it. */
static uint64_t plain(leat__order *order, int verbs, uint64_t epoch, const uint8_t *of, uint64_t n,
                      int buckets, uint64_t batch, bool drop, uint64_t *out) {
    uint64_t *waiting = calloc((size_t)buckets * batch, sizeof *waiting),
             *held = calloc((size_t)buckets, sizeof *held), made = 0;
    const int all = order->n_verbs;
    order->n_verbs = verbs; /* the order without its last verb */
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t sample = leat__order_map(order, epoch, i).sample;
        const int b = of[sample];
        waiting[(uint64_t)b * batch + held[b]++] = sample;
        if (held[b] < batch) continue;
        for (uint64_t k = 0; k < batch; k++) out[made++] = waiting[(uint64_t)b * batch + k];
        held[b] = 0;
    }
    for (int b = 0; b < buckets && !drop; b++)
        for (uint64_t k = 0; k < held[b]; k++) out[made++] = waiting[(uint64_t)b * batch + k];
    order->n_verbs = all;
    free(waiting);
    free(held);
    return made;
}

static void check_batches(leat__order *order, uint64_t epoch, const uint8_t *of, const uint64_t *sample,
                          uint64_t n) {
    uint64_t position = 0, step = 0;
    while (position < n) {
        const leat__bucket_batch batch = leat__order_batch(order, epoch, position);
        assert_int_equal(batch.step, step++);
        assert_true(batch.left > 0 && position + batch.left <= n);
        for (uint64_t k = 0; k < batch.left; k++) {
            const leat__bucket_batch same = leat__order_batch(order, epoch, position + k);
            assert_int_equal(of[sample[position + k]], batch.bucket);
            assert_true(same.step == batch.step && same.left == batch.left - k &&
                        same.bucket == batch.bucket);
        }
        position += batch.left;
    }
    assert_int_equal(leat__bucket_batches(leat__order_bucket(order)), step);
}

static void test_order(void **state) {
    (void)state;
    for (uint64_t run = 0; run < 300; run++) {
        leat__rng rng = leat__rng_at(9, run, 0, 0);
        const uint64_t n = leat__rng_below(&rng, run % 5 ? 60 : 400), batch = 1 + leat__rng_below(&rng, 12);
        const int buckets = 1 + (int)leat__rng_below(&rng, LEAT_BUCKETS_MAX);
        const bool drop = run % 2, twice = run % 3 == 0;
        uint8_t *of = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1)), *copy = malloc(n + 1);
        for (uint64_t i = 0; i < n; i++) of[i] = (uint8_t)leat__rng_below(&rng, (uint64_t)buckets);
        memcpy(copy, of, n);
        leat__order order = {0};
        if (run % 4) {
            const leat__order_verb shuffle = {.kind = LEAT_ORDER_SHUFFLE,
                                              .window = run % 8 == 1 ? 7 : 0,
                                              .seed = run,
                                              .op = 1,
                                              .reshuffle = true};
            assert_int_equal(leat__order_add(&order, shuffle, NULL), 0);
        }
        if (twice)
            assert_int_equal(
                leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 2}, NULL), 0);
        const int verbs = order.n_verbs;
        const uint64_t all = twice ? 2 * n : n;
        leat__order_verb verb = {.kind = LEAT_ORDER_BUCKET};
        assert_int_equal(leat__bucket_new(&verb.bucket, buckets, of, n, 0, NULL), 0);
        leat__bucket_set(verb.bucket, all, batch, drop);
        assert_int_equal(leat__order_add(&order, verb, NULL), 0);
        leat__order_set_source(&order, n);
        assert_int_equal(leat__order_allocate(&order, NULL), 0);
        uint64_t *want = calloc(all + 1, sizeof *want);
        /* Epochs come and go: any position of any of them is found. */
        static const uint64_t epochs[] = {0, 1, 5, 1, 0};
        for (size_t e = 0; e < LEAT_COUNT(epochs); e++) {
            const uint64_t made = plain(&order, verbs, epochs[e], copy, all, buckets, batch, drop, want);
            assert_int_equal(leat__order_length(&order), made);
            for (uint64_t i = 0; i < made; i++)
                assert_int_equal(leat__order_map(&order, epochs[e], made - 1 - i).sample, want[made - 1 - i]);
            check_batches(&order, epochs[e], copy, want, made);
        }
        free(want);
        free(copy);
        leat__order_free(&order);
    }
}

static void test_memory(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 1000 4 6 | shuffle | bucket_by_aspect_ratio 1 sizes=5x3,3x5 | "
                          "resize_to_bucket | batch 7 | repeat 3"),
                  NULL);
    assert_int_equal(leat_pipeline_length(pipeline), 143);
    assert_int_equal(leat_pipeline_samples(pipeline), 1000);
    leat_field field[2];
    assert_int_equal(leat_pipeline_fields(pipeline, field, 2), 2);
    assert_true(field[0].shape[0] == -1 && field[0].shape[1] == -1 && field[0].shape[2] == 3);
    tape t = record(pipeline, -1);
    assert_int_equal(t.rc, LEAT_END);
    assert_int_equal(t.n_samples, 3000);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
    assert_int_equal(memory_held(), before);
}

/* Positions inside of a batch, or beyond, in a state that somebody wrote: whatever comes, it comes to an end. */
static void test_odd_states(void **state) {
    (void)state;
    make_dir(in_dir("photos"));
    for (int i = 0; i < 23; i++) write_png(in_dir("photos/%02d.png", i), 4 + i % 7, 4 + i % 5, (unsigned)i);
    static const char text[] =
        "folder %s | shuffle | bucket_by_aspect_ratio 0.8,1.2 sizes=6x4,5x5,4x6 | decode | "
        "resize_to_bucket | batch 4";
    char saved[1024], odd[1200];
    leat_pipeline *pipeline = open_spec(spec_of(text, in_dir("photos")), NULL);
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
    const char *rest = strstr(saved, " seed=");
    for (int position = 0; position < 30; position++) {
        snprintf(odd, sizeof odd, "leat-state 1 epoch=0 position=%d step=%d%s", position, position / 4, rest);
        leat_error err;
        const int rc = leat_pipeline_restore(pipeline, odd, &err);
        assert_true(rc == 0 ? position <= 23 : rc == LEAT_ERR_STATE);
        tape t = record(pipeline, 40);
        assert_int_equal(t.rc, LEAT_END);
        assert_true(rc != 0 || t.n_samples == 23 - position);
        tape_free(&t);
    }
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_odd_states)};
    return cmocka_run_group_tests_name("bucket", tests, begin_files, end_files);
}
