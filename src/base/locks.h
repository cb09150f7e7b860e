/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of the library, in the order in which a thread may take them: a thread that holds one takes later ones only. So
 * no two threads can wait for each other. Debug and sanitized builds check it, and what may happen under each.
 *
 *     CALLS      around a function of the program that is not thread-safe; held while it runs
 *     LARGE      the token of the one large picture; held while it is decoded and transformed
 *     ONCE       work that is done once, whichever thread comes first: the index of a shard is made anew. Files are read under it
 *     JOURNAL    `leat pack` writes what it has done
 *     PUBLISH    a pipeline is looked at for `leat top`; held while counters are copied, never while a file is written
 *     SCHED      the scheduler's: slots, cursor, counters. Nothing is read, parsed, decoded or allocated under it, and no
 *                function of the program is called
 *     STREAM     windows and blocks of a stream. Records are read, inflated and filtered without it
 *     PIECE      what one worker has gathered for a cache on disk; held while it is written
 *     CACHE      the table of kept samples, and the queue of what goes to disk
 *     WRITER     what the thread that writes positions has to do; it writes without it
 *     POSITIONS  the table of positions in JPEG files
 *     SETS       data sets of the cache directory that this process uses
 *     TRACE      events of one thread, while one is added or copied
 *     TOOL       counters and lists of one call of a tool
 *     PARALLEL   the first error of leat__parallel */
#ifndef LEAT_BASE_LOCKS_H
#define LEAT_BASE_LOCKS_H

typedef enum leat__lock_rank {
    LEAT_LOCK_CALLS,
    LEAT_LOCK_LARGE,
    LEAT_LOCK_ONCE,
    LEAT_LOCK_JOURNAL,
    LEAT_LOCK_PUBLISH,
    LEAT_LOCK_SCHED,
    LEAT_LOCK_STREAM,
    LEAT_LOCK_PIECE,
    LEAT_LOCK_CACHE,
    LEAT_LOCK_WRITER,
    LEAT_LOCK_POSITIONS,
    LEAT_LOCK_SETS,
    LEAT_LOCK_TRACE,
    LEAT_LOCK_TOOL,
    LEAT_LOCK_PARALLEL
} leat__lock_rank;

#ifdef LEAT_CHECK_LOCKS
/* This thread is about to take a lock; to give it back. */
void leat__lock_taken(leat__lock_rank rank);
void leat__lock_given(leat__lock_rank rank);
/* It is about to read, parse, decode, allocate or call a function of the program. */
void leat__lock_check_work(void);
#else
static inline void leat__lock_taken(leat__lock_rank rank) {
    (void)rank;
}
static inline void leat__lock_given(leat__lock_rank rank) {
    (void)rank;
}
static inline void leat__lock_check_work(void) {
}
#endif

#endif
