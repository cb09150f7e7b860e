/* SPDX-License-Identifier: Apache-2.0 */
/* One pass, four ways to get a row (plain, nearest, tf.image, Pillow) and one way to store a run of pixels.
 * Only rows in flight are held: two rows of floats for tf.image, the height of the filter for Pillow. */
#include "image/pass.h"

#define CHUNK_VALUES 3072 /* between two sweeps: 12 KiB of floats stay in the first cache */
#define BLOCK_BYTES 16384 /* rows that are mirrored or looked up before they are stored together */

typedef struct job {
    const leat__pass *pass;
    const leat__image_dsp *dsp;
    leat__rows *src;
    leat__pass_scratch *scratch;
    leat_error *err;
    uint8_t *dst;
    int channels, k; /* k: index into the tables of kernels       */
    int n_chains;
    bool lut;
    bool chunked;    /* values need a buffer between two sweeps */
    size_t pixel_in; /* bytes of a source pixel                 */
    size_t plane;    /* pixels of the output                    */
} job;

static const leat__chain no_chain;

static int reserve(const job *j, leat__buf *buf, size_t n, size_t bytes) {
    size_t total;
    buf->kind = LEAT_MEM_WORKER;
    if (LEAT_LIKELY(leat__mul_size(n, bytes, &total) && leat__add_size(total, LEAT_ROW_PAD, &total) &&
                    leat__buf_reserve(buf, total)))
        return 0;
    return leat__fail_memory(j->err, total, "rows of a picture");
}

