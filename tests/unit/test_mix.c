/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Mixing: the arithmetic against torchvision and Keras, the draws against the distribution, groups against naive code on
 * whatever batches, threads, holes and restarts; and single samples against their batches. */
#include "unit/testing.h"

#include "base/cpu.h"
#include "golden/mix_golden.h"
#include "image/pass/mix.h"

static leat__image_dsp dsp;

/* -------------------------------------------------------------------------------------- arithmetic */

static void test_mixup_golden(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(mixup_golden); i++) {
        float picture[GOLDEN_VALUES], labels[GOLDEN_LABELS];
        memcpy(picture, mixup_golden[i].own, sizeof picture);
        memcpy(labels, mixup_golden[i].own_labels, sizeof labels);
        const double lambda = mixup_golden[i].lambda;
        leat__mix_blend(&dsp, picture, mixup_golden[i].other, LEAT_DTYPE_F32, GOLDEN_VALUES, lambda);
        leat__mix_blend(&dsp, labels, mixup_golden[i].other_labels, LEAT_DTYPE_F32, GOLDEN_LABELS, lambda);
        assert_memory_equal(picture, mixup_golden[i].mixed, sizeof picture);
        assert_memory_equal(labels, mixup_golden[i].mixed_labels, sizeof labels);
    }
}

static void test_cutmix_golden(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(cutmix_golden); i++) {
        const int height = cutmix_golden[i].height, width = cutmix_golden[i].width;
        const leat__mix_box box = leat__mix_box_around(cutmix_golden[i].x, cutmix_golden[i].y,
                                                       cutmix_golden[i].lambda, height, width);
        const int *want = cutmix_golden[i].box;
        if (want[2] > 0) { /* an empty one may lie anywhere */
            assert_int_equal(box.left, want[0]);
            assert_int_equal(box.top, want[1]);
            assert_int_equal(box.right, want[2]);
            assert_int_equal(box.bottom, want[3]);
        } else {
            assert_true(box.left >= box.right || box.top >= box.bottom);
        }
        float labels[GOLDEN_LABELS];
        memcpy(labels, cutmix_golden[i].own_labels, sizeof labels);
        leat__mix_blend(&dsp, labels, cutmix_golden[i].other_labels, LEAT_DTYPE_F32, GOLDEN_LABELS,
                        leat__mix_box_lambda(&box, height, width));
        assert_memory_equal(labels, cutmix_golden[i].mixed_labels, sizeof labels);
    }
}

static void test_smoothing_golden(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(smoothing_golden); i++) {
        const int classes = smoothing_golden[i].classes;
        leat_pipeline *pipeline =
            open_spec(spec_of("synth 4 2 2 classes=2 | one_hot label %d smoothing=%.17g | batch 4", classes,
                              smoothing_golden[i].smoothing),
                      NULL);
        leat_batch b;
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        const float *labels = b.tensor[1].data;
        assert_int_equal(b.tensor[1].shape[1], classes);
        for (int k = 0; k < 4 * classes; k++) {
            const float want =
                k % classes == k / classes % 2 ? smoothing_golden[i].on : smoothing_golden[i].off;
            assert_memory_equal(&labels[k], &want, sizeof want);
        }
        leat_batch_release(&b);
        leat_pipeline_close(&pipeline);
    }
}

