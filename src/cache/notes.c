/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of the side file is the memory of the table as it stands: a version (4 bytes, and 4 of zeros), then entries
 * one after the other. Loading walks over them and compares lengths; what a block says is for the decoder to judge, which
 * does so at every use. */
#include "cache/notes.h"

#include <limits.h>
#include <stdio.h>

#include "base/thread.h"
#include "source/side.h"

enum {
    VERSION = 1,
    SEGMENT = 2 << 20,
    SMALL = 4096, /* bytes for each file below which only the beginnings of rows are noted */
    SLOTS_MAX = 1 << 24
};

typedef struct entry {
    uint64_t key;
    uint32_t cap, size; /* of the block behind it: a multiple of 8, and bytes in use; size under the flag */
    atomic_uint busy;
    uint32_t zero;
} entry;

typedef struct segment {
    uint8_t *memory;
    size_t bytes, used;
} segment;

struct leat__notes {
    size_t bytes_max, each_max;
    char *name;
    leat__open_options open;
    char *cache_dir;
    size_t mask;
    _Atomic(entry *) *slot;
    size_t slot_bytes;
    leat__buf loaded;        /* the side file               */
    leat__sidefile_part old; /* its entries                 */
    uint64_t n_loaded;       /* and how many they are       */
    leat__mutex mutex;       /* guards what follows */
    leat__buf segments;
    size_t bytes;
    atomic_uint_least64_t n_files, n_new;
};

static uint8_t *block_of(entry *e) {
    return (uint8_t *)(e + 1);
}

/* The entry of a key, or the free slot where it belongs. A table that is full has neither. */
static entry *find(const leat__notes *notes, uint64_t key, _Atomic(entry *) **place) {
    *place = NULL;
    for (size_t i = 0; i <= LEAT_MIN(notes->mask, (size_t)64); i++) {
        _Atomic(entry *) *slot = &notes->slot[(key + i) & notes->mask];
        entry *e = atomic_load_explicit(slot, memory_order_acquire);
        if (e && e->key == key) return e;
        if (e) continue;
        *place = slot;
        return NULL;
    }
    return NULL;
}

static bool hold(entry *e) {
    return atomic_exchange_explicit(&e->busy, 1, memory_order_acquire) == 0;
}
static void let_go(entry *e) {
    atomic_store_explicit(&e->busy, 0, memory_order_release);
}

/* ---------------------------------------------------------------------------------------- side file */

static void load(leat__notes *notes) {
    const uint8_t *payload;
    size_t n, at = 8;
    uint32_t version = 0;
    notes->loaded.kind = LEAT_MEM_INDEX;
    const bool there = notes->name && leat__side_load_most(notes->name, LEAT_SIDEFILE_NOTES, &notes->open,
                                                           notes->bytes_max, &notes->loaded, &payload, &n);
    if (there && n >= at) memcpy(&version, payload, sizeof version);
    if (version != VERSION) {
        leat__buf_free(&notes->loaded);
        return;
    }
    uint8_t *const bytes = notes->loaded.data + (payload - notes->loaded.data);
    while (n - at >= sizeof(entry)) {
        entry *e = (entry *)(void *)(bytes + at);
        if (e->cap > n - at - sizeof *e || e->cap == 0 || e->cap % 8 || e->size > e->cap) break;
        atomic_init(&e->busy, 0);
        _Atomic(entry *) *place;
        if (!find(notes, e->key, &place) && place) {
            atomic_store_explicit(place, e, memory_order_relaxed);
            notes->n_loaded++;
        }
        at += sizeof *e + e->cap;
    }
    /* What does not make sense is not written again. */
    notes->old = (leat__sidefile_part){bytes + 8, at - 8};
    notes->bytes = at;
    atomic_store(&notes->n_files, notes->n_loaded);
}

int leat__notes_store(leat__notes *notes, leat_error *err) {
    if (!notes->name || atomic_load(&notes->n_new) == 0) return 0;
    const uint32_t head[2] = {VERSION, 0};
    const segment *s = (const segment *)notes->segments.data;
    const size_t n = notes->segments.size / sizeof *s;
    leat__sidefile_part *part = leat__alloc(LEAT_MEM_INDEX, (n + 2) * sizeof *part);
    if (!part) return leat__fail_memory(err, (n + 2) * sizeof *part, "checkpoints");
    part[0] = (leat__sidefile_part){head, sizeof head};
    part[1] = notes->old;
    for (size_t i = 0; i < n; i++) part[i + 2] = (leat__sidefile_part){s[i].memory, s[i].used};
    leat_error why;
    leat__error_clear(&why);
    const bool kept =
        leat__side_store_parts(notes->name, LEAT_SIDEFILE_NOTES, &notes->open, part, n + 2, &why);
    leat__free(part);
    if (kept) atomic_store(&notes->n_new, 0);
    return kept ? 0 : leat__fail(err, LEAT_ERR_IO, "the checkpoints are not kept: %.300s", why.message);
}

/* --------------------------------------------------------------------------------- opening, closing */

