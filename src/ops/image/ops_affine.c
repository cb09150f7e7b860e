/* SPDX-License-Identifier: Apache-2.0 */
/* Several movements in one sampling: `affine`, which is leat's own, and torchvision's RandomAffine.
 *
 * Each movement is a matrix from the output to the input, that is, its inverse, about the middle of the
 * picture. The output asks the last movement first. */
#include "base/maths.h"
#include "image/warp/pil_affine.h"
#include "ops/ops_shared.h"

static double radians(double degrees) {
    return degrees * (LEAT_PI / 180);
}

static double tangent(double degrees) {
    return leat__sin(radians(degrees)) / leat__cos(radians(degrees));
}

/* ---------------------------------------------------------------------------------------------- affine */

enum { ROTATE, SHEAR_X, SHEAR_Y, ZOOM, ZOOM_X, ZOOM_Y, SHIFT_X, SHIFT_Y, RANGES };

typedef struct affine_plan {
    leat__sampling sampling;
    double range[RANGES][2];
    double flip_x, flip_y; /* how likely         */
    double perspective;    /* how far corners go */
} affine_plan;

static const struct {
    const char *name;
    double middle, least, most;
} ranges[RANGES] = {
    [ROTATE] = {"rotate", 0, -360, 360}, [SHEAR_X] = {"shear_x", 0, -80, 80},
    [SHEAR_Y] = {"shear_y", 0, -80, 80}, [ZOOM] = {"zoom", 1, 0.01, 100},
    [ZOOM_X] = {"zoom_x", 1, 0.01, 100}, [ZOOM_Y] = {"zoom_y", 1, 0.01, 100},
    [SHIFT_X] = {"shift_x", 0, -10, 10}, [SHIFT_Y] = {"shift_y", 0, -10, 10},
};

static void then(double m[9], double a, double b, double c, double d, double e, double f) {
    const double next[9] = {a, b, c, d, e, f, 0, 0, 1};
    leat__matrix_multiply(m, m, next);
}

/* Every corner by up to half this share of the sides, in both directions. */
static void draw_corners(leat__drawing *d, double share, double m[9]) {
    const double w = d->width - 1, h = d->height - 1, corner[8] = {0, 0, w, 0, 0, h, w, h};
    static const char *const names[8] = {"x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4"};
    double moved[8], turned[9];
    for (int i = 0; i < 8; i++) {
        moved[i] = corner[i] + (i % 2 ? h : w) * leat__draw_between(d, -0.5 * share, 0.5 * share);
        leat__params_add(d, names[i], moved[i]);
    }
    /* A picture of one row or column has no corners to move. */
    if (leat__matrix_from_points(turned, moved, corner, false)) leat__matrix_multiply(m, m, turned);
}

static int draw_affine(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                       leat_error *err) {
    const affine_plan *plan = op->more;
    double x[RANGES], *m = warp->m;
    (void)pass;
    LEAT_TRY(leat__sampling_begin(&plan->sampling, d, warp, err));
    for (int i = 0; i < RANGES; i++) { /* every number has its own draw, wanted or not */
        x[i] = leat__draw_between(d, plan->range[i][0], plan->range[i][1]);
        if (plan->range[i][0] != ranges[i].middle || plan->range[i][1] != ranges[i].middle)
            leat__params_add(d, ranges[i].name, x[i]);
    }
    const bool flip_x = leat__draw_chance(d, plan->flip_x), flip_y = leat__draw_chance(d, plan->flip_y);
    if (plan->flip_x > 0) leat__params_add(d, "flip_x", flip_x);
    if (plan->flip_y > 0) leat__params_add(d, "flip_y", flip_y);
    const double c = leat__cos(radians(x[ROTATE])), s = leat__sin(radians(x[ROTATE]));
    then(m, flip_x ? -1 : 1, 0, 0, 0, flip_y ? -1 : 1, 0);
    then(m, 1 / (x[ZOOM] * x[ZOOM_X]), 0, 0, 0, 1 / (x[ZOOM] * x[ZOOM_Y]), 0);
    then(m, 1, -tangent(x[SHEAR_X]), 0, 0, 1, 0);
    then(m, 1, 0, 0, -tangent(x[SHEAR_Y]), 1, 0);
    then(m, c, -s, 0, s, c, 0);
    then(m, 1, 0, -x[SHIFT_X] * d->width, 0, 1, -x[SHIFT_Y] * d->height);
    leat__matrix_centre(m, (d->width - 1) / 2.0, (d->height - 1) / 2.0);
    if (plan->perspective > 0) draw_corners(d, plan->perspective, m);
    return 0;
}

