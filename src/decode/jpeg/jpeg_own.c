/* SPDX-License-Identifier: Apache-2.0 */
/* From the scan to rows: a row of MCUs is decoded into planes of samples when the next output row needs it, then rows are
 * upsampled and converted one by one.
 *
 *     scan -> a few MCUs of coefficients -> IDCT -> planes: the last two rows of MCUs -> one row of RGB
 *
 * The planes are rings: sample row y of a component stands at y modulo their height, because upsampling needs a row above
 * and one below. Everything is made for a part of the picture; the whole picture is the part that leaves out nothing.
 * Outside of it blocks are only skipped, or where positions tell the way (jpeg_positions.h) not even that, and below it nothing is
 * read. If all positions are known, two rows of MCUs are read in turns: reading waits for its tables most of the time. A file of several scans has been read as a whole by then (jpeg_progressive.h), and its coefficients wait in memory. */
#include "decode/jpeg/jpeg_own.h"

#include "base/cpu.h"
#include "decode/jpeg/jpeg_positions.h"
#include "decode/jpeg/jpeg_progressive.h"

enum {
    BLOCKS_AT_ONCE = 48 /* 6 KiB of coefficients: they stay in the first cache until the IDCT */
};

typedef struct plane { /* of one component                                  */
    uint8_t *samples;  /* of sample first_x in row 0 of the ring            */
    size_t stride;
    int row_mask;             /* height of the ring - 1                            */
    int first_x, n_x;         /* samples that the rows of the part are made from   */
    int block_x, block_x_end; /* blocks that hold them, and the rows of blocks:  */
    int block_y, block_y_end;
    uint8_t *line; /* the same samples in full size; NULL: they have it */
} plane;

typedef struct run { /* of MCUs of one row, on their way from the scan to the planes */
    LEAT_ALIGNED(64) int16_t blocks[64 * (BLOCKS_AT_ONCE + 1)];
    uint8_t last[BLOCKS_AT_ONCE];
    leat__jpeg_place places[BLOCKS_AT_ONCE];
} run;

struct leat__jpeg_own {
    leat__jpeg_dsp dsp;
    leat__jpeg_head head;
    LEAT_FN_JPEG_IDCT((*idct[3])); /* the inverse transform of each component           */
    bool mixed;                    /* they differ                                       */
    int channels;
    size_t apart; /* 0: channels of a pixel are neighbours             */
    int n_planes; /* 1 if only luma is wanted                          */
    leat__box box;
    int next_row;         /* of the picture                                    */
    int mcu_row;          /* the next to be decoded                            */
    int mcu_row_end;      /* of those that hold anything of the part           */
    bool paired;          /* rows of MCUs are read in twos, where possible     */
    int mcu_x, mcu_x_end; /* columns of MCUs that hold anything of the part    */
    int64_t at;           /* the MCU that the scan is in front of              */
    leat__jpeg_positions positions;
    leat__jpeg_stored stored; /* of a file of several scans                        */
    plane plane[3];
    uint8_t *samples[3]; /* memory of the planes                              */
    uint8_t *neutral;    /* a line of chroma without colour                   */
    uint8_t *rgb;        /* a line, for rows of 4 channels                    */
    uint16_t *scratch;
    leat__jpeg_quant quant[3];
    leat__jpeg_dc_table dc[LEAT_JPEG_TABLES];
    leat__jpeg_ac_table ac[LEAT_JPEG_TABLES];
    leat__jpeg_scan scan;
    run run[2];
};

leat__jpeg_own *leat__jpeg_own_new(void) {
    leat__jpeg_own *own = leat__alloc(LEAT_MEM_WORKER, sizeof *own);
    if (own) leat__jpeg_dsp_init(&own->dsp, leat__cpu_flags());
    return own;
}

void leat__jpeg_own_free(leat__jpeg_own *own) {
    leat__free(own);
}

/* --------------------------------------------------------------------------------------------- begin */

