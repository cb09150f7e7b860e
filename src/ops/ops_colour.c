/* SPDX-License-Identifier: Apache-2.0 */
/* Colour: brightness, gamma, saturation, hue, gray and noise. */
#include "ops/ops_colour.h"

#include <stdio.h>

#include "image/colour/table.h"
#include "ops/ops_args.h"
#include "plan/planner.h"

/* ---------------------------------------------------------------------------------------------- points */

void leat__colour_add_brightness(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]) {
    uint8_t table[256];
    leat__draw_note(d, (float)amount);
    if (flavour == LEAT_COLOUR_KERAS) {
        leat__pass_add_scale(pass, 1.0f, (float)amount * (float)(range[1] - range[0]));
        leat__pass_add_clamp(pass, (float)range[0], (float)range[1]);
    } else if (flavour == LEAT_COLOUR_PIL) {
        leat__table_pil_brightness(table, (float)amount);
        leat__pass_add_table(pass, table);
    } else if (d->dtype == LEAT_DTYPE_U8) {
        leat__table_tf_brightness(table, (float)amount);
        leat__pass_add_table(pass, table);
    } else {
        leat__pass_add_scale(pass, 1.0f, (float)amount);
    }
}

static void add_pixels(leat__pass *pass, int dtype, int kernel, const leat__pixel_args *args) {
    if (dtype == LEAT_DTYPE_U8) leat__pass_add_pixels_u8(pass, kernel, args);
    else leat__pass_add_pixels(pass, kernel, args);
}

void leat__colour_add_saturation(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]) {
    const float x =
        flavour == LEAT_COLOUR_KERAS ? (float)amount / (1.0f - (float)amount + 1e-7f) : (float)amount;
    leat__draw_note(d, x);
    if (flavour == LEAT_COLOUR_KERAS) {
        const leat__pixel_args args = {.p = {x, (float)range[0], (float)range[1]}};
        leat__pass_add_pixels(pass, LEAT_PIXELS_KERAS_SATURATION, &args);
    } else if (flavour == LEAT_COLOUR_TF) {
        add_pixels(pass, d->dtype, LEAT_PIXELS_SATURATION, &(leat__pixel_args){.p = {x}});
    } else if (d->channels >= 3) { /* gray stays gray */
        leat__pass_add_pixels_u8(pass, LEAT_PIXELS_PIL_COLOR, &(leat__pixel_args){.p = {x}});
    }
}

void leat__colour_add_hue(leat__drawing *d, leat__pass *pass, leat__colour flavour, double part,
                          const double range[2]) {
    leat__point *last = pass->n_points ? &pass->point[pass->n_points - 1] : NULL;
    const int steps = (int)(part * 255) & 255; /* as torchvision turns the bytes of Pillow's hue */
    leat__draw_note(d, flavour == LEAT_COLOUR_PIL ? (float)steps : (float)part);
    if (flavour == LEAT_COLOUR_KERAS) {
        const leat__pixel_args args = {.p = {(float)part, (float)range[0], (float)(range[1] - range[0])}};
        leat__pass_add_pixels(pass, LEAT_PIXELS_KERAS_HUE, &args);
    } else if (flavour == LEAT_COLOUR_PIL) {
        if (d->channels >= 3)
            leat__pass_add_pixels_u8(pass, LEAT_PIXELS_PIL_HUE, &(leat__pixel_args){.p = {(float)steps}});
    } else if (last && last->kind == LEAT_POINT_PIXELS && last->as.pixels.kernel == LEAT_PIXELS_SATURATION) {
        last->as.pixels.kernel = LEAT_PIXELS_SATURATION_HUE; /* both in one sweep, with the same bits */
        last->as.pixels.args.p[1] = (float)part;
    } else {
        add_pixels(pass, d->dtype, LEAT_PIXELS_HUE, &(leat__pixel_args){.p = {(float)part}});
    }
}

int leat__colour_check(const leat__drawing *d, leat__colour flavour, leat_error *err) {
    if (d->channels == 3 || (flavour == LEAT_COLOUR_PIL && d->channels == 1)) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE,
                      "%s works on red, green and blue, the picture has %d channel%s: decode with channels=3",
                      d->op->name, d->channels, d->channels > 1 ? "s" : "");
}

