/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/jpeg_store_table.h"

#include <limits.h>

enum {
    SEGMENT = 2 << 20,
    SMALL = 4096, /* bytes for each file below which only the beginnings of rows are noted */
    SLOTS_MAX = 1 << 24
};

typedef struct segment {
    uint8_t *memory;
    size_t bytes, used;
} segment;

leat__jpeg_store_entry *leat__jpeg_store_find(const leat__jpeg_store *store, uint64_t key,
                                              _Atomic(leat__jpeg_store_entry *) **place) {
    *place = NULL;
    for (size_t i = 0; i <= LEAT_MIN(store->mask, (size_t)64); i++) {
        _Atomic(leat__jpeg_store_entry *) *slot = &store->slot[(key + i) & store->mask];
        leat__jpeg_store_entry *e = atomic_load_explicit(slot, memory_order_acquire);
        if (e && e->key == key) return e;
        if (e) continue;
        *place = slot;
        return NULL;
    }
    return NULL;
}

leat__jpeg_store_entry *leat__jpeg_store_add(leat__jpeg_store *store, size_t cap) {
    segment *s = (segment *)store->segments.data;
    const size_t n = store->segments.size / sizeof *s, bytes = sizeof(leat__jpeg_store_entry) + cap;
    segment *last = n ? &s[n - 1] : NULL;
    if (cap > LEAT_POSITIONS_CAP || bytes > store->bytes_max || store->bytes > store->bytes_max - bytes)
        return NULL;
    if (!last || last->bytes - last->used < bytes) {
        segment fresh = {.bytes = LEAT_MAX(bytes, (size_t)SEGMENT)};
        if (!leat__buf_reserve(&store->segments, store->segments.size + sizeof fresh)) return NULL;
        fresh.memory = leat__alloc_pages(fresh.bytes);
        if (!fresh.memory) return NULL;
        leat__buf_append(&store->segments, &fresh, sizeof fresh);
        last = (segment *)store->segments.data + n;
    }
    leat__jpeg_store_entry *e = (leat__jpeg_store_entry *)(void *)(last->memory + last->used);
    last->used += bytes;
    store->bytes += bytes;
    e->cap = (uint32_t)cap;
    return e;
}

/* --------------------------------------------------------------------------------- opening, closing */

static int copy_names(leat__jpeg_store *store, leat_error *err) {
    const leat__jpeg_store_options *options = &store->options;
    store->open = *options->open;
    store->open.progress = NULL;
    if (!options->home || store->open.no_side_files) return 0;
    store->home = leat__real_path(options->home);
    if (!store->home) return leat__fail_memory(err, PATH_MAX, "a path");
    if (store->open.cache_dir) {
        store->cache_dir = leat__strdup(LEAT_MEM_INDEX, store->open.cache_dir);
        if (!store->cache_dir) return leat__fail_memory(err, PATH_MAX, "a path");
    }
    store->open.cache_dir = store->cache_dir;
    if (store->open.sets || store->open.beside) return 0;
    /* Without a cache directory there is nothing to load, and nothing is kept. */
    if (leat__sets_open(&store->sets, store->cache_dir, NULL) < 0) {
        leat__free(store->home);
        store->home = NULL;
    }
    store->open.sets = store->sets;
    return 0;
}

int leat__jpeg_store_open(leat__jpeg_store **out, const leat__jpeg_store_options *options, leat_error *err) {
    *out = NULL;
    leat__jpeg_store *store = leat__alloc(LEAT_MEM_INDEX, sizeof *store);
    if (!store) return leat__fail_memory(err, sizeof *store, "positions in JPEG files");
    store->options = *options;
    store->bytes_max = LEAT_MIN(options->bytes_max, LEAT_JPEG_STORE_BYTES_MAX);
    store->segments.kind = LEAT_MEM_INDEX;
    const uint64_t n_files = LEAT_CLAMP(options->n_files, (uint64_t)1, (uint64_t)SLOTS_MAX / 2);
    const bool small = options->n_files != UINT64_MAX && store->bytes_max / n_files < SMALL;
    store->each_max = small ? 0 : store->bytes_max;
    size_t n_slots = 128;
    while (n_slots < 2 * n_files && n_slots < store->bytes_max / sizeof(leat__jpeg_store_entry)) n_slots *= 2;
    store->mask = n_slots - 1;
    store->slot_bytes = n_slots * sizeof *store->slot;
    store->slot = leat__alloc_pages(store->slot_bytes);
    int rc = leat__mutex_init(&store->mutex, LEAT_LOCK_POSITIONS, err);
    if (rc < 0) {
        if (store->slot) leat__free_pages((void *)store->slot);
        leat__free(store);
        return rc;
    }
    rc = store->slot ? copy_names(store, err)
                     : leat__fail_memory(err, store->slot_bytes, "positions in JPEG files");
    if (rc < 0) {
        leat__jpeg_store_close(&store);
        return rc;
    }
    leat__jpeg_store_load(store);
    *out = store;
    return 0;
}

