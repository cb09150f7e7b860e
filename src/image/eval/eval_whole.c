/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are made at once: reductions, the place of the largest value, rows by number; and random numbers. */
#include <stdio.h>

#include "base/error.h"
#include "base/maths.h"
#include "base/rng.h"
#include "image/eval/eval.h"

/* ------------------------------------------------------------------------------------------ reductions
 * The argument is walked through once, in blocks that lie along its last axes. The k-th value of a block goes to lane k modulo
 * the number of lanes, and at the end of the block lanes are added to their results in order: so a sum is the same for every
 * kernel. Floats are added as doubles, whole numbers wrap as i64. */

enum { LANES_MAX = 512, KEPT_SMALL = 64, CHUNK = LEAT_EVAL_TILE };

typedef struct reducing {
    const leat__eval_running *run;
    leat__eval_op op;
    bool whole;
    int dtype;
    size_t item;
    leat__eval_view view; /* merged axes         */
    int ndim;
    bool gone[LEAT_EVAL_AXES];
    union { /* of the results */
        double *f;
        int64_t *i;
    } sum;
    int64_t kept_stride[LEAT_EVAL_AXES]; /* in the result; 0 for axes that go */
    union {
        double f[LANES_MAX];
        int64_t i[LANES_MAX];
    } lane;
} reducing;

static double join_f64(leat__eval_op op, double a, double x) {
    if (op == LEAT_EVAL_LEAST) return x < a || x != x ? x : a;
    if (op == LEAT_EVAL_MOST) return x > a || x != x ? x : a;
    return a + x;
}

static int64_t join_i64(leat__eval_op op, int64_t a, int64_t x) {
    if (op == LEAT_EVAL_LEAST) return LEAT_MIN(a, x);
    if (op == LEAT_EVAL_MOST) return LEAT_MAX(a, x);
    return (int64_t)((uint64_t)a + (uint64_t)x);
}

static double begin_f64(leat__eval_op op) {
    return op == LEAT_EVAL_LEAST ? __builtin_inf() : op == LEAT_EVAL_MOST ? -__builtin_inf() : 0.0;
}
static int64_t begin_i64(leat__eval_op op) {
    return op == LEAT_EVAL_LEAST ? INT64_MAX : op == LEAT_EVAL_MOST ? INT64_MIN : 0;
}

/* Axes of size 1 go; neighbours that go or stay together and lie so become one. */
static void merge(reducing *r, const leat__eval_view *of, int ndim, uint64_t mask) {
    for (int k = 0; k < ndim; k++) {
        if (of->shape[k] == 1) continue;
        const bool gone = mask >> k & 1;
        const int n = r->ndim;
        if (n > 0 && r->gone[n - 1] == gone && r->view.stride[n - 1] == of->stride[k] * of->shape[k]) {
            r->view.shape[n - 1] *= of->shape[k];
            r->view.stride[n - 1] = of->stride[k];
        } else {
            r->view.shape[n] = of->shape[k];
            r->view.stride[n] = of->stride[k];
            r->gone[n] = gone;
            r->ndim++;
        }
    }
    int64_t stride = 1;
    for (int k = r->ndim - 1; k >= 0; k--) {
        r->kept_stride[k] = r->gone[k] ? 0 : stride;
        if (!r->gone[k]) stride *= r->view.shape[k];
    }
}

/* n values at `src` with this stride, in turns to so many lanes. */
static void add_to_lanes(reducing *r, const uint8_t *src, ptrdiff_t stride, size_t n, size_t lanes) {
    if (r->dtype == LEAT_DTYPE_F32 && stride == 1 && (uintptr_t)src % sizeof(float) == 0 &&
        (r->op == LEAT_EVAL_SUM || r->op == LEAT_EVAL_MEAN)) {
        r->run->call->kernels->sum(r->lane.f, lanes, (const float *)(const void *)src, n);
        return;
    }
    const size_t chunk = CHUNK / lanes * lanes;
    uint64_t packed[CHUNK];
    union {
        double f[CHUNK];
        int64_t i[CHUNK];
    } wide;
    for (size_t at = 0; at < n; at += chunk) {
        const size_t m = LEAT_MIN(chunk, n - at);
        const leat__eval_view part = {.data = src + (ptrdiff_t)at * stride * (ptrdiff_t)r->item,
                                      .shape = {(int64_t)m},
                                      .stride = {stride}};
        leat__eval_gather(packed, &part, 1, r->item, 0, m);
        r->run->call->kernels->cast(&wide, r->whole ? LEAT_DTYPE_I64 : LEAT_DTYPE_F64, packed, r->dtype, m);
        for (size_t k = 0, l = 0; k < m; k++, l = l + 1 == lanes ? 0 : l + 1) {
            if (r->whole) r->lane.i[l] = join_i64(r->op, r->lane.i[l], wide.i[k]);
            else r->lane.f[l] = join_f64(r->op, r->lane.f[l], wide.f[k]);
        }
    }
}

