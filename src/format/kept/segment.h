/* SPDX-License-Identifier: Apache-2.0 */
/* A segment of a cache on disk: entries one after the other, and when it is complete a table of them.
 *
 *     header, 64 bytes      "LEATSEG1", 0x01020304 in the byte order of the writer, 0, 16 bytes of key, 28 zeros,
 *                           checksum of the 60 bytes before
 *     entries, each at a multiple of 32:
 *         head, 32 bytes    sample (8), length (8), XXH3-64 of the payload with the sample as its seed (8), "ENTR",
 *                           checksum of the 28 bytes before
 *         payload           length bytes, then zeros up to a multiple of 32
 *     table                 for each entry sample, place in units of 32 bytes, length: 4 bytes each
 *     trailer, 32 bytes     "LEATSEND", number of entries (8), XXH3-64 of the table (8), 0, checksum of the 28 bytes before
 *
 * Checksums of heads are CRC-32C as TFRecord masks it; numbers are little-endian. A file without table and trailer is a
 * segment that was not completed: its entries are valid up to the first one with a wrong checksum. The key identifies the
 * data and operations that a segment was made from. The layout of a payload is in format/bundle.h.
 * Positions inside JPEG files are kept in segments too, without a table: format/positions.h. */
#ifndef LEAT_FORMAT_SEGMENT_H
#define LEAT_FORMAT_SEGMENT_H

#include "base/macros.h"

enum {
    LEAT_SEGMENT_HEADER = 64,
    LEAT_SEGMENT_HEAD = 32,
    LEAT_SEGMENT_UNIT = 32,
    LEAT_SEGMENT_PLACE = 12,
    LEAT_SEGMENT_TRAILER = 32,
    LEAT_SEGMENT_KEY = 16
};

typedef struct leat__segment_entry {
    uint64_t sample, length, checksum;
} leat__segment_entry;

typedef struct leat__segment_place { /* a row of the table */
    uint32_t sample, unit, length;
} leat__segment_place;

void leat__segment_write_header(uint8_t out[LEAT_SEGMENT_HEADER], const uint8_t key[LEAT_SEGMENT_KEY]);
/* Whether this is the header of a segment of that key, written by a machine like this one. */
bool leat__segment_check_header(const uint8_t header[LEAT_SEGMENT_HEADER],
                                const uint8_t key[LEAT_SEGMENT_KEY]);

uint64_t leat__segment_checksum(uint64_t sample, const void *payload, size_t n);
void leat__segment_write_head(uint8_t out[LEAT_SEGMENT_HEAD], const leat__segment_entry *entry);
/* False: this is no head, or its entry does not fit into room bytes, the head's own included. */
bool leat__segment_read_head(const uint8_t head[LEAT_SEGMENT_HEAD], uint64_t room, leat__segment_entry *out);
/* Bytes from the head of an entry to the next one. */
static inline uint64_t leat__segment_stride(uint64_t length) {
    return LEAT_ALIGN_UP(LEAT_SEGMENT_HEAD + length, (uint64_t)LEAT_SEGMENT_UNIT);
}

void leat__segment_write_place(uint8_t out[LEAT_SEGMENT_PLACE], const leat__segment_place *place);
leat__segment_place leat__segment_read_place(const uint8_t *table, uint64_t i);
void leat__segment_write_trailer(uint8_t out[LEAT_SEGMENT_TRAILER], const void *table, uint64_t n);
/* From the last bytes of a file of that size: where its table begins, and how many entries it has. */
bool leat__segment_read_trailer(const uint8_t trailer[LEAT_SEGMENT_TRAILER], uint64_t size, uint64_t *table,
                                uint64_t *n);
/* Whether the table is what the trailer says, and all of its entries lie in front of it. */
bool leat__segment_check_table(const uint8_t trailer[LEAT_SEGMENT_TRAILER], const uint8_t *table,
                               uint64_t begin, uint64_t n);

#endif
