/* SPDX-License-Identifier: Apache-2.0 */
/* A cache in memory: bundles one after the other in large segments, each at a multiple of 64 bytes and followed by as many
 * that kernels may read past its end. Pages of a segment are taken from the system when they are first written to. */
#include "cache/cache.h"

typedef struct segment {
    uint8_t *memory;
    size_t bytes;
} segment;

/* One more segment with room for at least n bytes; within the budget. */
static bool add_segment(leat__cache *cache, size_t n) {
    leat__memory *memory = &cache->memory;
    const uint64_t budget = cache->options.bytes_max - memory->allocated;
    segment fresh = {.bytes = (size_t)LEAT_MIN((uint64_t)LEAT_MAX(n, cache->options.segment_bytes), budget)};
    if (fresh.bytes < n) return false;
    if (!leat__buf_reserve(&memory->segments, memory->segments.size + sizeof fresh)) return false;
    fresh.memory = leat__alloc_pages(fresh.bytes);
    if (!fresh.memory) return false;
    leat__buf_append(&memory->segments, &fresh, sizeof fresh);
    memory->allocated += fresh.bytes;
    memory->at = fresh.memory;
    memory->left = fresh.bytes;
    return true;
}

bool leat__memory_put(leat__cache *cache, uint64_t sample, const leat__bundle_part *part, size_t bytes,
                      const leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    leat__memory *memory = &cache->memory;
    const size_t n = LEAT_ALIGN_UP(bytes + LEAT_MEM_PAD, (size_t)LEAT_CACHE_LINE);
    leat__lock(&cache->mutex);
    const bool fits = n <= memory->left || add_segment(cache, n);
    uint8_t *bundle = memory->at;
    if (fits) {
        memory->at += n;
        memory->left -= n;
    }
    leat__unlock(&cache->mutex);
    if (!fits) return false;
    leat__bundle_begin(plan->field, plan->n_fields, part, bundle);
    for (int i = 0; i < plan->n_fields; i++)
        if (part[i].bytes) memcpy(bundle + part[i].offset, values[plan->value[i]].data, part[i].bytes);
    atomic_fetch_add(&cache->bytes, n);
    leat__cache_publish(cache, sample, (uint64_t)(uintptr_t)bundle, (uint32_t)bytes);
    return true;
}

void leat__memory_free(leat__cache *cache) {
    leat__buf *segments = &cache->memory.segments;
    const segment *s = (const segment *)segments->data;
    for (size_t i = 0; i < segments->size / sizeof *s; i++) leat__free_pages(s[i].memory);
    leat__buf_free(segments);
}
