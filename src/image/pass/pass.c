/* SPDX-License-Identifier: Apache-2.0 */
/* One pass: rows as they are or picked (the others are in pass_resample.c), and one way to store a run of
 * pixels. */
#include "image/pass/pass.h"

#include "image/pass/pass_job.h"

#define CHUNK_VALUES 3072   /* between two sweeps: 12 KiB of floats stay in the first cache */
#define FORESEEN_BYTES 3072 /* of rows that are fetched before they are read */
#define BLOCK_BYTES 3072    /* rows that are mirrored or looked up before they are stored together */

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
    const size_t width = (size_t)src->width;
    if ((uintptr_t)*row & j->odd) { /* raw bytes of a record */
        LEAT_TRY(leat__job_reserve(j, &j->scratch->moved, width, j->pixel_in));
        *row =
            memcpy(j->scratch->moved.data, *row, width * (size_t)j->channels * leat_dtype_size(src->dtype));
    }
    if (j->in != src->dtype) { /* u16 that will be weighted */
        LEAT_TRY(leat__job_reserve(j, &j->scratch->widened, width, j->pixel_in));
        float *wide = (float *)(void *)j->scratch->widened.data;
        j->dsp->from_u16(wide, *row, width * (size_t)j->channels, &leat__no_chain, false);
        *row = wide;
    }
    return 0;
}

/* -------------------------------------------------------------------------------------------- store */

const leat__chain *leat__job_last_chain(const leat__job *j) {
    const leat__sweep *last = j->n_sweeps ? &j->sweep[j->n_sweeps - 1] : NULL;
    return last && last->chain ? last->chain : &leat__no_chain;
}

static bool is_half(int dtype) {
    return dtype == LEAT_DTYPE_F16 || dtype == LEAT_DTYPE_BF16;
}

/* The last step: n pixels of the given type, through the chain, to place `pixel` of the output. Only outputs of floats
 * have a chain left. */
static void put(const leat__job *j, size_t pixel, const void *src, int dtype, size_t n,
                const leat__chain *chain) {
    const leat__pass *pass = j->pass;
    const leat__image_dsp *dsp = j->dsp;
    const size_t channels = (size_t)j->channels, values = n * channels;
    const bool planes = pass->nchw && j->channels > 1;
    const size_t at = planes ? pixel : pixel * channels;
    if (pass->dtype == LEAT_DTYPE_F32) {
        float *dst = (float *)(void *)j->dst + at;
        if (dtype == LEAT_DTYPE_U8) {
            if (planes) dsp->planar_from_u8[j->k](dst, j->plane, src, n, j->channels, chain, pass->stream);
            else dsp->from_u8(dst, src, values, chain, pass->stream);
        } else {
            if (planes) dsp->planar_from_f32[j->k](dst, j->plane, src, n, j->channels, chain, pass->stream);
            else dsp->from_f32(dst, src, values, chain, pass->stream);
        }
        return;
    }
    uint8_t *bytes = j->chunked ? j->scratch->chunk.data + j->chunk * sizeof(float) : NULL;
    if (leat_dtype_size(pass->dtype) == 2) {
        uint16_t *dst = (uint16_t *)(void *)j->dst + at;
        if (is_half(pass->dtype)) { /* from floats; planes are made of halves, which are fewer bytes */
            uint16_t *to = planes ? (uint16_t *)(void *)bytes : dst;
            if (pass->dtype == LEAT_DTYPE_F16) dsp->half_from_f32(to, src, values, !planes && pass->stream);
            else dsp->bf16_from_f32(to, src, values, !planes && pass->stream);
            if (!planes) return;
            src = to;
        }
        if (planes) dsp->planar_u16[j->k](dst, j->plane, src, n, j->channels);
        else dsp->copy(dst, src, 2 * values, pass->stream);
        return;
    }
    uint8_t *dst = j->dst + at;
    if (dtype == LEAT_DTYPE_F32) {
        dsp->u8_from_f32(planes ? bytes : dst, src, values);
        if (!planes) return;
        src = bytes;
    }
    if (planes) dsp->planar_u8[j->k](dst, j->plane, src, n, j->channels);
    else dsp->copy(dst, src, values, pass->stream);
}