/* Every type, both layouts, against pixels taken one by one. */
static void test_paste(void **state) {
    (void)state;
    enum { HEIGHT = 7, WIDTH = 9, CHANNELS = 3, VALUES = HEIGHT * WIDTH * CHANNELS };
    static const int types[] = {LEAT_DTYPE_U8, LEAT_DTYPE_F16, LEAT_DTYPE_BF16, LEAT_DTYPE_F32};
    const leat__mix_box boxes[] = {{2, 1, 6, 7}, {0, 0, 9, 7}, {3, 3, 3, 5}, {3, 5, 6, 5}, {8, 6, 9, 7}};
    for (size_t t = 0; t < LEAT_COUNT(types); t++)
        for (size_t i = 0; i < LEAT_COUNT(boxes); i++)
            for (int nchw = 0; nchw < 2; nchw++) {
                uint8_t own[VALUES * 4], other[VALUES * 4];
                const size_t item = leat_dtype_size(types[t]);
                for (size_t k = 0; k < sizeof own; k++) own[k] = (uint8_t)k, other[k] = (uint8_t)(k + 128);
                const leat__mix_shape shape = {types[t], HEIGHT, WIDTH, CHANNELS, nchw};
                leat__mix_paste(own, other, &shape, &boxes[i]);
                for (size_t k = 0; k < VALUES; k++) {
                    const int x = (int)(nchw ? k % WIDTH : k / CHANNELS % WIDTH);
                    const int y = (int)(nchw ? k / WIDTH % HEIGHT : k / CHANNELS / WIDTH);
                    const bool in =
                        x >= boxes[i].left && x < boxes[i].right && y >= boxes[i].top && y < boxes[i].bottom;
                    for (size_t b = k * item; b < (k + 1) * item; b++)
                        assert_int_equal(own[b], (uint8_t)(in ? b + 128 : b));
                }
            }
}

static void test_other_types(void **state) {
    (void)state;
    uint8_t own[] = {0, 255, 10, 255, 7}, other[] = {255, 0, 11, 255, 7};
    leat__mix_blend(&dsp, own, other, LEAT_DTYPE_U8, sizeof own, 0.3);
    const uint8_t want[] = {179, 77, 11, 255, 7}; /* 178.5, 76.5 and 10.7 to the nearest */
    assert_memory_equal(own, want, sizeof want);
    uint16_t half[] = {0x3c00, 0x4000, 0x7bff}, half_other[] = {0x4000, 0x3c00, 0x7bff}; /* 1, 2 and 65504 */
    leat__mix_blend(&dsp, half, half_other, LEAT_DTYPE_F16, 3, 0.25);
    assert_int_equal(half[0], 0x3f00); /* 1.75 */
    assert_int_equal(half[1], 0x3d00); /* 1.25 */
    assert_int_equal(half[2], 0x7bff);
    uint16_t brain[] = {0x3f80, 0x4000}, brain_other[] = {0x4000, 0x3f80};
    leat__mix_blend(&dsp, brain, brain_other, LEAT_DTYPE_BF16, 2, 0.25);
    assert_int_equal(brain[0], 0x3fe0);
    assert_int_equal(brain[1], 0x3fa0);
}

/* ------------------------------------------------------------------------------------------- draws */

/* Mean, variance and the share below a quarter of Beta(alpha, alpha). */
static void test_beta(void **state) {
    (void)state;
    static const struct {
        double alpha, below; /* of scipy.stats.beta(alpha, alpha).cdf(0.25) */
    } cases[] = {{1.0, 0.25}, {0.2, 0.4140555}, {0.4, 0.3563329}, {2.0, 0.15625}, {8.0, 0.0173}, {50.0, 0.0}};
    enum { DRAWS = 40000 };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const double alpha = cases[i].alpha, variance = 1 / (4 * (2 * alpha + 1));
        double sum = 0, squares = 0;
        int below = 0;
        for (uint64_t k = 0; k < DRAWS; k++) {
            leat__rng rng = leat__rng_at(3, 1, k, 7);
            const double lambda = leat__mix_draw_lambda(&rng, alpha);
            assert_true(lambda >= 0 && lambda <= 1 && lambda == (float)lambda);
            sum += lambda;
            squares += (lambda - 0.5) * (lambda - 0.5);
            below += lambda < 0.25;
        }
        assert_true(IN(0.49, sum / DRAWS, 0.51));
        assert_true(IN(0.97 * variance, squares / DRAWS, 1.03 * variance));
        assert_true(IN(cases[i].below - 0.01, (double)below / DRAWS, cases[i].below + 0.01));
    }
    for (uint64_t k = 0; k < 200; k++) { /* next to a coin, and next to certain */
        leat__rng tiny = leat__rng_at(3, 1, k, 7), huge = leat__rng_at(3, 1, k, 7);
        const double coin = leat__mix_draw_lambda(&tiny, 1e-9);
        assert_true(coin == 0 || coin == 1);
        assert_true(IN(0.49, leat__mix_draw_lambda(&huge, 1e6), 0.51));
    }
}

