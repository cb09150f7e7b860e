/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/padding.h"

#include <stdio.h>

#include "image/convert.h"

/* --------------------------------------------------------------------------------------------- plan */

/* "640x640x3", "*x3" (* = any); the number of axes, or -1. */
static int read_shape(const char *text, size_t n, int64_t shape[LEAT_NDIM_MAX]) {
    int ndim = 0;
    for (;;) {
        const char *cross = memchr(text, 'x', n);
        const size_t len = cross ? (size_t)(cross - text) : n;
        char part[24];
        if (ndim == LEAT_NDIM_MAX - 1 || len == 0 || len >= sizeof part) return -1;
        snprintf(part, sizeof part, "%.*s", (int)len, text);
        if (strcmp(part, "*") == 0) shape[ndim] = -1;
        else if (!leat__parse_int(part, &shape[ndim]) || shape[ndim] < 1 || shape[ndim] > INT32_MAX)
            return -1;
        ndim++;
        if (!cross) return ndim;
        text += len + 1;
        n -= len + 1;
    }
}

/* What a list such as "image:255,ids:-1" has for a name: the rest of its entry and its length; an entry without a name
 * holds for all that have none of their own. NULL if there is nothing. */
static const char *entry_for(const char *list, const char *name, size_t *n) {
    const char *general = NULL;
    size_t general_n = 0;
    for (const char *at = list; *at;) {
        const size_t len = strcspn(at, ",");
        const char *colon = memchr(at, ':', len);
        if (!colon) general = at, general_n = len;
        else if ((size_t)(colon - at) == strlen(name) && memcmp(at, name, strlen(name)) == 0) {
            *n = len - (size_t)(colon + 1 - at);
            return colon + 1;
        }
        at += len + (at[len] == ',');
    }
    *n = general_n;
    return general;
}

/* Names in the text must be those of fields. */
static bool is_output(const leat__plan *plan, const char *name, size_t n) {
    for (int i = 0; i < plan->n_outputs; i++)
        if (strlen(plan->output[i].field.name) == n && memcmp(plan->output[i].field.name, name, n) == 0)
            return true;
    return false;
}

static int check_names(const leat__plan *plan, const leat__use *use, leat_error *err) {
    static const char *const lists[] = {"max", "padding"};
    const leat__arg_value *shapes = leat__use_arg(use, "shapes");
    for (int i = 0; i < shapes->n; i++) {
        const char *equals = strchr(shapes->texts[i], '=');
        if (!equals)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "'%s' must be a field and its size: image=640x640x3", shapes->texts[i]);
        if (!is_output(plan, shapes->texts[i], (size_t)(equals - shapes->texts[i])))
            return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "%s: there is no such field here",
                                   shapes->texts[i]);
    }
    for (size_t i = 0; i < LEAT_COUNT(lists); i++)
        for (const char *at = leat__use_arg(use, lists[i])->text; *at; at += at[0] == ',') {
            const size_t len = strcspn(at, ",");
            const char *colon = memchr(at, ':', len);
            if (colon && !is_output(plan, at, (size_t)(colon - at)))
                return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "%s=%.*s: there is no such field here",
                                       lists[i], (int)LEAT_MIN(len, (size_t)200), at);
            at += len;
        }
    return 0;
}

/* The sizes that the text gives a field, as the batch will hold its axes; axes it does not tell are -1. */
static int given_shape(const leat__planner *planner, const leat__use *use, const leat__output *out,
                       const char *text, size_t n, int64_t shape[LEAT_NDIM_MAX], leat_error *err) {
    int64_t read[LEAT_NDIM_MAX];
    for (int i = 0; i < LEAT_NDIM_MAX; i++) shape[i] = -1;
    if (!text) return 0;
    const int ndim = read_shape(text, n, read), want = out->field.ndim;
    /* Channels may be left out where the plan knows them. */
    if (ndim != want && !(ndim == 2 && want == 3))
        return leat__plan_fail(
            use, err, LEAT_ERR_SHAPE,
            "field %s has %d ax%s: its size is written such as %s, with * for any, not '%.*s'",
            out->field.name, want, want == 1 ? "is" : "es",
            want == 3   ? "640x640x3"
            : want == 2 ? "64x64"
                        : "100",
            (int)LEAT_MIN(n, (size_t)100), text);
    for (int i = 0; i < ndim; i++) {
        const bool first =
            planner->field[out->value].nchw && want == 3; /* channels are stored first, but written last */
        shape[first ? (i + 1) % 3 : i] = read[i];
    }
    return 0;
}

static int read_padding(const leat__use *use, leat__output *out, leat_error *err) {
    size_t n;
    char text[64];
    double value;
    const char *entry = entry_for(leat__use_arg(use, "padding")->text, out->field.name, &n);
    snprintf(text, sizeof text, "%.*s", (int)LEAT_MIN(n, sizeof text - 1), entry ? entry : "0");
    if (!entry) snprintf(text, sizeof text, "0");
    if (!leat__parse_number(text, &value))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "padding must be a number, or such as image:255,ids:-1, not '%s'", text);
    leat__convert(out->padding, out->field.dtype, &value, LEAT_DTYPE_F64, 1, false, 1, 0);
    return 0;
}

