/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the operation `eval`: arithmetic on the fields of a sample.
 *
 * A program is a list of nodes in the order in which they are computed. A node has a type and a shape, and its values come
 * from one of these:
 *
 *     a field, a constant        memory that is there
 *     a view                     another way to walk through the memory of another node: slice, transpose, reshape
 *     a whole                    a reduction, concat, gather: made at once, into memory of its own
 *     an elementwise operation   made in tiles of up to LEAT_EVAL_TILE values
 *
 * Elementwise nodes of one shape that feed one another are one loop. It goes over the result tile by tile; what lies between
 * its first and its last operation stays in registers, which are pieces of memory of one tile each. Operations on floats that
 * feed only one another are a chain, one call of a kernel. So a picture is read
 * once and written once, however long the expression is. Operands of other shapes are broadcast as in NumPy: single numbers
 * and vectors of the last axis are expanded once for all tiles, others are gathered for each tile.
 *
 * What only one side of a select needs has a guard, if the condition is a single value that is computed before: then the
 * other side is not computed for that sample, be it a node of its own or a step of a loop.
 *
 * Sizes may differ from sample to sample, so shapes are resolved anew for each one; types and numbers of axes never change.
 * Results do not depend on the size of tiles: operations on one value see nothing of its neighbours, sums have a fixed
 * order of their own, and a random number depends on the place of its value. */
#ifndef LEAT_IMAGE_EVAL_EVAL_H
#define LEAT_IMAGE_EVAL_EVAL_H

#include "base/mem.h"
#include "leat/leat.h"

#define LEAT_EVAL_AXES LEAT_NDIM_MAX
#define LEAT_EVAL_NODES 256
#define LEAT_EVAL_ARGS 16
#define LEAT_EVAL_INPUTS 32
#define LEAT_EVAL_LEAVES 48 /* of one loop */
#define LEAT_EVAL_LINKS 8   /* of one chain */
#define LEAT_EVAL_TILE 1024
/* Bytes. Half a page more than whole pages: the processor takes a load for one of what was just stored if their places in a page are
 * the same, so registers that follow one another begin far apart. */
#define LEAT_EVAL_REGISTER (LEAT_EVAL_TILE * sizeof(double) + 2048)
#define LEAT_EVAL_OPEN INT64_MIN /* a bound of a slice that is left out */

typedef enum leat__eval_op {
    LEAT_EVAL_INPUT, /* begin[0]: number of the input                                   */
    LEAT_EVAL_CONST,
    LEAT_EVAL_SIZE,      /* one i32: the size of axis begin[0]                              */
    LEAT_EVAL_SLICE,     /* begin, end, step of each axis; dropped and added axes           */
    LEAT_EVAL_TRANSPOSE, /* begin: the axis of the argument that each axis is               */
    LEAT_EVAL_RESHAPE,   /* begin: sizes, of which one may be -1                            */
    LEAT_EVAL_BROADCAST, /* begin: sizes; with two arguments the shape of the second one    */
    LEAT_EVAL_SUM,       /* begin[0]: bit k = axis k is reduced; begin[1]: it stays, with size 1 */
    LEAT_EVAL_MEAN,
    LEAT_EVAL_LEAST,
    LEAT_EVAL_MOST,
    LEAT_EVAL_ARGMAX, /* begin[0]: axis                                                  */
    LEAT_EVAL_ARGMIN,
    LEAT_EVAL_CONCAT, /* begin[0]: axis                                                  */
    LEAT_EVAL_GATHER, /* rows of the first argument by the numbers in the second         */
    /* Elementwise, without a kernel of the table: */
    LEAT_EVAL_RANDOM, /* begin[0]: leat__eval_draw, begin[1]: key, begin[2]: of whole numbers, how many; step[0]: the key is
                         a seed. With an argument it has that shape, else the one in end */
    LEAT_EVAL_COPY,
    LEAT_EVAL_CAST,
    LEAT_EVAL_SELECT,
    /* Elementwise, with kernels: */
    LEAT_EVAL_ADD,
    LEAT_EVAL_SUB,
    LEAT_EVAL_MUL,
    LEAT_EVAL_DIV,
    LEAT_EVAL_FLOORDIV,
    LEAT_EVAL_MOD,
    LEAT_EVAL_POW,
    LEAT_EVAL_MIN,
    LEAT_EVAL_MAX,
    LEAT_EVAL_AND,
    LEAT_EVAL_OR,
    LEAT_EVAL_XOR,
    LEAT_EVAL_EQ,
    LEAT_EVAL_NE,
    LEAT_EVAL_LT,
    LEAT_EVAL_LE,
    LEAT_EVAL_ABS,
    LEAT_EVAL_SIGN,
    LEAT_EVAL_FLOOR,
    LEAT_EVAL_ROUND,
    LEAT_EVAL_SQRT,
    LEAT_EVAL_EXP,
    LEAT_EVAL_LOG,
    LEAT_EVAL_SIN,
    LEAT_EVAL_COS,
    LEAT_EVAL_OPS
} leat__eval_op;

