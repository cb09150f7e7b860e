/* SPDX-License-Identifier: Apache-2.0 */
/* Which entry goes to which place of which shard. All of it is fixed by the index of the data set and the recipe, before
 * any work begins, so threads, parts, interruptions and restarts cannot change a byte.
 *
 * The positions of the data set are divided into sets (train, validation, test; or one). An original and its copies are
 * neighbours in the list of entries of their set. A shuffle permutes the list. The list is cut into shards of about the same
 * bytes. */
#include <stdio.h>

#include "base/rng.h"
#include "order/permute.h"
#include "tools/pack/pack.h"

enum { SHARDS_SMALL = 16, SHARDS_MAX = 99999 };
#define SHARD_BYTES ((uint64_t)128 << 20)
#define SHARD_BYTES_SMALL ((uint64_t)4 << 20) /* a small set is cut up no further than this */
#define RECORD_OVERHEAD 64                    /* of TFRecord and Example, about */
#define BYTES_UNKNOWN 100000                  /* of a sample whose size only reading tells */

/* ------------------------------------------------------------------------------------------- entries */

static uint64_t permuted(const leat__packing *self, int number, uint64_t i) {
    const leat__pack_set *set = &self->set[number];
    if (!self->pack.shuffle) return i;
    if (set->table) return set->table[i];
    return leat__permute_cipher(i, set->n_entries, leat__rng_key(self->pack.seed, (uint64_t)number));
}

leat__pack_entry leat__pack_entry_at(const leat__packing *self, int number, uint64_t i) {
    const leat__pack_set *set = &self->set[number];
    const uint64_t k = permuted(self, number, i), member = k / (set->copies + 1);
    leat__pack_entry entry = {.position = set->member ? set->member[member] : member,
                              .copy = (int)(k % (set->copies + 1))};
    entry.sample = self->input.sample ? self->input.sample[entry.position] : entry.position;
    return entry;
}

uint64_t leat__pack_bytes(const leat__packing *self, const leat__pack_entry *entry) {
    const leat__storing *how = &self->storing;
    const uint64_t pixels = (uint64_t)how->width * (uint64_t)how->height;
    const uint64_t known = leat__source_size(self->input.plan->source, entry->sample);
    if (how->store == LEAT_STORE_ORIGINAL || !pixels)
        return (known ? known : BYTES_UNKNOWN) + RECORD_OVERHEAD;
    /* Photographs take about these bytes a pixel. */
    const uint64_t percent = how->store == LEAT_STORE_RAW ? 300
                             : how->quality >= 95         ? 80
                             : how->quality >= 85         ? 35
                                                          : 20;
    return pixels * percent / 100 + RECORD_OVERHEAD;
}

static uint64_t bytes_at(const leat__packing *self, int set, uint64_t i) {
    const leat__pack_entry entry = leat__pack_entry_at(self, set, i);
    return leat__pack_bytes(self, &entry);
}

/* ---------------------------------------------------------------------------------------------- sets */

static int count_members(leat__packing *self, const leat__split *sides, leat_error *err) {
    for (uint64_t i = 0; i < sides->n; i++)
        if (sides->side[i] != LEAT_NO_SIDE) self->set[sides->side[i]].n_members++;
    for (int s = 0; s < self->n_sets; s++) {
        leat__pack_set *set = &self->set[s];
        set->name = leat_split_part(s);
        set->copies = s == 0 ? (uint64_t)self->pack.copies : 0; /* what scores a model is not augmented */
        set->member =
            leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(set->n_members, (uint64_t)1) * sizeof *set->member);
        if (!set->member) return leat__fail_memory(err, set->n_members * sizeof *set->member, "a split");
        set->n_members = 0;
    }
    for (uint64_t i = 0; i < sides->n; i++) {
        if (sides->side[i] == LEAT_NO_SIDE) continue;
        leat__pack_set *set = &self->set[sides->side[i]];
        set->member[set->n_members++] = (uint32_t)i;
    }
    return 0;
}

static int split(leat__packing *self, leat_error *err) {
    leat__pack_input *input = &self->input;
    const leat_config config = leat__tool_pipeline_config(self->config);
    const leat__open_options open = leat__tool_open_options(self->config);
    leat__planner *planner = leat__alloc(LEAT_MEM_TOOL, sizeof *planner);
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    leat__split sides = {0};
    bool fits = planner && leat__text_add(&text, "split part=train fractions=") &&
                leat__text_add(&text, self->pack.split);
    if (input->label >= 0)
        fits = fits && leat__text_add(&text, " field=") &&
               leat__text_add_quoted(&text, input->plan->output[input->label].field.name);
    fits = fits && leat__buf_append(&text, "", 1);
    int rc = fits ? leat__dataset_split(planner, input->plan, input->spec, &config, &open,
                                        (const char *)text.data, &sides, err)
                  : leat__fail_memory(err, sizeof *planner, "a split");
    if (rc == 0 && (sides.n != input->n || sides.n_sides > LEAT_PACK_SETS))
        rc = leat__fail(err, LEAT_ERR_UNSUPPORTED,
                        "a text that shuffles or repeats cannot be split here: use shuffle of the pack");
    if (rc == 0) {
        self->n_sets = sides.n_sides;
        rc = count_members(self, &sides, err);
    }
    leat__free(sides.side);
    leat__free(planner);
    leat__buf_free(&text);
    return rc;
}

