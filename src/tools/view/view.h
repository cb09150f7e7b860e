/* SPDX-License-Identifier: Apache-2.0 */
/* Contact sheets: what their four parts share. view.c chooses samples and runs them, view_pixels.c makes pictures for
 * the eye of what a model gets, view_overlay.c takes masks and boxes, view_sheet.c puts all of it and words on a page. */
#ifndef LEAT_TOOLS_VIEW_H
#define LEAT_TOOLS_VIEW_H

#include "base/mem.h"
#include "leat/leat_tools.h"
#include "plan/spec.h"

/* ------------------------------------------------------------------------------------------- pixels */

typedef struct leat__view_array { /* a picture as a batch or a step holds it */
    int dtype, ndim;
    const int64_t *shape; /* (height, width), or with channels first or last */
    const void *data;
} leat__view_array;

typedef struct leat__view_picture { /* as small as it will be shown; zeroed = none */
    int height, width;
    int from_height, from_width;
    leat__buf values; /* f32 (height, width, 3) */
} leat__view_picture;

typedef struct leat__view_range { /* values that become 0 and 255 */
    double low, high;
} leat__view_range;

/* Whether a field can be shown. */
bool leat__view_is_picture(const leat_field *field);
/* Fits a picture into size x size: averaged where it shrinks, repeated where it grows. work is scratch. */
int leat__view_take(leat__view_picture *out, const leat__view_array *from, int size, leat__buf *work,
                    leat_error *err);
/* Undoes what normalize, cast and rescale did to the field's values, the last first; notes it in text. */
void leat__view_undo(leat__view_picture *picture, const leat_spec *spec, const char *field, char *text,
                     size_t cap);
/* The range that values of these pictures most likely have: 0 to 1, -1 to 1, 0 to 255, or whatever is there. */
leat__view_range leat__view_find_range(const leat__view_picture *const *pictures, size_t n);
/* A row as u8 (width, 3). */
void leat__view_row(uint8_t *rgb, const leat__view_picture *picture, int y, leat__view_range range);

/* -------------------------------------------------------------------------------------------- sheet */

typedef struct leat__view_box { /* corners, in parts of the picture */
    float x0, y0, x1, y1;
    char label[24];
} leat__view_box;

typedef struct leat__view_cell { /* a picture and the words below it */
    leat__view_picture picture;
    leat__view_range range;
    char label[100];
    char key[48];     /* "0:35", or a note where there is no picture */
    char words[1100]; /* what was drawn: parts separated by ';' */
    char detail[300]; /* of an original: its file, and its size */
    leat__buf tint;   /* u8 (height, width) of the picture: classes of a mask, 0 = none; empty = no mask */
    leat__buf boxes;  /* of leat__view_box                                                               */
} leat__view_cell;

typedef struct leat__view_sheet {
    int n_rows, n_columns; /* the first column is the original */
    int size;
    bool strip;                  /* no column of originals, and no words above */
    const leat__view_cell *cell; /* (n_rows, n_columns) */
    const char *title, *text, *note;
} leat__view_sheet;

/* ----------------------------------------------------------------------------------------- overlay */

typedef struct leat__view_overlay { /* fields that belong to the picture; "" = none */
    char mask[64], boxes[64], labels[64];
    int format; /* leat__coords_format */
    bool normalized;
} leat__view_overlay;

/* The first mask and the first boxes that the text declares for the field. */
void leat__view_find_overlay(leat__view_overlay *out, const leat_spec *spec, const char *field);
/* Both come after the cell's picture; what is no mask and no box is left out. */
int leat__view_take_mask(leat__view_cell *cell, const leat__view_array *mask, leat_error *err);
int leat__view_take_boxes(leat__view_cell *cell, const leat__view_overlay *overlay, int dtype,
                          const void *values, size_t n, leat_error *err);
size_t leat__view_n_boxes(const leat__view_cell *cell);
void leat__view_cell_free(leat__view_cell *cell);

/* What leat_view shows, for a page of another kind: calls fn for every cell, row by row, the original first. */
typedef int (*leat__view_cell_fn)(void *user, int row, int column, const leat__view_cell *cell,
                                  leat_error *err);
int leat__view_cells(const leat_spec *spec, const leat_view_config *view, const leat_config *pipeline,
                     leat__view_cell_fn fn, void *user, leat_error *err);

/* Draws the page: RGB bytes in out, height x width. */
int leat__view_draw(leat__buf *out, int *height, int *width, const leat__view_sheet *sheet, leat_error *err);

#endif
