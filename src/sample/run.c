/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a sample: READ its bytes, PARSE the record, DECODE and TRANSFORM row by row in one pass, STORE it in its
 * place of the batch. Nothing is allocated once the buffers have grown to their largest sample. */
#include "sample/run.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "image/pass/convert.h"

/* Those of a reader, and of the readers of its parts. */
static int list_reader(const leat__source *source, leat__reader *reader, leat__buf **bufs, int n) {
    bufs[n++] = &reader->bytes;
    bufs[n++] = &reader->extra;
    for (int i = 0; i < source->n_parts; i++) {
        leat__reader *part = source->class->part_reader(reader, i);
        if (part) n = list_reader(source->part[i], part, bufs, n);
    }
    return n;
}

/* The reader's come first: threads that only read share this part of the high-water mark. */
static int list_bufs(leat__tools *tools, leat__buf *bufs[LEAT_TOOLS_BUFS]) {
    int n = list_reader(tools->plan->source, &tools->reader, bufs, 0);
    bufs[n++] = &tools->band;
    bufs[n++] = &tools->bordered;
    bufs[n++] = &tools->cached.bytes;
    bufs[n++] = &tools->positions;
    bufs[n++] = &tools->kept;
    for (int i = 0; i < tools->plan->n_steps; i++) {
        bufs[n++] = &tools->made[i];
        if (tools->plan->step[i].kind == LEAT_STEP_PICTURE || tools->plan->step[i].kind == LEAT_STEP_EVAL)
            for (int k = 0; k < LEAT_PICTURE_BUFS; k++) bufs[n++] = &tools->picture[i][k];
    }
    for (int i = 0; i < tools->plan->n_values; i++) bufs[n++] = &tools->numbers[i];
    return n;
}

int leat__tools_init(leat__tools *tools, const leat__plan *plan, leat__mutex *large, leat_error *err) {
    *tools = (leat__tools){.plan = plan, .large = large, .key = leat__rng_key(plan->seed, 0)};
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    const int n = list_bufs(tools, bufs);
    for (int i = 0; i < n; i++) bufs[i]->kind = LEAT_MEM_WORKER;
    leat__image_dsp_init(&tools->dsp, leat__cpu_flags());
    if (plan->source->class->prepare) plan->source->class->prepare(plan->source, &tools->reader);
    tools->decoder = leat__decoder_new(err);
    return tools->decoder ? 0 : LEAT_ERR_MEMORY;
}

void leat__tools_free(leat__tools *tools) {
    if (!tools->plan) return;
    leat__reader_free(tools->plan->source, &tools->reader);
    leat__decoder_free(&tools->decoder);
    leat__pass_scratch_free(&tools->scratch);
    leat__group_free(tools->group);
    leat__cache_hand_free(&tools->cached);
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    const int n = list_bufs(tools, bufs);
    for (int i = 0; i < n; i++) leat__buf_free(bufs[i]);
    tools->plan = NULL;
}

leat__tools *leat__tools_new(const leat__plan *plan, leat_error *err) {
    leat__tools *tools = leat__alloc(LEAT_MEM_WORKER, sizeof *tools);
    if (!tools) leat__fail_memory(err, sizeof *tools, "what samples are run with");
    else if (leat__tools_init(tools, plan, NULL, err) < 0) leat__tools_delete(&tools);
    return tools;
}

void leat__tools_delete(leat__tools **tools) {
    if (*tools) leat__tools_free(*tools);
    leat__free(*tools);
    *tools = NULL;
}

uint32_t leat__tools_grown(const leat__tools *tools) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    const int n = list_bufs((leat__tools *)tools, bufs);
    uint32_t grown = leat__decoder_grown(tools->decoder) + leat__pass_scratch_grown(&tools->scratch);
    for (int i = 0; i < n; i++) grown += bufs[i]->grown;
    return grown;
}

static bool raise_mark(size_t *mark, size_t to) {
    const bool rises = to > *mark;
    if (rises) *mark = to;
    return rises;
}

