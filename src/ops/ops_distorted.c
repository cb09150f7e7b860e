/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a picture that TensorFlow draws, as Inception and many after it were trained.
 *
 * All in float32 as there, since the areas are compared. A drawn box never touches the last row or column unless it
 * takes them all: TensorFlow draws its place below (side - length), and not up to it. */
#include "base/maths.h"
#include "ops/ops_args.h"
#include "plan/planner.h"

static double rounded_root(float x) {
    return leat__round_even((double)(float)leat__sqrt((double)x));
}

static double width_for(double height, float ratio) {
    return leat__round_even((double)((float)height * ratio));
}

typedef struct objects { /* boxes of which one must be covered */
    int value;
    const leat__follow_plan *plan;
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
        leat__follow_read_box(all->plan, value, i, d->height, d->width, b);
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
    leat__params_add(d, "x", box->x);
    leat__params_add(d, "y", box->y);
    leat__params_add(d, "width", box->width);
    leat__params_add(d, "height", box->height);
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
        LEAT_TRY(leat__follow_need(planner, use, at, all.value, &all.plan, err));
        crop.op.more = leat__plan_keep(planner, &all, sizeof all, err);
        if (!crop.op.more) return LEAT_ERR_MEMORY;
    }
    const bool antialias = leat__use_arg(use, "antialias")->i != 0;
    LEAT_TRY(leat__plan_read_method(planner, use, at, false, antialias, &resample, err));
    LEAT_TRY(leat__plan_add_crop(planner, use, at, &crop, err));
    return leat__plan_add_resize(planner, use, at, resample, height, width, err);
}

const leat__op leat__ops_distorted[] = {
    {.name = "sample_distorted_bounding_box",
     .kind = LEAT_OP_IMAGE,
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
