/* SPDX-License-Identifier: Apache-2.0 */
/* leat_compare: how far two pipelines, or a pipeline and what another library made, are from each other. Batch by batch
 * and field by field; types may differ, values are compared as numbers. */
#include "tools/compare.h"

#include <stdio.h>

#include "base/error.h"
#include "image/pass/convert.h"

/* Values of one block, of both sides, as doubles. */
enum { BLOCK = 512 };

typedef struct comparing {
    leat__side *side[2];
    const leat_compare_config *config;
    const leat_config *pipeline;
    leat_compare_report *report;
    double sum[LEAT_SIDE_ARRAYS]; /* of the differences of each field */
} comparing;

static const char *const letters[] = {"A", "B"};

static const leat__side_array *find(const leat__side *side, const char *name) {
    for (int i = 0; i < leat__side_count(side); i++)
        if (strcmp(leat__side_at(side, i)->name, name) == 0) return leat__side_at(side, i);
    return NULL;
}

static void shape_text(const leat__side_array *array, char text[160]) {
    size_t n = (size_t)snprintf(text, 160, "(");
    for (int i = 0; i < array->ndim; i++)
        n += (size_t)snprintf(text + n, 160 - n, "%s%" PRId64, i ? ", " : "", array->shape[i]);
    snprintf(text + n, 160 - n, "%s)", array->ndim == 1 ? "," : "");
}

static int check_shapes(const comparing *c, const leat__side_array *a, const leat__side_array *b,
                        leat_error *err) {
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++) same = a->shape[i] == b->shape[i];
    if (same) return 0;
    char one[160], other[160];
    shape_text(a, one);
    shape_text(b, other);
    return leat__fail(err, LEAT_ERR_SHAPE,
                      "batch %" PRIu64 ": %s is %s in A and %s in B: only equal shapes can be compared",
                      c->report->n_batches, a->name, one, other);
}

/* The report's entry of a field; fields are met in the order of A. */
static int entry_of(const comparing *c, const leat__side_array *a, const leat__side_array *b, int *out,
                    leat_error *err) {
    leat_compare_report *report = c->report;
    for (*out = 0; *out < report->n_fields; ++*out)
        if (strcmp(report->field[*out].name, a->name) == 0) return 0;
    if (report->n_fields == LEAT_COMPARE_FIELDS)
        return leat__fail(err, LEAT_ERR_LIMIT, "more than %d fields: name one of them", LEAT_COMPARE_FIELDS);
    leat_compare_field *field = &report->field[report->n_fields++];
    *field = (leat_compare_field){.dtype_a = a->dtype, .dtype_b = b->dtype};
    memcpy(field->name, a->name, sizeof field->name);
    return 0;
}

static double magnitude(double x) {
    return x < 0 ? -x : x;
}

/* Whole numbers of 64 bits do not fit into a double. */
static double far_apart(const uint8_t *a, const uint8_t *b, int dtype) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    const bool less = dtype == LEAT_DTYPE_I64 ? (int64_t)x < (int64_t)y : x < y;
    return (double)(less ? y - x : x - y);
}

static void note_largest(leat_compare_field *field, const leat__side_array *array, uint64_t batch,
                         size_t place, size_t inside, double x, double y) {
    field->batch = batch;
    field->place = place;
    field->a = x;
    field->b = y;
    field->n_index = LEAT_MAX(array->ndim - 1, 0);
    for (int i = field->n_index - 1; i >= 0; i--) {
        field->index[i] = (int64_t)(inside % (size_t)array->shape[i + 1]);
        inside /= (size_t)array->shape[i + 1];
    }
}

/* One row: the values of a sample. */
static void compare_row(leat_compare_field *field, double *sum, const leat__side_array *a,
                        const leat__side_array *b, uint64_t batch, size_t place, size_t n) {
    const size_t size_a = leat_dtype_size(a->dtype), size_b = leat_dtype_size(b->dtype);
    const uint8_t *from_a = a->data + place * a->row, *from_b = b->data + place * b->row;
    const bool wide = a->dtype == b->dtype && (a->dtype == LEAT_DTYPE_I64 || a->dtype == LEAT_DTYPE_U64);
    double x[BLOCK], y[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t m = LEAT_MIN(n - done, (size_t)BLOCK);
        const uint8_t *at_a = from_a + done * size_a, *at_b = from_b + done * size_b;
        if (a->dtype == b->dtype && memcmp(at_a, at_b, m * size_a) == 0) continue;
        leat__convert(x, LEAT_DTYPE_F64, at_a, a->dtype, m, false, 1, 0);
        leat__convert(y, LEAT_DTYPE_F64, at_b, b->dtype, m, false, 1, 0);
        for (size_t i = 0; i < m; i++) {
            const bool nans = x[i] != x[i] && y[i] != y[i];
            double away =
                wide ? far_apart(at_a + i * size_a, at_b + i * size_b, a->dtype) : magnitude(x[i] - y[i]);
            if (nans || x[i] == y[i]) away = wide ? away : 0; /* infinity is as far from itself as nothing */
            if (away == 0) continue;
            if (away != away) away = __builtin_inf();
            field->n_differ++;
            *sum += away;
            if (away <= field->max) continue;
            field->max = away;
            note_largest(field, a, batch, place, done + i, x[i], y[i]);
        }
    }
}

