/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.Examples of features that the program gives, and of the samples of a batch. */
#include "tools/write.h"

#include "base/error.h"

void leat__example_maker_init(leat__example_maker *maker) {
    *maker = (leat__example_maker){0};
    maker->record.kind = maker->values.kind = maker->spans.kind = maker->wide.kind = LEAT_MEM_TOOL;
}

void leat__example_maker_free(leat__example_maker *maker) {
    leat__buf_free(&maker->record);
    leat__buf_free(&maker->values);
    leat__buf_free(&maker->spans);
    leat__buf_free(&maker->wide);
}

/* ------------------------------------------------------------------------------------------ features */

static int check_feature(const leat_feature *f, int i, leat_error *err) {
    LEAT_TRY(LEAT_CHECK_RESERVED(leat_feature, f, err));
    if (!f->name || !*f->name) return leat__fail(err, LEAT_ERR_ARGUMENT, "feature %d has no name", i);
    if (!f->values && f->n && !f->offsets)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "feature %s has no values", f->name);
    if (f->dtype != LEAT_DTYPE_BYTES && f->dtype != LEAT_DTYPE_I64 && f->dtype != LEAT_DTYPE_F32)
        return leat__fail(err, LEAT_ERR_TYPE, "feature %s is %s: an Example holds bytes, i64 or f32", f->name,
                          leat_dtype_name(f->dtype));
    if (f->offsets && f->dtype != LEAT_DTYPE_BYTES)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "feature %s has offsets: strings have them, numbers do not",
                          f->name);
    for (size_t k = 0; f->offsets && k < f->n; k++) {
        if (f->offsets[k] < 0 || f->offsets[k] > f->offsets[k + 1])
            return leat__fail(err, LEAT_ERR_ARGUMENT, "feature %s: string %zu ends before it begins", f->name,
                              k);
        if (!f->values && f->offsets[k] != f->offsets[k + 1])
            return leat__fail(err, LEAT_ERR_ARGUMENT, "feature %s has no values", f->name);
    }
    return 0;
}

static void put_strings(const leat_feature *f, leat__span *span) {
    const char *bytes = f->values ? f->values : "";
    if (!f->offsets) *span = (leat__span){.data = bytes, .n = f->n};
    for (size_t k = 0; f->offsets && k < f->n; k++)
        span[k] =
            (leat__span){.data = bytes + f->offsets[k], .n = (size_t)(f->offsets[k + 1] - f->offsets[k])};
}

static size_t strings_of(const leat_feature *f) {
    if (f->dtype != LEAT_DTYPE_BYTES) return 0;
    return f->offsets ? f->n : 1;
}

int leat__example_make(leat__example_maker *maker, const leat_feature *features, int n, leat_error *err) {
    if (!features || n < 1) return leat__fail(err, LEAT_ERR_ARGUMENT, "an Example needs a feature");
    size_t strings = 0;
    for (int i = 0; i < n; i++) {
        LEAT_TRY(check_feature(&features[i], i, err));
        strings += strings_of(&features[i]);
    }
    const size_t bytes = (size_t)n * sizeof(leat__feature_value);
    if (!leat__buf_reserve(&maker->values, bytes) ||
        !leat__buf_reserve(&maker->spans, strings * sizeof(leat__span)))
        return leat__fail_memory(err, bytes + strings * sizeof(leat__span), "an Example");
    leat__feature_value *value = (leat__feature_value *)maker->values.data;
    leat__span *span = (leat__span *)maker->spans.data;
    for (int i = 0; i < n; i++) {
        const leat_feature *f = &features[i];
        const size_t own = strings_of(f);
        value[i] = (leat__feature_value){.key = f->name, .n = f->n, .values = f->values};
        value[i].kind = f->dtype == LEAT_DTYPE_F32 ? LEAT_FEATURE_FLOAT : LEAT_FEATURE_INT64;
        if (f->dtype != LEAT_DTYPE_BYTES) continue;
        put_strings(f, span);
        value[i] =
            (leat__feature_value){.key = f->name, .kind = LEAT_FEATURE_BYTES, .n = own, .values = span};
        span += own;
    }
    maker->record.size = 0;
    return leat__example_write(&maker->record, value, n, err);
}

int64_t leat_example(const leat_feature *features, int n, void *bytes, size_t cap, leat_error *err) {
    leat__error_clear(err);
    leat__example_maker maker;
    leat__example_maker_init(&maker);
    int64_t size = leat__example_make(&maker, features, n, err);
    if (size == 0) {
        size = (int64_t)maker.record.size;
        if (bytes && maker.record.size <= cap && size) memcpy(bytes, maker.record.data, maker.record.size);
    }
    leat__example_maker_free(&maker);
    return size;
}

