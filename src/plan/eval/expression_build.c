/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of expressions: types, shapes, numbers that are known, and equal parts that are computed once.
 *
 * Types follow TensorFlow. Both operands have one type, and the result has it too; a number takes the type of the other
 * operand. "/" of whole numbers gives floats: f32 for types of up to 16 bits, f64 for others. Kernels exist for five types
 * (image/eval/eval.h): other types are cast to one of them for an operation and back. So whole numbers wrap as they
 * should, and f16 and bf16 are rounded after every operation. */
#include <stdio.h>

#include "base/dtype.h"
#include "base/maths.h"
#include "plan/eval/expression.h"

void *leat__expression_alloc(leat__expression *e, size_t bytes) {
    void *room = leat__arena_alloc(&e->planner->plan->memory, bytes);
    if (!room) leat__fail_memory(e->err, bytes, "an expression");
    return room;
}

leat__term leat__term_of(int node, const char *at) {
    return (leat__term){.kind = LEAT_TERM_NODE, .node = node, .at = at};
}

/* ---------------------------------------------------------------------------------------------- nodes */

static bool same_node(const leat__eval_node *a, const leat__eval_node *b) {
    if (a->op != b->op || a->dtype != b->dtype || a->ndim != b->ndim || a->n_args != b->n_args ||
        a->dropped != b->dropped || a->added != b->added || a->data_bytes != b->data_bytes)
        return false;
    if (memcmp(a->arg, b->arg, sizeof a->arg) != 0 || memcmp(a->begin, b->begin, sizeof a->begin) != 0 ||
        memcmp(a->end, b->end, sizeof a->end) != 0 || memcmp(a->step, b->step, sizeof a->step) != 0)
        return false;
    /* Sizes that are not known have numbers of their own; equal arguments give equal ones. */
    if (a->op == LEAT_EVAL_CONST)
        return memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
               memcmp(a->data, b->data, a->data_bytes) == 0;
    return a->op != LEAT_EVAL_INPUT;
}

static int find_shape(leat__expression *e, const char *at, leat__eval_node *node) {
    const int64_t *shape[LEAT_EVAL_ARGS];
    int ndim[LEAT_EVAL_ARGS], out_ndim;
    int64_t out[LEAT_EVAL_AXES] = {0};
    leat_error why = {0};
    for (int i = 0; i < node->n_args; i++) {
        shape[i] = e->program->node[node->arg[i]].shape;
        ndim[i] = e->program->node[node->arg[i]].ndim;
    }
    const int rc = leat__eval_shape(node, shape, ndim, out, &out_ndim, &why);
    if (rc < 0) return leat__expression_fail(e, at, rc, "%s", why.message);
    node->ndim = out_ndim;
    memcpy(node->shape, out, sizeof out);
    return 0;
}

int leat__node_add(leat__expression *e, const char *at, const leat__eval_node *proto, int *out) {
    leat__eval_program *program = e->program;
    leat__eval_node node = *proto;
    const bool fresh = proto->output == -2;
    if (node.op != LEAT_EVAL_INPUT && node.op != LEAT_EVAL_CONST) LEAT_TRY(find_shape(e, at, &node));
    for (int i = 0; !fresh && i < program->n_nodes; i++)
        if (same_node(&program->node[i], &node)) {
            *out = i;
            return 0;
        }
    if (program->n_nodes == LEAT_EVAL_NODES)
        return leat__expression_fail(e, at, LEAT_ERR_LIMIT,
                                     "more than %d operations: make a part of it with an eval before",
                                     LEAT_EVAL_NODES);
    for (int k = 0; k < node.ndim; k++)
        if (node.shape[k] == -1) node.shape[k] = e->next_symbol--;
    node.output = -1;
    *out = program->n_nodes;
    program->node[program->n_nodes++] = node;
    return 0;
}

static const leat__eval_node *node_of(const leat__expression *e, int node) {
    return &e->program->node[node];
}

