/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=240 */
/* Every allocation of open, some batches, a restore and close fails once: a clean error or, where memory
 * is only a convenience, the same bytes as ever; never a crash, never a leak. The same for every thread
 * that cannot be started. */
#include "unit/testing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "unit/testing_npy.h"
#include "unit/testing_scenes.h"

/* ----------------------------------------------------------------------------- threads that fail */

static atomic_int threads_until_failure = -1;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (threads_until_failure >= 0 && atomic_fetch_sub(&threads_until_failure, 1) <= 0) {
        *thread = (pthread_t)0xdeadbeef; /* what is left there is not defined */
        threads_until_failure = 0;
        return EAGAIN;
    }
    return real(thread, attr, run, argument);
}

/* ------------------------------------------------------------------------------------- one attempt */

typedef struct scene {
    const char *name;
    char text[700];
    bool arrays;
} scene;

static float table[50][3];

static int read_pixels(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    static const uint8_t pixels[48];
    (void)user, (void)err;
    out[0].data = pixels;
    out[0].bytes = sizeof pixels;
    out[0].shape[0] = out[0].shape[1] = 4;
    memcpy(out[1].room, &i, sizeof i);
    return 0;
}

static void add_callbacks(leat_spec *spec) {
    const leat_field fields[] = {{.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {-1, -1, 3}},
                                 {.name = "label", .dtype = LEAT_DTYPE_U64}};
    leat_spec_source(
        spec, &(leat_source_callbacks){.n = 50, .n_fields = 2, .field = fields, .read_at = read_pixels});
}

static int begin_shard(void *user, uint64_t shard, void **reader, leat_error *err) {
    (void)user, (void)shard, (void)err;
    *reader = calloc(1, sizeof(int));
    return 0;
}

static int next_record(void *reader, const void **data, size_t *bytes, leat_error *err) {
    (void)err;
    int *next = reader;
    if (*next == 20) return LEAT_END;
    *data = table[(*next)++];
    *bytes = sizeof table[0];
    return 0;
}

static void add_stream(leat_spec *spec) {
    leat_spec_stream(spec, &(leat_stream_callbacks){
                               .n_shards = 3, .begin = begin_shard, .next = next_record, .end = free});
}

static void add_parts(leat_spec *spec) {
    const leat_tensor array = {
        .name = "image", .data = table, .dtype = LEAT_DTYPE_F32, .ndim = 4, .shape = {3, 4, 4, 3}};
    leat_spec *part[3] = {leat_spec_new(NULL), leat_spec_new(NULL), leat_spec_new(NULL)};
    if (part[0]) leat_spec_arrays(part[0], &array, 1);
    if (part[1]) add_callbacks(part[1]), leat_spec_add(part[1], "select image | resize 4 4");
    if (part[2]) add_stream(part[2]), leat_spec_add(part[2], "decode_raw record f32 | reshape record 3");
    for (int i = 0; i < 3; i++) {
        leat_spec_part(spec, &"a\0b\0s"[2 * i], part[i]);
        leat_spec_free(&part[i]);
    }
}

static int make_pixels(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                       const leat_tensor *out, int n_out, leat_error *err) {
    (void)user, (void)in, (void)n_in, (void)out, (void)n_out;
    const int64_t size = 2 + (int64_t)info->sample % 9;
    const leat_field field = {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {size, size, 3}};
    void *made = leat_map_make(info, &field, err);
    if (made) memset(made, (int)info->sample, (size_t)(size * size * 3));
    return made ? 0 : err->code;
}

