/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of expressions. Many are made of operations that are there anyway: a view, a comparison, a product. */
#include <stdio.h>

#include "base/dtype.h"
#include "plan/eval/expression.h"

typedef struct function function;
typedef int function_fn(leat__expression *e, const function *f, const leat__call *call, leat__term *out);

struct function {
    const char *name;
    function_fn *call;
    int least, most; /* arguments */
    int op;          /* for functions that are one operation, or differ in it */
};

static const leat__eval_node *node_of(const leat__expression *e, int node) {
    return &e->program->node[node];
}

static int number(leat__expression *e, const char *at, bool whole, int64_t i, double x, leat__term *out) {
    *out = (leat__term){.kind = LEAT_TERM_LITERAL, .at = at};
    LEAT_TRY(leat__literal_make(e, at, whole, NULL, 0, &out->literal));
    out->literal.i[0] = i;
    out->literal.x[0] = x;
    return 0;
}

static int add(leat__expression *e, const leat__call *call, leat__eval_node node, int from, leat__term *out) {
    node.dtype = node.dtype ? node.dtype : node_of(e, from)->dtype;
    if (node.n_args == 0) node.n_args = 1, node.arg[0] = (int16_t)from;
    *out = leat__term_of(0, call->at);
    return leat__node_add(e, call->at, &node, &out->node);
}

/* An axis of a node of ndim axes; from the last one if below 0. */
static int read_axis(leat__expression *e, const leat__term *term, int ndim, int *out) {
    int64_t axis;
    LEAT_TRY(leat__term_whole(e, term, "an axis", &axis));
    if (axis < -ndim || axis >= ndim)
        return leat__expression_fail(e, term->at, LEAT_ERR_SHAPE, "there is no axis %" PRId64 " of %d", axis,
                                     ndim);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return 0;
}

static int read_truth(leat__expression *e, const leat__term *term, bool *out) {
    if (term->kind != LEAT_TERM_LITERAL || !term->literal.truth)
        return leat__expression_fail(e, term->at, LEAT_ERR_TYPE, "it must be true or false");
    *out = term->literal.i[0] != 0;
    return 0;
}

/* Sizes, of which one may be -1 if open is allowed. */
static int read_sizes(leat__expression *e, const leat__call *call, int first, bool open, int64_t *sizes,
                      int *n) {
    *n = call->n - first;
    if (*n > LEAT_EVAL_AXES)
        return leat__expression_fail(e, call->at, LEAT_ERR_SHAPE, "%d axes are too many", *n);
    for (int k = 0; k < *n; k++) {
        LEAT_TRY(leat__term_whole(e, &call->arg[first + k], "a size", &sizes[k]));
        if (sizes[k] < 0 && (!open || sizes[k] != -1))
            return leat__expression_fail(e, call->arg[first + k].at, LEAT_ERR_SHAPE, "%" PRId64 " is no size",
                                         sizes[k]);
        if (sizes[k] < 0) open = false;
    }
    return 0;
}

/* Values that lie one after the other. */
static int packed(leat__expression *e, const char *at, int node, int *out) {
    *out = node;
    const leat__eval_op op = node_of(e, node)->op;
    if (!leat__eval_is_view(op) || op == LEAT_EVAL_RESHAPE) return 0;
    const leat__eval_node copy = {
        .op = LEAT_EVAL_COPY, .dtype = node_of(e, node)->dtype, .n_args = 1, .arg = {(int16_t)node}};
    return leat__node_add(e, at, &copy, out);
}

/* ------------------------------------------------------------------------------------------ elementwise */

static int call_unary(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    return leat__term_unary(e, call->at, (leat__eval_op)f->op, &call->arg[0], out);
}

static int call_binary(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    *out = call->arg[0];
    for (int i = 1; i < call->n; i++)
        LEAT_TRY(leat__term_binary(e, call->at, (leat__eval_op)f->op, out, &call->arg[i], out));
    return 0;
}

static int call_ceil(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    leat__term down;
    LEAT_TRY(leat__term_negate(e, call->at, &call->arg[0], &down));
    LEAT_TRY(leat__term_unary(e, call->at, LEAT_EVAL_FLOOR, &down, &down));
    return leat__term_negate(e, call->at, &down, out);
}