bool leat__tools_raise(const leat__tools *tools, leat__high_water *high) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    size_t caps[LEAT_PASS_BUFS];
    const int n = list_bufs((leat__tools *)tools, bufs);
    bool rose = raise_mark(&high->arena, leat__decoder_high(tools->decoder));
    leat__pass_scratch_caps(&tools->scratch, caps);
    for (int i = 0; i < n; i++) rose |= raise_mark(&high->buf[i], bufs[i]->cap);
    for (int i = 0; i < LEAT_PASS_BUFS; i++) rose |= raise_mark(&high->pass[i], caps[i]);
    return rose;
}

void leat__tools_adopt(leat__tools *tools, const leat__high_water *high) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    const int n = list_bufs(tools, bufs);
    /* Without memory the worker grows its buffers when the large sample comes: slower, not wrong. */
    for (int i = 0; i < n; i++) leat__buf_reserve_exactly(bufs[i], high->buf[i]);
    leat__pass_scratch_adopt(&tools->scratch, high->pass);
    if (high->arena > leat__decoder_high(tools->decoder)) leat__decoder_adopt(tools->decoder, high->arena);
}

bool leat__reader_raise(const leat__source *source, leat__reader *reader, leat__high_water *high) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    bool rose = false;
    for (int i = 0, n = list_reader(source, reader, bufs, 0); i < n; i++)
        rose |= raise_mark(&high->buf[i], bufs[i]->cap);
    return rose;
}

void leat__reader_adopt(const leat__source *source, leat__reader *reader, const leat__high_water *high) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    for (int i = 0, n = list_reader(source, reader, bufs, 0); i < n; i++)
        leat__buf_reserve_exactly(bufs[i], high->buf[i]);
}

size_t leat__reader_high(const leat__source *source, leat__reader *reader, const leat__high_water *high) {
    leat__buf *bufs[LEAT_TOOLS_BUFS];
    size_t sum = 0;
    for (int i = 0, n = list_reader(source, reader, bufs, 0); i < n; i++) sum += high->buf[i];
    return sum;
}

/* Reading begins or ends, in a sample that is watched. */
static void watch_reading(leat__tools *tools, bool begins) {
    const leat__moment now = leat__waits_now(&tools->waits);
    if (begins) tools->reading = now;
    else tools->blocked_ns += leat__waits_between(&tools->reading, &now);
}

void leat__run_time(leat__tools *tools, int stage) {
    const bool reads = stage == LEAT_STAGE_READ, did = tools->stage == LEAT_STAGE_READ;
    if (tools->watched && reads != did) watch_reading(tools, reads);
    const uint64_t now = leat__now_ns();
    tools->stage_ns[tools->stage] += now - tools->mark_ns;
    tools->mark_ns = now;
    tools->n_marks++;
}

/* -------------------------------------------------------------------------------------------- parse */

static const char *kind_name(leat__feature_kind kind) {
    static const char *const names[] = {"nothing", "bytes", "float", "int64"};
    return names[kind];
}

static int take_missing(const leat__parse_feature *f, leat__value *value, leat_error *err) {
    if (f->has_fallback) {
        value->data = f->fallback.data;
        value->bytes = f->fallback.size;
        if (f->dtype == LEAT_DTYPE_BYTES) value->shape[0] = (int64_t)value->bytes;
        return 0;
    }
    if (f->ragged) {
        value->shape[0] = 0;
        return 0;
    }
    return leat__fail(err, LEAT_ERR_NOT_FOUND,
                      "feature %s is required but is not there: 'leat show' lists what is, or give a "
                      "default (%s:%s=...)",
                      f->name, f->name, leat_dtype_name(f->dtype));
}

