/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Callbacks as a source: what they may hand over, from how many threads, and what becomes of their
 * mistakes; and what the tests of the command cannot see of the other sources: memory, and class names. */
#include "unit/testing.h"

#include <pthread.h>
#include <stdatomic.h>

#include "format/zip.h"

enum { N = 40, H = 5, W = 4 };

/* ------------------------------------------------------------------------------------------ callbacks */

typedef struct program {
    bool own;    /* points to memory of its own               */
    bool shared; /* which is the same for all threads         */
    int bad;     /* what is wrong, 0 = nothing                */
    int slow_us;
    uint8_t memory[4096];
    atomic_int inside, most; /* calls at once */
} program;

static uint8_t value_of(uint64_t i, size_t k) {
    return (uint8_t)(leat__mix64(i * 1000 + k) >> 16);
}

/* image u8 (H, W, 3), label i64, row f32 of any length up to 7. */
static int read_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    static _Thread_local uint8_t mine[4096];
    program *self = user;
    const int inside = atomic_fetch_add(&self->inside, 1) + 1;
    if (inside > self->most) self->most = inside;
    uint8_t *pixels = out[0].room;
    if (self->own) out[0].data = pixels = self->shared ? self->memory : mine;
    for (size_t k = 0; k < H * W * 3; k++) pixels[k] = value_of(i, k);
    memcpy(out[1].room, &(int64_t){(int64_t)i * 3}, 8);
    float *row = out[2].room;
    if (self->own) out[2].data = row = (float *)(void *)(pixels + 1024);
    out[2].bytes = i % 8 * sizeof *row;
    for (size_t k = 0; k < i % 8; k++) row[k] = (float)(i + k);
    if (self->slow_us) usleep((useconds_t)self->slow_us);
    int rc = 0;
    if (self->bad && i == 17) {
        if (self->bad == 1) {
            snprintf(err->message, sizeof err->message, "two\nlines of %d", 5);
            rc = LEAT_ERR_CORRUPT;
        } else if (self->bad == 2) rc = 12345;
        else if (self->bad == 3) out[0].bytes--;
        else if (self->bad == 4) out[0].shape[0]++;
        else if (self->bad == 5) out[2].bytes = 29;
        else if (self->bad == 6) out[2].bytes = 29 * 4;
        else if (self->bad == 7) out[0].bytes = SIZE_MAX;
        else memset(err->message, 'x', sizeof err->message), rc = LEAT_ERR_IO;
    }
    atomic_fetch_sub(&self->inside, 1);
    return rc;
}

static const leat_field fields[] = {
    {.name = "image", .dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {H, W, 3}},
    {.name = "label", .dtype = LEAT_DTYPE_I64},
    {.name = "row", .dtype = LEAT_DTYPE_F32, .ragged = 1},
};

static leat_source_callbacks callbacks_of(program *self) {
    return (leat_source_callbacks){.n = N,
                                   .n_fields = 3,
                                   .field = fields,
                                   .max_bytes = 28,
                                   .read_at = read_at,
                                   .thread_safe = !self->shared,
                                   .user = self};
}

static leat_spec *spec_on(const leat_source_callbacks *callbacks, const char *rest) {
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_source(spec, callbacks);
    leat_spec_add(spec, rest);
    return spec;
}

static void test_values(void **state) {
    (void)state;
    for (int form = 0; form < 3; form++) {
        program self = {.own = form > 0, .shared = form == 2};
        const leat_source_callbacks callbacks = callbacks_of(&self);
        leat_pipeline *pipeline =
            open_spec(spec_on(&callbacks, "shuffle | batch 7"), &(leat_config){.n_threads = 3});
        leat_batch b;
        leat_error err;
        int n = 0, rc;
        while ((rc = leat_pipeline_next(pipeline, &b, &err)) == 0) {
            for (int i = 0; i < b.n; i++, n++) {
                const uint8_t *pixels = (const uint8_t *)b.tensor[0].data + i * H * W * 3;
                for (size_t k = 0; k < H * W * 3; k++) assert_int_equal(pixels[k], value_of(b.sample[i], k));
                assert_int_equal(((const int64_t *)b.tensor[1].data)[i], b.sample[i] * 3);
                const int64_t *offsets = b.tensor[2].offsets;
                assert_int_equal(offsets[i + 1] - offsets[i], b.sample[i] % 8);
                for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                    assert_true(((const float *)b.tensor[2].data)[k] ==
                                (float)(b.sample[i] + (uint64_t)(k - offsets[i])));
            }
            leat_batch_release(&b);
        }
        assert_int_equal(rc, LEAT_END);
        assert_int_equal(n, N);
        leat_pipeline_close(&pipeline);
    }
}

