/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and keypoints that move with a picture.
 *
 * A pass or picture step that moves pixels adds its moves to the trail of its picture: a matrix for each part, in the order
 * of the text, with the sizes before and after. The number of moves depends on the text alone, neither on what was drawn nor
 * on fusion, so a coordinates step knows the numbers of its moves. It applies them to the values of its field, one after the
 * other.
 *
 * Places are measured in pixels, and pixel (0, 0) reaches from 0 to 1: a picture is a rectangle from (0, 0) to
 * (width, height). While it moves, a box is a polygon, at first of four corners, that is clipped at the edges of each
 * picture. At the end the box is the smallest upright rectangle around the polygon. So several rotations do not make it
 * larger than one rotation does. */
#ifndef LEAT_SAMPLE_COORDINATES_H
#define LEAT_SAMPLE_COORDINATES_H

#include "image/warp/polygon.h"
#include "sample/draw.h"

#define LEAT_TRAILS_MAX 4    /* pictures of a sample that something follows */
#define LEAT_COORDS_MAX 8    /* what follows them                           */
#define LEAT_COORDS_LABELS 4 /* fields that belong to one of those          */
#define LEAT_MOVES_MAX 128   /* of one picture                              */

typedef struct leat__tools leat__tools;
typedef struct leat__step leat__step;
typedef struct leat__where leat__where;

#define LEAT_MOVE_NUMBERS 15 /* that a move is in a cache */

typedef struct leat__trail { /* of one picture of one sample */
    int n;
    leat__move move[LEAT_MOVES_MAX];
} leat__trail;

typedef enum leat__coords_format {
    LEAT_COORDS_XYXY,
    LEAT_COORDS_XYWH,
    LEAT_COORDS_YXYX,
    LEAT_COORDS_CXCYWH,
    LEAT_COORDS_XY, /* keypoints from here on */
    LEAT_COORDS_YX,
    LEAT_COORDS_XYV
} leat__coords_format;
static inline bool leat__coords_is_box(leat__coords_format format) {
    return format < LEAT_COORDS_XY;
}

typedef struct leat__coords_plan {
    leat__coords_format format;
    bool normalized; /* relative to the size of the picture                          */
    bool centred;    /* keypoints: whole numbers are the middles of pixels           */
    bool removes;    /* what is lost is taken out; otherwise it becomes zeros        */
    bool zeroes;     /* keypoints that are lost become zeros too; boxes always do    */
    double min_area, min_visible;
    int trail, from, to; /* its moves from that number up to this one                */
    const char *name;
    int n_labels;
    const char *label_name[LEAT_COORDS_LABELS];
} leat__coords_plan;

typedef struct leat__coords_field { /* while a plan is made */
    int value, leader;
    leat__coords_plan plan;
    int label[LEAT_COORDS_LABELS];
} leat__coords_field;

/* The i-th box of a field, in pixels of a picture of this size: left, top, right, bottom. */
void leat__coords_read_box(const leat__coords_plan *plan, const struct leat__value *value, size_t i,
                           int height, int width, double out[4]);

/* --------------------------------------------------------------------------------------------- run */

void leat__trail_add(leat__tools *tools, const leat__step *step, const leat__move *move);
/* A crop and a border of a pass, of a picture of this size. */
void leat__trail_crop(leat__tools *tools, const leat__step *step, int height, int width,
                      const leat__box *box);
void leat__trail_border(leat__tools *tools, const leat__step *step, int height, int width,
                        const leat__border *border);
/* What the pass does after them: resampling or a warp, and flips. */
void leat__trail_pass(leat__tools *tools, const leat__step *step, const leat__pass *pass,
                      const leat__flips *flips, int height_before, int width_before);
int leat__run_trail(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);
int leat__run_coordinates(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err);

#endif
