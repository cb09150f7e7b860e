/* SPDX-License-Identifier: Apache-2.0 */
/* A file compressed as a whole by GZIP or ZLIB, as TFRecordWriter makes it: the other direction of inflate.h. */
#ifndef LEAT_FORMAT_DEFLATE_H
#define LEAT_FORMAT_DEFLATE_H

#include "format/inflate.h"

typedef struct leat__deflate leat__deflate;

/* level: 1 fast to 9 small, 0 = zlib's default. NULL without memory; err says so. The caller frees it. */
leat__deflate *leat__deflate_new(leat__compression compression, int level, leat_error *err);
/* Frees and nulls; NULL is fine. */
void leat__deflate_free(leat__deflate **z);
/* Takes from in, puts into out, and says how much in *in_used and *out_made. 0: call again, with more input if all of in
 * was used and out is not full, else with more room; 1: the stream has ended, after last. The same bytes come out however
 * the input is cut. */
int leat__deflate_run(leat__deflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                      size_t out_cap, size_t *out_made, bool last);

#endif
