/* SPDX-License-Identifier: Apache-2.0 */
/* What feed.c and lanes.c share: the lanes in which shards are read, and the window that their blocks become. lanes.c reads
 * and puts blocks into the window; feed.c lets the order choose from it. */
#ifndef LEAT_ENGINE_LANES_H
#define LEAT_ENGINE_LANES_H

#include "engine/feed.h"
#include "source/shard.h"

#define LEAT_LANES_MAX 16

typedef struct leat__feed_block {
    leat__block content;
    uint64_t run;   /* how often the stream was begun before, counted by this feed */
    uint64_t first; /* number of its first record in the run                       */
    size_t refs;    /* records that were taken and not given back                  */
    size_t held;    /* bytes of memory                                             */
    bool in_window;
    struct leat__feed_block *next; /* in its lane, or among those that are free */
    struct leat__feed_block *all;  /* the next of all there are                 */
} leat__feed_block;

typedef struct leat__lane {
    leat__shard_reader *reader;
    leat__tools *tools; /* for filters; NULL without them                                  */
    uint64_t turn;      /* which shard of which run: run * n_shards + shard                */
    uint64_t version;   /* changes when the turn does                                      */
    bool begun, ended;  /* the shard; ended: its last block is among these                 */
    bool busy;          /* somebody reads                                                  */
    leat__feed_block *first, *last;
    size_t bytes; /* of these blocks                                                       */
} leat__lane;

typedef struct leat__lane_begin { /* records of a run before it; UINT64_MAX = not known yet */
    uint64_t first, origin;
} leat__lane_begin;

struct leat__feed {
    leat__plan *plan;
    leat__cond idle; /* readers without work */
    int n_idle;
    bool idle_made;
    int n_lanes;
    leat__lane lane[LEAT_LANES_MAX]; /* lane[turn % n_lanes] for front <= turn < front + n_lanes */
    uint64_t front;                  /* the turn whose blocks go into the window now             */
    uint64_t n_shards;
    leat__lane_begin *begin; /* (n_shards) */
    uint64_t needs;          /* records of a run that the order can ask for at all */
    /* The window: block[i % cap] for tail <= i < head. */
    leat__feed_block **block;
    size_t cap;
    uint64_t tail, head;
    uint64_t n_window;   /* records in it             */
    uint64_t window_max; /* records ahead of the floor */
    leat__feed_block *spare, *all;
    /* Where the window ends. */
    uint64_t run, next_record;
    uint64_t origin; /* records of the run so far, those that a filter dropped too */
    bool run_ended;
    leat__mark from;     /* where the first run began         */
    uint64_t runs_total; /* LEAT_ENDLESS if so                */
    uint64_t seen;       /* most records that a run has shown so far */
    uint64_t to_see;     /* the order wants to know whether there are so many; 0 = it does not */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    uint64_t awaited; /* the readers wake the workers at this record */
    uint64_t n_taken; /* records that were not given back yet */
    size_t block_bytes;
    size_t bytes_max;   /* of all blocks                                            */
    size_t used_max;    /* of those in the window or with records that were taken   */
    size_t ahead_max;   /* of those in one lane behind the front                    */
    size_t bytes, used; /* now                                                      */
    uint64_t bytes_read;
    leat_error broken; /* why nothing more can come */
};

/* The i-th block of the window, tail <= i < head. */
leat__feed_block *leat__window_at(const leat__feed *feed, uint64_t i);
/* Lets go of what no position can need any more. */
void leat__window_free_tail(leat__feed *feed);
/* The window has no room for another block. */
bool leat__window_full(const leat__feed *feed);
/* A block that nobody looks at and that is not in the window is free again. */
void leat__feed_release(leat__feed *feed, leat__feed_block *block);
bool leat__feed_length_known(const leat__feed *feed);
void leat__feed_learn_length(leat__feed *feed, uint64_t n);
/* The order asks how much there is, and only reading tells. */
bool leat__feed_counting(const leat__feed *feed);
/* What lies before that turn is done with. */
void leat__lanes_move(leat__feed *feed, uint64_t front);
/* Reads a run once more, from where it began. */
void leat__lanes_begin(leat__feed *feed, uint64_t run, leat__mark from);
/* Puts blocks whose turn it is into the window. */
void leat__lanes_merge(leat__feed *feed);

#endif
