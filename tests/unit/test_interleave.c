/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Shards in turn and choices among data sets: the orders of tf.data, written down by it, and what a loop that
 * really deals out gives for any lengths. */
#include "unit/testing.h"

#include "golden/interleave_golden.h"
#include "order/blend.h"
#include "order/interleave.h"

/* ---------------------------------------------------------------------------------------- interleave */

static leat__interleave *make(const uint64_t *length, size_t n, uint64_t cycle, uint64_t block) {
    leat__interleave *out;
    leat_error err;
    if (leat__interleave_new(&out, length, n, cycle, block, &err) != 0) fail_msg("%s", err.message);
    return out;
}

static void test_tf_interleave(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(interleave_golden); i++) {
        leat__interleave *order =
            make(interleave_golden[i].length, (size_t)interleave_golden[i].n_shards,
                 (uint64_t)interleave_golden[i].cycle, (uint64_t)interleave_golden[i].block);
        for (int p = interleave_golden[i].n - 1; p >= 0; p--)
            if (leat__interleave_map(order, (uint64_t)p) != interleave_golden[i].record[p])
                fail_msg("case %zu: position %d is %" PRIu64 ", not %u", i, p,
                         leat__interleave_map(order, (uint64_t)p), interleave_golden[i].record[p]);
        leat__interleave_free(&order);
    }
}

/* tf.data's loop, one turn after the other. */
static uint64_t deal(const uint64_t *length, size_t n, size_t cycle, uint64_t block, uint64_t *out) {
    struct {
        bool open;
        uint64_t record, left;
    } slot[64] = {0};
    uint64_t dealt = 0, next_record = 0;
    size_t next = 0, open = 0;
    for (size_t at = 0; next < n || open; at = (at + 1) % cycle) {
        if (!slot[at].open && next < n) {
            slot[at].open = true;
            slot[at].record = next_record;
            slot[at].left = length[next];
            next_record += length[next++];
            open++;
        }
        uint64_t given = 0;
        for (; slot[at].open && given < block && slot[at].left; given++, slot[at].left--)
            out[dealt++] = slot[at].record++;
        if (slot[at].open && given < block) {
            slot[at].open = false;
            open--;
        }
    }
    return dealt;
}

static void test_any_lengths(void **state) {
    (void)state;
    static uint64_t want[40 * 3000];
    for (uint64_t run = 0; run < 400; run++) {
        leat__rng rng = leat__rng_at(run, 0, 0, 0);
        uint64_t length[40];
        const size_t n = 1 + leat__rng_below(&rng, 40), cycle = 1 + leat__rng_below(&rng, 50);
        const uint64_t most = run % 3 ? 9 : 3000, block = 1 + leat__rng_below(&rng, run % 2 ? 4 : 70);
        for (size_t i = 0; i < n; i++) /* many are as long as others */
            length[i] = leat__rng_below(&rng, 3) ? leat__rng_below(&rng, most) : most / 2;
        const uint64_t total = deal(length, n, cycle, block, want);
        leat__interleave *order = make(length, n, cycle, block);
        for (uint64_t p = 0; p < total; p++)
            if (leat__interleave_map(order, p) != want[p]) fail_msg("run %" PRIu64 ": %" PRIu64, run, p);
        leat__interleave_free(&order);
    }
}

static void test_large(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    static uint64_t length[5000];
    for (size_t i = 0; i < 1000; i++) length[i] = 1000000 + i % 7;
    leat__interleave *order = make(length, 1000, 16, 16);
    assert_true(memory_held() - before < 4 << 20);
    uint64_t p = 0;
    for (int i = 0; i < 100000; i++) { /* any position of a thousand million */
        p = (p + UINT64_C(0x9e3779b97f4a7c15)) % UINT64_C(1000000000);
        assert_true(leat__interleave_map(order, p) < UINT64_C(1000004000));
    }
    leat__interleave_free(&order);
    /* So many different lengths, all open at once, are refused. */
    for (size_t i = 0; i < 5000; i++) length[i] = i * 10;
    leat_error err;
    assert_int_equal(leat__interleave_new(&order, length, 5000, 5000, 1, &err), LEAT_ERR_LIMIT);
    assert_true(order == NULL && strstr(err.message, "smaller cycle"));
    assert_true(memory_held() == before);
}

/* -------------------------------------------------------------------------------------------- blends */

enum { SETS = 5 };
#define ENDLESS UINT64_MAX

static leat__blend *blend(leat__blend_options options) {
    leat__blend *out;
    leat_error err;
    if (leat__blend_new(&out, &options, &err) != 0) fail_msg("%s", err.message);
    return out;
}

static void test_tf_choose(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(choose_golden); i++) {
        uint64_t quota[SETS] = {0}, first[SETS] = {0};
        const int n = choose_golden[i].n_sets;
        for (int k = 0; k < choose_golden[i].n_pattern; k++) quota[choose_golden[i].pattern[k]]++;
        for (int k = 1; k < n; k++) first[k] = first[k - 1] + choose_golden[i].length[k - 1];
        leat__blend *b = blend((leat__blend_options){.n = n,
                                                     .length = choose_golden[i].length,
                                                     .quota = quota,
                                                     .pattern = choose_golden[i].pattern,
                                                     .stop = choose_golden[i].stop});
        if (leat__blend_length(b) != (uint64_t)choose_golden[i].n)
            fail_msg("case %zu: %" PRIu64 " choices, not %d", i, leat__blend_length(b), choose_golden[i].n);
        for (int p = 0; p < choose_golden[i].n; p++) {
            int which;
            const uint64_t number = leat__blend_map(b, 0, (uint64_t)p, &which);
            if (first[which] + number != choose_golden[i].record[p]) fail_msg("case %zu: position %d", i, p);
        }
        leat__blend_free(&b);
    }
}

