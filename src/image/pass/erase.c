/* SPDX-License-Identifier: Apache-2.0 */
/* The noise at a place is a function of the key, the place within the hole and the channel, so planes and
 * pixels get the same; it is that of gaussian_noise. */
#include "image/pass/erase.h"

#include "image/colour/colour_value.h"
#include "image/pass/point.h"

typedef struct target {
    void *picture;
    int dtype;
    size_t item;                   /* bytes of a value                          */
    size_t step_x, step_y, step_c; /* values from one pixel, row, channel to the next */
} target;

static void put(const target *t, size_t at, float x) {
    switch (t->dtype) {
    case LEAT_DTYPE_U8: ((uint8_t *)t->picture)[at] = leat__u8_from_f32(x); break;
    case LEAT_DTYPE_F16: ((uint16_t *)t->picture)[at] = leat__half_from_f32(x); break;
    case LEAT_DTYPE_BF16: ((uint16_t *)t->picture)[at] = leat__bf16_from_f32(x); break;
    default: ((float *)t->picture)[at] = x;
    }
}

/* All rows are like the first. With planes they are as many times as there are channels. */
static void fill_numbers(const target *t, size_t first, int channels, const leat__erasure *hole) {
    const bool planes = t->step_c != 1;
    const size_t run = (size_t)hole->width * t->step_x * t->item;
    for (int x = 0; x < hole->width; x++)
        for (int c = 0; c < channels; c++)
            put(t, first + (size_t)x * t->step_x + (size_t)c * t->step_c, hole->fill[channels <= 4 ? c : 0]);
    for (int c = 0; c < (planes ? channels : 1); c++) {
        uint8_t *row = (uint8_t *)t->picture + (first + (size_t)c * t->step_c) * t->item;
        for (int y = 1; y < hole->height; y++) memcpy(row + (size_t)y * t->step_y * t->item, row, run);
    }
}

static void fill_noise(const target *t, size_t first, int channels, const leat__erasure *hole) {
    float block[LEAT_NOISE_BLOCK];
    uint64_t number = 0; /* of the next block */
    int left = 0;        /* values of the last one that are not used yet */
    for (int y = 0; y < hole->height; y++)
        for (int x = 0; x < hole->width; x++)
            for (int c = 0; c < channels; c++, left--) {
                if (left == 0) {
                    leat__noise_block(block, number++, hole->key);
                    left = LEAT_NOISE_BLOCK;
                }
                const float value =
                    hole->fill[channels <= 4 ? c : 0] + hole->spread * block[LEAT_NOISE_BLOCK - left];
                put(t, first + (size_t)y * t->step_y + (size_t)x * t->step_x + (size_t)c * t->step_c,
                    leat__clamp_f32(value, hole->low, hole->high));
            }
}

void leat__erase(void *picture, int dtype, bool nchw, int height, int width, int channels,
                 const leat__erasure *hole) {
    const size_t step_x = nchw ? 1 : (size_t)channels;
    const target t = {.picture = picture,
                      .dtype = dtype,
                      .item = dtype == LEAT_DTYPE_U8    ? 1
                              : dtype == LEAT_DTYPE_F32 ? 4
                                                        : 2,
                      .step_x = step_x,
                      .step_y = (size_t)width * step_x,
                      .step_c = nchw ? (size_t)height * (size_t)width : 1};
    const size_t first = (size_t)hole->y * t.step_y + (size_t)hole->x * t.step_x;
    if (hole->width < 1 || hole->height < 1) return;
    if (hole->noise) fill_noise(&t, first, channels, hole);
    else fill_numbers(&t, first, channels, hole);
}
