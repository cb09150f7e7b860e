/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields are pictures, where their channels are, and how they leave the pipeline.
 *
 * A field is a picture if it was decoded, if its source says so, or if an operation on pictures works on it; a field
 * `image` of (height, width, channels) with 1, 3 or 4 channels is one in any case. leat_field.layout of the planner's
 * fields is LEAT_LAYOUT_NHWC from then on: inside the engine channels are last. */
#include <stdio.h>

#include "plan/planner.h"

static bool is_channels(int64_t n) {
    return n == 1 || n == 3 || n == 4;
}

/* The first axis has as many elements as pictures have channels, and the last one has more. */
static bool is_channels_first(const leat_field *info) {
    return info->ndim == 3 && is_channels(info->shape[0]) && (info->shape[2] > 4 || info->shape[2] < 0);
}

/* Both the first and the last axis can be the channels: (3, 3, 3). */
static bool is_doubtful(const leat_field *info) {
    return info->ndim == 3 && is_channels(info->shape[0]) && is_channels(info->shape[2]);
}

static void write_shape(const leat_field *info, char text[80]) {
    size_t n = 0;
    for (int i = 0; i < info->ndim && n < 60; i++) {
        if (info->shape[i] < 0) n += (size_t)snprintf(text + n, 80 - n, "%s?", i ? ", " : "(");
        else n += (size_t)snprintf(text + n, 80 - n, "%s%" PRId64, i ? ", " : "(", info->shape[i]);
    }
    snprintf(text + n, 80 - n, ")");
}

static void warn_doubtful(const leat__planner *planner, const leat_field *info) {
    char shape[80], text[400];
    if (!planner->config->log) return;
    write_shape(info, shape);
    snprintf(text, sizeof text,
             "field %s has the shape %s: it is taken as (height, width, channels); say layout=nchw where the "
             "data comes from if channels are first, layout=nhwc if not",
             info->name, shape);
    planner->config->log(planner->config->user, LEAT_LOG_WARNING, text);
}

int leat__picture_take(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    leat_field *info = &planner->field[at].info;
    planner->field[at].bytes |= info->dtype == LEAT_DTYPE_U8;
    if (info->layout != LEAT_LAYOUT_NONE) return 0;
    if (is_channels_first(info)) {
        char shape[80];
        write_shape(info, shape);
        return leat__plan_fail(
            use, err, LEAT_ERR_SHAPE,
            "field %s has the shape %s: its channels are first, and a picture has (height, "
            "width, channels); say layout=nchw where the data comes from, or layout=nhwc "
            "if its channels are last",
            info->name, shape);
    }
    if (is_doubtful(info)) warn_doubtful(planner, info);
    /* Two axes of other numbers than bytes may be a table. */
    if (info->ndim == 3 || info->dtype == LEAT_DTYPE_U8) info->layout = LEAT_LAYOUT_NHWC;
    return 0;
}

/* ------------------------------------------------------------------------------------------- leaving */

/* The pass that stores the field last, NULL if there is none; in_memory: behind it there is a picture that knows one
 * layout only. */
static leat__step *last_pass(const leat__planner *planner, int at, bool *in_memory) {
    leat__plan *plan = planner->plan;
    leat__step *last = NULL;
    *in_memory = false;
    for (int i = 0; i < plan->n_steps; i++) {
        const leat__step_kind kind = plan->step[i].kind;
        *in_memory |= kind == LEAT_STEP_COPY && plan->step[i].as.copy.from == at; /* the copy knows it too */
        if (plan->step[i].value != at || kind == LEAT_STEP_CHOOSE) continue;
        const bool parted = plan->step[i].parts != 0; /* samples of other parts come without it */
        if (kind == LEAT_STEP_PASS && !parted) last = &plan->step[i];
        else if (parted || kind == LEAT_STEP_RESHAPE || kind == LEAT_STEP_PICTURE || kind == LEAT_STEP_MAP ||
                 kind == LEAT_STEP_EVAL || kind == LEAT_STEP_COPY)
            last = NULL;
        *in_memory = kind == LEAT_STEP_PICTURE || kind == LEAT_STEP_MAP || kind == LEAT_STEP_EVAL ||
                     kind == LEAT_STEP_COPY || plan->step[i].choice || (parted && kind == LEAT_STEP_PASS);
    }
    return last;
}

/* A pass that stores a picture as it is, in another layout. */
static leat__step *add_plain_pass(leat__planner *planner, int at, leat_error *err) {
    const leat__pass_plan plain = {.dtype = planner->field[at].info.dtype, .text = "layout"};
    const leat__use *last = &planner->spec->use[planner->spec->n_uses - 1];
    leat__pass_plan *pass = leat__plan_keep(planner, &plain, sizeof plain, err);
    leat__step *step =
        pass ? leat__plan_step_add(planner, last, LEAT_STEP_PASS, LEAT_STAGE_TRANSFORM, at, err) : NULL;
    if (step) step->as.pass = pass;
    return step;
}

