/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over the blocks of progressive scans, for processors with BMI2. */
#include "decode/x86/decode_x86.h"

#include <immintrin.h>

#if defined(__x86_64__)
#define LEAT_JPEG_DEPOSIT _pdep_u64
#endif
#include "decode/jpeg/jpeg_passes.h"

static LEAT_FN_JPEG_PASS(dc_first_avx2) {
    return dc_first_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(dc_refine_avx2) {
    return dc_refine_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(ac_first_avx2) {
    return ac_first_run(scan, strip, from, to);
}

static LEAT_FN_JPEG_PASS(ac_refine_avx2) {
    return ac_refine_run(scan, strip, from, to, false);
}

void leat__jpeg_dsp_init_passes_avx2(leat__jpeg_dsp *dsp) {
    dsp->dc_first = dc_first_avx2;
    dsp->dc_refine = dc_refine_avx2;
    dsp->ac_first = ac_first_avx2;
    dsp->ac_refine = ac_refine_avx2;
}

#if defined(__x86_64__)
/* Where PDEP is quick. */
static LEAT_FN_JPEG_PASS(ac_refine_pdep) {
    return ac_refine_run(scan, strip, from, to, true);
}

void leat__jpeg_dsp_init_passes_pdep(leat__jpeg_dsp *dsp) {
    dsp->ac_refine = ac_refine_pdep;
}
#endif
