/* SPDX-License-Identifier: Apache-2.0 */
#include "image/dsp.h"

#include "base/cpu.h"
#ifdef LEAT_CPU_WIDE
#include "image/x86/image_x86.h"
#endif

void leat__image_dsp_init(leat__image_dsp *dsp, unsigned cpu_flags) {
    memset(dsp, 0, sizeof *dsp);
    leat__image_dsp_init_resample_c(dsp);
    leat__image_dsp_init_point_c(dsp);
    leat__image_dsp_init_line_c(dsp);
    leat__image_dsp_init_colour_c(dsp);
    leat__image_dsp_init_stats_c(dsp);
    leat__image_dsp_init_mix_c(dsp);
    leat__image_dsp_init_half_c(dsp);
    leat__image_dsp_init_warp_c(dsp);
    leat__image_dsp_init_pil_affine_c(dsp);
#ifdef LEAT_CPU_WIDE
    if (cpu_flags & LEAT_CPU_WIDE) {
        leat__image_dsp_init_resample_avx2(dsp);
        leat__image_dsp_init_sum_avx2(dsp);
        leat__image_dsp_init_point_avx2(dsp);
        leat__image_dsp_init_planar_avx2(dsp);
        leat__image_dsp_init_line_avx2(dsp);
        leat__image_dsp_init_colour_avx2(dsp);
        leat__image_dsp_init_gray_avx2(dsp);
        leat__image_dsp_init_stats_avx2(dsp);
        leat__image_dsp_init_tables_avx2(dsp);
        leat__image_dsp_init_mix_avx2(dsp);
        leat__image_dsp_init_half_avx2(dsp);
        leat__image_dsp_init_warp_avx2(dsp);
        leat__image_dsp_init_pil_affine_avx2(dsp);
    }
#else
    (void)cpu_flags;
#endif
}

void leat__image_fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
