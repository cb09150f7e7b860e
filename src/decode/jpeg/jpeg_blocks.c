/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_blocks.h"

static LEAT_FN_JPEG_READ(read_c) {
    return read_run(scan, blocks, last, from, to);
}

static LEAT_FN_JPEG_READ_TWO(read_two_c) {
    return read_two_runs(scan, blocks, last, n);
}

static LEAT_FN_JPEG_SKIP(skip_c) {
    return skip_run(scan, from, to);
}

void leat__jpeg_dsp_init_blocks_c(leat__jpeg_dsp *dsp) {
    dsp->read = read_c;
    dsp->read_two = read_two_c;
    dsp->skip = skip_c;
}