static bool build_tables(leat__jpeg_own *own) {
    const leat__jpeg_head *head = &own->head;
    for (int i = 0; i < LEAT_JPEG_TABLES; i++) {
        if (head->dc_counts[i] && !leat__jpeg_dc_build(&own->dc[i], head->dc_counts[i], head->dc_symbols[i]))
            return false;
        if (head->ac_counts[i] && !leat__jpeg_ac_build(&own->ac[i], head->ac_counts[i], head->ac_symbols[i]))
            return false;
    }
    for (int i = 0; i < head->n_components; i++)
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) {
                const int slot = leat__jpeg_slot(y, x), step = head->component[i].steps[8 * y + x];
                const bool fast = own->idct[i] == own->dsp.idct_fast;
                own->quant[i].step[slot] = fast ? leat__jpeg_fast_step(step, y, x) : (int16_t)step;
                own->quant[i].most[slot] = (uint16_t)(LEAT_JPEG_COEFFICIENT_MAX / step);
            }
    return true;
}

/* Called only when blocks are skipped: those outside of a region, or chroma when gray is wanted. */
static void build_skip(leat__jpeg_own *own) {
    for (int i = 0; i < own->head.n_components; i++)
        leat__jpeg_ac_build_skip(&own->ac[own->head.component[i].ac]);
}

/* By the size of their blocks. Small ones have no fast form, as in libjpeg-turbo. */
static void choose_transforms(leat__jpeg_own *own, bool fast) {
    own->mixed = false;
    for (int i = 0; i < own->head.n_components; i++) {
        const leat__jpeg_dsp *dsp = &own->dsp;
        switch (own->head.component[i].size) {
        case 1: own->idct[i] = dsp->idct_1x1; break;
        case 2: own->idct[i] = dsp->idct_2x2; break;
        case 4: own->idct[i] = dsp->idct_4x4; break;
        default: own->idct[i] = fast ? dsp->idct_fast : dsp->idct; break;
        }
        own->mixed |= own->idct[i] != own->idct[0];
    }
}

static void lay_out_units(leat__jpeg_own *own) {
    leat__jpeg_scan *scan = &own->scan;
    scan->dsp = &own->dsp;
    scan->restart_interval = own->head.restart_interval;
    scan->n_units = 0;
    for (int i = 0; i < own->head.n_components; i++) {
        const leat__jpeg_component *c = &own->head.component[i];
        const bool wanted = i < own->n_planes && c->size > 1; /* one sample is made from the first alone */
        for (int k = 0; k < c->h * c->v; k++)
            scan->unit[scan->n_units++] = (leat__jpeg_unit){
                .component = i, .wanted = wanted, .dc = &own->dc[c->dc], .ac = &own->ac[c->ac]};
    }
}

/* Rows of MCUs that planes hold: the last one, whose lowest samples are the neighbours of the next, and one or two that were
 * read since. */
static int rows_held(const leat__jpeg_own *own) {
    return own->paired && own->head.v_max > 1 ? 4 : 2;
}

static size_t line_bytes(size_t n) {
    return LEAT_ALIGN_UP(n, (size_t)LEAT_JPEG_PAD) + 2 * LEAT_JPEG_PAD;
}

/* For the whole picture, whatever part of it will be asked for and at what scale: a worker's memory then does not depend on
 * the draw. */
static bool take_memory(leat__jpeg_own *own, leat__arena *arena) {
    const leat__jpeg_head *head = &own->head;
    const size_t across = (size_t)head->mcus_across * 8;
    size_t bytes = 0, at[6], n = 0;
    for (int i = 0; i < own->n_planes; i++) {
        const leat__jpeg_component *c = &head->component[i];
        at[n++] = bytes;
        bytes +=
            line_bytes(across * (size_t)c->h) * (size_t)((head->v_max > 1 ? 32 : 16) * c->v) + LEAT_JPEG_PAD;
    }
    const size_t line = line_bytes(across * (size_t)head->h_max);
    const size_t lines_at = bytes, n_lines = 2 + 3; /* chroma, RGB */
    bytes += line * n_lines;
    const size_t scratch_at = bytes;
    bytes += line * sizeof(uint16_t);
    uint8_t *memory = leat__arena_alloc(arena, bytes);
    if (!memory) return false;
    for (int i = 0; i < own->n_planes; i++) own->samples[i] = memory + at[i] + LEAT_JPEG_PAD;
    uint8_t *lines = memory + lines_at;
    const bool halved = head->h_max > 1 || head->v_max > 1;
    memset(own->plane, 0, sizeof own->plane);
    for (int i = 1; i < own->n_planes; i++)
        own->plane[i].line = halved ? lines + (size_t)(i - 1) * line + LEAT_JPEG_PAD : NULL;
    own->neutral = lines;
    if (head->n_components == 1) memset(own->neutral, 128, line);
    own->rgb = lines + 2 * line;
    own->scratch = (uint16_t *)(void *)(memory + scratch_at);
    return true;
}

