/* SPDX-License-Identifier: Apache-2.0 */
/* Tone: operations that change each value by itself, some of them knowing the whole picture. On u8 all of
 * them are tables. */
#include "image/colour/table.h"
#include "ops/ops_args.h"
#include "ops/tone.h"
#include "plan/planner.h"

/* One table a channel, so the channels must be kept apart. */
static int check_channels(const leat__drawing *d, leat_error *err) {
    if (d->channels <= 4) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE, "%s works on up to 4 channels, the picture has %d", d->op->name,
                      d->channels);
}

static uint8_t (*tables_at(leat__pass *pass, int i))[256] {
    return pass->table[pass->point[i].as.table.number];
}

/* -------------------------------------------------------------------------------------------- contrast */

static void solve_contrast_table(leat__pass *pass, int i, const leat__stats *stats) {
    uint8_t(*table)[256] = tables_at(pass, i);
    for (int c = 0; c < stats->channels; c++)
        leat__table_tf_contrast(table[c], leat__stats_mean(stats, c), (float)pass->point[i].given[0]);
}

static void solve_pil_contrast(leat__pass *pass, int i, const leat__stats *stats) {
    uint8_t(*table)[256] = tables_at(pass, i);
    const int mean = leat__table_pil_mean(stats->gray, stats->count);
    const int colours = stats->channels - (stats->channels == 2 || stats->channels == 4);
    for (int c = 0; c < colours; c++)
        leat__table_pil_contrast(table[c], mean, (float)pass->point[i].given[0]);
}

/* (x - mean) * factor + mean, then for Keras a clip. */
static void solve_contrast(leat__pass *pass, int i, const leat__stats *stats) {
    leat__point *point = &pass->point[i];
    for (int c = 0; c < stats->channels; c++) {
        const float mean = (float)leat__stats_mean(stats, c);
        point[0].as.affine.add[c] = -mean;
        point[1].as.affine.mul[c] = (float)point->given[0];
        point[1].as.affine.add[c] = mean;
    }
}

int leat__tone_add_contrast(leat__drawing *d, leat__pass *pass, leat__contrast flavour, double factor,
                            const double range[2], leat_error *err) {
    const double given[4] = {factor};
    LEAT_TRY(check_channels(d, err));
    leat__draw_note(d, (float)factor);
    if (flavour == LEAT_CONTRAST_PIL) {
        leat__pass_add_measured(pass, LEAT_STATS_GRAY, 1, true, solve_pil_contrast, given);
    } else if (flavour == LEAT_CONTRAST_TF && d->dtype == LEAT_DTYPE_U8) {
        leat__pass_add_measured(pass, LEAT_STATS_SUM, 1, true, solve_contrast_table, given);
    } else {
        leat__pass_add_measured(pass, LEAT_STATS_SUM, 2, false, solve_contrast, given);
        if (flavour == LEAT_CONTRAST_KERAS) leat__pass_add_clamp(pass, (float)range[0], (float)range[1]);
    }
    return 0;
}

enum { LOW, HIGH, FLAVOUR, DRAWN, RANGE_LOW, RANGE_HIGH }; /* of leat__image_op.arg */

static int draw_contrast(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const double factor = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (op->arg[DRAWN] != 0) leat__params_add(d, "factor", factor);
    return leat__tone_add_contrast(d, pass, (leat__contrast)op->arg[FLAVOUR], factor, op->arg + RANGE_LOW,
                                   err);
}

