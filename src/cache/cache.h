/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of samples: the values that the fields have at one point of the plan, kept by the number of the sample.
 *
 *     steps before the point -> values --(put)--> [ table: sample -> place ] --(take)--> steps behind it
 *
 * Workers fill it while they work, whenever they have made a sample that is not in it, and take what is there instead of
 * making it. What is kept is a function of the sample alone, so whether it is there, and which worker put it there, shows in no
 * batch. Nothing is ever thrown out: epochs visit every sample once, and in such a round whatever is evicted is what is
 * needed next. What does not fit is made anew each time.
 *
 * The table has a word for each sample, 0 = not there, BUSY = a worker is about to put it there, else its place. It is
 * published with release and read with acquire, so readers take no lock. Places are addresses (cache_memory.c) or
 * segments and offsets (cache_disk.c reads, cache_write.c writes). */
#ifndef LEAT_CACHE_CACHE_H
#define LEAT_CACHE_CACHE_H

#include "base/thread.h"
#include "format/kept/bundle.h"
#include "format/kept/segment.h"
#include "source/source.h"

typedef struct leat__caching { /* what the text asks for: a part of the plan                       */
    bool wanted;
    bool freeze;       /* operations before it draw by the number of the sample            */
    int step;          /* steps before it: what they make is kept                          */
    const char *path;  /* of the directory, NULL = in memory                               */
    uint64_t max;      /* bytes, 0 = not given                                              */
    uint64_t contents; /* of files that operations before it read, as a hash               */
    int last_use;      /* number of the operation itself in the spec                       */
    int n_fields;
    int value[LEAT_FIELDS_MAX];
    char name[LEAT_FIELDS_MAX][64];
    leat__bundle_field field[LEAT_FIELDS_MAX];
    bool nchw[LEAT_FIELDS_MAX]; /* asked for before it                                     */
    bool fixed;                 /* all samples have one size: part and bytes are known     */
    leat__bundle_part part[LEAT_FIELDS_MAX];
    size_t bytes;
    bool direct;                 /* some fields go into the batch as they are: */
    int output[LEAT_FIELDS_MAX]; /* as this one, or -1                         */
} leat__caching;

typedef struct leat__cache leat__cache;
typedef struct leat__cache_piece leat__cache_piece;

#define LEAT_HAND_FILES 16

typedef struct leat__cache_hand { /* what one worker needs for it; zeroed = empty          */
    leat__buf bytes;              /* an entry from disk                                    */
    leat__cache_piece *piece;     /* entries on their way to disk; the cache's             */
    struct {
        uint32_t number;
        leat__file file;
    } open[LEAT_HAND_FILES]; /* segments, when there are too many to keep all open    */
    uint64_t hits, misses, bad;
} leat__cache_hand;

typedef struct leat__cache_options {
    const leat__caching *plan; /* outlives the cache                                       */
    uint64_t n_samples;        /* LEAT_ENDLESS if not known                                */
    uint64_t bytes_max;        /* of memory or of disk                                     */
    const char *about;         /* on disk: all that its content depends on, as text        */
    uint64_t maker;            /* number among the processes that make different samples   */
    size_t segment_bytes;      /* 0 = 64 MiB                                               */
    bool trust;                /* segments of other users too                              */
    leat_log_fn log;
    void *user;
} leat__cache_options;

/* On disk: looks what is there. Nothing is made or allocated before the first put, and a directory that cannot be used is
 * no error: it is said in the plan and, when it matters, by the log. */
int leat__cache_open(leat__cache **out, const leat__cache_options *options, leat_error *err);
/* Completes what is being written. No worker uses the cache any more. */
void leat__cache_close(leat__cache **cache);
/* The sample's values, by the numbers of the plan's values; false if it is not there. They live until the hand's next take.
 * into: NULL, or for each field NULL or where its values may be put if they do not lie in memory. */
bool leat__cache_take(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, uint8_t *const *into,
                      leat__value *values);
