/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=180 */
/* For every source and every verb: a run of 64 steps is saved at each step, gone on with from each of the states, and the
 * whole tail compared. The states of the last text of a source are tried on the next one too, which must refuse them. */
#include "unit/testing.h"

#include "plan/op.h"
#include "unit/testing_npy.h"
#include "unit/testing_scenes.h"
#include "unit/testing_tar.h"

enum { STEPS = 64, N = 100 };

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    FILE *table = fopen(in_dir("list.csv"), "w");
    assert_non_null(table);
    fprintf(table, "path,label\n");
    leat__buf all = {0}, shard = {0};
    for (int i = 0; i < N; i++) {
        make_dir(in_dir("photos/%d", i % 3));
        write_png(in_dir("photos/%d/%d.png", i % 3, i), 4 + i % 2, 5, (unsigned)i);
        fprintf(table, "photos/%d/%d.png,%d\n", i % 3, i, i % 4);
        add_sample(&all, i % 5, 12);
        add_sample(&shard, i % 5, 12);
        if (i % 40 == 39 || i == N - 1) {
            write_file(in_dir("a-%d.tfrecord", i / 40), shard.data, shard.size);
            leat__buf packed = deflated(shard.data, shard.size, i % 80 == 39 ? GZIP_BITS : ZLIB_BITS);
            write_buf(in_dir("a-%d.gz", i / 40), &packed);
            shard.size = 0;
        }
    }
    fclose(table);
    leat__buf_free(&shard);
    write_buf(in_dir("all.tfrecord"), &all);
    static uint8_t raw[N][3073];
    leat__rng rng = leat__rng_at(5, 0, 0, 0);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3073; k++) raw[i][k] = (uint8_t)leat__rng_below(&rng, k ? 256 : 10);
    write_file(in_dir("raw.bin"), raw, sizeof raw);
    write_scenes(in_dir("scenes.tfrecord"), N, 6, 12);
    leat__buf tar = {0};
    for (int i = 0; i < N; i++) {
        char name[20];
        snprintf(name, sizeof name, "%03d.raw", i);
        add_typed(&tar, name, '0', raw[i], 48);
    }
    add_end(&tar);
    write_buf(in_dir("a.tar"), &tar);
    leat__buf npy = make_npy(raw, 4, (int64_t[]){N, 4, 4, 3});
    write_buf(in_dir("x.npy"), &npy);
    return chdir(test_dir);
}

#define PARSE "parse image:bytes label:int64 | decode_raw u8 | reshape 2 2 3"
#define RECORDS "tfrecord a-*.tfrecord | " PARSE
#define STREAM "tfrecord a-*.gz | " PARSE

