/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields a sample has, and their shapes. */
#include <limits.h>
#include <stdio.h>

#include "base/dtype.h"
#include "ops/ops_shared.h"

static int64_t product(const int64_t *shape, int ndim) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) return -1;
        if (__builtin_mul_overflow(n, shape[i], &n)) return -1;
    }
    return n;
}

/* ---------------------------------------------------------------------------------------------- parse */

/* feature = name ":" type [ "[" sizes "]" ] [ "=" default ]; sizes: 28,28 or * or *max. */
static int read_sizes(const leat__use *use, const char *text, size_t n, leat__parse_feature *out,
                      leat_error *err) {
    char part[32];
    if (n > 0 && text[0] == '*') {
        int64_t max = 0;
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(n - 1, sizeof part - 1), text + 1);
        if (n > 1 && (!leat__parse_int(part, &max) || max < 1))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "in [*max] max must be a number above 0, not '%s'", part);
        out->ragged = true;
        out->count_max = (size_t)max;
        out->ndim = 1;
        out->shape[0] = -1;
        return 0;
    }
    while (n > 0) {
        const char *comma = memchr(text, ',', n);
        const size_t len = comma ? (size_t)(comma - text) : n;
        int64_t size;
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(len, sizeof part - 1), text);
        if (out->ndim == LEAT_NDIM_MAX - 1 || !leat__parse_int(part, &size) || size < 0 ||
            (comma && len + 1 == n))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "'%s' is no size: a shape is [28,28], [*] or [*100]", part);
        out->shape[out->ndim++] = size;
        text += len + (comma != NULL);
        n -= len + (comma != NULL);
    }
    return 0;
}

static int read_fallback(const leat__use *use, const char *text, leat__parse_feature *out, leat_error *err) {
    out->has_fallback = true;
    out->fallback.kind = LEAT_MEM_PLAN;
    if (out->ragged)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "%s: a feature of any length has no default: missing is empty", out->name);
    if (out->dtype == LEAT_DTYPE_BYTES)
        return leat__buf_append(&out->fallback, text, strlen(text))
                   ? 0
                   : leat__fail_memory(err, strlen(text), "a default");
    int64_t i = 0;
    double x = 0;
    const bool whole = out->dtype == LEAT_DTYPE_I64;
    if (whole ? !leat__parse_int(text, &i) : !leat__parse_number(text, &x))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "%s: the default '%s' is no %s", out->name, text,
                               whole ? "whole number" : "number");
    const float f = (float)x;
    for (size_t k = 0; k < out->count; k++)
        if (!leat__buf_append(&out->fallback, whole ? (void *)&i : (void *)&f, whole ? sizeof i : sizeof f))
            return leat__fail_memory(err, out->count * 8, "a default");
    return 0;
}

static int read_feature(leat__planner *planner, const leat__use *use, const char *text,
                        leat__parse_feature *out, leat_error *err) {
    *out = (leat__parse_feature){0};
    const char *colon = NULL;
    const size_t head = strcspn(text, "=[");
    for (size_t i = 0; i < head; i++)
        if (text[i] == ':') colon = text + i; /* keys may have colons in them */
    if (!colon || colon == text)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "'%s' must be name:type, such as image:bytes or box:float[4]", text);
    const size_t name_n = (size_t)(colon - text);
    char *name = leat__arena_alloc(&planner->plan->memory, name_n + 1);
    if (!name) return leat__fail_memory(err, name_n, "a feature");
    memcpy(name, text, name_n);
    name[name_n] = 0;
    out->name = name;
    if (name_n >= sizeof planner->field[0].info.name)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "the name %.60s... is longer than 63 bytes", name);
    const char *type = colon + 1, *rest = type + strcspn(type, "=[");
    out->dtype = leat__dtype_find(type, (size_t)(rest - type));
    if (out->dtype != LEAT_DTYPE_BYTES && out->dtype != LEAT_DTYPE_F32 && out->dtype != LEAT_DTYPE_I64)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "%s: a feature is bytes, int64 or float, not '%.*s'",
                               name, (int)(rest - type), type);
    if (*rest == '[') {
        const char *close = strchr(rest, ']');
        if (!close || (close[1] && close[1] != '='))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "%s: the shape must end with ]", name);
        LEAT_TRY(read_sizes(use, rest + 1, (size_t)(close - rest - 1), out, err));
        rest = close + 1;
    }
    if (out->dtype == LEAT_DTYPE_BYTES) {
        if (out->ndim > 0)
            return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                                   "%s: bytes features hold one string; lists of strings cannot be batched",
                                   name);
        out->count = 1;
        out->ndim = 1;
        out->shape[0] = -1;
    } else if (!out->ragged) {
        const int64_t count = product(out->shape, out->ndim);
        if (count < 0 || count > INT32_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "%s: the shape has too many values", name);
        out->count = (size_t)count;
    }
    return *rest == '=' ? read_fallback(use, rest + 1, out, err) : 0;
}

