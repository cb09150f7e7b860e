/* SPDX-License-Identifier: Apache-2.0 */
/* One shard of a stream: inflated, cut into records and checked, a block of them at a time. Records lie in the block as
 * they were inflated and are not copied. Several shards can be read at once, each by a reader of its own. */
#ifndef LEAT_SOURCE_SHARD_H
#define LEAT_SOURCE_SHARD_H

#include "source/source.h"

typedef struct leat__block_record {
    size_t offset; /* of its payload in the block                                */
    uint32_t size;
    uint32_t bad;    /* not 0: it is lost, and errors[bad - 1] says why            */
    uint64_t record; /* its number in the shard                                    */
    uint64_t origin; /* its number in the stream, set when it is emitted           */
    size_t shard;
} leat__block_record;

typedef struct leat__block { /* zeroed = empty */
    leat__buf bytes;         /* readable for LEAT_MEM_PAD bytes behind the last record */
    leat__buf records;       /* (n) leat__block_record                                  */
    leat__buf errors;        /* of leat_error                                           */
    size_t n;
} leat__block;

static inline leat__block_record *leat__block_at(const leat__block *block, size_t i) {
    return &((leat__block_record *)(void *)block->records.data)[i];
}
/* Why record i is lost; NULL if it is not. */
const leat_error *leat__block_error(const leat__block *block, size_t i);
void leat__block_free(leat__block *block);
/* Empties it and keeps its memory. */
void leat__block_clear(leat__block *block);
/* Copies a record of `from` behind those of `to`. False, and nothing is copied, if there is no room without moving
 * records. */
bool leat__block_copy(leat__block *to, const leat__block *from, size_t index);

typedef struct leat__shard_reader leat__shard_reader;
/* The stream must outlive it. NULL without memory. */
leat__shard_reader *leat__shard_reader_new(const leat__shards *stream, size_t input, leat_error *err);
void leat__shard_reader_free(leat__shard_reader **reader);
/* The next block will hold the first records of this shard. */
void leat__shard_begin(leat__shard_reader *reader, size_t shard);
/* Fills the block with the next records, about `bytes` bytes of them and at least one: 0. 1 if the shard ends with them;
 * then there may be none. LEAT_ERR_MEMORY: the reader must begin the shard again. A damaged record is in the block too,
 * with an error. */
int leat__shard_read(leat__shard_reader *reader, leat__block *block, size_t bytes, leat_error *err);
uint64_t leat__shard_bytes_read(const leat__shard_reader *reader);

/* shards.c, for callers that make a shard reader: how many bytes of a file it should hold. Of a local file they come out of the page cache
 * and stay in the processor's cache until they are inflated; of a remote one each filling is a request. */
size_t leat__shards_input(const leat__shards *stream);
/* shards.c, for the shard reader: the program's functions, NULL if shards are files; the path of a shard; whether its file
 * has changed since the stream was opened. */
const leat_stream_callbacks *leat__shards_program(const leat__shards *stream);
const char *leat__shards_path(const leat__shards *stream, size_t shard);
int leat__shards_check(const leat__shards *stream, size_t shard, const leat__file *file, leat_error *err);
int leat__shards_detect(const char *path, int *compression, leat__file *file, leat_error *err);

#endif
