/* SPDX-License-Identifier: Apache-2.0 */
/* color_jitter: brightness, contrast, saturation and hue, each with a drawn amount, as one operation.
 * torchvision does them in a drawn order, Keras in this one. */
#include "ops/ops_args.h"
#include "ops/ops_colour.h"
#include "ops/tone.h"
#include "plan/planner.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, PARTS };

static const char *const part_name[PARTS] = {"brightness", "contrast", "saturation", "hue"};

typedef struct jitter_part {
    bool on;
    double low, high;
} jitter_part;

typedef struct jitter {
    leat__colour flavour; /* KERAS or PIL */
    double range[2];
    jitter_part part[PARTS];
} jitter;

static int add_part(const jitter *plan, leat__drawing *d, leat__pass *pass, int part, double amount,
                    leat_error *err) {
    switch (part) {
    case BRIGHTNESS: leat__colour_add_brightness(d, pass, plan->flavour, amount, plan->range); return 0;
    case CONTRAST: {
        const leat__contrast flavour =
            plan->flavour == LEAT_COLOUR_PIL ? LEAT_CONTRAST_PIL : LEAT_CONTRAST_KERAS;
        return leat__tone_add_contrast(d, pass, flavour, amount, plan->range, err);
    }
    case SATURATION: leat__colour_add_saturation(d, pass, plan->flavour, amount, plan->range); return 0;
    default: leat__colour_add_hue(d, pass, plan->flavour, amount, plan->range); return 0;
    }
}

static int draw_jitter(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const jitter *plan = op->more;
    const bool keras = plan->flavour == LEAT_COLOUR_KERAS;
    double amount[PARTS];
    int order[PARTS] = {BRIGHTNESS, CONTRAST, SATURATION, HUE};
    char word[PARTS + 1] = "";
    int digits = 0; /* the same for a device */
    if (plan->part[SATURATION].on || plan->part[HUE].on) LEAT_TRY(leat__colour_check(d, plan->flavour, err));
    for (int i = 0; i < PARTS; i++) amount[i] = leat__draw_between(d, plan->part[i].low, plan->part[i].high);
    if (keras && leat__draw_chance(d, 0.5)) amount[HUE] = -amount[HUE];
    for (int i = PARTS - 1; !keras && i > 0; i--) {
        const int k = (int)leat__rng_below(&d->rng, (uint64_t)i + 1), moved = order[i];
        order[i] = order[k];
        order[k] = moved;
    }
    for (int i = 0, n = 0; i < PARTS; i++) {
        const int part = order[i];
        if (!plan->part[part].on) continue;
        word[n++] = part_name[part][0];
        word[n] = 0;
        digits = 10 * digits + part + 1;
        LEAT_TRY(add_part(plan, d, pass, part, amount[part], err));
    }
    for (int i = 0; i < PARTS; i++)
        if (plan->part[i].on) leat__params_add(d, part_name[i], amount[i]);
        else leat__draw_note(d, 0); /* places of those that are not there */
    leat__draw_note(d, (float)digits);
    if (!keras && word[0] && word[1]) leat__params_add_word(d, "order", word);
    return 0;
}

/* What a number, or two, mean for torchvision: around 1, the hue around 0. */
static int read_torch_part(const leat__use *use, int i, jitter_part *part, leat_error *err) {
    int n;
    double range[2];
    const char *name = part_name[i];
    const double centre = i == HUE ? 0 : 1;
    LEAT_TRY(leat__plan_read_numbers(use, name, range, 2, &n, err));
    if (n == 1 && range[0] < 0)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s must not be below 0, or be two numbers low,high", name);
    part->low = n == 1 ? centre - range[0] : range[0];
    part->high = n == 1 ? centre + range[0] : range[1];
    if (n == 1 && i != HUE) part->low = LEAT_MAX(part->low, 0);
    const double least = i == HUE ? -0.5 : 0, most = i == HUE ? 0.5 : 1e6;
    if (n == 0 || !(part->low >= least && part->high >= part->low && part->high <= most))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            i == HUE ? "hue must be from 0 to 0.5, half a turn, or low,high from -0.5 to 0.5"
                     : "%s must be a number, 0 or above, or low,high with the smaller one first",
            name);
    part->on = part->low != centre || part->high != centre;
    return 0;
}

/* The same for the layer, with what it makes of one number. */
static int read_keras_part(const leat__use *use, int i, jitter_part *part, leat_error *err) {
    int n;
    double range[2];
    const char *name = part_name[i];
    const double least = i == CONTRAST || i == HUE ? 0 : -1;
    part->on = leat__use_arg(use, name)->given;
    if (!part->on) return 0;
    LEAT_TRY(leat__plan_read_numbers(use, name, range, 2, &n, err));
    if (n == 1) range[1] = range[0], range[0] = LEAT_MAX(-range[0], least);
    if (n == 0 || !(range[0] >= least && range[1] >= range[0] && range[1] <= 1))
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "with flavour=keras %s is the layer's factor: 0 to 1, or low,high from %g to 1", name, least);
    part->low = i == CONTRAST ? 1 - range[0] : i == HUE ? range[0] / 2 : range[0];
    part->high = i == CONTRAST ? 1 + range[1] : i == HUE ? range[1] / 2 : range[1];
    return 0;
}

static int plan_jitter(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    jitter plan = {.flavour = leat__use_arg(use, "flavour")->i == 1 ? LEAT_COLOUR_KERAS : LEAT_COLOUR_PIL};
    const bool keras = plan.flavour == LEAT_COLOUR_KERAS;
    LEAT_TRY(leat__plan_find_picture(planner, use, keras ? LEAT_PICTURES_POINT : LEAT_PICTURES_U8, &at, err));
    LEAT_TRY(leat__plan_read_range(use, "range", plan.range, err));
    if (!(plan.range[1] > plan.range[0]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "range must be two numbers, such as 0,255 or 0,1");
    for (int i = 0; i < PARTS; i++)
        LEAT_TRY((keras ? read_keras_part : read_torch_part)(use, i, &plan.part[i], err));
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, &plan, sizeof plan, err),
                                    .n_points = LEAT_TONE_POINTS + 3 * LEAT_COLOUR_POINTS,
                                    .dtype = keras ? LEAT_DTYPE_F32 : LEAT_DTYPE_U8,
                                    .measured = plan.part[CONTRAST].on,
                                    .draw = draw_jitter};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

#define PART(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = "0", .help = help_ }

const leat__op leat__ops_jitter[] = {
    {.name = "color_jitter",
     .kind = LEAT_OP_IMAGE,
     .help = "Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.",
     .like = "keras.layers.RandomColorJitter, torchvision ColorJitter",
     .random = true,
     .plan = plan_jitter,
     .arg =
         {PART("brightness", "factor from 1 - x to 1 + x, or low,high"),
          PART("contrast", "the same"),
          PART("saturation", "the same"),
          PART("hue", "part of a turn from -x to x, or low,high; at most 0.5"),
          {.name = "flavour",
           .kind = LEAT_ARG_WORD,
           .fallback = "pil",
           .words = "pil|keras",
           .named = true,
           .help =
               "pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors"},
          LEAT_ARG_COLOUR_RANGE,
          LEAT_ARG_FIELD_NAMED}},
    {0},
};
