/* SPDX-License-Identifier: Apache-2.0 */
/* The entropy-coded part of a sequential JPEG: bytes to coefficients, or past them.
 *
 *     file -> [unstuff] -> window -> [bit reader] -> blocks of coefficients
 *
 * The window holds some KiB of the scan without its stuffed zeros. A block is begun only where all the bits that it can
 * possibly take lie in the window, or in zeros behind the scan's end; one comparison a block keeps the reader inside.
 * At anything irregular a call returns false: the caller then gives the whole file to libjpeg-turbo, which decides whether
 * the file is damaged.
 *
 * A place in the scan can be noted, and decoding can begin there later: the position of its bit and the DC predictions at
 * that place are enough. */
#ifndef LEAT_DECODE_JPEG_JPEG_SCAN_H
#define LEAT_DECODE_JPEG_JPEG_SCAN_H

#include "decode/jpeg/jpeg_dsp.h"
#include "decode/jpeg/jpeg_huffman.h"

#define LEAT_JPEG_WINDOW 16384
#define LEAT_JPEG_UNITS_MAX 6 /* blocks of an MCU: 2x2 of luma and two of chroma */
/* The longest block: a difference (16 and 11 bits) and 63 coefficients (16 and 10) are 209 bytes; the reader loads 8
 * bytes at a time and may have loaded as many before. */
#define LEAT_JPEG_BLOCK_BYTES 256
#define LEAT_JPEG_HISTORY 8 /* bytes in front of the reader that stay in the window: it holds bits of them */

typedef struct leat__jpeg_bits {
    uint64_t bits;  /* the next ones, from the top                              */
    unsigned count; /* that are surely there                                    */
    const uint8_t *next;
} leat__jpeg_bits;

typedef struct leat__jpeg_spot { /* where an MCU begins                                         */
    uint32_t bit;                /* from the first byte of the scan on, stuffed zeros included  */
    int16_t prediction[3];
} leat__jpeg_spot;

typedef struct leat__jpeg_unit { /* one block of an MCU */
    int component;
    bool wanted; /* false: of its coefficients only the first is kept */
    const leat__jpeg_dc_table *dc;
    const leat__jpeg_ac_table *ac;
} leat__jpeg_unit;

typedef struct leat__jpeg_scan {
    /* set by the caller */
    const leat__jpeg_dsp *dsp;
    int n_units;
    leat__jpeg_unit unit[LEAT_JPEG_UNITS_MAX];
    int restart_interval; /* in MCUs, 0 = none */
    bool tracked;         /* spots are asked for; not with restarts */
    /* its own */
    const uint8_t *src, *src_end; /* what was not unstuffed yet                       */
    leat__jpeg_bits reader;
    leat__jpeg_bits second; /* see leat__jpeg_scan_second                               */
    int second_prediction[3];
    const uint8_t *end;   /* of what is in the window                                 */
    const uint8_t *limit; /* no block begins with the reader behind it                */
    bool final;           /* the window ends where a marker is                        */
    bool bad;
    int to_restart, next_restart;
    int prediction[3];
    unsigned empty; /* progressive: blocks that follow without coefficients that this scan adds */
    /* tracked: a byte in the window that is not behind the reader, and where it stands in the scan */
    const uint8_t *mark;
    uint64_t mark_at;
    const uint8_t *first; /* of the scan */
    LEAT_ALIGNED(64) uint8_t window[LEAT_JPEG_WINDOW + LEAT_JPEG_BLOCK_BYTES + LEAT_JPEG_PAD];
} leat__jpeg_scan;

typedef struct
    leat__jpeg_strip {    /* a row of MCUs of a progressive scan, and what the scan says of it           */
    int first, last, low; /* see leat__jpeg_pass                                                     */
    int16_t *blocks[LEAT_JPEG_UNITS_MAX]; /* the first MCU's, one for each unit of the scan               */
    int step[LEAT_JPEG_UNITS_MAX];        /* from one MCU to the next, in coefficients                    */
    /* AC: blocks follow one another, and each has the set of its coefficients that are not zero */
    uint64_t *sets, band; /* the band is the set of those from first to last                               */
    const leat__jpeg_ac_table *ac; /* of the first scan of a band, and of one that refines: */
    const leat__jpeg_code *code;
    uint8_t slots[256]; /* as in jpeg_blocks.h, but what is behind the band goes nowhere too */
} leat__jpeg_strip;

/* From the first byte after the scan's header. */
void leat__jpeg_scan_begin(leat__jpeg_scan *scan, const uint8_t *src, const uint8_t *end);
/* The coefficients of n_mcus MCUs, in the order of leat__jpeg_slot, into blocks that are zero and have room for 64
 * values more; last[i] is the last position that block i uses. */
bool leat__jpeg_scan_read(leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int n_mcus);
/* The slots of a strip. */
void leat__jpeg_band_slots(uint8_t out[256], int last);
/* A row of n_mcus MCUs of a progressive scan, by one of dsp's functions. AC: a block is an MCU, and 64 values more follow. */
bool leat__jpeg_scan_pass(leat__jpeg_scan *scan, LEAT_FN_JPEG_PASS((*run)), const leat__jpeg_strip *strip,
                          int n_mcus);
/* After the last MCU: only padding is left in front of this marker. */
bool leat__jpeg_scan_done(leat__jpeg_scan *scan, const uint8_t *marker);
/* Goes past so many, after which there must be more. The AC tables must have their part for skipping. Restart markers are
 * places to jump to: what lies between them is not looked at. */
bool leat__jpeg_scan_skip(leat__jpeg_scan *scan, int64_t n_mcus);
/* tracked: the spot where the next MCU begins; false if it is too far in. */
bool leat__jpeg_scan_spot(leat__jpeg_scan *scan, leat__jpeg_spot *out);
/* tracked: goes there, ahead. Any spot is safe, only a right one is of use. */
bool leat__jpeg_scan_go(leat__jpeg_scan *scan, const leat__jpeg_spot *spot);
/* tracked: readies a second reader at a spot ahead, if all bits from here to `end` (NULL: of the whole scan) lie in the window.
 * False: they do not, and nothing has changed. */
bool leat__jpeg_scan_second(leat__jpeg_scan *scan, const leat__jpeg_spot *spot, const leat__jpeg_spot *end);
/* n_mcus MCUs by the reader and as many by the second one, in turns, which takes less time than one after the other. As
 * leat__jpeg_scan_read does, but all blocks must be wanted. */
bool leat__jpeg_scan_read_two(leat__jpeg_scan *scan, int16_t *const blocks[2], uint8_t *const last[2],
                              int n_mcus);
/* The second reader becomes the reader. */
void leat__jpeg_scan_take_second(leat__jpeg_scan *scan);
/* After the last MCU: the next marker is the one that ends the file. */
bool leat__jpeg_scan_ends(const leat__jpeg_scan *scan);

#endif