int leat__colour_read(leat__planner *planner, const leat__use *use, bool rgb, int *at, leat__colour *flavour,
                      double range[2], leat_error *err) {
    *flavour = (leat__colour)leat__use_arg(use, "flavour")->i;
    const bool pil = *flavour == LEAT_COLOUR_PIL;
    LEAT_TRY(leat__plan_find_picture(planner, use, pil ? LEAT_PICTURES_U8 : LEAT_PICTURES_POINT, at, err));
    const leat_field *info = leat__plan_picture(planner, *at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (rgb && channels >= 0 && channels != 3 && !(pil && channels == 1))
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "works on red, green and blue, field %s has %" PRId64
                               " channel%s: decode with "
                               "channels=3",
                               info->name, channels, channels > 1 ? "s" : "");
    LEAT_TRY(leat__plan_read_range(use, "range", range, err));
    if (!(range[1] > range[0]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "range must be two numbers, such as 0,255 or 0,1");
    return 0;
}

/* ------------------------------------------------------------------ brightness, saturation, hue */

enum { LOW, HIGH, FLAVOUR, RANGE_LOW, RANGE_HIGH, DRAWN }; /* of leat__image_op.arg */

static double draw_amount(const leat__image_op *op, leat__drawing *d, const char *key) {
    const double amount = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (op->arg[DRAWN] != 0) leat__params_add(d, key, amount);
    return amount;
}

static int draw_brightness(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    leat__colour_add_brightness(d, pass, (leat__colour)op->arg[FLAVOUR], draw_amount(op, d, "delta"),
                                op->arg + RANGE_LOW);
    return 0;
}

static int draw_saturation(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const leat__colour flavour = (leat__colour)op->arg[FLAVOUR];
    LEAT_TRY(leat__colour_check(d, flavour, err));
    leat__colour_add_saturation(d, pass, flavour, draw_amount(op, d, "factor"), op->arg + RANGE_LOW);
    return 0;
}

static int draw_hue(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const leat__colour flavour = (leat__colour)op->arg[FLAVOUR];
    LEAT_TRY(leat__colour_check(d, flavour, err));
    double part = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (flavour == LEAT_COLOUR_KERAS && op->arg[DRAWN] != 0) /* the layer draws a size and a direction */
        part = part * (leat__draw_chance(d, 0.5) ? 0.5 : -0.5);
    if (op->arg[DRAWN] != 0) leat__params_add(d, "delta", part);
    leat__colour_add_hue(d, pass, flavour, part, op->arg + RANGE_LOW);
    return 0;
}

typedef int draw_fn(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err);

static int add_colour(leat__planner *planner, const leat__use *use, bool rgb, double low, double high,
                      draw_fn *draw, leat_error *err) {
    int at;
    leat__colour flavour;
    leat__point_plan point = {.n_points = LEAT_COLOUR_POINTS, .draw = draw};
    LEAT_TRY(leat__colour_read(planner, use, rgb, &at, &flavour, point.op.arg + RANGE_LOW, err));
    point.op.arg[LOW] = low;
    point.op.arg[HIGH] = high;
    point.op.arg[FLAVOUR] = flavour;
    point.op.arg[DRAWN] = use->op->random;
    point.dtype = flavour == LEAT_COLOUR_KERAS ? LEAT_DTYPE_F32 : leat__plan_picture(planner, at)->dtype;
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int plan_adjust_brightness(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double delta = leat__use_arg(use, "delta")->x;
    if (delta < 0 && leat__use_arg(use, "flavour")->i == LEAT_COLOUR_PIL)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "with flavour=pil delta is a factor, 0 or above");
    return add_colour(planner, use, false, delta, delta, draw_brightness, err);
}

static int plan_adjust_saturation(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double factor = leat__use_arg(use, "factor")->x;
    return add_colour(planner, use, true, factor, factor, draw_saturation, err);
}

static int plan_random_saturation(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *upper = leat__use_arg(use, "upper");
    const bool keras = leat__use_arg(use, "flavour")->i == LEAT_COLOUR_KERAS;
    double low = leat__use_arg(use, "lower")->x, high = upper->x;
    if (keras && !upper->given)
        high = low < 0 ? -low : low, low = -high; /* of one number the layer makes this */
    else if (!upper->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "upper is missing: write random_saturation 0.8 1.2");
    if (high < low || (keras ? low < -1 || high > 1 : low < 0))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               keras ? "flavour=keras wants numbers from -1 to 1, the smaller one first"
                                     : "lower must not be below 0, nor upper below lower");
    return add_colour(planner, use, true, low, high, draw_saturation, err);
}

static int plan_adjust_hue(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double delta = leat__use_arg(use, "delta")->x;
    if (leat__use_arg(use, "flavour")->i != LEAT_COLOUR_TF && !(delta >= -0.5 && delta <= 0.5))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "delta must be from -0.5 to 0.5, half a turn either way");
    return add_colour(planner, use, true, delta, delta, draw_hue, err);
}

