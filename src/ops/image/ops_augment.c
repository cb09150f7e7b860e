/* SPDX-License-Identifier: Apache-2.0 */
/* Composites: operations of which each sample gets some, by chance. All draws of a sample are made first,
 * then the operations run one after the other, back and forth between two pictures. They work on u8 in
 * Pillow's arithmetic. Which operations there are and how strong they are is as torchvision has it. */
#include "base/maths.h"
#include "image/colour/enhance.h"
#include "image/pass/mix.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ------------------------------------------------------------------------------------------- strength */

typedef enum space {
    SPACE_STANDARD, /* RandAugment and AutoAugment              */
    SPACE_WIDE,     /* TrivialAugmentWide                       */
    SPACE_MIX,      /* AugMix                                   */
} space;

static double step_between(double from, double to, int bin, int n_bins) {
    const float low = (float)from, high = (float)to, step = (high - low) / (float)(n_bins - 1);
    if (bin < n_bins / 2) return (double)(float)((double)low + (double)step * bin);
    return (double)(float)((double)high - (double)step * (n_bins - 1 - bin));
}

/* bits less at the last step */
static double bits_at(int most, int less, int bin, int n_bins) {
    const float share = (float)bin / (float)((n_bins - 1) / (double)less);
    return most - leat__round_even((double)share);
}

/* How strong an operation is at step bin of n_bins > 1, for a picture of this size; 0 where there are no degrees. Steps lie
 * as torch.linspace lays them in float32, to the last bit: the exact product is rounded once, and the upper half counts
 * from the end. */
static double magnitude_at(space from, leat__enhance_op op, int bin, int n_bins, int height, int width) {
    const bool wide = from == SPACE_WIDE, mix = from == SPACE_MIX;
    const int side = op == LEAT_ENHANCE_TRANSLATE_X ? width : height;
    switch (op) {
    case LEAT_ENHANCE_SHEAR_X:
    case LEAT_ENHANCE_SHEAR_Y: return step_between(0, wide ? 0.99 : 0.3, bin, n_bins);
    case LEAT_ENHANCE_TRANSLATE_X:
    case LEAT_ENHANCE_TRANSLATE_Y:
        return step_between(0, wide ? 32.0 : mix ? side / 3.0 : 150.0 / 331.0 * side, bin, n_bins);
    case LEAT_ENHANCE_ROTATE: return step_between(0, wide ? 135.0 : 30.0, bin, n_bins);
    case LEAT_ENHANCE_BRIGHTNESS:
    case LEAT_ENHANCE_COLOR:
    case LEAT_ENHANCE_CONTRAST:
    case LEAT_ENHANCE_SHARPNESS: return step_between(0, wide ? 0.99 : 0.9, bin, n_bins);
    case LEAT_ENHANCE_POSTERIZE: return bits_at(mix ? 4 : 8, wide ? 6 : 4, bin, n_bins);
    case LEAT_ENHANCE_SOLARIZE: return step_between(255.0, 0, bin, n_bins);
    default: return 0;
    }
}

/* Whether there are degrees of it, and whether they go both ways. */
static bool has_degrees(leat__enhance_op op) {
    return op >= LEAT_ENHANCE_SHEAR_X && op <= LEAT_ENHANCE_SOLARIZE;
}

static bool is_signed(leat__enhance_op op) {
    return op >= LEAT_ENHANCE_SHEAR_X && op <= LEAT_ENHANCE_SHARPNESS;
}

/* ------------------------------------------------------------------------------------------- policies */

#define N_POLICIES 25 /* sub-policies of each */
#define BINS 10       /* AutoAugment's and AugMix's */

typedef struct choice { /* one half of a sub-policy                */
    uint8_t op;         /* leat__enhance_op                        */
    uint8_t tenths;     /* its chance                              */
    uint8_t bin;        /* of BINS                                 */
} choice;

typedef enum policy_name {
    POLICY_IMAGENET,
    POLICY_CIFAR10,
    POLICY_SVHN,
} policy_name;

