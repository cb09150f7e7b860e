/* SPDX-License-Identifier: Apache-2.0 */
/* Packing, in three parts that share one struct: pack.c decides what goes where before any work begins,
 * pack_out.c keeps the output folder in a state that can be continued, pack_work.c does the work. */
#ifndef LEAT_TOOLS_PACK_H
#define LEAT_TOOLS_PACK_H

#include "tools/tools.h"

typedef struct leat__pack_shard {
    uint64_t begin, end;              /* positions in the order of the pack                   */
    uint64_t n_samples, n_bad, bytes; /* what its file holds, and what was left out           */
    bool kept;                        /* finished by an earlier run                           */
} leat__pack_shard;

typedef struct leat__packing {
    const char *from, *out;
    const leat_tool_config *config;
    leat_pack_config pack; /* with defaults filled in                              */
    leat__source *folder;
    bool labelled;
    uint16_t *table; /* of the shuffle, when it is small enough for one      */
    uint64_t n_shards;
    leat__pack_shard *shard;
    uint64_t bytes_expected; /* of all shards, roughly                               */
    leat__journal journal;
    bool made;        /* the folder was not there before                      */
    bool warned;      /* that an index could not be kept: once is enough      */
    char title[1600]; /* how the journal begins: what is packed, and how      */
} leat__packing;

/* The sample at a position of the order. */
uint64_t leat__pack_sample(const leat__packing *packing, uint64_t position);
/* What a sample will take in a shard: known for raw pixels and files as they are, otherwise a guess. */
uint64_t leat__pack_bytes(const leat__packing *packing, uint64_t sample);

/* ---------------------------------------------------------------------------------------- pack_out.c */

/* Makes the folder, takes hold of it, removes what a killed run left, marks the shards that are finished.
 * Refuses what belongs to another pack. */
int leat__pack_out_open(leat__packing *packing, leat_error *err);
void leat__pack_out_close(leat__packing *packing);
/* Removes every file of the pack, and the folder if this run has made it and nothing else is in it. */
void leat__pack_out_discard(leat__packing *packing);
void leat__pack_shard_path(const leat__packing *packing, uint64_t shard, char *path, size_t cap);
/* Remembers that a shard is in its place, and indexes it. One thread at a time. */
int leat__pack_out_finish(leat__packing *packing, uint64_t shard, leat_error *err);

/* --------------------------------------------------------------------------------------- pack_work.c */

/* Makes the shards that are not kept. */
int leat__pack_work(leat__packing *packing, leat_error *err);

#endif