const char *leat__jpeg_own_look(leat__jpeg_own *own, const struct jpeg_decompress_struct *jpeg) {
    own->stored.memory = NULL;
    return leat__jpeg_head_read(&own->head, jpeg);
}

static bool begin_scan(leat__jpeg_own *own, leat__decode_job *job) {
    leat__jpeg_positions_begin(&own->positions, &own->head, job->options.positions);
    if (own->head.n_passes > 0)
        return own->head.n_passes <= job->options.scans_max &&
               leat__jpeg_stored_take(&own->stored, &own->head, job->arena) &&
               leat__jpeg_stored_read(&own->stored, &own->head, &own->scan, own->dc, own->ac);
    own->paired = own->positions.asked && own->positions.n == own->positions.n_all;
    for (int u = 0; u < own->scan.n_units; u++)
        if (!own->scan.unit[u].wanted) {
            leat__jpeg_ac_build_skip(&own->ac[own->head.component[own->scan.unit[u].component].ac]);
            own->paired = false;
        }
    own->scan.tracked = own->positions.asked != NULL;
    leat__jpeg_scan_begin(&own->scan, own->head.scan, own->head.end);
    own->at = 0;
    for (int i = 0; i < 2; i++) /* the picture before may have ended anywhere */
        memset(own->run[i].blocks, 0, sizeof own->run[i].blocks);
    return true;
}

bool leat__jpeg_own_begin(leat__jpeg_own *own, leat__decode_job *job, int channels) {
    if (job->info.scale > 1) leat__jpeg_head_scale(&own->head, job->info.scale);
    choose_transforms(own, job->options.fast);
    own->channels = channels;
    own->apart = 0;
    own->paired = false;
    own->n_planes = channels == 1 ? 1 : own->head.n_components;
    if (!build_tables(own) || !take_memory(own, job->arena)) return false;
    lay_out_units(own);
    if (!begin_scan(own, job)) return false;
    own->mcu_row = 0;
    leat__jpeg_own_region(own, &(leat__box){0, 0, own->head.width, own->head.height});
    return true;
}

/* Samples [*first, *end) of n that pixels [from, to) are made from, with a neighbour where the size is doubled. */
static void reach(int from, int to, bool doubled, int n, int *first, int *end) {
    *first = doubled ? LEAT_MAX(from - 1, 0) / 2 : from;
    *end = LEAT_MIN(doubled ? to / 2 + 1 : to, n);
}

void leat__jpeg_own_region(leat__jpeg_own *own, const leat__box *box) {
    const leat__jpeg_head *head = &own->head;
    own->box = *box;
    own->next_row = box->y;
    own->mcu_x = head->mcus_across;
    own->mcu_x_end = own->mcu_row_end = 0;
    for (int i = 0; i < own->n_planes; i++) {
        const leat__jpeg_component *c = &head->component[i];
        plane *p = &own->plane[i];
        int y, x_end, y_end;
        reach(box->x, box->x + box->width, c->doubled_x, c->width, &p->first_x, &x_end);
        reach(box->y, box->y + box->height, c->doubled_y, c->height, &y, &y_end);
        p->n_x = x_end - p->first_x;
        p->block_x = p->first_x / c->size;
        p->block_x_end = (x_end + c->size - 1) / c->size;
        p->block_y = y / c->size;
        p->block_y_end = (y_end + c->size - 1) / c->size;
        p->stride = line_bytes((size_t)(p->block_x_end - p->block_x) * (size_t)c->size) - LEAT_JPEG_PAD;
        p->row_mask = rows_held(own) * c->size * c->v - 1;
        p->samples = own->samples[i] + p->first_x % c->size;
        own->mcu_row_end = LEAT_MAX(own->mcu_row_end, (p->block_y_end + c->v - 1) / c->v);
        own->mcu_x = LEAT_MIN(own->mcu_x, p->block_x / c->h);
        own->mcu_x_end = LEAT_MAX(own->mcu_x_end, (p->block_x_end + c->h - 1) / c->h);
    }
}

void leat__jpeg_own_planes(leat__jpeg_own *own, size_t apart) {
    own->apart = apart;
}

