/* SPDX-License-Identifier: Apache-2.0 */
/* leat_view: what a person should see before a model does. A row of the sheet is one sample of the data: as it is, and as
 * the pipeline makes it in one epoch after the other, with what was drawn for it. The pipeline itself runs, so the
 * pictures are those of a training run; the key below each is what `leat run --sample` takes. */
#include "tools/view/view.h"

#include <stdio.h>

#include "base/file.h"
#include "image/pass/convert.h"
#include "plan/planner.h"
#include "run/pipeline.h"
#include "tools/encode.h"

enum {
    SAMPLES = 6,
    VERSIONS = 5,
    SIZE = 160,
    MORE_EPOCHS = 20,       /* that are looked through when a sample is not in every one        */
    STREAM_SAMPLES = 10000, /* of a stream that are looked through in each epoch                */
};
/* Positions of an epoch that are looked through for a sample. */
static const uint64_t positions_max = UINT64_C(30000000);

typedef struct viewing {
    const leat_spec *spec;
    leat_view_config config;
    leat_pipeline *pipeline;
    leat_spec *plain_spec; /* source, parsing and decoding only */
    leat__plan plain;
    leat__tools *tools; /* for the originals */
    int n_columns;
    leat__view_cell *cell; /* (n_samples, n_columns) */
    struct leat__view_sample {
        uint64_t sample, position; /* the position is that of epoch 0 */
        int n_found;               /* versions so far                 */
        bool taken;                /* in this epoch                   */
    } * row;
    int dtype; /* of the pictures of batches */
    char field[64], label_field[64];
    leat__view_overlay overlay;
    char undone[100];
    leat__buf work;
    size_t n_cells;
    const char *path; /* NULL: each_cell gets the cells */
    leat__view_cell_fn each_cell;
    void *cell_user;
    leat_progress_fn progress;
    void *user;
} viewing;

static leat__view_cell *cell_at(const viewing *v, int row, int column) {
    return &v->cell[row * v->n_columns + column];
}

/* A sample that cannot be used is shown as such. */
static bool is_bad(const leat_error *err) {
    return err->stage != LEAT_STAGE_NONE || err->code == LEAT_ERR_DECODE || err->code == LEAT_ERR_CORRUPT;
}

static void note_bad(leat__view_cell *cell, const leat_error *err) {
    snprintf(cell->key, sizeof cell->key, "cannot be used");
    snprintf(cell->detail, sizeof cell->detail, "%.290s", err->message);
}

/* -------------------------------------------------------------------------------------------- labels */

static void name_class(const viewing *v, int64_t number, char *out, size_t cap) {
    const char *name =
        number >= 0 && number <= INT32_MAX ? leat_pipeline_class(v->pipeline, (int)number) : NULL;
    if (name) snprintf(out, cap, "%s", name);
    else snprintf(out, cap, "class %" PRId64, number);
}

/* A number, or one for each class: those that weigh, the heaviest first. */
static void describe_label(const viewing *v, int dtype, const void *data, size_t count, char *out,
                           size_t cap) {
    out[0] = 0;
    if (dtype != LEAT_DTYPE_F32 && count == 1) {
        int64_t number = 0;
        if (leat__convert(&number, LEAT_DTYPE_I64, data, dtype, 1, false, 1, 0) == 0)
            name_class(v, number, out, cap);
        return;
    }
    if (dtype != LEAT_DTYPE_F32 || count < 2) return;
    const float *weights = data;
    size_t last = count;
    for (int k = 0; k < 3; k++) { /* the next one in the order of weights, of equal ones in that of classes */
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            const bool after =
                last == count || weights[i] < weights[last] || (weights[i] == weights[last] && i > last);
            if (after && (best == count || weights[i] > weights[best])) best = i;
        }
        if (best == count || !(weights[best] >= 0.05f)) break;
        last = best;
        const size_t n = strlen(out);
        char name[80];
        name_class(v, (int64_t)best, name, sizeof name);
        if (k == 0 && weights[best] > 0.995f) snprintf(out + n, cap - n, "%s", name);
        else snprintf(out + n, cap - n, "%s%s %.2f", n ? ", " : "", name, (double)weights[best]);
    }
}