static int call_square(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    return leat__term_binary(e, call->at, LEAT_EVAL_MUL, &call->arg[0], &call->arg[0], out);
}

/* As tf.clip_by_value: first the upper bound, then the lower one. */
static int call_clip(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    leat__term below;
    LEAT_TRY(leat__term_binary(e, call->at, LEAT_EVAL_MIN, &call->arg[0], &call->arg[2], &below));
    return leat__term_binary(e, call->at, LEAT_EVAL_MAX, &below, &call->arg[1], out);
}

static int call_cast(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int node;
    if (call->arg[1].kind != LEAT_TERM_TYPE)
        return leat__expression_fail(e, call->arg[1].at, LEAT_ERR_SYNTAX,
                                     "the second argument is a type, such as f32 or u8");
    const leat__term *from = &call->arg[0];
    const int dtype = call->arg[1].dtype;
    /* A float for a float type is taken as it stands; other numbers first have a type of their own. */
    const bool direct = from->kind == LEAT_TERM_LITERAL && !from->literal.truth &&
                        (dtype == LEAT_DTYPE_F32 || dtype == LEAT_DTYPE_F64);
    LEAT_TRY(leat__term_node(e, from, direct ? dtype : -1, &node));
    *out = leat__term_of(0, call->at);
    return leat__node_cast(e, call->at, node, dtype, &out->node);
}

static int call_select(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int node[2], when;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &when));
    if (node_of(e, when)->dtype != LEAT_DTYPE_BOOL)
        return leat__expression_fail(e, call->arg[0].at, LEAT_ERR_TYPE,
                                     "the condition is %s, not bool: write x != 0",
                                     leat_dtype_name(node_of(e, when)->dtype));
    LEAT_TRY(
        leat__terms_unify(e, call->at, (const leat__term *const[]){&call->arg[1], &call->arg[2]}, 2, node));
    const leat__eval_node select = {.op = LEAT_EVAL_SELECT,
                                    .dtype = node_of(e, node[0])->dtype,
                                    .n_args = 3,
                                    .arg = {(int16_t)when, (int16_t)node[0], (int16_t)node[1]}};
    *out = leat__term_of(0, call->at);
    return leat__node_add(e, call->at, &select, &out->node);
}

/* ------------------------------------------------------------------------------------------- reductions */

/* sum(x), sum(x, 0, 1, keep=true); any and all are those of bool. */
static int call_reduce(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    int from;
    bool keep = false;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    const leat__eval_node *x = node_of(e, from);
    const bool logic = strcmp(f->name, "any") == 0 || strcmp(f->name, "all") == 0;
    if (logic != (x->dtype == LEAT_DTYPE_BOOL))
        return leat__expression_fail(e, call->at, LEAT_ERR_TYPE, "%s",
                                     logic
                                         ? "any and all are about true and false: write any(x != 0)"
                                         : "true and false are no numbers: write cast(x, f32), or any, all");
    if (x->dtype == LEAT_DTYPE_U64)
        return leat__expression_fail(e, call->at, LEAT_ERR_UNSUPPORTED,
                                     "u64 has no arithmetic: cast(x, i64)");
    int64_t mask = 0;
    const leat__term *axes[LEAT_CALL_ARGS];
    int n = 0;
    for (int i = 1; i < call->n; i++) axes[n++] = &call->arg[i];
    if (call->axis) axes[n++] = call->axis;
    for (int i = 0; i < n; i++) {
        int axis = 0;
        LEAT_TRY(read_axis(e, axes[i], x->ndim, &axis));
        mask |= INT64_C(1) << axis;
    }
    if (n == 0) mask = (INT64_C(1) << x->ndim) - 1;
    if (call->keep) LEAT_TRY(read_truth(e, call->keep, &keep));
    return add(e, call, (leat__eval_node){.op = (leat__eval_op)f->op, .begin = {mask, keep}}, from, out);
}

static int call_arg(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    int from, axis = 0;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    const int ndim = node_of(e, from)->ndim;
    const leat__term *given = call->n > 1 ? &call->arg[1] : call->axis;
    if (given) LEAT_TRY(read_axis(e, given, ndim, &axis));
    if (ndim == 0) return leat__expression_fail(e, call->at, LEAT_ERR_SHAPE, "a single number has no axis");
    return add(e, call,
               (leat__eval_node){.op = (leat__eval_op)f->op, .dtype = LEAT_DTYPE_I64, .begin = {axis}}, from,
               out);
}