/* Found by search: Cubuk, Zoph, Mane, Vasudevan, Le, "AutoAugment: Learning augmentation policies from data",
 * 2019. Operation, chance in tenths, step. */
enum {
    SHEAR_X = LEAT_ENHANCE_SHEAR_X,
    SHEAR_Y = LEAT_ENHANCE_SHEAR_Y,
    TRANSLATE_X = LEAT_ENHANCE_TRANSLATE_X,
    TRANSLATE_Y = LEAT_ENHANCE_TRANSLATE_Y,
    ROTATE = LEAT_ENHANCE_ROTATE,
    BRIGHTNESS = LEAT_ENHANCE_BRIGHTNESS,
    COLOR = LEAT_ENHANCE_COLOR,
    CONTRAST = LEAT_ENHANCE_CONTRAST,
    SHARPNESS = LEAT_ENHANCE_SHARPNESS,
    POSTERIZE = LEAT_ENHANCE_POSTERIZE,
    SOLARIZE = LEAT_ENHANCE_SOLARIZE,
    AUTOCONTRAST = LEAT_ENHANCE_AUTOCONTRAST,
    EQUALIZE = LEAT_ENHANCE_EQUALIZE,
    INVERT = LEAT_ENHANCE_INVERT,
};

static const choice policies[3][N_POLICIES][2] = {
    [POLICY_IMAGENET] =
        {
            {{POSTERIZE, 4, 8}, {ROTATE, 6, 9}},  {{SOLARIZE, 6, 5}, {AUTOCONTRAST, 6, 0}},
            {{EQUALIZE, 8, 0}, {EQUALIZE, 6, 0}}, {{POSTERIZE, 6, 7}, {POSTERIZE, 6, 6}},
            {{EQUALIZE, 4, 0}, {SOLARIZE, 2, 4}}, {{EQUALIZE, 4, 0}, {ROTATE, 8, 8}},
            {{SOLARIZE, 6, 3}, {EQUALIZE, 6, 0}}, {{POSTERIZE, 8, 5}, {EQUALIZE, 10, 0}},
            {{ROTATE, 2, 3}, {SOLARIZE, 6, 8}},   {{EQUALIZE, 6, 0}, {POSTERIZE, 4, 6}},
            {{ROTATE, 8, 8}, {COLOR, 4, 0}},      {{ROTATE, 4, 9}, {EQUALIZE, 6, 0}},
            {{EQUALIZE, 0, 0}, {EQUALIZE, 8, 0}}, {{INVERT, 6, 0}, {EQUALIZE, 10, 0}},
            {{COLOR, 6, 4}, {CONTRAST, 10, 8}},   {{ROTATE, 8, 8}, {COLOR, 10, 2}},
            {{COLOR, 8, 8}, {SOLARIZE, 8, 7}},    {{SHARPNESS, 4, 7}, {INVERT, 6, 0}},
            {{SHEAR_X, 6, 5}, {EQUALIZE, 10, 0}}, {{COLOR, 4, 0}, {EQUALIZE, 6, 0}},
            {{EQUALIZE, 4, 0}, {SOLARIZE, 2, 4}}, {{SOLARIZE, 6, 5}, {AUTOCONTRAST, 6, 0}},
            {{INVERT, 6, 0}, {EQUALIZE, 10, 0}},  {{COLOR, 6, 4}, {CONTRAST, 10, 8}},
            {{EQUALIZE, 8, 0}, {EQUALIZE, 6, 0}},
        },
    [POLICY_CIFAR10] =
        {
            {{INVERT, 1, 0}, {CONTRAST, 2, 6}},          {{ROTATE, 7, 2}, {TRANSLATE_X, 3, 9}},
            {{SHARPNESS, 8, 1}, {SHARPNESS, 9, 3}},      {{SHEAR_Y, 5, 8}, {TRANSLATE_Y, 7, 9}},
            {{AUTOCONTRAST, 5, 0}, {EQUALIZE, 9, 0}},    {{SHEAR_Y, 2, 7}, {POSTERIZE, 3, 7}},
            {{COLOR, 4, 3}, {BRIGHTNESS, 6, 7}},         {{SHARPNESS, 3, 9}, {BRIGHTNESS, 7, 9}},
            {{EQUALIZE, 6, 0}, {EQUALIZE, 5, 0}},        {{CONTRAST, 6, 7}, {SHARPNESS, 6, 5}},
            {{COLOR, 7, 7}, {TRANSLATE_X, 5, 8}},        {{EQUALIZE, 3, 0}, {AUTOCONTRAST, 4, 0}},
            {{TRANSLATE_Y, 4, 3}, {SHARPNESS, 2, 6}},    {{BRIGHTNESS, 9, 6}, {COLOR, 2, 8}},
            {{SOLARIZE, 5, 2}, {INVERT, 0, 0}},          {{EQUALIZE, 2, 0}, {AUTOCONTRAST, 6, 0}},
            {{EQUALIZE, 2, 0}, {EQUALIZE, 6, 0}},        {{COLOR, 9, 9}, {EQUALIZE, 6, 0}},
            {{AUTOCONTRAST, 8, 0}, {SOLARIZE, 2, 8}},    {{BRIGHTNESS, 1, 3}, {COLOR, 7, 0}},
            {{SOLARIZE, 4, 5}, {AUTOCONTRAST, 9, 0}},    {{TRANSLATE_Y, 9, 9}, {TRANSLATE_Y, 7, 9}},
            {{AUTOCONTRAST, 9, 0}, {SOLARIZE, 8, 3}},    {{EQUALIZE, 8, 0}, {INVERT, 1, 0}},
            {{TRANSLATE_Y, 7, 9}, {AUTOCONTRAST, 9, 0}},
        },
    [POLICY_SVHN] =
        {
            {{SHEAR_X, 9, 4}, {INVERT, 2, 0}},       {{SHEAR_Y, 9, 8}, {INVERT, 7, 0}},
            {{EQUALIZE, 6, 0}, {SOLARIZE, 6, 6}},    {{INVERT, 9, 0}, {EQUALIZE, 6, 0}},
            {{EQUALIZE, 6, 0}, {ROTATE, 9, 3}},      {{SHEAR_X, 9, 4}, {AUTOCONTRAST, 8, 0}},
            {{SHEAR_Y, 9, 8}, {INVERT, 4, 0}},       {{SHEAR_Y, 9, 5}, {SOLARIZE, 2, 6}},
            {{INVERT, 9, 0}, {AUTOCONTRAST, 8, 0}},  {{EQUALIZE, 6, 0}, {ROTATE, 9, 3}},
            {{SHEAR_X, 9, 4}, {SOLARIZE, 3, 3}},     {{SHEAR_Y, 8, 8}, {INVERT, 7, 0}},
            {{EQUALIZE, 9, 0}, {TRANSLATE_Y, 6, 6}}, {{INVERT, 9, 0}, {EQUALIZE, 6, 0}},
            {{CONTRAST, 3, 3}, {ROTATE, 8, 4}},      {{INVERT, 8, 0}, {TRANSLATE_Y, 0, 2}},
            {{SHEAR_Y, 7, 6}, {SOLARIZE, 4, 8}},     {{INVERT, 6, 0}, {ROTATE, 8, 4}},
            {{SHEAR_Y, 3, 7}, {TRANSLATE_X, 9, 3}},  {{SHEAR_X, 1, 6}, {INVERT, 6, 0}},
            {{SOLARIZE, 7, 2}, {TRANSLATE_Y, 6, 7}}, {{SHEAR_Y, 8, 4}, {INVERT, 8, 0}},
            {{SHEAR_X, 7, 9}, {TRANSLATE_Y, 8, 3}},  {{SHEAR_Y, 8, 5}, {AUTOCONTRAST, 7, 0}},
            {{SHEAR_X, 7, 2}, {INVERT, 1, 0}},
        },
};

