/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' ImageDataGenerator: one matrix and one sampling for everything that moves pixels, then channel
 * shift, flips, brightness, and standardisation, in its order.
 *
 * Flavours. In all of them content turns about the middle and the factors of zoom are those of the input.
 *   keras3   what Keras does since 2.9. The two axes of the matrix are exchanged, and the shifts and the
 *            middle with them: height_shift moves to the side, width_shift up and down, and what is not
 *            square turns about (height / 2, width / 2) instead of (width / 2, height / 2).
 *   keras28  what it did before: angles the other way round, and the middle one pixel too far.
 *   fixed    keras3 with the middle in the middle, and shifts that go where their names say. */
#include "base/maths.h"
#include "image/colour/table.h"
#include "ops/ops_shared.h"

enum { KERAS3, KERAS28, FIXED };
/* Draws of the parts, which share the operation's number: each begins at its own. */
enum { DRAW_FLIP_X = 16, DRAW_FLIP_Y, DRAW_CHANNELS, DRAW_BRIGHTNESS };

#define SHIFTS 16
typedef struct shift { /* a number or a list, as np.random.choice takes it */
    int n;             /* 0 = none                                        */
    double x[SHIFTS];
    bool whole; /* one whole number: 0 to x - 1 pixels             */
    bool share; /* of the side                                     */
} shift;

typedef struct idg_plan {
    leat__sampling sampling;
    int flavour;
    double rotation[2], shear[2], zoom[2];
    shift width, height;
    bool flip_x, flip_y;
} idg_plan;

/* ------------------------------------------------------------------------------------------ the matrix */

static double draw_shift(leat__drawing *d, const shift *s, int side) {
    double x;
    if (s->n == 0) return 0;
    if (s->n == 1 && !s->whole) {
        x = leat__draw_between(d, -s->x[0], s->x[0]);
    } else {
        x = s->whole ? (double)leat__rng_below(&d->rng, (uint64_t)s->x[0])
                     : s->x[leat__rng_below(&d->rng, (uint64_t)s->n)];
        if (leat__rng_below(&d->rng, 2) == 0) x = -x;
    }
    return s->share ? x * side : x;
}

/* For index 0 and index 1 of Keras' arrays, whatever they stand for. */
static void make_matrix(double m[9], double theta, double t0, double t1, double shear, double z0, double z1,
                        double c0, double c1) {
    const double turn = theta * (LEAT_PI / 180), slant = shear * (LEAT_PI / 180);
    const double c = leat__cos(turn), s = leat__sin(turn);
    const double rotation[9] = {c, -s, 0, s, c, 0, 0, 0, 1}, moved[9] = {1, 0, t0, 0, 1, t1, 0, 0, 1};
    const double slanted[9] = {1, -leat__sin(slant), 0, 0, leat__cos(slant), 0, 0, 0, 1};
    const double zoomed[9] = {z0, 0, 0, 0, z1, 0, 0, 0, 1};
    leat__matrix_multiply(m, rotation, moved);
    leat__matrix_multiply(m, m, slanted);
    leat__matrix_multiply(m, m, zoomed);
    leat__matrix_centre(m, c0, c1);
}

static void exchange_axes(double m[9]) {
    const double n[9] = {m[4], m[3], m[5], m[1], m[0], m[2], m[7], m[6], m[8]};
    memcpy(m, n, sizeof n);
}

static int draw_matrix(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                       leat_error *err) {
    const idg_plan *plan = op->more;
    LEAT_TRY(leat__sampling_begin(&plan->sampling, d, warp, err));
    const double theta = leat__draw_between(d, plan->rotation[0], plan->rotation[1]);
    const double tx = draw_shift(d, &plan->height, d->height), ty = draw_shift(d, &plan->width, d->width);
    const double shear = leat__draw_between(d, plan->shear[0], plan->shear[1]);
    const double zx = leat__draw_between(d, plan->zoom[0], plan->zoom[1]);
    const double zy = leat__draw_between(d, plan->zoom[0], plan->zoom[1]);
    const double h = d->height / 2.0, w = d->width / 2.0;
    leat__params_add(d, "theta", theta);
    leat__params_add(d, "tx", tx);
    leat__params_add(d, "ty", ty);
    leat__params_add(d, "shear", shear);
    leat__params_add(d, "zx", zx);
    leat__params_add(d, "zy", zy);
    if (plan->flavour == KERAS3) {
        make_matrix(warp->m, theta, tx, ty, shear, zx, zy, h - 0.5, w - 0.5);
    } else if (plan->flavour == KERAS28) {
        make_matrix(warp->m, theta, tx, ty, shear, zx, zy, h + 0.5, w + 0.5);
        exchange_axes(warp->m); /* index 0 is the row */
    } else {
        make_matrix(warp->m, theta, ty, tx, shear, zx, zy, w - 0.5, h - 0.5);
    }
    d->rng.draw = DRAW_FLIP_X;
    pass->flip_x = plan->flip_x && leat__draw_chance(d, 0.5);
    d->rng.draw = DRAW_FLIP_Y;
    pass->flip_y = plan->flip_y && leat__draw_chance(d, 0.5);
    if (plan->flip_x) leat__params_add(d, "flip_horizontal", pass->flip_x);
    if (plan->flip_y) leat__params_add(d, "flip_vertical", pass->flip_y);
    return 0;
}

