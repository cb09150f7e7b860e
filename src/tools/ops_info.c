/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations, told to the world outside. */
#include "leat/leat_tools.h"
#include "plan/op.h"

static const char *const kind_names[] = {
    [LEAT_OP_SOURCE] = "source", [LEAT_OP_ORDER] = "order", [LEAT_OP_SAMPLE] = "sample",
    [LEAT_OP_IMAGE] = "image",   [LEAT_OP_BATCH] = "batch",
};
static const char *const type_names[] = {
    [LEAT_ARG_INT] = "int",     [LEAT_ARG_NUMBER] = "number", [LEAT_ARG_BOOL] = "bool",
    [LEAT_ARG_WORD] = "word",   [LEAT_ARG_TEXT] = "text",     [LEAT_ARG_FIELD] = "field",
    [LEAT_ARG_DTYPE] = "dtype", [LEAT_ARG_TEXTS] = "texts",   [LEAT_ARG_INTS] = "ints",
};

int leat_op_at(int i, leat_op_info *op) {
    if (!op) return LEAT_ERR_ARGUMENT;
    *op = (leat_op_info){0};
    const leat__op *from = i < 0 ? NULL : leat__op_at((size_t)i);
    if (!from) return LEAT_END;
    op->name = from->name;
    op->kind = kind_names[from->kind];
    op->help = from->help;
    op->like = from->like;
    op->random = from->random;
    static_assert(LEAT_COUNT(op->arg) >= LEAT_ARGS_MAX, "the public struct has room for every argument");
    const leat__arg *arg;
    for (; (arg = leat__op_arg(from, op->n_args)) != NULL; op->n_args++) {
        op->arg[op->n_args] = (leat_arg_info){
            .name = arg->name,
            .type = type_names[arg->kind],
            .fallback = arg->fallback,
            .words = arg->words,
            .min = arg->min,
            .max = arg->max,
            .named = arg->named,
            .help = arg->help,
            .also = arg->also,
        };
    }
    return 0;
}

const char *leat_op_elsewhere(const char *name, const char **argument) {
    const leat__arg *arg = NULL;
    const leat__op *op = name ? leat__op_elsewhere(name, &arg) : NULL;
    if (argument) *argument = arg ? arg->name : NULL;
    return op ? op->name : NULL;
}

const char *leat_op_near(const char *name) {
    return name ? leat__op_nearest(name) : NULL;
}
