/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of different origins as one: photos of a folder, and pictures in the program's own memory. Each is a spec with
 * operations of its own. Together they are mixed, augmented and batched.
 *
 *     combine_sources photos/train */
#include <inttypes.h>
#include <stdio.h>

#include <leat/leat.h>

enum { N = 100, SIDE = 32 };

static uint8_t noise[N][SIDE][SIDE][3];
static int64_t label[N];

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: combine_sources FOLDER\n");
        return 2;
    }
    uint32_t x = 1;
    for (uint8_t *p = &noise[0][0][0][0]; p < (uint8_t *)noise + sizeof noise; p++)
        *p = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    for (int i = 0; i < N; i++) label[i] = -1;

    /* The folder is a text. Its pictures get the shape that the arrays have. */
    char text[2000];
    snprintf(text, sizeof text, "folder '%s' | shuffle | repeat | decode | resize %d %d | cast u8", argv[1],
             SIDE, SIDE);
    leat_spec *photos = leat_spec_new(text);

    /* The arrays are memory of this program, which no text can carry. */
    const leat_tensor arrays[] = {
        {.name = "image", .data = noise, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {N, SIDE, SIDE, 3}},
        {.name = "label", .data = label, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {N}}};
    leat_spec *made_up = leat_spec_new(NULL);
    leat_spec_arrays(made_up, arrays, 2);
    leat_spec_add(made_up, "shuffle | repeat");

    leat_spec *spec = leat_spec_new("sample_from @photos @noise weights=3,1 | take 4096");
    leat_spec_part(spec, "photos", photos);
    leat_spec_part(spec, "noise", made_up);
    leat_spec_add(spec, "random_flip_left_right | cast f32 scale=1/255 | batch 64");
    leat_spec_free(&photos); /* the spec has copies */
    leat_spec_free(&made_up);

    leat_pipeline *pipeline = NULL;
    leat_batch batch;
    leat_error err;
    int n = 0, n_noise = 0;
    int rc = leat_pipeline_open(&pipeline, spec, NULL, &err);
    while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        const int64_t *labels = batch.tensor[1].data; /* batch.tensor[0] is (64, 32, 32, 3) f32 */
        for (int i = 0; i < batch.n; i++) n_noise += labels[i] < 0;
        n += batch.n;
        leat_batch_release(&batch);
    }
    if (rc < 0) fprintf(stderr, "combine_sources: %s\n", err.message);
    else printf("%d samples, %d of them noise\n", n, n_noise);
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return rc < 0;
}