/* ----------------------------------------------------------------------------------------------- shapes */

static int call_reshape(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from;
    leat__eval_node node = {.op = LEAT_EVAL_RESHAPE};
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(packed(e, call->at, from, &from));
    LEAT_TRY(read_sizes(e, call, 1, true, node.begin, &node.ndim));
    return add(e, call, node, from, out);
}

static int call_transpose(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from;
    uint32_t seen = 0;
    leat__eval_node node = {.op = LEAT_EVAL_TRANSPOSE};
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    const int ndim = node_of(e, from)->ndim;
    if (call->n > 1 && call->n != ndim + 1)
        return leat__expression_fail(e, call->at, LEAT_ERR_SHAPE, "%d axes are named, there are %d",
                                     call->n - 1, ndim);
    for (int k = 0; k < ndim; k++) {
        int axis = ndim - 1 - k;
        if (call->n > 1) LEAT_TRY(read_axis(e, &call->arg[k + 1], ndim, &axis));
        if (seen >> axis & 1)
            return leat__expression_fail(e, call->at, LEAT_ERR_SHAPE, "axis %d is named twice", axis);
        seen |= 1u << axis;
        node.begin[k] = axis;
    }
    return add(e, call, node, from, out);
}

/* slice(x, axis, begin, end, step) is x[begin:end:step] of that axis; reverse(x, axis) is x[::-1]. */
static int call_slice(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    int from, axis = 0;
    leat__index index[LEAT_EVAL_AXES];
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(read_axis(e, &call->arg[1], node_of(e, from)->ndim, &axis));
    for (int k = 0; k <= axis; k++)
        index[k] = (leat__index){.begin = LEAT_EVAL_OPEN, .end = LEAT_EVAL_OPEN, .step = 1};
    if (f->op < 0) {
        index[axis].step = -1;
    } else {
        LEAT_TRY(leat__term_whole(e, &call->arg[2], "an index", &index[axis].begin));
        if (call->n > 3) LEAT_TRY(leat__term_whole(e, &call->arg[3], "an index", &index[axis].end));
        if (call->n > 4) LEAT_TRY(leat__term_whole(e, &call->arg[4], "a step", &index[axis].step));
        if (index[axis].step == 0)
            return leat__expression_fail(e, call->at, LEAT_ERR_SYNTAX, "the step of a slice is not 0");
    }
    return leat__term_index(e, call->at, &call->arg[0], index, axis + 1, -1, out);
}

/* A new axis in front of axis number `axis`. */
static int expand(leat__expression *e, const char *at, const leat__term *x, int axis, leat__term *out) {
    leat__index index[LEAT_EVAL_AXES + 1];
    for (int k = 0; k < axis; k++)
        index[k] = (leat__index){.begin = LEAT_EVAL_OPEN, .end = LEAT_EVAL_OPEN, .step = 1};
    index[axis] = (leat__index){.added = true};
    return leat__term_index(e, at, x, index, axis + 1, -1, out);
}

static int call_expand(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from, axis = 0;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(read_axis(e, &call->arg[1], node_of(e, from)->ndim + 1, &axis));
    return expand(e, call->at, &call->arg[0], axis, out);
}

static int call_squeeze(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from;
    uint32_t gone = 0;
    leat__index index[LEAT_EVAL_AXES];
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    const leat__eval_node *x = node_of(e, from);
    for (int i = 1; i < call->n; i++) {
        int axis = 0;
        LEAT_TRY(read_axis(e, &call->arg[i], x->ndim, &axis));
        gone |= 1u << axis;
    }
    for (int k = 0; k < x->ndim; k++) {
        if (call->n == 1 && x->shape[k] == 1) gone |= 1u << k;
        if (gone >> k & 1 && x->shape[k] != 1)
            return leat__expression_fail(e, call->at, LEAT_ERR_SHAPE, "axis %d has not the size 1", k);
        index[k] = (leat__index){.begin = LEAT_EVAL_OPEN, .end = LEAT_EVAL_OPEN, .step = 1};
        if (gone >> k & 1) index[k].single = true, index[k].begin = 0;
    }
    return leat__term_index(e, call->at, &call->arg[0], index, x->ndim, -1, out);
}

