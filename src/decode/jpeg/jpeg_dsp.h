/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of our own JPEG decoder. As in image/dsp.h the plain C version of each is its specification, another
 * instruction set replaces entries and gives the same bytes, and each prototype is written once.
 *
 * Rows that kernels read are padded: LEAT_JPEG_PAD bytes before and after them may be read, whatever they hold. Where a
 * line says so, as many after the end of an output may be written. */
#ifndef LEAT_DECODE_JPEG_JPEG_DSP_H
#define LEAT_DECODE_JPEG_JPEG_DSP_H

#include "base/macros.h"

#define LEAT_JPEG_PAD 64

/* Coefficients of a block lie in the order that the vector kernel loads them in: four groups of 16, made of the rows 0 2,
 * 1 3, 4 6 and 5 7. Inside a group the columns go 0 2 4 6 1 3 5 7, the two rows side by side, because a multiply and add
 * of pairs then needs no shuffle. */
static inline int leat__jpeg_slot(int row, int column) {
    const int group = (row & 1) + (row & 4) / 2, place = (column & 1) * 4 + column / 2;
    return group * 16 + place * 2 + (row >> 1 & 1);
}
/* A block whose last coefficient in zigzag order is at most this one has its last four rows and columns empty. */
#define LEAT_JPEG_HALF 9

typedef struct leat__jpeg_quant { /* in the order of a block */
    LEAT_ALIGNED(32) int16_t step[64];
    LEAT_ALIGNED(32) uint16_t most[64]; /* the largest coefficient that the accurate transform takes */
} leat__jpeg_quant;

typedef struct leat__jpeg_place { /* where a block goes                                */
    uint8_t *dst;                 /* its first sample; NULL: outside the region        */
    size_t stride;                /* as the address, a multiple of the block's side    */
    const leat__jpeg_quant *quant;
    int last; /* the last coefficient, in zigzag order             */
} leat__jpeg_place;

/* Limits inside of which all ways to compute the accurate integer transform agree: 16-bit arithmetic does not wrap in
 * any of them. Encoders stay far below; a file with larger values is decoded by libjpeg-turbo. */
#define LEAT_JPEG_COEFFICIENT_MAX 8191 /* after multiplying by its step                       */
#define LEAT_JPEG_MIDDLE_MAX 14327     /* after the columns, the bias below in it      */
/* Rounding of the second pass and the shift by 128 that samples have, as part of the first coefficient. */
#define LEAT_JPEG_BIAS ((16 + (128 << 5)) / 4)

/* The step of the fast transform: quantisation and the transform's own scaling in one factor, with two more bits. Steps
 * wrap at 16 bits, as all of its arithmetic. */
int16_t leat__jpeg_fast_step(int step, int row, int column);

/* n blocks, one after the other, to samples; the blocks are zero afterwards. False when a value was out of range: the
 * samples are then of no use. The fast transform takes every value. */
#define LEAT_FN_JPEG_IDCT(name) bool name(int16_t *blocks, const leat__jpeg_place *places, int n)

/* Copies entropy-coded bytes without the zeros that follow each 0xff. Stops in front of a marker, in front of a 0xff
 * that is the last byte, or when about `room` bytes are written; moves *src to where it stopped. Up to LEAT_JPEG_PAD
 * bytes after those it tells may be overwritten. */
#define LEAT_FN_JPEG_UNSTUFF(name) \
    size_t name(uint8_t *dst, size_t room, const uint8_t **src, const uint8_t *end)

/* n samples to 2n (h2) by libjpeg's triangle filter: a sample's nearest neighbour has weight 3/4. The first and the last
 * one have no neighbour. Vertically `near` is the row that the output row lies in, `far` the other neighbour, and bias
 * (1 for the upper of two rows, 2 for the lower) rounds. dst is padded; scratch is n + LEAT_JPEG_PAD values. */
#define LEAT_FN_JPEG_UP_H2V1(name) void name(uint8_t *dst, const uint8_t *src, size_t n)
#define LEAT_FN_JPEG_UP_H2V2(name) \
    void name(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n, uint16_t *scratch)
#define LEAT_FN_JPEG_UP_H1V2(name) \
    void name(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n, int bias)

/* n pixels of YCbCr to RGB; dst is not padded. */
#define LEAT_FN_JPEG_RGB(name) \
    void name(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n)

/* The same into planes that begin `apart` bytes after one another, a multiple of 32; each is written up to the next
 * multiple of 32. */
#define LEAT_FN_JPEG_RGB_PLANES(name) \
    void name(uint8_t *dst, size_t apart, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n)

/* Blocks [from, to) of a scan, of which block 0 begins an MCU: see leat__jpeg_scan_read and _skip. They stop early where
 * the window ends, and return how far they came. */
struct leat__jpeg_scan;
#define LEAT_FN_JPEG_READ(name) \
    int name(struct leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int from, int to)
/* n blocks by the scan's reader and as many by its second one, both from the beginning of an MCU with all of its blocks wanted.
 * false: the window ended before. */
#define LEAT_FN_JPEG_READ_TWO(name) \
    bool name(struct leat__jpeg_scan *scan, int16_t *const blocks[2], uint8_t *const last[2], int n)
#define LEAT_FN_JPEG_SKIP(name) int64_t name(struct leat__jpeg_scan *scan, int64_t from, int64_t to)

/* MCUs [from, to) of a row, of one scan of a progressive JPEG: see leat__jpeg_scan_pass. They stop early too. */
struct leat__jpeg_strip;
#define LEAT_FN_JPEG_PASS(name) \
    int name(struct leat__jpeg_scan *scan, const struct leat__jpeg_strip *strip, int from, int to)

typedef struct leat__jpeg_dsp {
    LEAT_FN_JPEG_READ((*read));
    LEAT_FN_JPEG_READ_TWO((*read_two));
    LEAT_FN_JPEG_SKIP((*skip));
    LEAT_FN_JPEG_PASS((*dc_first));
    LEAT_FN_JPEG_PASS((*dc_refine));
    LEAT_FN_JPEG_PASS((*ac_first));
    LEAT_FN_JPEG_PASS((*ac_refine));
    LEAT_FN_JPEG_IDCT((*idct));
    LEAT_FN_JPEG_IDCT((*idct_fast));
    LEAT_FN_JPEG_IDCT((*idct_4x4)); /* fewer samples from the same coefficients, for scaled pictures */
    LEAT_FN_JPEG_IDCT((*idct_2x2));
    LEAT_FN_JPEG_IDCT((*idct_1x1)); /* from the first coefficient alone: the others must be zero */
    LEAT_FN_JPEG_UNSTUFF((*unstuff));
    LEAT_FN_JPEG_UP_H2V1((*up_h2v1));
    LEAT_FN_JPEG_UP_H2V2((*up_h2v2));
    LEAT_FN_JPEG_UP_H1V2((*up_h1v2));
    LEAT_FN_JPEG_RGB((*rgb));
    LEAT_FN_JPEG_RGB_PLANES((*rgb_planes));
} leat__jpeg_dsp;

/* Fills in the best versions for these LEAT_CPU_* flags. */
void leat__jpeg_dsp_init(leat__jpeg_dsp *dsp, unsigned cpu_flags);
void leat__jpeg_dsp_init_blocks_c(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_passes_c(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_idct_c(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_reduced_c(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_colour_c(leat__jpeg_dsp *dsp);
void leat__jpeg_dsp_init_unstuff_c(leat__jpeg_dsp *dsp);

#endif
