/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk, for cache_disk.c (what is there) and cache_write.c (what is added).
 *
 *     PATH/KEY/about.txt               all that the content depends on; KEY is its hash
 *     PATH/KEY/lock, lock-1, lock-2    each held by a process that writes: ranks and feeders make different samples, so each of
 *                                      them has a lock of its own
 *     PATH/KEY/room                    held while a process looks whether the limit of the text leaves room
 *     PATH/KEY/segment-000001.leatseg  complete: never changes any more
 *     PATH/KEY/segment-000002.open     locked: being written; not locked: left behind by a process that was killed
 *
 * Another dataset, pipeline or version has another key, and so another directory: nothing stale is ever found, and nothing
 * old is in the way. The layout of a segment is in format/segment.h. */
#ifndef LEAT_CACHE_CACHE_DISK_H
#define LEAT_CACHE_CACHE_DISK_H

#include "cache/cache.h"

#define LEAT_DISK_SEGMENTS 16384
#define LEAT_DISK_NUMBERS (1 << 20) /* of segments, in their names */
#define LEAT_DISK_KEEP_OPEN 256

typedef struct leat__disk_segment {
    uint32_t number;
    leat__file
        file; /* to read, open as long as the cache; closed: there are too many, every hand opens it itself */
    /* While it is being written, under the mutex: */
    leat__file writer;
    uint64_t end;     /* of what is taken; of what was seen, if another process writes it */
    uint64_t room;    /* where the file ends, under a limit */
    uint64_t n_taken; /* entries in what is taken */
    int pending;      /* writes under way */
    bool full;        /* no further entry fits */
    bool followed;    /* another process writes it */
    leat__buf table;
} leat__disk_segment;

struct leat__cache_piece { /* entries that one hand has gathered */
    leat__cache_piece *next;
    leat__mutex mutex;
    uint64_t begun_ns; /* when the first of them came */
    leat__buf bytes;
    leat__buf places; /* of leat__segment_place, counted from the beginning of the piece */
};

enum { LEAT_DISK_READY, LEAT_DISK_WRITING, LEAT_DISK_STOPPED };

struct leat__disk {
    char *folder;
    uint8_t key[LEAT_SEGMENT_KEY];
    /* Under the mutex; what a published place names is set before and stays. */
    leat__disk_segment *segment[LEAT_DISK_SEGMENTS];
    int n_segments;
    uint32_t number_max;
    uint8_t known[LEAT_DISK_NUMBERS / 8]; /* a bit for each number that was looked at */
    leat__buf open;                       /* of uint32_t: open segments that the last look has seen */
    atomic_bool doubtful;                 /* something was damaged: every checksum is compared from now on */
    atomic_int mode;
    leat__journal lock;
    atomic_uint_least64_t look_ns; /* when to look next at what others have added; 0 = never */
    leat__disk_segment *current;   /* that entries are added to */
    leat__cache_piece *pieces;
    /* For people, when it was opened: */
    uint64_t n_found, found_bytes;
    int n_others;
    char trouble[400];
};

enum { LEAT_DISK_PATH = 4096 };
void leat__disk_path(const leat__disk *disk, uint32_t number, bool whole, char out[LEAT_DISK_PATH]);
/* cache_look.c. Looks for segments that are not known yet, and what has been added to those of others. With the mutex held, or
 * alone. */
int leat__disk_look(leat__cache *cache, leat_error *err);
/* Bytes of all segments, with what is only taken. */
uint64_t leat__disk_weigh(const leat__disk *disk);
/* The number of a segment; false: the name is another one. */
bool leat__disk_read_name(const char *name, uint32_t *number, bool *whole);

/* A new entry of the list of segments; NULL: there are too many, or no memory. */
leat__disk_segment *leat__disk_segment_add(leat__disk *disk, uint32_t number, int *index);
/* The entries of a file from *end, or 0 for its beginning, to the first that does not check out, as a table; then *end is behind the
 * last one. verify: payloads too. */
int leat__disk_walk(const leat__file *file, const char *path, const uint8_t key[LEAT_SEGMENT_KEY],
                    bool verify, leat__buf *table, uint64_t *end);
/* Takes the entries of a table into the cache. */
void leat__disk_publish(leat__cache *cache, int index, const uint8_t *table, uint64_t n);

/* cache_write.c */
/* Recovers segments left by killed processes. When the cache is opened. */
void leat__disk_recover(leat__cache *cache);
void leat__disk_finish(leat__cache *cache);

#endif