static int read_shift(const leat__use *use, const char *name, shift *out, leat_error *err) {
    int64_t whole;
    LEAT_TRY(leat__plan_read_numbers(use, name, out->x, SHIFTS, &out->n, err));
    double most = out->n ? out->x[0] : 0;
    for (int i = 1; i < out->n; i++) most = LEAT_MAX(most, out->x[i]);
    out->whole = out->n == 1 && leat__parse_int(leat__use_arg(use, name)->text, &whole);
    out->share = most < 1;
    if (out->n == 1 && out->x[0] == 0) out->n = 0;
    for (int i = 0; i < out->n; i++)
        if (!(out->x[i] >= (out->n > 1 ? -65535 : 0) && out->x[i] <= 65535))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "%s must be a share below 1, a number of pixels, or a list of them", name);
    return 0;
}

static int add_moves(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    static const int orders[] = {1, 0, 3};
    idg_plan plan = {.sampling = {.rule = LEAT_WARP_SCIPY, .order = orders[leat__use_arg(use, "order")->i]},
                     .flavour = (int)leat__use_arg(use, "flavour")->i,
                     .flip_x = leat__use_arg(use, "horizontal_flip")->i != 0,
                     .flip_y = leat__use_arg(use, "vertical_flip")->i != 0};
    LEAT_TRY(leat__sampling_read(planner, use, at, "fill", "cval", &plan.sampling, err));
    LEAT_TRY(leat__range_read(use, "rotation", 0, -360, 360, plan.rotation, err));
    LEAT_TRY(leat__range_read(use, "shear", 0, -360, 360, plan.shear, err));
    LEAT_TRY(leat__range_read(use, "zoom", 1, -99, 100, plan.zoom, err));
    LEAT_TRY(read_shift(use, "width_shift", &plan.width, err));
    LEAT_TRY(read_shift(use, "height_shift", &plan.height, err));
    const bool moves = plan.rotation[0] != 0 || plan.rotation[1] != 0 || plan.shear[0] != 0 ||
                       plan.shear[1] != 0 || plan.zoom[0] != 1 || plan.zoom[1] != 1 || plan.width.n ||
                       plan.height.n;
    if (moves) {
        const leat__warp_plan warp = {.op.more = leat__plan_keep(planner, &plan, sizeof plan, err),
                                      .order = plan.sampling.order,
                                      .draw = draw_matrix};
        return warp.op.more ? leat__plan_add_warp(planner, use, at, &warp, err) : LEAT_ERR_MEMORY;
    }
    const leat__flip flips[2] = {{.op.first_draw = DRAW_FLIP_X, .x = true, .probability = 0.5},
                                 {.op.first_draw = DRAW_FLIP_Y, .y = true, .probability = 0.5}};
    if (plan.flip_x) LEAT_TRY(leat__plan_add_flip(planner, use, at, &flips[0], err));
    if (plan.flip_y) LEAT_TRY(leat__plan_add_flip(planner, use, at, &flips[1], err));
    return 0;
}

/* --------------------------------------------------------------------------------- channels, brightness */

static int draw_channel_shift(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const double x = leat__draw_between(d, op->arg[0], op->arg[1]);
    leat__params_add(d, "channel_shift", x);
    leat__tone_add_shift(pass, x);
    return 0;
}

