/* SPDX-License-Identifier: Apache-2.0 */
/* The filters in plain C, and the choice of kernels. A filter stores the difference of a byte from what its neighbours let
 * expect: a is the byte one pixel to the left, b the one above, c the one above a; outside of the picture all are 0. */
#include "decode/png/png_dsp.h"

#include <stdlib.h>

#include "base/cpu.h"
#ifdef LEAT_CPU_WIDE
#include "decode/x86/decode_x86.h"
#endif

enum { PIXEL_MAX = 8 };

static inline void undo_sub(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    memcpy(row, raw, LEAT_MIN(pixel, n));
    for (size_t i = pixel; i < n; i++) row[i] = (uint8_t)(raw[i] + row[i - pixel]);
}

static inline void undo_up(uint8_t *row, const uint8_t *raw, size_t n) {
    for (size_t i = 0; i < n; i++) row[i] = (uint8_t)(row[i] + raw[i]);
}

static inline void undo_average(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    uint8_t a[PIXEL_MAX] = {0};
    for (size_t i = 0; i < n; i += pixel)
        for (size_t k = 0; k < pixel; k++)
            row[i + k] = a[k] = (uint8_t)(raw[i + k] + ((a[k] + row[i + k]) >> 1));
}

/* The one of a, b and c that is nearest to a + b - c; of equally near ones the first. */
static inline int nearest(int a, int b, int c) {
    const int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
    const int first = to_a <= to_b ? a : b;
    return LEAT_MIN(to_a, to_b) <= to_c ? first : c;
}

static inline void undo_paeth(uint8_t *row, const uint8_t *raw, size_t n, size_t pixel) {
    uint8_t a[PIXEL_MAX] = {0}, c[PIXEL_MAX] = {0};
    for (size_t i = 0; i < n; i += pixel)
        for (size_t k = 0; k < pixel; k++) {
            const uint8_t b = row[i + k];
            row[i + k] = a[k] = (uint8_t)(raw[i + k] + nearest(a[k], b, c[k]));
            c[k] = b;
        }
}

static LEAT_FN_PNG_UNFILTER(up_c) {
    undo_up(row, raw, n);
}

#define KERNELS(pixel)                                 \
    static LEAT_FN_PNG_UNFILTER(sub_##pixel##_c) {     \
        undo_sub(row, raw, n, pixel);                  \
    }                                                  \
    static LEAT_FN_PNG_UNFILTER(average_##pixel##_c) { \
        undo_average(row, raw, n, pixel);              \
    }                                                  \
    static LEAT_FN_PNG_UNFILTER(paeth_##pixel##_c) {   \
        undo_paeth(row, raw, n, pixel);                \
    }                                                  \
    static LEAT_FN_PNG_PAIR(paeth_pair_##pixel##_c) {  \
        undo_paeth(row, raw, n, pixel);                \
        memcpy(below, row, n);                         \
        undo_paeth(below, raw_below, n, pixel);        \
    }

KERNELS(1)
KERNELS(2)
KERNELS(3)
KERNELS(4)
KERNELS(6)
KERNELS(8)

static void init_c(leat__png_dsp *dsp) {
    static const leat__png_dsp plain = {
        .unfilter =
            {
                [LEAT_PNG_SUB] = {sub_1_c, sub_2_c, sub_3_c, sub_4_c, sub_6_c, sub_8_c},
                [LEAT_PNG_UP] = {up_c, up_c, up_c, up_c, up_c, up_c},
                [LEAT_PNG_AVERAGE] = {average_1_c, average_2_c, average_3_c, average_4_c, average_6_c,
                                      average_8_c},
                [LEAT_PNG_PAETH] = {paeth_1_c, paeth_2_c, paeth_3_c, paeth_4_c, paeth_6_c, paeth_8_c},
            },
        .paeth_pair = {paeth_pair_1_c, paeth_pair_2_c, paeth_pair_3_c, paeth_pair_4_c, paeth_pair_6_c,
                       paeth_pair_8_c},
    };
    *dsp = plain;
}

void leat__png_dsp_init(leat__png_dsp *dsp, unsigned cpu_flags) {
    init_c(dsp);
#ifdef LEAT_CPU_WIDE
    if (cpu_flags & LEAT_CPU_WIDE) leat__png_dsp_init_avx2(dsp);
#else
    (void)cpu_flags;
#endif
}
