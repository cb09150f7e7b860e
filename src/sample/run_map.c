/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program on a sample: what they get, and the memory for what a map makes. A field of fixed shape has its
 * memory before the call. A field whose size the function chooses gets it during the call, by leat_map_make. The memory is
 * that of the field's step, so it stays as it is until the worker runs its next sample. */
#include <stdio.h>

#include "base/dtype.h"
#include "sample/called.h"
#include "sample/run.h"

enum { CHANNELS_MAX = 4 }; /* of pictures */

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

/* ------------------------------------------------------------------------------------------- one call */

typedef struct calling { /* a call of a map's function */
    leat__tools *tools;
    const leat__map_plan *map;
    leat__map_found *found;            /* not NULL: further fields are noted here                        */
    leat__buf *room[LEAT_FIELDS_MAX];  /* (map->n) memory of the fields                                  */
    leat__value made[LEAT_FIELDS_MAX]; /* (map->n) data is NULL as long as the function has not made it  */
} calling;

static bool size_of(const leat_field *field, size_t *bytes) {
    *bytes = leat_dtype_size(field->dtype);
    for (int k = 0; k < field->ndim; k++)
        if (field->shape[k] < 0 || !leat__mul_size(*bytes, (size_t)field->shape[k], bytes)) return false;
    return *bytes <= LEAT_RECORD_BYTES_MAX;
}

static void *reserve(const calling *c, leat__buf *buf, const leat_field *field, leat_error *err) {
    size_t bytes;
    if (!size_of(field, &bytes)) {
        leat__fail(err, LEAT_ERR_LIMIT, "%s has more than %zu bytes", field->name, LEAT_RECORD_BYTES_MAX);
        return NULL;
    }
    if (bytes <= LEAT_MAX(c->tools->plan->budget.whole, LEAT_LARGE_PICTURE) &&
        leat__buf_reserve(buf, LEAT_MAX(bytes, (size_t)1)))
        return buf->data;
    leat__fail_memory(err, bytes, field->name);
    return NULL;
}

static void write_shape(const leat_field *field, char *text, size_t cap) {
    size_t n = (size_t)snprintf(text, cap, "%s[", leat_dtype_name(field->dtype));
    for (int k = 0; k < field->ndim && n < cap; k++)
        n += field->shape[k] < 0
                 ? (size_t)snprintf(text + n, cap - n, "%s*", k ? "," : "")
                 : (size_t)snprintf(text + n, cap - n, "%s%" PRId64, k ? "," : "", field->shape[k]);
    if (n < cap) snprintf(text + n, cap - n, "]");
}

static int check_same(const leat_field *made, const leat_field *wanted, leat_error *err) {
    bool same = made->dtype == wanted->dtype && made->ndim == wanted->ndim;
    for (int k = 0; same && k < wanted->ndim; k++)
        same = wanted->shape[k] < 0 || wanted->shape[k] == made->shape[k];
    if (same) return 0;
    char is[120], was[120];
    write_shape(made, is, sizeof is);
    write_shape(wanted, was, sizeof was);
    return leat__fail(err, made->dtype == wanted->dtype ? LEAT_ERR_SHAPE : LEAT_ERR_TYPE,
                      "%s is %s, but it was declared, or made for the first sample, as %s", made->name, is,
                      was);
}

static int check_field(const leat_field *field, leat_error *err) {
    size_t bytes;
    if (!memchr(field->name, 0, sizeof field->name) || !field->name[0])
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_map_make: the name of a field has 1 to 63 bytes");
    if (field->dtype < 0 || field->dtype >= LEAT_DTYPE_BYTES)
        return leat__fail(err, LEAT_ERR_TYPE,
                          "leat_map_make: %s: a map makes numbers, not bytes or unknown types", field->name);
    if (field->ndim < 0 || field->ndim > LEAT_NDIM_MAX - 1)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d axes, there can be %d", field->name, field->ndim,
                          LEAT_NDIM_MAX - 1);
    if (!size_of(field, &bytes))
        return leat__fail(err, LEAT_ERR_LIMIT, "%s has a size below 0, or more than %zu bytes", field->name,
                          LEAT_RECORD_BYTES_MAX);
    return 0;
}

/* A field that was not declared. While the plan is made it is noted, with sizes that may differ; but pictures have the same
 * channels in all samples. */
static void *make_other(const calling *c, const leat_field *field, leat_error *err) {
    leat__map_found *found = c->found;
    if (!found) {
        leat__fail(err, LEAT_ERR_NOT_FOUND, "%s was neither declared nor made for the first sample",
                   field->name);
        return NULL;
    }
    int i = 0;
    while (i < found->n && strcmp(found->field[i].name, field->name) != 0) i++;
    if (c->map->n + i == LEAT_FIELDS_MAX) {
        leat__fail(err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_FIELDS_MAX);
        return NULL;
    }
    found->field[i] = (leat_field){.dtype = field->dtype, .ndim = field->ndim};
    memcpy(found->field[i].name, field->name, strlen(field->name) + 1);
    for (int k = 0; k < field->ndim; k++) found->field[i].shape[k] = -1;
    if (field->ndim == 3 && field->shape[2] >= 1 && field->shape[2] <= CHANNELS_MAX)
        found->field[i].shape[2] = field->shape[2];
    if (i == found->n) found->n++;
    return reserve(c, &found->memory[c->map->n + i], field, err);
}

