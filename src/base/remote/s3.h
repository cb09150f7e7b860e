/* SPDX-License-Identifier: Apache-2.0 */
/* What s3://bucket/key means: an address, a region and headers with a signature. Any server that speaks S3 will do
 * (LEAT_S3_ENDPOINT). Keys come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or from the
 * shared files of the AWS tools (AWS_PROFILE); without any, requests are not signed, as public buckets allow. */
#ifndef LEAT_BASE_REMOTE_S3_H
#define LEAT_BASE_REMOTE_S3_H

#include "base/error.h"

#define LEAT_URL_BYTES 8192

typedef struct leat__s3_keys {
    char key_id[160], secret[200], token[4096]; /* "" = none */
    char region[64];
    char endpoint[512]; /* "" = Amazon's */
    char profile[128];  /* that they were looked for in */
} leat__s3_keys;

/* Reads environment and files. Damaged or missing files give no keys. */
void leat__s3_find_keys(leat__s3_keys *out);
/* A hash of the variables of the environment that it reads. */
uint64_t leat__s3_environment(void);

typedef struct leat__s3_request {
    char url[LEAT_URL_BYTES];
    int n_headers; /* 0: it is not signed */
    char header[4][4608];
} leat__s3_request;

/* The request for an object, s3://bucket/key, or with a query, sorted and encoded, for the bucket itself. range: the header's
 * value, or NULL. now_s: seconds since 1970. */
int leat__s3_request_make(leat__s3_request *out, const leat__s3_keys *keys, const char *url,
                          const char *query, const char *range, int64_t now_s, leat_error *err);
/* The two parts of s3://bucket/key. */
int leat__s3_split(const char *url, char *bucket, size_t cap, const char **key, leat_error *err);

#endif