static int plan_parse(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    const leat__arg_value *features = leat__use_arg(use, "features");
    int from;
    LEAT_TRY(leat__plan_field_find(planner, use, "from", &from, err));
    if (planner->field[from].info.dtype != LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not the bytes of an Example",
                               planner->field[from].info.name,
                               leat_dtype_name(planner->field[from].info.dtype));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_PARSE, LEAT_STAGE_PARSE, from, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.parse.feature =
        leat__arena_alloc(&plan->memory, (size_t)features->n * sizeof *step->as.parse.feature);
    step->as.parse.key = leat__arena_alloc(&plan->memory, (size_t)features->n * sizeof *step->as.parse.key);
    if (!step->as.parse.feature || !step->as.parse.key) return leat__fail_memory(err, 4096, "features");
    const size_t record_max = planner->field[from].count_max;
    planner->live[from] = false;
    for (int i = 0; i < features->n; i++) {
        leat__parse_feature *f = &step->as.parse.feature[i];
        const int rc = read_feature(planner, use, features->texts[i], f, err);
        step->as.parse.n = i + 1; /* so that a half-read default is freed */
        if (rc < 0) return rc;
        step->as.parse.key[i] = f->name;
        if (leat__plan_live(planner, f->name) >= 0)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", f->name);
        if (planner->n_fields == LEAT_VALUES_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
        /* A varint or a byte takes at least one byte of the record, a float four. */
        if (f->ragged && f->count_max == 0)
            f->count_max = f->dtype == LEAT_DTYPE_F32 ? record_max / 4 : record_max;
        if (f->ragged && f->count_max == 0)
            return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                                   "%s: how many values a stream's records hold is not known before: write "
                                   "%s:%s[*1000] with the most there can be",
                                   f->name, f->name, leat_dtype_name(f->dtype));
        f->value = planner->n_fields++;
        leat__plan_field *field = &planner->field[f->value];
        *field = (leat__plan_field){.pass = -1};
        snprintf(field->info.name, sizeof field->info.name, "%s", f->name);
        field->info.dtype = f->dtype;
        field->info.ndim = f->ndim;
        memcpy(field->info.shape, f->shape, sizeof f->shape);
        field->info.ragged = f->ragged || f->dtype == LEAT_DTYPE_BYTES;
        field->count_max = f->ragged ? f->count_max : f->dtype == LEAT_DTYPE_BYTES ? record_max : 0;
        planner->live[f->value] = true;
    }
    plan->n_values = planner->n_fields;
    return 0;
}

/* -------------------------------------------------------------------------------------------- reshape */

/* Whether the new shape is that of a picture, as far as the text says it. */
static int reshape_layout(const leat__use *use, leat__step *step, leat__plan_field *field, leat_error *err) {
    const int layout = leat__source_layout_of(use);
    field->info.layout = layout ? LEAT_LAYOUT_NHWC : LEAT_LAYOUT_NONE;
    if (layout && field->info.ndim != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "layout is about three axes, the shape has %d",
                               field->info.ndim);
    step->as.reshape.planes = layout == LEAT_LAYOUT_NCHW;
    int64_t unused[3] = {0};
    if (step->as.reshape.planes) leat__channels_last(field->info.shape, unused);
    return 0;
}

