/* SPDX-License-Identifier: Apache-2.0 */
/* Steps lie as torch.linspace lays them in float32, to the last bit: the exact product is rounded once, and
 * the upper half counts from the end. */
#include "ops/augment_policy.h"

#include "base/maths.h"

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

double leat__augment_magnitude(leat__augment_space space, leat__enhance_op op, int bin, int n_bins,
                               int height, int width) {
    const bool wide = space == LEAT_AUGMENT_WIDE, mix = space == LEAT_AUGMENT_MIX;
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

bool leat__augment_has_degrees(leat__enhance_op op) {
    return op >= LEAT_ENHANCE_SHEAR_X && op <= LEAT_ENHANCE_SOLARIZE;
}

bool leat__augment_is_signed(leat__enhance_op op) {
    return op >= LEAT_ENHANCE_SHEAR_X && op <= LEAT_ENHANCE_SHARPNESS;
}

/* ------------------------------------------------------------------------------------------- policies */

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

static const leat__augment_choice policies[3][LEAT_AUGMENT_POLICIES][2] = {
    [LEAT_POLICY_IMAGENET] =
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
    [LEAT_POLICY_CIFAR10] =
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
    [LEAT_POLICY_SVHN] =
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

const leat__augment_choice *leat__augment_pair(leat__augment_policy policy, int i) {
    return policies[policy][i];
}
