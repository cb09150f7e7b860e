/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of differing sizes: what padded batches are filled up with, and the room of samples that keep their own size. */
#include "image/pass/convert.h"
#include "plan/planner.h"
#include "sample/run.h"

#include <stdio.h>

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
        if (most[i] < 0 && i == 0 && (field->ragged || field->ndim == 1) && count_max > 0 &&
            count_max <= INT32_MAX)
            most[i] = (int64_t)(count_max / leat__ragged_inner(field));
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

/* ------------------------------------------------------------------------------------ batches of one */

/* Samples that keep their own size. A batch of one sample has nothing to be stacked with, so a field whose size the text
 * does not tell comes with the shape of that very sample, and bytes of any length come as they are.
 *
 * Such a field has room in every slot for the largest sample that is accepted. The room is address space: a page takes
 * memory when a sample is first written to it, so a slot takes what its largest sample needed, and nothing is allocated
 * while running. The rooms of all slots together are the budget's share for slots. So the limit on one sample follows from
 * the budget and the number of slots, never from timing. */

void leat__unsized_choose(leat__planner *planner) {
    leat__plan *plan = planner->plan;
    /* Memory of the caller, which may be pinned, is not taken by the page: there the probed size holds for all. */
    if (plan->batch != 1 || plan->group || planner->config->slot_alloc) return;
    for (int i = 0; i < plan->n_outputs; i++) {
        leat__output *out = &plan->output[i];
        const bool on_device =
            planner->field[out->value].device != NULL; /* whose code is made for one size */
        const leat_field *field = &out->field;
        const bool open =
            field->ragged ? planner->field[out->value].count_max == 0 : !leat__shape_known(field);
        out->unsized = open && !out->padded && !out->by_bucket && !on_device;
    }
}

/* A page in front, a page behind, and its values. */
static size_t padded_bytes(size_t bytes) {
    return LEAT_ALIGN_UP(bytes, (size_t)4096) + 2 * (size_t)4096;
}

/* What a slot needs beside its rooms, and of those that have some, their number and their bytes in the probed sample. */
static size_t sum_outputs(const leat__planner *planner, int *n, size_t *usual) {
    const leat__plan *plan = planner->plan;
    size_t fixed = 4096;
    for (int i = 0; i < plan->n_outputs; i++) {
        const leat__output *out = &plan->output[i];
        const size_t item = leat_dtype_size(out->field.dtype);
        const size_t count = out->field.ragged ? planner->field[out->value].count_max : 1;
        size_t bytes;
        if (!leat__mul_size(count, item, &bytes)) bytes = SIZE_MAX / 4;
        for (int k = 0; k < out->field.ndim && !out->field.ragged && !out->unsized && !out->by_bucket; k++)
            if (!leat__mul_size(bytes, (size_t)(out->padded ? out->most[k] : out->field.shape[k]), &bytes))
                bytes = SIZE_MAX / 4; /* lay_out_slot fails for it */
        fixed += padded_bytes(out->unsized ? 0 : LEAT_MIN(bytes, SIZE_MAX / 64));
        *n += out->unsized;
        if (out->unsized) *usual += out->usual;
    }
    return fixed;
}

int leat__unsized_fit(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    int n = 0;
    size_t usual = 0;
    const size_t fixed = sum_outputs(planner, &n, &usual);
    if (n == 0) return 0;
    /* A cache in memory takes what slots leave. */
    const bool keeps = plan->caching.wanted && !plan->caching.path;
    const size_t share = keeps ? plan->budget.slots / 2 : plan->budget.slots;
    const int asked = leat__plan_slots_asked(planner), most = asked ? LEAT_MAX(asked, 2) : 21;
    /* Few slots rather than a low limit. One more is for leat_pipeline_sample. */
    const size_t slots = LEAT_CLAMP(share / LEAT_LARGE_PICTURE, (size_t)3, (size_t)most + 1);
    const size_t slot = share / slots, room = slot > fixed ? slot - fixed : 0;
    if (room < usual + (size_t)n * 4096)
        return leat__fail(
            err, LEAT_ERR_MEMORY,
            "%zu batches of %.1f MB do not fit into the budget of %.1f MB, of which batches have %.1f: "
            "resize pictures, or raise memory_max_bytes (--memory)",
            slots, (double)(usual + fixed) / 1e6, (double)plan->budget.whole / 1e6, (double)share / 1e6);
    plan->n_slots = (int)slots - 1;
    plan->n_slots_begin = LEAT_MIN(plan->n_slots, asked ? asked : 16);
    plan->n_slots_begin = LEAT_MAX(plan->n_slots_begin, 2);
    if (!asked && plan->fixed) plan->n_slots = plan->n_slots_begin;
    /* What the probed sample needs. Of the rest a quarter in equal parts, since the probed sample may have no boxes, and the
     * other three as the probed sample has it. */
    const size_t rest = room - usual - (size_t)n * 4096;
    for (int i = 0; i < plan->n_outputs; i++) {
        leat__output *out = &plan->output[i];
        if (!out->unsized) continue;
        const double part = usual ? (double)out->usual / (double)usual : 1.0 / n;
        const size_t more = rest / 4 / (size_t)n + (size_t)((double)(rest / 4 * 3) * part);
        out->stride = LEAT_ALIGN_UP(out->usual + more, (size_t)4096);
    }
    return 0;
}
