/* SPDX-License-Identifier: Apache-2.0 */
/* Image operations as the plan holds them: the parts of a pass, each with the draw function that decides what is done to a
 * sample. plan/plan_image.h says how to add one. */
#ifndef LEAT_SAMPLE_IMAGE_OP_H
#define LEAT_SAMPLE_IMAGE_OP_H

#include "base/rng.h"
#include "decode/decode.h"
#include "image/pass/border.h"
#include "image/pass/erase.h"
#include "image/pass/pass.h"
#include "order/bucket.h"

typedef struct leat__use leat__use;         /* plan/op.h      */
typedef struct leat__planner leat__planner; /* plan/planner.h */

/* ------------------------------------------------------------------------------- drawn for one sample */

#define LEAT_PARAMS_BYTES 2048
#define LEAT_PARAMS_PARTS 64

/* The number of an operation inside of a branch (chance.h) has that of the operation around it in its lowest bits, and above
 * them the branch and the operation in it, both from 1. This happens once more for a choice inside of a branch. So numbers
 * inside do not depend on what stands in other branches or behind. */
enum { LEAT_NUMBER_BITS = 8, LEAT_INSIDE_BITS = 6 };
static inline uint32_t leat__number_inside(uint32_t around, int level, int branch, int operation) {
    const uint32_t inside = ((uint32_t)operation + 1) << LEAT_INSIDE_BITS | ((uint32_t)branch + 1);
    return around | inside << (LEAT_NUMBER_BITS + 2 * LEAT_INSIDE_BITS * level);
}
/* Its place in the text: a number that is larger for what stands behind. */
static inline uint32_t leat__number_place(uint32_t number) {
    const uint32_t mask = (1u << LEAT_INSIDE_BITS) - 1;
    uint32_t place = number & ((1u << LEAT_NUMBER_BITS) - 1);
    for (int shift = LEAT_NUMBER_BITS; shift < 32; shift += LEAT_INSIDE_BITS)
        place = place << LEAT_INSIDE_BITS | (number >> shift & mask);
    return place;
}

typedef struct leat__params_part {
    uint32_t op,
        begin; /* number of the operation; where its piece begins, which ends where the next one does */
    const char *name;
} leat__params_part;

typedef struct leat__params { /* what was drawn for a sample; in params.c */
    char *text;               /* pieces as they came; at last "op key=value key=value; op key=value" */
    size_t cap, n;
    int n_parts;
    leat__params_part part[LEAT_PARAMS_PARTS];
} leat__params;

typedef struct leat__image_op { /* an operation as its draw function wants it */
    const char *name;
    uint32_t number;     /* in the text; leat__plan_add_* sets this and the next two */
    uint32_t draws;      /* in the key of its draws, see leat__use            */
    uint64_t stir;       /* the same                                          */
    uint32_t first_draw; /* 0 but for an operation that adds several parts    */
    double arg[24];
    const void *more; /* in the plan's memory: leat__plan_keep             */
    /* Of pictures that move together, set by leat__plan_add_*: */
    const char *field; /* the name of this one; NULL = it is alone          */
    int meeting;       /* where their sizes are compared, see draw.h        */
    bool quiet;        /* the first of them has noted what was drawn        */
    bool mask;         /* nearest values only, and mask_fill where nothing is */
    float mask_fill;
} leat__image_op;

typedef struct leat__drawing { /* what a draw function sees                        */
    leat__rng rng;             /* of this operation and this sample                */
    int height, width;         /* of the picture that reaches the operation        */
    int channels, dtype;
    leat__params *params; /* NULL: drawn values are not recorded              */
    const leat__image_op *op;
    const struct leat__value *values; /* of the sample, by their numbers                  */
    int bucket;                       /* of its batch                                     */
    float *noted;                     /* NULL, or where numbers for a device go (device.h) */
} leat__drawing;

/* Begins anew, with a text of cap bytes, LEAT_PARAMS_BYTES at the most. */
void leat__params_clear(leat__params *params);
/* Puts the pieces in the order of the pipeline's text; what did not fit ends in "...". */
void leat__params_finish(leat__params *params);
/* Records a drawn number, which is read again as the same double; without params nothing happens. */
void leat__params_add(leat__drawing *d, const char *key, double value);
/* The same for a word. */
void leat__params_add_word(leat__drawing *d, const char *key, const char *word);
/* Tells a device the next number that its kernel takes; without one nothing happens. */
void leat__draw_note(leat__drawing *d, float number);
/* In [low, high), or low when they are equal. */
double leat__draw_between(leat__drawing *d, double low, double high);
/* True with this probability: one draw. */
bool leat__draw_chance(leat__drawing *d, double p);

/* ------------------------------------------------------------------------------------- parts of a pass */

typedef struct leat__point_plan {
    leat__image_op op;
    int n_points;    /* the most that draw adds                                 */
    int dtype;       /* that it leaves: u8 or f32                                */
    bool measured;   /* draw adds measured points                                */
    bool positional; /* it matters where a pixel is: no flip may be in the pass  */
    int (*draw)(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err);
} leat__point_plan;

typedef struct leat__flip {
    leat__image_op op;
    bool x, y; /* both: turned together by one coin */
    double probability;
} leat__flip;

typedef struct leat__crop_plan {
    leat__image_op op;
    int height, width; /* of what it takes, when that is known; else 0 */
    /* Which part of a picture of d->height x d->width; NULL = all of it. */
    int (*draw)(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err);
} leat__crop_plan;

