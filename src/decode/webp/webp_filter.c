/* SPDX-License-Identifier: Apache-2.0 */
/* The loop filter in plain C: RFC 6386, section 15. Samples p3 p2 p1 p0 lie before an edge, q0 q1 q2 q3 behind it. */
#include "decode/webp/webp_dsp.h"

#include <stdlib.h>

static uint8_t clip(int v) {
    return (uint8_t)LEAT_CLAMP(v, 0, 255);
}

static int clip_signed(int v) {
    return LEAT_CLAMP(v, -128, 127);
}

static bool is_near(const uint8_t *p, ptrdiff_t step, int limit) {
    return 4 * abs(p[-step] - p[0]) + abs(p[-2 * step] - p[step]) <= 2 * limit + 1;
}

static bool is_flat(const uint8_t *p, ptrdiff_t step, int inner_limit) {
    for (int i = -4; i < 3; i++)
        if (i != -1 && abs(p[i * step] - p[(i + 1) * step]) > inner_limit) return false;
    return true;
}

static bool is_sharp(const uint8_t *p, ptrdiff_t step, int sharp) {
    return abs(p[-2 * step] - p[-step]) > sharp || abs(p[step] - p[0]) > sharp;
}

/* Changes p0 and q0 by an estimate of the step between them, and returns what q0 was changed by. */
static int move_two(uint8_t *p, ptrdiff_t step, int estimate) {
    const int a = clip_signed(estimate + 4) >> 3, b = clip_signed(estimate + 3) >> 3;
    p[-step] = clip(p[-step] + b);
    p[0] = clip(p[0] - a);
    return a;
}

static int estimate_with_outer(const uint8_t *p, ptrdiff_t step) {
    return clip_signed(3 * (p[0] - p[-step]) + clip_signed(p[-2 * step] - p[step]));
}

static void move_six(uint8_t *p, ptrdiff_t step) {
    const int w = estimate_with_outer(p, step);
    for (int i = 0; i < 3; i++) {
        const int by = (9 * (3 - i) * w + 63) >> 7;
        p[(-1 - i) * step] = clip(p[(-1 - i) * step] + by);
        p[i * step] = clip(p[i * step] - by);
    }
}

/* n samples of an edge: `step` leads across it, `along` to the next. */
static void simple_edge(uint8_t *p, ptrdiff_t step, ptrdiff_t along, int limit) {
    for (int i = 0; i < 16; i++, p += along)
        if (is_near(p, step, limit)) move_two(p, step, estimate_with_outer(p, step));
}

static void outer_edge(uint8_t *p, ptrdiff_t step, ptrdiff_t along, int n, int limit, int inner_limit,
                       int sharp) {
    for (int i = 0; i < n; i++, p += along) {
        if (!is_near(p, step, limit) || !is_flat(p, step, inner_limit)) continue;
        if (is_sharp(p, step, sharp)) move_two(p, step, estimate_with_outer(p, step));
        else move_six(p, step);
    }
}

static void inner_edge(uint8_t *p, ptrdiff_t step, ptrdiff_t along, int n, int limit, int inner_limit,
                       int sharp) {
    for (int i = 0; i < n; i++, p += along) {
        if (!is_near(p, step, limit) || !is_flat(p, step, inner_limit)) continue;
        if (is_sharp(p, step, sharp)) {
            move_two(p, step, estimate_with_outer(p, step));
            continue;
        }
        const int by = (move_two(p, step, clip_signed(3 * (p[0] - p[-step]))) + 1) >> 1;
        p[-2 * step] = clip(p[-2 * step] + by);
        p[step] = clip(p[step] - by);
    }
}

static LEAT_FN_WEBP_FILTER(simple_left_c) {
    (void)u, (void)v, (void)uv_stride, (void)inner_limit, (void)sharp;
    simple_edge(y, 1, y_stride, limit);
}

static LEAT_FN_WEBP_FILTER(simple_columns_c) {
    (void)u, (void)v, (void)uv_stride, (void)inner_limit, (void)sharp;
    for (int i = 4; i < 16; i += 4) simple_edge(y + i, 1, y_stride, limit);
}

static LEAT_FN_WEBP_FILTER(simple_top_c) {
    (void)u, (void)v, (void)uv_stride, (void)inner_limit, (void)sharp;
    simple_edge(y, y_stride, 1, limit);
}

static LEAT_FN_WEBP_FILTER(simple_rows_c) {
    (void)u, (void)v, (void)uv_stride, (void)inner_limit, (void)sharp;
    for (int i = 4; i < 16; i += 4) simple_edge(y + i * y_stride, y_stride, 1, limit);
}

static LEAT_FN_WEBP_FILTER(left_c) {
    outer_edge(y, 1, y_stride, 16, limit, inner_limit, sharp);
    outer_edge(u, 1, uv_stride, 8, limit, inner_limit, sharp);
    outer_edge(v, 1, uv_stride, 8, limit, inner_limit, sharp);
}

static LEAT_FN_WEBP_FILTER(columns_c) {
    for (int i = 4; i < 16; i += 4) inner_edge(y + i, 1, y_stride, 16, limit, inner_limit, sharp);
    inner_edge(u + 4, 1, uv_stride, 8, limit, inner_limit, sharp);
    inner_edge(v + 4, 1, uv_stride, 8, limit, inner_limit, sharp);
}

static LEAT_FN_WEBP_FILTER(top_c) {
    outer_edge(y, y_stride, 1, 16, limit, inner_limit, sharp);
    outer_edge(u, uv_stride, 1, 8, limit, inner_limit, sharp);
    outer_edge(v, uv_stride, 1, 8, limit, inner_limit, sharp);
}

static LEAT_FN_WEBP_FILTER(rows_c) {
    for (int i = 4; i < 16; i += 4) inner_edge(y + i * y_stride, y_stride, 1, 16, limit, inner_limit, sharp);
    inner_edge(u + 4 * uv_stride, uv_stride, 1, 8, limit, inner_limit, sharp);
    inner_edge(v + 4 * uv_stride, uv_stride, 1, 8, limit, inner_limit, sharp);
}

void leat__webp_dsp_init_filter_c(leat__webp_dsp *dsp) {
    static const leat__webp_dsp plain = {
        .filter = {{simple_left_c, simple_columns_c, simple_top_c, simple_rows_c},
                   {left_c, columns_c, top_c, rows_c}},
    };
    memcpy(dsp->filter, plain.filter, sizeof plain.filter);
}