/* One at a time unless the program allows more, and the same bytes either way. */
static void test_threads(void **state) {
    (void)state;
    program alone = {.own = true, .shared = true, .slow_us = 300}, many = {.own = true, .slow_us = 300};
    const leat_source_callbacks serial = callbacks_of(&alone), parallel = callbacks_of(&many);
    static const char rest[] = "shuffle | random_flip_left_right | repeat 3 | batch 4";
    tape a = record_spec(spec_on(&serial, rest), &(leat_config){.n_threads = 4});
    tape b = record_spec(spec_on(&parallel, rest), &(leat_config){.n_threads = 4});
    tape c = record_spec(spec_on(&serial, rest), &(leat_config){.synchronous = 1});
    same_tape(&a, &b, "threads");
    same_tape(&a, &c, "synchronous");
    assert_int_equal(alone.most, 1);
    assert_true(many.most > 1);
    tape_free(&a);
    tape_free(&b);
    tape_free(&c);
}

static void test_bad_samples(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *part;
    } cases[] = {
        {0, ""},
        {LEAT_ERR_CORRUPT, "source: sample 17: two?lines of 5"},
        {LEAT_ERR_IO, "sample 17: "},
        {LEAT_ERR_SHAPE, "sample 17: image has another size"},
        {LEAT_ERR_SHAPE, "sample 17: image has another shape"},
        {LEAT_ERR_SHAPE, "sample 17: row has more bytes than its room"},
        {LEAT_ERR_SHAPE, "sample 17: row has more bytes than its room"},
        {LEAT_ERR_SHAPE, "sample 17: image has more than 256 MiB"},
        {LEAT_ERR_IO, "sample 17: xxxx"},
    };
    for (int i = 1; i < (int)LEAT_COUNT(cases); i++) {
        program self = {.bad = i};
        const leat_source_callbacks callbacks = callbacks_of(&self);
        tape t = record_spec(spec_on(&callbacks, "batch 4"), NULL);
        if (t.rc != cases[i].code || !strstr(t.message, cases[i].part) || strchr(t.message, '\n'))
            fail_msg("%d: %d %s", i, t.rc, t.message);
        assert_int_equal(t.stage, LEAT_STAGE_READ);
        assert_int_equal(t.n_batches, 4);
        tape_free(&t);
        t = record_spec(spec_on(&callbacks, "batch 4"), &(leat_config){.on_error = LEAT_ON_ERROR_SKIP});
        assert_true(t.rc == LEAT_END && t.n_samples == N - 1);
        tape_free(&t);
    }
}

static void test_declarations(void **state) {
    (void)state;
    program self = {0};
    const leat_source_callbacks good = callbacks_of(&self);
    leat_field odd[3];
    leat_source_callbacks c = good;
    c.n = 0;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "number of samples is 0");
    c = good, c.read_at = NULL;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "read_at is NULL");
    c = good, c.n_fields = 33;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "1 to 32 fields");
    refuse_spec(spec_on(NULL, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "1 to 32 fields");
    c = good, c.field = odd;
    memcpy(odd, fields, sizeof odd);
    snprintf(odd[1].name, sizeof odd[1].name, "image");
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "two fields have the name image");
    memset(odd[1].name, 'x', sizeof odd[1].name);
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_ARGUMENT, "1 to 63 bytes");
    memcpy(odd, fields, sizeof odd);
    odd[0].dtype = 99;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_TYPE, "there is no dtype 99");
    odd[0] = fields[0], odd[0].ndim = 6;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_SHAPE, "6 axes");
    odd[0] = fields[0], odd[0].shape[0] = INT64_MAX;
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_LIMIT, "256 MiB");
    c = good, c.max_bytes = 0; /* then nobody knows how much room a batch needs */
    refuse_spec(spec_on(&c, "batch 2"), NULL, LEAT_ERR_SHAPE, "max_bytes");
    refuse_spec(spec_of("source | batch 2"), NULL, LEAT_ERR_ARGUMENT, "leat_spec_source");
    leat_spec *spec = leat_spec_new("synth 10 | batch 2");
    assert_int_equal(leat_spec_source(spec, &good), 0);
    refuse_spec(spec, NULL, LEAT_ERR_SYNTAX, "one source");
    assert_int_equal(leat_spec_source(NULL, &good), LEAT_ERR_ARGUMENT);
}

