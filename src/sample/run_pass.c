/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make pictures: a pass from a file or from memory, and whole pictures. */
#include <stdio.h>

#include "sample/draw.h"
#include "sample/run.h"

leat__draw_key leat__run_draw_key(leat__tools *tools, const leat__where *at) {
    if (tools->key_epoch != at->epoch) {
        tools->key_epoch = at->epoch;
        tools->key = leat__rng_key(tools->plan->seed, at->epoch);
    }
    return (leat__draw_key){.key = tools->key,
                            .position = at->position,
                            .params = at->params,
                            .met = tools->met,
                            .values = tools->value,
                            .bucket = at->bucket};
}

/* ------------------------------------------------------------------------------------ rows of a decoder */

typedef struct decoding { /* rows on demand: decoded in bands, so that a picture is never held whole */
    leat__tools *tools;
    int first, height;        /* rows that are decoded: those that the text needs                      */
    int band_begin, band_end; /* of these                                                              */
    uint8_t *band;            /* where the decoder writes                                              */
    size_t stride;
    const uint8_t *row;   /* where the first row of the band begins                                */
    const uint8_t *blank; /* fuse=off: what stands for other rows, which no step looks at          */
} decoding;

/* Bands of 16 rows are a row of JPEG blocks at the most common subsampling. */
enum { BAND_ROWS = 16 };

/* Of a plane, if rows are planes. */
static size_t band_width(int width) {
    return LEAT_ALIGN_UP((size_t)width, (size_t)LEAT_CACHE_LINE);
}
static size_t band_stride(int width, size_t pixel_bytes) {
    return band_width(width) * pixel_bytes;
}
/* With a blank row behind the others, whether this draw needs it or not. */
static size_t band_bytes(int width, size_t pixel_bytes) {
    return band_stride(width, pixel_bytes) * (BAND_ROWS + 1) + LEAT_DECODE_SKEW;
}

static int decode_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    decoding *d = rows->user;
    leat__tools *tools = d->tools;
    y -= d->first;
    if (y < 0 || y >= d->height) {
        *out = d->blank;
        return 0;
    }
    if (y >= d->band_end) {
        leat__run_stage(tools, LEAT_STAGE_DECODE);
        while (y >= d->band_end) {
            d->band_begin = d->band_end;
            const int n = LEAT_MIN((int)BAND_ROWS, d->height - d->band_begin);
            LEAT_TRY(leat__decode_rows(tools->decoder, d->band, (ptrdiff_t)d->stride, n, err));
            d->band_end += n;
        }
        leat__run_stage(tools, LEAT_STAGE_TRANSFORM);
    }
    *out = d->row + (size_t)(y - d->band_begin) * d->stride;
    return 0;
}

/* A resampler may have no use for the last rows. They are decoded all the same: the text needs them. */
static int decode_rest(leat__rows *rows, leat_error *err) {
    const decoding *d = rows->user;
    const void *row;
    return d->band_end < d->height ? decode_row(rows, d->first + d->height - 1, &row, err) : 0;
}

static bool decode_planes(leat__rows *rows, size_t *apart) {
    decoding *d = rows->user;
    if (!leat__decode_planes(d->tools->decoder, band_width(rows->width))) return false;
    *apart = band_width(rows->width);
    d->row = d->band = d->tools->band.data; /* vectors are stored at even addresses */
    return true;
}

