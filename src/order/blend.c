/* SPDX-License-Identifier: Apache-2.0 */
#include "order/blend.h"

#include "order/permute.h"

#define ENDLESS UINT64_MAX

typedef struct phase {
    uint64_t first;                /* position                                                            */
    uint64_t skip;                 /* places of its first block that belong to the phase before           */
    uint64_t live;                 /* bit k: data set k takes part                                        */
    uint32_t block;                /* places                                                              */
    uint64_t base[LEAT_BLEND_MAX]; /* choices before it, without those in what is skipped  */
} phase;

typedef struct course { /* the phases of one iteration */
    uint64_t iteration;
    int n; /* 0 = not made */
    phase *phase;
} course;

typedef struct table { /* the choices of one block that was used lately */
    uint64_t iteration, block;
    int phase;              /* -1 = empty */
    uint16_t *which, *rank; /* (block) the data set of a place, and how often it comes before in the block */
} table;

struct leat__blend {
    int n;
    bool stop, redraw;
    uint64_t seed, length;
    uint32_t op, block;
    uint64_t count[LEAT_BLEND_MAX]; /* samples  */
    uint64_t quota[LEAT_BLEND_MAX];
    uint16_t *pattern; /* (block) NULL = drawn   */
    uint16_t *place;   /* (block) of a permutation */
    course course[2];
    table table[2];
};

/* ----------------------------------------------------------------------------------------- one block */

static void fill(const leat__blend *self, const phase *p, int number, table *t) {
    uint16_t seen[LEAT_BLEND_MAX] = {0};
    uint32_t n = 0;
    if (self->pattern) {
        for (uint32_t i = 0; i < self->block; i++)
            if (p->live >> self->pattern[i] & 1) t->which[n++] = self->pattern[i];
    } else {
        /* Phases have blocks of their own, numbered from the other end of the bits. */
        const uint64_t key = t->block ^ (uint64_t)number << 56;
        leat__permute_table(self->place, p->block, leat__rng_at(self->seed, t->iteration, key, self->op));
        for (uint16_t k = 0; k < self->n; k++)
            for (uint64_t i = 0; p->live >> k & 1 && i < self->quota[k]; i++) t->which[self->place[n++]] = k;
    }
    for (uint32_t i = 0; i < p->block; i++) t->rank[i] = seen[t->which[i]]++;
}

static const table *table_of(leat__blend *self, uint64_t iteration, const phase *p, int number,
                             uint64_t block) {
    if (self->pattern) block = 0; /* all are alike */
    for (int i = 0; i < 2; i++) {
        const table *t = &self->table[i];
        if (t->phase == number && t->block == block && t->iteration == iteration) return t;
    }
    /* The older of the two makes room; the newer one stays for positions around a border. */
    const table older = self->table[0];
    self->table[0] = self->table[1];
    self->table[1] = older;
    table *t = &self->table[1];
    t->iteration = iteration;
    t->block = block;
    t->phase = number;
    fill(self, p, number, t);
    return t;
}

/* -------------------------------------------------------------------------------------------- phases */

typedef struct spot { /* a place of a phase */
    int which;        /* -1 = nowhere */
    uint64_t block;
    uint32_t place;
} spot;

/* Where, for the first time, one of those that take part is chosen and has no more. */
static spot find_dry(leat__blend *self, uint64_t iteration, const phase *p, int number) {
    spot found = {.which = -1, .block = ENDLESS};
    for (int k = 0; k < self->n; k++)
        if (p->live >> k & 1 && self->count[k] != ENDLESS)
            found.block = LEAT_MIN(found.block, (self->count[k] - p->base[k]) / self->quota[k]);
    /* So far away that positions cannot be counted: never. */
    if (p->live == 0 || found.block >= ENDLESS / 2 / p->block) return found;
    const table *t = table_of(self, iteration, p, number, found.block);
    for (uint32_t i = 0; i < p->block && found.which < 0; i++) {
        const int k = t->which[i];
        if (self->count[k] == ENDLESS ||
            self->count[k] - p->base[k] != found.block * self->quota[k] + t->rank[i])
            continue;
        found.which = k;
        found.place = i;
    }
    return found;
}

static uint64_t position_of(const phase *p, const spot *at) {
    return p->first + at->block * p->block + at->place - p->skip;
}

static uint32_t places_of(const leat__blend *self, uint64_t live) {
    uint64_t n = 0;
    for (int k = 0; k < self->n; k++) n += live >> k & 1 ? self->quota[k] : 0;
    return (uint32_t)n;
}

/* The phase that begins at the spot, with the data sets that are left. */
static void follow(leat__blend *self, uint64_t iteration, const phase *p, int number, const spot *at,
                   phase *next) {
    const table *t = table_of(self, iteration, p, number, at->block);
    *next = (phase){.first = position_of(p, at), .live = p->live & ~(UINT64_C(1) << at->which)};
    for (int k = 0; k < self->n; k++) next->base[k] = p->base[k] + at->block * self->quota[k];
    for (uint32_t i = 0; i < at->place; i++) next->base[t->which[i]]++;
    next->block = places_of(self, next->live);
    if (!self->pattern) return;
    /* The pattern goes on where it was. */
    for (uint32_t i = 0, n = 0; n <= at->place; i++) {
        const int k = self->pattern[i];
        n += p->live >> k & 1;
        if (!(next->live >> k & 1)) continue;
        next->skip++;
        next->base[k]--;
    }
}

