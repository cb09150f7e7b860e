/* SPDX-License-Identifier: Apache-2.0 */
/* Reads expressions: recursive descent over the grammar in expression.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/dtype.h"
#include "plan/eval/expression.h"

enum { NAME_SIZE = 64, INDICES_MAX = 2 * LEAT_EVAL_AXES };

static int read_expression(leat__expression *e, leat__term *out);
static int read_unary(leat__expression *e, leat__term *out);

int leat__expression_fail(leat__expression *e, const char *at, int code, const char *fmt, ...) {
    char what[700], shown[700];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    const int column = e->column + (int)(at - e->text);
    leat__fail(e->err, code, "column %d: %s: %s: %s", column, e->use->op->name, e->name,
               leat__printable(shown, sizeof shown, what, strlen(what)));
    if (e->err) e->err->column = column;
    return code;
}

/* --------------------------------------------------------------------------------------------- letters */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(leat__expression *e) {
    while (is_space(*e->at)) e->at++;
    return *e->at;
}

static bool take(leat__expression *e, const char *sign) {
    peek(e);
    const size_t n = strlen(sign);
    if (strncmp(e->at, sign, n) != 0) return false;
    e->at += n;
    return true;
}

static int fail_here(leat__expression *e, const char *wanted) {
    if (!peek(e)) return leat__expression_fail(e, e->at, LEAT_ERR_SYNTAX, "%s is missing at the end", wanted);
    return leat__expression_fail(e, e->at, LEAT_ERR_SYNTAX, "%s must stand here, not '%.20s'", wanted, e->at);
}

static int expect(leat__expression *e, const char *sign) {
    char wanted[8];
    snprintf(wanted, sizeof wanted, "'%s'", sign);
    return take(e, sign) ? 0 : fail_here(e, wanted);
}

/* A name of letters, digits and _; or anything in quotes. */
static int read_name(leat__expression *e, char name[NAME_SIZE], bool *quoted) {
    const char *from = e->at;
    size_t n = 0;
    *quoted = *from == '"' || *from == '\'';
    if (*quoted) {
        from++;
        n = strcspn(from, *e->at == '"' ? "\"" : "'");
        if (!from[n]) return leat__expression_fail(e, e->at, LEAT_ERR_SYNTAX, "the quote is never closed");
        e->at = from + n + 1;
    } else {
        while (begins_name(from[n]) || is_digit(from[n])) n++;
        e->at = from + n;
    }
    if (n >= NAME_SIZE)
        return leat__expression_fail(e, from, LEAT_ERR_LIMIT, "a name of more than %d letters",
                                     NAME_SIZE - 1);
    memcpy(name, from, n);
    name[n] = 0;
    return 0;
}

/* -------------------------------------------------------------------------------------- simple values */

static int literal_term(leat__expression *e, const char *at, bool whole, int64_t i, double x,
                        leat__term *out) {
    *out = (leat__term){.kind = LEAT_TERM_LITERAL, .at = at};
    LEAT_TRY(leat__literal_make(e, at, whole, NULL, 0, &out->literal));
    out->literal.x[0] = x;
    out->literal.i[0] = i;
    return 0;
}

static int read_number(leat__expression *e, leat__term *out) {
    const char *from = e->at;
    char text[64];
    size_t n = 0;
    bool whole = true;
    while (is_digit(from[n])) n++;
    if (from[n] == '.' && from[n + 1] != '.') {
        whole = false;
        for (n++; is_digit(from[n]);) n++;
    }
    if (from[n] == 'e' || from[n] == 'E') {
        whole = false;
        n += from[n + 1] == '-' || from[n + 1] == '+' ? 2 : 1;
        while (is_digit(from[n])) n++;
    }
    int64_t i = 0;
    double x = 0;
    snprintf(text, sizeof text, "%.*s", (int)LEAT_MIN(n, sizeof text - 1), from);
    if (n >= sizeof text || begins_name(from[n]) ||
        (whole ? !leat__parse_int(text, &i) : !leat__parse_number(text, &x)))
        return leat__expression_fail(e, from, LEAT_ERR_SYNTAX, "'%.30s' is no number", from);
    e->at += n;
    return literal_term(e, from, whole, i, whole ? (double)i : x, out);
}

