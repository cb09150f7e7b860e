/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a whole picture: sums, squares, range, histogram. Operations such as contrast need them
 * before they can change the first pixel, so the pass measures all rows in one sweep and changes
 * them in the next.
 *
 * Rows are added one after the other, each beginning with channel 0. Bytes are counted in whole numbers,
 * which are exact in any order. Floats are summed in double precision in LEAT_STATS_LANES lanes: value i
 * of a row goes to lane i % LEAT_STATS_LANES, whatever the instruction set, and the lanes are folded at
 * the end. Up to four channels are kept apart; more are measured as if they were one. */
#ifndef LEAT_IMAGE_COLOUR_STATS_H
#define LEAT_IMAGE_COLOUR_STATS_H

#include "base/macros.h"

enum { /* what is asked for */
       LEAT_STATS_SUM = 1,
       LEAT_STATS_SQUARES = 2,   /* and the sum                                          */
       LEAT_STATS_RANGE = 4,     /* smallest and largest value; NaN is passed over       */
       LEAT_STATS_HISTOGRAM = 8, /* of bytes only                                        */
       LEAT_STATS_GRAY = 16,     /* of bytes only: the sum of the pixels' gray as Pillow has it */
};

#define LEAT_STATS_LANES 24      /* the first multiple of 8 that 1, 2, 3 and 4 divide */
#define LEAT_STATS_BYTE_LANES 96 /* the first multiple of 32                          */

typedef struct leat__stats {
    unsigned flags;
    int channels;   /* of the rows that came                                                */
    uint64_t count; /* values in each of the channels that are kept apart                   */
    double sum[4], sum2[4];
    float min[4], max[4]; /* infinity and -infinity where there was no number               */
    double gray;
    uint32_t histogram[4][256];
    /* In the making, until leat__stats_end: */
    bool bytes;
    LEAT_ALIGNED(32) double lane[LEAT_STATS_LANES];
    double lane2[LEAT_STATS_LANES];
    float low[LEAT_STATS_LANES], high[LEAT_STATS_LANES];
    uint8_t low8[LEAT_STATS_BYTE_LANES], high8[LEAT_STATS_BYTE_LANES];
    uint32_t odd[4][256]; /* every second pixel: equal neighbours do not wait for each other */
} leat__stats;

void leat__stats_begin(leat__stats *stats, unsigned flags);
/* After the last row: makes the results whole. */
void leat__stats_end(leat__stats *stats);

/* Of one channel, or with channel < 0 of all values. The deviation is that of the whole population. */
double leat__stats_mean(const leat__stats *stats, int channel);
double leat__stats_deviation(const leat__stats *stats, int channel);
/* Of all values. */
void leat__stats_range(const leat__stats *stats, float *min, float *max);

/* For kernels, parts of a row in plain C. */
void leat__stats_histogram(leat__stats *stats, const uint8_t *row, size_t n_pixels, int channels);
uint64_t leat__stats_gray(const uint8_t *row, size_t n_pixels, int channels);

/* Pillow's gray of a pixel. */
static inline uint32_t leat__pil_gray(const uint8_t *rgb) {
    return (rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16;
}

/* How many channels are kept apart. */
static inline int leat__stats_apart(int channels) {
    return channels <= 4 ? channels : 1;
}

#endif