static int take_feature(leat__tools *tools, const leat__parse_feature *f, const leat__feature *found,
                        leat_error *err) {
    leat__value *value = &tools->value[f->value];
    const leat__feature_kind wanted = f->dtype == LEAT_DTYPE_BYTES ? LEAT_FEATURE_BYTES
                                      : f->dtype == LEAT_DTYPE_F32 ? LEAT_FEATURE_FLOAT
                                                                   : LEAT_FEATURE_INT64;
    value->data = NULL;
    value->bytes = 0;
    value->dtype = f->dtype;
    value->ndim = f->ndim;
    memcpy(value->shape, f->shape, sizeof f->shape);
    if (found->kind == LEAT_FEATURE_NONE) return take_missing(f, value, err);
    if (found->kind != wanted)
        return leat__fail(err, LEAT_ERR_TYPE, "feature %s holds %s, not %s", f->name, kind_name(found->kind),
                          kind_name(wanted));
    if (f->dtype == LEAT_DTYPE_BYTES) {
        leat__span only;
        const int64_t n = leat__feature_spans(found, &only, 1);
        if (n < 0) return leat__fail(err, LEAT_ERR_FORMAT, "feature %s is damaged", f->name);
        if (n != 1)
            return leat__fail(err, LEAT_ERR_SHAPE, "feature %s holds %" PRId64 " strings, not one", f->name,
                              n);
        value->data = only.data;
        value->bytes = only.n;
        value->shape[0] = (int64_t)only.n;
        return 0;
    }
    leat__buf *numbers = &tools->numbers[f->value];
    const size_t item = leat_dtype_size(f->dtype), cap = f->ragged ? f->count_max : f->count;
    if (f->ragged) { /* sized by what is there: the maximum may be far above it */
        const int64_t n = leat__feature_count(found);
        if (n >= 0 && (size_t)n <= cap && !leat__buf_reserve(numbers, (size_t)n * item))
            return leat__fail_memory(err, (size_t)n * item, f->name);
    } else if (!leat__buf_reserve(numbers, cap * item)) {
        return leat__fail_memory(err, cap * item, f->name);
    }
    const size_t room = f->ragged ? LEAT_MIN(cap, numbers->cap / item) : cap;
    const int64_t n = f->dtype == LEAT_DTYPE_F32 ? leat__feature_floats(found, (float *)numbers->data, room)
                                                 : leat__feature_ints(found, (int64_t *)numbers->data, room);
    if (n < 0) return leat__fail(err, LEAT_ERR_FORMAT, "feature %s is damaged", f->name);
    if (f->ragged ? (size_t)n > cap : (size_t)n != cap)
        return leat__fail(err, LEAT_ERR_SHAPE, "feature %s has %" PRId64 " values, not %s%zu", f->name, n,
                          f->ragged ? "at most " : "", cap);
    value->data = numbers->data;
    value->bytes = (size_t)n * item;
    if (f->ragged) value->shape[0] = n;
    return 0;
}

static int run_parse(leat__tools *tools, const leat__step *step, leat_error *err) {
    leat__feature found[LEAT_VALUES_MAX];
    const leat__value *record = &tools->value[step->value];
    LEAT_TRY(leat__example_find_alike(&tools->form, record->data, record->bytes, step->as.parse.key,
                                      step->as.parse.n, found, err));
    for (int i = 0; i < step->as.parse.n; i++)
        LEAT_TRY(take_feature(tools, &step->as.parse.feature[i], &found[i], err));
    return 0;
}

/* ----------------------------------------------------------------------------- types and shapes */

static int run_raw(leat__tools *tools, const leat__step *step, leat_error *err) {
    leat__value *value = &tools->value[step->value];
    const size_t item = leat_dtype_size(step->as.raw.dtype);
    if (value->bytes % item)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "decode_raw: %zu bytes are no whole number of %s values of %zu bytes", value->bytes,
                          leat_dtype_name(step->as.raw.dtype), item);
    value->dtype = step->as.raw.dtype;
    value->ndim = 1;
    value->shape[0] = (int64_t)(value->bytes / item);
    return 0;
}

