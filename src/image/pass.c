/* SPDX-License-Identifier: Apache-2.0 */
/* One pass: rows as they are or picked (the others are in pass_resample.c), and one way to store a run of
 * pixels. */
#include "image/pass.h"

#include "image/pass_job.h"

#define CHUNK_VALUES 3072 /* between two sweeps: 12 KiB of floats stay in the first cache */
#define BLOCK_BYTES 3072  /* rows that are mirrored or looked up before they are stored together */

const leat__chain leat__no_chain;

int leat__job_reserve(const leat__job *j, leat__buf *buf, size_t n, size_t bytes) {
    size_t total;
    buf->kind = LEAT_MEM_WORKER;
    if (LEAT_LIKELY(leat__mul_size(n, bytes, &total) && leat__add_size(total, LEAT_ROW_PAD, &total) &&
                    leat__buf_reserve(buf, total)))
        return 0;
    return leat__fail_memory(j->err, total, "rows of a picture");
}

int leat__job_fetch(const leat__job *j, int y, const void **row) {
    leat__rows *src = j->src;
    if (src->data) *row = src->data + (ptrdiff_t)y * src->stride;
    else LEAT_TRY(src->row(src, y, row, j->err));
    if (src->dtype == LEAT_DTYPE_F32 && (uintptr_t)*row % sizeof(float)) { /* raw bytes of a record */
        const size_t bytes = (size_t)src->width * j->pixel_in;
        LEAT_TRY(leat__job_reserve(j, &j->scratch->moved, bytes, 1));
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

const leat__chain *leat__job_chain(const leat__job *j, int i) {
    return i < j->n_chains ? &j->scratch->chain[i] : &leat__no_chain;
}

/* The last step: n pixels of the given type, through the chain, to place `pixel` of the output. u8 outputs
 * have no chain left. */
static void put(const leat__job *j, size_t pixel, const void *src, int dtype, size_t n,
                const leat__chain *chain) {
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
static void store(const leat__job *j, size_t pixel, const void *src, int dtype, size_t n) {
    if (!j->chunked) {
        put(j, pixel, src, dtype, n, leat__job_chain(j, 0));
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
            if (type == LEAT_DTYPE_U8)
                j->dsp->from_u8(between, from, m * channels, leat__job_chain(j, s), false);
            else j->dsp->from_f32(between, from, m * channels, leat__job_chain(j, s), false);
            from = between;
            type = LEAT_DTYPE_F32;
        }
        put(j, pixel + done, from, type, m, leat__job_chain(j, n_sweeps));
    }
}

void leat__job_store_row(const leat__job *j, int y, const void *src, int dtype) {
    const int place = j->pass->flip_y ? j->pass->height - 1 - y : y;
    store(j, (size_t)place * (size_t)j->pass->width, src, dtype, (size_t)j->pass->width);
}

/* -------------------------------------------------------------------------------- without resampling */

static void turn_row(const leat__job *j, uint8_t *dst, const void *row) {
    const size_t width = (size_t)j->pass->width;
    if (j->pass->flip_x) {
        j->dsp->reverse(dst, row, width, j->pixel_in);
        row = dst;
    }
    if (j->lut) j->dsp->lut(dst, row, j->pass->lut, width * j->pixel_in);
}

static int run_plain(const leat__job *j) {
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
    if (turned) LEAT_TRY(leat__job_reserve(j, buf, (size_t)block, row_bytes));
    if (!src->data) {
        for (int y = 0; y < height; y++) {
            const void *row;
            LEAT_TRY(leat__job_fetch(j, y, &row));
            if (turned) turn_row(j, buf->data, row);
            leat__job_store_row(j, y, turned ? buf->data : row, dtype);
        }
        return 0;
    }
    /* In memory: output rows in their own order, those that are copied anyway in blocks. */
    for (int first = 0; first < height; first += turned ? block : 1) {
        const int n = turned ? LEAT_MIN(block, height - first) : 1;
        const void *row = NULL;
        for (int i = 0; i < n; i++) {
            const int y = first + i;
            LEAT_TRY(leat__job_fetch(j, pass->flip_y ? height - 1 - y : y, &row));
            if (turned) turn_row(j, buf->data + (size_t)i * row_bytes, row);
        }
        store(j, (size_t)first * width, turned ? buf->data : row, dtype, (size_t)n * width);
    }
    return 0;
}

static int run_nearest(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    const leat__taps *x = &j->scratch->taps_x[pass->flip_x], *y = &j->scratch->taps_y;
    LEAT_TRY(leat__taps_build(&j->scratch->taps_x[pass->flip_x], pass->resample, src->width, pass->width,
                              pass->flip_x, 0, j->err));
    LEAT_TRY(
        leat__taps_build(&j->scratch->taps_y, pass->resample, src->height, pass->height, false, 0, j->err));
    LEAT_TRY(leat__job_reserve(j, &j->scratch->row, (size_t)pass->width, j->pixel_in));
    uint8_t *out = j->scratch->row.data;
    int have = -1;
    for (int i = 0; i < pass->height; i++) {
        if (y->lower[i] != have) {
            const void *row;
            have = y->lower[i];
            LEAT_TRY(leat__job_fetch(j, have, &row));
            j->dsp->nearest(out, row, x, j->pixel_in);
            if (j->lut) j->dsp->lut(out, out, pass->lut, (size_t)pass->width * j->pixel_in);
        }
        leat__job_store_row(j, i, out, src->dtype);
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
    if (leat__resample_is_pil(pass->resample) && src->dtype != LEAT_DTYPE_U8)
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
    const bool kept =
        pass->resample == LEAT_RESAMPLE_NONE || (same && leat__resample_keeps_same_size(pass->resample));
    const bool gives_f32 = leat__resample_gives_f32(pass->resample);
    leat__job j = {
        .pass = pass,
        .dsp = dsp,
        .src = src,
        .scratch = scratch,
        .err = err,
        .dst = dst,
        .channels = src->channels,
        .k = leat__image_dsp_index(src->channels),
        .lut = pass->has_lut && src->dtype == LEAT_DTYPE_U8 && !gives_f32,
        .pixel_in = (size_t)src->channels * (src->dtype == LEAT_DTYPE_U8 ? 1 : sizeof(float)),
        .plane = (size_t)pass->height * (size_t)pass->width,
    };
    if (pass->n_stages) {
        const int head = LEAT_MIN(pass->n_stages, LEAT_CHAIN_STAGES), rest = pass->n_stages - head;
        set_chain(&scratch->chain[0], pass->stage, head, src->channels);
        if (rest) set_chain(&scratch->chain[1], pass->stage + head, rest, src->channels);
        j.n_chains = rest ? 2 : 1;
    }
    const bool floats = src->dtype == LEAT_DTYPE_F32 || (gives_f32 && !kept);
    if (pass->dtype == LEAT_DTYPE_F32) j.chunked = j.n_chains > 1;
    else j.chunked = j.n_chains > 0 || (floats && pass->nchw && src->channels > 1);
    if (j.chunked) /* floats, then bytes */
        LEAT_TRY(leat__job_reserve(&j, &scratch->chunk, LEAT_MAX((size_t)CHUNK_VALUES, (size_t)src->channels),
                                   sizeof(float) + 1));
    if (kept) return run_plain(&j);
    if (leat__resample_is_nearest(pass->resample)) return run_nearest(&j);
    if (leat__resample_is_pil(pass->resample)) return leat__job_run_pil(&j);
    if (pass->resample == LEAT_RESAMPLE_TF_BILINEAR) return leat__job_run_linear(&j);
    return leat__job_run_weighted(&j);
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