static int call_broadcast(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from, like;
    leat__eval_node node = {.op = LEAT_EVAL_BROADCAST};
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(read_sizes(e, call, 1, false, node.begin, &node.ndim));
    if (call->like) {
        LEAT_TRY(leat__term_node(e, call->like, -1, &like));
        node.n_args = 2;
        node.arg[0] = (int16_t)from;
        node.arg[1] = (int16_t)like;
        node.ndim = 0;
        memset(node.begin, 0, sizeof node.begin);
    }
    return add(e, call, node, from, out);
}

static int call_size(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from, axis = 0;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(read_axis(e, &call->arg[1], node_of(e, from)->ndim, &axis));
    const int64_t known = node_of(e, from)->shape[axis];
    if (known >= 0) return number(e, call->at, true, known, (double)known, out);
    return add(e, call, (leat__eval_node){.op = LEAT_EVAL_SIZE, .dtype = LEAT_DTYPE_I32, .begin = {axis}},
               from, out);
}

/* --------------------------------------------------------------------------------------- joined values */

/* concat(axis, a, b, ...); stack makes the axis first. op: 1 = stack. */
static int call_concat(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    leat__term part[LEAT_EVAL_ARGS];
    const leat__term *parts[LEAT_EVAL_ARGS];
    int node[LEAT_EVAL_ARGS], axis = 0;
    const int n = call->n - 1;
    if (n > LEAT_EVAL_ARGS)
        return leat__expression_fail(e, call->at, LEAT_ERR_LIMIT, "more than %d values", LEAT_EVAL_ARGS);
    for (int i = 0; i < n; i++) parts[i] = &call->arg[i + 1];
    LEAT_TRY(leat__terms_unify(e, call->at, parts, n, node));
    LEAT_TRY(read_axis(e, &call->arg[0], node_of(e, node[0])->ndim + f->op, &axis));
    leat__eval_node concat = {
        .op = LEAT_EVAL_CONCAT, .dtype = node_of(e, node[0])->dtype, .n_args = n, .begin = {axis}};
    for (int i = 0; i < n; i++) {
        part[i] = leat__term_of(node[i], parts[i]->at);
        if (f->op == 1) LEAT_TRY(expand(e, call->at, &part[i], axis, &part[i]));
        /* A loop of its own for each, which writes into its piece. */
        const leat__eval_node copy = {.op = LEAT_EVAL_COPY,
                                      .dtype = concat.dtype,
                                      .n_args = 1,
                                      .arg = {(int16_t)part[i].node},
                                      .output = -2};
        LEAT_TRY(leat__node_add(e, call->at, &copy, &node[i]));
        concat.arg[i] = (int16_t)node[i];
    }
    *out = leat__term_of(0, call->at);
    return leat__node_add(e, call->at, &concat, &out->node);
}

static bool is_whole(int dtype) {
    return dtype <= LEAT_DTYPE_I64;
}

static int call_gather(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int table, by;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &table));
    LEAT_TRY(leat__term_node(e, &call->arg[1], -1, &by));
    if (node_of(e, table)->ndim == 0 || !is_whole(node_of(e, by)->dtype))
        return leat__expression_fail(e, call->at, LEAT_ERR_TYPE,
                                     "gather(table, numbers): the table has an axis, and numbers are whole");
    LEAT_TRY(packed(e, call->at, table, &table));
    return add(e, call,
               (leat__eval_node){.op = LEAT_EVAL_GATHER, .n_args = 2, .arg = {(int16_t)table, (int16_t)by}},
               table, out);
}

/* one_hot(x, n): a new last axis, 1 where its number is x. */
static int call_one_hot(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int from;
    int64_t n;
    LEAT_TRY(leat__term_node(e, &call->arg[0], -1, &from));
    LEAT_TRY(leat__term_whole(e, &call->arg[1], "the number of classes", &n));
    if (!is_whole(node_of(e, from)->dtype) || n < 1)
        return leat__expression_fail(e, call->at, LEAT_ERR_TYPE,
                                     "one_hot(x, n): x is a whole number, and n the number of classes");
    leat__term all = {.kind = LEAT_TERM_LITERAL, .at = call->at}, x = leat__term_of(from, call->at);
    LEAT_TRY(leat__node_cast(e, call->at, from, LEAT_DTYPE_I64, &x.node));
    LEAT_TRY(expand(e, call->at, &x, node_of(e, from)->ndim, &x));
    LEAT_TRY(leat__literal_make(e, call->at, true, &n, 1, &all.literal));
    for (int64_t k = 0; k < n; k++) all.literal.i[k] = k, all.literal.x[k] = (double)k;
    LEAT_TRY(leat__term_binary(e, call->at, LEAT_EVAL_EQ, &x, &all, out));
    if (call->n == 2) return leat__node_cast(e, call->at, out->node, LEAT_DTYPE_F32, &out->node);
    leat__call select = {.at = call->at, .n = 3, .arg = {*out, call->arg[2], call->arg[3]}};
    return call_select(e, NULL, &select, out);
}