int leat__node_cast(leat__expression *e, const char *at, int node, int dtype, int *out) {
    *out = node;
    if (node_of(e, node)->dtype == dtype) return 0;
    const leat__eval_node cast = {.op = LEAT_EVAL_CAST, .dtype = dtype, .n_args = 1, .arg = {(int16_t)node}};
    return leat__node_add(e, at, &cast, out);
}

/* ------------------------------------------------------------------------------------------- literals */

int leat__literal_make(leat__expression *e, const char *at, bool whole, const int64_t *shape, int ndim,
                       leat__literal *out) {
    *out = (leat__literal){.whole = whole, .ndim = ndim, .n = 1};
    for (int k = 0; k < ndim; k++) out->shape[k] = shape[k], out->n *= (size_t)shape[k];
    e->n_constants += out->n;
    if (e->n_constants > LEAT_EXPRESSION_VALUES)
        return leat__expression_fail(e, at, LEAT_ERR_LIMIT, "numbers and lists have more than %d values",
                                     LEAT_EXPRESSION_VALUES);
    out->x = leat__expression_alloc(e, out->n * sizeof *out->x);
    out->i = leat__expression_alloc(e, out->n * sizeof *out->i);
    if (!out->x || !out->i) return LEAT_ERR_MEMORY;
    memset(out->i, 0, out->n * sizeof *out->i);
    return 0;
}

static bool is_float(int dtype) {
    return dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16 || dtype == LEAT_DTYPE_F32 ||
           dtype == LEAT_DTYPE_F64;
}

static bool fits(int64_t i, int dtype) {
    switch (dtype) {
    case LEAT_DTYPE_U8: return i >= 0 && i <= UINT8_MAX;
    case LEAT_DTYPE_I8: return i >= INT8_MIN && i <= INT8_MAX;
    case LEAT_DTYPE_U16: return i >= 0 && i <= UINT16_MAX;
    case LEAT_DTYPE_I16: return i >= INT16_MIN && i <= INT16_MAX;
    case LEAT_DTYPE_U32: return i >= 0 && i <= UINT32_MAX;
    case LEAT_DTYPE_I32: return i >= INT32_MIN && i <= INT32_MAX;
    case LEAT_DTYPE_U64: return i >= 0;
    default: return true;
    }
}

/* A constant of this type. A number that the type cannot hold is an error, as in TensorFlow. */
static int literal_node(leat__expression *e, const leat__term *term, int dtype, int *out) {
    const leat__literal *l = &term->literal;
    if (l->truth != (dtype == LEAT_DTYPE_BOOL))
        return leat__expression_fail(e, term->at, LEAT_ERR_TYPE, "%s: write cast(x, %s), or a comparison",
                                     l->truth ? "true and false are no numbers" : "a number is no bool",
                                     leat_dtype_name(dtype));
    for (size_t k = 0; !is_float(dtype) && k < l->n; k++) {
        if (!l->whole)
            return leat__expression_fail(e, term->at, LEAT_ERR_TYPE,
                                         "%.10g is no %s: cast the other operand first, such as cast(x, f32)",
                                         l->x[k], leat_dtype_name(dtype));
        if (!fits(l->i[k], dtype))
            return leat__expression_fail(e, term->at, LEAT_ERR_LIMIT,
                                         "%s cannot hold %" PRId64
                                         ": cast the other operand first, such as cast(x, i32)",
                                         leat_dtype_name(dtype), l->i[k]);
    }
    leat__eval_node node = {.op = LEAT_EVAL_CONST, .dtype = dtype, .ndim = l->ndim};
    memcpy(node.shape, l->shape, sizeof node.shape);
    node.data_bytes = l->n * leat_dtype_size(dtype);
    void *data = leat__expression_alloc(e, node.data_bytes);
    if (!data) return LEAT_ERR_MEMORY;
    if (l->whole && !is_float(dtype)) leat__eval_cast_any(data, dtype, l->i, LEAT_DTYPE_I64, l->n);
    else leat__eval_cast_any(data, dtype, l->x, LEAT_DTYPE_F64, l->n);
    node.data = data;
    return leat__node_add(e, term->at, &node, out);
}