typedef struct leat__pad_plan {
    leat__image_op op;
    leat__pad_mode mode; /* all but constant want the picture in memory, and begin a pass for that */
    int height, width;   /* of the result, when that is known; else 0 */
    int (*draw)(const leat__image_op *op, leat__drawing *d, leat__border *border, leat_error *err);
} leat__pad_plan;

typedef struct leat__size_plan {
    leat__image_op op;
    /* What a picture of d->height x d->width is resized to. */
    int (*draw)(const leat__image_op *op, leat__drawing *d, int *height, int *width, leat_error *err);
    bool by_bucket; /* that of the bucket of the batch */
} leat__size_plan;

typedef struct leat__warp_plan {
    leat__image_op op;
    int order;         /* 0 keeps the type, 1 and 3 give f32           */
    int height, width; /* of the result; 0 = as the picture            */
    /* Fills warp; may set pass->flip_x and flip_y (they are exclusive-ored with flips of the pass) and add points. */
    int (*draw)(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                leat_error *err);
    int n_points; /* the most that draw adds                       */
    int dtype;    /* that it leaves: 0 = as order says              */
    bool elastic; /* no matrix tells where pixels go                */
} leat__warp_plan;

/* A part that is erased: cut into what the pass has stored, so it comes last in its pass. */
typedef struct leat__hole_plan {
    leat__image_op op;
    /* For a picture of d->height x d->width; false in *wanted leaves the picture as it is. */
    int (*draw)(const leat__image_op *op, leat__drawing *d, leat__erasure *hole, bool *wanted,
                leat_error *err);
} leat__hole_plan;

/* What the text needs of a picture: a crop right behind decode, and a border behind that, which may cut off rows. The decoder
 * is asked for that much and for all of it, so that the verdict on a damaged file depends on the file and the text alone. With
 * fuse=off these operations are passes of their own, and the pass that decodes knows them by this. */
typedef struct leat__needed_plan {
    leat__crop_plan crop; /* .draw NULL = none */
    leat__pad_plan pad;   /* the same          */
} leat__needed_plan;

#define LEAT_POINTS_MAX 16
#define LEAT_PASS_FLIPS 8

typedef struct leat__pass_plan {
    bool decode; /* the value is an image file                           */
    leat__decode_options decode_options;
    bool scaled;               /* decode scale=auto: crop and resize decide at what scale                  */
    leat__needed_plan *needed; /* fuse=off: of the pass that decodes, and of the crop behind it; else NULL */
    leat__crop_plan crop;      /* .draw NULL = none                                    */
    leat__pad_plan pad;        /* the same                                             */
    leat__resample resample;
    leat__size_plan size; /* .draw NULL = height and width below, of every sample */
    leat__warp_plan warp; /* .draw NULL = none                                    */
    int height, width;    /* of the output when resampling                        */
    int n_flips;
    leat__flip flip[LEAT_PASS_FLIPS];
    int n_points;
    leat__point_plan point[LEAT_POINTS_MAX];
    leat__hole_plan hole; /* .draw NULL = none                                    */
    int dtype;            /* of the output                                        */
    bool nchw;
    char text[200]; /* the operations it holds, for `leat plan`              */
} leat__pass_plan;

/* Whether it decodes parts of pictures, by a decoder that knows positions. */
static inline bool leat__pass_uses_positions(const leat__pass_plan *pass) {
    return pass->decode && pass->crop.draw;
}

/* --------------------------------------------------------------------------------------- a picture step */

typedef struct leat__picture { /* contiguous, channels last */
    int height, width, channels;
    int dtype; /* u8 or f32 */
    const void *data;
} leat__picture;

/* Memory of a worker for picture steps: scratch that grows and is kept. */
typedef struct leat__picture_tools {
    const leat__image_dsp *dsp;
    leat__pass_scratch *scratch;
    leat__buf *buf;         /* LEAT_PICTURE_BUFS of them, this step's alone              */
    leat__decoder *decoder; /* for operations that encode and decode again             */
} leat__picture_tools;
#define LEAT_PICTURE_BUFS 4

typedef struct leat__picture_plan {
    leat__image_op op;
    int dtype;                   /* of the result: u8 or f32; 0 = as the picture            */
    int height, width, channels; /* of the result; 0 = as the picture                       */
    bool turned;                 /* height and width of the result change places            */
    bool moves;                  /* pixels change their places: run heeds op->mask, and map */
    unsigned takes;              /* LEAT_PICTURES_* that a mask may be; 0 = any             */
    /* out has room for the result, aligned for vectors, and does not overlap in->data. */
    int (*run)(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
               const leat__picture *in, void *out, leat_error *err);
    /* Where pixels go: the matrix from places in a picture of d->height x d->width to those in the result. Pixel (0, 0)
     * reaches from 0 to 1. NULL: no matrix says it, so boxes and keypoints cannot follow. */
    int (*map)(const leat__image_op *op, leat__drawing *d, double m[9], leat_error *err);
} leat__picture_plan;

typedef struct leat__bucket_sizes { /* of pictures, by the bucket of their batch */
    int n;                          /* 0 = none are given */
    int height[LEAT_BUCKETS_MAX], width[LEAT_BUCKETS_MAX];
} leat__bucket_sizes;

#endif
