/* SPDX-License-Identifier: Apache-2.0 */
/* What feed.c and its parts share: lanes in which shards are read (lanes.c), places from which records are dealt out in
 * turn (deal.c), and the window that they are dealt into (window.c). feed.c lets the order choose from the window. Of
 * combined streams each has a feed of its own, and join.c deals from theirs. */
#ifndef LEAT_STREAM_LANES_H
#define LEAT_STREAM_LANES_H

#include "source/shard.h"
#include "stream/feed.h"

#define LEAT_INFLATERS_MAX 16
#define LEAT_LANES_MAX (LEAT_CYCLE_MAX + LEAT_INFLATERS_MAX)
#define LEAT_SPARE_BLOCKS 2 /* that are left for the shard whose turn it is */

typedef struct leat__feed_block {
    leat__feed *feed; /* whose it is */
    leat__block content;
    uint64_t begin, end;           /* records of the shard that it covers; a filter may have taken some out */
    size_t refs;                   /* records in the window, or taken and not given back                    */
    size_t held;                   /* bytes of memory                                                       */
    bool open;                     /* more records of it may go into the window                             */
    bool used;                     /* counted in feed->used                                                 */
    struct leat__feed_block *next; /* in its lane, or among those that are free */
    struct leat__feed_block *all;  /* the next of all there are                 */
} leat__feed_block;

typedef struct leat__lane {
    leat__shard_reader *reader;
    leat__tools *tools; /* for filters; NULL without them                                  */
    uint64_t turn;      /* which shard of which run: run * n_shards + shard                */
    uint64_t version;   /* changes when the turn does                                      */
    uint64_t skip;      /* records of the shard that were dealt before a restore           */
    uint64_t dealt;     /* records of the shard that were dealt, those filtered too        */
    uint64_t end;       /* records of the shard that were read                             */
    size_t next;        /* record of the first block that is dealt next                    */
    bool begun, ended;  /* the shard; ended: its last block is among these                 */
    bool busy;          /* somebody reads                                                  */
    leat__feed_block *first, *last;
    size_t bytes; /* of these blocks, as far as nothing of them was dealt                  */
} leat__lane;

typedef struct leat__lane_begin { /* records of a run before it; UINT64_MAX = not known yet */
    uint64_t first, origin;
} leat__lane_begin;

typedef struct leat__window_record {
    leat__feed_block *block;
    uint64_t run;    /* how often the stream was begun before, counted by this feed */
    uint64_t number; /* in the run                                                  */
    size_t index;    /* in the block                                                */
    int bucket;      /* of samples that are sorted                                  */
    bool last;       /* ... and this is the last of its batch                       */
} leat__window_record;

typedef struct leat__sorting leat__sorting;

typedef struct leat__feed_part { /* of a combination */
    leat__feed *feed;            /* NULL: its samples have numbers                      */
    leat__order *order;
    int leaf, node;
    uint64_t dealt; /* positions of the run so far                           */
    bool ended;     /* it has no more of them                                */
} leat__feed_part;

typedef struct leat__noted { /* a mark that a later position may need */
    uint64_t run;
    leat__mark mark;
} leat__noted;

