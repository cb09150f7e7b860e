/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Records that the program gives one after the other: the same batches as of compressed files with the same records,
 * and what the program does wrong costs what it must. */
#include <stdatomic.h>

#include "unit/testing.h"

static const int sizes[] = {7, 0, 150, 1, 40, 300, 3};
enum { SHARDS = 7 };

typedef struct program {
    int bad_shard, bad_record; /* next fails there, -1 = nowhere */
    int bad_begin;             /* begin fails for that shard, -1 = never */
    size_t lie;                /* bytes that the bad record claims, 0 = it fails */
    atomic_int n_begun, n_ended;
} program;

typedef struct reader {
    program *owner;
    int shard, next;
    atomic_int calls; /* at once */
    leat__buf record;
} reader;

static int first_of(int shard) {
    int n = 0;
    for (int i = 0; i < shard; i++) n += sizes[i];
    return n;
}

static int begin(void *user, uint64_t shard, void **out, leat_error *err) {
    program *p = user;
    if ((int)shard == p->bad_begin) {
        snprintf(err->message, sizeof err->message, "no\nline to it");
        return LEAT_ERR_NOT_FOUND;
    }
    reader *r = calloc(1, sizeof *r);
    r->owner = p;
    r->shard = (int)shard;
    p->n_begun++;
    *out = r;
    return 0;
}

static int next(void *reader_, const void **data, size_t *bytes, leat_error *err) {
    reader *r = reader_;
    program *p = r->owner;
    assert_int_equal(r->calls++, 0);
    int rc = LEAT_END;
    if (r->shard == p->bad_shard && r->next == p->bad_record) {
        snprintf(err->message, sizeof err->message, "the line is dead");
        rc = p->lie ? 0 : LEAT_ERR_IO;
        *bytes = p->lie;
    } else if (r->next < sizes[r->shard]) {
        leat__buf_free(&r->record);
        add_sample(&r->record, first_of(r->shard) + r->next, (size_t)(r->next % 5) * 1000);
        /* Without what a TFRecord has around it. */
        *data = r->record.data + 12;
        *bytes = r->record.size - 16;
        r->next++;
        rc = 0;
    }
    r->calls--;
    return rc;
}

static void end(void *reader_) {
    reader *r = reader_;
    r->owner->n_ended++;
    leat__buf_free(&r->record);
    free(r);
}

static program well_behaved(void) {
    return (program){.bad_shard = -1, .bad_begin = -1};
}

static leat_spec *spec_with(program *p, const char *chain) {
    leat_spec *spec = leat_spec_new(NULL);
    const leat_stream_callbacks callbacks = {
        .n_shards = SHARDS, .begin = begin, .next = next, .end = end, .user = p};
    assert_int_equal(leat_spec_stream(spec, &callbacks), 0);
    leat_spec_add(spec, chain);
    return spec;
}

static void write_same(void) {
    make_dir(in_dir("g"));
    for (int i = 0; i < SHARDS; i++) {
        leat__buf shard = {.kind = LEAT_MEM_TOOL};
        leat__buf_reserve(&shard, 1);
        for (int k = 0; k < sizes[i]; k++) add_sample(&shard, first_of(i) + k, (size_t)(k % 5) * 1000);
        write_deflated(in_dir("g/%d", i), &shard, GZIP_BITS);
    }
}

static const char *const chains[] = {
    "parse label:int64 row:float[4] | batch 7",
    "parse label:int64 | shuffle 40 | repeat 2 | batch 8",
    "interleave 3 2 | parse label:int64 | filter label!=9 | shuffle 20 | batch 5",
    "parse label:int64 | skip 5 | take 70 | repeat 4 | batch 6",
    "parse label:int64 | cache | batch 6",
    "interleave 3 2 | parse label:int64 | label_map 9=0 default=1 | rejection_resample initial=0.1,0.9 | "
    "batch 2",
};

