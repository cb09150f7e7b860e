/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of requests to S3 (AWS Signature Version 4), as pure functions over memory. leat computes them itself: what libcurl
 * signs differs between its versions (payload hashes since 7.87, sorted queries since 8.3, encoded paths since 8.9). */
#ifndef LEAT_BASE_REMOTE_SIGV4_H
#define LEAT_BASE_REMOTE_SIGV4_H

#include "base/macros.h"

#define LEAT_SHA256_BYTES 32
#define LEAT_SHA256_HEX (2 * LEAT_SHA256_BYTES + 1)
/* Of an empty body, which all of leat's requests have. */
#define LEAT_SHA256_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

void leat__sha256(const void *bytes, size_t n, uint8_t out[LEAT_SHA256_BYTES]);
/* key has at most 64 bytes, or is hashed first, as the standard says. */
void leat__hmac_sha256(const void *key, size_t n_key, const void *bytes, size_t n,
                       uint8_t out[LEAT_SHA256_BYTES]);

typedef struct leat__sigv4 {
    const char *key_id, *secret;
    const char *token;       /* of a session; "" = none                             */
    const char *region;      /* "us-east-1"                                         */
    const char *host;        /* as the header Host has it, with a port if it has one */
    const char *path;        /* encoded, from the first slash on                    */
    const char *query;       /* encoded, sorted; "" = none                          */
    const char *payload_sha; /* hex                                                 */
    const char *date;        /* "20130524T000000Z"                                  */
    const char *range;       /* value of the header Range; NULL = there is none      */
} leat__sigv4;

/* The value of the header Authorization of a GET. False: it does not fit. */
bool leat__sigv4_sign(const leat__sigv4 *request, char *out, size_t cap);
/* Writes text with every byte but letters, digits and -._~ as %XX; slashes stay if keep_slash. False: it does not fit. */
bool leat__uri_encode(const char *text, size_t n, bool keep_slash, char *out, size_t cap);

#endif
