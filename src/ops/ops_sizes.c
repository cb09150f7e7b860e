/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as tf.image, Keras and torchvision know them: parts and borders at given places, sizes that keep the aspect
 * ratio, quarter turns. Where those libraries compute a size in float32, so does this file: one pixel more or less
 * would shift the whole picture. */
#include "image/warp/turn.h"
#include "ops/ops_args.h"
#include "plan/planner.h"

#define SIDE_MAX 65535

/* ------------------------------------------------------------------------------------- parts and borders */

static int draw_given_part(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    *box = (leat__box){
        .y = (int)op->arg[0], .x = (int)op->arg[1], .height = (int)op->arg[2], .width = (int)op->arg[3]};
    if (box->height <= d->height - box->y && box->width <= d->width - box->x) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE,
                      "a part of %dx%d at y=%d x=%d does not lie in a picture of %dx%d (height x width)",
                      box->height, box->width, box->y, box->x, d->height, d->width);
}

static int plan_crop_to_bounding_box(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__crop_plan crop = {
        .op.arg = {(double)leat__use_arg(use, "y")->i, (double)leat__use_arg(use, "x")->i},
        .draw = draw_given_part};
    leat__plan_read_size(use, &crop.height, &crop.width);
    crop.op.arg[2] = crop.height;
    crop.op.arg[3] = crop.width;
    return leat__plan_add_crop(planner, use, at, &crop, err);
}

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
    if (height > SIDE_MAX || width > SIDE_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "with its border the picture is %" PRId64 "x%" PRId64
                          " (height x width); the limit is %d a side",
                          height, width, SIDE_MAX);
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

/* As much of the middle as there is. */
static int draw_most_of_middle(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    (void)err;
    box->height = LEAT_MIN(d->height, (int)op->arg[0]);
    box->width = LEAT_MIN(d->width, (int)op->arg[1]);
    box->y = (d->height - box->height) / 2;
    box->x = (d->width - box->width) / 2;
    return 0;
}

static int draw_rest_around(const leat__image_op *op, leat__drawing *d, leat__border *border,
                            leat_error *err) {
    (void)err;
    const int tall = (int)op->arg[0] - d->height, wide = (int)op->arg[1] - d->width;
    *border = (leat__border){.top = tall / 2, .left = wide / 2};
    border->bottom = tall - border->top;
    border->right = wide - border->left;
    return 0;
}

static int plan_resize_with_crop_or_pad(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__plan_read_size(use, &height, &width);
    const leat__crop_plan crop = {.op.arg = {height, width}, .draw = draw_most_of_middle};
    const leat__pad_plan pad = {
        .op.arg = {height, width}, .height = height, .width = width, .draw = draw_rest_around};
    LEAT_TRY(leat__plan_add_crop(planner, use, at, &crop, err));
    return leat__plan_add_pad(planner, use, at, &pad, err);
}

/* ---------------------------------------------------------------------------------------- aspect ratios
 * Keras: a side is so long that side over other side is as in the target, cut to a whole number in float32. */

static int side_for(int other, int target, int target_other) {
    const float side = (float)((int64_t)other * target) / (float)target_other;
    return side < 1e9f ? (int)side : 1000000000;
}

/* The size that the picture will have: one for all, or that of its batch's bucket. */
static void target_of(const leat__image_op *op, const leat__drawing *d, int *height, int *width) {
    const leat__bucket_sizes *sizes = op->more;
    *height = sizes ? sizes->height[d->bucket] : (int)op->arg[0];
    *width = sizes ? sizes->width[d->bucket] : (int)op->arg[1];
}

static int draw_aspect_part(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    int height, width;
    (void)err;
    target_of(op, d, &height, &width);
    box->height = LEAT_MAX(LEAT_MIN(d->height, side_for(d->width, height, width)), 1);
    box->width = LEAT_MAX(LEAT_MIN(d->width, side_for(d->height, width, height)), 1);
    box->y = (d->height - box->height) / 2;
    box->x = (d->width - box->width) / 2;
    return 0;
}

/* The same on both sides: an odd pixel is lost, as in Keras. */
static int draw_aspect_border(const leat__image_op *op, leat__drawing *d, leat__border *border,
                              leat_error *err) {
    int height, width;
    target_of(op, d, &height, &width);
    const int tall = LEAT_MAX(d->height, side_for(d->width, height, width));
    const int wide = LEAT_MAX(d->width, side_for(d->height, width, height));
    *border = (leat__border){.top = (tall - d->height) / 2, .left = (wide - d->width) / 2};
    border->bottom = border->top;
    border->right = border->left;
    for (int c = 0; c < 4; c++) border->fill[c] = (float)op->arg[2 + c];
    return leat__border_check(d, border, LEAT_PAD_CONSTANT, err);
}

