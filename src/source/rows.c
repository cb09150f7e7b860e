/* SPDX-License-Identifier: Apache-2.0 */
#include "source/rows.h"

#include <stdio.h>

#include "base/hash.h"

void leat__rows_value(const leat__rows *rows, int field, uint64_t row, leat__value *out) {
    const leat__rows_field *f = &rows->field[field];
    if (f->dtype == LEAT_DTYPE_BYTES) {
        const uint64_t *begin = (const uint64_t *)f->begin.data + row;
        const size_t n = (size_t)(begin[1] - begin[0]) - 1;
        *out = (leat__value){.data = f->values.data + begin[0],
                             .bytes = n,
                             .dtype = LEAT_DTYPE_BYTES,
                             .ndim = 1,
                             .shape = {(int64_t)n}};
        return;
    }
    const size_t bytes = f->n * leat_dtype_size(f->dtype);
    if (f->ragged) {
        const uint64_t *begin = (const uint64_t *)f->begin.data + row;
        const uint64_t count = begin[1] - begin[0];
        *out = (leat__value){.data = f->values.data + begin[0] * bytes,
                             .bytes = (size_t)count * bytes,
                             .dtype = f->dtype,
                             .ndim = 1 + f->ndim,
                             .shape = {(int64_t)count, (int64_t)f->n}};
        return;
    }
    *out = (leat__value){.data = f->values.data + row * bytes,
                         .bytes = bytes,
                         .dtype = f->dtype,
                         .ndim = f->ndim,
                         .shape = {(int64_t)f->n}};
}

void leat__rows_describe(const leat__rows *rows, int first, leat__source *source) {
    for (int i = first; i < rows->n_fields; i++) {
        const leat__rows_field *f = &rows->field[i];
        const bool text = f->dtype == LEAT_DTYPE_BYTES;
        const int64_t fixed[] = {(int64_t)f->n}, open[] = {-1, (int64_t)f->n};
        const int number = source->n_fields;
        leat__source_field(source, f->name, f->dtype, text ? 1 : f->ragged + f->ndim,
                           text || f->ragged ? open : fixed)
            ->ragged = text || f->ragged;
        if (text || f->ragged) source->field_max[number] = LEAT_MAX(f->longest, (size_t)1);
    }
}

uint64_t leat__rows_hash(const leat__rows *rows, const leat__source *source) {
    uint64_t h = rows->n;
    for (int i = 0; i < rows->n_fields; i++) {
        const leat__rows_field *f = &rows->field[i];
        h = leat__hash(f->name, strlen(f->name), h + (uint64_t)f->dtype);
        h = leat__hash(f->values.data, f->values.size, h);
        if (f->ragged) h = leat__hash(f->begin.data, f->begin.size, h);
    }
    for (size_t i = 0; i < source->n_classes; i++)
        h = leat__hash(source->class_name[i], strlen(source->class_name[i]), h);
    return h;
}

void leat__rows_free(leat__rows *rows) {
    for (int i = 0; i < rows->n_fields; i++) {
        leat__buf_free(&rows->field[i].values);
        leat__buf_free(&rows->field[i].begin);
    }
    rows->n_fields = 0;
}

/* --------------------------------------------------------------------------- arrays of the program */

static int fail_array(leat_error *err, const leat_tensor *a, const char *what) {
    char shown[100];
    return leat__fail(err, LEAT_ERR_ARGUMENT, "list: array %s %s",
                      leat__printable(shown, sizeof shown, a->name, strlen(a->name)), what);
}

static int add_array(leat__rows *rows, const leat_tensor *a, leat__rows_field **out, leat_error *err) {
    const bool text = a->dtype == LEAT_DTYPE_BYTES;
    leat__rows_field *f = *out = &rows->field[rows->n_fields];
    *f = (leat__rows_field){.dtype = a->dtype, .n = 1};
    f->values.kind = f->begin.kind = LEAT_MEM_INDEX;
    if (strlen(a->name) >= sizeof f->name) return fail_array(err, a, "has a name longer than 63 bytes");
    snprintf(f->name, sizeof f->name, "%s", a->name);
    for (int i = 0; i < rows->n_fields; i++)
        if (strcmp(rows->field[i].name, f->name) == 0) return fail_array(err, a, "is there twice");
    if (a->dtype < 0 || a->dtype >= LEAT_DTYPE_COUNT || (text && !a->offsets) || a->ends)
        return fail_array(err, a, "must hold numbers, or texts with offsets, and no ends");
    if (!a->data || a->shape[0] < 1 ||
        (uint64_t)a->shape[0] != (rows->n_fields ? rows->n : (uint64_t)a->shape[0]))
        return fail_array(err, a, "must have a row for each path, and at least one");
    if (!text && (a->ndim < 1 || a->ndim > 2 || (a->ndim == 2 && a->shape[1] < 1)))
        return fail_array(err, a, "must have the shape (n) or (n, k)");
    rows->n = (uint64_t)a->shape[0];
    rows->n_fields++;
    if (!text && a->ndim == 2) f->ndim = 1, f->n = (size_t)a->shape[1];
    f->ragged = !text && a->offsets;
    return 0;
}