/* What is drawn for sets without end, dealt out to sets of these lengths by tf.data's rules. */
static void check_drawn(uint64_t run) {
    leat__rng rng = leat__rng_at(9, run, 0, 0);
    uint64_t length[SETS], quota[SETS], used[SETS] = {0}, endless[SETS], total = 0;
    const int n = 1 + (int)leat__rng_below(&rng, SETS);
    const bool stop = leat__rng_below(&rng, 2), redraw = !stop && leat__rng_below(&rng, 2);
    for (int k = 0; k < n; k++) {
        length[k] = leat__rng_below(&rng, 4) ? leat__rng_below(&rng, 300) : leat__rng_below(&rng, 4);
        quota[k] = k == 0 ? 1 + leat__rng_below(&rng, 9) : leat__rng_below(&rng, 9);
        endless[k] = ENDLESS;
        if (quota[k]) total += length[k];
    }
    const leat__blend_options options = {
        .n = n, .length = length, .quota = quota, .stop = stop, .redraw = redraw, .seed = run, .op = 3};
    leat__blend_options without_end = options;
    without_end.length = endless;
    leat__blend *b = blend(options), *all = blend(without_end);
    const uint64_t got = leat__blend_length(b), epoch = redraw ? run % 5 : 0;
    assert_true(leat__blend_length(all) == ENDLESS);
    if (!stop) assert_true(got == total);
    bool alike = true; /* until one is drawn that has no more */
    for (uint64_t p = 0; p < got; p++) {
        int which, drawn;
        const uint64_t number = leat__blend_map(b, epoch, p, &which);
        leat__blend_map(all, epoch, p, &drawn);
        alike = alike && used[drawn] < length[drawn];
        if (number != used[which]++ || number >= length[which]) fail_msg("run %" PRIu64 ": %" PRIu64, run, p);
        assert_true(quota[which] > 0);
        if (alike) assert_int_equal(which, drawn);
        else assert_false(stop);
    }
    if (stop) { /* the next choice is one that has no more */
        int drawn;
        leat__blend_map(all, epoch, got, &drawn);
        assert_true(used[drawn] == length[drawn]);
    }
    for (int i = 0; i < 50 && got; i++) { /* any position, in any order, in any epoch */
        const uint64_t p = leat__rng_below(&rng, got), e = leat__rng_below(&rng, 3);
        int a, c;
        leat__blend *fresh = blend(options);
        assert_true(leat__blend_map(b, e, p, &a) == leat__blend_map(fresh, e, p, &c) && a == c);
        leat__blend_free(&fresh);
    }
    leat__blend_free(&b);
    leat__blend_free(&all);
}

static void test_drawn(void **state) {
    (void)state;
    for (uint64_t run = 0; run < 400; run++) check_drawn(run);
}

static void test_shares(void **state) {
    (void)state;
    const uint64_t quota[2] = {2800, 1200}, length[2] = {ENDLESS, 100000};
    leat__blend *b =
        blend((leat__blend_options){.n = 2, .length = length, .quota = quota, .seed = 1, .op = 1});
    assert_true(leat__blend_length(b) == ENDLESS);
    int which, runs = 0, last = -1, count[2] = {0};
    for (uint64_t p = 0; p < 40000; p++) {
        leat__blend_map(b, 0, p, &which);
        count[which]++;
        runs += which != last;
        last = which;
        if (p % 4000 == 3999) assert_int_equal(count[0], (p + 1) / 10 * 7);
    }
    /* As often as by chance the next is another one: 2 * 0.7 * 0.3 of 40,000. */
    assert_true(IN(16400, runs, 17200));
    /* A place that is 2^60 choices away, where the second has had its last long ago, is found as fast. */
    const uint64_t far = leat__blend_map(b, 0, UINT64_C(1) << 60, &which);
    assert_true(which == 0 && far == (UINT64_C(1) << 60) - 100000);
    leat__blend_free(&b);
}

static void test_memory(void **state) {
    (void)state;
    const uint64_t before = memory_held(), quota[2] = {1, 2}, length[2] = {5, 6};
    const uint16_t pattern[3] = {0, 1, 1};
    leat__blend *b;
    leat__interleave *order;
    leat_error err;
    for (uint64_t i = 1;; i++) {
        leat__mem_fail_at(i);
        const int rc = leat__blend_new(
            &b, &(leat__blend_options){.n = 2, .length = length, .quota = quota, .pattern = pattern}, &err);
        leat__blend_free(&b);
        assert_true(memory_held() == before);
        if (rc == 0) break;
        assert_int_equal(rc, LEAT_ERR_MEMORY);
    }
    for (uint64_t i = 1;; i++) {
        leat__mem_fail_at(i);
        const int rc = leat__interleave_new(&order, length, 2, 2, 1, &err);
        leat__interleave_free(&order);
        assert_true(memory_held() == before);
        if (rc == 0) break;
        assert_int_equal(rc, LEAT_ERR_MEMORY);
    }
    leat__mem_fail_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tf_interleave), cmocka_unit_test(test_any_lengths),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_tf_choose),
        cmocka_unit_test(test_drawn),         cmocka_unit_test(test_shares),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("interleave", tests, NULL, NULL);
}
