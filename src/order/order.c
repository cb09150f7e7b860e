/* SPDX-License-Identifier: Apache-2.0 */
#include "order/order.h"

#include "order/branch.h"

int leat__order_add(leat__order *order, leat__order_verb verb, leat_error *err) {
    if (order->n_verbs == LEAT_ORDER_VERBS)
        return leat__fail(err, LEAT_ERR_LIMIT, "more than %d verbs of order (shuffle, take, ...)",
                          LEAT_ORDER_VERBS);
    order->verb[order->n_verbs++] = verb;
    return 0;
}

static void free_verb(leat__order_verb *verb) {
    leat__free(verb->pick);
    leat__balance_free(&verb->balance);
    leat__blocks_free(&verb->blocks);
    leat__interleave_free(&verb->interleave);
    leat__branch_free(&verb->branch);
    leat__bucket_free(&verb->bucket);
}

static void free_tables(leat__order *order, int i) {
    for (int k = 0; k < 2; k++) leat__free(order->table[i][k].slot);
}

int leat__order_insert(leat__order *order, int at, leat__order_verb verb, leat_error *err) {
    const int rc = leat__order_add(order, verb, err);
    if (rc < 0) {
        free_verb(&verb);
        return rc;
    }
    const size_t behind = (size_t)(order->n_verbs - 1 - at);
    memmove(&order->verb[at + 1], &order->verb[at], behind * sizeof order->verb[0]);
    memmove(&order->table[at + 1], &order->table[at], behind * sizeof order->table[0]);
    order->verb[at] = verb;
    memset(&order->table[at], 0, sizeof order->table[at]);
    for (int i = at + 1; i < order->n_verbs; i++) /* these verbs get other samples now */
        if (order->verb[i].blocks) leat__blocks_uncut(order->verb[i].blocks);
    return 0;
}

bool leat__order_fixed(const leat__order_verb *verb) {
    if (verb->kind == LEAT_ORDER_SHUFFLE) return !verb->reshuffle;
    if (verb->kind == LEAT_ORDER_BRANCH) return leat__branch_fixed(verb->branch);
    if (verb->kind == LEAT_ORDER_BUCKET) return false;
    return verb->kind != LEAT_ORDER_BALANCE || !verb->balance->drawn;
}

static uint64_t length_after(const leat__order_verb *verb, uint64_t n) {
    switch (verb->kind) {
    case LEAT_ORDER_INTERLEAVE:
    case LEAT_ORDER_SHUFFLE: return n;
    case LEAT_ORDER_TAKE: return LEAT_MIN(n, verb->count);
    case LEAT_ORDER_SKIP: return n == LEAT_ENDLESS ? n : n - LEAT_MIN(n, verb->count);
    case LEAT_ORDER_SHARD:
        return n == LEAT_ENDLESS ? n : n > verb->index ? (n - verb->index - 1) / verb->count + 1 : 0;
    case LEAT_ORDER_REPEAT: {
        uint64_t product;
        if (n == 0 || verb->count == 0) return 0;
        if (n == LEAT_ENDLESS || verb->count == LEAT_ENDLESS) return LEAT_ENDLESS;
        return __builtin_mul_overflow(n, verb->count, &product) ? LEAT_ENDLESS : product;
    }
    case LEAT_ORDER_PICK:
    case LEAT_ORDER_BRANCH:
    case LEAT_ORDER_BALANCE: return verb->count;
    case LEAT_ORDER_BUCKET: return leat__bucket_length(verb->bucket);
    }
    return n;
}

void leat__order_set_source(leat__order *order, uint64_t n) {
    order->length[0] = n;
    for (int i = 0; i < order->n_verbs; i++)
        order->length[i + 1] = length_after(&order->verb[i], order->length[i]);
}

uint64_t leat__order_length(const leat__order *order) {
    return order->length[order->n_verbs];
}

bool leat__order_endless(const leat__order *order) {
    uint64_t n = UINT64_C(1) << 40;
    for (int i = 0; i < order->n_verbs; i++) n = length_after(&order->verb[i], n);
    return n == LEAT_ENDLESS;
}

