/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/notes_table.h"

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

leat__notes_entry *leat__notes_find(const leat__notes *notes, uint64_t key,
                                    _Atomic(leat__notes_entry *) **place) {
    *place = NULL;
    for (size_t i = 0; i <= LEAT_MIN(notes->mask, (size_t)64); i++) {
        _Atomic(leat__notes_entry *) *slot = &notes->slot[(key + i) & notes->mask];
        leat__notes_entry *e = atomic_load_explicit(slot, memory_order_acquire);
        if (e && e->key == key) return e;
        if (e) continue;
        *place = slot;
        return NULL;
    }
    return NULL;
}

leat__notes_entry *leat__notes_add(leat__notes *notes, size_t cap) {
    segment *s = (segment *)notes->segments.data;
    const size_t n = notes->segments.size / sizeof *s, bytes = sizeof(leat__notes_entry) + cap;
    segment *last = n ? &s[n - 1] : NULL;
    if (cap > LEAT_POSITIONS_CAP || bytes > notes->bytes_max || notes->bytes > notes->bytes_max - bytes)
        return NULL;
    if (!last || last->bytes - last->used < bytes) {
        segment fresh = {.bytes = LEAT_MAX(bytes, (size_t)SEGMENT)};
        if (!leat__buf_reserve(&notes->segments, notes->segments.size + sizeof fresh)) return NULL;
        fresh.memory = leat__alloc_pages(fresh.bytes);
        if (!fresh.memory) return NULL;
        leat__buf_append(&notes->segments, &fresh, sizeof fresh);
        last = (segment *)notes->segments.data + n;
    }
    leat__notes_entry *e = (leat__notes_entry *)(void *)(last->memory + last->used);
    last->used += bytes;
    notes->bytes += bytes;
    e->cap = (uint32_t)cap;
    return e;
}

/* --------------------------------------------------------------------------------- opening, closing */

static int copy_names(leat__notes *notes, leat_error *err) {
    const leat__notes_options *options = &notes->options;
    notes->open = *options->open;
    notes->open.progress = NULL;
    if (!options->home || notes->open.no_side_files) return 0;
    notes->home = leat__real_path(options->home);
    if (!notes->home) return leat__fail_memory(err, PATH_MAX, "a path");
    if (notes->open.cache_dir) {
        notes->cache_dir = leat__strdup(LEAT_MEM_INDEX, notes->open.cache_dir);
        if (!notes->cache_dir) return leat__fail_memory(err, PATH_MAX, "a path");
    }
    notes->open.cache_dir = notes->cache_dir;
    if (notes->open.sets || notes->open.beside) return 0;
    /* Without a cache directory there is nothing to load, and nothing is kept. */
    if (leat__sets_open(&notes->sets, notes->cache_dir, NULL) < 0) {
        leat__free(notes->home);
        notes->home = NULL;
    }
    notes->open.sets = notes->sets;
    return 0;
}

int leat__notes_open(leat__notes **out, const leat__notes_options *options, leat_error *err) {
    *out = NULL;
    leat__notes *notes = leat__alloc(LEAT_MEM_INDEX, sizeof *notes);
    if (!notes) return leat__fail_memory(err, sizeof *notes, "positions in JPEG files");
    notes->options = *options;
    notes->bytes_max = LEAT_MIN(options->bytes_max, LEAT_NOTES_BYTES_MAX);
    notes->segments.kind = LEAT_MEM_INDEX;
    const uint64_t n_files = LEAT_CLAMP(options->n_files, (uint64_t)1, (uint64_t)SLOTS_MAX / 2);
    const bool small = options->n_files != UINT64_MAX && notes->bytes_max / n_files < SMALL;
    notes->each_max = small ? 0 : notes->bytes_max;
    size_t n_slots = 128;
    while (n_slots < 2 * n_files && n_slots < notes->bytes_max / sizeof(leat__notes_entry)) n_slots *= 2;
    notes->mask = n_slots - 1;
    notes->slot_bytes = n_slots * sizeof *notes->slot;
    notes->slot = leat__alloc_pages(notes->slot_bytes);
    int rc = leat__mutex_init(&notes->mutex, LEAT_LOCK_POSITIONS, err);
    if (rc < 0) {
        if (notes->slot) leat__free_pages((void *)notes->slot);
        leat__free(notes);
        return rc;
    }
    rc = notes->slot ? copy_names(notes, err)
                     : leat__fail_memory(err, notes->slot_bytes, "positions in JPEG files");
    if (rc < 0) {
        leat__notes_close(&notes);
        return rc;
    }
    leat__notes_load(notes);
    *out = notes;
    return 0;
}