static int add_contrast(leat__planner *planner, const leat__use *use, double low, double high,
                        leat_error *err) {
    int at;
    const leat__contrast flavour = (leat__contrast)leat__use_arg(use, "flavour")->i;
    LEAT_TRY(leat__plan_find_picture(
        planner, use, flavour == LEAT_CONTRAST_PIL ? LEAT_PICTURES_U8 : LEAT_PICTURES_POINT, &at, err));
    leat__point_plan point = {
        .op.arg = {[LOW] = low, [HIGH] = high, [FLAVOUR] = flavour, [DRAWN] = use->op->random},
        .dtype = leat__plan_picture(planner, at)->dtype,
        .measured = true,
        .draw = draw_contrast};
    if (flavour == LEAT_CONTRAST_KERAS) {
        LEAT_TRY(leat__plan_read_range(use, "range", point.op.arg + RANGE_LOW, err));
        point.dtype = LEAT_DTYPE_F32;
    }
    point.n_points = point.dtype == LEAT_DTYPE_U8 ? 1 : LEAT_TONE_POINTS;
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int plan_adjust_contrast(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double factor = leat__use_arg(use, "factor")->x;
    return add_contrast(planner, use, factor, factor, err);
}

static int plan_random_contrast(leat__planner *planner, const leat__use *use, leat_error *err) {
    const bool keras = leat__use_arg(use, "flavour")->i == LEAT_CONTRAST_KERAS;
    const leat__arg_value *upper = leat__use_arg(use, "upper");
    double low = leat__use_arg(use, "lower")->x, high = upper->x;
    if (keras && (low > 1 || (upper->given && high < low)))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "flavour=keras draws from [1 - lower, 1 + upper): lower must be at most 1 and upper "
            "not below it");
    if (keras) { /* one number is the layer's factor, of which it makes (0, factor) */
        high = 1 + (upper->given ? high : low);
        low = upper->given ? 1 - low : 1;
    } else if (!upper->given) {
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "upper is missing: write random_contrast 0.8 1.2");
    } else if (high < low) {
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "upper must not be below lower");
    }
    return add_contrast(planner, use, low, high, err);
}

/* ---------------------------------------------------------------------------------- tables of fixed form */

/* True when the operation applies: always, or by chance. */
static bool applies(leat__drawing *d, double p) {
    if (p >= 2) return true; /* the operation has no chance */
    const bool yes = leat__draw_chance(d, p);
    leat__params_add(d, "applied", yes);
    return yes;
}

static double chance(const leat__use *use) {
    return use->op->random ? leat__use_arg(use, "p")->x : 2;
}