/* What a shuffle of n samples permutes: samples, or whole units. */
static uint64_t n_units(const leat__order_verb *verb, uint64_t n) {
    return verb->unit && n != LEAT_ENDLESS ? n / verb->unit : n;
}

/* Elements of the largest table that verb i will ever need. The last window may be smaller than the others, and a
 * stream shorter than its window: so a window that is too large for a table needs one all the same. */
static uint64_t table_size(const leat__order *order, int i) {
    const leat__order_verb *verb = &order->verb[i];
    if (verb->kind == LEAT_ORDER_BALANCE && verb->balance->drawn) {
        const uint64_t block = leat__balance_block(verb->balance);
        return block > LEAT_PERMUTE_TABLE_MAX ? 0 : block;
    }
    if (verb->kind != LEAT_ORDER_SHUFFLE) return 0;
    if (verb->blocks) {
        uint64_t most;
        if (__builtin_mul_overflow(verb->blocks->largest, verb->blocks->group, &most)) most = UINT64_MAX;
        return LEAT_MIN(LEAT_MIN(most, order->length[i]), (uint64_t)LEAT_PERMUTE_TABLE_MAX);
    }
    const uint64_t n = n_units(verb, order->length[i]);
    if (verb->window) return LEAT_MIN(LEAT_MIN(verb->window, n), (uint64_t)LEAT_PERMUTE_TABLE_MAX);
    return n > LEAT_PERMUTE_TABLE_MAX ? 0 : n;
}

typedef struct sizing { /* samples as they come to a verb */
    leat__order *order;
    int verb;
} sizing;

static leat__place map_part(leat__order *order, int n_verbs, uint64_t epoch, uint64_t position);

static uint64_t bytes_at(void *user, uint64_t position) {
    const sizing *s = user;
    return s->order->bytes(s->order->bytes_user, map_part(s->order, s->verb, 0, position).sample);
}

int leat__order_allocate(leat__order *order, leat_error *err) {
    for (int i = 0; i < order->n_verbs; i++) {
        if (order->verb[i].branch) LEAT_TRY(leat__branch_allocate(order->verb[i].branch, err));
        leat__blocks *blocks = order->verb[i].blocks;
        if (blocks && blocks->n == 0)
            LEAT_TRY(leat__blocks_cut(blocks, order->length[i], order->bytes ? bytes_at : NULL,
                                      &(sizing){order, i}, err));
        if (order->verb[i].bucket) LEAT_TRY(leat__bucket_allocate(order->verb[i].bucket, err));
        const size_t n = table_size(order, i), bytes = n * sizeof(uint16_t);
        for (int k = 0; k < 2; k++) {
            leat__order_table *table = &order->table[i][k];
            if (table->cap >= n) continue;
            leat__free(table->slot);
            *table = (leat__order_table){.slot = leat__alloc(LEAT_MEM_INDEX, bytes), .cap = n};
            if (!table->slot) return leat__fail_memory(err, bytes, "a shuffle");
        }
    }
    return 0;
}

void leat__order_free(leat__order *order) {
    for (int i = 0; i < order->n_verbs; i++) {
        free_verb(&order->verb[i]);
        free_tables(order, i);
    }
    *order = (leat__order){0};
}

static uint64_t look_up(const leat__order_table *table, uint64_t position) {
    if (table->n > LEAT_PERMUTE_TABLE_MAX) return leat__permute_cipher(position, table->n, table->key);
    return table->slot[position];
}

static bool holds(const leat__order_table *table, uint64_t iteration, uint64_t window, uint64_t n) {
    return table->n == n && table->iteration == iteration && table->window == window;
}

/* Position within window number `window`, which holds n samples, of verb i in the given iteration. */
static uint64_t permute(leat__order *order, int i, uint64_t iteration, uint64_t window, uint64_t n,
                        uint64_t position) {
    const leat__order_verb *verb = &order->verb[i];
    leat__order_table *table = order->table[i];
    if (!verb->reshuffle) iteration = 0;
    if (holds(&table[1], iteration, window, n)) return look_up(&table[1], position);
    /* The older of the two comes up, or makes room; the newer one stays. */
    const leat__order_table older = table[0];
    table[0] = table[1];
    table[1] = older;
    if (holds(&table[1], iteration, window, n)) return look_up(&table[1], position);
    leat__rng rng = leat__rng_at(verb->seed, iteration, window, verb->op);
    table[1].iteration = iteration;
    table[1].window = window;
    table[1].n = n;
    if (n > LEAT_PERMUTE_TABLE_MAX) table[1].key = leat__rng_u64(&rng);
    else leat__permute_table(table[1].slot, (uint32_t)n, rng);
    return look_up(&table[1], position);
}

