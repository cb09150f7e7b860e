/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that several operations have, for the rows of the table. */
#ifndef LEAT_OPS_OPS_ARGS_H
#define LEAT_OPS_OPS_ARGS_H

#include "plan/op.h"

#define LEAT_ARG_FIELD_OR(fallback_) \
    { .name = "field", .kind = LEAT_ARG_FIELD, .fallback = fallback_, .help = "which field" }
#define LEAT_ARG_FIELD_NAMED \
    { .name = "field", .kind = LEAT_ARG_FIELD, .fallback = "image", .named = true, .help = "which field" }
#define LEAT_ARG_LAYOUT                                                                                   \
    {                                                                                                     \
        .name = "layout", .kind = LEAT_ARG_WORD, .fallback = "nhwc", .words = "nhwc|nchw", .named = true, \
        .help = "channels last or channels first"                                                         \
    }
#define LEAT_ARG_HEIGHT \
    { .name = "height", .kind = LEAT_ARG_INT, .min = 1, .max = 65535, .help = "in pixels" }
#define LEAT_ARG_WIDTH                                                                 \
    {                                                                                  \
        .name = "width", .kind = LEAT_ARG_INT, .fallback = "", .min = 1, .max = 65535, \
        .help = "in pixels; as the height if left out"                                 \
    }
#define LEAT_ARG_METHOD                                                                                     \
    {                                                                                                       \
        .name = "method", .kind = LEAT_ARG_WORD, .fallback = "bilinear", .named = true,                     \
        .words =                                                                                            \
            "bilinear|nearest|bicubic|area|lanczos3|lanczos5|gaussian|mitchellcubic|box|hamming|lanczos",   \
        .help = "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the " \
                "last three"                                                                                \
    }
#define LEAT_ARG_TF_METHOD                                                                 \
    {                                                                                      \
        .name = "method", .kind = LEAT_ARG_WORD, .fallback = "bilinear", .named = true,    \
        .words = "bilinear|nearest|bicubic|area|lanczos3|lanczos5|gaussian|mitchellcubic", \
        .help = "interpolation of tf.image.resize"                                         \
    }
#define LEAT_ARG_ANTIALIAS                                                              \
    {                                                                                   \
        .name = "antialias", .kind = LEAT_ARG_BOOL, .fallback = "false", .named = true, \
        .help = "widen the filter when the picture shrinks"                             \
    }
/* Two arguments. */
#define LEAT_ARGS_ASPECT_RATIO                                                                    \
    {.name = "crop_to_aspect_ratio",                                                              \
     .kind = LEAT_ARG_BOOL,                                                                       \
     .fallback = "false",                                                                         \
     .named = true,                                                                               \
     .help = "only the largest part in the middle that has the shape of the result"},             \
    {                                                                                             \
        .name = "pad_to_aspect_ratio", .kind = LEAT_ARG_BOOL, .fallback = "false", .named = true, \
        .help = "with a border first that gives it the shape of the result"                       \
    }
/* Its words in the order of leat__pad_mode. */
#define LEAT_ARG_PAD_MODE                                                             \
    {                                                                                 \
        .name = "mode", .kind = LEAT_ARG_WORD, .fallback = "constant", .named = true, \
        .words = "constant|edge|reflect|symmetric", .help = "what the border shows"   \
    }
#define LEAT_ARG_BORDER_FILL                                                                 \
    {                                                                                        \
        .name = "fill", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true,               \
        .help = "of a constant border: one number, or one a channel, in the picture's units" \
    }
#define LEAT_ARG_SEED                                                        \
    {                                                                        \
        .name = "seed", .kind = LEAT_ARG_INT, .fallback = "", .named = true, \
        .help = "its own seed; without it the pipeline's"                    \
    }

#endif