struct leat__feed {
    leat__plan *plan;
    leat__feed *root;     /* of all feeds of a pipeline; itself, if it is the one           */
    leat__cond idle;      /* the root's: readers without work                               */
    int n_idle;           /* likewise                                                       */
    bool idle_made;       /* likewise                                                       */
    int leaf, node, open; /* the first of its plain sources, of its nodes and of its places in a mark */
    /* Of a combination: */
    int n_parts, n_pieces;
    leat__feed_part *part;  /* (n_parts)                                                     */
    leat__record *held;     /* (window_max, n_pieces) what the window's samples are made of  */
    leat__tools *tools;     /* for filters; NULL without them                                */
    leat__sorting *sorting; /* into buckets; NULL if it is not so                           */
    int waits_for;          /* the part whose next sample is not there yet                   */
    bool waits_full;        /* ... because its window is full                                */
    /* Of shards: */
    int n_readers, n_lanes;
    leat__lane lane[LEAT_LANES_MAX];
    uint64_t n_shards;
    uint64_t ahead; /* the first turn that no lane has */
    /* Dealing: `cycle` places take turns. */
    leat__lane *place[LEAT_CYCLE_MAX]; /* NULL = the run has no shard for it any more    */
    uint64_t cycle, block;             /* block: records of a turn                       */
    bool in_order;                     /* shards come one after the other                */
    uint64_t dealing;                  /* the run that the places are in                 */
    uint64_t next_turn;                /* the shard that the next empty place gets       */
    uint64_t at, in_turn;              /* whose turn it is, and records of it so far     */
    leat__lane_begin *begin;           /* (n_shards) if they come one after the other    */
    leat__noted *noted;                /* (n_noted) if not: [i % n_noted], noted_tail <= i < noted_head */
    uint64_t n_noted, noted_tail, noted_head;
    uint64_t needs; /* records of a run that the order can ask for at all */
    /* The window: window[i % window_max] for tail <= i < head. */
    leat__window_record *window;
    uint64_t window_max, tail, head;
    leat__feed_block *gather; /* records of small blocks are copied into it */
    leat__feed_block *spare, *all;
    size_t n_spare;
    /* Where the window ends. */
    uint64_t run, next_record;
    uint64_t origin; /* records of the run so far, those that a filter dropped too */
    bool run_ended;
    leat__mark from;     /* where the first run began         */
    uint64_t runs_total; /* LEAT_ENDLESS if so                */
    uint64_t told;       /* records of a run, as a state says and nobody has seen; 0 = none */
    uint64_t seen;       /* most records that a run has shown so far */
    uint64_t to_see;     /* the order wants to know whether there are so many; 0 = it does not */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    bool anew;        /* the next position begins another run */
    uint64_t awaited; /* the readers wake the workers at this record */
    uint64_t n_taken; /* samples that were not given back yet */
    size_t block_bytes;
    size_t bytes_max;   /* of all blocks                                            */
    size_t used_max;    /* of those in the window or with records that were taken   */
    size_t ahead_max;   /* of those in one lane, before they are dealt              */
    size_t bytes, used; /* now                                                      */
    uint64_t bytes_read;
    leat_error broken; /* why nothing more can come */
};

/* Bytes for the list of a block's records, unless they are very small. */
static inline size_t leat__block_room(const leat__feed *feed) {
    return feed->block_bytes / 256 * sizeof(leat__block_record);
}

/* feed.c */

/* Whether a position can be mapped: as leat__feed_ready, or LEAT_FEED_FULL: not before what was taken is given back. */
enum { LEAT_FEED_FULL = 2 };
int leat__feed_look(leat__feed *feed, uint64_t epoch, uint64_t position, leat_error *err);
/* The pieces of the sample at a place that is ready; they stay where they are until they are dropped. */
int leat__feed_hold(leat__feed *feed, leat__place place, leat__record *out, leat_error *err);
void leat__record_drop(leat__record *record);
/* Writes the nodes of this feed into a mark. */
void leat__feed_write_mark(const leat__feed *feed, uint64_t epoch, uint64_t position, leat__mark *mark);
/* A run has come to its end: from the first time on the order knows how long the stream is. */
void leat__feed_end_run(leat__feed *feed);

/* join.c */

/* Everything begins again, at a mark. */
void leat__join_begin(leat__feed *feed, const leat__mark *from);
void leat__join_next_run(leat__feed *feed);
/* Deals samples of the parts into the window, up to number `until` of the run. */
void leat__join_deal(leat__feed *feed, uint64_t until);
/* As leat__deal_mark. */
void leat__join_mark(const leat__feed *feed, uint64_t floor, leat__mark *mark);
/* Whether the next sample of part k is there: 1; 1 too if it has no more (ended); 0 = not yet. wanted: samples of the whole
 * that somebody waits for. */