static int draw_invert(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    if (!applies(d, op->arg[0])) return 0;
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
    const leat__point_plan point = {.op.arg = {chance(use), max->x},
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
    if (!applies(d, op->arg[0])) return 0;
    const int bits = draw_whole(d, op->arg[1], op->arg[2]);
    if (op->arg[2] > op->arg[1]) leat__params_add(d, "bits", bits);
    leat__table_posterize(table, bits);
    leat__pass_add_table(pass, table);
    return 0;
}

static int add_table(leat__planner *planner, const leat__use *use, const leat__image_op *op,
                     int (*draw)(const leat__image_op *, leat__drawing *, leat__pass *, leat_error *),
                     leat_error *err) {
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
    leat__image_op op = {.arg = {chance(use)}};
    LEAT_TRY(read_whole(use, "bits", 0, 8, op.arg + 1, err));
    return add_table(planner, use, &op, draw_posterize, err);
}

static int draw_solarize(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    uint8_t table[256];
    if (!applies(d, op->arg[0])) return 0;
    const double threshold = leat__draw_between(d, op->arg[1], op->arg[2]);
    const int addition = draw_whole(d, op->arg[3], op->arg[4]);
    if (op->arg[2] > op->arg[1]) leat__params_add(d, "threshold", threshold);
    if (op->arg[4] > op->arg[3]) leat__params_add(d, "addition", addition);
    leat__table_solarize(table, threshold, addition);
    leat__pass_add_table(pass, table);
    return 0;
}

static int plan_solarize(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__image_op op = {.arg = {chance(use)}};
    LEAT_TRY(leat__plan_read_range(use, "threshold", op.arg + 1, err));
    LEAT_TRY(read_whole(use, "addition", -255, 255, op.arg + 3, err));
    return add_table(planner, use, &op, draw_solarize, err);
}

/* -------------------------------------------------------------------------------- autocontrast, equalize */

typedef enum stretch { STRETCH_PIL, STRETCH_KERAS, STRETCH_TORCH } stretch;

static void solve_autocontrast(leat__pass *pass, int i, const leat__stats *stats) {
    uint8_t(*table)[256] = tables_at(pass, i);
    for (int c = 0; c < stats->channels; c++) {
        const int low = (int)stats->min[c], high = (int)stats->max[c];
        if (pass->point[i].given[0] == STRETCH_TORCH) leat__table_torch_autocontrast(table[c], low, high);
        else leat__table_autocontrast(table[c], low, high);
    }
}

/* A channel of one value stays as it is. */
static void solve_keras_autocontrast(leat__pass *pass, int i, const leat__stats *stats) {
    leat__affine *affine = &pass->point[i].as.affine;
    for (int c = 0; c < stats->channels; c++) {
        if (!(stats->max[c] > stats->min[c])) continue;
        const float scale = 255.0f / (stats->max[c] - stats->min[c]);
        affine->mul[c] = scale;
        affine->add[c] = -stats->min[c] * scale;
    }
}

static int draw_autocontrast(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const double given[4] = {op->arg[1]}, low = op->arg[2], high = op->arg[3];
    LEAT_TRY(check_channels(d, err));
    if (!applies(d, op->arg[0])) return 0;
    if (op->arg[1] != STRETCH_KERAS) {
        leat__pass_add_measured(pass, LEAT_STATS_RANGE, 1, true, solve_autocontrast, given);
        return 0;
    }
    const bool scaled = low != 0 || high != 255;
    if (scaled) {
        leat__pass_add_scale(pass, 1.0f, (float)-low);
        leat__pass_add_scale(pass, (float)(255 / (high - low)), -0.0f);
    }
    leat__pass_add_measured(pass, LEAT_STATS_RANGE, 1, false, solve_keras_autocontrast, given);
    leat__pass_add_clamp(pass, 0.0f, 255.0f);
    if (scaled) leat__pass_add_scale(pass, (float)((high - low) / 255), (float)low);
    return 0;
}

static int plan_autocontrast(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    const stretch flavour = (stretch)leat__use_arg(use, "flavour")->i;
    const bool keras = flavour == STRETCH_KERAS;
    LEAT_TRY(leat__plan_find_picture(planner, use, keras ? LEAT_PICTURES_POINT : LEAT_PICTURES_U8, &at, err));
    leat__point_plan point = {.op.arg = {chance(use), flavour},
                              .n_points = keras ? 5 : 1,
                              .dtype = keras ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8,
                              .measured = true,
                              .draw = draw_autocontrast};
    LEAT_TRY(leat__plan_read_range(use, "range", point.op.arg + 2, err));
    if (!(point.op.arg[3] > point.op.arg[2]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "range must be two numbers, such as 0,255 or 0,1");
    return leat__plan_add_point(planner, use, at, &point, err);
}

static void solve_equalize(leat__pass *pass, int i, const leat__stats *stats) {
    uint8_t(*table)[256] = tables_at(pass, i);
    for (int c = 0; c < stats->channels; c++) {
        if (pass->point[i].given[0] == STRETCH_KERAS)
            leat__table_keras_equalize(table[c], stats->histogram[c]);
        else leat__table_equalize(table[c], stats->histogram[c]);
    }
}

static int draw_equalize(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const double given[4] = {op->arg[1]};
    LEAT_TRY(check_channels(d, err));
    if (applies(d, op->arg[0]))
        leat__pass_add_measured(pass, LEAT_STATS_HISTOGRAM, 1, true, solve_equalize, given);
    return 0;
}

static int plan_equalize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    const leat__point_plan point = {.op.arg = {chance(use), (double)leat__use_arg(use, "flavour")->i},
                                    .n_points = 1,
                                    .dtype = LEAT_DTYPE_U8,
                                    .measured = true,
                                    .draw = draw_equalize};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* --------------------------------------------------------------------------------------- channel shift */

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

/* ------------------------------------------------------------------------------------------- the table */

#define CHANCE \
    { .name = "p", .kind = LEAT_ARG_NUMBER, .fallback = "0.5", .max = 1, .help = "how likely" }
#define CONTRAST_FLAVOUR                                                                                    \
    {                                                                                                       \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|keras|pil", .named = true, \
        .help = "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"        \
    }
#define RANGE                                                                       \
    {                                                                               \
        .name = "range", .kind = LEAT_ARG_TEXT, .fallback = "0,255", .named = true, \
        .help = "flavour=keras: the values that pictures have, low,high"            \
    }
#define STRETCH_FLAVOUR                                                                            \
    {                                                                                              \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "pil", .words = "pil|keras|torch",   \
        .named = true, .help = "pil as Pillow; keras gives f32; torch as torchvision does tensors" \
    }
#define EQUALIZE_FLAVOUR                                                                                  \
    {                                                                                                     \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "pil", .words = "pil|keras", .named = true, \
        .help = "whose arithmetic"                                                                        \
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
    {.name = "adjust_contrast",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves values away from their mean, or toward it with a factor below 1.",
     .like = "tf.image.adjust_contrast, torchvision functional.adjust_contrast, PIL.ImageEnhance.Contrast",
     .plan = plan_adjust_contrast,
     .arg =
         {{.name = "factor", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "1 changes nothing"},
          CONTRAST_FLAVOUR,
          RANGE,
          LEAT_ARG_FIELD_NAMED}},
    {.name = "random_contrast",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "tf.image.random_contrast, tf.image.stateless_random_contrast, keras.layers.RandomContrast, "
             "torchvision ColorJitter(contrast)",
     .random = true,
     .plan = plan_random_contrast,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "smallest factor"},
             {.name = "upper",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "",
              .max = 1e6,
              .help = "largest factor; with flavour=keras they are 1 - lower and 1 + upper"},
             CONTRAST_FLAVOUR,
             RANGE,
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
     .like = "keras.layers.RandomInvert, torchvision RandomInvert",
     .random = true,
     .plan = plan_invert,
     .arg = {CHANCE, MAX, LEAT_ARG_FIELD_NAMED}},
    {.name = "posterize",
     .kind = LEAT_OP_IMAGE,
     .help = "Keeps the highest bits of u8 values.",
     .like = "torchvision functional.posterize, PIL.ImageOps.posterize",
     .plan = plan_posterize,
     .arg = {BITS, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_posterize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance, and with a drawn number of bits if two are given.",
     .like = "keras.layers.RandomPosterization, torchvision RandomPosterize",
     .random = true,
     .plan = plan_posterize,
     .arg = {BITS, CHANCE, LEAT_ARG_FIELD_NAMED}},
    {.name = "solarize",
     .kind = LEAT_OP_IMAGE,
     .help = "Inverts u8 values that are not below a threshold.",
     .like = "keras.layers.Solarization, torchvision functional.solarize, PIL.ImageOps.solarize",
     .plan = plan_solarize,
     .arg = {THRESHOLD, ADDITION, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_solarize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance, and with drawn numbers where two are given.",
     .like = "keras.layers.Solarization, torchvision RandomSolarize",
     .random = true,
     .plan = plan_solarize,
     .arg = {THRESHOLD, CHANCE, ADDITION, LEAT_ARG_FIELD_NAMED}},
    {.name = "autocontrast",
     .kind = LEAT_OP_IMAGE,
     .help = "Stretches each channel from its smallest and largest value to 0 and 255.",
     .like = "keras.layers.AutoContrast, torchvision functional.autocontrast, PIL.ImageOps.autocontrast",
     .plan = plan_autocontrast,
     .arg = {STRETCH_FLAVOUR, RANGE, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_autocontrast",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance.",
     .like = "torchvision RandomAutocontrast",
     .random = true,
     .plan = plan_autocontrast,
     .arg = {CHANCE, STRETCH_FLAVOUR, RANGE, LEAT_ARG_FIELD_NAMED}},
    {.name = "equalize",
     .kind = LEAT_OP_IMAGE,
     .help = "Spreads the u8 values of each channel so that all are about equally frequent.",
     .like = "keras.layers.Equalization, torchvision functional.equalize, PIL.ImageOps.equalize",
     .plan = plan_equalize,
     .arg = {EQUALIZE_FLAVOUR, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_equalize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance.",
     .like = "torchvision RandomEqualize",
     .random = true,
     .plan = plan_equalize,
     .arg = {CHANCE, EQUALIZE_FLAVOUR, LEAT_ARG_FIELD_NAMED}},
    {.name = "channel_shift",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds one drawn number to all values and clips them to the range the picture had, as f32.",
     .like = "keras ImageDataGenerator(channel_shift_range)",
     .random = true,
     .plan = plan_channel_shift,
     .arg = {{.name = "range", .kind = LEAT_ARG_TEXT, .help = "largest change, or low,high"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
