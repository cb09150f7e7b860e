/* SPDX-License-Identifier: Apache-2.0 */
/* Crops: which part of a picture a sample takes, drawn before it is decoded. */
#include "base/maths.h"
#include "ops/ops_args.h"
#include "plan/planner.h"

static leat__box centred(int height, int width, int box_height, int box_width) {
    return (leat__box){.x = (width - box_width) / 2,
                       .y = (height - box_height) / 2,
                       .width = box_width,
                       .height = box_height};
}

static void note_box(leat__drawing *d, const leat__box *box) {
    leat__params_add(d, "x", box->x);
    leat__params_add(d, "y", box->y);
    leat__params_add(d, "width", box->width);
    leat__params_add(d, "height", box->height);
}

static int draw_fraction(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    (void)err;
    box->y = (int)((d->height - d->height * op->arg[0]) / 2);
    box->x = (int)((d->width - d->width * op->arg[0]) / 2);
    box->height = d->height - 2 * box->y;
    box->width = d->width - 2 * box->x;
    return 0;
}

static int check_fits(const leat__image_op *op, const leat__drawing *d, int *height, int *width,
                      leat_error *err) {
    *height = (int)op->arg[0];
    *width = (int)op->arg[1];
    if (*height <= d->height && *width <= d->width) return 0;
    return leat__fail(
        err, LEAT_ERR_SHAPE,
        "a crop of %dx%d does not fit into a picture of %dx%d (height x width): write resize before it",
        *height, *width, d->height, d->width);
}

static int draw_centre(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    int height, width;
    LEAT_TRY(check_fits(op, d, &height, &width, err));
    *box = centred(d->height, d->width, height, width);
    return 0;
}

static int draw_anywhere(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    LEAT_TRY(check_fits(op, d, &box->height, &box->width, err));
    box->y = (int)leat__rng_below(&d->rng, (uint64_t)(d->height - box->height + 1));
    box->x = (int)leat__rng_below(&d->rng, (uint64_t)(d->width - box->width + 1));
    note_box(d, box);
    return 0;
}

/* torchvision's RandomCrop with padding: a part of the picture with its border, which is a border by itself, some of
 * it below 0. arg: height, width, padding, mode, fill of four channels. */
static int draw_in_border(const leat__image_op *op, leat__drawing *d, leat__border *border, leat_error *err) {
    const int padding = (int)op->arg[2];
    const leat__border around = {.top = padding, .bottom = padding, .left = padding, .right = padding};
    LEAT_TRY(leat__border_check(d, &around, (leat__pad_mode)(int)op->arg[3], err));
    leat__box box;
    leat__drawing wider = *d;
    wider.height += 2 * padding;
    wider.width += 2 * padding;
    LEAT_TRY(check_fits(op, &wider, &box.height, &box.width, err));
    box.y = (int)leat__rng_below(&d->rng, (uint64_t)(wider.height - box.height + 1)) - padding;
    box.x = (int)leat__rng_below(&d->rng, (uint64_t)(wider.width - box.width + 1)) - padding;
    note_box(d, &box);
    *border = (leat__border){.top = -box.y,
                             .bottom = box.y + box.height - d->height,
                             .left = -box.x,
                             .right = box.x + box.width - d->width};
    for (int c = 0; c < 4; c++) border->fill[c] = (float)op->arg[4 + c];
    return 0;
}

/* torchvision's RandomResizedCrop: ten tries, then the largest centred part within the ratios. */
static leat__box draw_area(const leat__image_op *op, leat__drawing *d) {
    enum { TRIES = 10 };
    const int height = d->height, width = d->width;
    const double *scale = op->arg, *ratio = op->arg + 2, area = (double)height * (double)width;
    const double low = leat__log(ratio[0]), high = leat__log(ratio[1]);
    for (int i = 0; i < TRIES; i++) {
        const double target = area * leat__draw_between(d, scale[0], scale[1]);
        const double shape = leat__exp(leat__draw_between(d, low, high));
        const double w = leat__round_even(leat__sqrt(target * shape)),
                     h = leat__round_even(leat__sqrt(target / shape));
        if (!(w > 0 && w <= width && h > 0 && h <= height)) continue;
        leat__box box = {.width = (int)w, .height = (int)h};
        box.y = (int)leat__rng_below(&d->rng, (uint64_t)(height - box.height + 1));
        box.x = (int)leat__rng_below(&d->rng, (uint64_t)(width - box.width + 1));
        return box;
    }
    const double whole = (double)width / (double)height;
    if (whole < ratio[0])
        return centred(height, width, LEAT_CLAMP((int)leat__round_even(width / ratio[0]), 1, height), width);
    if (whole > ratio[1])
        return centred(height, width, height, LEAT_CLAMP((int)leat__round_even(height * ratio[1]), 1, width));
    return centred(height, width, height, width);
}

