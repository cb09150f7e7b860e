/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make numbers of a sample: its place, another label, what a function of the program makes of it. */
#include "image/pass/convert.h"
#include "sample/labels.h"
#include "sample/run.h"

/* One whole number, into the batch or beside it. */
static int put_number(leat__tools *tools, const leat__step *step, const leat__where *at, int64_t number,
                      leat_error *err) {
    uint8_t *dst = leat__run_destination(tools, step, at, sizeof number, err);
    if (!dst) return LEAT_ERR_MEMORY;
    memcpy(dst, &number, sizeof number);
    tools->value[step->value] = (leat__value){.data = dst, .bytes = sizeof number, .dtype = LEAT_DTYPE_I64};
    return 0;
}

int leat__run_enumerate(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    return put_number(tools, step, at, (int64_t)(step->as.enumerate.position ? at->position : at->sample),
                      err);
}

/* A label that is one of n classes stays what it is. */
static int check_class(leat__tools *tools, const leat__step *step, const leat__where *at, int64_t label,
                       leat_error *err) {
    leat__value *value = &tools->value[step->value];
    if (label < 0 || (uint64_t)label >= step->as.relabel->n)
        return leat__fail(err, LEAT_ERR_NOT_FOUND,
                          "rejection_resample: label %" PRId64
                          " has no number in initial, which begins with label 0: add it, or filter it out",
                          label);
    uint8_t *dst = leat__run_destination(tools, step, at, value->bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    memcpy(dst, value->data, value->bytes);
    value->data = dst;
    return 0;
}

int leat__run_relabel(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__relabel *table = step->as.relabel;
    const leat__value *value = &tools->value[step->value];
    int64_t label = 0;
    if (value->bytes != leat_dtype_size(value->dtype))
        return leat__fail(err, LEAT_ERR_SHAPE, "label_map: the label is not one number");
    leat__convert(&label, LEAT_DTYPE_I64, value->data, value->dtype, 1, false, 1, 0);
    if (!table->from) return check_class(tools, step, at, label, err);
    size_t low = 0, high = table->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (table->from[mid] < label) low = mid + 1;
        else high = mid;
    }
    if (low < table->n && table->from[low] == label) return put_number(tools, step, at, table->to[low], err);
    if (table->has_fallback) return put_number(tools, step, at, table->fallback, err);
    return leat__fail(
        err, LEAT_ERR_NOT_FOUND,
        "label_map: label %" PRId64 " is not in the map: add it, give default=N, or filter it out", label);
}

void leat__called_enter(const leat__plan *plan, const leat__called *called) {
    if (!called->thread_safe) leat__lock(plan->serial);
}

void leat__called_leave(const leat__plan *plan, const leat__called *called) {
    if (!called->thread_safe) leat__unlock(plan->serial);
}

void leat__inputs_fill(const leat__inputs *inputs, const leat__value *values, leat_tensor *tensors) {
    for (int i = 0; i < inputs->n; i++) {
        const leat__value *v = &values[inputs->value[i]];
        leat_tensor *t = &tensors[i];
        *t = (leat_tensor){
            .name = inputs->name[i], .data = (void *)(uintptr_t)v->data, .dtype = v->dtype, .ndim = v->ndim};
        int64_t stride = (int64_t)leat_dtype_size(v->dtype);
        for (int k = v->ndim - 1; k >= 0; k--) {
            t->shape[k] = v->shape[k];
            t->stride[k] = stride;
            stride *= v->shape[k];
        }
    }
}

int leat__run_map(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__map_plan *map = step->as.map.plan;
    leat_tensor in[LEAT_VALUES_MAX], out[LEAT_VALUES_MAX];
    if (step->as.map.part > 0) return 0;
    leat__buf *made = &tools->made[step - tools->plan->step];
    if (!leat__buf_reserve(made, map->total)) return leat__fail_memory(err, map->total, "a field");
    memset(made->data, 0, map->total); /* what it leaves out is the same everywhere */
    leat__inputs_fill(&map->inputs, tools->value, in);
    for (int i = 0; i < map->n; i++) {
        const leat_field *field = &map->field[i];
        leat__value room = {.data = made->data + map->offset[i], .dtype = field->dtype, .ndim = field->ndim};
        memcpy(room.shape, field->shape, sizeof room.shape);
        leat__inputs_fill(&(leat__inputs){.n = 1, .name = {field->name}}, &room, &out[i]);
    }
    leat__error_clear(err);
    /* The answer to a question holds for all epochs, and so does what a cache keeps. */
    const bool once = tools->only || step < tools->plan->step + tools->plan->caching.step;
    const leat_sample_info info = {
        .epoch = once ? 0 : at->epoch, .position = once ? at->sample : at->position, .sample = at->sample};
    leat__called_enter(tools->plan, map->called);
    const int rc = map->called->map(map->called->user, &info, in, map->inputs.n, out, map->n, err);
    leat__called_leave(tools->plan, map->called);
    if (rc < 0) {
        char said[500];
        const char *why = err->message[0] ? err->message : "it did not say why";
        leat__printable(said, sizeof said, why, strnlen(why, sizeof err->message));
        return leat__fail(err, rc, "map callback=%s: %s", map->called->name, said);
    }
    for (int i = 0; i < map->n; i++) {
        leat__value *value = &tools->value[map->value[i]];
        *value = (leat__value){.data = made->data + map->offset[i],
                               .bytes = map->bytes[i],
                               .dtype = map->field[i].dtype,
                               .ndim = map->field[i].ndim};
        memcpy(value->shape, map->field[i].shape, sizeof value->shape);
    }
    return 0;
}
