/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the engine: folders that vanish, small pictures and records made on the spot, and
 * a recorder that turns everything a pipeline hands over into numbers that can be compared. Include it
 * first. */
#ifndef LEAT_TESTS_TESTING_H
#define LEAT_TESTS_TESTING_H

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "leat/leat.h"
#include "unit/testing_stride.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* not every test needs everything */

#define IN(low, x, high) ((low) <= (x) && (x) <= (high))

/* ------------------------------------------------------------------------------------------ memory */

static uint64_t memory_held(void) {
    uint64_t bytes = 0;
    for (int i = 0; i < LEAT_MEM_KINDS; i++) bytes += leat__mem_held(i);
    return bytes;
}

/* ------------------------------------------------------------------------------------------- files */

static char test_dir[300]; /* of this program; made by begin_files, removed by end_files */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static void remove_tree(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Side files in a cache directory, and the path of the last one if there is room for it. */
static int find_side_files(const char *cache, char *last, size_t cap) {
    char pattern[4300];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/sets/*/*.leatidx", cache);
    if (glob(pattern, 0, NULL, &found) != 0) return 0;
    const int n = (int)found.gl_pathc;
    if (n && cap) snprintf(last, cap, "%s", found.gl_pathv[n - 1]);
    globfree(&found);
    return n;
}

static int begin_files(void **state) {
    (void)state;
    /* In memory where that is possible: some tests make very many files. */
    const char *given = getenv("TMPDIR"),
               *base = access("/dev/shm", R_OK | W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(test_dir, sizeof test_dir, "%s/leat-test-XXXXXX", given && *given ? given : base);
    if (!mkdtemp(test_dir)) return -1;
    setenv("XDG_CACHE_HOME", test_dir, 1); /* nothing goes into the user's own */
    return 0;
}

static int end_files(void **state) {
    (void)state;
    remove_tree(test_dir);
    return 0;
}

/* A path in the folder of this program; lives until 8 later ones were made. */
static const char *in_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *in_dir(const char *fmt, ...) {
    static char paths[8][4096];
    static unsigned next;
    char *path = paths[next++ % 8];
    const int n = snprintf(path, sizeof paths[0], "%s/", test_dir);
    va_list args;
    va_start(args, fmt);
    vsnprintf(path + n, sizeof paths[0] - (size_t)n, fmt, args);
    va_end(args);
    return path;
}

static void make_dir(const char *path) {
    if (mkdir(path, 0777) != 0) assert_int_equal(access(path, F_OK), 0);
}

/* Sets the time of a file or folder to so many seconds ago: what changed just now is not trusted by indexes. That is a change
 * too, which the file system dates itself, so it waits until that is no longer just now. */
static void make_old(const char *path, int seconds) {
    const time_t then = time(NULL) - seconds;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    usleep(25000);
}

static int64_t ns_of(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("cannot write %s", path);
    if (n) assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void write_buf(const char *path, leat__buf *buf) {
    write_file(path, buf->data, buf->size);
    leat__buf_free(buf);
}

/* ---------------------------------------------------------------------------------------- pictures */

static void paint(uint8_t *pixels, int height, int width, int channels, unsigned seed) {
    for (int i = 0; i < height * width * channels; i++)
        pixels[i] = (uint8_t)((unsigned)(i / channels % width * 3 + i / channels / width * 5) + seed * 37 +
                              (unsigned)(i % channels) * 60);
}

static leat__buf make_jpeg(int height, int width, int channels, unsigned seed) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    uint8_t *pixels = malloc((size_t)(height * width * channels));
    paint(pixels, height, width, channels, seed);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < height; y++) {
        JSAMPROW row = pixels + (size_t)(y * width * channels);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    leat__buf out = {.kind = LEAT_MEM_TOOL};
    assert_true(leat__buf_append(&out, bytes, n));
    free(bytes);
    free(pixels);
    return out;
}

static leat__buf make_png(int height, int width, int channels, unsigned seed) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = channels == 1   ? PNG_FORMAT_GRAY
                                 : channels == 3 ? PNG_FORMAT_RGB
                                                 : PNG_FORMAT_RGBA};
    uint8_t *pixels = malloc((size_t)(height * width * channels));
    paint(pixels, height, width, channels, seed);
    png_alloc_size_t n = 0;
    leat__buf out = {.kind = LEAT_MEM_TOOL};
    assert_true(png_image_write_to_memory(&image, NULL, &n, 0, pixels, 0, NULL));
    assert_true(leat__buf_reserve(&out, n));
    assert_true(png_image_write_to_memory(&image, out.data, &n, 0, pixels, 0, NULL));
    out.size = n;
    free(pixels);
    return out;
}

