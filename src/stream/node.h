/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share.
 *
 * A stream is a tree of nodes. A leaf reads the shards of one data set; the other nodes combine their parts. Every node has
 * a window: the samples that its order can choose from. A node emits its samples into the window in an order that does not
 * depend on which reader thread is faster:
 *
 *     open shards   shard 7  [block][block]      read before its turn         shard_readers.c
 *                   shard 6  [block][block][..   read now
 *     window        [record][record][record]     numbered                     shard_order.c, combined.c, window.c
 *
 * A record stays in the block that it was read into. A block leaves the window when no position still to come can need it,
 * and its memory is used again when no batch keeps a record of it.
 *
 * A run is one pass through a node's samples. All of this is guarded by the stream's lock; reading, inflating and filtering
 * happen without it. */
#ifndef LEAT_STREAM_NODE_H
#define LEAT_STREAM_NODE_H

#include "plan/select.h"
#include "source/shard.h"
#include "stream/stream.h"

#define LEAT_INFLATERS_MAX 16
#define LEAT_OPEN_SHARDS_MAX (LEAT_CYCLE_MAX + LEAT_INFLATERS_MAX)
#define LEAT_SPARE_BLOCKS 2 /* reserved for the shard that is emitted now */

typedef struct leat__node leat__node;

typedef struct leat__mark_node { /* of one node */
    bool set;
    uint64_t iteration;     /* the order's name for the run                                       */
    uint64_t shard;         /* holds the first record that a later position may need; of interleaved
                               shards, the next that is not open yet; of a combination, none      */
    uint64_t first, origin; /* records before, without and with those that filters drop           */
    uint64_t records;       /* in the whole run, if the position depends on it; 0 = it does not   */
    bool cycled;            /* shards are interleaved, and this is not the beginning of a run: */
    uint64_t at, in_block;  /* the place that has its turn, and its records in this turn       */
    uint64_t position;      /* a part: samples of it before, in the run of the whole           */
    bool ended;             /* ... and it has no more                                          */
} leat__mark_node;
typedef struct leat__mark_shard { /* one of interleaved shards */
    uint64_t shard;               /* UINT64_MAX = none                                    */
    uint64_t emitted;             /* records of it before, with those that filters drop   */
} leat__mark_shard;
struct leat__mark { /* zeroed = the beginning */
    leat__mark_node node[LEAT_STREAMS_MAX];
    leat__mark_shard shard[LEAT_CYCLE_MAX]; /* of all streams, one behind the other */
};

typedef struct leat__stream_block {
    leat__node *node; /* its owner */
    leat__block content;
    uint64_t begin, end; /* records of the shard that it covers; a filter may have taken some out */
    size_t refs;         /* records in a window, or kept by a batch                               */
    size_t held;         /* bytes of memory                                                       */
    size_t payload;      /* bytes of its records, without those that a filter has taken out       */
    bool open;           /* more records of it may go into the window                             */
    bool used;           /* counted in node->used                                                 */
    struct leat__stream_block *next; /* of its shard, or among those that are free */
    struct leat__stream_block *all;  /* the next of all there are                  */
} leat__stream_block;

typedef struct leat__open_shard {
    leat__shard_reader *reader;
    leat__tools *tools; /* for filters; NULL without them                                  */
    uint64_t visit;     /* which shard of which run: run * n_shards + shard                */
    uint64_t version;   /* changes when the visit does                                     */
    uint64_t base;      /* number of its first record; right if there is one open shard only */
    uint64_t skip;      /* records that were emitted before a restore                      */
    uint64_t emitted;   /* records that were emitted, those filtered too                   */
    uint64_t end;       /* records that were read                                          */
    size_t next;        /* record of the first block that is emitted next                  */
    bool begun, ended;  /* ended: its last block is among these                            */
    bool busy;          /* a reader thread reads it                                        */
    leat__stream_block *first, *last;
    size_t bytes; /* of these blocks, as far as nothing of them was emitted                */
} leat__open_shard;

typedef struct leat__shard_start { /* records of a run before a shard; UINT64_MAX = not known yet */
    uint64_t first, origin;
} leat__shard_start;

typedef struct leat__window_entry {
    leat__stream_block *block;
    uint64_t run;    /* counted by this node since the last reset */
    uint64_t number; /* in the run                                */
    size_t index;    /* in the block                              */
} leat__window_entry;

typedef struct leat__node_part { /* of a combination */
    leat__node *node;            /* NULL: its samples have numbers  */
    leat__order *order;
    int leaf, entry;
    uint64_t emitted; /* positions of the run so far       */
    bool ended;       /* it has no more of them            */
} leat__node_part;

typedef struct leat__kept_mark { /* a mark that a later position may need */
    uint64_t run;
    leat__mark mark;
} leat__kept_mark;

struct leat__node {
    leat__stream *stream;
    leat__plan *plan;
    leat__stream_plan *what; /* plan->stream */
    int leaf, entry,
        cycled; /* the first of its plain sources, of its entries in a mark, of its shards there */
    int n_pieces;
    uint64_t length; /* records of a run; LEAT_ENDLESS = not known. The order learns it by leat__node_sync */
    /* Of a combination: */
    int n_parts;
    leat__node_part *part; /* (n_parts)                                                */
    leat__records *held;   /* (window_max) what the window's samples are made of       */
    int waits_for;         /* the part that has not emitted its next sample yet        */
    bool waits_full;       /* ... because its window is full                           */
    /* Of shards: */
    int n_readers, n_open;
    leat__open_shard shard[LEAT_OPEN_SHARDS_MAX]; /* (n_open) */
    uint64_t n_shards;
    uint64_t unopened; /* the first visit that no open shard has */
    /* Emitting: `cycle` shards take turns. */
    leat__open_shard *turn[LEAT_CYCLE_MAX]; /* NULL = the run has no shard for it any more    */
    uint64_t cycle, block_length;           /* block_length: records of a turn                */
    bool in_order;                          /* shards come one after the other                */
    uint64_t emit_run;                      /* the run that these are in                      */
    uint64_t next_visit;                    /* the shard that the next empty place gets       */
    uint64_t at, in_block;                  /* the place that has its turn, its records in it */
    leat__shard_start *begin;               /* (n_shards) if they come one after the other    */
    leat__kept_mark *kept;                  /* (n_kept) if not: [i % n_kept], kept_tail <= i < kept_head */
    uint64_t n_kept, kept_tail, kept_head;
    uint64_t needs; /* records of a run that the order can ask for at all            */
    uint64_t wants; /* records of a run, with those that filters drop: no later one passes */
    /* The window: window[i % window_max] for tail <= i < head. */
    leat__window_entry *window;
    uint64_t window_max, tail, head;
    leat__stream_block *gather; /* records of small blocks are copied into it */
    leat__stream_block *spare, *all;
    size_t n_spare;
    /* Where the window ends. */
    uint64_t run, next_record;
    uint64_t origin; /* records of the run so far, those that a filter dropped too */
    bool run_ended;
    leat__mark from;     /* where the first run began         */
    uint64_t runs_total; /* LEAT_ENDLESS if so                */
    uint64_t told;       /* records of a run, as only a state says; 0 = none   */
    uint64_t seen;       /* most records that a run has shown so far           */
    uint64_t to_see;     /* the order wants to know whether there are so many; 0 = it does not */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    bool anew;                       /* the next position begins another run             */
    uint64_t awaited;                /* the readers wake the scheduler at this record    */
    size_t block_bytes, input_bytes; /* of a block; of a reader's input */
    size_t bytes_max;                /* of all blocks                                            */
    size_t used_max;                 /* of those in the window or with records that are kept     */
    size_t ahead_max;                /* of one open shard, before they are emitted               */
    size_t bytes, used;              /* now                                                      */
    uint64_t bytes_read;
    uint64_t call_ns;  /* in functions of the program: filters */
    leat_error broken; /* why nothing more can come */
};

struct leat__stream {
    leat__mutex mutex;
    leat__cond idle;    /* readers without work               */
    leat__cond stopped; /* a reader has ended                 */
    leat__stream_options options;
    leat__account *account; /* what the readers take is counted there */
    leat__node *root;
    pthread_t thread[LEAT_INFLATERS_MAX];
    int n_threads, n_running, n_idle;
    int n_begun; /* readers so far: the number of the next one */
    bool stop;
    bool waiting;                 /* a batch waits for the readers      */
    bool pressed;                 /* ... and is the only one: windows have the memory for reading ahead too */
    uint64_t n_taken;             /* samples that batches keep          */
    uint64_t read_ns, blocked_ns; /* of the threads: at work, and blocked meanwhile */
};

/* Bytes for the list of a block's records, unless they are very small. */
static inline size_t leat__block_room(const leat__node *node) {
    return node->block_bytes / 256 * sizeof(leat__block_record);
}

/* node.c */

typedef struct leat__node_numbers { /* what the next node begins with */
    int leaf, entry, cycled;
} leat__node_numbers;
typedef struct leat__node_options {
    leat__stream *stream;
    uint64_t runs; /* how often its order as a whole is gone through */
    size_t bytes_max;
    int n_readers;
    uint64_t batch; /* of the pipeline, on this rank */
} leat__node_options;
int leat__node_new(leat__node **out, leat__plan *plan, const leat__node_options *options,
                   leat__node_numbers *next, leat_error *err);
void leat__node_free(leat__node **node);
void leat__node_reset(leat__node *node, uint64_t epoch, uint64_t position, const leat__mark *from);
/* Tells the order how long the stream is, as far as the node knows. Under the scheduler's lock too. */
void leat__node_sync(leat__node *node);
/* Makes sure that the order can map a position: 1 = it can; 0 = the readers have not read far enough; LEAT_NODE_FULL: not
 * before batches give samples back; < 0. Positions are passed one after the other. */
enum { LEAT_NODE_FULL = 2 };
int leat__node_look(leat__node *node, uint64_t epoch, uint64_t position, leat_error *err);
/* Keeps the sample of a place that was looked at. LEAT_ERR_STATE: there is none, because a state lied. */
int leat__node_keep(leat__node *node, leat__place place, leat__records *out, int i, leat_error *err);
/* Sets the record at which leat__node_look may succeed for the position; and whether it was read. */
void leat__node_await(leat__node *node, uint64_t epoch, uint64_t position);
bool leat__node_awaited(const leat__node *node);
/* Writes the entries of this node into a mark. */
void leat__node_mark(const leat__node *node, uint64_t epoch, uint64_t position, leat__mark *mark);
/* A run has come to its end. */
void leat__node_end_run(leat__node *node);
bool leat__node_length_known(const leat__node *node);
/* Whether the order needs the number of samples, which only reading tells. */
bool leat__node_counting(const leat__node *node);
/* Adds what this node and its parts have read, and have open. */
void leat__node_stats(const leat__node *node, leat_stats *stats);
void leat__node_describe(const leat__node *node, uint64_t number, char *text, size_t cap);
void leat__stream_wake_readers(leat__stream *stream);

/* shard_readers.c */

/* Whether there is something to read now. */
bool leat__node_hungry(const leat__node *node);
/* Reads a block of some shard; releases the lock meanwhile. Only if the node is hungry. */
void leat__node_read(leat__node *node);
/* Gives an open shard another one to read. */
void leat__open_shard_set(leat__node *node, leat__open_shard *shard, uint64_t visit, uint64_t skip);
/* The open shard that has this visit; there is one. */
leat__open_shard *leat__open_shard_of(leat__node *node, uint64_t visit);

/* shard_order.c */

int leat__shard_order_new(leat__node *node, leat_error *err);
/* Reads a run once more, from a mark of it. */
void leat__shard_order_begin(leat__node *node, uint64_t run, const leat__mark *from);
/* Skips what is left of the runs before this one. */
void leat__shard_order_jump(leat__node *node, uint64_t run);
/* Emits what was read into the window, as far as that has room. */
void leat__shard_order_emit(leat__node *node);
/* The last place from which a run can be read again without missing record `floor`. */
void leat__shard_order_mark(const leat__node *node, uint64_t floor, leat__mark *mark);

/* combined.c */

void leat__combined_begin(leat__node *node, const leat__mark *from);
void leat__combined_next_run(leat__node *node);
/* Emits samples of the parts into the window, up to number `until` of the run. */
void leat__combined_emit(leat__node *node, uint64_t until);
void leat__combined_mark(const leat__node *node, uint64_t floor, leat__mark *mark);
/* The part that should be read now; NULL: none. */
leat__node *leat__combined_hungry(const leat__node *node);

/* marks.c: of interleaved shards and of combinations, one at every so many records. */

int leat__marks_new(leat__node *node, leat_error *err);
bool leat__marks_due(uint64_t records);
/* A new mark; the caller fills in its entries. */
leat__mark *leat__marks_add(leat__node *node);
/* The last one from which a run can be read again without missing record `floor`; NULL: there is none. */
const leat__mark *leat__marks_find(const leat__node *node, uint64_t floor);

/* window.c */

/* A free block; NULL: there is none. */
leat__stream_block *leat__block_take(leat__node *node);
/* A new one with memory, NULL without; the node does not know it before leat__block_own. Without the lock. */
leat__stream_block *leat__block_new(leat__node *node);
void leat__block_own(leat__node *node, leat__stream_block *block);
/* Makes so many blocks with memory, for the first to come. */
int leat__blocks_prepare(leat__node *node, int n, leat_error *err);
/* Whether it keeps much more memory than its records need. */
bool leat__block_is_small(const leat__node *node, const leat__stream_block *block);
/* After its memory may have grown. */
void leat__block_count(leat__node *node, leat__stream_block *block);
/* The records of the block are not needed any more. */
void leat__block_recycle(leat__node *node, leat__stream_block *block);
/* One record less of it is in a window or kept. */
void leat__block_drop_ref(leat__stream_block *block);
/* No more of its records will go into the window. */
void leat__block_close(leat__node *node, leat__stream_block *block);
/* Adds the index-th record of a block to the end of the window, as number node->next_record of node->run. */
void leat__window_add(leat__node *node, leat__stream_block *block, size_t index);
/* Puts a sample of a combination there; what it is made of lies in node->held already. */
void leat__window_add_held(leat__node *node);
/* Lets go of what no position can need any more. */
void leat__window_free_tail(leat__node *node);
void leat__window_empty(leat__node *node);
/* The window has no room for another record. */
bool leat__window_full(const leat__node *node);

/* kept.c */

typedef struct leat__record { /* a piece of a sample */
    leat__piece piece;
    uint64_t origin;           /* number of the sample, those that a filter dropped counted too */
    const leat_error *bad;     /* not NULL: the record is lost, and why                         */
    leat__stream_block *block; /* where it lies; NULL: a sample that has a number               */
} leat__record;
/* Sample i is empty. Adds a piece to it. */
void leat__records_add(leat__records *records, int i, const leat__record *piece);
/* Adds the pieces of sample k of other records. */
void leat__records_copy(leat__records *records, int i, const leat__records *from, int k);
/* Its number is this one. */
void leat__records_set_number(leat__records *records, int i, uint64_t number);
bool leat__records_is_bad(const leat__records *records, int i);
/* Empties it: whether there was a sample. */
bool leat__records_drop(leat__records *records, int i);
int leat__records_size(const leat__records *records);
leat__records *leat__records_make(int n_pieces, uint64_t n, int kind);

#endif
