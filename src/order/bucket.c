/* SPDX-License-Identifier: Apache-2.0 */
#include "order/bucket.h"

#include "base/mem.h"

int leat__bucket_of(const double *edge, int n_edges, double height, double width) {
    int b = 0;
    while (b < n_edges && width >= edge[b] * height && height > 0) b++;
    return b;
}

int leat__bucket_new(leat__bucket **out, int n_buckets, uint8_t *of, uint64_t n_of, int base,
                     leat_error *err) {
    leat__bucket *bucket = leat__alloc(LEAT_MEM_INDEX, sizeof *bucket);
    *out = bucket;
    if (!bucket) {
        leat__free(of);
        return leat__fail_memory(err, sizeof *bucket, "buckets");
    }
    bucket->n_buckets = n_buckets;
    bucket->base = base;
    bucket->of = of;
    bucket->n_of = n_of;
    leat__bucket_set(bucket, n_of, 1, false);
    return 0;
}

void leat__bucket_free(leat__bucket **handle) {
    leat__bucket *bucket = *handle;
    *handle = NULL;
    if (!bucket) return;
    for (int i = 0; i < 2; i++) {
        leat__free(bucket->table[i].at);
        leat__free(bucket->table[i].batch);
    }
    leat__free(bucket->of);
    leat__free(bucket->waiting);
    leat__free(bucket);
}

void leat__bucket_set(leat__bucket *bucket, uint64_t n, uint64_t batch, bool drop) {
    memset(bucket->count, 0, sizeof bucket->count);
    bucket->n = n;
    bucket->batch = batch;
    bucket->drop = drop;
    bucket->n_full = 0;
    for (uint64_t i = 0; i < bucket->n_of; i++) bucket->count[bucket->of[i]]++;
    for (int b = 0; b < bucket->n_buckets; b++) {
        if (bucket->n_of) bucket->count[b] *= n / bucket->n_of;
        bucket->n_full += bucket->count[b] / batch;
    }
}

uint64_t leat__bucket_length(const leat__bucket *bucket) {
    return bucket->drop ? bucket->n_full * bucket->batch : bucket->n;
}

uint64_t leat__bucket_batches(const leat__bucket *bucket) {
    uint64_t n = bucket->n_full;
    for (int b = 0; b < bucket->n_buckets && !bucket->drop; b++) n += bucket->count[b] % bucket->batch > 0;
    return n;
}

/* Room for a batch of each bucket, or for all of its samples if they are fewer. */
static uint64_t waiting_room(const leat__bucket *bucket, int b) {
    return LEAT_MIN(bucket->batch, bucket->count[b]);
}

int leat__bucket_allocate(leat__bucket *bucket, leat_error *err) {
    uint64_t room = 0;
    for (int b = 0; b < bucket->n_buckets; b++) room += waiting_room(bucket, b);
    if (bucket->waiting) return 0;
    bucket->waiting = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(room, (uint64_t)1) * sizeof *bucket->waiting);
    bool fits = bucket->waiting != NULL;
    for (int i = 0; i < 2; i++) {
        leat__bucket_table *table = &bucket->table[i];
        table->at = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(bucket->n, (uint64_t)1) * sizeof *table->at);
        table->batch = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(bucket->n_full, (uint64_t)1));
        fits = fits && table->at && table->batch;
    }
    return fits ? 0 : leat__fail_memory(err, bucket->n * sizeof *bucket->waiting, "buckets");
}

static void make_table(leat__bucket *bucket, leat__bucket_table *table, leat__bucket_before *before,
                       void *user) {
    uint32_t *waiting[LEAT_BUCKETS_MAX], *next = bucket->waiting, *at = table->at;
    uint64_t n[LEAT_BUCKETS_MAX] = {0}, full = 0;
    for (int b = 0; b < bucket->n_buckets; b++) {
        waiting[b] = next;
        next += waiting_room(bucket, b);
    }
    for (uint64_t i = 0; i < bucket->n; i++) {
        const int b = bucket->of[before(user, table->iteration, i)];
        waiting[b][n[b]++] = (uint32_t)i;
        if (n[b] < bucket->batch) continue;
        memcpy(at, waiting[b], bucket->batch * sizeof *at);
        at += bucket->batch;
        table->batch[full++] = (uint8_t)b;
        n[b] = 0;
    }
    for (int b = 0; b < bucket->n_buckets; b++) {
        memcpy(at, waiting[b], n[b] * sizeof *at);
        at += n[b];
    }
}

static const leat__bucket_table *find_table(leat__bucket *bucket, uint64_t iteration,
                                            leat__bucket_before *before, void *user) {
    leat__bucket_table *table = bucket->table;
    for (int i = 0; i < 2; i++)
        if (table[i].made && table[i].iteration == iteration) return &table[i];
    /* The older of the two makes room. */
    const leat__bucket_table older = table[0];
    table[0] = table[1];
    table[1] = older;
    table[1].iteration = iteration;
    table[1].made = true;
    make_table(bucket, &table[1], before, user);
    return &table[1];
}

uint64_t leat__bucket_map(leat__bucket *bucket, uint64_t iteration, uint64_t position,
                          leat__bucket_before *before, void *user) {
    return find_table(bucket, iteration, before, user)->at[position];
}

leat__bucket_batch leat__bucket_batch_of(leat__bucket *bucket, uint64_t iteration, uint64_t position,
                                         leat__bucket_before *before, void *user) {
    const uint64_t full = bucket->n_full * bucket->batch;
    if (position < full)
        return (leat__bucket_batch){
            .step = position / bucket->batch,
            .left = bucket->batch - position % bucket->batch,
            .bucket = find_table(bucket, iteration, before, user)->batch[position / bucket->batch]};
    leat__bucket_batch out = {.step = bucket->n_full};
    uint64_t end = full;
    for (int b = 0; b < bucket->n_buckets; b++) {
        const uint64_t rest = bucket->count[b] % bucket->batch;
        end += rest;
        if (position < end) {
            out.left = end - position;
            out.bucket = b;
            return out;
        }
        out.step += rest > 0;
    }
    return out;
}
