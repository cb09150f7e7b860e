/* SPDX-License-Identifier: Apache-2.0 */
/* Points: how they are added to a pass, and how a pass does them. Neighbouring affine points become one sweep over
 * the values, held in registers; everything else is a sweep of its own over a run of pixels in the first cache. The
 * last affine sweep is the store itself. */
#include "image/pass/pass_job.h"

/* ---------------------------------------------------------------------------------------------- adding */

static leat__point *add(leat__pass *pass, leat__point_kind kind) {
    assert(pass->n_points < LEAT_PASS_POINTS);
    leat__point *point = &pass->point[pass->n_points++];
    point->kind = kind;
    point->measure = 0;
    point->solve = NULL;
    return point;
}

void leat__pass_add_affine(leat__pass *pass, const leat__affine *affine) {
    add(pass, LEAT_POINT_AFFINE)->as.affine = *affine;
}

void leat__pass_add_scale(leat__pass *pass, float mul, float plus) {
    leat__affine *affine = &add(pass, LEAT_POINT_AFFINE)->as.affine;
    for (int c = 0; c < 4; c++) affine->mul[c] = mul, affine->add[c] = plus;
}

void leat__pass_add_clamp(leat__pass *pass, float low, float high) {
    leat__point *point = add(pass, LEAT_POINT_CLAMP);
    point->as.clamp.low = low;
    point->as.clamp.high = high;
}

static leat__point *add_table(leat__pass *pass, bool each) {
    assert(pass->n_tables < LEAT_PASS_TABLES);
    leat__point *point = add(pass, LEAT_POINT_TABLE);
    point->as.table.number = pass->n_tables++;
    point->as.table.each = each;
    return point;
}

void leat__pass_add_table(leat__pass *pass, const uint8_t table[256]) {
    const leat__point *last = pass->n_points ? &pass->point[pass->n_points - 1] : NULL;
    if (last && last->kind == LEAT_POINT_TABLE && !last->as.table.each) {
        uint8_t *made = pass->table[last->as.table.number][0];
        for (int i = 0; i < 256; i++) made[i] = table[made[i]];
        return;
    }
    memcpy(pass->table[add_table(pass, false)->as.table.number][0], table, 256);
}

void leat__pass_add_pixels(leat__pass *pass, int kernel, const leat__pixel_args *args) {
    leat__point *point = add(pass, LEAT_POINT_PIXELS);
    point->as.pixels.kernel = kernel;
    point->as.pixels.args = *args;
}

void leat__pass_add_pixels_u8(leat__pass *pass, int kernel, const leat__pixel_args *args) {
    leat__pass_add_pixels(pass, kernel, args);
    pass->point[pass->n_points - 1].kind = LEAT_POINT_PIXELS_U8;
}

void leat__pass_add_to_u8(leat__pass *pass) {
    add(pass, LEAT_POINT_TO_U8);
}

void leat__pass_add_measured(leat__pass *pass, unsigned measure, int n, bool tables,
                             void (*solve)(leat__pass *pass, int i, const leat__stats *stats),
                             const double given[4]) {
    const int first = pass->n_points;
    for (int k = 0; k < n; k++) {
        if (!tables) {
            leat__pass_add_scale(pass, 1.0f, -0.0f);
            continue;
        }
        uint8_t(*table)[256] = pass->table[add_table(pass, true)->as.table.number];
        for (int i = 0; i < 1024; i++) table[i / 256][i % 256] = (uint8_t)i;
    }
    leat__point *point = &pass->point[first];
    point->measure = measure;
    point->solve = solve;
    if (given) memcpy(point->given, given, sizeof point->given);
}

/* --------------------------------------------------------------------------------------------- sweeps */

/* As many values as a row of a chain has, from one for each channel. Each way has a constant period: small pictures have
 * as many rows to fill as large ones. */
static void spread(float *row, const float each[4], int period) {
#define REPEAT(n) \
    for (int i = 0; i < LEAT_CHAIN_PERIOD + 4; i++) row[i] = value[i % (n)]
    const float value[4] = {each[0], each[1], each[2], each[3]};
    switch (period) {
    case 1: REPEAT(1); break;
    case 2: REPEAT(2); break;
    case 3: REPEAT(3); break;
    default: REPEAT(4); break;
    }
#undef REPEAT
}

static void set_chain(leat__chain *chain, int s, const leat__affine *stage, int channels) {
    const int period = channels <= 4 ? channels : 1;
    chain->n = s + 1;
    chain->channels = period;
    spread(chain->mul[s], stage->mul, period);
    spread(chain->add[s], stage->add, period);
}

void leat__job_plan_sweeps(leat__job *j, int n_points) {
    int n_chains = 0;
    leat__chain *open = NULL;
    j->n_sweeps = 0;
    for (int i = 0; i < n_points; i++) {
        const leat__point *point = &j->pass->point[i];
        if (point->kind != LEAT_POINT_AFFINE) {
            j->sweep[j->n_sweeps++] = (leat__sweep){.point = point};
            open = NULL;
            continue;
        }
        if (!open || open->n == LEAT_CHAIN_STAGES) {
            open = &j->scratch->chain[n_chains++];
            open->n = 0;
            j->sweep[j->n_sweeps++] = (leat__sweep){.point = point, .chain = open};
        }
        set_chain(open, open->n, &point->as.affine, j->channels);
    }
}

