/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* order/: permutations that miss nothing and favour nobody, and chains of verbs against a list that is
 * really cut, repeated and shuffled. */
#include "unit/testing.h"

#include "order/order.h"

/* ------------------------------------------------------------------------------------ permutations */

static void test_table_is_bijection(void **state) {
    (void)state;
    static uint16_t table[LEAT_PERMUTE_TABLE_MAX];
    static uint8_t seen[LEAT_PERMUTE_TABLE_MAX];
    for (uint32_t n = 1; n <= LEAT_PERMUTE_TABLE_MAX; n = n < 300     ? n + 1
                                                          : n < 1000  ? 1000
                                                          : n < 65535 ? 65535
                                                                      : n + 1) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            memset(seen, 0, n);
            leat__permute_table(table, n, leat__rng_at(seed, 0, 0, 1));
            for (uint32_t i = 0; i < n; i++) {
                assert_true(table[i] < n);
                seen[table[i]]++;
            }
            for (uint32_t i = 0; i < n; i++) assert_int_equal(seen[i], 1);
        }
    }
}

static void check_cipher(uint64_t n, uint64_t key, uint8_t *seen) {
    memset(seen, 0, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = leat__permute_cipher(i, n, key);
        if (x >= n || seen[x]++) fail_msg("n %" PRIu64 ": %" PRIu64 " again or too large", n, x);
    }
}

static void test_cipher_is_bijection(void **state) {
    (void)state;
    static uint8_t seen[1000000];
    static const uint64_t sizes[] = {1000, 65535, 65536, 65537, 99999, 131072, 131073, 1000000};
    for (uint64_t n = 1; n <= 300; n++)
        for (uint64_t key = 0; key < 5; key++) check_cipher(n, leat__mix64(key), seen);
    for (size_t i = 0; i < LEAT_COUNT(sizes); i++) check_cipher(sizes[i], leat__mix64(i), seen);
    /* Sizes that no table could hold: in range, and no two of many neighbours meet. */
    for (int bits = 33; bits <= 64; bits++) {
        const uint64_t n = (UINT64_C(1) << (bits - 1)) + 12345;
        uint64_t got[200];
        for (int i = 0; i < 200; i++) {
            got[i] = leat__permute_cipher((uint64_t)i, n, 42);
            assert_true(got[i] < n);
            for (int k = 0; k < i; k++) assert_true(got[i] != got[k]);
        }
    }
}

/* Chi-square of counts that should be equal, in standard deviations from what chance gives. */
static double unfairness(const uint32_t *count, size_t n, double expected) {
    double chi2 = 0;
    for (size_t i = 0; i < n; i++)
        chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    const double free = (double)n - 1;
    return (chi2 - free) / __builtin_sqrt(2 * free);
}

static uint32_t permutation_number(const uint64_t *p, uint32_t n) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t smaller = 0;
        for (uint32_t k = i + 1; k < n; k++) smaller += p[k] < p[i];
        number = number * (n - i) + smaller;
    }
    return number;
}

/* Through a whole order, so that the keys are those of real runs: seeds and epochs that count up. */
static void test_small_orders_are_fair(void **state) {
    (void)state;
    static const uint32_t factorial[] = {1, 1, 2, 6, 24, 120};
    for (uint32_t n = 2; n <= 5; n++) {
        uint32_t count[120] = {0};
        const uint32_t each = 400, runs = each * factorial[n];
        for (uint32_t run = 0; run < runs; run++) {
            leat__order order = {0};
            leat__order_add(
                &order,
                (leat__order_verb){.kind = LEAT_ORDER_SHUFFLE, .seed = run / 20, .op = 2, .reshuffle = true},
                NULL);
            leat__order_set_source(&order, n);
            assert_int_equal(leat__order_allocate(&order, NULL), 0);
            uint64_t p[5];
            for (uint32_t i = 0; i < n; i++) p[i] = leat__order_map(&order, run % 20, i).sample;
            count[permutation_number(p, n)]++;
            leat__order_free(&order);
        }
        assert_true(unfairness(count, factorial[n], each) < 5);
    }
}

