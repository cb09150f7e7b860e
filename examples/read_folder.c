/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of images to a training loop: one sub-folder a class, any sizes, any of JPEG, PNG, WebP, GIF and BMP.
 * Prints the mean of every batch and, at the end, how many pictures each class had.
 *
 *     read_folder photos/train */
#include <inttypes.h>
#include <stdio.h>

#include <leat/leat.h>

enum { CLASSES_MAX = 1000 };

/* Where the training step would be: batch->tensor[0] is (n, 64, 64, 3) f32, batch->tensor[1] is (n) i64. */
static void look_at(const leat_batch *batch, uint64_t histogram[CLASSES_MAX]) {
    const float *pixels = batch->tensor[0].data;
    const int64_t *label = batch->tensor[1].data;
    const size_t n_values = (size_t)batch->n * 64 * 64 * 3;
    double sum = 0;
    for (size_t i = 0; i < n_values; i++) sum += pixels[i];
    for (int i = 0; i < batch->n; i++)
        if (label[i] >= 0 && label[i] < CLASSES_MAX) histogram[label[i]]++;
    printf("batch %" PRIu64 ": %d pictures, mean %.4f\n", batch->step, batch->n, sum / (double)n_values);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: read_folder FOLDER\n");
        return 2;
    }
    char source[4200];
    snprintf(source, sizeof source, "folder '%s' labels=dir", argv[1]);

    leat_spec *spec = leat_spec_new(source);
    leat_spec_add(spec, "shuffle seed=7");
    leat_spec_add(spec, "decode | resize 64 64 | cast f32 scale=1/255 | random_flip_left_right");
    leat_spec_add(spec, "batch 32");

    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    leat_error err;
    static uint64_t histogram[CLASSES_MAX];
    int rc = leat_pipeline_open(&pipeline, spec, NULL, &err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        look_at(&batch, histogram);
        leat_batch_release(&batch);
    }
    if (rc < 0) {
        fprintf(stderr, "read_folder: %s\n", err.message);
    } else { /* LEAT_END */
        const char *name;
        for (int i = 0; i < CLASSES_MAX && (name = leat_pipeline_class(pipeline, i)) != NULL; i++)
            printf("class %s: %" PRIu64 "\n", name, histogram[i]);
    }
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