static void write_jpeg(const char *path, int height, int width, unsigned seed) {
    leat__buf bytes = make_jpeg(height, width, 3, seed);
    write_buf(path, &bytes);
}

static void write_png(const char *path, int height, int width, unsigned seed) {
    leat__buf bytes = make_png(height, width, 3, seed);
    write_buf(path, &bytes);
}

/* ----------------------------------------------------------------------------------------- records */

static void add_record(leat__buf *shard, const void *payload, size_t n) {
    uint8_t header[LEAT_TFRECORD_HEADER], footer[LEAT_TFRECORD_FOOTER];
    shard->kind = LEAT_MEM_TOOL;
    leat__tfrecord_write_header(header, n);
    leat__tfrecord_write_footer(footer, payload, n);
    assert_true(leat__buf_append(shard, header, sizeof header) && leat__buf_append(shard, payload, n) &&
                leat__buf_append(shard, footer, sizeof footer));
}

static void add_example(leat__buf *shard, const leat__feature_value *values, int n) {
    leat__buf example = {.kind = LEAT_MEM_TOOL};
    leat_error err;
    if (leat__example_write(&example, values, n, &err) != 0) fail_msg("%s", err.message);
    add_record(shard, example.data, example.size);
    leat__buf_free(&example);
}

/* "image": bytes of n u8 values that depend on id; "label": id; "row": four floats. */
static void add_sample(leat__buf *shard, int64_t id, size_t n) {
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(leat__mix64((uint64_t)id * 1000 + i) >> 8);
    const leat__span span = {bytes, n};
    const float row[4] = {(float)id, (float)id / 2, -(float)id, 1.5f};
    const leat__feature_value values[] = {
        {.key = "image", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span},
        {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &id},
        {.key = "row", .kind = LEAT_FEATURE_FLOAT, .n = 4, .values = row}};
    add_example(shard, values, 3);
    free(bytes);
}

/* Samples first .. first + n - 1, each with `bytes` bytes. */
static void write_samples(const char *path, int64_t first, int n, size_t bytes) {
    leat__buf shard = {0};
    for (int i = 0; i < n; i++) add_sample(&shard, first + i, bytes);
    write_buf(path, &shard);
}

enum { GZIP_BITS = 31, ZLIB_BITS = 15 };

static leat__buf deflated(const void *bytes, size_t n, int window_bits) {
    z_stream z = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n};
    leat__buf out = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_true(leat__buf_reserve(&out, deflateBound(&z, n) + 64));
    z.next_out = out.data;
    z.avail_out = (uInt)out.cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.size = out.cap - z.avail_out;
    deflateEnd(&z);
    return out;
}

static void write_deflated(const char *path, leat__buf *plain, int window_bits) {
    leat__buf packed = deflated(plain->data, plain->size, window_bits);
    leat__buf_free(plain);
    write_buf(path, &packed);
}

/* -------------------------------------------------------------------------------------- pipelines */

static leat_spec *spec_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static leat_spec *spec_of(const char *fmt, ...) {
    char text[16384];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    leat_spec *spec = leat_spec_new(text);
    assert_non_null(spec);
    return spec;
}

/* Opens and frees the spec; fails the test with the message if it cannot. */
static leat_pipeline *open_spec(leat_spec *spec, const leat_config *config) {
    leat_pipeline *pipeline = NULL;
    leat_error err;
    if (leat_pipeline_open(&pipeline, spec, config, &err) != 0) fail_msg("%s", err.message);
    leat_spec_free(&spec);
    return pipeline;
}