static int plan_random_hue(leat__planner *planner, const leat__use *use, leat_error *err) {
    int n;
    double range[2];
    const bool keras = leat__use_arg(use, "flavour")->i == LEAT_COLOUR_KERAS;
    LEAT_TRY(leat__plan_read_numbers(use, "max_delta", range, 2, &n, err));
    if (n == 1) range[1] = range[0], range[0] = keras ? 0 : -range[1];
    const double least = keras ? 0 : -0.5, most = keras ? 1 : 0.5;
    if (n == 0 || !(range[0] >= least && range[1] >= range[0] && range[1] <= most))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            keras ? "with flavour=keras max_delta is the layer's factor, 0 to 1, or low,high"
                  : "max_delta must be from 0 to 0.5, half a turn, or low,high from -0.5 to 0.5");
    return add_colour(planner, use, true, range[0], range[1], draw_hue, err);
}

/* ----------------------------------------------------------------------------------------------- gamma */

static int draw_gamma(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const double gamma = leat__draw_between(d, op->arg[0], op->arg[1]), gain = op->arg[2];
    if (op->arg[3] != 0) leat__params_add(d, "gamma", gamma);
    if (d->dtype == LEAT_DTYPE_U8) {
        uint8_t table[256];
        leat__table_tf_gamma(table, gamma, gain);
        leat__pass_add_table(pass, table);
    } else {
        leat__pass_add_pixels(pass, LEAT_PIXELS_GAMMA, &(leat__pixel_args){.p = {(float)gamma, (float)gain}});
    }
    return 0;
}

static int plan_gamma(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    const bool drawn = use->op->random;
    const double low = leat__use_arg(use, drawn ? "lower" : "gamma")->x;
    const double high = drawn ? leat__use_arg(use, "upper")->x : low;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    if (high < low) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "upper must not be below lower");
    const leat__point_plan point = {.op.arg = {low, high, leat__use_arg(use, "gain")->x, drawn},
                                    .n_points = 1,
                                    .dtype = leat__plan_picture(planner, at)->dtype,
                                    .draw = draw_gamma};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ------------------------------------------------------------------------------------------------ gray */

static int gray_kernel(const leat__image_op *op) {
    return op->arg[0] == 0 ? LEAT_PIXELS_GRAY : LEAT_PIXELS_PIL_GRAY;
}

static int draw_gray(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    LEAT_TRY(leat__colour_check(d, LEAT_COLOUR_TF, err));
    const bool drawn = op->arg[1] <= 1, applied = !drawn || leat__draw_chance(d, op->arg[1]);
    if (drawn) leat__params_add(d, "applied", applied);
    if (applied) add_pixels(pass, d->dtype, gray_kernel(op), &(leat__pixel_args){0});
    return 0;
}

/* One channel of three: run by run as gray pixels, of which the first values are kept. */
static int run_gray(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                    const leat__picture *in, void *out, leat_error *err) {
    enum { RUN = 1024 };
    LEAT_TRY(leat__colour_check(d, LEAT_COLOUR_TF, err));
    const size_t n = (size_t)in->height * (size_t)in->width, item = leat_dtype_size(in->dtype);
    leat__buf *buf = &tools->buf[0];
    if (!leat__buf_reserve(buf, RUN * 3 * item))
        return leat__fail_memory(err, RUN * 3 * item, "a gray picture");
    const leat__pixel_args args = {0};
    for (size_t first = 0; first < n; first += RUN) {
        const size_t m = LEAT_MIN(n - first, (size_t)RUN);
        memcpy(buf->data, (const uint8_t *)in->data + first * 3 * item, m * 3 * item);
        if (in->dtype == LEAT_DTYPE_U8) {
            const uint8_t *gray = buf->data;
            uint8_t *to = (uint8_t *)out + first;
            tools->dsp->pixels_u8[gray_kernel(op)](buf->data, m, 3, &args);
            for (size_t i = 0; i < m; i++) to[i] = gray[3 * i];
        } else {
            float *gray = (float *)(void *)buf->data, *to = (float *)out + first;
            tools->dsp->pixels[gray_kernel(op)](gray, m, 3, &args);
            for (size_t i = 0; i < m; i++) to[i] = gray[3 * i];
        }
    }
    return 0;
}