/* Each value at each place equally often: counted in `bins` by `bins` cells. */
static double place_unfairness(uint64_t n, uint32_t bins, uint32_t runs, bool cipher) {
    uint32_t *count = calloc((size_t)bins * bins, sizeof *count);
    uint16_t *table = malloc(LEAT_PERMUTE_TABLE_MAX * sizeof *table);
    for (uint32_t run = 0; run < runs; run++) {
        leat__rng rng = leat__rng_at(run, 7, 0, 2);
        if (!cipher) leat__permute_table(table, (uint32_t)n, rng);
        const uint64_t key = leat__rng_u64(&rng), per_bin = n / bins;
        for (uint32_t b = 0; b < bins; b++) {
            const uint64_t at = b * per_bin; /* one place of each bin keeps the counts independent enough */
            const uint64_t x = cipher ? leat__permute_cipher(at, n, key) : table[at];
            count[(size_t)b * bins + LEAT_MIN(x * bins / n, bins - 1)]++;
        }
    }
    const double result = unfairness(count, (size_t)bins * bins, (double)runs / bins);
    free(count);
    free(table);
    return result;
}

static void test_places_are_fair(void **state) {
    (void)state;
    assert_true(place_unfairness(16, 16, 20000, false) < 5);
    assert_true(place_unfairness(1000, 100, 10000, false) < 5);
    assert_true(place_unfairness(70000, 70, 20000, true) < 5);
    assert_true(place_unfairness(16, 16, 20000, true) < 5);
    assert_true(place_unfairness(UINT64_C(1) << 40, 64, 20000, true) < 5);
}

/* Neighbours do not stay together: distances between successors are spread. */
static void test_cipher_separates_neighbours(void **state) {
    (void)state;
    enum { N = 70000, BINS = 50 };
    uint32_t count[BINS] = {0};
    for (uint64_t key = 0; key < 3; key++)
        for (uint64_t i = 0; i + 1 < N; i++) {
            const uint64_t a = leat__permute_cipher(i, N, leat__mix64(key)),
                           b = leat__permute_cipher(i + 1, N, leat__mix64(key));
            count[(b + N - a) % N * BINS / N]++;
        }
    assert_true(unfairness(count, BINS, 3.0 * (N - 1) / BINS) < 5);
}

/* ----------------------------------------------------------------------- chains, and a model of them */

enum { LIST_MAX = 3000 };

typedef struct list {
    size_t n;
    leat__place at[LIST_MAX];
} list;

/* What verbs [0, k) of the chain give in one iteration, made by doing it: endless lists end at LIST_MAX. */
static list *model(const leat__order *order, int k, uint64_t iteration, uint64_t n) {
    list *out = calloc(1, sizeof *out);
    if (k == 0) {
        for (out->n = 0; out->n < n; out->n++) out->at[out->n] = (leat__place){iteration, out->n};
        return out;
    }
    const leat__order_verb *verb = &order->verb[k - 1];
    if (verb->kind == LEAT_ORDER_REPEAT) {
        const bool endless = verb->count == LEAT_ENDLESS;
        for (uint64_t turn = 0; (endless || turn < verb->count) && out->n < LIST_MAX; turn++) {
            list *in =
                model(order, k - 1, endless ? (iteration << 32) + turn : iteration * verb->count + turn, n);
            for (size_t i = 0; i < in->n && out->n < LIST_MAX; i++) out->at[out->n++] = in->at[i];
            const bool empty = in->n == 0;
            free(in);
            if (empty) break;
        }
        return out;
    }
    list *in = model(order, k - 1, iteration, n);
    for (size_t i = 0; i < in->n; i++) {
        switch (verb->kind) {
        case LEAT_ORDER_TAKE:
            if (i < verb->count) out->at[out->n++] = in->at[i];
            break;
        case LEAT_ORDER_SKIP:
            if (i >= verb->count) out->at[out->n++] = in->at[i];
            break;
        case LEAT_ORDER_SHARD:
            if (i % verb->count == verb->index) out->at[out->n++] = in->at[i];
            break;
        case LEAT_ORDER_SHUFFLE: {
            static uint16_t table[LEAT_PERMUTE_TABLE_MAX];
            const size_t each = verb->unit ? verb->unit : 1, units = in->n / each, unit = i / each;
            const size_t size = verb->window ? verb->window : LEAT_MAX(units, 1), first = unit / size * size;
            if (i == first * each)
                leat__permute_table(
                    table, (uint32_t)LEAT_MIN(size, units - first),
                    leat__rng_at(verb->seed, verb->reshuffle ? iteration : 0, unit / size, verb->op));
            out->at[out->n++] =
                unit < units ? in->at[(first + table[unit - first]) * each + i % each] : in->at[i];
            break;
        }
        case LEAT_ORDER_PICK:
        case LEAT_ORDER_BALANCE: /* in test_select.c */
        case LEAT_ORDER_INTERLEAVE:
        case LEAT_ORDER_BUCKET:
        case LEAT_ORDER_BRANCH: /* in test_interleave.c and test_combine.c */
        case LEAT_ORDER_REPEAT: break;
        }
    }
    free(in);
    return out;
}

