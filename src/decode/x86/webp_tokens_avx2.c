/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of values and modes, for processors that count leading zeros and have BMI2, which all with AVX2 are. */
#include "decode/x86/decode_x86.h"

#include "decode/webp/webp_tokens.h"

static LEAT_FN_WEBP_READ(read_avx2) {
    read_values(bits, values, probs, steps, single, above, before);
}

static LEAT_FN_WEBP_READ_MODES(read_modes_avx2) {
    read_modes(bits, modes, head, above, n);
}

void leat__webp_dsp_init_tokens_avx2(leat__webp_dsp *dsp) {
    dsp->read = read_avx2;
    dsp->read_modes = read_modes_avx2;
}
