/* SPDX-License-Identifier: Apache-2.0 */
/* Other numbers for labels, and a number for each class. */
#include <stdlib.h>

#include "base/hash.h"
#include "ops/ops_shared.h"
#include "plan/select.h"
#include "sample/labels.h"

/* ------------------------------------------------------------------------------------------ label_map */

enum { MAP_FILE_MAX = 64 << 20 };

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
    if (!leat__is_whole(info->dtype))
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

/* -------------------------------------------------------------------------------------------- one_hot */

static int plan_one_hot(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat_field *info = &planner->field[at].info;
    const double smoothing = leat__use_arg(use, "smoothing")->x;
    int64_t classes = leat__use_arg(use, "classes")->i;
    if (!leat__is_whole(info->dtype))
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s: a label is a whole number",
                               info->name, leat_dtype_name(info->dtype));
    if (info->ragged || info->ndim > 1 || (info->ndim == 1 && info->shape[0] > 1))
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "field %s holds more than one number a sample",
                               info->name);
    if (classes == 0) classes = LEAT_MIN(planner->field[at].classes, INT32_MAX);
    if (classes == 0) classes = (int64_t)planner->plan->source->n_classes;
    if (classes == 0)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "how many classes there are is not known here: write one_hot %s N",
                               info->name);
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_ONE_HOT, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    /* As Keras smooths: y * (1 - s) + s / n, in f32. */
    const float kept = (float)(1 - smoothing), spread = (float)smoothing / (float)classes;
    step->as.one_hot.n = (int)classes;
    step->as.one_hot.on = (float)leat__use_arg(use, "on")->x * kept + spread;
    step->as.one_hot.off = (float)leat__use_arg(use, "off")->x * kept + spread;
    info->dtype = LEAT_DTYPE_F32;
    info->ndim = 1;
    info->shape[0] = classes;
    return 0;
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_labels[] = {
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
    {.name = "one_hot",
     .kind = LEAT_OP_SAMPLE,
     .help =
         "A label to f32 numbers, one for each class: 1 for its own, 0 for the others; smoothed if asked.",
     .like = "tf.one_hot, keras.ops.one_hot, keras.utils.to_categorical, "
             "keras.layers.CategoryEncoding(output_mode=\"one_hot\"), "
             "keras.losses.CategoricalCrossentropy(label_smoothing)",
     .plan = plan_one_hot,
     .arg = {LEAT_ARG_FIELD_OR("label"),
             {.name = "classes",
              .also = "num_classes|depth",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1 << 24,
              .help = "how many; 0: as many as the source knows"},
             {.name = "smoothing",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .max = 1,
              .named = true,
              .help = "share that is spread over all classes"},
             {.name = "off",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .named = true,
              .help = "for other classes"},
             {.name = "on",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .named = true,
              .help = "for its own class"}}},
    {0},
};
