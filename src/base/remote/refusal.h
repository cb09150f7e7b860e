/* SPDX-License-Identifier: Apache-2.0 */
/* What is said when a remote file cannot be read: one line with its address (without its query), the status, the server's own
 * message, and what to do. */
#ifndef LEAT_BASE_REMOTE_REFUSAL_H
#define LEAT_BASE_REMOTE_REFUSAL_H

#include "base/remote/connection.h"

/* The connection failed: a code of libcurl. */
int leat__refuse_transport(const leat__line *line, int code, leat_error *err);
/* The server's answer is no file: its status tells. */
int leat__refuse_status(const leat__line *line, leat_error *err);
/* Anything else; sys makes it the machine's fault. */
int leat__refuse(const leat__line *line, int sys, leat_error *err, const char *what);
/* What a server says in the body of an answer: code and message of S3, the title of a page, or its first words. */
const char *leat__server_message(const char *body, size_t n, char *out, size_t cap);

#endif
