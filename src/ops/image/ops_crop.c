/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a picture, given or drawn before it is decoded. */
#include "base/maths.h"
#include "ops/ops_shared.h"
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

/* ---------------------------------------------------------------------------------------- given parts */

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

static int draw_fraction(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    (void)err;
    box->y = (int)((d->height - d->height * op->arg[0]) / 2);
    box->x = (int)((d->width - d->width * op->arg[0]) / 2);
    box->height = d->height - 2 * box->y;
    box->width = d->width - 2 * box->x;
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
    if (op->arg[2] != 0) {
        box->y = (int)leat__round_even((d->height - height) / 2.0);
        box->x = (int)leat__round_even((d->width - width) / 2.0);
    }
    return 0;
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
    const leat__crop_plan crop = {.op.arg[2] = (double)leat__use_arg(use, "flavour")->i, .draw = draw_centre};
    return plan_sized_crop(planner, use, crop, err);
}

/* ---------------------------------------------------------------------------------------- drawn parts */

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

/* ----------------------------------------------------------------------------- as TensorFlow draws it */

/* The parts of a picture that Inception and many after it were trained on. All in float32 as there, since the areas are
 * compared. A drawn box never touches the last row or column unless it takes them all: TensorFlow draws its place below
 * (side - length), and not up to it. */

static double rounded_root(float x) {
    return leat__round_even((double)(float)leat__sqrt((double)x));
}

static double width_for(double height, float ratio) {
    return leat__round_even((double)((float)height * ratio));
}

typedef struct objects { /* boxes of which one must be covered */
    int value;
    const leat__coords_plan *plan;
} objects;

/* Whether the part has enough of an object; without objects the whole picture is one. Their corners are cut to whole
 * pixels, as TensorFlow does it, and those of less than a pixel do not count. */
static bool covers(const leat__image_op *op, const leat__drawing *d, const leat__box *box) {
    const objects *all = op->more;
    const leat__value *value = all ? &d->values[all->value] : NULL;
    const size_t n = value ? value->bytes / leat_dtype_size(value->dtype) / 4 : 0;
    const float least = (float)op->arg[5];
    if (n == 0)
        return (float)((double)box->width * box->height) / (float)((double)d->width * d->height) >= least;
    for (size_t i = 0; i < n; i++) {
        double b[4];
        leat__coords_read_box(all->plan, value, i, d->height, d->width, b);
        for (int k = 0; k < 4; k++)
            b[k] = (double)(int)(b[k] > 0 ? LEAT_MIN(b[k], (double)(k % 2 ? d->height : d->width)) : 0);
        const double area = (b[2] - b[0]) * (b[3] - b[1]);
        const double wide = LEAT_MIN(b[2], (double)box->x + box->width) - LEAT_MAX(b[0], (double)box->x);
        const double tall = LEAT_MIN(b[3], (double)box->y + box->height) - LEAT_MAX(b[1], (double)box->y);
        if (!(b[2] > b[0] && area >= 1)) continue;
        const double shared = wide > 0 && tall > 0 ? wide * tall : 0;
        if ((float)shared / (float)area >= least) return true;
    }
    return false;
}

static bool try_box(const leat__image_op *op, leat__drawing *d, leat__box *box) {
    const float low = (float)op->arg[2], high = (float)op->arg[3];
    const float unit = (float)(leat__rng_u64(&d->rng) >> 40) * 0x1p-24f;
    const float ratio = unit * (high - low) + low;
    const float area_min = (float)op->arg[0] * (float)d->width * (float)d->height;
    const float area_max = (float)op->arg[1] * (float)d->width * (float)d->height;
    double height = rounded_root(area_min / ratio), most = rounded_root(area_max / ratio);
    if (width_for(most, ratio) > d->width) {
        const double exact = (d->width + 0.5 - (double)0.0000001f) / (double)ratio;
        most = (double)(int64_t)LEAT_MIN(exact, 1e9);
        if (width_for(most, ratio) > d->width) most -= 1;
    }
    most = LEAT_MIN(most, d->height);
    height = LEAT_MIN(height, most);
    if (height < most) height += (double)leat__rng_below(&d->rng, (uint64_t)(most - height) + 1);
    double width = width_for(height, ratio);
    float area = (float)(width * height);
    if (area < area_min) {
        height += 1;
        width = width_for(height, ratio);
        area = (float)(width * height);
    }
    if (area > area_max) {
        height -= 1;
        width = width_for(height, ratio);
        area = (float)(width * height);
    }
    if (area < area_min || area > area_max || width > d->width || height > d->height || width < 1 ||
        height < 1)
        return false;
    *box = (leat__box){.width = (int)width, .height = (int)height};
    if (box->height < d->height) box->y = (int)leat__rng_below(&d->rng, (uint64_t)(d->height - box->height));
    if (box->width < d->width) box->x = (int)leat__rng_below(&d->rng, (uint64_t)(d->width - box->width));
    return covers(op, d, box);
}

/* arg: area from, to, ratio from, to, attempts, share of the picture that must be covered. */
static int draw_distorted(const leat__image_op *op, leat__drawing *d, leat__box *box, leat_error *err) {
    (void)err;
    int left = (int)op->arg[4];
    while (left > 0 && !try_box(op, d, box)) left--;
    if (left == 0) *box = (leat__box){.width = d->width, .height = d->height};
    note_box(d, box);
    return 0;
}

