/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of all samples to classes that count from 0. */
#include <stdlib.h>

#include "plan/select.h"

#define DENSE_MAX ((uint64_t)1 << 22) /* labels that lie so near together are counted in a table */

void leat__class_list_free(leat__class_list *list) {
    leat__free(list->number);
    leat__free(list->size);
    leat__free(list->class);
    *list = (leat__class_list){0};
}

static int by_number(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The labels that there are, each once, in rising order: into number, which has room for all. How many they are. */
static uint64_t different(const uint64_t *answer, uint64_t n, int64_t *number) {
    uint64_t m = 0, kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int64_t label = (int64_t)answer[i];
        /* Runs of equal ones, which sorted data has, need not be sorted. */
        if (answer[i] != LEAT_ANSWER_NONE && (m == 0 || number[m - 1] != label)) number[m++] = label;
    }
    qsort(number, m, sizeof *number, by_number);
    for (uint64_t i = 0; i < m; i++)
        if (kept == 0 || number[kept - 1] != number[i]) number[kept++] = number[i];
    return kept;
}

/* The same when they lie near together: mark is zeroed memory for high - low + 1 numbers, and gets 1 + their class. */
static uint64_t different_near(const uint64_t *answer, uint64_t n, int64_t low, uint32_t *mark,
                               uint64_t range, int64_t *number) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (answer[i] != LEAT_ANSWER_NONE) mark[answer[i] - (uint64_t)low] = 1;
    for (uint64_t i = 0; i < range; i++) {
        if (!mark[i]) continue;
        number[kept++] = low + (int64_t)i;
        mark[i] = (uint32_t)kept;
    }
    return kept;
}

static uint32_t class_of(const int64_t *number, uint64_t n, int64_t label) {
    uint64_t low = 0, high = n;
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (number[mid] <= label) low = mid;
        else high = mid;
    }
    return (uint32_t)low;
}

int leat__class_list_make(leat__class_list *out, const uint64_t *answer, uint64_t n, leat_error *err) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    *out = (leat__class_list){0};
    for (uint64_t i = 0; i < n; i++) {
        if (answer[i] == LEAT_ANSWER_NONE) continue;
        low = LEAT_MIN(low, (int64_t)answer[i]);
        high = LEAT_MAX(high, (int64_t)answer[i]);
    }
    const uint64_t range = low <= high ? (uint64_t)high - (uint64_t)low : 0;
    const bool near = range < DENSE_MAX;
    const size_t most = (size_t)LEAT_MAX(near ? LEAT_MIN(n, range + 1) : n, (uint64_t)1);
    uint32_t *mark = near ? leat__alloc(LEAT_MEM_INDEX, (size_t)(range + 1) * sizeof *mark) : NULL;
    out->number = leat__alloc(LEAT_MEM_INDEX, most * sizeof *out->number);
    out->class = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1) * sizeof *out->class);
    int rc = 0;
    if ((near && !mark) || !out->number || !out->class) rc = leat__fail_memory(err, n * 12, "classes");
    if (rc == 0) {
        const uint64_t m = near ? different_near(answer, n, low, mark, range + 1, out->number)
                                : different(answer, n, out->number);
        out->n_classes = (uint32_t)m;
        out->size = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(m, (uint64_t)1) * sizeof *out->size);
        if (!out->size) rc = leat__fail_memory(err, m * sizeof *out->size, "classes");
    }
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        if (answer[i] == LEAT_ANSWER_NONE) {
            out->class[i] = LEAT_NO_CLASS;
            continue;
        }
        out->class[i] = near ? mark[answer[i] - (uint64_t)low] - 1
                             : class_of(out->number, out->n_classes, (int64_t)answer[i]);
        out->size[out->class[i]]++;
    }
    leat__free(mark);
    if (rc < 0) leat__class_list_free(out);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- names */

int leat__number_field(const leat__planner *planner, const char *name, leat_error *err) {
    const int at = leat__plan_live(planner, name);
    if (at < 0) {
        const char *near = leat__nearest(name, leat__plan_live_name, planner);
        if (near)
            return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no field '%s' here; did you mean '%s'?",
                              name, near);
        if (planner->n_fields == 1 && strcmp(planner->field[0].info.name, "record") == 0)
            return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no field '%s' yet: write parse before",
                              name);
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no field '%s' here", name);
    }
    const leat_field *info = &planner->field[at].info;
    if (info->dtype == LEAT_DTYPE_BYTES)
        return leat__fail(err, LEAT_ERR_TYPE, "field %s holds bytes: only numbers can be compared", name);
    if (info->ragged || info->ndim > 1 || (info->ndim == 1 && info->shape[0] != 1))
        return leat__fail(err, LEAT_ERR_SHAPE, "field %s holds more than one number a sample", name);
    return at;
}

static const char *class_at(const void *user, size_t i) {
    const leat__source *source = user;
    return i < source->n_classes ? source->class_name[i] : NULL;
}

int64_t leat__class_number(const leat__planner *planner, int value, const char *name, leat_error *err) {
    const leat__source *source = planner->plan->source;
    const char *field = planner->field[value].info.name;
    if (planner->field[value].classes)
        return leat__fail(err, LEAT_ERR_SYNTAX,
                          "'%s' is no number, and %s was renumbered: write its new number", name, field);
    if (value >= source->n_fields || source->n_classes == 0)
        return leat__fail(err, LEAT_ERR_SYNTAX, "'%s' is no number, and %s has no names of classes", name,
                          field);
    for (size_t i = 0; i < source->n_classes; i++)
        if (strcmp(source->class_name[i], name) == 0) return (int64_t)i;
    const char *near = leat__nearest(name, class_at, source);
    if (near)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no class '%s'; did you mean '%s'?", name, near);
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no class '%s' among the %zu that there are", name,
                      source->n_classes);
}
