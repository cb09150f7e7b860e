/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman tables of a JPEG scan, made for speed. Nearly every photo has its own tables, so they are quick to build. Most of
 * the decoder's time is spent on lookups, so one lookup by ten bits gives as much as possible. */
#ifndef LEAT_DECODE_JPEG_JPEG_HUFFMAN_H
#define LEAT_DECODE_JPEG_JPEG_HUFFMAN_H

#include "base/macros.h"

#define LEAT_JPEG_LOOK 10
#define LEAT_JPEG_LOOKS (1 << LEAT_JPEG_LOOK)
#define LEAT_JPEG_SKIP_LOOK 12   /* the most that are there in front of a refill: see jpeg_blocks.h */
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

/* Entries say how many bits they take, and how to make a value by one addition. The bits of a code and its value are taken out
 * of the stream together, as a number. All of them in front of the value are known from the look, and so is the value's
 * first bit, its sign: a constant of 16 bits takes off the former and corrects the latter. A code whose value begins
 * behind the look is left to `code`, as one that is too long: such entries have no length. */
typedef struct leat__jpeg_dc_entry {
    uint8_t length; /* of code and value             */
    uint8_t rest;   /* 64 - length                   */
    uint16_t add;   /* to the bits, for the value    */
} leat__jpeg_dc_entry;

typedef struct leat__jpeg_dc_table {
    leat__jpeg_code code;
    leat__jpeg_dc_entry look[LEAT_JPEG_LOOKS];
} leat__jpeg_dc_table;

/* What ten bits say about the coefficients that follow. Positions are told as steps from the one before. Those of an entry
 * without length lead behind every block. */
typedef struct leat__jpeg_pair {
    uint8_t
        length; /* of all this                                                                              */
    uint8_t
        first; /* step to a coefficient that lies in the ten bits as a whole                               */
    uint8_t
        second; /* step to the next one, of which the code lies there but perhaps not all value bits; 128 more when
                     * it is not a coefficient but the end of the block                                        */
    uint8_t
        rest; /* 64 - length                                                                              */
    int16_t
        value; /* of the first                                                                             */
    uint16_t
        add; /* for the second's value; at the end of a block the run of its code, for progressive scans */
} leat__jpeg_pair; /* if only one code fits, both steps are its step, and the value is the second's           */

typedef struct leat__jpeg_ac_table {
    leat__jpeg_code code;
    bool skips; /* `skip` is built */
    leat__jpeg_pair pair[LEAT_JPEG_LOOKS];
    /* As many coefficients as fit into a look. Bits 0 to 7: the length of all of them; bits 8 to 15: their steps, and
     * LEAT_JPEG_BLOCK_END when the block ends. 0: see code. */
    uint16_t skip[1 << LEAT_JPEG_SKIP_LOOK];
} leat__jpeg_ac_table;

#define LEAT_JPEG_BLOCK_END 128

/* False when the code is not valid (too many symbols, more codes than bits allow) or has symbols that a regular file does not
 * need. A table that was built from the same code before is left as it is. */
bool leat__jpeg_dc_build(leat__jpeg_dc_table *table, const uint8_t counts[17], const uint8_t symbols[256]);
bool leat__jpeg_ac_build(leat__jpeg_ac_table *table, const uint8_t counts[17], const uint8_t symbols[256]);
/* The code alone, for scans that refine: their new coefficients are of size 1. */
bool leat__jpeg_refine_build(leat__jpeg_code *code, const uint8_t counts[17], const uint8_t symbols[256]);
/* Builds `skip`, which is needed to decode a region, or gray from colour. Does nothing if the table has it. */
void leat__jpeg_ac_build_skip(leat__jpeg_ac_table *table);

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
