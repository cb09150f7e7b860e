/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness and contrast, autocontrast and equalize too. Contrast knows the whole picture: the mean or the histogram of
 * its channels. */
#include "image/colour/table.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ----------------------------------------------------------------------------------------- brightness */

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

/* arg: delta, flavour, range from, to. */
static int draw_given_brightness(const leat__image_op *op, leat__drawing *d, leat__pass *pass,
                                 leat_error *err) {
    (void)err;
    leat__colour_add_brightness(d, pass, (leat__colour)op->arg[1], op->arg[0], op->arg + 2);
    return 0;
}

static int draw_brightness(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const float delta = (float)leat__draw_between(d, -op->arg[0], op->arg[0]);
    leat__params_add(d, "delta", (double)delta);
    leat__colour_add_brightness(d, pass, (leat__colour)op->arg[1], (double)delta, op->arg + 2);
    return 0;
}

static int add_brightness(leat__planner *planner, const leat__use *use, double delta, leat__draw_point *draw,
                          leat_error *err) {
    int at;
    leat__colour flavour;
    leat__point_plan point = {.n_points = LEAT_COLOUR_POINTS, .draw = draw};
    LEAT_TRY(leat__colour_read(planner, use, false, &at, &flavour, point.op.arg + 2, err));
    point.op.arg[0] = delta;
    point.op.arg[1] = flavour;
    point.dtype = flavour == LEAT_COLOUR_KERAS ? LEAT_DTYPE_F32 : leat__plan_picture(planner, at)->dtype;
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int plan_adjust_brightness(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double delta = leat__use_arg(use, "delta")->x;
    if (delta < 0 && leat__use_arg(use, "flavour")->i == LEAT_COLOUR_PIL)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "with flavour=pil delta is a factor, 0 or above");
    return add_brightness(planner, use, delta, draw_given_brightness, err);
}

static int plan_random_brightness(leat__planner *planner, const leat__use *use, leat_error *err) {
    return add_brightness(planner, use, leat__use_arg(use, "max_delta")->x, draw_brightness, err);
}

/* ------------------------------------------------------------------------------------------- contrast */

/* One table a channel, so the channels must be kept apart. */
static int check_channels(const leat__drawing *d, leat_error *err) {
    if (d->channels <= 4) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE, "%s works on up to 4 channels, the picture has %d", d->op->name,
                      d->channels);
}

static uint8_t (*tables_at(leat__pass *pass, int i))[256] {
    return pass->table[pass->point[i].as.table.number];
}

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

int leat__tone_add_contrast(leat__drawing *d, leat__pass *pass, leat__colour flavour, double factor,
                            const double range[2], leat_error *err) {
    const double given[4] = {factor};
    LEAT_TRY(check_channels(d, err));
    leat__draw_note(d, (float)factor);
    if (flavour == LEAT_COLOUR_PIL) {
        leat__pass_add_measured(pass, LEAT_STATS_GRAY, 1, true, solve_pil_contrast, given);
    } else if (flavour == LEAT_COLOUR_TF && d->dtype == LEAT_DTYPE_U8) {
        leat__pass_add_measured(pass, LEAT_STATS_SUM, 1, true, solve_contrast_table, given);
    } else {
        leat__pass_add_measured(pass, LEAT_STATS_SUM, 2, false, solve_contrast, given);
        if (flavour == LEAT_COLOUR_KERAS) leat__pass_add_clamp(pass, (float)range[0], (float)range[1]);
    }
    return 0;
}

enum { LOW, HIGH, FLAVOUR, DRAWN, RANGE_LOW, RANGE_HIGH }; /* of leat__image_op.arg */

static int draw_contrast(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const double factor = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (op->arg[DRAWN] != 0) leat__params_add(d, "factor", factor);
    return leat__tone_add_contrast(d, pass, (leat__colour)op->arg[FLAVOUR], factor, op->arg + RANGE_LOW, err);
}