static leat__order_verb random_verb(leat__rng *rng, uint32_t op, bool endless_so_far) {
    leat__order_verb verb = {.kind = (leat__order_kind)leat__rng_below(rng, 5), .op = op};
    switch (verb.kind) {
    case LEAT_ORDER_SHUFFLE:
        verb.window = leat__rng_below(rng, 3) && !endless_so_far ? 0 : 1 + leat__rng_below(rng, 20);
        verb.unit = leat__rng_below(rng, 3) || endless_so_far ? 0 : 1 + leat__rng_below(rng, 5);
        verb.seed = leat__rng_below(rng, 3);
        verb.reshuffle = leat__rng_below(rng, 4) > 0;
        break;
    case LEAT_ORDER_TAKE: verb.count = leat__rng_below(rng, 60); break;
    case LEAT_ORDER_SKIP: verb.count = leat__rng_below(rng, 12); break;
    case LEAT_ORDER_SHARD:
        verb.count = 1 + leat__rng_below(rng, 4);
        verb.index = leat__rng_below(rng, verb.count);
        break;
    case LEAT_ORDER_REPEAT:
        verb.count = leat__rng_below(rng, 6) ? leat__rng_below(rng, 4) : LEAT_ENDLESS;
        break;
    case LEAT_ORDER_PICK:
    case LEAT_ORDER_INTERLEAVE:
    case LEAT_ORDER_BUCKET:
    case LEAT_ORDER_BRANCH:
    case LEAT_ORDER_BALANCE: break;
    }
    return verb;
}

static void random_chain(leat__order *order, leat__rng *rng, uint64_t n) {
    *order = (leat__order){0};
    leat__order_set_source(order, n);
    const int n_verbs = (int)leat__rng_below(rng, 7);
    for (int i = 0; i < n_verbs; i++) {
        const bool endless = leat__order_length(order) == LEAT_ENDLESS;
        assert_int_equal(leat__order_add(order, random_verb(rng, (uint32_t)i + 2, endless), NULL), 0);
        leat__order_set_source(order, n);
    }
}

static void test_chains(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(11, 0, 0, 0);
    for (int round = 0; round < 3000 / STRIDE; round++) {
        leat__order order;
        const uint64_t n = leat__rng_below(&rng, 41), epoch = leat__rng_below(&rng, 4);
        random_chain(&order, &rng, n);
        assert_int_equal(leat__order_allocate(&order, NULL), 0);
        list *want = model(&order, order.n_verbs, epoch, n);
        const uint64_t length = leat__order_length(&order);
        /* A list that was cut off is not a measure of what follows the cut. */
        bool endless = false;
        for (int i = 0; i <= order.n_verbs; i++) endless |= order.length[i] > LIST_MAX / 16;
        if (!endless) assert_int_equal(length, want->n);
        for (uint64_t i = 0; i < LEAT_MIN(want->n, (size_t)(endless ? 10 : LIST_MAX)) && i < length; i++) {
            const leat__place got = leat__order_map(&order, epoch, i);
            if (got.sample != want->at[i].sample || got.iteration != want->at[i].iteration)
                fail_msg("round %d, position %" PRIu64 ": sample %" PRIu64 ", expected %" PRIu64, round, i,
                         got.sample, want->at[i].sample);
        }
        free(want);
        leat__order_free(&order);
    }
}

