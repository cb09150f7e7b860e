/* SPDX-License-Identifier: Apache-2.0 */
#include "order/block.h"

int leat__blocks_new(leat__blocks **out, uint64_t want, uint64_t group, leat_error *err) {
    leat__blocks *blocks = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *blocks);
    if (!blocks) return leat__fail_memory(err, sizeof *blocks, "a shuffle");
    blocks->want = want;
    blocks->group = group;
    return 0;
}

void leat__blocks_uncut(leat__blocks *blocks) {
    leat__free(blocks->border);
    for (int k = 0; k < 2; k++) {
        leat__free(blocks->order[k].block);
        leat__free(blocks->order[k].first);
        blocks->order[k] = (leat__blocks_order){0};
    }
    blocks->border = NULL;
    blocks->n = blocks->largest = 0;
}

void leat__blocks_free(leat__blocks **blocks) {
    if (*blocks) leat__blocks_uncut(*blocks);
    leat__free(*blocks);
    *blocks = NULL;
}

/* Every border but the last; how many, or 0 without memory. */
static uint64_t cut(const leat__blocks *blocks, uint64_t n, uint64_t (*bytes)(void *user, uint64_t i),
                    void *user, leat__buf *borders) {
    uint64_t count = 0, sum = blocks->want;
    for (uint64_t i = 0; i < n; i++) {
        if (sum >= blocks->want) {
            count++;
            sum = 0;
            if (!leat__buf_append(borders, &i, sizeof i)) return 0;
        }
        const uint64_t size = bytes ? bytes(user, i) : 1;
        sum += LEAT_MAX(size, (uint64_t)1);
    }
    return count;
}

int leat__blocks_cut(leat__blocks *blocks, uint64_t n, uint64_t (*bytes)(void *user, uint64_t i), void *user,
                     leat_error *err) {
    leat__buf borders = {.kind = LEAT_MEM_INDEX};
    leat__blocks_uncut(blocks);
    if (n == 0) return 0; /* there is no position to map */
    const uint64_t count = cut(blocks, n, bytes, user, &borders);
    bool fits = count > 0 && leat__buf_append(&borders, &n, sizeof n);
    if (fits && count > UINT32_MAX) {
        leat__buf_free(&borders);
        return leat__fail(err, LEAT_ERR_LIMIT, "%" PRIu64 " blocks are too many: use larger ones", count);
    }
    for (int k = 0; k < 2 && fits; k++) {
        leat__blocks_order *order = &blocks->order[k];
        order->block = leat__alloc(LEAT_MEM_INDEX, count * sizeof *order->block);
        order->first = leat__alloc(LEAT_MEM_INDEX, (count + 1) * sizeof *order->first);
        fits = order->block && order->first;
    }
    if (!fits) {
        leat__buf_free(&borders);
        leat__blocks_uncut(blocks);
        return leat__fail_memory(err, count * 32, "a shuffle of blocks");
    }
    blocks->border = (uint64_t *)(void *)borders.data; /* which leat__free takes as it is */
    blocks->n = count;
    for (uint64_t i = 0; i < count; i++)
        blocks->largest = LEAT_MAX(blocks->largest, blocks->border[i + 1] - blocks->border[i]);
    return 0;
}

/* The order of blocks in an iteration: by Fisher and Yates's method, as small shuffles are. */
static void make_order(const leat__blocks *blocks, leat__blocks_order *order, leat__rng rng) {
    for (uint64_t i = 0; i < blocks->n; i++) {
        const uint64_t j = leat__rng_below(&rng, i + 1);
        order->block[i] = order->block[j];
        order->block[j] = (uint32_t)i;
    }
    for (uint64_t i = 0; i < blocks->n; i++) {
        const uint64_t *border = &blocks->border[order->block[i]];
        order->first[i + 1] = order->first[i] + (border[1] - border[0]);
    }
    order->made = true;
}

static const leat__blocks_order *order_of(leat__blocks *blocks, uint64_t seed, uint64_t iteration,
                                          uint32_t op) {
    leat__blocks_order *order = blocks->order;
    if (order[1].made && order[1].iteration == iteration) return &order[1];
    /* The older of the two comes up, or makes room. */
    const leat__blocks_order older = order[0];
    order[0] = order[1];
    order[1] = older;
    if (order[1].made && order[1].iteration == iteration) return &order[1];
    order[1].iteration = iteration;
    /* Groups have the keys from 0 on. */
    make_order(blocks, &order[1], leat__rng_at(seed, iteration, UINT64_MAX, op));
    return &order[1];
}

/* The last of first[low, high) that is not above position. */
static uint64_t find(const uint64_t *first, uint64_t low, uint64_t high, uint64_t stride, uint64_t position) {
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (first[mid * stride] <= position) low = mid;
        else high = mid;
    }
    return low;
}

leat__blocks_group leat__blocks_find(leat__blocks *blocks, uint64_t seed, uint64_t iteration, uint32_t op,
                                     uint64_t position) {
    const leat__blocks_order *order = order_of(blocks, seed, iteration, op);
    const uint64_t groups = (blocks->n - 1) / blocks->group + 1;
    const uint64_t number = find(order->first, 0, groups, blocks->group, position);
    const uint64_t block = number * blocks->group, end = LEAT_MIN(block + blocks->group, blocks->n);
    return (leat__blocks_group){.order = order,
                                .number = number,
                                .first = order->first[block],
                                .n = order->first[end] - order->first[block],
                                .block = block};
}

uint64_t leat__blocks_sample(const leat__blocks *blocks, const leat__blocks_group *group, uint64_t place) {
    const uint64_t *first = group->order->first, position = group->first + place;
    const uint64_t end = LEAT_MIN(group->block + blocks->group, blocks->n);
    const uint64_t i = find(first, group->block, end, 1, position);
    return blocks->border[group->order->block[i]] + (position - first[i]);
}
