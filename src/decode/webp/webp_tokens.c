/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/webp/webp_tokens.h"

static LEAT_FN_WEBP_READ(read_c) {
    read_values(bits, values, probs, steps, single, above, before);
}

static LEAT_FN_WEBP_READ_MODES(read_modes_c) {
    read_modes(bits, modes, head, above, n);
}

void leat__webp_dsp_init_tokens_c(leat__webp_dsp *dsp) {
    dsp->read = read_c;
    dsp->read_modes = read_modes_c;
}
