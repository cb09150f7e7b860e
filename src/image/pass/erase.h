/* SPDX-License-Identifier: Apache-2.0 */
/* A rectangle of a finished picture is filled: with numbers, or with noise that depends on the key and the place. */
#ifndef LEAT_IMAGE_PASS_ERASE_H
#define LEAT_IMAGE_PASS_ERASE_H

#include "base/macros.h"

typedef struct leat__erasure {
    int x, y, width, height; /* inside of the picture                                                */
    float fill[4];           /* a channel; with more channels the first serves all                   */
    bool noise;              /* instead: normal, mean fill and deviation `spread`, from the key      */
    float spread;
    float low, high; /* bounds of the noise                                                  */
    uint64_t key;
} leat__erasure;

/* Into a picture of the type u8, f32, f16 or bf16. */
void leat__erase(void *picture, int dtype, bool nchw, int height, int width, int channels,
                 const leat__erasure *hole);

#endif
