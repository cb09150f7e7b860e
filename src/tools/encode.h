/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels to the bytes of an image file: what synth writes and what pack stores. */
#ifndef LEAT_TOOLS_ENCODE_H
#define LEAT_TOOLS_ENCODE_H

#include "base/mem.h"

typedef struct leat__encoder leat__encoder;

typedef struct leat__pixels { /* u8, channels of a pixel are neighbours   */
    const uint8_t *data;
    int height, width, channels;
    ptrdiff_t stride; /* from row to row in bytes; 0 = no gap     */
} leat__pixels;

/* Created once per worker and reused: what a picture becomes does not depend on those before it. NULL without
 * memory. */
leat__encoder *leat__encoder_new(leat_error *err);
/* Frees and nulls; NULL is fine. */
void leat__encoder_free(leat__encoder **encoder);

/* Both replace what out holds. Baseline JPEG of 1 or 3 channels, quality 1 to 100, with colour at full
 * resolution (4:4:4) or half of it in both directions (4:2:0). */
int leat__encode_jpeg(leat__encoder *encoder, leat__buf *out, const leat__pixels *pixels, int quality,
                      bool full_colour, leat_error *err);
/* 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. */
int leat__encode_png(leat__encoder *encoder, leat__buf *out, const leat__pixels *pixels, leat_error *err);

#endif
