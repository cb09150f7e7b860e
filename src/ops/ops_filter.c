/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that see the neighbours of a pixel, JPEG's noise, and holes. */
#include "base/maths.h"
#include "decode/jpeg/reencode.h"
#include "image/colour/enhance.h"
#include "image/colour/filter2d.h"
#include "ops/ops_args.h"
#include "plan/planner.h"

static size_t count_values(const leat__picture *in) {
    return (size_t)in->height * (size_t)in->width * (size_t)in->channels;
}

/* What is certain is not noted. */
static bool applies(leat__drawing *d, double p) {
    const bool yes = leat__draw_chance(d, p);
    if (p < 1) leat__params_add(d, "applied", yes);
    return yes;
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
    if (!applies(d, op->arg[P])) {
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

/* What the argument `range` says, for flavours that clip. */
static int read_bounds(const leat__use *use, double out[2], leat_error *err) {
    LEAT_TRY(leat__plan_read_range(use, "range", out, err));
    if (out[1] > out[0]) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "range must be two numbers, such as 0,255 or 0,1");
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
    LEAT_TRY(read_bounds(use, picture.op.arg + RANGE_LOW, err));
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

/* ------------------------------------------------------------------------------------------ sharpness */

enum { LOW, HIGH, DRAWN = TAPS + 8 }; /* the others as above */

static int run_sharpness(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                         const leat__picture *in, void *out, leat_error *err) {
    const bool keras = op->arg[KERAS] != 0;
    if (!applies(d, op->arg[P])) {
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
    LEAT_TRY(read_bounds(use, picture.op.arg + RANGE_LOW, err));
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

/* ----------------------------------------------------------------------------------------------- jpeg */

enum { QUALITY, QUALITY_END, FAST };

/* tf.image's way: floats of 0 to 1 become bytes by 255.5, and bytes floats by 1/255. */
static void bytes_of(uint8_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float x = src[i] * 255.5f;
        dst[i] = (uint8_t)(int)(!(x > 0.0f) ? 0.0f : x < 255.0f ? x : 255.0f);
    }
}

static void floats_of(float *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = (float)src[i] * (1.0f / 255.0f);
}

static int run_jpeg(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                    const leat__picture *in, void *out, leat_error *err) {
    const int low = (int)op->arg[QUALITY], span = (int)op->arg[QUALITY_END] - low;
    const int quality = low + (span > 1 ? (int)leat__rng_below(&d->rng, (uint64_t)span) : 0);
    const size_t n = count_values(in);
    const bool fast = op->arg[FAST] != 0;
    if (span > 1) leat__params_add(d, "quality", quality);
    if (in->dtype == LEAT_DTYPE_U8)
        return leat__reencode_jpeg(tools->decoder, &tools->buf[0], out, in->data, in->height, in->width,
                                   in->channels, quality, fast, err);
    if (!leat__buf_reserve(&tools->buf[1], n)) return leat__fail_memory(err, n, "a picture of bytes");
    uint8_t *bytes = tools->buf[1].data;
    bytes_of(bytes, in->data, n);
    LEAT_TRY(leat__reencode_jpeg(tools->decoder, &tools->buf[0], bytes, bytes, in->height, in->width,
                                 in->channels, quality, fast, err));
    floats_of(out, bytes, n);
    return 0;
}

static int add_jpeg(leat__planner *planner, const leat__use *use, int64_t low, int64_t end, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (channels >= 0 && channels != 1 && channels != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "JPEG has 1 or 3 channels, field %s has %" PRId64 ": write decode channels=3",
                               info->name, channels);
    bool fast = false;
    for (int i = 0; i < planner->spec->n_uses; i++)
        if (planner->spec->use[i].op->plan == leat__plan_options)
            fast |= leat__use_arg(&planner->spec->use[i], "accuracy")->i != 0;
    const leat__picture_plan picture = {
        .op.arg = {[QUALITY] = (double)low, [QUALITY_END] = (double)end, [FAST] = fast}, .run = run_jpeg};
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

static int plan_adjust_jpeg(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t quality = leat__use_arg(use, "quality")->i;
    return add_jpeg(planner, use, quality, quality, err);
}

static int plan_random_jpeg(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t low = leat__use_arg(use, "lower")->i, end = leat__use_arg(use, "upper")->i;
    if (end < low) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "upper must not be below lower");
    return add_jpeg(planner, use, low, end, err);
}

/* ---------------------------------------------------------------------------------------------- holes */

typedef struct erasing {
    double p, scale[2], log_ratio[2];
    int size;           /* of a cutout        */
    int n_fill;         /* 1, or the channels */
    leat__erasure like; /* what is the same for all samples */
} erasing;

static int note_hole(leat__drawing *d, const erasing *plan, leat__erasure *hole, bool *wanted,
                     leat_error *err) {
    if (plan->n_fill > 1 && plan->n_fill != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s: value has %d numbers, the picture has %d channels",
                          d->op->name, plan->n_fill, d->channels);
    leat__params_add(d, "x", hole->x);
    leat__params_add(d, "y", hole->y);
    leat__params_add(d, "width", hole->width);
    leat__params_add(d, "height", hole->height);
    if (hole->noise) hole->key = leat__rng_u64(&d->rng);
    *wanted = true;
    return 0;
}

/* torchvision's RandomErasing: ten tries, then nothing is erased. */
static int draw_erasing(const leat__image_op *op, leat__drawing *d, leat__erasure *hole, bool *wanted,
                        leat_error *err) {
    enum { TRIES = 10 };
    const erasing *plan = op->more;
    *hole = plan->like;
    if (!applies(d, plan->p)) return 0;
    const double area = (double)d->height * (double)d->width;
    for (int i = 0; i < TRIES; i++) {
        const double target = area * leat__draw_between(d, plan->scale[0], plan->scale[1]);
        const double shape = leat__exp(leat__draw_between(d, plan->log_ratio[0], plan->log_ratio[1]));
        const double h = leat__round_even(leat__sqrt(target * shape)),
                     w = leat__round_even(leat__sqrt(target / shape));
        if (!(h < d->height && w < d->width)) continue;
        hole->height = (int)h;
        hole->width = (int)w;
        hole->y = (int)leat__rng_below(&d->rng, (uint64_t)(d->height - hole->height + 1));
        hole->x = (int)leat__rng_below(&d->rng, (uint64_t)(d->width - hole->width + 1));
        return note_hole(d, plan, hole, wanted, err);
    }
    return 0;
}

static int ceiling(float x) {
    const int whole = (int)x;
    return whole + ((float)whole < x);
}

/* Keras draws the sides by themselves, and places with a fraction: those pixels go that begin inside. */
static void draw_side(leat__drawing *d, const erasing *plan, int n, int *from, int *length) {
    const float share = (float)leat__sqrt((float)leat__draw_between(d, plan->scale[0], plan->scale[1]));
    const float side = share * (float)n, begin = (float)leat__rng_unit(&d->rng) * ((float)n - side);
    *from = LEAT_MIN(ceiling(begin), n);
    *length = LEAT_MAX(LEAT_MIN(ceiling(begin + side), n) - *from, 0);
}

static int draw_keras_erasing(const leat__image_op *op, leat__drawing *d, leat__erasure *hole, bool *wanted,
                              leat_error *err) {
    const erasing *plan = op->more;
    *hole = plan->like;
    if (!applies(d, plan->p)) return 0;
    draw_side(d, plan, d->width, &hole->x, &hole->width);
    draw_side(d, plan, d->height, &hole->y, &hole->height);
    return note_hole(d, plan, hole, wanted, err);
}

static int draw_cutout(const leat__image_op *op, leat__drawing *d, leat__erasure *hole, bool *wanted,
                       leat_error *err) {
    const erasing *plan = op->more;
    *hole = plan->like;
    if (!applies(d, plan->p)) return 0;
    const int y = (int)leat__rng_below(&d->rng, (uint64_t)d->height) - plan->size / 2;
    const int x = (int)leat__rng_below(&d->rng, (uint64_t)d->width) - plan->size / 2;
    hole->y = LEAT_MAX(y, 0);
    hole->x = LEAT_MAX(x, 0);
    hole->height = LEAT_MIN(y + plan->size, d->height) - hole->y;
    hole->width = LEAT_MIN(x + plan->size, d->width) - hole->x;
    return note_hole(d, plan, hole, wanted, err);
}

static int add_hole(leat__planner *planner, const leat__use *use, int at, const erasing *plan,
                    int (*draw)(const leat__image_op *, leat__drawing *, leat__erasure *, bool *,
                                leat_error *),
                    leat_error *err) {
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (plan->n_fill > 1 && channels >= 0 && channels != plan->n_fill)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "value has %d numbers, field %s has %" PRId64 " channels", plan->n_fill,
                               info->name, channels);
    const leat__hole_plan hole = {.op.more = leat__plan_keep(planner, plan, sizeof *plan, err), .draw = draw};
    return hole.op.more ? leat__plan_add_hole(planner, use, at, &hole, err) : LEAT_ERR_MEMORY;
}

/* Numbers for the channels. */
static int read_value(const leat__use *use, erasing *plan, leat_error *err) {
    double value[4];
    LEAT_TRY(leat__plan_read_numbers(use, "value", value, 4, &plan->n_fill, err));
    if (plan->n_fill == 0)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "value must be a number, or one a channel");
    for (int c = 0; c < 4; c++) plan->like.fill[c] = (float)value[c < plan->n_fill ? c : 0];
    return 0;
}

static int draw_as_f32(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)op, (void)d, (void)err;
    leat__pass_add_scale(pass, 1.0f, -0.0f);
    return 0;
}

