/* SPDX-License-Identifier: Apache-2.0 */
/* Blur, sharpness and noise. */
#include <stdio.h>

#include "image/colour/enhance.h"
#include "image/colour/filter2d.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

static size_t count_values(const leat__picture *in) {
    return (size_t)in->height * (size_t)in->width * (size_t)in->channels;
}

/* The picture as the result has it: u8 as it is, or as f32 within bounds. */
static void pass_on(const leat__picture_tools *tools, const leat__picture *in, void *out, bool keras,
                    const double range[2]) {
    const size_t n = count_values(in);
    if (keras && in->dtype == LEAT_DTYPE_U8) {
        const leat__chain none = {.n = 0, .channels = 1};
        tools->dsp->from_u8(out, in->data, n, &none, false);
    } else {
        memcpy(out, in->data, n * leat_dtype_size(in->dtype));
    }
    if (keras) tools->dsp->clamp(out, n, (float)range[0], (float)range[1]);
}

/* ----------------------------------------------------------------------------------------------- blur */

enum { TAPS, SIGMA_LOW, SIGMA_HIGH, P, KERAS, RANGE_LOW, RANGE_HIGH }; /* of leat__image_op.arg */

static int run_blur(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                    const leat__picture *in, void *out, leat_error *err) {
    const bool keras = op->arg[KERAS] != 0;
    if (!leat__draw_applies(d, op->arg[P])) {
        pass_on(tools, in, out, keras, op->arg + RANGE_LOW);
        return 0;
    }
    double sigma[2];
    sigma[0] = sigma[1] = leat__draw_between(d, op->arg[SIGMA_LOW], op->arg[SIGMA_HIGH]);
    if (keras) { /* one for each axis */
        sigma[1] = leat__draw_between(d, op->arg[SIGMA_LOW], op->arg[SIGMA_HIGH]);
        for (int i = 0; i < 2; i++) sigma[i] = (double)((float)sigma[i] + 1e-6f);
    }
    leat__params_add(d, keras ? "sigma_x" : "sigma", sigma[0]);
    if (keras) leat__params_add(d, "sigma_y", sigma[1]);
    leat__blur blur = {.taps_x = (int)op->arg[TAPS],
                       .taps_y = (int)op->arg[TAPS],
                       .edge = keras ? LEAT_EDGE_ZERO : LEAT_EDGE_REFLECT};
    leat__blur_weights(blur.weight_x, blur.taps_x, sigma[0]);
    leat__blur_weights(blur.weight_y, blur.taps_y, sigma[1]);
    LEAT_TRY(leat__blur_run(&blur, tools->dsp, out, keras ? LEAT_DTYPE_F32 : in->dtype, in->data, in->dtype,
                            in->height, in->width, in->channels, tools->buf, err));
    if (keras)
        tools->dsp->clamp(out, count_values(in), (float)op->arg[RANGE_LOW], (float)op->arg[RANGE_HIGH]);
    return 0;
}

static int plan_blur(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const bool keras = leat__use_arg(use, "flavour")->i == 1;
    leat__picture_plan picture = {.op.arg = {[TAPS] = (double)leat__use_arg(use, "kernel")->i,
                                             [P] = leat__use_arg(use, "p")->x,
                                             [KERAS] = keras},
                                  .dtype = keras ? LEAT_DTYPE_F32 : 0,
                                  .run = run_blur};
    if (leat__use_arg(use, "kernel")->i % 2 == 0)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "kernel must be odd: 3, 5, 7, ...");
    LEAT_TRY(leat__plan_read_range(use, "sigma", picture.op.arg + SIGMA_LOW, err));
    if (!(picture.op.arg[SIGMA_LOW] > 0) && !(keras && picture.op.arg[SIGMA_LOW] == 0))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "sigma must be above 0, such as 0.1,2");
    LEAT_TRY(leat__read_bounds(use, picture.op.arg + RANGE_LOW, err));
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

/* ------------------------------------------------------------------------------------------ sharpness */

enum { LOW, HIGH, DRAWN = TAPS + 8 }; /* other arguments as above */

static int run_sharpness(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                         const leat__picture *in, void *out, leat_error *err) {
    const bool keras = op->arg[KERAS] != 0;
    if (!leat__draw_applies(d, op->arg[P])) {
        pass_on(tools, in, out, keras, op->arg + RANGE_LOW);
        return 0;
    }
    const double factor = leat__draw_between(d, op->arg[LOW], op->arg[HIGH]);
    if (op->arg[DRAWN] != 0) leat__params_add(d, "factor", factor);
    if (keras)
        return leat__sharpen_run(factor, (float)op->arg[RANGE_LOW], (float)op->arg[RANGE_HIGH], tools->dsp,
                                 out, LEAT_DTYPE_F32, in->data, in->dtype, in->height, in->width,
                                 in->channels, tools->buf, err);
    leat__enhance_sharpness(out, in->data, in->height, in->width, in->channels, (float)factor);
    return 0;
}

