/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as pipeline text. What is read has a normal form, which is read as the same; what is planned,
 * on pictures that are made up and small, runs, and fusing changes no byte of it. No text reaches the file
 * system.
 * tries: plan/[a-z]*.[ch] ops/[a-z]*.[ch] ops/image/ */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "plan/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void check_normal_form(const leat_spec *spec) {
    const size_t n = leat_spec_text(spec, NULL, 0);
    char *once = malloc(n + 1), *twice = malloc(n + 1);
    require(once && twice && leat_spec_text(spec, once, n + 1) == n);
    leat_spec *again = leat_spec_new(once);
    /* The normal form spells out defaults and may come to be more than a megabyte. */
    if (leat_spec_error(again, NULL) == 0) {
        require(leat_spec_text(again, twice, n + 1) == n && memcmp(once, twice, n + 1) == 0);
        require(again->n_uses == spec->n_uses);
    } else require(n > 1 << 20);
    leat_spec_free(&again);
    free(once);
    free(twice);
}

static bool is_small(const leat_spec *spec, int depth);

/* Texts inside of a text: each by itself; key=... is what zip writes in front. */
static bool are_small(const leat__use *use, int depth) {
    const leat__arg_value *texts = leat__use_arg(use, "texts");
    bool small = texts->n <= 6 && depth < 3;
    for (int i = 0; i < texts->n && small; i++) {
        const char *text = texts->texts[i], *key = strchr(text, '=');
        const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        leat_spec *inner = leat_spec_new(key == text + word ? key + 1 : text);
        require(inner);
        small = is_small(inner, depth + 1); /* one with mistakes is as good as any other */
        leat_spec_free(&inner);
    }
    return small;
}

/* Only what is quickly done is done. */
static bool is_small(const leat_spec *spec, int depth) {
    if (spec->n_uses > 24) return false;
    for (int u = 0; u < spec->n_uses; u++) {
        const leat__use *use = &spec->use[u];
        const bool combined = use->op->kind == LEAT_OP_SOURCE &&
                              strcmp(use->op->arg[0].name ? use->op->arg[0].name : "", "texts") == 0;
        if (combined && !are_small(use, depth)) return false;
        if (!combined && use->op->kind == LEAT_OP_SOURCE && strcmp(use->op->name, "synth") != 0) return false;
        for (int k = 0; k < LEAT_ARGS_MAX && use->op->arg[k].name; k++) {
            const leat__arg_value *v = &use->arg[k];
            const char *name = use->op->arg[k].name;
            if (v->given && (strcmp(name, "file") == 0 || strcmp(name, "path") == 0)) return false;
            if (use->op->arg[k].kind == LEAT_ARG_INT && v->given && v->i > 60 &&
                strcmp(use->op->arg[k].name, "seed") != 0)
                return false;
            for (int i = 0; use->op->arg[k].kind == LEAT_ARG_INTS && i < v->n; i++)
                if (v->ints[i] > 10000) return false;
        }
    }
    return true;
}

static uint64_t run(const leat_spec *spec, int *rc) {
    const leat_config config = {.synchronous = 1, .memory_max_bytes = 4 << 20, .no_side_files = 1};
    leat_pipeline *pipeline = NULL;
    leat_error err;
    uint64_t digest = 0;
    *rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    if (*rc < 0) require(err.message[0] && !strchr(err.message, '\n'));
    for (int i = 0; i < 2 && *rc == 0; i++) {
        leat_batch b;
        *rc = leat_pipeline_next(pipeline, &b, &err);
        if (*rc < 0) require(err.message[0] && !strchr(err.message, '\n'));
        for (int k = 0; *rc == 0 && k < b.n_tensors; k++)
            digest = leat__hash(b.tensor[k].data, (size_t)(b.tensor[k].stride[0] * b.tensor[k].shape[0]),
                                digest + (uint64_t)b.tensor[k].dtype);
        leat_batch_release(&b);
    }
    char text[1024];
    if (pipeline)
        require(leat_pipeline_plan(pipeline, text, sizeof text) > 0 &&
                leat_pipeline_state(pipeline, text, sizeof text, NULL) == 0);
    leat_pipeline_close(&pipeline);
    return digest;
}

/* Parts that a text may name: memory of the program, and pictures that are worked on and drawn for inside. */
static void add_parts(leat_spec *spec) {
    static uint8_t pixels[5][4][4][3] = {{{{1, 2, 3}, {40, 50, 60}}}, {{{200}}}};
    static int64_t labels[5] = {3, 1, 4, 1, 5};
    const leat_tensor arrays[] = {
        {.name = "image", .data = pixels, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {5, 4, 4, 3}},
        {.name = "label", .data = labels, .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {5}}};
    leat_spec *a = leat_spec_new(NULL),
              *b = leat_spec_new("synth 4 5 6 | random_flip_left_right | resize 4 4 | cast u8");
    require(a && b && leat_spec_arrays(a, arrays, 2) == 0 && leat_spec_error(b, NULL) == 0);
    leat_spec_part(spec, "a", a);
    leat_spec_part(spec, "b", b);
    leat_spec_free(&a);
    leat_spec_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 32);
    require(text);
    memcpy(text, data, size);
    text[size] = 0;
    leat_spec *spec = leat_spec_new(text);
    require(spec);
    leat_error err;
    if (strchr(text, '@')) add_parts(spec);
    if (leat_spec_error(spec, &err) < 0) {
        require(err.message[0] && !strchr(err.message, '\n') && err.column <= (int)size + 1);
    } else {
        check_normal_form(spec);
        if (is_small(spec, 0)) {
            int rc[2];
            const uint64_t fused = run(spec, &rc[0]);
            leat_spec_add(spec, "options fuse=off");
            if (leat_spec_error(spec, NULL) == 0) { /* there may be one operation too many now */
                const uint64_t plain = run(spec, &rc[1]);
                /* By itself every operation needs a step and memory between the steps. */
                require((rc[0] == rc[1] && fused == plain) || rc[1] == LEAT_ERR_LIMIT ||
                        rc[1] == LEAT_ERR_MEMORY);
            }
        }
    }
    leat_spec_free(&spec);
    free(text);
    return 0;
}
