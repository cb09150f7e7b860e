/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that make numbers of a sample: enumerate, label_map, and map, which calls a function of the program. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "ops/ops_args.h"
#include "plan/select.h"
#include "sample/labels.h"

enum { MAP_FILE_MAX = 64 << 20 };

static int find_live(const leat__planner *planner, const char *name) {
    for (int i = 0; i < planner->n_fields; i++)
        if (planner->live[i] && strcmp(planner->field[i].info.name, name) == 0) return i;
    return -1;
}

static int add_field(leat__planner *planner, const leat__use *use, const char *name, int *out,
                     leat_error *err) {
    if (!*name || strlen(name) >= sizeof planner->field[0].info.name)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "the name of a field has 1 to 63 bytes");
    if (planner->n_fields == LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    *out = planner->n_fields++;
    planner->field[*out] = (leat__plan_field){.pass = -1};
    snprintf(planner->field[*out].info.name, sizeof planner->field[*out].info.name, "%s", name);
    planner->live[*out] = true;
    planner->plan->n_values = planner->n_fields;
    return 0;
}

/* ----------------------------------------------------------------------------------------- enumerate */

static int plan_enumerate(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *name = leat__use_arg(use, "name")->text;
    int at;
    if (find_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field %s already", name);
    LEAT_TRY(add_field(planner, use, name, &at, err));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_ENUMERATE, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.enumerate.position = leat__use_arg(use, "of")->i == 0;
    planner->field[at].info.dtype = LEAT_DTYPE_I64;
    return 0;
}

/* ----------------------------------------------------------------------------------------- label_map */

typedef struct pair {
    int64_t from, to;
} pair;

static int by_from(const void *a, const void *b) {
    const int64_t x = ((const pair *)a)->from, y = ((const pair *)b)->from;
    return x < y ? -1 : x > y;
}

/* Reads FROM and TO, which one of the separators parts: the last one, since names of classes may hold any of them. */
static int read_pair(leat__planner *planner, const leat__use *use, int field, const char *text, size_t n,
                     const char *separators, pair *out, leat_error *err) {
    char word[400];
    size_t cut = n;
    if (n >= sizeof word) return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "'%.40s...' is too long", text);
    memcpy(word, text, n);
    word[n] = 0;
    while (cut > 0 && !(word[cut - 1] && strchr(separators, word[cut - 1]))) cut--;
    const char *to = word + cut;
    if (cut > 0) word[--cut] = 0;
    while (cut > 0 && strchr(" \t", word[cut - 1])) word[--cut] = 0;
    if (cut == 0 || !leat__parse_int(to, &out->to))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "'%.*s' is no pair: write FROM=TO, TO a whole number",
                               (int)LEAT_MIN(n, (size_t)100), text);
    if (leat__parse_int(word, &out->from)) return 0;
    leat_error why;
    out->from = leat__class_number(planner, field, word, &why);
    return out->from < 0 ? leat__plan_fail(use, err, (int)out->from, "%s", why.message) : 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Pairs between the given ends, into out, an array of pair. Empty ones, and comments of a file, are left out. */
static int read_pairs(leat__planner *planner, const leat__use *use, int field, const char *text, size_t n,
                      char end, const char *separators, leat__buf *out, leat_error *err) {
    while (n > 0) {
        const char *stop = memchr(text, end, n);
        const size_t length = stop ? (size_t)(stop - text) : n;
        size_t begin = 0, last = length;
        while (begin < last && is_blank(text[begin])) begin++;
        while (last > begin && is_blank(text[last - 1])) last--;
        if (last > begin && !(end == '\n' && text[begin] == '#')) {
            pair one;
            LEAT_TRY(read_pair(planner, use, field, text + begin, last - begin, separators, &one, err));
            if (!leat__buf_append(out, &one, sizeof one)) return leat__fail_memory(err, out->size, "a map");
        }
        text += length + (stop != NULL);
        n -= length + (stop != NULL);
    }
    return 0;
}

static int gather_pairs(leat__planner *planner, const leat__use *use, int field, leat__buf *out,
                        leat_error *err) {
    const char *text = leat__use_arg(use, "map")->text, *path = leat__use_arg(use, "file")->text;
    if ((*text != 0) == (*path != 0))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "needs pairs, such as 3=0,5=1 or 'cats=0,dogs=1', or else file=NAME");
    if (*text) return read_pairs(planner, use, field, text, strlen(text), ',', "=:", out, err);
    leat__buf bytes = {.kind = LEAT_MEM_PLAN};
    int rc = leat__file_read_all(path, &bytes, MAP_FILE_MAX, err);
    if (rc == 0)
        rc = read_pairs(planner, use, field, (const char *)bytes.data, bytes.size, '\n', "=:,\t ", out, err);
    leat__buf_free(&bytes);
    return rc;
}

