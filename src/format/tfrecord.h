/* SPDX-License-Identifier: Apache-2.0 */
/* The TFRecord container: records one after the other, nothing before, between or after.
 *
 *     u64 length | u32 checksum of the 8 length bytes | payload | u32 checksum of the payload
 *
 * All little-endian; checksums are CRC-32C, masked. A right checksum does not make a length trustworthy, since a hostile
 * file can have one: compare the length with the size of the file before anything is allocated. */
#ifndef LEAT_FORMAT_TFRECORD_H
#define LEAT_FORMAT_TFRECORD_H

#include "base/macros.h"

enum { LEAT_TFRECORD_HEADER = 12, LEAT_TFRECORD_FOOTER = 4, LEAT_TFRECORD_OVERHEAD = 16 };

/* Reads the length of the payload. False, and *length untouched: its checksum is wrong. */
bool leat__tfrecord_length(const uint8_t header[LEAT_TFRECORD_HEADER], uint64_t *length);
/* Whether the payload has the checksum that follows it. */
bool leat__tfrecord_intact(const uint8_t *payload, size_t n, const uint8_t footer[LEAT_TFRECORD_FOOTER]);

void leat__tfrecord_write_header(uint8_t header[LEAT_TFRECORD_HEADER], uint64_t length);
void leat__tfrecord_write_footer(uint8_t footer[LEAT_TFRECORD_FOOTER], const void *payload, size_t n);

/* First offset >= from in bytes[0, n) where a record begins whose length and payload checksums both match; n
 * if none. Records that reach past n cannot be confirmed and are passed over.
 * Forged headers do not make it quadratic for windows of some MiB: at worst it checksums 2 n bytes, and
 * n / 4096 for each header that lies. Needs 32 KiB of stack. */
size_t leat__tfrecord_resync(const uint8_t *bytes, size_t n, size_t from);

#endif