/* ---------------------------------------------------------------------------------------------- MCUs */

/* Where the blocks of n MCUs from column mcu_x on go. */
static void find_places(const leat__jpeg_own *own, run *of, int mcu_row, int mcu_x, int n) {
    const int n_units = own->scan.n_units;
    for (int i = 0, u = 0; i < own->head.n_components; i++) {
        const leat__jpeg_component *c = &own->head.component[i];
        const plane *p = &own->plane[i];
        for (int k = 0; k < c->h * c->v; k++, u++) {
            const int y = mcu_row * c->v + k / c->h, x = mcu_x * c->h + k % c->h - p->block_x;
            const int width = p->block_x_end - p->block_x;
            const bool wanted = i < own->n_planes && y >= p->block_y && y < p->block_y_end;
            /* MCUs [from, to) have this block inside of the part. */
            const int from = wanted ? LEAT_CLAMP((c->h - 1 - x) / c->h, 0, n) : n;
            const int to = LEAT_CLAMP((width - x + c->h - 1) / c->h, from, n);
            leat__jpeg_place *place = of->places + u;
            const uint8_t *last = of->last + u;
            for (int m = 0; m < from; m++) place[m * n_units].dst = NULL;
            for (int m = to; m < n; m++) place[m * n_units].dst = NULL;
            if (from == to) continue;
            uint8_t *dst = own->samples[i] + (size_t)(c->size * y & p->row_mask) * p->stride +
                           c->size * (x + from * c->h);
            for (int m = from; m < to; m++, dst += c->size * c->h)
                place[m * n_units] = (leat__jpeg_place){
                    .dst = dst, .stride = p->stride, .quant = &own->quant[i], .last = last[m * n_units]};
        }
    }
}

/* The first row of MCUs that holds anything of the part. */
static int first_mcu_row(const leat__jpeg_own *own) {
    int row = own->head.mcus_down;
    for (int i = 0; i < own->n_planes; i++)
        row = LEAT_MIN(row, own->plane[i].block_y / own->head.component[i].v);
    return row;
}

/* The scan was in good order at this MCU and at all MCUs up to the next one that is to be noted. */
static void note_spot(leat__jpeg_own *own) {
    leat__jpeg_spot spot;
    if (own->at != leat__jpeg_positions_next(&own->positions)) return;
    if (leat__jpeg_scan_spot(&own->scan, &spot)) leat__jpeg_positions_add(&own->positions, &spot);
    else own->positions.asked = NULL;
}

/* MCUs from here on up to `to`, or to the next one that is to be noted. */
static int64_t stretch(const leat__jpeg_own *own, int64_t to) {
    return LEAT_MIN(to, leat__jpeg_positions_next(&own->positions)) - own->at;
}

/* To MCU x of the next row, by the nearest note if there is one between here and there; or to a note a few MCUs before it,
 * because reading them for nothing takes less time than tables for skipping. */
static bool skip_to(leat__jpeg_own *own, int x) {
    enum { FEW = 8 };
    const int64_t row = (int64_t)own->mcu_row * own->head.mcus_across, mcu = row + x;
    leat__jpeg_spot spot;
    int64_t at;
    if (leat__jpeg_positions_find(&own->positions, mcu, own->at, &at, &spot)) {
        if (!leat__jpeg_scan_go(&own->scan, &spot)) return false;
        own->at = at;
        if (at >= row && mcu - at < FEW) return true;
    }
    for (note_spot(own); own->at < mcu; note_spot(own)) {
        const int64_t n = stretch(own, mcu);
        build_skip(own);
        if (!leat__jpeg_scan_skip(&own->scan, n)) return false;
        own->at += n;
    }
    return true;
}

/* A row of a component's blocks that are stored. */
static bool transform_row(leat__jpeg_own *own, int i, int y) {
    const plane *p = &own->plane[i];
    const int size = own->head.component[i].size;
    const ptrdiff_t row = (ptrdiff_t)y * own->stored.across[i];
    uint8_t *dst = own->samples[i] + (size_t)(size * y & p->row_mask) * p->stride;
    for (int x = p->block_x, n; x < p->block_x_end; x += n) {
        const uint64_t *sets = own->stored.sets[i] + row + x;
        n = LEAT_MIN((int)BLOCKS_AT_ONCE, p->block_x_end - x);
        for (int k = 0; k < n; k++, dst += size)
            own->run[0].places[k] = (leat__jpeg_place){.dst = dst,
                                                       .stride = p->stride,
                                                       .quant = &own->quant[i],
                                                       .last = leat__jpeg_stored_last(sets[k])};
        if (!own->idct[i](own->stored.blocks[i] + 64 * (row + x), own->run[0].places, n)) return false;
    }
    return true;
}