/* Stores n finished pixels, any number of rows, from place `pixel` on. */
static void store(const leat__job *j, size_t pixel, const void *src, int dtype, size_t n) {
    const int out = j->pass->dtype;
    const leat__chain *last = out == LEAT_DTYPE_F32 ? leat__job_last_chain(j) : &leat__no_chain;
    if (!j->chunked) {
        put(j, pixel, src, dtype, n, last);
        return;
    }
    const size_t channels = (size_t)j->channels, pixel_bytes = channels * leat_dtype_size(dtype);
    const size_t step = j->chunk / channels;
    const int n_sweeps = j->n_sweeps - (last->n > 0);
    for (size_t done = 0; done < n; done += step) {
        const size_t m = LEAT_MIN(step, n - done);
        int type = dtype;
        const void *made =
            leat__job_sweep(j, n_sweeps, (const uint8_t *)src + done * pixel_bytes, &type, m, pixel + done);
        if (is_half(out) || (out == LEAT_DTYPE_F32 && type == LEAT_DTYPE_U16))
            made = leat__job_floats(j, made, &type, m * channels);
        put(j, pixel + done, made, type, m, last);
    }
}

void leat__job_store_rows(const leat__job *j, int y, int n, const void *src, int dtype) {
    const size_t width = (size_t)j->pass->width;
    store(j, (size_t)y * width, src, dtype, (size_t)n * width);
}

void leat__job_store_row(const leat__job *j, int y, const void *src, int dtype) {
    const int place = j->pass->flip_y ? j->pass->height - 1 - y : y;
    store(j, (size_t)place * (size_t)j->pass->width, src, dtype, (size_t)j->pass->width);
}

/* -------------------------------------------------------------------------------- without resampling */

/* RGB bytes are turned on their way to bytes or floats; lines that are stored past the caches must be whole. */
static bool turns_in_store(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const bool floats = pass->dtype == LEAT_DTYPE_F32;
    const bool rows =
        floats ? pass->width % 16 == 0 : pass->width % 32 == 0 && j->plane % LEAT_CACHE_LINE == 0;
    const bool lines = (uintptr_t)j->dst % LEAT_CACHE_LINE == 0 && rows;
    return pass->flip_x && !j->chunked && !pass->nchw && (floats || pass->dtype == LEAT_DTYPE_U8) &&
           j->src->dtype == LEAT_DTYPE_U8 && j->channels == 3 && (lines || !pass->stream);
}

/* Rows that are read from their ends are not what processors foresee, and while stores go past the caches each late line costs its
 * whole way from memory. */
static void foresee_row(const uint8_t *row, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LEAT_CACHE_LINE) __builtin_prefetch(row + at);
}

static int rows_ahead(size_t row_bytes, int height) {
    return (int)LEAT_CLAMP(FORESEEN_BYTES / row_bytes, (size_t)1, (size_t)height);
}

static int run_turned(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const size_t width = (size_t)pass->width;
    const int ahead = rows_ahead(width * 3, pass->height);
    for (int i = 0; i < pass->height; i++) {
        const void *row;
        const bool upward = pass->flip_y && j->src->data; /* rows of a decoder come in their own order */
        const int y = upward ? pass->height - 1 - i : i,
                  place = pass->flip_y && !upward ? pass->height - 1 - i : i;
        LEAT_TRY(leat__job_fetch(j, y, &row));
        if (j->src->data && i + ahead < pass->height)
            foresee_row(j->src->data + (upward ? y - ahead : y + ahead) * j->src->stride, width * 3);
        uint8_t *dst = j->dst + (size_t)place * width * 3 * leat_dtype_size(pass->dtype);
        if (pass->dtype == LEAT_DTYPE_U8) j->dsp->rgb8_turned(dst, row, width, pass->stream);
        else
            j->dsp->from_rgb8_turned((float *)(void *)dst, row, width, leat__job_last_chain(j), pass->stream);
    }
    return 0;
}

