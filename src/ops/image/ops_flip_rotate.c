/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrored and turned pictures. Flips cost nothing, quarter turns move whole pixels, and rotation by any angle samples as
 * the other layers of ops_warp.c do. */
#include "base/maths.h"
#include "image/warp/turn.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ---------------------------------------------------------------------------------------------- flips */

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

static int plan_random_flip(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    const int64_t mode = leat__use_arg(use, "mode")->i;
    const leat__flip flip = {.x = mode != 2, .y = mode != 1, .probability = 0.5};
    return leat__plan_add_flip(planner, use, at, &flip, err);
}

/* -------------------------------------------------------------------------------------- quarter turns */

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

/* ------------------------------------------------------------------------------------------- rotation */

static int draw_rotation(const leat__image_op *op, leat__drawing *d, leat__warp *warp, leat__pass *pass,
                         leat_error *err) {
    (void)pass;
    LEAT_TRY(leat__sampling_begin(op->more, d, warp, err));
    const float angle = (float)leat__draw_between(d, op->arg[0] * 360, op->arg[1] * 360);
    leat__params_add(d, "angle", (double)angle);
    const double turn = (double)(angle * (float)(LEAT_PI / 180));
    const float c = (float)leat__cos(turn), s = (float)leat__sin(turn);
    const float cx = 0.5f * (float)(d->width - 1), cy = 0.5f * (float)(d->height - 1);
    leat__warp_set(warp, c, -s, (cx - cx * c) - cy * -s, s, c, (cy - cx * s) - cy * c);
    return 0;
}

static int plan_rotation(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__warp_plan plan = {.draw = draw_rotation};
    LEAT_TRY(leat__range_read(use, "factor", 0, -1, 1, plan.op.arg, err));
    return leat__warp_add(planner, use, LEAT_WARP_TF, "fill", plan, err);
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_flip_rotate[] = {
    {.name = "random_flip_left_right",
     .kind = LEAT_OP_IMAGE,
     .help = "Mirrors left and right, by chance.",
     .like = "tf.image.random_flip_left_right, tf.image.stateless_random_flip_left_right, "
             "tf.image.flip_left_right, keras.layers.RandomFlip(mode=\"horizontal\"), keras "
             "ImageDataGenerator(horizontal_flip), torchvision RandomHorizontalFlip, albumentations "
             "HorizontalFlip",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_flip_x,
     .arg = {LEAT_ARG_CHANCE("0.5"), LEAT_ARG_FIELD_NAMED}},
    {.name = "random_flip_up_down",
     .kind = LEAT_OP_IMAGE,
     .help = "Mirrors top and bottom, by chance.",
     .like = "tf.image.random_flip_up_down, tf.image.stateless_random_flip_up_down, tf.image.flip_up_down, "
             "keras.layers.RandomFlip(mode=\"vertical\"), keras ImageDataGenerator(vertical_flip), "
             "torchvision RandomVerticalFlip, albumentations VerticalFlip",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_flip_y,
     .arg = {LEAT_ARG_CHANCE("0.5"), LEAT_ARG_FIELD_NAMED}},
    {.name = "random_flip",
     .kind = LEAT_OP_IMAGE,
     .help = "Mirrors half of the pictures; with both directions, one coin decides about both.",
     .like = "keras.layers.RandomFlip",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_random_flip,
     .arg = {{.name = "mode",
              .kind = LEAT_ARG_WORD,
              .fallback = "horizontal_and_vertical",
              .words = "horizontal_and_vertical|horizontal|vertical",
              .help = "which way"},
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
     .like = "tf.image.transpose, PIL.Image.Image.transpose, albumentations Transpose",
     .plan = plan_transpose,
     .arg = {LEAT_ARG_FIELD_NAMED}},
    {.name = "random_rotation",
     .kind = LEAT_OP_IMAGE,
     .help = "Turns the picture about its middle, counter-clockwise for positive numbers.",
     .like = "keras.layers.RandomRotation, albumentations Rotate",
     .random = true,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_rotation,
     .arg = {LEAT_ARG_RANGE("factor", NULL,
                            "share of a full turn: 0.1 is up to 36 degrees either way; or low,high"),
             LEAT_ARGS_WARP}},
    {0},
};
