/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that a function of the program makes. */
#include <stdio.h>

#include "base/dtype.h"
#include "ops/ops_shared.h"
#include "plan/select.h"
#include "sample/called.h"
#include "sample/run.h"

/* ---------------------------------------------------------------------------------------- declarations */

/* One size: a number; * for one that differs; *100, as the only one, for a ragged field of so many values at most. */
static int read_size(const leat__use *use, const char *text, size_t n, leat__map_plan *map, leat_error *err) {
    leat_field *field = &map->field[map->n];
    char part[32];
    int64_t size = 0;
    const bool differs = n > 0 && *text == '*';
    snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(n - differs, sizeof part - 1), text + differs);
    const bool given = !differs || n > 1;
    if (field->ndim == LEAT_NDIM_MAX - 1 || field->ragged ||
        (given && (!leat__parse_int(part, &size) || size < 1)) || (differs && given && field->ndim > 0))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "%s: a shape is up to %d sizes above 0, or * for one that differs, such as "
                               "[32,32,3] or [*,*,3]; or [*100] for up to 100 values",
                               field->name, LEAT_NDIM_MAX - 1);
    field->ragged = differs && given;
    field->shape[field->ndim++] = differs ? -1 : size;
    if (field->ragged) map->count_max[map->n] = (size_t)size;
    return 0;
}

/* name:type or name:type[sizes]. */
static int read_declaration(const leat__use *use, const char *text, leat__map_plan *map, leat_error *err) {
    leat_field *out = &map->field[map->n];
    const size_t head = strcspn(text, "[");
    const char *colon = NULL, *at = text + head;
    for (size_t i = 0; i < head; i++)
        if (text[i] == ':') colon = text + i;
    *out = (leat_field){.dtype = colon ? leat__dtype_find(colon + 1, head - (size_t)(colon + 1 - text)) : -1};
    const size_t end = strlen(at);
    if (!colon || colon == text || out->dtype < 0 || out->dtype == LEAT_DTYPE_BYTES ||
        (size_t)(colon - text) >= sizeof out->name || (end > 0 && (end < 3 || at[end - 1] != ']')))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "'%.80s' must be name:type or name:type[sizes], such as score:f32 or "
                               "image:u8[32,32,3], or * for what one call shows",
                               text);
    memcpy(out->name, text, (size_t)(colon - text));
    for (const char *stop = at + end; at < stop;) {
        const size_t n = strcspn(++at, ",]");
        LEAT_TRY(read_size(use, at, n, map, err));
        at += n;
        if (*at == ']') at++;
    }
    return 0;
}

static int check_declaration(const leat__use *use, const leat__map_plan *map, leat_error *err) {
    const leat_field *field = &map->field[map->n];
    size_t bytes = leat_dtype_size(field->dtype);
    if (!leat__mul_size(bytes, LEAT_MAX(map->count_max[map->n], (size_t)1), &bytes)) bytes = SIZE_MAX;
    for (int k = 0; k < field->ndim; k++)
        if (field->shape[k] >= 0 && !leat__mul_size(bytes, (size_t)field->shape[k], &bytes)) bytes = SIZE_MAX;
    if (bytes > LEAT_RECORD_BYTES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "%s has more than %zu bytes", field->name,
                               LEAT_RECORD_BYTES_MAX);
    for (int k = 0; k < map->n; k++)
        if (strcmp(map->field[k].name, field->name) == 0)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s is named twice", field->name);
    return 0;
}

