/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/coordinates.h"

#include <stdio.h>

#include "base/maths.h"
#include "image/pass/convert.h"
#include "sample/run.h"

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
                      const leat__flips *flips, int height_before, int width_before) {
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
    for (int i = 0; i < flips->n; i++) {
        const bool x = flips->flip[i].x, y = flips->flip[i].y;
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
static void read_box(const double v[4], leat__coords_format format, double sx, double sy, double out[4]) {
    switch (format) {
    case LEAT_COORDS_XYWH: out[0] = v[0], out[1] = v[1], out[2] = v[0] + v[2], out[3] = v[1] + v[3]; break;
    case LEAT_COORDS_YXYX: out[0] = v[1], out[1] = v[0], out[2] = v[3], out[3] = v[2]; break;
    case LEAT_COORDS_CXCYWH:
        out[0] = v[0] - v[2] / 2, out[1] = v[1] - v[3] / 2;
        out[2] = v[0] + v[2] / 2, out[3] = v[1] + v[3] / 2;
        break;
    default: memcpy(out, v, 4 * sizeof *v);
    }
    out[0] *= sx, out[1] *= sy, out[2] *= sx, out[3] *= sy;
}

void leat__coords_read_box(const leat__coords_plan *plan, const leat__value *value, size_t i, int height,
                           int width, double out[4]) {
    double v[4];
    leat__convert(v, LEAT_DTYPE_F64, value->data + i * 4 * leat_dtype_size(value->dtype), value->dtype, 4,
                  false, 1, 0);
    read_box(v, plan->format, plan->normalized ? width : 1, plan->normalized ? height : 1, out);
}

static void write_box(const double b[4], leat__coords_format format, double sx, double sy, double v[4]) {
    const double x0 = b[0] / sx, y0 = b[1] / sy, x1 = b[2] / sx, y1 = b[3] / sy;
    switch (format) {
    case LEAT_COORDS_XYWH: v[0] = x0, v[1] = y0, v[2] = x1 - x0, v[3] = y1 - y0; break;
    case LEAT_COORDS_YXYX: v[0] = y0, v[1] = x0, v[2] = y1, v[3] = x1; break;
    case LEAT_COORDS_CXCYWH:
        v[0] = (x0 + x1) / 2, v[1] = (y0 + y1) / 2, v[2] = x1 - x0, v[3] = y1 - y0;
        break;
    default: v[0] = x0, v[1] = y0, v[2] = x1, v[3] = y1;
    }
}

typedef struct route { /* of one field of one sample */
    const leat__coords_plan *plan;
    const leat__move *move;
    int n;
    double sx, sy, tx, ty; /* what coordinates are multiplied by before, and divided by behind */
} route;

static bool take_box(const route *r, const double in[4], double out[4]) {
    double box[4], moved[4], visible;
    read_box(in, r->plan->format, r->sx, r->sy, box);
    const bool left = leat__move_box(r->move, r->n, box, moved, &visible) &&
                      visible >= r->plan->min_visible &&
                      (moved[2] - moved[0]) * (moved[3] - moved[1]) >= r->plan->min_area;
    memset(out, 0, 4 * sizeof *out);
    if (left) write_box(moved, r->plan->format, r->tx, r->ty, out);
    return left;
}

static bool take_place(const route *r, const double in[3], double out[3]) {
    const bool swapped = r->plan->format == LEAT_COORDS_YX;
    const double half = r->plan->centred ? 0.5 : 0;
    const double place[2] = {in[swapped] * r->sx + half, in[!swapped] * r->sy + half};
    double moved[2];
    const bool left = leat__move_place(r->move, r->n, place, moved);
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
        kept[i] = leat__coords_is_box(r->plan->format) ? take_box(r, in, moved) : take_place(r, in, moved);
        if (!kept[i] && r->plan->removes) continue;
        for (size_t k = 0; k < each && is_whole(value->dtype); k++) moved[k] = leat__round_even(moved[k]);
        leat__convert(out + written++ * bytes, value->dtype, moved, LEAT_DTYPE_F64, each, false, 1, 0);
    }
    return written;
}

/* Values that belong to what a coordinates step has moved: those of what is left. The step before has noted which. */
static int take_labels(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__coords_plan *plan = step->as.coords.plan;
    const char *name = plan->label_name[step->as.coords.part - 1];
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

int leat__run_coordinates(leat__tools *tools, const leat__step *step, const leat__where *at,
                          leat_error *err) {
    if (step->as.coords.part) return take_labels(tools, step, at, err);
    const leat__coords_plan *plan = step->as.coords.plan;
    const leat__trail *trail = &tools->trail[plan->trail];
    leat__value *value = &tools->value[step->value];
    const size_t each = leat__coords_is_box(plan->format) ? 4 : plan->format == LEAT_COORDS_XYV ? 3 : 2;
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
