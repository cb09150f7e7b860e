/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program for one sample: first all shapes, then memory, then the nodes that have some. */
#include "image/eval/eval.h"

#include "base/error.h"

enum { ALIGN = 64 };

static size_t item_of(const leat__eval_node *node) {
    return leat_dtype_size(node->dtype);
}

/* ---------------------------------------------------------------------------------------------- shapes */

static int input_shape(const leat__eval_running *run, const leat__eval_node *node, leat__eval_view *view,
                       leat_error *err) {
    const leat__eval_input *in = &run->call->input[node->begin[0]];
    char is[160], was[160];
    bool same = in->dtype == node->dtype && in->ndim == node->ndim;
    for (int k = 0; same && k < in->ndim; k++) same = node->shape[k] < 0 || in->shape[k] == node->shape[k];
    if (!same)
        return leat__fail(
            err, LEAT_ERR_SHAPE, "a field is %s %s, and was planned as %s %s", leat_dtype_name(in->dtype),
            leat__eval_shape_text(is, sizeof is, in->shape, in->ndim), leat_dtype_name(node->dtype),
            leat__eval_shape_text(was, sizeof was, node->shape, node->ndim));
    memcpy(view->shape, in->shape, (size_t)in->ndim * sizeof *view->shape);
    view->data = in->data;
    return 0;
}