static int add_contrast(leat__planner *planner, const leat__use *use, double low, double high,
                        leat_error *err) {
    int at;
    const leat__colour flavour = (leat__colour)leat__use_arg(use, "flavour")->i;
    LEAT_TRY(leat__plan_find_picture(
        planner, use, flavour == LEAT_COLOUR_PIL ? LEAT_PICTURES_U8 : LEAT_PICTURES_POINT, &at, err));
    leat__point_plan point = {
        .op.arg = {[LOW] = low, [HIGH] = high, [FLAVOUR] = flavour, [DRAWN] = use->op->random},
        .dtype = leat__plan_picture(planner, at)->dtype,
        .measured = true,
        .draw = draw_contrast};
    if (flavour == LEAT_COLOUR_KERAS) {
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
    const bool keras = leat__use_arg(use, "flavour")->i == LEAT_COLOUR_KERAS;
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

/* ----------------------------------------------------------------------------- autocontrast, equalize */

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
    if (!leat__tone_applies(d, op->arg[0])) return 0;
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
    leat__point_plan point = {.op.arg = {leat__tone_chance(use), flavour},
                              .n_points = keras ? 5 : 1,
                              .dtype = keras ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8,
                              .measured = true,
                              .draw = draw_autocontrast};
    LEAT_TRY(leat__read_bounds(use, point.op.arg + 2, err));
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
    if (leat__tone_applies(d, op->arg[0]))
        leat__pass_add_measured(pass, LEAT_STATS_HISTOGRAM, 1, true, solve_equalize, given);
    return 0;
}

static int plan_equalize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    const leat__point_plan point = {
        .op.arg = {leat__tone_chance(use), (double)leat__use_arg(use, "flavour")->i},
        .n_points = 1,
        .dtype = LEAT_DTYPE_U8,
        .measured = true,
        .draw = draw_equalize};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define CONTRAST_FLAVOUR                                                                                    \
    {                                                                                                       \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "tf", .words = "tf|keras|pil", .named = true, \
        .help = "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"        \
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

const leat__op leat__ops_brightness_contrast[] = {
    {.name = "adjust_brightness",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds a number to all values; u8 counts as 0 to 1 and is clipped.",
     .like =
         "tf.image.adjust_brightness, torchvision functional.adjust_brightness, PIL.ImageEnhance.Brightness",
     .on_device = 1,
     .plan = plan_adjust_brightness,
     .arg = {{.name = "delta",
              .kind = LEAT_ARG_NUMBER,
              .min = -1e6,
              .max = 1e6,
              .help = "what is added; keras: a share of the range; pil: a factor"},
             LEAT_ARG_COLOUR_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_brightness",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is "
             "clipped.",
     .like =
         "tf.image.random_brightness, tf.image.stateless_random_brightness, keras.layers.RandomBrightness",
     .random = true,
     .on_device = 1,
     .plan = plan_random_brightness,
     .arg = {{.name = "max_delta", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "largest change"},
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "tf",
              .words = "tf|keras",
              .named = true,
              .help = "tf keeps the type; keras gives f32, changes by a share of the range and clips"},
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_contrast",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves values away from their mean, or toward it with a factor below 1.",
     .like = "tf.image.adjust_contrast, torchvision functional.adjust_contrast, PIL.ImageEnhance.Contrast",
     .on_device = 1,
     .plan = plan_adjust_contrast,
     .arg =
         {{.name = "factor", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "1 changes nothing"},
          CONTRAST_FLAVOUR,
          LEAT_ARG_VALUE_RANGE,
          LEAT_ARG_FIELD_NAMED}},
    {.name = "random_contrast",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "tf.image.random_contrast, tf.image.stateless_random_contrast, keras.layers.RandomContrast, "
             "torchvision ColorJitter(contrast)",
     .random = true,
     .on_device = 1,
     .plan = plan_random_contrast,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "smallest factor"},
             {.name = "upper",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "",
              .max = 1e6,
              .help = "largest factor; with flavour=keras they are 1 - lower and 1 + upper"},
             CONTRAST_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "autocontrast",
     .kind = LEAT_OP_IMAGE,
     .help = "Stretches each channel from its smallest and largest value to 0 and 255.",
     .like = "keras.layers.AutoContrast, torchvision functional.autocontrast, PIL.ImageOps.autocontrast",
     .plan = plan_autocontrast,
     .arg = {STRETCH_FLAVOUR, LEAT_ARG_VALUE_RANGE, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_autocontrast",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance.",
     .like = "torchvision RandomAutocontrast",
     .random = true,
     .plan = plan_autocontrast,
     .arg = {LEAT_ARG_CHANCE("0.5"), STRETCH_FLAVOUR, LEAT_ARG_VALUE_RANGE, LEAT_ARG_FIELD_NAMED}},
    {.name = "equalize",
     .kind = LEAT_OP_IMAGE,
     .help = "Spreads the u8 values of each channel so that all are about equally frequent.",
     .like = "keras.layers.Equalization, torchvision functional.equalize, PIL.ImageOps.equalize",
     .plan = plan_equalize,
     .arg = {EQUALIZE_FLAVOUR, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_equalize",
     .kind = LEAT_OP_IMAGE,
     .help = "The same, by chance.",
     .like = "torchvision RandomEqualize, albumentations Equalize",
     .random = true,
     .plan = plan_equalize,
     .arg = {LEAT_ARG_CHANCE("0.5"), EQUALIZE_FLAVOUR, LEAT_ARG_FIELD_NAMED}},
    {0},
};
