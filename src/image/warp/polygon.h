/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and places on the way through what was done to a picture: moved by matrices, cut at its edges.
 *
 * Places are measured in pixels, and pixel (0, 0) reaches from 0 to 1: a picture is a rectangle from (0, 0) to
 * (width, height). */
#ifndef LEAT_IMAGE_WARP_POLYGON_H
#define LEAT_IMAGE_WARP_POLYGON_H

#include "base/macros.h"

typedef struct leat__move { /* from the picture before to the picture behind */
    double m[9];
    int height_before, width_before, height, width;
    bool cuts; /* what lies outside behind it is lost            */
    bool lost; /* nothing is left: it has no matrix              */
} leat__move;

/* Takes a box of a picture (left, top, right, bottom) along n moves. False if nothing is left of it. *visible: the
 * share of it that is left. */
bool leat__move_box(const leat__move *move, int n, const double box[4], double out[4], double *visible);
/* The same for a place. False if it is lost; out is where it would be, or (-1, -1) where there is no such place. */
bool leat__move_place(const leat__move *move, int n, const double place[2], double out[2]);

#endif