/* --------------------------------------------------------------------------------------------- chains */

enum { CHAIN_MAX = 32, WIDTH_MAX = 16 };

typedef struct steps { /* what one picture goes through */
    int n;
    struct {
        leat__enhance_op op;
        double magnitude;
    } step[CHAIN_MAX];
} steps;

typedef struct composite {
    int n_ops; /* RandAugment; AugMix: in a chain, below 1 = drawn */
    int bin;   /* RandAugment; AugMix: the first bin that is too strong */
    int n_bins;
    int width; /* AugMix: chains */
    double alpha;
    bool all_ops;
    policy_name policy;
    bool bilinear;
    int n_fill;
    uint8_t fill[4];
} composite;

/* Adds an operation; an identity is nothing to do. */
static void add_step(leat__drawing *d, steps *chain, leat__enhance_op op, double magnitude) {
    leat__params_add_word(d, "op", leat__enhance_name(op));
    if (has_degrees(op)) leat__params_add(d, "magnitude", magnitude);
    if (op == LEAT_ENHANCE_IDENTITY || chain->n == CHAIN_MAX) return;
    chain->step[chain->n].op = op;
    chain->step[chain->n++].magnitude = magnitude;
}

/* Either way with equal chances, if the operation goes both ways. */
static double draw_sign(leat__drawing *d, leat__enhance_op op, double magnitude) {
    const bool negative = is_signed(op) && leat__rng_below(&d->rng, 2);
    return negative && magnitude != 0 ? -magnitude : magnitude;
}