/* second becomes what both do. */
static void compose(leat__pass *pass, const leat__point *first, leat__point *second) {
    uint8_t(*a)[256] = pass->table[first->as.table.number], (*b)[256] = pass->table[second->as.table.number];
    uint8_t made[4][256];
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 256; i++)
            made[c][i] = b[second->as.table.each ? c : 0][a[first->as.table.each ? c : 0][i]];
    memcpy(b, made, sizeof made);
    second->as.table.each |= first->as.table.each;
}

void leat__job_merge_tables(leat__job *j) {
    leat__pass *pass = j->pass;
    int n = 0;
    for (int i = 0; i < pass->n_points; i++) {
        const leat__point *last = n ? &pass->point[n - 1] : NULL;
        if (last && last->kind == LEAT_POINT_TABLE && pass->point[i].kind == LEAT_POINT_TABLE)
            compose(pass, &pass->point[--n], &pass->point[i]);
        if (n != i) pass->point[n] = pass->point[i];
        n++;
    }
    pass->n_points = n;
}

/* n values of any type as floats, through the chain. */
static void to_floats(const leat__job *j, float *dst, const void *src, int dtype, size_t n,
                      const leat__chain *chain) {
    if (dtype == LEAT_DTYPE_U8) j->dsp->from_u8(dst, src, n, chain, false);
    else if (dtype == LEAT_DTYPE_U16) j->dsp->from_u16(dst, src, n, chain, false);
    else j->dsp->from_f32(dst, src, n, chain, false);
}

const void *leat__job_floats(const leat__job *j, const void *src, int *dtype, size_t n) {
    float *floats = (float *)(void *)j->scratch->chunk.data;
    if (src != floats) to_floats(j, floats, src, *dtype, n, &leat__no_chain);
    *dtype = LEAT_DTYPE_F32;
    return floats;
}

/* n values of the chunk or before it as bytes. */
static const void *to_bytes(const leat__job *j, const void *src, int *dtype, size_t n) {
    if (*dtype == LEAT_DTYPE_U8) return src;
    uint8_t *bytes = j->scratch->chunk.data + j->chunk * sizeof(float);
    j->dsp->u8_from_f32(bytes, leat__job_floats(j, src, dtype, n), n);
    *dtype = LEAT_DTYPE_U8;
    return bytes;
}

int leat__job_reserve_chunk(const leat__job *j) {
    return leat__job_reserve(j, &j->scratch->chunk, j->chunk, sizeof(float) + sizeof(uint16_t));
}

const void *leat__job_sweep(const leat__job *j, int n_sweeps, const void *src, int *dtype, size_t n,
                            size_t first) {
    const size_t values = n * (size_t)j->channels;
    float *floats = (float *)(void *)j->scratch->chunk.data;
    uint8_t *bytes = j->scratch->chunk.data + j->chunk * sizeof(float);
    for (int s = 0; s < n_sweeps; s++) {
        const leat__sweep *sweep = &j->sweep[s];
        const leat__point *point = sweep->point;
        leat__pixel_args args;
        if (sweep->chain) {
            to_floats(j, floats, src, *dtype, values, sweep->chain);
            src = floats;
            *dtype = LEAT_DTYPE_F32;
            continue;
        }
        switch (point->kind) {
        case LEAT_POINT_TABLE:
            src = to_bytes(j, src, dtype, values);
            if (point->as.table.each && j->channels <= 4)
                j->dsp->lut_each(bytes, src, j->pass->table[point->as.table.number], n, j->channels);
            else j->dsp->lut(bytes, src, j->pass->table[point->as.table.number][0], values);
            src = bytes;
            break;
        case LEAT_POINT_PIXELS_U8:
            src = to_bytes(j, src, dtype, values);
            args = point->as.pixels.args;
            args.first += first;
            j->dsp->pixels_u8[point->as.pixels.kernel](bytes, src, n, j->channels, &args);
            src = bytes;
            break;
        case LEAT_POINT_TO_U8: src = to_bytes(j, src, dtype, values); break;
        case LEAT_POINT_AFFINE:
        case LEAT_POINT_CLAMP:
        case LEAT_POINT_PIXELS:
            src = leat__job_floats(j, src, dtype, values);
            if (point->kind == LEAT_POINT_CLAMP) {
                j->dsp->clamp(floats, values, point->as.clamp.low, point->as.clamp.high);
            } else {
                args = point->as.pixels.args;
                args.first += first;
                j->dsp->pixels[point->as.pixels.kernel](floats, n, j->channels, &args);
            }
            break;
        }
    }
    return src;
}

int leat__job_measure(leat__job *j) {
    leat__pass *pass = j->pass;
    const size_t width = (size_t)j->src->width, values = width * (size_t)j->channels;
    for (int i = 0; i < pass->n_points; i++) {
        const leat__point *point = &pass->point[i];
        if (!point->solve) continue;
        leat__stats stats;
        leat__stats_begin(&stats, point->measure);
        leat__job_plan_sweeps(j, i);
        j->chunk = LEAT_ALIGN_UP(LEAT_MAX(j->chunk, values), (size_t)16); /* sums follow whole rows */
        LEAT_TRY(leat__job_reserve_chunk(j));
        for (int y = 0; y < j->src->height; y++) {
            const void *row;
            int dtype = j->src->dtype;
            LEAT_TRY(leat__job_fetch(j, y, &row));
            row = leat__job_sweep(j, j->n_sweeps, row, &dtype, width, (size_t)y * width);
            if (dtype == LEAT_DTYPE_U8) j->dsp->stats_u8(&stats, row, width, j->channels);
            else j->dsp->stats_f32(&stats, leat__job_floats(j, row, &dtype, values), width, j->channels);
        }
        leat__stats_end(&stats);
        point->solve(pass, i, &stats);
    }
    return 0;
}
