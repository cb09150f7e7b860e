/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-sanitize timeout=60 */
/* After the first epoch nothing is allocated: not by leat, not by the C library, not by the decoders
 * behind it. All functions that allocate are replaced by ones that count. (The sanitizers have their own.) */
#include "unit/testing.h"
#include "unit/testing_scenes.h"

#include "run/pipeline.h"

#include <errno.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_int n_allocations;

void *malloc(size_t n) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_calloc(n, size);
}
void *realloc(void *block, size_t n) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_realloc(block, n);
}
void *memalign(size_t alignment, size_t n) {
    atomic_fetch_add(&n_allocations, 1);
    return __libc_memalign(alignment, n);
}
void *aligned_alloc(size_t alignment, size_t n) {
    return memalign(alignment, n);
}
int posix_memalign(void **out, size_t alignment, size_t n) {
    *out = memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}

enum { EPOCHS = 6, SETTLE_SECONDS = 50 };

/* The end of the warm-up. Every sample has been met once; a worker that was not given the processor since may still
 * have to make its buffers as large as the largest that another has needed. While this thread holds a batch the ring
 * fills, so that all threads come to rest. */
static void settle(leat_pipeline *pipeline) {
    for (int ms = 0; ms < 1000 * SETTLE_SECONDS; ms++) {
        leat__lock(&pipeline->ring->mutex);
        const bool settled = leat__sched_settled(pipeline);
        leat__unlock(&pipeline->ring->mutex);
        if (settled) return;
        usleep(1000);
    }
    fail_msg("after %d s there are still threads that work or have not adopted the largest buffers",
             SETTLE_SECONDS);
}

typedef struct late { /* after the first epoch */
    int count[EPOCHS];
    bool grew; /* more memory is held than at the end of the warm-up */
} late;

static void count_epochs(leat_pipeline *pipeline, bool threads, late *out) {
    leat_batch b;
    leat_error err;
    int rc, last = 0;
    uint64_t epoch = 0, held = 0;
    *out = (late){0};
    while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
        if (epoch == 0 && b.epoch == 1) {
            if (threads) settle(pipeline);
            held = memory_held();
            last = n_allocations;
        }
        const int now = n_allocations;
        if (epoch > 0) out->count[epoch] += now - last;
        last = now;
        epoch = b.epoch;
        out->grew |= epoch > 0 && memory_held() > held;
        leat_batch_release(&b);
    }
    out->count[epoch] += n_allocations - last;
    out->grew |= memory_held() > held;
    if (rc < 0) fail_msg("%s", err.message);
    assert_int_equal(epoch, EPOCHS - 1);
}

static late run_epochs(leat_spec *spec, int threads) {
    const leat_config config = {.n_threads = threads,
                                .synchronous = threads == 0,
                                .n_epochs = EPOCHS,
                                .no_side_files = 1,
                                .params = threads % 2,
                                .top = -1}; /* its thread starts after a second: test_published */
    leat_pipeline *pipeline;
    leat_error err;
    late found;
    if (leat_pipeline_open(&pipeline, spec, &config, &err) != 0) fail_msg("%s", err.message);
    count_epochs(pipeline, threads > 0, &found);
    leat_pipeline_close(&pipeline);
    return found;
}

/* Read-ahead begins by itself when storage becomes slow, at any time: here it does so from the first sample or never. */
static void check(leat_spec *spec, int threads) {
    char text[900];
    leat_spec_text(spec, text, sizeof text);
    if (!strstr(text, "read_ahead")) leat_spec_add(spec, "options read_ahead=off");
    const late found = run_epochs(spec, threads);
    leat_spec_free(&spec);
    int total = 0;
    for (int e = 1; e < EPOCHS; e++) total += found.count[e];
    if (total > 0 || found.grew)
        fail_msg("%s with %d threads: allocations after the first epoch, by epoch %d %d %d %d %d%s", text,
                 threads, found.count[1], found.count[2], found.count[3], found.count[4], found.count[5],
                 found.grew ? "; memory grew" : "");
}

