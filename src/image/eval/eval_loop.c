/* SPDX-License-Identifier: Apache-2.0 */
/* A loop over tiles. Its leaves lie in memory; how each is read depends on its strides beside those of the result:
 *
 *     direct    the same: where it lies
 *     single    one value for all: kernels that can take one do, for others it fills a register once
 *     period    the same for each row of the last axes, such as a number for each channel: fills a register once, and the
 *               tile becomes a multiple of the row
 *     strided   anything else: gathered for each tile */
#include "base/error.h"
#include "image/eval/eval.h"

enum { TILE_STEP = 256 };

typedef enum leaf_mode { LEAF_DIRECT, LEAF_SINGLE, LEAF_PERIOD, LEAF_STRIDED } leaf_mode;

typedef struct operand {
    leaf_mode mode;
    leat__eval_view view; /* over the merged axes of the loop */
    size_t item;
    size_t period;
    uint8_t *room; /* its register */
    bool filled;
} operand;

/* Rows of n values between packed memory and memory with these strides: one row behind the other there. Pixels are short rows,
 * so the usual numbers of channels are loops of their own. */
#define COPY_ROWS(type, n_)                                                                    \
    for (size_t r = 0; r < rows; r++) {                                                        \
        for (size_t k = 0; k < (n_); k++)                                                      \
            if (give) memcpy(at + (ptrdiff_t)k * by, packed + k * sizeof(type), sizeof(type)); \
            else memcpy(packed + k * sizeof(type), at + (ptrdiff_t)k * by, sizeof(type));      \
        packed += (n_) * sizeof(type);                                                         \
        at += apart;                                                                           \
    }

#define COPY_ANY(type, name)                                                                                 \
    static inline __attribute__((always_inline)) void name(uint8_t *packed, uint8_t *at, ptrdiff_t apart,    \
                                                           ptrdiff_t by, size_t rows, size_t n, bool give) { \
        const ptrdiff_t item = (ptrdiff_t)sizeof(type);                                                      \
        if (by == item && n > 4) {                                                                           \
            for (size_t r = 0; r < rows; r++, packed += n * sizeof(type), at += apart) {                     \
                if (give) memcpy(at, packed, n * sizeof(type));                                              \
                else memcpy(packed, at, n * sizeof(type));                                                   \
            }                                                                                                \
        } else if (n == 3) {                                                                                 \
            COPY_ROWS(type, 3)                                                                               \
        } else if (n == 1) {                                                                                 \
            COPY_ROWS(type, 1)                                                                               \
        } else {                                                                                             \
            COPY_ROWS(type, n)                                                                               \
        }                                                                                                    \
    }

COPY_ANY(uint8_t, copy_1)
COPY_ANY(uint16_t, copy_2)
COPY_ANY(uint32_t, copy_4)
COPY_ANY(uint64_t, copy_8)

/* give: from packed memory; else into it. */
static void copy_rows(uint8_t *packed, uint8_t *at, ptrdiff_t apart, ptrdiff_t by, size_t rows, size_t n,
                      size_t item, bool give) {
    if (item == 1)
        give ? copy_1(packed, at, apart, by, rows, n, true) : copy_1(packed, at, apart, by, rows, n, false);
    else if (item == 2)
        give ? copy_2(packed, at, apart, by, rows, n, true) : copy_2(packed, at, apart, by, rows, n, false);
    else if (item == 4)
        give ? copy_4(packed, at, apart, by, rows, n, true) : copy_4(packed, at, apart, by, rows, n, false);
    else give ? copy_8(packed, at, apart, by, rows, n, true) : copy_8(packed, at, apart, by, rows, n, false);
}

