/* SPDX-License-Identifier: Apache-2.0 */
/* From pixels to the tensor in one pass, row by row:
 *
 *     rows -> resample -> look-up table -> stages -> flips -> type and layout -> the sample's own bytes
 *
 * Values stay u8 until something makes them float: a TF resampling but nearest, a stage, or an f32 output. The
 * table works on u8 values only, so after such a resampling it has no effect. Each stage is x*mul, rounded, then
 * +add, rounded. Float to u8 goes toward zero and saturates; NaN becomes 0.
 *
 * Flavours of resampling (docs and tests name the libraries they match):
 *   TF_NEAREST    tf.image.resize "nearest": keeps the type
 *   other TF      tf.image.resize with that method, AA with antialias=True: float32. Where the same size changes
 *                 nothing it is a conversion only
 *   PIL           Pillow's Image.resize, u8 only, bit for bit. As there, 2 and 4 channels are taken as colour
 *                 with alpha: but for nearest, colours are multiplied by alpha before and divided by it after. */
#ifndef LEAT_IMAGE_PASS_H
#define LEAT_IMAGE_PASS_H

#include "image/dsp.h"

#define LEAT_PASS_STAGES 8

/* y = x*mul (rounded) + add (rounded), per channel; identity is mul 1, add -0.0. With more than four channels
 * the first entries serve all. */
typedef struct leat__affine {
    float mul[4], add[4];
} leat__affine;

typedef struct leat__pass {
    leat__resample resample;
    int height, width; /* of the output; with RESAMPLE_NONE those of the source */
    bool flip_x, flip_y;
    bool has_lut;
    uint8_t lut[256];
    int n_stages;
    leat__affine stage[LEAT_PASS_STAGES];
    int dtype;   /* of the output: LEAT_DTYPE_U8 or LEAT_DTYPE_F32              */
    bool nchw;   /* planes; otherwise channels of a pixel are neighbours        */
    bool stream; /* non-temporal stores wanted: the caller fences afterwards    */
} leat__pass;

typedef struct leat__pass_scratch { /* zeroed = empty; one per worker                        */
    leat__taps taps_x[2];           /* plain and mirrored: flips come and go with the sample */
    leat__taps taps_y;
    leat__chain chain[2];
    leat__buf ring;   /* resampled rows in flight                            */
    leat__buf row;    /* one finished row, or a block of them                */
    leat__buf turned; /* a row that is mirrored or freed of its alpha factor */
    leat__buf chunk;  /* values between two sweeps                           */
    leat__buf taken;  /* addresses of the rows that make an output row       */
    leat__buf moved;  /* a row of floats that came at an odd address         */
} leat__pass_scratch;

void leat__pass_scratch_free(leat__pass_scratch *scratch);
/* How often a buffer had to grow. */
uint32_t leat__pass_scratch_grown(const leat__pass_scratch *scratch);

/* How large the buffers are, to tell other workers; adopting makes room for what another one has met. */
#define LEAT_PASS_BUFS 9
void leat__pass_scratch_caps(const leat__pass_scratch *scratch, size_t caps[LEAT_PASS_BUFS]);
void leat__pass_scratch_adopt(leat__pass_scratch *scratch, const size_t caps[LEAT_PASS_BUFS]);

/* Writes height * width * channels values at dst and nothing else. A dst of floats is aligned as floats are;
 * source rows may lie anywhere. */
int leat__pass_run(const leat__pass *pass, const leat__image_dsp *dsp, leat__rows *src, void *dst,
                   leat__pass_scratch *scratch, leat_error *err);

#endif