/* ----------------------------------------------------------------------------------------------- random */

/* Draws of a shape that numbers or like= tell; without both, one. */
static int draw(leat__expression *e, const leat__call *call, leat__eval_draw kind, int64_t range,
                leat__term *out) {
    int like;
    leat__eval_node node = {.op = LEAT_EVAL_RANDOM,
                            .dtype = kind == LEAT_EVAL_WHOLE ? LEAT_DTYPE_I32 : LEAT_DTYPE_F32};
    node.begin[0] = kind;
    node.begin[2] = range;
    if (call->seed) {
        const leat__literal *seed = &call->seed->literal;
        if (call->seed->kind != LEAT_TERM_LITERAL || !seed->whole || seed->truth || seed->n != 1)
            return leat__expression_fail(e, call->seed->at, LEAT_ERR_TYPE, "seed must be one whole number");
        node.begin[1] = seed->i[0];
        node.step[0] = 1;
    } else node.begin[1] = ++e->n_draws;
    LEAT_TRY(read_sizes(e, call, 2, false, node.end, &node.ndim));
    if (call->like) {
        LEAT_TRY(leat__term_node(e, call->like, -1, &like));
        node.n_args = 1;
        node.arg[0] = (int16_t)like;
        node.ndim = 0;
        memset(node.end, 0, sizeof node.end);
    }
    e->program->random = true;
    *out = leat__term_of(0, call->at);
    return leat__node_add(e, call->at, &node, &out->node);
}

/* uniform(low, high): low + x * (high - low). */
static int call_uniform(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    leat__term unit, range;
    LEAT_TRY(draw(e, call, LEAT_EVAL_UNIT, 0, &unit));
    LEAT_TRY(leat__term_binary(e, call->at, LEAT_EVAL_SUB, &call->arg[1], &call->arg[0], &range));
    LEAT_TRY(leat__term_binary(e, call->at, LEAT_EVAL_MUL, &unit, &range, &unit));
    return leat__term_binary(e, call->at, LEAT_EVAL_ADD, &unit, &call->arg[0], out);
}

static int call_normal(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    leat__term unit;
    LEAT_TRY(draw(e, call, LEAT_EVAL_NORMAL, 0, &unit));
    LEAT_TRY(leat__term_binary(e, call->at, LEAT_EVAL_MUL, &unit, &call->arg[1], &unit));
    return leat__term_binary(e, call->at, LEAT_EVAL_ADD, &unit, &call->arg[0], out);
}

static int call_randint(leat__expression *e, const function *f, const leat__call *call, leat__term *out) {
    (void)f;
    int64_t low, high;
    leat__term unit;
    LEAT_TRY(leat__term_whole(e, &call->arg[0], "the lowest number", &low));
    LEAT_TRY(leat__term_whole(e, &call->arg[1], "the number above the highest", &high));
    if (high <= low || high - low > INT32_MAX)
        return leat__expression_fail(e, call->at, LEAT_ERR_ARGUMENT,
                                     "randint(low, high): there is no whole number from low to below high");
    LEAT_TRY(draw(e, call, LEAT_EVAL_WHOLE, high - low, &unit));
    return leat__term_binary(e, call->at, LEAT_EVAL_ADD, &unit, &call->arg[0], out);
}

/* -------------------------------------------------------------------------------------------- the table */