static int run_plain(const leat__job *j) {
    const leat__pass *pass = j->pass;
    const leat__rows *src = j->src;
    const int height = pass->height, dtype = src->dtype;
    const size_t width = (size_t)pass->width, row_bytes = width * j->pixel_in;
    const bool odd = dtype != LEAT_DTYPE_U8 && (uintptr_t)src->data % leat_dtype_size(dtype);
    if (src->data && !pass->flip_x && !pass->flip_y && !odd && src->stride == (ptrdiff_t)row_bytes) {
        store(j, 0, src->data, dtype, j->plane);
        return 0;
    }
    const int block = src->data ? (int)LEAT_CLAMP(BLOCK_BYTES / row_bytes, (size_t)1, (size_t)height) : 1;
    leat__buf *buf = &j->scratch->row;
    if (pass->flip_x) LEAT_TRY(leat__job_reserve(j, buf, (size_t)block, row_bytes));
    if (!src->data) {
        for (int y = 0; y < height; y++) {
            const void *row;
            LEAT_TRY(leat__job_fetch(j, y, &row));
            if (pass->flip_x) j->dsp->reverse(buf->data, row, width, j->pixel_in), row = buf->data;
            leat__job_store_row(j, y, row, dtype);
        }
        return 0;
    }
    /* In memory: output rows in their own order, those that are copied anyway in blocks. */
    const int ahead = rows_ahead(row_bytes, height);
    for (int first = 0; first < height; first += pass->flip_x ? block : 1) {
        const int n = pass->flip_x ? LEAT_MIN(block, height - first) : 1;
        const void *row = NULL;
        for (int i = 0; i < n; i++) {
            const int y = pass->flip_y ? height - 1 - first - i : first + i;
            LEAT_TRY(leat__job_fetch(j, y, &row));
            if (pass->flip_x && first + i + ahead < height)
                foresee_row(src->data + (pass->flip_y ? y - ahead : y + ahead) * src->stride, row_bytes);
            if (pass->flip_x) j->dsp->reverse(buf->data + (size_t)i * row_bytes, row, width, j->pixel_in);
        }
        store(j, (size_t)first * width, pass->flip_x ? buf->data : row, dtype, (size_t)n * width);
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
        }
        leat__job_store_row(j, i, out, src->dtype);
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- run */

static int check_types(const leat__pass *pass, const leat__rows *src, leat_error *err) {
    const bool in =
        src->dtype == LEAT_DTYPE_U8 || src->dtype == LEAT_DTYPE_U16 || src->dtype == LEAT_DTYPE_F32;
    const bool out = pass->dtype == LEAT_DTYPE_U8 || pass->dtype == LEAT_DTYPE_F32 || is_half(pass->dtype) ||
                     pass->dtype == LEAT_DTYPE_U16;
    if (!in || !out) return leat__fail(err, LEAT_ERR_TYPE, "pictures are u8, u16 or f32");
    const bool whole =
        src->dtype == LEAT_DTYPE_U16 && (pass->dtype == LEAT_DTYPE_U8 || pass->dtype == LEAT_DTYPE_U16);
    const bool floats = leat__resample_gives_f32(pass->resample) || pass->warp || pass->n_points;
    if ((pass->dtype == LEAT_DTYPE_U16 && src->dtype != LEAT_DTYPE_U16) ||
        (whole && (floats || pass->dtype == LEAT_DTYPE_U8)))
        return leat__fail(err, LEAT_ERR_TYPE,
                          "values of 16 bits stay as they are: write cast image f32 before");
    return 0;
}

static int check(const leat__pass *pass, const leat__rows *src, const void *dst, leat_error *err) {
    size_t bytes;
    if (src->height < 1 || src->width < 1 || src->channels < 1 || pass->height < 1 || pass->width < 1)
        return leat__fail(err, LEAT_ERR_SHAPE, "an empty picture: %dx%dx%d to %dx%d", src->height, src->width,
                          src->channels, pass->height, pass->width);
    LEAT_TRY(check_types(pass, src, err));
    if (pass->n_points < 0 || pass->n_points > LEAT_PASS_POINTS || (!src->data && !src->row))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "a pass with %d points%s", pass->n_points,
                          src->data || src->row ? "" : " and no source");
    if (!leat__mul_size((size_t)LEAT_MAX(src->width, pass->width), (size_t)src->channels * 8, &bytes) ||
        !leat__mul_size(bytes, (size_t)LEAT_MAX(src->height, pass->height), &bytes) || bytes > PTRDIFF_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %dx%dx%d is too large", src->height, src->width,
                          src->channels);
    if ((uintptr_t)dst % leat_dtype_size(pass->dtype))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "values are to be written at an odd address");
    if (pass->warp && !src->data)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "a warp of rows that are not in memory");
    if (pass->warp) return 0;
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