/* A picture with channels first in memory of its own, with channels last. */
static int turn_planes(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    leat__value *value = &tools->value[step->value];
    const int64_t item = (int64_t)leat_dtype_size(value->dtype), *shape = value->shape;
    int64_t stride[3] = {shape[1] * shape[2] * item, shape[2] * item, item};
    uint8_t *dst = leat__run_destination(tools, step, at, value->bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    leat__channels_last(value->shape, stride);
    leat__gather(dst, value->data, value->shape, stride, 3, (size_t)item);
    value->data = dst;
    return 0;
}

static int run_reshape(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    leat__value *value = &tools->value[step->value];
    const int64_t have = (int64_t)(value->bytes / leat_dtype_size(value->dtype));
    const int64_t known = step->as.reshape.known;
    const int open = step->as.reshape.open;
    memcpy(value->shape, step->as.reshape.shape, sizeof value->shape);
    value->ndim = step->as.reshape.ndim;
    if (open >= 0 && known > 0) value->shape[open] = have / known;
    if (open >= 0 ? known == 0 || have % known != 0 : have != known)
        return leat__fail(err, LEAT_ERR_SHAPE, "reshape: %" PRId64 " values do not make a shape of %" PRId64,
                          have, known);
    return step->as.reshape.planes ? turn_planes(tools, step, at, err) : 0;
}

static void shape_text(char *text, size_t cap, const int64_t *shape, int ndim) {
    text[0] = 0;
    for (int i = 0; i < ndim; i++) {
        const size_t n = strlen(text);
        if (shape[i] < 0) snprintf(text + n, cap - n, "%s*", i ? "x" : "");
        else snprintf(text + n, cap - n, "%s%" PRId64, i ? "x" : "", shape[i]);
    }
}

static int fail_shape(const leat__output *out, const leat__where *at, const leat__value *value,
                      leat_error *err) {
    char is[120], batch[120], most[120];
    int64_t planned[LEAT_NDIM_MAX], larger[LEAT_NDIM_MAX];
    for (int i = 0; i < out->field.ndim; i++) {
        planned[i] = out->padded ? out->most[i] : leat__output_length(out, at->bucket, i);
        larger[i] = i < value->ndim ? LEAT_MAX(planned[i], value->shape[i]) : planned[i];
    }
    shape_text(is, sizeof is, value->shape, value->ndim);
    shape_text(batch, sizeof batch, planned, out->field.ndim);
    shape_text(most, sizeof most, larger, out->field.ndim);
    if (out->padded)
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "%s is %s, padded_batch has room for %s: give it a larger size or max, or resize before",
            out->field.name, is, batch);
    if (out->unsized)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s is %s %s, but should be %s %s", out->field.name,
                          leat_dtype_name(value->dtype), is, leat_dtype_name(out->field.dtype), batch);
    if (!out->probed_for || value->ndim != out->field.ndim)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "%s is %s, the batch has %s: samples of one batch must have one shape: write "
                          "resize or reshape before batch",
                          out->field.name, is, batch);
    if (out->stacked == 1)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "%s is %s, in %s it is %s: on_device and memory of the program (slot_alloc, pinned "
                          "memory) need one size: write resize 224 224 before",
                          out->field.name, is, out->probed_for, batch);
    return leat__fail(
        err, LEAT_ERR_SHAPE,
        "%s is %s, in %s it is %s: samples of one batch must have one size: write %spadded_batch "
        "%d max=%s:%s in place of batch",
        out->field.name, is, out->probed_for, batch,
        value->ndim > 1 ? "resize 224 224 before batch, or " : "", out->stacked, out->field.name, most);
}

/* The axes that the plan knows, and whether there is room. */
static int check_unsized(const leat__output *out, const leat__where *at, const leat__value *value,
                         leat_error *err) {
    bool same = value->ndim == out->field.ndim && value->dtype == out->field.dtype;
    size_t bytes = out->item;
    for (int i = 0; same && i < value->ndim; i++) {
        same = out->field.shape[i] < 0 || value->shape[i] == out->field.shape[i];
        if (value->shape[i] < 0 || !leat__mul_size(bytes, (size_t)value->shape[i], &bytes)) bytes = SIZE_MAX;
    }
    if (!same) return fail_shape(out, at, value, err);
    if (bytes <= out->stride) return 0;
    char is[120];
    shape_text(is, sizeof is, value->shape, value->ndim);
    return leat__fail(err, LEAT_ERR_LIMIT,
                      "%s is %s, %.1f MB: there is room for %.1f MB: resize it, or raise memory_max_bytes "
                      "(--memory)",
                      out->field.name, is, (double)bytes / 1e6, (double)out->stride / 1e6);
}