int leat__plan_fit_aspect(leat__planner *planner, const leat__use *use, int at, int height, int width,
                          const leat__bucket_sizes *sizes, leat_error *err) {
    const bool crop = leat__use_arg(use, "crop_to_aspect_ratio")->i != 0;
    const bool pad = leat__use_arg(use, "pad_to_aspect_ratio")->i != 0;
    if (crop && pad)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "take crop_to_aspect_ratio or pad_to_aspect_ratio, not both");
    if (leat__use_arg(use, "fill")->given && !pad)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fill is for pad_to_aspect_ratio=true");
    if (crop) {
        const leat__crop_plan part = {.op = {.arg = {height, width}, .more = sizes},
                                      .draw = draw_aspect_part};
        return leat__plan_add_crop(planner, use, at, &part, err);
    }
    if (!pad) return 0;
    leat__pad_plan border = {.op = {.arg = {height, width}, .more = sizes}, .draw = draw_aspect_border};
    LEAT_TRY(leat__plan_read_fill(planner, use, at, border.op.arg + 2, err));
    return leat__plan_add_pad(planner, use, at, &border, err);
}

/* Floats from 2^23 on have no fraction: adding and taking away 1.5 * 2^23 rounds, halves to even. */
static int draw_rounding(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const float large = 12582912.0f;
    (void)op, (void)d, (void)err;
    leat__pass_add_scale(pass, 1.0f, large);
    leat__pass_add_scale(pass, 1.0f, -large);
    leat__pass_add_to_u8(pass);
    return 0;
}

int leat__plan_round_to_u8(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    const leat__point_plan point = {.n_points = 3, .dtype = LEAT_DTYPE_U8, .draw = draw_rounding};
    return leat__plan_add_point(planner, use, at, &point, err);
}

static void fill_with(void *out, int dtype, size_t n, float value) {
    if (value == 0 || dtype == LEAT_DTYPE_U8) {
        memset(out, (uint8_t)value, n * leat_dtype_size(dtype));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (dtype == LEAT_DTYPE_U16) ((uint16_t *)out)[i] = (uint16_t)value;
        else ((float *)out)[i] = value;
    }
}

/* tf.image.resize_with_pad: the largest size that fits, in the middle of zeros. */
typedef struct fitted {
    int top, left, rows, columns;
} fitted;

static int fit(const leat__image_op *op, int in_height, int in_width, fitted *out, leat_error *err) {
    const int height = (int)op->arg[0], width = (int)op->arg[1];
    const float tall = (float)in_height / (float)height, wide = (float)in_width / (float)width;
    const float ratio = LEAT_MAX(tall, wide);
    const float inner_height = (float)in_height / ratio, inner_width = (float)in_width / ratio;
    *out = (fitted){.top = (int)(((float)height - inner_height) / 2),
                    .left = (int)(((float)width - inner_width) / 2),
                    .rows = LEAT_MIN((int)inner_height, height),
                    .columns = LEAT_MIN((int)inner_width, width)};
    if (out->rows >= 1 && out->columns >= 1) return 0;
    return leat__fail(err, LEAT_ERR_SHAPE,
                      "a picture of %dx%d has no pixel left when it is fitted into %dx%d", in_height,
                      in_width, height, width);
}

static int run_with_pad(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                        const leat__picture *in, void *out, leat_error *err) {
    const int height = (int)op->arg[0], width = (int)op->arg[1];
    fitted inside;
    (void)d;
    LEAT_TRY(fit(op, in->height, in->width, &inside, err));
    leat__pass pass = {
        .resample = (leat__resample)(int)op->arg[2], .height = inside.rows, .width = inside.columns};
    if (op->mask) pass.resample = leat__plan_nearest(pass.resample, in->dtype);
    pass.dtype = leat__resample_gives_f32(pass.resample) ? LEAT_DTYPE_F32 : in->dtype;
    const size_t pixel = (size_t)in->channels * leat_dtype_size(pass.dtype);
    const size_t inner = (size_t)inside.columns * pixel, stride = (size_t)width * pixel;
    leat__rows src = {.height = in->height,
                      .width = in->width,
                      .channels = in->channels,
                      .dtype = in->dtype,
                      .data = in->data,
                      .stride =
                          (ptrdiff_t)((size_t)in->width * (size_t)in->channels * leat_dtype_size(in->dtype))};
    if (!leat__buf_reserve(&tools->buf[0], stride * (size_t)height)) /* the most that any picture takes */
        return leat__fail_memory(err, stride * (size_t)height, "a picture");
    LEAT_TRY(leat__pass_run(&pass, tools->dsp, &src, tools->buf[0].data, tools->scratch, err));
    fill_with(out, pass.dtype, (size_t)height * (size_t)width * (size_t)in->channels,
              op->mask ? op->mask_fill : 0);
    uint8_t *place = (uint8_t *)out + (size_t)inside.top * stride + (size_t)inside.left * pixel;
    for (int y = 0; y < inside.rows; y++)
        memcpy(place + (size_t)y * stride, tools->buf[0].data + (size_t)y * inner, inner);
    return 0;
}