static int add_border(leat__tools *tools, const leat__pad_plan *plan, const leat__draw_key *key,
                      leat__rows *inner, leat__bordered *b, leat__rows *outer, leat_error *err) {
    leat__drawing d =
        leat__drawing_at(key, &plan->op, inner->height, inner->width, inner->channels, inner->dtype);
    leat__border border = {0};
    LEAT_TRY(leat__draw_meet(key, &plan->op, inner->height, inner->width, err));
    LEAT_TRY(plan->draw(&plan->op, &d, &border, err));
    for (int c = 0; plan->op.mask && c < 4; c++) border.fill[c] = plan->op.mask_fill;
    const int rc = leat__border_rows(outer, b, inner, &border, plan->mode, &tools->bordered, err);
    if (rc < 0) leat__error_prefix(err, "%s: ", plan->op.name);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- passes */

static int cut_hole(const leat__pass_plan *plan, const leat__draw_key *key, const leat__pass *pass,
                    int channels, void *dst, leat_error *err) {
    leat__drawing d = leat__drawing_at(key, &plan->hole.op, pass->height, pass->width, channels, pass->dtype);
    leat__erasure hole;
    bool wanted = false;
    LEAT_TRY(plan->hole.draw(&plan->hole.op, &d, &hole, &wanted, err));
    if (!wanted) return 0;
    if (pass->stream)
        leat__image_fence(); /* what went past the caches must be there before it is overwritten */
    leat__erase(dst, pass->dtype, pass->nchw && channels > 1, pass->height, pass->width, channels, &hole);
    return 0;
}

/* height and width: of the picture, which are more than rows have if the decoder has scaled it. */
static int finish_pass(leat__tools *tools, const leat__step *step, const leat__where *at, leat__rows *rows,
                       int height, int width, int ndim, leat_error *err) {
    const leat__pass_plan *plan = step->as.pass;
    const leat__draw_key key = leat__run_draw_key(tools, at);
    leat__rows outer;
    leat__bordered border;
    if (plan->pad.draw) {
        LEAT_TRY(add_border(tools, &plan->pad, &key, rows, &border, &outer, err));
        leat__trail_border(tools, step, rows->height, rows->width, &border.border);
        rows = &outer;
        height = rows->height, width = rows->width;
    }
    leat__pass pass;
    leat__warp warp;
    leat__flips flips;
    LEAT_TRY(leat__draw_pass(&pass, &warp, &flips, plan, &key, rows, height, width, err));
    leat__trail_pass(tools, step, &pass, &flips, height, width);
    leat__value result = {.dtype = pass.dtype, .ndim = ndim};
    const int64_t hwc[3] = {pass.height, pass.width, rows->channels};
    for (int i = 0; i < ndim; i++) result.shape[i] = plan->nchw ? hwc[(i + 2) % 3] : hwc[i];
    const bool stores = step->output >= 0 && at->slot;
    if (stores) LEAT_TRY(leat__run_check_shape(&tools->plan->output[step->output], at, &result, err));
    size_t bytes;
    if (!leat__mul_size((size_t)pass.height * (size_t)pass.width,
                        (size_t)rows->channels * leat_dtype_size(pass.dtype), &bytes))
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %d x %d pixels is too large", pass.width,
                          pass.height);
    uint8_t *dst = leat__run_destination(tools, step, at, bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    pass.stream = stores && tools->plan->non_temporal;
    LEAT_TRY(leat__pass_run(&pass, &tools->dsp, rows, dst, &tools->scratch, err));
    if (plan->hole.draw) LEAT_TRY(cut_hole(plan, &key, &pass, rows->channels, dst, err));
    result.data = dst;
    result.bytes = bytes;
    tools->value[step->value] = result;
    return 0;
}

static int stop_at_first_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    (void)rows, (void)y, (void)out, (void)err;
    return LEAT_ERR_CANCELLED;
}

/* A crop may take any part of a picture, in a later epoch a larger one than today: buffers and tables are made for the
 * whole picture when it is first met, by passes that end before their first row. */
static void prepare_for_whole(leat__tools *tools, const leat__step *step, const leat__where *at,
                              const leat__picture_info *info) {
    if (info->height <= tools->met_height && info->width <= tools->met_width) return;
    tools->met_height = LEAT_MAX(tools->met_height, info->height);
    tools->met_width = LEAT_MAX(tools->met_width, info->width);
    const leat__pass_plan *plan = step->as.pass;
    leat__rows rows = {.height = tools->met_height,
                       .width = tools->met_width,
                       .channels = info->channels,
                       .dtype = info->dtype,
                       .row = stop_at_first_row};
    leat__pass pass;
    leat__warp warp;
    leat__flips flips;
    leat_error ignored;
    leat__draw_key key = leat__run_draw_key(tools, at);
    key.params = NULL;
    key.met = NULL;
    leat__buf_reserve(&tools->band,
                      band_bytes(rows.width, (size_t)rows.channels * leat_dtype_size(rows.dtype)));
    if (plan->resample == LEAT_RESAMPLE_NONE ||
        leat__draw_pass(&pass, &warp, &flips, plan, &key, &rows, rows.height, rows.width, &ignored) < 0)
        return;
    LEAT_ALIGNED(LEAT_CACHE_LINE) uint8_t nothing[LEAT_CACHE_LINE]; /* no row comes, so nothing is written */
    for (int flipped = 0; flipped < 2; flipped++) {
        pass.flip_x = flipped;
        leat__pass_run(&pass, &tools->dsp, &rows, nothing, &tools->scratch, &ignored);
    }
}

