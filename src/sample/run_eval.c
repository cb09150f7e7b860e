/* SPDX-License-Identifier: Apache-2.0 */
/* The operation `eval` on a sample. Its first step runs the program, which sees all fields as they were before, and writes
 * each result where the step of its field puts it: into the batch, or into the step's own memory. */
#include "base/cpu.h"
#include "sample/evaluated.h"
#include "sample/run.h"

typedef struct evaluating {
    leat__tools *tools;
    const leat__eval_plan *plan;
    const leat__step *step; /* of part 0 */
    const leat__where *at;
    leat__value made[LEAT_FIELDS_MAX];
} evaluating;

static void *place(void *user, int output, const leat__eval_node *node, const int64_t *shape, size_t bytes,
                   leat_error *err) {
    evaluating *e = user;
    const leat__step *step = e->step + output;
    leat__value *value = &e->made[output];
    *value = (leat__value){.dtype = node->dtype, .ndim = node->ndim, .bytes = bytes};
    memcpy(value->shape, shape, (size_t)node->ndim * sizeof *shape);
    if (step->output >= 0 && e->at->slot) {
        const leat__output *out = &e->tools->plan->output[step->output];
        if (!out->field.ragged && leat__run_check_shape(out, e->at, value, err) < 0) return NULL;
        if (bytes > out->stride) {
            leat__fail(err, LEAT_ERR_SHAPE, "%s has more values than the batch has room for",
                       out->field.name);
            return NULL;
        }
    }
    void *data = leat__run_destination(e->tools, step, e->at, bytes, err);
    value->data = data;
    return data;
}

int leat__run_eval(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__eval_plan *plan = step->as.eval.plan;
    leat__eval_input input[LEAT_FIELDS_MAX];
    leat_error local;
    if (!err) err = &local;
    if (step->as.eval.part > 0) return 0;
    for (int i = 0; i < plan->n_inputs; i++) {
        const leat__value *v = &tools->value[plan->input[i]];
        input[i] = (leat__eval_input){.data = v->data, .dtype = v->dtype, .ndim = v->ndim, .shape = v->shape};
    }
    evaluating e = {.tools = tools, .plan = plan, .step = step, .at = at};
    const leat__draw_key key = leat__run_draw_key(tools, at);
    leat__eval_call call = {.kernels = leat__eval_kernels_for(leat__cpu_flags()),
                            .input = input,
                            .scratch = &tools->picture[step - tools->plan->step][0],
                            .scratch_max = LEAT_MAX(tools->plan->budget.whole, LEAT_LARGE_PICTURE),
                            .key = key.key,
                            .position = key.position,
                            .operation = plan->operation,
                            .place = place,
                            .user = &e};
    for (int i = 0; tools->plan->non_temporal && i < plan->n; i++)
        if (step[i].output >= 0 && at->slot) call.stream |= UINT32_C(1) << i;
    leat__error_clear(err);
    const int rc = leat__eval_run(plan->program, &call, err);
    if (rc < 0) {
        leat__error_prefix(err, "eval: ");
        return rc;
    }
    for (int i = 0; i < plan->n; i++) tools->value[plan->value[i]] = e.made[i];
    return 0;
}