static int plan_reshape(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat__plan_field *field = &planner->field[at];
    const leat__arg_value *shape = leat__use_arg(use, "shape");
    if (field->info.dtype == LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "field %s holds bytes: decode it first (decode, or decode_raw %s u8)",
                               field->info.name, field->info.name);
    if (shape->n > LEAT_NDIM_MAX - 1)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "%d axes are too many", shape->n);
    leat__plan_close_pass(planner, at);
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_RESHAPE, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    const int64_t have = field->info.ragged ? -1 : product(field->info.shape, field->info.ndim);
    int64_t known = 1;
    int open = -1;
    for (int i = 0; i < shape->n; i++) {
        step->as.reshape.shape[i] = field->info.shape[i] = shape->ints[i];
        if (shape->ints[i] >= 0) {
            if (__builtin_mul_overflow(known, shape->ints[i], &known))
                return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "the shape is too large");
        } else if (open >= 0) return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "only one axis can be -1");
        else open = i;
    }
    step->as.reshape.ndim = field->info.ndim = shape->n;
    step->as.reshape.known = known;
    step->as.reshape.open = open;
    field->info.ragged = 0;
    const bool known_size = have >= 0;
    if (known_size && (open >= 0 ? known == 0 || have % known != 0 : have != known))
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "field %s has %" PRId64 " values, the shape has %s%" PRId64, field->info.name,
                               have, open >= 0 ? "a multiple of " : "", known);
    if (known_size && open >= 0) field->info.shape[open] = have / known;
    return reshape_layout(use, step, field, err);
}

/* --------------------------------------------------------------------------------------------- select */

static int plan_select(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *names = leat__use_arg(use, "fields");
    leat__plan *plan = planner->plan;
    bool keep[LEAT_VALUES_MAX] = {false};
    plan->n_outputs = 0;
    for (int i = 0; i < names->n; i++) {
        const int at = leat__plan_live(planner, names->texts[i]);
        if (at < 0)
            return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "there is no field '%s' here",
                                   names->texts[i]);
        if (keep[at])
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s is named twice", names->texts[i]);
        keep[at] = true;
        plan->output[plan->n_outputs++].value = at; /* fixes the order of the batch's fields */
    }
    memcpy(planner->live, keep, sizeof keep);
    return 0;
}

/* ----------------------------------------------------------------------------------------------- copy */

static int plan_copy(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *name = leat__use_arg(use, "name")->text;
    int from, at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &from, err));
    if (leat__plan_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", name);
    if (planner->field[from].nchw)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "field %s leaves with channels first already: write copy before", name);
    if (planner->field[from].device)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "a device goes on with field %s: write copy before on_device",
                               planner->field[from].info.name);
    LEAT_TRY(leat__coords_settle(planner, use, from, err));
    LEAT_TRY(leat__plan_field_add(planner, use, name, &at, err));
    leat__plan_close_pass(planner, from); /* what comes behind must not change the copy */
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_COPY, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.copy.from = from;
    const leat__plan_field *was = &planner->field[from];
    leat__plan_field *field = &planner->field[at];
    field->info = was->info;
    snprintf(field->info.name, sizeof field->info.name, "%s", name);
    field->count_max = was->count_max;
    field->bytes = was->bytes;
    field->scaled = was->scaled;
    field->classes = was->classes;
    field->by_bucket = was->by_bucket;
    return 0;
}

/* ------------------------------------------------------------------------------------------ enumerate */