void leat__notes_close(leat__notes **handle) {
    leat__notes *notes = *handle;
    *handle = NULL;
    if (!notes) return;
    leat__notes_stop(notes);
    const segment *s = (const segment *)notes->segments.data;
    for (size_t i = 0; i < notes->segments.size / sizeof *s; i++) leat__free_pages(s[i].memory);
    leat__buf_free(&notes->segments);
    if (notes->slot) leat__free_pages((void *)notes->slot);
    leat__mutex_destroy(&notes->mutex);
    leat__sets_close(&notes->sets);
    leat__free(notes->home);
    leat__free(notes->cache_dir);
    leat__free(notes);
}

leat__notes_facts leat__notes_facts_of(const leat__notes *notes) {
    return (leat__notes_facts){.n_files = atomic_load(&notes->n_files),
                               .n_loaded = notes->n_loaded,
                               .bytes_max = notes->bytes_max,
                               .rows_only = notes->each_max == 0};
}

/* ------------------------------------------------------------------------------------- take and put */

bool leat__notes_take(leat__notes *notes, const uint8_t *bytes, size_t n, leat__buf *block,
                      leat__decode_notes *out) {
    block->size = 0;
    if (leat__codec_detect(bytes, n) != LEAT_CODEC_JPEG) return false;
    *out =
        (leat__decode_notes){.key = leat__notes_key(bytes, n), .block = block, .bytes_max = notes->each_max};
    _Atomic(leat__notes_entry *) *place;
    leat__notes_entry *e = leat__notes_find(notes, out->key, &place);
    if (!e) return place != NULL;
    if (!leat__buf_reserve(block, e->cap)) return false;
    if (!leat__notes_hold(e)) return false;
    memcpy(block->data, leat__notes_block(e), e->size);
    block->size = e->size;
    leat__notes_let_go(e);
    return true;
}

/* The writer takes the whole list at once, so adding in front of it is all that happens here. */
static void mark_dirty(leat__notes *notes, leat__notes_entry *e) {
    if (!notes->writer || atomic_load_explicit(&notes->failed, memory_order_relaxed)) return;
    if (atomic_exchange(&e->dirty, 1)) return;
    e->next = atomic_load_explicit(&notes->dirty, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&notes->dirty, &e->next, e, memory_order_release,
                                                  memory_order_relaxed)) {}
}

static leat__notes_entry *put_new(leat__notes *notes, const leat__decode_notes *noted) {
    const size_t cap = LEAT_ALIGN_UP(noted->bytes_all, (size_t)8);
    _Atomic(leat__notes_entry *) *place;
    leat__notes_entry *e = NULL;
    leat__lock(&notes->mutex);
    if (!leat__notes_find(notes, noted->key, &place) && place) {
        e = leat__notes_add(notes, cap);
        if (e) {
            e->key = noted->key;
            e->size = (uint32_t)noted->block->size;
            memcpy(leat__notes_block(e), noted->block->data, noted->block->size);
            atomic_store_explicit(place, e, memory_order_release);
            atomic_fetch_add(&notes->n_files, 1);
        }
    }
    leat__unlock(&notes->mutex);
    return e;
}

static bool put_more(leat__notes_entry *e, const leat__decode_notes *noted) {
    if (!leat__notes_hold(e)) return false;
    const bool more = noted->block->size <= e->cap && (noted->refused || noted->block->size > e->size);
    if (more) {
        memcpy(leat__notes_block(e), noted->block->data, noted->block->size);
        e->size = (uint32_t)noted->block->size;
    }
    leat__notes_let_go(e);
    return more;
}

void leat__notes_put(leat__notes *notes, const leat__decode_notes *noted) {
    if (!noted->changed) return;
    _Atomic(leat__notes_entry *) *place;
    leat__notes_entry *e = leat__notes_find(notes, noted->key, &place);
    if (!e) e = put_new(notes, noted);
    else if (!put_more(e, noted)) e = NULL;
    if (e) mark_dirty(notes, e);
    if (atomic_load_explicit(&notes->failed, memory_order_relaxed)) leat__notes_say(notes);
}