/* A block of n values: `kept` neighbours belong to different results. */
static void reduce_block(reducing *r, const uint8_t *src, ptrdiff_t stride, size_t n, size_t kept,
                         int64_t result) {
    size_t lanes = kept;
    while (lanes < 16 || lanes % 8) lanes += kept;
    for (size_t l = 0; l < lanes; l++) {
        if (r->whole) r->lane.i[l] = begin_i64(r->op);
        else r->lane.f[l] = begin_f64(r->op);
    }
    add_to_lanes(r, src, stride, n, lanes);
    for (size_t l = 0; l < lanes; l++) {
        const size_t to = (size_t)result + l % kept;
        if (r->whole) r->sum.i[to] = join_i64(r->op, r->sum.i[to], r->lane.i[l]);
        else r->sum.f[to] = join_f64(r->op, r->sum.f[to], r->lane.f[l]);
    }
}

/* A long row whose values belong to different results. */
static void reduce_row(reducing *r, const uint8_t *src, ptrdiff_t stride, size_t n, int64_t result) {
    for (size_t at = 0; at < n; at += KEPT_SMALL)
        reduce_block(r, src + (ptrdiff_t)at * stride * (ptrdiff_t)r->item, stride,
                     LEAT_MIN(n - at, (size_t)KEPT_SMALL), LEAT_MIN(n - at, (size_t)KEPT_SMALL),
                     result + (int64_t)at);
}

static void reduce_all(reducing *r) {
    const int n = r->ndim;
    /* The last axes that are one block: a row that goes; or few numbers that stay, such as channels, after one that goes. */
    const bool ends_gone = n > 0 && r->gone[n - 1];
    const bool channels = n > 1 && !ends_gone && r->gone[n - 2] && r->view.shape[n - 1] <= KEPT_SMALL &&
                          r->view.stride[n - 2] == r->view.stride[n - 1] * r->view.shape[n - 1];
    const int outer = n == 0 ? 0 : channels ? n - 2 : n - 1;
    size_t block = 1;
    for (int k = outer; k < n; k++) block *= (size_t)r->view.shape[k];
    const ptrdiff_t stride = n ? (ptrdiff_t)r->view.stride[n - 1] : 1;
    int64_t index[LEAT_EVAL_AXES] = {0};
    for (;;) {
        ptrdiff_t offset = 0;
        int64_t result = 0;
        for (int k = 0; k < outer; k++)
            offset += index[k] * r->view.stride[k], result += index[k] * r->kept_stride[k];
        const uint8_t *src = r->view.data + offset * (ptrdiff_t)r->item;
        if (channels) reduce_block(r, src, stride, block, (size_t)r->view.shape[n - 1], result);
        else if (ends_gone || n == 0) reduce_block(r, src, stride, block, 1, result);
        else reduce_row(r, src, stride, block, result);
        int k = outer - 1;
        for (; k >= 0; k--) {
            if (++index[k] < r->view.shape[k]) break;
            index[k] = 0;
        }
        if (k < 0) return;
    }
}

void leat__eval_reduce(const leat__eval_running *run, const leat__eval_node *node, void *dst) {
    const leat__eval_node *arg = &run->program->node[node->arg[0]];
    const leat__eval_view *of = &run->view[node->arg[0]];
    const size_t n = leat__eval_count(of->shape, arg->ndim);
    const bool whole = arg->dtype <= LEAT_DTYPE_I64 || arg->dtype == LEAT_DTYPE_BOOL;
    reducing r = {.run = run, .op = node->op, .whole = whole, .dtype = arg->dtype};
    r.item = leat_dtype_size(arg->dtype);
    r.view.data = of->data;
    merge(&r, of, arg->ndim, (uint64_t)node->begin[0]);
    size_t results = 1;
    for (int k = 0; k < arg->ndim; k++)
        if (!(node->begin[0] >> k & 1)) results *= (size_t)of->shape[k];
    r.sum.f = (double *)(void *)run->work;
    for (size_t k = 0; k < results; k++) {
        if (whole) r.sum.i[k] = begin_i64(node->op);
        else r.sum.f[k] = begin_f64(node->op);
    }
    if (n > 0) reduce_all(&r);
    const size_t each = results ? n / results : 0;
    for (size_t k = 0; node->op == LEAT_EVAL_MEAN && k < results; k++) {
        if (whole) r.sum.i[k] = each ? r.sum.i[k] / (int64_t)each : 0;
        else r.sum.f[k] /= (double)each;
    }
    run->call->kernels->cast(dst, node->dtype, run->work, whole ? LEAT_DTYPE_I64 : LEAT_DTYPE_F64, results);
}

/* ---------------------------------------------------------------------------------- places and rows */

