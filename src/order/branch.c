/* SPDX-License-Identifier: Apache-2.0 */
#include "order/branch.h"

static uint64_t add_capped(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? LEAT_ENDLESS : sum;
}

int leat__branch_new(leat__branch **out, leat__branch_kind kind, int n, leat__order *const *orders,
                     const uint64_t *first, leat__blend *blend, leat_error *err) {
    leat__branch *self = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *self);
    const size_t numbers = (size_t)n * sizeof *self->end, bytes = (size_t)n * sizeof *self->order;
    if (self) {
        *self = (leat__branch){.kind = kind,
                               .n = n,
                               .order = leat__alloc(LEAT_MEM_INDEX, bytes),
                               .end = leat__alloc(LEAT_MEM_INDEX, numbers),
                               .first = leat__alloc(LEAT_MEM_INDEX, numbers),
                               .blend = blend};
    }
    if (!self || !self->order || !self->end || !self->first) {
        if (!self) leat__blend_free(&blend);
        for (int k = 0; k < n; k++) leat__order_free(orders[k]);
        if (self && !self->order) self->n = 0;
        leat__branch_free(out);
        return leat__fail_memory(err, bytes + 2 * numbers, "an order");
    }
    memcpy(self->first, first, numbers);
    uint64_t sum = 0, least = LEAT_ENDLESS;
    for (int k = 0; k < n; k++) {
        self->order[k] = *orders[k];
        *orders[k] = (leat__order){0};
        const uint64_t length = leat__order_length(&self->order[k]);
        self->end[k] = sum = add_capped(sum, length);
        least = LEAT_MIN(least, length);
    }
    self->length = blend ? leat__blend_length(blend) : kind == LEAT_BRANCH_ZIP ? least : sum;
    return 0;
}

void leat__branch_free(leat__branch **branch) {
    leat__branch *self = *branch;
    *branch = NULL;
    if (!self) return;
    for (int k = 0; k < self->n; k++) leat__order_free(&self->order[k]);
    leat__blend_free(&self->blend);
    leat__free(self->order);
    leat__free(self->end);
    leat__free(self->first);
    leat__free(self);
}

int leat__branch_allocate(leat__branch *branch, leat_error *err) {
    for (int k = 0; k < branch->n; k++) LEAT_TRY(leat__order_allocate(&branch->order[k], err));
    return 0;
}

bool leat__branch_fixed(const leat__branch *branch) {
    bool fixed = !branch->blend || !leat__blend_redraws(branch->blend);
    for (int k = 0; k < branch->n; k++)
        for (int i = 0; i < branch->order[k].n_verbs; i++)
            fixed = fixed && leat__order_fixed(&branch->order[k].verb[i]);
    return fixed;
}

static uint64_t map_one(leat__branch *self, int k, uint64_t iteration, uint64_t position) {
    return leat__order_map(&self->order[k], iteration, position).sample;
}

uint64_t leat__branch_map(leat__branch *self, uint64_t iteration, uint64_t position) {
    int k = 0;
    if (self->kind == LEAT_BRANCH_ZIP) {
        uint64_t number = 0;
        for (; k < self->n; k++) number += map_one(self, k, iteration, position) * self->first[k];
        return number;
    }
    if (self->blend) {
        position = leat__blend_map(self->blend, iteration, position, &k);
    } else {
        while (position >= self->end[k]) k++;
        if (k) position -= self->end[k - 1];
    }
    return self->first[k] + map_one(self, k, iteration, position);
}