static void test_boxes(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 2000; k++) {
        leat__rng rng = leat__rng_at(3, 1, k, 7);
        const int height = 1 + (int)(k % 13), width = 1 + (int)(k % 29);
        const double lambda = (double)(k % 101) / 100;
        const leat__mix_box box = leat__mix_draw_box(&rng, lambda, height, width);
        assert_true(box.left >= 0 && box.right <= width && box.left <= box.right);
        assert_true(box.top >= 0 && box.bottom <= height && box.top <= box.bottom);
        const double left = leat__mix_box_lambda(&box, height, width);
        assert_true(left >= lambda - 1e-9 && left <= 1);
    }
}

/* ------------------------------------------------------------------------------------------- groups */

enum { SIDE = 6, VALUES = SIDE * SIDE * 3, CLASSES = 10 };

typedef struct sample_row {
    uint64_t position, sample;
    float image[VALUES], labels[CLASSES];
    char params[600];
} sample_row;

/* All samples of all batches of one epoch. */
static int collect(leat_spec *spec, const leat_config *config, sample_row *rows, int cap) {
    leat_pipeline *pipeline = open_spec(spec, config);
    leat_batch b;
    leat_error err;
    int n = 0, rc;
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        for (int i = 0; i < b.n; i++, n++) {
            assert_true(n < cap);
            rows[n].position = b.position[i];
            rows[n].sample = b.sample[i];
            memcpy(rows[n].image, (float *)b.tensor[0].data + i * VALUES, sizeof rows[n].image);
            memcpy(rows[n].labels, (float *)b.tensor[1].data + i * CLASSES, sizeof rows[n].labels);
            snprintf(rows[n].params, sizeof rows[n].params, "%s", leat_batch_params(&b, i));
        }
        leat_batch_release(&b);
    }
    if (rc < 0) fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
    return n;
}

/* What mixup, or cutmix, makes of samples that were not mixed: all members of a group at once, from copies. */
static void mix_naively(sample_row *rows, int n, int group, bool cutmix, double alpha, double p, uint32_t op,
                        uint64_t seed) {
    for (int begin = 0; begin < n;) {
        int end = begin + 1;
        while (end < n && rows[end].position / (uint64_t)group == rows[begin].position / (uint64_t)group)
            end++;
        sample_row *old = malloc((size_t)(end - begin) * sizeof *old);
        memcpy(old, rows + begin, (size_t)(end - begin) * sizeof *old);
        for (int i = begin; i < end && end - begin > 1; i++) {
            const sample_row *other = &old[(i + 1 == end ? begin : i + 1) - begin];
            leat__rng rng = leat__rng_at(seed, 0, rows[i].position, op);
            if (leat__rng_unit(&rng) >= p) continue;
            double lambda = leat__mix_draw_lambda(&rng, alpha);
            if (cutmix) {
                const leat__mix_box box = leat__mix_draw_box(&rng, lambda, SIDE, SIDE);
                lambda = leat__mix_box_lambda(&box, SIDE, SIDE);
                for (int k = 0; k < VALUES; k++) {
                    const int x = k / 3 % SIDE, y = k / 3 / SIDE;
                    if (x >= box.left && x < box.right && y >= box.top && y < box.bottom)
                        rows[i].image[k] = other->image[k];
                }
            } else {
                for (int k = 0; k < VALUES; k++)
                    rows[i].image[k] =
                        rows[i].image[k] * (float)lambda + other->image[k] * (float)(1 - lambda);
            }
            for (int k = 0; k < CLASSES; k++)
                rows[i].labels[k] =
                    rows[i].labels[k] * (float)lambda + other->labels[k] * (float)(1 - lambda);
        }
        free(old);
        begin = end;
    }
}

