/* SPDX-License-Identifier: Apache-2.0 */
/* Holes in a picture. */
#include "base/maths.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

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
    if (!leat__draw_applies(d, plan->p)) return 0;
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
    if (!leat__draw_applies(d, plan->p)) return 0;
    draw_side(d, plan, d->width, &hole->x, &hole->width);
    draw_side(d, plan, d->height, &hole->y, &hole->height);
    return note_hole(d, plan, hole, wanted, err);
}

static int draw_cutout(const leat__image_op *op, leat__drawing *d, leat__erasure *hole, bool *wanted,
                       leat_error *err) {
    const erasing *plan = op->more;
    *hole = plan->like;
    if (!leat__draw_applies(d, plan->p)) return 0;
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
    LEAT_TRY(leat__read_bounds(use, range, err));
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

/* ------------------------------------------------------------------------------------------ the table */

#define ARG_VALUE                                                                   \
    {                                                                               \
        .name = "value", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true,     \
        .help = "what fills it, in the picture's units: a number, or one a channel" \
    }

const leat__op leat__ops_erase[] = {
    {.name = "random_erasing",
     .kind = LEAT_OP_IMAGE,
     .help = "Fills a part of drawn area, shape and place.",
     .like = "keras.layers.RandomErasing, torchvision RandomErasing, albumentations CoarseDropout",
     .random = true,
     .plan = plan_random_erasing,
     .arg = {LEAT_ARG_CHANCE("0.5"),
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
             LEAT_ARG_VALUE_RANGE,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "cutout",
     .kind = LEAT_OP_IMAGE,
     .help = "Fills a square whose middle lies anywhere in the picture.",
     .like = "",
     .random = true,
     .plan = plan_cutout,
     .arg = {{.name = "size", .kind = LEAT_ARG_INT, .min = 1, .max = 65535, .help = "of a side, in pixels"},
             LEAT_ARG_P("1"),
             ARG_VALUE,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
