/* SPDX-License-Identifier: Apache-2.0 */
/* The table of positions, for jpeg_store.c (take and put), jpeg_store_load.c (from files) and jpeg_store_write.c (the writer). */
#ifndef LEAT_CACHE_JPEG_STORE_TABLE_H
#define LEAT_CACHE_JPEG_STORE_TABLE_H

#include "base/sets.h"
#include "base/thread.h"
#include "cache/jpeg_store.h"
#include "format/kept/positions.h"

typedef struct leat__jpeg_store_entry {
    uint64_t key;
    uint64_t at; /* its place in the file; 0: none yet. After loading only the writer's */
    struct leat__jpeg_store_entry
        *next;          /* of those that are to be written                                     */
    uint32_t cap, size; /* of the block behind it: a multiple of 8; bytes in use, under busy   */
    atomic_uint busy;
    atomic_uint dirty; /* LEAT_DIRTY_*                                                         */
} leat__jpeg_store_entry;

/* It is among those that are to be written; also if the file has more of it, which the decoder has refused. */
enum { LEAT_DIRTY_LISTED = 1, LEAT_DIRTY_ANYWAY = 2 };

typedef struct leat__jpeg_store_writer leat__jpeg_store_writer;

struct leat__jpeg_store {
    size_t bytes_max, each_max;
    leat__jpeg_store_options options; /* home and cache_dir are copies */
    leat__open_options open;
    char *home, *cache_dir;
    leat__sets *sets; /* its own, if the options have none */
    size_t mask;
    _Atomic(leat__jpeg_store_entry *) *slot;
    size_t slot_bytes;
    uint64_t n_loaded;
    uint64_t file_size, file_inode; /* of the writer's file as it was loaded; 0: there was none */
    leat__mutex mutex;              /* guards what follows */
    leat__buf segments;
    size_t bytes;
    atomic_uint_least64_t n_files;
    _Atomic(leat__jpeg_store_entry *) dirty; /* to be written, newest first */
    leat__jpeg_store_writer *writer;         /* NULL: nothing is written    */
    atomic_bool failed, said;                /* the writer could not go on; that was said */
};

static inline uint8_t *leat__jpeg_store_block(leat__jpeg_store_entry *e) {
    return (uint8_t *)(e + 1);
}
/* A flag of the entry's own; a thread that does not get it goes without. */
static inline bool leat__jpeg_store_hold(leat__jpeg_store_entry *e) {
    return atomic_exchange_explicit(&e->busy, 1, memory_order_acquire) == 0;
}
static inline void leat__jpeg_store_let_go(leat__jpeg_store_entry *e) {
    atomic_store_explicit(&e->busy, 0, memory_order_release);
}
/* The entry of a key, or the free slot where it belongs. A table that is full has neither. */
leat__jpeg_store_entry *leat__jpeg_store_find(const leat__jpeg_store *store, uint64_t key,
                                              _Atomic(leat__jpeg_store_entry *) **place);
/* Memory for an entry with a block of cap bytes; NULL when there is none, or no more may be used. With the mutex held. */
leat__jpeg_store_entry *leat__jpeg_store_add(leat__jpeg_store *store, size_t cap);

/* jpeg_store_load.c: the file that the writer writes; make: its folder too. */
int leat__jpeg_store_path(leat__jpeg_store *store, bool make, char *out, size_t cap, leat_error *err);
void leat__jpeg_store_load(leat__jpeg_store *store);
/* Takes an entry of a file into the table, where it counts if it knows more than the one that is there. at: its place in the
 * writer's file, 0 if it is in another file. False: no more memory. */
bool leat__jpeg_store_learn(leat__jpeg_store *store, const leat__positions_entry *from, uint64_t at);

/* jpeg_store_write.c: says once why positions are not kept. */
void leat__jpeg_store_say(leat__jpeg_store *store);
/* Ends the writer within about a second. */
void leat__jpeg_store_stop(leat__jpeg_store *store);

#endif