static int resolve(const leat__eval_running *run, int number, leat_error *err) {
    const leat__eval_node *node = &run->program->node[number];
    leat__eval_view *view = &run->view[number];
    int ndim = node->ndim;
    if (node->op == LEAT_EVAL_INPUT) {
        LEAT_TRY(input_shape(run, node, view, err));
    } else if (node->op == LEAT_EVAL_CONST) {
        memcpy(view->shape, node->shape, sizeof view->shape);
        view->data = node->data;
    } else {
        const int64_t *shape[LEAT_EVAL_ARGS];
        int axes[LEAT_EVAL_ARGS];
        for (int i = 0; i < node->n_args; i++) {
            shape[i] = run->view[node->arg[i]].shape;
            axes[i] = run->program->node[node->arg[i]].ndim;
        }
        LEAT_TRY(leat__eval_shape(node, shape, axes, view->shape, &ndim, err));
        assert(ndim == node->ndim);
    }
    size_t bytes = item_of(node);
    for (int k = 0; k < ndim; k++)
        if (view->shape[k] &&
            (!leat__mul_size(bytes, (size_t)view->shape[k], &bytes) || bytes > (size_t)1 << 36))
            return leat__fail(err, LEAT_ERR_LIMIT, "a result has too many values");
    leat__eval_pack(view, ndim);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- memory */

static size_t bytes_of(const leat__eval_running *run, int number) {
    const leat__eval_node *node = &run->program->node[number];
    return leat__eval_count(run->view[number].shape, node->ndim) * item_of(node);
}

/* What a node makes lies in the scratch, but for results. */
static bool is_between(const leat__eval_node *node) {
    return node->stored && node->output < 0 && node->op != LEAT_EVAL_INPUT && node->op != LEAT_EVAL_CONST &&
           !leat__eval_is_view(node->op);
}

/* What the largest reduction needs beside its result. */
static size_t work_bytes(const leat__eval_running *run) {
    size_t most = 0;
    for (int i = 0; i < run->program->n_nodes; i++) {
        const leat__eval_node *node = &run->program->node[i];
        if (node->op >= LEAT_EVAL_SUM && node->op <= LEAT_EVAL_MOST)
            most = LEAT_MAX(most, leat__eval_count(run->view[i].shape, node->ndim) * sizeof(double));
    }
    return LEAT_ALIGN_UP(most, (size_t)ALIGN);
}

static int place_all(leat__eval_running *run, leat_error *err) {
    const leat__eval_program *program = run->program;
    const leat__eval_call *call = run->call;
    const size_t registers = LEAT_ALIGN_UP(program->registers, (size_t)ALIGN), work = work_bytes(run);
    size_t total = registers + work;
    for (int i = 0; i < program->n_nodes; i++)
        if (is_between(&program->node[i]) &&
            !leat__add_size(total, LEAT_ALIGN_UP(bytes_of(run, i), (size_t)ALIGN), &total))
            return leat__fail(err, LEAT_ERR_LIMIT, "a result has too many values");
    if (total > call->scratch_max || !leat__buf_reserve(call->scratch, LEAT_MAX(total, (size_t)1)))
        return leat__fail_memory(err, total, "what lies between two operations");
    run->registers = call->scratch->data;
    run->work = run->registers + registers;
    size_t at = registers + work;
    for (int i = 0; i < program->n_nodes; i++) {
        const leat__eval_node *node = &program->node[i];
        if (is_between(node)) {
            run->view[i].data = call->scratch->data + at;
            at += LEAT_ALIGN_UP(bytes_of(run, i), (size_t)ALIGN);
        } else if (node->output >= 0) {
            run->view[i].data =
                call->place(call->user, node->output, node, run->view[i].shape, bytes_of(run, i), err);
            if (!run->view[i].data) return err && err->code < 0 ? err->code : LEAT_ERR_MEMORY;
        }
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------- nodes */

static void take_view(const leat__eval_running *run, const leat__eval_node *node, leat__eval_view *view) {
    const leat__eval_view *of = &run->view[node->arg[0]];
    const int from = run->program->node[node->arg[0]].ndim;
    const ptrdiff_t item = (ptrdiff_t)item_of(node);
    view->data = of->data;
    if (node->op == LEAT_EVAL_TRANSPOSE) {
        for (int k = 0; k < node->ndim; k++) view->stride[k] = of->stride[node->begin[k]];
    } else if (node->op == LEAT_EVAL_BROADCAST) {
        for (int k = 1; k <= node->ndim; k++)
            view->stride[node->ndim - k] = k <= from && of->shape[from - k] != 1 ? of->stride[from - k] : 0;
    } else if (node->op == LEAT_EVAL_SLICE) {
        int at = 0;
        for (int k = 0; k <= from; k++) {
            while (at < node->ndim && node->added >> at & 1) view->stride[at++] = 0;
            if (k == from) break;
            int64_t begin = node->begin[k];
            if (node->dropped >> k & 1) {
                if (begin < 0) begin += of->shape[k];
            } else {
                leat__eval_slice(node, k, of->shape[k], &begin);
                view->stride[at++] = of->stride[k] * node->step[k];
            }
            view->data += begin * of->stride[k] * item;
        }
    } /* a reshape keeps the strides of values that lie one after the other */
}

/* Each part goes into its piece of the result. */
static int join(const leat__eval_running *run, const leat__eval_node *node, const leat__eval_view *into,
                leat_error *err) {
    const int axis = (int)node->begin[0];
    leat__eval_view piece = *into;
    for (int i = 0; i < node->n_args; i++) {
        const leat__eval_view *part = &run->view[node->arg[i]];
        memcpy(piece.shape, part->shape, sizeof piece.shape);
        LEAT_TRY(leat__eval_run_loop(run, &run->program->node[node->arg[i]], &piece, err));
        piece.data += part->shape[axis] * into->stride[axis] * (ptrdiff_t)item_of(node);
    }
    return 0;
}

static int compute(const leat__eval_running *run, int number, leat_error *err) {
    const leat__eval_node *node = &run->program->node[number];
    leat__eval_view *view = &run->view[number];
    void *const dst = (void *)(uintptr_t)view->data;
    switch (node->op) {
    case LEAT_EVAL_INPUT:
    case LEAT_EVAL_CONST: return 0;
    case LEAT_EVAL_SIZE: *(int32_t *)dst = (int32_t)run->view[node->arg[0]].shape[node->begin[0]]; return 0;
    case LEAT_EVAL_SLICE:
    case LEAT_EVAL_TRANSPOSE:
    case LEAT_EVAL_RESHAPE:
    case LEAT_EVAL_BROADCAST: take_view(run, node, view); return 0;
    case LEAT_EVAL_SUM:
    case LEAT_EVAL_MEAN:
    case LEAT_EVAL_LEAST:
    case LEAT_EVAL_MOST: leat__eval_reduce(run, node, dst); return 0;
    case LEAT_EVAL_ARGMAX:
    case LEAT_EVAL_ARGMIN: leat__eval_arg(run, node, dst); return 0;
    case LEAT_EVAL_CONCAT: return join(run, node, view, err);
    case LEAT_EVAL_GATHER: return leat__eval_rows(run, node, dst, err);
    default: return leat__eval_run_loop(run, node, view, err);
    }
}

int leat__eval_run(const leat__eval_program *program, const leat__eval_call *call, leat_error *err) {
    leat__eval_view view[LEAT_EVAL_NODES];
    leat__eval_running run = {.program = program, .call = call, .view = view};
    for (int i = 0; i < program->n_nodes; i++) LEAT_TRY(resolve(&run, i, err));
    LEAT_TRY(place_all(&run, err));
    for (int i = 0; i < program->n_nodes; i++) {
        const leat__eval_node *node = &program->node[i];
        /* Views cost nothing, and loops look at the strides of all their leaves. */
        if (node->stored && (leat__eval_is_view(node->op) || leat__eval_holds(&run, node->guard)))
            LEAT_TRY(compute(&run, i, err));
    }
    return 0;
}
