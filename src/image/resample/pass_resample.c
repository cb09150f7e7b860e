/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of another size, as tf.image and as Pillow make them. Only rows in flight are held: two rows of floats
 * for bilinear without antialiasing, otherwise the height of the filter. */
#include "image/pass/pass_job.h"

/* ----------------------------------------------------------------------------------------- tf.image */

/* Row `want` of the source, resampled, in one of two places; the one with row `keep` is not touched. */
static int linear_row(const leat__job *j, float *const place[2], int held[2], int want, int keep,
                      const float **out) {
    const leat__pass *pass = j->pass;
    int i = held[0] == want ? 0 : 1;
    if (held[i] != want) {
        const void *row;
        i = held[0] == keep ? 1 : 0;
        LEAT_TRY(leat__job_fetch(j, want, &row));
        const leat__taps *taps = &j->scratch->taps_x[pass->flip_x];
        if (j->in == LEAT_DTYPE_U8) j->dsp->tf_h_u8[j->k](place[i], row, taps, j->channels);
        else j->dsp->tf_h_f32(place[i], row, taps, j->channels);
        held[i] = want;
    }
    *out = place[i];
    return 0;
}

int leat__job_run_linear(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const leat__taps *y = &j->scratch->taps_y;
    const size_t values = (size_t)pass->width * (size_t)j->channels;
    const size_t step = LEAT_ALIGN_UP(values * sizeof(float) + LEAT_ROW_PAD, LEAT_CACHE_LINE);
    LEAT_TRY(leat__taps_build(&j->scratch->taps_x[pass->flip_x], pass->resample, j->src->width, pass->width,
                              pass->flip_x, 0, j->err));
    LEAT_TRY(leat__taps_build(&j->scratch->taps_y, pass->resample, j->src->height, pass->height, false, 0,
                              j->err));
    LEAT_TRY(leat__job_reserve(j, &j->scratch->ring, 2, step));
    LEAT_TRY(leat__job_reserve(j, &j->scratch->row, values, sizeof(float)));
    float *const place[2] = {(float *)(void *)j->scratch->ring.data,
                             (float *)(void *)(j->scratch->ring.data + step)};
    float *const out = (float *)(void *)j->scratch->row.data;
    const bool direct = pass->dtype == LEAT_DTYPE_F32 && !j->chunked && (!pass->nchw || j->channels == 1);
    int held[2] = {-1, -1};
    for (int i = 0; i < pass->height; i++) {
        const float *top, *bottom;
        LEAT_TRY(linear_row(j, place, held, y->lower[i], y->upper[i], &top));
        LEAT_TRY(linear_row(j, place, held, y->upper[i], y->lower[i], &bottom));
        if (direct) {
            const int to = pass->flip_y ? pass->height - 1 - i : i;
            j->dsp->lerp((float *)(void *)j->dst + (size_t)to * values, top, bottom, y->lerp[i], values,
                         leat__job_last_chain(j), pass->stream);
        } else {
            j->dsp->lerp(out, top, bottom, y->lerp[i], values, &leat__no_chain, false);
            leat__job_store_row(j, i, out, LEAT_DTYPE_F32);
        }
    }
    return 0;
}

/* Any weights. tf.image sums columns first and rows afterwards; only area does it the other way round. */

typedef struct weighted_run {
    bool rows_first; /* area                                            */
    bool bytes;      /* rows in flight are u8                           */
    size_t row;      /* bytes of a row in flight                        */
    size_t step;     /* from one row of the ring to the next            */
    int n_ring;
} weighted_run;

/* Source row y as it is needed in flight; *out is a place of the ring, or the source's own row. */
static int weighted_row(const leat__job *j, const weighted_run *r, int y, const void **out) {
    const void *row;
    LEAT_TRY(leat__job_fetch(j, y, &row));
    uint8_t *place = j->scratch->ring.data + (size_t)(y % r->n_ring) * r->step;
    if (r->rows_first) {
        float *values = (float *)(void *)j->scratch->turned.data;
        if (j->in == LEAT_DTYPE_U8) {
            j->dsp->from_u8(values, row, (size_t)j->src->width * (size_t)j->channels, &leat__no_chain, false);
            row = values;
        }
        const leat__taps *taps = &j->scratch->taps_x[j->pass->flip_x];
        j->dsp->sum_h[j->k]((float *)(void *)place, row, taps, j->channels);
        *out = place;
    } else if (leat__job_keeps(j, row)) {
        *out = row;
    } else {
        *out = memcpy(place, row, r->row);
    }
    return 0;
}

