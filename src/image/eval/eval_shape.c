/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of nodes: the same rules while the plan is made, where sizes may be unknown, and for each sample. */
#include <stdio.h>

#include "base/error.h"
#include "image/eval/eval.h"

const char *leat__eval_shape_text(char *text, size_t cap, const int64_t *shape, int ndim) {
    size_t n = (size_t)snprintf(text, cap, "(");
    for (int k = 0; k < ndim && n < cap; k++) {
        const char *comma = k ? ", " : "";
        n += shape[k] < 0 ? (size_t)snprintf(text + n, cap - n, "%s?", comma)
                          : (size_t)snprintf(text + n, cap - n, "%s%" PRId64, comma, shape[k]);
    }
    if (n < cap) snprintf(text + n, cap - n, ndim == 1 ? ",)" : ")");
    return text;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return LEAT_CLAMP(x, low, high);
}

int64_t leat__eval_slice(const leat__eval_node *node, int axis, int64_t size, int64_t *begin) {
    const int64_t step = node->step[axis], low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t from = node->begin[axis], to = node->end[axis];
    if (from == LEAT_EVAL_OPEN) from = step > 0 ? low : high;
    else from = clamp(from < 0 ? from + size : from, low, high);
    if (to == LEAT_EVAL_OPEN) to = step > 0 ? high : low;
    else to = clamp(to < 0 ? to + size : to, low, high);
    *begin = from;
    const int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
    return span > 0 ? (span + by - 1) / by : 0;
}

static bool is_whole_axis(const leat__eval_node *node, int k) {
    return node->begin[k] == LEAT_EVAL_OPEN && node->end[k] == LEAT_EVAL_OPEN &&
           (node->step[k] == 1 || node->step[k] == -1);
}

static int slice_shape(const leat__eval_node *node, const int64_t *in, int in_ndim, int64_t *out, int *ndim,
                       leat_error *err) {
    *ndim = 0;
    for (int k = 0; k <= in_ndim; k++) {
        while (*ndim < LEAT_EVAL_AXES && node->added >> *ndim & 1) out[(*ndim)++] = 1;
        if (k == in_ndim) break;
        int64_t begin, size = in[k];
        if (node->dropped >> k & 1) {
            const int64_t at = node->begin[k];
            if (size >= 0 && (at >= size || at < -size))
                return leat__fail(err, LEAT_ERR_SHAPE, "element %" PRId64 " of axis %d, which has %" PRId64,
                                  at, k, size);
            continue;
        }
        if (!is_whole_axis(node, k)) size = size < 0 ? -1 : leat__eval_slice(node, k, size, &begin);
        if (*ndim == LEAT_EVAL_AXES) return leat__fail(err, LEAT_ERR_SHAPE, "there are too many axes");
        out[(*ndim)++] = size;
    }
    return 0;
}

static int fail_shapes(const int64_t *a, int na, const int64_t *b, int nb, leat_error *err) {
    char one[160], two[160];
    return leat__fail(err, LEAT_ERR_SHAPE,
                      "the shapes %s and %s do not fit together: sizes from the last axis on must be "
                      "equal, or one of them 1",
                      leat__eval_shape_text(one, sizeof one, a, na),
                      leat__eval_shape_text(two, sizeof two, b, nb));
}

/* What two shapes become together, as in NumPy. */
static int broadcast(int64_t *out, int *ndim, const int64_t *b, int nb, leat_error *err) {
    int64_t a[LEAT_EVAL_AXES];
    const int na = *ndim;
    memcpy(a, out, sizeof a);
    *ndim = LEAT_MAX(na, nb);
    for (int k = 1; k <= *ndim; k++) {
        const int64_t x = k <= na ? a[na - k] : 1, y = k <= nb ? b[nb - k] : 1;
        int64_t *to = &out[*ndim - k];
        if (x == y || y == 1) *to = x;
        else if (x == 1) *to = y;
        else if (x < 0 && y < 0) *to = -1;
        else if (x < 0 || y < 0) *to = x < 0 ? y : x;
        else return fail_shapes(a, na, b, nb, err);
    }
    return 0;
}

static int reshape_shape(const leat__eval_node *node, const int64_t *in, int in_ndim, int64_t *out,
                         leat_error *err) {
    int64_t have = 1, known = 1;
    int open = -1;
    bool sure = true;
    for (int k = 0; k < in_ndim; k++) {
        sure = sure && in[k] >= 0;
        if (sure && __builtin_mul_overflow(have, in[k], &have)) sure = false;
    }
    for (int k = 0; k < node->ndim; k++) {
        out[k] = node->begin[k];
        if (out[k] < 0) open = k;
        else if (__builtin_mul_overflow(known, out[k], &known))
            return leat__fail(err, LEAT_ERR_SHAPE, "the shape is too large");
    }
    if (!sure) return 0;
    if (open >= 0 ? known == 0 || have % known != 0 : have != known) {
        char text[160];
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "reshape: the shape %s has %" PRId64 " values, the new one %s%" PRId64,
                          leat__eval_shape_text(text, sizeof text, in, in_ndim), have,
                          open >= 0 ? "a multiple of " : "", known);
    }
    if (open >= 0) out[open] = have / known;
    return 0;
}

