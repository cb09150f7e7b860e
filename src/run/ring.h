/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of batch slots: all memory that a consumer ever sees. A slot goes round
 *
 *     FREE -> FILLING -> READY -> LEASED -> FREE
 *
 * under the ring's mutex, which is also the scheduler's. The ring outlives its pipeline as long as a batch is leased. */
#ifndef LEAT_RUN_RING_H
#define LEAT_RUN_RING_H

#include <sys/types.h>

#include "sample/run.h"
#include "stream/stream.h"

#define LEAT_SLOTS_MAX 1024
#define LEAT_SLOT_BAD_MAX 64
#define LEAT_OTHERS 8 /* batches of a stream that are smaller than this borrow so many records */

typedef enum leat__slot_state {
    LEAT_SLOT_FREE,
    LEAT_SLOT_FILLING,
    LEAT_SLOT_READY,
    LEAT_SLOT_LEASED
} leat__slot_state;

typedef struct leat__cursor { /* a position between two batches */
    uint64_t epoch;
    uint64_t position; /* samples of the epoch before it */
    uint64_t step;     /* batches of the epoch before it */
} leat__cursor;

typedef struct leat__ring leat__ring;

typedef struct leat__slot {
    leat__ring *ring;
    leat__slot_state state;
    uint64_t sequence;           /* number of its batch since the last restore */
    _Atomic uint64_t generation; /* of its last lease; written with the mutex held */
    leat__cursor begin, end;
    int n;             /* places                                */
    int n_valid;       /* of them; those behind repeat others   */
    int bucket;        /* of its samples; 0 if there are none   */
    bool holes;        /* places were dropped                   */
    bool fill;         /* holes are filled, not closed          */
    uint64_t n_global; /* samples of the batch on all ranks, as far as it was mapped */
    uint64_t n_taken;  /* samples of a stream that it keeps     */
    int next_place;    /* first that no task has                */
    int n_done;
    uint8_t *memory;
    uint64_t *sample;     /* (batch)                               */
    uint64_t *position;   /* (batch) in the epoch                  */
    leat__params *params; /* (batch), only if the config asks      */
    char *params_text;
    leat__records
        *records; /* (ring->n_records + n_others) streams only: what the samples are made of, while filling */
    leat__mark *mark;  /* streams only: where to go on behind the batch  */
    int n_others;      /* of them, that may take the place of bad ones            */
    uint8_t *dropped;  /* (batch) 1 = a hole                    */
    int64_t **count;   /* [output] (batch), ragged outputs only; of padded ones (batch, ndim) */
    int64_t **offsets; /* [output] (batch + 1)                  */
    leat_tensor tensor[LEAT_FIELDS_MAX];
    int n_bad;       /* all of them                           */
    int error_place; /* of the first that must be raised, -1  */
    leat_error error;
    struct leat__bad_note {
        int place;
        leat_bad bad;
    } bad[LEAT_SLOT_BAD_MAX]; /* those of the lowest places            */
} leat__slot;

struct leat__ring {
    leat__mutex mutex;
    leat__cond work;     /* workers: there may be a task          */
    leat__cond progress; /* the consumer: a batch may be ready    */
    int n_slots;         /* that exist                            */
    int n_used;          /* that take part                        */
    int n_leased;
    uint64_t generations; /* leases so far                         */
    bool orphan;          /* the pipeline is closed                */
    leat__slot *slot[LEAT_SLOTS_MAX];
    /* What a slot needs to know after its pipeline is gone. */
    int batch, n_outputs;
    leat__output output[LEAT_FIELDS_MAX];
    size_t slot_bytes;
    size_t
        slot_used; /* of them, counted as held: fields that keep the size of their sample count as the largest so far */
    const leat__plan *stream; /* of a stream, whose slots keep records; else NULL */
    bool params;
    int n_records; /* of a slot: its own, and perhaps those of the first rank, which fill places up */
    int n_others;  /* of a slot, behind those: from the window, in case that some are bad            */
    pid_t owner;   /* the process that may touch the mutex  */
    leat_slot_alloc_fn alloc;
    leat_slot_free_fn free;
    leat_log_fn log;
    void *user;
};

int leat__ring_new(leat__ring **out, const leat__plan *plan, const leat_config *config, leat_error *err);
/* One more slot. Without the mutex. */
int leat__ring_add(leat__ring *ring, leat_error *err);
/* Closes the ring: frees it now, or when the last lease is given back. Workers are gone. */
void leat__ring_close(leat__ring **ring);
/* A slot that takes part and is free, or NULL. */
leat__slot *leat__ring_free_slot(leat__ring *ring);
/* Leases the slot, which is finished, to the consumer; with the mutex held. */
void leat__slot_lease(leat__slot *slot, leat_batch *batch);
/* Counts the memory that the finished slot took. All slots are counted alike, since each will meet the largest sample some
 * time. With the mutex held. */
void leat__ring_count(leat__ring *ring, const leat__slot *slot);
/* Remembers a bad sample; with the mutex held. */
void leat__slot_note_bad(leat__slot *slot, int place, const leat_error *err);
/* Which of the slot's records a place of a stream's batch has. */
int leat__slot_record(const leat__slot *slot, int place);
/* All places are done: closes holes, packs ragged fields, describes the tensors. Without the mutex. */
void leat__slot_finish(leat__slot *slot);

#endif