static int plan_random_erasing(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    erasing plan = {.p = leat__use_arg(use, "p")->x};
    double ratio[2], range[2];
    const bool keras = leat__use_arg(use, "flavour")->i == 1;
    const leat__arg_value *value = leat__use_arg(use, "value");
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    LEAT_TRY(leat__plan_read_range(use, "scale", plan.scale, err));
    LEAT_TRY(leat__plan_read_range(use, "ratio", ratio, err));
    LEAT_TRY(read_bounds(use, range, err));
    if (!(plan.scale[0] >= 0 && plan.scale[1] <= 1))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "scale must lie between 0 and 1, such as 0.02,0.33");
    if (!(ratio[0] > 0))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "ratio must be above 0, such as 0.3,3.3");
    for (int i = 0; i < 2; i++) plan.log_ratio[i] = leat__log(ratio[i]);
    plan.like.noise = value->given ? strcmp(value->text, "random") == 0 : keras;
    plan.like.spread = keras ? (float)range[1] : 1.0f;
    plan.like.low = keras ? (float)range[0] : -__builtin_inff();
    plan.like.high = keras ? (float)range[1] : __builtin_inff();
    if (!plan.like.noise) LEAT_TRY(read_value(use, &plan, err));
    if (plan.like.noise && !keras && leat__plan_picture(planner, at)->dtype == LEAT_DTYPE_U8)
        return leat__plan_fail(
            use, err, LEAT_ERR_TYPE,
            "value=random draws numbers about 0 with deviation 1, which suits normalized f32 "
            "pictures: write normalize before it, or flavour=keras");
    if (keras)
        for (int c = 0; c < 4 && !plan.like.noise; c++)
            plan.like.fill[c] = LEAT_CLAMP(plan.like.fill[c], (float)range[0], (float)range[1]);
    if (keras && leat__plan_picture(planner, at)->dtype == LEAT_DTYPE_U8) {
        const leat__point_plan point = {.n_points = 1, .dtype = LEAT_DTYPE_F32, .draw = draw_as_f32};
        LEAT_TRY(leat__plan_add_point(planner, use, at, &point, err));
    }
    return add_hole(planner, use, at, &plan, keras ? draw_keras_erasing : draw_erasing, err);
}