/* The pairs as a table in the plan's memory. */
static int make_table(leat__planner *planner, const leat__use *use, pair *pairs, size_t n,
                      leat__relabel *table, int64_t *most, leat_error *err) {
    if (n == 0) return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is no pair in the map");
    qsort(pairs, n, sizeof *pairs, by_from);
    int64_t *from = leat__arena_alloc(&planner->plan->memory, n * sizeof *from);
    int64_t *to = leat__arena_alloc(&planner->plan->memory, n * sizeof *to);
    if (!from || !to) return leat__fail_memory(err, n * 16, "a map");
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && pairs[i].from == from[i - 1])
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "label %" PRId64 " is there twice",
                                   pairs[i].from);
        from[i] = pairs[i].from;
        to[i] = pairs[i].to;
        *most = LEAT_MAX(*most, to[i]);
    }
    *table = (leat__relabel){.n = n, .from = from, .to = to};
    planner->plan->contents = leat__hash(pairs, n * sizeof *pairs, planner->plan->contents);
    return 0;
}

static int plan_label_map(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat_error why;
    const char *name = leat__use_arg(use, "field")->text, *fallback = leat__use_arg(use, "default")->text;
    const int at = leat__number_field(planner, name, &why);
    if (at < 0) return leat__plan_fail(use, err, at, "%s", why.message);
    leat_field *info = &planner->field[at].info;
    if (info->dtype > LEAT_DTYPE_I64 && info->dtype != LEAT_DTYPE_BOOL)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s: a label is a whole number", name,
                               leat_dtype_name(info->dtype));
    leat__relabel table = {0};
    leat__buf pairs = {.kind = LEAT_MEM_PLAN};
    int64_t most = 0, other = 0;
    int rc = gather_pairs(planner, use, at, &pairs, err);
    if (rc == 0)
        rc = make_table(planner, use, (pair *)(void *)pairs.data, pairs.size / sizeof(pair), &table, &most,
                        err);
    leat__buf_free(&pairs);
    LEAT_TRY(rc);
    if (*fallback) {
        if (!leat__parse_int(fallback, &other))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "default must be a whole number, not '%s'",
                                   fallback);
        table.has_fallback = true;
        table.fallback = other;
        most = LEAT_MAX(most, other);
    }
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_RELABEL, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.relabel = leat__plan_keep(planner, &table, sizeof table, err);
    if (!step->as.relabel) return LEAT_ERR_MEMORY;
    info->dtype = LEAT_DTYPE_I64;
    info->ndim = 0;
    planner->field[at].classes = most < INT64_MAX ? most + 1 : most;
    return 0;
}

/* ----------------------------------------------------------------------------------------------- map */

/* name:type or name:type[28,28]. */
static int read_declaration(const leat__use *use, const char *text, leat_field *out, leat_error *err) {
    const size_t head = strcspn(text, "[");
    const char *colon = NULL, *at = text + head;
    for (size_t i = 0; i < head; i++)
        if (text[i] == ':') colon = text + i;
    *out = (leat_field){.dtype = colon ? leat__dtype_find(colon + 1, head - (size_t)(colon + 1 - text)) : -1};
    if (!colon || colon == text || out->dtype < 0 || out->dtype == LEAT_DTYPE_BYTES ||
        (size_t)(colon - text) >= sizeof out->name)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "'%.80s' must be name:type or name:type[sizes], such as score:f32 or image:u8[32,32,3]", text);
    memcpy(out->name, text, (size_t)(colon - text));
    while (*at) {
        char part[32];
        const size_t n = strcspn(++at, ",]");
        int64_t size = 0;
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(n, sizeof part - 1), at);
        if (out->ndim == LEAT_NDIM_MAX - 1 || !leat__parse_int(part, &size) || size < 1 || !at[n] ||
            (at[n] == ']' && at[n + 1]))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "%s: a shape is up to %d sizes above 0, such as [32,32,3]", out->name,
                                   LEAT_NDIM_MAX - 1);
        out->shape[out->ndim++] = size;
        at += n;
        if (*at == ']') at++;
    }
    return 0;
}