static void test_counter(void **state) {
    (void)state;
    const int before = n_allocations;
    void *volatile block = malloc(10);
    block = realloc(block, 20);
    free(block);
    char *volatile copy = strdup("inside of the C library");
    free(copy);
    assert_int_equal(n_allocations, before + 3);
}

static int allocate_late(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                         const leat_tensor *out, int n_out, leat_error *err) {
    (void)n_in, (void)n_out, (void)info, (void)err;
    if (atomic_fetch_add((atomic_int *)user, 1) == 167) free(malloc(10));
    memcpy(out->data, in->data, 1);
    return 0;
}

/* One allocation, late: it must be found, or the tests below prove nothing. */
static void test_one_late_allocation_is_found(void **state) {
    (void)state;
    for (int threads = 0; threads <= 4; threads += 2) {
        atomic_int calls = 0;
        leat_spec *spec = spec_of("synth 40 8 8 | map first:u8[1] callback=f | batch 4");
        leat_spec_map(spec, "f", allocate_late, &calls, 1);
        const late found = run_epochs(spec, threads);
        leat_spec_free(&spec);
        int total = 0;
        for (int e = 1; e < EPOCHS; e++) total += found.count[e];
        assert_int_equal(total, 1);
    }
}

/* Sizes that a function chooses: each worker's memory grows to the largest of them. */
static int make_sizes(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                      const leat_tensor *out, int n_out, leat_error *err) {
    (void)user, (void)in, (void)n_in, (void)out, (void)n_out;
    const int64_t size = 3 + (int64_t)(leat__mix64(info->sample) % 40);
    const leat_field field = {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {size, size, 3}};
    void *made = leat_map_make(info, &field, err);
    if (made) memset(made, (int)info->sample, (size_t)(size * size * 3));
    return made ? 0 : err->code;
}

static void test_map_of_differing_sizes(void **state) {
    (void)state;
    for (int threads = 0; threads <= 4; threads += 2) {
        leat_spec *spec = spec_of("synth 80 8 8 | map * callback=f | random_resized_crop 9 | batch 4");
        leat_spec_map(spec, "f", make_sizes, NULL, 1);
        check(spec, threads);
    }
}

