/* SPDX-License-Identifier: Apache-2.0 */
/* The doors of leat.h: check arguments, call the rooms. */
#include "leat/leat.h"
#include "plan/planner.h"

#include <stdio.h>
#include <unistd.h>

#include "run/pipeline.h"
#include "tools/top.h"

const char *leat_version(void) {
    return LEAT_VERSION;
}

int leat_version_number(void) {
    return LEAT_VERSION_NUMBER;
}

/* --------------------------------------------------------------------------------------------- spec */

leat_spec *leat_spec_new(const char *text) {
    leat_spec *spec = leat__alloc(LEAT_MEM_PLAN, sizeof *spec);
    if (!spec) return NULL;
    spec->text.kind = spec->memory.kind = LEAT_MEM_PLAN;
    if (text) leat_spec_add(spec, text);
    return spec;
}

int leat_spec_add(leat_spec *spec, const char *text) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (!text) return leat__fail(&spec->error, LEAT_ERR_ARGUMENT, "leat_spec_add: the text is NULL");
    leat__buf *all = &spec->text;
    if (all->size) all->size--; /* the final 0 */
    const bool fits = (all->size == 0 || leat__buf_append(all, " | ", 3));
    const int column = (int)all->size + 1;
    if (!fits || !leat__buf_append(all, text, strlen(text) + 1))
        return leat__fail_memory(&spec->error, strlen(text), "a pipeline text");
    leat__spec_read(spec, text, column, &spec->error);
    return spec->error.code;
}

static int keep_arrays(leat_spec *spec, const leat_tensor *arrays, int n, const char *function) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (!arrays || n < 1 || n > LEAT_FIELDS_MAX)
        return leat__fail(&spec->error, LEAT_ERR_ARGUMENT, "%s: 1 to %d arrays, not %d", function,
                          LEAT_FIELDS_MAX, n);
    for (int i = 0; i < n; i++) LEAT_TRY(LEAT_CHECK_RESERVED(leat_tensor, &arrays[i], &spec->error));
    spec->arrays = leat__spec_keep(spec, arrays, (size_t)n * sizeof *arrays, "arrays");
    for (int i = 0; i < n && spec->arrays; i++) { /* names are copied, like all of the description */
        const char *name = arrays[i].name ? arrays[i].name : "";
        spec->arrays[i].name = leat__spec_keep(spec, name, strlen(name) + 1, "arrays");
        if (!spec->arrays[i].name) break;
    }
    spec->n_arrays = n;
    return spec->error.code;
}

int leat_spec_arrays(leat_spec *spec, const leat_tensor *arrays, int n) {
    LEAT_TRY(keep_arrays(spec, arrays, n, "leat_spec_arrays"));
    return leat_spec_add(spec, "arrays");
}

int leat_spec_table(leat_spec *spec, const leat_tensor *arrays, int n) {
    return keep_arrays(spec, arrays, n, "leat_spec_table");
}

int leat_spec_source(leat_spec *spec, const leat_source_callbacks *callbacks) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (callbacks) LEAT_TRY(LEAT_CHECK_RESERVED(leat_source_callbacks, callbacks, &spec->error));
    if (!callbacks || !callbacks->field || callbacks->n_fields < 1 || callbacks->n_fields > LEAT_FIELDS_MAX)
        return leat__fail(&spec->error, LEAT_ERR_ARGUMENT, "leat_spec_source: 1 to %d fields",
                          LEAT_FIELDS_MAX);
    for (int i = 0; i < callbacks->n_fields; i++)
        LEAT_TRY(LEAT_CHECK_RESERVED(leat_field, &callbacks->field[i], &spec->error));
    spec->callbacks = leat__spec_keep(spec, callbacks, sizeof *callbacks, "callbacks");
    if (!spec->callbacks) return spec->error.code;
    spec->callbacks->field = leat__spec_keep(
        spec, callbacks->field, (size_t)callbacks->n_fields * sizeof *callbacks->field, "callbacks");
    return spec->error.code ? spec->error.code : leat_spec_add(spec, "source");
}

int leat_spec_stream(leat_spec *spec, const leat_stream_callbacks *callbacks) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (callbacks) LEAT_TRY(LEAT_CHECK_RESERVED(leat_stream_callbacks, callbacks, &spec->error));
    if (!callbacks || !callbacks->begin || !callbacks->next || callbacks->n_shards < 1)
        return leat__fail(&spec->error, LEAT_ERR_ARGUMENT,
                          "leat_spec_stream: begin, next and at least one shard are needed");
    spec->stream = leat__spec_keep(spec, callbacks, sizeof *callbacks, "callbacks");
    return spec->error.code ? spec->error.code : leat_spec_add(spec, "stream");
}

static int add_called(leat_spec *spec, const char *where, const char *name, leat__called called) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (!name || !*name || strlen(name) >= sizeof called.name || (!called.filter && !called.map))
        return leat__fail(&spec->error, LEAT_ERR_ARGUMENT,
                          "%s: a name of 1 to %zu bytes and a function are needed", where,
                          sizeof called.name - 1);
    if (spec->n_called == LEAT_CALLED_MAX)
        return leat__fail(&spec->error, LEAT_ERR_LIMIT, "%s: more than %d functions", where, LEAT_CALLED_MAX);
    snprintf(called.name, sizeof called.name, "%s", name);
    spec->called[spec->n_called++] = called;
    return 0;
}