static int resolve_output(leat__planner *planner, const leat__use *use, leat__output *out, leat_error *err) {
    leat_field *field = &out->field;
    const leat__arg_value *shapes = leat__use_arg(use, "shapes");
    const size_t name_n = strlen(field->name);
    const char *given = NULL;
    for (int i = 0; i < shapes->n; i++)
        if (strncmp(shapes->texts[i], field->name, name_n) == 0 && shapes->texts[i][name_n] == '=')
            given = shapes->texts[i] + name_n + 1;
    bool differs = field->ragged;
    for (int i = 0; i < field->ndim; i++) differs |= field->shape[i] < 0;
    if (!given && (!differs || field->dtype == LEAT_DTYPE_BYTES || out->by_bucket)) return 0;
    if (field->dtype == LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "field %s holds bytes, which have no size to fill up: decode it first",
                               field->name);
    int64_t fixed[LEAT_NDIM_MAX], most[LEAT_NDIM_MAX];
    size_t max_n = 0;
    const char *max = differs ? entry_for(leat__use_arg(use, "max")->text, field->name, &max_n) : NULL;
    LEAT_TRY(given_shape(planner, use, out, given, given ? strlen(given) : 0, fixed, err));
    LEAT_TRY(given_shape(planner, use, out, max, max_n, most, err));
    const size_t count_max = planner->field[out->value].count_max;
    for (int i = 0; i < field->ndim; i++) {
        const int64_t known = field->shape[i];
        if (fixed[i] >= 0 && known > fixed[i])
            return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                                   "field %s has %" PRId64 " elements along axis %d, more than %" PRId64,
                                   field->name, known, i, fixed[i]);
        if (fixed[i] < 0) fixed[i] = known;
        if (fixed[i] >= 0) most[i] = fixed[i];
        if (most[i] < 0 && field->ndim == 1 && count_max > 0 && count_max <= INT32_MAX)
            most[i] = (int64_t)count_max;
        if (most[i] < 0)
            return leat__plan_fail(
                use, err, LEAT_ERR_SHAPE,
                "how large field %s can be is not known before: write max=%s:%s, or %s=%s for one size, or "
                "resize it before",
                field->name, field->name, field->ndim == 1 ? "1000" : "2000x2000x3", field->name,
                field->ndim == 1 ? "1000" : "640x640x3");
    }
    out->padded = true;
    field->ragged = 0;
    memcpy(field->shape, fixed, sizeof field->shape);
    memcpy(out->most, most, sizeof out->most);
    return read_padding(use, out, err);
}

int leat__padding_resolve(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (!planner->padding) return 0;
    LEAT_TRY(check_names(plan, planner->padding, err));
    for (int i = 0; i < plan->n_outputs; i++)
        LEAT_TRY(resolve_output(planner, planner->padding, &plan->output[i], err));
    return 0;
}

/* --------------------------------------------------------------------------------------------- slot */

static void fill(uint8_t *at, const leat__output *out, size_t count) {
    bool same = true;
    for (size_t i = 1; i < out->item; i++) same &= out->padding[i] == out->padding[0];
    if (same) memset(at, out->padding[0], count * out->item);
    else
        for (size_t i = 0; i < count; i++) memcpy(at + i * out->item, out->padding, out->item);
}

/* One sample of the given shape, packed at `at`, becomes one of the batch's shape at the same place. From the last row to
 * the first: no row moves toward the beginning, so that none is overwritten before it has moved. */
static void grow(uint8_t *at, const leat__output *out, const int64_t *from, const int64_t *to) {
    const int ndim = out->field.ndim;
    const size_t row_from = (size_t)from[ndim - 1], row_to = (size_t)to[ndim - 1];
    size_t rows = 1;
    for (int i = 0; i < ndim - 1; i++) rows *= (size_t)to[i];
    for (size_t row = rows; row-- > 0;) {
        /* The row's place in the sample: its indices, read from the last axis to the first. */
        size_t rest = row, source = 0, step = 1;
        bool inside = true;
        for (int i = ndim - 2; i >= 0; i--) {
            const size_t index = rest % (size_t)to[i];
            rest /= (size_t)to[i];
            inside &= index < (size_t)from[i];
            source += index * step;
            step *= (size_t)from[i];
        }
        uint8_t *dst = at + row * row_to * out->item;
        const size_t kept = inside ? row_from : 0;
        if (kept) memmove(dst, at + source * row_from * out->item, kept * out->item);
        fill(dst + kept * out->item, out, row_to - kept);
    }
}

void leat__padding_apply(const leat__output *out, uint8_t *base, const int64_t *shapes, int n,
                         leat_tensor *tensor) {
    const int ndim = out->field.ndim;
    int64_t to[LEAT_NDIM_MAX];
    size_t bytes = out->item;
    for (int i = 0; i < ndim; i++) {
        to[i] = LEAT_MAX(out->field.shape[i], (int64_t)0);
        for (int k = 0; k < n; k++) to[i] = LEAT_MAX(to[i], shapes[k * ndim + i]);
        bytes *= (size_t)to[i];
    }
    for (int k = 0; k < n; k++) {
        uint8_t *at = base + (size_t)k * out->stride;
        if (memcmp(&shapes[k * ndim], to, (size_t)ndim * sizeof *to) != 0)
            grow(at, out, &shapes[k * ndim], to);
        memmove(base + (size_t)k * bytes, at, bytes);
    }
    tensor->data = base;
    tensor->ndim = ndim + 1;
    tensor->shape[0] = n;
    tensor->stride[0] = (int64_t)bytes;
    int64_t stride = (int64_t)out->item;
    for (int i = ndim; i >= 1; i--) {
        tensor->shape[i] = to[i - 1];
        tensor->stride[i] = stride;
        stride *= to[i - 1];
    }
}