/* Walks over n values from number `from` on, as many whole rows of the last axis at once as there are. */
static void walk(uint8_t *packed, const leat__eval_view *view, int ndim, size_t item, size_t from, size_t n,
                 bool give) {
    int64_t index[LEAT_EVAL_AXES + 1] = {0};
    const int last = ndim - 1, above = ndim - 2;
    size_t rest = from;
    if (ndim == 0) {
        copy_rows(packed, (uint8_t *)(uintptr_t)view->data, 0, (ptrdiff_t)item, 1, n, item, give);
        return;
    }
    for (int k = last; k >= 0; k--) {
        index[k] = (int64_t)(rest % (size_t)view->shape[k]);
        rest /= (size_t)view->shape[k];
    }
    const size_t row = (size_t)view->shape[last];
    while (n > 0) {
        ptrdiff_t offset = 0;
        for (int k = 0; k < ndim; k++) offset += index[k] * view->stride[k];
        uint8_t *at = (uint8_t *)(uintptr_t)view->data + offset * (ptrdiff_t)item;
        const ptrdiff_t by = view->stride[last] * (ptrdiff_t)item;
        size_t rows = 1, run = LEAT_MIN(n, row - (size_t)index[last]);
        if (above >= 0 && index[last] == 0 && n >= row)
            rows = LEAT_MIN(n / row, (size_t)(view->shape[above] - index[above]));
        copy_rows(packed, at, above < 0 ? 0 : view->stride[above] * (ptrdiff_t)item, by, rows, run, item,
                  give);
        packed += rows * run * item;
        n -= rows * run;
        index[last] = 0;
        if (above >= 0) index[above] += (int64_t)rows;
        for (int k = above; k > 0 && index[k] == view->shape[k]; k--) index[k] = 0, index[k - 1]++;
    }
}

void leat__eval_gather(void *dst, const leat__eval_view *view, int ndim, size_t item, size_t from, size_t n) {
    walk(dst, view, ndim, item, from, n, false);
}

/* ---------------------------------------------------------------------------------------------- leaves */

typedef struct looping {
    const leat__eval_running *run;
    const leat__eval_loop *loop;
    leat__eval_view into;
    int ndim; /* of merged axes */
    size_t item, total, tile;
    int guard;   /* holds for all steps          */
    bool packed; /* the result lies in one piece */
    bool stream; /* and goes past the caches     */
    bool table;  /* the table of the loop holds  */
    int n_leaves;
    operand *leaf;
} looping;

/* The view of a leaf over all axes of the loop: broadcast axes have the stride 0. */
static void stretch(leat__eval_view *out, const leat__eval_view *in, int in_ndim, const leat__eval_view *into,
                    int ndim) {
    out->data = in->data;
    for (int k = 1; k <= ndim; k++) {
        const int at = ndim - k;
        out->shape[at] = into->shape[at];
        out->stride[at] = k <= in_ndim && in->shape[in_ndim - k] != 1 ? in->stride[in_ndim - k] : 0;
    }
}

static bool fits_behind(const leat__eval_view *v, int outer, int inner) {
    return v->stride[outer] == v->stride[inner] * v->shape[inner];
}

static void move_axis(leat__eval_view *v, int to, int from) {
    v->shape[to] = v->shape[from];
    v->stride[to] = v->stride[from];
}

/* Neighbouring axes become one wherever all leaves and the result walk through them as through one; axes of size 1 go. */
static void merge_axes(looping *l) {
    int n = 0;
    for (int k = 0; k < l->ndim; k++) {
        if (l->into.shape[k] == 1) continue;
        bool fits = n > 0 && fits_behind(&l->into, n - 1, k);
        for (int i = 0; fits && i < l->n_leaves; i++) fits = fits_behind(&l->leaf[i].view, n - 1, k);
        const int to = fits ? n - 1 : n;
        const int64_t size = fits ? l->into.shape[n - 1] * l->into.shape[k] : l->into.shape[k];
        move_axis(&l->into, to, k);
        l->into.shape[to] = size;
        for (int i = 0; i < l->n_leaves; i++) {
            move_axis(&l->leaf[i].view, to, k);
            l->leaf[i].view.shape[to] = size;
        }
        n = to + 1;
    }
    l->ndim = n;
}

/* Whether the axes from `first` on lie in one piece, and those before repeat it. */
static bool repeats(const leat__eval_view *v, int ndim, int first) {
    int64_t stride = 1;
    for (int k = ndim - 1; k >= first; k--) {
        if (v->stride[k] != stride) return false;
        stride *= v->shape[k];
    }
    for (int k = 0; k < first; k++)
        if (v->stride[k] != 0) return false;
    return true;
}

static size_t common(size_t a, size_t b) {
    size_t x = a, y = b;
    while (y) {
        const size_t r = x % y;
        x = y, y = r;
    }
    return a / x * b;
}

