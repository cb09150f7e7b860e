/* SPDX-License-Identifier: Apache-2.0 */
/* Positions from the files of earlier runs: the one beside the data, if there is one, and the one in the cache directory. */
#include <limits.h>
#include <stdio.h>

#include "cache/jpeg_store_table.h"
#include "source/side.h"

enum { CHUNK = 1 << 20 };

int leat__jpeg_store_path(leat__jpeg_store *store, bool make, char *out, size_t cap, leat_error *err) {
    char folder[PATH_MAX];
    if (store->open.beside)
        return leat__side_beside(store->home, ".positions.leatseg", out, cap)
                   ? 0
                   : leat__fail(err, LEAT_ERR_ARGUMENT, "the path has %zu bytes", strlen(store->home));
    LEAT_TRY(leat__sets_folder(store->open.sets, store->home, make, folder, sizeof folder, err));
    const int used = snprintf(out, cap, "%s/" LEAT_SETS_POSITIONS, folder);
    return used > 0 && (size_t)used < cap
               ? 0
               : leat__fail(err, LEAT_ERR_ARGUMENT, "the path has %zu bytes", strlen(folder));
}

/* at: its place in the writer's file, 0 if it is in another file. False: no more memory. */
static bool load_entry(leat__jpeg_store *store, const leat__positions_entry *from, uint64_t at) {
    _Atomic(leat__jpeg_store_entry *) *place;
    leat__jpeg_store_entry *e = leat__jpeg_store_find(store, from->key, &place);
    if (!e && !place) return true;
    const bool fresh = !e;
    if (fresh) {
        e = leat__jpeg_store_add(store, from->cap);
        if (!e) return false;
        e->key = from->key;
    } else if (e->cap != from->cap) {
        return true;
    }
    if (fresh || from->size > e->size) {
        memcpy(leat__jpeg_store_block(e), from->block, from->size);
        e->size = from->size;
    }
    if (at) e->at = at;
    if (!fresh) return true;
    atomic_store_explicit(place, e, memory_order_relaxed);
    store->n_loaded++;
    return true;
}

static void load_entries(leat__jpeg_store *store, const leat__file *file, const char *path, bool own,
                         leat__buf *chunk) {
    uint64_t offset = LEAT_SEGMENT_HEADER;
    while (file->size > offset) {
        const size_t n = (size_t)LEAT_MIN(file->size - offset, (uint64_t)CHUNK);
        const bool last = offset + n == file->size;
        size_t at = 0;
        leat__positions_entry entry;
        if (leat__file_read_at(file, chunk->data, n, offset, path, NULL) < 0) return;
        while (leat__positions_next(chunk->data, n, last, &at, &entry)) {
            if (!load_entry(store, &entry, own ? offset + at : 0)) return;
            at += leat__positions_stride(entry.cap);
        }
        if (last || at == 0) return;
        offset += at;
    }
}

static void load_file(leat__jpeg_store *store, const char *path, bool own) {
    leat__file file;
    uint8_t header[LEAT_SEGMENT_HEADER];
    leat__buf chunk = {.kind = LEAT_MEM_INDEX};
    if (leat__file_open(&file, path, NULL) < 0) return;
    if (file.size >= sizeof header && leat__file_read_at(&file, header, sizeof header, 0, path, NULL) == 0 &&
        leat__positions_check_header(header) && leat__buf_reserve_exactly(&chunk, CHUNK)) {
        if (own) store->file_size = file.size, store->file_inode = file.inode;
        load_entries(store, &file, path, own, &chunk);
    }
    leat__buf_free(&chunk);
    leat__file_close(&file);
}

void leat__jpeg_store_load(leat__jpeg_store *store) {
    char path[PATH_MAX];
    if (!store->home || store->open.refresh) return;
    if (!store->open.beside && leat__side_beside(store->home, ".positions.leatseg", path, sizeof path))
        load_file(store, path, false);
    if (leat__jpeg_store_path(store, false, path, sizeof path, NULL) == 0) load_file(store, path, true);
    atomic_store(&store->n_files, store->n_loaded);
}
