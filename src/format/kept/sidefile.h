/* SPDX-License-Identifier: Apache-2.0 */
/* The wrapping of side files (indexes kept from one run to the next):
 *
 *     8 bytes   "LEATIDX1"
 *     4 bytes   kind, little-endian
 *     4 bytes   0x01020304 in the byte order of the writer: a payload holds arrays as they are in memory
 *     8 bytes   length of the payload
 *     8 bytes   XXH3-64 of the payload
 *     payload
 *
 * A side file that fails any check is ignored, and its owner makes a new one. */
#ifndef LEAT_FORMAT_SIDEFILE_H
#define LEAT_FORMAT_SIDEFILE_H

#include "base/mem.h"

enum { LEAT_SIDEFILE_HEADER = 32 };
enum {
    LEAT_SIDEFILE_FOLDER = 1,
    LEAT_SIDEFILE_RECORDS = 2,
    LEAT_SIDEFILE_ANSWERS = 3,
    LEAT_SIDEFILE_TAR = 4
};

/* Fills the header that goes in front of a payload of n bytes. */
void leat__sidefile_write_header(uint8_t header[LEAT_SIDEFILE_HEADER], int kind, const void *payload,
                                 size_t n);
/* The payload inside bytes, NULL if this is not a whole and undamaged side file of that kind. */
const uint8_t *leat__sidefile_payload(const uint8_t *bytes, size_t n, int kind, size_t *payload_n);

#endif
