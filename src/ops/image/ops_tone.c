/* SPDX-License-Identifier: Apache-2.0 */
/* Tone curves: operations that change each value by itself, on u8 by a table. Brightness and contrast are in
 * ops_brightness_contrast.c. */
#include "image/colour/table.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ---------------------------------------------------------------------------------------------- gamma */

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

/* ------------------------------------------------------------------------------- tables of fixed form */

static int draw_invert(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    if (!leat__tone_applies(d, op->arg[0])) return 0;
    if (d->dtype == LEAT_DTYPE_U8) {
        uint8_t table[256];
        leat__table_invert(table);
        leat__pass_add_table(pass, table);
    } else {
        leat__pass_add_scale(pass, -1.0f, (float)op->arg[1]);
    }
    return 0;
}

static int plan_invert(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const leat__arg_value *max = leat__use_arg(use, "max");
    const leat__point_plan point = {.op.arg = {leat__tone_chance(use), max->x},
                                    .n_points = 1,
                                    .dtype = leat__plan_picture(planner, at)->dtype,
                                    .draw = draw_invert};
    if (point.dtype == LEAT_DTYPE_F32 && !max->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "f32 values have no largest one by themselves: write max=1 or max=255");
    if (point.dtype == LEAT_DTYPE_U8 && max->given && max->x != 255)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "the largest u8 value is 255: leave max out");
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* A whole number from low to high, both included. */
static int draw_whole(leat__drawing *d, double low, double high) {
    return (int)low + (int)leat__rng_below(&d->rng, (uint64_t)(high - low) + 1);
}

static int draw_posterize(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    uint8_t table[256];
    if (!leat__tone_applies(d, op->arg[0])) return 0;
    const int bits = draw_whole(d, op->arg[1], op->arg[2]);
    if (op->arg[2] > op->arg[1]) leat__params_add(d, "bits", bits);
    leat__table_posterize(table, bits);
    leat__pass_add_table(pass, table);
    return 0;
}

static int add_table(leat__planner *planner, const leat__use *use, const leat__image_op *op,
                     leat__draw_point *draw, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    const leat__point_plan point = {.op = *op, .n_points = 1, .dtype = LEAT_DTYPE_U8, .draw = draw};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* Whole numbers within [min, max]: one, or from,to. */
static int read_whole(const leat__use *use, const char *name, double min, double max, double out[2],
                      leat_error *err) {
    LEAT_TRY(leat__plan_read_range(use, name, out, err));
    if (out[0] >= min && out[1] <= max && out[0] == (int)out[0] && out[1] == (int)out[1]) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s must be whole numbers from %g to %g", name, min,
                           max);
}

static int plan_posterize(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__image_op op = {.arg = {leat__tone_chance(use)}};
    LEAT_TRY(read_whole(use, "bits", 0, 8, op.arg + 1, err));
    return add_table(planner, use, &op, draw_posterize, err);
}

static int draw_solarize(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    uint8_t table[256];
    if (!leat__tone_applies(d, op->arg[0])) return 0;
    const double threshold = leat__draw_between(d, op->arg[1], op->arg[2]);
    const int addition = draw_whole(d, op->arg[3], op->arg[4]);
    if (op->arg[2] > op->arg[1]) leat__params_add(d, "threshold", threshold);
    if (op->arg[4] > op->arg[3]) leat__params_add(d, "addition", addition);
    leat__table_solarize(table, threshold, addition);
    leat__pass_add_table(pass, table);
    return 0;
}

static int plan_solarize(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__image_op op = {.arg = {leat__tone_chance(use)}};
    LEAT_TRY(leat__plan_read_range(use, "threshold", op.arg + 1, err));
    LEAT_TRY(read_whole(use, "addition", -255, 255, op.arg + 3, err));
    return add_table(planner, use, &op, draw_solarize, err);
}

/* -------------------------------------------------------------------------------------- channel shift */

static void solve_shift(leat__pass *pass, int i, const leat__stats *stats) {
    leat__point *point = &pass->point[i];
    float low, high;
    leat__stats_range(stats, &low, &high);
    for (int c = 0; c < 4; c++) point[0].as.affine.add[c] = (float)point->given[0];
    point[1].kind = LEAT_POINT_CLAMP;
    point[1].as.clamp.low = low;
    point[1].as.clamp.high = high;
}

void leat__tone_add_shift(leat__pass *pass, double shift) {
    const double given[4] = {shift};
    leat__pass_add_measured(pass, LEAT_STATS_RANGE, 2, false, solve_shift, given);
}