/* Any position of any epoch can be asked for in any order. */
static void test_random_access(void **state) {
    (void)state;
    leat__order order = {0};
    leat__order_add(&order,
                    (leat__order_verb){.kind = LEAT_ORDER_SHUFFLE, .op = 2, .reshuffle = true, .window = 50},
                    NULL);
    leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 3}, NULL);
    leat__order_set_source(&order, 333);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    uint64_t want[2][999];
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 999; i++) want[e][i] = leat__order_map(&order, (uint64_t)e, (uint64_t)i).sample;
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    for (int i = 0; i < 5000; i++) {
        const uint64_t e = leat__rng_below(&rng, 2), at = leat__rng_below(&rng, 999);
        assert_int_equal(leat__order_map(&order, e, at).sample, want[e][at]);
        assert_true(want[e][at] / 50 == at % 333 / 50); /* a window keeps what is in it */
    }
    leat__order_free(&order);
}

/* A window larger than a table can hold, whose last one is smaller than that. */
static void test_large_windows(void **state) {
    (void)state;
    static uint8_t seen[200000];
    static const uint64_t windows[] = {0, 65536, 65537, 100000, 150000, 1000000};
    for (size_t w = 0; w < LEAT_COUNT(windows); w++) {
        leat__order order = {0};
        leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_SHUFFLE, .op = 2, .window = windows[w]},
                        NULL);
        leat__order_set_source(&order, sizeof seen);
        assert_int_equal(leat__order_allocate(&order, NULL), 0);
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < sizeof seen; i++) {
            const uint64_t x = leat__order_map(&order, 0, i).sample;
            assert_true(x < sizeof seen && seen[x]++ == 0);
            if (windows[w]) assert_true(x / windows[w] == i / windows[w]);
        }
        leat__order_free(&order);
    }
}

/* A stream that was thought endless turns out to be short: tables must be there for what is left. */
static void test_stream_shorter_than_window(void **state) {
    (void)state;
    leat__order order = {0};
    leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_SHUFFLE, .op = 2, .window = 100000}, NULL);
    leat__order_set_source(&order, LEAT_ENDLESS);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    leat__order_set_source(&order, 10);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 10; i++) sum += leat__order_map(&order, 0, i).sample;
    assert_int_equal(sum, 45);
    leat__order_free(&order);
}

static void test_repeat_is_more_epochs(void **state) {
    (void)state;
    leat__order once = {0}, twice = {0};
    const leat__order_verb shuffle = {.kind = LEAT_ORDER_SHUFFLE, .op = 2, .reshuffle = true};
    leat__order_add(&once, shuffle, NULL);
    leat__order_add(&twice, shuffle, NULL);
    leat__order_add(&twice, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 2}, NULL);
    leat__order_set_source(&once, 100);
    leat__order_set_source(&twice, 100);
    assert_int_equal(leat__order_allocate(&once, NULL), 0);
    assert_int_equal(leat__order_allocate(&twice, NULL), 0);
    int moved = 0;
    for (uint64_t i = 0; i < 400; i++) {
        const uint64_t a = leat__order_map(&once, i / 100, i % 100).sample;
        assert_int_equal(a, leat__order_map(&twice, i / 200, i % 200).sample);
        moved += a != leat__order_map(&once, i / 100 + 1, i % 100).sample;
    }
    assert_true(moved > 300); /* epochs differ */
    leat__order_free(&once);
    leat__order_free(&twice);
}

/* What a stream may rely on, position after position from the first on: once the source is known up to
 * ceil, the place is right; no later position of the same iteration looks below floor; and what lies
 * between is within reach. */
