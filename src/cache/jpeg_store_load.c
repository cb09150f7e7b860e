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

bool leat__jpeg_store_learn(leat__jpeg_store *store, const leat__positions_entry *from, uint64_t at) {
    _Atomic(leat__jpeg_store_entry *) *place;
    leat__lock(&store->mutex);
    leat__jpeg_store_entry *e = leat__jpeg_store_find(store, from->key, &place);
    const bool fresh = !e && place;
    if (fresh && (e = leat__jpeg_store_add(store, from->cap)) != NULL) e->key = from->key;
    const bool full = fresh && !e;
    if (e && e->cap == from->cap && leat__jpeg_store_hold(e)) {
        if (from->size > e->size) {
            memcpy(leat__jpeg_store_block(e), from->block, from->size);
            e->size = from->size;
        }
        leat__jpeg_store_let_go(e);
    }
    if (e && e->cap == from->cap && at) e->at = at;
    if (fresh && e) {
        atomic_store_explicit(place, e, memory_order_release);
        atomic_fetch_add(&store->n_files, 1);
    }
    leat__unlock(&store->mutex);
    return !full;
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
            if (!leat__jpeg_store_learn(store, &entry, own ? offset + at : 0)) return;
            at += leat__positions_stride(entry.cap);
        }
        if (last || at == 0) return;
        offset += at;
    }
}

/* owner: whose file is trusted besides this user's and root's. */
static void load_file(leat__jpeg_store *store, const char *path, bool own, uint32_t owner) {
    leat__file file;
    char text[PATH_MAX + 300];
    uint8_t header[LEAT_SEGMENT_HEADER];
    leat__buf chunk = {.kind = LEAT_MEM_INDEX};
    if (leat__file_open(&file, path, NULL) < 0) return;
    if (!store->open.trust && !leat__file_trusted(&file, owner)) {
        leat__file_close(&file);
        snprintf(text, sizeof text, "%s " LEAT_NOT_TRUSTED, path);
        if (store->options.log) store->options.log(store->options.user, LEAT_LOG_WARNING, text);
        return;
    }
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
    leat__stat st;
    if (!store->home || store->open.refresh) return;
    const bool remote =
        leat__is_remote(store->home); /* nothing is beside it that was not asked for at opening */
    const uint32_t owner = !remote && leat__file_stat(store->home, &st, NULL) == 0 ? st.owner : LEAT_NO_OWNER;
    if (!remote && !store->open.beside &&
        leat__side_beside(store->home, ".positions.leatseg", path, sizeof path))
        load_file(store, path, false, owner);
    if (leat__jpeg_store_path(store, false, path, sizeof path, NULL) == 0)
        load_file(store, path, true, store->open.beside ? owner : LEAT_NO_OWNER);
    store->n_loaded = atomic_load(&store->n_files);
}