int leat_spec_filter(leat_spec *spec, const char *name, leat_filter_fn fn, void *user, int thread_safe) {
    return add_called(spec, "leat_spec_filter", name,
                      (leat__called){.filter = fn, .user = user, .thread_safe = thread_safe != 0});
}

int leat_spec_map(leat_spec *spec, const char *name, leat_map_fn fn, void *user, int thread_safe) {
    return add_called(spec, "leat_spec_map", name,
                      (leat__called){.map = fn, .user = user, .thread_safe = thread_safe != 0});
}

int leat_spec_part(leat_spec *spec, const char *name, const leat_spec *part) {
    if (!spec || spec->error.code) return leat_spec_error(spec, NULL);
    if (!part) return leat__fail(&spec->error, LEAT_ERR_ARGUMENT, "leat_spec_part: the part is NULL");
    leat__spec_part_add(spec, name, part);
    return spec->error.code;
}

void *leat_map_make(const leat_sample_info *info, const leat_field *field, leat_error *err) {
    leat_error local;
    if (!err) err = &local;
    if (info && info->call && field)
        return LEAT_CHECK_RESERVED(leat_field, field, err) < 0 ? NULL
                                                               : leat__map_make(info->call, field, err);
    leat__fail(err, LEAT_ERR_ARGUMENT, "leat_map_make: it is for functions of leat_spec_map, and their info");
    return NULL;
}

int leat_spec_error(const leat_spec *spec, leat_error *err) {
    if (!spec) return leat__fail(err, LEAT_ERR_ARGUMENT, "the spec is NULL");
    if (err) *err = spec->error;
    return spec->error.code;
}

size_t leat_spec_text(const leat_spec *spec, char *text, size_t cap) {
    leat__buf out = {.kind = LEAT_MEM_PLAN};
    size_t n = 0;
    if (spec) leat__spec_normal(spec, &out);
    n = out.size;
    if (text && cap) {
        const size_t kept = LEAT_MIN(n, cap - 1);
        if (kept) memcpy(text, out.data, kept);
        text[kept] = 0;
    }
    leat__buf_free(&out);
    return n;
}

void leat_spec_free(leat_spec **handle) {
    if (!handle || !*handle) return;
    leat_spec *spec = *handle;
    for (int i = 0; i < spec->n_parts && !spec->borrows; i++) leat_spec_free(&spec->part[i].spec);
    leat__buf_free(&spec->text);
    leat__arena_free(&spec->memory);
    leat__free(spec);
    *handle = NULL;
}

/* ----------------------------------------------------------------------------------------- pipeline */

int leat_pipeline_open(leat_pipeline **out, const leat_spec *spec, const leat_config *config,
                       leat_error *err) {
    leat__error_clear(err);
    if (!out) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_open: out is NULL");
    *out = NULL;
    if (config) LEAT_TRY(LEAT_CHECK_RESERVED(leat_config, config, err));
    LEAT_TRY(leat_spec_error(spec, err));
    LEAT_TRY(leat__pipeline_open(out, spec, config, err));
    leat__publisher_judge((*out)->publisher, leat__top_judge);
    return 0;
}

int leat_pipeline_next(leat_pipeline *pipeline, leat_batch *batch, leat_error *err) {
    leat__error_clear(err);
    if (!pipeline || !batch)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_next: an argument is NULL");
    return leat__pipeline_next(pipeline, batch, err);
}

int leat_pipeline_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position, leat_batch *batch,
                         leat_error *err) {
    leat__error_clear(err);
    if (!pipeline || !batch)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_sample: an argument is NULL");
    return leat__pipeline_sample(pipeline, epoch, position, batch, err);
}

size_t leat_pipeline_name(const leat_pipeline *pipeline, uint64_t sample, char *text, size_t cap) {
    char name[4200] = "";
    if (pipeline && pipeline->stream && pipeline->owner == getpid()) {
        leat__stream_describe(pipeline->stream, sample, name, sizeof name);
    } else if (pipeline && sample < pipeline->plan.source->n_samples) {
        pipeline->plan.source->class->describe(pipeline->plan.source, sample, name, sizeof name);
    }
    return (size_t)snprintf(text, text ? cap : 0, "%s", name);
}

void leat_pipeline_close(leat_pipeline **pipeline) {
    if (pipeline) leat__pipeline_close(pipeline);
}

int64_t leat_pipeline_samples(const leat_pipeline *pipeline) {
    if (!pipeline) return -1;
    const bool locked = leat__pipeline_lock(pipeline);
    const uint64_t n = leat__order_length(&pipeline->plan.order);
    leat__pipeline_unlock(pipeline, locked);
    return n > INT64_MAX ? -1 : (int64_t)n;
}

