/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a stream. A stream has records without an index, which are read one after the other: a compressed data set,
 * records that the program gives, or a combination of data sets with a stream among them. stream/ runs it. */
#ifndef LEAT_PLAN_STREAM_PLAN_H
#define LEAT_PLAN_STREAM_PLAN_H

#include "sample/plan.h"

#define LEAT_CYCLE_MAX 32 /* shards that are interleaved: a state names each                   */
#define LEAT_STREAMS_MAX \
    16 /* combined data sets with a stream among them, and their combinations: likewise */
#define LEAT_FILTERS_MAX 8
#define LEAT_BEFORE_MAX 8

struct leat__stream_plan {
    int n_pieces; /* of a sample, at the most */
    /* One stream: */
    leat__shards *shards;        /* NULL: a combination                                                   */
    uint64_t cycle, cycle_block; /* interleave: shards that take turns, records of a turn; 0 = one by one */
    int n_before; /* take, skip and shard in front of the first filter: they count every record */
    leat__order_verb before[LEAT_BEFORE_MAX];
    int n_filters;
    struct leat__question *filter[LEAT_FILTERS_MAX]; /* asked when a record is read */
    /* A combination: */
    leat__branch_kind kind;
    leat__blend *blend; /* NULL unless of that kind                          */
    bool equal;         /* zip: lengths must be equal                        */
    int n_parts;
    leat__plan *part; /* (n_parts) of each text: order, filters, and the steps that filters need */
};

int leat__stream_plan_new(leat__stream_plan **out, leat_error *err);
/* Frees the parts too. */
void leat__stream_plan_free(leat__stream_plan **stream);
/* Streams in a plan, not counting their combinations. */
int leat__stream_plan_streams(const leat__plan *plan);
/* Streams, other data sets and combinations: entries of a resume mark. */
int leat__stream_plan_nodes(const leat__plan *plan);
/* Shards of a stream that are interleaved; 1 = they come one after the other. */
uint64_t leat__stream_plan_cycle(const leat__stream_plan *stream);
/* Interleaved shards of all streams of a plan together. */
int leat__stream_plan_cycles(const leat__plan *plan);
/* Whether every epoch of what is combined has the same samples in the same order. */
bool leat__stream_plan_fixed(const leat__plan *plan);
/* Verbs in front of a filter: whether they let record number n through, and how many records they can want at all. */
bool leat__stream_plan_passes(const leat__stream_plan *stream, uint64_t n);
uint64_t leat__stream_plan_wants(const leat__stream_plan *stream);
/* One line that refuses what streams cannot do. what: what is missing; instead: what the text could say. */
int leat__stream_plan_refuse(const leat__use *use, leat_error *err, const char *what, const char *instead);

#endif