int leat__run_check_shape(const leat__output *out, const leat__where *at, const leat__value *value,
                          leat_error *err) {
    if (out->unsized) return check_unsized(out, at, value, err);
    bool same = value->ndim == out->field.ndim && value->dtype == out->field.dtype;
    if (LEAT_LIKELY(!out->padded && !out->by_bucket)) {
        for (int i = 0; same && i < value->ndim; i++) same = value->shape[i] == out->field.shape[i];
    } else {
        for (int i = 0; same && i < value->ndim; i++)
            same = out->padded ? value->shape[i] <= out->most[i]
                               : value->shape[i] == leat__output_length(out, at->bucket, i);
    }
    return LEAT_LIKELY(same) ? 0 : fail_shape(out, at, value, err);
}

uint8_t *leat__run_destination(leat__tools *tools, const leat__step *step, const leat__where *at,
                               size_t bytes, leat_error *err) {
    if (step->output >= 0 && at->slot) {
        const leat__output *out = &tools->plan->output[step->output];
        return at->slot + leat__output_at(out, at->bucket, at->place);
    }
    leat__buf *made = &tools->made[step - tools->plan->step];
    /* A result between two steps is no part of a batch, so the planner has not compared it with the budget. */
    if (bytes <= LEAT_MAX(tools->plan->budget.whole, LEAT_LARGE_PICTURE) &&
        leat__buf_reserve(made, LEAT_MAX(bytes, (size_t)1))) /* a ragged field may have no value at all */
        return made->data;
    leat__fail_memory(err, bytes, "a picture");
    return NULL;
}

static int run_convert(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    leat__value *value = &tools->value[step->value];
    const size_t n = value->bytes / leat_dtype_size(value->dtype);
    leat__value result = *value;
    result.dtype = step->as.convert.dtype;
    result.bytes = n * leat_dtype_size(result.dtype);
    const bool stores = step->output >= 0 && at->slot;
    if (stores && !tools->plan->output[step->output].field.ragged)
        LEAT_TRY(leat__run_check_shape(&tools->plan->output[step->output], at, &result, err));
    if (stores && result.bytes > tools->plan->output[step->output].stride)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has more values than the batch has room for",
                          tools->plan->output[step->output].field.name);
    uint8_t *dst = leat__run_destination(tools, step, at, result.bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    if (leat__convert(dst, result.dtype, value->data, value->dtype, n, step->as.convert.affine,
                      step->as.convert.scale, step->as.convert.offset) < 0)
        return leat__fail(err, LEAT_ERR_TYPE, "cast from %s to %s", leat_dtype_name(value->dtype),
                          leat_dtype_name(result.dtype));
    result.data = dst;
    *value = result;
    return 0;
}

static int run_one_hot(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    leat__value *value = &tools->value[step->value];
    int64_t label = 0;
    if (value->bytes != leat_dtype_size(value->dtype))
        return leat__fail(err, LEAT_ERR_SHAPE, "one_hot: the label is not one number");
    leat__convert(&label, LEAT_DTYPE_I64, value->data, value->dtype, 1, false, 1, 0);
    const int n = step->as.one_hot.n;
    if (label < 0 || label >= n)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "one_hot: label %" PRId64
                          " lies outside of %d classes, which count from 0: give their number",
                          label, n);
    leat__value result = {
        .dtype = LEAT_DTYPE_F32, .ndim = 1, .shape = {n}, .bytes = (size_t)n * sizeof(float)};
    if (step->output >= 0 && at->slot)
        LEAT_TRY(leat__run_check_shape(&tools->plan->output[step->output], at, &result, err));
    float *out = (float *)(void *)leat__run_destination(tools, step, at, result.bytes, err);
    if (!out) return LEAT_ERR_MEMORY;
    for (int i = 0; i < n; i++) out[i] = i == label ? step->as.one_hot.on : step->as.one_hot.off;
    result.data = (const uint8_t *)out;
    *value = result;
    return 0;
}

/* ------------------------------------------------------------------------------------------- sample */