static bool is_measured(const leat__pass *pass) {
    for (int i = 0; i < pass->n_points; i++)
        if (pass->point[i].solve) return true;
    return false;
}

/* Whether values pass through a buffer on their way to the store. */
static bool needs_chunk(const leat__job *j, bool floats) {
    const leat__pass *pass = j->pass;
    const bool planes = pass->nchw && j->channels > 1;
    if (pass->dtype == LEAT_DTYPE_F32)
        return j->n_sweeps > 1 || (j->n_sweeps == 1 && !j->sweep[0].chain) ||
               (j->src->dtype == LEAT_DTYPE_U16 && !floats);
    return is_half(pass->dtype) || j->n_sweeps > 0 || (floats && planes);
}

int leat__pass_run(leat__pass *pass, const leat__image_dsp *dsp, leat__rows *src, void *dst,
                   leat__pass_scratch *scratch, leat_error *err) {
    LEAT_TRY(check(pass, src, dst, err));
    const bool same = src->height == pass->height && src->width == pass->width;
    const bool kept = !pass->warp && (pass->resample == LEAT_RESAMPLE_NONE ||
                                      (same && leat__resample_keeps_same_size(pass->resample)));
    leat__job j;
    j.pass = pass;
    j.dsp = dsp;
    j.src = src;
    j.scratch = scratch;
    j.err = err;
    j.dst = dst;
    j.channels = src->channels;
    j.k = leat__image_dsp_index(src->channels);
    const bool weighted = !kept && !pass->warp && leat__resample_gives_f32(pass->resample);
    j.in = weighted && src->dtype == LEAT_DTYPE_U16 ? LEAT_DTYPE_F32 : src->dtype;
    j.pixel_in = (size_t)src->channels * leat_dtype_size(j.in);
    j.odd = leat_dtype_size(src->dtype) - 1;
    j.plane = (size_t)pass->height * (size_t)pass->width;
    j.chunk = LEAT_ALIGN_UP(LEAT_MAX((size_t)CHUNK_VALUES, (size_t)src->channels), (size_t)16);
    if (is_measured(pass)) LEAT_TRY(leat__job_measure(&j));
    if (pass->n_tables > 1) leat__job_merge_tables(&j);
    leat__job_plan_sweeps(&j, pass->n_points);
    const bool floats =
        src->dtype == LEAT_DTYPE_F32 ||
        (!kept && (leat__resample_gives_f32(pass->resample) || leat__warp_gives_f32(pass->warp)));
    j.chunked = needs_chunk(&j, floats);
    if (j.chunked) LEAT_TRY(leat__job_reserve_chunk(&j));
    if (pass->warp) return leat__job_run_warp(&j);
    if (kept) return turns_in_store(&j) ? run_turned(&j) : run_plain(&j);
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
    leat__buf_free(&scratch->widened);
    leat__buf_free(&scratch->field);
}

static void list_bufs(leat__pass_scratch *s, leat__buf *bufs[LEAT_PASS_BUFS]) {
    leat__buf *const all[LEAT_PASS_BUFS] = {&s->taps_x[0].buf, &s->taps_x[1].buf, &s->taps_y.buf, &s->ring,
                                            &s->row,           &s->turned,        &s->chunk,      &s->taken,
                                            &s->moved,         &s->widened,       &s->field};
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