/* [1, 2, 3], or lists in a list: all numbers, and all of one size. */
static int read_list(leat__expression *e, leat__term *out) {
    const char *at = e->at++;
    leat__term first, next;
    int64_t shape[LEAT_EVAL_AXES];
    size_t n = 0, cap = 0;
    double *x = NULL;
    int64_t *i = NULL;
    bool whole = true;
    do {
        LEAT_TRY(read_expression(e, &next));
        if (next.kind != LEAT_TERM_LITERAL || next.literal.truth)
            return leat__expression_fail(e, next.at, LEAT_ERR_TYPE,
                                         "a list has numbers only: stack(0, a, b) joins other values");
        if (n == 0) first = next;
        const leat__literal *l = &next.literal;
        if (l->ndim == LEAT_EVAL_AXES || l->ndim != first.literal.ndim ||
            memcmp(l->shape, first.literal.shape, (size_t)l->ndim * sizeof *l->shape) != 0)
            return leat__expression_fail(e, next.at, LEAT_ERR_SHAPE, "lists in a list must have one size");
        if ((n + 1) * l->n > cap) {
            cap = LEAT_MAX(cap * 2, (n + 1) * l->n * 4);
            if (cap > 4 * LEAT_EXPRESSION_VALUES)
                return leat__expression_fail(e, at, LEAT_ERR_LIMIT, "lists have more than %d values",
                                             LEAT_EXPRESSION_VALUES);
            double *more = leat__expression_alloc(e, cap * sizeof *x);
            int64_t *also = leat__expression_alloc(e, cap * sizeof *i);
            if (!more || !also) return LEAT_ERR_MEMORY;
            if (n) memcpy(more, x, n * l->n * sizeof *x), memcpy(also, i, n * l->n * sizeof *i);
            x = more, i = also;
        }
        memcpy(x + n * l->n, l->x, l->n * sizeof *x);
        memcpy(i + n * l->n, l->i, l->n * sizeof *i);
        whole = whole && l->whole;
        n++;
    } while (take(e, ","));
    LEAT_TRY(expect(e, "]"));
    shape[0] = (int64_t)n;
    memcpy(shape + 1, first.literal.shape, (LEAT_EVAL_AXES - 1) * sizeof *shape);
    *out = (leat__term){.kind = LEAT_TERM_LITERAL, .at = at};
    LEAT_TRY(leat__literal_make(e, at, whole, shape, first.literal.ndim + 1, &out->literal));
    memcpy(out->literal.x, x, out->literal.n * sizeof *x);
    memcpy(out->literal.i, i, out->literal.n * sizeof *i);
    return 0;
}

/* ------------------------------------------------------------------------------------- fields and functions */

static int read_field(leat__expression *e, const char *at, const char *name, leat__term *out) {
    leat__planner *planner = e->planner;
    const int field = leat__plan_live(planner, name);
    if (field < 0) {
        const char *near = leat__nearest(name, leat__plan_live_name, planner);
        const bool function = leat__function_known(name);
        return leat__expression_fail(e, at, LEAT_ERR_NOT_FOUND, "there is no field '%s' here%s%s%s%s", name,
                                     function ? ": a function is called as f(x)" : "",
                                     near && !function ? "; did you mean '" : "",
                                     near && !function ? near : "", near && !function ? "'?" : "");
    }
    const leat_field *info = &planner->field[field].info;
    if (info->dtype == LEAT_DTYPE_BYTES)
        return leat__expression_fail(e, at, LEAT_ERR_TYPE,
                                     "field %s holds bytes: write decode, or decode_raw %s u8, before", name,
                                     name);
    int input = 0;
    while (input < e->program->n_inputs && e->value[input] != field) input++;
    if (input == e->program->n_inputs) {
        if (planner->field[field].device) LEAT_TRY(leat__device_check(planner, e->use, field, e->err));
        LEAT_TRY(leat__coords_settle(planner, e->use, field, e->err));
        e->value[e->program->n_inputs++] = field;
    } else {
        for (int i = 0; i < e->program->n_nodes; i++)
            if (e->program->node[i].op == LEAT_EVAL_INPUT && e->program->node[i].begin[0] == input) {
                *out = leat__term_of(i, at);
                return 0;
            }
    }
    leat__eval_node node = {
        .op = LEAT_EVAL_INPUT, .dtype = info->dtype, .ndim = info->ndim, .begin = {input}};
    for (int k = 0; k < info->ndim; k++) node.shape[k] = info->shape[k] < 0 ? -1 : info->shape[k];
    *out = leat__term_of(0, at);
    return leat__node_add(e, at, &node, &out->node);
}