/* Every operation of the kinds source, order and batch stands here; test_nothing_is_left_out looks. */
static const char *const texts[] = {
    "synth 100 4 4 | shuffle seed=2 | random_brightness 0.3 | batch 3",
    "synth 100 4 4 | shuffle window=9 | batch 2 | prefetch 3",
    "synth 100 4 4 | shuffle reshuffle=false | skip 3 | shard 1/2 | take 40 | repeat | batch 3",
    "folder photos | shuffle | decode | random_crop 3 | batch 3",
    "list list.csv | shuffle | decode | random_crop 3 | batch 2",
    "cifar raw.bin | shuffle | random_crop 8 | batch 2",
    "fixed raw.bin bytes=3073 | shuffle | decode_raw record u8 | batch 3",
    "npy image=x.npy | shuffle | random_flip_left_right | batch 2",
    "csv list.csv label:i64 path | shuffle | batch 2",
    "webdataset a.tar image=raw | shuffle | decode_raw u8 | reshape 4 4 3 | random_flip_left_right | batch 2",
    "arrays | shuffle | batch 3",
    "source | shuffle | filter callback=even | map twice:i64 callback=twice | batch 1",
    "source | shuffle | map * callback=sizes | padded_batch 3 max=some:5",
    "stream | shuffle 8 | decode_raw record i32 | batch 3",
    "stream | interleave 2 | batch 2",
    RECORDS " | shuffle | random_brightness 0.1 | batch 2",
    STREAM " | shuffle 7 | random_brightness 0.1 | batch 3",
    STREAM " | filter label!=2 | skip 2 | shard 0/2 | take 30 | repeat 3 | batch 2",
    STREAM " | rejection_resample initial=1,1,1,1,1 target=3,4,5,6,7 | shuffle 7 | batch 2",
    STREAM " | filter callback=even | map twice:i64 callback=twice | batch 1",
    RECORDS " | filter 'label in 1,2,4' | shuffle | batch 2",
    RECORDS " | split train fractions=0.7,0.3 | shuffle | batch 2",
    RECORDS " | balance | batch 3",
    RECORDS " | oversample | shuffle | batch 3",
    RECORDS " | rejection_resample | batch 2",
    "tfrecord a-*.tfrecord | interleave cycle=2 block=3 | shuffle 9 | " PARSE " | batch 2",
    "tfrecord a-*.tfrecord | flat_map | " PARSE " | batch 3",
    "tfrecord a-*.gz | interleave cycle=2 block=3 | shuffle 9 | " PARSE " | random_brightness 0.1 | batch 2",
    "concatenate 'folder photos | shuffle' 'list list.csv | take 40 | shuffle' | decode | random_crop 3 | "
    "batch 4",
    "sample_from 'synth 60 4 4 | shuffle' 'synth 9 4 4 seed=4 | shuffle | repeat' weights=2,1 | batch 3",
    "choose_from 'synth 60 4 4' 'synth 30 4 4 seed=4 | shuffle' pattern=0,1,0 | shuffle | batch 2",
    "concatenate 'tfrecord a-*.gz | take 40' 'tfrecord a-*.tfrecord | shuffle' | shuffle 9 | " PARSE
    " | random_brightness 0.1 | batch 3",
    "sample_from '" STREAM "' '" RECORDS " | shuffle' weights=2,1 | shuffle 7 | batch 3",
    "choose_from '" STREAM " | filter label!=2 | shuffle 8 | repeat' '" STREAM
    " | repeat' pattern=0,1,1 | take 70 | "
    "batch 2",
    "zip a='" STREAM
    " | shuffle 8' b='npy image=x.npy | shuffle' stop=shortest | random_flip_left_right field=a | "
    "batch 2",
    "zip a='synth 100 4 4 | shuffle' b='npy image=x.npy | shuffle' | random_flip_left_right field=a | batch "
    "3",
    RECORDS " | enumerate | label_map 0=3,3=0 default=7 | shuffle | batch 2",
    RECORDS " | shuffle | cache | random_brightness 0.2 | batch 2",
    "folder photos | shuffle | decode | random_crop 3 | cache kept freeze=true | batch 2",
    "folder photos | shuffle | decode | padded_batch 3 max=image:5x5x3",
    "folder photos | shuffle | bucket_by_aspect_ratio 1.1 sizes=5x4,3x6 | decode | resize_to_bucket | "
    "random_flip_left_right | batch 3",
    "folder photos | bucket_by_aspect_ratio 1.1 | decode | padded_batch 2 max=image:5x5x3 "
    "drop_remainder=true",
    "tfrecord scenes.tfrecord | " SCENE_PARSE
    " | shuffle | random_crop 5 | random_rotation 0.1 | random_flip | batch "
    "3",
    "tfrecord scenes.tfrecord | " SCENE_PARSE " | resize 9 9 | cache | shuffle | random_crop 5 | batch 2",
    STREAM
    " | skip 3 | shard 1/2 | filter label!=3 | shuffle 20 | repeat 3 | random_brightness 0.1 | batch 2",
    "synth 100 4 4 | batch 6 | unbatch | batch 2",
    "synth 100 4 4 | shuffle | batch 10 | rebatch 3",
    "synth 100 4 4 | shuffle | batch 2 | skip 1 | take 40 | repeat 2",
    "synth 100 4 4 | shuffle | cast f32 | one_hot label 10 | batch 4 | mixup group=4",
    "synth 70 4 4 | shuffle | on_device | random_flip_left_right | random_brightness 0.2 | batch 3",
    "synth 100 4 4 | shuffle | cast f32 | one_hot label 10 | batch 4 | cutmix group=4",
    "synth 100 4 4 | shuffle | random_apply 0.5 'random_flip | invert' | random_choice invert 'posterize 3' "
    "| "
    "batch 3",
    "synth 100 4 4 | shuffle | eval image='image / 255 + normal(0, 1, like=image)' label='label * 2' | batch "
    "3",
    "synth 100 4 4 | window 4 shift=1 stride=3 targets=label at=1 | shuffle | batch 1",
    "synth 100 4 4 | shard auto | shuffle | batch 3 pad_remainder=true",
    "options seed=3 | synth 100 4 4 | shuffle | random_flip_up_down | batch 2",
};