static int fetch(const job *j, int y, const void **row) {
    leat__rows *src = j->src;
    if (src->data) *row = src->data + (ptrdiff_t)y * src->stride;
    else LEAT_TRY(src->row(src, y, row, j->err));
    if (src->dtype == LEAT_DTYPE_F32 && (uintptr_t)*row % sizeof(float)) { /* raw bytes of a record */
        const size_t bytes = (size_t)src->width * j->pixel_in;
        LEAT_TRY(reserve(j, &j->scratch->moved, bytes, 1));
        *row = memcpy(j->scratch->moved.data, *row, bytes);
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------- store */

static void set_chain(leat__chain *chain, const leat__affine *stage, int n, int channels) {
    const int period = channels <= 4 ? channels : 1;
    chain->n = n;
    chain->channels = period;
    for (int s = 0; s < n; s++) {
        float *mul = chain->mul[s], *add = chain->add[s];
        for (int c = 0; c < period; c++) mul[c] = stage[s].mul[c], add[c] = stage[s].add[c];
        for (int i = period; i < LEAT_CHAIN_PERIOD + 4; i++)
            mul[i] = mul[i - period], add[i] = add[i - period];
    }
}

static const leat__chain *chain_at(const job *j, int i) {
    return i < j->n_chains ? &j->scratch->chain[i] : &no_chain;
}

/* The last step: n pixels of the given type, through the chain, to place `pixel` of the output. u8 outputs
 * have no chain left. */
static void put(const job *j, size_t pixel, const void *src, int dtype, size_t n, const leat__chain *chain) {
    const leat__pass *pass = j->pass;
    const leat__image_dsp *dsp = j->dsp;
    const size_t channels = (size_t)j->channels, values = n * channels;
    const bool planes = pass->nchw && j->channels > 1;
    if (pass->dtype == LEAT_DTYPE_F32) {
        float *dst = (float *)(void *)j->dst + (planes ? pixel : pixel * channels);
        if (dtype == LEAT_DTYPE_U8) {
            if (planes) dsp->planar_from_u8[j->k](dst, j->plane, src, n, j->channels, chain, pass->stream);
            else dsp->from_u8(dst, src, values, chain, pass->stream);
        } else {
            if (planes) dsp->planar_from_f32[j->k](dst, j->plane, src, n, j->channels, chain, pass->stream);
            else dsp->from_f32(dst, src, values, chain, pass->stream);
        }
        return;
    }
    uint8_t *dst = j->dst + (planes ? pixel : pixel * channels);
    if (dtype == LEAT_DTYPE_F32) {
        if (!planes) {
            dsp->u8_from_f32(dst, src, values);
            return;
        }
        uint8_t *bytes = j->scratch->chunk.data + sizeof(float) * LEAT_MAX((size_t)CHUNK_VALUES, channels);
        dsp->u8_from_f32(bytes, src, values);
        src = bytes;
    }
    if (planes) dsp->planar_u8[j->k](dst, j->plane, src, n, j->channels);
    else dsp->copy(dst, src, values, pass->stream);
}

/* Stores n finished pixels, any number of rows, from place `pixel` on. */
static void store(const job *j, size_t pixel, const void *src, int dtype, size_t n) {
    if (!j->chunked) {
        put(j, pixel, src, dtype, n, chain_at(j, 0));
        return;
    }
    const size_t channels = (size_t)j->channels;
    const size_t step = LEAT_MAX(CHUNK_VALUES / channels, (size_t)1);
    const int n_sweeps = j->pass->dtype == LEAT_DTYPE_F32 ? j->n_chains - 1 : j->n_chains;
    float *between = (float *)(void *)j->scratch->chunk.data;
    for (size_t done = 0; done < n; done += step) {
        const size_t m = LEAT_MIN(step, n - done);
        const size_t at = done * channels;
        const void *from = dtype == LEAT_DTYPE_U8 ? (const void *)((const uint8_t *)src + at)
                                                  : (const void *)((const float *)src + at);
        int type = dtype;
        for (int s = 0; s < n_sweeps; s++) {
            if (type == LEAT_DTYPE_U8) j->dsp->from_u8(between, from, m * channels, chain_at(j, s), false);
            else j->dsp->from_f32(between, from, m * channels, chain_at(j, s), false);
            from = between;
            type = LEAT_DTYPE_F32;
        }
        put(j, pixel + done, from, type, m, chain_at(j, n_sweeps));
    }
}

static void store_row(const job *j, int y, const void *src, int dtype) {
    const int place = j->pass->flip_y ? j->pass->height - 1 - y : y;
    store(j, (size_t)place * (size_t)j->pass->width, src, dtype, (size_t)j->pass->width);
}

/* -------------------------------------------------------------------------------- without resampling */

static void turn_row(const job *j, uint8_t *dst, const void *row) {
    const size_t width = (size_t)j->pass->width;
    if (j->pass->flip_x) {
        j->dsp->reverse(dst, row, width, j->pixel_in);
        row = dst;
    }
    if (j->lut) j->dsp->lut(dst, row, j->pass->lut, width * j->pixel_in);
}

static int run_plain(const job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    const int height = pass->height, dtype = src->dtype;
    const size_t width = (size_t)pass->width, row_bytes = width * j->pixel_in;
    const bool turned = pass->flip_x || j->lut;
    const bool odd = dtype == LEAT_DTYPE_F32 && (uintptr_t)src->data % sizeof(float);
    if (src->data && !turned && !pass->flip_y && !odd && src->stride == (ptrdiff_t)row_bytes) {
        store(j, 0, src->data, dtype, j->plane);
        return 0;
    }
    const int block = src->data ? (int)LEAT_CLAMP(BLOCK_BYTES / row_bytes, (size_t)1, (size_t)height) : 1;
    leat__buf *buf = &j->scratch->row;
    if (turned) LEAT_TRY(reserve(j, buf, (size_t)block, row_bytes));
    if (!src->data) {
        for (int y = 0; y < height; y++) {
            const void *row;
            LEAT_TRY(fetch(j, y, &row));
            if (turned) turn_row(j, buf->data, row);
            store_row(j, y, turned ? buf->data : row, dtype);
        }
        return 0;
    }
    /* In memory: output rows in their own order, those that are copied anyway in blocks. */
    for (int first = 0; first < height; first += turned ? block : 1) {
        const int n = turned ? LEAT_MIN(block, height - first) : 1;
        const void *row = NULL;
        for (int i = 0; i < n; i++) {
            const int y = first + i;
            LEAT_TRY(fetch(j, pass->flip_y ? height - 1 - y : y, &row));
            if (turned) turn_row(j, buf->data + (size_t)i * row_bytes, row);
        }
        store(j, (size_t)first * width, turned ? buf->data : row, dtype, (size_t)n * width);
    }
    return 0;
}

static int run_nearest(const job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    const leat__taps *x = &j->scratch->taps_x[pass->flip_x], *y = &j->scratch->taps_y;
    LEAT_TRY(leat__taps_build(&j->scratch->taps_x[pass->flip_x], pass->resample, src->width, pass->width,
                              pass->flip_x, 0, j->err));
    LEAT_TRY(
        leat__taps_build(&j->scratch->taps_y, pass->resample, src->height, pass->height, false, 0, j->err));
    LEAT_TRY(reserve(j, &j->scratch->row, (size_t)pass->width, j->pixel_in));
    uint8_t *out = j->scratch->row.data;
    int have = -1;
    for (int i = 0; i < pass->height; i++) {
        if (y->lower[i] != have) {
            const void *row;
            have = y->lower[i];
            LEAT_TRY(fetch(j, have, &row));
            j->dsp->nearest(out, row, x, j->pixel_in);
            if (j->lut) j->dsp->lut(out, out, pass->lut, (size_t)pass->width * j->pixel_in);
        }
        store_row(j, i, out, src->dtype);
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------- tf.image */

/* Row `want` of the source, resampled, in one of two places; the one with row `keep` is not touched. */
static int linear_row(const job *j, float *const place[2], int held[2], int want, int keep,
                      const float **out) {
    const leat__pass *pass = j->pass;
    int i = held[0] == want ? 0 : 1;
    if (held[i] != want) {
        const void *row;
        i = held[0] == keep ? 1 : 0;
        LEAT_TRY(fetch(j, want, &row));
        const leat__taps *taps = &j->scratch->taps_x[pass->flip_x];
        if (j->src->dtype == LEAT_DTYPE_U8) j->dsp->tf_h_u8[j->k](place[i], row, taps, j->channels);
        else j->dsp->tf_h_f32(place[i], row, taps, j->channels);
        held[i] = want;
    }
    *out = place[i];
    return 0;
}

static int run_linear(const job *j) {
    const leat__pass *pass = j->pass;
    const leat__taps *y = &j->scratch->taps_y;
    const size_t values = (size_t)pass->width * (size_t)j->channels;
    const size_t step = LEAT_ALIGN_UP(values * sizeof(float) + LEAT_ROW_PAD, LEAT_CACHE_LINE);
    LEAT_TRY(leat__taps_build(&j->scratch->taps_x[pass->flip_x], pass->resample, j->src->width, pass->width,
                              pass->flip_x, 0, j->err));
    LEAT_TRY(leat__taps_build(&j->scratch->taps_y, pass->resample, j->src->height, pass->height, false, 0,
                              j->err));
    LEAT_TRY(reserve(j, &j->scratch->ring, 2, step));
    LEAT_TRY(reserve(j, &j->scratch->row, values, sizeof(float)));
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
                         chain_at(j, 0), pass->stream);
        } else {
            j->dsp->lerp(out, top, bottom, y->lerp[i], values, &no_chain, false);
            store_row(j, i, out, LEAT_DTYPE_F32);
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- Pillow */

typedef struct pil_run {
    bool wide, tall, alpha; /* which passes there are */
    size_t in, out;         /* bytes of a source row and of a row of the output */
    size_t step;            /* from one row of the ring to the next             */
    int n_ring;
} pil_run;

/* Source row y, multiplied and resampled as needed; *out is a place of the ring, or the source's own row. */
static int pil_row(const job *j, const pil_run *r, int y, const uint8_t **out) {
    const void *row;
    LEAT_TRY(fetch(j, y, &row));
    uint8_t *place = j->scratch->ring.data + (size_t)(y % r->n_ring) * r->step;
    if (r->alpha) {
        uint8_t *mixed = r->wide ? j->scratch->turned.data : place;
        j->dsp->alpha_multiply(mixed, row, (size_t)j->src->width, j->channels);
        row = mixed;
    }
    if (r->wide) j->dsp->pil_h[j->k](place, row, &j->scratch->taps_x[j->pass->flip_x], j->channels);
    else if (!r->alpha && j->src->data) place = NULL;
    else if (!r->alpha) memcpy(place, row, r->out);
    *out = place ? place : row;
    return 0;
}

static void pil_finish(const job *j, const pil_run *r, int i, const uint8_t *row) {
    uint8_t *out = j->scratch->row.data;
    const size_t width = (size_t)j->pass->width;
    const bool turn = j->pass->flip_x && !r->wide; /* otherwise the table mirrored it */
    if (turn)
        j->dsp->reverse(j->scratch->turned.data, row, width, j->pixel_in), row = j->scratch->turned.data;
    if (r->alpha) j->dsp->alpha_divide(out, row, width, j->channels), row = out;
    if (j->lut) j->dsp->lut(out, row, j->pass->lut, r->out), row = out;
    store_row(j, i, row, LEAT_DTYPE_U8);
}

static int run_pil(const job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    leat__pass_scratch *scratch = j->scratch;
    const leat__taps *y = &scratch->taps_y;
    pil_run r = {.wide = src->width != pass->width,
                 .tall = src->height != pass->height,
                 .alpha = j->channels == 2 || j->channels == 4,
                 .in = (size_t)src->width * j->pixel_in,
                 .out = (size_t)pass->width * j->pixel_in,
                 .n_ring = 1};
    if (r.wide)
        LEAT_TRY(leat__taps_build(&scratch->taps_x[pass->flip_x], pass->resample, src->width, pass->width,
                                  pass->flip_x, j->dsp->pil_lanes[j->k], j->err));
    if (r.tall) {
        LEAT_TRY(
            leat__taps_build(&scratch->taps_y, pass->resample, src->height, pass->height, false, 0, j->err));
        r.n_ring = y->max_taps;
    }
    r.step = LEAT_ALIGN_UP(r.out + LEAT_ROW_PAD, LEAT_CACHE_LINE);
    LEAT_TRY(reserve(j, &scratch->ring, (size_t)r.n_ring, r.step));
    LEAT_TRY(reserve(j, &scratch->row, r.out, 1));
    LEAT_TRY(reserve(j, &scratch->turned, LEAT_MAX(r.in, r.out), 1));
    /* Addresses of the rows in flight, by y % n_ring, and then those of one output in order. */
    LEAT_TRY(reserve(j, &scratch->taken, 2 * (size_t)r.n_ring, sizeof(uint8_t *)));
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
        j->dsp->pil_v(scratch->row.data, taken, y->coef + (size_t)i * (size_t)y->coef_step, count, r.out);
        pil_finish(j, &r, i, scratch->row.data);
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- run */

static int check(const leat__pass *pass, const leat__rows *src, const void *dst, leat_error *err) {
    size_t bytes;
    if (src->height < 1 || src->width < 1 || src->channels < 1 || pass->height < 1 || pass->width < 1)
        return leat__fail(err, LEAT_ERR_SHAPE, "an empty picture: %dx%dx%d to %dx%d", src->height, src->width,
                          src->channels, pass->height, pass->width);
    if ((src->dtype != LEAT_DTYPE_U8 && src->dtype != LEAT_DTYPE_F32) ||
        (pass->dtype != LEAT_DTYPE_U8 && pass->dtype != LEAT_DTYPE_F32))
        return leat__fail(err, LEAT_ERR_TYPE, "pictures are u8 or f32");
    if (pass->n_stages < 0 || pass->n_stages > LEAT_PASS_STAGES || (!src->data && !src->row))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "a pass with %d stages%s", pass->n_stages,
                          src->data || src->row ? "" : " and no source");
    if (!leat__mul_size((size_t)LEAT_MAX(src->width, pass->width), (size_t)src->channels * 8, &bytes) ||
        !leat__mul_size(bytes, (size_t)LEAT_MAX(src->height, pass->height), &bytes) || bytes > PTRDIFF_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %dx%dx%d is too large", src->height, src->width,
                          src->channels);
    if (pass->dtype == LEAT_DTYPE_F32 && (uintptr_t)dst % sizeof(float))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "floats are to be written at an odd address");
    if (pass->resample == LEAT_RESAMPLE_NONE) {
        if (src->height == pass->height && src->width == pass->width) return 0;
        return leat__fail(err, LEAT_ERR_SHAPE, "the picture is %dx%d and not %dx%d: resize or crop it",
                          src->height, src->width, pass->height, pass->width);
    }
    if (pass->resample == LEAT_RESAMPLE_PIL_BILINEAR && src->dtype != LEAT_DTYPE_U8)
        return leat__fail(err, LEAT_ERR_TYPE, "the pil flavour of resize takes u8 pictures only");
    if (LEAT_MAX(LEAT_MAX(src->width, pass->width), LEAT_MAX(src->height, pass->height)) >
            LEAT_TAPS_SIZE_MAX ||
        src->channels > LEAT_TAPS_SIZE_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %dx%d is too large to resize", src->height,
                          src->width);
    return 0;
}

int leat__pass_run(const leat__pass *pass, const leat__image_dsp *dsp, leat__rows *src, void *dst,
                   leat__pass_scratch *scratch, leat_error *err) {
    LEAT_TRY(check(pass, src, dst, err));
    const bool same = src->height == pass->height && src->width == pass->width;
    const bool linear = pass->resample == LEAT_RESAMPLE_TF_BILINEAR;
    job j = {
        .pass = pass,
        .dsp = dsp,
        .src = src,
        .scratch = scratch,
        .err = err,
        .dst = dst,
        .channels = src->channels,
        .k = leat__image_dsp_index(src->channels),
        .lut = pass->has_lut && src->dtype == LEAT_DTYPE_U8 && !linear,
        .pixel_in = (size_t)src->channels * (src->dtype == LEAT_DTYPE_U8 ? 1 : sizeof(float)),
        .plane = (size_t)pass->height * (size_t)pass->width,
    };
    if (pass->n_stages) {
        const int head = LEAT_MIN(pass->n_stages, LEAT_CHAIN_STAGES), rest = pass->n_stages - head;
        set_chain(&scratch->chain[0], pass->stage, head, src->channels);
        if (rest) set_chain(&scratch->chain[1], pass->stage + head, rest, src->channels);
        j.n_chains = rest ? 2 : 1;
    }
    const bool floats = src->dtype == LEAT_DTYPE_F32 || (linear && !same);
    if (pass->dtype == LEAT_DTYPE_F32) j.chunked = j.n_chains > 1;
    else j.chunked = j.n_chains > 0 || (floats && pass->nchw && src->channels > 1);
    if (j.chunked) /* floats, then bytes */
        LEAT_TRY(reserve(&j, &scratch->chunk, LEAT_MAX((size_t)CHUNK_VALUES, (size_t)src->channels),
                         sizeof(float) + 1));
    if (same || pass->resample == LEAT_RESAMPLE_NONE) return run_plain(&j);
    if (linear) return run_linear(&j);
    if (pass->resample == LEAT_RESAMPLE_TF_NEAREST) return run_nearest(&j);
    return run_pil(&j);
}

void leat__pass_scratch_free(leat__pass_scratch *scratch) {
    leat__taps_free(&scratch->taps_x[0]);
    leat__taps_free(&scratch->taps_x[1]);
    leat__taps_free(&scratch->taps_y);
    leat__buf_free(&scratch->ring);
    leat__buf_free(&scratch->row);
    leat__buf_free(&scratch->turned);
    leat__buf_free(&scratch->chunk);
    leat__buf_free(&scratch->taken);
    leat__buf_free(&scratch->moved);
}

static void list_bufs(leat__pass_scratch *s, leat__buf *bufs[LEAT_PASS_BUFS]) {
    leat__buf *const all[LEAT_PASS_BUFS] = {&s->taps_x[0].buf, &s->taps_x[1].buf, &s->taps_y.buf,
                                            &s->ring,          &s->row,           &s->turned,
                                            &s->chunk,         &s->taken,         &s->moved};
    memcpy(bufs, all, sizeof all);
}

uint32_t leat__pass_scratch_grown(const leat__pass_scratch *scratch) {
    leat__buf *bufs[LEAT_PASS_BUFS];
    list_bufs((leat__pass_scratch *)scratch, bufs);
    uint32_t grown = 0;
    for (int i = 0; i < LEAT_PASS_BUFS; i++) grown += bufs[i]->grown;
    return grown;
}

void leat__pass_scratch_caps(const leat__pass_scratch *scratch, size_t caps[LEAT_PASS_BUFS]) {
    leat__buf *bufs[LEAT_PASS_BUFS];
    list_bufs((leat__pass_scratch *)scratch, bufs);
    for (int i = 0; i < LEAT_PASS_BUFS; i++) caps[i] = bufs[i]->cap;
}

void leat__pass_scratch_adopt(leat__pass_scratch *scratch, const size_t caps[LEAT_PASS_BUFS]) {
    leat__buf *bufs[LEAT_PASS_BUFS];
    list_bufs(scratch, bufs);
    for (int i = 0; i < LEAT_PASS_BUFS; i++) {
        if (bufs[i]->cap >= caps[i]) continue;
        bufs[i]->kind = LEAT_MEM_WORKER;
        bufs[i]->size = 0;
        leat__buf_reserve_exactly(bufs[i], caps[i]);
    }
    /* Tables point into their buffers: they are made again when they are next needed. */
    scratch->taps_x[0].n_out = scratch->taps_x[1].n_out = scratch->taps_y.n_out = 0;
}
