/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/follow.h"

#include <stdio.h>

#include "base/maths.h"
#include "image/pass/convert.h"
#include "sample/run.h"

/* ---------------------------------------------------------------------------------------- geometry */

enum { CORNERS_MAX = 32 };
#define HORIZON 1e-6 /* what a perspective divides by; below, a place lies behind whoever looks */

typedef struct polygon { /* convex */
    int n;
    double x[CORNERS_MAX][2];
} polygon;

static void add_corner(polygon *p, double x, double y) {
    if (p->n == CORNERS_MAX) return;
    p->x[p->n][0] = x;
    p->x[p->n++][1] = y;
}

static bool bounds(const polygon *p, double out[4]) {
    if (p->n < 3) return false;
    out[0] = out[2] = p->x[0][0];
    out[1] = out[3] = p->x[0][1];
    for (int i = 1; i < p->n; i++)
        for (int axis = 0; axis < 2; axis++) {
            out[axis] = LEAT_MIN(out[axis], p->x[i][axis]);
            out[2 + axis] = LEAT_MAX(out[2 + axis], p->x[i][axis]);
        }
    return true;
}

static polygon rectangle(const double box[4]) {
    return (polygon){.n = 4, .x = {{box[0], box[1]}, {box[2], box[1]}, {box[2], box[3]}, {box[0], box[3]}}};
}

static double area(const polygon *p) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        sum += a[0] * b[1] - a[1] * b[0];
    }
    return (sum < 0 ? -sum : sum) / 2;
}

/* Keeps what lies above (sign 1) or below (-1) a bound on one axis. */
static void cut(polygon *p, int axis, double bound, int sign) {
    polygon out = {0};
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        const double da = sign * (a[axis] - bound), db = sign * (b[axis] - bound);
        if (da >= 0) add_corner(&out, a[0], a[1]);
        if ((da >= 0) == (db >= 0)) continue;
        const double other = a[1 - axis] + (b[1 - axis] - a[1 - axis]) * (da / (da - db));
        add_corner(&out, axis ? other : bound, axis ? bound : other);
    }
    *p = out;
}

static void cut_to(polygon *p, int height, int width) {
    cut(p, 0, 0, 1);
    cut(p, 0, width, -1);
    cut(p, 1, 0, 1);
    cut(p, 1, height, -1);
}

static double third(const double m[9], const double x[2]) {
    return m[6] * x[0] + m[7] * x[1] + m[8];
}

/* What lies in front of the horizon, moved. */
static void move_polygon(polygon *p, const double m[9]) {
    polygon out = {0};
    for (int i = 0; i < p->n; i++) {
        const double *a = p->x[i], *b = p->x[(i + 1) % p->n];
        const double wa = third(m, a), wb = third(m, b);
        const double share = (wa - HORIZON) / (wa - wb);
        const double between[2] = {a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share};
        const bool ahead = wa >= HORIZON, crosses = ahead != (wb >= HORIZON);
        for (int k = ahead ? 0 : 1; k < (crosses ? 2 : 1); k++) {
            const double *at = k ? between : a, w = k ? HORIZON : wa;
            add_corner(&out, (m[0] * at[0] + m[1] * at[1] + m[2]) / w,
                       (m[3] * at[0] + m[4] * at[1] + m[5]) / w);
        }
    }
    *p = out;
}

bool leat__follow_box(const leat__move *move, int n, const double box[4], double out[4], double *visible) {
    *visible = 0;
    if (!(box[2] > box[0] && box[3] > box[1] && box[2] - box[0] < 1e15 && box[3] - box[1] < 1e15))
        return false;
    polygon seen = rectangle(box);
    if (n > 0) cut_to(&seen, move[0].height_before, move[0].width_before);
    polygon whole = seen;
    for (int i = 0; i < n; i++) {
        if (move[i].lost) return false;
        move_polygon(&seen, move[i].m);
        move_polygon(&whole, move[i].m);
        if (!move[i].cuts && i + 1 < n) continue;
        cut_to(&seen, move[i].height, move[i].width);
        if (!bounds(&seen, out)) return false;
        /* Every cut may add four corners; a polygon of very many is as good as its bounds. */
        if (seen.n > CORNERS_MAX - 8) seen = rectangle(out);
    }
    if (!bounds(&seen, out) || !(out[2] > out[0] && out[3] > out[1])) return false;
    const double all = area(&whole);
    *visible = all > 0 ? LEAT_MIN(area(&seen) / all, 1.0) : 0;
    return true;
}