/* Blocks in a drawn order, and the samples of a group of them shuffled. */
static uint64_t permute_blocks(leat__order *order, int i, uint64_t iteration, uint64_t position) {
    const leat__order_verb *verb = &order->verb[i];
    const leat__blocks_group group =
        leat__blocks_find(verb->blocks, verb->seed, verb->reshuffle ? iteration : 0, verb->op, position);
    const uint64_t place = permute(order, i, iteration, group.number, group.n, position - group.first);
    return leat__blocks_sample(verb->blocks, &group, place);
}

/* All samples or units, or each window of them; a last unit that is not whole stays. */
static uint64_t permute_all(leat__order *order, int i, uint64_t iteration, uint64_t position) {
    const leat__order_verb *verb = &order->verb[i];
    const uint64_t each = verb->unit ? verb->unit : 1, n = n_units(verb, order->length[i]);
    const uint64_t place = position / each, size = verb->window ? verb->window : n;
    if (place >= n) return position;
    const uint64_t window = place / size, first = window * size;
    const uint64_t drawn = permute(order, i, iteration, window, LEAT_MIN(size, n - first), place - first);
    return (first + drawn) * each + position % each;
}

/* Iteration numbers of the source count up over epochs and repeats alike: `repeat 2` for one epoch and two epochs
 * without repeat see the same shuffles. Endless repeats leave room for 2^32 turns an epoch. */
static uint64_t inner_iteration(const leat__order_verb *repeat, uint64_t iteration, uint64_t turn) {
    return repeat->count == LEAT_ENDLESS ? (iteration << 32) + turn : iteration * repeat->count + turn;
}

static uint64_t balanced(leat__order *order, int i, uint64_t iteration, uint64_t position) {
    const leat__order_verb *verb = &order->verb[i];
    const uint64_t size = leat__balance_block(verb->balance), block = position / size;
    uint64_t place = position % size;
    if (verb->balance->drawn) place = permute(order, i, iteration, block, size, place);
    return leat__balance_member(verb->balance, verb->seed, iteration, verb->op, block, place);
}

/* From behind verb number n_verbs - 1 to in front of verb number down_to. */
static leat__place map_between(leat__order *order, int down_to, int n_verbs, leat__place at);

typedef struct before_bucket {
    leat__order *order;
    int verb;
} before_bucket;

static uint64_t map_before(void *user, uint64_t iteration, uint64_t i) {
    const before_bucket *b = user;
    return map_between(b->order, b->order->verb[b->verb].bucket->base, b->verb,
                       (leat__place){.iteration = iteration, .sample = i})
        .sample;
}

leat__bucket *leat__order_bucket(const leat__order *order) {
    const int last = order->n_verbs - 1;
    return last >= 0 && order->verb[last].kind == LEAT_ORDER_BUCKET ? order->verb[last].bucket : NULL;
}

leat__bucket_batch leat__order_batch(leat__order *order, uint64_t epoch, uint64_t position) {
    before_bucket b = {order, order->n_verbs - 1};
    return leat__bucket_batch_of(leat__order_bucket(order), epoch, position, map_before, &b);
}

