/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman tables of a JPEG scan, made for speed. Nearly every photo has its own tables, so they are quick to build. Most of
 * the decoder's time is spent on lookups, so one lookup by ten bits gives as much as possible. */
#ifndef LEAT_DECODE_JPEG_JPEG_HUFFMAN_H
#define LEAT_DECODE_JPEG_JPEG_HUFFMAN_H

#include "base/macros.h"

#define LEAT_JPEG_LOOK 10
#define LEAT_JPEG_LOOKS (1 << LEAT_JPEG_LOOK)
#define LEAT_JPEG_SKIP_LOOK 12   /* of long scans; two tables of 13 bits leave no room in the first cache */
#define LEAT_JPEG_DC_SIZE_MAX 11 /* bits of a difference; the standard's limit for 8-bit samples */
#define LEAT_JPEG_AC_SIZE_MAX 10

/* A code as the file gives it: how many symbols of each length, and the symbols. */
typedef struct leat__jpeg_code {
    uint8_t counts[17]; /* [1] to [16] */
    uint8_t symbols[256];
    uint16_t look[LEAT_JPEG_LOOKS]; /* length << 8 | symbol; 0: longer than that, or none */
    /* For longer ones: of 16 bits, those below end[length] have at most that length. */
    uint32_t end[17];
    int32_t offset[17]; /* from the first `length` bits to a place among the symbols */
} leat__jpeg_code;

typedef struct leat__jpeg_dc_table {
    leat__jpeg_code code;
    uint32_t look[LEAT_JPEG_LOOKS]; /* bits of code and value | mask of the value << 16; 0: see code */
} leat__jpeg_dc_table;

/* What ten bits say about the coefficients that follow. Positions are told as steps from the one before.
 *
 *   pair  bits  0-7   length of all this
 *         bits  8-15  step to a coefficient that lies in the ten bits as a whole
 *         bits 16-23  step to the next one, of which the code lies there but perhaps not all value bits; 128 more when
 *                     it is not a coefficient but the end of the block
 *         bit  24     set when there are two
 *         bits 25-28  the run of a code that ends the block; used by progressive scans only
 *         bits 32-47  value of the first
 *         bits 48-63  mask of the second's value bits
 *         If only one code fits, both steps are its step, and the value is the second's.
 *   skip  the same of ten bits, or of more where a scan is long enough to pay for a larger table
 *         bits  0-7   length of as many coefficients as fit
 *         bits  8-15  the steps of all of them; 128 more when the block ends
 *   0: see code. */
typedef struct leat__jpeg_ac_table {
    leat__jpeg_code code;
    int skip_look; /* bits of a look into skip; 0: not built */
    uint64_t pair[LEAT_JPEG_LOOKS];
    uint16_t skip[1 << LEAT_JPEG_SKIP_LOOK];
} leat__jpeg_ac_table;

#define LEAT_JPEG_BLOCK_END 128
#define LEAT_JPEG_TWO ((uint64_t)1 << 24)
#define LEAT_JPEG_END_BITS(entry) ((unsigned)((entry) >> 25) & 15)

/* False when the code is not valid (too many symbols, more codes than bits allow) or has symbols that a regular file does not
 * need. A table that was built from the same code before is left as it is. */
bool leat__jpeg_dc_build(leat__jpeg_dc_table *table, const uint8_t counts[17], const uint8_t symbols[256]);
bool leat__jpeg_ac_build(leat__jpeg_ac_table *table, const uint8_t counts[17], const uint8_t symbols[256]);
/* The code alone, for scans that refine: their new coefficients are of size 1. */
bool leat__jpeg_refine_build(leat__jpeg_code *code, const uint8_t counts[17], const uint8_t symbols[256]);
/* Builds `skip` for looks of so many bits, LEAT_JPEG_LOOK or LEAT_JPEG_SKIP_LOOK. It is needed to decode a region, or gray from
 * colour. Does nothing if the table has it. */
void leat__jpeg_ac_build_skip(leat__jpeg_ac_table *table, int look);

/* The symbol that 16 bits begin with, when a look was not enough; *length 0 if there is none. */
static inline int leat__jpeg_code_long(const leat__jpeg_code *code, uint32_t bits, int *length) {
    for (int n = LEAT_JPEG_LOOK + 1; n <= 16; n++)
        if (bits < code->end[n]) {
            *length = n;
            return code->symbols[(int32_t)(bits >> (16 - n)) + code->offset[n]];
        }
    *length = 0;
    return 0;
}

#endif