static void same_rows(const sample_row *a, const sample_row *b, int n, const char *what) {
    for (int i = 0; i < n; i++) {
        if (a[i].position != b[i].position || a[i].sample != b[i].sample)
            fail_msg("%s: row %d is another sample", what, i);
        if (memcmp(a[i].image, b[i].image, sizeof a[i].image) ||
            memcmp(a[i].labels, b[i].labels, sizeof a[i].labels))
            fail_msg("%s: sample %d at position %d differs", what, (int)a[i].sample, (int)a[i].position);
    }
}

#define SYNTH "synth %d 6 6 | shuffle | random_flip_left_right | one_hot label 10 | cast f32 scale=1/255"

static void test_groups(void **state) {
    (void)state;
    static sample_row want[64], got[64];
    for (int n = 30; n < 50; n++) {
        const leat_config config = {.seed = 5, .n_threads = n % 4 + 1, .params = n % 2};
        assert_int_equal(collect(spec_of(SYNTH " | batch 8", n), &config, want, 64), n);
        mix_naively(want, n, 4, false, 0.4, 0.8, 6, 5);
        mix_naively(want, n, 4, true, 1.0, 0.5, 7, 5);
        /* Neither the size of a batch nor what stands between changes anything. */
        static const char *const tails[] = {
            "batch 8 | mixup 0.4 group=4 p=0.8 | cutmix group=4 p=0.5",
            "batch 4 | mixup 0.4 group=4 p=0.8 | prefetch 3 | cutmix group=4 p=0.5",
            "batch 20 | options seed=5 | mixup alpha=0.4 group=4 p=0.8 | cutmix 1 group=4 p=0.5",
        };
        for (size_t i = 0; i < LEAT_COUNT(tails); i++) {
            assert_int_equal(collect(spec_of(SYNTH " | %s", n, tails[i]), &config, got, 64), n);
            same_rows(want, got, n, tails[i]);
        }
    }
}

/* Without group= any batch is mixed: by its largest divisor up to 16, or as a whole if it has none but 1. */
static void test_any_batch(void **state) {
    (void)state;
    static sample_row want[64], got[64];
    static const struct {
        int batch, group;
    } cases[] = {{2, 2},   {3, 3},   {7, 7},   {12, 12}, {16, 16}, {17, 17}, {18, 9},
                 {19, 19}, {20, 10}, {24, 12}, {34, 2},  {37, 37}, {48, 16}, {53, 53}};
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const int n = 40 + (int)i;
        const leat_config config = {.seed = 5, .n_threads = (int)i % 3 + 1};
        assert_int_equal(collect(spec_of(SYNTH " | batch 8", n), &config, want, 64), n);
        mix_naively(want, n, cases[i].group, false, 0.4, 1.0, 6, 5);
        mix_naively(want, n, cases[i].group, true, 1.0, 0.5, 7, 5);
        char tail[80];
        snprintf(tail, sizeof tail, "batch %d | mixup 0.4 | cutmix p=0.5", cases[i].batch);
        assert_int_equal(collect(spec_of(SYNTH " | %s", n, tail), &config, got, 64), n);
        same_rows(want, got, n, tail);
    }
}