static int add_sharpness(leat__planner *planner, const leat__use *use, double low, double high, double p,
                         leat_error *err) {
    int at;
    const bool keras = leat__use_arg(use, "flavour")->i == 1;
    LEAT_TRY(leat__plan_find_picture(planner, use, keras ? LEAT_PICTURES_POINT : LEAT_PICTURES_U8, &at, err));
    if (high < low) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "upper must not be below lower");
    if (keras && (low < 0 || high > 1))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "flavour=keras takes factors from 0 to 1; 0.5 changes nothing");
    leat__picture_plan picture = {
        .op.arg = {[LOW] = low, [HIGH] = high, [P] = p, [KERAS] = keras, [DRAWN] = use->op->random},
        .dtype = keras ? LEAT_DTYPE_F32 : 0,
        .run = run_sharpness};
    LEAT_TRY(leat__read_bounds(use, picture.op.arg + RANGE_LOW, err));
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

static int plan_adjust_sharpness(leat__planner *planner, const leat__use *use, leat_error *err) {
    const double factor = leat__use_arg(use, "factor")->x;
    return add_sharpness(planner, use, factor, factor, 1, err);
}

static int plan_random_sharpness(leat__planner *planner, const leat__use *use, leat_error *err) {
    return add_sharpness(planner, use, leat__use_arg(use, "lower")->x, leat__use_arg(use, "upper")->x,
                         leat__use_arg(use, "p")->x, err);
}

/* ---------------------------------------------------------------------------------------------- noise */

static int draw_noise(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)err;
    const bool bytes = d->dtype == LEAT_DTYPE_U8, clip = op->arg[2] != 0;
    const double scale = bytes ? 255 : 1;
    const leat__pixel_args args = {.p = {(float)(op->arg[1] * scale), (float)(op->arg[0] * scale),
                                         clip ? 0.0f : -__builtin_inff(), clip ? 1.0f : __builtin_inff()},
                                   .key = leat__rng_u64(&d->rng)};
    if (d->params) {
        char key[20];
        snprintf(key, sizeof key, "%016" PRIx64, args.key);
        leat__params_add_word(d, "key", key);
    }
    leat__add_pixels(pass, d->dtype, LEAT_PIXELS_NOISE, &args);
    return 0;
}

static int plan_noise(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const leat__point_plan point = {.op.arg = {leat__use_arg(use, "stddev")->x, leat__use_arg(use, "mean")->x,
                                               (double)leat__use_arg(use, "clip")->i},
                                    .n_points = 1,
                                    .dtype = leat__plan_picture(planner, at)->dtype,
                                    .positional = true,
                                    .draw = draw_noise};
    return leat__plan_add_point(planner, use, at, &point, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define ARG_SHARPNESS_FLAVOUR                                                                                \
    {                                                                                                        \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "pil", .words = "pil|keras", .named = true,    \
        .help = "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips" \
    }

const leat__op leat__ops_blur[] = {
    {.name = "gaussian_blur",
     .kind = LEAT_OP_IMAGE,
     .help = "Blurs with a Gaussian of drawn width.",
     .like = "keras.layers.RandomGaussianBlur, keras.ops.image.gaussian_blur, torchvision GaussianBlur, "
             "albumentations GaussianBlur",
     .random = true,
     .plan = plan_blur,
     .arg = {{.name = "kernel",
              .also = "kernel_size",
              .kind = LEAT_ARG_INT,
              .min = 1,
              .max = LEAT_BLUR_TAPS,
              .help = "pixels along each axis, an odd number"},
             {.name = "sigma",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.1,2",
              .help = "standard deviation, from,to"},
             LEAT_ARG_P("1"),
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "torch",
              .words = "torch|keras",
              .named = true,
              .help = "torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips"},
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_sharpness",
     .kind = LEAT_OP_IMAGE,
     .help = "Blends with the smoothed picture, or away from it.",
     .like = "torchvision functional.adjust_sharpness, PIL.ImageEnhance.Sharpness",
     .plan = plan_adjust_sharpness,
     .arg = {{.name = "factor", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "0 is smooth"},
             ARG_SHARPNESS_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_sharpness",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "keras.layers.RandomSharpness, torchvision RandomAdjustSharpness, albumentations Sharpen",
     .random = true,
     .plan = plan_random_sharpness,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "least factor"},
             {.name = "upper", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "largest factor"},
             LEAT_ARG_P("1"),
             ARG_SHARPNESS_FLAVOUR,
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "gaussian_noise",
     .kind = LEAT_OP_IMAGE,
     .help = "Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.",
     .like = "keras.layers.GaussianNoise, torchvision GaussianNoise, albumentations GaussNoise",
     .random = true,
     .plan = plan_noise,
     .arg = {{.name = "stddev", .kind = LEAT_ARG_NUMBER, .max = 1e6, .help = "its standard deviation"},
             {.name = "mean",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .min = -1e6,
              .max = 1e6,
              .named = true,
              .help = "of the noise"},
             {.name = "clip",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "f32: keep values within 0 to 1, as torchvision"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