/* The picture of an operation that makes colours gray. */
static int find_rgb(leat__planner *planner, const leat__use *use, bool pil, int *at, leat_error *err) {
    LEAT_TRY(leat__plan_find_picture(planner, use, pil ? LEAT_PICTURES_U8 : LEAT_PICTURES_POINT, at, err));
    const leat_field *info = leat__plan_picture(planner, *at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (channels == 3 || channels < 0) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                           "works on red, green and blue, field %s has %" PRId64
                           " channel%s: decode with channels=3",
                           info->name, channels, channels > 1 ? "s" : "");
}

static int plan_gray(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    const bool pil = leat__use_arg(use, "flavour")->i == 1, drawn = use->op->random;
    LEAT_TRY(find_rgb(planner, use, pil, &at, err));
    if (!drawn && leat__use_arg(use, "channels")->i == 1) {
        const leat__picture_plan picture = {.op.arg = {pil}, .channels = 1, .run = run_gray};
        return leat__plan_add_picture(planner, use, at, &picture, err);
    }
    if (!drawn && leat__use_arg(use, "channels")->i != 3)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "channels must be 1 or 3");
    const leat__point_plan point = {.op.arg = {pil, drawn ? leat__use_arg(use, "p")->x : 2},
                                    .n_points = 1,
                                    .dtype = leat__plan_picture(planner, at)->dtype,
                                    .draw = draw_gray};
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int draw_degeneration(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    LEAT_TRY(leat__colour_check(d, LEAT_COLOUR_KERAS, err));
    const double factor = leat__draw_between(d, op->arg[0], op->arg[1]);
    leat__params_add(d, "factor", factor);
    const leat__pixel_args args = {.p = {(float)factor, (float)op->arg[2], (float)op->arg[3]}};
    leat__pass_add_pixels(pass, LEAT_PIXELS_DEGENERATE, &args);
    return 0;
}