static bool transform_mcu_row(leat__jpeg_own *own) {
    for (int i = 0; i < own->n_planes; i++) {
        const plane *p = &own->plane[i];
        const int v = own->head.component[i].v, first = own->mcu_row * v;
        for (int y = LEAT_MAX(first, p->block_y); y < LEAT_MIN(first + v, p->block_y_end); y++)
            if (!transform_row(own, i, y)) return false;
    }
    own->mcu_row++;
    return true;
}

/* The blocks of n MCUs to samples. Components with one transform go through it together, since a call for one block takes longer
 * than the block. */
static bool transform(const leat__jpeg_own *own, run *of, int n) {
    const leat__jpeg_component *c = own->head.component;
    const int n_units = own->scan.n_units, n_components = own->head.n_components;
    if (!own->mixed) return own->idct[0](of->blocks, of->places, n * n_units);
    bool good = true;
    for (int at = 0; at < n * n_units;)
        for (int i = 0; i < n_components;) {
            LEAT_FN_JPEG_IDCT((*idct)) = own->idct[i];
            int n_blocks = 0;
            for (; i < n_components && own->idct[i] == idct; i++) n_blocks += c[i].h * c[i].v;
            good &= idct(of->blocks + 64 * (ptrdiff_t)at, of->places + at, n_blocks);
            at += n_blocks;
        }
    return good;
}

/* Whether the row of MCUs below can be read beside this one: it is wanted too, it has a position in the same column, and what is
 * wanted of both lies in the window. */
static bool begin_second(leat__jpeg_own *own) {
    const leat__jpeg_positions *positions = &own->positions;
    const int64_t across = own->head.mcus_across, below = own->at + across;
    leat__jpeg_spot spot, end;
    int64_t at;
    if (!own->paired || own->mcu_row + 1 >= own->mcu_row_end ||
        !leat__jpeg_positions_find(positions, below, own->at, &at, &spot) || at != below)
        return false;
    const int step = positions->step, x = (own->mcu_x_end + step - 1) / step * step;
    const int64_t behind = (own->mcu_row + 1) * across + LEAT_MIN(x, across);
    const bool whole = behind == across * own->head.mcus_down;
    if (!whole && !leat__jpeg_positions_find(positions, behind, own->at, &at, &end)) return false;
    return leat__jpeg_scan_second(&own->scan, &spot, whole ? NULL : &end);
}