/* Damaged files are left out of their groups; what replaces one takes its place there. */
static void test_holes(void **state) {
    (void)state;
    enum { N = 22 };
    static sample_row want[N], got[N];
    make_dir(in_dir("holes"));
    for (int i = 0; i < N; i++) {
        write_png(in_dir("holes/%02d.png", i), SIDE, SIDE, (unsigned)i);
        if (i == 0 || i == 5 || i == 7 || (i >= 12 && i < 15) || i == N - 1)
            write_file(in_dir("holes/%02d.png", i), "\x89PNG\r\n\x1a\n damaged", 16);
    }
    for (int policy = LEAT_ON_ERROR_SKIP; policy <= LEAT_ON_ERROR_REPLACE; policy++) {
        const leat_config config = {.on_error = policy, .n_threads = 3, .params = 1};
        char head[600];
        snprintf(head, sizeof head,
                 "folder %s labels=none | decode | random_flip_left_right | cast f32 | batch 8",
                 in_dir("holes"));
        for (int what = 0; what < 2; what++) {
            char text[700];
            snprintf(text, sizeof text, "%s%s", head, what ? " | mixup 1 group=4 labels=none" : "");
            leat_pipeline *pipeline = open_spec(spec_of("%s", text), &config);
            leat_batch b;
            int n = 0;
            sample_row *to = what ? got : want;
            memset(to, 0, sizeof got);
            while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
                for (int i = 0; i < b.n; i++, n++) {
                    to[n].position = b.position[i];
                    to[n].sample = b.sample[i];
                    memcpy(to[n].image, (float *)b.tensor[0].data + i * VALUES, sizeof to[n].image);
                }
                leat_batch_release(&b);
            }
            leat_pipeline_close(&pipeline);
            assert_int_equal(n, policy == LEAT_ON_ERROR_SKIP ? N - 7 : N);
        }
        const int n = policy == LEAT_ON_ERROR_SKIP ? N - 7 : N;
        mix_naively(want, n, 4, false, 1, 1, 5, 0);
        same_rows(want, got, n, policy == LEAT_ON_ERROR_SKIP ? "skip" : "replace");
    }
}

static void test_restart(void **state) {
    (void)state;
    const leat_config config = {.n_threads = 2, .n_epochs = 2};
    static const char text[] = SYNTH " | batch 8 | mixup group=4 | cutmix group=4";
    tape whole = record_spec(spec_of(text, 45), &config);
    assert_int_equal(whole.n_batches, 12);
    for (int stop = 0; stop < 12; stop++) {
        char saved[1024];
        leat_pipeline *pipeline = open_spec(spec_of(text, 45), &config);
        tape begin = record(pipeline, stop);
        assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
        leat_pipeline_close(&pipeline);
        pipeline = open_spec(spec_of(text, 45), &config);
        assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
        tape rest = record(pipeline, -1);
        same_tail(&whole, stop, &rest, "after a restart");
        leat_pipeline_close(&pipeline);
        tape_free(&begin);
        tape_free(&rest);
    }
    tape_free(&whole);
}

static void test_streams(void **state) {
    (void)state;
    leat__buf shard = {0};
    for (int i = 0; i < 29; i++) add_sample(&shard, i % 10, 48);
    leat__buf copy = {.kind = LEAT_MEM_TOOL};
    assert_true(leat__buf_append(&copy, shard.data, shard.size));
    write_buf(in_dir("plain.tfrecord"), &shard);
    write_deflated(in_dir("packed.tfrecord"), &copy, GZIP_BITS);
    tape got[2];
    for (int i = 0; i < 2; i++)
        got[i] =
            record_spec(spec_of("tfrecord %s | shuffle 7 | parse image:bytes label:int64 | decode_raw u8 | "
                                "reshape 4 4 3 | one_hot 10 | batch 8 | mixup group=8",
                                in_dir(i ? "packed.tfrecord" : "plain.tfrecord")),
                        &(leat_config){.n_threads = 3, .n_epochs = 2});
    assert_int_equal(got[0].n_batches, 8);
    same_tape(&got[0], &got[1], "compressed");
    tape_free(&got[0]);
    tape_free(&got[1]);
}

