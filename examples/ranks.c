/* SPDX-License-Identifier: Apache-2.0 */
/* One of several processes that train together: each has its part of every batch, as the launcher says who it is.
 *
 *     mpirun -n 4 ranks photos/train        or torchrun, srun; alone it has all
 *
 * The last batch of an epoch may not be full. Every rank has it all the same, so that none waits for the others for ever;
 * places beyond n_valid repeat samples, and a loss leaves them out. */
#include <inttypes.h>
#include <stdio.h>

#include <leat/leat.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: ranks FOLDER\n");
        return 2;
    }
    char text[4200];
    snprintf(
        text, sizeof text,
        "folder '%s' labels=dir | shuffle seed=7 | decode | resize 32 32 | random_flip_left_right | batch 4",
        argv[1]);
    const leat_config config = {.world_size = -1}; /* rank and number of ranks from the environment */
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    leat_error err;
    char state[1024] = "";
    uint64_t real = 0, repeated = 0;
    int rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        const float *pixels = batch.tensor[0].data; /* (n, 32, 32, 3) */
        double sum = 0;                             /* where the training step would be: over the real ones */
        for (int i = 0; i < batch.n_valid * 32 * 32 * 3; i++) sum += pixels[i];
        printf("step %" PRIu64 ": sum %.0f, samples", batch.step, sum);
        for (int i = 0; i < batch.n_valid; i++) printf(" %" PRIu64, batch.sample[i]);
        printf("\n");
        real += (uint64_t)batch.n_valid;
        repeated += (uint64_t)(batch.n - batch.n_valid);
        leat_batch_release(&batch);
        /* The same text on every rank; as many ranks as you like can go on from it, if batch * ranks stays. */
        if (leat_pipeline_state(pipeline, state, sizeof state, &err) < 0) rc = err.code;
    }
    if (rc < 0) fprintf(stderr, "ranks: %s\n", err.message);
    else printf("%" PRIu64 " samples, %" PRIu64 " places filled up\n", real, repeated);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
