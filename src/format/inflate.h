/* SPDX-License-Identifier: Apache-2.0 */
/* Files compressed as a whole by GZIP or ZLIB, as TFRecordWriter makes them: a stream of bytes in, a stream of bytes
 * out. The memory it takes does not depend on their sizes. */
#ifndef LEAT_FORMAT_INFLATE_H
#define LEAT_FORMAT_INFLATE_H

#include "base/error.h"

typedef enum { LEAT_COMPRESSION_NONE, LEAT_COMPRESSION_GZIP, LEAT_COMPRESSION_ZLIB } leat__compression;

/* The compression of a file that begins with these bytes; pass 12 or more. A TFRecord header with a right
 * checksum is always LEAT_COMPRESSION_NONE, whatever else it looks like. So are bytes of no known kind. */
leat__compression leat__compression_detect(const uint8_t *bytes, size_t n);

typedef struct leat__inflate leat__inflate;

/* NULL without memory or for LEAT_COMPRESSION_NONE; err says so. The caller frees it. */
leat__inflate *leat__inflate_new(leat__compression compression, leat_error *err);
/* Frees and nulls; NULL is fine. */
void leat__inflate_free(leat__inflate **z);
/* To start over with another stream of the same kind, also after an error, without allocating. 0. */
int leat__inflate_reset(leat__inflate *z);

/* Takes from in, puts into out, and says how much in *in_used and *out_made (also when it fails: what is in
 * out then came before the damage). last_input: nothing follows in[0, in_n).
 *   0  go on: with more input if all of in was used, else with more room. When out was filled to the last
 *      byte there may be more to come even without input, so call again before you conclude anything.
 *   1  the stream has ended and so has the input. No input at all is a stream without bytes.
 *  <0  LEAT_ERR_FORMAT: damaged, truncated, followed by something else. Stays until reset.
 * Streams one after the other are one stream, and zero bytes after a stream are padding. Every call with room
 * in out and with input, or with last_input, makes progress or returns other than 0. */
int leat__inflate_run(leat__inflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                      size_t out_cap, size_t *out_made, bool last_input, leat_error *err);

#endif