static int plan_cutout(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    erasing plan = {.p = leat__use_arg(use, "p")->x, .size = (int)leat__use_arg(use, "size")->i};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    LEAT_TRY(read_value(use, &plan, err));
    return add_hole(planner, use, at, &plan, draw_cutout, err);
}

/* ---------------------------------------------------------------------------------------------- table */

#define ARG_P(fallback_)                                                                      \
    {                                                                                         \
        .name = "p", .kind = LEAT_ARG_NUMBER, .fallback = fallback_, .max = 1, .named = true, \
        .help = "how likely"                                                                  \
    }
#define ARG_RANGE                                                                   \
    {                                                                               \
        .name = "range", .kind = LEAT_ARG_TEXT, .fallback = "0,255", .named = true, \
        .help = "flavour=keras: the values that pictures have, low,high"            \
    }
#define ARG_VALUE                                                                   \
    {                                                                               \
        .name = "value", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true,     \
        .help = "what fills it, in the picture's units: a number, or one a channel" \
    }
#define ARG_SHARPNESS_FLAVOUR                                                                                \
    {                                                                                                        \
        .name = "flavour", .kind = LEAT_ARG_WORD, .fallback = "pil", .words = "pil|keras", .named = true,    \
        .help = "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips" \
    }
#define ARG_QUALITY(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_INT, .max = 100, .help = help_ }