/* Output row i from the rows that make it, which are count of them. */
static void weighted_finish(const leat__job *j, const weighted_run *r, int i, const void *const *taken,
                            int count) {
    const leat__taps *x = &j->scratch->taps_x[j->pass->flip_x], *y = &j->scratch->taps_y;
    const float *weight = y->weight + (size_t)i * (size_t)y->coef_step;
    float *out = (float *)(void *)j->scratch->row.data, *sum = (float *)(void *)j->scratch->turned.data;
    if (r->rows_first) {
        const float share = 1.0f / (x->scale * y->scale);
        j->dsp->sum_v_f32(out, taken, weight, count, share, (size_t)j->pass->width * (size_t)j->channels);
    } else {
        const size_t values = (size_t)j->src->width * (size_t)j->channels;
        if (r->bytes) j->dsp->sum_v_u8(sum, taken, weight, count, 1.0f, values);
        else j->dsp->sum_v_f32(sum, taken, weight, count, 1.0f, values);
        j->dsp->sum_h[j->k](out, sum, x, j->channels);
    }
    leat__job_store_row(j, i, out, LEAT_DTYPE_F32);
}

int leat__job_run_weighted(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    leat__pass_scratch *scratch = j->scratch;
    const leat__taps *y = &scratch->taps_y;
    const size_t wide = (size_t)src->width * (size_t)j->channels * sizeof(float);
    const size_t narrow = (size_t)pass->width * (size_t)j->channels * sizeof(float);
    LEAT_TRY(leat__taps_build(&scratch->taps_x[pass->flip_x], pass->resample, src->width, pass->width,
                              pass->flip_x, j->dsp->lanes[j->k], j->err));
    LEAT_TRY(leat__taps_build(&scratch->taps_y, pass->resample, src->height, pass->height, false, 0, j->err));
    weighted_run r = {.rows_first = pass->resample == LEAT_RESAMPLE_TF_AREA,
                      .bytes = j->in == LEAT_DTYPE_U8,
                      .row = (size_t)src->width * j->pixel_in,
                      .n_ring = y->max_taps};
    r.step = LEAT_ALIGN_UP((r.rows_first ? narrow : r.row) + LEAT_ROW_PAD, LEAT_CACHE_LINE);
    LEAT_TRY(leat__job_reserve(j, &scratch->ring, (size_t)r.n_ring, r.step));
    LEAT_TRY(leat__job_reserve(j, &scratch->turned, wide, 1));
    LEAT_TRY(leat__job_reserve(j, &scratch->row, narrow, 1));
    LEAT_TRY(leat__job_reserve(j, &scratch->taken, 2 * (size_t)r.n_ring, sizeof(void *)));
    const void **flight = (const void **)(void *)scratch->taken.data;
    const void **taken = flight + r.n_ring;
    int next = 0; /* first source row that was not asked for */
    for (int i = 0; i < pass->height; i++) {
        const int first = y->lower[i], count = y->count[i];
        const int end = LEAT_MIN(first + count, src->height);
        for (next = LEAT_MAX(next, first); next < end; next++)
            LEAT_TRY(weighted_row(j, &r, next, &flight[next % r.n_ring]));
        for (int t = 0; t < count; t++) taken[t] = flight[LEAT_MIN(first + t, end - 1) % r.n_ring];
        weighted_finish(j, &r, i, taken, count);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- Pillow */

typedef struct pil_run {
    bool wide, tall, alpha; /* which passes there are */
    size_t in, out;         /* bytes of a source row and of a row of the output */
    size_t step;            /* from one row of the ring to the next             */
    int n_ring;
    size_t apart;         /* not 0: rows come as planes, so far apart, and stay so in the ring */
    size_t plane;         /* there they are so far apart                                       */
    leat__chain chain[3]; /* what the store then does, channel by channel                      */
} pil_run;

/* Planes all the way from the decoder to the batch: nothing is interleaved and nothing taken apart again. */
static bool takes_planes(const leat__job *j, pil_run *r) {
    const leat__pass *pass = j->pass;
    const bool useful = pass->nchw && pass->dtype == LEAT_DTYPE_F32 && j->channels == 3 && !j->chunked;
    if (!useful || !r->wide || !r->tall || !j->src->planes || !j->src->planes(j->src, &r->apart))
        return false;
    const leat__chain *all = leat__job_last_chain(j);
    for (int c = 0; c < 3; c++) {
        leat__chain *one = &r->chain[c];
        one->n = all->n;
        one->channels = 1;
        for (int s = 0; s < all->n; s++)
            for (int k = 0; k < LEAT_CHAIN_PERIOD + 4; k++) {
                one->mul[s][k] = all->mul[s][c];
                one->add[s][k] = all->add[s][c];
            }
    }
    return true;
}

static void store_planes(const leat__job *j, const pil_run *r, int i, const uint8_t *row) {
    const leat__pass *pass = j->pass;
    const size_t width = (size_t)pass->width, y = (size_t)(pass->flip_y ? pass->height - 1 - i : i);
    for (size_t c = 0; c < 3; c++)
        j->dsp->from_u8((float *)(void *)j->dst + c * j->plane + y * width, row + c * r->plane, width,
                        &r->chain[c], pass->stream);
}

/* Source row y, multiplied and resampled as needed; *out is a place of the ring, or the source's own row. */
static int pil_row(const leat__job *j, const pil_run *r, int y, const uint8_t **out) {
    const void *row;
    LEAT_TRY(leat__job_fetch(j, y, &row));
    uint8_t *place = j->scratch->ring.data + (size_t)(y % r->n_ring) * r->step;
    const leat__taps *taps = &j->scratch->taps_x[j->pass->flip_x];
    if (r->apart) {
        j->dsp->pil_h_planes(place, r->plane, row, r->apart, taps);
        *out = place;
        return 0;
    }
    if (r->alpha) {
        uint8_t *mixed = r->wide ? j->scratch->turned.data : place;
        j->dsp->alpha_multiply(mixed, row, (size_t)j->src->width, j->channels);
        row = mixed;
    }
    if (r->wide) j->dsp->pil_h[j->k](place, row, taps, j->channels);
    else if (!r->alpha && j->src->data) place = NULL;
    else if (!r->alpha) memcpy(place, row, r->out);
    *out = place ? place : row;
    return 0;
}

static void pil_finish(const leat__job *j, const pil_run *r, int i, const uint8_t *row) {
    uint8_t *out = j->scratch->row.data;
    const size_t width = (size_t)j->pass->width;
    const bool turn = j->pass->flip_x && !r->wide; /* otherwise the table mirrored it */
    if (turn)
        j->dsp->reverse(j->scratch->turned.data, row, width, j->pixel_in), row = j->scratch->turned.data;
    if (r->alpha) j->dsp->alpha_divide(out, row, width, j->channels), row = out;
    leat__job_store_row(j, i, row, LEAT_DTYPE_U8);
}

int leat__job_run_pil(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    leat__pass_scratch *scratch = j->scratch;
    const leat__taps *y = &scratch->taps_y;
    pil_run r = {.wide = src->width != pass->width,
                 .tall = src->height != pass->height,
                 .alpha = j->channels == 2 || j->channels == 4,
                 .in = (size_t)src->width * j->pixel_in,
                 .out = (size_t)pass->width * j->pixel_in,
                 .plane = LEAT_ALIGN_UP((size_t)pass->width, (size_t)8),
                 .n_ring = 1};
    const size_t room = r.plane * j->pixel_in; /* of a row of the output, in either form */
    const int lanes = j->dsp->lanes[takes_planes(j, &r) ? 1 : j->k];
    if (r.wide)
        LEAT_TRY(leat__taps_build(&scratch->taps_x[pass->flip_x], pass->resample, src->width, pass->width,
                                  pass->flip_x, lanes, j->err));
    if (r.tall) {
        LEAT_TRY(
            leat__taps_build(&scratch->taps_y, pass->resample, src->height, pass->height, false, 0, j->err));
        r.n_ring = y->max_taps;
    }
    r.step = LEAT_ALIGN_UP(room + LEAT_ROW_PAD, LEAT_CACHE_LINE);
    LEAT_TRY(leat__job_reserve(j, &scratch->ring, (size_t)r.n_ring, r.step));
    LEAT_TRY(leat__job_reserve(j, &scratch->row, room, 1));
    LEAT_TRY(leat__job_reserve(j, &scratch->turned, LEAT_MAX(r.in, room), 1));
    /* Addresses of the rows in flight, by y % n_ring, and then those of one output in order. */
    LEAT_TRY(leat__job_reserve(j, &scratch->taken, 2 * (size_t)r.n_ring, sizeof(uint8_t *)));
    const uint8_t **flight = (const uint8_t **)(void *)scratch->taken.data;
    const uint8_t **taken = flight + r.n_ring;
    int next = 0; /* first source row that was not asked for */
    for (int i = 0; i < pass->height; i++) {
        if (!r.tall) {
            LEAT_TRY(pil_row(j, &r, i, &flight[0]));
            pil_finish(j, &r, i, flight[0]);
            continue;
        }
        const int first = y->lower[i], count = y->count[i];
        for (next = LEAT_MAX(next, first); next < first + count; next++)
            LEAT_TRY(pil_row(j, &r, next, &flight[next % r.n_ring]));
        for (int t = 0; t < count; t++) taken[t] = flight[(first + t) % r.n_ring];
        j->dsp->pil_v(scratch->row.data, taken, y->coef + (size_t)i * (size_t)y->coef_step, count,
                      r.apart ? room : r.out);
        if (r.apart) store_planes(j, &r, i, scratch->row.data);
        else pil_finish(j, &r, i, scratch->row.data);
    }
    return 0;
}
