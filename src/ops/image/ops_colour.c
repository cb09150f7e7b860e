/* SPDX-License-Identifier: Apache-2.0 */
/* Saturation, hue, gray, and color_jitter, which has brightness and contrast too. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* --------------------------------------------------------------------------------------------- points */

void leat__colour_add_saturation(leat__drawing *d, leat__pass *pass, leat__colour flavour, double amount,
                                 const double range[2]) {
    const float x =
        flavour == LEAT_COLOUR_KERAS ? (float)amount / (1.0f - (float)amount + 1e-7f) : (float)amount;
    leat__draw_note(d, x);
    if (flavour == LEAT_COLOUR_KERAS) {
        const leat__pixel_args args = {.p = {x, (float)range[0], (float)range[1]}};
        leat__pass_add_pixels(pass, LEAT_PIXELS_KERAS_SATURATION, &args);
    } else if (flavour == LEAT_COLOUR_TF) {
        leat__add_pixels(pass, d->dtype, LEAT_PIXELS_SATURATION, &(leat__pixel_args){.p = {x}});
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
        leat__add_pixels(pass, d->dtype, LEAT_PIXELS_HUE, &(leat__pixel_args){.p = {(float)part}});
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
    return leat__read_bounds(use, range, err);
}

/* ------------------------------------------------------------------------------------ saturation, hue */

enum { LOW, HIGH, FLAVOUR, RANGE_LOW, RANGE_HIGH, DRAWN }; /* of leat__image_op.arg */

static double draw_amount(const leat__image_op *op, leat__drawing *d, const char *key) {
    const double amount = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (op->arg[DRAWN] != 0) leat__params_add(d, key, amount);
    return amount;
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

static int add_colour(leat__planner *planner, const leat__use *use, bool rgb, double low, double high,
                      leat__draw_point *draw, leat_error *err) {
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

/* ----------------------------------------------------------------------------------------------- gray */

static int gray_kernel(const leat__image_op *op) {
    return op->arg[0] == 0 ? LEAT_PIXELS_GRAY : LEAT_PIXELS_PIL_GRAY;
}

static int draw_gray(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    LEAT_TRY(leat__colour_check(d, LEAT_COLOUR_TF, err));
    const bool drawn = op->arg[1] <= 1, applied = !drawn || leat__draw_chance(d, op->arg[1]);
    if (drawn) leat__params_add(d, "applied", applied);
    if (applied) leat__add_pixels(pass, d->dtype, gray_kernel(op), &(leat__pixel_args){0});
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
        const uint8_t *from = (const uint8_t *)in->data + first * 3 * item;
        if (in->dtype == LEAT_DTYPE_U8) {
            const uint8_t *gray = buf->data;
            uint8_t *to = (uint8_t *)out + first;
            tools->dsp->pixels_u8[gray_kernel(op)](buf->data, from, m, 3, &args);
            for (size_t i = 0; i < m; i++) to[i] = gray[3 * i];
        } else {
            float *gray = (float *)(void *)buf->data, *to = (float *)out + first;
            memcpy(gray, from, m * 3 * item);
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
    LEAT_TRY(leat__read_bounds(use, range, err));
    if (n == 1) factor[1] = factor[0], factor[0] = -factor[0]; /* of one number the layer makes this */
    if (n == 0 || !(factor[0] >= -1 && factor[1] >= factor[0] && factor[1] <= 1))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "factor must be from 0 to 1, or low,high from -1 to 1");
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* --------------------------------------------------------------------------------------- color_jitter */

/* torchvision does its parts in a drawn order, Keras in this one. */

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, PARTS };

static const char *const part_name[PARTS] = {"brightness", "contrast", "saturation", "hue"};

typedef struct jitter_part {
    bool on;
    double low, high;
} jitter_part;

typedef struct jitter {
    leat__colour flavour; /* KERAS or PIL */
    double range[2];
    jitter_part part[PARTS];
} jitter;

static int add_part(const jitter *plan, leat__drawing *d, leat__pass *pass, int part, double amount,
                    leat_error *err) {
    switch (part) {
    case BRIGHTNESS: leat__colour_add_brightness(d, pass, plan->flavour, amount, plan->range); return 0;
    case CONTRAST: return leat__tone_add_contrast(d, pass, plan->flavour, amount, plan->range, err);
    case SATURATION: leat__colour_add_saturation(d, pass, plan->flavour, amount, plan->range); return 0;
    default: leat__colour_add_hue(d, pass, plan->flavour, amount, plan->range); return 0;
    }
}

static int draw_jitter(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const jitter *plan = op->more;
    const bool keras = plan->flavour == LEAT_COLOUR_KERAS;
    double amount[PARTS];
    int order[PARTS] = {BRIGHTNESS, CONTRAST, SATURATION, HUE};
    char word[PARTS + 1] = "";
    int digits = 0; /* the same for a device */
    if (plan->part[SATURATION].on || plan->part[HUE].on) LEAT_TRY(leat__colour_check(d, plan->flavour, err));
    for (int i = 0; i < PARTS; i++) amount[i] = leat__draw_between(d, plan->part[i].low, plan->part[i].high);
    if (keras && leat__draw_chance(d, 0.5)) amount[HUE] = -amount[HUE];
    for (int i = PARTS - 1; !keras && i > 0; i--) {
        const int k = (int)leat__rng_below(&d->rng, (uint64_t)i + 1), moved = order[i];
        order[i] = order[k];
        order[k] = moved;
    }
    for (int i = 0, n = 0; i < PARTS; i++) {
        const int part = order[i];
        if (!plan->part[part].on) continue;
        word[n++] = part_name[part][0];
        word[n] = 0;
        digits = 10 * digits + part + 1;
        LEAT_TRY(add_part(plan, d, pass, part, amount[part], err));
    }
    for (int i = 0; i < PARTS; i++)
        if (plan->part[i].on) leat__params_add(d, part_name[i], amount[i]);
        else leat__draw_note(d, 0); /* places of those that are not there */
    leat__draw_note(d, (float)digits);
    if (!keras && word[0] && word[1]) leat__params_add_word(d, "order", word);
    return 0;
}

/* What a number, or two, mean for torchvision: around 1, the hue around 0. */
static int read_torch_part(const leat__use *use, int i, jitter_part *part, leat_error *err) {
    int n;
    double range[2];
    const char *name = part_name[i];
    const double centre = i == HUE ? 0 : 1;
    LEAT_TRY(leat__plan_read_numbers(use, name, range, 2, &n, err));
    if (n == 1 && range[0] < 0)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s must not be below 0, or be two numbers low,high", name);
    part->low = n == 1 ? centre - range[0] : range[0];
    part->high = n == 1 ? centre + range[0] : range[1];
    if (n == 1 && i != HUE) part->low = LEAT_MAX(part->low, 0);
    const double least = i == HUE ? -0.5 : 0, most = i == HUE ? 0.5 : 1e6;
    if (n == 0 || !(part->low >= least && part->high >= part->low && part->high <= most))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            i == HUE ? "hue must be from 0 to 0.5, half a turn, or low,high from -0.5 to 0.5"
                     : "%s must be a number, 0 or above, or low,high with the smaller one first",
            name);
    part->on = part->low != centre || part->high != centre;
    return 0;
}

/* The same for the layer, with what it makes of one number. */
static int read_keras_part(const leat__use *use, int i, jitter_part *part, leat_error *err) {
    int n;
    double range[2];
    const char *name = part_name[i];
    const double least = i == CONTRAST || i == HUE ? 0 : -1;
    part->on = leat__use_arg(use, name)->given;
    if (!part->on) return 0;
    LEAT_TRY(leat__plan_read_numbers(use, name, range, 2, &n, err));
    if (n == 1) range[1] = range[0], range[0] = LEAT_MAX(-range[0], least);
    if (n == 0 || !(range[0] >= least && range[1] >= range[0] && range[1] <= 1))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "with flavour=keras %s is the layer's factor: 0 to 1, or low,high from %g to 1", name, least);
    part->low = i == CONTRAST ? 1 - range[0] : i == HUE ? range[0] / 2 : range[0];
    part->high = i == CONTRAST ? 1 + range[1] : i == HUE ? range[1] / 2 : range[1];
    return 0;
}

static int plan_jitter(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    jitter plan = {.flavour = leat__use_arg(use, "flavour")->i == 1 ? LEAT_COLOUR_KERAS : LEAT_COLOUR_PIL};
    const bool keras = plan.flavour == LEAT_COLOUR_KERAS;
    LEAT_TRY(leat__plan_find_picture(planner, use, keras ? LEAT_PICTURES_POINT : LEAT_PICTURES_U8, &at, err));
    LEAT_TRY(leat__read_bounds(use, plan.range, err));
    for (int i = 0; i < PARTS; i++)
        LEAT_TRY((keras ? read_keras_part : read_torch_part)(use, i, &plan.part[i], err));
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, &plan, sizeof plan, err),
                                    .n_points = LEAT_TONE_POINTS + 3 * LEAT_COLOUR_POINTS,
                                    .dtype = keras ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8,
                                    .measured = plan.part[CONTRAST].on,
                                    .draw = draw_jitter};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