/* ----------------------------------------------------------------------------------------- of a batch */

static int64_t as_int64(const leat_tensor *t, size_t k) {
    switch (t->dtype) {
    case LEAT_DTYPE_U8:
    case LEAT_DTYPE_BOOL: return ((const uint8_t *)t->data)[k];
    case LEAT_DTYPE_I8: return ((const int8_t *)t->data)[k];
    case LEAT_DTYPE_U16: return ((const uint16_t *)t->data)[k];
    case LEAT_DTYPE_I16: return ((const int16_t *)t->data)[k];
    case LEAT_DTYPE_U32: return ((const uint32_t *)t->data)[k];
    case LEAT_DTYPE_I32: return ((const int32_t *)t->data)[k];
    default: return ((const int64_t *)t->data)[k];
    }
}

static int check_field(const leat_tensor *t, leat_error *err) {
    if (t->dtype == LEAT_DTYPE_U64 || t->dtype == LEAT_DTYPE_F16 || t->dtype == LEAT_DTYPE_BF16)
        return leat__fail(err, LEAT_ERR_TYPE,
                          "field %s is %s, and an Example holds bytes, int64 or float: add `cast %s %s`",
                          t->name, leat_dtype_name(t->dtype), t->name,
                          t->dtype == LEAT_DTYPE_U64 ? "i64" : "f32");
    return 0;
}

/* Where the values of sample i begin, and how many they are. */
static void find_values(const leat_tensor *t, int i, size_t *begin, size_t *n) {
    size_t count = 1;
    for (int axis = 1; axis < t->ndim; axis++) count *= (size_t)t->shape[axis];
    *begin = (size_t)(t->offsets ? t->offsets[i] : i) * count;
    *n = t->offsets ? (size_t)(t->offsets[i + 1] - t->offsets[i]) * count : count;
}

static bool is_string(const leat_tensor *t) {
    const bool array = t->ndim > 1 || t->offsets;
    return t->dtype == LEAT_DTYPE_BYTES ||
           (array && (t->dtype == LEAT_DTYPE_U8 || t->dtype == LEAT_DTYPE_U16));
}

/* One field of sample i as a feature. Numbers of other widths are written to wide, which has room for them. */
static leat_feature feature_of(const leat_tensor *t, int i, int64_t *wide) {
    size_t begin, n;
    find_values(t, i, &begin, &n);
    const size_t size = leat_dtype_size(t->dtype);
    const uint8_t *values = (const uint8_t *)t->data + begin * size;
    leat_feature f = {.name = t->name, .dtype = LEAT_DTYPE_I64, .n = n, .values = wide};
    if (is_string(t))
        return (leat_feature){.name = t->name, .dtype = LEAT_DTYPE_BYTES, .n = n * size, .values = values};
    if (t->dtype == LEAT_DTYPE_F32 || t->dtype == LEAT_DTYPE_I64) {
        f.dtype = t->dtype;
        f.values = values;
    } else if (t->dtype == LEAT_DTYPE_F64) {
        f.dtype = LEAT_DTYPE_F32;
        for (size_t k = 0; k < n; k++) ((float *)wide)[k] = (float)((const double *)(const void *)values)[k];
    } else {
        for (size_t k = 0; k < n; k++) wide[k] = as_int64(t, begin + k);
    }
    return f;
}

int leat__example_of_sample(leat__example_maker *maker, const leat_batch *batch, int i, leat_error *err) {
    enum { FIELDS_MAX = 64 };
    leat_feature features[FIELDS_MAX];
    if (batch->n_tensors > FIELDS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "a sample has %d fields, the limit is %d", batch->n_tensors,
                          (int)FIELDS_MAX);
    size_t n = 0, wide = 0;
    for (int k = 0; k < batch->n_tensors; k++) {
        size_t begin;
        LEAT_TRY(check_field(&batch->tensor[k], err));
        find_values(&batch->tensor[k], i, &begin, &n);
        wide += is_string(&batch->tensor[k]) ? 0 : n;
    }
    if (!leat__buf_reserve(&maker->wide, wide * sizeof(int64_t) + sizeof(int64_t)))
        return leat__fail_memory(err, wide * sizeof(int64_t), "an Example");
    int64_t *room = (int64_t *)maker->wide.data;
    for (int k = 0; k < batch->n_tensors; k++) {
        features[k] = feature_of(&batch->tensor[k], i, room);
        room += is_string(&batch->tensor[k]) ? 0 : features[k].n;
    }
    return leat__example_make(maker, features, batch->n_tensors, err);
}