int leat__join_look_at(leat__feed *feed, int k, uint64_t wanted);
bool leat__join_hungry(const leat__feed *feed);
void leat__join_read(leat__feed *feed, leat__mutex *mutex);

/* sort.c */

/* feed_free frees it. */
int leat__sort_new(leat__feed *feed, leat_error *err);
void leat__sort_free(leat__feed *feed);
/* Nothing waits any more. mark: where it goes on; NULL: at the beginning of a run. */
void leat__sort_begin(leat__feed *feed, const leat__mark *mark);
/* Sorts one sample of the part, gives a batch, or ends the run; false if that has to wait. */
bool leat__sort_deal_one(leat__feed *feed, uint64_t wanted);

/* marks.c: of shards that take turns, and of combinations. */

/* Room for those that a window may need. */
int leat__marks_new(leat__feed *feed, leat_error *err);
/* Whether this is where one is made, and a new one, whose nodes are to be filled in. */
bool leat__marks_due(uint64_t records);
leat__mark *leat__marks_add(leat__feed *feed);
/* The last one from which a run can be read again without missing record `floor`; NULL: there is none. */
const leat__mark *leat__marks_find(const leat__feed *feed, uint64_t floor);

/* window.c */

leat__feed_block *leat__block_new(leat__feed *feed);
/* Makes so many blocks with memory, for the first to come. */
int leat__blocks_prepare(leat__feed *feed, int n, leat_error *err);
/* It is in the window, or waits. */
void leat__block_use(leat__feed *feed, leat__feed_block *block);
/* After its memory may have grown. */
void leat__block_count(leat__feed *feed, leat__feed_block *block);
/* Nobody needs what is in it. */
void leat__block_recycle(leat__feed *feed, leat__feed_block *block);
/* One record less of it is in the window or taken. */
void leat__block_drop_ref(leat__feed_block *block);
/* No more of its records will go into the window. */
void leat__block_close(leat__feed *feed, leat__feed_block *block);
/* Puts the index-th record of a block behind the others, as number feed->next_record of feed->run. */
void leat__window_add(leat__feed *feed, leat__feed_block *block, size_t index);
/* Puts a sample of a combination there; its pieces lie behind those of the others already (leat__window_pieces). */
void leat__window_add_held(leat__feed *feed, int bucket, bool last);
/* The pieces of entry i of the window of a combination. */
leat__record *leat__window_pieces(const leat__feed *feed, uint64_t i);
/* Lets go of what no position can need any more. */
void leat__window_free_tail(leat__feed *feed);
void leat__window_empty(leat__feed *feed);
/* The window has no room for another record. */
bool leat__window_full(const leat__feed *feed);

/* lanes.c */

/* Gives the lane another shard to read. */
void leat__lane_set(leat__feed *feed, leat__lane *lane, uint64_t turn, uint64_t skip);
/* The lane that has this turn; there is one. */
leat__lane *leat__lane_of(leat__feed *feed, uint64_t turn);

/* deal.c */

/* Makes room for what it remembers. feed_free frees it. */
int leat__deal_new(leat__feed *feed, leat_error *err);
bool leat__feed_length_known(const leat__feed *feed);
void leat__feed_learn_length(leat__feed *feed, uint64_t n);
/* The order asks how much there is, and only reading tells. */
bool leat__feed_counting(const leat__feed *feed);
/* Reads a run once more, from a mark of it. */
void leat__deal_begin(leat__feed *feed, uint64_t run, const leat__mark *from);
/* Leaves the rest of the runs before this one. */
void leat__deal_jump(leat__feed *feed, uint64_t run);
/* Deals what was read into the window, as far as it has room. */
void leat__deal(leat__feed *feed);
/* The last place from which a run can be read again without missing record `floor`. */
void leat__deal_mark(const leat__feed *feed, uint64_t floor, leat__mark *mark);

#endif