static int lay_out(const leat__use *use, leat__map_plan *map, leat_error *err) {
    for (int i = 0; i < map->n; i++) {
        const leat_field *field = &map->field[i];
        size_t bytes = leat_dtype_size(field->dtype);
        for (int k = 0; k < field->ndim; k++)
            if (!leat__mul_size(bytes, (size_t)field->shape[k], &bytes)) bytes = SIZE_MAX;
        if (bytes > LEAT_RECORD_BYTES_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "%s has more than %zu bytes", field->name,
                                   LEAT_RECORD_BYTES_MAX);
        map->offset[i] = map->total;
        map->bytes[i] = bytes;
        map->total += LEAT_ALIGN_UP(bytes, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
    }
    return 0;
}

static int plan_map(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *fields = leat__use_arg(use, "fields");
    if (fields->n > LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    leat__map_plan *map = leat__arena_alloc(&planner->plan->memory, sizeof *map);
    if (!map) return leat__fail_memory(err, sizeof *map, "a map");
    *map = (leat__map_plan){0};
    LEAT_TRY(leat__called_find(planner, use, true, &map->called, err));
    LEAT_TRY(leat__follow_settle(planner, use, -1, err)); /* the function sees all fields */
    LEAT_TRY(leat__inputs_list(planner, false, &map->inputs, err));
    for (int i = 0; i < planner->n_fields; i++)
        leat__plan_close_pass(planner, i); /* it sees what is there now */
    for (; map->n < fields->n; map->n++) {
        leat_field *field = &map->field[map->n];
        LEAT_TRY(read_declaration(use, fields->texts[map->n], field, err));
        int at = find_live(planner, field->name);
        for (int k = 0; k < map->n; k++)
            if (strcmp(map->field[k].name, field->name) == 0)
                return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s is named twice", field->name);
        if (at < 0) LEAT_TRY(add_field(planner, use, field->name, &at, err));
        if (planner->field[at].device) LEAT_TRY(leat__device_check(planner, use, at, err));
        planner->field[at] = (leat__plan_field){.info = *field, .pass = -1, .nchw = planner->field[at].nchw};
        map->value[map->n] = at;
        leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_MAP, LEAT_STAGE_TRANSFORM, at, err);
        if (!step) return err ? err->code : LEAT_ERR_LIMIT;
        step->as.map.plan = map;
        step->as.map.part = map->n;
    }
    return lay_out(use, map, err);
}

/* ---------------------------------------------------------------------------------------------- rows */

const leat__op leat__ops_labels[] = {
    {.name = "enumerate",
     .kind = LEAT_OP_SAMPLE,
     .help = "Adds a field with the place of the sample in the epoch, or with its number in the data set.",
     .like = "tf.data.Dataset.enumerate",
     .random = true, /* it draws nothing, but depends on the epoch as if it did: no cache may come after it */
     .plan = plan_enumerate,
     .arg = {{.name = "name", .kind = LEAT_ARG_TEXT, .fallback = "index", .help = "of the new field, i64"},
             {.name = "of",
              .kind = LEAT_ARG_WORD,
              .fallback = "position",
              .words = "position|sample",
              .named = true,
              .help = "position: in the finished order, from 0; sample: in the data set"}}},
    {.name = "label_map",
     .kind = LEAT_OP_SAMPLE,
     .help = "Other numbers for labels: FROM=TO pairs, or a file of them.",
     .like = "tf.lookup.StaticHashTable, keras.layers.IntegerLookup, keras.layers.StringLookup, torchvision "
             "datasets.ImageFolder(target_transform)",
     .plan = plan_label_map,
     .arg = {{.name = "map",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .help = "such as 3=0,5=1; with names of classes in quotes: 'cats=0,dogs=1'"},
             {.name = "file",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "a text file with a pair in each line"},
             {.name = "default",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "for labels that are not in the map; else they are errors"},
             {.name = "field",
              .kind = LEAT_ARG_FIELD,
              .fallback = "label",
              .named = true,
              .help = "which field"}}},
    {.name = "map",
     .kind = LEAT_OP_SAMPLE,
     .help = "Fields that a function of the program makes of the sample: name:type or name:type[sizes].",
     .like = "tf.data.Dataset.map, keras.layers.Lambda, keras ImageDataGenerator(preprocessing_function), "
             "torchvision Lambda",
     .plan = plan_map,
     .arg =
         {{.name = "fields",
           .kind = LEAT_ARG_TEXTS,
           .help =
               "what it makes, such as score:f32 image:u8[32,32,3]; one that is there already is replaced"},
          {.name = "callback",
           .kind = LEAT_ARG_TEXT,
           .named = true,
           .help = "the function that the program gave with leat_spec_map"}}},
    {0},
};