static int begin(const leat__image_op *op, const leat__drawing *d, const leat__picture_tools *tools,
                 leat__enhance *how, leat_error *err) {
    const composite *plan = op->more;
    if (d->channels != 1 && d->channels != 3)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s works on 1 or 3 channels, the picture has %d", op->name,
                          d->channels);
    if (plan->n_fill > 1 && plan->n_fill != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s: fill has %d numbers, the picture has %d channels",
                          op->name, plan->n_fill, d->channels);
    *how = (leat__enhance){.dsp = tools->dsp,
                           .height = d->height,
                           .width = d->width,
                           .channels = d->channels,
                           .bilinear = plan->bilinear};
    memcpy(how->fill, plan->fill, sizeof how->fill);
    return 0;
}

static size_t count_bytes(const leat__enhance *how) {
    return (size_t)how->height * (size_t)how->width * (size_t)how->channels;
}

/* The last operation writes to out; spare is as large as the picture, and not used by fewer than two. */
static void run_chain(const leat__enhance *how, const steps *chain, const uint8_t *src, uint8_t *out,
                      uint8_t *spare) {
    if (chain->n == 0) memcpy(out, src, count_bytes(how));
    for (int i = 0; i < chain->n; i++) {
        uint8_t *dst = (chain->n - 1 - i) % 2 == 0 ? out : spare;
        leat__enhance_run(how, dst, src, chain->step[i].op, chain->step[i].magnitude);
        src = dst;
    }
}

static int finish(const leat__enhance *how, const steps *chain, const leat__picture_tools *tools,
                  const leat__picture *in, void *out, leat_error *err) {
    const size_t bytes = count_bytes(how);
    if (!leat__buf_reserve(&tools->buf[0], bytes)) return leat__fail_memory(err, bytes, "a picture");
    run_chain(how, chain, in->data, out, tools->buf[0].data);
    return 0;
}

static int run_rand_augment(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                            const leat__picture *in, void *out, leat_error *err) {
    const composite *plan = op->more;
    leat__enhance how;
    steps chain = {.n = 0};
    LEAT_TRY(begin(op, d, tools, &how, err));
    for (int i = 0; i < plan->n_ops; i++) {
        const leat__enhance_op drawn = (leat__enhance_op)leat__rng_below(&d->rng, LEAT_ENHANCE_INVERT);
        const double magnitude =
            magnitude_at(SPACE_STANDARD, drawn, plan->bin, plan->n_bins, d->height, d->width);
        add_step(d, &chain, drawn, draw_sign(d, drawn, magnitude));
    }
    return finish(&how, &chain, tools, in, out, err);
}