static int store(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__plan *plan = tools->plan;
    for (int i = 0; i < plan->n_outputs; i++) {
        const leat__output *out = &plan->output[i];
        const leat__value *value = &tools->value[out->value];
        if (out->field.ragged) {
            if (value->bytes > out->stride)
                return leat__fail(err, LEAT_ERR_SHAPE, "%s has %zu bytes, the batch has room for %zu",
                                  out->field.name, value->bytes, out->stride);
            at->count[i][at->place] = (int64_t)(value->bytes / out->item);
        } else if (!out->stored) {
            LEAT_TRY(leat__run_check_shape(out, at, value, err));
        }
        if (out->padded || (out->unsized && !out->field.ragged))
            memcpy(&at->count[i][at->place * value->ndim], value->shape,
                   (size_t)value->ndim * sizeof *value->shape);
        uint8_t *place = at->slot + leat__output_at(out, at->bucket, at->place);
        if (!out->stored && value->bytes && value->data != place) memcpy(place, value->data, value->bytes);
    }
    return 0;
}

int leat__run_range(leat__tools *tools, const leat__where *at, int from, int to, leat_error *err) {
    const leat__plan *plan = tools->plan;
    const bool *const only = tools->only;
    const uint64_t parts = !plan->parted ? 0
                           : at->piece   ? leat__source_parts_of(plan->source, 0, at->piece, at->n_pieces)
                                         : plan->source->class->parts(plan->source, at->sample);
    for (const leat__step *step = plan->step + from; step < plan->step + to; step++) {
        if ((only && !only[step - plan->step]) || (step->parts && !(step->parts & parts))) continue;
        if (step->choice && tools->chosen.branch[step->choice - 1] != step->branch) {
            if (step->kind == LEAT_STEP_CHOOSE) tools->chosen.branch[step->as.choice->number] = -1;
            continue;
        }
        leat__run_stage(tools, step->stage);
        switch (step->kind) {
        case LEAT_STEP_PARSE: LEAT_TRY(run_parse(tools, step, err)); break;
        case LEAT_STEP_RAW: LEAT_TRY(run_raw(tools, step, err)); break;
        case LEAT_STEP_RESHAPE: LEAT_TRY(run_reshape(tools, step, at, err)); break;
        case LEAT_STEP_CONVERT: LEAT_TRY(run_convert(tools, step, at, err)); break;
        case LEAT_STEP_PASS: LEAT_TRY(leat__run_pass(tools, step, at, err)); break;
        case LEAT_STEP_PICTURE: LEAT_TRY(leat__run_picture(tools, step, at, err)); break;
        case LEAT_STEP_ONE_HOT: LEAT_TRY(run_one_hot(tools, step, at, err)); break;
        case LEAT_STEP_ENUMERATE: LEAT_TRY(leat__run_enumerate(tools, step, at, err)); break;
        case LEAT_STEP_COPY: /* the same memory: no step changes what it was given */
            tools->value[step->value] = tools->value[step->as.copy.from];
            break;
        case LEAT_STEP_STACK: LEAT_TRY(leat__run_stack(tools, step, at, err)); break;
        case LEAT_STEP_PATH: LEAT_TRY(leat__run_path(tools, step, at, err)); break;
        case LEAT_STEP_RELABEL: LEAT_TRY(leat__run_relabel(tools, step, at, err)); break;
        case LEAT_STEP_MAP: LEAT_TRY(leat__run_map(tools, step, at, err)); break;
        case LEAT_STEP_EVAL: LEAT_TRY(leat__run_eval(tools, step, at, err)); break;
        case LEAT_STEP_DRAW: LEAT_TRY(leat__run_draw(tools, step, at, err)); break;
        case LEAT_STEP_CHOOSE: LEAT_TRY(leat__run_chance(tools, step, at, err)); break;
        case LEAT_STEP_TRAIL: LEAT_TRY(leat__run_trail(tools, step, at, err)); break;
        case LEAT_STEP_COORDINATES: LEAT_TRY(leat__run_coordinates(tools, step, at, err)); break;
        }
    }
    return 0;
}

