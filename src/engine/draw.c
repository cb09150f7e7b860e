/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/draw.h"

#include "base/maths.h"
#include "base/rng.h"

/* tf.image.adjust_brightness on u8: to [0, 1], add, back by 255.5 with truncation and saturation. As a table, so that
 * any number of u8 operations costs one look-up a value. */
static void compose_brightness(leat__pass *pass, float delta) {
    if (!pass->has_lut)
        for (int i = 0; i < 256; i++) pass->lut[i] = (uint8_t)i;
    pass->has_lut = true;
    for (int i = 0; i < 256; i++) {
        float x = (float)pass->lut[i] * (1.0f / 255.0f);
        x = x + delta;
        x = x * 255.5f;
        pass->lut[i] = (uint8_t)LEAT_CLAMP(x, 0.0f, 255.0f);
    }
}

static leat__box centred(int height, int width, int box_height, int box_width) {
    return (leat__box){.x = (width - box_width) / 2,
                       .y = (height - box_height) / 2,
                       .width = box_width,
                       .height = box_height};
}

static double draw_between(leat__rng *rng, const double range[2]) {
    return range[0] + (range[1] - range[0]) * leat__rng_unit(rng);
}

/* torchvision's RandomResizedCrop: ten tries, then the largest centred part within the ratios. */
static leat__box draw_resized(const leat__crop_plan *plan, leat__rng *rng, int height, int width) {
    enum { TRIES = 10 };
    const double area = (double)height * (double)width;
    const double log_ratio[2] = {leat__log(plan->ratio[0]), leat__log(plan->ratio[1])};
    for (int i = 0; i < TRIES; i++) {
        const double target = area * draw_between(rng, plan->scale);
        const double ratio = leat__exp(draw_between(rng, log_ratio));
        const double w = leat__round_even(leat__sqrt(target * ratio)),
                     h = leat__round_even(leat__sqrt(target / ratio));
        if (!(w > 0 && w <= width && h > 0 && h <= height)) continue;
        leat__box box = {.width = (int)w, .height = (int)h};
        box.y = (int)leat__rng_below(rng, (uint64_t)(height - box.height + 1));
        box.x = (int)leat__rng_below(rng, (uint64_t)(width - box.width + 1));
        return box;
    }
    const double whole = (double)width / (double)height;
    if (whole < plan->ratio[0])
        return centred(height, width, LEAT_CLAMP((int)leat__round_even(width / plan->ratio[0]), 1, height),
                       width);
    if (whole > plan->ratio[1])
        return centred(height, width, height,
                       LEAT_CLAMP((int)leat__round_even(height * plan->ratio[1]), 1, width));
    return centred(height, width, height, width);
}

int leat__draw_crop(leat__box *box, const leat__crop_plan *plan, uint64_t seed, uint64_t epoch,
                    uint64_t position, int height, int width, leat_error *err) {
    leat__rng rng = leat__rng_at(seed, epoch, position, plan->op);
    const bool sized = plan->kind == LEAT_CROP_CENTRE || plan->kind == LEAT_CROP_RANDOM;
    if (sized && (plan->height > height || plan->width > width))
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "a crop of %dx%d does not fit into a picture of %dx%d (height x width): write resize before it",
            plan->height, plan->width, height, width);
    switch (plan->kind) {
    case LEAT_CROP_NONE: *box = centred(height, width, height, width); break;
    case LEAT_CROP_FRACTION: {
        box->y = (int)((height - height * plan->fraction) / 2);
        box->x = (int)((width - width * plan->fraction) / 2);
        box->height = height - 2 * box->y;
        box->width = width - 2 * box->x;
        break;
    }
    case LEAT_CROP_CENTRE: *box = centred(height, width, plan->height, plan->width); break;
    case LEAT_CROP_RANDOM:
        *box = (leat__box){.width = plan->width, .height = plan->height};
        box->y = (int)leat__rng_below(&rng, (uint64_t)(height - plan->height + 1));
        box->x = (int)leat__rng_below(&rng, (uint64_t)(width - plan->width + 1));
        break;
    case LEAT_CROP_RESIZED: *box = draw_resized(plan, &rng, height, width); break;
    }
    return 0;
}

int leat__draw_pass(leat__pass *pass, const leat__pass_plan *plan, uint64_t seed, uint64_t epoch,
                    uint64_t position, const leat__rows *rows, leat_error *err) {
    pass->resample = plan->resample;
    pass->height = plan->resample == LEAT_RESAMPLE_NONE ? rows->height : plan->height;
    pass->width = plan->resample == LEAT_RESAMPLE_NONE ? rows->width : plan->width;
    pass->flip_x = pass->flip_y = pass->has_lut = pass->stream = false;
    pass->n_stages = 0;
    pass->dtype = plan->dtype;
    pass->nchw = plan->nchw;
    for (int i = 0; i < plan->n_flips; i++) {
        leat__rng rng = leat__rng_at(seed, epoch, position, plan->flip[i].op);
        const bool turn = leat__rng_unit(&rng) < plan->flip[i].probability;
        if (plan->flip[i].vertical) pass->flip_y ^= turn;
        else pass->flip_x ^= turn;
    }
    for (int i = 0; i < plan->n_points; i++) {
        const leat__point *point = &plan->point[i];
        if (point->channels && point->channels != rows->channels)
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "normalize has %d means or stds, the picture has %d channels", point->channels,
                              rows->channels);
        if (point->kind == LEAT_POINT_AFFINE) {
            pass->stage[pass->n_stages++] = point->affine;
            continue;
        }
        leat__rng rng = leat__rng_at(seed, epoch, position, point->op);
        const float delta = (float)((2 * leat__rng_unit(&rng) - 1) * (double)point->delta_max);
        if (point->table) {
            compose_brightness(pass, delta);
            continue;
        }
        leat__affine *stage = &pass->stage[pass->n_stages++];
        for (int c = 0; c < 4; c++) stage->mul[c] = 1, stage->add[c] = delta;
    }
    return 0;
}