const leat__op leat__ops_filter[] = {
    {.name = "gaussian_blur",
     .kind = LEAT_OP_IMAGE,
     .help = "Blurs with a Gaussian of drawn width.",
     .like = "keras.layers.RandomGaussianBlur, keras.ops.image.gaussian_blur, torchvision GaussianBlur",
     .random = true,
     .plan = plan_blur,
     .arg = {{.name = "kernel",
              .kind = LEAT_ARG_INT,
              .min = 1,
              .max = LEAT_BLUR_TAPS,
              .help = "pixels along each axis, an odd number"},
             {.name = "sigma",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.1,2",
              .help = "standard deviation, from,to"},
             ARG_P("1"),
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "torch",
              .words = "torch|keras",
              .named = true,
              .help = "torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips"},
             ARG_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_sharpness",
     .kind = LEAT_OP_IMAGE,
     .help = "Blends with the smoothed picture, or away from it.",
     .like = "torchvision functional.adjust_sharpness, PIL.ImageEnhance.Sharpness",
     .plan = plan_adjust_sharpness,
     .arg = {{.name = "factor", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "0 is smooth"},
             ARG_SHARPNESS_FLAVOUR,
             ARG_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_sharpness",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a factor drawn from [lower, upper).",
     .like = "keras.layers.RandomSharpness, torchvision RandomAdjustSharpness",
     .random = true,
     .plan = plan_random_sharpness,
     .arg = {{.name = "lower", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "least factor"},
             {.name = "upper", .kind = LEAT_ARG_NUMBER, .min = -1e6, .max = 1e6, .help = "largest factor"},
             ARG_P("1"),
             ARG_SHARPNESS_FLAVOUR,
             ARG_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "adjust_jpeg_quality",
     .kind = LEAT_OP_IMAGE,
     .help = "Encodes as JPEG and decodes again, for the noise that this leaves.",
     .like = "tf.image.adjust_jpeg_quality, torchvision functional.jpeg",
     .plan = plan_adjust_jpeg,
     .arg = {ARG_QUALITY("quality", "0 to 100"), LEAT_ARG_FIELD_NAMED}},
    {.name = "random_jpeg_quality",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a whole number drawn from [lower, upper).",
     .like = "tf.image.random_jpeg_quality, tf.image.stateless_random_jpeg_quality, torchvision JPEG",
     .random = true,
     .plan = plan_random_jpeg,
     .arg = {ARG_QUALITY("lower", "least quality"), ARG_QUALITY("upper", "above the best quality"),
             LEAT_ARG_FIELD_NAMED}},
    {.name = "random_erasing",
     .kind = LEAT_OP_IMAGE,
     .help = "Fills a part of drawn area, shape and place.",
     .like = "keras.layers.RandomErasing, torchvision RandomErasing",
     .random = true,
     .plan = plan_random_erasing,
     .arg = {{.name = "p", .kind = LEAT_ARG_NUMBER, .fallback = "0.5", .max = 1, .help = "how likely"},
             {.name = "scale",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.02,0.33",
              .named = true,
              .help = "share of the area, from,to"},
             {.name = "ratio",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.3,3.3",
              .named = true,
              .help = "flavour=torch: height over width, from,to"},
             {.name = "value",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0",
              .named = true,
              .help = "a number, one a channel, or random for noise, as flavour=keras has it unless told"},
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "torch",
              .words = "torch|keras",
              .named = true,
              .help = "whose draws and noise; keras gives f32"},
             ARG_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "cutout",
     .kind = LEAT_OP_IMAGE,
     .help = "Fills a square whose middle lies anywhere in the picture.",
     .like = "",
     .random = true,
     .plan = plan_cutout,
     .arg = {{.name = "size", .kind = LEAT_ARG_INT, .min = 1, .max = 65535, .help = "of a side, in pixels"},
             ARG_P("1"),
             ARG_VALUE,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