static int plan_affine(leat__planner *planner, const leat__use *use, leat_error *err) {
    static const int orders[] = {1, 0, 3};
    int at;
    affine_plan plan = {
        .sampling = {.rule = LEAT_WARP_SCIPY, .order = orders[leat__use_arg(use, "order")->i]},
        .flip_x = leat__use_arg(use, "flip_x")->x,
        .flip_y = leat__use_arg(use, "flip_y")->x,
        .perspective = leat__use_arg(use, "perspective")->x};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    if (planner->field[at].device && plan.sampling.order > 1)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "the device has no splines: take order=1, or write this before on_device");
    LEAT_TRY(leat__sampling_read(planner, use, at, "fill", "value", &plan.sampling, err));
    for (int i = 0; i < RANGES; i++)
        LEAT_TRY(leat__range_read(use, ranges[i].name, ranges[i].middle, ranges[i].least, ranges[i].most,
                                  plan.range[i], err));
    const leat__warp_plan warp = {.op.more = leat__plan_keep(planner, &plan, sizeof plan, err),
                                  .order = plan.sampling.order,
                                  .draw = draw_affine};
    return warp.op.more ? leat__plan_add_warp(planner, use, at, &warp, err) : LEAT_ERR_MEMORY;
}

/* ----------------------------------------------------------------------------------------- torchvision */

typedef struct tv_plan {
    double degrees[2], translate[2], scale[2], shear[4];
    bool bilinear;
    leat__sampling sampling;
} tv_plan;

/* torchvision's _get_inverse_affine_matrix, about the middle. */
static void tv_matrix(double m[6], double angle, double tx, double ty, double scale, double shear_x,
                      double shear_y, int height, int width) {
    const double rot = radians(angle), sx = radians(shear_x), sy = radians(shear_y);
    const double cx = width * 0.5, cy = height * 0.5, tan_x = leat__sin(sx) / leat__cos(sx);
    const double a = leat__cos(rot - sy) / leat__cos(sy);
    const double b = -leat__cos(rot - sy) * tan_x / leat__cos(sy) - leat__sin(rot);
    const double c = leat__sin(rot - sy) / leat__cos(sy);
    const double e = -leat__sin(rot - sy) * tan_x / leat__cos(sy) + leat__cos(rot);
    const double linear[6] = {e / scale, -b / scale, 0, -c / scale, a / scale, 0};
    memcpy(m, linear, sizeof linear);
    m[2] += m[0] * (-cx - tx) + m[1] * (-cy - ty);
    m[5] += m[3] * (-cx - tx) + m[4] * (-cy - ty);
    m[2] += cx;
    m[5] += cy;
}

/* Pillow's matrix from places in the result to those in a picture of this size. */
static void tv_draw(const tv_plan *plan, leat__drawing *d, int height, int width, double m[6]) {
    const double angle = leat__draw_between(d, plan->degrees[0], plan->degrees[1]);
    const double far_x = plan->translate[0] * width, far_y = plan->translate[1] * height;
    const double tx = leat__round_even(leat__draw_between(d, -far_x, far_x));
    const double ty = leat__round_even(leat__draw_between(d, -far_y, far_y));
    const double scale = leat__draw_between(d, plan->scale[0], plan->scale[1]);
    const double sx = leat__draw_between(d, plan->shear[0], plan->shear[1]);
    const double sy = leat__draw_between(d, plan->shear[2], plan->shear[3]);
    leat__params_add(d, "angle", angle);
    leat__params_add(d, "x", tx);
    leat__params_add(d, "y", ty);
    leat__params_add(d, "scale", scale);
    leat__params_add(d, "shear_x", sx);
    leat__params_add(d, "shear_y", sy);
    tv_matrix(m, angle, tx, ty, scale, sx, sy, height, width);
}

static int run_random_affine(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                             const leat__picture *in, void *out, leat_error *err) {
    const tv_plan *plan = op->more;
    double m[6];
    uint8_t fill[4];
    if (in->channels != 1 && in->channels != 3)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "random_affine takes pictures of 1 or 3 channels, not %d: decode channels=3",
                          in->channels);
    tv_draw(plan, d, in->height, in->width, m);
    for (int c = 0; c < 4; c++) fill[c] = (uint8_t)(op->mask ? op->mask_fill : plan->sampling.value[c]);
    leat__pil_affine(tools->dsp, out, in->data, in->height, in->width, in->channels, m,
                     plan->bilinear && !op->mask, fill);
    return 0;
}

static int map_random_affine(const leat__image_op *op, leat__drawing *d, double m[9], leat_error *err) {
    double back[9] = {[8] = 1};
    tv_draw(op->more, d, d->height, d->width, back);
    if (leat__matrix_invert(m, back)) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE, "%s leaves nothing of the picture", op->name);
}