static void test_spans(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(5, 0, 0, 0);
    for (int round = 0; round < 3000 / STRIDE; round++) {
        leat__order order, known;
        const uint64_t n = 1 + leat__rng_below(&rng, 40), run = 1 + leat__rng_below(&rng, 4);
        random_chain(&order, &rng, LEAT_ENDLESS);
        bool repeats = false, crosses = false;
        for (int i = 0; i < order.n_verbs; i++) {
            repeats |= order.verb[i].kind == LEAT_ORDER_REPEAT;
            crosses |= repeats && order.verb[i].kind == LEAT_ORDER_SHUFFLE;
            if (order.verb[i].kind == LEAT_ORDER_SHUFFLE && order.verb[i].window == 0)
                order.verb[i].window = 7;
            order.verb[i].unit = 0;
        }
        if (crosses)
            continue; /* streams have neither: the plan writes shuffle before repeat, and refuses units */
        assert_int_equal(leat__order_allocate(&order, NULL), 0);
        known = (leat__order){.n_verbs = order.n_verbs};
        memcpy(known.verb, order.verb, sizeof known.verb);
        leat__order_set_source(&known, n);
        assert_int_equal(leat__order_allocate(&known, NULL), 0);
        const uint64_t reach = leat__order_reach(&order, run);
        leat__span_of_order last = {.iteration = LEAT_ENDLESS};
        bool open = true; /* nobody knows yet how long the source is */
        for (uint64_t i = 0; i < LEAT_MIN(leat__order_length(&known), (uint64_t)100); i++) {
            const leat__place want = leat__order_map(&known, 1, i);
            leat__span_of_order span = leat__order_span(&order, 1, i);
            if (open && LEAT_MAX(span.ceil, span.seen) > n) open = false; /* it was read to its end */
            if (!open) span = leat__order_span(&known, 1, i);
            const leat__place got = leat__order_map(open ? &order : &known, 1, i);
            assert_true(got.iteration == want.iteration && got.sample == want.sample);
            assert_true(span.iteration == want.iteration && span.floor <= want.sample &&
                        want.sample < span.ceil);
            if (last.iteration == span.iteration) assert_true(span.floor >= last.floor);
            last = span;
            const leat__span_of_order far = leat__order_span(open ? &order : &known, 1, i + run - 1);
            if (far.iteration == span.iteration) assert_true(far.ceil - span.floor <= reach);
        }
        leat__order_free(&order);
        leat__order_free(&known);
    }
}

static void test_limits(void **state) {
    (void)state;
    leat__order order = {0};
    leat_error err;
    for (int i = 0; i < LEAT_ORDER_VERBS; i++)
        assert_int_equal(
            leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 1000000}, &err),
            0);
    assert_int_equal(leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_SKIP}, &err),
                     LEAT_ERR_LIMIT);
    leat__order_set_source(&order, 3);
    assert_true(leat__order_length(&order) == LEAT_ENDLESS); /* too many to count */
    order.n_verbs = 0;
    leat__order_add(
        &order, (leat__order_verb){.kind = LEAT_ORDER_SHARD, .count = UINT64_C(1) << 40, .index = 5}, &err);
    leat__order_add(
        &order, (leat__order_verb){.kind = LEAT_ORDER_SHARD, .count = UINT64_C(1) << 40, .index = 0}, &err);
    leat__order_set_source(&order, LEAT_ENDLESS);
    const leat__span_of_order span = leat__order_span(&order, 0, 3);
    assert_true(span.floor > UINT64_C(1) << 60 && span.ceil == LEAT_ENDLESS); /* does not wrap around */
}

/* ------------------------------------------------------------------------------------------ blocks */

static uint64_t odd_bytes(const void *user, uint64_t sample) {
    (void)user;
    return 1 + leat__mix64(sample) % 100;
}

