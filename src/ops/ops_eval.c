/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that expressions make of others. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/eval/expression.h"
#include "sample/evaluated.h"

/* NAME=EXPRESSION; the name without the spaces around it. */
static int split_pair(leat__planner *planner, const leat__use *use, const char *pair, const char **name,
                      const char **expression, leat_error *err) {
    const char *equals = strchr(pair, '='), *begin = pair + strspn(pair, " \t\n");
    const char *end = equals ? equals : pair;
    while (end > begin && strchr(" \t\n", end[-1])) end--;
    if (!equals || end == begin || equals[1] == '=')
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "'%.80s' must be a field and an expression, such as image='image / 255'",
                               pair);
    char *kept = leat__plan_keep(planner, begin, (size_t)(end - begin) + 1, err);
    if (!kept) return LEAT_ERR_MEMORY;
    kept[end - begin] = 0;
    *name = kept;
    *expression = equals + 1;
    return 0;
}

static int read_all(leat__planner *planner, const leat__use *use, leat__expression *e, leat__eval_plan *plan,
                    leat_error *err) {
    const leat__arg_value *pairs = leat__use_arg(use, "expressions");
    LEAT_TRY(leat__expression_begin(e, planner, use, err));
    for (int i = 0; i < pairs->n; i++) {
        const char *text = NULL;
        if (plan->n == LEAT_FIELDS_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_FIELDS_MAX);
        LEAT_TRY(split_pair(planner, use, pairs->texts[i], &plan->name[plan->n], &text, err));
        for (int k = 0; k < plan->n; k++)
            if (strcmp(plan->name[k], plan->name[plan->n]) == 0)
                return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s is named twice", plan->name[k]);
        LEAT_TRY(leat__expression_read(e, plan->name[plan->n], text, (int)pairs->ints[i]));
        plan->n++;
    }
    LEAT_TRY(leat__expression_finish(e));
    plan->program = e->program;
    plan->n_inputs = e->program->n_inputs;
    memcpy(plan->input, e->value, sizeof plan->input);
    return 0;
}

/* What the batch has to know of a result: its type and shape; of a ragged one how many values it can have, which is not
 * more than all ragged fields that it is made of have together. */
static void describe(const leat__planner *planner, const leat__eval_plan *plan, const leat__eval_node *node,
                     leat_field *info, size_t *count_max) {
    size_t rows = 0, inner = 1;
    *count_max = 0;
    info->dtype = node->dtype;
    info->ndim = node->ndim;
    for (int k = 0; k < node->ndim; k++) info->shape[k] = node->shape[k] < 0 ? -1 : node->shape[k];
    for (int k = 1; k < node->ndim; k++) {
        if (node->shape[k] < 0) return;
        if (!leat__mul_size(inner, (size_t)node->shape[k], &inner)) return;
    }
    if (node->ndim == 0 || node->shape[0] >= 0) return;
    for (int i = 0; i < plan->n_inputs; i++) {
        const leat__plan_field *from = &planner->field[plan->input[i]];
        size_t own = 1;
        for (int k = 1; k < from->info.ndim; k++) own *= (size_t)LEAT_MAX(from->info.shape[k], (int64_t)1);
        if (from->info.ragged) rows += from->count_max / own;
    }
    if (!rows || !leat__mul_size(rows, inner, count_max)) return;
    info->ragged = 1;
}

/* Whether the size of the result is that of the batch's bucket: it has the first two axes of a field that has it. */
static bool keeps_bucket(const leat__planner *planner, const leat__eval_plan *plan,
                         const leat__eval_node *node) {
    for (int i = 0; i < plan->program->n_nodes; i++) {
        const leat__eval_node *in = &plan->program->node[i];
        if (in->op == LEAT_EVAL_INPUT && planner->field[plan->input[in->begin[0]]].by_bucket &&
            node->ndim >= 2 && in->ndim >= 2 && in->shape[0] == node->shape[0] &&
            in->shape[1] == node->shape[1])
            return true;
    }
    return false;
}

static int add_part(leat__planner *planner, const leat__use *use, leat__eval_plan *plan, int part,
                    const leat__plan_field *made, leat_error *err) {
    int at = leat__plan_live(planner, plan->name[part]);
    if (at < 0) LEAT_TRY(leat__plan_field_add(planner, use, plan->name[part], &at, err));
    leat__plan_field *old = &planner->field[at];
    if (old->device) LEAT_TRY(leat__device_check(planner, use, at, err));
    const leat__plan_field before = *old;
    *old = *made;
    snprintf(old->info.name, sizeof old->info.name, "%s", plan->name[part]);
    old->nchw = before.nchw;
    old->masks = before.masks; /* what moves with a picture still does */
    old->mask = before.mask;
    old->leader = before.leader;
    old->mask_fill = before.mask_fill;
    old->trail = before.trail;
    old->n_moves = before.n_moves;
    if (before.info.ndim == made->info.ndim) old->info.layout = before.info.layout;
    plan->value[part] = at;
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_EVAL, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.eval.plan = plan;
    step->as.eval.part = part;
    return 0;
}

static int plan_eval(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__expression e;
    leat__plan_field made[LEAT_FIELDS_MAX];
    leat__eval_plan *plan = leat__arena_alloc(&planner->plan->memory, sizeof *plan);
    if (!plan) return leat__fail_memory(err, sizeof *plan, "an expression");
    *plan = (leat__eval_plan){.operation = use->number};
    LEAT_TRY(read_all(planner, use, &e, plan, err));
    for (int i = 0; i < plan->n_inputs; i++) leat__plan_close_pass(planner, plan->input[i]);
    for (int i = 0; i < plan->n; i++) {
        const leat__eval_node *node = &plan->program->node[plan->program->output[i]];
        made[i] = (leat__plan_field){.pass = -1};
        describe(planner, plan, node, &made[i].info, &made[i].count_max);
        made[i].by_bucket = keeps_bucket(planner, plan, node);
    }
    for (int i = 0; i < plan->n; i++) LEAT_TRY(add_part(planner, use, plan, i, &made[i], err));
    return 0;
}

/* ------------------------------------------------------------------------------------------- the table */

const leat__op leat__ops_eval[] = {
    {.name = "eval",
     .kind = LEAT_OP_SAMPLE,
     .help = "Arithmetic on fields: FIELD='EXPRESSION' pairs, which all see the fields as they were before.",
     .like = "tf.where, tf.clip_by_value, tf.reduce_mean, tf.reduce_sum, tf.argmax, tf.gather, tf.concat, "
             "tf.math.divide, keras.ops.where",
     .plan = plan_eval,
     .arg = {{.name = "expressions",
              .kind = LEAT_ARG_TEXTS,
              .pairs = true,
              .help = "such as image='(image / 127.5 - 1) * 0.5' bright='mean(image) > 100'; a field that is "
                      "not there yet is made"}}},
    {0},
};
