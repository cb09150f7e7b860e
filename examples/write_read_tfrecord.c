/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a TFRecord file of raw pictures with labels, as tf.train.Examples that TensorFlow reads too, and reads it
 * back as batches of u8.
 *
 *     write_read_tfrecord pictures.tfrecord */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <leat/leat_tools.h>

enum { N = 100, SIDE = 24, BYTES = SIDE * SIDE * 3 };

static void paint(uint8_t pixels[BYTES], int number) {
    for (int i = 0; i < BYTES; i++) pixels[i] = (uint8_t)(i * 7 + number * 13);
}

static int write_pictures(const char *path, leat_error *err) {
    leat_writer *writer = NULL;
    int rc = leat_writer_open(&writer, path, NULL, err);
    for (int i = 0; i < N && rc == 0; i++) {
        uint8_t pixels[BYTES];
        const int64_t label = i % 10;
        paint(pixels, i);
        const leat_feature features[] = {
            {.name = "image", .dtype = LEAT_DTYPE_BYTES, .n = BYTES, .values = pixels},
            {.name = "label", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &label}};
        rc = leat_writer_add(writer, features, 2, err);
    }
    if (rc == 0) return leat_writer_close(&writer, err); /* only now is there a file of that name */
    leat_writer_abort(&writer);
    return rc;
}

/* Number of pictures that came back as they were, or an error. */
static int read_pictures(const char *path, leat_error *err) {
    char source[4200];
    snprintf(source, sizeof source, "tfrecord '%s'", path);
    leat_spec *spec = leat_spec_new(source);
    leat_spec_add(spec, "parse image:bytes label:int64 | decode_raw u8 | reshape 24 24 3 | batch 32");
    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    int same = 0, rc = leat_pipeline_open(&pipeline, spec, NULL, err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, err)) == 0) {
        const uint8_t *pixels = batch.tensor[0].data; /* (n, 24, 24, 3) u8 */
        const int64_t *label = batch.tensor[1].data;  /* (n) i64            */
        for (int i = 0; i < batch.n; i++) {
            uint8_t expected[BYTES];
            paint(expected, (int)batch.sample[i]);
            same += memcmp(pixels + (size_t)i * BYTES, expected, BYTES) == 0 &&
                    label[i] == (int)batch.sample[i] % 10;
        }
        leat_batch_release(&batch);
    }
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0 ? rc : same;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: write_read_tfrecord FILE\n");
        return 2;
    }
    leat_error err;
    int rc = write_pictures(argv[1], &err);
    if (rc == 0) rc = read_pictures(argv[1], &err);
    if (rc < 0) {
        fprintf(stderr, "write_read_tfrecord: %s\n", err.message);
        return 1;
    }
    printf("wrote %d pictures, %d came back the same\n", N, rc);
    return rc != N;
}