static int default_type(const leat__literal *l) {
    if (l->truth) return LEAT_DTYPE_BOOL;
    if (!l->whole) return LEAT_DTYPE_F32;
    for (size_t k = 0; k < l->n; k++)
        if (!fits(l->i[k], LEAT_DTYPE_I32)) return LEAT_DTYPE_I64;
    return LEAT_DTYPE_I32;
}

int leat__term_node(leat__expression *e, const leat__term *term, int dtype, int *out) {
    if (term->kind == LEAT_TERM_TYPE)
        return leat__expression_fail(e, term->at, LEAT_ERR_SYNTAX, "a type is no value: write cast(x, %s)",
                                     leat_dtype_name(term->dtype));
    if (term->kind == LEAT_TERM_LITERAL)
        return literal_node(e, term, dtype < 0 ? default_type(&term->literal) : dtype, out);
    *out = term->node;
    return 0;
}

int leat__term_whole(leat__expression *e, const leat__term *term, const char *what, int64_t *out) {
    const leat__literal *l = &term->literal;
    if (term->kind != LEAT_TERM_LITERAL || !l->whole || l->truth || l->n != 1 || l->i[0] < -INT32_MAX ||
        l->i[0] > INT32_MAX)
        return leat__expression_fail(e, term->at, LEAT_ERR_TYPE, "%s must be one whole number, not a value",
                                     what);
    *out = l->i[0];
    return 0;
}

/* -------------------------------------------------------------------------------------------- folding */

static int64_t fold_whole(leat__eval_op op, int64_t x, int64_t y, bool *sure) {
    int64_t out = 0;
    *sure = true;
    switch (op) {
    case LEAT_EVAL_ADD: *sure = !__builtin_add_overflow(x, y, &out); return out;
    case LEAT_EVAL_SUB: *sure = !__builtin_sub_overflow(x, y, &out); return out;
    case LEAT_EVAL_MUL: *sure = !__builtin_mul_overflow(x, y, &out); return out;
    case LEAT_EVAL_FLOORDIV:
    case LEAT_EVAL_MOD: {
        *sure = y != 0 && (y != -1 || x != INT64_MIN);
        if (!*sure) return 0;
        const int64_t r = x % y, floored = r != 0 && (r < 0) != (y < 0) ? r + y : r;
        return op == LEAT_EVAL_MOD ? floored : (x - floored) / y;
    }
    case LEAT_EVAL_POW:
        *sure = y >= 0 && y < 64;
        for (out = 1; *sure && y > 0; y--) *sure = !__builtin_mul_overflow(out, x, &out);
        return out;
    default: *sure = false; return 0;
    }
}

static double fold_float(leat__eval_op op, double x, double y, bool *sure) {
    *sure = true;
    switch (op) {
    case LEAT_EVAL_ADD: return x + y;
    case LEAT_EVAL_SUB: return x - y;
    case LEAT_EVAL_MUL: return x * y;
    case LEAT_EVAL_DIV: return x / y;
    case LEAT_EVAL_POW: return leat__pow(x, y);
    default: *sure = false; return 0;
    }
}

/* Two numbers, or a list and a number, or two lists of one shape: computed now, as Python would. */
static int fold(leat__expression *e, const char *at, leat__eval_op op, const leat__term *a,
                const leat__term *b, leat__term *out, bool *done) {
    const leat__literal *x = &a->literal, *y = &b->literal, *like = x->n > y->n ? x : y;
    *done = false;
    if (a->kind != LEAT_TERM_LITERAL || b->kind != LEAT_TERM_LITERAL || x->truth || y->truth) return 0;
    const bool alike = x->ndim == y->ndim && memcmp(x->shape, y->shape, sizeof x->shape) == 0;
    if (!alike && !(x->ndim == 0 || y->ndim == 0)) return 0;
    if (!alike && x->ndim != 0) like = x;
    else if (!alike) like = y;
    leat__term made = {.kind = LEAT_TERM_LITERAL, .at = a->at};
    const bool whole = x->whole && y->whole && op != LEAT_EVAL_DIV;
    LEAT_TRY(leat__literal_make(e, at, whole, like->shape, like->ndim, &made.literal));
    for (size_t k = 0; k < made.literal.n; k++) {
        const size_t i = x->n == 1 ? 0 : k, j = y->n == 1 ? 0 : k;
        bool sure;
        if (whole) {
            made.literal.i[k] = fold_whole(op, x->i[i], y->i[j], &sure);
            made.literal.x[k] = (double)made.literal.i[k];
        } else made.literal.x[k] = fold_float(op, x->x[i], y->x[j], &sure);
        if (!sure) return 0;
    }
    *out = made;
    *done = true;
    return 0;
}