/* *finds: the text has a `*`, so one call shows which other fields there are. */
static int read_declarations(const leat__use *use, leat__map_plan *map, bool *finds, leat_error *err) {
    const leat__arg_value *fields = leat__use_arg(use, "fields");
    *finds = false;
    for (int i = 0; i < fields->n; i++) {
        if (strcmp(fields->texts[i], "*") == 0) {
            *finds = true;
            continue;
        }
        if (map->n == LEAT_FIELDS_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_FIELDS_MAX);
        LEAT_TRY(read_declaration(use, fields->texts[i], map, err));
        LEAT_TRY(check_declaration(use, map, err));
        map->n++;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ plan */

typedef struct finding {
    const leat__map_plan *map;
    leat__map_found *found;
} finding;

static int take_found(void *user, leat__tools *tools, const leat__where *at, leat_error *err) {
    const finding *f = user;
    return leat__map_find(tools, f->map, at, f->found, err);
}

/* Calls the function for the first sample, and adds what it makes beyond the declared fields. */
static int find_fields(leat__planner *planner, const leat__use *use, leat__map_plan *map, leat_error *err) {
    leat__map_found *found = leat__alloc(LEAT_MEM_PLAN, sizeof *found);
    if (!found) return leat__fail_memory(err, sizeof *found, "a map");
    int rc = leat__plan_probe_with(planner, take_found, &(finding){map, found}, err);
    if (rc == 0 && map->n + found->n == 0)
        rc = leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "the function '%s' has made no field",
                             map->called->name);
    for (int i = 0; rc == 0 && i < found->n; i++) map->field[map->n++] = found->field[i];
    for (int i = 0; i < LEAT_FIELDS_MAX; i++) leat__buf_free(&found->memory[i]);
    leat__free(found);
    return rc;
}

/* The field has new values from here on. What moves with a picture still does: masks, boxes and keypoints. */
static int add_part(leat__planner *planner, const leat__use *use, leat__map_plan *map, int part,
                    leat_error *err) {
    const leat_field *field = &map->field[part];
    int at = leat__plan_live(planner, field->name);
    if (at < 0) LEAT_TRY(leat__plan_field_add(planner, use, field->name, &at, err));
    leat__plan_field *old = &planner->field[at];
    if (old->device) LEAT_TRY(leat__device_check(planner, use, at, err));
    *old = (leat__plan_field){.info = *field,
                              .count_max = map->count_max[part],
                              .pass = -1,
                              .nchw = old->nchw,
                              .masks = old->masks,
                              .mask = old->mask,
                              .leader = old->leader,
                              .mask_fill = old->mask_fill,
                              .trail = old->trail,
                              .n_moves = old->n_moves};
    map->value[part] = at;
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_MAP, LEAT_STAGE_CALL, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.map.plan = map;
    step->as.map.part = part;
    return 0;
}

static int plan_map(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__map_plan *map = leat__arena_alloc(&planner->plan->memory, sizeof *map);
    bool finds;
    if (!map) return leat__fail_memory(err, sizeof *map, "a map");
    *map = (leat__map_plan){.operation = use->number};
    LEAT_TRY(leat__called_find(planner, use, true, &map->called, err));
    LEAT_TRY(read_declarations(use, map, &finds, err));
    LEAT_TRY(leat__coords_settle(planner, use, -1, err)); /* the function sees all fields */
    LEAT_TRY(leat__inputs_list(planner, false, &map->inputs, err));
    for (int i = 0; i < planner->n_fields; i++)
        leat__plan_close_pass(planner, i); /* it sees what is there now */
    if (finds) LEAT_TRY(find_fields(planner, use, map, err));
    for (int i = 0; i < map->n; i++) LEAT_TRY(add_part(planner, use, map, i, err));
    return 0;
}

/* ------------------------------------------------------------------------------------------- the table */

const leat__op leat__ops_map[] = {
    {.name = "map",
     .kind = LEAT_OP_SAMPLE,
     .help = "Fields that a function of the program makes of the sample: name:type or name:type[sizes].",
     .like = "tf.data.Dataset.map, keras.layers.Lambda, keras ImageDataGenerator(preprocessing_function), "
             "torchvision Lambda",
     .plan = plan_map,
     .arg = {{.name = "fields",
              .kind = LEAT_ARG_TEXTS,
              .help = "what it makes, such as score:f32 image:u8[*,*,3], where * is a size that differs; * "
                      "alone: what one call shows. A field that is there already is replaced"},
             {.name = "callback",
              .kind = LEAT_ARG_TEXT,
              .named = true,
              .help = "the function that the program gave with leat_spec_map"}}},
    {0},
};