bool leat__follow_place(const leat__move *move, int n, const double place[2], double out[2]) {
    bool inside = true;
    out[0] = place[0];
    out[1] = place[1];
    for (int i = 0; i < n; i++) {
        const double *m = move[i].m, w = move[i].lost ? 0 : third(m, out);
        if (!(w >= HORIZON)) {
            out[0] = out[1] = -1;
            return false;
        }
        const double x = (m[0] * out[0] + m[1] * out[1] + m[2]) / w;
        out[1] = (m[3] * out[0] + m[4] * out[1] + m[5]) / w;
        out[0] = x;
        inside &= out[0] >= 0 && out[0] <= move[i].width && out[1] >= 0 && out[1] <= move[i].height;
    }
    return inside;
}

/* ------------------------------------------------------------------------------------------- trail */

void leat__trail_add(leat__tools *tools, const leat__step *step, const leat__move *move) {
    if (!step->trail) return;
    leat__trail *trail = &tools->trail[step->trail - 1];
    assert(trail->n < LEAT_MOVES_MAX); /* the plan has counted them */
    trail->move[trail->n++] = *move;
}

void leat__trail_crop(leat__tools *tools, const leat__step *step, int height, int width,
                      const leat__box *box) {
    leat__trail_add(tools, step,
                    &(leat__move){.m = {1, 0, -box->x, 0, 1, -box->y, 0, 0, 1},
                                  .height_before = height,
                                  .width_before = width,
                                  .height = box->height,
                                  .width = box->width,
                                  .cuts = true});
}

void leat__trail_border(leat__tools *tools, const leat__step *step, int height, int width,
                        const leat__border *border) {
    leat__trail_add(tools, step,
                    &(leat__move){.m = {1, 0, border->left, 0, 1, border->top, 0, 0, 1},
                                  .height_before = height,
                                  .width_before = width,
                                  .height = height + border->top + border->bottom,
                                  .width = width + border->left + border->right,
                                  .cuts = true});
}

void leat__trail_pass(leat__tools *tools, const leat__step *step, const leat__pass *pass,
                      const leat__turns *turns, int height_before, int width_before) {
    if (!step->trail) return;
    leat__move move = {.height_before = height_before,
                       .width_before = width_before,
                       .height = pass->height,
                       .width = pass->width};
    leat__matrix_unit(move.m);
    if (pass->warp) { /* it asks where the middle of a pixel comes from */
        move.cuts = true;
        move.lost = !leat__matrix_invert(move.m, pass->warp->m);
        leat__matrix_centre(move.m, 0.5, 0.5);
        leat__trail_add(tools, step, &move);
    } else if (pass->resample != LEAT_RESAMPLE_NONE) {
        move.m[0] = (double)pass->width / width_before;
        move.m[4] = (double)pass->height / height_before;
        leat__trail_add(tools, step, &move);
    }
    for (int i = 0; i < turns->n; i++) {
        const bool x = turns->turn[i].x, y = turns->turn[i].y;
        leat__trail_add(tools, step,
                        &(leat__move){.m = {x ? -1 : 1, 0, x ? pass->width : 0, 0, y ? -1 : 1,
                                            y ? pass->height : 0, 0, 0, 1},
                                      .height_before = pass->height,
                                      .width_before = pass->width,
                                      .height = pass->height,
                                      .width = pass->width});
    }
}

