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
#ifndef LEAT_ENGINE_FEED_H
#define LEAT_ENGINE_FEED_H

#include "engine/ring.h"

typedef struct leat__feed leat__feed;

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, int n_readers,
                   leat_error *err);
void leat__feed_free(leat__feed **feed);
/* How many threads can read at once. */
int leat__feed_readers(const leat__feed *feed);
/* Forgets everything and goes on behind the cursor: from its mark, or from the first record of the stream. Nobody
 * reads. */
void leat__feed_reset(leat__feed *feed, const leat__cursor *cursor);
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
