/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a batch mixed with one another. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"

enum {
    GROUP_MOST = 16
}; /* unless the text asks for more: a task has whole groups, and many tasks share a batch */

/* The largest divisor of a rank's batch up to GROUP_MOST. A batch that has none but 1 (a prime number above it) is one
 * group: nothing would be mixed otherwise. */
static int fitting_group(int batch) {
    for (int group = GROUP_MOST; group > 1; group--)
        if (batch % group == 0) return group;
    return batch;
}

static int find_group(const leat__planner *planner, const leat__use *use, int *group, leat_error *err) {
    const leat__plan *plan = planner->plan;
    const int asked = (int)leat__use_arg(use, "group")->i, fitting = fitting_group(plan->batch);
    *group = asked ? asked : plan->group ? plan->group : fitting;
    if (plan->batch < 2)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "a batch of one sample has nothing to mix: write a larger batch before");
    if (asked == 1)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "in a group of 1 nothing is mixed: leave group out, or write 2 or more");
    if (plan->batch % *group)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "a batch of %d cannot be cut into groups of %d: leave group out (it is %d "
                               "then), or write batch %d",
                               plan->batch, asked, fitting, (plan->batch + asked - 1) / asked * asked);
    if (plan->group && plan->group != *group)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "an operation before it has groups of %d: leave group out here, or write "
                               "group=%d there too",
                               plan->group, *group);
    return 0;
}

static int find_labels(leat__planner *planner, const leat__use *use, int *at, leat_error *err) {
    *at = -1;
    if (strcmp(leat__use_arg(use, "labels")->text, "none") == 0) return 0;
    const int rc = leat__plan_field_find(planner, use, "labels", at, err);
    if (rc == LEAT_ERR_NOT_FOUND && !leat__use_arg(use, "labels")->given)
        return leat__plan_fail(
            use, err, LEAT_ERR_NOT_FOUND,
            "there is no field 'label' whose values could be mixed too: name it (labels=NAME), or "
            "write labels=none");
    LEAT_TRY(rc);
    const leat_field *info = &planner->field[*at].info;
    char classes[24] = "N";
    if (planner->plan->source->n_classes)
        snprintf(classes, sizeof classes, "%zu", planner->plan->source->n_classes);
    if (leat__is_whole(info->dtype))
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "field %s holds %s, which cannot be mixed: write one_hot %s %s before batch",
                               info->name, leat_dtype_name(info->dtype), info->name, classes);
    if (info->dtype != LEAT_DTYPE_F32 || info->ragged)
        return leat__plan_fail(
            use, err, LEAT_ERR_TYPE,
            "field %s holds %s%s: labels that are mixed are f32: write cast %s f32 before batch", info->name,
            leat_dtype_name(info->dtype), info->ragged ? " of any length" : "", info->name);
    return 0;
}

static int plan_group(leat__planner *planner, const leat__use *use, bool cutmix, leat_error *err) {
    leat__plan *plan = planner->plan;
    int group;
    leat__group_op op = {.use = use,
                         .cutmix = cutmix,
                         .alpha = leat__use_arg(use, "alpha")->x,
                         .probability = leat__use_arg(use, "p")->x};
    leat__image_op_name(&op.op, use);
    if (!planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "works on samples of a batch: write it after batch");
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &op.image, err));
    const leat_field *info = &planner->field[op.image].info;
    if (!leat__mix_knows(info->dtype) || info->ragged)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "mixes pictures of u8, f16, bf16 or f32, field %s holds %s%s", info->name,
                               leat_dtype_name(info->dtype), info->ragged ? " of any length" : "");
    LEAT_TRY(find_labels(planner, use, &op.labels, err));
    if (op.labels == op.image)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "field %s cannot be the picture and its label",
                               info->name);
    if (!(op.alpha > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "alpha must be above 0");
    LEAT_TRY(find_group(planner, use, &group, err));
    if (plan->n_group_ops == LEAT_GROUP_OPS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d operations on groups",
                               LEAT_GROUP_OPS_MAX);
    plan->group = group;
    plan->group_op[plan->n_group_ops++] = op;
    return 0;
}