static int run_trivial_augment(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                               const leat__picture *in, void *out, leat_error *err) {
    const composite *plan = op->more;
    leat__enhance how;
    steps chain = {.n = 0};
    LEAT_TRY(begin(op, d, tools, &how, err));
    const leat__enhance_op drawn = (leat__enhance_op)leat__rng_below(&d->rng, LEAT_ENHANCE_INVERT);
    const int bin = (int)leat__rng_below(&d->rng, (uint64_t)plan->n_bins);
    const double magnitude = magnitude_at(SPACE_WIDE, drawn, bin, plan->n_bins, d->height, d->width);
    add_step(d, &chain, drawn, draw_sign(d, drawn, magnitude));
    return finish(&how, &chain, tools, in, out, err);
}

static int run_auto_augment(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                            const leat__picture *in, void *out, leat_error *err) {
    const composite *plan = op->more;
    leat__enhance how;
    steps chain = {.n = 0};
    LEAT_TRY(begin(op, d, tools, &how, err));
    const int number = (int)leat__rng_below(&d->rng, N_POLICIES);
    const choice *pair = policies[plan->policy][number];
    leat__params_add(d, "policy", number);
    for (int i = 0; i < 2; i++) {
        const leat__enhance_op half = (leat__enhance_op)pair[i].op;
        const double magnitude = magnitude_at(SPACE_STANDARD, half, pair[i].bin, BINS, d->height, d->width);
        const bool taken = leat__draw_chance(d, pair[i].tenths / 10.0);
        const double drawn = draw_sign(d, half, magnitude);
        if (taken) add_step(d, &chain, half, drawn);
    }
    return finish(&how, &chain, tools, in, out, err);
}

/* ---------------------------------------------------------------------------------------------- augmix */

/* n shares that add up to 1, from a Dirichlet distribution with all parameters alpha. */
static void draw_shares(leat__drawing *d, double alpha, int n, float *share) {
    double drawn[WIDTH_MAX], most = -1e300, sum = 0;
    for (int i = 0; i < n; i++) {
        drawn[i] = leat__mix_draw_log_gamma(&d->rng, alpha);
        most = LEAT_MAX(most, drawn[i]);
    }
    for (int i = 0; i < n; i++) sum += drawn[i] = leat__exp(drawn[i] - most);
    for (int i = 0; i < n; i++) share[i] = (float)(drawn[i] / sum);
}

static void draw_chain(const composite *plan, leat__drawing *d, steps *chain) {
    /* Without brightness, color, contrast and sharpness what is left begins with posterize. */
    enum { FIRST = LEAT_ENHANCE_SHEAR_X, MOVED = LEAT_ENHANCE_BRIGHTNESS, LEFT_OUT = 4 };
    const int n_ops = LEAT_ENHANCE_INVERT - FIRST - (plan->all_ops ? 0 : (int)LEFT_OUT);
    const int depth = plan->n_ops > 0 ? plan->n_ops : 1 + (int)leat__rng_below(&d->rng, 3);
    chain->n = 0;
    for (int i = 0; i < depth; i++) {
        int number = FIRST + (int)leat__rng_below(&d->rng, (uint64_t)n_ops);
        if (!plan->all_ops && number >= (int)MOVED) number += LEFT_OUT;
        const leat__enhance_op drawn = (leat__enhance_op)number;
        const int bin = (int)leat__rng_below(&d->rng, (uint64_t)plan->bin);
        const double magnitude = magnitude_at(SPACE_MIX, drawn, bin, BINS, d->height, d->width);
        add_step(d, chain, drawn, draw_sign(d, drawn, magnitude));
    }
}

static void add_share(float *mix, const uint8_t *src, size_t n, float share) {
    for (size_t i = 0; i < n; i++) {
        const float part = share * (float)src[i];
        mix[i] = mix[i] + part;
    }
}