/* What a border cuts off is not needed. Of a picture that is all border one row is. */
static int cut_rows(const leat__pad_plan *pad, const leat__draw_key *key, const leat__picture_info *info,
                    leat__box *box, leat_error *err) {
    leat__drawing d = leat__drawing_at(key, &pad->op, box->height, box->width, info->channels, info->dtype);
    leat__border border = {0};
    LEAT_TRY(pad->draw(&pad->op, &d, &border, err));
    const int above = LEAT_CLAMP(-border.top, 0, box->height - 1);
    const int below = LEAT_CLAMP(-border.bottom, 0, box->height - above - 1);
    box->y += above;
    box->height -= above + below;
    return 0;
}

/* shown: what the rows of the pass are. part: what the decoder is asked for, and with it the damage that counts. Both lie in
 * the picture, and the decoder is told if the part is not all of it. */
static int find_part(leat__tools *tools, const leat__step *step, const leat__where *at,
                     const leat__picture_info *info, leat__box *shown, leat__box *part, leat_error *err) {
    const leat__pass_plan *plan = step->as.pass;
    const leat__needed_plan *needed = plan->needed;
    const leat__draw_key key = leat__run_draw_key(tools, at);
    leat__draw_key again = key; /* for what is drawn once more, where it is done */
    again.params = NULL;
    again.met = NULL;
    *shown = *part = (leat__box){.width = info->width, .height = info->height};
    const bool crops = needed ? needed->crop.draw != NULL : plan->crop.draw != NULL;
    if (crops) {
        LEAT_TRY(leat__draw_crop(part, needed ? &needed->crop : &plan->crop, needed ? &again : &key,
                                 info->height, info->width, err));
        if (!needed) {
            prepare_for_whole(tools, step, at, info);
            leat__trail_crop(tools, step, info->height, info->width, part);
            *shown = *part;
        }
    }
    const leat__pad_plan *pad = needed ? &needed->pad : &plan->pad;
    if (pad->draw) LEAT_TRY(cut_rows(pad, &again, info, part, err));
    if (!crops && part->height == info->height) return 0;
    return leat__decode_region(tools->decoder, part, err);
}

typedef struct scaling { /* decode scale=auto */
    leat__tools *tools;
    const leat__step *step;
    const leat__where *at;
    leat__box box; /* the part that the sample takes, in pixels of the file */
} scaling;

/* When the size of the picture is known: draws the part, and what it is resized to. */
static int choose_scale(void *user, const leat__picture_info *info, leat_error *err) {
    scaling *s = user;
    const leat__pass_plan *plan = s->step->as.pass;
    leat__draw_key key = leat__run_draw_key(s->tools, s->at);
    s->box = (leat__box){.width = info->width, .height = info->height};
    if (plan->crop.draw) {
        LEAT_TRY(leat__draw_crop(&s->box, &plan->crop, &key, info->height, info->width, err));
        prepare_for_whole(s->tools, s->step, s->at, info);
        leat__trail_crop(s->tools, s->step, info->height, info->width, &s->box);
    }
    key.params = NULL; /* the pass will note them */
    int height = s->box.height, width = s->box.width;
    LEAT_TRY(leat__draw_size(plan, &key, &height, &width, err));
    return leat__scale_for(&s->box, height, width);
}

static int find_scaled(const scaling *s, const leat__picture_info *info, leat__box *shown, leat__box *part,
                       leat_error *err) {
    *shown = *part = (leat__box){.width = info->width, .height = info->height};
    if (!s->step->as.pass->crop.draw) return 0;
    *shown = *part = leat__box_scaled(&s->box, info->scale, info->height, info->width);
    return leat__decode_region(s->tools->decoder, part, err);
}

/* Memory for a band. Rows that are wider than the part, which only fuse=off has, are blank beside it. */
static int begin_band(decoding *d, const leat__box *shown, const leat__box *part, size_t pixel,
                      leat_error *err) {
    leat__buf *band = &d->tools->band;
    const bool wider = shown->width > part->width || shown->height > part->height;
    const size_t bytes = band_bytes(shown->width, pixel);
    if (!leat__buf_reserve(band, bytes)) return leat__fail_memory(err, bytes, "rows of a picture");
    if (wider) memset(band->data, 0, bytes);
    d->blank = band->data + bytes - d->stride;
    d->row = band->data + LEAT_DECODE_SKEW;
    d->band = band->data + LEAT_DECODE_SKEW + (size_t)(part->x - shown->x) * pixel;
    return 0;
}

