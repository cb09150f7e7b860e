/* SPDX-License-Identifier: Apache-2.0 */
/* Contact sheets: what their three parts share. view.c chooses samples and runs them, view_pixels.c makes pictures for
 * the eye of what a model gets, view_sheet.c puts pictures and words on a page. */
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

typedef struct leat__view_cell { /* a picture and the words below it */
    leat__view_picture picture;
    leat__view_range range;
    char label[100];
    char key[48];     /* "0:35", or a note where there is no picture */
    char words[1100]; /* what was drawn: parts separated by ';' */
    char detail[300]; /* of an original: its file, and its size */
} leat__view_cell;

typedef struct leat__view_sheet {
    int n_rows, n_columns; /* the first column is the original */
    int size;
    const leat__view_cell *cell; /* (n_rows, n_columns) */
    const char *title, *text, *note;
} leat__view_sheet;

/* Draws the page: RGB bytes in out, height x width. */
int leat__view_draw(leat__buf *out, int *height, int *width, const leat__view_sheet *sheet, leat_error *err);

#endif