int leat__picture_store_nchw(leat__planner *planner, int at, leat_error *err) {
    leat_field *info = &planner->field[at].info;
    bool in_memory;
    leat__step *last = last_pass(planner, at, &in_memory);
    if (in_memory && info->ndim == 3) {
        last = add_plain_pass(planner, at, err);
        if (!last) return err && err->code < 0 ? err->code : LEAT_ERR_MEMORY;
    }
    if (!last || info->ndim != 3)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "layout=nchw: field %s (%s) cannot be stored with channels first: cast it to u8 or "
                          "f32 as (height, width, channels)",
                          info->name, leat_dtype_name(info->dtype));
    last->as.pass->nchw = true;
    const int64_t hwc[3] = {info->shape[0], info->shape[1], info->shape[2]};
    info->shape[0] = hwc[2], info->shape[1] = hwc[0], info->shape[2] = hwc[1];
    info->layout = LEAT_LAYOUT_NCHW;
    return 0;
}

/* Makes sure that the last step of the field is a pass which may store it with channels first. What is kept by `cache`
 * stays as it is for all layouts: it needs a pass behind it. Types that no pass reads stay with channels last. */
static int leave_nchw(leat__planner *planner, int at, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__plan_field *field = &planner->field[at];
    const int dtype = field->info.dtype;
    bool in_memory;
    const leat__step *last = last_pass(planner, at, &in_memory);
    const bool kept = last && plan->caching.wanted && last - plan->step < plan->caching.step;
    field->nchw = true;
    if (last && !kept && !in_memory) return 0;
    if (dtype == LEAT_DTYPE_U8 || dtype == LEAT_DTYPE_U16 || dtype == LEAT_DTYPE_F32)
        return add_plain_pass(planner, at, err) ? 0 : err && err->code < 0 ? err->code : LEAT_ERR_MEMORY;
    field->nchw = false;
    return 0;
}

/* Pictures that no operation has worked on. */
static void find_picture(leat_field *info) {
    if (info->layout != LEAT_LAYOUT_NONE || strcmp(info->name, "image") != 0 || info->ragged) return;
    if (is_channels_first(info)) info->layout = LEAT_LAYOUT_NCHW;
    else if (info->ndim == 3 && is_channels(info->shape[2])) info->layout = LEAT_LAYOUT_NHWC;
    else if (info->ndim == 2 && info->dtype == LEAT_DTYPE_U8) info->layout = LEAT_LAYOUT_NHWC;
}

/* A field of one channel with a name of its own may hold classes of pixels, which must not be scaled. */
static bool is_scaled(const leat__plan_field *field) {
    const leat_field *info = &field->info;
    const int channels = info->layout == LEAT_LAYOUT_NCHW ? 0 : 2;
    const bool bytes = info->dtype == LEAT_DTYPE_U8 || (info->dtype == LEAT_DTYPE_F32 && field->bytes);
    return bytes && !field->scaled && !info->mask &&
           (strcmp(info->name, "image") == 0 || (info->ndim == 3 && info->shape[channels] != 1));
}

static int leave(leat__planner *planner, int at, leat_error *err) {
    const leat__use *use = planner->leaving;
    static const int stored[] = {0, LEAT_DTYPE_F32, LEAT_DTYPE_F16, LEAT_DTYPE_BF16};
    leat__plan_field *field = &planner->field[at];
    const int64_t unit = leat__use_arg(use, "unit")->i;
    if (unit && is_scaled(field)) LEAT_TRY(leat__plan_add_unit(planner, use, at, stored[unit], err));
    if (leat__use_arg(use, "layout")->i && field->info.layout == LEAT_LAYOUT_NHWC && field->info.ndim == 3 &&
        !field->nchw)
        LEAT_TRY(leave_nchw(planner, at, err));
    return 0;
}

int leat__pictures_leave(leat__planner *planner, leat_error *err) {
    const int n = planner->n_fields;
    for (int i = 0; i < n; i++) {
        leat__plan_field *field = &planner->field[i];
        if (!planner->live[i]) continue;
        field->info.mask |= field->mask;
        if (field->device) {
            field->info.layout = LEAT_LAYOUT_NONE; /* the device goes on with it */
            continue;
        }
        find_picture(&field->info);
        if (planner->leaving && field->info.layout != LEAT_LAYOUT_NONE) LEAT_TRY(leave(planner, i, err));
    }
    return 0;
}
