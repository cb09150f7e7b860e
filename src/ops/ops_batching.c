/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that put samples together: batch, padded_batch, and what takes batches apart again. A batch is an address, so
 * that unbatch and rebatch cost nothing: they say which samples belong together after all. */
#include <stdio.h>

#include "ops/ops_args.h"
#include "plan/planner.h"

static int begin_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    plan->batch = (int)leat__use_arg(use, "size")->i;
    plan->drop_remainder = leat__use_arg(use, "drop_remainder")->i != 0;
    plan->pad_remainder = leat__use_arg(use, "pad_remainder")->i != 0;
    planner->batched = true;
    if (plan->drop_remainder && plan->pad_remainder)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "a last batch that is not full is either left out or filled up, not both");
    return 0;
}

static int plan_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is a batch before: write rebatch %s for batches of another size",
                               leat__use_arg(use, "size")->text);
    return begin_batch(planner, use, err);
}

static int plan_padded_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    planner->padding = use; /* fields are looked at when they have become outputs, in padding.c */
    return plan_batch(planner, use, err);
}

/* ------------------------------------------------------------------------------------ batches undone */

static bool endless(const leat__order *order) {
    for (int i = 0; i < order->n_verbs; i++)
        if (order->verb[i].kind == LEAT_ORDER_REPEAT && order->verb[i].count == LEAT_ENDLESS) return true;
    return false;
}

/* What batches, as far as they were planned, say about samples is written as verbs of order: a remainder that was dropped,
 * and epochs that `repeat` after batch has added. */
static int undo_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (!planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is no batch before it: write batch, or leave it out");
    if (planner->padding)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "batches of one size each cannot be divided anew: write the size into padded_batch");
    if (plan->pad_remainder)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "a batch that was filled up would leave repeated samples: write pad_remainder at the last batch");
    const uint64_t length = leat__order_length(&plan->order), rest = length % leat__plan_global_batch(plan);
    if (plan->drop_remainder && length == LEAT_ENDLESS && !endless(&plan->order))
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED,
            "how many samples a remainder has is not known before a stream was read: write "
            "drop_remainder=true at the last batch only");
    if (plan->drop_remainder && length != LEAT_ENDLESS && rest > 0)
        LEAT_TRY(leat__plan_order_add(
            planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE, .count = length - rest}, err));
    if (plan->turns != 1)
        LEAT_TRY(leat__plan_order_add(
            planner,
            (leat__order_verb){.kind = LEAT_ORDER_REPEAT,
                               .count = plan->turns < 0 ? LEAT_ENDLESS : (uint64_t)plan->turns},
            err));
    plan->turns = 1;
    return 0;
}

static int plan_unbatch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(undo_batch(planner, use, err));
    if (plan->n_group_ops)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "samples that were mixed stay in their batches: write %s after the last batch",
                               plan->group_op[0].op.name);
    planner->batched = false;
    plan->batch = 1;
    plan->drop_remainder = false;
    return 0;
}

static int plan_rebatch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(undo_batch(planner, use, err));
    LEAT_TRY(begin_batch(planner, use, err));
    if (plan->group && plan->batch % plan->group)
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "a batch of %d is no whole number of groups of %d, in which samples are mixed: write rebatch %d",
            plan->batch, plan->group, (plan->batch + plan->group - 1) / plan->group * plan->group);
    return 0;
}

/* -------------------------------------------------------------------------------------------- ranks */

const leat__use *leat__batch_of_world(const leat__plan *plan, const leat__use *use, leat__batch_use *room) {
    const bool sized =
        use->op->plan == plan_batch || use->op->plan == plan_padded_batch || use->op->plan == plan_rebatch;
    if (!sized) return use;
    room->use = *use;
    assert(strcmp(use->op->arg[0].name, "size") == 0);
    snprintf(room->size, sizeof room->size, "%" PRId64, use->arg[0].i * plan->world);
    room->use.arg[0].text = room->size;
    return &room->use;
}

/* --------------------------------------------------------------------------------------------- rows */

#define SIZE_ARG                                                        \
    {                                                                   \
        .name = "size", .kind = LEAT_ARG_INT, .min = 1, .max = 1 << 24, \
        .help = "samples in a batch, of one rank"                       \
    }
#define REMAINDER_ARGS                                                                      \
    {.name = "drop_remainder",                                                              \
     .kind = LEAT_ARG_BOOL,                                                                 \
     .fallback = "false",                                                                   \
     .named = true,                                                                         \
     .help = "leave out a last batch that is not full"},                                    \
    {                                                                                       \
        .name = "pad_remainder", .kind = LEAT_ARG_BOOL, .fallback = "false", .named = true, \
        .help = "fill it up with repeated samples; so with several ranks in any case"       \
    }

const leat__op leat__ops_batching[] = {
    {.name = "batch",
     .kind = LEAT_OP_BATCH,
     .help = "Puts consecutive samples together.",
     .like = "tf.data.Dataset.batch, tf.data.Dataset.ragged_batch, "
             "keras.utils.image_dataset_from_directory(batch_size), torch.utils.data.BatchSampler, "
             "torch.utils.data.DataLoader(batch_size)",
     .plan = plan_batch,
     .arg = {SIZE_ARG, REMAINDER_ARGS}},
    {.name = "padded_batch",
     .kind = LEAT_OP_BATCH,
     .help =
         "A batch of fields that differ in size, filled up to the largest of the batch or to a given size.",
     .like = "tf.data.Dataset.padded_batch",
     .plan = plan_padded_batch,
     .arg = {SIZE_ARG,
             {.name = "shapes",
              .kind = LEAT_ARG_TEXTS,
              .fallback = "",
              .pairs = true,
              .help = "fields of one size in all batches: image=640x640x3; * is the largest of the batch"},
             {.name = "padding",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0",
              .named = true,
              .help = "what fills up: a number, or such as image:255,ids:-1"},
             {.name = "max",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "the largest size there can be, where neither text nor index tells it: 2000x2000x3, "
                      "or image:2000x2000x3"},
             REMAINDER_ARGS}},
    {.name = "unbatch",
     .kind = LEAT_OP_BATCH,
     .help = "Takes batches apart into samples.",
     .like = "tf.data.Dataset.unbatch",
     .plan = plan_unbatch},
    {.name = "rebatch",
     .kind = LEAT_OP_BATCH,
     .help = "The samples of batches in batches of another size.",
     .like = "tf.data.Dataset.rebatch",
     .plan = plan_rebatch,
     .arg = {SIZE_ARG, REMAINDER_ARGS}},
    {0},
};