static int plan_degeneration(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n;
    leat__point_plan point = {.n_points = 1, .dtype = LEAT_DTYPE_F32, .draw = draw_degeneration};
    double *factor = point.op.arg, *range = point.op.arg + 2;
    LEAT_TRY(find_rgb(planner, use, false, &at, err));
    LEAT_TRY(leat__plan_read_numbers(use, "factor", factor, 2, &n, err));
    LEAT_TRY(leat__plan_read_range(use, "range", range, err));
    if (n == 1) factor[1] = factor[0], factor[0] = -factor[0]; /* of one number the layer makes this */
    if (n == 0 || !(factor[0] >= -1 && factor[1] >= factor[0] && factor[1] <= 1))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "factor must be from 0 to 1, or low,high from -1 to 1");
    if (!(range[1] > range[0]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "range must be two numbers, such as 0,255 or 0,1");
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ----------------------------------------------------------------------------------------------- noise */

static int draw_noise(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const bool bytes = d->dtype == LEAT_DTYPE_U8, clip = op->arg[2] != 0;
    const double scale = bytes ? 255 : 1;
    const leat__pixel_args args = {.p = {(float)(op->arg[1] * scale), (float)(op->arg[0] * scale),
                                         clip ? 0.0f : -__builtin_inff(), clip ? 1.0f : __builtin_inff()},
                                   .key = leat__rng_u64(&d->rng)};
    if (d->params) {
        char key[20];
        snprintf(key, sizeof key, "%016" PRIx64, args.key);
        leat__params_add_word(d, "key", key);
    }
    add_pixels(pass, d->dtype, LEAT_PIXELS_NOISE, &args);
    return 0;
}

static int plan_noise(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const leat__point_plan point = {.op.arg = {leat__use_arg(use, "stddev")->x, leat__use_arg(use, "mean")->x,
                                               (double)leat__use_arg(use, "clip")->i},
                                    .n_points = 1,
                                    .dtype = leat__plan_picture(planner, at)->dtype,
                                    .positional = true,
                                    .draw = draw_noise};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ------------------------------------------------------------------------------------------- the table */

#define GRAY_FLAVOUR                                                                                  \
    {                                                                                                 \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|pil", .named = true, \
        .help = "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"              \
    }
#define GAIN                                                                                              \
    {                                                                                                     \
        .name = "gain", .kind = LEAT_ARG_NUMBER, .fallback = "1", .min = -1e6, .max = 1e6, .named = true, \
        .help = "factor afterwards"                                                                       \
    }

const leat__op leat__ops_colour[] = {
    {.name = "adjust_brightness",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds a number to all values; u8 counts as 0 to 1 and is clipped.",
     .like =
         "tf.image.adjust_brightness, torchvision functional.adjust_brightness, PIL.ImageEnhance.Brightness",
     .plan = plan_adjust_brightness,
     .arg = {{.name = "delta",
              .kind = LEAT_ARG_NUMBER,
              .min = -1e6,
              .max = 1e6,
              .help = "what is added; keras: a share of the range; pil: a factor"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_gamma",
     .kind = LEAT_OP_IMAGE,
     .help = "gain times each value to the power gamma; u8 counts as 0 to 1.",
     .like = "tf.image.adjust_gamma, torchvision functional.adjust_gamma",
     .plan = plan_gamma,
     .arg = {{.name = "gamma", .kind = LEAT_ARG_NUMBER, .max = 1000, .help = "above 1 darkens"},
             GAIN,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_gamma",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with gamma drawn from [lower, upper).",
     .like = "tf.image.adjust_gamma, torchvision functional.adjust_gamma",
     .random = true,
     .plan = plan_gamma,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .max = 1000, .help = "smallest gamma"},
             {.name = "upper", .kind = LEAT_ARG_NUMBER, .max = 1000, .help = "largest gamma"},
             GAIN,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_saturation",
     .kind = LEAT_OP_IMAGE,
     .help = "Multiplies the saturation of colours.",
     .like = "tf.image.adjust_saturation, torchvision functional.adjust_saturation, PIL.ImageEnhance.Color",
     .plan = plan_adjust_saturation,
     .arg = {{.name = "factor",
              .kind = LEAT_ARG_NUMBER,
              .max = 1e6,
              .help = "0 gives gray, 1 changes nothing; keras: 0.5 changes nothing"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_saturation",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "tf.image.random_saturation, tf.image.stateless_random_saturation, "
             "keras.layers.RandomSaturation, torchvision ColorJitter(saturation)",
     .random = true,
     .plan = plan_random_saturation,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .min = -1, .max = 1e6, .help = "smallest factor"},
             {.name = "upper",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "",
              .min = -1,
              .max = 1e6,
              .help = "largest factor; keras: without it -lower to lower, as the layer"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_hue",
     .kind = LEAT_OP_IMAGE,
     .help = "Turns the hue of colours by a part of the circle.",
     .like = "tf.image.adjust_hue, torchvision functional.adjust_hue",
     .plan = plan_adjust_hue,
     .arg = {{.name = "delta", .kind = LEAT_ARG_NUMBER, .min = -1, .max = 1, .help = "part of a turn"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_hue",
     .kind = LEAT_OP_IMAGE,
     .help = "The same by a part drawn from [-max_delta, max_delta).",
     .like = "tf.image.random_hue, tf.image.stateless_random_hue, keras.layers.RandomHue, torchvision "
             "ColorJitter(hue)",
     .random = true,
     .plan = plan_random_hue,
     .arg = {{.name = "max_delta",
              .kind = LEAT_ARG_TEXT,
              .help = "0 to 0.5, or low,high; keras: the layer's factor, twice as large"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "rgb_to_grayscale",
     .kind = LEAT_OP_IMAGE,
     .help = "Colours to gray, as one channel or as three equal ones.",
     .like = "tf.image.rgb_to_grayscale, keras.ops.image.rgb_to_grayscale, torchvision Grayscale, "
             "PIL.Image.Image.convert",
     .plan = plan_gray,
     .arg = {{.name = "channels",
              .kind = LEAT_ARG_INT,
              .fallback = "1",
              .min = 1,
              .max = 3,
              .named = true,
              .help = "1, or 3 equal ones"},
             GRAY_FLAVOUR,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_grayscale",
     .kind = LEAT_OP_IMAGE,
     .help = "Makes three equal channels of colours, by chance.",
     .like = "keras.layers.RandomGrayscale, torchvision RandomGrayscale",
     .random = true,
     .plan = plan_gray,
     .arg = {{.name = "p", .kind = LEAT_ARG_NUMBER, .fallback = "0.1", .max = 1, .help = "how likely"},
             GRAY_FLAVOUR,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_color_degeneration",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves colours toward their gray by a drawn share, as f32.",
     .like = "keras.layers.RandomColorDegeneration",
     .random = true,
     .plan = plan_degeneration,
     .arg = {{.name = "factor", .kind = LEAT_ARG_TEXT, .help = "largest share, either way, or low,high"},
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "gaussian_noise",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.",
     .like = "keras.layers.GaussianNoise, torchvision GaussianNoise",
     .random = true,
     .plan = plan_noise,
     .arg = {{.name = "stddev", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "its standard deviation"},
             {.name = "mean",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .min = -1e6,
              .max = 1e6,
              .named = true,
              .help = "of the noise"},
             {.name = "clip",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "f32: keep values within 0 to 1, as torchvision"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