static int take_texts(leat__rows_field *f, const leat_tensor *a, uint64_t n, leat_error *err) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const int64_t from = a->offsets[i], length = a->offsets[i + 1] - from;
        if (from < 0 || length < 0) return fail_array(err, a, "has offsets that go back");
        const char *text = (const char *)a->data + from;
        if (length == 0 || memchr(text, 0, (size_t)length))
            return leat__fail(err, LEAT_ERR_ARGUMENT, "list: %s[%" PRIu64 "] is %s", a->name, i,
                              length ? "no path: it holds a zero byte" : "empty");
        if (!leat__buf_append(&f->begin, &at, sizeof at) ||
            !leat__buf_append(&f->values, text, (size_t)length) || !leat__buf_append(&f->values, "", 1))
            return leat__fail_memory(err, (size_t)length, "a list of files");
        at = f->values.size;
        f->longest = LEAT_MAX(f->longest, (size_t)length);
    }
    return leat__buf_append(&f->begin, &at, sizeof at) ? 0 : leat__fail_memory(err, 8, "a list of files");
}

/* Offsets of entries, which begin at 0 here: the number of all of them. */
static int64_t take_offsets(leat__rows_field *f, const leat_tensor *a, uint64_t n, size_t entry,
                            leat_error *err) {
    for (uint64_t i = 0; i <= n; i++) {
        const int64_t at = a->offsets[i] - a->offsets[0], before = i ? a->offsets[i - 1] - a->offsets[0] : 0;
        if (at < before || a->offsets[0] < 0) return fail_array(err, a, "has offsets that go back");
        if (!leat__buf_append(&f->begin, &at, sizeof at))
            return leat__fail_memory(err, (size_t)n * 8, "a table");
        f->longest = LEAT_MAX(f->longest, (size_t)(at - before) * entry);
    }
    f->longest = LEAT_MAX(f->longest, entry); /* room for one where all are empty */
    return a->offsets[n] - a->offsets[0];
}

static int take_numbers(leat__rows_field *f, const leat_tensor *a, uint64_t n, leat_error *err) {
    const size_t item = leat_dtype_size(a->dtype);
    const bool strided = a->stride[0] != 0 || (a->ndim == 2 && a->stride[1] != 0);
    const int64_t row = strided ? a->stride[0] : (int64_t)(f->n * item);
    const int64_t column = strided && a->ndim == 2 ? a->stride[1] : (int64_t)item;
    const uint8_t *from = a->data;
    size_t bytes;
    if (f->ragged) {
        const int64_t entries = take_offsets(f, a, n, f->n * item, err);
        if (entries < 0) return (int)entries;
        from += a->offsets[0] * row;
        n = (uint64_t)entries;
    }
    if (!leat__mul_size((size_t)n, f->n * item, &bytes) ||
        !leat__buf_reserve_exactly(&f->values, LEAT_MAX(bytes, item)))
        return leat__fail_memory(err, (size_t)n * f->n * item, "labels");
    uint8_t *out = f->values.data;
    for (uint64_t i = 0; i < n; i++)
        for (size_t k = 0; k < f->n; k++, out += item)
            memcpy(out, from + (int64_t)i * row + (int64_t)k * column, item);
    f->values.size = bytes;
    return 0;
}

/* A word of the program to the number of its class. */
static int64_t number_of(leat__classes *words, const leat_tensor *a, uint64_t i, leat_error *err) {
    const int64_t from = a->offsets[i], length = a->offsets[i + 1] - from;
    const size_t begin = words->text.size;
    const char *word = (const char *)a->data + from;
    char shown[100];
    if (from < 0 || length < 0) return fail_array(err, a, "has offsets that go back");
    if (!leat__buf_append(&words->text, word, (size_t)length) || !leat__buf_append(&words->text, "", 1))
        return leat__fail_memory(err, (size_t)length, "class names");
    const int64_t number = leat__classes_number(words, begin, err);
    if (number < 0 || !words->n_ordered || number < words->n_ordered) return number;
    return leat__fail(err, LEAT_ERR_NOT_FOUND,
                      "list: %s[%" PRIu64 "] is '%s', which is none of the given classes", a->name, i,
                      leat__printable(shown, sizeof shown, word, (size_t)length));
}

