/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that nearly every pipeline of pictures has: decode, resize, flips, brightness, normalize, cast. */
#include "ops/ops_args.h"
#include "ops/ops_colour.h"
#include "plan/planner.h"

static int plan_decode(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat_field *info = &planner->field[at].info;
    if (info->dtype != LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not an image file", info->name,
                               leat_dtype_name(info->dtype));
    leat__decode_options options = {.channels = (int)leat__use_arg(use, "channels")->i,
                                    .orient = leat__use_arg(use, "orient")->i != 0,
                                    .deep = leat__use_arg(use, "depth")->i == 1,
                                    .indices = leat__use_arg(use, "palette")->i == 1};
    if (options.channels == 2)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "channels must be 0, 1, 3 or 4");
    if (options.indices && (options.deep || (leat__use_arg(use, "channels")->given && options.channels != 1)))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "palette=index gives one channel of u8: leave channels and depth out");
    if (options.indices) options.channels = 1;
    for (int i = 0; i < planner->spec->n_uses; i++)
        if (planner->spec->use[i].op->plan == leat__plan_options)
            options.fast |= leat__use_arg(&planner->spec->use[i], "accuracy")->i != 0;
    LEAT_TRY(leat__plan_add_decode(planner, use, at, &options, err));
    info->ndim = 3;
    info->ragged = 0;
    info->shape[0] = info->shape[1] = -1;
    info->shape[2] = options.channels ? options.channels : -1;
    return 0;
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
    LEAT_TRY(leat__plan_fit_aspect(planner, use, at, height, width, NULL, err));
    LEAT_TRY(leat__plan_add_resize(planner, use, at, resample, height, width, err));
    return keras && bytes && leat__resample_gives_f32(resample)
               ? leat__plan_round_to_u8(planner, use, at, err)
               : 0;
}

static int plan_flip(leat__planner *planner, const leat__use *use, bool vertical, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    const leat__flip flip = {.x = !vertical, .y = vertical, .probability = leat__use_arg(use, "p")->x};
    return leat__plan_add_flip(planner, use, at, &flip, err);
}

static int plan_flip_x(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_flip(planner, use, false, err);
}

static int plan_flip_y(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_flip(planner, use, true, err);
}

static int draw_brightness(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const float delta = (float)leat__draw_between(d, -op->arg[0], op->arg[0]);
    leat__params_add(d, "delta", (double)delta);
    leat__colour_add_brightness(d, pass, (leat__colour)op->arg[1], (double)delta, op->arg + 2);
    return 0;
}

static int plan_brightness(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    leat__colour flavour;
    leat__point_plan point = {.n_points = LEAT_COLOUR_POINTS, .draw = draw_brightness};
    LEAT_TRY(leat__colour_read(planner, use, false, &at, &flavour, point.op.arg + 2, err));
    point.op.arg[0] = leat__use_arg(use, "max_delta")->x;
    point.op.arg[1] = flavour;
    point.dtype = flavour == LEAT_COLOUR_KERAS ? LEAT_DTYPE_F32 : leat__plan_picture(planner, at)->dtype;
    return leat__plan_add_point(planner, use, at, &point, err);
}

typedef struct affine_plan {
    leat__affine affine;
    int channels; /* 0 = the same for all, else the sample must match */
} affine_plan;

static int draw_affine(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const affine_plan *plan = op->more;
    if (plan->channels && plan->channels != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d means or stds, the picture has %d channels",
                          op->name, plan->channels, d->channels);
    leat__pass_add_affine(pass, &plan->affine);
    return 0;
}

static int add_affine(leat__planner *planner, const leat__use *use, int at, const affine_plan *plan,
                      leat_error *err) {
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, plan, sizeof *plan, err),
                                    .n_points = 1,
                                    .dtype = LEAT_DTYPE_F32,
                                    .draw = draw_affine};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

