/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of Keras 3 that move pixels. Each resamples by itself, as there; `affine` (ops_affine.c) is the
 * way to have several in one sampling. Matrices are made in float, in the order of the original, so that a
 * picture has the bits that TensorFlow gives it wherever a cosine is not in the way. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* --------------------------------------------------------------------------------- shared with others */

int leat__sampling_read(leat__planner *planner, const leat__use *use, int at, const char *fill_name,
                        const char *value_name, leat__sampling *sampling, leat_error *err) {
    double value[4];
    sampling->fill = fill_name ? (leat__warp_fill)leat__use_arg(use, fill_name)->i : LEAT_WARP_CONSTANT;
    LEAT_TRY(leat__plan_read_numbers(use, value_name, value, 4, &sampling->n_values, err));
    if (sampling->n_values < 1)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s must be one number, or one a channel",
                               value_name);
    const leat_field *info = leat__plan_picture(planner, at);
    const bool bytes = sampling->order == 0 && info->dtype == LEAT_DTYPE_U8;
    for (int c = 0; c < 4; c++) {
        const double x = value[sampling->n_values > 1 ? LEAT_MIN(c, sampling->n_values - 1) : 0];
        if (!(x >= -1e30 && x <= 1e30))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s must be numbers of less than 1e30",
                                   value_name);
        if (bytes && !(x >= 0 && x <= 255 && (double)(int)x == x))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "%s=%g is no value of u8: write cast %s f32 before, or take 0 to 255",
                                   value_name, x, info->name);
        sampling->value[c] = (float)x;
    }
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (sampling->n_values > 1 && channels >= 0 && channels != sampling->n_values)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%d numbers of %s for a picture of %" PRId64 " channels", sampling->n_values,
                               value_name, channels);
    return 0;
}

int leat__sampling_begin(const leat__sampling *sampling, const leat__drawing *d, leat__warp *warp,
                         leat_error *err) {
    if (sampling->n_values > 1 && sampling->n_values != d->channels && !d->op->mask)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d fill values, the picture has %d channels",
                          d->op->name, sampling->n_values, d->channels);
    warp->rule = sampling->rule;
    warp->order = sampling->order;
    warp->fill = sampling->fill;
    memcpy(warp->value, sampling->value, sizeof warp->value);
    leat__matrix_unit(warp->m);
    return 0;
}

int leat__range_read(const leat__use *use, const char *name, double middle, double least, double most,
                     double out[2], leat_error *err) {
    int n;
    LEAT_TRY(leat__plan_read_numbers(use, name, out, 2, &n, err));
    if (n == 1) {
        const double x = out[0] < 0 ? -out[0] : out[0];
        out[0] = LEAT_MAX(middle - x, least);
        out[1] = middle + x;
    }
    if (n == 0 || !(out[0] <= out[1] && out[0] >= least && out[1] <= most))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s must be one number, or two with the smaller one first, within %g and %g",
                               name, least, most);
    return 0;
}

int leat__warp_add(leat__planner *planner, const leat__use *use, leat__warp_rule rule, const char *fill,
                   leat__warp_plan plan, leat_error *err) {
    int at;
    leat__sampling sampling = {.rule = rule, .order = leat__use_arg(use, "interpolation")->i ? 1 : 0};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    LEAT_TRY(leat__sampling_read(planner, use, at, fill, "value", &sampling, err));
    plan.order = sampling.order;
    plan.op.more = leat__plan_keep(planner, &sampling, sizeof sampling, err);
    return plan.op.more ? leat__plan_add_warp(planner, use, at, &plan, err) : LEAT_ERR_MEMORY;
}

void leat__warp_set(leat__warp *warp, float a0, float a1, float a2, float b0, float b1, float b2) {
    const double m[9] = {a0, a1, a2, b0, b1, b2, 0, 0, 1};
    memcpy(warp->m, m, sizeof m);
}

/* ----------------------------------------------------------------------------------------- the layers */

static int draw_zoom(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                     leat_error *err) {
    (void)pass;
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const float zy = (float)leat__draw_between(d, 1 + op->arg[0], 1 + op->arg[1]);
    const float zx = op->arg[4] != 0 ? (float)leat__draw_between(d, 1 + op->arg[2], 1 + op->arg[3]) : zy;
    leat__params_add(d, "height_zoom", (double)zy);
    leat__params_add(d, "width_zoom", (double)zx);
    const float x = (float)(d->width - 1) / 2.0f, y = (float)(d->height - 1) / 2.0f;
    leat__warp_set(warp, zx, 0, x * (1.0f - zx), 0, zy, y * (1.0f - zy));
    return 0;
}