static void choose_mode(looping *l, operand *leaf, size_t *period) {
    const leat__eval_view *v = &leaf->view;
    leaf->mode = LEAF_STRIDED;
    leaf->filled = false;
    for (int first = 0; first <= l->ndim; first++) {
        if (!repeats(v, l->ndim, first)) continue;
        leaf->period = leat__eval_count(v->shape + first, l->ndim - first);
        if (first == 0) leaf->mode = LEAF_DIRECT;
        else if (leaf->period == 1) leaf->mode = LEAF_SINGLE;
        else if (common(*period, leaf->period) <= l->tile) {
            *period = common(*period, leaf->period);
            leaf->mode = LEAF_PERIOD;
        }
        break;
    }
    /* A value that lies at an odd address, such as in a record, is copied. */
    if (leaf->mode != LEAF_PERIOD && (uintptr_t)v->data % leaf->item)
        leaf->mode = leaf->mode == LEAF_SINGLE ? LEAF_PERIOD : LEAF_STRIDED;
}

static bool has_table(const looping *l) {
    return l->loop->table && l->leaf[l->loop->table_leaf].mode == LEAF_DIRECT &&
           l->tile % l->loop->period == 0;
}

static void begin_loop(looping *l, const leat__eval_node *node) {
    const leat__eval_running *run = l->run;
    const int ndim = node->ndim;
    l->guard = node->guard;
    uint8_t *registers = run->registers + (size_t)(l->loop->n_regs + 1) * LEAT_EVAL_REGISTER;
    for (int i = 0; i < l->n_leaves; i++) {
        const leat__eval_node *from = &run->program->node[l->loop->leaf[i]];
        l->leaf[i].item = leat_dtype_size(from->dtype);
        l->leaf[i].room = registers + (size_t)i * LEAT_EVAL_REGISTER;
        stretch(&l->leaf[i].view, &run->view[l->loop->leaf[i]], from->ndim, &l->into, ndim);
    }
    l->ndim = ndim;
    merge_axes(l);
    l->packed = repeats(&l->into, l->ndim, 0);
    l->stream = l->packed && node->output >= 0 && run->call->stream >> node->output & 1;
    l->tile = l->loop->tile;
    size_t period = 1;
    for (int i = 0; i < l->n_leaves; i++) choose_mode(l, &l->leaf[i], &period);
    /* Steps of a quarter of a page: a tile that begins at ever other places of a page would soon be read where the processor takes
     * a store to a register for one to the same place. */
    const size_t even = common(period, TILE_STEP);
    l->tile = even <= l->tile ? l->tile / even * even : l->tile / period * period;
    if (l->loop->table) l->tile = l->tile / l->loop->period * l->loop->period;
    l->table = has_table(l);
}

/* One row after the other, up to the end of a tile. */
static void fill_period(const looping *l, operand *leaf) {
    const size_t n = LEAT_MIN(l->tile, l->total) * leaf->item;
    size_t have = LEAT_MIN(leaf->period * leaf->item, n);
    if (!have) return;
    memcpy(leaf->room, leaf->view.data, have);
    while (have < n) {
        const size_t more = LEAT_MIN(have, n - have);
        memcpy(leaf->room + have, leaf->room, more);
        have += more;
    }
    leaf->filled = true;
}

