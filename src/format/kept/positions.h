/* SPDX-License-Identifier: Apache-2.0 */
/* A file of positions inside JPEG files: a segment (segment.h) without a table, whose key is "JPEG positions 1".
 *
 *     header, 64 bytes     of a segment
 *     entries, each at a multiple of 32:
 *         head, 32 bytes   of a segment's entry; in place of the sample XXH3-64 of the JPEG file's bytes
 *         payload          bytes of the block in use (4), 0 (4), room for the block, a multiple of 8
 *
 * An entry keeps its place: a block that has grown is written over the older one. A damaged entry costs itself alone, since
 * the search for the next one goes on at the next multiple of 32. What a block says is for the decoder to judge
 * (decode/jpeg/jpeg_positions.h). */
#ifndef LEAT_FORMAT_POSITIONS_H
#define LEAT_FORMAT_POSITIONS_H

#include "format/kept/segment.h"

#define LEAT_POSITIONS_CAP ((uint32_t)192 << 10) /* of a block: more than 16,384 positions take */

typedef struct leat__positions_entry {
    uint64_t key;
    uint32_t cap, size;   /* room for the block, and bytes of it in use */
    const uint8_t *block; /* (size) */
} leat__positions_entry;

void leat__positions_write_header(uint8_t out[LEAT_SEGMENT_HEADER]);
bool leat__positions_check_header(const uint8_t header[LEAT_SEGMENT_HEADER]);

/* Bytes of an entry in the file. */
static inline size_t leat__positions_stride(uint32_t cap) {
    return (size_t)leat__segment_stride(8 + (uint64_t)cap);
}
/* Writes leat__positions_stride(cap) bytes. */
void leat__positions_write(uint8_t *out, const leat__positions_entry *entry);
/* Finds the first whole entry at or after *at, which is a multiple of 32, moves *at to it and returns true. False: there is
 * none; *at is where to go on when more bytes are there. last: no more bytes follow. */
bool leat__positions_next(const uint8_t *bytes, size_t n, bool last, size_t *at, leat__positions_entry *out);

#endif
