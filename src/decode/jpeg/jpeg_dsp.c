/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the JPEG kernels, and has the one that is too small for a file of its own. */
#include "decode/jpeg/jpeg_dsp.h"

#include "base/cpu.h"
#ifdef LEAT_CPU_WIDE
#include "decode/arm/decode_arm.h"
#include "decode/x86/decode_x86.h"
#endif

static LEAT_FN_JPEG_UNSTUFF(unstuff_c) {
    const uint8_t *s = *src;
    size_t n = 0;
    while (n < room && s < end) {
        const size_t most = LEAT_MIN(room - n, (size_t)(end - s));
        const uint8_t *found = memchr(s, 0xff, most);
        const size_t run = found ? (size_t)(found - s) : most;
        memcpy(dst + n, s, run);
        n += run;
        s += run;
        if (!found) continue;
        if (end - s < 2 || s[1] != 0) break;
        dst[n++] = 0xff;
        s += 2;
    }
    *src = s;
    return n;
}

void leat__jpeg_dsp_init_unstuff_c(leat__jpeg_dsp *dsp) {
    dsp->unstuff = unstuff_c;
}

void leat__jpeg_dsp_init(leat__jpeg_dsp *dsp, unsigned cpu_flags) {
    leat__jpeg_dsp_init_blocks_c(dsp);
    leat__jpeg_dsp_init_passes_c(dsp);
    leat__jpeg_dsp_init_idct_c(dsp);
    leat__jpeg_dsp_init_reduced_c(dsp);
    leat__jpeg_dsp_init_colour_c(dsp);
    leat__jpeg_dsp_init_unstuff_c(dsp);
#ifdef LEAT_CPU_WIDE
    if (cpu_flags & LEAT_CPU_WIDE) {
        leat__jpeg_dsp_init_blocks_avx2(dsp);
        leat__jpeg_dsp_init_passes_avx2(dsp);
        leat__jpeg_dsp_init_idct_fast_avx2(dsp);
        leat__jpeg_dsp_init_reduced_avx2(dsp);
        leat__jpeg_dsp_init_colour_avx2(dsp);
#if defined(__x86_64__)
        if (cpu_flags & LEAT_CPU_PDEP) leat__jpeg_dsp_init_passes_pdep(dsp);
        leat__jpeg_dsp_init_idct_avx2(dsp);
#else
        leat__jpeg_dsp_init_idct_neon(dsp);
        leat__jpeg_dsp_init_rgb_neon(dsp);
#endif
    }
#else
    (void)cpu_flags;
#endif
}