static int plan_mixup(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_group(planner, use, false, err);
}

static int plan_cutmix(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_group(planner, use, true, err);
}

static int output_of(const leat__plan *plan, int value) {
    for (int i = 0; i < plan->n_outputs; i++)
        if (plan->output[i].value == value) return i;
    return -1;
}

static int resolve_mix(leat__planner *planner, leat__group_op *op, leat_error *err) {
    const leat__plan *plan = planner->plan;
    const bool nchw = planner->field[op->image].nchw;
    op->image = output_of(plan, op->image);
    if (op->labels >= 0) op->labels = output_of(plan, op->labels);
    const leat_field *field = &plan->output[op->image].field;
    if (plan->output[op->image].padded || (op->labels >= 0 && plan->output[op->labels].padded))
        return leat__plan_fail(op->use, err, LEAT_ERR_SHAPE,
                               "samples of differing sizes cannot be mixed: resize them, and write batch");
    if (field->ndim != 2 && field->ndim != 3)
        return leat__plan_fail(op->use, err, LEAT_ERR_SHAPE,
                               "field %s has %d axes, a picture has (height, width, channels)", field->name,
                               field->ndim);
    const int64_t *s = field->shape;
    op->shape = (leat__mix_shape){.dtype = field->dtype,
                                  .height = (int)s[nchw ? 1 : 0],
                                  .width = (int)s[nchw ? 2 : 1],
                                  .channels = field->ndim == 2 ? 1 : (int)s[nchw ? 0 : 2],
                                  .nchw = nchw};
    op->n_values = plan->output[op->image].stride / plan->output[op->image].item;
    if (op->labels >= 0) op->n_labels = plan->output[op->labels].stride / sizeof(float);
    return 0;
}

int leat__group_resolve(leat__planner *planner, leat_error *err) {
    for (int i = 0; i < planner->plan->n_group_ops; i++)
        LEAT_TRY(resolve_mix(planner, &planner->plan->group_op[i], err));
    return 0;
}

/* ------------------------------------------------------------------------------------------ the table */

#define GROUP_ARGS(alpha_)                                                                                   \
    {.name = "alpha",                                                                                        \
     .kind = LEAT_ARG_NUMBER,                                                                                \
     .fallback = alpha_,                                                                                     \
     .max = 1e6,                                                                                             \
     .help = "of Beta(alpha, alpha), from which the own share is drawn"},                                    \
        {.name = "group",                                                                                    \
         .kind = LEAT_ARG_INT,                                                                               \
         .fallback = "0",                                                                                    \
         .max = 65536,                                                                                       \
         .named = true,                                                                                      \
         .help = "samples among which partners are taken, a divisor of the batch; 0: the largest up to 16"}, \
        {.name = "p",                                                                                        \
         .kind = LEAT_ARG_NUMBER,                                                                            \
         .fallback = "1",                                                                                    \
         .max = 1,                                                                                           \
         .named = true,                                                                                      \
         .help = "how likely"},                                                                              \
        {.name = "labels",                                                                                   \
         .kind = LEAT_ARG_FIELD,                                                                             \
         .fallback = "label",                                                                                \
         .named = true,                                                                                      \
         .help = "f32 labels that are mixed with the same shares; none: there are none"},                    \
        LEAT_ARG_FIELD_NAMED

const leat__op leat__ops_mix[] = {
    {.name = "mixup",
     .kind = LEAT_OP_BATCH,
     .help = "Blends each sample of a batch with the next one of its group, labels too.",
     .like = "keras.layers.MixUp, torchvision MixUp",
     .random = true,
     .flags = LEAT_OP_GROUPED,
     .plan = plan_mixup,
     .arg = {GROUP_ARGS("0.2")}},
    {.name = "cutmix",
     .kind = LEAT_OP_BATCH,
     .help = "Pastes a box of the next sample of the group into each sample of a batch; labels are mixed by "
             "area.",
     .like = "keras.layers.CutMix, torchvision CutMix",
     .random = true,
     .flags = LEAT_OP_GROUPED,
     .plan = plan_cutmix,
     .arg = {GROUP_ARGS("1")}},
    {0},
};
