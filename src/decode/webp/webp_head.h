/* SPDX-License-Identifier: Apache-2.0 */
/* What a VP8 key frame says before its macroblocks. */
#ifndef LEAT_DECODE_WEBP_WEBP_HEAD_H
#define LEAT_DECODE_WEBP_WEBP_HEAD_H

#include "decode/webp/webp_bits.h"

enum { LEAT_WEBP_PARTITIONS = 8, LEAT_WEBP_SEGMENTS = 4 };
/* Kinds of blocks: luma whose first value is elsewhere, those first values themselves, chroma, luma. */
enum { LEAT_WEBP_Y_REST, LEAT_WEBP_Y_FIRST, LEAT_WEBP_UV, LEAT_WEBP_Y_ALL, LEAT_WEBP_KINDS };
/* How a block is predicted. The first four are also those of whole macroblocks. */
enum {
    LEAT_WEBP_DC,
    LEAT_WEBP_TM,
    LEAT_WEBP_V,
    LEAT_WEBP_H,
    LEAT_WEBP_RD,
    LEAT_WEBP_VR,
    LEAT_WEBP_LD,
    LEAT_WEBP_VL,
    LEAT_WEBP_HD,
    LEAT_WEBP_HU,
    LEAT_WEBP_MODES
};
enum { LEAT_WEBP_UNFILTERED, LEAT_WEBP_SIMPLE, LEAT_WEBP_NORMAL };

/* By place in the block, and by what is known of the blocks or the value before: 0, 1 or more. A place more than there are. */
typedef uint8_t leat__webp_probs[17][3][16];

typedef struct leat__webp_steps { /* of the first value and of the others */
    int16_t y[2], first[2], uv[2];
} leat__webp_steps;

typedef struct leat__webp_strength {
    uint8_t limit; /* 0: nothing is filtered */
    uint8_t inner_limit, sharp;
} leat__webp_strength;

typedef struct leat__webp_head {
    int width, height;
    int filter;
    bool segmented; /* macroblocks say of which segment they are */
    bool skips;     /* they say whether they have no values      */
    uint8_t segment_probs[3], skip_prob;
    leat__webp_steps steps[LEAT_WEBP_SEGMENTS];
    leat__webp_strength strengths[LEAT_WEBP_SEGMENTS][2]; /* the second one if blocks are predicted singly */
    leat__webp_probs probs[LEAT_WEBP_KINDS];
    leat__webp_bits modes;
    leat__webp_bits values[LEAT_WEBP_PARTITIONS];
    int n_partitions; /* a power of two */
} leat__webp_head;

/* n bytes of a frame, with LEAT_WEBP_PAD more behind them that may be read. False: it is not regular. */
bool leat__webp_head_read(leat__webp_head *head, const uint8_t *frame, size_t n);

extern const uint8_t leat__webp_probs_before[4][8][3][11], leat__webp_probs_change[4][8][3][11];
extern const uint8_t leat__webp_mode_probs[10][10][16];
extern const uint8_t leat__webp_dc_steps[128];
extern const uint16_t leat__webp_ac_steps[128];

#endif
