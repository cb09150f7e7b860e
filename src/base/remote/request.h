/* SPDX-License-Identifier: Apache-2.0 */
/* One GET of a remote file, tried again within limits when network or server fail for a while.
 *
 * Every thread that reads has a connection of its own, made at its first request and closed when the thread ends. Connections are
 * never shared, so nothing is locked, and a child process makes its own.
 *
 * What is tried again: time-outs, connections that fail or are cut, bodies that end early, and the answers 408, 429, 500, 502, 503
 * and 504, up to LEAT_REMOTE_TRIES times, with growing pauses of which a part is random. What has arrived is kept. When that does
 * not help, or LEAT_REMOTE_TIMEOUT seconds have brought no byte, it is an error of the machine, never a bad sample. */
#ifndef LEAT_BASE_REMOTE_REQUEST_H
#define LEAT_BASE_REMOTE_REQUEST_H

#include "base/mem.h"

enum { LEAT_REMOTE_TRIES = 7, LEAT_REMOTE_REDIRECTS = 5, LEAT_REMOTE_TIMEOUT_S = 60, LEAT_ETAG_BYTES = 128 };

typedef struct leat__ask {
    const char *url;   /* http://, https:// or s3://, as the text has it               */
    const char *query; /* NULL, or of an s3:// bucket, sorted and encoded              */
    /* Bytes [offset, offset + n) go to `into`. NULL: the whole file goes to `all`, up to bytes_max bytes of it. */
    uint8_t *into;
    size_t n;
    uint64_t offset;
    leat__buf *all;
    size_t bytes_max;
    /* What the file was when it was opened; another one is an error. NULL: it is opened now. */
    const char *etag;
    uint64_t size;
} leat__ask;

typedef struct leat__answer {
    size_t n;                   /* bytes that were written                              */
    uint64_t size;              /* of the file                                          */
    int64_t date_s;             /* when it was last changed; 0 = the server does not say */
    char etag[LEAT_ETAG_BYTES]; /* "" = the server has none                             */
    bool ranges;                /* the server gives parts of the file                   */
} leat__answer;

/* A file that is shorter than the bytes asked for is no error while it is opened: answer->n tells. LEAT_ERR_NOT_FOUND: there is
 * none. Other errors are LEAT_ERR_IO with a `sys` that makes them the machine's. */
int leat__request(const leat__ask *ask, leat__answer *answer, leat_error *err);

#endif