static leat__place map_between(leat__order *order, int down_to, int n_verbs, leat__place at) {
    for (int i = n_verbs - 1; i >= down_to; i--) {
        const leat__order_verb *verb = &order->verb[i];
        const uint64_t n = order->length[i];
        switch (verb->kind) {
        case LEAT_ORDER_TAKE: break;
        case LEAT_ORDER_SKIP: at.sample += verb->count; break;
        case LEAT_ORDER_SHARD: at.sample = at.sample * verb->count + verb->index; break;
        case LEAT_ORDER_REPEAT:
            at.iteration = inner_iteration(verb, at.iteration, at.sample / n);
            at.sample %= n;
            break;
        case LEAT_ORDER_SHUFFLE: {
            if (verb->blocks) {
                at.sample = permute_blocks(order, i, at.iteration, at.sample);
                break;
            }
            at.sample = permute_all(order, i, at.iteration, at.sample);
            break;
        }
        case LEAT_ORDER_PICK: at.sample = verb->pick[at.sample]; break;
        case LEAT_ORDER_BALANCE: at.sample = balanced(order, i, at.iteration, at.sample); break;
        case LEAT_ORDER_INTERLEAVE: at.sample = leat__interleave_map(verb->interleave, at.sample); break;
        case LEAT_ORDER_BRANCH: at.sample = leat__branch_map(verb->branch, at.iteration, at.sample); break;
        case LEAT_ORDER_BUCKET: {
            before_bucket b = {order, i};
            at.sample = leat__bucket_map(verb->bucket, at.iteration, at.sample, map_before, &b);
            break;
        }
        }
    }
    return at;
}

static leat__place map_part(leat__order *order, int n_verbs, uint64_t epoch, uint64_t position) {
    return map_between(order, 0, n_verbs, (leat__place){.iteration = epoch, .sample = position});
}

leat__place leat__order_map(leat__order *order, uint64_t epoch, uint64_t position) {
    return map_part(order, order->n_verbs, epoch, position);
}

uint64_t leat__order_map_part(leat__order *order, int n_verbs, uint64_t position) {
    return map_part(order, n_verbs, 0, position).sample;
}

bool leat__order_group_of(leat__order *order, uint64_t epoch, uint64_t position, leat__order_group *out) {
    int i = 0;
    while (i < order->n_verbs && !order->verb[i].blocks) i++;
    if (i == order->n_verbs) return false;
    const leat__order_verb *verb = &order->verb[i];
    const leat__place at = map_between(order, i + 1, order->n_verbs, (leat__place){epoch, position});
    const uint64_t iteration = verb->reshuffle ? at.iteration : 0;
    const leat__blocks_group group =
        leat__blocks_find(verb->blocks, verb->seed, iteration, verb->op, at.sample);
    *out = (leat__order_group){.iteration = at.iteration,
                               .number = group.number,
                               .n_runs = LEAT_MIN(verb->blocks->group, verb->blocks->n - group.block),
                               .at = group,
                               .verb = i};
    return true;
}

bool leat__order_group_run(leat__order *order, const leat__order_group *group, uint64_t i, uint64_t *first,
                           uint64_t *last) {
    const leat__blocks *blocks = order->verb[group->verb].blocks;
    const uint64_t *border = &blocks->border[group->at.order->block[group->at.block + i]];
    *first = map_part(order, group->verb, group->iteration, border[0]).sample;
    *last = map_part(order, group->verb, group->iteration, border[1] - 1).sample;
    return *last - *first == border[1] - 1 - border[0];
}

static uint64_t add_capped(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? LEAT_ENDLESS : sum;
}
static uint64_t multiply_capped(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? LEAT_ENDLESS : product;
}