static int map_with_pad(const leat__image_op *op, leat__drawing *d, double m[9], leat_error *err) {
    fitted inside;
    LEAT_TRY(fit(op, d->height, d->width, &inside, err));
    const double moved[9] = {(double)inside.columns / d->width,
                             0,
                             inside.left,
                             0,
                             (double)inside.rows / d->height,
                             inside.top,
                             0,
                             0,
                             1};
    memcpy(m, moved, sizeof moved);
    return 0;
}

static int plan_resize_with_pad(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    leat__resample resample;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__picture_plan picture = {.moves = true, .run = run_with_pad, .map = map_with_pad};
    leat__plan_read_size(use, &picture.height, &picture.width);
    const bool antialias = leat__use_arg(use, "antialias")->i != 0;
    LEAT_TRY(leat__plan_read_method(planner, use, at, false, antialias, &resample, err));
    picture.op.arg[0] = picture.height;
    picture.op.arg[1] = picture.width;
    picture.op.arg[2] = resample;
    if (leat__resample_gives_f32(resample)) picture.dtype = LEAT_DTYPE_F32;
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

/* torchvision's Resize with one number: the shorter side gets it, the longer one keeps the aspect ratio, cut to a whole
 * number; if that is more than max_size, it is max_size and the shorter side follows. */
static int draw_shorter(const leat__image_op *op, leat__drawing *d, int *height, int *width,
                        leat_error *err) {
    const int size = (int)op->arg[0], size_max = (int)op->arg[1];
    const bool tall = d->width <= d->height;
    const double lengths = (double)size * (tall ? d->height : d->width);
    double longer = (double)(int64_t)(lengths / (tall ? d->width : d->height)), shorter = size;
    if (size_max && longer > size_max) {
        shorter = (double)(int64_t)((double)size_max * size / longer);
        longer = size_max;
    }
    if (longer > SIDE_MAX || shorter < 1)
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "a picture of %dx%d (height x width) with %d pixels on its shorter side is %.0f long: crop it",
            d->height, d->width, size, longer);
    *height = (int)(tall ? longer : shorter);
    *width = (int)(tall ? shorter : longer);
    return 0;
}

static int plan_resize_shorter(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    leat__resample resample;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    const int64_t size = leat__use_arg(use, "size")->i, size_max = leat__use_arg(use, "max_size")->i;
    if (size_max && size_max <= size)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "max_size must be above size");
    const bool pil = leat__use_arg(use, "flavour")->i == 0,
               antialias = leat__use_arg(use, "antialias")->i != 0;
    if (pil && leat__use_arg(use, "antialias")->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "antialias is for flavour=tf: pil always antialiases");
    LEAT_TRY(leat__plan_read_method(planner, use, at, pil, antialias, &resample, err));
    const leat__size_plan plan = {.op.arg = {(double)size, (double)size_max}, .draw = draw_shorter};
    return leat__plan_add_resize_by(planner, use, at, resample, &plan, err);
}

/* --------------------------------------------------------------------------------------- quarter turns */

static int run_turn(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                    const leat__picture *in, void *out, leat_error *err) {
    const size_t pixel = (size_t)in->channels * leat_dtype_size(in->dtype);
    (void)d, (void)tools, (void)err;
    leat__image_turn(out, in->data, in->height, in->width, pixel, (leat__turn)(int)op->arg[0]);
    return 0;
}

static int map_turn(const leat__image_op *op, leat__drawing *d, double m[9], leat_error *err) {
    const double left[9] = {0, 1, 0, -1, 0, d->width, 0, 0, 1},
                 right[9] = {0, -1, d->height, 1, 0, 0, 0, 0, 1}, across[9] = {0, 1, 0, 1, 0, 0, 0, 0, 1};
    const leat__turn turn = (leat__turn)(int)op->arg[0];
    (void)err;
    memcpy(m, turn == LEAT_TURN_LEFT ? left : turn == LEAT_TURN_RIGHT ? right : across, sizeof left);
    return 0;
}

