/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a folder of images becomes training batches here, and where the time goes.
 *
 *     parallel_decode photos/train [THREADS]       0 or nothing: all cores this process may use */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <leat/leat.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Takes every batch and drops it: a consumer that costs nothing. */
static int drain(leat_pipeline *pipeline, leat_error *err) {
    leat_batch batch;
    int rc;
    while ((rc = leat_pipeline_next(pipeline, &batch, err)) == 0) leat_batch_release(&batch);
    return rc;
}

static void report(const leat_pipeline *pipeline, double seconds) {
    leat_stats s;
    leat_pipeline_stats(pipeline, &s);
    printf("%" PRIu64 " images in %.2f s: %.0f images/s with %d threads, first batch after %.3f s\n",
           s.samples, seconds, (double)s.samples / seconds, s.n_threads, s.first_batch_s);
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++)
        printf("  %-10s %8.3f s\n", leat_stage_name(i), s.stage_s[i]);
    printf("  the loop waited %.3f s, the workers idled %.3f s, %" PRIu64 " bad images\n", s.wait_s, s.full_s,
           s.bad_samples);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: parallel_decode FOLDER [THREADS]\n");
        return 2;
    }
    char text[4500];
    snprintf(text, sizeof text,
             "folder '%s' | shuffle | decode | resize 224 224 | random_flip_left_right"
             " | normalize imagenet layout=nchw | batch 64 | prefetch auto",
             argv[1]);
    /* A damaged file costs its own sample, not the run. */
    const leat_config config = {.n_threads = argc > 2 ? atoi(argv[2]) : 0, .on_error = LEAT_ON_ERROR_SKIP};
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_error err;
    int rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    if (rc == 0) {
        const double began = now();
        rc = drain(pipeline, &err);
        if (rc == LEAT_END) report(pipeline, now() - began);
    }
    if (rc < 0) fprintf(stderr, "parallel_decode: %s\n", err.message);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
