/* SPDX-License-Identifier: Apache-2.0 */
/* Memory. Everything the library allocates comes from here and is counted by kind.
 *
 *   leat__alloc / leat__free   what lives as long as a pipeline, an index, a plan
 *   leat__buf                  grows and never shrinks: file bytes, rows, pictures of one worker
 *   leat__arena                pieces that are freed together: the memory of a codec for one image
 *
 * All blocks are 64-byte aligned and readable for 64 bytes past their end, so that kernels may over-read. */
#ifndef LEAT_BASE_MEM_H
#define LEAT_BASE_MEM_H

#include "base/error.h"

#define LEAT_MEM_PAD 64

typedef enum leat__mem_kind {
    LEAT_MEM_SLOT,   /* batches                                  */
    LEAT_MEM_WORKER, /* buffers and arenas of workers            */
    LEAT_MEM_INDEX,  /* file names, record offsets, permutations */
    LEAT_MEM_PLAN,   /* specs, plans, small structs              */
    LEAT_MEM_WINDOW, /* records of a stream                      */
    LEAT_MEM_TOOL,   /* pack, check, synth                       */
    LEAT_MEM_KINDS
} leat__mem_kind;

/* Zeroed memory. NULL if there is none: the caller writes the message. */
void *leat__alloc(leat__mem_kind kind, size_t bytes);
/* NULL is fine. */
void leat__free(void *block);
/* Tests only: bytes now held, by kind, over the whole process. */
uint64_t leat__mem_held(leat__mem_kind kind);
/* Tests only: the n-th allocation from now fails (1 = the next), 0 = none. Returns allocations since the
 * last call. */
uint64_t leat__mem_fail_at(uint64_t n);

/* An account counts memory that belongs together, such as that of one pipeline. A block is counted until any thread frees
 * it. A closed account is freed together with its last block. */
typedef struct leat__account leat__account;
leat__account *leat__account_new(void); /* NULL without memory */
void leat__account_close(leat__account **account);
uint64_t leat__account_bytes(const leat__account *account);
/* From now on the account counts what this thread allocates; NULL = no account does. Returns the one used before. */
leat__account *leat__account_use(leat__account *account);
/* The account that counts for this thread, to be used by the threads that it starts. */
leat__account *leat__account_now(void);

/* What the threads of an account have in common besides: they are told to end, so that none of them waits for a network any longer; and
 * requests that were sent again are counted. */
void leat__account_stop(leat__account *account);
bool leat__account_stopped(void); /* the account of this thread; false without one */
void leat__account_retried(void);
uint64_t leat__account_retries(const leat__account *account);

/* Whole pages, page-aligned, huge ones where the system gives them; zeroed, and not resident before they are touched. For
 * the memory of batches. */
void *leat__alloc_pages(size_t bytes);
void leat__free_pages(void *block);
/* The same, but only its first `used` bytes are counted as held; leat__count_pages raises that, never above `bytes`. Of one
 * block one thread at a time. */
void *leat__reserve_pages(size_t bytes, size_t used);
void leat__count_pages(void *block, size_t used);

char *leat__strdup(leat__mem_kind kind, const char *text);

typedef struct leat__buf { /* zeroed = empty                        */
    uint8_t *data;
    size_t size; /* bytes in use, set by the caller       */
    size_t cap;
    leat__mem_kind kind;
    uint32_t grown; /* how often it had to grow              */
} leat__buf;

/* Room for at least bytes; content is kept. False without memory: the buffer is as before. */
bool leat__buf_reserve(leat__buf *buf, size_t bytes);
/* The same, but a buffer that has to grow gets exactly so many bytes. */
bool leat__buf_reserve_exactly(leat__buf *buf, size_t bytes);
bool leat__buf_append(leat__buf *buf, const void *bytes, size_t n);
/* Gives back what growing has left over. Without memory for the smaller copy the buffer stays as it is. */
void leat__buf_trim(leat__buf *buf);
void leat__buf_free(leat__buf *buf);

typedef struct leat__arena_chunk leat__arena_chunk;
typedef struct leat__arena {   /* zeroed = empty                                    */
    leat__arena_chunk *chunks; /* newest first                                      */
    size_t used;               /* bytes asked for since the last reset, padding too */
    size_t high;               /* most ever used between two resets                 */
    size_t limit;              /* 0 = none; allocations past it fail                */
    leat__mem_kind kind;
    uint32_t grown;
    bool refused; /* an allocation went past the limit since its owner cleared this    */
} leat__arena;

/* Not zeroed; 64-byte aligned. NULL when there is no memory or the limit is reached. */
void *leat__arena_alloc(leat__arena *arena, size_t bytes);
/* Whether the limit leaves room for so many bytes more, with what a piece of the arena takes beside them. */
bool leat__arena_allows(const leat__arena *arena, size_t bytes);
/* Forgets all pieces. Afterwards one chunk holds at least the high-water mark, so that a second image of the
 * same kind allocates nothing. */
void leat__arena_reset(leat__arena *arena);
/* Makes room for the high-water mark of another worker. Only right after a reset. */
bool leat__arena_adopt(leat__arena *arena, size_t high);
void leat__arena_free(leat__arena *arena);

#endif