static int32_t numbers[N][4];

static int read_row(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)user, (void)err;
    out[0].data = numbers[i];
    return 0;
}

/* Three shards of the rows, one after the other. */
typedef struct row_reader {
    uint64_t next, end;
} row_reader;

static int begin_rows(void *user, uint64_t shard, void **reader, leat_error *err) {
    (void)user, (void)err;
    row_reader *r = calloc(1, sizeof *r);
    *r = (row_reader){shard * N / 3, (shard + 1) * N / 3};
    *reader = r;
    return 0;
}

static int next_row(void *reader, const void **data, size_t *bytes, leat_error *err) {
    (void)err;
    row_reader *r = reader;
    if (r->next == r->end) return LEAT_END;
    *data = numbers[r->next++];
    *bytes = sizeof numbers[0];
    return 0;
}

static int is_even(void *user, const leat_sample_info *info, const leat_tensor *fields, int n,
                   leat_error *err) {
    (void)user, (void)fields, (void)n, (void)err;
    return info->sample % 2 == 0;
}

static int make_twice(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                      const leat_tensor *out, int n_out, leat_error *err) {
    (void)user, (void)in, (void)n_in, (void)n_out, (void)err;
    *(int64_t *)out->data = (int64_t)info->sample * 2;
    return 0;
}

/* As many numbers as the sample says. */
static int make_sizes(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                      const leat_tensor *out, int n_out, leat_error *err) {
    (void)user, (void)in, (void)n_in, (void)out, (void)n_out;
    const leat_field field = {
        .name = "some", .dtype = LEAT_DTYPE_I64, .ndim = 1, .shape = {(int64_t)info->sample % 6}};
    int64_t *made = leat_map_make(info, &field, err);
    for (int64_t i = 0; made && i < field.shape[0]; i++)
        made[i] = (int64_t)(info->position * 10 + info->epoch);
    return made ? 0 : err->code;
}

static leat_pipeline *open_text(const char *text, int turn) {
    leat_spec *spec = leat_spec_new(NULL);
    const char *rest = text;
    if (strncmp(text, "arrays | ", 9) == 0) {
        const leat_tensor row = {
            .name = "x", .data = numbers, .dtype = LEAT_DTYPE_I32, .ndim = 2, .shape = {N, 4}};
        leat_spec_arrays(spec, &row, 1);
        rest += 9;
    } else if (strncmp(text, "source | ", 9) == 0) {
        const leat_field row = {.name = "x", .dtype = LEAT_DTYPE_I32, .ndim = 1, .shape = {4}};
        const leat_source_callbacks rows = {.n = N, .n_fields = 1, .field = &row, .read_at = read_row};
        leat_spec_source(spec, &rows);
        rest += 9;
    } else if (strncmp(text, "stream | ", 9) == 0) {
        const leat_stream_callbacks rows = {.n_shards = 3,
                                            .begin = begin_rows,
                                            .next = next_row,
                                            .end = free,
                                            .max_bytes = sizeof numbers[0]};
        leat_spec_stream(spec, &rows);
        rest += 9;
    }
    leat_spec_add(spec, rest);
    leat_spec_filter(spec, "even", is_even, NULL, 1);
    leat_spec_map(spec, "twice", make_twice, NULL, 1);
    leat_spec_map(spec, "sizes", make_sizes, NULL, 1);
    return open_spec(spec, &(leat_config){.n_threads = 1 + turn % 4,
                                          .n_slots = turn % 3 ? 0 : 2 + turn % 5,
                                          .n_epochs = 4,
                                          .synchronous = turn % 5 == 4});
}