static int take_words(leat__rows_field *f, const leat_tensor *a, uint64_t n, leat__classes *words,
                      leat_error *err) {
    f->dtype = LEAT_DTYPE_I64;
    if (!leat__buf_reserve_exactly(&f->values, n * sizeof(int64_t)))
        return leat__fail_memory(err, n * sizeof(int64_t), "labels");
    f->values.size = n * sizeof(int64_t);
    int64_t *label = (int64_t *)(void *)f->values.data;
    for (uint64_t i = 0; i < n; i++)
        if ((label[i] = number_of(words, a, i, err)) < 0) return (int)label[i];
    return 0;
}

int leat__rows_settle_words(leat__rows *rows, leat__rows_field *f, size_t place, const leat__classes *words,
                            leat__source *source, leat_error *err) {
    uint32_t *rank = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(words->n, 1u) * sizeof *rank);
    int rc = rank ? leat__classes_rank(words, rank, err)
                  : leat__fail_memory(err, (size_t)words->n * sizeof *rank, "class names");
    /* Numbers of words are below LEAT_CLASSES_MAX, which an f32 holds exactly. */
    for (uint64_t i = place; i < rows->n * f->n && rc == 0; i += f->n) {
        if (f->dtype == LEAT_DTYPE_I64) {
            int64_t *x = (int64_t *)(void *)f->values.data + i;
            *x = rank[*x];
        } else if (f->dtype == LEAT_DTYPE_F32) {
            float *x = (float *)(void *)f->values.data + i;
            *x = (float)rank[(uint32_t)*x];
        } else {
            double *x = (double *)(void *)f->values.data + i;
            *x = (double)rank[(uint32_t)*x];
        }
    }
    if (rc == 0 && source) rc = leat__classes_give(words, rank, source, err);
    leat__free(rank);
    return rc;
}

int leat__rows_name_numbers(const leat__rows *rows, const leat__rows_field *f, const leat__classes *words,
                            leat__source *source, leat_error *err) {
    for (uint64_t i = 0; i < rows->n && f->dtype == LEAT_DTYPE_I64 && f->ndim == 0 && !f->ragged; i++) {
        const int64_t label = ((const int64_t *)(const void *)f->values.data)[i];
        if (label < 0 || label >= words->n)
            return leat__fail(err, LEAT_ERR_NOT_FOUND,
                              "list: %s[%" PRIu64 "] is %" PRId64 ", but the given classes are 0 to %" PRIu32,
                              f->name, i, label, words->n - 1);
    }
    return leat__classes_give(words, NULL, source, err);
}

int leat__rows_from_arrays(leat__rows *rows, leat__source *source, const leat_tensor *arrays, int n,
                           const char *classes, leat_error *err) {
    rows->class_field = -1;
    if (n < 1 || n > LEAT_FIELDS_MAX - 1 || arrays[0].dtype != LEAT_DTYPE_BYTES)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "list: the first array must hold the paths, as texts");
    int n_words = 0;
    for (int i = 1; i < n; i++) n_words += arrays[i].dtype == LEAT_DTYPE_BYTES;
    for (int i = 0; i < n; i++) {
        leat__rows_field *f;
        leat__classes words = {.text.kind = LEAT_MEM_INDEX};
        LEAT_TRY(add_array(rows, &arrays[i], &f, err));
        const bool is_words = i > 0 && arrays[i].dtype == LEAT_DTYPE_BYTES;
        const bool named = i > 0 && *classes && (is_words || strcmp(f->name, "label") == 0);
        int rc = named ? leat__classes_order(&words, classes, err) : 0;
        if (rc == 0)
            rc = is_words ? take_words(f, &arrays[i], rows->n, &words, err)
                 : i == 0 ? take_texts(f, &arrays[i], rows->n, err)
                          : take_numbers(f, &arrays[i], rows->n, err);
        if (rc == 0 && is_words)
            rc = leat__rows_settle_words(rows, f, 0, &words, n_words == 1 ? source : NULL, err);
        else if (rc == 0 && named) rc = leat__rows_name_numbers(rows, f, &words, source, err);
        if (source->n_classes && rows->class_field < 0 && f->ndim == 0 && !f->ragged) rows->class_field = i;
        if (rc == 0 && i > 0 && strcmp(f->name, "image") == 0)
            rc = fail_array(err, &arrays[i], "has the name of the field that holds the files");
        leat__classes_free(&words);
        LEAT_TRY(rc);
    }
    return 0;
}