/* ------------------------------------------------------------------------------------------ operations */

int leat__terms_unify(leat__expression *e, const char *at, const leat__term *const *term, int n, int *node) {
    int dtype = -1;
    bool whole = true;
    for (int i = 0; i < n; i++) {
        if (term[i]->kind == LEAT_TERM_LITERAL) {
            whole = whole && term[i]->literal.whole;
            continue;
        }
        LEAT_TRY(leat__term_node(e, term[i], -1, &node[i]));
        const int type = node_of(e, node[i])->dtype;
        if (dtype >= 0 && type != dtype)
            return leat__expression_fail(e, at, LEAT_ERR_TYPE,
                                         "the operands are %s and %s: cast one of them, such as cast(x, %s)",
                                         leat_dtype_name(dtype), leat_dtype_name(type),
                                         leat_dtype_name(is_float(type) ? type : dtype));
        dtype = type;
    }
    for (int i = 0; dtype < 0 && i < n; i++) { /* numbers alone: one float makes all of them floats */
        const int type = default_type(&term[i]->literal);
        if (type == LEAT_DTYPE_BOOL || dtype != LEAT_DTYPE_I64) dtype = !whole ? LEAT_DTYPE_F32 : type;
    }
    for (int i = 0; i < n; i++)
        if (term[i]->kind == LEAT_TERM_LITERAL) LEAT_TRY(leat__term_node(e, term[i], dtype, &node[i]));
    return 0;
}

/* The type that an operation on this one is computed in. */
static int compute_type(int dtype, leat__eval_op op) {
    if (dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16) return LEAT_DTYPE_F32;
    if (dtype == LEAT_DTYPE_U8 && op == LEAT_EVAL_POW) return LEAT_DTYPE_I64;
    return leat__eval_type_of(dtype) >= 0 ? dtype : LEAT_DTYPE_I64;
}

static int check_type(leat__expression *e, const char *at, leat__eval_op op, int dtype) {
    const bool logic = op >= LEAT_EVAL_AND && op <= LEAT_EVAL_XOR;
    if (dtype == LEAT_DTYPE_BOOL && !logic && op != LEAT_EVAL_EQ && op != LEAT_EVAL_NE)
        return leat__expression_fail(e, at, LEAT_ERR_TYPE,
                                     "true and false are no numbers: write cast(x, f32), or & and |");
    if (logic && is_float(dtype))
        return leat__expression_fail(e, at, LEAT_ERR_TYPE,
                                     "& | ^ ~ work on bool and whole numbers, not on %s: compare first",
                                     leat_dtype_name(dtype));
    if (dtype == LEAT_DTYPE_U64 && !logic)
        return leat__expression_fail(e, at, LEAT_ERR_UNSUPPORTED, "u64 has no arithmetic: cast(x, i64)");
    return 0;
}

static int add_operation(leat__expression *e, const char *at, leat__eval_op op, const int *arg, int n,
                         leat__term *out) {
    const int dtype = node_of(e, arg[0])->dtype, type = compute_type(dtype, op);
    const bool compares = op >= LEAT_EVAL_EQ && op <= LEAT_EVAL_LE;
    leat__eval_node node = {.op = op, .dtype = compares ? LEAT_DTYPE_BOOL : type, .n_args = n};
    for (int i = 0; i < n; i++) {
        int cast;
        LEAT_TRY(leat__node_cast(e, at, arg[i], type, &cast));
        node.arg[i] = (int16_t)cast;
    }
    *out = leat__term_of(0, at);
    LEAT_TRY(leat__node_add(e, at, &node, &out->node));
    return compares ? 0 : leat__node_cast(e, at, out->node, dtype, &out->node);
}