/* Opening must fail with this code and a one-line message that holds `part`. */
static void refuse_spec(leat_spec *spec, const leat_config *config, int code, const char *part) {
    leat_pipeline *pipeline = (leat_pipeline *)1;
    leat_error err;
    const int rc = leat_pipeline_open(&pipeline, spec, config, &err);
    if (rc != code || err.code != code) {
        char text[500];
        leat_spec_text(spec, text, sizeof text);
        fail_msg("%s: got %s: %s", text, leat_error_name(rc), rc < 0 ? err.message : "no error");
    }
    if (!strstr(err.message, part)) fail_msg("'%s' is not in: %s", part, err.message);
    if (strchr(err.message, '\n')) fail_msg("more than one line: %s", err.message);
    assert_null(pipeline);
    leat_spec_free(&spec);
}

typedef struct refusal { /* a text that cannot be opened, and what the message must say */
    const char *text;
    int code;
    const char *part;
} refusal;

static void refuse_all(const refusal *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        refuse_spec(spec_of("%s", cases[i].text), NULL, cases[i].code, cases[i].part);
}

typedef struct tape {  /* what a pipeline handed over */
    int n_batches, rc; /* rc: how it ended */
    uint64_t *digest;  /* of each batch: numbers, shapes, bytes, offsets */
    int n_samples;
    uint64_t *sample; /* of all batches, one after the other */
    int *size;        /* n of each batch */
    char message[1000];
    int stage;
} tape;

static void tape_free(tape *t) {
    free(t->digest);
    free(t->sample);
    free(t->size);
    *t = (tape){0};
}

static uint64_t batch_digest(const leat_batch *b) {
    const uint64_t facts[] = {(uint64_t)b->n, (uint64_t)b->n_tensors, b->epoch, b->step};
    uint64_t h = leat__hash(facts, sizeof facts, 1);
    h = leat__hash(b->sample, (size_t)b->n * sizeof *b->sample, h);
    for (int i = 0; i < b->n_tensors; i++) {
        const leat_tensor *t = &b->tensor[i];
        size_t bytes = leat_dtype_size(t->dtype);
        for (int k = 0; k < t->ndim; k++) bytes *= (size_t)t->shape[k];
        h = leat__hash(t->name, strlen(t->name), h + (uint64_t)t->dtype);
        h = leat__hash(t->shape, (size_t)t->ndim * sizeof *t->shape, h);
        h = leat__hash(t->data, bytes, h);
        if (t->offsets) h = leat__hash(t->offsets, (size_t)(b->n + 1) * sizeof *t->offsets, h);
    }
    return h;
}

static void tape_add(tape *t, const leat_batch *b) {
    t->digest = realloc(t->digest, (size_t)(t->n_batches + 1) * sizeof *t->digest);
    t->size = realloc(t->size, (size_t)(t->n_batches + 1) * sizeof *t->size);
    t->sample = realloc(t->sample, (size_t)(t->n_samples + b->n + 1) * sizeof *t->sample);
    t->digest[t->n_batches] = batch_digest(b);
    t->size[t->n_batches++] = b->n;
    memcpy(t->sample + t->n_samples, b->sample, (size_t)b->n * sizeof *b->sample);
    t->n_samples += b->n;
}

/* Records at most `most` batches (-1 = to the end). */
static tape record(leat_pipeline *pipeline, int most) {
    tape t = {0};
    leat_error err;
    leat_batch batch;
    while (t.n_batches != most && (t.rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
        tape_add(&t, &batch);
        leat_batch_release(&batch);
    }
    if (t.rc < 0) {
        snprintf(t.message, sizeof t.message, "%s", err.message);
        t.stage = err.stage;
    }
    return t;
}

static tape record_spec(leat_spec *spec, const leat_config *config) {
    leat_pipeline *pipeline = open_spec(spec, config);
    const tape t = record(pipeline, -1);
    leat_pipeline_close(&pipeline);
    return t;
}

/* The rest of a, from batch `from` on, is b. */
static void same_tail(const tape *a, int from, const tape *b, const char *what) {
    if (a->n_batches - from != b->n_batches || a->rc != b->rc)
        fail_msg("%s: %d batches then %s, expected %d then %s (%s)", what, b->n_batches,
                 leat_error_name(b->rc), a->n_batches - from, leat_error_name(a->rc), b->message);
    for (int i = 0; i < b->n_batches; i++)
        if (a->digest[from + i] != b->digest[i]) fail_msg("%s: batch %d differs", what, from + i);
}

static void same_tape(const tape *a, const tape *b, const char *what) {
    same_tail(a, 0, b, what);
    assert_string_equal(a->message, b->message);
}

#endif