static int compare_arrays(comparing *c, const leat__side_array *a, const leat__side_array *b,
                          leat_error *err) {
    int number;
    LEAT_TRY(check_shapes(c, a, b, err));
    LEAT_TRY(entry_of(c, a, b, &number, err));
    leat_compare_field *field = &c->report->field[number];
    const size_t rows = a->ndim ? (size_t)a->shape[0] : 1;
    size_t n = 1;
    for (int i = 1; i < a->ndim; i++) n *= (size_t)a->shape[i];
    for (size_t place = 0; place < rows; place++)
        compare_row(field, &c->sum[number], a, b, c->report->n_batches, place, n);
    field->n_values += (uint64_t)rows * n;
    return 0;
}

static bool wanted(const comparing *c, const char *name) {
    return !c->config->field || strcmp(c->config->field, name) == 0;
}

static int fail_alone(const comparing *c, const char *name, int side, leat_error *err) {
    return leat__fail(err, LEAT_ERR_NOT_FOUND,
                      "batch %" PRIu64 ": field %s is in %s only: name a field that both have (--field)",
                      c->report->n_batches, name, letters[side]);
}

static int compare_batch(comparing *c, leat_error *err) {
    int n = 0;
    for (int k = 1; k >= 0; k--) /* first what only B has, then A's fields in their order */
        for (int i = 0; i < leat__side_count(c->side[k]); i++) {
            const leat__side_array *array = leat__side_at(c->side[k], i);
            if (!wanted(c, array->name)) continue;
            const leat__side_array *other = find(c->side[1 - k], array->name);
            if (!other) return fail_alone(c, array->name, k, err);
            if (k == 1) continue;
            if (n++ == 0) c->report->n_samples += array->ndim ? (uint64_t)array->shape[0] : 1;
            LEAT_TRY(compare_arrays(c, array, other, err));
        }
    if (n == 0) return leat__fail(err, LEAT_ERR_NOT_FOUND, "there is no field '%s'", c->config->field);
    c->report->n_batches++;
    return 0;
}

static int compare_all(comparing *c, leat_error *err) {
    leat_compare_report *report = c->report;
    while (!c->config->n_batches || report->n_batches < c->config->n_batches) {
        int got[2];
        if (c->pipeline && c->pipeline->progress &&
            c->pipeline->progress(c->pipeline->user, "comparing", report->n_batches, c->config->n_batches))
            return leat__fail(err, LEAT_ERR_CANCELLED, "stopped after %" PRIu64 " batches",
                              report->n_batches);
        for (int k = 0; k < 2; k++) {
            report->side = k + 1;
            got[k] = leat__side_next(c->side[k], err);
            if (got[k] < 0) return got[k];
        }
        report->side = 0;
        if (got[0] == LEAT_END && got[1] == LEAT_END) break;
        if (got[0] != got[1])
            return leat__fail(err, LEAT_ERR_SHAPE,
                              "%s ends after %" PRIu64
                              " batches, %s goes on: compare fewer of them (--batches)",
                              letters[got[1] == LEAT_END], report->n_batches, letters[got[0] == LEAT_END]);
        LEAT_TRY(compare_batch(c, err));
    }
    return 0;
}

int leat_compare(const char *a, const char *b, const leat_compare_config *config, const leat_config *pipeline,
                 leat_compare_report *report, leat_error *err) {
    static const leat_compare_config all = {0};
    leat__error_clear(err);
    if (!a || !b || !report) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_compare: an argument is NULL");
    *report = (leat_compare_report){0};
    if (config) LEAT_TRY(LEAT_CHECK_RESERVED(leat_compare_config, config, err));
    if (pipeline) LEAT_TRY(LEAT_CHECK_RESERVED(leat_config, pipeline, err));
    comparing c = {.config = config ? config : &all, .pipeline = pipeline, .report = report};
    const char *const texts[] = {a, b};
    int rc = 0;
    for (int k = 0; k < 2 && rc == 0; k++) {
        report->side = k + 1;
        rc = leat__side_open(&c.side[k], texts[k], pipeline, err);
    }
    if (rc == 0) {
        report->side = 0;
        rc = compare_all(&c, err);
    }
    for (int i = 0; i < report->n_fields; i++) {
        leat_compare_field *field = &report->field[i];
        field->mean = field->n_values ? c.sum[i] / (double)field->n_values : 0;
        report->max = LEAT_MAX(report->max, field->max);
    }
    leat__side_close(&c.side[0]);
    leat__side_close(&c.side[1]);
    return rc;
}