/* "/" of whole numbers is that of floats. */
static int float_operand(leat__expression *e, const char *at, const leat__term *a, leat__term *out) {
    *out = *a;
    if (a->kind != LEAT_TERM_NODE) return 0;
    const int dtype = node_of(e, a->node)->dtype;
    if (is_float(dtype) || dtype == LEAT_DTYPE_BOOL) return 0;
    const bool narrow = leat_dtype_size(dtype) <= 2;
    *out = leat__term_of(0, a->at);
    return leat__node_cast(e, at, a->node, narrow ? LEAT_DTYPE_F32 : LEAT_DTYPE_F64, &out->node);
}

/* ~x: of bool the other one. */
static bool is_not(const leat__expression *e, leat__eval_op op, const leat__term *a, const leat__term *b) {
    return op == LEAT_EVAL_XOR && b->kind == LEAT_TERM_LITERAL && b->literal.i[0] == -1 &&
           !b->literal.truth &&
           ((a->kind == LEAT_TERM_LITERAL && a->literal.truth) ||
            (a->kind == LEAT_TERM_NODE && node_of(e, a->node)->dtype == LEAT_DTYPE_BOOL));
}

int leat__term_binary(leat__expression *e, const char *at, leat__eval_op op, const leat__term *a,
                      const leat__term *b, leat__term *out) {
    leat__term x = *a, y = *b;
    int node[2];
    bool done;
    LEAT_TRY(fold(e, at, op, &x, &y, out, &done));
    if (done) return 0;
    if (op == LEAT_EVAL_DIV) {
        LEAT_TRY(float_operand(e, at, a, &x));
        LEAT_TRY(float_operand(e, at, b, &y));
    }
    if (is_not(e, op, &x, &y)) {
        y.literal.i[0] = 0;
        y.literal.truth = true;
        op = LEAT_EVAL_EQ;
    }
    if (op == LEAT_EVAL_XOR && y.kind == LEAT_TERM_LITERAL && y.literal.i[0] == -1 &&
        x.kind == LEAT_TERM_NODE) {
        /* all bits of a type without sign */
        const int dtype = node_of(e, x.node)->dtype;
        const size_t bits = 8 * leat_dtype_size(dtype);
        if (!fits(-1, dtype) && bits < 64) y.literal.i[0] = (int64_t)((UINT64_C(1) << bits) - 1);
    }
    LEAT_TRY(leat__terms_unify(e, at, (const leat__term *const[]){&x, &y}, 2, node));
    LEAT_TRY(check_type(e, at, op, node_of(e, node[0])->dtype));
    /* A square is one product, rounded once: what pow gives too. */
    if (op == LEAT_EVAL_POW && y.kind == LEAT_TERM_LITERAL && y.literal.n == 1 && y.literal.x[0] == 2) {
        node[1] = node[0];
        op = LEAT_EVAL_MUL;
    }
    return add_operation(e, at, op, node, 2, out);
}

static double fold_unary(leat__eval_op op, double x) {
    switch (op) {
    case LEAT_EVAL_SQRT: return leat__sqrt(x);
    case LEAT_EVAL_EXP: return leat__exp(x);
    case LEAT_EVAL_LOG: return leat__log_any(x);
    case LEAT_EVAL_SIN: return leat__sin(x);
    case LEAT_EVAL_COS: return leat__cos(x);
    default: return x;
    }
}