/* Whether the cache has the sample; fields that go into the batch as they are may lie there already. */
static bool take_cached(leat__tools *tools, const leat__where *at) {
    const leat__plan *plan = tools->plan;
    const leat__caching *caching = &plan->caching;
    uint8_t *into[LEAT_FIELDS_MAX];
    /* The cache does not keep drawn values as text: if they are wanted, the sample is made again, with equal draws. */
    if (!plan->cache || (caching->freeze && at->params)) return false;
    const bool direct = caching->direct && at->slot;
    for (int i = 0; direct && i < caching->n_fields; i++) {
        const leat__output *out = caching->output[i] < 0 ? NULL : &plan->output[caching->output[i]];
        into[i] = out ? at->slot + leat__output_at(out, at->bucket, at->place) : NULL;
    }
    return leat__cache_take(plan->cache, &tools->cached, at->sample, direct ? into : NULL, tools->value);
}

/* The values of the source, unless the caller has read them already. */
static int read_values(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__source *source = tools->plan->source;
    if (at->piece)
        return leat__source_gather(source, &tools->reader, 0, at->piece, at->n_pieces, tools->value, err);
    if (!at->record) return source->class->read(source, &tools->reader, at->sample, tools->value, err);
    memcpy(tools->value, at->record, (size_t)source->n_fields * sizeof tools->value[0]);
    return 0;
}

/* The sample as it comes to the place of the cache in the text; without a cache that is right behind the source. */
static int run_to_cache(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__plan *plan = tools->plan;
    const leat__where *drawn = at;
    leat__where frozen;
    if (plan->caching.freeze) { /* what is kept for ever depends on the sample alone */
        frozen = *at;
        frozen.epoch = 0;
        frozen.position = at->sample;
        drawn = &frozen;
    }
    LEAT_TRY(read_values(tools, at, err));
    if (plan->caching.step) LEAT_TRY(leat__run_range(tools, drawn, 0, plan->caching.step, err));
    if (!plan->cache) return 0;
    leat__run_stage(tools, LEAT_STAGE_STORE);
    leat__cache_put(plan->cache, &tools->cached, at->sample, tools->value);
    return 0;
}

/* Some values of a sample, for a question: from the index, the record or the file, whether or not there is a cache. */
static int run_question(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__source *source = tools->plan->source;
    if (at->record || at->piece || !tools->known) LEAT_TRY(read_values(tools, at, err));
    for (int i = 0; i < source->n_fields; i++)
        if (tools->known >> i & 1)
            source->class->known(source, at->sample, i, &tools->value[i], &tools->told[i]);
    return leat__run_range(tools, at, 0, tools->plan->n_steps, err);
}

static int run_steps(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__plan *plan = tools->plan;
    leat__run_stage(tools, LEAT_STAGE_READ);
    for (int i = 0; i < plan->n_meetings; i++) tools->met[i].field = NULL;
    for (int i = 0; i < plan->n_trails; i++) tools->trail[i].n = 0;
    if (tools->only) return run_question(tools, at, err);
    if (!take_cached(tools, at)) LEAT_TRY(run_to_cache(tools, at, err));
    LEAT_TRY(leat__run_range(tools, at, plan->caching.step, plan->n_steps, err));
    if (!at->slot) return 0;
    leat__run_stage(tools, LEAT_STAGE_STORE);
    return store(tools, at, err);
}

void leat__run_describe(const leat__plan *plan, const leat__where *at, char *text, size_t cap) {
    if (at->piece) leat__source_describe_pieces(plan->source, 0, at->piece, at->n_pieces, text, cap);
    else plan->source->class->describe(plan->source, at->sample, text, cap);
}

int leat__run_sample(leat__tools *tools, const leat__where *at, leat_error *err) {
    leat__lock_check_work();
    leat_error local;
    if (!err) err = &local;
    if (at->params) leat__params_clear(at->params);
    const int rc = run_steps(tools, at, err);
    const int stage = tools->stage;
    leat__run_stage(tools, LEAT_STAGE_NONE);
    if (rc < 0) {
        if (stage != LEAT_STAGE_READ) { /* reading names its file itself */
            char where[600];
            leat__run_describe(tools->plan, at, where, sizeof where);
            leat__error_prefix(err, "%s: %s: ", where, leat_stage_name(stage));
        }
        err->stage = stage;
        err->sample = at->sample;
    }
    return rc;
}
