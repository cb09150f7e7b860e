/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted about a JPEG while it is decoded: the spots where rows of MCUs begin, and every few MCUs inside of them, so
 * that a later part of the same picture begins at the nearest one.
 *
 *     8 bytes   seal: XXH3-64 of all that follows, with the key of the file as its seed
 *     2 x 4     MCUs across and down, MCUs from one position of a row to the next, 0
 *     4 bytes   positions that follow, row by row from the first one on: the last rows may be missing
 *     4 bytes   0
 *     10 each   bit of the scan (4), prediction of each component (2 x 3)
 *
 * Numbers are in the byte order of the machine. The key is a hash of the whole file, so a block that fits its seal was
 * made from the same bytes and is still right. The block is checked all the same: sizes are compared with the file's
 * header, and if a spot lies outside of the scan, libjpeg-turbo decodes the file. */
#ifndef LEAT_DECODE_JPEG_JPEG_POSITIONS_H
#define LEAT_DECODE_JPEG_JPEG_POSITIONS_H

#include "decode/codec.h"
#include "decode/jpeg/jpeg_head.h"
#include "decode/jpeg/jpeg_scan.h"

typedef struct leat__jpeg_positions { /* of the picture that is being decoded                     */
    leat__decode_positions *asked;    /* NULL: the caller wants none                              */
    int across, step, per_row;        /* MCUs of a row, from one position to the next; positions of a row */
    uint32_t n, n_all;                /* positions that are known, and of the whole picture           */
    uint32_t n_before;                /* positions that were known when the picture began             */
} leat__jpeg_positions;

/* Checks the positions that are known, and makes room for the rest. */
void leat__jpeg_positions_begin(leat__jpeg_positions *positions, const leat__jpeg_head *head,
                                leat__decode_positions *asked);
/* The MCU of the first note that is missing; INT64_MAX: none is. */
static inline int64_t leat__jpeg_positions_next(const leat__jpeg_positions *positions) {
    if (!positions->asked || positions->n == positions->n_all) return INT64_MAX;
    return (int64_t)(positions->n / (uint32_t)positions->per_row) * positions->across +
           (int64_t)(positions->n % (uint32_t)positions->per_row) * positions->step;
}
void leat__jpeg_positions_add(leat__jpeg_positions *positions, const leat__jpeg_spot *spot);
/* The nearest note at or before an MCU, and its own MCU; false if none is behind `from`. */
bool leat__jpeg_positions_find(const leat__jpeg_positions *positions, int64_t mcu, int64_t from, int64_t *at,
                               leat__jpeg_spot *spot);
/* Seals what was added. Only if all of the picture that was asked for could be decoded. */
void leat__jpeg_positions_seal(leat__jpeg_positions *positions);

#endif
