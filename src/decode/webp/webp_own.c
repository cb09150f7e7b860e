/* SPDX-License-Identifier: Apache-2.0 */
/* From a VP8 key frame to rows.
 *
 *     modes, values -> [predict, add] -> window: 16 rows of samples -> [filter] -> [upsample, colour] -> rows
 *
 * A row of macroblocks is read and predicted as a whole, and filtered afterwards: macroblocks are predicted from samples that are not
 * filtered yet. The lowest row of these is kept for the macroblocks below. The filter of a row of macroblocks changes up to three
 * rows above it, so the last rows of the window are given out with the next ones only. The window then keeps these, and one pair
 * more, since colours have half the height and are mixed with those of the next row.
 *
 * For a part, as many rows of macroblocks are read as libwebp reads for it. No value of a pixel depends on what lies below or to
 * the right of it but for the filter and the colours beside it. */
#include "decode/webp/webp_own.h"

#include "base/cpu.h"
#include "decode/webp/webp_dsp.h"

enum { SIDE = 16, HALF = 8 };
enum { SIZE_ANY = 2048, SIZE_MAX_FIRST = 32768, SUM_MAX = 19000 };
enum { OUTSIDE_ABOVE = 127, OUTSIDE_LEFT = 129 };

typedef struct plane {
    uint8_t *row;     /* the first one of the macroblocks, at column 0 */
    uint8_t *edge[2]; /* the lowest row of the macroblocks above, not filtered, and that of these */
    ptrdiff_t stride;
} plane;

struct leat__webp_own {
    leat__webp_dsp dsp;
    leat__webp_head head;
    leat__webp_values values;
    int across, down; /* macroblocks */
    plane planes[3];
    leat__webp_modes *modes;
    bool *inner; /* of each macroblock of the row: whether it is filtered inside */
    uint8_t *modes_above;
    leat__webp_known *known; /* of each column, and before the first one of the row's */
    int delay;               /* rows of the window that the next macroblocks may change */
    leat__box box;
    int filter_x, filter_y, end_x, end_y; /* macroblocks that are filtered; rows of them that are read */
    int next_mb;                          /* row of macroblocks */
    int first, n_ready; /* rows of the picture: the window's first one, and how many are complete */
    int next_row;
};

leat__webp_own *leat__webp_own_new(void) {
    leat__webp_own *own = leat__alloc(LEAT_MEM_WORKER, sizeof *own);
    if (own) leat__webp_dsp_init(&own->dsp, leat__cpu_flags());
    return own;
}

void leat__webp_own_free(leat__webp_own *own) {
    leat__free(own);
}

/* ------------------------------------------------------------------------------------------ macroblocks */

/* Whether sums of values stay within 16 bits in the inverse transform: there its forms differ. */
static bool stays_small(const leat__webp_values *values) {
    if (values->size >= SIZE_MAX_FIRST) return false;
    for (int g = 0; g < 6; g++)
        for (int b = 0; b < 4; b++) {
            int sum = 0;
            for (int i = 0; i < 16; i++) {
                const int v = values->group[g][i / 4 * 16 + 4 * b + i % 4];
                sum += v < 0 ? -v : v;
            }
            if (sum > SUM_MAX) return false;
        }
    return true;
}

static int whole_mode(int mode, int x, int y) {
    if (mode != LEAT_WEBP_DC || (x > 0 && y > 0)) return mode;
    return x > 0 ? LEAT_WEBP_DC_LEFT : y > 0 ? LEAT_WEBP_DC_ABOVE : LEAT_WEBP_DC_NONE;
}

/* Blocks one after the other. Right of the last column the row above the macroblock goes on for all of its blocks. */
static void predict_singly(leat__webp_own *own, const leat__webp_modes *modes, int x, int y) {
    const leat__webp_dsp *dsp = &own->dsp;
    const ptrdiff_t stride = own->planes[0].stride;
    uint8_t *const dst = own->planes[0].row + SIDE * x;
    uint8_t *const above = own->planes[0].edge[0] + SIDE * x;
    if (y > 0 && x == own->across - 1) memset(above + SIDE, above[SIDE - 1], 4);
    for (int i = 3; i < SIDE - 1; i += 4) memcpy(dst + i * stride + SIDE, above + SIDE, 4);
    for (int n = 0; n < 16; n++) {
        uint8_t *const block = dst + n / 4 * 4 * stride + n % 4 * 4;
        int16_t *const values = own->values.group[n / 4] + n % 4 * 4;
        dsp->predict_4[modes->y[n]](block, stride, n < 4 ? above + 4 * n : block - stride);
        if (own->values.full >> n & 1) dsp->add(block, stride, values);
        else if (values[0]) dsp->add_first(block, stride, values);
    }
}