/* A tail of b, from step `from` of a on, up to the last step of a. */
static void same_rest(const tape *a, int from, const tape *b, const char *text) {
    if (b->n_batches != a->n_batches - from)
        fail_msg("%s: restored at step %d there are %d batches, not %d: %s", text, from, b->n_batches,
                 a->n_batches - from, b->message);
    for (int i = 0; i < b->n_batches; i++)
        if (a->digest[from + i] != b->digest[i])
            fail_msg("%s: restored at step %d, step %d differs", text, from, from + i);
}

static void every_step(const char *text) {
    char(*saved)[1024] = calloc(STEPS, sizeof *saved);
    leat_pipeline *pipeline = open_text(text, 0);
    tape whole = {0};
    for (int step = 0; step < STEPS; step++) {
        leat_batch b;
        leat_error err;
        if (leat_pipeline_state(pipeline, saved[step], sizeof saved[step], &err) < 0)
            fail_msg("%s: %s", text, err.message);
        const int rc = leat_pipeline_next(pipeline, &b, &err);
        if (rc != 0) fail_msg("%s: no %d steps: %s", text, STEPS, rc < 0 ? err.message : "too few samples");
        tape_add(&whole, &b);
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
    /* Forwards and backwards in one pipeline, and now and then in a new one. */
    for (int k = 0; k < STEPS; k++) {
        const int step = k % 2 ? STEPS - k : k;
        leat_error err;
        if (k % 8 == 0) {
            leat_pipeline_close(&pipeline);
            pipeline = open_text(text, 1 + k / 8);
        }
        if (leat_pipeline_restore(pipeline, saved[step], &err) != 0) fail_msg("%s: %s", text, err.message);
        tape rest = record(pipeline, STEPS - step);
        same_rest(&whole, step, &rest, text);
        tape_free(&rest);
    }
    leat_pipeline_close(&pipeline);
    tape_free(&whole);
    free(saved);
}

static void test_every_step(void **state) {
    (void)state;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) numbers[i][k] = i * 10 + k;
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) every_step(texts[i]);
}

/* A state says whose it is: the text behind the first one in the list never takes it. */
static void test_others_refuse(void **state) {
    (void)state;
    char saved[1024];
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        leat_pipeline *pipeline = open_text(texts[i], 0);
        leat_error err;
        if (i > 0) {
            if (leat_pipeline_restore(pipeline, saved, &err) != LEAT_ERR_STATE)
                fail_msg("%s takes the state of %s", texts[i], texts[i - 1]);
            assert_null(strchr(err.message, '\n'));
        }
        assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
        leat_pipeline_close(&pipeline);
    }
}

static bool stands_in(const char *text, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

static void test_nothing_is_left_out(void **state) {
    (void)state;
    const leat__op *op;
    for (size_t i = 0; (op = leat__op_at(i)); i++) {
        if (op->kind != LEAT_OP_SOURCE && op->kind != LEAT_OP_ORDER && op->kind != LEAT_OP_BATCH) continue;
        bool found = false;
        for (size_t k = 0; k < LEAT_COUNT(texts); k++) found |= stands_in(texts[k], op->name);
        if (!found) fail_msg("no text has %s: write one", op->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_left_out),
        cmocka_unit_test(test_every_step),
        cmocka_unit_test(test_others_refuse),
    };
    return cmocka_run_group_tests_name("steps", tests, begin, end_files);
}
