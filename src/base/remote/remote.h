/* SPDX-License-Identifier: Apache-2.0 */
/* Files behind an address: http://, https:// and s3://bucket/key. base/file.h calls these functions for such names, so that no other
 * room knows the difference. An address may have a query, as signed addresses have: it is sent, and stands in no message and no
 * name.
 *
 * A file that is open is what it was when it was opened: every answer is compared with its size and ETag, and another one is an
 * error. The parts of leat__file that tell files apart are made of these two: see leat__remote_open. */
#ifndef LEAT_BASE_REMOTE_REMOTE_H
#define LEAT_BASE_REMOTE_REMOTE_H

#include "base/file.h"

/* mtime_ns: the second is that of Last-Modified, and the nanosecond comes from the ETag; inode: of the ETag. So everybody who
 * compares these compares ETags. */
int leat__remote_open(leat__file *file, const char *url, leat_error *err);
int leat__remote_read_at(const leat__file *file, void *dst, size_t n, uint64_t offset, leat_error *err);
int leat__remote_read_all(const char *url, leat__buf *buf, size_t bytes_max, leat_error *err);
void leat__remote_close(leat__file *file);

/* listing.c: the objects that a pattern of s3://bucket/... matches, or all below s3://bucket/folder/: calls fn for each address, in
 * the order of keys. */
typedef int (*leat__listing_fn)(void *user, const char *url, leat_error *err);
int leat__remote_glob(const char *pattern, leat__listing_fn fn, void *user, leat_error *err);
/* One page of an answer to ListObjectsV2: calls fn for every key, and copies the token for the next page, "" if there is none. */
typedef int (*leat__listing_key_fn)(void *user, const char *key, leat_error *err);
int leat__listing_parse(const char *xml, size_t n, leat__listing_key_fn fn, void *user, char *token,
                        size_t cap, leat_error *err);

#endif
