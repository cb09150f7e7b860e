/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of one thread, and what one answer brings: headers, body, and the message of a server that refuses. */
#ifndef LEAT_BASE_REMOTE_CONNECTION_H
#define LEAT_BASE_REMOTE_CONNECTION_H

#include "base/remote/libcurl.h"
#include "base/remote/request.h"
#include "base/remote/s3.h"

typedef enum leat__body_fault {
    LEAT_BODY_GOOD,
    LEAT_BODY_ENOUGH,
    LEAT_BODY_TOO_LONG,
    LEAT_BODY_NO_MEMORY
} leat__body_fault;

typedef struct leat__line {
    const leat__libcurl *curl;
    void *easy;
    int64_t pid; /* of the process that made the connection */
    char error[LEAT_CURL_ERROR_SIZE];
    /* Of s3://, looked for again every minute: tokens expire and are renewed in their file. */
    leat__s3_keys keys;
    leat__s3_request s3;
    uint64_t keys_ns;     /* when; 0 = never */
    uint64_t environment; /* that they were found in */
    /* The answer that arrives. */
    const leat__ask *ask;
    uint64_t from; /* the first byte that was asked for */
    long status;
    char reason[80]; /* of the status line */
    bool has_length, has_range;
    uint64_t length, range_begin, range_size;
    char etag[LEAT_ETAG_BYTES], type[80], region[64];
    uint64_t retry_after_s;
    size_t n; /* bytes of the body that were kept, over all tries */
    leat__body_fault fault;
    uint64_t last_byte_ns;
    char message[2048]; /* of an answer that is no file */
    size_t message_n;
} leat__line;

/* The thread's connection, made if there is none. NULL with a message. */
leat__line *leat__line_get(leat_error *err);
/* Sends one GET and takes the answer: one of leat__curl_code. range: the header's value, or NULL. */
int leat__line_send(leat__line *line, const char *url, const char *range, const leat__curl_list *headers);
/* Seconds that may pass without a byte. */
uint64_t leat__line_timeout_s(void);

#endif