/* ------------------------------------------------------------------------------------- single samples */

static void check_singles(const char *text, const leat_config *config, int most) {
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), config),
                  *alone = open_spec(spec_of("%s", text), config);
    leat_batch b, one;
    leat_error err;
    for (int k = 0; k < most && leat_pipeline_next(pipeline, &b, &err) == 0; k++) {
        for (int i = 0; i < b.n; i++) {
            if (leat_pipeline_sample(alone, b.epoch, b.position[i], &one, &err) != 0)
                fail_msg("%s", err.message);
            assert_int_equal(one.n, 1);
            assert_int_equal(one.sample[0], b.sample[i]);
            assert_int_equal(one.position[0], b.position[i]);
            assert_int_equal(one.epoch, b.epoch);
            assert_int_equal(one.step, b.step);
            assert_string_equal(leat_batch_params(&one, 0), leat_batch_params(&b, i));
            for (int t = 0; t < b.n_tensors; t++) {
                const leat_tensor *x = &b.tensor[t], *y = &one.tensor[t];
                size_t bytes = leat_dtype_size(x->dtype);
                const char *from = (const char *)x->data + (x->offsets ? x->offsets[i] : i) * x->stride[0];
                for (int d = 1; d < x->ndim; d++) bytes *= (size_t)x->shape[d];
                if (x->offsets) bytes *= (size_t)(x->offsets[i + 1] - x->offsets[i]);
                if (memcmp(from, y->data, bytes) != 0)
                    fail_msg("%s: epoch %d, position %d: %s differs", text, (int)b.epoch, (int)b.position[i],
                             x->name);
            }
            leat_batch_release(&one);
        }
        leat_batch_release(&b);
    }
    leat_pipeline_close(&alone);
    leat_pipeline_close(&pipeline);
}

static void test_singles(void **state) {
    (void)state;
    static const char *const texts[] = {
        "synth 23 6 6 | shuffle | random_flip_left_right | random_brightness 0.2 | batch 5",
        "synth 23 9 9 | random_crop 6 | one_hot 10 | cast f32 layout=nchw | batch 8 | mixup group=4",
        "synth 21 6 6 | random_flip_up_down | one_hot label 10 | batch 8 | cutmix group=8 | mixup group=8",
    };
    for (size_t i = 0; i < LEAT_COUNT(texts); i++)
        for (int synchronous = 0; synchronous < 2; synchronous++)
            check_singles(texts[i], &(leat_config){.params = 1, .synchronous = synchronous, .n_epochs = 2},
                          100);
    write_samples(in_dir("ragged.tfrecord"), 3, 9, 50);
    char text[500];
    snprintf(text, sizeof text, "tfrecord %s | parse image:bytes label:int64 | batch 4",
             in_dir("ragged.tfrecord"));
    check_singles(text, &(leat_config){0}, 100);
}