static bool has_first(const int16_t *group) {
    return (group[0] | group[4] | group[8] | group[12]) != 0;
}

static void predict(leat__webp_own *own, const leat__webp_modes *modes, int x, int y) {
    const leat__webp_dsp *dsp = &own->dsp;
    plane *p = own->planes;
    leat__webp_values *values = &own->values;
    if (modes->single) {
        predict_singly(own, modes, x, y);
    } else {
        uint8_t *const dst = p[0].row + SIDE * x;
        dsp->predict_16[whole_mode(modes->y[0], x, y)](dst, p[0].stride, p[0].edge[0] + SIDE * x);
        for (int i = 0; i < 4; i++) {
            uint8_t *const row = dst + 4 * i * p[0].stride;
            if ((values->full >> 4 * i & 15) || has_first(values->group[i]))
                dsp->add_group(row, row + HALF, p[0].stride, values->group[i]);
        }
    }
    const int mode = whole_mode(modes->uv, x, y);
    for (int c = 1; c < 3; c++)
        dsp->predict_8[mode](p[c].row + HALF * x, p[c].stride, p[c].edge[0] + HALF * x);
    for (int i = 0; i < 2; i++) {
        const ptrdiff_t at = HALF * x + 4 * i * p[1].stride;
        if ((values->full & 0x33u << (16 + 2 * i)) || has_first(values->group[4 + i]))
            dsp->add_group(p[1].row + at, p[2].row + at, p[1].stride, values->group[4 + i]);
    }
    memcpy(p[0].edge[1] + SIDE * x, p[0].row + SIDE * x + (SIDE - 1) * p[0].stride, SIDE);
    for (int c = 1; c < 3; c++)
        memcpy(p[c].edge[1] + HALF * x, p[c].row + HALF * x + (HALF - 1) * p[c].stride, HALF);
}

/* Reads the values of a macroblock. False: what is left is for libwebp. */
static bool read_values(leat__webp_own *own, leat__webp_bits *bits, const leat__webp_modes *modes, int x) {
    leat__webp_known *above = &own->known[1 + x], *before = &own->known[0];
    leat__webp_values *values = &own->values;
    if (modes->empty) {
        const uint8_t first_above = above->first, first_before = before->first;
        *above = *before = (leat__webp_known){0};
        if (modes->single) above->first = first_above, before->first = first_before;
        values->full = 0;
        own->inner[x] = modes->single;
        return true;
    }
    own->dsp.read(bits, values, own->head.probs, &own->head.steps[modes->segment], modes->single, above,
                  before);
    if (leat__webp_bits_over(bits)) return false;
    bool any = modes->single || values->full;
    for (int g = 0; g < 6 && !any; g++) any = has_first(values->group[g]);
    own->inner[x] = any;
    return values->size < SIZE_ANY || stays_small(values);
}

/* What lies outside of the picture. */
static void set_borders(leat__webp_own *own) {
    for (int c = 0; c < 3; c++) {
        plane *p = &own->planes[c];
        for (int y = 0; y < (c ? HALF : SIDE); y++) p->row[y * p->stride - 1] = OUTSIDE_LEFT;
        if (own->next_mb > 0) p->edge[0][-1] = OUTSIDE_LEFT;
        else memset(p->edge[0] - 1, OUTSIDE_ABOVE, (size_t)p->stride - LEAT_WEBP_BESIDE);
    }
}