static void test_like_files(void **state) {
    (void)state;
    write_same();
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        tape want =
            record_spec(spec_of("tfrecord %s | %s", in_dir("g/*"), chains[i]), &(leat_config){.n_epochs = 2});
        assert_int_equal(want.rc, LEAT_END);
        for (int threads = 0; threads <= 8; threads = threads ? threads * 2 : 1) {
            program p = well_behaved();
            const leat_config config = {.n_epochs = 2, .n_threads = threads, .synchronous = !threads};
            tape got = record_spec(spec_with(&p, chains[i]), &config);
            same_tape(&want, &got, chains[i]);
            assert_true(p.n_begun > 0);
            assert_int_equal(p.n_begun, p.n_ended);
            tape_free(&got);
        }
        tape_free(&want);
    }
}

static void test_restore(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        program p = well_behaved();
        const leat_config config = {.n_epochs = 2, .n_threads = 2};
        tape all = record_spec(spec_with(&p, chains[i]), &config);
        for (int step = 0; step <= all.n_batches; step += 1 + 6 * STRIDE) {
            char saved[1024];
            leat_pipeline *pipeline = open_spec(spec_with(&p, chains[i]), &config);
            tape before = record(pipeline, step);
            tape_free(&before);
            assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
            leat_pipeline_close(&pipeline);
            pipeline = open_spec(spec_with(&p, chains[i]), &config);
            assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
            tape rest = record(pipeline, -1);
            same_tail(&all, step, &rest, saved);
            leat_pipeline_close(&pipeline);
            tape_free(&rest);
        }
        tape_free(&all);
        assert_int_equal(p.n_begun, p.n_ended);
    }
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        program p;
        int kept;
        const char *says;
    } cases[] = {
        {{.bad_shard = 2, .bad_record = 100, .bad_begin = -1},
         451,
         "stream: shard 2: record 100: the line is dead; the rest"},
        {{.bad_shard = 0, .bad_record = 0, .bad_begin = -1},
         494,
         "stream: shard 0: record 0: the line is dead; the rest"},
        {{.bad_shard = -1, .bad_begin = 5}, 201, "stream: shard 5: record 0: no?line to it; the rest"},
        {{.bad_shard = 6, .bad_record = 2, .bad_begin = -1, .lie = 5}, 500, "its data is NULL"},
        {{.bad_shard = 6, .bad_record = 2, .bad_begin = -1, .lie = SIZE_MAX}, 500, "more than 256 MiB"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        program p = cases[i].p;
        leat_pipeline *pipeline = open_spec(spec_with(&p, "parse label:int64 | batch 7"),
                                            &(leat_config){.on_error = LEAT_ON_ERROR_SKIP, .n_threads = 2});
        tape t = record(pipeline, -1);
        assert_int_equal(t.rc, LEAT_END);
        assert_int_equal(t.n_samples, cases[i].kept);
        leat_bad bad;
        assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
        if (!strstr(bad.message, cases[i].says)) fail_msg("%s", bad.message);
        leat_pipeline_close(&pipeline);
        tape_free(&t);
        assert_int_equal(p.n_begun, p.n_ended);
    }
}

static void test_arguments(void **state) {
    (void)state;
    program p = well_behaved();
    const leat_stream_callbacks good = {.n_shards = 1, .begin = begin, .next = next, .user = &p};
    leat_stream_callbacks bad[] = {good, good, good};
    bad[0].n_shards = 0;
    bad[1].begin = NULL;
    bad[2].next = NULL;
    for (size_t i = 0; i < LEAT_COUNT(bad); i++) {
        leat_spec *spec = leat_spec_new(NULL);
        assert_int_equal(leat_spec_stream(spec, &bad[i]), LEAT_ERR_ARGUMENT);
        leat_spec_free(&spec);
    }
    assert_int_equal(leat_spec_stream(NULL, &good), LEAT_ERR_ARGUMENT);
    refuse_spec(spec_of("stream | batch 2"), NULL, LEAT_ERR_ARGUMENT, "leat_spec_stream");
    refuse_spec(spec_with(&p, "batch 2"), NULL, LEAT_ERR_SHAPE, "not known before it is read");
    refuse_spec(spec_with(&p, "parse label:int64 | cache kept | batch 2"), NULL, LEAT_ERR_UNSUPPORTED,
                "give an identity");
    refuse_spec(spec_with(&p, "parse label:int64 | balance | batch 2"), NULL, LEAT_ERR_UNSUPPORTED,
                "streams such as");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_files),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests_name("program_stream", tests, begin_files, end_files);
}
