/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing: to a size, to one that keeps the aspect ratio, to that of a bucket. As tf.image, Keras, torchvision and Pillow
 * do it: where those libraries compute a size in float32, so does this file, since one pixel more or less would shift the
 * whole picture. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* -------------------------------------------------------------------------------------- aspect ratios */

/* Keras: a side is so long that side over other side is as in the target, cut to a whole number in float32. */
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

/* What crop_to_aspect_ratio and pad_to_aspect_ratio put in front of a resize to height x width, or to the size of the
 * batch's bucket if there are sizes, which are the plan's. */
static int fit_aspect(leat__planner *planner, const leat__use *use, int at, int height, int width,
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

/* --------------------------------------------------------------------------------------------- resize */

/* Floats from 2^23 on have no fraction: adding and taking away 1.5 * 2^23 rounds, halves to even. */
static int draw_rounding(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const float large = 12582912.0f;
    (void)op, (void)d, (void)err;
    leat__pass_add_scale(pass, 1.0f, large);
    leat__pass_add_scale(pass, 1.0f, -large);
    leat__pass_add_to_u8(pass);
    return 0;
}

/* f32 to u8, to the nearest whole number, halves to even. */
static int round_to_u8(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    const leat__point_plan point = {.n_points = 3, .dtype = LEAT_DTYPE_U8, .draw = draw_rounding};
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int plan_resize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    leat__resample resample;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    const bool pil = leat__use_arg(use, "flavour")->i == 1, keras = leat__use_arg(use, "flavour")->i == 2;
    const bool bytes = leat__plan_picture(planner, at)->dtype == LEAT_DTYPE_U8;
    const leat__arg_value *antialias = leat__use_arg(use, "antialias");
    LEAT_TRY(leat__plan_read_method(planner, use, at, pil, antialias->i != 0, &resample, err));
    if (pil && antialias->given && !antialias->i && resample != LEAT_RESAMPLE_PIL_NEAREST)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "flavour=pil always antialiases: leave antialias out, or take flavour=tf");
    leat__plan_read_size(use, &height, &width);
    LEAT_TRY(fit_aspect(planner, use, at, height, width, NULL, err));
    LEAT_TRY(leat__plan_add_resize(planner, use, at, resample, height, width, err));
    return keras && bytes && leat__resample_gives_f32(resample) ? round_to_u8(planner, use, at, err) : 0;
}

/* ---------------------------------------------------------------------------- with a part or a border */

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

/* ----------------------------------------------------------------------------------- the shorter side */

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
    if (longer > LEAT_SIDE_MAX || shorter < 1)
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

/* -------------------------------------------------------------------------------------------- buckets */

static int draw_size(const leat__image_op *op, leat__drawing *d, int *height, int *width, leat_error *err) {
    const leat__bucket_sizes *sizes = op->more;
    (void)err;
    *height = sizes->height[d->bucket];
    *width = sizes->width[d->bucket];
    return 0;
}

static int plan_resize_to_bucket(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    leat__resample resample;
    const leat__bucket_sizes *sizes = &planner->plan->bucket_sizes;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    if (!sizes->n)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there are no sizes: write bucket_by_aspect_ratio edges=... sizes=... before");
    const bool pil = leat__use_arg(use, "flavour")->i == 0,
               antialias = leat__use_arg(use, "antialias")->i != 0;
    LEAT_TRY(leat__plan_read_method(planner, use, at, pil, antialias, &resample, err));
    sizes = leat__plan_keep(planner, sizes, sizeof *sizes, err);
    if (!sizes) return LEAT_ERR_MEMORY;
    LEAT_TRY(fit_aspect(planner, use, at, 0, 0, sizes, err));
    const leat__size_plan size = {.op.more = sizes, .draw = draw_size, .by_bucket = true};
    return leat__plan_add_resize_by(planner, use, at, resample, &size, err);
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_resize[] = {
    {.name = "resize",
     .kind = LEAT_OP_IMAGE,
     .help = "Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and "
             "gives u8.",
     .like = "tf.image.resize, keras.layers.Resizing, keras.ops.image.resize, "
             "keras.preprocessing.image.smart_resize, torchvision Resize, PIL.Image.Image.resize, "
             "albumentations Resize",
     .flags = LEAT_OP_RESIZES | LEAT_OP_FITS,
     .plan = plan_resize,
     .arg = {LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             LEAT_ARG_METHOD,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "tf",
              .words = "tf|pil|keras",
              .named = true,
              .help = "whose arithmetic: tf.image.resize, Pillow, or tf rounded back to u8"},
             {.name = "antialias",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "widen the filter when the picture shrinks; pil always does"},
             LEAT_ARGS_ASPECT_RATIO,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_with_crop_or_pad",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_CUTS,
     .help = "This size by cutting off or adding zeros, the same on both sides; values stay as they are.",
     .like = "tf.image.resize_with_crop_or_pad, torchvision CenterCrop, albumentations PadIfNeeded",
     .plan = plan_resize_with_crop_or_pad,
     .arg = {LEAT_ARG_HEIGHT, LEAT_ARG_WIDTH, LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_with_pad",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_FITS,
     .help = "Resized to fit into this size with its aspect ratio, with zeros around it.",
     .like = "tf.image.resize_with_pad, keras.utils.image_dataset_from_directory(pad_to_aspect_ratio), "
             "PIL.ImageOps.pad, albumentations LongestMaxSize",
     .plan = plan_resize_with_pad,
     .arg = {LEAT_ARG_HEIGHT, LEAT_ARG_WIDTH, LEAT_ARG_TF_METHOD, LEAT_ARG_ANTIALIAS, LEAT_ARG_FIELD_NAMED}},
    {.name = "resize_shorter",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_FITS,
     .help =
         "Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.",
     .like = "torchvision Resize, albumentations SmallestMaxSize",
     .plan = plan_resize_shorter,
     .arg = {{.name = "size",
              .kind = LEAT_ARG_INT,
              .min = 1,
              .max = LEAT_SIDE_MAX,
              .help = "of the shorter side, in pixels"},
             {.name = "max_size",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = LEAT_SIDE_MAX,
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
    {.name = "resize_to_bucket",
     .kind = LEAT_OP_IMAGE,
     .help = "The size that bucket_by_aspect_ratio gives to the batch of the picture.",
     .like = "",
     .plan = plan_resize_to_bucket,
     .arg = {LEAT_ARG_METHOD,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "pil",
              .words = "pil|tf",
              .named = true,
              .help = "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"},
             LEAT_ARG_ANTIALIAS,
             LEAT_ARGS_ASPECT_RATIO,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