static bool read_mcu_rows(leat__jpeg_own *own) {
    leat__jpeg_scan *scan = &own->scan;
    int16_t *const blocks[2] = {own->run[0].blocks, own->run[1].blocks};
    uint8_t *const last[2] = {own->run[0].last, own->run[1].last};
    const int at_once = BLOCKS_AT_ONCE / scan->n_units;
    own->mcu_row = LEAT_MAX(own->mcu_row, first_mcu_row(own));
    if (own->head.n_passes > 0) return transform_mcu_row(own);
    /* What is right of the part in the row before is skipped now, when it must be. */
    if (!skip_to(own, own->mcu_x)) return false;
    const int n_rows = begin_second(own) ? 2 : 1;
    for (int m = (int)(own->at - (int64_t)own->mcu_row * own->head.mcus_across); m < own->mcu_x_end;) {
        const int n = (int)stretch(own, own->at + LEAT_MIN(at_once, own->mcu_x_end - m));
        if (n_rows == 2 ? !leat__jpeg_scan_read_two(scan, blocks, last, n)
                        : !leat__jpeg_scan_read(scan, blocks[0], last[0], n))
            return false;
        own->at += n;
        note_spot(own);
        for (int i = 0; i < n_rows; i++) {
            find_places(own, &own->run[i], own->mcu_row + i, m, n);
            if (!transform(own, &own->run[i], n)) return false;
        }
        m += n;
    }
    if (n_rows == 2) {
        leat__jpeg_scan_take_second(scan);
        own->at += own->head.mcus_across;
    }
    own->mcu_row += n_rows;
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static const uint8_t *sample_row(const plane *p, int y) {
    return p->samples + (size_t)(y & p->row_mask) * p->stride;
}

/* The row of samples nearest to row y of the picture, and the next nearest: above for the upper of two rows, below for
 * the lower. */
static int near_row(int y, bool doubled) {
    return doubled ? y / 2 : y;
}
static int far_row(int y, bool doubled, int height) {
    if (!doubled) return y;
    return y % 2 ? LEAT_MIN(y / 2 + 1, height - 1) : LEAT_MAX(y / 2 - 1, 0);
}

static bool is_row_there(const leat__jpeg_own *own, int y) {
    for (int i = 0; i < own->n_planes; i++) {
        const leat__jpeg_component *c = &own->head.component[i];
        const int lowest = LEAT_MAX(near_row(y, c->doubled_y), far_row(y, c->doubled_y, c->height));
        if (lowest >= own->mcu_row * c->v * c->size) return false;
    }
    return true;
}

/* Samples of a component for every pixel of row y of the part. */
static const uint8_t *full_size(const leat__jpeg_own *own, int i, int y) {
    const leat__jpeg_component *c = &own->head.component[i];
    const plane *p = &own->plane[i];
    const uint8_t *near = sample_row(p, near_row(y, c->doubled_y));
    if (!c->doubled_x && (!c->doubled_y || !own->head.fancy)) return near;
    const uint8_t *far = sample_row(p, far_row(y, c->doubled_y, c->height));
    const size_t n = (size_t)p->n_x;
    if (!c->doubled_x) {
        own->dsp.up_h1v2(p->line, near, far, n, y % 2 ? 2 : 1);
        return p->line;
    }
    if (c->width <= 2 ||
        !own->head.fancy) /* too narrow for libjpeg's filter, or scaled to one sample a block */
        for (size_t k = 0; k < n; k++) p->line[2 * k] = p->line[2 * k + 1] = near[k];
    else if (c->doubled_y) own->dsp.up_h2v2(p->line, near, far, n, own->scratch);
    else own->dsp.up_h2v1(p->line, near, n);
    return p->line + (own->box.x - 2 * p->first_x);
}

static void write_row(leat__jpeg_own *own, uint8_t *dst, int y) {
    const size_t n = (size_t)own->box.width;
    const uint8_t *luma = full_size(own, 0, y), *cb = own->neutral, *cr = own->neutral;
    if (own->channels == 1) {
        memcpy(dst, luma, n);
        return;
    }
    if (own->n_planes == 3) {
        cb = full_size(own, 1, y);
        cr = full_size(own, 2, y);
    }
    if (own->apart) {
        own->dsp.rgb_planes(dst, own->apart, luma, cb, cr, n);
        return;
    }
    own->dsp.rgb(own->channels == 3 ? dst : own->rgb, luma, cb, cr, n);
    if (own->channels == 4) leat__channels_convert(dst, 4, own->rgb, 3, n);
}

bool leat__jpeg_own_rows(leat__jpeg_own *own, uint8_t *dst, ptrdiff_t stride, int n_rows, int *done) {
    for (*done = 0; *done < n_rows; (*done)++) {
        while (!is_row_there(own, own->next_row))
            if (!read_mcu_rows(own)) return false;
        write_row(own, dst + *done * stride, own->next_row++);
    }
    return true;
}

bool leat__jpeg_own_finish(leat__jpeg_own *own) {
    const int64_t end = (int64_t)own->mcu_row * own->head.mcus_across;
    const leat__jpeg_positions *positions = &own->positions;
    if (own->head.n_passes > 0) return true; /* all of the file was read */
    if (own->scan.restart_interval > 0 || own->at >= end) return true;
    if (positions->asked && positions->n > (uint32_t)own->mcu_row * (uint32_t)positions->per_row) return true;
    return skip_to(own, 0);
}

void leat__jpeg_own_seal(leat__jpeg_own *own) {
    leat__jpeg_positions_seal(&own->positions);
}

bool leat__jpeg_own_ends(const leat__jpeg_own *own) {
    return own->head.n_passes > 0 || leat__jpeg_scan_ends(&own->scan);
}

void *leat__jpeg_own_memory(leat__jpeg_own *own, size_t *bytes) {
    *bytes = own->stored.bytes;
    return own->stored.memory;
}