/* ------------------------------------------------------------------------------------------ the table */

#define GRAY_FLAVOUR                                                                                  \
    {                                                                                                 \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|pil", .named = true, \
        .help = "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"              \
    }

#define PART(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = "0", .help = help_ }

const leat__op leat__ops_colour[] = {
    {.name = "adjust_saturation",
     .kind = LEAT_OP_IMAGE,
     .help = "Multiplies the saturation of colours.",
     .like = "tf.image.adjust_saturation, torchvision functional.adjust_saturation, PIL.ImageEnhance.Color",
     .on_device = 1,
     .plan = plan_adjust_saturation,
     .arg = {{.name = "factor",
              .kind = LEAT_ARG_NUMBER,
              .max = 1e6,
              .help = "0 gives gray, 1 changes nothing; keras: 0.5 changes nothing"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_saturation",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "tf.image.random_saturation, tf.image.stateless_random_saturation, "
             "keras.layers.RandomSaturation, torchvision ColorJitter(saturation)",
     .random = true,
     .on_device = 1,
     .plan = plan_random_saturation,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .min = -1, .max = 1e6, .help = "smallest factor"},
             {.name = "upper",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "",
              .min = -1,
              .max = 1e6,
              .help = "largest factor; keras: without it -lower to lower, as the layer"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_hue",
     .kind = LEAT_OP_IMAGE,
     .help = "Turns the hue of colours by a part of the circle.",
     .like = "tf.image.adjust_hue, torchvision functional.adjust_hue",
     .on_device = 1,
     .plan = plan_adjust_hue,
     .arg = {{.name = "delta", .kind = LEAT_ARG_NUMBER, .min = -1, .max = 1, .help = "part of a turn"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_hue",
     .kind = LEAT_OP_IMAGE,
     .help = "The same by a part drawn from [-max_delta, max_delta).",
     .like = "tf.image.random_hue, tf.image.stateless_random_hue, keras.layers.RandomHue, torchvision "
             "ColorJitter(hue)",
     .random = true,
     .on_device = 1,
     .plan = plan_random_hue,
     .arg = {{.name = "max_delta",
              .kind = LEAT_ARG_TEXT,
              .help = "0 to 0.5, or low,high; keras: the layer's factor, twice as large"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
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
     .like = "keras.layers.RandomGrayscale, torchvision RandomGrayscale, albumentations ToGray",
     .random = true,
     .plan = plan_gray,
     .arg = {LEAT_ARG_CHANCE("0.1"), GRAY_FLAVOUR, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_color_degeneration",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves colours toward their gray by a drawn share, as f32.",
     .like = "keras.layers.RandomColorDegeneration",
     .random = true,
     .plan = plan_degeneration,
     .arg = {{.name = "factor", .kind = LEAT_ARG_TEXT, .help = "largest share, either way, or low,high"},
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "color_jitter",
     .kind = LEAT_OP_IMAGE,
     .help = "Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.",
     .like = "keras.layers.RandomColorJitter, torchvision ColorJitter, albumentations ColorJitter, "
             "albumentations RandomBrightnessContrast, albumentations HueSaturationValue",
     .random = true,
     .on_device = 5,
     .plan = plan_jitter,
     .arg =
         {PART("brightness", "factor from 1 - x to 1 + x, or low,high"),
          PART("contrast", "the same"),
          PART("saturation", "the same"),
          PART("hue", "part of a turn from -x to x, or low,high; at most 0.5"),
          {.name = "flavour",
           .kind = LEAT_ARG_WORD,
           .fallback = "pil",
           .words = "pil|keras",
           .named = true,
           .help =
               "pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors"},
          LEAT_ARG_VALUE_RANGE,
          LEAT_ARG_FIELD_NAMED}},
    {0},
};
