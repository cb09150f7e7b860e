/* SPDX-License-Identifier: Apache-2.0 */
/* Colour points, for the draw functions of operations that contain them. Each adds at most LEAT_COLOUR_POINTS
 * points; d->dtype is the type of the values that reach it. */
#ifndef LEAT_OPS_OPS_COLOUR_H
#define LEAT_OPS_OPS_COLOUR_H

#include "plan/plan_image.h"

#define LEAT_COLOUR_POINTS 2

typedef enum leat__colour {                    /* in the order of leat__contrast                        */
                            LEAT_COLOUR_TF,    /* keeps the type; u8 counts as 0 to 1                   */
                            LEAT_COLOUR_KERAS, /* gives f32; range says which values there are          */
                            LEAT_COLOUR_PIL,   /* u8                                                    */
} leat__colour;

/* TF: x + amount. KERAS: x + amount times the range, clipped. PIL: x times amount. */
void leat__colour_add_brightness(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]);
/* TF and PIL: a factor. KERAS: from 0 for gray by way of 1/2 for no change to 1. */
void leat__colour_add_saturation(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]);
/* Part of a turn: TF -1 to 1, the others -1/2 to 1/2. */
void leat__colour_add_hue(leat__drawing *d, leat__pass *pass, leat__colour flavour, double part,
                          const double range[2]);

/* The arguments `flavour` and `range` of an operation, and the picture that it works on. rgb: it must have
 * three channels as far as that is known, or with PIL one. */
int leat__colour_read(leat__planner *planner, const leat__use *use, bool rgb, int *at, leat__colour *flavour,
                      double range[2], leat_error *err);
/* The same for a sample. */
int leat__colour_check(const leat__drawing *d, leat__colour flavour, leat_error *err);

#define LEAT_ARG_COLOUR_FLAVOUR                                                                             \
    {                                                                                                       \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|keras|pil", .named = true, \
        .help = "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"   \
    }
#define LEAT_ARG_COLOUR_RANGE                                                       \
    {                                                                               \
        .name = "range", .kind = LEAT_ARG_TEXT, .fallback = "0,255", .named = true, \
        .help = "flavour=keras: the values that pictures have, low,high"            \
    }

#endif
