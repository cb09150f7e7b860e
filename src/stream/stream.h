/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of streams: records that have no index and are read one after the other (plan/stream_plan.h).
 *
 * A stream has reader threads and a lock of its own. The scheduler takes the samples of a batch from it, keeps them while
 * workers use them, and gives them back. Apart from that the scheduler carries a resume mark, which is opaque to it.
 *
 * Every function takes the stream's lock. take, reset and mark_parse may learn the length of the stream and then change the
 * plan's order: their caller must hold the scheduler's lock. */
#ifndef LEAT_STREAM_STREAM_H
#define LEAT_STREAM_STREAM_H

#include "sample/run.h"

typedef struct leat__stream leat__stream;
typedef struct leat__mark leat__mark;       /* where a stream can be read from again         */
typedef struct leat__records leat__records; /* samples of a stream that a batch keeps        */

typedef struct leat__stream_options {
    uint64_t n_epochs; /* LEAT_ENDLESS = without end                                          */
    int n_readers;     /* threads at the most                                                 */
    bool synchronous;  /* no threads: leat__stream_read does their work                       */
    /* Samples that a batch waits for may be there. A reader thread calls it without holding a lock. */
    void (*wake)(void *user);
    /* A reader thread begins to read a block of records, and has read it: with the stream's lock held. NULL = not told. */
    void (*reading)(void *user, int reader, bool begins);
    void *user;
} leat__stream_options;

int leat__stream_open(leat__stream **out, leat__plan *plan, const leat__stream_options *options,
                      leat_error *err);
/* Ends the reader threads: false if one is stuck in the operating system at that time. Then the stream must not be
 * closed. */
bool leat__stream_stop(leat__stream *stream, uint64_t until_ns);
void leat__stream_close(leat__stream **stream);

/* Forgets everything and goes on at a position: from its mark, NULL = from the first record. */
void leat__stream_reset(leat__stream *stream, uint64_t epoch, uint64_t position, const leat__mark *mark);

typedef struct leat__stream_batch { /* what a batch wants, and how much of it has come */
    uint64_t epoch, position;       /* of its first sample, on all ranks               */
    uint64_t n;                     /* samples on all ranks                            */
    uint64_t first, n_own;          /* of these, what this rank keeps: in records [0, n_own)     */
    uint64_t n_spare;               /* of the first ones it keeps so many too, behind them       */
    leat__records *records;
    uint64_t walked; /* samples so far; at the end of an epoch that is less than n */
    uint64_t taken;  /* of them, those that were kept                              */
} leat__stream_batch;
/* Adds samples until the batch is complete: 1. 0: the readers are not so far; wake will be called. < 0: the stream is empty,
 * its files have changed, or the batch and the shuffle window do not fit into the budget. */
int leat__stream_take(leat__stream *stream, leat__stream_batch *batch, leat_error *err);
/* Keeps up to n other undamaged samples from the window of a position that was taken, in records [at, at + n); `draw` chooses
 * the first of them. Returns how many it kept. */
int leat__stream_take_others(leat__stream *stream, uint64_t epoch, uint64_t position, uint64_t draw,
                             leat__records *records, int at, int n);
/* Gives all samples back. */
void leat__stream_give(leat__stream *stream, leat__records *records);
/* The mark from which reading resumes behind a position that was taken: a function of the position and the data alone. */
void leat__stream_mark(leat__stream *stream, uint64_t epoch, uint64_t position, leat__mark *out);
/* Reads a little, for a caller without threads: false if there is nothing to read now. */
bool leat__stream_read(leat__stream *stream);
/* Where a sample comes from, by its number, as far as the stream was read. */
void leat__stream_describe(leat__stream *stream, uint64_t number, char *text, size_t cap);
/* Adds what the reader threads have read and how long that took, and the open shards. */
void leat__stream_stats(leat__stream *stream, leat_stats *stats);

/* kept.c: room for n samples. */
leat__records *leat__records_new(const leat__plan *plan, int n);
void leat__records_free(leat__records **records);
/* Number of sample i, and where it lies for leat__run_sample; fails if its record is lost. */
uint64_t leat__records_number(const leat__records *records, int i);
int leat__records_find(const leat__records *records, int i, leat__where *at, leat_error *err);

/* marks.c: the beginning of a stream; NULL without memory. leat__free frees it. */
leat__mark *leat__mark_new(void);
/* from NULL: the beginning. */
void leat__mark_copy(leat__mark *to, const leat__mark *from);
/* A mark as text for a state, "" at the beginning of a stream; snprintf's return value. And back: false if it cannot be a
 * mark of this stream at that position. */
int leat__mark_text(leat__stream *stream, const leat__mark *mark, char *text, size_t cap);
bool leat__mark_parse(leat__stream *stream, const char *text, const char *end, uint64_t position,
                      leat__mark *out);

#endif
