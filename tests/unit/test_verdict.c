/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* The verdict on a damaged file depends on the file and the text alone: the same samples are refused, and the others have the
 * same bytes, fused or not, with any number of threads, with positions of earlier visits and without. */
#define make_jpeg make_plain_jpeg /* that of test_decode_inputs.h makes all kinds */
#include "unit/testing.h"
#undef make_jpeg
#include "test_decode_inputs.h"

enum { FILES = 280 / STRIDE, EPOCHS = 3 };

typedef struct way {
    const char *options;
    leat_config config;
} way;

static const way ways[] = {
    {"", {.synchronous = 1, .n_epochs = EPOCHS}}, /* from the second epoch on with positions */
    {" | options fuse=off", {.synchronous = 1, .n_epochs = EPOCHS}},
    {" | options positions=off", {.n_threads = 1, .n_epochs = EPOCHS}},
    {"", {.n_threads = 4, .n_epochs = EPOCHS}},
    {" | options fuse=off positions=off", {.n_threads = 4, .n_epochs = EPOCHS}},
};

static tape run_way(const way *w, const char *source, const char *text) {
    leat_config config = w->config;
    config.no_side_files = 1;
    config.on_error = LEAT_ON_ERROR_SKIP;
    config.seed = 5;
    return record_spec(spec_of("%s | %s | batch 1%s", source, text, w->options), &config);
}

/* How many samples of all epochs are good, which all ways must agree on. */
static int count_good(const char *source, const char *text) {
    tape first = {0};
    for (size_t i = 0; i < LEAT_COUNT(ways); i++) {
        char what[500];
        tape t = run_way(&ways[i], source, text);
        snprintf(what, sizeof what, "%s%s", text, ways[i].options);
        if (i == 0) {
            first = t;
            continue;
        }
        same_tape(&first, &t, what);
        assert_int_equal(first.n_samples, t.n_samples);
        assert_memory_equal(first.sample, t.sample, (size_t)t.n_samples * sizeof *t.sample);
        tape_free(&t);
    }
    const int n = first.n_samples;
    tape_free(&first);
    return n;
}

static void add_image(leat__buf *shard, const void *bytes, size_t n) {
    const leat__span span = {bytes, n};
    const leat__feature_value value = {.key = "image", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span};
    add_example(shard, &value, 1);
}

static const char *shard_source(leat__buf *shard) {
    static char text[4300];
    write_buf(in_dir("shard.tfrecord"), shard);
    snprintf(text, sizeof text, "tfrecord %s | parse image:bytes", in_dir("shard.tfrecord"));
    return text;
}

/* ------------------------------------------------------------------------------------- random damage */

/* With noise, so that its bytes are spread over its rows. */
static blob make_noisy_png(int width, int height) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    blob pixels = pattern(width, height, 3), file = {0};
    png_alloc_size_t n = 0;
    assert_true(png_image_write_to_memory(&image, NULL, &n, 0, pixels.data, 0, NULL));
    file.data = malloc(n);
    assert_true(png_image_write_to_memory(&image, file.data, &n, 0, pixels.data, 0, NULL));
    file.n = file.cap = n;
    free(pixels.data);
    return file;
}

static blob make_base(size_t i) {
    static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {2, 2}, {2, 2}};
    if (i % 4 == 3) return make_noisy_png(83, 61);
    return make_jpeg((jpeg_how){.w = 147,
                                .h = 90 + (int)i % 5,
                                .in = i % 11 == 4 ? JCS_GRAYSCALE : JCS_RGB,
                                .h_samp = i % 11 == 4 ? 1 : samplings[i % 6][0],
                                .v_samp = i % 11 == 4 ? 1 : samplings[i % 6][1],
                                .quality = 30 + (int)(i * 7 % 60),
                                .restart = i % 5 == 2 ? 7 : 0,
                                .progressive = i % 7 == 5,
                                .wild = i % 9 == 1});
}

static size_t below(leat__rng *rng, size_t n) {
    return (size_t)leat__rng_below(rng, (uint64_t)n);
}

/* Somewhere behind the headers, mostly one bit: often a file stays good, or is good in its upper part. */
static void spoil(leat__rng *rng, blob *file) {
    const size_t from = LEAT_MIN((size_t)620, file->n / 3), at = from + below(rng, file->n - from);
    switch (below(rng, 8)) {
    case 0: file->n -= 1 + below(rng, LEAT_MIN(file->n / 2, (size_t)1000)); break;
    case 1: drop(file, at, 1 + below(rng, LEAT_MIN(file->n - at, (size_t)30))); break;
    case 2: insert(file, at, "\xff\xd9", 2); break;
    case 3: file->data[at] = 0xff; break;
    case 4: file->data[below(rng, from)] ^= (uint8_t)(1u << below(rng, 8)); break;
    default: file->data[at] ^= (uint8_t)(1u << below(rng, 8));
    }
}