static int add_turn(leat__planner *planner, const leat__use *use, int at, leat__turn turn, leat_error *err) {
    const leat__picture_plan picture = {
        .op.arg = {turn}, .turned = true, .moves = true, .run = run_turn, .map = map_turn};
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

static int plan_rot90(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    switch ((leat__use_arg(use, "k")->i % 4 + 4) % 4) {
    case 1: return add_turn(planner, use, at, LEAT_TURN_LEFT, err);
    case 2: {
        const leat__flip both = {.x = true, .y = true, .probability = 1};
        return leat__plan_add_flip(planner, use, at, &both, err);
    }
    case 3: return add_turn(planner, use, at, LEAT_TURN_RIGHT, err);
    default: return 0;
    }
}

static int plan_transpose(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    return add_turn(planner, use, at, LEAT_TURN_TRANSPOSE, err);
}

/* ---------------------------------------------------------------------------------------------- the table */

#define SIDE(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_INT, .fallback = "", .min = 0, .max = SIDE_MAX, .help = help_ }

const leat__op leat__ops_sizes[] = {
    {.name = "crop_to_bounding_box",
     .kind = LEAT_OP_IMAGE,
     .help = "The part of a given size at a given place; only that part is decoded.",
     .like = "tf.image.crop_to_bounding_box, keras.ops.image.crop_images, keras.layers.Cropping2D, "
             "torchvision functional.crop, PIL.Image.Image.crop",
     .plan = plan_crop_to_bounding_box,
     .arg = {{.name = "y", .kind = LEAT_ARG_INT, .min = 0, .max = SIDE_MAX, .help = "rows above it"},
             {.name = "x", .kind = LEAT_ARG_INT, .min = 0, .max = SIDE_MAX, .help = "columns to its left"},
             LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "pad",
     .kind = LEAT_OP_IMAGE,
     .help = "A border around the picture.",
     .like = "tf.image.pad_to_bounding_box, tf.pad, keras.ops.image.pad_images, keras.layers.ZeroPadding2D, "
             "torchvision Pad, PIL.ImageOps.expand",
     .plan = plan_pad,
     .arg = {{.name = "top", .kind = LEAT_ARG_INT, .min = 0, .max = SIDE_MAX, .help = "rows"},
             SIDE("bottom", "rows; as top if left out"),
             SIDE("left", "columns; as top if left out"),
             SIDE("right", "columns; as left if left out"),
             LEAT_ARG_PAD_MODE,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_with_crop_or_pad",
     .kind = LEAT_OP_IMAGE,
     .help = "This size by cutting off or adding zeros, the same on both sides; values stay as they are.",
     .like = "tf.image.resize_with_crop_or_pad, torchvision CenterCrop",
     .plan = plan_resize_with_crop_or_pad,
     .arg = {LEAT_ARG_HEIGHT, LEAT_ARG_WIDTH, LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_with_pad",
     .kind = LEAT_OP_IMAGE,
     .help = "Resized to fit into this size with its aspect ratio, with zeros around it.",
     .like = "tf.image.resize_with_pad, keras.utils.image_dataset_from_directory(pad_to_aspect_ratio), "
             "PIL.ImageOps.pad",
     .plan = plan_resize_with_pad,
     .arg = {LEAT_ARG_HEIGHT, LEAT_ARG_WIDTH, LEAT_ARG_TF_METHOD, LEAT_ARG_ANTIALIAS, LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_shorter",
     .kind = LEAT_OP_IMAGE,
     .help =
         "Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.",
     .like = "torchvision Resize",
     .plan = plan_resize_shorter,
     .arg = {{.name = "size",
              .kind = LEAT_ARG_INT,
              .min = 1,
              .max = SIDE_MAX,
              .help = "of the shorter side, in pixels"},
             {.name = "max_size",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = SIDE_MAX,
              .named = true,
              .help = "most pixels of the longer side; 0: any"},
             LEAT_ARG_METHOD,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "pil",
              .words = "pil|tf",
              .named = true,
              .help = "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"},
             LEAT_ARG_ANTIALIAS,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "rot90",
     .kind = LEAT_OP_IMAGE,
     .help = "Turned counter-clockwise by quarters.",
     .like = "tf.image.rot90, keras.ops.rot90, PIL.Image.Image.transpose",
     .plan = plan_rot90,
     .arg = {{.name = "k",
              .kind = LEAT_ARG_INT,
              .fallback = "1",
              .min = -1000,
              .max = 1000,
              .help = "how many quarters; below 0: clockwise"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "transpose",
     .kind = LEAT_OP_IMAGE,
     .help = "Rows become columns.",
     .like = "tf.image.transpose, PIL.Image.Image.transpose",
     .plan = plan_transpose,
     .arg = {LEAT_ARG_FIELD_NAMED}},
    {0},
};
