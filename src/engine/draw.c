/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/draw.h"

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

int leat__draw_pass(leat__pass *pass, const leat__pass_plan *plan, uint64_t seed, uint64_t epoch, uint64_t position,
                    const leat__rows *rows, leat_error *err) {
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
            return leat__fail(err, LEAT_ERR_SHAPE, "normalize has %d means or stds, the picture has %d channels", point->channels, rows->channels);
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
