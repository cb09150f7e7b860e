/* SPDX-License-Identifier: Apache-2.0 */
/* What several families share: arguments, for the rows of the table, and parts of image operations, for the plan and draw
 * functions of operations that contain them. */
#ifndef LEAT_OPS_OPS_SHARED_H
#define LEAT_OPS_OPS_SHARED_H

#include "plan/planner.h"

/* ------------------------------------------------------------------------------------------ arguments */

/* Where the channels of pictures are that come without a layout: leat__source_layout_of. */
#define LEAT_ARG_SOURCE_LAYOUT                                                                             \
    {                                                                                                      \
        .name = "layout", .kind = LEAT_ARG_WORD, .fallback = "", .words = "nhwc|nchw", .named = true,      \
        .help = "nchw: three axes are a picture with channels first, and become (height, width, channels)" \
    }
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
        .name = "method", .also = "interpolation", .kind = LEAT_ARG_WORD, .fallback = "bilinear",           \
        .named = true,                                                                                      \
        .words =                                                                                            \
            "bilinear|nearest|bicubic|area|lanczos3|lanczos5|gaussian|mitchellcubic|box|hamming|lanczos",   \
        .help = "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the " \
                "last three"                                                                                \
    }
#define LEAT_ARG_TF_METHOD                                                                                \
    {                                                                                                     \
        .name = "method", .also = "interpolation", .kind = LEAT_ARG_WORD, .fallback = "bilinear",         \
        .named = true, .words = "bilinear|nearest|bicubic|area|lanczos3|lanczos5|gaussian|mitchellcubic", \
        .help = "interpolation of tf.image.resize"                                                        \
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
#define LEAT_ARG_PAD_MODE                                                                          \
    {                                                                                              \
        .name = "mode", .also = "padding_mode", .kind = LEAT_ARG_WORD, .fallback = "constant",     \
        .named = true, .words = "constant|edge|reflect|symmetric", .help = "what the border shows" \
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
#define LEAT_ARG_CLASSES(help_)                                                  \
    {                                                                            \
        .name = "classes", .kind = LEAT_ARG_TEXT, .fallback = "", .named = true, \
        .help = help_ ": cat,dog, or ';cat;dog' where names hold commas"         \
    }
#define LEAT_ARG_CHANCE(fallback_) \
    { .name = "p", .kind = LEAT_ARG_NUMBER, .fallback = fallback_, .max = 1, .help = "how likely" }
#define LEAT_ARG_P(fallback_)                                                                 \
    {                                                                                         \
        .name = "p", .kind = LEAT_ARG_NUMBER, .fallback = fallback_, .max = 1, .named = true, \
        .help = "how likely"                                                                  \
    }
#define LEAT_ARG_COLOUR_FLAVOUR                                                                             \
    {                                                                                                       \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|keras|pil", .named = true, \
        .help = "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"   \
    }
/* leat__read_bounds reads it. */
#define LEAT_ARG_VALUE_RANGE                                                        \
    {                                                                               \
        .name = "range", .kind = LEAT_ARG_TEXT, .fallback = "0,255", .named = true, \
        .help = "flavour=keras: the values that pictures have, low,high"            \
    }
#define LEAT_ARG_FILL(fallback_)                                                                     \
    {                                                                                                \
        .name = "fill", .also = "fill_mode", .kind = LEAT_ARG_WORD, .fallback = fallback_,           \
        .words = "constant|nearest|reflect|wrap", .named = true, .help = "what lies beyond the edge" \
    }
#define LEAT_ARG_FILL_VALUE(name_)                                                                  \
    {                                                                                               \
        .name = name_, .also = "fill_value", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true, \
        .help = "of fill=constant: one number, or one a channel"                                    \
    }
#define LEAT_ARG_INTERPOLATION                                                                               \
    {                                                                                                        \
        .name = "interpolation", .kind = LEAT_ARG_WORD, .fallback = "bilinear", .words = "nearest|bilinear", \
        .named = true, .help = "nearest keeps the type, bilinear gives f32"                                  \
    }
#define LEAT_ARG_RANGE(name_, fallback_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = fallback_, .help = help_ }
#define LEAT_ARG_RANGE_NAMED(name_, fallback_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = fallback_, .named = true, .help = help_ }
/* The last arguments of a layer of ops_warp.c: what leat__warp_add reads. */
#define LEAT_ARGS_WARP \
    LEAT_ARG_FILL("reflect"), LEAT_ARG_INTERPOLATION, LEAT_ARG_FILL_VALUE("value"), LEAT_ARG_FIELD_NAMED

/* ------------------------------------------------------------------------------------------- new fields */

/* ops_fields.c: fields of equal length side by side, as the new field `name`; they themselves are gone. *out is its number. */
int leat__plan_stack(leat__planner *planner, const leat__use *use, const char *name,
                     const char *const *fields, int n, int *out, leat_error *err);

/* --------------------------------------------------------------------------------- reading and drawing */

#define LEAT_PI 3.14159265358979323846
#define LEAT_SIDE_MAX 65535 /* pixels of a picture, either way */

typedef int leat__draw_point(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err);

static inline bool leat__is_whole(int dtype) {
    return dtype <= LEAT_DTYPE_I64 || dtype == LEAT_DTYPE_BOOL;
}

/* The argument `range`, of flavours that clip. */
static inline int leat__read_bounds(const leat__use *use, double out[2], leat_error *err) {
    LEAT_TRY(leat__plan_read_range(use, "range", out, err));
    if (out[1] > out[0]) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "range must be two numbers, such as 0,255 or 0,1");
}

/* Whether the operation applies to this sample. What is certain is not noted. */
static inline bool leat__draw_applies(leat__drawing *d, double p) {
    const bool yes = leat__draw_chance(d, p);
    if (p < 1) leat__params_add(d, "applied", yes);
    return yes;
}

/* The same for operations that exist with a chance (random_invert) and without one (invert): their chance is above 1 if
 * they have none. */
static inline double leat__tone_chance(const leat__use *use) {
    return use->op->random ? leat__use_arg(use, "p")->x : 2;
}

static inline bool leat__tone_applies(leat__drawing *d, double p) {
    if (p > 1) return true;
    const bool yes = leat__draw_chance(d, p);
    leat__params_add(d, "applied", yes);
    return yes;
}

/* ---------------------------------------------------------------------------------------------- borders
 * In ops_pad.c. */

/* The argument `fill`, checked against the picture: one number is for all channels. */
int leat__plan_read_fill(const leat__planner *planner, const leat__use *use, int at, double out[4],
                         leat_error *err);
/* Whether a picture of d->height x d->width can have this border. */
int leat__border_check(const leat__drawing *d, const leat__border *border, leat__pad_mode mode,
                       leat_error *err);

/* -------------------------------------------------------------------------------------- colour and tone
 * d->dtype is the type of the values that reach a point. Each function adds at most LEAT_COLOUR_POINTS points; those that
 * need to know the whole picture are planned with measured = true and add at most LEAT_TONE_POINTS. */

#define LEAT_COLOUR_POINTS 2
#define LEAT_TONE_POINTS 3

typedef enum leat__colour {
    LEAT_COLOUR_TF,    /* keeps the type; u8 counts as 0 to 1                  */
    LEAT_COLOUR_KERAS, /* gives f32; range says which values there are         */
    LEAT_COLOUR_PIL,   /* u8                                                   */
} leat__colour;

/* A kernel on pixels, of the type that they have here. */
static inline void leat__add_pixels(leat__pass *pass, int dtype, int kernel, const leat__pixel_args *args) {
    if (dtype == LEAT_DTYPE_U8) leat__pass_add_pixels_u8(pass, kernel, args);
    else leat__pass_add_pixels(pass, kernel, args);
}
/* ops_brightness_contrast.c. TF: x + amount. KERAS: x + amount times the range, clipped. PIL: x times amount. */
void leat__colour_add_brightness(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]);
/* Measured. TF: around the mean of each channel. KERAS: the same, then clipped to the range. PIL: around the mean of the gray
 * picture; alpha stays as it is. */
int leat__tone_add_contrast(leat__drawing *d, leat__pass *pass, leat__colour flavour, double factor,
                            const double range[2], leat_error *err);
/* ops_colour.c. TF and PIL: a factor. KERAS: from 0 for gray by way of 1/2 for no change to 1. */
void leat__colour_add_saturation(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]);
/* Part of a turn: TF -1 to 1, other flavours -1/2 to 1/2. */
void leat__colour_add_hue(leat__drawing *d, leat__pass *pass, leat__colour flavour, double part,
                          const double range[2]);