/* Boxes of a cell whose classes are known. */
static void name_boxes(const viewing *v, leat__view_cell *cell, int dtype, const void *labels, size_t n) {
    leat__view_box *box = (leat__view_box *)(void *)cell->boxes.data;
    if (dtype > LEAT_DTYPE_I64) return;
    for (size_t i = 0; i < LEAT_MIN(n, leat__view_n_boxes(cell)); i++) {
        int64_t number = 0;
        if (leat__convert(&number, LEAT_DTYPE_I64, (const uint8_t *)labels + i * leat_dtype_size(dtype),
                          dtype, 1, false, 1, 0) == 0)
            name_class(v, number, box[i].label, sizeof box[i].label);
    }
}

/* ----------------------------------------------------------------------------------------- originals */

/* Whether an operation is part of the way from bytes to pixels. */
static bool is_reading(const leat__use *use) {
    return use->op->kind == LEAT_OP_SOURCE || use->op->flags & LEAT_OP_READS;
}

/* The pipeline without everything that changes pixels or their order. */
static int open_plain(viewing *v, const leat_config *config, leat_error *err) {
    v->plain_spec = leat_spec_new(NULL);
    v->tools = leat__alloc(LEAT_MEM_TOOL, sizeof *v->tools);
    if (!v->plain_spec || !v->tools) return leat__fail_memory(err, sizeof *v->plain_spec, "a sheet");
    bool changed = false; /* shapes that were given for changed pixels do not fit others */
    for (int i = 0; i < v->spec->n_uses; i++) {
        const leat__use *use = &v->spec->use[i];
        changed |= use->op->kind == LEAT_OP_IMAGE && !(use->op->flags & LEAT_OP_DECODES);
        if (is_reading(use) && !(changed && use->op->flags & LEAT_OP_RESHAPES))
            v->plain_spec->use[v->plain_spec->n_uses++] = *use;
    }
    leat__spec_borrow(v->plain_spec, v->spec);
    LEAT_TRY(leat__plan_build(&v->plain, v->plain_spec, config, err));
    return leat__tools_init(v->tools, &v->plain, NULL, err);
}

/* The value of a field after the last step. */
static const leat__value *value_of(const viewing *v, const char *name) {
    for (int i = 0; i < v->plain.n_outputs; i++)
        if (strcmp(v->plain.output[i].field.name, name) == 0)
            return &v->tools->value[v->plain.output[i].value];
    return NULL;
}

static int overlay_original(viewing *v, leat__view_cell *cell, leat_error *err) {
    const leat__value *mask = value_of(v, v->overlay.mask), *boxes = value_of(v, v->overlay.boxes);
    const leat__value *labels = value_of(v, v->overlay.labels);
    if (mask && mask->dtype != LEAT_DTYPE_BYTES)
        LEAT_TRY(leat__view_take_mask(
            cell, &(leat__view_array){mask->dtype, mask->ndim, mask->shape, mask->data}, err));
    if (boxes && boxes->dtype != LEAT_DTYPE_BYTES)
        LEAT_TRY(leat__view_take_boxes(cell, &v->overlay, boxes->dtype, boxes->data,
                                       boxes->bytes / leat_dtype_size(boxes->dtype), err));
    if (labels && labels->dtype != LEAT_DTYPE_BYTES)
        name_boxes(v, cell, labels->dtype, labels->data, labels->bytes / leat_dtype_size(labels->dtype));
    return 0;
}

static int take_original(viewing *v, int row, const leat__piece *piece, leat_error *err) {
    leat__view_cell *cell = cell_at(v, row, 0);
    const leat__where at = {.sample = v->row[row].sample, .piece = piece, .n_pieces = piece != NULL};
    const int rc = leat__run_sample(v->tools, &at, err);
    if (rc < 0) {
        note_bad(cell, err);
        return is_bad(err) ? 0 : rc;
    }
    const leat__value *picture = value_of(v, v->field), *label = value_of(v, v->label_field);
    char whole[1000], name[56]; /* two lines below a small picture */
    leat_pipeline_name(v->pipeline, v->row[row].sample, whole, sizeof whole);
    leat__printable(name, sizeof name, whole, strlen(whole));
    if (label)
        describe_label(v, label->dtype, label->data, label->bytes / leat_dtype_size(label->dtype),
                       cell->label, sizeof cell->label);
    if (!picture || picture->dtype == LEAT_DTYPE_BYTES || picture->ndim < 2 || picture->ndim > 3) {
        snprintf(cell->detail, sizeof cell->detail, "%s", name);
        return 0;
    }
    const leat__view_array from = {picture->dtype, picture->ndim, picture->shape, picture->data};
    LEAT_TRY(leat__view_take(&cell->picture, &from, v->config.size, &v->work, err));
    LEAT_TRY(overlay_original(v, cell, err));
    snprintf(cell->detail, sizeof cell->detail, "%s  %dx%d", name, cell->picture.from_width,
             cell->picture.from_height);
    return 0;
}

