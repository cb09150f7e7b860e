/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of JPEG files: what decoders have noted about them (decode/jpeg/jpeg_notes.h), kept for later epochs in memory and
 * for later runs in a side file.
 *
 *     bytes of a file -> key -> [ table ] -> block of notes -> the decoder, which adds to it -> [ table ]
 *
 * A block is found by the key of the file's bytes, not by a name or a number. So it cannot be out of date, whatever
 * became of the file, it does not matter which text or source asks for it, and files that are copies share one. Workers
 * use the table at once: looking up takes no lock, a block is copied in and out under a flag of its own, and whoever finds
 * the flag set goes without. Nothing is thrown out: when the memory is used up, further files have no notes. */
#ifndef LEAT_CACHE_NOTES_H
#define LEAT_CACHE_NOTES_H

#include "decode/decode.h"
#include "source/source.h"

#define LEAT_NOTES_SHARE 8 /* of the budget, and the most of all: */
#define LEAT_NOTES_BYTES_MAX ((size_t)1 << 30)

typedef struct leat__notes leat__notes;

typedef struct leat__notes_options {
    size_t bytes_max;               /* of all blocks                                        */
    uint64_t n_files;               /* about so many will come, LEAT_ENDLESS if not known   */
    const char *home;               /* what the side file is named after, NULL = there is none */
    const leat__open_options *open; /* where side files lie; copied                         */
} leat__notes_options;

/* With what the side file holds, if there is a good one. */
int leat__notes_open(leat__notes **out, const leat__notes_options *options, leat_error *err);
/* Makes ready to decode a file: fills in notes, and block with what is known. False: this file has no use for notes. The
 * block stays the caller's. */
bool leat__notes_take(leat__notes *notes, const uint8_t *bytes, size_t n, leat__buf *block,
                      leat__decode_notes *out);
/* When its picture has ended: keeps what is new. */
void leat__notes_put(leat__notes *notes, const leat__decode_notes *noted);
/* Writes the side file if there is anything new; without a home that is no failure. */
int leat__notes_store(leat__notes *notes, leat_error *err);
/* Frees and nulls; NULL is fine. Nobody uses it any more. */
void leat__notes_close(leat__notes **notes);

typedef struct leat__notes_facts {
    uint64_t n_files;  /* that have a block        */
    uint64_t n_loaded; /* of them, from the side file */
    uint64_t bytes_max;
    bool rows_only; /* one note for each row of MCUs: more would not fit */
} leat__notes_facts;
leat__notes_facts leat__notes_facts_of(const leat__notes *notes);

#endif
