/* SPDX-License-Identifier: Apache-2.0 */
#include "order/interleave.h"

enum { TURNS_MAX = 1 << 22 };

typedef struct turn {
    uint64_t record; /* number of its first record, in the first round             */
    uint64_t at;     /* place of that record in a round                            */
} turn;

typedef struct segment {
    uint64_t first;  /* position                                                   */
    uint64_t period; /* positions of a round                                       */
    size_t turn, n_turns;
} segment;

typedef struct opened {
    bool open;
    uint64_t record, left;
} opened;

typedef struct dealer { /* while the list is made */
    leat__interleave *out;
    const uint64_t *length;
    size_t n_shards, next; /* the shard that will be opened next */
    uint64_t next_record;  /* its first record                   */
    opened *slot;          /* (cycle)                            */
    size_t cycle, n_open;
    uint64_t position;
} dealer;

static int add_turn(dealer *d, uint64_t record, uint64_t at, leat_error *err) {
    leat__buf *turns = &d->out->turns;
    const turn t = {.record = record, .at = at};
    if (turns->size / sizeof t >= TURNS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "%zu shards at a time, of so many different lengths, are too much: write a smaller "
                          "cycle",
                          d->cycle);
    return leat__buf_append(turns, &t, sizeof t) ? 0 : leat__fail_memory(err, turns->size, "an order");
}

/* Ends a segment of the turns that were added since. */
static int add_segment(dealer *d, size_t turns_before, uint64_t period, uint64_t rounds, leat_error *err) {
    leat__buf *turns = &d->out->turns, *segments = &d->out->segments;
    const segment s = {.first = d->position,
                       .period = period,
                       .turn = turns_before,
                       .n_turns = turns->size / sizeof(turn) - turns_before};
    if (s.n_turns == 0) return 0;
    d->position += period * rounds;
    return leat__buf_append(segments, &s, sizeof s) ? 0 : leat__fail_memory(err, segments->size, "an order");
}

/* Rounds in which every turn gives a whole block and nothing begins or ends. */
static int deal_alike(dealer *d, leat_error *err) {
    const uint64_t block = d->out->block;
    const size_t before = d->out->turns.size / sizeof(turn);
    uint64_t rounds = UINT64_MAX, at = 0;
    for (size_t i = 0; i < d->cycle; i++) {
        const opened *slot = &d->slot[i];
        if (slot->open) rounds = LEAT_MIN(rounds, slot->left / block);
        else if (d->next < d->n_shards) rounds = 0;
    }
    if (d->n_open == 0 || rounds == 0) return 0;
    for (size_t i = 0; i < d->cycle; i++) {
        opened *slot = &d->slot[i];
        if (!slot->open) continue;
        LEAT_TRY(add_turn(d, slot->record, at, err));
        at += block;
        slot->record += rounds * block;
        slot->left -= rounds * block;
    }
    return add_segment(d, before, at, rounds, err);
}

/* One round, turn by turn. */
static int deal_round(dealer *d, leat_error *err) {
    const size_t before = d->out->turns.size / sizeof(turn);
    uint64_t at = 0;
    for (size_t i = 0; i < d->cycle; i++) {
        opened *slot = &d->slot[i];
        if (!slot->open && d->next < d->n_shards) {
            *slot = (opened){.open = true, .record = d->next_record, .left = d->length[d->next]};
            d->next_record += d->length[d->next++];
            d->n_open++;
        }
        if (!slot->open) continue;
        const uint64_t n = LEAT_MIN(slot->left, d->out->block);
        if (n) LEAT_TRY(add_turn(d, slot->record, at, err));
        at += n;
        slot->record += n;
        slot->left -= n;
        if (n == d->out->block) continue; /* whether it has more shows at its next turn */
        slot->open = false;
        d->n_open--;
    }
    return add_segment(d, before, at, 1, err);
}

int leat__interleave_new(leat__interleave **out, const uint64_t *length, size_t n, uint64_t cycle,
                         uint64_t block, leat_error *err) {
    leat__interleave *self = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "an order");
    self->block = block;
    self->segments.kind = self->turns.kind = LEAT_MEM_INDEX;
    dealer d = {.out = self, .length = length, .n_shards = n};
    d.cycle =
        (size_t)LEAT_MIN(cycle, (uint64_t)LEAT_MAX(n, (size_t)1)); /* places that stay empty cost no turn */
    d.slot = leat__alloc(LEAT_MEM_INDEX, d.cycle * sizeof *d.slot);
    int rc = d.slot ? 0 : leat__fail_memory(err, d.cycle * sizeof *d.slot, "an order");
    while (rc == 0 && (d.next < d.n_shards || d.n_open > 0)) {
        rc = deal_alike(&d, err);
        if (rc == 0) rc = deal_round(&d, err);
    }
    leat__free(d.slot);
    if (rc < 0) leat__interleave_free(out);
    return rc;
}

void leat__interleave_free(leat__interleave **interleave) {
    if (*interleave) {
        leat__buf_free(&(*interleave)->segments);
        leat__buf_free(&(*interleave)->turns);
    }
    leat__free(*interleave);
    *interleave = NULL;
}

uint64_t leat__interleave_map(const leat__interleave *self, uint64_t position) {
    const segment *s = (const segment *)self->segments.data;
    size_t low = 0, high = self->segments.size / sizeof *s;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (s[mid].first <= position) low = mid;
        else high = mid;
    }
    s += low;
    const uint64_t round = (position - s->first) / s->period, at = (position - s->first) % s->period;
    const turn *t = (const turn *)self->turns.data + s->turn;
    for (low = 0, high = s->n_turns; high - low > 1;) {
        const size_t mid = low + (high - low) / 2;
        if (t[mid].at <= at) low = mid;
        else high = mid;
    }
    return t[low].record + round * self->block + (at - t[low].at);
}