typedef enum leat__eval_draw { LEAT_EVAL_UNIT, LEAT_EVAL_NORMAL, LEAT_EVAL_WHOLE } leat__eval_draw;

static inline bool leat__eval_elementwise(leat__eval_op op) {
    return op >= LEAT_EVAL_RANDOM;
}
static inline bool leat__eval_is_view(leat__eval_op op) {
    return op >= LEAT_EVAL_SLICE && op <= LEAT_EVAL_BROADCAST;
}

/* ---------------------------------------------------------------------------------------------- kernels */

/* Types that kernels compute in; the plan casts other types to one of them and back. bool is u8. */
typedef enum leat__eval_type {
    LEAT_EVAL_F32,
    LEAT_EVAL_F64,
    LEAT_EVAL_U8,
    LEAT_EVAL_I32,
    LEAT_EVAL_I64,
    LEAT_EVAL_TYPES
} leat__eval_type;

static inline int leat__eval_type_of(int dtype) {
    switch (dtype) {
    case LEAT_DTYPE_F32: return LEAT_EVAL_F32;
    case LEAT_DTYPE_F64: return LEAT_EVAL_F64;
    case LEAT_DTYPE_U8:
    case LEAT_DTYPE_BOOL: return LEAT_EVAL_U8;
    case LEAT_DTYPE_I32: return LEAT_EVAL_I32;
    case LEAT_DTYPE_I64: return LEAT_EVAL_I64;
    default: return -1;
    }
}

/* What a kernel could not compute: the first of them ends the run. */
enum { LEAT_EVAL_FINE, LEAT_EVAL_BY_ZERO, LEAT_EVAL_NEGATIVE_POWER };

/* n values of dst, which overlaps no source. scalars: bit k = source k is a single value. */
#define LEAT_FN_EVAL(name) int name(void *dst, const void *const *src, size_t n, unsigned scalars)
typedef LEAT_FN_EVAL(leat__eval_fn);
/* Types are LEAT_DTYPE_*; whole numbers wrap, and a float that an i32 (or i64) cannot hold is its smallest value first. */
#define LEAT_FN_EVAL_CAST(name) void name(void *dst, int to, const void *src, int from, size_t n)
typedef LEAT_FN_EVAL_CAST(leat__eval_cast_fn);
/* Adds n values, the k-th to lane[k % lanes]; they begin with lane 0. */
#define LEAT_FN_EVAL_SUM(name) void name(double *lane, size_t lanes, const float *src, size_t n)
typedef LEAT_FN_EVAL_SUM(leat__eval_sum_fn);
/* Past the caches; the caller fences afterwards. */
#define LEAT_FN_EVAL_STREAM(name) void name(void *dst, const void *src, size_t bytes)
typedef LEAT_FN_EVAL_STREAM(leat__eval_stream_fn);

/* Operations on floats that feed one another and nothing else. Each is rounded by itself, as alone; only what lies between two of
 * them stays in registers of the processor. */
