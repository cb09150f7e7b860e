/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over blocks, for processors with BMI2, which all that have AVX2 are. */
#include "decode/x86/decode_x86.h"

#include "decode/jpeg/jpeg_blocks.h"

static LEAT_FN_JPEG_READ(read_avx2) {
    return read_run(scan, blocks, last, from, to);
}

static LEAT_FN_JPEG_READ_TWO(read_two_avx2) {
    return read_two_runs(scan, blocks, last, n);
}

static LEAT_FN_JPEG_SKIP(skip_avx2) {
    return skip_run(scan, from, to);
}

void leat__jpeg_dsp_init_blocks_avx2(leat__jpeg_dsp *dsp) {
    dsp->read = read_avx2;
    dsp->read_two = read_two_avx2;
    dsp->skip = skip_avx2;
}
