/* SPDX-License-Identifier: Apache-2.0 */
/* From pixels to the tensor in one pass, row by row:
 *
 *     rows -> resample or warp -> points, one after the other -> flips -> type and layout -> the sample's own bytes
 *
 * Points work on runs of pixels that stay in the first cache, each with its own rounding. Values are u8 until
 * something makes them float: a TF resampling but nearest, a warp that interpolates, an affine point or one that
 * sees pixels, or the type of the output. Float to u8 goes toward zero and saturates; NaN becomes 0.
 *
 * Flavours of resampling (docs and tests name the libraries they match):
 *   TF_NEAREST    tf.image.resize "nearest": keeps the type
 *   other TF      tf.image.resize with that method, AA with antialias=True: float32. Where the same size changes
 *                 nothing it is a conversion only
 *   PIL           Pillow's Image.resize, u8 only, bit for bit. As there, 2 and 4 channels are taken as colour
 *                 with alpha: but for nearest, colours are multiplied by alpha before and divided by it after. */
#ifndef LEAT_IMAGE_PASS_PASS_H
#define LEAT_IMAGE_PASS_PASS_H

#include "image/colour/stats.h"
#include "image/dsp.h"
#include "image/warp/warp.h"

#define LEAT_PASS_POINTS 40
#define LEAT_PASS_TABLES 8
#define LEAT_PASS_CHAINS 20 /* affine points that follow one another make one: every second point at most */

/* y = x*mul (rounded) + add (rounded), per channel; identity is mul 1, add -0.0. With more than four channels
 * the first entries serve all. */
typedef struct leat__affine {
    float mul[4], add[4];
} leat__affine;

typedef enum leat__point_kind {
    LEAT_POINT_AFFINE,    /* to f32: x*mul + add                                              */
    LEAT_POINT_CLAMP,     /* f32: no less than low, then no more than high; NaN becomes low   */
    LEAT_POINT_TABLE,     /* u8: looked up; one table, or one a channel                       */
    LEAT_POINT_PIXELS,    /* to f32: a kernel that sees whole pixels                          */
    LEAT_POINT_PIXELS_U8, /* u8: the same on bytes                                            */
    LEAT_POINT_TO_U8,     /* f32 to u8                                                        */
} leat__point_kind;

typedef struct leat__pass leat__pass;

typedef struct leat__point {
    leat__point_kind kind;
    union {
        leat__affine affine;
        struct {
            float low, high;
        } clamp;
        struct {
            int number; /* in pass->table               */
            bool each;  /* one a channel                */
        } table;
        struct {
            int kernel; /* leat__pixels_kind            */
            leat__pixel_args args;
        } pixels;
    } as;
    /* Measured: the statistics needed of the values that reach this point (LEAT_STATS_*), and the function that makes the
     * point from them, and the points reserved with it. Only for pictures in memory that are not resampled. */
    unsigned measure;
    void (*solve)(leat__pass *pass, int i, const leat__stats *stats);
    double given[4];
} leat__point;

struct leat__pass {
    leat__resample resample;
    const leat__warp *warp; /* instead of resampling; the picture must be in memory     */
    int height, width;      /* of the output; with neither of them those of the source  */
    bool flip_x, flip_y;
    int n_points;
    leat__point point[LEAT_PASS_POINTS];
    int n_tables;
    uint8_t table[LEAT_PASS_TABLES][4][256];
    int dtype;   /* of the output: u8, u16, f32, f16 or bf16                    */
    bool nchw;   /* planes; otherwise channels of a pixel are neighbours        */
    bool stream; /* non-temporal stores wanted: the caller fences afterwards    */
};

/* For draw functions: add a point at the end of the pass. There must be room. */
void leat__pass_add_affine(leat__pass *pass, const leat__affine *affine);
/* The same for all channels. */
void leat__pass_add_scale(leat__pass *pass, float mul, float add);
void leat__pass_add_clamp(leat__pass *pass, float low, float high);
/* Tables that follow one another become one. */
void leat__pass_add_table(leat__pass *pass, const uint8_t table[256]);
void leat__pass_add_pixels(leat__pass *pass, int kernel, const leat__pixel_args *args);
void leat__pass_add_pixels_u8(leat__pass *pass, int kernel, const leat__pixel_args *args);
void leat__pass_add_to_u8(leat__pass *pass);
/* A measured point and n - 1 more that solve may fill; all of them do nothing until it does. With tables true
 * each is an identity table, one a channel, on u8; otherwise an affine identity to f32. */
void leat__pass_add_measured(leat__pass *pass, unsigned measure, int n, bool tables,
                             void (*solve)(leat__pass *pass, int i, const leat__stats *stats),
                             const double given[4]);

typedef struct leat__pass_scratch { /* zeroed = empty; one per worker                        */
    leat__taps taps_x[2];           /* plain and mirrored: flips come and go with the sample */
    leat__taps taps_y;
    leat__chain chain[LEAT_PASS_CHAINS];
    leat__buf ring;    /* resampled rows in flight                            */
    leat__buf row;     /* one finished row, or a block of them                */
    leat__buf turned;  /* a row that is mirrored or freed of its alpha factor */
    leat__buf chunk;   /* values between two sweeps                           */
    leat__buf taken;   /* addresses of the rows that make an output row       */
    leat__buf moved;   /* a row of values that came at an odd address         */
    leat__buf widened; /* a row of u16 as floats                             */
    leat__buf field;   /* what a warp prepares of the whole picture           */
} leat__pass_scratch;

void leat__pass_scratch_free(leat__pass_scratch *scratch);
/* How often a buffer had to grow. */
uint32_t leat__pass_scratch_grown(const leat__pass_scratch *scratch);

/* The sizes of the buffers, to tell other workers; adopting grows them to the sizes of another worker. */
#define LEAT_PASS_BUFS 11
void leat__pass_scratch_caps(const leat__pass_scratch *scratch, size_t caps[LEAT_PASS_BUFS]);
void leat__pass_scratch_adopt(leat__pass_scratch *scratch, const size_t caps[LEAT_PASS_BUFS]);

/* Writes height * width * channels values at dst and nothing else. dst is aligned as its values are;
 * source rows may lie anywhere. Measured points are solved in the pass itself. */
int leat__pass_run(leat__pass *pass, const leat__image_dsp *dsp, leat__rows *src, void *dst,
                   leat__pass_scratch *scratch, leat_error *err);

#endif