static void test_singles_refused(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 10 4 4 | batch 4"), NULL);
    leat_batch b, held[40];
    leat_error err;
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 10, &b, &err), LEAT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "position 10"));
    assert_int_equal(leat_pipeline_sample(pipeline, 0, UINT64_MAX, &b, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_pipeline_sample(NULL, 0, 0, &b, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 0, NULL, &err), LEAT_ERR_ARGUMENT);
    /* Many at once, while the run goes on, and longer than the pipeline. */
    for (int i = 0; i < 40; i++) {
        assert_int_equal(leat_pipeline_sample(pipeline, (uint64_t)i, 3, &held[i], &err), 0);
        if (i % 20 == 7) {
            assert_int_equal(leat_pipeline_next(pipeline, &b, &err), 0);
            leat_batch_release(&b);
        }
    }
    leat_pipeline_close(&pipeline);
    for (int i = 0; i < 40; i++) assert_int_equal(held[i].sample[0], 3);
    for (int i = 0; i < 40; i++) leat_batch_release(&held[i]);
    /* A bad one is an error, whatever the policy for batches; so is what has no place. */
    write_file(in_dir("bad.png"), "\x89PNG\r\n\x1a\n damaged", 16);
    make_dir(in_dir("one_bad"));
    write_png(in_dir("one_bad/0.png"), 4, 4, 1);
    write_file(in_dir("one_bad/1.png"), "\x89PNG\r\n\x1a\n damaged", 16);
    for (int policy = 0; policy < 2; policy++) {
        pipeline = open_spec(spec_of("folder %s labels=none | decode | batch 2", in_dir("one_bad")),
                             &(leat_config){.on_error = policy, .synchronous = 1});
        assert_int_equal(leat_pipeline_sample(pipeline, 0, 1, &b, &err), LEAT_ERR_DECODE);
        assert_non_null(strstr(err.message, "1.png"));
        assert_int_equal(leat_pipeline_sample(pipeline, 0, 0, &b, &err), 0);
        leat_batch_release(&b);
        leat_pipeline_close(&pipeline);
    }
    leat__buf shard = {0};
    add_sample(&shard, 1, 5);
    write_deflated(in_dir("one.gz"), &shard, GZIP_BITS);
    pipeline = open_spec(spec_of("tfrecord %s | parse label:int64", in_dir("one.gz")), NULL);
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 0, &b, &err), LEAT_ERR_UNSUPPORTED);
    leat_pipeline_close(&pipeline);
}

/* --------------------------------------------------------------------------------------------- params */

static void test_params(void **state) {
    (void)state;
    static sample_row rows[2][32];
    /* In the order of the text, although flips are drawn before points. */
    static const char text[] =
        "synth 20 6 6 | random_brightness 0.2 | random_flip_left_right | random_flip_up_down | "
        "one_hot label 10 | cast f32 | batch 8 | mixup 1 group=4";
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            collect(spec_of(text), &(leat_config){.params = 1, .n_threads = 1 + 2 * i}, rows[i], 32), 20);
    for (int i = 0; i < 20; i++) {
        double delta, lambda;
        int x, y, end = 0;
        assert_string_equal(rows[0][i].params, rows[1][i].params);
        if (sscanf(
                rows[0][i].params,
                "random_brightness delta=%lf; random_flip_left_right flip=%d; random_flip_up_down flip=%d; "
                "mixup lambda=%lf%n",
                &delta, &x, &y, &lambda, &end) != 4)
            fail_msg("%s", rows[0][i].params);
        assert_true(IN(-0.2, delta, 0.2) && IN(0, lambda, 1));
        const int partner = i % 4 == 3 ? i - 3 : i + 1;
        assert_int_equal(atoi(rows[0][i].params + end + strlen(" partner=")), partner);
    }
    leat_pipeline *pipeline = open_spec(spec_of("synth 4 4 4 | random_flip_left_right | batch 4"), NULL);
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    assert_string_equal(leat_batch_params(&b, 0), ""); /* nobody asked */
    assert_string_equal(leat_batch_params(&b, 4), "");
    assert_string_equal(leat_batch_params(&b, -1), "");
    assert_string_equal(leat_batch_params(NULL, 0), "");
    leat_batch_release(&b);
    assert_string_equal(leat_batch_params(&b, 0), "");
    char name[60];
    assert_int_equal(leat_pipeline_name(pipeline, 3, name, sizeof name), strlen("synthetic picture 3"));
    assert_string_equal(name, "synthetic picture 3");
    assert_int_equal(leat_pipeline_name(pipeline, 4, name, sizeof name), 0);
    leat_pipeline_close(&pipeline);
}