/* keep=true, seed=3, like=x, axis=1; false if the next argument has no name. */
static int read_named(leat__expression *e, leat__call *call, leat__term room[4], bool *named) {
    static const char *const names[] = {"keep", "seed", "like", "axis"};
    const leat__term **const to[] = {&call->keep, &call->seed, &call->like, &call->axis};
    const char *at = (peek(e), e->at);
    size_t n = 0;
    *named = false;
    while (begins_name(at[n]) || is_digit(at[n])) n++;
    const size_t end = n + strspn(at + n, " \t");
    if (!begins_name(*at) || at[end] != '=' || at[end + 1] == '=') return 0;
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        if (strlen(names[i]) != n || memcmp(names[i], at, n) != 0) continue;
        if (*to[i]) return leat__expression_fail(e, at, LEAT_ERR_SYNTAX, "%s is given twice", names[i]);
        e->at = at + end + 1;
        LEAT_TRY(read_expression(e, &room[i]));
        *to[i] = &room[i];
        *named = true;
        return 0;
    }
    return leat__expression_fail(e, at, LEAT_ERR_SYNTAX,
                                 "there is no argument '%.*s': keep, seed, like and axis have names",
                                 (int)LEAT_MIN(n, (size_t)40), at);
}

static int read_call(leat__expression *e, const char *at, const char *name, leat__term *out) {
    if (!leat__function_known(name)) {
        const char *near = leat__nearest(name, leat__function_name, NULL);
        return leat__expression_fail(e, at, LEAT_ERR_NOT_FOUND, "there is no function '%s'%s%s%s", name,
                                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    leat__call *call = leat__expression_alloc(e, sizeof *call);
    leat__term *room = leat__expression_alloc(e, 4 * sizeof *room);
    if (!call || !room) return LEAT_ERR_MEMORY;
    *call = (leat__call){.at = at};
    if (take(e, ")")) return leat__function_call(e, name, call, out);
    do {
        bool named;
        LEAT_TRY(read_named(e, call, room, &named));
        if (named) continue;
        if (call->n == LEAT_CALL_ARGS)
            return leat__expression_fail(e, e->at, LEAT_ERR_LIMIT, "more than %d arguments", LEAT_CALL_ARGS);
        LEAT_TRY(read_expression(e, &call->arg[call->n++]));
    } while (take(e, ","));
    LEAT_TRY(expect(e, ")"));
    return leat__function_call(e, name, call, out);
}

static int read_word(leat__expression *e, leat__term *out) {
    const char *at = e->at;
    char name[NAME_SIZE];
    bool quoted;
    LEAT_TRY(read_name(e, name, &quoted));
    if (!quoted && take(e, "(")) return read_call(e, at, name, out);
    if (quoted || leat__plan_live(e->planner, name) >= 0) return read_field(e, at, name, out);
    const bool yes = strcmp(name, "true") == 0 || strcmp(name, "True") == 0;
    if (yes || strcmp(name, "false") == 0 || strcmp(name, "False") == 0) {
        LEAT_TRY(literal_term(e, at, true, yes, yes, out));
        out->literal.truth = true;
        return 0;
    }
    const int dtype = leat__dtype_find(name, strlen(name));
    if (dtype >= 0 && dtype != LEAT_DTYPE_BYTES) {
        *out = (leat__term){.kind = LEAT_TERM_TYPE, .dtype = dtype, .at = at};
        return 0;
    }
    return read_field(e, at, name, out);
}

static int read_simple(leat__expression *e, leat__term *out) {
    const char c = peek(e);
    if (is_digit(c) || (c == '.' && is_digit(e->at[1]))) return read_number(e, out);
    if (begins_name(c) || c == '"' || c == '\'') return read_word(e, out);
    if (c == '[') return read_list(e, out);
    if (!take(e, "(")) return fail_here(e, "a value");
    LEAT_TRY(read_expression(e, out));
    return expect(e, ")");
}

/* ------------------------------------------------------------------------------------------- brackets */

static int read_bound(leat__expression *e, int64_t *out) {
    leat__term term;
    LEAT_TRY(read_expression(e, &term));
    return leat__term_whole(e, &term, "an index", out);
}

static int read_index(leat__expression *e, leat__index *out) {
    *out = (leat__index){.begin = LEAT_EVAL_OPEN, .end = LEAT_EVAL_OPEN, .step = 1};
    if (take(e, "None")) {
        out->added = true;
        return 0;
    }
    if (peek(e) != ':') {
        LEAT_TRY(read_bound(e, &out->begin));
        if (peek(e) != ':') {
            out->single = true;
            return 0;
        }
    }
    LEAT_TRY(expect(e, ":"));
    if (!strchr(":,]", peek(e))) LEAT_TRY(read_bound(e, &out->end));
    if (take(e, ":") && !strchr(",]", peek(e))) {
        const char *at = e->at;
        LEAT_TRY(read_bound(e, &out->step));
        if (out->step == 0 || out->step == INT64_MIN)
            return leat__expression_fail(e, at, LEAT_ERR_SYNTAX, "the step of a slice is not 0");
    }
    return 0;
}

static int read_brackets(leat__expression *e, leat__term *value) {
    const char *at = e->at++;
    leat__index index[INDICES_MAX];
    int n = 0, dots = -1;
    do {
        if (take(e, "...")) {
            if (dots >= 0) return leat__expression_fail(e, e->at, LEAT_ERR_SYNTAX, "'...' stands here twice");
            dots = n;
            continue;
        }
        if (n == INDICES_MAX)
            return leat__expression_fail(e, e->at, LEAT_ERR_SHAPE, "there are too many axes");
        LEAT_TRY(read_index(e, &index[n++]));
    } while (take(e, ","));
    LEAT_TRY(expect(e, "]"));
    return leat__term_index(e, at, value, index, n, dots, value);
}

/* ------------------------------------------------------------------------------------------ operators */

static int read_power(leat__expression *e, leat__term *out) {
    LEAT_TRY(read_simple(e, out));
    while (peek(e) == '[') LEAT_TRY(read_brackets(e, out));
    const char *at = e->at;
    leat__term right;
    if (!take(e, "**")) return 0;
    LEAT_TRY(read_unary(e, &right));
    return leat__term_binary(e, at, LEAT_EVAL_POW, out, &right, out);
}

static int read_unary(leat__expression *e, leat__term *out) {
    const char sign = peek(e), *at = e->at;
    if (e->depth++ == LEAT_EXPRESSION_DEPTH)
        return leat__expression_fail(e, at, LEAT_ERR_LIMIT,
                                     "more than %d levels: make a part of it with an eval before",
                                     LEAT_EXPRESSION_DEPTH);
    int rc = 0;
    if (sign == '-' || sign == '+' || sign == '~') {
        e->at++;
        rc = read_unary(e, out);
        if (rc == 0 && sign == '-') rc = leat__term_negate(e, at, out, out);
        if (rc == 0 && sign == '~') {
            leat__term ones;
            rc = literal_term(e, at, true, -1, -1, &ones);
            if (rc == 0) rc = leat__term_binary(e, at, LEAT_EVAL_XOR, out, &ones, out);
        }
    } else rc = read_power(e, out);
    e->depth--;
    return rc;
}

/* Operators by how tightly they bind; of one level the longest comes first. Comparisons do not chain. */
static const struct {
    const char *sign;
    leat__eval_op op;
    int level;
    bool turned; /* b op a */
} operators[] = {
    {"==", LEAT_EVAL_EQ, 0, false}, {"!=", LEAT_EVAL_NE, 0, false}, {"<=", LEAT_EVAL_LE, 0, false},
    {">=", LEAT_EVAL_LE, 0, true},  {"<", LEAT_EVAL_LT, 0, false},  {">", LEAT_EVAL_LT, 0, true},
    {"|", LEAT_EVAL_OR, 1, false},  {"^", LEAT_EVAL_XOR, 2, false}, {"&", LEAT_EVAL_AND, 3, false},
    {"+", LEAT_EVAL_ADD, 4, false}, {"-", LEAT_EVAL_SUB, 4, false}, {"//", LEAT_EVAL_FLOORDIV, 5, false},
    {"*", LEAT_EVAL_MUL, 5, false}, {"/", LEAT_EVAL_DIV, 5, false}, {"%", LEAT_EVAL_MOD, 5, false},
};
enum { LEVELS = 6 };

static int read_level(leat__expression *e, int level, leat__term *out) {
    if (level == LEVELS) return read_unary(e, out);
    LEAT_TRY(read_level(e, level + 1, out));
    for (int times = 0;; times++) {
        size_t i = 0;
        const char *at = (peek(e), e->at);
        while (i < LEAT_COUNT(operators) && (operators[i].level != level || !take(e, operators[i].sign))) i++;
        if (i == LEAT_COUNT(operators)) return 0;
        if (level == 0 && times > 0)
            return leat__expression_fail(e, at, LEAT_ERR_SYNTAX,
                                         "comparisons do not chain: write (a < b) & (b < c)");
        leat__term right;
        LEAT_TRY(read_level(e, level + 1, &right));
        const bool turned = operators[i].turned;
        LEAT_TRY(
            leat__term_binary(e, at, operators[i].op, turned ? &right : out, turned ? out : &right, out));
    }
}

static int read_expression(leat__expression *e, leat__term *out) {
    return read_level(e, 0, out);
}

int leat__expression_begin(leat__expression *e, leat__planner *planner, const leat__use *use,
                           leat_error *err) {
    *e = (leat__expression){.planner = planner, .use = use, .err = err, .next_symbol = -2};
    e->program = leat__arena_alloc(&planner->plan->memory, sizeof *e->program);
    if (!e->program) return leat__fail_memory(err, sizeof *e->program, "an expression");
    *e->program = (leat__eval_program){0};
    e->program->node = leat__expression_alloc(e, LEAT_EVAL_NODES * sizeof *e->program->node);
    return e->program->node ? 0 : LEAT_ERR_MEMORY;
}

int leat__expression_read(leat__expression *e, const char *name, const char *text, int column) {
    leat__term term;
    int node;
    e->name = name;
    e->text = e->at = text;
    e->column = column;
    e->depth = 0;
    if (e->program->n_outputs == LEAT_EVAL_INPUTS)
        return leat__expression_fail(e, text, LEAT_ERR_LIMIT, "more than %d expressions", LEAT_EVAL_INPUTS);
    LEAT_TRY(read_expression(e, &term));
    if (peek(e)) return fail_here(e, "an operator or the end");
    LEAT_TRY(leat__term_node(e, &term, -1, &node));
    leat__eval_node *made = &e->program->node[node];
    /* A result is written where it goes: what lies elsewhere already is copied. */
    if (made->op < LEAT_EVAL_SUM || made->output >= 0) {
        const leat__eval_node copy = {
            .op = LEAT_EVAL_COPY, .dtype = made->dtype, .n_args = 1, .arg = {(int16_t)node}, .output = -2};
        LEAT_TRY(leat__node_add(e, text, &copy, &node));
        made = &e->program->node[node];
    }
    if (made->ndim > LEAT_NDIM_MAX - 1)
        return leat__expression_fail(e, text, LEAT_ERR_SHAPE, "a field has up to %d axes, not %d",
                                     LEAT_NDIM_MAX - 1, made->ndim);
    made->output = e->program->n_outputs;
    e->program->output[e->program->n_outputs++] = node;
    return 0;
}

int leat__expression_finish(leat__expression *e) {
    e->text = e->at = "";
    return leat__program_compile(e);
}
