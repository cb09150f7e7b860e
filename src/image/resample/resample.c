/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling in plain C: the specification. */
#include "image/pass/point.h"

static LEAT_FN_TF_H_U8(tf_h_u8_c) {
    for (int i = 0; i < taps->n_out; i++, dst += channels) leat__tf_pixel_u8(dst, src, taps, i, channels);
}

static LEAT_FN_TF_H_F32(tf_h_f32_c) {
    for (int i = 0; i < taps->n_out; i++, dst += channels) {
        const float *a = src + (size_t)taps->lower[i] * (size_t)channels;
        const float *b = src + (size_t)taps->upper[i] * (size_t)channels;
        for (int c = 0; c < channels; c++) dst[c] = leat__lerp(a[c], b[c], taps->lerp[i]);
    }
}

static LEAT_FN_PIL_H(pil_h_c) {
    for (int i = 0; i < taps->n_out; i++, dst += channels) leat__pil_pixel(dst, src, taps, i, channels);
}

static LEAT_FN_PIL_H_PLANES(pil_h_planes_c) {
    for (int i = 0; i < taps->n_out; i++)
        for (size_t c = 0; c < 3; c++)
            leat__pil_pixel(dst + c * dst_apart + i, src + c * src_apart, taps, i, 1);
}

static LEAT_FN_PIL_V(pil_v_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__pil_column(rows, coef, n_taps, i);
}

static LEAT_FN_SUM_H(sum_h_c) {
    for (int i = 0; i < taps->n_out; i++, dst += channels) leat__sum_pixel(dst, src, taps, i, channels);
}

static LEAT_FN_SUM_V(sum_v_u8_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__sum_column_u8(rows, weight, n_taps, scale, i);
}

static LEAT_FN_SUM_V(sum_v_f32_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__sum_column_f32(rows, weight, n_taps, scale, i);
}

static LEAT_FN_SUM_V_ROUND(sum_v_round_c) {
    for (size_t i = 0; i < n; i++) dst[i] = leat__sum_column_round(rows, weight, n_taps, i);
}

static LEAT_FN_NEAREST(nearest_c) {
    uint8_t *out = dst;
    const uint8_t *in = src;
    switch (pixel_bytes) { /* constant sizes become moves */
    case 1:
        for (int i = 0; i < taps->n_out; i++) out[i] = in[taps->lower[i]];
        break;
    case 3:
        for (int i = 0; i < taps->n_out; i++) memcpy(out + (size_t)i * 3, in + (size_t)taps->lower[i] * 3, 3);
        break;
    case 4:
        for (int i = 0; i < taps->n_out; i++) memcpy(out + (size_t)i * 4, in + (size_t)taps->lower[i] * 4, 4);
        break;
    case 12:
        for (int i = 0; i < taps->n_out; i++)
            memcpy(out + (size_t)i * 12, in + (size_t)taps->lower[i] * 12, 12);
        break;
    default:
        for (int i = 0; i < taps->n_out; i++)
            memcpy(out + (size_t)i * pixel_bytes, in + (size_t)taps->lower[i] * pixel_bytes, pixel_bytes);
    }
}

void leat__image_dsp_init_resample_c(leat__image_dsp *dsp) {
    for (int k = 0; k < 5; k++) {
        dsp->tf_h_u8[k] = tf_h_u8_c;
        dsp->pil_h[k] = pil_h_c;
        dsp->sum_h[k] = sum_h_c;
        dsp->lanes[k] = 0;
    }
    dsp->tf_h_f32 = tf_h_f32_c;
    dsp->pil_h_planes = pil_h_planes_c;
    dsp->pil_v = pil_v_c;
    dsp->sum_v_u8 = sum_v_u8_c;
    dsp->sum_v_f32 = sum_v_f32_c;
    dsp->sum_v_round = sum_v_round_c;
    dsp->nearest = nearest_c;
}