static bool read_macroblocks(leat__webp_own *own) {
    const int y = own->next_mb;
    leat__webp_bits *bits = &own->head.values[y & (own->head.n_partitions - 1)];
    own->dsp.read_modes(&own->head.modes, own->modes, &own->head, own->modes_above, own->across);
    if (leat__webp_bits_over(&own->head.modes)) return false;
    if (leat__webp_bits_over(bits)) return false; /* it is empty, which counts though nothing may be read */
    set_borders(own);
    own->known[0] = (leat__webp_known){0};
    for (int x = 0; x < own->across; x++) {
        if (!read_values(own, bits, &own->modes[x], x)) return false;
        predict(own, &own->modes[x], x, y);
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------- filter */

static void filter_macroblock(leat__webp_own *own, int x) {
    const plane *p = own->planes;
    const leat__webp_modes *modes = &own->modes[x];
    const leat__webp_strength s = own->head.strengths[modes->segment][modes->single];
    if (s.limit == 0) return;
    uint8_t *const luma = p[0].row + SIDE * x, *const u = p[1].row + HALF * x, *const v = p[2].row + HALF * x;
    LEAT_FN_WEBP_FILTER((*const *kernels)) = own->dsp.filter[own->head.filter == LEAT_WEBP_NORMAL];
    const bool wanted[] = {x > 0, own->inner[x], own->next_mb > 0, own->inner[x]};
    for (int i = 0; i < LEAT_WEBP_EDGES; i++)
        if (wanted[i])
            kernels[i](luma, u, v, p[0].stride, p[1].stride,
                       s.limit + (i == LEAT_WEBP_LEFT || i == LEAT_WEBP_TOP ? 4 : 0), s.inner_limit, s.sharp);
}

static void filter(leat__webp_own *own) {
    if (own->head.filter == LEAT_WEBP_UNFILTERED || own->next_mb < own->filter_y) return;
    for (int x = own->filter_x; x < own->end_x; x++) filter_macroblock(own, x);
}

/* ------------------------------------------------------------------------------------------------- rows */

/* Rows of the window above those of the macroblocks, as far as the picture has them. */
static int kept_rows(const leat__webp_own *own) {
    return own->delay + 4;
}

/* Moves what is not given out yet, and the pair of rows above it, to the front. */
static void slide(leat__webp_own *own) {
    for (int c = 0; c < 3; c++) {
        plane *p = &own->planes[c];
        const ptrdiff_t kept = kept_rows(own) / (c ? 2 : 1) * p->stride, by = (c ? HALF : SIDE) * p->stride;
        memmove(p->row - kept - LEAT_WEBP_BESIDE, p->row - kept + by - LEAT_WEBP_BESIDE, (size_t)kept);
        uint8_t *const edge = p->edge[0];
        p->edge[0] = p->edge[1];
        p->edge[1] = edge;
    }
}

/* Colours of the last complete rows go on beside the picture. */
static void widen_chroma(leat__webp_own *own, int from, int to) {
    const int last = (own->head.width - 1) / 2;
    for (int c = 1; c < 3; c++)
        for (int y = from; y < to; y++) {
            uint8_t *row = own->planes[c].row + (y - HALF * own->next_mb) * own->planes[c].stride;
            row[-1] = row[0];
            row[last + 1] = row[last];
        }
}

/* The next row of macroblocks, as far as its rows are complete. */
static bool complete_rows(leat__webp_own *own) {
    if (own->n_ready > 0) {
        slide(own);
        own->next_mb++;
    }
    if (!read_macroblocks(own)) return false;
    filter(own);
    const int before = own->n_ready;
    own->n_ready = SIDE * (own->next_mb + 1) - own->delay;
    if (own->next_mb == own->down - 1) own->n_ready = own->head.height;
    widen_chroma(own, before / 2, (own->n_ready + 1) / 2);
    return true;
}

static const uint8_t *chroma_row(const leat__webp_own *own, int c, int y) {
    return own->planes[c].row + (y - HALF * own->next_mb) * own->planes[c].stride + own->box.x / 2;
}

/* An odd row needs the colours below it, which are complete two rows later. */
static bool is_ready(const leat__webp_own *own, int y) {
    return y + (y & 1) < own->n_ready || own->n_ready == own->head.height;
}

bool leat__webp_own_row(leat__webp_own *own, uint8_t *dst) {
    const int y = own->next_row++, bottom = own->box.y + own->box.height - 1;
    while (!is_ready(own, y) || (y == bottom && own->next_mb + 1 < own->end_y))
        if (!complete_rows(own)) return false;
    const int near = y / 2, far = LEAT_CLAMP(y & 1 ? near + 1 : near - 1, 0, (own->head.height - 1) / 2);
    const leat__webp_chroma chroma = {chroma_row(own, 1, near), chroma_row(own, 1, far),
                                      chroma_row(own, 2, near), chroma_row(own, 2, far)};
    own->dsp.rgb(dst, own->planes[0].row + (y - SIDE * own->next_mb) * own->planes[0].stride + own->box.x,
                 &chroma, (size_t)own->box.width);
    return true;
}

/* ----------------------------------------------------------------------------------------------- begin */

static uint8_t *take(leat__arena *arena, size_t bytes, bool *taken) {
    uint8_t *piece = leat__arena_alloc(arena, bytes);
    *taken = *taken && piece;
    return piece;
}

static bool take_plane(plane *p, leat__arena *arena, int width, int kept, int height) {
    bool taken = true;
    p->stride = width + 2 * LEAT_WEBP_BESIDE;
    p->row = take(arena, (size_t)(kept + height) * (size_t)p->stride, &taken);
    for (int i = 0; i < 2; i++) p->edge[i] = take(arena, (size_t)p->stride, &taken);
    if (!taken) return false;
    p->row += kept * p->stride + LEAT_WEBP_BESIDE;
    for (int i = 0; i < 2; i++) p->edge[i] += LEAT_WEBP_BESIDE;
    return true;
}

/* For the whole picture, whatever part of it will be asked for: a worker's memory then does not depend on the draw. */
static bool take_memory(leat__webp_own *own, leat__arena *arena) {
    const size_t across = (size_t)own->across, known = (across + 1) * sizeof *own->known;
    bool taken = true;
    own->modes = (leat__webp_modes *)(void *)take(arena, across * sizeof *own->modes, &taken);
    own->inner = (bool *)take(arena, across * sizeof *own->inner, &taken);
    own->modes_above = take(arena, 4 * across, &taken);
    own->known = (leat__webp_known *)(void *)take(arena, known, &taken);
    for (int c = 0; c < 3 && taken; c++)
        taken = take_plane(&own->planes[c], arena, (c ? HALF : SIDE) * own->across,
                           kept_rows(own) / (c ? 2 : 1), c ? HALF : SIDE);
    if (!taken) return false;
    memset(own->modes_above, LEAT_WEBP_DC, 4 * across);
    memset(own->known, 0, known);
    return true;
}

bool leat__webp_own_begin(leat__webp_own *own, leat__decode_job *job, const uint8_t *frame, size_t n) {
    static const int delays[] = {[LEAT_WEBP_UNFILTERED] = 0, [LEAT_WEBP_SIMPLE] = 2, [LEAT_WEBP_NORMAL] = 8};
    uint8_t *copy = leat__arena_alloc(job->arena, n + LEAT_WEBP_PAD);
    if (!copy) return false;
    memcpy(copy, frame, n);
    memset(copy + n, 0, LEAT_WEBP_PAD);
    if (!leat__webp_head_read(&own->head, copy, n)) return false;
    if (own->head.width != job->info.width || own->head.height != job->info.height) return false;
    own->across = (own->head.width + SIDE - 1) / SIDE;
    own->down = (own->head.height + SIDE - 1) / SIDE;
    own->delay = delays[own->head.filter];
    if (!take_memory(own, job->arena)) return false;
    memset(&own->values, 0, sizeof own->values);
    own->next_mb = own->n_ready = 0;
    leat__webp_own_region(own, &(leat__box){.width = own->head.width, .height = own->head.height});
    return true;
}

/* As libwebp, which is asked for two pixels more, reads and filters for a part. */
void leat__webp_own_region(leat__webp_own *own, const leat__box *box) {
    const int right = LEAT_MIN(box->x + box->width + 2, own->head.width);
    const int bottom = LEAT_MIN(box->y + box->height + 2, own->head.height);
    own->box = *box;
    own->next_row = box->y;
    own->end_x = LEAT_MIN((right + SIDE - 1 + own->delay) / SIDE, own->across);
    own->end_y = LEAT_MIN((bottom + SIDE - 1 + own->delay) / SIDE, own->down);
    own->filter_x = own->filter_y = 0;
    if (own->head.filter != LEAT_WEBP_SIMPLE) return;
    own->filter_x = LEAT_MAX(box->x - 4, 0) / SIDE;
    own->filter_y = LEAT_MAX(box->y - 4, 0) / SIDE;
}
