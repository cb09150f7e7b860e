/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/group.h"

#include "sample/draw.h"
#include "sample/run.h"

/* --------------------------------------------------------------------------------------------- plan */

int leat__group_init(leat__group_state *state, const leat__plan *plan, leat_error *err) {
    for (int i = 0; i < plan->n_group_ops; i++) {
        const leat__group_op *op = &plan->group_op[i];
        const size_t image = plan->output[op->image].stride, labels = op->n_labels * sizeof(float);
        state[i].image.kind = state[i].labels.kind = LEAT_MEM_WORKER;
        if (!leat__buf_reserve_exactly(&state[i].image, image) ||
            !leat__buf_reserve_exactly(&state[i].labels, labels))
            return leat__fail_memory(err, image + labels, "a sample that is mixed");
    }
    return 0;
}

void leat__group_free(leat__group_state *state) {
    for (int i = 0; i < LEAT_GROUP_OPS_MAX; i++) {
        leat__buf_free(&state[i].image);
        leat__buf_free(&state[i].labels);
    }
}

/* What was drawn for a member: its own share. */
static double draw(const leat__tools *tools, const leat__group_op *op, const leat__group_member *member,
                   uint64_t partner, leat__mix_box *box) {
    const leat__draw_key key = {.key = leat__rng_key(tools->plan->seed, member->epoch),
                                .position = member->position,
                                .params = member->params};
    const leat__mix_shape *shape = &op->shape;
    leat__drawing d =
        leat__drawing_at(&key, &op->op, shape->height, shape->width, shape->channels, shape->dtype);
    double lambda = 1;
    *box = (leat__mix_box){0};
    if (leat__draw_chance(&d, op->probability)) {
        lambda = leat__mix_draw_lambda(&d.rng, op->alpha);
        if (op->cutmix) {
            *box = leat__mix_draw_box(&d.rng, lambda, shape->height, shape->width);
            lambda = leat__mix_box_lambda(box, shape->height, shape->width);
        }
    }
    leat__params_add(&d, "lambda", lambda);
    if (lambda == 1) return lambda;
    leat__params_add(&d, "partner", (double)partner);
    if (op->cutmix) {
        leat__params_add(&d, "x", box->left);
        leat__params_add(&d, "y", box->top);
        leat__params_add(&d, "width", box->right - box->left);
        leat__params_add(&d, "height", box->bottom - box->top);
    }
    return lambda;
}

static uint8_t *bytes_of(const leat__plan *plan, int output, const leat__group_member *member) {
    if (output < 0) return NULL;
    return member->slot + plan->output[output].offset + (size_t)member->place * plan->output[output].stride;
}

/* Turns member into a mixture with partner, whose image and labels are those it had before it was mixed itself. */
static void mix(const leat__tools *tools, const leat__group_op *op, const leat__group_member *member,
                uint64_t partner, const uint8_t *image, const uint8_t *labels) {
    leat__mix_box box;
    const double lambda = draw(tools, op, member, partner, &box);
    if (lambda == 1) return;
    uint8_t *own = bytes_of(tools->plan, op->image, member);
    if (op->cutmix) leat__mix_paste(own, image, &op->shape, &box);
    else leat__mix_blend(&tools->dsp, own, image, op->shape.dtype, op->n_values, lambda);
    if (!labels) return;
    leat__mix_blend(&tools->dsp, bytes_of(tools->plan, op->labels, member), labels, LEAT_DTYPE_F32,
                    op->n_labels, lambda);
}

/* A member has come to operation number i; one that is finished there goes on to the next operation. */
static void add(leat__tools *tools, int i, const leat__group_member *member) {
    const leat__plan *plan = tools->plan;
    if (i == plan->n_group_ops) return;
    const leat__group_op *op = &plan->group_op[i];
    leat__group_state *state = &tools->group[i];
    const uint8_t *image = bytes_of(plan, op->image, member), *labels = bytes_of(plan, op->labels, member);
    if (state->n++ == 0) { /* it will be another one when the last needs it */
        state->first = member->sample;
        memcpy(state->image.data, image, plan->output[op->image].stride);
        if (labels) memcpy(state->labels.data, labels, op->n_labels * sizeof(float));
    } else {
        mix(tools, op, &state->last, member->sample, image, labels);
        add(tools, i + 1, &state->last);
    }
    state->last = *member;
}

void leat__group_add(leat__tools *tools, const leat__group_member *member) {
    add(tools, 0, member);
}

void leat__group_end(leat__tools *tools) {
    for (int i = 0; i < tools->plan->n_group_ops; i++) {
        const leat__group_op *op = &tools->plan->group_op[i];
        leat__group_state *state = &tools->group[i];
        /* One alone stays as it is. */
        if (state->n > 1)
            mix(tools, op, &state->last, state->first, state->image.data,
                op->labels < 0 ? NULL : state->labels.data);
        if (state->n > 0) add(tools, i + 1, &state->last);
        state->n = 0;
    }
}
