/* SPDX-License-Identifier: Apache-2.0 */
/* A JPEG of several scans: all of them are read, in front of the first row, into the coefficients of the whole picture. From
 * there rows are made as those of any other (jpeg_own.c), only for blocks of the part that is wanted.
 *
 * A component's blocks lie row by row, with as many blocks in a row as its MCUs have; each block is in the order of
 * leat__jpeg_slot and has a set beside it (jpeg_passes.h). */
#ifndef LEAT_DECODE_JPEG_JPEG_PROGRESSIVE_H
#define LEAT_DECODE_JPEG_JPEG_PROGRESSIVE_H

#include "base/mem.h"
#include "decode/jpeg/jpeg_head.h"
#include "decode/jpeg/jpeg_scan.h"

typedef struct leat__jpeg_stored {
    int across[3]; /* blocks of a row */
    int16_t *blocks[3];
    uint64_t *sets[3];
    void *memory; /* all of that; NULL: nothing was taken */
    size_t bytes;
    leat__jpeg_code refined; /* the code of a scan that refines */
} leat__jpeg_stored;

/* Takes the memory for all coefficients. */
bool leat__jpeg_stored_take(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__arena *arena);
/* Reads all scans. The tables are those of jpeg_own.c: codes that were there in the picture before are not built anew. False:
 * something is irregular. */
bool leat__jpeg_stored_read(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                            leat__jpeg_dc_table dc[LEAT_JPEG_TABLES],
                            leat__jpeg_ac_table ac[LEAT_JPEG_TABLES]);

/* The last position of a block that is not zero. */
static inline int leat__jpeg_stored_last(uint64_t set) {
    return set ? 63 - __builtin_ctzll(set) : 0;
}

#endif