/* Compressed files are read from their beginning up to the last sample of the sheet. */
static int take_stream_originals(viewing *v, leat_error *err) {
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    uint64_t last = 0;
    int rc = 0;
    leat__shards_rewind(v->plain.stream->shards);
    for (int i = 0; i < v->config.n_samples; i++) last = LEAT_MAX(last, v->row[i].sample);
    for (uint64_t k = 0; k <= last && rc == 0; k++) {
        leat_error ignored;
        const int got = leat__shards_next(v->plain.stream->shards, &record, &ignored);
        if (got == 1) break;
        leat__piece piece = {.data = record.data, .bytes = record.size};
        if (got == 0) leat__shards_where(v->plain.stream->shards, &piece.shard, &piece.number);
        for (int i = 0; i < v->config.n_samples && got == 0 && rc == 0; i++)
            if (v->row[i].sample == k) rc = take_original(v, i, &piece, err);
    }
    leat__buf_free(&record);
    return rc;
}

/* Numbers of samples that are dealt out of several streams say nothing of where these lie. */
static void leave_originals(viewing *v) {
    for (int i = 0; i < v->config.n_samples; i++) {
        leat__view_cell *cell = cell_at(v, i, 0);
        snprintf(cell->detail, sizeof cell->detail,
                 "not shown: it comes from several streams or shards in turn");
    }
}

static int take_originals(viewing *v, leat_error *err) {
    const leat__stream_plan *stream = v->pipeline->plan.stream;
    if (stream && (stream->n_parts || stream->cycle)) {
        leave_originals(v);
        return 0;
    }
    if (v->plain.stream) return take_stream_originals(v, err);
    for (int i = 0; i < v->config.n_samples; i++) LEAT_TRY(take_original(v, i, NULL, err));
    return 0;
}

/* ------------------------------------------------------------------------------------------ versions */

static const leat_tensor *tensor_of(const leat_batch *batch, const char *name) {
    for (int i = 0; i < batch->n_tensors; i++)
        if (strcmp(batch->tensor[i].name, name) == 0) return &batch->tensor[i];
    return NULL;
}

/* The values of one sample of a batch, whether they are ragged or not; NULL if there is no such field. */
static const void *values_of(const leat_tensor *t, int place, size_t *n) {
    if (!t) return NULL;
    if (t->offsets) {
        *n = (size_t)(t->offsets[place + 1] - t->offsets[place]);
        return (const uint8_t *)t->data + (size_t)t->offsets[place] * leat_dtype_size(t->dtype);
    }
    *n = 1;
    for (int i = 1; i < t->ndim; i++) *n *= (size_t)t->shape[i];
    return (const uint8_t *)t->data + (int64_t)place * t->stride[0];
}

static int overlay_version(viewing *v, leat__view_cell *cell, const leat_batch *batch, int place,
                           leat_error *err) {
    const leat_tensor *mask = tensor_of(batch, v->overlay.mask), *boxes = tensor_of(batch, v->overlay.boxes);
    const leat_tensor *labels = tensor_of(batch, v->overlay.labels);
    size_t n;
    if (mask && !mask->offsets)
        LEAT_TRY(leat__view_take_mask(
            cell,
            &(leat__view_array){mask->dtype, mask->ndim - 1, mask->shape + 1, values_of(mask, place, &n)},
            err));
    const void *values = values_of(boxes, place, &n);
    if (values) LEAT_TRY(leat__view_take_boxes(cell, &v->overlay, boxes->dtype, values, n, err));
    values = values_of(labels, place, &n);
    if (values) name_boxes(v, cell, labels->dtype, values, n);
    return 0;
}

