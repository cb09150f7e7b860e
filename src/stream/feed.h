/* SPDX-License-Identifier: Apache-2.0 */
/* A stream's records on their way to the workers.
 *
 * Readers inflate several shards at once, each into blocks of records. The blocks of the shard whose turn it is become
 * the window, in the order of the stream: records that the order may ask for now. A block leaves the window when no
 * position still to come can need it, and its memory is used again when nobody looks at its records any more.
 *
 *     lanes    shard 7  [block][block]      being read, ahead of its turn
 *              shard 6  [block][block][..   being read
 *     window   [block][block][block]        numbered, for the order to choose from
 *
 * So a shard is inflated by one thread, several shards by several, and the order of records is that of the shards
 * whoever is faster. All functions but leat__feed_read want the scheduler's mutex. */
#ifndef LEAT_STREAM_FEED_H
#define LEAT_STREAM_FEED_H

#include "sample/run.h"

typedef struct leat__feed leat__feed;

/* Where a stream can be read from, to go on behind a batch; zeroed = from its beginning. Combined streams have a node for
 * the whole and for each part, down to the last: in the order of the text, first the whole, then its parts. */
typedef struct leat__mark_node {
    bool set;
    uint64_t iteration;     /* the order's name for the run of the stream                        */
    uint64_t shard;         /* holds the first record that a later position may need; of shards
                               that take turns, the next that none of the places has yet; of a
                               combination, none                                                 */
    uint64_t first, origin; /* records before, without and with those that filters drop           */
    uint64_t records;       /* in the whole stream, if the position depends on it; 0 = it does not */
    bool turns;             /* shards take turns, and this is not the beginning of a run: */
    uint64_t at, in_turn;   /* whose turn it is, and records of it so far                   */
    uint64_t position;      /* a part: samples of it before, in the run of the whole        */
    bool ended;             /* ... and it has no more                                       */
} leat__mark_node;
typedef struct leat__mark_open { /* a place of shards that take turns */
    uint64_t shard;              /* UINT64_MAX = none                                       */
    uint64_t dealt;              /* records of it before, with those that filters drop      */
} leat__mark_open;
typedef struct leat__mark {
    leat__mark_node node[LEAT_NODES_MAX];
    leat__mark_open open[LEAT_CYCLE_MAX]; /* of all streams, one behind the other */
    uint64_t skip[LEAT_BUCKETS_MAX]; /* samples that buckets gave already, behind the place to read from */
} leat__mark;

typedef struct leat__record { /* a piece of a sample of a stream, in the window; zeroed = none */
    bool there;
    leat__piece piece;
    uint64_t origin;                /* number of the sample, those that a filter dropped counted too */
    const leat_error *bad;          /* not NULL: the record is lost, and why                         */
    struct leat__feed_block *block; /* where it lies; NULL: a sample that has a number              */
} leat__record;
/* The pieces of a sample, of which there are n at the most: how many. *bad: why it is lost, NULL if it is not. */
static inline int leat__record_pieces(const leat__record *record, int n, leat__piece *out,
                                      const leat_error **bad) {
    int i = 0;
    *bad = NULL;
    for (; i < n && record[i].there; i++) {
        out[i] = record[i].piece;
        if (!*bad) *bad = record[i].bad;
    }
    return i;
}

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, int n_readers,
                   leat_error *err);
void leat__feed_free(leat__feed **feed);
/* How many threads can read at once. */
int leat__feed_readers(const leat__feed *feed);
/* Forgets everything and goes on behind the cursor: from its mark, or from the first record of the stream. Nobody
 * reads. */
void leat__feed_reset(leat__feed *feed, uint64_t epoch, uint64_t position, const leat__mark *mark);
/* Lengths that only a state has told are left aside (doubt), while another state is looked at, or taken up again. */
void leat__feed_doubt(leat__feed *feed, bool doubt);
/* Whether there is something to read now. */
bool leat__feed_hungry(const leat__feed *feed);
/* Reads a block of records of some shard; releases the mutex meanwhile. Only after leat__feed_hungry. */
void leat__feed_read(leat__feed *feed, leat__mutex *mutex);
/* Waits until there may be something to read. */
void leat__feed_wait(leat__feed *feed, leat__mutex *mutex);
void leat__feed_wake(leat__feed *feed);
/* Positions are made ready one after the other, and taken before the next. Makes sure that the order can map (epoch,
 * position): 1 = it can, 0 = the readers have not come so far. The order may learn meanwhile how long the stream is.
 * < 0: the stream holds nothing, is not what it was, or a batch, which has n_own records already, and a window do not
 * fit into the budget. */
int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err);
/* A position was not ready: says that it is worth looking again when the stream is known up to `position`, the last of
 * the batch; leat__feed_awaited tells when that is so. */
void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position);
bool leat__feed_awaited(const leat__feed *feed);
/* Finds the record of a place that is ready; it stays where it is until it is given back. LEAT_ERR_STATE: there is no such
 * record, because a state lied about the stream. */
int leat__feed_take(leat__feed *feed, leat__place place, leat__record *out, leat_error *err);
/* Of samples that are sorted into buckets: that of a place that is ready, and whether it is the last of its batch. Others
 * have batches of one size. */
bool leat__feed_batch_ends(const leat__feed *feed, leat__place place, int *bucket);
/* Up to n other records that are whole, from the windows of a position that was ready, beginning at one that draw chooses;
 * how many there are. */
int leat__feed_take_others(leat__feed *feed, uint64_t epoch, uint64_t position, uint64_t draw,
                           leat__record *out, int n);
/* Gives a record back and empties it. An empty one is fine. */
void leat__feed_give(leat__feed *feed, leat__record *record);
/* Where to go on behind a position that was ready. A function of the position and the data, not of time. */
leat__mark leat__feed_mark(const leat__feed *feed, uint64_t epoch, uint64_t position);
uint64_t leat__feed_bytes_read(const leat__feed *feed);
/* Where a record comes from, by its number with those that a filter dropped, as far as the stream was read. */
void leat__feed_describe(const leat__feed *feed, uint64_t origin, char *text, size_t cap);

#endif