static int decode_and_finish(leat__tools *tools, const leat__step *step, const leat__where *at,
                             const leat__picture_info *info, const scaling *scaled, leat_error *err) {
    leat__box shown, part;
    if (scaled) LEAT_TRY(find_scaled(scaled, info, &shown, &part, err));
    else LEAT_TRY(find_part(tools, step, at, info, &shown, &part, err));
    const leat__box *of = scaled ? &scaled->box : &shown;
    leat__run_stage(tools, LEAT_STAGE_TRANSFORM);
    const size_t pixel = (size_t)info->channels * leat_dtype_size(info->dtype);
    decoding d = {.tools = tools,
                  .first = part.y - shown.y,
                  .height = part.height,
                  .stride = band_stride(shown.width, pixel)};
    leat__rows rows = {.height = shown.height,
                       .width = shown.width,
                       .channels = info->channels,
                       .dtype = info->dtype,
                       .row = decode_row,
                       .planes = shown.width == part.width ? decode_planes : NULL,
                       .user = &d};
    LEAT_TRY(begin_band(&d, &shown, &part, pixel, err));
    LEAT_TRY(finish_pass(tools, step, at, &rows, of->height, of->width, 3, err));
    return decode_rest(&rows, err);
}

static int run_decoding_pass(leat__tools *tools, const leat__step *step, const leat__where *at,
                             size_t memory_max, leat_error *err) {
    const leat__value *file = &tools->value[step->value];
    leat__decode_options options = step->as.pass->decode_options;
    options.memory_max = memory_max;
    scaling scaled = {.tools = tools, .step = step, .at = at};
    if (step->as.pass->scaled) options.scale = choose_scale, options.scale_user = &scaled;
    leat__picture_info info;
    leat__decode_positions positions;
    leat__jpeg_store *kept = tools->plan->jpeg_store;
    if (kept && leat__pass_uses_positions(step->as.pass) &&
        leat__jpeg_store_take(kept, file->data, file->bytes, &tools->positions, &positions))
        options.positions = &positions;
    leat__run_stage(tools, LEAT_STAGE_DECODE);
    LEAT_TRY(leat__decode_begin(tools->decoder, file->data, file->bytes, &options, &info, err));
    const int rc = decode_and_finish(tools, step, at, &info, options.scale ? &scaled : NULL, err);
    leat_error end;
    const int stage = tools->stage, ended = leat__decode_end(tools->decoder, &end);
    if (rc == 0 && ended < 0) {
        tools->stage = LEAT_STAGE_DECODE;
        if (err) *err = end;
        return ended;
    }
    if (rc == 0 && options.positions) leat__jpeg_store_put(kept, &positions);
    tools->stage = stage;
    return rc;
}

/* A picture in memory: rows of it. */
static inline int value_rows(const leat__value *value, leat__rows *rows, leat_error *err) {
    *rows = (leat__rows){.height = (int)value->shape[0],
                         .width = (int)value->shape[1],
                         .channels = value->ndim == 3 ? (int)value->shape[2] : 1,
                         .dtype = value->dtype,
                         .data = value->data};
    if (value->ndim != 2 && value->ndim != 3)
        return leat__fail(err, LEAT_ERR_SHAPE, "a picture has 2 or 3 axes, not %d", value->ndim);
    for (int i = 0; i < value->ndim; i++)
        if (value->shape[i] < 1 || value->shape[i] > INT32_MAX / 16)
            return leat__fail(err, LEAT_ERR_SHAPE, "a picture with %" PRId64 " elements along axis %d",
                              value->shape[i], i);
    rows->stride = (ptrdiff_t)rows->width * rows->channels * (ptrdiff_t)leat_dtype_size(rows->dtype);
    return 0;
}

/* A picture is too large by itself, for every run, or it is too large for the budget of this one, which is no fault of the
 * data. */
static int fail_budget(leat_error *err) {
    leat__error_prefix(err, "a picture may take a quarter of the byte budget, give more of it (memory): ");
    if (err) err->code = LEAT_ERR_MEMORY;
    return LEAT_ERR_MEMORY;
}

