/* SPDX-License-Identifier: Apache-2.0 */
/* A stream's records on their way to the workers: a window of records in the order of the stream, filled at one end by
 * one reader and freed at the other when no position still to come can need them.
 *
 * All functions but leat__feed_read want the scheduler's mutex. */
#ifndef LEAT_ENGINE_FEED_H
#define LEAT_ENGINE_FEED_H

#include "engine/ring.h"

struct leat__entry {
    leat__buf bytes;
    uint64_t run;    /* how often the stream was begun before, counted by this feed */
    uint64_t record; /* number in the run */
    int refs;        /* places of slots that are not complete */
    leat_error *bad; /* not NULL: the record is lost, and why */
};

typedef struct leat__feed leat__feed;

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, leat_error *err);
void leat__feed_free(leat__feed **feed);
/* Forgets everything; the next record is the first of the stream. No slot may hold records. */
int leat__feed_reset(leat__feed *feed, leat_error *err);
/* Whether the reader should read a record now. */
bool leat__feed_hungry(const leat__feed *feed);
/* Reads one record; releases the mutex meanwhile. Only one thread at a time. */
void leat__feed_read(leat__feed *feed, leat__mutex *mutex);
/* Positions are made ready one after the other, each once, and taken before the next. Makes sure that the order can map (epoch, position): 1 = it can, 0 = the reader has not come so far. May tell the
 * order how long the stream is. < 0: the records of a window do not fit into the budget. */
int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, leat_error *err);
/* A position was not ready: says that it is worth looking again when the stream is known up to `position`, the last of the
 * batch; leat__feed_awaited tells when that is so. */
void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position);
bool leat__feed_awaited(const leat__feed *feed);
/* The record of a place that is ready, with one reference; give it back with refs-- . */
leat__entry *leat__feed_take(leat__feed *feed, leat__place place);
/* Everything that only positions before this one need may go. */
void leat__feed_advance(leat__feed *feed, uint64_t epoch, uint64_t position);
uint64_t leat__feed_bytes_read(const leat__feed *feed);

#endif