/* As many operations as a text can have: the end is marked. */
static void test_params_cut(void **state) {
    (void)state;
    char text[8000] = "synth 4 4 4";
    for (int i = 0; i < 40; i++) strcat(text, " | random_flip_left_right | random_flip_up_down");
    strcat(text, " | batch 2");
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &(leat_config){.params = 1});
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    for (int i = 0; i < 2; i++) {
        const char *params = leat_batch_params(&b, i);
        const size_t n = strlen(params);
        assert_true(n > 1000 && n < 2048);
        assert_string_equal(params + n - 3, "...");
        assert_int_equal(strncmp(params, "random_flip_left_right flip=", 28), 0);
    }
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

/* ------------------------------------------------------------------------------------------- refusals */

static void test_refusals(void **state) {
    (void)state;
    static const refusal wrong[] = {
        {"synth | mixup", LEAT_ERR_SYNTAX, "after batch"},
        {"synth | batch 32 | mixup", LEAT_ERR_TYPE, "write one_hot label N before batch"},
        {"synth | one_hot label 10 | batch 24 | mixup group=16", LEAT_ERR_ARGUMENT,
         "(it is 12 then), or write batch 32"},
        {"synth | one_hot label 10 | batch 1 | mixup", LEAT_ERR_ARGUMENT, "nothing to mix"},
        {"synth | one_hot label 10 | batch 32 | mixup 0", LEAT_ERR_ARGUMENT, "above 0"},
        {"synth | one_hot label 10 | batch 32 | mixup group=1", LEAT_ERR_ARGUMENT, "group"},
        {"synth | one_hot label 10 | batch 32 | mixup p=1.1", LEAT_ERR_ARGUMENT, "p must lie"},
        {"synth | one_hot label 10 | batch 32 | mixup | cutmix group=8", LEAT_ERR_ARGUMENT,
         "leave group out here"},
        {"synth | one_hot label 10 | batch 32 | mixup labels=image", LEAT_ERR_TYPE, "image"},
        {"synth | cast f32 | batch 32 | mixup labels=image", LEAT_ERR_ARGUMENT, "picture and its label"},
        {"synth | one_hot label 10 | batch 32 | mixup field=label", LEAT_ERR_ARGUMENT, "label"},
        {"synth | one_hot label 10 | batch 32 | mixup field=label labels=none", LEAT_ERR_SHAPE, "axes"},
        {"synth | select image | batch 32 | mixup", LEAT_ERR_NOT_FOUND, "labels=none"},
        {"synth | cast image f64 | one_hot label 10 | batch 32 | mixup", LEAT_ERR_TYPE, "f64"},
        {"synth | cast label f16 | batch 32 | mixup", LEAT_ERR_TYPE, "cast label f32"},
        {"synth | one_hot label 10 | batch 32 | mixup | mixup | mixup | mixup | mixup", LEAT_ERR_LIMIT, "4"},
        {"synth | one_hot", LEAT_ERR_ARGUMENT, "one_hot label N"},
        {"synth | one_hot image 4", LEAT_ERR_SHAPE, "more than one number"},
        {"synth | cast label f32 | one_hot 4", LEAT_ERR_TYPE, "whole number"},
        {"synth | one_hot 4 smoothing=2", LEAT_ERR_ARGUMENT, "smoothing"},
        {"synth | one_hot lebel 4", LEAT_ERR_NOT_FOUND, "did you mean 'label'"},
    };
    refuse_all(wrong, LEAT_COUNT(wrong));
    tape t = record_spec(spec_of("synth 10 4 4 classes=10 | one_hot 5 | batch 10"), NULL);
    assert_int_equal(t.rc, LEAT_ERR_LIMIT);
    assert_non_null(strstr(t.message, "label 5"));
    tape_free(&t);
}

static int set_up(void **state) {
    leat__image_dsp_init(&dsp, leat__cpu_flags());
    return begin_files(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixup_golden),
        cmocka_unit_test(test_cutmix_golden),
        cmocka_unit_test(test_smoothing_golden),
        cmocka_unit_test(test_paste),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_beta),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_any_batch),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_singles),
        cmocka_unit_test(test_singles_refused),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_params_cut),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, end_files);
}