int leat__run_pass(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    if (step->as.pass->decode) {
        const size_t noted = at->params ? at->params->n : 0;
        leat__trail *trail = step->trail ? &tools->trail[step->trail - 1] : NULL;
        const int moves = trail ? trail->n : 0;
        const leat__budget *budget = &tools->plan->budget;
        const size_t small = budget->picture ? budget->picture : LEAT_LARGE_PICTURE;
        const int rc = run_decoding_pass(tools, step, at, small, err);
        if (rc >= 0 || !leat__decoder_wants_more(tools->decoder)) return rc;
        if (at->params) at->params->n = noted;
        if (trail) trail->n = moves;
        if (tools->large) leat__lock(tools->large);
        const size_t most =
            LEAT_MIN(budget->whole ? LEAT_MAX(budget->whole / 4, LEAT_LARGE_PICTURE) : LEAT_DECODE_MEMORY_MAX,
                     LEAT_DECODE_MEMORY_MAX);
        int again = run_decoding_pass(tools, step, at, most, err);
        if (again == LEAT_ERR_LIMIT && most < LEAT_DECODE_MEMORY_MAX &&
            leat__decoder_wants_more(tools->decoder))
            again = fail_budget(err);
        leat__decoder_trim(tools->decoder, small);
        if (tools->large) leat__unlock(tools->large);
        return again;
    }
    const leat__value *value = &tools->value[step->value];
    leat__rows rows;
    LEAT_TRY(value_rows(value, &rows, err));
    rows.next = &tools->next;
    if (step->as.pass->crop.draw) {
        leat__box box;
        const leat__draw_key key = leat__run_draw_key(tools, at);
        LEAT_TRY(leat__draw_crop(&box, &step->as.pass->crop, &key, rows.height, rows.width, err));
        leat__trail_crop(tools, step, rows.height, rows.width, &box);
        rows.data += box.y * rows.stride + box.x * (rows.stride / rows.width);
        rows.height = box.height;
        rows.width = box.width;
    }
    return finish_pass(tools, step, at, &rows, rows.height, rows.width, value->ndim, err);
}

/* -------------------------------------------------------------------------------------------- pictures */

int leat__run_picture(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__picture_plan *plan = step->as.picture;
    const leat__value *value = &tools->value[step->value];
    const int index = (int)(step - tools->plan->step);
    const leat__draw_key key = leat__run_draw_key(tools, at);
    leat__rows rows;
    LEAT_TRY(value_rows(value, &rows, err));
    if ((uintptr_t)rows.data % leat_dtype_size(rows.dtype)) { /* raw bytes of a record */
        leat__buf *moved = &tools->scratch.moved;
        if (!leat__buf_reserve(moved, value->bytes)) return leat__fail_memory(err, value->bytes, "a picture");
        rows.data = memcpy(moved->data, rows.data, value->bytes);
    }
    const leat__picture in = {.height = rows.height,
                              .width = rows.width,
                              .channels = rows.channels,
                              .dtype = rows.dtype,
                              .data = rows.data};
    leat__value result = {.dtype = plan->dtype ? plan->dtype : rows.dtype, .ndim = value->ndim};
    result.shape[0] = plan->height ? plan->height : rows.height;
    result.shape[1] = plan->width ? plan->width : rows.width;
    if (plan->turned) result.shape[0] = rows.width, result.shape[1] = rows.height;
    if (value->ndim == 3) result.shape[2] = plan->channels ? plan->channels : rows.channels;
    const bool stores = step->output >= 0 && at->slot;
    if (stores) LEAT_TRY(leat__run_check_shape(&tools->plan->output[step->output], at, &result, err));
    size_t bytes;
    const size_t pixel = (size_t)(value->ndim == 3 ? result.shape[2] : 1) * leat_dtype_size(result.dtype);
    if (!leat__mul_size((size_t)result.shape[0] * (size_t)result.shape[1], pixel, &bytes))
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture of %d x %d pixels is too large", rows.width,
                          rows.height);
    uint8_t *dst = leat__run_destination(tools, step, at, bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    if (plan->moves && !plan->turned) LEAT_TRY(leat__draw_meet(&key, &plan->op, in.height, in.width, err));
    leat__drawing d = leat__drawing_at(&key, &plan->op, in.height, in.width, in.channels, in.dtype);
    const leat__picture_tools lent = {.dsp = &tools->dsp,
                                      .scratch = &tools->scratch,
                                      .buf = tools->picture[index],
                                      .decoder = tools->decoder};
    LEAT_TRY(plan->run(&plan->op, &d, &lent, &in, dst, err));
    if (step->trail) {
        d = leat__drawing_at(&key, &plan->op, in.height, in.width, in.channels, in.dtype);
        d.params = NULL; /* told already */
        leat__move move = {.height_before = in.height,
                           .width_before = in.width,
                           .height = (int)result.shape[0],
                           .width = (int)result.shape[1],
                           .cuts = true};
        LEAT_TRY(plan->map(&plan->op, &d, move.m, err));
        leat__trail_add(tools, step, &move);
    }
    result.data = dst;
    result.bytes = bytes;
    tools->value[step->value] = result;
    return 0;
}