static const function functions[] = {
    {"min", call_binary, 2, LEAT_CALL_ARGS, LEAT_EVAL_MIN},
    {"max", call_binary, 2, LEAT_CALL_ARGS, LEAT_EVAL_MAX},
    {"pow", call_binary, 2, 2, LEAT_EVAL_POW},
    {"abs", call_unary, 1, 1, LEAT_EVAL_ABS},
    {"sign", call_unary, 1, 1, LEAT_EVAL_SIGN},
    {"floor", call_unary, 1, 1, LEAT_EVAL_FLOOR},
    {"ceil", call_ceil, 1, 1, 0},
    {"round", call_unary, 1, 1, LEAT_EVAL_ROUND},
    {"sqrt", call_unary, 1, 1, LEAT_EVAL_SQRT},
    {"square", call_square, 1, 1, 0},
    {"exp", call_unary, 1, 1, LEAT_EVAL_EXP},
    {"log", call_unary, 1, 1, LEAT_EVAL_LOG},
    {"sin", call_unary, 1, 1, LEAT_EVAL_SIN},
    {"cos", call_unary, 1, 1, LEAT_EVAL_COS},
    {"clip", call_clip, 3, 3, 0},
    {"cast", call_cast, 2, 2, 0},
    {"select", call_select, 3, 3, 0},
    {"sum", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_SUM},
    {"mean", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_MEAN},
    {"reduce_min", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_LEAST},
    {"reduce_max", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_MOST},
    {"any", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_MOST},
    {"all", call_reduce, 1, LEAT_EVAL_AXES + 1, LEAT_EVAL_LEAST},
    {"argmax", call_arg, 1, 2, LEAT_EVAL_ARGMAX},
    {"argmin", call_arg, 1, 2, LEAT_EVAL_ARGMIN},
    {"reshape", call_reshape, 1, LEAT_EVAL_AXES + 1, 0},
    {"transpose", call_transpose, 1, LEAT_EVAL_AXES + 1, 0},
    {"slice", call_slice, 3, 5, 0},
    {"reverse", call_slice, 2, 2, -1},
    {"expand", call_expand, 2, 2, 0},
    {"squeeze", call_squeeze, 1, LEAT_EVAL_AXES + 1, 0},
    {"broadcast", call_broadcast, 1, LEAT_EVAL_AXES + 1, 0},
    {"size", call_size, 2, 2, 0},
    {"concat", call_concat, 2, LEAT_EVAL_ARGS + 1, 0},
    {"stack", call_concat, 2, LEAT_EVAL_ARGS + 1, 1},
    {"gather", call_gather, 2, 2, 0},
    {"one_hot", call_one_hot, 2, 4, 0},
    {"uniform", call_uniform, 2, LEAT_EVAL_AXES + 2, 0},
    {"normal", call_normal, 2, LEAT_EVAL_AXES + 2, 0},
    {"randint", call_randint, 2, LEAT_EVAL_AXES + 2, 0},
};

const char *leat__function_name(const void *unused, size_t i) {
    (void)unused;
    return i < LEAT_COUNT(functions) ? functions[i].name : NULL;
}

static const function *find(const char *name) {
    for (size_t i = 0; i < LEAT_COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

bool leat__function_known(const char *name) {
    return find(name) != NULL;
}

/* Arguments with a name, where the function has none of that name. */
static int check_names(leat__expression *e, const function *f, const leat__call *call) {
    const bool reduces = f->call == call_reduce || f->call == call_arg;
    const bool draws = f->call == call_uniform || f->call == call_normal || f->call == call_randint;
    const char *wrong = call->keep && f->call != call_reduce                ? "keep"
                        : call->axis && !reduces                            ? "axis"
                        : call->seed && !draws                              ? "seed"
                        : call->like && !draws && f->call != call_broadcast ? "like"
                                                                            : NULL;
    return wrong ? leat__expression_fail(e, call->at, LEAT_ERR_SYNTAX, "%s has no argument '%s'", f->name,
                                         wrong)
                 : 0;
}

int leat__function_call(leat__expression *e, const char *name, const leat__call *call, leat__term *out) {
    const function *f = find(name);
    if (call->n < f->least || call->n > f->most || (f->call == call_one_hot && call->n == 3))
        return leat__expression_fail(e, call->at, LEAT_ERR_SYNTAX, "%s has %d%s%.0d arguments, not %d", name,
                                     f->least, f->most > f->least ? " to " : "",
                                     f->most > f->least ? f->most : 0, call->n);
    LEAT_TRY(check_names(e, f, call));
    return f->call(e, f, call, out);
}