void leat__jpeg_store_close(leat__jpeg_store **handle) {
    leat__jpeg_store *store = *handle;
    *handle = NULL;
    if (!store) return;
    leat__jpeg_store_stop(store);
    const segment *s = (const segment *)store->segments.data;
    for (size_t i = 0; i < store->segments.size / sizeof *s; i++) leat__free_pages(s[i].memory);
    leat__buf_free(&store->segments);
    if (store->slot) leat__free_pages((void *)store->slot);
    leat__mutex_destroy(&store->mutex);
    leat__sets_close(&store->sets);
    leat__free(store->home);
    leat__free(store->cache_dir);
    leat__free(store);
}

leat__jpeg_store_facts leat__jpeg_store_facts_of(const leat__jpeg_store *store) {
    return (leat__jpeg_store_facts){.n_files = atomic_load(&store->n_files),
                                    .n_loaded = store->n_loaded,
                                    .bytes_max = store->bytes_max,
                                    .rows_only = store->each_max == 0};
}

/* ------------------------------------------------------------------------------------- take and put */

bool leat__jpeg_store_take(leat__jpeg_store *store, const uint8_t *bytes, size_t n, leat__buf *block,
                           leat__decode_positions *out) {
    block->size = 0;
    if (leat__codec_detect(bytes, n) != LEAT_CODEC_JPEG) return false;
    *out = (leat__decode_positions){
        .key = leat__jpeg_store_key(bytes, n), .block = block, .bytes_max = store->each_max};
    _Atomic(leat__jpeg_store_entry *) *place;
    leat__jpeg_store_entry *e = leat__jpeg_store_find(store, out->key, &place);
    if (!e) return place != NULL;
    if (!leat__buf_reserve(block, e->cap)) return false;
    if (!leat__jpeg_store_hold(e)) return false;
    memcpy(block->data, leat__jpeg_store_block(e), e->size);
    block->size = e->size;
    leat__jpeg_store_let_go(e);
    return true;
}

/* The writer takes the whole list at once, so adding in front of it is all that happens here. */
static void mark_dirty(leat__jpeg_store *store, leat__jpeg_store_entry *e, bool anyway) {
    if (!store->writer || atomic_load_explicit(&store->failed, memory_order_relaxed)) return;
    const unsigned how = LEAT_DIRTY_LISTED | (anyway ? LEAT_DIRTY_ANYWAY : 0);
    if (atomic_fetch_or(&e->dirty, how) & LEAT_DIRTY_LISTED) return;
    e->next = atomic_load_explicit(&store->dirty, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&store->dirty, &e->next, e, memory_order_release,
                                                  memory_order_relaxed)) {}
}

static leat__jpeg_store_entry *put_new(leat__jpeg_store *store, const leat__decode_positions *noted) {
    const size_t cap = LEAT_ALIGN_UP(noted->bytes_all, (size_t)8);
    _Atomic(leat__jpeg_store_entry *) *place;
    leat__jpeg_store_entry *e = NULL;
    leat__lock(&store->mutex);
    if (!leat__jpeg_store_find(store, noted->key, &place) && place) {
        e = leat__jpeg_store_add(store, cap);
        if (e) {
            e->key = noted->key;
            e->size = (uint32_t)noted->block->size;
            memcpy(leat__jpeg_store_block(e), noted->block->data, noted->block->size);
            atomic_store_explicit(place, e, memory_order_release);
            atomic_fetch_add(&store->n_files, 1);
        }
    }
    leat__unlock(&store->mutex);
    return e;
}

static bool put_more(leat__jpeg_store_entry *e, const leat__decode_positions *noted) {
    if (!leat__jpeg_store_hold(e)) return false;
    const bool more = noted->block->size <= e->cap && (noted->refused || noted->block->size > e->size);
    if (more) {
        memcpy(leat__jpeg_store_block(e), noted->block->data, noted->block->size);
        e->size = (uint32_t)noted->block->size;
    }
    leat__jpeg_store_let_go(e);
    return more;
}

void leat__jpeg_store_put(leat__jpeg_store *store, const leat__decode_positions *noted) {
    if (!noted->changed) return;
    _Atomic(leat__jpeg_store_entry *) *place;
    leat__jpeg_store_entry *e = leat__jpeg_store_find(store, noted->key, &place);
    if (!e) e = put_new(store, noted);
    else if (!put_more(e, noted)) e = NULL;
    if (e) mark_dirty(store, e, noted->refused);
    if (atomic_load_explicit(&store->failed, memory_order_relaxed)) leat__jpeg_store_say(store);
}