static int attempt(const scene *s, const leat_config *config, tape *out, leat_error *err) {
    *out = (tape){0};
    const bool callbacks = strcmp(s->name, "source") == 0;
    const bool stream = strcmp(s->name, "program's stream") == 0;
    leat_spec *spec = leat_spec_new(s->arrays || callbacks || stream ? NULL : s->text);
    if (!spec) return leat__fail_memory(err, 0, "a spec");
    const leat_tensor array = {
        .name = "row", .data = table, .dtype = LEAT_DTYPE_F32, .ndim = 2, .shape = {50, 3}};
    if (s->arrays) leat_spec_arrays(spec, &array, 1), leat_spec_add(spec, s->text);
    if (callbacks) add_callbacks(spec), leat_spec_add(spec, s->text);
    if (stream) add_stream(spec), leat_spec_add(spec, s->text);
    if (strncmp(s->name, "parts", 5) == 0) add_parts(spec);
    leat_spec_map(spec, "f", make_pixels, NULL, 1);
    char text[3000], state[1024];
    leat_spec_text(spec, text, sizeof text);
    leat_pipeline *pipeline = NULL;
    int rc = leat_pipeline_open(&pipeline, spec, config, err);
    leat_spec_free(&spec);
    leat_batch b;
    for (int i = 0; i < 6 && rc == 0; i++) {
        rc = leat_pipeline_next(pipeline, &b, err);
        if (rc == 0) tape_add(out, &b);
        leat_batch_release(&b);
        if (i == 1 && rc == 0 && strstr(s->text, "mixup")) {
            rc = leat_pipeline_sample(pipeline, 3, 7, &b, err);
            if (rc == 0) tape_add(out, &b);
            leat_batch_release(&b);
        }
        if (i != 2 || rc != 0) continue;
        rc = leat_pipeline_state(pipeline, state, sizeof state, err);
        if (rc == 0) rc = leat_pipeline_restore(pipeline, state, err);
    }
    leat_pipeline_close(&pipeline);
    return rc;
}