static int plan_normalize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n_mean, n_std;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    double mean[4], std[4], scale = leat__use_arg(use, "scale")->x;
    LEAT_TRY(leat__plan_read_numbers(use, "mean", mean, 4, &n_mean, err));
    LEAT_TRY(leat__plan_read_numbers(use, "std", std, 4, &n_std, err));
    if (leat__use_arg(use, "name")->i == 1) {
        static const double imagenet_mean[] = {0.485, 0.456, 0.406}, imagenet_std[] = {0.229, 0.224, 0.225};
        if (leat__use_arg(use, "mean")->given || leat__use_arg(use, "std")->given ||
            leat__use_arg(use, "scale")->given)
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "imagenet brings its own mean, std and scale");
        memcpy(mean, imagenet_mean, sizeof imagenet_mean);
        memcpy(std, imagenet_std, sizeof imagenet_std);
        n_mean = n_std = 3;
        scale = 1.0 / 255;
    }
    const int channels = LEAT_MAX(n_mean, n_std);
    if ((n_mean != 1 && n_mean != channels) || (n_std != 1 && n_std != channels))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "mean has %d numbers and std %d", n_mean, n_std);
    affine_plan plan = {.channels = channels > 1 ? channels : 0};
    for (int c = 0; c < 4; c++) {
        const double m = mean[c < n_mean ? c : 0], s = std[c < n_std ? c : 0];
        if (s == 0) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "std must not be 0");
        plan.affine.mul[c] = (float)(scale / s);
        plan.affine.add[c] = (float)(-m / s);
    }
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t have = info->ndim == 2 ? 1 : info->shape[2];
    if (channels > 1 && have >= 0 && have != channels)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%d means or stds for a picture of %" PRId64 " channels", channels, have);
    if (leat__use_arg(use, "layout")->i) leat__plan_set_nchw(planner, at);
    LEAT_TRY(add_affine(planner, use, at, &plan, err));
    static const int stored[] = {LEAT_DTYPE_F32, LEAT_DTYPE_F16, LEAT_DTYPE_BF16};
    const int dtype = stored[leat__use_arg(use, "dtype")->i];
    return dtype == LEAT_DTYPE_F32 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
}

/* Whether a pass can make this type of the field's values, and store it. */
static bool pass_makes(const leat_field *info, int dtype, bool affine) {
    const bool picture = info->ndim == 3 || info->ndim == 2;
    const bool from = info->dtype == LEAT_DTYPE_U8 || info->dtype == LEAT_DTYPE_F32 ||
                      (info->dtype == LEAT_DTYPE_U16 && (dtype != LEAT_DTYPE_U8 || affine));
    const bool to = dtype == LEAT_DTYPE_F32 || dtype == LEAT_DTYPE_U8 || dtype == LEAT_DTYPE_F16 ||
                    dtype == LEAT_DTYPE_BF16 || (dtype == LEAT_DTYPE_U16 && info->dtype == dtype && !affine);
    return picture && from && to;
}

static int plan_cast(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat__plan_field *field = &planner->field[at];
    const int dtype = (int)leat__use_arg(use, "dtype")->i;
    const double scale = leat__use_arg(use, "scale")->x, offset = leat__use_arg(use, "offset")->x;
    const bool affine = scale != 1 || offset != 0;
    if (field->info.dtype == LEAT_DTYPE_BYTES || dtype == LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "bytes are not numbers: write decode or decode_raw %s u8 before",
                               field->info.name);
    if (leat__use_arg(use, "layout")->i) {
        if (field->info.ndim != 3)
            return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "layout=nchw needs (height, width, channels)");
        leat__plan_set_nchw(planner, at);
    }
    const bool same = field->info.dtype == dtype && !affine;
    if (same && !field->nchw) return 0;
    if (pass_makes(&field->info, dtype, affine)) {
        /* Another layout of the same values needs a pass too, which is there already if one is open. */
        if (same) return field->pass >= 0 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
        affine_plan plan = {.channels = 0};
        for (int c = 0; c < 4; c++) {
            plan.affine.mul[c] = (float)scale;
            plan.affine.add[c] = offset == 0 ? -0.0f : (float)offset;
        }
        if (affine || dtype == LEAT_DTYPE_F32) LEAT_TRY(add_affine(planner, use, at, &plan, err));
        return dtype == LEAT_DTYPE_F32 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
    }
    if (same) return 0; /* the layout is refused where outputs are chosen */
    leat__plan_close_pass(planner, at);
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_CONVERT, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.convert.dtype = field->info.dtype = dtype;
    step->as.convert.affine = affine;
    step->as.convert.scale = scale;
    step->as.convert.offset = offset;
    return 0;
}

