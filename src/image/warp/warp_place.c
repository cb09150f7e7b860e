/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pixels of a row come from, for order 1: the specification of warp_place.
 *
 * All fills but the constant one bring a position back into [0, n - 1] first, so that its four neighbours are
 * pixels; at the last row or column the neighbour beyond has no share. */
#include "image/dsp.h"
#include "image/warp/warp_value.h"

static LEAT_FN_WARP_PLACE(place_scipy_c) {
    const double magic = leat__grid_magic(grid);
    const float unit = 1.0f / (float)((uint32_t)1 << grid->bits);
    for (int r = 0; r < n_rows; r++, y += step) {
        for (int i = 0; i < grid->columns; i++) {
            double cx, cy;
            leat__grid_position(grid, i, y, &cx, &cy);
            const bool inside =
                leat__warp_is_inside(cx, grid->width) && leat__warp_is_inside(cy, grid->height);
            cx = leat__scipy_fold(cx, grid->width, grid->fill);
            cy = leat__scipy_fold(cy, grid->height, grid->fill);
            const uint32_t fx = leat__fixed(cx, magic), fy = leat__fixed(cy, magic);
            const uint32_t ix = LEAT_MIN(fx >> grid->bits, (uint32_t)LEAT_MAX(grid->width - 2, 0));
            const uint32_t iy = LEAT_MIN(fy >> grid->bits, (uint32_t)LEAT_MAX(grid->height - 2, 0));
            const size_t k = (size_t)r * (size_t)grid->columns + (size_t)i;
            to->x[k] = (float)(int32_t)(fx - (ix << grid->bits)) * unit;
            to->y[k] = (float)(int32_t)(fy - (iy << grid->bits)) * unit;
            to->at[k] = grid->fill == LEAT_WARP_CONSTANT && !inside
                            ? -1
                            : (int32_t)iy * grid->stride + (int32_t)ix * grid->pixel;
        }
    }
}

static LEAT_FN_WARP_PLACE(place_tf_c) {
    const float last_x = (float)(grid->width - 1), last_y = (float)(grid->height - 1);
    for (int r = 0; r < n_rows; r++, y += step) {
        for (int i = 0; i < grid->columns; i++) {
            float cx, cy;
            leat__tf_position(grid, i, y, &cx, &cy);
            const bool inside = cx >= 0.0f && cx <= last_x && cy >= 0.0f && cy <= last_y;
            cx = leat__tf_fold(cx, grid->width, grid->fill);
            cy = leat__tf_fold(cy, grid->height, grid->fill);
            const int32_t ix = LEAT_MIN((int32_t)cx, LEAT_MAX(grid->width - 2, 0));
            const int32_t iy = LEAT_MIN((int32_t)cy, LEAT_MAX(grid->height - 2, 0));
            const size_t k = (size_t)r * (size_t)grid->columns + (size_t)i;
            to->x[k] = cx - (float)ix;
            to->y[k] = cy - (float)iy;
            to->at[k] =
                grid->fill == LEAT_WARP_CONSTANT && !inside ? -1 : iy * grid->stride + ix * grid->pixel;
        }
    }
}

static LEAT_FN_WARP_BLEND(blend_u8_c) {
    for (size_t i = 0; i < n; i++, dst += channels)
        leat__blend_pixel_u8(dst, (const uint8_t *)src + from->at[i], from->x[i], from->y[i], right, below,
                             channels);
}

static LEAT_FN_WARP_BLEND(blend_f32_c) {
    for (size_t i = 0; i < n; i++, dst += channels)
        leat__blend_pixel_f32(dst, (const uint8_t *)src + from->at[i], from->x[i], from->y[i], right, below,
                              channels);
}

void leat__image_dsp_init_warp_c(leat__image_dsp *dsp) {
    dsp->warp_place[LEAT_WARP_SCIPY] = place_scipy_c;
    dsp->warp_place[LEAT_WARP_TF] = place_tf_c;
    for (int k = 0; k < 5; k++) {
        dsp->warp_blend_u8[k] = blend_u8_c;
        dsp->warp_blend_f32[k] = blend_f32_c;
    }
}