/* The first of the largest or smallest values along an axis; NaN counts as both. */
void leat__eval_arg(const leat__eval_running *run, const leat__eval_node *node, void *dst) {
    const leat__eval_node *arg = &run->program->node[node->arg[0]];
    const int axis = (int)node->begin[0], ndim = arg->ndim;
    const size_t item = leat_dtype_size(arg->dtype);
    leat__eval_view along = run->view[node->arg[0]], row;
    const int64_t size = along.shape[axis], step = along.stride[axis];
    for (int k = axis; k + 1 < ndim; k++)
        along.shape[k] = along.shape[k + 1], along.stride[k] = along.stride[k + 1];
    const size_t n = leat__eval_count(along.shape, ndim - 1);
    int64_t *out = dst;
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        row = (leat__eval_view){.data = along.data, .shape = {size}, .stride = {step}};
        for (int k = ndim - 2; k >= 0; k--) {
            row.data += (ptrdiff_t)(rest % (size_t)along.shape[k]) * along.stride[k] * (ptrdiff_t)item;
            rest /= (size_t)along.shape[k];
        }
        double best = 0;
        out[i] = -1;
        for (size_t at = 0; at < (size_t)size; at += CHUNK) {
            uint64_t packed[CHUNK];
            double wide[CHUNK];
            const size_t m = LEAT_MIN((size_t)CHUNK, (size_t)size - at);
            leat__eval_gather(packed, &row, 1, item, at, m);
            run->call->kernels->cast(wide, LEAT_DTYPE_F64, packed, arg->dtype, m);
            for (size_t k = 0; k < m; k++) {
                const double x = node->op == LEAT_EVAL_ARGMIN ? -wide[k] : wide[k];
                if (out[i] >= 0 && !(x > best || (x != x && best == best))) continue;
                best = x;
                out[i] = (int64_t)(at + k);
            }
        }
    }
}

int leat__eval_rows(const leat__eval_running *run, const leat__eval_node *node, void *dst, leat_error *err) {
    const leat__eval_node *table = &run->program->node[node->arg[0]], *by = &run->program->node[node->arg[1]];
    const leat__eval_view *from = &run->view[node->arg[0]], *number = &run->view[node->arg[1]];
    const size_t row = leat__eval_count(from->shape + 1, table->ndim - 1) * leat_dtype_size(table->dtype);
    const size_t n = leat__eval_count(number->shape, by->ndim);
    for (size_t i = 0; i < n; i++) {
        uint64_t packed;
        int64_t at;
        leat__eval_gather(&packed, number, by->ndim, leat_dtype_size(by->dtype), i, 1);
        leat__eval_cast_any(&at, LEAT_DTYPE_I64, &packed, by->dtype, 1);
        if (at < 0 || at >= from->shape[0])
            return leat__fail(err, LEAT_ERR_LIMIT, "gather: number %" PRId64 " of %" PRId64 " rows", at,
                              from->shape[0]);
        memcpy((uint8_t *)dst + i * row, from->data + (size_t)at * row, row);
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- random
 * Four values come from one counter of the generator, which is the number of their group in the result. */

static void draw_group(uint32_t c[4], const leat__eval_running *run, const leat__eval_node *node,
                       uint32_t group) {
    const leat__eval_call *call = run->call;
    c[0] = (uint32_t)call->position;
    c[1] = (uint32_t)(call->position >> 32);
    c[2] = node->step[0] ? 0 : call->operation; /* its own seed takes the place of the operation */
    c[3] = group;
    leat__philox(c, leat__mix64(call->key ^ leat__mix64((uint64_t)node->begin[1])));
}

/* Two normal numbers from two whole ones. */
static void normal_pair(float out[2], uint32_t a, uint32_t b) {
    const double far = leat__sqrt(-2 * leat__log(((double)a + 0.5) * 0x1p-32));
    const double turn = (double)b * (6.283185307179586 * 0x1p-32);
    out[0] = (float)(far * leat__cos(turn));
    out[1] = (float)(far * leat__sin(turn));
}

static void turn_group(void *out, const leat__eval_node *node, const uint32_t c[4]) {
    float *f = out;
    int32_t *i = out;
    switch ((leat__eval_draw)node->begin[0]) {
    case LEAT_EVAL_UNIT:
        for (int k = 0; k < 4; k++) f[k] = (float)(c[k] >> 8) * 0x1p-24f;
        break;
    case LEAT_EVAL_NORMAL: normal_pair(f, c[0], c[1]), normal_pair(f + 2, c[2], c[3]); break;
    case LEAT_EVAL_WHOLE:
        for (int k = 0; k < 4; k++) i[k] = (int32_t)((uint64_t)c[k] * (uint64_t)node->begin[2] >> 32);
        break;
    }
}

void leat__eval_random(const leat__eval_running *run, const leat__eval_node *node, void *dst, size_t from,
                       size_t n) {
    uint32_t c[4], group[4];
    for (size_t at = from; at < from + n;) {
        const size_t first = at % 4, m = LEAT_MIN(4 - first, from + n - at);
        draw_group(c, run, node, (uint32_t)(at / 4));
        turn_group(group, node, c);
        memcpy((uint32_t *)dst + (at - from), group + first, m * sizeof *group);
        at += m;
    }
}