/* The sample at `place` of a batch as the next version of its row. */
static int take_version(viewing *v, int row, const leat_batch *batch, int place, leat_error *err) {
    leat__view_cell *cell = cell_at(v, row, 1 + v->row[row].n_found);
    const leat_tensor *t = tensor_of(batch, v->field), *label = tensor_of(batch, v->label_field);
    const leat__view_array from = {t->dtype, t->ndim - 1, t->shape + 1,
                                   (const uint8_t *)t->data + (int64_t)place * t->stride[0]};
    LEAT_TRY(leat__view_take(&cell->picture, &from, v->config.size, &v->work, err));
    if (t->dtype != LEAT_DTYPE_U8)
        leat__view_undo(&cell->picture, v->spec, v->field, v->undone, sizeof v->undone);
    LEAT_TRY(overlay_version(v, cell, batch, place, err));
    if (label && !label->offsets && label->ndim <= 2)
        describe_label(v, label->dtype, (const uint8_t *)label->data + (int64_t)place * label->stride[0],
                       label->ndim == 2 ? (size_t)label->shape[1] : 1, cell->label, sizeof cell->label);
    snprintf(cell->key, sizeof cell->key, "%" PRIu64 ":%" PRIu64, batch->epoch, batch->position[place]);
    snprintf(cell->words, sizeof cell->words, "%s", leat_batch_params(batch, place));
    v->row[row].n_found++;
    v->row[row].taken = true;
    return 0;
}

static bool wants(const viewing *v, int row) {
    return !v->row[row].taken && v->row[row].n_found < v->config.n_versions;
}

static int take_single(viewing *v, int row, uint64_t epoch, uint64_t position, leat_error *err) {
    leat_batch batch;
    int rc = leat_pipeline_sample(v->pipeline, epoch, position, &batch, err);
    if (rc < 0 && is_bad(err)) {
        note_bad(cell_at(v, row, 1 + v->row[row].n_found++), err);
        v->row[row].taken = true;
        return 0;
    }
    if (rc == 0) rc = take_version(v, row, &batch, 0, err);
    leat_batch_release(&batch);
    return rc;
}

/* Every row gets at most one more version in an epoch: where its sample is then. */
static int take_epoch(viewing *v, uint64_t epoch, leat_error *err) {
    leat__order *order = &v->pipeline->plan.order;
    bool shuffled = false;
    for (int i = 0; i < order->n_verbs; i++) shuffled |= order->verb[i].kind == LEAT_ORDER_SHUFFLE;
    int left = v->config.n_samples;
    for (int i = 0; i < v->config.n_samples && (!shuffled || epoch == 0); i++, left--)
        if (wants(v, i)) LEAT_TRY(take_single(v, i, epoch, v->row[i].position, err));
    const uint64_t most = LEAT_MIN(leat__order_length(order), positions_max);
    for (uint64_t position = 0; position < most && left > 0; position++) {
        const uint64_t sample = leat__order_map(order, epoch, position).sample;
        for (int i = 0; i < v->config.n_samples; i++) {
            if (v->row[i].sample != sample || !wants(v, i)) continue;
            LEAT_TRY(take_single(v, i, epoch, position, err));
            left--;
        }
    }
    return 0;
}

/* A stream comes batch by batch: the first samples of the first epoch make the rows. */
static int take_stream_epoch(viewing *v, uint64_t epoch, leat_error *err) {
    leat__lock(&v->pipeline->ring->mutex);
    int rc = 0, seen = 0;
    leat__sched_move(v->pipeline, (leat__cursor){.epoch = epoch}, NULL);
    leat__unlock(&v->pipeline->ring->mutex);
    int left = v->config.n_samples;
    while (rc == 0 && left > 0 && seen < STREAM_SAMPLES) {
        leat_batch batch;
        rc = leat_pipeline_next(v->pipeline, &batch, err);
        if (rc != 0) break;
        for (int k = 0; k < batch.n && rc == 0; k++, seen++) {
            if (epoch == 0 && seen < v->config.n_samples) v->row[seen].sample = batch.sample[k];
            for (int i = 0;
                 i < LEAT_MIN(v->config.n_samples, epoch ? v->config.n_samples : seen + 1) && rc == 0; i++) {
                if (v->row[i].sample != batch.sample[k] || !wants(v, i)) continue;
                rc = take_version(v, i, &batch, k, err);
                left--;
            }
        }
        if (epoch == 0 && rc == 0 && batch.epoch > 0) rc = LEAT_END;
        leat_batch_release(&batch);
    }
    if (epoch == 0 && seen < v->config.n_samples) v->config.n_samples = seen; /* that is all there is */
    return rc < 0 ? rc : 0;
}

