/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the program makes itself: a callback draws gray pictures of discs, the label says how large they are.
 * leat shuffles, augments and batches them on all cores; the same number always gives the same picture.
 *
 *     own_source 1000 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <leat/leat.h>

enum { SIDE = 28 };

typedef struct painter { /* what a data base, an archive or a simulation would be */
    int bright;
} painter;

/* Writes into the memory that leat provides. A reader of files would set out[0].data to its own bytes. */
static int paint(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    const painter *self = user;
    if (i == 13) { /* a bad sample is told, not hidden; on_error decides */
        snprintf(err->message, sizeof err->message, "nobody draws number %" PRIu64, i);
        return LEAT_ERR_FORMAT;
    }
    uint8_t *pixels = out[0].room;       /* (SIDE, SIDE, 1) u8 */
    const int radius = 3 + (int)(i % 8); /* eight classes      */
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int dx = x - SIDE / 2, dy = y - SIDE / 2;
            pixels[y * SIDE + x] = (uint8_t)(dx * dx + dy * dy <= radius * radius ? self->bright : 0);
        }
    *(int64_t *)out[1].room = radius - 3;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: own_source N\n");
        return 2;
    }
    painter self = {.bright = 255};
    const leat_field fields[] = {
        {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {SIDE, SIDE, 1}},
        {.name = "label", .dtype = LEAT_DTYPE_I64},
    };
    const leat_source_callbacks source = {
        .n = strtoull(argv[1], NULL, 10),
        .n_fields = 2,
        .field = fields,
        .read_at = paint,
        .thread_safe = 1, /* it changes nothing that others see */
        .user = &self,
    };
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, &source);
    leat_spec_add(spec, "shuffle | random_flip_left_right | cast f32 scale=1/255 | batch 64");

    const leat_config config = {.on_error = LEAT_ON_ERROR_SKIP};
    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    leat_error err;
    uint64_t n = 0, count[8] = {0};
    int rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        const int64_t *label = batch.tensor[1].data; /* batch.tensor[0] is (n, 28, 28, 1) f32 */
        for (int i = 0; i < batch.n; i++, n++) count[label[i]]++;
        leat_batch_release(&batch);
    }
    if (rc < 0) fprintf(stderr, "own_source: %s\n", err.message);
    leat_bad bad;
    for (uint64_t i = 0; leat_pipeline_bad(pipeline, i, &bad) == 0; i++)
        printf("left out: %s\n", bad.message);
    for (int i = 0; i < 8 && rc == LEAT_END; i++)
        printf("radius %d: %" PRIu64 " of %" PRIu64 "\n", i + 3, count[i], n);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