static int add_channel_shift(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    leat__point_plan point = {.op.first_draw = DRAW_CHANNELS,
                              .n_points = LEAT_TONE_POINTS,
                              .dtype = LEAT_DTYPE_F32,
                              .measured = true,
                              .draw = draw_channel_shift};
    LEAT_TRY(leat__range_read(use, "channel_shift", 0, -1e9, 1e9, point.op.arg, err));
    if (point.op.arg[0] == 0 && point.op.arg[1] == 0) return 0;
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* Values that are not from 0 to 255 are stretched to that before they become bytes, and back afterwards. */
static void solve_stretch(leat__pass *pass, int i, const leat__stats *stats) {
    float low = stats->min[0], high = stats->max[0];
    for (int c = 1; c < leat__stats_apart(stats->channels); c++) {
        low = LEAT_MIN(low, stats->min[c]);
        high = LEAT_MAX(high, stats->max[c]);
    }
    if (!(low < 0 || high > 255)) return;
    const float span = high - low;
    float stretch = span > 0 ? (float)(255 / (double)span) : 1;
    if (span > 0 && span * stretch < 255)
        stretch *= 1 + 0x1p-23f; /* the largest value must not be cut to 254 */
    for (int c = 0; c < 4; c++) {
        pass->point[i].as.affine.add[c] = -low;
        pass->point[i + 1].as.affine.mul[c] = stretch;
        pass->point[i + 4].as.affine.mul[c] = (float)((double)span / 255);
        pass->point[i + 4].as.affine.add[c] = low;
    }
}

/* Through the bytes of a Pillow image: fractions are lost before and after. */
static int draw_brightness(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    uint8_t table[256];
    const bool stretch = op->arg[2] != 0;
    (void)err;
    const double x = leat__draw_between(d, op->arg[0], op->arg[1]);
    leat__params_add(d, "brightness", x);
    leat__table_pil_brightness(table, (float)x);
    if (stretch) leat__pass_add_measured(pass, LEAT_STATS_RANGE, 2, false, solve_stretch, NULL);
    if (d->dtype != LEAT_DTYPE_U8 || stretch) leat__pass_add_to_u8(pass);
    leat__pass_add_table(pass, table);
    leat__pass_add_scale(pass, 1.0f, -0.0f);
    return 0;
}

static int add_brightness(leat__planner *planner, const leat__use *use, int at, int from, leat_error *err) {
    if (!leat__use_arg(use, "brightness")->given) return 0;
    leat__point_plan point = {
        .op.first_draw = DRAW_BRIGHTNESS, .n_points = 5, .dtype = LEAT_DTYPE_F32, .draw = draw_brightness};
    LEAT_TRY(leat__plan_read_range(use, "brightness", point.op.arg, err));
    if (!(point.op.arg[0] >= 0 && point.op.arg[1] <= 1e6))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "brightness must be low,high, both at least 0");
    /* A picture of bytes stays within them unless a cubic spline or a fill goes beyond. */
    const leat__arg_value *order = leat__use_arg(use, "order");
    point.measured = from != LEAT_DTYPE_U8 || order->i == 2 || leat__use_arg(use, "cval")->given;
    point.op.arg[2] = point.measured;
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* -------------------------------------------------------------------------------------- standardisation */

static int draw_rescale(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)d, (void)err;
    leat__pass_add_scale(pass, (float)op->arg[0], -0.0f);
    return 0;
}

static int draw_samplewise(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)d, (void)err;
    leat__tone_add_samplewise(pass, op->arg[0] != 0);
    return 0;
}

typedef struct features {
    leat__affine centred, scaled;
    int n;
} features;

static int draw_features(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const features *f = op->more;
    if (f->n > 1 && f->n != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d means or stds, the picture has %d channels",
                          op->name, f->n, d->channels);
    leat__pass_add_affine(pass, &f->centred);
    leat__pass_add_affine(pass, &f->scaled);
    return 0;
}

static int add_features(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    double mean[4] = {0}, std[4];
    int n_mean, n_std;
    LEAT_TRY(leat__plan_read_numbers(use, "mean", mean, 4, &n_mean, err));
    LEAT_TRY(leat__plan_read_numbers(use, "std", std, 4, &n_std, err));
    if (!n_mean && !n_std) return 0;
    features f = {.n = LEAT_MAX(n_mean, n_std)};
    if ((n_mean > 1 && n_mean != f.n) || (n_std > 1 && n_std != f.n))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "mean has %d numbers and std %d", n_mean, n_std);
    for (int c = 0; c < 4; c++) {
        const float m = (float)mean[c < n_mean ? c : 0],
                    s = n_std ? (float)std[c < n_std ? c : 0] + 1e-6f : 1;
        if (!(s > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "std must not be below 0");
        f.centred.mul[c] = 1, f.centred.add[c] = -m;
        f.scaled.mul[c] = (float)(1 / (double)s), f.scaled.add[c] = -0.0f;
    }
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, &f, sizeof f, err),
                                    .n_points = 2,
                                    .dtype = LEAT_DTYPE_F32,
                                    .draw = draw_features};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