/* A move as numbers, for a cache. */
int leat__run_trail(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    leat__trail *trail = &tools->trail[step->as.kept.trail];
    leat__value *value = &tools->value[step->value];
    const int n = step->as.kept.n;
    const size_t bytes = (size_t)n * LEAT_MOVE_NUMBERS * sizeof(double);
    if (step->as.kept.resumes) {
        if (value->bytes != bytes)
            return leat__fail(err, LEAT_ERR_FORMAT, "a kept sample lacks how it moved");
        for (trail->n = 0; trail->n < n; trail->n++) {
            double x[LEAT_MOVE_NUMBERS];
            memcpy(x, value->data + (size_t)trail->n * sizeof x, sizeof x);
            leat__move *move = &trail->move[trail->n];
            memcpy(move->m, x, sizeof move->m);
            move->height_before = (int)x[9], move->width_before = (int)x[10];
            move->height = (int)x[11], move->width = (int)x[12];
            move->cuts = x[13] != 0, move->lost = x[14] != 0;
        }
        return 0;
    }
    assert(trail->n == n);
    uint8_t *out = leat__run_destination(tools, step, at, bytes, err);
    if (!out) return LEAT_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const leat__move *move = &trail->move[i];
        double x[LEAT_MOVE_NUMBERS] = {
            [9] = move->height_before, move->width_before, move->height, move->width, move->cuts, move->lost};
        memcpy(x, move->m, sizeof move->m);
        memcpy(out + (size_t)i * sizeof x, x, sizeof x);
    }
    *value = (leat__value){
        .data = out, .bytes = bytes, .dtype = LEAT_DTYPE_F64, .ndim = 1, .shape = {n * LEAT_MOVE_NUMBERS}};
    return 0;
}

/* --------------------------------------------------------------------------------------------- run */

/* Left, top, right, bottom in pixels. */
static void read_box(const double v[4], leat__follow_format format, double sx, double sy, double out[4]) {
    switch (format) {
    case LEAT_FOLLOW_XYWH: out[0] = v[0], out[1] = v[1], out[2] = v[0] + v[2], out[3] = v[1] + v[3]; break;
    case LEAT_FOLLOW_YXYX: out[0] = v[1], out[1] = v[0], out[2] = v[3], out[3] = v[2]; break;
    case LEAT_FOLLOW_CXCYWH:
        out[0] = v[0] - v[2] / 2, out[1] = v[1] - v[3] / 2;
        out[2] = v[0] + v[2] / 2, out[3] = v[1] + v[3] / 2;
        break;
    default: memcpy(out, v, 4 * sizeof *v);
    }
    out[0] *= sx, out[1] *= sy, out[2] *= sx, out[3] *= sy;
}

void leat__follow_read_box(const leat__follow_plan *plan, const leat__value *value, size_t i, int height,
                           int width, double out[4]) {
    double v[4];
    leat__convert(v, LEAT_DTYPE_F64, value->data + i * 4 * leat_dtype_size(value->dtype), value->dtype, 4,
                  false, 1, 0);
    read_box(v, plan->format, plan->normalized ? width : 1, plan->normalized ? height : 1, out);
}

static void write_box(const double b[4], leat__follow_format format, double sx, double sy, double v[4]) {
    const double x0 = b[0] / sx, y0 = b[1] / sy, x1 = b[2] / sx, y1 = b[3] / sy;
    switch (format) {
    case LEAT_FOLLOW_XYWH: v[0] = x0, v[1] = y0, v[2] = x1 - x0, v[3] = y1 - y0; break;
    case LEAT_FOLLOW_YXYX: v[0] = y0, v[1] = x0, v[2] = y1, v[3] = x1; break;
    case LEAT_FOLLOW_CXCYWH:
        v[0] = (x0 + x1) / 2, v[1] = (y0 + y1) / 2, v[2] = x1 - x0, v[3] = y1 - y0;
        break;
    default: v[0] = x0, v[1] = y0, v[2] = x1, v[3] = y1;
    }
}

typedef struct route { /* of one field of one sample */
    const leat__follow_plan *plan;
    const leat__move *move;
    int n;
    double sx, sy, tx, ty; /* what coordinates are multiplied by before, and divided by behind */
} route;

static bool take_box(const route *r, const double in[4], double out[4]) {
    double box[4], moved[4], visible;
    read_box(in, r->plan->format, r->sx, r->sy, box);
    const bool left = leat__follow_box(r->move, r->n, box, moved, &visible) &&
                      visible >= r->plan->min_visible &&
                      (moved[2] - moved[0]) * (moved[3] - moved[1]) >= r->plan->min_area;
    memset(out, 0, 4 * sizeof *out);
    if (left) write_box(moved, r->plan->format, r->tx, r->ty, out);
    return left;
}