/* Files to decode, from memory of the program, of sizes that it does not tell; the spec is gone before the
 * first batch. */
typedef struct files {
    leat__buf file[6];
} files;

static int file_at(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    const files *self = user;
    (void)err;
    assert_null(out[0].room);
    out[0].data = self->file[i % 6].data;
    out[0].bytes = self->file[i % 6].size;
    return 0;
}

static void test_files(void **state) {
    (void)state;
    files self = {0};
    for (int i = 0; i < 6; i++) self.file[i] = make_png(20 + i, 30 - i, 3, (unsigned)i);
    const leat_field bytes = {.name = "image", .dtype = LEAT_DTYPE_BYTES};
    const leat_source_callbacks callbacks = {
        .n = 30, .n_fields = 1, .field = &bytes, .read_at = file_at, .thread_safe = 1, .user = &self};
    tape a =
        record_spec(spec_on(&callbacks, "decode | resize 8 8 | batch 6"), &(leat_config){.n_threads = 2});
    assert_true(a.rc == LEAT_END && a.n_samples == 30);
    tape_free(&a);
    for (int i = 0; i < 6; i++) leat__buf_free(&self.file[i]);
}

static void test_identity(void **state) {
    (void)state;
    program self = {0};
    leat_source_callbacks c = callbacks_of(&self);
    leat_pipeline *pipeline = open_spec(spec_on(&c, "batch 4"), NULL);
    char saved[1024];
    leat_error err;
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, &err) == 0);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), 0);
    leat_pipeline_close(&pipeline);
    for (int i = 0; i < 2; i++) {
        c = callbacks_of(&self);
        if (i == 0) c.identity = 7;
        else c.n--;
        pipeline = open_spec(spec_on(&c, "batch 4"), NULL);
        assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
        leat_pipeline_close(&pipeline);
    }
}

/* ---------------------------------------------------------------------------------------------- lists */

static void test_memory_of_a_list(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    FILE *file = fopen(in_dir("long.csv"), "w");
    fputs("path,label,age,w\n", file);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "photos/train/n%08d/n%08d_%06d.JPEG,n%08d,%d.5,%d.25\n", i % 1000, i % 1000, i,
                i % 1000, i % 90, i % 3);
    fclose(file);
    leat_pipeline *pipeline = open_spec(
        spec_of("list %s label=label,age weight=w max_bytes=10 | batch 1", in_dir("long.csv")), NULL);
    const uint64_t index = leat__mem_held(LEAT_MEM_INDEX);
    assert_true(index / ROWS < 100);
    assert_int_equal(leat_pipeline_samples(pipeline), ROWS);
    assert_string_equal(leat_pipeline_class(pipeline, 0), "n00000000");
    assert_string_equal(leat_pipeline_class(pipeline, 999), "n00000999");
    assert_null(leat_pipeline_class(pipeline, 1000));
    char name[500];
    leat_pipeline_name(pipeline, 5, name, sizeof name);
    assert_non_null(strstr(name, "long.csv row 7: photos/train/n00000005/n00000005_000005.JPEG"));
    leat_pipeline_close(&pipeline);
    assert_int_equal(leat__mem_held(LEAT_MEM_INDEX), 0);
}

