/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of the operation `eval`, from text to a program (image/eval/eval.h).
 *
 *     expression = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ]     with | ^ & between, as in Python
 *     sum        = product { ( "+" | "-" ) product }
 *     product    = unary { ( "*" | "/" | "//" | "%" ) unary }
 *     unary      = ( "-" | "+" | "~" ) unary | power
 *     power      = value [ "**" unary ]
 *     value      = simple { "[" index { "," index } "]" }
 *     simple     = number | "true" | "false" | field | function "(" arguments ")" | "(" expression ")" | list
 *     index      = whole | [ whole ] ":" [ whole ] [ ":" [ whole ] ] | "..." | "None"
 *     list       = "[" expression { "," expression } "]"                     of numbers
 *
 * expression_parse.c reads the text and calls expression_build.c and expression_functions.c, which give every node its type
 * and shape; expression_program.c turns the nodes into loops. */
#ifndef LEAT_PLAN_EVAL_EXPRESSION_H
#define LEAT_PLAN_EVAL_EXPRESSION_H

#include "image/eval/eval.h"
#include "plan/planner.h"

/* Numbers that have no type yet: they take that of the other operand. */
typedef struct leat__literal {
    bool whole; /* i holds them too */
    bool truth; /* true or false    */
    int ndim;
    int64_t shape[LEAT_EVAL_AXES];
    size_t n;
    double *x;
    int64_t *i;
} leat__literal;

typedef enum leat__term_kind { LEAT_TERM_NODE, LEAT_TERM_LITERAL, LEAT_TERM_TYPE } leat__term_kind;

typedef struct leat__term { /* what a piece of the text is */
    leat__term_kind kind;
    int node;
    int dtype; /* of LEAT_TERM_TYPE */
    leat__literal literal;
    const char *at; /* where it stands */
} leat__term;

typedef struct leat__expression { /* all expressions of one operation, while they are read */
    leat__planner *planner;
    const leat__use *use;
    leat__eval_program *program; /* with room for LEAT_EVAL_NODES            */
    int value[LEAT_EVAL_INPUTS]; /* (program->n_inputs) fields by number     */
    int64_t next_symbol;         /* of sizes that are not known              */
    int64_t n_draws;
    size_t n_constants; /* values of lists so far                   */
    /* Of the expression that is read now: */
    const char *name;
    const char *text, *at;
    int column;
    int depth;
    leat_error *err;
} leat__expression;

#define LEAT_EXPRESSION_DEPTH 64
#define LEAT_EXPRESSION_VALUES 65536

/* ----------------------------------------------------------------------------------------------- what others call */

/* Begins with no expression; the program lives as long as the plan. */
int leat__expression_begin(leat__expression *e, leat__planner *planner, const leat__use *use,
                           leat_error *err);
/* Reads one: its result is the next output. column: of the first character in the pipeline text, for messages. */
int leat__expression_read(leat__expression *e, const char *name, const char *text, int column);
/* When all are read. */
int leat__expression_finish(leat__expression *e);

/* --------------------------------------------------------------------------------------- among the files of this folder */

/* An error at a place of the text. */
int leat__expression_fail(leat__expression *e, const char *at, int code, const char *fmt, ...)
    LEAT_PRINTF(4, 5);
void *leat__expression_alloc(leat__expression *e, size_t bytes);

/* A node with its shape, or an equal one that is there already. */
int leat__node_add(leat__expression *e, const char *at, const leat__eval_node *node, int *out);
/* Room for n numbers of this shape. */
int leat__literal_make(leat__expression *e, const char *at, bool whole, const int64_t *shape, int ndim,
                       leat__literal *out);
/* The node of a term; numbers get the type, or with dtype -1 what TensorFlow gives them: i32, f32, bool. */
int leat__term_node(leat__expression *e, const leat__term *term, int dtype, int *out);
leat__term leat__term_of(int node, const char *at);
int leat__node_cast(leat__expression *e, const char *at, int node, int dtype, int *out);
/* The nodes of terms that must have one type. */
int leat__terms_unify(leat__expression *e, const char *at, const leat__term *const *term, int n, int *node);
/* a op b; op: LEAT_EVAL_ADD to LEAT_EVAL_LE. */
int leat__term_binary(leat__expression *e, const char *at, leat__eval_op op, const leat__term *a,
                      const leat__term *b, leat__term *out);
/* LEAT_EVAL_ABS to LEAT_EVAL_COS. */
int leat__term_unary(leat__expression *e, const char *at, leat__eval_op op, const leat__term *a,
                     leat__term *out);
int leat__term_negate(leat__expression *e, const char *at, const leat__term *a, leat__term *out);
/* A literal that is one whole number. */
int leat__term_whole(leat__expression *e, const leat__term *term, const char *what, int64_t *out);

typedef struct leat__index { /* one piece between brackets */
    bool single, added;
    int64_t begin, end, step;
} leat__index;
/* term[index, ...], where index number `dots` stands behind "..."; -1 = there is none. */
int leat__term_index(leat__expression *e, const char *at, const leat__term *a, const leat__index *index,
                     int n, int dots, leat__term *out);

#define LEAT_CALL_ARGS 18
typedef struct leat__call { /* a function and its arguments */
    const char *at;
    int n;
    leat__term arg[LEAT_CALL_ARGS];
    const leat__term *keep, *seed, *like, *axis; /* by name; NULL = not given */
} leat__call;
/* Whether there is such a function; the names of all, for leat__nearest. */
bool leat__function_known(const char *name);
const char *leat__function_name(const void *unused, size_t i);
int leat__function_call(leat__expression *e, const char *name, const leat__call *call, leat__term *out);

/* expression_program.c: loops, once all nodes are there. */
int leat__program_compile(leat__expression *e);

#endif
