/* SPDX-License-Identifier: Apache-2.0 */
/* What operations that warp share: how a picture is sampled, as the arguments say it, and ranges of drawn
 * numbers. */
#ifndef LEAT_OPS_OPS_WARP_H
#define LEAT_OPS_OPS_WARP_H

#include "ops/ops_args.h"
#include "plan/planner.h"

typedef struct leat__sampling {
    leat__warp_rule rule;
    int order;
    leat__warp_fill fill;
    float value[4];
    int n_values; /* 1 = the same for all channels */
} leat__sampling;

/* The arguments that say what lies outside, under these names, checked against the field. Without `fill_name`
 * it is constant. */
int leat__sampling_read(leat__planner *planner, const leat__use *use, int at, const char *fill_name,
                        const char *value_name, leat__sampling *sampling, leat_error *err);
/* A warp that samples so and moves nothing. */
int leat__sampling_begin(const leat__sampling *sampling, const leat__drawing *d, leat__warp *warp,
                         leat_error *err);
/* The argument `name`: two numbers, or one that stands for low,high around `middle`: middle - x and middle +
 * x, the first no less than `least`. Both within [least, most]. */
int leat__range_read(const leat__use *use, const char *name, double middle, double least, double most,
                     double out[2], leat_error *err);

#define LEAT_ARG_FILL(fallback_)                                                                     \
    {                                                                                                \
        .name = "fill", .kind = LEAT_ARG_WORD, .fallback = fallback_,                                \
        .words = "constant|nearest|reflect|wrap", .named = true, .help = "what lies beyond the edge" \
    }
#define LEAT_ARG_FILL_VALUE(name_)                                            \
    {                                                                         \
        .name = name_, .kind = LEAT_ARG_TEXT, .fallback = "0", .named = true, \
        .help = "of fill=constant: one number, or one a channel"              \
    }
#define LEAT_ARG_INTERPOLATION                                                                               \
    {                                                                                                        \
        .name = "interpolation", .kind = LEAT_ARG_WORD, .fallback = "bilinear", .words = "nearest|bilinear", \
        .named = true, .help = "nearest keeps the type, bilinear gives f32"                                  \
    }
#define LEAT_ARG_RANGE(name_, fallback_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = fallback_, .help = help_ }
#define LEAT_ARG_RANGE_NAMED(name_, fallback_, help_) \
    { .name = name_, .kind = LEAT_ARG_TEXT, .fallback = fallback_, .named = true, .help = help_ }

#endif