static int add_standards(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    const double rescale = leat__use_arg(use, "rescale")->x; /* 0 means none, as there */
    static const char *const ranges[] = {"rescale", "mean", "std", "samplewise_std", "samplewise_center"};
    for (size_t i = 0; i < LEAT_COUNT(ranges); i++)
        planner->field[at].scaled |= leat__use_arg(use, ranges[i])->given;
    if (rescale != 0 || leat__plan_picture(planner, at)->dtype != LEAT_DTYPE_F32) {
        const leat__point_plan point = {.op.arg = {rescale != 0 ? rescale : 1},
                                        .n_points = 1,
                                        .dtype = LEAT_DTYPE_F32,
                                        .draw = draw_rescale};
        LEAT_TRY(leat__plan_add_point(planner, use, at, &point, err));
    }
    const bool spread = leat__use_arg(use, "samplewise_std")->i != 0;
    if (spread || leat__use_arg(use, "samplewise_center")->i) {
        const leat__point_plan point = {.op.arg = {spread},
                                        .n_points = LEAT_TONE_POINTS,
                                        .dtype = LEAT_DTYPE_F32,
                                        .measured = true,
                                        .draw = draw_samplewise};
        LEAT_TRY(leat__plan_add_point(planner, use, at, &point, err));
    }
    return add_features(planner, use, at, err);
}

static int plan_idg(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const int from = leat__plan_picture(planner, at)->dtype;
    LEAT_TRY(add_moves(planner, use, at, err));
    LEAT_TRY(add_channel_shift(planner, use, at, err));
    LEAT_TRY(add_brightness(planner, use, at, from, err));
    return add_standards(planner, use, at, err);
}

/* ------------------------------------------------------------------------------------------- the table */

#define FLAG(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_BOOL, .fallback = "false", .named = true, .help = help_ }

/* The generator calls rotation rotation_range. */
#define KERAS_RANGE(name_, fallback_, help_)                                                                \
    {                                                                                                       \
        .name = name_, .also = name_ "_range", .kind = LEAT_ARG_TEXT, .fallback = fallback_, .named = true, \
        .help = help_                                                                                       \
    }

const leat__op leat__ops_image_data_generator[] = {
    {.name = "image_data_generator",
     .kind = LEAT_OP_IMAGE,
     .help =
         "All that Keras' ImageDataGenerator does to a picture, in its order, with one sampling; gives f32.",
     .like = "keras ImageDataGenerator",
     .random = true,
     .plan = plan_idg,
     .arg = {KERAS_RANGE("rotation", "0", "degrees: 20 is -20 to 20; or low,high"),
             KERAS_RANGE("width_shift", "0",
                         "share of the width below 1, else pixels; or a list to choose from"),
             KERAS_RANGE("height_shift", "0", "the same for the height"),
             KERAS_RANGE("shear", "0", "degrees: 10 is -10 to 10; or low,high"),
             KERAS_RANGE("zoom", "0", "0.2 is 0.8 to 1.2 for each side, above 1 shrinks; or low,high"),
             KERAS_RANGE("channel_shift", "0", "added to all channels, clipped to the picture's own range"),
             FLAG("horizontal_flip", "mirror half of the pictures"),
             FLAG("vertical_flip", "turn half of them upside down"),
             KERAS_RANGE("brightness", "", "factor low,high, by way of 8-bit values"),
             LEAT_ARG_FILL("nearest"),
             LEAT_ARG_FILL_VALUE("cval"),
             {.name = "order",
              .also = "interpolation_order",
              .kind = LEAT_ARG_WORD,
              .fallback = "1",
              .words = "1|0|3",
              .named = true,
              .help = "interpolation_order: 0 nearest, 1 linear, 3 cubic"},
             {.name = "rescale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .min = -1e9,
              .max = 1e9,
              .named = true,
              .help = "factor, 0 for none"},
             FLAG("samplewise_center", "minus the picture's mean"),
             {.name = "samplewise_std",
              .also = "samplewise_std_normalization",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "divided by the picture's deviation, and centred"},
             LEAT_ARG_RANGE_NAMED("mean", "", "featurewise: subtracted, one number or one a channel"),
             LEAT_ARG_RANGE_NAMED("std", "", "featurewise: divided by it + 1e-6"),
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "keras3",
              .words = "keras3|keras28|fixed",
              .named = true,
              .help = "which axes and which middle, see the reference"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