/* The span of positions [floor, ceil) of what verbs [0, n_verbs) give. */
static leat__span_of_order span_of(const leat__order *order, int n_verbs, leat__span_of_order span) {
    for (int i = n_verbs - 1; i >= 0; i--) {
        const leat__order_verb *verb = &order->verb[i];
        const uint64_t n = order->length[i];
        switch (verb->kind) {
        case LEAT_ORDER_TAKE: span.ceil = LEAT_MIN(span.ceil, verb->count); break;
        case LEAT_ORDER_SKIP:
            span.floor = add_capped(span.floor, verb->count);
            span.ceil = add_capped(span.ceil, verb->count);
            break;
        case LEAT_ORDER_SHARD:
            span.floor = add_capped(multiply_capped(span.floor, verb->count), verb->index);
            span.ceil =
                span.ceil ? add_capped(multiply_capped(span.ceil - 1, verb->count), verb->index + 1) : 0;
            break;
        case LEAT_ORDER_REPEAT: {
            if (n == LEAT_ENDLESS) { /* length not known yet: still the first repetition */
                span.iteration = inner_iteration(verb, span.iteration, 0);
                break;
            }
            const uint64_t turn = span.floor / n;
            /* The length of a repetition follows from take alone: reading must show that the source has so many. */
            if (turn > 0 && order->length[0] == LEAT_ENDLESS) {
                const leat__span_of_order last =
                    span_of(order, i, (leat__span_of_order){.floor = n - 1, .ceil = n});
                span.seen = LEAT_MAX(span.seen, LEAT_MAX(last.ceil, last.seen));
            }
            span.iteration = inner_iteration(verb, span.iteration, turn);
            span.floor -= turn * n;
            span.ceil = LEAT_MIN(span.ceil - turn * n, n);
            break;
        }
        case LEAT_ORDER_SHUFFLE: {
            const uint64_t size = verb->window ? verb->window : n;
            assert(size != LEAT_ENDLESS); /* the plan gives every shuffle of a stream a window */
            span.floor = span.floor / size * size;
            span.ceil = span.ceil ? add_capped((span.ceil - 1) / size * size, size) : 0;
            break;
        }
        case LEAT_ORDER_PICK:
        case LEAT_ORDER_INTERLEAVE:
        case LEAT_ORDER_BRANCH:
        case LEAT_ORDER_BUCKET:
        case LEAT_ORDER_BALANCE: assert(!"the plan has these for sources of a known length only"); break;
        }
    }
    return span;
}

leat__span_of_order leat__order_span(const leat__order *order, uint64_t epoch, uint64_t position) {
    return span_of(
        order, order->n_verbs,
        (leat__span_of_order){.iteration = epoch, .floor = position, .ceil = add_capped(position, 1)});
}

/* Lengths as they are when nothing is known of the source. */
static void blind_lengths(const leat__order *order, uint64_t length[LEAT_ORDER_VERBS + 1]) {
    length[0] = LEAT_ENDLESS;
    for (int i = 0; i < order->n_verbs; i++) length[i + 1] = length_after(&order->verb[i], length[i]);
}

bool leat__order_needs_length(const leat__order *order, uint64_t epoch, uint64_t position) {
    uint64_t blind[LEAT_ORDER_VERBS + 1];
    blind_lengths(order, blind);
    if (epoch > 0 && blind[order->n_verbs] != order->length[order->n_verbs]) return true;
    for (int i = order->n_verbs - 1; i >= 0; i--) {
        const leat__order_verb *verb = &order->verb[i];
        const uint64_t n = order->length[i];
        if (verb->kind == LEAT_ORDER_SKIP) position = add_capped(position, verb->count);
        if (verb->kind == LEAT_ORDER_SHARD)
            position = add_capped(multiply_capped(position, verb->count), verb->index);
        if (verb->kind != LEAT_ORDER_REPEAT || n == LEAT_ENDLESS || n == 0) continue;
        if (position >= n && n != blind[i]) return true;
        position %= n;
    }
    return false;
}

uint64_t leat__order_needs(const leat__order *order) {
    uint64_t blind[LEAT_ORDER_VERBS + 1];
    blind_lengths(order, blind);
    int n_verbs = 0;
    while (n_verbs < order->n_verbs && order->verb[n_verbs].kind != LEAT_ORDER_REPEAT) n_verbs++;
    const uint64_t n = blind[n_verbs];
    if (n == LEAT_ENDLESS || n == 0) return n;
    return span_of(order, n_verbs, (leat__span_of_order){.floor = n - 1, .ceil = n}).ceil;
}

uint64_t leat__order_reach(const leat__order *order, uint64_t n) {
    for (int i = order->n_verbs - 1; i >= 0 && n > 0; i--) {
        const leat__order_verb *verb = &order->verb[i];
        if (verb->kind == LEAT_ORDER_TAKE) n = LEAT_MIN(n, verb->count);
        if (verb->kind == LEAT_ORDER_SHARD) n = add_capped(multiply_capped(n - 1, verb->count), 1);
        if (verb->kind == LEAT_ORDER_SHUFFLE) {
            const uint64_t size = LEAT_MAX(verb->window ? verb->window : order->length[i], (uint64_t)1);
            /* So many windows can n neighbours touch. */
            const uint64_t windows = add_capped(n - 1, size - 1) / size + 1;
            n = multiply_capped(windows, size);
        }
    }
    return n;
}
