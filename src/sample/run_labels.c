/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make numbers of a sample: its place, its path, another label. */
#include <limits.h>

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

int leat__run_stack(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const int n = step->as.stack.n, *from = step->as.stack.value;
    leat__value result = tools->value[from[0]];
    const size_t item = leat_dtype_size(result.dtype), rows = result.bytes / item;
    for (int k = 1; k < n; k++)
        if (tools->value[from[k]].bytes != result.bytes)
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "stack: field %d of them has %zu values, the first has %zu", k,
                              tools->value[from[k]].bytes / item, rows);
    result.shape[result.ndim++] = n;
    result.bytes *= (size_t)n;
    if (step->output >= 0 && at->slot && result.bytes > tools->plan->output[step->output].stride)
        return leat__fail(err, LEAT_ERR_SHAPE, "stack: there are more values than the batch has room for");
    uint8_t *dst = leat__run_destination(tools, step, at, result.bytes, err);
    if (!dst) return LEAT_ERR_MEMORY;
    for (int k = 0; k < n; k++)
        for (size_t i = 0; i < rows; i++)
            memcpy(dst + (i * (size_t)n + (size_t)k) * item, tools->value[from[k]].data + i * item, item);
    result.data = dst;
    tools->value[step->value] = result;
    return 0;
}

int leat__run_path(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    char text[PATH_MAX];
    if (!step->as.path(tools->plan->source, at->sample, text, sizeof text))
        return leat__fail(err, LEAT_ERR_LIMIT, "with_path: a path longer than %d bytes", PATH_MAX);
    const size_t n = strlen(text);
    uint8_t *dst = leat__run_destination(tools, step, at, n, err);
    if (!dst) return LEAT_ERR_MEMORY;
    memcpy(dst, text, n);
    tools->value[step->value] =
        (leat__value){.data = dst, .bytes = n, .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {(int64_t)n}};
    return 0;
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