const leat__op leat__ops_image[] = {
    {.name = "decode",
     .kind = LEAT_OP_IMAGE,
     .help = "An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.",
     .like = "tf.io.decode_image, tf.io.decode_jpeg, tf.io.decode_png, tf.io.decode_gif, tf.io.decode_bmp, "
             "tf.io.decode_webp, tf.io.decode_and_crop_jpeg, keras.utils.load_img, torchvision "
             "io.decode_image, PIL.Image.open",
     .plan = plan_decode,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "channels",
              .kind = LEAT_ARG_INT,
              .fallback = "3",
              .max = 4,
              .named = true,
              .help = "1 gray, 3 RGB, 4 RGBA, 0 as stored"},
             {.name = "orient",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "turn the picture as its EXIF data says"},
             {.name = "depth",
              .kind = LEAT_ARG_WORD,
              .fallback = "8",
              .words = "8|16",
              .named = true,
              .help = "16: u16 pixels; files of 8 bits are multiplied by 257"},
             {.name = "palette",
              .kind = LEAT_ARG_WORD,
              .fallback = "colour",
              .words = "colour|index",
              .named = true,
              .help = "index: the numbers that a PNG with a palette stores, one channel; for masks"}}},
    {.name = "resize",
     .kind = LEAT_OP_IMAGE,
     .help = "Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and "
             "gives u8.",
     .like = "tf.image.resize, keras.layers.Resizing, keras.ops.image.resize, "
             "keras.preprocessing.image.smart_resize, torchvision Resize, PIL.Image.Image.resize",
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
    {.name = "random_flip_left_right",
     .kind = LEAT_OP_IMAGE,
     .help = "Mirrors left and right, by chance.",
     .like = "tf.image.random_flip_left_right, tf.image.stateless_random_flip_left_right, "
             "tf.image.flip_left_right, keras.layers.RandomFlip(mode=\"horizontal\"), keras "
             "ImageDataGenerator(horizontal_flip), torchvision RandomHorizontalFlip",
     .random = true,
     .plan = plan_flip_x,
     .arg = {{.name = "p", .kind = LEAT_ARG_NUMBER, .fallback = "0.5", .max = 1, .help = "how likely"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_flip_up_down",
     .kind = LEAT_OP_IMAGE,
     .help = "Mirrors top and bottom, by chance.",
     .like = "tf.image.random_flip_up_down, tf.image.stateless_random_flip_up_down, tf.image.flip_up_down, "
             "keras.layers.RandomFlip(mode=\"vertical\"), keras ImageDataGenerator(vertical_flip), "
             "torchvision RandomVerticalFlip",
     .random = true,
     .plan = plan_flip_y,
     .arg = {{.name = "p", .kind = LEAT_ARG_NUMBER, .fallback = "0.5", .max = 1, .help = "how likely"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_brightness",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is "
             "clipped.",
     .like =
         "tf.image.random_brightness, tf.image.stateless_random_brightness, keras.layers.RandomBrightness",
     .random = true,
     .plan = plan_brightness,
     .arg = {{.name = "max_delta", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "largest change"},
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "tf",
              .words = "tf|keras",
              .named = true,
              .help = "tf keeps the type; keras gives f32, changes by a share of the range and clips"},
             LEAT_ARG_COLOUR_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "normalize",
     .kind = LEAT_OP_IMAGE,
     .help = "(x * scale - mean) / std for each channel, as f32; imagenet gives the usual means, stds and "
             "scale 1/255.",
     .like = "keras.layers.Normalization, "
             "keras.applications.imagenet_utils.preprocess_input(mode=\"torch\"), torchvision Normalize",
     .plan = plan_normalize,
     .arg = {{.name = "name",
              .kind = LEAT_ARG_WORD,
              .fallback = "given",
              .words = "given|imagenet",
              .help = "known numbers"},
             {.name = "mean",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0",
              .named = true,
              .help = "one number, or one a channel: 0.5,0.4,0.3"},
             {.name = "std", .kind = LEAT_ARG_TEXT, .fallback = "1", .named = true, .help = "the same"},
             {.name = "scale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .named = true,
              .help = "factor before, such as 1/255"},
             {.name = "dtype",
              .kind = LEAT_ARG_WORD,
              .fallback = "f32",
              .words = "f32|f16|bf16",
              .named = true,
              .help = "of the result; f16 and bf16 are made of f32 when it is stored"},
             LEAT_ARG_LAYOUT,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "cast",
     .kind = LEAT_OP_SAMPLE,
     .help = "Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.",
     .like = "tf.cast, tf.image.convert_image_dtype, keras.ops.cast, keras.layers.Rescaling, torchvision "
             "ToDtype, torchvision ToTensor",
     .plan = plan_cast,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "dtype", .kind = LEAT_ARG_DTYPE, .help = "the type"},
             {.name = "scale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .named = true,
              .help = "factor, such as 1/255"},
             {.name = "offset",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .named = true,
              .help = "added afterwards"},
             LEAT_ARG_LAYOUT}},
    {0},
};
