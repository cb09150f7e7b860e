/* SPDX-License-Identifier: Apache-2.0 */
/* What a running pipeline tells about itself, for `leat top`: one file, written again in place once a second.
 *
 *     8 bytes   "LEATTOP1"
 *     4 bytes   0x01020304 in the byte order of the writer
 *     4 bytes   bytes of the whole record: another number is another version of leat
 *     8 bytes   XXH3-64 of what follows
 *     8 bytes   where the process runs (base/runtime/process.h)
 *     8 bytes   when it started
 *     8 bytes   when this was written, in nanoseconds since 1970
 *     a leat_running, as it is in memory
 *
 * A reader may come while it is written: then the checksum is wrong, and it reads again. */
#ifndef LEAT_FORMAT_TOP_RECORD_H
#define LEAT_FORMAT_TOP_RECORD_H

#include "base/macros.h"
#include "leat/leat_tools.h"

#define LEAT_TOP_RECORD_HEAD 48
#define LEAT_TOP_RECORD_BYTES (LEAT_TOP_RECORD_HEAD + sizeof(leat_running))

typedef struct leat__top_record {
    uint64_t place, start;
    int64_t written_ns;
    leat_running running;
} leat__top_record;

void leat__top_record_write(uint8_t out[LEAT_TOP_RECORD_BYTES], const leat__top_record *record);
/* False: the bytes are no whole record of this version. Otherwise texts end with a 0 and have no control characters, times
 * are finite and at least 0, numbers of threads lie between 0 and 100,000. */
bool leat__top_record_read(const uint8_t *bytes, size_t n, leat__top_record *out);

#endif