int leat__term_unary(leat__expression *e, const char *at, leat__eval_op op, const leat__term *a,
                     leat__term *out) {
    int node;
    if (a->kind == LEAT_TERM_LITERAL && !a->literal.truth && op >= LEAT_EVAL_SQRT) {
        leat__term made = {.kind = LEAT_TERM_LITERAL, .at = a->at};
        const leat__literal *l = &a->literal;
        LEAT_TRY(leat__literal_make(e, at, false, l->shape, l->ndim, &made.literal));
        for (size_t k = 0; k < l->n; k++) made.literal.x[k] = fold_unary(op, l->x[k]);
        *out = made;
        return 0;
    }
    LEAT_TRY(leat__term_node(e, a, -1, &node));
    const int dtype = node_of(e, node)->dtype;
    LEAT_TRY(check_type(e, at, op, dtype));
    *out = leat__term_of(node, at);
    if (!is_float(dtype)) {
        if (op == LEAT_EVAL_FLOOR || op == LEAT_EVAL_ROUND) return 0;
        if (op == LEAT_EVAL_ABS && !fits(-1, dtype)) return 0;
        if (op >= LEAT_EVAL_SQRT)
            return leat__expression_fail(e, at, LEAT_ERR_TYPE,
                                         "works on floats, not on %s: cast(x, f32) first",
                                         leat_dtype_name(dtype));
        if (dtype == LEAT_DTYPE_U8) { /* computed where there is a sign */
            leat__term wide = *out;
            LEAT_TRY(leat__node_cast(e, at, node, LEAT_DTYPE_I32, &wide.node));
            LEAT_TRY(add_operation(e, at, op, &wide.node, 1, out));
            return leat__node_cast(e, at, out->node, dtype, &out->node);
        }
    }
    return add_operation(e, at, op, &node, 1, out);
}

int leat__term_negate(leat__expression *e, const char *at, const leat__term *a, leat__term *out) {
    leat__term other = {.kind = LEAT_TERM_LITERAL, .at = at};
    LEAT_TRY(leat__literal_make(e, at, true, NULL, 0, &other.literal));
    const bool floats = a->kind == LEAT_TERM_NODE ? is_float(node_of(e, a->node)->dtype) : !a->literal.whole;
    /* 0 - x is never minus zero; whole numbers need no -1, which some types cannot hold. */
    other.literal.i[0] = floats ? -1 : 0;
    other.literal.x[0] = floats ? -1 : 0;
    return floats ? leat__term_binary(e, at, LEAT_EVAL_MUL, a, &other, out)
                  : leat__term_binary(e, at, LEAT_EVAL_SUB, &other, a, out);
}

/* -------------------------------------------------------------------------------------------- brackets */

int leat__term_index(leat__expression *e, const char *at, const leat__term *a, const leat__index *index,
                     int n, int dots, leat__term *out) {
    int from;
    LEAT_TRY(leat__term_node(e, a, -1, &from));
    const int ndim = node_of(e, from)->ndim;
    leat__eval_node node = {.op = LEAT_EVAL_SLICE, .dtype = node_of(e, from)->dtype, .n_args = 1};
    node.arg[0] = (int16_t)from;
    for (int k = 0; k < LEAT_EVAL_AXES; k++) node.begin[k] = node.end[k] = LEAT_EVAL_OPEN, node.step[k] = 1;
    int used = 0, axis = 0, made = 0;
    for (int i = 0; i < n; i++) used += !index[i].added;
    if (used > ndim)
        return leat__expression_fail(e, at, LEAT_ERR_SHAPE, "%d indices for %d axes", used, ndim);
    for (int i = 0; i < n; i++) {
        if (i == dots) axis += ndim - used, made += ndim - used;
        if (made >= LEAT_EVAL_AXES && !index[i].single)
            return leat__expression_fail(e, at, LEAT_ERR_SHAPE, "there are too many axes");
        if (index[i].added) {
            node.added |= 1u << made++;
            continue;
        }
        node.begin[axis] = index[i].begin;
        node.end[axis] = index[i].end;
        node.step[axis] = index[i].step;
        if (index[i].single) node.dropped |= 1u << axis;
        else made++;
        axis++;
    }
    *out = leat__term_of(0, at);
    return leat__node_add(e, at, &node, &out->node);
}