/* Pictures of differing sizes and kinds, as one meets them. */
static void test_photos(void **state) {
    (void)state;
    make_dir(in_dir("photos"));
    for (int i = 0; i < 80; i++) {
        make_dir(in_dir("photos/%d", i / 20));
        const int height = 20 + (int)(leat__mix64((uint64_t)i) % 200),
                  width = 20 + (int)(leat__mix64((uint64_t)i + 1000) % 200);
        leat__buf bytes = i % 3 == 0 ? make_png(height, width, i % 2 ? 3 : 4, (unsigned)i)
                                     : make_jpeg(height, width, i % 5 ? 3 : 1, (unsigned)i);
        write_buf(in_dir("photos/%d/%03d.%s", i / 20, i, i % 3 == 0 ? "png" : "jpg"), &bytes);
    }
    /* All as large and turned: the draw alone decides how much of one is wanted. */
    static const uint8_t turned[] = "\xff\xe1\0\x22"
                                    "Exif\0\0"
                                    "II*\0\x08\0\0\0"
                                    "\1\0"
                                    "\x12\1\3\0\1\0\0\0\6\0\0\0"
                                    "\0\0\0";
    make_dir(in_dir("turned"));
    make_dir(in_dir("turned/a"));
    for (int i = 0; i < 16; i++) {
        leat__buf bytes = make_jpeg(260, 340, 3, (unsigned)i), whole = {.kind = LEAT_MEM_TOOL};
        assert_true(leat__buf_append(&whole, bytes.data, 2) &&
                    leat__buf_append(&whole, turned, sizeof turned) &&
                    leat__buf_append(&whole, bytes.data + 2, bytes.size - 2));
        write_buf(in_dir("turned/a/%02d.jpg", i), &whole);
        leat__buf_free(&bytes);
    }
    check(spec_of("folder %s | decode orient=true | random_resized_crop 24 | batch 8", in_dir("turned")), 2);
    check(spec_of("folder %s | decode orient=true scale=auto | random_resized_crop 24 | batch 8",
                  in_dir("turned")),
          2);
    for (int threads = 0; threads <= 4; threads++) {
        check(spec_of("folder %s | shuffle | decode | resize 32 32 | random_flip_left_right | normalize "
                      "imagenet | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode | resize 30 40 flavour=pil | cast f32 layout=nchw | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode scale=auto | random_resized_crop 24 | batch 8", in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode scale=auto | resize 20 15 | batch 8", in_dir("photos")), threads);
        check(spec_of("folder %s | decode depth=16 | random_crop 20 padding=6 mode=reflect | resize_with_pad "
                      "30 | rot90 "
                      "| normalize imagenet dtype=f16 layout=nchw | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode | gaussian_blur 3 | rand_augment | random_jpeg_quality 5 100 | "
                      "augmix | resize 32 32 flavour=pil | random_erasing | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | shuffle block=64KiB group=2 | decode | resize 32 32 | batch 8 | options "
                      "read_ahead=3",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode | cache | resize 32 32 | random_flip_left_right | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | shuffle | decode | padded_batch 8 max=500x500 pad_remainder=true",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode | resize_shorter 40 | random_crop 36 padding=2 | batch 8",
                      in_dir("photos")),
              threads);
        /* Batches of one, each with the size of its sample. */
        check(spec_of("folder %s | shuffle | decode | random_flip_left_right | normalize imagenet",
                      in_dir("photos")),
              threads);
        check(spec_of("folder %s | decode | cache | gaussian_blur 3 | rot90 | batch 1", in_dir("photos")),
              threads);
    }
}

/* One file is far larger than the others, and another thread may read it in each epoch. Readers are up to 512 samples
 * ahead, so that an epoch has more. */
static void test_read_ahead(void **state) {
    (void)state;
    make_dir(in_dir("uneven"));
    static const uint8_t behind[100000]; /* the end of the picture: read, and not looked at */
    for (int i = 0; i < 600; i++) {
        leat__buf bytes = make_png(8, 8, 3, (unsigned)i);
        if (i == 13) assert_true(leat__buf_append(&bytes, behind, sizeof behind));
        write_buf(in_dir("uneven/%03d.png", i), &bytes);
    }
    for (int threads = 1; threads <= 3; threads += 2)
        for (int readers = 2; readers <= 4; readers += 2)
            check(spec_of("folder %s | shuffle | decode | resize 8 8 | batch 8 | options read_ahead=%d",
                          in_dir("uneven"), readers),
                  threads);
}

static void test_records(void **state) {
    (void)state;
    make_dir(in_dir("records"));
    for (int i = 0; i < 4; i++) write_samples(in_dir("records/%d", i), i * 100, 100, 768);
    static const char parse[] = "parse image:bytes label:int64 row:float[*9] | decode_raw u8 | reshape 16 16 "
                                "3 | cast f32 scale=1/255 | random_brightness 0.2";
    for (int threads = 0; threads <= 4; threads++) {
        check(spec_of("tfrecord %s | shuffle | %s | batch 32", in_dir("records/*"), parse), threads);
        check(spec_of("tfrecord %s | %s | batch 32", in_dir("records/*"), parse), threads);
        check(
            spec_of(
                "tfrecord %s | shuffle | %s | one_hot label 1000 | batch 32 | mixup group=8 | cutmix group=8",
                in_dir("records/*"), parse),
            threads);
        check(spec_of("tfrecord %s | %s | filter label>=40 | label_map 41=1 default=0 | balance n=300 | "
                      "enumerate | batch 32",
                      in_dir("records/*"), parse),
              threads);
    }
}

static void test_arrays(void **state) {
    (void)state;
    static float table[1000][12];
    const leat_tensor arrays[] = {
        {.name = "row", .data = table, .dtype = LEAT_DTYPE_F32, .ndim = 2, .shape = {1000, 12}},
        {.name = "turned",
         .data = table,
         .dtype = LEAT_DTYPE_F32,
         .ndim = 3,
         .shape = {1000, 3, 4},
         .stride = {48, 4, 12}},
    };
    for (int threads = 0; threads <= 4; threads++) {
        leat_spec *spec = leat_spec_new(NULL);
        leat_spec_arrays(spec, arrays, 2);
        leat_spec_add(spec, "shuffle | cast row f16 | batch 64");
        check(spec, threads);
    }
    for (int threads = 0; threads <= 4; threads++)
        check(spec_of("synth 200 24 24 | shuffle 50 | random_flip_up_down | batch 16"), threads);
    /* What is drawn once in an epoch, or for the first time in a later one, finds its buffers. */
    for (int threads = 0; threads <= 4; threads++) {
        check(spec_of("synth 200 24 24 | shuffle | random_apply 0.004 'gaussian_blur 5 | rand_augment | "
                      "random_flip' | "
                      "random_choice 'invert' 'rot90 2 | adjust_jpeg_quality 40' weights=300,1 | batch 16"),
              threads);
        check(spec_of("synth 200 24 24 | shuffle | eval image='select(uniform(0, 1) < 0.1, image[::-1], "
                      "image)' mean='mean(image "
                      "/ 255 - normal(0, 1, like=image), 0, 1)' | batch 16"),
              threads);
        check(spec_of("synth 200 24 24 | window 3 shift=2 targets=label | shuffle | batch 16"), threads);
        leat_spec *spec = leat_spec_new(NULL);
        leat_spec_arrays(spec, arrays, 2);
        leat_spec_add(spec, "window 9 shift=1 stride=2 | shuffle | batch 64");
        check(spec, threads);
    }
}

/* The table is the one of test_photos' pictures. */
static void test_more_sources(void **state) {
    (void)state;
    FILE *table = fopen(in_dir("list.csv"), "w");
    assert_non_null(table);
    for (int i = 0; i < 80; i++)
        fprintf(table, "photos/%d/%03d.%s,%d\n", i / 20, i, i % 3 == 0 ? "png" : "jpg", i / 20);
    fclose(table);
    static uint8_t raw[300][3073];
    write_file(in_dir("raw.bin"), raw, sizeof raw);
    for (int threads = 0; threads <= 4; threads++) {
        check(spec_of("list %s | shuffle | decode | resize 32 32 | batch 8", in_dir("list.csv")), threads);
        check(spec_of("cifar %s | shuffle | random_flip_left_right | batch 32", in_dir("raw.bin")), threads);
        check(spec_of("fixed %s bytes=439 | batch 32", in_dir("raw.bin")), threads);
    }
}

static void test_combined(void **state) {
    (void)state;
    const char *photos = in_dir("photos"), *list = in_dir("list.csv"), *records = in_dir("records/*");
    for (int threads = 0; threads <= 4; threads++) {
        check(
            spec_of("concatenate 'folder %s | shuffle' 'list %s' | shuffle | decode | resize 32 32 | batch 8",
                    photos, list),
            threads);
        check(spec_of("zip image='folder %s | shuffle' mask='folder %s | shuffle' | decode | decode mask "
                      "channels=1 | "
                      "resize 32 32 | resize 32 32 field=mask | batch 8",
                      photos, photos),
              threads);
        check(spec_of("sample_from 'tfrecord %s | interleave 4 | parse label:int64 row:float[*9] | take 300' "
                      "'tfrecord "
                      "%s | parse row:float[*9] label:int64 | label_map 3=4 default=1' weights=2,1 "
                      "rerandomize=true | "
                      "batch 32",
                      records, records),
              threads);
    }
}

/* Compressed, by themselves and combined. */
static void test_streams(void **state) {
    (void)state;
    make_dir(in_dir("packed"));
    for (int i = 0, id = 0; i < 12; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 80 + i; k++, id++) add_sample(&shard, id, 600);
        write_deflated(in_dir("packed/%02d", i), &shard, GZIP_BITS);
    }
    const char *packed = in_dir("packed/*"), *parse = "parse label:int64 row:float[*9]";
    for (int threads = 1; threads <= 4; threads += 3) {
        check(spec_of("tfrecord %s | shuffle 100 | %s | batch 32", packed, parse), threads);
        check(spec_of("tfrecord %s | interleave 5 | %s | filter label!=7 | batch 32", packed, parse),
              threads);
        check(spec_of("tfrecord %s | shard 1/2 | %s | filter label!=7 | shuffle 90 | repeat 2 | batch 32",
                      packed, parse),
              threads);
        check(spec_of(
                  "sample_from 'tfrecord %s | shuffle 50' 'tfrecord %s | interleave 3' | %s | shuffle 100 | "
                  "batch 32",
                  packed, packed, parse),
              threads);
    }
}

/* What moves with a picture, boxes of differing numbers; and test_photos' pictures in batches of differing sizes. */
static void test_scenes(void **state) {
    (void)state;
    write_scenes(in_dir("scenes.tfrecord"), 80, 20, 120);
    for (int threads = 0; threads <= 4; threads++) {
        check(spec_of("folder %s | shuffle | bucket_by_aspect_ratio 0.7,1,1.4 sizes=40x20,30x24,24x30,20x40 "
                      "| decode | "
                      "resize_to_bucket | random_flip_left_right | batch 8",
                      in_dir("photos")),
              threads);
        check(spec_of("tfrecord %s | shuffle | " SCENE_PARSE
                      " | random_resized_crop 32 | random_flip_left_right "
                      "| random_rotation 0.1 | batch 8",
                      in_dir("scenes.tfrecord")),
              threads);
        check(spec_of("tfrecord %s | " SCENE_PARSE
                      " | resize 40 40 | cache | random_crop 30 | rot90 | batch 8",
                      in_dir("scenes.tfrecord")),
              threads);
    }
}

/* The thread that reports to `leat top` starts when a pipeline is a second old, which is a part of the warm-up; its reports
 * allocate nothing. */
static void test_published(void **state) {
    (void)state;
    glob_t found = {0};
    char pattern[600];
    leat_batch b;
    leat_error err;
    setenv("LEAT_TOP", in_dir("top"), 1);
    snprintf(pattern, sizeof pattern, "%s/*.leattop", in_dir("top"));
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 40 24 24 | batch 4"), &(leat_config){.n_threads = 2, .n_epochs = -1});
    int warm = -1;
    for (int i = 0, end = 2000; i < end; i++) { /* three seconds after the first report */
        if (leat_pipeline_next(pipeline, &b, &err) != 0) fail_msg("%s", err.message);
        usleep(10000);
        leat_batch_release(&b);
        if (warm >= 0 || glob(pattern, 0, NULL, &found) != 0) continue;
        globfree(&found);
        warm = n_allocations;
        end = i + 300;
    }
    assert_int_equal(n_allocations, warm);
    leat_pipeline_close(&pipeline);
    setenv("LEAT_TOP", "0", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counter),
                                       cmocka_unit_test(test_published),
                                       cmocka_unit_test(test_one_late_allocation_is_found),
                                       cmocka_unit_test(test_map_of_differing_sizes),
                                       cmocka_unit_test(test_photos),
                                       cmocka_unit_test(test_read_ahead),
                                       cmocka_unit_test(test_records),
                                       cmocka_unit_test(test_arrays),
                                       cmocka_unit_test(test_more_sources),
                                       cmocka_unit_test(test_combined),
                                       cmocka_unit_test(test_streams),
                                       cmocka_unit_test(test_scenes)};
    return cmocka_run_group_tests_name("noalloc", tests, begin_files, end_files);
}