/* Writes what workers have gathered, so that other processes can take it: at the end of an epoch. Any thread, without a lock held. */
void leat__cache_flush(leat__cache *cache);
/* Looks for what other processes have kept, if the last look is long ago. Without any lock held. */
void leat__cache_refresh(leat__cache *cache);
/* Whether it is there, or a worker has just made it. A look only: it may be gone when it is taken. */
bool leat__cache_holds(leat__cache *cache, uint64_t sample);
/* Keeps the values of a sample if there is room and no other worker does. */
void leat__cache_put(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, const leat__value *values);
void leat__cache_hand_free(leat__cache_hand *hand);
uint64_t leat__cache_bytes(leat__cache *cache);
/* Whether every sample of the source was there at some time. */
bool leat__cache_complete(leat__cache *cache);
/* One line for `leat plan`, without its end. */
void leat__cache_describe(leat__cache *cache, char *text, size_t cap);

/* ------------------------------------------------------------------------------------- for cache*.c only */

enum { LEAT_CACHE_BUSY = 1, LEAT_CACHE_CHUNK = 1 << 14 };
#define LEAT_CACHE_CHECKED \
    (UINT32_C(1) << 31) /* in a length: the checksum was right when it was last compared */
#define LEAT_CACHE_SEGMENT ((size_t)64 << 20)
#define LEAT_CACHE_SAMPLES ((uint64_t)1 << 32) /* later ones are not kept */

typedef struct leat__cache_chunk { /* of the table */
    atomic_uint_least64_t place[LEAT_CACHE_CHUNK];
    atomic_uint_least32_t length[LEAT_CACHE_CHUNK]; /* of the bundle, below 2 GiB */
} leat__cache_chunk;

typedef struct leat__memory { /* cache_memory.c; under the mutex */
    leat__buf segments;       /* of {address, bytes} */
    uint8_t *at;              /* free part of the newest one */
    size_t left;
    uint64_t allocated;
} leat__memory;

typedef struct leat__disk leat__disk;

struct leat__cache {
    leat__cache_options options;
    size_t n_chunks;
    _Atomic(leat__cache_chunk *) *chunk;
    leat__mutex mutex;
    atomic_uint_least64_t bytes;  /* of all entries                           */
    atomic_uint_least64_t n_kept; /* samples that are there                   */
    atomic_bool said;             /* that something is wrong: once is enough  */
    leat__memory memory;
    leat__disk *disk; /* NULL: in memory                          */
};

/* The chunk of a sample; made if wanted, NULL without memory or beyond the end. */
leat__cache_chunk *leat__cache_chunk_of(leat__cache *cache, uint64_t sample, bool make);
/* Publishes a place: from here on others read it. */
void leat__cache_publish(leat__cache *cache, uint64_t sample, uint64_t place, uint32_t length);
/* Gives a claimed sample back. */
void leat__cache_unclaim(leat__cache *cache, uint64_t sample);
/* Tells the program, once. */
void leat__cache_say(leat__cache *cache, const char *fmt, ...) LEAT_PRINTF(2, 3);
/* Makes values of a bundle. */
void leat__cache_unpack(const leat__caching *plan, const uint8_t *bundle, const leat__bundle_part *part,
                        leat__value *values);

bool leat__memory_put(leat__cache *cache, uint64_t sample, const leat__bundle_part *part, size_t bytes,
                      const leat__value *values);
void leat__memory_free(leat__cache *cache);

int leat__disk_open(leat__cache *cache, leat_error *err);
void leat__disk_close(leat__cache *cache);
bool leat__disk_take(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, uint64_t place,
                     uint32_t length, uint8_t *const *into, leat__value *values);
/* False: nothing can be written; the sample is not claimed any more. */
bool leat__disk_put(leat__cache *cache, leat__cache_hand *hand, uint64_t sample,
                    const leat__bundle_part *part, size_t bytes, const leat__value *values);
/* Writes what a hand has gathered; what all have; what one has gathered long ago. */
void leat__disk_flush(leat__cache *cache, leat__cache_piece *piece);
void leat__disk_flush_all(leat__cache *cache);
void leat__disk_flush_old(leat__cache *cache, leat__cache_piece *piece);
/* Looks what other processes have added, if the last look is long ago. */
void leat__disk_refresh(leat__cache *cache);
bool leat__disk_writes(const leat__cache *cache);
void leat__disk_describe(leat__cache *cache, char *text, size_t cap);

#endif
