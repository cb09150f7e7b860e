/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the kernels of lossy WebP. */
#include "decode/webp/webp_dsp.h"

#include "base/cpu.h"
#ifdef LEAT_CPU_WIDE
#include "decode/x86/decode_x86.h"
#endif

void leat__webp_dsp_init(leat__webp_dsp *dsp, unsigned cpu_flags) {
    leat__webp_dsp_init_tokens_c(dsp);
    leat__webp_dsp_init_predict_c(dsp);
    leat__webp_dsp_init_filter_c(dsp);
    leat__webp_dsp_init_colour_c(dsp);
#ifdef LEAT_CPU_WIDE
    if (cpu_flags & LEAT_CPU_WIDE) {
        leat__webp_dsp_init_tokens_avx2(dsp);
        leat__webp_dsp_init_predict_avx2(dsp);
        leat__webp_dsp_init_filter_avx2(dsp);
        leat__webp_dsp_init_colour_avx2(dsp);
    }
#else
    (void)cpu_flags;
#endif
}