static bool take_place(const route *r, const double in[3], double out[3]) {
    const bool swapped = r->plan->format == LEAT_FOLLOW_YX;
    const double half = r->plan->centred ? 0.5 : 0;
    const double place[2] = {in[swapped] * r->sx + half, in[!swapped] * r->sy + half};
    double moved[2];
    const bool left = leat__follow_place(r->move, r->n, place, moved);
    out[swapped] = (moved[0] - half) / r->tx;
    out[!swapped] = (moved[1] - half) / r->ty;
    out[2] = left ? in[2] : 0;
    if (!left && r->plan->zeroes) out[0] = out[1] = 0;
    return left;
}

static bool is_whole(int dtype) {
    return dtype != LEAT_DTYPE_F16 && dtype != LEAT_DTYPE_BF16 && dtype != LEAT_DTYPE_F32 &&
           dtype != LEAT_DTYPE_F64;
}

/* Moves all of them; kept[i] tells which are left. The number of those that are written. */
static size_t take_all(const route *r, const leat__value *value, size_t n, size_t each, uint8_t *out,
                       uint8_t *kept) {
    const size_t bytes = each * leat_dtype_size(value->dtype);
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        double in[4] = {0}, moved[4];
        leat__convert(in, LEAT_DTYPE_F64, value->data + i * bytes, value->dtype, each, false, 1, 0);
        kept[i] = leat__follow_is_box(r->plan->format) ? take_box(r, in, moved) : take_place(r, in, moved);
        if (!kept[i] && r->plan->removes) continue;
        for (size_t k = 0; k < each && is_whole(value->dtype); k++) moved[k] = leat__round_even(moved[k]);
        leat__convert(out + written++ * bytes, value->dtype, moved, LEAT_DTYPE_F64, each, false, 1, 0);
    }
    return written;
}

/* Values that belong to what a follow step has moved: those of what is left. The step before has noted which. */
static int take_labels(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__follow_plan *plan = step->as.follow.plan;
    const char *name = plan->label_name[step->as.follow.part - 1];
    leat__value *value = &tools->value[step->value];
    const size_t n = tools->followed, count = value->bytes / leat_dtype_size(value->dtype);
    const uint8_t *kept = tools->kept.data;
    if (n == 0 ? count > 0 : count % n != 0)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %zu values for the %zu of %s", name, count, n,
                          plan->name);
    const size_t bytes = n ? value->bytes / n : 0;
    uint8_t *out = leat__run_destination(tools, step, at, value->bytes, err);
    if (!out) return LEAT_ERR_MEMORY;
    size_t written = 0;
    for (size_t i = 0; i < n; i++)
        if (kept[i]) memcpy(out + written++ * bytes, value->data + i * bytes, bytes);
    value->data = out;
    value->bytes = written * bytes;
    if (n && value->ndim) value->shape[0] = value->shape[0] / (int64_t)n * (int64_t)written;
    return 0;
}

int leat__run_follow(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    if (step->as.follow.part) return take_labels(tools, step, at, err);
    const leat__follow_plan *plan = step->as.follow.plan;
    const leat__trail *trail = &tools->trail[plan->trail];
    leat__value *value = &tools->value[step->value];
    const size_t each = leat__follow_is_box(plan->format) ? 4 : plan->format == LEAT_FOLLOW_XYV ? 3 : 2;
    const size_t count = value->bytes / leat_dtype_size(value->dtype), n = count / each;
    if (count % each)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %zu values, which is no multiple of %zu", plan->name,
                          count, each);
    assert(plan->to <= trail->n);
    const leat__move *move = trail->move + plan->from, *last = trail->move + plan->to - 1;
    route r = {.plan = plan, .move = move, .n = plan->to - plan->from, .sx = 1, .sy = 1, .tx = 1, .ty = 1};
    if (plan->normalized) {
        r.sx = move->width_before, r.sy = move->height_before;
        r.tx = last->width, r.ty = last->height;
    }
    uint8_t *out = leat__run_destination(tools, step, at, value->bytes, err);
    if (!out) return LEAT_ERR_MEMORY;
    if (!leat__buf_reserve(&tools->kept, LEAT_MAX(n, (size_t)1)))
        return leat__fail_memory(err, n, plan->name);
    tools->followed = n;
    const size_t written = take_all(&r, value, n, each, out, tools->kept.data);
    value->data = out;
    value->bytes = written * each * leat_dtype_size(value->dtype);
    if (n && value->ndim) value->shape[0] = value->shape[0] / (int64_t)n * (int64_t)written;
    return 0;
}