static int plan_zoom(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_zoom};
    const double least = -0.99; /* Keras: more than -1, where nothing would be left */
    LEAT_TRY(leat__range_read(use, "height_factor", 0, least, 1, plan.op.arg, err));
    plan.op.arg[4] = leat__use_arg(use, "width_factor")->given;
    if (plan.op.arg[4] != 0)
        LEAT_TRY(leat__range_read(use, "width_factor", 0, least, 1, plan.op.arg + 2, err));
    return leat__warp_add(planner, use, LEAT_WARP_TF, "fill", plan, err);
}

static int draw_translation(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                            leat_error *err) {
    (void)pass;
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const float dy = (float)leat__draw_between(d, op->arg[0], op->arg[1]) * (float)d->height;
    const float dx = (float)leat__draw_between(d, op->arg[2], op->arg[3]) * (float)d->width;
    leat__params_add(d, "y", (double)dy);
    leat__params_add(d, "x", (double)dx);
    leat__warp_set(warp, 1, 0, -dx, 0, 1, -dy);
    return 0;
}

static int plan_translation(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_translation};
    LEAT_TRY(leat__range_read(use, "height_factor", 0, -1, 1, plan.op.arg, err));
    LEAT_TRY(leat__range_read(use, "width_factor", 0, -1, 1, plan.op.arg + 2, err));
    return leat__warp_add(planner, use, LEAT_WARP_TF, "fill", plan, err);
}

/* About the upper left corner, and with one sign for both directions: so does Keras. */
static int draw_shear(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                      leat_error *err) {
    (void)pass;
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const float sign = leat__rng_unit(&d->rng) > 0.5 ? -1 : 1;
    const float sy = (float)leat__draw_between(d, op->arg[2], op->arg[3]) * sign;
    const float sx = (float)leat__draw_between(d, op->arg[0], op->arg[1]) * sign;
    leat__params_add(d, "x", (double)sx);
    leat__params_add(d, "y", (double)sy);
    leat__warp_set(warp, 1, sx, 0, sy, 1, 0);
    return 0;
}

/* One number is a range around 0, two are as they stand; none may be negative. */
static int read_shear(const leat__use *use, const char *name, double out[2], leat_error *err) {
    LEAT_TRY(leat__range_read(use, name, 0, -1, 1, out, err));
    if (out[0] >= 0 || out[0] == -out[1]) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s must not be below 0: the sign is drawn", name);
}

static int plan_shear(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_shear};
    LEAT_TRY(read_shear(use, "x_factor", plan.op.arg, err));
    LEAT_TRY(read_shear(use, "y_factor", plan.op.arg + 2, err));
    return leat__warp_add(planner, use, LEAT_WARP_TF, "fill", plan, err);
}

/* Whether this sample is moved at all: the probability itself is drawn, from two numbers. */
static bool draw_wanted(leat__drawing *d, const double factor[2]) {
    const double p = leat__draw_between(d, factor[0], factor[1]);
    const bool wanted = leat__draw_chance(d, p);
    leat__params_add(d, "applied", wanted);
    return wanted;
}

/* Corners move by a share of their own coordinates: that at (0, 0) stays where it is. */
static int draw_perspective(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                            leat_error *err) {
    (void)pass;
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const bool wanted = draw_wanted(d, op->arg);
    const double w = d->width - 1, h = d->height - 1, corner[8] = {0, 0, w, 0, 0, h, w, h};
    double moved[8];
    for (int i = 0; i < 8; i++) {
        const float share = (float)leat__draw_between(d, -0.5 * op->arg[2], 0.5 * op->arg[2]);
        const float c = (float)corner[i];
        moved[i] = (double)(c + c * share);
    }
    if (!wanted) return 0;
    static const char *const names[8] = {"x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4"};
    for (int i = 0; i < 8; i++) leat__params_add(d, names[i], moved[i]);
    /* A picture of one row or column has no corners to move. */
    if (!leat__matrix_from_points(warp->m, moved, corner, true)) leat__matrix_unit(warp->m);
    return 0;
}