static leat__order block_order(uint64_t n, uint64_t want, uint64_t group, uint64_t seed, bool sized) {
    leat__order order = {.bytes = sized ? odd_bytes : NULL};
    leat__order_verb verb = {.kind = LEAT_ORDER_SHUFFLE, .seed = seed, .op = 3, .reshuffle = true};
    assert_int_equal(leat__blocks_new(&verb.blocks, want, group, NULL), 0);
    assert_int_equal(leat__order_insert(&order, 0, verb, NULL), 0);
    leat__order_set_source(&order, n);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    return order;
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every sample once, whatever is asked in which order; and a group is a few long runs. */
static void test_blocks(void **state) {
    (void)state;
    static const struct {
        uint64_t n, want, group;
    } cases[] = {{1, 10, 1},       {7, 1, 16},    {100, 10, 3},         {1000, 500, 16},
                 {1000, 1, 1},     {5000, 77, 5}, {300000, 1000000, 2}, {20000, 1000000000, 16},
                 {777, 2000, 1000}};
    for (size_t c = 0; c < LEAT_COUNT(cases); c++)
        for (int sized = 0; sized < 2; sized++) {
            const uint64_t n = cases[c].n;
            leat__order order = block_order(n, cases[c].want, cases[c].group, c, sized);
            const leat__blocks *blocks = order.verb[0].blocks;
            uint64_t *at = malloc(n * sizeof *at), *seen = calloc(n, sizeof *seen);
            for (uint64_t i = 0; i < n; i++) {
                at[i] = leat__order_map(&order, 4, i).sample;
                assert_true(at[i] < n && !seen[at[i]]++);
            }
            /* Another iteration in between, then positions from the end. */
            for (uint64_t i = n; i-- > 0;) {
                if (i % 97 == 0) leat__order_map(&order, 5 + i % 3, i);
                assert_int_equal(leat__order_map(&order, 4, i).sample, at[i]);
            }
            for (uint64_t b = 0; b < blocks->n && sized; b++) { /* no block is larger than it must be */
                uint64_t bytes = 0;
                for (uint64_t i = blocks->border[b]; i + 1 < blocks->border[b + 1]; i++)
                    bytes += odd_bytes(NULL, i);
                assert_true(bytes < cases[c].want || blocks->border[b] + 1 == blocks->border[b + 1]);
            }
            for (uint64_t i = 0; i < n;) {
                const leat__blocks_group group = leat__blocks_find(order.verb[0].blocks, c, 4, 3, i);
                assert_true(group.first == i && group.n > 0);
                qsort(at + i, group.n, sizeof *at, by_number);
                uint64_t runs = 1;
                for (uint64_t k = 1; k < group.n; k++) runs += at[i + k] != at[i + k - 1] + 1;
                assert_true(runs <= cases[c].group);
                leat__order_group told; /* which is what storage is told */
                uint64_t first, last, samples = 0;
                assert_true(leat__order_group_of(&order, 4, i + group.n / 2, &told));
                assert_true(told.number == group.number && told.n_runs <= cases[c].group);
                for (uint64_t k = 0; k < told.n_runs; k++) {
                    assert_true(leat__order_group_run(&order, &told, k, &first, &last));
                    for (uint64_t m = first; m <= last; m++, samples++)
                        assert_non_null(bsearch(&m, at + i, group.n, sizeof *at, by_number));
                }
                assert_int_equal(samples, group.n);
                i += group.n;
            }
            free(at);
            free(seen);
            leat__order_free(&order);
        }
}

/* Every sample at every tenth of the epoch equally often, first and last in a block alike; and who comes next to whom
 * differs: two neighbours are in one block, but far from being next to one another. */
static void test_blocks_are_fair(void **state) {
    (void)state;
    enum { N = 600, BINS = 12, RUNS = 6000 };
    uint32_t count[BINS * BINS] = {0};
    uint64_t apart = 0;
    for (uint32_t run = 0; run < RUNS; run++) {
        leat__order order = block_order(N, 10, 4, run / 5, false);
        uint64_t place[N];
        for (uint64_t i = 0; i < N; i++) place[leat__order_map(&order, run % 5, i).sample] = i;
        for (uint64_t b = 0; b < BINS; b++) /* one sample of each, so that counts are independent enough */
            count[b * BINS + place[b * (N / BINS) + run % (N / BINS)] * BINS / N]++;
        apart += (place[101] > place[100] ? place[101] - place[100] : place[100] - place[101]) > 1;
        leat__order_free(&order);
    }
    assert_true(unfairness(count, BINS * BINS, (double)RUNS / BINS) < 5);
    assert_true(apart > RUNS * 9 / 10);
}

static void test_blocks_behind_verbs(void **state) {
    (void)state;
    leat__order order = {.bytes = odd_bytes};
    leat__order_verb verb = {.kind = LEAT_ORDER_SHUFFLE, .seed = 1, .op = 3, .reshuffle = true};
    assert_int_equal(leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_SKIP, .count = 50}, NULL),
                     0);
    assert_int_equal(leat__blocks_new(&verb.blocks, 300, 3, NULL), 0);
    assert_int_equal(leat__order_insert(&order, 1, verb, NULL), 0);
    assert_int_equal(leat__order_add(&order, (leat__order_verb){.kind = LEAT_ORDER_REPEAT, .count = 2}, NULL),
                     0);
    leat__order_set_source(&order, 400);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    const uint64_t before = order.verb[1].blocks->n;
    /* Something is put in front afterwards: other samples come, and they are cut anew. */
    uint32_t *pick = leat__alloc(LEAT_MEM_INDEX, 100 * sizeof *pick);
    for (uint32_t i = 0; i < 100; i++) pick[i] = 3 * i;
    assert_int_equal(
        leat__order_insert(&order, 1, (leat__order_verb){.kind = LEAT_ORDER_PICK, .count = 100, .pick = pick},
                           NULL),
        0);
    leat__order_set_source(&order, 400);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    assert_true(order.verb[2].blocks->n < before);
    uint8_t seen[2][400] = {{0}};
    for (uint64_t i = 0; i < 200; i++) {
        const leat__place at = leat__order_map(&order, 0, i);
        assert_true((at.sample - 50) % 3 == 0 && at.iteration == i / 100 && !seen[i / 100][at.sample]++);
    }
    leat__order_free(&order);
}

