/* SPDX-License-Identifier: Apache-2.0 */
/* A stream's records on their way to the workers: a window of records in the order of the stream, filled at one end by
 * one reader and freed at the other when no position still to come can need them. A record is used once in each run of
 * the stream, so whoever takes it carries its memory away and gives it back when the batch is done.
 *
 * All functions but leat__feed_read want the scheduler's mutex. */
#ifndef LEAT_ENGINE_FEED_H
#define LEAT_ENGINE_FEED_H

#include "engine/ring.h"

typedef struct leat__feed leat__feed;

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, leat_error *err);
void leat__feed_free(leat__feed **feed);
/* Forgets everything; the next record is the first of the stream. */
int leat__feed_reset(leat__feed *feed, leat_error *err);
/* Whether the reader should read a record now. */
bool leat__feed_hungry(const leat__feed *feed);
/* Reads one record; releases the mutex meanwhile. Only one thread at a time. */
void leat__feed_read(leat__feed *feed, leat__mutex *mutex);
/* Positions are made ready one after the other, and taken before the next. Makes sure that the order can map (epoch,
 * position): 1 = it can, 0 = the reader has not come so far. The order may learn meanwhile how long the stream is.
 * < 0: the stream holds nothing, is not what it was, or a batch, which has n_own records already, and a window do not
 * fit into the budget. */
int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err);
/* A position was not ready: says that it is worth looking again when the stream is known up to `position`, the last of
 * the batch; leat__feed_awaited tells when that is so. */
void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position);
bool leat__feed_awaited(const leat__feed *feed);
/* Moves the record of a place that is ready into *out, which is empty. */
void leat__feed_take(leat__feed *feed, leat__place place, leat__record *out);
/* Empties a record that was taken. An empty one is fine. */
void leat__feed_give(leat__feed *feed, leat__record *record);
uint64_t leat__feed_bytes_read(const leat__feed *feed);

#endif