typedef struct leat__eval_link {
    uint8_t op;        /* one that leat__eval_links                            */
    bool turned;       /* what comes is the second operand, `with` the first    */
    bool single;       /* one value for all                                     */
    const float *with; /* (n), or (1)                                           */
} leat__eval_link;

static inline bool leat__eval_links(int op) {
    return (op >= LEAT_EVAL_ADD && op <= LEAT_EVAL_DIV) || op == LEAT_EVAL_MIN || op == LEAT_EVAL_MAX;
}

/* n values of dst, which overlaps no source, from those of src: f32 or u8. stream: past the caches, if dst lies on a cache line; the
 * caller fences afterwards. */
#define LEAT_FN_EVAL_CHAIN(name)                                                                         \
    void name(float *dst, const void *src, int from, size_t n, const leat__eval_link *link, int n_links, \
              bool stream)
typedef LEAT_FN_EVAL_CHAIN(leat__eval_chain_fn);

typedef struct leat__eval_kernels {
    leat__eval_fn *fn[LEAT_EVAL_OPS][LEAT_EVAL_TYPES]; /* NULL: there is none */
    leat__eval_cast_fn *cast;
    leat__eval_sum_fn *sum;
    leat__eval_stream_fn *stream;
    leat__eval_chain_fn *chain;
} leat__eval_kernels;

const leat__eval_kernels *leat__eval_kernels_c(void);
/* The best ones for these flags of base/cpu.h. */
const leat__eval_kernels *leat__eval_kernels_for(unsigned cpu_flags);
/* Any type to any other, by way of a wide one. */
LEAT_FN_EVAL_CAST(leat__eval_cast_any);

/* --------------------------------------------------------------------------------------------- programs */

typedef struct leat__eval_step { /* an instruction of a loop */
    uint8_t op;
    uint8_t from, to; /* LEAT_DTYPE_* of the arguments and of the result    */
    uint8_t n_src;
    uint8_t joined; /* so many steps from this one on are a chain; 0 = none */
    int16_t dst;    /* register; -1 = the result of the loop              */
    int16_t src[3]; /* register, or ~k for leaf k                         */
    int16_t node;
} leat__eval_step;

typedef struct leat__eval_loop {
    int n_leaves;
    const int16_t *leaf; /* (n_leaves) nodes that lie in memory  */
    int n_steps;
    const leat__eval_step *step;
    int n_regs;
    size_t tile; /* values at a time                     */
    /* Not NULL: the result for every value of the only leaf that is no constant, which is u8, at each place of the last axis,
     * of which there are `period`: entry value * period + place. */
    const void *table;
    size_t period;
    int table_leaf;
} leat__eval_loop;

typedef struct leat__eval_node {
    leat__eval_op op;
    int dtype, ndim;
    int64_t shape
        [LEAT_EVAL_AXES]; /* as far as the plan knows it; below 0: differs, equal numbers are equal sizes */
    int n_args;
    int16_t arg[LEAT_EVAL_ARGS];
    int64_t begin[LEAT_EVAL_AXES], end[LEAT_EVAL_AXES], step[LEAT_EVAL_AXES];
    uint32_t dropped;  /* of a slice: bit k = axis k of the argument is gone */
    uint32_t added;    /* bit k = axis k of the result is new                */
    const void *data;  /* of a constant                                      */
    size_t data_bytes; /* of it                                              */
    bool stored;       /* it has memory of its own                           */
    int output;        /* number of the result that it is; -1 = none         */
    int guard;         /* under which it is computed; 0 = always             */
    const leat__eval_loop *loop;
} leat__eval_node;

typedef struct leat__eval_guard {
    int node;   /* a bool that is a single value                             */
    bool holds; /* as what it must be found                                  */
    int within; /* the guard that must hold too, which comes before; 0 = none */
} leat__eval_guard;

typedef struct leat__eval_program {
    int n_inputs;
    int n_nodes;
    leat__eval_node *node;
    int n_outputs;
    int output[LEAT_EVAL_INPUTS];  /* their nodes                       */
    const leat__eval_guard *guard; /* the first stands for none         */
    size_t registers;              /* bytes that the largest loop needs */
    bool random;
} leat__eval_program;

