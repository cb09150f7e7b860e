/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of pixels, so that neither the rows read nor those written leave the first cache before they are used up. */
#include "image/warp/turn.h"

#define BLOCK 16

/* Output pixel (y, x) is the one at origin + y * along_y + x * along_x. Inlined with a constant size of a pixel. */
static inline __attribute__((always_inline)) void turn_blocks(uint8_t *dst, const uint8_t *origin, int height,
                                                              int width, ptrdiff_t along_y, ptrdiff_t along_x,
                                                              size_t pixel) {
    for (int top = 0; top < height; top += BLOCK)
        for (int left = 0; left < width; left += BLOCK) {
            const int bottom = LEAT_MIN(top + BLOCK, height), right = LEAT_MIN(left + BLOCK, width);
            for (int y = top; y < bottom; y++) {
                const uint8_t *in = origin + y * along_y + left * along_x;
                uint8_t *out = dst + ((size_t)y * (size_t)width + (size_t)left) * pixel;
                for (int x = left; x < right; x++, in += along_x, out += pixel) memcpy(out, in, pixel);
            }
        }
}

void leat__image_turn(void *dst, const void *src, int height, int width, size_t pixel_bytes,
                      leat__turn turn) {
    const ptrdiff_t pixel = (ptrdiff_t)pixel_bytes, row = width * pixel;
    const uint8_t *origin = src;
    ptrdiff_t along_y = pixel, along_x = row;
    if (turn == LEAT_TURN_LEFT) origin += (width - 1) * pixel, along_y = -pixel;
    if (turn == LEAT_TURN_RIGHT) origin += (height - 1) * row, along_x = -row;
    switch (pixel_bytes) {
    case 1: turn_blocks(dst, origin, width, height, along_y, along_x, 1); break;
    case 2: turn_blocks(dst, origin, width, height, along_y, along_x, 2); break;
    case 3: turn_blocks(dst, origin, width, height, along_y, along_x, 3); break;
    case 4: turn_blocks(dst, origin, width, height, along_y, along_x, 4); break;
    case 12: turn_blocks(dst, origin, width, height, along_y, along_x, 12); break;
    default: turn_blocks(dst, origin, width, height, along_y, along_x, pixel_bytes);
    }
}