/* ------------------------------------------------------------------------------------------- large */

static leat__order large_order(void) {
    leat__order order = {0};
    leat__order_add(
        &order, (leat__order_verb){.kind = LEAT_ORDER_SHUFFLE, .seed = 3, .op = 2, .reshuffle = true}, NULL);
    leat__order_set_source(&order, 10000000);
    assert_int_equal(leat__order_allocate(&order, NULL), 0);
    return order;
}

/* Ten million samples need no memory: a key of 64 bits is made of seed, iteration and the operation's number at every
 * draw. */
static void test_large_shuffle_needs_no_memory(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    leat__order order = large_order();
    assert_true(memory_held() - before <= 64);
    for (uint64_t i = 0; i < 1000; i++) assert_true(leat__order_map(&order, 1, i * 9999).sample < 10000000);
    assert_true(memory_held() - before <= 64);
    leat__order_free(&order);
}

/* Prints what a draw costs: in the order of an epoch, through the whole chain. */
static int bench(void) {
    leat__order order = large_order(), blocks = block_order(10000000, 65536, 16, 1, false);
    leat__order *const orders[] = {&order, &blocks};
    for (int k = 0; k < 2; k++) {
        double best = 1e9;
        uint64_t sum = 0;
        for (int round = 0; round < 7; round++) {
            struct timespec a, b;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
            for (uint64_t i = 0; i < 1000000; i++) sum += leat__order_map(orders[k], 0, i).sample;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
            const double ns = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
            best = LEAT_MIN(best, ns);
        }
        printf("shuffle of 10,000,000%s: %.1f ns a draw (%" PRIx64 ")\n", k ? " by blocks of 65,536" : "",
               best, sum);
        leat__order_free(orders[k]);
    }
    return 0;
}

int main(int n, char **word) {
    if (n > 1 && strcmp(word[1], "--bench") == 0) return bench();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_bijection),
        cmocka_unit_test(test_cipher_is_bijection),
        cmocka_unit_test(test_small_orders_are_fair),
        cmocka_unit_test(test_places_are_fair),
        cmocka_unit_test(test_cipher_separates_neighbours),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_random_access),
        cmocka_unit_test(test_large_windows),
        cmocka_unit_test(test_stream_shorter_than_window),
        cmocka_unit_test(test_repeat_is_more_epochs),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_large_shuffle_needs_no_memory),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_blocks_are_fair),
        cmocka_unit_test(test_blocks_behind_verbs),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