static int plan_distorted(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    leat__resample resample;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    leat__crop_plan crop = {.draw = draw_distorted};
    double *area = crop.op.arg, *ratio = crop.op.arg + 2;
    LEAT_TRY(leat__plan_read_range(use, "area", area, err));
    LEAT_TRY(leat__plan_read_range(use, "ratio", ratio, err));
    if (!(area[0] > 0) || area[1] > 1)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "area must be above 0 and at most 1, such as 0.05,1");
    if (!(ratio[0] >= 1e-3) || ratio[1] > 1e3)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "ratio must be from 0.001 to 1000, such as 0.75,1.33");
    crop.op.arg[4] = (double)leat__use_arg(use, "attempts")->i;
    crop.op.arg[5] = leat__use_arg(use, "covered")->x;
    leat__plan_read_size(use, &height, &width);
    if (leat__use_arg(use, "box_field")->given) {
        objects all;
        LEAT_TRY(leat__plan_field_find(planner, use, "box_field", &all.value, err));
        LEAT_TRY(leat__coords_need(planner, use, at, all.value, &all.plan, err));
        crop.op.more = leat__plan_keep(planner, &all, sizeof all, err);
        if (!crop.op.more) return LEAT_ERR_MEMORY;
    }
    const bool antialias = leat__use_arg(use, "antialias")->i != 0;
    LEAT_TRY(leat__plan_read_method(planner, use, at, false, antialias, &resample, err));
    LEAT_TRY(leat__plan_add_crop(planner, use, at, &crop, err));
    return leat__plan_add_resize(planner, use, at, resample, height, width, err);
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_crop[] = {
    {.name = "crop_to_bounding_box",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_CUTS,
     .help = "The part of a given size at a given place; only that part is decoded.",
     .like = "tf.image.crop_to_bounding_box, keras.ops.image.crop_images, keras.layers.Cropping2D, "
             "torchvision functional.crop, PIL.Image.Image.crop",
     .plan = plan_crop_to_bounding_box,
     .arg =
         {{.name = "y", .kind = LEAT_ARG_INT, .min = 0, .max = LEAT_SIDE_MAX, .help = "rows above it"},
          {.name = "x", .kind = LEAT_ARG_INT, .min = 0, .max = LEAT_SIDE_MAX, .help = "columns to its left"},
          LEAT_ARG_HEIGHT,
          LEAT_ARG_WIDTH,
          LEAT_ARG_FIELD_NAMED}},
    {.name = "central_crop",
     .kind = LEAT_OP_IMAGE,
     .help = "The middle part, a share of each side; only that part is decoded.",
     .like = "tf.image.central_crop",
     .plan = plan_central_crop,
     .arg = {{.name = "fraction", .kind = LEAT_ARG_NUMBER, .max = 1, .help = "of height and of width"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "center_crop",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_CUTS,
     .help = "The middle part, of a given size; only that part is decoded.",
     .like = "keras.layers.CenterCrop, torchvision CenterCrop, albumentations CenterCrop",
     .plan = plan_center_crop,
     .arg = {LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "keras",
              .words = "keras|torch",
              .named = true,
              .help =
                  "where an odd number is left over: keras begins half a pixel before the middle, torch at "
                  "the even number"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_crop",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_CUTS,
     .help = "A part of a given size at a drawn place; only that part is decoded.",
     .like = "tf.image.random_crop, tf.image.stateless_random_crop, keras.layers.RandomCrop, torchvision "
             "RandomCrop, albumentations RandomCrop",
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
     .flags = LEAT_OP_FITS,
     .help = "A part of drawn area, aspect ratio and place, resized; only that part is decoded.",
     .like = "torchvision RandomResizedCrop, albumentations RandomResizedCrop",
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
    {.name = "sample_distorted_bounding_box",
     .kind = LEAT_OP_IMAGE,
     .flags = LEAT_OP_FITS,
     .help =
         "A part of drawn height, aspect ratio and place as TensorFlow draws it, resized; only that part is "
         "decoded.",
     .like = "tf.image.sample_distorted_bounding_box, tf.image.stateless_sample_distorted_bounding_box",
     .random = true,
     .plan = plan_distorted,
     .arg = {LEAT_ARG_HEIGHT,
             LEAT_ARG_WIDTH,
             {.name = "area",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.05,1",
              .named = true,
              .help = "share of the picture's area, from,to"},
             {.name = "ratio",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.75,1.33",
              .named = true,
              .help = "width over height, from,to"},
             {.name = "attempts",
              .kind = LEAT_ARG_INT,
              .fallback = "100",
              .min = 1,
              .max = 10000,
              .named = true,
              .help = "then the whole picture is taken"},
             {.name = "covered",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0.1",
              .max = 1,
              .named = true,
              .help = "least share of the picture, or of one of its boxes, as min_object_covered"},
             {.name = "box_field",
              .kind = LEAT_ARG_FIELD,
              .fallback = "",
              .named = true,
              .help = "boxes of which at least one is covered; without it the whole picture"},
             LEAT_ARG_TF_METHOD,
             LEAT_ARG_ANTIALIAS,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