typedef struct leat__eval_view { /* strides in values */
    const uint8_t *data;
    int64_t shape[LEAT_EVAL_AXES], stride[LEAT_EVAL_AXES];
} leat__eval_view;

typedef struct leat__eval_input {
    const void *data;
    int dtype, ndim;
    const int64_t *shape;
} leat__eval_input;

typedef struct leat__eval_call { /* one sample */
    const leat__eval_kernels *kernels;
    const leat__eval_input *input; /* (n_inputs)                                        */
    leat__buf *scratch;            /* registers and what lies between                   */
    size_t scratch_max;            /* bytes of it                                       */
    uint64_t key, position;        /* of its draws                                      */
    uint32_t operation;
    uint32_t stream; /* bit k: result k is not read again soon, and goes past the caches  */
    /* Memory for a result, aligned to its values; NULL without. */
    void *(*place)(void *user, int output, const leat__eval_node *node, const int64_t *shape, size_t bytes,
                   leat_error *err);
    void *user;
} leat__eval_call;

int leat__eval_run(const leat__eval_program *program, const leat__eval_call *call, leat_error *err);

/* ------------------------------------------------------------------------------- for the files of this folder */

/* The shape of a node from those of its arguments (shape[k], of ndim[k] axes). Sizes below 0 are not known: what follows
 * from one alone is the same number, other unknown sizes are -1. While a sample is run none is. */
int leat__eval_shape(const leat__eval_node *node, const int64_t *const *shape, const int *ndim,
                     int64_t out[LEAT_EVAL_AXES], int *out_ndim, leat_error *err);
/* "(32, 32, 3)"; below 0: "?". */
const char *leat__eval_shape_text(char *text, size_t cap, const int64_t *shape, int ndim);
/* Begin, step and number of values of a slice of an axis of this size, as Python counts. */
int64_t leat__eval_slice(const leat__eval_node *node, int axis, int64_t size, int64_t *begin);

typedef struct leat__eval_running {
    const leat__eval_program *program;
    const leat__eval_call *call;
    leat__eval_view *view; /* (n_nodes)      */
    uint8_t *registers;
    uint8_t *work; /* of a reduction: 8 bytes for each result */
} leat__eval_running;

/* The outer guard first: where it does not hold, the condition within has not been computed. */
static inline bool leat__eval_holds(const leat__eval_running *run, int guard) {
    if (guard == 0) return true;
    const leat__eval_guard *g = &run->program->guard[guard];
    return leat__eval_holds(run, g->within) && (*run->view[g->node].data != 0) == g->holds;
}

static inline size_t leat__eval_count(const int64_t *shape, int ndim) {
    size_t n = 1;
    for (int k = 0; k < ndim; k++) n *= (size_t)shape[k];
    return n;
}
/* The strides of values that lie one after the other. */
static inline void leat__eval_pack(leat__eval_view *view, int ndim) {
    int64_t stride = 1;
    for (int k = ndim - 1; k >= 0; k--) view->stride[k] = stride, stride *= view->shape[k];
}
/* A loop, into memory with these strides. */
int leat__eval_run_loop(const leat__eval_running *run, const leat__eval_node *node,
                        const leat__eval_view *into, leat_error *err);
/* Copies values of any strides, one after the other, beginning with number `from`. */
void leat__eval_gather(void *dst, const leat__eval_view *view, int ndim, size_t item, size_t from, size_t n);
void leat__eval_reduce(const leat__eval_running *run, const leat__eval_node *node, void *dst);
void leat__eval_arg(const leat__eval_running *run, const leat__eval_node *node, void *dst);
int leat__eval_rows(const leat__eval_running *run, const leat__eval_node *node, void *dst, leat_error *err);
void leat__eval_random(const leat__eval_running *run, const leat__eval_node *node, void *dst, size_t from,
                       size_t n);

#endif
