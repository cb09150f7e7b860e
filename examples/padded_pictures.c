/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of different sizes in one batch, as detection wants them: each batch is as large as its largest picture, and the
 * rest is filled up.
 *
 *     padded_pictures photos */
#include <inttypes.h>
#include <stdio.h>

#include <leat/leat.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: padded_pictures FOLDER\n");
        return 2;
    }
    char text[4200];
    snprintf(text, sizeof text, "folder '%s' labels=none | decode | padded_batch 4 max=1000x1000 padding=114",
             argv[1]);
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    leat_error err;
    int rc = leat_pipeline_open(&pipeline, spec, NULL, &err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        const leat_tensor *t = &batch.tensor[0]; /* (n, height, width, 3) u8, contiguous */
        printf("batch %" PRIu64 ": %" PRId64 " pictures of %" PRId64 "x%" PRId64 "\n", batch.step,
               t->shape[0], t->shape[1], t->shape[2]);
        leat_batch_release(&batch);
    }
    if (rc < 0) fprintf(stderr, "padded_pictures: %s\n", err.message);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