int64_t leat_pipeline_length(const leat_pipeline *pipeline, uint64_t epoch) {
    if (!pipeline) return -1;
    const bool locked = leat__pipeline_lock(pipeline);
    const uint64_t n = leat__state_batches(pipeline, epoch);
    leat__pipeline_unlock(pipeline, locked);
    return n > INT64_MAX ? -1 : (int64_t)n;
}

int leat_pipeline_repeats(const leat_pipeline *pipeline) {
    return pipeline ? pipeline->plan.repeats : 1;
}

int leat_pipeline_fields(const leat_pipeline *pipeline, leat_field *fields, int cap) {
    if (!pipeline) return 0;
    for (int i = 0; fields && i < pipeline->plan.n_outputs && i < cap; i++)
        fields[i] = pipeline->plan.output[i].field;
    return pipeline->plan.n_outputs;
}

const char *leat_pipeline_class(const leat_pipeline *pipeline, int i) {
    if (!pipeline || i < 0 || (size_t)i >= pipeline->plan.source->n_classes) return NULL;
    return pipeline->plan.source->class_name[i];
}

int leat_pipeline_state(const leat_pipeline *pipeline, char *text, size_t cap, leat_error *err) {
    leat__error_clear(err);
    if (!pipeline || !text)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_state: an argument is NULL");
    return leat__state_write(pipeline, pipeline->handed, pipeline->handed_mark, text, cap, err);
}

int leat_pipeline_state_at(leat_pipeline *pipeline, uint64_t epoch, uint64_t step, char *text, size_t cap,
                           leat_error *err) {
    leat__error_clear(err);
    if (!pipeline || !text)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_state_at: an argument is NULL");
    leat__cursor at;
    const bool locked = leat__pipeline_lock(pipeline);
    int rc = locked ? 0 : leat__pipeline_fail_forked(err);
    if (rc == 0) rc = leat__state_cursor(pipeline, epoch, step, &at, err);
    leat__pipeline_unlock(pipeline, locked);
    return rc < 0 ? rc : leat__state_write(pipeline, at, NULL, text, cap, err);
}

int leat_pipeline_restore(leat_pipeline *pipeline, const char *text, leat_error *err) {
    leat__error_clear(err);
    if (!pipeline || !text)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pipeline_restore: an argument is NULL");
    leat__state state = {.mark = pipeline->stream ? leat__mark_new() : NULL};
    if (pipeline->stream && !state.mark) return leat__fail_memory(err, sizeof state, "a state");
    const bool locked = leat__pipeline_lock(pipeline);
    int rc = locked ? 0 : leat__pipeline_fail_forked(err);
    if (rc == 0) rc = leat__state_read(pipeline, text, &state, err);
    /* A later epoch does not forget what an earlier one was like. */
    if (rc == 0 && (state.at.epoch <= pipeline->sized.epoch || state.sized.position))
        pipeline->sized = state.sized;
    if (rc == 0) leat__sched_move(pipeline, state.at, state.mark);
    leat__pipeline_unlock(pipeline, locked);
    leat__free(state.mark);
    return rc;
}

void leat_pipeline_stats(const leat_pipeline *pipeline, leat_stats *stats) {
    if (!stats) return;
    if (pipeline) leat__counters_stats((leat_pipeline *)pipeline, stats);
    else *stats = (leat_stats){0};
}

size_t leat_pipeline_tuning(const leat_pipeline *pipeline, char *text, size_t cap) {
    if (pipeline) return leat__counters_tuning((leat_pipeline *)pipeline, text, cap);
    if (cap) *text = 0;
    return 0;
}

int leat_pipeline_workers(const leat_pipeline *pipeline, leat_worker_stats *workers, int cap) {
    return pipeline ? leat__counters_workers((leat_pipeline *)pipeline, workers, workers ? cap : 0) : 0;
}

void leat_pipeline_latency(const leat_pipeline *pipeline, leat_latency *latency) {
    if (!latency) return;
    if (pipeline) leat__counters_latency((leat_pipeline *)pipeline, latency);
    else *latency = (leat_latency){0};
}

int leat_pipeline_bad(const leat_pipeline *pipeline, uint64_t i, leat_bad *bad) {
    if (!pipeline || !bad) return LEAT_ERR_ARGUMENT;
    const bool locked = leat__pipeline_lock(pipeline);
    const int rc = i < pipeline->n_bad ? 0 : LEAT_END;
    if (rc == 0) *bad = pipeline->bad[i];
    leat__pipeline_unlock(pipeline, locked);
    return rc;
}

size_t leat_pipeline_plan(const leat_pipeline *pipeline, char *text, size_t cap) {
    if (!pipeline) return 0;
    const bool locked = leat__pipeline_lock(pipeline); /* a stream may just learn how long it is */
    const size_t n = leat__plan_text(&pipeline->plan, pipeline->n_workers, text, cap);
    leat__pipeline_unlock(pipeline, locked);
    return n;
}

void leat_pipeline_cancel(leat_pipeline *pipeline) {
    if (pipeline) leat__pipeline_cancel(pipeline);
}