static int make_sets(leat__packing *self, leat_error *err) {
    self->n_sets = 1;
    self->set[0] =
        (leat__pack_set){.name = "", .n_members = self->input.n, .copies = (uint64_t)self->pack.copies};
    if (self->pack.split) LEAT_TRY(split(self, err));
    for (int s = 0; s < self->n_sets; s++) {
        leat__pack_set *set = &self->set[s];
        set->n_entries = set->n_members * (set->copies + 1);
        if (!self->pack.shuffle || set->n_entries == 0 || set->n_entries > LEAT_PERMUTE_TABLE_MAX) continue;
        set->table = leat__alloc(LEAT_MEM_INDEX, set->n_entries * sizeof *set->table);
        if (!set->table)
            return leat__fail_memory(err, set->n_entries * sizeof *set->table, "a shuffled order");
        leat__permute_table(set->table, (uint32_t)set->n_entries,
                            leat__rng_at(self->pack.seed, (uint64_t)s, 0, 0));
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------- shards */

static uint64_t shards_wanted(const leat__packing *self, uint64_t total) {
    if (self->pack.n_shards) return (uint64_t)self->pack.n_shards;
    if (self->pack.shard_bytes) return total / self->pack.shard_bytes + 1;
    return LEAT_MAX(total / SHARD_BYTES + 1, LEAT_MIN(total / SHARD_BYTES_SMALL, (uint64_t)SHARDS_SMALL));
}

/* Ranges of entries with about the same bytes each, none of them empty. */
static void cut_set(leat__packing *self, int number, uint64_t total) {
    const leat__pack_set *set = &self->set[number];
    uint64_t at = 0, bytes = 0;
    for (uint64_t k = 0; k < set->n_shards; k++) {
        leat__pack_shard *shard = &self->shard[set->first_shard + k];
        const uint64_t target = (uint64_t)((__uint128_t)total * (k + 1) / set->n_shards),
                       last = set->n_entries - (set->n_shards - k - 1);
        shard->set = number;
        shard->begin = at;
        const uint64_t before = bytes;
        do bytes += bytes_at(self, number, at++);
        while (at < last && (k + 1 == set->n_shards || bytes + bytes_at(self, number, at) / 2 <= target));
        shard->end = at;
        shard->guessed = bytes - before;
    }
}

static int cut_shards(leat__packing *self, leat_error *err) {
    uint64_t bytes[LEAT_PACK_SETS] = {0}, total = 0, n = 0;
    for (int s = 0; s < self->n_sets; s++) {
        for (uint64_t i = 0; i < self->set[s].n_entries; i++) bytes[s] += bytes_at(self, s, i);
        total += bytes[s];
        n += self->set[s].n_entries;
    }
    const uint64_t wanted = shards_wanted(self, total);
    if (wanted > n && self->pack.n_shards)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%" PRIu64 " images are too few for %" PRIu64 " shards", n,
                          wanted);
    self->n_shards = 0;
    for (int s = 0; s < self->n_sets; s++) {
        leat__pack_set *set = &self->set[s];
        const uint64_t share = total ? (uint64_t)(((__uint128_t)wanted * bytes[s] + total / 2) / total) : 0;
        set->first_shard = self->n_shards;
        set->n_shards =
            LEAT_MIN(LEAT_MIN(LEAT_MAX(share, (uint64_t)1), set->n_entries), (uint64_t)SHARDS_MAX);
        self->n_shards += set->n_shards;
    }
    self->shard = leat__alloc(LEAT_MEM_TOOL, self->n_shards * sizeof *self->shard);
    if (!self->shard) return leat__fail_memory(err, self->n_shards * sizeof *self->shard, "shards");
    for (int s = 0; s < self->n_sets; s++) cut_set(self, s, bytes[s]);
    const uint64_t parts = (uint64_t)LEAT_MAX(self->pack.n_parts, 1);
    for (uint64_t k = 0; k < self->n_shards; k++)
        self->shard[k].ours = k % parts == (uint64_t)self->pack.part;
    return 0;
}

int leat__pack_lay_out(leat__packing *self, leat_error *err) {
    LEAT_TRY(make_sets(self, err));
    return cut_shards(self, err);
}

void leat__pack_layout_free(leat__packing *self) {
    for (int s = 0; s < LEAT_PACK_SETS; s++) {
        leat__free(self->set[s].member);
        leat__free(self->set[s].table);
        self->set[s] = (leat__pack_set){0};
    }
    leat__free(self->shard);
    self->shard = NULL;
}