static const course *course_of(leat__blend *self, uint64_t iteration) {
    if (!self->redraw) iteration = 0;
    for (int i = 0; i < 2; i++)
        if (self->course[i].n && self->course[i].iteration == iteration) return &self->course[i];
    const course older = self->course[0];
    self->course[0] = self->course[1];
    self->course[1] = older;
    course *c = &self->course[1];
    c->iteration = iteration;
    c->n = 1;
    c->phase[0] = (phase){0};
    for (int k = 0; k < self->n; k++)
        if (self->quota[k]) c->phase[0].live |= UINT64_C(1) << k;
    c->phase[0].block = places_of(self, c->phase[0].live);
    while (!self->stop) {
        const phase *p = &c->phase[c->n - 1];
        const spot at = find_dry(self, iteration, p, c->n - 1);
        if (at.which < 0) break;
        follow(self, iteration, p, c->n - 1, &at, &c->phase[c->n]);
        c->n++;
    }
    return c;
}

/* ---------------------------------------------------------------------------------------------- doors */

static uint64_t find_length(leat__blend *self) {
    const course *c = course_of(self, 0);
    const phase *last = &c->phase[c->n - 1];
    if (!self->stop) return last->live ? ENDLESS : last->first;
    const spot at = find_dry(self, 0, last, 0);
    return at.which < 0 ? ENDLESS : position_of(last, &at);
}

int leat__blend_new(leat__blend **out, const leat__blend_options *options, leat_error *err) {
    assert(options->n >= 1 && options->n <= LEAT_BLEND_MAX && !(options->stop && options->redraw));
    leat__blend *self = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "an order");
    self->n = options->n;
    self->stop = options->stop;
    self->redraw = options->redraw && !options->pattern;
    self->seed = options->seed;
    self->op = options->op;
    for (int k = 0; k < self->n; k++) {
        self->count[k] = options->length[k];
        self->quota[k] = options->quota[k];
        self->block += (uint32_t)options->quota[k];
    }
    assert(self->block >= 1 && self->block <= LEAT_BLEND_BLOCK_MAX);
    const size_t bytes = self->block * sizeof(uint16_t);
    const size_t phases = ((size_t)self->n + 1) * sizeof(phase);
    self->place = leat__alloc(LEAT_MEM_INDEX, bytes);
    if (options->pattern) self->pattern = leat__alloc(LEAT_MEM_INDEX, bytes);
    bool good = self->place && (self->pattern || !options->pattern);
    for (int i = 0; i < 2; i++) {
        self->table[i] = (table){.phase = -1,
                                 .which = leat__alloc(LEAT_MEM_INDEX, bytes),
                                 .rank = leat__alloc(LEAT_MEM_INDEX, bytes)};
        self->course[i].phase = leat__alloc(LEAT_MEM_INDEX, phases);
        good = good && self->table[i].which && self->table[i].rank && self->course[i].phase;
    }
    if (!good) {
        leat__blend_free(out);
        return leat__fail_memory(err, 6 * bytes + 2 * phases, "an order");
    }
    if (self->pattern) memcpy(self->pattern, options->pattern, bytes);
    self->length = find_length(self);
    return 0;
}

void leat__blend_free(leat__blend **blend) {
    leat__blend *self = *blend;
    *blend = NULL;
    if (!self) return;
    for (int i = 0; i < 2; i++) {
        leat__free(self->course[i].phase);
        leat__free(self->table[i].which);
        leat__free(self->table[i].rank);
    }
    leat__free(self->place);
    leat__free(self->pattern);
    leat__free(self);
}

uint64_t leat__blend_length(const leat__blend *blend) {
    return blend->length;
}

bool leat__blend_redraws(const leat__blend *blend) {
    return blend->redraw;
}

void leat__blend_set_length(leat__blend *self, int which, uint64_t n) {
    if (self->count[which] == n) return;
    self->count[which] = n;
    for (int i = 0; i < 2; i++) {
        self->course[i].n = 0;
        self->table[i].phase = -1;
    }
    self->length = find_length(self);
}

bool leat__blend_lives(leat__blend *self, uint64_t iteration, uint64_t position, int which) {
    const course *c = course_of(self, iteration);
    int number = 0;
    while (number + 1 < c->n && c->phase[number + 1].first < position) number++;
    return self->quota[which] == 0 || c->phase[number].live >> which & 1;
}

uint64_t leat__blend_map(leat__blend *self, uint64_t iteration, uint64_t position, int *which) {
    const course *c = course_of(self, iteration);
    int number = 0;
    while (number + 1 < c->n && c->phase[number + 1].live && c->phase[number + 1].first <= position) number++;
    const phase *p = &c->phase[number];
    const uint64_t at = position - p->first + p->skip, block = at / p->block;
    const table *t = table_of(self, c->iteration, p, number, block);
    const int k = t->which[at % p->block];
    *which = k;
    return p->base[k] + block * self->quota[k] + t->rank[at % p->block];
}
