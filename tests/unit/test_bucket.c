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
    assert_int_equal(leat_pipeline_length(pipeline, 0), 143);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("bucket", tests, begin_files, end_files);
}
