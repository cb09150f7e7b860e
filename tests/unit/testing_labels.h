/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of streams: the labels of all samples of a run, in their order, and runs that are taken up again at every
 * batch. */
#ifndef LEAT_TESTING_LABELS_H
#define LEAT_TESTING_LABELS_H

#include "unit/testing.h"

typedef struct labels {
    int n, rc;
    int64_t label[8192];
    char message[1000];
} labels;

/* Of the first field of up to `most` batches; -1 = all. */
static labels *read_labels(leat_pipeline *pipeline, int most) {
    labels *l = calloc(1, sizeof *l);
    leat_error err;
    leat_batch batch;
    for (int i = 0; i != most && (l->rc = leat_pipeline_next(pipeline, &batch, &err)) == 0; i++) {
        const leat_tensor *tensor = &batch.tensor[0];
        for (int k = 0; k < batch.n && l->n < (int)LEAT_COUNT(l->label); k++)
            l->label[l->n++] = ((const int64_t *)tensor->data)[k];
        leat_batch_release(&batch);
    }
    if (l->rc < 0) snprintf(l->message, sizeof l->message, "%s", err.message);
    return l;
}

static labels *run_text_labels(const char *text, const leat_config *config) {
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), config);
    labels *l = read_labels(pipeline, -1);
    leat_pipeline_close(&pipeline);
    return l;
}

static void same_labels(const labels *want, const labels *got, const char *what) {
    if (want->n != got->n || want->rc != got->rc)
        fail_msg("%s: %d samples then %s (%s), expected %d then %s", what, got->n, leat_error_name(got->rc),
                 got->message, want->n, leat_error_name(want->rc));
    for (int i = 0; i < want->n; i++)
        if (want->label[i] != got->label[i])
            fail_msg("%s: sample %d is %d, expected %d", what, i, (int)got->label[i], (int)want->label[i]);
}

/* The same samples with any number of threads, and with little memory. */
static void check_any_threads(const labels *want, const char *text) {
    for (int threads = 0; threads <= 16; threads = threads ? threads * (STRIDE > 1 ? 4 : 2) : 1)
        for (int small = 0; small < 2; small++) {
            if (STRIDE > 1 && small != (threads == 4)) continue;
            const leat_config config = {.n_epochs = 2,
                                        .n_threads = threads,
                                        .synchronous = !threads,
                                        .n_slots = 3,
                                        .memory_max_bytes = small ? 6 << 20 : 0};
            labels *got = run_text_labels(text, &config);
            same_labels(want, got, text);
            free(got);
        }
}

/* Compressed files give what unpacked ones give; how many samples in two epochs. */
static int check_like_plain(const char *plain, const char *packed) {
    labels *want = run_text_labels(plain, &(leat_config){.n_epochs = 2});
    const int n = want->n;
    assert_int_equal(want->rc, LEAT_END);
    check_any_threads(want, packed);
    free(want);
    return n;
}

/* Saved behind every batch; the state is the same text for any number of threads, and any of them goes on from it. */
static void check_restore_everywhere(const char *text) {
    const leat_config one = {.n_epochs = 2, .synchronous = 1, .n_slots = 2},
                      many = {.n_epochs = 2, .n_threads = 4, .n_slots = 4};
    leat_spec *spec = spec_of("%s", text);
    leat_pipeline *a = NULL, *b = NULL, *c = NULL;
    assert_int_equal(leat_pipeline_open(&a, spec, &one, NULL), 0);
    assert_int_equal(leat_pipeline_open(&b, spec, &many, NULL), 0);
    labels *all = run_text_labels(text, &one);
    int done = 0;
    for (int step = 0;; step++) {
        char of_a[1024], of_b[1024];
        assert_true(leat_pipeline_state(a, of_a, sizeof of_a, NULL) == 0);
        assert_true(leat_pipeline_state(b, of_b, sizeof of_b, NULL) == 0);
        assert_string_equal(of_a, of_b);
        if (step % (STRIDE * STRIDE * (step < 40 ? 1 : 11)) == 0) {
            leat_pipeline_close(&c); /* a new one does not know what the last one has seen */
            assert_int_equal(leat_pipeline_open(&c, spec, &many, NULL), 0);
            assert_int_equal(leat_pipeline_restore(c, of_a, NULL), 0);
            labels *rest = read_labels(c, -1), *want = calloc(1, sizeof *want);
            want->rc = all->rc;
            want->n = all->n - done;
            memcpy(want->label, all->label + done, (size_t)want->n * sizeof *want->label);
            same_labels(want, rest, of_a);
            free(want);
            free(rest);
        }
        labels *next = read_labels(a, 1), *other = read_labels(b, 1);
        same_labels(next, other, text);
        const int rc = next->rc;
        done += next->n;
        free(next);
        free(other);
        if (rc != 0) break;
    }
    assert_int_equal(done, all->n);
    free(all);
    leat_pipeline_close(&a);
    leat_pipeline_close(&b);
    leat_pipeline_close(&c);
    leat_spec_free(&spec);
}

/* Goes on behind so many batches in a new pipeline; how many bytes that has to read for the next three. */
static uint64_t read_again(const char *text, int batches) {
    const leat_config config = {.synchronous = 1, .n_slots = 2};
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &config);
    char saved[1024];
    free(read_labels(pipeline, batches));
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
    labels *want = read_labels(pipeline, 3);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("%s", text), &config);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
    labels *got = read_labels(pipeline, 3);
    same_labels(want, got, saved);
    leat_stats stats;
    leat_pipeline_stats(pipeline, &stats);
    leat_pipeline_close(&pipeline);
    free(want);
    free(got);
    return stats.bytes_read;
}

/* What a state says of a stream may be anything: it is refused, or something else comes, never worse. letters: what is
 * written into it. */
static void check_forged(leat_pipeline *pipeline, const char *saved, const char *letters) {
    char forged[1300];
    leat__rng rng = leat__rng_at(77, 0, 0, 0);
    int taken = 0, refused = 0;
    for (int i = 0; i < 600 / LEAT_MIN(STRIDE, 3); i++) { /* some of them must be taken */
        snprintf(forged, sizeof forged, "%s", saved);
        char *mark = strstr(forged, " stream=") + 8;
        const size_t n = strcspn(mark, " ");
        for (uint64_t k = 1 + leat__rng_below(&rng, 3); k-- > 0;)
            mark[leat__rng_below(&rng, n)] = letters[leat__rng_below(&rng, strlen(letters))];
        leat_error err;
        if (leat_pipeline_restore(pipeline, forged, &err) != 0) {
            assert_int_equal(err.code, LEAT_ERR_STATE);
            refused++;
            continue;
        }
        taken++;
        labels *l = read_labels(pipeline, 5);
        if (l->rc < 0)
            assert_true(l->rc == LEAT_ERR_STATE || l->rc == LEAT_ERR_IO || l->rc == LEAT_ERR_SHAPE);
        free(l);
    }
    assert_true(taken > 0 && refused > 0);
    /* Nothing of it stays. */
    assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
}

#endif
