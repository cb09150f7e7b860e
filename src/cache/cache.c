/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a cache, and what memory and disk have in common. */
#include "cache/cache.h"

#include <stdarg.h>
#include <stdio.h>

int leat__cache_open(leat__cache **out, const leat__cache_options *options, leat_error *err) {
    *out = NULL;
    leat__cache *cache = leat__alloc(LEAT_MEM_PLAN, sizeof *cache);
    if (!cache) return leat__fail_memory(err, sizeof *cache, "a cache");
    cache->options = *options;
    if (!cache->options.segment_bytes) cache->options.segment_bytes = LEAT_CACHE_SEGMENT;
    cache->memory.segments.kind = LEAT_MEM_PLAN;
    const uint64_t n = LEAT_MIN(options->n_samples, LEAT_CACHE_SAMPLES);
    cache->n_chunks = (size_t)((n + LEAT_CACHE_CHUNK - 1) / LEAT_CACHE_CHUNK);
    cache->chunk = leat__alloc(LEAT_MEM_INDEX, cache->n_chunks * sizeof *cache->chunk);
    int rc = cache->chunk ? leat__mutex_init(&cache->mutex, LEAT_LOCK_CACHE, err)
                          : leat__fail_memory(err, cache->n_chunks * sizeof *cache->chunk, "a cache");
    if (rc < 0) {
        leat__free(cache->chunk);
        leat__free(cache);
        return rc;
    }
    if (options->plan->path) rc = leat__disk_open(cache, err);
    if (rc < 0) leat__cache_close(&cache);
    *out = cache;
    return rc;
}

void leat__cache_close(leat__cache **handle) {
    leat__cache *cache = *handle;
    *handle = NULL;
    if (!cache) return;
    leat__disk_close(cache);
    leat__memory_free(cache);
    for (size_t i = 0; i < cache->n_chunks; i++) leat__free(atomic_load(&cache->chunk[i]));
    leat__free(cache->chunk);
    leat__mutex_destroy(&cache->mutex);
    leat__free(cache);
}

void leat__cache_hand_free(leat__cache_hand *hand) {
    for (int i = 0; i < LEAT_HAND_FILES; i++) leat__file_close(&hand->open[i].file);
    leat__buf_free(&hand->bytes);
}

void leat__cache_say(leat__cache *cache, const char *fmt, ...) {
    char text[900];
    if (atomic_exchange(&cache->said, true) || !cache->options.log) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cache->options.log(cache->options.user, LEAT_LOG_WARNING, text);
}

/* -------------------------------------------------------------------------------------------- table */

leat__cache_chunk *leat__cache_chunk_of(leat__cache *cache, uint64_t sample, bool make) {
    const uint64_t number = sample / LEAT_CACHE_CHUNK;
    if (number >= cache->n_chunks || sample >= cache->options.n_samples) return NULL;
    leat__cache_chunk *chunk = atomic_load_explicit(&cache->chunk[number], memory_order_acquire);
    if (chunk || !make) return chunk;
    leat__cache_chunk *fresh = leat__alloc(LEAT_MEM_INDEX, sizeof *fresh);
    if (!fresh) return NULL;
    if (atomic_compare_exchange_strong(&cache->chunk[number], &chunk, fresh)) return fresh;
    leat__free(fresh); /* another worker was faster */
    return chunk;
}

void leat__cache_publish(leat__cache *cache, uint64_t sample, uint64_t place, uint32_t length) {
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, false);
    const uint64_t i = sample % LEAT_CACHE_CHUNK;
    atomic_store_explicit(&chunk->length[i], length, memory_order_relaxed);
    if (atomic_exchange_explicit(&chunk->place[i], place, memory_order_acq_rel) <= LEAT_CACHE_BUSY)
        atomic_fetch_add(&cache->n_kept, 1);
}

void leat__cache_unclaim(leat__cache *cache, uint64_t sample) {
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, false);
    uint_least64_t busy = LEAT_CACHE_BUSY; /* or another process has put it there meanwhile */
    atomic_compare_exchange_strong(&chunk->place[sample % LEAT_CACHE_CHUNK], &busy, 0);
}

/* ------------------------------------------------------------------------------------ take and put */

void leat__cache_unpack(const leat__caching *plan, const uint8_t *bundle, const leat__bundle_part *part,
                        leat__value *values) {
    for (int i = 0; i < plan->n_fields; i++) {
        leat__value *value = &values[plan->value[i]];
        value->data = bundle + part[i].offset;
        value->bytes = part[i].bytes;
        value->dtype = plan->field[i].dtype;
        value->ndim = plan->field[i].ndim;
        memcpy(value->shape, part[i].shape, (size_t)value->ndim * sizeof value->shape[0]);
    }
}

/* 0 if it is not there. */
static uint64_t place_of(leat__cache *cache, uint64_t sample) {
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, false);
    return chunk ? atomic_load_explicit(&chunk->place[sample % LEAT_CACHE_CHUNK], memory_order_acquire) : 0;
}