static void random_damage(void **state) {
    (void)state;
    static const char *const texts[] = {
        "decode | resize 9 9",
        "decode channels=1 | resize 16 16 method=nearest",
        "decode | crop_to_bounding_box 13 17 20 30 | resize 8 8",
        "decode | random_crop 30 40",
        "decode | random_crop 33 41 padding=9",
        "decode | center_crop 50 60 | random_crop 44 padding=5 | random_flip_left_right",
        "decode | random_resized_crop 12 scale=0.05,0.4 | normalize imagenet layout=nchw",
        "options accuracy=fast | decode | random_resized_crop 12 scale=0.05,0.4",
        "decode orient=true depth=16 | resize_with_crop_or_pad 40 100",
        "decode | resize 20 20 crop_to_aspect_ratio=true",
        "decode | random_flip_up_down | random_crop 30 40",
    };
    int n_good = 0;
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        leat__buf shard = {0};
        for (size_t k = 0; k < FILES; k++) {
            leat__rng rng = leat__rng_at(11, i, k, 0);
            blob file = make_base(i + k / 8);
            if (k > 0) spoil(&rng, &file); /* the first is good: its size is that of all */
            add_image(&shard, file.data, file.n);
            free(file.data);
        }
        n_good += count_good(shard_source(&shard), texts[i]);
    }
    const int n = (int)LEAT_COUNT(texts) * FILES * EPOCHS;
    print_message("# %d of %d visits are good\n", n_good, n);
    assert_true(n_good > n / 5 && n_good < n * 4 / 5);
}

/* -------------------------------------------------------------------------------------- known damage */

/* Whether the text takes the file. */
static bool is_taken(const blob *file, const char *text) {
    leat__buf shard = {0};
    add_image(&shard, file->data, file->n);
    const int n = count_good(shard_source(&shard), text);
    assert_true(n == 0 || n == EPOCHS);
    return n > 0;
}

enum { PLAIN, RESTARTS, PROGRESSIVE, PNG, KINDS };

static blob make_tall(int kind) {
    if (kind == PNG) return make_noisy_png(200, 300);
    return make_jpeg((jpeg_how){.w = 200,
                                .h = 300,
                                .in = JCS_RGB,
                                .h_samp = 2,
                                .v_samp = 2,
                                .restart = kind == RESTARTS ? 5 : 0,
                                .progressive = kind == PROGRESSIVE});
}

/* The next restart marker, or the end marker. */
static size_t next_marker(const blob *file, size_t at) {
    while (file->data[at] != 0xff || file->data[at + 1] < 0xd0) at++;
    return at;
}

/* An interval between two restarts that is hardly there; a flipped bit; a marker that does not belong there. */
static void spoil_at(blob *file, int kind, size_t at) {
    if (kind == RESTARTS) {
        at = next_marker(file, at) + 3;
        drop(file, at, next_marker(file, at) - at);
    } else if (kind == PNG) {
        file->data[at] ^= 1;
    } else {
        memcpy(file->data + at, "\xff\xfe", 2);
    }
}

/* Below a crop damage is not looked for. Above it, damage is met on the way to the crop, but restart markers lead past it. All
 * scans of a progressive file are needed for any row. The checksums of a PNG are always checked. */
static void damage_around_a_crop(void **state) {
    (void)state;
    static const bool upper[KINDS] = {[PLAIN] = true, [RESTARTS] = true};
    static const bool lower[KINDS] = {[RESTARTS] = true};
    for (int kind = 0; kind < KINDS; kind++)
        for (int place = 0; place < 3; place++) { /* none, half, five eighths of the way */
            blob file = make_tall(kind);
            const bool good = place == 0;
            if (!good) spoil_at(&file, kind, file.n * (size_t)(3 + place) / 8);
            assert_int_equal(is_taken(&file, "decode | resize 32 32"), good);
            assert_int_equal(is_taken(&file, "decode | crop_to_bounding_box 10 10 60 60"),
                             good || upper[kind]);
            assert_int_equal(is_taken(&file, "decode | crop_to_bounding_box 230 10 60 60"),
                             good || lower[kind]);
            file.n -= 1;
            assert_false(is_taken(&file, "decode | crop_to_bounding_box 10 10 60 60"));
            free(file.data);
        }
}

/* Damage in the last row alone, which a resize to few rows has no use for. */
static void last_rows(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        blob file = make_tall(kind);
        assert_true(is_taken(&file, "decode | resize 2 2 method=nearest"));
        spoil_at(&file, kind, file.n - (kind == RESTARTS ? 400 : 40));
        assert_false(is_taken(&file, "decode | resize 2 2 method=nearest"));
        assert_false(is_taken(&file, "decode | resize 4 4"));
        free(file.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_damage),
        cmocka_unit_test(damage_around_a_crop),
        cmocka_unit_test(last_rows),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