static int run_augmix(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                      const leat__picture *in, void *out, leat_error *err) {
    const composite *plan = op->more;
    leat__enhance how;
    LEAT_TRY(begin(op, d, tools, &how, err));
    const size_t n = count_bytes(&how);
    if (!leat__buf_reserve(&tools->buf[0], n) || !leat__buf_reserve(&tools->buf[1], n) ||
        !leat__buf_reserve(&tools->buf[2], n * sizeof(float)))
        return leat__fail_memory(err, n * sizeof(float), "a mixed picture");
    uint8_t *made = tools->buf[0].data, *spare = tools->buf[1].data;
    float *mix = (float *)(void *)tools->buf[2].data, own[2], share[WIDTH_MAX];
    draw_shares(d, plan->alpha, 2, own);
    draw_shares(d, plan->alpha, plan->width, share);
    leat__params_add(d, "own", (double)own[0]);
    memset(mix, 0, n * sizeof(float));
    add_share(mix, in->data, n, own[0]);
    for (int i = 0; i < plan->width; i++) {
        steps chain;
        share[i] = share[i] * own[1];
        leat__params_add(d, "share", (double)share[i]);
        draw_chain(plan, d, &chain);
        run_chain(&how, &chain, in->data, made, spare);
        add_share(mix, made, n, share[i]);
    }
    tools->dsp->u8_from_f32(out, mix, n);
    return 0;
}

/* --------------------------------------------------------------------------------------- plan functions */

/* What all of them have: the field, fill and interpolation. */
static int add_composite(leat__planner *planner, const leat__use *use, composite plan,
                         int (*run)(const leat__image_op *, leat__drawing *, const leat__picture_tools *,
                                    const leat__picture *, void *, leat_error *),
                         leat_error *err) {
    int at;
    double fill[4];
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (channels >= 0 && channels != 1 && channels != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "works on 1 or 3 channels, field %s has %" PRId64 ": write decode channels=3",
                               info->name, channels);
    LEAT_TRY(leat__plan_read_numbers(use, "fill", fill, 4, &plan.n_fill, err));
    if (plan.n_fill == 0 || (plan.n_fill > 1 && channels >= 0 && channels != plan.n_fill))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "fill must be one number from 0 to 255, or one a channel");
    for (int c = 0; c < 4; c++) {
        const double x = fill[c < plan.n_fill ? c : 0];
        if (!(x >= 0 && x <= 255))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fill must be from 0 to 255");
        plan.fill[c] = (uint8_t)x;
    }
    plan.bilinear = leat__use_arg(use, "interpolation")->i == 1;
    const leat__picture_plan picture = {
        .op.more = leat__plan_keep(planner, &plan, sizeof plan, err), .moves = true, .run = run};
    return picture.op.more ? leat__plan_add_picture(planner, use, at, &picture, err) : LEAT_ERR_MEMORY;
}

static int plan_rand_augment(leat__planner *planner, const leat__use *use, leat_error *err) {
    const composite plan = {.n_ops = (int)leat__use_arg(use, "num_ops")->i,
                            .bin = (int)leat__use_arg(use, "magnitude")->i,
                            .n_bins = (int)leat__use_arg(use, "bins")->i};
    if (plan.bin >= plan.n_bins)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "magnitude must be below bins: from 0 to %d",
                               plan.n_bins - 1);
    return add_composite(planner, use, plan, run_rand_augment, err);
}

static int plan_trivial_augment(leat__planner *planner, const leat__use *use, leat_error *err) {
    const composite plan = {.n_bins = (int)leat__use_arg(use, "bins")->i};
    return add_composite(planner, use, plan, run_trivial_augment, err);
}

static int plan_auto_augment(leat__planner *planner, const leat__use *use, leat_error *err) {
    const composite plan = {.policy = (policy_name)leat__use_arg(use, "policy")->i};
    return add_composite(planner, use, plan, run_auto_augment, err);
}

