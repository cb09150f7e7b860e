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
    leat__interleave_free(&verb->interleave);
    leat__branch_free(&verb->branch);
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
    return 0;
}

bool leat__order_fixed(const leat__order_verb *verb) {
    if (verb->kind == LEAT_ORDER_SHUFFLE) return !verb->reshuffle;
    if (verb->kind == LEAT_ORDER_BRANCH) return leat__branch_fixed(verb->branch);
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

/* Elements of the largest table that verb i will ever need. The last window may be smaller than the others, and a
 * stream shorter than its window: so a window that is too large for a table needs one all the same. */
static uint64_t table_size(const leat__order *order, int i) {
    const leat__order_verb *verb = &order->verb[i];
    if (verb->kind == LEAT_ORDER_BALANCE && verb->balance->drawn) {
        const uint64_t block = leat__balance_block(verb->balance);
        return block > LEAT_PERMUTE_TABLE_MAX ? 0 : block;
    }
    if (verb->kind != LEAT_ORDER_SHUFFLE) return 0;
    if (verb->window)
        return LEAT_MIN(LEAT_MIN(verb->window, order->length[i]), (uint64_t)LEAT_PERMUTE_TABLE_MAX);
    return order->length[i] > LEAT_PERMUTE_TABLE_MAX ? 0 : order->length[i];
}

int leat__order_allocate(leat__order *order, leat_error *err) {
    for (int i = 0; i < order->n_verbs; i++) {
        if (order->verb[i].branch) LEAT_TRY(leat__branch_allocate(order->verb[i].branch, err));
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

/* Position within window number `window`, which holds n samples, of verb i in the given iteration. */
static uint64_t permute(leat__order *order, int i, uint64_t iteration, uint64_t window, uint64_t n,
                        uint64_t position) {
    const leat__order_verb *verb = &order->verb[i];
    if (!verb->reshuffle) iteration = 0;
    leat__rng rng = leat__rng_at(verb->seed, iteration, window, verb->op);
    if (n > LEAT_PERMUTE_TABLE_MAX) return leat__permute_cipher(position, n, leat__rng_u64(&rng));
    leat__order_table *table = order->table[i];
    for (int k = 0; k < 2; k++)
        if (table[k].n == n && table[k].iteration == iteration && table[k].window == window)
            return table[k].slot[position];
    /* The older of the two makes room; the newer one stays for positions around a border. */
    const leat__order_table older = table[0];
    table[0] = table[1];
    table[1] = (leat__order_table){
        .iteration = iteration, .window = window, .n = (uint32_t)n, .cap = older.cap, .slot = older.slot};
    leat__permute_table(table[1].slot, (uint32_t)n, rng);
    return table[1].slot[position];
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

static leat__place map_part(leat__order *order, int n_verbs, uint64_t epoch, uint64_t position) {
    leat__place at = {.iteration = epoch, .sample = position};
    for (int i = n_verbs - 1; i >= 0; i--) {
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
            const uint64_t size = verb->window ? verb->window : n;
            const uint64_t window = at.sample / size, first = window * size;
            at.sample =
                first + permute(order, i, at.iteration, window, LEAT_MIN(size, n - first), at.sample - first);
            break;
        }
        case LEAT_ORDER_PICK: at.sample = verb->pick[at.sample]; break;
        case LEAT_ORDER_BALANCE: at.sample = balanced(order, i, at.iteration, at.sample); break;
        case LEAT_ORDER_INTERLEAVE: at.sample = leat__interleave_map(verb->interleave, at.sample); break;
        case LEAT_ORDER_BRANCH: at.sample = leat__branch_map(verb->branch, at.iteration, at.sample); break;
        }
    }
    return at;
}

leat__place leat__order_map(leat__order *order, uint64_t epoch, uint64_t position) {
    return map_part(order, order->n_verbs, epoch, position);
}

uint64_t leat__order_map_part(leat__order *order, int n_verbs, uint64_t position) {
    return map_part(order, n_verbs, 0, position).sample;
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
            if (n == LEAT_ENDLESS) { /* the first turn, as far as is known */
                span.iteration = inner_iteration(verb, span.iteration, 0);
                break;
            }
            const uint64_t turn = span.floor / n;
            /* How long a turn is was concluded from take alone: whether the source has so much must be seen. */
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
