/* SPDX-License-Identifier: Apache-2.0 */
/* A table is as good an input as photos: writes 10,000 rows of 16 floats and a label as TFRecords, trains a logistic
 * regression on the first 8,000 of them and tests it on the rest.
 *
 *     float_table rows.tfrecord */
#include <math.h>
#include <stdio.h>

#include <leat/leat_tools.h>

enum { ROWS = 10000, COLUMNS = 16 };

/* A number in [-1, 1) that depends on its place only. */
static float noise(uint64_t place) {
    uint64_t x = (place + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (float)((double)(x >> 11) * 0x1p-52 - 1);
}

static int write_rows(const char *path, leat_error *err) {
    leat_writer *writer = NULL;
    int rc = leat_writer_open(&writer, path, NULL, err);
    for (uint64_t i = 0; i < ROWS && rc == 0; i++) {
        float row[COLUMNS], sum = 0.3f * noise(i + 1000000000); /* some rows will not fit */
        for (uint64_t k = 0; k < COLUMNS; k++)
            sum += noise(k + 2000000000) * (row[k] = noise(i * COLUMNS + k));
        const int64_t label = sum > 0;
        const leat_feature features[] = {
            {.name = "features", .dtype = LEAT_DTYPE_F32, .n = COLUMNS, .values = row},
            {.name = "label", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &label}};
        rc = leat_writer_add(writer, features, 2, err);
    }
    if (rc == 0) return leat_writer_close(&writer, err);
    leat_writer_abort(&writer);
    return rc;
}

/* One pass per epoch over `part` of the rows; learns if rate > 0. Returns how many were right, or an error. */
static int pass(const char *path, const char *part, int n_epochs, float rate, float w[COLUMNS + 1],
                leat_error *err) {
    char source[4200];
    snprintf(source, sizeof source, "tfrecord '%s'", path);
    leat_spec *spec = leat_spec_new(source);
    leat_spec_add(spec, part);
    leat_spec_add(spec, "parse features:float[16] label:int64 | batch 50");
    const leat_config config = {.n_epochs = n_epochs};
    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    int right = 0, rc = leat_pipeline_open(&pipeline, spec, &config, err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, err)) == 0) {
        const float *x = batch.tensor[0].data;       /* (n, 16) f32 */
        const int64_t *label = batch.tensor[1].data; /* (n) i64     */
        for (int i = 0; i < batch.n; i++, x += COLUMNS) {
            float z = w[COLUMNS];
            for (int k = 0; k < COLUMNS; k++) z += w[k] * x[k];
            const float step = rate * ((float)label[i] - 1 / (1 + expf(-z)));
            right += (z > 0) == (label[i] > 0);
            for (int k = 0; k < COLUMNS; k++) w[k] += step * x[k];
            w[COLUMNS] += step;
        }
        leat_batch_release(&batch);
    }
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0 ? rc : right;
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: float_table FILE\n"), 2;
    leat_error err;
    float w[COLUMNS + 1] = {0}; /* the last one is the bias */
    int rc = write_rows(argv[1], &err);
    if (rc == 0) rc = pass(argv[1], "take 8000 | shuffle seed=1", 5, 0.05f, w, &err);
    if (rc >= 0) rc = pass(argv[1], "skip 8000", 1, 0, w, &err);
    if (rc < 0) return fprintf(stderr, "float_table: %s\n", err.message), 1;
    printf("accuracy on 2000 rows it has not seen: %.3f\n", rc / 2000.0);
    return 0;
}
