/* SPDX-License-Identifier: Apache-2.0 */
#include "source/classes.h"

#include <stdlib.h>

#include "base/hash.h"

const char *leat__classes_at(const leat__classes *classes, uint32_t i) {
    return (const char *)classes->text.data + ((const uint64_t *)classes->begin.data)[i];
}

/* The slot that holds the word, or the free one where it belongs; there is always one. */
static uint32_t *slot_of(const leat__classes *classes, const char *word) {
    uint32_t *slot = (uint32_t *)classes->slot.data;
    const size_t mask = classes->slot.size / sizeof *slot - 1;
    size_t at = (size_t)leat__hash(word, strlen(word), 0) & mask;
    while (slot[at] && strcmp(leat__classes_at(classes, slot[at] - 1), word) != 0) at = (at + 1) & mask;
    return &slot[at];
}

/* Twice the room, or the first. */
static bool make_slots(leat__classes *classes) {
    const size_t n = LEAT_MAX(classes->slot.size * 2, (size_t)256 * sizeof(uint32_t));
    leat__buf old = classes->slot;
    classes->slot = (leat__buf){.kind = LEAT_MEM_INDEX};
    if (!leat__buf_reserve_exactly(&classes->slot, n)) {
        classes->slot = old;
        return false;
    }
    classes->slot.size = n;
    memset(classes->slot.data, 0, n);
    for (uint32_t i = 0; i < classes->n; i++) *slot_of(classes, leat__classes_at(classes, i)) = i + 1;
    leat__buf_free(&old);
    return true;
}

int64_t leat__classes_number(leat__classes *classes, size_t begin, leat_error *err) {
    classes->begin.kind = LEAT_MEM_INDEX;
    if (classes->n >= classes->slot.size / sizeof(uint32_t) / 2 && !make_slots(classes))
        return leat__fail_memory(err, classes->slot.size * 2, "class names");
    uint32_t *slot = slot_of(classes, (const char *)classes->text.data + begin);
    if (*slot) {
        classes->text.size = begin;
        return *slot - 1;
    }
    if (classes->n == LEAT_CLASSES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "more than %d different words: number them yourself",
                          LEAT_CLASSES_MAX);
    const uint64_t at = begin;
    if (!leat__buf_append(&classes->begin, &at, sizeof at))
        return leat__fail_memory(err, classes->begin.size, "class names");
    *slot = ++classes->n;
    return classes->n - 1;
}

int64_t leat__classes_find(const leat__classes *classes, const char *word) {
    return classes->n ? (int64_t)*slot_of(classes, word) - 1 : -1;
}

const char *leat__classes_split(const char **at, char *separator, size_t *n) {
    const char *word = *at;
    if (*separator == 0) {
        *separator = *word == ';' || *word == '\n' ? *word : ',';
        word += *separator != ',';
    }
    const char *end = strchr(word, *separator);
    *n = end ? (size_t)(end - word) : strlen(word);
    *at = end ? end + 1 : NULL;
    return word;
}

int leat__classes_order(leat__classes *classes, const char *list, leat_error *err) {
    char separator = 0, shown[100];
    const char *at = *list ? list : NULL;
    classes->text.kind = LEAT_MEM_INDEX;
    while (at) {
        size_t n;
        const char *word = leat__classes_split(&at, &separator, &n);
        const size_t begin = classes->text.size;
        if (!leat__buf_append(&classes->text, word, n) || !leat__buf_append(&classes->text, "", 1))
            return leat__fail_memory(err, n, "class names");
        const int64_t number = leat__classes_number(classes, begin, err);
        if (number < 0) return (int)number;
        if (n == 0 || number != classes->n_ordered)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "of the given classes, '%s' %s",
                              leat__printable(shown, sizeof shown, word, n),
                              n ? "is there twice" : "has no name");
        classes->n_ordered++;
    }
    return 0;
}

typedef struct entry {
    const char *word;
    uint32_t number;
} entry;

static int by_word(const void *a, const void *b) {
    return strcmp(((const entry *)a)->word, ((const entry *)b)->word);
}

int leat__classes_rank(const leat__classes *classes, uint32_t *rank, leat_error *err) {
    for (uint32_t i = 0; i < classes->n_ordered; i++) rank[i] = i;
    if (classes->n_ordered) return 0;
    entry *all = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(classes->n, 1u) * sizeof *all);
    if (!all) return leat__fail_memory(err, classes->n * sizeof *all, "class names");
    for (uint32_t i = 0; i < classes->n; i++) all[i] = (entry){leat__classes_at(classes, i), i};
    qsort(all, classes->n, sizeof *all, by_word);
    for (uint32_t i = 0; i < classes->n; i++) rank[all[i].number] = i;
    leat__free(all);
    return 0;
}

int leat__classes_give(const leat__classes *classes, const uint32_t *rank, leat__source *source,
                       leat_error *err) {
    for (size_t i = 0; i < source->n_classes; i++) leat__free(source->class_name[i]);
    leat__free(source->class_name);
    source->n_classes = 0;
    source->class_name = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(classes->n, 1u) * sizeof *source->class_name);
    if (!source->class_name) return leat__fail_memory(err, classes->n * 8, "class names");
    source->n_classes = classes->n; /* names that are missing are NULL, which can be freed */
    for (uint32_t i = 0; i < classes->n; i++) {
        char **name = &source->class_name[rank ? rank[i] : i];
        *name = leat__strdup(LEAT_MEM_INDEX, leat__classes_at(classes, i));
        if (!*name) return leat__fail_memory(err, 64, "class names");
    }
    return 0;
}

void leat__classes_free(leat__classes *classes) {
    leat__buf_free(&classes->text);
    leat__buf_free(&classes->begin);
    leat__buf_free(&classes->slot);
    classes->n = classes->n_ordered = 0;
}
