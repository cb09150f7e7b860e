/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over consecutive samples, for time series. source/windows.c makes them. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ------------------------------------------------------------------------------------- what may stand before */

/* The samples that the order before it gives must be consecutive ones of the source, the same in every epoch. */
static int find_samples(leat__planner *planner, const leat__use *use, leat__windowing *how, leat_error *err) {
    leat__order *order = &planner->plan->order;
    bool ranges = true;
    how->n = leat__order_length(order);
    for (int i = 0; i < order->n_verbs; i++) {
        if (!leat__order_fixed(&order->verb[i]) || how->n == LEAT_ENDLESS)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "windows are made of consecutive samples: write shuffle and repeat behind it");
        ranges &= order->verb[i].kind == LEAT_ORDER_TAKE || order->verb[i].kind == LEAT_ORDER_SKIP;
    }
    if (how->n == 0) return 0;
    LEAT_TRY(leat__order_allocate(order, err));
    how->first = leat__order_map_part(order, order->n_verbs, 0);
    for (uint64_t i = 1; !ranges && i < how->n; i++)
        if (leat__order_map_part(order, order->n_verbs, i) != how->first + i)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "windows are made of consecutive samples, and some are left out before it: "
                "write take, skip or split by=order before it, and all others behind");
    return 0;
}

static int check_fields(const leat__planner *planner, const leat__use *use, leat_error *err) {
    static const char remedy[] = "write the numbers to arrays first (npy; in Python "
                                 "leat.from_generator(lambda: ds) keeps them), and window behind these";
    if (planner->plan->stream)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "a stream is read one record after the other: %s", remedy);
    if (planner->plan->n_steps && planner->plan->step[0].kind == LEAT_STEP_PARSE)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED, "records must be parsed one by one: %s",
                               remedy);
    for (int i = 0; i < planner->n_fields; i++) {
        const leat_field *info = &planner->field[i].info;
        bool fixed = !info->ragged && info->dtype != LEAT_DTYPE_BYTES;
        for (int k = 0; k < info->ndim; k++) fixed &= info->shape[k] >= 0;
        if (!fixed)
            return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                                   "windows are made of numbers of one shape, and field %s holds %s of any "
                                   "length: %s",
                                   info->name, info->dtype == LEAT_DTYPE_BYTES ? "bytes" : "values", remedy);
    }
    if (planner->plan->n_steps || planner->plan->n_outputs || planner->plan->source->paired_anew)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "write it right behind the source: operations on samples stand behind it");
    return 0;
}

/* ---------------------------------------------------------------------------------------------- targets */

static int find_targets(const leat__planner *planner, const leat__use *use, leat__windowing *how,
                        leat_error *err) {
    const char *list = leat__use_arg(use, "targets")->text, *at = leat__use_arg(use, "at")->text;
    const int64_t last = (int64_t)((how->size - 1) * how->stride);
    int64_t behind = 0;
    while (*list) {
        char name[64];
        const size_t len = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)LEAT_MIN(len, sizeof name - 1), list);
        const int field = leat__plan_live(planner, name);
        const char *near = field < 0 ? leat__nearest(name, leat__plan_live_name, planner) : NULL;
        if (field < 0)
            return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "targets: there is no field '%s' here%s%s%s",
                                   name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        how->targets |= UINT32_C(1) << field;
        list += len + (list[len] == ',');
    }
    if (leat__use_arg(use, "at")->given && !how->targets)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "at is for fields that targets names");
    if (strcmp(at, "first") == 0) behind = -last;
    else if (strcmp(at, "last") != 0 && !leat__parse_int(at, &behind))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "at must be last, first, or how many samples behind the last, not '%s'", at);
    if (behind < -last || behind > INT64_C(1) << 40)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "a target cannot lie before its window: at must be %" PRId64 " or more",
                               -last);
    how->target = (uint64_t)(last + behind);
    return 0;
}

static int plan_window(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__windowing how = {.size = (uint64_t)leat__use_arg(use, "size")->i,
                           .shift = (uint64_t)leat__use_arg(use, "shift")->i,
                           .stride = (uint64_t)leat__use_arg(use, "stride")->i};
    if (how.shift == 0) how.shift = how.size;
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "works on single samples: write it before batch");
    LEAT_TRY(check_fields(planner, use, err));
    LEAT_TRY(find_targets(planner, use, &how, err));
    LEAT_TRY(find_samples(planner, use, &how, err));
    const uint64_t n = how.n;
    LEAT_TRY(leat__window_open(&plan->source, &how, err));
    if (plan->source->n_samples == 0)
        return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND,
                               "there are %" PRIu64 " samples, and no whole window fits into them", n);
    leat__order_free(&plan->order);
    return leat__plan_source_take(planner, 0);
}

const leat__op leat__ops_window[] = {
    {.name = "window",
     .kind = LEAT_OP_ORDER,
     .help = "Consecutive samples stacked to one, with a new first axis: windows over a time series.",
     .like = "tf.data.Dataset.window, keras.utils.timeseries_dataset_from_array",
     .plan = plan_window,
     .arg = {{.name = "size", .kind = LEAT_ARG_INT, .min = 1, .max = 1e6, .help = "samples in a window"},
             {.name = "shift",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e12,
              .named = true,
              .help = "samples from one window to the next; 0: the size, so that windows do not overlap"},
             {.name = "stride",
              .kind = LEAT_ARG_INT,
              .fallback = "1",
              .min = 1,
              .max = 1e6,
              .named = true,
              .help = "samples from one of a window to the next of it"},
             {.name = "targets",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "fields that are not stacked but taken from one sample, separated by commas"},
             {.name = "at",
              .kind = LEAT_ARG_TEXT,
              .fallback = "last",
              .named = true,
              .help = "that sample: last, first, or a number: so many behind the last"}}},
    {0},
};