static int plan_enumerate(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *name = leat__use_arg(use, "name")->text;
    int at;
    if (leat__plan_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", name);
    LEAT_TRY(leat__plan_field_add(planner, use, name, &at, err));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_ENUMERATE, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.enumerate.position = leat__use_arg(use, "of")->i == 0;
    planner->field[at].info.dtype = LEAT_DTYPE_I64;
    return 0;
}

/* A column of a stack: numbers like those of the first. */
static int check_column(const leat__planner *planner, const leat__use *use, int at, int first,
                        leat_error *err) {
    const leat_field *info = &planner->field[at].info, *like = &planner->field[first].info;
    if (info->dtype == LEAT_DTYPE_BYTES || info->ndim > 1)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s is no number and no row of numbers",
                               info->name);
    if (info->dtype != like->dtype || info->ndim != like->ndim || info->ragged != like->ragged ||
        (info->ndim && info->shape[0] != like->shape[0]))
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "fields %s and %s differ in type or shape: cast one of them", like->name,
                               info->name);
    return 0;
}

int leat__plan_stack(leat__planner *planner, const leat__use *use, const char *name,
                     const char *const *fields, int n, int *out, leat_error *err) {
    int column[LEAT_VALUES_MAX] = {0}, at;
    if (n < 1 || n > LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "1 to %d fields, not %d", LEAT_VALUES_MAX, n);
    for (int i = 0; i < n; i++) {
        column[i] = leat__plan_live(planner, fields[i]);
        if (column[i] < 0) {
            const char *near = leat__nearest(fields[i], leat__plan_live_name, planner);
            return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "there is no field '%s' here%s%s%s",
                                   fields[i], near ? "; did you mean '" : "", near ? near : "",
                                   near ? "'?" : "");
        }
        LEAT_TRY(check_column(planner, use, column[i], column[0], err));
        LEAT_TRY(leat__coords_settle(planner, use, column[i], err));
    }
    const leat__plan_field like = planner->field[column[0]];
    for (int i = 0; i < n; i++) planner->live[column[i]] = false;
    if (leat__plan_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", name);
    LEAT_TRY(leat__plan_field_add(planner, use, name, &at, err));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_STACK, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.stack.n = n;
    memcpy(step->as.stack.value, column, (size_t)n * sizeof *column);
    leat__plan_field *field = &planner->field[at];
    field->info.dtype = like.info.dtype;
    field->info.ragged = like.info.ragged;
    field->info.ndim = like.info.ndim + 1;
    field->info.shape[0] = like.info.shape[0];
    field->info.shape[like.info.ndim] = n;
    field->count_max = like.count_max * (size_t)n;
    *out = at;
    return 0;
}

static int plan_stack(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *fields = leat__use_arg(use, "fields");
    int at;
    return leat__plan_stack(planner, use, leat__use_arg(use, "name")->text, fields->texts, fields->n, &at,
                            err);
}