static bool take(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, uint8_t *const *into,
                 leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    uint64_t place = place_of(cache, sample);
    if (place == 0 && cache->disk) {
        leat__disk_refresh(cache);
        place = place_of(cache, sample);
    } else if (place == LEAT_CACHE_BUSY && cache->disk) {
        /* Some worker has it, not yet on disk: write it now. */
        leat__disk_flush_all(cache);
        place = place_of(cache, sample);
    }
    if (place <= LEAT_CACHE_BUSY) return false;
    const uint32_t length = atomic_load_explicit(
        &leat__cache_chunk_of(cache, sample, false)->length[sample % LEAT_CACHE_CHUNK], memory_order_relaxed);
    if (cache->disk) {
        if (hand->piece) leat__disk_flush_old(cache, hand->piece);
        return leat__disk_take(cache, hand, sample, place, length, into, values);
    }
    const uint8_t *bundle = (const uint8_t *)(uintptr_t)place;
    if (plan->fixed) {
        leat__cache_unpack(plan, bundle, plan->part, values);
        return true;
    }
    leat__bundle_part part[LEAT_FIELDS_MAX];
    if (!leat__bundle_open(plan->field, plan->n_fields, bundle, length, part)) return false;
    leat__cache_unpack(plan, bundle, part, values);
    return true;
}

bool leat__cache_take(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, uint8_t *const *into,
                      leat__value *values) {
    const bool there = take(cache, hand, sample, into, values);
    if (there) hand->hits++;
    else hand->misses++;
    return there;
}

void leat__cache_flush(leat__cache *cache) {
    if (cache->disk) leat__disk_flush_all(cache);
}

void leat__cache_refresh(leat__cache *cache) {
    if (cache->disk) leat__disk_refresh(cache);
}

bool leat__cache_holds(leat__cache *cache, uint64_t sample) {
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, false);
    return chunk && atomic_load_explicit(&chunk->place[sample % LEAT_CACHE_CHUNK], memory_order_relaxed) != 0;
}

void leat__cache_put(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, const leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    if (cache->disk && !leat__disk_writes(cache)) return;
    leat__bundle_part part[LEAT_FIELDS_MAX];
    size_t bytes;
    for (int i = 0; i < plan->n_fields; i++) {
        const leat__value *value = &values[plan->value[i]];
        if (value->dtype != plan->field[i].dtype || value->ndim != plan->field[i].ndim) return;
        memcpy(part[i].shape, value->shape, (size_t)value->ndim * sizeof value->shape[0]);
    }
    /* What is not as the plan says is not kept: the step that uses it reports the error. */
    if (!leat__bundle_lay_out(plan->field, plan->n_fields, part, &bytes) || bytes >= LEAT_CACHE_CHECKED)
        return;
    for (int i = 0; i < plan->n_fields; i++)
        if (part[i].bytes != values[plan->value[i]].bytes) return;
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, true);
    uint_least64_t none = 0;
    if (!chunk || !atomic_compare_exchange_strong(&chunk->place[sample % LEAT_CACHE_CHUNK], &none,
                                                  (uint64_t)LEAT_CACHE_BUSY))
        return;
    const bool kept = cache->disk ? leat__disk_put(cache, hand, sample, part, bytes, values)
                                  : leat__memory_put(cache, sample, part, bytes, values);
    if (!kept) leat__cache_unclaim(cache, sample);
}

/* --------------------------------------------------------------------------------------- for people */

uint64_t leat__cache_bytes(leat__cache *cache) {
    return atomic_load(&cache->bytes);
}

bool leat__cache_complete(leat__cache *cache) {
    return atomic_load_explicit(&cache->n_kept, memory_order_relaxed) >= cache->options.n_samples;
}

void leat__cache_describe(leat__cache *cache, char *text, size_t cap) {
    const leat__cache_options *options = &cache->options;
    if (cache->disk) {
        leat__disk_describe(cache, text, cap);
        return;
    }
    const size_t n =
        (size_t)snprintf(text, cap, "in memory, %.1f MB at most", (double)options->bytes_max / 1e6);
    const double each = (double)LEAT_ALIGN_UP(options->plan->bytes + LEAT_MEM_PAD, (size_t)LEAT_CACHE_LINE);
    if (n >= cap || options->n_samples == UINT64_MAX || !options->plan->fixed) return;
    const double need = each * (double)options->n_samples;
    if (need <= (double)options->bytes_max)
        snprintf(text + n, cap - n, ": all %" PRIu64 " samples need %.1f MB", options->n_samples, need / 1e6);
    else
        snprintf(text + n, cap - n,
                 ": %.0f of %" PRIu64
                 " samples fit, the others are made anew each time; all would need %.1f MB",
                 (double)options->bytes_max / each, options->n_samples, need / 1e6);
}