static int plan_random_affine(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n;
    tv_plan plan = {.bilinear = leat__use_arg(use, "interpolation")->i != 0};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    LEAT_TRY(leat__sampling_read(planner, use, at, NULL, "value", &plan.sampling, err));
    LEAT_TRY(leat__range_read(use, "degrees", 0, -360, 360, plan.degrees, err));
    LEAT_TRY(leat__plan_read_numbers(use, "translate", plan.translate, 2, &n, err));
    if (n == 1) plan.translate[1] = plan.translate[0];
    for (int i = 0; i < 2; i++)
        if (n == 0 || !(plan.translate[i] >= 0 && plan.translate[i] <= 1))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "translate must be x,y, both from 0 to 1");
    LEAT_TRY(leat__plan_read_range(use, "scale", plan.scale, err));
    if (!(plan.scale[0] > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "scale must be above 0");
    LEAT_TRY(leat__plan_read_numbers(use, "shear", plan.shear, 4, &n, err));
    if (n == 1) plan.shear[1] = plan.shear[0], plan.shear[0] = -plan.shear[0];
    if (n < 4) plan.shear[2] = plan.shear[3] = 0;
    for (int i = 0; i < 4; i += 2)
        if (n == 0 || n == 3 ||
            !(plan.shear[i] <= plan.shear[i + 1] && plan.shear[i] > -90 && plan.shear[i + 1] < 90))
            return leat__plan_fail(
                use, err, LEAT_ERR_ARGUMENT,
                "shear must be one number, low,high or x_low,x_high,y_low,y_high, within 90 degrees");
    const leat__picture_plan picture = {.op.more = leat__plan_keep(planner, &plan, sizeof plan, err),
                                        .moves = true,
                                        .takes = LEAT_PICTURES_U8,
                                        .run = run_random_affine,
                                        .map = map_random_affine};
    return picture.op.more ? leat__plan_add_picture(planner, use, at, &picture, err) : LEAT_ERR_MEMORY;
}

/* ------------------------------------------------------------------------------------------- the table */

#define CHANCE(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_NUMBER, .fallback = "0", .max = 1, .named = true, .help = help_ }

const leat__op leat__ops_affine[] = {
    {.name = "affine",
     .kind = LEAT_OP_IMAGE,
     .help =
         "Any mix of flips, zoom, shear, rotation, shift and perspective about the middle, in one sampling.",
     .like = "",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_affine,
     .arg = {LEAT_ARG_RANGE_NAMED("rotate", "0", "degrees counter-clockwise: 20 is -20 to 20; or low,high"),
             LEAT_ARG_RANGE_NAMED("shear_x", "0", "degrees: the lower half goes to the right"),
             LEAT_ARG_RANGE_NAMED("shear_y", "0", "degrees: the right half goes down"),
             LEAT_ARG_RANGE_NAMED("zoom", "0",
                                  "0.2 is a factor from 0.8 to 1.2, above 1 enlarges; or low,high"),
             LEAT_ARG_RANGE_NAMED("zoom_x", "0", "the same for the width alone"),
             LEAT_ARG_RANGE_NAMED("zoom_y", "0", "the same for the height alone"),
             LEAT_ARG_RANGE_NAMED("shift_x", "0", "share of the width, to the right"),
             LEAT_ARG_RANGE_NAMED("shift_y", "0", "share of the height, down"),
             CHANCE("flip_x", "how likely left and right change places"),
             CHANCE("flip_y", "how likely top and bottom change places"),
             CHANCE("perspective", "corners move by up to half this share of the sides"),
             {.name = "order",
              .kind = LEAT_ARG_WORD,
              .fallback = "1",
              .words = "1|0|3",
              .named = true,
              .help = "of the spline: 0 takes the nearest pixel and keeps the type, 1 is linear, 3 cubic"},
             LEAT_ARG_FILL("reflect"),
             LEAT_ARG_FILL_VALUE("value"),
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_affine",
     .kind = LEAT_OP_IMAGE,
     .help = "Rotation, shift, scale and shear of a u8 picture in one sampling, as Pillow does it.",
     .like = "torchvision RandomAffine, albumentations Affine, albumentations ShiftScaleRotate",
     .random = true,
     .plan = plan_random_affine,
     .arg = {LEAT_ARG_RANGE("degrees", NULL, "clockwise: 20 is -20 to 20; or low,high"),
             LEAT_ARG_RANGE_NAMED("translate", "0,0", "largest shift x,y as shares of width and height"),
             LEAT_ARG_RANGE_NAMED("scale", "1,1", "from,to; above 1 enlarges"),
             LEAT_ARG_RANGE_NAMED("shear", "0,0",
                                  "degrees: one number, low,high or x_low,x_high,y_low,y_high"),
             {.name = "interpolation",
              .kind = LEAT_ARG_WORD,
              .fallback = "nearest",
              .words = "nearest|bilinear",
              .named = true,
              .help = "both give u8"},
             LEAT_ARG_FILL_VALUE("value"),
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