/* Where the values of a leaf for this tile lie. */
static const void *leaf_at(const looping *l, operand *leaf, size_t from, size_t n, bool takes_single,
                           bool *single) {
    *single = false;
    switch (leaf->mode) {
    case LEAF_DIRECT: return leaf->view.data + from * leaf->item;
    case LEAF_SINGLE:
        *single = takes_single;
        if (takes_single) return leaf->view.data;
        if (!leaf->filled) fill_period(l, leaf);
        return leaf->room;
    case LEAF_PERIOD:
        if (!leaf->filled) fill_period(l, leaf);
        return leaf->room;
    case LEAF_STRIDED:
        if (!leaf->filled) leat__eval_gather(leaf->room, &leaf->view, l->ndim, leaf->item, from, n);
        leaf->filled = true; /* for the other steps of this tile */
        return leaf->room;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------- one tile */

#define SELECT(type)                                                 \
    do {                                                             \
        type *restrict d = dst;                                      \
        const type *yes = src[1], *no = src[2];                      \
        for (size_t k = 0; k < n; k++) d[k] = c[k] ? yes[k] : no[k]; \
    } while (0)

static void run_select(void *dst, const void *const *src, size_t item, size_t n) {
    const uint8_t *c = src[0];
    switch (item) {
    case 1: SELECT(uint8_t); break;
    case 2: SELECT(uint16_t); break;
    case 4: SELECT(uint32_t); break;
    default: SELECT(uint64_t); break;
    }
}

/* Where source k of a step lies. */
static const void *source_at(const looping *l, const leat__eval_step *step, int k, size_t from, size_t n,
                             bool takes_single, bool *single) {
    *single = false;
    const int16_t src = step->src[k];
    return src >= 0 ? l->run->registers + (size_t)src * LEAT_EVAL_REGISTER
                    : leaf_at(l, &l->leaf[~src], from, n, takes_single, single);
}

/* Whether one value decides for the whole loop. The side that is not taken may not have been computed. */
static bool is_decided(const looping *l, const leat__eval_step *step) {
    return step->op == LEAT_EVAL_SELECT && step->src[0] < 0 && l->leaf[~step->src[0]].mode == LEAF_SINGLE;
}

static int run_step(const looping *l, const leat__eval_step *step, uint8_t *dst, size_t from, size_t n) {
    const leat__eval_kernels *kernels = l->run->call->kernels;
    if (is_decided(l, step)) {
        bool single;
        const int side = *l->leaf[~step->src[0]].view.data ? 1 : 2;
        memcpy(dst, source_at(l, step, side, from, n, false, &single), n * leat_dtype_size(step->to));
        return LEAT_EVAL_FINE;
    }
    const bool takes_single = step->op >= LEAT_EVAL_ADD && step->op <= LEAT_EVAL_LE;
    const void *src[3] = {0};
    unsigned scalars = 0;
    for (int i = 0; i < step->n_src; i++) {
        bool single;
        src[i] = source_at(l, step, i, from, n, takes_single, &single);
        scalars |= (unsigned)single << i;
    }
    switch (step->op) {
    case LEAT_EVAL_RANDOM:
        leat__eval_random(l->run, &l->run->program->node[step->node], dst, from, n);
        return 0;
    case LEAT_EVAL_COPY: memcpy(dst, src[0], n * leat_dtype_size(step->to)); return 0;
    case LEAT_EVAL_CAST: kernels->cast(dst, step->to, src[0], step->from, n); return 0;
    case LEAT_EVAL_SELECT: run_select(dst, src, leat_dtype_size(step->to), n); return 0;
    default: return kernels->fn[step->op][leat__eval_type_of(step->from)](dst, src, n, scalars);
    }
}

/* Steps that are one chain, into dst. */
static void run_joined(const looping *l, const leat__eval_step *step, uint8_t *dst, size_t from, size_t n,
                       bool stream) {
    const leat__eval_step *const end = step + step->joined;
    leat__eval_link link[LEAT_EVAL_LINKS];
    int n_links = 0;
    bool single = step->src[0] < 0 && l->leaf[~step->src[0]].mode == LEAF_SINGLE;
    /* What comes to a step is its source number `comes`: to the first one, that which differs from value to value. */
    int comes = step->op != LEAT_EVAL_CAST && single;
    const int type = step->from;
    const void *src = source_at(l, step, comes, from, n, false, &single);
    if (step->op == LEAT_EVAL_CAST) step++, comes = step->src[0] != step[-1].dst;
    for (; step < end; step++) {
        if (n_links > 0) comes = step->src[0] != step[-1].dst;
        leat__eval_link *to = &link[n_links++];
        to->op = step->op;
        to->turned = comes;
        to->with = source_at(l, step, !comes, from, n, true, &to->single);
    }
    l->run->call->kernels->chain((float *)(void *)dst, src, type, n, link, n_links, stream);
}

/* The result is read from the table of the loop, if the leaf lies as it was planned. */
#define LOOK_UP(type)                                                              \
    do {                                                                           \
        const type *table = l->loop->table;                                        \
        type *restrict d = (type *)(void *)result;                                 \
        if (period == 1) {                                                         \
            for (size_t k = 0; k < n; k++) d[k] = table[value[k]];                 \
        } else if (period == 3) {                                                  \
            for (size_t k = 0; k + 3 <= n; k += 3) {                               \
                d[k] = table[value[k] * 3u];                                       \
                d[k + 1] = table[value[k + 1] * 3u + 1];                           \
                d[k + 2] = table[value[k + 2] * 3u + 2];                           \
            }                                                                      \
        } else {                                                                   \
            for (size_t k = 0, c = 0; k < n; k++, c = c + 1 == period ? 0 : c + 1) \
                d[k] = table[value[k] * period + c];                               \
        }                                                                          \
    } while (0)

static void look_up(const looping *l, uint8_t *result, size_t from, size_t n) {
    const uint8_t *value = l->leaf[l->loop->table_leaf].view.data + from;
    const size_t period = l->loop->period;
    switch (l->item) {
    case 1: LOOK_UP(uint8_t); break;
    case 2: LOOK_UP(uint16_t); break;
    case 4: LOOK_UP(uint32_t); break;
    default: LOOK_UP(uint64_t); break;
    }
}

static int fail_kernel(int why, leat_error *err) {
    return leat__fail(err, LEAT_ERR_ARGUMENT, "%s",
                      why == LEAT_EVAL_BY_ZERO ? "a whole number is divided by zero"
                                               : "a whole number is raised to a power below 0");
}

/* The steps of a tile, the last of them into `result`. *streamed: it went to `past` instead, past the caches. */
static int run_steps(const looping *l, uint8_t *result, uint8_t *past, size_t from, size_t n,
                     bool *streamed) {
    const leat__eval_step *step = l->loop->step, *const end = step + l->loop->n_steps;
    while (step < end) {
        const leat__eval_step *last = step + (step->joined ? step->joined - 1 : 0);
        uint8_t *dst = last->dst < 0 ? result : l->run->registers + (size_t)last->dst * LEAT_EVAL_REGISTER;
        const int guard = l->run->program->node[step->node].guard;
        if (guard != l->guard && !leat__eval_holds(l->run, guard)) {
            /* On the side of a select that is not taken. */
        } else if (step->joined) {
            *streamed = last->dst < 0 && l->stream && (uintptr_t)past % LEAT_CACHE_LINE == 0;
            run_joined(l, step, *streamed ? past : dst, from, n, *streamed);
        } else {
            const int why = run_step(l, step, dst, from, n);
            if (LEAT_UNLIKELY(why)) return why;
        }
        step = last + 1;
    }
    return LEAT_EVAL_FINE;
}

static int run_tile(const looping *l, size_t from, size_t n, leat_error *err) {
    uint8_t *const packed = (uint8_t *)(uintptr_t)l->into.data + from * l->item;
    uint8_t *result =
        l->packed && !l->stream ? packed : l->run->registers + (size_t)l->loop->n_regs * LEAT_EVAL_REGISTER;
    bool streamed = false;
    for (int i = 0; i < l->n_leaves; i++)
        if (l->leaf[i].mode == LEAF_STRIDED) l->leaf[i].filled = false;
    if (l->table) {
        look_up(l, result, from, n);
    } else {
        const int why = run_steps(l, result, packed, from, n, &streamed);
        if (LEAT_UNLIKELY(why)) return fail_kernel(why, err);
    }
    if (l->stream && !streamed) l->run->call->kernels->stream(packed, result, n * l->item);
    else if (!l->packed) walk(result, &l->into, l->ndim, l->item, from, n, true);
    return 0;
}

int leat__eval_run_loop(const leat__eval_running *run, const leat__eval_node *node,
                        const leat__eval_view *into, leat_error *err) {
    operand leaves[LEAT_EVAL_LEAVES];
    looping l = {.run = run,
                 .loop = node->loop,
                 .into = *into,
                 .item = leat_dtype_size(node->dtype),
                 .n_leaves = node->loop->n_leaves,
                 .leaf = leaves};
    l.total = leat__eval_count(into->shape, node->ndim);
    if (l.total == 0) return 0;
    begin_loop(&l, node);
    for (size_t from = 0; from < l.total; from += l.tile)
        LEAT_TRY(run_tile(&l, from, LEAT_MIN(l.tile, l.total - from), err));
    return 0;
}
