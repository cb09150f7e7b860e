/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_passes.h"

void leat__jpeg_band_slots(uint8_t out[256], int last) {
    memset(out, NOWHERE, 256);
    memcpy(out, slots, (size_t)last + 1);
}

static LEAT_FN_JPEG_PASS(dc_first_c) {
    return dc_first_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(dc_refine_c) {
    return dc_refine_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(ac_first_c) {
    return ac_first_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(ac_refine_c) {
    return ac_refine_run(scan, strip, from, to, false);
}

void leat__jpeg_dsp_init_passes_c(leat__jpeg_dsp *dsp) {
    dsp->dc_first = dc_first_c;
    dsp->dc_refine = dc_refine_c;
    dsp->ac_first = ac_first_c;
    dsp->ac_refine = ac_refine_c;
}