/* Rows across the borders of what is read at once, with quotes. */
static void test_long_rows(void **state) {
    (void)state;
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    char *filler = malloc(700001);
    for (int i = 0; i < 700000; i++)
        filler[i] = i % 50 == 7 ? '\n' : i % 31 == 5 ? ',' : (char)('a' + i % 26);
    filler[700000] = 0;
    make_dir(in_dir("rows"));
    for (int i = 0; i < 9; i++) {
        char row[60];
        write_png(in_dir("rows/%d.png", i), 4, 4, (unsigned)i);
        assert_true(leat__buf_append(&text, "\"", 1) &&
                    leat__buf_append(&text, filler, (size_t)(700000 - 1000 * i)));
        const int n = snprintf(row, sizeof row, "\"\"\",%d.png,%d\r\n", i, 10 - i);
        assert_true(leat__buf_append(&text, row, (size_t)n));
    }
    write_buf(in_dir("rows/rows.csv"), &text);
    free(filler);
    leat_pipeline *pipeline =
        open_spec(spec_of("list %s path=1 label=2 | decode | batch 9", in_dir("rows/rows.csv")), NULL);
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    assert_int_equal(b.n, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(((const int64_t *)b.tensor[1].data)[i], 10 - i);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

/* ------------------------------------------------------------------------------------------------ zip */

static void put(leat__buf *out, uint64_t value, int bytes) {
    uint8_t raw[8];
    leat__store_u64(raw, value);
    assert_true(leat__buf_append(out, raw, (size_t)bytes));
}

/* An archive of one stored member "x" of `plain` bytes, all numbers in ZIP64 fields; only its directory
 * exists. */
static leat__buf make_zip64(uint64_t plain) {
    leat__buf zip = {.kind = LEAT_MEM_TOOL};
    put(&zip, 0x02014b50, 4), put(&zip, 45, 2), put(&zip, 45, 2), put(&zip, 0, 2), put(&zip, 0, 2),
        put(&zip, 0, 4);
    put(&zip, 0x12345678, 4), put(&zip, UINT32_MAX, 4), put(&zip, UINT32_MAX, 4), put(&zip, 1, 2),
        put(&zip, 34, 2);
    put(&zip, 0, 2), put(&zip, 0, 2), put(&zip, 0, 2), put(&zip, 0, 4), put(&zip, UINT32_MAX, 4),
        put(&zip, 'x', 1);
    put(&zip, 99, 2), put(&zip, 2, 2), put(&zip, 0, 2); /* another field before ours */
    put(&zip, 1, 2), put(&zip, 24, 2), put(&zip, plain, 8), put(&zip, plain, 8), put(&zip, 77, 8);
    const uint64_t directory = zip.size;
    put(&zip, 0x06064b50, 4), put(&zip, 44, 8), put(&zip, 45, 2), put(&zip, 45, 2), put(&zip, 0, 8);
    put(&zip, 1, 8), put(&zip, 1, 8), put(&zip, directory, 8), put(&zip, 0, 8);
    put(&zip, 0x07064b50, 4), put(&zip, 0, 4), put(&zip, directory, 8), put(&zip, 1, 4);
    put(&zip, 0x06054b50, 4), put(&zip, 0xffff, 2), put(&zip, 0xffff, 2), put(&zip, 0xffff, 2),
        put(&zip, 0xffff, 2);
    put(&zip, UINT32_MAX, 4), put(&zip, UINT32_MAX, 4), put(&zip, 3, 2), put(&zip, 0x504b05, 3);
    return zip;
}

static void test_zip64(void **state) {
    (void)state;
    leat__buf zip = make_zip64(UINT64_C(5000000000));
    leat__zip found;
    leat__zip_member m;
    leat_error err;
    size_t at = 0;
    if (leat__zip_open(&found, zip.data, zip.size, zip.size, &err) != 0) fail_msg("%s", err.message);
    assert_true(found.n == 1 && found.directory == 0);
    assert_int_equal(leat__zip_next(&m, zip.data, (size_t)found.bytes, &at, &err), 1);
    assert_true(m.plain == UINT64_C(5000000000) && m.packed == m.plain && m.local == 77 &&
                m.crc == 0x12345678);
    assert_true(m.name_n == 1 && m.name[0] == 'x' && m.method == 0);
    assert_int_equal(leat__zip_next(&m, zip.data, (size_t)found.bytes, &at, &err), 0);
    for (size_t n = 0; n < zip.size; n++) { /* cut off anywhere */
        uint8_t *cut = malloc(n + 1);
        memcpy(cut, zip.data, n);
        assert_true(leat__zip_open(&found, cut, n, n, &err) < 0);
        free(cut);
    }
    leat__buf_free(&zip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bad_samples), cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_identity),
        cmocka_unit_test(test_long_rows),   cmocka_unit_test(test_memory_of_a_list),
        cmocka_unit_test(test_zip64),
    };
    return cmocka_run_group_tests_name("sources", tests, begin_files, end_files);
}