static int draw_resized(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    (void)err;
    *box = draw_area(op, d);
    note_box(d, box);
    return 0;
}

static int plan_central_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    const leat__crop_plan crop = {.op.arg = {leat__use_arg(use, "fraction")->x}, .draw = draw_fraction};
    if (!(crop.op.arg[0] > 0))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fraction must be above 0");
    return leat__plan_add_crop(planner, use, at, &crop, err);
}

static int plan_sized_crop(leat__planner *planner, const leat__use *use, leat__crop_plan crop,
                           leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__plan_read_size(use, &crop.height, &crop.width);
    crop.op.arg[0] = crop.height;
    crop.op.arg[1] = crop.width;
    return leat__plan_add_crop(planner, use, at, &crop, err);
}

static int plan_center_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_sized_crop(planner, use, (leat__crop_plan){.draw = draw_centre}, err);
}

static int plan_random_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t padding = leat__use_arg(use, "padding")->i;
    if (padding > 0) {
        int at;
        LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
        leat__pad_plan pad = {.mode = (leat__pad_mode)leat__use_arg(use, "mode")->i, .draw = draw_in_border};
        leat__plan_read_size(use, &pad.height, &pad.width);
        pad.op.arg[0] = pad.height;
        pad.op.arg[1] = pad.width;
        pad.op.arg[2] = (double)padding;
        pad.op.arg[3] = pad.mode;
        LEAT_TRY(leat__plan_read_fill(planner, use, at, pad.op.arg + 4, err));
        return leat__plan_add_pad(planner, use, at, &pad, err);
    }
    if (leat__use_arg(use, "mode")->given || leat__use_arg(use, "fill")->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "mode and fill are for the border: write padding=4 too");
    return plan_sized_crop(planner, use, (leat__crop_plan){.draw = draw_anywhere}, err);
}

static int read_positive_range(const leat__use *use, const char *name, double out[2], leat_error *err) {
    LEAT_TRY(leat__plan_read_range(use, name, out, err));
    if (out[0] > 0) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                           "%s must be two numbers above 0, the smaller one first, such as 0.08,1", name);
}

static int plan_random_resized_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    leat__resample resample;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__crop_plan crop = {.draw = draw_resized};
    LEAT_TRY(read_positive_range(use, "scale", crop.op.arg, err));
    LEAT_TRY(read_positive_range(use, "ratio", crop.op.arg + 2, err));
    leat__plan_read_size(use, &height, &width);
    LEAT_TRY(leat__plan_read_method(planner, use, at, leat__use_arg(use, "flavour")->i == 0, false, &resample,
                                    err));
    LEAT_TRY(leat__plan_add_crop(planner, use, at, &crop, err));
    return leat__plan_add_resize(planner, use, at, resample, height, width, err);
}

const leat__op leat__ops_crop[] = {
    {.name = "central_crop",
     .kind = LEAT_OP_IMAGE,
     .help = "The middle part, a share of each side; only that part is decoded.",
     .like = "tf.image.central_crop",
     .plan = plan_central_crop,
     .arg = {{.name = "fraction", .kind = LEAT_ARG_NUMBER, .max = 1, .help = "of height and of width"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "center_crop",
     .kind = LEAT_OP_IMAGE,
     .help = "The middle part, of a given size; only that part is decoded.",
     .like = "keras.layers.CenterCrop, torchvision CenterCrop",
     .plan = plan_center_crop,
     .arg = {LEAT_ARG_HEIGHT, LEAT_ARG_WIDTH, LEAT_ARG_FIELD_NAMED}},
    {.name = "random_crop",
     .kind = LEAT_OP_IMAGE,
     .help = "A part of a given size at a drawn place; only that part is decoded.",
     .like = "tf.image.random_crop, tf.image.stateless_random_crop, keras.layers.RandomCrop, torchvision "
             "RandomCrop",
     .random = true,
     .plan = plan_random_crop,
     .arg = {LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             {.name = "padding",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .min = 0,
              .max = 30000,
              .named = true,
              .help = "a border of so many pixels first"},
             LEAT_ARG_PAD_MODE,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_resized_crop",
     .kind = LEAT_OP_IMAGE,
     .help = "A part of drawn area, aspect ratio and place, resized; only that part is decoded.",
     .like = "torchvision RandomResizedCrop",
     .random = true,
     .plan = plan_random_resized_crop,
     .arg = {LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             {.name = "scale",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.08,1",
              .named = true,
              .help = "share of the area, from,to"},
             {.name = "ratio",
              .kind = LEAT_ARG_TEXT,
              .fallback = "3/4,4/3",
              .named = true,
              .help = "width over height, from,to"},
             LEAT_ARG_METHOD,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "pil",
              .words = "pil|tf",
              .named = true,
              .help = "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