static int count_files(void) {
    int n = 0;
    for (int fd = 0; fd < 300; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void check_scene(const scene *s, const leat_config *config) {
    tape want, t;
    leat_error err;
    if (attempt(s, config, &want, &err) != 0) fail_msg("%s: %s", s->name, err.message);
    const uint64_t held = memory_held();
    const int files = count_files();
    int failures = 0;
    for (uint64_t n = 1;; n += STRIDE) {
        remove_tree(in_dir("leat")); /* the index is made again every time */
        leat__mem_fail_at(n);
        const int rc = attempt(s, config, &t, &err);
        const uint64_t made = leat__mem_fail_at(0);
        if (rc != 0) {
            failures++;
            if (rc > 0 || strlen(err.message) < 5)
                fail_msg("%s, allocation %d: %d '%s'", s->name, (int)n, rc, rc < 0 ? err.message : "");
        } else {
            same_tail(&want, 0, &t, s->name);
        }
        tape_free(&t);
        if (memory_held() != held)
            fail_msg("%s, allocation %d: %d bytes stay", s->name, (int)n, (int)(memory_held() - held));
        assert_int_equal(count_files(), files);
        if (made < n) break; /* it did not come to the n-th */
    }
    assert_true(failures > 5);
    tape_free(&want);
}

static scene scenes[] = {
    {"arrays", "shuffle | cast row f64 | batch 7", true},
    {"synth",
     "synth 50 20 20 | shuffle | random_flip_left_right | resize 9 9 | resize 5 5 flavour=pil field=image | "
     "normalize | batch 7",
     false},
    {"mixed",
     "synth 50 6 6 | shuffle | random_flip_left_right | one_hot label 10 | batch 8 | mixup group=4 | cutmix "
     "group=4",
     false},
    {"folder", "", false},
    {"tfrecord", "", false},
    {"stream", "", false},
    {"list", "", false},
    {"cifar", "", false},
    {"npz", "", false},
    {"source", "shuffle | random_flip_left_right | batch 7", false},
    {"mapped", "synth 50 6 6 | map * callback=f | resize 4 4 | batch 7", false},
    {"program's stream", "interleave 2 | shuffle 20 | decode_raw record f32 | reshape record 3 | batch 7",
     false},
    {"parts",
     "concatenate @a \"choose_from @b 'synth 50 4 4 | select image | random_flip_left_right | cast f32' "
     "pattern=0,1\" | shuffle | batch 7",
     false},
    {"parts with a stream", "zip a=@s b=@b stop=shortest | batch 7", false},
    {"chosen", "synth 50 6 6 | filter label!=3 | split train stratify=true | oversample | shuffle | batch 7",
     false},
    {"balanced", "synth 50 6 6 | label_map 0=1,1=2 default=0 | balance weights=1,2,3 | enumerate | batch 7",
     false},
    {"filtered records", "", false},
    {"filtered stream", "", false},
    {"combined streams", "", false},
    {"drawn streams", "", false},
    {"pairs of streams", "", false},
    {"kept", "synth 50 6 6 | cache | shuffle | random_flip_left_right | batch 7", false},
    {"kept on disk", "", false},
    {"concatenated", "", false},
    {"what follows", "", false},
    {"buckets", "", false},
    {"drawn", "", false},
    {"pairs",
     "zip image='synth 50 6 6' mask='synth 60 6 6 | skip 3 | shuffle reshuffle=false' stop=shortest | "
     "shuffle | "
     "batch 7",
     false},
    {"pairs of shuffled ones", "zip a='synth 50 6 6 | shuffle' b='synth 50 6 6 | shuffle' | batch 7", false},
    {"padded", "synth 50 6 6 | shuffle | padded_batch 7 image=9x8x3 padding=2 pad_remainder=true", false},
    {"read ahead", "synth 50 6 6 | shuffle block=500 group=2 | batch 7 | options read_ahead=2", false},
    {"chances",
     "synth 50 6 6 | shuffle | random_apply 0.5 'gaussian_blur 3 | random_flip' | random_choice invert "
     "'rot90 "
     "2' | batch 7",
     false},
    {"windows", "synth 50 6 6 | window 4 shift=1 targets=label | shuffle | batch 7", false},
    {"windows of arrays", "window 4 shift=1 stride=2 | shuffle | batch 7", true},
    {"expressions",
     "synth 50 6 6 | eval image='exp(image / 255) * [1, 2, 3] - mean(image / 255, 0, 1)' more='concat(0, "
     "image, image)' | "
     "batch 7",
     false},
};

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0};
    for (int i = 0; i < 50; i++) {
        make_dir(in_dir("photos/%d", i / 20));
        if (i % 2) write_png(in_dir("photos/%d/%d.png", i / 20, i), 20, 10 + i, (unsigned)i);
        else write_jpeg(in_dir("photos/%d/%d.jpg", i / 20, i), 20, 10 + i, (unsigned)i);
        add_sample(&shard, i, 12);
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    make_old(in_dir("a.tfrecord"), 100);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    write_scenes(in_dir("scenes.tfrecord"), 50, 9, 12);
    make_old(in_dir("scenes.tfrecord"), 100);
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++) {
        /* Removed with the indexes, so that it is always filled. */
        if (strcmp(scenes[i].name, "kept on disk") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text, "synth 50 6 6 | cache %s | shuffle | batch 7",
                     in_dir("leat/kept"));
        if (strcmp(scenes[i].name, "concatenated") == 0)
            snprintf(
                scenes[i].text, sizeof scenes[i].text,
                "concatenate 'folder %s | filter label!=1' 'tfrecord %s | interleave | parse image:bytes "
                "label:int64=3 | split train' | filter label!=2 | select label | batch 7",
                in_dir("photos"), in_dir("a.tfrecord"));
        if (strcmp(scenes[i].name, "combined streams") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text,
                     "concatenate 'tfrecord %s | parse label:int64 \"x:int64[2]=3\" | filter label!=1 | "
                     "select label' "
                     "'folder %s | select label' | shuffle 9 | select label | batch 7",
                     in_dir("a.gz"), in_dir("photos"));
        if (strcmp(scenes[i].name, "drawn streams") == 0)
            snprintf(
                scenes[i].text, sizeof scenes[i].text,
                "sample_from 'tfrecord %s | interleave 2 | parse label:int64 | shuffle 5 | repeat' "
                "'tfrecord %s | parse label:int64 | take 40 | filter label!=2' rerandomize=true | batch 7",
                in_dir("a.gz"), in_dir("a.gz"));
        if (strcmp(scenes[i].name, "pairs of streams") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text,
                     "zip a='tfrecord %s | parse label:int64' b='synth 50 6 6 | shuffle' | batch 7",
                     in_dir("a.gz"));
        if (strcmp(scenes[i].name, "what follows") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text,
                     "tfrecord %s | " SCENE_PARSE " | resize 9 9 | cache | random_crop 5 | rot90 | batch 7",
                     in_dir("scenes.tfrecord"));
        if (strcmp(scenes[i].name, "buckets") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text,
                     "folder %s | shuffle | bucket_by_aspect_ratio 1,2 sizes=9x6,8x8,6x9 | decode | "
                     "resize_to_bucket "
                     "| batch 7",
                     in_dir("photos"));
        if (strcmp(scenes[i].name, "drawn") == 0)
            snprintf(scenes[i].text, sizeof scenes[i].text,
                     "sample_from 'folder %s' 'tfrecord %s | parse label:int64 image:bytes | label_map 3=4 "
                     "default=0' "
                     "rerandomize=true | select label | one_hot label 9 | batch 7",
                     in_dir("photos"), in_dir("a.tfrecord"));
    }
    snprintf(scenes[1].text, sizeof scenes[1].text,
             "synth 50 20 20 | shuffle | random_flip_left_right | resize 9 9 flavour=pil | resize 5 5 | "
             "normalize | batch 7");
    snprintf(scenes[3].text, sizeof scenes[3].text, "folder %s | shuffle | decode | resize 8 8 | batch 7",
             in_dir("photos"));
    static const char parse[] = "parse image:bytes label:int64 'x:int64[2]=3' row:float[*9] | decode_raw u8 "
                                "| reshape 2 2 3 | cast f32";
    snprintf(scenes[4].text, sizeof scenes[4].text, "tfrecord %s | shuffle | %s | batch 7",
             in_dir("a.tfrecord"), parse);
    static uint8_t raw[50][3073];
    leat__buf list = {.kind = LEAT_MEM_TOOL}, npy = make_npy(raw, 4, (int64_t[]){50, 4, 4, 3});
    for (int i = 0; i < 50; i++) {
        char row[80];
        const int n = snprintf(row, sizeof row, "photos/%d/%d.%s,\"a\"\"%d\",%d.5\n", i / 20, i,
                               i % 2 ? "png" : "jpg", i % 4, i);
        assert_true(leat__buf_append(&list, row, (size_t)n));
    }
    write_buf(in_dir("list.csv"), &list);
    write_file(in_dir("raw.bin"), raw, sizeof raw);
    leat__buf npz = make_npz("image.npy", &npy);
    write_buf(in_dir("image.npz"), &npz);
    snprintf(scenes[6].text, sizeof scenes[6].text,
             "list %s label=1,2 weight=2 check=true | shuffle | decode | resize 8 8 | batch 7",
             in_dir("list.csv"));
    snprintf(scenes[7].text, sizeof scenes[7].text, "cifar %s | shuffle | random_flip_left_right | batch 7",
             in_dir("raw.bin"));
    snprintf(scenes[8].text, sizeof scenes[8].text, "npy %s x=%s | shuffle | batch 7", in_dir("image.npz"),
             in_dir("image.npz:image"));
    snprintf(scenes[5].text, sizeof scenes[5].text, "tfrecord %s | shuffle 9 | %s | batch 7", in_dir("a.gz"),
             parse);
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++) {
        if (strncmp(scenes[i].name, "filtered", 8) != 0) continue;
        const bool stream = strstr(scenes[i].name, "stream") != NULL;
        snprintf(scenes[i].text, sizeof scenes[i].text,
                 "tfrecord %s | %s | filter \"label > 3 and label not in 10,11\" | %s | batch 7",
                 in_dir(stream ? "a.gz" : "a.tfrecord"), parse,
                 stream ? "split train by=hash fractions=0.99,0.01 | label_map 4=0,5=0 default=1 | "
                          "rejection_resample initial=1,9 target=1,8"
                        : "balance n=60");
    }
    return 0;
}

static void test_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++)
        check_scene(&scenes[i], &(leat_config){.synchronous = 1, .n_slots = 2, .params = 1});
}

static void test_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++)
        check_scene(&scenes[i], &(leat_config){.n_threads = 2, .n_slots = 3});
}

static void test_no_threads(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++) {
        const leat_config config = {.n_threads = 4, .n_slots = 3};
        tape want, t;
        leat_error err;
        assert_int_equal(attempt(&scenes[i], &config, &want, &err), 0);
        const uint64_t held = memory_held();
        for (int n = 0; n < 12; n++) {
            threads_until_failure = n;
            const int rc = attempt(&scenes[i], &config, &t, &err);
            threads_until_failure = -1;
            if (rc == 0) same_tail(&want, 0, &t, scenes[i].name); /* fewer are enough */
            else if (rc != LEAT_ERR_THREAD) fail_msg("%s: %s", scenes[i].name, err.message);
            if (n == 0) assert_int_equal(rc, LEAT_ERR_THREAD);
            if (n == 11) assert_int_equal(rc, 0);
            tape_free(&t);
            assert_int_equal(memory_held(), held);
        }
        tape_free(&want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_no_threads)};
    return cmocka_run_group_tests_name("oom", tests, begin, end_files);
}
