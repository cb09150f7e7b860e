/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an expression of `eval`: what can be planned runs, on pictures of one size and of several, and gives the same
 * bytes twice.
 * tries: plan/eval/ */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "leat/leat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static uint64_t run(const char *text, int *rc) {
    const leat_config config = {.synchronous = 1, .memory_max_bytes = 8 << 20, .no_side_files = 1};
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_error err;
    uint64_t digest = 0;
    *rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    if (*rc < 0) require(err.message[0] && !strchr(err.message, '\n'));
    for (int i = 0; i < 2 && *rc == 0; i++) {
        leat_batch b;
        *rc = leat_pipeline_next(pipeline, &b, &err);
        if (*rc < 0) require(err.message[0] && !strchr(err.message, '\n'));
        if (*rc != 0) break;
        for (int k = 0; k < b.n_tensors; k++) {
            size_t bytes = leat_dtype_size(b.tensor[k].dtype);
            for (int axis = 0; axis < b.tensor[k].ndim; axis++) bytes *= (size_t)b.tensor[k].shape[axis];
            digest = leat__hash(b.tensor[k].data, bytes, digest);
        }
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
    leat_spec_free(&spec);
    return digest;
}

/* A number of many digits makes a large result: only what is quickly done is done. */
static bool is_small(const char *text) {
    int digits = 0, calls = 0;
    for (const char *c = text; *c; c++) {
        digits = *c >= '0' && *c <= '9' ? digits + 1 : 0;
        calls += *c == '(';
        if (digits > 2 || calls > 12 || *c == '\'' || *c == '|') return false;
    }
    return strlen(text) < 400;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const heads[] = {
        "synth 4 5 6 | eval row='[1, 2, 3] * label' x='image / 255' | eval out='",
        "synth 4 5 6 | resize_shorter 4 | cast u8 | eval row='[1, 2]' x='image / 255' | eval out='"};
    char text[800], own[512];
    if (size < 1 || size >= sizeof own) return 0;
    memcpy(own, data + 1, size - 1);
    own[size - 1] = 0;
    if (!is_small(own)) return 0;
    snprintf(text, sizeof text, "%s%s' | batch 1", heads[data[0] & 1], own);
    int once, twice;
    const uint64_t first = run(text, &once), second = run(text, &twice);
    require(once == twice && first == second);
    return 0;
}