static int plan_augmix(leat__planner *planner, const leat__use *use, leat_error *err) {
    const composite plan = {.n_ops = (int)leat__use_arg(use, "depth")->i,
                            .bin = (int)leat__use_arg(use, "severity")->i,
                            .width = (int)leat__use_arg(use, "width")->i,
                            .alpha = leat__use_arg(use, "alpha")->x,
                            .all_ops = leat__use_arg(use, "all_ops")->i != 0};
    if (!(plan.alpha > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "alpha must be above 0");
    return add_composite(planner, use, plan, run_augmix, err);
}

#define ARG_BINS                                                                                        \
    {                                                                                                   \
        .name = "bins", .also = "num_magnitude_bins", .kind = LEAT_ARG_INT, .fallback = "31", .min = 2, \
        .max = 1000, .named = true, .help = "steps from no to full strength"                            \
    }
#define ARG_INTERPOLATION(fallback_)                                                          \
    {                                                                                         \
        .name = "interpolation", .kind = LEAT_ARG_WORD, .fallback = fallback_, .named = true, \
        .words = "nearest|bilinear", .help = "how shears, moves and turns sample"             \
    }
#define ARG_FILL                                                                                  \
    {                                                                                             \
        .name = "fill", .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true,                    \
        .help = "what they show outside of the picture: a number from 0 to 255, or one a channel" \
    }

const leat__op leat__ops_augment[] = {
    {.name = "rand_augment",
     .kind = LEAT_OP_IMAGE,
     .help = "Some of fourteen operations, drawn, all at one strength.",
     .like = "keras.layers.RandAugment, torchvision RandAugment",
     .random = true,
     .plan = plan_rand_augment,
     .arg = {{.name = "num_ops",
              .kind = LEAT_ARG_INT,
              .fallback = "2",
              .max = CHAIN_MAX,
              .help = "how many of them, one after the other"},
             {.name = "magnitude",
              .kind = LEAT_ARG_INT,
              .fallback = "9",
              .max = 999,
              .help = "their strength, a step below bins"},
             ARG_BINS,
             ARG_INTERPOLATION("nearest"),
             ARG_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "trivial_augment_wide",
     .kind = LEAT_OP_IMAGE,
     .help = "One of fourteen operations at a strength from a wide range, both drawn.",
     .like = "torchvision TrivialAugmentWide",
     .random = true,
     .plan = plan_trivial_augment,
     .arg = {ARG_BINS, ARG_INTERPOLATION("nearest"), ARG_FILL, LEAT_ARG_FIELD_NAMED}},
    {.name = "auto_augment",
     .kind = LEAT_OP_IMAGE,
     .help = "One of 25 pairs of operations that were found for a data set.",
     .like = "torchvision AutoAugment",
     .random = true,
     .plan = plan_auto_augment,
     .arg = {{.name = "policy",
              .kind = LEAT_ARG_WORD,
              .fallback = "imagenet",
              .words = "imagenet|cifar10|svhn",
              .help = "which data set"},
             ARG_INTERPOLATION("nearest"),
             ARG_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "augmix",
     .kind = LEAT_OP_IMAGE,
     .help = "Mixes the picture with others that chains of operations make of it, in drawn shares.",
     .like = "keras.layers.AugMix, torchvision AugMix",
     .random = true,
     .plan = plan_augmix,
     .arg = {{.name = "severity",
              .kind = LEAT_ARG_INT,
              .fallback = "3",
              .min = 1,
              .max = BINS,
              .named = true,
              .help = "how many of ten steps of strength are drawn from"},
             {.name = "width",
              .also = "mixture_width",
              .kind = LEAT_ARG_INT,
              .fallback = "3",
              .min = 1,
              .max = WIDTH_MAX,
              .named = true,
              .help = "chains"},
             {.name = "depth",
              .also = "chain_depth",
              .kind = LEAT_ARG_INT,
              .fallback = "-1",
              .min = -1,
              .max = CHAIN_MAX,
              .named = true,
              .help = "operations in a chain; below 1: 1 to 3, drawn"},
             {.name = "alpha",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .max = 1e6,
              .named = true,
              .help = "of the distributions that the shares are drawn from"},
             {.name = "all_ops",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "also brightness, color, contrast and sharpness"},
             ARG_INTERPOLATION("bilinear"),
             ARG_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