/* The arguments `flavour` and `range` of an operation, and the picture that it works on. rgb: it must have three channels as
 * far as that is known, or with PIL one. */
int leat__colour_read(leat__planner *planner, const leat__use *use, bool rgb, int *at, leat__colour *flavour,
                      double range[2], leat_error *err);
/* The same for a sample. */
int leat__colour_check(const leat__drawing *d, leat__colour flavour, leat_error *err);
/* ops_tone.c. Measured, f32: x + shift, clipped to what the picture had from its smallest to its largest value. */
void leat__tone_add_shift(leat__pass *pass, double shift);
/* ops_normalize.c. Measured, f32: minus the mean of all values; with scale also divided by their standard deviation + 1e-6. */
void leat__tone_add_samplewise(leat__pass *pass, bool scale);

/* ----------------------------------------------------------------------------------------------- warps
 * In ops_warp.c: how a picture is sampled, as the arguments say it, and ranges of drawn numbers. */

typedef struct leat__sampling {
    leat__warp_rule rule;
    int order;
    leat__warp_fill fill;
    float value[4];
    int n_values; /* 1 = the same for all channels */
} leat__sampling;

/* The arguments that say what lies outside, under these names, checked against the field. Without `fill_name`
 * it is constant. */
int leat__sampling_read(leat__planner *planner, const leat__use *use, int at, const char *fill_name,
                        const char *value_name, leat__sampling *sampling, leat_error *err);
/* A warp that samples so and moves nothing. */
int leat__sampling_begin(const leat__sampling *sampling, const leat__drawing *d, leat__warp *warp,
                         leat_error *err);
/* The argument `name`: two numbers, or one that stands for low,high around `middle`: middle - x and middle +
 * x, the first no less than `least`. Both within [least, most]. */
int leat__range_read(const leat__use *use, const char *name, double middle, double least, double most,
                     double out[2], leat_error *err);
/* A layer: finds the picture, reads how it is sampled (fill: the name of that argument, or NULL), and adds the warp. */
int leat__warp_add(leat__planner *planner, const leat__use *use, leat__warp_rule rule, const char *fill,
                   leat__warp_plan plan, leat_error *err);
/* The matrix from places in the result to those in the picture. */
void leat__warp_set(leat__warp *warp, float a0, float a1, float a2, float b0, float b1, float b2);

static inline int leat__source_layout_of(const leat__use *use) {
    const leat__arg_value *layout = leat__use_arg(use, "layout");
    return !layout->given ? LEAT_LAYOUT_NONE : layout->i ? LEAT_LAYOUT_NCHW : LEAT_LAYOUT_NHWC;
}

#endif