static bool complete(const viewing *v) {
    for (int i = 0; i < v->config.n_samples; i++)
        if (v->row[i].n_found < v->config.n_versions) return false;
    return true;
}

static int take_versions(viewing *v, leat_error *err) {
    for (int epoch = 0; epoch < v->config.n_versions + MORE_EPOCHS && !complete(v); epoch++) {
        for (int i = 0; i < v->config.n_samples; i++) v->row[i].taken = false;
        LEAT_TRY(v->pipeline->plan.stream ? take_stream_epoch(v, (uint64_t)epoch, err)
                                          : take_epoch(v, (uint64_t)epoch, err));
        if (v->progress &&
            v->progress(v->user, "pictures", (uint64_t)epoch + 1, (uint64_t)v->config.n_versions))
            return leat__fail(err, LEAT_ERR_CANCELLED, "stopped");
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- sheet */

/* Rows spread evenly over the epoch, so that an order by class shows several of them. */
static int choose_samples(viewing *v, leat_error *err) {
    leat__order *order = &v->pipeline->plan.order;
    uint64_t length = leat__order_length(order);
    if (length == LEAT_ENDLESS) length = v->pipeline->plan.source->n_samples;
    if (!v->pipeline->plan.stream && length < (uint64_t)v->config.n_samples)
        v->config.n_samples = (int)length;
    const size_t rows = (size_t)v->config.n_samples, cells = rows * (size_t)v->n_columns;
    v->row = leat__alloc(LEAT_MEM_TOOL, rows * sizeof *v->row);
    v->cell = leat__alloc(LEAT_MEM_TOOL, cells * sizeof *v->cell);
    if (!v->row || !v->cell) return leat__fail_memory(err, cells * sizeof *v->cell, "a sheet");
    v->n_cells = cells;
    for (size_t i = 0; i < rows && !v->pipeline->plan.stream; i++) {
        v->row[i].position = length / rows * i + length % rows * i / rows;
        v->row[i].sample = leat__order_map(order, 0, v->row[i].position).sample;
    }
    return 0;
}

/* The field that is shown, and the one that names the class. */
static int choose_fields(viewing *v, leat_error *err) {
    leat_field fields[LEAT_FIELDS_MAX];
    const int n = leat_pipeline_fields(v->pipeline, fields, LEAT_FIELDS_MAX);
    for (int i = 0; i < n; i++) {
        const leat_field *f = &fields[i];
        const bool scalar = !f->ragged && f->dtype <= LEAT_DTYPE_I64 && f->ndim == 0;
        if (leat__view_is_picture(f) && (!*v->field || strcmp(f->name, "image") == 0)) {
            memcpy(v->field, f->name, sizeof v->field);
            v->dtype = f->dtype;
        }
        if (strcmp(f->name, "label") == 0 || (scalar && !*v->label_field))
            memcpy(v->label_field, f->name, sizeof v->label_field);
    }
    leat__view_find_overlay(&v->overlay, v->spec, v->field);
    if (*v->field) return 0;
    return leat__fail(
        err, LEAT_ERR_TYPE,
        "the pipeline gives no picture, (height, width, channels), that could be shown: decode or reshape "
        "one");
}

/* One range for all versions, so that what is brighter looks brighter; the originals have their own. */
static void set_ranges(viewing *v, char *text, size_t cap) {
    const leat__view_picture *pictures[2][LEAT_VIEW_ROWS_MAX * LEAT_VIEW_VERSIONS_MAX];
    size_t n[2] = {0};
    for (size_t i = 0; i < v->n_cells; i++) {
        const bool version = i % (size_t)v->n_columns != 0;
        if (v->cell[i].picture.height) pictures[version][n[version]++] = &v->cell[i].picture;
    }
    leat__view_range range[2] = {leat__view_find_range(pictures[0], n[0]),
                                 leat__view_find_range(pictures[1], n[1])};
    if (v->dtype == LEAT_DTYPE_U8) range[1] = (leat__view_range){0, 255};
    const leat__value *plain = value_of(v, v->field);
    if (plain && plain->dtype == LEAT_DTYPE_U8) range[0] = (leat__view_range){0, 255};
    for (size_t i = 0; i < v->n_cells; i++) v->cell[i].range = range[i % (size_t)v->n_columns != 0];
    snprintf(text, cap, "%.3g to %.3g as black to white%s%s%s", range[1].low, range[1].high,
             *v->undone ? ", after undoing " : "", v->undone, "");
}

/* Draws a page and writes it as a PNG. */
static int write_page(const viewing *v, const leat__view_sheet *sheet, const char *path,
                      leat_view_report *report, leat_error *err) {
    leat__buf page = {.kind = LEAT_MEM_TOOL}, file = {.kind = LEAT_MEM_TOOL};
    leat__encoder *encoder = leat__encoder_new(err);
    int rc = encoder ? leat__view_draw(&page, &report->height, &report->width, sheet, err) : LEAT_ERR_MEMORY;
    const leat__pixels pixels = {
        .data = page.data, .height = report->height, .width = report->width, .channels = 3};
    if (rc == 0) rc = leat__encode_png(encoder, &file, &pixels, err);
    if (rc == 0) rc = leat__file_write(path, file.data, file.size, err);
    report->n_samples = v->config.n_samples;
    leat__encoder_free(&encoder);
    leat__buf_free(&page);
    leat__buf_free(&file);
    return rc;
}

static int write_sheet(viewing *v, const char *path, leat_view_report *report, leat_error *err) {
    char range[200], note[600];
    set_ranges(v, range, sizeof range);
    const int64_t length = leat_pipeline_samples(v->pipeline);
    char of[40] = "";
    if (length >= 0) snprintf(of, sizeof of, " of %" PRId64, length);
    snprintf(note, sizeof note,
             "%d%s samples, seed %" PRIu64
             ". Left the original; beside it what the pipeline makes of it, epoch after "
             "epoch. EPOCH:POSITION is for leat run --sample. %s: %s.",
             v->config.n_samples, of, v->pipeline->plan.seed, v->field, range);
    const leat__view_sheet sheet = {.n_rows = v->config.n_samples,
                                    .n_columns = v->n_columns,
                                    .size = v->config.size,
                                    .cell = v->cell,
                                    .title = "leat view",
                                    .text = (const char *)v->spec->text.data,
                                    .note = note};
    return write_page(v, &sheet, path, report, err);
}

/* The versions alone, one beside the other, in as many rows as were asked for or can be filled. */
static int write_strip(viewing *v, const char *path, leat_view_report *report, leat_error *err) {
    char range[200];
    const size_t n = (size_t)v->config.n_samples, asked = (size_t)v->config.strip,
                 columns = LEAT_MAX((n + asked - 1) / asked, (size_t)1), rows = (n + columns - 1) / columns;
    leat__view_cell *cells = leat__alloc(LEAT_MEM_TOOL, LEAT_MAX(rows, (size_t)1) * columns * sizeof *cells);
    if (!cells) return leat__fail_memory(err, rows * columns * sizeof *cells, "a strip");
    set_ranges(v, range, sizeof range);
    for (size_t i = 0; i < n; i++) {
        cells[i] = *cell_at(v, (int)i, 1);
        if (cells[i].picture.height) cells[i].key[0] = cells[i].words[0] = 0;
    }
    const leat__view_sheet sheet = {
        .n_rows = (int)rows, .n_columns = (int)columns, .size = v->config.size, .strip = true, .cell = cells};
    const int rc = n ? write_page(v, &sheet, path, report, err)
                     : leat__fail(err, LEAT_ERR_ARGUMENT, "there is no sample");
    leat__free(cells); /* what they hold belongs to the cells of the samples */
    return rc;
}

static int give_cells(viewing *v, leat_error *err) {
    char range[200];
    set_ranges(v, range, sizeof range);
    for (int i = 0; i < v->config.n_samples; i++)
        for (int k = 0; k < v->n_columns; k++)
            LEAT_TRY(v->each_cell(v->cell_user, i, k, cell_at(v, i, k), err));
    return 0;
}

static int view_all(viewing *v, leat_config *config, leat_view_report *report, leat_error *err) {
    config->params = 1;
    config->synchronous = 1; /* only what is shown is run */
    config->n_epochs = v->config.n_versions + MORE_EPOCHS;
    v->progress = config->progress;
    v->user = config->user;
    LEAT_TRY(leat_pipeline_open(&v->pipeline, v->spec, config, err));
    LEAT_TRY(choose_fields(v, err));
    LEAT_TRY(choose_samples(v, err));
    LEAT_TRY(take_versions(v, err));
    if (v->config.strip) return write_strip(v, v->path, report, err);
    config->log = NULL; /* the same source has spoken */
    LEAT_TRY(open_plain(v, config, err));
    LEAT_TRY(take_originals(v, err));
    return v->path ? write_sheet(v, v->path, report, err) : give_cells(v, err);
}

static int in_range(int value, int fallback, int low, int high, const char *what, int *out, leat_error *err) {
    *out = value ? value : fallback;
    if (*out >= low && *out <= high) return 0;
    return leat__fail(err, LEAT_ERR_ARGUMENT, "%s must lie between %d and %d, not %d", what, low, high, *out);
}

/* Checks what was asked for, does it, and frees everything. */
static int run_view(viewing *v, const leat_config *pipeline, leat_view_report *report, leat_error *err) {
    leat_config own = pipeline ? *pipeline : (leat_config){0};
    if (pipeline) LEAT_TRY(LEAT_CHECK_RESERVED(leat_config, pipeline, err));
    LEAT_TRY(leat_spec_error(v->spec, err));
    leat_view_config *c = &v->config;
    LEAT_TRY(
        in_range(c->n_samples, SAMPLES, 1, LEAT_VIEW_ROWS_MAX, "the number of samples", &c->n_samples, err));
    LEAT_TRY(in_range(c->n_versions, VERSIONS, 1, LEAT_VIEW_VERSIONS_MAX, "the number of versions",
                      &c->n_versions, err));
    LEAT_TRY(in_range(c->size, SIZE, 32, 2048, "the size", &c->size, err));
    LEAT_TRY(in_range(c->strip, 0, 0, LEAT_VIEW_ROWS_MAX, "the number of rows", &c->strip, err));
    if (c->strip) c->n_versions = 1;
    v->n_columns = 1 + c->n_versions;
    leat_error local;
    const int rc = view_all(v, &own, report, err ? err : &local);
    for (size_t i = 0; i < v->n_cells; i++) leat__view_cell_free(&v->cell[i]);
    if (v->tools) leat__tools_free(v->tools);
    leat__free(v->tools);
    leat__plan_free(&v->plain);
    leat_spec_free(&v->plain_spec);
    leat_pipeline_close(&v->pipeline);
    leat__buf_free(&v->work);
    leat__free(v->cell);
    leat__free(v->row);
    return rc;
}

int leat_view(const leat_spec *spec, const char *path, const leat_view_config *config,
              const leat_config *pipeline, leat_view_report *report, leat_error *err) {
    leat_view_report unused;
    viewing v = {.spec = spec, .config = config ? *config : (leat_view_config){0}, .path = path};
    leat__error_clear(err);
    if (!report) report = &unused;
    *report = (leat_view_report){0};
    if (!path) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_view: the path is NULL");
    if (config) LEAT_TRY(LEAT_CHECK_RESERVED(leat_view_config, config, err));
    return run_view(&v, pipeline, report, err);
}

int leat__view_cells(const leat_spec *spec, const leat_view_config *view, const leat_config *pipeline,
                     leat__view_cell_fn fn, void *user, leat_error *err) {
    leat_view_report unused = {0};
    viewing v = {.spec = spec, .config = *view, .each_cell = fn, .cell_user = user};
    return run_view(&v, pipeline, &unused, err);
}
