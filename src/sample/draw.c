/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/draw.h"

double leat__draw_between(leat__drawing *d, double low, double high) {
    return low + (high - low) * leat__rng_unit(&d->rng);
}

bool leat__draw_chance(leat__drawing *d, double p) {
    return leat__rng_unit(&d->rng) < p;
}

void leat__draw_note(leat__drawing *d, float number) {
    if (d->noted) *d->noted++ = number;
}

leat__drawing leat__drawing_at(const leat__draw_key *key, const leat__image_op *op, int height, int width,
                               int channels, int dtype) {
    return (leat__drawing){.rng = {.key = key->key ^ op->stir,
                                   .position = key->position,
                                   .op = op->draws,
                                   .draw = op->first_draw},
                           .height = height,
                           .width = width,
                           .channels = channels,
                           .dtype = dtype,
                           .params = op->quiet ? NULL : key->params,
                           .op = op,
                           .values = key->values,
                           .bucket = key->bucket};
}

int leat__draw_meet(const leat__draw_key *key, const leat__image_op *op, int height, int width,
                    leat_error *err) {
    if (!op->field || !key->met) return 0;
    leat__met *met = &key->met[op->meeting];
    if (met->field && met->field != op->field && (met->height != height || met->width != width))
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "%s: %s is %dx%d and %s is %dx%d (height x width): pictures that move together must have "
            "one size here, resize them before",
            op->name, met->field, met->height, met->width, op->field, height, width);
    *met = (leat__met){.field = op->field, .height = height, .width = width};
    return 0;
}

int leat__draw_crop(leat__box *box, const leat__crop_plan *plan, const leat__draw_key *key, int height,
                    int width, leat_error *err) {
    leat__drawing d = leat__drawing_at(key, &plan->op, height, width, 0, 0);
    LEAT_TRY(leat__draw_meet(key, &plan->op, height, width, err));
    return plan->draw(&plan->op, &d, box, err);
}

bool leat__draw_flip(const leat__flip *flip, const leat__draw_key *key, int height, int width) {
    leat__drawing d = leat__drawing_at(key, &flip->op, height, width, 0, 0);
    const bool turn = leat__draw_chance(&d, flip->probability);
    leat__params_add(&d, "flip", turn);
    return turn;
}

static void draw_flips(leat__pass *pass, leat__flips *flips, const leat__pass_plan *plan,
                       const leat__draw_key *key) {
    for (int i = 0; i < plan->n_flips; i++) {
        const leat__flip *flip = &plan->flip[i];
        const bool turn = leat__draw_flip(flip, key, pass->height, pass->width);
        flips->flip[flips->n].x = turn && flip->x;
        flips->flip[flips->n++].y = turn && flip->y;
        pass->flip_x ^= turn && flip->x;
        pass->flip_y ^= turn && flip->y;
    }
}

/* The same movement for the numbers of classes: nothing between two values, no points. */
static void become_mask(const leat__image_op *op, leat__warp *warp, leat__pass *pass) {
    warp->order = 0;
    for (int c = 0; c < 4; c++) warp->value[c] = op->mask_fill;
    pass->n_points = pass->n_tables = 0;
}

int leat__draw_size(const leat__pass_plan *plan, const leat__draw_key *key, int *height, int *width,
                    leat_error *err) {
    if (plan->resample == LEAT_RESAMPLE_NONE) return 0;
    leat__drawing d = leat__drawing_at(key, &plan->size.op, *height, *width, 0, 0);
    *height = plan->height, *width = plan->width;
    return plan->size.draw ? plan->size.draw(&plan->size.op, &d, height, width, err) : 0;
}

int leat__scale_for(const leat__box *part, int height, int width) {
    int scale = 8;
    while (scale > 1 && (part->height / scale < height || part->width / scale < width)) scale /= 2;
    return scale;
}

leat__box leat__box_scaled(const leat__box *part, int scale, int height, int width) {
    const int half = scale / 2;
    leat__box box = {.x = (part->x + half) / scale, .y = (part->y + half) / scale};
    box.width = LEAT_MIN((part->x + part->width + half) / scale, width) - box.x;
    box.height = LEAT_MIN((part->y + part->height + half) / scale, height) - box.y;
    return box;
}

int leat__draw_pass(leat__pass *pass, leat__warp *warp, leat__flips *flips, const leat__pass_plan *plan,
                    const leat__draw_key *key, const leat__rows *rows, int height, int width,
                    leat_error *err) {
    int dtype = rows->dtype;
    pass->resample = plan->resample;
    pass->warp = NULL;
    pass->flip_x = pass->flip_y = pass->stream = false;
    pass->n_points = pass->n_tables = 0;
    pass->dtype = plan->dtype;
    pass->nchw = plan->nchw;
    flips->n = 0;
    LEAT_TRY(leat__draw_size(plan, key, &height, &width, err));
    if (leat__resample_gives_f32(plan->resample)) dtype = LEAT_DTYPE_F32;
    if (plan->warp.draw) {
        leat__drawing d = leat__drawing_at(key, &plan->warp.op, height, width, rows->channels, dtype);
        *warp = (leat__warp){0};
        LEAT_TRY(leat__draw_meet(key, &plan->warp.op, height, width, err));
        LEAT_TRY(plan->warp.draw(&plan->warp.op, &d, warp, pass, err));
        if (plan->warp.op.mask) become_mask(&plan->warp.op, warp, pass);
        pass->warp = warp;
        flips->flip[flips->n].x = pass->flip_x;
        flips->flip[flips->n++].y = pass->flip_y;
        if (plan->warp.height) height = plan->warp.height;
        if (plan->warp.width) width = plan->warp.width;
        if (plan->warp.order > 0) dtype = LEAT_DTYPE_F32;
        if (plan->warp.dtype) dtype = plan->warp.dtype;
    }
    pass->height = height;
    pass->width = width;
    draw_flips(pass, flips, plan, key);
    for (int i = 0; i < plan->n_points; i++) {
        const leat__point_plan *point = &plan->point[i];
        leat__drawing d = leat__drawing_at(key, &point->op, height, width, rows->channels, dtype);
        LEAT_TRY(point->draw(&point->op, &d, pass, err));
        dtype = point->dtype;
    }
    return 0;
}
