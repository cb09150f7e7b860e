/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures turned by quarters and transposed. Half turns are two flips, which a pass does by itself; these change height
 * and width, so they go from one picture in memory to another. */
#ifndef LEAT_IMAGE_WARP_TURN_H
#define LEAT_IMAGE_WARP_TURN_H

#include "base/macros.h"

typedef enum leat__turn {
    LEAT_TURN_TRANSPOSE, /* rows become columns */
    LEAT_TURN_LEFT,      /* counter-clockwise   */
    LEAT_TURN_RIGHT,
} leat__turn;

/* From height x width pixels of so many bytes at src to width x height at dst, both without gaps. No overlap. */
void leat__image_turn(void *dst, const void *src, int height, int width, size_t pixel_bytes, leat__turn turn);

#endif