static int draw_shift(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const double shift = leat__draw_between(d, op->arg[0], op->arg[1]);
    leat__params_add(d, "shift", shift);
    leat__tone_add_shift(pass, shift);
    return 0;
}

static int plan_channel_shift(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    leat__point_plan point = {
        .n_points = LEAT_TONE_POINTS, .dtype = LEAT_DTYPE_F32, .measured = true, .draw = draw_shift};
    double *range = point.op.arg;
    LEAT_TRY(leat__plan_read_numbers(use, "range", range, 2, &n, err));
    if (n == 1) range[1] = range[0], range[0] = -range[0];
    if (n == 0 || !(range[1] >= range[0]))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "range must be one number for -range to range, or two with the smaller one first");
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define GAIN                                                                                              \
    {                                                                                                     \
        .name = "gain", .kind = LEAT_ARG_NUMBER, .fallback = "1", .min = -1e6, .max = 1e6, .named = true, \
        .help = "factor afterwards"                                                                       \
    }

#define MAX                                                                                             \
    {                                                                                                   \
        .name = "max", .kind = LEAT_ARG_NUMBER, .fallback = "", .min = -1e9, .max = 1e9, .named = true, \
        .help = "f32: the largest value of a pixel, such as 1 or 255"                                   \
    }

#define BITS \
    { .name = "bits", .kind = LEAT_ARG_TEXT, .help = "how many to keep, 0 to 8" }

#define THRESHOLD                                                      \
    {                                                                  \
        .name = "threshold", .kind = LEAT_ARG_TEXT, .fallback = "128", \
        .help = "values from here on are inverted"                     \
    }

#define ADDITION                                                                   \
    {                                                                              \
        .name = "addition", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true, \
        .help = "added and clipped before, -255 to 255"                            \
    }

const leat__op leat__ops_tone[] = {
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
     .like = "tf.image.adjust_gamma, torchvision functional.adjust_gamma, albumentations RandomGamma",
     .random = true,
     .plan = plan_gamma,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .max = 1000, .help = "smallest gamma"},
             {.name = "upper", .kind = LEAT_ARG_NUMBER, .max = 1000, .help = "largest gamma"},
             GAIN,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "invert",
     .kind = LEAT_OP_IMAGE,
     .help = "The largest value minus each value.",
     .like = "torchvision functional.invert, PIL.ImageOps.invert",
     .plan = plan_invert,
     .arg = {MAX, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_invert",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance.",
     .like = "keras.layers.RandomInvert, torchvision RandomInvert, albumentations InvertImg",
     .random = true,
     .plan = plan_invert,
     .arg = {LEAT_ARG_CHANCE("0.5"), MAX, LEAT_ARG_FIELD_NAMED}},
    {.name = "posterize",
     .kind = LEAT_OP_IMAGE,
     .help = "Keeps the highest bits of u8 values.",
     .like = "torchvision functional.posterize, PIL.ImageOps.posterize",
     .plan = plan_posterize,
     .arg = {BITS, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_posterize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance, and with a drawn number of bits if two are given.",
     .like = "keras.layers.RandomPosterization, torchvision RandomPosterize, albumentations Posterize",
     .random = true,
     .plan = plan_posterize,
     .arg = {BITS, LEAT_ARG_CHANCE("0.5"), LEAT_ARG_FIELD_NAMED}},
    {.name = "solarize",
     .kind = LEAT_OP_IMAGE,
     .help = "Inverts u8 values that are not below a threshold.",
     .like = "keras.layers.Solarization, torchvision functional.solarize, PIL.ImageOps.solarize",
     .plan = plan_solarize,
     .arg = {THRESHOLD, ADDITION, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_solarize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance, and with drawn numbers where two are given.",
     .like = "keras.layers.Solarization, torchvision RandomSolarize, albumentations Solarize",
     .random = true,
     .plan = plan_solarize,
     .arg = {THRESHOLD, LEAT_ARG_CHANCE("0.5"), ADDITION, LEAT_ARG_FIELD_NAMED}},
    {.name = "channel_shift",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds one drawn number to all values and clips them to the range the picture had, as f32.",
     .like = "keras ImageDataGenerator(channel_shift_range), albumentations RGBShift",
     .random = true,
     .plan = plan_channel_shift,
     .arg = {{.name = "range", .kind = LEAT_ARG_TEXT, .help = "largest change, or low,high"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
