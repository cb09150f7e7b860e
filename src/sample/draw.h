/* SPDX-License-Identifier: Apache-2.0 */
/* From the planned parts of a pass to those of one sample: calls the draw functions with their random numbers. */
#ifndef LEAT_SAMPLE_DRAW_H
#define LEAT_SAMPLE_DRAW_H

#include "sample/image_op.h"

/* Pictures of a sample that move together must have the same size where a draw depends on it. The first picture that reaches
 * the operation leaves its size here; the next ones are compared with it. */
#define LEAT_MEETINGS_MAX 64
typedef struct leat__met {
    const char *field; /* NULL: no picture yet */
    int height, width;
} leat__met;

typedef struct leat__draw_key { /* what draws are a function of, besides the operation */
    uint64_t key;               /* leat__rng_key of seed and epoch */
    uint64_t position;
    leat__params *params;             /* NULL: drawn values are not recorded */
    leat__met *met;                   /* (LEAT_MEETINGS_MAX) of this sample; NULL: not compared */
    const struct leat__value *values; /* of the sample                                        */
    int bucket;                       /* of its batch                                         */
} leat__draw_key;

leat__drawing leat__drawing_at(const leat__draw_key *key, const leat__image_op *op, int height, int width,
                               int channels, int dtype);
/* Compares the size of the picture that reaches the operation with those of its companions. */
int leat__draw_meet(const leat__draw_key *key, const leat__image_op *op, int height, int width,
                    leat_error *err);
/* The part of a picture of height x width pixels that the sample takes. */
int leat__draw_crop(leat__box *box, const leat__crop_plan *plan, const leat__draw_key *key, int height,
                    int width, leat_error *err);
/* Whether a picture of height x width pixels is turned. */
bool leat__draw_flip(const leat__flip *flip, const leat__draw_key *key, int height, int width);
/* The flips one by one, in the order of the text; the first is the one of the warp. The pass has only their result. */
typedef struct leat__flips {
    int n;
    struct {
        bool x, y;
    } flip[LEAT_PASS_FLIPS + 1];
} leat__flips;
/* What the pass resizes a picture of height x width pixels to; without a resize these stay as they are. */
int leat__draw_size(const leat__pass_plan *plan, const leat__draw_key *key, int *height, int *width,
                    leat_error *err);
/* Fills pass for a sample whose pixels come from rows: a picture of height x width pixels, which are more than the rows have
 * if the decoder has scaled it. warp is for pass->warp to point to. */
int leat__draw_pass(leat__pass *pass, leat__warp *warp, leat__flips *flips, const leat__pass_plan *plan,
                    const leat__draw_key *key, const leat__rows *rows, int height, int width,
                    leat_error *err);

/* Of 1, 2, 4 and 8 the largest by which a part can be divided and still has as many pixels as the output in both
 * directions. */
int leat__scale_for(const leat__box *part, int height, int width);
/* The part in the picture at 1 / scale, which has height x width pixels: its edges go to the nearest ones there. */
leat__box leat__box_scaled(const leat__box *part, int scale, int height, int width);

#endif