static bool copy_names(leat__notes *notes, const leat__notes_options *options) {
    notes->open = *options->open;
    notes->open.progress = NULL;
    if (options->open->cache_dir) {
        notes->cache_dir = leat__strdup(LEAT_MEM_INDEX, options->open->cache_dir);
        if (!notes->cache_dir) return false;
        notes->open.cache_dir = notes->cache_dir;
    }
    if (!options->home || notes->open.no_side_files) return true;
    const size_t n = strlen(options->home) + sizeof ".checkpoints";
    notes->name = leat__alloc(LEAT_MEM_INDEX, n);
    if (notes->name) snprintf(notes->name, n, "%s.checkpoints", options->home);
    return notes->name != NULL;
}

int leat__notes_open(leat__notes **out, const leat__notes_options *options, leat_error *err) {
    *out = NULL;
    leat__notes *notes = leat__alloc(LEAT_MEM_INDEX, sizeof *notes);
    if (!notes) return leat__fail_memory(err, sizeof *notes, "checkpoints");
    notes->bytes_max = LEAT_MIN(options->bytes_max, LEAT_NOTES_BYTES_MAX);
    notes->segments.kind = LEAT_MEM_INDEX;
    const uint64_t n_files = LEAT_CLAMP(options->n_files, (uint64_t)1, (uint64_t)SLOTS_MAX / 2);
    const bool small = options->n_files != UINT64_MAX && notes->bytes_max / n_files < SMALL;
    notes->each_max = small ? 0 : notes->bytes_max;
    size_t n_slots = 128;
    while (n_slots < 2 * n_files && n_slots < notes->bytes_max / sizeof(entry)) n_slots *= 2;
    notes->mask = n_slots - 1;
    notes->slot_bytes = n_slots * sizeof *notes->slot;
    notes->slot = leat__alloc_pages(notes->slot_bytes);
    int rc = leat__mutex_init(&notes->mutex, err);
    if (rc < 0) {
        if (notes->slot) leat__free_pages((void *)notes->slot);
        leat__free(notes);
        return rc;
    }
    if (!notes->slot || !copy_names(notes, options)) {
        leat__notes_close(&notes);
        return leat__fail_memory(err, n_slots * sizeof *notes->slot, "checkpoints");
    }
    load(notes);
    *out = notes;
    return 0;
}

void leat__notes_close(leat__notes **handle) {
    leat__notes *notes = *handle;
    *handle = NULL;
    if (!notes) return;
    const segment *s = (const segment *)notes->segments.data;
    for (size_t i = 0; i < notes->segments.size / sizeof *s; i++) leat__free_pages(s[i].memory);
    leat__buf_free(&notes->segments);
    leat__buf_free(&notes->loaded);
    if (notes->slot) leat__free_pages((void *)notes->slot);
    pthread_mutex_destroy(&notes->mutex);
    leat__free(notes->name);
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
    _Atomic(entry *) *place;
    entry *e = find(notes, out->key, &place);
    if (!e) return place != NULL;
    if (!leat__buf_reserve(block, e->cap)) return false;
    if (!hold(e)) return false;
    memcpy(block->data, block_of(e), e->size);
    block->size = e->size;
    let_go(e);
    return true;
}

/* Memory for one more entry; NULL when there is none, or no more may be used. With the mutex held. */
static entry *add_entry(leat__notes *notes, size_t bytes) {
    segment *s = (segment *)notes->segments.data;
    const size_t n = notes->segments.size / sizeof *s;
    segment *last = n ? &s[n - 1] : NULL;
    if (bytes > notes->bytes_max || notes->bytes > notes->bytes_max - bytes) return NULL;
    if (!last || last->bytes - last->used < bytes) {
        segment fresh = {.bytes = LEAT_MAX(bytes, (size_t)SEGMENT)};
        if (!leat__buf_reserve(&notes->segments, notes->segments.size + sizeof fresh)) return NULL;
        fresh.memory = leat__alloc_pages(fresh.bytes);
        if (!fresh.memory) return NULL;
        leat__buf_append(&notes->segments, &fresh, sizeof fresh);
        last = (segment *)notes->segments.data + n;
    }
    entry *e = (entry *)(void *)(last->memory + last->used);
    last->used += bytes;
    notes->bytes += bytes;
    return e;
}

static void put_new(leat__notes *notes, const leat__decode_notes *noted) {
    const size_t cap = LEAT_ALIGN_UP(noted->bytes_all, (size_t)8);
    _Atomic(entry *) *place;
    leat__lock(&notes->mutex);
    if (!find(notes, noted->key, &place) && place) {
        entry *e = add_entry(notes, sizeof *e + cap);
        if (e) {
            e->key = noted->key;
            e->cap = (uint32_t)cap;
            e->size = (uint32_t)noted->block->size;
            memcpy(block_of(e), noted->block->data, noted->block->size);
            atomic_store_explicit(place, e, memory_order_release);
            atomic_fetch_add(&notes->n_files, 1);
            atomic_fetch_add(&notes->n_new, 1);
        }
    }
    leat__unlock(&notes->mutex);
}

void leat__notes_put(leat__notes *notes, const leat__decode_notes *noted) {
    if (!noted->changed) return;
    _Atomic(entry *) *place;
    entry *e = find(notes, noted->key, &place);
    if (!e) {
        put_new(notes, noted);
        return;
    }
    if (!hold(e)) return;
    if (noted->block->size <= e->cap && (noted->refused || noted->block->size > e->size)) {
        memcpy(block_of(e), noted->block->data, noted->block->size);
        e->size = (uint32_t)noted->block->size;
        atomic_fetch_add(&notes->n_new, 1);
    }
    let_go(e);
}