static int concat_shape(const leat__eval_node *node, const int64_t *const *shape, const int *ndim,
                        int64_t *out, leat_error *err) {
    const int axis = (int)node->begin[0];
    memcpy(out, shape[0], (size_t)ndim[0] * sizeof *out);
    for (int i = 1; i < node->n_args; i++) {
        if (ndim[i] != ndim[0]) return fail_shapes(shape[0], ndim[0], shape[i], ndim[i], err);
        for (int k = 0; k < ndim[0]; k++) {
            const int64_t x = shape[i][k];
            if (k == axis) out[k] = out[k] < 0 || x < 0 ? -1 : out[k] + x;
            else if (out[k] < 0) out[k] = x == out[k] || x < 0 ? out[k] : x;
            else if (x >= 0 && x != out[k]) return fail_shapes(shape[0], ndim[0], shape[i], ndim[i], err);
        }
    }
    return 0;
}

static void reduce_shape(const leat__eval_node *node, const int64_t *in, int in_ndim, int64_t *out,
                         int *ndim) {
    *ndim = 0;
    for (int k = 0; k < in_ndim; k++) {
        const bool gone = node->begin[0] >> k & 1;
        if (!gone) out[(*ndim)++] = in[k];
        else if (node->begin[1]) out[(*ndim)++] = 1;
    }
}

int leat__eval_shape(const leat__eval_node *node, const int64_t *const *shape, const int *ndim,
                     int64_t out[LEAT_EVAL_AXES], int *out_ndim, leat_error *err) {
    *out_ndim = 0;
    switch (node->op) {
    case LEAT_EVAL_INPUT:
    case LEAT_EVAL_CONST: return 0; /* they have their own */
    case LEAT_EVAL_SIZE: return 0;
    case LEAT_EVAL_SLICE: return slice_shape(node, shape[0], ndim[0], out, out_ndim, err);
    case LEAT_EVAL_TRANSPOSE:
        *out_ndim = ndim[0];
        for (int k = 0; k < ndim[0]; k++) out[k] = shape[0][node->begin[k]];
        return 0;
    case LEAT_EVAL_RESHAPE: *out_ndim = node->ndim; return reshape_shape(node, shape[0], ndim[0], out, err);
    case LEAT_EVAL_BROADCAST: {
        const int64_t *to = node->n_args > 1 ? shape[1] : node->begin;
        const int n = node->n_args > 1 ? ndim[1] : node->ndim;
        *out_ndim = n;
        memcpy(out, to, (size_t)n * sizeof *out);
        LEAT_TRY(broadcast(out, out_ndim, shape[0], ndim[0], err));
        for (int k = 0; *out_ndim == n && k < n; k++)
            if (out[k] != to[k] && out[k] >= 0 && to[k] >= 0) *out_ndim = -1;
        return *out_ndim == n ? 0 : fail_shapes(shape[0], ndim[0], to, n, err);
    }
    case LEAT_EVAL_SUM:
    case LEAT_EVAL_MEAN:
    case LEAT_EVAL_LEAST:
    case LEAT_EVAL_MOST: reduce_shape(node, shape[0], ndim[0], out, out_ndim); return 0;
    case LEAT_EVAL_ARGMAX:
    case LEAT_EVAL_ARGMIN:
        for (int k = 0; k < ndim[0]; k++)
            if (k != node->begin[0]) out[(*out_ndim)++] = shape[0][k];
        if (shape[0][node->begin[0]] == 0)
            return leat__fail(err, LEAT_ERR_SHAPE, "argmax: axis %d is empty", (int)node->begin[0]);
        return 0;
    case LEAT_EVAL_CONCAT: *out_ndim = ndim[0]; return concat_shape(node, shape, ndim, out, err);
    case LEAT_EVAL_GATHER:
        if (ndim[1] + ndim[0] - 1 > LEAT_EVAL_AXES)
            return leat__fail(err, LEAT_ERR_SHAPE, "gather: there are too many axes");
        for (int k = 0; k < ndim[1]; k++) out[(*out_ndim)++] = shape[1][k];
        for (int k = 1; k < ndim[0]; k++) out[(*out_ndim)++] = shape[0][k];
        return 0;
    default: break;
    }
    if (node->n_args == 0) { /* random numbers of a given shape */
        *out_ndim = node->ndim;
        memcpy(out, node->end, (size_t)node->ndim * sizeof *out);
    }
    for (int i = 0; i < node->n_args; i++) LEAT_TRY(broadcast(out, out_ndim, shape[i], ndim[i], err));
    return 0;
}