static int plan_perspective(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_perspective};
    LEAT_TRY(leat__range_read(use, "factor", 0, 0, 1, plan.op.arg, err));
    plan.op.arg[2] = leat__use_arg(use, "scale")->x;
    return leat__warp_add(planner, use, LEAT_WARP_TF, NULL, plan, err);
}

static int draw_elastic(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                        leat_error *err) {
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const bool wanted = draw_wanted(d, op->arg);
    const double s = leat__draw_between(d, op->arg[2], op->arg[3]);
    leat__params_add(d, "scale", s);
    warp->alpha = 0.1 * s * LEAT_MAX(d->height, d->width);
    warp->sigma = 0.05 * s * LEAT_MIN(d->height, d->width);
    warp->apart = op->arg[6] != 0;
    warp->rng = d->rng;
    if (!wanted || !(warp->sigma > 0)) warp->rule = LEAT_WARP_TF; /* with a matrix that moves nothing */
    if (warp->order > 0 || d->dtype == LEAT_DTYPE_F32)
        leat__pass_add_clamp(pass, (float)op->arg[4], (float)op->arg[5]);
    return 0;
}

static int plan_elastic(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_elastic, .n_points = 1, .elastic = true};
    LEAT_TRY(leat__range_read(use, "factor", 0, 0, 1, plan.op.arg, err));
    LEAT_TRY(leat__range_read(use, "scale", 0, 0, 1, plan.op.arg + 2, err));
    LEAT_TRY(leat__plan_read_range(use, "range", plan.op.arg + 4, err));
    plan.op.arg[6] = leat__use_arg(use, "flavour")->i != 0;
    return leat__warp_add(planner, use, LEAT_WARP_KERAS_MAP, "fill", plan, err);
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_warp[] = {
    {.name = "random_zoom",
     .kind = LEAT_OP_IMAGE,
     .help = "Shrinks (positive numbers) or enlarges (negative ones) the picture about its middle.",
     .like = "keras.layers.RandomZoom",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_zoom,
     .arg = {LEAT_ARG_RANGE("height_factor", NULL,
                            "change of the height: 0.2 is -20 % to +20 %; or low,high"),
             LEAT_ARG_RANGE("width_factor", "", "the same for the width; without it both change alike"),
             LEAT_ARGS_WARP}},
    {.name = "random_translation",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves the picture, down and to the right for positive numbers.",
     .like = "keras.layers.RandomTranslation",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_translation,
     .arg = {LEAT_ARG_RANGE("height_factor", NULL,
                            "share of the height; 0.2 is up to 20 % either way; or low,high"),
             LEAT_ARG_RANGE("width_factor", NULL, "share of the width"), LEAT_ARGS_WARP}},
    {.name = "random_shear",
     .kind = LEAT_OP_IMAGE,
     .help = "Slants the picture about its upper left corner; both directions have the same drawn sign.",
     .like = "keras.layers.RandomShear",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_shear,
     .arg = {LEAT_ARG_RANGE("x_factor", "0", "pixels to the side for each one down, 0 to 1; or low,high"),
             LEAT_ARG_RANGE("y_factor", "0", "pixels down for each one to the side"), LEAT_ARGS_WARP}},
    {.name = "random_perspective",
     .kind = LEAT_OP_IMAGE,
     .help = "Moves the corners of the picture but the upper left one; outside lies a constant.",
     .like = "keras.layers.RandomPerspective, albumentations Perspective",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_perspective,
     .arg = {LEAT_ARG_RANGE("factor", "1", "how likely, drawn from 0,factor or low,high"),
             {.name = "scale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .max = 1,
              .help = "how far corners move"},
             LEAT_ARG_INTERPOLATION,
             LEAT_ARG_FILL_VALUE("value"),
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_elastic_transform",
     .kind = LEAT_OP_IMAGE,
     .help = "Pulls the picture about as if it were of rubber.",
     .like = "keras.layers.RandomElasticTransform, albumentations ElasticTransform",
     .random = true,
     .plan = plan_elastic,
     .arg = {LEAT_ARG_RANGE("factor", "1", "how likely, drawn from 0,factor or low,high"),
             LEAT_ARG_RANGE("scale", "1", "how strong, drawn from 0,scale or low,high"),
             LEAT_ARG_RANGE_NAMED("range", "0,255", "what f32 results are clipped to"),
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "keras",
              .words = "keras|fixed",
              .named = true,
              .help = "keras moves both axes by the same noise, fixed each by its own"},
             LEAT_ARGS_WARP}},
    {0},
};
