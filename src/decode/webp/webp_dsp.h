/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of our own decoder of lossy WebP. As in image/dsp.h the plain C version of each is its specification, another
 * instruction set replaces entries and gives the same bytes, and each prototype is written once. */
#ifndef LEAT_DECODE_WEBP_WEBP_DSP_H
#define LEAT_DECODE_WEBP_WEBP_DSP_H

#include "decode/webp/webp_head.h"

/* So many bytes beside a row of samples may be read, and behind it written. */
#define LEAT_WEBP_BESIDE 32

/* The values of a macroblock. A group is what lies side by side: four rows of four luma blocks, then two rows of two blocks of
 * U and two of V. It has 16 values a row, four of each block. */
typedef struct leat__webp_values {
    LEAT_ALIGNED(32) int16_t group[6][64]; /* 0 before and after a macroblock */
    uint32_t full;                         /* blocks with more than a first value: 16 of Y, 4 of U, 4 of V */
    uint32_t size;                         /* all magnitudes that may be large, one bit or-ed to the other */
} leat__webp_values;

/* Which of the blocks above, or to the left, have values. */
typedef struct leat__webp_known {
    uint8_t y[4], uv[2][2], first;
} leat__webp_known;

/* How a macroblock is predicted. */
typedef struct leat__webp_modes {
    uint8_t y[16]; /* of its blocks; all the same if they are predicted together */
    uint8_t uv;
    uint8_t segment;
    bool single; /* blocks are predicted one by one */
    bool empty;  /* it has no values */
} leat__webp_modes;

/* Reads the modes of n macroblocks, a row. above: those of the blocks above it, which become those of the lowest blocks.
 * Stops where the bits end. */
#define LEAT_FN_WEBP_READ_MODES(name)                                                                      \
    void name(leat__webp_bits *bits, leat__webp_modes *modes, const leat__webp_head *head, uint8_t *above, \
              int n)

/* Reads the values of one macroblock; single: blocks are predicted one by one. */
#define LEAT_FN_WEBP_READ(name)                                                                \
    void name(leat__webp_bits *bits, leat__webp_values *values, const leat__webp_probs *probs, \
              const leat__webp_steps *steps, bool single, leat__webp_known *above, leat__webp_known *before)

/* Predicts a block of 4 x 4 from the row above it, which has a sample to the left and four to the right of it, and the column to
 * its left. */
#define LEAT_FN_WEBP_PREDICT_4(name) void name(uint8_t *dst, ptrdiff_t stride, const uint8_t *above)
/* The same of a luma block of 16 x 16, and of a chroma block of 8 x 8. */
#define LEAT_FN_WEBP_PREDICT(name) void name(uint8_t *dst, ptrdiff_t stride, const uint8_t *above)

/* Adds the inverse transform of a block to the samples, and clears its values. */
#define LEAT_FN_WEBP_ADD(name) void name(uint8_t *dst, ptrdiff_t stride, int16_t *values)
/* The same of a group: two blocks at a, two at b. */
#define LEAT_FN_WEBP_ADD_GROUP(name) void name(uint8_t *a, uint8_t *b, ptrdiff_t stride, int16_t *values)

/* The loop filter of one macroblock: an edge between two macroblocks, or what lies inside. The simple one has no chroma. */
#define LEAT_FN_WEBP_FILTER(name)                                                                     \
    void name(uint8_t *y, uint8_t *u, uint8_t *v, ptrdiff_t y_stride, ptrdiff_t uv_stride, int limit, \
              int inner_limit, int sharp)
enum { LEAT_WEBP_LEFT, LEAT_WEBP_COLUMNS, LEAT_WEBP_TOP, LEAT_WEBP_ROWS, LEAT_WEBP_EDGES };

/* n pixels of a row, the first one at an even place. near, far: the rows of chroma at and beside it; each has a sample before
 * the first and one behind the last. dst is not padded. */
typedef struct leat__webp_chroma {
    const uint8_t *near_u, *far_u, *near_v, *far_v;
} leat__webp_chroma;
#define LEAT_FN_WEBP_RGB(name) \
    void name(uint8_t *dst, const uint8_t *y, const leat__webp_chroma *chroma, size_t n)

/* Predictions of whole macroblocks: the four modes, and the mean of what there is at the edges of the picture. */
enum { LEAT_WEBP_DC_LEFT = 4, LEAT_WEBP_DC_ABOVE, LEAT_WEBP_DC_NONE, LEAT_WEBP_WHOLE_MODES };

typedef struct leat__webp_dsp {
    LEAT_FN_WEBP_READ_MODES((*read_modes));
    LEAT_FN_WEBP_READ((*read));
    LEAT_FN_WEBP_PREDICT_4((*predict_4[LEAT_WEBP_MODES]));
    LEAT_FN_WEBP_PREDICT((*predict_16[LEAT_WEBP_WHOLE_MODES]));
    LEAT_FN_WEBP_PREDICT((*predict_8[LEAT_WEBP_WHOLE_MODES]));
    LEAT_FN_WEBP_ADD((*add));
    LEAT_FN_WEBP_ADD((*add_first)); /* of a block that has no value but the first */
    LEAT_FN_WEBP_ADD_GROUP((*add_group));
    LEAT_FN_WEBP_FILTER((*filter[2][LEAT_WEBP_EDGES])); /* simple, normal */
    LEAT_FN_WEBP_RGB((*rgb));
} leat__webp_dsp;

/* Fills in the best versions for these LEAT_CPU_* flags. */
void leat__webp_dsp_init(leat__webp_dsp *dsp, unsigned cpu_flags);
void leat__webp_dsp_init_tokens_c(leat__webp_dsp *dsp);
void leat__webp_dsp_init_predict_c(leat__webp_dsp *dsp);
void leat__webp_dsp_init_filter_c(leat__webp_dsp *dsp);
void leat__webp_dsp_init_colour_c(leat__webp_dsp *dsp);

#endif
