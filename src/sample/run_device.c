/* SPDX-License-Identifier: Apache-2.0 */
/* Draws for a device: the numbers that go out beside a picture (device.h). */
#include "sample/run.h"

static int draw_part(const leat__device_part *part, const leat__draw_key *key, const leat__value *picture,
                     float *out, leat_error *err) {
    const int height = (int)picture->shape[0], width = (int)picture->shape[1];
    const int channels = picture->ndim == 3 ? (int)picture->shape[2] : 1;
    leat__pass pass;
    leat__warp warp = {0};
    pass.n_points = pass.n_tables = 0;
    pass.flip_x = pass.flip_y = false;
    memset(out, 0, (size_t)part->numbers * sizeof *out);
    if (part->kind == LEAT_DEVICE_IS_FLIP) {
        const bool turn = leat__draw_flip(&part->as.flip, key, height, width);
        out[0] = turn && part->as.flip.x;
        out[1] = turn && part->as.flip.y;
        return 0;
    }
    const leat__image_op *op = part->kind == LEAT_DEVICE_IS_WARP ? &part->as.warp.op : &part->as.point.op;
    leat__drawing d = leat__drawing_at(key, op, height, width, channels, part->dtype);
    if (part->kind == LEAT_DEVICE_IS_WARP) {
        LEAT_TRY(part->as.warp.draw(op, &d, &warp, &pass, err));
        for (int i = 0; i < LEAT_DEVICE_WARP; i++) out[i] = (float)(warp.m[i] / warp.m[8]);
        return 0;
    }
    if (part->kind == LEAT_DEVICE_IS_COLOUR) d.noted = out;
    LEAT_TRY(part->as.point.draw(op, &d, &pass, err));
    if (part->kind != LEAT_DEVICE_IS_AFFINE) return 0;
    for (int i = 0; i < pass.n_points; i++, out += LEAT_DEVICE_AFFINE) {
        memcpy(out, pass.point[i].as.affine.mul, 4 * sizeof *out);
        memcpy(out + 4, pass.point[i].as.affine.add, 4 * sizeof *out);
    }
    return 0;
}

int leat__run_draw(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__device_plan *device = step->as.device;
    const leat__value *picture = &tools->value[device->picture];
    const leat__draw_key key = leat__run_draw_key(tools, at);
    const size_t bytes = (size_t)device->n_numbers * sizeof(float);
    uint8_t *dst = leat__run_destination(tools, step, at, bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    float *out = (float *)(void *)dst;
    for (int i = 0; i < device->n_parts; out += device->part[i++].numbers)
        LEAT_TRY(draw_part(&device->part[i], &key, picture, out, err));
    tools->value[step->value] = (leat__value){
        .data = dst, .bytes = bytes, .dtype = LEAT_DTYPE_F32, .ndim = 1, .shape = {device->n_numbers}};
    return 0;
}