/* The longest path is found here, because the memory of batches is fixed before the first one is made. */
static int plan_with_path(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__source *source = planner->plan->source;
    const char *name = leat__use_arg(use, "name")->text;
    const bool given = leat__use_arg(use, "of")->i != 0;
    leat__source_path_fn *const path = given ? source->class->path : source->class->opens;
    char text[PATH_MAX];
    size_t longest = 1;
    int at;
    if (planner->inside || planner->plan->stream)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               planner->inside ? "write it behind, when samples are together"
                                               : "records of a stream have no files of their own");
    if (!path)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED, "samples of %s have no files of their own",
                               source->class->name);
    if (leat__plan_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", name);
    for (uint64_t i = 0; i < source->n_samples; i++)
        if (path(source, i, text, sizeof text)) longest = LEAT_MAX(longest, strlen(text));
    LEAT_TRY(leat__plan_field_add(planner, use, name, &at, err));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_PATH, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.path = path;
    leat__plan_field *field = &planner->field[at];
    field->info.dtype = LEAT_DTYPE_BYTES;
    field->info.ragged = 1;
    field->info.ndim = 1;
    field->info.shape[0] = -1;
    field->count_max = longest;
    return 0;
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_fields[] = {
    {.name = "parse",
     .kind = LEAT_OP_SAMPLE,
     .help = "Features of a tf.train.Example: name:type, name:type[shape], name:type[*] (any number), with "
             "=default.",
     .like = "tf.io.parse_single_example, tf.io.parse_example, tf.io.FixedLenFeature, tf.io.VarLenFeature, "
             "tf.io.RaggedFeature",
     .flags = LEAT_OP_READS,
     .plan = plan_parse,
     .arg = {{.name = "features",
              .kind = LEAT_ARG_TEXTS,
              .help = "such as image:bytes label:int64 box:float[4] ids:int64[*100] weight:float=1"},
             {.name = "from",
              .kind = LEAT_ARG_FIELD,
              .fallback = "record",
              .named = true,
              .help = "the field that is parsed"}}},
    {.name = "reshape",
     .kind = LEAT_OP_SAMPLE,
     .help = "Gives a field another shape with as many values; one -1 means what is left.",
     .like = "tf.reshape, keras.ops.reshape, keras.layers.Reshape",
     .flags = LEAT_OP_READS | LEAT_OP_RESHAPES,
     .plan = plan_reshape,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "shape", .kind = LEAT_ARG_INTS, .min = -1, .max = 1e12, .help = "sizes of the axes"},
             LEAT_ARG_SOURCE_LAYOUT}},
    {.name = "select",
     .kind = LEAT_OP_SAMPLE,
     .help = "Keeps these fields, in this order.",
     .like = "",
     .flags = LEAT_OP_READS,
     .plan = plan_select,
     .arg = {{.name = "fields", .kind = LEAT_ARG_TEXTS, .help = "their names"}}},
    {.name = "copy",
     .kind = LEAT_OP_SAMPLE,
     .help = "Another field with what a field is at this point: both go on by themselves.",
     .like = "tf.identity",
     .plan = plan_copy,
     .arg = {{.name = "field", .kind = LEAT_ARG_FIELD, .help = "what is copied"},
             {.name = "name", .kind = LEAT_ARG_TEXT, .help = "of the new field"}}},
    {.name = "enumerate",
     .kind = LEAT_OP_SAMPLE,
     .help = "Adds a field with the place of the sample in the epoch, or with its number in the data set.",
     .like = "tf.data.Dataset.enumerate",
     .flags = LEAT_OP_EPOCHAL, /* no cache may come after it */
     .plan = plan_enumerate,
     .arg = {{.name = "name", .kind = LEAT_ARG_TEXT, .fallback = "index", .help = "of the new field, i64"},
             {.name = "of",
              .kind = LEAT_ARG_WORD,
              .fallback = "position",
              .words = "position|sample",
              .named = true,
              .help = "position: in the finished order, from 0; sample: in the data set"}}},
    {.name = "stack",
     .kind = LEAT_OP_SAMPLE,
     .help = "Fields of equal length side by side, as one field: numbers to a vector, rows (n) to (n, k).",
     .like = "tf.stack, keras.ops.stack",
     .flags = LEAT_OP_READS,
     .plan = plan_stack,
     .arg = {{.name = "name", .kind = LEAT_ARG_TEXT, .help = "of the new field"},
             {.name = "fields", .kind = LEAT_ARG_TEXTS, .help = "its columns, which are gone behind it"}}},
    {.name = "with_path",
     .kind = LEAT_OP_SAMPLE,
     .help = "Adds a field with the path of the sample's file, as bytes.",
     .like = "tf.data.Dataset.list_files",
     .plan = plan_with_path,
     .arg = {{.name = "name", .kind = LEAT_ARG_TEXT, .fallback = "path", .help = "of the new field"},
             {.name = "of",
              .kind = LEAT_ARG_WORD,
              .fallback = "file",
              .words = "file|name",
              .named = true,
              .help =
                  "file: a path that can be opened; name: relative to the folder, or as the table has it"}}},
    {0},
};
