/* SPDX-License-Identifier: Apache-2.0 */
/* Borders around a picture. Resizing and crops have them too. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

int leat__plan_read_fill(const leat__planner *planner, const leat__use *use, int at, double out[4],
                         leat_error *err) {
    int n;
    LEAT_TRY(leat__plan_read_numbers(use, "fill", out, 4, &n, err));
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t have = info->ndim == 2 ? 1 : info->shape[2];
    if (n == 0) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fill needs a number, such as 0");
    if (n > 1 && have >= 0 && have != n)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "fill has %d numbers for %" PRId64 " channels", n,
                               have);
    const double most = info->dtype == LEAT_DTYPE_U8 ? 255 : info->dtype == LEAT_DTYPE_U16 ? 65535 : 0;
    for (int c = 0; c < n; c++)
        if (most > 0 && !(out[c] >= 0 && out[c] <= most))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "fill must be from 0 to %g: the picture is %s", most,
                                   leat_dtype_name(info->dtype));
    for (int c = n; c < 4; c++) out[c] = out[n == 1 ? 0 : n - 1];
    return 0;
}

int leat__border_check(const leat__drawing *d, const leat__border *border, leat__pad_mode mode,
                       leat_error *err) {
    const int64_t height = (int64_t)d->height + border->top + border->bottom;
    const int64_t width = (int64_t)d->width + border->left + border->right;
    if (height > LEAT_SIDE_MAX || width > LEAT_SIDE_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "with its border the picture is %" PRId64 "x%" PRId64
                          " (height x width); the limit is %d a side",
                          height, width, LEAT_SIDE_MAX);
    const int edge = mode == LEAT_PAD_REFLECT; /* which reflect leaves out */
    const int tall = LEAT_MAX(border->top, border->bottom), wide = LEAT_MAX(border->left, border->right);
    if ((mode == LEAT_PAD_REFLECT || mode == LEAT_PAD_SYMMETRIC) &&
        (tall > d->height - edge || wide > d->width - edge))
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "a border of %d rows and %d columns cannot mirror a picture of %dx%d (height x width): "
            "take mode=edge or mode=constant",
            tall, wide, d->height, d->width);
    return 0;
}

/* arg: top, bottom, left, right, mode, fill of four channels. */
static int draw_border(const leat__image_op *op, leat__drawing *d, leat__border *border, leat_error *err) {
    *border = (leat__border){
        .top = (int)op->arg[0], .bottom = (int)op->arg[1], .left = (int)op->arg[2], .right = (int)op->arg[3]};
    for (int c = 0; c < 4; c++) border->fill[c] = (float)op->arg[5 + c];
    return leat__border_check(d, border, (leat__pad_mode)(int)op->arg[4], err);
}

static int plan_pad(leat__planner *planner, const leat__use *use, leat_error *err) {
    static const char *const sides[] = {"top", "bottom", "left", "right"};
    static const int like[] = {0, 0, 0, 2}; /* which side it is like when left out */
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__pad_plan pad = {.draw = draw_border};
    for (int i = 0; i < 4; i++) {
        const leat__arg_value *side = leat__use_arg(use, sides[i]);
        pad.op.arg[i] = side->given ? (double)side->i : pad.op.arg[like[i]];
    }
    pad.mode = (leat__pad_mode)leat__use_arg(use, "mode")->i;
    pad.op.arg[4] = pad.mode;
    LEAT_TRY(leat__plan_read_fill(planner, use, at, pad.op.arg + 5, err));
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t height = info->shape[0], width = info->shape[1];
    if (height > 0) pad.height = (int)(height + (int64_t)(pad.op.arg[0] + pad.op.arg[1]));
    if (width > 0) pad.width = (int)(width + (int64_t)(pad.op.arg[2] + pad.op.arg[3]));
    return leat__plan_add_pad(planner, use, at, &pad, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define SIDE(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_INT, .fallback = "", .min = 0, .max = LEAT_SIDE_MAX, .help = help_ }

const leat__op leat__ops_pad[] = {
    {.name = "pad",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_CUTS,
     .help = "A border around the picture.",
     .like = "tf.image.pad_to_bounding_box, tf.pad, keras.ops.image.pad_images, keras.layers.ZeroPadding2D, "
             "torchvision Pad, PIL.ImageOps.expand",
     .plan = plan_pad,
     .arg = {{.name = "top", .kind = LEAT_ARG_INT, .min = 0, .max = LEAT_SIDE_MAX, .help = "rows"},
             SIDE("bottom", "rows; as top if left out"),
             SIDE("left", "columns; as top if left out"),
             SIDE("right", "columns; as left if left out"),
             LEAT_ARG_PAD_MODE,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
