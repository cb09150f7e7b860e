/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to a program: which nodes have memory of their own, and the loops that make them. */
#include "base/error.h"
#include "plan/eval/expression.h"

typedef struct compiling {
    leat__expression *e;
    leat__eval_program *program;
    bool live[LEAT_EVAL_NODES];
    int root[LEAT_EVAL_NODES]; /* the node whose loop makes this one; -1 = it is in no loop */
    leat__eval_guard *guard;
    int n_guards;
} compiling;

/* ------------------------------------------------------------------------------------------ which nodes */

static void find_live(compiling *c) {
    for (int i = c->program->n_nodes - 1; i >= 0; i--) {
        const leat__eval_node *node = &c->program->node[i];
        if (node->output >= 0) c->live[i] = true;
        for (int k = 0; c->live[i] && k < node->n_args; k++) c->live[node->arg[k]] = true;
    }
}

static bool same_shape(const leat__eval_node *a, const leat__eval_node *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* The loop that can make node i on its way: that of all who use it, if it is one, and goes over the same shape. */
static int common_root(const compiling *c, int i) {
    int root = -1;
    const leat__eval_program *program = c->program;
    for (int user = i + 1; user < program->n_nodes; user++) {
        const leat__eval_node *node = &program->node[user];
        for (int k = 0; c->live[user] && k < node->n_args; k++) {
            if (node->arg[k] != i) continue;
            /* Only the shape of these arguments counts, but they must be there. */
            if (c->root[user] < 0 || node->op == LEAT_EVAL_RANDOM) return -1;
            if (root >= 0 && c->root[user] != root) return -1;
            root = c->root[user];
        }
    }
    if (root < 0 || !same_shape(&program->node[i], &program->node[root])) return -1;
    return root;
}

/* A part of a concat has a loop, but no memory. */
static bool is_piece(const compiling *c, int i) {
    for (int user = i + 1; user < c->program->n_nodes; user++) {
        const leat__eval_node *node = &c->program->node[user];
        for (int k = 0; node->op == LEAT_EVAL_CONCAT && k < node->n_args; k++)
            if (node->arg[k] == i) return true;
    }
    return false;
}

static void choose_roots(compiling *c) {
    for (int i = c->program->n_nodes - 1; i >= 0; i--) {
        leat__eval_node *node = &c->program->node[i];
        c->root[i] = -1;
        node->stored = c->live[i];
        if (!c->live[i] || !leat__eval_elementwise(node->op)) continue;
        const int root = node->output >= 0 ? -1 : common_root(c, i);
        c->root[i] = root >= 0 ? root : i;
        node->stored = root < 0 && !is_piece(c, i);
    }
}

/* ----------------------------------------------------------------------------------------------- guards
 * A tree: each guard stands within that of the select whose side it is. A node has the deepest guard that holds
 * whenever another node or an output needs its value. */

/* A condition that lies in memory before loops begin. One that a loop makes on its way decides nothing. */
static bool is_single(const leat__eval_node *node) {
    if (!node->stored || node->op == LEAT_EVAL_CONST) return false;
    for (int k = 0; k < node->ndim; k++)
        if (node->shape[k] != 1) return false;
    return true;
}

static int find_guard(compiling *c, leat__eval_guard wanted) {
    for (int g = 1; g < c->n_guards; g++)
        if (c->guard[g].node == wanted.node && c->guard[g].holds == wanted.holds &&
            c->guard[g].within == wanted.within)
            return g;
    c->guard[c->n_guards] = wanted;
    return c->n_guards++;
}

/* The guard under which a user needs its argument k. */
static int guard_of_use(compiling *c, const leat__eval_node *user, int k) {
    if (user->op != LEAT_EVAL_SELECT || k == 0 || !is_single(&c->program->node[user->arg[0]]))
        return user->guard;
    return find_guard(c, (leat__eval_guard){.node = user->arg[0], .holds = k == 1, .within = user->guard});
}

/* Guards stand behind those that they are within. */
static int common_guard(const compiling *c, int a, int b) {
    while (a != b)
        if (a > b) a = c->guard[a].within;
        else b = c->guard[b].within;
    return a;
}

/* As much of a guard as is known when node i is computed. */
static int known_guard(const compiling *c, int guard, int i) {
    int known = guard;
    for (int g = guard; g > 0; g = c->guard[g].within)
        if (c->guard[g].node >= i) known = c->guard[g].within;
    return known;
}

static int choose_guards(compiling *c) {
    c->guard = leat__expression_alloc(c->e, (2 * LEAT_EVAL_NODES + 1) * sizeof *c->guard);
    if (!c->guard) return LEAT_ERR_MEMORY;
    c->guard[0] = (leat__eval_guard){.node = -1};
    c->n_guards = 1;
    c->program->guard = c->guard;
    for (int i = c->program->n_nodes - 1; i >= 0; i--) {
        leat__eval_node *node = &c->program->node[i];
        int guard = -1;
        for (int user = i + 1; c->live[i] && node->output < 0 && user < c->program->n_nodes; user++)
            for (int k = 0; c->live[user] && k < c->program->node[user].n_args; k++) {
                if (c->program->node[user].arg[k] != i) continue;
                const int its = guard_of_use(c, &c->program->node[user], k);
                guard = guard < 0 ? its : common_guard(c, guard, its);
            }
        node->guard = guard < 0 ? 0 : known_guard(c, guard, i);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ loops */

typedef struct register_file {
    int16_t of[LEAT_EVAL_NODES]; /* register of a node                                */
    int last[LEAT_EVAL_NODES];   /* the last step that reads it                       */
    int owner[LEAT_EVAL_NODES];  /* the node in a register; -1 = free                 */
    int n;
} register_file;

static int16_t take_register(register_file *file, int node) {
    int r = 0;
    while (r < file->n && file->owner[r] >= 0) r++;
    if (r == file->n) file->n++;
    file->owner[r] = node;
    return (int16_t)r;
}

/* A copy of what the loop has computed is no step: the value is made where it goes. */
static int last_step(const compiling *c, int root) {
    const leat__eval_node *node = &c->program->node[root];
    while (node->op == LEAT_EVAL_COPY && c->root[node->arg[0]] == root) {
        root = node->arg[0];
        node = &c->program->node[root];
    }
    return root;
}

static int leaf_number(int16_t *leaf, int *n, int node) {
    for (int i = 0; i < *n; i++)
        if (leaf[i] == node) return i;
    if (*n == LEAT_EVAL_LEAVES) return -1;
    leaf[*n] = (int16_t)node;
    return (*n)++;
}

/* The result may not lie where an operand does: an operand's register is free only for the steps behind. */
static int write_steps(const compiling *c, int root, leat__eval_loop *loop, int16_t *leaf,
                       leat__eval_step *steps, register_file *file) {
    const int last = last_step(c, root);
    for (int i = 0; i <= last; i++) {
        const leat__eval_node *node = &c->program->node[i];
        for (int k = 0; c->root[i] == root && k < node->n_args; k++) file->last[node->arg[k]] = i;
    }
    for (int i = 0; i <= last; i++) {
        const leat__eval_node *node = &c->program->node[i];
        if (c->root[i] != root) continue;
        leat__eval_step *step = &steps[loop->n_steps++];
        const int n_src = node->op == LEAT_EVAL_RANDOM ? 0 : node->n_args;
        *step = (leat__eval_step){
            .op = (uint8_t)node->op, .to = (uint8_t)node->dtype, .n_src = (uint8_t)n_src, .node = (int16_t)i};
        if (n_src) step->from = (uint8_t)c->program->node[node->arg[0]].dtype;
        for (int k = 0; k < n_src; k++) {
            const int arg = node->arg[k];
            if (c->root[arg] == root && arg != root) {
                step->src[k] = file->of[arg];
                continue;
            }
            const int number = leaf_number(leaf, &loop->n_leaves, arg);
            if (number < 0)
                return leat__expression_fail(
                    c->e, c->e->text, LEAT_ERR_LIMIT,
                    "more than %d values in one expression: make a part of it with an "
                    "eval before",
                    LEAT_EVAL_LEAVES);
            step->src[k] = (int16_t)~number;
        }
        file->of[i] = step->dst = i == last ? -1 : take_register(file, i);
        for (int r = 0; r < file->n; r++)
            if (file->owner[r] >= 0 && file->owner[r] != i && file->last[file->owner[r]] <= i)
                file->owner[r] = -1;
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------- chains */

static bool is_link(const leat__eval_step *step) {
    return leat__eval_links(step->op) && step->from == LEAT_DTYPE_F32;
}

/* Whether all that a step makes goes into the next one, once. */
static bool feeds_next(const leat__eval_step *step, const register_file *file) {
    const leat__eval_step *next = step + 1;
    int uses = 0;
    for (int k = 0; k < next->n_src; k++) uses += next->src[k] == step->dst;
    return is_link(next) && uses == 1 && file->last[step->node] == next->node;
}

/* A chain writes its result while it reads: it may not lie where an operand of an earlier link does. */
static bool lies_apart(const leat__eval_step *first, const leat__eval_step *last) {
    for (const leat__eval_step *step = first; step < last; step++)
        for (int k = 0; k < step->n_src; k++)
            if (last->dst >= 0 && step->src[k] == last->dst) return false;
    return true;
}

static void join_steps(leat__eval_step *steps, int n, const register_file *file) {
    for (int i = 0; i < n;) {
        leat__eval_step *first = &steps[i];
        const bool cast =
            first->op == LEAT_EVAL_CAST && first->from == LEAT_DTYPE_U8 && first->to == LEAT_DTYPE_F32;
        int count = 1;
        while ((cast || is_link(first)) && i + count < n && count - cast < LEAT_EVAL_LINKS &&
               feeds_next(&steps[i + count - 1], file) && lies_apart(first, &steps[i + count]))
            count++;
        first->joined = (uint8_t)(count > 1 ? count : 0);
        i += count;
    }
}

/* ----------------------------------------------------------------------------------------------- tables
 * A loop over u8 values and constants has 256 results, or 256 for each place of the last axis. Where computing a value takes
 * longer than looking it up, they are computed when the plan is made, by the very same steps. */

enum { PERIOD_MAX = 16, LOOK_UP_COST = 10 };

static int cost_of(const leat__eval_loop *loop) {
    int cost = 0;
    for (int i = 0; i < loop->n_steps; i++) {
        const int op = loop->step[i].op;
        if (op == LEAT_EVAL_RANDOM) return 0;
        cost +=
            op == LEAT_EVAL_DIV || op == LEAT_EVAL_SQRT ? 2
            : op == LEAT_EVAL_FLOORDIV || op == LEAT_EVAL_MOD || op == LEAT_EVAL_POW || op >= LEAT_EVAL_EXP
                ? 50
                : 1;
    }
    return cost;
}

/* The only leaf that is no constant, if it is u8 and the constants depend on the last axis at most; else -1. */
static int table_leaf(const compiling *c, int root, const leat__eval_loop *loop, int64_t *period) {
    const leat__eval_node *result = &c->program->node[root];
    int found = -1;
    *period = 1;
    if (result->ndim < 2 || cost_of(loop) <= LOOK_UP_COST) return -1;
    const int64_t last = result->shape[result->ndim - 1];
    for (int i = 0; i < loop->n_leaves; i++) {
        const leat__eval_node *leaf = &c->program->node[loop->leaf[i]];
        if (leaf->op != LEAT_EVAL_CONST) {
            if (found >= 0 || leaf->dtype != LEAT_DTYPE_U8 || !same_shape(leaf, result)) return -1;
            found = i;
            continue;
        }
        for (int k = 0; k < leaf->ndim - 1; k++)
            if (leaf->shape[k] != 1) return -1;
        if (leaf->ndim == 0 || leaf->shape[leaf->ndim - 1] == 1) continue;
        if (last != leaf->shape[leaf->ndim - 1] || last > PERIOD_MAX) return -1;
        *period = last;
    }
    return found;
}

/* Runs the loop over a picture of all values: row v has v at each place. */
static int fill_table(const compiling *c, int root, leat__eval_loop *loop, int which, int64_t period) {
    leat__expression *e = c->e;
    leat__eval_node wanted = c->program->node[root];
    leat__eval_view view[LEAT_EVAL_NODES];
    const leat__eval_call call = {.kernels = leat__eval_kernels_c()};
    leat__eval_running run = {.program = c->program, .call = &call, .view = view};
    const int leaf = loop->leaf[which], axes = c->program->node[leaf].ndim;
    uint8_t *values = leat__expression_alloc(e, 256 * (size_t)period);
    void *table = leat__expression_alloc(e, 256 * (size_t)period * leat_dtype_size(wanted.dtype));
    if (!values || !table) return LEAT_ERR_MEMORY;
    for (size_t k = 0; k < 256 * (size_t)period; k++) values[k] = (uint8_t)(k / (size_t)period);
    for (int i = 0; i < loop->n_leaves; i++) {
        const leat__eval_node *constant = &c->program->node[loop->leaf[i]];
        leat__eval_view *of = &view[loop->leaf[i]];
        *of = (leat__eval_view){.data = constant->data};
        memcpy(of->shape, constant->shape, sizeof of->shape);
        if (i == which) {
            of->data = values;
            for (int k = 0; k < axes; k++) of->shape[k] = k == axes - 2 ? 256 : k == axes - 1 ? period : 1;
        }
        leat__eval_pack(of, constant->ndim);
    }
    leat__eval_view into = {.data = table, .shape = {256, period}, .stride = {period, 1}};
    run.registers = leat__alloc(LEAT_MEM_PLAN, c->program->registers);
    if (!run.registers) return leat__fail_memory(e->err, c->program->registers, "an expression");
    wanted.ndim = 2;
    wanted.output = -1;
    leat_error unused;
    const int rc = leat__eval_run_loop(&run, &wanted, &into, &unused);
    leat__free(run.registers);
    if (rc < 0) return 0; /* division by a zero among the values: told for the sample that has it */
    loop->period = (size_t)period;
    loop->table_leaf = which;
    loop->table = table;
    return 0;
}

static int compile_loop(compiling *c, int root) {
    leat__expression *e = c->e;
    int16_t leaf[LEAT_EVAL_LEAVES];
    leat__eval_loop *loop = leat__expression_alloc(e, sizeof *loop);
    leat__eval_step *steps = leat__expression_alloc(e, (size_t)(root + 1) * sizeof *steps);
    register_file *file = leat__expression_alloc(e, sizeof *file);
    if (!loop || !steps || !file) return LEAT_ERR_MEMORY;
    *loop = (leat__eval_loop){.step = steps};
    *file = (register_file){0};
    LEAT_TRY(write_steps(c, root, loop, leaf, steps, file));
    int16_t *leaves = leat__expression_alloc(e, LEAT_MAX((size_t)loop->n_leaves, (size_t)1) * sizeof *leaves);
    if (!leaves) return LEAT_ERR_MEMORY;
    memcpy(leaves, leaf, (size_t)loop->n_leaves * sizeof *leaves);
    join_steps(steps, loop->n_steps, file);
    loop->leaf = leaves;
    loop->n_regs = file->n;
    /* What a tile touches stays in the first cache. */
    loop->tile = file->n <= 4 ? LEAT_EVAL_TILE : file->n <= 8 ? LEAT_EVAL_TILE / 2 : LEAT_EVAL_TILE / 4;
    const size_t bytes = (size_t)(loop->n_regs + 1 + loop->n_leaves) * LEAT_EVAL_REGISTER;
    c->program->registers = LEAT_MAX(c->program->registers, bytes);
    c->program->node[root].loop = loop;
    int64_t period;
    const int which = table_leaf(c, root, loop, &period);
    return which < 0 ? 0 : fill_table(c, root, loop, which, period);
}

int leat__program_compile(leat__expression *e) {
    compiling *c = leat__expression_alloc(e, sizeof *c);
    if (!c) return LEAT_ERR_MEMORY;
    *c = (compiling){.e = e, .program = e->program};
    find_live(c);
    choose_roots(c);
    LEAT_TRY(choose_guards(c));
    for (int i = 0; i < c->program->n_nodes; i++)
        if (c->root[i] == i) LEAT_TRY(compile_loop(c, i));
    return 0;
}
