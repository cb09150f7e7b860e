/* SPDX-License-Identifier: Apache-2.0 */
/* Positions inside JPEG files: what decoders have noted about them (decode/jpeg/jpeg_positions.h), kept for later epochs in memory and
 * for later runs in a file of the cache directory (format/positions.h).
 *
 *     bytes of a file -> key -> [ table ] -> block of positions -> the decoder, which adds to it -> [ table ] -> writer -> file
 *
 * A block is found by the key of the file's bytes, not by a name or a number. So it cannot be out of date, whatever
 * became of the file, it does not matter which text or source asks for it, and files that are copies share one. Workers
 * use the table at once: looking up takes no lock, a block is copied in and out under a flag of its own, and a worker that
 * finds the flag set decodes without. Nothing is thrown out: when the memory is used up, further files have no positions.
 *
 * One thread, the writer, writes new blocks while the pipeline runs, at most 256 KiB at a time. Workers never wait for it. Several
 * processes may write at once, such as the ranks of a training: each adds to the file, and learns what the others have added.
 * Closing waits for it for a second at most. What is not written then is dropped, and a writer that is stuck in the operating
 * system is left behind with memory that nothing else uses. */
#ifndef LEAT_CACHE_JPEG_STORE_H
#define LEAT_CACHE_JPEG_STORE_H

#include "decode/decode.h"
#include "source/source.h"

#define LEAT_JPEG_STORE_PART 8 /* positions have one part in so many of the budget, and at most this: */
#define LEAT_JPEG_STORE_BYTES_MAX ((size_t)1 << 30)

typedef struct leat__jpeg_store leat__jpeg_store;

typedef struct leat__jpeg_store_options {
    size_t bytes_max;               /* of all blocks                                           */
    uint64_t n_files;               /* about so many will come, LEAT_ENDLESS if not known      */
    const char *home;               /* the path of the data set, NULL = nothing is kept on disk */
    const leat__open_options *open; /* where side files lie; open->sets must outlive the table */
    uint64_t cache_bytes_max;       /* of the whole cache directory                            */
    leat_log_fn log;                /* told once if positions cannot be kept; may be NULL      */
    void *user;
} leat__jpeg_store_options;

/* With what the files hold that are there, as far as it is undamaged and fits into bytes_max. */
int leat__jpeg_store_open(leat__jpeg_store **out, const leat__jpeg_store_options *options, leat_error *err);
/* Makes ready to decode a file: fills in positions, and block with what is known. False: this file has no use for positions. The
 * block stays the caller's. */
bool leat__jpeg_store_take(leat__jpeg_store *store, const uint8_t *bytes, size_t n, leat__buf *block,
                           leat__decode_positions *out);
/* When its picture has ended: keeps what is new. */
void leat__jpeg_store_put(leat__jpeg_store *store, const leat__decode_positions *noted);

/* jpeg_store_write.c. Starts the writer, if there is a home. If it fails, positions stay in memory. */
int leat__jpeg_store_start(leat__jpeg_store *store, leat_error *err);
/* Waits for up to ns until everything is written: 0, 1 if the time ran out, LEAT_ERR_STATE if another process does not let go of
 * the file, or the failure of the writer. */
int leat__jpeg_store_flush(leat__jpeg_store *store, uint64_t ns, leat_error *err);
/* Ends the writer within about a second, frees and nulls; NULL is fine. No worker uses the table any more. */
void leat__jpeg_store_close(leat__jpeg_store **store);
/* In place of closing, when a worker that is stuck may still use the table: the writer ends by itself, memory stays, and the
 * log function is not called any more. */
void leat__jpeg_store_leave(leat__jpeg_store *store);

typedef struct leat__jpeg_store_facts {
    uint64_t n_files;  /* that have a block        */
    uint64_t n_loaded; /* of them, from a file     */
    uint64_t bytes_max;
    bool rows_only; /* one note for each row of MCUs: more would not fit */
} leat__jpeg_store_facts;
leat__jpeg_store_facts leat__jpeg_store_facts_of(const leat__jpeg_store *store);

#endif