void *leat__map_make(void *call, const leat_field *field, leat_error *err) {
    calling *c = call;
    if (check_field(field, err) < 0) return NULL;
    for (int i = 0; i < c->map->n; i++) {
        if (strcmp(c->map->field[i].name, field->name) != 0) continue;
        if (check_same(field, &c->map->field[i], err) < 0) return NULL;
        void *memory = reserve(c, c->room[i], field, err);
        if (!memory) return NULL;
        c->made[i] = (leat__value){.data = memory, .dtype = field->dtype, .ndim = field->ndim};
        size_of(field, &c->made[i].bytes);
        memcpy(c->made[i].shape, field->shape, sizeof c->made[i].shape);
        return memory;
    }
    return make_other(c, field, err);
}

/* Memory of fixed fields, zeroed: what the function leaves out is the same everywhere. */
static int prepare(calling *c, leat_tensor *out, leat_error *err) {
    for (int i = 0; i < c->map->n; i++) {
        const leat_field *field = &c->map->field[i];
        leat__value *made = &c->made[i];
        *made = (leat__value){.dtype = field->dtype, .ndim = field->ndim};
        memcpy(made->shape, field->shape, sizeof made->shape);
        bool fixed = true;
        for (int k = 0; k < field->ndim; k++) fixed &= field->shape[k] >= 0;
        if (fixed) {
            made->data = reserve(c, c->room[i], field, err);
            if (!made->data) return err->code;
            size_of(field, &made->bytes);
            memset(c->room[i]->data, 0, made->bytes);
        }
        leat__inputs_fill(&(leat__inputs){.n = 1, .name = {field->name}}, made, &out[i]);
    }
    return 0;
}

/* once: the answer holds for all epochs. */
static int call(calling *c, const leat__where *at, bool once, leat_error *err) {
    const leat__map_plan *map = c->map;
    leat__tools *tools = c->tools;
    leat_tensor in[LEAT_FIELDS_MAX], out[LEAT_FIELDS_MAX];
    leat__error_clear(err);
    LEAT_TRY(prepare(c, out, err));
    leat__inputs_fill(&map->inputs, tools->value, in);
    const leat_sample_info info = {.epoch = once ? 0 : at->epoch,
                                   .position = once ? at->sample : at->position,
                                   .sample = at->sample,
                                   .seed = tools->plan->seed,
                                   .operation = map->operation,
                                   .call = c};
    leat__called_enter(tools->plan, map->called);
    const int rc = map->called->map(map->called->user, &info, in, map->inputs.n, out, map->n, err);
    leat__called_leave(tools->plan, map->called);
    if (rc < 0) {
        char said[500];
        const char *why = err->message[0] ? err->message : "it did not say why";
        leat__printable(said, sizeof said, why, strnlen(why, sizeof err->message));
        return leat__fail(err, rc, "map callback=%s: %s", map->called->name, said);
    }
    for (int i = 0; i < map->n; i++)
        if (!c->made[i].data)
            return leat__fail(err, LEAT_ERR_NOT_FOUND, "map callback=%s: it has not made %s",
                              map->called->name, map->field[i].name);
    return 0;
}

int leat__run_map(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    const leat__map_plan *map = step->as.map.plan;
    if (step->as.map.part > 0) return 0;
    calling c = {.tools = tools, .map = map};
    for (int i = 0; i < map->n; i++) c.room[i] = &tools->made[step - tools->plan->step + i];
    /* The answer to a question holds for all epochs, and so does what a cache keeps. */
    LEAT_TRY(call(&c, at, tools->only || step < tools->plan->step + tools->plan->caching.step, err));
    for (int i = 0; i < map->n; i++) {
        const leat_field *field = &map->field[i];
        if (field->ragged && (size_t)c.made[i].shape[0] > map->count_max[i])
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "map callback=%s: %s has %" PRId64 " values, not at most %zu",
                              map->called->name, field->name, c.made[i].shape[0], map->count_max[i]);
        tools->value[map->value[i]] = c.made[i];
    }
    return 0;
}

int leat__map_find(leat__tools *tools, const leat__map_plan *map, const leat__where *at,
                   leat__map_found *found, leat_error *err) {
    calling c = {.tools = tools, .map = map, .found = found};
    found->n = 0;
    for (int i = 0; i < map->n; i++) c.room[i] = &found->memory[i];
    const int rc = call(&c, at, false, err);
    if (rc >= 0) return 0;
    char where[300];
    leat__run_describe(tools->plan, at, where, sizeof where);
    leat__error_prefix(err, "%s: ", where);
    return rc;
}
